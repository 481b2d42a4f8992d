#include "render/plots/plot_pdf.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "render/plots/plot_vector.h"

static const double points = 0.75; /* of a pixel */

/* ---- letters ---- */

/* Widths of Helvetica's letters in thousandths of its size, from ' ' to '~' (Adobe's metrics of the standard
 * fonts); those beyond are taken as wide as the letter that they are made of. */
static const short widths[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/* The next character of UTF-8 as a byte of code page 1252; '?' where it has none. */
static unsigned char next_letter(const char **text) {
    static const struct {
        unsigned code;
        unsigned char byte;
    } others[] = {{0x20ac, 0x80}, {0x2026, 0x85}, {0x2013, 0x96}, {0x2014, 0x97}, {0x2018, 0x91},
                  {0x2019, 0x92}, {0x201c, 0x93}, {0x201d, 0x94}, {0x2022, 0x95}, {0x2212, '-'}};
    const unsigned char *c = (const unsigned char *)*text;
    unsigned code = *c;
    const int more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : code >= 0xc0 ? 1 : 0;
    if (more) code &= 0x3fu >> more;
    c++;
    for (int k = 0; k < more && (*c & 0xc0) == 0x80; k++) code = code << 6 | (*c++ & 0x3f);
    *text = (const char *)c;
    if (code < 0x20) return ' ';
    if (code < 0x7f || (code >= 0xa0 && code < 0x100)) return (unsigned char)code;
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (others[k].code == code) return others[k].byte;
    return '?';
}

static double width_of(unsigned char letter) {
    static const char made_of[] =
        "AAAAAAMCEEEEIIIIDNOOOOOxOUUUUYPbaaaaaamceeeeiiiidnooooo+ouuuuypy"; /* from 0xc0 */
    if (letter >= 0xc0) letter = (unsigned char)made_of[letter - 0xc0];
    if (letter == 0x85 || letter == 0x97) return 1;
    return letter >= ' ' && letter <= '~' ? widths[letter - ' '] / 1000.0 : 0.556;
}

static double width(const char *text) {
    double sum = 0;
    while (*text) sum += width_of(next_letter(&text));
    return sum;
}

/* ---- the page's operators, see ISO 32000-1, 8.4 to 9.4 ---- */

static void put_colour(const lud_plot_pen *p, const char *operator, lud_rgba c) {
    lud_text_append(p->out, "%.3f %.3f %.3f %s\n", c.r / 255.0, c.g / 255.0, c.b / 255.0, operator);
}

static void put_point(const lud_plot_pen *p, double x, double y, const char *operator) {
    lud_text_append(p->out, "%.2f %.2f %s\n", x, p->height - y, operator);
}

static void ground(const lud_plot_pen *p, double wide, double height, lud_rgba colour) {
    put_colour(p, "rg", colour);
    lud_text_append(p->out, "0 0 %.2f %.2f re f\n", wide, height);
}

static void words(const lud_plot_pen *p, double x, double y, double size, lud_plot_anchor anchor,
                  lud_rgba colour, const char *text) {
    const double wide = size * width(text), left = anchor == LUD_PLOT_START    ? x
                                                   : anchor == LUD_PLOT_MIDDLE ? x - 0.5 * wide
                                                                               : x - wide;
    put_colour(p, "rg", colour);
    lud_text_append(p->out, "BT /F1 %.2f Tf %.2f %.2f Td (", size, left, p->height - y);
    while (*text) {
        const unsigned char letter = next_letter(&text);
        const bool sign = letter == '(' || letter == ')' || letter == '\\';
        lud_text_append(p->out, letter > '~' ? "\\%03o" : sign ? "\\%c" : "%c", letter);
    }
    lud_text_append(p->out, ") Tj ET\n");
}

static void line(const lud_plot_pen *p, double x0, double y0, double x1, double y1, double thick,
                 lud_rgba colour) {
    put_colour(p, "RG", colour);
    lud_text_append(p->out, "%.2f w\n", thick);
    put_point(p, x0, y0, "m");
    put_point(p, x1, y1, "l S");
}

static void curve_begin(const lud_plot_pen *p, double thick, lud_rgba colour) {
    put_colour(p, "RG", colour);
    lud_text_append(p->out, "%.2f w\n", thick);
}
static void path_point(const lud_plot_pen *p, double x, double y, bool first) {
    put_point(p, x, y, first ? "m" : "l");
}
static void curve_end(const lud_plot_pen *p) {
    lud_text_append(p->out, "S\n");
}
static void band_begin(const lud_plot_pen *p, lud_rgba colour) {
    lud_text_append(p->out, "/Pale gs\n");
    put_colour(p, "rg", colour);
}
static void band_end(const lud_plot_pen *p) {
    lud_text_append(p->out, "h f\n/Full gs\n");
}

/* ---- the file ---- */

enum { N_OBJECTS = 7 };

static void begin_object(lud_text *out, size_t *offsets, int number) {
    offsets[number] = out->length;
    lud_text_append(out, "%d 0 obj\n", number);
}

/* Objects, the table of where they begin, and where that is. */
static void put_file(lud_text *out, const lud_text *page, double wide, double height) {
    size_t offsets[N_OBJECTS] = {0};
    const char *const objects[N_OBJECTS] = {
        [1] = "<< /Type /Catalog /Pages 2 0 R >>",
        [2] = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        [5] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        [6] =
            ("<< /Pale << /Type /ExtGState /ca " LUD_PLOT_BAND " >> /Full << /Type /ExtGState /ca 1 >> >>")};
    lud_text_append(out, "%%PDF-1.4\n%%\xe2\xe3\xcf\xd3\n");
    for (int k = 1; k < N_OBJECTS; k++) {
        begin_object(out, offsets, k);
        if (k == 3)
            lud_text_append(
                out,
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.2f %.2f] /Contents 4 0 R /Resources << "
                "/Font << /F1 5 0 R >> /ExtGState 6 0 R >> >>",
                wide * points, height * points);
        else if (k == 4)
            lud_text_append(out, "<< /Length %zu >>\nstream\n%sendstream", page->length, page->bytes);
        else
            lud_text_append(out, "%s", objects[k]);
        lud_text_append(out, "\nendobj\n");
    }
    const size_t table = out->length;
    lud_text_append(out, "xref\n0 %d\n0000000000 65535 f \n", N_OBJECTS);
    for (int k = 1; k < N_OBJECTS; k++) lud_text_append(out, "%010zu 00000 n \n", offsets[k]);
    lud_text_append(out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%zu\n%%%%EOF\n", N_OBJECTS, table);
}

lud_status lud_plot_write_pdf(const char *path, const lud_plot_panel *panels, int n, int panel_width,
                              int height, float scale, lud_theme_name theme, lud_error *error) {
    lud_text page = {0}, out = {0};
    lud_plot_pen pen = {.out = &page,
                        .height = height,
                        .ground = ground,
                        .words = words,
                        .width = width,
                        .line = line,
                        .curve_begin = curve_begin,
                        .curve_point = path_point,
                        .curve_end = curve_end,
                        .band_begin = band_begin,
                        .band_point = path_point,
                        .band_end = band_end};
    lud_text_append(&page, "%g 0 0 %g 0 0 cm 1 j\n", points, points);
    lud_plot_draw(&pen, panels, n, panel_width, height, scale, theme);
    if (!page.failed) put_file(&out, &page, n * panel_width, height);
    const lud_status status = page.failed || out.failed ? lud_no_memory(error, "a plot")
                                                        : lud_file_write(path, out.bytes, out.length, error);
    lud_text_free(&page);
    lud_text_free(&out);
    return status;
}
