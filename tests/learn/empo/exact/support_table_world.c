#include "learn/empo/exact/support_table_world.h"

#include <stdlib.h>
#include <string.h>

static uint16_t index_of(const uint8_t *state) {
    return (uint16_t)(state[0] | state[1] << 8);
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    memset(states, 0, (size_t)range.n * model->layout.state_bytes);
}

static lud_status successors(const lud_model *model, const uint8_t *state, const int32_t *joint_action,
                             lud_successors *out, lud_error *error) {
    const table_model *m = (const table_model *)model;
    int s = index_of(state), k = lud_joint_action_encode(&model->layout, joint_action);
    out->n = 0;
    lud_status status = lud_successors_reserve(out, 2, TABLE_MAX_OUT, error);
    if (status != LUD_OK) return status;
    for (int i = 0; i < m->n_out[s][k]; i++) {
        out->states[2 * out->n] = (uint8_t)m->out[s][k][i];
        out->states[2 * out->n + 1] = (uint8_t)(m->out[s][k][i] >> 8);
        out->probability[out->n++] = m->probability[s][k][i];
    }
    return LUD_OK;
}

static bool is_terminal(const lud_model *model, const uint8_t *state) {
    return ((const table_model *)model)->n_out[index_of(state)][0] == 0;
}

static int n_goals(const lud_model *model, int agent) {
    const table_model *m = (const table_model *)model;
    return m->roles[agent] == LUD_ROLE_HUMAN ? m->n_goals : 0;
}

static double goal_weight(const lud_model *model, int agent, int goal) {
    return ((const table_model *)model)->weight[agent][goal];
}

static bool achieved(const lud_model *model, const uint8_t *state, int agent, int goal) {
    return ((const table_model *)model)->achieved[index_of(state)][agent][goal];
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    (void)model;
    lud_text_append(out, "state %d of the table", index_of(state));
}

static const lud_world table_world = {.name = "table",
                                      .about = "a game given by tables",
                                      .reset = reset,
                                      .successors = successors,
                                      .is_terminal = is_terminal,
                                      .n_goals = n_goals,
                                      .goal_weight = goal_weight,
                                      .achieved = achieved,
                                      .describe = describe};

typedef struct dice {
    uint64_t seed;
    uint32_t count;
} dice;

static uint32_t roll(dice *d, uint32_t n) {
    lud_words words = lud_draw((lud_random_key){d->seed, 0}, d->count++, 0, LUD_PURPOSE_USER, 0);
    return lud_below(words.v[0], n);
}

table_model *table_world_random(uint64_t seed, int n_humans, int n_robots, int n_actions, int layers,
                                int width, bool skips) {
    table_model *m = calloc(1, sizeof *m);
    dice d = {seed, 0};
    int n_agents = n_humans + n_robots;
    m->n_states = 1 + (layers - 1) * width;
    m->n_joint = 1;
    m->n_goals = 2 + (int)roll(&d, TABLE_MAX_GOALS - 1);
    for (int i = 0; i < n_agents; i++) {
        m->actions[i].n_discrete = n_actions;
        m->n_joint *= n_actions;
    }
    for (int i = 0; i < n_humans; i++) { /* people and robots in mixed order */
        int agent = (int)roll(&d, (uint32_t)n_agents);
        while (m->roles[agent]) agent = (agent + 1) % n_agents;
        m->roles[agent] = LUD_ROLE_HUMAN;
    }
    for (int i = 0; i < n_agents; i++)
        if (!m->roles[i]) m->roles[i] = LUD_ROLE_ROBOT;
    m->base = (lud_model){&table_world,
                          {.state_bytes = 2, .n_agents = n_agents, .actions = m->actions, .roles = m->roles}};
    for (int i = 0; i < n_agents; i++)
        for (int g = 0; g < m->n_goals; g++) m->weight[i][g] = (1 + roll(&d, 9)) / 10.0;
    for (int s = 0; s < m->n_states; s++)
        for (int i = 0; i < n_agents; i++) /* goal 0 always holds, so that everybody has some power */
            for (int g = 0; g < m->n_goals; g++) m->achieved[s][i][g] = g == 0 || roll(&d, 4) == 0;
    for (int s = 0; s < m->n_states; s++) {
        int layer = s == 0 ? 0 : 1 + (s - 1) / width;
        bool terminal = layer == layers - 1 || (s > 0 && roll(&d, 12) == 0);
        for (int k = 0; k < m->n_joint && !terminal; k++) {
            int n = 1 + (int)roll(&d, TABLE_MAX_OUT), total = 0, share[TABLE_MAX_OUT];
            for (int i = 0; i < n; i++) {
                int target = layer + 1;
                if (skips) target += (int)roll(&d, (uint32_t)(layers - target));
                int first = 1 + (target - 1) * width, offset = (int)roll(&d, (uint32_t)width);
                for (int j = 0; j < i; j++)
                    if (m->out[s][k][j] == first + offset) n = i; /* no successor twice: fewer of them */
                if (i == n) break;
                m->out[s][k][i] = (uint16_t)(first + offset);
                total += share[i] = 1 + (int)roll(&d, 5);
            }
            m->n_out[s][k] = n;
            for (int i = 0; i < n; i++) m->probability[s][k][i] = (double)share[i] / total;
        }
    }
    return m;
}
