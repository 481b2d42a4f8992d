#include "learn/empo/phase2/phase2.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agents/kinds.h"

typedef lud_empo_phase2_learner phase2;

enum { BLOCK = 2048 }; /* states evaluated at once */

/* ---- columns ---- */

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
    X(LOSS_V_H_E, "loss/v_h_e", "%.2e", "mean squared error of V_h^e at the last update")                    \
    X(LOSS_X_H, "loss/x_h", NULL, "of X_h")                                                                  \
    X(LOSS_U_R, "loss/u_r", NULL, "of y, from which U_r follows")                                            \
    X(LOSS_Q_R, "loss/q_r", "%.2e", "of Q_r")                                                                \
    X(LOSS_V_R, "loss/v_r", NULL, "of V_r")                                                                  \
    X(NORM_V_H_E, "grad_norm/v_h_e", NULL, "gradient norm before clipping")                                  \
    X(NORM_X_H, "grad_norm/x_h", NULL, "of X_h")                                                             \
    X(NORM_U_R, "grad_norm/u_r", NULL, "of U_r")                                                             \
    X(NORM_Q_R, "grad_norm/q_r", NULL, "of Q_r")                                                             \
    X(NORM_V_R, "grad_norm/v_r", NULL, "of V_r")                                                             \
    X(PREDICTION_V_H_E, "predictions/v_h_e_mean", NULL, "mean prediction of V_h^e on the last batch")        \
    X(PREDICTION_X_H, "predictions/x_h_mean", NULL, "of X_h")                                                \
    X(PREDICTION_U_R, "predictions/u_r_mean", NULL, "of y")                                                  \
    X(PREDICTION_Q_R, "predictions/q_r_mean", NULL, "of Q_r")                                                \
    X(PREDICTION_V_R, "predictions/v_r_mean", NULL, "of V_r")                                                \
    X(PREDICTION_STD_V_H_E, "predictions/v_h_e_std", NULL, "deviation of those predictions")                 \
    X(PREDICTION_STD_X_H, "predictions/x_h_std", NULL, "of X_h")                                             \
    X(PREDICTION_STD_U_R, "predictions/u_r_std", NULL, "of y")                                               \
    X(PREDICTION_STD_Q_R, "predictions/q_r_std", NULL, "of Q_r")                                             \
    X(PREDICTION_STD_V_R, "predictions/v_r_std", NULL, "of V_r")                                             \
    X(TARGET_V_H_E, "targets/v_h_e_mean", NULL, "mean target of V_h^e on the last batch")                    \
    X(TARGET_X_H, "targets/x_h_mean", NULL, "of X_h")                                                        \
    X(TARGET_U_R, "targets/u_r_mean", NULL, "of y")                                                          \
    X(TARGET_Q_R, "targets/q_r_mean", NULL, "of Q_r")                                                        \
    X(TARGET_V_R, "targets/v_r_mean", NULL, "of V_r")                                                        \
    X(TARGET_STD_V_H_E, "targets/v_h_e_std", NULL, "deviation of those targets")                             \
    X(TARGET_STD_X_H, "targets/x_h_std", NULL, "of X_h")                                                     \
    X(TARGET_STD_U_R, "targets/u_r_std", NULL, "of y")                                                       \
    X(TARGET_STD_Q_R, "targets/q_r_std", NULL, "of Q_r")                                                     \
    X(TARGET_STD_V_R, "targets/v_r_std", NULL, "of V_r")                                                     \
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
    X(PARAM_NORM_V_H_E, "param_norm/v_h_e", NULL, "norm of the weights at the last diagnosis")               \
    X(PARAM_NORM_X_H, "param_norm/x_h", NULL, "of X_h")                                                      \
    X(PARAM_NORM_U_R, "param_norm/u_r", NULL, "of U_r")                                                      \
    X(PARAM_NORM_Q_R, "param_norm/q_r", NULL, "of Q_r")                                                      \
    X(PARAM_NORM_V_R, "param_norm/v_r", NULL, "of V_r")                                                      \
    X(LEARNING_RATE, "learning_rate/v_h_e", NULL, "learning rate of V_h^e")                                  \
    X(TRAINING_STEPS, "progress/training_steps", NULL, "updates done")                                       \
    X(ENVIRONMENT_STEPS, "progress/environment_steps", NULL, "steps of single environments done")            \
    X(EPISODES, "progress/episodes", NULL, "episodes finished")                                              \
    X(ACHIEVED, "progress/goals_achieved", NULL, "goals that people achieved")                               \
    X(ASYNC_WAITS, "async/queue_waits", NULL, "times an actor waited because its buffers were full")         \
    X(ASYNC_THROTTLED, "async/throttled", NULL, "times one waited because it was ahead of the training")     \
    X(ASYNC_QUEUED, "async/queued", NULL, "transitions on their way to the memory")                          \
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
    X(exact.v_r, "exact/v_r_error", "%.3f",                                                                  \
      "mean relative error of V_r over the states the exact policy visits")                                  \
    X(exact.x_h, "exact/x_h_error", "%.3f", "of X_h")                                                        \
    X(q_r, "exact/q_r_error", NULL, "of Q_r")                                                                \
    X(v_h_e, "exact/v_h_e_error", NULL, "mean absolute error of V_h^e over goals")                           \
    X(learned.v_r, "exact/v_r_error_learned", NULL,                                                          \
      "error of V_r over the states the learned policy visits")                                              \
    X(learned.x_h, "exact/x_h_error_learned", NULL, "of X_h")                                                \
    X(random.v_r, "exact/v_r_error_random", NULL, "error of V_r over the states the random policy visits")   \
    X(random.x_h, "exact/x_h_error_random", NULL, "of X_h")                                                  \
    X(everywhere.v_r, "exact/v_r_error_everywhere", NULL,                                                    \
      "error of V_r over all states, each counting once")                                                    \
    X(everywhere.x_h, "exact/x_h_error_everywhere", NULL, "of X_h")                                          \
    X(divergence, "exact/policy_divergence", NULL, "total variation between learned and exact pi_r")         \
    X(kl, "exact/policy_kl", NULL, "KL(learned || exact) of pi_r in nats")                                   \
    X(start_learned, "exact/v_r_learned", NULL, "learned V_r at the start")                                  \
    X(start_v_r, "exact/v_r_exact", NULL, "exact V_r at the start")                                          \
    X(policy_v_r, "exact/v_r_of_policy", NULL, "exact V_r of the learned policy at the start")               \
    X(random_v_r, "exact/v_r_of_random", NULL, "exact V_r of the random policy at the start")                \
    X(regret, "exact/regret", "%.3f", "regret of the learned policy, as a share of the random one's")

static const lud_metric evaluation_columns[] = {
#define X(field, text, format, help) {text, format, help},
    EVALUATION(X)
#undef X
};
enum { N_EVALUATION = sizeof evaluation_columns / sizeof *evaluation_columns };

/* ---- making and freeing ---- */

static void destroy(lud_learner *learner) {
    phase2 *p = (phase2 *)learner;
    lud_empo_async_destroy(p->async);
    lud_empo_update_destroy(p->update);
    lud_empo_rollout_destroy(p->rollout);
    lud_empo_novelty_destroy(p->novelty);
    lud_empo_search_destroy(p->search);
    lud_empo_plasticity_destroy(p->plasticity);
    lud_empo_values_free(&p->values);
    lud_empo_replay_destroy(p->replay);
    lud_empo_reference_free(&p->reference);
    lud_policy_destroy(p->people);
    lud_empo_human_net_free(&p->human_net);
    lud_empo_features_free(&p->features);
    free(p->records);
    free(p->sampled);
    free(p->sampled_goals);
    free(p->probed);
    lud_arena_destroy(p->arena);
    free(p);
}

/* `exact`, learned people, or a policy. */
static lud_status make_prior(phase2 *p, lud_error *error) {
    lud_tree *tree = p->options.human_prior;
    const lud_model *model = p->scenario->model;
    lud_status status = LUD_OK;
    if (tree && tree->text && strcmp(tree->text, "exact") == 0) {
        const uint64_t most = p->options.exact_max_states ? (uint64_t)p->options.exact_max_states : 1;
        status = lud_empo_reference_create(model, &p->options.theory, NULL, (uint64_t)p->scenario->run.seed,
                                           most, (int)p->scenario->run.threads, &p->reference, error);
        if (status) return lud_fail_context(error, "human_prior: exact");
        p->prior = (lud_empo_prior){.reference = &p->reference};
        return LUD_OK;
    }
    if (lud_empo_human_prior_is_learned(tree)) {
        status =
            lud_empo_human_prior_open(p->arena, tree, p->device, model, &p->human_net, &p->people, error);
        p->prior = (lud_empo_prior){.policy = p->people, .network = &p->human_net};
        return status;
    }
    if (!tree) {
        tree = lud_tree_add_mapping(p->arena, NULL, NULL);
        if (!tree || !lud_tree_add_text(p->arena, tree, "type", "heuristic"))
            return lud_fail(error, LUD_ERROR_MEMORY, "no memory for the human prior");
    }
    status = lud_policy_create(model, tree, p->scenario->path, &p->people, error);
    if (status) return status;
    const bool steered = p->people->kind == &lud_policy_keyboard; /* nobody steers here */
    if (p->people->hidden_bytes || p->people->needs_observations || steered || !p->people->kind->distribution)
        return lud_fail_at(error, LUD_ERROR_INPUT, tree->place,
                           "the policy %s cannot be a human prior; expected one that looks at the present "
                           "state only",
                           p->people->kind->name);
    p->prior = (lud_empo_prior){.policy = p->people};
    return LUD_OK;
}

/* A callback context that can report a failure. */
typedef struct robot_context {
    phase2 *learner;
    double beta_r;
    lud_status status;
    lud_error error;
} robot_context;

static lud_status search_values(void *context, int n, const int32_t *const *records,
                                const int32_t *const *goals, double beta_r, float *q, float *u, float *v,
                                lud_error *error) {
    lud_empo_values *values = &((robot_context *)context)->learner->values;
    return lud_empo_values_for_search(values, n, records, goals, beta_r, q, u, v, error);
}

static lud_status make_parts(phase2 *p, lud_error *error) {
    const lud_empo_learner_options *o = &p->options;
    const uint64_t seed = (uint64_t)p->scenario->run.seed;
    const lud_empo_layout *layout = &p->features.layout;
    p->replay = lud_empo_replay_create(o->buffer_size, (size_t)o->buffer_mebibytes << 20, p->features.words,
                                       layout->n_robot_actions, layout->n_humans,
                                       o->expected_people ? layout->policy_begin[layout->n_humans] : 0);
    p->records = calloc((size_t)o->environments, sizeof *p->records);
    const int64_t probes = o->plasticity_interval ? o->plasticity_batch_size : 1;
    const size_t sampled = (size_t)(o->batch_size > probes ? o->batch_size : probes);
    p->sampled = calloc(sampled, sizeof *p->sampled);
    p->sampled_goals = calloc(sampled, sizeof *p->sampled_goals);
    p->probed = calloc(sampled, sizeof *p->probed);
    const int environments = (int)(o->environments * (o->async_training ? o->num_actors : 1));
    if (p->replay && lud_empo_learner_keeps_trajectories(o) &&
        !lud_empo_replay_keep_trajectories(p->replay, environments,
                                           o->hindsight_prob > 0 ? layout->n_goals : 0))
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for transitions");
    if (!p->replay || !p->records || !p->sampled || !p->sampled_goals || !p->probed)
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for transitions");
    lud_status status = lud_empo_values_create(p->device, &p->features, o, seed, &p->values, error);
    if (status) return status;
    p->profile =
        (lud_profile){.title = "Batching Profile", .stages = lud_empo_update_stages, .n = LUD_UPDATE_STAGES};
    p->values.profile = &p->profile;
    if (o->plasticity_interval)
        status = lud_empo_plasticity_create(&p->values, o->plasticity_batch_size, o->plasticity_tau,
                                            &p->plasticity, error);
    if (status) return status;
    if (o->use_rnd) status = lud_empo_novelty_create(&p->values, seed, &p->novelty, error);
    if (status) return status;
    status = lud_empo_update_create(&p->values, p->replay, o, seed, &p->update, error);
    if (status) return status;
    if (o->pi_r_mode == LUD_EMPO_MCTS && !o->async_training) {
        const lud_empo_search_options search = lud_empo_search_options_of(o, (int)o->environments, seed);
        status = lud_empo_search_create(&search, &p->features, &p->prior, &p->search, error);
        if (status) return status;
    }
    const lud_empo_rollout_options actor = {
        .n_envs = (int)o->environments,
        .seed = seed,
        .steps_per_episode = o->steps_per_episode,
        .goal_resample_prob = o->goal_resample_prob,
        .fresh_goals = o->fresh_goals,
        .expected_people = o->expected_people,
        .trajectories = lud_empo_learner_keeps_trajectories(o),
        .likelihoods = o->hindsight_prob > 0,
        .restart_prob = o->restart_prob,
        .restart_steps = o->restart_steps,
        .restart_choices = (int)o->restart_choices,
        .restart_states = o->restart_states,
        .restart_successors = o->restart_from == LUD_EMPO_SUCCESSORS,
        .curiosity = {.count_bonus = o->use_count_based_curiosity,
                      .count_ucb = o->count_curiosity_use_ucb,
                      .count_scale = o->count_curiosity_scale,
                      .count_weight = o->count_curiosity_bonus_coef_r,
                      .count_weight_people = o->count_curiosity_bonus_coef_h,
                      .novelty = p->novelty,
                      .novelty_weight = o->rnd_bonus_coef_r,
                      .novelty_weight_people = o->use_human_action_rnd ? o->rnd_bonus_coef_h : 0.0},
        .search = p->search,
        .search_values = search_values,
        .search_after = o->mcts_enable_after_training_step};
    if (!o->async_training)
        return lud_empo_rollout_create(&actor, &p->features, &p->prior, &p->rollout, error);
    return lud_empo_async_create(&actor, o, &p->features, &p->prior, &p->values, p->novelty, &p->async,
                                 error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    phase2 *p = calloc(1, sizeof *p);
    if (!p) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a learner");
    p->scenario = scenario;
    p->device = device;
    p->arena = lud_arena_create(0);
    lud_status status = p->arena
                            ? lud_empo_learner_options_read(p->arena, scenario->learner, &p->options, error)
                            : lud_fail(error, LUD_ERROR_MEMORY, "no memory for a learner");
    if (status == LUD_OK)
        status =
            lud_empo_features_create(scenario->model, p->options.include_step_count, &p->features, error);
    if (status == LUD_OK) status = make_prior(p, error);
    if (status == LUD_OK) status = make_parts(p, error);
    if (status) {
        destroy(&p->base);
        return status;
    }
    const int64_t each = p->options.updates_per_iteration;
    p->base = (lud_learner){.kind = &lud_empo_phase2,
                            .columns = columns,
                            .n_columns = N_COLUMNS,
                            .evaluation_columns = evaluation_columns,
                            .n_evaluation_columns = N_EVALUATION,
                            .n_iterations = (uint64_t)((p->options.stages.total + each - 1) / each)};
    *learner = &p->base;
    return LUD_OK;
}

/* ---- training ---- */

static void robot_values(void *context, int n, const int32_t *records, float *q) {
    robot_context *c = context;
    phase2 *p = c->learner;
    for (int i = 0; i < n; i++) p->records[i] = records + (size_t)i * (size_t)p->features.words;
    lud_profile *profile = p->values.profile;
    p->values.profile = NULL; /* the actor's time is measured as a whole */
    c->status = lud_empo_values_run(&p->values, n, p->records, NULL, LUD_WANT_Q_R, c->beta_r, 0, &c->error);
    p->values.profile = profile;
    const size_t size = (size_t)n * (size_t)p->features.layout.n_robot_actions;
    if (c->status == LUD_OK)
        lud_device_download(p->device, q, p->values.q_r, size * sizeof *q);
    else
        for (size_t i = 0; i < size; i++) q[i] = -1.0f;
}

lud_status lud_empo_phase2_act(phase2 *p, const lud_empo_now *now, lud_error *error) {
    robot_context context = {.learner = p, .beta_r = now->beta_r};
    lud_profile_begin(&p->profile, LUD_STAGE_ACTOR);
    lud_status status =
        lud_empo_rollout_step(p->rollout, now, p->step, robot_values, &context, p->replay, error);
    lud_profile_end(&p->profile, LUD_STAGE_ACTOR);
    if (status == LUD_OK && context.status) {
        if (error) *error = context.error;
        status = context.status;
    }
    return status;
}

static lud_empo_rollout_counts counts_of(const phase2 *p) {
    return p->async ? lud_empo_async_get_counts(p->async).actors : lud_empo_rollout_get_counts(p->rollout);
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
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        row[COLUMN_LOSS_V_H_E + net] = lud_empo_update_loss(p->update, net);
        row[COLUMN_NORM_V_H_E + net] = now->active[net] ? lud_empo_update_norm(p->update, net) : NAN;
    }
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        const lud_empo_spread spread = lud_empo_update_spread(p->update, net);
        row[COLUMN_PREDICTION_V_H_E + net] = spread.prediction_mean;
        row[COLUMN_PREDICTION_STD_V_H_E + net] = spread.prediction_deviation;
        row[COLUMN_TARGET_V_H_E + net] = spread.target_mean;
        row[COLUMN_TARGET_STD_V_H_E + net] = spread.target_deviation;
    }
    const lud_empo_trajectory_figures path = lud_empo_update_trajectories(p->update);
    row[COLUMN_TRAJECTORY_LENGTH] = path.length;
    row[COLUMN_TRAJECTORY_V_H_E] = path.people;
    row[COLUMN_TRAJECTORY_ACHIEVED] = path.achieved;
    row[COLUMN_TRAJECTORY_OPEN] = path.people_bootstrapped;
    row[COLUMN_TRAJECTORY_Q_R] = path.robots;
    row[COLUMN_TRAJECTORY_Q_R_OPEN] = path.robots_bootstrapped;
    lud_empo_update_hindsight(p->update, &row[COLUMN_HINDSIGHT_SHARE], &row[COLUMN_HINDSIGHT_WEIGHT]);
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
               : lud_fail(error, LUD_ERROR_MEMORY, "no memory for diagnostics of %lld states", (long long)n);
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

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    phase2 *p = (phase2 *)learner;
    const lud_empo_stages *stages = &p->options.stages;
    int64_t end = p->step + p->options.updates_per_iteration;
    if (end > stages->total) end = stages->total;
    lud_empo_now now = lud_empo_stages_at(stages, p->step);
    while (p->step < end) {
        now = lud_empo_stages_at(stages, p->step);
        if (p->novelty) lud_empo_novelty_set_step(p->novelty, p->step);
        const bool enters = p->step == lud_empo_stage_end(stages, LUD_STAGE_RAMP - 1) ||
                            p->step == lud_empo_stage_end(stages, LUD_STAGE_RAMP);
        if (!stages->gradual_clearing && enters) lud_empo_replay_clear(p->replay);
        if (p->async) {
            const lud_status status = take(p, error);
            if (status) return status;
        }
        while (!p->async && (lud_empo_replay_count(p->replay) < p->options.batch_size || p->credit < 1.0)) {
            lud_status status = lud_empo_phase2_act(p, &now, error);
            if (status) return status;
            learn_actions(p);
            if (lud_empo_replay_count(p->replay) >= p->options.batch_size)
                p->credit += p->options.training_steps_per_env_step * (double)p->options.environments;
        }
        adapt_rates(p, &now);
        lud_status status = lud_empo_update_run(p->update, p->step, &now, p->step + 1 == end, error);
        if (status) return status;
        learn_novelty(p);
        if (!p->async) p->credit -= 1.0;
        p->step++;
        status = diagnose(p, error);
        if (status) return status;
        if (p->async) lud_empo_async_trained(p->async, p->step);
    }
    fill_row(p, &now, row);
    return LUD_OK;
}

/* ---- comparing with the exact solution ---- */

typedef struct learned_arrays {
    float *v_r, *u_r, *x_h, *v_h_e, *q_r, *pi_r, *x_direct;
    int32_t *record; /* [BLOCK][words] */
    const int32_t *records[BLOCK], *goals[BLOCK];
    int32_t *first_goals; /* [n_humans] zeros */
} learned_arrays;

static void free_learned(learned_arrays *a) {
    free(a->v_r);
    free(a->u_r);
    free(a->x_h);
    free(a->v_h_e);
    free(a->q_r);
    free(a->pi_r);
    free(a->x_direct);
    free(a->record);
    free(a->first_goals);
    free(a);
}

static learned_arrays *make_learned(const phase2 *p) {
    const lud_empo_layout *layout = &p->features.layout;
    const size_t n = p->reference.space->n_states, humans = (size_t)layout->n_humans,
                 actions = (size_t)layout->n_robot_actions, real = sizeof(float);
    learned_arrays *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->v_r = malloc(n * real);
    a->u_r = malloc(n * real);
    a->x_h = malloc(n * humans * real);
    a->v_h_e = malloc(n * (size_t)layout->n_goals * real);
    a->q_r = malloc(n * actions * real);
    a->pi_r = malloc(n * actions * real);
    a->x_direct = malloc(BLOCK * humans * real);
    a->record = malloc(BLOCK * (size_t)p->features.words * sizeof *a->record);
    a->first_goals = calloc(humans, sizeof *a->first_goals);
    if (a->v_r && a->u_r && a->x_h && a->v_h_e && a->q_r && a->pi_r && a->x_direct && a->record &&
        a->first_goals)
        return a;
    free_learned(a);
    return NULL;
}

/* Everything that was learned, for all states of the reference. */
static lud_status learned_values(phase2 *p, learned_arrays *a, lud_error *error) {
    const lud_statespace *space = p->reference.space;
    const size_t humans = (size_t)p->features.layout.n_humans, goals = (size_t)p->features.layout.n_goals,
                 actions = (size_t)p->features.layout.n_robot_actions;
    for (uint64_t first = 0; first < space->n_states; first += BLOCK) {
        const size_t n = space->n_states - first < BLOCK ? (size_t)(space->n_states - first) : BLOCK;
        for (size_t i = 0; i < n; i++) {
            int32_t *record = a->record + i * (size_t)p->features.words;
            lud_empo_features_encode(&p->features, space->states + (first + i) * space->state_bytes, record);
            a->records[i] = record;
            a->goals[i] = a->first_goals;
        }
        lud_status status = lud_empo_values_run(&p->values, (int64_t)n, a->records, a->goals, LUD_WANT_ALL,
                                                p->options.theory.beta_r, 0, error);
        if (status) return status;
        const struct {
            float *to;
            const float *from;
            size_t width;
        } moves[] = {{a->v_r, p->values.v_r, 1},
                     {a->u_r, p->values.u_r, 1},
                     {a->x_h, p->values.x_h, humans},
                     {a->q_r, p->values.q_r, actions},
                     {a->pi_r, p->values.pi_r, actions}};
        for (size_t k = 0; k < sizeof moves / sizeof *moves; k++)
            lud_device_download(p->device, moves[k].to + first * moves[k].width, moves[k].from,
                                n * moves[k].width * sizeof(float));
        status = lud_empo_values_power(&p->values, (int64_t)n, a->records, 0, a->x_direct,
                                       a->v_h_e + first * goals, error);
        if (status) return status;
    }
    return LUD_OK;
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    phase2 *p = (phase2 *)learner;
    lud_status status = lud_empo_reference_ensure(p->scenario, &p->options.theory, p->people,
                                                  p->options.exact_max_states, &p->reference, error);
    if (status || !p->reference.solved || p->options.exact_max_states == 0) return status;
    learned_arrays *a = make_learned(p);
    if (!a) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to compare with the exact solution");
    lud_profile *profile = p->values.profile;
    p->values.profile = NULL;
    status = learned_values(p, a, error);
    p->values.profile = profile;
    const lud_empo_learned learned = {a->v_r, a->u_r, a->x_h, a->v_h_e, a->q_r, a->pi_r};
    if (status == LUD_OK)
        status = lud_empo_reference_compare(&p->reference, &learned, (int)p->scenario->run.threads,
                                            &p->distance, error);
    free_learned(a);
    if (status) return status;
    p->evaluated = true;
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
    phase2 *p = (phase2 *)learner;
    uint64_t step = (uint64_t)p->step;
    lud_checkpoint_u64(checkpoint, "step", &step);
    lud_checkpoint_real(checkpoint, "credit", &p->credit);
    p->step = (int64_t)step;
    lud_empo_values_visit(&p->values, checkpoint);
    lud_empo_update_visit(p->update, checkpoint);
    if (p->rollout) lud_empo_rollout_visit(p->rollout, "actor.", checkpoint);
    if (p->async) {
        lud_error error = {0};
        if (lud_empo_async_pause(p->async, p->replay, p->step, &error))
            lud_checkpoint_fail(checkpoint, error.status, "%s", error.text);
        lud_empo_async_visit(p->async, checkpoint);
    }
    if (p->novelty) lud_empo_novelty_visit(p->novelty, checkpoint);
    lud_empo_replay_visit(p->replay, "replay.", checkpoint);
}

/* Takes the child under `key` out of a mapping, if it has one. */
static void report_exact(const phase2 *p, lud_text *out) {
    const lud_empo_distance *d = &p->distance;
    lud_text_append(out, "\n=== Learned against exact, %llu states ===\n",
                    (unsigned long long)p->reference.space->n_states);
    lud_text_append(out,
                    "  mean over the states that      the exact   learned    random policy visits, all\n");
    lud_text_append(out, "  V_r, relative error            %9.4f %9.4f %9.4f %9.4f\n", d->exact.v_r,
                    d->learned.v_r, d->random.v_r, d->everywhere.v_r);
    lud_text_append(out, "  X_h, relative error            %9.4f %9.4f %9.4f %9.4f\n", d->exact.x_h,
                    d->learned.x_h, d->random.x_h, d->everywhere.x_h);
    lud_text_append(out, "  Q_r, relative error            %9.4f\n", d->q_r);
    lud_text_append(out, "  V_h^e, absolute error          %9.4f\n", d->v_h_e);
    lud_text_append(out, "  pi_r, total variation          %9.4f   Kullback-Leibler %.4f nats\n",
                    d->divergence, d->kl);
    lud_text_append(out, "  V_r at the start, learned      %9.5g   exact %.5g\n", d->start_learned,
                    d->start_v_r);
    lud_text_append(out, "  exact V_r of the learned policy%9.5g   of the random policy %.5g\n",
                    d->policy_v_r, d->random_v_r);
    lud_text_append(out, "  regret                         %8.2f %%  of the gap between random and exact\n",
                    100 * d->regret);
}

static void report(lud_learner *learner, lud_text *out) {
    phase2 *p = (phase2 *)learner;
    const lud_empo_rollout_counts counts = counts_of(p);
    const double steps = counts.steps ? (double)counts.steps : 1.0;
    lud_text_append(out, "stage  name            steps      end  learning\n");
    lud_empo_stages_print(&p->options.stages, out);
    lud_text_append(out, "\n");
    lud_profile_print(&p->profile, out);
    const lud_capture *capture = &p->values.capture;
    uint64_t updates, replayed;
    lud_empo_update_captures(p->update, &updates, &replayed);
    if (replayed)
        lud_text_append(out,
                        "replayed from recorded graphs: %" PRIu64 " of %" PRIu64 " updates, and %" PRIu64
                        " of %" PRIu64 " evaluations of the rollout and others\n",
                        replayed, updates, capture->n_replayed, capture->runs);
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
    if (p->evaluated)
        report_exact(p, out);
    else if (p->reference.too_large)
        lud_text_append(out, "\nthe world has more than %lld states and is not solved for comparison\n",
                        (long long)p->options.exact_max_states);
}

static lud_status policy(lud_learner *learner, lud_policy **made, lud_error *error) {
    return lud_empo_learned_policy_create((phase2 *)learner, made, error);
}

const lud_learner_kind lud_empo_phase2 = {
    .name = "empo-phase2",
    .about = "EMPO learned by networks or tables, for worlds too large to solve",
    .options = &lud_empo_learner_table,
    .values = offsetof(phase2, options),
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .evaluate = evaluate,
    .visit = visit,
    .policy = policy,
    .report = report,
};
