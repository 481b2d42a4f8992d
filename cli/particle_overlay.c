#include "cli/particle_overlay.h"

#include <stdlib.h>
#include <string.h>

#include "learn/mappo/policy.h"
#include "sim/particle/particle.h"

typedef struct particle_source {
    lud_overlay_source base;
    const lud_model *model;
    lud_policy *policy; /* null: none with a graph */
    int n_entities;
    float *weights; /* [n_agents][n_entities] of the state below */
    uint8_t *state;
    bool known;
} particle_source;

static const lud_overlay_quantity error_norm = {.name = "error norm", .group = "error norm"};

static void destroy(lud_overlay_source *source) {
    particle_source *s = (particle_source *)source;
    free(s->weights);
    free(s->state);
    free(s);
}

static bool quantity_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    values[0] =
        lud_particle_error_norm((const lud_particle_model *)((particle_source *)source)->model, state);
    return true;
}

static bool attention(lud_overlay_source *source, const uint8_t *state, int agent, float *weights) {
    particle_source *s = (particle_source *)source;
    const size_t bytes = s->model->layout.state_bytes;
    if (!s->known || memcmp(s->state, state, bytes) != 0) {
        s->known = lud_mappo_policy_attention(s->policy, state, s->weights);
        memcpy(s->state, state, bytes);
    }
    if (s->known)
        memcpy(weights, s->weights + agent * s->n_entities, (size_t)s->n_entities * sizeof *weights);
    return s->known;
}

lud_status lud_particle_overlay(const lud_scenario *scenario, const lud_cast *cast,
                                lud_overlay_source **source, lud_error *error) {
    const lud_model *model = scenario->model;
    *source = NULL;
    if (model->world != &lud_particle_world) return LUD_OK;
    const lud_particle_model *particle = (const lud_particle_model *)model;
    lud_policy *policy = lud_cast_get(cast, 0);
    if (!lud_mappo_policy_is(policy)) policy = NULL;
    const bool goals = lud_particle_has_goals(particle);
    if (!policy && !goals) return LUD_OK;
    particle_source *s = calloc(1, sizeof *s);
    if (!s) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for the overlay");
    s->base = (lud_overlay_source){.n_quantities = goals,
                                   .quantities = &error_norm,
                                   .quantity_values = quantity_values,
                                   .attention = policy ? attention : NULL,
                                   .destroy = destroy};
    s->model = model;
    s->policy = policy;
    s->n_entities = lud_particle_entity_count(particle);
    s->weights = calloc((size_t)model->layout.n_agents * (size_t)s->n_entities, sizeof *s->weights);
    s->state = calloc(1, model->layout.state_bytes);
    if (!s->weights || !s->state) {
        destroy(&s->base);
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for the overlay");
    }
    *source = &s->base;
    return LUD_OK;
}
