/* What keys and the mouse do in the viewer. */
#include <math.h>

#include <SDL.h>

#include "render/viewer/viewer_parts.h"

/* ---- acting for an agent ---- */

static void take_over(lud_viewer *v) {
    const lud_layout *layout = v->takeover.layout;
    if (v->selection.agent < 0 && layout->n_agents > 0) v->selection.agent = 0;
    int agent = v->selection.agent;
    if (agent < 0 || layout->actions[agent].n_discrete < 1) {
        lud_message_say(&v->message, 4, "There is nobody here to take over with keys");
        return;
    }
    lud_takeover_toggle(&v->takeover, agent);
    lud_viewer_forget_plans(v);
    if (v->takeover.taken[agent])
        lud_message_say(&v->message, 5, "You act for agent %d: %s, C gives back", agent,
                        lud_takeover_hint(layout, agent));
    else
        lud_message_say(&v->message, 3, "Agent %d acts by itself again", agent);
}

/* True when the key was an action of an agent that was taken over. */
static bool act_by_key(lud_viewer *v, SDL_Keycode key) {
    int agent = v->selection.agent;
    if (agent < 0 || !v->takeover.taken[agent]) return false;
    int action = lud_takeover_key_action(v->takeover.layout, agent, key);
    if (action < 0) return false;
    v->takeover.chosen[agent] = action;
    lud_viewer_forget_plans(v);
    /* turn by turn; while playing it is the next step's action */
    if (!v->playback.playing) lud_viewer_step(v);
    return true;
}

/* ---- keys ---- */

static void change_speed(lud_viewer *v, double factor) {
    lud_playback_change_speed(&v->playback, factor);
    lud_message_say(&v->message, 1.5, v->playback.speed < 1 ? "%.2g steps a second" : "%.0f steps a second",
                    v->playback.speed);
}

static void next_agent(lud_viewer *v, int by) {
    int n = v->takeover.layout->n_agents;
    if (!n) return;
    v->selection.agent = v->selection.agent < 0 ? (by > 0 ? 0 : n - 1) : (v->selection.agent + by + n) % n;
    v->selection.cell = false;
}

static void step_back(lud_viewer *v) {
    v->playback.playing = false;
    const size_t position = lud_stages_span(v->stages, v->n_stages).position;
    if (position) lud_viewer_seek(v, position - 1);
}

/* The switches of what is shown; false when the key is none. */
static bool toggle_shown(lud_viewer *v, SDL_Keycode key) {
    lud_shown *shown = &v->shown;
    const struct {
        SDL_Keycode key;
        bool *shown;
    } switches[] = {{SDLK_b, &shown->successors},
                    {SDLK_o, &shown->goals},
                    {SDLK_l, &shown->labels},
                    {SDLK_p, &shown->panels},
                    {SDLK_m, &shown->motion}};
    for (size_t k = 0; k < sizeof switches / sizeof *switches; k++) {
        if (switches[k].key != key) continue;
        *switches[k].shown = !*switches[k].shown;
        return true;
    }
    return false;
}

static bool toggle_overlay(lud_viewer *v, SDL_Keycode key) {
    static const struct {
        SDL_Keycode key;
        lud_overlay_part part;
        const char *name;
    } parts[] = {{SDLK_w, LUD_OVERLAY_VALUES, "Worth of goals"},
                 {SDLK_a, LUD_OVERLAY_ARROWS, "Arrows"},
                 {SDLK_u, LUD_OVERLAY_BARS, "Bars"},
                 {SDLK_d, LUD_OVERLAY_TRACE, "Curves"},
                 {SDLK_i, LUD_OVERLAY_EDGES, "Attention"}};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (parts[k].key != key) continue;
        lud_overlay *overlay = NULL;
        for (int side = 0; side < v->n_stages && !overlay; side++) overlay = v->stages[side].overlay;
        if (!overlay) {
            lud_message_say(&v->message, 4,
                            "Overlays need a solution: ludus solve SCENARIO -o RUN, ludus view RUN");
            return true;
        }
        const int shown = lud_overlay_shown(overlay) ^ (int)parts[k].part;
        for (int side = 0; side < v->n_stages; side++)
            if (v->stages[side].overlay) lud_overlay_show(v->stages[side].overlay, shown);
        lud_message_say(&v->message, 1.5, "%s %s", parts[k].name, shown & (int)parts[k].part ? "on" : "off");
        return true;
    }
    return false;
}

/* Texts and panels larger or smaller by a step; 0: as at first. */
static void change_scale(lud_viewer *v, int by) {
    static const float step = 1.125f;
    const float from = v->layout.magnified > 0 ? v->layout.magnified : v->scale;
    lud_viewer_set_scale(v, by > 0 ? from * step : by < 0 ? from / step : v->first_scale);
    lud_message_say(&v->message, 1.5, "Scale %.0f %%", 100 * (double)v->scale);
}

static void press_control(lud_viewer *v, SDL_Keycode key) {
    lud_view_training *training = v->options->training;
    if (key == SDLK_PLUS || key == SDLK_EQUALS || key == SDLK_KP_PLUS) change_scale(v, 1);
    if (key == SDLK_MINUS || key == SDLK_KP_MINUS) change_scale(v, -1);
    if (key == SDLK_0 || key == SDLK_KP_0) change_scale(v, 0);
    if (key == SDLK_q) v->quit = true;
    if (!training || !training->running || (key != SDLK_s && key != SDLK_e)) return;
    if (key == SDLK_s) training->save(training);
    if (key == SDLK_e) training->stop(training);
    lud_message_say(&v->message, 4,
                    key == SDLK_s ? "The training saves after this iteration"
                                  : "The training saves and ends after this iteration");
}

static void play_or_pause(lud_viewer *v) {
    if (!v->playback.playing && lud_viewer_over(v) && !v->plays_on) lud_viewer_next_episode(v);
    lud_playback_toggle(&v->playback);
}

/* The panel under the pointer, else the inspector, by most of what is seen of it. */
static void turn_page(lud_viewer *v, float by) {
    lud_scroll *scroll = &v->scrolls[LUD_PANEL_INSPECTOR];
    for (int k = 0; k < LUD_PANELS; k++)
        if (lud_box_contains(v->scrolls[k].box, v->pointer.x, v->pointer.y)) scroll = &v->scrolls[k];
    lud_scroll_turn(scroll, by * 0.85f * scroll->box.h);
}

/* Seeds that are taken beginning with the first's. */
static uint64_t apart_by(const lud_viewer *v) {
    return v->stage->apart ? (uint64_t)v->n_stages : 1;
}

static void press_key(lud_viewer *v, SDL_Keycode key, bool shift, bool control) {
    if (control) {
        press_control(v, key);
        return;
    }
    if (v->shown.help) { /* any key closes the page */
        v->shown.help = false;
        return;
    }
    if (shift && key == SDLK_p) {
        lud_viewer_forget_panels(v);
        return;
    }
    if (act_by_key(v, key) || toggle_shown(v, key) || toggle_overlay(v, key)) return;
    const lud_box shown = v->layout.side[v->layout.lead];
    const float middle_x = shown.x + shown.w * 0.5f, middle_y = shown.y + shown.h * 0.5f;
    switch (key) {
    case SDLK_SPACE:
        play_or_pause(v);
        break;
    case SDLK_x:
        v->plays_on = !v->plays_on;
        lud_message_say(&v->message, 2.5,
                        v->plays_on ? "Plays on from episode to episode" : "Stops where an episode ends");
        break;
    case SDLK_PERIOD:
    case SDLK_RIGHT:
        v->playback.playing = false;
        lud_viewer_step(v);
        break;
    case SDLK_COMMA:
    case SDLK_LEFT:
        step_back(v);
        break;
    case SDLK_HOME:
        lud_viewer_seek(v, 0);
        break;
    case SDLK_END:
        lud_viewer_seek(v, lud_stages_span(v->stages, v->n_stages).known - 1);
        break;
    case SDLK_PLUS:
    case SDLK_EQUALS:
    case SDLK_KP_PLUS:
        change_speed(v, 2);
        break;
    case SDLK_MINUS:
    case SDLK_KP_MINUS:
        change_speed(v, 0.5);
        break;
    case SDLK_n:
        if (v->options->episodes && shift) {
            lud_viewer_show_recorded(v, v->recorded - 1);
            break;
        }
        lud_viewer_next_episode(v);
        if (v->options->episodes) break;
        lud_message_say(&v->message, 2, "Episode %u", lud_player_episode(v->stages[0].player) + 1);
        break;
    case SDLK_r:
        if (v->options->episodes) {
            lud_viewer_show_recorded(v, v->recorded);
            break;
        }
        lud_viewer_restart(v, lud_player_seed(v->stages[0].player) + (shift ? 0 : apart_by(v)));
        break;
    case SDLK_TAB:
        next_agent(v, shift ? -1 : 1);
        break;
    case SDLK_F11:
        v->full_screen = !v->full_screen;
        break;
    case SDLK_PAGEUP:
    case SDLK_PAGEDOWN:
        turn_page(v, key == SDLK_PAGEDOWN ? 1 : -1);
        break;
    case SDLK_k:
        if (shift && v->stage->apart)
            lud_viewer_show_grid(v, !v->grid);
        else if (v->n_stages > 1)
            lud_viewer_choose_side(v, ((int)(v->stage - v->stages) + 1) % v->n_stages);
        break;
    case SDLK_f:
        lud_view_layout_fit_whole(&v->layout, v->stages[0].drawing);
        break;
    case SDLK_g:
        if (v->selection.agent < 0) next_agent(v, 1);
        v->layout.follow = !v->layout.follow;
        if (v->layout.follow) v->layout.fitted = false;
        lud_message_say(&v->message, 2, v->layout.follow ? "Following agent %d" : "Not following agent %d",
                        v->selection.agent);
        break;
    case SDLK_LEFTBRACKET:
        lud_view_layout_zoom(&v->layout, 1 / 1.2f, middle_x, middle_y);
        break;
    case SDLK_RIGHTBRACKET:
        lud_view_layout_zoom(&v->layout, 1.2f, middle_x, middle_y);
        break;
    case SDLK_c:
        take_over(v);
        break;
    case SDLK_e:
        lud_viewer_edit(v);
        break;
    case SDLK_s:
        if (shift)
            lud_viewer_keep_look(v);
        else
            lud_viewer_screenshot(v);
        break;
    case SDLK_v:
        lud_viewer_toggle_recording(v);
        break;
    case SDLK_t:
        v->shown.theme = v->shown.theme == LUD_THEME_LIGHT ? LUD_THEME_DARK : LUD_THEME_LIGHT;
        break;
    case SDLK_h:
    case SDLK_F1:
    case SDLK_QUESTION:
        v->shown.help = true;
        break;
    case SDLK_ESCAPE:
        if (v->selection.agent >= 0 && v->takeover.taken[v->selection.agent]) take_over(v);
        v->selection.agent = -1;
        v->selection.cell = v->layout.follow = false;
        break;
    default:
        break;
    }
}

/* ---- mouse ---- */

static void scrub(lud_viewer *v, float x) {
    v->playback.playing = false;
    lud_viewer_seek(v, lud_timeline_position_at(&v->timeline, lud_stages_span(v->stages, v->n_stages), x));
}

/* The world under a pixel is that of the side there, which panels are about from then on. */
static void select_at(lud_viewer *v, float x, float y) {
    const int side = lud_viewer_side_at(v, x, y);
    if (side < 0) return;
    if (v->stage != &v->stages[side]) lud_viewer_choose_side(v, side);
    if (v->grid) { /* it is shown large; what is in it is for the next click */
        lud_viewer_show_grid(v, false);
        return;
    }
    if (!lud_box_contains(v->layout.side[side], x, y)) return; /* its heading */
    float wx, wy;
    lud_camera_to_world(&v->layout.cameras[side], x, y, &wx, &wy);
    v->selection.agent =
        v->stage->drawing->kind->agent_at(v->stage->drawing, lud_player_state(v->stage->player), wx, wy);
    v->selection.cell_x = (int)floorf(wx);
    v->selection.cell_y = (int)floorf(wy);
    v->selection.cell = v->selection.agent < 0 &&
                        lud_box_contains(v->stage->drawing->kind->extent(v->stage->drawing), wx, wy);
}

/* What the mouse would take along, -1: nothing, then the world itself moves, as it does where worlds go in
 * step. */
static int thing_at(const lud_viewer *v, float x, float y) {
    float wx, wy;
    if (v->n_stages > 1 || !v->stage->drawing->kind->thing_at) return -1;
    lud_camera_to_world(&v->layout.camera, x, y, &wx, &wy);
    return v->stage->drawing->kind->thing_at(v->stage->drawing, lud_player_state(v->stage->player), wx, wy);
}

static void drag_thing(lud_viewer *v, float x, float y) {
    float wx, wy;
    lud_camera_to_world(&v->layout.camera, x, y, &wx, &wy);
    if (!v->mouse.dragged) lud_message_say(&v->message, 4, "Moved: what comes begins anew from here");
    v->playback.playing = false;
    v->stage->drawing->kind->move_thing(v->stage->drawing, lud_player_edit(v->stage->player),
                                        v->mouse.grabbed, wx, wy);
    lud_playback_jump(&v->playback);
    lud_viewer_forget_plans(v);
}

/* What the mouse is at on an edge of panels is dragged, at a title folded; false where it is at neither. */
static bool press_column(lud_viewer *v, float x, float y) {
    const lud_column *column = &v->layout.column;
    const int edge = lud_column_edge_at(column, x, y), title = lud_column_title_at(column, x, y);
    if (edge != LUD_NO_EDGE) {
        v->mouse.edge = edge;
        v->mouse.beside = (edge == LUD_COLUMN_EDGE ? x : y) - lud_column_edge_position(column, edge);
        return true;
    }
    if (title >= 0) lud_viewer_fold(v, title);
    return title >= 0;
}

static void drag_edge(lud_viewer *v, float x, float y) {
    const float at = v->mouse.edge == LUD_COLUMN_EDGE ? x : y;
    v->mouse.dragged = true;
    lud_column_drag(&v->layout.column, v->mouse.edge, at - v->mouse.beside, &v->panels);
}

static void mouse_down(lud_viewer *v, float x, float y) {
    static const SDL_Keycode button_keys[LUD_BUTTONS] = {SDLK_HOME, SDLK_COMMA, SDLK_SPACE, SDLK_PERIOD,
                                                         SDLK_END};
    v->mouse.x = x;
    v->mouse.y = y;
    v->mouse.dragged = false;
    lud_pointer_quiet(&v->pointer);
    if (v->shown.help) {
        v->shown.help = false;
        return;
    }
    if (press_column(v, x, y)) return;
    lud_timeline_button button = lud_timeline_button_at(&v->timeline, x, y);
    int agent = lud_inspector_agent_at(&v->inspector, v->takeover.layout->n_agents, x, y);
    if (button < LUD_BUTTONS) {
        press_key(v, button_keys[button], false, false);
    } else if (lud_box_contains(v->timeline.track, x, y)) {
        v->mouse.scrubbing = true;
        scrub(v, x);
    } else if (agent >= 0) {
        v->selection.agent = agent;
        v->selection.cell = false;
    } else if (lud_box_contains(v->layout.column.panels[LUD_PANEL_COMPARISON].box, x, y)) {
        const int side = lud_viewer_side_at(v, x, y);
        if (side >= 0) lud_viewer_choose_side(v, side);
    } else if (lud_box_contains(v->layout.world, x, y)) {
        v->mouse.dragging = true;
        v->mouse.grabbed = thing_at(v, x, y);
    }
}

static void mouse_move(lud_viewer *v, float x, float y) {
    lud_pointer_move(&v->pointer, x, y);
    if (v->mouse.scrubbing) scrub(v, x);
    if (v->mouse.edge != LUD_NO_EDGE) drag_edge(v, x, y);
    if (v->mouse.dragging &&
        (v->mouse.dragged || hypotf(x - v->mouse.x, y - v->mouse.y) > 4 * v->layout.scale)) {
        if (v->mouse.grabbed >= 0) {
            drag_thing(v, x, y);
            v->mouse.dragged = true;
            return;
        }
        v->mouse.dragged = true;
        lud_view_layout_pan(&v->layout, x - v->mouse.x, y - v->mouse.y);
        v->mouse.x = x;
        v->mouse.y = y;
    }
}

static void mouse_up(lud_viewer *v, float x, float y) {
    if (v->mouse.dragging && !v->mouse.dragged) select_at(v, x, y);
    if (v->mouse.edge != LUD_NO_EDGE && v->mouse.dragged) lud_viewer_remember(v);
    v->mouse.edge = LUD_NO_EDGE;
    v->mouse.dragging = v->mouse.scrubbing = false;
    v->mouse.grabbed = -1;
}

/* Scrolls the panel under the mouse, or zooms to what is under it, also where that is the world of another
 * side than the first. */
static void turn_wheel(lud_viewer *v, float by, float x, float y) {
    const lud_view_layout *l = &v->layout;
    for (int k = 0; k < LUD_PANELS; k++)
        if (lud_box_contains(v->scrolls[k].box, x, y)) {
            lud_scroll_turn(&v->scrolls[k], -by * 42 * l->scale);
            return;
        }
    if (!lud_box_contains(l->world, x, y)) return;
    const int side = lud_viewer_side_at(v, x, y);
    if (side >= 0 && side != l->lead && lud_box_contains(l->side[side], x, y)) {
        x += l->side[l->lead].x - l->side[side].x;
        y += l->side[l->lead].y - l->side[side].y;
    }
    lud_view_layout_zoom(&v->layout, powf(1.15f, by), x, y);
}

void lud_viewer_event(lud_viewer *v, const SDL_Event *event, float pixels) {
    if (lud_viewer_editing_event(v, event, pixels)) return;
    switch (event->type) {
    case SDL_QUIT:
        v->quit = true;
        break;
    case SDL_KEYDOWN:
        v->shown.fresh = false;
        press_key(v, event->key.keysym.sym, event->key.keysym.mod & KMOD_SHIFT,
                  event->key.keysym.mod & KMOD_CTRL);
        break;
    case SDL_MOUSEBUTTONDOWN:
        v->shown.fresh = false;
        if (event->button.button == SDL_BUTTON_LEFT)
            mouse_down(v, (float)event->button.x * pixels, (float)event->button.y * pixels);
        break;
    case SDL_MOUSEMOTION:
        mouse_move(v, (float)event->motion.x * pixels, (float)event->motion.y * pixels);
        break;
    case SDL_MOUSEBUTTONUP:
        mouse_up(v, (float)event->button.x * pixels, (float)event->button.y * pixels);
        break;
    case SDL_MOUSEWHEEL:
        if (event->wheel.y)
            turn_wheel(v, (float)event->wheel.y, (float)event->wheel.mouseX * pixels,
                       (float)event->wheel.mouseY * pixels);
        break;
    default:
        break;
    }
}
