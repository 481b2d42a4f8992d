/* What a build without SDL2 answers: it runs, solves, trains and plots as SVG and PDF, and draws nothing.
 * Beside this file it has of render/ what cmake/pictures.cmake lists. */
#include "render/plots/plot_picture.h"
#include "render/record.h"
#include "render/video/video.h"
#include "render/window.h"

static lud_status without(const char *what, const char *instead, lud_error *error) {
    return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                    "%s: this Ludus was built without SDL2 and draws nothing; %s, or install libsdl2-dev and "
                    "build again",
                    what, instead);
}

lud_status lud_window_check(lud_error *error) {
    return without("a window", "use `ludus run`", error);
}

lud_status lud_view(const lud_view_options *options, lud_window_report *report, lud_error *error) {
    (void)options, (void)report;
    return lud_window_check(error);
}

lud_status lud_video_check_path(const char *path, lud_error *error) {
    return without(path, "record a data set (.h5)", error);
}

void lud_video_name_frame(const char *path, int64_t frame, lud_text *name) {
    (void)frame; /* there is none */
    lud_text_append(name, "%s", path);
}

lud_status lud_record(const lud_model *model, lud_cast *cast, const lud_record_options *options,
                      lud_record_result *result, lud_error *error) {
    (void)model, (void)cast, (void)result;
    lud_overlay_source_destroy(options->source);
    return lud_video_check_path(options->path, error);
}

lud_status lud_plot_picture_check(const char *path, lud_error *error) {
    return without(path, "end the name with .svg", error);
}

lud_status lud_plot_write_picture(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                                  int height, float scale, lud_theme_name theme, lud_error *error) {
    (void)panels, (void)n, (void)panel_width, (void)height, (void)scale, (void)theme;
    return lud_plot_picture_check(path, error);
}
