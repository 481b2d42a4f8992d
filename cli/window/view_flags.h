/* The flags of `view` and `record` about how something is shown. Each stands for a key of the section `view`,
 * which it comes before, as it comes before the file of --view. */
#pragma once

#include "cli/cli.h"

enum { LUD_VIEW_FLAG_VALUES = 20 };

/* Numbers that are 0 and texts that are null were not given. */
typedef struct lud_view_flags {
    const char *view, *theme, *size, *overlay, *caption;
    double scale, speed;
    bool still, no_goals, labels, no_caption;
    struct lud_scenario_value values[LUD_VIEW_FLAG_VALUES]; /* [n_values] what they come to */
    int n_values;
    char scale_text[32], speed_text[32], size_text[32];
    int side; /* of --size N: the longer side of a world, 0: not given */
} lud_view_flags;

/* Their rows, for the lud_view_flags at a field of FLAGS. */
#define LUD_VIEW_FLAG_ROWS(field)                                                                            \
    TEXT_FLAG("view", 0, field.view, "FILE", "how it is shown, as `ludus help view` explains"),              \
        TEXT_FLAG("theme", 0, field.theme, "NAME", "light or dark (as the scenario says, else light)"),      \
        REAL_FLAG("scale", 0, field.scale, 0.5, 4, "N", "size of texts and panels"),                         \
        SWITCH_FLAG("still", 0, field.still, "no motion between states, no waves and no shimmer"),           \
        SWITCH_FLAG("no-goals", 0, field.no_goals, "do not mark what agents want"),                          \
        SWITCH_FLAG("labels", 'l', field.labels, "show agents' numbers"),                                    \
        TEXT_FLAG("overlay", 0, field.overlay, "PARTS",                                                      \
                  "of a RUN: values, arrows, bars, trace, edges (with commas), all or none (all)"),          \
        TEXT_FLAG("caption", 0, field.caption, "TEXT",                                                       \
                  "what is written below recordings; default: what the scenario is about"),                  \
        SWITCH_FLAG("no-caption", 0, field.no_caption, "nothing is written below recordings")

/* Turns the flags into overrides of the scenario, which point into them. `side`: --size N is possible. */
lud_status lud_view_flags_apply(lud_view_flags *flags, bool side, lud_scenario_flags *scenario,
                                lud_error *error);
