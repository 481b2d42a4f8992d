/* Diagnostics of plasticity: ranks of matrices whose singular values are known, silent units that were made
 * silent, norms against plain sums; and a state's learned values against those of a whole run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/empo/phase2/evaluation.h"
#include "learn/empo/support_empo.h"

static const char corridor[] = "ludus: 1\n"
                               "name: corridor\n"
                               "world: multigrid\n"
                               "multigrid:\n"
                               "  map: |\n"
                               "    We We We We We\n"
                               "    We Ay Ae .. We\n"
                               "    We We .. We We\n"
                               "    We We We We We\n"
                               "  max_steps: 5\n"
                               "  actions: small\n"
                               "goals:\n"
                               "  - {cell: [1, 1]}\n"
                               "  - {cell: [2, 1]}\n"
                               "  - {cell: [3, 1]}\n"
                               "  - {cell: [2, 2]}\n"
                               "learner:\n"
                               "  type: empo-phase2\n  automatic: false\n"
                               "  human_prior: exact\n"
                               "  hidden_dim: 8\n"
                               "  goal_feature_dim: 4\n"
                               "  num_training_steps: 20\n"
                               "  updates_per_iteration: 10\n"
                               "  batch_size: 6\n"
                               "  environments: 4\n"
                               "  buffer_size: 300\n"
                               "  plasticity_diagnostics_interval: 10\n"
                               "  plasticity_diagnostics_batch_size: 20\n";

static void ranks_of_known_matrices(void **state) {
    (void)state;
    enum { N = 8, WIDTH = 5 };
    double srank, rank;
    /* columns of a Hadamard matrix (but the constant one) times 100, 100, 1, 0, 0: singular values in that
     * ratio */
    static const double scale[WIDTH] = {100, 100, 1, 0, 0};
    double x[N * WIDTH], wide[WIDTH * N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < WIDTH; k++)
            x[i * WIDTH + k] =
                7.0 + scale[k] * (__builtin_popcount((unsigned)i & (unsigned)(k + 1)) % 2 ? -1 : 1);
    assert_true(lud_effective_ranks(N, WIDTH, x, &srank, &rank));
    const double p = 100.0 / 201, q = 1.0 / 201;
    assert_true(srank == 2 && fabs(rank - exp(-2 * p * log(p) - q * log(q))) < 1e-9);
    /* fewer rows than columns: two rows apart leave one direction once their mean is taken off */
    for (int k = 0; k < N; k++) {
        wide[k] = k + 1;
        wide[N + k] = -3.0 * k;
    }
    assert_true(lud_effective_ranks(2, N, wide, &srank, &rank));
    assert_true(srank == 1 && fabs(rank - 1) < 1e-6);
    /* all rows alike: nothing is left */
    for (int i = 0; i < N * WIDTH; i++) x[i] = i % WIDTH;
    assert_true(lud_effective_ranks(N, WIDTH, x, &srank, &rank));
    assert_true(srank == 0 && rank == 0);
}

static void silent_units_are_found(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, corridor, "", 0, NULL);
    lud_error error = {0};
    double row[128];
    assert_true(r.learner->base.n_columns <= 128);
    if (lud_empo_phase2.iterate(&r.learner->base, row, &error)) fail_msg("%s", error.text);
    lud_empo_plasticity *p = r.learner->plasticity;
    const lud_empo_plasticity_figures before = lud_empo_plasticity_get(p);
    assert_true(before.dead >= 0 && before.dormant >= before.dead && before.dormant < 1);
    assert_true(before.srank >= 1 && before.effective_rank >= 1 && before.effective_rank <= 8);
    assert_true(before.srank <= 8);
    /* norms as plain sums */
    lud_parameters *online = r.learner->values.online;
    double sum = 0, all = 0;
    for (int i = 0; i < online->n; i++) {
        double *numbers = calloc((size_t)online->items[i].n + 1, sizeof *numbers);
        lud_parameters_read(online, i, numbers);
        const char *name = online->items[i].name;
        const bool exists = strncmp(name, "u_r.", 4) != 0 && strncmp(name, "v_r.", 4) != 0;
        for (int64_t k = 0; k < online->items[i].n; k++) {
            if (strncmp(name, "q_r.", 4) == 0) sum += numbers[k] * numbers[k];
            if (exists) all += numbers[k] * numbers[k];
        }
        free(numbers);
    }
    assert_true(fabs(before.norm[LUD_NET_Q_R] - sqrt(sum)) < 1e-6 * sqrt(sum));
    assert_true(fabs(before.norm_total - sqrt(all)) < 1e-6 * sqrt(all));
    assert_true(isnan(before.norm[LUD_NET_U_R]));
    /* silence a layer of Q_r's head: weights 0 and a bias of -1 leave nothing after the ReLU */
    int64_t silenced = 0;
    static const char *const names[] = {"q_r.q_head.2.weight", "q_r.q_head.2.bias"};
    for (int k = 0; k < 2; k++) {
        const int index = lud_parameters_find(online, names[k]);
        assert_true(index >= 0);
        double *numbers = calloc((size_t)online->items[index].n, sizeof *numbers);
        for (int64_t i = 0; k == 1 && i < online->items[index].n; i++) numbers[i] = -1;
        lud_parameters_write(online, index, numbers);
        silenced = online->items[index].n;
        free(numbers);
    }
    const int32_t *records[4], *goals[4];
    for (int i = 0; i < 4; i++) {
        const lud_empo_transition t = lud_empo_replay_get(r.learner->replay, i);
        records[i] = t.state;
        goals[i] = t.goals;
    }
    lud_empo_plasticity_measure(p, 4, records, goals);
    lud_text text = {0};
    lud_empo_plasticity_print(p, &text);
    const char *line = strstr(text.bytes, "q_r.q_head.2.weight");
    assert_non_null(line);
    int units = 0, dormant = 0, dead = 0;
    assert_int_equal(sscanf(line, "q_r.q_head.2.weight %d %d %d", &units, &dormant, &dead), 3);
    assert_int_equal(units, silenced);
    assert_int_equal(dormant, silenced);
    assert_int_equal(dead, silenced);
    lud_text_free(&text);
    support_empo_close(&r);
}

static void a_resumed_training_tells_the_last_measurement(void **state) {
    (void)state;
    support_empo first, second;
    lud_text told[2] = {{0}, {0}};
    support_empo_open(&first, corridor, "", 0, NULL);
    support_empo_open(&second, corridor, "", 0, NULL);
    support_empo_iterate(&first, 1);
    support_empo_resume(&first, &second, support_empo_path);
    const lud_empo_plasticity_figures before = lud_empo_plasticity_get(first.learner->plasticity),
                                      after = lud_empo_plasticity_get(second.learner->plasticity);
    assert_true(isfinite(before.dormant));
    assert_memory_equal(&before, &after, sizeof before);
    lud_empo_plasticity_print(first.learner->plasticity, &told[0]);
    lud_empo_plasticity_print(second.learner->plasticity, &told[1]);
    assert_non_null(strstr(told[0].bytes, "q_r.q_head.2.weight"));
    assert_string_equal(told[0].bytes, told[1].bytes);
    for (int i = 0; i < 2; i++) lud_text_free(&told[i]);
    support_empo_close(&first);
    support_empo_close(&second);
}

/* The values of a state by itself are those the evaluation compares with the exact ones. */
static void a_state_is_told_as_it_is_known(void **state) {
    (void)state;
    support_empo r;
    support_empo_open(&r, corridor, "", 0, NULL);
    lud_empo_phase2_learner *l = r.learner;
    lud_error error = {0};
    double row[128];
    for (int i = 0; i < 2; i++)
        if (lud_empo_phase2.iterate(&l->base, row, &error)) fail_msg("%s", error.text);
    const lud_statespace *space = l->reference.space;
    const lud_empo_layout *layout = &l->features.layout;
    double *record = calloc((size_t)layout->record_doubles, sizeof *record);
    int seen = 0;
    for (uint64_t s = 0; s < space->n_states; s += 3) {
        if (lud_statespace_terminal(space, s)) continue;
        const uint8_t *at = space->states + s * space->state_bytes;
        assert_int_equal(lud_empo_state_values(l, at, record, &error), LUD_OK);
        const double *exact = l->reference.records + s * (uint64_t)layout->record_doubles;
        double pi = 0, v_r = l->values.reward_scale * record[layout->u_r];
        for (int a = 0; a < layout->n_robot_actions; a++) {
            pi += record[layout->pi_r + a];
            v_r += record[layout->pi_r + a] * record[layout->q_r + a];
        }
        assert_true(fabs(pi - 1) < 1e-5 && fabs(v_r - record[layout->v_r]) < 1e-4 * fabs(v_r));
        assert_true(fabs(record[layout->u_r] + 1 / record[layout->x_h]) <
                    1e-4 / record[layout->x_h]); /* xi = eta = 1 */
        /* people by the prior, which is exact here */
        for (int k = 0; k < layout->policy_begin[1]; k++)
            assert_true(record[layout->policies + k] == exact[layout->policies + k]);
        for (int g = 0; g < layout->n_goals; g++)
            assert_true(record[layout->v_h_e + g] >= 0 && record[layout->v_h_e + g] <= 1 &&
                        isnan(record[layout->v_h_m + g]));
        seen++;
    }
    assert_true(seen > 20);
    free(record);
    support_empo_close(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_known_matrices),
        cmocka_unit_test(silent_units_are_found),
        cmocka_unit_test(a_resumed_training_tells_the_last_measurement),
        cmocka_unit_test(a_state_is_told_as_it_is_known),
    };
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
