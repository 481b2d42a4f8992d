/* Scores on arrays of `real`. scores.c includes this file for float and for double; no include guard on
 * purpose. */

void NAME(lud_kge_query)(const lud_kge_shape *shape, lud_kge_side side, const real *anchor,
                         const real *relation, real *q) {
    const int64_t n = shape->dimension;
    const real *a = anchor, *b = anchor + n;
    const bool rotates = shape->scorer == LUD_KGE_ROTATE;
    /* candidates at the head see the inverse: -r, conj(r), the rotation back */
    const real sign = side == LUD_KGE_TAIL ? 1 : -1;
    switch (shape->scorer) {
    case LUD_KGE_TRANSE:
        for (int64_t k = 0; k < n; k++) q[k] = a[k] + sign * relation[k];
        break;
    case LUD_KGE_DISTMULT:
        for (int64_t k = 0; k < n; k++) q[k] = a[k] * relation[k];
        break;
    default: /* the rotation by an angle is the product with a number of length one */
        for (int64_t k = 0; k < n; k++) {
            const real x = rotates ? COS(relation[k]) : relation[k];
            const real y = sign * (rotates ? SIN(relation[k]) : relation[n + k]);
            q[k] = a[k] * x - b[k] * y;
            q[n + k] = a[k] * y + b[k] * x;
        }
    }
}

void NAME(lud_kge_query_backward)(const lud_kge_shape *shape, lud_kge_side side, const real *anchor,
                                  const real *relation, const real *dq, real *danchor, real *drelation) {
    const int64_t n = shape->dimension;
    const real *a = anchor, *b = anchor + n;
    const bool rotates = shape->scorer == LUD_KGE_ROTATE;
    const real sign = side == LUD_KGE_TAIL ? 1 : -1;
    switch (shape->scorer) {
    case LUD_KGE_TRANSE:
        for (int64_t k = 0; k < n; k++) {
            danchor[k] += dq[k];
            drelation[k] += sign * dq[k];
        }
        break;
    case LUD_KGE_DISTMULT:
        for (int64_t k = 0; k < n; k++) {
            danchor[k] += dq[k] * relation[k];
            drelation[k] += dq[k] * a[k];
        }
        break;
    default:
        for (int64_t k = 0; k < n; k++) {
            const real x = rotates ? COS(relation[k]) : relation[k];
            const real y = sign * (rotates ? SIN(relation[k]) : relation[n + k]);
            const real dx = dq[k] * a[k] + dq[n + k] * b[k], dy = dq[n + k] * a[k] - dq[k] * b[k];
            danchor[k] += dq[k] * x + dq[n + k] * y;
            danchor[n + k] += dq[n + k] * x - dq[k] * y;
            drelation[k] += rotates ? sign * x * dy - sign * y * dx : dx;
            if (!rotates) drelation[n + k] += sign * dy;
        }
    }
}

/* The distance of two vectors. */
LUD_TARGET_CLONES static real NAME(distance)(const lud_kge_shape *shape, const real *restrict q,
                                             const real *restrict e) {
    const int64_t n = shape->dimension;
    real sum = 0;
    if (shape->scorer == LUD_KGE_ROTATE) {
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < n; k++) {
            const real x = q[k] - e[k], y = q[n + k] - e[n + k];
            sum += SQRT(x * x + y * y);
        }
        return sum;
    }
    if (shape->norm == 1) {
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < n; k++) sum += FABS(q[k] - e[k]);
        return sum;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < n; k++) sum += (q[k] - e[k]) * (q[k] - e[k]);
    return SQRT(sum);
}

/* Adds factor * d distance / dq to g. (The derivative by e is its negative.) */
LUD_TARGET_CLONES static void NAME(add_slope)(const lud_kge_shape *shape, const real *restrict q,
                                              const real *restrict e, real factor, real *restrict g) {
    const int64_t n = shape->dimension;
    const real least = LEAST;
    if (shape->scorer == LUD_KGE_ROTATE) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            const real x = q[k] - e[k], y = q[n + k] - e[n + k];
            const real inverse = factor / SQRT(x * x + y * y + least);
            g[k] += x * inverse;
            g[n + k] += y * inverse;
        }
    } else if (shape->norm == 1) {
#pragma omp simd
        for (int64_t k = 0; k < n; k++) {
            const real x = q[k] - e[k];
            g[k] += x > 0 ? factor : x < 0 ? -factor : 0;
        }
    } else {
        const real inverse = factor / (NAME(distance)(shape, q, e) + least);
#pragma omp simd
        for (int64_t k = 0; k < n; k++) g[k] += (q[k] - e[k]) * inverse;
    }
}

double NAME(lud_kge_score)(const lud_kge_shape *shape, const real *q, const real *e) {
    if (!lud_kge_is_product(shape)) return shape->margin - (double)NAME(distance)(shape, q, e);
    double sum = 0.0;
    for (int64_t k = 0; k < lud_kge_entity_width(shape); k++) sum += (double)q[k] * (double)e[k];
    return sum;
}

void NAME(lud_kge_score_backward)(const lud_kge_shape *shape, const real *q, const real *e, double factor,
                                  real *dq, real *de) {
    if (!lud_kge_is_product(shape)) {
        NAME(add_slope)(shape, q, e, (real)-factor, dq);
        NAME(add_slope)(shape, e, q, (real)-factor, de);
        return;
    }
    for (int64_t k = 0; k < lud_kge_entity_width(shape); k++) {
        dq[k] += (real)factor * e[k];
        de[k] += (real)factor * q[k];
    }
}

void NAME(lud_kge_scores)(lud_device *device, const lud_kge_shape *shape, int64_t n, const real *q,
                          int64_t n_entities, const real *e, real *scores) {
    const int64_t width = lud_kge_entity_width(shape);
    if (lud_kge_is_product(shape)) {
        OPERATIONS(device)->matmul(device, false, true, n, n_entities, width, 1.0, q, width, e, width, 0.0,
                                   scores, n_entities);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(device->n_threads)
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n_entities; j++)
            scores[i * n_entities + j] =
                (real)shape->margin - NAME(distance)(shape, q + i * width, e + j * width);
}

void NAME(lud_kge_scores_backward)(lud_device *device, const lud_kge_shape *shape, int64_t n, const real *q,
                                   int64_t n_entities, const real *e, const real *dscores, real *dq,
                                   real *de) {
    const int64_t width = lud_kge_entity_width(shape);
    if (lud_kge_is_product(shape)) {
        OPERATIONS(device)->matmul(device, false, false, n, width, n_entities, 1.0, dscores, n_entities, e,
                                   width, 0.0, dq, width);
        OPERATIONS(device)->matmul(device, true, false, n_entities, width, n, 1.0, dscores, n_entities, q,
                                   width, 0.0, de, width);
        return;
    }
#pragma omp parallel num_threads(device->n_threads)
    {
        /* each array is filled row by row, so no sum depends on who computes it */
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < n; i++) {
            real *row = dq + i * width;
            for (int64_t k = 0; k < width; k++) row[k] = 0;
            for (int64_t j = 0; j < n_entities; j++)
                if (dscores[i * n_entities + j] != 0)
                    NAME(add_slope)(shape, q + i * width, e + j * width, -dscores[i * n_entities + j], row);
        }
#pragma omp for schedule(static)
        for (int64_t j = 0; j < n_entities; j++) {
            real *row = de + j * width;
            for (int64_t k = 0; k < width; k++) row[k] = 0;
            for (int64_t i = 0; i < n; i++)
                if (dscores[i * n_entities + j] != 0)
                    NAME(add_slope)(shape, e + j * width, q + i * width, -dscores[i * n_entities + j], row);
        }
    }
}
