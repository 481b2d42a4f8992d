#include "render/canvas/shape.h"

#include <math.h>
#include <string.h>

static uint8_t coverage(float distance) {
    float inside = 0.5f - distance;
    return (uint8_t)(fminf(fmaxf(inside, 0), 1) * 255 + 0.5f);
}

void lud_shape_ring(uint8_t *mask, int width, int height, float cx, float cy, float outer_radius,
                    float inner_radius, float from, float sweep) {
    const float whole = 6.28318530717958648f;
    float half = sweep * 0.5f, middle = from + half;
    float mx = cosf(middle), my = sinf(middle), sin_half = sinf(half), cos_half = cosf(half);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float dx = (float)x + 0.5f - cx, dy = (float)y + 0.5f - cy;
            float radius = hypotf(dx, dy), d = radius - outer_radius;
            if (inner_radius > 0) d = fmaxf(d, inner_radius - radius);
            if (sweep < whole) {
                /* in the frame of the sector's axis the edge is a half-line at +-half */
                float along = dx * mx + dy * my, across = fabsf(dy * mx - dx * my);
                float edge = across * cos_half - along * sin_half;
                d = fmaxf(d, edge);
            }
            mask[y * width + x] = coverage(d);
        }
}

static float squared_distance_to_segment(float px, float py, const float a[2], const float b[2]) {
    float vx = b[0] - a[0], vy = b[1] - a[1], wx = px - a[0], wy = py - a[1];
    float length = vx * vx + vy * vy;
    float t = length > 0 ? fminf(fmaxf((wx * vx + wy * vy) / length, 0), 1) : 0;
    const float dx = wx - t * vx, dy = wy - t * vy;
    return dx * dx + dy * dy;
}

void lud_shape_polyline(uint8_t *mask, int width, int height, const float (*points)[2], int n,
                        float line_width) {
    memset(mask, 0, (size_t)width * (size_t)height);
    const float half = line_width * 0.5f, reach = half + 1, outside = (half + 0.5f) * (half + 0.5f);
    for (int k = 0; k + 1 < n; k++) {
        const float *a = points[k], *b = points[k + 1];
        int x0 = (int)floorf(fminf(a[0], b[0]) - reach), x1 = (int)ceilf(fmaxf(a[0], b[0]) + reach);
        int y0 = (int)floorf(fminf(a[1], b[1]) - reach), y1 = (int)ceilf(fmaxf(a[1], b[1]) + reach);
        if (x0 < 0) x0 = 0;
        if (y0 < 0) y0 = 0;
        if (x1 > width) x1 = width;
        if (y1 > height) y1 = height;
        const float vx = b[0] - a[0], vy = b[1] - a[1], across = reach * hypotf(vx, vy);
        for (int y = y0; y < y1; y++) {
            int from = x0, to = x1;
            if (fabsf(vy) > 1) { /* beside the line is most of the box of a long one */
                const float middle = a[0] + ((float)y + 0.5f - a[1]) * vx / vy, side = across / fabsf(vy) + 1;
                from = (int)fmaxf((float)x0, floorf(middle - side));
                to = (int)fminf((float)x1, ceilf(middle + side));
            }
            for (int x = from; x < to; x++) {
                const float squared = squared_distance_to_segment((float)x + 0.5f, (float)y + 0.5f, a, b);
                if (squared >= outside) continue;
                const uint8_t c = coverage(sqrtf(squared) - half);
                if (c > mask[y * width + x]) mask[y * width + x] = c;
            }
        }
    }
}

void lud_shape_polygon(uint8_t *mask, int width, int height, const float (*points)[2], int n) {
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float px = (float)x + 0.5f, py = (float)y + 0.5f, nearest = 1e9f;
            int inside = 0;
            for (int i = 0, j = n - 1; i < n; j = i++) {
                nearest = fminf(nearest, squared_distance_to_segment(px, py, points[j], points[i]));
                if ((points[i][1] > py) != (points[j][1] > py) &&
                    px < (points[j][0] - points[i][0]) * (py - points[i][1]) / (points[j][1] - points[i][1]) +
                             points[i][0])
                    inside = !inside;
            }
            nearest = sqrtf(nearest);
            mask[y * width + x] = coverage(inside ? -nearest : nearest);
        }
}
