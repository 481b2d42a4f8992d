/* What the readers collect before a base is built: atoms over provisional name numbers. Shared by the reader
 * (proof_read.c) and the construction of a base (proof_build.c); nobody else needs it. */
#pragma once

#include "sim/proof/knowledge/proof_base.h"

/* Names in order of first appearance; open addressing over an ever-growing pool of bytes. */
typedef struct lud_proof_names {
    char *pool;
    size_t pool_used, pool_capacity;
    size_t *offset; /* [n + 1] */
    int32_t n, capacity;
    uint64_t *table; /* hash << 32 | index + 1: most probes end without touching the name; 0 empty */
    uint32_t mask;
} lud_proof_names;

/* Index of the name, added when new; -1 when memory is out or there are 2^30 names. */
int32_t lud_proof_names_add(lud_proof_names *names, const char *text, size_t length);
/* Index of the name or -1. */
int32_t lud_proof_names_find(const lud_proof_names *names, const char *text, size_t length);
const char *lud_proof_names_get(const lud_proof_names *names, int32_t index, size_t *length);
void lud_proof_names_free(lud_proof_names *names);

/* Terms are provisional constant numbers (from 0), or -1 - j for a rule's variable. */
typedef struct raw_atom {
    int32_t predicate;
    int32_t terms[LUD_PROOF_MAX_ARITY];
} raw_atom;

typedef struct raw_fact {
    raw_atom atom;
    float score;
} raw_fact;

typedef struct raw_query {
    raw_atom atom;
    int32_t depth, line;
} raw_query;

typedef struct raw_rule {
    raw_atom head;
    size_t body; /* first body atom in `bodies` */
    int32_t n_body, n_variables;
    size_t variables; /* first variable name in `variable_names` */
    int32_t name;     /* in `labels`, -1: none */
    double weight;
    int32_t line;
} raw_rule;

typedef struct raw_membership {
    int32_t domain;
    int32_t member; /* in `members` */
} raw_membership;

typedef struct raw_signature {
    int32_t predicate, first, last;
} raw_signature;

/* Growing array of one type. */
#define RAW_LIST(type)                                                                                       \
    struct {                                                                                                 \
        type *items;                                                                                         \
        size_t n, capacity;                                                                                  \
    }

struct lud_proof_builder {
    lud_proof_syntax syntax;
    lud_proof_format format;
    char *rule_file, *query_files[LUD_PROOF_SPLITS]; /* names of those read last, or null */
    lud_proof_names constants, predicates, labels, domains, members, signatures;
    RAW_LIST(uint8_t) arity; /* [predicates.n] */
    RAW_LIST(raw_fact) facts;
    RAW_LIST(raw_query) queries[LUD_PROOF_SPLITS];
    RAW_LIST(raw_rule) rules;
    RAW_LIST(raw_atom) bodies;
    RAW_LIST(int32_t) variable_names; /* in `labels` */
    RAW_LIST(raw_membership) memberships;
    RAW_LIST(raw_signature) argument_domains; /* predicate in `signatures` */
    RAW_LIST(raw_fact) scores;
    int64_t skipped;
};
