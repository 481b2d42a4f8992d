#include "learn/empo/exact/solve.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/ranks/ranks.h"
#include "learn/empo/exact/level_sweep.h"
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

static lud_status build_graph(lud_empo_case *c, const lud_empo_solve_options *options, lud_error *error) {
    const lud_statespace_options space = {.seed = (uint64_t)c->scenario->run.seed,
                                          .memory_limit = options->memory_limit,
                                          .folder = options->run,
                                          .n_threads = options->n_threads,
                                          .progress = options->progress};
    LUD_TRY(lud_statespace_build(c->scenario->model, &space, &c->space, error));
    return lud_empo_problem_create(c->space, &c->options.theory, &c->problem, error);
}

/* By which a file of levels is known to belong to this world, as far as its states follow from the scenario.
 */
static lud_status world_key(const lud_scenario *scenario, uint64_t *key, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root = arena ? lud_tree_add_mapping(arena, NULL, NULL) : NULL;
    char *text = NULL;
    size_t length = 0;
    lud_status status = root && lud_tree_add_text(arena, root, "world", scenario->world->name) &&
                                lud_tree_add_int(arena, root, "seed", scenario->run.seed)
                            ? scenario->world->write(scenario->model, arena, root, error)
                            : lud_no_memory(error, "the key of a world");
    if (status == LUD_OK) status = lud_tree_write(arena, root, &text, &length, error);
    if (status == LUD_OK) *key = XXH3_64bits(text, length);
    lud_arena_destroy(arena);
    return status;
}

/* A file of levels without a name, for a process that solves beside the one that has the folder. */
static lud_status open_unnamed(size_t state_bytes, uint64_t key, lud_level_file **file, lud_error *error) {
    lud_text folder = {0}, path = {0};
    const char *place = getenv("TMPDIR");
    lud_text_append(&folder, "%s/ludus-levels-XXXXXX", place && *place ? place : "/tmp");
    if (folder.failed) return lud_no_memory(error, "a path");
    lud_status status =
        mkdtemp(folder.bytes)
            ? LUD_OK
            : lud_fail(error, LUD_ERROR_IO, "%s: no folder for levels can be made", folder.bytes);
    if (status == LUD_OK) {
        lud_text_append(&path, "%s/levels", folder.bytes);
        status = path.failed ? lud_no_memory(error, "a path")
                             : lud_level_file_open(path.bytes, state_bytes, key, false, file, error);
        if (status == LUD_OK) lud_level_file_discard(*file); /* it stays open */
        rmdir(folder.bytes);
    }
    lud_text_free(&folder);
    lud_text_free(&path);
    return status;
}

static lud_status open_level_file(lud_empo_case *c, const lud_empo_solve_options *options, lud_error *error) {
    const size_t state_bytes = c->scenario->model->layout.state_bytes;
    uint64_t key = 0;
    LUD_TRY(world_key(c->scenario, &key, error));
    if (!lud_ranks_leads(options->ranks)) return open_unnamed(state_bytes, key, &c->level_file, error);
    lud_text path = {0};
    lud_text_append(&path, "%s/solution.empo.levels.partial", options->run);
    const lud_status status = path.failed ? lud_no_memory(error, "a path")
                                          : lud_level_file_open(path.bytes, state_bytes, key, options->resume,
                                                                &c->level_file, error);
    lud_text_free(&path);
    return status;
}

static lud_status find_levels(lud_empo_case *c, const lud_empo_solve_options *options, lud_error *error) {
    const lud_model *model = c->scenario->model;
    lud_status status = lud_empo_problem_of_model(model, &c->options.theory, &c->problem, error);
    if (status == LUD_OK) status = open_level_file(c, options, error);
    LUD_TRY(lud_ranks_agree(options->ranks, status, error));
    const lud_levels_options levels = {.seed = (uint64_t)c->scenario->run.seed,
                                       .memory_limit = options->memory_limit,
                                       .bytes_beside = lud_empo_level_bytes_beside(&c->problem->layout),
                                       .file = c->level_file,
                                       .n_threads = options->n_threads,
                                       .progress = options->progress,
                                       .ranks = options->ranks};
    status = lud_levels_find(model, &levels, &c->levels, error);
    if (status == LUD_ERROR_UNSUPPORTED && lud_ranks_leads(options->ranks)) { /* nothing to go on from */
        lud_level_file_discard(c->level_file);
        lud_run_lock_release(&c->lock);
        rmdir(options->run); /* where it is empty */
    }
    return status;
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
    if (status == LUD_OK && options->run && lud_ranks_leads(options->ranks))
        status = lud_run_lock_take(options->run, &c->lock, error);
    status = lud_ranks_agree(options->ranks, status, error);
    double started = lud_clock_seconds();
    if (status == LUD_OK)
        status = options->method == LUD_EMPO_BY_LEVELS ? find_levels(c, options, error)
                                                       : build_graph(c, options, error);
    c->graph_seconds = lud_clock_seconds() - started;
    if (status != LUD_OK) lud_empo_case_close(c);
    return status;
}

void lud_empo_case_close(lud_empo_case *c) {
    lud_empo_problem_destroy(c->problem);
    lud_statespace_destroy(c->space);
    lud_levels_free(&c->levels);
    lud_level_file_close(c->level_file);
    lud_policy_destroy(c->policies.habit);
    lud_policy_destroy(c->policies.belief);
    lud_run_lock_release(&c->lock);
    lud_arena_destroy(c->arena);
    *c = (lud_empo_case){0};
}

lud_empo_size lud_empo_case_size(const lud_empo_case *c) {
    const lud_statespace *space = c->space;
    if (space)
        return (lud_empo_size){space->n_states,        space->n_terminal, space->n_transitions,
                               space->n_joint_actions, space->bytes,      space->file_bytes};
    return (lud_empo_size){c->levels.n_states,        c->levels.n_terminal, c->levels.n_transitions,
                           c->levels.n_joint_actions, c->levels.peak_bytes, c->level_file->bytes};
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
    bool by_levels, writes;
    int finished, noted; /* levels from these on are finished, and are noted in the file as such */
    double written;      /* when they last were */
} level_writer;

static lud_status note_finished(level_writer *w, lud_error *error) {
    if (w->finished == w->noted || !w->writes) return LUD_OK;
    w->noted = w->finished;
    w->written = lud_clock_seconds();
    return lud_empo_solution_finish_level(w->solution, w->finished, error);
}

/* Forcing every level to the disk would cost more than small levels take to compute; every few seconds is
 * enough to lose little. */
static lud_status note_level(void *context, int level, lud_error *error) {
    level_writer *w = context;
    lud_empo_solution_release(w->solution, (uint64_t)level);
    if (w->by_levels) lud_empo_solution_release_states(w->solution, (uint64_t)level + 1);
    w->finished = level;
    return lud_clock_seconds() - w->written < 5 ? LUD_OK : note_finished(w, error);
}

static void let_go(void *context, uint64_t begin, uint64_t end) {
    const level_writer *w = context;
    lud_empo_solution_release_records(w->solution, begin, end);
}

static lud_status read_level(void *context, int level, uint8_t *states, lud_error *error) {
    return lud_level_file_read(context, level, states, error);
}

/* Processes beside the first one write into its file, others keep what they solve until it is sent; *common:
 * [size] who does. */
static lud_status create_among(const lud_empo_case *c, const char *path, const lud_empo_states *states,
                               const lud_empo_solve_options *options, lud_empo_solution **solution,
                               bool *common, lud_error *error) {
    lud_ranks *ranks = options->ranks;
    const int rank = lud_ranks_rank(ranks);
    struct {
        uint64_t device, inode;
        int64_t first_level;
    } first = {0};
    int64_t n;
    lud_status status = LUD_OK;
    if (rank == 0) {
        status = lud_empo_solution_create_from(path, c->problem, states, options->resume, solution, error);
        if (!status) status = lud_empo_solution_file(*solution, &first.device, &first.inode, error);
        if (!status) first.first_level = (*solution)->header->first_level;
    }
    LUD_TRY(lud_ranks_agree(ranks, status, error));
    LUD_TRY(lud_ranks_broadcast(ranks, &first, sizeof first, error));
    if (rank > 0 && lud_ranks_near(ranks, rank))
        status = lud_empo_solution_join(path, first.device, first.inode, solution, error);
    const bool joined = *solution;
    if (!status && !joined) {
        status = lud_empo_solution_create_beside(c->problem, states, solution, error);
        if (!status) (*solution)->header->first_level = first.first_level;
    }
    LUD_TRY(lud_ranks_agree(ranks, status, error));
    return lud_ranks_join_lists(ranks, &joined, 1, sizeof joined, common, lud_ranks_size(ranks), &n, error);
}

static lud_status create_solution(const lud_empo_case *c, const char *path,
                                  const lud_empo_solve_options *options, lud_empo_solution **solution,
                                  bool *common, lud_error *error) {
    if (c->space) return lud_empo_solution_create(path, c->problem, options->resume, solution, error);
    const lud_empo_states states = {c->levels.n_states, c->levels.n, c->levels.begin, read_level,
                                    c->level_file};
    if (options->ranks) return create_among(c, path, &states, options, solution, common, error);
    return lud_empo_solution_create_from(path, c->problem, &states, options->resume, solution, error);
}

static lud_status sweep(const lud_empo_case *c, const lud_empo_solution *s, const lud_empo_run *run,
                        lud_error *error) {
    if (c->space) return lud_empo_solve(c->problem, run, error);
    const lud_empo_layers layers = {c->levels.n, s->layer_begin, s->states};
    return lud_empo_solve_levels(c->problem, &layers, run, error);
}

lud_status lud_empo_case_solve(lud_empo_case *c, const lud_empo_solve_options *options,
                               lud_empo_solution **solution, lud_error *error) {
    *solution = NULL;
    lud_status status = LUD_OK;
    char key[LUD_KEY_BYTES];
    const bool leads = lud_ranks_leads(options->ranks);
    lud_text solution_path = {0};
    lud_text_append(&solution_path, "%s/solution.empo", options->run);
    if (solution_path.failed) status = lud_no_memory(error, "a path");
    lud_empo_solution *s = NULL;
    bool *common = calloc((size_t)lud_ranks_size(options->ranks), sizeof *common);
    if (status == LUD_OK && !common) status = lud_no_memory(error, "the solution");
    if (status == LUD_OK) status = create_solution(c, solution_path.bytes, options, &s, common, error);
    if (status == LUD_OK) {
        lud_empo_hooks hooks;
        lud_empo_policies_hook(&c->policies, &hooks);
        level_writer writer = {s, !c->space, leads, INT_MAX, INT_MAX, lud_clock_seconds()};
        lud_empo_run run = {.records = s->records,
                            .hooks = &hooks,
                            .n_threads = options->n_threads,
                            .first_level = (int)s->header->first_level,
                            .progress = options->progress,
                            .device = options->device,
                            .device_may_fail = options->device_may_fail,
                            .level_done = note_level,
                            .states_done = let_go,
                            .context = &writer,
                            .ranks = options->ranks,
                            .common = common};
        double started = lud_clock_seconds();
        status = sweep(c, s, &run, error);
        c->solve_seconds = lud_clock_seconds() - started;
        if (status == LUD_INTERRUPTED && note_finished(&writer, NULL) != LUD_OK)
            status = lud_fail(error, LUD_INTERRUPTED, "interrupted; the last levels could not be noted");
    }
    /* last, so that what is unfinished does not look like a RUN and does not change what was one */
    if (status == LUD_OK && leads) status = begin_run(c->scenario, &c->options, options->run, key, error);
    if (status == LUD_OK && leads) status = lud_empo_solution_commit(s, key, error);
    status = lud_ranks_agree(options->ranks, status, error);
    if (status == LUD_OK && leads) lud_level_file_discard(c->level_file);
    if ((status == LUD_ERROR_INPUT || status == LUD_ERROR_NUMERIC) && leads) { /* going on would fail again */
        lud_empo_solution_discard(s);
        lud_level_file_discard(c->level_file);
        lud_run_lock_release(&c->lock);
        rmdir(options->run); /* where it is empty */
    }
    if (status == LUD_OK && leads)
        *solution = s;
    else
        lud_empo_solution_close(s);
    lud_text_free(&solution_path);
    free(common);
    return status;
}
