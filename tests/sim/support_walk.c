#include "sim/support_walk.h"

#include <stdlib.h>
#include <string.h>

/* State: uint16 step, then one uint16 place a walker. */
static const char *const action_names[] = {"stay", "left", "right"};

static uint16_t get(const uint8_t *state, int i) {
    uint16_t value;
    memcpy(&value, state + 2 * i, 2);
    return value;
}
static void set(uint8_t *state, int i, int value) {
    uint16_t small = (uint16_t)value;
    memcpy(state + 2 * i, &small, 2);
}

static bool all_home(const lud_model *model, const uint8_t *state) {
    for (int i = 0; i < model->layout.n_agents; i++)
        if (get(state, 1 + i) != 0) return false;
    return true;
}

static bool is_terminal(const lud_model *model, const uint8_t *state) {
    return model->layout.max_steps ? get(state, 0) >= model->layout.max_steps : all_home(model, state);
}

static int moved(const walk_model *walk, int place, int move) {
    return (place + move + walk->length) % walk->length;
}

static int move_of(int action) {
    return action == 0 ? 0 : action == 1 ? -1 : 1;
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    const walk_model *walk = (const walk_model *)model;
    for (int e = 0; e < range.n; e++) {
        uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        set(state, 0, 0);
        for (int i = 0; i < model->layout.n_agents; i++) {
            lud_words words = lud_draw((lud_random_key){range.seed, range.first_environment + (uint32_t)e},
                                       range.tick[e], (uint32_t)i, LUD_PURPOSE_RESET, 0);
            set(state, 1 + i,
                walk->random_start ? (int)lud_below(words.v[0], (uint32_t)walk->length)
                                   : 1 % walk->length + i);
        }
    }
}

static void step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome) {
    const walk_model *walk = (const walk_model *)model;
    int n_agents = model->layout.n_agents;
    for (int e = 0; e < range.n; e++) {
        uint8_t *state = states + (size_t)e * model->layout.state_bytes;
        for (int i = 0; i < n_agents; i++) {
            int move = move_of(actions.discrete[e * n_agents + i]);
            lud_words words = lud_draw((lud_random_key){range.seed, range.first_environment + (uint32_t)e},
                                       range.tick[e], (uint32_t)i, LUD_PURPOSE_TRANSITION, 0);
            if (lud_unit(words.v[0]) < walk->slip[i]) move = -move;
            set(state, 1 + i, moved(walk, get(state, 1 + i), move));
            if (outcome.rewards) outcome.rewards[e * n_agents + i] = get(state, 1 + i) == 0 ? 1.0f : -0.5f;
        }
        if (model->layout.max_steps) set(state, 0, get(state, 0) + 1);
        if (outcome.terminated) outcome.terminated[e] = all_home(model, state);
        if (outcome.truncated)
            outcome.truncated[e] = model->layout.max_steps && get(state, 0) >= model->layout.max_steps;
    }
}

static void observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    if (!parts[0]) return;
    for (int e = 0; e < range.n; e++)
        for (int i = 0; i < model->layout.n_agents; i++)
            ((int32_t *)parts[0])[e * model->layout.n_agents + i] =
                get(states + (size_t)e * model->layout.state_bytes, 1 + i);
}

static lud_status successors(const lud_model *model, const uint8_t *state, const int32_t *action,
                             lud_successors *out, lud_error *error) {
    const walk_model *walk = (const walk_model *)model;
    int n_agents = model->layout.n_agents;
    size_t state_bytes = model->layout.state_bytes;
    out->n = 0;
    if (is_terminal(model, state)) return LUD_OK;
    for (unsigned slips = 0; slips < 1u << n_agents; slips++) {
        double probability = 1;
        bool possible = true;
        uint8_t next[32];
        set(next, 0, get(state, 0) + (model->layout.max_steps ? 1 : 0));
        for (int i = 0; i < n_agents; i++) {
            int move = move_of(action[i]);
            bool slip = slips >> i & 1;
            /* without a move, or on a ring where both sides coincide, there is nothing to slip */
            if (slip && (move == 0 || walk->slip[i] <= 0)) possible = false;
            if (move != 0) probability *= slip ? walk->slip[i] : 1 - walk->slip[i];
            set(next, 1 + i, moved(walk, get(state, 1 + i), slip ? -move : move));
        }
        if (!possible || probability <= 0) continue;
        LUD_TRY(lud_successors_reserve(out, state_bytes, 1, error));
        memcpy(out->states + out->n * state_bytes, next, state_bytes);
        out->probability[out->n++] = probability;
    }
    return LUD_OK;
}

static int n_goals(const lud_model *model, int agent) {
    (void)agent;
    return ((const walk_model *)model)->length;
}
static double goal_weight(const lud_model *model, int agent, int goal) {
    (void)model;
    (void)agent;
    return goal == 0 ? 0 : 1 + goal % 3;
}
static bool achieved(const lud_model *model, const uint8_t *state, int agent, int goal) {
    (void)model;
    return get(state, 1 + agent) == goal;
}
static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    for (int i = 0; i < model->layout.n_agents; i++)
        lud_text_append(out, "walker %d at %d\n", i, get(state, 1 + i));
}

static const lud_world walk_world = {.name = "walk",
                                     .about = "walkers on a ring",
                                     .reset = reset,
                                     .step = step,
                                     .observe = observe,
                                     .successors = successors,
                                     .is_terminal = is_terminal,
                                     .n_goals = n_goals,
                                     .goal_weight = goal_weight,
                                     .achieved = achieved,
                                     .describe = describe};

walk_model *walk_create(int n_walkers, int length, int max_steps) {
    walk_model *walk = calloc(1, sizeof *walk);
    lud_action_space *actions = calloc((size_t)n_walkers, sizeof *actions);
    lud_role *roles = calloc((size_t)n_walkers, sizeof *roles);
    for (int i = 0; i < n_walkers; i++) {
        actions[i] = (lud_action_space){.n_discrete = 3, .names = action_names};
        roles[i] = i == 0 ? LUD_ROLE_ROBOT : i == 1 ? LUD_ROLE_HUMAN : LUD_ROLE_NONE;
    }
    walk->model.world = &walk_world;
    walk->model.layout = (lud_layout){
        .state_bytes = 2 + 2 * (size_t)n_walkers,
        .clock = {.bytes = max_steps ? 2 : 0},
        .n_agents = n_walkers,
        .max_steps = max_steps,
        .actions = actions,
        .roles = roles,
        .n_parts = 1,
        .parts = {{.name = "place", .dtype = LUD_I32, .per_agent = true, .bytes = 4 * (size_t)n_walkers}}};
    walk->length = length;
    for (int i = 0; i < 8; i++) walk->slip[i] = 0.1 * i;
    return walk;
}

void walk_destroy(walk_model *walk) {
    free((void *)walk->model.layout.actions);
    free((void *)walk->model.layout.roles);
    free(walk);
}

void walk_state(const walk_model *walk, int at, const int *places, uint8_t *state) {
    set(state, 0, at);
    for (int i = 0; i < walk->model.layout.n_agents; i++) set(state, 1 + i, places[i]);
}

double walk_probability(const walk_model *walk, const uint8_t *from, const int32_t *action,
                        const uint8_t *to) {
    if (get(to, 0) != get(from, 0) + (walk->model.layout.max_steps ? 1 : 0)) return 0;
    double probability = 1;
    for (int i = 0; i < walk->model.layout.n_agents; i++) {
        int difference = (get(to, 1 + i) - get(from, 1 + i) + walk->length) % walk->length;
        double forward = action[i] == 0 ? (difference == 0 ? 1 : 0) : 0;
        if (action[i] != 0) {
            int wanted = action[i] == 2 ? 1 : walk->length - 1;
            if (difference == wanted)
                forward = 1 - walk->slip[i];
            else if (difference == walk->length - wanted)
                forward = walk->slip[i];
        }
        probability *= forward;
    }
    return probability;
}
