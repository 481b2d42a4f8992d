/* States as the neural EMPO learner keeps them: compact records without any reference to the world.
 *
 * A record is `words` 32-bit words: 4 global features, 13 features an agent, 96 of buttons and switches (left
 * out when no map of the model has any), one grid word a cell. Everything networks, tables and goal tests
 * need is in it. */
#pragma once

#include "learn/empo/layout.h"
#include "sim/multigrid/grid_model.h"

typedef struct lud_empo_features {
    const lud_grid_model *grid;
    lud_empo_layout layout;
    bool step_count;   /* remaining steps are part of the record, else 0 stands there */
    bool interactive;  /* the 96 words are there */
    int height, width; /* of the grid */
    int agents_at, interactive_at, grid_at, words; /* offsets in a record, and its length */
    int place[LUD_EMPO_MAX_AGENTS];                /* row of an agent among the agents' features */
    int32_t *goals;      /* [layout.n_goals][4] x1, y1, x2, y2 of every person's goals */
    double *goal_weight; /* [layout.n_goals] */
    double *weight_sum;  /* [n_humans] */
} lud_empo_features;

/* LUD_ERROR_UNSUPPORTED for worlds other than multigrid. The model must outlive it. */
lud_status lud_empo_features_create(const lud_model *model, bool step_count, lud_empo_features *features,
                                    lud_error *error);
/* Safe on a zeroed struct. */
void lud_empo_features_free(lud_empo_features *features);

/* Whether record[words] from elsewhere can be one: numbers that are finite and of a size that positions and
 * counts can have, words that say what a cell can hold. */
bool lud_empo_features_is_record(const lud_empo_features *features, const int32_t *record);
/* record[words] */
void lud_empo_features_encode(const lud_empo_features *features, const uint8_t *state, int32_t *record);
/* The 13 features of an agent in a record. */
const float *lud_empo_features_agent(const lud_empo_features *features, const int32_t *record, int agent);
/* Cell of an agent, height * width when it is not on the grid. */
int32_t lud_empo_features_cell(const lud_empo_features *features, const int32_t *record, int agent);
/* Whether goal `goal` of person h (both counted within the layout) is achieved. */
bool lud_empo_features_achieved(const lud_empo_features *features, const int32_t *record, int h, int goal);
/* The smallest weight of a goal that anybody pursues; infinite: there is none. */
double lud_empo_features_least_weight(const lud_empo_features *features);
/* A goal of person h with probability in proportion to its weight, from a uniform number in [0, 1). */
int lud_empo_features_draw_goal(const lud_empo_features *features, int h, double uniform);
