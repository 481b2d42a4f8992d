#include "learn/empo/exact/open_goals.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/random.h"
#include "sim/statespace/state_table.h"

enum { MOST_STATES = 20000, MOST_JOINT_ACTIONS = 4096, MOST_GOALS = 8 };
enum { MOST_EPISODES = 4096, MOST_STEPS = 1 << 20 };

/* The line of a description that is about an agent, or all of it. */
static int line_about(const char *text, int agent, const char **line) {
    char begin[32];
    const size_t length = (size_t)snprintf(begin, sizeof begin, "agent %d ", agent);
    *line = text;
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, begin, length) != 0) continue;
        *line = at;
        return (int)strcspn(at, "\n");
    }
    return (int)strlen(text);
}

lud_status lud_empo_no_open_goal(const lud_model *model, const lud_empo_layout *layout, int human,
                                 const uint8_t *state, lud_error *error) {
    const int agent = layout->humans[human],
              n_goals = layout->goal_begin[human + 1] - layout->goal_begin[human];
    lud_text text = {0}, goals = {0};
    model->world->describe(model, state, &text);
    for (int g = 0; g < n_goals && g < MOST_GOALS && model->world->describe_goal; g++) {
        if (g) lud_text_append(&goals, ", ");
        model->world->describe_goal(model, agent, g, &goals);
    }
    if (n_goals > MOST_GOALS) lud_text_append(&goals, ", ... (%d in all)", n_goals);
    const char *whole = text.bytes ? text.bytes : "", *line;
    const int length = line_about(whole, agent, &line);
    lud_status status = lud_invalid(
        error,
        "no goal is open to agent %d any more in a state that can be reached: %.*s. So its power is 0 "
        "and V_r infinite; give it a goal for every cell it can stand on. Its goals: %s. The state: %s",
        agent, length, line, goals.bytes ? goals.bytes : "", whole);
    lud_text_free(&text);
    lud_text_free(&goals);
    return status;
}

/* States met so far, in the order in which they were met. */
typedef struct walk {
    const lud_model *model;
    size_t bytes;
    lud_state_table table;
    lud_state_store store;
    lud_state_cursor cursor;
    int32_t *joint; /* [n_agents] */
    lud_successors out;
} walk;

static void end_walk(walk *w) {
    lud_state_table_free(&w->table);
    lud_successors_free(&w->out);
    free(w->store.fresh);
    free(w->joint);
}

static lud_status begin_walk(walk *w, const lud_model *model, uint64_t seed, lud_error *error) {
    const uint32_t tick = 0;
    *w = (walk){.model = model, .bytes = model->layout.state_bytes};
    w->store = (lud_state_store){.state_bytes = w->bytes,
                                 .fresh = calloc(MOST_STATES + 2 * LUD_STATE_CURSOR_CHUNK, w->bytes + 1)};
    w->joint = calloc((size_t)model->layout.n_agents + 1, sizeof *w->joint);
    uint8_t *start = calloc(1, w->bytes + 1);
    lud_status status = w->store.fresh && w->joint && start
                            ? lud_state_table_create(&w->table, MOST_STATES + 1, error)
                            : lud_fail(error, LUD_ERROR_MEMORY, "no memory to look for open goals");
    if (!status) {
        model->world->reset(model, (lud_range){.seed = seed, .n = 1, .tick = &tick}, start);
        const uint32_t tag = lud_state_tag(start, w->bytes);
        uint32_t number;
        lud_state_table_insert(&w->table, &w->store, &w->cursor, 1, start, &tag, &number);
    }
    free(start);
    if (status) end_walk(w);
    return status;
}

/* What can be seen of a state from its successors under the joint action at hand. */
typedef struct outlook {
    bool terminal, ends, reaches; /* has no successors; all of them are terminal; one achieves a goal */
} outlook;

static void look(const walk *w, const lud_empo_layout *layout, int human, outlook *o) {
    const lud_world *world = w->model->world;
    const int agent = layout->humans[human],
              n_goals = layout->goal_begin[human + 1] - layout->goal_begin[human];
    if (w->out.n == 0) o->terminal = true;
    for (size_t i = 0; i < w->out.n; i++) {
        const uint8_t *next = w->out.states + i * w->bytes;
        o->ends = o->ends && world->is_terminal(w->model, next);
        for (int g = 0; g < n_goals && !o->reaches; g++)
            o->reaches =
                world->goal_weight(w->model, agent, g) > 0 && world->achieved(w->model, next, agent, g);
    }
}

/* The person's own actions; adds what follows to the states met. */
static lud_status expand(walk *w, const lud_empo_layout *layout, int human, const uint8_t *state, outlook *o,
                         lud_error *error) {
    const int agent = layout->humans[human];
    memset(w->joint, 0, (size_t)w->model->layout.n_agents * sizeof *w->joint);
    for (int a = 0; a < layout->n_human_actions[human]; a++) {
        w->joint[agent] = a;
        LUD_TRY(w->model->world->successors(w->model, state, w->joint, &w->out, error));
        look(w, layout, human, o);
        for (size_t i = 0; i < w->out.n && w->cursor.next < MOST_STATES; i++) {
            const uint8_t *next = w->out.states + i * w->bytes;
            const uint32_t tag = lud_state_tag(next, w->bytes);
            uint32_t number;
            lud_state_table_insert(&w->table, &w->store, &w->cursor, 1, next, &tag, &number);
        }
    }
    return LUD_OK;
}

/* Whether whatever all agents do the episode ends next and achieves none of the person's goals. */
static lud_status is_hopeless(walk *w, const lud_empo_layout *layout, int human, const uint8_t *state,
                              bool *hopeless, lud_error *error) {
    const int32_t n = lud_joint_action_count(&w->model->layout);
    outlook o = {.ends = true};
    *hopeless = n > 0 && n <= MOST_JOINT_ACTIONS;
    for (int32_t k = 0; k < n && *hopeless; k++) {
        lud_joint_action_decode(&w->model->layout, k, w->joint);
        LUD_TRY(w->model->world->successors(w->model, state, w->joint, &w->out, error));
        look(w, layout, human, &o);
        *hopeless = o.ends && !o.reaches;
    }
    return LUD_OK;
}

static lud_status check_person(walk *w, const lud_empo_layout *layout, int human, lud_error *error) {
    for (uint64_t i = 0; i < w->cursor.next; i++) {
        const uint8_t *state = w->store.fresh + i * w->bytes;
        outlook o = {.ends = true};
        bool hopeless = false;
        lud_status status = lud_interrupt_check(error);
        if (!status) status = expand(w, layout, human, state, &o, error);
        if (!status && !o.terminal && o.ends && !o.reaches)
            status = is_hopeless(w, layout, human, state, &hopeless, error);
        if (!status && hopeless) status = lud_empo_no_open_goal(w->model, layout, human, state, error);
        if (status) return status;
    }
    return LUD_OK;
}

/* ---- episodes of chance ---- */

/* Looks at the last state but one of an episode in which everybody acts at random, where it is a new one. */
static lud_status check_episode(walk *w, const lud_empo_layout *layout, uint64_t seed, uint32_t episode,
                                uint8_t *state, lud_error *error) {
    const lud_model *model = w->model;
    const lud_world *world = model->world;
    const uint32_t start = 0;
    world->reset(model, (lud_range){.seed = seed, .n = 1, .tick = &start}, state);
    for (uint32_t tick = 0; !world->is_terminal(model, state); tick++) {
        if (world->elapsed(model, state) == model->layout.max_steps - 1) break;
        const lud_random_key key = {seed, episode};
        for (int i = 0; i < model->layout.n_agents; i++) {
            const lud_words words = lud_draw(key, tick, (uint32_t)i, LUD_PURPOSE_USER, 0);
            w->joint[i] = (int32_t)lud_below(words.v[0], (uint32_t)model->layout.actions[i].n_discrete);
        }
        const lud_range range = {.seed = seed, .first_environment = episode, .n = 1, .tick = &tick};
        world->step(model, range, state, (lud_actions){.discrete = w->joint}, (lud_outcome){0});
    }
    if (world->is_terminal(model, state)) return LUD_OK;
    const uint64_t known = w->cursor.next;
    const uint32_t tag = lud_state_tag(state, w->bytes);
    uint32_t number;
    lud_state_table_insert(&w->table, &w->store, &w->cursor, 1, state, &tag, &number);
    if (w->cursor.next == known) return LUD_OK;
    lud_status status = LUD_OK;
    for (int human = 0; human < layout->n_humans && !status; human++) {
        bool hopeless = false;
        status = is_hopeless(w, layout, human, state, &hopeless, error);
        if (!status && hopeless) status = lud_empo_no_open_goal(model, layout, human, state, error);
    }
    return status;
}

static lud_status check_episodes(walk *w, const lud_empo_layout *layout, uint64_t seed, lud_error *error) {
    const int length = w->model->layout.max_steps;
    if (!w->model->world->elapsed || length < 1 || length > MOST_STEPS) return LUD_OK;
    uint8_t *state = calloc(1, w->bytes + 1);
    if (!state) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to look for open goals");
    const int n = MOST_STEPS / length < MOST_EPISODES ? MOST_STEPS / length : MOST_EPISODES;
    lud_status status = LUD_OK;
    for (int i = 0; i < n && !status; i++) {
        status = lud_interrupt_check(error);
        if (!status) status = check_episode(w, layout, seed, (uint32_t)i, state, error);
    }
    free(state);
    return status;
}

lud_status lud_empo_check_open_goals(const lud_model *model, const lud_empo_layout *layout, uint64_t seed,
                                     lud_error *error) {
    lud_status status = LUD_OK;
    for (int human = 0; human < layout->n_humans && !status; human++) {
        walk w;
        LUD_TRY(begin_walk(&w, model, seed, error));
        status = check_person(&w, layout, human, error);
        end_walk(&w);
    }
    walk w;
    if (!status) status = begin_walk(&w, model, seed, error);
    if (status) return status;
    status = check_episodes(&w, layout, seed, error);
    end_walk(&w);
    return status;
}
