#include "learn/mappo/evaluation.h"

#include <string.h>

#include "base/interrupt.h"
#include "learn/mappo/mappo.h"

const lud_metric lud_mappo_evaluation_columns[LUD_MAPPO_EVALUATION_COLUMNS] = {
    [LUD_MAPPO_EVALUATION_RETURN] = {"evaluation/return", "%.4g", "mean over agents, over episodes"},
    [LUD_MAPPO_EVALUATION_ENDED] = {"evaluation/ended", NULL,
                                    "share of episodes that the world's rules ended"}};

void lud_mappo_evaluation_start(lud_mappo_learner_state *m) {
    lud_mappo_stepping *s = &m->evaluation;
    const size_t n = (size_t)s->batch->n_envs;
    /* the same episodes every time */
    memset(s->batch->tick, 0, n * sizeof *s->batch->tick);
    memset(s->episode_return, 0, n * sizeof *s->episode_return);
    memset(s->group_return, 0, n * (size_t)m->n_groups * sizeof *s->group_return);
    lud_mappo_reset(s);
}

lud_status lud_mappo_evaluation_decide(lud_mappo_learner_state *m, bool deterministic, lud_error *error) {
    return lud_mappo_decide(m, &m->evaluation, 0, LUD_DECIDE_ACTIONS, deterministic, error);
}

void lud_mappo_evaluation_step(lud_mappo_learner_state *m) {
    lud_mappo_clear_episodes(m);
    (void)lud_mappo_step(m, &m->evaluation, 0, NULL, NULL); /* no critic: nothing can fail */
    lud_mappo_buffer_after_update(&m->evaluation.buffer);
}

/* Episodes of this process' environments. */
static lud_status play(lud_mappo_learner_state *m, int64_t *left, lud_error *error) {
    lud_mappo_stepping *s = &m->evaluation;
    int64_t wanted = 0;
    for (int64_t e = s->first; e < s->end; e++) wanted += left[e];
    while (m->n_ended < wanted) {
        lud_status status = lud_interrupt_check(error);
        if (!status) status = lud_mappo_evaluation_decide(m, m->options.deterministic, error);
        if (!status) status = lud_mappo_step(m, s, 0, left, error);
        if (status) return status;
        lud_mappo_buffer_after_update(&s->buffer);
    }
    return LUD_OK;
}

lud_status lud_mappo_evaluation_run(lud_mappo_learner_state *m, double *row, lud_error *error) {
    lud_mappo_stepping *s = &m->evaluation;
    const int64_t n_envs = s->buffer.n_envs, wanted = m->options.evaluation_episodes;
    int64_t left[LUD_MAPPO_MAX_EVALUATED];
    for (int64_t e = 0; e < n_envs; e++) left[e] = wanted / n_envs + (e < wanted % n_envs ? 1 : 0);
    lud_mappo_evaluation_start(m);
    lud_mappo_episodes episodes;
    lud_mappo_clear_episodes(m);
    LUD_TRY(lud_ranks_agree(m->device->ranks, play(m, left, error), error));
    LUD_TRY(lud_mappo_sum_episodes(m, &episodes, error));
    row[LUD_MAPPO_EVALUATION_RETURN] = episodes.returns / episodes.n;
    row[LUD_MAPPO_EVALUATION_ENDED] = episodes.ended / episodes.n;
    for (int k = 0; k < m->n_measures; k++)
        row[LUD_MAPPO_EVALUATION_COLUMNS + k] = m->measures[k] / episodes.n;
    for (int k = 0; k < lud_mappo_n_group_returns(m); k++)
        row[LUD_MAPPO_EVALUATION_COLUMNS + m->n_measures + k] = episodes.of_group[k] / episodes.n;
    return lud_device_check(m->device, error);
}
