/* Panels of the column: they never overlap whatever is folded and however high they are to be, go where their
 * edges are dragged, and are found as they were left in the next window. */
#include <math.h>
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
#include "render/support_pictures.h"
#include "render/viewer/remembered.h"
#include "render/viewer/viewer_parts.h"

static char folder[] = "/tmp/ludus-column-XXXXXX";
static const char rooms[] =
    "ludus: 1\nname: rooms\nabout: A robot and a person.\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 20\n  actions: object\nrun: {seed: "
    "5}\n";

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    write_file("rooms.yaml", rooms);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

/* ---- the column alone ---- */

static uint64_t random_state = 7;

static double drawn(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static lud_column_wishes any_wishes(void) {
    lud_column_wishes w = {0};
    for (int k = 0; k < LUD_PANELS; k++) {
        w.there[k] = drawn() < 0.7;
        w.height[k] = w.there[k] ? (float)(drawn() * 700) + 1 : 0;
    }
    return w;
}

static lud_view_panels any_panels(void) {
    lud_view_panels p = {.width = drawn() * 0.8};
    double *const heights[] = {&p.training_height, &p.comparison_height, &p.overlay_height};
    for (int k = 0; k < 3; k++) *heights[k] = drawn() < 0.5 ? 0 : drawn();
    for (int k = 0; k < LUD_PANELS; k++) *lud_panel_folded(&p, k) = drawn() < 0.3;
    return p;
}

static void check_places(const lud_column *c, const lud_column_wishes *wishes) {
    float y = c->box.y;
    for (int k = 0; k < LUD_PANELS; k++) {
        const lud_panel_place *p = &c->panels[k];
        assert_int_equal(p->title.h > 0, wishes->there[k]);
        if (!wishes->there[k]) assert_true(p->box.h <= 0 && p->edge.h <= 0);
        if (p->folded) assert_true(p->box.h <= 0 && p->edge.h <= 0);
        if (p->title.h > 0) {
            assert_true(p->title.y >= y);
            y = p->title.y + p->title.h;
        }
        if (p->box.h > 0) {
            assert_true(fabsf(p->box.y - y) < 0.01f);
            assert_true(p->box.x >= c->box.x && p->box.x + p->box.w <= c->box.x + c->box.w);
            y = p->box.y + p->box.h;
        }
    }
    assert_true(y <= c->box.y + c->box.h + 0.01f);
    /* an inspector that is open is seen, whatever the others want */
    const lud_panel_place *inspector = &c->panels[LUD_PANEL_INSPECTOR];
    if (inspector->title.h > 0 && !inspector->folded) assert_true(inspector->box.h >= c->least - 0.01f);
}

/* An edge comes to where it is dragged, as far as panels keep their least heights and there is room. */
static void check_dragged(const lud_canvas *canvas, const lud_column *c, const lud_column_wishes *wishes,
                          lud_view_panels panels, int edge) {
    const lud_panel_place *before = &c->panels[edge];
    const float middle = before->edge.y + before->edge.h * 0.5f, to = middle + (float)(drawn() - 0.5) * 200,
                by = to - middle;
    assert_int_equal(lud_column_edge_at(c, before->edge.x + 30, middle), edge);
    lud_column after;
    lud_column_drag(c, edge, lud_column_edge_position(c, edge) + by, &panels);
    lud_column_divide(&after, canvas, c->box, c->picture, wishes, &panels);
    check_places(&after, wishes);
    const bool above = before->edge.y < before->box.y;
    const float height = after.panels[edge].box.h, wanted = before->box.h + (above ? -by : by);
    if (fabsf(height - wanted) < 0.1f) return;
    if (wanted < c->least) {
        assert_true(height <= c->least + 0.1f);
        return;
    }
    assert_true(height < wanted); /* there is no more room: what gives way is at its least */
    float rest = after.box.y + after.box.h - 16;
    for (int k = 0; k < LUD_PANELS; k++) {
        const lud_panel_place *p = &after.panels[k];
        if (p->title.h > 0) rest -= 6 + p->title.h;
        if (k <= edge || (edge == LUD_PANEL_OVERLAY && k != LUD_PANEL_INSPECTOR)) rest -= p->box.h;
    }
    rest -= after.box.y;
    const lud_panel_place *inspector = &after.panels[LUD_PANEL_INSPECTOR];
    assert_true(rest <= (inspector->box.h > 0 ? after.least : 0) + 0.1f);
}

static void test_places(void **state) {
    (void)state;
    lud_canvas *canvas;
    lud_error error = {0};
    if (lud_canvas_create_offscreen(800, 600, 1, &canvas, &error)) fail_msg("%s", error.text);
    int n_dragged = 0;
    for (int k = 0; k < 3000; k++) {
        const lud_column_wishes wishes = any_wishes();
        const lud_view_panels panels = any_panels();
        const float width = 150 + (float)drawn() * 400, height = 300 + (float)drawn() * 900;
        lud_column c;
        lud_column_divide(&c, canvas, (lud_box){800 - width, 0, width, height}, 800, &wishes, &panels);
        check_places(&c, &wishes);
        for (int edge = 0; edge < LUD_PANELS; edge++)
            if (c.panels[edge].edge.h > 0) {
                check_dragged(canvas, &c, &wishes, panels, edge);
                n_dragged++;
            }
        lud_view_panels wider = panels;
        const float to = 200 + (float)drawn() * 500;
        lud_column_drag(&c, LUD_COLUMN_EDGE, to, &wider);
        assert_true(fabs(wider.width - fmin(fmax((800 - (double)to) / 800, 0.1), 0.8)) < 1e-6);
    }
    assert_true(n_dragged > 1000);
    lud_canvas_destroy(canvas);
}

/* ---- in the window ---- */

typedef struct window {
    lud_scenario_overrides overrides;
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
} window;

static const struct lud_scenario_value still = {"--still", "view.motion", "false", false};

static window *open_window(const char *view, const char *remembered) {
    window *w = calloc(1, sizeof *w);
    lud_error error = {0};
    w->overrides =
        (lud_scenario_overrides){.view = view, .values = &still, .n_values = 1, .run = lud_run_as_written};
    w->options =
        (lud_view_options){.path = "rooms.yaml", .overrides = &w->overrides, .remembered = remembered};
    if (lud_viewer_create(&w->options, &w->viewer, &error)) fail_msg("%s", error.text);
    if (lud_canvas_create_offscreen(900, 600, 1, &w->canvas, &error)) fail_msg("%s", error.text);
    lud_viewer_draw(w->viewer, w->canvas);
    return w;
}

static void close_window(window *w) {
    lud_viewer_destroy(w->viewer);
    lud_canvas_destroy(w->canvas);
    free(w);
}

static void settle(window *w) {
    for (int k = 0; k < 80; k++) lud_viewer_update(w->viewer, 0.2); /* messages are gone */
    lud_viewer_draw(w->viewer, w->canvas);
}

static void key(window *w, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(w->viewer, &event, 1);
    settle(w);
}

static void move(window *w, float x, float y) {
    SDL_Event event = {.motion = {.type = SDL_MOUSEMOTION, .x = (int)x, .y = (int)y}};
    lud_viewer_event(w->viewer, &event, 1);
    lud_viewer_draw(w->viewer, w->canvas);
}

static void button(window *w, Uint32 type, float x, float y) {
    SDL_Event event = {.button = {.type = type, .button = SDL_BUTTON_LEFT, .x = (int)x, .y = (int)y}};
    lud_viewer_event(w->viewer, &event, 1);
    lud_viewer_draw(w->viewer, w->canvas);
}

/* Far from panels at last, so that nothing is marked. */
static void drag(window *w, float x, float y, float to_x, float to_y) {
    button(w, SDL_MOUSEBUTTONDOWN, x, y);
    for (int k = 1; k <= 5; k++) move(w, x + (to_x - x) * 0.2f * (float)k, y + (to_y - y) * 0.2f * (float)k);
    button(w, SDL_MOUSEBUTTONUP, to_x, to_y);
    move(w, 2, 2);
    settle(w);
}

static void fold(window *w, int panel) {
    const lud_box title = w->viewer->layout.column.panels[panel].title;
    assert_true(title.h > 0);
    drag(w, title.x + 20, title.y + title.h * 0.5f, title.x + 20, title.y + title.h * 0.5f);
}

static int differing(window *w, picture before) {
    picture now = picture_of(w->canvas);
    const int n = picture_differing(before, now);
    picture_free(&now);
    return n;
}

static void test_fold_and_resize(void **state) {
    (void)state;
    window *w = open_window(NULL, NULL);
    const lud_column *column = &w->viewer->layout.column;
    key(w, SDLK_TAB, 0);
    move(w, 2, 2);
    settle(w);
    picture first = picture_of(w->canvas);
    /* a click on the title folds the inspector, another unfolds it */
    const int shown = lud_viewer_selected_agent(w->viewer);
    fold(w, LUD_PANEL_INSPECTOR);
    assert_true(column->panels[LUD_PANEL_INSPECTOR].box.h <= 0);
    assert_true(differing(w, first) > 5000);
    assert_int_equal(lud_viewer_selected_agent(w->viewer), shown);
    /* where agents stood nothing is clicked any longer */
    drag(w, 700, 400, 700, 400);
    assert_int_equal(lud_viewer_selected_agent(w->viewer), shown);
    fold(w, LUD_PANEL_INSPECTOR);
    assert_int_equal(differing(w, first), 0);
    /* the column's edge goes to where it is dragged, the world keeps to what is left; it marks itself */
    const float edge = column->box.x;
    move(w, edge + 1, 300);
    assert_true(differing(w, first) > 300);
    drag(w, edge + 1, 300, 421, 310);
    assert_true(fabsf(column->box.x - 420) < 1.5f);
    assert_true(fabsf(w->viewer->layout.side[0].w - column->box.x) < 1.5f);
    drag(w, column->box.x + 1, 300, edge + 1, 300);
    assert_true(fabsf(column->box.x - edge) < 1.5f);
    /* beyond its bounds it stays at them */
    drag(w, column->box.x, 300, 899, 300);
    assert_true(fabsf(column->box.w - 90) < 1.5f);
    drag(w, column->box.x, 300, 1, 300);
    assert_true(fabsf(column->box.w - 720) < 1.5f);
    /* nothing of it is left after Shift P, and without a file nothing was kept */
    key(w, SDLK_p, KMOD_LSHIFT);
    assert_int_equal(differing(w, first), 0);
    fold(w, LUD_PANEL_INSPECTOR);
    close_window(w);
    w = open_window(NULL, NULL);
    key(w, SDLK_TAB, 0);
    assert_int_equal(differing(w, first), 0);
    close_window(w);
    picture_free(&first);
}

/* ---- from window to window ---- */

static const char kept[] = "config/ludus/view.yaml";

static picture arranged(const char *view) {
    window *w = open_window(view, kept);
    key(w, SDLK_TAB, 0);
    drag(w, w->viewer->layout.column.box.x, 300, 500, 300);
    fold(w, LUD_PANEL_INSPECTOR);
    const picture p = picture_of(w->canvas);
    close_window(w);
    return p;
}

static picture opened(const char *view, const char *remembered) {
    window *w = open_window(view, remembered);
    assert_string_equal(lud_viewer_message(w->viewer), "");
    key(w, SDLK_TAB, 0);
    const picture p = picture_of(w->canvas);
    close_window(w);
    return p;
}

static void check_same(picture a, picture b, bool same) {
    assert_true((picture_differing(a, b) == 0) == same);
    picture_free(&b);
}

static void test_remembered(void **state) {
    (void)state;
    write_file("panels.yaml", "panels: {width: 0.3}\n");
    write_file("dark.yaml", "theme: dark\n");
    picture usual = opened(NULL, NULL);
    check_same(usual, opened(NULL, kept), true); /* there is no file yet */
    assert_false(lud_file_exists(kept));
    /* a view that says how panels are neither reads nor writes it, nor does what one does there */
    picture fixed = opened("panels.yaml", NULL), put = arranged("panels.yaml");
    assert_false(lud_file_exists(kept));
    picture_free(&put);
    put = arranged(NULL);
    assert_true(lud_file_exists(kept));
    check_same(put, opened(NULL, kept), true);
    check_same(usual, opened(NULL, NULL), true);
    check_same(fixed, opened("panels.yaml", kept), true);
    /* one that says something else does; what the file holds is a view file as others */
    picture dark = opened("dark.yaml", kept);
    assert_true(picture_differing(dark, put) > 100000);
    check_same(dark, opened("dark.yaml", NULL), false);
    check_same(put, opened(kept, NULL), true);
    /* forgotten, it is the first again; what was dragged by then stays gone */
    window *w = open_window(NULL, kept);
    key(w, SDLK_TAB, 0);
    assert_int_equal(differing(w, put), 0);
    key(w, SDLK_p, KMOD_LSHIFT);
    assert_false(lud_file_exists(kept));
    assert_int_equal(differing(w, usual), 0);
    close_window(w);
    check_same(usual, opened(NULL, kept), true);
    picture_free(&usual);
    picture_free(&fixed);
    picture_free(&put);
    picture_free(&dark);
}

/* A file with a mistake is told of once, and lies beside from then on. */
static void test_broken(void **state) {
    (void)state;
    static const char *const texts[] = {"panels: {width: 7}\n", "panels: {widht: 0.3}\n", "panels: [\n",
                                        "7\n", "panels: {overlay_folded: perhaps}\n"};
    picture usual = opened(NULL, NULL);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        write_file(kept, texts[k]);
        window *w = open_window(NULL, kept);
        assert_non_null(strstr(lud_viewer_message(w->viewer), kept));
        key(w, SDLK_TAB, 0);
        assert_int_equal(differing(w, usual), 0);
        close_window(w);
        assert_false(lud_file_exists(kept));
        assert_true(lud_file_exists("config/ludus/view.yaml.broken"));
        check_same(usual, opened(NULL, kept), true);
    }
    picture_free(&usual);
    /* what cannot be written is told, and the window goes on */
    write_file("nowhere", "");
    window *w = open_window(NULL, "nowhere/view.yaml");
    key(w, SDLK_TAB, 0);
    const lud_box title = w->viewer->layout.column.panels[LUD_PANEL_INSPECTOR].title;
    button(w, SDL_MOUSEBUTTONDOWN, title.x + 20, title.y + 5);
    assert_non_null(strstr(lud_viewer_message(w->viewer), "nowhere"));
    assert_true(w->viewer->layout.column.panels[LUD_PANEL_INSPECTOR].folded);
    close_window(w);
}

static void check_path(const char *config, const char *home, const char *expected) {
    lud_text path = {0};
    setenv("XDG_CONFIG_HOME", config, 1);
    setenv("HOME", home, 1);
    lud_remembered_path(&path);
    if (expected)
        assert_string_equal(path.bytes, expected);
    else
        assert_null(path.bytes);
    lud_text_free(&path);
}

static void test_path(void **state) {
    (void)state;
    check_path("/a/b", "/home/me", "/a/b/ludus/view.yaml");
    check_path("", "/home/me", "/home/me/.config/ludus/view.yaml");
    check_path("not/absolute", "/home/me", "/home/me/.config/ludus/view.yaml");
    check_path("", "", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_fold_and_resize),
                                       cmocka_unit_test(test_remembered), cmocka_unit_test(test_broken),
                                       cmocka_unit_test(test_path)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
