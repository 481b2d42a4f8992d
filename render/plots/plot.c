#include "render/plots/plot.h"

#include <string.h>

#include "render/canvas/picture.h"
#include "render/plots/plot_picture.h"
#include "render/plots/plot_svg.h"

static bool is_svg(const char *path) {
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

lud_status lud_plot_check_path(const char *path, lud_error *error) {
    lud_error other = {0};
    if (is_svg(path)) return LUD_OK;
    if (!lud_picture_check_path(path, &other)) return lud_plot_picture_check(path, error);
    return lud_invalid(error, "%s: a plot is written as .png or .svg; end the name with one of them", path);
}

lud_status lud_plot_write(const char *path, const lud_plot_panel *panels, int n, int panel_width, int height,
                          float scale, lud_theme_name theme, lud_error *error) {
    LUD_TRY(lud_plot_check_path(path, error));
    if (is_svg(path)) return lud_plot_write_svg(path, panels, n, panel_width, height, scale, theme, error);
    return lud_plot_write_picture(path, panels, n, panel_width, height, scale, theme, error);
}
