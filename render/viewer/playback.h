/* Time: whether and how fast the episode plays, and how far the motion of the last step is. */
#pragma once

#include <stdbool.h>

typedef struct lud_playback {
    bool playing;
    double speed;      /* steps a second */
    double since_step; /* seconds since the present state was reached by a step; infinity: it was jumped to */
    double clock;      /* seconds in all */
} lud_playback;

/* The motion to be drawn, see lud_moment. */
typedef struct lud_phase {
    bool moving;
    float progress; /* 0..1 of the step, before easing */
    float glow;
} lud_phase;

void lud_playback_toggle(lud_playback *playback);
void lud_playback_change_speed(lud_playback *playback, double factor);
/* The present state was jumped to: nothing moves. */
void lud_playback_jump(lud_playback *playback);
void lud_playback_update(lud_playback *playback, double seconds);
/* Whether it is time for a step. *rest gets the seconds that have passed since that time. */
bool lud_playback_due(const lud_playback *playback, double *rest);
lud_phase lud_playback_phase(const lud_playback *playback, bool motion);
