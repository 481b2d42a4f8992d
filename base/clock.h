/* A monotonic clock. */
#pragma once

/* Seconds since an arbitrary fixed moment; never runs backwards. */
double lud_clock_seconds(void);
