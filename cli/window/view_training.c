#include "cli/window/view_training.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "learn/runs/parameters.h"
#include "learn/store/history.h"

/* Seconds. Metrics are read again where they are new, at most a twentieth of the time. */
static const double between_looks = 0.25, metrics_share = 0.05;

/* ---- curves ---- */

static lud_status read_curves(lud_training_view *v, lud_arena *arena, lud_error *error) {
    lud_view_training *t = &v->base;
    t->n_curves = 0;
    for (int k = 0; k < v->found.n_columns && k < LUD_TRAINING_CURVES; k++) {
        lud_history h;
        const char *name = lud_arena_text(arena, v->found.columns[k], strlen(v->found.columns[k]));
        if (!name) return lud_no_memory(error, "curves");
        LUD_TRY(lud_history_read(arena, v->folder, name, &h, error));
        if (h.n > 0) t->curves[t->n_curves++] = (lud_training_curve){name, h.value, (size_t)h.n};
    }
    return LUD_OK;
}

/* The old curves stay where the new ones cannot be read. */
static void look_at_metrics(lud_training_view *v) {
    lud_text path = {0};
    lud_text_append(&path, "%s/metrics.csv", v->folder);
    const uint64_t stamp = path.failed ? 0 : lud_file_stamp(path.bytes);
    lud_text_free(&path);
    if (stamp == 0 || stamp == v->metrics || v->found.n_columns == 0) return;
    const double began = lud_clock_seconds();
    const lud_view_training before = v->base;
    lud_arena *arena = lud_arena_create(0);
    if (arena && !read_curves(v, arena, NULL)) {
        lud_arena_destroy(v->curves);
        v->curves = arena;
        v->metrics = stamp;
        v->base.version++;
    } else {
        v->base = before;
        lud_arena_destroy(arena);
    }
    v->cost = lud_clock_seconds() - began;
}

/* ---- how far it is ---- */

static void tell(lud_training_view *v) {
    const lud_watched *f = &v->found;
    lud_view_training *t = &v->base;
    char text[sizeof t->state], spent[24], left[24];
    t->running = f->running;
    t->share = f->known && f->total > 0 ? (double)f->done / (double)f->total : -1;
    if (v->failure.status)
        snprintf(text, sizeof text, "%.150s", v->failure.text);
    else if (!f->running && f->known)
        snprintf(text, sizeof text, "ended after iteration %" PRIu64 " of %" PRIu64, f->done, f->total);
    else if (!f->running)
        snprintf(text, sizeof text, "nothing trains in %.120s", v->folder);
    else if (!f->known)
        snprintf(text, sizeof text, "waiting for the first parameters");
    else if (f->done == 0)
        snprintf(text, sizeof text, "iteration 0 of %" PRIu64, f->total);
    else
        snprintf(text, sizeof text, "iteration %" PRIu64 " of %" PRIu64 ", %s, %s left", f->done, f->total,
                 lud_format_seconds(f->seconds, spent),
                 lud_format_seconds(f->seconds / (double)f->done * (double)(f->total - f->done), left));
    if (strcmp(text, t->state) == 0) return;
    snprintf(t->state, sizeof t->state, "%s", text);
    t->version++;
}

static bool look(lud_view_training *training, double seconds) {
    lud_training_view *v = (lud_training_view *)training;
    v->rest -= seconds;
    if (v->rest > 0) return false;
    const bool ran = v->found.running;
    v->failure = (lud_error){0};
    (void)lud_watch_look(&v->watch, &v->found, &v->failure); /* told in place of how far it is */
    const bool ended = !v->found.running && (ran || !v->ended);
    v->ended |= ended;
    if (v->found.running) v->ended = false;
    tell(v);
    look_at_metrics(v);
    v->rest = fmax(between_looks, v->cost / metrics_share);
    char path[4096];
    /* what has ended leaves its best parameters */
    return (v->found.newer || ended) && lud_training_view_run(v, path, sizeof path);
}

static void save(lud_view_training *training) {
    lud_watch_save(&((lud_training_view *)training)->watch);
}
static void stop(lud_view_training *training) {
    lud_watch_stop(&((lud_training_view *)training)->watch);
}

/* ---- opening ---- */

lud_status lud_training_view_open(const char *folder, lud_training_view *v, lud_error *error) {
    *v = (lud_training_view){.base = {.look = look, .save = save, .stop = stop, .share = -1},
                             .folder = folder};
    LUD_TRY(lud_watch_open(folder, &v->watch, error));
    /* what is there already acts from the beginning */
    const lud_status status = lud_watch_look(&v->watch, &v->found, error);
    if (status) {
        lud_training_view_close(v);
        return status;
    }
    v->ended = !v->found.running;
    tell(v);
    look_at_metrics(v);
    return LUD_OK;
}

void lud_training_view_close(lud_training_view *v) {
    lud_watch_close(&v->watch);
    lud_arena_destroy(v->curves);
    *v = (lud_training_view){0};
}

bool lud_training_view_run(const lud_training_view *v, char *path, size_t n) {
    bool there = false;
    const bool newest = v->found.running && lud_file_exists(v->watch.newest);
    const int length = snprintf(path, n, "%s", newest ? v->watch.newest : v->folder);
    if (length < 0 || (size_t)length >= n) return false;
    if (newest) return true;
    return !v->found.running && lud_run_has_parameters(path, &there, NULL) == LUD_OK && there;
}

lud_status lud_training_view_wait(const char *folder, lud_error *error) {
    bool there = false;
    lud_interrupt_install();
    for (int k = 0; !there; k++) {
        LUD_TRY(lud_run_holds(folder, "scenario.yaml", &there, error));
        if (there) break;
        if (k == 0) fprintf(stderr, "waiting for a training in %s; Ctrl-C ends\n", folder);
        if (lud_interrupted()) return lud_fail(error, LUD_INTERRUPTED, "%s: no training began", folder);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    return LUD_OK;
}
