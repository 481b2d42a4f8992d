#include "learn/empo/exact/solution_policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/empo/layout.h"

typedef struct solution_policy {
    lud_policy base;
    lud_empo_solution *solution;
    lud_empo_layout layout;
    double *goal_weight; /* [n_goals] */
} solution_policy;

enum { MAX_ACTIONS = 256 }; /* of one agent: several threads ask at once, so rows stand on the stack */

static void destroy(lud_policy *policy) {
    solution_policy *p = (solution_policy *)policy;
    lud_empo_solution_close(p->solution);
    free(p->goal_weight);
    free(p);
}

/* Null where the solution says nothing: at the end, and in states that it does not have. */
static const double *record_of(const solution_policy *p, const uint8_t *state) {
    const lud_model *model = p->base.model;
    const uint64_t index = lud_empo_solution_find(p->solution, state);
    if (index == UINT64_MAX || model->world->is_terminal(model, state)) return NULL;
    return lud_empo_solution_record(p->solution, index);
}

void lud_empo_act_jointly(const lud_empo_layout *layout, const lud_act *act, int e, int agent,
                          const double *pi_r, const double *own) {
    int32_t robots[LUD_EMPO_MAX_AGENTS];
    if (!act->discrete && !act->log_prob) return;
    const lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
    const lud_words w = lud_draw(key, act->range.tick[e], UINT32_MAX, LUD_PURPOSE_ACTION, 0);
    const int drawn = lud_empo_draw(pi_r, layout->n_robot_actions, lud_unit53(w.v[0], w.v[1]));
    lud_empo_robot_decode(layout, act->model, drawn, robots);
    const size_t at = (size_t)e * (size_t)act->model->layout.n_agents + (size_t)agent;
    if (act->discrete) act->discrete[at] = robots[agent];
    if (act->log_prob) act->log_prob[at] = (float)log(own[robots[agent]]);
}

/* A person's choices for its goal, or over all its goals; a robot's part of the joint choices. */
static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *to) {
    const solution_policy *p = (const solution_policy *)policy;
    const lud_empo_layout *layout = &p->layout;
    const int n_actions = policy->model->layout.actions[agent].n_discrete,
              h = lud_empo_person_of(layout, agent);
    const double *record = record_of(p, state);
    if (!record)
        for (int a = 0; a < n_actions; a++) to[a] = 1.0 / n_actions;
    else if (h < 0)
        lud_empo_robot_part(layout, policy->model, record + layout->pi_r, agent, to);
    else if (goal >= 0 && goal < lud_empo_goals_of(layout, h))
        memcpy(to, record + layout->policies + layout->policy_begin[h] + goal * n_actions,
               (size_t)n_actions * sizeof *to);
    else
        lud_empo_marginal_of(layout, p->goal_weight, record, h, to);
    return true;
}

static void joint(lud_policy *policy, const uint8_t *state, double *pi_r) {
    const solution_policy *p = (const solution_policy *)policy;
    const double *record = record_of(p, state);
    for (int k = 0; k < p->layout.n_robot_actions; k++)
        pi_r[k] = record ? record[p->layout.pi_r + k] : 1.0 / p->layout.n_robot_actions;
}

static void act_in_environment(solution_policy *p, const lud_act *act, int e) {
    double own[MAX_ACTIONS];
    const uint8_t *state = act->states + (size_t)e * act->model->layout.state_bytes;
    const double *record = record_of(p, state);
    for (int slot = 0; slot < act->n_agents_acting; slot++) {
        const int agent = act->agents[slot];
        const int goal = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
        (void)distribution(&p->base, state, agent, goal, own);
        lud_policy_choose(act, e, slot, own);
        if (record && lud_empo_person_of(&p->layout, agent) < 0)
            lud_empo_act_jointly(&p->layout, act, e, agent, record + p->layout.pi_r, own);
    }
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    for (int e = 0; e < act->range.n; e++) act_in_environment((solution_policy *)policy, act, e);
}

static const lud_policy_kind kind = {.name = "solution",
                                     .about = "the exact EMPO solution",
                                     .destroy = destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .joint = joint};

/* The parts of a record that model and file must agree on. */
static bool fits(const lud_empo_header *h, const lud_model *model, const lud_empo_layout *layout) {
    return h->state_bytes == model->layout.state_bytes &&
           h->record_doubles == (uint64_t)layout->record_doubles &&
           h->n_humans == (uint32_t)layout->n_humans && h->n_robots == (uint32_t)layout->n_robots &&
           h->n_goals == (uint32_t)layout->n_goals &&
           h->n_robot_actions == (uint32_t)layout->n_robot_actions &&
           h->policies == (uint32_t)layout->policies;
}

lud_status lud_empo_solution_policy_create(lud_empo_solution *solution, const lud_model *model,
                                           lud_policy **policy, lud_error *error) {
    *policy = NULL;
    lud_empo_layout layout;
    LUD_TRY(lud_empo_layout_find(model, &layout, error));
    if (!fits(solution->header, model, &layout))
        return lud_invalid(error, "%s: the solution of another world (agents, actions or goals differ)",
                           solution->path);
    if (lud_max_discrete(&model->layout) > MAX_ACTIONS)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "an agent has more than %d actions", MAX_ACTIONS);
    solution_policy *p = calloc(1, sizeof *p);
    if (p) {
        p->base = (lud_policy){.kind = &kind, .model = model};
        p->solution = lud_empo_solution_share(solution);
        p->layout = layout;
        p->goal_weight = malloc((size_t)layout.n_goals * sizeof *p->goal_weight);
    }
    if (!p || !p->goal_weight) {
        if (p) destroy(&p->base);
        return lud_no_memory(error, "the solution's policy");
    }
    lud_empo_goal_weights(&layout, model, p->goal_weight);
    *policy = &p->base;
    return LUD_OK;
}
