/* Worlds that a program registers: its functions behind the table of sim/world.h. A state is the program's
 * bytes and, behind them, the steps since the reset. */
#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "library/registered.h"

enum { MOST_BYTES = 4096, MOST_REGISTERED = 16, WORDS = 1024 };

struct ludus_random {
    lud_random_key key;
    uint32_t tick, n;
    lud_purpose purpose;
};

struct ludus_successors {
    lud_successors *out;
    const registered *world;
    int32_t step; /* of the successors */
    lud_status status;
    lud_error *error;
};

static int64_t limit_of(const lud_model *m) {
    return ((const model *)(const void *)m)->values.max_steps;
}

/* ---- states ---- */

static size_t step_offset(const registered *w) {
    return (w->given.state_bytes + sizeof(int32_t) - 1) / sizeof(int32_t) * sizeof(int32_t);
}

static size_t whole_bytes(const registered *w) {
    return (step_offset(w) + sizeof(int32_t) + 7) / 8 * 8;
}

static int32_t step_of(const registered *w, const uint8_t *state) {
    int32_t step;
    memcpy(&step, state + step_offset(w), sizeof step);
    return step;
}

static void set_step(const registered *w, uint8_t *state, int32_t step) {
    memcpy(state + step_offset(w), &step, sizeof step);
}

static bool has_ended(const lud_model *m, const uint8_t *state) {
    const registered *w = world_of(m);
    return w->given.ended && w->given.ended(options_of(m), state);
}

static bool is_terminal(const lud_model *m, const uint8_t *state) {
    return step_of(world_of(m), state) >= limit_of(m) || has_ended(m, state);
}

static int elapsed(const lud_model *m, const uint8_t *state) {
    return step_of(world_of(m), state);
}

static lud_status check_state(const lud_model *m, const uint8_t *state, lud_error *error) {
    const registered *w = world_of(m);
    const int32_t step = step_of(w, state);
    bool clean = true;
    for (size_t i = w->given.state_bytes; i < step_offset(w); i++) clean = clean && state[i] == 0;
    for (size_t i = step_offset(w) + sizeof step; i < whole_bytes(w); i++) clean = clean && state[i] == 0;
    if (step < 0 || step > limit_of(m))
        return lud_invalid(error, "step %d: expected 0 to %lld", step, (long long)limit_of(m));
    if (!clean || (w->given.is_state && !w->given.is_state(options_of(m), state)))
        return lud_invalid(error, "these bytes are no state of world '%s'", w->given.name);
    return LUD_OK;
}

/* ---- what happens ---- */

double ludus_random_next(ludus_random *random) {
    const lud_words w = lud_draw(random->key, random->tick, random->n++, random->purpose, 0);
    return lud_unit53(w.v[0], w.v[1]);
}

static ludus_random random_of(lud_range range, int e, lud_purpose purpose) {
    return (ludus_random){{range.seed, range.first_environment + (uint32_t)e}, range.tick[e], 0, purpose};
}

void ludus_successors_add(ludus_successors *s, double probability, const uint8_t *state) {
    lud_successors *out = s->out;
    const size_t bytes = s->world->given.state_bytes, whole = whole_bytes(s->world);
    if (s->status || !(probability > 0.0)) return;
    for (size_t i = 0; i < out->n; i++)
        if (memcmp(out->states + i * whole, state, bytes) == 0) {
            out->probability[i] += probability;
            return;
        }
    if ((s->status = lud_successors_reserve(out, whole, 1, s->error))) return;
    uint8_t *to = out->states + out->n * whole;
    memset(to, 0, whole);
    memcpy(to, state, bytes);
    set_step(s->world, to, s->step);
    out->probability[out->n++] = probability;
}

static lud_status successors(const lud_model *m, const uint8_t *state, const int32_t *actions,
                             lud_successors *out, lud_error *error) {
    const registered *w = world_of(m);
    ludus_successors s = {.out = out, .world = w, .step = step_of(w, state) + 1, .error = error};
    double sum = 0.0;
    out->n = 0;
    if (is_terminal(m, state)) return LUD_OK;
    w->given.successors(options_of(m), state, actions, &s);
    for (size_t i = 0; i < out->n; i++) sum += out->probability[i];
    if (!s.status && fabs(sum - 1.0) > 1e-9)
        return lud_invalid(error, "world '%s': the probabilities of its successors sum to %.9g, expected 1",
                           w->given.name, sum);
    return s.status;
}

/* One of the successors, which are listed in `all`. Where there is none, as memory is out or they are wrong,
 * the state stays. */
static void draw_successor(const lud_model *m, const uint8_t *state, const int32_t *actions,
                           ludus_random *random, lud_successors *all, uint8_t *next) {
    if (successors(m, state, actions, all, NULL) || all->n == 0) return;
    double left = ludus_random_next(random);
    size_t i = 0;
    while (i + 1 < all->n && left >= all->probability[i]) left -= all->probability[i++];
    memcpy(next, all->states + i * whole_bytes(world_of(m)), world_of(m)->given.state_bytes);
}

static void reset(const lud_model *m, lud_range range, uint8_t *states) {
    const registered *w = world_of(m);
    for (int e = 0; e < range.n; e++) {
        uint8_t *state = states + (size_t)e * whole_bytes(w);
        ludus_random random = random_of(range, e, LUD_PURPOSE_RESET);
        memset(state, 0, whole_bytes(w));
        w->given.reset(options_of(m), &random, state);
    }
}

static void step(const lud_model *m, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome) {
    const registered *w = world_of(m);
    const int n_agents = w->given.n_agents;
    _Alignas(16) uint8_t next[MOST_BYTES + 16];
    lud_successors all = {0};
    for (int e = 0; e < range.n; e++) {
        uint8_t *state = states + (size_t)e * whole_bytes(w);
        const int32_t *joint = actions.discrete + e * n_agents;
        ludus_random random = random_of(range, e, LUD_PURPOSE_TRANSITION);
        memcpy(next, state, whole_bytes(w));
        if (w->given.step)
            w->given.step(options_of(m), state, joint, &random, next);
        else
            draw_successor(m, state, joint, &random, &all, next);
        set_step(w, next, step_of(w, state) + 1);
        if (outcome.rewards) {
            float *rewards = outcome.rewards + e * n_agents;
            memset(rewards, 0, (size_t)n_agents * sizeof *rewards);
            if (w->given.reward) w->given.reward(options_of(m), state, joint, next, rewards);
        }
        memcpy(state, next, whole_bytes(w));
        const bool over = has_ended(m, state);
        if (outcome.terminated) outcome.terminated[e] = over;
        if (outcome.truncated) outcome.truncated[e] = !over && step_of(w, state) >= limit_of(m);
    }
    lud_successors_free(&all);
}

static void observe(const lud_model *m, lud_range range, const uint8_t *states, void *const *parts) {
    const registered *w = world_of(m);
    float *numbers = parts[0];
    if (!numbers) return;
    for (int e = 0; e < range.n; e++) {
        const uint8_t *state = states + (size_t)e * whole_bytes(w);
        for (int i = 0; i < w->given.n_agents; i++, numbers += w->given.n_numbers + 1) {
            w->given.observe(options_of(m), state, i, numbers);
            numbers[w->given.n_numbers] = (float)step_of(w, state) / (float)limit_of(m);
        }
    }
}

/* ---- goals, measures, words ---- */

static int n_goals(const lud_model *m, int agent) {
    return world_of(m)->roles[agent] == LUD_ROLE_HUMAN ? world_of(m)->given.n_goals : 0;
}

static double goal_weight(const lud_model *m, int agent, int goal) {
    (void)agent, (void)goal;
    return 1.0 / world_of(m)->given.n_goals;
}

static bool achieved(const lud_model *m, const uint8_t *state, int agent, int goal) {
    return world_of(m)->given.achieved(options_of(m), state, agent, goal);
}

static void describe_goal(const lud_model *m, int agent, int goal, lud_text *out) {
    (void)m, (void)agent;
    lud_text_append(out, "goal %d", goal);
}

static void measure(const lud_model *m, int n, const uint8_t *states, double *numbers) {
    const registered *w = world_of(m);
    for (int e = 0; e < n; e++)
        numbers[e] = w->given.score(options_of(m), states + (size_t)e * whole_bytes(w));
}

static void describe(const lud_model *m, const uint8_t *state, lud_text *out) {
    char words[WORDS] = "";
    world_of(m)->given.describe(options_of(m), state, words, sizeof words);
    words[sizeof words - 1] = '\0';
    lud_text_append(out, "step %d\n%s\n", step_of(world_of(m), state), words);
}

/* ---- models ---- */

static void free_model(lud_model *m) {
    free(m);
}

static lud_layout layout_of(const registered *w, int64_t max_steps) {
    const int n = w->given.n_numbers + 1;
    return (lud_layout){.state_bytes = whole_bytes(w),
                        .n_agents = w->given.n_agents,
                        .max_steps = (int)max_steps,
                        .actions = w->actions,
                        .roles = w->roles,
                        .n_parts = 1,
                        .parts = {{.name = "numbers",
                                   .kind = LUD_OBSERVATION_VECTOR,
                                   .dtype = LUD_F32,
                                   .per_agent = true,
                                   .n_dimensions = 1,
                                   .dimensions = {n},
                                   .bytes = sizeof(float) * (size_t)w->given.n_agents * (size_t)n}},
                        .n_measures = w->given.score != NULL,
                        .n_columns = w->given.score != NULL,
                        .measures = &w->measure};
}

/* Whether the functions keep what they promise where an episode begins. */
static lud_status try_model(const lud_model *m, uint64_t seed, lud_error *error) {
    const registered *w = world_of(m);
    const uint32_t tick = 0;
    _Alignas(16) uint8_t state[MOST_BYTES + 16];
    const int32_t actions[MOST_AGENTS] = {0};
    lud_successors all = {0};
    reset(m, (lud_range){.seed = seed, .n = 1, .tick = &tick}, state);
    lud_status status = check_state(m, state, error);
    if (!status && w->given.successors) status = successors(m, state, actions, &all, error);
    lud_successors_free(&all);
    return status;
}

static lud_status parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                        lud_model **out, lud_error *error) {
    (void)file;
    const registered *w = (const registered *)(const void *)world;
    lud_arena *arena = lud_arena_create(0);
    model *m = calloc(1, sizeof *m);
    lud_status status = arena && m ? LUD_OK : lud_no_memory(error, "a model");
    if (!status)
        status = lud_options_read(&w->table, arena, lud_tree_get(root, w->given.name), &m->values, error);
    if (!status) m->base = (lud_model){&w->world, layout_of(w, m->values.max_steps)};
    if (!status) status = try_model(&m->base, seed, error);
    lud_arena_destroy(arena);
    if (status)
        free(m);
    else
        *out = &m->base;
    return status;
}

static lud_status write_model(const lud_model *m, lud_arena *arena, lud_tree *root, lud_error *error) {
    const registered *w = world_of(m);
    lud_tree *section = lud_tree_add_mapping(arena, root, w->given.name);
    if (!section) return lud_no_memory(error, "options");
    return lud_options_write(&w->table, arena, &((const model *)(const void *)m)->values, section, error);
}

/* ---- registering ---- */

static bool is_word(const char *name) {
    for (const char *c = name; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '_') return false;
    return *name && strlen(name) < 64;
}

static ludus_status check_world(const ludus_world *w, ludus_error *error) {
    LUDUS_REQUIRE(w && w->name && w->about && is_word(w->name), error);
    LUDUS_REQUIRE(w->n_options >= 0 && w->n_options < MOST_ROWS && (w->options || !w->n_options), error);
    for (int i = 0; i < w->n_options; i++) {
        const ludus_world_option *o = &w->options[i];
        LUDUS_REQUIRE(o->name && o->help && is_word(o->name) && strcmp(o->name, "max_steps") != 0, error);
        LUDUS_REQUIRE(o->least <= o->value && o->value <= o->most, error);
    }
    LUDUS_REQUIRE(w->n_agents >= 1 && w->n_agents <= MOST_AGENTS && w->roles, error);
    LUDUS_REQUIRE(w->n_actions >= 1 && w->n_actions <= 1024 && w->action_names, error);
    for (int i = 0; i < w->n_actions; i++) LUDUS_REQUIRE(w->action_names[i], error);
    LUDUS_REQUIRE(w->state_bytes >= 1 && w->state_bytes <= MOST_BYTES, error);
    LUDUS_REQUIRE(w->n_numbers >= 0 && w->n_numbers <= 1 << 20 && w->n_goals >= 0, error);
    LUDUS_REQUIRE(w->width > 0.0f && w->height > 0.0f && isfinite(w->width) && isfinite(w->height), error);
    LUDUS_REQUIRE(w->reset && (w->step || w->successors) && w->observe && w->describe && w->agent_position,
                  error);
    LUDUS_REQUIRE(w->achieved || w->n_goals == 0, error);
    for (int i = 0; i < w->n_agents; i++)
        LUDUS_REQUIRE(w->roles[i] >= LUDUS_ROLE_NONE && w->roles[i] <= LUDUS_ROLE_ROBOT, error);
    return LUDUS_OK;
}

static void fill_options(registered *r) {
    const ludus_world *w = &r->given;
    r->rows[0] = (lud_option){.key = "max_steps",
                              .type = LUD_OPTION_INT,
                              .offset = offsetof(values, max_steps),
                              .default_value = "100",
                              .minimum = 1,
                              .maximum = 1e9,
                              .help = "steps after which an episode is cut off"};
    for (int i = 0; i < w->n_options; i++) {
        const ludus_world_option *o = &w->options[i];
        snprintf(r->defaults[i], sizeof r->defaults[i], "%.17g", o->value);
        r->rows[i + 1] = (lud_option){.key = o->name,
                                      .type = LUD_OPTION_REAL,
                                      .offset = offsetof(values, options) + (size_t)i * sizeof(double),
                                      .default_value = r->defaults[i],
                                      .minimum = o->least,
                                      .maximum = o->most,
                                      .help = o->help};
    }
    r->table = (lud_option_table){w->name, w->about, r->rows, w->n_options + 1, sizeof(values)};
    r->tables[0] = &r->table;
}

static void fill(registered *r, const ludus_world *w) {
    r->given = *w;
    fill_options(r);
    for (int i = 0; i < w->n_agents; i++) {
        r->actions[i] = (lud_action_space){.n_discrete = w->n_actions, .names = w->action_names};
        r->roles[i] = (lud_role)w->roles[i];
    }
    r->measure = (lud_measure){.name = "score", .format = "%.3g", .help = "score of the last state"};
    r->world = (lud_world){.name = w->name,
                           .about = w->about,
                           .options = r->tables,
                           .parse = parse,
                           .free = free_model,
                           .write = write_model,
                           .reset = reset,
                           .step = step,
                           .observe = observe,
                           .successors = w->successors ? successors : NULL,
                           .is_terminal = is_terminal,
                           .check_state = check_state,
                           .elapsed = elapsed,
                           .n_goals = w->n_goals ? n_goals : NULL,
                           .goal_weight = goal_weight,
                           .achieved = achieved,
                           .describe_goal = describe_goal,
                           .measure = w->score ? measure : NULL,
                           .describe = describe};
}

ludus_status ludus_register_world(const ludus_world *world, ludus_error *error) {
    static registered all[MOST_REGISTERED];
    static int n;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const ludus_status wrong = check_world(world, error);
    if (wrong) return wrong;
    lud_error inner = {0};
    pthread_mutex_lock(&mutex);
    lud_status status = n < MOST_REGISTERED ? LUD_OK
                                            : lud_fail(&inner, LUD_ERROR_LIMIT,
                                                       "world '%s': %d are registered, the most "
                                                       "there may be",
                                                       world->name, n);
    if (!status) fill(&all[n], world);
    if (!status) status = lud_world_register(&all[n].world, &inner);
    if (!status) status = ludus_register_drawing(&all[n], &inner);
    if (!status) n++;
    pthread_mutex_unlock(&mutex);
    return ludus_lift(status, &inner, error);
}
