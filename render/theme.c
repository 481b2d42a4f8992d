#include "render/theme.h"

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

static const lud_theme themes[LUD_THEMES] = {
    [LUD_THEME_LIGHT] = {.name = "light",
                         .ground = RGB(0xF4F2EE),
                         .floor = RGB(0xFBFAF8),
                         .grid_line = RGB(0xE3DFD8),
                         .wall = RGB(0x4A4F5A),
                         .wall_edge = RGB(0x6B717E),
                         .panel = RGB(0xFBFAF8),
                         .text = RGB(0x1E222A),
                         .muted = RGB(0x7A7F89),
                         .accent = RGB(0x0072B2),
                         .good = RGB(0x009E73),
                         .bad = RGB(0xD55E00),
                         .caution = RGB(0xE69F00),
                         .colours = OKABE_ITO},
    [LUD_THEME_DARK] = {.name = "dark",
                        .ground = RGB(0x14161A),
                        .floor = RGB(0x1D2026),
                        .grid_line = RGB(0x2A2E36),
                        .wall = RGB(0x5B6270),
                        .wall_edge = RGB(0x7D8594),
                        .panel = RGB(0x1D2026),
                        .text = RGB(0xECEDEF),
                        .muted = RGB(0x8B919C),
                        .accent = RGB(0x56B4E9),
                        .good = RGB(0x009E73),
                        .bad = RGB(0xD55E00),
                        .caution = RGB(0xE69F00),
                        .colours = OKABE_ITO},
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
