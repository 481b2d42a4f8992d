/* One state of exact EMPO: equations (1) to (9) of Heitzig & Potham, arXiv 2508.00159, over raw arrays. The
 * only place where they are written: the CPU's sweep (exact.c), the CUDA kernels
 * (sweep_cuda.cu) and the learners (learn/empo/theory.c) all call these functions.
 *
 * A state is worked on by `lanes` threads that call a function together, each with its own `lane`: one thread
 * on the CPU, a warp on CUDA. Lanes share columns (goals, robot actions); LUD_EMPO_MEET stands wherever one
 * lane goes on to read what another has written. Every number is summed in the same order whatever the number
 * of lanes, so results differ between devices by what exp, log and pow differ. */
#pragma once

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef LUD_EMPO_CODE /* sweep_cuda.cu gives both another meaning */
#define LUD_EMPO_CODE   static inline
#define LUD_EMPO_MEET() ((void)0)
#endif

/* What holds for every state. The arrays are in the memory of the device that works. */
typedef struct lud_empo_game {
    int32_t n_humans, n_goals, n_robot_actions, n_profiles; /* profiles: joint actions of all people */
    int32_t n_joint_actions, max_actions;                   /* max_actions: of one person */
    int32_t n_policies;                                     /* policy_begin[n_humans] */
    int32_t n_beliefs; /* of a state: sum over people of actions * n_profiles */
    /* a record: V_r, U_r, X_h[n_humans], V_h^e[n_goals], V_h^m[n_goals], Q_r and pi_r[n_robot_actions],
     * policies: for each person [goals][actions]; where each part begins */
    int32_t v_r, u_r, x_h, v_h_e, v_h_m, q_r, pi_r, policies, record_doubles;
    int32_t width; /* of a row of credits: [n_goals] under V_h^m, [n_goals] under V_h^e, V_r, padding */
    const int32_t *n_actions, *noop;          /* [n_humans]; the action that does nothing */
    const int32_t *goal_begin, *policy_begin; /* [n_humans + 1] */
    const int32_t *joint_of;                  /* [n_profiles][n_robot_actions] joint action */
    const int32_t
        *own_action; /* [n_humans][n_profiles] lud_empo_profile_action, looked up instead of divided */
    const double *goal_weight; /* [n_goals] */
    double beta_h, gamma_h, nu_h, gamma_r, beta_r, zeta, xi, eta;
    double terminal_value, reward_weight; /* V_r of a terminal state; weight of U_r in (9) */
    double power_floor;                   /* least X_h; 0: a person without power is told */
    bool optimistic, mean;                /* max instead of min in (1); mean instead of sum in (8) */
} lud_empo_game;

/* What a state brings along; null pointers: computed. */
typedef struct lud_empo_state_inputs {
    const uint8_t *achieved; /* [n_goals] */
    const double *habit;     /* [n_policies] what people do by habit */
    const double *belief;    /* [n_beliefs] for each person and own action: probability of every profile */
    const double *robot;     /* [n_robot_actions] the robots' policy instead of (5) */
} lud_empo_state_inputs;

/* Working memory of a state. row[n_joint_actions] points to rows of expected credits. */
typedef struct lud_empo_scratch {
    const double **row;
    double *expected;   /* [n_joint_actions][width] */
    double *worst;      /* [n_profiles][n_goals] */
    double *q_h;        /* [max_actions][n_goals] */
    double *mean_robot; /* [n_profiles][n_goals] */
    double *marginal;   /* [n_humans][max_actions] */
    double *profile;    /* [n_profiles] */
} lud_empo_scratch;

/* Its size in doubles, and its parts in memory of that size. */
LUD_EMPO_CODE size_t lud_empo_scratch_doubles(const lud_empo_game *game) {
    size_t joint = (size_t)game->n_joint_actions, goals = (size_t)game->n_goals,
           profiles = (size_t)game->n_profiles;
    return joint * (size_t)game->width + joint + 2 * profiles * goals + (size_t)game->max_actions * goals +
           (size_t)(game->n_humans * game->max_actions) + profiles;
}
LUD_EMPO_CODE lud_empo_scratch lud_empo_scratch_in(const lud_empo_game *game, double *memory) {
    lud_empo_scratch s;
    s.expected = memory;
    memory += (size_t)game->n_joint_actions * (size_t)game->width;
    s.row = (const double **)(void *)memory; /* a pointer takes no more than a double */
    memory += game->n_joint_actions;
    s.worst = memory;
    memory += (size_t)game->n_profiles * (size_t)game->n_goals;
    s.mean_robot = memory;
    memory += (size_t)game->n_profiles * (size_t)game->n_goals;
    s.q_h = memory;
    memory += (size_t)game->max_actions * (size_t)game->n_goals;
    s.marginal = memory;
    memory += game->n_humans * game->max_actions;
    s.profile = memory;
    return s;
}

/* ---- single equations ---- */

/* (2) without habit: policy[n] = softmax(beta q), exact ties shared equally when beta is infinite. q[a *
 * stride] */
LUD_EMPO_CODE void lud_empo_softmax(double beta, const double *q, int stride, int n, double *policy) {
    double best = q[0], total = 0;
    for (int a = 1; a < n; a++)
        if (q[a * stride] > best) best = q[a * stride];
    for (int a = 0; a < n; a++) {
        policy[a] = isinf(beta) ? (q[a * stride] == best) : exp(beta * (q[a * stride] - best));
        total += policy[a];
    }
    for (int a = 0; a < n; a++) policy[a] /= total;
}

/* (5): policy[n] proportional to (-q)^(-beta), all q < 0, computed in logarithms */
LUD_EMPO_CODE void lud_empo_power_policy(double beta, const double *q, int n, double *policy) {
    double best = -INFINITY, total = 0;
    for (int a = 0; a < n; a++) {
        assert(q[a] < 0);
        policy[a] = -beta * log(-q[a]);
        if (policy[a] > best) best = policy[a];
    }
    for (int a = 0; a < n; a++) {
        policy[a] = exp(policy[a] - best);
        total += policy[a];
    }
    for (int a = 0; a < n; a++) policy[a] /= total;
}

/* pow, but exact and cheap for the exponents that people use most */
LUD_EMPO_CODE double lud_empo_power_of(double base, double exponent) {
    if (exponent == 1) return base;
    if (exponent == 2) return base * base;
    return pow(base, exponent);
}

/* (7): X_h = sum_g w_g V_h^e(g)^zeta */
LUD_EMPO_CODE double lud_empo_power_sum(double zeta, const double *values, const double *weights,
                                        int n_goals) {
    double sum = 0;
    for (int g = 0; g < n_goals; g++) sum += weights[g] * lud_empo_power_of(values[g], zeta);
    return sum;
}

/* (8): U_r = -(mean or sum over people of X_h^-xi)^eta; 0 people: 0 */
LUD_EMPO_CODE double lud_empo_reward_of(bool mean, double xi, double eta, const double *power, int n_humans) {
    if (n_humans == 0) return 0;
    double y = 0;
    for (int h = 0; h < n_humans; h++) y += 1 / lud_empo_power_of(power[h], xi);
    if (mean) y /= n_humans;
    return -lud_empo_power_of(y, eta);
}

/* pi_h(a) = sum_g w_g pi_h(a|g), normalised. policies[n_goals][n_actions] */
LUD_EMPO_CODE void lud_empo_marginal(const double *goal_weight, const double *policies, int n_goals,
                                     int n_actions, double *marginal) {
    double total = 0;
    for (int a = 0; a < n_actions; a++) marginal[a] = 0;
    for (int g = 0; g < n_goals; g++)
        for (int a = 0; a < n_actions; a++) marginal[a] += goal_weight[g] * policies[g * n_actions + a];
    for (int a = 0; a < n_actions; a++) total += marginal[a];
    for (int a = 0; a < n_actions; a++) marginal[a] = total > 0 ? marginal[a] / total : 1.0 / n_actions;
}

/* A person's own action within a joint human action, person 0 fastest. */
LUD_EMPO_CODE int lud_empo_profile_action(const int32_t *n_actions, int human, int profile) {
    for (int h = 0; h < human; h++) profile /= n_actions[h];
    return profile % n_actions[human];
}

/* Joint human actions in which a person does action 0, from 0 on; that with action a is a * stride further,
 * where stride is the product of the numbers of actions of the people before. */
LUD_EMPO_CODE int lud_empo_next_others(int profile, int stride, int n_actions) {
    profile++;
    return profile % stride == 0 ? profile + stride * (n_actions - 1) : profile;
}

/* Product of the marginals of all people but `except` (-1: of all) for a joint human action. */
LUD_EMPO_CODE double lud_empo_profile_probability(const lud_empo_game *game, const double *marginal,
                                                  int profile, int except) {
    double p = 1;
    for (int h = 0; h < game->n_humans; h++)
        if (h != except)
            p *= marginal[h * game->max_actions + game->own_action[h * game->n_profiles + profile]];
    return p;
}

/* ---- the sweep's steps on one state ---- */

/* Rows of credits are kept for `rows` states: state s has row s % rows. The inverse stands for the division.
 */
typedef struct lud_empo_window {
    uint64_t rows, inverse; /* 2^32 / rows, rounded down */
} lud_empo_window;

static inline lud_empo_window lud_empo_window_of(uint64_t rows) {
    lud_empo_window window;
    window.rows = rows;
    window.inverse = ((uint64_t)1 << 32) / rows;
    return window;
}

LUD_EMPO_CODE uint64_t lud_empo_row_of(lud_empo_window window, uint32_t state) {
    uint64_t quotient = (state * window.inverse) >> 32; /* at most one too small */
    uint64_t row = state - quotient * window.rows;
    return row < window.rows ? row : row - window.rows;
}

/* sum[width] = sum of probability[i] * credits of successor[i], whose rows are those of
 * credits[window][width] */
LUD_EMPO_CODE void lud_empo_expectation(const double *credits, lud_empo_window window, int width, uint32_t n,
                                        const uint32_t *successor, const double *probability, double *sum,
                                        int lane, int lanes) {
    for (int j = lane; j < width; j += lanes) sum[j] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double *credit = credits + lud_empo_row_of(window, successor[i]) * (uint64_t)width;
        double p = probability[i];
        for (int j = lane; j < width; j += lanes) sum[j] += p * credit[j];
    }
}

/* Columns that one lane works on at once: compilers keep them in vectors. Where lanes share columns, and for
 * the last ones, it is one. */
enum { LUD_EMPO_COLUMNS = 4 };

/* worst[n]: min (max if optimistic) over a joint human action's rows, columns first to first + n - 1. */
LUD_EMPO_CODE void lud_empo_worst_columns(const lud_empo_game *game, const lud_empo_scratch *t,
                                          const int32_t *joint, int first, int n, double *worst) {
    double least[LUD_EMPO_COLUMNS];
    for (int c = 0; c < n; c++) least[c] = t->row[joint[0]][first + c];
    for (int r = 1; r < game->n_robot_actions; r++) {
        const double *row = t->row[joint[r]] + first;
        if (game->optimistic)
            for (int c = 0; c < n; c++) least[c] = row[c] > least[c] ? row[c] : least[c];
        else
            for (int c = 0; c < n; c++) least[c] = row[c] < least[c] ? row[c] : least[c];
    }
    for (int c = 0; c < n; c++) worst[c] = least[c];
}

/* mean[n]: the same rows weighted by pi_r. */
LUD_EMPO_CODE void lud_empo_mean_columns(const lud_empo_game *game, const lud_empo_scratch *t,
                                         const int32_t *joint, const double *pi_r, int first, int n,
                                         double *mean) {
    double sum[LUD_EMPO_COLUMNS] = {0};
    for (int r = 0; r < game->n_robot_actions; r++) {
        const double *row = t->row[joint[r]] + first;
        for (int c = 0; c < n; c++) sum[c] += pi_r[r] * row[c];
    }
    for (int c = 0; c < n; c++) mean[c] = sum[c];
}

/* (4) for robot actions first to first + n - 1: q_r[n] */
LUD_EMPO_CODE void lud_empo_robot_values(const lud_empo_game *game, const lud_empo_scratch *t, int first,
                                         int n, double *q_r) {
    double sum[LUD_EMPO_COLUMNS] = {0};
    for (int profile = 0; profile < game->n_profiles; profile++) {
        const int32_t *joint = game->joint_of + profile * game->n_robot_actions + first;
        const double p = t->profile[profile];
        for (int c = 0; c < n; c++) sum[c] += p > 0 ? p * t->row[joint[c]][2 * game->n_goals] : 0.0;
    }
    for (int c = 0; c < n; c++) q_r[c] = sum[c];
}

/* min (max if optimistic) over robot actions, for every joint human action and goal: the inner part of (1) */
LUD_EMPO_CODE void lud_empo_worst_case(const lud_empo_game *game, lud_empo_scratch *t, int lane, int lanes) {
    int n_goals = game->n_goals;
    for (int profile = 0; profile < game->n_profiles; profile++) {
        double *worst = t->worst + profile * n_goals;
        const int32_t *joint = game->joint_of + profile * game->n_robot_actions;
        int g = lane;
        for (; lanes == 1 && g + LUD_EMPO_COLUMNS <= n_goals; g += LUD_EMPO_COLUMNS)
            lud_empo_worst_columns(game, t, joint, g, LUD_EMPO_COLUMNS, worst + g);
        for (; g < n_goals; g += lanes) lud_empo_worst_columns(game, t, joint, g, 1, worst + g);
    }
}

/* Equations (1) to (3) for every person: Q_h^m, the policy for every goal, V_h^m. Needs t->row. */
LUD_EMPO_CODE void lud_empo_phase_1(const lud_empo_game *game, lud_empo_scratch *t,
                                    const lud_empo_state_inputs *inputs, double *record, int lane,
                                    int lanes) {
    int n_goals = game->n_goals, n_profiles = game->n_profiles;
    const double *belief = inputs->belief;
    lud_empo_worst_case(game, t, lane, lanes);
    LUD_EMPO_MEET();
    for (int h = 0, stride = 1; h < game->n_humans; stride *= game->n_actions[h++]) {
        int n_actions = game->n_actions[h], begin = game->goal_begin[h], end = game->goal_begin[h + 1];
        double uniform = (double)n_actions / n_profiles;

        /* (1): the average over what the others might do */
        for (int a = 0; a < n_actions; a++)
            for (int g = begin + lane; g < end; g += lanes) t->q_h[a * n_goals + g] = 0;
        for (int first = 0; first < n_profiles; first = lud_empo_next_others(first, stride, n_actions))
            for (int a = 0; a < n_actions; a++) {
                const int profile = first + a * stride;
                double weight = belief ? belief[a * n_profiles + profile] : uniform;
                double *q = t->q_h + a * n_goals;
                const double *worst = t->worst + profile * n_goals;
                for (int g = begin + lane; g < end; g += lanes) q[g] += weight * worst[g];
            }
        if (belief) belief += n_actions * n_profiles;

        for (int g = begin + lane; g < end; g += lanes) {
            int at = game->policy_begin[h] + (g - begin) * n_actions;
            double *policy = record + game->policies + at;
            const double *q = t->q_h + g;
            if (inputs->achieved[g]) { /* nothing is left to do: achievement was credited on entering */
                for (int a = 0; a < n_actions; a++) policy[a] = a == game->noop[h];
            } else {
                lud_empo_softmax(game->beta_h, q, n_goals, n_actions, policy);
            }
            for (int a = 0; a < n_actions && inputs->habit; a++) /* (2) */
                policy[a] = game->nu_h * inputs->habit[at + a] + (1 - game->nu_h) * policy[a];
            double value = 0; /* (3) */
            for (int a = 0; a < n_actions; a++) value += policy[a] * q[a * n_goals];
            record[game->v_h_m + g] = inputs->achieved[g] ? 0 : value;
        }
        LUD_EMPO_MEET(); /* the next person may have its goals on other lanes */
    }
}

/* How likely each joint action of people is under the policies in a record, whatever they want: t->profile.
 */
LUD_EMPO_CODE void lud_empo_profiles(const lud_empo_game *game, lud_empo_scratch *t, const double *record,
                                     int lane, int lanes) {
    for (int h = lane; h < game->n_humans; h += lanes)
        lud_empo_marginal(game->goal_weight + game->goal_begin[h],
                          record + game->policies + game->policy_begin[h],
                          game->goal_begin[h + 1] - game->goal_begin[h], game->n_actions[h],
                          t->marginal + h * game->max_actions);
    LUD_EMPO_MEET();
    for (int profile = lane; profile < game->n_profiles; profile += lanes)
        t->profile[profile] = lud_empo_profile_probability(game, t->marginal, profile, -1);
    LUD_EMPO_MEET();
}

/* Equations (4) to (9), after phase 1. Returns -1, or a person without power: then the record is not
 * finished. */
LUD_EMPO_CODE int lud_empo_phase_2(const lud_empo_game *game, lud_empo_scratch *t,
                                   const lud_empo_state_inputs *inputs, double *record, int lane, int lanes) {
    int n_goals = game->n_goals, n_robot = game->n_robot_actions, n_profiles = game->n_profiles;
    lud_empo_profiles(game, t, record, lane, lanes);
    double *q_r = record + game->q_r, *pi_r = record + game->pi_r;
    int own = lane; /* (4) */
    for (; lanes == 1 && own + LUD_EMPO_COLUMNS <= n_robot; own += LUD_EMPO_COLUMNS)
        lud_empo_robot_values(game, t, own, LUD_EMPO_COLUMNS, q_r + own);
    for (; own < n_robot; own += lanes) lud_empo_robot_values(game, t, own, 1, q_r + own);
    for (int r = lane; r < n_robot && inputs->robot; r += lanes) pi_r[r] = inputs->robot[r];
    LUD_EMPO_MEET();
    if (!inputs->robot && lane == 0) lud_empo_power_policy(game->beta_r, q_r, n_robot, pi_r); /* (5) */
    LUD_EMPO_MEET();

    for (int profile = 0; profile < n_profiles; profile++) {
        double *mean = t->mean_robot + profile * n_goals;
        const int32_t *joint = game->joint_of + profile * n_robot;
        int g = lane;
        for (; lanes == 1 && g + LUD_EMPO_COLUMNS <= n_goals; g += LUD_EMPO_COLUMNS)
            lud_empo_mean_columns(game, t, joint, pi_r, n_goals + g, LUD_EMPO_COLUMNS, mean + g);
        for (; g < n_goals; g += lanes) lud_empo_mean_columns(game, t, joint, pi_r, n_goals + g, 1, mean + g);
    }
    LUD_EMPO_MEET();
    double *v_h_e = record + game->v_h_e;
    for (int h = 0, stride = 1; h < game->n_humans; stride *= game->n_actions[h++]) {
        int begin = game->goal_begin[h], end = game->goal_begin[h + 1], n_actions = game->n_actions[h];
        for (int a = 0; a < n_actions; a++)
            for (int g = begin + lane; g < end; g += lanes) t->q_h[a * n_goals + g] = 0;
        for (int first = 0; first < n_profiles; first = lud_empo_next_others(first, stride, n_actions)) {
            double others = lud_empo_profile_probability(game, t->marginal, first, h);
            if (others == 0) continue;
            for (int a = 0; a < n_actions; a++) {
                double *value = t->q_h + a * n_goals;
                const double *mean = t->mean_robot + (first + a * stride) * n_goals;
                for (int g = begin + lane; g < end; g += lanes) value[g] += others * mean[g];
            }
        }
        for (int g = begin + lane; g < end; g += lanes) { /* (6) */
            const double *policy = record + game->policies + game->policy_begin[h] + (g - begin) * n_actions;
            double sum = 0;
            for (int a = 0; a < n_actions; a++) sum += policy[a] * t->q_h[a * n_goals + g];
            v_h_e[g] = sum;
        }
        LUD_EMPO_MEET();
        /* (7), by every lane, so that all of them know */
        double power = lud_empo_power_sum(game->zeta, v_h_e + begin, game->goal_weight + begin, end - begin);
        if (power < game->power_floor) power = game->power_floor;
        if (lane == 0) record[game->x_h + h] = power;
        if (!(power > 0)) return h;
    }
    if (lane == 0) {
        double u_r =
            lud_empo_reward_of(game->mean, game->xi, game->eta, record + game->x_h, game->n_humans); /* (8) */
        double value = game->reward_weight * u_r;                                                    /* (9) */
        for (int r = 0; r < n_robot; r++) value += pi_r[r] * q_r[r];
        record[game->u_r] = u_r;
        record[game->v_r] = value;
    }
    return -1;
}

LUD_EMPO_CODE void lud_empo_terminal_state(const lud_empo_game *game, double *record, int lane, int lanes) {
    for (int i = lane; i < game->record_doubles; i += lanes)
        record[i] = i == game->v_r ? game->terminal_value : 0;
}

/* row[width]: what the state is worth to earlier ones, "1 if achieved, else gamma V" */
LUD_EMPO_CODE void lud_empo_give_credit(const lud_empo_game *game, const uint8_t *achieved,
                                        const double *record, double *row, int lane, int lanes) {
    int n_goals = game->n_goals;
    for (int g = lane; g < n_goals; g += lanes) {
        row[g] = achieved[g] ? 1 : game->gamma_h * record[game->v_h_m + g];
        row[n_goals + g] = achieved[g] ? 1 : game->gamma_h * record[game->v_h_e + g];
    }
    if (lane == 0) row[2 * n_goals] = game->gamma_r * record[game->v_r];
}

/* ---- many states of one level, on a device ---- */

/* All arrays in the device's memory; the game's arrays too, the structs themselves on the host. */
typedef struct lud_empo_batch {
    const lud_empo_game *game;
    int64_t n;                 /* states */
    const uint32_t *state;     /* [n] their numbers */
    const uint32_t *begin;     /* [n * n_joint_actions + 1] into the next two */
    const uint32_t *successor; /* state numbers */
    const double *probability;
    const uint8_t *terminal;              /* [n] */
    const uint8_t *achieved;              /* [n][n_goals] */
    const double *habit, *belief, *robot; /* [n][...] as in lud_empo_state_inputs; may be null */
    lud_empo_window window;
    double *credits; /* [window][width] */
    double *records; /* [n][record_doubles] */
    int32_t *failed; /* [n] person without power, or -1 */
    double *scratch; /* [n][lud_empo_scratch_doubles]: phase 1 leaves there what phase 2 needs */
} lud_empo_batch;

/* What sweep_cuda.cu gives to exact_device.c, exported by the device's module as lud_empo_sweep_cuda: rows of
 * expected credits and equations (1) to (3), then (4) to (9), then the states' own rows of credits. */
struct lud_device;
typedef struct lud_empo_sweep_code {
    void (*phase_1)(struct lud_device *device, const lud_empo_batch *batch);
    void (*phase_2)(struct lud_device *device, const lud_empo_batch *batch);
    void (*credits)(struct lud_device *device, const lud_empo_batch *batch);
} lud_empo_sweep_code;
