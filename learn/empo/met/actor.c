#include "learn/empo/met/actor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/random.h"
#include "learn/empo/met/kinds.h"

#define NOBODY UINT32_MAX
enum { LANE_STEP, LANE_ROBOTS, LANE_RESTART };
enum { MAX_CHOICES = 16, MAX_ACTIONS = 256, RESETS = 2048, FORGETS = 8 };
struct lud_empo_actor {
    const lud_empo_learner_options *options;
    lud_empo_asker *asker;
    lud_empo_met *met;
    const lud_empo_layout *layout;
    const lud_model *model;
    lud_arena *arena;
    int n;
    lud_empo_environments env;
    int64_t *last_step; /* [n] steps after which the episode ends, 0: no limit but the world's */
    int64_t *node;      /* [n] */
    int *level;         /* [n] */
    double *record;
    int32_t *joint;        /* [n_agents] */
    lud_empo_kinds *kinds; /* with restart_from: configurations */
    uint8_t *shown;        /* [state_bytes] */
    lud_empo_actor_counts counts;
};

static lud_words draw(const lud_empo_actor *a, int e, uint32_t agent, lud_purpose purpose, uint32_t lane) {
    return lud_draw((lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e], agent, purpose, lane);
}

static bool at_end_only(const lud_empo_met *met, int64_t node) {
    return lud_empo_met_levels(met) > 1 && lud_empo_met_highest(met, node) == 0;
}

/* Begins in a met state, if chance will have it so: of some drawn that which somebody acted in least. */
static bool restart(lud_empo_actor *a, int e) {
    const lud_empo_learner_options *o = a->options;
    const lud_empo_met_figures met = lud_empo_met_get(a->met);
    const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_RESTART);
    const int64_t n = o->restart_from == LUD_EMPO_SUCCESSORS ? met.n : met.expanded;
    if (met.expanded == 0 || lud_unit(w.v[0]) >= o->restart_prob) return false;
    int64_t best = -1;
    if (a->kinds) {
        const lud_words place = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_RESTART + 1);
        if (lud_empo_kinds_count(a->kinds) == 0) return false;
        memcpy(lud_empo_environments_state(&a->env, e),
               lud_empo_kinds_draw(a->kinds, lud_unit(w.v[1]), lud_unit53(place.v[0], place.v[1])),
               a->model->layout.state_bytes);
        a->last_step[e] = o->restart_steps;
        a->counts.restarts++;
        return true;
    }
    for (int i = 0; i < o->restart_choices && i < MAX_CHOICES; i++) {
        const lud_words place = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_RESTART + 1 + (uint32_t)i);
        int64_t node = (int64_t)(lud_unit53(place.v[0], place.v[1]) * (double)n);
        if (o->restart_from != LUD_EMPO_SUCCESSORS) node = lud_empo_met_expanded_at(a->met, node);
        if (lud_empo_met_terminal(a->met, node) || at_end_only(a->met, node)) continue;
        if (best < 0 || lud_empo_met_visits(a->met, node) < lud_empo_met_visits(a->met, best)) best = node;
    }
    if (best < 0) return false;
    const lud_words time = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_RESTART + 1 + MAX_CHOICES);
    lud_empo_met_state(a->met, best, lud_empo_met_some_level(a->met, best, lud_unit53(time.v[0], time.v[1])),
                       lud_empo_environments_state(&a->env, e));
    a->last_step[e] = o->restart_steps;
    a->counts.restarts++;
    return true;
}

static void begin_episode(lud_empo_actor *a, int e) {
    lud_empo_environments_begin(&a->env, e);
    if (restart(a, e)) return;
    a->last_step[e] = a->options->steps_per_episode;
    lud_empo_environments_reset(&a->env, e);
}

lud_status lud_empo_actor_create(const lud_empo_learner_options *options, lud_empo_asker *asker,
                                 uint64_t seed, lud_empo_actor **actor, lud_error *error) {
    *actor = NULL;
    lud_empo_actor *a = calloc(1, sizeof *a);
    const lud_empo_features *features = asker->values->features;
    if (!a) return lud_no_memory(error, "environments");
    *a = (lud_empo_actor){.options = options,
                          .asker = asker,
                          .met = asker->met,
                          .layout = &features->layout,
                          .model = &features->grid->model,
                          .n = (int)options->environments,
                          .arena = lud_arena_create(0)};
    const size_t n = (size_t)a->n;
    bool complete =
        a->arena && lud_empo_environments_create(a->arena, features, a->model, seed, a->n, &a->env);
    if (complete) {
        a->last_step = lud_arena_take_array(a->arena, n, sizeof *a->last_step);
        a->node = lud_arena_take_array(a->arena, n, sizeof *a->node);
        a->level = lud_arena_take_array(a->arena, n, sizeof *a->level);
        a->record = lud_arena_take_array(a->arena, (size_t)a->layout->record_doubles, sizeof *a->record);
        a->joint = lud_arena_take_array(a->arena, (size_t)a->model->layout.n_agents, sizeof *a->joint);
        a->shown = lud_arena_take_array(a->arena, a->model->layout.state_bytes, 1);
        complete = a->shown && a->last_step && a->node && a->level && a->record && a->joint;
    }
    if (complete && options->restart_from == LUD_EMPO_CONFIGURATIONS)
        complete = (a->kinds = lud_empo_kinds_create(features, seed)) != NULL;
    if (!complete) {
        lud_empo_actor_destroy(a);
        return lud_no_memory(error, "%d environments", (int)options->environments);
    }
    for (int e = 0; e < a->n; e++) begin_episode(a, e);
    const lud_status status = lud_empo_environments_check(&a->env, error);
    if (status)
        lud_empo_actor_destroy(a);
    else
        *actor = a;
    return status;
}

void lud_empo_actor_destroy(lud_empo_actor *a) {
    if (!a) return;
    lud_empo_kinds_destroy(a->kinds);
    lud_arena_destroy(a->arena);
    free(a);
}

/* ---- stepping ---- */

static lud_status expand_all(lud_empo_actor *a, lud_error *error) {
    for (int e = 0; e < a->n; e++) {
        LUD_TRY(lud_empo_met_add(a->met, lud_empo_environments_state(&a->env, e), &a->node[e], error));
        a->level[e] = lud_empo_met_level(a->met, lud_empo_environments_state(&a->env, e));
        lud_empo_met_visit_node(a->met, a->node[e]);
        if (!lud_empo_met_expanded(a->met, a->node[e]))
            LUD_TRY(lud_empo_met_expand(a->met, a->node[e], error));
    }
    return LUD_OK;
}

/* The states of all environments stand in the table, expanded. */
static lud_status make_known(lud_empo_actor *a, lud_error *error) {
    lud_status status = LUD_OK;
    for (int i = 0; i < FORGETS; i++) {
        lud_error full = {0};
        status = expand_all(a, &full);
        if (status != LUD_ERROR_LIMIT) {
            if (status && error) *error = full;
            return status;
        }
        LUD_TRY(lud_empo_met_forget(a->met, error));
    }
    char most[16];
    return lud_fail(error, status, "the successors of %d states at once do not fit %s; raise met_memory",
                    a->n, lud_format_memory((double)lud_empo_met_get(a->met).most_bytes, most));
}

static void choose_people(lud_empo_actor *a, int e, const float *policies, double epsilon) {
    for (int h = 0; h < a->layout->n_humans; h++) {
        const int agent = a->layout->humans[h], n = a->layout->n_human_actions[h],
                  goal = a->env.goals[e * a->layout->n_humans + h];
        const lud_words explore = draw(a, e, (uint32_t)agent, LUD_PURPOSE_EXPLORE, LANE_STEP),
                        w = draw(a, e, (uint32_t)agent, LUD_PURPOSE_ACTION, LANE_STEP);
        double p[MAX_ACTIONS];
        for (int k = 0; k < n; k++) p[k] = (double)policies[a->layout->policy_begin[h] + goal * n + k];
        a->joint[agent] = lud_unit(explore.v[0]) < epsilon ? (int32_t)lud_below(explore.v[1], (uint32_t)n)
                                                           : lud_empo_draw(p, n, lud_unit53(w.v[0], w.v[1]));
    }
}

static void choose_robots(lud_empo_actor *a, int e, double epsilon) {
    const int n = a->layout->n_robot_actions;
    const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_ACTION, LANE_ROBOTS),
                    explore = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_STEP);
    int32_t action = (int32_t)lud_below(explore.v[1], (uint32_t)n);
    if (lud_unit(explore.v[0]) >= epsilon) {
        lud_empo_met_look(a->met, a->node[e], a->level[e], a->record);
        action = lud_empo_draw(a->record + a->layout->pi_r, n, lud_unit53(w.v[0], w.v[1]));
    }
    lud_empo_robot_decode(a->layout, a->model, action, a->joint);
}

static void go_on(lud_empo_actor *a, int e, int64_t next) {
    lud_empo_met_state(a->met, next, a->level[e] > 0 ? a->level[e] - 1 : 0,
                       lud_empo_environments_state(&a->env, e));
    a->counts.steps++;
    lud_empo_environments_advance(&a->env, e);
    a->counts.achieved +=
        (uint64_t)lud_empo_environments_renew_goals(&a->env, e, a->options->goal_resample_prob);
    if (!lud_empo_environments_over(&a->env, e, a->last_step[e])) return;
    a->counts.episodes++;
    begin_episode(a, e);
}

/* Shows a new state to the configurations, unless it is met at the end only. */
static void show(lud_empo_actor *a, int64_t node) {
    if (at_end_only(a->met, node)) return;
    lud_empo_met_state(a->met, node, lud_empo_met_highest(a->met, node), a->shown);
    lud_empo_kinds_show(a->kinds, a->shown);
}

lud_status lud_empo_actor_step(lud_empo_actor *a, const lud_empo_now *now, double tolerance,
                               lud_error *error) {
    LUD_TRY(make_known(a, error));
    int64_t n_new;
    const uint32_t *fresh = lud_empo_met_unsaid(a->met, &n_new);
    for (int64_t i = 0; a->kinds && i < n_new; i++) show(a, fresh[i]);
    LUD_TRY(lud_empo_ask_unsaid(a->asker, error));
    for (int e = 0; e < a->n; e++) {
        lud_empo_met_settle(a->met, a->node[e], tolerance);
        choose_people(a, e, lud_empo_met_policies(a->met, a->node[e], a->level[e]), now->epsilon_h);
        choose_robots(a, e, now->epsilon_r);
        const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_TRANSITION, LANE_STEP);
        go_on(a, e,
              lud_empo_met_next(a->met, a->node[e], lud_joint_action_encode(&a->model->layout, a->joint),
                                lud_unit53(w.v[0], w.v[1])));
    }
    return LUD_OK;
}

lud_empo_actor_counts lud_empo_actor_get(const lud_empo_actor *a) {
    return a->counts;
}

void lud_empo_actor_visit(lud_empo_actor *a, const char *prefix, lud_checkpoint *checkpoint) {
    char text[128];
    lud_empo_environments_visit(&a->env, prefix, checkpoint);
    snprintf(text, sizeof text, "%slast_step", prefix);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_I64, 1, (const int64_t[]){a->n}, a->last_step);
    for (int e = 0; e < a->n && !lud_checkpoint_status(checkpoint, NULL); e++)
        lud_checkpoint_limit(checkpoint, text, (uint64_t)a->last_step[e], LUD_CHECKPOINT_MOST);
    snprintf(text, sizeof text, "%scounts", prefix);
    lud_checkpoint_bytes(checkpoint, text, &a->counts, sizeof a->counts);
    if (a->kinds) lud_empo_kinds_visit(a->kinds, prefix, checkpoint);
}
