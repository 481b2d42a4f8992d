/* The particle model on a device. Texts, options' lists and what parsing kept stay behind (null or of no use
 * there). */
#include <string.h>

#include "sim/device_block.h"
#include "sim/particle/particle_model.h"

#define MOVE(field, n) copy.field = lud_device_block_put(b, m->field, (size_t)(n) * sizeof *m->field, NULL)

static void move_set(lud_device_block *b, particle_set *moved, particle_set set) {
    const int16_t *ids = lud_device_block_put(b, set.ids, (size_t)set.n * sizeof *set.ids, NULL);
    if (moved) moved->ids = ids;
}

static void move_rules(lud_device_block *b, const lud_particle_model *m, lud_particle_model *copy) {
    void *host;
    copy->rules = lud_device_block_put(b, m->rules, (size_t)m->n_rules * sizeof *m->rules, &host);
    particle_rule *rules = host;
    for (int i = 0; i < m->n_rules; i++) {
        move_set(b, rules ? &rules[i].from : NULL, m->rules[i].from);
        move_set(b, rules ? &rules[i].to : NULL, m->rules[i].to);
        move_set(b, rules ? &rules[i].receivers : NULL, m->rules[i].receivers);
    }
    copy->items = lud_device_block_put(b, m->items, (size_t)m->n_items * sizeof *m->items, &host);
    particle_item *items = host;
    for (int i = 0; i < m->n_items; i++) move_set(b, items ? &items[i].to : NULL, m->items[i].to);
}

static void move_views(lud_device_block *b, const lud_particle_model *m, lud_particle_model *copy) {
    const int n = m->view_begin[m->n_agents];
    void *host;
    copy->views = lud_device_block_put(b, m->views, (size_t)n * sizeof *m->views, &host);
    particle_view *views = host;
    for (int i = 0; i < n; i++) {
        const particle_view *view = &m->views[i];
        move_set(b, views ? &views[i].of : NULL, view->of);
        move_set(b, views ? &views[i].hidden_in : NULL, view->hidden_in);
        const uint8_t *shown = lud_device_block_put(b, view->shown, (size_t)view->of.n, NULL);
        if (views) views[i].shown = shown;
    }
}

/* The model is the block's beginning. */
static void build(lud_device_block *b, const void *model) {
    const lud_particle_model *m = model;
    lud_particle_model copy = *m;
    void *host;
    lud_device_block_put(b, m, sizeof *m, &host);
    copy.base.layout.actions = lud_device_block_put(
        b, m->base.layout.actions, (size_t)m->n_agents * sizeof *m->base.layout.actions, NULL);
    MOVE(choices, m->n_choices);
    MOVE(walls, m->n_walls);
    MOVE(entities, m->n_entities);
    MOVE(kind_of, m->n_entities);
    MOVE(radius, m->n_ids);
    MOVE(colour, m->n_entities * LUD_PARTICLE_MAX_COLOUR);
    MOVE(colour_size, m->n_ids);
    MOVE(paint_scale, m->n_entities);
    MOVE(paint_offset, m->n_entities);
    MOVE(paint_slot, m->n_entities);
    MOVE(goal_id, m->n_agents);
    MOVE(force_scale, m->n_agents);
    MOVE(control_scale, m->n_agents);
    MOVE(control_noise, m->n_agents);
    MOVE(speech_noise, m->n_agents);
    MOVE(position_row, m->n_ids);
    MOVE(velocity_row, m->n_ids);
    MOVE(force_row, m->n_entities);
    MOVE(speech_row, m->n_agents);
    MOVE(pairs, m->n_pairs);
    MOVE(pair_begin, m->n_entities + 1);
    MOVE(collider_agents, m->n_collider_agents);
    MOVE(collider_obstacles, m->n_collider_obstacles);
    MOVE(view_begin, m->n_agents + 1);
    MOVE(observation_size, m->n_agents);
    MOVE(placing, m->n_entities);
    MOVE(region, m->n_entities * 4);
    MOVE(apart, m->n_kinds * m->n_kinds);
    move_rules(b, m, &copy);
    move_views(b, m, &copy);
    if (host) memcpy(host, &copy, sizeof copy);
}

lud_status lud_particle_upload(const lud_model *model, lud_device *device, void **uploaded,
                               lud_error *error) {
    const lud_particle_model *m = (const lud_particle_model *)model;
    *uploaded = NULL;
    if (m->options.precision == 1)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "precision: double is for checks on a processor, not for %s", device->name);
    return lud_device_block_upload(device, build, m, uploaded, error);
}
