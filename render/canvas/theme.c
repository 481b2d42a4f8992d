#include "render/canvas/theme.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define RGB(hex)                                                                                             \
    { (hex) >> 16 & 255, (hex) >> 8 & 255, (hex)&255, 255 }
#define OKABE_ITO                                                                                            \
    {                                                                                                        \
        RGB(0xD55E00), RGB(0x009E73), RGB(0x0072B2), RGB(0xCC79A7), RGB(0xF0E442), RGB(0x8A8F98),            \
            RGB(0x8C6D46)                                                                                    \
    }

/* X(colour, in the light theme, in the dark one) */
#define COLOURS(X)                                                                                           \
    X(ground, 0xF4F2EE, 0x14161A)                                                                            \
    X(floor, 0xFBFAF8, 0x1D2026)                                                                             \
    X(grid_line, 0xE3DFD8, 0x2A2E36)                                                                         \
    X(wall, 0x4A4F5A, 0x5B6270)                                                                              \
    X(wall_edge, 0x6B717E, 0x7D8594)                                                                         \
    X(panel, 0xFBFAF8, 0x1D2026)                                                                             \
    X(text, 0x1E222A, 0xECEDEF)                                                                              \
    X(muted, 0x7A7F89, 0x8B919C)                                                                             \
    X(accent, 0x0072B2, 0x56B4E9)                                                                            \
    X(good, 0x009E73, 0x009E73)                                                                              \
    X(bad, 0xD55E00, 0xD55E00)                                                                               \
    X(caution, 0xE69F00, 0xE69F00)
#define LIGHT(name, light, dark) .name = RGB(light),
#define DARK(name, light, dark)  .name = RGB(dark),
static const lud_theme themes[LUD_THEMES] = {
    [LUD_THEME_LIGHT] = {.name = "light", .colours = OKABE_ITO, COLOURS(LIGHT)},
    [LUD_THEME_DARK] = {.name = "dark", .colours = OKABE_ITO, COLOURS(DARK)},
};

const char *const lud_theme_names[LUD_THEMES + 1] = {"light", "dark", NULL};

lud_status lud_theme_find(const char *name, lud_theme_name *theme, lud_error *error) {
    for (int i = 0; i < LUD_THEMES; i++)
        if (!strcmp(name, lud_theme_names[i])) {
            *theme = (lud_theme_name)i;
            return LUD_OK;
        }
    const char *near = lud_nearest_name(name, lud_theme_names, LUD_THEMES);
    return lud_invalid(error, "expected light or dark, found '%s'%s%s%s", name,
                       near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const lud_theme *lud_theme_get(lud_theme_name name) {
    assert(name >= 0 && name < LUD_THEMES);
    return &themes[name];
}

lud_rgba lud_faded(lud_rgba colour, float alpha) {
    colour.a = (uint8_t)((float)colour.a * alpha + 0.5f);
    return colour;
}

static uint8_t mixed_channel(uint8_t a, uint8_t b, float t) {
    return (uint8_t)((float)a + ((float)b - (float)a) * t + 0.5f);
}

lud_rgba lud_mixed(lud_rgba a, lud_rgba b, float t) {
    lud_rgba mixed = {mixed_channel(a.r, b.r, t), mixed_channel(a.g, b.g, t), mixed_channel(a.b, b.b, t),
                      mixed_channel(a.a, b.a, t)};
    return mixed;
}

lud_rgba lud_theme_thing(const lud_theme *theme, int colour) {
    enum { GREY = 5 };
    const lud_rgba white = {255, 255, 255, 255};
    return colour == GREY ? lud_mixed(theme->colours[GREY], white, 0.5f) : theme->colours[colour];
}
