/* A solution and its states in words and as JSON. */
#pragma once

#include "base/text.h"
#include "learn/empo/exact/solution.h"

struct json_t;

/* V_r, U_r, every person's power and goals, and the robots' policy from a state's record. */
void lud_empo_report_print(const lud_model *model, const lud_empo_layout *layout, const double *record,
                           lud_text *out);
struct json_t *lud_empo_report_json(const lud_model *model, const lud_empo_layout *layout,
                                    const double *record);
/* Header, parameters and the start of a solution in words, and as JSON (an infinite beta_h as the largest
 * double; null when memory is out). */
void lud_empo_report_solution(const lud_empo_solution *solution, lud_text *out);
struct json_t *lud_empo_report_solution_json(const lud_empo_solution *solution);
