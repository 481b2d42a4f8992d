/* Rows of the particle section's tables as the option reader leaves them. Internal to sim/particle. */
#pragma once

#include "sim/particle/particle_model.h"

typedef struct particle_paint {
    const char *choice;
    double scale, offset;
    int of; /* 0 the agent's own choice, 1 the next agent's */
} particle_paint;

typedef struct particle_wall_row {
    int orientation; /* 0 horizontal, 1 vertical */
    double at, from, to, width;
    bool hard;
} particle_wall_row;

typedef struct particle_view_row {
    int term;
    lud_tree *of, *only, *hidden_in;
    int64_t nearest;
    double within;
    bool when;
} particle_view_row;

typedef enum particle_share { SHARE_NONE, SHARE_SUM, SHARE_MEAN } particle_share;
typedef enum particle_scope { SCOPE_ALL, SCOPE_LOCAL, SCOPE_GLOBAL } particle_scope;

typedef struct particle_reward_row {
    const char *name;
    int term, over_from, over_to, share, scope;
    lud_tree *receivers, *from, *to;
    int64_t power;
    double within, beyond, weight, cost;
    bool when;
} particle_reward_row;

typedef struct particle_success_row {
    lud_tree *every, *reaches;
    double within;
    bool terminate;
} particle_success_row;

extern const lud_option_table lud_particle_paint_table;
extern const char *const lud_particle_reward_term_names[];

/* Reads the rows of a list (null: none) into an array of table->bytes each, in the model's arena. */
lud_status lud_particle_read_rows(lud_particle_model *model, const lud_option_table *table, lud_tree *list,
                                  void **rows, int *n, lud_error *error);

/* What a selector (a name or a list of names) stands for from an agent's point of view; perspective -1:
 * nobody's, then self, other and choices per agent are errors. `tree` null: `otherwise` (may be null: the
 * empty set). A body may stand in a set only once. */
lud_status lud_particle_select(lud_particle_model *model, const lud_tree *tree, const char *otherwise,
                               int perspective, particle_set *set, lud_error *error);

/* Success and rewards need entities and choices; views need the layout of rows too. */
lud_status lud_particle_compile_success(lud_particle_model *model, lud_error *error);
lud_status lud_particle_compile_rewards(lud_particle_model *model, lud_error *error);
lud_status lud_particle_compile_views(lud_particle_model *model, lud_error *error);
