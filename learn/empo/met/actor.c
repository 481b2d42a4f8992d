#include "learn/empo/met/actor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/heuristic.h"
#include "base/progress.h"
#include "base/random.h"
#include "learn/empo/met/kinds.h"
#include "sim/multigrid/grid_view.h"

#define NOBODY UINT32_MAX
enum { LANE_STEP, LANE_ROBOTS, LANE_RESTART, LANE_WALK = 0x600 };
enum { NONE_YET = -1, NOWHERE = -2 };

/* Episodes in which robots walk, and how often in a step they think of another place to go to. */
static const double share_of_walks = 0.25, new_destination = 0.08;

/* Most of the steps of a walk that are at random: what nobody thought of as a destination comes about. */
static const double stumbling = 0.1;

enum { MAX_CHOICES = 16, MAX_ACTIONS = 256, FORGETS = 8 };
struct lud_empo_actor {
    const lud_empo_learner_options *options;
    lud_empo_asker *asker;
    lud_empo_met *met;
    const lud_empo_layout *layout;
    const lud_model *model;
    lud_arena *arena;
    int n;
    lud_empo_environments env;
    int64_t *last_step;    /* [n] steps after which the episode ends, 0: no limit but the world's */
    int64_t *node;         /* [n] */
    int *level;            /* [n] */
    bool *fresh;           /* [n] expanded just now */
    int64_t *asked;        /* [n] those, and their levels */
    int *asked_level;      /* [n] */
    double *record, *row;  /* [record_doubles], [n_goals + 1] */
    int32_t *joint;        /* [n_agents] */
    lud_empo_kinds *kinds; /* with restart_from: configurations, and then also */
    lud_policy *walker;    /* for episodes in which robots walk to one place after the other; */
    int32_t *destination;  /* [n] the cell, none yet, or none in this episode */
    uint8_t *shown;        /* [state_bytes] */
    lud_empo_actor_counts counts;
};

static lud_words draw(const lud_empo_actor *a, int e, uint32_t agent, lud_purpose purpose, uint32_t lane) {
    return lud_draw((lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e], agent, purpose, lane);
}

static bool at_end_only(const lud_empo_met *met, int64_t node) {
    return lud_empo_met_levels(met) > 1 && lud_empo_met_highest(met, node) == 0;
}

/* What a met state promises: V_r for each of all steps that there are in an episode, as if it stood at the
 * beginning of one, so that early and late states compare. */
static double promise_of(lud_empo_actor *a, int64_t node) {
    const int first = lud_empo_met_levels(a->met) - 1;
    lud_empo_met_row(a->met, node, first, a->row);
    return a->row[a->layout->n_goals] / lud_empo_met_annuity(a->met, first);
}

/* Of some configurations that which promises most: there people can be helped, and what is not worth it
 * promises little as soon as somebody has acted there. Until then the networks say. */
static lud_status best_of_some(lud_empo_actor *a, int e, const uint8_t **state, lud_error *error) {
    const uint8_t *states[LUD_EMPO_KINDS_DRAWN], *unknown[LUD_EMPO_KINDS_DRAWN];
    int64_t kind[LUD_EMPO_KINDS_DRAWN];
    double promise[LUD_EMPO_KINDS_DRAWN];
    int number[LUD_EMPO_KINDS_DRAWN], n_unknown = 0, best = 0;
    const int n = lud_empo_kinds_draw(a->kinds, (lud_random_key){a->env.seed, (uint32_t)e}, a->env.tick[e],
                                      kind, states);
    for (int i = 0; i < n; i++) {
        if (lud_empo_kinds_known(a->kinds, kind[i], &promise[i])) continue;
        number[n_unknown] = i;
        unknown[n_unknown++] = states[i];
    }
    LUD_TRY(lud_empo_ask(a->asker, n_unknown, unknown, error));
    for (int k = 0; k < n_unknown; k++) {
        const int level = lud_empo_met_level(a->met, unknown[k]);
        promise[number[k]] =
            a->options->theory.gamma_r * (double)a->asker->v_r[k] / lud_empo_met_annuity(a->met, level);
    }
    for (int i = 1; i < n; i++)
        if (promise[i] > promise[best]) best = i;
    *state = states[best];
    return LUD_OK;
}

/* The expanded state, or with restart_from: successors the met one, of some drawn that somebody acted in
 * least; at any time. False: none of those can be gone on from. */
static bool least_visited_of_some(lud_empo_actor *a, int e) {
    const lud_empo_learner_options *o = a->options;
    const lud_empo_met_figures met = lud_empo_met_get(a->met);
    const int64_t n = o->restart_from == LUD_EMPO_SUCCESSORS ? met.n : met.expanded;
    int64_t best = -1;
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
    return true;
}

/* Begins in a met state, if chance will have it so. */
static lud_status restart(lud_empo_actor *a, int e, bool *restarted, lud_error *error) {
    const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_RESTART);
    *restarted = false;
    if (lud_empo_met_get(a->met).expanded == 0 || lud_unit(w.v[0]) >= a->options->restart_prob) return LUD_OK;
    if (!a->kinds) {
        *restarted = least_visited_of_some(a, e);
    } else if (lud_empo_kinds_count(a->kinds) > 0) {
        const uint8_t *state;
        LUD_TRY(best_of_some(a, e, &state, error));
        memcpy(lud_empo_environments_state(&a->env, e), state, a->model->layout.state_bytes);
        *restarted = true;
    }
    a->counts.restarts += *restarted;
    return LUD_OK;
}

static lud_status begin_episode(lud_empo_actor *a, int e, lud_error *error) {
    bool restarted;
    const lud_words walks = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_WALK);
    a->destination[e] = a->walker && lud_unit(walks.v[0]) < share_of_walks ? NONE_YET : NOWHERE;
    lud_empo_environments_begin(&a->env, e);
    LUD_TRY(restart(a, e, &restarted, error));
    a->last_step[e] = restarted ? a->options->restart_steps : a->options->steps_per_episode;
    if (!restarted) lud_empo_environments_reset(&a->env, e);
    return LUD_OK;
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
        a->destination = lud_arena_take_array(a->arena, n, sizeof *a->destination);
        a->fresh = lud_arena_take_array(a->arena, n, sizeof *a->fresh);
        a->asked = lud_arena_take_array(a->arena, n, sizeof *a->asked);
        a->asked_level = lud_arena_take_array(a->arena, n, sizeof *a->asked_level);
        a->record = lud_arena_take_array(a->arena, (size_t)a->layout->record_doubles, sizeof *a->record);
        a->row = lud_arena_take_array(a->arena, (size_t)a->layout->n_goals + 1, sizeof *a->row);
        a->joint = lud_arena_take_array(a->arena, (size_t)a->model->layout.n_agents, sizeof *a->joint);
        a->shown = lud_arena_take_array(a->arena, a->model->layout.state_bytes, 1);
        complete = a->shown && a->destination && a->fresh && a->asked && a->asked_level && a->last_step &&
                   a->node && a->level && a->record && a->row && a->joint;
        if (complete) memset(a->fresh, 0, n * sizeof *a->fresh);
    }
    if (complete && options->restart_from == LUD_EMPO_CONFIGURATIONS)
        complete = (a->kinds = lud_empo_kinds_create(features, seed)) != NULL &&
                   lud_heuristic_create(a->model, 1000.0, &a->walker, error) == LUD_OK;
    if (!complete) {
        lud_empo_actor_destroy(a);
        return lud_no_memory(error, "%d environments", (int)options->environments);
    }
    lud_status status = LUD_OK;
    for (int e = 0; e < a->n && !status; e++) status = begin_episode(a, e, error);
    if (status == LUD_OK) status = lud_empo_environments_check(&a->env, error);
    if (status)
        lud_empo_actor_destroy(a);
    else
        *actor = a;
    return status;
}

void lud_empo_actor_destroy(lud_empo_actor *a) {
    if (!a) return;
    lud_empo_kinds_destroy(a->kinds);
    lud_policy_destroy(a->walker);
    lud_arena_destroy(a->arena);
    free(a);
}

/* ---- stepping ---- */

static lud_status expand_all(lud_empo_actor *a, lud_error *error) {
    for (int e = 0; e < a->n; e++) {
        LUD_TRY(lud_empo_met_add(a->met, lud_empo_environments_state(&a->env, e), &a->node[e], error));
        a->level[e] = lud_empo_met_level(a->met, lud_empo_environments_state(&a->env, e));
        lud_empo_met_visit_node(a->met, a->node[e]);
        if (lud_empo_met_expanded(a->met, a->node[e])) continue;
        LUD_TRY(lud_empo_met_expand(a->met, a->node[e], error));
        a->fresh[e] = true;
    }
    return LUD_OK;
}

/* What the networks say of what follows the states expanded just now. */
static lud_status ask_after_fresh(lud_empo_actor *a, lud_error *error) {
    int n = 0;
    for (int e = 0; e < a->n; e++) {
        if (!a->fresh[e]) continue;
        a->fresh[e] = false;
        a->asked[n] = a->node[e];
        a->asked_level[n++] = a->level[e];
    }
    return lud_empo_ask_after(a->asker, n, a->asked, a->asked_level, NULL, error);
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

/* To a place that may be of use, with whatever is on the way, and then to another: keys are fetched and doors
 * opened that actions at random would take years for. */
static void walk_robots(lud_empo_actor *a, int e) {
    const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_WALK + 1);
    const uint8_t *state = lud_empo_environments_state(&a->env, e);
    double p[MAX_ACTIONS];
    if (a->destination[e] == NONE_YET || lud_unit(w.v[0]) < new_destination)
        a->destination[e] = lud_heuristic_destination(a->walker, state, lud_unit53(w.v[1], w.v[2]));
    for (int r = 0; r < a->layout->n_robots; r++) {
        const int agent = a->layout->robots[r];
        const lud_words one = draw(a, e, (uint32_t)agent, LUD_PURPOSE_ACTION, LANE_STEP);
        lud_heuristic_walk(a->walker, state, agent, a->destination[e], p);
        a->joint[agent] =
            lud_empo_draw(p, a->model->layout.actions[agent].n_discrete, lud_unit53(one.v[0], one.v[1]));
    }
}

static void choose_robots(lud_empo_actor *a, int e, double epsilon) {
    const int n = a->layout->n_robot_actions;
    const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_ACTION, LANE_ROBOTS),
                    explore = draw(a, e, NOBODY, LUD_PURPOSE_EXPLORE, LANE_STEP);
    const bool walks = a->destination[e] != NOWHERE,
               explores = lud_unit(explore.v[0]) < (walks ? fmin(epsilon, stumbling) : epsilon);
    int32_t action = (int32_t)lud_below(explore.v[1], (uint32_t)n);
    if (walks && !explores) {
        walk_robots(a, e);
        return;
    }
    if (!explores) {
        lud_empo_met_look(a->met, a->node[e], a->level[e], a->record);
        action = lud_empo_draw(a->record + a->layout->pi_r, n, lud_unit53(w.v[0], w.v[1]));
    }
    lud_empo_robot_decode(a->layout, a->model, action, a->joint);
}

static lud_status go_on(lud_empo_actor *a, int e, int64_t next, lud_error *error) {
    lud_empo_met_state(a->met, next, a->level[e] > 0 ? a->level[e] - 1 : 0,
                       lud_empo_environments_state(&a->env, e));
    a->counts.steps++;
    lud_empo_environments_advance(&a->env, e);
    a->counts.achieved +=
        (uint64_t)lud_empo_environments_renew_goals(&a->env, e, a->options->goal_resample_prob);
    if (!lud_empo_environments_over(&a->env, e, a->last_step[e])) return LUD_OK;
    a->counts.episodes++;
    return begin_episode(a, e, error);
}

/* Shows a new state to the configurations, unless it is met at the end only. */
static void show(lud_empo_actor *a, int64_t node) {
    if (at_end_only(a->met, node)) return;
    lud_empo_met_state(a->met, node, lud_empo_met_highest(a->met, node), a->shown);
    lud_empo_kinds_show(a->kinds, a->shown, promise_of(a, node));
}

lud_status lud_empo_actor_step(lud_empo_actor *a, const lud_empo_now *now, double tolerance,
                               lud_error *error) {
    LUD_TRY(make_known(a, error));
    int64_t n_new;
    const uint32_t *fresh = lud_empo_met_new(a->met, &n_new);
    LUD_TRY(ask_after_fresh(a, error));
    for (int64_t i = 0; a->kinds && i < n_new; i++) show(a, fresh[i]);
    lud_empo_met_none_new(a->met);
    for (int e = 0; e < a->n; e++) {
        lud_empo_met_settle(a->met, a->node[e], tolerance);
        if (a->kinds)
            lud_empo_kinds_act(a->kinds, lud_empo_environments_state(&a->env, e), promise_of(a, a->node[e]));
        choose_people(a, e, lud_empo_met_policies(a->met, a->node[e], a->level[e]), now->epsilon_h);
        choose_robots(a, e, now->epsilon_r);
        const lud_words w = draw(a, e, NOBODY, LUD_PURPOSE_TRANSITION, LANE_STEP);
        const int64_t next =
            lud_empo_met_next(a->met, a->node[e], lud_joint_action_encode(&a->model->layout, a->joint),
                              lud_unit53(w.v[0], w.v[1]));
        LUD_TRY(go_on(a, e, next, error));
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
    snprintf(text, sizeof text, "%sdestination", prefix);
    lud_checkpoint_tensor(checkpoint, text, LUD_TENSOR_I32, 1, (const int64_t[]){a->n}, a->destination);
    const lud_grid_spec *spec = lud_grid_model_spec(a->model);
    for (int e = 0; e < a->n && !lud_checkpoint_status(checkpoint, NULL); e++)
        lud_checkpoint_limit(checkpoint, text, (uint64_t)(a->destination[e] - NOWHERE),
                             (uint64_t)(spec->width * spec->height - 1 - NOWHERE));
    if (a->kinds) lud_empo_kinds_visit(a->kinds, prefix, checkpoint);
}
