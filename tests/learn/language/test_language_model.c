/* Language models as a scenario's options name them: new ones, and those of a folder that others wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "learn/language/language_model.h"
#include "learn/store/checkpoint.h"
#include "sim/scenario.h"

TEST_FOLDER("/tmp/ludus-language-XXXXXX")

enum { WIDTH = 8 }; /* two heads of four */

static lud_device *device;
static lud_scenario *scenario;

static int prepare(void **state) {
    static const char text[] = "ludus: 1\nworld: tribes\ntribes:\n  map: |\n    g . 1\n    . A 1\n  teams:\n"
                               "    - {name: red, values: [1, 1, 1]}\n  max_steps: 4\n";
    lud_error error = {0};
    if (set_up(state) || lud_device_open("cpu", 1, &device, &error) ||
        lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &scenario, &error))
        fail_msg("%s", error.text);
    return 0;
}

static int clean(void **state) {
    lud_scenario_destroy(scenario);
    lud_device_close(device);
    return tear_down(state);
}

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path_of(name), text, strlen(text), &error)) fail_msg("%s", error.text);
}

/* The options as a scenario has them that says nothing of the model. */
static lud_language_options usual(void) {
    lud_language_options o;
    lud_error error = {0};
    if (lud_options_default(&lud_language_option_table, scenario->arena, &o, &error))
        fail_msg("%s", error.text);
    return o;
}

/* Fails with a message that has the part; null: does not. */
static lud_language_model made(const lud_language_options *o, const char *file, const char *part) {
    lud_error error = {0};
    lud_language_model l;
    lud_status status = lud_language_model_create(o, scenario->model, file, device, &l, &error);
    if (!status) status = lud_language_model_build(&l, file, 3, &error);
    if (!part && status) fail_msg("%s", error.text);
    if (part && !status) fail_msg("expected a message with `%s`", part);
    if (part && !strstr(error.text, part)) fail_msg("expected `%s` in `%s`", part, error.text);
    return l;
}

/* Writes a small model as a folder `model` of somebody else's; returns the model. */
static lud_language_model write_model(void) {
    lud_language_options o = usual();
    lud_error error = {0};
    o.tokenizer = LUD_TOKENIZER_FILE;
    o.tokenizer_file = LUDUS_SOURCE_DIR "/tests/fuzz/corpus/fuzz_tokenizer/byte_level";
    o.width = WIDTH, o.layers = 1, o.heads = 2, o.hidden = 16, o.context = 48, o.max_new_tokens = 8;
    lud_language_model l = made(&o, NULL, NULL);
    assert_int_equal(mkdir(path_of("model"), 0755), 0);
    char config[512];
    snprintf(
        config, sizeof config,
        "{\"model_type\": \"llama\", \"vocab_size\": %lld, \"hidden_size\": 8, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 16, \"max_position_embeddings\": 48, "
        "\"rms_norm_eps\": 1e-5, \"rope_theta\": 10000}",
        (long long)l.shape.vocabulary);
    write_text("model/config.json", config);
    lud_arena *arena = lud_arena_create(0);
    char *tokenizer;
    size_t length;
    if (lud_file_read(arena, o.tokenizer_file, 0, &tokenizer, &length, &error) ||
        lud_file_write(path_of("model/tokenizer.json"), tokenizer, length, &error))
        fail_msg("%s", error.text);
    lud_arena_destroy(arena);
    lud_checkpoint *weights = lud_checkpoint_create();
    float turned[2][WIDTH * WIDTH];
    int n_turned = 0;
    for (int i = 0; i < l.parameters->n; i++) {
        const lud_parameter *p = &l.parameters->items[i];
        float *values = (float *)l.parameters->values + p->offset;
        if (strstr(p->name, "q_proj") || strstr(p->name, "k_proj")) {
            /* what is turned together are neighbours here, and half a head apart in files */
            float *to = turned[n_turned++];
            for (int row = 0; row < WIDTH; row++)
                memcpy(to + WIDTH * (row / 4 * 4 + row % 4 / 2 + row % 2 * 2), values + WIDTH * row,
                       WIDTH * sizeof *to);
            values = to;
        }
        lud_checkpoint_tensor(weights, p->name, LUD_TENSOR_F32, p->n_dimensions, p->dimensions, values);
    }
    assert_int_equal(n_turned, 2);
    if (lud_checkpoint_status(weights, &error) ||
        lud_checkpoint_write(weights, path_of("model/model.safetensors"), &error))
        fail_msg("%s", error.text);
    lud_checkpoint_destroy(weights);
    return l;
}

static void expect_same(const lud_language_model *a, const lud_language_model *b) {
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
    assert_int_equal(a->parameters->n, b->parameters->n);
    for (int i = 0; i < a->parameters->n; i++) {
        const lud_parameter *p = &a->parameters->items[i], *q = &b->parameters->items[i];
        assert_string_equal(p->name, q->name);
        assert_memory_equal((float *)a->parameters->values + p->offset,
                            (float *)b->parameters->values + q->offset, (size_t)p->n * sizeof(float));
    }
    int32_t first[64], second[64];
    const char *text = "take the wood at (1, 0)";
    const int64_t n = lud_tokenizer_encode(a->tokenizer, text, strlen(text), first, 64);
    assert_int_equal(lud_tokenizer_encode(b->tokenizer, text, strlen(text), second, 64), n);
    assert_true(n > 3);
    assert_memory_equal(first, second, (size_t)n * sizeof *first);
}

/* A folder's shape, weights and tokeniser are taken, beside the scenario that names it; the context is the
 * shorter one of both. */
static void test_pretrained_folders(void **state) {
    (void)state;
    lud_language_model whole = write_model();
    lud_language_options o = usual();
    o.pretrained = path_of("model");
    char absolute[256], file[256];
    snprintf(absolute, sizeof absolute, "%s", o.pretrained);
    snprintf(file, sizeof file, "%s/scenario.yaml", folder);
    o.pretrained = absolute;
    o.tokenizer = LUD_TOKENIZER_FILE;
    lud_language_model l = made(&o, NULL, NULL);
    expect_same(&l, &whole);
    assert_int_equal(l.options.max_prompt, 48 - 32);
    lud_language_model_destroy(&l);

    o.pretrained = "model"; /* where the scenario is */
    l = made(&o, file, NULL);
    expect_same(&l, &whole);
    lud_language_model_destroy(&l);

    o.context = 40;
    o.tokenizer_file = "model/tokenizer.json";
    l = made(&o, file, NULL);
    assert_int_equal(l.shape.context, 40);
    assert_int_equal(l.options.max_prompt, 8);
    assert_int_equal(l.shape.width, 8); /* whatever the options say */
    lud_language_model_destroy(&l);
    lud_language_model_destroy(&whole);
}

/* What does not go together is told before anything is learned. */
static void test_folders_that_do_not_fit(void **state) {
    (void)state;
    char file[256];
    snprintf(file, sizeof file, "%s/scenario.yaml", folder);
    lud_language_options o = usual();
    o.pretrained = "model";
    o.tokenizer = LUD_TOKENIZER_FILE;
    o.max_new_tokens = 48;
    lud_language_model l = made(&o, file, "leaves nothing of a context of 48 tokens");
    lud_language_model_destroy(&l);
    o.max_new_tokens = 8;
    o.tokenizer_file = LUDUS_SOURCE_DIR "/tests/fuzz/corpus/fuzz_tokenizer/llama3";
    write_text(
        "model/config.json",
        "{\"model_type\": \"llama\", \"vocab_size\": 40, \"hidden_size\": 8, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"intermediate_size\": 16, \"max_position_embeddings\": 48}");
    l = made(&o, file, "tokens, the pretrained model knows 40");
    lud_language_model_destroy(&l);
    o.pretrained = "nowhere";
    l = made(&o, file, "nowhere/config.json");
    lud_language_model_destroy(&l);
    o.tokenizer_file = NULL;
    l = made(&o, file, "nowhere/tokenizer.json");
    lud_language_model_destroy(&l);
    o.pretrained = NULL;
    l = made(&o, file, "expected tokenizer_file");
    lud_language_model_destroy(&l);
}

/* A new model has the sizes that follow from those that are said. */
static void test_sizes_of_new_models(void **state) {
    (void)state;
    lud_language_options o = usual();
    o.width = 24, o.heads = 3, o.layers = 2, o.vocabulary_states = 4;
    lud_language_model l = made(&o, NULL, NULL);
    assert_int_equal(l.shape.kv_heads, 3);
    assert_int_equal(l.shape.head_dim, 8);
    assert_int_equal(l.shape.hidden, 64);
    assert_int_equal(l.shape.vocabulary, lud_tokenizer_size(l.tokenizer));
    assert_int_equal(l.options.max_prompt, 512 - 32);
    lud_language_model_destroy(&l);
    o.kv_heads = 1, o.head_dim = 4, o.hidden = 5, o.max_prompt = 100;
    l = made(&o, NULL, NULL);
    assert_int_equal(l.shape.kv_heads, 1);
    assert_int_equal(l.shape.head_dim, 4);
    assert_int_equal(l.shape.hidden, 5);
    assert_int_equal(l.options.max_prompt, 100);
    lud_language_model_destroy(&l);
}

/* The words that no answer can do without are in a vocabulary before all others, however often these come. */
static void test_words_of_answers(void **state) {
    (void)state;
    lud_error error = {0};
    lud_vocabulary answers = {0}, words = {0};
    const char *mark = "\n> ";
    lud_vocabulary_add(&answers, lud_action_open, strlen(lud_action_open), 1);
    lud_vocabulary_add(&answers, lud_action_close, strlen(lud_action_close), 1);
    lud_vocabulary_add(&answers, mark, strlen(mark), 1);
    const lud_action_space *actions = &scenario->model->layout.actions[0];
    for (int a = 0; a < actions->n_discrete; a++)
        lud_vocabulary_add(&answers, actions->names[a], strlen(actions->names[a]), 1);
    lud_vocabulary_order(&answers, 1 << 20);
    assert_true(answers.n > 10);
    if (lud_prompt_vocabulary(scenario->model, 64, mark, answers.n, &words, &error))
        fail_msg("%s", error.text);
    assert_int_equal(words.n, answers.n);
    for (int64_t i = 0; i < answers.n; i++) {
        bool found = false;
        for (int64_t k = 0; k < words.n && !found; k++) found = !strcmp(words.words[k], answers.words[i]);
        if (!found) fail_msg("`%s` is no word", answers.words[i]);
    }
    lud_vocabulary_free(&words);
    lud_vocabulary_free(&answers);
}

static void nothing_of_its_own(const lud_model *model, const uint8_t *state, lud_text *out) {
    (void)model;
    (void)state;
    lud_text_append(out, "all is quiet");
}

/* Where a world says nothing of its own, a team is told what those of it can do, and an agent its number. */
static void test_worlds_that_say_little(void **state) {
    (void)state;
    static const char *const farm[] = {"sow", "reap"}, *const guard[] = {"watch", "shout", "run"};
    static const int teams[] = {1, 0, 0, 2}; /* the last team has nobody: the last agent tells its choices */
    const lud_action_space actions[] = {{.n_discrete = 2, .names = farm},
                                        {.n_discrete = 3, .names = guard},
                                        {.n_discrete = 2, .names = farm},
                                        {.n_discrete = 1, .names = guard}};
    const lud_world world = {.name = "quiet", .describe = nothing_of_its_own};
    const lud_model model = {.world = &world,
                             .layout = {.n_agents = 4, .n_teams = 4, .teams = teams, .actions = actions}};
    static const char *const expected[] = {
        "Choose one of these actions: watch shout run\n", "Choose one of these actions: sow reap\n",
        "Choose one of these actions: watch\n", "Choose one of these actions: watch\n"};
    lud_text text = {0};
    for (int team = 0; team < 4; team++) {
        lud_text_clear(&text);
        lud_prompt_team_text(&model, team, &text);
        assert_string_equal(text.bytes, expected[team]);
    }
    lud_text_clear(&text);
    lud_prompt_agent_text(&model, NULL, 2, &text);
    assert_string_equal(text.bytes, "You are agent 2.\nall is quiet\n");
    lud_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pretrained_folders), cmocka_unit_test(test_folders_that_do_not_fit),
        cmocka_unit_test(test_sizes_of_new_models), cmocka_unit_test(test_words_of_answers),
        cmocka_unit_test(test_worlds_that_say_little)};
    return cmocka_run_group_tests(tests, prepare, clean);
}
