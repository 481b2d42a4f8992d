#include "learn/q_learning/q_learning.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/options/option_rows.h"
#include "sim/batch.h"

typedef struct q_options {
    const char *type;
    int64_t steps, states;
    double learning_rate, gamma, epsilon, start;
} q_options;

#define OPTIONS q_options
static const lud_option rows[] = {
    TEXT(type, "q-learning", "q-learning"),
    INT(steps, "100000", 1, 1e12, "environment steps of the whole training"),
    INT(states, "65536", 16, 1 << 24, "states that the table has room for"),
    REAL(learning_rate, "0.1", 0, 1, "share of a new estimate in an entry"),
    REAL(gamma, "0.99", 0, 1, "discount"),
    REAL(epsilon, "0.1", 0, 1, "probability of a random action while training"),
    REAL(start, "1", -1e9, 1e9, "entries at first: above what there is to gain, everything is tried"),
};
static const lud_option_table table = OPTION_TABLE("learner", "Q-learning in a table", rows);

enum { STEPS, RETURN, STATES, N_COLUMNS };
static const lud_metric columns[N_COLUMNS] = {
    [STEPS] = {"steps", NULL, "environment steps so far"},
    [RETURN] = {"episode/return", "%.3f", "mean over agents and episodes that ended in the iteration"},
    [STATES] = {"states", "%.0f", "states met so far"},
};
enum { STEPS_PER_ITERATION = 100 };

typedef struct learner {
    lud_learner base;
    q_options options;
    lud_arena *arena; /* of the options and of every array below */
    const lud_model *model;
    lud_batch *batch;
    int n_envs, n_agents, width; /* width: the most actions of an agent */
    uint64_t *key;               /* [states] hash of the state in each row, 0: free */
    double *q;                   /* [states][n_agents][width] */
    uint64_t n_states, iteration;
    int32_t *actions; /* [n_envs][n_agents] */
    int64_t *row;     /* [n_envs] of the states before the step */
    float *rewards;   /* [n_envs][n_agents] */
    double *returns;  /* [n_envs] so far */
    uint8_t *terminated, *truncated, *final_states, *snapshot;
} learner;

static void destroy(lud_learner *base) {
    learner *l = (learner *)base;
    lud_batch_destroy(l->batch);
    lud_arena_destroy(l->arena);
    free(l);
}

static double *values_of(const learner *l, int64_t row, int agent) {
    return l->q + (row * l->n_agents + agent) * l->width;
}

/* The row of a state: its own, or with `add` a free one; -1 where there is none. */
static int64_t row_of(learner *l, const uint8_t *state, bool add) {
    const uint64_t n = (uint64_t)l->options.states;
    const uint64_t hash = XXH3_64bits(state, l->model->layout.state_bytes) | 1;
    for (uint64_t i = 0, at = hash % n; i < n; i++, at = (at + 1) % n) {
        if (l->key[at] == hash) return (int64_t)at;
        if (l->key[at]) continue;
        if (!add) return -1;
        l->key[at] = hash;
        l->n_states++;
        for (int k = 0; k < l->n_agents * l->width; k++) values_of(l, (int64_t)at, 0)[k] = l->options.start;
        return (int64_t)at;
    }
    return -1;
}

static int best(const learner *l, int64_t row, int agent) {
    const double *q = values_of(l, row, agent);
    int k = 0;
    for (int a = 1; a < l->model->layout.actions[agent].n_discrete; a++)
        if (q[a] > q[k]) k = a;
    return k;
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **made,
                         lud_error *error) {
    (void)device; /* a table needs none */
    const lud_layout *layout = &scenario->model->layout;
    if (lud_joint_action_count(layout) == 0)
        return lud_fail_at(error, LUD_ERROR_INPUT, scenario->learner->place,
                           "q-learning needs agents with a few actions each, not continuous ones");
    learner *l = calloc(1, sizeof *l);
    if (!l) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    l->base = (lud_learner){.kind = &q_learning, .columns = columns, .n_columns = N_COLUMNS};
    l->model = scenario->model;
    l->n_envs = (int)scenario->run.environments;
    l->n_agents = layout->n_agents;
    l->width = lud_max_discrete(layout);
    l->arena = lud_arena_create(0);
    const uint64_t seed = (uint64_t)scenario->run.seed;
    lud_status status = l->arena ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a learner");
    if (!status) status = lud_options_read(&table, l->arena, scenario->learner, &l->options, error);
    if (!status) status = lud_batch_create(l->model, l->n_envs, seed, 0, &l->batch, error);
    if (status) {
        destroy(&l->base);
        return status;
    }
    const size_t n = (size_t)l->n_envs, all = n * (size_t)l->n_agents, states = (size_t)l->options.states;
    const struct {
        void **array;
        size_t n, bytes;
    } arrays[] = {
        {(void **)&l->key, states, sizeof *l->key},
        {(void **)&l->q, states * (size_t)(l->n_agents * l->width), sizeof *l->q},
        {(void **)&l->actions, all, sizeof *l->actions},
        {(void **)&l->row, n, sizeof *l->row},
        {(void **)&l->rewards, all, sizeof *l->rewards},
        {(void **)&l->returns, n, sizeof *l->returns},
        {(void **)&l->terminated, n, 1},
        {(void **)&l->truncated, n, 1},
        {(void **)&l->final_states, n, layout->state_bytes},
        {(void **)&l->snapshot, lud_batch_snapshot_bytes(l->batch), 1},
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        *arrays[k].array = lud_arena_take_array(l->arena, arrays[k].n, arrays[k].bytes);
        if (*arrays[k].array) continue;
        destroy(&l->base);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a table of %zu states", states);
    }
    const double per_iteration = (double)l->n_envs * STEPS_PER_ITERATION;
    l->base.n_iterations = (uint64_t)ceil((double)l->options.steps / per_iteration);
    lud_batch_reset(l->batch, NULL);
    *made = &l->base;
    return LUD_OK;
}

/* Everybody's action: the best known, or now and then any. */
static lud_status choose(learner *l, lud_error *error) {
    for (int e = 0; e < l->n_envs; e++) {
        l->row[e] = row_of(l, l->batch->states + (size_t)e * l->model->layout.state_bytes, true);
        if (l->row[e] < 0)
            return lud_fail(error, LUD_ERROR_LIMIT, "more than %lld states; raise learner.states",
                            (long long)l->options.states);
        const lud_random_key key = {l->batch->seed, (uint32_t)e};
        for (int i = 0; i < l->n_agents; i++) {
            const lud_words w = lud_draw(key, l->batch->tick[e], (uint32_t)i, LUD_PURPOSE_EXPLORE, 0);
            const uint32_t n = (uint32_t)l->model->layout.actions[i].n_discrete;
            const bool explores = lud_unit(w.v[0]) < l->options.epsilon;
            l->actions[e * l->n_agents + i] =
                explores ? (int32_t)lud_below(w.v[1], n) : best(l, l->row[e], i);
        }
    }
    return LUD_OK;
}

/* Q(s, a) += learning_rate (r + gamma max Q(s', .) - Q(s, a)); behind an end there is nothing, behind a time
 * limit there is. */
static void update(learner *l, int e) {
    const size_t bytes = l->model->layout.state_bytes;
    const bool ended = l->terminated[e] || l->truncated[e];
    const uint8_t *next = (ended ? l->final_states : l->batch->states) + (size_t)e * bytes;
    const int64_t row = l->terminated[e] ? -1 : row_of(l, next, false);
    for (int i = 0; i < l->n_agents; i++) {
        double *q = values_of(l, l->row[e], i) + l->actions[e * l->n_agents + i];
        const double after = row < 0 ? 0 : values_of(l, row, i)[best(l, row, i)];
        const double target = (double)l->rewards[e * l->n_agents + i] + l->options.gamma * after;
        *q += l->options.learning_rate * (target - *q);
    }
}

static lud_status iterate(lud_learner *base, double *row, lud_error *error) {
    learner *l = (learner *)base;
    const lud_batch_out out = {.rewards = l->rewards,
                               .terminated = l->terminated,
                               .truncated = l->truncated,
                               .final_states = l->final_states};
    double sum = 0, n = 0;
    for (int t = 0; t < STEPS_PER_ITERATION; t++) {
        lud_status status = choose(l, error);
        if (status) return status;
        lud_batch_step(l->batch, (lud_actions){.discrete = l->actions}, &out);
        for (int e = 0; e < l->n_envs; e++) {
            update(l, e);
            for (int i = 0; i < l->n_agents; i++)
                l->returns[e] += (double)l->rewards[e * l->n_agents + i] / l->n_agents;
            if (!l->terminated[e] && !l->truncated[e]) continue;
            sum += l->returns[e];
            n++;
            l->returns[e] = 0;
        }
    }
    l->iteration++;
    row[STEPS] = (double)l->iteration * STEPS_PER_ITERATION * l->n_envs;
    if (n > 0) row[RETURN] = sum / n;
    row[STATES] = (double)l->n_states;
    return LUD_OK;
}

/* One function saves and loads: a field is named once. */
static void visit_policy(lud_learner *base, lud_checkpoint *checkpoint) {
    learner *l = (learner *)base;
    lud_checkpoint_u64(checkpoint, "n_states", &l->n_states);
    lud_checkpoint_tensor(checkpoint, "key", LUD_TENSOR_U64, 1, &l->options.states, l->key);
    lud_checkpoint_tensor(checkpoint, "q", LUD_TENSOR_F64, 3,
                          (const int64_t[]){l->options.states, l->n_agents, l->width}, l->q);
    lud_checkpoint_limit(checkpoint, "n_states", l->n_states, (uint64_t)l->options.states);
}

static void visit(lud_learner *base, lud_checkpoint *checkpoint) {
    learner *l = (learner *)base;
    const bool loading = lud_checkpoint_loading(checkpoint);
    visit_policy(base, checkpoint);
    if (!loading) lud_batch_save(l->batch, l->snapshot);
    lud_checkpoint_u64(checkpoint, "iteration", &l->iteration);
    lud_checkpoint_tensor(checkpoint, "returns", LUD_TENSOR_F64, 1, (const int64_t[]){l->n_envs}, l->returns);
    lud_checkpoint_bytes(checkpoint, "worlds", l->snapshot, lud_batch_snapshot_bytes(l->batch));
    if (!loading || lud_checkpoint_status(checkpoint, NULL)) return;
    lud_error error = {0};
    const lud_status status = lud_batch_load(l->batch, l->snapshot, &error);
    lud_checkpoint_require(checkpoint, "worlds", status, &error);
}

/* ---- acting as has been learned ---- */

typedef struct q_policy {
    lud_policy base;
    learner *learner;
    double *p; /* [width] */
} q_policy;

static void destroy_policy(lud_policy *policy) {
    free(((q_policy *)policy)->p);
    free(policy);
}

/* The best action; any in a state that training never met. */
static void act(lud_policy *policy, const lud_act *a) {
    const q_policy *self = (const q_policy *)policy;
    const lud_layout *layout = &a->model->layout;
    for (int e = 0; e < a->range.n; e++) {
        const int64_t row = row_of(self->learner, a->states + (size_t)e * layout->state_bytes, false);
        for (int slot = 0; slot < a->n_agents_acting; slot++) {
            const int n = layout->actions[a->agents[slot]].n_discrete;
            for (int k = 0; k < n; k++) self->p[k] = row < 0 ? 1.0 / n : 0;
            if (row >= 0) self->p[best(self->learner, row, a->agents[slot])] = 1;
            lud_policy_choose(a, e, slot, self->p);
        }
    }
}

static lud_status policy_of(lud_learner *base, lud_policy **policy, lud_error *error) {
    static const lud_policy_kind kind = {.name = "q-learning", .destroy = destroy_policy, .act = act};
    learner *l = (learner *)base;
    q_policy *self = calloc(1, sizeof *self);
    double *p = calloc((size_t)l->width, sizeof *p);
    if (!self || !p) {
        free(self);
        free(p);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a policy");
    }
    *self = (q_policy){.base = {.kind = &kind, .model = l->model}, .learner = l, .p = p};
    *policy = &self->base;
    return LUD_OK;
}

const lud_learner_kind q_learning = {.name = "q-learning",
                                     .about = "every agent by itself, in a table of states and actions",
                                     .options = &table,
                                     .values = offsetof(learner, options),
                                     .create = create,
                                     .destroy = destroy,
                                     .iterate = iterate,
                                     .visit = visit,
                                     .visit_policy = visit_policy,
                                     .training_score = {.column = "episode/return"},
                                     .policy = policy_of};
