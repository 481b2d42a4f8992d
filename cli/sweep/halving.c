#include "cli/sweep/halving.h"

#include <math.h>

#include <xxhash.h>

lud_status lud_halving_check(const lud_sweep *w, lud_error *error) {
    if (w->halving == 0 && (w->budget_iterations > 0 || w->budget_steps > 0))
        return lud_invalid(error, "--budget-%s is the first budget of --halving, which is not given",
                           w->budget_steps > 0 ? "steps" : "iterations");
    if (w->budget_iterations > 0 && w->budget_steps > 0)
        return lud_invalid(error, "--budget-iterations or --budget-steps, not both");
    return LUD_OK;
}

/* The first budget of a training where somebody said it. */
static lud_status given_budget(const lud_sweep *w, lud_experiment_training *t, lud_error *error) {
    t->first = (uint64_t)w->budget_iterations;
    if (w->budget_steps == 0) return LUD_OK;
    if (t->steps <= 0)
        return lud_invalid(error, "--budget-steps: the learner counts no environment steps; "
                                  "--budget-iterations counts its iterations");
    const double part = (double)w->budget_steps / (double)t->steps;
    t->first = (uint64_t)fmax(1.0, fmin(ceil(part * (double)t->iterations), (double)t->iterations));
    return LUD_OK;
}

static int budgets_of(const lud_experiment_training *t, int64_t halving) {
    int n = 1;
    for (uint64_t b = t->first; b < t->iterations && n < 64; b *= (uint64_t)halving) n++;
    return n;
}

/* Budgets after which one of n candidates is left, and that a training of so many iterations has room for. */
static int budgets_for(int n, uint64_t iterations, int64_t halving) {
    int budgets = 1;
    for (; n >= halving && iterations >= (uint64_t)halving; n /= (int)halving) {
        iterations /= (uint64_t)halving;
        budgets++;
    }
    return budgets;
}

lud_status lud_halving_plan(const lud_sweep *w, lud_experiment *e, int *n_budgets, lud_error *error) {
    const int n = e->n_tasks * e->n_variants;
    const bool given = w->budget_iterations > 0 || w->budget_steps > 0;
    *n_budgets = 1;
    if (w->halving == 0) return LUD_OK;
    if (!given) *n_budgets = 64;
    for (int k = 0; k < n; k++) {
        lud_experiment_training *t = &e->trainings[k];
        if (given) LUD_TRY(given_budget(w, t, error));
        const int own =
            given ? budgets_of(t, w->halving) : budgets_for(e->n_variants, t->iterations, w->halving);
        if (given ? own > *n_budgets : own < *n_budgets) *n_budgets = own;
    }
    for (int k = 0; k < n; k++) {
        lud_experiment_training *t = &e->trainings[k];
        if (!given) t->first = t->iterations;
        for (int b = 1; b < *n_budgets && !given; b++) t->first /= (uint64_t)w->halving;
        /* where it is evaluated decides what its score and its best parameters are */
        t->key = XXH3_64bits_withSeed(&t->first, sizeof t->first, t->key);
    }
    return LUD_OK;
}

uint64_t lud_halving_budget(const lud_experiment_training *t, int64_t halving, int budget, int n_budgets) {
    uint64_t b = t->first;
    if (budget >= n_budgets - 1) return t->iterations;
    for (int k = 0; k < budget && b < t->iterations; k++) b *= (uint64_t)halving;
    return b < t->iterations ? b : t->iterations;
}

/* Whether candidate a comes before b. */
static bool before(const double *score, bool least, int a, int b) {
    if (score[a] != score[b]) return least ? score[a] < score[b] : score[a] > score[b];
    return a < b;
}

int lud_halving_promote(const double *score, int n, int64_t halving, bool least, bool *part) {
    int n_part = 0, n_kept = 0, last = -1;
    for (int k = 0; k < n; k++) n_part += part[k];
    const int most = n_part / (int)halving > 0 ? n_part / (int)halving : 1;
    for (; n_kept < most; n_kept++) { /* the best behind the last one */
        int next = -1;
        for (int k = 0; k < n; k++) {
            if (!part[k] || isnan(score[k]) || (last >= 0 && !before(score, least, last, k))) continue;
            if (next < 0 || before(score, least, k, next)) next = k;
        }
        if (next < 0) break;
        last = next;
    }
    for (int k = 0; k < n; k++)
        part[k] = part[k] && !isnan(score[k]) && last >= 0 && !before(score, least, last, k);
    return n_kept;
}
