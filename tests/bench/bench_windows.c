/* Batches of windows over recorded episodes, beside a plain copy of the same bytes and a loop over time steps
 * that makes every window out of rows of its own. Windows that follow each other are compared with one long
 * copy of as many bytes; those of a batch, which lie anywhere in 200 MB, with a memcpy of each from where it
 * lies, without a look at where episodes end. tests/bench/windows_numpy.py measures the same batches in NumPy
 * and PyTorch. One thread each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "learn/episodes/windows.h"
#include "tests/bench/bench.h"

/* Episodes of 20 to 99 steps. */
enum { EPISODES = 16000, STEPS_MOST = 100 * EPISODES };

typedef struct shape {
    const char *name;
    int64_t width, horizon, batch; /* numbers of four bytes in a row; windows of a batch, 0: all in order */
} shape;

static const shape shapes[] = {
    {"choices, 8 ahead, batches of 4,096", 1, 8, 4096},
    {"choices, 8 ahead, all in order", 1, 8, 0},
    {"2 numbers, 8 ahead, batches of 4,096", 2, 8, 4096},
    {"2 numbers, 16 ahead, all in order", 2, 16, 0},
    {"7 numbers, 16 ahead, batches of 4,096", 7, 16, 4096},
    {"32 numbers, 16 ahead, batches of 4,096", 32, 16, 4096},
};

typedef struct rig {
    lud_device *device;
    lud_tracks tracks;
    int64_t *offsets, *track, *step;
    lud_window_set set; /* of one batch; batches differ in their windows, which are drawn anew by turns */
    float *rows, *out, *source;
    int64_t width, horizon, n_windows;
} rig;

static void gather(void *context) {
    rig *r = context;
    lud_window_set_gather(&r->set, r->width * (int64_t)sizeof(float), r->rows, LUD_PAD_ZERO, NULL, r->out);
}

static void copy_long(void *context) {
    const rig *r = context;
    memcpy(r->out, r->source, (size_t)(r->n_windows * r->horizon * r->width) * sizeof *r->out);
    __asm__ volatile("" : : "r"(r->out) : "memory"); /* the copy is wanted */
}

static void copy_each(void *context) {
    const rig *r = context;
    const int64_t numbers = r->horizon * r->width;
    for (int64_t i = 0; i < r->n_windows; i++)
        memcpy(r->out + i * numbers, r->rows + r->set.first[i] * r->width, (size_t)numbers * sizeof *r->out);
    __asm__ volatile("" : : "r"(r->out) : "memory");
}

/* A row of the window, made by itself. */
static float *make_row(const rig *r, int64_t track, int64_t t) {
    float *row = malloc((size_t)r->width * sizeof *row);
    for (int64_t j = 0; j < r->width && row; j++)
        row[j] = t < lud_track_length(&r->tracks, track)
                     ? r->rows[(r->tracks.offsets[track] + t) * r->width + j]
                     : 0.0f;
    return row;
}

/* Every window a list of rows; then all of them into the batch. */
static void loop(void *context) {
    rig *r = context;
    float ***windows = malloc((size_t)r->n_windows * sizeof *windows);
    for (int64_t i = 0; i < r->n_windows && windows; i++) {
        windows[i] = malloc((size_t)r->horizon * sizeof **windows);
        for (int64_t k = 0; k < r->horizon && windows[i]; k++)
            windows[i][k] = make_row(r, r->track[i], r->step[i] + k);
    }
    for (int64_t i = 0; i < r->n_windows && windows; i++) {
        for (int64_t k = 0; k < r->horizon && windows[i]; k++) {
            for (int64_t j = 0; j < r->width && windows[i][k]; j++)
                r->out[(i * r->horizon + k) * r->width + j] = windows[i][k][j];
            free(windows[i][k]);
        }
        free(windows[i]);
    }
    free(windows);
}

static uint32_t drawn(uint32_t i, uint32_t lane, uint32_t n) {
    return lud_below(lud_draw((lud_random_key){1, lane}, i, 0, LUD_PURPOSE_USER, 0).v[0], n);
}

/* Which windows: any of any episode, or all. */
static void choose(rig *r, int64_t batch) {
    const int64_t n_rows = r->offsets[EPISODES];
    for (int64_t track = 0, i = 0; track < EPISODES && batch == 0; track++)
        for (int64_t t = 0; t < lud_track_length(&r->tracks, track); t++, i++) {
            r->track[i] = track;
            r->step[i] = t;
        }
    for (int64_t i = 0; i < batch; i++) {
        r->track[i] = drawn((uint32_t)i, 1, EPISODES);
        r->step[i] = drawn((uint32_t)i, 2, (uint32_t)lud_track_length(&r->tracks, r->track[i]));
    }
    r->n_windows = batch > 0 ? batch : n_rows;
    lud_window_set_some(&r->set, &r->tracks, r->horizon, r->n_windows, r->track, r->step, NULL);
}

static lud_status measure(rig *r, const shape *s, lud_bench_report *report, lud_error *error) {
    char name[96];
    r->width = s->width;
    r->horizon = s->horizon;
    choose(r, s->batch);
    const int64_t bytes = r->n_windows * s->horizon * s->width * (int64_t)sizeof(float);
    r->out = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    r->source = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!r->out || !r->source) return lud_no_memory(error, "windows");
    memset(r->source, 1, (size_t)bytes);
    lud_bench_piece pieces[] = {{gather, (double)bytes / 1e9, 0, 0},
                                {s->batch > 0 ? copy_each : copy_long, (double)bytes / 1e9, 0, 0},
                                {loop, (double)bytes / 1e9, 0, 0}};
    lud_bench_rates(3, pieces, r);
    lud_status status = lud_bench_add(
        report, (lud_bench_row){s->name, pieces[0].rate, pieces[0].spread, "GB/s", pieces[1].rate}, error);
    snprintf(name, sizeof name, "  %s: time over a copy", s->name);
    if (!status)
        status = lud_bench_add(
            report, (lud_bench_row){name, pieces[1].rate / pieces[0].rate, 0, "times", 1.5}, error);
    snprintf(name, sizeof name, "  %s: a loop's time over this", s->name);
    if (!status)
        status = lud_bench_add(report, (lud_bench_row){name, pieces[0].rate / pieces[2].rate, 0, "times", 0},
                               error);
    free(r->out);
    free(r->source);
    r->out = r->source = NULL;
    return status;
}

static lud_status build(rig *r, lud_error *error) {
    enum { WIDEST = 32, LONGEST = 16 }; /* the copy reads past the last episode */
    lud_status status = lud_device_open("cpu", 1, &r->device, error);
    if (!status) status = lud_window_set_create(r->device, STEPS_MOST, &r->set, error);
    if (status) return status;
    r->offsets = calloc(EPISODES + 1, sizeof *r->offsets);
    r->track = calloc(STEPS_MOST, sizeof *r->track);
    r->step = calloc(STEPS_MOST, sizeof *r->step);
    r->rows = calloc((size_t)(STEPS_MOST + LONGEST) * WIDEST, sizeof *r->rows);
    if (!r->offsets || !r->track || !r->step || !r->rows) return lud_no_memory(error, "episodes");
    for (uint32_t i = 0; i < EPISODES; i++) r->offsets[i + 1] = r->offsets[i] + 20 + drawn(i, 0, 80);
    for (int64_t i = 0; i < (int64_t)STEPS_MOST * WIDEST; i++) r->rows[i] = (float)(i % 1000);
    r->tracks = (lud_tracks){.n = EPISODES, .offsets = r->offsets, .last_action_valid = true};
    return LUD_OK;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    rig r = {0};
    lud_status status = build(&r, error);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++)
        if (lud_bench_wants(report, shapes[i].name)) status = measure(&r, shapes + i, report, error);
    lud_window_set_destroy(&r.set);
    if (r.device) lud_device_close(r.device);
    free(r.offsets);
    free(r.track);
    free(r.step);
    free(r.rows);
    free(r.out);
    free(r.source);
    return status;
}

const lud_bench lud_bench_windows = {
    .name = "windows",
    .about = "windows over recorded episodes, beside a plain copy and a loop over time steps",
    .run = run};
