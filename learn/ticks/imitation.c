#include "learn/ticks/imitation.h"

#include <string.h>

#include "learn/ticks/ticks.h"

lud_status lud_tick_imitation_create(const lud_tick_learner *l, lud_tick_imitation *m, lud_error *error) {
    const lud_tick_imitation_options *o = &l->options.imitation;
    const lud_tick_stepping *s = &l->training;
    if (o->ticks == 0) return LUD_OK;
    if (!l->policy->kind->assume)
        return lud_invalid_at(error, l->scenario->learner->place,
                              "learner.imitation: a policy of type %s cannot imitate", l->policy->kind->name);
    if (lud_max_continuous(&l->scenario->model->layout) > 0)
        return lud_fail_at(
            error, LUD_ERROR_UNSUPPORTED, l->scenario->learner->place,
            "learner.imitation.ticks: only choices can be imitated, and agents of this scenario "
            "act by numbers; expected 0");
    LUD_TRY(lud_cast_create(l->scenario->model, o->policies, l->scenario->path, &m->cast, error));
    if (lud_cast_needs_observations(m->cast))
        return lud_fail_at(error, LUD_ERROR_UNSUPPORTED, l->scenario->learner->place,
                           "learner.imitation: policies that read observations cannot be imitated");
    m->hidden_bytes = lud_cast_hidden_bytes(m->cast);
    lud_arrays *a = &m->arrays;
    LUD_TAKE(a, m->hidden, (size_t)s->n_envs * m->hidden_bytes + 1);
    LUD_TAKE(a, m->discrete, (size_t)s->n_rows);
    LUD_TAKE(a, m->row, (size_t)s->n_rows);
    LUD_TAKE(a, m->coefficient, (size_t)s->n_rows);
    return a->failed ? lud_no_memory(error, "a learner") : LUD_OK;
}

void lud_tick_imitation_destroy(lud_tick_imitation *m) {
    lud_cast_destroy(m->cast);
    lud_arrays_free(&m->arrays);
    *m = (lud_tick_imitation){0};
}

void lud_tick_imitation_visit(lud_tick_learner *l, lud_checkpoint *checkpoint) {
    lud_tick_imitation *m = &l->imitation;
    lud_checkpoint_u64(checkpoint, "ticks.imitation", &m->done);
    if (m->cast && m->hidden_bytes > 0)
        lud_checkpoint_bytes(checkpoint, "ticks.imitation_hidden", m->hidden,
                             (size_t)l->training.n_envs * m->hidden_bytes);
    if (!m->cast || m->done == 0 || !lud_checkpoint_loading(checkpoint) ||
        lud_checkpoint_status(checkpoint, NULL))
        return;
    lud_error error = {0};
    const lud_status status = lud_cast_check_hidden(m->cast, (int)l->training.n_envs, m->hidden, &error);
    lud_checkpoint_require(checkpoint, "ticks.imitation_hidden", status, &error);
}

lud_status lud_tick_imitation_complete(lud_tick_learner *l, lud_error *error) {
    const lud_tick_imitation *m = &l->imitation;
    const lud_ranks_array all = {m->hidden, m->hidden_bytes, 1, l->training.n_envs};
    return m->hidden_bytes > 0 ? lud_ranks_complete(l->device->ranks, &all, 1, l->shares.n, error) : LUD_OK;
}

/* A new episode of one environment for those who are imitated. */
static void begin_episode(lud_tick_learner *l, int64_t e) {
    lud_tick_imitation *m = &l->imitation;
    const lud_batch *batch = l->training.batch;
    lud_cast_reset(m->cast, lud_batch_range(batch, (int)e, 1),
                   batch->states + (size_t)e * batch->model->layout.state_bytes,
                   m->hidden + (size_t)e * m->hidden_bytes);
}

/* Rows of the present with what the cast does in own environments. */
static void choose(lud_tick_learner *l) {
    lud_tick_imitation *m = &l->imitation;
    lud_tick_stepping *s = &l->training;
    const lud_batch *batch = s->batch;
    const int64_t n_agents = s->n_rows / s->n_envs;
    s->tick = lud_tick_clock(s);
    s->rows = lud_tick_present(s);
    if (s->first < s->end)
        lud_cast_act(m->cast, lud_batch_range(batch, (int)s->first, (int)(s->end - s->first)),
                     batch->states + (size_t)s->first * batch->model->layout.state_bytes, NULL,
                     m->hidden + (size_t)s->first * m->hidden_bytes, m->discrete + s->first * n_agents, NULL);
    for (int64_t i = 0; i < s->rows.n; i++) s->choices.discrete[i] = m->discrete[lud_tick_place(&s->rows, i)];
}

/* The rows that are learned from, each drawn with the same probability. */
static int64_t draw_rows(lud_tick_learner *l) {
    lud_tick_imitation *m = &l->imitation;
    const lud_tick_rows *rows = &l->training.rows;
    const double share = l->options.imitation.share;
    int64_t n = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        const lud_random_key key = {rows->range.seed,
                                    rows->range.first_environment + (uint32_t)rows->environment[i]};
        const lud_words words =
            lud_draw(key, l->training.tick, (uint32_t)rows->agent[i], LUD_PURPOSE_SHUFFLE, 0);
        if (share >= 1.0 || lud_unit(words.v[0]) < share) m->row[n++] = (int32_t)i;
    }
    for (int64_t k = 0; k < n; k++) m->coefficient[k] = -1.0f / (float)n;
    return n;
}

static lud_status learn(lud_tick_learner *l, int64_t n, lud_error *error) {
    lud_tick_imitation *m = &l->imitation;
    const lud_tick_lesson lesson = {
        .rows = &l->training.rows, .n = n, .row = m->row, .coefficient = m->coefficient};
    lud_tick_losses losses = {0};
    LUD_TRY(lud_tick_learn(l, &lesson, &losses, error));
    lud_optimiser_step(l->optimiser, l->actor_group, l->options.imitation.learning_rate);
    l->version++;
    l->sums.loss -= losses.log_prob;
    l->sums.norm += lud_optimiser_norm(l->optimiser, l->actor_group);
    l->sums.ends[LUD_TICK_UPDATED]++;
    l->sums.selected += (double)n;
    return lud_device_check(l->device, error);
}

lud_status lud_tick_imitate(lud_tick_learner *l, lud_error *error) {
    lud_tick_imitation *m = &l->imitation;
    lud_tick_stepping *s = &l->training;
    if (m->done == 0)
        for (int64_t e = s->first; e < s->end; e++) begin_episode(l, e);
    choose(l);
    lud_status status = LUD_OK;
    for (int share = l->shares.first; share < l->shares.end && !status; share++) {
        const lud_tick_rows own = lud_tick_rows_of_share(l, &s->rows, share);
        status = l->policy->kind->assume(l->policy, &own, s->choices.discrete, error);
    }
    status = lud_ranks_agree(l->device->ranks, status, error);
    const int64_t n = status ? 0 : draw_rows(l);
    if (n > 0) status = learn(l, n, error);
    if (status) return status;
    LUD_TRY(lud_tick_step(l, s, NULL, error));
    for (int64_t e = s->first; e < s->end; e++)
        if (s->terminated[e] || s->truncated[e]) begin_episode(l, e);
    m->done++;
    l->sums.ticks++;
    return LUD_OK;
}
