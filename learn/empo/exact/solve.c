#include "learn/empo/exact/solve.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/empo/exact/open_goals.h"
#include "learn/empo/exact/options.h"
#include "learn/runs/begin.h"

static lud_status create_policies(lud_empo_case *c, lud_error *error) {
    const lud_scenario *s = c->scenario;
    c->policies.model = s->model;
    LUD_TRY(lud_empo_layout_find(s->model, &c->policies.layout, error));
    if (c->options.habit)
        LUD_TRY(lud_policy_create(s->model, c->options.habit, s->path, &c->policies.habit, error));
    if (c->options.belief)
        LUD_TRY(lud_policy_create(s->model, c->options.belief, s->path, &c->policies.belief, error));
    int person = c->policies.layout.humans[0];
    if (c->policies.habit) LUD_TRY(lud_empo_check_policy(c->policies.habit, person, error));
    if (c->policies.belief) LUD_TRY(lud_empo_check_policy(c->policies.belief, person, error));
    return LUD_OK;
}

lud_status lud_empo_case_open(const lud_scenario *scenario, const lud_empo_solve_options *options,
                              lud_empo_case *c, lud_error *error) {
    *c = (lud_empo_case){.scenario = scenario, .arena = lud_arena_create(0)};
    if (!c->arena) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to solve");
    lud_status status = lud_empo_exact_read(c->arena, scenario->learner, &c->options, error);
    if (status == LUD_OK) status = create_policies(c, error);
    if (status == LUD_OK && options->run)
        status = lud_empo_check_open_goals(scenario->model, &c->policies.layout, (uint64_t)scenario->run.seed,
                                           error);
    if (status == LUD_OK && options->run) status = lud_run_lock_take(options->run, &c->lock, error);
    double started = lud_clock_seconds();
    lud_statespace_options space = {.seed = (uint64_t)scenario->run.seed,
                                    .memory_limit = options->memory_limit,
                                    .folder = options->run,
                                    .n_threads = options->n_threads,
                                    .progress = options->progress};
    if (status == LUD_OK) status = lud_statespace_build(scenario->model, &space, &c->space, error);
    c->graph_seconds = lud_clock_seconds() - started;
    if (status == LUD_OK) status = lud_empo_problem_create(c->space, &c->options.theory, &c->problem, error);
    if (status != LUD_OK) lud_empo_case_close(c);
    return status;
}

void lud_empo_case_close(lud_empo_case *c) {
    lud_empo_problem_destroy(c->problem);
    lud_statespace_destroy(c->space);
    lud_policy_destroy(c->policies.habit);
    lud_policy_destroy(c->policies.belief);
    lud_run_lock_release(&c->lock);
    lud_arena_destroy(c->arena);
    *c = (lud_empo_case){0};
}

/* ---- solving into a folder ---- */

/* The folder becomes that of this scenario's RUN; what another left there is set aside. */
static lud_status begin_run(const lud_scenario *scenario, const lud_empo_exact_options *values,
                            const char *folder, char key[LUD_KEY_BYTES], lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_carried carried = {0};
    lud_tree *root = NULL;
    char *text = NULL;
    size_t length = 0;
    lud_status status = arena ? lud_scenario_effective(scenario, arena, &root, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "no memory to write the scenario");
    /* a scenario without a learner section is solved with the defaults: say which */
    if (status == LUD_OK && !scenario->learner) {
        lud_tree *learner = lud_tree_add_mapping(arena, root, "learner");
        status = learner ? lud_options_write(&lud_empo_exact_table, arena, values, learner, error)
                         : lud_fail(error, LUD_ERROR_MEMORY, "no memory to write the scenario");
    }
    if (status == LUD_OK)
        status = lud_carried_plan(scenario, &lud_empo_exact_table, folder, true, root, &carried, error);
    if (status == LUD_OK) status = lud_tree_write(arena, root, &text, &length, error);
    if (status == LUD_OK) status = lud_run_begin_again(folder, text, &carried, key, error);
    lud_carried_free(&carried);
    lud_arena_destroy(arena);
    return status;
}

typedef struct level_writer {
    lud_empo_solution *solution;
    double written; /* when levels were last noted in the file */
} level_writer;

/* Forcing every level to the disk would cost more than small levels take to compute; every few seconds is
 * enough to lose little. */
static lud_status note_level(void *context, int level, lud_error *error) {
    level_writer *w = context;
    lud_empo_solution_release(w->solution, (uint64_t)level);
    double now = lud_clock_seconds();
    if (now - w->written < 5) return LUD_OK;
    w->written = now;
    return lud_empo_solution_finish_level(w->solution, level, error);
}

lud_status lud_empo_case_solve(lud_empo_case *c, const lud_empo_solve_options *options,
                               lud_empo_solution **solution, lud_error *error) {
    *solution = NULL;
    lud_status status = LUD_OK;
    char key[LUD_KEY_BYTES];
    lud_text solution_path = {0};
    lud_text_append(&solution_path, "%s/solution.empo", options->run);
    if (solution_path.failed) status = lud_no_memory(error, "a path");
    lud_empo_solution *s = NULL;
    if (status == LUD_OK)
        status = lud_empo_solution_create(solution_path.bytes, c->problem, options->resume, &s, error);
    if (status == LUD_OK) {
        lud_empo_hooks hooks;
        lud_empo_policies_hook(&c->policies, &hooks);
        level_writer writer = {s, lud_clock_seconds()};
        lud_empo_run run = {.records = s->records,
                            .hooks = &hooks,
                            .n_threads = options->n_threads,
                            .first_level = (int)s->header->first_level,
                            .progress = options->progress,
                            .device = options->device,
                            .device_may_fail = options->device_may_fail,
                            .level_done = note_level,
                            .context = &writer};
        double started = lud_clock_seconds();
        status = lud_empo_solve(c->problem, &run, error);
        c->solve_seconds = lud_clock_seconds() - started;
    }
    /* last, so that what is unfinished does not look like a RUN and does not change what was one */
    if (status == LUD_OK) status = begin_run(c->scenario, &c->options, options->run, key, error);
    if (status == LUD_OK) status = lud_empo_solution_commit(s, key, error);
    if (status == LUD_ERROR_INPUT || status == LUD_ERROR_NUMERIC) { /* going on would fail again */
        lud_empo_solution_discard(s);
        lud_run_lock_release(&c->lock);
        rmdir(options->run); /* where it is empty */
    }
    if (status == LUD_OK)
        *solution = s;
    else
        lud_empo_solution_close(s);
    lud_text_free(&solution_path);
    return status;
}
