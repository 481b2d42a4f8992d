#include "learn/empo/memory/environments.h"

#include <stdio.h>

#include "base/random.h"

bool lud_empo_environments_create(lud_arena *arena, const lud_empo_features *features, const lud_model *model,
                                  uint64_t seed, int n, lud_empo_environments *v) {
    const size_t rows = (size_t)n;
    *v = (lud_empo_environments){.features = features, .model = model, .seed = seed, .n = n};
    v->states = lud_arena_take_array(arena, rows, model->layout.state_bytes);
    v->tick = lud_arena_take_array(arena, rows, sizeof *v->tick);
    v->episode_step = lud_arena_take_array(arena, rows, sizeof *v->episode_step);
    v->goals = lud_arena_take_array(arena, rows * (size_t)features->layout.n_humans, sizeof *v->goals);
    v->records = lud_arena_take_array(arena, rows * (size_t)features->words, sizeof *v->records);
    return v->states && v->tick && v->episode_step && v->goals && v->records;
}

int lud_empo_environments_goal(const lud_empo_environments *v, int e, int h, uint32_t purpose) {
    const lud_random_key key = {v->seed, (uint32_t)e};
    const lud_words w =
        lud_draw(key, v->tick[e], (uint32_t)v->features->layout.humans[h], LUD_PURPOSE_GOAL, purpose);
    return lud_empo_features_draw_goal(v->features, h, lud_unit53(w.v[0], w.v[1]));
}

void lud_empo_environments_begin(lud_empo_environments *v, int e) {
    const int n_humans = v->features->layout.n_humans;
    v->episode_step[e] = 0;
    for (int h = 0; h < n_humans; h++)
        v->goals[e * n_humans + h] = lud_empo_environments_goal(v, e, h, LUD_EMPO_GOAL_AT_START);
}

void lud_empo_environments_reset(lud_empo_environments *v, int e) {
    const lud_range range = {.seed = v->seed, .first_environment = (uint32_t)e, .n = 1, .tick = &v->tick[e]};
    v->model->world->reset(v->model, range, lud_empo_environments_state(v, e));
}

int32_t *lud_empo_environments_encode(lud_empo_environments *v, int e) {
    int32_t *record = v->records + (size_t)e * (size_t)v->features->words;
    lud_empo_features_encode(v->features, lud_empo_environments_state(v, e), record);
    return record;
}

void lud_empo_environments_encode_all(lud_empo_environments *v) {
    for (int e = 0; e < v->n; e++) lud_empo_environments_encode(v, e);
}

int32_t *lud_empo_environments_advance(lud_empo_environments *v, int e) {
    v->tick[e]++;
    v->episode_step[e]++;
    return lud_empo_environments_encode(v, e);
}

bool lud_empo_environments_over(const lud_empo_environments *v, int e, int64_t limit) {
    return (limit && v->episode_step[e] >= limit) ||
           v->model->world->is_terminal(v->model, lud_empo_environments_state(v, e));
}

lud_status lud_empo_environments_check(const lud_empo_environments *v, lud_error *error) {
    for (int e = 0; e < v->n; e++)
        if (lud_empo_environments_over(v, e, 0))
            return lud_invalid(error, "the world ends before the first step; nothing can be learned");
    return LUD_OK;
}

void lud_empo_environments_visit(lud_empo_environments *v, const char *prefix, lud_checkpoint *checkpoint) {
    const struct {
        const char *name;
        lud_tensor_type type;
        int64_t width;
        void *data;
    } fields[] = {{"states", LUD_TENSOR_U8, (int64_t)v->model->layout.state_bytes, v->states},
                  {"tick", LUD_TENSOR_U32, 1, v->tick},
                  {"episode_step", LUD_TENSOR_I64, 1, v->episode_step},
                  {"goals", LUD_TENSOR_I32, v->features->layout.n_humans, v->goals}};
    char text[128];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(text, sizeof text, "%s%s", prefix, fields[i].name);
        lud_checkpoint_tensor(checkpoint, text, fields[i].type, 2, (const int64_t[]){v->n, fields[i].width},
                              fields[i].data);
    }
}
