#include "cli/window/view_flags.h"

#include <string.h>

static const char *const part_keys[] = {"view.overlay.values", "view.overlay.arrows", "view.overlay.bars",
                                        "view.overlay.trace", "view.overlay.edges"};
enum { N_PARTS = sizeof part_keys / sizeof *part_keys };

static void add(lud_view_flags *f, const char *source, const char *path, const char *value, bool words) {
    f->values[f->n_values++] = (struct lud_scenario_value){source, path, value, words};
}

static void add_number(lud_view_flags *f, const char *source, const char *path, double value, char text[32]) {
    snprintf(text, 32, "%.9g", value);
    add(f, source, path, text, false);
}

static lud_status read_size(lud_view_flags *f, bool side_possible, lud_error *error) {
    enum { LEAST = 16, MOST = 4096 };
    int width, height = 0;
    char rest;
    const int found = sscanf(f->size, "%dx%d%c", &width, &height, &rest);
    const bool alone = side_possible && found == 1 && sscanf(f->size, "%d%c", &width, &rest) == 1;
    if ((found != 2 && !alone) || width < LEAST || width > MOST ||
        (found == 2 && (height < LEAST || height > MOST)))
        return lud_invalid(error, "--size: expected %sWxH with numbers from %d to %d, found '%s'",
                           side_possible ? "N or " : "", LEAST, MOST, f->size);
    f->side = alone ? width : 0;
    if (alone) return LUD_OK;
    snprintf(f->size_text, sizeof f->size_text, "[%d, %d]", (width + 1) & ~1, (height + 1) & ~1);
    add(f, "--size", "view.size", f->size_text, false);
    return LUD_OK;
}

/* Parts of the overlay: words with commas between them. */
static lud_status read_overlay(lud_view_flags *f, lud_error *error) {
    static const char *const names[] = {"values", "arrows", "bars", "trace", "edges", "all", "none"};
    enum { N = sizeof names / sizeof *names };
    bool shown[N] = {0};
    for (const char *at = f->overlay; *at;) {
        char word[16];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        int k = 0;
        while (k < N && strcmp(word, names[k]) != 0) k++;
        if (k == N) {
            const char *near = lud_nearest_name(word, names, N);
            return lud_invalid(
                error,
                "--overlay: expected values, arrows, bars, trace, edges, all or none, found '%s'%s%s%s", word,
                near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
        shown[k] = true;
        at += length + (at[length] == ',');
    }
    for (int k = 0; k < N_PARTS; k++)
        add(f, "--overlay", part_keys[k], shown[k] || shown[N_PARTS] ? "true" : "false", false);
    return LUD_OK;
}

lud_status lud_view_flags_apply(lud_view_flags *f, bool side, lud_scenario_flags *scenario,
                                lud_error *error) {
    if (f->caption && f->no_caption)
        return lud_invalid(error, "--caption and --no-caption: expected one of them");
    if (f->theme) add(f, "--theme", "view.theme", f->theme, true);
    if (f->scale > 0) add_number(f, "--scale", "view.scale", f->scale, f->scale_text);
    if (f->speed > 0) add_number(f, "--speed", "view.speed", f->speed, f->speed_text);
    if (f->still) add(f, "--still", "view.motion", "false", false);
    if (f->no_goals) add(f, "--no-goals", "view.goals", "false", false);
    if (f->labels) add(f, "--labels", "view.labels", "true", false);
    if (f->caption) add(f, "--caption", "view.caption.text", f->caption, true);
    if (f->no_caption) add(f, "--no-caption", "view.caption.show", "never", false);
    if (f->overlay) LUD_TRY(read_overlay(f, error));
    if (f->size) LUD_TRY(read_size(f, side, error));
    scenario->view = f->view;
    scenario->values = f->values;
    scenario->n_values = f->n_values;
    return LUD_OK;
}
