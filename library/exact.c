#include <stdlib.h>
#include <string.h>

#include "learn/empo/exact/solve.h"
#include "library/handles.h"

struct ludus_statespace {
    const ludus_scenario *scenario;
    lud_statespace *inner;
};

struct ludus_solution {
    lud_empo_solution *inner;
};

/* ---- state spaces ---- */

void ludus_statespace_free(ludus_statespace *space) {
    if (!space) return;
    lud_statespace_destroy(space->inner);
    free(space);
}

ludus_status ludus_statespace_build(const ludus_scenario *scenario, uint64_t memory_limit, int n_threads,
                                    ludus_statespace **space, ludus_error *error) {
    LUDUS_REQUIRE(space, error);
    *space = NULL;
    LUDUS_REQUIRE(scenario && n_threads >= 0 && n_threads <= 4096, error);
    ludus_statespace *s = calloc(1, sizeof *s);
    if (!s) return ludus_no_memory(error);
    s->scenario = scenario;
    const lud_statespace_options options = {
        .seed = (uint64_t)scenario->inner->run.seed, .memory_limit = memory_limit, .n_threads = n_threads};
    lud_error inner = {0};
    const lud_status status = lud_statespace_build(scenario->inner->model, &options, &s->inner, &inner);
    if (status)
        ludus_statespace_free(s);
    else
        *space = s;
    return ludus_lift(status, &inner, error);
}

ludus_status ludus_statespace_get_info(const ludus_statespace *space, ludus_statespace_info *info) {
    LUDUS_REQUIRE(space && info, NULL);
    const lud_statespace *s = space->inner;
    *info = (ludus_statespace_info){.n_states = s->n_states,
                                    .n_transitions = s->n_transitions,
                                    .n_terminal = s->n_terminal,
                                    .n_joint_actions = s->n_joint_actions,
                                    .n_layers = s->n_layers,
                                    .layer_begin = s->layer_begin,
                                    .states = s->states};
    return LUDUS_OK;
}

ludus_status ludus_statespace_matrix(const ludus_statespace *space, int32_t joint_action, int64_t *offsets,
                                     uint32_t *successors, double *probabilities, ludus_error *error) {
    LUDUS_REQUIRE(space && offsets, error);
    LUDUS_REQUIRE(joint_action >= 0 && joint_action < space->inner->n_joint_actions, error);
    int64_t at = 0;
    for (uint64_t s = 0; s < space->inner->n_states; s++) {
        const lud_statespace_row row = lud_statespace_get_row(space->inner, s, joint_action);
        offsets[s] = at;
        if (successors) memcpy(successors + at, row.successor, row.n * sizeof *successors);
        if (probabilities) memcpy(probabilities + at, row.probability, row.n * sizeof *probabilities);
        at += row.n;
    }
    offsets[space->inner->n_states] = at;
    return ludus_lift(LUD_OK, NULL, error);
}

uint64_t ludus_statespace_find(const ludus_statespace *space, const uint8_t *state) {
    if (!space || !state) return UINT64_MAX;
    const uint32_t found = lud_statespace_find(space->inner, state);
    return found == UINT32_MAX ? UINT64_MAX : found;
}

/* ---- solutions ---- */

void ludus_solution_free(ludus_solution *solution) {
    if (!solution) return;
    lud_empo_solution_close(solution->inner);
    free(solution);
}

static ludus_status wrap(const char *path, lud_status status, const lud_error *inner_error,
                         lud_empo_solution *inner, ludus_solution **solution, ludus_error *error) {
    if (status) return ludus_lift_from(path, status, inner_error, error);
    if (!(*solution = calloc(1, sizeof **solution))) {
        lud_empo_solution_close(inner);
        return ludus_no_memory(error);
    }
    (*solution)->inner = inner;
    return ludus_lift(LUD_OK, NULL, error);
}

ludus_status ludus_solve(const ludus_scenario *scenario, const char *run, uint64_t memory_limit,
                         int n_threads, ludus_solution **solution, ludus_error *error) {
    LUDUS_REQUIRE(solution, error);
    *solution = NULL;
    LUDUS_REQUIRE(scenario && run && n_threads >= 0 && n_threads <= 4096, error);
    const lud_empo_solve_options options = {.run = run, .memory_limit = memory_limit, .n_threads = n_threads};
    lud_empo_solution *inner = NULL;
    lud_error inner_error = {0};
    lud_empo_case solved;
    lud_status status = lud_empo_case_open(scenario->inner, &options, &solved, &inner_error);
    if (!status) {
        status = lud_empo_case_solve(&solved, &options, &inner, &inner_error);
        lud_empo_case_close(&solved);
    }
    return wrap(run, status, &inner_error, inner, solution, error);
}

ludus_status ludus_solution_open(const ludus_scenario *scenario, const char *run, ludus_solution **solution,
                                 ludus_error *error) {
    LUDUS_REQUIRE(solution, error);
    *solution = NULL;
    LUDUS_REQUIRE(scenario && run, error);
    lud_empo_solution *inner = NULL;
    lud_error inner_error = {0};
    lud_text path = {0};
    lud_text_append(&path, "%s/solution.empo", run);
    lud_status status = path.failed ? lud_out_of_memory(&inner_error)
                                    : lud_empo_solution_open(path.bytes, &inner, &inner_error);
    if (!status && inner->header->state_bytes != scenario->inner->model->layout.state_bytes) {
        lud_empo_solution_close(inner);
        status = lud_invalid(&inner_error, "%s: not a solution of this scenario", path.bytes);
    }
    const ludus_status wrapped =
        wrap(path.failed ? run : path.bytes, status, &inner_error, inner, solution, error);
    lud_text_free(&path);
    return wrapped;
}

ludus_status ludus_solution_get_info(const ludus_solution *solution, ludus_solution_info *info) {
    LUDUS_REQUIRE(solution && info, NULL);
    const lud_empo_solution *s = solution->inner;
    const lud_empo_header *h = s->header;
    *info = (ludus_solution_info){.n_states = h->n_states,
                                  .n_humans = (int)h->n_humans,
                                  .n_robots = (int)h->n_robots,
                                  .n_goals = (int)h->n_goals,
                                  .n_robot_actions = (int)h->n_robot_actions,
                                  .records = s->records,
                                  .stride = h->record_doubles,
                                  .v_r = (int)h->v_r,
                                  .u_r = (int)h->u_r,
                                  .x_h = (int)h->x_h,
                                  .v_h_e = (int)h->v_h_e,
                                  .v_h_m = (int)h->v_h_m,
                                  .q_r = (int)h->q_r,
                                  .pi_r = (int)h->pi_r,
                                  .policies = (int)h->policies,
                                  .n_policies = (int)h->n_policies,
                                  .states = s->states};
    return LUDUS_OK;
}
