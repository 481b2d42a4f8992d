/* `ludus view` of a data set: its episodes for the viewer, and what was recorded beside them as bars. */
#pragma once

#include "agents/overlay_source.h"
#include "learn/episodes/data_set.h"
#include "render/episode.h"

typedef struct lud_data_view {
    lud_episode_source source; /* stands first */
    lud_data_set *set;
    const lud_data_info *info;
    int64_t episode; /* the loaded one; -1: none */
    uint8_t *states;
    int32_t *actions;
    float *log_probs, *rewards;
    size_t last; /* row that was asked for last */
} lud_data_view;

/* Opens a data set whose episodes can be played again. */
lud_status lud_data_view_open(const char *path, lud_data_view *view, lud_error *error);
/* A zeroed one is allowed. */
void lud_data_view_close(lud_data_view *view);
/* The probabilities with which each agent's action was drawn in a state of the loaded episode, as bars; null
 * where the file knows none. The view must outlive it. */
lud_status lud_data_view_overlay(lud_data_view *view, lud_overlay_source **overlay, lud_error *error);
