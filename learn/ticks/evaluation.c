#include "learn/ticks/evaluation.h"

#include <string.h>

#include "base/interrupt.h"
#include "learn/ticks/ticks.h"

const lud_metric lud_tick_evaluation_columns[LUD_TICK_EVALUATION_COLUMNS] = {
    [LUD_TICK_EVALUATION_RETURN] = {"evaluation/return", "%.4g", "mean over agents, over episodes"},
    [LUD_TICK_EVALUATION_ENDED] = {"evaluation/ended", NULL,
                                   "share of episodes that the world's rules ended"}};

lud_status lud_tick_evaluation_run(lud_tick_learner *l, double *row, lud_error *error) {
    lud_tick_stepping *s = &l->evaluation;
    const lud_layout *layout = &s->batch->model->layout;
    const int64_t wanted = l->options.evaluation_episodes;
    int64_t left[LUD_TICK_MAX_EVALUATED];
    for (int64_t e = 0; e < s->n_envs; e++) left[e] = wanted / s->n_envs + (e < wanted % s->n_envs ? 1 : 0);
    memset(s->batch->tick, 0, (size_t)s->n_envs * sizeof *s->batch->tick);
    lud_tick_reset(s);
    lud_tick_clear_episodes(s);
    while (s->episodes.n < (double)wanted) {
        LUD_TRY(lud_ranks_agree(l->device->ranks, lud_interrupt_check(error), error));
        LUD_TRY(lud_tick_act(l, s, l->options.deterministic, error));
        LUD_TRY(lud_tick_step(l, s, left, error));
    }
    const lud_tick_episodes *sums = &s->episodes;
    row[LUD_TICK_EVALUATION_RETURN] = sums->returns / sums->n;
    row[LUD_TICK_EVALUATION_ENDED] = sums->ended / sums->n;
    row += LUD_TICK_EVALUATION_COLUMNS;
    for (int k = 0; k < layout->n_columns; k++) *row++ = sums->measures[k] / sums->n;
    for (int k = 0; k < layout->n_teams; k++) *row++ = sums->teams[k] / sums->n;
    for (int k = 0; k < layout->n_components; k++) *row++ = sums->components[k] / sums->n;
    return LUD_OK;
}
