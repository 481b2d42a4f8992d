/* The states that a learner of EMPO has met: a graph in bounded memory with what each state is worth.
 *
 * Where the world has a clock (sim/world.h) that ends it within LUD_EMPO_MET_MOST_STEPS, what stands in the
 * table is a state without it, with its worth for every number of remaining steps, its levels: what follows
 * is the same at any time. Level 0 is the end; the worth of level l follows from level l - 1 of the
 * successors. Else states stand there as they are, with one level, 0, which follows from that of others. A
 * state in these comments is one of these, known by its bytes.
 *
 * One that was expanded has the list of the successors of all joint actions, which are exact, and what people
 * do in it; from these and from the worth of its successors its own follows by equations (4) to (9) of one
 * state (learn/empo/equations.h), the exact solver's. Successors that were not expanded stand at the rim:
 * their worth at some levels, the knots, is what somebody says of them (lud_empo_met_set), a network; in
 * between it lies on straight lines. Where worth changes, the states before it are computed anew, level by
 * level (sweeping as in Moore and Atkeson, Machine Learning 13, 1993); one pass is exact where there is a
 * clock. A table without a rim is the solution. */
#pragma once

#include "base/progress.h"
#include "base/ranks/ranks.h"
#include "learn/empo/exact/exact.h"
#include "learn/empo/people/prior.h"

typedef struct lud_empo_met lud_empo_met;

enum { LUD_EMPO_UNMET = -1, LUD_EMPO_MET_MOST_STEPS = 1000 };

/* Of `theory` all counts; X_h is at least power_floor. The features, the prior and the model must outlive it.
 * Never holds more than most_bytes. */
lud_status lud_empo_met_create(const lud_empo_features *features, const lud_empo_theory *theory,
                               const lud_empo_prior *prior, double power_floor, size_t most_bytes,
                               lud_empo_met **met, lud_error *error);
/* Processes that do the same with tables of their own divide what sweeps compute, from now on; null: none do.
 * What asks whether to stop asks all of them. They must outlive it. */
void lud_empo_met_divide(lud_empo_met *met, lud_ranks *ranks);
/* Null is allowed. */
void lud_empo_met_destroy(lud_empo_met *met);
const lud_empo_layout *lud_empo_met_layout(const lud_empo_met *met);

/* Levels that there are, and the level of a state of the world: its remaining steps. */
int lud_empo_met_levels(const lud_empo_met *met);
int lud_empo_met_level(const lud_empo_met *met, const uint8_t *state);
/* What 1 at each of the steps that are left at a level is worth, discounted by gamma_r; 1 where there is no
 * clock. */
double lud_empo_met_annuity(const lud_empo_met *met, int level);
/* The number of a state at whatever level, or LUD_EMPO_UNMET. Numbers hold until the next
 * lud_empo_met_forget. */
int64_t lud_empo_met_find(const lud_empo_met *met, const uint8_t *state);
/* The same of a state that joins, unexpanded, when it is new. LUD_ERROR_LIMIT: there is no room. */
lud_status lud_empo_met_add(lud_empo_met *met, const uint8_t *state, int64_t *node, lud_error *error);
/* Lists the successors of a state that is not terminal and was not expanded, and marks it for the next sweep.
 * Until somebody says better, new ones are worth what this one is. LUD_ERROR_LIMIT: there is no room; the
 * state is as it was. */
lud_status lud_empo_met_expand(lud_empo_met *met, int64_t node, lud_error *error);
/* Makes room: about half of the expanded states, those that lud_empo_met_visit was called for least recently,
 * lose their successors, and states that follow none of the others leave. The worth of those that stay does
 * not change. */
lud_status lud_empo_met_forget(lud_empo_met *met, lud_error *error);
/* Empties it. */
void lud_empo_met_clear(lud_empo_met *met);

/* Its bytes, with the clock at 0; and the world's state at one of its levels, into state[state_bytes]. */
const uint8_t *lud_empo_met_bytes_of(const lud_empo_met *met, int64_t node);
void lud_empo_met_state(const lud_empo_met *met, int64_t node, int level, uint8_t *state);
/* The highest level at which it is known to occur; 0: only at the end, and it need not be expanded. */
int lud_empo_met_highest(const lud_empo_met *met, int64_t node);
/* That where it is not the end, else the lowest that is not: where a state is most likely asked for. */
int lud_empo_met_likely_level(const lud_empo_met *met, int64_t node);
/* One of the levels from 1 to the highest by `uniform` in [0, 1); 0 where there is none. */
int lud_empo_met_some_level(const lud_empo_met *met, int64_t node, double uniform);
bool lud_empo_met_expanded(const lud_empo_met *met, int64_t node);
/* The world ends in it at every level. */
bool lud_empo_met_terminal(const lud_empo_met *met, int64_t node);
/* Its worth comes from a look-ahead, though its successors may be forgotten, or from the world's end. */
bool lud_empo_met_sure(const lud_empo_met *met, int64_t node);
/* Somebody acts in it: it is recent. And how often that was. */
void lud_empo_met_visit_node(lud_empo_met *met, int64_t node);
uint32_t lud_empo_met_visits(const lud_empo_met *met, int64_t node);
/* The successor of an expanded state under a joint action that `uniform` in [0, 1) draws. */
int64_t lud_empo_met_next(const lud_empo_met *met, int64_t node, int32_t joint_action, double uniform);
/* Successors of an expanded state that have at least this chance under some joint action of robots, when
 * people act as they do at a level: [*n], until the next call or expansion. */
const uint32_t *lud_empo_met_likely(lud_empo_met *met, int64_t node, int level, double least, int64_t *n);
/* What people do in an expanded state: policies[layout.policy_begin[n_humans]] */
const float *lud_empo_met_policies(const lud_empo_met *met, int64_t node, int level);

/* States in which the world can go on and that joined since lud_empo_met_none_new, in the order of their
 * arrival: [*n]. */
const uint32_t *lud_empo_met_new(const lud_empo_met *met, int64_t *n);
void lud_empo_met_none_new(lud_empo_met *met);
/* The knots, rising, the highest level among them: [*n]. */
const int32_t *lud_empo_met_knots(const lud_empo_met *met, int *n);
/* The worth of a state at the rim at the knots: v_h_e[n][n_goals], v_r[n] < 0. */
void lud_empo_met_set(lud_empo_met *met, int64_t node, const float *v_h_e, const float *v_r);
/* The same at one level that is not the end; at the knots worth changes in proportion. v_h_e[n_goals] */
void lud_empo_met_scale(lud_empo_met *met, int64_t node, int level, const float *v_h_e, float v_r);
/* How far networks are believed, in 0 .. 1; 0 at first. With g the mean share, over the states that they
 * learn from, of what follows that the table answers for, and not the networks themselves, it is g / (1 - g),
 * at most 1: what is guessed counts at most as much as what is known. Look-ahead goes where most is promised,
 * and among guesses that is on average what was guessed too well (the optimiser's curse; Smith and Winkler,
 * Management Science 52, 2006); networks that learn from each other's guesses learn that too. The other one
 * is told of n states whose shares have such a sum. */
double lud_empo_met_belief(const lud_empo_met *met);
void lud_empo_met_ground(lud_empo_met *met, int64_t n, double shares);
/* Marks every expanded state. */
void lud_empo_met_mark_all(lud_empo_met *met);
/* Computes all that is marked anew, and the states before where worth has changed by more than `tolerance` of
 * itself; about `most` levels of states (0: any number), *n of them. The threads of the machine share them,
 * and so do processes. */
lud_status lud_empo_met_sweep(lud_empo_met *met, double tolerance, int64_t most, int64_t *n,
                              lud_error *error);

/* The same of one expanded state, where it is marked; those before it wait for the next sweep. */
void lud_empo_met_settle(lud_empo_met *met, int64_t node, double tolerance);

/* Equations (4) to (9) in an expanded state at a level that is not the end, from the present worth of its
 * successors: record[layout.record_doubles] without V_h^m. */
void lud_empo_met_look(lud_empo_met *met, int64_t node, int level, double *record);
/* The same for any state whose rows the caller has: row[n_joint_actions] pointers to [n_goals + 1]
 * expectations of what the successors are worth. policies[layout.policy_begin[n_humans]] is what people do
 * there; null: the prior is asked. */
void lud_empo_met_look_from(lud_empo_met *met, const uint8_t *state, const double *policies,
                            const double *const *row, double *record);
/* row[n_goals + 1] of a state of the world, from its values; null v_h_e: of a terminal state. And the row
 * that a met state has. */
void lud_empo_met_credit(const lud_empo_met *met, const uint8_t *state, const double *v_h_e, double v_r,
                         double *row);
void lud_empo_met_row(const lud_empo_met *met, int64_t node, int level, double *row);
/* row[n_goals + 1] where nobody has to guess it: of a terminal state, and with `table` of one whose worth the
 * table has computed. False, and row as it was, for all others. The state is one of the world's. */
bool lud_empo_met_known(const lud_empo_met *met, const uint8_t *state, bool table, double *row);

typedef struct lud_empo_met_figures {
    int64_t n, expanded, terminal; /* states; the rest are the rim */
    int64_t computed, forgotten; /* levels of states computed by sweeps, expanded states forgotten, so far */
    size_t bytes, most_bytes;
} lud_empo_met_figures;
lud_empo_met_figures lud_empo_met_get(const lud_empo_met *met);
/* No state is at the rim, but for those that occur at the end only. */
bool lud_empo_met_complete(const lud_empo_met *met);
/* Expanded state number i of lud_empo_met_get().expanded. */
int64_t lud_empo_met_expanded_at(const lud_empo_met *met, int64_t i);

/* States and their worth, which is what acting needs. What is loaded has no successors yet:
 * lud_empo_met_restore lists those of all expanded states, for training to go on; LUD_INTERRUPTED: the next
 * call goes on. */
void lud_empo_met_visit(lud_empo_met *met, const char *prefix, lud_checkpoint *checkpoint);
lud_status lud_empo_met_restore(lud_empo_met *met, lud_progress *progress, lud_error *error);

/* Expands everything that can be reached from where worlds begin, as long as it fits the memory and no more
 * than `most` would have to be expanded, and sweeps; *closed says whether nothing is left. If not, the table
 * is empty again. Is half of the progress of an iteration. Asks now and then whether to stop:
 * LUD_INTERRUPTED, and the next call goes on. */
lud_status lud_empo_met_close(lud_empo_met *met, const lud_model *model, uint64_t seed, int64_t most,
                              lud_progress *progress, bool *closed, lud_error *error);
