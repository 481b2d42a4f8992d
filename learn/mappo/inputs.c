#include "learn/mappo/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agents/policy.h"
#include "kernels/grid_code.h"

static int part_named(const lud_layout *layout, const char *name, lud_dtype dtype) {
    for (int p = 0; p < layout->n_parts; p++)
        if (strcmp(layout->parts[p].name, name) == 0 && layout->parts[p].dtype == dtype) return p;
    return -1;
}

/* What says for every agent which of all choices there are. */
static int find_choices(const lud_layout *layout, int n_discrete) {
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        if (part->kind == LUD_OBSERVATION_MASK && part->dtype == LUD_U8 && part->per_agent &&
            part->n_dimensions == 1 && part->dimensions[0] == n_discrete)
            return p;
    }
    return -1;
}

static int64_t part_width(const lud_observation_part *part) {
    int64_t width = 1;
    for (int d = 0; d < part->n_dimensions; d++) width *= part->dimensions[d];
    return width;
}

/* Words where every choice of every agent is a word and a move. */
static int count_words(const lud_layout *layout, int n_discrete) {
    for (int i = 0; i < layout->n_agents; i++)
        if (layout->actions[i].n_moves != LUD_MAPPO_MOVES) return 0;
    return n_discrete / LUD_MAPPO_MOVES;
}

/* Where everybody's relative goal begins in everybody's numbers; -1: not in one place. */
static int find_goal(const lud_layout *layout, const lud_mappo_shape *shape) {
    int64_t before = 0;
    for (int k = 0; k < shape->n_pieces; before += shape->pieces[k++].width) {
        const int *goal = layout->parts[shape->pieces[k].part].goal;
        for (int i = 1; goal && i < layout->n_agents; i++)
            if (goal[i] != goal[0]) goal = NULL;
        if (goal && goal[0] >= 0) return (int)before + goal[0];
    }
    return -1;
}

static lud_status find_actions(const lud_layout *layout, const lud_mappo_options *options,
                               lud_mappo_shape *shape, lud_error *error) {
    shape->n_discrete = lud_max_discrete(layout);
    shape->n_continuous = lud_max_continuous(layout);
    if ((shape->n_discrete > 0) == (shape->n_continuous > 0))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "the networks of graph-mappo need agents with either discrete or continuous actions");
    for (int i = 0; i < layout->n_agents; i++) {
        if (layout->actions[i].n_discrete != shape->n_discrete) shape->masked = true;
        if (layout->actions[i].n_continuous != shape->n_continuous)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "the networks of graph-mappo need agents with equally many continuous actions");
    }
    shape->choices = shape->n_discrete > 0 ? find_choices(layout, shape->n_discrete) : -1;
    shape->masked = shape->masked || shape->choices >= 0;
    shape->n_words = count_words(layout, shape->n_discrete);
    if (options->factored && shape->n_words == 0)
        return lud_invalid(
            error, "learner.factored: needs a particle world in which every agent moves and speaks with "
                   "discrete actions");
    if (options->control == LUD_MAPPO_DIRECT) return LUD_OK;
    if (shape->n_continuous != 2 || shape->goal_offset < 0 || shape->identify)
        return lud_invalid(error,
                           "learner.control: mad and base need two continuous actions and a relative goal in "
                           "everybody's observation (particle.actions: continuous in a navigation task)");
    return LUD_OK;
}

static lud_status find_encoder(lud_mappo_options *options, const lud_mappo_shape *shape, lud_error *error) {
    const bool graph = shape->n_nodes > 0, grid = shape->grid >= 0;
    if (options->encoder == LUD_MAPPO_AUTO)
        options->encoder = graph ? LUD_MAPPO_GRAPH : grid ? LUD_MAPPO_GRID : LUD_MAPPO_MLP;
    if (options->encoder == LUD_MAPPO_GRAPH && !graph)
        return lud_invalid(error, "learner.encoder: graph needs a particle world with graph nodes and edges "
                                  "(particle.graph: {nodes: relative, edges: true})");
    if (options->encoder == LUD_MAPPO_GRID && !grid)
        return lud_invalid(error, "learner.encoder: grid needs a multigrid world with compact observations");
    const bool disturbed = options->mad.drive == LUD_DRIVE_DISTURBANCE;
    const bool central = options->mad.drive == LUD_DRIVE_CENTRAL;
    if (options->control == LUD_MAPPO_MAD && central && (shape->disturbance < 0 || shape->nodes < 0))
        return lud_invalid(
            error, "learner.mad.input: central needs particle.disturbance.std above 0 and particle.graph: "
                   "{nodes: relative}");
    if (options->control == LUD_MAPPO_MAD && disturbed && (shape->disturbance < 0 || !graph))
        return lud_invalid(
            error, "learner.mad.input: disturbance needs particle.disturbance.std above 0 and a graph");
    if (options->encoder == LUD_MAPPO_MLP && shape->observation == 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "the networks of graph-mappo read numbers, and agents of this world observe none");
    return LUD_OK;
}

lud_status lud_mappo_shape_find(const lud_model *model, lud_mappo_options *options, lud_mappo_shape *shape,
                                lud_error *error) {
    const lud_layout *layout = &model->layout;
    *shape = (lud_mappo_shape){.n_agents = layout->n_agents,
                               .model = model,
                               .identify = options->identify,
                               .centralised = options->centralised,
                               .grid = part_named(layout, "grid", LUD_I32),
                               .nodes = part_named(layout, "nodes", LUD_F32),
                               .edge_begin = part_named(layout, "edge_begin", LUD_I32),
                               .edge_source = part_named(layout, "edge_source", LUD_I32),
                               .edge_length = part_named(layout, "edge_length", LUD_F32),
                               .disturbance = part_named(layout, "disturbance", LUD_F32)};
    int64_t of_agents = 0;
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        if (part->kind != LUD_OBSERVATION_VECTOR || part->dtype != LUD_F32) continue;
        shape->pieces[shape->n_pieces++] = (lud_mappo_piece){p, part_width(part), part->per_agent};
        shape->observation += part_width(part);
        if (part->per_agent) of_agents += part_width(part);
    }
    if (shape->identify) {
        shape->observation += shape->n_agents;
        of_agents += shape->n_agents;
    }
    shape->shared = shape->observation + (shape->centralised ? (shape->n_agents - 1) * of_agents : 0);
    if (shape->grid >= 0) {
        shape->grid_height = layout->parts[shape->grid].dimensions[0];
        shape->grid_width = layout->parts[shape->grid].dimensions[1];
        shape->grid_per_agent = layout->parts[shape->grid].per_agent;
    }
    if (shape->nodes >= 0 && shape->edge_begin >= 0)
        shape->n_nodes = layout->parts[shape->nodes].dimensions[0];
    shape->goal_offset = find_goal(layout, shape);
    lud_status status = find_actions(layout, options, shape, error);
    return status ? status : find_encoder(options, shape, error);
}

bool lud_mappo_shape_reads(const lud_mappo_shape *shape, int part) {
    for (int k = 0; k < shape->n_pieces; k++)
        if (shape->pieces[k].part == part) return true;
    const int others[] = {shape->grid,        shape->nodes,       shape->edge_begin, shape->edge_source,
                          shape->edge_length, shape->disturbance, shape->choices};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (others[k] == part) return true;
    return false;
}

/* Entities that the world describes to an agent. */
static int64_t node_rows(const lud_mappo_shape *shape) {
    return shape->model->layout.parts[shape->nodes].dimensions[0];
}

static size_t element_bytes(lud_nn_type type) {
    return type == LUD_NN_U8 ? 1 : 4;
}

static bool take(lud_mappo_inputs *inputs, lud_mappo_array *item, lud_nn_type type, int64_t width,
                 int64_t max_rows) {
    const size_t bytes = (size_t)(width * max_rows) * element_bytes(type);
    *item = (lud_mappo_array){.type = type, .width = width, .max_rows = max_rows};
    item->device = lud_device_allocate(inputs->device, bytes);
    if (inputs->device->backend->host_memory)
        item->host = item->device;
    else
        item->host = calloc(bytes, 1);
    return item->device && item->host;
}

/* Of counts and places up to the size of a map a layer norm would leave nothing of the small ones. */
static bool find_scales(lud_mappo_inputs *inputs) {
    const lud_mappo_shape *shape = inputs->shape;
    bool scaled = false;
    for (int k = 0; k < shape->n_pieces; k++)
        scaled = scaled || shape->model->layout.parts[shape->pieces[k].part].scale;
    if (!scaled) return true;
    float *to = inputs->scale = calloc((size_t)shape->observation + 1, sizeof *inputs->scale);
    for (int k = 0; k < shape->n_pieces && to; k++) {
        const float *scale = shape->model->layout.parts[shape->pieces[k].part].scale;
        for (int64_t i = 0; i < shape->pieces[k].width; i++) *to++ = scale ? scale[i] : 1.0f;
    }
    if (!inputs->scale) return false;
    const size_t bytes = (size_t)shape->observation * sizeof *inputs->scale;
    if (inputs->device->backend->host_memory) return true;
    if (!(inputs->device_scale = lud_device_allocate(inputs->device, bytes))) return false;
    lud_device_upload(inputs->device, inputs->device_scale, inputs->scale, bytes);
    return true;
}

lud_status lud_mappo_inputs_create(lud_device *device, const lud_mappo_shape *shape,
                                   const lud_mappo_options *options, int64_t max_rows,
                                   lud_mappo_inputs *inputs, lud_error *error) {
    *inputs = (lud_mappo_inputs){.device = device,
                                 .shape = shape,
                                 .max_rows = max_rows,
                                 .pads_edges = device->backend->records_graphs};
    const int64_t n = max_rows, nodes = n * shape->n_nodes;
    const int64_t edges = nodes > 0 ? nodes * (shape->n_nodes - 1) : 0;
    const bool graph = options->encoder == LUD_MAPPO_GRAPH, mad = options->control == LUD_MAPPO_MAD;
    const bool disturbed = mad && options->mad.drive == LUD_DRIVE_DISTURBANCE;
    const bool central = mad && options->mad.drive == LUD_DRIVE_CENTRAL;
    const int64_t entities = n * (shape->nodes < 0 ? 0 : node_rows(shape));
    const bool with_edges = graph || disturbed;
    const struct {
        lud_mappo_input input;
        bool used;
        lud_nn_type type;
        int64_t width, rows;
    } wanted[] = {
        {LUD_MAPPO_OBSERVATION, true, LUD_NN_REAL, shape->observation, n},
        {LUD_MAPPO_SHARED, true, LUD_NN_REAL, shape->shared, n},
        {LUD_MAPPO_CELLS, options->encoder == LUD_MAPPO_GRID, LUD_NN_I32,
         shape->grid_height * shape->grid_width, n},
        {LUD_MAPPO_NODES, graph, LUD_NN_REAL, LUD_MAPPO_NODE_NUMBERS, nodes},
        {LUD_MAPPO_TYPES, graph, LUD_NN_I32, 1, nodes},
        {LUD_MAPPO_DISTURBANCE, disturbed || central, LUD_NN_REAL, LUD_MAPPO_NODE_WIDTH, entities},
        {LUD_MAPPO_EVERYTHING, central, LUD_NN_REAL, LUD_MAPPO_NODE_WIDTH, entities},
        {LUD_MAPPO_NODE_OFFSETS, with_edges, LUD_NN_I32, 1, nodes + 1},
        {LUD_MAPPO_EDGE_SOURCE, with_edges, LUD_NN_I32, 1, edges},
        {LUD_MAPPO_EDGE_LENGTH, with_edges, LUD_NN_REAL, 1, edges},
        {LUD_MAPPO_EGO, with_edges, LUD_NN_I32, 1, n},
        {LUD_MAPPO_POOL_OFFSETS, with_edges, LUD_NN_I32, 1, n + 1},
        {LUD_MAPPO_MASK, true, LUD_NN_REAL, 1, n},
        {LUD_MAPPO_ACTOR_HIDDEN, options->recurrent, LUD_NN_REAL, options->hidden_size, n},
        {LUD_MAPPO_CRITIC_HIDDEN, options->recurrent, LUD_NN_REAL, options->hidden_size, n},
        {LUD_MAPPO_DRIVE, mad && !disturbed, LUD_NN_REAL, central ? LUD_MAPPO_NODE_WIDTH : 2,
         central ? entities : n},
        {LUD_MAPPO_STATE, mad, LUD_NN_REAL, lud_mappo_state_width(options), n},
    };
    bool whole = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && whole; i++)
        if (wanted[i].used && wanted[i].width > 0)
            whole = take(inputs, &inputs->items[wanted[i].input], wanted[i].type, wanted[i].width,
                         wanted[i].rows);
    if (whole && with_edges)
        whole = take(inputs, &inputs->edge_target, LUD_NN_I32, 1, edges) &&
                take(inputs, &inputs->source_offsets, LUD_NN_I32, 1, nodes + 1) &&
                take(inputs, &inputs->source_edges, LUD_NN_I32, 1, edges);
    if (whole && shape->choices >= 0)
        whole = (inputs->choices = calloc((size_t)n, (size_t)shape->n_discrete));
    if (!whole || !find_scales(inputs)) {
        lud_mappo_inputs_destroy(inputs);
        return lud_no_memory(error, "%lld rows of network inputs", (long long)max_rows);
    }
    if (with_edges)
        inputs->edges = (lud_edges){.offsets = inputs->items[LUD_MAPPO_NODE_OFFSETS].device,
                                    .source = inputs->items[LUD_MAPPO_EDGE_SOURCE].device,
                                    .target = inputs->edge_target.device,
                                    .source_offsets = inputs->source_offsets.device,
                                    .source_edges = inputs->source_edges.device};
    return LUD_OK;
}

static void give_back(lud_mappo_inputs *inputs, lud_mappo_array *item) {
    if (item->host != item->device) free(item->host);
    if (item->device) lud_device_release(inputs->device, item->device);
    *item = (lud_mappo_array){0};
}

void lud_mappo_inputs_destroy(lud_mappo_inputs *inputs) {
    if (!inputs->device) return;
    for (int i = 0; i < LUD_MAPPO_INPUTS; i++) give_back(inputs, &inputs->items[i]);
    give_back(inputs, &inputs->edge_target);
    give_back(inputs, &inputs->source_offsets);
    give_back(inputs, &inputs->source_edges);
    free(inputs->scale);
    if (inputs->device_scale) lud_device_release(inputs->device, inputs->device_scale);
    free(inputs->choices);
    inputs->scale = inputs->device_scale = NULL;
    inputs->choices = NULL;
}

static float *write_agent(const lud_mappo_inputs *inputs, const void *const *parts, int32_t place, int agent,
                          bool own, float *to) {
    const lud_mappo_shape *shape = inputs->shape;
    const float *scale = inputs->scale;
    for (int k = 0; k < shape->n_pieces; k++) {
        const lud_mappo_piece *piece = &shape->pieces[k];
        const int64_t row = piece->per_agent ? (int64_t)place * shape->n_agents + agent : place;
        const float *from = (const float *)parts[piece->part] + row * piece->width;
        if (own || piece->per_agent) {
            for (int64_t i = 0; i < piece->width; i++) to[i] = scale ? from[i] * scale[i] : from[i];
            to += piece->width;
        }
        if (scale) scale += piece->width;
    }
    if (shape->identify)
        for (int i = 0; i < shape->n_agents; i++) *to++ = i == agent ? 1.0f : 0.0f;
    return to;
}

/* Rows that are observed. */
typedef struct observing {
    lud_mappo_inputs *inputs;
    const void *const *parts;
    const int32_t *place, *agent;
    int64_t first, end, n_edges; /* n_edges: of the rows before them, then of them too */
} observing;

static int64_t row_of(const observing *o, int64_t i) {
    return (int64_t)o->place[i] * o->inputs->shape->n_agents + o->agent[i];
}

/* Numbers of agent's own observation, then of the others in order of their numbers, going round. */
static void observe_vectors(const observing *o) {
    lud_mappo_inputs *inputs = o->inputs;
    const lud_mappo_shape *shape = inputs->shape;
    float *own = inputs->items[LUD_MAPPO_OBSERVATION].host, *shared = inputs->items[LUD_MAPPO_SHARED].host;
    if (!own) return;
    for (int64_t i = o->first; i < o->end; i++) {
        float *to = shared + i * shape->shared;
        write_agent(inputs, o->parts, o->place[i], o->agent[i], true, own + i * shape->observation);
        memcpy(to, own + i * shape->observation, (size_t)shape->observation * sizeof *to);
        to += shape->observation;
        for (int k = 1; k < shape->n_agents && shape->centralised; k++)
            to = write_agent(inputs, o->parts, o->place[i], (o->agent[i] + k) % shape->n_agents, false, to);
    }
}

/* Where the edges of an environment's graph begin, node by node, and their number behind. */
static const int32_t *edges_of(const lud_mappo_shape *shape, const void *const *parts, int64_t place) {
    return (const int32_t *)parts[shape->edge_begin] + place * (shape->n_nodes + 1);
}

static void observe_graph(observing *o) {
    lud_mappo_inputs *inputs = o->inputs;
    const lud_mappo_shape *shape = inputs->shape;
    const int64_t v = shape->n_nodes, most = v * (v - 1);
    float *nodes = inputs->items[LUD_MAPPO_NODES].host;
    float *length = inputs->items[LUD_MAPPO_EDGE_LENGTH].host;
    int32_t *types = inputs->items[LUD_MAPPO_TYPES].host, *ego = inputs->items[LUD_MAPPO_EGO].host;
    int32_t *offsets = inputs->items[LUD_MAPPO_NODE_OFFSETS].host;
    int32_t *source = inputs->items[LUD_MAPPO_EDGE_SOURCE].host;
    for (int64_t i = o->first; i < o->end && ego; i++) {
        const float *seen = (const float *)o->parts[shape->nodes] + row_of(o, i) * v * LUD_MAPPO_NODE_WIDTH;
        if (nodes)
            for (int64_t k = 0; k < v; k++, seen += LUD_MAPPO_NODE_WIDTH) {
                memcpy(nodes + (i * v + k) * LUD_MAPPO_NODE_NUMBERS, seen,
                       LUD_MAPPO_NODE_NUMBERS * sizeof *seen);
                types[i * v + k] = (int32_t)seen[LUD_MAPPO_NODE_NUMBERS];
            }
        const int32_t *begin = edges_of(shape, o->parts, o->place[i]);
        const int32_t *from = (const int32_t *)o->parts[shape->edge_source] + (int64_t)o->place[i] * most;
        memcpy(length + o->n_edges, (const float *)o->parts[shape->edge_length] + (int64_t)o->place[i] * most,
               (size_t)begin[v] * sizeof *length);
        for (int64_t k = 0; k < v; k++) offsets[i * v + k] = (int32_t)o->n_edges + begin[k];
        for (int32_t k = 0; k < begin[v]; k++) source[o->n_edges + k] = from[k] + (int32_t)(i * v);
        o->n_edges += begin[v];
        ego[i] = (int32_t)(i * v) + o->agent[i]; /* agents are the first entities */
    }
}

/* One of the world's descriptions of all entities, as it stands. */
static void observe_entities(const observing *o, lud_mappo_input input, int part) {
    float *to = o->inputs->items[input].host;
    if (!to) return;
    const int64_t width = node_rows(o->inputs->shape) * LUD_MAPPO_NODE_WIDTH;
    for (int64_t i = o->first; i < o->end; i++)
        memcpy(to + i * width, (const float *)o->parts[part] + row_of(o, i) * width,
               (size_t)width * sizeof *to);
}

/* Words of a grid, and which choices there are. */
static void observe_words(const observing *o) {
    const lud_mappo_shape *shape = o->inputs->shape;
    int32_t *cells = o->inputs->items[LUD_MAPPO_CELLS].host;
    uint8_t *choices = o->inputs->choices;
    const int64_t n_cells = shape->grid_height * shape->grid_width, width = shape->n_discrete;
    for (int64_t i = o->first; i < o->end; i++) {
        if (cells)
            memcpy(cells + i * n_cells,
                   (const int32_t *)o->parts[shape->grid] +
                       (shape->grid_per_agent ? row_of(o, i) : o->place[i]) * n_cells,
                   (size_t)n_cells * sizeof *cells);
        if (choices)
            memcpy(choices + i * width, (const uint8_t *)o->parts[shape->choices] + row_of(o, i) * width,
                   (size_t)width);
    }
}

static void observe_rows(lud_device *device, void *rows) {
    observing *o = rows;
    (void)device;
    observe_vectors(o);
    observe_words(o);
    observe_graph(o);
    observe_entities(o, LUD_MAPPO_DISTURBANCE, o->inputs->shape->disturbance);
    observe_entities(o, LUD_MAPPO_EVERYTHING, o->inputs->shape->nodes);
}

/* Edges that end nowhere, up to a multiple of a sixteenth of what there could be. Returns the number. */
static int64_t pad_edges(lud_mappo_inputs *inputs, int64_t n_nodes, int64_t n_edges) {
    const int64_t most = n_nodes * (inputs->shape->n_nodes - 1), part = most < 16 ? 1 : most / 16;
    int64_t padded = (n_edges + part - 1) / part * part;
    if (padded > most) padded = most;
    int32_t *source = inputs->items[LUD_MAPPO_EDGE_SOURCE].host;
    float *length = inputs->items[LUD_MAPPO_EDGE_LENGTH].host;
    for (int64_t e = n_edges; e < padded; e++) {
        source[e] = (int32_t)(e % n_nodes); /* anywhere, but not all at one node */
        length[e] = 0.0f;
    }
    return padded;
}

void lud_mappo_inputs_set_edges(lud_mappo_inputs *inputs, int64_t n_nodes, int64_t n_edges) {
    int32_t *pool = inputs->items[LUD_MAPPO_POOL_OFFSETS].host;
    const int64_t per_row = inputs->shape->n_nodes;
    for (int64_t i = 0; i <= n_nodes / per_row; i++) pool[i] = (int32_t)(i * per_row);
    lud_edges_by_source(n_nodes, n_edges, inputs->items[LUD_MAPPO_NODE_OFFSETS].host,
                        inputs->items[LUD_MAPPO_EDGE_SOURCE].host, inputs->edge_target.host,
                        inputs->source_offsets.host, inputs->source_edges.host);
    inputs->edge_target.rows = inputs->source_edges.rows = n_edges;
    if (inputs->pads_edges) n_edges = pad_edges(inputs, n_nodes, n_edges);
    inputs->edges.n_nodes = n_nodes;
    inputs->edges.n_edges = inputs->n_edges = n_edges;
    inputs->source_offsets.rows = n_nodes + 1;
}

void lud_mappo_inputs_observe(lud_mappo_inputs *inputs, const void *const *parts, int64_t n,
                              const int32_t *place, const int32_t *agent) {
    enum { HALVED = 64 }; /* rows that are worth a second thread */
    const bool graph = inputs->items[LUD_MAPPO_EGO].host;
    assert(n <= inputs->max_rows);
    inputs->n = n;
    observing halves[2] = {{inputs, parts, place, agent, .end = n < HALVED ? n : n / 2}};
    halves[1] = halves[0];
    halves[1].first = halves[0].end;
    halves[1].end = n;
    for (int64_t i = 0; graph && i < halves[0].end; i++)
        halves[1].n_edges += edges_of(inputs->shape, parts, place[i])[inputs->shape->n_nodes];
    if (halves[1].first < n)
        lud_device_run_both(inputs->device, observe_rows, &halves[0], observe_rows, &halves[1]);
    else
        observe_rows(inputs->device, &halves[0]);
    if (!graph) return;
    const int64_t n_nodes = n * inputs->shape->n_nodes;
    ((int32_t *)inputs->items[LUD_MAPPO_NODE_OFFSETS].host)[n_nodes] = (int32_t)halves[1].n_edges;
    lud_mappo_inputs_set_edges(inputs, n_nodes, halves[1].n_edges);
}

static lud_status check_edges(const lud_mappo_shape *shape, const int32_t *begin, const int32_t *source,
                              lud_error *error) {
    const int64_t v = shape->n_nodes, most = v * (v - 1);
    bool sound = begin[0] == 0 && begin[v] <= most;
    for (int64_t k = 0; k < v && sound; k++) sound = begin[k + 1] >= begin[k];
    for (int32_t e = 0; sound && e < begin[v]; e++) sound = source[e] >= 0 && source[e] < v;
    return sound ? LUD_OK : lud_invalid(error, "edges that are none between its %lld entities", (long long)v);
}

/* One part of one frame. */
static lud_status check_part(const lud_mappo_shape *shape, int p, const void *data, lud_error *error) {
    const lud_observation_part *part = &shape->model->layout.parts[p];
    const int64_t n = (int64_t)part->bytes / (part->dtype == LUD_U8 ? 1 : 4);
    for (int64_t i = 0; part->dtype == LUD_F32 && i < n; i++) {
        const float value = ((const float *)data)[i];
        if (!isfinite(value)) return lud_invalid(error, "number %lld is not finite", (long long)i);
        if (p == shape->nodes && i % LUD_MAPPO_NODE_WIDTH == LUD_MAPPO_NODE_NUMBERS &&
            !(value >= 0 && value < LUD_MAPPO_NODE_TYPES))
            return lud_invalid(error, "number %lld, a kind of entity, is %g", (long long)i, (double)value);
    }
    for (int64_t i = 0; p == shape->grid && i < n; i++)
        if (!lud_grid_code_is_word(((const int32_t *)data)[i]))
            return lud_invalid(error, "cell %lld is %d", (long long)i, ((const int32_t *)data)[i]);
    for (int64_t i = 0; p == shape->choices && i < n; i++)
        if (((const uint8_t *)data)[i] > 1)
            return lud_invalid(error, "entry %lld is %d, expected 0 or 1", (long long)i,
                               ((const uint8_t *)data)[i]);
    return LUD_OK;
}

lud_status lud_mappo_check_frames(const lud_mappo_shape *shape, const void *const *parts, int64_t n,
                                  lud_error *error) {
    const lud_layout *layout = &shape->model->layout;
    for (int64_t t = 0; t < n; t++) {
        for (int p = 0; p < layout->n_parts; p++)
            if (parts[p] &&
                check_part(shape, p, (const char *)parts[p] + (size_t)t * layout->parts[p].bytes, error))
                return lud_fail_context(error, "frame %lld, %s", (long long)t, layout->parts[p].name);
        if (shape->n_nodes == 0 || shape->edge_begin < 0 || !parts[shape->edge_begin]) continue;
        const int64_t v = shape->n_nodes;
        const lud_status status =
            check_edges(shape, (const int32_t *)parts[shape->edge_begin] + t * (v + 1),
                        (const int32_t *)parts[shape->edge_source] + t * v * (v - 1), error);
        if (status) return lud_fail_context(error, "frame %lld, edge_begin", (long long)t);
    }
    return LUD_OK;
}

static lud_status remember_rows(lud_mappo_array *item, const char *what, int64_t n, const int32_t *row,
                                const float *from, int64_t width, lud_error *error) {
    if (!item->host) return LUD_OK;
    if (!from)
        return lud_invalid(
            error, "graph-mappo: the policy needs the %s stored with its samples and was given none", what);
    if (width != item->width)
        return lud_invalid(error,
                           "graph-mappo: the policy's %s have %lld numbers a sample, and it was given %lld",
                           what, (long long)item->width, (long long)width);
    float *to = item->host;
    for (int64_t i = 0; i < n; i++) memcpy(to + i * width, from + row[i] * width, (size_t)width * sizeof *to);
    return LUD_OK;
}

/* What drives the magnitude where an episode begins; zeros elsewhere. */
static void kick(lud_mappo_inputs *inputs) {
    const lud_mappo_shape *shape = inputs->shape;
    float *drive = inputs->items[LUD_MAPPO_DRIVE].host;
    const float *mask = inputs->items[LUD_MAPPO_MASK].host;
    const float *from = inputs->items[LUD_MAPPO_OBSERVATION].host,
                *all = inputs->items[LUD_MAPPO_EVERYTHING].host;
    int64_t stride = shape->observation, width = 2;
    if (!drive) return;
    if (all) {
        from = all;
        stride = width = node_rows(shape) * LUD_MAPPO_NODE_WIDTH;
    } else {
        from += shape->goal_offset;
    }
    for (int64_t i = 0; i < inputs->n; i++)
        for (int64_t k = 0; k < width; k++)
            drive[i * width + k] = mask[i] == 0.0f ? from[i * stride + k] : 0.0f;
}

lud_status lud_mappo_inputs_remember(lud_mappo_inputs *inputs, int64_t n_chunks, const int32_t *row,
                                     const lud_mappo_memory *memory, lud_error *error) {
    assert(n_chunks > 0 && inputs->n % n_chunks == 0);
    inputs->n_chunks = n_chunks;
    const struct {
        lud_mappo_input input;
        const char *what;
        const float *from;
        int64_t n, width;
    } kept[] = {
        {LUD_MAPPO_MASK, "masks", memory->masks, inputs->n, 1},
        {LUD_MAPPO_ACTOR_HIDDEN, "recurrent states", memory->actor_hidden, n_chunks, memory->hidden_width},
        {LUD_MAPPO_CRITIC_HIDDEN, "recurrent states", memory->critic_hidden, n_chunks, memory->hidden_width},
        {LUD_MAPPO_STATE, "states of the magnitude", memory->states, inputs->n, memory->state_width}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        LUD_TRY(remember_rows(&inputs->items[kept[i].input], kept[i].what, kept[i].n, row, kept[i].from,
                              kept[i].width, error));
    }
    kick(inputs);
    return LUD_OK;
}

static void upload(lud_mappo_inputs *inputs, lud_mappo_array *item) {
    if (!item->device || item->host == item->device) return;
    lud_device_upload(inputs->device, item->device, item->host,
                      (size_t)(item->rows * item->width) * element_bytes(item->type));
}

void lud_mappo_inputs_upload(lud_mappo_inputs *inputs) {
    const int64_t n = inputs->n, nodes = n * inputs->shape->n_nodes;
    const int64_t entities = inputs->shape->nodes < 0 ? 0 : n * node_rows(inputs->shape);
    const bool central = inputs->items[LUD_MAPPO_EVERYTHING].host;
    const int64_t rows[LUD_MAPPO_INPUTS] = {[LUD_MAPPO_OBSERVATION] = n,
                                            [LUD_MAPPO_SHARED] = n,
                                            [LUD_MAPPO_CELLS] = n,
                                            [LUD_MAPPO_NODES] = nodes,
                                            [LUD_MAPPO_TYPES] = nodes,
                                            [LUD_MAPPO_DISTURBANCE] = entities,
                                            [LUD_MAPPO_EVERYTHING] = entities,
                                            [LUD_MAPPO_NODE_OFFSETS] = nodes + 1,
                                            [LUD_MAPPO_EDGE_SOURCE] = inputs->n_edges,
                                            [LUD_MAPPO_EDGE_LENGTH] = inputs->n_edges,
                                            [LUD_MAPPO_EGO] = n,
                                            [LUD_MAPPO_POOL_OFFSETS] = n + 1,
                                            [LUD_MAPPO_MASK] = n,
                                            [LUD_MAPPO_ACTOR_HIDDEN] = inputs->n_chunks,
                                            [LUD_MAPPO_CRITIC_HIDDEN] = inputs->n_chunks,
                                            [LUD_MAPPO_DRIVE] = central ? entities : n,
                                            [LUD_MAPPO_STATE] = n};
    for (int i = 0; i < LUD_MAPPO_INPUTS; i++) {
        inputs->items[i].rows = rows[i];
        upload(inputs, &inputs->items[i]);
    }
    upload(inputs, &inputs->edge_target);
    upload(inputs, &inputs->source_offsets);
    upload(inputs, &inputs->source_edges);
}
