/* Who is involved in an EMPO problem, how their joint actions are numbered, and where a state's results
 * stand.
 *
 * People and robots are the model's agents with that role, in ascending order. A joint human action counts
 * with person 0 fastest, a joint robot action with the last robot fastest. Goals of all people stand one
 * behind the other: goal g of person h has column goal_begin[h] + g. */
#pragma once

#include "learn/empo/equations.h"
#include "sim/world.h"

enum { LUD_EMPO_MAX_AGENTS = 64 };

typedef struct lud_empo_layout {
    int n_humans, n_robots;
    int humans[LUD_EMPO_MAX_AGENTS], robots[LUD_EMPO_MAX_AGENTS]; /* agent numbers */
    int n_human_actions[LUD_EMPO_MAX_AGENTS];                     /* of each person */
    int max_human_actions;                                        /* of a person */
    int n_robot_actions;                                          /* joint, 1 without robots */
    int n_human_profiles;                                         /* joint actions of all people */
    int n_goals;                                                  /* of all people together */
    int goal_begin[LUD_EMPO_MAX_AGENTS + 1];                      /* [n_humans + 1] */
    int policy_begin[LUD_EMPO_MAX_AGENTS + 1]; /* [n_humans + 1] first entry of person h within `policies` */
    /* A state's record: offsets of its parts in doubles. V_r, U_r, X_h[n_humans], V_h^e[n_goals],
     * V_h^m[n_goals], Q_r[n_robot_actions], pi_r[n_robot_actions], policies: for each person [goals][actions]
     */
    int v_r, u_r, x_h, v_h_e, v_h_m, q_r, pi_r, policies;
    int record_doubles;
} lud_empo_layout;

/* Errors: an agent without a role or with continuous actions, nobody with the role human, a person without
 * goals, a world without goals, more joint actions than 2^31 - 1. */
lud_status lud_empo_layout_find(const lud_model *model, lud_empo_layout *layout, lud_error *error);

/* Numbers of the people's and the robots' part of a joint action. actions[n_agents] */
int32_t lud_empo_human_profile(const lud_empo_layout *layout, const int32_t *actions);
int32_t lud_empo_robot_action(const lud_empo_layout *layout, const lud_model *model, const int32_t *actions);
/* Writes the robots' entries of actions[n_agents] from the number of their joint action. */
void lud_empo_robot_decode(const lud_empo_layout *layout, const lud_model *model, int32_t number,
                           int32_t *actions);
/* "forward", or "forward+left" for two robots; "-" without robots. Returns text. */
const char *lud_empo_robot_name(const lud_model *model, const lud_empo_layout *layout, int number,
                                char text[256]);
/* Person h's own action within a joint human action. */
static inline int lud_empo_own_action(const lud_empo_layout *layout, int human, int profile) {
    return lud_empo_profile_action(layout->n_human_actions, human, profile);
}

/* The place of a person in the layout, -1 for anybody else. */
int lud_empo_person_of(const lud_empo_layout *layout, int agent);
/* The number of person h's goals. */
static inline int lud_empo_goals_of(const lud_empo_layout *layout, int human) {
    return layout->goal_begin[human + 1] - layout->goal_begin[human];
}
/* weights[n_goals] of all people's goals. */
void lud_empo_goal_weights(const lud_empo_layout *layout, const lud_model *model, double *weights);
/* The part of one robot in pi_r[n_robot_actions], to[n_discrete]. */
void lud_empo_robot_part(const lud_empo_layout *layout, const lud_model *model, const double *pi_r, int agent,
                         double *to);

/* Marginal policy of a person in a state, pi_h(a) = sum_g w_g pi_h(a|g), normalised; from the state's record.
 * goal_weight[n_goals], policy[n_human_actions[human]] */
void lud_empo_marginal_of(const lud_empo_layout *layout, const double *goal_weight, const double *record,
                          int human, double *policy);
