#include "learn/best.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* A mean over few iterations is chance: the best of many is the luckiest then. */
enum { BLOCKS = 20, LEAST_BLOCK = 10 };

static int column_of(const lud_metric *columns, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(columns[i].name, name) == 0) return i;
    return -1;
}

lud_status lud_best_open(lud_best *best, lud_learner *l, int64_t evaluate_every, lud_error *error) {
    const lud_score *score = &l->kind->score, *training = &l->kind->training_score;
    *best = (lud_best){.learner = l, .column = -1, .block = 1};
    if (l->keeps_last) return LUD_OK;
    if (score->column) {
        best->column = column_of(l->columns, l->n_columns, score->column);
        const int judged = column_of(l->evaluation_columns, l->n_evaluation_columns, score->column);
        if (best->column < 0 && judged >= 0 && evaluate_every > 0) best->column = l->n_columns + judged;
        best->least = score->least;
    }
    if (best->column < 0 && training->column) {
        best->column = column_of(l->columns, l->n_columns, training->column);
        best->least = training->least;
        best->block = l->n_iterations / BLOCKS > LEAST_BLOCK ? l->n_iterations / BLOCKS : LEAST_BLOCK;
    }
    if (best->column < 0) return LUD_OK;
    const lud_metric *column = best->column < l->n_columns
                                   ? &l->columns[best->column]
                                   : &l->evaluation_columns[best->column - l->n_columns];
    snprintf(best->kept.column, sizeof best->kept.column, "%s", column->name);
    best->kept.over = best->block;
    best->parameters = lud_checkpoint_create();
    return best->parameters ? LUD_OK : lud_no_memory(error, "the best parameters");
}

void lud_best_close(lud_best *best) {
    lud_checkpoint_destroy(best->parameters);
    *best = (lud_best){0};
}

bool lud_best_judge(lud_best *best, uint64_t iterations, const double *row) {
    if (best->column < 0) return false;
    const double value = row[best->column];
    if (isfinite(value)) {
        best->sum += value;
        best->n++;
    }
    if (iterations % best->block != 0 || best->n == 0) return false;
    const double score = best->sum / (double)best->n;
    best->sum = 0.0;
    best->n = 0;
    if (best->kept.scored && (best->least ? score > best->kept.score : score < best->kept.score))
        return false;
    best->kept.scored = true;
    best->kept.score = score;
    best->kept.iteration = iterations;
    return true;
}

/* ---- in a checkpoint ---- */

/* `FOUND SUM N` and what is kept. */
static const char key_of_best[] = "ludus.best";

static void save(const lud_best *best, lud_checkpoint *checkpoint) {
    lud_text text = {0};
    lud_text_append(&text, "%d %.17g %" PRIu64 " ", best->kept.scored, best->sum, best->n);
    lud_kept_format(&best->kept, &text);
    if (text.failed)
        lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "no memory for the best parameters");
    else
        lud_checkpoint_set_text(checkpoint, key_of_best, text.bytes);
    lud_text_free(&text);
}

void lud_best_visit(lud_best *best, lud_checkpoint *checkpoint) {
    if (best->column < 0) return;
    if (!lud_checkpoint_loading(checkpoint)) {
        save(best, checkpoint);
        return;
    }
    const char *saved = lud_checkpoint_text(checkpoint, key_of_best);
    int scored = 0, at = 0;
    double sum = 0.0;
    uint64_t n = 0;
    lud_kept kept;
    if (!saved || sscanf(saved, "%d %lf %" SCNu64 " %n", &scored, &sum, &n, &at) != 3 || at == 0 ||
        !isfinite(sum) || !lud_kept_parse(saved + at, &kept))
        return;
    if (strcmp(kept.column, best->kept.column) != 0) {
        if (scored)
            lud_log(NULL, LUD_LOG_INFO,
                    "the best parameters until now were so by %s; by %s the search for them begins anew",
                    kept.column, best->kept.column);
        return;
    }
    best->sum = sum;
    best->n = n;
    best->block = kept.over; /* also of a training that has become longer */
    best->kept = kept;
    best->kept.scored = scored != 0;
}
