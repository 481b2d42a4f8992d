/* Stability of the closed loop of a trained RUN: its policy on teams of several sizes, whichever directions
 * it takes, as a table with a verdict and as a picture. */
#ifndef LUDUS_CLI_STABILITY_REPORT_H
#define LUDUS_CLI_STABILITY_REPORT_H

#include "cli/cli.h"

/* Whether the RUN has a closed loop to judge: graph MAPPO in a particle world in which everybody has a goal.
 */
bool lud_stability_applies(const lud_scenario *scenario);
/* Prints the largest |lambda| and the gain bound of a policy with a magnitude, error norms of the closed
 * loop, and the verdict. With `plot` the comparison is written there as a PNG file, beside the RUN `against`
 * when it is given. `trained` is the RUN's own scenario, `flags` change it for the loops. With `json`, an
 * object, the same is put there as "closed_loop" and "against", with every step, and nothing is printed. */
lud_status lud_stability_report(const lud_scenario *trained, const char *folder,
                                const lud_scenario_flags *flags, const char *against, const char *plot,
                                struct json_t *json, lud_error *error);

#endif
