/* What keys and the mouse do in the viewer. */
#include <math.h>
#include <string.h>

#include "render/viewer_parts.h"

/* ---- acting for an agent ---- */

static const struct {
    const char *action;
    SDL_Keycode key;
    const char *shown;
} action_keys[] = {{"forward", SDLK_UP, "Up"},
                   {"left", SDLK_LEFT, "Left"},
                   {"right", SDLK_RIGHT, "Right"},
                   {"still", SDLK_DOWN, "Down"},
                   {"up", SDLK_UP, "Up"},
                   {"down", SDLK_DOWN, "Down"},
                   {"pickup", SDLK_e, "E"},
                   {"drop", SDLK_q, "Q"},
                   {"toggle", SDLK_RETURN, "Enter"},
                   {"done", SDLK_BACKSPACE, "Backspace"},
                   {"build", SDLK_BACKSPACE, "Backspace"}};
enum { N_ACTION_KEYS = sizeof action_keys / sizeof *action_keys };

int lud_viewer_key_action(const lud_viewer *v, int agent, SDL_Keycode key) {
    const lud_action_space *space = &v->scenario->model->layout.actions[agent];
    if (key >= SDLK_1 && key <= SDLK_9 && key - SDLK_1 < space->n_discrete) return key - SDLK_1;
    for (int k = 0; k < N_ACTION_KEYS; k++)
        for (int a = 0; action_keys[k].key == key && a < space->n_discrete; a++)
            if (!strcmp(space->names[a], action_keys[k].action)) return a;
    return -1;
}

void lud_viewer_action_keys(const lud_viewer *v, int agent, lud_text *out) {
    const lud_action_space *space = &v->scenario->model->layout.actions[agent];
    for (int a = 0; a < space->n_discrete; a++) {
        lud_text_append(out, "%s\t", space->names[a]);
        for (int k = 0; k < N_ACTION_KEYS; k++)
            if (!strcmp(space->names[a], action_keys[k].action))
                lud_text_append(out, "%s, ", action_keys[k].shown);
        if (a < 9) lud_text_append(out, "%d", a + 1);
        lud_text_append(out, "\n");
    }
}

static bool has_action(const lud_viewer *v, int agent, const char *name) {
    const lud_action_space *space = &v->scenario->model->layout.actions[agent];
    for (int a = 0; a < space->n_discrete; a++)
        if (!strcmp(space->names[a], name)) return true;
    return false;
}

static void take_over(lud_viewer *v) {
    const lud_layout *layout = &v->scenario->model->layout;
    if (v->selected_agent < 0 && layout->n_agents > 0) v->selected_agent = 0;
    int agent = v->selected_agent;
    if (agent < 0 || layout->actions[agent].n_discrete < 1) {
        lud_viewer_say(v, false, 4, "There is nobody here to take over with keys");
        return;
    }
    v->taken[agent] = !v->taken[agent];
    v->chosen[agent] = v->taken[agent] ? 0 : -1;
    lud_viewer_forget_plans(v);
    const char *keys = lud_viewer_key_action(v, agent, SDLK_LEFT) < 0 ? "1 to 9 are its actions"
                       : has_action(v, agent, "forward") ? "Up forward, Left and Right turn, Down waits"
                                                         : "the arrows move it, 1 waits";
    if (v->taken[agent])
        lud_viewer_say(v, false, 5, "You act for agent %d: %s, C gives back", agent, keys);
    else
        lud_viewer_say(v, false, 3, "Agent %d acts by itself again", agent);
}

/* True when the key was an action of an agent that was taken over. */
static bool act_by_key(lud_viewer *v, SDL_Keycode key) {
    int agent = v->selected_agent;
    if (agent < 0 || !v->taken[agent]) return false;
    int action = lud_viewer_key_action(v, agent, key);
    if (action < 0) return false;
    v->chosen[agent] = action;
    lud_viewer_forget_plans(v);
    if (!v->playing) lud_viewer_step(v); /* turn by turn; while playing it is the next step's action */
    return true;
}

/* ---- keys ---- */

static void change_speed(lud_viewer *v, double factor) {
    v->speed = fmin(fmax(v->speed * factor, 0.25), 256);
    lud_viewer_say(v, false, 1.5, v->speed < 1 ? "%.2g steps a second" : "%.0f steps a second", v->speed);
}

static void toggle_play(lud_viewer *v) {
    v->playing = !v->playing;
    if (v->playing) v->since_step = 1 / v->speed; /* the first step comes at once */
}

static void zoom(lud_viewer *v, float factor, float x, float y) {
    v->fitted = false;
    lud_camera_zoom(&v->camera, factor, x, y);
}

static void next_agent(lud_viewer *v, int by) {
    int n = v->scenario->model->layout.n_agents;
    if (!n) return;
    v->selected_agent = v->selected_agent < 0 ? (by > 0 ? 0 : n - 1) : (v->selected_agent + by + n) % n;
    v->cell_selected = false;
}

static void step_back(lud_viewer *v) {
    v->playing = false;
    size_t position = lud_player_position(v->player);
    if (position) lud_viewer_seek(v, position - 1);
}

static void toggle_overlay(lud_viewer *v, lud_overlay_part part, const char *name) {
    if (!v->overlay) {
        lud_viewer_say(v, false, 4, "Overlays need a solution: ludus solve SCENARIO -o RUN, ludus view RUN");
        return;
    }
    int shown = lud_overlay_shown(v->overlay) ^ (int)part;
    lud_overlay_show(v->overlay, shown);
    lud_viewer_say(v, false, 1.5, "%s %s", name, shown & (int)part ? "on" : "off");
}

static void press_key(lud_viewer *v, SDL_Keycode key, bool shift, bool control) {
    if (control) {
        if (key == SDLK_q) v->quit = true;
        return;
    }
    if (v->help) { /* any key closes the page */
        v->help = false;
        return;
    }
    if (act_by_key(v, key)) return;
    float middle_x = v->boxes.world.x + v->boxes.world.w * 0.5f,
          middle_y = v->boxes.world.y + v->boxes.world.h * 0.5f;
    switch (key) {
    case SDLK_SPACE:
        toggle_play(v);
        break;
    case SDLK_PERIOD:
    case SDLK_RIGHT:
        v->playing = false;
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
        lud_viewer_seek(v, lud_player_known(v->player) - 1);
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
        lud_viewer_seek(v, lud_player_known(v->player) - 1);
        lud_player_next_episode(v->player);
        lud_viewer_forget_plans(v);
        lud_viewer_say(v, false, 2, "Episode %u", lud_player_episode(v->player) + 1);
        break;
    case SDLK_r:
        lud_viewer_restart(v, lud_player_seed(v->player) + (shift ? 0 : 1));
        break;
    case SDLK_TAB:
        next_agent(v, shift ? -1 : 1);
        break;
    case SDLK_f:
        v->follow = false;
        lud_viewer_fit(v);
        break;
    case SDLK_g:
        if (v->selected_agent < 0) next_agent(v, 1);
        v->follow = !v->follow;
        if (v->follow) v->fitted = false;
        lud_viewer_say(v, false, 2, v->follow ? "Following agent %d" : "Not following agent %d",
                       v->selected_agent);
        break;
    case SDLK_LEFTBRACKET:
        zoom(v, 1 / 1.2f, middle_x, middle_y);
        break;
    case SDLK_RIGHTBRACKET:
        zoom(v, 1.2f, middle_x, middle_y);
        break;
    case SDLK_b:
        v->successors_shown = !v->successors_shown;
        break;
    case SDLK_o:
        v->goals = !v->goals;
        break;
    case SDLK_l:
        v->labels = !v->labels;
        break;
    case SDLK_w:
        toggle_overlay(v, LUD_OVERLAY_VALUES, "Worth of goals");
        break;
    case SDLK_a:
        toggle_overlay(v, LUD_OVERLAY_ARROWS, "Arrows");
        break;
    case SDLK_u:
        toggle_overlay(v, LUD_OVERLAY_BARS, "Bars");
        break;
    case SDLK_d:
        toggle_overlay(v, LUD_OVERLAY_TRACE, "Curves");
        break;
    case SDLK_i:
        toggle_overlay(v, LUD_OVERLAY_EDGES, "Attention");
        break;
    case SDLK_c:
        take_over(v);
        break;
    case SDLK_s:
        lud_viewer_screenshot(v);
        break;
    case SDLK_v:
        lud_viewer_toggle_recording(v);
        break;
    case SDLK_p:
        v->panels = !v->panels;
        break;
    case SDLK_m:
        v->motion = !v->motion;
        break;
    case SDLK_t:
        v->theme = v->theme == LUD_THEME_LIGHT ? LUD_THEME_DARK : LUD_THEME_LIGHT;
        break;
    case SDLK_h:
    case SDLK_F1:
    case SDLK_QUESTION:
        v->help = true;
        break;
    case SDLK_ESCAPE:
        if (v->selected_agent >= 0 && v->taken[v->selected_agent]) take_over(v);
        v->selected_agent = -1;
        v->cell_selected = v->follow = false;
        break;
    default:
        break;
    }
}

/* ---- mouse ---- */

static void scrub(lud_viewer *v, float x) {
    size_t known = lud_player_known(v->player), length = lud_viewer_track_length(v);
    float share = fminf(fmaxf((x - v->boxes.track.x) / v->boxes.track.w, 0), 1);
    size_t position = (size_t)lroundf(share * (float)(length - 1));
    v->playing = false;
    lud_viewer_seek(v, position < known ? position : known - 1);
}

static void press_button(lud_viewer *v, int button) {
    switch (button) {
    case 0:
        lud_viewer_seek(v, 0);
        break;
    case 1:
        step_back(v);
        break;
    case 2:
        toggle_play(v);
        break;
    case 3:
        v->playing = false;
        lud_viewer_step(v);
        break;
    default:
        lud_viewer_seek(v, lud_player_known(v->player) - 1);
        break;
    }
}

static void select_at(lud_viewer *v, float x, float y) {
    float wx, wy;
    lud_camera_to_world(&v->camera, x, y, &wx, &wy);
    v->selected_agent = v->drawing->kind->agent_at(v->drawing, lud_player_state(v->player), wx, wy);
    v->cell_x = (int)floorf(wx);
    v->cell_y = (int)floorf(wy);
    v->cell_selected =
        v->selected_agent < 0 && lud_box_contains(v->drawing->kind->extent(v->drawing), wx, wy);
}

/* What the mouse would take along, -1: nothing, then the world itself moves. */
static int thing_at(const lud_viewer *v, float x, float y) {
    float wx, wy;
    if (!v->drawing->kind->thing_at) return -1;
    lud_camera_to_world(&v->camera, x, y, &wx, &wy);
    return v->drawing->kind->thing_at(v->drawing, lud_player_state(v->player), wx, wy);
}

static void drag_thing(lud_viewer *v, float x, float y) {
    float wx, wy;
    lud_camera_to_world(&v->camera, x, y, &wx, &wy);
    if (!v->dragged) lud_viewer_say(v, false, 4, "Moved: what comes begins anew from here");
    v->playing = false;
    v->drawing->kind->move_thing(v->drawing, lud_player_edit(v->player), v->grabbed, wx, wy);
    v->since_step = INFINITY;
    lud_viewer_forget_plans(v);
}

static void mouse_down(lud_viewer *v, float x, float y) {
    v->mouse_x = x;
    v->mouse_y = y;
    v->dragged = false;
    if (v->help) {
        v->help = false;
        return;
    }
    for (int k = 0; k < 5; k++)
        if (lud_box_contains(v->boxes.buttons[k], x, y)) {
            press_button(v, k);
            return;
        }
    if (lud_box_contains(v->boxes.track, x, y)) {
        v->scrubbing = true;
        scrub(v, x);
    } else if (lud_box_contains(v->boxes.agent_rows, x, y)) {
        int row = (int)((y - v->boxes.agent_rows.y) / v->boxes.agent_row_height),
            column = (int)((x - v->boxes.agent_rows.x) / v->boxes.agent_width),
            agent = row * v->boxes.agents_a_row + column;
        if (column < v->boxes.agents_a_row && agent < v->scenario->model->layout.n_agents) {
            v->selected_agent = agent;
            v->cell_selected = false;
        }
    } else if (lud_box_contains(v->boxes.world, x, y)) {
        v->dragging = true;
        v->grabbed = thing_at(v, x, y);
    }
}

static void mouse_move(lud_viewer *v, float x, float y) {
    if (v->scrubbing) scrub(v, x);
    if (v->dragging && (v->dragged || hypotf(x - v->mouse_x, y - v->mouse_y) > 4 * v->scale)) {
        if (v->grabbed >= 0) {
            drag_thing(v, x, y);
            v->dragged = true;
            return;
        }
        v->dragged = true;
        v->fitted = v->follow = false;
        lud_camera_pan(&v->camera, x - v->mouse_x, y - v->mouse_y);
        v->mouse_x = x;
        v->mouse_y = y;
    }
}

static void mouse_up(lud_viewer *v, float x, float y) {
    if (v->dragging && !v->dragged) select_at(v, x, y);
    v->dragging = v->scrubbing = false;
    v->grabbed = -1;
}

void lud_viewer_event(lud_viewer *v, const SDL_Event *event, float pixels) {
    switch (event->type) {
    case SDL_QUIT:
        v->quit = true;
        break;
    case SDL_KEYDOWN:
        v->fresh = false;
        press_key(v, event->key.keysym.sym, event->key.keysym.mod & KMOD_SHIFT,
                  event->key.keysym.mod & KMOD_CTRL);
        break;
    case SDL_MOUSEBUTTONDOWN:
        v->fresh = false;
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
            zoom(v, powf(1.15f, (float)event->wheel.y), (float)event->wheel.mouseX * pixels,
                 (float)event->wheel.mouseY * pixels);
        break;
    default:
        break;
    }
}
