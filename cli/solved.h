/* A RUN folder with an exact solution: who acts on it, and what it shows of a state. */
#ifndef LUDUS_CLI_SOLVED_H
#define LUDUS_CLI_SOLVED_H

#include <jansson.h>

#include "agents/cast.h"
#include "learn/empo/exact/solution.h"
#include "render/overlay.h"
#include "sim/scenario.h"

/* Opens PATH/solution.empo. *solution stays null when the path is not a folder or has no solution in it. */
lud_status lud_solved_open(const char *path, lud_empo_solution **solution, lud_error *error);
/* The same where a missing solution is an error. */
lud_status lud_solved_require(const char *run, lud_empo_solution **solution, lud_error *error);
/* Lets everybody act on the solution, which must outlive the cast. A null solution changes nothing. */
lud_status lud_solved_cast(const lud_empo_solution *solution, const lud_scenario *scenario, lud_cast *cast,
                           lud_error *error);
/* Header, parameters and the start of a solution in words, and as JSON (an infinite beta_h as the largest
 * double; null when memory is out). */
void lud_solved_print(const lud_empo_solution *solution);
json_t *lud_solved_json(const lud_empo_solution *solution);
/* Where an overlay finds a state's record, laid out as in an exact solution; null: nothing is known. */
typedef struct lud_state_records {
    void *context;
    const double *(*of)(void *context, const uint8_t *state);
    void (*destroy)(void *context); /* may be null */
} lud_state_records;
/* V_h^e, policies, X_h, U_r, V_r and pi_r from such records, which it takes over, also when it fails. */
lud_status lud_records_overlay(lud_state_records records, const lud_model *model, lud_overlay_source **source,
                               lud_error *error);
/* V_h^e, policies, X_h, U_r, V_r and pi_r of the solution, which must outlive the source. */
lud_status lud_solved_overlay(const lud_empo_solution *solution, const lud_model *model,
                              lud_overlay_source **source, lud_error *error);

#endif
