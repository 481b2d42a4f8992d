#include "learn/empo/phase2/plasticity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 128, MOST_SWEEPS = 60 };
static const double dead_below = 1e-9, srank_share = 0.99;

typedef struct layer_figures {
    double dormant, dead; /* units */
} layer_figures;

struct lud_empo_plasticity {
    lud_empo_values *values;
    double tau;
    lud_nn *net;
    lud_empo_graph graph;
    int n_layers, features; /* `features`: the shared state encoder's */
    lud_nn_layer layers[MOST_LAYERS];
    layer_figures found[MOST_LAYERS];
    lud_arrays arrays;
    double *host;  /* [rows * width] of the widest layer */
    double *units; /* mean |activation| */
    bool measured;
    lud_empo_plasticity_figures figures;
};

lud_status lud_empo_plasticity_create(lud_empo_values *values, int64_t n_states, double tau,
                                      lud_empo_plasticity **plasticity, lud_error *error) {
    *plasticity = NULL;
    if (!values->online)
        return lud_invalid(error,
                           "learner.plasticity_diagnostics_interval: needs networks; these are tables");
    lud_empo_plasticity *p = calloc(1, sizeof *p);
    if (!p) return lud_no_memory(error, "diagnostics");
    *p = (lud_empo_plasticity){.values = values, .tau = tau};
    p->net = lud_nn_create(values->online, n_states);
    lud_status status = p->net ? LUD_OK : lud_no_memory(error, "diagnostics");
    if (status == LUD_OK) {
        p->graph = lud_empo_declare(p->net, &values->shape, lud_empo_learner_networks(values->options),
                                    n_states * values->n_entries);
        p->n_layers = lud_nn_relu_layers(p->net, MOST_LAYERS, p->layers);
        if (p->n_layers > MOST_LAYERS) p->n_layers = MOST_LAYERS;
        p->features = -1;
        for (int i = 0; i < p->n_layers; i++) {
            lud_nn_output(p->net, p->layers[i].value);
            if (strcmp(p->layers[i].name, "v_h_e.state_encoder.output_fc.0.weight") == 0)
                p->features = p->layers[i].value;
        }
        status = lud_nn_plan(p->net, LUD_NN_INFERENCE, error);
    }
    int64_t most = 0, units = 0;
    for (int i = 0; i < p->n_layers && status == LUD_OK; i++) {
        const int axis = lud_nn_axis_of(p->net, p->layers[i].value);
        const int64_t rows = axis == p->graph.entries ? n_states * values->n_entries
                             : axis == p->graph.cells ? values->shape.height * values->shape.width + 1
                                                      : n_states;
        const int64_t size = rows * lud_nn_width(p->net, p->layers[i].value);
        if (size > most) most = size;
        if (p->layers[i].units > units) units = p->layers[i].units;
    }
    LUD_TAKE(&p->arrays, p->host, (size_t)most);
    LUD_TAKE(&p->arrays, p->units, (size_t)units);
    if (status == LUD_OK && (p->arrays.failed || !lud_empo_prepare(p->net, &p->graph, &values->shape)))
        status = lud_no_memory(error, "diagnostics");
    for (int net = 0; net < LUD_EMPO_NETS; net++) p->figures.norm[net] = NAN;
    p->figures.dormant = p->figures.dead = p->figures.srank = p->figures.effective_rank =
        p->figures.norm_total = NAN;
    if (status)
        lud_empo_plasticity_destroy(p);
    else
        *plasticity = p;
    return status;
}

void lud_empo_plasticity_destroy(lud_empo_plasticity *p) {
    if (!p) return;
    lud_nn_destroy(p->net);
    lud_arrays_free(&p->arrays);
    free(p);
}

/* ---- ranks ---- */

/* Eigenvalues of a symmetric matrix a[n][n] by Jacobi's rotations (Golub and Van Loan, "Matrix computations",
 * 8.5); they stand on its diagonal afterwards. */
static void diagonalise(int64_t n, double *a) {
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < n; k++) {
                all += a[i * n + k] * a[i * n + k];
                if (i != k) off += a[i * n + k] * a[i * n + k];
            }
        if (off <= 1e-24 * all) return;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                if (a[p * n + q] == 0) continue;
                const double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
                const double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                const double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int64_t k = 0; k < n; k++) {
                    const double x = a[k * n + p], y = a[k * n + q];
                    a[k * n + p] = c * x - s * y;
                    a[k * n + q] = s * x + c * y;
                }
                for (int64_t k = 0; k < n; k++) {
                    const double x = a[p * n + k], y = a[q * n + k];
                    a[p * n + k] = c * x - s * y;
                    a[q * n + k] = s * x + c * y;
                }
            }
    }
}

static int larger_first(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

bool lud_effective_ranks(int64_t n, int64_t width, double *x, double *srank, double *effective_rank) {
    const int64_t size = n < width ? n : width;
    double *gram = calloc((size_t)(size * size), sizeof *gram),
           *values = calloc((size_t)size, sizeof *values);
    *srank = *effective_rank = 0;
    for (int64_t k = 0; k < width; k++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) mean += x[i * width + k] / (double)n;
        for (int64_t i = 0; i < n; i++) x[i * width + k] -= mean;
    }
    if (gram && values) { /* x' x or x x', whichever is smaller: the same singular values but for zeros */
        for (int64_t i = 0; i < size; i++)
            for (int64_t k = i; k < size; k++) {
                double sum = 0;
                if (size == width)
                    for (int64_t r = 0; r < n; r++) sum += x[r * width + i] * x[r * width + k];
                else
                    for (int64_t c = 0; c < width; c++) sum += x[i * width + c] * x[k * width + c];
                gram[i * size + k] = gram[k * size + i] = sum;
            }
        diagonalise(size, gram);
        double total = 0, kept = 0, entropy = 0;
        for (int64_t i = 0; i < size; i++) total += values[i] = sqrt(fmax(gram[i * size + i], 0));
        qsort(values, (size_t)size, sizeof *values, larger_first);
        for (int64_t i = 0; i < size && total > 0; i++) {
            if (kept < srank_share * total) *srank += 1;
            kept += values[i];
            if (values[i] > 0) entropy -= values[i] / total * log(values[i] / total);
        }
        if (total > 0) *effective_rank = exp(entropy);
    }
    const bool complete = gram && values;
    free(gram);
    free(values);
    return complete;
}

/* ---- measuring ---- */

static void measure_layer(lud_empo_plasticity *p, int i) {
    const lud_nn_layer *layer = &p->layers[i];
    const int64_t rows = lud_nn_rows(p->net, lud_nn_axis_of(p->net, layer->value));
    const int64_t width = lud_nn_width(p->net, layer->value), per_unit = width / layer->units;
    lud_nn_read(p->net, layer->value, rows, p->host);
    double mean = 0;
    memset(p->units, 0, (size_t)layer->units * sizeof *p->units);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < width; k++)
            p->units[k / per_unit] += fabs(p->host[r * width + k]) / (double)(rows * per_unit);
    for (int64_t u = 0; u < layer->units; u++) mean += p->units[u] / (double)layer->units;
    p->found[i] = (layer_figures){0};
    for (int64_t u = 0; u < layer->units; u++) {
        p->found[i].dormant += p->units[u] <= p->tau * mean;
        p->found[i].dead += p->units[u] <= dead_below;
    }
}

/* False when memory is out. */
static bool measure_norms(lud_empo_plasticity *p) {
    lud_parameters *parameters = p->values->online;
    const unsigned heads = lud_empo_learner_networks(p->values->options);
    double total = 0;
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        double sum = 0;
        for (int i = 0; i < parameters->n; i++) {
            const lud_parameter *item = &parameters->items[i];
            if (strncmp(item->name, lud_empo_net_prefixes[net], strlen(lud_empo_net_prefixes[net])) != 0)
                continue;
            double *numbers = malloc((size_t)item->n * sizeof *numbers);
            if (!numbers) return false;
            lud_parameters_read(parameters, i, numbers);
            for (int64_t k = 0; k < item->n; k++) sum += numbers[k] * numbers[k];
            free(numbers);
        }
        p->figures.norm[net] = heads & 1u << net ? sqrt(sum) : NAN;
        if (heads & 1u << net) total += sum;
    }
    p->figures.norm_total = sqrt(total);
    return true;
}

bool lud_empo_plasticity_measure(lud_empo_plasticity *p, int64_t n, const int32_t *const *records,
                                 const int32_t *const *goals) {
    if (!lud_empo_values_stage(p->values, p->net, &p->graph, n, records, goals)) return false;
    lud_nn_forward(p->net, n, false);
    double units = 0;
    p->figures.dormant = p->figures.dead = 0;
    for (int i = 0; i < p->n_layers; i++) {
        measure_layer(p, i);
        units += (double)p->layers[i].units;
        p->figures.dormant += p->found[i].dormant;
        p->figures.dead += p->found[i].dead;
    }
    p->figures.dormant /= units;
    p->figures.dead /= units;
    if (p->features >= 0) {
        lud_nn_read(p->net, p->features, n, p->host);
        if (!lud_effective_ranks(n, lud_nn_width(p->net, p->features), p->host, &p->figures.srank,
                                 &p->figures.effective_rank))
            return false;
    }
    p->measured = measure_norms(p);
    return p->measured;
}

lud_empo_plasticity_figures lud_empo_plasticity_get(const lud_empo_plasticity *p) {
    return p->figures;
}

void lud_empo_plasticity_print(const lud_empo_plasticity *p, lud_text *out) {
    if (!p->measured) return;
    lud_text_append(out, "\n%-44s %6s %8s %6s\n", "layer", "units", "dormant", "dead");
    for (int i = 0; i < p->n_layers; i++)
        lud_text_append(out, "%-44s %6lld %8.0f %6.0f\n", p->layers[i].name, (long long)p->layers[i].units,
                        p->found[i].dormant, p->found[i].dead);
}

void lud_empo_plasticity_visit(lud_empo_plasticity *p, lud_checkpoint *checkpoint) {
    enum { FIGURES = sizeof p->figures / sizeof(double) };
    static const char figures[] = "plasticity.figures";
    _Static_assert(sizeof p->figures % sizeof(double) == 0 && sizeof *p->found == 2 * sizeof(double),
                   "figures are doubles");
    if (lud_checkpoint_loading(checkpoint) && !lud_checkpoint_find(checkpoint, figures)) return;
    lud_checkpoint_any_tensor(checkpoint, figures, LUD_TENSOR_F64, 1, (const int64_t[]){FIGURES},
                              &p->figures);
    lud_checkpoint_tensor(checkpoint, "plasticity.layers", LUD_TENSOR_F64, 2,
                          (const int64_t[]){p->n_layers, 2}, p->found);
    p->measured = isfinite(p->figures.norm_total);
}
