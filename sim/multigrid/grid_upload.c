#include "sim/multigrid/grid_upload.h"

#include <string.h>

#include "sim/device_block.h"
#include "sim/multigrid/grid_observe.h"

#define MOVE(to, from, field, n)                                                                             \
    (to).field = lud_device_block_put(b, (from)->field, (size_t)(n) * sizeof *(from)->field, NULL)

static void move_layer(lud_device_block *b, const lud_grid_model *m, const lud_grid_layer *layer,
                       lud_grid_layer *to) {
    lud_grid_layer copy = *layer;
    MOVE(copy, layer, base, m->n_cells + 1);
    MOVE(copy, layer, base_colour, m->n_cells + 1);
    MOVE(copy, layer, fixed_at, m->n_cells + 1);
    MOVE(copy, layer, fixed, layer->n_fixed);
    MOVE(copy, layer, shown, layer->n_shown);
    MOVE(copy, layer, initial, m->model.layout.state_bytes);
    MOVE(copy, layer, free_cell, layer->n_free);
    MOVE(copy, layer, compact, m->n_cells);
    MOVE(copy, layer, coded, layer->n_coded);
    MOVE(copy, layer, interactive, LUD_GRID_INTERACTIVE);
    if (to) *to = copy;
}

/* The spec's maps, goals and names, which no step reads, stay behind. */
static void build(lud_device_block *b, const void *model) {
    const lud_grid_model *m = model;
    lud_grid_model copy = *m;
    void *host, *layers;
    lud_device_block_put(b, m, sizeof *m, &host);
    MOVE(copy, m, slot_type, m->n_slots);
    MOVE(copy, m, slot_word, m->n_slots);
    MOVE(copy, m, carry, m->n_classes);
    MOVE(copy, m, place, m->n_cells);
    MOVE(copy, m, agent_of_place, m->n_agents);
    MOVE(copy, m, cell_x, m->n_cells + 1);
    MOVE(copy, m, cell_y, m->n_cells + 1);
    MOVE(copy, m, next, (m->n_cells + 1) * 4);
    copy.layers = lud_device_block_put(b, m->layers, (size_t)m->n_maps * sizeof *m->layers, &layers);
    for (int k = 0; k < m->n_maps; k++)
        move_layer(b, m, &m->layers[k], layers ? (lud_grid_layer *)layers + k : NULL);
    if (host) memcpy(host, &copy, sizeof copy);
}

lud_status lud_grid_upload(const lud_model *model, lud_device *device, void **uploaded, lud_error *error) {
    const lud_grid_model *m = (const lud_grid_model *)model;
    *uploaded = NULL;
    if (m->spec.observation.coding == LUD_CODING_CELLS)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "observation.coding: cells is written on a processor, not on %s", device->name);
    return lud_device_block_upload(device, build, m, uploaded, error);
}
