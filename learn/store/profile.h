/* Where the time of an update goes: named stages, printed as a table sorted by share. */
#pragma once

#include <stdint.h>

#include "base/text.h"

enum { LUD_PROFILE_MAX_STAGES = 24 };

/* The stages of a batched target computation, for lud_profile.stages. */
typedef enum lud_batching_stage {
    LUD_STAGE_COLLECT,    /* flattening the successors of all transitions */
    LUD_STAGE_ENCODE,     /* states to network inputs */
    LUD_STAGE_FORWARD,    /* values of all successors */
    LUD_STAGE_SCATTER,    /* sums of probability x value */
    LUD_STAGE_V_H_E,      /* targets of V_h^e */
    LUD_STAGE_CONVERSION, /* lists to arrays */
    LUD_BATCHING_STAGES
} lud_batching_stage;
extern const char *const lud_batching_stages[LUD_BATCHING_STAGES];

typedef struct lud_profile {
    const char *title;
    const char *const *stages; /* [n] names */
    int n;
    uint64_t calls;                         /* updates measured, see lud_profile_call */
    double seconds[LUD_PROFILE_MAX_STAGES]; /* per stage, all calls together */
    double started[LUD_PROFILE_MAX_STAGES];
} lud_profile;

/* A null profile measures nothing. */
void lud_profile_begin(lud_profile *profile, int stage);
void lud_profile_end(lud_profile *profile, int stage);
/* Counts one update done. */
void lud_profile_call(lud_profile *profile);
/* Forgets all measurements. */
void lud_profile_reset(lud_profile *profile);
/* Milliseconds of a stage per call; 0 before the first call. */
double lud_profile_milliseconds(const lud_profile *profile, int stage);
/* The table: stage, milliseconds per call, percent of the total; the largest first. */
void lud_profile_print(const lud_profile *profile, lud_text *out);
