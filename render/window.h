/* The viewer in a window. */
#pragma once

#include "render/viewer/viewer.h"

typedef struct lud_window_report {
    double first_frame_seconds; /* from the call to the first picture on the screen */
    int64_t frames;
} lud_window_report;

/* Whether there is a display to open a window on; LUD_ERROR_UNSUPPORTED as lud_view says it. */
lud_status lud_window_check(lud_error *error);
/* Opens a window and runs until it is closed. Without a display: LUD_ERROR_UNSUPPORTED with a message that
 * names `ludus record`. `report` may be null. */
lud_status lud_view(const lud_view_options *options, lud_window_report *report, lud_error *error);
