#include "render/plots/plot.h"

#include <string.h>

#include "render/canvas/picture.h"
#include "render/plots/plot_pdf.h"
#include "render/plots/plot_picture.h"
#include "render/plots/plot_svg.h"

static bool ends_in(const char *path, const char *ending) {
    const size_t length = strlen(path), n = strlen(ending);
    return length > n && strcmp(path + length - n, ending) == 0;
}

lud_status lud_plot_check_path(const char *path, lud_error *error) {
    lud_error other = {0};
    if (ends_in(path, ".svg") || ends_in(path, ".pdf")) return LUD_OK;
    if (!lud_picture_check_path(path, &other)) return lud_plot_picture_check(path, error);
    return lud_invalid(error, "%s: a plot is written as .png, .svg or .pdf; end the name with one of them",
                       path);
}

lud_status lud_plot_write(const char *path, const lud_plot_panel *panels, int n, int panel_width, int height,
                          float scale, lud_theme_name theme, lud_error *error) {
    LUD_TRY(lud_plot_check_path(path, error));
    if (ends_in(path, ".svg"))
        return lud_plot_write_svg(path, panels, n, panel_width, height, scale, theme, error);
    if (ends_in(path, ".pdf"))
        return lud_plot_write_pdf(path, panels, n, panel_width, height, scale, theme, error);
    return lud_plot_write_picture(path, panels, n, panel_width, height, scale, theme, error);
}
