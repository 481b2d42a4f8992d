#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"
#include "learn/store/history.h"
#include "render/plots/plot.h"

enum { MOST_RUNS = 7, MOST_PANELS = 6, PANEL_WIDTH = 900, PANEL_HEIGHT = 720, GREY = 5 };

typedef struct plot_values {
    const char *out, *x;
    lud_flag_list columns, levels;
} plot_values;

#define FLAGS plot_values
static const lud_flag flags[] = {
    TEXT_FLAG("out", 'o', out, "FILE", "the picture to write (.png, .svg or .pdf)"),
    LIST_FLAG("column", 'c', columns, "NAME",
              "a column of metrics.csv, a panel each; several with commas, or given several times"),
    TEXT_FLAG("x", 'x', x, "NAME", "the column of the horizontal axis, e.g. seconds; else steps"),
    LIST_FLAG("level", 'l', levels, "Y=NAME", "a level line to compare with, e.g. --level -7.6=scripted"),
};

typedef struct level {
    double value[2];
    const char *name;
} level;

static lud_status read_level(const char *text, level *l, lud_error *error) {
    const char *end;
    double value;
    if (!lud_number_real(text, &end, &value) || (*end != '=' && *end) || (*end == '=' && !end[1]))
        return lud_invalid(error, "--level: expected a number and a name as in -7.6=scripted, found '%s'",
                           text);
    *l = (level){{value, value}, *end ? end + 1 : NULL};
    return LUD_OK;
}

/* No run has the column, or none was asked for (null). */
static lud_status no_such_column(lud_arena *arena, const char *column, const char *folder, lud_error *error) {
    const char *names, *const *runs;
    int n;
    LUD_TRY(lud_history_group(arena, folder, &runs, &n, error));
    if (n > 0) folder = runs[0];
    LUD_TRY(lud_history_columns(arena, folder, &names, error));
    if (!*names) return lud_invalid(error, "%s has no metrics.csv: not a training", folder);
    if (!column) return lud_invalid(error, "name columns with -c; %s/metrics.csv has %s", folder, names);
    return lud_invalid(error, "nothing was measured of '%s'; %s/metrics.csv has %s", column, folder, names);
}

/* Of a run; of a folder of runs the mean, and a band from the lowest to the highest. */
static lud_status read_curve(lud_arena *arena, const char *x, const char *column, const char *folder,
                             lud_plot_curve *curve, const char **x_name, lud_error *error) {
    const char *const *runs;
    int n, n_read = 0;
    lud_history_band band;
    *curve = (lud_plot_curve){0};
    LUD_TRY(lud_history_group(arena, folder, &runs, &n, error));
    lud_history *histories = lud_arena_take_array(arena, (size_t)n + 1, sizeof *histories);
    if (!histories) return lud_no_memory(error, "a plot");
    for (int k = 0; k < n; k++) {
        LUD_TRY(lud_history_read_over(arena, runs[k], x, column, &histories[n_read], error));
        if (histories[n_read].n > 0) *x_name = histories[n_read++].steps_name;
    }
    if (n_read == 1) {
        *curve = (lud_plot_curve){.x = histories[0].steps, .y = histories[0].value, .n = histories[0].n};
        return LUD_OK;
    }
    LUD_TRY(lud_history_spread(arena, histories, n_read, &band, error));
    *curve =
        (lud_plot_curve){.x = band.steps, .y = band.mean, .low = band.low, .high = band.high, .n = band.n};
    return LUD_OK;
}

static lud_status fill_panel(lud_arena *arena, const char *x, const char *column, const char *const *folders,
                             int n_folders, const level *levels, int n_levels, lud_plot_panel *panel,
                             lud_error *error) {
    static const int colours[MOST_RUNS] = {2, 0, 1, 3, 4, 6, 5};
    lud_plot_curve *curves = lud_arena_take_array(arena, (size_t)(n_folders + n_levels), sizeof *curves);
    double *ends = lud_arena_take_array(arena, 2, sizeof *ends);
    if (!curves || !ends) return lud_no_memory(error, "a plot");
    *panel = (lud_plot_panel){.title = column, .x_name = "iteration", .curves = curves};
    ends[0] = ends[1] = 0.0;
    int n_points = 0;
    for (int r = 0; r < n_folders; r++) {
        lud_plot_curve *curve = &curves[panel->n_curves];
        LUD_TRY(read_curve(arena, x, column, folders[r], curve, &panel->x_name, error));
        if (curve->n == 0) continue;
        n_points += curve->n;
        ends[1] = fmax(ends[1], curve->x[curve->n - 1]);
        curve->name = lud_run_name(arena, folders[r]);
        if (!curve->name) return lud_no_memory(error, "a plot");
        curve->colour = colours[r];
        panel->n_curves++;
    }
    if (n_points == 0) return no_such_column(arena, column, folders[0], error);
    for (int l = 0; l < n_levels; l++)
        curves[panel->n_curves++] =
            (lud_plot_curve){.name = levels[l].name, .x = ends, .y = levels[l].value, .n = 2, .colour = GREY};
    return LUD_OK;
}

/* `-c a,b` names two columns as `-c a -c b` does. */
static lud_status split_columns(lud_arena *arena, const lud_flag_list *list, const char **columns, int *n,
                                lud_error *error) {
    for (int i = 0; i < list->n; i++)
        for (const char *at = list->items[i]; at; at = strchr(at, ',')) {
            at += *at == ',';
            if (*n == MOST_PANELS)
                return lud_invalid(error, "at most %d columns fit into one picture", MOST_PANELS);
            columns[*n] = lud_arena_text(arena, at, strcspn(at, ","));
            if (!columns[(*n)++]) return lud_no_memory(error, "a plot");
        }
    return LUD_OK;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const plot_values *values = data;
    level levels[LUD_FLAG_LIST_ITEMS];
    lud_plot_panel panels[MOST_PANELS];
    lud_arena *arena = lud_arena_create(0);
    lud_status status = arena ? LUD_OK : lud_no_memory(error, "a plot");
    if (!status && values->out) status = lud_plot_check_path(values->out, error);
    if (!status && values->columns.n == 0) status = no_such_column(arena, NULL, arguments[0], error);
    if (!status && !values->out)
        status = lud_invalid(error, "'ludus plot' needs -o FILE, for example -o curves.png");
    const char *columns[MOST_PANELS];
    int n_columns = 0;
    if (!status) status = split_columns(arena, &values->columns, columns, &n_columns, error);
    for (int l = 0; l < values->levels.n && !status; l++)
        status = read_level(values->levels.items[l], &levels[l], error);
    for (int c = 0; c < n_columns && !status; c++)
        status = fill_panel(arena, values->x, columns[c], arguments, n_arguments, levels, values->levels.n,
                            &panels[c], error);
    if (!status)
        status = lud_plot_write(values->out, panels, n_columns, PANEL_WIDTH, PANEL_HEIGHT, 2, LUD_THEME_LIGHT,
                                error);
    if (!status) printf("%s written\n", values->out);
    lud_arena_destroy(arena);
    return status;
}

const lud_verb lud_verb_plot = {
    .name = "plot",
    .about = "draw the learning curves of trainings as a picture",
    .arguments = "RUN...",
    .min_arguments = 1,
    .max_arguments = MOST_RUNS,
    VERB_FLAGS,
    .notes =
        "Without -c it says which columns there are. A folder that holds several RUNs is one curve: their\n"
        "mean, with a band from the lowest to the highest.\n\n"
        "example: ludus plot runs/width/simple/narrow runs/width/simple/wide -c return -o bands.png\n"
        "         ludus plot runs/seed1 runs/seed2 -c return -c success -o curves.png\n",
    .run = run};
