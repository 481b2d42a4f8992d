/* Runs a piece of work again and again, each time with another of its allocations refused.
 *
 * Programs named test_out_of_memory are linked so that every allocation that our own code makes (malloc and
 * its kin, arenas, device memory) passes through tests/out_of_memory.c, and so do the calls of oneDNN that
 * report that memory is out; what other libraries allocate inside is not touched. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* One piece of work from beginning to end; gives back all it took, also when it fails. `result` is what it
 * made, as a hash. */
typedef lud_status (*out_of_memory_work)(const void *argument, uint64_t *result, lud_error *error);

/* Counts the work's allocations, then repeats it with the k-th refused, and with the k-th and all later ones.
 * Up to some hundred allocations every k is tried, beyond that the first four (under a sanitizer the first)
 * and then the 8th, 16th, 32nd ... of each place that allocates. Each run must either fail with
 * LUD_ERROR_MEMORY and a message about memory, or do without and give the same result, and must give back
 * what it took. */
void out_of_memory_test(const char *name, out_of_memory_work work, const void *argument);

/* For what a work does before and after: allocations between the two are neither counted nor refused. */
void out_of_memory_pause(void);
void out_of_memory_resume(void);

/* Adds bytes to a work's result. */
void out_of_memory_hash(uint64_t *result, const void *bytes, size_t n);
