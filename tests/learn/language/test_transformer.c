/* The transformer: logits of models run in PyTorch, gradients against differences, batches against single
 * sequences, activations computed again against activations kept. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/file.h"
#include "learn/language/generate.h"
#include "learn/language/pretrained.h"
#include "learn/language/safetensors.h"

static lud_device *device;

static const lud_transformer_shape small = {.vocabulary = 19,
                                            .width = 12,
                                            .layers = 3,
                                            .heads = 4,
                                            .kv_heads = 2,
                                            .head_dim = 6,
                                            .hidden = 20,
                                            .context = 40,
                                            .rope_theta = 10000,
                                            .norm_epsilon = 1e-5,
                                            .tied = true};

static lud_parameters *make(const lud_transformer_shape *shape, uint64_t seed) {
    lud_error error = {0};
    lud_parameters *parameters = lud_parameters_create(device, false);
    assert_non_null(parameters);
    lud_transformer_declare(shape, parameters);
    if (lud_parameters_build(parameters, seed, &error)) fail_msg("%s", error.text);
    int64_t n = 0;
    for (int i = 0; i < parameters->n; i++) n += parameters->items[i].n;
    assert_int_equal(n, lud_transformer_numbers(shape));
    return parameters;
}

static lud_transformer_trainer *train(const lud_transformer_shape *shape, lud_parameters *parameters,
                                      int64_t max_tokens, bool checkpointing) {
    lud_error error = {0};
    lud_transformer_trainer *trainer = NULL;
    if (lud_transformer_trainer_create(shape, parameters, max_tokens, checkpointing, &trainer, &error))
        fail_msg("%s", error.text);
    return trainer;
}

enum { N = 5, LONGEST = 40 };

/* Sequences of different lengths, one without a response, one that is a single token with one response. */
static void make_sequences(lud_sequence *sequences, int32_t *tokens) {
    static const int64_t prompts[N] = {7, 1, 12, 3, 20}, responses[N] = {5, 1, 0, 9, 3};
    for (int i = 0; i < N; i++) {
        sequences[i] = (lud_sequence){tokens + i * LONGEST, prompts[i], responses[i], 0};
        for (int64_t j = 0; j < prompts[i] + responses[i]; j++)
            tokens[i * LONGEST + j] = (int32_t)((i * 31 + j * j * 7 + j) % small.vocabulary);
    }
}

static int64_t count_targets(const lud_sequence *sequences) {
    int64_t n = 0;
    for (int i = 0; i < N; i++) n += sequences[i].response;
    return n;
}

static void near(const float *a, const float *b, int64_t n, double tolerance, const char *what) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance * (1.0 + fabs((double)b[i]))))
            fail_msg("%s[%lld]: %.9g and %.9g", what, (long long)i, (double)a[i], (double)b[i]);
}

static void batches_are_singles(void **state) {
    (void)state;
    lud_parameters *parameters = make(&small, 1);
    lud_transformer_trainer *trainer = train(&small, parameters, 128, false), *pieces;
    static int32_t tokens[N * LONGEST];
    lud_sequence sequences[N];
    make_sequences(sequences, tokens);
    for (int i = 0; i < N; i++) /* the last token is only predicted */
        assert_int_equal(lud_sequence_inputs(&sequences[i]), sequences[i].prompt + sequences[i].response - 1);
    pieces = train(&small, parameters, small.context, true); /* no more than that at a time */
    float batch[64], single[64], other[64];
    lud_transformer_log_probs(trainer, N, sequences, batch);
    int64_t at = 0;
    for (int i = 0; i < N; i++) {
        lud_transformer_log_probs(trainer, 1, &sequences[i], single + at);
        at += sequences[i].response;
    }
    near(batch, single, at, 1e-5, "log-probability");
    lud_transformer_log_probs(pieces, N, sequences, other);
    near(batch, other, at, 1e-5, "log-probability in pieces");
    /* probabilities of all tokens behind a prompt add up to one */
    double sum = 0.0;
    for (int32_t last = 0; last < small.vocabulary; last++) {
        int32_t text[4] = {3, 1, 4, last};
        const lud_sequence one = {text, 3, 1, 0};
        lud_transformer_log_probs(trainer, 1, &one, single);
        sum += exp((double)single[0]);
    }
    assert_float_equal(sum, 1.0, 1e-5);
    lud_transformer_trainer_destroy(trainer);
    lud_transformer_trainer_destroy(pieces);
    lud_parameters_destroy(parameters);
}

/* sum of coefficients times log-probabilities, in double. */
static double objective(lud_transformer_trainer *trainer, const lud_sequence *sequences,
                        const float *coefficient) {
    float log_probs[64];
    lud_transformer_log_probs(trainer, N, sequences, log_probs);
    double sum = 0.0;
    int64_t at = 0;
    for (int i = 0; i < N; i++)
        for (int64_t j = 0; j < sequences[i].response; j++)
            sum += (double)coefficient[i] * (double)log_probs[at++];
    return sum;
}

static void gradients(void **state) {
    (void)state;
    lud_transformer_shape shapes[2] = {small, small};
    shapes[1].tied = false;
    static const float coefficient[N] = {0.7f, -1.1f, 5.0f, 0.4f, -0.3f};
    static int32_t tokens[N * LONGEST];
    lud_sequence sequences[N];
    make_sequences(sequences, tokens);
    for (int k = 0; k < 2; k++) {
        lud_parameters *parameters = make(&shapes[k], 2);
        lud_transformer_trainer *trainer = train(&shapes[k], parameters, 128, k == 1);
        lud_parameters_zero_gradients(parameters);
        float log_probs[64], again[64];
        lud_transformer_gradient(trainer, N, sequences, coefficient, NULL, log_probs);
        lud_transformer_log_probs(trainer, N, sequences, again);
        assert_memory_equal(log_probs, again, (size_t)count_targets(sequences) * sizeof(float));
        for (int p = 0; p < parameters->n; p++) {
            float *values = lud_parameters_value(parameters, p);
            const float *gradient = lud_parameters_gradient(parameters, p);
            const int64_t n = parameters->items[p].n;
            /* along the gradient itself the objective grows by its square: one difference checks a parameter
             */
            double square = 0.0;
            for (int64_t i = 0; i < n; i++) square += (double)gradient[i] * (double)gradient[i];
            const double h = 2e-3 / sqrt(square + 1e-12);
            float *old = malloc((size_t)n * sizeof *old);
            assert_non_null(old);
            memcpy(old, values, (size_t)n * sizeof *old);
            for (int64_t i = 0; i < n; i++) values[i] = (float)((double)old[i] + h * (double)gradient[i]);
            const double above = objective(trainer, sequences, coefficient);
            for (int64_t i = 0; i < n; i++) values[i] = (float)((double)old[i] - h * (double)gradient[i]);
            const double below = objective(trainer, sequences, coefficient);
            memcpy(values, old, (size_t)n * sizeof *old);
            free(old);
            const double difference = (above - below) / (2.0 * h);
            if (!(fabs(difference - square) <= 0.02 * square + 2e-3 * sqrt(square)))
                fail_msg("%s: differences give %.6g, the gradient %.6g", parameters->items[p].name,
                         difference, square);
        }
        lud_transformer_trainer_destroy(trainer);
        lud_parameters_destroy(parameters);
    }
}

/* Kept or computed again, at once or in pieces: the same gradient. */
static void checkpointing(void **state) {
    (void)state;
    static const float coefficient[N] = {1, -2, 0.5f, 1, 1}, entropy[N] = {0.1f, 0.1f, 0, 0.3f, 0};
    static int32_t tokens[N * LONGEST];
    lud_sequence sequences[N];
    make_sequences(sequences, tokens);
    lud_parameters *parameters = make(&small, 3);
    float *first = NULL;
    size_t bytes[2];
    for (int k = 0; k < 3; k++) {
        lud_transformer_trainer *trainer = train(&small, parameters, k == 2 ? 40 : 256, k == 1);
        if (k < 2) bytes[k] = lud_transformer_trainer_bytes(trainer);
        lud_parameters_zero_gradients(parameters);
        lud_transformer_gradient(trainer, N, sequences, coefficient, entropy, NULL);
        const size_t n = (size_t)parameters->size;
        if (k == 0) {
            first = malloc(n * sizeof *first);
            assert_non_null(first);
            memcpy(first, parameters->gradients, n * sizeof *first);
        } else if (k == 1) {
            assert_memory_equal(first, parameters->gradients, n * sizeof *first);
        } else {
            near(parameters->gradients, first, (int64_t)n, 2e-4, "gradient in pieces");
        }
        lud_transformer_trainer_destroy(trainer);
    }
    assert_true(bytes[1] < bytes[0] * 2 / 3);
    free(first);
    lud_parameters_destroy(parameters);
}

/* What sequences begin with is an input once for all of them, with the same log-probabilities and gradient.
 * Two teams' beginnings take turns; one sequence shares nothing, one is nearly nothing else. */
static void shared_beginnings(void **state) {
    (void)state;
    static const int64_t prompts[N] = {17, 9, 14, 3, 10}, responses[N] = {3, 2, 2, 9, 3},
                         shared[N] = {12, 8, 12, 0, 8};
    static const float coefficient[N] = {1, -2, 0.5f, 1, 1}, entropy[N] = {0.1f, 0.1f, 0, 0.3f, 0};
    static int32_t tokens[N * LONGEST];
    lud_sequence sequences[N];
    for (int i = 0; i < N; i++) {
        sequences[i] = (lud_sequence){tokens + i * LONGEST, prompts[i], responses[i], 0};
        for (int64_t j = 0; j < prompts[i] + responses[i]; j++) {
            const int64_t own = j < shared[i] ? shared[i] : 31 * i;
            tokens[i * LONGEST + j] = (int32_t)((own + j * j * 7 + j) % small.vocabulary);
        }
    }
    lud_parameters *parameters = make(&small, 3);
    lud_transformer_trainer *trainer = train(&small, parameters, 128, false);
    const size_t n = (size_t)parameters->size;
    float *apart = malloc(n * sizeof *apart), expected[64], got[64];
    assert_non_null(apart);
    lud_parameters_zero_gradients(parameters);
    lud_transformer_gradient(trainer, N, sequences, coefficient, entropy, expected);
    memcpy(apart, parameters->gradients, n * sizeof *apart);
    const int64_t inputs = lud_transformer_trainer_inputs(trainer);
    for (int i = 0; i < N; i++) sequences[i].shared = shared[i];
    lud_parameters_zero_gradients(parameters);
    lud_transformer_gradient(trainer, N, sequences, coefficient, entropy, got);
    assert_int_equal(lud_transformer_trainer_inputs(trainer) - inputs, inputs - 12 - 8);
    near(got, expected, count_targets(sequences), 1e-5, "log-probability");
    near(parameters->gradients, apart, (int64_t)n, 2e-5, "gradient");
    free(apart);
    lud_transformer_trainer_destroy(trainer);
    lud_parameters_destroy(parameters);
}

/* --- models of others --- */

static const char *golden(const char *model, const char *file) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/language/%s/%s", LUDUS_SOURCE_DIR, model, file);
    return path;
}

static void check_pretrained(const char *name, bool half_cache) {
    lud_error error = {0};
    lud_transformer_shape shape;
    if (lud_pretrained_shape(golden(name, "config.json"), &shape, &error)) fail_msg("%s", error.text);
    lud_parameters *parameters = lud_parameters_create(device, false);
    lud_transformer_declare(&shape, parameters);
    assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
    if (lud_pretrained_load(golden(name, "."), &shape, parameters, &error)) fail_msg("%s", error.text);
    json_t *root = json_load_file(golden(name, "logits.json"), 0, NULL);
    const json_t *ids = json_object_get(root, "tokens"), *rows = json_object_get(root, "logits");
    int32_t tokens[64];
    const int64_t n = (int64_t)json_array_size(ids);
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
    const lud_generator_options options = {
        .sampling = {.temperature = 1, .top_p = 1}, .max_new_tokens = 1, .cache_bytes = half_cache};
    lud_generator *generator = NULL;
    if (lud_generator_create(&shape, parameters, &options, NULL, -1, 2, 0, &generator, &error))
        fail_msg("%s", error.text);
    lud_transformer_trainer *trainer = train(&shape, parameters, 64, false);
    const double tolerance = half_cache ? 0.1 : 2e-5;
    float logits[64], log_probs[64];
    lud_transformer_log_probs(trainer, 1, &(lud_sequence){tokens, 1, n - 1, 0}, log_probs);
    for (int64_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        float expected[64];
        double sum = 0.0;
        for (int64_t j = 0; j < shape.vocabulary; j++) {
            expected[j] = (float)json_number_value(json_array_get(row, (size_t)j));
            sum += exp((double)expected[j]);
        }
        lud_generator_logits(generator, i + 1, tokens, logits);
        near(logits, expected, shape.vocabulary, tolerance, "logit");
        if (i + 1 < n) {
            const float log_prob = (float)((double)expected[tokens[i + 1]] - log(sum));
            near(&log_probs[i], &log_prob, 1, 2e-5, "log-probability");
        }
    }
    json_decref(root);
    lud_transformer_trainer_destroy(trainer);
    lud_generator_destroy(generator);
    lud_parameters_destroy(parameters);
}

static void logits_of_pytorch(void **state) {
    (void)state;
    check_pretrained("llama_grouped", false);
    check_pretrained("llama_tied", false);
    check_pretrained("llama_grouped", true);
}

static void refused(const char *from, const char *to, const char *says) {
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length;
    lud_error error = {0};
    assert_int_equal(lud_file_read(arena, golden("llama_grouped", "config.json"), 0, &bytes, &length, &error),
                     LUD_OK);
    const char *at = strstr(bytes, from);
    assert_non_null(at);
    lud_text text = {0};
    lud_text_append_bytes(&text, bytes, (size_t)(at - bytes));
    lud_text_append(&text, "%s%s", to, at + strlen(from));
    lud_transformer_shape shape;
    const lud_status status = lud_pretrained_shape_parse("c.json", text.bytes, text.length, &shape, &error);
    if (status == LUD_OK || !strstr(error.text, says)) fail_msg("%s, expected %s", error.text, says);
    lud_text_free(&text);
    lud_arena_destroy(arena);
}

static void refusals(void **state) {
    (void)state;
    refused("\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}", "linear");
    refused("\"rope_scaling\": null", "\"rope_scaling\": {\"rope_type\": \"llama3\"}", "llama3");
    refused("\"model_type\": \"llama\"", "\"model_type\": \"mistral\"", "mistral");
    refused("\"silu\"", "\"gelu\"", "gelu");
    refused("\"hidden_size\": 16", "\"hidden_size\": \"x\"", "hidden_size");
    refused("\"hidden_size\": 16", "\"attention_bias\": true, \"hidden_size\": 16", "attention_bias");
    refused("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "3 kv_heads");
    refused("\"vocab_size\": 40", "\"vocab_size\": 0", "vocabulary");
    refused("\"attention_bias\": false", "\"mlp_bias\": true", "mlp_bias");
    refused("\"hidden_size\": 16", "\"hidden_size\": 16, \"partial_rotary_factor\": 0.5",
            "partial_rotary_factor");
    refused("\"hidden_size\": 16", "\"hidden_size\": 16, \"quantization_config\": {}", "quantization_config");
    refused("\"hidden_size\": 16", "\"hidden_size\": 16, \"sliding_window\": 64", "sliding_window");
    refused("\"hidden_size\": 16", "\"hidden_size\": 16, \"rope_parameters\": {\"rope_type\": \"yarn\"}",
            "yarn");
    refused("\"num_attention_heads\": 4", "\"num_attention_heads\": 0", "heads");
    refused("\"num_attention_heads\": 4", "\"num_attention_heads\": 17", "heads");
    refused("\"vocab_size\": 40", "\"vocab\": 40", "vocab_size");
}

/* The largest numbers of a shape are a shape, the next ones and 0 are not, and named. */
static void shapes_have_limits(void **state) {
    (void)state;
    lud_transformer_shape shape = small;
    const struct {
        const char *name;
        int64_t *number, most;
    } limits[] = {{"vocabulary", &shape.vocabulary, 1 << 24},
                  {"width", &shape.width, 1 << 20},
                  {"layers", &shape.layers, 256},
                  {"heads", &shape.heads, 16384},
                  {"kv_heads", &shape.kv_heads, 16384},
                  {"head_dim", &shape.head_dim, 16384},
                  {"hidden", &shape.hidden, 1 << 22},
                  {"context", &shape.context, 1 << 24}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int wrong = 0; wrong < 3; wrong++) {
            lud_error error = {0};
            shape = small;
            shape.heads = shape.kv_heads = 1;
            if (limits[i].number == &shape.kv_heads)
                shape.heads = limits[i].most; /* which share them evenly */
            *limits[i].number = wrong == 2 ? 0 : limits[i].most + wrong;
            const lud_status status = lud_transformer_check(&shape, &error);
            if (!wrong && status) fail_msg("%s", error.text);
            if (wrong && (!status || !strstr(error.text, limits[i].name))) fail_msg("%s", limits[i].name);
        }
}

/* A tensor that is missing, of another shape, or of no parameter; a file that ends too early. */
static void wrong_weights(void **state) {
    (void)state;
    lud_error error = {0};
    lud_transformer_shape shape;
    assert_int_equal(lud_pretrained_shape(golden("llama_grouped", "config.json"), &shape, &error), LUD_OK);
    lud_parameters *parameters = lud_parameters_create(device, false);
    shape.hidden = 25;
    lud_transformer_declare(&shape, parameters);
    assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
    assert_int_equal(lud_pretrained_load(golden("llama_grouped", "."), &shape, parameters, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "shape"));
    assert_int_equal(lud_pretrained_load("/nowhere", &shape, parameters, &error), LUD_ERROR_INPUT);
    lud_parameters_destroy(parameters);

    shape.hidden = 24;
    parameters = lud_parameters_create(device, false);
    lud_transformer_declare(&shape, parameters);
    assert_int_equal(lud_parameters_build(parameters, 1, &error), LUD_OK);
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL, name[] = "self_attn.v_proj";
    size_t length;
    assert_int_equal(
        lud_file_read(arena, golden("llama_grouped", "model.safetensors"), 0, &bytes, &length, &error),
        LUD_OK);
    assert_int_equal(lud_pretrained_load_bytes("m", bytes, length, &shape, parameters, &error), LUD_OK);
    assert_int_equal(lud_pretrained_load_bytes("m", bytes, length - 1, &shape, parameters, &error),
                     LUD_ERROR_INPUT);
    char *at = memmem(bytes, length, name, sizeof name - 1);
    assert_non_null(at);
    at[10] = 'w';
    assert_int_equal(lud_pretrained_load_bytes("m", bytes, length, &shape, parameters, &error),
                     LUD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "self_attn.w_proj"));
    lud_arena_destroy(arena);
    lud_parameters_destroy(parameters);
}

/* Numbers of two bytes: halves, the smallest and largest, signs, infinity. */
static void halves(void **state) {
    (void)state;
    const uint16_t f16[] = {0x3c00, 0xc000, 0x0001, 0x8001, 0x7bff, 0x3555, 0x7c00, 0x0400};
    const float values[] = {1.0f, -2.0f, 0x1p-24f, -0x1p-24f, 65504.0f, 0.333251953125f, INFINITY, 0x1p-14f};
    lud_tensor tensor = {
        .type = LUD_TENSOR_F16, .n_dimensions = 1, .dimensions = {8}, .bytes = 16, .data = f16};
    float got[8];
    assert_true(lud_safetensors_floats(&tensor, 0, 8, got));
    assert_memory_equal(got, values, sizeof values);
    const uint16_t bf16[] = {0x3f80, 0xc000, 0x3eab};
    const float wide[] = {1.0f, -2.0f, 0.333984375f};
    tensor =
        (lud_tensor){.type = LUD_TENSOR_BF16, .n_dimensions = 1, .dimensions = {3}, .bytes = 6, .data = bf16};
    assert_true(lud_safetensors_floats(&tensor, 0, 3, got));
    assert_memory_equal(got, wide, sizeof wide);
    tensor.type = LUD_TENSOR_I16;
    assert_false(lud_safetensors_floats(&tensor, 0, 3, got));
}

int main(void) {
    lud_error error = {0};
    if (lud_device_open("cpu", 2, &device, &error)) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_are_singles),
                                       cmocka_unit_test(gradients),
                                       cmocka_unit_test(checkpointing),
                                       cmocka_unit_test(shared_beginnings),
                                       cmocka_unit_test(logits_of_pytorch),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(shapes_have_limits),
                                       cmocka_unit_test(wrong_weights),
                                       cmocka_unit_test(halves)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lud_device_close(device);
    return failed;
}
