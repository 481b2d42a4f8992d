#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "learn/empo/phase2/phase2.h"

enum { LANE_SEARCH = 0x300 };

typedef struct learned_policy {
    lud_policy base;
    lud_empo_phase2_learner *learner;
    int32_t *record;         /* [words] */
    double *people;          /* [max n_discrete] */
    double *robots;          /* [n_robot_actions] */
    float *pi;               /* [n_robot_actions] */
    int32_t *joint;          /* [n_agents] */
    lud_empo_search *search; /* with pi_r_mode mcts */
    int32_t *goals;          /* [n_humans] */
} learned_policy;

static void destroy(lud_policy *policy) {
    learned_policy *p = (learned_policy *)policy;
    free(p->record);
    free(p->people);
    free(p->robots);
    free(p->pi);
    free(p->joint);
    free(p->goals);
    lud_empo_search_destroy(p->search);
    free(p);
}

/* pi_r of a state; uniform when memory is out. */
static void joint_distribution(learned_policy *p, const uint8_t *state) {
    lud_empo_phase2_learner *l = p->learner;
    const int n = l->features.layout.n_robot_actions;
    const int32_t *records[1] = {p->record};
    lud_empo_features_encode(&l->features, state, p->record);
    lud_profile *profile = l->values.profile;
    l->values.profile = NULL;
    const lud_status status =
        lud_empo_values_run(&l->values, 1, records, NULL, LUD_WANT_Q_R, l->options.theory.beta_r, 0, NULL);
    l->values.profile = profile;
    if (status == LUD_OK) lud_device_download(l->device, p->pi, l->values.pi_r, (size_t)n * sizeof *p->pi);
    double sum = 0;
    for (int a = 0; a < n; a++) sum += p->robots[a] = status == LUD_OK ? (double)p->pi[a] : 1.0;
    for (int a = 0; a < n; a++) p->robots[a] /= sum;
}

static lud_status search_values(void *context, int n, const int32_t *const *records,
                                const int32_t *const *goals, double beta_r, float *q, float *u, float *v,
                                lud_error *error) {
    return lud_empo_values_for_search(context, n, records, goals, beta_r, q, u, v, error);
}

/* What a search from here says; people whose goal is not known get one drawn by weight. False when it fails.
 */
static bool search_distribution(learned_policy *p, const lud_act *act, int e, const uint8_t *state) {
    lud_empo_phase2_learner *l = p->learner;
    const lud_empo_layout *layout = &l->features.layout;
    const lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
    for (int h = 0; h < layout->n_humans; h++) {
        const int agent = layout->humans[h];
        p->goals[h] = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
        if (p->goals[h] >= 0) continue;
        const lud_words w = lud_draw(key, act->range.tick[e], (uint32_t)agent, LUD_PURPOSE_GOAL, LANE_SEARCH);
        p->goals[h] = lud_empo_features_draw_goal(&l->features, h, lud_unit53(w.v[0], w.v[1]));
    }
    return lud_empo_search_run(p->search, 1, key.environment, state, p->goals, &act->range.tick[e],
                               l->options.theory.beta_r, l->options.theory.gamma_r, search_values, &l->values,
                               p->robots, NULL) == LUD_OK;
}

/* One draw for all robots: its key does not name the agent, so every robot finds the same joint action. */
static int32_t draw_joint(const lud_act *act, int e, const double *pi, int n) {
    const lud_random_key key = {act->range.seed, act->range.first_environment + (uint32_t)e};
    const lud_words words = lud_draw(key, act->range.tick[e], UINT32_MAX, LUD_PURPOSE_ACTION, 0);
    double left = lud_unit53(words.v[0], words.v[1]);
    int32_t joint = 0;
    for (int32_t k = 0; k < n; k++) {
        if (pi[k] <= 0) continue;
        joint = k;
        if (left < pi[k]) break;
        left -= pi[k];
    }
    return joint;
}

static int index_of(const int *list, int n, int agent) {
    for (int i = 0; i < n; i++)
        if (list[i] == agent) return i;
    return -1;
}

/* The robots' joint choices in environment e of `act`, into p->robots. */
static void find_robots(learned_policy *p, const lud_act *act, int e, const uint8_t *state) {
    if (!(p->search && search_distribution(p, act, e, state))) joint_distribution(p, state);
}

/* Choices of person h, or (h < 0) of a robot in what find_robots has left. */
static void own_choices(learned_policy *p, const uint8_t *state, int agent, int h, int goal, double *to) {
    const lud_empo_phase2_learner *l = p->learner;
    const lud_empo_layout *layout = &l->features.layout;
    const int n = p->base.model->layout.actions[agent].n_discrete;
    if (h >= 0 && goal >= 0) {
        lud_empo_prior_policy(&l->prior, &l->features, state, h, goal, to);
        return;
    }
    for (int a = 0; a < n; a++) to[a] = h >= 0 ? 1.0 / n : 0.0;
    for (int32_t k = 0; k < layout->n_robot_actions && h < 0; k++) {
        lud_empo_robot_decode(layout, p->base.model, k, p->joint);
        to[p->joint[agent]] += p->robots[k];
    }
}

static void act_in_environment(learned_policy *p, const lud_act *act, int e) {
    const lud_empo_layout *layout = &p->learner->features.layout;
    const lud_layout *world = &act->model->layout;
    const uint8_t *state = act->states + (size_t)e * world->state_bytes;
    bool ready = false;
    for (int slot = 0; slot < act->n_agents_acting; slot++) {
        const int agent = act->agents[slot];
        const int h = index_of(layout->humans, layout->n_humans, agent);
        const int goal = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
        if (h < 0 && !ready) find_robots(p, act, e, state);
        ready = ready || h < 0;
        own_choices(p, state, agent, h, goal, p->people);
        lud_policy_choose(act, e, slot, p->people);
        if (h >= 0 || !act->discrete) continue;
        lud_empo_robot_decode(layout, act->model, draw_joint(act, e, p->robots, layout->n_robot_actions),
                              p->joint);
        act->discrete[(size_t)e * (size_t)world->n_agents + (size_t)agent] = p->joint[agent];
    }
}

/* A search draws as in the first step of environment 0. */
static void find_robots_alone(learned_policy *p, const uint8_t *state) {
    static const uint32_t tick = 0;
    const lud_act act = {.model = p->base.model, .range = {.n = 1, .tick = &tick}};
    find_robots(p, &act, 0, state);
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *to) {
    learned_policy *p = (learned_policy *)policy;
    const lud_empo_layout *layout = &p->learner->features.layout;
    const int h = index_of(layout->humans, layout->n_humans, agent);
    if (h < 0) find_robots_alone(p, state);
    own_choices(p, state, agent, h, goal, to);
    return true;
}

static void joint(lud_policy *policy, const uint8_t *state, double *to) {
    learned_policy *p = (learned_policy *)policy;
    find_robots_alone(p, state);
    memcpy(to, p->robots, (size_t)p->learner->features.layout.n_robot_actions * sizeof *to);
}

static void act_in_range(lud_policy *policy, const lud_act *act) {
    for (int e = 0; e < act->range.n; e++) act_in_environment((learned_policy *)policy, act, e);
}

static const lud_policy_kind kind = {.name = "learned",
                                     .about = "what a learner has learned",
                                     .destroy = destroy,
                                     .act = act_in_range,
                                     .distribution = distribution,
                                     .joint = joint};

lud_status lud_empo_learned_policy_create(lud_empo_phase2_learner *learner, lud_policy **policy,
                                          lud_error *error) {
    *policy = NULL;
    const lud_model *model = learner->scenario->model;
    learned_policy *p = calloc(1, sizeof *p);
    if (p) {
        const size_t n = (size_t)learner->features.layout.n_robot_actions;
        p->base = (lud_policy){.kind = &kind, .model = model};
        p->learner = learner;
        p->record = calloc((size_t)learner->features.words, sizeof *p->record);
        p->people = calloc((size_t)lud_max_discrete(&model->layout), sizeof *p->people);
        p->robots = calloc(n, sizeof *p->robots);
        p->pi = calloc(n, sizeof *p->pi);
        p->joint = calloc((size_t)model->layout.n_agents, sizeof *p->joint);
        p->goals = calloc((size_t)learner->features.layout.n_humans, sizeof *p->goals);
        const lud_empo_search_options search =
            lud_empo_search_options_of(&learner->options, 1, (uint64_t)learner->scenario->run.seed);
        lud_status status = LUD_OK;
        if (learner->options.pi_r_mode == LUD_EMPO_MCTS)
            status = lud_empo_search_create(&search, &learner->features, &learner->prior, &p->search, error);
        if (status == LUD_OK && p->record && p->people && p->robots && p->pi && p->joint && p->goals) {
            *policy = &p->base;
            return LUD_OK;
        }
        destroy(&p->base);
    }
    return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a policy");
}
