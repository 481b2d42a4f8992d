/* A state of an EMPO solution in words and as JSON. */
#ifndef LUDUS_CLI_EMPO_REPORT_H
#define LUDUS_CLI_EMPO_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "learn/empo/layout.h"

/* V_r, U_r, every person's power and goals, and the robots' policy from a state's record. */
void lud_empo_report_print(const lud_model *model, const lud_empo_layout *layout, const double *record,
                           FILE *out);
json_t *lud_empo_report_json(const lud_model *model, const lud_empo_layout *layout, const double *record);
/* "forward", or "forward+left" for two robots; "-" without robots. Returns text. */
const char *lud_empo_robot_name(const lud_model *model, const lud_empo_layout *layout, int number,
                                char text[256]);

#endif
