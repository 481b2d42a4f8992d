/* Second half of particle_block.h: observations, graphs, reset. Not to be included on its own. */

/* --- observations --- */

/* The numbers (at most view->width rows) of candidate k of a view, as agent sees it. */
BLOCK_CODE void view_candidate(const lud_particle_model *m, const particle_view *view, int agent, int k,
                               rows_type rows, row_type *out) {
    int id = view->of.ids[k];
    if (!view->shown[k]) {
        memset(out, 0, sizeof(row_type) * (size_t)view->width);
        return;
    }
    const real *x = rows[m->position_row[id]], *y = rows[m->position_row[id] + 1];
    const real *own_x = rows[m->position_row[agent]], *own_y = rows[m->position_row[agent] + 1];
    switch (view->term) {
    case VIEW_VELOCITY:
        memcpy(out, rows[m->velocity_row[id]], 2 * sizeof(row_type));
        break;
    case VIEW_POSITION:
        memcpy(out, rows[m->position_row[id]], 2 * sizeof(row_type));
        break;
    case VIEW_RELATIVE:
        EACH_LANE {
            out[0][l] = x[l] - own_x[l];
            out[1][l] = y[l] - own_y[l];
        }
        break;
    case VIEW_DISTANCE:
        distances_between(m, rows, agent, id, out[0]);
        break;
    case VIEW_SPEECH:
        memcpy(out, rows[m->speech_row[id] >= 0 ? m->speech_row[id] : m->zero_row],
               (size_t)m->options.speech_size * sizeof(row_type));
        break;
    case VIEW_COLOUR:
        for (int c = 0; c < view->width; c++) colour_lanes(m, rows, id, c, out[c]);
        break;
    case VIEW_INSIDE: {
        real reach = (real)(m->radius[agent] + m->radius[id]);
        row_type distance;
        distances_between(m, rows, agent, id, distance);
        EACH_LANE out[0][l] = distance[l] < reach ? 1 : -1;
        break;
    }
    }
    if (view->within < (double)INFINITY) {
        real within = (real)view->within;
        row_type distance;
        distances_between(m, rows, agent, id, distance);
        for (int w = 0; w < view->width; w++) EACH_LANE out[w][l] = distance[l] < within ? out[w][l] : 0;
    }
    if (view->hidden_in.n > 0) {
        /* seen when some hiding place holds both, or none holds either */
        row_type together = {0}, somewhere = {0}, own, other;
        for (int h = 0; h < view->hidden_in.n; h++) {
            int place = view->hidden_in.ids[h];
            real own_reach = (real)(m->radius[agent] + m->radius[place]);
            real reach = (real)(m->radius[id] + m->radius[place]);
            distances_between(m, rows, agent, place, own);
            distances_between(m, rows, id, place, other);
            EACH_LANE {
                bool a = own[l] < own_reach, b = other[l] < reach;
                together[l] = a && b ? 1 : together[l];
                somewhere[l] = a || b ? 1 : somewhere[l];
            }
        }
        for (int w = 0; w < view->width; w++)
            EACH_LANE out[w][l] = together[l] > 0 || !(somewhere[l] > 0) ? out[w][l] : 0;
    }
}

/* A view sorted by distance, nearest first; slots left over are zero. rank: how many come before. */
BLOCK_CODE void view_sorted(const lud_particle_model *m, const particle_view *view, int agent, rows_type rows,
                            row_type *out) {
    row_type distance[LUD_PARTICLE_MAX_ENTITIES], rank, value[LUD_PARTICLE_MAX_SPEECH];
    memset(out, 0, sizeof(row_type) * (size_t)(view->n_slots * view->width));
    for (int k = 0; k < view->of.n; k++) distances_between(m, rows, agent, view->of.ids[k], distance[k]);
    for (int k = 0; k < view->of.n; k++) {
        EACH_LANE rank[l] = 0;
        for (int j = 0; j < view->of.n; j++) {
            bool earlier = j < k;
            EACH_LANE rank[l] +=
                ((distance[j][l] < distance[k][l]) | ((distance[j][l] == distance[k][l]) & earlier)) ? 1 : 0;
        }
        view_candidate(m, view, agent, k, rows, value);
        for (int s = 0; s < view->n_slots; s++)
            for (int w = 0; w < view->width; w++) {
                real *slot = out[s * view->width + w];
                EACH_LANE slot[l] = rank[l] == (real)s ? value[w][l] : slot[l];
            }
    }
}

BLOCK_CODE void observe_block(const lud_particle_model *m, rows_type rows, int n, void *out, size_t first,
                              bool wide) {
    row_type seen[LUD_PARTICLE_MAX_OBSERVATION];
    size_t stride = (size_t)m->observation_stride;
    for (int a = 0; a < m->n_agents; a++) {
        for (int v = m->view_begin[a]; v < m->view_begin[a + 1]; v++) {
            const particle_view *view = &m->views[v];
            if (view->nearest > 0)
                view_sorted(m, view, a, rows, seen + view->offset);
            else
                for (int k = 0; k < view->of.n; k++)
                    view_candidate(m, view, a, k, rows, seen + view->offset + k * view->width);
        }
        int size = m->observation_size[a];
        for (int l = 0; l < n; l++) {
            size_t at = ((first + (size_t)l) * (size_t)m->n_agents + (size_t)a) * stride;
            if (wide) {
                double *o = (double *)out + at;
                for (int i = 0; i < size; i++) o[i] = (double)seen[i][l];
                for (size_t i = (size_t)size; i < stride; i++) o[i] = 0;
            } else {
                float *o = (float *)out + at;
                for (int i = 0; i < size; i++) o[i] = (float)seen[i][l];
                for (size_t i = (size_t)size; i < stride; i++) o[i] = 0;
            }
        }
    }
}

/* --- graphs: one environment at a time, loops over entities --- */

/* Arrays are padded to whole vectors; a node's row has eight numbers so that it is one vector in single. */
typedef struct graph_view {
    int n, n_padded;
    real x[LUD_PARTICLE_MAX_ENTITIES], y[LUD_PARTICLE_MAX_ENTITIES];
    real node[LUD_PARTICLE_MAX_ENTITIES][8]; /* velocity, position, goal position, type, 0 */
} graph_view;

BLOCK_CODE void view_graph(const lud_particle_model *m, const real *state, graph_view *g) {
    g->n = m->n_entities;
    g->n_padded = (g->n + LANES - 1) / LANES * LANES;
    for (int e = 0; e < g->n; e++) {
        const real *p = state + m->position_row[e];
        g->x[e] = p[0];
        g->y[e] = p[1];
    }
    for (int e = g->n; e < g->n_padded; e++) g->x[e] = g->y[e] = 0;
    if (m->part_nodes < 0 && m->part_disturbance < 0) return;
    for (int e = 0; e < g->n; e++) {
        real *node = g->node[e];
        bool moves = m->velocity_row[e] < m->n_words;
        int goal = e;
        if (e < m->n_agents && m->goal_id[e] >= 0) {
            goal = m->goal_id[e];
            if (goal >= m->n_entities) goal = (int)state[m->slot_row + goal - m->n_entities];
        }
        node[0] = moves ? state[m->velocity_row[e]] : 0;
        node[1] = moves ? state[m->velocity_row[e] + 1] : 0;
        node[2] = g->x[e];
        node[3] = g->y[e];
        node[4] = g->x[goal];
        node[5] = g->y[goal];
        node[6] = (real)m->entities[e].type;
        node[7] = 0;
    }
}

/* Writes n numbers at index `at` of an array that is float or, for checks, double. */
BLOCK_CODE void write_numbers(void *out, size_t at, const real *values, int n, bool wide) {
    if (wide)
        for (int i = 0; i < n; i++) ((double *)out)[at + (size_t)i] = (double)values[i];
    else {
        float *o = (float *)out + at;
        for (int i = 0; i < n; i++) o[i] = (float)values[i];
    }
}

BLOCK_CODE void write_nodes(const lud_particle_model *m, const graph_view *g, void *out, size_t env,
                            bool wide) {
    int size = 7 * g->n;
    real relative[LUD_PARTICLE_MAX_ENTITIES * 7 + 1];
    for (int a = 0; a < m->n_agents; a++) {
        real origin[8] = {0};
        if (m->options.graph.nodes == NODES_RELATIVE) {
            memcpy(origin, g->node[a], 4 * sizeof(real));
            memcpy(origin + 4, g->node[a] + 2, 2 * sizeof(real));
        }
        /* the eighth number of a row is overwritten by the next one */
        for (int e = 0; e < g->n; e++) {
            SIMD
            for (int i = 0; i < 8; i++) relative[7 * e + i] = g->node[e][i] - origin[i];
        }
        write_numbers(out, (env * (size_t)m->n_agents + (size_t)a) * (size_t)size, relative, size, wide);
    }
}

/* Appends the edges of one row behind `count`, without a branch: what is no edge is overwritten by the next
 * entry, so one number behind the last edge is written too. */
BLOCK_CODE int32_t append_edges(const real *distance, const int32_t *is_edge, int n, int32_t count,
                                int32_t *source, void *length, bool wide) {
    for (int j = 0; j < n; j++) {
        if (source) source[count] = j;
        if (length && wide) ((double *)length)[count] = (double)distance[j];
        if (length && !wide) ((float *)length)[count] = (float)distance[j];
        count += is_edge[j];
    }
    return count;
}

BLOCK_CODE void write_edges(const lud_particle_model *m, const graph_view *g, void *const *parts, size_t env,
                            bool wide) {
    const int n = g->n;
    const size_t capacity = (size_t)n * (size_t)(n - 1), number_bytes = wide ? sizeof(double) : sizeof(float);
    int32_t *begin = m->part_edge_begin >= 0 ? (int32_t *)parts[m->part_edge_begin] : NULL;
    int32_t *source = m->part_edge_source >= 0 ? (int32_t *)parts[m->part_edge_source] : NULL;
    unsigned char *length = m->part_edge_length >= 0 ? (unsigned char *)parts[m->part_edge_length] : NULL;
    void *matrix = m->part_distances >= 0 ? parts[m->part_distances] : NULL;
    const real near = (real)m->options.graph.edge_distance;
    int32_t count = 0;
    if (begin) begin += env * (size_t)(n + 1);
    if (source) source += env * capacity;
    if (length) length += env * capacity * number_bytes;
    for (int i = 0; i < n; i++) {
        real distance[LUD_PARTICLE_MAX_ENTITIES];
        int32_t is_edge[LUD_PARTICLE_MAX_ENTITIES];
        const real x = g->x[i], y = g->y[i];
        for (int first = 0; first < g->n_padded; first += LANES) EACH_LANE {
                real dx = g->x[first + l] - x, dy = g->y[first + l] - y, d = square_root(dx * dx + dy * dy);
                distance[first + l] = d;
                is_edge[first + l] = (d > 0) & (d < near);
            }
        if (matrix) write_numbers(matrix, (env * (size_t)n + (size_t)i) * (size_t)n, distance, n, wide);
        if (begin) begin[i] = count;
        /* the last row stops before its own entry, which is never an edge: there is no number behind its last
         * edge */
        int last = i == n - 1 ? n - 1 : n;
        if (source && length && !wide)
            count = append_edges(distance, is_edge, last, count, source, length, false);
        else
            count = append_edges(distance, is_edge, last, count, source, length, wide);
    }
    if (begin) begin[n] = count;
    size_t rest = capacity - (size_t)count;
    if (source) memset(source + count, 0, rest * sizeof *source);
    if (length) memset(length + (size_t)count * number_bytes, 0, rest * number_bytes);
}

/* Disturbances as node features: the start of an episode is itself a disturbance (the node matrix), later the
 * last kicks stand in the first four columns of the agents' rows. */
BLOCK_CODE void write_disturbance(const lud_particle_model *m, const graph_view *g, const real *state,
                                  void *out, size_t env, bool wide) {
    if (state[m->step_row] < 1) {
        write_nodes(m, g, out, env, wide);
        return;
    }
    real kicks[LUD_PARTICLE_MAX_ENTITIES * 7] = {0};
    for (int a = 0; a < m->n_agents; a++)
        for (int i = 0; i < 4; i++) kicks[7 * a + i] = state[m->disturbance_row + 4 * a + i];
    for (int a = 0; a < m->n_agents; a++)
        write_numbers(out, (env * (size_t)m->n_agents + (size_t)a) * (size_t)(7 * g->n), kicks, 7 * g->n,
                      wide);
}

BLOCK_CODE bool wants_edges(const lud_particle_model *m, void *const *parts) {
    return (m->part_edge_begin >= 0 &&
            (parts[m->part_edge_begin] || parts[m->part_edge_source] || parts[m->part_edge_length])) ||
           (m->part_distances >= 0 && parts[m->part_distances]);
}

BLOCK_CODE bool wants_graph(const lud_particle_model *m, void *const *parts) {
    return (m->part_nodes >= 0 && parts[m->part_nodes]) || wants_edges(m, parts) ||
           (m->part_disturbance >= 0 && parts[m->part_disturbance]);
}

/* The parts of environment e that are asked for and make up its graph. */
BLOCK_CODE void observe_graph(const lud_particle_model *m, const uint8_t *bytes, void *const *parts, size_t e,
                              bool wide) {
    graph_view graph;
    real state[LUD_PARTICLE_MAX_ROWS];
    memcpy(state, bytes, m->base.layout.state_bytes);
    view_graph(m, state, &graph);
    if (m->part_nodes >= 0 && parts[m->part_nodes]) write_nodes(m, &graph, parts[m->part_nodes], e, wide);
    if (wants_edges(m, parts)) write_edges(m, &graph, parts, e, wide);
    if (m->part_disturbance >= 0 && parts[m->part_disturbance])
        write_disturbance(m, &graph, state, parts[m->part_disturbance], e, wide);
}

BLOCK_CODE void observe_range(const lud_particle_model *m, int n_envs, const uint8_t *states,
                              void *const *parts, bool wide) {
    const size_t state_bytes = m->base.layout.state_bytes;
    if (m->part_observation >= 0 && parts[m->part_observation]) {
        row_type rows[LUD_PARTICLE_MAX_ROWS];
        for (int first = 0; first < n_envs; first += LANES) {
            int n = n_envs - first < LANES ? n_envs - first : LANES;
            load_block(m, states + (size_t)first * state_bytes, n, rows);
            follow_slots(m, rows);
            observe_block(m, rows, n, parts[m->part_observation], (size_t)first, wide);
        }
    }
    if (!wants_graph(m, parts)) return;
    for (int e = 0; e < n_envs; e++)
        observe_graph(m, states + (size_t)e * state_bytes, parts, (size_t)e, wide);
}

/* --- reset --- */

/* Entities are placed in the model's order; one that must keep clear of bodies placed before is drawn again
 * until it does, at most LUD_PARTICLE_PLACING_TRIES times. */
BLOCK_CODE void place(const lud_particle_model *m, lud_random_key key, uint32_t tick, real *state) {
    for (int i = 0; i < m->n_entities; i++) {
        int e = m->placing[i];
        const double *region = m->region + 4 * e;
        const uint8_t *apart = m->apart + m->kind_of[e] * m->n_kinds;
        real *p = state + m->position_row[e];
        lud_words words = {{0, 0, 0, 0}};
        for (uint32_t attempt = 0; attempt < LUD_PARTICLE_PLACING_TRIES; attempt++) {
            if (attempt % 2 == 0) words = lud_draw(key, tick, (uint32_t)e, LUD_PURPOSE_RESET, attempt / 2);
            const uint32_t *w = words.v + 2 * (attempt % 2);
            p[0] = (real)(region[0] + (region[2] - region[0]) * lud_unit(w[0]));
            p[1] = (real)(region[1] + (region[3] - region[1]) * lud_unit(w[1]));
            bool clear = true;
            for (int j = 0; j < i && clear; j++) {
                int other = m->placing[j];
                if (!apart[m->kind_of[other]]) continue;
                const real *q = state + m->position_row[other];
                real dx = p[0] - q[0], dy = p[1] - q[1];
                clear = !(square_root(dx * dx + dy * dy) < (real)(m->radius[e] + m->radius[other]));
            }
            if (clear) break;
        }
    }
}

BLOCK_CODE void reset_range(const lud_particle_model *m, lud_range range, uint8_t *states) {
    real state[LUD_PARTICLE_MAX_ROWS];
    for (int i = 0; i < range.n; i++) {
        lud_random_key key = {range.seed, range.first_environment + (uint32_t)i};
        memset(state, 0, m->base.layout.state_bytes);
        place(m, key, range.tick[i], state);
        for (int c = 0; c < m->n_choices; c++)
            for (int s = 0; s < m->choices[c].n_slots; s++) {
                int slot = m->choices[c].first_slot + s;
                lud_words w = lud_draw(key, range.tick[i], (uint32_t)slot, LUD_PURPOSE_GOAL, 0);
                state[m->slot_row + slot] =
                    (real)(m->choices[c].first_entity +
                           (int)lud_below(w.v[0], (uint32_t)m->choices[c].n_candidates));
            }
        for (int k = 0; k < m->n_items; k++) state[m->reached_row + k] = -1;
        memcpy(states + (size_t)i * m->base.layout.state_bytes, state, m->base.layout.state_bytes);
    }
}

#if !defined(PARTICLE_ON_DEVICE)

/* --- single numbers --- */

static double get_word(const uint8_t *state, int word) {
    real value;
    memcpy(&value, state + (size_t)word * sizeof value, sizeof value);
    return (double)value;
}

static void set_word(uint8_t *state, int word, double number) {
    real value = (real)number;
    memcpy(state + (size_t)word * sizeof value, &value, sizeof value);
}

static void contact_alone(const particle_physics *physics, double dx, double dy, double reach,
                          double force[2]) {
    real x = (real)dx, y = (real)dy, fx, fy;
    contact_force((real)physics->contact_force, (real)physics->contact_margin, x, y,
                  square_root(x * x + y * y), (real)reach, &fx, &fy);
    force[0] = (double)fx;
    force[1] = (double)fy;
}

static bool wall_alone(const particle_physics *physics, const lud_particle_wall *wall, double x, double y,
                       double radius, double force[2]) {
    double par = wall->vertical ? y : x, perp = wall->vertical ? x : y;
    real along, across;
    bool any = wall_force((real)physics->contact_force, (real)physics->contact_margin,
                          (real)(0.5 * wall->width), (real)wall->at, (real)wall->from, (real)wall->to,
                          (real)par, (real)perp, (real)radius, &along, &across);
    force[0] = (double)(wall->vertical ? across : along);
    force[1] = (double)(wall->vertical ? along : across);
    return any;
}

const particle_code CODE_NAME = {.word_bytes = sizeof(real),
                                 .reset = reset_range,
                                 .step = step_range,
                                 .observe = observe_range,
                                 .get = get_word,
                                 .set = set_word,
                                 .contact = contact_alone,
                                 .wall = wall_alone};
#endif
