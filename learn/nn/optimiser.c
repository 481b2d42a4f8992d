#include "learn/nn/optimiser.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "learn/nn/arrays.h"

const char *const lud_optimiser_names[LUD_OPTIMISER_KINDS + 1] = {"sgd",    "adam",        "adamw",
                                                                  "apollo", "apollo-mini", NULL};

/* Scalars in device memory, per group and per low-rank matrix. */
enum {
    GROUP_SCHEDULE = 0,
    GROUP_LIMIT = 3,
    GROUP_SQUARES = 4,
    GROUP_NORM = 5,
    GROUP_SCALE = 6,
    GROUP_SCALARS = 16
};
enum { MATRIX_NORM = 0, MATRIX_STORED = 1, MATRIX_DIVISOR = 2, MATRIX_RATIO = 3, MATRIX_SCALARS = 16 };

/* Parameters side by side that are stepped together. */
typedef struct range {
    int first, last; /* parameters */
    int64_t offset, n;
    int64_t m, v; /* where the moments stand in the state block */
} range;

typedef struct matrix {
    int parameter, group;
    int64_t rows, columns, rank;
    int64_t m, v, scalars; /* in the state block */
    uint64_t updates;
    const double *injected;
} matrix;

typedef struct group {
    lud_optimiser_options options;
    int first_range, n_ranges, n_matrices, n_parameters;
    int64_t numbers; /* parameters of the group */
    int64_t scalars;
    uint64_t updates;
    double lr;                     /* of the update in work */
    bool limit_moves;              /* the limit of the norm may change, and device memory has it */
    float packed[GROUP_LIMIT + 1]; /* rates and limit in an upload */
    const void *sent;              /* where they are on the device; null: in the state block */
} group;

struct lud_optimiser {
    lud_arrays arrays;
    lud_parameters *parameters;
    uint64_t seed;
    int *owner; /* [parameters] group, -1: none */
    int n_groups, n_ranges, n_matrices;
    group *groups;
    range *ranges;
    matrix *matrices;
    int64_t state_size; /* numbers in the state block */
    int64_t projection_size, projected_size;
    void *state;                           /* moments and scalars */
    void *projection, *projected, *scaled; /* scratch: P, R and Q of the matrix in work */
    void *channel[2];                      /* scratch: norms of channels */
};

lud_optimiser_options lud_optimiser_defaults(lud_optimiser_kind kind) {
    lud_optimiser_options o = {.kind = (int)kind,
                               .beta1 = 0.9,
                               .beta2 = 0.999,
                               .epsilon = 1e-8,
                               .correct_bias = true,
                               .rank = 128,
                               .scale = 32.0,
                               .projection_gap = 200,
                               .limiter = true,
                               .limiter_gamma = 1.01};
    if (kind == LUD_OPTIMISER_APOLLO || kind == LUD_OPTIMISER_APOLLO_MINI) o.epsilon = 1e-6;
    if (kind == LUD_OPTIMISER_APOLLO_MINI) {
        o.rank = 1;
        o.scale = 128.0;
        o.tensor_scaling = true;
    }
    return o;
}

static bool is_apollo(int kind) {
    return kind == LUD_OPTIMISER_APOLLO || kind == LUD_OPTIMISER_APOLLO_MINI;
}

lud_status lud_optimiser_options_check(const lud_optimiser_options *o, lud_tree *learner, lud_error *error) {
    const lud_optimiser_options usual = lud_optimiser_defaults(LUD_OPTIMISER_ADAM);
    static const char *const of_sgd = "sgd", *const of_moments = "every type but sgd",
                             *const of_apollo = "apollo and apollo-mini";
    const struct {
        const char *key, *types;
        bool given;
    } rows[] = {{"momentum", of_sgd, o->momentum != 0.0},
                {"beta1", of_moments, o->beta1 != usual.beta1},
                {"beta2", of_moments, o->beta2 != usual.beta2},
                {"rank", of_apollo, o->rank != 0},
                {"scale", of_apollo, o->scale != 0.0},
                {"projection_gap", of_apollo, o->projection_gap != usual.projection_gap},
                {"tensor_scaling", of_apollo, o->tensor_scaling},
                {"scale_front", of_apollo, o->scale_front},
                {"limiter", of_apollo, !o->limiter},
                {"limiter_gamma", of_apollo, o->limiter_gamma != usual.limiter_gamma},
                {"correct_bias", of_apollo, !o->correct_bias},
                {"zero_gradient_freezes", of_apollo, o->zero_gradient_freezes}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *types = rows[i].types;
        const bool honoured =
            types == of_apollo ? is_apollo(o->kind) : (o->kind == LUD_OPTIMISER_SGD) == (types == of_sgd);
        if (!rows[i].given || honoured) continue;
        lud_tree *section = lud_tree_get(learner, "optimiser"), *option = lud_tree_get(section, rows[i].key);
        return lud_tree_expected(option, error, "no %s with type %s; it is of %s", rows[i].key,
                                 lud_optimiser_names[o->kind], types);
    }
    return LUD_OK;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

lud_optimiser *lud_optimiser_create(lud_parameters *parameters) {
    lud_optimiser *optimiser = calloc(1, sizeof *optimiser);
    if (!optimiser) return NULL;
    optimiser->parameters = parameters;
    lud_arrays *a = &optimiser->arrays;
    a->device = parameters->device;
    const size_t n = (size_t)parameters->n + 1;
    LUD_TAKE(a, optimiser->owner, n);
    LUD_TAKE(a, optimiser->ranges, n);
    LUD_TAKE(a, optimiser->matrices, n);
    if (a->failed) {
        lud_optimiser_destroy(optimiser);
        return NULL;
    }
    for (int i = 0; i < parameters->n; i++) optimiser->owner[i] = -1;
    return optimiser;
}

void lud_optimiser_destroy(lud_optimiser *optimiser) {
    if (!optimiser) return;
    lud_arrays_free(&optimiser->arrays);
    LUD_FREE(optimiser->groups, optimiser);
}

static int64_t take_state(lud_optimiser *optimiser, int64_t n) {
    const int64_t at = optimiser->state_size;
    optimiser->state_size += (n + 15) / 16 * 16;
    return at;
}

static void add_matrix(lud_optimiser *optimiser, int index, int group_index, int64_t rank) {
    const lud_parameter *p = &optimiser->parameters->items[index];
    const int64_t rows = p->dimensions[0], columns = p->dimensions[1], kept = larger(rows, columns) * rank;
    optimiser->matrices[optimiser->n_matrices++] = (matrix){.parameter = index,
                                                            .group = group_index,
                                                            .rows = rows,
                                                            .columns = columns,
                                                            .rank = rank,
                                                            .m = take_state(optimiser, kept),
                                                            .v = take_state(optimiser, kept),
                                                            .scalars = take_state(optimiser, MATRIX_SCALARS)};
    optimiser->projection_size = larger(optimiser->projection_size, smaller(rows, columns) * rank);
    optimiser->projected_size = larger(optimiser->projected_size, kept);
}

int lud_optimiser_group(lud_optimiser *optimiser, const char *prefix, const lud_optimiser_options *options,
                        bool always_low_rank) {
    assert(!optimiser->state);
    group *groups = realloc(optimiser->groups, ((size_t)optimiser->n_groups + 1) * sizeof *groups);
    if (!groups) return -1;
    optimiser->groups = groups;
    const int index = optimiser->n_groups++;
    group *g = &groups[index];
    *g = (group){.options = *options, .first_range = optimiser->n_ranges};
    const lud_optimiser_options usual = lud_optimiser_defaults((lud_optimiser_kind)options->kind);
    if (g->options.rank == 0) g->options.rank = usual.rank;
    if (g->options.scale == 0.0) g->options.scale = usual.scale;
    g->options.tensor_scaling |= usual.tensor_scaling;
    options = &g->options;
    g->scalars = take_state(optimiser, GROUP_SCALARS);
    range *open = NULL;
    for (int i = 0; i < optimiser->parameters->n; i++) {
        const lud_parameter *p = &optimiser->parameters->items[i];
        if (p->frozen || optimiser->owner[i] >= 0 || strncmp(p->name, prefix, strlen(prefix)) != 0) {
            open = NULL;
            continue;
        }
        optimiser->owner[i] = index;
        g->n_parameters++;
        g->numbers += p->n;
        const bool saves =
            p->n_dimensions == 2 && 2 * options->rank < smaller(p->dimensions[0], p->dimensions[1]);
        if (is_apollo(options->kind) && p->low_rank && p->n_dimensions == 2 && (saves || always_low_rank)) {
            add_matrix(optimiser, i, index, options->rank);
            g->n_matrices++;
            open = NULL;
            continue;
        }
        if (!open) {
            open = &optimiser->ranges[optimiser->n_ranges++];
            *open = (range){.first = i, .offset = p->offset};
            g->n_ranges++;
        }
        open->last = i;
        open->n = p->offset + p->n - open->offset;
    }
    for (int i = g->first_range; i < optimiser->n_ranges; i++) {
        const bool momentum = options->kind != LUD_OPTIMISER_SGD || options->momentum != 0.0;
        range *r = &optimiser->ranges[i];
        r->m = momentum ? take_state(optimiser, r->n) : -1;
        r->v = options->kind != LUD_OPTIMISER_SGD ? take_state(optimiser, r->n) : -1;
    }
    return index;
}

/* n numbers on the device. */
static void *reals(lud_optimiser *optimiser, int64_t n) {
    const lud_parameters *p = optimiser->parameters;
    return lud_arrays_add_device(&optimiser->arrays,
                                 lud_device_allocate(p->device, (size_t)n * p->real_bytes));
}

lud_status lud_optimiser_build(lud_optimiser *optimiser, uint64_t seed, lud_error *error) {
    optimiser->seed = seed;
    int64_t channels = 1;
    for (int i = 0; i < optimiser->n_matrices; i++)
        channels = larger(channels, larger(optimiser->matrices[i].rows, optimiser->matrices[i].columns));
    optimiser->state = reals(optimiser, optimiser->state_size);
    if (optimiser->n_matrices) {
        optimiser->projection = reals(optimiser, optimiser->projection_size);
        optimiser->projected = reals(optimiser, optimiser->projected_size);
        optimiser->scaled = reals(optimiser, optimiser->projected_size);
        for (int i = 0; i < 2; i++) optimiser->channel[i] = reals(optimiser, channels);
    }
    return optimiser->arrays.failed
               ? lud_no_memory(error, "%" PRId64 " numbers of optimiser state", optimiser->state_size)
               : LUD_OK;
}

#define TEMPLATE "learn/nn/optimiser_template.h"
#include "learn/nn/both_reals.h"

void lud_optimiser_prepare(lud_optimiser *optimiser, int index, double lr) {
    group *g = &optimiser->groups[index];
    g->updates++;
    g->lr = lr;
    if (optimiser->parameters->real_bytes == sizeof(float))
        prepare_group_f32(optimiser, g);
    else
        prepare_group_f64(optimiser, g);
}

void lud_optimiser_pack(lud_optimiser *optimiser, int index, double lr, lud_upload_batch *upload) {
    group *g = &optimiser->groups[index];
    double schedule[GROUP_LIMIT + 1];
    assert(optimiser->parameters->real_bytes == sizeof *g->packed);
    g->updates++;
    g->lr = lr;
    schedule_group_f32(g, schedule);
    for (int i = 0; i <= GROUP_LIMIT; i++) g->packed[i] = (float)schedule[i];
    lud_upload_batch_add(upload, &g->sent, g->packed, sizeof g->packed);
}

bool lud_optimiser_records(const lud_optimiser *optimiser) {
    return optimiser->n_matrices == 0;
}

/* The parameter of the group whose gradient is not finite; -1: none is, so their squares overflow. */
static int first_unreal(const lud_optimiser *optimiser) {
    const lud_parameters *p = optimiser->parameters;
    for (int i = 0; i < p->n; i++) {
        const void *gradient = lud_parameters_gradient(p, i);
        for (int64_t k = 0; k < p->items[i].n; k++)
            if (!isfinite(p->real_bytes == sizeof(float) ? (double)((const float *)gradient)[k]
                                                         : ((const double *)gradient)[k]))
                return i;
    }
    return -1;
}

/* Where the host can look at no cost: a gradient that is not finite has spoiled the weights by now, and is
 * the first that anybody sees of it. */
static void check_norm(const lud_optimiser *optimiser, lud_device *device, int index) {
    const group *g = &optimiser->groups[index];
    const double norm = lud_optimiser_norm(optimiser, index);
    if (isfinite(norm)) return;
    const int first = first_unreal(optimiser);
    lud_error failure = {0};
    lud_fail(&failure, LUD_ERROR_NUMERIC,
             "in update %" PRIu64 " the gradient of %s became %s; try a smaller learning_rate or max_norm",
             g->updates, first < 0 ? "a group of weights" : optimiser->parameters->items[first].name,
             isnan(norm) ? "no number" : "infinite");
    lud_device_keep(device, &failure);
}

void lud_optimiser_apply_on(lud_optimiser *optimiser, lud_device *device, int index) {
    if (optimiser->parameters->real_bytes == sizeof(float))
        apply_group_f32(optimiser, device, index);
    else
        apply_group_f64(optimiser, device, index);
    if (device->backend->host_memory) check_norm(optimiser, device, index);
}

void lud_optimiser_apply(lud_optimiser *optimiser, int index) {
    lud_optimiser_apply_on(optimiser, optimiser->parameters->device, index);
}

void lud_optimiser_step(lud_optimiser *optimiser, int index, double lr) {
    lud_optimiser_prepare(optimiser, index, lr);
    lud_optimiser_apply(optimiser, index);
}

/* --- looking at the state --- */

/* `n` numbers of the state block, in double. */
static void read_state(const lud_optimiser *optimiser, int64_t at, int64_t n, double *values) {
    const size_t bytes = optimiser->parameters->real_bytes;
    lud_read_reals(optimiser->parameters->device, bytes, (const char *)optimiser->state + (size_t)at * bytes,
                   n, values);
}

void lud_optimiser_set_max_norm(lud_optimiser *optimiser, int index, double max_norm) {
    group *g = &optimiser->groups[index];
    g->options.max_norm = max_norm;
    /* where nothing is recorded the limit can stay a number of the call */
    g->limit_moves = optimiser->parameters->device->backend->records_graphs;
}

double lud_optimiser_norm(const lud_optimiser *optimiser, int index) {
    double norm = 0.0;
    read_state(optimiser, optimiser->groups[index].scalars + GROUP_NORM, 1, &norm);
    return norm;
}

static const matrix *find_matrix(const lud_optimiser *optimiser, int parameter) {
    for (int i = 0; i < optimiser->n_matrices; i++)
        if (optimiser->matrices[i].parameter == parameter) return &optimiser->matrices[i];
    return NULL;
}

void lud_optimiser_inject(lud_optimiser *optimiser, int parameter, const double *projection) {
    matrix *found = (matrix *)(uintptr_t)find_matrix(optimiser, parameter);
    assert(found);
    found->injected = projection;
}

void lud_optimiser_read(const lud_optimiser *optimiser, int parameter, double *m, double *v, double *norm) {
    const lud_parameter *p = &optimiser->parameters->items[parameter];
    const matrix *low = find_matrix(optimiser, parameter);
    if (norm) *norm = 0.0;
    if (low) {
        const int64_t kept = larger(low->rows, low->columns) * low->rank;
        if (m) read_state(optimiser, low->m, kept, m);
        if (v) read_state(optimiser, low->v, kept, v);
        if (norm) read_state(optimiser, low->scalars + MATRIX_STORED, 1, norm);
        return;
    }
    for (int i = 0; i < optimiser->n_ranges; i++) {
        const range *r = &optimiser->ranges[i];
        if (parameter < r->first || parameter > r->last) continue;
        const int64_t at = p->offset - r->offset;
        if (m && r->m >= 0) read_state(optimiser, r->m + at, p->n, m);
        if (v && r->v >= 0) read_state(optimiser, r->v + at, p->n, v);
    }
}

int64_t lud_optimiser_state_numbers(lud_optimiser_kind kind, int64_t m, int64_t n, int64_t rank) {
    switch (kind) {
    case LUD_OPTIMISER_SGD:
        return 0;
    case LUD_OPTIMISER_APOLLO:
    case LUD_OPTIMISER_APOLLO_MINI:
        return 2 * larger(m, n) * rank + 2;
    default:
        return 2 * m * n;
    }
}

static int64_t group_numbers(const lud_optimiser *optimiser, int index) {
    const group *g = &optimiser->groups[index];
    int64_t numbers = 0;
    for (int i = g->first_range; i < g->first_range + g->n_ranges; i++)
        for (int p = optimiser->ranges[i].first; p <= optimiser->ranges[i].last; p++)
            numbers += optimiser->parameters->items[p].n *
                       ((optimiser->ranges[i].m >= 0) + (optimiser->ranges[i].v >= 0));
    for (int i = 0; i < optimiser->n_matrices; i++) {
        const matrix *low = &optimiser->matrices[i];
        if (low->group == index)
            numbers += lud_optimiser_state_numbers(LUD_OPTIMISER_APOLLO, low->rows, low->columns, low->rank);
    }
    return numbers;
}

int64_t lud_optimiser_numbers(const lud_optimiser *optimiser) {
    int64_t numbers = 0;
    for (int i = 0; i < optimiser->n_groups; i++) numbers += group_numbers(optimiser, i);
    return numbers;
}

void lud_optimiser_report(const lud_optimiser *optimiser, lud_text *out) {
    const double bytes = (double)optimiser->parameters->real_bytes;
    lud_text_append(out, "%-5s %-12s %10s %10s %10s %12s %12s\n", "group", "kind", "parameters", "low-rank",
                    "numbers", "state bytes", "Adam bytes");
    for (int i = 0; i < optimiser->n_groups; i++) {
        const group *g = &optimiser->groups[i];
        lud_text_append(out, "%-5d %-12s %10d %10d %10" PRId64 " %12.0f %12.0f\n", i,
                        lud_optimiser_names[g->options.kind], g->n_parameters, g->n_matrices, g->numbers,
                        bytes * (double)group_numbers(optimiser, i), bytes * 2.0 * (double)g->numbers);
    }
}

/* --- checkpoints --- */

static void visit_state(lud_optimiser *optimiser, const char *prefix, const char *what, const char *name,
                        int n_dimensions, const int64_t *dimensions, int64_t at, lud_checkpoint *checkpoint) {
    const size_t bytes = optimiser->parameters->real_bytes;
    const lud_tensor_type type = bytes == sizeof(double) ? LUD_TENSOR_F64 : LUD_TENSOR_F32;
    char full[512];
    snprintf(full, sizeof full, "%s%s.%s", prefix, what, name);
    void *place = lud_checkpoint_place(checkpoint, full, type, n_dimensions, dimensions);
    size_t n = 1;
    for (int i = 0; i < n_dimensions; i++) n *= (size_t)dimensions[i];
    if (!place || n == 0) return;
    char *memory = (char *)optimiser->state + (size_t)at * bytes;
    if (lud_checkpoint_loading(checkpoint) && what[0] == 'v')
        for (size_t i = 0; i < n; i++)
            if (bytes == sizeof(double) ? ((const double *)place)[i] < 0 : ((const float *)place)[i] < 0) {
                lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT,
                                    "'%s' of the checkpoint, a mean of squares, is negative", full);
                return;
            }
    if (lud_checkpoint_loading(checkpoint))
        lud_device_upload(optimiser->parameters->device, memory, place, n * bytes);
    else
        lud_device_download(optimiser->parameters->device, place, memory, n * bytes);
}

void lud_optimiser_visit(lud_optimiser *optimiser, const char *prefix, lud_checkpoint *checkpoint) {
    char name[512];
    for (int i = 0; i < optimiser->n_groups; i++) {
        snprintf(name, sizeof name, "%sgroup%d.updates", prefix, i);
        lud_checkpoint_u64(checkpoint, name, &optimiser->groups[i].updates);
    }
    for (int i = 0; i < optimiser->n_ranges; i++) {
        const range *r = &optimiser->ranges[i];
        for (int k = r->first; k <= r->last; k++) {
            const lud_parameter *p = &optimiser->parameters->items[k];
            const int64_t at = p->offset - r->offset;
            if (r->m >= 0)
                visit_state(optimiser, prefix, "m", p->name, p->n_dimensions, p->dimensions, r->m + at,
                            checkpoint);
            if (r->v >= 0)
                visit_state(optimiser, prefix, "v", p->name, p->n_dimensions, p->dimensions, r->v + at,
                            checkpoint);
        }
    }
    for (int i = 0; i < optimiser->n_matrices; i++) {
        matrix *low = &optimiser->matrices[i];
        const char *parameter = optimiser->parameters->items[low->parameter].name;
        const bool right = low->rows >= low->columns;
        const int64_t shape[2] = {right ? low->rows : low->rank, right ? low->rank : low->columns};
        visit_state(optimiser, prefix, "m", parameter, 2, shape, low->m, checkpoint);
        visit_state(optimiser, prefix, "v", parameter, 2, shape, low->v, checkpoint);
        visit_state(optimiser, prefix, "norm", parameter, 0, NULL, low->scalars + MATRIX_STORED, checkpoint);
        snprintf(name, sizeof name, "%supdates.%s", prefix, parameter);
        lud_checkpoint_u64(checkpoint, name, &low->updates);
    }
}

/* --- which parameters are low-rank --- */

bool lud_low_rank_by_name(const char *name, int n_dimensions) {
    static const char *const hints[] = {"q_proj",  "k_proj",    "v_proj", "o_proj", "gate_proj",
                                        "up_proj", "down_proj", "c_attn", "c_proj", "c_fc",
                                        "w1",      "w2",        "w3"};
    if (n_dimensions < 2) return false;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(name, hints[i])) return true;
    return false;
}

bool lud_low_rank_by_exclusion(const char *name, int n_dimensions) {
    static const char *const hints[] = {"embed", "lm_head", "norm"}; /* "norm" is in "layernorm" */
    if (n_dimensions != 2) return false;
    char lower[512] = "";
    for (size_t i = 0; name[i] && i + 1 < sizeof lower; i++) lower[i] = (char)tolower((unsigned char)name[i]);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strstr(lower, hints[i])) return false;
    return true;
}
