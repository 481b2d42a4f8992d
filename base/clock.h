/* A monotonic clock. */
#ifndef LUDUS_BASE_CLOCK_H
#define LUDUS_BASE_CLOCK_H

/* Seconds since an arbitrary fixed moment; never runs backwards. */
double lud_clock_seconds(void);

#endif
