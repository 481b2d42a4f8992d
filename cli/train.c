
#include <string.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/window/train_window.h"
#include "learn/runs/run.h"
#include "learn/train.h"
#include "render/window.h"

typedef struct train_values {
    lud_scenario_flags scenario;
    lud_train_options options;
    const char *device;
    bool strict, quiet, view;
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
    INT_FLAG("until", 0, options.until, 0, 1e18, "N",
             "pause after so many iterations in all, saved for --resume; 0: at the end"),
    SWITCH_FLAG("view", 0, view, "a window that shows what is learned while it is learned"),
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

/* What follows from the world, and how to have it otherwise. */
static void print_chosen(const lud_learner *learner) {
    if (!learner->chosen || !*learner->chosen) return;
    printf("chosen for this world (learner.KEY; --set learner.KEY=VALUE has it otherwise):\n%s\n",
           learner->chosen);
    fflush(stdout);
}

/* ---- settings that are meant ---- */

enum { MOST_RUN_KEYS = 8 };

typedef struct meant {
    lud_run_meant base;
    const char *paths[LUD_FLAG_LIST_ITEMS + MOST_RUN_KEYS];
} meant;

/* The key of an assignment KEY=VALUE. */
static const char *key_of(lud_arena *arena, const char *assignment) {
    return lud_arena_text(arena, assignment, strcspn(assignment, "="));
}

/* What the command line sets, and the configuration without it, as far as the file has one. */
static lud_status find_meant(const train_values *values, const char *path, const lud_device *device,
                             lud_arena *arena, meant *m, lud_error *error) {
    const lud_scenario_flags *given = &values->scenario;
    const struct {
        const char *path;
        bool set;
    } run[] = {{"run.environments", given->run.environments >= 0},
               {"run.seed", given->run.seed >= 0},
               {"run.steps", given->run.steps >= 0},
               {"run.threads", given->run.threads >= 0},
               {"run.precision", given->precision != NULL}};
    *m = (meant){0};
    for (int i = 0; i < given->set.n; i++)
        if (!(m->paths[m->base.n++] = key_of(arena, given->set.items[i]))) return lud_out_of_memory(error);
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        if (run[i].set) m->paths[m->base.n++] = run[i].path;
    /* the length in the learner's own section follows from that one */
    bool longer = false;
    for (int i = 0; i < m->base.n; i++) longer = longer || strcmp(m->paths[i], "run.steps") == 0;
    if (longer) m->paths[m->base.n++] = "learner.steps";
    if (longer) m->paths[m->base.n++] = "learner.total_steps";
    m->base.paths = m->paths;
    if (m->base.n == 0) return LUD_OK;
    lud_scenario *plain = NULL;
    lud_learner *learner = NULL;
    lud_carried carried = {0};
    char *text = NULL;
    /* a file that says nothing without what is set has no settings of its own */
    lud_status status = lud_run_scenario(path, NULL, &plain, NULL);
    if (!status) status = lud_learner_create(plain, (lud_device *)(uintptr_t)device, &learner, NULL);
    if (!status)
        status = lud_train_configuration(plain, learner, values->options.folder, true, arena, &carried, &text,
                                         NULL);
    if (!status) m->base.plain = text;
    /* its texts lie in the arena of what is carried no more: lud_tree_write has copied them */
    lud_carried_free(&carried);
    lud_learner_destroy(learner);
    lud_scenario_destroy(plain);
    return LUD_OK;
}

/* What to do next with the run. */
static void print_next(const lud_learner *learner, const lud_scenario *scenario, const char *folder,
                       bool finished) {
    const lud_learner_kind *kind = learner->kind;
    const char *program = lud_program();
    lud_text word = {0}, video = {0}, video_word = {0};
    printf("\n%s holds scenario.yaml, metrics.csv, a TensorBoard event file, policy.safetensors, which acts, "
           "and checkpoint.safetensors, from which training goes on. Next:\n",
           folder);
    const char *run = lud_text_word(&word, folder);
    if (!finished) printf("  %s train %s --resume\n", program, run);
    if (kind->evaluate || kind->evaluate_run) printf("  %s eval %s\n", program, run);
    if (kind->query) {
        lud_text query = {0};
        kind->example_query(scenario->model, &query);
        if (query.bytes) printf("  %s run %s --query \"%s\"\n", program, run, query.bytes);
        lud_text_free(&query);
    }
    if (kind->policy || kind->join) {
        printf("  %s view %s\n", program, run);
        int length = (int)strlen(folder);
        while (length > 1 && folder[length - 1] == '/') length--;
        lud_text_append(&video, "%.*s.mp4", length, folder);
        printf("  %s record %s -o %s\n", program, run,
               lud_text_word(&video_word, video.bytes ? video.bytes : "video.mp4"));
    }
    const lud_metric *shown = NULL;
    for (int i = 0; i < learner->n_columns && !shown; i++)
        if (learner->columns[i].format) shown = &learner->columns[i];
    if (shown) printf("  %s plot %s -c %s -o curves.png\n", program, run, shown->name);
    lud_text_free(&word);
    lud_text_free(&video);
    lud_text_free(&video_word);
}

/* What the processes of a training have told one another. */
static void print_traffic(const lud_device *device, uint64_t iterations) {
    uint64_t bytes, exchanges;
    char sent[16];
    if (!device->ranks || iterations == 0) return;
    lud_ranks_traffic(device->ranks, &bytes, &exchanges);
    printf("%d processes: in an iteration the first sends %s in %.0f exchanges\n",
           lud_ranks_size(device->ranks), lud_format_memory((double)bytes / (double)iterations, sent),
           (double)exchanges / (double)iterations);
    if (device->carrier[0]) printf("gradients go from GPU to GPU: %s\n", device->carrier);
    if (device->no_carrier[0]) printf("gradients go through the host's memory: %s\n", device->no_carrier);
    printf("\n");
}

static void print_end(lud_learner *learner, const lud_scenario *scenario, const char *folder,
                      const lud_device *device, const lud_train_result *result, const lud_text *figures) {
    lud_text report = {0};
    char time[24], memory[16];
    if (learner->kind->report) learner->kind->report(learner, &report);
    lud_print_text(&report);
    print_traffic(device, result->here);
    printf("\n%s, %llu of %llu iterations, %s, at most %s of memory\n\n%s", learner->kind->name,
           (unsigned long long)result->iterations, (unsigned long long)learner->n_iterations,
           lud_format_seconds(result->seconds, time), lud_format_memory(lud_memory_peak(), memory),
           figures->bytes ? figures->bytes : "");
    lud_text kept = {0};
    lud_kept_print(&result->kept, &kept);
    if (result->iterations > 0)
        printf("\npolicy.safetensors: parameters of %s\n", kept.bytes ? kept.bytes : "");
    lud_text_free(&kept);
    print_next(learner, scenario, folder, result->finished);
}

/* The window of a training. */
typedef struct train_window {
    const char *folder;
    pid_t process; /* 0: none */
} train_window;

static lud_status open_window(void *context, lud_error *error) {
    train_window *w = context;
    return lud_train_window_open(w->folder, &w->process, error);
}

static lud_status train_with(const train_values *values, const char *path, const lud_scenario *scenario,
                             lud_device *device, lud_learner *learner, lud_arena *arena, lud_carried *carried,
                             lud_error *error) {
    lud_train_options options = values->options;
    char *configuration = NULL;
    meant m = {0};
    const bool resumes = options.resume || options.resume_previous;
    LUD_TRY(lud_train_configuration(scenario, learner, options.folder, resumes, arena, carried,
                                    &configuration, error));
    if (resumes) LUD_TRY(find_meant(values, path, device, arena, &m, error));
    options.checkpoint_seconds = 60.0 * values->checkpoint_minutes;
    options.progress = values->quiet ? NULL : stderr;
    options.configuration = configuration;
    options.carried = carried;
    options.meant = &m.base;
    options.model = scenario->model;
    options.ranks = device->ranks;
    lud_text figures = {0};
    options.figures = &figures;
    lud_train_result result;
    const bool leads = lud_ranks_leads(device->ranks);
    if (!values->quiet && leads) print_chosen(learner);
    train_window window = {.folder = options.folder};
    if (values->view) {
        options.begun = open_window;
        options.context = &window;
    }
    lud_interrupt_install();
    const lud_status status = lud_train(learner, &options, &result, error);
    if (leads && (status == LUD_OK || status == LUD_INTERRUPTED))
        print_end(learner, scenario, options.folder, device, &result, &figures);
    lud_train_window_wait(window.process);
    lud_text_free(&figures);
    return status;
}

static lud_status train(const train_values *values, const char *path, const lud_scenario *scenario,
                        lud_device *device, lud_error *error) {
    lud_learner *learner = NULL;
    lud_carried carried = {0};
    lud_status status = lud_learner_create(scenario, device, &learner, error);
    lud_arena *arena = lud_arena_create(0);
    if (!status && !arena) status = lud_out_of_memory(error);
    /* nobody writes before all have read */
    status = lud_ranks_agree(device->ranks, status, error);
    if (!status) status = train_with(values, path, scenario, device, learner, arena, &carried, error);
    lud_carried_free(&carried);
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
    if (!values->options.folder) return lud_invalid(error, "train needs a folder for its results: -o RUN");
    if (values->view && lud_processes())
        return lud_invalid(error,
                           "--view is for a training of one process; `ludus view %s --follow` shows one of "
                           "several",
                           values->options.folder);
    if (values->view) LUD_TRY(lud_window_check(error));
    lud_scenario *scenario = NULL;
    LUD_TRY(lud_scenario_open(arguments[0], &values->scenario, &scenario, error));
    scenario->ranks = lud_processes();
    lud_device *device = NULL;
    lud_status status = lud_scenario_device(scenario, values->device, &device, error);
    if (status == LUD_OK) {
        lud_device_set_strict(device, values->strict);
        status = train(values, arguments[0], scenario, device, error);
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
    .over_processes = true,
    .notes =
        "The run's folder gets scenario.yaml with the files that it names, metrics.csv, a TensorBoard event "
        "file,\n"
        "policy.safetensors (the best parameters by the learner's own score) and checkpoints. Ctrl-C\n"
        "saves and stops at once, also within an iteration; `ludus train RUN --resume` goes on as if it had "
        "not\nstopped.\n"
        "--view opens a window on it, which `ludus view RUN --follow` does at any time; closing the window "
        "leaves\nthe training alone.\n",
    .run = run,
};
