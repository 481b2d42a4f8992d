/* Speed of the proof world on the family tree that ships, or on the data set in the folder that the
 * environment variable LUDUS_PROOF_DATA names (train.txt, rules.txt): expansion of states whose first goal
 * has a bound argument (canonical renaming, ground-fact pruning, look-ahead and memory included), environment
 * steps with random actions and resets, the exact prover, reading, and the learner proof-ppo, its steps also
 * on a CUDA device where there is one. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "sim/proof/proof_batch.h"
#include "sim/proof/prover.h"
#include "tests/bench/bench.h"

enum { N_STATES = 4096, N_SLOTS = 1024 };

typedef struct run {
    const lud_proof_model *model;
    uint8_t *states; /* [N_STATES][state_bytes] */
    lud_proof_successors out;
    lud_proof_batch *batch;
    int32_t *actions;
    uint32_t tick;
    const char *text; /* of the facts */
    size_t length;
    bool failed;
} run;

static lud_status load(lud_arena *arena, lud_proof_model **model, lud_error *error) {
    const char *folder = getenv("LUDUS_PROOF_DATA");
    lud_proof_options options;
    lud_status status = lud_options_default(&lud_proof_option_table, arena, &options, error);
    options.folder = folder ? folder : "family_tree"; /* beside the scenario */
    options.facts = options.queries.train = "train.txt";
    options.rules = "rules.txt";
    options.limits.successors = 130;
    const char *beside = "scenarios/proof/family_tree.yaml";
    if (!status && !folder && !lud_file_exists(beside))
        return lud_invalid(
            error, "no %s here: run this in the folder of the sources, or set LUDUS_PROOF_DATA", beside);
    return status ? status : lud_proof_model_load(&options, beside, 1, model, error);
}

static void pick_actions(run *r) {
    for (int i = 0; i < N_SLOTS; i++) {
        int32_t n = r->batch->slot_begin[i + 1] - r->batch->slot_begin[i];
        lud_random_key key = {1, (uint32_t)i};
        r->actions[i] =
            (int32_t)lud_below(lud_draw(key, r->tick, 0, LUD_PURPOSE_ACTION, 0).v[0], (uint32_t)n);
    }
    r->tick++;
}

static bool has_bound_goal(const run *r, const uint8_t *state) {
    const lud_proof_atom *goal = lud_proof_goals_const(state);
    bool bound = false;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
        bound = bound || (goal->terms[i] > 0 && goal->terms[i] <= r->model->base->n_constants);
    return bound;
}

/* States that random play meets, with a bound argument in the first goal. */
static void collect_states(run *r) {
    size_t bytes = r->model->model.layout.state_bytes;
    for (int n = 0; n < N_STATES;) {
        for (int i = 0; i < N_SLOTS && n < N_STATES; i += 7) {
            const uint8_t *state = r->batch->states + (size_t)i * bytes;
            if (has_bound_goal(r, state)) memcpy(r->states + (size_t)n++ * bytes, state, bytes);
        }
        pick_actions(r);
        lud_proof_batch_step_reset(r->batch, r->actions);
    }
}

static void expand_states(void *context) {
    run *r = context;
    size_t bytes = r->model->model.layout.state_bytes;
    for (int i = 0; i < N_STATES; i++) {
        r->out.n = 0;
        lud_proof_successors_of(r->model, r->states + (size_t)i * bytes, &r->out, NULL);
    }
}

static void step_batch(void *context) {
    run *r = context;
    pick_actions(r);
    lud_proof_batch_step_reset(r->batch, r->actions);
}

static void prove_all(void *context) {
    run *r = context;
    lud_prover *prover = NULL;
    lud_prover_answer answer;
    const lud_proof_pool *pool = &r->model->pools[LUD_PROOF_TRAIN];
    r->failed = r->failed || lud_prover_create(r->model->base, NULL, &prover, NULL);
    for (int32_t i = 0; !r->failed && i < pool->n; i++) {
        lud_proof_atom all = pool->atoms[i]; /* who stands in this relation to the first argument */
        all.terms[1] = r->model->base->n_constants + 1;
        int64_t n;
        r->failed = lud_prover_count(prover, &all, &n, NULL) ||
                    lud_prover_ask(prover, &pool->atoms[i], &answer, NULL);
    }
    lud_prover_destroy(prover);
}

static void read_facts(void *context) {
    run *r = context;
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_proof_base *base = NULL;
    r->failed = r->failed || !builder || lud_proof_read_facts(builder, "facts", r->text, r->length, NULL) ||
                lud_proof_build(builder, NULL, &base, NULL);
    lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
}

static lud_status add_rate(lud_bench_report *report, const char *name, const char *unit, double floor,
                           void (*work)(void *), run *r, double items, lud_error *error) {
    lud_bench_row row = {.name = name, .unit = unit, .floor = floor};
    row.value = lud_bench_rate(work, r, items, &row.spread);
    return r->failed ? lud_fail(error, LUD_ERROR_MEMORY, "out of memory in `%s`", name)
                     : lud_bench_add(report, row, error);
}

static lud_status step_rows(lud_bench_report *report, run *r, int n_threads, lud_error *error) {
    lud_proof_batch_options options = lud_proof_training_options(r->model, N_SLOTS, 1);
    options.n_threads = n_threads;
    lud_status status = lud_proof_batch_create(r->model, &options, &r->batch, error);
    if (!status && n_threads == 1) {
        collect_states(r);
        status = add_rate(report, "proof: expansion, 1 thread", "states/s", 3e5, expand_states, r, N_STATES,
                          error);
    }
    char name[64];
    snprintf(name, sizeof name, "proof: step with reset, %d thread%s", n_threads, n_threads == 1 ? "" : "s");
    if (!status) status = add_rate(report, name, "steps/s", 2e5 * n_threads, step_batch, r, N_SLOTS, error);
    lud_proof_batch_destroy(r->batch);
    return status;
}

/* Ranking 500 queries among 200 candidates each, from the time that `n` of them took, and where it goes. */
static lud_status ranking_rows(lud_bench_report *report, const lud_proof_ranker *ranker, double seconds,
                               int n, lud_error *error) {
    static const char *const names[LUD_PROOF_RANK_STAGES] = {"proof-ppo: ranking, share of the network",
                                                             "proof-ppo: ranking, share of the environments",
                                                             "proof-ppo: ranking, share of the rest"};
    lud_status status =
        lud_bench_add(report,
                      (lud_bench_row){.name = "proof-ppo: ranking 500 queries x 200 candidates",
                                      .value = 500.0 / n * seconds,
                                      .unit = "s"},
                      error);
    for (int i = 0; i < LUD_PROOF_RANK_STAGES && !status; i++)
        status = lud_bench_add(
            report,
            (lud_bench_row){.name = names[i],
                            .value = 100.0 * lud_proof_ranker_profile(ranker)->seconds[i] / seconds,
                            .unit = "%"},
            error);
    return status;
}

/* One iteration of the learner with the default network and 128 x 128 steps, and ranking 20 queries among 200
 * candidates each. The iteration is measured once in either precision: it takes about a minute. */
static lud_status learner_rows(lud_bench_report *report, lud_error *error) {
    enum { N_QUERIES = 20, N_CANDIDATES = 100 };
    static const char *const set[] = {
        "learner={type: proof-ppo, automatic: false, n_steps: 128, evaluation: {queries: 1, "
        "candidates: 1, every: 0}, total_steps: 1000000}"};
    lud_bench_learner l = {0};
    lud_proof_ranker *ranker = NULL;
    lud_proof_ranking_query ranked[N_QUERIES];
    double row[64];
    lud_status status = lud_bench_learner_open("scenarios/proof/family_tree.yaml", set, 1, &l, error);
    double start = 0;
    for (int rounded = 0; rounded < 2 && !status; rounded++) {
        lud_device_set_precision(l.device, rounded ? LUD_PRECISION_BF16 : LUD_PRECISION_F32);
        start = lud_clock_seconds();
        status = l.learner->kind->iterate(l.learner, row, error);
        lud_bench_row result = {.name = rounded ? "proof-ppo: the same, --precision bf16"
                                                : "proof-ppo: rollout and update, 16,384 steps, 5 epochs",
                                .value = lud_clock_seconds() - start,
                                .unit = "s",
                                .floor = 60};
        if (!status) status = lud_bench_add(report, result, error);
    }
    if (l.device) lud_device_set_precision(l.device, LUD_PRECISION_F32);
    if (!status) {
        lud_proof_rank_options options = lud_proof_ppo_get_options(l.learner)->evaluation.rank;
        options.candidates = N_CANDIDATES;
        status = lud_proof_ranker_create(lud_proof_ppo_model(l.learner), lud_proof_ppo_net(l.learner, false),
                                         &options, LUD_PROOF_BOTH, 0, &ranker, error);
    }
    start = lud_clock_seconds();
    if (!status)
        status = lud_proof_rank(ranker, lud_proof_ppo_model(l.learner)->pools[LUD_PROOF_TEST], 0, N_QUERIES,
                                ranked, error);
    if (!status) status = ranking_rows(report, ranker, lud_clock_seconds() - start, N_QUERIES, error);
    lud_proof_ranker_destroy(ranker);
    lud_bench_learner_close(&l);
    return status;
}

enum { DEVICE_STEPS = 16, DEVICE_ENVS = 2048, DEVICE_SLOTS = 256 };

static void play_rollout(void *learner) {
    lud_proof_ppo_rollout(learner);
}

/* Milliseconds of a step of 2,048 environments in a rollout, and of one of 256 candidates in a ranking, the
 * second time that they are ranked: then the device has seen the sizes. */
static lud_status device_step_rows(lud_bench_report *report, lud_device *device, lud_error *error) {
    enum { N_QUERIES = 20, N_CANDIDATES = 100 };
    char set[160];
    const char *const sets[] = {set};
    snprintf(set, sizeof set,
             "learner={type: proof-ppo, automatic: false, n_envs: %d, n_steps: %d, evaluation: {queries: 1, "
             "candidates: 1}}",
             DEVICE_ENVS, DEVICE_STEPS);
    lud_scenario *scenario = NULL;
    lud_learner *learner = NULL;
    lud_proof_ranker *ranker = NULL;
    lud_proof_ranking_query ranked[N_QUERIES];
    lud_status status = lud_scenario_load("scenarios/proof/family_tree.yaml", sets, 1, &scenario, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    lud_bench_row row = {.name = "proof-ppo: cuda, rollout step of 2,048", .unit = "ms", .floor = 1.5};
    if (!status) {
        const double rate = lud_bench_rate(play_rollout, learner, DEVICE_STEPS, &row.spread);
        row.value = 1000.0 / rate;
        row.spread *= row.value / rate;
        status = lud_bench_add(report, row, error);
    }
    if (!status) {
        lud_proof_rank_options options = lud_proof_ppo_get_options(learner)->evaluation.rank;
        options.candidates = N_CANDIDATES;
        options.n_slots = DEVICE_SLOTS;
        status = lud_proof_ranker_create(lud_proof_ppo_model(learner), lud_proof_ppo_net(learner, false),
                                         &options, LUD_PROOF_BOTH, 0, &ranker, error);
    }
    for (int pass = 0; pass < 2 && !status; pass++) {
        const double start = lud_clock_seconds();
        const uint64_t before = lud_proof_ranker_steps(ranker);
        status = lud_proof_rank(ranker, lud_proof_ppo_model(learner)->pools[LUD_PROOF_TEST], 0, N_QUERIES,
                                ranked, error);
        row = (lud_bench_row){.name = "proof-ppo: cuda, evaluation step of 256", .unit = "ms", .floor = 0.88};
        if (!status)
            row.value =
                1000.0 * (lud_clock_seconds() - start) / (double)(lud_proof_ranker_steps(ranker) - before);
    }
    if (!status) status = lud_bench_add(report, row, error);
    const char *failure = lud_device_failure(device);
    if (!status && failure) status = lud_fail(error, LUD_ERROR_NUMERIC, "%s", failure);
    lud_proof_ranker_destroy(ranker);
    lud_learner_destroy(learner);
    lud_scenario_destroy(scenario);
    return status;
}

/* Nothing where there is no CUDA device. */
static lud_status cuda_rows(lud_bench_report *report, lud_error *error) {
    lud_device *device = NULL;
    lud_status status = lud_bench_open_cuda(report, &device, error);
    if (status || !device) return status;
    status = device_step_rows(report, device, error);
    lud_device_close(device);
    return status;
}

static lud_status run_proof(lud_bench_report *report, lud_error *error) {
    if (!lud_bench_measures(report, "cpu")) return cuda_rows(report, error);
    lud_arena *arena = lud_arena_create(0);
    lud_proof_model *model = NULL;
    lud_status status =
        arena ? load(arena, &model, error) : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    run r = {.model = model};
    if (!status) {
        size_t room = (size_t)model->limits.max_successors;
        r.states = lud_arena_take_array(arena, N_STATES, model->model.layout.state_bytes);
        r.actions = lud_arena_take_array(arena, N_SLOTS, sizeof *r.actions);
        r.out.begin = lud_arena_take_array(arena, room + 1, sizeof *r.out.begin);
        r.out.atoms =
            lud_arena_take_array(arena, room * (size_t)model->limits.max_goals, sizeof *r.out.atoms);
        r.out.hash = lud_arena_take_array(arena, room, sizeof *r.out.hash);
        r.out.step = lud_arena_take_array(arena, room, sizeof *r.out.step);
        if (!r.states || !r.actions || !r.out.begin || !r.out.atoms || !r.out.hash || !r.out.step)
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    }
    if (!status) status = step_rows(report, &r, 1, error);
    if (!status && omp_get_max_threads() > 1) status = step_rows(report, &r, omp_get_max_threads(), error);
    if (!status)
        status = add_rate(report, "proof: exact prover, all answers to every training query's subject",
                          "queries/s", 0, prove_all, &r, model->pools[LUD_PROOF_TRAIN].n, error);
    lud_text text = {0};
    for (int32_t i = 0; !status && i < model->base->n_facts; i++) {
        lud_proof_print_atom(model->base, NULL, &model->base->facts[i], &text);
        lud_text_append(&text, ".\n");
    }
    r.text = text.bytes;
    r.length = text.length;
    if (!status)
        status = add_rate(report, "proof: reading and indexing facts", "MB/s", 0, read_facts, &r,
                          (double)text.length / 1e6, error);
    lud_text_free(&text);
    if (!status && lud_file_exists("scenarios/proof/family_tree.yaml")) {
        status = learner_rows(report, error);
        if (!status) status = cuda_rows(report, error);
    }
    lud_proof_model_destroy(model);
    lud_arena_destroy(arena);
    return status;
}

const lud_bench lud_bench_proof = {
    .name = "proof",
    .about = "expansion, environment steps, exact prover, reading and learning on a knowledge graph",
    .on_cuda = true,
    .run = run_proof};
