/* `ludus eval A B --cross`: who plays which role against whom, as tables. */
#pragma once

#include "cli/cli.h"

typedef struct lud_cross_request {
    const char *const *players; /* [n_players] the first is a RUN or the scenario that is played */
    int n_players;
    const lud_scenario_flags *scenario;
    const char *sides, *output; /* null: not given */
    int64_t episodes;           /* 0: not given */
    bool json;
} lud_cross_request;

lud_status lud_cross_report(const lud_cross_request *request, lud_error *error);
