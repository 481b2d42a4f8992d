/* The successors of a block of states, as its caller's thread lists them: row after row, in the order of
 * joint actions, with the tags by which a state table finds them. */
#pragma once

#include "sim/world.h"

typedef struct lud_expansion {
    const lud_model *model;
    int32_t n_joint_actions;
    uint64_t block_states; /* at most so many states at once */
    uint64_t n_states;     /* of the present block */
    uint32_t *row_count;   /* [n_states][n_joint_actions] successors of each row; 0 in terminal states */
    size_t n_records;
    uint8_t *records;                    /* [n_records][state_bytes] */
    uint32_t *tags;                      /* [n_records] */
    uint32_t *numbers;                   /* [n_records] for whoever looks them up */
    size_t n_branches, n_branch_records; /* rows of several successors, and these */
    double *probability;                 /* [n_branch_records] of such rows, one behind the other */
    uint64_t n_terminal;
    size_t record_capacity, probability_capacity;
    int32_t *joint_action;              /* [n_agents] */
    lud_successors successors, scratch; /* of a state, all joint actions; of one */
} lud_expansion;

/* States of a block whose successors stay in a processor's cache, about. */
uint64_t lud_expansion_block(int32_t n_joint_actions);
/* Takes the memory for blocks of at most block_states; free with lud_expansion_free, also on failure. */
lud_status lud_expansion_create(lud_expansion *expansion, const lud_model *model, int32_t n_joint_actions,
                                uint64_t block_states, lud_error *error);
void lud_expansion_free(lud_expansion *expansion);
/* Makes room for `more` records behind those that are there. */
lud_status lud_expansion_reserve(lud_expansion *expansion, size_t more, lud_error *error);
/* Lists the successors of states[n][state_bytes]. Fails only when memory is out. */
lud_status lud_expansion_list(lud_expansion *expansion, const uint8_t *states, uint64_t n, lud_error *error);
/* Memory of its buffers. */
uint64_t lud_expansion_bytes(const lud_expansion *expansion);
