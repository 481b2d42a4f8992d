/* Optimisers against plain loops in double, with random gradients, clipping, decay and refreshed projections.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/nn/optimiser.h"

enum { MAX = 128, STEPS = 25 };

static double number(uint32_t stream, uint32_t i) {
    double pair[2];
    const lud_words w = lud_draw((lud_random_key){23, stream}, i, 0, LUD_PURPOSE_USER, 0);
    lud_normal_pair(w.v[0], w.v[1], pair);
    return pair[0];
}

typedef struct rig {
    lud_device *device;
    lud_parameters *parameters;
    lud_optimiser *optimiser;
} rig;

static void open_rig(rig *r, int64_t rows, int64_t columns, const lud_optimiser_options *options,
                     bool low_rank) {
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &r->device, &error), LUD_OK);
    r->parameters = lud_parameters_create(r->device, true);
    lud_parameters_add(r->parameters, "w", 2, (const int64_t[]){rows, columns},
                       (lud_init){.kind = LUD_INIT_NORMAL, .a = 1.0});
    lud_parameters_set_low_rank(r->parameters, "w", low_rank);
    assert_int_equal(lud_parameters_build(r->parameters, 1, &error), LUD_OK);
    r->optimiser = lud_optimiser_create(r->parameters);
    assert_int_equal(lud_optimiser_group(r->optimiser, "", options, true), 0);
    assert_int_equal(lud_optimiser_build(r->optimiser, 2, &error), LUD_OK);
}

static void close_rig(rig *r) {
    lud_optimiser_destroy(r->optimiser);
    lud_parameters_destroy(r->parameters);
    lud_device_close(r->device);
}

/* A random gradient, scaled down to max_norm when that is positive; returns the norm before. */
static double make_gradient(int n, uint32_t t, double max_norm, double *g) {
    double squares = 0.0;
    for (int i = 0; i < n; i++) {
        g[i] = number(100 + t, (uint32_t)i) * (t % 5 == 3 ? 20.0 : 1.0); /* now and then a spike */
        squares += g[i] * g[i];
    }
    const double norm = sqrt(squares);
    const double scale = max_norm > 0.0 ? fmin(1.0, max_norm / (norm + 1e-6)) : 1.0;
    for (int i = 0; i < n; i++) g[i] *= scale;
    return norm;
}

static void regular_updates(void **state) {
    (void)state;
    const lud_optimiser_kind kinds[] = {LUD_OPTIMISER_SGD, LUD_OPTIMISER_ADAM, LUD_OPTIMISER_ADAMW,
                                        LUD_OPTIMISER_APOLLO};
    for (int k = 0; k < 4; k++) {
        lud_optimiser_options o = lud_optimiser_defaults(kinds[k]);
        o.momentum = 0.8;
        o.weight_decay = 0.03;
        o.max_norm = 5.0;
        rig r;
        open_rig(&r, 7, 9, &o, false);
        double w[MAX], actual[MAX], g[MAX], m[MAX] = {0}, v[MAX] = {0};
        lud_parameters_read(r.parameters, 0, w);
        for (uint32_t t = 1; t <= STEPS; t++) {
            const double lr = 0.05 / t;
            make_gradient(63, t, 0.0, lud_parameters_gradient(r.parameters, 0));
            const double norm = make_gradient(63, t, o.max_norm, g);
            lud_optimiser_step(r.optimiser, 0, lr);
            assert_true(fabs(lud_optimiser_norm(r.optimiser, 0) - norm) < 1e-9 * norm);
            for (int i = 0; i < 63; i++) {
                if (kinds[k] == LUD_OPTIMISER_SGD) {
                    m[i] = o.momentum * m[i] + g[i] + o.weight_decay * w[i];
                    w[i] -= lr * m[i];
                    continue;
                }
                if (kinds[k] == LUD_OPTIMISER_ADAM) g[i] += o.weight_decay * w[i];
                if (kinds[k] == LUD_OPTIMISER_ADAMW) w[i] *= 1.0 - lr * o.weight_decay;
                m[i] = o.beta1 * m[i] + (1.0 - o.beta1) * g[i];
                v[i] = o.beta2 * v[i] + (1.0 - o.beta2) * g[i] * g[i];
                const double mean = m[i] / (1.0 - pow(o.beta1, t)), square = v[i] / (1.0 - pow(o.beta2, t));
                if (kinds[k] == LUD_OPTIMISER_APOLLO) { /* epsilon joins the root before its correction */
                    w[i] -= lr * mean / (sqrt(v[i]) + o.epsilon) * sqrt(1.0 - pow(o.beta2, t));
                    w[i] *= 1.0 - lr * o.weight_decay;
                } else {
                    w[i] -= lr * mean / (sqrt(square) + o.epsilon);
                }
            }
            lud_parameters_read(r.parameters, 0, actual);
            for (int i = 0; i < 63; i++) assert_true(fabs(actual[i] - w[i]) < 1e-10);
            double norm_kept = 777.0, kept_m[MAX], kept_v[MAX] = {0};
            lud_optimiser_read(r.optimiser, 0, kept_m, kept_v, &norm_kept);
            assert_true(norm_kept == 0.0);
            for (int i = 0; i < 63; i++) {
                assert_true(fabs(kept_m[i] - m[i]) < 1e-10 * (1.0 + fabs(m[i])));
                assert_true(fabs(kept_v[i] - v[i]) < 1e-10 * (1.0 + v[i])); /* none of sgd */
            }
        }
        close_rig(&r);
    }
}

/* The update of one matrix as a reader of the paper would write it: rows are channels when rows >= columns.
 */
typedef struct naive {
    double m[MAX], v[MAX], norm;
    int t;
} naive;

static void naive_update(naive *s, const lud_optimiser_options *o, int rows, int columns, const double *p,
                         const double *g, double lr, double *w) {
    const int rank = (int)o->rank;
    const bool right = rows >= columns;
    const int channels = right ? rows : columns, small = right ? columns : rows;
    double projected[MAX], q[MAX], factor[MAX], update[MAX], all_q = 0.0, all_r = 0.0;
    s->t++;
    for (int c = 0; c < channels; c++) {
        double q_squares = 0.0, r_squares = 0.0;
        for (int k = 0; k < rank; k++) {
            double sum = 0.0;
            for (int j = 0; j < small; j++)
                sum += right ? g[c * columns + j] * p[k * columns + j] : g[j * columns + c] * p[j * rank + k];
            const int i = c * rank + k;
            projected[i] = sum;
            s->m[i] = o->beta1 * s->m[i] + (1.0 - o->beta1) * sum;
            s->v[i] = o->beta2 * s->v[i] + (1.0 - o->beta2) * sum * sum;
            q[i] = s->m[i] / (sqrt(s->v[i]) + o->epsilon);
            q_squares += q[i] * q[i];
            r_squares += projected[i] * projected[i];
        }
        factor[c] = sqrt(q_squares) / (sqrt(r_squares) + 1e-8);
        all_q += q_squares;
        all_r += r_squares;
    }
    double squares = 0.0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            const double f = o->tensor_scaling ? sqrt(all_q) / (sqrt(all_r) + 1e-8) : factor[right ? i : j];
            update[i * columns + j] = g[i * columns + j] * f * (o->scale_front ? sqrt(o->scale) : 1.0);
            squares += update[i * columns + j] * update[i * columns + j];
        }
    double divisor = 1.0;
    if (o->limiter && s->t > 1)
        divisor = fmax(sqrt(squares) / (s->norm + 1e-8), o->limiter_gamma) / o->limiter_gamma;
    s->norm = sqrt(squares) / divisor;
    const double correction =
        o->correct_bias ? sqrt(1.0 - pow(o->beta2, s->t)) / (1.0 - pow(o->beta1, s->t)) : 1.0;
    const double step = lr * correction / divisor * (o->scale_front ? 1.0 : sqrt(o->scale));
    for (int i = 0; i < rows * columns; i++) {
        w[i] -= step * update[i];
        w[i] -= lr * o->weight_decay * w[i];
    }
}

static void low_rank_updates(void **state) {
    (void)state;
    const int shapes[3][2] = {{11, 6}, {6, 11}, {5, 5}};
    for (int k = 0; k < 12; k++) {
        const int rows = shapes[k % 3][0], columns = shapes[k % 3][1], n = rows * columns;
        lud_optimiser_options o =
            lud_optimiser_defaults(k % 2 ? LUD_OPTIMISER_APOLLO_MINI : LUD_OPTIMISER_APOLLO);
        if (o.kind == LUD_OPTIMISER_APOLLO) o.rank = 3;
        o.scale_front = k >= 6;
        o.weight_decay = k % 4 == 3 ? 0.1 : 0.0;
        o.limiter = k % 4 != 2;
        o.correct_bias = k % 5 != 4;
        o.zero_gradient_freezes = k % 3 == 1;
        if (k % 5 == 1) o.scale = 7.0;
        lud_optimiser_options given = o; /* 0 stands for what is usual */
        if (k % 5 != 1) given.scale = 0.0;
        if (o.kind == LUD_OPTIMISER_APOLLO_MINI) given.rank = 0;
        rig r;
        open_rig(&r, rows, columns, &given, true);
        double w[MAX], actual[MAX], g[MAX], p[MAX], norm;
        naive s = {0};
        lud_parameters_read(r.parameters, 0, w);
        for (uint32_t t = 1; t <= STEPS; t++) {
            if (t % 8 == 1) { /* a new projection, moments kept */
                for (int i = 0; i < MAX; i++) p[i] = number(500 + t, (uint32_t)i) / sqrt((double)o.rank);
                lud_optimiser_inject(r.optimiser, 0, p);
            }
            make_gradient(n, t, 0.0, g);
            if (t == 7 || t == 8) memset(g, 0, sizeof g); /* which is no update unless it is asked to be */
            memcpy(lud_parameters_gradient(r.parameters, 0), g, (size_t)n * sizeof *g);
            lud_optimiser_step(r.optimiser, 0, 0.01);
            if ((t != 7 && t != 8) || o.zero_gradient_freezes)
                naive_update(&s, &o, rows, columns, p, g, 0.01, w);
            lud_parameters_read(r.parameters, 0, actual);
            double m[MAX], v[MAX];
            lud_optimiser_read(r.optimiser, 0, m, v, &norm);
            const int channels = rows >= columns ? rows : columns, rank = (int)o.rank;
            for (int i = 0; i < channels * rank; i++) { /* of a channel behind each other, or of a rank */
                const int at = rows >= columns ? i : i % rank * channels + i / rank;
                assert_true(fabs(m[at] - s.m[i]) < 1e-9 * (1.0 + fabs(s.m[i])));
                assert_true(fabs(v[at] - s.v[i]) < 1e-9 * (1.0 + s.v[i]));
            }
            for (int i = 0; i < n; i++) assert_true(fabs(actual[i] - w[i]) < 1e-9 * (1.0 + fabs(w[i])));
            if (o.limiter) assert_true(fabs(norm - s.norm) <= 1e-9 * s.norm);
        }
        close_rig(&r);
    }
}

/* Projections are functions of (seed, parameter, refresh): a second optimiser draws the same, another seed
 * not. */
static void projections_are_drawn_again(void **state) {
    (void)state;
    lud_optimiser_options o = lud_optimiser_defaults(LUD_OPTIMISER_APOLLO);
    o.rank = 2;
    o.projection_gap = 4;
    double moments[3][MAX];
    for (int k = 0; k < 3; k++) {
        rig r;
        open_rig(&r, 10, 8, &o, true);
        if (k == 2) {
            lud_optimiser_destroy(r.optimiser);
            r.optimiser = lud_optimiser_create(r.parameters);
            assert_int_equal(lud_optimiser_group(r.optimiser, "", &o, true), 0);
            assert_int_equal(lud_optimiser_build(r.optimiser, 3, NULL), LUD_OK);
        }
        for (uint32_t t = 1; t <= 10; t++) {
            make_gradient(80, t, 0.0, lud_parameters_gradient(r.parameters, 0));
            lud_optimiser_step(r.optimiser, 0, 0.01);
        }
        lud_optimiser_read(r.optimiser, 0, moments[k], NULL, NULL);
        close_rig(&r);
    }
    assert_memory_equal(moments[0], moments[1], 20 * sizeof(double));
    assert_memory_not_equal(moments[0], moments[2], 20 * sizeof(double));
}

/* A matrix is low-rank where its rank is below half of its smaller side, or always, where it is asked for. */
static void low_rank_where_it_saves(void **state) {
    (void)state;
    static const struct {
        int64_t rows, columns, rank;
        bool low_rank, saves;
    } cases[] = {{9, 20, 4, true, true},  {20, 9, 4, true, true},   {8, 20, 4, true, false},
                 {20, 8, 4, true, false}, {9, 20, 4, false, false}, {7, 7, 3, true, true},
                 {6, 6, 3, true, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int form = 0; form < 3; form++) { /* as it is, always, another optimiser */
            lud_optimiser_options o =
                lud_optimiser_defaults(form == 2 ? LUD_OPTIMISER_ADAM : LUD_OPTIMISER_APOLLO);
            const int64_t rows = cases[k].rows, columns = cases[k].columns;
            o.rank = cases[k].rank;
            lud_error error = {0};
            lud_device *device = NULL;
            assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
            lud_parameters *parameters = lud_parameters_create(device, false);
            lud_parameters_add(parameters, "w", 2, (const int64_t[]){rows, columns}, (lud_init){0});
            lud_parameters_add(parameters, "b", 1, (const int64_t[]){5}, (lud_init){0});
            lud_parameters_set_low_rank(parameters, "w", cases[k].low_rank);
            assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
            lud_optimiser *optimiser = lud_optimiser_create(parameters);
            assert_int_equal(lud_optimiser_group(optimiser, "", &o, form == 1), 0);
            assert_int_equal(lud_optimiser_build(optimiser, 2, &error), LUD_OK);
            const bool low = form != 2 && cases[k].low_rank && (cases[k].saves || form == 1);
            const int64_t larger = rows > columns ? rows : columns;
            assert_int_equal(lud_optimiser_numbers(optimiser),
                             2 * 5 + (low ? 2 * larger * cases[k].rank + 2 : 2 * rows * columns));
            assert_int_equal(lud_optimiser_records(optimiser), !low);
            lud_optimiser_destroy(optimiser);
            lud_parameters_destroy(parameters);
            lud_device_close(device);
        }
}

/* Another limit counts from the next update on, also none at all. */
static void limits_may_change(void **state) {
    (void)state;
    static const double limits[] = {5, 0.5, 0, 1e-3, 1e6};
    lud_optimiser_options o = lud_optimiser_defaults(LUD_OPTIMISER_SGD);
    rig r;
    open_rig(&r, 7, 9, &o, false);
    double w[MAX], actual[MAX], g[MAX];
    lud_parameters_read(r.parameters, 0, w);
    for (uint32_t t = 1; t <= 5; t++) {
        make_gradient(63, t, 0.0, lud_parameters_gradient(r.parameters, 0));
        make_gradient(63, t, limits[t - 1], g);
        lud_optimiser_set_max_norm(r.optimiser, 0, limits[t - 1]);
        lud_optimiser_step(r.optimiser, 0, 0.1);
        lud_parameters_read(r.parameters, 0, actual);
        for (int i = 0; i < 63; i++) {
            w[i] -= 0.1 * g[i];
            assert_true(fabs(actual[i] - w[i]) < 1e-12 * (1.0 + fabs(w[i])));
        }
    }
    close_rig(&r);
}

static void groups_take_what_is_left(void **state) {
    (void)state;
    lud_device *device = NULL;
    lud_error error = {0};
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    lud_parameters *parameters = lud_parameters_create(device, false);
    static const char *const names[] = {"a.x", "a.y", "b.x", "a.z", "c.x"};
    for (int i = 0; i < 5; i++)
        lud_parameters_add(parameters, names[i], 1, (const int64_t[]){10 + i},
                           (lud_init){.kind = LUD_INIT_CONSTANT});
    lud_parameters_freeze(parameters, "a.y", true);
    assert_int_equal(lud_parameters_build(parameters, 0, &error), LUD_OK);
    lud_optimiser *optimiser = lud_optimiser_create(parameters);
    const lud_optimiser_options sgd = lud_optimiser_defaults(LUD_OPTIMISER_SGD);
    assert_int_equal(lud_optimiser_group(optimiser, "a.", &sgd, false), 0);
    assert_int_equal(lud_optimiser_group(optimiser, "", &sgd, false), 1);
    assert_int_equal(lud_optimiser_build(optimiser, 0, &error), LUD_OK);
    assert_int_equal(lud_optimiser_numbers(optimiser), 0); /* no momentum, no state */
    for (int group = 0; group < 2; group++) {
        for (int i = 0; i < 5; i++) {
            float *g = lud_parameters_gradient(parameters, i), *w = lud_parameters_value(parameters, i);
            for (int k = 0; k < 10 + i; k++) {
                g[k] = 1.0f;
                w[k] = 0.0f;
            }
        }
        lud_optimiser_step(optimiser, group, 0.5);
        const bool stepped[2][5] = {{true, false, false, true, false}, {false, false, true, false, true}};
        for (int i = 0; i < 5; i++) {
            const float *w = lud_parameters_value(parameters, i);
            for (int k = 0; k < 10 + i; k++) assert_true(w[k] == (stepped[group][i] ? -0.5f : 0.0f));
        }
        assert_true(fabs(lud_optimiser_norm(optimiser, group) - sqrt(group ? 26.0 : 23.0)) < 1e-5);
    }
    lud_optimiser_destroy(optimiser);
    lud_parameters_destroy(parameters);
    lud_device_close(device);
}

/* ---- names and sizes ---- */

static void names_of_low_rank_parameters(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int n_dimensions;
        bool by_name, by_exclusion;
    } cases[] = {{"layers.0.q_proj.weight", 2, true, true},
                 {"layers.0.q_proj.bias", 1, false, false},
                 {"k_proj", 3, true, false},
                 {"a.v_proj", 2, true, true},
                 {"o_proj", 2, true, true},
                 {"mlp.gate_proj", 2, true, true},
                 {"mlp.up_proj", 2, true, true},
                 {"mlp.down_proj", 2, true, true},
                 {"c_attn", 2, true, true},
                 {"c_proj", 2, true, true},
                 {"c_fc", 2, true, true},
                 {"w1", 2, true, true},
                 {"w2", 2, true, true},
                 {"w3", 2, true, true},
                 {"w4", 2, false, true},
                 {"Q_PROJ", 2, false, true},
                 {"actor.out", 2, false, true},
                 {"actor.out", 1, false, false},
                 {"word_EMBEDding", 2, false, false},
                 {"LM_Head.w1", 2, true, false},
                 {"LayerNorm.weight", 2, false, false},
                 {"norm", 2, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(lud_low_rank_by_name(cases[i].name, cases[i].n_dimensions), cases[i].by_name);
        assert_int_equal(lud_low_rank_by_exclusion(cases[i].name, cases[i].n_dimensions),
                         cases[i].by_exclusion);
    }
}

static void numbers_of_state(void **state) {
    (void)state;
    assert_int_equal(lud_optimiser_state_numbers(LUD_OPTIMISER_SGD, 30, 50, 4), 0);
    assert_int_equal(lud_optimiser_state_numbers(LUD_OPTIMISER_ADAM, 30, 50, 4), 2 * 30 * 50);
    assert_int_equal(lud_optimiser_state_numbers(LUD_OPTIMISER_ADAMW, 30, 50, 4), 2 * 30 * 50);
    assert_int_equal(lud_optimiser_state_numbers(LUD_OPTIMISER_APOLLO, 30, 50, 4), 2 * 50 * 4 + 2);
    assert_int_equal(lud_optimiser_state_numbers(LUD_OPTIMISER_APOLLO_MINI, 50, 30, 1), 2 * 50 + 2);
}

/* A gradient that is not finite is told with the parameter that has it, the first one, and the update. */
static void unreal_gradients_are_told(void **state) {
    (void)state;
    static const char *const names[] = {"first", "second", "third"};
    for (int where = 0; where < 3; where++)
        for (int kind = 0; kind < 2; kind++) {
            lud_error error = {0};
            lud_device *device = NULL;
            assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
            lud_parameters *parameters = lud_parameters_create(device, false);
            for (int i = 0; i < 3; i++)
                lud_parameters_add(parameters, names[i], 1, (const int64_t[]){4},
                                   (lud_init){.kind = LUD_INIT_CONSTANT});
            assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
            lud_optimiser *optimiser = lud_optimiser_create(parameters);
            lud_optimiser_options o = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
            o.max_norm = 1.0;
            assert_int_equal(lud_optimiser_group(optimiser, "", &o, false), 0);
            assert_int_equal(lud_optimiser_build(optimiser, 2, &error), LUD_OK);
            for (int update = 0; update < 2; update++)
                for (int i = 0; i < 3; i++) {
                    float *gradient = lud_parameters_gradient(parameters, i);
                    for (int k = 0; k < 4; k++) gradient[k] = 0.25f;
                    if (update == 1 && i >= where) gradient[3] = kind ? INFINITY : NAN;
                    if (i == 2) lud_optimiser_step(optimiser, 0, 1e-3);
                    if (i == 2 && update == 0) assert_null(lud_device_failure(device));
                }
            const char *failure = lud_device_failure(device);
            char expected[128];
            snprintf(expected, sizeof expected, "in update 2 the gradient of %s became %s", names[where],
                     kind ? "infinite" : "no number");
            if (!failure || !strstr(failure, expected)) fail_msg("%s instead of %s", failure, expected);
            lud_optimiser_destroy(optimiser);
            lud_parameters_destroy(parameters);
            lud_device_close(device);
        }
}

/* Where only the sum of squares is too large, no single weight is blamed. */
static void sums_beyond_all_numbers_are_told(void **state) {
    (void)state;
    lud_error error = {0};
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, &error), LUD_OK);
    lud_parameters *parameters = lud_parameters_create(device, false);
    lud_parameters_add(parameters, "w", 1, (const int64_t[]){4}, (lud_init){.kind = LUD_INIT_CONSTANT});
    assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
    lud_optimiser *optimiser = lud_optimiser_create(parameters);
    const lud_optimiser_options o = lud_optimiser_defaults(LUD_OPTIMISER_SGD);
    assert_int_equal(lud_optimiser_group(optimiser, "", &o, false), 0);
    assert_int_equal(lud_optimiser_build(optimiser, 2, &error), LUD_OK);
    float *gradient = lud_parameters_gradient(parameters, 0);
    for (int k = 0; k < 4; k++) gradient[k] = 1e30f;
    lud_optimiser_step(optimiser, 0, 1e-3);
    const char *failure = lud_device_failure(device);
    if (!failure || !strstr(failure, "in update 1 the gradient of a group of weights became infinite"))
        fail_msg("%s", failure ? failure : "no failure");
    lud_optimiser_destroy(optimiser);
    lud_parameters_destroy(parameters);
    lud_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regular_updates),          cmocka_unit_test(names_of_low_rank_parameters),
        cmocka_unit_test(numbers_of_state),         cmocka_unit_test(unreal_gradients_are_told),
        cmocka_unit_test(low_rank_updates),         cmocka_unit_test(projections_are_drawn_again),
        cmocka_unit_test(groups_take_what_is_left), cmocka_unit_test(low_rank_where_it_saves),
        cmocka_unit_test(limits_may_change),        cmocka_unit_test(sums_beyond_all_numbers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
