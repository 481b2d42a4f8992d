/* Which code of the map a thing has, and the legend that explains those of its own. */
#include <string.h>

#include "base/options/tree_edit.h"
#include "sim/multigrid/edit/grid_edit_parts.h"

typedef lud_grid_edit_work work;

/* What the code stands for in this file; false: nothing yet. */
static bool meaning_of(const work *w, const char code[2], lud_grid_thing *thing) {
    for (size_t i = 0; i < w->now->n_legend; i++)
        if (!memcmp(w->now->legend[i].code, code, 2)) {
            *thing = w->now->legend[i].thing;
            return true;
        }
    lud_error ignored;
    return !lud_grid_code_read(code, &w->now->options.chances, (lud_place){0}, thing, &ignored);
}

/* Whether a code's thing is what is wanted in a cell. Of agents only the ground: what they are is said in the
 * list, unless the code says it. */
static bool stands_for(const lud_grid_thing *code, const lud_grid_thing *wanted, bool own) {
    if (code->is_agent != wanted->is_agent || !lud_grid_object_equal(&code->under, &wanted->under))
        return false;
    if (!wanted->is_agent) return lud_grid_object_equal(&code->object, &wanted->object);
    const bool plain =
        !code->gives_role && !code->gives_rocks && !code->gives_magic && code->agent.direction == LUD_EAST;
    return (own || plain) && code->agent.colour == wanted->agent.colour;
}

/* The object as text in brackets, with the parameters that are not as they would be anyhow. */
static lud_status write_object(work *w, const lud_grid_object *o, lud_text *out) {
    const lud_option_table *table = lud_grid_thing_table(o->type);
    const lud_grid_object usual = lud_grid_object_with(o->type, &w->now->options.chances);
    const lud_grid_thing_options values = lud_grid_thing_values(o), others = lud_grid_thing_values(&usual);
    lud_tree *is, *would;
    if (!table) return lud_fail(w->error, LUD_ERROR_UNSUPPORTED, "a map cannot hold this");
    is = lud_tree_add_mapping(w->arena, NULL, NULL);
    would = lud_tree_add_mapping(w->arena, NULL, NULL);
    if (!is || !would) return lud_out_of_memory(w->error);
    LUD_TRY(lud_options_write(table, w->arena, &values, is, w->error));
    LUD_TRY(lud_options_write(table, w->arena, &others, would, w->error));
    lud_text_append(out, "%s: {", lud_grid_type_names[o->type]);
    bool first = true;
    for (const lud_tree *c = is->child; c; c = c->next) {
        const lud_tree *other = lud_grid_edit_child(would, c->key);
        if (c->kind != LUD_TREE_SCALAR || (other && other->text && !strcmp(other->text, c->text))) continue;
        lud_text_append(out, "%s%s: %s", first ? "" : ", ", c->key, c->text);
        first = false;
    }
    if (o->type == LUD_BOX && o->content_type != LUD_EMPTY)
        lud_text_append(out, "%scontains: {%s: {colour: %s}}", first ? "" : ", ",
                        lud_grid_type_names[o->content_type], lud_colour_names[o->content_colour]);
    lud_text_append(out, "}");
    return LUD_OK;
}

static lud_status write_thing(work *w, const lud_grid_thing *thing, lud_text *out) {
    if (!thing->is_agent && thing->object.type == LUD_EMPTY) { /* where `..` is said to be something else */
        lud_text_append(out, "%s", lud_grid_type_names[LUD_EMPTY]);
        return out->failed ? lud_out_of_memory(w->error) : LUD_OK;
    }
    lud_text_append(out, "{");
    if (thing->is_agent)
        lud_text_append(out, "agent: {colour: %s}", lud_colour_names[thing->agent.colour]);
    else
        LUD_TRY(write_object(w, &thing->object, out));
    if (thing->under.type != LUD_EMPTY) {
        lud_text_append(out, ", under: {");
        LUD_TRY(write_object(w, &thing->under, out));
        lud_text_append(out, "}");
    }
    lud_text_append(out, "}");
    return out->failed ? lud_out_of_memory(w->error) : LUD_OK;
}

lud_status lud_grid_edit_find_code(work *w, lud_grid_edit_codes *fresh, const lud_grid_thing *wanted,
                                   int agent, char code[2]) {
    lud_grid_thing meaning;
    for (int c = 0; agent >= 0 && c < w->now->rows.width * w->now->rows.height; c++) {
        const int x = c % w->now->rows.width, y = c / w->now->rows.width; /* an agent keeps its own code */
        if (w->now->world.agent[y * w->now->world.width + x] != agent) continue;
        memcpy(code, w->now->rows.codes[c], 2);
        if (meaning_of(w, code, &meaning) && stands_for(&meaning, wanted, true)) return LUD_OK;
    }
    if (lud_grid_code_find(wanted, &w->now->options.chances, code) && meaning_of(w, code, &meaning) &&
        stands_for(&meaning, wanted, false))
        return LUD_OK;
    for (size_t i = 0; i < w->now->n_legend + fresh->n; i++) {
        const bool old = i < w->now->n_legend;
        const struct lud_grid_edit_code *new = old ? NULL : &fresh->items[i - w->now->n_legend];
        if (!stands_for(old ? &w->now->legend[i].thing : &new->thing, wanted, false)) continue;
        memcpy(code, old ? w->now->legend[i].code : new->code, 2);
        return LUD_OK;
    }
    do {
        if (!lud_grid_fresh_code(&fresh->next, &w->now->options.chances, code))
            return lud_fail(w->error, LUD_ERROR_LIMIT, "there are no codes left for the legend");
    } while (meaning_of(w, code, &meaning));
    struct lud_grid_edit_code *entry = &fresh->items[fresh->n++];
    *entry = (struct lud_grid_edit_code){.code = {code[0], code[1]}, .thing = *wanted};
    if (wanted->is_agent) {
        entry->thing = (lud_grid_thing){.is_agent = true, .under = wanted->under};
        entry->thing.agent.colour = wanted->agent.colour;
    }
    return LUD_OK;
}

/* In lines of their own where the section is written so. */
lud_status lud_grid_edit_explain_codes(work *w, const lud_grid_edit_codes *fresh) {
    for (size_t i = 0; i < fresh->n; i++) {
        LUD_TRY(lud_grid_edit_read_again(w));
        lud_tree *section = lud_grid_edit_child(w->root, "multigrid"),
                 *legend = lud_grid_edit_child(section, "legend");
        lud_text entry = {0}, whole = {0};
        lud_status status = write_thing(w, &fresh->items[i].thing, &entry);
        if (!status && legend && legend->kind == LUD_TREE_MAPPING) {
            const lud_tree *last = legend->child;
            while (last && last->next) last = last->next;
            status = lud_tree_edit_add_key(&w->text, legend, last ? last->key : NULL, fresh->items[i].code,
                                           entry.bytes, w->error);
        } else if (!status) {
            const int indent = lud_tree_edit_indent(&w->text, section);
            if (indent < 0)
                lud_text_append(&whole, "{%s: %s}", fresh->items[i].code, entry.bytes);
            else
                lud_text_append(&whole, "\n%*s%s: %s", indent + 2, "", fresh->items[i].code, entry.bytes);
            status = lud_tree_edit_add_key(&w->text, section,
                                           lud_grid_edit_child(section, "map") ? "map" : "ensemble", "legend",
                                           whole.bytes, w->error);
        }
        lud_text_free(&entry);
        lud_text_free(&whole);
        if (status) return status;
    }
    return LUD_OK;
}
