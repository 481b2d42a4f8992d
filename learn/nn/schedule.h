/* Values that change with the step count: learning rates, exploration chances, exponents. */
#pragma once

#include <stdint.h>

typedef enum lud_schedule_kind {
    LUD_SCHEDULE_CONSTANT,     /* start */
    LUD_SCHEDULE_LINEAR,       /* start -> end, straight, over `length` steps */
    LUD_SCHEDULE_COSINE,       /* start -> end, half a cosine wave over `length` steps */
    LUD_SCHEDULE_EXPONENTIAL,  /* start -> end, by a constant factor per step, over `length` steps */
    LUD_SCHEDULE_INVERSE,      /* start t0 / t where t0 = warmup + hold */
    LUD_SCHEDULE_INVERSE_SQRT, /* start sqrt(t0 / t) */
    LUD_SCHEDULE_KINDS
} lud_schedule_kind;

/* Three parts, in steps: a linear warm-up, a hold at `start`, then the decay of the kind. */
typedef struct lud_schedule {
    lud_schedule_kind kind;
    double start,
        end; /* `end` is unused by constant and the two inverse kinds; EXPONENTIAL needs both positive */
    double warmup; /* steps over which the value rises from start / warmup to start */
    double hold;   /* steps at `start` after the warm-up */
    double length; /* steps of the decay of the bounded kinds; 0 jumps to `end` */
} lud_schedule;

/* The value at `step`, the number of steps already done (0 for the first). */
double lud_schedule_at(const lud_schedule *schedule, double step);
