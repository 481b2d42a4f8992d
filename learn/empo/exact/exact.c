#include "learn/empo/exact/exact.h"

#include <omp.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "learn/empo/equations.h"
#include "learn/empo/exact/exact_device.h"
#include "learn/empo/exact/levels.h"
#include "learn/empo/exact/one_state.h"
#include "learn/empo/exact/open_goals.h"
#include "sim/large_array.h"

enum { CHUNK = 32, ALIGN_DOUBLES = 8 };

/* ---- the problem ---- */

/* Joint action -> (joint human action, joint robot action) and back. */
static lud_status index_joint_actions(lud_empo_problem *problem, lud_error *error) {
    const lud_model *model = problem->model;
    const int32_t n_joint = problem->n_joint_actions = lud_joint_action_count(&model->layout);
    size_t bytes = (size_t)n_joint;
    problem->human_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    problem->robot_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    problem->joint_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    const lud_empo_layout *layout = &problem->layout;
    problem->own_action = lud_arena_take_array(
        problem->arena, (size_t)layout->n_humans * (size_t)layout->n_human_profiles, sizeof(int32_t));
    int32_t *actions = lud_arena_take_array(problem->arena, (size_t)model->layout.n_agents, sizeof(int32_t));
    if (!problem->human_of || !problem->robot_of || !problem->joint_of || !problem->own_action || !actions)
        return lud_no_memory(error, "%d joint actions", n_joint);
    for (int h = 0; h < layout->n_humans; h++)
        for (int p = 0; p < layout->n_human_profiles; p++)
            problem->own_action[h * layout->n_human_profiles + p] =
                lud_empo_profile_action(layout->n_human_actions, h, p);
    for (int32_t k = 0; k < n_joint; k++) {
        lud_joint_action_decode(&model->layout, k, actions);
        problem->human_of[k] = lud_empo_human_profile(&problem->layout, actions);
        problem->robot_of[k] = lud_empo_robot_action(&problem->layout, model, actions);
        problem->joint_of[problem->human_of[k] * problem->layout.n_robot_actions + problem->robot_of[k]] = k;
    }
    return LUD_OK;
}

static lud_status fill_problem(lud_empo_problem *problem, lud_error *error) {
    const lud_model *model = problem->model;
    LUD_TRY(lud_empo_layout_find(model, &problem->layout, error));
    const lud_empo_layout *layout = &problem->layout;
    problem->goal_weight = lud_arena_take_array(problem->arena, (size_t)layout->n_goals, sizeof(double));
    if (!problem->goal_weight) return lud_no_memory(error, "goals");
    lud_empo_goal_weights(layout, model, problem->goal_weight);
    return index_joint_actions(problem, error);
}

/* `space` may be null. */
static lud_status create_problem(const lud_model *model, const lud_statespace *space,
                                 const lud_empo_theory *theory, lud_empo_problem **problem,
                                 lud_error *error) {
    *problem = NULL;
    lud_arena *arena = lud_arena_create(1 << 16);
    lud_empo_problem *p = arena ? lud_arena_take(arena, sizeof *p) : NULL;
    if (!p) {
        lud_arena_destroy(arena);
        return lud_no_memory(error, "the problem");
    }
    p->space = space;
    p->model = model;
    p->theory = *theory;
    p->arena = arena;
    lud_status status = lud_empo_theory_check(&p->theory, (lud_place){0}, error);
    if (status == LUD_OK) status = fill_problem(p, error);
    if (status == LUD_OK)
        *problem = p;
    else
        lud_empo_problem_destroy(p);
    return status;
}

lud_status lud_empo_problem_create(const lud_statespace *space, const lud_empo_theory *theory,
                                   lud_empo_problem **problem, lud_error *error) {
    return create_problem(space->model, space, theory, problem, error);
}

lud_status lud_empo_problem_of_model(const lud_model *model, const lud_empo_theory *theory,
                                     lud_empo_problem **problem, lud_error *error) {
    return create_problem(model, NULL, theory, problem, error);
}

void lud_empo_problem_destroy(lud_empo_problem *problem) {
    if (problem) lud_arena_destroy(problem->arena);
}

/* Padded to whole vectors, so that expectations need no remainder. */
int lud_empo_credit_width(const lud_empo_layout *layout) {
    return (2 * layout->n_goals + 1 + ALIGN_DOUBLES - 1) / ALIGN_DOUBLES * ALIGN_DOUBLES;
}

lud_empo_game lud_empo_game_of(const lud_empo_problem *problem, int32_t noop[LUD_EMPO_MAX_AGENTS]) {
    const lud_empo_layout *layout = &problem->layout;
    const lud_empo_theory *theory = &problem->theory;
    lud_empo_game game = {.n_humans = layout->n_humans,
                          .n_goals = layout->n_goals,
                          .n_robot_actions = layout->n_robot_actions,
                          .n_profiles = layout->n_human_profiles,
                          .n_joint_actions = problem->n_joint_actions,
                          .max_actions = layout->max_human_actions,
                          .n_policies = layout->policy_begin[layout->n_humans],
                          .v_r = layout->v_r,
                          .u_r = layout->u_r,
                          .x_h = layout->x_h,
                          .v_h_e = layout->v_h_e,
                          .v_h_m = layout->v_h_m,
                          .q_r = layout->q_r,
                          .pi_r = layout->pi_r,
                          .policies = layout->policies,
                          .record_doubles = layout->record_doubles,
                          .n_actions = layout->n_human_actions,
                          .noop = noop,
                          .goal_begin = layout->goal_begin,
                          .policy_begin = layout->policy_begin,
                          .joint_of = problem->joint_of,
                          .own_action = problem->own_action,
                          .goal_weight = problem->goal_weight,
                          .beta_h = theory->beta_h,
                          .gamma_h = theory->gamma_h,
                          .nu_h = theory->nu_h,
                          .gamma_r = theory->gamma_r,
                          .beta_r = theory->beta_r,
                          .zeta = theory->zeta,
                          .xi = theory->xi,
                          .eta = theory->eta,
                          .terminal_value = theory->terminal_value,
                          .reward_weight = lud_empo_reward_weight_of(theory),
                          .optimistic = theory->optimistic,
                          .mean = theory->aggregate == LUD_EMPO_MEAN};
    game.width = lud_empo_credit_width(layout);
    for (int h = 0; h < layout->n_humans; h++) {
        const int *idle = problem->model->layout.idle;
        const int own = idle ? idle[layout->humans[h]] : -1;
        noop[h] = own > 0 ? own : 0;
        game.n_beliefs += layout->n_human_actions[h] * layout->n_human_profiles;
    }
    return game;
}

typedef struct sweep {
    const lud_empo_problem *problem;
    const lud_empo_run *run;
    lud_empo_levels levels;
    lud_empo_game game;
    int32_t noop[LUD_EMPO_MAX_AGENTS];
    /* what a later state is worth to those before it, rows of game.width: state s has row s % window; rows
     * are padded to whole vectors so that expectations need no remainder */
    double *credits;
    lud_empo_window window;
    lud_empo_state_scratch *threads;
    int n_threads;
    lud_empo_device *device; /* null: the threads of this machine */
    lud_arena *arena;
    lud_empo_powerless powerless;
} sweep;

static double *credit_row(const sweep *s, uint64_t state) {
    return s->credits + lud_empo_row_of(s->window, (uint32_t)state) * (uint64_t)s->game.width;
}

static const uint8_t *state_bytes(const sweep *s, uint64_t index) {
    return s->problem->space->states + index * s->problem->space->state_bytes;
}

static void solve_state(sweep *s, const lud_empo_credits *credits, lud_empo_state_scratch *t,
                        uint64_t index) {
    const lud_statespace *space = s->problem->space;
    const bool terminal = lud_statespace_terminal(space, index);
    for (int32_t k = 0; k < space->n_joint_actions && !terminal; k++)
        t->rows[k] = lud_statespace_get_row(space, index, k);
    const int human = lud_empo_state_solve(
        s->problem, s->run->hooks, &s->game, credits, index, state_bytes(s, index), terminal, t,
        s->run->records + index * (uint64_t)s->game.record_doubles, credit_row(s, index));
    lud_empo_powerless_note(&s->powerless, index, human);
}

static lud_status no_power(const sweep *s, lud_error *error) {
    return lud_empo_no_open_goal(s->problem->model, &s->problem->layout, s->powerless.human,
                                 state_bytes(s, s->powerless.state), error);
}

static lud_status solve_level(sweep *s, int level, lud_progress *progress, lud_error *error) {
    uint64_t begin = s->levels.begin[level], end = s->levels.begin[level + 1];
    int64_t n_chunks = (int64_t)((end - begin + CHUNK - 1) / CHUNK);
    int stopped = 0;
    /* successors are in the next level, or anywhere in a window of all states */
    const uint64_t next = s->levels.consecutive ? end : 0;
    const lud_empo_credits credits = {s->credits, s->window, next,
                                      lud_empo_row_of(s->window, (uint32_t)next)};
    s->powerless = LUD_EMPO_NONE_POWERLESS;
    if (s->device) {
        lud_status status = lud_empo_device_level(s->device, begin, end, progress, &s->powerless, error);
        return status == LUD_OK && s->powerless.state != UINT64_MAX ? no_power(s, error) : status;
    }
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->n_threads)
    for (int64_t chunk = 0; chunk < n_chunks; chunk++) {
        int skip;
#pragma omp atomic read
        skip = stopped;
        if (skip) continue;
        int thread = omp_get_thread_num();
        uint64_t first = begin + (uint64_t)chunk * CHUNK, last = first + CHUNK < end ? first + CHUNK : end;
        for (uint64_t position = first; position < last; position++)
            solve_state(s, &credits, &s->threads[thread], lud_empo_level_state(&s->levels, position));
        if (thread == 0) {
            lud_progress_update(progress, s->problem->space->n_states - end + (last - begin));
            if (lud_interrupted()) {
#pragma omp atomic write
                stopped = 1;
            }
        }
    }
    if (stopped) return lud_fail(error, LUD_INTERRUPTED, "interrupted in level %d", level);
    if (s->powerless.state != UINT64_MAX) return no_power(s, error);
    return LUD_OK;
}

/* Levels from `first_level` on stand in the records already; brings their credits back. */
static lud_status recall(sweep *s, int first_level, lud_error *error) {
    int last = s->levels.consecutive && first_level < s->levels.n ? first_level + 1 : s->levels.n;
    uint64_t begin = s->levels.begin[first_level], end = s->levels.begin[last];
    if (s->device) return lud_empo_device_recall(s->device, begin, end, error);
    for (uint64_t position = begin; position < end; position++) {
        uint64_t index = lud_empo_level_state(&s->levels, position);
        lud_empo_state_recall(s->problem, &s->game, state_bytes(s, index), &s->threads[0],
                              s->run->records + index * (uint64_t)s->game.record_doubles,
                              credit_row(s, index));
    }
    return LUD_OK;
}

/* Two neighbouring levels when successors are always in the next one, else every state. */
static uint64_t credit_window(const sweep *s) {
    if (!s->levels.consecutive) return s->problem->space->n_states;
    uint64_t window = 1;
    for (int level = 0; level < s->levels.n; level++) {
        uint64_t end = s->levels.begin[level + 2 <= s->levels.n ? level + 2 : s->levels.n];
        if (end - s->levels.begin[level] > window) window = end - s->levels.begin[level];
    }
    return window;
}

static lud_status take_scratch(sweep *s, lud_error *error) {
    s->threads = lud_arena_take_array(s->arena, (size_t)s->n_threads, sizeof *s->threads);
    bool taken = s->threads != NULL;
    for (int i = 0; taken && i < s->n_threads; i++)
        taken = lud_empo_state_scratch_take(&s->game, s->arena, &s->threads[i]);
    s->credits = lud_arena_take_array(s->arena, s->window.rows * (size_t)s->game.width, sizeof *s->credits);
    if (!taken || !s->credits)
        return lud_no_memory(error, "%llu rows of %d values of two levels",
                             (unsigned long long)s->window.rows, s->game.width);
    return LUD_OK;
}

static lud_status prepare(sweep *s, lud_error *error) {
    LUD_TRY(lud_empo_levels_find(s->problem->space, s->arena, &s->levels, error));
    s->game = lud_empo_game_of(s->problem, s->noop);
    s->window = lud_empo_window_of(credit_window(s));
    const lud_empo_run *run = s->run;
    lud_prefer_large_pages(run->records, s->problem->space->n_states * (size_t)s->game.record_doubles *
                                             sizeof *run->records);
    if (run->device && lud_empo_device_sweeps(run->device)) {
        lud_error reason = {0};
        const lud_status status = lud_empo_device_create(s->problem, run, &s->game, &s->levels,
                                                         s->window.rows, &s->device, &reason);
        if (status == LUD_OK) return LUD_OK;
        if (status != LUD_ERROR_MEMORY || !run->device_may_fail)
            return lud_fail(error, status, "%s", reason.text);
        if (run->progress)
            fprintf(run->progress, "%s: the processors of this machine solve it\n", reason.text);
    }
    return take_scratch(s, error);
}

lud_status lud_empo_solve(const lud_empo_problem *problem, const lud_empo_run *run, lud_error *error) {
    lud_arena *arena = lud_arena_create(1 << 16);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to solve");
    sweep s = {.problem = problem,
               .run = run,
               .arena = arena,
               .n_threads = run->n_threads > 0 ? run->n_threads : omp_get_max_threads()};
    lud_status status = prepare(&s, error);
    lud_progress progress;
    lud_progress_start(&progress, run->progress, "solving", "states", problem->space->n_states);
    if (status == LUD_OK && run->first_level < s.levels.n) status = recall(&s, run->first_level, error);
    int level = run->first_level < s.levels.n ? run->first_level : s.levels.n;
    while (status == LUD_OK && level-- > 0) {
        status = solve_level(&s, level, &progress, error);
        if (status == LUD_OK && run->level_done) status = run->level_done(run->context, level, error);
    }
    lud_progress_finish(&progress);
    lud_empo_device_destroy(s.device);
    lud_arena_destroy(arena);
    return status;
}
