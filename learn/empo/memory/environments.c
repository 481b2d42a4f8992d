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

int lud_empo_environments_renew_goals(lud_empo_environments *v, int e, double resample) {
    const int n_humans = v->features->layout.n_humans;
    const int32_t *record = v->records + (size_t)e * (size_t)v->features->words;
    int32_t *goals = v->goals + (size_t)e * (size_t)n_humans;
    int achieved = 0;
    for (int h = 0; h < n_humans; h++) {
        if (!lud_empo_features_achieved(v->features, record, h, goals[h])) continue;
        goals[h] = lud_empo_environments_goal(v, e, h, LUD_EMPO_GOAL_AFTER_ACHIEVEMENT);
        achieved++;
    }
    const lud_random_key key = {v->seed, (uint32_t)e};
    const lud_words w = lud_draw(key, v->tick[e], UINT32_MAX, LUD_PURPOSE_GOAL, LUD_EMPO_GOAL_AT_RANDOM);
    if (achieved || lud_unit(w.v[0]) >= resample) return achieved;
    for (int h = 0; h < n_humans; h++)
        goals[h] = lud_empo_environments_goal(v, e, h, LUD_EMPO_GOAL_AT_RANDOM);
    return achieved;
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

void lud_empo_check_states(const lud_model *model, int64_t n, const uint8_t *states, const char *name,
                           lud_checkpoint *checkpoint) {
    lud_error error = {0};
    lud_status status = lud_world_check_states(model, n, states, &error);
    for (int64_t i = 0; i < n && !status; i++)
        if (model->world->is_terminal(model, states + (size_t)i * model->layout.state_bytes))
            status =
                lud_invalid(&error, "the world ends in state %lld of %lld", (long long)i + 1, (long long)n);
    lud_checkpoint_require(checkpoint, name, status, &error);
}

void lud_empo_check_credit(lud_checkpoint *checkpoint, double credit) {
    if (lud_checkpoint_loading(checkpoint) && !(credit >= 0.0 && credit <= 1e9))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT,
                            "'credit' of the checkpoint is %g, expected 0 to 1e9", credit);
}

static void check(const lud_empo_environments *v, const char *prefix, lud_checkpoint *checkpoint) {
    const lud_empo_layout *layout = &v->features->layout;
    char text[128];
    snprintf(text, sizeof text, "%sstates", prefix);
    lud_empo_check_states(v->model, v->n, v->states, text, checkpoint);
    snprintf(text, sizeof text, "%sepisode_step", prefix);
    for (int e = 0; e < v->n; e++)
        lud_checkpoint_limit(checkpoint, text, (uint64_t)v->episode_step[e], LUD_CHECKPOINT_MOST);
    snprintf(text, sizeof text, "%sgoals", prefix);
    for (int i = 0; i < v->n * layout->n_humans; i++)
        lud_checkpoint_limit(checkpoint, text, (uint64_t)v->goals[i],
                             (uint64_t)lud_empo_goals_of(layout, i % layout->n_humans) - 1);
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
    if (lud_checkpoint_loading(checkpoint) && !lud_checkpoint_status(checkpoint, NULL))
        check(v, prefix, checkpoint);
}
