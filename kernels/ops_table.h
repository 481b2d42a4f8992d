/* Every operation, declared once: a table of functions on arrays of `real`. ops.h includes this file for
 * float and for double; it has no include guard on purpose.
 *
 * Conventions
 *   - Arrays are row-major, contiguous, in the device's memory; shapes are written x[n][width]. Sizes may be
 * 0.
 *   - Inputs are const; an output may be the same array as an input only where the text says "in place".
 *   - Gradients: dx means dL/dx. A gradient of an input takes a flag `add`: false overwrites dx, true adds to
 * it. Gradients of parameters always add, so that batches accumulate; zero them first. A null gradient
 * pointer means it is not wanted.
 *   - "may be null" marks optional arrays; all others must be there unless their size is 0.
 *   - Order of summation. Sums along a row run in a fixed order that depends on the row's width only. Sums
 * over rows (parameter gradients, totals) are taken in blocks of a fixed number of rows, blocks in ascending
 * order; matrix products and convolutions are cut by shape. So no result depends on the number of threads.
 *   - Rows. Row i of a batch, outputs and gradients alike, is the same row alone in every bit. Exceptions are
 * matmul, linear, conv2d and gru with their gradients, where the number of rows takes part in choosing the
 * order of a sum: there the two agree within 1e-6 of the largest number of the row and of its terms, for gru,
 * whose steps hand differences on, within 4e-6. What is drawn by the place in an array (dropout, random_*)
 * has no rows; draws of lud_draws go with the row's environment and agent.
 *   - Inside products and convolutions subnormal numbers count as zero on the CPU. */

typedef struct LUD_OPS {
    /* ---- elementwise ---- */

    /* y[n] = value */
    void (*fill)(lud_device *device, int64_t n, double value, real *y);
    /* y[n] = alpha a + beta b. b may be null (then y = alpha a). In place. Polyak copies: combine(n, 1 - tau,
     * target, tau, online, target). */
    void (*combine)(lud_device *device, int64_t n, double alpha, const real *a, double beta, const real *b,
                    real *y);
    /* y[n] = a b. In place. */
    void (*multiply)(lud_device *device, int64_t n, const real *a, const real *b, real *y);
    /* da = dy b, db = dy a; either may be null. */
    void (*multiply_backward)(lud_device *device, int64_t n, const real *a, const real *b, const real *dy,
                              real *da, real *db, bool add);
    /* y[n] = f(x). In place. */
    void (*map)(lud_device *device, lud_map map, int64_t n, const real *x, real *y);
    /* dx = dy f'(x). Of x and y only the one is read that lud_map_needs_input names; the other may be null.
     * dx may be dy when add is false. */
    void (*map_backward)(lud_device *device, lud_map map, int64_t n, const real *x, const real *y,
                         const real *dy, real *dx, bool add);
    /* Copies a block of columns: y[i * stride_y + j] = x[i * stride_x + j] for i < n, j < width; `add` adds
     * instead. Concatenation and splitting are several of these; so are their gradients. */
    void (*copy_block)(lud_device *device, int64_t n, int64_t width, const real *x, int64_t stride_x, real *y,
                       int64_t stride_y, bool add);
    /* y[n_blocks][columns][rows] = x[n_blocks][rows][columns] */
    void (*transpose)(lud_device *device, int64_t n_blocks, int64_t rows, int64_t columns, const real *x,
                      real *y);
    /* y[n] = x / (1 - rate) where the element's draw is >= rate, else 0. Element i uses word i % 4 of
     * lud_draw({seed, stream}, step, first + i / 4, LUD_PURPOSE_DROPOUT, 0), so that the part of an array
     * from element 4 first on has the whole's draws; the mask is not kept: the gradient is the same call on
     * dy. step_added: one number in device memory, added to `step`, or null. In place. */
    void (*dropout)(lud_device *device, int64_t n, double rate, uint64_t seed, uint32_t stream, uint32_t step,
                    const uint32_t *step_added, uint32_t first, const real *x, real *y);

    /* ---- sums ---- */

    /* result[1] = sum of x[n], accumulated in double in blocks of 4096; `add` adds to what is there. */
    void (*sum)(lud_device *device, int64_t n, const real *x, real *result, bool add);
    /* result[1] = sum of squares. */
    void (*sum_squares)(lud_device *device, int64_t n, const real *x, real *result, bool add);
    /* result[1] = sum of a b. */
    void (*dot)(lud_device *device, int64_t n, const real *a, const real *b, real *result, bool add);
    /* y[width] = sum over rows of x[n][width]. */
    void (*column_sum)(lud_device *device, int64_t n, int64_t width, const real *x, real *y, bool add);
    /* y[n][width] = scale * sum over the middle index of x[n][k][width] (mean over heads: scale 1 / k). */
    void (*sum_groups)(lud_device *device, int64_t n, int64_t k, int64_t width, double scale, const real *x,
                       real *y, bool add);
    /* x[n][k][width] = scale * y[n][width] for every k: the gradient of sum_groups. */
    void (*broadcast_groups)(lud_device *device, int64_t n, int64_t k, int64_t width, double scale,
                             const real *y, real *x, bool add);
    /* y[n] = 2-norm of each row of x[n][width]. */
    void (*row_norms)(lud_device *device, int64_t n, int64_t width, const real *x, real *y);
    /* y[width] = 2-norm of each column. */
    void (*column_norms)(lud_device *device, int64_t n, int64_t width, const real *x, real *y);
    /* y[i][j] = factor[i] x[i][j]. In place. */
    void (*scale_rows)(lud_device *device, int64_t n, int64_t width, const real *x, const real *factor,
                       real *y);
    /* y[i][j] = factor[j] x[i][j]. In place. */
    void (*scale_columns)(lud_device *device, int64_t n, int64_t width, const real *x, const real *factor,
                          real *y);

    /* ---- random numbers ---- */

    /* y[n] uniform in [low, high). Element i uses word i % 4 of lud_draw({seed, stream}, step, i / 4,
     * LUD_PURPOSE_PARAMETERS, 0). */
    void (*random_uniform)(lud_device *device, int64_t n, uint64_t seed, uint32_t stream, uint32_t step,
                           double low, double high, real *y);
    /* y[n] normal with mean 0, by the inverse distribution function (Wichura, AS 241, 1988) of the same
     * words. */
    void (*random_normal)(lud_device *device, int64_t n, uint64_t seed, uint32_t stream, uint32_t step,
                          double deviation, real *y);

    /* ---- matrix products ---- */

    /* c[m][n] = alpha op(a) op(b) + beta c. op(a) is m x k: a[m][k] with row stride lda, or a[k][m]
     * transposed; op(b) is k x n likewise. beta 0 does not read c. */
    void (*matmul)(lud_device *device, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                   double alpha, const real *a, int64_t lda, const real *b, int64_t ldb, double beta, real *c,
                   int64_t ldc);
    /* z[n][n_out] = x[n][n_in] w[n_out][n_in]^T + b[n_out];  y = map(z). b may be null. z may be null when it
     * need not be kept (see lud_map_needs_input), or be y when the map is the identity. */
    void (*linear)(lud_device *device, lud_map map, int64_t n, int64_t n_in, int64_t n_out, const real *x,
                   const real *w, const real *b, real *z, real *y);
    /* From dy[n][n_out]: dz = dy map'(z), then dx[n][n_in] = dz w, dw += dz^T x, db += column sums of dz.
     * dz[n][n_out] is scratch and may be dy (not read at all when the map is the identity: then dz may be
     * null). dx, dw, db may be null. */
    void (*linear_backward)(lud_device *device, lud_map map, int64_t n, int64_t n_in, int64_t n_out,
                            const real *x, const real *w, const real *z, const real *y, const real *dy,
                            real *dz, real *dx, bool add, real *dw, real *db);

    /* A layer's weights w[n_out][n_in] in the order in which linear_packed reads them:
     * packed[blocks of LUD_PACK outputs][n_in][LUD_PACK], zeros behind the last output. `half`: as bfloat16,
     * two bytes each, rounded to nearest, ties to even; else as reals. */
    void (*pack_weights)(lud_device *device, bool half, int64_t n_out, int64_t n_in, const real *w,
                         void *packed);
    /* y[n][n_out] = x[n][n_in] w^T (+ what is in y with `add`) for a few rows and weights that are read once:
     * each number is one sum in ascending order, so that a row is the same bits in any batch. */
    void (*linear_packed)(lud_device *device, bool half, int64_t n, int64_t n_in, int64_t n_out,
                          const real *x, const void *packed, real *y, bool add);

    /* ---- images ---- */

    /* x[n][channels_in][height][width], w[channels_out][channels_in][kernel][kernel], b[channels_out] or
     * null; z, y[n][channels_out][height_out][width_out] as in linear. */
    void (*conv2d)(lud_device *device, lud_map map, const lud_conv *shape, const real *x, const real *w,
                   const real *b, real *z, real *y);
    /* Gradients as in linear_backward. */
    void (*conv2d_backward)(lud_device *device, lud_map map, const lud_conv *shape, const real *x,
                            const real *w, const real *z, const real *y, const real *dy, real *dz, real *dx,
                            bool add, real *dw, real *db);
    /* y[n][height / size][width / size] = largest of each size x size square of x[n][height][width] (n:
     * images times channels); a left-over row or column is dropped. place[same as y]: index within the plane
     * of the first largest, may be null. */
    void (*max_pool)(lud_device *device, int64_t n, int64_t height, int64_t width, int64_t size,
                     const real *x, real *y, int32_t *place);
    void (*max_pool_backward)(lud_device *device, int64_t n, int64_t height, int64_t width, int64_t size,
                              const int32_t *place, const real *dy, real *dx, bool add);

    /* ---- compact grids (grid_code.h) ---- */

    /* y[n][LUD_GRID_CHANNELS][cells] from code[n][cells]. */
    void (*grid_decode)(lud_device *device, lud_grid_form form, int64_t n, int64_t cells, const int32_t *code,
                        real *y);
    /* conv2d on the words themselves: shape->channels_in is LUD_GRID_CHANNELS, stride 1, padding (kernel - 1)
     * / 2, odd kernel. Equal to grid_decode + conv2d. */
    void (*grid_conv)(lud_device *device, lud_map map, lud_grid_form form, const lud_conv *shape,
                      const int32_t *code, const real *w, const real *b, real *z, real *y);
    /* grid_conv and max_pool of 2 x 2 squares in one: y[n][channels_out][height / 2][width / 2]. `map` is the
     * identity or a ReLU. Equal to both, one after the other. */
    void (*grid_conv_pool)(lud_device *device, lud_map map, lud_grid_form form, const lud_conv *shape,
                           const int32_t *code, const real *w, const real *b, real *y);
    /* dw += and db += ; the grid has no gradient. dz as in linear_backward. */
    void (*grid_conv_backward)(lud_device *device, lud_map map, lud_grid_form form, const lud_conv *shape,
                               const int32_t *code, const real *z, const real *y, const real *dy, real *dz,
                               real *dw, real *db);

    /* ---- rows by index ---- */

    /* y[n][width] = table[index[i]][width]; a negative index gives a zero row. An embedding; its gradient is
     * scatter_add. */
    void (*gather_rows)(lud_device *device, int64_t n, int64_t width, const real *table, const int32_t *index,
                        real *y);
    /* y[index[i]][width] = x[i][width]; indices are distinct, negative ones are skipped. For caches. */
    void (*scatter_rows)(lud_device *device, int64_t n, int64_t width, const real *x, const int32_t *index,
                         real *y);
    /* y[n_out][width] += weight[i] x[i][width] at row index[i], i ascending for every row; weight may be null
     * (1); negative indices are skipped. */
    void (*scatter_add)(lud_device *device, int64_t n, int64_t width, int64_t n_out, const real *x,
                        const real *weight, const int32_t *index, real *y);

    /* Numbers as bytes: groups of `group` numbers of a row share a scale, the largest of their absolute
     * values / 127, and code = x / scale, rounded to nearest. Row i of x[n][width] goes to row index[i] of
     * code[][width] and scale[][width / group]; `group` divides width. */
    void (*quantise_rows)(lud_device *device, int64_t n, int64_t width, int64_t group, const real *x,
                          const int32_t *index, int8_t *code, real *scale);
    /* y[n][width] = code scale, of the first n rows. */
    void (*dequantise_rows)(lud_device *device, int64_t n, int64_t width, int64_t group, const int8_t *code,
                            const real *scale, real *y);

    /* ---- segments (CSR) ---- */

    /* y[n_segments][width] from the rows offsets[s] .. offsets[s + 1] - 1 of x, or of x[index[...]] when
     * index is not null. An empty segment gives 0. place[n_segments][width] (MAX only, may be null): position
     * in offsets order of the first largest, -1 for an empty segment. */
    void (*segment_reduce)(lud_device *device, lud_reduce reduce, int64_t n_segments, int64_t width,
                           const int32_t *offsets, const int32_t *index, const real *x, real *y,
                           int32_t *place);
    /* dx[offsets[n_segments]][width] in offsets order (for an indexed reduce follow with scatter_add). */
    void (*segment_reduce_backward)(lud_device *device, lud_reduce reduce, int64_t n_segments, int64_t width,
                                    const int32_t *offsets, const int32_t *place, const real *dy, real *dx,
                                    bool add);
    /* Softmax over the rows of each segment, separately for each of `width` columns;
     * x[offsets[n_segments]][width]. */
    void (*segment_softmax)(lud_device *device, int64_t n_segments, int64_t width, const int32_t *offsets,
                            const real *x, real *y);
    void (*segment_softmax_backward)(lud_device *device, int64_t n_segments, int64_t width,
                                     const int32_t *offsets, const real *y, const real *dy, real *dx,
                                     bool add);

    /* ---- normalisation ---- */

    /* y = (x - mean) / sqrt(variance + epsilon) * gain + bias along each row of x[n][width] (Ba, Kiros,
     * Hinton, 2016); mean[n], scale[n] = 1 / sqrt(variance + epsilon) are kept for the gradient (may be
     * null). gain[width], bias[width] may both be null. */
    void (*layer_norm)(lud_device *device, int64_t n, int64_t width, double epsilon, const real *x,
                       const real *gain, const real *bias, real *y, real *mean, real *scale);
    /* dgain += , dbias += ; both null when there are none. */
    void (*layer_norm_backward)(lud_device *device, int64_t n, int64_t width, const real *x, const real *gain,
                                const real *mean, const real *scale, const real *dy, real *dx, bool add,
                                real *dgain, real *dbias);

    /* y = x / sqrt(mean(x^2) + epsilon) * gain along each row of x[n][width] (Zhang and Sennrich, "Root mean
     * square layer normalization", 2019, eq. 4); scale[n] = 1 / sqrt(...) is kept for the gradient, may be
     * null. In place. */
    void (*rms_norm)(lud_device *device, int64_t n, int64_t width, double epsilon, const real *x,
                     const real *gain, real *y, real *scale);
    /* dgain[width] += , may be null. */
    void (*rms_norm_backward)(lud_device *device, int64_t n, int64_t width, const real *x, const real *gain,
                              const real *scale, const real *dy, real *dx, bool add, real *dgain);

    /* ---- softmax ---- */

    /* y = softmax(factor * x) along rows of x[n][width]; mask[n][width] (may be null): 0 leaves an entry out
     * (gives 0). A row that is all masked gives zeros. In place. */
    void (*softmax)(lud_device *device, int64_t n, int64_t width, double factor, const real *x,
                    const uint8_t *mask, real *y);
    /* dx = factor y (dy - sum(y dy)) */
    void (*softmax_backward)(lud_device *device, int64_t n, int64_t width, double factor, const real *y,
                             const real *dy, real *dx, bool add);
    /* ln softmax(factor * x); masked entries give the most negative finite number. In place. */
    void (*log_softmax)(lud_device *device, int64_t n, int64_t width, double factor, const real *x,
                        const uint8_t *mask, real *y);
    /* dx = factor (dy - softmax sum(dy)), sums over unmasked entries; masked entries get 0. */
    void (*log_softmax_backward)(lud_device *device, int64_t n, int64_t width, double factor, const real *y,
                                 const uint8_t *mask, const real *dy, real *dx, bool add);

    /* ---- distributions ---- */

    /* action[i] = first choice whose cumulative probability exceeds u (inverse distribution function; choices
     * ascending, the last choice with positive probability when rounding leaves none), u = lud_unit of word 0
     * of row i's draw. log_prob[n] may be null. A row that is all masked draws uniformly. `uniform` (may be
     * null): u[n] given instead of drawn; then draws is not read. draws: host memory, read in the call. */
    void (*categorical_sample)(lud_device *device, int64_t n, int64_t n_choices, const real *logits,
                               const uint8_t *mask, const lud_draws *draws, const real *uniform,
                               int32_t *action, real *log_prob);
    /* log_prob[n] of the given actions and entropy[n] in nats (0 ln 0 = 0); either may be null. A row that is
     * all masked counts as uniform. */
    void (*categorical_log_prob)(lud_device *device, int64_t n, int64_t n_choices, const real *logits,
                                 const uint8_t *mask, const int32_t *action, real *log_prob, real *entropy);
    /* dlogits from dlog_prob[n] and dentropy[n]; either may be null. */
    void (*categorical_backward)(lud_device *device, int64_t n, int64_t n_choices, const real *logits,
                                 const uint8_t *mask, const int32_t *action, const real *dlog_prob,
                                 const real *dentropy, real *dlogits, bool add);
    /* Logits for sampling: z / temperature, then top-k (0: off; ties with the k-th largest stay), then top-p
     * (1: off; the smallest set of largest probabilities reaching p, entries tied with its border by the
     * ascending-sort rule kept as long as the mass below is above 1 - p). Entries left out become the most
     * negative finite number. temperature 0 leaves only the first largest. */
    void (*filter_logits)(lud_device *device, int64_t n, int64_t n_choices, double temperature, int64_t top_k,
                          double top_p, const real *logits, real *y);

    /* action[n][width] = mean + exp(log_std) * normal, normal by the inverse distribution function of word j
     * % 4 of block j / 4 of row i's draw. log_std[width] when log_std_stride is 0, else row i at log_std + i
     * * stride. log_prob[n] (sum over the row) may be null. `normal` [n][width] (may be null): numbers given
     * instead of drawn. */
    void (*gaussian_sample)(lud_device *device, int64_t n, int64_t width, const real *mean,
                            const real *log_std, int64_t log_std_stride, const lud_draws *draws,
                            const real *normal, real *action, real *log_prob);
    /* log_prob[n] and entropy[n], summed over the row; either may be null. */
    void (*gaussian_log_prob)(lud_device *device, int64_t n, int64_t width, const real *mean,
                              const real *log_std, int64_t log_std_stride, const real *action, real *log_prob,
                              real *entropy);
    /* dmean[n][width], daction[n][width]; dlog_std[width] += when the stride is 0, else [n][width] as an
     * input. */
    void (*gaussian_backward)(lud_device *device, int64_t n, int64_t width, const real *mean,
                              const real *log_std, int64_t log_std_stride, const real *action,
                              const real *dlog_prob, const real *dentropy, real *dmean, real *daction,
                              real *dlog_std, bool add);

    /* ---- attention ---- */

    /* Graph transformer attention (Shi et al., "Masked label prediction", 2021, eq. 3-4) over edges j -> i,
     * per head: a_ij = softmax over incoming j of q_i . (k_j + e_ij) / sqrt(channels),  m_i = sum_j a_ij (v_j
     * + e_ij) with e_ij = We d_ij. q, k, v, m[n_nodes][heads * channels], d[n_edges][edge_dim], we[heads *
     * channels][edge_dim] (edge_dim 0: no edge features), a[n_edges][heads]. The softmax adds 1e-16 to its
     * denominator; a node without incoming edges gives 0. */
    void (*graph_attention)(lud_device *device, const lud_edges *edges, int64_t heads, int64_t channels,
                            int64_t edge_dim, const real *q, const real *k, const real *v, const real *d,
                            const real *we, real *a, real *m);
    /* dq, dk, dv[n_nodes][heads * channels], dwe += (may be null). Edge features get no gradient: they are
     * observed. */
    void (*graph_attention_backward)(lud_device *device, const lud_edges *edges, int64_t heads,
                                     int64_t channels, int64_t edge_dim, const real *q, const real *k,
                                     const real *v, const real *d, const real *we, const real *a,
                                     const real *dm, real *dq, real *dk, real *dv, real *dwe, bool add);
    /* y[n_tokens][heads * head_dim] from q of the same shape and k, v[tokens][kv_heads * head_dim].
     * log_sum[n_tokens][heads] is kept for the gradient, may be null. */
    void (*attention)(lud_device *device, const lud_attention *shape, const real *q, const real *k,
                      const real *v, real *y, real *log_sum);
    /* dq is written, or added to; dk and dv always add (rows may share keys through prefixes): zero them
     * first. */
    void (*attention_backward)(lud_device *device, const lud_attention *shape, const real *q, const real *k,
                               const real *v, const real *y, const real *log_sum, const real *dy, real *dq,
                               real *dk, real *dv, bool add);
    /* Rotary positions (Su et al., 2021): pairs (x[2i], x[2i + 1]) of every head turned by position *
     * base^(-2i / head_dim); `inverse` turns back, which is the gradient. x[n][heads * head_dim],
     * position[n]. In place. */
    void (*rotary)(lud_device *device, int64_t n, int64_t heads, int64_t head_dim, double base,
                   const int32_t *position, bool inverse, const real *x, real *y);

    /* ---- recurrences ---- */

    /* Complex diagonal recurrence (Orvieto et al., "Resurrecting recurrent neural networks", 2023):
     *   h_t = lambda * (mask_t h_{t-1}) + gamma * v_t,  lambda = exp(-exp(nu_log) + i exp(theta_log)),
     *   gamma = exp(gamma_log), elementwise over `size` complex numbers stored as [re, im] pairs.
     * v, h[n_steps][n][size][2]; h0[n][size][2], may be null (zero); mask[n_steps][n], may be null (ones); a
     * step is n_steps = 1. v = B u comes from linear with rows (Re B_k, Im B_k) interleaved, and Re(C h) is
     * linear with columns (Re C_k, -Im C_k) interleaved. Long sequences run as a chunked scan. */
    void (*lru)(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const real *nu_log,
                const real *theta_log, const real *gamma_log, const real *v, const real *h0, const real *mask,
                real *h);
    /* From dh[n_steps][n][size][2] (gradient of every h_t from outside): dv (null: not wanted), dh0 (may be
     * null), dnu_log, dtheta_log, dgamma_log [size] += (may be null together). Complex gradients are dL/dRe,
     * dL/dIm. */
    void (*lru_backward)(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const real *nu_log,
                         const real *theta_log, const real *gamma_log, const real *v, const real *h0,
                         const real *mask, const real *h, const real *dh, real *dv, real *dh0, real *dnu_log,
                         real *dtheta_log, real *dgamma_log, bool add);
    /* Gated recurrent unit (Cho et al., 2014; reset gate applied to W_hn h + b_hn):
     *   r = sigmoid(i_r + g_r), z = sigmoid(i_z + g_z), c = tanh(i_n + r g_n), h = (1 - z) c + z h'
     * i[n_steps][n][3 size] = W_i x + b_i (one linear for all steps; gates in the order r, z, n), g = wh h' +
     * bh with wh[3 size][size], bh[3 size] (may be null); h' = mask_t h_{t-1}. h0[n][size] may be null
     * (zero), mask as in lru. h[n_steps][n][size]; gates[n_steps][n][4 size] keeps r, z, c and g_n for the
     * gradient. */
    void (*gru)(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const real *i, const real *wh,
                const real *bh, const real *h0, const real *mask, real *h, real *gates);
    /* di[n_steps][n][3 size]; dh0[n][size] may be null; dwh, dbh += (may be null). */
    void (*gru_backward)(lud_device *device, int64_t n_steps, int64_t n, int64_t size, const real *wh,
                         const real *h0, const real *mask, const real *h, const real *gates, const real *dh,
                         real *di, real *dh0, real *dwh, real *dbh, bool add);

    /* ---- losses ---- */

    /* Each gives the unweighted value of every row, loss[n] (may be null), and the gradient of scale * sum_i
     * weight[i] loss[i] (may be null). weight[n] may be null (ones): use scale = 1 / n for a mean. */

    /* loss = (x - target)^2 */
    void (*mse_loss)(lud_device *device, int64_t n, const real *x, const real *target, const real *weight,
                     double scale, real *loss, real *dx, bool add);
    /* loss = e^2 / 2 for |e| <= delta, delta (|e| - delta / 2) beyond, e = x - target (Huber, 1964) */
    void (*huber_loss)(lud_device *device, int64_t n, double delta, const real *x, const real *target,
                       const real *weight, double scale, real *loss, real *dx, bool add);
    /* loss = -ln softmax(logits)[target] over logits[n][n_choices]; target -1: the row counts nothing. */
    void (*cross_entropy_loss)(lud_device *device, int64_t n, int64_t n_choices, const real *logits,
                               const uint8_t *mask, const int32_t *target, const real *weight, double scale,
                               real *loss, real *dlogits, bool add);
    /* loss = -min(ratio A, clip(ratio, 1 - clip, 1 + clip) A), ratio = exp(log_prob - old_log_prob) (Schulman
     * et al., 2017, eq. 7). ratio[n] may be null. */
    void (*ppo_policy_loss)(lud_device *device, int64_t n, double clip, const real *log_prob,
                            const real *old_log_prob, const real *advantage, const real *weight, double scale,
                            real *loss, real *ratio, real *dlog_prob, bool add);
    /* v = old + clamp(value - old, -clip, clip); loss = max(l(value), l(v)), or l(v) alone when
     * `clipped_only`; l is the Huber loss with delta, or the square when delta is 0. clip <= 0: loss =
     * l(value). */
    void (*ppo_value_loss)(lud_device *device, int64_t n, double clip, double delta, bool clipped_only,
                           const real *value, const real *old_value, const real *target, const real *weight,
                           double scale, real *loss, real *dvalue, bool add);

    /* ---- returns ---- */

    /* Generalised advantage estimation (Schulman et al., 2016). reward[n_steps][n], value[n_steps + 1][n];
     * mask[n_steps + 1][n]: 0 where step t begins a new episode; bad_mask (may be null) multiplies the
     * advantage with bad_mask[t + 1], 0 where the episode was cut off rather than ended. delta = r_t + gamma
     * V_{t+1} mask_{t+1} - V_t,  A_t = (delta + gamma lambda mask_{t+1} A_{t+1}) bad_{t+1}
     * advantage[n_steps][n] and returns = A + V[n_steps][n]; either may be null. */
    void (*gae)(lud_device *device, int64_t n_steps, int64_t n, double gamma, double lambda,
                const real *reward, const real *value, const real *mask, const real *bad_mask,
                real *advantage, real *returns);
    /* R_t = r_t + gamma mask_{t+1} R_{t+1}, R_T = value[n_steps]; with bad_mask: R_t = bad_{t+1} that + (1 -
     * bad_{t+1}) V_t. Shapes as in gae. */
    void (*discounted_returns)(lud_device *device, int64_t n_steps, int64_t n, double gamma,
                               const real *reward, const real *value, const real *mask, const real *bad_mask,
                               real *returns);
    /* R_t = sum_{k < m} gamma^k r_{t+k} + gamma^m V_{t+m}, m = horizon, cut at the end of the rollout and,
     * then without the last term, at an episode's end (mask 0). */
    void (*n_step_returns)(lud_device *device, int64_t n_steps, int64_t n, int64_t horizon, double gamma,
                           const real *reward, const real *value, const real *mask, real *returns);
    /* out[i][k] = data[first[i] + k] for k < valid[i] = min(end[i] - first[i], horizon, length[i]), at least
     * 0; behind that padding, value[row_bytes] being that of LUD_PAD_VALUE (else null). Rows at and behind
     * end[i] are not read. data[rows][row_bytes], out[n][horizon][row_bytes], valid[n] (may be null). */
    void (*gather_windows)(lud_device *device, const lud_windows *windows, const void *data,
                           lud_padding padding, const void *value, void *out, int32_t *valid);

    /* ---- statistics ---- */

    /* mean[width] and mean_square[width] over the rows of x[n][width], weighted by weight[n] (may be null),
     * summed in double; both 0 when the weights sum to 0. */
    void (*moments)(lud_device *device, int64_t n, int64_t width, const real *x, const real *weight,
                    real *mean, real *mean_square);
    /* state[width][LUD_NORMALISER_FIELDS]: each field <- beta field + (1 - beta) (mean, mean_square, 1). */
    void (*normaliser_update)(lud_device *device, int64_t width, double beta, const real *mean,
                              const real *mean_square, real *state);
    /* y = (x - mean) / deviation of x[n][width], or with `inverse` x deviation + mean. Mean and mean square
     * are debiased (divided by max(debias, 1e-5)); variance is at least 1e-2. In place. */
    void (*normalise)(lud_device *device, int64_t n, int64_t width, const real *state, bool inverse,
                      const real *x, real *y);
    /* PopArt (van Hasselt et al., 2016): after `state` moved on from `old_state`, rescales the output layer
     * w[width][n_in], b[width] in place so that denormalised outputs stay. Deviations are those of the biased
     * averages, at least 1e-4; an old_state with debias 0 leaves w, b scaled from deviation 1, mean 0. */
    void (*popart_rescale)(lud_device *device, int64_t n_in, int64_t width, const real *old_state,
                           const real *state, real *w, real *b);

    /* ---- optimisers ---- */

    /* schedule[3] and scale[1] are in device memory, so that a recorded graph sees new values.
     * g' = scale g + l2 w; m = momentum m + g'; w = w (1 - schedule[1]) - schedule[0] m. scale and m may be
     * null (m null: no momentum). */
    void (*sgd_step)(lud_device *device, int64_t n, double momentum, double l2, const real *schedule,
                     const real *scale, const real *g, real *m, real *w);
    /* g' = scale g + l2 w; m, v averages of g', g'^2; w -= schedule[0] m / (schedule[1] sqrt(v) + epsilon),
     * and w is multiplied by 1 - schedule[2] before (AdamW) or after. Standard Adam at step t (from 1):
     * schedule = {lr / (1 - beta1^t), 1 / sqrt(1 - beta2^t), lr decay}; epsilon on the uncorrected root: {lr
     * sqrt(1 - beta2^t) / (1 - beta1^t), 1, lr decay}. scale may be null. */
    void (*adam_step)(lud_device *device, int64_t n, const lud_adam *adam, const real *schedule,
                      const real *scale, const real *g, real *m, real *v, real *w);
    /* norm[1] = sqrt(sum_squares[1]); scale[1] = min(1, max_norm / (norm + 1e-6)); max_norm <= 0: scale 1. */
    void (*clip_scale)(lud_device *device, double max_norm, const real *sum_squares, real *norm, real *scale);
} LUD_OPS;
