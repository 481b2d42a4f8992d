/* What stands behind the handles of include/ludus/ludus.h, and how internal errors become public ones. */
#pragma once

#include <ludus/ludus.h>

#include "agents/cast.h"
#include "base/text.h"
#include "sim/batch.h"
#include "sim/scenario.h"

struct ludus_scenario {
    lud_scenario *inner;
    int max_actions, max_continuous; /* of an agent */
};

struct ludus_batch {
    const ludus_scenario *scenario;
    lud_batch *inner;
    uint64_t *seeds;                 /* [n_envs], or null */
    uint8_t *final_states;           /* [n_envs][state_bytes] */
    uint8_t *terminated, *truncated; /* [n_envs] where the caller gives no arrays */
};

/* Fills *error (null is allowed) from an internal one and returns its status. */
ludus_status ludus_lift(lud_status status, const lud_error *inner, ludus_error *error);
/* The same of a call that was given a path: where the message begins with that alone, it is error->file. */
ludus_status ludus_lift_from(const char *path, lud_status status, const lud_error *inner, ludus_error *error);
/* LUDUS_ERROR_INPUT with a message (printf format). */
ludus_status ludus_invalid(ludus_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* LUDUS_ERROR_MEMORY. */
ludus_status ludus_no_memory(ludus_error *error);
/* The text's bytes, for the caller to keep; *out is null and the status says why where that fails. */
ludus_status ludus_take_text(lud_text *text, char **out, ludus_error *error);

/* Lets this thread compute with as many threads as the scenario (null: no other) says, and returns how many
 * it had, which it is given back: the number is the caller's own, who may use OpenMP besides. */
int ludus_take_threads(const lud_scenario *scenario);
void ludus_give_threads(int before);

/* The first agent whose choice, of choices[n_agents], it does not have; -1: there is none. */
int ludus_wrong_choice(const lud_layout *layout, const int32_t *choices);

/* Leaves the function unless `condition` holds: what a caller must not give. */
#define LUDUS_REQUIRE(condition, error)                                                                      \
    do {                                                                                                     \
        if (!(condition)) return ludus_invalid(error, "%s: expected %s", __func__, #condition);              \
    } while (0)

/* A RUN's agents, or with null those that the scenario names. */
ludus_status ludus_open_cast(const ludus_scenario *scenario, const char *run, lud_cast **cast,
                             ludus_error *error);
