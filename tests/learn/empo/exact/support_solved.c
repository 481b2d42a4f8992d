#include "learn/empo/exact/support_solved.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/exact/solution.h"

const lud_empo_theory support_theory = {.beta_h = 5,
                                        .gamma_h = 0.95,
                                        .rho_h = -1,
                                        .gamma_r = 0.9,
                                        .rho_r = -1,
                                        .beta_r = 3,
                                        .zeta = 2,
                                        .xi = 1,
                                        .eta = 1.1,
                                        .terminal_value = -1e-10};

support_solved support_solve(uint64_t seed, int n_humans, int n_robots, bool skips) {
    support_solved s = {.m = table_world_random(seed, n_humans, n_robots, 3, 6, 12, skips)};
    lud_error error = {0};
    lud_status status = lud_statespace_build(&s.m->base, &(lud_statespace_options){0}, &s.space, &error);
    if (!status) status = lud_empo_problem_create(s.space, &support_theory, &s.problem, &error);
    if (status) fail_msg("%s", error.text);
    s.records = calloc(s.space->n_states * (uint64_t)s.problem->layout.record_doubles, sizeof(double));
    lud_empo_run run = {.records = s.records, .first_level = INT32_MAX};
    if (lud_empo_solve(s.problem, &run, &error)) fail_msg("%s", error.text);
    return s;
}

void support_release(support_solved *s) {
    free(s->records);
    lud_empo_problem_destroy(s->problem);
    lud_statespace_destroy(s->space);
    free(s->m);
}

void support_write(const support_solved *s, const char *path) {
    lud_empo_solution *solution = NULL;
    lud_error error = {0};
    lud_status status = lud_empo_solution_create(path, s->problem, false, &solution, &error);
    if (!status) {
        memcpy(solution->records, s->records,
               s->space->n_states * solution->header->record_doubles * sizeof(double));
        status = lud_empo_solution_commit(solution, NULL, &error);
    }
    if (status) fail_msg("%s", error.text);
    lud_empo_solution_close(solution);
}

void support_assert_close(double got, double expected) {
    if (!(fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("got %.17g, expected %.17g", got, expected);
}
