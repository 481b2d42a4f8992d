/* A world of your own: two agents on a row of cells, a person who wants to reach one of its ends and a robot
 * that holds the doors there. A door is open while the robot stands beside it; the floor is slippery. Once it
 * is registered it is stepped, solved, trained in and drawn like the worlds of Ludus. */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERSON, ROBOT, AGENTS, CELLS = 5 };
enum { STAY, LEFT, RIGHT, ACTIONS };

typedef struct row {
    uint8_t person, robot; /* cells; the person is out at 0 and CELLS - 1 */
} row;

static void reset(const double *options, ludus_random *random, uint8_t *state) {
    (void)options, (void)random;
    *(row *)(void *)state = (row){CELLS / 2, CELLS / 2};
}

static int moved(int cell, int action) {
    const int to = cell + (action == RIGHT) - (action == LEFT);
    return to < 0 || to >= CELLS ? cell : to;
}

/* The robot first, then the person, who slips with the probability of the option and stays. */
static void successors(const double *options, const uint8_t *state, const int32_t *actions,
                       ludus_successors *out) {
    const row *before = (const row *)(const void *)state;
    row slipped = *before, arrived;
    slipped.robot = (uint8_t)moved(before->robot, actions[ROBOT]);
    arrived = slipped;
    const int to = moved(before->person, actions[PERSON]);
    const int held = slipped.robot < CELLS / 2   ? 0
                     : slipped.robot > CELLS / 2 ? CELLS - 1
                                                 : -1; /* this door is open */
    if ((to != 0 && to != CELLS - 1) || to == held) arrived.person = (uint8_t)to;
    ludus_successors_add(out, options[0], (const uint8_t *)&slipped);
    ludus_successors_add(out, 1.0 - options[0], (const uint8_t *)&arrived);
}

static int achieved(const double *options, const uint8_t *state, int agent, int goal) {
    (void)options, (void)agent;
    return state[PERSON] == goal; /* a goal for every cell, as people may want to be anywhere */
}

static int ended(const double *options, const uint8_t *state) {
    return achieved(options, state, PERSON, 0) || achieved(options, state, PERSON, 1);
}

static void reward(const double *options, const uint8_t *before, const int32_t *actions, const uint8_t *after,
                   float *rewards) {
    (void)before, (void)actions;
    for (int i = 0; i < AGENTS && ended(options, after); i++) rewards[i] = 1.0f;
}

static void observe(const double *options, const uint8_t *state, int agent, float *numbers) {
    (void)options;
    memset(numbers, 0, 2 * CELLS * sizeof *numbers);
    numbers[state[agent]] = 1.0f;
    numbers[CELLS + state[!agent]] = 1.0f;
}

static void describe(const double *options, const uint8_t *state, char *text, size_t size) {
    (void)options;
    snprintf(text, size, "person in cell %d, robot in cell %d", state[PERSON], state[ROBOT]);
}

static void draw(const double *options, const uint8_t *state, ludus_canvas *canvas) {
    (void)options;
    for (int cell = 0; cell < CELLS; cell++) {
        const int end = cell == 0 || cell == CELLS - 1;
        const int open = end && (cell ? state[ROBOT] > CELLS / 2 : state[ROBOT] < CELLS / 2);
        ludus_canvas_rectangle(canvas, (float)cell + 0.03f, 0.03f, 0.94f, 1.94f,
                               end && !open ? 8
                               : end        ? 4
                                            : 7);
    }
}

static void agent_position(const double *options, const uint8_t *state, int agent, float *x, float *y) {
    (void)options;
    *x = (float)state[agent] + 0.5f;
    *y = agent == PERSON ? 0.5f : 1.5f;
}

static const ludus_world_option options[] = {{"slip", 0.1, 0, 1, "probability that the person slips"}};
static const ludus_role roles[AGENTS] = {[PERSON] = LUDUS_ROLE_HUMAN, [ROBOT] = LUDUS_ROLE_ROBOT};
static const char *const actions[ACTIONS] = {"stay", "left", "right"};
static const ludus_world doors = {.name = "doors",
                                  .about = "a row with a door at either end",
                                  .n_options = 1,
                                  .options = options,
                                  .n_agents = AGENTS,
                                  .roles = roles,
                                  .n_actions = ACTIONS,
                                  .action_names = actions,
                                  .state_bytes = sizeof(row),
                                  .n_numbers = 2 * CELLS,
                                  .n_goals = CELLS,
                                  .width = CELLS,
                                  .height = 2,
                                  .reset = reset,
                                  .successors = successors,
                                  .ended = ended,
                                  .reward = reward,
                                  .observe = observe,
                                  .achieved = achieved,
                                  .describe = describe,
                                  .draw = draw,
                                  .agent_position = agent_position};

static void need(ludus_status status, const ludus_error *error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int argc, char **argv) {
    static const char text[] = "ludus: 1\nworld: doors\ndoors: {max_steps: 12, slip: 0.2}\n";
    static const char *const learn[] = {
        "learner={type: graph-mappo, steps: 40000, evaluation_episodes: 100}"};
    ludus_error error;
    ludus_scenario *scenario, *lesson;
    ludus_solution *solution;
    ludus_solution_info solved;
    char *report, path[512], run[512];
    if (argc != 2) return fprintf(stderr, "usage: %s FOLDER\n", argv[0]), 2;
    need(ludus_register_world(&doors, &error), &error);
    need(ludus_scenario_read("doors.yaml", text, sizeof text - 1, NULL, 0, &scenario, &error), &error);
    need(ludus_scenario_read("doors.yaml", text, sizeof text - 1, learn, 1, &lesson, &error), &error);
    snprintf(path, sizeof path, "%s/solved", argv[1]);
    need(ludus_solve(scenario, path, 0, 1, &solution, &error), &error);
    ludus_solution_get_info(solution, &solved);
    printf("%llu states; V_r %.4f, power of the person %.4f\n", (unsigned long long)solved.n_states,
           solved.records[solved.v_r], solved.records[solved.x_h]);
    ludus_solution_free(solution);
    snprintf(run, sizeof run, "%s/trained", argv[1]);
    need(ludus_train(lesson, &(ludus_train_options){.run = run, .device = "cpu", .overwrite = true}, &error),
         &error);
    need(ludus_evaluate(run, &report, &error), &error);
    printf("trained: %s\n", report);
    ludus_free(report);
    snprintf(path, sizeof path, "%s/doors.gif", argv[1]);
    need(ludus_record_video(lesson, run, path, 1, 1, NULL, &error), &error);
    printf("%s shows an episode\n", path);
    ludus_scenario_free(lesson), ludus_scenario_free(scenario);
    return 0;
}
