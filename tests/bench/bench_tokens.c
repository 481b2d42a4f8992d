/* Agents that write: generation for one and for many beside what the machine could do at best, a tick of many
 * agents at once beside one agent at a time, what activations computed again cost and save, and what memory
 * models of different sizes take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/language/generate.h"
#include "learn/language/kv_cache.h"
#include "learn/nn/optimiser.h"
#include "tests/bench/bench.h"

/* Prompts of a tick: three teams, whose agents share what they are told first. */
enum { MOST_ROWS = 200, SHARED = 96, OWN = 64, NEW = 8, TEAMS = 3, PROMPT = SHARED + OWN, LONG_TEXT = 64 };
enum { PEAK_SIDE = 512, LEARNED = 8 };

/* Ten million numbers, more than caches hold. */
static const lud_transformer_shape shape = {.vocabulary = 1024,
                                            .width = 320,
                                            .layers = 8,
                                            .heads = 5,
                                            .kv_heads = 5,
                                            .head_dim = 64,
                                            .hidden = 864,
                                            .context = 256,
                                            .rope_theta = 10000,
                                            .norm_epsilon = 1e-5,
                                            .tied = true};

typedef struct rig {
    lud_device *device;
    lud_parameters *parameters;
    lud_generator *generator;
    lud_transformer_trainer *trainer;
    lud_prompts prompts;
    int64_t offsets[MOST_ROWS + 1], single_offsets[2], n_floor;
    int32_t tokens[MOST_ROWS * PROMPT], group[MOST_ROWS], written[MOST_ROWS * (PROMPT + NEW)];
    uint32_t environment[MOST_ROWS], agent[MOST_ROWS];
    lud_sequence sequences[MOST_ROWS];
    float coefficient[MOST_ROWS], log_probs[MOST_ROWS * NEW];
    float *floor, *a, *b, *c; /* memory to read; a product */
    float found;
    lud_sampling sampling;
} rig;

static void fill_prompts(rig *r, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        r->group[i] = (int32_t)(i * TEAMS / n);
        r->environment[i] = 0;
        r->agent[i] = (uint32_t)i;
        r->offsets[i + 1] = (i + 1) * PROMPT;
        for (int64_t j = 0; j < PROMPT; j++)
            r->tokens[i * PROMPT + j] =
                (int32_t)((j * 37 + (j < SHARED ? r->group[i] : i) * 101 + j * j) % shape.vocabulary);
    }
    r->single_offsets[1] = PROMPT;
    r->prompts = (lud_prompts){n, r->offsets, r->tokens, r->group, 1, 0, r->environment, r->agent};
}

/* --- work --- */

static void all_at_once(void *context) {
    rig *r = context;
    lud_texts texts;
    lud_generate(r->generator, &r->prompts, &texts);
}

static void generate_one(rig *r, int64_t i, lud_texts *texts) {
    const lud_prompts one = {
        1, r->single_offsets, r->tokens + i * PROMPT, r->group + i, 1, 0, r->environment + i, r->agent + i};
    lud_generate(r->generator, &one, texts);
}

static void one_at_a_time(void *context) {
    rig *r = context;
    lud_texts texts;
    for (int64_t i = 0; i < r->prompts.n; i++) generate_one(r, i, &texts);
}

/* Row i with its text as something to learn from. */
static void keep(rig *r, int64_t i, const lud_texts *texts, int64_t at) {
    int32_t *to = r->written + i * (PROMPT + NEW);
    memcpy(to, r->tokens + i * PROMPT, PROMPT * sizeof *to);
    memcpy(to + PROMPT, texts->tokens + at * texts->most, (size_t)texts->lengths[at] * sizeof *to);
    r->sequences[i] = (lud_sequence){to, PROMPT, texts->lengths[at], 0};
    r->coefficient[i] = -1.0f / NEW;
}

/* A tick: everybody writes, and a thirtieth is learned from. Log-probabilities are those of writing. */
static void tick_at_once(void *context) {
    rig *r = context;
    lud_texts texts;
    lud_generate(r->generator, &r->prompts, &texts);
    const int64_t kept = (r->prompts.n + 29) / 30;
    for (int64_t i = 0; i < kept; i++) keep(r, i, &texts, i);
    lud_transformer_gradient(r->trainer, kept, r->sequences, r->coefficient, NULL, r->log_probs);
}

/* The loop that it stands for: each agent writes, is scored by a run of its own, and is learned from. */
static void tick_one_by_one(void *context) {
    rig *r = context;
    for (int64_t i = 0; i < r->prompts.n; i++) {
        lud_texts texts;
        generate_one(r, i, &texts);
        keep(r, i, &texts, 0);
        lud_transformer_log_probs(r->trainer, 1, &r->sequences[i], r->log_probs);
        lud_transformer_gradient(r->trainer, 1, &r->sequences[i], r->coefficient, NULL, NULL);
    }
}

/* As many bytes as the weights, read once. */
static void read_weights(void *context) {
    rig *r = context;
    float found = 0;
#pragma omp parallel for schedule(static) num_threads(r->device->n_threads) reduction(+ : found)
    for (int64_t block = 0; block < r->n_floor / 1024; block++) {
        const float *x = r->floor + block * 1024;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < 1024; i++) sum += x[i];
        found += sum;
    }
    r->found = found;
}

static void peak_product(void *context) {
    rig *r = context;
    r->device->ops->matmul(r->device, false, true, PEAK_SIDE, PEAK_SIDE, PEAK_SIDE, 1.0, r->a, PEAK_SIDE,
                           r->b, PEAK_SIDE, 0.0, r->c, PEAK_SIDE);
}

static void learn(void *context) {
    rig *r = context;
    lud_transformer_gradient(r->trainer, LEARNED, r->sequences, r->coefficient, NULL, NULL);
}

/* --- generation beside floors --- */

static lud_status make_generator(rig *r, bool half, bool bytes, int64_t rows, int64_t most,
                                 lud_error *error) {
    const lud_generator_options options = {.sampling = r->sampling,
                                           .max_new_tokens = most,
                                           .share_prefixes = true,
                                           .half_weights = half,
                                           .cache_bytes = bytes};
    lud_generator_destroy(r->generator);
    r->generator = NULL;
    return lud_generator_create(&shape, r->parameters, &options, NULL, -1, rows, 0, &r->generator, error);
}

/* One long text behind a prompt of one token: nearly all is the steps. */
static lud_status measure_alone(rig *r, bool half, lud_bench_report *report, lud_error *error) {
    const char *name = half ? "tokens, 1 row, bfloat16 weights" : "tokens, 1 row, float32 weights";
    if (!lud_bench_wants(report, name)) return LUD_OK;
    LUD_TRY(make_generator(r, half, false, 1, LONG_TEXT, error));
    fill_prompts(r, 1);
    r->offsets[1] = 1;
    size_t weights, cache, activations;
    lud_generator_bytes(r->generator, &weights, &cache, &activations);
    r->n_floor = (int64_t)(weights / sizeof(float)) / 1024 * 1024;
    lud_bench_piece pieces[] = {{.work = all_at_once, .items = LONG_TEXT},
                                {.work = read_weights, .items = 1}};
    lud_bench_rates(2, pieces, r);
    return lud_bench_add(
        report, (lud_bench_row){name, pieces[0].rate, pieces[0].spread, "tokens/s", pieces[1].rate}, error);
}

/* Thirty long texts: the steps alone, beside the products at the rate of a large one. */
static lud_status measure_together(rig *r, bool half, lud_bench_report *report, lud_error *error) {
    const char *name = half ? "tokens, 30 rows, bfloat16 weights" : "tokens, 30 rows, float32 weights";
    if (!lud_bench_wants(report, name)) return LUD_OK;
    LUD_TRY(make_generator(r, half, false, 30, LONG_TEXT, error));
    fill_prompts(r, 30);
    for (int64_t i = 0; i < 30; i++) r->offsets[i + 1] = i + 1;
    const double work =
        2e-9 * (lud_transformer_multiply_adds(&shape, false) + lud_transformer_multiply_adds(&shape, true));
    lud_bench_piece pieces[] = {
        {.work = all_at_once, .items = 30 * LONG_TEXT},
        {.work = peak_product, .items = 2e-9 * PEAK_SIDE * PEAK_SIDE * PEAK_SIDE / work}};
    lud_bench_rates(2, pieces, r);
    return lud_bench_add(
        report, (lud_bench_row){name, pieces[0].rate, pieces[0].spread, "tokens/s", pieces[1].rate}, error);
}

/* Agents a second: their prompts are read and their answers written. */
static lud_status measure_rows(rig *r, int64_t n, lud_bench_report *report, lud_error *error) {
    char name[2][96];
    snprintf(name[0], sizeof name[0], "writing, %ld agents at once", (long)n);
    snprintf(name[1], sizeof name[1], "writing, %ld agents one at a time", (long)n);
    if (!lud_bench_wants(report, name[0]) && !lud_bench_wants(report, name[1])) return LUD_OK;
    fill_prompts(r, n);
    lud_bench_piece pieces[] = {{.work = all_at_once, .items = (double)n},
                                {.work = one_at_a_time, .items = (double)n}};
    lud_bench_rates(2, pieces, r);
    lud_status status = LUD_OK;
    for (int i = 0; i < 2 && !status; i++)
        status = lud_bench_add(
            report, (lud_bench_row){name[i], pieces[i].rate, pieces[i].spread, "agents/s", 0}, error);
    return status;
}

/* Whole ticks; asked for is eight times the rate of one by one. */
static lud_status measure_ticks(rig *r, int64_t n, lud_bench_report *report, lud_error *error) {
    char name[2][96];
    snprintf(name[0], sizeof name[0], "ticks, %ld agents at once", (long)n);
    snprintf(name[1], sizeof name[1], "ticks, %ld agents one by one", (long)n);
    if (!lud_bench_wants(report, name[0]) && !lud_bench_wants(report, name[1])) return LUD_OK;
    fill_prompts(r, n);
    lud_bench_piece pieces[] = {{.work = tick_at_once, .items = 1}, {.work = tick_one_by_one, .items = 1}};
    lud_bench_rates(2, pieces, r);
    lud_status status = lud_bench_add(
        report, (lud_bench_row){name[0], pieces[0].rate, pieces[0].spread, "ticks/s", 8 * pieces[1].rate},
        error);
    return status ? status
                  : lud_bench_add(report,
                                  (lud_bench_row){name[1], pieces[1].rate, pieces[1].spread, "ticks/s", 0},
                                  error);
}

/* --- learning --- */

static lud_status measure_learning(rig *r, lud_bench_report *report, lud_error *error) {
    lud_transformer_trainer *trainers[2] = {NULL, NULL};
    lud_status status = LUD_OK;
    static const char *const names[] = {"learning, 8 sequences, activations kept",
                                        "learning, 8 sequences, activations computed again"};
    double rates[2] = {0, 0};
    fill_prompts(r, LEARNED);
    for (int64_t i = 0; i < LEARNED; i++) {
        r->sequences[i] = (lud_sequence){r->tokens + i * PROMPT, PROMPT - NEW, NEW, 0};
        r->coefficient[i] = -1.0f;
    }
    for (int k = 0;
         k < 2 && !status && (lud_bench_wants(report, names[0]) || lud_bench_wants(report, names[1])); k++) {
        status = lud_transformer_trainer_create(&shape, r->parameters, LEARNED * PROMPT, k == 1, &trainers[k],
                                                error);
        if (status) break;
        r->trainer = trainers[k];
        double spread;
        rates[k] = lud_bench_rate(learn, r, LEARNED, &spread);
        status = lud_bench_add(report, (lud_bench_row){names[k], rates[k], spread, "sequences/s", 0}, error);
        if (status) break;
        char name[96];
        snprintf(name, sizeof name, "%s: memory", names[k]);
        status = lud_bench_add(
            report,
            (lud_bench_row){name, 1e-6 * (double)lud_transformer_trainer_bytes(trainers[k]), 0, "MB", 0},
            error);
    }
    r->trainer = NULL;
    for (int k = 0; k < 2; k++) lud_transformer_trainer_destroy(trainers[k]);
    return status;
}

/* --- keys and values as bytes --- */

/* Mean difference of the log-probabilities of the first tokens behind the same prompts, where both drew the
 * same.
 */
static lud_status measure_bytes(rig *r, lud_bench_report *report, lud_error *error) {
    static const char *const name = "keys and values as bytes: difference of log-probabilities";
    float log_probs[2][MOST_ROWS];
    int32_t tokens[2][MOST_ROWS];
    if (!lud_bench_wants(report, name)) return LUD_OK;
    for (int bytes = 0; bytes < 2; bytes++) {
        lud_texts texts;
        LUD_TRY(make_generator(r, false, bytes, MOST_ROWS, 1, error));
        fill_prompts(r, MOST_ROWS);
        lud_generate(r->generator, &r->prompts, &texts);
        memcpy(log_probs[bytes], texts.log_probs, sizeof log_probs[bytes]);
        memcpy(tokens[bytes], texts.tokens, sizeof tokens[bytes]);
    }
    double sum = 0, n = 0;
    for (int i = 0; i < MOST_ROWS; i++)
        if (tokens[0][i] == tokens[1][i]) {
            const double difference = (double)(log_probs[0][i] - log_probs[1][i]);
            sum += difference < 0 ? -difference : difference;
            n++;
        }
    return lud_bench_add(report, (lud_bench_row){name, n > 0 ? 1e3 * sum / n : 0, 0, "millinats", 0}, error);
}

/* --- memory --- */

/* Floats of APOLLO's state on these shapes: moments of projections of rank `rank` for the layers' matrices,
 * of every number for the rest. */
static double optimiser_numbers(const lud_transformer_shape *s, int64_t rank) {
    double low = 0;
    for (int part = 0; part < LUD_PART_MATRICES; part++) {
        int64_t rows, columns;
        lud_transformer_part_size(s, (lud_transformer_part)part, &rows, &columns);
        low += (double)lud_optimiser_state_numbers(LUD_OPTIMISER_APOLLO, rows, columns, rank);
    }
    const double matrices = lud_transformer_multiply_adds(s, false);
    return (double)s->layers * low + 2.0 * ((double)lud_transformer_numbers(s) - matrices);
}

typedef struct model {
    const char *name;
    lud_transformer_shape shape;
    double
        seed[5]; /* what the seed says, GB: weights, optimiser, checkpointing, keys and values, activations */
} model;

static const model models[] = {
    {"1.1M", {658, 128, 5, 4, 4, 32, 352, 384, 1e4, 1e-5, true}, {0}},
    {"10M", {1024, 320, 8, 5, 5, 64, 864, 512, 1e4, 1e-5, true}, {0}},
    {"4B (computed)", {151936, 2560, 36, 32, 8, 128, 9728, 2304, 1e6, 1e-6, true}, {8, 4, 2, 12, 4}},
    {"9B (computed)", {151936, 4096, 40, 32, 8, 128, 12288, 2304, 1e6, 1e-6, false}, {18, 9, 4, 24, 8}}};

/* Thirty agents with prompts of 2048 tokens (or what the context allows) and 256 new ones: bfloat16 weights,
 * APOLLO of rank 128, inputs of the layers kept for one sequence, keys and values, one layer's activations.
 */
static lud_status add_memory(const model *m, lud_bench_report *report, lud_error *error) {
    const lud_transformer_shape *s = &m->shape;
    const double numbers = (double)lud_transformer_numbers(s), tokens = (double)s->context, agents = 30;
    const double kv = (double)(2 * s->kv_heads * s->head_dim), q = (double)(2 * s->heads * s->head_dim);
    const double layer = 4.0 * ((double)(6 * s->width + 4 * s->hidden) + q + kv);
    const struct {
        const char *what;
        double bytes, seed;
    } rows[] = {
        {"weights, bfloat16", 2 * numbers, m->seed[0]},
        {"weights learned, float32", 4 * numbers, 0},
        {"gradients, float32", 4 * numbers, 0},
        {"optimiser, APOLLO of rank 128", 4 * optimiser_numbers(s, 128), m->seed[1]},
        {"inputs of layers kept, one sequence", 4.0 * (double)(s->layers * s->width) * tokens, m->seed[2]},
        {"keys and values, 30 rows, 2 bytes", agents * tokens * lud_kv_cache_token_bytes(s, 2, false),
         m->seed[3]},
        {"keys and values, 30 rows, 1 byte", agents * tokens * lud_kv_cache_token_bytes(s, 1, true), 0},
        {"keys and values, 2 bytes, 65% shared by 3 teams",
         (3 * 0.65 + agents * 0.35) * tokens * lud_kv_cache_token_bytes(s, 2, false), 0},
        {"activations of a layer, one sequence", layer * tokens, m->seed[4]}};
    lud_status status = LUD_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++) {
        char name[128];
        snprintf(name, sizeof name, "memory %s: %s", m->name, rows[i].what);
        status = lud_bench_add(
            report, (lud_bench_row){name, 1e-6 * rows[i].bytes, 0, "MB", 1e3 * rows[i].seed}, error);
    }
    return status;
}

/* --- all --- */

static lud_status open_rig(rig *r, lud_error *error) {
    LUD_TRY(lud_device_open("cpu", 0, &r->device, error));
    r->sampling = (lud_sampling){.temperature = 0.7, .top_p = 0.9};
    r->parameters = lud_parameters_create(r->device, false);
    if (r->parameters) lud_transformer_declare(&shape, r->parameters);
    const size_t product = (size_t)PEAK_SIDE * PEAK_SIDE * sizeof(float);
    r->a = lud_device_allocate(r->device, product);
    r->b = lud_device_allocate(r->device, product);
    r->c = lud_device_allocate(r->device, product);
    r->floor = lud_device_allocate(r->device, 5 * (size_t)lud_transformer_numbers(&shape));
    if (!r->parameters || !r->a || !r->b || !r->c || !r->floor) return lud_no_memory(error, "a benchmark");
    return lud_parameters_build(r->parameters, 1, error);
}

static void close_rig(rig *r) {
    lud_generator_destroy(r->generator);
    lud_transformer_trainer_destroy(r->trainer);
    float *const arrays[] = {r->a, r->b, r->c, r->floor};
    for (int i = 0; i < 4; i++)
        if (arrays[i]) lud_device_release(r->device, arrays[i]);
    lud_parameters_destroy(r->parameters);
    lud_device_close(r->device);
    free(r);
}

static lud_status measure(rig *r, lud_bench_report *report, lud_error *error) {
    static const int64_t rows[] = {1, 3, 10, 30, 100, 200};
    lud_status status = LUD_OK;
    for (int half = 0; half < 2 && !status; half++) {
        status = measure_alone(r, half, report, error);
        if (!status) status = measure_together(r, half, report, error);
    }
    if (!status) status = make_generator(r, true, false, MOST_ROWS, NEW, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++)
        status = measure_rows(r, rows[i], report, error);
    if (!status)
        status = lud_transformer_trainer_create(&shape, r->parameters, 4 * PROMPT, false, &r->trainer, error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !status; i++)
        if (rows[i] == 3 || rows[i] == 30) status = measure_ticks(r, rows[i], report, error);
    lud_transformer_trainer_destroy(r->trainer);
    r->trainer = NULL;
    if (!status) status = measure_learning(r, report, error);
    if (!status) status = measure_bytes(r, report, error);
    return status;
}

static lud_status run(lud_bench_report *report, lud_error *error) {
    rig *r = calloc(1, sizeof *r);
    if (!r) return lud_no_memory(error, "a benchmark");
    lud_status status = open_rig(r, error);
    if (!status) status = measure(r, report, error);
    for (size_t i = 0; i < sizeof models / sizeof *models && !status; i++)
        status = add_memory(&models[i], report, error);
    close_rig(r);
    return status;
}

const lud_bench lud_bench_tokens = {
    .name = "ticks/tokens",
    .about =
        "agents that write: one at a time and all at once, beside memory and arithmetic; memory of models",
    .run = run};
