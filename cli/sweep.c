/* `ludus sweep`: exact solutions or trainings over ranges of settings. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "cli/experiment/plan.h"
#include "cli/sweep/solutions.h"
#include "cli/sweep/trainings.h"
#include "learn/learner.h"

typedef struct sweep_values {
    lud_scenario_flags scenario;
    lud_flag_list vary;
    const char *output, *seeds, *score;
    int64_t samples, jobs, halving, budget_iterations, budget_steps;
    bool least, solve, dry, quiet;
} sweep_values;

#define FLAGS sweep_values
static const lud_flag flags[] = {
    LIST_FLAG("vary", 'v', vary, "KEY=RANGE",
              "a setting and its values: a,b,c or low:high:count (add :log for a geometric grid, :int for "
              "whole numbers); may be repeated"),
    INT_FLAG("samples", 'n', samples, 1, 1e9, "N",
             "draw N seeded random points within the ranges instead of the grid"),
    TEXT_FLAG("output", 'o', output, "FILE|DIR",
              "CSV file of solutions (default: standard output); folder of trainings"),
    TEXT_FLAG("seeds", 0, seeds, "N|A,B,C", "trainings: seeds of each point, 1 to N or these (1)"),
    TEXT_FLAG("score", 0, score, "COLUMN",
              "trainings: the column of metrics.csv that counts (the learner's own)"),
    SWITCH_FLAG("least", 0, least, "trainings: a smaller score is better"),
    INT_FLAG("halving", 0, halving, 2, 100, "N",
             "trainings: after each budget only the best of N go on, to a budget N times as long"),
    INT_FLAG("budget-iterations", 0, budget_iterations, 1, 1e15, "N",
             "halving: the first budget (so short that one point has a whole training)"),
    INT_FLAG("budget-steps", 0, budget_steps, 1, 1e15, "N", "halving: the first budget in environment steps"),
    INT_FLAG("jobs", 'j', jobs, 1, 1024, "N", "trainings side by side (as many as processors)"),
    SWITCH_FLAG("solve", 0, solve, "solve exactly, also where the scenario's learner is one that is trained"),
    SWITCH_FLAG("dry", 0, dry, "trainings: check all points and say what would run"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((sweep_values *)values)->scenario);
}

static lud_status read_ranges(lud_arena *arena, const sweep_values *values, lud_sweep *sweep,
                              lud_error *error) {
    const int n = values->vary.n;
    if (n == 0)
        return lud_invalid(error, "sweep SCENARIO needs something to vary: -v learner.beta_r=1:100:10:log");
    if (n > LUD_SWEEP_KEYS) return lud_fail(error, LUD_ERROR_LIMIT, "more than %d --vary", LUD_SWEEP_KEYS);
    lud_sweep_range *ranges = lud_arena_take_array(arena, (size_t)n, sizeof *ranges);
    if (!ranges) return lud_no_memory(error, "a sweep");
    for (int k = 0; k < n; k++)
        LUD_TRY(lud_sweep_range_read(arena, values->vary.items[k], values->samples > 0, &ranges[k], error));
    sweep->ranges = ranges;
    sweep->n_ranges = n;
    return LUD_OK;
}

/* `3` is 1, 2, 3; `4,7` is these. */
static lud_status read_seeds(lud_arena *arena, const char *text, lud_sweep *sweep, lud_error *error) {
    int64_t *seeds = lud_arena_take_array(arena, LUD_EXPERIMENT_SEEDS, sizeof *seeds), number = 1;
    if (!seeds) return lud_no_memory(error, "a sweep");
    const char *at = text ? text : "1", *end;
    bool good = lud_number_integer(at, &end, &number) > 0;
    const bool list = good && *end == ',';
    sweep->seeds = seeds;
    for (; good && list; at = end + 1) {
        good = sweep->n_seeds < LUD_EXPERIMENT_SEEDS && lud_number_integer(at, &end, &number) > 0 &&
               number >= 0 && (*end == ',' || !*end);
        for (int k = 0; k < sweep->n_seeds && good; k++) good = seeds[k] != number;
        if (good) seeds[sweep->n_seeds++] = number;
        if (!*end) break;
    }
    good = good && !*end && (list || (number >= 1 && number <= LUD_EXPERIMENT_SEEDS));
    if (!good)
        return lud_invalid(error,
                           "--seeds %s: expected the number of seeds, or a list a,b,c of 2 to %d, each "
                           "once",
                           text, LUD_EXPERIMENT_SEEDS);
    for (int64_t k = 0; k < number && !list; k++) seeds[sweep->n_seeds++] = k + 1;
    return LUD_OK;
}

/* Flags that only trainings have. */
static lud_status check_solved(const sweep_values *v, lud_error *error) {
    const struct {
        const char *name;
        bool given;
    } only[] = {{"seeds", v->seeds},
                {"score", v->score},
                {"least", v->least},
                {"halving", v->halving > 0},
                {"budget-iterations", v->budget_iterations > 0},
                {"budget-steps", v->budget_steps > 0},
                {"jobs", v->jobs > 0},
                {"dry", v->dry}};
    for (size_t k = 0; k < sizeof only / sizeof *only; k++)
        if (only[k].given)
            return lud_invalid(error, "--%s is for trainings; exact solutions are swept here", only[k].name);
    return LUD_OK;
}

static lud_status sweep_with(const sweep_values *values, const char *path, lud_arena *arena,
                             const lud_scenario *scenario, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    lud_sweep sweep = {.path = path,
                       .flags = &values->scenario,
                       .scenario = scenario,
                       .n_samples = values->samples,
                       .seed = (uint64_t)scenario->run.seed,
                       .output = values->output,
                       .quiet = values->quiet,
                       .score = values->score,
                       .least = values->least,
                       .halving = values->halving,
                       .budget_iterations = values->budget_iterations,
                       .budget_steps = values->budget_steps,
                       .jobs = values->jobs,
                       .dry = values->dry};
    LUD_TRY(read_ranges(arena, values, &sweep, error));
    if (scenario->learner && !values->solve) LUD_TRY(lud_learner_kind_of(scenario, &kind, error));
    if (!kind || !kind->create) {
        LUD_TRY(check_solved(values, error));
        return lud_sweep_solve(&sweep, error);
    }
    if (sweep.score && kind->score.column && strcmp(sweep.score, kind->score.column) == 0)
        sweep.least = sweep.least || kind->score.least;
    LUD_TRY(read_seeds(arena, values->seeds, &sweep, error));
    return lud_sweep_train(&sweep, error);
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const sweep_values *values = data;
    if (n_arguments > 1)
        return lud_invalid(error, "sweep: what varies stands behind -v: -v %s%s", arguments[1],
                           strchr(arguments[1], '=') ? "" : "=1:100:10:log");
    lud_scenario *scenario = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? LUD_OK : lud_no_memory(error, "a sweep");
    if (!status) status = lud_scenario_open(arguments[0], &values->scenario, &scenario, error);
    if (!status) status = sweep_with(values, arguments[0], arena, scenario, error);
    lud_scenario_destroy(scenario);
    lud_arena_destroy(arena);
    return status;
}

const lud_verb lud_verb_sweep = {
    .name = "sweep",
    .about = "solve or train over ranges of settings, one row of a table each",
    .arguments = "SCENARIO",
    .min_arguments = 1,
    .max_arguments = 2,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .over_processes = true,
    .notes =
        "Where the scenario's learner is solved: each row has the parameters, the number of states, and V_r, "
        "U_r,\n"
        "X_h, V_h^e, V_h^m, Q_r, pi_r at the start. Solutions run side by side. Keys under `learner.` share "
        "one\n"
        "graph; others build it anew.\n"
        "Where it is trained: every point with every seed is a training, in a process of its own; "
        "DIR/sweep.csv "
        "has\n"
        "a row a point, the best first. The same command goes on: what is done is not done again. --seed "
        "draws "
        "the\n"
        "points, --seeds the trainings. docs/experiments.md explains grids, random search and halving.\n\n"
        "example: ludus sweep scenarios/empo/fetch_the_key.yaml -v learner.beta_r=1:100:20:log -v "
        "learner.zeta=1,2,3 -o sweep.csv\n"
        "example: ludus sweep scenarios/particle/simple.yaml -o runs/rates -v "
        "learner.learning_rate=1e-4:1e-2:log -n 9 --halving 3\n",
    .run = run};
