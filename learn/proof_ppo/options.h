/* Options of the learner `proof-ppo`, as they stand under `learner:`. */
#pragma once

#include "base/options/options.h"
#include "learn/nn/optimiser.h"
#include "learn/nn/schedule.h"
#include "learn/policy_gradient/options.h"

typedef enum lud_proof_atom_embedder {
    LUD_PROOF_EMBED_TRANSE,     /* p + a - b */
    LUD_PROOF_EMBED_SUM,        /* p - a - b */
    LUD_PROOF_EMBED_CONCAT,     /* (p, a, b, ...) */
    LUD_PROOF_EMBED_COMPLEX,    /* p a conj(b), numbers of halves as complex ones; at most two arguments */
    LUD_PROOF_EMBED_ROTATE,     /* |a p / |p| - b|, likewise */
    LUD_PROOF_EMBED_RNN,        /* a gated recurrent unit over p, a, b, ... */
    LUD_PROOF_EMBED_ATTENTION,  /* a mean of them with learned weights */
    LUD_PROOF_EMBED_TRANSFORMER /* an encoder layer over them */
} lud_proof_atom_embedder;
typedef enum lud_proof_state_embedder {
    LUD_PROOF_STATE_MEAN, /* sum of the goals' embeddings / largest number of goals */
    LUD_PROOF_STATE_SUM,
    LUD_PROOF_STATE_CONCAT,     /* one place for each goal: order counts */
    LUD_PROOF_STATE_ATTENTION,  /* a mean with learned weights */
    LUD_PROOF_STATE_RNN,        /* the last hidden state of a gated recurrent unit: order counts */
    LUD_PROOF_STATE_TRANSFORMER /* one learned query attends to the goals */
} lud_proof_state_embedder;
typedef enum lud_proof_ties { LUD_PROOF_TIES_RANDOM, LUD_PROOF_TIES_MEAN } lud_proof_ties;

typedef struct lud_proof_net_options {
    int atoms, states; /* lud_proof_atom_embedder, lud_proof_state_embedder */
    int64_t embedding_size, hidden, layers, look_ahead;
    double constant_scale, dropout;
    bool fact_counts;
    bool l2_norm, sqrt_scale;
    double temperature;
    bool separate_value;
    double value_head_scale;
} lud_proof_net_options;

/* How a proof and the score of embeddings make one score. */
typedef enum lud_proof_fusion_kind {
    LUD_PROOF_FUSION_NONE,      /* the proof alone */
    LUD_PROOF_FUSION_HYBRID,    /* w lk + r when proved, w lk - penalty when not */
    LUD_PROOF_FUSION_PAPER,     /* 2 lk + log-probability when proved, lk - 100 when not */
    LUD_PROOF_FUSION_LINEAR,    /* a (score of the proof) + (1 - a) lk */
    LUD_PROOF_FUSION_GATED,     /* the same, with an a of its own where nothing was proved */
    LUD_PROOF_FUSION_PREDICATE, /* w lk, and s or - s penalty where a rule makes the predicate symmetric */
    LUD_PROOF_FUSION_KGE        /* lk alone, nothing is played */
} lud_proof_fusion_kind;
extern const char *const lud_proof_fusions[]; /* their names, null-terminated */

/* lk = ln max(sigma(score of the embeddings), 1e-9) */
typedef struct lud_proof_fusion {
    const char *run; /* of learner kge, or null */
    int kind;        /* lud_proof_fusion_kind */
    double kge_weight, proof_weight, fail_penalty, alpha, alpha_failed, symmetric_weight;
} lud_proof_fusion;

/* What a candidate without proof scores by its path before the penalty is taken. */
typedef enum lud_proof_failure {
    LUD_PROOF_FAILURE_PATH,      /* the log-probability of the path that failed */
    LUD_PROOF_FAILURE_COMPLEMENT /* that of not taking it: ln(1 - p) */
} lud_proof_failure;

/* What a candidate is ranked by. */
typedef enum lud_proof_score_kind {
    LUD_PROOF_SCORE_PATH, /* ln p of its path */
    LUD_PROOF_SCORE_ODDS  /* the log-odds of going on along its path, their mean */
} lud_proof_score_kind;

typedef struct lud_proof_rank_options {
    int64_t n_slots;    /* candidates played side by side */
    int64_t candidates; /* corruptions for each mode, 0: all */
    int ties;           /* lud_proof_ties */
    int64_t tie_seed;
    int score; /* lud_proof_score_kind */
    double fail_penalty;
    int failure;        /* lud_proof_failure */
    int64_t beam;       /* width; 1: the most probable action only */
    int64_t best_first; /* expansions of best-first search; 0: none, as `beam` says */
    bool give_up;       /* whether the most probable path may end by giving up */
    lud_proof_fusion fusion;
} lud_proof_rank_options;

/* The rows of an option table (base/options/option_rows.h) that every learner has which ranks; `at` is its
 * lud_proof_rank_options. */
extern const char *const lud_proof_tie_rules[];
#define LUD_PROOF_RANK_ROWS(at)                                                                              \
    INT_AT("candidates", at.candidates, "100", 0, 1e9,                                                       \
           "corruptions of each argument that a query is ranked among; 0: all"),                             \
        CHOICE_AT("ties", at.ties, "random", lud_proof_tie_rules,                                            \
                  "rank among equal scores: by a draw for each candidate, or the mean rank"),                \
        INT_AT("tie_seed", at.tie_seed, "0", 0, 4e18, "of those draws and of the choice of corruptions")

typedef struct lud_proof_ppo_options {
    const char *type;
    bool automatic;
    lud_proof_net_options network;
    int64_t total_steps, n_envs, n_steps, batch_size;
    lud_policy_gradient_options update;
    double max_grad_norm;
    bool normalise_advantage;
    lud_optimiser_options optimiser;
    struct lud_proof_ppo_rate {
        double start, end;
        int decay; /* lud_schedule_kind */
        double warmup;
        double value; /* for the value network, 0: the same */
    } learning_rate;
    struct lud_proof_ppo_entropy {
        double start, end;
        int decay;
        double until;
    } entropy;
    struct lud_proof_ppo_evaluation {
        int64_t every, n_queries;
        bool keep_best;
        lud_proof_rank_options rank;
    } evaluation;
    int64_t chunk_rows;
} lud_proof_ppo_options;

extern const lud_option_table lud_proof_ppo_table;

/* Reads a `learner:` section of type proof-ppo (null: defaults). Texts live in the arena. */
lud_status lud_proof_ppo_options_read(lud_arena *arena, lud_tree *learner, lud_proof_ppo_options *values,
                                      lud_error *error);
/* Its two halves: what stands there, and, when automatic options are chosen, what is checked and follows. */
lud_status lud_proof_ppo_options_begin(lud_arena *arena, lud_tree *learner, lud_proof_ppo_options *values,
                                       lud_error *error);
lud_status lud_proof_ppo_options_end(lud_tree *learner, lud_proof_ppo_options *values, lud_error *error);
/* The two schedules over steps 0 .. n_updates - 1. */
lud_schedule lud_proof_ppo_learning_rate(const lud_proof_ppo_options *options, double n_updates);
lud_schedule lud_proof_ppo_entropy(const lud_proof_ppo_options *options, double n_updates);
