#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/options/json_memory.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/proof_solve.h"
#include "learn/empo/evaluation/report.h"
#include "learn/empo/exact/chain.h"
#include "learn/empo/exact/exact_device.h"
#include "learn/empo/exact/level_sweep.h"
#include "learn/empo/exact/solve.h"
#include "sim/proof/proof_model.h"

typedef struct solve_values {
    lud_scenario_flags scenario;
    const char *run, *device, *method;
    lud_flag_list exports;
    double memory;
    bool resume, json, quiet;
} solve_values;

#define FLAGS solve_values
static const lud_flag flags[] = {
    TEXT_FLAG("output", 'o', run, "RUN", "folder for the results (required)"),
    SWITCH_FLAG("resume", 0, resume, "go on with an interrupted solution in RUN"),
    LUD_MEMORY_FLAG_ROW(
        memory,
        "for the graph or two levels, in GiB or as 500M, 8G, what is beyond goes to files in RUN; default: "
        "three quarters of what is free"),
    TEXT_FLAG("method", 0, method, "METHOD",
              "graph: keep all transitions; levels: two levels in memory; auto (default): levels where "
              "memory does not hold the graph"),
    TEXT_FLAG("device", 'd', device, "DEVICE", "what solves the levels: cpu, cuda or auto; default: cpu"),
    LIST_FLAG("export", 'x', exports, "FORMAT",
              "also write drn, mdp, prism, csv or dot into RUN; may be repeated"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("json", 'j', json, "results as JSON on standard output"),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((solve_values *)values)->scenario);
    ((solve_values *)values)->device = "cpu";
    ((solve_values *)values)->method = "auto";
}

/* ---- what is known before starting ---- */

typedef enum asked { ASKED_AUTO, ASKED_GRAPH, ASKED_LEVELS, N_ASKED } asked;

static lud_status read_method(const solve_values *values, asked *method, lud_error *error) {
    static const char *const names[N_ASKED] = {"auto", "graph", "levels"};
    for (int i = 0; i < N_ASKED; i++)
        if (strcmp(values->method, names[i]) == 0) {
            *method = (asked)i;
            return LUD_OK;
        }
    const char *near = lud_nearest_name(values->method, names, N_ASKED);
    return lud_invalid(error, "--method %s: expected auto, graph or levels%s%s%s", values->method,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* What is solved with the graph as a whole alone; null: nothing that was asked for. */
static const char *needs_graph(const lud_scenario *s, const solve_values *values) {
    if (strcmp(values->device, "cuda") == 0) return "--device cuda reads the graph";
    return lud_levels_possible(s->model) ? NULL : "the world's states do not count their steps";
}

/* By levels where that is asked for, or else needed: as far as an estimate can tell. An export lists the
 * graph in any case. */
static lud_status choose(const lud_scenario *s, const solve_values *values, asked method,
                         const lud_statespace_estimate *estimate, lud_empo_solve_options *options,
                         lud_error *error) {
    const char *obstacle = needs_graph(s, values);
    const lud_statespace_options in_memory = {.memory_limit = options->memory_limit};
    if (method == ASKED_LEVELS && obstacle)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "--method levels: %s", obstacle);
    if (options->ranks && (obstacle || method == ASKED_GRAPH))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "several processes solve by levels: %s",
                        obstacle ? obstacle : "--method graph");
    if (method == ASKED_LEVELS || options->ranks ||
        (method == ASKED_AUTO && !obstacle && !values->exports.n &&
         lud_statespace_check_memory(estimate, &in_memory, NULL) != LUD_OK))
        options->method = LUD_EMPO_BY_LEVELS;
    return LUD_OK;
}

/* Whether it can fit, and how much is to be expected, for `show` said. */
static lud_status announce(const lud_scenario *s, const lud_statespace_estimate *estimate, bool exports,
                           const lud_empo_solve_options *options, bool show, lud_error *error) {
    lud_empo_layout layout;
    LUD_TRY(lud_empo_layout_find(s->model, &layout, error));
    const bool by_levels = options->method == LUD_EMPO_BY_LEVELS;
    const size_t state_bytes = s->model->layout.state_bytes;
    double needed = estimate->bytes;
    if (by_levels) {
        const lud_levels_options levels = {.memory_limit = options->memory_limit,
                                           .bytes_beside = lud_empo_level_bytes_beside(&layout)};
        const lud_statespace_options graph = {.memory_limit = options->memory_limit};
        LUD_TRY(lud_levels_check_memory(estimate, state_bytes, &levels, error));
        if (exports) LUD_TRY(lud_statespace_check_memory(estimate, &graph, error));
        needed = lud_levels_guess_bytes(estimate, state_bytes, levels.bytes_beside);
    } else {
        const lud_statespace_options space = {.memory_limit = options->memory_limit, .folder = options->run};
        LUD_TRY(lud_statespace_check_memory(estimate, &space, error));
    }
    if (!show) return LUD_OK;
    char states[16], bytes[16], disk[16];
    const char *least =
        estimate->exhausted ? "" : "at least about "; /* a sample misses more than it doubles */
    fprintf(stderr, "%s: %s%s states, %s%s of memory for %s, %s for the solution in %s\n", s->name, least,
            lud_format_count(estimate->states, states), least, lud_format_memory(needed, bytes),
            by_levels ? "two levels" : "the graph",
            lud_format_memory(estimate->states * (layout.record_doubles * 8.0 + (double)state_bytes), disk),
            options->run);
    return LUD_OK;
}

/* ---- exports ---- */

enum { DRN, MDP, PRISM, CSV, DOT, N_EXPORTS, DOT_STATES = 2000 };
static const char *const export_names[] = {"drn", "mdp", "prism", "csv", "dot"};

static lud_status check_exports(const lud_flag_list *list, bool wanted[N_EXPORTS], lud_error *error) {
    for (int i = 0; i < list->n; i++) {
        int found = -1;
        for (int k = 0; k < N_EXPORTS; k++)
            if (!strcmp(list->items[i], export_names[k])) found = k;
        if (found < 0) {
            const char *near = lud_nearest_name(list->items[i], export_names, N_EXPORTS);
            return lud_invalid(error, "--export %s: expected drn, mdp, prism, csv or dot%s%s%s",
                               list->items[i], near ? "; did you mean '" : "", near ? near : "",
                               near ? "'?" : "");
        }
        wanted[found] = true;
    }
    return LUD_OK;
}

static lud_status begin(lud_file_writer *writer, const char *run, const char *name, lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", run, name);
    lud_status status =
        path.failed ? lud_no_memory(error, "a path") : lud_file_write_begin(writer, path.bytes, error);
    lud_text_free(&path);
    return status;
}

static lud_status export_one(int kind, const char *run, const lud_empo_chain *chain, const double *records,
                             lud_error *error) {
    static const char *const names[N_EXPORTS][4] = {{"chain.drn"},
                                                    {"graph.drn"},
                                                    {"chain.tra", "chain.sta", "chain.lab", "chain.srew"},
                                                    {"solution.csv"},
                                                    {"chain.dot"}};
    lud_file_writer files[4] = {0};
    lud_status status = LUD_OK;
    for (int i = 0; i < 4 && names[kind][i] && !status; i++)
        status = begin(&files[i], run, names[kind][i], error);
    FILE *out = files[0].stream;
    if (!status && kind == DRN) status = lud_empo_chain_write_drn(chain, records, out, error);
    if (!status && kind == MDP) status = lud_empo_graph_write_drn(chain->problem, out, error);
    if (!status && kind == PRISM)
        status = lud_empo_chain_write_prism(chain, records, out, files[1].stream, files[2].stream,
                                            files[3].stream, error);
    if (!status && kind == CSV) status = lud_empo_write_csv(chain->problem, records, out, error);
    if (!status && kind == DOT) status = lud_empo_chain_write_dot(chain, records, DOT_STATES, out, error);
    for (int i = 0; i < 4 && names[kind][i] && !status; i++) status = lud_file_write_commit(&files[i], error);
    int failed = 0; /* the file that could not be written, where it is known */
    for (int i = 3; i > 0; i--)
        if (files[i].stream && ferror(files[i].stream)) failed = i;
    if (status == LUD_ERROR_IO && error && !strstr(error->text, names[kind][failed]))
        lud_fail_context(error, "%s/%s", run, names[kind][failed]);
    for (int i = 0; i < 4; i++) lud_file_write_abandon(&files[i]);
    return status;
}

/* Of a world that was solved by levels the graph is listed now. */
static lud_status export_all(const bool wanted[N_EXPORTS], const lud_empo_case *c,
                             const lud_empo_solve_options *options, const lud_empo_solution *solution,
                             lud_error *error) {
    bool any = false;
    for (int k = 0; k < N_EXPORTS; k++) any |= wanted[k];
    if (!any) return LUD_OK;
    const lud_empo_solve_options in_memory = {.memory_limit = options->memory_limit,
                                              .n_threads = options->n_threads,
                                              .progress = options->progress};
    lud_empo_case listed = {0};
    lud_empo_chain *chain = NULL;
    if (!c->space) LUD_TRY(lud_empo_case_open(c->scenario, &in_memory, &listed, error));
    lud_status status =
        lud_empo_chain_create(c->space ? c->problem : listed.problem, solution->records, &chain, error);
    for (int k = 0; k < N_EXPORTS && !status; k++)
        if (wanted[k]) status = export_one(k, options->run, chain, solution->records, error);
    lud_empo_chain_destroy(chain);
    if (!c->space) lud_empo_case_close(&listed);
    return status;
}

/* ---- results ---- */

static json_t *summary(const lud_empo_case *c, const lud_empo_solution *solution) {
    const lud_empo_size size = lud_empo_case_size(c);
    double n = (double)size.n_states;
    return json_pack(
        "{s:s, s:s, s:f, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:f, s:I, s:f, s:o}", "scenario",
        c->scenario->name, "method", c->space ? "graph" : "levels", "peak_memory_bytes", lud_memory_peak(),
        "states", (json_int_t)size.n_states, "transitions", (json_int_t)size.n_transitions, "terminal",
        (json_int_t)size.n_terminal, "joint_actions", (int)size.n_joint_actions, "graph_seconds",
        c->graph_seconds, "solve_seconds", c->solve_seconds, "states_per_second",
        n / (c->graph_seconds + c->solve_seconds), "graph_bytes_per_state",
        (double)(size.graph_bytes + size.graph_file_bytes) / n, "graph_file_bytes",
        (json_int_t)size.graph_file_bytes, "solution_bytes_per_state",
        (double)solution->header->record_doubles * 8, "start",
        lud_empo_report_json(c->scenario->model, &c->problem->layout, lud_empo_solution_record(solution, 0)));
}

static lud_status write_summary(const char *run, const json_t *root, bool print, lud_error *error) {
    char *text = json_dumps(root, JSON_INDENT(2));
    lud_text path = {0};
    lud_text_append(&path, "%s/summary.json", run);
    lud_status status = text && !path.failed && !lud_json_failed()
                            ? lud_file_write(path.bytes, text, strlen(text), error)
                            : lud_no_memory(error, "the summary");
    if (!status && print) {
        puts(text);
        status = lud_flush_output(error);
    }
    free(text);
    lud_text_free(&path);
    return status;
}

static void print_table(const lud_empo_case *c, const lud_empo_solution *solution) {
    const lud_empo_size size = lud_empo_case_size(c);
    char states[16], transitions[16], rate[16], time[24], peak[16];
    printf("%s (%s)\n\n", c->scenario->name, c->scenario->world->name);
    printf("states       %12s   transitions %s, joint actions %d\n",
           lud_format_count((double)size.n_states, states),
           lud_format_count((double)size.n_transitions, transitions), (int)size.n_joint_actions);
    printf("time         %12s   graph %.2f s, both phases %.2f s (%s states/s)\n",
           lud_format_seconds(c->graph_seconds + c->solve_seconds, time), c->graph_seconds, c->solve_seconds,
           lud_format_count((double)size.n_states / (c->graph_seconds + c->solve_seconds), rate));
    printf("memory       %10.0f B   a state for %s, %.0f B for the solution; %s at most, mapped files "
           "included\n\n",
           (double)(size.graph_bytes + size.graph_file_bytes) / (double)size.n_states,
           c->space ? "the graph" : "two levels and their file", (double)solution->header->record_doubles * 8,
           lud_format_memory(lud_memory_peak(), peak));
    printf("at the start ");
    lud_text text = {0};
    lud_empo_report_print(c->scenario->model, &c->problem->layout, lud_empo_solution_record(solution, 0),
                          &text);
    lud_print_text(&text);
}

/* Estimates, chooses how, and finds the states. A graph that turns out larger than its estimate, so that not
 * even files help, is left for levels where nobody asked for it. */
static lud_status open_case(const lud_scenario *scenario, const solve_values *values, bool show,
                            lud_empo_solve_options *options, lud_empo_case *c, lud_error *error) {
    asked method = ASKED_AUTO;
    lud_statespace_estimate estimate;
    const lud_statespace_options space = {.seed = (uint64_t)scenario->run.seed};
    LUD_TRY(read_method(values, &method, error));
    LUD_TRY(lud_statespace_guess(scenario->model, &space, &estimate, error));
    LUD_TRY(choose(scenario, values, method, &estimate, options, error));
    LUD_TRY(announce(scenario, &estimate, values->exports.n > 0, options, show, error));
    if (show && options->method == LUD_EMPO_BY_LEVELS && lud_empo_device_sweeps(options->device))
        fprintf(stderr, "the processors of this machine solve levels\n");
    lud_status status = lud_empo_case_open(scenario, options, c, error);
    if (status != LUD_ERROR_MEMORY || method != ASKED_AUTO || options->ranks ||
        options->method == LUD_EMPO_BY_LEVELS || needs_graph(scenario, values) || values->exports.n)
        return status;
    if (show && error) fprintf(stderr, "%s; by levels then\n", error->text);
    options->method = LUD_EMPO_BY_LEVELS;
    return lud_empo_case_open(scenario, options, c, error);
}

static lud_status solve_on(lud_device *device, const lud_scenario *scenario, const solve_values *values,
                           lud_error *error) {
    bool wanted[N_EXPORTS] = {0};
    lud_ranks *ranks = lud_processes();
    bool show = !values->quiet && !values->json && lud_ranks_leads(ranks);
    lud_empo_solve_options options = {.run = values->run,
                                      .resume = values->resume,
                                      .memory_limit = (uint64_t)(values->memory * LUD_GIBIBYTE),
                                      .n_threads = (int)scenario->run.threads,
                                      .progress = show ? stderr : NULL,
                                      .device = device,
                                      .device_may_fail = strcmp(values->device, "auto") == 0,
                                      .ranks = ranks};
    lud_empo_case c;
    LUD_TRY(check_exports(&values->exports, wanted, error));
    LUD_TRY(open_case(scenario, values, show, &options, &c, error));
    lud_empo_solution *solution = NULL;
    lud_status status = lud_empo_case_solve(&c, &options, &solution, error);
    if (!status && solution) status = export_all(wanted, &c, &options, solution, error);
    if (!status && solution) {
        json_t *root = summary(&c, solution);
        status = write_summary(values->run, root, values->json, error);
        json_decref(root);
    }
    if (!status && !values->json && solution) print_table(&c, solution);
    lud_empo_solution_close(solution);
    lud_empo_case_close(&c);
    return status;
}

static lud_status solve(const lud_scenario *scenario, const solve_values *values, lud_error *error) {
    lud_device *device = NULL;
    lud_status status = lud_scenario_device(scenario, values->device, &device, error);
    if (!status) status = solve_on(device, scenario, values, error);
    lud_device_close(device);
    return status;
}

static lud_status solve_proof(const lud_scenario *scenario, const solve_values *values, lud_error *error) {
    if (lud_processes())
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "proofs are searched by one process; %d were started",
                        lud_ranks_size(lud_processes()));
    if (strcmp(values->device, "cuda") == 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "--device cuda: proofs are searched on the processors only");
    return lud_proof_solve(scenario, values->run, values->json, error);
}

/* Worlds with an exact method of their own; the others are solved as decision problems. */
static const struct {
    const lud_world *world;
    lud_status (*solve)(const lud_scenario *scenario, const solve_values *values, lud_error *error);
} methods[] = {{&lud_proof_world, solve_proof}, {NULL, solve}};

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const solve_values *values = data;
    if (!values->run) return lud_invalid(error, "solve needs a folder for its results: -o RUN");
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_open(arguments[0], &values->scenario, &scenario, error));
    int method = 0;
    while (methods[method].world && methods[method].world != scenario->world) method++;
    lud_status status = methods[method].solve(scenario, values, error);
    lud_scenario_destroy(scenario);
    return status;
}

const lud_verb lud_verb_solve = {
    .name = "solve",
    .about = "solve a small world exactly: people's power and the robots' policy in every state",
    .arguments = "SCENARIO",
    .min_arguments = 1,
    .max_arguments = 1,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .over_processes = true,
    .notes =
        "Parameters stand under `learner: {type: empo-exact, ...}` in the scenario (`ludus help "
        "empo-exact`).\n"
        "RUN gets scenario.yaml, solution.empo and summary.json; view, record, eval and inspect take RUN.\n"
        "Ctrl-C keeps what is finished; --resume goes on from there.\n"
        "Processes of a launcher (mpirun) solve together, by levels; the solution is the same bytes.\n\n"
        "In the proof world every validation and test query is decided by the exact prover, with its "
        "proof.\n\n"
        "example: ludus solve scenarios/empo/fetch_the_key.yaml -o runs/key --set learner.beta_r=20\n",
    .run = run};
