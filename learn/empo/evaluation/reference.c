#include "learn/empo/evaluation/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "learn/empo/exact/chain.h"
#include "learn/empo/exact/options.h"
#include "sim/statespace/statespace_build.h"

enum { RESETS = 2048 };

static int compare_states(const void *a, const void *b, void *bytes) {
    return memcmp(a, b, *(const size_t *)bytes);
}

/* The different states that resets lead to, in the order of their bytes; caller frees. */
static uint8_t *find_starts(const lud_model *model, uint64_t seed, int *n) {
    size_t bytes = model->layout.state_bytes;
    uint8_t *states = malloc(RESETS * bytes);
    uint32_t *ticks = calloc(RESETS, sizeof *ticks);
    *n = 0;
    if (states && ticks) {
        model->world->reset(model, (lud_range){.seed = seed, .n = RESETS, .tick = ticks}, states);
        qsort_r(states, RESETS, bytes, compare_states, &bytes);
        for (int i = 0; i < RESETS; i++)
            if (*n == 0 || memcmp(states + (size_t)(*n - 1) * bytes, states + (size_t)i * bytes, bytes) != 0)
                memmove(states + (size_t)(*n)++ * bytes, states + (size_t)i * bytes, bytes);
    }
    free(ticks);
    return states;
}

static lud_status build_space(lud_empo_reference *r, const lud_model *model, uint64_t seed,
                              uint64_t max_states, int n_threads, lud_error *error) {
    const size_t bytes = model->layout.state_bytes;
    uint8_t *states = find_starts(model, seed, &r->n_starts);
    r->starts = calloc((size_t)r->n_starts + 1, sizeof *r->starts);
    lud_status status = states && r->starts && r->n_starts ? LUD_OK : lud_no_memory(error, "starts");
    if (status == LUD_OK && max_states && (uint64_t)r->n_starts > max_states)
        status = lud_fail(error, LUD_ERROR_LIMIT, "%d different starts; at most %llu states were asked for",
                          r->n_starts, (unsigned long long)max_states);
    if (status == LUD_OK) {
        const lud_statespace_options options = {.starts = states,
                                                .n_starts = r->n_starts,
                                                .seed = seed,
                                                .max_states = max_states,
                                                .n_threads = n_threads};
        status = lud_statespace_build(model, &options, &r->space, error);
    }
    for (int i = 0; status == LUD_OK && i < r->n_starts; i++)
        r->starts[i] = lud_statespace_find(r->space, states + (size_t)i * bytes);
    free(states);
    return status;
}

lud_status lud_empo_count_states(const lud_model *model, uint64_t seed, uint64_t max_states, int n_threads,
                                 uint64_t *n, lud_error *error) {
    lud_empo_reference r = {0};
    lud_error large = {0};
    const lud_status status = build_space(&r, model, seed, max_states, n_threads, &large);
    *n = status == LUD_OK ? r.space->n_states : 0;
    lud_empo_reference_free(&r);
    if (status == LUD_OK || status == LUD_ERROR_LIMIT) return LUD_OK;
    return lud_fail(error, status, "%s", large.text);
}

/* Whether there is memory for two solutions, the exact one and that under a learned policy, for visits, and
 * for what was learned of every state. */
static lud_status check_memory(const lud_empo_reference *r, lud_error *error) {
    const lud_empo_layout *layout = &r->problem->layout;
    const int learned = 3 + layout->n_humans + 2 * layout->n_goals + 2 * layout->n_robot_actions;
    const double bytes =
        (double)r->space->n_states *
        (double)((size_t)(2 * layout->record_doubles + 4 + layout->n_goals + 1) * sizeof(double) +
                 (size_t)learned * sizeof(float));
    const double left = (double)lud_free_memory();
    char wanted[16], there[16];
    if (bytes <= left) return LUD_OK;
    return lud_fail(error, LUD_ERROR_LIMIT, "%llu states, compared, take %s and %s are free",
                    (unsigned long long)r->space->n_states, lud_format_memory(bytes, wanted),
                    lud_format_memory(left, there));
}

/* Who acts. */
typedef struct actors {
    lud_empo_policies people; /* first: their hooks read nothing else */
    const float *pi_r;        /* [n_states][n_robot_actions] of the robots; null: uniform */
} actors;

static void robot_hook(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    const actors *a = context;
    const int n = a->people.layout.n_robot_actions;
    (void)state;
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += pi_r[k] = a->pi_r ? (double)a->pi_r[index * (uint64_t)n + (uint64_t)k] : 1.0;
    for (int k = 0; k < n; k++) pi_r[k] /= sum;
}

static lud_empo_hooks hooks_of(const lud_empo_reference *r, const float *pi_r, actors *a) {
    lud_empo_hooks hooks;
    *a = (actors){{.model = r->space->model, .layout = r->problem->layout, .habit = r->people}, pi_r};
    lud_empo_policies_hook(&a->people, &hooks);
    hooks.context = a;
    return hooks;
}

static lud_status solve(lud_empo_reference *r, int n_threads, lud_error *error) {
    actors a;
    const lud_empo_hooks hooks = hooks_of(r, NULL, &a);
    const lud_empo_run run = {
        .records = r->records, .hooks = &hooks, .n_threads = n_threads, .first_level = INT32_MAX};
    return lud_empo_solve(r->problem, &run, error);
}

static lud_status evaluate(const lud_empo_reference *r, const float *pi_r, int n_threads,
                           lud_empo_policy_evaluation *evaluation, lud_error *error) {
    actors a;
    lud_empo_hooks hooks = hooks_of(r, pi_r, &a);
    hooks.robot = robot_hook;
    return lud_empo_evaluate_policy(r->problem, r->records, r->starts, r->n_starts, &hooks, n_threads,
                                    evaluation, error);
}

lud_status lud_empo_reference_create(const lud_model *model, const lud_empo_theory *theory,
                                     lud_policy *people, uint64_t seed, uint64_t max_states, int n_threads,
                                     lud_empo_reference *r, lud_error *error) {
    *r = (lud_empo_reference){.people = people};
    lud_empo_theory own = *theory;
    own.nu_h = people ? 1.0 : 0.0; /* habit alone, or equation (2) alone */
    lud_status status = build_space(r, model, seed, max_states, n_threads, error);
    if (status == LUD_OK) status = lud_empo_problem_create(r->space, &own, &r->problem, error);
    if (status == LUD_OK) status = check_memory(r, error);
    if (status == LUD_OK) {
        const size_t n = r->space->n_states;
        r->records = calloc(n * (size_t)r->problem->layout.record_doubles, sizeof *r->records);
        r->visits = calloc(n, sizeof *r->visits);
        status = r->records && r->visits ? solve(r, n_threads, error)
                                         : lud_no_memory(error, "the values of %zu states", n);
    }
    if (status == LUD_OK)
        status = lud_empo_visits(r->problem, r->records, r->starts, r->n_starts, r->visits, error);
    if (status == LUD_OK) status = evaluate(r, NULL, n_threads, &r->random, error);
    if (status) lud_empo_reference_free(r);
    r->solved = status == LUD_OK;
    return status;
}

lud_status lud_empo_reference_ensure(const lud_scenario *scenario, const lud_empo_theory *theory,
                                     lud_policy *people, int64_t max_states, lud_progress *progress,
                                     lud_empo_reference *r, lud_error *error) {
    if (max_states == 0 || r->solved || r->missing) return LUD_OK;
    LUD_TRY(lud_progress_stage_beat(progress, "the exact solution", 0, error));
    lud_error reason = {0};
    const lud_status status =
        lud_empo_reference_create(scenario->model, theory, people, (uint64_t)scenario->run.seed,
                                  (uint64_t)max_states, (int)scenario->run.threads, r, &reason);
    r->missing = status == LUD_ERROR_LIMIT || status == LUD_ERROR_INPUT;
    r->reason = reason;
    if (status && !r->missing && error) *error = reason;
    return r->missing ? LUD_OK : status;
}

void lud_empo_reference_report_missing(const lud_empo_reference *r, lud_text *out) {
    if (!r->missing) return;
    lud_text_append(out, "\nnot compared with an exact solution%s: %s\n",
                    r->reason.status == LUD_ERROR_LIMIT ? " (exact_max_states)" : ", as there is none",
                    r->reason.text);
}

void lud_empo_reference_free(lud_empo_reference *r) {
    LUD_FREE(r->records, r->visits, r->starts);
    lud_empo_policy_evaluation_free(&r->random);
    lud_empo_problem_destroy(r->problem);
    lud_statespace_destroy(r->space);
    *r = (lud_empo_reference){0};
}

static double relative(double learned, double exact) {
    return fabs(learned - exact) / fabs(exact);
}

/* In states whose every successor is terminal Q_r is the terminal value, next to nothing: relative errors
 * would say nothing there. */
static bool last_step(const lud_empo_reference *r, uint64_t s) {
    for (int32_t k = 0; k < r->space->n_joint_actions; k++) {
        const lud_statespace_row row = lud_statespace_get_row(r->space, s, k);
        for (uint32_t i = 0; i < row.n; i++)
            if (!lud_statespace_terminal(r->space, row.successor[i])) return false;
    }
    return true;
}

/* Relative errors of V_r and X_h, mean over states by weight (null: each non-terminal state counts once). */
static lud_empo_errors mean_errors(const lud_empo_reference *r, const lud_empo_learned *l,
                                   const double *weight) {
    const lud_empo_layout *layout = &r->problem->layout;
    const int n_humans = layout->n_humans;
    lud_empo_errors mean = {0};
    double total = 0;
    for (uint64_t s = 0; s < r->space->n_states; s++) {
        const double w = weight ? weight[s] : 1.0;
        if (w == 0 || lud_statespace_terminal(r->space, s)) continue;
        const double *exact = r->records + s * (uint64_t)layout->record_doubles;
        total += w;
        mean.v_r += w * relative((double)l->v_r[s], exact[layout->v_r]);
        for (int h = 0; h < n_humans; h++)
            mean.x_h +=
                w / n_humans *
                relative((double)l->x_h[s * (uint64_t)n_humans + (uint64_t)h], exact[layout->x_h + h]);
    }
    mean.v_r /= total;
    mean.x_h /= total;
    return mean;
}

static lud_status compare_policies(const lud_empo_reference *r, const lud_empo_learned *l,
                                   lud_empo_distance *d, lud_error *error) {
    const lud_empo_layout *layout = &r->problem->layout;
    const int n_goals = layout->n_goals, n_actions = layout->n_robot_actions;
    double total = 0, total_q = 0;
    double *pi = malloc((size_t)n_actions * sizeof *pi);
    if (!pi) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to compare %d actions", n_actions);
    for (uint64_t s = 0; s < r->space->n_states; s++) {
        const double w = r->visits[s];
        if (w == 0 || lud_statespace_terminal(r->space, s)) continue;
        const double *exact = r->records + s * (uint64_t)layout->record_doubles;
        total += w;
        for (int g = 0; g < n_goals; g++)
            d->v_h_e +=
                w / n_goals *
                fabs((double)l->v_h_e[s * (uint64_t)n_goals + (uint64_t)g] - exact[layout->v_h_e + g]);
        if (last_step(r, s)) continue;
        total_q += w;
        for (int a = 0; a < n_actions; a++) {
            pi[a] = (double)l->pi_r[s * (uint64_t)n_actions + (uint64_t)a];
            d->q_r += w / n_actions *
                      relative((double)l->q_r[s * (uint64_t)n_actions + (uint64_t)a], exact[layout->q_r + a]);
        }
        d->divergence += w * lud_empo_total_variation(pi, exact + layout->pi_r, n_actions);
        d->kl += w * lud_empo_kullback_leibler(pi, exact + layout->pi_r, n_actions);
    }
    free(pi);
    d->v_h_e /= total;
    if (total_q > 0) {
        d->q_r /= total_q;
        d->divergence /= total_q;
        d->kl /= total_q;
    }
    return LUD_OK;
}

lud_status lud_empo_reference_compare(const lud_empo_reference *r, const lud_empo_learned *learned,
                                      int n_threads, lud_empo_distance *d, lud_error *error) {
    *d = (lud_empo_distance){0};
    lud_empo_policy_evaluation own;
    LUD_TRY(evaluate(r, learned->pi_r, n_threads, &own, error));
    d->exact = mean_errors(r, learned, r->visits);
    d->learned = mean_errors(r, learned, own.visits);
    d->random = mean_errors(r, learned, r->random.visits);
    d->everywhere = mean_errors(r, learned, NULL);
    lud_status status = compare_policies(r, learned, d, error);
    for (int i = 0; i < r->n_starts; i++)
        d->start_learned += (double)learned->v_r[r->starts[i]] / r->n_starts;
    d->start_v_r = own.v_r_optimal;
    d->policy_v_r = own.v_r;
    d->random_v_r = r->random.v_r;
    const double gap = d->start_v_r - d->random_v_r;
    d->regret = gap > 0 ? (d->start_v_r - d->policy_v_r) / gap : 0;
    lud_empo_policy_evaluation_free(&own);
    return status;
}
