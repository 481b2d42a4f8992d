#include "agents/cast_overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/shared_policy.h"

typedef struct cast_source {
    lud_overlay_source base;
    const lud_model *model;
    const lud_cast *cast;
    lud_arena *arena;
    int n_values;         /* the first quantities; the others are measures */
    int *whose;           /* [n_quantities] agent of a value, number of a measure */
    double *measured;     /* [n_measures] */
    double *numbers;      /* [n_agents] of one policy */
    int n_entities;       /* of the graph, 0: none */
    float *weights;       /* [n_agents][n_entities] of `attender` in `state` */
    const void *attender; /* lud_shared_policy_common */
    uint8_t *state;
} cast_source;

static void destroy(lud_overlay_source *source) {
    cast_source *s = (cast_source *)source;
    lud_arena_destroy(s->arena);
    free(s);
}

/* Null for those whom scenarios name: what they do is no finding. */
static lud_policy *learned(const cast_source *s, int agent) {
    lud_policy *policy = lud_cast_get(s->cast, agent);
    return policy->kind->create ? NULL : policy;
}

static bool action_probabilities(lud_overlay_source *source, const uint8_t *state, const uint8_t *hidden,
                                 int agent, int goal, double *p) {
    const cast_source *s = (const cast_source *)source;
    lud_policy *policy = learned(s, agent);
    if (!policy || s->model->layout.actions[agent].n_discrete == 0 ||
        (s->model->world->is_terminal && s->model->world->is_terminal(s->model, state)))
        return false;
    if (policy->hidden_bytes > 0 && policy->kind->recalled_distribution)
        return hidden && policy->kind->recalled_distribution(
                             policy, state, lud_cast_remembered(s->cast, hidden, agent), agent, p);
    return lud_policy_distribution(policy, state, agent, goal, p);
}

static bool quantity_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    const cast_source *s = (const cast_source *)source;
    for (int q = 0; q < s->n_values; q++) {
        lud_policy *policy = learned(s, s->whose[q]);
        if (!policy || !lud_policy_value(policy, state, s->whose[q], &values[q])) return false;
    }
    if (s->n_values == s->base.n_quantities) return true;
    s->model->world->measure(s->model, 1, state, s->measured);
    for (int q = s->n_values; q < s->base.n_quantities; q++) values[q] = s->measured[s->whose[q]];
    return true;
}

static void restart(lud_overlay_source *source) {
    const cast_source *s = (const cast_source *)source;
    for (int q = 0; q < s->n_values; q++) {
        lud_policy *policy = learned(s, s->whose[q]);
        if (policy && policy->value_remembers) policy->kind->restart_values(policy);
    }
}

/* A frame asks for all agents in the same state; what policies share knows its agents together. */
static bool attention(lud_overlay_source *source, const uint8_t *state, int agent, float *weights) {
    cast_source *s = (cast_source *)source;
    const size_t bytes = s->model->layout.state_bytes;
    lud_policy *policy = lud_cast_get(s->cast, agent);
    if (!policy->kind->attention) return false;
    const void *common = lud_shared_policy_common(policy);
    if (common != s->attender || memcmp(s->state, state, bytes) != 0) {
        if (!lud_policy_attention(policy, state, s->weights)) return false;
        s->attender = common;
        memcpy(s->state, state, bytes);
    }
    memcpy(weights, s->weights + agent * s->n_entities, (size_t)s->n_entities * sizeof *weights);
    return true;
}

/* Every policy is asked once and tells of those for whom it acts. */
static bool agent_numbers(lud_overlay_source *source, const uint8_t *before, const int32_t *actions,
                          const float *rewards, const uint8_t *after, double *values) {
    const cast_source *s = (const cast_source *)source;
    const lud_policy *asked = NULL;
    bool known = false, any = false;
    for (int i = 0; i < s->model->layout.n_agents; i++) {
        lud_policy *policy = lud_cast_get(s->cast, i);
        values[i] = NAN;
        if (!policy->kind->agent_numbers) continue;
        if (policy != asked)
            known = policy->kind->agent_numbers(policy, before, actions, rewards, after, s->numbers);
        asked = policy;
        if (known) values[i] = s->numbers[i];
        any |= known;
    }
    return any;
}

static bool agent_text(lud_overlay_source *source, const uint8_t *state, int agent, lud_text *read,
                       lud_text *written) {
    lud_policy *policy = lud_cast_get(((const cast_source *)source)->cast, agent);
    return policy->kind->agent_text && policy->kind->agent_text(policy, state, agent, read, written);
}

static void add_quantity(cast_source *s, lud_overlay_quantity *q, int whose, const char *name,
                         const char *group) {
    q += s->base.n_quantities;
    *q = (lud_overlay_quantity){0};
    snprintf(q->name, sizeof q->name, "%s", name);
    snprintf(q->group, sizeof q->group, "%s", group);
    s->whose[s->base.n_quantities++] = whose;
}

/* Asks everybody what it knows about a first state. */
static bool find(cast_source *s) {
    const lud_layout *layout = &s->model->layout;
    const size_t n_agents = (size_t)layout->n_agents, n_measures = (size_t)layout->n_measures;
    static const uint32_t tick = 0;
    lud_overlay_quantity *quantities =
        lud_arena_take_array(s->arena, n_agents + n_measures, sizeof *quantities);
    double *p = lud_arena_take_array(s->arena, (size_t)lud_max_discrete(layout) + 1, sizeof *p);
    s->whose = lud_arena_take_array(s->arena, n_agents + n_measures, sizeof *s->whose);
    s->measured = lud_arena_take_array(s->arena, n_measures + 1, sizeof *s->measured);
    s->state = lud_arena_take_array(s->arena, layout->state_bytes, 1);
    s->numbers = lud_arena_take_array(s->arena, n_agents + 1, sizeof *s->numbers);
    uint8_t *hidden = lud_arena_take_array(s->arena, lud_cast_hidden_bytes(s->cast), 1);
    if (!hidden || !s->numbers || !quantities || !p || !s->whose || !s->measured || !s->state) return false;
    s->base.quantities = quantities;
    const lud_range first = {.n = 1, .tick = &tick};
    s->model->world->reset(s->model, first, s->state);
    lud_cast_reset(s->cast, first, s->state, hidden);
    for (int i = 0; i < layout->n_agents; i++) {
        lud_policy *policy = learned(s, i);
        const lud_policy_kind *kind = lud_cast_get(s->cast, i)->kind;
        char name[24];
        if (kind->agent_numbers) {
            s->base.agent_number_name = kind->agent_number_name;
            s->base.agent_numbers = agent_numbers;
        }
        if (kind->agent_text) s->base.agent_text = agent_text;
        snprintf(name, sizeof name, layout->n_agents > 1 ? "V agent %d" : "V", i);
        if (!policy) continue;
        if (!s->n_entities) s->n_entities = lud_policy_attention(policy, s->state, NULL);
        if (lud_policy_value(policy, s->state, i, p)) {
            add_quantity(s, quantities, i, name, "value");
            quantities[s->base.n_quantities - 1].about =
                "V: the return that the critic expects this agent to get from here, later rewards discounted";
        }
        if (policy->value_remembers) s->base.restart = restart;
        if (action_probabilities(&s->base, s->state, hidden, i, -1, p)) s->base.policy_name = "policy";
    }
    s->n_values = s->base.n_quantities;
    for (int k = 0; s->model->world->measure && k < layout->n_measures; k++) {
        const lud_measure *m = &layout->measures[k];
        if (m->curve && !m->absent) add_quantity(s, quantities, k, m->curve, m->curve);
    }
    if (s->n_entities)
        s->weights = lud_arena_take_array(s->arena, n_agents * (size_t)s->n_entities, sizeof *s->weights);
    return !s->n_entities || s->weights;
}

lud_status lud_cast_overlay(const lud_model *model, const lud_cast *cast, lud_overlay_source **source,
                            lud_error *error) {
    *source = NULL;
    cast_source *s = calloc(1, sizeof *s);
    if (s) *s = (cast_source){.model = model, .cast = cast, .arena = lud_arena_create(0)};
    if (!s || !s->arena || !find(s)) {
        if (s) destroy(&s->base);
        return lud_no_memory(error, "the overlay");
    }
    s->base.destroy = destroy;
    if (s->base.n_quantities) s->base.quantity_values = quantity_values;
    if (s->base.policy_name) s->base.action_probabilities = action_probabilities;
    if (s->n_entities) s->base.attention = attention;
    if (s->base.n_quantities || s->base.policy_name || s->n_entities || s->base.agent_numbers ||
        s->base.agent_text)
        *source = &s->base;
    else
        destroy(&s->base);
    return LUD_OK;
}
