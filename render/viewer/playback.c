#include "render/viewer/playback.h"

#include <math.h>

void lud_playback_toggle(lud_playback *p) {
    p->playing = !p->playing;
    if (p->playing) p->since_step = 1 / p->speed; /* the first step comes at once */
}

void lud_playback_change_speed(lud_playback *p, double factor) {
    p->speed = fmin(fmax(p->speed * factor, 0.25), 256);
}

void lud_playback_jump(lud_playback *p) {
    p->since_step = INFINITY;
}

void lud_playback_update(lud_playback *p, double seconds) {
    p->clock += seconds;
    p->since_step += seconds;
}

bool lud_playback_due(const lud_playback *p, double *rest) {
    double one = 1 / p->speed;
    if (!p->playing || p->since_step < one) return false;
    /* after a pause of the machine itself do not run after the lost time */
    *rest = isinf(p->since_step) || p->since_step > 64 * one ? 0 : p->since_step - one;
    return true;
}

lud_phase lud_playback_phase(const lud_playback *p, bool motion) {
    float step = 1 / (float)p->speed, t = 1;
    if (!p->playing) step = fminf(step, 0.3f);
    if (!isinf(p->since_step)) t = (float)p->since_step / step;
    bool moving = motion && t < 1 && p->speed <= 32;
    float after_middle = (float)p->since_step - (moving || t >= 1 ? 0.5f * step : 0);
    return (lud_phase){.moving = moving,
                       .progress = moving ? t : 1,
                       .glow =
                           isinf(p->since_step) || after_middle < 0 ? 0 : fmaxf(0, 1 - after_middle / 0.3f)};
}
