#include "sim/multigrid/edit/grid_edit_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/directions.h"
#include "sim/multigrid/edit/grid_edit_parts.h"
#include "sim/multigrid/grid_model.h"
#include "sim/statespace/statespace.h"

typedef struct finder {
    const lud_grid_edit *edit;
    const lud_grid_spec *spec;
    const lud_grid_model *model;
    lud_grid_problem *problems;
    int n, most;
} finder;

static void tell(finder *f, bool refused, int x, int y, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void tell(finder *f, bool refused, int x, int y, const char *format, ...) {
    if (f->n == f->most) return;
    lud_grid_problem *p = &f->problems[f->n++];
    *p = (lud_grid_problem){.x = x, .y = y, .refused = refused};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->text, sizeof p->text, format, arguments);
    va_end(arguments);
}

/* ---- goals that must cover ---- */

static void check_cover(finder *f, uint8_t *marked, uint8_t *uncovered) {
    const int n_cells = f->spec->width * f->spec->height;
    if (!f->spec->goals_must_cover) return;
    for (int agent = 0; agent < f->spec->n_agents; agent++) {
        if (!lud_grid_find_uncovered(f->spec, f->edit->map, agent, uncovered)) continue;
        int n = 0, first = -1;
        for (int c = 0; c < n_cells; c++) {
            if (!uncovered[c]) continue;
            if (marked) marked[c] = 1;
            if (first < 0) first = c;
            n++;
        }
        tell(f, true, first % f->spec->width, first / f->spec->width,
             "%d cell%s in no goal of agent %d (goals_must_cover)", n, n == 1 ? " is" : "s are", agent);
    }
}

/* ---- goals out of reach ---- */

/* Whether a key of the colour is anywhere, also in a box. */
static bool has_key(const finder *f, lud_colour colour) {
    const lud_grid_map *map = &f->spec->maps[f->edit->map];
    for (int i = 0; i < map->n_pieces; i++) {
        const lud_grid_object *o = &map->pieces[i].object;
        if (o->type == LUD_KEY && o->colour == colour) return true;
        if (o->type == LUD_BOX && o->content_type == LUD_KEY && o->content_colour == colour) return true;
    }
    return false;
}

/* Whether anything that may happen lets the agent into the cell. */
static bool may_enter(const finder *f, int agent, int cell) {
    const lud_grid_object *ground = &f->spec->maps[f->edit->map].cells[cell];
    const uint8_t content = f->model->layers[f->edit->map].base[cell];
    if (content & LUD_CONTENT_OVERLAP) return true;
    if (ground->type == LUD_MAGIC_WALL)
        return ground->active && ground->entry > 0 && f->model->can[agent] & LUD_CAN_ENTER_MAGIC_WALLS;
    if (!(content & LUD_CONTENT_CHANGES)) return false;
    if (ground->type != LUD_DOOR || ground->door == LUD_DOOR_OPEN) return true;
    bool toggles = false;
    for (int a = 0; a < f->model->n_actions; a++) toggles |= f->model->verb[a] == LUD_VERB_TOGGLE;
    return toggles && (ground->door == LUD_DOOR_CLOSED || has_key(f, ground->colour));
}

/* Cells that an agent may come to: reached[n_cells]; queue[n_cells] is for working. */
static void flood(const finder *f, int agent, uint8_t *reached, int *queue) {
    const int width = f->spec->width, height = f->spec->height;
    const lud_grid_agent *a = &f->spec->maps[f->edit->map].agents[agent];
    memset(reached, 0, (size_t)width * (size_t)height);
    int n = 0;
    reached[a->y * width + a->x] = 1;
    queue[n++] = a->y * width + a->x;
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 4; d++) {
            const int c = lud_cell_onward(queue[i], width, height, d, 1);
            if (c < 0 || reached[c] || !may_enter(f, agent, c)) continue;
            reached[c] = 1;
            queue[n++] = c;
        }
}

static bool has_goal(const finder *f, const lud_grid_edit_goal *goal, int agent) {
    return goal->for_all ? f->spec->maps[f->edit->map].agents[agent].role == LUD_ROLE_HUMAN
                         : (int)(goal->agents >> agent & 1);
}

static void check_reach(finder *f, uint8_t *reached, int *queue) {
    const lud_grid_edit_world *w = lud_grid_edit_get(f->edit);
    if (f->spec->random_start) return; /* from where is not known */
    for (int agent = 0; agent < f->spec->n_agents; agent++) {
        bool flooded = false;
        for (int g = 0; g < w->n_goals; g++) {
            const lud_grid_edit_goal *goal = &w->goals[g];
            if (!has_goal(f, goal, agent)) continue;
            if (!flooded) flood(f, agent, reached, queue);
            flooded = true;
            bool found = false;
            for (int y = goal->y1; y <= goal->y2 && !found; y++)
                found = memchr(reached + y * w->width + goal->x1, 1, (size_t)(goal->x2 - goal->x1 + 1));
            if (!found) tell(f, false, goal->x1, goal->y1, "agent %d cannot reach goal %d", agent, g);
        }
    }
}

/* ---- the rest ---- */

static void check_people(finder *f) {
    const lud_grid_edit_world *w = lud_grid_edit_get(f->edit);
    const lud_grid_map *map = &f->spec->maps[f->edit->map];
    int n_humans = 0;
    for (int i = 0; i < f->spec->n_agents; i++) n_humans += map->agents[i].role == LUD_ROLE_HUMAN;
    if (!f->spec->n_agents) tell(f, false, -1, -1, "nobody acts: place an agent");
    if (!n_humans) {
        bool all = false;
        for (int g = 0; g < w->n_goals; g++) all |= w->goals[g].for_all;
        if (all) tell(f, false, -1, -1, "goals are for humans, and there are none");
    }
}

/* Locked doors without a key. */
static void check_doors(finder *f) {
    const lud_grid_map *map = &f->spec->maps[f->edit->map];
    for (int c = 0; c < f->spec->width * f->spec->height; c++)
        if (map->cells[c].type == LUD_DOOR && map->cells[c].door == LUD_DOOR_LOCKED &&
            !has_key(f, map->cells[c].colour))
            tell(f, false, c % f->spec->width, c / f->spec->width, "no %s key for the door at (%d, %d)",
                 lud_colour_names[map->cells[c].colour], c % f->spec->width, c / f->spec->width);
}

int lud_grid_edit_check(const lud_grid_edit *edit, lud_grid_problem *problems, int most, uint8_t *marked) {
    finder f = {.edit = edit,
                .spec = &edit->now.spec,
                .model = (const lud_grid_model *)edit->now.model,
                .problems = problems,
                .most = most};
    const size_t n_cells = (size_t)f.spec->width * (size_t)f.spec->height;
    if (marked) memset(marked, 0, n_cells);
    uint8_t *cells = malloc(n_cells);
    int *queue = malloc(n_cells * sizeof *queue);
    if (cells && queue) {
        check_cover(&f, marked, cells);
        check_reach(&f, cells, queue);
        check_people(&f);
        check_doors(&f);
    } else {
        tell(&f, false, -1, -1, "no memory to look for problems");
    }
    free(cells);
    free(queue);
    return f.n;
}

/* ---- the states ---- */

static lud_status find_reached(const lud_model *model, lud_grid_study *study, lud_error *error) {
    const lud_statespace_options options = {
        .max_states = LUD_GRID_STUDIED_STATES, .n_threads = 1, .memory_limit = UINT64_C(1) << 30};
    lud_statespace *space;
    const lud_status status = lud_statespace_build(model, &options, &space, error);
    if (status == LUD_ERROR_LIMIT || status == LUD_ERROR_MEMORY) return LUD_OK; /* larger than it seemed */
    if (status) return status;
    study->states = (double)space->n_states;
    study->exact = study->reach_known = true;
    for (int agent = 0; agent < model->layout.n_agents && model->world->n_goals; agent++)
        for (int goal = 0; goal < model->world->n_goals(model, agent); goal++) {
            bool reached = false;
            for (uint64_t s = 0; s < space->n_states && !reached; s++)
                reached = model->world->achieved(model, space->states + s * space->state_bytes, agent, goal);
            if (!reached && study->n_out_of_reach < LUD_GRID_OUT_OF_REACH)
                study->out_of_reach[study->n_out_of_reach++] = (struct lud_out_of_reach){agent, goal};
        }
    lud_statespace_destroy(space);
    return LUD_OK;
}

lud_status lud_grid_study_model(const lud_model *model, lud_grid_study *study, lud_error *error) {
    *study = (lud_grid_study){0};
    lud_statespace_estimate estimate;
    const lud_statespace_options options = {.n_threads = 1};
    LUD_TRY(lud_statespace_guess(model, &options, &estimate, error));
    study->states = estimate.states;
    study->exact = estimate.exhausted;
    study->lower_bound = estimate.lower_bound;
    return estimate.states <= LUD_GRID_STUDIED_STATES ? find_reached(model, study, error) : LUD_OK;
}
