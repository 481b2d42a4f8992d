#include "learn/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "learn/best.h"
#include "learn/runs/aside.h"
#include "learn/runs/lock.h"
#include "learn/runs/origin.h"
#include "learn/runs/watch.h"

/* Files of the checkpoint writer: the best parameters first, which the checkpoint then says are there. */
enum { POLICY, CHECKPOINT, N_SAVED };
static const char *const saved_names[N_SAVED] = {"policy.safetensors", "checkpoint.safetensors"};

/* After a checkpoint that could not be written the next is tried so soon, then after twice the time. */
static const double first_retry = 5.0, last_retry = 300.0;

typedef struct session {
    lud_learner *learner;
    const lud_train_options *options;
    lud_run_lock lock;
    lud_watchers watchers;
    char *paths[N_SAVED];
    lud_checkpoint_writer *writer;
    lud_metrics *metrics;
    lud_metric *columns; /* the learner's, then its evaluation's */
    int n_columns;
    double *row;
    lud_best best;
    char key[LUD_KEY_BYTES]; /* of the settings */
    lud_text names;          /* of the world's things */
    uint64_t iterations;
    double seconds; /* of earlier sessions */
    double started;
    double stalled;
    double last_checkpoint;
    bool checkpoint_due;
    uint64_t handed,
        written;            /* iterations of the checkpoint that was handed over, and of one that is whole */
    double retry, retry_at; /* seconds to the next attempt after one that failed, and when; 0: none did */
    /* The state before the iteration in hand and what acts of it; null: a learner that goes on within. */
    lud_checkpoint *before, *policy_before;
    bool broken;    /* the iteration was broken off: that is what can be saved */
    bool stopped;   /* the caller asked for it */
    uint64_t ended; /* iterations whose row was written by this session */
    bool pending; /* the last iteration is done and counted, its evaluation and its row in the metrics not */
} session;

/* Whether this process writes. */
static bool leads(const session *s) {
    return lud_ranks_leads(s->options->ranks);
}

static double seconds_now(const session *s) {
    return s->seconds + lud_clock_seconds() - s->started;
}

/* What is said in whatever is saved of where it comes from. */
static void write_origin(const session *s, const char *format, lud_checkpoint *checkpoint) {
    const lud_train_options *o = s->options;
    const lud_origin origin = {.format = format,
                               .learner = s->learner->kind->name,
                               .configuration = o->configuration,
                               .key = s->key[0] ? s->key : NULL,
                               .names = s->names.bytes};
    lud_origin_write(&origin, checkpoint);
}

/* Everything a resumed run needs, in both directions. */
static void visit(session *s, lud_checkpoint *checkpoint) {
    double seconds = s->seconds;
    if (!lud_checkpoint_loading(checkpoint)) {
        seconds = seconds_now(s);
        write_origin(s, "ludus-checkpoint-1", checkpoint);
    }
    lud_best_visit(&s->best, checkpoint);
    lud_checkpoint_u64(checkpoint, "iterations", &s->iterations);
    lud_checkpoint_real(checkpoint, "seconds", &seconds);
    s->learner->kind->visit(s->learner, checkpoint);
    if (lud_checkpoint_loading(checkpoint)) s->seconds = seconds;
    static const char row[] = "pending_row";
    if (lud_checkpoint_loading(checkpoint)) s->pending = lud_checkpoint_find(checkpoint, row) != NULL;
    const int64_t n = s->n_columns;
    if (s->pending && s->row) lud_checkpoint_any_tensor(checkpoint, row, LUD_TENSOR_F64, 1, &n, s->row);
}

/* Saves what acts at present, and why it is kept. */
static void visit_policy(session *s, const lud_kept *kept, lud_checkpoint *checkpoint) {
    uint64_t iterations = s->iterations;
    write_origin(s, "ludus-policy-1", checkpoint);
    if (kept) lud_kept_write(kept, checkpoint);
    lud_checkpoint_u64(checkpoint, "iterations", &iterations);
    s->learner->kind->visit_policy(s->learner, checkpoint);
}

static char *run_path(const char *folder, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

lud_status lud_train_configuration(const lud_scenario *scenario, const lud_learner *learner,
                                   const char *folder, bool resumes, lud_arena *arena, lud_carried *carried,
                                   char **text, lud_error *error) {
    lud_tree *root = NULL;
    size_t length = 0;
    *carried = (lud_carried){0};
    LUD_TRY(lud_scenario_effective(scenario, arena, &root, error));
    LUD_TRY(lud_learner_write(learner, arena, root, error));
    LUD_TRY(lud_carried_plan(scenario, learner->kind->options, folder, resumes, root, carried, error));
    return lud_tree_write(arena, root, text, &length, error);
}

/* ---- going on ---- */

/* Why there is nothing to go on from. */
static lud_status nothing_to_resume(const session *s, const char *path, lud_error *error) {
    if (!lud_file_exists(s->paths[POLICY])) return LUD_OK; /* opening says what is wrong */
    return lud_invalid(
        error,
        "%s: no such file; the run has %s, which acts and can be evaluated, but not what training "
        "goes on from (optimiser, memory, environments)",
        path, saved_names[POLICY]);
}

static lud_status load(session *s, const char *path, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    const lud_train_options *o = s->options;
    lud_status status = lud_file_exists(path) ? LUD_OK : nothing_to_resume(s, path, error);
    if (!status) status = lud_checkpoint_open(path, &checkpoint, error);
    if (!status)
        status = lud_origin_check(checkpoint, path, o->folder, s->learner->kind->name, o->model, error);
    if (!status && o->configuration)
        status = lud_run_check_settings(o->folder, o->configuration, o->meant, error);
    if (!status) {
        visit(s, checkpoint);
        status = lud_checkpoint_status(checkpoint, error);
        if (status) lud_fail_context(error, "%s", path);
    }
    lud_checkpoint_destroy(checkpoint);
    return status;
}

/* Moves the newest checkpoint aside: left in place, it would become the previous one at the next save, over
 * the one that can be read. */
static lud_status move_aside(session *s, lud_error *error) {
    char *aside = run_path(s->options->folder, "checkpoint.aside.safetensors");
    lud_status status = aside ? LUD_OK : lud_out_of_memory(error);
    if (!status && rename(s->paths[CHECKPOINT], aside) != 0 && errno != ENOENT)
        status = lud_invalid(error, "%s: cannot move it aside: %s", s->paths[CHECKPOINT], strerror(errno));
    free(aside);
    return status;
}

static bool holds_best(const session *s, const char *path) {
    lud_checkpoint *checkpoint = NULL;
    lud_kept kept = {0};
    if (!lud_file_exists(path) || lud_checkpoint_open(path, &checkpoint, NULL)) return false;
    lud_kept_read(checkpoint, &kept);
    lud_checkpoint_destroy(checkpoint);
    return kept.scored && kept.iteration == s->best.kept.iteration && kept.score == s->best.kept.score;
}

/* The best parameters until the checkpoint: those of the file, or, when it was ended between the two files,
 * of the one before. */
static lud_status find_best(session *s, lud_error *error) {
    if (!s->best.kept.scored || holds_best(s, s->paths[POLICY])) return LUD_OK;
    char *previous = lud_checkpoint_previous_path(s->paths[POLICY]);
    if (!previous) return lud_out_of_memory(error);
    lud_status status = LUD_OK;
    if (!holds_best(s, previous)) {
        lud_log(NULL, LUD_LOG_WARNING,
                "%s: the best parameters until now, of iteration %llu, are not there any more; the search "
                "for them "
                "begins anew",
                s->options->folder, (unsigned long long)s->best.kept.iteration);
        s->best.kept.scored = false;
    } else if (rename(previous, s->paths[POLICY]) != 0) {
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be moved: %s", previous, strerror(errno));
    }
    free(previous);
    return status;
}

static lud_status resume(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    char *previous = lud_checkpoint_previous_path(s->paths[CHECKPOINT]);
    lud_status status = previous ? load(s, o->resume_previous ? previous : s->paths[CHECKPOINT], error)
                                 : lud_out_of_memory(error);
    free(previous);
    if (!status && o->configuration)
        status = lud_run_continue(o->folder, o->configuration, o->carried, s->iterations, s->key, error);
    if (!status && o->resume_previous) status = move_aside(s, error);
    return status ? status : find_best(s, error);
}

static lud_status begin(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    if (lud_run_has_results(o->folder) && !o->overwrite)
        return lud_invalid(
            error, "%s: there is a run already; --resume continues it, --overwrite starts anew", o->folder);
    if (s->learner->kind->can_begin) LUD_TRY(s->learner->kind->can_begin(s->learner, error));
    return o->configuration ? lud_run_begin(o->folder, o->configuration, o->carried, s->key, error) : LUD_OK;
}

static lud_status prepare_folder(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    LUD_TRY(lud_run_lock_take(o->folder, &s->lock, error));
    for (int i = 0; i < N_SAVED; i++)
        if (!(s->paths[i] = run_path(o->folder, saved_names[i]))) return lud_out_of_memory(error);
    return o->resume || o->resume_previous ? resume(s, error) : begin(s, error);
}

/* The state that the first process has loaded goes to the others. */
static lud_status share_state(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    char *previous = leads(s) ? lud_checkpoint_previous_path(s->paths[CHECKPOINT]) : NULL, *room = NULL;
    const char *path = o->resume_previous ? previous : s->paths[CHECKPOINT];
    lud_arena *arena = lud_arena_create(0);
    lud_checkpoint *checkpoint = NULL;
    size_t n = 0;
    lud_status status = arena && (previous || !leads(s)) ? LUD_OK : lud_out_of_memory(error);
    if (!status && leads(s)) status = lud_file_read(arena, path, SIZE_MAX, &room, &n, error);
    status = lud_ranks_agree(o->ranks, status, error);
    if (!status) status = lud_ranks_broadcast(o->ranks, &n, sizeof n, error);
    if (!status && !leads(s)) room = lud_arena_take(arena, n + 1);
    if (!status) status = lud_ranks_agree(o->ranks, room ? LUD_OK : lud_out_of_memory(error), error);
    if (!status) status = lud_ranks_broadcast(o->ranks, room, n, error);
    if (!status && !leads(s)) {
        status = lud_checkpoint_parse("what the first process has loaded", room, n, &checkpoint, error);
        if (!status) visit(s, checkpoint);
        if (!status) status = lud_checkpoint_status(checkpoint, error);
    }
    lud_checkpoint_destroy(checkpoint);
    lud_arena_destroy(arena);
    free(previous);
    return status;
}

/* The row of the metrics, and room for the state before an iteration. */
static lud_status take_memory(session *s, lud_error *error) {
    const lud_learner *l = s->learner;
    s->n_columns = l->n_columns + l->n_evaluation_columns;
    s->columns = malloc(((size_t)s->n_columns + 1) * sizeof *s->columns);
    s->row = malloc(((size_t)s->n_columns + 1) * sizeof *s->row);
    if (!l->kind->goes_on_within && leads(s)) {
        s->before = lud_checkpoint_create();
        s->policy_before = lud_checkpoint_create();
    }
    if (!s->columns || !s->row || (!l->kind->goes_on_within && leads(s) && (!s->before || !s->policy_before)))
        return lud_out_of_memory(error);
    if (l->n_columns) memcpy(s->columns, l->columns, (size_t)l->n_columns * sizeof *s->columns);
    if (l->n_evaluation_columns)
        memcpy(s->columns + l->n_columns, l->evaluation_columns,
               (size_t)l->n_evaluation_columns * sizeof *s->columns);
    return LUD_OK;
}

/* What is open in the folder. */
static lud_status open_files(session *s, lud_error *error) {
    LUD_TRY(prepare_folder(s, error));
    LUD_TRY(lud_watchers_open(s->options->folder, &s->watchers, error));
    s->handed = s->written = s->iterations;
    const bool resumes = s->options->resume || s->options->resume_previous;
    lud_status status = lud_metrics_open(s->options->folder, s->columns, s->n_columns,
                                         resumes ? s->iterations + !s->pending : 0, &s->metrics, error);
    if (status == LUD_OK)
        status = lud_checkpoint_writer_create((const char *const *)s->paths, N_SAVED, &s->writer, error);
    return status;
}

static lud_status open_session(session *s, lud_error *error) {
    lud_status status = take_memory(s, error);
    const lud_train_options *o = s->options;
    const lud_model *model = o->model;
    if (!status && model && model->world->names) {
        model->world->names(model, &s->names);
        if (s->names.failed) status = lud_out_of_memory(error);
    }
    if (!status) status = lud_best_open(&s->best, s->learner, o->evaluate_every, error);
    if (!status && leads(s)) status = open_files(s, error);
    LUD_TRY(lud_ranks_agree(o->ranks, status, error));
    const bool resumes = o->resume || o->resume_previous;
    return resumes && o->ranks ? lud_ranks_agree(o->ranks, share_state(s, error), error) : LUD_OK;
}

static void close_session(session *s) {
    lud_checkpoint_writer_destroy(s->writer);
    lud_metrics_close(s->metrics, NULL);
    lud_watchers_close(&s->watchers);
    lud_checkpoint_destroy(s->before);
    lud_checkpoint_destroy(s->policy_before);
    lud_best_close(&s->best);
    lud_text_free(&s->names);
    if (s->lock.path) lud_folder_remove_leftovers(s->options->folder, NULL); /* what failed to be removed */
    lud_run_lock_release(&s->lock);
    LUD_FREE(s->paths[POLICY], s->paths[CHECKPOINT], s->columns, s->row);
}

/* ---- saving ---- */

/* Says at once that a checkpoint could not be written, what will be tried next, and what there is. */
static void tell_failure(session *s, const lud_error *failure, bool last) {
    char there[96], next[80] = "the last attempt follows now";
    s->retry = s->retry > 0.0 ? fmin(2.0 * s->retry, last_retry) : first_retry;
    s->retry_at = lud_clock_seconds() + s->retry;
    snprintf(there, sizeof there, "the last one that is whole is of iteration %llu",
             (unsigned long long)s->written);
    if (!last)
        snprintf(next, sizeof next, "the training goes on, the next attempt follows in %.0f s and at its end",
                 s->retry);
    lud_log(NULL, LUD_LOG_WARNING, "%s; %s; %s", failure->text, next,
            lud_file_exists(s->paths[CHECKPOINT]) ? there : "there is no checkpoint yet");
}

/* What has become of the checkpoint that was handed over. */
static void look_after_writer(session *s) {
    lud_error failure = {0};
    if (lud_checkpoint_writer_busy(s->writer)) return;
    if (lud_checkpoint_writer_failure(s->writer, &failure)) {
        tell_failure(s, &failure, false);
        return;
    }
    if (s->retry_at > 0.0) return;
    s->written = s->handed;
    s->retry = 0.0;
}

/* Hands what is to be saved over to the writer, which is not busy: the checkpoint and the best parameters,
 * or, where there are none, the present ones. */
static lud_status hand_over(session *s, lud_error *error) {
    if (s->best.unsaved) {
        lud_checkpoint_writer_exchange(s->writer, POLICY, &s->best.parameters);
        s->best.unsaved = false;
    } else if (!s->best.kept.scored) {
        visit_policy(s, NULL, lud_checkpoint_writer_begin(s->writer, POLICY));
    }
    visit(s, lud_checkpoint_writer_begin(s->writer, CHECKPOINT));
    s->handed = s->iterations;
    s->retry_at = 0.0;
    return lud_checkpoint_writer_submit(s->writer, error);
}

/* Takes a snapshot when one is due; while the last is still being written it waits for a later iteration. */
static void save(session *s) {
    const double start = lud_clock_seconds();
    lud_error error = {0};
    look_after_writer(s);
    if (!lud_checkpoint_writer_busy(s->writer)) {
        /* rows up to the snapshot must be in the files before a reader can find the snapshot */
        lud_status status = lud_metrics_flush(s->metrics, &error);
        if (!status) status = hand_over(s, &error);
        if (status) tell_failure(s, &error, false);
        s->checkpoint_due = false;
        s->last_checkpoint = lud_clock_seconds();
    }
    s->stalled += lud_clock_seconds() - start;
}

/* What is learned is safe before the last evaluation, which may take long, and much memory: after so much
 * time without a checkpoint one more is worth it. */
static void save_before_evaluation(session *s) {
    enum { WORTH_SAVING = 10 }; /* seconds */
    const double at_most = fmin(WORTH_SAVING, s->options->checkpoint_seconds);
    lud_error failure = {0};
    if (at_most <= 0.0 || lud_clock_seconds() - s->last_checkpoint < at_most) return;
    if (lud_checkpoint_writer_wait(s->writer, &failure)) tell_failure(s, &failure, false);
    save(s);
}

/* The last attempt: what is there at the end, or, when an iteration was broken off, what was before it. Rows
 * of the metrics that cannot be written do not keep it from being made. */
static lud_status save_last(session *s, lud_error *error) {
    const double start = lud_clock_seconds();
    lud_error failure = {0};
    if (lud_checkpoint_writer_wait(s->writer, &failure)) tell_failure(s, &failure, true);
    look_after_writer(s);
    lud_status status = lud_metrics_flush(s->metrics, error), written;
    if (s->broken) {
        if (s->best.unsaved)
            lud_checkpoint_writer_exchange(s->writer, POLICY, &s->best.parameters);
        else if (!s->best.kept.scored)
            lud_checkpoint_writer_exchange(s->writer, POLICY, &s->policy_before);
        lud_checkpoint_writer_exchange(s->writer, CHECKPOINT, &s->before);
        written = lud_checkpoint_writer_submit(s->writer, &failure);
    } else {
        written = hand_over(s, &failure);
    }
    if (!written) written = lud_checkpoint_writer_wait(s->writer, &failure);
    s->stalled += lud_clock_seconds() - start;
    if (!written) return status;
    if (!lud_file_exists(s->paths[CHECKPOINT]))
        return lud_fail(error, written, "%s; the training is not saved", failure.text);
    return lud_fail(error, written, "%s; what is saved is of iteration %llu", failure.text,
                    (unsigned long long)s->written);
}

/* Does what watchers want; nothing of it reaches what is learned. */
static void show(session *s) {
    const lud_watchers_wish wish = lud_watchers_look(&s->watchers);
    s->checkpoint_due |= wish.save;
    s->stopped |= wish.stop;
    if (!wish.parameters) return;
    lud_error error = {0};
    if (lud_metrics_flush(s->metrics, &error)) return; /* the next checkpoint says so */
    lud_checkpoint *checkpoint = lud_watchers_begin(&s->watchers, s->iterations, s->learner->n_iterations,
                                                    seconds_now(s), s->columns, s->learner->n_columns);
    if (!checkpoint) return;
    visit_policy(s, NULL, checkpoint);
    lud_watchers_submit(&s->watchers);
}

/* ---- iterations ---- */

/* An iteration that is broken off leaves something to save: what was before it, or, of learners that go on
 * within one, the state they have come to. */
static lud_status keep_before(session *s, lud_error *error) {
    if (s->before) {
        lud_checkpoint_clear(s->before);
        visit(s, s->before);
        LUD_TRY(lud_checkpoint_status(s->before, error));
        if (lud_checkpoint_check_finite(s->before, error))
            return lud_fail_context(error, "after iteration %llu", (unsigned long long)s->iterations);
    }
    if (s->before && !s->best.kept.scored) {
        lud_checkpoint_clear(s->policy_before);
        visit_policy(s, NULL, s->policy_before);
        LUD_TRY(lud_checkpoint_status(s->policy_before, error));
    }
    return LUD_OK;
}

static lud_status iterate(session *s, lud_error *error) {
    lud_learner *l = s->learner;
    LUD_TRY(lud_ranks_agree(s->options->ranks, keep_before(s, error), error));
    for (int i = 0; i < s->n_columns; i++) s->row[i] = NAN;
    const lud_status status = l->kind->iterate(l, s->row, error);
    s->broken = status && status != LUD_ERROR_NUMERIC && s->before;
    if (status == LUD_ERROR_NUMERIC)
        return lud_fail_context(error, "iteration %llu", (unsigned long long)s->iterations + 1);
    if (status) return status;
    s->iterations++;
    s->pending = true;
    return LUD_OK;
}

/* Keeps the present parameters where their row is the best. */
static lud_status judge(session *s, lud_error *error) {
    lud_best *best = &s->best;
    if (!lud_best_judge(best, s->iterations, s->row)) return LUD_OK;
    lud_checkpoint_clear(best->parameters);
    visit_policy(s, &best->kept, best->parameters);
    best->unsaved = true;
    return lud_checkpoint_status(best->parameters, error);
}

/* Evaluates where that is due and writes the row. */
static lud_status end_iteration(session *s, lud_progress *progress, lud_error *error) {
    lud_learner *l = s->learner;
    const lud_train_options *o = s->options;
    const bool last = s->iterations == l->n_iterations,
               due = last || (o->evaluate_every && s->iterations % (uint64_t)o->evaluate_every == 0),
               evaluate = due && l->kind->evaluate;
    lud_status status = LUD_OK;
    if (evaluate && last && leads(s)) save_before_evaluation(s);
    if (evaluate) status = l->kind->evaluate(l, s->row + l->n_columns, error);
    if (!status && leads(s))
        status = lud_metrics_write(s->metrics, s->iterations, seconds_now(s), s->row, error);
    if (!status && leads(s)) status = judge(s, error);
    if (status) return status;
    s->pending = false;
    s->ended++;
    if (!leads(s)) return LUD_OK;
    if (o->after_iteration)
        s->stopped = !o->after_iteration(o->context, l, s->iterations, s->columns, s->n_columns, s->row);

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
    /* files are the first one's: the others do not know how they are */
    if (!lud_ranks_agreed_to_fail(o->ranks)) status = lud_ranks_agree(o->ranks, status, error);
    if (status || !leads(s)) return status;
    s->checkpoint_due |= o->checkpoint_every && s->iterations % (uint64_t)o->checkpoint_every == 0;
    s->checkpoint_due |=
        o->checkpoint_seconds > 0.0 && lud_clock_seconds() - s->last_checkpoint >= o->checkpoint_seconds;
    show(s);
    look_after_writer(s);
    s->checkpoint_due |= s->retry_at > 0.0 && lud_clock_seconds() >= s->retry_at;
    if (s->checkpoint_due) save(s);
    return LUD_OK;
}

/* After which iteration this session ends. */
static uint64_t last_iteration(const session *s) {
    const uint64_t all = s->learner->n_iterations, until = (uint64_t)s->options->until;
    return until > 0 && until < all ? until : all;
}

/* Iterations until all are done or somebody stops them; what was broken off can be saved. */
static lud_status run(session *s, lud_error *error) {
    const lud_train_options *o = s->options;
    lud_learner *l = s->learner;
    const uint64_t first = s->iterations, last = last_iteration(s);
    lud_progress progress;
    lud_progress_start(&progress, leads(s) ? o->progress : NULL, l->kind->name, "iterations", last);
    progress.done = progress.before = first;
    l->progress = &progress;
    lud_status status = LUD_OK;
    bool stop = false;
    while (!status && !stop && (s->pending || s->iterations < last)) {
        status = one_iteration(s, &progress, error);
        stop = s->stopped || lud_interrupted() || (o->stop_after && s->iterations - first >= o->stop_after);
        if (!status && o->ranks) /* one of them is enough */
            stop = lud_ranks_agree(o->ranks, stop ? LUD_INTERRUPTED : LUD_OK, NULL) != LUD_OK;
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
    if (!status && options->begun && leads(&s)) status = options->begun(options->context, error);
    if (status) {
        close_session(&s);
        return status;
    }
    s.started = s.last_checkpoint = lud_clock_seconds();
    status = run(&s, error);
    result->finished = s.iterations >= learner->n_iterations && !s.pending;
    if (options->figures && s.ended > 0) print_figures(&s, options->figures);
    /* what is learned is sound where only its evaluation failed: that is done again when the run goes on */
    const bool unjudged = s.pending && status && status != LUD_ERROR_NUMERIC;
    if (leads(&s) && (status == LUD_OK || status == LUD_ERROR_IO || s.broken || unjudged)) {
        lud_error other = {0};
        const lud_status saved = save_last(&s, status ? &other : error);
        if (status && saved) lud_log(NULL, LUD_LOG_WARNING, "%s", other.text);
        if (unjudged && !saved)
            lud_fail_context(error, "after iteration %llu, which is saved", (unsigned long long)s.iterations);
        if (!status) status = saved;
    }
    result->kept = s.best.kept;
    if (!s.best.kept.scored) result->kept = (lud_kept){.iteration = s.iterations};
    result->iterations = s.iterations;
    result->here = s.ended;
    result->seconds = seconds_now(&s);
    result->stall_seconds = s.stalled;
    lud_status closed = lud_metrics_close(s.metrics, status ? NULL : error);
    s.metrics = NULL;
    close_session(&s);
    if (status == LUD_OK) status = closed;
    if (status == LUD_OK && (s.pending || s.iterations < last_iteration(&s)))
        status = lud_fail(error, LUD_INTERRUPTED,
                          "stopped after %llu of %llu iterations, the state is saved; --resume continues",
                          (unsigned long long)result->iterations, (unsigned long long)learner->n_iterations);
    return status;
}
