/* States to begin episodes in, a few of every configuration: what lies where and what everybody carries,
 * whoever stands wherever at whatever time. A picked-up key or an open door is a configuration of its own, so
 * each is begun in as often as any other, however rarely it comes about (after the cells of Ecoffet et al.,
 * "First return, then explore", Nature 590, 2021). */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/store/checkpoint.h"

typedef struct lud_empo_kinds lud_empo_kinds;

/* The features must outlive it. Null when memory is out: it takes all at the start. */
lud_empo_kinds *lud_empo_kinds_create(const lud_empo_features *features, uint64_t seed);
/* Null is allowed. */
void lud_empo_kinds_destroy(lud_empo_kinds *kinds);
/* Shows it a state in which the world goes on; of each configuration it keeps an even draw of those shown. */
void lud_empo_kinds_show(lud_empo_kinds *kinds, const uint8_t *state);
/* Configurations, at most some thousand. */
int64_t lud_empo_kinds_count(const lud_empo_kinds *kinds);
/* A state: an even draw of configurations by `kind`, of its states by `which`, both in [0, 1). There must be
 * one. */
const uint8_t *lud_empo_kinds_draw(const lud_empo_kinds *kinds, double kind, double which);
void lud_empo_kinds_visit(lud_empo_kinds *kinds, const char *prefix, lud_checkpoint *checkpoint);
