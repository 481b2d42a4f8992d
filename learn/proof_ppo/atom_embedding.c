#include "learn/proof_ppo/atom_embedding.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { MAX_PARTS = 2 + LUD_PROOF_MAX_ARITY }; /* predicate, arguments and counts */

static const lud_map negate = {LUD_MAP_AFFINE, -1.0, 0.0};
static const double least_square = 1e-12; /* under a root, whose derivative at zero is infinite */

bool lud_proof_can_embed(lud_proof_atom_embedder kind, int64_t embedding_size, int max_arity) {
    const bool pairs = kind == LUD_PROOF_EMBED_COMPLEX || kind == LUD_PROOF_EMBED_ROTATE;
    return !pairs || (embedding_size % 2 == 0 && max_arity <= 2);
}

/* p + a - b, or p - a - b; further arguments are added. */
static int sum_of(lud_nn *nn, const int *parts, int n, int counts, bool minus_first) {
    int sum = counts >= 0 ? lud_nn_add(nn, parts[0], counts) : parts[0];
    for (int k = 1; k < n; k++) {
        const bool minus = k == 2 || (k == 1 && minus_first);
        sum = lud_nn_add(nn, sum, minus ? lud_nn_map(nn, parts[k], negate) : parts[k]);
    }
    return sum;
}

/* ---- complex numbers: real parts before imaginary ones ---- */

/* x y, or x conj(y). */
static int complex_product(lud_nn *nn, int x, int y, bool conjugate) {
    const int64_t half = lud_nn_width(nn, x) / 2;
    const int a = lud_nn_slice(nn, x, 0, half), b = lud_nn_slice(nn, x, half, half);
    const int c = lud_nn_slice(nn, y, 0, half);
    int d = lud_nn_slice(nn, y, half, half);
    if (conjugate) d = lud_nn_map(nn, d, negate);
    const int real =
        lud_nn_add(nn, lud_nn_multiply(nn, a, c), lud_nn_map(nn, lud_nn_multiply(nn, b, d), negate));
    const int imaginary = lud_nn_add(nn, lud_nn_multiply(nn, a, d), lud_nn_multiply(nn, b, c));
    return lud_nn_concat(nn, (int[]){real, imaginary}, 2);
}

/* |z|^power, half as wide as z. */
static int modulus_to(lud_nn *nn, int z, double power) {
    const int64_t half = lud_nn_width(nn, z) / 2;
    const int square = lud_nn_map(nn, z, (lud_map){LUD_MAP_SQUARE, 0.0, 0.0});
    const int sum = lud_nn_add(nn, lud_nn_slice(nn, square, 0, half), lud_nn_slice(nn, square, half, half));
    return lud_nn_map(nn, lud_nn_map(nn, sum, (lud_map){LUD_MAP_AFFINE, 1.0, least_square}),
                      (lud_map){LUD_MAP_POWER, 0.5 * power, 0.0});
}

/* |a r - b|, r = p / |p| (Sun et al., "RotatE", 2019): how far a turned by the predicate is from b. */
static int rotate(lud_nn *nn, const int *parts, int n) {
    const int inverse = modulus_to(nn, parts[0], -1.0);
    const int turn = lud_nn_multiply(nn, parts[0], lud_nn_concat(nn, (int[]){inverse, inverse}, 2));
    int z = complex_product(nn, parts[1], turn, false);
    if (n > 2) z = lud_nn_add(nn, z, lud_nn_map(nn, parts[2], negate));
    return modulus_to(nn, z, 1.0);
}

/* ---- sequences p, a, b, ... ---- */

static int layer(lud_nn *nn, int x, const char *name, int place, int64_t width, lud_map map) {
    char text[64];
    snprintf(text, sizeof text, place < 0 ? "atom.%s" : "atom.%s%d", name, place);
    return lud_nn_linear(nn, x, text, width, map);
}

/* sum over t of weights[.][t] values[t]; weights[atoms][n]. */
static int weighted_sum(lud_nn *nn, int weights, const int *values, int n) {
    int sum = -1;
    for (int t = 0; t < n; t++) {
        const int weight =
            lud_nn_broadcast_groups(nn, lud_nn_slice(nn, weights, t, 1), lud_nn_width(nn, values[t]), 1.0);
        const int term = lud_nn_multiply(nn, weight, values[t]);
        sum = sum < 0 ? term : lud_nn_add(nn, sum, term);
    }
    return sum;
}

/* The last hidden state of a gated recurrent unit (Cho et al., 2014), from h = 0:
 * r, z = sigma(W x + U h), c = tanh(W x + r (U h)), h <- c + z (h - c). Written out, as the parts are no rows
 * of one sequence; all steps share their parameters. */
static int recurrent(lud_nn *nn, const int *parts, int n, int64_t width) {
    int h = lud_nn_map(nn, parts[0], (lud_map){LUD_MAP_AFFINE, 0.0, 0.0});
    for (int t = 0; t < n; t++) {
        const int input = layer(nn, parts[t], "gru.input", -1, 3 * width, LUD_LINEAR);
        const int hidden = layer(nn, h, "gru.hidden", -1, 3 * width, LUD_LINEAR);
        int gate[2];
        for (int k = 0; k < 2; k++)
            gate[k] = lud_nn_map(nn,
                                 lud_nn_add(nn, lud_nn_slice(nn, input, k * width, width),
                                            lud_nn_slice(nn, hidden, k * width, width)),
                                 LUD_SIGMOID);
        const int kept = lud_nn_multiply(nn, gate[0], lud_nn_slice(nn, hidden, 2 * width, width));
        const int candidate =
            lud_nn_map(nn, lud_nn_add(nn, lud_nn_slice(nn, input, 2 * width, width), kept), LUD_TANH);
        const int change = lud_nn_add(nn, h, lud_nn_map(nn, candidate, negate));
        h = lud_nn_add(nn, candidate, lud_nn_multiply(nn, gate[1], change));
    }
    return h;
}

/* A mean of the parts, each through a layer of its place, with weights by a softmax over learned scores. */
static int attention(lud_nn *nn, const int *parts, int n, int64_t width) {
    int scores[MAX_PARTS], values[MAX_PARTS];
    for (int t = 0; t < n; t++) {
        scores[t] = layer(nn, parts[t], "score", t, 1, LUD_LINEAR);
        values[t] = layer(nn, parts[t], "value", t, width, LUD_LINEAR);
    }
    return weighted_sum(nn, lud_nn_softmax(nn, lud_nn_concat(nn, scores, n), -1, 1.0), values, n);
}

/* One encoder layer (Vaswani et al., 2017, post-norm, one head) over the parts, each of which has passed a
 * layer of its place; the mean of what comes out. */
static int transformer(lud_nn *nn, const int *parts, int n, int64_t width) {
    int x[MAX_PARTS], q[MAX_PARTS], k[MAX_PARTS], v[MAX_PARTS], scores[MAX_PARTS];
    for (int t = 0; t < n; t++) {
        x[t] = layer(nn, parts[t], "input", t, width, LUD_LINEAR);
        q[t] = layer(nn, x[t], "query", -1, width, LUD_LINEAR);
        k[t] = layer(nn, x[t], "key", -1, width, LUD_LINEAR);
        v[t] = layer(nn, x[t], "value", -1, width, LUD_LINEAR);
    }
    int mean = -1;
    for (int t = 0; t < n; t++) {
        for (int s = 0; s < n; s++)
            scores[s] = lud_nn_sum_groups(nn, lud_nn_multiply(nn, q[t], k[s]), width, 1.0);
        const int weights = lud_nn_softmax(nn, lud_nn_concat(nn, scores, n), -1, 1.0 / sqrt((double)width));
        int y = layer(nn, weighted_sum(nn, weights, v, n), "output", -1, width, LUD_LINEAR);
        y = lud_nn_layer_norm(nn, lud_nn_add(nn, x[t], y), "atom.norm1", 1e-5);
        const int wide = layer(nn, y, "forward1", -1, 2 * width, LUD_RELU);
        const int narrow = layer(nn, wide, "forward2", -1, width, LUD_LINEAR);
        y = lud_nn_layer_norm(nn, lud_nn_add(nn, y, narrow), "atom.norm2", 1e-5);
        mean = mean < 0 ? y : lud_nn_add(nn, mean, y);
    }
    return lud_nn_map(nn, mean, (lud_map){LUD_MAP_AFFINE, 1.0 / n, 0.0});
}

int lud_proof_embed_atoms(lud_nn *nn, lud_proof_atom_embedder kind, const int *given, int n, int counts) {
    assert(n > 1 && n < MAX_PARTS);
    const int64_t width = lud_nn_width(nn, given[0]);
    int parts[MAX_PARTS], n_parts = n;
    for (int k = 0; k < n; k++) parts[k] = given[k];
    if (counts >= 0) parts[n_parts++] = counts; /* for those that keep parts apart */
    switch (kind) {
    case LUD_PROOF_EMBED_TRANSE:
    case LUD_PROOF_EMBED_SUM:
        return sum_of(nn, given, n, counts, kind == LUD_PROOF_EMBED_SUM);
    case LUD_PROOF_EMBED_CONCAT:
        return lud_nn_concat(nn, parts, n_parts);
    case LUD_PROOF_EMBED_COMPLEX: {
        int product = complex_product(nn, given[0], given[1], false);
        if (n > 2) product = complex_product(nn, product, given[2], true);
        return counts >= 0 ? lud_nn_add(nn, product, counts) : product;
    }
    case LUD_PROOF_EMBED_ROTATE: {
        const int distance = rotate(nn, given, n);
        return counts >= 0 ? lud_nn_concat(nn, (int[]){distance, counts}, 2) : distance;
    }
    case LUD_PROOF_EMBED_RNN:
        return recurrent(nn, parts, n_parts, width);
    case LUD_PROOF_EMBED_ATTENTION:
        return attention(nn, parts, n_parts, width);
    case LUD_PROOF_EMBED_TRANSFORMER:
        return transformer(nn, parts, n_parts, width);
    }
    return -1;
}
