/* Solves a world exactly and judges: what the best robot makes of the first state, how much its worst choice
 * there would cost, and what `ludus eval` says of the solution. */
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
    ludus_solution *solution;
    ludus_solution_info s;
    char *report;
    if (argc != 3) return fprintf(stderr, "usage: %s SCENARIO RUN\n", argv[0]), 2;
    need(ludus_scenario_load(argv[1], NULL, 0, &scenario, &error), &error);
    need(ludus_solve(scenario, argv[2], 0, 0, &solution, &error), &error);
    ludus_solution_get_info(solution, &s);

    const double *first = s.records;
    double best = first[s.q_r], worst = best;
    int chosen = 0;
    for (int a = 0; a < s.n_robot_actions; a++) {
        const double q = first[s.q_r + a];
        if (q > best) best = q;
        if (q < worst) worst = q;
        if (first[s.pi_r + a] > first[s.pi_r + chosen]) chosen = a;
    }
    printf("V_r %.4f, power of person 0 %.4f\n", first[s.v_r], first[s.x_h]);
    printf("the robot's likeliest action is %d of %d, with probability %.3f; Q_r from %.4f to %.4f\n", chosen,
           s.n_robot_actions, first[s.pi_r + chosen], worst, best);

    double power = 0;
    for (uint64_t i = 0; i < s.n_states; i++) power += s.records[i * s.stride + (size_t)s.x_h];
    printf("mean power over all %llu states: %.4f\n", (unsigned long long)s.n_states,
           power / (double)s.n_states);
    need(ludus_evaluate(argv[2], &report, &error), &error);
    printf("%s\n", report);
    ludus_free(report);
    ludus_solution_free(solution);
    ludus_scenario_free(scenario);
    return 0;
}
