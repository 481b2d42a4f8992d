/* How near the learner empo-phase2 comes to the exact solution: the shipped configurations in tables and with
 * networks, three seeds each, the largest error of the three. Run from the project's folder. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "learn/empo/phase2/phase2.h"
#include "tests/bench/bench.h"

enum { SEEDS = 3 };

/* What was asked for, in percent. */
static const double value_bound = 5, regret_bound = 2, seconds_bound = 1200;

typedef struct outcome {
    double v_r, x_h, regret, seconds; /* percent, and seconds of processor time */
} outcome;

static lud_status train_once(const char *path, int seed, outcome *worst, lud_error *error) {
    lud_text seed_text = {0};
    lud_text_append(&seed_text, "run.seed=%d", seed);
    const char *const set[] = {seed_text.bytes};
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    const clock_t begin = clock();
    lud_status status =
        seed_text.failed ? lud_no_memory(error, "a text") : lud_scenario_load(path, set, 1, &scenario, error);
    if (!status) status = lud_device_open("cpu", 1, &device, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    enum { MOST = 256 };
    double row[MOST];
    if (!status && (learner->n_columns > MOST || learner->n_evaluation_columns > MOST))
        status = lud_fail(error, LUD_ERROR_LIMIT, "more than %d columns", (int)MOST);
    for (uint64_t i = 0; !status && i < learner->n_iterations; i++)
        status = lud_interrupted() ? lud_fail(error, LUD_INTERRUPTED, "interrupted")
                                   : learner->kind->iterate(learner, row, error);
    if (!status) status = learner->kind->evaluate(learner, row, error);
    if (!status) {
        const lud_empo_distance *d = &((lud_empo_phase2_learner *)learner)->distance;
        worst->v_r = fmax(worst->v_r, 100 * d->exact.v_r);
        worst->x_h = fmax(worst->x_h, 100 * d->exact.x_h);
        worst->regret = fmax(worst->regret, 100 * fabs(d->regret));
        worst->seconds = fmax(worst->seconds, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    lud_text_free(&seed_text);
    return status;
}

static lud_status add(lud_bench_report *report, const char *world, const char *what, double value,
                      const char *unit, double bound, lud_error *error) {
    lud_text name = {0};
    lud_text_append(&name, "%s, %s", world, what);
    const lud_status status =
        name.failed
            ? lud_no_memory(error, "a row")
            : lud_bench_add(report,
                            (lud_bench_row){.name = name.bytes, .value = value, .unit = unit, .floor = bound},
                            error);
    lud_text_free(&name);
    return status;
}

static lud_status measure(lud_bench_report *report, lud_error *error) {
    static const char *const worlds[] = {"step_out_of_the_way",
                                         "fetch_the_key",
                                         "keep_off_the_button",
                                         "one_rock_two_people",
                                         "bridge_the_lava",
                                         "three_rooms",
                                         "step_out_of_the_way_networks",
                                         "keep_off_the_button_networks",
                                         "bridge_the_lava_networks",
                                         "between_two_people_networks",
                                         "three_niches_networks",
                                         "fetch_the_key_networks",
                                         "one_rock_two_people_networks",
                                         "three_rooms_networks"};
    lud_status status = LUD_OK;
    for (size_t w = 0; !status && w < sizeof worlds / sizeof *worlds; w++) {
        outcome worst = {0};
        lud_text path = {0};
        lud_text_append(&path, "scenarios/empo/learned/%s.yaml", worlds[w]);
        if (path.failed) status = lud_no_memory(error, "a path");
        for (int seed = 1; !status && seed <= SEEDS; seed++)
            status = train_once(path.bytes, seed, &worst, error);
        lud_text_free(&path);
        if (!status) status = add(report, worlds[w], "error of V_r", worst.v_r, "%", value_bound, error);
        if (!status) status = add(report, worlds[w], "error of X_h", worst.x_h, "%", value_bound, error);
        if (!status) status = add(report, worlds[w], "regret", worst.regret, "%", regret_bound, error);
        if (!status)
            status = add(report, worlds[w], "processor time", worst.seconds, "s", seconds_bound, error);
    }
    return status;
}

const lud_bench lud_bench_accuracy = {
    .name = "learn/empo",
    .about =
        "EMPO learned against exact: six worlds in tables, eight with the defaults, three seeds, the worst",
    .run = measure,
    .slow = true,
};
