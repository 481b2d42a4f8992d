/* How far the learned behaviour is from the exact one (learn/empo/phase1/phase1.h). */
#include <math.h>
#include <string.h>

#include "learn/empo/phase1/phase1.h"
#include "learn/nn/arrays.h"

typedef lud_empo_phase1_learner phase1;

enum { BLOCK = 256 }; /* states evaluated at once */

#define EVALUATION(X)                                                                                        \
    X(v_h_m, "exact/v_h_m_error", "%.3f", "mean absolute error of V_h^m, goals not yet achieved")            \
    X(v_h_m_everywhere, "exact/v_h_m_error_everywhere", NULL, "the same over all states")                    \
    X(divergence, "exact/policy_divergence", "%.3f", "total variation between learned and exact pi_h")       \
    X(divergence_everywhere, "exact/policy_divergence_everywhere", NULL, "the same over all states")         \
    X(kl, "exact/policy_kl", NULL, "KL(learned || exact) of pi_h in nats")                                   \
    X(marginal, "exact/marginal_divergence", NULL, "total variation between the marginal policies")

const lud_metric lud_empo_phase1_evaluation_columns[] = {EVALUATION(LUD_COLUMN_METRIC)};
enum { N_EVALUATION = sizeof lud_empo_phase1_evaluation_columns / sizeof(lud_metric) };
const int lud_empo_phase1_n_evaluation_columns = N_EVALUATION;

typedef struct block {
    lud_arrays arrays;
    int32_t *record; /* [BLOCK][words] */
    const int32_t *records[BLOCK];
    double *policies, *value, *marginals; /* of BLOCK states */
} block;

static bool make_block(const phase1 *p, block *b) {
    const lud_empo_layout *layout = &p->net.features.layout;
    *b = (block){0};
    LUD_TAKE(&b->arrays, b->record, BLOCK * (size_t)p->net.features.words);
    LUD_TAKE(&b->arrays, b->policies, BLOCK * (size_t)layout->policy_begin[layout->n_humans]);
    LUD_TAKE(&b->arrays, b->value, BLOCK * (size_t)layout->n_goals);
    LUD_TAKE(&b->arrays, b->marginals, BLOCK * (size_t)(layout->n_humans * p->net.n_actions));
    return !b->arrays.failed;
}

/* The exact policy may rule out what the learned one does: the divergence stays finite. */
static double kullback_leibler(const double *p, const double *q, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0) sum += p[i] * log(p[i] / fmax(q[i], 1e-300));
    return sum;
}

/* One state: adds to the sums of `d`, weights to *visited, *open and *people. */
static void compare_state(const phase1 *p, const block *b, size_t i, uint64_t s, lud_empo_phase1_distance *d,
                          double *visited, double *open, double *people) {
    const lud_empo_layout *layout = &p->net.features.layout;
    const double *exact = p->reference.records + s * (uint64_t)layout->record_doubles;
    const double *policy = b->policies + i * (size_t)layout->policy_begin[layout->n_humans];
    const double *value = b->value + i * (size_t)layout->n_goals, weight = p->reference.visits[s];
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h];
        double own[256];
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            const int goal = g - layout->goal_begin[h];
            if (lud_empo_features_achieved(&p->net.features, b->records[i], h, goal)) continue;
            const int at = layout->policy_begin[h] + goal * n;
            const double v = fabs(value[g] - exact[layout->v_h_m + g]);
            const double distance = lud_empo_total_variation(policy + at, exact + layout->policies + at, n);
            d->v_h_m_everywhere += v;
            d->divergence_everywhere += distance;
            *open += 1;
            d->v_h_m += weight * v;
            d->divergence += weight * distance;
            d->kl += weight * kullback_leibler(policy + at, exact + layout->policies + at, n);
            *visited += weight;
        }
        lud_empo_marginal_of(layout, p->net.features.goal_weight, exact, h, own);
        const double *learned =
            b->marginals + (i * (size_t)layout->n_humans + (size_t)h) * (size_t)p->net.n_actions;
        d->marginal += weight * lud_empo_total_variation(learned, own, n);
        *people += weight;
    }
}

static lud_status compare(phase1 *p, block *b, lud_error *error) {
    const lud_statespace *space = p->reference.space;
    lud_empo_phase1_distance d = {0};
    double visited = 0, open = 0, people = 0;
    for (uint64_t first = 0; first < space->n_states; first += BLOCK) {
        LUD_TRY(lud_progress_stage_beat(p->base.progress, "the comparison",
                                        (double)first / (double)space->n_states, error));
        const size_t n = space->n_states - first < BLOCK ? (size_t)(space->n_states - first) : BLOCK;
        for (size_t i = 0; i < n; i++) {
            int32_t *record = b->record + i * (size_t)p->net.features.words;
            lud_empo_features_encode(&p->net.features, space->states + (first + i) * space->state_bytes,
                                     record);
            b->records[i] = record;
        }
        lud_empo_human_net_policies(&p->net, (int64_t)n, b->records, b->policies, b->value);
        lud_empo_human_net_marginals(&p->net, (int64_t)n, b->records, b->marginals);
        for (size_t i = 0; i < n; i++)
            if (!lud_statespace_terminal(space, first + i))
                compare_state(p, b, i, first + i, &d, &visited, &open, &people);
    }
    d.v_h_m /= fmax(visited, 1e-300);
    d.divergence /= fmax(visited, 1e-300);
    d.kl /= fmax(visited, 1e-300);
    d.v_h_m_everywhere /= fmax(open, 1);
    d.divergence_everywhere /= fmax(open, 1);
    d.marginal /= fmax(people, 1e-300);
    p->distance = d;
    p->evaluated = true;
    return LUD_OK;
}

lud_status lud_empo_phase1_evaluate(lud_learner *learner, double *row, lud_error *error) {
    phase1 *p = (phase1 *)learner;
    lud_status status =
        lud_empo_reference_ensure(p->scenario, &p->options.theory, NULL, p->options.exact_max_states,
                                  p->base.progress, &p->reference, error);
    if (status || !p->reference.solved) return status;
    block b;
    if (make_block(p, &b))
        status = compare(p, &b, error);
    else
        status = lud_fail(error, LUD_ERROR_MEMORY, "no memory to compare with the exact solution");
    lud_arrays_free(&b.arrays);
    if (!status) status = lud_device_check(p->device, error);
    if (status) return status;
#define FIELD(field, ...) p->distance.field,
    const double values[N_EVALUATION] = {EVALUATION(FIELD)};
    memcpy(row, values, sizeof values);
    return LUD_OK;
}

void lud_empo_phase1_report_evaluation(const phase1 *p, lud_text *out) {
    lud_empo_reference_report_missing(&p->reference, out);
    if (!p->evaluated) return;
    const lud_empo_phase1_distance *d = &p->distance;
    lud_text_append(out, "\n=== Learned against exact, %llu states, goals not yet achieved ===\n",
                    (unsigned long long)p->reference.space->n_states);
    lud_text_append(out, "                                  visited   everywhere\n");
    lud_text_append(out, "  V_h^m, absolute error          %8.4f     %8.4f\n", d->v_h_m, d->v_h_m_everywhere);
    lud_text_append(out, "  pi_h, total variation          %8.4f     %8.4f\n", d->divergence,
                    d->divergence_everywhere);
    lud_text_append(out, "  pi_h, Kullback-Leibler         %8.4f nats\n", d->kl);
    lud_text_append(out, "  marginal, total variation      %8.4f\n", d->marginal);
}
