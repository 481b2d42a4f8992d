/* What a checkpoint holds of parameters and their optimiser: every number under its name, in the shape and
 * type it has; taken up by another set it goes on as if nothing had been; nonsense is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cpu_device.h"
#include "folder.h"
#include "learn/nn/optimiser.h"
#include "learn/store/checkpoint.h"

TEST_DEVICE(1)

enum { PARAMETERS = 5, MOST = 60 * 9, RANK = 2 };

/* Two are low-rank where the kind has that: a tall one and a wide one. */
static const struct {
    const char *name;
    int n_dimensions;
    int64_t dimensions[3];
    bool low_rank;
    int64_t moments[2]; /* rows and columns of their moments, where it is */
} parameters_of[PARAMETERS] = {{"first", 1, {7}, false, {0}},
                               {"tall", 2, {60, 9}, true, {60, RANK}},
                               {"third", 3, {2, 3, 4}, false, {0}},
                               {"wide", 2, {6, 8}, true, {RANK, 8}},
                               {"last", 1, {1}, false, {0}}};

typedef struct rig {
    lud_parameters *parameters;
    lud_optimiser *optimiser;
} rig;

static rig open_rig(int kind, bool in_double, uint64_t seed) {
    lud_error error = {0};
    rig r = {.parameters = lud_parameters_create(device, in_double)};
    for (int i = 0; i < PARAMETERS; i++) {
        lud_parameters_add(r.parameters, parameters_of[i].name, parameters_of[i].n_dimensions,
                           parameters_of[i].dimensions, (lud_init){.kind = LUD_INIT_NORMAL, .a = 1.0});
        lud_parameters_set_low_rank(r.parameters, parameters_of[i].name, parameters_of[i].low_rank);
    }
    assert_int_equal(lud_parameters_build(r.parameters, seed, &error), LUD_OK);
    r.optimiser = lud_optimiser_create(r.parameters);
    lud_optimiser_options o = lud_optimiser_defaults(kind);
    if (kind == LUD_OPTIMISER_SGD) o.momentum = 0.9;
    if (o.rank) o.rank = RANK;
    o.projection_gap = 3;
    assert_int_equal(lud_optimiser_group(r.optimiser, "", &o, true), 0);
    assert_int_equal(lud_optimiser_build(r.optimiser, 2, &error), LUD_OK);
    return r;
}

static void close_rig(rig *r) {
    lud_optimiser_destroy(r->optimiser);
    lud_parameters_destroy(r->parameters);
}

static void step(rig *r, uint32_t time) {
    double numbers[MOST];
    for (int i = 0; i < PARAMETERS; i++) {
        const int64_t n = r->parameters->items[i].n;
        for (int64_t k = 0; k < n; k++) {
            const lud_words w =
                lud_draw((lud_random_key){3, time}, (uint32_t)(i * MOST + k), 0, LUD_PURPOSE_USER, 0);
            numbers[k] = (double)w.v[0] / 4294967296.0 - 0.5;
        }
        lud_write_reals(device, r->parameters->real_bytes, lud_parameters_gradient(r->parameters, i), n,
                        numbers);
    }
    lud_optimiser_step(r->optimiser, 0, 1e-2);
}

static void visit(rig *r, lud_checkpoint *checkpoint) {
    lud_parameters_visit(r->parameters, "values.", checkpoint);
    lud_optimiser_visit(r->optimiser, "optimiser.", checkpoint);
}

TEST_FOLDER("/tmp/ludus-state-XXXXXX")

static lud_checkpoint *saved(rig *r) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    visit(r, checkpoint);
    if (lud_checkpoint_status(checkpoint, &error) ||
        lud_checkpoint_write(checkpoint, in_folder("state.safetensors"), &error))
        fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
    if (lud_checkpoint_open(in_folder("state.safetensors"), &checkpoint, &error)) fail_msg("%s", error.text);
    return checkpoint;
}

/* Whether a tensor is there, which must have this type and shape then. */
static bool holds(const lud_checkpoint *checkpoint, const char *prefix, const char *name,
                  lud_tensor_type type, int n_dimensions, const int64_t *dimensions) {
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const lud_tensor *tensor = lud_checkpoint_find(checkpoint, full);
    if (!tensor) return false;
    assert_int_equal(tensor->type, type);
    assert_int_equal(tensor->n_dimensions, n_dimensions);
    for (int i = 0; i < n_dimensions; i++) assert_int_equal(tensor->dimensions[i], dimensions[i]);
    return true;
}

static bool projects(int kind) {
    return kind == LUD_OPTIMISER_APOLLO || kind == LUD_OPTIMISER_APOLLO_MINI;
}

static void all_is_there_by_name(void **state) {
    (void)state;
    for (int kind = 0; kind < LUD_OPTIMISER_KINDS; kind++)
        for (int in_double = 0; in_double < 2; in_double++) {
            rig r = open_rig(kind, in_double, 1);
            const lud_tensor_type type = in_double ? LUD_TENSOR_F64 : LUD_TENSOR_F32;
            step(&r, 0);
            lud_checkpoint *checkpoint = saved(&r);
            int n = 1; /* the group's count of updates */
            assert_true(holds(checkpoint, "optimiser.", "group0.updates", LUD_TENSOR_U64, 0, NULL));
            for (int i = 0; i < PARAMETERS; i++) {
                const char *name = parameters_of[i].name;
                const int64_t *shape = parameters_of[i].dimensions;
                const bool low = projects(kind) && parameters_of[i].low_rank;
                const int n_dimensions = low ? 2 : parameters_of[i].n_dimensions;
                const int64_t *of_moments = low ? parameters_of[i].moments : shape;
                assert_true(holds(checkpoint, "values.", name, type, parameters_of[i].n_dimensions, shape));
                assert_true(holds(checkpoint, "optimiser.m.", name, type, n_dimensions, of_moments));
                assert_int_equal(holds(checkpoint, "optimiser.v.", name, type, n_dimensions, of_moments),
                                 kind != LUD_OPTIMISER_SGD);
                assert_int_equal(holds(checkpoint, "optimiser.norm.", name, type, 0, NULL), low);
                assert_int_equal(holds(checkpoint, "optimiser.updates.", name, LUD_TENSOR_U64, 0, NULL), low);
                n += 2 + (kind != LUD_OPTIMISER_SGD) + 2 * low;
            }
            assert_int_equal(lud_checkpoint_n_tensors(checkpoint), n);
            lud_checkpoint_destroy(checkpoint);
            close_rig(&r);
        }
}

static void expect_same(const rig *a, const rig *b) {
    double values[2][MOST];
    for (int i = 0; i < PARAMETERS; i++) {
        lud_parameters_read(a->parameters, i, values[0]);
        lud_parameters_read(b->parameters, i, values[1]);
        assert_memory_equal(values[0], values[1], (size_t)a->parameters->items[i].n * sizeof(double));
    }
}

static void another_set_goes_on_alike(void **state) {
    (void)state;
    for (int kind = 0; kind < LUD_OPTIMISER_KINDS; kind++)
        for (int in_double = 0; in_double < 2; in_double++) {
            rig r = open_rig(kind, in_double, 1), other = open_rig(kind, in_double, 8);
            uint32_t time = 0;
            for (; time < 5; time++) step(&r, time);
            step(&other, 77); /* what it had is gone */
            lud_checkpoint *checkpoint = saved(&r);
            lud_error error = {0};
            visit(&other, checkpoint);
            if (lud_checkpoint_status(checkpoint, &error)) fail_msg("%s", error.text);
            expect_same(&r, &other);
            for (; time < 9; time++) {
                step(&r, time);
                step(&other, time);
                expect_same(&r, &other);
            }
            lud_checkpoint_destroy(checkpoint);
            close_rig(&r);
            close_rig(&other);
        }
}

/* No mean of squares is below zero; the mean of gradients may be. */
static void means_of_squares_are_none_below_zero(void **state) {
    (void)state;
    for (int in_double = 0; in_double < 2; in_double++)
        for (int i = 0; i < PARAMETERS; i++)
            for (int of_squares = 0; of_squares < 2; of_squares++) {
                rig r = open_rig(LUD_OPTIMISER_ADAM, in_double, 1);
                char name[64];
                lud_error error = {0};
                step(&r, 0);
                lud_checkpoint *checkpoint = saved(&r);
                snprintf(name, sizeof name, "optimiser.%c.%s", of_squares ? 'v' : 'm', parameters_of[i].name);
                const lud_tensor *tensor = lud_checkpoint_find(checkpoint, name);
                char *last = (char *)(uintptr_t)tensor->data + tensor->bytes - (in_double ? 8 : 4);
                const double wide = -1e-9;
                const float narrow = -1e-9f;
                memcpy(last, in_double ? (const void *)&wide : (const void *)&narrow, in_double ? 8 : 4);
                visit(&r, checkpoint);
                const lud_status status = lud_checkpoint_status(checkpoint, &error);
                assert_int_equal(status, of_squares ? LUD_ERROR_INPUT : LUD_OK);
                if (of_squares) {
                    assert_non_null(strstr(error.text, name));
                    assert_non_null(strstr(error.text, "negative"));
                }
                lud_checkpoint_destroy(checkpoint);
                close_rig(&r);
            }
}

static int open_all(void **state) {
    return open_device(state) || set_up(state);
}

static int close_all(void **state) {
    return close_device(state) || tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_there_by_name),
        cmocka_unit_test(another_set_goes_on_alike),
        cmocka_unit_test(means_of_squares_are_none_below_zero),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
