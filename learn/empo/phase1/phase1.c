#include "learn/empo/phase1/phase1.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/ranks/ranks.h"
#include "learn/empo/memory/environments.h"

typedef lud_empo_phase1_learner phase1;

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

enum { COLUMNS(LUD_COLUMN_CONSTANT) N_COLUMNS };
static const lud_metric columns[N_COLUMNS] = {COLUMNS(LUD_COLUMN_METRIC)};

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
    LUD_TRY(lud_empo_human_net_create(p->device, p->scenario->model, o, seed, &p->net, error));
    const int64_t width = p->net.n_actions * p->net.features.layout.n_robot_actions;
    assert(width <= INT32_MAX); /* so have all agents together (lud_empo_layout_find) */
    p->replay = lud_empo_replay_create(o->buffer_size, (size_t)(o->buffer_memory * LUD_GIBIBYTE),
                                       p->net.features.words, (int)width, 1, 0);
    if (!p->replay) return lud_no_memory(error, "transitions");
    LUD_TRY(lud_empo_phase1_update_create(&p->net, p->replay, seed, &p->update, error));
    return lud_empo_phase1_rollout_create(&p->net, p->scenario->model, seed, &p->rollout, error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    phase1 *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "a learner");
    p->scenario = scenario;
    p->device = device;
    p->arena = lud_arena_create(0);
    lud_status status = p->arena
                            ? lud_empo_phase1_options_read(p->arena, scenario->learner, &p->options, error)
                            : lud_no_memory(error, "a learner");
    if (status == LUD_OK) status = make_parts(p, error);
    if (status) {
        destroy(&p->base);
        return status;
    }
    const int64_t each = p->options.updates_per_iteration;
    p->base = (lud_learner){.kind = &lud_empo_phase1,
                            .columns = columns,
                            .n_columns = N_COLUMNS,
                            .evaluation_columns = lud_empo_phase1_evaluation_columns,
                            .n_evaluation_columns = lud_empo_phase1_n_evaluation_columns,
                            .n_iterations = (uint64_t)((p->options.num_training_steps + each - 1) / each)};
    *learner = &p->base;
    return LUD_OK;
}

/* ---- training ---- */

/* Processes go on together, unless one of them is to stop or could not act. */
static lud_status go_on(phase1 *p, lud_status acted, double part, lud_error *error) {
    return lud_ranks_agree(p->device->ranks, acted ? acted : lud_progress_beat(p->base.progress, part, error),
                           error);
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    const lud_empo_phase1_options *o = &p->options;
    /* of an iteration that was broken off the rest */
    const int64_t each = o->updates_per_iteration, first = p->step / each * each;
    int64_t end = first + each;
    if (end > o->num_training_steps) end = o->num_training_steps;
    lud_empo_phase1_now now = lud_empo_phase1_at(o, p->step);
    for (; p->step < end; p->step++, p->credit -= 1.0) {
        const double part = (double)(p->step - first) / (double)(end - first);
        lud_status acted = LUD_OK;
        now = lud_empo_phase1_at(o, p->step);
        while (!acted && (lud_empo_replay_count(p->replay) < o->batch_size || p->credit < 1.0)) {
            LUD_TRY(go_on(p, LUD_OK, part, error));
            acted = lud_empo_phase1_rollout_step(p->rollout, now.epsilon, p->step, p->replay, error);
            if (!acted) acted = lud_empo_replay_check_room(p->replay, o->batch_size, error);
            if (!acted && lud_empo_replay_count(p->replay) >= o->batch_size)
                p->credit += o->training_steps_per_env_step * (double)o->environments;
        }
        LUD_TRY(go_on(p, acted, part, error));
        LUD_TRY(lud_empo_phase1_update_run(p->update, p->step, &now, p->step + 1 == end, error));
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

/* ---- saving and reporting ---- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    lud_empo_human_net_visit_policy(&((phase1 *)learner)->net, checkpoint);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    phase1 *p = (phase1 *)learner;
    uint64_t step = (uint64_t)p->step;
    lud_checkpoint_u64(checkpoint, "step", &step);
    lud_checkpoint_real(checkpoint, "credit", &p->credit);
    lud_checkpoint_limit(checkpoint, "step", step, LUD_CHECKPOINT_MOST);
    lud_empo_check_credit(checkpoint, p->credit);
    p->step = (int64_t)step;
    lud_empo_human_net_visit(&p->net, checkpoint);
    lud_empo_phase1_update_visit(p->update, checkpoint);
    lud_empo_phase1_rollout_visit(p->rollout, "actor.", checkpoint);
    /* a transition is one person's, whose number stands in place of goals */
    const lud_empo_replay_bounds bounds = {
        .features = &p->net.features, .n_goals = {p->net.features.layout.n_humans}, .step = p->step};
    lud_empo_replay_visit(p->replay, &bounds, "replay.", checkpoint);
}

static void report(lud_learner *learner, lud_text *out) {
    const phase1 *p = (const phase1 *)learner;
    const double bytes = lud_empo_replay_mean_bytes(p->replay);
    if (bytes > 0.0) /* parameters of a run come without a memory */
        lud_text_append(out, "a stored state takes %zu bytes, with its successors %.0f\n",
                        (size_t)p->net.features.words * sizeof(int32_t), bytes);
    lud_empo_phase1_report_evaluation(p, out);
}

static lud_status policy(lud_learner *learner, lud_policy **made, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    return lud_empo_human_policy_create(&p->net, p->scenario->model, made, error);
}

const lud_learner_kind lud_empo_phase1 = {
    .name = "empo-phase1",
    .about = "what people would do for each goal, learned by networks: phase 1 of EMPO",
    .options = &lud_empo_phase1_table,
    .values = offsetof(phase1, options),
    .needs_goals = true,
    .create = create,
    .destroy = destroy,
    .goes_on_within = true,
    .iterate = iterate,
    .evaluate = lud_empo_phase1_evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "exact/policy_divergence", .least = true},
    .policy = policy,
    .report = report,
};
