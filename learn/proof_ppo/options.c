#include "learn/proof_ppo/options.h"

#include <math.h>

#include "learn/proof_ppo/decisions.h"

#define AT(field)  offsetof(lud_proof_ppo_options, field)
#define NET(field) offsetof(lud_proof_net_options, field)
#define IN(section, field)                                                                                   \
    (offsetof(lud_proof_ppo_options, section.field) - offsetof(lud_proof_ppo_options, section))
#define COUNT(table) (int)(sizeof table / sizeof *table)

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

static const lud_option network_options[] = {
    {"atoms", LUD_OPTION_CHOICE, NET(atoms), "transe", 0, 0, atom_embedders, NULL, NULL,
     "embedding of p(a,b): transe p + a - b, sum p - a - b, concat (p, a, b), complex p a conj(b), "
     "rotate |a p / |p| - b|, or p, a, b through rnn (a gated recurrent unit), attention (a mean with "
     "learned weights) or transformer (an encoder layer)"},
    {"states", LUD_OPTION_CHOICE, NET(states), "mean", 0, 0, state_embedders, NULL, NULL,
     "embedding of a list of goals: mean (divides by limits.goals), sum, attention (a mean with learned "
     "weights), transformer (one learned query attends to them), or concat and rnn (a gated recurrent unit), "
     "which see their order"},
    {"embedding_size", LUD_OPTION_INT, NET(embedding_size), "250", 1, 65536, NULL, NULL, NULL,
     "numbers of an embedding"},
    {"constant_scale", LUD_OPTION_REAL, NET(constant_scale), "1", 0, 1000, NULL, NULL, NULL,
     "deviation of the constants' embeddings at the start (predicates and variables: 1); a small one begins "
     "with "
     "what holds for all constants"},
    {"fact_counts", LUD_OPTION_BOOL, NET(fact_counts), "false", 0, 0, NULL, NULL, NULL,
     "add to a goal's embedding how many facts match it: 0, 1, 2, 3-4, 5-8 and so on"},
    {"look_ahead", LUD_OPTION_INT, NET(look_ahead), "0", 0, LUD_PROOF_MAX_LOOK_AHEAD, NULL, NULL, NULL,
     "fact_counts, and for a state's first goal instead how many successors the state has, or in how many "
     "steps it is proved, up to this many"},
    {"hidden", LUD_OPTION_INT, NET(hidden), "512", 1, 65536, NULL, NULL, NULL, "width of the layers"},
    {"layers", LUD_OPTION_INT, NET(layers), "8", 0, 256, NULL, NULL, NULL, "residual blocks"},
    {"dropout", LUD_OPTION_REAL, NET(dropout), "0.05", 0, 0.99, NULL, NULL, NULL,
     "in the policy's blocks while training; evaluation runs without"},
    {"l2_norm", LUD_OPTION_BOOL, NET(l2_norm), "true", 0, 0, NULL, NULL, NULL,
     "compare directions: both embeddings of a logit get length 1"},
    {"sqrt_scale", LUD_OPTION_BOOL, NET(sqrt_scale), "false", 0, 0, NULL, NULL, NULL,
     "without l2_norm: divide logits by the root of embedding_size"},
    {"temperature", LUD_OPTION_REAL, NET(temperature), "0.1", 1e-6, 1e6, NULL, NULL, NULL,
     "logits are divided by it"},
    {"separate_value", LUD_OPTION_BOOL, NET(separate_value), "true", 0, 0, NULL, NULL, NULL,
     "the value has blocks of its own"},
    {"value_head_scale", LUD_OPTION_REAL, NET(value_head_scale), "1.0", 1e-3, 64, NULL, NULL, NULL,
     "width of the value head's layer, in widths of the policy's"},
};
static const lud_option_table network_table = {"network", "the policy and value network", network_options,
                                               COUNT(network_options), sizeof(lud_proof_net_options)};

static const lud_option rate_options[] = {
    {"start", LUD_OPTION_REAL, IN(learning_rate, start), "1e-4", 0, 10, NULL, NULL, NULL,
     "after the warm-up"},
    {"end", LUD_OPTION_REAL, IN(learning_rate, end), "1e-6", 0, 10, NULL, NULL, NULL, "at the end"},
    {"decay", LUD_OPTION_CHOICE, IN(learning_rate, decay), "cosine", 0, 0, decays, NULL, NULL,
     "how it falls"},
    {"warmup", LUD_OPTION_REAL, IN(learning_rate, warmup), "0.1", 0, 1, NULL, NULL, NULL,
     "share of the training over which it rises from 0"},
    {"value", LUD_OPTION_REAL, IN(learning_rate, value), "0", 0, 10, NULL, NULL, NULL,
     "start rate of the value network's parameters, on the same course; 0: the same"},
};
static const lud_option_table rate_table = {"learning_rate", "step size of Adam", rate_options,
                                            COUNT(rate_options),
                                            sizeof(((lud_proof_ppo_options *)0)->learning_rate)};

static const lud_option entropy_options[] = {
    {"start", LUD_OPTION_REAL, IN(entropy, start), "0.15", 0, 100, NULL, NULL, NULL, "at the beginning"},
    {"end", LUD_OPTION_REAL, IN(entropy, end), "0.02", 0, 100, NULL, NULL, NULL, "at `until` and after it"},
    {"decay", LUD_OPTION_CHOICE, IN(entropy, decay), "cosine", 0, 0, decays, NULL, NULL,
     "how it falls; constant: start throughout"},
    {"until", LUD_OPTION_REAL, IN(entropy, until), "0.8", 0, 1, NULL, NULL, NULL,
     "share of the training after which it stays at `end`"},
};
static const lud_option_table entropy_table = {"entropy", "coefficient of the entropy bonus", entropy_options,
                                               COUNT(entropy_options),
                                               sizeof(((lud_proof_ppo_options *)0)->entropy)};

#define FUSION(field) offsetof(lud_proof_fusion, field)
static const lud_option fusion_options[] = {
    {"run", LUD_OPTION_TEXT, FUSION(run), NULL, 0, 0, NULL, NULL, NULL,
     "folder of a run of learner kge on the same files"},
    {"fusion", LUD_OPTION_CHOICE, FUSION(kind), "hybrid", 0, 0, lud_proof_fusions, NULL, NULL,
     "with a run: none, hybrid (weight lk + proof, or - penalty), paper (2 lk + log-probability, or lk - "
     "100), linear (alpha times the proof's score + (1 - alpha) lk), gated (the same with alpha_failed where "
     "nothing was proved), "
     "predicate (weight lk, and symmetric times 1 when proved, - penalty when not, for predicates with a "
     "rule p(x,y) <- p(y,x)), kge (lk alone)"},
    {"weight", LUD_OPTION_REAL, FUSION(kge_weight), "2", 0, 1e6, NULL, NULL, NULL,
     "hybrid, predicate: of lk = ln sigma(score of the embeddings)"},
    {"proof", LUD_OPTION_REAL, FUSION(proof_weight), "1", -1e6, 1e6, NULL, NULL, NULL,
     "hybrid: what a proof adds"},
    {"penalty", LUD_OPTION_REAL, FUSION(fail_penalty), "100", 0, 1e9, NULL, NULL, NULL,
     "hybrid, predicate: taken where nothing was proved; 0.5 where many true triples do not follow"},
    {"alpha", LUD_OPTION_REAL, FUSION(alpha), "0.5", 0, 1, NULL, NULL, NULL,
     "linear, gated: weight of the proof's score"},
    {"alpha_failed", LUD_OPTION_REAL, FUSION(alpha_failed), "0.2", 0, 1, NULL, NULL, NULL,
     "gated: that weight where nothing was proved"},
    {"symmetric", LUD_OPTION_REAL, FUSION(symmetric_weight), "0.7", -1e6, 1e6, NULL, NULL, NULL,
     "predicate: weight of the proof where the predicate is symmetric"},
};
static const lud_option_table fusion_table = {"kge", "ranking by embeddings beside proofs", fusion_options,
                                              COUNT(fusion_options), sizeof(lud_proof_fusion)};

static const lud_option evaluation_options[] = {
    {"every", LUD_OPTION_INT, IN(evaluation, every), "4", 0, 1e9, NULL, NULL, NULL,
     "iterations between rankings of validation queries; 0: only before the first and after the last"},
    {"queries", LUD_OPTION_INT, IN(evaluation, n_queries), "200", 0, 1e9, NULL, NULL, NULL,
     "validation queries that are ranked, the first ones; 0: all"},
    {"keep_best", LUD_OPTION_BOOL, IN(evaluation, keep_best), "true", 0, 0, NULL, NULL, NULL,
     "use the weights with the best validation MRR after training, not the last ones"},
    {"slots", LUD_OPTION_INT, IN(evaluation, rank.n_slots), "128", 1, 65536, NULL, NULL, NULL,
     "candidates played side by side"},
    LUD_PROOF_RANK_ROWS(IN(evaluation, rank)),
    {"score", LUD_OPTION_CHOICE, IN(evaluation, rank.score), "path", 0, 0, scores, NULL, NULL,
     "what a candidate is ranked by: path, the log-probability of its path; odds, the mean over the path of "
     "ln((1 - p) / p), p the probability of giving up there"},
    {"fail_penalty", LUD_OPTION_REAL, IN(evaluation, rank.fail_penalty), "100", 0, 1e9, NULL, NULL, NULL,
     "taken from the score of a candidate that was not proved"},
    {"failure", LUD_OPTION_CHOICE, IN(evaluation, rank.failure), "path", 0, 0, failures, NULL, NULL,
     "by its path its score before that is the log-probability ln p of the path that failed, or ln(1 - p)"},
    {"beam", LUD_OPTION_INT, IN(evaluation, rank.beam), "1", 1, 4096, NULL, NULL, NULL,
     "paths followed for each candidate; 1: the most probable action only"},
    {"best_first", LUD_OPTION_INT, IN(evaluation, rank.best_first), "0", 0, 1 << 20, NULL, NULL, NULL,
     "states that a best-first search may expand for each candidate; 0: as `beam` says"},
    {"give_up", LUD_OPTION_BOOL, IN(evaluation, rank.give_up), "true", 0, 0, NULL, NULL, NULL,
     "whether the policy may give up where the most probable action is followed; it may still fail"},
    {"kge", LUD_OPTION_SECTION, IN(evaluation, rank.fusion), NULL, 0, 0, NULL, &fusion_table, NULL,
     "ranking by embeddings beside proofs; only in `ludus eval`"},
};
static const lud_option_table evaluation_table = {"evaluation", "ranking", evaluation_options,
                                                  COUNT(evaluation_options),
                                                  sizeof(((lud_proof_ppo_options *)0)->evaluation)};

static const lud_option learner_options[] = {
    {"type", LUD_OPTION_TEXT, AT(type), "proof-ppo", 0, 0, NULL, NULL, NULL, "proof-ppo"},
    {"network", LUD_OPTION_SECTION, AT(network), NULL, 0, 0, NULL, &network_table, NULL,
     "the policy and value network"},
    {"total_steps", LUD_OPTION_INT, AT(total_steps), "2000000", 1, 1e15, NULL, NULL, NULL,
     "environment steps of the training"},
    {"n_envs", LUD_OPTION_INT, AT(n_envs), "128", 1, 65536, NULL, NULL, NULL, "queries played side by side"},
    {"n_steps", LUD_OPTION_INT, AT(n_steps), "512", 1, 65536, NULL, NULL, NULL,
     "steps of each between two updates"},
    {"batch_size", LUD_OPTION_INT, AT(batch_size), "1024", 1, 1e9, NULL, NULL, NULL,
     "decisions of one step of the optimiser; the last of an epoch may be smaller"},
    {"n_epochs", LUD_OPTION_INT, AT(n_epochs), "5", 1, 10000, NULL, NULL, NULL,
     "passes over what was collected"},
    {"gamma", LUD_OPTION_REAL, AT(gamma), "0.99", 0, 1, NULL, NULL, NULL, "discount"},
    {"gae_lambda", LUD_OPTION_REAL, AT(gae_lambda), "0.95", 0, 1, NULL, NULL, NULL,
     "of generalised advantage estimation"},
    {"clip_range", LUD_OPTION_REAL, AT(clip_range), "0.2", 0, 1e6, NULL, NULL, NULL,
     "of the ratio of probabilities"},
    {"value_clip_range", LUD_OPTION_REAL, AT(value_clip_range), "0.2", 0, 1e6, NULL, NULL, NULL,
     "of the change of the value; 0: none"},
    {"value_coefficient", LUD_OPTION_REAL, AT(value_coefficient), "1", 0, 1e6, NULL, NULL, NULL,
     "of the value loss"},
    {"max_grad_norm", LUD_OPTION_REAL, AT(max_grad_norm), "0.5", 0, 1e9, NULL, NULL, NULL,
     "norm to which gradients are clipped; 0: none"},
    {"target_kl", LUD_OPTION_REAL, AT(target_kl), "0.07", 0, 1e9, NULL, NULL, NULL,
     "the update stops when a batch's divergence passes 1.5 of it; 0: never"},
    {"normalise_advantage", LUD_OPTION_BOOL, AT(normalise_advantage), "false", 0, 0, NULL, NULL, NULL,
     "advantages of a batch get mean 0 and deviation 1"},
    {"learning_rate", LUD_OPTION_SECTION, AT(learning_rate), NULL, 0, 0, NULL, &rate_table, NULL,
     "step size of Adam"},
    {"entropy", LUD_OPTION_SECTION, AT(entropy), NULL, 0, 0, NULL, &entropy_table, NULL,
     "coefficient of the entropy bonus"},
    {"evaluation", LUD_OPTION_SECTION, AT(evaluation), NULL, 0, 0, NULL, &evaluation_table, NULL, "ranking"},
    {"chunk_rows", LUD_OPTION_INT, AT(chunk_rows), "2048", 16, 1 << 24, NULL, NULL, NULL,
     "different states that pass through the network at once; memory grows with it, results do not change"},
};

const lud_option_table lud_proof_ppo_table = {"learner", "proof-ppo: a policy that searches for proofs",
                                              learner_options, COUNT(learner_options),
                                              sizeof(lud_proof_ppo_options)};

lud_status lud_proof_ppo_options_read(lud_arena *arena, lud_tree *learner, lud_proof_ppo_options *values,
                                      lud_error *error) {
    lud_status status = lud_options_read(&lud_proof_ppo_table, arena, learner, values, error);
    if (status) return status;
    const lud_place place = learner ? learner->place : (lud_place){0};
    if (values->learning_rate.decay == LUD_SCHEDULE_EXPONENTIAL &&
        (values->learning_rate.start <= 0.0 || values->learning_rate.end <= 0.0))
        return lud_fail_at(error, LUD_ERROR_INPUT, place,
                           "learning_rate: an exponential decay needs start and end above 0");
    if (values->entropy.decay == LUD_SCHEDULE_EXPONENTIAL &&
        (values->entropy.start <= 0.0 || values->entropy.end <= 0.0))
        return lud_fail_at(error, LUD_ERROR_INPUT, place,
                           "entropy: an exponential decay needs start and end above 0");
    const lud_proof_rank_options *rank = &values->evaluation.rank;
    if (rank->score == LUD_PROOF_SCORE_ODDS && (rank->beam > 1 || rank->best_first > 0))
        return lud_fail_at(error, LUD_ERROR_INPUT, place,
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
