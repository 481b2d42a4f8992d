#include "learn/empo/networks/networks.h"

#include <stdio.h>
#include <stdlib.h>

const char *const lud_empo_net_prefixes[LUD_EMPO_NETS] = {"v_h_e.", "x_h.", "u_r.", "q_r.", "v_r."};

/* Streams of the dropout draws: two layers a head. */
enum { STREAM_V_H_E, STREAM_X_H = 2, STREAM_U_R = 4, STREAM_Q_R = 6, STREAM_V_R = 8, STREAM_DUEL = 14 };

/* Soft clamps reach a little beyond the range so that gradients exist at its ends. */
static const double clamp_margin = 1e-6;

lud_empo_shape lud_empo_shape_defaults(void) {
    return (lud_empo_shape){.hidden = 256,
                            .goal_features = 64,
                            .agent_embedding = 16,
                            .position_features = 32,
                            .agent_features = 32,
                            .max_agents = 10,
                            .form = LUD_GRID_FULL,
                            .dropout = {0.5, 0.5, 0.5, 0.5, 0.5},
                            .eta = 1.1,
                            .xi = 1.0,
                            .x_h_floor = 0.01};
}

lud_empo_shape lud_empo_shape_of(const lud_empo_features *f) {
    lud_empo_shape s = lud_empo_shape_defaults();
    s.height = f->height;
    s.width = f->width;
    s.n_agents = f->grid->n_agents;
    s.n_humans = f->layout.n_humans;
    if (s.max_agents < s.n_agents) s.max_agents = s.n_agents;
    return s;
}

static int64_t at_least(int64_t value, int64_t minimum) {
    return value > minimum ? value : minimum;
}

/* `module`.`layer` in `text`. */
static const char *join(char text[256], const char *module, const char *layer) {
    snprintf(text, 256, "%s.%s", module, layer);
    return text;
}

static int linear_relu(lud_nn *net, int x, const char *module, const char *layer, int64_t width) {
    char name[256];
    return lud_nn_linear(net, x, join(name, module, layer), width, LUD_RELU);
}

int lud_empo_state_encoder(lud_nn *net, const lud_empo_graph *g, const lud_empo_shape *s,
                           const char *module) {
    char name[256];
    const int64_t channels = at_least(8, s->hidden / 4);
    const int64_t half_height = s->height / 2, half_width = s->width / 2;
    int grid = lud_nn_grid_conv(net, g->grid, join(name, module, "grid_conv.0"), s->form, s->height, s->width,
                                channels, 3, LUD_RELU);
    grid = lud_nn_max_pool(net, grid, s->height, s->width, 2);
    grid = lud_nn_conv(net, grid, join(name, module, "grid_conv.3"), half_height, half_width, channels, 3,
                       LUD_RELU);
    grid = lud_nn_concat(net, (const int[]){grid, g->global}, 2);
    grid = linear_relu(net, grid, module, "grid_fc.0", at_least(16, s->hidden / 2));
    int agents = linear_relu(net, g->agents, module, "agent_fc.0", 2 * at_least(8, s->hidden / 4));
    agents = linear_relu(net, agents, module, "agent_fc.2", at_least(8, s->hidden / 4));
    const int interactive =
        linear_relu(net, g->interactive, module, "interactive_fc.0", at_least(4, s->hidden / 8));
    const int all = lud_nn_concat(net, (const int[]){grid, agents, interactive}, 3);
    return linear_relu(net, all, module, "output_fc.0", s->hidden);
}

int lud_empo_goal_encoder(lud_nn *net, const lud_empo_graph *g, const lud_empo_shape *s, const char *module) {
    return linear_relu(net, g->entry_goal, module, "fc.0", s->goal_features);
}

/* The position branch runs once per cell of the grid, not once per entry. */
int lud_empo_agent_encoder(lud_nn *net, const lud_empo_graph *g, const lud_empo_shape *s,
                           const char *module) {
    char name[256];
    const int index = lud_nn_embedding(net, g->entry_agent, join(name, module, "index_embedding"),
                                       s->max_agents, s->agent_embedding);
    int place = lud_nn_conv(net, g->cell_maps, join(name, module, "position_conv.0"), s->height, s->width, 8,
                            3, LUD_RELU);
    place =
        lud_nn_conv(net, place, join(name, module, "position_conv.2"), s->height, s->width, 8, 3, LUD_RELU);
    place = linear_relu(net, place, module, "position_fc.0", s->position_features);
    place = lud_nn_gather(net, place, g->entry_cell);
    const int features = linear_relu(net, g->entry_features, module, "agent_feature_fc.0", s->agent_features);
    return lud_nn_concat(net, (const int[]){index, place, features}, 3);
}

int lud_empo_value_head(lud_nn *net, int x, const lud_empo_shape *s, const char *module, int64_t width,
                        double dropout, uint32_t stream) {
    char name[256];
    int h = linear_relu(net, x, module, "0", s->hidden);
    h = lud_nn_dropout(net, h, dropout, stream);
    h = linear_relu(net, h, module, "2", s->hidden);
    h = lud_nn_dropout(net, h, dropout, stream + 1);
    return lud_nn_linear(net, h, join(name, module, "4"), width, LUD_LINEAR);
}

int lud_empo_clamped(lud_nn *net, int x, double low, double high) {
    const lud_map soft = {LUD_MAP_SOFT_CLAMP, low - clamp_margin, high + clamp_margin};
    const lud_map hard = {LUD_MAP_CLAMP, low, high};
    const int value = lud_nn_map_by_mode(net, x, soft, hard);
    lud_nn_output(net, value);
    return value;
}

/* Largest raw output in log space: its exponential squared is still finite in single precision. */
static const double largest_log = 40.0;

/* Q_r and V_r: a map of the raw output; or z = sigmoid(raw) and -z^(-eta xi); or -exp(raw), whose ln(1 -
 * value) is softplus(raw): about ln(-value) where that is large, and flat towards 0, which no logarithm
 * reaches. */
static int robot_value(lud_nn *net, int raw, const lud_empo_shape *s, lud_map_kind map, int *z) {
    int value;
    if (s->z_space) {
        *z = lud_nn_map(net, raw, LUD_SIGMOID);
        lud_nn_output(net, *z);
        value = lud_nn_map(net, *z, (lud_map){LUD_MAP_NEG_POWER, -s->eta * s->xi, 0.0});
    } else if (s->log_space) {
        const int clamped_raw = lud_nn_map(net, raw, (lud_map){LUD_MAP_CLAMP, -largest_log, largest_log});
        *z = lud_nn_map(net, clamped_raw, (lud_map){LUD_MAP_SOFTPLUS, 0.0, 0.0});
        lud_nn_output(net, *z);
        value = lud_nn_map(net, clamped_raw, (lud_map){LUD_MAP_EXP, 0.0, 0.0});
        value = lud_nn_map(net, value, (lud_map){LUD_MAP_AFFINE, -1.0, 0.0});
    } else {
        value = lud_nn_map(net, raw, (lud_map){map, 0.0, 0.0});
    }
    lud_nn_output(net, value);
    return value;
}

/* Raw outputs of Q_r for every joint robot action. Dueling: raw = v + a - mean(a), with a stream for v and
 * one for a (Wang et al., "Dueling network architectures for deep reinforcement learning", ICML 2016,
 * equation 9). The streams meet before the output map, so that Q_r keeps its sign and range whatever they
 * say. */
static int robot_raw(lud_nn *net, int x, const lud_empo_shape *s) {
    const double dropout = s->dropout[LUD_NET_Q_R];
    const int raw = lud_empo_value_head(net, x, s, "q_r.q_head", s->n_actions, dropout, STREAM_Q_R);
    if (!s->dueling) return raw;
    const int state = lud_empo_value_head(net, x, s, "q_r.state_head", 1, dropout, STREAM_DUEL);
    const int mean = lud_nn_sum_groups(net, raw, s->n_actions, -1.0 / (double)s->n_actions);
    const int level = lud_nn_broadcast_groups(net, lud_nn_add(net, state, mean), s->n_actions, 1.0);
    return lud_nn_add(net, raw, level);
}

lud_empo_graph lud_empo_declare_inputs(lud_nn *net, const lud_empo_shape *s, int64_t max_entries) {
    const int64_t n_cells = s->height * s->width;
    lud_empo_graph g = {
        .v_h_e = -1, .x_h = -1, .y = -1, .u_r = -1, .q_r = -1, .v_r = -1, .q_r_z = -1, .v_r_z = -1};
    g.entries = lud_nn_axis(net, max_entries);
    g.cells = lud_nn_axis(net, n_cells + 1);
    g.grid = lud_nn_input_on(net, 0, LUD_NN_I32, n_cells, 0);
    g.global = lud_nn_input(net, LUD_EMPO_GLOBAL);
    g.agents = lud_nn_input(net, LUD_EMPO_AGENT * s->n_agents);
    g.interactive = lud_nn_input(net, LUD_EMPO_INTERACTIVE);
    g.entry_state = lud_nn_input_on(net, g.entries, LUD_NN_I32, 1, 0);
    g.entry_agent = lud_nn_input_on(net, g.entries, LUD_NN_I32, 1, 0);
    g.entry_cell = lud_nn_input_on(net, g.entries, LUD_NN_I32, 1, 0);
    g.entry_features = lud_nn_input_on(net, g.entries, LUD_NN_REAL, LUD_EMPO_AGENT, 0);
    g.entry_goal = lud_nn_input_on(net, g.entries, LUD_NN_REAL, LUD_EMPO_GOAL, 0);
    if (s->walk.read) {
        g.state_paths = lud_nn_input(net, lud_empo_state_paths(s->n_humans));
        g.helped = lud_nn_input(net, 1);
        g.entry_paths = lud_nn_input_on(net, g.entries, LUD_NN_REAL, LUD_EMPO_GOAL_PATHS, 0);
        g.entry_alone = lud_nn_input_on(net, g.entries, LUD_NN_REAL, 1, 0);
    }
    g.cell_maps = lud_nn_input_on(net, g.cells, LUD_NN_REAL, n_cells, 0);
    lud_nn_set_constant(net, g.cell_maps);
    return g;
}

bool lud_empo_heads_apart(const lud_device *device, unsigned heads, unsigned parts[2]) {
    parts[1] = heads & (LUD_EMPO_U_R | LUD_EMPO_Q_R | LUD_EMPO_V_R);
    parts[0] = heads & ~parts[1];
    return device->n_threads > 1 && parts[0] && parts[1];
}

lud_empo_graph lud_empo_declare(lud_nn *net, const lud_empo_shape *s, unsigned heads, int64_t max_entries) {
    lud_empo_graph g = lud_empo_declare_inputs(net, s, max_entries);
    const int shared_state = lud_empo_state_encoder(net, &g, s, "v_h_e.state_encoder");
    const int fixed_state = lud_nn_stop_gradient(net, shared_state);
    int shared_agent = -1;
    if (heads & (LUD_EMPO_V_H_E | LUD_EMPO_X_H))
        shared_agent = lud_empo_agent_encoder(net, &g, s, "v_h_e.agent_encoder");
    if (heads & LUD_EMPO_V_H_E) {
        const int parts[4] = {lud_nn_gather(net, shared_state, g.entry_state),
                              lud_empo_goal_encoder(net, &g, s, "v_h_e.goal_encoder"), shared_agent,
                              g.entry_paths};
        int raw = lud_empo_value_head(net, lud_nn_concat(net, parts, s->walk.read ? 4 : 3), s,
                                      "v_h_e.value_head", 1, s->dropout[LUD_NET_V_H_E], STREAM_V_H_E);
        if (s->walk.read) raw = lud_nn_add(net, raw, g.entry_alone);
        g.v_h_e = lud_empo_clamped(net, raw, 0.0, 1.0);
    }
    if (heads & LUD_EMPO_X_H) {
        const int own_state = lud_empo_state_encoder(net, &g, s, "x_h.own_state_encoder");
        const int both = lud_nn_concat(net, (const int[]){fixed_state, own_state}, 2);
        const int parts[3] = {lud_nn_gather(net, both, g.entry_state),
                              lud_nn_stop_gradient(net, shared_agent),
                              lud_empo_agent_encoder(net, &g, s, "x_h.own_agent_encoder")};
        const int raw = lud_empo_value_head(net, lud_nn_concat(net, parts, 3), s, "x_h.value_head", 1,
                                            s->dropout[LUD_NET_X_H], STREAM_X_H);
        g.x_h = lud_empo_clamped(net, raw, s->x_h_floor, 1.0);
    }
    if (heads & LUD_EMPO_U_R) {
        const int parts[2] = {fixed_state, lud_empo_state_encoder(net, &g, s, "u_r.own_state_encoder")};
        const int raw = lud_empo_value_head(net, lud_nn_concat(net, parts, 2), s, "u_r.y_head", 1,
                                            s->dropout[LUD_NET_U_R], STREAM_U_R);
        g.y = lud_nn_map(net, raw, (lud_map){LUD_MAP_ONE_PLUS_EXP, 0.0, 0.0});
        g.u_r = lud_nn_map(net, g.y, (lud_map){LUD_MAP_NEG_POWER, s->eta, 0.0});
        lud_nn_output(net, g.y);
        lud_nn_output(net, g.u_r);
    }
    if (heads & LUD_EMPO_Q_R) {
        const int parts[2] = {fixed_state, lud_empo_state_encoder(net, &g, s, "q_r.own_state_encoder")};
        const int raw = robot_raw(net, lud_nn_concat(net, parts, 2), s);
        g.q_r = robot_value(net, raw, s, LUD_MAP_NEG_SOFTPLUS, &g.q_r_z);
    }
    if (heads & LUD_EMPO_V_R) {
        const int parts[3] = {fixed_state, lud_empo_state_encoder(net, &g, s, "v_r.own_state_encoder"),
                              g.state_paths};
        int raw = lud_empo_value_head(net, lud_nn_concat(net, parts, s->walk.read ? 3 : 2), s,
                                      "v_r.value_head", 1, s->dropout[LUD_NET_V_R], STREAM_V_R);
        if (s->walk.read && s->log_space) raw = lud_nn_add(net, raw, g.helped);
        g.v_r = robot_value(net, raw, s, LUD_MAP_NEG_SOFTPLUS_NEG, &g.v_r_z);
    }
    return g;
}

bool lud_empo_register(lud_parameters *parameters, const lud_empo_shape *shape) {
    lud_nn *net = lud_nn_create(parameters, 0);
    if (!net) return false;
    lud_empo_declare(net, shape, LUD_EMPO_ALL_HEADS, 0);
    lud_nn_destroy(net);
    return true;
}

bool lud_empo_prepare(lud_nn *net, const lud_empo_graph *graph, const lud_empo_shape *shape) {
    const size_t n_cells = (size_t)(shape->height * shape->width);
    double *maps = calloc((n_cells + 1) * n_cells, sizeof *maps);
    if (!maps) return false;
    for (size_t i = 0; i < n_cells; i++) maps[i * n_cells + i] = 1.0; /* the last row, nowhere, stays empty */
    lud_nn_set_rows(net, graph->cells, (int64_t)n_cells + 1);
    lud_nn_write(net, graph->cell_maps, (int64_t)n_cells + 1, maps);
    free(maps);
    return true;
}
