/* The state space of a world as sparse matrices, and what may follow its first state. */
#include <ludus/ludus.h>
#include <stdio.h>
#include <stdlib.h>

static void need(ludus_status status, const ludus_error *error) {
    if (!status) return;
    fprintf(stderr, "%s\n", error->text);
    exit(1);
}

int main(int argc, char **argv) {
    ludus_error error;
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_statespace *space;
    ludus_statespace_info states;
    if (argc != 2) return fprintf(stderr, "usage: %s SCENARIO\n", argv[0]), 2;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    ludus_scenario_get_info(scenario, &info);

    need(ludus_statespace_build(scenario, 0, 0, &space, &error), &error);
    ludus_statespace_get_info(space, &states);
    printf("%llu states, %llu transitions\n", (unsigned long long)states.n_states,
           (unsigned long long)states.n_transitions);
    int64_t *offsets = malloc((states.n_states + 1) * sizeof *offsets);
    if (!offsets) return 1;
    need(ludus_statespace_matrix(space, 0, offsets, NULL, NULL, &error), &error);
    printf("%lld entries in the matrix of joint action 0\n", (long long)offsets[states.n_states]);

    int32_t *idle = calloc((size_t)info.n_agents, sizeof *idle);
    size_t n;
    if (!idle) return 1;
    need(ludus_state_successors(scenario, states.states, idle, 0, NULL, NULL, &n, &error), &error);
    printf("%zu states may follow the first one\n", n);

    free(idle), free(offsets);
    ludus_statespace_free(space);
    ludus_scenario_free(scenario);
    return 0;
}
