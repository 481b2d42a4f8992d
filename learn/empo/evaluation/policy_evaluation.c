#include "learn/empo/evaluation/policy_evaluation.h"

#include <math.h>
#include <stdlib.h>

#include "learn/empo/exact/chain.h"

double lud_empo_total_variation(const double *p, const double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(p[i] - q[i]);
    return sum / 2;
}

double lud_empo_kullback_leibler(const double *p, const double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0) sum += p[i] * log(p[i] / q[i]);
    return sum;
}

static void compare(const lud_empo_problem *problem, const double *best, const double *records,
                    const uint32_t *starts, int n_starts, lud_empo_policy_evaluation *j) {
    const lud_empo_layout *layout = &problem->layout;
    const uint64_t width = (uint64_t)layout->record_doubles;
    const int n_actions = layout->n_robot_actions;
    double weight = 0;
    for (uint64_t s = 0; s < problem->space->n_states; s++) {
        const double visits = j->visits[s];
        if (visits == 0 || lud_statespace_terminal(problem->space, s)) continue;
        const double *own = records + s * width, *other = best + s * width;
        weight += visits;
        j->mean_regret += visits * (other[layout->v_r] - own[layout->v_r]);
        j->divergence +=
            visits * lud_empo_total_variation(own + layout->pi_r, other + layout->pi_r, n_actions);
        j->kl += visits * lud_empo_kullback_leibler(own + layout->pi_r, other + layout->pi_r, n_actions);
    }
    if (weight > 0) {
        j->mean_regret /= weight;
        j->divergence /= weight;
        j->kl /= weight;
    }
    for (int i = 0; i < n_starts; i++) {
        const double *own = records + starts[i] * width, *other = best + starts[i] * width;
        j->v_r += own[layout->v_r] / n_starts;
        j->v_r_optimal += other[layout->v_r] / n_starts;
        for (int h = 0; h < layout->n_humans; h++) {
            j->power[h] += own[layout->x_h + h] / n_starts;
            j->power_optimal[h] += other[layout->x_h + h] / n_starts;
        }
        for (int g = 0; g < layout->n_goals; g++) j->v_h_e[g] += own[layout->v_h_e + g] / n_starts;
    }
}

lud_status lud_empo_policy_evaluation_create(const lud_empo_problem *problem, lud_empo_policy_evaluation *j,
                                             lud_error *error) {
    const size_t n_humans = (size_t)problem->layout.n_humans, n_goals = (size_t)problem->layout.n_goals;
    *j = (lud_empo_policy_evaluation){0};
    lud_arrays *a = &j->arrays;
    LUD_TAKE(a, j->power, n_humans);
    LUD_TAKE(a, j->power_optimal, n_humans);
    LUD_TAKE(a, j->power_interval, n_humans);
    LUD_TAKE(a, j->v_h_e, n_goals);
    LUD_TAKE(a, j->visits, problem->space->n_states);
    if (!a->failed) return LUD_OK;
    lud_empo_policy_evaluation_free(j);
    return lud_fail(error, LUD_ERROR_MEMORY, "no memory to evaluate a policy");
}

lud_status lud_empo_evaluate_policy(const lud_empo_problem *problem, const double *best,
                                    const uint32_t *starts, int n_starts, const lud_empo_hooks *robot,
                                    int n_threads, lud_empo_policy_evaluation *j, lud_error *error) {
    const size_t n = problem->space->n_states;
    lud_status status = lud_empo_policy_evaluation_create(problem, j, error);
    if (status) return status;
    double *records = malloc(n * (size_t)problem->layout.record_doubles * sizeof *records);
    if (!records) status = lud_fail(error, LUD_ERROR_MEMORY, "no memory to evaluate a policy");
    const lud_empo_run run = {
        .records = records, .hooks = robot, .n_threads = n_threads, .first_level = INT32_MAX};
    if (status == LUD_OK) status = lud_empo_solve(problem, &run, error);
    if (status == LUD_OK) status = lud_empo_visits(problem, records, starts, n_starts, j->visits, error);
    if (status == LUD_OK) compare(problem, best, records, starts, n_starts, j);
    free(records);
    if (status != LUD_OK) lud_empo_policy_evaluation_free(j);
    return status;
}

void lud_empo_policy_evaluation_free(lud_empo_policy_evaluation *evaluation) {
    lud_arrays_free(&evaluation->arrays);
    *evaluation = (lud_empo_policy_evaluation){0};
}
