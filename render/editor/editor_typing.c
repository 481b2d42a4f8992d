/* Typing a number in the place of a parameter's value. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <SDL.h>

#include "render/editor/editor_parts.h"

typedef lud_editor_typing typing;

/* The parameter that is typed; false: it is not there any more. */
static bool typed_parameter(const lud_editor *e, lud_grid_parameter *parameter) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    if (!e->typing.on || e->typing.number >= n || !parameters[e->typing.number].number) return false;
    *parameter = parameters[e->typing.number];
    return true;
}

static void put_text(typing *t, const char *text) {
    snprintf(t->text, sizeof t->text, "%.63s", text);
    t->length = t->cursor = (int)strlen(t->text);
    t->all = true;
}

void lud_editor_type(lud_editor *e, int number) {
    lud_grid_parameter parameter;
    typing *t = &e->typing;
    t->on = true;
    t->number = number;
    if (!typed_parameter(e, &parameter)) {
        t->on = false;
        return;
    }
    put_text(t, parameter.shown);
    snprintf(t->last, sizeof t->last, "%s", parameter.name);
    t->reveal = true;
}

void lud_editor_type_any(lud_editor *e) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    int first = -1, last = -1;
    for (int k = n - 1; k >= 0; k--) {
        if (!parameters[k].number) continue;
        first = k;
        if (!strcmp(parameters[k].name, e->typing.last)) last = k;
        if (k < e->n_values && lud_box_contains(e->values[k], e->pointer_x, e->pointer_y)) {
            lud_editor_type(e, k);
            return;
        }
    }
    if (first < 0)
        lud_message_say(e->options.message, 2, "There is no number here to be typed");
    else
        lud_editor_type(e, last >= 0 ? last : first);
}

/* The next number, or the one before. */
static void go_on(lud_editor *e, int from, int by) {
    lud_grid_parameter parameters[LUD_GRID_PARAMETERS];
    const int n = lud_editor_parameters(e, parameters);
    for (int k = 1; k <= n; k++) {
        const int number = ((from + by * k) % n + n) % n;
        if (!parameters[number].number) continue;
        lud_editor_type(e, number);
        return;
    }
}

bool lud_editor_type_take(lud_editor *e) {
    lud_grid_parameter parameter;
    typing *t = &e->typing;
    double value;
    lud_error error = {0};
    if (!typed_parameter(e, &parameter)) {
        t->on = false;
        return true;
    }
    if (lud_grid_parameter_read(&parameter, t->text, &value, &error)) {
        lud_message_error(e->options.message, 5, &error);
        t->all = true;
        return false;
    }
    t->on = false;
    if (value != parameter.value) lud_editor_give(e, t->number, value);
    return true;
}

void lud_editor_type_end(lud_editor *e) {
    if (e->typing.on) lud_editor_type_take(e);
    e->typing.on = false;
}

bool lud_editor_type_fits(const lud_editor *e, char *expected, size_t size) {
    lud_grid_parameter parameter;
    double value;
    lud_error ignored;
    snprintf(expected, size, "%s", "");
    if (!typed_parameter(e, &parameter)) return false;
    char range[128];
    lud_grid_parameter_expects(&parameter, range, sizeof range);
    snprintf(expected, size, "%s: %s", parameter.name, range);
    return !lud_grid_parameter_read(&parameter, e->typing.text, &value, &ignored);
}

/* ---- keys ---- */

static void remove_all(typing *t) {
    t->text[0] = 0;
    t->length = t->cursor = 0;
    t->all = false;
}

static void remove_at(typing *t, int at) {
    if (t->all) {
        remove_all(t);
        return;
    }
    if (at < 0 || at >= t->length) return;
    memmove(t->text + at, t->text + at + 1, (size_t)(t->length - at)); /* the zero too */
    t->length--;
    t->cursor = at;
}

static void move_to(typing *t, int cursor) {
    t->cursor = cursor < 0 ? 0 : cursor > t->length ? t->length : cursor;
    t->all = false;
}

/* Up and down: a step more or less, as the arrows at the value do. */
static void step(lud_editor *e, double by) {
    lud_grid_parameter parameter;
    double value;
    lud_error ignored;
    if (!typed_parameter(e, &parameter)) return;
    if (lud_grid_parameter_read(&parameter, e->typing.text, &value, &ignored)) value = parameter.value;
    char text[32];
    snprintf(text, sizeof text, "%.10g", lud_grid_parameter_fit(&parameter, value + by * parameter.step));
    put_text(&e->typing, text);
}

static bool press_control(lud_editor *e, int key) {
    switch (key) {
    case SDLK_a:
        e->typing.all = true;
        return true;
    case SDLK_s: /* what is seen is what is saved */
        return !lud_editor_type_take(e);
    case SDLK_z:
    case SDLK_y:
        e->typing.on = false;
        return false;
    default:
        return false;
    }
}

bool lud_editor_type_key(lud_editor *e, int key, bool shift, bool control) {
    typing *t = &e->typing;
    const int number = t->number;
    if (!t->on) return false;
    if (control) return press_control(e, key);
    switch (key) {
    case SDLK_RETURN:
    case SDLK_KP_ENTER:
        lud_editor_type_take(e);
        break;
    case SDLK_ESCAPE:
        t->on = false;
        break;
    case SDLK_TAB:
        if (lud_editor_type_take(e)) go_on(e, number, shift ? -1 : 1);
        break;
    case SDLK_LEFT:
        move_to(t, t->all ? 0 : t->cursor - 1);
        break;
    case SDLK_RIGHT:
        move_to(t, t->all ? t->length : t->cursor + 1);
        break;
    case SDLK_HOME:
        move_to(t, 0);
        break;
    case SDLK_END:
        move_to(t, t->length);
        break;
    case SDLK_BACKSPACE:
        remove_at(t, t->cursor - 1);
        break;
    case SDLK_DELETE:
        remove_at(t, t->cursor);
        break;
    case SDLK_UP:
        step(e, shift ? 10 : 1);
        break;
    case SDLK_DOWN:
        step(e, shift ? -10 : -1);
        break;
    case SDLK_F1:
    case SDLK_F11:
        return false;
    default:
        break; /* letters do nothing else meanwhile */
    }
    return true;
}

void lud_editor_text(lud_editor *e, const char *text) {
    typing *t = &e->typing;
    for (; t->on && *text; text++) {
        const char c = *text == ',' ? '.' : *text; /* what the keypad of some keyboards has */
        if (!strchr("0123456789.+-eE", c)) continue;
        if (t->all) remove_all(t);
        if (t->length == LUD_EDITOR_TYPED - 1) return;
        memmove(t->text + t->cursor + 1, t->text + t->cursor, (size_t)(t->length - t->cursor + 1));
        t->text[t->cursor++] = c;
        t->length++;
    }
}

/* ---- picture ---- */

void lud_editor_type_draw(const lud_editor *e, lud_canvas *canvas, const lud_theme *theme, lud_box field,
                          float seconds) {
    const typing *t = &e->typing;
    const float s = lud_canvas_scale(canvas), inset = 4 * s, width = field.w - 2 * inset,
                row = lud_canvas_line_height(canvas, LUD_TEXT_SMALL), y = field.y + (field.h - row) * 0.5f;
    char expected[256], before[LUD_EDITOR_TYPED];
    const bool fits = lud_editor_type_fits(e, expected, sizeof expected);
    lud_canvas_round_rect(canvas, field, 4 * s, theme->floor);
    lud_canvas_frame(canvas, field, 4 * s, fmaxf(1.5f, 2 * s), fits ? theme->accent : theme->bad);
    int begin = 0; /* of what has room before the caret */
    float to_cursor;
    do {
        snprintf(before, sizeof before, "%.*s", t->cursor - begin, t->text + begin);
        to_cursor = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, before);
    } while (to_cursor > width && ++begin < t->cursor);
    const float x = field.x + inset, whole = lud_canvas_text_width(canvas, LUD_TEXT_SMALL, t->text + begin);
    if (t->all && t->length)
        lud_canvas_round_rect(canvas, (lud_box){x - 2 * s, y, fminf(whole, width) + 4 * s, row}, 2 * s,
                              lud_faded(theme->accent, 0.3f));
    lud_canvas_text_cut(canvas, x, y, width + inset, LUD_TEXT_SMALL, theme->text, t->text + begin);
    if (!t->all && fmodf(seconds, 1) < 0.6f)
        lud_canvas_rect(canvas, (lud_box){x + to_cursor, y, fmaxf(1, 1.5f * s), row}, theme->text);
}
