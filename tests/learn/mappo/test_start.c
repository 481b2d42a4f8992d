/* Trainings that begin with a clone's policy: the actor acts as the clone did, whose last layer spoke of
 * normalised actions, and everything else stays as it was. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu_device.h"
#include "folder.h"
#include "learn/episodes/statistics.h"
#include "learn/mappo/networks.h"
#include "learn/mappo/start.h"

TEST_DEVICE(1)
TEST_FOLDER("/tmp/ludus-start-XXXXXX")

enum { ACTIONS = 3, HIDDEN = 4, WEIGHTS = ACTIONS * HIDDEN, PARAMETERS = 6 };

static const struct {
    const char *name;
    int n_dimensions;
    int64_t dimensions[2];
} names[PARAMETERS] = {{"critic.out.bias", 1, {ACTIONS}},
                       {"actor.hidden.weight", 2, {HIDDEN, 2}},
                       {"actor.out.weight", 2, {ACTIONS, HIDDEN}},
                       {"actor.out.bias", 1, {ACTIONS}},
                       {"actor.log_std", 1, {ACTIONS}},
                       {"critic.out.weight", 2, {HIDDEN, 2}}};
enum { HIDDEN_WEIGHT = 1, WEIGHT, BIAS, LOG_STD };

static const lud_column_statistics columns[ACTIONS] = {
    {.mean = 0.5, .deviation = 2.0, .low = -1.0, .high = 3.0, .q01 = -0.5, .q99 = 2.5},
    {.mean = -3.0, .deviation = 0.25, .low = -4.0, .high = -2.0, .q01 = -3.5, .q99 = -2.25},
    {.mean = 7.0, .deviation = 0.0, .low = 7.0, .high = 7.0, .q01 = 7.0, .q99 = 7.0}}; /* always the same */

static void open_networks(lud_mappo_networks *t, uint64_t seed) {
    lud_error error = {0};
    *t = (lud_mappo_networks){.parameters = lud_parameters_create(device, false), .log_std = LOG_STD};
    t->shape.n_continuous = ACTIONS;
    for (int i = 0; i < PARAMETERS; i++)
        lud_parameters_add(t->parameters, names[i].name, names[i].n_dimensions, names[i].dimensions,
                           (lud_init){.kind = LUD_INIT_NORMAL, .a = 1.0});
    assert_int_equal(lud_parameters_build(t->parameters, seed, &error), LUD_OK);
}

/* A clone's parameters in the folder; of `without` none, of `wrong` in another shape. */
static void write_run(const lud_parameters *parameters, int kind, const char *without, const char *wrong) {
    lud_error error = {0};
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    lud_column_statistics own[ACTIONS];
    uint64_t number = (uint64_t)kind;
    memcpy(own, columns, sizeof own);
    for (int i = 0; i < PARAMETERS; i++) {
        int64_t shape[2] = {names[i].dimensions[0], names[i].dimensions[1]};
        if (strcmp(names[i].name, without) == 0 || strncmp(names[i].name, "actor.", 6) != 0) continue;
        if (strcmp(names[i].name, wrong) == 0) shape[0]--;
        lud_checkpoint_tensor(checkpoint, names[i].name, LUD_TENSOR_F32, names[i].n_dimensions, shape,
                              lud_parameters_value(parameters, i));
    }
    if (kind >= 0) lud_normalisation_visit(own, ACTIONS, &number, checkpoint);
    if (lud_checkpoint_write(checkpoint, in_folder("policy.safetensors"), &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(checkpoint);
}

static void act(const lud_parameters *parameters, const double *h, double *actions) {
    double w[WEIGHTS], b[ACTIONS];
    lud_parameters_read(parameters, WEIGHT, w);
    lud_parameters_read(parameters, BIAS, b);
    for (int i = 0; i < ACTIONS; i++) {
        actions[i] = b[i];
        for (int j = 0; j < HIDDEN; j++) actions[i] += w[i * HIDDEN + j] * h[j];
    }
}

static void expect_same(const lud_parameters *a, const lud_parameters *b, int index) {
    assert_memory_equal(lud_parameters_value(a, index), lud_parameters_value(b, index),
                        (size_t)a->items[index].n * sizeof(float));
}

static void the_actor_acts_as_the_clone(void **state) {
    (void)state;
    static const double hidden[][HIDDEN] = {{0, 0, 0, 0}, {1, -2, 0.5, 3}, {-0.25, 0, 2, 1}};
    for (int kind = -1; kind <= LUD_NORMALISE_BOUNDS_Q99; kind++) { /* -1: of a learner that has none */
        lud_mappo_networks clone, fresh, begun;
        lud_error error = {0};
        const lud_normalisation normalisation =
            lud_normalisation_of((lud_normalisation_kind)(kind < 0 ? 0 : kind), columns);
        open_networks(&clone, 1);
        open_networks(&fresh, 2);
        open_networks(&begun, 2);
        write_run(clone.parameters, kind, "", "");
        if (lud_mappo_begin_with(&begun, folder, &error)) fail_msg("%s", error.text);
        for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++) {
            double of_clone[ACTIONS], of_begun[ACTIONS];
            act(clone.parameters, hidden[k], of_clone);
            act(begun.parameters, hidden[k], of_begun);
            for (int i = 0; i < ACTIONS; i++)
                assert_true(fabs(of_begun[i] - lud_denormalise(&normalisation, i, of_clone[i])) <= 1e-5);
        }
        double of_clone[ACTIONS], of_begun[ACTIONS];
        lud_parameters_read(clone.parameters, LOG_STD, of_clone);
        lud_parameters_read(begun.parameters, LOG_STD, of_begun);
        for (int i = 0; i < ACTIONS; i++) {
            const double wide =
                lud_denormalise(&normalisation, i, 1.0) - lud_denormalise(&normalisation, i, 0.0);
            /* where only one action was ever seen the scatter stays as it is */
            assert_true(fabs(of_begun[i] - of_clone[i] - (wide > 0.0 ? log(wide) : 0.0)) <= 1e-5);
        }
        expect_same(begun.parameters, clone.parameters, HIDDEN_WEIGHT);
        expect_same(begun.parameters, fresh.parameters, 0);
        expect_same(begun.parameters, fresh.parameters, PARAMETERS - 1);
        lud_parameters_destroy(clone.parameters);
        lud_parameters_destroy(fresh.parameters);
        lud_parameters_destroy(begun.parameters);
    }
}

static void other_networks_are_refused(void **state) {
    (void)state;
    for (int i = HIDDEN_WEIGHT; i <= LOG_STD; i++)
        for (int missing = 0; missing < 2; missing++) {
            lud_mappo_networks t;
            lud_error error = {0};
            open_networks(&t, 1);
            write_run(t.parameters, LUD_NORMALISE_NORMAL, missing ? names[i].name : "",
                      missing ? "" : names[i].name);
            assert_int_equal(lud_mappo_begin_with(&t, folder, &error), LUD_ERROR_INPUT);
            assert_non_null(strstr(error.text, names[i].name));
            assert_non_null(strstr(error.text, missing ? "missing" : "of another shape"));
            assert_non_null(strstr(error.text, "learner.start"));
            lud_parameters_destroy(t.parameters);
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
        cmocka_unit_test(the_actor_acts_as_the_clone),
        cmocka_unit_test(other_networks_are_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
