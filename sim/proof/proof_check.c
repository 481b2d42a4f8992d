/* What files of the proof world say but can hardly mean. */
#include <stdlib.h>
#include <string.h>

#include "sim/proof/knowledge/proof_builder.h"

enum { UNKNOWN_PREDICATE, OPEN_VARIABLE, NAMED_VARIABLE, UNKNOWN_CONSTANT, KINDS };

typedef struct check {
    const lud_proof_builder *b;
    uint8_t *predicate, *constant; /* 0: nobody knows it; 1: known, or said */
    int most, n[KINDS];
    void (*warn)(void *context, const char *text);
    void *context;
    bool failed;
} check;

static void say(check *c, lud_text *text) {
    if (text->failed || !text->bytes) {
        c->failed = true;
    } else {
        lud_text_tame(text->bytes);
        c->warn(c->context, text->bytes);
    }
    lud_text_free(text);
}

/* Counts one of a kind; whether it is to be said. */
static bool is_due(check *c, int kind) {
    return c->n[kind]++ < c->most;
}

static const char *file_of(const char *file) {
    return file ? file : "?";
}

static void check_predicate(check *c, const raw_atom *atom, const char *file, int32_t line,
                            const char *where) {
    if (c->predicate[atom->predicate]) return;
    c->predicate[atom->predicate] = 1;
    if (!is_due(c, UNKNOWN_PREDICATE)) return;
    lud_text text = {0};
    lud_text_append(&text, "%s:%d: no fact has the predicate '%s'%s and no rule concludes it", file_of(file),
                    (int)line, lud_proof_names_get(&c->b->predicates, atom->predicate, NULL), where);
    say(c, &text);
}

static bool binds(const lud_proof_builder *b, const raw_rule *rule, int32_t variable) {
    for (int32_t a = 0; a < rule->n_body; a++)
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
            if (b->bodies.items[rule->body + (size_t)a].terms[i] == variable) return true;
    return false;
}

static void check_head(check *c, const raw_rule *rule) {
    const lud_proof_builder *b = c->b;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && rule->n_body > 0; i++) {
        const int32_t term = rule->head.terms[i];
        bool again = false;
        for (int k = 0; k < i; k++) again = again || rule->head.terms[k] == term;
        if (term >= 0 || again || binds(b, rule, term) || !is_due(c, OPEN_VARIABLE)) continue;
        const int32_t name = b->variable_names.items[rule->variables + (size_t)(-1 - term)];
        lud_text text = {0};
        lud_text_append(&text,
                        "%s:%d: the body does not bind the variable '%s' of the head, which then stands for "
                        "every constant",
                        file_of(b->rule_file), (int)rule->line, lud_proof_names_get(&b->labels, name, NULL));
        say(c, &text);
    }
}

/* Who writes `lives_in(x, paris)` means the city, but a name without quotes is a variable in a rule. */
static void check_variables(check *c, const raw_rule *rule) {
    const lud_proof_builder *b = c->b;
    for (int32_t j = 0; j < rule->n_variables; j++) {
        size_t length;
        const char *name =
            lud_proof_names_get(&b->labels, b->variable_names.items[rule->variables + (size_t)j], &length);
        const int32_t constant = lud_proof_names_find(&b->constants, name, length);
        if (constant < 0 || !c->constant[constant] || !is_due(c, NAMED_VARIABLE)) continue;
        lud_text text = {0};
        lud_text_append(
            &text,
            "%s:%d: '%s' is a variable here, though a fact has it as a constant; in quotes it would be "
            "the constant",
            file_of(b->rule_file), (int)rule->line, name);
        say(c, &text);
    }
}

static void know_constants(check *c, const raw_atom *atom) {
    for (int i = 0; i < c->b->arity.items[atom->predicate]; i++)
        if (atom->terms[i] >= 0) c->constant[atom->terms[i]] = 1;
}

static void know(check *c) {
    const lud_proof_builder *b = c->b;
    for (size_t i = 0; i < b->facts.n; i++) {
        c->predicate[b->facts.items[i].atom.predicate] = 1;
        know_constants(c, &b->facts.items[i].atom);
    }
    for (size_t i = 0; i < b->rules.n; i++) {
        c->predicate[b->rules.items[i].head.predicate] = 1;
        know_constants(c, &b->rules.items[i].head);
    }
    for (size_t i = 0; i < b->bodies.n; i++) know_constants(c, &b->bodies.items[i]);
}

static void check_query(check *c, const raw_query *query, const char *file) {
    const lud_proof_builder *b = c->b;
    check_predicate(c, &query->atom, file, query->line, " of this query");
    for (int i = 0; i < b->arity.items[query->atom.predicate]; i++) {
        const int32_t constant = query->atom.terms[i];
        if (c->constant[constant]) continue;
        c->constant[constant] = 1;
        if (!is_due(c, UNKNOWN_CONSTANT)) continue;
        lud_text text = {0};
        lud_text_append(&text, "%s:%d: no fact and no rule knows the constant '%s' of this query",
                        file_of(file), (int)query->line, lud_proof_names_get(&b->constants, constant, NULL));
        say(c, &text);
    }
}

static void say_more(check *c, int kind, const char *what) {
    if (c->n[kind] <= c->most) return;
    lud_text text = {0};
    lud_text_append(&text, "%d more %s", c->n[kind] - c->most, what);
    say(c, &text);
}

lud_status lud_proof_builder_check(const lud_proof_builder *b, int most,
                                   void (*warn)(void *context, const char *text), void *context,
                                   lud_error *error) {
    check c = {.b = b,
               .most = most,
               .warn = warn,
               .context = context,
               .predicate = calloc((size_t)b->predicates.n + 1, 1),
               .constant = calloc((size_t)b->constants.n + 1, 1)};
    if (c.predicate && c.constant) {
        know(&c);
        for (size_t i = 0; i < b->rules.n; i++) {
            const raw_rule *rule = &b->rules.items[i];
            for (int32_t a = 0; a < rule->n_body; a++)
                check_predicate(&c, &b->bodies.items[rule->body + (size_t)a], b->rule_file, rule->line, "");
            check_head(&c, rule);
            check_variables(&c, rule);
        }
        for (int s = 0; s < LUD_PROOF_SPLITS; s++)
            for (size_t i = 0; i < b->queries[s].n; i++)
                check_query(&c, &b->queries[s].items[i], b->query_files[s]);
        say_more(&c, UNKNOWN_PREDICATE, "predicates that no fact has and no rule concludes");
        say_more(&c, OPEN_VARIABLE, "variables of heads that their bodies do not bind");
        say_more(&c, NAMED_VARIABLE, "variables of rules that are named as constants of facts");
        say_more(&c, UNKNOWN_CONSTANT, "constants of queries that no fact and no rule knows");
    } else {
        c.failed = true;
    }
    free(c.predicate);
    free(c.constant);
    return c.failed ? lud_no_memory(error, "a check of the files") : LUD_OK;
}
