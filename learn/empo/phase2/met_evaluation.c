#include "learn/empo/phase2/met_evaluation.h"

#include <math.h>
#include <string.h>

/* The work of one evaluation. */
typedef struct evaluation {
    lud_empo_met_training *t;
    const lud_statespace *space;
    const double *exact; /* records of the solution, in which what people do stands */
    const lud_empo_layout *layout;
    size_t stride;
    bool alone;
    lud_arrays arrays;
    double *rows;           /* [n_states][stride] what each state is worth to one before it */
    float *said, *said_v_r; /* what the networks say: [n_states][n_goals], [n_states]; null but for `alone` */
    double *expected, *record;
    const double **row; /* [n_joint_actions] */
} evaluation;

static const uint8_t *state_of(const evaluation *v, uint64_t s) {
    return v->space->states + s * v->space->state_bytes;
}

/* Asks the networks about some states. */
static lud_status ask(evaluation *v, int64_t n, const uint64_t *states, lud_error *error) {
    lud_empo_asker *asker = &v->t->asker;
    const size_t goals = v->stride - 1;
    for (int64_t i = 0; i < n; i++) asker->states[i] = state_of(v, states[i]);
    LUD_TRY(lud_empo_ask(asker, n, asker->states, error));
    for (int64_t i = 0; i < n; i++) {
        for (size_t g = 0; g < goals; g++) v->record[g] = (double)asker->v_h_e[(size_t)i * goals + g];
        lud_empo_met_credit(v->t->met, state_of(v, states[i]), v->record, (double)asker->v_r[i],
                            v->rows + states[i] * v->stride);
        if (!v->alone) continue;
        memcpy(v->said + states[i] * goals, asker->v_h_e + (size_t)i * goals, goals * sizeof *v->said);
        v->said_v_r[states[i]] = asker->v_r[i];
    }
    return LUD_OK;
}

static lud_status fill_rows(evaluation *v, lud_progress *progress, lud_error *error) {
    uint64_t some[LUD_EMPO_ASKED];
    int64_t n = 0;
    const uint64_t n_states = v->space->n_states;
    for (uint64_t s = 0; s < n_states; s++) {
        if (!lud_empo_met_known(v->t->met, state_of(v, s), !v->alone, v->rows + s * v->stride)) some[n++] = s;
        if (n == 0 || (n < LUD_EMPO_ASKED && s + 1 < n_states)) continue;
        LUD_TRY(lud_progress_stage_beat(progress, "what networks say of all states",
                                        (double)s / (double)n_states, error));
        LUD_TRY(ask(v, n, some, error));
        n = 0;
    }
    return LUD_OK;
}

/* The record of a state, from the rows of its successors. */
static void look(evaluation *v, uint64_t s) {
    for (int32_t k = 0; k < v->space->n_joint_actions; k++) {
        const lud_statespace_row row = lud_statespace_get_row(v->space, s, k);
        double *sum = v->expected + (size_t)k * v->stride;
        v->row[k] = row.n == 1 ? v->rows + row.successor[0] * v->stride : sum;
        if (row.n == 1) continue;
        memset(sum, 0, v->stride * sizeof *sum);
        for (uint32_t i = 0; i < row.n; i++)
            for (size_t j = 0; j < v->stride; j++)
                sum[j] += row.probability[i] * v->rows[row.successor[i] * v->stride + j];
    }
    const double *policies =
        v->exact + s * (uint64_t)v->layout->record_doubles + (uint64_t)v->layout->policies;
    lud_empo_met_look_from(v->t->met, state_of(v, s), policies, v->row, v->record);
}

/* V_h^e, X_h and V_r as the networks say them. */
static void say_alone(evaluation *v, uint64_t s) {
    const lud_empo_layout *layout = v->layout;
    const lud_empo_features *f = v->t->asker.values->features;
    const lud_empo_theory *theory = &v->t->options->theory;
    const double floor = lud_empo_values_power_floor(v->t->asker.values);
    for (int g = 0; g < layout->n_goals; g++)
        v->record[layout->v_h_e + g] = (double)v->said[s * (uint64_t)layout->n_goals + (uint64_t)g];
    for (int h = 0; h < layout->n_humans; h++)
        v->record[layout->x_h + h] =
            fmax(lud_empo_power_sum(theory->zeta, v->record + layout->v_h_e + layout->goal_begin[h],
                                    f->goal_weight + layout->goal_begin[h], lud_empo_goals_of(layout, h)),
                 floor);
    v->record[layout->u_r] = lud_empo_reward_of(theory->aggregate == LUD_EMPO_MEAN, theory->xi, theory->eta,
                                                v->record + layout->x_h, layout->n_humans);
    v->record[layout->v_r] = (double)v->said_v_r[s];
}

static void keep(const evaluation *v, uint64_t s, const lud_empo_met_values *to) {
    const lud_empo_layout *layout = v->layout;
    const struct {
        float *to;
        int at, n;
    } parts[] = {{to->v_r, layout->v_r, 1},
                 {to->u_r, layout->u_r, 1},
                 {to->x_h, layout->x_h, layout->n_humans},
                 {to->v_h_e, layout->v_h_e, layout->n_goals},
                 {to->q_r, layout->q_r, layout->n_robot_actions},
                 {to->pi_r, layout->pi_r, layout->n_robot_actions}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int i = 0; i < parts[k].n; i++)
            parts[k].to[s * (uint64_t)parts[k].n + (uint64_t)i] = (float)v->record[parts[k].at + i];
}

static bool take(evaluation *v, lud_empo_met_values *to) {
    const size_t n = v->space->n_states, goals = (size_t)v->layout->n_goals,
                 actions = (size_t)v->layout->n_robot_actions, joint = (size_t)v->space->n_joint_actions;
    lud_arrays *a = &to->arrays;
    LUD_TAKE(a, to->v_r, n);
    LUD_TAKE(a, to->u_r, n);
    LUD_TAKE(a, to->x_h, n * (size_t)v->layout->n_humans);
    LUD_TAKE(a, to->v_h_e, n * goals);
    LUD_TAKE(a, to->q_r, n * actions);
    LUD_TAKE(a, to->pi_r, n * actions);
    LUD_TAKE(&v->arrays, v->rows, n * v->stride);
    LUD_TAKE(&v->arrays, v->said, v->alone ? n * goals : 1);
    LUD_TAKE(&v->arrays, v->said_v_r, v->alone ? n : 1);
    LUD_TAKE(&v->arrays, v->expected, joint * v->stride);
    LUD_TAKE(&v->arrays, v->record, (size_t)v->layout->record_doubles);
    LUD_TAKE(&v->arrays, v->row, joint);
    return !a->failed && !v->arrays.failed;
}

lud_status lud_empo_met_evaluate(lud_empo_met_training *t, const lud_empo_reference *reference, bool alone,
                                 lud_progress *progress, lud_empo_met_values *values, lud_error *error) {
    const lud_statespace *space = reference->space;
    evaluation v = {.t = t,
                    .space = space,
                    .exact = reference->records,
                    .layout = lud_empo_met_layout(t->met),
                    .stride = (size_t)lud_empo_met_layout(t->met)->n_goals + 1,
                    .alone = alone};
    *values = (lud_empo_met_values){0};
    lud_status status = take(&v, values) ? LUD_OK : lud_no_memory(error, "learned values");
    if (!status) status = fill_rows(&v, progress, error);
    for (uint64_t s = 0; s < space->n_states && !status; s++) {
        if (s % 1024 == 0)
            status = lud_progress_stage_beat(progress, "look-ahead from all states",
                                             (double)s / (double)space->n_states, error);
        if (lud_statespace_terminal(space, s)) continue;
        look(&v, s);
        if (alone) say_alone(&v, s);
        keep(&v, s, values);
    }
    lud_arrays_free(&v.arrays);
    return status;
}
