/* What the networks say of states: their worth at the rim of what was met (learn/empo/met/met.h). */
#pragma once

#include "base/ranks/divide.h"
#include "learn/empo/met/met.h"
#include "learn/empo/targets/values.h"

typedef struct lud_empo_asker {
    lud_empo_values *values; /* its target networks answer */
    lud_empo_met *met;
    int n_shares;    /* that many states are cut into, */
    int64_t at_once; /* so many at a time */
    lud_arrays arrays;
    int32_t *record;               /* [LUD_EMPO_ASKED][words] of a stretch of the states */
    const int32_t **records;       /* [LUD_EMPO_ASKED] */
    const uint8_t **states;        /* [at_once] */
    const uint8_t *const *in_hand; /* states of the call at hand */
    uint8_t *levels;               /* [at_once][state_bytes] states of the table at levels */
    int64_t room_rim;              /* successors at the rim: */
    uint32_t *rim;                 /* [room_rim] */
    int *rim_level;                /* [room_rim] */
    float *v_h_e, *v_r;            /* [at_once][n_goals], [at_once] of the last call */
} lud_empo_asker;

enum { LUD_EMPO_ASKED = 512 }; /* at once, of a share */

/* Values and table outlive it. What is asked of many met states is cut into shares, which processes divide
 * among themselves. False when memory is out; freeing is safe in any case. */
bool lud_empo_asker_create(lud_empo_values *values, lud_empo_met *met, int n_shares, lud_empo_asker *asker);
/* Safe on a zeroed struct. */
void lud_empo_asker_free(lud_empo_asker *asker);
/* V_h^e and V_r of n <= LUD_EMPO_ASKED states, into the asker's arrays, by every process for itself. The
 * network of V_r says what each remaining step is worth; V_r is that of all of them; where networks add to
 * what paths make of a state, that counts as much as lud_empo_met_belief says. */
lud_status lud_empo_ask(lud_empo_asker *asker, int64_t n, const uint8_t *const *states, lud_error *error);
/* Any number of met states at the rim, at their knots; they take on what is said. This and the next are
 * called by all processes together. */
lud_status lud_empo_ask_nodes(lud_empo_asker *asker, int64_t n, const uint32_t *nodes, lud_error *error);
/* What follows n expanded states, each at one level: successors at the rim that are not unlikely
 * (lud_empo_met_likely) take on what is said today where these states read it. *shares (may be null): the sum
 * over states of the share of these successors that the table answers for. */
lud_status lud_empo_ask_after(lud_empo_asker *asker, int64_t n, const int64_t *nodes, const int *levels,
                              double *shares, lud_error *error);
/* Sets wanted[node] of those that would be asked about after an expanded state, where it most likely
 * occurs. */
void lud_empo_mark_asked_after(const lud_empo_asker *asker, int64_t expanded, uint8_t *wanted);
