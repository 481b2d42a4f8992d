#include "learn/empo/phase1/phase1.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef lud_empo_phase1_learner phase1;

enum { BLOCK = 256 }; /* states evaluated at once */

#define COLUMNS(X)                                                                                           \
    X(LOSS_Q_H, "loss/q_h", "%.2e", "mean squared error of Q_h^m at the last update")                        \
    X(LOSS_MARGINAL, "loss/marginal", "%.3f", "cross-entropy of the marginal network to the mean policy")    \
    X(EPSILON_H, "exploration/epsilon_h", NULL, "chance of a random human action")                           \
    X(LEARNING_RATE, "learning_rate/q_h", NULL, "learning rate of Q_h^m")                                    \
    X(TRAINING_STEPS, "progress/training_steps", NULL, "updates done")                                       \
    X(ENVIRONMENT_STEPS, "progress/environment_steps", NULL, "steps of single environments done")            \
    X(ACHIEVED, "progress/goals_achieved", NULL, "goals that people achieved")                               \
    X(TRANSITIONS, "replay/transitions", NULL, "stored at present")                                          \
    X(TRANSITION_BYTES, "replay/bytes_per_transition", NULL, "mean size of a stored transition")

enum {
#define X(name, text, format, help) COLUMN_##name,
    COLUMNS(X)
#undef X
        N_COLUMNS
};
static const lud_metric columns[N_COLUMNS] = {
#define X(name, text, format, help) {text, format, help},
    COLUMNS(X)
#undef X
};

#define EVALUATION(X)                                                                                        \
    X(v_h_m, "exact/v_h_m_error", "%.3f", "mean absolute error of V_h^m, goals not yet achieved")            \
    X(v_h_m_everywhere, "exact/v_h_m_error_everywhere", NULL, "the same over all states")                    \
    X(divergence, "exact/policy_divergence", "%.3f", "total variation between learned and exact pi_h")       \
    X(divergence_everywhere, "exact/policy_divergence_everywhere", NULL, "the same over all states")         \
    X(kl, "exact/policy_kl", NULL, "KL(learned || exact) of pi_h in nats")                                   \
    X(marginal, "exact/marginal_divergence", NULL, "total variation between the marginal policies")

static const lud_metric evaluation_columns[] = {
#define X(field, text, format, help) {text, format, help},
    EVALUATION(X)
#undef X
};
enum { N_EVALUATION = sizeof evaluation_columns / sizeof *evaluation_columns };

/* ---- making ---- */

static void destroy(lud_learner *learner) {
    phase1 *p = (phase1 *)learner;
    lud_empo_phase1_update_destroy(p->update);
    lud_empo_phase1_rollout_destroy(p->rollout);
    lud_empo_human_net_free(&p->net);
    lud_empo_replay_destroy(p->replay);
    lud_empo_reference_free(&p->reference);
    lud_arena_destroy(p->arena);
    free(p);
}

static lud_status make_parts(phase1 *p, lud_error *error) {
    const lud_empo_phase1_options *o = &p->options;
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    lud_status status = lud_empo_human_net_create(p->device, p->scenario->model, o, seed, &p->net, error);
    if (status) return status;
    const int64_t width = p->net.n_actions * p->net.features.layout.n_robot_actions;
    assert(width <= INT32_MAX); /* so have all agents together (lud_empo_layout_find) */
    p->replay = lud_empo_replay_create(o->buffer_size, (size_t)o->buffer_mebibytes << 20,
                                       p->net.features.words, (int)width, 1, 0);
    if (!p->replay) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for transitions");
    status = lud_empo_phase1_update_create(&p->net, p->replay, seed, &p->update, error);
    if (status) return status;
    return lud_empo_phase1_rollout_create(&p->net, p->scenario->model, seed, &p->rollout, error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    phase1 *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a learner");
    p->scenario = scenario;
    p->device = device;
    p->arena = lud_arena_create(0);
    lud_status status = p->arena
                            ? lud_empo_phase1_options_read(p->arena, scenario->learner, &p->options, error)
                            : lud_fail(error, LUD_ERROR_MEMORY, "no memory for a learner");
    if (status == LUD_OK) status = make_parts(p, error);
    if (status) {
        destroy(&p->base);
        return status;
    }
    const int64_t each = p->options.updates_per_iteration;
    p->base = (lud_learner){.kind = &lud_empo_phase1,
                            .columns = columns,
                            .n_columns = N_COLUMNS,
                            .evaluation_columns = evaluation_columns,
                            .n_evaluation_columns = N_EVALUATION,
                            .n_iterations = (uint64_t)((p->options.num_training_steps + each - 1) / each)};
    *learner = &p->base;
    return LUD_OK;
}

/* ---- training ---- */

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    const lud_empo_phase1_options *o = &p->options;
    int64_t end = p->step + o->updates_per_iteration;
    if (end > o->num_training_steps) end = o->num_training_steps;
    lud_empo_phase1_now now = lud_empo_phase1_at(o, p->step);
    for (; p->step < end; p->step++, p->credit -= 1.0) {
        now = lud_empo_phase1_at(o, p->step);
        while (lud_empo_replay_count(p->replay) < o->batch_size || p->credit < 1.0) {
            const lud_status status =
                lud_empo_phase1_rollout_step(p->rollout, now.epsilon, p->step, p->replay, error);
            if (status) return status;
            if (lud_empo_replay_count(p->replay) >= o->batch_size)
                p->credit += o->training_steps_per_env_step * (double)o->environments;
        }
        const lud_status status =
            lud_empo_phase1_update_run(p->update, p->step, &now, p->step + 1 == end, error);
        if (status) return status;
    }
    uint64_t steps = 0, achieved = 0;
    lud_empo_phase1_rollout_counts(p->rollout, &steps, &achieved);
    lud_empo_phase1_update_losses(p->update, &row[COLUMN_LOSS_Q_H], &row[COLUMN_LOSS_MARGINAL]);
    row[COLUMN_EPSILON_H] = now.epsilon;
    row[COLUMN_LEARNING_RATE] = now.lr_q_h;
    row[COLUMN_TRAINING_STEPS] = (double)p->step;
    row[COLUMN_ENVIRONMENT_STEPS] = (double)steps;
    row[COLUMN_ACHIEVED] = (double)achieved;
    row[COLUMN_TRANSITIONS] = (double)lud_empo_replay_count(p->replay);
    row[COLUMN_TRANSITION_BYTES] = lud_empo_replay_mean_bytes(p->replay);
    return LUD_OK;
}

/* ---- comparing with the exact solution ---- */

typedef struct block {
    int32_t *record; /* [BLOCK][words] */
    const int32_t *records[BLOCK];
    double *policies, *value, *marginals; /* of BLOCK states */
} block;

static void free_block(block *b) {
    free(b->record);
    free(b->policies);
    free(b->value);
    free(b->marginals);
}

static bool make_block(const phase1 *p, block *b) {
    const lud_empo_layout *layout = &p->net.features.layout;
    *b = (block){0};
    b->record = malloc(BLOCK * (size_t)p->net.features.words * sizeof *b->record);
    b->policies = malloc(BLOCK * (size_t)layout->policy_begin[layout->n_humans] * sizeof *b->policies);
    b->value = malloc(BLOCK * (size_t)layout->n_goals * sizeof *b->value);
    b->marginals = malloc(BLOCK * (size_t)(layout->n_humans * p->net.n_actions) * sizeof *b->marginals);
    return b->record && b->policies && b->value && b->marginals;
}

static double total_variation(const double *p, const double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(p[i] - q[i]);
    return sum / 2;
}

static double kullback_leibler(const double *p, const double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0) sum += p[i] * log(p[i] / fmax(q[i], 1e-300));
    return sum;
}

/* One state: adds to the sums of `d`, weights to *visited, *open and *people. */
static void compare_state(const phase1 *p, const block *b, size_t i, uint64_t s, lud_empo_phase1_distance *d,
                          double *visited, double *open, double *people) {
    const lud_empo_layout *layout = &p->net.features.layout;
    const double *exact = p->reference.records + s * (uint64_t)layout->record_doubles;
    const double *policy = b->policies + i * (size_t)layout->policy_begin[layout->n_humans];
    const double *value = b->value + i * (size_t)layout->n_goals, weight = p->reference.visits[s];
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h];
        double own[256];
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            const int goal = g - layout->goal_begin[h];
            if (lud_empo_features_achieved(&p->net.features, b->records[i], h, goal)) continue;
            const int at = layout->policy_begin[h] + goal * n;
            const double v = fabs(value[g] - exact[layout->v_h_m + g]);
            const double distance = total_variation(policy + at, exact + layout->policies + at, n);
            d->v_h_m_everywhere += v;
            d->divergence_everywhere += distance;
            *open += 1;
            d->v_h_m += weight * v;
            d->divergence += weight * distance;
            d->kl += weight * kullback_leibler(policy + at, exact + layout->policies + at, n);
            *visited += weight;
        }
        lud_empo_marginal_of(layout, p->net.features.goal_weight, exact, h, own);
        const double *learned =
            b->marginals + (i * (size_t)layout->n_humans + (size_t)h) * (size_t)p->net.n_actions;
        d->marginal += weight * total_variation(learned, own, n);
        *people += weight;
    }
}

static void compare(phase1 *p, block *b) {
    const lud_statespace *space = p->reference.space;
    lud_empo_phase1_distance d = {0};
    double visited = 0, open = 0, people = 0;
    for (uint64_t first = 0; first < space->n_states; first += BLOCK) {
        const size_t n = space->n_states - first < BLOCK ? (size_t)(space->n_states - first) : BLOCK;
        for (size_t i = 0; i < n; i++) {
            int32_t *record = b->record + i * (size_t)p->net.features.words;
            lud_empo_features_encode(&p->net.features, space->states + (first + i) * space->state_bytes,
                                     record);
            b->records[i] = record;
        }
        lud_empo_human_net_policies(&p->net, (int64_t)n, b->records, b->policies, b->value);
        lud_empo_human_net_marginals(&p->net, (int64_t)n, b->records, b->marginals);
        for (size_t i = 0; i < n; i++)
            if (!lud_statespace_terminal(space, first + i))
                compare_state(p, b, i, first + i, &d, &visited, &open, &people);
    }
    d.v_h_m /= fmax(visited, 1e-300);
    d.divergence /= fmax(visited, 1e-300);
    d.kl /= fmax(visited, 1e-300);
    d.v_h_m_everywhere /= fmax(open, 1);
    d.divergence_everywhere /= fmax(open, 1);
    d.marginal /= fmax(people, 1e-300);
    p->distance = d;
    p->evaluated = true;
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    lud_status status = lud_empo_reference_ensure(p->scenario, &p->options.theory, NULL,
                                                  p->options.exact_max_states, &p->reference, error);
    if (status || !p->reference.solved) return status;
    block b;
    if (make_block(p, &b))
        compare(p, &b);
    else
        status = lud_fail(error, LUD_ERROR_MEMORY, "no memory to compare with the exact solution");
    free_block(&b);
    if (status) return status;
    const double values[N_EVALUATION] = {
#define X(field, text, format, help) p->distance.field,
        EVALUATION(X)
#undef X
    };
    memcpy(row, values, sizeof values);
    return LUD_OK;
}

/* ---- saving and reporting ---- */

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    phase1 *p = (phase1 *)learner;
    uint64_t step = (uint64_t)p->step;
    lud_checkpoint_u64(checkpoint, "step", &step);
    lud_checkpoint_real(checkpoint, "credit", &p->credit);
    p->step = (int64_t)step;
    lud_empo_human_net_visit(&p->net, "", checkpoint);
    lud_empo_phase1_update_visit(p->update, checkpoint);
    lud_empo_phase1_rollout_visit(p->rollout, "actor.", checkpoint);
    lud_empo_replay_visit(p->replay, "replay.", checkpoint);
}

static void report(lud_learner *learner, lud_text *out) {
    const phase1 *p = (const phase1 *)learner;
    lud_text_append(out, "a stored state takes %zu bytes, with its successors %.0f\n",
                    (size_t)p->net.features.words * sizeof(int32_t), lud_empo_replay_mean_bytes(p->replay));
    if (p->reference.too_large)
        lud_text_append(out, "the world has more than %lld states and is not solved for comparison\n",
                        (long long)p->options.exact_max_states);
    if (!p->evaluated) return;
    const lud_empo_phase1_distance *d = &p->distance;
    lud_text_append(out, "\n=== Learned against exact, %llu states, goals not yet achieved ===\n",
                    (unsigned long long)p->reference.space->n_states);
    lud_text_append(out, "                                  visited   everywhere\n");
    lud_text_append(out, "  V_h^m, absolute error          %8.4f     %8.4f\n", d->v_h_m, d->v_h_m_everywhere);
    lud_text_append(out, "  pi_h, total variation          %8.4f     %8.4f\n", d->divergence,
                    d->divergence_everywhere);
    lud_text_append(out, "  pi_h, Kullback-Leibler         %8.4f nats\n", d->kl);
    lud_text_append(out, "  marginal, total variation      %8.4f\n", d->marginal);
}

static lud_status policy(lud_learner *learner, lud_policy **made, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    return lud_empo_human_policy_create(&p->net, p->scenario->model, made, error);
}

lud_empo_phase1_view lud_empo_phase1_targets(const lud_empo_phase1_learner *learner) {
    return lud_empo_phase1_update_view(learner->update);
}

const lud_learner_kind lud_empo_phase1 = {
    .name = "empo-phase1",
    .about = "what people would do for each goal, learned by networks: phase 1 of EMPO",
    .options = &lud_empo_phase1_table,
    .values = offsetof(phase1, options),
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .evaluate = evaluate,
    .visit = visit,
    .policy = policy,
    .report = report,
};
