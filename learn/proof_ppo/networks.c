#include "learn/proof_ppo/networks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/proof_ppo/atom_embedding.h"

static const double least_length = 1e-12;

/* A decision brings at most one new row less than it has successors: rows bound decisions, but successors may
 * repeat rows; their number is bounded apart. */
enum { SUCCESSORS_PER_ROW = 4 };

/* So many states that pass through the network go in two parts. Not a matter of threads: sums over the states
 * are cut with them. */
enum { LEAST_FOR_PARTS = 128 };
/* What the first part's states are a multiple of: dropout draws four numbers at once. */
enum { SPLIT = 4 };

/* ---- declaring ---- */

/* Uniform in +-sqrt(6 / fan_in): Kaiming for ReLU. */
static void kaiming(lud_nn *nn, int64_t fan_in) {
    lud_nn_set_init(nn, (lud_init){.kind = LUD_INIT_UNIFORM, .a = sqrt(6.0 / (double)fan_in)},
                    (lud_init){.kind = LUD_INIT_CONSTANT});
}

static void orthogonal(lud_nn *nn, double gain) {
    lud_nn_set_init(nn, (lud_init){.kind = LUD_INIT_ORTHOGONAL, .a = gain},
                    (lud_init){.kind = LUD_INIT_CONSTANT});
}

static int body(lud_nn *nn, const lud_proof_net_options *o, int x, const char *name, double dropout,
                uint32_t first_stream) {
    for (int64_t layer = 0; layer <= o->layers; layer++) {
        char text[64];
        kaiming(nn, lud_nn_width(nn, x));
        snprintf(text, sizeof text, "%s.body%lld", name, (long long)layer);
        int y = lud_nn_linear(nn, x, text, o->hidden, LUD_RELU);
        snprintf(text, sizeof text, "%s.norm%lld", name, (long long)layer);
        y = lud_nn_layer_norm(nn, y, text, 1e-5);
        y = lud_nn_dropout(nn, y, dropout, first_stream + (uint32_t)layer);
        x = layer == 0 ? y : lud_nn_add(nn, x, y);
    }
    return x;
}

int64_t lud_proof_net_weights(const lud_proof_net *net) {
    const lud_parameters *p = net->parameters;
    int64_t n = 0;
    for (int i = 0; i < p->n; i++)
        if (!strncmp(p->items[i].name, "policy.", strlen("policy."))) n += p->items[i].n;
    return n;
}

int lud_proof_net_sees(const lud_proof_net *net) {
    const bool order =
        net->options.states == LUD_PROOF_STATE_CONCAT || net->options.states == LUD_PROOF_STATE_RNN;
    const lud_proof_net_options *o = &net->options;
    return (order ? LUD_PROOF_SEES_ORDER : 0) |
           (o->fact_counts || o->look_ahead ? LUD_PROOF_SEES_MATCHES : 0) |
           LUD_PROOF_SEES_WAYS * (int)o->look_ahead;
}

static int embed(lud_proof_net *net, lud_nn *nn) {
    const lud_proof_net_options *o = &net->options;
    const lud_proof_base *base = net->model->base;
    const int64_t n_variables = (int64_t)net->model->limits.max_goals * base->max_arity;
    net->predicate = lud_nn_input_on(nn, net->atom_axis, LUD_NN_I32, 1, 0);
    int parts[2 + LUD_PROOF_MAX_ARITY], n = 0;
    parts[n++] = lud_nn_embedding(nn, net->predicate, "embedding.predicate", base->n_predicates + 3,
                                  o->embedding_size);
    for (int k = 0; k < base->max_arity; k++) {
        /* first and second argument share a table; further ones have their own, or p(a,b,c) would equal
         * p(c,b,a) */
        static const char *const tables[LUD_PROOF_MAX_ARITY] = {"embedding.term", "embedding.term",
                                                                "embedding.third", "embedding.fourth"};
        net->term[k] = lud_nn_input_on(nn, net->atom_axis, LUD_NN_I32, 1, 0);
        parts[n++] =
            lud_nn_embedding(nn, net->term[k], tables[k], base->n_constants + n_variables, o->embedding_size);
    }
    int counts = -1;
    if (o->fact_counts || o->look_ahead) {
        net->matches = lud_nn_input_on(nn, net->atom_axis, LUD_NN_I32, 1, 0);
        counts = lud_nn_embedding(nn, net->matches, "embedding.count",
                                  LUD_PROOF_MATCH_CLASSES + o->look_ahead, o->embedding_size);
    }
    return lud_proof_embed_atoms(nn, (lud_proof_atom_embedder)o->atoms, parts, n, counts);
}

/* Goals in order through a gated recurrent unit; the hidden state after the last one. Lists shorter than the
 * longest begin later, so that all end at the same step. */
static int recurrent_states(lud_proof_net *net, lud_nn *nn, int atoms) {
    net->step_atom = lud_nn_input_on(nn, net->step_axis, LUD_NN_I32, 1, 0);
    net->step_mask = lud_nn_input_on(nn, net->step_axis, LUD_NN_REAL, 1, 0);
    net->last_step = lud_nn_input_on(nn, 0, LUD_NN_I32, 1, 0);
    const int hidden = lud_nn_gru(nn, lud_nn_gather(nn, atoms, net->step_atom), "state.gru",
                                  net->options.embedding_size, 0, -1, net->step_mask);
    return lud_nn_gather(nn, hidden, net->last_step);
}

static int embed_states(lud_proof_net *net, lud_nn *nn, int atoms) {
    const int n_goals = net->model->limits.max_goals;
    if (net->options.states == LUD_PROOF_STATE_RNN) return recurrent_states(net, nn, atoms);
    if (net->options.states != LUD_PROOF_STATE_CONCAT) {
        net->offsets = lud_nn_input_on(nn, 0, LUD_NN_I32, 1, 1);
        if (net->options.states == LUD_PROOF_STATE_ATTENTION) {
            const int64_t width = lud_nn_width(nn, atoms);
            const int scores = lud_nn_linear(nn, atoms, "state.attention", width, LUD_LINEAR);
            const int weights = lud_nn_segment_softmax(nn, scores, net->offsets);
            return lud_nn_segment_reduce(nn, lud_nn_multiply(nn, weights, atoms), net->offsets,
                                         LUD_REDUCE_SUM);
        }
        if (net->options.states == LUD_PROOF_STATE_TRANSFORMER) {
            /* the query is a parameter, so that its products with the keys are one linear map */
            const int64_t width = lud_nn_width(nn, atoms);
            const int scores = lud_nn_linear(nn, atoms, "state.query", 1, LUD_LINEAR);
            const int weights = lud_nn_segment_softmax(nn, scores, net->offsets);
            const int values = lud_nn_linear(nn, atoms, "state.value", width, LUD_LINEAR);
            const int seen = lud_nn_multiply(nn, lud_nn_broadcast_groups(nn, weights, width, 1.0), values);
            return lud_nn_linear(nn, lud_nn_segment_reduce(nn, seen, net->offsets, LUD_REDUCE_SUM),
                                 "state.output", width, LUD_LINEAR);
        }
        const int sum = lud_nn_segment_reduce(nn, atoms, net->offsets, LUD_REDUCE_SUM);
        if (net->options.states == LUD_PROOF_STATE_SUM) return sum;
        return lud_nn_map(nn, sum, (lud_map){LUD_MAP_AFFINE, 1.0 / n_goals, 0.0});
    }
    int parts[LUD_PROOF_MAX_GOALS];
    for (int g = 0; g < n_goals; g++) {
        net->place[g] = lud_nn_input_on(nn, 0, LUD_NN_I32, 1, 0);
        parts[g] = lud_nn_gather(nn, atoms, net->place[g]);
    }
    const int half = n_goals / 2; /* a concatenation takes a limited number of parts */
    if (n_goals < 4) return lud_nn_concat(nn, parts, n_goals);
    const int halves[2] = {lud_nn_concat(nn, parts, half), lud_nn_concat(nn, parts + half, n_goals - half)};
    return lud_nn_concat(nn, halves, 2);
}

static double logit_factor(const lud_proof_net *net) {
    const lud_proof_net_options *o = &net->options;
    return (!o->l2_norm && o->sqrt_scale ? 1.0 / sqrt((double)net->width) : 1.0) / o->temperature;
}

/* Logits as values of the network. The squared length has the least length's square as its least. */
static void declare_logits(lud_proof_net *net, lud_nn *nn) {
    const int64_t width = net->width;
    int unit = net->head;
    if (net->options.l2_norm) {
        const int square = lud_nn_map(nn, unit, (lud_map){LUD_MAP_SQUARE, 0.0, 0.0});
        int factor = lud_nn_sum_groups(nn, square, width, 1.0);
        factor = lud_nn_map(nn, factor, (lud_map){LUD_MAP_CLAMP, least_length * least_length, 1e30});
        factor = lud_nn_map(nn, factor, (lud_map){LUD_MAP_POWER, -0.5, 0.0});
        unit = lud_nn_multiply(nn, unit, lud_nn_broadcast_groups(nn, factor, width, 1.0));
    }
    net->successor_axis = lud_nn_axis(nn, net->max_successors);
    net->row_from = lud_nn_input_on(nn, net->successor_axis, LUD_NN_I32, 1, 0);
    net->row_to = lud_nn_input_on(nn, net->successor_axis, LUD_NN_I32, 1, 0);
    const int from = lud_nn_gather(nn, unit, net->row_from), to = lud_nn_gather(nn, unit, net->row_to);
    net->logit = lud_nn_sum_groups(nn, lud_nn_multiply(nn, from, to), width, logit_factor(net));
    lud_nn_output(nn, net->logit);
}

/* The values have the same numbers in every part. */
static void declare(lud_proof_net *net, lud_nn *nn, int64_t max_atoms) {
    const lud_proof_net_options *o = &net->options;
    net->atom_axis = lud_nn_axis(nn, max_atoms);
    net->decision_axis = lud_nn_axis(nn, net->max_rows);
    if (o->states == LUD_PROOF_STATE_RNN) net->step_axis = lud_nn_axis(nn, max_atoms);
    const int state = embed_states(net, nn, embed(net, nn));
    const int x = body(nn, o, state, "policy", o->dropout, 0);
    kaiming(nn, o->hidden);
    const int hidden = lud_nn_linear(nn, x, "policy.head1", o->hidden, LUD_RELU);
    orthogonal(nn, sqrt(2.0));
    net->head = lud_nn_linear(nn, hidden, "policy.head2", o->embedding_size, LUD_LINEAR);
    if (net->on_cpu)
        lud_nn_output(nn, net->head);
    else
        declare_logits(net, nn);

    net->position = lud_nn_input_on(nn, net->decision_axis, LUD_NN_I32, 1, 0);
    int y = lud_nn_gather(nn, o->separate_value ? state : x, net->position);
    if (o->separate_value) y = body(nn, o, y, "value", 0.0, 1u << 16);
    kaiming(nn, o->hidden);
    y = lud_nn_linear(nn, y, "value.head1", (int64_t)ceil((double)o->hidden * o->value_head_scale), LUD_RELU);
    orthogonal(nn, 1.0);
    net->value = lud_nn_linear(nn, y, "value.head2", 1, LUD_LINEAR);
    lud_nn_output(nn, net->value);
}

/* The recorded pieces: they call operations and nothing else. */
static void enqueue_forward(void *net);
static void enqueue_backward(void *net);

static bool take_arrays(lud_proof_net *net, int64_t max_atoms, int64_t max_index, uint32_t table_size) {
    const size_t rows = (size_t)net->max_rows, successors = (size_t)net->max_successors,
                 heads = rows * (size_t)net->width;
    lud_arrays *a = &net->arrays;
    LUD_TAKE(a, net->begin, rows + 1);
    LUD_TAKE(a, net->row, successors);
    LUD_TAKE(a, net->run, rows);
    LUD_TAKE(a, net->current, rows);
    LUD_TAKE(a, net->logits, successors);
    LUD_TAKE(a, net->dlogits, successors);
    LUD_TAKE(a, net->values, rows);
    LUD_TAKE(a, net->dvalues, rows);
    LUD_TAKE(a, net->output, heads);
    LUD_TAKE(a, net->gradient, heads);
    LUD_TAKE(a, net->length, rows);
    LUD_TAKE(a, net->decision, rows);
    LUD_TAKE(a, net->by_part, rows);
    LUD_TAKE(a, net->hash, rows);
    LUD_TAKE(a, net->state_begin, rows + 2);
    LUD_TAKE(a, net->index, (size_t)max_index + 1);
    LUD_TAKE(a, net->step_going, (size_t)max_atoms + 1);
    LUD_TAKE(a, net->state_of_row, rows);
    LUD_TAKE(a, net->found, table_size);
    LUD_TAKE(a, net->slot, rows);
    return !a->failed;
}

lud_status lud_proof_net_create(const lud_proof_model *model, const lud_proof_net_options *options,
                                lud_parameters *parameters, int64_t max_rows, lud_proof_net **out,
                                lud_error *error) {
    *out = NULL;
    lud_proof_net *net = calloc(1, sizeof *net);
    if (!net) return lud_no_memory(error, "a network");
    const int64_t least = model->limits.max_successors + 1;
    if (max_rows < least) max_rows = least;
    if (!lud_proof_can_embed((lud_proof_atom_embedder)options->atoms, options->embedding_size,
                             model->base->max_arity)) {
        free(net);
        return lud_invalid(error, "network.atoms: %s needs an even embedding_size and at most two arguments",
                           options->atoms == LUD_PROOF_EMBED_ROTATE ? "rotate" : "complex");
    }
    net->model = model;
    net->options = *options;
    net->parameters = parameters;
    net->max_rows = max_rows;
    net->width = options->embedding_size;
    net->on_cpu = parameters->device->backend->host_memory;
    lud_capture_start(&net->forwards, parameters->device, enqueue_forward, net);
    lud_capture_start(&net->backwards, parameters->device, enqueue_backward, net);
    const int64_t max_goals = model->limits.max_goals, max_atoms = (max_rows + 1) * max_goals;
    const int64_t max_successors = SUCCESSORS_PER_ROW * max_rows;
    const int64_t max_index = max_atoms > max_successors ? max_atoms : max_successors;
    net->max_successors = max_successors;
    uint32_t size = 16;
    while (size < 4 * (uint64_t)max_rows) size *= 2;
    net->mask = size - 1;
    const bool parts = net->on_cpu && parameters->real_bytes == sizeof(float) && max_rows >= LEAST_FOR_PARTS;
    const int64_t half = max_rows / 2 > LEAST_FOR_PARTS ? max_rows / 2 : LEAST_FOR_PARTS;
    bool whole = take_arrays(net, max_atoms, max_index, size);
    for (int k = 0; k < 1 + parts && whole; k++) {
        const int64_t rows = parts ? half + SPLIT : max_rows + 1; /* one more, for padding; see pad */
        net->part[k].nn = lud_nn_create(parameters, rows);
        whole = net->part[k].nn != NULL;
        if (whole) declare(net, net->part[k].nn, rows * max_goals);
    }
    if (!whole) {
        lud_proof_net_destroy(net);
        return lud_no_memory(error, "a network");
    }
    *out = net;
    return LUD_OK;
}

/* Scales the rows of the constants in the tables of terms. */
static lud_status scale_constants(lud_proof_net *net, lud_error *error) {
    static const char *const names[] = {"embedding.term.weight", "embedding.third.weight",
                                        "embedding.fourth.weight"};
    lud_parameters *parameters = net->parameters;
    for (int i = 0; i < 3; i++) {
        const int index = lud_parameters_find(parameters, names[i]);
        if (index < 0) continue;
        double *values = malloc((size_t)parameters->items[index].n * sizeof *values);
        if (!values) return lud_no_memory(error, "a network");
        lud_parameters_read(parameters, index, values);
        for (int64_t k = 0; k < net->model->base->n_constants * net->width; k++)
            values[k] *= net->options.constant_scale;
        lud_parameters_write(parameters, index, values);
        free(values);
    }
    return LUD_OK;
}

lud_status lud_proof_net_plan(lud_proof_net *net, lud_nn_mode mode, lud_error *error) {
    lud_nn *second = net->part[1].nn;
    if (net->options.constant_scale != 1.0) LUD_TRY(scale_constants(net, error));
    LUD_TRY(lud_nn_plan(net->part[0].nn, mode, error));
    if (!second) return LUD_OK;
    LUD_TRY(lud_nn_plan(second, mode, error));
    if (!net->parameters->gradients) return LUD_OK;
    net->own = net->parameters;
    net->beside = lud_parameters_beside(net->parameters);
    if (!net->beside) return lud_no_memory(error, "a network");
    lud_nn_use(second, net->beside);
    return LUD_OK;
}

void lud_proof_net_destroy(lud_proof_net *net) {
    if (!net) return;
    lud_capture_end(&net->forwards);
    lud_capture_end(&net->backwards);
    for (int k = 0; k < 2; k++) lud_nn_destroy(net->part[k].nn);
    lud_parameters_destroy(net->beside);
    lud_arrays_free(&net->arrays);
    free(net);
}

/* ---- chunks ---- */

/* The row of a state, a new one when it has none yet; -1 when rows are used up. */
static int32_t row_of(lud_proof_net *net, const lud_proof_decisions *d, int32_t state) {
    uint32_t i = (uint32_t)d->hash[state] & net->mask;
    for (; net->found[i] != 0; i = (i + 1) & net->mask)
        if (net->state_of_row[net->found[i] - 1] == state) return net->found[i] - 1;
    if (net->n_rows == net->max_rows) return -1;
    const int32_t row = net->n_rows++;
    net->found[i] = row + 1;
    net->slot[row] = i;
    net->state_of_row[row] = state;
    return row;
}

/* Takes rows back, for a decision that did not fit. */
static void drop_rows(lud_proof_net *net, int32_t n_rows) {
    while (net->n_rows > n_rows) net->found[net->slot[--net->n_rows]] = 0;
}

static bool add_decision(lud_proof_net *net, const lud_proof_decisions *d, int32_t decision,
                         bool with_successors) {
    const int32_t rows_before = net->n_rows, at = net->n_decisions;
    const int32_t first = d->begin[decision], n = with_successors ? d->begin[decision + 1] - first : 0;
    if (at == net->max_rows || net->begin[at] + n > net->max_successors) return false;
    net->current[at] = -1;
    bool fits = true;
    if (d->current[decision] >= 0) fits = (net->current[at] = row_of(net, d, d->current[decision])) >= 0;
    int32_t *rows = net->row + net->begin[at];
    for (int32_t i = 0; i < n && fits; i++) fits = (rows[i] = row_of(net, d, d->successor[first + i])) >= 0;
    if (!fits) {
        drop_rows(net, rows_before);
        return false;
    }
    net->begin[at + 1] = net->begin[at] + n;
    net->n_decisions++;
    return true;
}

/* The parts of an atom that have a table of embeddings, beside its arguments 0, 1, ... */
enum { PREDICATE = -1, MATCHES = -2 };

/* Where the atoms of row i of a part begin among the part's. */
static int32_t first_atom(const lud_proof_net *net, const lud_proof_part *part, int64_t i) {
    return net->state_begin[part->first + i] - net->state_begin[part->first];
}

static void write_atoms(lud_proof_net *net, const lud_proof_part *part, const lud_proof_decisions *d,
                        int which, int input) {
    int32_t at = 0;
    for (int64_t i = part->first; i < net->n_run && at < part->atoms; i++) {
        const int32_t state = net->state_of_row[net->run[i]];
        for (int32_t a = d->state_begin[state]; a < d->state_begin[state + 1]; a++)
            net->index[at++] = which == MATCHES     ? d->matches[a]
                               : which == PREDICATE ? d->atoms[a].predicate - 1
                                                    : d->atoms[a].terms[which] - 1; /* none: -1, zeros */
    }
    while (at < part->atoms) net->index[at++] = -1;
    lud_nn_write_i32(part->nn, input, at, net->index);
}

/* Which atom is goal g of every row. */
static void write_places(lud_proof_net *net, const lud_proof_part *part, int g) {
    for (int64_t row = 0; row < part->rows; row++) {
        const int32_t atom = first_atom(net, part, row) + g;
        net->index[row] = atom < first_atom(net, part, row + 1) ? atom : -1;
    }
    lud_nn_write_i32(part->nn, net->place[g], part->rows, net->index);
}

/* Which atom stands at every step of every row, and where the rows' lists begin. */
static void write_steps(lud_proof_net *net, const lud_proof_part *part) {
    const int n_goals = net->model->limits.max_goals;
    const int32_t n = (int32_t)part->rows;
    lud_nn_set_rows(part->nn, net->step_axis, (int64_t)n_goals * n);
    for (int t = 0; t < n_goals; t++)
        for (int32_t row = 0; row < n; row++) {
            const int32_t first = first_atom(net, part, row);
            const int goal = t - n_goals + (int)(first_atom(net, part, row + 1) - first);
            net->index[t * n + row] = goal < 0 ? -1 : first + goal;
            net->step_going[t * n + row] = goal > 0;
        }
    lud_nn_write_i32(part->nn, net->step_atom, (int64_t)n_goals * n, net->index);
    lud_nn_write(part->nn, net->step_mask, (int64_t)n_goals * n, net->step_going);
    for (int32_t row = 0; row < n; row++) net->index[row] = (n_goals - 1) * n + row;
    lud_nn_write_i32(part->nn, net->last_step, n, net->index);
}

/* The rows from and to which each successor leads, on CUDA. */
static void write_successors(lud_proof_net *net) {
    const lud_proof_part *part = &net->part[0];
    for (int32_t i = 0; i < net->n_decisions; i++)
        for (int32_t s = net->begin[i]; s < net->begin[i + 1]; s++) net->index[s] = net->current[i];
    for (int64_t s = net->begin[net->n_decisions]; s < part->successors; s++)
        net->index[s] = net->row[s] = -1;
    lud_nn_set_rows(part->nn, net->successor_axis, part->successors);
    lud_nn_write_i32(part->nn, net->row_from, part->successors, net->index);
    lud_nn_write_i32(part->nn, net->row_to, part->successors, net->row);
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* `unit` times the least power of two that makes it n or more. */
static int64_t doubled(int64_t unit, int64_t n) {
    while (unit < n) unit *= 2;
    return unit;
}

/* Raises the sizes of a recorded run, and writes what follows its rows and decisions. At least one row is
 * padding; the last owns the atoms of the padding. Atoms and successors go by the rows, so that few different
 * sizes occur together. */
static void pad(lud_proof_net *net) {
    lud_proof_part *part = &net->part[0];
    if (net->on_cpu || net->n_rows == 0) return;
    const lud_device *device = net->parameters->device;
    const int64_t rows = lesser(lud_capture_rows(device, net->n_rows + 1), net->max_rows + 1);
    part->rows = rows;
    part->atoms = lesser(doubled(rows, net->n_atoms), rows * net->model->limits.max_goals);
    part->decisions = lesser(lud_capture_rows(device, net->n_decisions), net->max_rows);
    part->successors = lesser(doubled(rows, part->successors), net->max_successors);
    for (int64_t row = net->n_rows; row < rows; row++) net->state_begin[row + 1] = net->n_atoms;
    net->state_begin[rows] = (int32_t)part->atoms;
    for (int64_t i = net->n_decisions; i < part->decisions; i++) net->current[i] = -1;
}

/* Shares rows and decisions out to the parts: a decision goes with the state that it is made in. */
static void divide(lud_proof_net *net) {
    const bool both = net->part[1].nn && net->n_run >= LEAST_FOR_PARTS;
    const int32_t split = both ? (net->n_run / 2 + SPLIT - 1) / SPLIT * SPLIT : net->n_run;
    const int32_t *begin = net->state_begin;
    int32_t n = 0;
    for (int k = 0; k < 2; k++) {
        lud_proof_part *part = &net->part[k];
        const int32_t before = n;
        part->first = k == 0 ? 0 : split;
        part->rows = k == 0 ? split : net->n_run - split;
        part->atoms = begin[part->first + part->rows] - begin[part->first];
        for (int32_t i = 0; i < net->n_decisions; i++)
            if (!both ? k == 0 : (net->current[i] >= split) == k) net->decision[n++] = i;
        part->decisions = n - before;
        part->successors = k == 0 ? net->begin[net->n_decisions] : 0;
    }
}

/* Which rows pass through the network. Remembered heads are read now: new ones may take their places. */
static void choose_rows(lud_proof_net *net, const lud_proof_decisions *d) {
    const int64_t width = net->width;
    net->n_run = 0;
    for (int32_t row = 0; row < net->n_rows; row++) {
        const uint64_t hash = d->hash[net->state_of_row[row]];
        const float *head = net->remembered ? lud_proof_remembered_find(net->remembered, hash) : NULL;
        if (!head) net->run[net->n_run++] = row;
        for (int64_t k = 0; head && k < width; k++) net->output[row * width + k] = (double)head[k];
        net->hash[row] = hash;
    }
}

/* The inputs of a part whose decisions, without padding, are decision[0], decision[1], ... */
static void write_part(lud_proof_net *net, const lud_proof_part *part, const int32_t *decision,
                       const lud_proof_decisions *d) {
    lud_nn_set_rows(part->nn, net->atom_axis, part->atoms);
    if (net->options.states == LUD_PROOF_STATE_RNN) {
        write_steps(net, part);
    } else if (net->options.states == LUD_PROOF_STATE_CONCAT) {
        for (int g = 0; g < net->model->limits.max_goals; g++) write_places(net, part, g);
    } else {
        for (int64_t row = 0; row <= part->rows; row++) net->index[row] = first_atom(net, part, row);
        lud_nn_write_i32(part->nn, net->offsets, part->rows + 1, net->index);
    }
    write_atoms(net, part, d, PREDICATE, net->predicate);
    if (net->options.fact_counts || net->options.look_ahead) write_atoms(net, part, d, MATCHES, net->matches);
    for (int k = 0; k < net->model->base->max_arity; k++) write_atoms(net, part, d, k, net->term[k]);
    for (int64_t i = 0; i < part->decisions; i++) {
        const int32_t row = net->current[net->on_cpu ? decision[i] : i];
        net->index[i] = row < 0 ? -1 : row - part->first;
    }
    lud_nn_write_i32(part->nn, net->position, part->decisions, net->index);
}

static int32_t load(lud_proof_net *net, const lud_proof_decisions *d, const int32_t *order, int32_t first,
                    int32_t n, bool with_successors) {
    drop_rows(net, 0);
    net->n_decisions = 0;
    net->begin[0] = 0;
    int32_t taken = 0;
    while (taken < n && add_decision(net, d, order ? order[first + taken] : first + taken, with_successors))
        taken++;
    assert(taken > 0 || n == 0);

    choose_rows(net, d);
    net->state_begin[0] = 0;
    for (int32_t i = 0; i < net->n_run; i++) {
        const int32_t state = net->state_of_row[net->run[i]];
        net->state_begin[i + 1] = net->state_begin[i] + d->state_begin[state + 1] - d->state_begin[state];
    }
    net->n_atoms = net->state_begin[net->n_run];
    divide(net);
    pad(net);
    write_part(net, &net->part[0], net->decision, d);
    if (net->part[1].rows > 0) write_part(net, &net->part[1], net->decision + net->part[0].decisions, d);
    if (!net->on_cpu) write_successors(net);
    return taken;
}

int32_t lud_proof_net_load(lud_proof_net *net, const lud_proof_decisions *d, const int32_t *order,
                           int32_t first, int32_t n) {
    return load(net, d, order, first, n, true);
}

int32_t lud_proof_net_load_states(lud_proof_net *net, const lud_proof_decisions *d, const int32_t *order,
                                  int32_t first, int32_t n) {
    return load(net, d, order, first, n, false);
}

/* ---- running ---- */

static double dot(const double *restrict a, const double *restrict b, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The work on heads is worth a second thread from some thousand rows on. */
static int threads_for(const lud_proof_net *net) {
    return net->n_rows * net->width < 100000 ? 1 : net->parameters->device->n_threads;
}

/* Puts the heads that have been run beside those that were remembered. */
static void read_heads(lud_proof_net *net) {
    const int64_t width = net->width;
    double *to = net->remembered ? net->gradient : net->output;
    for (int k = 0; k < 2; k++)
        if (net->part[k].rows > 0)
            lud_nn_read(net->part[k].nn, net->head, net->part[k].rows, to + net->part[k].first * width);
    for (int32_t i = 0; net->remembered && i < net->n_run; i++) {
        const double *head = net->gradient + i * width;
        memcpy(net->output + net->run[i] * width, head, (size_t)width * sizeof *head);
        lud_proof_remembered_add(net->remembered, net->hash[net->run[i]], head);
    }
}

/* Logits from the heads. */
static void logits_on_host(lud_proof_net *net) {
    const int64_t width = net->width;
    read_heads(net);
    const int n_threads = threads_for(net);
    if (net->options.l2_norm)
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
        for (int32_t row = 0; row < net->n_rows; row++) {
            double *x = net->output + row * width;
            net->length[row] = fmax(sqrt(dot(x, x, width)), least_length);
            for (int64_t k = 0; k < width; k++) x[k] /= net->length[row];
        }
    const double factor = logit_factor(net);
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (int32_t i = 0; i < net->n_decisions; i++)
        for (int32_t s = net->begin[i]; s < net->begin[i + 1]; s++)
            net->logits[s] =
                factor * dot(net->output + net->current[i] * width, net->output + net->row[s] * width, width);
}

/* Gradients of the heads from those of the logits. Decisions share rows, so threads share the columns. */
static void gradients_on_host(lud_proof_net *net) {
    const int64_t width = net->width;
    const double factor = logit_factor(net);
    const int n_threads = threads_for(net);
    memset(net->gradient, 0, (size_t)(net->n_rows * width) * sizeof *net->gradient);
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
    for (int part = 0; part < n_threads; part++) {
        const int64_t first = width * part / n_threads, end = width * (part + 1) / n_threads;
        for (int32_t i = 0; i < net->n_decisions; i++)
            for (int32_t s = net->begin[i]; s < net->begin[i + 1]; s++) {
                const double d = factor * net->dlogits[s];
                const int64_t a = net->current[i] * width, b = net->row[s] * width;
                for (int64_t k = first; k < end; k++) {
                    const double from = net->output[a + k], to = net->output[b + k];
                    net->gradient[a + k] += d * to;
                    net->gradient[b + k] += d * from;
                }
            }
    }
    if (net->options.l2_norm)
#pragma omp parallel for num_threads(n_threads) if (n_threads > 1)
        for (int32_t row = 0; row < net->n_rows; row++) {
            const double *u = net->output + row * width;
            double *g = net->gradient + row * width;
            const double along = dot(u, g, width);
            for (int64_t k = 0; k < width; k++) g[k] = (g[k] - along * u[k]) / net->length[row];
        }
    for (int k = 0; k < 2; k++)
        if (net->part[k].rows > 0)
            lud_nn_write_gradient(net->part[k].nn, net->head, net->part[k].rows,
                                  net->gradient + net->part[k].first * width);
}

static void run_forward(lud_device *device, void *of) {
    const lud_proof_part *part = of;
    lud_nn_run_on(part->nn, device);
    lud_nn_forward(part->nn, part->rows, part->training);
    lud_nn_run_on(part->nn, NULL);
}

static void run_backward(lud_device *device, void *of) {
    const lud_proof_part *part = of;
    lud_nn_run_on(part->nn, device);
    lud_nn_backward(part->nn);
    lud_nn_run_on(part->nn, NULL);
}

static void enqueue(lud_proof_net *net, lud_device_work work) {
    lud_device *device = net->parameters->device;
    if (net->part[1].rows > 0)
        lud_device_run_both(device, work, &net->part[0], work, &net->part[1]);
    else
        work(device, &net->part[0]);
}

static void enqueue_forward(void *net) {
    enqueue(net, run_forward);
}

static void enqueue_backward(void *net) {
    enqueue(net, run_backward);
}

/* Stands for all that shapes a run. */
static uint64_t key_of(const lud_proof_net *net) {
    const lud_proof_part *part = &net->part[0]; /* the only one where runs are recorded */
    const uint64_t shape[] = {(uint64_t)(uintptr_t)net->parameters,
                              (uint64_t)part->rows,
                              (uint64_t)part->atoms,
                              (uint64_t)part->decisions,
                              (uint64_t)part->successors,
                              net->training,
                              net->training ? net->seed : 0};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) key = lud_capture_key(key, shape[i]);
    return key;
}

void lud_proof_net_set_step(lud_proof_net *net, uint64_t seed, uint32_t step) {
    net->seed = seed;
    for (int k = 0; k < 2; k++)
        if (net->part[k].nn) lud_nn_set_step(net->part[k].nn, seed, step);
}

void lud_proof_net_use(lud_proof_net *net, lud_parameters *parameters) {
    net->parameters = parameters;
    lud_nn_use(net->part[0].nn, parameters);
    if (net->part[1].nn)
        lud_nn_use(net->part[1].nn, net->beside && parameters == net->own ? net->beside : parameters);
}

void lud_proof_net_remember(lud_proof_net *net, lud_proof_remembered *remembered) {
    const lud_device *device = net->parameters->device;
    net->remembered = net->on_cpu && device->precision != LUD_PRECISION_BF16 ? remembered : NULL;
}

uint64_t lud_proof_net_prepare(lud_proof_net *net, bool training) {
    net->training = training;
    for (int k = 0; k < 2; k++) {
        lud_proof_part *part = &net->part[k];
        if (k > 0 && part->rows == 0) continue;
        part->training = training;
        if (k > 0) lud_nn_set_first_row(part->nn, part->first);
        lud_nn_set_rows(part->nn, net->decision_axis, training ? part->decisions : 0);
        lud_nn_set_run(part->nn, part->rows, training);
    }
    return key_of(net);
}

/* Numbers of the decisions of each part lie side by side in its network. */
static void read_values(lud_proof_net *net) {
    int64_t n = 0;
    for (int k = 0; k < 2; k++) {
        if (net->part[k].rows == 0) continue;
        const int64_t own = net->on_cpu ? net->part[k].decisions : net->n_decisions;
        lud_nn_read(net->part[k].nn, net->value, own, net->by_part + n);
        n += own;
    }
    for (int32_t i = 0; i < net->n_decisions; i++) {
        const int32_t decision = net->decision[i];
        net->values[decision] = net->current[decision] < 0 ? 0.0 : net->by_part[i];
    }
}

void lud_proof_net_forward(lud_proof_net *net, bool training) {
    const uint64_t key = lud_proof_net_prepare(net, training);
    if (net->n_rows == 0) {
        for (int32_t i = 0; training && i < net->n_decisions; i++) net->values[i] = 0.0;
        return;
    }
    assert(!net->remembered || !training);
    lud_device *device = net->parameters->device;
    const bool apart = device->rows_apart;
    lud_device_set_rows_apart(device, apart || net->remembered);
    if (net->n_run > 0) lud_capture_run(&net->forwards, key);
    lud_device_set_rows_apart(device, apart);
    if (net->on_cpu)
        logits_on_host(net);
    else
        lud_nn_read(net->part[0].nn, net->logit, net->begin[net->n_decisions], net->logits);
    if (training) read_values(net);
}

static void write_value_gradients(lud_proof_net *net) {
    const lud_proof_part *first = &net->part[0], *second = &net->part[1];
    for (int64_t i = 0; i < first->decisions + second->decisions; i++) {
        const int64_t decision = i < net->n_decisions ? net->decision[i] : i; /* itself: padding */
        net->by_part[i] = net->current[decision] < 0 ? 0.0 : net->dvalues[decision];
    }
    lud_nn_write_gradient(first->nn, net->value, first->decisions, net->by_part);
    if (second->rows > 0)
        lud_nn_write_gradient(second->nn, net->value, second->decisions, net->by_part + first->decisions);
}

double lud_proof_net_value(lud_proof_net *net) {
    assert(!net->remembered);
    const lud_proof_part *part = &net->part[0]; /* where the first state is */
    if (net->n_rows == 0 || net->current[0] < 0) return 0.0;
    net->training = false;
    lud_nn_set_rows(part->nn, net->decision_axis, part->decisions);
    lud_nn_set_run(part->nn, part->rows, false);
    lud_nn_forward(part->nn, part->rows, false);
    lud_nn_read(part->nn, net->value, 1, net->values);
    return net->values[0];
}

void lud_proof_net_backward(lud_proof_net *net) {
    assert(net->training);
    if (net->n_rows == 0) return;
    if (net->on_cpu) {
        gradients_on_host(net);
    } else {
        for (int64_t s = net->begin[net->n_decisions]; s < net->part[0].successors; s++)
            net->dlogits[s] = 0.0;
        lud_nn_write_gradient(net->part[0].nn, net->logit, net->part[0].successors, net->dlogits);
    }
    write_value_gradients(net);
    net->added_beside |= net->part[1].rows > 0;
    lud_capture_run(&net->backwards, key_of(net));
}

void lud_proof_net_add_up(lud_proof_net *net) {
    if (net->added_beside) lud_parameters_take_gradients(net->own, net->beside);
    net->added_beside = false;
}

double lud_proof_net_multiply_adds(const lud_proof_net *net) {
    double total = 0.0;
    for (int k = 0; k < 2; k++)
        if (net->part[k].rows > 0) total += lud_nn_multiply_adds(net->part[k].nn);
    return total;
}

double lud_proof_log_softmax(const double *logits, int32_t n, double *log_probs) {
    double most = logits[0], sum = 0.0, entropy = 0.0;
    for (int32_t i = 1; i < n; i++) most = fmax(most, logits[i]);
    for (int32_t i = 0; i < n; i++) sum += exp(logits[i] - most);
    const double log_sum = most + log(sum);
    for (int32_t i = 0; i < n; i++) {
        log_probs[i] = logits[i] - log_sum;
        entropy -= exp(log_probs[i]) * log_probs[i];
    }
    return entropy;
}

double lud_proof_log_odds_of_going_on(const double *logits, int32_t n) {
    double most = logits[0], sum = 0.0;
    for (int32_t i = 1; i < n - 1; i++) most = fmax(most, logits[i]);
    for (int32_t i = 0; i < n - 1; i++) sum += exp(logits[i] - most);
    return most + log(sum) - logits[n - 1];
}
