#include "learn/ticks/update.h"

#include <math.h>
#include <string.h>

#include "learn/ticks/ticks.h"

/* Of the running mean square of advantages, what is left after a tick. */
static const double square_memory = 0.99;

lud_status lud_tick_scoring_create(const lud_tick_learner *l, lud_tick_scoring *s, lud_error *error) {
    const lud_layout *layout = &l->scenario->model->layout;
    const size_t n = (size_t)l->training.n_rows;
    lud_arrays *a = &s->arrays;
    lud_baseline_init(&s->baseline, &l->options.baseline);
    LUD_TAKE(a, s->values, n);
    LUD_TAKE(a, s->final_values, n);
    LUD_TAKE(a, s->trained, n);
    LUD_TAKE(a, s->reward, n);
    LUD_TAKE(a, s->expected, n);
    LUD_TAKE(a, s->team, n);
    LUD_TAKE(a, s->advantage, n);
    LUD_TAKE(a, s->selection.delight, n);
    LUD_TAKE(a, s->selection.weight, n);
    LUD_TAKE(a, s->selection.scratch, n);
    LUD_TAKE(a, s->selection.kept, n);
    LUD_TAKE(a, s->selection.coefficient, n);
    LUD_TAKE(a, s->scored, n);
    LUD_TAKE(a, s->scored_advantage, n);
    LUD_TAKE(a, s->scored_log_prob, n);
    LUD_TAKE(a, s->scored_reward, n);
    LUD_TAKE(a, s->uniform, n);
    LUD_TAKE(a, s->row, n);
    LUD_TAKE(a, s->valued_row, n);
    LUD_TAKE(a, s->target, n);
    LUD_TAKE(a, s->entropy_weight, n);
    LUD_TAKE(a, s->value_weight, n);
    LUD_TAKE(a, s->environment, n);
    LUD_TAKE(a, s->agent, n);
    LUD_TAKE(a, s->found, n);
    bool whole = !a->failed;
    const bool looks_back = l->policy->has_critic && l->options.time_limits == LUD_LIMIT_BOOTSTRAP;
    for (int p = 0; p < layout->n_parts && looks_back && whole; p++)
        if (l->policy->reads[p])
            whole = (s->final_parts[p] = calloc((size_t)l->training.n_envs, layout->parts[p].bytes));
    if (!whole) return lud_no_memory(error, "a learner");
    return lud_gate_history_create(&s->history, l->options.gate.history, l->options.gate.history_min, error);
}

void lud_tick_scoring_destroy(lud_tick_scoring *s) {
    lud_gate_history_destroy(&s->history);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(s->final_parts[p]);
    lud_arrays_free(&s->arrays);
    *s = (lud_tick_scoring){0};
}

void lud_tick_scoring_visit_policy(lud_tick_scoring *s, lud_checkpoint *checkpoint) {
    lud_baseline_visit(&s->baseline, checkpoint, "ticks.baseline");
    lud_checkpoint_real(checkpoint, "ticks.square", &s->square);
    lud_checkpoint_real(checkpoint, "ticks.square_weight", &s->square_weight);
    if (lud_checkpoint_loading(checkpoint) && (s->square < 0 || s->square_weight < 0))
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "'ticks.square' of the checkpoint is negative");
}

void lud_tick_scoring_visit(lud_tick_scoring *s, lud_checkpoint *checkpoint, int64_t n_rows) {
    uint64_t valued = s->valued;
    lud_gate_history_visit(&s->history, checkpoint, "ticks.history");
    lud_checkpoint_u64(checkpoint, "ticks.valued", &valued);
    s->valued = valued != 0;
    lud_checkpoint_tensor(checkpoint, "ticks.values", LUD_TENSOR_F32, 1, &n_rows, s->values);
}

/* ---- what follows ---- */

/* The critic's values of rows, in the order of agents by environment; those of other agents stay. Each
 * process finds those of its shares. */
static lud_status value_rows(lud_tick_learner *l, const lud_tick_rows *rows, float *values,
                             lud_error *error) {
    const lud_tick_stepping *t = &l->training;
    const int64_t n_agents = t->n_rows / t->n_envs;
    float *found = l->scoring.found;
    lud_status status = LUD_OK;
    for (int share = l->shares.first; share < l->shares.end && !status; share++) {
        const lud_tick_rows own = lud_tick_rows_of_share(l, rows, share);
        if (own.first < own.n) status = l->policy->kind->value(l->policy, &own, found, error);
        for (int64_t i = own.first; i < own.n && !status; i++) values[lud_tick_place(&own, i)] = found[i];
    }
    const lud_ranks_array all = {values, (size_t)n_agents * sizeof *values, 1, t->n_envs};
    LUD_TRY(lud_ranks_agree(l->device->ranks, status, error));
    return lud_ranks_complete(l->device->ranks, &all, 1, l->shares.n, error);
}

lud_status lud_tick_find_values(lud_tick_learner *l, lud_error *error) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_stepping *t = &l->training;
    if (!l->policy->has_critic) return LUD_OK;
    const lud_tick_rows rows = lud_tick_present(t);
    memset(s->values, 0, (size_t)t->n_rows * sizeof *s->values);
    LUD_TRY(value_rows(l, &rows, s->values, error));
    s->valued = true;
    return LUD_OK;
}

/* Values of what was seen last in episodes that the last step cut off. */
static lud_status find_final_values(lud_tick_learner *l, lud_error *error) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_stepping *t = &l->training;
    const lud_model *model = t->batch->model;
    const int n_agents = model->layout.n_agents;
    lud_tick_rows rows = {.model = model,
                          .range = lud_batch_range(t->batch, 0, (int)t->n_envs),
                          .states = t->final_states,
                          .observations = s->final_parts,
                          .environment = s->environment,
                          .agent = s->agent};
    if (!l->policy->has_critic || l->options.time_limits != LUD_LIMIT_BOOTSTRAP) return LUD_OK;
    bool some = false;
    for (int64_t e = 0; e < t->n_envs; e++) {
        if (!t->truncated[e] || t->terminated[e]) continue;
        some = true;
        if (e < t->first || e >= t->end) continue; /* another process has the state */
        const uint8_t *state = t->final_states + (size_t)e * model->layout.state_bytes;
        void *parts[LUD_MAX_OBSERVATION_PARTS];
        for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
            parts[p] = s->final_parts[p]
                           ? (char *)s->final_parts[p] + (size_t)e * model->layout.parts[p].bytes
                           : NULL;
        model->world->observe(model, lud_batch_range(t->batch, (int)e, 1), state, parts);
        for (int a = 0; a < n_agents; a++) {
            s->final_values[e * n_agents + a] = 0.0f;
            if (!lud_tick_is_alive(model, state, a)) continue;
            s->environment[rows.n] = (int32_t)e;
            s->agent[rows.n++] = (int32_t)a;
        }
    }
    return some ? value_rows(l, &rows, s->final_values, error) : LUD_OK;
}

/* ---- scoring ---- */

/* Everybody's experience counts, and those of training teams are listed with what was expected of them. */
static void list_trained(lud_tick_learner *l) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_stepping *t = &l->training;
    const lud_layout *layout = &t->batch->model->layout;
    const bool discards = l->policy->has_critic && l->options.time_limits == LUD_LIMIT_DISCARD;
    s->n_trained = 0;
    for (int64_t i = 0; i < t->rows.n; i++) {
        const int64_t at = lud_tick_place(&t->rows, i), e = t->rows.environment[i];
        const int team = lud_tick_team_of(l, t->rows.agent[i]);
        const double reward = (double)t->rewards[at];
        l->teams[team].experiences++;
        l->teams[team].reward += reward;
        l->team_rewards[team] += reward;
        l->team_rows[team]++;
        l->sums.reward += reward;
        l->sums.entropy += (double)t->choices.entropy[i];
        l->sums.failures += t->choices.failed[i];
        for (int k = 0; k < layout->n_components; k++)
            l->component_rewards[k] += (double)t->components[at * layout->n_components + k];
        if (!l->trains[team] || (discards && t->truncated[e] && !t->terminated[e])) continue;
        s->trained[s->n_trained] = (int32_t)i;
        s->team[s->n_trained] = team;
        s->expected[s->n_trained] = l->policy->has_critic   ? s->values[at]
                                    : t->choices.confidence ? t->choices.confidence[i]
                                                            : 0.0f;
        s->reward[s->n_trained++] =
            t->choices.failed[i] ? t->rewards[at] - (float)l->options.failure_cost : t->rewards[at];
    }
    l->experiences += (uint64_t)t->rows.n;
    l->sums.rows += (double)t->rows.n;
}

/* Rewards get what the critic expects behind them. */
static void look_ahead(lud_tick_learner *l) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_stepping *t = &l->training;
    if (!l->policy->has_critic) return;
    const bool looks_back = l->options.time_limits == LUD_LIMIT_BOOTSTRAP;
    for (int64_t i = 0; i < s->n_trained; i++) {
        const int64_t at = lud_tick_place(&t->rows, s->trained[i]), e = t->rows.environment[s->trained[i]];
        const float next = !t->terminated[e] && !t->truncated[e] ? s->values[at]
                           : t->terminated[e] || !looks_back     ? 0.0f
                                                                 : s->final_values[at];
        s->reward[i] += (float)l->options.discount * next;
    }
}

static void standardise(lud_tick_scoring *s) {
    double square = 0.0;
    for (int64_t i = 0; i < s->n_trained; i++) square += (double)s->advantage[i] * (double)s->advantage[i];
    s->square = square_memory * s->square + (1.0 - square_memory) * square / (double)s->n_trained;
    s->square_weight = square_memory * s->square_weight + 1.0 - square_memory;
    const double root = sqrt(s->square / s->square_weight);
    for (int64_t i = 0; i < s->n_trained; i++)
        s->advantage[i] = (float)((double)s->advantage[i] / fmax(root, 1e-8));
}

static lud_words draw(const lud_tick_learner *l, int64_t row) {
    const lud_tick_stepping *t = &l->training;
    const lud_random_key key = {t->rows.range.seed,
                                t->rows.range.first_environment + (uint32_t)t->rows.environment[row]};
    return lud_draw(key, t->tick, (uint32_t)t->rows.agent[row], LUD_PURPOSE_GATE, 0);
}

/* Advantages of what was listed, then those who said something. */
static void score(lud_tick_learner *l) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_stepping *t = &l->training;
    const bool draws = lud_gate_draws(&l->options.gate);
    lud_baseline_advantages(&s->baseline, s->n_trained, s->reward, s->team, s->expected, s->advantage);
    if (l->policy->has_critic && l->options.standardise) standardise(s);
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_trained; i++) {
        const int32_t row = s->trained[i];
        if (t->choices.n_tokens[row] < 1) continue;
        s->scored[n] = row;
        s->scored_advantage[n] = s->advantage[i];
        s->scored_log_prob[n] = t->choices.log_prob[row];
        s->scored_reward[n] = s->reward[i];
        s->uniform[n++] = draws ? lud_unit_float(draw(l, row).v[0]) : 0.0f;
    }
    s->selection.n = n;
    s->selection.advantage = s->scored_advantage;
    s->selection.log_prob = s->scored_log_prob;
    s->selection.uniform = s->uniform;
}

/* ---- learning ---- */

/* The share of scored rows that the critic learns from, where it is not the gate's. */
static double value_rate(const lud_tick_learner *l) {
    const lud_gate *gate = &l->options.gate;
    const bool drops = gate->mode == LUD_GATE_THRESHOLD || gate->mode == LUD_GATE_BERNOULLI ||
                       gate->mode == LUD_GATE_TOP_K || gate->mode == LUD_GATE_IMPORTANCE;
    if (l->options.value_rate > 0.0) return l->options.value_rate;
    return drops && !gate->fixed_price ? fmin(2.0 * l->scoring.selection.rate, 1.0) : 1.0;
}

/* Whether the critic's rows are drawn by the size of what surprised it, and weighted back. */
static bool critic_is_weighed(const lud_tick_learner *l) {
    return l->options.gate.mode == LUD_GATE_IMPORTANCE && value_rate(l) < 1.0;
}

/* The rows that the critic learns from. */
static void choose_valued(lud_tick_learner *l) {
    lud_tick_scoring *s = &l->scoring;
    const lud_tick_selection *c = &s->selection;
    const double rate = value_rate(l);
    s->n_valued = 0;
    if (!l->policy->has_critic) return;
    const bool kept = l->options.gate.critic == LUD_GATE_CRITIC_KEPT, weighs = critic_is_weighed(l);
    if (weighs && !kept)
        lud_gate_sample(rate, c->n, c->advantage, lud_unit_float(draw(l, s->scored[0]).v[1]), c->scratch,
                        NULL);
    for (int64_t k = 0; k < (kept ? c->n_kept : c->n); k++) {
        const int64_t i = kept ? c->kept[k] : k;
        const bool drawn = kept || rate >= 1.0 ? true
                           : weighs            ? c->scratch[i] > 0.0f
                                               : lud_unit(draw(l, s->scored[i]).v[1]) < rate;
        if (!drawn) continue;
        s->valued_row[s->n_valued] = s->scored[i];
        s->value_weight[s->n_valued] = kept ? c->weight[i] : c->scratch[i];
        s->target[s->n_valued++] = s->scored_reward[i];
    }
}

/* Whether the critic is still alone to learn. A policy that has been taught loses what it knows to the
 * advantages of a critic that knows nothing. */
static bool policy_waits(const lud_tick_learner *l) {
    return (int64_t)l->training.tick < l->options.imitation.ticks + l->options.critic_ticks;
}

/* Of n numbers that ascend, how many are below the limit. */
static int64_t count_below(const int32_t *numbers, int64_t n, int64_t limit) {
    int64_t below = 0;
    while (below < n && numbers[below] < limit) below++;
    return below;
}

/* What is divided by n where it should be by n_all. */
static double part_of(int64_t n, int64_t n_all) {
    return n == n_all ? 1.0 : (double)n / (double)n_all;
}

lud_status lud_tick_learn(lud_tick_learner *l, const lud_tick_lesson *whole, lud_tick_losses *losses,
                          lud_error *error) {
    lud_shares *shares = &l->shares;
    lud_status status = LUD_OK;
    lud_shares_begin(shares);
    for (int share = shares->first; share < shares->end && !status; share++) {
        const lud_tick_rows own = lud_tick_rows_of_share(l, whole->rows, share);
        const int64_t row = count_below(whole->row, whole->n, own.first),
                      valued = count_below(whole->valued, whole->n_valued, own.first);
        lud_tick_lesson lesson = *whole;
        lesson.row += row;
        lesson.coefficient += row;
        if (lesson.entropy_weight) lesson.entropy_weight += row;
        lesson.n = count_below(whole->row, whole->n, own.n) - row;
        lesson.entropy_coefficient *= part_of(lesson.n, whole->n);
        lesson.n_valued = count_below(whole->valued, whole->n_valued, own.n) - valued;
        if (whole->n_valued > 0) {
            lesson.valued += valued;
            lesson.target += valued;
            if (lesson.value_weight) lesson.value_weight += valued;
            lesson.value_coefficient *= part_of(lesson.n_valued, whole->n_valued);
            if (share > shares->first) lesson.n_seen = LUD_TICK_SEEN;
        } else {
            lesson.n_seen = 0;
        }
        lud_tick_losses seen = {0};
        status = l->policy->kind->learn(l->policy, &lesson, &seen, error);
        seen.value *= part_of(lesson.n_valued, whole->n_valued);
        seen.log_prob *= part_of(lesson.n, whole->n);
        lud_shares_keep(shares, share, 1.0, (const double *)&seen);
    }
    return lud_shares_add(shares, status, (double *)losses, error);
}

static lud_status learn(lud_tick_learner *l, lud_error *error) {
    lud_tick_scoring *s = &l->scoring;
    const bool waits = policy_waits(l);
    const lud_tick_selection *c = &s->selection;
    const bool weighs = l->options.gate.mode == LUD_GATE_IMPORTANCE;
    for (int64_t k = 0; k < c->n_kept; k++) {
        s->row[k] = s->scored[c->kept[k]];
        s->entropy_weight[k] = c->weight[c->kept[k]];
    }
    choose_valued(l);
    const lud_tick_lesson lesson = {.rows = &l->training.rows,
                                    .n = waits ? 0 : c->n_kept,
                                    .row = s->row,
                                    .coefficient = c->coefficient,
                                    .entropy_coefficient = l->options.entropy_coefficient,
                                    .entropy_weight = weighs ? s->entropy_weight : NULL,
                                    .n_valued = s->n_valued,
                                    .valued = s->valued_row,
                                    .target = s->target,
                                    .value_weight = critic_is_weighed(l) ? s->value_weight : NULL,
                                    .n_seen = c->n,
                                    .seen = s->scored_reward,
                                    .value_coefficient = l->options.value_coefficient};
    lud_tick_losses losses = {0};
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_LEARN);
    const lud_status status = lud_tick_learn(l, &lesson, &losses, error);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_LEARN);
    if (status) return status;
    const double done = (double)l->iteration / (double)l->base.n_iterations,
                 factor = l->options.decay_learning_rate ? 1.0 - done : 1.0;
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_STEP);
    if (!waits) lud_optimiser_step(l->optimiser, l->actor_group, factor * l->options.learning_rate);
    if (s->n_valued > 0)
        lud_optimiser_step(l->optimiser, l->critic_group, factor * l->options.critic_learning_rate);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_STEP);
    l->version++;
    const double norm = waits ? 0.0 : lud_optimiser_norm(l->optimiser, l->actor_group);
    l->sums.loss += c->loss;
    l->sums.norm += norm;
    l->sums.valued += (double)s->n_valued;
    if (s->n_valued > 0) {
        l->sums.value_loss += losses.value;
        l->sums.critic_norm += lud_optimiser_norm(l->optimiser, l->critic_group);
    }
    LUD_TRY(lud_device_check(l->device, error));
    if (!isfinite(c->loss) || !isfinite(norm) || !isfinite(losses.value))
        return lud_fail(error, LUD_ERROR_NUMERIC,
                        "ticks: a loss is not finite; try a smaller learning_rate or max_norm");
    return LUD_OK;
}

/* Why there is nothing to learn from, or LUD_TICK_UPDATED. */
static lud_tick_end select_rows(lud_tick_learner *l) {
    lud_tick_scoring *s = &l->scoring;
    s->selection.n = s->selection.n_kept = 0;
    if (s->n_trained == 0) return LUD_TICK_NO_TRAINABLE;
    score(l);
    if (s->selection.n == 0) return LUD_TICK_NO_TOKENS;
    lud_tick_select(&l->options.gate, &s->history, l->experiences, &s->selection);
    l->sums.gated++;
    l->sums.scored += (double)s->selection.n;
    l->sums.delights += s->selection.delights;
    l->sums.rates += s->selection.rate;
    l->sums.prices += s->selection.price;
    if (s->selection.end != LUD_TICK_UPDATED) s->selection.n_kept = 0;
    return s->selection.end;
}

static void count_selected(lud_tick_learner *l) {
    const lud_tick_scoring *s = &l->scoring;
    for (int64_t i = 0; i < s->selection.n; i++)
        l->teams[lud_tick_team_of(l, l->training.rows.agent[s->scored[i]])].skipped++;
    for (int64_t k = 0; k < s->selection.n_kept; k++) {
        lud_tick_team *team =
            &l->teams[lud_tick_team_of(l, l->training.rows.agent[s->scored[s->selection.kept[k]]])];
        team->backward++;
        team->skipped--;
    }
    l->sums.selected += (double)s->selection.n_kept;
}

lud_status lud_tick_update(lud_tick_learner *l, lud_error *error) {
    list_trained(l);
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_VALUE);
    lud_status status = find_final_values(l, error);
    if (!status) status = lud_tick_find_values(l, error);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_VALUE);
    if (status) return status;
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_SCORE);
    look_ahead(l);
    const lud_tick_end end = select_rows(l);
    count_selected(l);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_SCORE);
    l->sums.ticks++;
    l->sums.ends[end]++;
    return end == LUD_TICK_UPDATED ? learn(l, error) : LUD_OK;
}
