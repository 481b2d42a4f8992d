/* The least fixpoint by relations against the slow one that matches rules atom by atom, on random knowledge
 * bases and on shapes made to be difficult; and what it declines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/proof/fixpoint.h"
#include "sim/proof/support_proof.h"

static int64_t check(const char *facts, const char *rules) {
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts, rules, NULL);
    proof_matrices m = proof_matrices_of(base);
    const int64_t n = proof_matrices_check(&m);
    proof_matrices_free(&m);
    lud_proof_base_destroy(base);
    return n;
}

/* An atom of a rule, either way round. */
static void add_atom(lud_text *out, uint64_t seed, uint32_t *k, int n_predicates, char x, char y) {
    const unsigned p = proof_draw(seed, k, (uint32_t)n_predicates);
    const bool back = proof_draw(seed, k, 2);
    lud_text_append(out, "p%u(%c,%c)", p, back ? y : x, back ? x : y);
}

/* Bodies of one to four atoms: chains, chains with a side that runs beside a part, two sides, and conditions
 * (edges that lead nowhere else, and loops). */
static void add_rule(lud_text *out, uint64_t seed, uint32_t *k, int n_predicates) {
    static const char *const shapes[] = {"xy",    "xz zy",    "xz zy",      "xz zy",       "xz zv vy",
                                         "xy xy", "xz zy xy", "xz xz zy",   "xz zv zv vy", "xz zz zy",
                                         "xy xz", "zy xz zv", "xy zx yv vv"};
    const char *shape = shapes[proof_draw(seed, k, sizeof shapes / sizeof *shapes)];
    for (const char *at = shape; *at; at += at[2] ? 3 : 2) {
        if (at != shape) lud_text_append(out, ", ");
        add_atom(out, seed, k, n_predicates, at[0], at[1]);
    }
    lud_text_append(out, " -> ");
    lud_text_append(out, "p%u(x,y)\n", proof_draw(seed, k, (uint32_t)n_predicates));
}

static void random_bases(void **state) {
    (void)state;
    int64_t derived = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint32_t k = 0;
        /* up to three words a row, the last of them partly used */
        const uint32_t n = 2 + proof_draw(seed, &k, seed % 4 ? 40 : 140);
        const int n_predicates = 1 + (int)proof_draw(seed, &k, 6),
                  n_rules = 1 + (int)proof_draw(seed, &k, 10);
        const uint32_t n_facts = 1 + proof_draw(seed, &k, 2 * n);
        lud_text facts = {0}, rules = {0};
        for (int p = 0; p < n_predicates; p++) lud_text_append(&facts, "p%d(c0,c1)\n", p);
        for (uint32_t f = 0; f < n_facts; f++) {
            const uint32_t p = proof_draw(seed, &k, (uint32_t)n_predicates), x = proof_draw(seed, &k, n);
            lud_text_append(&facts, "p%u(c%u,c%u)\n", p, x, proof_draw(seed, &k, n));
        }
        for (int r = 0; r < n_rules; r++) add_rule(&rules, seed, &k, n_predicates);
        derived += check(facts.bytes, rules.bytes);
        lud_text_free(&facts);
        lud_text_free(&rules);
    }
    assert_true(derived > 20000);
}

/* Cycles of different lengths on chains, in which components and what lies between them count. */
static void rings_and_chains(void **state) {
    (void)state;
    static const char *const rules[] = {
        "e(x,z), r(z,y) -> r(x,y)\ne(x,y) -> r(x,y)\n",
        "r(x,z), e(z,y) -> r(x,y)\ne(x,y) -> r(x,y)\n",
        "r(x,z), r(z,y) -> r(x,y)\ne(x,y) -> r(x,y)\n",
        "e(x,z), r(z,v), e(v,y) -> r(x,y)\ne(x,y) -> r(x,y)\n", /* not regular: as many before as behind */
        "e(x,z), r(z,y) -> s(x,y)\ns(x,z), e(z,y) -> r(x,y)\ne(x,y) -> r(x,y)\ns(y,x) -> r(x,y)\n",
        "r(x,z), s(z,y) -> s(x,y)\ns(x,z), r(z,y) -> r(x,y)\ne(x,y) -> r(x,y)\nf(x,y) -> s(x,y)\n",
    };
    lud_text facts = {0};
    lud_text_append(&facts, "r(z,z)\ns(z,z)\n");
    for (int c = 0, first = 0; c < 12; c++) { /* a ring of c + 1, and an edge on to the next */
        for (int i = 0; i <= c; i++)
            lud_text_append(&facts, "e(c%d,c%d)\n", first + i, first + (i + 1) % (c + 1));
        first += c + 1;
        lud_text_append(&facts, "e(c%d,c%d)\nf(c%d,c%d)\n", first - 1, first, first - 1, c);
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) assert_true(check(facts.bytes, rules[i]) > 500);
    lud_text_free(&facts);
}

/* Rules that read each other one by one, as many as a file may hold: each has a part of its own, all end in
 * one fact, and the last of them closes a ring of a thousand. */
static void long_chains(void **state) {
    (void)state;
    enum { N = 120000, RING = 1000 };
    lud_text rules = {0}, facts = {0};
    for (int i = 0; i < N; i++)
        lud_text_append(&rules, i % 3 ? "p%d(x,z), e(z,y) -> p%d(x,y)\n" : "p%d(y,x) -> p%d(x,y)\n", i + 1,
                        i);
    lud_text_append(&rules, "p%d(x,y) -> p%d(x,y)\n", N - RING, N);
    lud_text_append(&facts, "p%d(a,b)\ne(a,a)\ne(b,b)\ne(c,a)\n", N);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes, rules.bytes, NULL);
    lud_fixpoint *fixpoint;
    lud_error error = {0};
    if (lud_fixpoint_compute(base, (size_t)1 << 30, &fixpoint, &error)) fail_msg("%s", error.text);
    /* turned round N / 3 times, which is an even number; the ring turns it once more */
    assert_true(lud_fixpoint_count(fixpoint, lud_proof_find_predicate(base, "e", 1)) == 3);
    const lud_proof_atom there = proof_atom(base, "p0(a,b)"), back = proof_atom(base, "p0(b,a)"),
                         none = proof_atom(base, "p0(a,a)"), last = proof_atom(base, "p119999(a,b)");
    assert_true(lud_fixpoint_holds(fixpoint, &there));
    assert_true(lud_fixpoint_holds(fixpoint, &back));
    assert_true(lud_fixpoint_holds(fixpoint, &last));
    assert_false(lud_fixpoint_holds(fixpoint, &none));
    lud_fixpoint_destroy(fixpoint);
    lud_proof_base_destroy(base);
    lud_text_free(&rules);
    lud_text_free(&facts);
}

/* Rows of more than 64 words, of which every one counts: inverses, compositions and meets of edges that lie
 * far apart, against the edges themselves. */
static void many_constants(void **state) {
    (void)state;
    enum { N = 4200, STEP = 1400 };
    lud_text facts = {0};
    for (int i = 0; i < N; i++) /* one edge on, one a third of the way on */
        lud_text_append(&facts, "e(c%04d,c%04d)\nf(c%04d,c%04d)\n", i, (i + 1) % N, i, (i + STEP) % N);
    lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, facts.bytes,
                                      "e(x,y) -> back(y,x)\n"
                                      "e(x,z), f(z,y) -> both(x,y)\n"
                                      "f(x,z), f(z,y) -> twice(x,y)\n"
                                      "f(y,z), f(z,x), f(x,y) -> round(x,y)\n",
                                      NULL);
    lud_fixpoint *f = NULL;
    lud_error error = {0};
    if (lud_fixpoint_compute(base, (size_t)1 << 30, &f, &error)) fail_msg("%s", error.text);
    static const struct {
        const char *name;
        int step;
    } relations[] = {{"e", 1},           {"f", STEP},         {"back", N - 1},
                     {"both", STEP + 1}, {"twice", 2 * STEP}, {"round", STEP}};
    int32_t number[N];
    char name[16];
    for (int i = 0; i < N; i++) {
        const int length = snprintf(name, sizeof name, "c%04d", i);
        number[i] = lud_proof_find_constant(base, name, (size_t)length);
        assert_true(number[i] > 0);
    }
    for (size_t r = 0; r < sizeof relations / sizeof *relations; r++) {
        const int32_t p = lud_proof_find_predicate(base, relations[r].name, strlen(relations[r].name));
        assert_int_equal(lud_fixpoint_count(f, p), N);
        for (int i = 0; i < N; i++)
            if (!lud_fixpoint_holds(f,
                                    &(lud_proof_atom){p, {number[i], number[(i + relations[r].step) % N]}}))
                fail_msg("%s(c%d,c%d) does not follow", relations[r].name, i, (i + relations[r].step) % N);
    }
    lud_fixpoint_destroy(f);
    lud_proof_base_destroy(base);
    lud_text_free(&facts);
}

static void declines(void **state) {
    (void)state;
    static const char *const rules[] = {
        "p(x,y), q(u,v) -> q(x,y)",                        /* a part of its own */
        "p(x,z) -> q(x,y)",                                /* y is free */
        "p(x,x) -> q(x,x)",                                /* one variable in the head */
        "p(x,'a'), q(x,y) -> q(x,y)",                      /* a constant */
        "q(x,y)",                                          /* no body */
        "p(x,u), p(x,v), q(u,v), p(u,y), p(v,y) -> q(x,y)" /* a bridge */
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        lud_proof_base *base = proof_base(LUD_PROOF_TRIPLES, "p(a,b)\nq(a,b)\n", rules[i], NULL);
        lud_fixpoint *f = NULL;
        lud_error error = {0};
        assert_int_equal(lud_fixpoint_compute(base, (size_t)1 << 30, &f, &error), LUD_ERROR_LIMIT);
        assert_null(f);
        assert_non_null(strstr(error.text, "rule"));
        lud_proof_base_destroy(base);
    }
    lud_fixpoint *f = NULL;
    lud_error error = {0};
    lud_proof_base *base = proof_base(LUD_PROOF_RELATIONS, "p(a,b,c)\nq(a,b)\n", "q(x,y) -> q(y,x)", NULL);
    assert_int_equal(lud_fixpoint_compute(base, (size_t)1 << 30, &f, &error), LUD_ERROR_LIMIT);
    assert_non_null(strstr(error.text, "`p`"));
    lud_proof_base_destroy(base);
    base = proof_base(LUD_PROOF_TRIPLES, "q(a,b)\n", "q(x,y) -> q(y,x)", NULL);
    assert_int_equal(lud_fixpoint_compute(base, 40, &f, &error), LUD_ERROR_LIMIT);
    assert_non_null(strstr(error.text, " of memory, 40 B are allowed"));
    assert_int_equal(lud_fixpoint_compute(base, 4096, &f, &error), LUD_OK);
    assert_int_equal(lud_fixpoint_count(f, 1), 2);
    lud_fixpoint_destroy(f);
    lud_proof_base_destroy(base);
    lud_fixpoint_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bases),   cmocka_unit_test(rings_and_chains), cmocka_unit_test(long_chains),
        cmocka_unit_test(many_constants), cmocka_unit_test(declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
