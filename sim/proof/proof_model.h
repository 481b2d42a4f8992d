/* The proof world's model and state.
 *
 * A state is a conjunction of goals on the way from a query; an action chooses one of its successors
 * (proof_expand.h); an episode is one query. It ends when all goals are discharged (True), when none can be
 * (False), when the agent gives up (Endf), or at the depth limit. */
#pragma once

#include "base/options/options.h"
#include "sim/proof/proof_expand.h"
#include "sim/world.h"

enum { LUD_PROOF_SKIPS = 5, LUD_PROOF_REWARDS = 6 };

typedef enum lud_proof_corrupt { LUD_PROOF_HEAD, LUD_PROOF_TAIL, LUD_PROOF_BOTH } lud_proof_corrupt;
typedef enum lud_proof_known { LUD_PROOF_KNOWN_ALL, LUD_PROOF_KNOWN_FILTERED } lud_proof_known;

/* The `proof:` section of a scenario file, see lud_proof_option_table. */
typedef struct lud_proof_options {
    int syntax;         /* lud_proof_syntax */
    int format;         /* lud_proof_format */
    const char *folder; /* where the files below are, or null */
    const char *facts, *rules, *domains;
    struct lud_proof_query_options {
        const char *train, *valid, *test;
        int play;            /* lud_proof_split: the list that episodes of run and view are drawn from */
        lud_int_list depths; /* training queries kept by stated depth; empty: all */
        bool with_rules;     /* drop training queries whose predicate heads no rule */
        int64_t n_train, n_valid, n_test; /* first n of a list; 0: all */
    } queries;
    struct lud_proof_limit_options {
        int64_t depth, goals, successors, fact_cap;
        bool fact_cap_random;
        bool memory, end_action, skip_unary;
    } limits;
    struct lud_proof_negative_options {
        double per_positive;
        int corrupt; /* lud_proof_corrupt */
        int known;   /* lud_proof_known: what counts as a known positive */
    } negatives;
    int64_t reward; /* scheme 0..5 */
    struct lud_proof_score_options {
        const char *file;
        int64_t top_k;
        double threshold;
        bool as_facts;
        double shaping, shaping_gamma; /* beta and gamma of potential shaping; beta 0: off */
    } scores;
} lud_proof_options;
extern const lud_option_table lud_proof_option_table;

/* A list of queries to play. labels may be null (all 1); an atom with predicate 0 is blank, never played. */
typedef struct lud_proof_pool {
    const lud_proof_atom *atoms; /* [n] ground */
    const int8_t *labels;        /* [n] 1 true triple, 0 corruption */
    int32_t n;
} lud_proof_pool;

typedef struct lud_proof_model {
    lud_model model;
    lud_arena *arena, *option_arena; /* the second holds texts of the options, or null */
    lud_proof_base *base;
    lud_proof_options options;
    lud_proof_limits limits;
    int32_t max_depth;
    int32_t path_capacity; /* entries of a state's path and memory */
    size_t memory_offset, path_offset;
    lud_proof_pool pools[LUD_PROOF_SPLITS];       /* after the filters */
    const int32_t *pool_depths[LUD_PROOF_SPLITS]; /* [n] stated depths */
    /* Known positives, open addressing. */
    uint32_t known_mask;
    const lud_proof_atom *known;
} lud_proof_model;

/* Builds a model on a base, which it then owns (also on failure). Paths in the options are not read here. */
lud_status lud_proof_model_create(lud_proof_base *base, const lud_proof_options *options,
                                  lud_proof_model **model, lud_error *error);
/* Reads the files of the options (relative to their folder, that to `file`), and builds base and model.
 * `seed` keys the random fact cap. The texts and lists of `options` must outlive the model. */
lud_status lud_proof_model_load(const lud_proof_options *options, const char *file, uint64_t seed,
                                lud_proof_model **model, lud_error *error);
void lud_proof_model_destroy(lud_proof_model *model);

/* Whether a ground atom is a known positive: a fact or a query of any split (or, with `known: filtered`, only
 * the queries that survived the depth filter, and valid and test). */
bool lud_proof_is_known(const lud_proof_model *model, const lud_proof_atom *atom);

/* ---- States ---- */

typedef enum lud_proof_outcome {
    LUD_PROOF_RUNNING,
    LUD_PROOF_PROVED,
    LUD_PROOF_FAILED,   /* no goal could be resolved */
    LUD_PROOF_GAVE_UP,  /* chose Endf */
    LUD_PROOF_TRUNCATED /* depth limit */
} lud_proof_outcome;

/* The head of a state's bytes. Behind it lie goals[max_goals] (unused ones zero), memory[path_capacity]
 * (uint64_t hashes of visited states, unused ones zero; absent when the memory is off) and
 * path[path_capacity] (int32_t, what each step used: rule r as 1 + r, fact f as -1 - f, unused ones 0). */
typedef struct lud_proof_state {
    int32_t n_goals;
    int32_t n_path;      /* entries of path and memory; steps skipped as unary count here but not in depth */
    int32_t depth;       /* actions taken */
    int32_t label;       /* 1 true triple, 0 corruption */
    int32_t outcome;     /* lud_proof_outcome */
    int32_t excluded;    /* the query's own fact, -1: the query is no fact */
    int32_t query_index; /* where the query came from, -1: unknown */
    lud_proof_atom query;
} lud_proof_state;

static inline lud_proof_atom *lud_proof_goals(uint8_t *state) {
    return (lud_proof_atom *)(void *)(state + sizeof(lud_proof_state));
}
static inline const lud_proof_atom *lud_proof_goals_const(const uint8_t *state) {
    return (const lud_proof_atom *)(const void *)(state + sizeof(lud_proof_state));
}
static inline const int32_t *lud_proof_path(const lud_proof_model *model, const uint8_t *state) {
    return (const int32_t *)(const void *)(state + model->path_offset);
}

/* The state at the start of a query (which may hold variables). A blank query fails at once. */
void lud_proof_start(const lud_proof_model *model, const lud_proof_atom *query, int32_t label,
                     int32_t query_index, uint8_t *state);
/* Whether bytes from elsewhere are a state of the model; else what is out of range. */
lud_status lud_proof_check_state(const lud_proof_model *model, const uint8_t *state, lud_error *error);
/* Successors of a state under the model's limits and the state's memory; a finished state has none. */
void lud_proof_successors_of(const lud_proof_model *model, const uint8_t *state, lud_proof_successors *out,
                             lud_proof_cuts *cuts);
/* Makes a successor the present state: goals[n_goals] with what led there. Counts an action, sets the
 * outcome. */
void lud_proof_enter(const lud_proof_model *model, const lud_proof_atom *goals, int32_t n_goals,
                     lud_proof_step step, uint8_t *state);
/* Successors, and while `skip_unary` applies (one successor, not terminal, no End action) moves on without an
 * action, at most LUD_PROOF_SKIPS times. `out->begin[out->n]` onward is written, as by
 * lud_proof_successors_of. */
void lud_proof_settle(const lud_proof_model *model, uint8_t *state, lud_proof_successors *out,
                      lud_proof_cuts *cuts);

/* Reward of a finished episode by scheme: tp = proved and label 1, fn, fp, tn likewise; w = 1 / per_positive.
 *   0: tp 1               1: tp 1, fp -1              2: tp 1, tn 1
 *   3: 1, -0.5, -1.5, 1 (tp, fn, fp, tn)   4: 1, -1, -1, w   5: as 4, tn w + 0.3 when the agent gave up
 * 0 for a running one. */
float lud_proof_reward(const lud_proof_model *model, const uint8_t *state);
/* Potential of a state: beta * log(max(score of the first goal, 1e-9)); 0 when the goal has no score or the
 * state is finished. Shaped reward = reward + gamma * potential(next) - potential(state) (Ng, Harada,
 * Russell, 1999). */
float lud_proof_potential(const lud_proof_model *model, const uint8_t *state);
/* Shaped reward of a step that led to `state` from one of the potential `before`. */
float lud_proof_shaped_reward(const lud_proof_model *model, const uint8_t *state, float before);

/* ---- Corruptions ---- */

/* A corruption of the first (`head`) or last (`tail`) argument of a ground query that is no known positive:
 * uniform over the other constants of the argument's domain, drawn again when known. False when there is none
 * (out is the query). Draws with purpose LUD_PURPOSE_NEGATIVE at `step`. */
bool lud_proof_corrupt_once(const lud_proof_model *model, const lud_proof_atom *query, lud_proof_corrupt mode,
                            lud_random_key key, uint32_t step, lud_proof_atom *out);
/* Candidates for ranking: distinct corruptions that are no known positives, `k` of them when so many exist
 * (0: all, in the order of constants). `both` gives half of k (head gets the odd one) to each argument; with
 * k = 0 it lists head corruptions, then tail ones. Returns how many were written to out[capacity]; the rest
 * of the first k entries is blank (predicate 0). */
int32_t lud_proof_corruptions(const lud_proof_model *model, const lud_proof_atom *query,
                              lud_proof_corrupt mode, int32_t k, lud_random_key key, uint32_t step,
                              lud_proof_atom *out, int32_t capacity);

extern const lud_world lud_proof_world;
