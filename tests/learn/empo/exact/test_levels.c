/* Solving by levels gives the bytes that solving with the whole graph gives: of records, and of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "folder.h"
#include "full_disk.h"
#include "learn/empo/exact/level_sweep.h"
#include "learn/empo/exact/open_goals.h"
#include "learn/empo/exact/solve.h"
#include "learn/empo/exact/support_solved.h"

TEST_FOLDER("/tmp/ludus-empo-levels-XXXXXX")

/* ---- records of random games ---- */

static void habit(void *context, uint64_t index, const uint8_t *state, double *policies) {
    const lud_empo_layout *layout = context;
    (void)state;
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = 0; g < layout->goal_begin[h + 1] - layout->goal_begin[h]; g++)
            for (int a = 0; a < layout->n_human_actions[h]; a++)
                policies[layout->policy_begin[h] + g * layout->n_human_actions[h] + a] =
                    a == (int)(index % (uint64_t)layout->n_human_actions[h]) ? 1 : 0;
}

static void robot(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    const lud_empo_layout *layout = context;
    for (int r = 0; r < layout->n_robot_actions; r++)
        pi_r[r] = r == (state[0] + (int)index) % layout->n_robot_actions ? 0.5 : 0;
    pi_r[0] += 0.5;
}

/* What a sweep by levels says of states whose records are not needed any more. */
typedef struct let_go {
    const double *records, *expected;
    uint64_t width, n_states;
    int *times; /* [n_states] */
} let_go;

static void states_done(void *context, uint64_t begin, uint64_t end) {
    const let_go *done = context;
    assert_true(begin < end && end <= done->n_states);
    assert_memory_equal(done->records + begin * done->width, done->expected + begin * done->width,
                        (end - begin) * done->width * sizeof(double));
    for (uint64_t s = begin; s < end; s++) done->times[s]++;
}

/* Each state is let go once, when its record stands; those of finished levels are not computed. */
static void check_let_go(const lud_empo_problem *problem, const lud_empo_layers *layers, lud_empo_run run,
                         const double *expected) {
    let_go done = {.records = run.records,
                   .expected = expected,
                   .width = (uint64_t)problem->layout.record_doubles,
                   .n_states = layers->begin[layers->n]};
    lud_error error = {0};
    done.times = calloc(done.n_states, sizeof *done.times);
    run.states_done = states_done;
    run.context = &done;
    assert_int_equal(lud_empo_solve_levels(problem, layers, &run, &error), LUD_OK);
    for (uint64_t s = 0; s < done.n_states; s++)
        assert_int_equal(done.times[s], s < layers->begin[run.first_level]);
    free(done.times);
}

static void check_game(uint64_t seed, int n_humans, int n_robots, const lud_empo_theory *theory,
                       bool hooked) {
    table_model *m = table_world_random(seed, n_humans, n_robots, 3, 7, 40, false);
    lud_statespace *space;
    lud_empo_problem *whole = NULL, *listed = NULL;
    lud_error error = {0};
    lud_status status = lud_statespace_build(&m->base, &(lud_statespace_options){0}, &space, &error);
    if (!status) status = lud_empo_problem_create(space, theory, &whole, &error);
    if (!status) status = lud_empo_problem_of_model(&m->base, theory, &listed, &error);
    if (status) fail_msg("%s", error.text);
    const uint64_t width = (uint64_t)whole->layout.record_doubles, bytes = space->n_states * width * 8;
    double *expected = malloc(bytes), *records = malloc(bytes);
    lud_empo_hooks hooks = {.habit = habit, .robot = hooked ? robot : NULL, .context = &whole->layout};
    lud_empo_run run = {.records = expected, .first_level = INT32_MAX, .hooks = &hooks};
    if (lud_empo_solve(whole, &run, &error)) fail_msg("%s", error.text);
    const lud_empo_layers layers = {space->n_layers, space->layer_begin, space->states};
    for (int n_threads = 1; n_threads <= 3; n_threads++)
        for (int first = 0; first <= space->n_layers; first++) { /* all, or only what is not finished */
            memset(records, 0xff, bytes);
            const uint64_t done = space->layer_begin[first] * width;
            memcpy(records + done, expected + done, bytes - done * 8);
            run = (lud_empo_run){
                .records = records, .first_level = first, .hooks = &hooks, .n_threads = n_threads};
            if (lud_empo_solve_levels(listed, &layers, &run, &error)) fail_msg("%s", error.text);
            assert_memory_equal(records, expected, bytes);
            if (n_threads == 2) check_let_go(listed, &layers, run, expected);
        }
    /* states that are not the world's */
    uint8_t *other = malloc(space->n_states * space->state_bytes);
    memcpy(other, space->states, space->n_states * space->state_bytes);
    memcpy(other + space->layer_begin[1] * space->state_bytes, other, space->state_bytes);
    const lud_empo_layers wrong = {space->n_layers, space->layer_begin, other};
    run.first_level = space->n_layers;
    assert_int_equal(lud_empo_solve_levels(listed, &wrong, &run, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, " is not in the next level"));
    free(other);
    free(expected);
    free(records);
    lud_empo_problem_destroy(whole);
    lud_empo_problem_destroy(listed);
    lud_statespace_destroy(space);
    free(m);
}

static void random_games(void **state) {
    (void)state;
    lud_empo_theory theory = support_theory;
    check_game(1, 1, 1, &theory, false);
    check_game(2, 2, 1, &theory, false);
    theory.optimistic = true;
    theory.nu_h = 0.3;
    check_game(3, 2, 1, &theory, true);
    theory.aggregate = LUD_EMPO_SUM;
    check_game(4, 1, 0, &theory, false);
    check_game(5, 1, 2, &theory, true);
}

/* ---- files of shipped worlds ---- */

typedef struct world {
    const char *file;
    const char *set[3];
    int n_set;
} world;

static const world worlds[] = {
    {"empo/fetch_the_key", {0}, 0},
    {"empo/one_rock_two_people", {"learner.optimistic=true"}, 1},
    {"empo/steady_the_bridge", {"learner.habit={type: random}", "learner.nu_h=0.2"}, 2},
    {"empo/keep_off_the_button", {"learner.belief={type: random}", "learner.beta_h=.inf"}, 2},
    {"multigrid/two_keys", {"multigrid.max_steps=5"}, 1},
};
enum { N_WORLDS = sizeof worlds / sizeof *worlds };

static lud_scenario *load(const world *w) {
    char path[512];
    lud_scenario *scenario;
    lud_error error = {0};
    snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/%s.yaml", w->file);
    if (lud_scenario_load(path, w->set, w->n_set, &scenario, &error)) fail_msg("%s", error.text);
    return scenario;
}

static lud_status solve(const lud_scenario *scenario, const char *name, lud_empo_method method, bool resume,
                        int n_threads, uint64_t memory_limit, lud_error *error) {
    char run[128];
    snprintf(run, sizeof run, "%s/%s", folder, name);
    const lud_empo_solve_options options = {
        .run = run, .resume = resume, .method = method, .memory_limit = memory_limit, .n_threads = n_threads};
    lud_empo_case c;
    lud_empo_solution *solution = NULL;
    LUD_TRY(lud_empo_case_open(scenario, &options, &c, error));
    const lud_status status = lud_empo_case_solve(&c, &options, &solution, error);
    lud_empo_solution_close(solution);
    lud_empo_case_close(&c);
    return status;
}

static void must_solve(const lud_scenario *scenario, const char *name, lud_empo_method method, bool resume,
                       int n_threads) {
    lud_error error = {0};
    if (solve(scenario, name, method, resume, n_threads, 0, &error)) fail_msg("%s", error.text);
}

static bool there(const char *name, const char *file) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s/%s", folder, name, file);
    return lud_file_exists(path);
}

static void check_same(const char *a, const char *b) {
    char command[512];
    snprintf(command, sizeof command, "cmp %s/%s/solution.empo %s/%s/solution.empo", folder, a, folder, b);
    assert_int_equal(system(command), 0);
    assert_false(there(b, "solution.empo.levels.partial"));
    assert_false(there(b, "solution.empo.partial"));
}

static void forget(const char *name) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(remove_folder(path), 0);
}

static void shipped_worlds(void **state) {
    (void)state;
    for (int i = 0; i < N_WORLDS; i++) {
        lud_scenario *scenario = load(&worlds[i]);
        must_solve(scenario, "graph", LUD_EMPO_BY_GRAPH, false, 2);
        for (int n_threads = 1; n_threads <= 2; n_threads++) {
            must_solve(scenario, "levels", LUD_EMPO_BY_LEVELS, false, n_threads);
            check_same("graph", "levels");
        }
        forget("graph");
        forget("levels");
        lud_scenario_destroy(scenario);
    }
}

/* The questions of a session before it finds levels. */
static int64_t questions_before(const lud_scenario *scenario) {
    lud_empo_layout layout;
    lud_error error = {0};
    lud_interrupt_at(0);
    assert_int_equal(lud_empo_layout_find(scenario->model, &layout, &error), LUD_OK);
    assert_int_equal(
        lud_empo_check_open_goals(scenario->model, &layout, (uint64_t)scenario->run.seed, &error), LUD_OK);
    return lud_interrupt_questions();
}

/* Stopped at any question, by turns with both methods, until it ends. */
static void interrupted_and_resumed(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        lud_scenario *scenario = load(&worlds[i]);
        must_solve(scenario, "graph", LUD_EMPO_BY_GRAPH, false, 1);
        const int64_t before = questions_before(scenario);
        for (int mixed = 0; mixed < 2; mixed++) {
            lud_status status = LUD_INTERRUPTED;
            int sessions = 0, early = 0;
            for (; status == LUD_INTERRUPTED && sessions < 500; sessions++) {
                lud_error error = {0};
                lud_interrupt_at(before + 2 + sessions % 9 * 5);
                status =
                    solve(scenario, "parts", mixed && sessions % 2 ? LUD_EMPO_BY_GRAPH : LUD_EMPO_BY_LEVELS,
                          true, 2, 0, &error);
                lud_interrupt_at(0);
                lud_interrupt_set(false);
                early += there("parts", "solution.empo.levels.partial") &&
                         !there("parts", "solution.empo.partial");
                if (status == LUD_INTERRUPTED) assert_non_null(strstr(error.text, "interrupted"));
            }
            assert_int_equal(status, LUD_OK);
            if (sessions < 4 || !early) fail_msg("%d sessions, %d ended early", sessions, early);
            if (!mixed) check_same("graph", "parts");
            char command[256];
            snprintf(command, sizeof command, "cmp %s/graph/solution.empo %s/parts/solution.empo", folder,
                     folder);
            assert_int_equal(system(command), 0);
            forget("parts");
        }
        forget("graph");
        lud_scenario_destroy(scenario);
    }
}

/* A disk that becomes full, later each time: an error that names a file, and the next session goes on. */
static void full_disks(void **state) {
    (void)state;
    lud_scenario *scenario = load(&worlds[0]);
    must_solve(scenario, "graph", LUD_EMPO_BY_GRAPH, false, 1);
    int refused = 0;
    for (rlim_t room = 100; room < 1 << 20; room *= 3) {
        lud_error error = {0};
        full_disk(room);
        const lud_status status = solve(scenario, "full", LUD_EMPO_BY_LEVELS, room % 2, 1, 0, &error);
        empty_disk();
        if (status == LUD_OK) continue;
        refused++;
        assert_int_equal(status, LUD_ERROR_IO);
        assert_non_null(strstr(error.text, "solution.empo"));
        assert_false(there("full", "solution.empo"));
    }
    assert_true(refused > 3);
    must_solve(scenario, "full", LUD_EMPO_BY_LEVELS, true, 1);
    check_same("graph", "full");
    forget("graph");
    forget("full");
    lud_scenario_destroy(scenario);
}

/* What memory does not hold is said with how far it came; more memory goes on from there. */
static void little_memory(void **state) {
    (void)state;
    lud_scenario *scenario = load(&worlds[4]);
    lud_error error = {0};
    must_solve(scenario, "graph", LUD_EMPO_BY_GRAPH, false, 1);
    assert_int_equal(solve(scenario, "little", LUD_EMPO_BY_LEVELS, false, 1, 1 << 20, &error),
                     LUD_ERROR_MEMORY);
    assert_non_null(strstr(error.text, "need more than the memory limit of 1.00 MiB: reached "));
    must_solve(scenario, "little", LUD_EMPO_BY_LEVELS, true, 1);
    check_same("graph", "little");
    forget("graph");
    forget("little");
    lud_scenario_destroy(scenario);
}

static bool is_there(const char *name) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* What can never be solved leaves no file and no folder behind: a world in which a person can come, but only
 * after a robot has fetched a key and opened a door, to where no goal is open to it. */
static void nothing_is_left_of_what_cannot_be_solved(void **state) {
    (void)state;
    lud_scenario *scenario = load(&(world){"empo/fetch_the_key", {"goals=[{cell: [1, 1]}]"}, 1});
    for (int i = 0; i < 2; i++) {
        lud_error error = {0};
        const lud_empo_method method = i ? LUD_EMPO_BY_LEVELS : LUD_EMPO_BY_GRAPH;
        (void)questions_before(scenario); /* it is not seen at a glance */
        assert_int_equal(solve(scenario, "hopeless", method, false, 2, 0, &error), LUD_ERROR_INPUT);
        assert_non_null(strstr(error.text, "no goal is open to agent 0 any more"));
        assert_false(is_there("hopeless"));
    }
    lud_scenario_destroy(scenario);
}

/* In one level after the other one action leads to one state: also that one is looked for in the next level.
 */
static void the_only_successor_is_looked_for(void **state) {
    (void)state;
    table_model *m = table_world_random(3, 1, 0, 1, 4, 1, false);
    lud_statespace *space;
    lud_empo_problem *listed;
    lud_error error = {0};
    assert_int_equal(lud_statespace_build(&m->base, &(lud_statespace_options){0}, &space, &error), LUD_OK);
    assert_int_equal(lud_empo_problem_of_model(&m->base, &support_theory, &listed, &error), LUD_OK);
    double *records = calloc(space->n_states * (size_t)listed->layout.record_doubles, sizeof *records);
    const lud_empo_layers layers = {space->n_layers, space->layer_begin, space->states};
    const lud_empo_run run = {.records = records, .first_level = INT32_MAX, .n_threads = 1};
    assert_int_equal(lud_empo_solve_levels(listed, &layers, &run, &error), LUD_OK);
    space->states[1 * space->state_bytes] ^= 0xff;
    assert_int_equal(lud_empo_solve_levels(listed, &layers, &run, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "a successor of a state in level 0 is not in the next level"));
    free(records);
    lud_empo_problem_destroy(listed);
    lud_statespace_destroy(space);
    free(m);
}

/* Levels of another world are refused, also of one that differs in nothing but what chance makes of it. */
static void worlds_that_fail(void **state) {
    (void)state;
    lud_scenario *scenario = load(&worlds[0]);
    lud_error error = {0};
    lud_interrupt_at(questions_before(scenario) + 3);
    lud_status status = solve(scenario, "other", LUD_EMPO_BY_LEVELS, false, 1, 0, &error);
    lud_interrupt_at(0);
    lud_interrupt_set(false);
    assert_int_equal(status, LUD_INTERRUPTED);
    lud_scenario_destroy(scenario);
    scenario = load(&(world){"empo/fetch_the_key", {"run.seed=2"}, 1});
    assert_int_equal(solve(scenario, "other", LUD_EMPO_BY_LEVELS, true, 1, 0, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "solution.empo.levels.partial: belongs to another world"));
    lud_scenario_destroy(scenario);
    scenario = load(&(world){"empo/fetch_the_key", {"multigrid.max_steps=7"}, 1});
    assert_int_equal(solve(scenario, "other", LUD_EMPO_BY_LEVELS, true, 1, 0, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "solution.empo.levels.partial: belongs to another world"));
    must_solve(scenario, "other", LUD_EMPO_BY_LEVELS, false, 1); /* anew */
    must_solve(scenario, "graph", LUD_EMPO_BY_GRAPH, false, 1);
    check_same("graph", "other");
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_games),
        cmocka_unit_test(shipped_worlds),
        cmocka_unit_test(interrupted_and_resumed),
        cmocka_unit_test(full_disks),
        cmocka_unit_test(little_memory),
        cmocka_unit_test(worlds_that_fail),
        cmocka_unit_test(nothing_is_left_of_what_cannot_be_solved),
        cmocka_unit_test(the_only_successor_is_looked_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
