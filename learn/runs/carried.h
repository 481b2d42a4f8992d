/* The files that a RUN takes along: what its scenario names lies in RUN/files, and the RUN's scenario.yaml
 * names the copies, so that the folder is whole wherever it is moved. */
#pragma once

#include "sim/scenario.h"

typedef struct lud_carried {
    lud_arena *arena;
    struct lud_carried_item {
        const char *from; /* absolute */
        const char *name; /* in RUN/files */
        lud_option_names kind;
        const char *parameters; /* of a RUN that is named by a file of its parameters; null: by its folder */
    } * items;                  /* [n] */
    int n, capacity;
} lud_carried;

/* Finds what the effective configuration `root` of a scenario names (by the tables of its world and of its
 * learner, null: it has none, and in `policies`), and replaces the names in it by those of the copies,
 * `files/NAME`; of a RUN that is named by a file of its parameters `files/NAME/FILE`. With `resume`, what
 * lies in the folder's files as it is keeps its name there, and nothing else is overwritten. What is nowhere
 * keeps its name. Free with lud_carried_free, also on failure. */
lud_status lud_carried_plan(const lud_scenario *scenario, const lud_option_table *learner, const char *folder,
                            bool resume, lud_tree *root, lud_carried *carried, lud_error *error);
/* Copies all of them into a folder, which is made when there is something to copy. */
lud_status lud_carried_copy(const lud_carried *carried, const char *folder, lud_error *error);
void lud_carried_free(lud_carried *carried);
