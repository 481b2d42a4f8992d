#include "sim/lamps/lamps.h"

#include <stdlib.h>
#include <string.h>

#include "base/options/option_rows.h"

#define OPTIONS lamps_options
static const lud_option rows[] = {
    INT(lamps, "4", 1, LAMPS_MOST, "lamps in the row"),
    INT(max_steps, "20", 1, 255, "steps after which an episode is cut off"),
    REAL(gust, "0.1", 0, 1, "probability that a gust puts out one lamp in a step"),
};
static const lud_option_table table = OPTION_TABLE("lamps", "a row of lamps and two who switch them", rows);
static const lud_option_table *const tables[] = {&table, NULL};

static const lamps_model *model_of(const lud_model *model) {
    return (const lamps_model *)model;
}
static lamps_state *state_at(uint8_t *states, int e) {
    return (lamps_state *)(void *)states + e;
}
static const lamps_state *state_of(const uint8_t *state) {
    return (const lamps_state *)(const void *)state;
}
static int all_lit(const lamps_model *m) {
    return (1 << m->options.lamps) - 1;
}

/* ---- the model ---- */

static const char *const names[] = {"still", "left", "right", "switch"};
static const lud_action_space actions[LAMPS_AGENTS] = {{.n_discrete = LAMPS_ACTIONS, .names = names},
                                                       {.n_discrete = LAMPS_ACTIONS, .names = names}};
static const lud_role roles[LAMPS_AGENTS] = {LUD_ROLE_HUMAN, LUD_ROLE_ROBOT};
static const lud_measure measures[] = {{.name = "lit", .format = "%.2f", .help = "share of lamps that burn"}};

static lud_status parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                        lud_model **model, lud_error *error) {
    (void)world, (void)file, (void)seed;
    lamps_model *m = calloc(1, sizeof *m);
    lud_arena *arena = lud_arena_create(0);
    lud_status status = m && arena ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a model");
    if (!status) status = lud_options_read(&table, arena, lud_tree_get(root, "lamps"), &m->options, error);
    lud_arena_destroy(arena);
    if (status) {
        free(m);
        return status;
    }
    const int width = 3 * (int)m->options.lamps;
    m->base = (lud_model){
        .world = &lamps_world,
        .layout = {.state_bytes = sizeof(lamps_state),
                   .n_agents = LAMPS_AGENTS,
                   .max_steps = (int)m->options.max_steps,
                   .actions = actions,
                   .roles = roles,
                   .n_parts = 1,
                   .parts = {{.name = "row", /* who sees it: lamps, the own place, the other's place */
                              .kind = LUD_OBSERVATION_VECTOR,
                              .dtype = LUD_F32,
                              .per_agent = true,
                              .n_dimensions = 1,
                              .dimensions = {width},
                              .bytes = sizeof(float) * LAMPS_AGENTS * (size_t)width}},
                   .n_measures = 1,
                   .n_columns = 1,
                   .measures = measures}};
    *model = &m->base;
    return LUD_OK;
}

static void free_model(lud_model *model) {
    free(model);
}

static lud_status write_model(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error) {
    lud_tree *section = lud_tree_add_mapping(arena, root, "lamps");
    if (!section) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    return lud_options_write(&table, arena, &model_of(model)->options, section, error);
}

/* ---- what happens ---- */

/* What a joint action does before the gust comes: the only place where this is written. */
static lamps_state act(const lamps_model *m, lamps_state s, const int32_t *joint) {
    for (int i = 0; i < LAMPS_AGENTS; i++) {
        if (joint[i] == LAMPS_LEFT && s.place[i] > 0) s.place[i]--;
        if (joint[i] == LAMPS_RIGHT && s.place[i] + 1 < m->options.lamps) s.place[i]++;
        if (joint[i] == LAMPS_SWITCH) s.lit ^= (uint8_t)(1 << s.place[i]);
    }
    s.step++;
    return s;
}

static bool is_terminal(const lud_model *model, const uint8_t *state) {
    const lamps_model *m = model_of(model);
    return state_of(state)->lit == all_lit(m) || state_of(state)->step >= m->options.max_steps;
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    for (int e = 0; e < range.n; e++)
        *state_at(states, e) = (lamps_state){.place = {0, (uint8_t)(model_of(model)->options.lamps - 1)}};
}

static void step(const lud_model *model, lud_range range, uint8_t *states, lud_actions joint,
                 lud_outcome outcome) {
    const lamps_model *m = model_of(model);
    for (int e = 0; e < range.n; e++) {
        lamps_state *s = state_at(states, e);
        *s = act(m, *s, joint.discrete + e * LAMPS_AGENTS);
        const lud_random_key key = {range.seed, range.first_environment + (uint32_t)e};
        const lud_words words = lud_draw(key, range.tick[e], 0, LUD_PURPOSE_TRANSITION, 0);
        if (lud_unit53(words.v[0], words.v[1]) < m->options.gust)
            s->lit &= (uint8_t) ~(1 << lud_below(words.v[2], (uint32_t)m->options.lamps));
        const bool done = s->lit == all_lit(m);
        for (int i = 0; i < LAMPS_AGENTS && outcome.rewards; i++)
            outcome.rewards[e * LAMPS_AGENTS + i] = (float)done;
        if (outcome.terminated) outcome.terminated[e] = done;
        if (outcome.truncated) outcome.truncated[e] = !done && s->step >= m->options.max_steps;
    }
}

/* The same with every gust there can be, each successor once. */
static lud_status successors(const lud_model *model, const uint8_t *state, const int32_t *joint,
                             lud_successors *out, lud_error *error) {
    const lamps_model *m = model_of(model);
    const int n = (int)m->options.lamps;
    out->n = 0;
    if (is_terminal(model, state)) return LUD_OK;
    lud_status status = lud_successors_reserve(out, sizeof(lamps_state), (size_t)n + 1, error);
    if (status) return status;
    const lamps_state calm = act(m, *state_of(state), joint);
    double unchanged = 1;
    for (int k = 0; k < n && m->options.gust > 0; k++) {
        if (!(calm.lit >> k & 1)) continue;
        lamps_state s = calm;
        s.lit ^= (uint8_t)(1 << k);
        *state_at(out->states, (int)out->n) = s;
        out->probability[out->n++] = m->options.gust / n;
        unchanged -= m->options.gust / n;
    }
    if (unchanged < 1e-12) return LUD_OK; /* all lamps burn and a gust is certain */
    *state_at(out->states, (int)out->n) = calm;
    out->probability[out->n++] = unchanged;
    return LUD_OK;
}

static void observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    const int n = (int)model_of(model)->options.lamps;
    float *out = parts[0];
    for (int e = 0; e < range.n && out; e++)
        for (int i = 0; i < LAMPS_AGENTS; i++, out += 3 * n) {
            const lamps_state *s = state_of(states) + e;
            for (int k = 0; k < n; k++) {
                out[k] = (float)(s->lit >> k & 1);
                out[n + k] = s->place[i] == k;
                out[2 * n + k] = s->place[!i] == k;
            }
        }
}

/* ---- goals of the person: lamp g burns ---- */

static int n_goals(const lud_model *model, int agent) {
    return roles[agent] == LUD_ROLE_HUMAN ? (int)model_of(model)->options.lamps : 0;
}
static double goal_weight(const lud_model *model, int agent, int goal) {
    (void)agent, (void)goal;
    return 1.0 / (double)model_of(model)->options.lamps;
}
static bool achieved(const lud_model *model, const uint8_t *state, int agent, int goal) {
    (void)model, (void)agent;
    return state_of(state)->lit >> goal & 1;
}
static void describe_goal(const lud_model *model, int agent, int goal, lud_text *out) {
    (void)model, (void)agent;
    lud_text_append(out, "lamp %d burns", goal);
}

static void measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    for (int e = 0; e < n; e++)
        values[e] = __builtin_popcount(state_of(states)[e].lit) / (double)model_of(model)->options.lamps;
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    const lamps_state *s = state_of(state);
    lud_text_append(out, "step %d, lamps ", s->step);
    for (int k = 0; k < model_of(model)->options.lamps; k++)
        lud_text_append(out, "%c", s->lit >> k & 1 ? '*' : '.');
    lud_text_append(out, ", person at %d, robot at %d\n", s->place[0], s->place[1]);
}

const lud_world lamps_world = {.name = "lamps",
                               .about = "a row of lamps, two who switch them, and gusts",
                               .options = tables,
                               .parse = parse,
                               .free = free_model,
                               .write = write_model,
                               .reset = reset,
                               .step = step,
                               .observe = observe,
                               .successors = successors,
                               .is_terminal = is_terminal,
                               .n_goals = n_goals,
                               .goal_weight = goal_weight,
                               .achieved = achieved,
                               .describe_goal = describe_goal,
                               .measure = measure,
                               .describe = describe};
