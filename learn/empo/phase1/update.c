/* Updates of the learner empo-phase1 (learn/empo/phase1/phase1.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/phase1/phase1.h"
#include "learn/nn/shares.h"

enum { GROUP_Q, GROUP_MARGINAL, N_GROUPS };

typedef struct training_net {
    lud_nn *net;
    lud_empo_graph graph;
    int output;
    lud_optimiser *optimiser;
    int group;
    lud_shares shares;
} training_net;

/* States of the batch that are learned from at once: those of a share. */
typedef struct stretch {
    int64_t first, n;
} stretch;

struct lud_empo_phase1_update {
    lud_empo_human_net *net;
    const lud_empo_replay *replay;
    lud_device *device;
    uint64_t seed;
    int64_t n, goals, all_goals; /* states of a batch, goals drawn for each, most goals of a person */
    int64_t counting;            /* numbers of the batch's targets that count */
    training_net nets[N_GROUPS];
    lud_empo_staging staging;
    lud_arrays arrays, row_arrays; /* those of fixed size, and [row_room] */
    int64_t *indices;              /* [n] */
    lud_empo_transition *own;      /* [n] */
    int32_t *goal;                 /* [n][goals] */
    float *q, *weight;             /* [n][goals][n_actions], and 0 or 1 for the whole row */
    float *host;                   /* [n][goals][n_actions] of a share, read back */
    const int32_t **states;        /* [n] */
    /* a query about the successors: rooms grow with what a batch holds */
    int64_t row_room;
    const int32_t **records;                  /* [row_room] */
    int32_t *begin;                           /* [row_room + 1] */
    int32_t *person, *person_goal;            /* [row_room * goals] */
    double *value;                            /* [row_room * goals] */
    int32_t *marginal_begin;                  /* a query about all goals of a share's states */
    int32_t *marginal_person, *marginal_goal; /* [n * all_goals] */
    double *marginal_policy;                  /* [n * all_goals][n_actions] */
    float *marginal;                          /* [n][n_actions] */
    /* device: [n * goals * n_actions] */
    float *target, *mask, *loss;
    double losses[N_GROUPS];
};

/* ---- making ---- */

static lud_status make_net(lud_empo_phase1_update *t, int group, lud_error *error) {
    const bool marginal = group == GROUP_MARGINAL;
    const lud_empo_phase1_options *o = &t->net->options;
    lud_parameters *parameters = marginal ? t->net->marginal : t->net->q;
    training_net *made = &t->nets[group];
    made->net = lud_nn_create(parameters, t->n);
    made->optimiser = lud_optimiser_create(parameters);
    if (!made->net || !made->optimiser) return lud_no_memory(error, "a network");
    made->graph = lud_empo_human_declare(made->net, &t->net->shape, marginal, t->net->n_actions, o->dropout,
                                         marginal ? t->n : t->n * t->goals, &made->output);
    LUD_TRY(lud_nn_plan(made->net, LUD_NN_TRAIN, error));
    lud_optimiser_options options = o->optimiser;
    options.max_norm = o->grad_clip;
    made->group = lud_optimiser_group(made->optimiser, "", &options, false);
    if (made->group < 0 || !lud_empo_prepare(made->net, &made->graph, &t->net->shape))
        return lud_no_memory(error, "a network");
    LUD_TRY(lud_optimiser_build(made->optimiser, t->seed, error));
    return lud_shares_open(parameters, (int)o->shares, 1, &made->shares, error);
}

static bool make_arrays(lud_empo_phase1_update *t) {
    const size_t n = (size_t)t->n, goals = (size_t)t->goals, actions = (size_t)t->net->n_actions;
    const size_t all = n * (size_t)t->all_goals, numbers = n * goals * actions;
    t->arrays.device = t->device;
    LUD_TAKE(&t->arrays, t->indices, n);
    LUD_TAKE(&t->arrays, t->own, n);
    LUD_TAKE(&t->arrays, t->goal, n * goals);
    LUD_TAKE(&t->arrays, t->q, numbers);
    LUD_TAKE(&t->arrays, t->weight, numbers);
    LUD_TAKE(&t->arrays, t->host, numbers);
    LUD_TAKE(&t->arrays, t->states, n);
    LUD_TAKE(&t->arrays, t->marginal_begin, n + 1);
    LUD_TAKE(&t->arrays, t->marginal_person, all);
    LUD_TAKE(&t->arrays, t->marginal_goal, all);
    LUD_TAKE(&t->arrays, t->marginal_policy, all * actions);
    LUD_TAKE(&t->arrays, t->marginal, n * actions);
    LUD_TAKE_ON_DEVICE(&t->arrays, t->target, numbers);
    LUD_TAKE_ON_DEVICE(&t->arrays, t->mask, numbers);
    LUD_TAKE_ON_DEVICE(&t->arrays, t->loss, numbers);
    return !t->arrays.failed && lud_empo_staging_create(t->device, &t->net->features, &t->net->shape.walk,
                                                        t->n, t->n * t->goals, &t->staging);
}

lud_status lud_empo_phase1_update_create(lud_empo_human_net *net, const lud_empo_replay *replay,
                                         uint64_t seed, lud_empo_phase1_update **update, lud_error *error) {
    *update = NULL;
    const lud_empo_layout *layout = &net->features.layout;
    lud_empo_phase1_update *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "an update");
    *t = (lud_empo_phase1_update){.net = net,
                                  .replay = replay,
                                  .device = net->device,
                                  .seed = seed,
                                  .n = net->options.batch_size,
                                  .losses = {NAN, NAN}};
    for (int h = 0; h < layout->n_humans; h++)
        if (lud_empo_goals_of(layout, h) > t->all_goals) t->all_goals = lud_empo_goals_of(layout, h);
    t->goals = net->options.goals_per_state;
    if (t->goals == 0 || t->goals > t->all_goals) t->goals = t->all_goals;
    lud_status status = make_arrays(t) ? LUD_OK : lud_no_memory(error, "a batch");
    if (status == LUD_OK) status = make_net(t, GROUP_Q, error);
    if (status == LUD_OK && net->marginal) status = make_net(t, GROUP_MARGINAL, error);
    if (status)
        lud_empo_phase1_update_destroy(t);
    else
        *update = t;
    return status;
}

void lud_empo_phase1_update_destroy(lud_empo_phase1_update *t) {
    if (!t) return;
    for (int i = 0; i < N_GROUPS; i++) {
        lud_nn_destroy(t->nets[i].net);
        lud_optimiser_destroy(t->nets[i].optimiser);
        lud_shares_close(&t->nets[i].shares);
    }
    lud_empo_staging_free(&t->staging);
    lud_arrays_free(&t->arrays);
    lud_arrays_free(&t->row_arrays);
    free(t);
}

static bool room_for_rows(lud_empo_phase1_update *t, int64_t n) {
    if (n <= t->row_room) return true;
    const size_t rows = (size_t)(n + n / 2), entries = rows * (size_t)t->goals;
    lud_arrays *a = &t->row_arrays;
    lud_arrays_free(a);
    LUD_TAKE(a, t->records, rows);
    LUD_TAKE(a, t->begin, rows + 1);
    LUD_TAKE(a, t->person, entries);
    LUD_TAKE(a, t->person_goal, entries);
    LUD_TAKE(a, t->value, entries);
    t->row_room = a->failed ? 0 : (int64_t)rows;
    return !a->failed;
}

/* ---- targets ---- */

/* Goals of transition i: all of the person's, or drawn by weight. Entries beyond the last goal repeat it. */
static void draw_goals(lud_empo_phase1_update *t, int64_t i, int64_t step) {
    const int h = t->own[i].goals[0], n_goals = lud_empo_goals_of(&t->net->features.layout, h);
    for (int64_t k = 0; k < t->goals; k++) {
        int32_t *goal = &t->goal[i * t->goals + k];
        if (n_goals <= t->goals) {
            *goal = k < n_goals ? (int32_t)k : n_goals - 1;
            continue;
        }
        const lud_words w = lud_draw((lud_random_key){t->seed, (uint32_t)i}, (uint32_t)step, (uint32_t)k,
                                     LUD_PURPOSE_GOAL, 0x200);
        *goal = lud_empo_features_draw_goal(&t->net->features, h, lud_unit53(w.v[0], w.v[1]));
    }
}

/* V_h^m of all successors for their transition's goals. */
static lud_status evaluate_successors(lud_empo_phase1_update *t, stretch own, lud_error *error) {
    const int64_t end = own.first + own.n;
    int64_t rows = 0;
    for (int64_t i = own.first; i < end; i++) rows += t->own[i].n_successors;
    if (!room_for_rows(t, rows)) return lud_no_memory(error, "%lld successors", (long long)rows);
    int64_t row = 0;
    for (int64_t i = own.first; i < end; i++)
        for (int32_t s = 0; s < t->own[i].n_successors; s++, row++) {
            t->records[row] = t->own[i].successor + (size_t)s * (size_t)t->net->features.words;
            t->begin[row] = (int32_t)(row * t->goals);
            for (int64_t k = 0; k < t->goals; k++) {
                t->person[row * t->goals + k] = t->own[i].goals[0];
                t->person_goal[row * t->goals + k] = t->goal[i * t->goals + k];
            }
        }
    t->begin[rows] = (int32_t)(rows * t->goals);
    const lud_empo_human_query query = {
        .n = rows, .records = t->records, .begin = t->begin, .person = t->person, .goal = t->person_goal};
    lud_empo_human_net_evaluate(t->net, &query, true, NULL, t->value);
    return LUD_OK;
}

/* Equation (1) for one transition, goal and own action under the draw that is stored. */
static double target_of(const lud_empo_phase1_update *t, const lud_empo_transition *own, int64_t first_row,
                        int64_t k, int32_t goal, int action) {
    const lud_empo_features *f = &t->net->features;
    const lud_empo_theory *theory = &t->net->options.theory;
    const int n_robots = f->layout.n_robot_actions;
    double best = theory->optimistic ? -INFINITY : INFINITY;
    for (int r = 0; r < n_robots; r++) {
        double sum = 0;
        for (int32_t l = own->offsets[action * n_robots + r]; l < own->offsets[action * n_robots + r + 1];
             l++) {
            const int32_t s = own->link[l];
            const int32_t *record = own->successor + (size_t)s * (size_t)f->words;
            double value =
                own->terminal[s] ? 0.0 : theory->gamma_h * t->value[(first_row + s) * t->goals + k];
            if (lud_empo_features_achieved(f, record, own->goals[0], goal)) value = 1.0;
            sum += (double)own->probability[l] * value;
        }
        best = theory->optimistic ? fmax(best, sum) : fmin(best, sum);
    }
    return best;
}

/* Fills the weights of the whole batch and counts the numbers that they leave. */
static void weigh(lud_empo_phase1_update *t) {
    const lud_empo_layout *layout = &t->net->features.layout;
    const int64_t actions = t->net->n_actions;
    t->counting = 0;
    for (int64_t i = 0; i < t->n; i++)
        for (int64_t k = 0; k < t->goals; k++) {
            const int h = t->own[i].goals[0], n_goals = lud_empo_goals_of(layout, h);
            const int32_t goal = t->goal[i * t->goals + k];
            const bool counts = (n_goals > t->goals || k < n_goals) &&
                                !lud_empo_features_achieved(&t->net->features, t->own[i].state, h, goal);
            for (int64_t a = 0; a < actions; a++) {
                const bool own = counts && a < layout->n_human_actions[h];
                t->weight[(i * t->goals + k) * actions + a] = own ? 1.0f : 0.0f;
                t->counting += own;
            }
        }
}

/* Fills q where it counts, with zeros elsewhere. */
static void fill_targets(lud_empo_phase1_update *t, stretch own) {
    const int64_t actions = t->net->n_actions;
    int64_t row = 0;
    for (int64_t i = own.first; i < own.first + own.n; row += t->own[i].n_successors, i++)
        for (int64_t k = 0; k < t->goals; k++)
            for (int64_t a = 0; a < actions; a++) {
                const int64_t at = (i * t->goals + k) * actions + a;
                const int32_t goal = t->goal[i * t->goals + k];
                t->q[at] =
                    t->weight[at] > 0.0f ? (float)target_of(t, &t->own[i], row, k, goal, (int)a) : 0.0f;
            }
}

/* ---- learning ---- */

/* Sends the stretch's states and one entry for each of its first `per_state` goals (-1: one without). */
static void stage(lud_empo_phase1_update *t, stretch rows, const training_net *own, int64_t goals) {
    const int64_t per_state = goals < 0 ? 1 : goals;
    lud_empo_staging_states(&t->staging, own->net, &own->graph, rows.n, t->states + rows.first);
    for (int64_t j = 0; j < rows.n; j++)
        for (int64_t k = 0; k < per_state; k++) {
            const int64_t i = rows.first + j;
            lud_empo_staging_entry(&t->staging, j * per_state + k, j, t->states[i], t->own[i].goals[0],
                                   goals < 0 ? -1 : t->goal[i * t->goals + k]);
        }
    lud_empo_staging_entries(&t->staging, own->net, &own->graph, rows.n * per_state);
}

/* Gradients of Q_h^m; the sum of the losses where it is measured. */
static lud_status learn_q(lud_empo_phase1_update *t, stretch rows, bool measure, double *loss,
                          lud_error *error) {
    training_net *own = &t->nets[GROUP_Q];
    const int64_t each = t->goals * t->net->n_actions, numbers = rows.n * each;
    const size_t bytes = (size_t)numbers * sizeof(float);
    const float *weight = t->weight + rows.first * each;
    LUD_TRY(evaluate_successors(t, rows, error));
    fill_targets(t, rows);
    lud_device_upload(t->device, t->target, t->q + rows.first * each, bytes);
    lud_device_upload(t->device, t->mask, weight, bytes);
    stage(t, rows, own, t->goals);
    lud_nn_forward(own->net, rows.n, true);
    t->device->ops->mse_loss(t->device, numbers, lud_nn_value(own->net, own->output), t->target, t->mask,
                             1.0 / (double)(t->counting ? t->counting : 1), t->loss,
                             lud_nn_gradient(own->net, own->output), false);
    if (measure) {
        lud_device_download(t->device, t->host, t->loss, bytes);
        for (int64_t i = 0; i < numbers; i++) *loss += (double)(weight[i] * t->host[i]);
    }
    lud_nn_backward(own->net);
    return LUD_OK;
}

/* Mean policy over all goals of the person, for every state of the stretch. */
static void fill_marginals(lud_empo_phase1_update *t, stretch rows) {
    const lud_empo_features *f = &t->net->features;
    const int64_t actions = t->net->n_actions;
    int32_t at = 0;
    for (int64_t i = 0; i < rows.n; i++, t->marginal_begin[i] = at) {
        const int32_t person = t->own[rows.first + i].goals[0];
        for (int g = 0; g < lud_empo_goals_of(&f->layout, person); g++, at++) {
            t->marginal_person[at] = person;
            t->marginal_goal[at] = g;
        }
    }
    const lud_empo_human_query query = {.n = rows.n,
                                        .records = t->states + rows.first,
                                        .begin = t->marginal_begin,
                                        .person = t->marginal_person,
                                        .goal = t->marginal_goal};
    lud_empo_human_net_evaluate(t->net, &query, true, t->marginal_policy, NULL);
    memset(t->marginal, 0, (size_t)(rows.n * actions) * sizeof *t->marginal);
    for (int64_t i = 0; i < rows.n; i++)
        for (int32_t e = t->marginal_begin[i]; e < t->marginal_begin[i + 1]; e++) {
            const int h = t->marginal_person[e];
            const double weight =
                f->goal_weight[f->layout.goal_begin[h] + t->marginal_goal[e]] / f->weight_sum[h];
            for (int64_t a = 0; a < actions; a++)
                t->marginal[i * actions + a] += (float)(weight * t->marginal_policy[e * actions + a]);
        }
}

/* Cross-entropy to the mean policy: the gradient by the logits is softmax - target. */
static void learn_marginal(lud_empo_phase1_update *t, stretch rows, bool measure, double *loss) {
    training_net *own = &t->nets[GROUP_MARGINAL];
    const lud_ops *ops = t->device->ops;
    const int64_t actions = t->net->n_actions, numbers = rows.n * actions;
    const size_t bytes = (size_t)numbers * sizeof(float);
    fill_marginals(t, rows);
    lud_device_upload(t->device, t->target, t->marginal, bytes);
    stage(t, rows, own, -1);
    lud_nn_forward(own->net, rows.n, true);
    ops->softmax(t->device, rows.n, actions, 1.0, lud_nn_value(own->net, own->output), NULL, t->mask);
    ops->combine(t->device, numbers, 1.0 / (double)t->n, t->mask, -1.0 / (double)t->n, t->target,
                 lud_nn_gradient(own->net, own->output));
    if (measure) {
        lud_device_download(t->device, t->host, t->mask, bytes);
        for (int64_t i = 0; i < numbers; i++)
            if (t->marginal[i] > 0) *loss -= (double)t->marginal[i] * log(fmax((double)t->host[i], 1e-30));
    }
    lud_nn_backward(own->net);
}

/* Gradients of one network from all shares, `counting` numbers in all. */
static lud_status add_gradients(lud_empo_phase1_update *t, int group, int64_t step, int64_t counting,
                                bool measure, lud_error *error) {
    training_net *own = &t->nets[group];
    lud_shares *shares = &own->shares;
    lud_status status = LUD_OK;
    double sum;
    lud_shares_begin(shares);
    for (int s = shares->first; s < shares->end && !status; s++) {
        const int64_t first = lud_share_begin(t->n, shares->n, s);
        const stretch rows = {first, lud_share_begin(t->n, shares->n, s + 1) - first};
        double loss = 0.0;
        lud_nn_set_step(own->net, lud_shares_seed(t->seed, s), (uint32_t)step);
        if (group == GROUP_Q)
            status = learn_q(t, rows, measure, &loss, error);
        else
            learn_marginal(t, rows, measure, &loss);
        lud_shares_keep(shares, s, 1.0, &loss);
    }
    LUD_TRY(lud_shares_add(shares, status, &sum, error));
    if (measure) t->losses[group] = counting ? sum / (double)counting : NAN;
    return LUD_OK;
}

static void step_net(lud_empo_phase1_update *t, int group, double lr) {
    lud_optimiser_step(t->nets[group].optimiser, t->nets[group].group, lr);
}

lud_status lud_empo_phase1_update_run(lud_empo_phase1_update *t, int64_t step, const lud_empo_phase1_now *now,
                                      bool measure, lud_error *error) {
    lud_empo_replay_sample(t->replay, t->n, INT64_MIN, t->seed, (uint32_t)step, t->indices);
    for (int64_t i = 0; i < t->n; i++) {
        t->own[i] = lud_empo_replay_get(t->replay, t->indices[i]);
        t->states[i] = t->own[i].state;
        draw_goals(t, i, step);
    }
    weigh(t);
    LUD_TRY(add_gradients(t, GROUP_Q, step, t->counting, measure, error));
    if (t->net->marginal) LUD_TRY(add_gradients(t, GROUP_MARGINAL, step, t->n, measure, error));
    /* a stop among processes has left everything as it was; from here on there is none */
    step_net(t, GROUP_Q, now->lr_q_h);
    if (t->net->marginal) step_net(t, GROUP_MARGINAL, now->lr_marginal);
    if ((step + 1) % t->net->options.target_interval == 0) lud_parameters_copy(t->net->q_target, t->net->q);
    return lud_device_check(t->device, error);
}

void lud_empo_phase1_update_losses(const lud_empo_phase1_update *t, double *q, double *marginal) {
    *q = t->losses[GROUP_Q];
    *marginal = t->losses[GROUP_MARGINAL];
}

lud_empo_phase1_view lud_empo_phase1_update_view(const lud_empo_phase1_update *t) {
    return (lud_empo_phase1_view){
        .n = t->n, .goals = t->goals, .indices = t->indices, .goal = t->goal, .q = t->q, .weight = t->weight};
}

void lud_empo_phase1_update_visit(lud_empo_phase1_update *t, lud_checkpoint *checkpoint) {
    lud_optimiser_visit(t->nets[GROUP_Q].optimiser, "optimiser.q_h.", checkpoint);
    if (t->net->marginal)
        lud_optimiser_visit(t->nets[GROUP_MARGINAL].optimiser, "optimiser.pi_h.", checkpoint);
}
