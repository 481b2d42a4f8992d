#include "learn/empo/exact/one_state.h"

#include "base/target_clones.h"
#include "learn/empo/exact/state_inputs.h"

static void *take(lud_arena *arena, size_t n, bool *failed) {
    void *memory = lud_arena_take_array(arena, n, sizeof(double));
    if (!memory) *failed = true;
    return memory;
}

bool lud_empo_state_scratch_take(const lud_empo_game *game, lud_arena *arena, lud_empo_state_scratch *t) {
    bool failed = false;
    double *memory = take(arena, lud_empo_scratch_doubles(game), &failed);
    if (memory) t->equations = lud_empo_scratch_in(game, memory);
    t->rows = lud_arena_take_array(arena, (size_t)game->n_joint_actions, sizeof *t->rows);
    t->achieved = lud_arena_take_array(arena, (size_t)game->n_goals, 1);
    t->belief = take(arena, (size_t)game->n_beliefs, &failed);
    t->habit = take(arena, (size_t)game->n_policies, &failed);
    t->robot = take(arena, (size_t)game->n_robot_actions, &failed);
    return !failed && t->achieved && t->rows;
}

/* sum of p[i] * credits of successor i */
LUD_TARGET_CLONES static void expectation(const lud_empo_credits *credits, int width, lud_statespace_row row,
                                          double *restrict sum) {
    lud_empo_expectation(credits->rows, credits->window, width, row.n, row.successor, row.probability, sum, 0,
                         1);
}

static void expect_all(const lud_empo_game *game, const lud_empo_credits *credits,
                       lud_empo_state_scratch *t) {
    const uint64_t width = (uint64_t)game->width;
    for (int32_t k = 0; k < game->n_joint_actions; k++) {
        const lud_statespace_row row = t->rows[k];
        if (row.n == 1) {
            uint64_t at = row.successor[0] - credits->first + credits->first_row; /* no division */
            if (at >= credits->window.rows) at -= credits->window.rows;
            t->equations.row[k] = credits->rows + at * width;
        } else {
            double *sum = t->equations.expected + (uint64_t)k * width;
            expectation(credits, game->width, row, sum);
            t->equations.row[k] = sum;
        }
    }
}

int lud_empo_state_solve(const lud_empo_problem *problem, const lud_empo_hooks *hooks,
                         const lud_empo_game *game, const lud_empo_credits *credits, uint64_t index,
                         const uint8_t *state, bool terminal, lud_empo_state_scratch *t, double *record,
                         double *credit) {
    int without_power = -1;
    lud_empo_state_inputs inputs;
    lud_empo_state_inputs_fill(problem, hooks, index, state, terminal, t->achieved, t->habit, t->belief,
                               t->robot, &inputs);
    if (terminal) {
        lud_empo_terminal_state(game, record, 0, 1);
    } else {
        expect_all(game, credits, t);
        lud_empo_phase_1(game, &t->equations, &inputs, record, 0, 1);
        without_power = lud_empo_phase_2(game, &t->equations, &inputs, record, 0, 1);
    }
    lud_empo_give_credit(game, t->achieved, record, credit, 0, 1);
    return without_power;
}

void lud_empo_state_recall(const lud_empo_problem *problem, const lud_empo_game *game, const uint8_t *state,
                           lud_empo_state_scratch *t, const double *record, double *credit) {
    lud_empo_state_inputs inputs;
    lud_empo_state_inputs_fill(problem, NULL, 0, state, true, t->achieved, NULL, NULL, NULL, &inputs);
    lud_empo_give_credit(game, t->achieved, record, credit, 0, 1);
}

void lud_empo_powerless_note(lud_empo_powerless *lowest, uint64_t state, int human) {
    if (human < 0) return;
#pragma omp critical(lud_empo_powerless)
    if (state < lowest->state) *lowest = (lud_empo_powerless){state, human};
}
