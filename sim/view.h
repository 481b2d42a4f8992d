/* The section `view` of a scenario: how it is shown where nobody asks for something else. A file of its own
 * (`--view FILE`) holds the same keys and comes before those of the scenario.
 *
 * The window and recordings draw from this one struct, so that both make the same pictures of it. */
#pragma once

#include "base/options/options.h"

/* Where something is shown. */
typedef enum lud_view_where {
    LUD_VIEW_USUALLY, /* where it is at home: panels in the window alone, the caption in recordings alone */
    LUD_VIEW_ALWAYS,  /* in both, whose pictures are then the same */
    LUD_VIEW_NEVER
} lud_view_where;

/* The panels beside and below the world. Heights are shares of the right column's height, 0: what a panel
 * needs. */
typedef struct lud_view_panels {
    int show;     /* lud_view_where */
    double width; /* of the right column, as a share of the picture's; 0: a third, within bounds */
    bool timeline, inspector, overlay, comparison, training;
    double overlay_height, comparison_height, training_height;
    bool inspector_folded, overlay_folded, comparison_folded, training_folded; /* their titles alone */
} lud_view_panels;

typedef struct lud_view_camera {
    double zoom;          /* 1: the whole world fits */
    lud_real_list centre; /* x and y in the world's units; empty: the middle of the world */
    bool follow;          /* the selected agent */
} lud_view_camera;

/* Parts of what a RUN's solution or learner publishes. */
typedef struct lud_view_overlay {
    bool values, arrows, bars, trace, edges;
} lud_view_overlay;

typedef struct lud_view_caption {
    int show;         /* lud_view_where */
    const char *text; /* null: what the scenario is about */
} lud_view_caption;

typedef struct lud_view_section {
    int theme; /* 0 light, 1 dark */
    double speed;
    bool motion, goals, labels, successors;
    lud_int_list size; /* width and height of the window or picture; empty: as usual */
    double scale;      /* of texts and panels; 0: as the display's density is, in pictures 1 */
    int64_t agent;     /* that is selected, -1: none */
    lud_int_list cell; /* that is selected where no agent is; empty: none */
    lud_view_panels panels;
    lud_view_camera camera;
    lud_view_overlay overlay;
    lud_view_caption caption;
} lud_view_section;
extern const lud_option_table lud_view_section_table;

/* Reads a section (null: defaults) of a world with `n_agents` agents; lists have the lengths that are
 * expected of them. */
lud_status lud_view_section_read(lud_arena *arena, lud_tree *section, lud_view_section *view,
                                 lud_error *error);
/* Whether the agent that is selected is there; `section` (may be null) tells where it was named. */
lud_status lud_view_section_check_agent(const lud_view_section *view, const lud_tree *section, int n_agents,
                                        lud_error *error);
/* The section as the text of a file for `--view`, every key with its value; lives in `arena`. */
lud_status lud_view_section_write(lud_arena *arena, const lud_view_section *view, char **text, size_t *length,
                                  lud_error *error);
/* A file for `--view` that says of panels alone how they are. */
lud_status lud_view_panels_write(lud_arena *arena, const lud_view_panels *panels, char **text, size_t *length,
                                 lud_error *error);
/* Whether recordings have the window's picture: what is fixed says where panels are. */
bool lud_view_section_is_whole(const lud_view_section *view);
