/* Windows on any device: the edge cases, and properties of windows over random episodes. */
#pragma once

#include "learn/episodes/pairs.h"

/* Every edge case of windows, chunks, sums and pairs; fails the test with the name of the case. */
void windows_check_edges(lud_device *device);
/* Windows of random lengths over random episodes, against a loop over single numbers: all kinds of padding,
 * rows of 1 to 24 bytes. */
void windows_check_against_loop(lud_device *device);
/* Chunks and pairs over random episodes of both layouts, every action being told apart: none that did not
 * happen between a window's observations, and as many as the realised distance says. */
void windows_check_happened(lud_device *device);

/* Gathers rows of `row_bytes` from host memory into host memory, through the device. */
void windows_gather(lud_window_set *set, int64_t n_rows, int64_t row_bytes, const void *rows,
                    lud_padding padding, const void *value, void *out);

/* Fails unless the two are at most so far apart. */
void windows_expect(double got, double expected, double most);
