/* States to begin episodes in, a few of every configuration: what lies where and what everybody carries,
 * whoever stands wherever at whatever time. A picked-up key or an open door is a configuration of its own, so
 * each is begun in as often as any other, however rarely it comes about (after the cells of Ecoffet et al.,
 * "First return, then explore", Nature 590, 2021). */
#pragma once

#include "base/random.h"
#include "learn/empo/memory/features.h"
#include "learn/store/checkpoint.h"

typedef struct lud_empo_kinds lud_empo_kinds;

enum { LUD_EMPO_KINDS_DRAWN = 128 };

/* The features must outlive it. Null when memory is out: it takes all at the start. */
lud_empo_kinds *lud_empo_kinds_create(const lud_empo_features *features, uint64_t seed);
/* Null is allowed. */
void lud_empo_kinds_destroy(lud_empo_kinds *kinds);
/* Shows it a state in which the world goes on, and what it promises: V_r for each remaining step, so that
 * early and late states compare. Of each configuration it keeps an even draw of the states shown. When there
 * are too many a new one takes the place of one that promises less, if there is one among some that are
 * drawn. */
void lud_empo_kinds_show(lud_empo_kinds *kinds, const uint8_t *state, double promise);
/* Configurations, at most some thousand. */
int64_t lud_empo_kinds_count(const lud_empo_kinds *kinds);
/* Some configurations, drawn evenly, and a state of each, for an episode whose key and tick these are:
 * kind[n], states[n], n from 1 to LUD_EMPO_KINDS_DRAWN, all scales being as likely. There must be a
 * configuration. */
int lud_empo_kinds_draw(const lud_empo_kinds *kinds, lud_random_key key, uint32_t tick,
                        int64_t kind[LUD_EMPO_KINDS_DRAWN], const uint8_t *states[LUD_EMPO_KINDS_DRAWN]);
/* Somebody acts in a state, which is worth so much: if its configuration is held, which is returned, that is
 * what it promises, in a mean that forgets. And whether somebody has lately, and what it promises then. */
bool lud_empo_kinds_act(lud_empo_kinds *kinds, const uint8_t *state, double promise);
bool lud_empo_kinds_known(const lud_empo_kinds *kinds, int64_t kind, double *promise);
void lud_empo_kinds_visit(lud_empo_kinds *kinds, const char *prefix, lud_checkpoint *checkpoint);
