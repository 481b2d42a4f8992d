#include "cli/experiment/table.h"

#include <math.h>
#include <string.h>

#include "base/file.h"

/* How a kind of table writes things. */
typedef struct style {
    const char *begin, *cell, *end, *interval, *none;
    const char *escaped; /* characters that mean something, each with a backslash */
    bool numbers;        /* CSV: names for programs, and quotes */
} style;
static const style csv = {"", ",", "\n", "%.6g,%.6g,%.6g", ",,", "", true};
static const style markdown = {"| ", " | ", " |\n", "%.4g (%.4g to %.4g)", "", "|", false};
static const style latex = {"", " & ", " \\\\\n", "%.4g (%.4g, %.4g)", "", "_%&#{}", false};

void lud_table_put_csv(const char *field, lud_text *out) {
    if (!strpbrk(field, ",\"\r\n")) {
        lud_text_append(out, "%s", field);
        return;
    }
    lud_text_append(out, "\"");
    for (const char *c = field; *c; c++) lud_text_append(out, *c == '"' ? "\"\"" : "%c", *c);
    lud_text_append(out, "\"");
}

static void put(lud_text *out, const style *s, const char *text) {
    if (s->numbers) {
        lud_table_put_csv(text, out);
        return;
    }
    for (const char *c = text; *c; c++) lud_text_append(out, strchr(s->escaped, *c) ? "\\%c" : "%c", *c);
}

static void put_cell(lud_text *out, const style *s, lud_table_kind kind, const lud_table_cell *cell) {
    const lud_interval *i = &cell->value;
    if (kind == LUD_TABLE_TEXT)
        put(out, s, cell->text ? cell->text : "");
    else if (isnan(i->value))
        lud_text_append(out, "%s", kind == LUD_TABLE_INTERVAL ? s->none : "");
    else if (kind == LUD_TABLE_INTERVAL)
        lud_text_append(out, s->interval, i->value, i->low, i->high);
    else
        lud_text_append(out, kind == LUD_TABLE_COUNT ? "%.0f" : "%.5g", i->value);
}

static void put_header(const lud_table *t, const style *s, lud_text *out) {
    lud_text_append(out, "%s", s->begin);
    for (int k = 0; k < t->n_columns; k++) {
        const lud_table_column *c = &t->columns[k];
        if (k) lud_text_append(out, "%s", s->cell);
        put(out, s, s->numbers ? c->name : c->title);
        if (s->numbers && c->kind == LUD_TABLE_INTERVAL)
            lud_text_append(out, ",%s_low,%s_high", c->name, c->name);
    }
    lud_text_append(out, "%s", s->end);
}

static void put_rows(const lud_table *t, const style *s, lud_text *out) {
    for (int row = 0; row < t->n_rows; row++) {
        lud_text_append(out, "%s", s->begin);
        for (int k = 0; k < t->n_columns; k++) {
            if (k) lud_text_append(out, "%s", s->cell);
            put_cell(out, s, t->columns[k].kind, &t->cells[row * t->n_columns + k]);
        }
        lud_text_append(out, "%s", s->end);
    }
}

void lud_table_put_markdown(const lud_table *t, lud_text *out) {
    put_header(t, &markdown, out);
    lud_text_append(out, "|");
    for (int k = 0; k < t->n_columns; k++) lud_text_append(out, "---|");
    lud_text_append(out, "\n");
    put_rows(t, &markdown, out);
}

static void put_latex(const lud_table *t, lud_text *out) {
    lud_text_append(out, "\\begin{tabular}{");
    for (int k = 0; k < t->n_columns; k++)
        lud_text_append(out, "%s", t->columns[k].kind == LUD_TABLE_COUNT ? "r" : "l");
    lud_text_append(out, "}\n");
    put_header(t, &latex, out);
    lud_text_append(out, "\\hline\n");
    put_rows(t, &latex, out);
    lud_text_append(out, "\\end{tabular}\n");
}

lud_status lud_table_write_text(const char *folder, const char *name, const lud_text *text,
                                lud_error *error) {
    lud_text path = {0};
    lud_text_append(&path, "%s/%s", folder, name);
    const lud_status status =
        path.failed || text->failed
            ? lud_no_memory(error, "a table")
            : lud_file_write(path.bytes, text->bytes ? text->bytes : "", text->length, error);
    lud_text_free(&path);
    return status;
}

lud_status lud_table_write(const lud_table *t, const char *folder, const char *name,
                           const lud_text *markdown_text, lud_error *error) {
    lud_text numbers = {0}, tex = {0};
    char file[3][64];
    static const char *const endings[] = {"md", "csv", "tex"};
    for (int k = 0; k < 3; k++) snprintf(file[k], sizeof file[k], "%.50s.%s", name, endings[k]);
    put_header(t, &csv, &numbers);
    put_rows(t, &csv, &numbers);
    put_latex(t, &tex);
    lud_status status = lud_table_write_text(folder, file[0], markdown_text, error);
    if (!status) status = lud_table_write_text(folder, file[1], &numbers, error);
    if (!status) status = lud_table_write_text(folder, file[2], &tex, error);
    lud_text_free(&numbers);
    lud_text_free(&tex);
    return status;
}
