#include "render/episode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agents/rollout.h"

/* What is remembered of one moment: the state, the cast's hidden bytes before it acts there, and the step
 * that led here. */
typedef struct moment {
    uint8_t *state, *hidden;
    int32_t *actions;
    float *rewards;
    float *components; /* [n_agents][n_components] */
    bool over;
} moment;

/* The runner is one environment that is put to whatever position is asked for. */
struct lud_player {
    const lud_model *model;
    lud_runner runner;
    uint32_t episode, first_tick;
    bool remember;
    size_t position, known;
    size_t capacity, record_bytes;
    uint8_t *records; /* [capacity][record_bytes] */
    size_t hidden_bytes, n_agents, n_components;
    int32_t *goals;
    double *returns; /* [n_agents] up to the present state; without memory alone */
};

static size_t padded(size_t bytes) {
    return (bytes + 15) & ~(size_t)15;
}

/* The record of a position; without memory two of them take turns. */
static moment moment_at(const lud_player *p, size_t position) {
    uint8_t *r = p->records + (p->remember ? position : position & 1) * p->record_bytes;
    moment m;
    m.state = r;
    r += padded(p->model->layout.state_bytes);
    m.hidden = r;
    r += padded(p->hidden_bytes);
    m.actions = (int32_t *)(void *)r;
    r += padded(p->n_agents * sizeof(int32_t));
    m.rewards = (float *)(void *)r;
    r += padded(p->n_agents * sizeof(float));
    m.components = (float *)(void *)r;
    r += padded(p->n_agents * p->n_components * sizeof(float));
    m.over = *r != 0;
    return m;
}

static void set_over(const lud_player *p, size_t position, bool over) {
    p->records[(p->remember ? position : position & 1) * p->record_bytes + p->record_bytes - 16] = over;
}

static lud_status reserve(lud_player *p, size_t n, lud_error *error) {
    if (!p->remember) n = 2;
    if (n <= p->capacity) return LUD_OK;
    size_t capacity = p->remember ? (n < 64 ? 64 : 2 * n) : 2;
    uint8_t *records = realloc(p->records, capacity * p->record_bytes);
    if (!records) return lud_no_memory(error, "%zu remembered states", n);
    memset(records + p->capacity * p->record_bytes, 0, (capacity - p->capacity) * p->record_bytes);
    p->records = records;
    p->capacity = capacity;
    return LUD_OK;
}

static void begin(lud_player *p) {
    moment m = moment_at(p, 0);
    p->position = 0;
    p->known = 1;
    memset(p->returns, 0, p->n_agents * sizeof *p->returns);
    p->runner.batch->tick[0] = p->first_tick;
    lud_runner_start(&p->runner);
    memcpy(m.state, p->runner.batch->states, p->model->layout.state_bytes);
    memcpy(m.hidden, p->runner.hidden, p->hidden_bytes);
    set_over(p, 0, false);
}

lud_status lud_player_create(const lud_model *model, lud_cast *cast, uint64_t seed, bool remember,
                             lud_player **player, lud_error *error) {
    lud_player *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "an episode");
    const lud_layout *layout = &model->layout;
    p->model = model;
    p->remember = remember;
    p->n_agents = (size_t)layout->n_agents;
    p->n_components = (size_t)layout->n_components;
    p->hidden_bytes = lud_cast_hidden_bytes(cast);
    p->record_bytes = padded(layout->state_bytes) + padded(p->hidden_bytes) +
                      2 * padded(p->n_agents * sizeof(int32_t)) +
                      padded(p->n_agents * p->n_components * sizeof(float)) + 16;
    p->goals = calloc(p->n_agents + 1, sizeof *p->goals);
    p->returns = calloc(p->n_agents + 1, sizeof *p->returns);
    lud_status status = p->goals && p->returns ? reserve(p, 1, error) : lud_no_memory(error, "an episode");
    if (!status) status = lud_runner_create(model, cast, 1, seed, 0, &p->runner, error);
    if (status) {
        lud_player_destroy(p);
        return status;
    }
    p->runner.batch->end = LUD_END_GOES_ON;
    begin(p);
    *player = p;
    return LUD_OK;
}

void lud_player_destroy(lud_player *player) {
    if (!player) return;
    lud_runner_destroy(&player->runner);
    LUD_FREE(player->records, player->goals, player->returns, player);
}

void lud_player_restart(lud_player *player, uint64_t seed) {
    player->runner.batch->seed = seed;
    player->episode = player->first_tick = 0;
    begin(player);
}

void lud_player_next_episode(lud_player *player) {
    /* the tick of a run goes on from the last state that is known to end the episode */
    player->first_tick += (uint32_t)(player->known - 1);
    player->episode++;
    begin(player);
}

void lud_player_join(lud_player *player, const lud_player *leader) {
    player->runner.batch->seed = leader->runner.batch->seed;
    player->runner.batch->first_environment = leader->runner.batch->first_environment;
    player->episode = leader->episode;
    player->first_tick = leader->first_tick;
    begin(player);
}

/* Lets the cast act in the present state; afterwards the runner stands there with the joint action. */
static void act(lud_player *p, const int32_t *chosen) {
    moment now = moment_at(p, p->position);
    lud_runner *r = &p->runner;
    memcpy(r->batch->states, now.state, p->model->layout.state_bytes);
    memcpy(r->hidden, now.hidden, p->hidden_bytes);
    r->batch->tick[0] = p->first_tick + (uint32_t)p->position;
    if (lud_cast_needs_observations(r->cast)) lud_batch_observe(r->batch, r->observations);
    lud_runner_act(r);
    for (size_t i = 0; chosen && i < p->n_agents; i++)
        if (chosen[i] >= 0) r->discrete[i] = chosen[i];
}

lud_status lud_player_show(lud_player *p, const lud_recorded_episode *e, lud_error *error) {
    assert(p->remember && e->n_states > 0);
    const size_t state_bytes = p->model->layout.state_bytes;
    LUD_TRY(reserve(p, e->n_states, error));
    lud_batch *batch = p->runner.batch;
    batch->seed = e->seed;
    batch->first_environment = e->environment;
    p->first_tick = e->first_tick;
    p->episode = (uint32_t)e->number;
    begin(p);
    for (size_t t = 0; t < e->n_states; t++) {
        moment now = moment_at(p, t);
        memcpy(now.state, e->states + t * state_bytes, state_bytes);
        set_over(p, t, false);
        if (!t) continue;
        /* the cast goes along, for the goals it draws; what it would do does not matter */
        p->position = t - 1;
        act(p, NULL);
        memcpy(now.hidden, p->runner.hidden, p->hidden_bytes);
        memset(now.actions, 0, p->n_agents * sizeof *now.actions);
        if (e->actions)
            memcpy(now.actions, e->actions + (t - 1) * p->n_agents, p->n_agents * sizeof *now.actions);
        memcpy(now.rewards, e->rewards + (t - 1) * p->n_agents, p->n_agents * sizeof *now.rewards);
    }
    p->position = 0;
    p->known = e->n_states;
    set_over(p, e->n_states - 1, e->over);
    return LUD_OK;
}

/* Whether the remembered next step is what the chosen actions ask for. */
static bool future_fits(const lud_player *p, const int32_t *chosen) {
    if (p->position + 1 >= p->known) return false;
    moment next = moment_at(p, p->position + 1);
    for (size_t i = 0; chosen && i < p->n_agents; i++)
        if (chosen[i] >= 0 && chosen[i] != next.actions[i]) return false;
    return true;
}

lud_status lud_player_step(lud_player *p, const int32_t *chosen, bool *moved, lud_error *error) {
    *moved = false;
    if (lud_player_over(p)) return LUD_OK;
    if (future_fits(p, chosen)) {
        p->position++;
        *moved = true;
        return LUD_OK;
    }
    LUD_TRY(reserve(p, p->position + 2, error));
    act(p, chosen);
    moment next = moment_at(p, p->position + 1);
    const lud_runner *r = &p->runner;
    uint8_t terminated = 0, truncated = 0;
    lud_batch_out out = {.rewards = next.rewards,
                         .components = p->n_components ? next.components : NULL,
                         .terminated = &terminated,
                         .truncated = &truncated};
    lud_batch_step(r->batch, (lud_actions){r->discrete, r->continuous}, &out);
    memcpy(next.state, r->batch->states, p->model->layout.state_bytes);
    memcpy(next.hidden, r->hidden, p->hidden_bytes);
    memcpy(next.actions, r->discrete, p->n_agents * sizeof *next.actions);
    LUD_TRY(lud_cast_check(r->cast, error));
    for (size_t i = 0; !p->remember && i < p->n_agents; i++) p->returns[i] += (double)next.rewards[i];
    p->position++;
    p->known = p->position + 1;
    set_over(p, p->position, terminated || truncated);
    *moved = true;
    return LUD_OK;
}

void lud_player_seek(lud_player *player, size_t position) {
    assert(position < player->known && (player->remember || position == player->position));
    player->position = position;
}

uint64_t lud_player_seed(const lud_player *player) {
    return player->runner.batch->seed;
}
uint32_t lud_player_episode(const lud_player *player) {
    return player->episode;
}
size_t lud_player_position(const lud_player *player) {
    return player->position;
}
size_t lud_player_known(const lud_player *player) {
    return player->known;
}
bool lud_player_over(const lud_player *player) {
    return moment_at(player, player->position).over;
}
bool lud_player_ends(const lud_player *player) {
    return moment_at(player, player->known - 1).over;
}
const uint8_t *lud_player_state(const lud_player *player) {
    return moment_at(player, player->position).state;
}

const uint8_t *lud_player_before(const lud_player *player) {
    return player->position ? moment_at(player, player->position - 1).state : NULL;
}

const int32_t *lud_player_actions(const lud_player *player) {
    return player->position ? moment_at(player, player->position).actions : NULL;
}

const float *lud_player_rewards(const lud_player *player) {
    return player->position ? moment_at(player, player->position).rewards : NULL;
}

const uint8_t *lud_player_state_at(const lud_player *player, size_t position) {
    assert(player->remember && position < player->known);
    return moment_at(player, position).state;
}

int lud_player_trail(const lud_player *player, const uint8_t **states, int most) {
    int n = 0;
    if (!player->remember && most > 1) most = 1;
    for (; n < most && (size_t)n < player->position; n++)
        states[n] = moment_at(player, player->position - (size_t)n - 1).state;
    return n;
}

uint8_t *lud_player_edit(lud_player *player) {
    player->known = player->position + 1;
    return moment_at(player, player->position).state;
}

const float *lud_player_rewards_at(const lud_player *player, size_t position) {
    assert(player->remember && position > 0 && position < player->known);
    return moment_at(player, position).rewards;
}

double lud_player_return(const lud_player *player, int agent) {
    double sum = 0;
    if (!player->remember) return player->returns[agent];
    for (size_t k = 1; k <= player->position; k++) sum += (double)moment_at(player, k).rewards[agent];
    return sum;
}

void lud_player_components(const lud_player *player, int agent, double *last, double *sum) {
    assert(player->remember);
    const size_t n = player->n_components, begin = (size_t)agent * n;
    for (size_t c = 0; c < n; c++) last[c] = sum[c] = 0;
    for (size_t k = 1; k <= player->position; k++)
        for (size_t c = 0; c < n; c++) {
            last[c] = (double)moment_at(player, k).components[begin + c];
            sum[c] += last[c];
        }
}

const int32_t *lud_player_goals(lud_player *player) {
    for (size_t i = 0; i < player->n_agents; i++) player->goals[i] = lud_player_goal(player, (int)i);
    return player->goals;
}

const uint8_t *lud_player_hidden(const lud_player *player) {
    return moment_at(player, player->position).hidden;
}

int lud_player_goal(const lud_player *player, int agent) {
    return lud_cast_goal(player->runner.cast, lud_player_hidden(player), agent);
}

void lud_player_plan(lud_player *p, const int32_t *chosen, int32_t *actions) {
    if (future_fits(p, chosen)) {
        memcpy(actions, moment_at(p, p->position + 1).actions, p->n_agents * sizeof *actions);
        return;
    }
    act(p, chosen);
    memcpy(actions, p->runner.discrete, p->n_agents * sizeof *actions);
}
