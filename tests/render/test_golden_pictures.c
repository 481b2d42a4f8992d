/* Pictures of every world's panels, overlays, themes and scales, as a person has looked at them:
 * tests/render/golden. What is drawn now is compared with them; what differs is left in the folder of the
 * tests.
 *
 *     LUDUS_RENEW_GOLDEN=1 ctest -R golden_pictures     (or `make golden-pictures`)
 *
 * writes them anew: look at each before it is committed. */
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
#include "base/progress.h"
#include "learn/runs/run.h"
#include "learn/runs/run_named.h"
#include "render/support_pictures.h"
#include "render/viewer/viewer.h"

/* The same program draws the same bytes; other compilers and versions of SDL2 round edges of letters and
 * lines otherwise, by a step or a few in single pixels. Blurred over 3 x 3 pixels that is below half a step
 * on average, and below two where it is most. A digit that is another, a panel a row higher or a colour of
 * another tone is above. */
static const double most_mean = 0.5, most_worst = 2;

#define SCENARIOS LUDUS_SOURCE_DIR "/scenarios/"
#define GOLDEN    LUDUS_SOURCE_DIR "/tests/render/golden/"

typedef struct shot {
    const char *name;
    const char *path;  /* of a scenario */
    const char *other; /* beside it; or null */
    bool solved;       /* everybody acts on the solution, whose values are shown */
    int steps;
    SDL_Keycode key; /* pressed at last, 0: none */
    const char *view;
    bool followed; /* a training is, at the same moment of it in every picture */
} shot;

static const shot shots[] = {
    {"multigrid-light", SCENARIOS "multigrid/rescue.yaml", NULL, false, 4, 0, "size: [760, 480]\nagent: 1\n",
     false},
    {"multigrid-dark-large", SCENARIOS "multigrid/unsteady_ground.yaml", NULL, false, 3, 0,
     "size: [1280, 960]\nscale: 2\ntheme: dark\nagent: 0\nlabels: true\n", false},
    {"multigrid-successors", SCENARIOS "multigrid/doorway.yaml", NULL, false, 1, 0,
     "size: [820, 520]\nsuccessors: true\ncaption: {show: always}\n", false},
    {"multigrid-cell", SCENARIOS "multigrid/control_button.yaml", NULL, false, 2, 0,
     "size: [800, 600]\ntheme: dark\ncell: [2, 1]\npanels: {width: 0.42}\n", false},
    {"particle-light", SCENARIOS "particle/navigation_3.yaml", NULL, false, 8, 0,
     "size: [720, 460]\nagent: 1\nlabels: true\n", false},
    {"particle-dark", SCENARIOS "particle/simple_tag.yaml", NULL, false, 12, 0,
     "size: [800, 600]\ntheme: dark\nscale: 1.25\ncaption: {show: always, text: Three chase one}\n", false},
    {"tribes-light", SCENARIOS "tribes/market.yaml", NULL, false, 20, 0, "size: [900, 560]\nagent: 2\n",
     false},
    {"tribes-dark", SCENARIOS "tribes/village.yaml", NULL, false, 30, 0,
     "size: [760, 520]\ntheme: dark\npanels: {timeline: false, overlay: false, width: 0.45}\n", false},
    {"proof-light", SCENARIOS "proof/family_tree.yaml", NULL, false, 2, 0, "size: [1000, 600]\n", false},
    {"proof-dark-large", SCENARIOS "proof/family_tree.yaml", NULL, false, 3, 0,
     "size: [1280, 960]\ntheme: dark\nscale: 2\nagent: 0\n", false},
    {"solved-light", SCENARIOS "empo/fetch_the_key.yaml", NULL, true, 5, 0, "size: [820, 600]\nagent: 0\n",
     false},
    {"solved-dark", SCENARIOS "empo/fetch_the_key.yaml", NULL, true, 3, 0,
     "size: [900, 600]\ntheme: dark\npanels: {inspector: false, timeline: false}\ncaption: {show: always}\n"
     "camera: {zoom: 0.8}\n",
     false},
    {"compared", SCENARIOS "empo/fetch_the_key.yaml", SCENARIOS "empo/fetch_the_key.yaml", true, 6, 0,
     "size: [960, 500]\n", false},
    {"keys", SCENARIOS "multigrid/tiny.yaml", NULL, false, 0, SDLK_h, "size: [640, 480]\n", false},
    {"training-light", SCENARIOS "particle/navigation_3.yaml", NULL, false, 6, 0, "size: [1100, 900]\n",
     true},
    {"training-dark", SCENARIOS "multigrid/rescue.yaml", NULL, false, 3, 0,
     "size: [800, 600]\ntheme: dark\nagent: 0\npanels: {training_height: 0.3}\n", true},
};
enum { N_SHOTS = sizeof shots / sizeof *shots };

static char folder[] = "/tmp/ludus-golden-XXXXXX";
static char solution[64], left_in[4096];

static int set_up(void **state) {
    (void)state;
    char command[1024];
    if (!getcwd(left_in, sizeof left_in) || !mkdtemp(folder) || chdir(folder)) return -1;
    snprintf(solution, sizeof solution, "%s/solved", folder);
    snprintf(command, sizeof command,
             LUDUS_BINARY_DIR "/ludus solve " SCENARIOS "empo/fetch_the_key.yaml -o %s -q > /dev/null",
             solution);
    return system(command);
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

/* `context` is the RUN that acts, null: none does. */
static lud_status loaded(void *context, const lud_scenario *scenario, lud_cast *cast,
                         lud_overlay_source **source, lud_error *error) {
    if (context) LUD_TRY(lud_run_act(context, scenario, cast, error));
    LUD_TRY(lud_run_fill(scenario, cast, error));
    return lud_run_overlay(context, scenario, cast, source, error);
}

/* ---- a training ---- */

enum { ITERATIONS = 94, DONE = 51, EVALUATED = 6 };
static const double seconds_so_far = 31;
static double reward[DONE], success[DONE], error_norm[EVALUATED];

static bool look(lud_view_training *training, double seconds) {
    (void)training, (void)seconds; /* nothing new */
    return false;
}

/* As far as it is after iteration 51 of 94, with curves that rise as they do and one that is measured at
 * every tenth iteration. */
static lud_view_training training_at_half(void) {
    lud_view_training t = {.look = look, .running = true, .share = (double)DONE / ITERATIONS, .version = 1};
    char spent[24], left[24];
    for (int k = 0; k < DONE; k++) {
        const double learned = 1 / (1 + exp(-(k - 12) / 4.0));
        reward[k] = -30 + 107 * learned + 1.5 * sin(1.7 * k);
        success[k] = fmin(1, 1.05 * learned * learned);
        if (k % 10 == 0) error_norm[k / 10] = 3 - 2 * learned;
    }
    t.curves[t.n_curves++] = (lud_training_curve){"reward", reward, DONE};
    t.curves[t.n_curves++] = (lud_training_curve){"success", success, DONE};
    t.curves[t.n_curves++] = (lud_training_curve){"error norm", error_norm, EVALUATED};
    snprintf(t.state, sizeof t.state, "iteration %d of %d, %s, %s left", DONE, ITERATIONS,
             lud_format_seconds(seconds_so_far, spent),
             lud_format_seconds(seconds_so_far / DONE * (ITERATIONS - DONE), left));
    return t;
}

static void press(lud_viewer *viewer, SDL_Keycode code) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym = {.sym = code}}};
    lud_viewer_event(viewer, &event, 1);
    for (int k = 0; k < 60; k++) lud_viewer_update(viewer, 0.2); /* messages and glow are gone */
}

static picture draw(const shot *s, const char *more) {
    char view[512], *run = s->solved ? solution : NULL;
    lud_error error = {0};
    snprintf(view, sizeof view, "motion: false\n%s%s", s->view, more);
    if (lud_file_write("view.yaml", view, strlen(view), &error)) fail_msg("%s", error.text);
    const struct lud_scenario_value always = {"test", "view.panels.show", "always", true};
    const lud_scenario_overrides overrides = {
        .view = "view.yaml", .values = &always, .n_values = 1, .run = lud_run_as_written};
    const lud_view_side other = {.path = s->other};
    lud_view_training training = training_at_half();
    const lud_view_options options = {.path = s->path,
                                      .run = run,
                                      .others = &other,
                                      .n_others = s->other ? 1 : 0,
                                      .overrides = &overrides,
                                      .training = s->followed ? &training : NULL,
                                      .loaded = loaded,
                                      .context = run};
    lud_viewer *viewer;
    lud_canvas *canvas;
    if (lud_viewer_create(&options, &viewer, &error)) fail_msg("%s: %s", s->name, error.text);
    const lud_int_list size = lud_viewer_scenario(viewer)->view.size;
    if (lud_canvas_create_offscreen((int)size.items[0], (int)size.items[1], 1, &canvas, &error))
        fail_msg("%s", error.text);
    lud_viewer_draw(viewer, canvas);
    for (int k = 0; k < s->steps; k++) press(viewer, SDLK_PERIOD);
    if (s->key) press(viewer, s->key);
    lud_viewer_draw(viewer, canvas);
    const picture p = picture_of(canvas);
    lud_canvas_destroy(canvas);
    lud_viewer_destroy(viewer);
    return p;
}

static void test_as_looked_at(void **state) {
    (void)state;
    const bool renew = getenv("LUDUS_RENEW_GOLDEN") != NULL;
    int n_other = 0;
    for (int k = 0; k < N_SHOTS; k++) {
        char golden[sizeof GOLDEN + 64], found[sizeof left_in + 64];
        snprintf(golden, sizeof golden, GOLDEN "%s.png", shots[k].name);
        snprintf(found, sizeof found, "%s/%s.png", left_in, shots[k].name);
        picture now = draw(&shots[k], "");
        if (renew) {
            picture_write(now, golden);
            picture_free(&now);
            continue;
        }
        picture then = picture_read(golden);
        if (now.width != then.width || now.height != then.height)
            fail_msg("%s: %d x %d pixels instead of %d x %d", shots[k].name, now.width, now.height,
                     then.width, then.height);
        const picture_distance d = picture_compare(now, then);
        if (d.mean > most_mean || d.worst > most_worst) {
            picture_write(now, found);
            print_message(
                "%s: differs by %.3f on average (at most %g), by %.2f where it is most (at most %g); compare "
                "%s with %s\n",
                shots[k].name, d.mean, most_mean, d.worst, most_worst, found, golden);
            n_other++;
        }
        picture_free(&now);
        picture_free(&then);
    }
    assert_int_equal(n_other, 0);
}

/* What a person would see is seen: another number, a panel that is a little wider, another tone. What only a
 * program sees is not: every channel off by one. */
static void test_what_is_seen(void **state) {
    (void)state;
    static const char *const others[] = {"labels: true\n", "speed: 8\n", "panels: {width: 0.34}\n"};
    const shot *s = &shots[0];
    picture then = draw(s, "");
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        picture now = draw(s, others[k]);
        const picture_distance d = picture_compare(now, then);
        if (d.mean <= most_mean && d.worst <= most_worst)
            fail_msg("%s is not seen: %g on average, %g where it is most", others[k], d.mean, d.worst);
        picture_free(&now);
    }
    picture noisy = draw(s, "");
    uint32_t draws = 1;
    for (int k = 0; k < noisy.width * noisy.height; k++)
        for (int shift = 0; shift <= 16; shift += 8) {
            draws = draws * 1664525u + 1013904223u;
            const uint32_t channel = noisy.pixels[k] >> shift & 0xff;
            if (draws >> 31 && channel < 255)
                noisy.pixels[k] += 1u << shift;
            else if (channel > 0)
                noisy.pixels[k] -= 1u << shift;
        }
    const picture_distance d = picture_compare(noisy, then);
    if (d.mean > most_mean || d.worst > most_worst)
        fail_msg("noise of a step is seen: %g on average, %g where it is most", d.mean, d.worst);
    picture_free(&noisy);
    picture_free(&then);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_looked_at),
                                       cmocka_unit_test(test_what_is_seen)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
