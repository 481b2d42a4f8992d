#include "learn/nn/schedule.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

double lud_schedule_at(const lud_schedule *schedule, double step) {
    const double start = schedule->start, end = schedule->end;
    if (step < schedule->warmup) return start * (step + 1.0) / schedule->warmup;
    const double decay_begin = schedule->warmup + schedule->hold;
    if (schedule->kind == LUD_SCHEDULE_CONSTANT || step < decay_begin) return start;

    if (schedule->kind == LUD_SCHEDULE_INVERSE || schedule->kind == LUD_SCHEDULE_INVERSE_SQRT) {
        /* a schedule without a hold would start at infinity: step 1 counts as the beginning */
        const double t0 = fmax(decay_begin, 1.0), ratio = t0 / fmax(step, t0);
        return schedule->kind == LUD_SCHEDULE_INVERSE ? start * ratio : start * sqrt(ratio);
    }
    if (step >= decay_begin + schedule->length) return end;
    const double fraction = (step - decay_begin) / schedule->length;
    switch (schedule->kind) {
    case LUD_SCHEDULE_LINEAR:
        return start + (end - start) * fraction;
    case LUD_SCHEDULE_COSINE:
        return end + 0.5 * (start - end) * (1.0 + cos(3.14159265358979323846 * fraction));
    case LUD_SCHEDULE_EXPONENTIAL:
        assert(start > 0.0 && end > 0.0);
        return start * pow(end / start, fraction);
    default:
        assert(false); /* no such kind */
        return start;
    }
}
