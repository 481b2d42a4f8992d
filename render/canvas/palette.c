#include "render/canvas/palette.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1 << 15, COLOURS = LUD_PALETTE_TRANSPARENT, TOLERANCE = 3 * 7 * 7 };

/* Colours that share their upper five bits a channel, counted together. */
typedef struct bin {
    uint64_t n, r, g, b;
} bin;

struct lud_palette {
    bin all[BINS];       /* of all pictures that were counted */
    uint32_t seen[BINS]; /* pixels of the present picture */
    uint8_t index[BINS]; /* bin -> nearest palette colour */
    bool valid;
    bool more; /* pictures were counted since it was made */
    uint32_t colours[COLOURS];
    uint16_t order[BINS];
    uint16_t sorted[BINS]; /* scratch of sort_along */
};

/* Bins order[begin..end) that will share one colour. */
typedef struct box {
    int begin, end;
    uint64_t n;
    int axis;       /* channel of the widest extent */
    uint64_t worth; /* pixels times squared extent: the box with most is cut next */
} box;

lud_palette *lud_palette_create(void) {
    return calloc(1, sizeof(lud_palette));
}
void lud_palette_destroy(lud_palette *palette) {
    free(palette);
}

static int bin_of(uint32_t pixel) {
    return (int)((pixel >> 9 & 0x7C00) | (pixel >> 6 & 0x3E0) | (pixel >> 3 & 0x1F));
}

static int channel(const bin *b, int axis) {
    uint64_t sum = axis == 0 ? b->r : axis == 1 ? b->g : b->b;
    return (int)(sum / b->n);
}

static box measured(const lud_palette *p, int begin, int end) {
    box x = {.begin = begin, .end = end};
    int low[3] = {255, 255, 255}, high[3] = {0, 0, 0};
    for (int k = begin; k < end; k++) {
        const bin *b = &p->all[p->order[k]];
        x.n += b->n;
        for (int axis = 0; axis < 3; axis++) {
            int value = channel(b, axis);
            if (value < low[axis]) low[axis] = value;
            if (value > high[axis]) high[axis] = value;
        }
    }
    int widest = 0;
    for (int axis = 0; axis < 3; axis++)
        if (high[axis] - low[axis] > widest) {
            widest = high[axis] - low[axis];
            x.axis = axis;
        }
    x.worth = x.n * (uint64_t)(widest * widest);
    return x;
}

/* Orders a box's bins along its widest channel; counting sort: equal values keep their order everywhere. */
static void sort_along(lud_palette *p, box x) {
    int start[257] = {0};
    uint16_t *sorted = p->sorted;
    for (int k = x.begin; k < x.end; k++) start[channel(&p->all[p->order[k]], x.axis) + 1]++;
    for (int v = 0; v < 256; v++) start[v + 1] += start[v];
    for (int k = x.begin; k < x.end; k++)
        sorted[start[channel(&p->all[p->order[k]], x.axis)]++] = p->order[k];
    memcpy(p->order + x.begin, sorted, (size_t)(x.end - x.begin) * sizeof *sorted);
}

static uint32_t mean_of(const lud_palette *p, box x) {
    uint64_t n = 0, r = 0, g = 0, b = 0;
    for (int k = x.begin; k < x.end; k++) {
        const bin *one = &p->all[p->order[k]];
        n += one->n;
        r += one->r;
        g += one->g;
        b += one->b;
    }
    return 0xFF000000u | (uint32_t)((r + n / 2) / n) << 16 | (uint32_t)((g + n / 2) / n) << 8 |
           (uint32_t)((b + n / 2) / n);
}

static int distance(uint32_t a, uint32_t b) {
    int dr = (int)(a >> 16 & 255) - (int)(b >> 16 & 255), dg = (int)(a >> 8 & 255) - (int)(b >> 8 & 255);
    int db = (int)(a & 255) - (int)(b & 255);
    return dr * dr + dg * dg + db * db;
}

static uint32_t bin_colour(const bin *b) {
    return 0xFF000000u | (uint32_t)channel(b, 0) << 16 | (uint32_t)channel(b, 1) << 8 |
           (uint32_t)channel(b, 2);
}

static int nearest(const lud_palette *p, uint32_t colour) {
    int best = 0, best_distance = distance(p->colours[0], colour);
    for (int k = 1; k < COLOURS && best_distance; k++) {
        int d = distance(p->colours[k], colour);
        if (d < best_distance) {
            best = k;
            best_distance = d;
        }
    }
    return best;
}

/* Median cut (Heckbert, "Color image quantization for frame buffer display", SIGGRAPH 1982). */
static void cut(lud_palette *p) {
    int n = 0, n_boxes = 1;
    for (int k = 0; k < BINS; k++)
        if (p->all[k].n) p->order[n++] = (uint16_t)k;
    box boxes[COLOURS] = {measured(p, 0, n)};
    while (n_boxes < COLOURS) {
        int most = -1;
        for (int k = 0; k < n_boxes; k++)
            if (boxes[k].end - boxes[k].begin > 1 && boxes[k].worth &&
                (most < 0 || boxes[k].worth > boxes[most].worth))
                most = k;
        if (most < 0) break;
        box x = boxes[most];
        sort_along(p, x);
        uint64_t half = 0;
        int middle = x.begin;
        while (middle < x.end - 1 && (half + p->all[p->order[middle]].n) * 2 <= x.n)
            half += p->all[p->order[middle++]].n;
        if (middle == x.begin) middle++;
        boxes[most] = measured(p, x.begin, middle);
        boxes[n_boxes++] = measured(p, middle, x.end);
    }
    for (int k = 0; k < COLOURS; k++) p->colours[k] = k < n_boxes ? mean_of(p, boxes[k]) : 0xFF000000u;
    for (int k = 0; k < n; k++) p->index[p->order[k]] = (uint8_t)nearest(p, bin_colour(&p->all[p->order[k]]));
    p->valid = true;
    p->more = false;
}

void lud_palette_count(lud_palette *p, const uint32_t *pixels, int width, int height, int pitch,
                       uint16_t *words) {
    for (int y = 0; y < height; y++) {
        const uint32_t *row = pixels + (size_t)y * (size_t)(pitch / 4);
        for (int x = 0; x < width; x++) {
            const int k = bin_of(row[x]);
            bin *b = &p->all[k];
            if (!b->n && p->valid) p->index[k] = (uint8_t)nearest(p, row[x] | 0xFF000000u);
            b->n++;
            b->r += row[x] >> 16 & 255;
            b->g += row[x] >> 8 & 255;
            b->b += row[x] & 255;
            *words++ = (uint16_t)k;
        }
    }
    p->more = true;
}

void lud_palette_translate(lud_palette *p, const uint16_t *words, int width, int height, uint8_t *indices,
                           int index_pitch, uint32_t colours[256]) {
    const int n = width * height;
    const uint32_t few = (uint32_t)n / 2000 + 1;
    bool renew = !p->valid;
    memset(p->seen, 0, sizeof p->seen);
    for (int i = 0; i < n; i++) p->seen[words[i]]++;
    for (int k = 0; k < BINS && !renew && p->more; k++)
        renew = p->seen[k] >= few && distance(p->colours[p->index[k]], bin_colour(&p->all[k])) > TOLERANCE;
    if (renew) cut(p);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            indices[(size_t)y * (size_t)index_pitch + (size_t)x] = p->index[*words++];
    memcpy(colours, p->colours, sizeof p->colours);
    colours[LUD_PALETTE_TRANSPARENT] = 0;
}
