/* The updates on arrays of `real`. optimiser.c includes this file for float and for double; no include guard
 * on purpose. */

static real *NAME(state_at)(const lud_optimiser *optimiser, int64_t at) {
    return (real *)optimiser->state + at;
}

/* The step size with epsilon on the uncorrected root. */
static double NAME(apollo_step_size)(const lud_optimiser_options *o, double lr, uint64_t t) {
    if (!o->correct_bias) return lr;
    return lr * sqrt(1.0 - pow(o->beta2, (double)t)) / (1.0 - pow(o->beta1, (double)t));
}

/* The rates of the group's next update and its limit. */
static void NAME(schedule_group)(const group *g, double schedule[GROUP_LIMIT + 1]) {
    const lud_optimiser_options *o = &g->options;
    const double t = (double)g->updates, lr = g->lr;
    schedule[0] = lr;
    schedule[1] = schedule[2] = 0.0;
    schedule[GROUP_LIMIT] = o->max_norm;
    switch (o->kind) {
    case LUD_OPTIMISER_SGD:
        break;
    case LUD_OPTIMISER_ADAM:
    case LUD_OPTIMISER_ADAMW:
        schedule[0] = lr / (1.0 - pow(o->beta1, t));
        schedule[1] = 1.0 / sqrt(1.0 - pow(o->beta2, t));
        if (o->kind == LUD_OPTIMISER_ADAMW) schedule[2] = lr * o->weight_decay;
        break;
    default:
        schedule[0] = NAME(apollo_step_size)(o, lr, g->updates);
        schedule[1] = 1.0;
        schedule[2] = lr * o->weight_decay;
    }
}

/* Sends them to the device. */
static void NAME(prepare_group)(lud_optimiser *optimiser, group *g) {
    double schedule[GROUP_LIMIT + 1];
    NAME(schedule_group)(g, schedule);
    g->sent = NULL;
    lud_write_reals(optimiser->parameters->device, sizeof(real),
                    NAME(state_at)(optimiser, g->scalars + GROUP_SCHEDULE), GROUP_LIMIT + 1, schedule);
}

/* Where they are there. */
static const real *NAME(schedule_of)(const lud_optimiser *optimiser, const group *g) {
    return g->sent ? g->sent : NAME(state_at)(optimiser, g->scalars + GROUP_SCHEDULE);
}

/* norm and scale of clip_scale with a limit in device memory: scale = min(1, limit / (norm + 1e-6)). */
static void NAME(clip_by)(lud_device *device, const LUD_OPS *ops, const real *limit, const real *squares,
                          real *norm, real *scale) {
    ops->clip_scale(device, 0.0, squares, norm, scale);
    ops->map(device, (lud_map){LUD_MAP_AFFINE, 1.0, 1e-6}, 1, norm, scale);
    ops->map(device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, 1, scale, scale);
    ops->multiply(device, 1, scale, limit, scale);
    ops->map(device, (lud_map){LUD_MAP_CLAMP, 0.0, 1.0}, 1, scale, scale);
}

static void NAME(step_ranges)(lud_optimiser *optimiser, lud_device *device, const group *g,
                              const real *scale) {
    const LUD_OPS *ops = OPERATIONS(device);
    const lud_optimiser_options *o = &g->options;
    const lud_adam adam = {.beta1 = o->beta1,
                           .beta2 = o->beta2,
                           .epsilon = o->epsilon,
                           .l2 = o->kind == LUD_OPTIMISER_ADAM ? o->weight_decay : 0.0,
                           .decay_after = is_apollo(o->kind)};
    const real *schedule = NAME(schedule_of)(optimiser, g);
    for (int i = g->first_range; i < g->first_range + g->n_ranges; i++) {
        const range *r = &optimiser->ranges[i];
        real *w = (real *)optimiser->parameters->values + r->offset;
        const real *gradient = (real *)optimiser->parameters->gradients + r->offset;
        real *m = r->m >= 0 ? NAME(state_at)(optimiser, r->m) : NULL;
        if (o->kind == LUD_OPTIMISER_SGD)
            ops->sgd_step(device, r->n, o->momentum, o->weight_decay, schedule, scale, gradient, m, w);
        else
            ops->adam_step(device, r->n, &adam, schedule, scale, gradient, m, NAME(state_at)(optimiser, r->v),
                           w);
    }
}

/* scalar[2] = max(norm / (stored + 1e-8), gamma) / gamma inverted, scalar[1] = norm / that: the norm-growth
 * limiter. */
static void NAME(limit)(lud_device *device, const LUD_OPS *ops, const lud_optimiser_options *o, bool first,
                        int64_t n, real *scalars, real *u) {
    real *norm = scalars + MATRIX_NORM, *stored = scalars + MATRIX_STORED,
         *inverse = scalars + MATRIX_DIVISOR, *ratio = scalars + MATRIX_RATIO;
    ops->sum_squares(device, n, u, norm, false);
    ops->map(device, (lud_map){LUD_MAP_POWER, 0.5, 0.0}, 1, norm, norm);
    if (first) {
        ops->combine(device, 1, 1.0, norm, 0.0, NULL, stored);
        return;
    }
    ops->map(device, (lud_map){LUD_MAP_AFFINE, 1.0, 1e-8}, 1, stored, ratio);
    ops->map(device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, 1, ratio, ratio);
    ops->multiply(device, 1, norm, ratio, ratio);
    ops->map(device, (lud_map){LUD_MAP_CLAMP, o->limiter_gamma, 1e30}, 1, ratio, ratio);
    ops->map(device, (lud_map){LUD_MAP_AFFINE, 1.0 / o->limiter_gamma, 0.0}, 1, ratio, ratio);
    ops->map(device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, 1, ratio, inverse);
    ops->scale_rows(device, 1, n, u, inverse, u);
    ops->multiply(device, 1, norm, inverse, stored);
}

/* q / (p + 1e-8) elementwise into q. */
static void NAME(divide)(lud_device *device, const LUD_OPS *ops, int64_t n, real *p, real *q) {
    ops->map(device, (lud_map){LUD_MAP_AFFINE, 1.0, 1e-8}, n, p, p);
    ops->map(device, (lud_map){LUD_MAP_POWER, -1.0, 0.0}, n, p, p);
    ops->multiply(device, n, q, p, q);
}

static void NAME(project)(lud_optimiser *optimiser, const matrix *low, const real *gradient, bool right) {
    lud_device *device = optimiser->parameters->device;
    const LUD_OPS *ops = OPERATIONS(device);
    const int64_t m = low->rows, n = low->columns, r = low->rank, n_projection = smaller(m, n) * r;
    real *projection = optimiser->projection, *projected = optimiser->projected;
    if (low->injected) {
        lud_write_reals(device, sizeof(real), projection, n_projection, low->injected);
    } else {
        const uint64_t refresh =
            low->updates / (uint64_t)optimiser->groups[low->group].options.projection_gap;
        ops->random_normal(device, n_projection, optimiser->seed, (uint32_t)low->parameter, (uint32_t)refresh,
                           1.0 / sqrt((double)r), projection);
    }
    if (right)
        ops->matmul(device, false, true, m, r, n, 1.0, gradient, n, projection, n, 0.0, projected, r);
    else
        ops->matmul(device, true, false, r, n, m, 1.0, projection, r, gradient, n, 0.0, projected, n);
}

static void NAME(step_matrix)(lud_optimiser *optimiser, matrix *low, double lr, const real *scale) {
    lud_device *device = optimiser->parameters->device;
    const LUD_OPS *ops = OPERATIONS(device);
    const lud_optimiser_options *o = &optimiser->groups[low->group].options;
    const int64_t m = low->rows, n = low->columns, kept = larger(m, n) * low->rank;
    const bool right = m >= n;
    real *gradient = lud_parameters_gradient(optimiser->parameters, low->parameter);
    real *w = lud_parameters_value(optimiser->parameters, low->parameter);
    real *scalars = NAME(state_at)(optimiser, low->scalars);
    real *projected = optimiser->projected, *q = optimiser->scaled;
    real *p_norms = optimiser->channel[0], *factors = optimiser->channel[1];

    ops->scale_rows(device, 1, m * n, gradient, scale, gradient);
    NAME(project)(optimiser, low, gradient, right);
    /* Q = M / (sqrt(V) + epsilon): an Adam step of size -1 from zero */
    const double to_q[3] = {-1.0, 1.0, 0.0};
    real *schedule = scalars + MATRIX_RATIO + 1;
    lud_write_reals(device, sizeof(real), schedule, 3, to_q);
    const lud_adam adam = {.beta1 = o->beta1, .beta2 = o->beta2, .epsilon = o->epsilon};
    ops->fill(device, kept, 0.0, q);
    ops->adam_step(device, kept, &adam, schedule, NULL, projected, NAME(state_at)(optimiser, low->m),
                   NAME(state_at)(optimiser, low->v), q);

    if (o->tensor_scaling) {
        ops->sum_squares(device, kept, projected, p_norms, false);
        ops->sum_squares(device, kept, q, factors, false);
        ops->map(device, (lud_map){LUD_MAP_POWER, 0.5, 0.0}, 1, p_norms, p_norms);
        ops->map(device, (lud_map){LUD_MAP_POWER, 0.5, 0.0}, 1, factors, factors);
        NAME(divide)(device, ops, 1, p_norms, factors);
        ops->scale_rows(device, 1, m * n, gradient, factors, gradient);
    } else if (right) {
        ops->row_norms(device, m, low->rank, projected, p_norms);
        ops->row_norms(device, m, low->rank, q, factors);
        NAME(divide)(device, ops, m, p_norms, factors);
        ops->scale_rows(device, m, n, gradient, factors, gradient);
    } else {
        ops->column_norms(device, low->rank, n, projected, p_norms);
        ops->column_norms(device, low->rank, n, q, factors);
        NAME(divide)(device, ops, n, p_norms, factors);
        ops->scale_columns(device, m, n, gradient, factors, gradient);
    }
    double size = NAME(apollo_step_size)(o, lr, low->updates + 1);
    if (o->scale_front)
        ops->map(device, (lud_map){LUD_MAP_AFFINE, sqrt(o->scale), 0.0}, m * n, gradient, gradient);
    else
        size *= sqrt(o->scale);
    if (o->limiter) NAME(limit)(device, ops, o, low->updates == 0, m * n, scalars, gradient);
    ops->combine(device, m * n, 1.0, w, -size, gradient, w);
    if (o->weight_decay != 0.0)
        ops->map(device, (lud_map){LUD_MAP_AFFINE, 1.0 - lr * o->weight_decay, 0.0}, m * n, w, w);
    low->updates++;
}

/* Whether the gradient of a matrix is zero everywhere. */
static bool NAME(is_zero)(lud_optimiser *optimiser, const matrix *low) {
    lud_device *device = optimiser->parameters->device;
    real *norm = NAME(state_at)(optimiser, low->scalars + MATRIX_NORM), value = 0;
    OPERATIONS(device)->sum_squares(device, low->rows * low->columns,
                                    lud_parameters_gradient(optimiser->parameters, low->parameter), norm,
                                    false);
    lud_device_download(device, &value, norm, sizeof value);
    return !(value > 0) && !(value != value);
}

static void NAME(apply_group)(lud_optimiser *optimiser, lud_device *device, int index) {
    const LUD_OPS *ops = OPERATIONS(device);
    const group *g = &optimiser->groups[index];
    real *squares = NAME(state_at)(optimiser, g->scalars + GROUP_SQUARES);
    real *norm = NAME(state_at)(optimiser, g->scalars + GROUP_NORM);
    real *scale = NAME(state_at)(optimiser, g->scalars + GROUP_SCALE);
    ops->fill(device, 1, 0.0, squares);
    for (int i = g->first_range; i < g->first_range + g->n_ranges; i++)
        ops->sum_squares(device, optimiser->ranges[i].n,
                         (real *)optimiser->parameters->gradients + optimiser->ranges[i].offset, squares,
                         true);
    for (int i = 0; i < optimiser->n_matrices; i++)
        if (optimiser->matrices[i].group == index)
            ops->sum_squares(device, optimiser->matrices[i].rows * optimiser->matrices[i].columns,
                             lud_parameters_gradient(optimiser->parameters, optimiser->matrices[i].parameter),
                             squares, true);
    if (g->limit_moves && g->options.max_norm > 0.0)
        NAME(clip_by)(device, ops, NAME(schedule_of)(optimiser, g) + GROUP_LIMIT, squares, norm, scale);
    else
        ops->clip_scale(device, g->options.max_norm, squares, norm, scale);
    NAME(step_ranges)(optimiser, device, g, scale);
    for (int i = 0; i < optimiser->n_matrices; i++) {
        matrix *low = &optimiser->matrices[i];
        if (low->group != index) continue;
        if (!g->options.zero_gradient_freezes && NAME(is_zero)(optimiser, low)) continue;
        NAME(step_matrix)(optimiser, low, g->lr, scale);
    }
}
