/* The particle world's table. */
#include "sim/particle/particle_model.h"

#include <assert.h>
#include <string.h>

static const lud_particle_model *model_of(const lud_model *model) {
    return (const lud_particle_model *)model;
}

static void reset(const lud_model *model, lud_range range, uint8_t *states) {
    model_of(model)->code->reset(model_of(model), range, states);
}

static void step(const lud_model *model, lud_range range, uint8_t *states, lud_actions actions,
                 lud_outcome outcome) {
    particle_io io = {.discrete = actions.discrete,
                      .continuous = actions.continuous,
                      .rewards = outcome.rewards,
                      .terminated = outcome.terminated,
                      .truncated = outcome.truncated};
    model_of(model)->code->step(model_of(model), range, states, &io);
}

static void observe(const lud_model *model, lud_range range, const uint8_t *states, void *const *parts) {
    model_of(model)->code->observe(model_of(model), range.n, states, parts, false);
}

void lud_particle_step_wide(const lud_model *model, lud_range range, uint8_t *states,
                            const lud_particle_wide *wide) {
    const lud_particle_model *m = model_of(model);
    assert(m->options.precision == 1);
    assert(!wide->disturbance || m->options.disturbance.std > 0);
    particle_io io = {.discrete = wide->discrete,
                      .continuous = wide->continuous,
                      .disturbance = wide->disturbance,
                      .rewards = wide->rewards,
                      .terminated = wide->terminated,
                      .truncated = wide->truncated,
                      .wide = true};
    m->code->step(m, range, states, &io);
}

void lud_particle_observe_wide(const lud_model *model, lud_range range, const uint8_t *states,
                               void *const *parts) {
    assert(model_of(model)->options.precision == 1);
    model_of(model)->code->observe(model_of(model), range.n, states, parts, true);
}

static double distance(const lud_particle_model *m, const uint8_t *state, int a, int b) {
    lud_particle_body x = lud_particle_get_body(m, state, a), y = lud_particle_get_body(m, state, b);
    double dx = x.position[0] - y.position[0], dy = x.position[1] - y.position[1];
    return __builtin_sqrt(dx * dx + dy * dy);
}

static bool is_terminal(const lud_model *model, const uint8_t *state) {
    const lud_particle_model *m = model_of(model);
    if (!m->terminate || m->n_items == 0 || lud_particle_word(m, state, m->step_row) < 1) return false;
    for (int i = 0; i < m->n_items; i++) {
        const particle_item *item = &m->items[i];
        bool met = false;
        for (int t = 0; t < item->to.n && !met; t++) {
            int to = lud_particle_entity_of(m, state, item->to.ids[t]);
            if (item->to.ids[t] == item->item) continue;
            double within = m->success_within > 0 ? m->success_within : m->radius[item->item] + m->radius[to];
            met = distance(m, state, item->item, to) < within;
        }
        if (!met) return false;
    }
    return true;
}

static lud_status write_rows(const lud_option_table *table, const void *rows, int n, lud_arena *arena,
                             lud_tree *section, const char *key, lud_error *error) {
    if (n == 0) return LUD_OK;
    lud_tree *list = lud_tree_add_sequence(arena, section, key);
    LUD_TRY(list ? LUD_OK : lud_out_of_memory(error));
    for (int i = 0; i < n; i++) {
        lud_tree *row = lud_tree_add_mapping(arena, list, NULL);
        LUD_TRY(
            row ? lud_options_write(table, arena, (const char *)rows + (size_t)i * table->bytes, row, error)
                : lud_out_of_memory(error));
    }
    return LUD_OK;
}

/* Whether parameters are named somewhere in it. */
static bool names_parameters(const lud_tree *node) {
    if (node->kind == LUD_TREE_SCALAR && node->text[0] == '$') return true;
    for (const lud_tree *child = node->child; child; child = child->next)
        if ((child->key && !strcmp(child->key, "pick")) || names_parameters(child)) return true;
    return false;
}

/* The section with the defaults of bodies and choices written out; the terms of observations and rewards
 * stand as they were given, and so does what names parameters, which follow with their values in effect. */
static lud_status write(const lud_model *model, lud_arena *arena, lud_tree *root, lud_error *error) {
    const lud_particle_model *m = model_of(model);
    lud_tree *section = lud_tree_add_mapping(arena, root, "particle"),
             *plain = lud_arena_take(arena, sizeof *plain);
    if (!section || !plain) return lud_out_of_memory(error);
    plain->kind = LUD_TREE_MAPPING;
    particle_options options = m->options;
    options.bodies = options.choices = NULL;
    LUD_TRY(write_rows(&lud_particle_body_table, m->kinds, m->n_kinds, arena, plain, "bodies", error));
    LUD_TRY(write_rows(&lud_particle_choice_table, m->choices, m->n_choices, arena, plain, "choices", error));
    LUD_TRY(lud_options_write(&lud_particle_option_table, arena, &options, plain, error));
    if (m->source && !lud_tree_add_copy(arena, section, "parameters", m->source->child))
        return lud_out_of_memory(error);
    for (const lud_tree *child = plain->child; child; child = child->next) {
        const lud_tree *given = m->source ? lud_tree_get(m->source, child->key) : NULL;
        if (!lud_tree_add_copy(arena, section, child->key, given && names_parameters(given) ? given : child))
            return lud_out_of_memory(error);
    }
    return LUD_OK;
}

static void describe(const lud_model *model, const uint8_t *state, lud_text *out) {
    const lud_particle_model *m = model_of(model);
    lud_text_append(out, "step %d\n", lud_particle_step_count(m, state));
    double speech[LUD_PARTICLE_MAX_SPEECH];
    for (int e = 0; e < m->n_entities; e++) {
        const lud_particle_entity *entity = &m->entities[e];
        lud_particle_body body = lud_particle_get_body(m, state, e);
        lud_text_append(out, "%s %d at (%.4f, %.4f)", entity->kind, entity->member, body.position[0],
                        body.position[1]);
        if (entity->movable)
            lud_text_append(out, ", velocity (%.4f, %.4f)", body.velocity[0], body.velocity[1]);
        if (e < m->n_agents && m->speech_row[e] >= 0) {
            lud_particle_get_speech(m, state, e, speech);
            lud_text_append(out, ", says [");
            for (int c = 0; c < m->options.speech_size; c++)
                lud_text_append(out, "%s%.3g", c ? " " : "", speech[c]);
            lud_text_append(out, "]");
        }
        lud_text_append(out, "\n");
    }
    for (int c = 0; c < m->n_choices; c++)
        for (int s = 0; s < m->choices[c].n_slots; s++) {
            int e = (int)lud_particle_word(m, state, m->slot_row + m->choices[c].first_slot + s);
            lud_text_append(out, "%s", m->choices[c].name);
            if (m->choices[c].per == PER_AGENT) lud_text_append(out, " of agent %d", s);
            lud_text_append(out, ": %s %d\n", m->entities[e].kind, m->entities[e].member);
        }
    lud_particle_metrics metrics = lud_particle_get_metrics(m, state);
    if (metrics.has_success)
        lud_text_append(out, "success %g, fraction %.4f\n", metrics.success, metrics.fraction);
    lud_text_append(out, "collisions %g, reward %.6g\n", metrics.collisions, metrics.reward);
}

/* A whole number in a word, from `least` to `most`. */
static lud_status check_count(const lud_particle_model *m, const uint8_t *state, int row, double least,
                              double most, const char *what, lud_error *error) {
    const double value = lud_particle_word(m, state, row);
    if (value >= least && value <= most && value == __builtin_floor(value)) return LUD_OK;
    return lud_invalid(error, "%s is %g, expected a whole number from %g to %g", what, value, least, most);
}

static lud_status check_state(const lud_model *model, const uint8_t *state, lud_error *error) {
    const lud_particle_model *m = model_of(model);
    const double most = 16777216; /* the largest count that single precision holds exactly */
    for (int w = 0; w < m->n_words; w++)
        if (!__builtin_isfinite(lud_particle_word(m, state, w)))
            return lud_invalid(error, "number %d of %d is %g", w, m->n_words, lud_particle_word(m, state, w));
    for (int c = 0; c < m->n_choices; c++) {
        const particle_choice *choice = &m->choices[c];
        for (int s = 0; s < choice->n_slots; s++)
            LUD_TRY(check_count(m, state, m->slot_row + choice->first_slot + s, choice->first_entity,
                                choice->first_entity + choice->n_candidates - 1, choice->name, error));
    }
    LUD_TRY(check_count(m, state, m->step_row, 0, most, "the step", error));
    for (int i = 0; i < m->n_items; i++)
        LUD_TRY(check_count(m, state, m->reached_row + i, -1, most, "the step of reaching a body", error));
    for (int a = 0; a < 2 * m->n_agents; a++)
        LUD_TRY(check_count(m, state, m->agent_hit_row + a, 0, most, "a count of collisions", error));
    return LUD_OK;
}

static int elapsed(const lud_model *model, const uint8_t *state) {
    return lud_particle_step_count(model_of(model), state);
}

static lud_status parse(const lud_world *world, lud_tree *root, const char *file, uint64_t seed,
                        lud_model **model, lud_error *error) {
    (void)world;
    (void)file;
    (void)seed;
    lud_particle_model *m;
    LUD_TRY(lud_particle_parse(root, &m, error));
    m->base.world = &lud_particle_world;
    *model = &m->base;
    return LUD_OK;
}

const lud_world lud_particle_world = {.name = "particle",
                                      .about = "discs that move, speak and push each other in the plane",
                                      .options = lud_particle_option_tables,
                                      .parse = parse,
                                      .free = lud_particle_free,
                                      .write = write,
                                      .reset = reset,
                                      .step = step,
                                      .observe = observe,
                                      .is_terminal = is_terminal,
                                      .check_state = check_state,
                                      .elapsed = elapsed,
                                      .measure = lud_particle_measure,
                                      .describe = describe,
                                      .device_code = LUD_PARTICLE_DEVICE_CODE,
                                      .upload = lud_particle_upload};
