/* Rules over binary predicates as expressions of relations (for sim/proof/fixpoint.h). */
#pragma once

#include "sim/proof/knowledge/proof_base.h"

typedef enum lud_relation_rule_kind {
    LUD_RELATION_COPY,    /* p */
    LUD_RELATION_INVERSE, /* p(y,x) */
    LUD_RELATION_DOMAIN,  /* x = y and p(x,z) for some z */
    LUD_RELATION_LOOPS,   /* x = y and p(x,x) */
    LUD_RELATION_MEET,    /* p(x,y) and q(x,y) */
    LUD_RELATION_COMPOSE  /* p(x,z) and q(z,y) for some z */
} lud_relation_rule_kind;

/* What one relation contains. `q` is `p` where there is one operand. */
typedef struct lud_relation_rule {
    lud_relation_rule_kind kind;
    int32_t p, q;
} lud_relation_rule;

/* Relations 1 .. n_predicates are the predicates, those behind them parts of bodies; 0 has no rules. */
typedef struct lud_relation_rules {
    int32_t n_relations;
    int32_t *rule_begin; /* [n_relations + 1] */
    lud_relation_rule *rules;
    /* Components of the dependence of relations on each other, those that are read before those that read. */
    int32_t n_components;
    int32_t *component_begin; /* [n_components + 1] into order */
    int32_t *order;           /* [n_relations] */
} lud_relation_rules;

/* LUD_ERROR_LIMIT, with the rule's name, when a rule is no such expression. */
lud_status lud_relation_rules_create(const lud_proof_base *base, lud_relation_rules *rules, lud_error *error);
void lud_relation_rules_free(lud_relation_rules *rules);
