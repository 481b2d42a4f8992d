/* Environments of the learner empo-phase1 (learn/empo/phase1/phase1.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranks/divide.h"
#include "learn/empo/memory/environments.h"
#include "learn/empo/memory/successor_list.h"
#include "learn/empo/phase1/phase1.h"

#define NOBODY UINT32_MAX
enum { LANE_OTHERS = 64 }; /* what others do in person h's transition: LANE_OTHERS + h */

struct lud_empo_phase1_rollout {
    lud_empo_human_net *net;
    const lud_model *model;
    lud_arena *arena;
    lud_empo_environments env;
    const int32_t **record_of; /* [n_envs] */
    int32_t *begin, *person;   /* of a query about all environments, whose goals are `goals` */
    double *policy;            /* [n_envs][n_humans][net n_actions] */
    int32_t *joint, *offsets;  /* [n_agents], [net n_actions * n_robot_actions + 1] */
    lud_empo_successor_list list;
    uint64_t steps, achieved;
};

static void begin_episode(lud_empo_phase1_rollout *a, int e) {
    lud_empo_environments_begin(&a->env, e);
    lud_empo_environments_reset(&a->env, e);
}

static bool prepare(lud_empo_phase1_rollout *a, uint64_t seed) {
    const lud_empo_layout *layout = &a->net->features.layout;
    const size_t n = (size_t)a->net->options.environments, people = n * (size_t)layout->n_humans;
    a->arena = lud_arena_create(0);
    if (!a->arena) return false;
    a->record_of = lud_arena_take_array(a->arena, n, sizeof *a->record_of);
    a->begin = lud_arena_take_array(a->arena, n + 1, sizeof *a->begin);
    a->person = lud_arena_take_array(a->arena, people, sizeof *a->person);
    a->policy = lud_arena_take_array(a->arena, people * (size_t)a->net->n_actions, sizeof *a->policy);
    a->joint = lud_arena_take_array(a->arena, (size_t)a->model->layout.n_agents, sizeof *a->joint);
    a->offsets = lud_arena_take_array(a->arena, (size_t)(a->net->n_actions * layout->n_robot_actions) + 1,
                                      sizeof *a->offsets);
    if (!a->record_of || !a->begin || !a->person || !a->policy || !a->joint || !a->offsets ||
        !lud_empo_environments_create(a->arena, &a->net->features, a->model, seed, (int)n, &a->env))
        return false;
    for (int e = 0; e <= a->env.n; e++) a->begin[e] = e * layout->n_humans;
    for (size_t i = 0; i < people; i++) a->person[i] = (int32_t)(i % (size_t)layout->n_humans);
    for (size_t e = 0; e < n; e++) a->record_of[e] = a->env.records + e * (size_t)a->net->features.words;
    return true;
}

lud_status lud_empo_phase1_rollout_create(lud_empo_human_net *net, const lud_model *model, uint64_t seed,
                                          lud_empo_phase1_rollout **rollout, lud_error *error) {
    *rollout = NULL;
    lud_empo_phase1_rollout *a = calloc(1, sizeof *a);
    if (a) *a = (lud_empo_phase1_rollout){.net = net, .model = model};
    if (!a || !prepare(a, seed)) {
        lud_empo_phase1_rollout_destroy(a);
        return lud_no_memory(error, "environments");
    }
    for (int e = 0; e < a->env.n; e++) begin_episode(a, e);
    const lud_status status = lud_empo_environments_check(&a->env, error);
    if (status)
        lud_empo_phase1_rollout_destroy(a);
    else
        *rollout = a;
    return status;
}

void lud_empo_phase1_rollout_destroy(lud_empo_phase1_rollout *a) {
    if (!a) return;
    lud_empo_successor_list_free(&a->list);
    lud_arena_destroy(a->arena);
    free(a);
}

/* Keeps what can follow from environment e's state when person h does this or that. */
static lud_status keep(lud_empo_phase1_rollout *a, int e, int h, int64_t step, lud_empo_replay *replay,
                       lud_error *error) {
    const lud_empo_layout *layout = &a->net->features.layout;
    const uint8_t *state = lud_empo_environments_state(&a->env, e);
    const int n_own = layout->n_human_actions[h], n_robots = layout->n_robot_actions;
    memset(a->joint, 0, (size_t)a->model->layout.n_agents * sizeof *a->joint);
    for (int other = 0; other < layout->n_humans; other++) {
        const lud_words w =
            lud_draw((lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e],
                     (uint32_t)layout->humans[other], LUD_PURPOSE_ACTION, LANE_OTHERS + (uint32_t)h);
        a->joint[layout->humans[other]] =
            (int32_t)lud_below(w.v[0], (uint32_t)layout->n_human_actions[other]);
    }
    lud_empo_successor_list_begin(&a->list);
    for (int k = 0; k < (int)a->net->n_actions * n_robots; k++) {
        a->offsets[k] = a->list.n_links;
        if (k / n_robots >= n_own) continue;
        a->joint[layout->humans[h]] = k / n_robots;
        lud_empo_robot_decode(layout, a->model, k % n_robots, a->joint);
        LUD_TRY(lud_empo_successor_list_add(&a->list, &a->net->features, state, a->joint, error));
    }
    a->offsets[a->net->n_actions * n_robots] = a->list.n_links;
    const int32_t person[1] = {h};
    const lud_empo_transition t = {.inserted = step,
                                   .environment = (uint32_t)e,
                                   .next = -1,
                                   .n_links = a->list.n_links,
                                   .n_successors = a->list.n,
                                   .state = a->record_of[e],
                                   .goals = person,
                                   .offsets = a->offsets,
                                   .link = a->list.link,
                                   .probability = a->list.probability,
                                   .terminal = a->list.terminal,
                                   .successor = a->list.records};
    return lud_empo_replay_push(replay, &t)
               ? LUD_OK
               : lud_fail(error, LUD_ERROR_LIMIT,
                          "a transition with %d successors is larger than the replay memory; raise "
                          "buffer_memory",
                          a->list.n);
}

static void choose(lud_empo_phase1_rollout *a, int e, double epsilon) {
    const lud_layout *world = &a->model->layout;
    const lud_empo_layout *layout = &a->net->features.layout;
    const lud_random_key key = {a->env.seed, (uint32_t)e};
    for (int i = 0; i < world->n_agents; i++) {
        const lud_words w = lud_draw(key, a->env.tick[e], (uint32_t)i, LUD_PURPOSE_ACTION, 0);
        a->joint[i] = (int32_t)lud_below(w.v[0], (uint32_t)world->actions[i].n_discrete);
    }
    for (int h = 0; h < layout->n_humans; h++) {
        const int agent = layout->humans[h];
        const lud_words w = lud_draw(key, a->env.tick[e], (uint32_t)agent, LUD_PURPOSE_EXPLORE, 0);
        if (lud_unit(w.v[0]) < epsilon) continue;
        const double *p = a->policy + (e * layout->n_humans + h) * a->net->n_actions;
        a->joint[agent] = lud_empo_draw(p, layout->n_human_actions[h], lud_unit53(w.v[2], w.v[3]));
    }
}

static void move(lud_empo_phase1_rollout *a, int e) {
    const lud_empo_layout *layout = &a->net->features.layout;
    uint8_t *state = lud_empo_environments_state(&a->env, e);
    const lud_range range = {
        .seed = a->env.seed, .first_environment = (uint32_t)e, .n = 1, .tick = &a->env.tick[e]};
    a->model->world->step(a->model, range, state, (lud_actions){.discrete = a->joint}, (lud_outcome){0});
    a->steps++;
    const int32_t *record = lud_empo_environments_advance(&a->env, e);
    const lud_words w = lud_draw((lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e], NOBODY,
                                 LUD_PURPOSE_GOAL, LUD_EMPO_GOAL_AT_RANDOM);
    const bool all = lud_unit(w.v[0]) < a->net->options.goal_resample_prob;
    for (int h = 0; h < layout->n_humans; h++) {
        int32_t *goal = &a->env.goals[e * layout->n_humans + h];
        const bool achieved = lud_empo_features_achieved(&a->net->features, record, h, *goal);
        if (achieved) a->achieved++;
        if (achieved || all)
            *goal = lud_empo_environments_goal(
                &a->env, e, h, achieved ? LUD_EMPO_GOAL_AFTER_ACHIEVEMENT : LUD_EMPO_GOAL_AT_RANDOM);
    }
    if (lud_empo_environments_over(&a->env, e, a->net->options.steps_per_episode)) begin_episode(a, e);
}

/* What people do in some environments. */
static lud_status evaluate_some(void *rollout, int64_t first, int64_t n, lud_error *error) {
    lud_empo_phase1_rollout *a = rollout;
    const int64_t n_humans = a->net->features.layout.n_humans;
    (void)error;
    const lud_empo_human_query query = {.n = n,
                                        .records = a->record_of + first,
                                        .begin = a->begin,
                                        .person = a->person,
                                        .goal = a->env.goals + first * n_humans};
    lud_empo_human_net_evaluate(a->net, &query, false, a->policy + first * n_humans * a->net->n_actions,
                                NULL);
    return LUD_OK;
}

/* In all: processes, which step the same environments, divide them where that is worth it. */
static lud_status evaluate(lud_empo_phase1_rollout *a, lud_error *error) {
    enum { DIVIDED_FROM = 16 }; /* environments of a share */
    const int shares = (int)a->net->options.shares;
    const size_t numbers = (size_t)(a->net->features.layout.n_humans * a->net->n_actions);
    const lud_ranks_array policy = {a->policy, numbers * sizeof *a->policy, 1, a->env.n};
    if (shares == 1 || a->env.n < DIVIDED_FROM * shares) return evaluate_some(a, 0, a->env.n, error);
    return lud_ranks_divide(a->net->device->ranks, shares, a->env.n, evaluate_some, a, &policy, 1, error);
}

lud_status lud_empo_phase1_rollout_step(lud_empo_phase1_rollout *a, double epsilon, int64_t step,
                                        lud_empo_replay *replay, lud_error *error) {
    const lud_empo_layout *layout = &a->net->features.layout;
    lud_empo_environments_encode_all(&a->env);
    if (epsilon < 1.0) LUD_TRY(evaluate(a, error));
    for (int e = 0; e < a->env.n; e++) {
        for (int h = 0; h < layout->n_humans; h++) LUD_TRY(keep(a, e, h, step, replay, error));
        choose(a, e, epsilon);
        move(a, e);
    }
    return lud_device_check(a->net->device, error);
}

void lud_empo_phase1_rollout_counts(const lud_empo_phase1_rollout *a, uint64_t *steps, uint64_t *achieved) {
    *steps = a->steps;
    *achieved = a->achieved;
}

void lud_empo_phase1_rollout_visit(lud_empo_phase1_rollout *a, const char *prefix,
                                   lud_checkpoint *checkpoint) {
    char text[128];
    lud_empo_environments_visit(&a->env, prefix, checkpoint);
    snprintf(text, sizeof text, "%ssteps", prefix);
    lud_checkpoint_u64(checkpoint, text, &a->steps);
    snprintf(text, sizeof text, "%sachieved", prefix);
    lud_checkpoint_u64(checkpoint, text, &a->achieved);
}
