/* A policy of your own beside those of Ludus: an agent that looks one step ahead in the exact model and takes
 * the choice that most likely achieves one of its goals, else draws one; the others do as the scenario says.
 */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>

static void need(ludus_status status, const ludus_error *error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

/* The probability that one of the agent's goals is achieved after the joint action. */
static double chance(const ludus_scenario *scenario, const ludus_scenario_info *info, int n_goals, int agent,
                     const uint8_t *state, const int32_t *joint) {
    enum { ROOM = 64 };
    ludus_error error;
    double probability[ROOM], sum = 0;
    size_t n;
    uint8_t *states = malloc(ROOM * info->state_bytes);
    if (!states) exit(1);
    need(ludus_state_successors(scenario, state, joint, ROOM, states, probability, &n, &error), &error);
    for (size_t i = 0; i < n && i < ROOM; i++) {
        bool any = false, one = false;
        for (int goal = 0; goal < n_goals; goal++) {
            need(ludus_state_achieves(scenario, states + i * info->state_bytes, agent, goal, &one, &error),
                 &error);
            any = any || one;
        }
        sum += any ? probability[i] : 0;
    }
    free(states);
    return sum;
}

int main(int argc, char **argv) {
    enum { STEPS = 200, AGENT = 0 };
    ludus_error error;
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_agent_info agent;
    ludus_batch *batch;
    ludus_policy *others;
    if (argc != 2) return fprintf(stderr, "usage: %s SCENARIO\n", argv[0]), 2;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    ludus_scenario_get_info(scenario, &info);
    if (ludus_scenario_get_agent(scenario, AGENT, &agent)) return 1;

    const ludus_batch_options options = {
        .n_environments = 1, .n_threads = 1, .seed = 1, .end = LUDUS_END_RESETS};
    need(ludus_batch_create(scenario, &options, &batch, &error), &error);
    need(ludus_policy_open(batch, NULL, &others, &error), &error);
    int32_t *joint = calloc((size_t)info.n_agents, sizeof *joint);
    if (!joint) return 1;
    unsigned draw = 1;
    double expected = 0;
    int sure = 0, n_ended = 0;
    for (int step = 0; step < STEPS; step++) {
        uint8_t ended;
        need(ludus_policy_act(others, NULL, joint, NULL, NULL, &error), &error);
        double best = 0;
        joint[AGENT] = (int32_t)((draw = draw * 1664525u + 1013904223u) >> 16) % agent.n_actions;
        for (int32_t choice = 0, drawn = joint[AGENT], found = drawn; choice < agent.n_actions; choice++) {
            joint[AGENT] = choice;
            const double p = chance(scenario, &info, agent.n_goals, AGENT, ludus_batch_states(batch), joint);
            if (p > best) best = p, found = choice;
            if (choice + 1 == agent.n_actions) joint[AGENT] = found;
        }
        expected += best;
        sure += best > 0.999;
        const ludus_actions actions = {.discrete = joint};
        const ludus_out out = {.ended = &ended};
        need(ludus_batch_step(batch, &actions, &out, &error), &error);
        need(ludus_policy_reset(others, &ended, &error), &error);
        n_ended += ended;
    }
    printf("%d episodes: a goal within reach for sure in %d of %d steps, expected in %.1f\n", n_ended, sure,
           STEPS, expected);
    free(joint);
    ludus_policy_free(others);
    ludus_batch_free(batch);
    ludus_scenario_free(scenario);
    return 0;
}
