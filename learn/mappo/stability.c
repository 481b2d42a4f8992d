#include "learn/mappo/stability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/mappo/mad.h"
#include "sim/particle/particle.h"

/* A parameter's numbers in double, to be freed; null when memory is out. */
static double *numbers(const lud_parameters *parameters, const char *name, int64_t *rows, int64_t *columns) {
    const int index = lud_parameters_find(parameters, name);
    const lud_parameter *p = &parameters->items[index];
    *rows = p->dimensions[0];
    *columns = p->n_dimensions > 1 ? p->dimensions[1] : 1;
    double *values = malloc((size_t)p->n * sizeof *values);
    if (values) lud_parameters_read(parameters, index, values);
    return values;
}

/* Largest singular value, by power iteration on W^T W. */
static double spectral_norm(const lud_parameters *parameters, const char *name) {
    int64_t rows, columns;
    double *w = numbers(parameters, name, &rows, &columns), norm = NAN;
    double *x = w ? malloc((size_t)(rows + columns) * sizeof *x) : NULL;
    if (x) {
        double *y = x + columns;
        for (int64_t j = 0; j < columns; j++) x[j] = 1.0 + 0.1 * (double)(j % 7);
        for (int round = 0; round < 300; round++) {
            double length = 0.0;
            for (int64_t j = 0; j < columns; j++) length += x[j] * x[j];
            length = sqrt(length);
            norm = 0.0;
            for (int64_t i = 0; i < rows; i++) {
                y[i] = 0.0;
                for (int64_t j = 0; j < columns; j++) y[i] += w[i * columns + j] * x[j] / length;
                norm += y[i] * y[i];
            }
            norm = sqrt(norm);
            if (norm == 0.0) break;
            for (int64_t j = 0; j < columns; j++) {
                x[j] = 0.0;
                for (int64_t i = 0; i < rows; i++) x[j] += w[i * columns + j] * y[i];
            }
        }
    }
    free(x);
    free(w);
    return norm;
}

double lud_mappo_largest_eigenvalue(const lud_parameters *parameters) {
    int64_t n, one;
    double *nu = numbers(parameters, "actor.magnitude.lru.nu_log", &n, &one), largest = nu ? 0.0 : NAN;
    for (int64_t k = 0; nu && k < n; k++) largest = fmax(largest, exp(-exp(nu[k])));
    free(nu);
    return largest;
}

double lud_mappo_gain_bound(const lud_parameters *parameters) {
    int64_t n, one, n_in, n_out, wide;
    double *nu = numbers(parameters, "actor.magnitude.lru.nu_log", &n, &one);
    double *gamma = numbers(parameters, "actor.magnitude.lru.gamma_log", &n, &one);
    double *b = numbers(parameters, "actor.magnitude.lru.b.weight", &wide, &n_in);
    double *c = numbers(parameters, "actor.magnitude.c.weight", &n_out, &wide);
    double gain = spectral_norm(parameters, "actor.magnitude.d.weight");
    if (!nu || !gamma || !b || !c) gain = NAN;
    for (int64_t k = 0; k < n && !isnan(gain); k++) {
        double in = 0.0, out = 0.0; /* norms of row k of B and column k of C */
        for (int64_t i = 0; i < 2 * n_in; i++) in += b[2 * k * n_in + i] * b[2 * k * n_in + i];
        for (int64_t i = 0; i < n_out; i++)
            out +=
                c[i * wide + 2 * k] * c[i * wide + 2 * k] + c[i * wide + 2 * k + 1] * c[i * wide + 2 * k + 1];
        gain += sqrt(in * out) * exp(gamma[k]) / (1.0 - exp(-exp(nu[k])));
    }
    static const char *const layers[] = {"actor.magnitude.layer.0.weight", "actor.magnitude.layer.1.weight",
                                         "actor.magnitude.layer.2.weight"};
    gain *= 1.1;
    for (int k = 0; k < 3; k++) gain *= spectral_norm(parameters, layers[k]);
    free(nu);
    free(gamma);
    free(b);
    free(c);
    return gain + spectral_norm(parameters, "actor.magnitude.skip.weight");
}

static double mean_error(const lud_mappo_learner_state *m) {
    const lud_particle_model *model = (const lud_particle_model *)m->scenario->model;
    const lud_layout *layout = &m->scenario->model->layout;
    double sum = 0.0;
    for (int e = 0; e < m->trial->n_envs; e++) {
        const uint8_t *state = m->trial->states + (size_t)e * layout->state_bytes;
        double squares = 0.0;
        for (int a = 0; a < layout->n_agents; a++) {
            const lud_particle_body own = lud_particle_get_body(model, state, a);
            const int target = lud_particle_goal(model, state, a);
            const lud_particle_body goal = lud_particle_get_body(model, state, target < 0 ? a : target);
            for (int k = 0; k < 2; k++)
                squares += pow(goal.position[k] - own.position[k], 2) + pow(own.velocity[k], 2);
        }
        sum += sqrt(squares);
    }
    return sum / m->trial->n_envs;
}

/* Directions of full size away from the goal instead of the policy's. */
static void turn_away(lud_mappo_learner_state *m) {
    const lud_mappo_shape *shape = &m->rollout->shape;
    const lud_mappo_inputs *inputs = &m->rollout->inputs;
    const float *seen = inputs->items[LUD_MAPPO_OBSERVATION].host;
    const float *raw = m->options.control == LUD_MAPPO_MAD
                           ? lud_nn_value(m->rollout->actor.nn, m->rollout->actor.magnitude)
                           : NULL;
    for (int64_t i = 0; i < inputs->n; i++) {
        const float size = (float)lud_mad_magnitude(&m->options, raw ? (double)raw[i] : 0.0, true, NULL);
        for (int k = 0; k < 2; k++) {
            const float goal = seen[i * shape->observation + shape->goal_offset + k];
            m->actions[2 * i + k] = (float)m->options.mad.base_gain * goal + (goal > 0.0f ? -size : size);
        }
    }
}

lud_status lud_mappo_error_norms(lud_mappo_learner_state *m, bool worst_case, int n_steps, double *error_norm,
                                 lud_error *error) {
    const bool auto_reset = m->trial->auto_reset;
    if (m->trial->n_envs > m->slice_envs)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "too many agents for the error norms");
    m->trial->auto_reset = false; /* beyond the length of an episode */
    lud_mappo_trial_start(m);
    lud_status status = LUD_OK;
    error_norm[0] = mean_error(m);
    for (int t = 0; t < n_steps && !status; t++) {
        status = lud_mappo_trial_decide(m, true, error);
        if (status) break;
        if (worst_case) turn_away(m);
        lud_mappo_trial_step(m);
        error_norm[t + 1] = mean_error(m);
    }
    m->trial->auto_reset = auto_reset;
    return status;
}

lud_status lud_mappo_inspect(lud_learner *learner, lud_text *out, lud_error *error) {
    lud_mappo_learner_state *m = (lud_mappo_learner_state *)learner;
    enum { N_STEPS = 200 };
    static const int shown[] = {0, 10, 25, 50, 99, 199};
    double norms[2][N_STEPS + 1];
    if (m->options.control != LUD_MAPPO_MAD) return LUD_OK;
    const double largest = lud_mappo_largest_eigenvalue(m->update->parameters);
    lud_text_append(out,
                    "\nlargest |lambda|   %.6f\ngain bound         %.4g\n\nerror norm E_t    t =", largest,
                    lud_mappo_gain_bound(m->update->parameters));
    for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) lud_text_append(out, " %8d", shown[k]);
    for (int worst = 0; worst < 2; worst++) {
        lud_status status = lud_mappo_error_norms(m, worst, N_STEPS, norms[worst], error);
        if (status) return status;
        lud_text_append(out, "\n%-21s", worst ? "worst directions" : "the policy's");
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++)
            lud_text_append(out, " %8.4f", norms[worst][shown[k]]);
    }
    const bool falls = norms[0][199] < 0.5 * norms[0][0] && norms[1][199] < 0.5 * norms[1][0];
    lud_text_append(out, "\n\nstability          %s\n", largest < 1.0 && falls ? "pass" : "fail");
    return LUD_OK;
}
