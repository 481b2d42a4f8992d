/* The scenarios of scenarios/empo still show what their comments say: how an episode ends under the exact
 * solution, against how it ends when the robot acts at random. Those of scenarios/empo/learned train. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/evaluation/policy_estimate.h"
#include "learn/empo/exact/chain.h"
#include "learn/empo/phase2/phase2.h"
#include "sim/multigrid/grid_view.h"

static bool door_is_open(const lud_grid_scene *s) {
    for (int c = 0; c < s->width * s->height; c++)
        if (s->cells[c].ground.type == LUD_DOOR) return s->cells[c].ground.door == LUD_DOOR_OPEN;
    return false;
}

static bool robot_is_at(const lud_grid_scene *s, int x, int y) {
    for (int i = 0; i < s->n_agents; i++)
        if (s->agents[i].role == LUD_ROLE_ROBOT && s->agents[i].x == x && s->agents[i].y == y) return true;
    return false;
}

static bool somebody_is_dead(const lud_grid_scene *s) {
    for (int i = 0; i < s->n_agents; i++)
        if (s->agents[i].terminated) return true;
    return false;
}

static bool piece_is_at(const lud_grid_scene *s, int x, int y) {
    return s->cells[y * s->width + x].piece >= 0;
}

static bool bush_is_trampled(const lud_grid_scene *s) {
    for (int c = 0; c < s->width * s->height; c++)
        if (s->cells[c].ground.type == LUD_BUSH) return s->cells[c].trampled;
    return false;
}

static bool rock_left_the_corridor(const lud_grid_scene *s) {
    return !piece_is_at(s, 3, 2);
}
static bool rock_is_past_both(const lud_grid_scene *s) {
    return piece_is_at(s, 4, 2);
}
static bool rock_stands_halfway(const lud_grid_scene *s) {
    return piece_is_at(s, 3, 2);
}
static bool robot_is_in_the_niche(const lud_grid_scene *s) {
    return robot_is_at(s, 3, 2);
}
static bool robot_is_in_the_western_niche(const lud_grid_scene *s) {
    return robot_is_at(s, 2, 2);
}
static bool robot_is_in_the_northern_niche(const lud_grid_scene *s) {
    return robot_is_at(s, 4, 1);
}
static bool lava_is_bridged(const lud_grid_scene *s) {
    return piece_is_at(s, 3, 3);
}

typedef struct expectation {
    const char *file;
    int seed; /* draws the map of an ensemble */
    bool (*ends_with)(const lud_grid_scene *scene);
    double at_least, at_most;               /* probability under the exact solution */
    double random_at_least, random_at_most; /* and with a robot that acts at random */
} expectation;

static const expectation expectations[] = {
    {"fetch_the_key", 1, door_is_open, 0.9, 1, 0, 0.01},
    {"open_the_box", 1, door_is_open, 0.95, 1, 0, 0.01},
    {"push_the_rock_aside", 1, rock_left_the_corridor, 0.99, 1, 0.4, 0.6},
    {"keep_off_the_button", 1, somebody_is_dead, 0, 0.005, 0.3, 0.5},
    {"step_out_of_the_way", 1, robot_is_in_the_niche, 0.95, 1, 0, 0.3},
    {"trample_the_bush", 1, bush_is_trampled, 0.8, 1, 0, 0.2},
    {"bridge_the_lava", 1, lava_is_bridged, 0.6, 1, 0, 0.4},
    {"steady_the_bridge", 1, lava_is_bridged, 0.55, 1, 0, 0.4},
    {"between_two_people", 1, robot_is_in_the_niche, 0.95, 1, 0, 0.3},
    {"three_niches", 1, robot_is_in_the_niche, 0.8, 1, 0, 0.3},
    {"three_niches", 2, robot_is_in_the_western_niche, 0.8, 1, 0, 0.3},
    {"three_niches", 8, robot_is_in_the_northern_niche, 0.8, 1, 0, 0.3},
    {"one_rock_two_people", 1, rock_is_past_both, 0.7, 1, 0, 0.2},
    {"one_rock_two_people", 1, rock_stands_halfway, 0, 0.01, 0.1, 1},
};

/* Probability that an episode ends in a state with the property, robots following `hooks` or the solution. */
static double probability(lud_empo_case *c, const expectation *e, lud_empo_hooks *hooks) {
    lud_error error = {0};
    const lud_statespace *space = c->space;
    double *records = malloc(space->n_states * (size_t)c->problem->layout.record_doubles * sizeof *records);
    double *visits = malloc(space->n_states * sizeof *visits), total = 0;
    lud_empo_run run = {.records = records, .hooks = hooks, .first_level = INT32_MAX};
    const uint32_t start = 0;
    if (lud_empo_solve(c->problem, &run, &error) ||
        lud_empo_visits(c->problem, records, &start, 1, visits, &error))
        fail_msg("%s: %s", e->file, error.text);
    lud_grid_scene *scene = lud_grid_scene_create(space->model);
    for (uint64_t s = 0; s < space->n_states; s++) {
        if (visits[s] == 0 || !lud_statespace_terminal(space, s)) continue;
        lud_grid_scene_read(scene, space->model, space->states + s * space->state_bytes);
        if (e->ends_with(scene)) total += visits[s];
    }
    lud_grid_scene_destroy(scene);
    free(visits);
    free(records);
    return total;
}

static void random_robot(void *context, uint64_t index, const uint8_t *state, double *pi_r) {
    (void)index;
    (void)state;
    for (int r = 0; r < *(int *)context; r++) pi_r[r] = 1.0 / *(int *)context;
}

static void scenarios_show_what_they_say(void **context) {
    (void)context;
    for (size_t i = 0; i < sizeof expectations / sizeof *expectations; i++) {
        const expectation *e = &expectations[i];
        lud_error error = {0};
        lud_scenario *scenario;
        lud_empo_case c;
        char path[512];
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/empo/%s.yaml", e->file);
        char seed[32];
        snprintf(seed, sizeof seed, "run.seed=%d", e->seed);
        if (lud_scenario_load(path, (const char *const[]){seed}, 1, &scenario, &error))
            fail_msg("%s", error.text);
        if (lud_empo_case_open(scenario, &(lud_empo_solve_options){0}, &c, &error))
            fail_msg("%s: %s", path, error.text);
        int n_robot = c.problem->layout.n_robot_actions;
        double exact = probability(&c, e, NULL);
        double chance = probability(&c, e, &(lud_empo_hooks){.robot = random_robot, .context = &n_robot});
        if (exact < e->at_least || exact > e->at_most)
            fail_msg("%s: probability %.6f, expected %g to %g", e->file, exact, e->at_least, e->at_most);
        if (chance < e->random_at_least || chance > e->random_at_most)
            fail_msg("%s with a random robot: probability %.6f, expected %g to %g", e->file, chance,
                     e->random_at_least, e->random_at_most);
        lud_empo_case_close(&c);
        lud_scenario_destroy(scenario);
    }
}

/* Taking the key from under the person's nose is possible in the first step and all but never done. */
static void the_key_is_left_to_the_person(void **context) {
    (void)context;
    lud_error error = {0};
    lud_scenario *scenario;
    lud_empo_case c;
    if (lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/empo/leave_the_key.yaml", NULL, 0, &scenario,
                          &error) ||
        lud_empo_case_open(scenario, &(lud_empo_solve_options){0}, &c, &error))
        fail_msg("%s", error.text);
    double *records = malloc(c.space->n_states * (size_t)c.problem->layout.record_doubles * sizeof *records);
    lud_empo_run run = {.records = records, .first_level = INT32_MAX};
    assert_int_equal(lud_empo_solve(c.problem, &run, &error), LUD_OK);
    const lud_action_space *actions = &scenario->model->layout.actions[c.problem->layout.robots[0]];
    int pickup = -1;
    for (int a = 0; a < actions->n_discrete; a++)
        if (!strcmp(actions->names[a], "pickup")) pickup = a;
    assert_true(pickup >= 0 && records[c.problem->layout.pi_r + pickup] < 1e-6);
    free(records);
    lud_empo_case_close(&c);
    lud_scenario_destroy(scenario);
}

/* A few updates of every configuration that ships, with all quantities learning in the last. */
static void what_is_learned_can_be_trained(void **context) {
    (void)context;
    static const char *const people[] = {"learner.num_training_steps=4", "learner.updates_per_iteration=2"};
    static const char *const robots[] = {"learner.num_training_steps=4",  "learner.updates_per_iteration=2",
                                         "learner.warmup_v_h_e_steps=1",  "learner.warmup_q_r_steps=1",
                                         "learner.beta_r_rampup_steps=1", "learner.buffer_memory=8M",
                                         "learner.human_prior=exact"};
    DIR *folder = opendir(LUDUS_SOURCE_DIR "/scenarios/empo/learned");
    assert_non_null(folder);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".yaml")) continue;
        const bool alone = strcmp(entry->d_name, "people_who_pass.yaml") == 0;
        char path[512];
        lud_error error = {0};
        lud_scenario *scenario;
        lud_device *device;
        lud_learner *learner = NULL;
        double row[256];
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/empo/learned/%s", entry->d_name);
        if (lud_scenario_load(path, alone ? people : robots,
                              alone ? sizeof people / sizeof *people : sizeof robots / sizeof *robots,
                              &scenario, &error))
            fail_msg("%s", error.text);
        if (lud_device_open("cpu", 1, &device, &error) ||
            lud_learner_create(scenario, device, &learner, &error))
            fail_msg("%s: %s", path, error.text);
        assert_in_range(learner->n_columns, 1, 256);
        assert_int_equal(learner->n_iterations, 2);
        for (uint64_t i = 0; i < learner->n_iterations; i++)
            if (learner->kind->iterate(learner, row, &error)) fail_msg("%s: %s", path, error.text);
        lud_learner_destroy(learner);
        lud_device_close(device);
        lud_scenario_destroy(scenario);
        n++;
    }
    closedir(folder);
    assert_true(n >= 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scenarios_show_what_they_say),
                                       cmocka_unit_test(the_key_is_left_to_the_person),
                                       cmocka_unit_test(what_is_learned_can_be_trained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
