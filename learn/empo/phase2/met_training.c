#include "learn/empo/phase2/met_training.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/progress.h"
#include "base/ranks/ranks.h"

/* States that are expanded in the hope that this is all: some minutes' work. */
enum { MOST_CLOSED = 2000000 };

/* Rows of joint actions that sweeps go through for an update, in the mean: about as much work as it is. */
enum { SWEPT_AN_UPDATE = 200000 };

/* Levels of states between two looks at whether to stop. */
enum { SWEPT_AT_ONCE = 1 << 15 };

/* Changes of worth below this share of it are not handed on while the rim is a network's anyway. */
static const double tolerance = 1e-4;

static lud_status agree(const lud_empo_met_training *t, lud_status status, lud_error *error) {
    return lud_ranks_agree(t->asker.values->device->ranks, status, error);
}

/* Processes go on together, unless one of them is to stop. */
static lud_status beat(const lud_empo_met_training *t, lud_progress *progress, double part,
                       lud_error *error) {
    return agree(t, lud_progress_beat(progress, part, error), error);
}

lud_status lud_empo_met_training_create(const lud_empo_features *features,
                                        const lud_empo_learner_options *options, const lud_empo_prior *prior,
                                        lud_empo_values *values, uint64_t seed,
                                        lud_empo_met_training **training, lud_error *error) {
    *training = NULL;
    lud_empo_met_training *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "a learner");
    t->options = options;
    t->model = &features->grid->model;
    t->seed = seed;
    LUD_TAKE(&t->arrays, t->rim, (size_t)options->met_refresh + 1);
    lud_status status = t->arrays.failed ? lud_no_memory(error, "a learner") : LUD_OK;
    if (status == LUD_OK)
        status = lud_empo_met_create(features, &options->theory, prior, lud_empo_values_power_floor(values),
                                     (size_t)(options->met_memory * LUD_GIBIBYTE), &t->met, error);
    if (status == LUD_OK && (!lud_empo_asker_create(values, t->met, (int)options->shares, &t->asker) ||
                             !lud_empo_ahead_create(&t->asker, &t->ahead)))
        status = lud_no_memory(error, "a learner");
    if (status == LUD_OK) lud_empo_met_divide(t->met, values->device->ranks);
    if (status == LUD_OK) status = lud_empo_fit_create(values, &t->asker, options, seed, &t->fit, error);
    if (status == LUD_OK) status = lud_empo_actor_create(options, &t->asker, seed, &t->actor, error);
    if (status)
        lud_empo_met_training_destroy(t);
    else
        *training = t;
    return status;
}

void lud_empo_met_training_destroy(lud_empo_met_training *t) {
    if (!t) return;
    lud_empo_actor_destroy(t->actor);
    lud_empo_fit_destroy(t->fit);
    lud_empo_ahead_free(&t->ahead);
    lud_empo_asker_free(&t->asker);
    lud_empo_met_destroy(t->met);
    lud_arrays_free(&t->arrays);
    free(t);
}

lud_status lud_empo_met_training_begin(lud_empo_met_training *t, lud_progress *progress, lud_error *error) {
    bool closed;
    lud_status status =
        t->tried ? lud_empo_met_restore(t->met, progress, error)
                 : lud_empo_met_close(t->met, t->model, t->seed, MOST_CLOSED, progress, &closed, error);
    LUD_TRY(agree(t, status, error));
    t->tried = true;
    return LUD_OK;
}

/* Hands on what has changed; how long there is none again follows from how much it was. Goes on where it was
 * broken off. */
static lud_status sweep(lud_empo_met_training *t, lud_progress *progress, double part, lud_error *error) {
    for (int64_t n = 1; n > 0;) {
        LUD_TRY(lud_empo_met_sweep(t->met, tolerance, SWEPT_AT_ONCE, &n, error));
        t->swept += n;
        if (n > 0) LUD_TRY(beat(t, progress, part, error));
    }
    t->rest = t->swept;
    t->swept = 0;
    return LUD_OK;
}

static lud_status act(lud_empo_met_training *t, const lud_empo_now *now, double *credit,
                      lud_progress *progress, double part, lud_error *error) {
    if (lud_empo_met_complete(t->met)) return LUD_OK; /* nothing is left to be met */
    if (t->rest == 0) LUD_TRY(sweep(t, progress, part, error));
    while (*credit < 1.0 || lud_empo_met_get(t->met).expanded == 0) {
        LUD_TRY(beat(t, progress, part, error));
        LUD_TRY(lud_empo_actor_step(t->actor, now, tolerance, error));
        *credit += t->options->training_steps_per_env_step * (double)t->options->environments;
    }
    *credit -= 1.0;
    return LUD_OK;
}

lud_status lud_empo_met_training_act(lud_empo_met_training *t, int64_t step, const lud_empo_now *now,
                                     double *credit, lud_progress *progress, double part, lud_error *error) {
    LUD_TRY(beat(t, progress, part, error));
    if (lud_empo_fit_has_drawn(t->fit, step)) return LUD_OK;
    lud_status status = act(t, now, credit, progress, part, error);
    if (status == LUD_OK) status = lud_empo_fit_draw(t->fit, step, error);
    return agree(t, status, error);
}

/* Asks the networks again about some states at the rim, in turn. */
static lud_status refresh(lud_empo_met_training *t, int64_t n, lud_error *error) {
    const lud_empo_met_figures met = lud_empo_met_get(t->met);
    const int64_t most = 8 * n; /* looked at */
    int64_t found = 0;
    for (int64_t i = 0; i < most && i < met.n && found < n; i++) {
        if (t->refresh >= met.n) t->refresh = 0;
        if (!lud_empo_met_sure(t->met, t->refresh)) t->rim[found++] = (uint32_t)t->refresh;
        t->refresh++;
    }
    return lud_empo_ask_nodes(&t->asker, found, t->rim, error);
}

/* The states at the rim that an update is due. */
static lud_status refresh_rim(lud_empo_met_training *t, lud_error *error) {
    int n_knots;
    (void)lud_empo_met_knots(t->met, &n_knots);
    LUD_TRY(refresh(t, (t->options->met_refresh + n_knots - 1) / n_knots, error));
    const int64_t done = 1 + SWEPT_AN_UPDATE / lud_joint_action_count(&t->model->layout);
    t->rest = t->rest > done ? t->rest - done : 0;
    return LUD_OK;
}

lud_status lud_empo_met_training_step(lud_empo_met_training *t, int64_t step, const lud_empo_now *now,
                                      bool measure, lud_error *error) {
    LUD_TRY(lud_empo_fit_learn(t->fit, step, now, measure, error));
    if (lud_empo_met_complete(t->met)) return LUD_OK; /* there is no rim, and nothing to agree on */
    const lud_status own = refresh_rim(t, error), all = agree(t, own, error);
    /* the step is done, also where the others are gone: the next one tells */
    return lud_ranks_parted(t->asker.values->device->ranks) ? own : all;
}

/* States at the rim that look-ahead from expanded states counts: wanted[n of the states]. */
static lud_status find_wanted(lud_empo_met_training *t, uint8_t *wanted, lud_progress *progress,
                              lud_error *error) {
    enum { BEAT = 256 };
    const int64_t n = lud_empo_met_get(t->met).expanded;
    for (int64_t i = 0; i < n; i++) {
        const int64_t node = lud_empo_met_expanded_at(t->met, i);
        if (i % BEAT == 0) LUD_TRY(beat(t, progress, 1.0, error));
        lud_empo_mark_asked_after(&t->asker, node, wanted);
    }
    return LUD_OK;
}

/* Asks about them, for the last time. */
static lud_status ask_wanted(lud_empo_met_training *t, const uint8_t *wanted, lud_progress *progress,
                             lud_error *error) {
    const int64_t n = lud_empo_met_get(t->met).n, each = t->options->met_refresh;
    for (int64_t node = 0; node < n && each > 0;) {
        int64_t found = 0;
        for (; node < n && found < each; node++)
            if (wanted[node]) t->rim[found++] = (uint32_t)node;
        lud_progress_stage(progress, "what lies at the rim asked for", (double)node / (double)n);
        LUD_TRY(beat(t, progress, 1.0, error));
        LUD_TRY(lud_empo_ask_nodes(&t->asker, found, t->rim, error));
    }
    return LUD_OK;
}

/* Brings everything into agreement. */
static lud_status sweep_all(lud_empo_met_training *t, lud_progress *progress, lud_error *error) {
    const double all = (double)lud_empo_met_get(t->met).expanded * lud_empo_met_levels(t->met);
    double done = 0;
    lud_empo_met_mark_all(t->met);
    for (int64_t n = 1; n > 0;) {
        LUD_TRY(lud_empo_met_sweep(t->met, 0.0, SWEPT_AT_ONCE, &n, error));
        done += (double)n;
        lud_progress_stage(progress, "all values computed anew", done / all);
        LUD_TRY(beat(t, progress, 1.0, error));
    }
    return LUD_OK;
}

lud_status lud_empo_met_training_finish(lud_empo_met_training *t, lud_progress *progress, lud_error *error) {
    if (lud_empo_met_complete(t->met)) return LUD_OK;
    uint8_t *wanted = calloc((size_t)lud_empo_met_get(t->met).n + 1, 1);
    lud_status status =
        wanted ? find_wanted(t, wanted, progress, error) : lud_no_memory(error, "states at the rim");
    if (!status) status = ask_wanted(t, wanted, progress, error);
    free(wanted);
    if (status == LUD_OK) status = sweep_all(t, progress, error);
    return agree(t, status, error);
}

void lud_empo_met_training_visit(lud_empo_met_training *t, bool policy, lud_checkpoint *checkpoint) {
    uint64_t tried = t->tried, at = (uint64_t)t->refresh, rest = (uint64_t)t->rest,
             swept = (uint64_t)t->swept;
    lud_empo_met_visit(t->met, "met.", checkpoint);
    if (policy) return;
    lud_checkpoint_u64(checkpoint, "met.tried", &tried);
    lud_checkpoint_u64(checkpoint, "met.refresh", &at);
    lud_checkpoint_limit(checkpoint, "met.refresh", at, INT32_MAX);
    lud_checkpoint_u64(checkpoint, "met.rest", &rest);
    lud_checkpoint_limit(checkpoint, "met.rest", rest, LUD_CHECKPOINT_MOST);
    lud_checkpoint_u64(checkpoint, "met.swept", &swept);
    lud_checkpoint_limit(checkpoint, "met.swept", swept, LUD_CHECKPOINT_MOST);
    t->rest = (int64_t)rest;
    t->swept = (int64_t)swept;
    t->tried = tried != 0;
    t->refresh = (int64_t)at;
    lud_empo_actor_visit(t->actor, "actor.", checkpoint);
    lud_empo_fit_visit(t->fit, checkpoint);
}

void lud_empo_met_training_report(const lud_empo_met_training *t, lud_text *out) {
    const lud_empo_met_figures m = lud_empo_met_get(t->met);
    char bytes[16], most[16];
    const int64_t late = m.n - m.expanded - m.terminal;
    lud_text_append(out,
                    "states met: %" PRId64 ", of which %" PRId64 " with their successors, %" PRId64
                    " where the world ends",
                    m.n, m.expanded, m.terminal);
    if (lud_empo_met_complete(t->met)) {
        if (late > 0) lud_text_append(out, ", %" PRId64 " only when time is up", late);
        lud_text_append(out, ": all that can be reached");
    }
    lud_text_append(out, "\n");
    lud_text_append(
        out, "they take %s of %s (met_memory); %" PRId64 " were computed by sweeps, %" PRId64 " forgotten\n",
        lud_format_memory((double)m.bytes, bytes), lud_format_memory((double)m.most_bytes, most), m.computed,
        m.forgotten);
}
