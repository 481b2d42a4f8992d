#include "render/window.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <SDL.h>

#include "base/clock.h"
#include "base/interrupt.h"

static lud_status no_display(lud_error *error) {
    return lud_fail(
        error, LUD_ERROR_UNSUPPORTED,
        "there is no display to open a window on (%s); `ludus record SCENARIO -o FILE.mp4` works without one",
        SDL_GetError());
}

/* Names a driver, and not by an empty text, which asks for none. */
static bool names(const char *variable) {
    const char *text = SDL_getenv(variable);
    return text && *text;
}

/* The library of Wayland says on the terminal that there is no runtime folder, where there is no Wayland; so
 * SDL asks the other drivers alone then. What a user names in SDL_VIDEODRIVER stays. */
static void leave_out_wayland(void) {
    const char *display = SDL_getenv("WAYLAND_DISPLAY");
    if (names("SDL_VIDEODRIVER") || names("XDG_RUNTIME_DIR") || (display && *display == '/')) return;
    SDL_SetHintWithPriority(SDL_HINT_VIDEODRIVER, "x11,KMSDRM", SDL_HINT_OVERRIDE);
}

/* To be ended with SDL_QuitSubSystem, also after an error. */
static lud_status open_display(lud_error *error) {
    /* video alone: no audio, no joysticks; and a display that sleeps when it wants to */
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1");
    leave_out_wayland();
    if (SDL_InitSubSystem(SDL_INIT_VIDEO)) {
        if (!names("SDL_VIDEODRIVER")) SDL_SetError("neither X11 nor Wayland answers");
        return no_display(error);
    }
    /* SDL falls back to drivers that show nothing; they are meant for tests, which ask for them by name */
    const char *driver = SDL_GetCurrentVideoDriver();
    bool blind =
        driver && (!strcmp(driver, "offscreen") || !strcmp(driver, "dummy") || !strcmp(driver, "evdev"));
    if (blind && !names("SDL_VIDEODRIVER")) {
        SDL_SetError("neither X11 nor Wayland answers");
        return no_display(error);
    }
    return LUD_OK;
}

lud_status lud_window_check(lud_error *error) {
    const lud_status status = open_display(error);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    return status;
}

static lud_status open_window(const lud_view_section *view, SDL_Window **window, SDL_Renderer **renderer,
                              lud_error *error) {
    LUD_TRY(open_display(error));
    SDL_Rect screen = {0, 0, 1440, 900};
    SDL_GetDisplayUsableBounds(0, &screen);
    int width = SDL_min(1180, screen.w * 9 / 10), height = SDL_min(780, screen.h * 9 / 10);
    if (view->size.n == 2) {
        width = (int)view->size.items[0];
        height = (int)view->size.items[1];
    }
    *window = SDL_CreateWindow("Ludus", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, width, height,
                               SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (!*window) return no_display(error);
    SDL_SetWindowMinimumSize(*window, SDL_min(480, width), SDL_min(320, height));
    SDL_StartTextInput(); /* numbers are typed in the editor */
    /* Pictures are drawn on the processor, as recordings are: starting a graphics driver takes longer than
     * all the rest together, a picture takes a millisecond. Who wants another asks by SDL_RENDER_DRIVER. */
    if (SDL_getenv("SDL_RENDER_DRIVER"))
        *renderer = SDL_CreateRenderer(*window, -1, SDL_RENDERER_ACCELERATED | SDL_RENDERER_PRESENTVSYNC);
    SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    if (!*renderer) *renderer = SDL_CreateRenderer(*window, -1, SDL_RENDERER_SOFTWARE);
    if (!*renderer)
        return lud_fail(
            error, LUD_ERROR_UNSUPPORTED,
            "this display cannot be drawn on (%s); `ludus record SCENARIO -o FILE.mp4` works without one",
            SDL_GetError());
    return LUD_OK;
}

/* Pixels of a window unit: above 1 on displays with a high density. */
static float density(SDL_Window *window, SDL_Renderer *renderer) {
    int units, pixels, ignored;
    SDL_GetWindowSize(window, &units, &ignored);
    SDL_GetRendererOutputSize(renderer, &pixels, &ignored);
    return units > 0 ? (float)pixels / (float)units : 1;
}

/* How large texts want to be on this display where its units are pixels: its density against 96 pixels an
 * inch, in quarters. */
static float wished_scale(SDL_Window *window, SDL_Renderer *renderer) {
    float dpi = 0;
    if (density(window, renderer) > 1.01f ||
        SDL_GetDisplayDPI(SDL_GetWindowDisplayIndex(window), &dpi, NULL, NULL))
        return 1;
    return SDL_clamp(roundf(dpi / 96 * 4) / 4, 1.0f, 3.0f);
}

static void show_full_screen(SDL_Window *window, const lud_viewer *viewer) {
    const bool wished = lud_viewer_wants_full_screen(viewer),
               is = SDL_GetWindowFlags(window) & SDL_WINDOW_FULLSCREEN_DESKTOP;
    if (wished != is) SDL_SetWindowFullscreen(window, wished ? SDL_WINDOW_FULLSCREEN_DESKTOP : 0);
}

static void run_loop(SDL_Window *window, SDL_Renderer *renderer, lud_canvas *canvas, lud_viewer *viewer,
                     double began, lud_window_report *report) {
    double last = lud_clock_seconds();
    bool changed = true;
    while (!lud_viewer_wants_to_quit(viewer) && !lud_interrupted()) {
        SDL_Event event;
        while (SDL_PollEvent(&event)) {
            if (event.type == SDL_RENDER_TARGETS_RESET || event.type == SDL_RENDER_DEVICE_RESET)
                lud_canvas_forget(canvas);
            lud_viewer_event(viewer, &event, density(window, renderer));
            changed = true;
        }
        if (changed) show_full_screen(window, viewer);
        double now = lud_clock_seconds();
        lud_viewer_update(viewer, now - last);
        last = now;
        if (changed || lud_viewer_moving(viewer)) {
            lud_viewer_draw(viewer, canvas);
            if (!report->frames++) report->first_frame_seconds = lud_clock_seconds() - began;
            changed = false;
        }
        /* where the display does not hold us back (no vertical sync); an event ends the rest */
        const double rest = lud_viewer_rest(viewer) - (lud_clock_seconds() - now);
        if (rest > 0.001) SDL_WaitEventTimeout(NULL, (int)(rest * 1000));
    }
}

/* Sprites are unpacked beside the opening of the window: each takes about as long. */
typedef struct unpacking {
    SDL_Thread *thread;
    lud_sprites *sprites;
} unpacking;

static int unpack(void *data) {
    unpacking *u = data;
    lud_error ignored = {0}; /* a canvas without sprites tries again, and tells */
    return (int)lud_sprites_create(&u->sprites, &ignored);
}

static lud_sprites *unpacked(unpacking *u) {
    SDL_WaitThread(u->thread, NULL);
    u->thread = NULL;
    lud_sprites *sprites = u->sprites;
    u->sprites = NULL;
    return sprites;
}

lud_status lud_view(const lud_view_options *options, lud_window_report *report, lud_error *error) {
    lud_window_report own = {0};
    if (!report) report = &own;
    *report = own;
    double began = lud_clock_seconds();
    SDL_Window *window = NULL;
    SDL_Renderer *renderer = NULL;
    lud_canvas *canvas = NULL;
    lud_viewer *viewer = NULL;
    unpacking sprites = {0};
    sprites.thread = SDL_CreateThread(unpack, "sprites", &sprites);
    lud_status status = lud_viewer_create(options, &viewer, error);
    if (!status) status = open_window(&lud_viewer_scenario(viewer)->view, &window, &renderer, error);
    lud_sprites *ready = unpacked(&sprites);
    if (!status)
        status = lud_canvas_create(renderer, density(window, renderer), ready, &canvas, error);
    else
        lud_sprites_destroy(ready);
    if (!status) {
        char title[128];
        const lud_scenario *scenario = lud_viewer_scenario(viewer);
        snprintf(title, sizeof title, "%s - Ludus", scenario->name ? scenario->name : options->path);
        SDL_SetWindowTitle(window, title);
        if (scenario->view.scale <= 0) lud_viewer_begin_scale(viewer, wished_scale(window, renderer));
        run_loop(window, renderer, canvas, viewer, began, report);
        if (options->keep) status = lud_viewer_save_look(viewer, options->keep, error);
    }
    lud_viewer_destroy(viewer);
    lud_canvas_destroy(canvas);
    if (renderer) SDL_DestroyRenderer(renderer);
    if (window) SDL_DestroyWindow(window);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    return status;
}
