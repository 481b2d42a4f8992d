/* Tribes in words for the inspector, and the legend. */
#include <math.h>
#include <stdio.h>

#include "render/worlds/draw_tribes.h"

static const char *team_name(const lud_tribes_model *m, int team) {
    return m->spec.teams[team].name;
}

static void append_load(const uint8_t *load, lud_text *out) {
    bool any = false;
    for (int k = 0; k < LUD_RESOURCES; k++) {
        if (!load[k]) continue;
        lud_text_append(out, "%s%d %s", any ? ", " : "", load[k], lud_resource_names[k]);
        any = true;
    }
    if (!any) lud_text_append(out, "nothing");
}

void lud_tribes_tell_agent(lud_drawing *drawing, const uint8_t *state, int agent, lud_text *out) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    const int cell = lud_tribes_cell(m, state, agent), team = m->team[agent];
    lud_text_append(out, "Agent %d of team %s\n", agent, team_name(m, team));
    if (cell == LUD_TRIBES_NOBODY) {
        lud_text_append(out, "state\tdead\n");
        return;
    }
    lud_text_append(out, "cell\t%d, %d\ncarries\t", cell % m->spec.width, cell / m->spec.width);
    append_load(lud_tribes_load(m, state, agent), out);
    lud_text_append(out, "\nworth to it\tgrain %d, wood %d, ore %d\n",
                    (int)m->spec.teams[team].value[LUD_GRAIN], (int)m->spec.teams[team].value[LUD_WOOD],
                    (int)m->spec.teams[team].value[LUD_ORE]);
    if (m->spec.health > 0)
        lud_text_append(out, "health\t%d of %d\n", lud_tribes_health(m, state, agent), (int)m->spec.health);
}

static void append_store(const lud_tribes_model *m, const uint8_t *state, int team, lud_text *out) {
    lud_text_append(out, "store\tgrain %u, wood %u, ore %u\n", lud_tribes_stored(m, state, team, LUD_GRAIN),
                    lud_tribes_stored(m, state, team, LUD_WOOD), lud_tribes_stored(m, state, team, LUD_ORE));
    for (int k = 0; k < LUD_TRIBES_SHARED; k++)
        lud_text_append(out, "%s\t%u\n", lud_tribes_component_names[k], lud_tribes_tally(m, state, team, k));
    lud_text_append(out, "trades\t%u\nraids\t%u\n", lud_tribes_tally(m, state, team, LUD_TRIBES_TRADES),
                    lud_tribes_tally(m, state, team, LUD_TRIBES_RAIDS));
}

void lud_tribes_tell_cell(lud_drawing *drawing, const uint8_t *state, int x, int y, lud_text *out) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    if (x < 0 || y < 0 || x >= m->spec.width || y >= m->spec.height) return;
    const lud_tribes_map *map = lud_tribes_map_of(m, state);
    const int cell = y * m->spec.width + x, ground = map->ground[cell], field = map->field_at[cell];
    lud_text_append(out, "Cell %d, %d\n", x, y);
    if (ground >= LUD_TRIBES_HOUSE) {
        lud_text_append(out, "ground\tstorehouse of %s\n", team_name(m, ground - LUD_TRIBES_HOUSE));
        append_store(m, state, ground - LUD_TRIBES_HOUSE, out);
    } else if (field >= 0) {
        const int kind = (int)lud_tribes_kind(m, field);
        lud_text_append(out, "ground\tfield of %s\nstock\t%d of %d\nregrows\twith probability %.3g\n",
                        lud_resource_names[kind], lud_tribes_stock(m, state, field), (int)m->spec.stock,
                        m->spec.regrow.of[kind]);
    } else {
        lud_text_append(out, "ground\t%s\n", ground == LUD_TRIBES_WATER ? "water" : "open");
    }
}

void lud_tribes_tell_change(lud_drawing *drawing, const uint8_t *before, const uint8_t *after,
                            lud_text *out) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    for (int i = 0; i < m->n_agents; i++) {
        const int from = lud_tribes_cell(m, before, i), to = lud_tribes_cell(m, after, i);
        if (from != to && to == LUD_TRIBES_NOBODY) lud_text_append(out, "agent %d dies\n", i);
        if (from != to && to != LUD_TRIBES_NOBODY)
            lud_text_append(out, "agent %d to %d, %d\n", i, to % m->spec.width, to / m->spec.width);
        for (int k = 0; k < LUD_RESOURCES; k++) {
            const int more = lud_tribes_load(m, after, i)[k] - lud_tribes_load(m, before, i)[k];
            if (more) lud_text_append(out, "agent %d %+d %s\n", i, more, lud_resource_names[k]);
        }
    }
    for (int f = 0; f < m->n_fields; f++) {
        const int more = lud_tribes_stock(m, after, f) - lud_tribes_stock(m, before, f);
        const int cell = lud_tribes_map_of(m, after)->field[f];
        if (more)
            lud_text_append(out, "%s at %d, %d %+d\n", lud_resource_names[lud_tribes_kind(m, f)],
                            cell % m->spec.width, cell / m->spec.width, more);
    }
}

int lud_tribes_differing_cells(lud_drawing *drawing, const uint8_t *state, const uint8_t *other,
                               int32_t (*cells)[2], int most) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    int n = 0;
    for (int f = 0; f < m->n_fields && n < most; f++) {
        if (lud_tribes_stock(m, state, f) == lud_tribes_stock(m, other, f)) continue;
        const int cell = lud_tribes_map_of(m, state)->field[f];
        cells[n][0] = cell % m->spec.width;
        cells[n++][1] = cell / m->spec.width;
    }
    return n;
}

int lud_tribes_step_events(lud_drawing *drawing, const uint8_t *before, const uint8_t *after) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    int events = 0;
    for (int t = 0; t < m->spec.n_teams; t++) {
        static const struct {
            int which, event;
        } signs[] = {{LUD_TRIBES_DELIVERED, LUD_EVENT_GOAL},
                     {LUD_TRIBES_TRADES, LUD_EVENT_PICKUP},
                     {LUD_TRIBES_RAIDS, LUD_EVENT_ACT}};
        for (int k = 0; k < 3; k++)
            if (lud_tribes_tally(m, before, t, signs[k].which) <
                lud_tribes_tally(m, after, t, signs[k].which))
                events |= signs[k].event;
    }
    for (int i = 0; i < m->n_agents; i++)
        if (lud_tribes_cell(m, after, i) == LUD_TRIBES_NOBODY &&
            lud_tribes_cell(m, before, i) != LUD_TRIBES_NOBODY)
            events |= LUD_EVENT_TERMINATED;
    return events;
}

/* --- Legend --- */

/* One line: a picture and what it stands for. */
typedef struct legend {
    lud_canvas *canvas;
    const lud_theme *theme;
    lud_box box;
    float y, side, row;
} legend;

static bool has_room(const legend *l) {
    return l->y + l->row <= l->box.y + l->box.h;
}

static void entry(legend *l, lud_sprite sprite, lud_rgba tint, const char *text) {
    if (!has_room(l)) return;
    const float line = lud_canvas_line_height(l->canvas, LUD_TEXT_SMALL);
    lud_canvas_sprite(l->canvas, sprite, tint, l->box.x, l->y, (int)l->side, 0);
    const int lines =
        lud_canvas_text_wrapped(l->canvas, l->box.x + l->side + 8, l->y + 0.5f * (l->side - line),
                                l->box.w - l->side - 8, line, LUD_TEXT_SMALL, l->theme->text, text);
    l->y += l->row + (float)(lines > 1 ? lines - 1 : 0) * line;
}

float lud_tribes_draw_legend(lud_drawing *drawing, lud_canvas *canvas, const lud_theme *theme,
                             const uint8_t *state, lud_box box) {
    const lud_tribes_model *m = lud_tribes_of(drawing->model);
    const float line = lud_canvas_line_height(canvas, LUD_TEXT_SMALL);
    const lud_rgba white = {255, 255, 255, 255};
    legend l = {canvas, theme, box, box.y, roundf(line * 1.35f), roundf(line * 1.35f) + 3};
    for (int t = 0; t < m->spec.n_teams; t++) {
        char text[256];
        const int64_t *value = m->spec.teams[t].value;
        snprintf(text, sizeof text, "%s: %u brought home; grain %d, wood %d, ore %d", team_name(m, t),
                 lud_tribes_tally(m, state, t, LUD_TRIBES_DELIVERED), (int)value[LUD_GRAIN],
                 (int)value[LUD_WOOD], (int)value[LUD_ORE]);
        entry(&l, lud_tribes_body(t), lud_tribes_colour(theme, t), text);
    }
    entry(&l, LUD_SPRITE_GRAIN, white, "grain");
    entry(&l, LUD_SPRITE_TREE, white, "wood");
    entry(&l, LUD_SPRITE_ORE, white, "ore");
    entry(&l, LUD_SPRITE_HOUSE, theme->muted, "storehouse: how much grain, wood and ore is in it");
    entry(&l, LUD_SPRITE_SHIELD, theme->muted, "stands guard");
    entry(&l, LUD_SPRITE_SPARK, white, "theft");
    return l.y - box.y;
}
