#include "cli/experiment/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "learn/runs/parameters.h"
#include "learn/store/history.h"

enum { PATH = 4096, MOST_WORDS = 24 + 4 * LUD_EXPERIMENT_SETTINGS };

bool lud_experiment_run_path(const lud_experiment *e, const char *folder, lud_experiment_run run,
                             const char *ending, char *path, size_t n) {
    const int length = snprintf(path, n, "%s/%s/%s/seed-%" PRId64 "%s", folder, e->tasks[run.task].name,
                                e->variants[run.variant].name, e->seeds[run.seed], ending);
    return length > 0 && (size_t)length < n;
}

void lud_experiment_share_out(lud_experiment_jobs *j, int64_t n_parallel, int64_t n_threads) {
    const int given = lud_ranks_threads(j->ranks), most = lud_experiment_n_runs(j->experiment);
    const long cores = given > 0 ? given : sysconf(_SC_NPROCESSORS_ONLN);
    j->n_parallel = n_parallel > 0 ? (int)n_parallel : cores > 0 ? (int)cores : 1;
    if (j->n_parallel > most) j->n_parallel = most;
    const int each = cores > j->n_parallel ? (int)cores / j->n_parallel : 1;
    j->n_threads = n_threads > 0 ? (int)n_threads : each;
}

/* ---- what is there ---- */

typedef enum word { NO_MARK, OTHER_MARK, BEGUN, PAUSED, DONE } word;
typedef struct mark {
    word word;
    uint64_t iterations; /* until the pause, or until the end */
} mark;

static const lud_experiment_training *training_of(const lud_experiment *e, lud_experiment_run run) {
    return lud_experiment_training_of(e, run.task, run.variant);
}

/* What FOLDER/.../seed-N.state says: `begun KEY`, `paused KEY ITERATIONS` or `done KEY`, of these settings or
 * of others. */
static mark read_mark(const lud_experiment *e, const char *folder, lud_experiment_run run) {
    char path[PATH], text[8] = "";
    uint64_t key = 0, iterations = 0;
    if (!lud_experiment_run_path(e, folder, run, ".state", path, sizeof path)) return (mark){NO_MARK, 0};
    FILE *stream = lud_file_stream(path);
    if (!stream) return (mark){NO_MARK, 0};
    const int n = fscanf(stream, "%7s %" SCNx64 " %" SCNu64, text, &key, &iterations);
    fclose(stream);
    if (n < 2) return (mark){NO_MARK, 0};
    if (key != training_of(e, run)->key) return (mark){OTHER_MARK, 0};
    if (strcmp(text, "done") == 0) return (mark){DONE, training_of(e, run)->iterations};
    return strcmp(text, "paused") == 0 && n == 3 ? (mark){PAUSED, iterations} : (mark){BEGUN, 0};
}

static lud_status write_mark(const lud_experiment *e, const char *folder, lud_experiment_run run, mark m,
                             lud_error *error) {
    char path[PATH], text[64];
    const uint64_t key = training_of(e, run)->key;
    const int n =
        m.word == PAUSED
            ? snprintf(text, sizeof text, "paused %016" PRIx64 " %" PRIu64 "\n", key, m.iterations)
            : snprintf(text, sizeof text, "%s %016" PRIx64 "\n", m.word == DONE ? "done" : "begun", key);
    if (!lud_experiment_run_path(e, folder, run, ".state", path, sizeof path))
        return lud_invalid(error, "%s: a shorter path is needed", folder);
    return lud_file_write(path, text, (size_t)n, error);
}

lud_status lud_experiment_score(const lud_experiment *e, const char *folder, lud_experiment_run run,
                                uint64_t iterations, double *score, lud_error *error) {
    char path[PATH];
    lud_history h;
    *score = NAN;
    if (read_mark(e, folder, run).iterations < iterations) return LUD_OK;
    if (!lud_experiment_run_path(e, folder, run, "", path, sizeof path)) return LUD_OK;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "scores");
    const lud_status status = lud_history_read_over(arena, path, "iteration", e->score, &h, error);
    for (int k = 0; !status && k < h.n && h.steps[k] <= (double)iterations; k++) *score = h.value[k];
    lud_arena_destroy(arena);
    return status;
}

/* Until when a run is to run now; 0: not at all. */
static uint64_t goal_of(const lud_experiment_jobs *j, lud_experiment_run run) {
    const uint64_t all = training_of(j->experiment, run)->iterations;
    if (!j->until) return all;
    return j->until[run.variant] < all ? j->until[run.variant] : all;
}

static bool is_there(const lud_experiment_jobs *j, lud_experiment_run run, const mark *m) {
    return m->word == DONE || (m->word == PAUSED && m->iterations >= goal_of(j, run));
}

/* ---- one process ---- */

typedef struct job {
    pid_t process; /* 0: the place is free */
    int number;
} job;

/* The child's side; nothing here allocates. Its own group: Ctrl-C reaches this process, which passes it on
 * once. */
static void become(const char *const *words, char *const *environment, const char *log, pid_t parent) {
    const int out = lud_file_own(log, O_WRONLY | O_APPEND), in = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    /* should this process be killed, its runs save and end */
    if (out < 0 || in < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent) _exit(126);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
    execve("/proc/self/exe", (char *const *)(uintptr_t)words, environment);
    _exit(127);
}

static lud_status start(const lud_experiment_jobs *j, int number, job *place, lud_error *error) {
    const lud_experiment *e = j->experiment;
    const lud_experiment_run run = lud_experiment_run_at(e, number);
    const lud_experiment_settings *const from[] = {&e->set, &e->variants[run.variant].set};
    char path[PATH], log[PATH], above[PATH], seed[24], threads[16], until[24], first[24];
    const char *words[MOST_WORDS];
    int n = 0;
    bool resumes = false;
    if (!lud_experiment_run_path(e, j->folder, run, "", path, sizeof path) ||
        !lud_experiment_run_path(e, j->folder, run, ".log", log, sizeof log))
        return lud_invalid(error, "%s: a shorter path is needed", j->folder);
    snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
    LUD_TRY(lud_folder_make(above, error));
    LUD_TRY(lud_run_holds(path, "checkpoint.safetensors", &resumes, error));
    if (read_mark(e, j->folder, run).word == NO_MARK)
        LUD_TRY(write_mark(e, j->folder, run, (mark){BEGUN, 0}, error));
    snprintf(seed, sizeof seed, "%" PRId64, e->seeds[run.seed]);
    snprintf(threads, sizeof threads, "%d", j->n_threads);
    snprintf(until, sizeof until, "%" PRIu64, goal_of(j, run));
    snprintf(first, sizeof first, "%" PRIu64, training_of(e, run)->first);
    words[n++] = "ludus";
    words[n++] = "train";
    if (resumes) {
        words[n++] = path;
        words[n++] = "--resume";
    } else {
        words[n++] = e->tasks[run.task].path;
        words[n++] = "-o";
        words[n++] = path;
        words[n++] = "--overwrite"; /* what is left of one that came to no checkpoint */
        words[n++] = "--seed";
        words[n++] = seed;
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < from[k]->n; i++) {
                words[n++] = "--set";
                words[n++] = from[k]->items[i];
            }
    }
    if (training_of(e, run)->first > 0) {
        words[n++] = "--evaluate-every";
        words[n++] = first;
    }
    if (goal_of(j, run) < training_of(e, run)->iterations) {
        words[n++] = "--until";
        words[n++] = until;
    }
    words[n++] = "--threads";
    words[n++] = threads;
    words[n] = NULL;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) become(words, j->environment, log, parent);
    if (child < 0) return lud_fail(error, LUD_ERROR_IO, "a process cannot be started: %s", strerror(errno));
    *place = (job){child, number};
    return LUD_OK;
}

/* The last line of a log that says something. */
static void last_words(const char *log, char text[256]) {
    FILE *stream = lud_file_stream(log);
    char line[512];
    snprintf(text, 256, "no log");
    if (!stream) return;
    if (fseek(stream, -4096, SEEK_END) != 0) rewind(stream);
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0]) snprintf(text, 256, "%.250s", line);
    }
    fclose(stream);
    lud_text_tame(text);
}

static lud_status end(const lud_experiment_jobs *j, const job *ended, int how,
                      lud_experiment_outcome *outcome, lud_error *error) {
    const lud_experiment *e = j->experiment;
    const lud_experiment_run run = lud_experiment_run_at(e, ended->number);
    char log[PATH], words[256];
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
        const uint64_t goal = goal_of(j, run);
        outcome->done++;
        return write_mark(e, j->folder, run,
                          (mark){goal < training_of(e, run)->iterations ? PAUSED : DONE, goal}, error);
    }
    if (lud_interrupted()) return LUD_OK; /* it has saved, and goes on next time */
    outcome->failed++;
    if (!lud_experiment_run_path(e, j->folder, run, ".log", log, sizeof log)) return LUD_OK;
    last_words(log, words);
    lud_log(NULL, LUD_LOG_WARNING, "%s, %s, seed %" PRId64 " failed: %s (%s)", e->tasks[run.task].name,
            e->variants[run.variant].name, e->seeds[run.seed], words, log);
    return LUD_OK;
}

/* ---- all of them ---- */

static lud_status find_missing(const lud_experiment_jobs *j, int *missing, int *n,
                               lud_experiment_outcome *outcome, lud_error *error) {
    const lud_experiment *e = j->experiment;
    const int rank = lud_ranks_rank(j->ranks), size = lud_ranks_size(j->ranks);
    for (int k = 0, number = 0; k < lud_experiment_n_runs(e); k++) {
        const lud_experiment_run run = lud_experiment_run_at(e, k);
        const mark m = read_mark(e, j->folder, run);
        if (m.word == OTHER_MARK)
            return lud_invalid(
                error,
                "%s/%s/%s has runs of other settings than those asked for now%s; name another folder "
                "with -o, or remove that one",
                j->folder, e->tasks[run.task].name, e->variants[run.variant].name,
                training_of(e, run)->first ? ", or of another first budget" : "");
        if (goal_of(j, run) == 0) continue;
        const bool there = is_there(j, run, &m);
        outcome->found += there;
        if (!there && number++ % size == rank) missing[(*n)++] = k;
    }
    return LUD_OK;
}

static void pass_on(job *places, int n, int signal) {
    for (int k = 0; k < n; k++)
        if (places[k].process > 0) kill(places[k].process, signal);
}

static lud_status run_all(const lud_experiment_jobs *j, job *places, const int *missing, int n_missing,
                          lud_experiment_outcome *outcome, lud_error *error) {
    const int n = outcome->found + n_missing;
    lud_progress progress;
    lud_status status = LUD_OK;
    bool told = false, news = false;
    double asked = lud_clock_seconds();
    lud_progress_start(&progress, j->quiet || !lud_ranks_leads(j->ranks) ? NULL : stderr, j->title, "runs",
                       (uint64_t)n);
    progress.done = progress.before = (uint64_t)outcome->found;
    for (int next = 0, running = 0; running > 0 || (next < n_missing && !status && !lud_interrupted());) {
        for (int k = 0; k < j->n_parallel; k++) {
            job *place = &places[k];
            int how;
            if (place->process > 0 && waitpid(place->process, &how, WNOHANG) == place->process) {
                const lud_status ended = end(j, place, how, outcome, status ? NULL : error);
                if (!status) status = ended;
                place->process = 0;
                running--;
                news = true;
            }
            if (place->process == 0 && next < n_missing && !status && !lud_interrupted()) {
                status = start(j, missing[next++], place, error);
                running += !status;
            }
        }
        if ((lud_interrupted() || status) && !told) {
            told = true;
            pass_on(places, j->n_parallel, SIGTERM);
        }
        if (news && j->ended && lud_ranks_leads(j->ranks) && lud_clock_seconds() - asked >= 2.0) {
            j->ended(j->context);
            news = false;
            asked = lud_clock_seconds();
        }
        lud_progress_note(&progress, "%d running  %d failed", running, outcome->failed);
        lud_progress_update(&progress, (uint64_t)(outcome->found + outcome->done + outcome->failed));
        if (running > 0) nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    }
    lud_progress_finish(&progress);
    if (status) return status;
    return lud_interrupted()
               ? lud_fail(error, LUD_INTERRUPTED,
                          "stopped after %d of %d runs, all are saved; the same command goes on",
                          outcome->found + outcome->done, n)
               : LUD_OK;
}

/* What came of it in all processes. */
static lud_status add_outcomes(lud_ranks *ranks, lud_experiment_outcome *outcome, lud_error *error) {
    lud_experiment_outcome all[LUD_RANKS_MOST];
    int64_t n = 0;
    LUD_TRY(lud_ranks_join_lists(ranks, outcome, 1, sizeof *outcome, all, LUD_RANKS_MOST, &n, error));
    outcome->done = outcome->failed = 0; /* what was there already has been counted by each */
    for (int64_t k = 0; k < n; k++) {
        outcome->done += all[k].done;
        outcome->failed += all[k].failed;
    }
    return LUD_OK;
}

lud_status lud_experiment_jobs_run(const lud_experiment_jobs *j, lud_experiment_outcome *outcome,
                                   lud_error *error) {
    *outcome = (lud_experiment_outcome){0};
    int *missing = malloc((size_t)lud_experiment_n_runs(j->experiment) * sizeof *missing), n = 0;
    job *places = calloc((size_t)j->n_parallel, sizeof *places);
    lud_status status = missing && places ? LUD_OK : lud_no_memory(error, "an experiment");
    if (!status) status = find_missing(j, missing, &n, outcome, error);
    status = lud_ranks_agree(j->ranks, status, error); /* nobody begins before all have looked */
    if (!status) {
        status = run_all(j, places, missing, n, outcome, error);
        status = lud_ranks_agree(j->ranks, status, error);
    }
    if (!status) status = add_outcomes(j->ranks, outcome, error);
    free(missing);
    free(places);
    return status;
}
