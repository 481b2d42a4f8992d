#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/support_proof.h"

lud_proof_base *proof_base(lud_proof_syntax syntax, const char *facts, const char *rules,
                           const char *queries) {
    lud_error error = {0};
    lud_proof_builder *builder = lud_proof_builder_create(syntax);
    lud_proof_base *base = NULL;
    assert_non_null(builder);
    if (lud_proof_read_facts(builder, "facts", facts, strlen(facts), &error) ||
        lud_proof_read_rules(builder, "rules", rules, strlen(rules), &error) ||
        (queries &&
         lud_proof_read_queries(builder, LUD_PROOF_TRAIN, "queries", queries, strlen(queries), &error)) ||
        lud_proof_build(builder, NULL, &base, &error))
        fail_msg("%s", error.text);
    lud_proof_builder_destroy(builder);
    return base;
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
    if (lud_proof_parse_atom(base, text, &atom, &error)) fail_msg("%s", error.text);
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
