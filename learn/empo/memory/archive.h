/* States that an actor has come across, each once, with the number of times it was started from: what
 * episodes can be restarted from, so that training does not depend on long sequences of good luck (after
 * Ecoffet et al., "First return, then explore", Nature 590, 2021). States are plain bytes, so a restart is a
 * copy. */
#pragma once

#include "learn/store/checkpoint.h"
#include "sim/world.h"

typedef struct lud_empo_archive lud_empo_archive;

/* Room for `capacity` states. Null when memory is out. */
lud_empo_archive *lud_empo_archive_create(size_t state_bytes, int64_t capacity);
/* Null is allowed. */
void lud_empo_archive_destroy(lud_empo_archive *archive);
/* Takes a copy of a state that is new; nothing happens when it is known or the archive is full. False when
 * memory is out. */
bool lud_empo_archive_add(lud_empo_archive *archive, const uint8_t *state);
int64_t lud_empo_archive_count(const lud_empo_archive *archive);
/* Number of starts from state `index` (in the order of arrival). */
uint32_t lud_empo_archive_starts(const lud_empo_archive *archive, int64_t index);
/* Of the states at uniform[n] in [0, 1) the one that was started from least often, counted as one more start:
 * with n = 1 a uniform draw, with n = 2 and more starts are nearly even (Azar et al., "Balanced allocations",
 * SIAM J. Comput. 29, 1999). The archive must not be empty; valid until the next add. */
const uint8_t *lud_empo_archive_draw(lud_empo_archive *archive, int n, const double *uniform);
/* What is loaded must be states of the model in which the world goes on; any bytes without one (null). */
void lud_empo_archive_visit(lud_empo_archive *archive, const lud_model *model, const char *prefix,
                            lud_checkpoint *checkpoint);
