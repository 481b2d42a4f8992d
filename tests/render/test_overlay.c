/* Overlays from a made-up source, in the viewer and in recordings. With the environment variable
 * LUDUS_PICTURES set, pictures are written into that folder. */
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
#include "render/canvas/picture.h"
#include "render/overlay_parts.h"
#include "render/record.h"
#include "render/viewer/viewer.h"

static char folder[] = "/tmp/ludus-overlay-XXXXXX";
static const char scenario_text[] =
    "ludus: 1\nname: two-cells\nworld: multigrid\nmultigrid:\n  map: |\n"
    "    We We We We We We\n    We Ay .. .. .. We\n    We .. .. .. .. We\n    We Ae .. .. Ay We\n"
    "    We We We We We We\n  max_steps: 6\n  actions: small\n"
    "goals:\n  - {cell: [3, 1]}\n  - {rectangle: [1, 2, 4, 2]}\n"
    "run: {seed: 5}\n";

/* Values that are easy to foresee: goal g is worth (g + 1) / 2 for agent 0 and (2 - g) / 4 for the other. */
typedef struct made_up {
    lud_overlay_source base;
    int *n_destroyed;
    int asked; /* quantities */
} made_up;

static const lud_overlay_quantity quantities[] = {{.name = "a", .group = "a", .unit = true, .most = 1},
                                                  {.name = "b", .group = "b"}};
static const char *const choice_names[] = {"still", "left", "right", "forward"};

static bool quantity_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    ((made_up *)source)->asked++;
    values[0] = 0.5;
    values[1] = -1.0 - state[0]; /* the step */
    return true;
}
static bool choice_probabilities(lud_overlay_source *source, const uint8_t *state, double *values) {
    (void)source;
    (void)state;
    for (int k = 0; k < 4; k++) values[k] = 0.25;
    return true;
}
static bool goal_values(lud_overlay_source *source, const uint8_t *state, int agent, double *values) {
    (void)source;
    (void)state;
    if (agent == 1) return false; /* the robot */
    for (int g = 0; g < 2; g++) values[g] = agent == 0 ? (g + 1) / 2.0 : (2 - g) / 4.0;
    return true;
}
static bool action_probabilities(lud_overlay_source *source, const uint8_t *state, const uint8_t *hidden,
                                 int agent, int goal, double *p) {
    (void)source;
    (void)hidden;
    (void)state;
    (void)agent;
    (void)goal;
    p[0] = p[1] = p[2] = 0;
    p[3] = 1;
    return true;
}
static void destroy(lud_overlay_source *source) {
    ++*((made_up *)source)->n_destroyed;
    free(source);
}

static lud_overlay_source *make_source(int *n_destroyed) {
    made_up *m = calloc(1, sizeof *m);
    m->n_destroyed = n_destroyed;
    m->base = (lud_overlay_source){.goal_value_name = "worth",
                                   .goal_value_most = 1,
                                   .n_quantities = 2,
                                   .quantities = quantities,
                                   .choice_name = "p",
                                   .choice_group = "p",
                                   .n_choices = 4,
                                   .choice_names = choice_names,
                                   .quantity_values = quantity_values,
                                   .choice_probabilities = choice_probabilities,
                                   .goal_values = goal_values,
                                   .action_probabilities = action_probabilities,
                                   .destroy = destroy};
    return &m->base;
}

typedef struct stage {
    lud_view_options options;
    lud_viewer *viewer;
    lud_canvas *canvas;
    int n_loaded, n_destroyed;
    bool refuse;
    const char *policy_name;
} stage;

static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    stage *s = context;
    (void)scenario;
    (void)cast;
    s->n_loaded++;
    if (s->refuse) return lud_invalid(error, "not this world");
    *source = make_source(&s->n_destroyed);
    (*source)->policy_name = s->policy_name;
    return LUD_OK;
}

static void write_scenario(const char *text) {
    lud_error error = {0};
    if (lud_file_write("world.yaml", text, strlen(text), &error)) fail_msg("%s", error.text);
}

static const struct lud_scenario_value no_motion = {"--still", "view.motion", "false", false};
static const lud_scenario_overrides still = {
    .values = &no_motion, .n_values = 1, .run = {-1, -1, -1, -1, -1, -1}};

static int set_up(void **state) {
    if (!mkdtemp(folder) || chdir(folder)) return -1;
    write_scenario(scenario_text);
    stage *s = calloc(1, sizeof *s);
    s->options =
        (lud_view_options){.path = "world.yaml", .overrides = &still, .loaded = loaded, .context = s};
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    if (lud_canvas_create_offscreen(1200, 800, 1, &s->canvas, &error)) fail_msg("%s", error.text);
    lud_viewer_draw(s->viewer, s->canvas);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    stage *s = *state;
    lud_viewer_destroy(s->viewer);
    assert_int_equal(s->n_destroyed, s->n_loaded - s->refuse);
    lud_canvas_destroy(s->canvas);
    free(s);
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    int code = system(command);
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return code;
}

static void key(stage *s, SDL_Keycode code) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code}}};
    lud_viewer_event(s->viewer, &event, 1);
    for (int k = 0; k < 20; k++) lud_viewer_update(s->viewer, 0.1); /* messages go away */
    lud_viewer_draw(s->viewer, s->canvas);
}

/* Pixels whose blue passes their red by at least `least`, in a box of the picture: how blue the map is. */
static int count_blue(const stage *s, int x0, int y0, int x1, int y1, int least) {
    int pitch, n = 0;
    const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            uint32_t p = pixels[(size_t)y * (size_t)pitch / 4 + (size_t)x];
            n += (int)(p & 255) - (int)(p >> 16 & 255) >= least;
        }
    return n;
}

static uint32_t *copy_picture(const stage *s) {
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
    uint32_t *copy = malloc(800 * (size_t)pitch);
    memcpy(copy, pixels, 800 * (size_t)pitch);
    return copy;
}

static size_t differing(const stage *s, const uint32_t *before, int x0, int x1) {
    int pitch;
    size_t n = 0;
    const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
    for (int y = 0; y < 740; y++)
        for (int x = x0; x < x1; x++) {
            size_t at = (size_t)y * (size_t)pitch / 4 + (size_t)x;
            n += (pixels[at] ^ before[at]) << 8 != 0;
        }
    return n;
}

static void test_parts_switch(void **state) {
    stage *s = *state;
    lud_overlay *overlay = lud_viewer_overlay(s->viewer);
    assert_non_null(overlay);
    assert_int_equal(lud_overlay_shown(overlay), LUD_OVERLAY_ALL);
    key(s, SDLK_m); /* leaves the first frame, where only the world is */
    key(s, SDLK_m);
    key(s, SDLK_o);
    const struct {
        SDL_Keycode code;
        int part;
        bool over_world;
    } keys[] = {{SDLK_w, LUD_OVERLAY_VALUES, true},
                {SDLK_a, LUD_OVERLAY_ARROWS, true},
                {SDLK_u, LUD_OVERLAY_BARS, false},
                {SDLK_d, LUD_OVERLAY_TRACE, false}};
    for (int k = 0; k < 4; k++) {
        uint32_t *before = copy_picture(s);
        key(s, keys[k].code);
        assert_int_equal(lud_overlay_shown(overlay), LUD_OVERLAY_ALL & ~keys[k].part);
        size_t world = differing(s, before, 0, 800), column = differing(s, before, 810, 1200);
        if (keys[k].over_world)
            assert_true(world > 500);
        else
            assert_int_equal(world, 0);
        if (keys[k].part != LUD_OVERLAY_ARROWS) assert_true(column > 500);
        key(s, keys[k].code);
        assert_int_equal(lud_overlay_shown(overlay), LUD_OVERLAY_ALL);
        assert_int_equal(differing(s, before, 0, 1200), 0); /* as it was */
        free(before);
    }
}

static void test_map_has_the_values(void **state) {
    stage *s = *state;
    lud_overlay_show(lud_viewer_overlay(s->viewer), LUD_OVERLAY_VALUES);
    key(s, SDLK_o);
    key(s, SDLK_m);
    key(s, SDLK_m);
    /* the world is 6 x 5 cells in the left 800 x 742 pixels: 127 pixels a cell, from (19, 53) */
    int row_worth = count_blue(s, 30 + 127, 60 + 2 * 127, 10 + 5 * 127, 40 + 3 * 127, 120);
    int cell_worth = count_blue(s, 30 + 3 * 127, 60 + 127, 10 + 4 * 127, 40 + 2 * 127, 120);
    assert_true(row_worth > 30000);           /* goal 1 is worth 1 */
    assert_true(cell_worth < row_worth / 10); /* goal 0 is worth half */
    assert_true(count_blue(s, 30 + 3 * 127, 60 + 127, 10 + 4 * 127, 40 + 2 * 127, 60) > 8000);
    assert_true(count_blue(s, 30 + 127, 60 + 3 * 127, 10 + 5 * 127, 40 + 4 * 127, 60) < 2000); /* no goal */
    key(s, SDLK_TAB);
    key(s, SDLK_TAB); /* the robot has no goals: the map stays */
    assert_int_equal(lud_viewer_selected_agent(s->viewer), 1);
    assert_true(count_blue(s, 30 + 127, 60 + 2 * 127, 10 + 5 * 127, 40 + 3 * 127, 120) > 30000);
    key(s, SDLK_TAB); /* for person 2 the row is worth a quarter */
    assert_int_equal(count_blue(s, 30 + 127, 60 + 2 * 127, 10 + 5 * 127, 40 + 3 * 127, 120), 0);
}

static void keep_picture(const lud_canvas *canvas, const char *name) {
    const char *into = getenv("LUDUS_PICTURES");
    if (!into) return;
    char path[500];
    lud_error error = {0};
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels((lud_canvas *)canvas, &pitch);
    snprintf(path, sizeof path, "%s/%s.png", into, name);
    if (lud_picture_write(path, pixels, lud_canvas_width(canvas), lud_canvas_height(canvas), pitch, &error))
        fail_msg("%s", error.text);
}

/* Pixels of exactly one colour, in a box. */
static int count_colour(const lud_canvas *canvas, lud_rgba colour, int x0, int y0, int x1, int y1) {
    int pitch, n = 0;
    const uint32_t *pixels = lud_canvas_pixels((lud_canvas *)canvas, &pitch),
                   wanted = (uint32_t)colour.r << 16 | (uint32_t)colour.g << 8 | colour.b;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            n += (pixels[(size_t)y * (size_t)pitch / 4 + (size_t)x] & 0xffffff) == wanted;
    return n;
}

/* Bars of the selected agent's policy, in the colour of its arrows; of the first agent when none is selected.
 * Everybody's fourth action has all the probability. */
static void test_policy_bars(void **state) {
    stage *s = *state;
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    s->policy_name = "policy";
    lud_viewer_destroy(s->viewer);
    lud_error error = {0};
    if (lud_viewer_create(&s->options, &s->viewer, &error)) fail_msg("%s", error.text);
    lud_overlay_show(lud_viewer_overlay(s->viewer), LUD_OVERLAY_BARS);
    key(s, SDLK_o);
    key(s, SDLK_o);
    keep_picture(s->canvas, "policy-bars");
    int person = count_colour(s->canvas, theme->caution, 810, 300, 1200, 740);
    assert_true(person > 500); /* a full bar */
    key(s, SDLK_TAB);
    assert_int_equal(count_colour(s->canvas, theme->caution, 810, 300, 1200, 740), person);
    int robot = count_colour(s->canvas, theme->accent, 810, 300, 1200, 740);
    key(s, SDLK_TAB); /* the robot's bar is as long */
    keep_picture(s->canvas, "policy-bars-robot");
    assert_int_equal(count_colour(s->canvas, theme->caution, 810, 300, 1200, 740), 0);
    assert_true(abs(count_colour(s->canvas, theme->accent, 810, 300, 1200, 740) - robot - person) < 400);
    key(s, SDLK_u);
    assert_int_equal(count_colour(s->canvas, theme->caution, 810, 300, 1200, 740), 0);
}

/* The proof world draws bars beside its successors. */
typedef struct made_up_prover {
    lud_overlay_source base;
    const lud_model *model;
    double first; /* probability of the first choice, the others share the rest */
} made_up_prover;

static bool successor_probabilities(lud_overlay_source *source, const uint8_t *state, const uint8_t *hidden,
                                    int agent, int goal, double *p) {
    (void)hidden;
    const made_up_prover *m = (const made_up_prover *)source;
    (void)goal;
    if (m->model->world->is_terminal(m->model, state)) return false;
    lud_text text = {0};
    int n = 0;
    while (m->model->world->describe_action(m->model, state, agent, n, &text)) n++;
    lud_text_free(&text);
    for (int k = 0; k < m->model->layout.actions[0].n_discrete; k++)
        p[k] = k >= n ? 0 : k == 0 ? m->first : (1 - m->first) / (n - 1);
    return true;
}
static bool prover_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    (void)source;
    (void)state;
    values[0] = 0.75;
    return true;
}
static void destroy_prover(lud_overlay_source *source) {
    free(source);
}

/* A source whose quantity is the number of states that it has seen since it was restarted. */
typedef struct counting {
    lud_overlay_source base;
    double seen;
} counting;
static bool count_states(lud_overlay_source *source, const uint8_t *state, double *values) {
    (void)state;
    values[0] = ++((counting *)source)->seen;
    return true;
}
static void restart_counting(lud_overlay_source *source) {
    ((counting *)source)->seen = 0;
}

/* Quantities that follow from the episode are asked for in its order, whatever is looked at first. */
static void test_quantities_of_an_episode(void **unused) {
    (void)unused;
    static const lud_overlay_quantity value = {.name = "value", .group = "value"};
    lud_error error = {0};
    lud_scenario *scenario;
    if (lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/multigrid/tiny.yaml", NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    lud_drawing *drawing;
    if (lud_drawing_create(scenario->model, &drawing, &error)) fail_msg("%s", error.text);
    counting *made = calloc(1, sizeof *made);
    made->base = (lud_overlay_source){.n_quantities = 1,
                                      .quantities = &value,
                                      .quantity_values = count_states,
                                      .restart = restart_counting,
                                      .destroy = destroy_prover};
    lud_overlay *overlay;
    assert_int_equal(lud_overlay_create(&made->base, drawing, &overlay, &error), LUD_OK);
    uint8_t *states = calloc(200, scenario->model->layout.state_bytes);
    for (size_t k = 0; k < 200; k++) states[k * scenario->model->layout.state_bytes] = (uint8_t)k;
#define AT(k) lud_overlay_row(overlay, states + (size_t)(k)*scenario->model->layout.state_bytes, k)
    assert_null(AT(3)); /* nobody asked about those before */
    for (size_t k = 0; k < 100; k++) assert_true(AT(k)[0] == (double)(k + 1));
    assert_true(AT(40)[0] == 41); /* kept */
    assert_true(made->seen == 100);
    states[50 * scenario->model->layout.state_bytes] = 200; /* another way from here on */
    assert_true(AT(50)[0] == 51);
    assert_true(made->seen == 51);
    assert_null(AT(60)); /* what was known of it is of the other way */
    for (size_t k = 51; k < 150; k++) assert_true(AT(k)[0] == (double)(k + 1));
    states[0] = 201;
    assert_true(AT(0)[0] == 1);
    assert_null(AT(2));
#undef AT
    free(states);
    lud_overlay_destroy(overlay);
    lud_drawing_destroy(drawing);
    lud_scenario_destroy(scenario);
}

static lud_overlay_source *make_prover(const lud_model *model, double first) {
    static const lud_overlay_quantity value = {.name = "value", .group = "value", .unit = true, .most = 1};
    made_up_prover *m = calloc(1, sizeof *m);
    m->base = (lud_overlay_source){.n_quantities = 1,
                                   .quantities = &value,
                                   .policy_name = "policy",
                                   .quantity_values = prover_values,
                                   .action_probabilities = successor_probabilities,
                                   .destroy = destroy_prover};
    m->model = model;
    m->first = first;
    return &m->base;
}

static void test_proof_choices(void **unused) {
    (void)unused;
    lud_error error = {0};
    lud_scenario *scenario;
    if (lud_scenario_load(LUDUS_SOURCE_DIR "/scenarios/proof/family_tree.yaml", NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    const lud_model *model = scenario->model;
    uint8_t *state = calloc(1, model->layout.state_bytes);
    const uint32_t tick = 0;
    model->world->reset(model, (lud_range){.seed = 1, .n = 1, .tick = &tick}, state);
    lud_text text = {0};
    assert_true(model->world->describe_action(model, state, 0, 0, &text));
    assert_non_null(strchr(text.bytes, '('));
    size_t length = text.length;
    assert_false(model->world->describe_action(model, state, 0, -1, &text));
    assert_int_equal(text.length, length);
    assert_false(model->world->describe_action(model, state, 0, 1 << 20, &text)); /* stands for another */
    assert_true(text.length > length);
    lud_text_free(&text);
    const double first[] = {0.3, 0.6, 0.9};
    int drawn[4];
    for (int k = 0; k < 4; k++) { /* the last without an overlay */
        lud_drawing *drawing = NULL;
        lud_canvas *canvas = NULL;
        lud_overlay *overlay = NULL;
        if (lud_drawing_create(model, &drawing, &error) ||
            (k < 3 && lud_overlay_create(make_prover(model, first[k]), drawing, &overlay, &error)) ||
            lud_canvas_create_offscreen(1040, 680, 1, &canvas, &error))
            fail_msg("%s", error.text);
        if (k == 1) assert_true(lud_overlay_panel_height(overlay, canvas) < 150); /* the value alone */
        const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
        lud_draw_frame(
            drawing, canvas, theme,
            &(lud_moment){.state = state, .progress = 1, .selected_agent = -1, .overlay = overlay});
        char name[32];
        snprintf(name, sizeof name, "proof-choices-%d", k);
        keep_picture(canvas, name);
        /* the first of the rows, the likeliest */
        drawn[k] = count_colour(canvas, lud_mixed(theme->floor, theme->accent, 0.4f), 520, 180, 1040, 218);
        lud_canvas_destroy(canvas);
        lud_overlay_destroy(overlay);
        lud_drawing_destroy(drawing);
    }
    assert_int_equal(drawn[3], 0);
    assert_true(drawn[0] > 1500 && drawn[1] > drawn[0] + 2000 && drawn[2] > drawn[1] + 2000);
    free(state);
    lud_scenario_destroy(scenario);
}

static void test_reload(void **state) {
    stage *s = *state;
    key(s, SDLK_w);
    char text[sizeof scenario_text];
    strcpy(text, scenario_text);
    memcpy(strstr(text, "max_steps: 6"), "max_steps: 9", 12);
    write_scenario(text);
    lud_viewer_update(s->viewer, 0.5);
    assert_int_equal(s->n_loaded, 2);
    assert_int_equal(s->n_destroyed, 1);
    assert_int_equal(lud_overlay_shown(lud_viewer_overlay(s->viewer)), LUD_OVERLAY_ALL & ~LUD_OVERLAY_VALUES);
    s->refuse = true;
    memcpy(strstr(text, "max_steps: 9"), "max_steps: 7", 12);
    write_scenario(text);
    lud_viewer_update(s->viewer, 0.5);
    assert_string_equal(lud_viewer_message(s->viewer), "not this world");
    assert_int_equal(lud_viewer_scenario(s->viewer)->model->layout.max_steps, 9); /* the old one stays */
    lud_viewer_draw(s->viewer, s->canvas);
}

/* Every size is drawn; small ones leave parts out. */
static void test_sizes(void **state) {
    stage *s = *state;
    key(s, SDLK_PERIOD);
    for (int width = 300; width <= 2100; width += 450) {
        lud_error error = {0};
        lud_canvas *canvas;
        if (lud_canvas_create_offscreen(width, width * 9 / 16, 1, &canvas, &error))
            fail_msg("%s", error.text);
        for (int k = 0; k < 5; k++) {
            lud_viewer_draw(s->viewer, canvas);
            SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = SDLK_TAB}}};
            lud_viewer_event(s->viewer, &event, 1);
        }
        lud_canvas_destroy(canvas);
    }
}

static void test_record(void **state) {
    stage *s = *state;
    const lud_scenario *scenario = lud_viewer_scenario(s->viewer);
    lud_error error = {0};
    for (int with = 0; with < 3; with++) {
        lud_cast *cast;
        if (lud_cast_create(scenario->model, NULL, "test", &cast, &error)) fail_msg("%s", error.text);
        int n_destroyed = 0;
        lud_record_options options = lud_record_defaults();
        options.path = with == 2 ? "nowhere.xyz" : with ? "with.png" : "without.png";
        options.frames_per_step = 1;
        options.source = with ? make_source(&n_destroyed) : NULL;
        options.overlay = LUD_OVERLAY_ALL;
        lud_record_result result;
        lud_status status = lud_record(scenario->model, cast, &options, &result, &error);
        assert_int_equal(status, with == 2 ? LUD_ERROR_INPUT : LUD_OK);
        assert_int_equal(n_destroyed, with > 0);
        if (!status) {
            assert_int_equal(result.frames, 7);
            assert_int_equal(result.width, with ? 920 : 640);
        }
        lud_cast_destroy(cast);
    }
    assert_true(lud_file_exists("with-00007.png"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_switch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_map_has_the_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_policy_bars, set_up, tear_down),
        cmocka_unit_test(test_proof_choices),
        cmocka_unit_test(test_quantities_of_an_episode),
        cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_record, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
