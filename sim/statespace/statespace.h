/* The exact reachable set of a model: every state, every joint action, every successor.
 *
 * States are found by layers of equal distance from the start and numbered by layer, then (within a layer) in
 * the order of their bytes, so numbers do not depend on the number of threads or on chance.
 *
 * Successors are the rows of a sparse matrix, one row for each (state s, joint action k). Most rows of most
 * worlds have one successor with probability 1, so a row is one 32-bit word: the successor itself, or the
 * number of a branch. A branch has a list of successors and a distribution; few distributions differ, so each
 * different one is kept once. lud_statespace_row hides this and gives every row as two arrays. Words,
 * branches and their successors lie in row order, so a sweep over a layer reads memory in sequence. */
#pragma once

#include <stdio.h>

#include "sim/large_array.h"
#include "sim/world.h"

/* A row word below LUD_ROW_BRANCH is the only successor; LUD_ROW_NONE: no successor (terminal state);
 * otherwise LUD_ROW_BRANCH + the number of a branch. */
#define LUD_ROW_BRANCH 0x80000000u
#define LUD_ROW_NONE   0xffffffffu

typedef struct lud_statespace_options {
    const uint8_t *starts; /* [n_starts][state_bytes]; null: the model's reset state of environment 0 */
    int n_starts;
    uint64_t seed;         /* key of that reset */
    uint64_t memory_limit; /* bytes; 0: three quarters of the machine's free memory */
    const char *folder;    /* what would pass the limit goes to nameless files here; null: is an error */
    uint64_t max_states;   /* 0: 2^31 - 2 */
    int n_threads;         /* 0: OpenMP's default */
    FILE *progress;        /* where progress is shown, or null */
} lud_statespace_options;

/* The arrays that may lie in files, in the order in which they leave memory: what is read in turn first. */
typedef enum lud_statespace_array {
    LUD_ARRAY_ROWS,
    LUD_ARRAY_SUCCESSOR,
    LUD_ARRAY_BRANCH_BEGIN,
    LUD_ARRAY_BRANCH_KIND,
    LUD_ARRAY_STATES,
    LUD_STATESPACE_ARRAYS
} lud_statespace_array;

typedef struct lud_statespace {
    const lud_model *model;
    size_t state_bytes;
    int32_t n_joint_actions;
    uint64_t n_states;
    uint8_t *states; /* [n_states][state_bytes] */
    int n_layers;
    uint64_t *layer_begin; /* [n_layers + 1] index of each layer's first state */
    uint64_t n_terminal;   /* states without successors */

    uint32_t *rows; /* [n_states][n_joint_actions] words, see above */
    uint64_t n_branches;
    uint64_t *branch_begin; /* [n_branches + 1] into `successor` */
    uint32_t *branch_kind;  /* [n_branches] number of the branch's distribution */
    uint64_t n_successors;  /* of all branches */
    uint32_t *successor;    /* [n_successors] state index */
    uint32_t n_distributions;
    uint64_t *distribution_begin; /* [n_distributions + 1] into `probability` */
    double *probability;          /* positive, sum 1 in each distribution */

    uint64_t n_transitions; /* entries of all rows: single successors and branches' together */
    uint64_t bytes;         /* memory held, files not counted */
    uint64_t file_bytes;    /* held in files */
    uint64_t peak_bytes;    /* memory held at most while building */
    double seconds;
    struct lud_state_table *table;                 /* from state bytes to state index */
    lud_large_array arrays[LUD_STATESPACE_ARRAYS]; /* what the pointers above point into */
} lud_statespace;

/* One row: n successors with their probabilities, in the order in which the world lists them. */
typedef struct lud_statespace_row {
    uint32_t n;
    const uint32_t *successor;
    const double *probability;
} lud_statespace_row;

static inline lud_statespace_row lud_statespace_get_row(const lud_statespace *space, uint64_t state,
                                                        int32_t joint_action) {
    static const double certain = 1;
    const uint32_t *word = &space->rows[state * (uint64_t)space->n_joint_actions + (uint64_t)joint_action];
    if (*word < LUD_ROW_BRANCH) return (lud_statespace_row){1, word, &certain};
    if (*word == LUD_ROW_NONE) return (lud_statespace_row){0, word, &certain};
    uint32_t branch = *word - LUD_ROW_BRANCH;
    uint64_t begin = space->branch_begin[branch];
    return (lud_statespace_row){(uint32_t)(space->branch_begin[branch + 1] - begin), space->successor + begin,
                                space->probability + space->distribution_begin[space->branch_kind[branch]]};
}

/* A state without successors. */
static inline bool lud_statespace_terminal(const lud_statespace *space, uint64_t state) {
    return space->rows[state * (uint64_t)space->n_joint_actions] == LUD_ROW_NONE;
}

/* Builds it; the same with and without files. LUD_ERROR_MEMORY or LUD_ERROR_LIMIT with the count reached when
 * a limit is met; LUD_ERROR_UNSUPPORTED when the world has no successors; LUD_INTERRUPTED on Ctrl-C. */
lud_status lud_statespace_build(const lud_model *model, const lud_statespace_options *options,
                                lud_statespace **space, lud_error *error);
void lud_statespace_destroy(lud_statespace *space);
/* Whether so many states, with at most so many new ones beside them, and branches can be numbered;
 * LUD_ERROR_LIMIT with the count reached where not. Asked by lud_statespace_build before each round. */
lud_status lud_statespace_check_numbers(uint64_t n_states, uint64_t n_fresh, uint64_t n_branches,
                                        int n_layers, lud_error *error);
/* Index of a state, or UINT32_MAX when it is not reachable. */
uint32_t lud_statespace_find(const lud_statespace *space, const uint8_t *state);

/* A guess before building, from a random sample of states of every layer: exact while layers are no larger
 * than the sample (2048 states), low beyond (0.6 to 0.9 of the truth at a hundred times the sample, a seventh
 * at a thousand times). */
typedef struct lud_statespace_estimate {
    double states, transitions, branches;
    double bytes;      /* memory to hold the state space */
    double kept;       /* of these, what cannot go to files: the table that finds states */
    double two_layers; /* states of the two neighbouring layers that have most */
    int layers;        /* seen by the sample */
    bool exhausted;    /* the sample saw everything: figures are exact */
    bool lower_bound;  /* the sample's budget ended before the layers did */
} lud_statespace_estimate;
lud_status lud_statespace_guess(const lud_model *model, const lud_statespace_options *options,
                                lud_statespace_estimate *estimate, lud_error *error);
/* LUD_ERROR_MEMORY, with the estimate, where what is to be held in memory (with a folder for files: what has
 * to stay) would pass the options' limit: asked before building, so that nobody waits for an error. Figures
 * that are not exact may be a tenth too high. */
lud_status lud_statespace_check_memory(const lud_statespace_estimate *estimate,
                                       const lud_statespace_options *options, lud_error *error);
