
#include "learn/train.h"
#include "base/progress.h"
#include "cli/cli.h"

typedef struct train_values {
    lud_scenario_flags scenario;
    lud_train_options options;
    const char *device;
    bool strict, quiet;
    double checkpoint_minutes;
} train_values;

#define FLAGS train_values
static const lud_flag flags[] = {
    TEXT_FLAG("out", 'o', options.folder, "RUN", "folder of the run"),
    TEXT_FLAG("device", 'd', device, "DEVICE", "cpu, cuda or auto"),
    SWITCH_FLAG("resume", 'r', options.resume,
                "go on from the run's checkpoint; the result is as if it had not stopped"),
    SWITCH_FLAG("resume-previous", 0, options.resume_previous,
                "go on from the checkpoint before it, when the newest is damaged"),
    SWITCH_FLAG("overwrite", 0, options.overwrite, "start anew in a folder that holds a run"),
    SWITCH_FLAG("strict", 0, strict,
                "insist on the same bits for any number of CPU threads; every run keeps this anyway (sums "
                "have a fixed order)"),
    INT_FLAG("checkpoint-every", 0, options.checkpoint_every, 0, 1e18, "N",
             "iterations between checkpoints; 0: by time only"),
    REAL_FLAG("checkpoint-minutes", 0, checkpoint_minutes, 0, 1e6, "MINUTES",
              "time between checkpoints; 0: by iterations only"),
    INT_FLAG("evaluate-every", 0, options.evaluate_every, 0, 1e18, "N",
             "iterations between evaluations; 0: at the end only"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    LUD_PRECISION_FLAG_ROW(scenario),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *data) {
    train_values *values = data;
    lud_scenario_flags_default(&values->scenario);
    values->device = "auto";
    values->checkpoint_minutes = 5.0;
}

/* The effective configuration as YAML, the learner's section with all its defaults. */
static lud_status effective(const lud_scenario *scenario, const lud_learner *learner, lud_arena *arena,
                            char **text, lud_error *error) {
    lud_tree *root = NULL;
    size_t length = 0;
    lud_status status = lud_scenario_effective(scenario, arena, &root, error);
    if (status == LUD_OK) status = lud_learner_write(learner, arena, root, error);
    return status ? status : lud_tree_write(arena, root, text, &length, error);
}

static lud_status train(const train_values *values, const lud_scenario *scenario, lud_device *device,
                        lud_error *error) {
    lud_learner *learner = NULL;
    LUD_TRY(lud_learner_create(scenario, device, &learner, error));
    lud_arena *arena = lud_arena_create(0);
    char *configuration = NULL;
    lud_status status =
        arena ? effective(scenario, learner, arena, &configuration, error) : lud_out_of_memory(error);
    if (status == LUD_OK) {
        lud_train_options options = values->options;
        options.checkpoint_seconds = 60.0 * values->checkpoint_minutes;
        options.progress = values->quiet ? NULL : stderr;
        options.configuration = configuration;
        lud_train_result result;
        lud_interrupt_install();
        status = lud_train(learner, &options, &result, error);
        lud_text report = {0};
        if (learner->kind->report && (status == LUD_OK || status == LUD_INTERRUPTED)) {
            learner->kind->report(learner, &report);
            if (report.bytes) fputs(report.bytes, stdout);
        }
        lud_text_free(&report);
    }
    lud_arena_destroy(arena);
    lud_learner_destroy(learner);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const train_values *values = data;
    if (!values->options.folder) return lud_invalid(error, "train: where to? Give a folder with -o RUN");
    lud_scenario *scenario = NULL;
    LUD_TRY(lud_scenario_open(arguments[0], &values->scenario, &scenario, error));
    lud_device *device = NULL;
    lud_status status = lud_scenario_device(scenario, values->device, &device, error);
    if (status == LUD_OK) {
        lud_device_set_strict(device, values->strict);
        status = train(values, scenario, device, error);
    }
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    return status;
}

const lud_verb lud_verb_train = {
    .name = "train",
    .about = "train the scenario's learner",
    .arguments = "SCENARIO",
    .min_arguments = 1,
    .max_arguments = 1,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .notes =
        "The run's folder gets scenario.yaml, metrics.csv, a TensorBoard event file and checkpoints. Ctrl-C\n"
        "saves and stops; --resume continues, with RUN/scenario.yaml as the scenario or the file it came "
        "from.\n",
    .run = run,
};
