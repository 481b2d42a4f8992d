/* The states that a learner of EMPO has met: a graph in bounded memory with what each state is worth.
 *
 * A state is known by its bytes. One that was expanded has the list of the successors of all joint actions,
 * which are exact, and what people do in it; from these and from the worth of its successors its own follows
 * by equations (4) to (9) of one state (learn/empo/equations.h), the exact solver's. Successors that were not
 * expanded stand at the rim: their worth is what somebody says of them (lud_empo_met_set), a network. Where
 * worth changes, the states before it are computed anew, those with the fewest steps left first (prioritised
 * sweeping; Moore and Atkeson, Machine Learning 13, 1993): with remaining steps in the state the graph has no
 * cycles and one pass is exact. A table without a rim is the solution. */
#pragma once

#include "learn/empo/exact/exact.h"
#include "learn/empo/people/prior.h"

typedef struct lud_empo_met lud_empo_met;

enum { LUD_EMPO_UNMET = -1 };

/* Of `theory` all counts; X_h is at least power_floor. The features, the prior and the model must outlive it.
 * Never holds more than most_bytes. */
lud_status lud_empo_met_create(const lud_empo_features *features, const lud_empo_theory *theory,
                               const lud_empo_prior *prior, double power_floor, size_t most_bytes,
                               lud_empo_met **met, lud_error *error);
/* Null is allowed. */
void lud_empo_met_destroy(lud_empo_met *met);
const lud_empo_layout *lud_empo_met_layout(const lud_empo_met *met);

/* The number of a state, or LUD_EMPO_UNMET. Numbers hold until the next lud_empo_met_forget. */
int64_t lud_empo_met_find(const lud_empo_met *met, const uint8_t *state);
/* The same of a state that joins, unexpanded, when it is new. LUD_ERROR_LIMIT: there is no room. */
lud_status lud_empo_met_add(lud_empo_met *met, const uint8_t *state, int64_t *node, lud_error *error);
/* Lists the successors of a state that is not terminal and was not expanded, and marks it for the next sweep.
 * LUD_ERROR_LIMIT: there is no room; the state is as it was. */
lud_status lud_empo_met_expand(lud_empo_met *met, int64_t node, lud_error *error);
/* Makes room: about half of the expanded states, those that lud_empo_met_visit was called for least recently,
 * lose their successors, and states that follow none of the others leave. The worth of those that stay does
 * not change. */
lud_status lud_empo_met_forget(lud_empo_met *met, lud_error *error);
/* Empties it. */
void lud_empo_met_clear(lud_empo_met *met);

const uint8_t *lud_empo_met_state(const lud_empo_met *met, int64_t node);
bool lud_empo_met_expanded(const lud_empo_met *met, int64_t node);
bool lud_empo_met_terminal(const lud_empo_met *met, int64_t node);
/* Its worth comes from a look-ahead, though its successors may be forgotten, or from the world's end. */
bool lud_empo_met_sure(const lud_empo_met *met, int64_t node);
/* Somebody acts in it: it is recent. And how often that was. */
void lud_empo_met_visit_node(lud_empo_met *met, int64_t node);
uint32_t lud_empo_met_visits(const lud_empo_met *met, int64_t node);
/* The successor of an expanded state under a joint action that `uniform` in [0, 1) draws. */
int64_t lud_empo_met_next(const lud_empo_met *met, int64_t node, int32_t joint_action, double uniform);
/* What people do in an expanded state: policies[layout.policy_begin[n_humans]] */
const float *lud_empo_met_policies(const lud_empo_met *met, int64_t node);

/* States at the rim that nobody has said anything of yet, in the order of their arrival: [*n]. They leave the
 * list by lud_empo_met_set. */
const uint32_t *lud_empo_met_unsaid(const lud_empo_met *met, int64_t *n);
/* The worth of a state at the rim: v_h_e[n_goals], v_r < 0. */
void lud_empo_met_set(lud_empo_met *met, int64_t node, const float *v_h_e, double v_r);
/* Empties the list; states in it keep what they have. */
void lud_empo_met_all_said(lud_empo_met *met);
/* Marks every expanded state. */
void lud_empo_met_mark_all(lud_empo_met *met);
/* Computes all marked states anew, and those before them where worth has changed by more than `tolerance` of
 * itself; at most `most` (0: any number). Returns how many. */
int64_t lud_empo_met_sweep(lud_empo_met *met, double tolerance, int64_t most);

/* Equations (4) to (9) in an expanded state, from the present worth of its successors:
 * record[layout.record_doubles] without V_h^m. */
void lud_empo_met_look(lud_empo_met *met, int64_t node, double *record);
/* The same for any state whose rows the caller has: row[n_joint_actions] pointers to [n_goals + 1]
 * expectations of what the successors are worth. policies[layout.policy_begin[n_humans]] is what people do
 * there; null: the prior is asked. */
void lud_empo_met_look_from(lud_empo_met *met, const uint8_t *state, const double *policies,
                            const double *const *row, double *record);
/* row[n_goals + 1] of a state, from its values; null v_h_e: of a terminal state. And the row that a met state
 * has. */
void lud_empo_met_credit(const lud_empo_met *met, const uint8_t *state, const double *v_h_e, double v_r,
                         double *row);
const double *lud_empo_met_row(const lud_empo_met *met, int64_t node);
/* row[n_goals + 1] where nobody has to guess it: of a terminal state, and with `table` of one whose worth the
 * table has computed. False, and row as it was, for all others. */
bool lud_empo_met_known(const lud_empo_met *met, const uint8_t *state, bool table, double *row);

typedef struct lud_empo_met_figures {
    int64_t n, expanded, terminal; /* states; the rest are the rim */
    int64_t computed, forgotten;   /* states computed by sweeps, expanded states forgotten, since the start */
    size_t bytes, most_bytes;
} lud_empo_met_figures;
lud_empo_met_figures lud_empo_met_get(const lud_empo_met *met);
/* No state is at the rim. */
bool lud_empo_met_complete(const lud_empo_met *met);
/* Expanded state number i of lud_empo_met_get().expanded. */
int64_t lud_empo_met_expanded_at(const lud_empo_met *met, int64_t i);

/* States and their worth, which is what acting needs. What is loaded has no successors yet:
 * lud_empo_met_restore lists those of all expanded states, for training to go on. */
void lud_empo_met_visit(lud_empo_met *met, const char *prefix, lud_checkpoint *checkpoint);
lud_status lud_empo_met_restore(lud_empo_met *met, lud_error *error);
