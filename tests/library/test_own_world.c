/* Worlds that a program registers: refused when something is missing, stepped inside their successors, whole
 * across threads and checked like our own. */
#include <ludus/ludus.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A walk on three bytes: an agent adds its choice to its byte, and chance adds one to the third. */
enum { AGENTS = 2, BYTES = 3, SIDES = 4 };

static void reset(const double *options, ludus_random *random, uint8_t *state) {
    (void)options;
    state[2] = (uint8_t)(ludus_random_next(random) * SIDES);
}

static void successors(const double *options, const uint8_t *state, const int32_t *actions,
                       ludus_successors *out) {
    for (int chance = 0; chance < 3; chance++) { /* two of them are equal */
        const uint8_t next[BYTES] = {(uint8_t)((state[0] + actions[0]) % SIDES),
                                     (uint8_t)((state[1] + actions[1]) % SIDES),
                                     (uint8_t)((state[2] + (chance > 0)) % SIDES)};
        ludus_successors_add(out, chance ? options[0] / 2 : 1 - options[0] + options[1], next);
    }
}

static void reward(const double *options, const uint8_t *before, const int32_t *actions, const uint8_t *after,
                   float *rewards) {
    (void)options, (void)actions;
    rewards[1] = (float)(after[2] != before[2]);
}

static void observe(const double *options, const uint8_t *state, int agent, float *numbers) {
    (void)options;
    numbers[0] = state[agent];
}

static void describe(const double *options, const uint8_t *state, char *text, size_t size) {
    (void)options;
    snprintf(text, size, "%d %d %d", state[0], state[1], state[2]);
}

static void agent_position(const double *options, const uint8_t *state, int agent, float *x, float *y) {
    (void)options;
    *x = state[agent];
    *y = (float)agent;
}

static int is_state(const double *options, const uint8_t *state) {
    (void)options;
    return state[0] < SIDES && state[1] < SIDES && state[2] < SIDES;
}

static const ludus_world_option options[] = {{"chance", 0.5, 0, 1, "of a step of the third byte"},
                                             {"mistake", 0, 0, 1, "added to a probability"}};
static const ludus_role roles[AGENTS] = {LUDUS_ROLE_HUMAN, LUDUS_ROLE_ROBOT};
static const char *const actions[] = {"stay", "go"};
static const ludus_world walk = {.name = "walk",
                                 .about = "two walk and chance walks",
                                 .n_options = 2,
                                 .options = options,
                                 .n_agents = AGENTS,
                                 .roles = roles,
                                 .n_actions = 2,
                                 .action_names = actions,
                                 .state_bytes = BYTES,
                                 .n_numbers = 1,
                                 .width = SIDES,
                                 .height = 2,
                                 .reset = reset,
                                 .successors = successors,
                                 .reward = reward,
                                 .observe = observe,
                                 .describe = describe,
                                 .agent_position = agent_position,
                                 .is_state = is_state};

static ludus_status refused(ludus_world world, const char *part) {
    ludus_error error;
    const ludus_status status = ludus_register_world(&world, &error);
    if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
    return status;
}

static void test_registering(void **state) {
    (void)state;
    ludus_error error;
    ludus_world w = walk;
    w.name = "Walk";
    assert_int_equal(refused(w, "is_word"), LUDUS_ERROR_INPUT);
    w = walk, w.successors = NULL;
    assert_int_equal(refused(w, "successors"), LUDUS_ERROR_INPUT);
    w = walk, w.n_goals = 1;
    assert_int_equal(refused(w, "achieved"), LUDUS_ERROR_INPUT);
    w = walk, w.state_bytes = 5000;
    assert_int_equal(refused(w, "state_bytes"), LUDUS_ERROR_INPUT);
    w = walk, w.name = "multigrid";
    assert_int_equal(refused(w, "multigrid"), LUDUS_ERROR_INPUT);
    assert_int_equal(ludus_register_world(&walk, &error), LUDUS_OK);
    assert_int_equal(refused(walk, "there is one"), LUDUS_ERROR_INPUT);
}

static ludus_scenario *read_walk(const char *section) {
    char text[256];
    ludus_error error;
    ludus_scenario *scenario;
    snprintf(text, sizeof text, "ludus: 1\nworld: walk\nwalk: {%s}\n", section);
    if (ludus_scenario_read("walk.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.message);
    return scenario;
}

/* Every step is one of the successors, drawn about as often as they say; episodes end after max_steps; any
 * number of threads does the same. */
static void test_stepping(void **state) {
    (void)state;
    enum { N = 64, STEPS = 50, ROOM = 4 };
    ludus_error error;
    ludus_scenario *scenario = read_walk("max_steps: 7, chance: 0.25");
    ludus_scenario_info info;
    ludus_batch *batch[2];
    ludus_scenario_get_info(scenario, &info);
    for (int i = 0; i < 2; i++) {
        const ludus_batch_options o = {
            .n_environments = N, .n_threads = i ? 3 : 1, .seed = 5, .end = LUDUS_END_STAYS};
        assert_int_equal(ludus_batch_create(scenario, &o, &batch[i], &error), LUDUS_OK);
    }
    uint8_t *before = malloc(N * info.state_bytes), *follow = malloc(ROOM * info.state_bytes), truncated[N];
    assert_true(before && follow);
    int32_t choices[N * AGENTS];
    float rewards[N * AGENTS];
    double probability[ROOM], chance = 0;
    int n_moved = 0, n_steps = 0;
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < N * AGENTS; i++) choices[i] = (step + i * 7) % 3 == 0;
        memcpy(before, ludus_batch_states(batch[0]), N * info.state_bytes);
        const ludus_actions joint = {.discrete = choices};
        const ludus_out out = {.rewards = rewards, .truncated = truncated};
        assert_int_equal(ludus_batch_step(batch[0], &joint, &out, &error), LUDUS_OK);
        assert_int_equal(ludus_batch_step(batch[1], &joint, NULL, &error), LUDUS_OK);
        const uint8_t *after = ludus_batch_states(batch[0]);
        assert_memory_equal(after, ludus_batch_states(batch[1]), N * info.state_bytes);
        for (int e = 0; e < N; e++) {
            size_t n, found = ROOM;
            assert_int_equal(ludus_state_successors(scenario, before + (size_t)e * info.state_bytes,
                                                    choices + e * AGENTS, ROOM, follow, probability, &n,
                                                    &error),
                             LUDUS_OK);
            assert_int_equal(n, 2);
            assert_true(probability[0] + probability[1] == 1.0);
            for (size_t i = 0; i < n; i++)
                if (!memcmp(follow + i * info.state_bytes, after + (size_t)e * info.state_bytes,
                            info.state_bytes))
                    found = i;
            assert_true(found < n);
            n_moved += rewards[e * AGENTS + 1] > 0;
            chance += probability[1];
            n_steps++;
            assert_int_equal(truncated[e], step % 7 == 6);
        }
        if (step % 7 == 6)
            for (int i = 0; i < 2; i++)
                assert_int_equal(ludus_batch_reset(batch[i], NULL, NULL, &error), LUDUS_OK);
    }
    assert_true(n_moved > 0.8 * chance && n_moved < 1.2 * chance && n_moved < n_steps);
    for (int i = 0; i < 2; i++) ludus_batch_free(batch[i]);
    free(before), free(follow);
    ludus_scenario_free(scenario);
}

static void test_mistakes(void **state) {
    (void)state;
    static const char wrong[] = "ludus: 1\nworld: walk\nwalk: {mistake: 0.5}\n",
                      unknown[] = "world: walk\nwalk: {size: 1}\n";
    ludus_error error;
    ludus_scenario *scenario;
    assert_int_equal(ludus_scenario_read("w.yaml", wrong, sizeof wrong - 1, NULL, 0, &scenario, &error),
                     LUDUS_ERROR_INPUT);
    assert_non_null(strstr(error.message, "sum to 1.5"));
    assert_int_equal(ludus_scenario_read("w.yaml", unknown, sizeof unknown - 1, NULL, 0, &scenario, &error),
                     LUDUS_ERROR_INPUT);
    scenario = read_walk("");
    ludus_scenario_info info;
    ludus_scenario_get_info(scenario, &info);
    uint8_t *bytes = calloc(1, info.state_bytes);
    assert_non_null(bytes);
    assert_int_equal(ludus_state_check(scenario, bytes, &error), LUDUS_OK);
    bytes[1] = SIDES;
    assert_int_equal(ludus_state_check(scenario, bytes, &error), LUDUS_ERROR_INPUT);
    bytes[1] = 0, bytes[BYTES] = 1; /* between the state and the steps */
    assert_int_equal(ludus_state_check(scenario, bytes, &error), LUDUS_ERROR_INPUT);
    free(bytes);
    char *text;
    assert_int_equal(ludus_scenario_text(scenario, &text, &error), LUDUS_OK);
    assert_non_null(strstr(text, "chance: 0.5"));
    ludus_free(text);
    ludus_scenario_free(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registering), cmocka_unit_test(test_stepping),
                                       cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
