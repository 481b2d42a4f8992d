/* Ranking true triples among corruptions by what a policy proves: link prediction.
 *
 * Every candidate is played to its end with the most probable action (or a beam search); its score is the sum
 * of the log-probabilities of the path, or the mean log-odds of going on along it, less a penalty when
 * nothing was proved. A sum of log-probabilities counts which of several good rules is taken and hardly tells
 * sure decisions apart; whether to go on is where the policy says if it believes the triple, and with an
 * entropy bonus beta in training the log-odds of the optimal policy are the difference of the two soft values
 * over beta (Haarnoja et al., "Soft actor-critic", 2018). The rank of the true triple is 1 + (corruptions
 * with a higher score) + (those with the same score that win the draw); with the mean rule half of those with
 * the same score count. Corruptions that are known positives are left out (the filtered setting of Bordes et
 * al., 2013).
 *
 * The true triple is played first. A corruption that the exact prover refutes cannot be proved by a policy;
 * where even the best failure scores less than the true triple, or all failures score alike, it is not
 * played: its rank is known. Else its most probable path is left as soon as its log-probability, which only
 * falls, has passed the true triple's. Heads of states are kept for all candidates and queries of a ranking,
 * and have the same bits in any company, so that no rank depends on slots, on what is kept or what was left
 * out (on CUDA and in bfloat16 nothing is kept, and last bits depend on the company). */
#pragma once

#include "base/progress.h"
#include "learn/kge/embedding.h"
#include "learn/proof_ppo/search/expander.h"
#include "learn/store/profile.h"

/* What became of a query in one mode. */
typedef struct lud_proof_ranked {
    double rank, mean_rank; /* by draw, and by the mean rule */
    int32_t n_negatives, n_negatives_proved;
    bool played; /* the query can be corrupted in this mode */
} lud_proof_ranked;

typedef struct lud_proof_ranking_query {
    int32_t index; /* in the pool */
    lud_proof_found played;
    lud_proof_ranked modes[2]; /* head, tail */
} lud_proof_ranking_query;

/* Averages over some queries. */
typedef struct lud_proof_ranking_summary {
    int64_t n_queries, n_proved, n_negatives, n_negatives_proved;
    double mrr, hits1, hits3, hits10; /* the mean of the modes' means, by the tie rule of the options */
    double mode_mrr[2];
    double length; /* mean length of the proofs */
} lud_proof_ranking_summary;

typedef struct lud_proof_ranker lud_proof_ranker;

/* Corruptions in the modes of `corrupt`. The network outlives the ranker; it may be null when nothing is to
 * be played (LUD_PROOF_FUSION_KGE). Of the fusion only the numbers are read; see lud_proof_ranker_use_kge. */
lud_status lud_proof_ranker_create(const lud_proof_model *model, lud_proof_net *net,
                                   const lud_proof_rank_options *options, lud_proof_corrupt corrupt,
                                   int n_threads, lud_proof_ranker **ranker, lud_error *error);
/* From now on candidates are scored by proofs and these embeddings as the fusion says; null: proofs alone.
 * They outlive the ranker. */
void lud_proof_ranker_use_kge(lud_proof_ranker *ranker, const lud_kge *kge);
/* From now on ranking says in `progress` (null: nowhere) how far it is, from `begin` to `end` of the unit in
 * hand. */
void lud_proof_ranker_show(lud_proof_ranker *ranker, lud_progress *progress, double begin, double end);
/* Whether the exact prover is not asked about corruptions, and all are played to their end. Ranks are the
 * same: for tests and measurements. */
void lud_proof_ranker_play_all(lud_proof_ranker *ranker, bool all);
/* Whether all states pass through the network again wherever they are met. Ranks are the same: for tests and
 * measurements. */
void lud_proof_ranker_forget(lud_proof_ranker *ranker, bool forgetful);
/* From now on lists are played in so many shares, which the processes can divide among themselves (as those
 * of an update of the same network, which says so where they cannot); 1 at first. */
void lud_proof_ranker_share(lud_proof_ranker *ranker, int n_shares);
/* Where the time of playing most probable paths went: the network, the environments and the rest. */
typedef enum lud_proof_ranker_stage {
    LUD_PROOF_RANK_NETWORK,
    LUD_PROOF_RANK_EXPANSION,
    LUD_PROOF_RANK_REST,
    LUD_PROOF_RANK_STAGES
} lud_proof_ranker_stage;
const lud_profile *lud_proof_ranker_profile(const lud_proof_ranker *ranker);
/* How many steps of all slots that took. */
uint64_t lud_proof_ranker_steps(const lud_proof_ranker *ranker);
/* How many states passed through the network, each time that they did; 0 on CUDA and in bfloat16, where none
 * are kept. */
uint64_t lud_proof_ranker_states(const lud_proof_ranker *ranker);
/* Null is allowed. */
void lud_proof_ranker_destroy(lud_proof_ranker *ranker);
/* Ranks queries first .. first + n - 1 of a pool; out[n]. It and playing ask whether to stop:
 * LUD_INTERRUPTED. */
lud_status lud_proof_rank(lud_proof_ranker *ranker, lud_proof_pool pool, int32_t first, int32_t n,
                          lud_proof_ranking_query *out, lud_error *error);
/* Plays every atom of a list; blank ones get no proof and a score no candidate has. out[n]. */
lud_status lud_proof_play(lud_proof_ranker *ranker, const lud_proof_atom *atoms, int32_t n,
                          lud_proof_found *out, lud_error *error);
/* Averages over the queries for which keep[i] is set (null: all). */
lud_proof_ranking_summary lud_proof_ranking_summarise(const lud_proof_rank_options *options,
                                                      const lud_proof_ranking_query *queries, int32_t n,
                                                      const uint8_t *keep);

/* The rank of score[0] among score[n]; draw[n] decide between equal ones; what cannot be
 * compared is above. mean_rank may be null. */
double lud_proof_rank_first(const double *score, const double *draw, int32_t n, double *mean_rank);
