#include "learn/proof_ppo/options.h"

#include <math.h>

#include "base/options/automatic.h"
#include "base/options/option_rows.h"
#include "learn/proof_ppo/decisions.h"

static const char *const atom_embedders[] = {"transe", "sum",       "concat",      "complex", "rotate",
                                             "rnn",    "attention", "transformer", NULL};
static const char *const state_embedders[] = {"mean", "sum",         "concat", "attention",
                                              "rnn",  "transformer", NULL};
const char *const lud_proof_tie_rules[] = {"random", "mean", NULL};
static const char *const scores[] = {"path", "odds", NULL};
static const char *const failures[] = {"path", "complement", NULL};
const char *const lud_proof_fusions[] = {"none",  "hybrid",    "paper", "linear",
                                         "gated", "predicate", "kge",   NULL};
static const char *const decays[] = {"constant", "linear", "cosine", "exponential", NULL};

#define OPTIONS lud_proof_net_options
TABLE(
    network_table, "network", "the policy and value network",
    CHOICE(atoms, "transe", atom_embedders,
           "embedding of p(a,b): transe p + a - b, sum p - a - b, concat (p, a, b), complex p a conj(b), "
           "rotate |a p / |p| - b|, or p, a, b through rnn (a gated recurrent unit), attention (a mean with "
           "learned weights) or transformer (an encoder layer)"),
    CHOICE(states, "mean", state_embedders,
           "embedding of a list of goals: mean (divides by limits.goals), sum, attention (a mean with "
           "learned weights), transformer (one learned query attends to them), or concat and rnn (a gated "
           "recurrent unit), which see their order",
           AUTO),
    INT(embedding_size, "250", 1, 65536, "numbers of an embedding", AUTO),
    REAL(constant_scale, "1", 0, 1000,
         "deviation of the constants' embeddings at the start (predicates and variables: 1); a small one "
         "begins with what holds for all constants",
         AUTO),
    BOOL(fact_counts, "false",
         "add to a goal's embedding how many facts match it: 0, 1, 2, 3-4, 5-8 and so on", AUTO),
    INT(look_ahead, "0", 0, LUD_PROOF_MAX_LOOK_AHEAD,
        "fact_counts, and for a state's first goal instead how many successors the state has, or in how many "
        "steps it is proved, up to this many"),
    INT(hidden, "512", 1, 65536, "width of the layers", AUTO),
    INT(layers, "8", 0, 256, "residual blocks", AUTO),
    REAL(dropout, "0.05", 0, 0.99, "in the policy's blocks while training; evaluation runs without", AUTO),
    BOOL(l2_norm, "true", "compare directions: both embeddings of a logit get length 1"),
    BOOL(sqrt_scale, "false", "without l2_norm: divide logits by the root of embedding_size"),
    REAL(temperature, "0.1", 1e-6, 1e6, "logits are divided by it", AUTO),
    BOOL(separate_value, "true", "the value has blocks of its own"),
    REAL(value_head_scale, "1.0", 1e-3, 64, "width of the value head's layer, in widths of the policy's"));

#undef OPTIONS
#define OPTIONS struct lud_proof_ppo_rate
TABLE(rate_table, "learning_rate", "step size", REAL(start, "1e-4", 0, 10, "after the warm-up", AUTO),
      REAL(end, "1e-6", 0, 10, "at the end", AUTO), CHOICE(decay, "cosine", decays, "how it falls"),
      REAL(warmup, "0.1", 0, 1, "share of the training over which it rises from 0", AUTO),
      REAL(value, "0", 0, 10,
           "start rate of the value network's parameters, on the same course; 0: the same"));

#undef OPTIONS
#define OPTIONS struct lud_proof_ppo_entropy
TABLE(entropy_table, "entropy", "coefficient of the entropy bonus",
      REAL(start, "0.15", 0, 100, "at the beginning", AUTO),
      REAL(end, "0.02", 0, 100, "at `until` and after it", AUTO),
      CHOICE(decay, "cosine", decays, "how it falls; constant: start throughout"),
      REAL(until, "0.8", 0, 1, "share of the training after which it stays at `end`"));

#undef OPTIONS
#define OPTIONS lud_proof_fusion
TABLE(
    fusion_table, "kge", "ranking by embeddings beside proofs",
    TEXT(run, NULL, "folder of a run of learner kge on the same files", .names = LUD_NAMES_RUN),
    CHOICE_AT("fusion", kind, "hybrid", lud_proof_fusions,
              "with a run: none, hybrid (weight lk + proof, or - penalty), paper (2 lk + log-probability, or "
              "lk - 100), linear (alpha times the proof's score + (1 - alpha) lk), gated (the same with "
              "alpha_failed where nothing was proved), predicate (weight lk, and symmetric times 1 when "
              "proved, - penalty when not, for predicates with a rule p(x,y) <- p(y,x)), kge (lk alone)"),
    REAL_AT("weight", kge_weight, "2", 0, 1e6,
            "hybrid, predicate: of lk = ln sigma(score of the embeddings)"),
    REAL_AT("proof", proof_weight, "1", -1e6, 1e6, "hybrid: what a proof adds"),
    REAL_AT("penalty", fail_penalty, "100", 0, 1e9,
            "hybrid, predicate: taken where nothing was proved; 0.5 where many true triples do not follow"),
    REAL(alpha, "0.5", 0, 1, "linear, gated: weight of the proof's score"),
    REAL(alpha_failed, "0.2", 0, 1, "gated: that weight where nothing was proved"),
    REAL_AT("symmetric", symmetric_weight, "0.7", -1e6, 1e6,
            "predicate: weight of the proof where the predicate is symmetric"));

#undef OPTIONS
#define OPTIONS struct lud_proof_ppo_evaluation
TABLE(
    evaluation_table, "evaluation", "ranking",
    INT(every, "4", 0, 1e9,
        "iterations between rankings of validation queries; 0: only before the first and after the last",
        AUTO),
    INT_AT("queries", n_queries, "200", 0, 1e9, "validation queries that are ranked, the first ones; 0: all",
           AUTO),
    BOOL(keep_best, "true", "use the weights with the best validation MRR after training, not the last ones"),
    INT_AT("slots", rank.n_slots, "128", 1, 65536, "candidates played side by side"),
    LUD_PROOF_RANK_ROWS(rank),
    CHOICE_AT("score", rank.score, "path", scores,
              "what a candidate is ranked by: path, the log-probability of its path; odds, the mean over the "
              "path of ln((1 - p) / p), p the probability of giving up there"),
    REAL_AT("fail_penalty", rank.fail_penalty, "100", 0, 1e9,
            "taken from the score of a candidate that was not proved"),
    CHOICE_AT("failure", rank.failure, "path", failures,
              "by its path its score before that is the log-probability ln p of the path that failed, or "
              "ln(1 - p)",
              AUTO),
    INT_AT("beam", rank.beam, "1", 1, 4096,
           "paths followed for each candidate; 1: the most probable action only"),
    INT_AT("best_first", rank.best_first, "0", 0, 1 << 20,
           "states that a best-first search may expand for each candidate; 0: as `beam` says"),
    BOOL_AT("give_up", rank.give_up, "true",
            "whether the policy may give up where the most probable action is followed; it may still fail"),
    SECTION_AT("kge", rank.fusion, fusion_table,
               "ranking by embeddings beside proofs; only in `ludus eval`"));

#undef OPTIONS
#define OPTIONS lud_optimiser_options
TABLE(optimiser_table, "optimiser", LUD_OPTIMISER_HELP, LUD_OPTIMISER_ROWS("1e-5", "0"));

#undef OPTIONS
#define OPTIONS lud_proof_ppo_options
static const lud_option learner_options[] = {
    TEXT(type, "proof-ppo", "proof-ppo"),
    LUD_AUTOMATIC_ROW,
    SECTION(network, network_table, "the policy and value network"),
    INT(total_steps, "2000000", 1, 1e15, "environment steps of the training", AUTO),
    INT(n_envs, "128", 1, 65536, "queries played side by side", AUTO),
    INT(n_steps, "512", 1, 65536, "steps of each between two updates", AUTO),
    INT(batch_size, "1024", 1, 1e9,
        "decisions of one step of the optimiser; the last of an epoch may be smaller", AUTO),
    LUD_SHARES_ROW,
    INT_AT("n_epochs", update.epochs, "5", 1, 10000, "passes over what was collected"),
    REAL_AT("gamma", update.gamma, "0.99", 0, 1, "discount"),
    REAL_AT("gae_lambda", update.lambda, "0.95", 0, 1, "of generalised advantage estimation"),
    REAL_AT("clip_range", update.clip, "0.2", 0, 1e6, "of the ratio of probabilities"),
    REAL_AT("value_clip_range", update.value_clip, "0.2", 0, 1e6, "of the change of the value; 0: none"),
    REAL_AT("value_coefficient", update.value_coefficient, "1", 0, 1e6, "of the value loss"),
    REAL(max_grad_norm, "0.5", 0, 1e9, "norm to which gradients are clipped; 0: none", AUTO),
    REAL_AT("target_kl", update.target_kl, "0.07", 0, 1e9,
            "the update stops when a batch's divergence passes 1.5 of it; 0: never"),
    BOOL(normalise_advantage, "false", "advantages of a batch get mean 0 and deviation 1"),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    SECTION_AT("gate", update.gate, lud_gate_table, "which samples give gradients"),
    SECTION_AT("baseline", update.baseline, lud_critic_baseline_table, "what returns are compared with"),
    SECTION(learning_rate, rate_table, "step size"),
    SECTION(entropy, entropy_table, "coefficient of the entropy bonus"),
    SECTION(evaluation, evaluation_table, "ranking"),
    INT(chunk_rows, "2048", 16, 1 << 24,
        "different states that pass through the network at once; memory grows with it, results do not "
        "change"),
};

const lud_option_table lud_proof_ppo_table =
    OPTION_TABLE("learner", "proof-ppo: a policy that searches for proofs", learner_options);

lud_status lud_proof_ppo_options_begin(lud_arena *arena, lud_tree *learner, lud_proof_ppo_options *values,
                                       lud_error *error) {
    return lud_options_read(&lud_proof_ppo_table, arena, learner, values, error);
}

lud_status lud_proof_ppo_options_read(lud_arena *arena, lud_tree *learner, lud_proof_ppo_options *values,
                                      lud_error *error) {
    LUD_TRY(lud_proof_ppo_options_begin(arena, learner, values, error));
    return lud_proof_ppo_options_end(learner, values, error);
}

lud_status lud_proof_ppo_options_end(lud_tree *learner, lud_proof_ppo_options *values, lud_error *error) {
    LUD_TRY(lud_optimiser_options_check(&values->optimiser, learner, error));
    const lud_place place = learner ? learner->place : (lud_place){0};
    if (values->learning_rate.decay == LUD_SCHEDULE_EXPONENTIAL &&
        (values->learning_rate.start <= 0.0 || values->learning_rate.end <= 0.0))
        return lud_invalid_at(error, place,
                              "learning_rate: an exponential decay needs start and end above 0");
    if (values->entropy.decay == LUD_SCHEDULE_EXPONENTIAL &&
        (values->entropy.start <= 0.0 || values->entropy.end <= 0.0))
        return lud_invalid_at(error, place, "entropy: an exponential decay needs start and end above 0");
    values->update.gae = values->update.value_clipped = true;
    if (values->normalise_advantage) values->update.scale = LUD_ADVANTAGE_OF_MINIBATCH;
    LUD_TRY(lud_policy_gradient_check(&values->update, place, error));
    const lud_proof_rank_options *rank = &values->evaluation.rank;
    if (rank->score == LUD_PROOF_SCORE_ODDS && (rank->beam > 1 || rank->best_first > 0))
        return lud_invalid_at(
            error, place,
            "evaluation: score: odds is that of the most probable path; it needs beam: 1 and "
            "best_first: 0");
    return LUD_OK;
}

lud_schedule lud_proof_ppo_learning_rate(const lud_proof_ppo_options *options, double n_updates) {
    const double warmup = floor(options->learning_rate.warmup * n_updates);
    return (lud_schedule){.kind = (lud_schedule_kind)options->learning_rate.decay,
                          .start = options->learning_rate.start,
                          .end = options->learning_rate.end,
                          .warmup = warmup,
                          .length = n_updates - warmup};
}

lud_schedule lud_proof_ppo_entropy(const lud_proof_ppo_options *options, double n_updates) {
    return (lud_schedule){.kind = (lud_schedule_kind)options->entropy.decay,
                          .start = options->entropy.start,
                          .end = options->entropy.end,
                          .length = options->entropy.until * n_updates};
}
