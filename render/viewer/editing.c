#include "render/viewer/editing.h"

#include <math.h>
#include <string.h>

#include <SDL.h>

#include "render/viewer/panels/help.h"
#include "render/viewer/viewer_parts.h"
#include "sim/multigrid/grid_model.h"
#include "sim/multigrid/grid_view.h"

lud_editor *lud_viewer_editor(const lud_viewer *v) {
    return v->editing.on ? v->editing.editor : NULL;
}

void lud_editing_free(lud_editing *editing) {
    lud_editor_destroy(editing->editor);
    *editing = (lud_editing){0};
}

/* Why what is shown cannot be edited; null: it can, as far as is known before it is opened. */
static const char *obstacle(const lud_viewer *v) {
    const lud_view_options *o = v->options;
    if (o->training) return "A training that is followed keeps its scenario";
    if (o->run) return "A RUN keeps the scenario that it was made with; edit the file that it came from";
    if (o->episodes || o->text) return "Recorded episodes keep their world";
    if (v->n_stages > 1) return "Worlds side by side are not edited; view one alone";
    return NULL;
}

/* The map of an ensemble that is shown. */
static int map_of(const lud_viewer *v) {
    const lud_model *model = v->stage->scenario->model;
    if (!lud_grid_is_model(model)) return 0;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    if (!scene) return 0;
    lud_grid_scene_read(scene, model, lud_player_state(v->stage->player));
    const int map = scene->map;
    lud_grid_scene_destroy(scene);
    return map;
}

void lud_viewer_edit(lud_viewer *v) {
    lud_error error = {0};
    lud_editing *editing = &v->editing;
    const char *why = obstacle(v);
    if (why) {
        lud_message_say(&v->message, 5, "%s", why);
        return;
    }
    if (editing->editor && !lud_editor_changed(editing->editor)) lud_editing_free(editing);
    const lud_editor_options options = {.path = v->options->path,
                                        .overrides = v->options->overrides,
                                        .map = map_of(v),
                                        .solve = v->options->solve,
                                        .context = v->options->solve_context,
                                        .message = &v->message};
    if (!editing->editor && lud_editor_create(&options, &editing->editor, &error)) {
        lud_message_error(&v->message, 8, &error);
        return;
    }
    v->playback.playing = false;
    if (v->recording.on) lud_viewer_toggle_recording(v);
    editing->on = true;
    lud_message_say(&v->message, 4, "Editing: choose on the right, draw on the left, Ctrl S saves, E ends");
}

static void leave(lud_viewer *v) {
    v->editing.on = false;
    if (lud_editor_changed(v->editing.editor))
        lud_message_say(&v->message, 6, "What you have changed is not saved: E goes on with it");
}

bool lud_viewer_update_editing(lud_viewer *v, double seconds) {
    if (!v->editing.on) return false;
    lud_editor_update(v->editing.editor, seconds);
    return true;
}

bool lud_viewer_editing_moves(const lud_viewer *v) {
    return v->editing.on && lud_editor_busy(v->editing.editor);
}

bool lud_viewer_draw_editing(lud_viewer *v, lud_canvas *canvas, const lud_theme *theme) {
    if (!v->editing.on) return false;
    lud_view_layout *l = &v->layout;
    l->width = lud_canvas_width(canvas);
    l->height = lud_canvas_height(canvas);
    l->scale = lud_canvas_scale(canvas);
    const float seconds = v->shown.motion ? (float)fmod(v->playback.clock, 3600) : 0;
    lud_editor_draw(v->editing.editor, canvas, theme, seconds);
    lud_message_draw(&v->message, canvas, theme, (lud_box){0, 0, (float)l->width * 0.7f, (float)l->height});
    if (v->shown.help)
        lud_help_draw_editor(canvas, theme);
    else
        lud_tip_draw(&v->pointer, canvas, theme);
    lud_canvas_end(canvas);
    return true;
}

/* The first wish to end is answered where something is not saved. */
static bool holds_back(lud_viewer *v, const SDL_Event *event) {
    const bool ends =
        event->type == SDL_QUIT ||
        (event->type == SDL_KEYDOWN && event->key.keysym.sym == SDLK_q && event->key.keysym.mod & KMOD_CTRL);
    if (!ends || v->editing.warned || !v->editing.editor || !lud_editor_changed(v->editing.editor))
        return false;
    v->editing.warned = true;
    lud_message_say(&v->message, 8, "What you have edited is not saved; once more ends all the same");
    return true;
}

static bool press(lud_viewer *v, const SDL_Event *event) {
    const SDL_Keysym key = event->key.keysym;
    if (v->shown.help) return false; /* any key closes the page */
    const lud_editor_answer answer =
        lud_editor_key(v->editing.editor, key.sym, key.mod & KMOD_SHIFT, key.mod & KMOD_CTRL);
    if (answer == LUD_EDITOR_LEFT) leave(v);
    return answer != LUD_EDITOR_IGNORED;
}

bool lud_viewer_editing_event(lud_viewer *v, const SDL_Event *event, float pixels) {
    lud_editor *editor = v->editing.editor;
    if (holds_back(v, event)) return true;
    if (!v->editing.on) return false;
    const float x = (float)event->button.x * pixels, y = (float)event->button.y * pixels;
    switch (event->type) {
    case SDL_KEYDOWN:
        return press(v, event);
    case SDL_TEXTINPUT:
        lud_editor_text(editor, event->text.text);
        return true;
    case SDL_MOUSEBUTTONDOWN:
        if (v->shown.help) return false;
        lud_pointer_quiet(&v->pointer);
        if (event->button.button != SDL_BUTTON_LEFT && event->button.button != SDL_BUTTON_RIGHT) return true;
        if (lud_editor_mouse_down(
                editor, event->button.button == SDL_BUTTON_LEFT ? LUD_EDITOR_MAIN : LUD_EDITOR_SECOND, x, y,
                SDL_GetModState() & KMOD_SHIFT))
            leave(v);
        return true;
    case SDL_MOUSEMOTION:
        lud_pointer_move(&v->pointer, (float)event->motion.x * pixels, (float)event->motion.y * pixels);
        lud_editor_mouse_move(editor, (float)event->motion.x * pixels, (float)event->motion.y * pixels);
        return true;
    case SDL_MOUSEBUTTONUP:
        lud_editor_mouse_up(editor, x, y);
        return true;
    case SDL_MOUSEWHEEL:
        lud_editor_wheel(editor, (float)event->wheel.y, (float)event->wheel.mouseX * pixels,
                         (float)event->wheel.mouseY * pixels);
        return true;
    default:
        return false;
    }
}
