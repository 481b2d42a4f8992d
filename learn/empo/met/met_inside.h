/* What the files of lud_empo_met share. */
#pragma once

#include <math.h>
#include <string.h>

#include "learn/empo/met/met.h"

enum {
    LUD_MET_EXPANDED = 1,
    LUD_MET_TERMINAL = 2,
    LUD_MET_MARKED = 4,
    LUD_MET_FORGOTTEN = 16 /* was expanded: worth what it was then */
};

/* A list of successors is words: the policies of people (reals, once or for every level but the end), then
 * for each joint action the place of a state among the distinct ones, or BRANCH + the place within the list
 * of a word n, n such places and n probabilities (doubles, two words each); where in the list the numbers of
 * the distinct states begin, how many they are, the branches, and these numbers at the end. */
#define LUD_MET_BRANCH   0x80000000u
#define LUD_MET_NONE     UINT32_MAX
#define LUD_MET_ACHIEVED (-1.0f)

typedef struct lud_met_before {
    uint32_t node, next; /* a state that leads here; the next of these or LUD_MET_NONE */
} lud_met_before;

enum { LUD_MET_KNOTS = 8 };

/* Working memory of a thread. */
typedef struct lud_met_scratch {
    lud_empo_scratch equations;
    double *record, *row; /* [record_doubles], [stride] */
    double *distinct; /* [stride - 1 + room_distinct * stride] rows of the distinct successors, from the first
                       * on; in front there is room for the V_h^m part of it, which nobody reads */
} lud_met_scratch;

struct lud_empo_met {
    const lud_model *model;
    const lud_empo_features *features;
    const lud_empo_prior *prior;
    lud_empo_problem *problem;
    lud_empo_game game;
    int32_t noop[LUD_EMPO_MAX_AGENTS];
    size_t most_bytes, state_bytes, stride; /* stride: doubles of a row, n_goals + 1 */
    int32_t n_joint, n_policies;
    int n_levels, policy_levels; /* policy_levels: 1 where people do the same at every level */
    bool clocked;
    int32_t n_policy_words; /* of a list: policy_levels * n_policies */

    int64_t n, room; /* states */
    uint8_t *states, *flags;
    /* Worth. States that are or were expanded have a block of rows; of all others, terminal ones among them,
     * the worth at the knots is known, and LUD_MET_ACHIEVED stands for a goal that is achieved, worth 1 at
     * every level. */
    uint32_t *block; /* [room] LUD_MET_NONE: none */
    float *known;    /* [room][n_knots][stride] */
    int n_knots;
    int32_t knots[LUD_MET_KNOTS];
    int32_t *knot;   /* [n_levels] the last one that is not above a level, */
    double *part;    /* [n_levels] and how far the level is on the way from it to the next */
    double *annuity; /* [n_levels] what 1 at each remaining step is worth */
    int64_t n_blocks, room_blocks;
    uint32_t *owner; /* [room_blocks] the state of a block */
    float **rows;  /* [n_levels][room_blocks][stride], one array a level: sweeps go through them one after the
                    * other; none for the end */
    int64_t *list; /* [room] first word of the list of successors; -1: none, also of an
                    * expanded state that was loaded */
    uint32_t *first_before, *touched; /* [room] into before; the expansion that met the state last, */
    uint32_t *place;                  /* [room] and its place among the distinct ones there */
    uint32_t *seen, *visits;          /* [room] */
    int32_t *highest;                 /* [room] */
    uint32_t *fresh, *expanded;       /* [room] lists of numbers */
    uint64_t *marks;                  /* [room][mark_words] a bit a level */
    uint32_t *active;                 /* [room] states with marks */
    uint32_t *work;                   /* [room] of a level that is computed; [room] whether worth changed */
    uint8_t *changed;
    size_t mark_words;
    double end;      /* V_r's part of the row of the end */
    int lowest;      /* no level below is marked, */
    bool all_marked; /* and all expanded states are at all others: marking more changes nothing */
    bool closed;     /* lud_empo_met_close found all; what it left unexpanded occurs at the end only */
    bool restoring; /* lists are made again, by when states occur at higher levels than when they were listed:
                     * that says nothing of what follows them */
    int64_t n_fresh, n_expanded, n_terminal, n_active;
    int64_t n_slots; /* a power of two, at least twice the room */
    uint32_t *slots; /* [n_slots] number + 1, 0: free */
    uint32_t *words;
    int64_t n_words, room_words;
    lud_met_before *before;
    int64_t n_before, room_before;

    double grounded; /* lud_empo_met_ground */
    uint32_t clock, expansion;
    int64_t computed, forgotten;
    /* working memory */
    lud_arena *arena;
    lud_successors found;
    int n_threads;
    lud_met_scratch *scratch; /* [n_threads] */
    lud_ranks *ranks;         /* processes that hold the same table; null: this one alone */
    float *renewed;           /* [LUD_MET_DIVIDED][stride] rows that they tell each other */
    double *policy;           /* [n_policies] */
    double *values;           /* [stride] */
    int32_t *joint;
    uint8_t *own, *key;         /* [state_bytes] the state in hand, and one that is looked for */
    uint32_t *built, *distinct; /* a list under construction, and its distinct states [room_distinct] */
    uint32_t *likely;           /* [room_distinct] what lud_empo_met_likely hands out */
    int64_t n_built, room_built, n_distinct, room_distinct;
};

/* Levels of states that processes divide at a time. */
enum { LUD_MET_DIVIDED = 1 << 15 };

/* Processes go on together, unless one of them is to stop. */
static inline lud_status lud_met_beat(const lud_empo_met *m, lud_progress *progress, double part,
                                      lud_error *error) {
    return lud_ranks_agree(m->ranks, lud_progress_beat(progress, part, error), error);
}
/* The row of a state that has a block, at a level that is not the end. */
static inline float *lud_met_row(const lud_empo_met *m, int64_t node, int level) {
    return m->rows[level] + (size_t)m->block[node] * m->stride;
}
static inline float *lud_met_known(const lud_empo_met *m, int64_t node, int knot) {
    return m->known + ((size_t)node * (size_t)m->n_knots + (size_t)knot) * m->stride;
}
/* A state's row[stride] at a level, from what is known at the knots. */
static inline void lud_met_between_knots(const lud_empo_met *m, int64_t node, int level, double *row) {
    const size_t goals = m->stride - 1;
    const int knot = m->knot[level];
    const float *low = lud_met_known(m, node, knot);
    if (m->clocked && level == 0) { /* the end */
        for (size_t k = 0; k < goals; k++) row[k] = low[k] == LUD_MET_ACHIEVED;
        row[goals] = m->end;
        return;
    }
    const double part = m->part[level];
    const float *high = part > 0 ? low + m->stride : low;
    for (size_t k = 0; k < m->stride; k++)
        row[k] = k < goals && low[k] == LUD_MET_ACHIEVED
                     ? 1.0
                     : (1.0 - part) * (double)low[k] + part * (double)high[k];
}
/* A state's row[stride] at any level. */
static inline void lud_met_read(const lud_empo_met *m, int64_t node, int level, double *row) {
    if (m->block[node] == LUD_MET_NONE || (m->clocked && level == 0)) {
        lud_met_between_knots(m, node, level, row);
        return;
    }
    const float *from = lud_met_row(m, node, level);
    for (size_t k = 0; k < m->stride; k++) row[k] = (double)from[k];
}
/* The first level that is computed, and the level of the successors that one follows from. */
static inline int lud_met_first_level(const lud_empo_met *m) {
    return m->clocked ? 1 : 0;
}
static inline int lud_met_level_after(const lud_empo_met *m, int level) {
    return m->clocked ? level - 1 : 0;
}
/* The distinct successors of a state. */
typedef struct lud_met_distinct {
    uint32_t n;
    const uint32_t *node;
} lud_met_distinct;
static inline lud_met_distinct lud_met_distinct_of(const lud_empo_met *m, int64_t node) {
    const uint32_t *list = m->words + m->list[node], *at = list + m->n_policy_words + m->n_joint;
    return (lud_met_distinct){at[1], list + at[0]};
}
/* Those under one joint action, as places among the distinct ones. */
typedef struct lud_met_successors {
    uint32_t n;
    const uint32_t *place, *probability; /* null: certain */
} lud_met_successors;
static inline lud_met_successors lud_met_row_of(const lud_empo_met *m, int64_t node, int32_t k) {
    const uint32_t *list = m->words + m->list[node], *word = list + m->n_policy_words + k;
    if (*word < LUD_MET_BRANCH) return (lud_met_successors){1, word, NULL};
    const uint32_t *branch = list + (*word & ~LUD_MET_BRANCH);
    return (lud_met_successors){branch[0], branch + 1, branch + 1 + branch[0]};
}
static inline double lud_met_probability(lud_met_successors row, uint32_t i) {
    double p = 1;
    if (row.probability) memcpy(&p, row.probability + 2 * (size_t)i, sizeof p); /* not aligned */
    return p;
}
/* Marks a state for the next sweep, at all levels from one on. */
void lud_met_mark_from(lud_empo_met *met, int64_t node, int level);
/* Marks the states before one whose worth has changed, at all levels. */
void lud_met_mark_before(lud_empo_met *met, int64_t node);
/* Notes with the successors of a state that it comes before them. */
void lud_met_note_before(lud_empo_met *met, int64_t node);
/* Memory held. */
size_t lud_met_bytes(const lud_empo_met *met);
/* Room for so much in all, and what is taken. False: the limit, or (then *failed) memory is out. */
typedef struct lud_met_rooms {
    int64_t states, words, before, blocks;
} lud_met_rooms;
bool lud_met_reserve(lud_empo_met *met, lud_met_rooms wanted, bool *failed);
/* Just that, in an empty table: what it held when it was saved, so that it grows as it would have. */
bool lud_met_reserve_exactly(lud_empo_met *met, lud_met_rooms rooms, bool *failed);
lud_met_rooms lud_met_taken(const lud_empo_met *met);
/* What the prior says of a state of the world: policies as a record has them. */
void lud_met_ask_people(lud_empo_met *met, const uint8_t *state, double *policies);
void lud_met_hash_again(lud_empo_met *met);
