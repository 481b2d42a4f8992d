#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/fixpoint.h"
#include "sim/proof/support_proof.h"

static lud_proof_builder *begin(lud_proof_syntax syntax, const char *facts, const char *rules) {
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(syntax);
    assert_non_null(builder);
    if (lud_proof_read_facts(builder, "facts", facts, strlen(facts), &error) ||
        lud_proof_read_rules(builder, "rules", rules, strlen(rules), &error))
        fail_msg("%s", error.text);
    return builder;
}

static lud_proof_base *finish(lud_proof_builder *builder) {
    lud_error error = {0};
    lud_proof_base *base = NULL;
    if (lud_proof_build(builder, NULL, &base, &error)) fail_msg("%s", error.text);
    lud_proof_builder_destroy(builder);
    return base;
}

lud_proof_base *proof_base(lud_proof_syntax syntax, const char *facts, const char *rules,
                           const char *queries) {
    lud_error error = {0};
    lud_proof_builder *builder = begin(syntax, facts, rules);
    if (queries &&
        lud_proof_read_queries(builder, LUD_PROOF_TRAIN, "queries", queries, strlen(queries), &error))
        fail_msg("%s", error.text);
    return finish(builder);
}

lud_proof_base *proof_scored_base(lud_proof_syntax syntax, const char *facts, const char *rules,
                                  const char *scores, int64_t top_k, double threshold) {
    lud_error error = {0};
    lud_proof_builder *builder = begin(syntax, facts, rules);
    if (lud_proof_read_scores(builder, "scores", scores, strlen(scores), true, top_k, threshold, &error))
        fail_msg("%s", error.text);
    return finish(builder);
}

lud_proof_options proof_options(void) {
    lud_proof_options options;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    if (lud_options_default(&lud_proof_option_table, arena, &options, &error)) fail_msg("%s", error.text);
    options.queries.depths = (lud_int_list){0}; /* the only default that points into the arena */
    lud_arena_destroy(arena);
    return options;
}

uint32_t proof_draw(uint64_t seed, uint32_t *k, uint32_t n) {
    return lud_below(lud_draw((lud_random_key){seed, 0}, (*k)++, 0, LUD_PURPOSE_USER, 0).v[0], n);
}

proof_random proof_random_base(uint64_t seed, bool safe, int max_variables) {
    proof_random r = {.n_predicates = 5};
    uint32_t k = 0;
    static const int arities[] = {2, 2, 1, 3, 2, 4, 2, 1};
    for (int p = 0; p < r.n_predicates; p++) r.arity[p] = arities[proof_draw(seed, &k, 8)];
    int n_facts = 4 + (int)proof_draw(seed, &k, 20), n_rules = 3 + (int)proof_draw(seed, &k, 8);
    for (int f = 0; f < n_facts; f++) {
        int p = (int)proof_draw(seed, &k, (uint32_t)r.n_predicates);
        lud_text_append(&r.facts, "p%d(", p);
        for (int i = 0; i < r.arity[p]; i++)
            lud_text_append(&r.facts, "%sc%u", i ? ", " : "", proof_draw(seed, &k, 6));
        lud_text_append(&r.facts, ")%s\n", f % 3 ? "." : "");
    }
    for (int n = 0; n < n_rules; n++) {
        int head = (int)proof_draw(seed, &k, (uint32_t)r.n_predicates), n_body = (int)proof_draw(seed, &k, 4);
        lud_text body = {0};
        unsigned in_body = 0;
        for (int b = 0; b < n_body; b++) {
            int p = (int)proof_draw(seed, &k, (uint32_t)r.n_predicates);
            lud_text_append(&body, "%sp%d(", b ? ", " : "", p);
            for (int i = 0; i < r.arity[p]; i++) {
                uint32_t v = proof_draw(seed, &k, (uint32_t)max_variables);
                if (proof_draw(seed, &k, 10) == 0) {
                    lud_text_append(&body, "%s'c%u'", i ? "," : "", v);
                } else {
                    lud_text_append(&body, "%sV%u", i ? "," : "", v);
                    in_body |= 1u << v;
                }
            }
            lud_text_append(&body, ")");
        }
        lud_text head_text = {0};
        lud_text_append(&head_text, "p%d(", head);
        for (int i = 0; i < r.arity[head]; i++) {
            uint32_t v = proof_draw(seed, &k, (uint32_t)max_variables);
            bool constant = proof_draw(seed, &k, 8) == 0 || (safe && !(in_body >> v & 1));
            lud_text_append(&head_text, constant ? "%s'c%u'" : "%sV%u", i ? "," : "", v);
        }
        lud_text_append(&head_text, ")");
        if (n_body == 0)
            lud_text_append(&r.rules, "%s\n", head_text.bytes);
        else if (n % 2)
            lud_text_append(&r.rules, "r%d:0.5:%s -> %s\n", n, body.bytes, head_text.bytes);
        else
            lud_text_append(&r.rules, "%s :- %s.\n", head_text.bytes, body.bytes);
        lud_text_free(&body);
        lud_text_free(&head_text);
    }
    return r;
}

void proof_random_free(proof_random *random) {
    lud_text_free(&random->facts);
    lud_text_free(&random->rules);
}

char *proof_goals_text(const lud_proof_base *base, const lud_proof_atom *goals, int32_t n) {
    lud_text text = {0};
    for (int32_t g = 0; g < n; g++) {
        if (g) lud_text_append(&text, "|");
        lud_proof_print_atom(base, NULL, &goals[g], &text);
    }
    if (!text.bytes) lud_text_append(&text, "%s", "");
    return text.bytes;
}

lud_proof_atom proof_atom(const lud_proof_base *base, const char *text) {
    lud_proof_atom atom;
    lud_error error = {0};
    if (lud_proof_parse_atom(base, text, &atom, NULL, &error)) fail_msg("%s", error.text);
    return atom;
}

lud_proof_successors proof_successors(int32_t capacity, int32_t max_goals) {
    size_t n = (size_t)capacity;
    return (lud_proof_successors){.begin = calloc(n + 1, sizeof(int32_t)),
                                  .atoms = calloc(n * (size_t)max_goals, sizeof(lud_proof_atom)),
                                  .hash = calloc(n, sizeof(uint64_t)),
                                  .step = calloc(n, sizeof(lud_proof_step))};
}

void proof_successors_free(lud_proof_successors *successors) {
    free(successors->begin);
    free(successors->atoms);
    free(successors->hash);
    free(successors->step);
}

/* ---- the least fixpoint ---- */

static bool holds(const proof_matrices *m, int32_t p, int32_t x, int32_t y) {
    return m->forward[p][(size_t)x * m->words + (size_t)y / 64] >> (y % 64) & 1;
}

static void add(proof_matrices *m, int32_t p, int32_t x, int32_t y) {
    if (holds(m, p, x, y)) return;
    m->forward[p][(size_t)x * m->words + (size_t)y / 64] |= UINT64_C(1) << (y % 64);
    m->backward[p][(size_t)y * m->words + (size_t)x / 64] |= UINT64_C(1) << (x % 64);
    m->grew = true;
}

/* The constant that a term stands for so far, 0: none yet. */
static int32_t value_of(int32_t term, const int32_t *value) {
    return term < 0 ? value[-1 - term] : term;
}

/* Every way to match body atoms b, b + 1, ... with what holds so far. */
static void match(proof_matrices *m, const lud_proof_rule *rule, int32_t b, int32_t *value) {
    const bool done = b == rule->n_body;
    const lud_proof_atom *atom = done ? &rule->head : &rule->body[b];
    const int32_t x = value_of(atom->terms[0], value), y = value_of(atom->terms[1], value);
    if (x && y) {
        if (done)
            add(m, atom->predicate, x, y);
        else if (holds(m, atom->predicate, x, y))
            match(m, rule, b + 1, value);
        return;
    }
    int32_t *slot = &value[-1 - atom->terms[x ? 1 : 0]];
    if (done || (!x && !y)) { /* bind an argument, then come back */
        for (*slot = 1; *slot <= m->base->n_constants; ++*slot) match(m, rule, b, value);
        *slot = 0;
        return;
    }
    const uint64_t *row = (x ? m->forward : m->backward)[atom->predicate] + (size_t)(x ? x : y) * m->words;
    for (size_t w = 0; w < m->words; w++)
        for (uint64_t bits = row[w]; bits; bits &= bits - 1) {
            *slot = (int32_t)(w * 64) + __builtin_ctzll(bits);
            match(m, rule, b + 1, value);
        }
    *slot = 0;
}

proof_matrices proof_matrices_of(const lud_proof_base *base) {
    proof_matrices m = {.base = base, .words = (size_t)base->n_constants / 64 + 1};
    const size_t cells = (size_t)(base->n_constants + 1) * m.words;
    m.forward = calloc((size_t)base->n_predicates + 1, sizeof *m.forward);
    m.backward = calloc((size_t)base->n_predicates + 1, sizeof *m.backward);
    for (int32_t p = 1; p <= base->n_predicates; p++) {
        assert_int_equal(base->arity[p], 2);
        m.forward[p] = calloc(cells, sizeof **m.forward);
        m.backward[p] = calloc(cells, sizeof **m.backward);
    }
    for (int32_t f = 0; f < base->n_facts; f++)
        add(&m, base->facts[f].predicate, base->facts[f].terms[0], base->facts[f].terms[1]);
    for (m.grew = true; m.grew;) {
        m.grew = false;
        int32_t value[LUD_PROOF_MAX_VARIABLES] = {0};
        for (int32_t r = 0; r < base->n_rules; r++) match(&m, &base->rules[r], 0, value);
    }
    return m;
}

void proof_matrices_free(proof_matrices *m) {
    for (int32_t p = 1; p <= m->base->n_predicates; p++) {
        free(m->forward[p]);
        free(m->backward[p]);
    }
    free(m->forward);
    free(m->backward);
}

bool proof_matrices_hold(const proof_matrices *m, const lud_proof_atom *atom) {
    return holds(m, atom->predicate, atom->terms[0], atom->terms[1]);
}

int64_t proof_matrices_check(const proof_matrices *m) {
    lud_fixpoint *f = NULL;
    lud_error error = {0};
    const lud_status status = lud_fixpoint_compute(m->base, (size_t)1 << 32, &f, &error);
    if (status) print_error("%s\n", error.text);
    assert_int_equal(status, LUD_OK);
    int64_t all = 0;
    for (int32_t p = 1; p <= m->base->n_predicates; p++) {
        int64_t n = 0;
        for (int32_t x = 1; x <= m->base->n_constants; x++)
            for (int32_t y = 1; y <= m->base->n_constants; y++) {
                if (!holds(m, p, x, y)) continue;
                n++;
                assert_true(lud_fixpoint_holds(f, &(lud_proof_atom){p, {x, y}}));
            }
        assert_int_equal(lud_fixpoint_count(f, p), n);
        all += n;
    }
    lud_fixpoint_destroy(f);
    return all;
}
