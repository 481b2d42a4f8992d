#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "learn/empo/exact/solution_policy.h"
#include "learn/empo/phase2/phase2.h"
#include "learn/nn/arrays.h"

enum { LANE_SEARCH = 0x300 };

typedef struct learned_policy {
    lud_policy base;
    lud_empo_phase2_learner *learner;
    lud_arrays arrays;
    int32_t *record;         /* [words] */
    double *distribution;    /* [max n_discrete] */
    double *pi_r;            /* [n_robot_actions] */
    float *values;           /* [n_robot_actions] as the networks or tables give it */
    lud_empo_search *search; /* with pi_r_mode mcts */
    int32_t *goals;          /* [n_humans] */
} learned_policy;

static void destroy(lud_policy *policy) {
    learned_policy *p = (learned_policy *)policy;
    lud_arrays_free(&p->arrays);
    lud_empo_search_destroy(p->search);
    free(p);
}

/* pi_r of a state. Needs no memory of its own that creating the policy has not taken. */
static lud_status joint_distribution(learned_policy *p, const uint8_t *state, lud_error *error) {
    lud_empo_phase2_learner *l = p->learner;
    const int n = l->features.layout.n_robot_actions;
    if (l->met) {
        LUD_TRY(lud_empo_look_ahead(&l->met->ahead, state, error));
        memcpy(p->pi_r, l->met->ahead.record + l->features.layout.pi_r, (size_t)n * sizeof *p->pi_r);
        return LUD_OK;
    }
    const int32_t *const records[1] = {p->record};
    lud_empo_features_encode(&l->features, state, p->record);
    LUD_TRY(lud_empo_values_for_acting(&l->values, 1, records, l->options.theory.beta_r, p->values, error));
    lud_device_download(l->device, p->values, l->values.pi_r, (size_t)n * sizeof *p->values);
    double sum = 0;
    for (int a = 0; a < n; a++) sum += p->pi_r[a] = (double)p->values[a];
    for (int a = 0; a < n; a++) p->pi_r[a] /= sum;
    return LUD_OK;
}

/* What a search from here says; people whose goal is not known get one drawn by weight. False when it fails;
 * when memory is out the device has failed too. */
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
    lud_error error = {0};
    const lud_status status = lud_empo_search_run(
        p->search, 1, key.environment, state, p->goals, &act->range.tick[e], l->options.theory.beta_r,
        l->options.theory.gamma_r, lud_empo_values_for_search, &l->values, p->pi_r, &error);
    if (status == LUD_ERROR_MEMORY) lud_device_keep(l->device, &error);
    return status == LUD_OK;
}

/* The robots' joint choices in environment e of `act`, into p->pi_r; those of before when the device fails,
 * which lud_policy_check says. */
static void find_robots(learned_policy *p, const lud_act *act, int e, const uint8_t *state) {
    if (p->search && search_distribution(p, act, e, state)) return;
    lud_error error = {0};
    if (joint_distribution(p, state, &error)) lud_device_keep(p->learner->device, &error);
}

/* Choices of person h, or (h < 0) of a robot in what find_robots has left. */
static void own_choices(learned_policy *p, const uint8_t *state, int agent, int h, int goal, double *to) {
    const lud_empo_phase2_learner *l = p->learner;
    const int n = p->base.model->layout.actions[agent].n_discrete;
    if (h < 0)
        lud_empo_robot_part(&l->features.layout, p->base.model, p->pi_r, agent, to);
    else if (goal >= 0)
        lud_empo_prior_policy(&l->prior, &l->features, state, h, goal, to);
    else
        for (int a = 0; a < n; a++) to[a] = 1.0 / n;
}

static void act_in_environment(learned_policy *p, const lud_act *act, int e) {
    const lud_empo_layout *layout = &p->learner->features.layout;
    const uint8_t *state = act->states + (size_t)e * act->model->layout.state_bytes;
    bool ready = false;
    for (int slot = 0; slot < act->n_agents_acting; slot++) {
        const int agent = act->agents[slot], h = lud_empo_person_of(layout, agent);
        const int goal = act->goals ? act->goals[(size_t)e * act->goal_stride + (size_t)agent] : -1;
        if (h < 0 && !ready) find_robots(p, act, e, state);
        ready = ready || h < 0;
        own_choices(p, state, agent, h, goal, p->distribution);
        lud_policy_choose(act, e, slot, p->distribution);
        if (h < 0) lud_empo_act_jointly(layout, act, e, agent, p->pi_r, p->distribution);
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
    const int h = lud_empo_person_of(layout, agent);
    if (h < 0) find_robots_alone(p, state);
    own_choices(p, state, agent, h, goal, to);
    return true;
}

static void joint(lud_policy *policy, const uint8_t *state, double *to) {
    learned_policy *p = (learned_policy *)policy;
    find_robots_alone(p, state);
    memcpy(to, p->pi_r, (size_t)p->learner->features.layout.n_robot_actions * sizeof *to);
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
    if (!p) return lud_no_memory(error, "a policy");
    const size_t n = (size_t)learner->features.layout.n_robot_actions;
    p->base = (lud_policy){.kind = &kind, .model = model, .device = learner->device};
    p->learner = learner;
    LUD_TAKE(&p->arrays, p->record, (size_t)learner->features.words);
    LUD_TAKE(&p->arrays, p->distribution, (size_t)lud_max_discrete(&model->layout));
    LUD_TAKE(&p->arrays, p->pi_r, n);
    LUD_TAKE(&p->arrays, p->values, n);
    LUD_TAKE(&p->arrays, p->goals, (size_t)learner->features.layout.n_humans);
    uint8_t *state = lud_arrays_add(&p->arrays, calloc(1, model->layout.state_bytes));
    static const uint32_t tick = 0;
    lud_status status = p->arrays.failed ? lud_no_memory(error, "a policy") : LUD_OK;
    if (status == LUD_OK && learner->options.pi_r_mode == LUD_EMPO_MCTS)
        status = lud_empo_search_create(&learner->options, 1, (uint64_t)learner->scenario->run.seed,
                                        &learner->features, &learner->prior, &p->search, error);
    if (status == LUD_OK) {
        model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, state);
        status = joint_distribution(p, state, error);
    }
    if (status)
        destroy(&p->base);
    else
        *policy = &p->base;
    return status;
}
