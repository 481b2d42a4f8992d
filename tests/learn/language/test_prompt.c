/* Prompts: the text of the team, as many lines of the agent's own as fit, the mark; the words of a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/language/prompt.h"
#include "sim/batch.h"
#include "sim/scenario.h"

enum { AGENTS = 5, TEAMS = 2, STEPS = 12 };

static const char room[] = "ludus: 1\nname: room\nworld: multigrid\nmultigrid:\n  map: |\n"
                           "    We We We We We We We\n    We Ay Ae Ay Ae Ay We\n    We We We We We We We\n"
                           "  max_steps: 12\n";

/* Agents of two teams, and one of each has words that no other knows. */
static const int teams[AGENTS] = {1, 0, 1, 0, 1};
static const char *const names[AGENTS][3] = {{"rest", "north", "south"},
                                             {"wait", NULL, "east"},
                                             {"rest", "north", "west"},
                                             {"wait", NULL, "up"},
                                             {"rest", "north", "down"}};
static const char *const team_names[TEAMS] = {"red", "blue"};

static void describe_team(const lud_model *model, int team, lud_text *out) {
    lud_text_append(out, "team %s of %d\nand so on", model->layout.team_names[team], model->layout.n_teams);
}

static void describe_agent(const lud_model *model, const uint8_t *state, int agent, lud_text *out) {
    for (int line = 0; line <= agent; line++)
        lud_text_append(out, "line %d at step %d of team %d\n", line, model->world->elapsed(model, state),
                        lud_prompt_team(&model->layout, agent));
    lud_text_append(out, "end");
}

/* A grid whose agents have three choices each and say other things of themselves. */
typedef struct talking {
    lud_scenario *scenario;
    lud_model *model;
    lud_world world;
    lud_action_space actions[AGENTS];
    uint8_t *states; /* [STEPS] one after the other */
} talking;

static void open_world(talking *t) {
    *t = (talking){0};
    lud_error error = {0};
    if (lud_scenario_read("room.yaml", room, sizeof room - 1, NULL, 0, &t->scenario, &error))
        fail_msg("%s", error.text);
    lud_model *model = t->model = t->scenario->model;
    const size_t bytes = model->layout.state_bytes;
    lud_batch *batch = NULL;
    assert_int_equal(model->layout.n_agents, AGENTS);
    assert_int_equal(lud_batch_create(model, 1, 0, 0, &batch, &error), LUD_OK);
    lud_batch_reset(batch, NULL);
    t->states = malloc(STEPS * bytes);
    assert_non_null(t->states);
    for (int step = 0; step < STEPS; step++) {
        memcpy(t->states + (size_t)step * bytes, batch->states, bytes);
        lud_batch_step(batch, (lud_actions){.discrete = (int32_t[AGENTS]){0}}, NULL);
    }
    lud_batch_destroy(batch);
    t->world = *model->world;
    t->world.describe_team = describe_team;
    t->world.describe_agent = describe_agent;
    for (int i = 0; i < AGENTS; i++) {
        t->actions[i] = model->layout.actions[i];
        t->actions[i].n_discrete = 3;
        t->actions[i].names = names[i];
    }
    model->world = &t->world;
    model->layout.actions = t->actions;
    model->layout.n_teams = TEAMS;
    model->layout.teams = teams;
    model->layout.team_names = team_names;
}

static void close_world(talking *t) {
    free(t->states);
    lud_scenario_destroy(t->scenario);
}

/* The bytes of tokens of the tokeniser of bytes; the one that begins a text first. */
static void expect_bytes(const lud_tokenizer *bytes, const int32_t *tokens, int64_t n, const char *expected) {
    lud_text text = {0};
    assert_int_equal(tokens[0], lud_tokenizer_begin(bytes));
    assert_int_equal(n, 1 + (int64_t)strlen(expected));
    lud_tokenizer_decode(bytes, n, tokens, &text);
    assert_string_equal(text.bytes, expected);
    lud_text_free(&text);
}

/* For every room from too little to more than enough, of agents of one to five lines. */
static void lines_fit_whole_or_not_at_all(void **state) {
    (void)state;
    static const char mark[] = ">>";
    talking t;
    open_world(&t);
    const lud_model *model = t.model;
    lud_tokenizer *bytes = NULL;
    lud_error error = {0};
    assert_int_equal(lud_tokenizer_bytes(&bytes, &error), LUD_OK);
    const uint8_t *at = t.states + 3 * model->layout.state_bytes;
    /* "team blue of 2\nand so on\n", the longer text of the two, the token that begins it, and the mark */
    const int64_t least = 25 + 1 + (int64_t)strlen(mark);
    lud_prompter *prompter = NULL;
    assert_int_equal(lud_prompter_create(model, bytes, mark, least - 1, &prompter, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text,
                           "the text of a team takes 26 tokens and the mark behind prompts 2, more than "
                           "the 27 of a prompt"));
    for (int64_t most = least; most < least + 160; most++) {
        if (lud_prompter_create(model, bytes, mark, most, &prompter, &error)) fail_msg("%s", error.text);
        for (int agent = 0; agent < AGENTS; agent++) {
            const int team = teams[agent];
            char expected[512];
            int length = snprintf(expected, sizeof expected, "team %s of 2\nand so on\n", team_names[team]);
            assert_int_equal(lud_prompt_shared(prompter, agent), length + 1);
            int n_lines = 0;
            for (; n_lines <= agent + 1; n_lines++) {
                char line[64];
                const int n = n_lines <= agent ? snprintf(line, sizeof line, "line %d at step 3 of team %d\n",
                                                          n_lines, team)
                                               : snprintf(line, sizeof line, "end\n");
                if (1 + length + n + (int64_t)strlen(mark) > most) break;
                memcpy(expected + length, line, (size_t)n + 1);
                length += n;
            }
            snprintf(expected + length, sizeof expected - (size_t)length, "%s", mark);
            int32_t tokens[512];
            int64_t n_left_out = 7;
            lud_text scratch = {0};
            const int64_t n = lud_prompt_write(prompter, at, agent, &scratch, tokens, &n_left_out);
            expect_bytes(bytes, tokens, n, expected);
            assert_int_equal(n_left_out, 7 + agent + 2 - n_lines);
            assert_int_equal(lud_prompt_write(prompter, at, agent, &scratch, tokens, NULL), n);
            lud_text_free(&scratch);
        }
        lud_prompter_destroy(prompter);
    }
    lud_tokenizer_destroy(bytes);
    close_world(&t);
}

/* Many at once are as each alone, on any number of threads. */
static void all_are_as_each_alone(void **state) {
    (void)state;
    enum { ROWS = 40, MOST = 90 };
    talking t;
    open_world(&t);
    const lud_model *model = t.model;
    lud_tokenizer *bytes = NULL;
    lud_prompter *prompter = NULL;
    lud_error error = {0};
    assert_int_equal(lud_tokenizer_bytes(&bytes, &error), LUD_OK);
    assert_int_equal(lud_prompter_create(model, bytes, "", MOST, &prompter, &error), LUD_OK);
    int32_t environment[ROWS], agent[ROWS];
    for (int i = 0; i < ROWS; i++) {
        environment[i] = i % STEPS;
        agent[i] = i % AGENTS;
    }
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        static int32_t tokens[ROWS * MOST];
        int64_t lengths[ROWS], n_left_out = 5, expected = 5;
        assert_int_equal(lud_prompt_write_all(prompter, n_threads, ROWS, t.states, environment, agent, tokens,
                                              lengths, &n_left_out, &error),
                         LUD_OK);
        for (int i = 0; i < ROWS; i++) {
            int32_t own[MOST];
            lud_text scratch = {0};
            const int64_t n =
                lud_prompt_write(prompter, t.states + (size_t)environment[i] * model->layout.state_bytes,
                                 agent[i], &scratch, own, &expected);
            assert_int_equal(lengths[i], n);
            assert_memory_equal(tokens + i * MOST, own, (size_t)n * sizeof *own);
            lud_text_free(&scratch);
        }
        assert_int_equal(n_left_out, expected);
    }
    lud_prompter_destroy(prompter);
    lud_tokenizer_destroy(bytes);
    close_world(&t);
}

static int64_t count_of(const lud_vocabulary *words, const char *word) {
    for (int64_t i = 0; i < words->n; i++)
        if (strcmp(words->words[i], word) == 0) return words->counts[i];
    return 0;
}

/* The names of everybody's choices come first; then what the teams and the agents are told. */
static void words_of_a_model(void **state) {
    (void)state;
    talking t;
    open_world(&t);
    lud_vocabulary words = {0};
    lud_error error = {0};
    enum { STATES = STEPS + 2 }; /* an episode, and the beginning of the next */
    assert_int_equal(lud_prompt_vocabulary(t.model, STATES, "<<MARK", 1000, &words, &error), LUD_OK);
    static const char *const answers[] = {"rest", "north", "south", "wait",  "east",
                                          "west", "up",    "down",  "<<MARK"};
    const int64_t first = INT64_C(1) << 40;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_true(count_of(&words, answers[i]) >= first);
    assert_int_equal(count_of(&words, lud_action_open), first);
    assert_int_equal(count_of(&words, lud_action_close), first);
    assert_int_equal(count_of(&words, " red"), 1);
    assert_int_equal(count_of(&words, " blue"), 1);
    /* of five agents with 1 to 5 lines each, in four states */
    assert_int_equal(count_of(&words, " at"), 15 * STATES);
    assert_int_equal(count_of(&words, "end"), AGENTS * STATES);
    for (int step = 0; step <= STEPS; step++) {
        char number[16];
        snprintf(number, sizeof number, " %d", step);
        /* numbers of lines and teams are words too: five lines 0, ..., one line 4; six lines of team 0 */
        const int64_t others = STATES * (step < AGENTS ? AGENTS - step : 0) + STATES * (step == 0   ? 6
                                                                                        : step == 1 ? 9
                                                                                                    : 0);
        const int64_t of_teams = step == 2 ? 2 : 0; /* "of 2", of both */
        assert_int_equal(count_of(&words, number), (step < 2       ? 2
                                                    : step < STEPS ? 1
                                                                   : 0) *
                                                           15 +
                                                       others + of_teams);
    }
    lud_vocabulary_free(&words);
    /* a world with one team, and one without */
    t.model->layout.n_teams = 1;
    t.model->layout.teams = (const int[AGENTS]){0};
    assert_int_equal(lud_prompt_vocabulary(t.model, 1, "", 1000, &words, &error), LUD_OK);
    assert_int_equal(count_of(&words, " red"), 1);
    assert_int_equal(count_of(&words, " blue"), 0);
    lud_vocabulary_free(&words);
    t.model->layout.n_teams = 0;
    t.model->layout.teams = NULL;
    t.world.describe_team = NULL;
    assert_int_equal(lud_prompt_vocabulary(t.model, 1, "", 1000, &words, &error), LUD_OK);
    assert_int_equal(count_of(&words, " these"), 1);
    lud_vocabulary_free(&words);
    close_world(&t);
}

/* Choices without names, several at once or numbers are no words: told of the agent that has them. */
static void choices_without_names_are_refused(void **state) {
    (void)state;
    for (int kind = 0; kind < 5; kind++)
        for (int agent = 0; agent < AGENTS; agent += AGENTS - 1) {
            talking t;
            open_world(&t);
            lud_action_space *own = &t.actions[agent];
            if (kind == 1) own->names = NULL;
            if (kind == 2) own->n_discrete = 0;
            if (kind == 3) own->n_continuous = 1;
            if (kind == 4) own->n_moves = 1;
            lud_tokenizer *bytes = NULL;
            lud_prompter *prompter = NULL;
            lud_vocabulary words = {0};
            lud_error error = {0};
            assert_int_equal(lud_tokenizer_bytes(&bytes, &error), LUD_OK);
            const lud_status expected = kind ? LUD_ERROR_UNSUPPORTED : LUD_OK;
            assert_int_equal(lud_prompter_create(t.model, bytes, ">", 100, &prompter, &error), expected);
            if (kind) {
                char who[32];
                snprintf(who, sizeof who, "agent %d of the world", agent);
                assert_non_null(strstr(error.text, who));
                assert_null(prompter);
            }
            assert_int_equal(lud_prompt_vocabulary(t.model, 1, ">", 100, &words, &error), expected);
            lud_vocabulary_free(&words);
            lud_prompter_destroy(prompter);
            lud_tokenizer_destroy(bytes);
            close_world(&t);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_whole_or_not_at_all), cmocka_unit_test(all_are_as_each_alone),
        cmocka_unit_test(words_of_a_model), cmocka_unit_test(choices_without_names_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
