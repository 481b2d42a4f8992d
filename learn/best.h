/* The best parameters of a training by its own score, kept beside the last ones.
 *
 * The score is the learner's (lud_learner_kind): the column `score` where the training measures it, that is
 * where there are evaluations, or where the column is one of iterate's; else the mean of `training_score`
 * over blocks of a twentieth of the training, at least ten iterations. Of equal scores the later counts. A
 * learner that has neither, or that keeps the last ones, has no best: what is kept are the last parameters.
 */
#pragma once

#include "learn/learner.h"
#include "learn/runs/kept.h"

typedef struct lud_best {
    lud_learner *learner;
    int column; /* of a row of metrics, the evaluation's behind the learner's; negative: the last ones are
                   kept */
    bool least;
    uint64_t block; /* iterations of a mean */
    double sum;     /* of the block in hand */
    uint64_t n;
    lud_kept kept;
    lud_checkpoint *parameters; /* the best, where they are not saved yet */
    bool unsaved;
} lud_best;

/* Finds the score. With evaluations every so many iterations; 0: none before the end. */
lud_status lud_best_open(lud_best *best, lud_learner *learner, int64_t evaluate_every, lud_error *error);
void lud_best_close(lud_best *best);
/* Judges the parameters by the row of an iteration. True when they are the best: lud_best_take keeps them. */
bool lud_best_judge(lud_best *best, uint64_t iterations, const double *row);
/* Saves what judging goes on from, or loads it; a score by another column begins anew. */
void lud_best_visit(lud_best *best, lud_checkpoint *checkpoint);
