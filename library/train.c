#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/runs/run.h"
#include "learn/train.h"
#include "library/handles.h"

typedef struct caller {
    const ludus_train_options *options;
    const char **names; /* [n_columns], made at the first iteration */
} caller;

static bool call_back(void *context, const lud_learner *learner, uint64_t iterations,
                      const lud_metric *columns, int n_columns, const double *row) {
    caller *c = context;
    if (!c->names) {
        if (!(c->names = calloc((size_t)n_columns + 1, sizeof *c->names))) return false;
        for (int i = 0; i < n_columns; i++) c->names[i] = columns[i].name;
    }
    return c->options->after_iteration(c->options->context, iterations, learner->n_iterations, n_columns,
                                       c->names, row) == 0;
}

static lud_status train(const lud_scenario *scenario, const ludus_train_options *options, lud_device *device,
                        lud_error *error) {
    lud_learner *learner = NULL;
    lud_carried carried = {0};
    char *configuration = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_status status =
        arena ? lud_learner_create(scenario, device, &learner, error) : lud_out_of_memory(error);
    if (!status)
        status = lud_train_configuration(scenario, learner, options->run, options->resume, arena, &carried,
                                         &configuration, error);
    caller c = {.options = options};
    if (!status) {
        enum { CHECKPOINT_SECONDS = 300 };
        const lud_train_options inner = {.folder = options->run,
                                         .resume = options->resume,
                                         .overwrite = options->overwrite,
                                         .checkpoint_seconds = CHECKPOINT_SECONDS,
                                         .configuration = configuration,
                                         .carried = &carried,
                                         .model = scenario->model,
                                         .after_iteration = options->after_iteration ? call_back : NULL,
                                         .context = &c};
        lud_train_result result;
        status = lud_train(learner, &inner, &result, error);
    }
    free(c.names);
    lud_carried_free(&carried);
    lud_learner_destroy(learner);
    lud_arena_destroy(arena);
    return status;
}

ludus_status ludus_train(const ludus_scenario *scenario, const ludus_train_options *options,
                         ludus_error *error) {
    LUDUS_REQUIRE(scenario && options && options->run, error);
    lud_error inner = {0};
    lud_device *device = NULL;
    const int threads = ludus_take_threads(scenario->inner);
    lud_status status =
        lud_scenario_device(scenario->inner, options->device ? options->device : "auto", &device, &inner);
    if (!status) status = train(scenario->inner, options, device, &inner);
    lud_device_close(device);
    ludus_give_threads(threads);
    return ludus_lift_from(options->run, status, &inner, error);
}

/* The object as text of the caller's. */
static ludus_status dump(json_t *root, char **json, ludus_error *error) {
    *json = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    return *json ? ludus_lift(LUD_OK, NULL, error) : ludus_no_memory(error);
}

/* The learner's evaluation, a key a column. */
static lud_status measure(const char *run, const lud_scenario *scenario, json_t *json, lud_error *error) {
    lud_learned learned;
    LUD_TRY(lud_learned_open(run, scenario, "auto", NULL, &learned, error));
    const lud_learner *l = learned.learner;
    double *row = calloc((size_t)l->n_evaluation_columns + 1, sizeof *row);
    lud_status status = row ? LUD_OK : lud_out_of_memory(error);
    if (!status && l->kind->evaluate) status = l->kind->evaluate(learned.learner, row, error);
    for (int i = 0; i < l->n_evaluation_columns && !status && l->kind->evaluate; i++)
        json_object_set_new(json, l->evaluation_columns[i].name,
                            isfinite(row[i]) ? json_real(row[i]) : json_null());
    free(row);
    lud_learned_close(&learned);
    return status;
}

ludus_status ludus_evaluate(const char *run, char **json, ludus_error *error) {
    LUDUS_REQUIRE(json, error);
    *json = NULL;
    LUDUS_REQUIRE(run, error);
    lud_error inner = {0};
    lud_scenario *scenario = NULL;
    const lud_learner_kind *kind = NULL;
    json_t *root = json_object();
    lud_report report = {0};
    const lud_scenario_overrides plain = {.run = lud_run_as_written};
    const int threads = ludus_take_threads(NULL);
    lud_status status = root ? lud_run_scenario(run, &plain, &scenario, &inner) : lud_out_of_memory(&inner);
    if (!status) status = lud_run_kind(run, scenario, &kind, &inner);
    if (!status && (!kind->evaluate_run || kind->adds_to_evaluation))
        status = measure(run, scenario, root, &inner);
    if (!status && kind->evaluate_run) {
        const lud_report_request request = {
            .folder = run, .scenario = scenario, .overrides = &plain, .json = true, .n_queries = -1};
        status = kind->evaluate_run(&request, &report, &inner);
        if (!status && report.json && json_object_update(root, report.json))
            status = lud_out_of_memory(&inner);
    }
    lud_text_free(&report.text);
    json_decref(report.json);
    lud_arena_destroy(report.arena);
    lud_scenario_destroy(scenario);
    ludus_give_threads(threads);
    if (!status) return dump(root, json, error);
    json_decref(root);
    return ludus_lift_from(run, status, &inner, error);
}

ludus_status ludus_prove(const char *run, const char *atom, int answers, char **json, ludus_error *error) {
    LUDUS_REQUIRE(json, error);
    *json = NULL;
    LUDUS_REQUIRE(run && atom && answers >= 1, error);
    lud_error inner = {0};
    lud_scenario *scenario = NULL;
    lud_report report = {0};
    const lud_scenario_overrides plain = {.run = lud_run_as_written};
    const int threads = ludus_take_threads(NULL);
    lud_status status = lud_run_scenario(run, &plain, &scenario, &inner);
    if (!status) {
        const lud_report_request request = {.folder = run,
                                            .scenario = scenario,
                                            .json = true,
                                            .query = atom,
                                            .width = LUD_QUERY_WIDTH,
                                            .answers = answers};
        status = lud_run_query(&request, &report, &inner);
    }
    lud_text_free(&report.text);
    lud_arena_destroy(report.arena);
    lud_scenario_destroy(scenario);
    ludus_give_threads(threads);
    if (!status) return dump(report.json, json, error);
    json_decref(report.json);
    return ludus_lift_from(run, status, &inner, error);
}
