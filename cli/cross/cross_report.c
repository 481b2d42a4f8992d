#include "cli/cross/cross_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "learn/runs/run.h"
#include "learn/runs/run_cross.h"

enum { EPISODES = 100 };

/* ---- tables ---- */

typedef enum style { TEXT, MARKDOWN, CSV } style;

typedef struct table {
    lud_arena *arena;
    int n_rows, n_columns;
    const char **cells; /* [n_rows][n_columns] the first row names the columns */
    bool failed;
} table;

static table table_of(lud_arena *arena, int n_rows, int n_columns) {
    table t = {.arena = arena,
               .n_rows = n_rows,
               .n_columns = n_columns,
               .cells = lud_arena_take_array(arena, (size_t)n_rows * (size_t)n_columns, sizeof *t.cells)};
    t.failed = !t.cells;
    return t;
}

__attribute__((format(printf, 4, 5))) static void set(table *t, int row, int column, const char *format,
                                                      ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = t->failed ? NULL : lud_arena_text(t->arena, text, strlen(text));
    t->failed = t->failed || !kept;
    if (!t->failed) t->cells[row * t->n_columns + column] = kept;
}

static void set_interval(table *t, int row, int column, const lud_interval *i) {
    set(t, row, column, "%.4g (%.4g to %.4g)", i->value, i->low, i->high);
}

/* A cell of CSV, in quotes where that is needed. */
static void put_quoted(const char *text, lud_text *out) {
    const bool plain = !strpbrk(text, ",\"\n");
    if (!plain) lud_text_append(out, "\"");
    for (const char *at = text; *at; at++) lud_text_append(out, *at == '"' ? "\"\"" : "%c", *at);
    if (!plain) lud_text_append(out, "\"");
}

static int width_of(const table *t, int column) {
    size_t width = 0;
    for (int r = 0; r < t->n_rows; r++) {
        const size_t n = strlen(t->cells[r * t->n_columns + column]);
        if (n > width) width = n;
    }
    return (int)width;
}

static void print_row(const table *t, int row, style s, lud_text *out) {
    for (int c = 0; c < t->n_columns; c++) {
        const char *cell = t->cells[row * t->n_columns + c];
        const bool last = c == t->n_columns - 1;
        if (s == CSV)
            put_quoted(cell, out);
        else if (s == MARKDOWN)
            lud_text_append(out, c > 0 ? " %s |" : "| %s |", cell);
        else
            lud_text_append(out, "%-*s", last ? 0 : width_of(t, c) + 2, cell);
        if (last || s == CSV) lud_text_append(out, last ? "\n" : ",");
    }
}

static void print(const table *t, style s, lud_text *out) {
    out->failed = out->failed || t->failed;
    for (int r = 0; r < t->n_rows && !t->failed; r++) {
        print_row(t, r, s, out);
        for (int c = 0; c <= t->n_columns && r == 0 && s == MARKDOWN; c++)
            lud_text_append(out, c < t->n_columns ? "|---" : "|\n");
    }
}

/* ---- what they say ---- */

/* Two sides: what one of them gets, in rows by who plays the first and in columns by who plays the second. */
static table square(const lud_cross *c, int side) {
    table t = table_of(c->arena, c->n_players + 1, c->n_players + 1);
    set(&t, 0, 0, "%s \\ %s", c->sides[0].name, c->sides[1].name);
    for (int p = 0; p < c->n_players; p++) {
        set(&t, p + 1, 0, "%s", c->players[p]);
        set(&t, 0, p + 1, "%s", c->players[p]);
        for (int q = 0; q < c->n_players; q++)
            set_interval(&t, p + 1, q + 1, &c->results[p * c->n_players + q].returns[side]);
    }
    return t;
}

/* A row a pairing: who plays, and what each side gets. */
static table list(const lud_cross *c) {
    table t = table_of(c->arena, c->n_pairings + 1, 2 * c->n_sides);
    for (int s = 0; s < c->n_sides; s++) {
        set(&t, 0, s, "%s", c->sides[s].name);
        set(&t, 0, c->n_sides + s, "return of %s", c->sides[s].name);
        for (int p = 0; p < c->n_pairings; p++) {
            set(&t, p + 1, s, "%s", c->players[lud_cross_player(c, p, s)]);
            set_interval(&t, p + 1, c->n_sides + s, &c->results[p].returns[s]);
        }
    }
    return t;
}

/* The same with numbers alone, and the world's measures. */
static table numbers(const lud_cross *c) {
    const lud_layout *layout = &c->scenario->model->layout;
    const int first = 4 * c->n_sides, n_columns = first + 2 + layout->n_measures;
    table t = table_of(c->arena, c->n_pairings + 1, n_columns);
    for (int p = 0; p <= c->n_pairings; p++) {
        const lud_cross_result *r = p ? &c->results[p - 1] : NULL;
        for (int s = 0; s < c->n_sides; s++) {
            const char *name = c->sides[s].name;
            const int at = c->n_sides + 3 * s;
            set(&t, p, s, "%s", r ? c->players[lud_cross_player(c, p - 1, s)] : name);
            for (int k = 0; k < 3; k++) {
                static const char *const ends[] = {"return", "low", "high"};
                const double x = r ? k == 0   ? r->returns[s].value
                                     : k == 1 ? r->returns[s].low
                                              : r->returns[s].high
                                   : 0.0;
                if (r)
                    set(&t, p, at + k, "%.6g", x);
                else
                    set(&t, p, at + k, "%s %s", name, ends[k]);
            }
        }
        if (r) {
            set(&t, p, first, "%" PRId64, c->episodes);
            set(&t, p, first + 1, "%.6g", r->length);
        } else {
            set(&t, p, first, "episodes");
            set(&t, p, first + 1, "length");
        }
        for (int k = 0; k < layout->n_measures; k++) {
            if (!r)
                set(&t, p, first + 2 + k, "%s", layout->measures[k].name);
            else if (layout->measures[k].absent)
                set(&t, p, first + 2 + k, "%s", "");
            else
                set(&t, p, first + 2 + k, "%.6g", r->measures[k]);
        }
    }
    return t;
}

static void print_all(const lud_cross *c, style s, lud_text *out) {
    if (s == CSV) {
        const table t = numbers(c);
        print(&t, s, out);
        return;
    }
    lud_text_append(
        out,
        "%s, %" PRId64
        " episodes a pairing%s; returns are means over the agents of a side, with intervals of 95 %%%s\n",
        c->scenario->name, c->episodes, c->several ? " of trainings" : "",
        c->several ? " over trainings" : "");
    for (int p = 0, n = 0; p < c->n_players; p++)
        if (c->runs[p].n > 1)
            lud_text_append(out, "%s%s: %d trainings", n++ ? ", " : "", c->players[p], c->runs[p].n);
    if (c->several) lud_text_append(out, "\n");
    if (c->n_sides > 2) {
        const table t = list(c);
        lud_text_append(out, "\n");
        print(&t, s, out);
        return;
    }
    for (int side = 0; side < 2; side++) {
        const table t = square(c, side);
        lud_text_append(out, "\n%sreturn of %s (%d agent%s)%s\n\n", s == MARKDOWN ? "**" : "",
                        c->sides[side].name, c->sides[side].n_agents, c->sides[side].n_agents == 1 ? "" : "s",
                        s == MARKDOWN ? "**" : "");
        print(&t, s, out);
    }
}

static json_t *interval_json(const lud_interval *i) {
    return json_pack("{s:f, s:f, s:f}", "mean", i->value, "low", i->low, "high", i->high);
}

static json_t *pairing_json(const lud_cross *c, int pairing) {
    const lud_layout *layout = &c->scenario->model->layout;
    const lud_cross_result *r = &c->results[pairing];
    json_t *who = json_object(), *returns = json_object(), *measures = json_object();
    for (int s = 0; s < c->n_sides; s++) {
        json_object_set_new(who, c->sides[s].name, json_string(c->players[lud_cross_player(c, pairing, s)]));
        json_object_set_new(returns, c->sides[s].name, interval_json(&r->returns[s]));
    }
    for (int k = 0; k < layout->n_measures; k++)
        if (!layout->measures[k].absent)
            json_object_set_new(measures, layout->measures[k].name, json_real(r->measures[k]));
    return json_pack("{s:o, s:o, s:f, s:o}", "players", who, "returns", returns, "length", r->length,
                     "measures", measures);
}

static json_t *all_json(const lud_cross *c) {
    json_t *sides = json_array(), *players = json_array(), *pairings = json_array();
    for (int s = 0; s < c->n_sides; s++) {
        json_t *agents = json_array();
        for (int i = 0; i < c->scenario->model->layout.n_agents; i++)
            if (c->sides[s].acts[i]) json_array_append_new(agents, json_integer(i));
        json_array_append_new(sides, json_pack("{s:s, s:o}", "name", c->sides[s].name, "agents", agents));
    }
    json_t *trainings = c->several ? json_array() : NULL; /* left out where there is one of each */
    for (int p = 0; p < c->n_players; p++) {
        json_array_append_new(players, json_string(c->players[p]));
        if (c->several) json_array_append_new(trainings, json_integer(c->runs[p].n));
    }
    for (int p = 0; p < c->n_pairings; p++) json_array_append_new(pairings, pairing_json(c, p));
    return json_pack("{s:s, s:I, s:o, s:o, s:o*, s:o}", "scenario", c->scenario->name, "episodes",
                     (json_int_t)c->episodes, "sides", sides, "players", players, "trainings", trainings,
                     "pairings", pairings);
}

/* ---- the verb ---- */

static bool ends_with(const char *path, const char *ending) {
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

static lud_status check(const lud_cross_request *q, int n_players, lud_error *error) {
    if (n_players < 1)
        return lud_invalid(error, "--cross: expected at least one RUN or policy behind the scenario");
    if (lud_processes()) return lud_invalid(error, "--cross is the work of one process");
    if (q->output && !ends_with(q->output, ".csv") && !ends_with(q->output, ".md"))
        return lud_invalid(error, "--output %s: expected a name that ends with .csv or .md", q->output);
    return LUD_OK;
}

static lud_status write_table(const lud_cross *c, const char *path, lud_error *error) {
    lud_text out = {0};
    print_all(c, ends_with(path, ".csv") ? CSV : MARKDOWN, &out);
    const lud_status status = out.failed || !out.bytes ? lud_no_memory(error, "a table")
                                                       : lud_file_write(path, out.bytes, out.length, error);
    lud_text_free(&out);
    return status;
}

static lud_status show(const lud_cross *c, const lud_cross_request *q, lud_error *error) {
    if (q->output) LUD_TRY(write_table(c, q->output, error));
    if (q->json) return lud_print_json(all_json(c), error);
    lud_text out = {0};
    print_all(c, TEXT, &out);
    if (q->output) lud_text_append(&out, "\n%s written\n", q->output);
    lud_print_text(&out);
    return lud_flush_output(error);
}

/* That of the first player, or of its first training. */
static lud_status open_scenario(const lud_cross_request *q, lud_scenario **scenario, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_cross_player_runs runs;
    lud_status status =
        arena ? lud_cross_runs(arena, q->players[0], &runs, error) : lud_no_memory(error, "cross-play");
    if (!status) status = lud_scenario_open(runs.runs[0], q->scenario, scenario, error);
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_cross_report(const lud_cross_request *q, lud_error *error) {
    lud_scenario *scenario;
    lud_cross cross = {0};
    const int first = !lud_run_is(q->players[0]); /* a scenario's file plays nobody */
    LUD_TRY(check(q, q->n_players - first, error));
    LUD_TRY(open_scenario(q, &scenario, error));
    lud_status status = lud_cross_open(scenario, q->sides, q->players + first, q->n_players - first,
                                       q->episodes ? q->episodes : EPISODES, &cross, error);
    if (!status) status = lud_cross_play(&cross, isatty(fileno(stderr)) ? stderr : NULL, error);
    if (!status) status = show(&cross, q, error);
    lud_cross_free(&cross);
    lud_scenario_destroy(scenario);
    return status;
}
