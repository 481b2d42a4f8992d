#include "learn/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
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

static lud_status open_session(session *s, lud_error *error) {
    LUD_TRY(prepare_folder(s, error));
    const lud_learner *l = s->learner;
    const bool resumes = s->options->resume || s->options->resume_previous;
    s->n_columns = l->n_columns + l->n_evaluation_columns;
    s->columns = malloc(((size_t)s->n_columns + 1) * sizeof *s->columns);
    s->row = malloc(((size_t)s->n_columns + 1) * sizeof *s->row);
    if (!s->columns || !s->row) return lud_out_of_memory(error);
    if (l->n_columns) memcpy(s->columns, l->columns, (size_t)l->n_columns * sizeof *s->columns);
    if (l->n_evaluation_columns)
        memcpy(s->columns + l->n_columns, l->evaluation_columns,
               (size_t)l->n_evaluation_columns * sizeof *s->columns);
    LUD_TRY(lud_metrics_open(s->options->folder, s->columns, s->n_columns, resumes ? s->iterations + 1 : 0,
                             &s->metrics, error));
    return lud_checkpoint_writer_create(s->checkpoint_path, &s->writer, error);
}

static void close_session(session *s) {
    lud_checkpoint_writer_destroy(s->writer);
    lud_metrics_close(s->metrics, NULL);
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

static lud_status one_iteration(session *s, lud_progress *progress, lud_error *error) {
    lud_learner *l = s->learner;
    const lud_train_options *o = s->options;
    for (int i = 0; i < s->n_columns; i++) s->row[i] = NAN;
    LUD_TRY(l->kind->iterate(l, s->row, error));
    s->iterations++;
    const bool evaluate = s->iterations == l->n_iterations ||
                          (o->evaluate_every && s->iterations % (uint64_t)o->evaluate_every == 0);
    if (evaluate && l->kind->evaluate) LUD_TRY(l->kind->evaluate(l, s->row + l->n_columns, error));
    LUD_TRY(lud_metrics_write(s->metrics, s->iterations, seconds_now(s), s->row, error));
    if (o->after_iteration) o->after_iteration(o->context, l);

    lud_text note = {0};
    lud_metrics_print(s->columns, s->n_columns, s->row, &note);
    if (note.bytes && note.length) lud_progress_note(progress, "%s", note.bytes);
    lud_text_free(&note);
    lud_progress_update(progress, s->iterations);

    s->checkpoint_due |= o->checkpoint_every && s->iterations % (uint64_t)o->checkpoint_every == 0;
    s->checkpoint_due |=
        o->checkpoint_seconds > 0.0 && lud_clock_seconds() - s->last_checkpoint >= o->checkpoint_seconds;
    return s->checkpoint_due ? save(s, false, error) : LUD_OK;
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
    const uint64_t first = s.iterations;
    bool interrupted = false;
    lud_progress progress;
    lud_progress_start(&progress, options->progress, learner->kind->name, "iterations",
                       learner->n_iterations);
    while (status == LUD_OK && !interrupted && s.iterations < learner->n_iterations) {
        status = one_iteration(&s, &progress, error);
        interrupted =
            lud_interrupted() || (options->stop_after && s.iterations - first >= options->stop_after);
    }
    lud_progress_finish(&progress);
    result->finished = s.iterations >= learner->n_iterations;
    if (status == LUD_OK) status = save(&s, true, error);
    result->iterations = s.iterations;
    result->seconds = seconds_now(&s);
    result->stall_seconds = s.stalled;
    lud_status closed = lud_metrics_close(s.metrics, status ? NULL : error);
    s.metrics = NULL;
    close_session(&s);
    if (status == LUD_OK) status = closed;
    if (status == LUD_OK && !result->finished)
        status = lud_fail(error, LUD_INTERRUPTED, "stopped after %llu of %llu iterations; --resume continues",
                          (unsigned long long)result->iterations, (unsigned long long)learner->n_iterations);
    return status;
}
