/* How fast worlds are drawn: frames a second in memory, with and without the encoder, and the time to the
 * first picture. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "learn/runs/run.h"
#include "render/record.h"
#include "render/video/video.h"
#include "render/viewer/viewer.h"
#include "sim/multigrid/grid_model.h"
#include "tests/bench/bench.h"

enum { SIDE = 11, PIXELS = 640, FRAMES = 64, LARGE = 25, WIDTH = 1280, HEIGHT = 800, TIMED = 500 };

typedef struct stage {
    lud_model *model;
    lud_cast *cast;
    lud_drawing *drawing;
    lud_canvas *canvas;
    lud_player *player;
    lud_video *video;
    int frame;
} stage;

/* A walled room with one of everything that is drawn every frame, and four agents at random. */
static lud_status make_model(lud_model **model, lud_error *error) {
    lud_grid_object cells[SIDE * SIDE];
    lud_grid_piece pieces[8];
    lud_grid_agent agents[4];
    for (int c = 0; c < SIDE * SIDE; c++) {
        int x = c % SIDE, y = c / SIDE;
        bool edge = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1;
        cells[c] = lud_grid_object_default(edge ? LUD_WALL : LUD_EMPTY);
    }
    const lud_grid_type fixed[] = {LUD_DOOR,         LUD_BUSH,           LUD_MAGIC_WALL, LUD_KILL_BUTTON,
                                   LUD_PAUSE_SWITCH, LUD_CONTROL_BUTTON, LUD_LAVA,       LUD_UNSTEADY_GROUND,
                                   LUD_GOAL};
    for (int k = 0; k < 9; k++)
        cells[3 * SIDE + 1 + k] = cells[7 * SIDE + 1 + k] = lud_grid_object_default(fixed[k]);
    const lud_grid_type loose[] = {LUD_KEY,  LUD_BALL,  LUD_BOX, LUD_BLOCK,
                                   LUD_ROCK, LUD_BLOCK, LUD_KEY, LUD_BALL};
    for (int k = 0; k < 8; k++) pieces[k] = (lud_grid_piece){lud_grid_object_default(loose[k]), 1 + k, 5};
    for (int k = 0; k < 4; k++)
        agents[k] = (lud_grid_agent){.x = 2 * k + 1,
                                     .y = 1,
                                     .colour = k & 1 ? LUD_YELLOW : LUD_GREY,
                                     .role = k & 1 ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT,
                                     .can_push_rocks = true};
    lud_grid_map map = {.cells = cells, .pieces = pieces, .n_pieces = 8, .agents = agents};
    lud_grid_spec spec = {.width = SIDE,
                          .height = SIDE,
                          .n_agents = 4,
                          .max_steps = 60000,
                          .actions = LUD_ACTIONS_OBJECT,
                          .maps = &map,
                          .n_maps = 1,
                          .observation.size = 7};
    return lud_grid_model_create(&spec, model, error);
}

static void draw_frames(void *context) {
    stage *s = context;
    lud_error error = {0};
    const lud_theme *theme = lud_theme_get(LUD_THEME_LIGHT);
    for (int k = 0; k < FRAMES; k++, s->frame++) {
        bool moved;
        if (s->frame % 8 == 0) {
            lud_player_step(s->player, NULL, &moved, &error);
            if (!moved) lud_player_next_episode(s->player);
        }
        lud_moment moment = {.state = lud_player_state(s->player),
                             .before = lud_player_before(s->player),
                             .actions = lud_player_actions(s->player),
                             .progress = lud_eased((float)(s->frame % 8 + 1) / 8),
                             .glow = 0.5f,
                             .seconds = (float)s->frame / 30,
                             .selected_agent = -1};
        lud_draw_frame(s->drawing, s->canvas, theme, &moment);
        int pitch;
        const uint32_t *pixels = lud_canvas_pixels(s->canvas, &pitch);
        if (s->video) lud_video_add(s->video, pixels, pitch, &error);
    }
}

/* From nothing to a picture: model, cast, sprites, font, first frame. */
static lud_status first_frame(double *seconds, lud_error *error) {
    double began = lud_clock_seconds();
    stage s = {0};
    lud_status status = make_model(&s.model, error);
    if (!status) status = lud_cast_create(s.model, NULL, "bench", &s.cast, error);
    if (!status) status = lud_drawing_create(s.model, &s.drawing, error);
    if (!status) status = lud_canvas_create_offscreen(PIXELS, PIXELS, 1, &s.canvas, error);
    if (!status) status = lud_player_create(s.model, s.cast, 1, false, &s.player, error);
    if (!status) {
        lud_moment moment = {.state = lud_player_state(s.player), .selected_agent = -1};
        lud_draw_frame(s.drawing, s.canvas, lud_theme_get(LUD_THEME_LIGHT), &moment);
    }
    *seconds = lud_clock_seconds() - began;
    lud_player_destroy(s.player);
    lud_canvas_destroy(s.canvas);
    lud_drawing_destroy(s.drawing);
    lud_cast_destroy(s.cast);
    if (s.model) s.model->world->free(s.model);
    return status;
}

/* ---- the window ---- */

typedef struct window {
    lud_viewer *viewer;
    lud_canvas *canvas;
} window;

/* A map of 25 x 25 with rooms, doors, things and four agents at random, whose policies publish nothing: with
 * inspector, successors, time line and caption. */
static void append_scenario(lud_text *out) {
    static const char *const things[] = {"Ky", "By", "Bl", "La", "Ro"};
    static const char *const agents[] = {"Ae", "Ay", "Ae", "Ay"};
    lud_text_append(out, "ludus: 1\nname: large\nabout: Rooms with things in them.\nworld: multigrid\n"
                         "multigrid:\n  map: |\n");
    for (int y = 0, n = 0, agent = 0; y < LARGE; y++) {
        lud_text_append(out, "   ");
        for (int x = 0; x < LARGE; x++) {
            const bool edge = x == 0 || y == 0 || x == LARGE - 1 || y == LARGE - 1,
                       wall = x % 6 == 0 || y % 6 == 0,
                       door = (x % 6 == 0) != (y % 6 == 0) && (x + y) % 6 == 3;
            const char *cell = edge || (wall && !door)             ? "We"
                               : door                              ? "Ly"
                               : x % 6 == 2 && y % 6 == 2          ? things[n++ % 5]
                               : x == y && x % 6 == 4 && agent < 4 ? agents[agent++]
                                                                   : "..";
            lud_text_append(out, " %s", cell);
        }
        lud_text_append(out, "\n");
    }
    lud_text_append(out,
                    "  max_steps: 200\n  actions: object\n"
                    "policies: {0: {type: random}, 1: {type: random}, 2: {type: random}, 3: {type: random}}\n"
                    "view: {agent: 0, successors: true, labels: true, panels: {show: always}, "
                    "caption: {show: always}}\n");
}

static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    (void)context;
    return lud_run_overlay(NULL, scenario, cast, source, error);
}

/* As the window's loop does while it plays, at 60 frames a second. */
static void draw_one(window *w) {
    lud_viewer_update(w->viewer, 1.0 / 60);
    lud_viewer_draw(w->viewer, w->canvas);
}

static void draw_window(void *context) {
    for (int k = 0; k < FRAMES; k++) draw_one(context);
}

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What 99 of 100 frames take at most: of those that show a new step with other numbers and texts, too, and of
 * those that only show motion. */
static lud_status add_slowest(lud_bench_report *report, window *w, lud_error *error) {
    double took[TIMED];
    for (int k = 0; k < TIMED; k++) {
        const double began = processor_seconds();
        draw_one(w);
        took[k] = (processor_seconds() - began) * 1000;
    }
    qsort(took, TIMED, sizeof *took, compare);
    return lud_bench_add(
        report, (lud_bench_row){"99 of 100 of its frames, at most", took[TIMED * 99 / 100], 0, "ms", 4},
        error);
}

static void copy_picture(void *context) {
    uint32_t *pixels = context;
    memcpy(pixels, pixels + WIDTH * HEIGHT, WIDTH * HEIGHT * sizeof *pixels);
}

/* Below which no picture comes to where it is shown. */
static lud_status add_copy(lud_bench_report *report, lud_error *error) {
    uint32_t *pixels = calloc(2 * WIDTH * HEIGHT, sizeof *pixels);
    if (!pixels) return lud_no_memory(error, "a picture");
    double spread, rate = lud_bench_rate(copy_picture, pixels, 1, &spread);
    free(pixels);
    return lud_bench_add(report, (lud_bench_row){"a copy of 1280 x 800 pixels", rate, spread, "frames/s", 0},
                         error);
}

/* 250 frames a second are 4 ms each. */
static lud_status add_window(lud_bench_report *report, const char *name, int n_environments,
                             lud_error *error) {
    window w = {0};
    lud_text text = {0};
    append_scenario(&text);
    const lud_view_options options = {.path = "large.yaml",
                                      .text = text.bytes,
                                      .n_environments = n_environments,
                                      .playing = true,
                                      .loaded = loaded};
    lud_status status = text.failed ? lud_no_memory(error, "a scenario") : LUD_OK;
    if (!status) status = lud_viewer_create(&options, &w.viewer, error);
    if (!status) status = lud_canvas_create_offscreen(WIDTH, HEIGHT, 1, &w.canvas, error);
    double spread, rate = status ? 0 : lud_bench_rate(draw_window, &w, FRAMES, &spread);
    if (!status) status = lud_bench_add(report, (lud_bench_row){name, rate, spread, "frames/s", 250}, error);
    if (!status) status = add_slowest(report, &w, error);
    lud_viewer_destroy(w.viewer);
    lud_canvas_destroy(w.canvas);
    lud_text_free(&text);
    return status;
}

static lud_status add_rate(lud_bench_report *report, stage *s, const char *name, double floor,
                           lud_error *error) {
    double spread, rate = lud_bench_rate(draw_frames, s, FRAMES, &spread);
    return lud_bench_add(report, (lud_bench_row){name, rate, spread, "frames/s", floor}, error);
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    stage s = {0};
    double seconds;
    lud_status status = first_frame(&seconds, error);
    if (!status)
        status = lud_bench_add(
            report, (lud_bench_row){"first frame, from nothing", seconds * 1000, 0, "ms", 0}, error);
    if (!status) status = make_model(&s.model, error);
    if (!status) status = lud_cast_create(s.model, NULL, "bench", &s.cast, error);
    if (!status) status = lud_drawing_create(s.model, &s.drawing, error);
    if (!status) status = lud_canvas_create_offscreen(PIXELS, PIXELS, 1, &s.canvas, error);
    if (!status) status = lud_player_create(s.model, s.cast, 1, false, &s.player, error);
    if (!status) status = add_rate(report, &s, "draw 640 x 640 in memory", 300, error);
    if (!status) status = add_window(report, "window 1280 x 800, 25 x 25 cells, with panels", 1, error);
    if (!status) status = add_window(report, "the same, a grid of 16 environments", 16, error);
    if (!status) status = add_copy(report, error);
    const char *path = "/tmp/ludus-bench.mp4";
    if (!status) status = lud_video_open(path, (lud_video_options){PIXELS, PIXELS, 30}, &s.video, error);
    if (!status) status = add_rate(report, &s, "draw and encode, H.264", 0, error);
    lud_video_abandon(s.video);
    lud_player_destroy(s.player);
    lud_canvas_destroy(s.canvas);
    lud_drawing_destroy(s.drawing);
    lud_cast_destroy(s.cast);
    if (s.model) s.model->world->free(s.model);
    return status;
}

const lud_bench lud_bench_render = {.name = "render",
                                    .about =
                                        "drawing and encoding frames in memory, time to the first picture",
                                    .run = run};
