/* Several sides in step: each does what it would do alone, episodes begin together, and what is marked is
 * what differs. */
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
#include "render/film.h"
#include "render/sides_draw.h"
#include "render/viewer/viewer.h"

static char folder[] = "/tmp/ludus-sides-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int remove_folder(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

#define ROOMS(policies, seed)                                                                                \
    "ludus: 1\nname: rooms\nworld: multigrid\nmultigrid:\n  map: |\n"                                        \
    "    We We We We We We We\n    We .. .. We .. .. We\n    We Ae Ky We .. Ay We\n"                         \
    "    We .. .. Ly .. .. We\n    We We We We We We We\n  max_steps: 12\n  actions: object\n"               \
    "policies: " policies "\nrun: {seed: " seed "}\n"

static const char wandering[] = ROOMS("{0: {type: random}}", "5");
static const char resting[] =
    ROOMS("{0: {type: weighted, weights: {still: 1}}, 1: {type: weighted, weights: {still: 1}}}", "5");
/* the same, and its robot alone wanders: the person never moves */
static const char robot_wanders[] =
    ROOMS("{0: {type: random}, 1: {type: weighted, weights: {still: 1}}}", "5");

typedef struct act {
    lud_scenario *scenario;
    lud_cast *cast;
    lud_drawing *drawing;
    lud_player *player;
} act;

static act opened(const char *text, uint64_t seed) {
    act a = {0};
    lud_error error = {0};
    lud_status status = lud_scenario_read("test.yaml", text, strlen(text), NULL, 0, &a.scenario, &error);
    if (!status) status = lud_cast_create(a.scenario->model, a.scenario->policies, "test", &a.cast, &error);
    if (!status) status = lud_drawing_create(a.scenario->model, &a.drawing, &error);
    if (!status) status = lud_player_create(a.scenario->model, a.cast, seed, true, &a.player, &error);
    if (status) fail_msg("%s", error.text);
    return a;
}

static void closed(act *a) {
    lud_player_destroy(a->player);
    lud_drawing_destroy(a->drawing);
    lud_cast_destroy(a->cast);
    lud_scenario_destroy(a->scenario);
}

static lud_sides sides_of(const act *acts, int n) {
    static const char *const names[] = {"first", "second", "third"};
    lud_sides sides = {.n = n};
    for (int k = 0; k < n; k++)
        sides.side[k] = (lud_side){
            .name = names[k], .path = names[k], .player = acts[k].player, .drawing = acts[k].drawing};
    return sides;
}

static void step(const lud_sides *sides, const int32_t *chosen, bool *moved) {
    lud_error error = {0};
    if (lud_sides_step(sides, chosen, moved, &error)) fail_msg("%s", error.text);
}

static void begin(const lud_sides *sides) {
    lud_error error = {0};
    if (lud_sides_begin(sides, &error)) fail_msg("%s", error.text);
}

/* In the first episode each side goes through the states that it goes through alone; the first does so in
 * all, and every episode begins in the same state for all. */
static void test_as_alone(void **state) {
    (void)state;
    act acts[] = {opened(wandering, 5), opened(resting, 5), opened(robot_wanders, 5)};
    act alone[] = {opened(wandering, 5), opened(resting, 5), opened(robot_wanders, 5)};
    const lud_sides sides = sides_of(acts, 3);
    const size_t bytes = acts[0].scenario->model->layout.state_bytes;
    for (int episode = 0; episode < 3; episode++) {
        begin(&sides);
        for (int k = 1; k < 3; k++)
            assert_memory_equal(lud_player_state(acts[k].player), lud_player_state(acts[0].player), bytes);
        bool moved = true;
        while (moved) {
            step(&sides, NULL, &moved);
            for (int k = 0; k < (episode ? 1 : 3); k++) {
                bool one;
                assert_int_equal(lud_player_step(alone[k].player, NULL, &one, NULL), LUD_OK);
                assert_memory_equal(lud_player_state(alone[k].player), lud_player_state(acts[k].player),
                                    bytes);
            }
        }
        assert_true(lud_sides_over(&sides));
        lud_player_next_episode(acts[0].player);
        lud_player_next_episode(alone[0].player);
    }
    for (int k = 0; k < 3; k++) {
        closed(&acts[k]);
        closed(&alone[k]);
    }
}

/* The same policy draws the same for the same steps: nothing ever differs, and nothing is marked. */
static void test_same_policy(void **state) {
    (void)state;
    act acts[] = {opened(wandering, 9), opened(wandering, 9)};
    const lud_sides sides = sides_of(acts, 2);
    for (int episode = 0; episode < 3; episode++) {
        begin(&sides);
        for (bool moved = true; moved;) {
            step(&sides, NULL, &moved);
            int32_t cells[4][2];
            assert_true(lud_sides_same(&sides, 1));
            assert_true(lud_sides_parted(&sides, 1) == SIZE_MAX);
            assert_int_equal(
                acts[0].drawing->kind->differing_cells(acts[0].drawing, lud_player_state(acts[0].player),
                                                       lud_player_state(acts[1].player), cells, 4),
                0);
        }
        lud_player_next_episode(acts[0].player);
    }
    closed(&acts[0]);
    closed(&acts[1]);
}

/* Steps, leaps and chosen actions in any order: all are at the same step or at their end, what is known is
 * known of all, and the parting step is the first that differs. */
static void test_in_step(void **state) {
    (void)state;
    act acts[] = {opened(wandering, 3), opened(robot_wanders, 3), opened(resting, 3)};
    const lud_sides sides = sides_of(acts, 3);
    const size_t bytes = acts[0].scenario->model->layout.state_bytes;
    begin(&sides);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        const int what = rand() % 6;
        int32_t chosen[2] = {what < 2 ? rand() % 7 : -1, -1};
        bool moved;
        if (what == 5)
            lud_sides_seek(&sides, (size_t)rand() % lud_sides_known(&sides));
        else if (what == 4)
            lud_sides_seek(&sides, lud_sides_known(&sides) - 1);
        else
            step(&sides, chosen, &moved);
        const size_t at = lud_sides_position(&sides);
        assert_true(at < lud_sides_known(&sides));
        for (int k = 0; k < 3; k++) {
            const size_t own = lud_player_position(acts[k].player);
            assert_true(own == at || (own < at && lud_player_over(acts[k].player)));
            size_t first = SIZE_MAX;
            for (size_t t = at + 1; k && t-- > 0;) {
                const size_t a = lud_player_known(acts[0].player) - 1,
                             b = lud_player_known(acts[k].player) - 1;
                if (memcmp(lud_player_state_at(acts[0].player, t < a ? t : a),
                           lud_player_state_at(acts[k].player, t < b ? t : b), bytes) != 0)
                    first = t;
            }
            assert_true(lud_sides_parted(&sides, k) == first);
        }
        if (lud_sides_over(&sides) && round % 3 == 0) {
            lud_player_next_episode(acts[0].player);
            begin(&sides);
        }
    }
    for (int k = 0; k < 3; k++) closed(&acts[k]);
}

/* What is said about a cell without who stands there: an oracle of differing cells by words. */
static char *words(act *a, const uint8_t *state, int x, int y) {
    lud_text text = {0};
    a->drawing->kind->describe_cell(a->drawing, state, x, y, &text);
    char *agent = text.bytes ? strstr(text.bytes, "agent\t") : NULL;
    if (agent) *agent = 0;
    return text.bytes;
}

static void test_differing_cells(void **state) {
    (void)state;
    act acts[] = {opened(wandering, 4), opened(wandering, 11)};
    int found = 0;
    for (int t = 0; t < 200; t++) {
        bool moved;
        for (int k = 0; k < 2; k++) {
            assert_int_equal(lud_player_step(acts[k].player, NULL, &moved, NULL), LUD_OK);
            if (!moved) lud_player_next_episode(acts[k].player);
        }
        int32_t cells[64][2];
        const uint8_t *a = lud_player_state(acts[0].player), *b = lud_player_state(acts[1].player);
        const int n = acts[0].drawing->kind->differing_cells(acts[0].drawing, a, b, cells, 64);
        int expected = 0;
        for (int y = 0; y < 5; y++)
            for (int x = 0; x < 7; x++) {
                char *p = words(&acts[0], a, x, y), *q = words(&acts[0], b, x, y);
                bool listed = false;
                for (int k = 0; k < n; k++) listed = listed || (cells[k][0] == x && cells[k][1] == y);
                assert_int_equal(listed, strcmp(p, q) != 0);
                expected += listed;
                free(p);
                free(q);
            }
        assert_int_equal(n, expected);
        found += n;
    }
    assert_true(found > 0); /* the key was taken somewhere */
    closed(&acts[0]);
    closed(&acts[1]);
}

static void check_unfit(const char *text, const char *message) {
    lud_error error = {0};
    act a = opened(wandering, 1), b = opened(text, 1);
    assert_int_equal(lud_sides_fit(a.scenario->model, "first", b.scenario->model, "second", &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "second: "));
    if (!strstr(error.text, message)) fail_msg("%s", error.text);
    closed(&a);
    closed(&b);
}

static void test_other_worlds(void **state) {
    (void)state;
    check_unfit("ludus: 1\nworld: particle\nparticle: {task: simple_spread, agents: 2}\n",
                "expected the world of first, multigrid");
    check_unfit("ludus: 1\nworld: multigrid\nmultigrid: {map: \"We We We\\nWe Ay We\\nWe We We\\n\"}\n",
                "expected 2 agents as in first, found 1");
    check_unfit("ludus: 1\nworld: multigrid\nmultigrid: {map: \"We We We We\\nWe Ay Ae We\\nWe We We "
                "We\\n\", actions: full}\n",
                "only the same world goes in step");
    /* the same kind of world that begins elsewhere */
    lud_error error = {0};
    char moved[1024];
    snprintf(moved, sizeof moved, "%s", wandering);
    memcpy(strstr(moved, "We Ae Ky We"), "We Ky Ae We", 11);
    act acts[] = {opened(wandering, 1), opened(moved, 1)};
    const lud_sides sides = sides_of(acts, 2);
    assert_int_equal(lud_sides_begin(&sides, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "second: with the same seed it starts in another state than first"));
    closed(&acts[0]);
    closed(&acts[1]);
}

/* ---- places ---- */

static void test_boxes(void **state) {
    (void)state;
    static const lud_box extents[] = {{0, 0, 7, 5}, {0, 0, 30, 4}, {0, 0, 3, 20}, {-1, -1, 2, 2}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int n = 1; n <= LUD_SIDES; n++) {
            const lud_box area = {3, 5, 801, 599};
            lud_box boxes[LUD_SIDES];
            lud_sides_divide(n, extents[e], area, 40, boxes);
            for (int y = 5; y < 604; y += 7)
                for (int x = 3; x < 804; x += 7) {
                    int inside = 0;
                    for (int k = 0; k < n; k++) inside += lud_box_contains(boxes[k], (float)x, (float)y);
                    assert_in_range(inside, 0, 1);
                }
            for (int k = 0; k < n; k++) {
                assert_true(boxes[k].x >= 3 && boxes[k].x + boxes[k].w <= 804);
                assert_true(boxes[k].y >= 5 && boxes[k].y + boxes[k].h <= 604);
                assert_true(boxes[k].w >= 801.0f / LUD_SIDES - 1 && boxes[k].h >= 599.0f / LUD_SIDES - 1);
            }
            int columns, rows;
            lud_sides_arrange(n, 640, 480, &columns, &rows);
            assert_true(columns * rows >= n && (columns - 1) * rows < n + rows && columns * (rows - 1) < n);
        }
    lud_box two[LUD_SIDES];
    lud_sides_divide(2, (lud_box){0, 0, 5, 5}, (lud_box){0, 0, 800, 500}, 40, two);
    assert_true(two[0].y == two[1].y); /* squares stand side by side, what is wide below each other */
    lud_sides_divide(2, (lud_box){0, 0, 20, 5}, (lud_box){0, 0, 800, 500}, 40, two);
    assert_true(two[0].x == two[1].x);
}

/* ---- pictures ---- */

static void film(lud_film *f, const lud_record_options *options, const act *acts, int n) {
    lud_error error = {0};
    *f = (lud_film){.options = options, .sides = sides_of(acts, n)};
    lud_status status = lud_film_compose(f, false, &error);
    if (!status) status = lud_film_open(f, &error);
    if (!status) status = lud_film_add(f, 1, false, &error);
    if (status) fail_msg("%s", error.text);
}

/* Pixels of the left world that are other than those of the right, below the headings. */
static int differing_pixels(const lud_film *f) {
    int pitch, n = 0;
    const uint32_t *pixels = lud_canvas_pixels(f->canvas, &pitch);
    const int half = f->width / 2;
    for (int y = f->heading; y < f->height - f->caption; y++)
        for (int x = 1; x < half; x++) /* a line divides them */
            n += (pixels[y * pitch / 4 + x] & 0xffffff) != (pixels[y * pitch / 4 + half + x] & 0xffffff);
    return n;
}

/* The picture is two worlds wide with a heading each. The same states are the same picture on both sides;
 * when they differ the robot, its ring and the cell of the key do. */
static void test_pictures(void **state) {
    (void)state;
    lud_record_options options = lud_record_defaults();
    options.path = "two.png";
    options.width = 200;
    options.still = true;
    options.caption.title = "Two sides";
    act acts[] = {opened(wandering, 5), opened(resting, 5)};
    const lud_sides sides = sides_of(acts, 2);
    lud_error error = {0};
    lud_film f;
    int width, height;
    begin(&sides);
    lud_picture_size(acts[0].drawing, 200, &width, &height);
    film(&f, &options, acts, 2);
    assert_int_equal(f.width, 2 * width);
    assert_int_equal(f.height, height + f.heading + f.caption);
    assert_int_equal(differing_pixels(&f), 0);
    for (int t = 0; t < 8; t++) {
        bool moved;
        step(&sides, NULL, &moved);
    }
    assert_false(lud_sides_same(&sides, 1));
    if (lud_film_add(&f, 1, false, &error)) fail_msg("%s", error.text);
    assert_true(differing_pixels(&f) > 200);
    if (lud_film_finish(&f, &error)) fail_msg("%s", error.text);
    /* a given size is divided; where headings would fill it that is an error */
    options.height = 300;
    options.width = 500;
    film(&f, &options, acts, 2);
    assert_int_equal(f.width, 500);
    assert_int_equal(f.height, 300);
    lud_film_abandon(&f);
    options.height = 80;
    f = (lud_film){.options = &options, .sides = sides};
    assert_int_equal(lud_film_compose(&f, false, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no room for 2 worlds with headings"));
    closed(&acts[0]);
    closed(&acts[1]);
}

/* ---- in the window ---- */

typedef struct window {
    lud_viewer *viewer;
    lud_canvas *canvas;
} window;

static void key(window *w, SDL_Keycode code, int modifiers) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code, .mod = (Uint16)modifiers}}};
    lud_viewer_event(w->viewer, &event, 1);
    lud_viewer_update(w->viewer, 0.02);
    lud_viewer_draw(w->viewer, w->canvas);
}

static void click(window *w, int x, int y) {
    for (int up = 0; up < 2; up++) {
        SDL_Event event = {.button = {.type = up ? SDL_MOUSEBUTTONUP : SDL_MOUSEBUTTONDOWN,
                                      .button = SDL_BUTTON_LEFT,
                                      .x = x,
                                      .y = y}};
        lud_viewer_event(w->viewer, &event, 1);
    }
    lud_viewer_draw(w->viewer, w->canvas);
}

static void test_window(void **state) {
    (void)state;
    lud_error error = {0};
    if (lud_file_write("a.yaml", wandering, strlen(wandering), &error) ||
        lud_file_write("b.yaml", resting, strlen(resting), &error))
        fail_msg("%s", error.text);
    const lud_view_side other = {.path = "b.yaml"};
    const lud_view_options options = {.path = "a.yaml", .others = &other, .n_others = 1};
    window w;
    if (lud_viewer_create(&options, &w.viewer, &error) ||
        lud_canvas_create_offscreen(1000, 640, 1, &w.canvas, &error))
        fail_msg("%s", error.text);
    lud_viewer_draw(w.viewer, w.canvas);
    lud_player *first = lud_viewer_player(w.viewer);
    key(&w, SDLK_k, 0); /* the other side */
    lud_player *second = lud_viewer_player(w.viewer);
    assert_ptr_not_equal(first, second);
    for (int t = 0; t < 5; t++) key(&w, SDLK_PERIOD, 0);
    assert_int_equal(lud_player_position(first), 5);
    assert_int_equal(lud_player_position(second), 5);
    key(&w, SDLK_COMMA, 0);
    assert_int_equal(lud_player_position(first), 4);
    assert_int_equal(lud_player_position(second), 4);
    /* who is clicked on is selected, and whose world it is is what panels are about */
    bool chosen[2] = {false, false}, selected[2] = {false, false};
    for (int y = 70; y < 560; y += 36)
        for (int x = 12; x < 650; x += 36) {
            click(&w, x, y);
            const int side = lud_viewer_player(w.viewer) == second;
            chosen[side] = true;
            selected[side] = selected[side] || lud_viewer_selected_agent(w.viewer) >= 0;
        }
    assert_true(chosen[0] && chosen[1] && selected[0] && selected[1]);
    click(&w, 20, 20); /* the heading of the first */
    assert_ptr_equal(lud_viewer_player(w.viewer), first);
    click(&w, 350, 20);
    assert_ptr_equal(lud_viewer_player(w.viewer), second);
    /* who is taken over acts on both sides */
    key(&w, SDLK_ESCAPE, 0);
    key(&w, SDLK_TAB, 0);
    key(&w, SDLK_c, 0);
    key(&w, SDLK_UP, 0);
    assert_int_equal(lud_player_actions(first)[0], lud_player_actions(second)[0]);
    key(&w, SDLK_c, 0);
    /* both go on to the next episode, from the same state */
    key(&w, SDLK_v, 0);
    for (int t = 0; t < 20; t++) key(&w, SDLK_PERIOD, 0);
    key(&w, SDLK_v, 0);
    assert_true(lud_file_exists(lud_viewer_last_file(w.viewer)));
    assert_true(lud_player_over(first) && lud_player_over(second));
    const size_t bytes = lud_viewer_scenario(w.viewer)->model->layout.state_bytes;
    key(&w, SDLK_n, 0);
    assert_int_equal(lud_player_episode(second), 1);
    assert_memory_equal(lud_player_state(first), lud_player_state(second), bytes);
    key(&w, SDLK_r, 0);
    assert_int_equal(lud_player_seed(second), 6);
    assert_memory_equal(lud_player_state(first), lud_player_state(second), bytes);
    /* every key draws, also when nothing but worlds is left */
    for (SDL_Keycode k = SDLK_a; k <= SDLK_z; k++)
        if (k != SDLK_v) key(&w, k, 0);
    lud_viewer_destroy(w.viewer);
    lud_canvas_destroy(w.canvas);
}

/* Whatever is pressed, clicked and turned, in any order and at several sizes: both sides stay in step. */
static void test_random_events(void **state) {
    (void)state;
    lud_error error = {0};
    const lud_view_side other = {.path = "b.yaml"};
    const lud_view_options options = {.path = "a.yaml", .others = &other, .n_others = 1};
    static const int sizes[][2] = {{1000, 640}, {800, 600}, {480, 320}};
    static const SDL_Keycode named[] = {SDLK_HOME, SDLK_END,    SDLK_LEFT,     SDLK_RIGHT,
                                        SDLK_UP,   SDLK_TAB,    SDLK_PLUS,     SDLK_MINUS,
                                        SDLK_F11,  SDLK_ESCAPE, SDLK_PAGEDOWN, SDLK_0};
    enum { NAMED = sizeof named / sizeof *named };
    window w;
    if (lud_viewer_create(&options, &w.viewer, &error)) fail_msg("%s", error.text);
    int compared = 0;
    srand(7);
    for (int size = 0; size < 3; size++) {
        const int width = sizes[size][0], height = sizes[size][1];
        if (lud_canvas_create_offscreen(width, height, 1, &w.canvas, &error)) fail_msg("%s", error.text);
        for (int k = 0; k < 45; k++) {
            const int x = rand() % width, y = rand() % height, letter = SDLK_a + rand() % 26;
            SDL_Event event = {
                .wheel = {.type = SDL_MOUSEWHEEL, .y = rand() % 7 - 3, .mouseX = x, .mouseY = y}};
            const SDL_Event motion = {.motion = {.type = SDL_MOUSEMOTION, .x = x, .y = y}};
            switch (rand() % 4) {
            case 0:
                click(&w, x, y);
                break;
            case 1:
                lud_viewer_event(w.viewer, &event, 1);
                lud_viewer_event(w.viewer, &motion, 1);
                break;
            case 2:
                key(&w, named[rand() % NAMED], rand() % 2 ? KMOD_CTRL : 0);
                break;
            default: /* no files */
                if (letter != SDLK_s && letter != SDLK_v) key(&w, letter, 0);
            }
            lud_viewer_update(w.viewer, 0.1 * (rand() % 5));
            lud_viewer_draw(w.viewer, w.canvas);
            const lud_player *one = lud_viewer_player(w.viewer);
            key(&w, SDLK_k, 0);
            const lud_player *two = lud_viewer_player(w.viewer);
            const size_t a = lud_player_position(one), b = lud_player_position(two);
            assert_true(a == b || lud_player_over(a < b ? one : two));
            compared += one != two; /* a page of keys is closed by the key */
        }
        lud_canvas_destroy(w.canvas);
    }
    assert_true(compared > 90);
    lud_viewer_destroy(w.viewer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_alone),     cmocka_unit_test(test_same_policy),
        cmocka_unit_test(test_in_step),      cmocka_unit_test(test_differing_cells),
        cmocka_unit_test(test_other_worlds), cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_pictures),     cmocka_unit_test(test_window),
        cmocka_unit_test(test_random_events)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
