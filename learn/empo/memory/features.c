#include "learn/empo/memory/features.h"

#include <math.h>
#include <stdlib.h>

#include "sim/multigrid/grid_observe.h"

static bool has_interactive(const lud_grid_model *m) {
    for (int k = 0; k < m->n_maps; k++)
        for (int f = 0; f < m->layers[k].n_fixed; f++) {
            const int type = m->layers[k].fixed[f].type;
            if (type >= LUD_KILL_BUTTON && type <= LUD_CONTROL_BUTTON) return true;
        }
    return false;
}

static void fill_goals(lud_empo_features *f, const lud_model *model) {
    const lud_empo_layout *layout = &f->layout;
    for (int h = 0; h < layout->n_humans; h++) {
        const int agent = layout->humans[h], n = lud_empo_goals_of(layout, h);
        for (int g = 0; g < n; g++) {
            const lud_grid_goal *goal =
                &f->grid->spec.goals[f->grid->goal_index[f->grid->goal_begin[agent] + g]];
            const int column = layout->goal_begin[h] + g;
            f->goals[4 * column] = goal->x1;
            f->goals[4 * column + 1] = goal->y1;
            f->goals[4 * column + 2] = goal->x2;
            f->goals[4 * column + 3] = goal->y2;
            f->goal_weight[column] = model->world->goal_weight(model, agent, g);
            f->weight_sum[h] += f->goal_weight[column];
        }
    }
}

lud_status lud_empo_features_create(const lud_model *model, bool step_count, lud_empo_features *f,
                                    lud_error *error) {
    *f = (lud_empo_features){.step_count = step_count};
    if (!lud_grid_is_model(model))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "the world %s has no compact features; networks of EMPO need multigrid",
                        model->world->name);
    LUD_TRY(lud_empo_layout_find(model, &f->layout, error));
    f->grid = (const lud_grid_model *)model;
    f->interactive = has_interactive(f->grid);
    f->height = f->grid->height;
    f->width = f->grid->width;
    f->agents_at = LUD_GRID_GLOBALS;
    f->interactive_at = f->agents_at + LUD_GRID_AGENT_FEATURES * f->grid->n_agents;
    f->grid_at = f->interactive_at + (f->interactive ? LUD_GRID_INTERACTIVE : 0);
    f->words = f->grid_at + f->grid->n_cells;
    for (int i = 0; i < f->grid->n_agents; i++) f->place[i] = lud_grid_agent_place(f->grid, i);
    f->goals = calloc((size_t)f->layout.n_goals * 4, sizeof *f->goals);
    f->goal_weight = calloc((size_t)f->layout.n_goals, sizeof *f->goal_weight);
    f->weight_sum = calloc((size_t)f->layout.n_humans, sizeof *f->weight_sum);
    if (!f->goals || !f->goal_weight || !f->weight_sum) {
        lud_empo_features_free(f);
        return lud_no_memory(error, "%d goals", f->layout.n_goals);
    }
    fill_goals(f, model);
    return LUD_OK;
}

void lud_empo_features_free(lud_empo_features *f) {
    LUD_FREE(f->goals, f->goal_weight, f->weight_sum);
    f->goals = NULL;
    f->goal_weight = f->weight_sum = NULL;
}

void lud_empo_features_encode(const lud_empo_features *f, const uint8_t *state, int32_t *record) {
    float *reals = (float *)(void *)record; /* a record is words of either type */
    lud_grid_encode_globals(f->grid, state, false, reals);
    if (!f->step_count) reals[0] = 0.0f;
    lud_grid_encode_agents(f->grid, state, false, f->grid->colour_count, reals + f->agents_at);
    if (f->interactive) lud_grid_encode_interactive(f->grid, state, reals + f->interactive_at);
    lud_grid_encode_words(f->grid, state, false, f->height, f->width, record + f->grid_at);
}

bool lud_empo_features_is_record(const lud_empo_features *f, const int32_t *record) {
    enum { MOST = 1 << 24 }; /* whole numbers that single precision holds exactly */
    const float *reals = (const float *)(const void *)record;
    for (int i = 0; i < f->grid_at; i++)
        if (!(reals[i] >= -MOST && reals[i] <= MOST)) return false;
    for (int i = f->grid_at; i < f->words; i++)
        if (!lud_grid_code_is_word(record[i])) return false;
    return true;
}

const float *lud_empo_features_agent(const lud_empo_features *f, const int32_t *record, int agent) {
    return (const float *)(const void *)record + f->agents_at + LUD_GRID_AGENT_FEATURES * f->place[agent];
}

int32_t lud_empo_features_cell(const lud_empo_features *f, const int32_t *record, int agent) {
    const float *own = lud_empo_features_agent(f, record, agent);
    const int x = (int)own[LUD_GRID_AGENT_X], y = (int)own[LUD_GRID_AGENT_Y];
    const bool inside = x >= 0 && y >= 0 && x < f->width && y < f->height;
    return inside ? y * f->width + x : f->height * f->width;
}

bool lud_empo_features_achieved(const lud_empo_features *f, const int32_t *record, int h, int goal) {
    const float *own = lud_empo_features_agent(f, record, f->layout.humans[h]);
    const int x = (int)own[LUD_GRID_AGENT_X], y = (int)own[LUD_GRID_AGENT_Y];
    const int32_t *r = f->goals + 4 * (f->layout.goal_begin[h] + goal);
    return x >= r[0] && y >= r[1] && x <= r[2] && y <= r[3];
}

double lud_empo_features_least_weight(const lud_empo_features *f) {
    double least = INFINITY;
    for (int g = 0; g < f->layout.n_goals; g++)
        if (f->goal_weight[g] > 0 && f->goal_weight[g] < least) least = f->goal_weight[g];
    return least;
}

int lud_empo_features_draw_goal(const lud_empo_features *f, int h, double uniform) {
    const int begin = f->layout.goal_begin[h], end = f->layout.goal_begin[h + 1];
    double left = uniform * f->weight_sum[h];
    int drawn = 0;
    for (int g = begin; g < end; g++) {
        if (f->goal_weight[g] <= 0) continue;
        drawn = g - begin;
        if (left < f->goal_weight[g]) break;
        left -= f->goal_weight[g];
    }
    return drawn;
}
