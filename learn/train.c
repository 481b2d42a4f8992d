#include "learn/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/progress.h"

typedef struct session {
    lud_learner *learner;
    const lud_train_options *options;
    char *checkpoint_path;
    lud_checkpoint_writer *writer;
    lud_metrics *metrics;
    lud_metric *columns; /* the learner's, then its evaluation's */
    int n_columns;
    double *row;
    uint64_t iterations;
    double seconds; /* of earlier sessions */
    double started;
    double stalled;
    double last_checkpoint;
    bool checkpoint_due;
    lud_checkpoint *before; /* the state before the iteration in hand; null: a learner that goes on within */
    bool broken;            /* the iteration was broken off: that is what can be saved */
    uint64_t ended;         /* iterations whose row was written by this session */
    bool pending; /* the last iteration is done and counted, its evaluation and its row in the metrics not */
} session;

static double seconds_now(const session *s) {
    return s->seconds + lud_clock_seconds() - s->started;
}

/* Everything a resumed run needs, in both directions. */
static void visit(session *s, lud_checkpoint *checkpoint) {
    double seconds = s->seconds;
    if (!lud_checkpoint_loading(checkpoint)) {
        seconds = seconds_now(s);
        lud_checkpoint_set_text(checkpoint, "format", "ludus-checkpoint-1");
        lud_checkpoint_set_text(checkpoint, "learner", s->learner->kind->name);
        if (s->options && s->options->configuration)
            lud_checkpoint_set_text(checkpoint, "configuration", s->options->configuration);
    }
    lud_checkpoint_u64(checkpoint, "iterations", &s->iterations);
    lud_checkpoint_real(checkpoint, "seconds", &seconds);
    s->learner->kind->visit(s->learner, checkpoint);
    if (lud_checkpoint_loading(checkpoint)) s->seconds = seconds;
    static const char row[] = "pending_row";
    if (lud_checkpoint_loading(checkpoint)) s->pending = lud_checkpoint_find(checkpoint, row) != NULL;
    const int64_t n = s->n_columns;
    if (s->pending && s->row) lud_checkpoint_any_tensor(checkpoint, row, LUD_TENSOR_F64, 1, &n, s->row);
}

static char *run_path(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static lud_status load(session *s, const char *path, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    lud_status status = lud_checkpoint_open(path, &checkpoint, error);
    if (status) return status;
    const char *learner = lud_checkpoint_text(checkpoint, "learner");
    if (!learner || strcmp(learner, s->learner->kind->name) != 0) {
        status = lud_invalid(error, "%s: a checkpoint of learner '%s', this scenario trains '%s'", path,
                             learner ? learner : "?", s->learner->kind->name);
    } else {
        visit(s, checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s", path);
    }
    lud_checkpoint_destroy(checkpoint);
    return status;
}

lud_status lud_train_load(lud_learner *learner, const char *folder, uint64_t *iterations, lud_error *error) {
    session s = {.learner = learner};
    char *path = run_path(folder, "checkpoint.safetensors");
    if (!path) return lud_out_of_memory(error);
    lud_status status = load(&s, path, error);
    free(path);
    if (iterations) *iterations = s.iterations;
    return status;
}

/* Loads the previous checkpoint and moves the newest aside: left in place, it would become the previous one
 * at the next save, over the one that can be read. */
static lud_status load_previous(session *s, lud_error *error) {
    char *previous = lud_checkpoint_previous_path(s->checkpoint_path);
    char *aside = run_path(s->options->folder, "checkpoint.aside.safetensors");
    lud_status status = LUD_OK;
    if (!previous || !aside)
        status = lud_out_of_memory(error);
    else
        status = load(s, previous, error);
    if (status == LUD_OK && rename(s->checkpoint_path, aside) != 0 && errno != ENOENT)
        status = lud_invalid(error, "%s: cannot move it aside: %s", s->checkpoint_path, strerror(errno));
    free(previous);
    free(aside);
    return status;
}

static lud_status prepare_folder(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    lud_status status = lud_folder_make(o->folder, error);
    if (status) return status;
    s->checkpoint_path = run_path(o->folder, "checkpoint.safetensors");
    char *scenario_path = run_path(o->folder, "scenario.yaml");
    if (!s->checkpoint_path || !scenario_path) {
        status = lud_out_of_memory(error);
    } else if (o->resume_previous) {
        status = load_previous(s, error);
    } else if (o->resume) {
        status = load(s, s->checkpoint_path, error);
    } else if (lud_file_exists(s->checkpoint_path) && !o->overwrite) {
        status = lud_invalid(
            error, "%s: there is a run already; --resume continues it, --overwrite starts anew", o->folder);
    }
    if (status == LUD_OK && o->configuration)
        status = lud_file_write(scenario_path, o->configuration, strlen(o->configuration), error);
    free(scenario_path);
    return status;
}

/* The row of the metrics, and room for the state before an iteration. */
static lud_status take_memory(session *s, lud_error *error) {
    const lud_learner *l = s->learner;
    s->n_columns = l->n_columns + l->n_evaluation_columns;
    s->columns = malloc(((size_t)s->n_columns + 1) * sizeof *s->columns);
    s->row = malloc(((size_t)s->n_columns + 1) * sizeof *s->row);
    if (!l->kind->goes_on_within) s->before = lud_checkpoint_create();
    if (!s->columns || !s->row || (!l->kind->goes_on_within && !s->before)) return lud_out_of_memory(error);
    if (l->n_columns) memcpy(s->columns, l->columns, (size_t)l->n_columns * sizeof *s->columns);
    if (l->n_evaluation_columns)
        memcpy(s->columns + l->n_columns, l->evaluation_columns,
               (size_t)l->n_evaluation_columns * sizeof *s->columns);
    return LUD_OK;
}

static lud_status open_session(session *s, lud_error *error) {
    lud_status status = take_memory(s, error);
    if (!status) status = prepare_folder(s, error);
    if (status) return status;
    const bool resumes = s->options->resume || s->options->resume_previous;
    status = lud_metrics_open(s->options->folder, s->columns, s->n_columns,
                              resumes ? s->iterations + !s->pending : 0, &s->metrics, error);
    if (status == LUD_OK) status = lud_checkpoint_writer_create(s->checkpoint_path, &s->writer, error);
    return status;
}

static void close_session(session *s) {
    lud_checkpoint_writer_destroy(s->writer);
    lud_metrics_close(s->metrics, NULL);
    lud_checkpoint_destroy(s->before);
    LUD_FREE(s->checkpoint_path, s->columns, s->row);
}

/* Takes a snapshot when one is due; while the last is still being written it waits for a later iteration, or,
 * at the end of the session, for the writer. */
static lud_status save(session *s, bool last, lud_error *error) {
    const double start = lud_clock_seconds();
    LUD_TRY(last ? lud_checkpoint_writer_wait(s->writer, error) : LUD_OK);
    /* rows up to the snapshot must be in the files before a reader can find the snapshot */
    lud_status status = lud_metrics_flush(s->metrics, error);
    lud_checkpoint *checkpoint = status ? NULL : lud_checkpoint_writer_begin(s->writer);
    if (checkpoint) {
        visit(s, checkpoint);
        status = lud_checkpoint_writer_submit(s->writer, error);
        s->checkpoint_due = false;
        s->last_checkpoint = lud_clock_seconds();
    }
    if (status == LUD_OK && last) status = lud_checkpoint_writer_wait(s->writer, error);
    s->stalled += lud_clock_seconds() - start;
    return status;
}

/* An iteration that is broken off leaves something to save: what was before it, or, of learners that go on
 * within one, the state they have come to. */
static lud_status iterate(session *s, lud_error *error) {
    lud_learner *l = s->learner;
    if (s->before) {
        lud_checkpoint_clear(s->before);
        visit(s, s->before);
        LUD_TRY(lud_checkpoint_status(s->before, error));
    }
    for (int i = 0; i < s->n_columns; i++) s->row[i] = NAN;
    const lud_status status = l->kind->iterate(l, s->row, error);
    s->broken = status == LUD_INTERRUPTED && s->before;
    if (status) return status;
    s->iterations++;
    s->pending = true;
    return LUD_OK;
}

/* In place of the last snapshot: the state before the iteration that was broken off. */
static lud_status save_before(session *s, lud_error *error) {
    LUD_TRY(lud_checkpoint_writer_wait(s->writer, error));
    LUD_TRY(lud_metrics_flush(s->metrics, error));
    return lud_checkpoint_write(s->before, s->checkpoint_path, error);
}

/* Evaluates where that is due and writes the row. */
static lud_status end_iteration(session *s, lud_progress *progress, lud_error *error) {
    lud_learner *l = s->learner;
    const lud_train_options *o = s->options;
    const bool evaluate = s->iterations == l->n_iterations ||
                          (o->evaluate_every && s->iterations % (uint64_t)o->evaluate_every == 0);
    lud_status status = LUD_OK;
    if (evaluate && l->kind->evaluate) status = l->kind->evaluate(l, s->row + l->n_columns, error);
    if (!status) status = lud_metrics_write(s->metrics, s->iterations, seconds_now(s), s->row, error);
    if (status) return status;
    s->pending = false;
    s->ended++;
    if (o->after_iteration) o->after_iteration(o->context, l);

    lud_text note = {0};
    lud_metrics_print(s->columns, s->n_columns, s->row, &note);
    if (note.bytes && note.length) lud_progress_note(progress, "%s", note.bytes);
    lud_text_free(&note);
    lud_progress_update(progress, s->iterations);
    return LUD_OK;
}

static lud_status one_iteration(session *s, lud_progress *progress, lud_error *error) {
    const lud_train_options *o = s->options;
    lud_status status = s->pending ? LUD_OK : iterate(s, error);
    if (!status) status = end_iteration(s, progress, error);
    if (status) return status;
    s->checkpoint_due |= o->checkpoint_every && s->iterations % (uint64_t)o->checkpoint_every == 0;
    s->checkpoint_due |=
        o->checkpoint_seconds > 0.0 && lud_clock_seconds() - s->last_checkpoint >= o->checkpoint_seconds;
    return s->checkpoint_due ? save(s, false, error) : LUD_OK;
}

/* Iterations until all are done or somebody stops them; what was broken off can be saved. */
static lud_status run(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    lud_learner *l = s->learner;
    const uint64_t first = s->iterations;
    lud_progress progress;
    lud_progress_start(&progress, o->progress, l->kind->name, "iterations", l->n_iterations);
    progress.done = progress.before = first;
    l->progress = &progress;
    lud_status status = LUD_OK;
    bool stop = false;
    while (!status && !stop && (s->pending || s->iterations < l->n_iterations)) {
        status = one_iteration(s, &progress, error);
        stop = lud_interrupted() || (o->stop_after && s->iterations - first >= o->stop_after);
    }
    l->progress = NULL;
    lud_progress_finish(&progress);
    return status == LUD_INTERRUPTED ? LUD_OK : status;
}

/* What was measured last: of the training what the progress line shows, of the evaluation all. */
static void print_figures(const session *s, lud_text *out) {
    for (int i = 0; i < s->n_columns; i++) {
        const lud_metric *column = &s->columns[i];
        if (isnan(s->row[i]) || (i < s->learner->n_columns && !column->format)) continue;
        lud_text_append(out, "%-32s %12.6g   %s\n", column->name, s->row[i],
                        column->help ? column->help : "");
    }
}

lud_status lud_train(lud_learner *learner, const lud_train_options *options, lud_train_result *result,
                     lud_error *error) {
    session s = {.learner = learner, .options = options};
    *result = (lud_train_result){0};
    lud_status status = open_session(&s, error);
    if (status) {
        close_session(&s);
        return status;
    }
    s.started = s.last_checkpoint = lud_clock_seconds();
    status = run(&s, error);
    result->finished = s.iterations >= learner->n_iterations && !s.pending;
    if (options->figures && s.ended > 0) print_figures(&s, options->figures);
    if (status == LUD_OK) status = s.broken ? save_before(&s, error) : save(&s, true, error);
    result->iterations = s.iterations;
    result->seconds = seconds_now(&s);
    result->stall_seconds = s.stalled;
    lud_status closed = lud_metrics_close(s.metrics, status ? NULL : error);
    s.metrics = NULL;
    close_session(&s);
    if (status == LUD_OK) status = closed;
    if (status == LUD_OK && !result->finished)
        status = lud_fail(error, LUD_INTERRUPTED,
                          "stopped after %llu of %llu iterations, the state is saved; --resume continues",
                          (unsigned long long)result->iterations, (unsigned long long)learner->n_iterations);
    return status;
}
