/* Words by which agents are named: roles, teams, kinds, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/agent_key.h"

enum { AGENTS = 4 };
static const lud_role roles[AGENTS] = {LUD_ROLE_HUMAN, LUD_ROLE_ROBOT, LUD_ROLE_NONE, LUD_ROLE_ROBOT};
static const char *const team_names[] = {"north", "robot"}; /* a role's word comes first */
static const int teams[AGENTS] = {0, 0, 1, 1};
static const char *const kind_names[] = {"fast", "slow", "north"}; /* and then a team's */
static const int kinds[AGENTS] = {2, 1, 0, 1};
static const lud_layout plain = {.n_agents = AGENTS, .roles = roles};
static const lud_layout in_teams = {
    .n_agents = AGENTS, .roles = roles, .n_teams = 2, .team_names = team_names, .teams = teams};
static const lud_layout of_kinds = {.n_agents = AGENTS,
                                    .roles = roles,
                                    .n_teams = 2,
                                    .team_names = team_names,
                                    .teams = teams,
                                    .n_kinds = 3,
                                    .kind_names = kind_names,
                                    .kinds = kinds};

/* The agents that a word names, a character each; null: it names none. */
static const char *who(const lud_layout *layout, const char *word) {
    static char named[AGENTS + 1];
    lud_agent_key key;
    if (!lud_agent_key_find(layout, word, &key)) return NULL;
    for (int i = 0; i < AGENTS; i++) named[i] = lud_agent_key_names(layout, key, i) ? 'x' : '.';
    return named;
}

static void words_name_agents(void **state) {
    (void)state;
    static const struct {
        const lud_layout *layout;
        const char *word, *named;
    } cases[] = {{&plain, "human", "x..."},    {&plain, "robot", ".x.x"},    {&plain, "other", "..x."},
                 {&plain, "0", "x..."},        {&plain, "3", "...x"},        {&plain, "4", NULL},
                 {&plain, "-1", NULL},         {&plain, "1x", NULL},         {&plain, "", NULL},
                 {&plain, "north", NULL},      {&in_teams, "north", "xx.."}, {&in_teams, "robot", ".x.x"},
                 {&in_teams, "fast", NULL},    {&of_kinds, "fast", "..x."},  {&of_kinds, "slow", ".x.x"},
                 {&of_kinds, "north", "xx.."}, {&of_kinds, "2", "..x."}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *named = who(cases[c].layout, cases[c].word);
        if (!named != !cases[c].named || (named && strcmp(named, cases[c].named) != 0))
            fail_msg("'%s' names %s", cases[c].word, named ? named : "nobody");
    }
}

static void agents_have_a_word(void **state) {
    (void)state;
    static const char *const words[][AGENTS] = {{"human", "robot", "other", "robot"},
                                                {"north", "north", "robot", "robot"},
                                                {"north", "slow", "fast", "slow"}};
    const lud_layout *const layouts[] = {&plain, &in_teams, &of_kinds};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < AGENTS; i++) assert_string_equal(lud_agent_key_word(layouts[k], i), words[k][i]);
}

static void unknown_words_are_refused(void **state) {
    (void)state;
    static const struct {
        const lud_layout *layout;
        const char *word, *text;
    } cases[] = {{&plain, "humans",
                  "unknown key 'humans', expected human, robot, other or the number of an agent, below 4; "
                  "did you mean 'human'?"},
                 {&in_teams, "nort", "or the number of an agent, below 4; did you mean 'north'?"},
                 {&in_teams, "7",
                  "expected human, robot, other, the name of a team or the number of an agent, below 4"},
                 {&of_kinds, "fats",
                  "the name of a team, fast, slow, north or the number of an agent, below 4; did you mean "
                  "'fast'?"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        lud_error error = {0};
        assert_int_equal(
            lud_agent_key_unknown(cases[c].layout, cases[c].word, (lud_place){"s.yaml", 3, 5}, &error),
            LUD_ERROR_INPUT);
        if (!strstr(error.text, cases[c].text) || !strstr(error.text, "s.yaml:3:5"))
            fail_msg("'%s': '%s'", cases[c].word, error.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_name_agents),
                                       cmocka_unit_test(agents_have_a_word),
                                       cmocka_unit_test(unknown_words_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
