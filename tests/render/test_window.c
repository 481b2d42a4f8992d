/* Machines without a display, or with one that cannot be drawn on. SDL's calls that fail there are replaced
 * in this program. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <SDL.h>

#include "base/file.h"
#include "render/window.h"

static char path[] = "/tmp/ludus-window-XXXXXX.yaml";
static const char scenario[] =
    "ludus: 1\nworld: multigrid\nmultigrid: {map: \"We We We\\nWe Ay We\\nWe We We\\n\"}\n";

/* The call that fails; null: none does. */
static const char *failing;

static bool fails(const char *call) {
    if (!failing || strcmp(failing, call) != 0) return false;
    SDL_SetError("%s refused", call);
    return true;
}

/* The real function of SDL. */
#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

SDL_Window *SDL_CreateWindow(const char *title, int x, int y, int w, int h, Uint32 flags) {
    REAL(SDL_CreateWindow);
    return fails("SDL_CreateWindow") ? NULL : real(title, x, y, w, h, flags);
}
SDL_Renderer *SDL_CreateRenderer(SDL_Window *window, int index, Uint32 flags) {
    REAL(SDL_CreateRenderer);
    return fails("SDL_CreateRenderer") ? NULL : real(window, index, flags);
}
SDL_Texture *SDL_CreateTexture(SDL_Renderer *renderer, Uint32 format, int access, int w, int h) {
    REAL(SDL_CreateTexture);
    return fails("SDL_CreateTexture") ? NULL : real(renderer, format, access, w, h);
}
const char *SDL_GetCurrentVideoDriver(void) {
    REAL(SDL_GetCurrentVideoDriver);
    return failing && !strcmp(failing, "blind") ? "offscreen" : real();
}

static void check(const char *call, const char *driver, const char *message) {
    lud_error error = {0};
    const lud_view_options options = {.path = path};
    failing = call;
    setenv("SDL_VIDEODRIVER", driver, 1);
    assert_int_equal(lud_view(&options, NULL, &error), LUD_ERROR_UNSUPPORTED);
    failing = NULL;
    assert_string_equal(error.text, message);
}

#define WITHOUT "; `ludus record SCENARIO -o FILE.mp4` works without one"

static void test_no_window(void **state) {
    (void)state;
    check(NULL, "no-such-driver",
          "there is no display to open a window on (no-such-driver not available)" WITHOUT);
    check("SDL_CreateWindow", "dummy",
          "there is no display to open a window on (SDL_CreateWindow refused)" WITHOUT);
    check("SDL_CreateRenderer", "dummy",
          "this display cannot be drawn on (SDL_CreateRenderer refused)" WITHOUT);
    check("SDL_CreateTexture", "dummy", "cannot make a texture: SDL_CreateTexture refused");
}

/* A driver that shows nothing was not asked for: that is no display. */
static void test_blind_driver(void **state) {
    (void)state;
    lud_error error = {0};
    const lud_view_options options = {.path = path};
    setenv("SDL_VIDEODRIVER", "dummy", 1);
    assert_int_equal(SDL_InitSubSystem(SDL_INIT_VIDEO),
                     0); /* stays open, so that any machine goes on with it */
    unsetenv("SDL_VIDEODRIVER");
    failing = "blind";
    assert_int_equal(lud_view(&options, NULL, &error), LUD_ERROR_UNSUPPORTED);
    failing = NULL;
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    assert_string_equal(error.text,
                        "there is no display to open a window on (neither X11 nor Wayland answers)" WITHOUT);
}

static int set_up(void **state) {
    (void)state;
    lud_error error;
    const int descriptor = mkstemps(path, 5);
    if (descriptor < 0) return -1;
    close(descriptor);
    return lud_file_write(path, scenario, sizeof scenario - 1, &error) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_window), cmocka_unit_test(test_blind_driver)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
