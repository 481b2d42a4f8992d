/* A knowledge base: constants, predicates, ground facts, function-free Horn rules, and the query lists that
 * go with them. Built once from text files, constant afterwards, shared by every environment and thread.
 *
 * Index spaces. Constants are 1..n_constants in byte order of their names; a term above n_constants is a
 * variable; 0 is padding. Predicates are 1..n_predicates in byte order, followed by the three terminal
 * predicates True, False and Endf, whose atoms have no arguments. Facts are distinct and sorted by predicate,
 * then by arguments; rules are sorted by head predicate and keep the order of their file within one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

enum {
    LUD_PROOF_MAX_ARITY = 4,
    LUD_PROOF_MAX_BODY = 32,      /* atoms in a rule's body */
    LUD_PROOF_MAX_VARIABLES = 64, /* different variables in one rule */
    LUD_PROOF_MAX_NAME = 4096     /* bytes of one name */
};

/* Arguments past the predicate's arity are 0. In a rule, a negative argument -1 - j is its variable j. */
typedef struct lud_proof_atom {
    int32_t predicate;
    int32_t terms[LUD_PROOF_MAX_ARITY];
} lud_proof_atom;

typedef struct lud_proof_rule {
    lud_proof_atom head;
    const lud_proof_atom *body; /* [n_body] */
    int32_t n_body;
    int32_t n_variables;          /* numbered by first appearance, head before body */
    const char *const *variables; /* [n_variables] names as written */
    const char *name;             /* as written, or `rule K` with its position in the file from 1 */
    double weight;                /* 1 when the file gives none; not used by the search */
    int32_t file_order;           /* position among the rules read, from 0 */
} lud_proof_rule;

/* A query: a ground atom and the proof depth its file states. */
typedef struct lud_proof_query {
    lud_proof_atom atom;
    int32_t depth; /* LUD_PROOF_NO_DEPTH: none given; -1: stated as not provable */
} lud_proof_query;
enum { LUD_PROOF_NO_DEPTH = INT32_MIN };

typedef enum lud_proof_split {
    LUD_PROOF_TRAIN,
    LUD_PROOF_VALID,
    LUD_PROOF_TEST,
    LUD_PROOF_SPLITS
} lud_proof_split;

typedef struct lud_proof_base {
    lud_arena *arena;
    int32_t n_constants, n_predicates;
    const char *const *constants;  /* [n_constants + 1], entry 0 is empty */
    const char *const *predicates; /* [n_predicates + 4], entry 0 is empty, the last three are terminal */
    const uint8_t *arity;          /* [n_predicates + 4] */
    int32_t max_arity;

    int32_t n_facts;
    const lud_proof_atom *facts; /* [n_facts] */
    const int32_t
        *fact_begin; /* [n_predicates + 2] facts of predicate p: fact_begin[p] up to fact_begin[p + 1] */
    const float
        *fact_score; /* [n_facts] 1 for a given fact, its score for a probabilistic one; null: all 1 */
    const uint8_t *fact_examined; /* [n_facts] 0: hidden from resolution by the fact cap; null: none hidden */

    int32_t n_rules;
    const lud_proof_rule *rules;
    const int32_t *rule_begin; /* [n_predicates + 2] */
    int32_t longest_body;

    const lud_proof_query *queries[LUD_PROOF_SPLITS];
    int32_t n_queries[LUD_PROOF_SPLITS];

    /* Domains for corrupting a query; n_domains 0: none given. */
    int32_t n_domains;
    const char *const *domains;
    const int32_t *domain_begin;   /* [n_domains + 1] into domain_members */
    const int32_t *domain_members; /* constants, ascending in each domain */
    const int32_t *domain_of;      /* [n_constants + 1] the (last) domain of a constant, -1: none */
    const int32_t
        *argument_domain; /* [n_predicates + 1][2] domain stated for the first and last argument, -1: none */

    /* Indices; use the functions below. */
    uint32_t fact_mask, score_mask, bucket_mask;
    const int32_t *fact_table; /* open addressing: fact + 1, 0 empty */
    const struct lud_proof_bucket *buckets;
    const int32_t
        *by_argument[LUD_PROOF_MAX_ARITY]; /* facts ordered by (predicate, argument i, fact); [0] is null */
    const lud_proof_atom *scored;          /* atoms of the score file, open addressing, predicate 0 empty */
    const float *scores;
} lud_proof_base;

static inline int32_t lud_proof_true(const lud_proof_base *base) {
    return base->n_predicates + 1;
}
static inline int32_t lud_proof_false(const lud_proof_base *base) {
    return base->n_predicates + 2;
}
static inline int32_t lud_proof_end(const lud_proof_base *base) {
    return base->n_predicates + 3;
}

/* A 64-bit mix of an atom; equal atoms have equal values. */
static inline uint64_t lud_proof_atom_hash(const lud_proof_atom *atom) {
    const uint64_t a = 0x9e3779b97f4a7c15u, b = 0xd6e8feb86659fd93u;
    uint64_t low = (uint64_t)(uint32_t)atom->terms[0] << 32 | (uint32_t)atom->predicate;
    uint64_t high = (uint64_t)(uint32_t)atom->terms[2] << 32 | (uint32_t)atom->terms[1];
    uint64_t h = (low ^ low >> 29) * a + (uint32_t)atom->terms[3];
    h = (h ^ h >> 32) * b + high;
    h = (h ^ h >> 29) * a;
    h = (h ^ h >> 32) * b;
    return h ^ h >> 31;
}

static inline bool lud_proof_atom_equal(const lud_proof_atom *a, const lud_proof_atom *b) {
    return a->predicate == b->predicate && a->terms[0] == b->terms[0] && a->terms[1] == b->terms[1] &&
           a->terms[2] == b->terms[2] && a->terms[3] == b->terms[3];
}

/* The fact equal to a ground atom, or -1; `hash` is its lud_proof_atom_hash. */
static inline int32_t lud_proof_find_fact(const lud_proof_base *base, const lud_proof_atom *atom,
                                          uint64_t hash) {
    for (uint32_t i = (uint32_t)hash & base->fact_mask;; i = (i + 1) & base->fact_mask) {
        int32_t fact = base->fact_table[i] - 1;
        if (fact < 0 || lud_proof_atom_equal(&base->facts[fact], atom)) return fact;
    }
}

/* Facts that agree with a constant at one argument: entries begin..end of `order`, ascending fact numbers; a
 * null `order` means the entries themselves. */
typedef struct lud_proof_range {
    const int32_t *order;
    int32_t begin, end;
} lud_proof_range;
/* The facts of `predicate` whose argument `position` is `constant`. */
lud_proof_range lud_proof_facts_with(const lud_proof_base *base, int32_t predicate, int position,
                                     int32_t constant);

/* How many facts agree with the atom in its predicate and in its most selective constant, the fact `excluded`
 * (-1: none) left out: what a goal can be resolved with, or slightly more where two arguments are constants.
 * 0 for a terminal atom. */
int32_t lud_proof_count_matches(const lud_proof_base *base, const lud_proof_atom *atom, int32_t excluded);

/* The score of a ground atom in the score file, or `missing`. */
float lud_proof_score(const lud_proof_base *base, const lud_proof_atom *atom, float missing);

/* Appends `p(a,?0)` to the text; variables are ?0, ?1, ... counted from n_constants + 1, negative terms (a
 * rule's variables) by the rule's names when `rule` is not null. */
void lud_proof_print_atom(const lud_proof_base *base, const lud_proof_rule *rule, const lud_proof_atom *atom,
                          lud_text *out);
/* Appends `b1(x,y), b2(y,z) -> h(x,z)`, or the head alone. */
void lud_proof_print_rule(const lud_proof_base *base, const lud_proof_rule *rule, lud_text *out);

/* Index of a name, or 0. */
int32_t lud_proof_find_constant(const lud_proof_base *base, const char *name, size_t length);
int32_t lud_proof_find_predicate(const lud_proof_base *base, const char *name, size_t length);

/* The words of an atom's variables, by number; parts of the text that was read. */
typedef struct lud_proof_variables {
    int n;
    const char *word[LUD_PROOF_MAX_ARITY];
    size_t length[LUD_PROOF_MAX_ARITY];
} lud_proof_variables;

/* Reads `p(a, X)`. An argument that names a constant is that constant; otherwise a word that starts with `?`,
 * `_` or an upper-case letter, or is one letter long, is a variable (numbered n_constants + 1, ... by first
 * appearance; `variables`, which may be null, gets their words); anything else, an unknown predicate or a
 * wrong number of arguments is an error with the nearest name. */
lud_status lud_proof_parse_atom(const lud_proof_base *base, const char *text, lud_proof_atom *atom,
                                lud_proof_variables *variables, lud_error *error);

/* ---- Building ---- */

/* Texts are read one by one into a builder, which is then turned into a base. Names and messages copy what
 * they need; the text may be freed after each call. */
typedef struct lud_proof_builder lud_proof_builder;

/* What a line of a fact or query file may be. */
typedef enum lud_proof_syntax {
    LUD_PROOF_TRIPLES,  /* the standard files: two arguments; Prolog directives and atoms of other arity are
                           skipped */
    LUD_PROOF_RELATIONS /* one to four arguments; every line must be an atom */
} lud_proof_syntax;

/* How a fact or query file writes triples. */
typedef enum lud_proof_format {
    LUD_PROOF_AUTO,  /* by its first line that is no comment */
    LUD_PROOF_ATOMS, /* p(a,b). */
    LUD_PROOF_TABS,  /* a TAB p TAB b, and perhaps a depth; a first line that names the columns is left out */
    LUD_PROOF_COMMAS,  /* the same with commas; fields may stand in double quotes */
    LUD_PROOF_NTRIPLES /* <a> <p> <b> . ; names are IRIs without brackets, blank nodes with `_:`, literals
                          without quotes, with their @language or ^^type */
} lud_proof_format;

lud_proof_builder *lud_proof_builder_create(lud_proof_syntax syntax);
void lud_proof_builder_destroy(lud_proof_builder *builder);
/* Of the fact and query files that are read from now on; LUD_PROOF_AUTO unless it is set. */
void lud_proof_builder_set_format(lud_proof_builder *builder, lud_proof_format format);

/* One text of each kind, of less than 2 GiB. `name` stands for the file in messages. Lines of facts and
 * queries as the format says; atoms: `p(a,b).`, the dot optional, arguments may stand in single or double
 * quotes. Blank lines and those that begin with `%` or `#` are skipped. */
lud_status lud_proof_read_facts(lud_proof_builder *builder, const char *name, const char *text, size_t length,
                                lud_error *error);
/* Lines: a triple, optionally followed by a depth (`p(a,b) 3`). */
lud_status lud_proof_read_queries(lud_proof_builder *builder, lud_proof_split split, const char *name,
                                  const char *text, size_t length, lud_error *error);
/* Lines: `name:weight:body1(X,Y), body2(Y,Z) -> head(X,Z)`, `name: body -> head`, `body -> head`, `head(X,Z)
 * :- body.`, or a bare head. A name without a weight ends with a colon and a blank; without the blank
 * `a:b(X,Y)` is a predicate of that name where one has been read, else b with the name a where b has been
 * read. Every unquoted argument is a variable, whatever its case; a quoted one is a constant. */
lud_status lud_proof_read_rules(lud_proof_builder *builder, const char *name, const char *text, size_t length,
                                lud_error *error);
/* Lines: `domain constant constant ...` or `predicate:first_domain:last_domain`. Constants that occur nowhere
 * else are ignored. */
lud_status lud_proof_read_domains(lud_proof_builder *builder, const char *name, const char *text,
                                  size_t length, lud_error *error);
/* Lines: `p(a,b) score rank`. Entries with rank <= top_k and score >= threshold become probabilistic facts
 * when `as_facts`; all entries serve lud_proof_score. */
lud_status lud_proof_read_scores(lud_proof_builder *builder, const char *name, const char *text,
                                 size_t length, bool as_facts, int64_t top_k, double threshold,
                                 lud_error *error);

/* Fact cap: at most `fact_cap` facts of each predicate take part in resolution (0: all); the first in order,
 * or a random choice keyed by `cap_seed` when `cap_random`. Pruning of ground goals knows every fact. */
typedef struct lud_proof_build_options {
    int64_t fact_cap;
    bool cap_random;
    uint64_t cap_seed;
} lud_proof_build_options;

/* Builds the base; the builder stays the caller's. `options` may be null. */
lud_status lud_proof_build(const lud_proof_builder *builder, const lud_proof_build_options *options,
                           lud_proof_base **base, lud_error *error);
void lud_proof_base_destroy(lud_proof_base *base);
/* What reads but can hardly be meant, a text `file:line: ...` each, at most `most` of a kind and then how
 * many more there are: predicates of rules and queries that no fact has and no rule concludes, variables of a
 * rule's head that its body does not bind, constants of queries that no fact and no rule knows.
 * LUD_ERROR_MEMORY. */
lud_status lud_proof_builder_check(const lud_proof_builder *builder, int most,
                                   void (*warn)(void *context, const char *text), void *context,
                                   lud_error *error);
/* Lines that the standard syntax told to skip (Prolog directives, other arities). */
int64_t lud_proof_builder_skipped(const lud_proof_builder *builder);
