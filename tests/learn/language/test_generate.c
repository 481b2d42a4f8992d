/* Generation: batched texts are those of one agent at a time, sharing prefixes, splitting and the order of
 * rows change nothing, log-probabilities are those of a plain forward run, texts end where they should. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/language/generate.h"

static lud_device *device;

enum { VOCABULARY = 40, ROWS = 13, LONGEST = 150, MOST = 24 };

static const lud_transformer_shape shape = {.vocabulary = VOCABULARY,
                                            .width = 24,
                                            .layers = 2,
                                            .heads = 4,
                                            .kv_heads = 2,
                                            .head_dim = 6,
                                            .hidden = 40,
                                            .context = 180,
                                            .rope_theta = 10000,
                                            .norm_epsilon = 1e-5,
                                            .tied = true};

static const lud_generator_options usual = {.sampling = {.temperature = 1.2, .top_k = 30, .top_p = 0.95},
                                            .max_new_tokens = MOST,
                                            .share_prefixes = true};

static lud_parameters *parameters;

typedef struct prompts {
    lud_prompts of;
    int64_t offsets[ROWS + 1];
    int32_t tokens[ROWS * LONGEST], group[ROWS];
    uint32_t environment[ROWS], agent[ROWS];
} prompts;

/* Three groups: one that shares 70 tokens, one whose second row is a beginning of the first, one of one row;
 * lengths from 1 to 140. */
static void make_prompts(prompts *p) {
    memset(p, 0, sizeof *p);
    for (int i = 0; i < ROWS; i++) {
        p->group[i] = i < 6 ? i % 2 : i < 12 ? 2 : 3;
        const int64_t n = p->group[i] == 1   ? 75 + 11 * (i % 5)
                          : p->group[i] == 2 ? 1 + 4 * (i - 6)
                                             : 20 + 20 * i;
        p->offsets[i + 1] = p->offsets[i] + (n < 140 ? n : 140);
        for (int64_t j = 0; j < p->offsets[i + 1] - p->offsets[i]; j++) {
            const bool shared = (p->group[i] == 1 && j < 70) || p->group[i] == 2;
            p->tokens[p->offsets[i] + j] =
                (int32_t)((j * j + 3 * j + (shared ? p->group[i] : 5 * i)) % VOCABULARY);
        }
        p->environment[i] = (uint32_t)(i / 6);
        p->agent[i] = (uint32_t)(i % 6);
    }
    p->of = (lud_prompts){ROWS, p->offsets, p->tokens, p->group, 77, 5, p->environment, p->agent};
}

typedef struct texts {
    int32_t tokens[ROWS][MOST];
    float log_probs[ROWS][MOST];
    int64_t lengths[ROWS];
    lud_generator_counts counts;
} texts;

static lud_generator *make(const lud_generator_options *options, int32_t end, int64_t at_a_time) {
    lud_error error = {0};
    lud_generator *generator = NULL;
    if (lud_generator_create(&shape, parameters, options, NULL, end, ROWS, at_a_time, &generator, &error))
        fail_msg("%s", error.text);
    return generator;
}

static void keep(const lud_texts *from, int64_t n, int64_t to, texts *t) {
    for (int64_t i = 0; i < n; i++) {
        t->lengths[to + i] = from->lengths[i];
        memcpy(t->tokens[to + i], from->tokens + i * from->most, (size_t)from->lengths[i] * sizeof(int32_t));
        memcpy(t->log_probs[to + i], from->log_probs + i * from->most,
               (size_t)from->lengths[i] * sizeof(float));
    }
}

static void generate(const lud_generator_options *options, int32_t end, int64_t at_a_time, const prompts *p,
                     texts *t) {
    lud_generator *generator = make(options, end, at_a_time);
    lud_texts out;
    memset(t, 0, sizeof *t);
    lud_generate(generator, &p->of, &out);
    lud_generate(generator, &p->of, &out); /* nothing is left of the first call */
    t->counts = lud_generator_last(generator);
    keep(&out, ROWS, 0, t);
    lud_generator_destroy(generator);
}

static void one_by_one(const lud_generator_options *options, int32_t end, const prompts *p, texts *t) {
    lud_generator *generator = make(options, end, 0);
    memset(t, 0, sizeof *t);
    for (int i = 0; i < ROWS; i++) {
        const int64_t offsets[2] = {0, p->offsets[i + 1] - p->offsets[i]};
        const lud_prompts one = {1,  offsets, p->tokens + p->offsets[i], p->group + i,
                                 77, 5,       p->environment + i,        p->agent + i};
        lud_texts out;
        lud_generate(generator, &one, &out);
        keep(&out, 1, i, t);
    }
    lud_generator_destroy(generator);
}

static void same(const texts *a, const texts *b, double tolerance) {
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(a->lengths[i], b->lengths[i]);
        assert_memory_equal(a->tokens[i], b->tokens[i], (size_t)a->lengths[i] * sizeof(int32_t));
        for (int64_t j = 0; j < a->lengths[i]; j++)
            if (!(fabs((double)a->log_probs[i][j] - (double)b->log_probs[i][j]) <= tolerance))
                fail_msg("row %d token %lld: %.9g and %.9g", i, (long long)j, (double)a->log_probs[i][j],
                         (double)b->log_probs[i][j]);
    }
}

static void batched_is_one_by_one(void **state) {
    (void)state;
    prompts p;
    texts batch, single;
    make_prompts(&p);
    lud_generator_options options = usual;
    for (int half = 0; half < 2; half++)
        for (int bytes = 0; bytes < 2; bytes++) {
            options.half_weights = half;
            options.cache_bytes = bytes;
            options.share_prefixes = false;
            generate(&options, 7, 0, &p, &batch);
            one_by_one(&options, 7, &p, &single);
            same(&batch, &single, 0.0); /* on the CPU, bit for bit */
            options.share_prefixes = true;
            generate(&options, 7, 0, &p, &batch);
            same(&batch, &single, bytes ? 1e-3 : 1e-4);
        }
}

static void prefixes(void **state) {
    (void)state;
    prompts p;
    texts shared, alone;
    make_prompts(&p);
    lud_generator_options options = usual;
    generate(&options, 7, 0, &p, &shared);
    options.share_prefixes = false;
    generate(&options, 7, 0, &p, &alone);
    same(&shared, &alone, 1e-4);
    assert_int_equal(alone.counts.prompt_tokens, p.offsets[ROWS]);
    assert_int_equal(alone.counts.computed_tokens, p.offsets[ROWS]);
    /* three rows share 70 tokens; of the third group the shortest row has one token, which it keeps for
     * itself */
    assert_int_equal(shared.counts.computed_tokens, p.offsets[ROWS] - 2 * 70);
    assert_true(shared.counts.cache_tokens < alone.counts.cache_tokens);
    assert_true(shared.counts.new_tokens == alone.counts.new_tokens);
}

static void splits_and_orders(void **state) {
    (void)state;
    prompts p, turned;
    texts whole, split, other;
    make_prompts(&p);
    lud_generator_options options = usual;
    options.share_prefixes = false;
    generate(&options, 7, 0, &p, &whole);
    generate(&options, 7, 3, &p, &split);
    same(&whole, &split, 0.0);
    options.share_prefixes = true;
    generate(&options, 7, 4, &p, &split);
    same(&whole, &split, 1e-4);
    make_prompts(&turned); /* the rows in the other order */
    turned.offsets[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        const int from = ROWS - 1 - i;
        const int64_t n = p.offsets[from + 1] - p.offsets[from];
        turned.offsets[i + 1] = turned.offsets[i] + n;
        memcpy(turned.tokens + turned.offsets[i], p.tokens + p.offsets[from], (size_t)n * sizeof(int32_t));
        turned.group[i] = p.group[from];
        turned.environment[i] = p.environment[from];
        turned.agent[i] = p.agent[from];
    }
    options.share_prefixes = false;
    generate(&options, 7, 0, &turned, &other);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(whole.lengths[i], other.lengths[ROWS - 1 - i]);
        assert_memory_equal(whole.tokens[i], other.tokens[ROWS - 1 - i],
                            (size_t)whole.lengths[i] * sizeof(int32_t));
    }
    /* another step, agent or seed draws others */
    p.of.step++;
    generate(&options, 7, 0, &p, &other);
    int equal = 0;
    for (int i = 0; i < ROWS; i++)
        equal += whole.lengths[i] == other.lengths[i] &&
                 memcmp(whole.tokens[i], other.tokens[i], (size_t)whole.lengths[i] * sizeof(int32_t)) == 0;
    assert_true(equal < 3);
}

/* The log-probabilities of act time are those of learning. */
static void log_probabilities(void **state) {
    (void)state;
    prompts p;
    texts t;
    lud_error error = {0};
    make_prompts(&p);
    lud_transformer_trainer *trainer = NULL;
    if (lud_transformer_trainer_create(&shape, parameters, 512, false, &trainer, &error))
        fail_msg("%s", error.text);
    for (int bytes = 0; bytes < 2; bytes++) {
        lud_generator_options options = usual;
        options.cache_bytes = bytes;
        generate(&options, -1, 0, &p, &t);
        double worst = 0.0;
        for (int i = 0; i < ROWS; i++) {
            int32_t tokens[LONGEST + MOST];
            const int64_t n = p.offsets[i + 1] - p.offsets[i];
            memcpy(tokens, p.tokens + p.offsets[i], (size_t)n * sizeof *tokens);
            memcpy(tokens + n, t.tokens[i], (size_t)t.lengths[i] * sizeof *tokens);
            assert_int_equal(t.lengths[i], MOST);
            float expected[MOST];
            lud_transformer_log_probs(trainer, 1, &(lud_sequence){tokens, n, MOST, 0}, expected);
            for (int64_t j = 0; j < MOST; j++)
                worst = fmax(worst, fabs((double)(t.log_probs[i][j] - expected[j])));
        }
        if (!(worst <= (bytes ? 0.15 : 1e-4))) fail_msg("differ by %.3g", worst);
    }
    lud_transformer_trainer_destroy(trainer);
}

static void endings(void **state) {
    (void)state;
    prompts p;
    texts open, ended;
    make_prompts(&p);
    generate(&usual, -1, 0, &p, &open);
    generate(&usual, 7, 0, &p, &ended);
    int stopped = 0;
    for (int i = 0; i < ROWS; i++) {
        /* an end token cuts the text that would have been, itself included */
        int64_t n = 0;
        while (n < open.lengths[i] && (n == 0 || open.tokens[i][n - 1] != 7)) n++;
        assert_int_equal(ended.lengths[i], n);
        assert_memory_equal(ended.tokens[i], open.tokens[i], (size_t)n * sizeof(int32_t));
        stopped += n < open.lengths[i];
    }
    assert_true(stopped > 0 && stopped < ROWS);
    /* the most probable token, whatever is drawn */
    lud_generator_options options = usual;
    options.sampling.temperature = 0.0;
    texts greedy, again;
    generate(&options, -1, 0, &p, &greedy);
    p.of.seed++;
    generate(&options, -1, 0, &p, &again);
    same(&greedy, &again, 0.0);
    lud_generator *generator = make(&options, -1, 0);
    float logits[VOCABULARY];
    lud_generator_logits(generator, p.offsets[1], p.tokens, logits);
    int32_t best = 0;
    for (int32_t k = 1; k < VOCABULARY; k++)
        if (logits[k] > logits[best]) best = k;
    assert_int_equal(greedy.tokens[0][0], best);
    lud_generator_destroy(generator);
    /* a context that ends */
    lud_transformer_shape narrow = shape;
    narrow.context = 145;
    lud_error error = {0};
    assert_int_equal(lud_generator_create(&narrow, parameters, &usual, NULL, -1, ROWS, 0, &generator, &error),
                     LUD_OK);
    lud_texts out;
    lud_generate(generator, &p.of, &out);
    for (int i = 0; i < ROWS; i++) {
        const int64_t room = 145 - (p.offsets[i + 1] - p.offsets[i]);
        assert_int_equal(out.lengths[i], room < MOST ? room : MOST);
    }
    lud_generator_destroy(generator);
}

/* A text of bytes ends behind its first object. */
static void objects(void **state) {
    (void)state;
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    assert_int_equal(lud_tokenizer_bytes(&tokenizer, &error), LUD_OK);
    lud_transformer_shape wide = shape;
    wide.vocabulary = lud_tokenizer_size(tokenizer);
    lud_parameters *others = lud_parameters_create(device, false);
    lud_transformer_declare(&wide, others);
    assert_int_equal(lud_parameters_build(others, 5, &error), LUD_OK);
    /* layers do little, so that a token is followed by its likes */
    float *values = others->values;
    for (int64_t i = 0; i < others->size; i++) values[i] *= values[i] == 1.0f ? 1.0f : 0.1f;
    /* braces are likely: their rows of the embedding, which is the head, are large along one direction */
    float *table = lud_parameters_value(others, lud_parameters_find(others, lud_transformer_embedding_name));
    for (int64_t i = 0; i < wide.vocabulary * wide.width; i++) table[i] *= 20.0f;
    for (int64_t j = 0; j < wide.width; j++) table['{' * wide.width + j] = table['}' * wide.width + j] = 0.5f;
    lud_generator_options options = usual;
    options.stop_at_object = true;
    options.sampling = (lud_sampling){.temperature = 3, .top_p = 1};
    lud_generator *generator = NULL;
    assert_int_equal(
        lud_generator_create(&wide, others, &options, tokenizer, -1, ROWS, 0, &generator, &error), LUD_OK);
    prompts p;
    make_prompts(&p);
    for (int64_t i = 0; i < p.offsets[ROWS]; i++) p.tokens[i] = '{';
    lud_texts out;
    int complete = 0;
    for (uint32_t step = 0; step < 40; step++) {
        p.of.step = step;
        lud_generate(generator, &p.of, &out);
        for (int i = 0; i < ROWS; i++) {
            int depth = 0;
            bool done = false;
            for (int64_t j = 0; j < out.lengths[i]; j++) {
                assert_false(done); /* nothing is written behind the object */
                const int32_t token = out.tokens[i * out.most + j];
                if (token == '"' && depth > 0) break; /* a string hides braces: not followed here */
                depth += token == '{';
                if (token == '}' && depth > 0) done = --depth == 0;
            }
            complete += done;
        }
    }
    assert_true(complete > 10);
    lud_generator_destroy(generator);
    lud_parameters_destroy(others);
    lud_tokenizer_destroy(tokenizer);
}

/* Published weights count, and nothing else does. */
static void publication(void **state) {
    (void)state;
    prompts p;
    make_prompts(&p);
    lud_generator *generator = make(&usual, -1, 0);
    lud_texts out;
    texts before = {0}, unpublished = {0}, after = {0}, fresh;
    lud_generate(generator, &p.of, &out);
    keep(&out, ROWS, 0, &before);
    float *values = lud_parameters_value(parameters, 1);
    values[0] += 3.0f;
    lud_generate(generator, &p.of, &out);
    keep(&out, ROWS, 0, &unpublished);
    lud_generator_publish(generator);
    lud_generate(generator, &p.of, &out);
    keep(&out, ROWS, 0, &after);
    generate(&usual, -1, 0, &p, &fresh);
    same(&before, &unpublished, 0.0);
    same(&after, &fresh, 0.0);
    assert_memory_not_equal(before.log_probs, after.log_probs, sizeof before.log_probs);
    values[0] -= 3.0f;
    lud_generator_destroy(generator);
}

int main(void) {
    lud_error error = {0};
    if (lud_device_open("cpu", 2, &device, &error)) return 1;
    parameters = lud_parameters_create(device, false);
    if (!parameters) return 1;
    lud_transformer_declare(&shape, parameters);
    if (lud_parameters_build(parameters, 9, &error)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(batched_is_one_by_one),
                                       cmocka_unit_test(prefixes),
                                       cmocka_unit_test(splits_and_orders),
                                       cmocka_unit_test(log_probabilities),
                                       cmocka_unit_test(endings),
                                       cmocka_unit_test(objects),
                                       cmocka_unit_test(publication)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lud_parameters_destroy(parameters);
    lud_device_close(device);
    return failed;
}
