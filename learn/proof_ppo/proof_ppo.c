#include "learn/proof_ppo/proof_ppo.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/file.h"
#include "learn/proof_ppo/automatic.h"
#include "learn/proof_ppo/evaluation/query.h"
#include "learn/proof_ppo/evaluation/report.h"
#include "learn/proof_ppo/policy.h"

typedef lud_proof_learner_state prover;

#define COLUMNS(X)                                                                                           \
    X(STEPS, "steps", NULL, "environment steps so far")                                                      \
    X(RETURN, "episode/return", "%.3f", "mean return of the episodes that ended")                            \
    X(PROVED, "episode/proved", "%.3f", "share of true queries that were proved")                            \
    X(PROVED_FALSE, "episode/proved_corrupted", "%.3f", "share of corrupted queries that were proved")       \
    X(LENGTH, "episode/length", NULL, "mean number of actions")                                              \
    X(SUCCESSORS, "episode/successors", NULL, "mean number of choices")                                      \
    X(POLICY_LOSS, "loss/policy", NULL, "clipped surrogate, mean over the update")                           \
    X(VALUE_LOSS, "loss/value", NULL, "mean squared error, clipped")                                         \
    X(ENTROPY, "policy/entropy", "%.3f", "nats")                                                             \
    X(KL, "policy/kl", "%.4f", "mean over the last epoch's batches of ratio - 1 - ln ratio")                 \
    X(CLIPPED, "policy/clipped", NULL, "share of ratios outside the clip range")                             \
    X(EXPLAINED, "value/explained_variance", NULL, "1 - Var(return - value) / Var(return)")                  \
    X(GRADIENT, "gradient_norm", NULL, "of the last batch, before clipping")                                 \
    X(RATE, "learning_rate", NULL, "at the last batch")                                                      \
    X(ENTROPY_COEFFICIENT, "entropy_coefficient", NULL, "at the last batch")                                 \
    X(BATCHES, "batches", NULL, "optimiser steps taken")                                                     \
    X(MRR, "valid/mrr", "%.4f", "mean reciprocal rank of validation queries")                                \
    X(HITS1, "valid/hits_1", NULL, "share ranked first")                                                     \
    X(HITS10, "valid/hits_10", NULL, "share ranked among the first ten")                                     \
    X(VALID_PROVED, "valid/proved", NULL, "share of validation queries proved")                              \
    X(BEST_MRR, "valid/best_mrr", NULL, "best so far, whose weights are kept")

enum { COLUMNS(LUD_COLUMN_CONSTANT) N_COLUMNS };
static const lud_metric columns[N_COLUMNS] = {COLUMNS(LUD_COLUMN_METRIC)};

static const char *const stages[LUD_PROOF_STAGES] = {"environments",    "network, rollout", "recording",
                                                     "network, update", "optimiser",        "ranking"};

static void destroy(lud_learner *learner) {
    prover *p = (prover *)learner;
    lud_proof_ranker_destroy(p->ranker);
    lud_proof_update_destroy(p);
    lud_proof_net_destroy(p->net);
    lud_parameters_destroy(p->best);
    lud_parameters_destroy(p->parameters);
    lud_proof_batch_destroy(p->batch);
    lud_proof_decisions_free(&p->decisions);
    lud_arrays_free(&p->arrays);
    lud_arena_destroy(p->arena);
    free(p);
}

/* ---- creation ---- */

static lud_status take_arrays(prover *p, lud_error *error) {
    const size_t n = (size_t)p->n_samples, more = n + (size_t)p->n_envs;
    lud_arrays *a = &p->arrays;
    a->device = p->device;
    LUD_TAKE(a, p->action, n);
    LUD_TAKE(a, p->log_prob, n);
    LUD_TAKE(a, p->value, more);
    LUD_TAKE(a, p->reward, n);
    LUD_TAKE(a, p->mask, more);
    LUD_TAKE(a, p->advantage, n);
    LUD_TAKE(a, p->returns, n);
    LUD_TAKE(a, p->order, n);
    LUD_TAKE(a, p->uniform, (size_t)p->n_envs);
    LUD_TAKE(a, p->ranking, (size_t)p->n_ranked + 1);
    LUD_TAKE(a, p->snapshot, lud_proof_batch_snapshot_bytes(p->batch));
    LUD_TAKE_ON_DEVICE(a, p->workspace, (size_t)lud_returns_numbers(p->n_steps, p->n_envs));
    return a->failed ? lud_no_memory(error, "a rollout") : LUD_OK;
}

static lud_status build_network(prover *p, lud_error *error) {
    const lud_proof_ppo_options *o = &p->options;
    p->parameters = lud_parameters_create(p->device, false);
    if (!p->parameters) return lud_no_memory(error, "a network");
    LUD_TRY(lud_proof_net_create(p->model, &o->network, p->parameters, o->chunk_rows, &p->net, error));
    LUD_TRY(lud_parameters_build(p->parameters, (uint64_t)p->scenario->run.seed, error));
    LUD_TRY(lud_proof_net_plan(p->net, LUD_NN_TRAIN, error));
    p->best = lud_parameters_clone(p->parameters);
    return p->best ? LUD_OK : lud_no_memory(error, "a network");
}

static lud_status name_columns(prover *p, lud_error *error) {
    lud_metric *named = lud_arena_take_array(p->arena, N_COLUMNS + LUD_UPDATE_GATE_COLUMNS, sizeof *named);
    if (!named) return lud_no_memory(error, "a learner");
    for (int k = 0; k < N_COLUMNS; k++) named[k] = columns[k];
    for (int k = 0; k < LUD_UPDATE_GATE_COLUMNS; k++) named[N_COLUMNS + k] = lud_update_gate_columns[k];
    p->base.columns = named;
    p->base.n_columns = N_COLUMNS + lud_update_n_gate_columns(&p->options.update);
    return LUD_OK;
}

static lud_status build(prover *p, lud_error *error) {
    LUD_TRY(lud_proof_ppo_options_begin(p->arena, p->scenario->learner, &p->options, error));
    LUD_TRY(lud_proof_ppo_choose(p->scenario, p->model, p->arena, &p->options, &p->base.chosen, error));
    LUD_TRY(lud_proof_ppo_options_end(p->scenario->learner, &p->options, error));
    const lud_proof_ppo_options *o = &p->options;
    const char **embeddings = &p->options.evaluation.rank.fusion.run;
    if (*embeddings && !(*embeddings = lud_path_find(p->arena, p->scenario->path, *embeddings)))
        return lud_no_memory(error, "a path");
    LUD_TRY(name_columns(p, error));
    if (o->evaluation.rank.score == LUD_PROOF_SCORE_ODDS && !p->model->limits.end_action)
        return lud_invalid_at(error, p->scenario->learner->place,
                              "evaluation: score: odds is that of giving up, which this world does not offer "
                              "(proof.limits.end_action)");
    p->base.keeps_last = !o->evaluation.keep_best;
    const int n_threads = (int)p->scenario->run.threads;
    if (o->n_envs * o->n_steps > INT32_MAX / 4)
        return lud_fail(error, LUD_ERROR_LIMIT, "n_envs x n_steps is too large");
    LUD_TRY(lud_shares_check(o->update.shares, o->n_envs, "environments (n_envs)",
                             p->scenario->learner->place, error));
    p->n_envs = (int32_t)o->n_envs;
    p->n_steps = (int32_t)o->n_steps;
    p->n_samples = p->n_envs * p->n_steps;
    const int64_t iterations = (o->total_steps + p->n_samples - 1) / p->n_samples;
    p->base.n_iterations = (uint64_t)iterations;
    const int64_t batches = (p->n_samples + o->batch_size - 1) / o->batch_size;
    const double updates = (double)(iterations * o->update.epochs * batches);
    p->rate = lud_proof_ppo_learning_rate(o, updates);
    p->entropy = lud_proof_ppo_entropy(o, updates);
    const lud_proof_pool valid = p->model->pools[LUD_PROOF_VALID];
    p->n_ranked = o->evaluation.n_queries > 0 && o->evaluation.n_queries < valid.n
                      ? (int32_t)o->evaluation.n_queries
                      : valid.n;

    lud_proof_batch_options batch =
        lud_proof_training_options(p->model, p->n_envs, (uint64_t)p->scenario->run.seed);
    batch.n_threads = n_threads;
    LUD_TRY(lud_proof_batch_create(p->model, &batch, &p->batch, error));
    LUD_TRY(build_network(p, error));
    LUD_TRY(take_arrays(p, error));
    LUD_TRY(lud_proof_update_create(p, error));
    LUD_TRY(lud_proof_ranker_create(p->model, p->net, &o->evaluation.rank,
                                    (lud_proof_corrupt)p->model->options.negatives.corrupt, n_threads,
                                    &p->ranker, error));
    lud_proof_ranker_share(p->ranker, p->update.shares.n);
    return lud_proof_decisions_create(p->model, (int64_t)p->n_samples + p->n_envs, lud_proof_net_sees(p->net),
                                      &p->decisions, error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    prover *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "a learner");
    p->base = (lud_learner){.kind = &lud_learner_proof_ppo};
    p->scenario = scenario;
    p->model = (const lud_proof_model *)(const void *)scenario->model;
    p->device = device;
    p->best_mrr = -1.0;
    p->profile = (lud_profile){.title = "proof-ppo, one iteration", .stages = stages, .n = LUD_PROOF_STAGES};
    p->arena = lud_arena_create(0);
    lud_status status = p->arena ? build(p, error) : lud_out_of_memory(error);
    if (status)
        destroy(&p->base);
    else
        *learner = &p->base;
    return status;
}

/* ---- an iteration ---- */

static lud_status validate(prover *p, double begin, double end, double *row, lud_error *error) {
    if (p->n_ranked == 0) return LUD_OK;
    lud_proof_ranking_summary s;
    LUD_TRY(lud_proof_validate(p, begin, end, &s, error));
    row[COLUMN_MRR] = s.mrr;
    row[COLUMN_HITS1] = s.hits1;
    row[COLUMN_HITS10] = s.hits10;
    row[COLUMN_VALID_PROVED] = (double)s.n_proved / (double)s.n_queries;
    row[COLUMN_BEST_MRR] = p->best_mrr;
    return LUD_OK;
}

static lud_status collect(prover *p, double *row, lud_error *error) {
    lud_proof_episodes t;
    LUD_TRY(lud_proof_collect(p, &t, error));
    row[COLUMN_STEPS] = (double)p->env_steps * p->n_envs;
    row[COLUMN_RETURN] = t.returns / t.n;
    row[COLUMN_LENGTH] = t.length / t.n;
    row[COLUMN_PROVED] = t.proved / t.positives;
    row[COLUMN_PROVED_FALSE] = t.proved_false / t.negatives;
    row[COLUMN_SUCCESSORS] = (double)p->decisions.begin[p->n_samples] / p->n_samples;
    return LUD_OK;
}

static lud_status update(prover *p, double *row, lud_error *error) {
    const lud_update *u = &p->update;
    LUD_TRY(lud_proof_update(p, error));
    row[COLUMN_POLICY_LOSS] = u->sums.policy_loss / u->sums.rows;
    row[COLUMN_VALUE_LOSS] = u->sums.value_loss / u->sums.value_rows;
    row[COLUMN_ENTROPY] = u->sums.entropy / u->sums.rows;
    row[COLUMN_CLIPPED] = u->sums.clipped / u->sums.rows;
    row[COLUMN_KL] = u->epoch.kl / u->epoch.rows;
    row[COLUMN_EXPLAINED] = lud_explained_variance(p->n_samples, p->returns, p->value);
    row[COLUMN_GRADIENT] =
        u->n_stepped > 0 ? lud_optimiser_norm(p->optimiser, u->groups[p->group].group) : NAN;
    row[COLUMN_RATE] = u->groups[p->group].rate;
    row[COLUMN_ENTROPY_COEFFICIENT] = u->ppo.entropy_coefficient;
    row[COLUMN_BATCHES] = (double)u->n_stepped;
    lud_update_gate_row(u, row + N_COLUMNS);
    return LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    prover *p = (prover *)learner;
    double before[N_COLUMNS];                 /* measured, not reported */
    lud_proof_net_use(p->net, p->parameters); /* who looked in between may have left others in use */
    lud_status status =
        p->iteration == 0 ? validate(p, 0.0, LUD_PROOF_ROLLOUT_BEGINS, before, error) : LUD_OK;
    if (!status) status = collect(p, row, error);
    if (!status) status = update(p, row, error);
    if (status) return status;
    p->iteration++;
    lud_profile_call(&p->profile);
    const uint64_t every = (uint64_t)p->options.evaluation.every;
    if (p->iteration == p->base.n_iterations || (every && p->iteration % every == 0))
        status = validate(p, LUD_PROOF_RANKING_BEGINS, 1.0, row, error);
    return status ? status : lud_device_check(p->device, error);
}

/* ---- saving ---- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    prover *p = (prover *)learner;
    lud_parameters_visit(p->parameters, "", checkpoint);
    if (lud_checkpoint_loading(checkpoint)) p->best_mrr = -1.0; /* nothing else is the best */
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    prover *p = (prover *)learner;
    visit_policy(learner, checkpoint);
    lud_checkpoint_u64(checkpoint, "proof_ppo.iteration", &p->iteration);
    lud_checkpoint_u64(checkpoint, "proof_ppo.env_steps", &p->env_steps);
    lud_checkpoint_u64(checkpoint, "proof_ppo.n_updates", &p->update.n_steps);
    lud_checkpoint_real(checkpoint, "proof_ppo.best_mrr", &p->best_mrr);
    lud_parameters_visit(p->best, "best.", checkpoint);
    lud_optimiser_visit(p->optimiser, "optimiser.", checkpoint);
    lud_update_visit(&p->update, checkpoint);
    const bool loading = lud_checkpoint_loading(checkpoint);
    if (!loading) lud_proof_batch_save(p->batch, p->snapshot);
    lud_checkpoint_bytes(checkpoint, "proof_ppo.environments", p->snapshot,
                         lud_proof_batch_snapshot_bytes(p->batch));
    lud_checkpoint_limit(checkpoint, "proof_ppo.iteration", p->iteration, LUD_CHECKPOINT_MOST);
    lud_checkpoint_limit(checkpoint, "proof_ppo.env_steps", p->env_steps, LUD_CHECKPOINT_MOST);
    lud_checkpoint_limit(checkpoint, "proof_ppo.n_updates", p->update.n_steps, LUD_CHECKPOINT_MOST);
    if (!loading || lud_checkpoint_status(checkpoint, NULL)) return;
    lud_error error = {0};
    const lud_status status = lud_proof_batch_load(p->batch, p->snapshot, &error);
    lud_checkpoint_require(checkpoint, "proof_ppo.environments", status, &error);
    if (p->best_mrr > 1.0)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "'proof_ppo.best_mrr' of the checkpoint is %g",
                            p->best_mrr);
}

static void report(lud_learner *learner, lud_text *out) {
    prover *p = (prover *)learner;
    const double seconds =
        p->profile.seconds[LUD_PROOF_STAGE_ROLLOUT_NET] + p->profile.seconds[LUD_PROOF_STAGE_UPDATE_NET];
    lud_profile_print(&p->profile, out);
    lud_text_append(out, "matrix products: %.3g GFLOP in rollouts, %.3g in updates, %.0f GFLOP/s\n",
                    p->rollout_flops * 1e-9, p->update_flops * 1e-9,
                    (p->rollout_flops + p->update_flops) * 1e-9 / fmax(seconds, 1e-9));
    uint64_t pieces, replayed;
    lud_proof_ppo_pieces(learner, &pieces, &replayed);
    if (replayed)
        lud_text_append(out,
                        "replayed from recorded graphs: %" PRIu64 " of %" PRIu64 " pieces of device work\n",
                        replayed, pieces);
    lud_text_append(out, "\nludus eval RUN ranks the test queries\n");
}

static lud_status acting(lud_learner *learner, lud_policy **policy, lud_error *error) {
    return lud_proof_policy_create(lud_proof_ppo_net(learner, true), policy, error);
}

const lud_learner_kind lud_learner_proof_ppo = {
    .name = "proof-ppo",
    .about = "a policy that searches for proofs, by proximal policy optimisation",
    .options = &lud_proof_ppo_table,
    .values = offsetof(prover, options),
    .world = "proof",
    .counts_steps = true,
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "valid/mrr"},
    .report = report,
    .policy = acting,
    .honours = LUD_HONOURS_SPLIT | LUD_HONOURS_QUERIES | LUD_HONOURS_PROCESSES,
    .evaluate_run = lud_proof_evaluate_run,
    .query = lud_proof_answer_query,
    .example_query = lud_proof_example_query,
};

lud_proof_net *lud_proof_ppo_net(lud_learner *learner, bool best) {
    prover *p = (prover *)learner;
    const bool kept = best && p->options.evaluation.keep_best && p->best_mrr >= 0.0;
    lud_proof_net_use(p->net, kept ? p->best : p->parameters);
    return p->net;
}

void lud_proof_ppo_rollout(lud_learner *learner) {
    prover *p = (prover *)learner;
    lud_proof_episodes episodes;
    lud_proof_net_use(p->net, p->parameters);
    (void)lud_proof_collect(p, &episodes, NULL);
}

void lud_proof_ppo_never_record(lud_learner *learner, bool never) {
    prover *p = (prover *)learner;
    lud_capture *const pieces[] = {&p->net->forwards, &p->net->backwards, &p->update.stepping,
                                   &p->head.acting, &p->head.learning};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) pieces[i]->never = never;
}

void lud_proof_ppo_pieces(const lud_learner *learner, uint64_t *n, uint64_t *n_replayed) {
    const prover *p = (const prover *)learner;
    const lud_capture *const pieces[] = {&p->net->forwards, &p->net->backwards, &p->update.stepping,
                                         &p->head.acting, &p->head.learning};
    *n = *n_replayed = 0;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        *n += pieces[i]->runs;
        *n_replayed += pieces[i]->n_replayed;
    }
}

const lud_proof_ppo_options *lud_proof_ppo_get_options(const lud_learner *learner) {
    return &((const prover *)learner)->options;
}

const lud_proof_model *lud_proof_ppo_model(const lud_learner *learner) {
    return ((const prover *)learner)->model;
}
