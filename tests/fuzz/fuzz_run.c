/* RUN folders as wholes: bytes of any of their files changed, files cut off, gone, or something else in their
 * place; then the folder is run, watched, evaluated, inspected, plotted or gone on with, as the program does
 * it. A message, or it works; and what is solved from a half-made solution can be.
 *
 * The first byte chooses the RUN, the second what is done with it and whether checkpoints are sealed again;
 * then five bytes a change: which file, how, where (two bytes), and what. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <omp.h>
#include <xxhash.h>

#include "agents/overlay_source.h"
#include "base/file.h"
#include "base/log.h"
#include "learn/empo/exact/solve.h"
#include "learn/runs/run.h"
#include "learn/store/history.h"
#include "learn/support_strangers.h"
#include "memory_folder.h"
#include "sim/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MOST_FILES = 16, MOST_CHANGES = 8, MOST_COLUMNS = 512, PATH = 512, FOLDER_PATH = MEMORY_FOLDER + 16 };

typedef struct kept_file {
    char name[64];
    uint8_t *bytes;
    size_t n;
    ino_t lies; /* in the RUN's folder as it was made, 0: it does not */
} kept_file;

/* A RUN as it was made. */
typedef struct whole_run {
    char folder[FOLDER_PATH];
    kept_file files[MOST_FILES];
    int n;
} whole_run;

/* What an input makes of one of its files. */
typedef struct wanted_file {
    enum { BYTES, NOTHING, LINK, PIPE, FOLDER } kind;
    int to; /* of a link: which file */
    bool changed;
    const uint8_t *bytes; /* kept ones, or `own` */
    size_t n, room;
    uint8_t *own; /* [room] */
} wanted_file;

static const char *const trained[] = {"mappo on a grid", "empo, people alone", "empo tables",
                                      "ticks, a graph"};
enum { TRAINED = sizeof trained / sizeof *trained, SOLVED = TRAINED, HALF_SOLVED, RUNS };
static whole_run runs[RUNS];
static char parent[MEMORY_FOLDER];
static const char *folder; /* of the RUN that is looked at */
static wanted_file wanted[MOST_FILES];

static const char solvable[] = "ludus: 1\nname: corridor\nworld: multigrid\nmultigrid:\n  map: |\n    We We "
                               "We We We\n    We Ay Ae .. We\n"
                               "    We We .. We We\n    We We We We We\n  max_steps: 3\n  actions: small\n"
                               "goals: [{cell: [1, 1]}, {cell: [2, 1]}]\nlearner: {type: empo-exact}\n";

static void die(const lud_error *error) {
    fprintf(stderr, "%s\n", error->text);
    abort();
}

static const char *in_folder(const char *name) {
    static char path[PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- the folder ---- */

static void empty_folder(const char *path);

static void remove_entry(const char *path, const char *name) {
    char own[PATH];
    snprintf(own, sizeof own, "%s/%s", path, name);
    if (unlink(own) == 0) return;
    empty_folder(own);
    rmdir(own);
}

static void empty_folder(const char *path) {
    DIR *open_folder = opendir(path);
    if (!open_folder) return;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(path, entry->d_name);
    closedir(open_folder);
}

static void clean(void) {
    empty_folder(parent);
    rmdir(parent);
}

static void keep(whole_run *run) {
    struct dirent **entries;
    const int n = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        struct stat about;
        /* events are one file or two, by the second in which a session began; inputs mean the same always */
        static const char events[] = "events.";
        const size_t n_same = sizeof events - 1;
        const bool more_events = run->n && !strncmp(entries[i]->d_name, events, n_same) &&
                                 !strncmp(run->files[run->n - 1].name, events, n_same);
        if (!more_events && stat(in_folder(entries[i]->d_name), &about) == 0 && S_ISREG(about.st_mode) &&
            run->n < MOST_FILES) {
            kept_file *f = &run->files[run->n++];
            FILE *file = fopen(in_folder(entries[i]->d_name), "rb");
            snprintf(f->name, sizeof f->name, "%.63s", entries[i]->d_name);
            f->bytes = malloc((size_t)about.st_size + 1);
            if (!file || !f->bytes) abort();
            f->n = fread(f->bytes, 1, (size_t)about.st_size, file);
            fclose(file);
        }
        free(entries[i]);
    }
    free(entries);
}

/* Files lie there with a time that no other writing gives them. */
static const struct timespec as_made = {.tv_sec = 1000000000};

static void write_file(kept_file *f, const wanted_file *w) {
    const int file = open(in_folder(f->name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct stat about;
    if (file < 0 || write(file, w->bytes, w->n) != (ssize_t)w->n) abort();
    if (!w->changed) {
        if (futimens(file, (const struct timespec[]){as_made, as_made}) || fstat(file, &about)) abort();
        f->lies = about.st_ino;
    }
    close(file);
}

static void put_there(const whole_run *run, kept_file *f, const wanted_file *w) {
    const char *path = in_folder(f->name);
    int failed = 0;
    switch (w->kind) {
    case BYTES:
        write_file(f, w);
        break;
    case NOTHING:
        break;
    case LINK:
        failed = symlink(run->files[w->to].name, path);
        break;
    case PIPE:
        failed = mkfifo(path, 0600);
        break;
    case FOLDER:
        failed = mkdir(path, 0700);
        break;
    }
    if (failed) abort();
}

/* Whether a file that is to be as it was made lies there as it was made. */
static bool lies(const kept_file *f, const wanted_file *w) {
    struct stat about;
    return f->lies && !w->changed && lstat(in_folder(f->name), &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_ino == f->lies && (size_t)about.st_size == f->n &&
           about.st_mtim.tv_sec == as_made.tv_sec && about.st_mtim.tv_nsec == 0;
}

/* All that is wanted is in the folder then, and nothing else. */
static void lay_out(whole_run *run) {
    for (int i = 0; i < run->n; i++)
        if (!lies(&run->files[i], &wanted[i])) run->files[i].lies = 0;
    DIR *open_folder = opendir(folder);
    if (!open_folder) abort();
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        int i = 0;
        while (i < run->n && strcmp(entry->d_name, run->files[i].name) != 0) i++;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") || (i < run->n && run->files[i].lies))
            continue;
        remove_entry(folder, entry->d_name);
    }
    closedir(open_folder);
    for (int i = 0; i < run->n; i++)
        if (!run->files[i].lies) put_there(run, &run->files[i], &wanted[i]);
}

/* ---- what is done with it ---- */

static lud_run_options one_thread(void) {
    lud_run_options run = lud_run_as_written;
    run.threads = 1;
    return run;
}

static lud_status open_scenario(lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides none = {.run = one_thread()};
    return lud_run_scenario(folder, &none, scenario, error);
}

static lud_status train(const lud_scenario *scenario, bool resume, bool previous, lud_error *error) {
    static lud_device *device;
    lud_learner *learner = NULL;
    lud_train_result result;
    const lud_run_meant meant = {0};
    if (!device && lud_device_open("cpu", 1, &device, error)) die(error);
    lud_status status = lud_learner_create(scenario, device, &learner, error);
    const lud_train_options options = {
        .folder = folder, .resume = resume, .resume_previous = previous, .stop_after = 1, .meant = &meant};
    if (!status) status = support_train(scenario, learner, &options, &result, error);
    if (status == LUD_INTERRUPTED) status = LUD_OK;
    lud_learner_destroy(learner);
    device->failure = (lud_error){0}; /* it was told */
    return status;
}

static lud_status solve(const lud_scenario *scenario, bool resume, lud_error *error) {
    const lud_empo_solve_options options = {.run = folder, .resume = resume, .n_threads = 1};
    lud_empo_case c;
    LUD_TRY(lud_empo_case_open(scenario, &options, &c, error));
    lud_empo_solution *solution = NULL;
    const lud_status status = lud_empo_case_solve(&c, &options, &solution, error);
    lud_error wrong = {0};
    if (!status && lud_empo_solution_verify(solution, &wrong)) die(&wrong);
    lud_empo_solution_close(solution);
    lud_empo_case_close(&c);
    return status;
}

/* A few steps with the run's agents, and what it shows of them. */
static lud_status play(lud_scenario *scenario, lud_error *error) {
    lud_run run = {0};
    lud_batch *batch = NULL;
    lud_overlay_source *overlay = NULL;
    LUD_TRY(lud_run_open(folder, scenario, &run, error));
    lud_status status = lud_batch_create(run.scenario->model, 1, 1, 0, &batch, error);
    if (!status) status = lud_run_overlay(folder, run.scenario, run.cast, &overlay, error);
    if (!status) {
        const lud_layout *layout = &run.scenario->model->layout;
        uint8_t *hidden = calloc(1, lud_cast_hidden_bytes(run.cast) + 8);
        int32_t actions[64] = {0};
        double values[1024];
        if (!hidden || layout->n_agents > 64) abort();
        lud_batch_reset(batch, NULL);
        lud_cast_reset(run.cast, lud_batch_range(batch, 0, 1), batch->states, hidden);
        for (int t = 0; t < 3 && !lud_cast_needs_observations(run.cast); t++) {
            if (overlay && overlay->quantity_values && overlay->n_quantities <= 1024)
                overlay->quantity_values(overlay, batch->states, values);
            if (overlay && overlay->choice_probabilities && overlay->n_choices <= 1024)
                overlay->choice_probabilities(overlay, batch->states, values);
            if (overlay && overlay->goal_values) overlay->goal_values(overlay, batch->states, 0, values);
            lud_cast_act(run.cast, lud_batch_range(batch, 0, 1), batch->states, NULL, hidden, actions, NULL);
            lud_batch_step(batch, (lud_actions){.discrete = actions}, NULL);
        }
        free(hidden);
    }
    lud_overlay_source_destroy(overlay);
    lud_batch_destroy(batch);
    lud_run_close(&run);
    return status;
}

static lud_status evaluate(const lud_scenario *scenario, bool of_a_state, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    LUD_TRY(lud_run_kind(folder, scenario, &kind, error));
    const lud_scenario_overrides none = {.run = one_thread()};
    uint8_t *state = calloc(1, scenario->model->layout.state_bytes + 1);
    uint32_t tick = 0;
    if (!state) abort();
    scenario->world->reset(scenario->model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    const lud_report_request request = {.folder = folder,
                                        .scenario = scenario,
                                        .overrides = &none,
                                        .n_queries = -1,
                                        .episodes = 1,
                                        .state = state};
    lud_report report = {0};
    lud_status status = LUD_OK;
    if (of_a_state && kind->describe_state) status = kind->describe_state(&request, &report, error);
    if (!of_a_state && kind->evaluate_run) status = kind->evaluate_run(&request, &report, error);
    if (!of_a_state && !status && kind->create) {
        lud_learned learned;
        double row[MOST_COLUMNS];
        status = lud_learned_open(folder, scenario, "cpu", NULL, &learned, error);
        if (!status && kind->evaluate) status = kind->evaluate(learned.learner, row, error);
        if (!status) lud_learned_close(&learned);
    }
    lud_text_free(&report.text);
    json_decref(report.json);
    lud_arena_destroy(report.arena);
    free(state);
    return status;
}

static lud_status plot(lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_history history;
    const char *names = NULL;
    lud_status status = lud_history_columns(arena, folder, &names, error);
    if (!status) status = lud_history_read_over(arena, folder, "seconds", "reward", &history, error);
    lud_arena_destroy(arena);
    return status;
}

static lud_status use(int verb, lud_error *error) {
    lud_scenario *scenario = NULL;
    if (verb == 0) return plot(error);
    if (verb == 7) { /* the world is known; what lies in the folder is not */
        LUD_TRY(lud_scenario_read("fuzz.yaml", solvable, sizeof solvable - 1, NULL, 0, &scenario, error));
    } else {
        LUD_TRY(open_scenario(&scenario, error));
    }
    lud_status status = LUD_OK;
    if (verb == 1) return play(scenario, error); /* it takes the scenario over */
    if (verb == 2) status = evaluate(scenario, false, error);
    if (verb == 3) status = evaluate(scenario, true, error);
    if (verb == 4 || verb == 5) status = train(scenario, verb == 4, verb == 5, error);
    if (verb == 6 || verb == 7) status = solve(scenario, true, error);
    lud_scenario_destroy(scenario);
    return status;
}

/* ---- making them ---- */

static void make(int k) {
    lud_error error = {0};
    lud_scenario *scenario = NULL;
    if (k < TRAINED) {
        int t = 0;
        while (strcmp(support_trainings[t].name, trained[k]) != 0) t++;
        support_training small = support_stranger_training(&support_trainings[t]);
        int n = 0;
        while (small.set[n]) n++;
        small.set[n] = "run.threads=1"; /* as it is opened again */
        support_bed bed = support_bed_open(&small, "cpu", 1);
        for (int session = 0; session < 2; session++) /* so that there is a checkpoint before */
            if (train(bed.scenario, session > 0, false, &error)) die(&error);
        support_bed_close(&bed);
    } else {
        if (lud_scenario_read("fuzz.yaml", solvable, sizeof solvable - 1, NULL, 0, &scenario, &error) ||
            solve(scenario, false, &error))
            die(&error);
        lud_scenario_destroy(scenario);
    }
    if (k == HALF_SOLVED) { /* as it was before its first levels were finished */
        char partial[PATH];
        snprintf(partial, sizeof partial, "%.400s", in_folder("solution.empo.partial"));
        if (rename(in_folder("solution.empo"), partial)) abort();
        const int file = open(partial, O_RDWR);
        const int64_t level = 2;
        if (pwrite(file, &level, sizeof level, offsetof(lud_empo_header, first_level)) != sizeof level)
            abort();
        close(file);
    }
    keep(&runs[k]);
    if (runs[k].n < 2) abort();
}

/* ---- changes ---- */

static void seal(uint8_t *bytes, size_t n) {
    static const char start[] = "{\"__metadata__\":{\"ludus.xxh3\":\"", hex[] = "0123456789abcdef";
    const size_t at = 8 + sizeof start - 1;
    if (n < at + 16 || memcmp(bytes + 8, start, sizeof start - 1) != 0) return;
    memset(bytes + at, '0', 16);
    const uint64_t checksum = XXH3_64bits(bytes, n);
    for (int i = 0; i < 16; i++) bytes[at + (size_t)i] = (uint8_t)hex[checksum >> (60 - 4 * i) & 15];
}

/* So many bytes of the input's own, those that are there and zeros. */
static void resize(wanted_file *w, size_t n) {
    const bool owned = w->own && w->bytes == w->own;
    if (n > w->room) {
        w->own = realloc(w->own, n);
        if (!w->own) abort();
        w->room = n;
    }
    if (!owned && n) memcpy(w->own, w->bytes, n < w->n ? n : w->n);
    if (n > w->n) memset(w->own + w->n, 0, n - w->n);
    w->bytes = w->own;
    w->n = n;
}

static void change(const whole_run *run, const uint8_t *how, bool sealed) {
    const kept_file *f = &run->files[how[0] % run->n];
    wanted_file *w = &wanted[how[0] % run->n];
    const size_t where = (size_t)(how[2] << 8 | how[3]);
    const size_t at = f->n ? (how[1] & 0x80 ? where * f->n / 65536 : where % f->n) : 0;
    const int other = how[4] % run->n;
    if (w->kind != BYTES) return; /* changed before into what has none */
    /* numbers of a scenario do not grow: worlds too large to wait for are no finding */
    const uint8_t byte = how[1] & 0x40 ? how[4] : (uint8_t)(f->bytes[at] ^ how[4]);
    const bool grows = strcmp(f->name, "scenario.yaml") == 0 && byte >= '0' && byte <= '9';
    if (how[1] % 16 > 4 && (!f->n || grows)) return;
    w->changed = true;
    switch (how[1] % 16) {
    case 0:
        w->kind = NOTHING;
        return;
    case 1:
        resize(w, at);
        return;
    case 2:
        w->kind = LINK;
        w->to = other;
        return;
    case 3:
        w->kind = how[4] & 1 ? PIPE : FOLDER;
        return;
    case 4: /* another of its files */
        w->bytes = run->files[other].bytes;
        w->n = run->files[other].n;
        return;
    default: /* with the changes before this one */
        resize(w, w->n < f->n ? w->n : f->n);
        if (at < w->n) w->own[at] = byte;
        if (sealed) seal(w->own, w->n);
    }
}

static void read_changes(const whole_run *run, const uint8_t *bytes, size_t length) {
    for (int i = 0; i < run->n; i++) {
        wanted[i].kind = BYTES;
        wanted[i].changed = false;
        wanted[i].bytes = run->files[i].bytes;
        wanted[i].n = run->files[i].n;
    }
    for (size_t at = 2, n = 0; at + 5 <= length && n < MOST_CHANGES; at += 5, n++)
        change(run, bytes + at, bytes[1] & 8);
}

static void begin(void) {
    make_memory_folder(parent, "run");
    for (int k = 0; k < RUNS; k++) {
        snprintf(runs[k].folder, sizeof runs[k].folder, "%s/run%d", parent, k);
        if (mkdir(runs[k].folder, 0700)) abort();
    }
    atexit(clean);
    omp_set_num_threads(1); /* inputs of a millisecond are longer with more */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (length < 2) return 0;
    if (!parent[0]) begin();
    whole_run *run = &runs[bytes[0] % RUNS];
    folder = run->folder;
    if (!run->n) make(bytes[0] % RUNS);
    read_changes(run, bytes, length);
    lay_out(run);
    lud_error error = {0};
    const bool solved = run == &runs[SOLVED] || run == &runs[HALF_SOLVED];
    int verb = bytes[1] % 8;
    if (solved && (verb == 4 || verb == 5)) verb += 2;
    if (!solved && verb >= 6) verb -= 2;
    if (use(verb, &error) && !error.text[0]) abort();
    for (int i = 0; verb >= 4 && i < run->n; i++) run->files[i].lies = 0; /* these write, into memory too */
    return 0;
}
