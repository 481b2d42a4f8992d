/* As test_references.c, of the operations that learning is made of: losses, returns, attention, recurrences,
 * optimisers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/support_references.h"

/* ---- losses ---- */

static double huber(double e, double delta) {
    return delta == 0 ? e * e : fabs(e) <= delta ? e * e / 2 : delta * (fabs(e) - delta / 2);
}

/* Weights or none; sizes around a block and a vector of each. */
static void losses(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 7, 16, 17, 703};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const int64_t n = sizes[k];
            const float *x = numbers(0, n, -2, 2), *old = numbers(1, n, -2, 2),
                        *target = numbers(2, n, -2, 2);
            const float *weight = weighted ? numbers(3, n, 0, 2) : NULL;
            double slope[MOST];
            what = "mse_loss";
            for (int64_t i = 0; i < n; i++) {
                const double e = (double)x[i] - (double)target[i];
                expected[i] = e * e;
                slope[i] = 0.3 * (weight ? (double)weight[i] : 1) * 2 * e;
            }
            ops->mse_loss(device, n, x, target, weight, 0.3, fresh(0), fresh(1), false);
            check(0, n, expected, 1);
            check(1, n, slope, 1);
            what = "huber_loss";
            for (int64_t i = 0; i < n; i++) {
                const double e = (double)x[i] - (double)target[i];
                expected[i] = huber(e, 0.7);
                slope[i] = 0.3 * (weight ? (double)weight[i] : 1) * fmax(-0.7, fmin(e, 0.7));
            }
            ops->huber_loss(device, n, 0.7, x, target, weight, 0.3, fresh(0), fresh(1), false);
            check(0, n, expected, 1);
            check(1, n, slope, 1);
            for (int form = 0; form < 4; form++) {
                const double delta = form & 1 ? 0.6 : 0;
                const bool clipped_only = form & 2;
                what = "ppo_value_loss";
                for (int64_t i = 0; i < n; i++) {
                    const double change = fmax(-0.4, fmin((double)x[i] - (double)old[i], 0.4));
                    const double plain = (double)x[i] - (double)target[i],
                                 clipped = (double)old[i] + change - (double)target[i];
                    const bool takes = clipped_only || huber(clipped, delta) > huber(plain, delta);
                    const double e = takes ? clipped : plain;
                    const double rate = delta == 0 ? 2 * e : fmax(-delta, fmin(e, delta));
                    const bool inside = fabs((double)x[i] - (double)old[i]) <= 0.4;
                    expected[i] = huber(e, delta);
                    slope[i] = takes && !inside ? 0 : 0.3 * (weight ? (double)weight[i] : 1) * rate;
                }
                ops->ppo_value_loss(device, n, 0.4, delta, clipped_only, x, old, target, weight, 0.3,
                                    fresh(0), fresh(1), false);
                check(0, n, expected, 1);
                check(1, n, slope, 1);
            }
            what = "ppo_policy_loss";
            for (int64_t i = 0; i < n; i++) {
                const double ratio = exp((double)x[i] - (double)old[i]), a = (double)target[i];
                const double kept = fmax(0.8, fmin(ratio, 1.2));
                expected[i] = -fmin(ratio * a, kept * a);
                slope[i] = ratio * a <= kept * a ? -0.3 * (weight ? (double)weight[i] : 1) * ratio * a : 0;
            }
            ops->ppo_policy_loss(device, n, 0.2, x, old, target, weight, 0.3, fresh(0), NULL, fresh(1),
                                 false);
            check(0, n, expected, 5);
            check(1, n, slope, 5);
        }
    what = "cross_entropy_loss";
    const float *logits = numbers(0, ROWS * WIDTH, -3, 3);
    int32_t target[ROWS];
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        target[i] = i % 4 == 3 ? -1 : i * 5 % WIDTH;
        for (int j = 0; j < WIDTH; j++) sum += exp((double)logits[i * WIDTH + j]);
        expected[i] = target[i] < 0 ? 0 : log(sum) - (double)logits[i * WIDTH + target[i]];
    }
    ops->cross_entropy_loss(device, ROWS, WIDTH, logits, NULL, target, NULL, 1, fresh(0), NULL, false);
    check(0, ROWS, expected, 1);
}

/* ---- returns ---- */

/* Of N environments; with masks of episodes that were cut off, or without. */
static void returns_of(int N, bool cut_off) {
    enum { T = 9, LARGEST = 100 };
    const float *reward = numbers(0, T * N, -1, 1), *value = numbers(1, (T + 1) * N, -1, 1);
    float *mask = numbers(2, (T + 1) * N, 0, 1), *bad = numbers(3, (T + 1) * N, 0, 1);
    for (int i = 0; i < (T + 1) * N; i++) {
        mask[i] = mask[i] < 0.25f ? 0.0f : 1.0f;
        bad[i] = bad[i] < 0.2f ? 0.0f : 1.0f;
    }
    static double advantage[T * LARGEST], total[T * LARGEST], discounted[T * LARGEST], n_step[T * LARGEST];
    for (int e = 0; e < N; e++) {
        double a = 0, r = (double)value[T * N + e];
        for (int t = T - 1; t >= 0; t--) {
            const int at = t * N + e, next = at + N;
            const double m = (double)mask[next], b = cut_off ? (double)bad[next] : 1;
            const double delta = (double)reward[at] + 0.9 * (double)value[next] * m - (double)value[at];
            a = (delta + 0.9 * 0.8 * m * a) * b;
            advantage[at] = a;
            total[at] = a + (double)value[at];
            r = ((double)reward[at] + 0.9 * m * r) * b + (1 - b) * (double)value[at];
            discounted[at] = r;
        }
        for (int t = 0; t < T; t++) {
            double sum = 0, factor = 1;
            int s = t;
            bool over = false;
            for (; s < T && s < t + 4 && !over; s++) {
                sum += factor * (double)reward[s * N + e];
                factor *= 0.9;
                over = mask[(s + 1) * N + e] == 0.0f;
            }
            n_step[t * N + e] = sum + (over ? 0 : factor * (double)value[s * N + e]);
        }
    }
    what = "gae";
    ops->gae(device, T, N, 0.9, 0.8, reward, value, mask, cut_off ? bad : NULL, fresh(0), fresh(1));
    check(0, T * N, advantage, 1);
    check(1, T * N, total, 1);
    ops->gae(device, T, N, 0.9, 0.8, reward, value, mask, cut_off ? bad : NULL, NULL, fresh(1));
    check(1, T * N, total, 1);
    ops->gae(device, T, N, 0.9, 0.8, reward, value, mask, cut_off ? bad : NULL, fresh(0), NULL);
    check(0, T * N, advantage, 1);
    what = "discounted_returns";
    ops->discounted_returns(device, T, N, 0.9, reward, value, mask, cut_off ? bad : NULL, fresh(0));
    check(0, T * N, discounted, 1);
    what = "n_step_returns";
    ops->n_step_returns(device, T, N, 4, 0.9, reward, value, mask, fresh(0));
    check(0, T * N, n_step, 1);
}

/* Around vectors of each instruction set, and several of them. */
static void returns(void **state) {
    (void)state;
    static const int environments[] = {1, 5, 7, 8, 9, 15, 16, 17, 32, 33, 48, 63, 65, 100};
    for (size_t k = 0; k < sizeof environments / sizeof *environments; k++)
        for (int cut_off = 0; cut_off < 2; cut_off++) returns_of(environments[k], cut_off);
}

/* ---- attention and recurrences ---- */

static void attention(void **state) {
    (void)state;
    enum { TOKENS = 9, HEADS = 2, KV = 1, D = 4 };
    static const int32_t offsets[] = {0, 5, 9}, keys[] = {0, 5}, lengths[] = {5, 4};
    const lud_attention shape = {.n_rows = 2,
                                 .n_tokens = TOKENS,
                                 .heads = HEADS,
                                 .kv_heads = KV,
                                 .head_dim = D,
                                 .max_keys = 5,
                                 .scale = 0.5,
                                 .causal = true,
                                 .query_offsets = offsets,
                                 .key_offsets = keys,
                                 .key_lengths = lengths};
    const float *q = numbers(0, TOKENS * HEADS * D, -2, 2), *k = numbers(1, TOKENS * KV * D, -2, 2),
                *v = numbers(2, TOKENS * KV * D, -2, 2);
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++) {
            const int first = t < 5 ? 0 : 5;
            double sum = 0, value[D] = {0};
            for (int s = first; s <= t; s++) {
                double score = 0;
                for (int d = 0; d < D; d++)
                    score += 0.5 * (double)q[(t * HEADS + h) * D + d] * (double)k[s * D + d];
                sum += exp(score);
                for (int d = 0; d < D; d++) value[d] += exp(score) * (double)v[s * D + d];
            }
            for (int d = 0; d < D; d++) expected[(t * HEADS + h) * D + d] = value[d] / sum;
        }
    what = "attention";
    ops->attention(device, &shape, q, k, v, fresh(0), NULL);
    check(0, TOKENS * HEADS * D, expected, 1);
    what = "rotary";
    int32_t position[TOKENS];
    for (int t = 0; t < TOKENS; t++) position[t] = 3 * t;
    for (int i = 0; i < TOKENS * HEADS * D; i += 2) {
        const double angle = position[i / (HEADS * D)] * pow(100.0, -(double)(i % D) / D);
        expected[i] = (double)q[i] * cos(angle) - (double)q[i + 1] * sin(angle);
        expected[i + 1] = (double)q[i] * sin(angle) + (double)q[i + 1] * cos(angle);
    }
    ops->rotary(device, TOKENS, HEADS, D, 100.0, position, false, q, fresh(0));
    check(0, TOKENS * HEADS * D, expected, 1);
    what = "graph_attention"; /* no features of edges; the last node has none */
    enum { NODES = 4, EDGES = 6, C = 3 };
    static const int32_t into[] = {0, 2, 3, 6, 6}, from[] = {1, 2, 0, 0, 1, 3};
    const lud_edges edges = {.n_nodes = NODES, .n_edges = EDGES, .offsets = into, .source = from};
    for (int i = 0; i < NODES; i++)
        for (int h = 0; h < 2; h++) {
            double sum = 1e-16, value[C] = {0}, largest = -INFINITY, scores[EDGES];
            for (int e = into[i]; e < into[i + 1]; e++) {
                scores[e] = 0;
                for (int c = 0; c < C; c++)
                    scores[e] +=
                        (double)q[(i * 2 + h) * C + c] * (double)k[(from[e] * 2 + h) * C + c] / sqrt(C);
                largest = fmax(largest, scores[e]);
            }
            for (int e = into[i]; e < into[i + 1]; e++) sum += exp(scores[e] - largest);
            for (int e = into[i]; e < into[i + 1]; e++)
                for (int c = 0; c < C; c++)
                    value[c] += exp(scores[e] - largest) / sum * (double)v[(from[e] * 2 + h) * C + c];
            for (int c = 0; c < C; c++) expected[(i * 2 + h) * C + c] = value[c];
        }
    ops->graph_attention(device, &edges, 2, C, 0, q, k, v, NULL, NULL, fresh(1), fresh(0));
    check(0, NODES * 2 * C, expected, 1);
}

/* With a state to begin with, masks and biases, or without any of them. */
static void recurrences_of(unsigned without) {
    enum { T = 6, N = 3, S = 4 };
    const float *nu = numbers(0, S, -2, 0), *theta = numbers(1, S, -1, 1), *gamma = numbers(2, S, -1, 0),
                *v = numbers(3, T * N * S * 2, -1, 1), *h0 = numbers(4, N * S * 2, -1, 1);
    float *mask = numbers(5, T * N, 0, 1);
    for (int i = 0; i < T * N; i++) mask[i] = mask[i] < 0.3f && !(without & 1) ? 0.0f : 1.0f;
    for (int i = 0; i < N * S * 2 && without & 2; i++) in[4][i] = 0;
    for (int e = 0; e < N; e++)
        for (int s = 0; s < S; s++) {
            const double size = exp(-exp((double)nu[s])), angle = exp((double)theta[s]);
            double re = (double)h0[(e * S + s) * 2], im = (double)h0[(e * S + s) * 2 + 1];
            for (int t = 0; t < T; t++) {
                const double m = (double)mask[t * N + e], a = m * re, b = m * im, g = exp((double)gamma[s]);
                const int at = ((t * N + e) * S + s) * 2;
                expected[at] = re = size * (cos(angle) * a - sin(angle) * b) + g * (double)v[at];
                expected[at + 1] = im = size * (sin(angle) * a + cos(angle) * b) + g * (double)v[at + 1];
            }
        }
    what = "lru";
    ops->lru(device, T, N, S, nu, theta, gamma, v, without & 2 ? NULL : h0, without & 1 ? NULL : mask,
             fresh(0));
    check(0, T * N * S * 2, expected, 1);
    what = "gru";
    const float *i = numbers(3, T * N * 3 * S, -1, 1), *wh = numbers(0, 3 * S * S, -1, 1),
                *bh = numbers(1, 3 * S, -1, 1);
    for (int r = 0; r < 3 * S && without & 4; r++) in[1][r] = 0;
    for (int e = 0; e < N; e++) {
        double h[S];
        for (int s = 0; s < S; s++) h[s] = (double)h0[e * S + s];
        for (int t = 0; t < T; t++) {
            double g[3 * S], next[S];
            for (int s = 0; s < S; s++) h[s] *= (double)mask[t * N + e];
            for (int r = 0; r < 3 * S; r++) {
                g[r] = (double)bh[r];
                for (int s = 0; s < S; s++) g[r] += (double)wh[r * S + s] * h[s];
            }
            const float *own = i + (t * N + e) * 3 * S;
            for (int s = 0; s < S; s++) {
                const double r = 1 / (1 + exp(-((double)own[s] + g[s]))),
                             z = 1 / (1 + exp(-((double)own[S + s] + g[S + s])));
                next[s] = (1 - z) * tanh((double)own[2 * S + s] + r * g[2 * S + s]) + z * h[s];
            }
            for (int s = 0; s < S; s++) expected[(t * N + e) * S + s] = h[s] = next[s];
        }
    }
    ops->gru(device, T, N, S, i, wh, without & 4 ? NULL : bh, without & 2 ? NULL : h0,
             without & 1 ? NULL : mask, fresh(0), fresh(1));
    check(0, T * N * S, expected, 1);
}

static void recurrences(void **state) {
    (void)state;
    for (unsigned without = 0; without < 8; without++) recurrences_of(without);
}

/* ---- optimisers, statistics ---- */

static void updates(void **state) {
    (void)state;
    enum { N = 203 };
    const float *g = numbers(0, N, -1, 1), *m0 = numbers(1, N, -1, 1), *v0 = numbers(2, N, 0, 1),
                *w0 = numbers(3, N, -1, 1);
    const float schedule[3] = {0.01f, 1.5f, 0.02f}, sgd[2] = {0.01f, 0.02f}, scale = 0.5f;
    double m[N], v[N], w[N];
    for (int k = 0; k < 4; k++) { /* decay before and after; gradients as they are and scaled */
        const bool late = k % 2, scaled = k / 2;
        const lud_adam adam = {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-3, .l2 = 0.1, .decay_after = late};
        for (int i = 0; i < N; i++) {
            const double d = (scaled ? 0.5 : 1) * (double)g[i] + 0.1 * (double)w0[i],
                         kept = 1 - (double)schedule[2];
            m[i] = 0.9 * (double)m0[i] + 0.1 * d;
            v[i] = 0.99 * (double)v0[i] + 0.01 * d * d;
            const double step = (double)schedule[0] * m[i] / (1.5 * sqrt(v[i]) + 1e-3);
            w[i] = late ? ((double)w0[i] - step) * kept : (double)w0[i] * kept - step;
        }
        what = "adam_step";
        memcpy(fresh(0), m0, sizeof *m0 * N);
        memcpy(fresh(1), v0, sizeof *v0 * N);
        memcpy(fresh(2), w0, sizeof *w0 * N);
        ops->adam_step(device, N, &adam, schedule, scaled ? &scale : NULL, g, out[0], out[1], out[2]);
        check(0, N, m, 1);
        check(1, N, v, 1);
        check(2, N, w, 1);
    }
    what = "sgd_step";
    for (int k = 0; k < 4; k++) { /* gradients as they are and scaled; without momentum and with it */
        const bool momentum = k % 2, scaled = k / 2;
        for (int i = 0; i < N; i++) {
            m[i] = (momentum ? 0.7 * (double)m0[i] : 0) + (scaled ? 0.5 : 1) * (double)g[i] +
                   0.1 * (double)w0[i];
            w[i] = (double)w0[i] * (1 - (double)sgd[1]) - (double)sgd[0] * m[i];
        }
        memcpy(fresh(0), m0, sizeof *m0 * N);
        memcpy(fresh(2), w0, sizeof *w0 * N);
        ops->sgd_step(device, N, 0.7, 0.1, sgd, scaled ? &scale : NULL, g, momentum ? out[0] : NULL, out[2]);
        if (momentum) check(0, N, m, 1);
        check(2, N, w, 1);
    }
    what = "clip_scale";
    const float squares = 25.0f;
    const double norm = 5, scaled = 2 / (5 + 1e-6);
    ops->clip_scale(device, 2.0, &squares, fresh(0), fresh(1));
    check(0, 1, &norm, 0);
    check(1, 1, &scaled, 0);
    what = "normalise";
    const float statistics[3] = {0.6f, 1.2f, 0.8f};
    const double mean = 0.75, deviation = sqrt(1.5 - 0.75 * 0.75);
    for (int i = 0; i < N; i++) expected[i] = ((double)g[i] - mean) / deviation;
    ops->normalise(device, N, 1, statistics, false, g, fresh(0));
    check(0, N, expected, 1);
    what = "normaliser_update";
    const float batch_mean = 2.0f, batch_square = 9.0f;
    const double after[3] = {0.9 * (double)0.6f + 0.2, 0.9 * (double)1.2f + 0.9, 0.9 * (double)0.8f + 0.1};
    memcpy(fresh(0), statistics, sizeof statistics);
    ops->normaliser_update(device, 1, 0.9, &batch_mean, &batch_square, out[0]);
    check(0, 3, after, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses), cmocka_unit_test(returns),
                                       cmocka_unit_test(attention), cmocka_unit_test(recurrences),
                                       cmocka_unit_test(updates)};
    return run_with_every_set(tests, sizeof tests / sizeof *tests);
}
