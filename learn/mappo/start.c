#include "learn/mappo/start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/episodes/statistics.h"
#include "learn/runs/parameters.h"

static bool has_shape(const lud_tensor *tensor, const lud_parameter *parameter) {
    if (tensor->type != LUD_TENSOR_F32 || tensor->n_dimensions != parameter->n_dimensions) return false;
    for (int d = 0; d < parameter->n_dimensions; d++)
        if (tensor->dimensions[d] != parameter->dimensions[d]) return false;
    return true;
}

static lud_status copy_actor(lud_parameters *parameters, const lud_checkpoint *checkpoint, const char *path,
                             lud_error *error) {
    for (int i = 0; i < parameters->n; i++) {
        const lud_parameter *p = &parameters->items[i];
        if (strncmp(p->name, "actor.", 6) != 0) continue;
        const lud_tensor *tensor = lud_checkpoint_find(checkpoint, p->name);
        if (!tensor || !has_shape(tensor, p))
            return lud_invalid(
                error,
                "%s: the actor's %s is %s; expected a run with the same network as this learner "
                "(encoder, sizes, recurrent: false for a clone)",
                path, p->name, tensor ? "of another shape" : "missing");
        lud_device_upload(parameters->device, lud_parameters_value(parameters, i), tensor->data,
                          tensor->bytes);
    }
    return LUD_OK;
}

/* y = W x + b of normalised actions becomes that of actions: rows times a scale, and what is added. */
static lud_status undo_normalisation(lud_mappo_networks *t, const lud_normalisation *n, lud_error *error) {
    lud_parameters *parameters = t->parameters;
    const int weight = lud_parameters_find(parameters, "actor.out.weight"),
              bias = lud_parameters_find(parameters, "actor.out.bias");
    const int64_t rows = t->shape.n_continuous, columns = parameters->items[weight].n / rows;
    double *w = calloc((size_t)(rows * columns), sizeof *w), *b = calloc((size_t)rows, sizeof *b),
           *log_std = calloc((size_t)rows, sizeof *log_std);
    const bool whole = w && b && log_std;
    if (whole) {
        lud_parameters_read(parameters, weight, w);
        lud_parameters_read(parameters, bias, b);
        lud_parameters_read(parameters, t->log_std, log_std);
        for (int64_t i = 0; i < rows; i++) {
            const double shift = lud_denormalise(n, i, 0.0), scale = lud_denormalise(n, i, 1.0) - shift;
            for (int64_t j = 0; j < columns; j++) w[i * columns + j] *= scale;
            b[i] = b[i] * scale + shift;
            if (scale > 0.0) log_std[i] += log(scale);
        }
        lud_parameters_write(parameters, weight, w);
        lud_parameters_write(parameters, bias, b);
        lud_parameters_write(parameters, t->log_std, log_std);
    }
    free(w);
    free(b);
    free(log_std);
    return whole ? LUD_OK : lud_no_memory(error, "a start");
}

static lud_status take(lud_mappo_networks *t, lud_checkpoint *checkpoint, const char *path,
                       lud_error *error) {
    const int64_t n = t->shape.n_continuous;
    lud_status status = copy_actor(t->parameters, checkpoint, path, error);
    if (status || n == 0 || !lud_checkpoint_find(checkpoint, "normalisation.kind")) return status;
    lud_column_statistics *columns = calloc((size_t)n, sizeof *columns);
    uint64_t kind = LUD_NORMALISE_NONE;
    if (!columns) return lud_no_memory(error, "a start");
    lud_normalisation_visit(columns, n, &kind, checkpoint);
    status = lud_checkpoint_status(checkpoint, error);
    const lud_normalisation normalisation = lud_normalisation_of((lud_normalisation_kind)kind, columns);
    if (!status) status = undo_normalisation(t, &normalisation, error);
    free(columns);
    return status;
}

lud_status lud_mappo_begin_with(lud_mappo_networks *networks, const char *folder, lud_error *error) {
    lud_checkpoint *checkpoint = NULL;
    lud_status status = lud_run_parameters(folder, NULL, NULL, &checkpoint, NULL, error);
    if (!status) status = take(networks, checkpoint, folder, error);
    lud_checkpoint_destroy(checkpoint);
    return status ? lud_fail_context(error, "learner.start") : LUD_OK;
}
