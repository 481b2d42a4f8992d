#include "tests/bench/bandit_images.h"

#include <math.h>
#include <stdbool.h>

#include "base/random.h"

/* Points xy on a field of 5 x 7; a blank lifts the pen. */
static const char *const strokes[LUD_BANDIT_KINDS] = {
    "103041453616050110",       "112026 1636",   "0110304142060646",
    "0110304142334445361605",   "30044446 3036", "40000333444536",
    "301001051636454433130304", "004016",        "103041423313020110 1304051636454433",
    "43130201103041453616"};

enum { MOST_SEGMENTS = 24 };
typedef struct segment {
    double x[2], y[2];
} segment;

/* Uniform draws of one image, in the order they are asked for. */
typedef struct hand {
    uint32_t index, n;
} hand;

static double between(hand *h, double low, double high) {
    const lud_words w = lud_draw((lud_random_key){2603, h->index}, h->n++, 0, LUD_PURPOSE_USER, 0);
    return low + (high - low) * lud_unit53(w.v[0], w.v[1]);
}

static double distance(const segment *s, double x, double y) {
    const double dx = s->x[1] - s->x[0], dy = s->y[1] - s->y[0], length = dx * dx + dy * dy;
    double along = length > 0.0 ? ((x - s->x[0]) * dx + (y - s->y[0]) * dy) / length : 0.0;
    along = fmin(fmax(along, 0.0), 1.0);
    return hypot(x - s->x[0] - along * dx, y - s->y[0] - along * dy);
}

/* The strokes of a digit under an affine map of its own, every point a little off; and one stroke anywhere.
 */
static int draw_strokes(hand *h, int kind, segment *to) {
    const double angle = between(h, -0.3, 0.3), shear = between(h, -0.25, 0.25), width = between(h, 1.4, 2.4),
                 height = between(h, 1.2, 1.9), left = between(h, -1.2, 1.2) + LUD_BANDIT_SIDE / 2.0,
                 top = between(h, -1.2, 1.2) + LUD_BANDIT_SIDE / 2.0;
    double last[2] = {0, 0};
    int n = 0;
    bool down = false;
    for (const char *c = strokes[kind]; *c; c++) {
        if (*c == ' ') {
            down = false;
            continue;
        }
        const double u = (c[0] - '0' - 2 + between(h, -0.2, 0.2)) * width,
                     v = (c[1] - '0' - 3 + between(h, -0.2, 0.2)) * height, x = u + shear * v;
        const double at[2] = {left + cos(angle) * x - sin(angle) * v, top + sin(angle) * x + cos(angle) * v};
        if (down) to[n++] = (segment){{last[0], at[0]}, {last[1], at[1]}};
        last[0] = at[0];
        last[1] = at[1];
        down = true;
        c++;
    }
    segment *crossing = &to[n++];
    for (int k = 0; k < 2; k++) {
        crossing->x[k] = between(h, 0.0, LUD_BANDIT_SIDE);
        crossing->y[k] = between(h, 0.0, LUD_BANDIT_SIDE);
    }
    return n;
}

int lud_bandit_image(uint32_t index, float pixel[LUD_BANDIT_PIXELS]) {
    hand h = {index, 0};
    segment segments[MOST_SEGMENTS];
    const int kind = (int)between(&h, 0.0, LUD_BANDIT_KINDS);
    const int n = draw_strokes(&h, kind, segments);
    const double pen = between(&h, 0.5, 1.1), ink = between(&h, 0.6, 1.0);
    for (int i = 0; i < LUD_BANDIT_PIXELS; i++) {
        const double x = i % LUD_BANDIT_SIDE + 0.5, y = i / LUD_BANDIT_SIDE + 0.5;
        double nearest = 1e9;
        for (int s = 0; s < n; s++) nearest = fmin(nearest, distance(&segments[s], x, y));
        const double noise = between(&h, -0.2, 0.2) + between(&h, -0.2, 0.2);
        pixel[i] = (float)(ink * fmin(fmax(pen + 0.5 - nearest, 0.0), 1.0) + noise);
    }
    return kind;
}
