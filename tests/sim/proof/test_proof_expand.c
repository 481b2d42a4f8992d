/* Expansion against an independent oracle that knows only strings: terms are words, a substitution is a list
 * of pairs, and every step of the definition is done literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/support_proof.h"

enum { MAX_TERMS = 5, MAX_ATOMS = 24, MAX_PAIRS = 64, MAX_LIST = 512 };

/* words[0] is the predicate. A word that starts with ? is a variable. */
typedef struct words {
    int n;
    char word[MAX_TERMS][12];
} words;
typedef struct clause {
    words head, body[4];
    int n_body;
} clause;
typedef struct goals {
    int n;
    words atom[MAX_ATOMS];
} goals;
typedef struct pairs {
    int n;
    char from[MAX_PAIRS][12], to[MAX_PAIRS][12];
} pairs;
typedef struct knowledge {
    int n_facts, n_rules;
    words facts[64];
    clause rules[32];
} knowledge;

/* Reads `p(a,'b',V)`; unquoted arguments are variables when `rule`. Returns what is behind. */
static const char *read_words(const char *at, bool rule, words *out) {
    *out = (words){0};
    at += strspn(at, " ,");
    size_t length = strcspn(at, "(");
    snprintf(out->word[out->n++], 12, "%.*s", (int)length, at);
    at += length + 1;
    for (;;) {
        at += strspn(at, " ");
        bool quoted = *at == '\'';
        at += quoted;
        length = strcspn(at, ",)'");
        snprintf(out->word[out->n++], 12, "%s%.*s", rule && !quoted ? "?" : "", (int)length, at);
        at += length + (size_t)quoted;
        if (*at++ == ')') return at;
    }
}

static knowledge read_knowledge(const char *facts, const char *rules) {
    knowledge k = {0};
    for (const char *line = facts; *line; line = strchr(line, '\n') + 1) {
        words fact;
        read_words(line, false, &fact);
        bool known = false;
        for (int i = 0; i < k.n_facts; i++) known = known || !memcmp(&k.facts[i], &fact, sizeof fact);
        if (!known) k.facts[k.n_facts++] = fact;
    }
    for (const char *line = rules; *line; line = strchr(line, '\n') + 1) {
        char one[512];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        clause *rule = &k.rules[k.n_rules++];
        char *arrow = strstr(one, "->"), *turnstile = strstr(one, ":-");
        const char *body = NULL, *stop = NULL;
        if (arrow) {
            read_words(arrow + 2, true, &rule->head);
            body = strchr(strchr(one, ':') + 1, ':') + 1;
            stop = arrow;
        } else {
            read_words(one, true, &rule->head);
            if (turnstile) body = turnstile + 2, stop = one + strlen(one);
        }
        while (body && body < stop && strchr(body, '(') && strchr(body, '(') < stop)
            body = read_words(body, true, &rule->body[rule->n_body++]);
    }
    return k;
}

static const char *look_up(const pairs *s, const char *word) {
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < s->n && !again; i++)
            if (!strcmp(s->from[i], word)) {
                word = s->to[i];
                again = true;
            }
    }
    return word;
}

static bool unify(const words *a, const words *b, pairs *s) {
    if (a->n != b->n || strcmp(a->word[0], b->word[0])) return false;
    for (int i = 1; i < a->n; i++) {
        const char *x = look_up(s, a->word[i]), *y = look_up(s, b->word[i]);
        if (!strcmp(x, y)) continue;
        if (x[0] != '?' && y[0] != '?') return false;
        if (x[0] != '?') {
            const char *other = x;
            x = y;
            y = other;
        }
        char from[12], to[12];
        snprintf(from, 12, "%s", x);
        snprintf(to, 12, "%s", y);
        snprintf(s->from[s->n], 12, "%s", from);
        snprintf(s->to[s->n++], 12, "%s", to);
    }
    return true;
}

static bool is_fact(const knowledge *k, const words *atom, const words *excluded) {
    if (excluded && !memcmp(atom, excluded, sizeof *atom)) return false;
    for (int i = 0; i < k->n_facts; i++)
        if (!memcmp(&k->facts[i], atom, sizeof *atom)) return true;
    return false;
}

/* Substitution, pruning and renaming ?0, ?1, ... */
static goals finish(const knowledge *k, const goals *from, const pairs *s, const words *excluded) {
    goals out = {0};
    pairs names = {0};
    for (int g = 0; g < from->n; g++) {
        words atom = {.n = from->atom[g].n};
        memcpy(atom.word[0], from->atom[g].word[0], 12);
        for (int i = 1; i < atom.n; i++) snprintf(atom.word[i], 12, "%s", look_up(s, from->atom[g].word[i]));
        if (is_fact(k, &atom, excluded)) continue;
        for (int i = 1; i < atom.n; i++) {
            if (atom.word[i][0] != '?') continue;
            int v = 0;
            while (v < names.n && strcmp(names.from[v], atom.word[i])) v++;
            if (v == names.n) snprintf(names.from[names.n++], 12, "%s", atom.word[i]);
            snprintf(atom.word[i], 12, "?%d", v);
        }
        out.atom[out.n++] = atom;
    }
    return out;
}

static void print(const goals *g, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
    for (int a = 0; a < g->n; a++) {
        n += (size_t)snprintf(out + n, size - n, "%s%s", a ? "|" : "", g->atom[a].word[0]);
        for (int i = 1; i < g->atom[a].n; i++)
            n += (size_t)snprintf(out + n, size - n, "%c%s", i > 1 ? ',' : '(', g->atom[a].word[i]);
        if (g->atom[a].n > 1) n += (size_t)snprintf(out + n, size - n, ")");
    }
}

static int compare_words(const void *a, const void *b) {
    return memcmp(a, b, sizeof(words));
}

/* All successors with at most `max_goals` goals, as text; rules in order, then facts sorted. */
static int oracle(knowledge *k, const goals *state, const words *excluded, int max_goals, char (*out)[256]) {
    int n = 0;
    bool proof = false;
    qsort(k->facts, (size_t)k->n_facts, sizeof *k->facts, compare_words);
    for (int c = 0; c < k->n_rules + k->n_facts; c++) {
        clause one = {0};
        if (c < k->n_rules) {
            one = k->rules[c];
            for (int a = -1; a < one.n_body; a++) {
                words *w = a < 0 ? &one.head : &one.body[a];
                for (int i = 1; i < w->n; i++)
                    if (w->word[i][0] == '?') strcat(w->word[i], "'"); /* another name than any goal's */
            }
        } else {
            one.head = k->facts[c - k->n_rules];
            if (excluded && !memcmp(&one.head, excluded, sizeof one.head)) continue;
        }
        pairs s = {0};
        if (!unify(&state->atom[0], &one.head, &s)) continue;
        goals next = {0};
        for (int b = 0; b < one.n_body; b++) next.atom[next.n++] = one.body[b];
        for (int g = 1; g < state->n; g++) next.atom[next.n++] = state->atom[g];
        goals done = finish(k, &next, &s, excluded);
        proof = proof || done.n == 0;
        if (done.n <= max_goals && n < MAX_LIST) print(&done, out[n++], 256);
    }
    if (proof) {
        strcpy(out[0], "True");
        return 1;
    }
    if (n == 0) strcpy(out[n++], "False");
    return n;
}

static lud_proof_atom translate(const lud_proof_base *base, const words *w) {
    lud_proof_atom atom = {.predicate = lud_proof_find_predicate(base, w->word[0], strlen(w->word[0]))};
    for (int i = 1; i < w->n; i++)
        atom.terms[i - 1] = w->word[i][0] == '?'
                                ? base->n_constants + 1 + atoi(w->word[i] + 1)
                                : lud_proof_find_constant(base, w->word[i], strlen(w->word[i]));
    return atom;
}

/* Random walks over random bases; every list on the way must be the oracle's. */
static void test_against_strings(void **state) {
    (void)state;
    static char expected[MAX_LIST][256];
    long compared = 0, proofs = 0, fails = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        proof_random random = proof_random_base(seed, false, 4);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        knowledge k = read_knowledge(random.facts.bytes, random.rules.bytes);
        assert_int_equal(k.n_facts, base->n_facts);
        assert_int_equal(k.n_rules, base->n_rules);
        lud_proof_limits limits = {5, MAX_LIST, false};
        lud_proof_successors out = proof_successors(MAX_LIST, limits.max_goals);
        uint32_t d = 1000;
        for (int walk = 0; walk < 12; walk++) {
            goals now = {.n = 1};
            words excluded = k.facts[proof_draw(seed, &d, (uint32_t)k.n_facts)];
            now.atom[0] = excluded; /* a fact that may not be used, or a copy of it with variables */
            if (walk % 2)
                for (int i = 1; i < now.atom[0].n; i++)
                    if (proof_draw(seed, &d, 2)) {
                        memset(now.atom[0].word[i], 0, 12);
                        strcpy(now.atom[0].word[i], "?0");
                    }
            for (int step = 0; step < 5; step++) {
                int n = oracle(&k, &now, &excluded, limits.max_goals, expected);
                lud_proof_atom atoms[LUD_PROOF_MAX_GOALS];
                for (int g = 0; g < now.n; g++) atoms[g] = translate(base, &now.atom[g]);
                lud_proof_atom known = translate(base, &excluded);
                int32_t fact = lud_proof_find_fact(base, &known, lud_proof_atom_hash(&known));
                assert_true(fact >= 0);
                out.n = 0;
                out.begin[0] = 0;
                lud_proof_expand(base, &limits, atoms, now.n, fact, NULL, 0, &out, NULL);
                char at[256];
                print(&now, at, sizeof at);
                if (out.n != n)
                    fail_msg("seed %d: %s has %d successors, expected %d", (int)seed, at, out.n, n);
                for (int i = 0; i < n; i++) {
                    int32_t size = out.begin[i + 1] - out.begin[i];
                    char *ours = proof_goals_text(base, &out.atoms[out.begin[i]], size);
                    if (strcmp(ours, expected[i]))
                        fail_msg("seed %d: %s: %s, expected %s", (int)seed, at, ours, expected[i]);
                    free(ours);
                    /* a proof, a dead end and giving up, too, are told apart by it */
                    assert_true(out.hash[i] == lud_proof_state_hash(&out.atoms[out.begin[i]], size));
                }
                compared++;
                proofs += !strcmp(expected[0], "True");
                fails += !strcmp(expected[0], "False");
                if (lud_proof_is_terminal(base, &out.atoms[0])) break;
                /* go on from a random successor, read back from the oracle's text */
                const char *text = expected[proof_draw(seed, &d, (uint32_t)n)];
                now = (goals){0};
                for (const char *p = text; *p; p += *p == '|') p = read_words(p, false, &now.atom[now.n++]);
            }
        }
        proof_successors_free(&out);
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
    assert_true(compared > 2000 && proofs > 100 && fails > 100);
}

/* A cut list is a prefix of the whole list (before goals are counted), and a proof beyond the cut is still
 * found. */
static void test_budgets(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        proof_random random = proof_random_base(seed, false, 4);
        lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, random.facts.bytes, random.rules.bytes, NULL);
        lud_proof_successors all = proof_successors(MAX_LIST, LUD_PROOF_MAX_GOALS),
                             cut = proof_successors(MAX_LIST, LUD_PROOF_MAX_GOALS);
        uint32_t d = 0;
        for (int trial = 0; trial < 40; trial++) {
            lud_proof_atom state_goals[3];
            int32_t n_goals = 1 + (int32_t)proof_draw(seed, &d, 3);
            for (int g = 0; g < n_goals; g++) {
                state_goals[g] = base->facts[proof_draw(seed, &d, (uint32_t)base->n_facts)];
                for (int i = 0; i < base->arity[state_goals[g].predicate]; i++)
                    if (proof_draw(seed, &d, 3))
                        state_goals[g].terms[i] = base->n_constants + 1 + (int32_t)proof_draw(seed, &d, 2);
            }
            lud_proof_canonicalise(base, state_goals, n_goals);
            lud_proof_limits wide = {LUD_PROOF_MAX_GOALS, MAX_LIST, false};
            lud_proof_limits narrow = {LUD_PROOF_MAX_GOALS, 1 + (int32_t)proof_draw(seed, &d, 6),
                                       trial % 2 == 0};
            lud_proof_cuts cuts = {0};
            all.n = cut.n = all.begin[0] = cut.begin[0] = 0;
            lud_proof_expand(base, &wide, state_goals, n_goals, -1, NULL, 0, &all, NULL);
            lud_proof_expand(base, &narrow, state_goals, n_goals, -1, NULL, 0, &cut, &cuts);
            assert_true(cut.n >= 1 && cut.n <= narrow.max_successors);
            bool decided = lud_proof_is_terminal(base, &all.atoms[0]);
            if (decided) {
                assert_int_equal(cut.n, 1);
                assert_int_equal(cut.atoms[0].predicate, all.atoms[0].predicate);
                continue;
            }
            int32_t real = cut.n - (narrow.end_action ? 1 : 0);
            assert_int_equal(real,
                             narrow.end_action
                                 ? (all.n < narrow.max_successors - 1 ? all.n : narrow.max_successors - 1)
                             : all.n < narrow.max_successors ? all.n
                                                             : narrow.max_successors);
            assert_memory_equal(all.atoms, cut.atoms, (size_t)cut.begin[real] * sizeof *all.atoms);
            assert_memory_equal(all.begin, cut.begin, (size_t)(real + 1) * sizeof *all.begin);
            if (narrow.end_action)
                assert_int_equal(cut.atoms[cut.begin[real]].predicate, lud_proof_end(base));
            if (cuts.over_successors == 0) assert_int_equal(all.n, real);
        }
        proof_successors_free(&all);
        proof_successors_free(&cut);
        lud_proof_base_destroy(base);
        proof_random_free(&random);
    }
}

/* Heads with a repeated variable, where a unifier that binds each position on its own fails. */
static void test_complete_unifier(void **state) {
    (void)state;
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "q(a,b)\nq(b,b)\n", "p(X,X) :- q(X,Y)\n", NULL);
    lud_proof_successors out = proof_successors(8, 4);
    lud_proof_limits limits = {4, 8, false};
    static const struct {
        const char *goal, *expected;
    } cases[] = {{"p(V,W)", "q(?0,?1)"}, {"p(V,a)", "q(a,?0)"}, {"p(b,V)", "q(b,?0)"}, {"p(a,b)", "False"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_proof_atom goal = proof_atom(base, cases[i].goal);
        out.n = out.begin[0] = 0;
        lud_proof_expand(base, &limits, &goal, 1, -1, NULL, 0, &out, NULL);
        char *text = proof_goals_text(base, out.atoms, out.begin[1]);
        assert_int_equal(out.n, 1);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
    proof_successors_free(&out);
    lud_proof_base_destroy(base);
}

/* Hidden facts are no candidates, but ground goals still know them. */
static void test_fact_cap(void **state) {
    (void)state;
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    const char *facts = "q(a,b)\nq(b,c)\nq(c,d)\nq(d,e)\n", *rules = "p(X,Y) :- q(X,Y)\n";
    assert_int_equal(lud_proof_read_facts(builder, "f", facts, strlen(facts), &error), LUD_OK);
    assert_int_equal(lud_proof_read_rules(builder, "r", rules, strlen(rules), &error), LUD_OK);
    for (int random = 0; random < 2; random++) {
        lud_proof_build_options options = {.fact_cap = 2, .cap_random = random, .cap_seed = 3};
        lud_proof_base *base = NULL;
        assert_int_equal(lud_proof_build(builder, &options, &base, &error), LUD_OK);
        lud_proof_successors out = proof_successors(8, 4);
        lud_proof_limits limits = {4, 8, false};
        lud_proof_atom both[2] = {proof_atom(base, "q(X,Y)"), proof_atom(base, "p(e,e)")};
        lud_proof_expand(base, &limits, both, 2, -1, NULL, 0, &out, NULL);
        assert_int_equal(out.n, 2); /* p(e,e) is left once for each fact seen */
        if (!random) assert_true(base->fact_examined[0] && base->fact_examined[1] && !base->fact_examined[2]);
        out.n = out.begin[0] = 0;
        lud_proof_atom last = proof_atom(base, "p(d,e)");
        lud_proof_expand(base, &limits, &last, 1, -1, NULL, 0, &out, NULL);
        assert_int_equal(out.atoms[0].predicate, lud_proof_true(base));
        proof_successors_free(&out);
        lud_proof_base_destroy(base);
    }
    lud_proof_builder_destroy(builder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_strings),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_complete_unifier),
        cmocka_unit_test(test_fact_cap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
