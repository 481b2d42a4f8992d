/* Token agents in ticks: prompts and what replies mean, imitation, resuming, threads and splits, learning. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "learn/ticks/support_ticks.h"
#include "learn/ticks/token_policy.h"

enum { AGENTS = 9, TEAMS = 3, ENVS = 2, ROWS = AGENTS * ENVS };

#define LANGUAGE "width: 24, layers: 2, heads: 2, context: 96, max_new_tokens: 4, temperature: 1, top_p: 1"
#define SCRIPT   "policies: {other: {type: script, actions: [two], repeat: true}}"
#define OPTIONS  "imitation: {ticks: 5, " SCRIPT "}, learning_rate: 0.003, gate: {mode: top_k, rate: 0.5}"

static support_ticks open_tokens(const char *language, const char *options) {
    char text[1024];
    snprintf(text, sizeof text, "policy: {type: tokens, language: {%s}}, %s", language, options);
    return support_ticks_open(AGENTS, TEAMS, ENVS, text);
}

/* --- prompts and replies --- */

static void prompts(void **state) {
    (void)state;
    support_ticks s = open_tokens(LANGUAGE, OPTIONS);
    const lud_model *model = &s.model->base;
    lud_error error = {0};
    lud_tokenizer *tokenizer = NULL;
    assert_int_equal(lud_tokenizer_bytes(&tokenizer, &error), LUD_OK);
    lud_prompter *prompter = NULL;
    assert_int_equal(lud_prompter_create(model, tokenizer, "\n> ", 100, &prompter, &error), LUD_OK);
    support_ticks_run(&s, 1);
    const uint8_t *world = s.learner->training.batch->states;
    int32_t tokens[100];
    lud_text scratch = {0}, text = {0};
    int64_t left_out = 0, n = lud_prompt_write(prompter, world, 4, &scratch, tokens, &left_out);
    lud_tokenizer_decode(tokenizer, n, tokens, &text);
    char expected[256];
    static const char *const cues[] = {"one", "two", "three"};
    snprintf(expected, sizeof expected,
             "you are of team blue, do as the cue says\nthe cue is %s\nit is step 1\n\n> ",
             cues[support_ticks_cue(&s, 0, 4)]);
    assert_string_equal(text.bytes, expected);
    assert_int_equal(left_out, 0);
    /* the team's text stands first, token for token, and the mark last, whatever has to go */
    const int64_t shared = lud_prompt_shared(prompter, 4);
    lud_prompter_destroy(prompter);
    assert_int_equal(lud_prompter_create(model, tokenizer, "\n> ", shared + 20, &prompter, &error), LUD_OK);
    n = lud_prompt_write(prompter, world, 4, &scratch, tokens, &left_out);
    assert_true(n <= shared + 20);
    assert_int_equal(left_out, 1); /* the last line */
    lud_text_clear(&text);
    lud_tokenizer_decode(tokenizer, n, tokens, &text);
    assert_null(strstr(text.bytes, "it is step"));
    assert_non_null(strstr(text.bytes, "the cue is"));
    assert_string_equal(text.bytes + text.length - 3, "\n> ");
    lud_prompter_destroy(prompter);
    prompter = NULL;
    assert_int_equal(lud_prompter_create(model, tokenizer, "\n> ", shared, &prompter, &error),
                     LUD_ERROR_INPUT);
    assert_null(prompter);
    lud_text_free(&text);
    lud_text_free(&scratch);
    lud_tokenizer_destroy(tokenizer);
    support_ticks_close(&s);
}

static void parse(lud_parse_mode mode, const char *text, lud_parse_result result, int32_t expected) {
    static const char *const names[] = {"one", "two", NULL, "rest"};
    int32_t choice = -7;
    if (lud_parse_choice(mode, text, strlen(text), names, 4, &choice) != result) fail_msg("%s", text);
    assert_int_equal(choice, result == LUD_PARSED ? expected : -7);
}

static void replies(void **state) {
    (void)state;
    parse(LUD_PARSE_FLAT, "{\"action\": \"two\"}", LUD_PARSED, 1);
    parse(LUD_PARSE_FLAT, "I say {\"action\": \"rest\", \"why\": [1, 2]} now", LUD_PARSED, 3);
    parse(LUD_PARSE_FLAT, "{\"action\": \"four\"}", LUD_PARSED_UNKNOWN, 0);
    parse(LUD_PARSE_FLAT, "{\"action\": 1}", LUD_PARSED_UNKNOWN, 0);
    parse(LUD_PARSE_FLAT, "{\"action\": \"two\"", LUD_PARSED_NOTHING, 0);
    parse(LUD_PARSE_FLAT, "</think>", LUD_PARSED_NOTHING, 0);
    parse(LUD_PARSE_FLAT, "{\"action\": \"two\"}</think>", LUD_PARSED_NOTHING, 0);
    parse(LUD_PARSE_FLAT, "}{{}}", LUD_PARSED_NOTHING, 0);
    parse(LUD_PARSE_FLAT, "{\"action\": \"two\", \"to\": {\"x\": 1}}", LUD_PARSED_NOTHING, 0);
    parse(LUD_PARSE_BALANCED, "{\"action\": \"two\", \"to\": {\"x\": \"}\"}}", LUD_PARSED, 1);
    parse(LUD_PARSE_BALANCED, "{bad} {\"x\": {}} {\"action\": \"one\"}", LUD_PARSED, 0);
    lud_object_scan scan = {0};
    assert_false(lud_object_scan_next(&scan, "a} {\"x\": \"\\\"}", 13));
    assert_false(lud_object_scan_next(&scan, "\", \"y\": {}", 10));
    assert_true(lud_object_scan_next(&scan, " }", 2));
}

/* --- ticks --- */

static void imitation(void **state) {
    (void)state;
    support_ticks s =
        open_tokens(LANGUAGE, "imitation: {ticks: 60, " SCRIPT ", learning_rate: 0.01}, learning_rate: 0");
    support_ticks_run(&s, 61);
    assert_true(support_ticks_share(&s, -1) < 0.1);
    assert_true(support_ticks_share(&s, 1) > 0.9); /* all say what the script says */
    lud_text text = {0};
    s.learner->policy->kind->describe(s.learner->policy, 0, &text, &text);
    assert_non_null(strstr(text.bytes, "\n> {\"action\": \"two\"}"));
    lud_text_free(&text);
    /* what was not imitated says nothing that means anything */
    support_ticks other = open_tokens(LANGUAGE, "learning_rate: 0");
    support_ticks_run(&other, 1);
    assert_true(support_ticks_share(&other, -1) > 0.9);
    const lud_token_counts counts = lud_tick_tokens_counts(other.learner->policy);
    assert_true(counts.replies > 0 && counts.without_action > 0 &&
                counts.computed_tokens < counts.prompt_tokens);
    for (int64_t i = 0; i < other.learner->training.rows.n; i++)
        if (other.learner->training.choices.failed[i])
            assert_int_equal(other.learner->training.choices.discrete[i], SUPPORT_CHOICES - 1); /* idles */
    support_ticks_close(&other);
    support_ticks_close(&s);
}

static lud_checkpoint *save(support_ticks *s) {
    lud_checkpoint *checkpoint = lud_checkpoint_create();
    assert_non_null(checkpoint);
    s->learner->base.kind->visit(&s->learner->base, checkpoint);
    return checkpoint;
}

/* Stopped within the imitation, at its end, and behind it: the same bytes. */
static void resuming(void **state) {
    (void)state;
    static const int stops[] = {3, 5, 8};
    support_ticks whole = open_tokens(LANGUAGE, OPTIONS ", baseline: {type: critic}");
    support_ticks_run(&whole, 12);
    const uint64_t expected = support_ticks_hash(&whole, NULL);
    for (size_t k = 0; k < sizeof stops / sizeof *stops; k++) {
        support_ticks s = open_tokens(LANGUAGE, OPTIONS ", baseline: {type: critic}");
        support_ticks_run(&s, stops[k]);
        lud_checkpoint *saved = save(&s), *read = NULL;
        lud_error error = {0};
        char path[256];
        snprintf(path, sizeof path, "%s/tokens-%zu.safetensors", LUDUS_BINARY_DIR, k);
        if (lud_checkpoint_write(saved, path, &error) || lud_checkpoint_open(path, &read, &error))
            fail_msg("%s", error.text);
        support_ticks_again(&s);
        s.learner->base.kind->visit(&s.learner->base, read);
        assert_int_equal(lud_checkpoint_status(read, &error), LUD_OK);
        lud_checkpoint_destroy(saved);
        lud_checkpoint_destroy(read);
        remove(path);
        support_ticks_run(&s, 12 - stops[k]);
        assert_true(support_ticks_hash(&s, NULL) == expected);
        support_ticks_close(&s);
    }
    support_ticks_close(&whole);
}

/* A few rows at a time, activations computed again, two threads: the same run. */
static void splits(void **state) {
    (void)state;
    static const char *const plain = LANGUAGE ", share_prefixes: false",
                             *const again = LANGUAGE ", share_prefixes: false, checkpointing: true";
    support_ticks s = open_tokens(plain, OPTIONS);
    support_ticks_run(&s, 9);
    const uint64_t expected = support_ticks_hash(&s, NULL);
    support_ticks_close(&s);
    s = open_tokens(again, OPTIONS ", max_rows: 4");
    assert_int_equal(s.learner->policy->act_rows, 4);
    support_ticks_run(&s, 9);
    assert_true(support_ticks_hash(&s, NULL) == expected);
    support_ticks_close(&s);
}

/* A pass of learning takes a whole context at least, however few tokens are asked for. */
static void a_pass_takes_a_context(void **state) {
    (void)state;
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        support_ticks s =
            open_tokens(k ? LANGUAGE ", learning_tokens: 16" : LANGUAGE ", learning_tokens: 96", OPTIONS);
        support_ticks_run(&s, 9);
        hash[k] = support_ticks_hash(&s, NULL);
        support_ticks_close(&s);
    }
    assert_true(hash[0] == hash[1]);
}

/* From words that mean nothing to what pays: nobody is shown what the cues mean. */
static void learning(void **state) {
    (void)state;
    support_ticks s = open_tokens(
        LANGUAGE, "imitation: {ticks: 60, policies: {other: {type: random}}, learning_rate: 0.01},"
                  "learning_rate: 0.001, baseline: {type: ema_only}, gate: {mode: \"off\"}, "
                  "entropy_coefficient: 0.02, max_norm: 1");
    support_ticks_run(&s, 60);
    double before = 0, after = 0;
    for (int t = 0; t < 800; t++) {
        support_ticks_run(&s, 1);
        const lud_tick_stepping *w = &s.learner->training;
        double reward = 0;
        for (int64_t i = 0; i < w->n_rows; i++) reward += (double)w->rewards[i] / (double)w->rows.n;
        if (t < 20) before += reward / 20;
        if (t >= 780) after += reward / 20;
    }
    assert_true(before < 0.4); /* a quarter of the choices match, less what they cost */
    assert_true(after > 0.5);  /* nine tenths are possible; eight seeds of eight are above */
    assert_true(support_ticks_share(&s, -1) <= 0.1);
    support_ticks_close(&s);
}

/* The prompt and the reply that a run publishes are those with which its agents acted, as are the delights;
 * of who did something else nothing is known. */
static void runs_publish_what_was_written(void **state) {
    (void)state;
    support_ticks s = open_tokens(LANGUAGE, "imitation: {ticks: 40, " SCRIPT ", learning_rate: 0.01}, "
                                            "learning_rate: 0, baseline: {type: zero}");
    support_ticks_run(&s, 41);
    lud_cast *cast = support_ticks_join(&s);
    const lud_tick_stepping *t = &s.learner->training;
    const size_t bytes = s.model->base.layout.state_bytes;
    uint8_t before[64], after[64];
    memcpy(before, t->batch->states, bytes);
    assert_true(support_ticks_compare_delights(&s, cast) > 1);
    memcpy(after, t->batch->states, bytes);
    lud_text read = {0}, written = {0}, expected_read = {0}, expected = {0};
    for (int64_t i = 0; i < t->rows.n && t->rows.environment[i] == 0; i++) {
        const int agent = t->rows.agent[i];
        lud_policy *policy = lud_cast_get(cast, agent);
        lud_text_clear(&read), lud_text_clear(&written);
        lud_text_clear(&expected_read), lud_text_clear(&expected);
        assert_true(policy->kind->agent_text(policy, before, agent, &read, &written));
        s.learner->policy->kind->describe(s.learner->policy, i, &expected_read, &expected);
        assert_string_equal(read.bytes, expected_read.bytes);
        assert_string_equal(written.bytes, expected.bytes);
        assert_non_null(strstr(read.bytes, "the cue is"));
    }
    lud_policy *policy = lud_cast_get(cast, 0);
    int32_t others[AGENTS];
    double values[AGENTS];
    memcpy(others, t->discrete, sizeof others);
    others[0] = (others[0] + 1) % SUPPORT_CHOICES;
    assert_true(policy->kind->agent_numbers(policy, before, others, t->rewards, after, values));
    assert_true(isnan(values[0]) && !isnan(values[2]));
    lud_text_free(&read), lud_text_free(&written);
    lud_text_free(&expected_read), lud_text_free(&expected);
    lud_cast_destroy(cast);
    support_ticks_close(&s);
}

/* Lines that prompts have no room for are counted: none, of each the last, of each both. */
static void lines_without_room_are_told(void **state) {
    (void)state;
    static const struct {
        int context;
        double left_out;
    } rooms[] = {{96, 0.0}, {25, 1.0}, {21, 2.0}};
    for (int i = 0; i < 3; i++) {
        char language[128];
        snprintf(language, sizeof language,
                 "width: 24, layers: 1, heads: 2, context: %d, max_new_tokens: 4, temperature: 1, top_p: 1",
                 rooms[i].context);
        support_ticks s = open_tokens(language, "imitation: {ticks: 2, " SCRIPT "}, ticks_per_iteration: 4");
        double row[LUD_TICK_COLUMNS + 32];
        lud_error error = {0};
        for (int k = 0; k < 2; k++) { /* counts begin anew */
            if (s.learner->base.kind->iterate(&s.learner->base, row, &error)) fail_msg("%s", error.text);
            if (row[LUD_TICK_LEFT_OUT] != rooms[i].left_out) fail_msg("%g", row[LUD_TICK_LEFT_OUT]);
        }
        support_ticks_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prompts),
                                       cmocka_unit_test(replies),
                                       cmocka_unit_test(imitation),
                                       cmocka_unit_test(resuming),
                                       cmocka_unit_test(splits),
                                       cmocka_unit_test(a_pass_takes_a_context),
                                       cmocka_unit_test(learning),
                                       cmocka_unit_test(runs_publish_what_was_written),
                                       cmocka_unit_test(lines_without_room_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
