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

/* A list of successors is words: the policies of people (reals), then for each joint action a state's number,
 * or BRANCH + the place within the list of a word n, n numbers and n probabilities (doubles, two words each).
 */
#define LUD_MET_BRANCH 0x80000000u
#define LUD_MET_NONE   UINT32_MAX

typedef struct lud_met_before {
    uint32_t node, next; /* a state that leads here; the next of these or LUD_MET_NONE */
} lud_met_before;

typedef struct lud_met_mark {
    uint64_t key; /* remaining steps, then the order of arrival: the smallest first */
    uint32_t node;
} lud_met_mark;

struct lud_empo_met {
    const lud_model *model;
    const lud_empo_features *features;
    const lud_empo_prior *prior;
    lud_empo_problem *problem;
    lud_empo_game game;
    int32_t noop[LUD_EMPO_MAX_AGENTS];
    size_t most_bytes, state_bytes, stride; /* stride: doubles of a row, n_goals + 1 */
    int32_t n_joint, n_policies;

    int64_t n, room; /* states */
    uint8_t *states, *flags;
    double *rows;  /* [n_goals] unused, then [room][stride]: a state's row begins where the V_h^e part of the
                    * equations' row does */
    int64_t *list; /* [room] first word of the list of successors; -1: none, also of an
                    * expanded state that was loaded */
    uint32_t *first_before, *touched; /* [room] into before; the expansion that met the state last */
    uint32_t *seen, *visits;          /* [room] */
    int32_t *left;                    /* [room] remaining steps, 0 where the world has no limit */
    uint32_t *unsaid, *expanded;      /* [room] lists of numbers */
    lud_met_mark *marks;              /* [room] heap */
    int64_t n_unsaid, n_expanded, n_terminal, n_marks;
    int64_t n_slots; /* a power of two, at least twice the room */
    uint32_t *slots; /* [n_slots] number + 1, 0: free */
    uint32_t *words;
    int64_t n_words, room_words;
    lud_met_before *before;
    int64_t n_before, room_before;

    uint32_t clock, expansion;
    uint64_t order;
    int64_t computed, forgotten;
    /* working memory */
    lud_arena *arena;
    lud_successors found;
    lud_empo_scratch scratch;
    double *record, *policy, *look_rows; /* look_rows: [stride] */
    int32_t *joint;
    uint8_t *own;    /* [state_bytes] */
    uint32_t *built; /* a list under construction */
    int64_t n_built, room_built;
};

static inline double *lud_met_row(const lud_empo_met *m, int64_t node) {
    return m->rows + m->stride - 1 + (size_t)node * m->stride;
}
/* The successors of a state under one joint action. */
typedef struct lud_met_successors {
    uint32_t n;
    const uint32_t *node, *probability; /* null: certain */
} lud_met_successors;
static inline lud_met_successors lud_met_row_of(const lud_empo_met *m, int64_t node, int32_t k) {
    const uint32_t *list = m->words + m->list[node], *word = list + m->n_policies + k;
    if (*word < LUD_MET_BRANCH) return (lud_met_successors){1, word, NULL};
    const uint32_t *branch = list + (*word & ~LUD_MET_BRANCH);
    return (lud_met_successors){branch[0], branch + 1, branch + 1 + branch[0]};
}
static inline double lud_met_probability(lud_met_successors row, uint32_t i) {
    double p = 1;
    if (row.probability) memcpy(&p, row.probability + 2 * (size_t)i, sizeof p); /* not aligned */
    return p;
}
/* Marks a state for the next sweep. */
void lud_met_mark_node(lud_empo_met *met, int64_t node);
/* Marks the states before one. */
void lud_met_mark_before(lud_empo_met *met, int64_t node);
/* Notes with the successors of a state that it comes before them. */
void lud_met_note_before(lud_empo_met *met, int64_t node);
/* Memory held. */
size_t lud_met_bytes(const lud_empo_met *met);
/* Room for so many states, words and links in all. False: the limit, or (then *failed) memory is out. */
bool lud_met_reserve(lud_empo_met *met, int64_t states, int64_t words, int64_t before, bool *failed);
/* What prior and world say, in working memory: policies as a record has them. */
void lud_met_ask_people(lud_empo_met *met, const uint8_t *state, double *policies);
void lud_met_hash_again(lud_empo_met *met);
