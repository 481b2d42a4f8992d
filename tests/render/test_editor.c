/* The editor in the viewer's window under made-up events: what is clicked and dragged comes into the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <SDL.h>

#include "base/file.h"
#include "effort.h"
#include "render/canvas/picture.h"
#include "render/editor/editor.h"
#include "render/viewer/viewer.h"
#include "sim/multigrid/edit/grid_edit_tools.h"
#include "sim/multigrid/grid_view.h"

static char folder[] = "/tmp/ludus-editor-XXXXXX";
/* Few actions: its states are counted in a moment. */
static const char scenario_text[] =
    "# rooms to be edited\nludus: 1\nname: rooms\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We We\n    We .. .. .. We .. .. We   # above\n    We Ae Ky .. We .. Ay We\n"
    "    We .. .. .. Ly .. .. We\n    We We We We We We We We\n  max_steps: 5   # few\n"
    "goals:\n  - {cell: [1, 1]}   # far\n  - {rectangle: [5, 1, 6, 2], weight: 2}\nrun: {seed: 5}   # the "
    "end\n";

typedef struct stage {
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} stage;

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static lud_status solve(void *context, const lud_scenario *scenario, lud_text *report, lud_error *error) {
    (void)error;
    ++*(int *)context;
    lud_text_append(report, "solved %s", scenario->name);
    return LUD_OK;
}

static int solved;

static int set_up(void **state) {
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    write_file("rooms.yaml", scenario_text);
    stage *s = calloc(1, sizeof *s);
    solved = 0;
    s->options = (lud_view_options){.path = "rooms.yaml", .solve = solve, .solve_context = &solved};
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    const char *size = getenv("LUDUS_EDITOR_SIZE");
    int width = 1280, height = 800;
    if (size && sscanf(size, "%dx%d", &width, &height) != 2) return -1;
    if (lud_canvas_create_offscreen(width, height, 1, &s->canvas, &error)) fail_msg("%s", error.text);
    lud_viewer_draw(s->viewer, s->canvas);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    stage *s = *state;
    lud_viewer_destroy(s->viewer);
    lud_canvas_destroy(s->canvas);
    free(s);
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    int code = system(command);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return code;
}

static void press(stage *s, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(s->viewer, &event, 1);
    lud_viewer_update(s->viewer, 0.02);
}

static void key(stage *s, SDL_Keycode code, int modifiers) {
    press(s, code, modifiers);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void point(stage *s, Uint32 type, int button, float x, float y) {
    SDL_Event event = {.button = {.type = type, .button = (Uint8)button, .x = (int)x, .y = (int)y}};
    if (type == SDL_MOUSEMOTION) event = (SDL_Event){.motion = {.type = type, .x = (int)x, .y = (int)y}};
    lud_viewer_event(s->viewer, &event, 1);
}

static void mouse(stage *s, Uint32 type, int button, float x, float y) {
    point(s, type, button, x, y);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void click(stage *s, lud_box box) {
    assert_true(box.w > 0 && box.h > 0);
    const float x = box.x + box.w * 0.5f, y = box.y + box.h * 0.5f;
    mouse(s, SDL_MOUSEBUTTONDOWN, SDL_BUTTON_LEFT, x, y);
    mouse(s, SDL_MOUSEBUTTONUP, SDL_BUTTON_LEFT, x, y);
}

static lud_editor *editor(const stage *s) {
    lud_editor *e = lud_viewer_editor(s->viewer);
    assert_non_null(e);
    return e;
}

static void at_cell(stage *s, Uint32 type, int button, int x, int y) {
    float sx, sy;
    lud_camera_to_screen(lud_editor_camera(editor(s)), (float)x + 0.5f, (float)y + 0.5f, &sx, &sy);
    mouse(s, type, button, sx, sy);
}

static void drag(stage *s, int button, int x1, int y1, int x2, int y2) {
    at_cell(s, SDL_MOUSEBUTTONDOWN, button, x1, y1);
    at_cell(s, SDL_MOUSEMOTION, button, x2, y2);
    at_cell(s, SDL_MOUSEBUTTONUP, button, x2, y2);
}

static const char *text_of(const stage *s) {
    return lud_grid_edit_text(lud_editor_document(editor(s)));
}

static void expect_has(const stage *s, const char *part) {
    if (!strstr(text_of(s), part)) fail_msg("no `%s` in\n%s", part, text_of(s));
}

/* Time goes on until nothing computes. */
static void wait(stage *s) {
    for (int k = 0; k < 5000; k++) {
        lud_viewer_update(s->viewer, 0.1);
        if (!lud_editor_busy(editor(s))) break;
        SDL_Delay(2);
    }
    assert_false(lud_editor_busy(editor(s)));
    lud_viewer_draw(s->viewer, s->canvas);
}

/* For looking at: LUDUS_EDITOR_PICTURES=FOLDER. */
static void keep_picture(const stage *s, const char *name) {
    const char *where = getenv("LUDUS_EDITOR_PICTURES");
    if (!where) return;
    char path[512];
    int pitch;
    lud_error error = {0};
    snprintf(path, sizeof path, "%s/%s.png", where, name);
    const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
    if (lud_picture_write(path, pixels, lud_canvas_width(s->canvas), lud_canvas_height(s->canvas), pitch,
                          &error))
        fail_msg("%s", error.text);
}

static void test_drawing(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    wait(s);
    keep_picture(s, "open");
    click(s, lud_editor_find(editor(s), "lava", false));
    drag(s, SDL_BUTTON_LEFT, 1, 1, 3, 1);
    expect_has(s, "We La La La We .. .. We   # above\n");
    click(s, lud_editor_find(editor(s), "door", false));
    key(s, SDLK_3, 0); /* blue */
    drag(s, SDL_BUTTON_LEFT, 4, 1, 4, 1);
    expect_has(s, "We La La La Cb .. .. We   # above\n");
    at_cell(s, SDL_MOUSEMOTION, 0, 5, 1);
    keep_picture(s, "brush");
    drag(s, SDL_BUTTON_RIGHT, 1, 1, 2, 1);
    expect_has(s, "We .. .. La Cb .. .. We   # above\n");
    key(s, SDLK_z, KMOD_LCTRL); /* a stroke is one change */
    expect_has(s, "We La La La Cb .. .. We   # above\n");
    for (int k = 0; k < 2; k++) click(s, lud_editor_find(editor(s), "Undo", false));
    assert_string_equal(text_of(s), scenario_text);
    assert_false(lud_editor_changed(editor(s)));
    key(s, SDLK_y, KMOD_LCTRL);
    expect_has(s, "We La La La We .. .. We   # above\n");
}

static void test_moving_and_turning(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    drag(s, SDL_BUTTON_LEFT, 6, 2, 6, 3);
    expect_has(s, "We .. .. .. Ly .. Ay We\n");
    key(s, SDLK_r, 0);
    expect_has(s, "facing: south");
    key(s, SDLK_LEFT, 0);
    expect_has(s, "We .. .. .. Ly Ay .. We\n");
    keep_picture(s, "agent");
    /* a click selects what is on top, another the goal below */
    drag(s, SDL_BUTTON_LEFT, 1, 1, 1, 1);
    key(s, SDLK_DELETE, 0);
    assert_null(strstr(text_of(s), "# far"));
    key(s, SDLK_g, 0);
    drag(s, SDL_BUTTON_LEFT, 1, 3, 3, 2);
    expect_has(s, "weight: 2}\n  - {rectangle: [1, 2, 3, 3]}\nrun:");
    key(s, SDLK_ESCAPE, 0);
    drag(s, SDL_BUTTON_LEFT, 1, 3, 1, 3);
    click(s, lud_editor_find(editor(s), "weight", true));
    expect_has(s, "{rectangle: [1, 2, 3, 3], weight: 1.5}");
    keep_picture(s, "goal");
    drag(s, SDL_BUTTON_LEFT, 1, 3, 2, 2);
    expect_has(s, "{rectangle: [2, 1, 4, 2], weight: 1.5}");
}

static void test_parameters(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    click(s, lud_editor_find(editor(s), "unsteady ground", false));
    click(s, lud_editor_find(editor(s), "stumble", false));
    drag(s, SDL_BUTTON_LEFT, 5, 3, 5, 3);
    expect_has(s, "1a: {unsteady_ground: {stumble: 0.45}}");
    key(s, SDLK_ESCAPE, 0);
    drag(s, SDL_BUTTON_LEFT, 5, 3, 5, 3);
    click(s, lud_editor_find(editor(s), "stumble", true));
    expect_has(s, "We .. .. .. Ly Un .. We\n"); /* as others are: a code of its own no longer */
    key(s, SDLK_ESCAPE, 0);
    wait(s);
    keep_picture(s, "world");
    click(s, lud_editor_find(editor(s), "max_steps", true));
    expect_has(s, "max_steps: 6   # few");
    click(s, lud_editor_find(editor(s), "goals_must_cover", true));
    expect_has(s, "goals_must_cover: true");
    wait(s);
    keep_picture(s, "problems");
    assert_non_null(strstr(lud_editor_findings(editor(s)), "no goal of agent 1 covers"));
}

/* What a keyboard sends for a text. */
static void type(stage *s, const char *text) {
    SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};
    snprintf(event.text.text, sizeof event.text.text, "%s", text);
    lud_viewer_event(s->viewer, &event, 1);
    lud_viewer_draw(s->viewer, s->canvas);
}

static void test_typing(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    drag(s, SDL_BUTTON_LEFT, 5, 1, 5, 1); /* the rectangle, whose weight is 2 */
    click(s, lud_editor_find_field(editor(s), "weight"));
    assert_string_equal(text_of(s), scenario_text); /* nothing is changed until it is taken */
    type(s, "0.37");
    keep_picture(s, "typing");
    key(s, SDLK_RETURN, 0);
    expect_has(s, "{rectangle: [5, 1, 6, 2], weight: 0.37}");
    key(s, SDLK_RETURN, 0); /* again, by the keyboard: digits, a letter that is none, corrections */
    type(s, "1");
    type(s, "x");
    type(s, "9");
    key(s, SDLK_BACKSPACE, 0);
    type(s, "25");
    key(s, SDLK_LEFT, 0);
    type(s, ",");
    key(s, SDLK_HOME, 0);
    key(s, SDLK_DELETE, 0);
    type(s, "3");
    key(s, SDLK_ESCAPE, 0); /* leaves it */
    expect_has(s, "weight: 0.37}");
    key(s, SDLK_RETURN, 0);
    type(s, "3");
    type(s, "5");
    key(s, SDLK_LEFT, 0);
    type(s, ",");
    key(s, SDLK_KP_ENTER, 0);
    expect_has(s, "weight: 3.5}");
    /* out of range is told, and typing goes on */
    key(s, SDLK_RETURN, 0);
    type(s, "-1");
    key(s, SDLK_RETURN, 0);
    assert_non_null(
        strstr(lud_viewer_message(s->viewer), "weight: expected a number from 0 to 1e+09, found -1"));
    keep_picture(s, "typing-wrong");
    expect_has(s, "weight: 3.5}");
    type(s, "4");
    key(s, SDLK_RETURN, 0);
    expect_has(s, "weight: 4}");
    key(s, SDLK_z, KMOD_LCTRL);
    key(s, SDLK_z, KMOD_LCTRL);
    key(s, SDLK_z, KMOD_LCTRL);
    assert_string_equal(text_of(s), scenario_text);

    /* of the world: one after the other, with letters that are keys else; what is under the editor's keys
     * stays */
    key(s, SDLK_ESCAPE, 0);
    wait(s);
    key(s, SDLK_RETURN, 0);
    type(s, "10");
    key(s, SDLK_TAB, 0);
    type(s, "7");
    keep_picture(s, "typing-size");
    key(s, SDLK_TAB, 0);
    press(s, SDLK_e, 0);
    type(s, "1e2");
    key(s, SDLK_s, KMOD_LCTRL); /* takes and saves */
    assert_non_null(lud_viewer_editor(s->viewer));
    assert_false(lud_editor_changed(editor(s)));
    expect_has(s, "max_steps: 100   # few");
    assert_int_equal(lud_grid_edit_get(lud_editor_document(editor(s)))->width, 10);
    assert_int_equal(lud_grid_edit_get(lud_editor_document(editor(s)))->height, 7);
    /* what is placed next has typed numbers, too; a click elsewhere takes what is typed */
    click(s, lud_editor_find(editor(s), "unsteady ground", false));
    click(s, lud_editor_find_field(editor(s), "stumble"));
    type(s, "0.125");
    drag(s, SDL_BUTTON_LEFT, 6, 1, 6, 1);
    expect_has(s, "1a: {unsteady_ground: {stumble: 0.125}}");
}

static void test_size_of_map(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    wait(s);
    keep_picture(s, "sides");
    click(s, lud_editor_find(editor(s), "grow east", false));
    expect_has(s, "    We .. .. .. We .. .. .. We   # above\n");
    click(s, lud_editor_find(editor(s), "grow north", false));
    expect_has(s, "    We We We We We We We We We\n    We .. .. .. We .. .. .. We\n");
    expect_has(s, "  - {cell: [1, 2]}   # far\n  - {rectangle: [5, 2, 6, 3], weight: 2}\n");
    keep_picture(s, "grown");
    key(s, SDLK_z, KMOD_LCTRL);
    click(s, lud_editor_find(editor(s), "cut east", false));
    assert_string_equal(lud_viewer_message(s->viewer), "8 x 5 cells");
    assert_string_equal(text_of(s), scenario_text);
    /* what is selected is still selected at another place */
    drag(s, SDL_BUTTON_LEFT, 2, 2, 2, 2);
    key(s, SDLK_LEFT, KMOD_LCTRL);
    expect_has(s, "    We .. Ae Ky .. We .. Ay We\n");
    key(s, SDLK_DELETE, 0);
    expect_has(s, "    We .. Ae .. .. We .. Ay We\n");
    /* nobody is cut off */
    key(s, SDLK_RIGHT, KMOD_LCTRL | KMOD_LSHIFT);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "agent 1 at (7, 2) would be cut off"));
    expect_has(s, "    We .. Ae .. .. We .. Ay We\n");
    /* with its row the half of a goal goes; it is said */
    key(s, SDLK_UP, KMOD_LCTRL);
    key(s, SDLK_DOWN, KMOD_LCTRL | KMOD_LSHIFT);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "cut off: yellow door"));
    key(s, SDLK_z, KMOD_LCTRL);
    expect_has(s, "Ly");
    while (lud_grid_edit_undo_name(lud_editor_document(editor(s)))) key(s, SDLK_z, KMOD_LCTRL);
    assert_string_equal(text_of(s), scenario_text);
    key(s, SDLK_h, 0);
    keep_picture(s, "keys");
}

/* What is saved is what the viewer then shows; all else of the file is as it was. */
static void test_saving(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    click(s, lud_editor_find(editor(s), "ball", false));
    drag(s, SDL_BUTTON_LEFT, 3, 3, 3, 3);
    key(s, SDLK_s, KMOD_LCTRL);
    assert_false(lud_editor_changed(editor(s)));
    char expected[sizeof scenario_text];
    strcpy(expected, scenario_text);
    memcpy(strstr(expected, "Ly .. .. We") - 3, "Br", 2);
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    char *bytes;
    size_t length;
    assert_int_equal(lud_file_read(arena, "rooms.yaml", 0, &bytes, &length, &error), LUD_OK);
    assert_string_equal(bytes, expected);
    lud_arena_destroy(arena);
    for (int k = 0; k < 10; k++) lud_viewer_update(s->viewer, 0.1); /* the file is read anew */
    key(s, SDLK_e, 0);
    assert_null(lud_viewer_editor(s->viewer));
    const lud_model *model = lud_viewer_scenario(s->viewer)->model;
    lud_grid_scene *scene = lud_grid_scene_create(model);
    lud_grid_scene_read(scene, model, lud_player_state(lud_viewer_player(s->viewer)));
    const int piece = scene->cells[3 * 8 + 3].piece;
    assert_true(piece >= 0);
    assert_int_equal(scene->pieces[piece].object.type, LUD_BALL);
    lud_grid_scene_destroy(scene);
    key(s, SDLK_PERIOD, 0); /* the viewer has its keys again */
    assert_int_equal(lud_player_position(lud_viewer_player(s->viewer)), 1);
}

/* What is not saved is not lost by leaving, and not without a warning by ending. */
static void test_unsaved(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    click(s, lud_editor_find(editor(s), "ball", false));
    drag(s, SDL_BUTTON_LEFT, 3, 3, 3, 3);
    click(s, lud_editor_find(editor(s), "Done", false));
    assert_null(lud_viewer_editor(s->viewer));
    assert_non_null(strstr(lud_viewer_message(s->viewer), "not saved"));
    SDL_Event event = {.type = SDL_QUIT};
    lud_viewer_event(s->viewer, &event, 1);
    assert_false(lud_viewer_wants_to_quit(s->viewer));
    key(s, SDLK_e, 0);
    assert_true(lud_editor_changed(editor(s)));
    /* somebody else writes the file: the first try says so */
    write_file(
        "rooms.yaml",
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Ay We\n    We We We\n");
    key(s, SDLK_s, KMOD_LCTRL);
    assert_non_null(strstr(lud_viewer_message(s->viewer), "has changed meanwhile"));
    assert_true(lud_editor_changed(editor(s)));
    key(s, SDLK_s, KMOD_LCTRL);
    assert_false(lud_editor_changed(editor(s)));
    lud_viewer_event(s->viewer, &event, 1);
    assert_true(lud_viewer_wants_to_quit(s->viewer));
}

static void test_solving(void **state) {
    stage *s = *state;
    key(s, SDLK_e, 0);
    click(s, lud_editor_find(editor(s), "Solve now", false));
    wait(s);
    assert_int_equal(solved, 1);
    assert_non_null(strstr(lud_editor_findings(editor(s)), "states"));
    keep_picture(s, "solved");
}

/* What cannot be edited says why, and the viewer goes on. */
static void test_refused(void **state) {
    stage *s = *state;
    static const struct {
        const char *text, *message;
    } worlds[] = {{"ludus: 1\nworld: multigrid\nmultigrid:\n  generate: {style: open}\n", "generated"},
                  {"ludus: 1\nworld: particle\nparticle: {task: simple}\n", "only multigrid"}};
    for (size_t k = 0; k < sizeof worlds / sizeof *worlds; k++) {
        write_file("other.yaml", worlds[k].text);
        stage other = {.options = {.path = "other.yaml"}, .canvas = s->canvas};
        lud_error error = {0};
        if (lud_viewer_create(&other.options, &other.viewer, &error)) fail_msg("%s", error.text);
        key(&other, SDLK_e, 0);
        assert_null(lud_viewer_editor(other.viewer));
        if (!strstr(lud_viewer_message(other.viewer), worlds[k].message))
            fail_msg("%s", lud_viewer_message(other.viewer));
        lud_viewer_destroy(other.viewer);
    }
}

/* Whatever is pressed, the document can be read and undone to the first byte. */
static void test_random_events(void **state) {
    stage *s = *state;
    uint64_t random = 11;
    static const SDL_Keycode keys[] = {SDLK_v, SDLK_g,      SDLK_r,      SDLK_DELETE, SDLK_LEFT,     SDLK_UP,
                                       SDLK_1, SDLK_5,      SDLK_DOWN,   SDLK_RIGHT,  SDLK_f,        SDLK_n,
                                       SDLK_t, SDLK_ESCAPE, SDLK_RETURN, SDLK_TAB,    SDLK_BACKSPACE};
    static const SDL_Keycode controls[] = {SDLK_z, SDLK_y, SDLK_z, SDLK_LEFT, SDLK_RIGHT, SDLK_UP, SDLK_DOWN};
    key(s, SDLK_e, 0);
    for (int k = 0; k < (SANITIZED ? 100 : 500); k++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const uint32_t r = (uint32_t)(random >> 33);
        const float x = (float)(r % 1280), y = (float)(r / 1280 % 800);
        if (!lud_viewer_editor(s->viewer)) key(s, SDLK_e, 0);
        if (k % 10 == 0) lud_viewer_draw(s->viewer, s->canvas);
        const uint32_t what = (uint32_t)(random >> 20) % 16;
        if (what < 3)
            press(s, keys[r % (sizeof keys / sizeof *keys)], 0);
        else if (what == 3)
            press(s, controls[r % (sizeof controls / sizeof *controls)],
                  KMOD_LCTRL | (r % 3 ? 0 : KMOD_LSHIFT));
        else if (what == 15)
            type(s, r % 2 ? "2" : "-.5");
        else if (what < 8)
            point(s, SDL_MOUSEMOTION, 0, x, y);
        else if (what < 13)
            point(s, SDL_MOUSEBUTTONDOWN, r % 7 ? SDL_BUTTON_LEFT : SDL_BUTTON_RIGHT, x, y);
        else
            point(s, SDL_MOUSEBUTTONUP, SDL_BUTTON_LEFT, x, y);
    }
    if (!lud_viewer_editor(s->viewer)) key(s, SDLK_e, 0);
    lud_grid_edit *edit = lud_editor_document(editor(s));
    lud_error error = {0};
    while (lud_grid_edit_undo_name(edit))
        if (lud_grid_edit_undo(edit, &error)) fail_msg("%s", error.text);
    assert_string_equal(lud_grid_edit_text(edit), scenario_text);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_drawing),     TEST(test_moving_and_turning),
                                       TEST(test_parameters),  TEST(test_typing),
                                       TEST(test_size_of_map), TEST(test_saving),
                                       TEST(test_unsaved),     TEST(test_solving),
                                       TEST(test_refused),     TEST(test_random_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
