#include "learn/empo/phase2/phase2.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/ranks/ranks.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/phase2/automatic.h"
#include "learn/empo/phase2/evaluation.h"

typedef lud_empo_phase2_learner phase2;

/* ---- columns ---- */

/* One column for each quantity; for U_r it is about y, from which U_r follows. */
#define OF_NETS(X, name, before, after, v_format, q_format, what)                                            \
    X(name##_V_H_E, before "v_h_e" after, v_format, what ", V_h^e")                                          \
    X(name##_X_H, before "x_h" after, NULL, what ", X_h")                                                    \
    X(name##_U_R, before "u_r" after, NULL, what ", y of U_r")                                               \
    X(name##_Q_R, before "q_r" after, q_format, what ", Q_r")                                                \
    X(name##_V_R, before "v_r" after, NULL, what ", V_r")
#define COLUMNS(X)                                                                                           \
    X(STAGE, "warmup/stage", "%.0f", "stage of training, 0 to 6")                                            \
    X(BETA_R, "warmup/beta_r", NULL, "exponent of the robots' policy at present")                            \
    X(EPSILON_R, "exploration/epsilon_r", NULL, "chance of a random robot action")                           \
    X(EPSILON_H, "exploration/epsilon_h", NULL, "chance of a random human action")                           \
    X(STATES_SEEN, "exploration/states_seen", NULL, "different states visited (count bonus only)")           \
    X(RND_LOSS, "exploration/rnd_loss", NULL, "error of the predictor of novelty on a batch (use_rnd)")      \
    X(RND_ACTIONS, "exploration/rnd_loss_actions", NULL, "of the predictor for people's actions")            \
    X(RND_MEAN, "exploration/rnd_mean", NULL, "running mean of novelty")                                     \
    X(RND_DEVIATION, "exploration/rnd_deviation", NULL, "its running deviation")                             \
    OF_NETS(X, LOSS, "loss/", "", "%.2e", "%.2e", "mean squared error at the last update")                   \
    OF_NETS(X, NORM, "grad_norm/", "", NULL, NULL, "gradient norm before clipping")                          \
    OF_NETS(X, PREDICTION, "predictions/", "_mean", NULL, NULL, "mean prediction on the last batch")         \
    OF_NETS(X, PREDICTION_STD, "predictions/", "_std", NULL, NULL, "deviation of those predictions")         \
    OF_NETS(X, TARGET, "targets/", "_mean", NULL, NULL, "mean target on the last batch")                     \
    OF_NETS(X, TARGET_STD, "targets/", "_std", NULL, NULL, "deviation of those targets")                     \
    X(TRAJECTORY_LENGTH, "trajectory/length", NULL,                                                          \
      "mean steps followed for a transition of the last batch")                                              \
    X(TRAJECTORY_V_H_E, "trajectory/v_h_e", NULL, "share of V_h^e targets that follow the trajectory")       \
    X(TRAJECTORY_ACHIEVED, "trajectory/v_h_e_achieved", NULL, "of those: the goal was achieved")             \
    X(TRAJECTORY_OPEN, "trajectory/v_h_e_bootstrapped", NULL, "of those: they end in a prediction")          \
    X(TRAJECTORY_Q_R, "trajectory/q_r", NULL,                                                                \
      "share of transitions whose Q_r target follows the trajectory")                                        \
    X(TRAJECTORY_Q_R_OPEN, "trajectory/q_r_bootstrapped", NULL, "of those: they end in a prediction")        \
    X(HINDSIGHT_SHARE, "hindsight/replaced", NULL, "share of goals replaced in hindsight")                   \
    X(HINDSIGHT_WEIGHT, "hindsight/weight", NULL, "mean weight of entries then")                             \
    X(DORMANT, "plasticity/dormant", NULL, "share of units that hardly answer to anything")                  \
    X(DEAD, "plasticity/dead", NULL, "share of units that never answer")                                     \
    X(SRANK, "plasticity/srank", NULL, "directions that hold 99 % of the shared state features")             \
    X(EFFECTIVE_RANK, "plasticity/effective_rank", NULL, "exp of the entropy of their singular values")      \
    OF_NETS(X, PARAM_NORM, "param_norm/", "", NULL, NULL, "norm of the weights at the last diagnosis")       \
    X(LEARNING_RATE, "learning_rate/v_h_e", NULL, "learning rate of V_h^e")                                  \
    X(TRAINING_STEPS, "progress/training_steps", NULL, "updates done")                                       \
    X(ENVIRONMENT_STEPS, "progress/environment_steps", NULL, "steps of single environments done")            \
    X(EPISODES, "progress/episodes", NULL, "episodes finished")                                              \
    X(ACHIEVED, "progress/goals_achieved", NULL, "goals that people achieved")                               \
    X(ASYNC_WAITS, "async/queue_waits", NULL, "times an actor waited because its buffers were full")         \
    X(ASYNC_THROTTLED, "async/throttled", NULL, "times one waited because it was ahead of the training")     \
    X(ASYNC_QUEUED, "async/queued", NULL, "transitions on their way to the memory")                          \
    X(TRANSITIONS, "replay/transitions", NULL, "stored at present")                                          \
    X(TRANSITION_BYTES, "replay/bytes_per_transition", NULL, "mean size of a stored transition")             \
    X(MET, "met/states", "%.0f", "states met (met_memory)")                                                  \
    X(MET_EXPANDED, "met/expanded", NULL, "those with their successors")                                     \
    X(MET_FORGOTTEN, "met/forgotten", NULL, "states whose successors had to go")                             \
    X(MET_COMPUTED, "met/computed", NULL, "states computed by sweeps")                                       \
    X(MET_MEMORY, "met/gibibytes", NULL, "memory that they take, in GiB")

enum {
    COLUMNS(LUD_COLUMN_CONSTANT) N_COLUMNS,
    N_COLUMNS_OF_REPLAY = COLUMN_MET
}; /* the last ones: of states met */
static const lud_metric columns[N_COLUMNS] = {COLUMNS(LUD_COLUMN_METRIC)};

/* ---- making and freeing ---- */

static void destroy(lud_learner *learner) {
    phase2 *p = (phase2 *)learner;
    lud_empo_met_training_destroy(p->met);
    lud_empo_async_destroy(p->async);
    lud_empo_update_destroy(p->update);
    lud_empo_rollout_destroy(p->rollout);
    lud_empo_novelty_destroy(p->novelty);
    lud_empo_search_destroy(p->search);
    lud_empo_plasticity_destroy(p->plasticity);
    lud_empo_values_free(&p->values);
    lud_empo_replay_destroy(p->replay);
    lud_empo_reference_free(&p->reference);
    lud_policy_destroy(p->prior.policy);
    lud_empo_human_net_free(&p->human_net);
    lud_empo_features_free(&p->features);
    lud_arrays_free(&p->arrays);
    lud_arena_destroy(p->arena);
    free(p);
}

static lud_status make_prior(phase2 *p, lud_error *error) {
    lud_tree *tree = p->options.human_prior;
    if (!tree || !tree->text || strcmp(tree->text, "exact") != 0)
        return lud_empo_prior_open(p->arena, tree, p->scenario, p->device, &p->human_net, &p->prior, error);
    const uint64_t most = p->options.exact_max_states ? (uint64_t)p->options.exact_max_states : 1;
    p->prior.reference = &p->reference;
    if (p->reference.solved) return LUD_OK;
    return lud_empo_reference_create(p->scenario->model, &p->options.theory, NULL,
                                     (uint64_t)p->scenario->run.seed, most, (int)p->scenario->run.threads,
                                     &p->reference, error)
               ? lud_fail_context(error, "human_prior: exact")
               : LUD_OK;
}

static lud_status make_met(phase2 *p, lud_error *error) {
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    LUD_TRY(lud_empo_values_create(p->device, &p->features, &p->options, seed, &p->values, error));
    return lud_empo_met_training_create(&p->features, &p->options, &p->prior, &p->values, seed, &p->met,
                                        error);
}

static lud_status make_parts(phase2 *p, lud_error *error) {
    const lud_empo_learner_options *o = &p->options;
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    const lud_empo_layout *layout = &p->features.layout;
    p->replay = lud_empo_replay_create(o->buffer_size, (size_t)(o->buffer_memory * LUD_GIBIBYTE),
                                       p->features.words, layout->n_robot_actions, layout->n_humans,
                                       o->expected_people ? layout->policy_begin[layout->n_humans] : 0);
    const int64_t probes = o->plasticity_interval ? o->plasticity_batch_size : 1;
    const size_t sampled = (size_t)(o->batch_size > probes ? o->batch_size : probes);
    LUD_TAKE(&p->arrays, p->sampled, sampled);
    LUD_TAKE(&p->arrays, p->sampled_goals, sampled);
    LUD_TAKE(&p->arrays, p->probed, sampled);
    const int environments = (int)(o->environments * (o->async_training ? o->num_actors : 1));
    const bool complete = p->replay && !p->arrays.failed;
    const bool trajectories = lud_empo_learner_keeps_trajectories(o);
    const int achieved = o->hindsight_prob > 0 ? layout->n_goals : 0;
    if (!complete || (trajectories && !lud_empo_replay_keep_trajectories(p->replay, environments, achieved)))
        return lud_no_memory(error, "transitions");
    LUD_TRY(lud_empo_values_create(p->device, &p->features, o, seed, &p->values, error));
    p->profile =
        (lud_profile){.title = "Batching Profile", .stages = lud_empo_update_stages, .n = LUD_UPDATE_STAGES};
    p->values.profile = &p->profile;
    if (o->plasticity_interval)
        LUD_TRY(lud_empo_plasticity_create(&p->values, o->plasticity_batch_size, o->plasticity_tau,
                                           &p->plasticity, error));
    if (o->use_rnd) LUD_TRY(lud_empo_novelty_create(&p->values, seed, &p->novelty, error));
    LUD_TRY(lud_empo_update_create(&p->values, p->replay, o, seed, &p->update, error));
    if (o->pi_r_mode == LUD_EMPO_MCTS && !o->async_training)
        LUD_TRY(lud_empo_search_create(o, (int)o->environments, seed, &p->features, &p->prior, &p->search,
                                       error));
    const lud_empo_rollout_parts parts = {.options = o,
                                          .features = &p->features,
                                          .prior = &p->prior,
                                          .values = &p->values,
                                          .novelty = p->novelty,
                                          .search = p->search,
                                          .seed = seed};
    return o->async_training ? lud_empo_async_create(&parts, &p->async, error)
                             : lud_empo_rollout_create(&parts, &p->rollout, error);
}

static lud_status check_processes(const phase2 *p, lud_error *error) {
    if (p->device->ranks && p->options.async_training)
        return lud_invalid_at(error, p->scenario->learner->place,
                              "learner.async_training: expected false with several processes, which do the "
                              "same at the same time; %d were started",
                              lud_ranks_size(p->device->ranks));
    return lud_ranks_check_shares(p->device->ranks, (int)p->options.shares, error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    phase2 *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "a learner");
    p->scenario = scenario;
    p->device = device;
    p->arena = lud_arena_create(0);
    lud_status status = p->arena
                            ? lud_empo_learner_options_begin(p->arena, scenario->learner, &p->options, error)
                            : lud_no_memory(error, "a learner");
    const char *chosen = NULL;
    if (status == LUD_OK)
        status = lud_empo_phase2_choose(scenario, p->arena, &p->options, &p->reference, &chosen, error);
    if (status == LUD_OK) status = lud_empo_learner_options_end(scenario->learner, &p->options, error);
    if (status == LUD_OK) status = check_processes(p, error);
    if (status == LUD_OK)
        status =
            lud_empo_features_create(scenario->model, p->options.include_step_count, &p->features, error);
    if (status == LUD_OK) status = make_prior(p, error);
    if (status == LUD_OK) status = p->options.met_memory > 0 ? make_met(p, error) : make_parts(p, error);
    if (status) {
        destroy(&p->base);
        return status;
    }
    const int64_t each = p->options.updates_per_iteration;
    p->base = (lud_learner){.kind = &lud_empo_phase2,
                            .columns = columns,
                            .n_columns = p->met ? N_COLUMNS : N_COLUMNS_OF_REPLAY,
                            .evaluation_columns = lud_empo_phase2_evaluation_columns,
                            .n_evaluation_columns = p->met ? lud_empo_met_n_evaluation_columns
                                                           : lud_empo_phase2_n_evaluation_columns,
                            .n_iterations = (uint64_t)((p->options.stages.total + each - 1) / each),
                            .chosen = chosen};
    *learner = &p->base;
    return LUD_OK;
}

/* ---- training ---- */

lud_status lud_empo_phase2_act(phase2 *p, const lud_empo_now *now, lud_error *error) {
    lud_profile_begin(&p->profile, LUD_STAGE_ACTOR);
    const lud_status status = lud_empo_rollout_step(p->rollout, now, p->step, p->replay, error);
    lud_profile_end(&p->profile, LUD_STAGE_ACTOR);
    return status;
}

static lud_empo_rollout_counts counts_of(const phase2 *p) {
    return p->async ? lud_empo_async_get_counts(p->async).actors : lud_empo_rollout_get_counts(p->rollout);
}

static void fill_met_row(const phase2 *p, const lud_empo_now *now, double *row) {
    const lud_empo_met_figures met = lud_empo_met_get(p->met->met);
    const lud_empo_fit_figures fit = lud_empo_fit_get(p->met->fit);
    const lud_empo_actor_counts counts = lud_empo_actor_get(p->met->actor);
    for (int i = 0; i < N_COLUMNS; i++) row[i] = NAN;
    row[COLUMN_STAGE] = now->stage;
    row[COLUMN_BETA_R] = p->options.theory.beta_r;
    row[COLUMN_EPSILON_R] = now->epsilon_r;
    row[COLUMN_EPSILON_H] = now->epsilon_h;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        row[COLUMN_LOSS_V_H_E + net] = fit.loss[net];
        row[COLUMN_NORM_V_H_E + net] = fit.norm[net];
    }
    row[COLUMN_LEARNING_RATE] = now->lr[LUD_NET_V_H_E];
    row[COLUMN_TRAINING_STEPS] = (double)p->step;
    row[COLUMN_ENVIRONMENT_STEPS] = (double)counts.steps;
    row[COLUMN_EPISODES] = (double)counts.episodes;
    row[COLUMN_ACHIEVED] = (double)counts.achieved;
    row[COLUMN_MET] = (double)met.n;
    row[COLUMN_MET_EXPANDED] = (double)met.expanded;
    row[COLUMN_MET_FORGOTTEN] = (double)met.forgotten;
    row[COLUMN_MET_COMPUTED] = (double)met.computed;
    row[COLUMN_MET_MEMORY] = (double)met.bytes / LUD_GIBIBYTE;
}

static void fill_row(const phase2 *p, const lud_empo_now *now, double *row) {
    const lud_empo_rollout_counts counts = counts_of(p);
    lud_empo_async_counts async = {0};
    if (p->async) async = lud_empo_async_get_counts(p->async);
    row[COLUMN_ASYNC_WAITS] = p->async ? (double)async.waits : NAN;
    row[COLUMN_ASYNC_THROTTLED] = p->async ? (double)async.throttled : NAN;
    row[COLUMN_ASYNC_QUEUED] = p->async ? (double)async.queued : NAN;
    row[COLUMN_STAGE] = now->stage;
    row[COLUMN_BETA_R] = now->beta_r;
    row[COLUMN_EPSILON_R] = now->epsilon_r;
    row[COLUMN_EPSILON_H] = now->epsilon_h;
    row[COLUMN_STATES_SEEN] = p->options.use_count_based_curiosity ? (double)counts.states_seen : NAN;
    lud_empo_novelty_figures novelty = {NAN, NAN, NAN, NAN, NAN};
    if (p->novelty) novelty = lud_empo_novelty_get_figures(p->novelty);
    row[COLUMN_RND_LOSS] = novelty.loss;
    row[COLUMN_RND_ACTIONS] = novelty.loss_actions;
    row[COLUMN_RND_MEAN] = novelty.mean;
    row[COLUMN_RND_DEVIATION] = novelty.deviation;
    for (int column = COLUMN_DORMANT; column <= COLUMN_PARAM_NORM_V_R; column++) row[column] = NAN;
    if (p->plasticity) {
        const lud_empo_plasticity_figures figures = lud_empo_plasticity_get(p->plasticity);
        row[COLUMN_DORMANT] = figures.dormant;
        row[COLUMN_DEAD] = figures.dead;
        row[COLUMN_SRANK] = figures.srank;
        row[COLUMN_EFFECTIVE_RANK] = figures.effective_rank;
        for (int net = 0; net < LUD_EMPO_NETS; net++) row[COLUMN_PARAM_NORM_V_H_E + net] = figures.norm[net];
    }
    const lud_empo_update_figures update = lud_empo_update_get(p->update);
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        row[COLUMN_LOSS_V_H_E + net] = update.loss[net];
        row[COLUMN_NORM_V_H_E + net] = now->active[net] ? update.norm[net] : NAN;
        row[COLUMN_PREDICTION_V_H_E + net] = update.spread[net].prediction_mean;
        row[COLUMN_PREDICTION_STD_V_H_E + net] = update.spread[net].prediction_deviation;
        row[COLUMN_TARGET_V_H_E + net] = update.spread[net].target_mean;
        row[COLUMN_TARGET_STD_V_H_E + net] = update.spread[net].target_deviation;
    }
    row[COLUMN_TRAJECTORY_LENGTH] = update.trajectories.length;
    row[COLUMN_TRAJECTORY_V_H_E] = update.trajectories.people;
    row[COLUMN_TRAJECTORY_ACHIEVED] = update.trajectories.achieved;
    row[COLUMN_TRAJECTORY_OPEN] = update.trajectories.people_bootstrapped;
    row[COLUMN_TRAJECTORY_Q_R] = update.trajectories.robots;
    row[COLUMN_TRAJECTORY_Q_R_OPEN] = update.trajectories.robots_bootstrapped;
    row[COLUMN_HINDSIGHT_SHARE] = update.hindsight_share;
    row[COLUMN_HINDSIGHT_WEIGHT] = update.hindsight_weight;
    row[COLUMN_LEARNING_RATE] = now->lr[LUD_NET_V_H_E];
    row[COLUMN_TRAINING_STEPS] = (double)p->step;
    row[COLUMN_ENVIRONMENT_STEPS] = (double)counts.steps;
    row[COLUMN_EPISODES] = (double)counts.episodes;
    row[COLUMN_ACHIEVED] = (double)counts.achieved;
    row[COLUMN_TRANSITIONS] = (double)lud_empo_replay_count(p->replay);
    row[COLUMN_TRANSITION_BYTES] = lud_empo_replay_mean_bytes(p->replay);
}

/* What the actors' threads have done meanwhile; waits for the first transitions. */
static lud_status take(phase2 *p, lud_error *error) {
    const lud_empo_learner_options *o = &p->options;
    const int64_t least = o->async_min_buffer_size > o->batch_size ? o->async_min_buffer_size : o->batch_size;
    lud_profile_begin(&p->profile, LUD_STAGE_ACTOR);
    lud_status status = lud_empo_async_run(p->async, p->step, error);
    if (status == LUD_OK)
        status = lud_empo_async_dequeue(p->async, p->replay, p->step, p->step ? o->batch_size : least, error);
    lud_profile_end(&p->profile, LUD_STAGE_ACTOR);
    return status;
}

/* After a step of the environments, and after an update: novelty learns from what was done and sampled. */
static void learn_actions(phase2 *p) {
    if (!p->options.use_human_action_rnd) return;
    const lud_empo_last_step last = lud_empo_rollout_last_step(p->rollout);
    const int n = last.n < p->options.batch_size ? last.n : (int)p->options.batch_size;
    lud_empo_novelty_learn_actions(p->novelty, n, last.records, last.actions);
}

static void learn_novelty(phase2 *p) {
    if (!p->novelty) return;
    const lud_empo_batch_view view = lud_empo_update_targets(p->update);
    for (int64_t i = 0; i < view.n; i++)
        p->sampled[i] = lud_empo_replay_get(p->replay, view.indices[i]).state;
    lud_empo_novelty_learn(p->novelty, view.n, p->sampled);
}

/* How well the networks can still learn, on states from the memory. */
static lud_status diagnose(phase2 *p, lud_error *error) {
    const lud_empo_learner_options *o = &p->options;
    if (!p->plasticity || p->step % o->plasticity_interval) return LUD_OK;
    const int64_t stored = lud_empo_replay_count(p->replay);
    const int64_t n = stored < o->plasticity_batch_size ? stored : o->plasticity_batch_size;
    lud_empo_replay_sample(p->replay, n, INT64_MIN, (uint64_t)p->scenario->run.seed ^ 0x706c6173746963u,
                           (uint32_t)p->step, p->probed);
    for (int64_t i = 0; i < n; i++) {
        const lud_empo_transition t = lud_empo_replay_get(p->replay, p->probed[i]);
        p->sampled[i] = t.state;
        p->sampled_goals[i] = t.goals;
    }
    return lud_empo_plasticity_measure(p->plasticity, n, p->sampled, p->sampled_goals)
               ? LUD_OK
               : lud_no_memory(error, "diagnostics of %lld states", (long long)n);
}

/* Learning rates by how novel the last batch was. */
static void adapt_rates(const phase2 *p, lud_empo_now *now) {
    if (!p->options.rnd_use_adaptive_lr) return;
    const double novelty = lud_empo_novelty_get_figures(p->novelty).batch;
    if (isnan(novelty)) return;
    const double factor =
        fmin(fmax(p->options.rnd_adaptive_lr_scale * novelty, p->options.rnd_adaptive_lr_min),
             p->options.rnd_adaptive_lr_max);
    for (int net = 0; net < LUD_EMPO_NETS; net++) now->lr[net] *= factor;
}

/* Processes go on together, unless one of them is to stop or could not act. */
static lud_status go_on(phase2 *p, lud_status acted, double part, lud_error *error) {
    return lud_ranks_agree(p->device->ranks, acted ? acted : lud_progress_beat(p->base.progress, part, error),
                           error);
}

/* Empties the memory when training enters its last stages, where that is asked for: once, also when it was
 * stopped on entering and some transitions are new already. */
static void clear_replay(phase2 *p) {
    const lud_empo_stages *stages = &p->options.stages;
    const bool enters = p->step == lud_empo_stage_end(stages, LUD_STAGE_RAMP - 1) ||
                        p->step == lud_empo_stage_end(stages, LUD_STAGE_RAMP);
    if (stages->gradual_clearing || !enters || lud_empo_replay_count(p->replay) == 0) return;
    if (lud_empo_replay_get(p->replay, 0).inserted < p->step) lud_empo_replay_clear(p->replay);
}

static lud_status iterate_met(phase2 *p, double *row, lud_error *error) {
    const lud_empo_stages *stages = &p->options.stages;
    const int64_t each = p->options.updates_per_iteration, first = p->step / each * each;
    const int64_t end = first + each < stages->total ? first + each : stages->total;
    const double begun = first == 0 ? 0.5 : 0.0; /* the first iteration tries to meet everything first */
    LUD_TRY(lud_empo_met_training_begin(p->met, p->base.progress, error));
    if (first == 0) lud_progress_anew(p->base.progress, begun);
    while (p->step < end) {
        const double part = begun + (1.0 - begun) * (double)(p->step - first) / (double)(end - first);
        const lud_empo_now now = lud_empo_stages_at(stages, p->step);
        LUD_TRY(lud_empo_met_training_act(p->met, p->step, &now, &p->credit, p->base.progress, part, error));
        LUD_TRY(lud_empo_met_training_step(p->met, p->step, &now, p->step + 1 == end, error));
        p->step++;
    }
    if (p->step == stages->total) LUD_TRY(lud_empo_met_training_finish(p->met, p->base.progress, error));
    const lud_empo_now last = lud_empo_stages_at(stages, end > 0 ? end - 1 : 0);
    fill_met_row(p, &last, row);
    return LUD_OK;
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    phase2 *p = (phase2 *)learner;
    if (p->met) return iterate_met(p, row, error);
    const lud_empo_stages *stages = &p->options.stages;
    /* of an iteration that was broken off the rest */
    const int64_t each = p->options.updates_per_iteration, first = p->step / each * each;
    int64_t end = first + each;
    if (end > stages->total) end = stages->total;
    lud_empo_now now = lud_empo_stages_at(stages, p->step);
    while (p->step < end) {
        const double part = (double)(p->step - first) / (double)(end - first);
        lud_status acted = LUD_OK;
        LUD_TRY(go_on(p, LUD_OK, part, error));
        now = lud_empo_stages_at(stages, p->step);
        if (p->novelty) lud_empo_novelty_set_step(p->novelty, p->step);
        clear_replay(p);
        if (p->async) LUD_TRY(take(p, error));
        while (!acted && !p->async &&
               (lud_empo_replay_count(p->replay) < p->options.batch_size || p->credit < 1.0)) {
            LUD_TRY(go_on(p, LUD_OK, part, error));
            acted = lud_empo_phase2_act(p, &now, error);
            if (!acted) acted = lud_empo_replay_check_room(p->replay, p->options.batch_size, error);
            if (acted) continue;
            learn_actions(p);
            if (lud_empo_replay_count(p->replay) >= p->options.batch_size)
                p->credit += p->options.training_steps_per_env_step * (double)p->options.environments;
        }
        LUD_TRY(lud_ranks_agree(p->device->ranks, acted, error));
        adapt_rates(p, &now);
        LUD_TRY(lud_empo_update_run(p->update, p->step, &now, p->step + 1 == end, error));
        learn_novelty(p);
        if (!p->async) p->credit -= 1.0;
        p->step++;
        LUD_TRY(diagnose(p, error));
        LUD_TRY(lud_device_check(p->device, error));
        if (p->async) lud_empo_async_trained(p->async, p->step);
    }
    fill_row(p, &now, row);
    return LUD_OK;
}

/* ---- saving and reporting ---- */

static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    phase2 *p = (phase2 *)learner;
    lud_empo_values_visit_policy(&p->values, checkpoint);
    if (p->met) lud_empo_met_training_visit(p->met, true, checkpoint);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    phase2 *p = (phase2 *)learner;
    uint64_t step = (uint64_t)p->step;
    lud_checkpoint_u64(checkpoint, "step", &step);
    lud_checkpoint_real(checkpoint, "credit", &p->credit);
    lud_checkpoint_limit(checkpoint, "step", step, LUD_CHECKPOINT_MOST);
    lud_empo_check_credit(checkpoint, p->credit);
    p->step = (int64_t)step;
    lud_empo_values_visit(&p->values, checkpoint);
    if (p->met) {
        lud_empo_met_training_visit(p->met, false, checkpoint);
        return;
    }
    lud_empo_update_visit(p->update, checkpoint);
    if (p->rollout) lud_empo_rollout_visit(p->rollout, "actor.", checkpoint);
    if (p->async) {
        lud_error error = {0};
        if (lud_empo_async_pause(p->async, p->replay, p->step, &error))
            lud_checkpoint_fail(checkpoint, error.status, "%s", error.text);
        lud_empo_async_visit(p->async, checkpoint);
    }
    if (p->novelty) lud_empo_novelty_visit(p->novelty, checkpoint);
    if (p->plasticity) lud_empo_plasticity_visit(p->plasticity, checkpoint);
    const lud_empo_layout *layout = &p->features.layout;
    lud_empo_replay_bounds bounds = {
        .features = &p->features, .n_profiles = layout->n_human_profiles, .step = p->step};
    for (int h = 0; h < layout->n_humans; h++) bounds.n_goals[h] = lud_empo_goals_of(layout, h);
    lud_empo_replay_visit(p->replay, &bounds, "replay.", checkpoint);
}

static void report(lud_learner *learner, lud_text *out) {
    phase2 *p = (phase2 *)learner;
    if (p->met) {
        lud_empo_met_training_report(p->met, out);
        lud_empo_phase2_report_evaluation(p, out);
        return;
    }
    const lud_empo_rollout_counts counts = counts_of(p);
    const double steps = counts.steps ? (double)counts.steps : 1.0;
    lud_text_append(out, "stage  name            steps      end  learning\n");
    lud_empo_stages_print(&p->options.stages, out);
    lud_text_append(out, "\n");
    if (counts.steps == 0) { /* nobody has trained: parameters of a run, whose evaluation says more */
        lud_empo_phase2_report_evaluation(p, out);
        return;
    }
    lud_profile_print(&p->profile, out);
    const lud_capture *capture = &p->values.capture;
    const lud_empo_update_figures update = lud_empo_update_get(p->update);
    if (update.n_replayed)
        lud_text_append(out,
                        "replayed from recorded graphs: %" PRIu64 " of %" PRIu64 " updates, and %" PRIu64
                        " of %" PRIu64 " evaluations of the rollout and others\n",
                        update.n_replayed, update.n, capture->n_replayed, capture->runs);
    lud_text_append(out,
                    "\na stored state takes %zu bytes, a transition %.0f: %.1f distinct successors of %.1f "
                    "listed ones\n",
                    (size_t)p->features.words * sizeof(int32_t), lud_empo_replay_mean_bytes(p->replay),
                    (double)counts.successors / steps, (double)counts.links / steps);
    if (p->plasticity) lud_empo_plasticity_print(p->plasticity, out);
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (p->values.tables[net])
            lud_text_append(out, "table %d: %lld entries\n", net,
                            (long long)lud_empo_table_rows(p->values.tables[net]));
    lud_empo_phase2_report_evaluation(p, out);
}

static lud_status policy(lud_learner *learner, lud_policy **made, lud_error *error) {
    return lud_empo_learned_policy_create((phase2 *)learner, made, error);
}

const lud_learner_kind lud_empo_phase2 = {
    .name = "empo-phase2",
    .about = "EMPO learned by networks or tables, for worlds too large to solve",
    .options = &lud_empo_learner_table,
    .values = offsetof(phase2, options),
    .needs_goals = true,
    .create = create,
    .destroy = destroy,
    .goes_on_within = true,
    .iterate = iterate,
    .evaluate = lud_empo_phase2_evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "exact/regret", .least = true},
    .policy = policy,
    .report = report,
    .overlay = lud_empo_phase2_overlay,
    .honours = LUD_HONOURS_POLICY | LUD_HONOURS_POLICY_ALONE | LUD_HONOURS_EPISODES,
    .adds_to_evaluation = true,
    .evaluate_run = lud_empo_phase2_evaluate_run,
};
