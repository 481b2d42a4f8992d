#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

const char *lud_dtype_name(lud_dtype dtype) {
    static const char *const names[LUD_N_DTYPES] = {"uint8", "int32", "float32"};
    return names[dtype];
}

int lud_measure_find(const lud_layout *layout, const char *name) {
    for (int k = 0; k < layout->n_measures; k++)
        if (!layout->measures[k].absent && strcmp(layout->measures[k].name, name) == 0) return k;
    return -1;
}

lud_status lud_world_check_states(const lud_model *model, int64_t n, const uint8_t *states,
                                  lud_error *error) {
    if (!model->world->check_state) return LUD_OK;
    for (int64_t i = 0; i < n; i++) {
        const lud_status status =
            model->world->check_state(model, states + (size_t)i * model->layout.state_bytes, error);
        if (status) return lud_fail_context(error, "state %lld of %lld", (long long)i + 1, (long long)n);
    }
    return LUD_OK;
}

int lud_max_discrete(const lud_layout *layout) {
    int most = 0;
    for (int i = 0; i < layout->n_agents; i++)
        if (layout->actions[i].n_discrete > most) most = layout->actions[i].n_discrete;
    return most;
}

int lud_max_continuous(const lud_layout *layout) {
    int most = 0;
    for (int i = 0; i < layout->n_agents; i++)
        if (layout->actions[i].n_continuous > most) most = layout->actions[i].n_continuous;
    return most;
}

int32_t lud_joint_action_count(const lud_layout *layout) {
    int64_t count = 1;
    for (int i = 0; i < layout->n_agents; i++) {
        if (layout->actions[i].n_continuous > 0 || layout->actions[i].n_discrete <= 0) return 0;
        count *= layout->actions[i].n_discrete;
        if (count > INT32_MAX) return 0;
    }
    return (int32_t)count;
}

void lud_joint_action_decode(const lud_layout *layout, int32_t index, int32_t *actions) {
    for (int i = 0; i < layout->n_agents; i++) {
        actions[i] = index % layout->actions[i].n_discrete;
        index /= layout->actions[i].n_discrete;
    }
}

int32_t lud_joint_action_encode(const lud_layout *layout, const int32_t *actions) {
    int32_t index = 0;
    for (int i = layout->n_agents - 1; i >= 0; i--)
        index = index * layout->actions[i].n_discrete + actions[i];
    return index;
}

lud_status lud_successors_reserve(lud_successors *successors, size_t state_bytes, size_t n,
                                  lud_error *error) {
    size_t need = successors->n + n;
    if (successors->state_bytes == state_bytes && need <= successors->capacity) return LUD_OK;
    size_t capacity = successors->state_bytes == state_bytes ? successors->capacity * 2 : 0;
    if (capacity < need) capacity = need < 16 ? 16 : need;
    double *probability = realloc(successors->probability, capacity * sizeof *probability);
    if (probability) successors->probability = probability;
    uint8_t *states = realloc(successors->states, capacity * (state_bytes ? state_bytes : 1));
    if (states) successors->states = states;
    if (!probability || !states) return lud_no_memory(error, "%zu successors", need);
    successors->capacity = capacity;
    successors->state_bytes = state_bytes;
    return LUD_OK;
}

void lud_successors_free(lud_successors *successors) {
    free(successors->probability);
    free(successors->states);
    *successors = (lud_successors){0};
}

const lud_world *lud_world_find(const char *name) {
    int n;
    const lud_world *const *worlds = lud_worlds(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(worlds[i]->name, name)) return worlds[i];
    return NULL;
}
