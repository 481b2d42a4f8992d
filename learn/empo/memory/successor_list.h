/* The successors of one state under several joint actions: for each joint action a run of links (successor,
 * probability) into one list of distinct successors, each with its compact record. What an actor stores. */
#pragma once

#include "learn/empo/memory/features.h"

typedef struct lud_empo_successor_list {
    int n_links, links_capacity;
    int32_t *link;      /* [n_links] number of the successor */
    float *probability; /* [n_links] */
    int n, capacity;    /* distinct successors */
    uint8_t *states;    /* [n][state_bytes] */
    uint8_t *terminal;  /* [n] */
    int32_t *records;   /* [n][words] */
    uint64_t *hashes;   /* [n] */
    lud_successors found;
} lud_empo_successor_list;

/* Empties a list (zeroed at first); its memory stays. */
void lud_empo_successor_list_begin(lud_empo_successor_list *list);
/* Adds the links of one more joint action[n_agents]. Allocates only while the list is larger than ever. */
lud_status lud_empo_successor_list_add(lud_empo_successor_list *list, const lud_empo_features *features,
                                       const uint8_t *state, const int32_t *joint, lud_error *error);
/* Safe on a zeroed struct. */
void lud_empo_successor_list_free(lud_empo_successor_list *list);
