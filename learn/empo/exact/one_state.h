/* One state of an exact EMPO sweep: from the credits of its successors to its record and its own row of
 * credits. Every sweep on the processors solves its states here, so their results are the same bytes. */
#pragma once

#include "learn/empo/equations.h"
#include "learn/empo/exact/exact.h"

/* One thread's working memory. */
typedef struct lud_empo_state_scratch {
    lud_empo_scratch equations;
    lud_statespace_row *rows; /* [n_joint_actions] the caller's: successors by the numbers of credit rows */
    uint8_t *achieved;        /* [n_goals] */
    double *belief;           /* [n_beliefs] */
    double *habit;            /* [n_policies] */
    double *robot;            /* [n_robot_actions] */
} lud_empo_state_scratch;

/* False when memory is out; it is the arena's. */
bool lud_empo_state_scratch_take(const lud_empo_game *game, lud_arena *arena,
                                 lud_empo_state_scratch *scratch);

/* Credits: what states are worth to those before them, rows of game.width. */
typedef struct lud_empo_credits {
    const double *rows;
    lud_empo_window window;
    uint64_t first, first_row; /* a state at or before all successors, not window.rows before any; its row */
} lud_empo_credits;

/* Solves the state with this number into its record, from scratch->rows where it is not terminal, and writes
 * its own row of credits. Returns the person without power, -1: all have some. */
int lud_empo_state_solve(const lud_empo_problem *problem, const lud_empo_hooks *hooks,
                         const lud_empo_game *game, const lud_empo_credits *credits, uint64_t index,
                         const uint8_t *state, bool terminal, lud_empo_state_scratch *scratch, double *record,
                         double *credit);
/* The row of credits of a state whose record is known. */
void lud_empo_state_recall(const lud_empo_problem *problem, const lud_empo_game *game, const uint8_t *state,
                           lud_empo_state_scratch *scratch, const double *record, double *credit);

/* The lowest state of a level at which a person has no power, whatever order its threads came in. */
typedef struct lud_empo_powerless {
    uint64_t state; /* UINT64_MAX: none */
    int human;
} lud_empo_powerless;

#define LUD_EMPO_NONE_POWERLESS ((lud_empo_powerless){UINT64_MAX, -1})

/* `human` as lud_empo_state_solve returns it; several threads may call it at once. */
void lud_empo_powerless_note(lud_empo_powerless *lowest, uint64_t state, int human);
