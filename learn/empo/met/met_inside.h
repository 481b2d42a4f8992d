/* What the files of lud_empo_met share. */
#pragma once

#include <string.h>

#include "learn/empo/met/met.h"

enum {
    LUD_MET_EXPANDED = 1,
    LUD_MET_TERMINAL = 2,
    LUD_MET_MARKED = 4,
    LUD_MET_FORGOTTEN = 16 /* was expanded: worth what it was then */
};

/* A list of successors is words: the policies of people (reals, once or for every level but the end), then
 * for each joint action a state's number,
 * or BRANCH + the place within the list of a word n, n numbers and n probabilities (doubles, two words each).
 */
#define LUD_MET_BRANCH 0x80000000u
#define LUD_MET_NONE   UINT32_MAX

typedef struct lud_met_before {
    uint32_t node, next; /* a state that leads here; the next of these or LUD_MET_NONE */
} lud_met_before;

enum { LUD_MET_MOST_KNOTS = 128 };

/* Working memory of a thread. */
typedef struct lud_met_scratch {
    lud_empo_scratch equations;
    double *record, *row; /* [record_doubles], [stride] */
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
    int n_knots;
    int32_t knots[LUD_MET_MOST_KNOTS];

    int64_t n, room; /* states */
    uint8_t *states, *flags;
    float *
        *rows; /* [n_levels][room][stride], one array a level: sweeps go through them one after the other */
    int64_t *list;                    /* [room] first word of the list of successors; -1: none, also of an
                                       * expanded state that was loaded */
    uint32_t *first_before, *touched; /* [room] into before; the expansion that met the state last */
    uint32_t *seen, *visits;          /* [room] */
    int32_t *highest;                 /* [room] */
    uint32_t *unsaid, *expanded;      /* [room] lists of numbers */
    uint64_t *marks;                  /* [room][mark_words] a bit a level */
    uint32_t *active;                 /* [room] states with marks */
    uint32_t *work;                   /* [room] of a level that is computed; [room] whether worth changed */
    uint8_t *changed;
    size_t mark_words;
    int lowest;  /* no level below is marked */
    bool closed; /* lud_empo_met_close found all; what it left unexpanded occurs at the end only */
    int64_t n_unsaid, n_expanded, n_terminal, n_active;
    int64_t n_slots; /* a power of two, at least twice the room */
    uint32_t *slots; /* [n_slots] number + 1, 0: free */
    uint32_t *words;
    int64_t n_words, room_words;
    lud_met_before *before;
    int64_t n_before, room_before;

    uint32_t clock, expansion;
    int64_t computed, forgotten;
    /* working memory */
    lud_arena *arena;
    lud_successors found;
    int n_threads;
    lud_met_scratch *scratch; /* [n_threads] */
    double *policy;           /* [n_policies] */
    double *values;           /* [stride] */
    int32_t *joint;
    uint8_t *own, *key; /* [state_bytes] the state in hand, and one that is looked for */
    uint32_t *built;    /* a list under construction */
    int64_t n_built, room_built;
};

static inline float *lud_met_row(const lud_empo_met *m, int64_t node, int level) {
    return m->rows[level] + (size_t)node * m->stride;
}
/* The first level that is computed, and the level of the successors that one follows from. */
static inline int lud_met_first_level(const lud_empo_met *m) {
    return m->clocked ? 1 : 0;
}
static inline int lud_met_level_after(const lud_empo_met *m, int level) {
    return m->clocked ? level - 1 : 0;
}
/* The successors of a state under one joint action. */
typedef struct lud_met_successors {
    uint32_t n;
    const uint32_t *node, *probability; /* null: certain */
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
/* Room for so many states, words and links in all. False: the limit, or (then *failed) memory is out. */
bool lud_met_reserve(lud_empo_met *met, int64_t states, int64_t words, int64_t before, bool *failed);
/* What the prior says of a state of the world: policies as a record has them. */
void lud_met_ask_people(lud_empo_met *met, const uint8_t *state, double *policies);
void lud_met_hash_again(lud_empo_met *met);
