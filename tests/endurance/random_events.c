/* A library to preload into `ludus view`: keys, clicks, drags, wheels and sizes of the window at random, one
 * to sixteen a picture, drawn from the seed LUDUS_EVENTS; first the key that LUDUS_FIRST_KEY names, if it
 * does. Nothing that ends the program or the training that it follows. How many there were stands on standard
 * error at the end. */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <SDL.h>

enum { MOST_EVENTS = 16, RECORDED = 100 }; /* between two pictures; in a recording, which is ended then */

static uint64_t state, n_events;
static int waiting, recorded;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint32_t draw(uint32_t below) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32) % below;
}

static void draw_event(SDL_Event *event) {
    static const SDL_Keycode keys[] = {
        SDLK_SPACE,  SDLK_PERIOD, SDLK_COMMA,       SDLK_HOME, SDLK_END,
        SDLK_PLUS,   SDLK_MINUS,  SDLK_n,           SDLK_r,    SDLK_TAB,
        SDLK_f,      SDLK_g,      SDLK_b,           SDLK_o,    SDLK_l,
        SDLK_p,      SDLK_m,      SDLK_w,           SDLK_a,    SDLK_u,
        SDLK_d,      SDLK_i,      SDLK_c,           SDLK_t,    SDLK_h,
        SDLK_ESCAPE, SDLK_LEFT,   SDLK_UP,          SDLK_DOWN, SDLK_RIGHT,
        SDLK_e,      SDLK_RETURN, SDLK_LEFTBRACKET, SDLK_1,    SDLK_2,
        SDLK_9,      SDLK_q,      SDLK_s,           SDLK_v,    SDLK_RIGHTBRACKET,
        SDLK_k,      SDLK_x,      SDLK_DELETE,      SDLK_F11,  SDLK_PAGEDOWN,
        SDLK_PAGEUP,
    };
    static const SDL_Keycode with_control[] = {SDLK_PLUS, SDLK_MINUS, SDLK_0, SDLK_s, SDLK_z, SDLK_y};
    const int x = (int)draw(1200), y = (int)draw(800);
    *event = (SDL_Event){0};
    switch (draw(8)) {
    case 0:
        event->type = SDL_MOUSEBUTTONDOWN;
        event->button.button = draw(8) ? SDL_BUTTON_LEFT : SDL_BUTTON_RIGHT;
        event->button.x = x;
        event->button.y = y;
        break;
    case 1:
        event->type = SDL_MOUSEBUTTONUP;
        event->button.button = SDL_BUTTON_LEFT;
        event->button.x = x;
        event->button.y = y;
        break;
    case 2:
    case 3:
        event->type = SDL_MOUSEMOTION;
        event->motion.x = x;
        event->motion.y = y;
        break;
    case 4:
        event->type = SDL_MOUSEWHEEL;
        event->wheel.y = (int)draw(5) - 2;
        event->wheel.mouseX = x;
        event->wheel.mouseY = y;
        break;
    default:
        event->type = SDL_KEYDOWN;
        event->key.keysym.sym = keys[draw(sizeof keys / sizeof *keys)];
        event->key.keysym.mod = draw(4) ? KMOD_NONE : KMOD_SHIFT;
        /* pictures and videos are seldom, or the disk is what is tried */
        if ((event->key.keysym.sym == SDLK_s || event->key.keysym.sym == SDLK_v) && (recorded || draw(20)))
            event->key.keysym.sym = SDLK_SPACE;
        if (event->key.keysym.sym == SDLK_v) recorded = RECORDED;
        if (draw(12) == 0) {
            event->key.keysym.sym = with_control[draw(sizeof with_control / sizeof *with_control)];
            event->key.keysym.mod = KMOD_CTRL;
        }
    }
}

static void press(SDL_Event *event, SDL_Keycode key) {
    *event = (SDL_Event){.key = {.type = SDL_KEYDOWN, .keysym = {.sym = key}}};
}

static void press_first_key(SDL_Event *event) {
    const char *key = getenv("LUDUS_FIRST_KEY");
    draw_event(event);
    if (key && *key) press(event, *key);
}

__attribute__((destructor)) static void tell(void) {
    if (n_events) fprintf(stderr, "%" PRIu64 " random events\n", n_events);
}

int SDL_PollEvent(SDL_Event *event) {
    static int (*real)(SDL_Event *);
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "SDL_PollEvent");
        const char *seed = getenv("LUDUS_EVENTS");
        state = seed ? strtoull(seed, NULL, 10) : 1;
    }
    if (real(event)) return 1;
    if (waiting == 0) {
        waiting = 2 + (int)draw(MOST_EVENTS);
        if (draw(200) == 0) { /* another size now and then */
            SDL_Window *window = SDL_GetWindowFromID(1);
            if (window) SDL_SetWindowSize(window, 480 + (int)draw(1400), 320 + (int)draw(900));
        }
    }
    if (--waiting == 0) return 0; /* the picture is drawn */
    if (n_events++ == 0)
        press_first_key(event);
    else if (recorded && --recorded == 0)
        press(event, SDLK_v);
    else
        draw_event(event);
    return 1;
}
