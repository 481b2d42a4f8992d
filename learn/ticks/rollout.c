#include "learn/ticks/rollout.h"

#include <string.h>

#include "agents/policy.h"
#include "learn/ticks/ticks.h"

bool lud_tick_is_alive(const lud_model *model, const uint8_t *state, int agent) {
    return !model->world->is_alive || model->world->is_alive(model, state, agent);
}

int32_t lud_tick_idle(const lud_layout *layout, int agent) {
    return layout->idle && layout->idle[agent] > 0 ? layout->idle[agent] : 0;
}

/* What is scored of one row's choices. */
typedef struct lud_tick_acted {
    int32_t n_tokens, failed;
    float log_prob, entropy, confidence;
} lud_tick_acted;

static bool take_sight(lud_tick_stepping *s, const lud_tick_policy *policy, lud_tick_sight *sight) {
    const lud_layout *layout = &s->batch->model->layout;
    LUD_TAKE(&s->arrays, sight->environment, (size_t)s->n_rows);
    LUD_TAKE(&s->arrays, sight->agent, (size_t)s->n_rows);
    bool whole = true;
    for (int p = 0; p < layout->n_parts; p++) {
        if (!policy->reads[p]) continue;
        sight->parts[p] = calloc((size_t)s->n_envs, layout->parts[p].bytes);
        whole = whole && sight->parts[p];
    }
    return whole;
}

static bool take_arrays(lud_tick_stepping *s, int n_teams, bool exchanges) {
    const lud_layout *layout = &s->batch->model->layout;
    const size_t rows = (size_t)s->n_rows, envs = (size_t)s->n_envs,
                 continuous = (size_t)lud_max_continuous(layout), components = (size_t)layout->n_components;
    lud_arrays *a = &s->arrays;
    LUD_TAKE(a, s->discrete, rows);
    LUD_TAKE(a, s->continuous, rows * continuous + 1);
    LUD_TAKE(a, s->rewards, rows);
    LUD_TAKE(a, s->components, rows * components + 1);
    LUD_TAKE(a, s->terminated, envs);
    LUD_TAKE(a, s->truncated, envs);
    LUD_TAKE(a, s->final_states, envs * layout->state_bytes + 1);
    LUD_TAKE(a, s->alive, rows);
    LUD_TAKE(a, s->agent_return, rows);
    LUD_TAKE(a, s->component_return, envs * components + 1);
    LUD_TAKE(a, s->episodes.teams, (size_t)n_teams);
    LUD_TAKE(a, s->episodes.components, components + 1);
    LUD_TAKE(a, s->episodes.measures, (size_t)layout->n_measures + 1);
    LUD_TAKE(a, s->measured, envs * (size_t)layout->n_measures + 1);
    lud_tick_choices *c = &s->choices;
    LUD_TAKE(a, c->discrete, rows);
    LUD_TAKE(a, c->continuous, rows * continuous + 1);
    LUD_TAKE(a, c->log_prob, rows);
    LUD_TAKE(a, c->n_tokens, rows);
    LUD_TAKE(a, c->failed, rows);
    LUD_TAKE(a, c->entropy, rows);
    LUD_TAKE(a, c->confidence, rows);
    if (exchanges) LUD_TAKE(a, s->acted, rows);
    return !a->failed;
}

lud_status lud_tick_stepping_create(const lud_tick_learner *l, int64_t n_envs, uint32_t first,
                                    lud_tick_stepping *s, lud_error *error) {
    const lud_model *model = l->scenario->model;
    s->n_envs = n_envs;
    s->n_rows = n_envs * model->layout.n_agents;
    LUD_TRY(lud_batch_create(model, (int)n_envs, l->seed, first, &s->batch, error));
    lud_batch_divide(s->batch, l->device->ranks, l->shares.n);
    s->first = s->batch->first_stepped;
    s->end = s->first + s->batch->n_stepped;
    if (!take_arrays(s, l->n_teams, l->device->ranks != NULL) || !take_sight(s, l->policy, &s->sights[0]) ||
        !take_sight(s, l->policy, &s->sights[1]) || s->arrays.failed)
        return lud_no_memory(error, "a learner");
    if (l->options.baseline.type != LUD_BASELINE_EXPECTED_CONFIDENCE) s->choices.confidence = NULL;
    return LUD_OK;
}

void lud_tick_stepping_destroy(lud_tick_stepping *s) {
    lud_batch_destroy(s->batch);
    for (int k = 0; k < 2; k++)
        for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(s->sights[k].parts[p]);
    lud_arrays_free(&s->arrays);
    *s = (lud_tick_stepping){0};
}

/* Finds out who is alive in environments first .. end - 1. */
static void see_alive(lud_tick_stepping *s, int64_t first, int64_t end) {
    const lud_model *model = s->batch->model;
    const int n_agents = model->layout.n_agents;
    for (int64_t e = first; e < end; e++)
        for (int a = 0; a < n_agents; a++)
            s->alive[e * n_agents + a] =
                lud_tick_is_alive(model, s->batch->states + (size_t)e * model->layout.state_bytes, a);
}

static void list_alive(lud_tick_stepping *s) {
    const int n_agents = s->batch->model->layout.n_agents;
    lud_tick_sight *sight = &s->sights[s->now];
    sight->n = 0;
    for (int64_t e = 0; e < s->n_envs; e++)
        for (int a = 0; a < n_agents; a++) {
            if (!s->alive[e * n_agents + a]) continue;
            sight->environment[sight->n] = (int32_t)e;
            sight->agent[sight->n++] = (int32_t)a;
        }
}

void lud_tick_look(lud_tick_stepping *s) {
    see_alive(s, 0, s->n_envs);
    list_alive(s);
}

void lud_tick_reset(lud_tick_stepping *s) {
    const lud_batch_out out = {.observations = s->sights[s->now].parts};
    const size_t components = (size_t)s->batch->model->layout.n_components;
    lud_batch_reset(s->batch, &out);
    memset(s->agent_return, 0, (size_t)s->n_rows * sizeof *s->agent_return);
    memset(s->component_return, 0, (size_t)s->n_envs * components * sizeof *s->component_return);
    lud_tick_look(s);
}

uint32_t lud_tick_clock(const lud_tick_stepping *s) {
    return s->batch->tick[s->first < s->n_envs ? s->first : 0];
}

lud_tick_rows lud_tick_present(const lud_tick_stepping *s) {
    const lud_tick_sight *sight = &s->sights[s->now];
    return (lud_tick_rows){.model = s->batch->model,
                           .range = lud_batch_range(s->batch, 0, (int)s->n_envs),
                           .states = s->batch->states,
                           .observations = sight->parts,
                           .n = sight->n,
                           .environment = sight->environment,
                           .agent = sight->agent};
}

/* The first row of an environment that is not before this one. */
static int64_t first_row(const lud_tick_rows *rows, int64_t environment) {
    int64_t begin = 0, end = rows->n;
    while (begin < end) {
        const int64_t middle = (begin + end) / 2;
        if (rows->environment[middle] < environment)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

lud_tick_rows lud_tick_rows_of_share(const lud_tick_learner *l, const lud_tick_rows *rows, int share) {
    const int n_shares = l->shares.n;
    lud_tick_rows own = *rows;
    own.first = first_row(rows, lud_share_begin(rows->range.n, n_shares, share));
    own.n = first_row(rows, lud_share_begin(rows->range.n, n_shares, share + 1));
    return own;
}

lud_status lud_tick_act(const lud_tick_learner *l, lud_tick_stepping *s, bool greedy, lud_error *error) {
    lud_status status = LUD_OK;
    s->tick = lud_tick_clock(s);
    s->rows = lud_tick_present(s);
    s->rows.greedy = greedy;
    for (int share = l->shares.first; share < l->shares.end && !status; share++) {
        const lud_tick_rows own = lud_tick_rows_of_share(l, &s->rows, share);
        if (own.first < own.n) status = l->policy->kind->act(l->policy, &own, &s->choices, error);
    }
    return lud_ranks_agree(l->device->ranks, status, error);
}

/* The rows' choices where the world wants them. */
static void scatter(lud_tick_stepping *s) {
    const lud_layout *layout = &s->batch->model->layout;
    const int64_t width = lud_max_continuous(layout);
    if (s->rows.n < s->n_rows)
        for (int64_t i = 0; i < s->n_rows; i++)
            s->discrete[i] = lud_tick_idle(layout, (int)(i % layout->n_agents));
    memset(s->continuous, 0, (size_t)(s->n_rows * width) * sizeof *s->continuous);
    for (int64_t i = 0; i < s->rows.n; i++) {
        const int64_t at = lud_tick_place(&s->rows, i);
        s->discrete[at] = s->choices.discrete[i];
        memcpy(s->continuous + at * width, s->choices.continuous + i * width,
               (size_t)width * sizeof *s->continuous);
    }
}

/* One environment's episode that has ended. */
static void count_episode(const lud_tick_learner *l, lud_tick_stepping *s, int64_t e) {
    const lud_layout *layout = &s->batch->model->layout;
    const double *returns = s->agent_return + e * layout->n_agents;
    lud_tick_episodes *sums = &s->episodes;
    sums->n++;
    sums->ended += s->terminated[e];
    for (int a = 0; a < layout->n_agents; a++) {
        const int team = lud_tick_team_of(l, a);
        sums->returns += returns[a] / layout->n_agents;
        sums->teams[team] += returns[a] / l->team_sizes[team];
    }
    for (int k = 0; k < layout->n_components; k++)
        sums->components[k] += s->component_return[e * layout->n_components + k];
    for (int k = 0; k < layout->n_columns; k++) sums->measures[k] += s->measured[e * layout->n_measures + k];
}

/* Measures of own episodes that the last step ended. */
static void measure(lud_tick_stepping *s) {
    const lud_model *model = s->batch->model;
    const lud_layout *layout = &model->layout;
    for (int64_t e = s->first; e < s->end && layout->n_columns > 0; e++)
        if (s->terminated[e] || s->truncated[e])
            model->world->measure(model, 1, s->final_states + (size_t)e * layout->state_bytes,
                                  s->measured + e * layout->n_measures);
}

/* What everybody is told of the tick: choices of the last act as far as they are scored, and what came of
 * them, of which each process has those of its shares. States and observations stay where they are. */
static lud_status exchange(const lud_tick_learner *l, lud_tick_stepping *s, lud_error *error) {
    const lud_layout *layout = &s->batch->model->layout;
    const lud_tick_choices *c = &s->choices;
    const size_t agents = (size_t)layout->n_agents, components = (size_t)layout->n_components,
                 measures = layout->n_columns > 0 ? (size_t)layout->n_measures : 0;
    if (!l->device->ranks) return LUD_OK;
    for (int64_t i = 0; i < s->rows.n; i++) {
        const int64_t at = lud_tick_place(&s->rows, i);
        s->acted[at] = (lud_tick_acted){c->n_tokens[i], c->failed[i], c->log_prob[i], c->entropy[i],
                                        c->confidence ? c->confidence[i] : 0.0f};
    }
    const lud_ranks_array all[] = {
        {s->acted, agents * sizeof *s->acted, 1, s->n_envs},
        {s->rewards, agents * sizeof *s->rewards, 1, s->n_envs},
        {components > 0 ? s->components : NULL, agents * components * sizeof *s->components, 1, s->n_envs},
        {measures > 0 ? s->measured : NULL, measures * sizeof *s->measured, 1, s->n_envs},
        {s->alive, agents, 1, s->n_envs},
        {s->terminated, 1, 1, s->n_envs},
        {s->truncated, 1, 1, s->n_envs}};
    LUD_TRY(lud_ranks_complete(l->device->ranks, all, sizeof all / sizeof *all, l->shares.n, error));
    for (int64_t i = 0; i < s->rows.n; i++) {
        const int64_t at = lud_tick_place(&s->rows, i);
        const lud_tick_acted *acted = &s->acted[at];
        c->n_tokens[i] = acted->n_tokens;
        c->failed[i] = (uint8_t)acted->failed;
        c->log_prob[i] = acted->log_prob;
        c->entropy[i] = acted->entropy;
        if (c->confidence) c->confidence[i] = acted->confidence;
    }
    return LUD_OK;
}

lud_status lud_tick_step(const lud_tick_learner *l, lud_tick_stepping *s, int64_t *left, lud_error *error) {
    const lud_layout *layout = &s->batch->model->layout;
    scatter(s);
    s->now ^= 1;
    const lud_batch_out out = {.observations = s->sights[s->now].parts,
                               .rewards = s->rewards,
                               .components = layout->n_components > 0 ? s->components : NULL,
                               .terminated = s->terminated,
                               .truncated = s->truncated,
                               .final_states = s->final_states};
    lud_batch_step(s->batch, (lud_actions){s->discrete, s->continuous}, &out);
    see_alive(s, s->first, s->end);
    measure(s);
    LUD_TRY(exchange(l, s, error));
    list_alive(s);
    for (int64_t e = 0; e < s->n_envs; e++) {
        double *returns = s->agent_return + e * layout->n_agents,
               *components = s->component_return + e * layout->n_components;
        for (int a = 0; a < layout->n_agents; a++) {
            const int64_t row = e * layout->n_agents + a;
            returns[a] += (double)s->rewards[row];
            for (int k = 0; k < layout->n_components; k++)
                components[k] += (double)s->components[row * layout->n_components + k] / layout->n_agents;
        }
        if (!s->terminated[e] && !s->truncated[e]) continue;
        if (!left || left[e] > 0) count_episode(l, s, e);
        if (left && left[e] > 0) left[e]--;
        memset(returns, 0, (size_t)layout->n_agents * sizeof *returns);
        memset(components, 0, (size_t)layout->n_components * sizeof *components);
    }
    return LUD_OK;
}

lud_status lud_tick_complete(const lud_tick_learner *l, lud_tick_stepping *s, lud_error *error) {
    if (!l->device->ranks) return LUD_OK;
    LUD_TRY(lud_batch_complete(s->batch, l->device->ranks, l->shares.n, error));
    lud_batch_observe(s->batch, s->sights[s->now].parts);
    return LUD_OK;
}

void lud_tick_clear_episodes(lud_tick_stepping *s) {
    const lud_layout *layout = &s->batch->model->layout;
    lud_tick_episodes *sums = &s->episodes;
    sums->n = sums->returns = sums->ended = 0.0;
    const int n_teams = layout->n_teams > 0 ? layout->n_teams : 1;
    memset(sums->teams, 0, (size_t)n_teams * sizeof *sums->teams);
    memset(sums->components, 0, (size_t)layout->n_components * sizeof *sums->components);
    memset(sums->measures, 0, (size_t)layout->n_measures * sizeof *sums->measures);
}
