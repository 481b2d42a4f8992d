
#include "learn/train.h"
#include "base/file.h"
#include "base/interrupt.h"
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

/* What follows from the world, and how to have it otherwise. */
static void print_chosen(const lud_learner *learner) {
    if (!learner->chosen || !*learner->chosen) return;
    printf("chosen for this world (learner.KEY; --set learner.KEY=VALUE has it otherwise):\n%s\n",
           learner->chosen);
    fflush(stdout);
}

/* What to do next with the run. */
static void print_next(const lud_learner *learner, const lud_scenario *scenario, const char *folder,
                       bool finished) {
    const lud_learner_kind *kind = learner->kind;
    printf(
        "\n%s holds scenario.yaml, metrics.csv, checkpoint.safetensors and a TensorBoard event file. Next:\n",
        folder);
    if (!finished) printf("  ludus train %s --resume\n", folder);
    if (kind->evaluate || kind->evaluate_run) printf("  ludus eval %s\n", folder);
    if (kind->query) printf("  ludus run %s --query \"PREDICATE(x, y)\"\n", folder);
    if (kind->policy || kind->join) {
        printf("  ludus view %s\n", folder);
        printf("  ludus record %s -o %s.mp4\n", folder, scenario->name);
    }
    for (int i = 0; i < learner->n_columns; i++)
        if (learner->columns[i].format) {
            printf("  ludus plot %s -c %s -o curves.png\n", folder, learner->columns[i].name);
            return;
        }
}

static void print_end(lud_learner *learner, const lud_scenario *scenario, const char *folder,
                      const lud_train_result *result, const lud_text *figures) {
    lud_text report = {0};
    char time[24];
    if (learner->kind->report) learner->kind->report(learner, &report);
    lud_print_text(&report);
    printf("\n%s, %llu of %llu iterations, %s\n\n%s", learner->kind->name,
           (unsigned long long)result->iterations, (unsigned long long)learner->n_iterations,
           lud_format_seconds(result->seconds, time), figures->bytes ? figures->bytes : "");
    print_next(learner, scenario, folder, result->finished);
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
        lud_text figures = {0};
        options.figures = &figures;
        lud_train_result result;
        if (!values->quiet) print_chosen(learner);
        lud_interrupt_install();
        status = lud_train(learner, &options, &result, error);
        if (status == LUD_OK || status == LUD_INTERRUPTED)
            print_end(learner, scenario, options.folder, &result, &figures);
        lud_text_free(&figures);
    }
    lud_arena_destroy(arena);
    lud_learner_destroy(learner);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    train_values *values = data;
    const bool resumes = values->options.resume || values->options.resume_previous;
    if (!values->options.folder && lud_folder_exists(arguments[0])) {
        if (!resumes)
            return lud_invalid(error,
                               "train: %s is a folder; --resume goes on with a RUN, -o RUN makes another",
                               arguments[0]);
        values->options.folder = arguments[0];
    }
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
    .arguments = "SCENARIO|RUN",
    .min_arguments = 1,
    .max_arguments = 1,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .notes =
        "The run's folder gets scenario.yaml, metrics.csv, a TensorBoard event file and checkpoints. Ctrl-C\n"
        "saves and stops at once, also within an iteration; `ludus train RUN --resume` goes on as if it had "
        "not\nstopped.\n",
    .run = run,
};
