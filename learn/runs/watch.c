#include "learn/runs/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status.h"

/* Seconds. A mark is believed for longer than it is written: a watcher may be busy, a disk far away. */
static const double between_marks = 1.0, between_looks = 0.5, believed = 10.0, between_parameters = 1.0;
/* Of the training's time at most so much goes into handing parameters over. */
static const double most_share = 0.01;

static const char word[] = "ludus-watch-1", key[] = "ludus.training";
enum { MOST_TEXT = 1024 };

static char *beside(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* A number that no wish had before, in any process. */
static uint64_t new_wish(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The text of a small file; false when there is none. */
static bool read_text(const char *path, char text[MOST_TEXT]) {
    FILE *stream = lud_file_stream(path);
    if (!stream) return false;
    const size_t n = fread(text, 1, MOST_TEXT - 1, stream);
    text[n] = '\0';
    fclose(stream);
    return true;
}

/* ---- who watches ---- */

lud_status lud_watch_open(const char *folder, lud_watch *w, lud_error *error) {
    *w = (lud_watch){.folder = strdup(folder),
                     .mark = beside(folder, ".watched"),
                     .newest = beside(folder, "newest.safetensors"),
                     .said = -INFINITY};
    if (w->folder && w->mark && w->newest) return LUD_OK;
    lud_watch_close(w);
    return lud_no_memory(error, "a watch");
}

void lud_watch_close(lud_watch *w) {
    if (w->mark && !isinf(w->said)) unlink(w->mark); /* another watcher writes it again */
    LUD_FREE(w->folder, w->mark, w->newest);
    *w = (lud_watch){0};
}

void lud_watch_save(lud_watch *w) {
    w->save = new_wish();
    w->said = -INFINITY;
}
void lud_watch_stop(lud_watch *w) {
    w->stop = new_wish();
    w->said = -INFINITY;
}

/* Whether a process holds the lock of the folder (learn/runs/lock.h), which tells its number; one of another
 * machine is known by what it wrote lately. */
static bool is_running(const lud_watch *w) {
    char text[MOST_TEXT], *lock = beside(w->folder, ".lock");
    struct stat info;
    const bool held = lock && read_text(lock, text);
    free(lock);
    if (!held) return false;
    const long pid = strtol(text, NULL, 10);
    if (pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM)) return true;
    return stat(w->newest, &info) == 0 && difftime(time(NULL), info.st_mtime) < 3 * believed;
}

/* `DONE TOTAL SECONDS COLUMN COLUMN ...` */
static void read_training(const char *text, lud_watched *found) {
    int at = 0;
    lud_watched read = {.running = found->running, .newer = true};
    if (!text ||
        sscanf(text, "%" SCNu64 " %" SCNu64 " %lf%n", &read.done, &read.total, &read.seconds, &at) != 3 ||
        !(read.seconds >= 0.0) || isinf(read.seconds))
        return;
    for (int n = 0; read.n_columns < LUD_WATCH_COLUMNS &&
                    sscanf(text + at, "%95s%n", read.columns[read.n_columns], &n) == 1;
         at += n)
        lud_text_tame(read.columns[read.n_columns++]);
    read.known = true;
    *found = read;
}

lud_status lud_watch_look(lud_watch *w, lud_watched *found, lud_error *error) {
    const double now = lud_clock_seconds();
    found->running = is_running(w);
    found->newer = false;
    if (!found->running) w->save = w->stop = 0; /* wishes are not the next training's */
    if (found->running && now - w->said >= between_marks) {
        char text[MOST_TEXT];
        const int n = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRIu64 "\n", word, w->save, w->stop);
        LUD_TRY(lud_file_write(w->mark, text, (size_t)n, error));
        w->said = now;
    }
    const uint64_t stamp = lud_file_stamp(w->newest);
    if (stamp == 0 || stamp == w->stamp) return LUD_OK;
    lud_checkpoint *checkpoint = NULL;
    /* it may be replaced at this moment: then the next look finds it */
    if (lud_checkpoint_open(w->newest, &checkpoint, NULL)) return LUD_OK;
    w->stamp = stamp;
    found->newer = true;
    read_training(lud_checkpoint_text(checkpoint, key), found);
    lud_checkpoint_destroy(checkpoint);
    return LUD_OK;
}

/* ---- who is watched ---- */

static void remove_newest(const lud_watchers *w) {
    char *previous = lud_checkpoint_previous_path(w->newest);
    unlink(w->newest);
    if (previous) unlink(previous);
    free(previous);
}

lud_status lud_watchers_open(const char *folder, lud_watchers *w, lud_error *error) {
    *w = (lud_watchers){.mark = beside(folder, ".watched"),
                        .newest = beside(folder, "newest.safetensors"),
                        .looked = -INFINITY};
    if (!w->mark || !w->newest) {
        lud_watchers_close(w);
        return lud_no_memory(error, "a training");
    }
    /* wishes of before were another training's */
    unlink(w->mark);
    remove_newest(w);
    return LUD_OK;
}

void lud_watchers_close(lud_watchers *w) {
    lud_checkpoint_writer_destroy(w->writer);
    if (w->newest) remove_newest(w);
    LUD_FREE(w->mark, w->newest);
    *w = (lud_watchers){0};
}

lud_watchers_wish lud_watchers_look(lud_watchers *w) {
    const double now = lud_clock_seconds();
    lud_watchers_wish wish = {0};
    char text[MOST_TEXT];
    struct stat info;
    uint64_t save, stop;
    if (now - w->looked < between_looks) return wish;
    w->looked = now;
    if (stat(w->mark, &info) != 0 || difftime(time(NULL), info.st_mtime) > believed) return wish;
    if (!read_text(w->mark, text) || strncmp(text, word, sizeof word - 1) != 0 ||
        sscanf(text + sizeof word - 1, " %" SCNu64 " %" SCNu64, &save, &stop) != 2)
        return wish;
    wish = (lud_watchers_wish){.parameters =
                                   now >= w->due && !(w->writer && lud_checkpoint_writer_busy(w->writer)),
                               .save = save != 0 && save != w->save,
                               .stop = stop != 0 && stop != w->stop};
    w->save = save;
    w->stop = stop;
    return wish;
}

lud_checkpoint *lud_watchers_begin(lud_watchers *w, uint64_t done, uint64_t total, double seconds,
                                   const lud_metric *columns, int n_columns) {
    const char *const paths[] = {w->newest};
    w->handing = lud_clock_seconds();
    if (!w->writer && lud_checkpoint_writer_create(paths, 1, &w->writer, NULL)) return NULL;
    lud_text text = {0};
    lud_text_append(&text, "%" PRIu64 " %" PRIu64 " %.3f", done, total, seconds);
    for (int i = 0, n = 0; i < n_columns && n < LUD_WATCH_COLUMNS; i++)
        if (columns[i].format && ++n) lud_text_append(&text, " %s", columns[i].name);
    lud_checkpoint *checkpoint = text.failed ? NULL : lud_checkpoint_writer_begin(w->writer, 0);
    if (checkpoint) lud_checkpoint_set_text(checkpoint, key, text.bytes);
    lud_text_free(&text);
    return checkpoint;
}

void lud_watchers_submit(lud_watchers *w) {
    lud_error error = {0};
    const bool failed = lud_checkpoint_writer_submit(w->writer, &error) != LUD_OK ||
                        lud_checkpoint_writer_failure(w->writer, &error) != LUD_OK;
    if (failed && !w->failed)
        lud_log(NULL, LUD_LOG_WARNING, "%s; who watches sees older parameters, the training goes on",
                error.text);
    w->failed = failed;
    const double now = lud_clock_seconds();
    w->due = now + fmax(between_parameters, (now - w->handing) / most_share);
}
