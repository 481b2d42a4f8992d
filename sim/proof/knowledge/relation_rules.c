#include "sim/proof/knowledge/relation_rules.h"

#include <stdlib.h>
#include <string.h>

#include "sim/proof/knowledge/atom_table.h"

/* A rule of `relation` while they are collected. */
typedef struct entry {
    int32_t relation;
    lud_relation_rule rule;
} entry;

typedef struct collection {
    entry *entries;
    int32_t n, capacity, n_relations, n_predicates;
    lud_proof_atom *parts; /* rules of the relations behind the predicates, each as kind(p, q) */
    int32_t n_parts, part_capacity;
    int32_t *table; /* where they are found, see atom_table.h */
    uint32_t mask;
    bool failed;
} collection;

/* An atom of a body, or what parts of it were reduced to: relation(from, to). */
typedef struct edge {
    int32_t from, to, relation;
} edge;

static void add_entry(collection *c, int32_t relation, lud_relation_rule rule) {
    if (c->n == c->capacity) {
        const int32_t capacity = c->capacity ? 2 * c->capacity : 256;
        entry *grown = realloc(c->entries, (size_t)capacity * sizeof *grown);
        if (!grown) {
            c->failed = true;
            return;
        }
        c->entries = grown;
        c->capacity = capacity;
    }
    c->entries[c->n++] = (entry){relation, rule};
}

/* The slot of a part, or the free one where it would be. */
static uint32_t slot_of(const collection *c, const lud_proof_atom *part) {
    return lud_proof_atom_table_slot(c->table, c->mask, c->parts, sizeof *c->parts, part);
}

static lud_relation_rule rule_of(const lud_proof_atom *part) {
    return (lud_relation_rule){(lud_relation_rule_kind)part->predicate, part->terms[0], part->terms[1]};
}

/* Room for one more part. */
static bool has_room(collection *c) {
    if (!lud_proof_atom_table_grow(&c->table, &c->mask, c->parts, sizeof *c->parts, c->n_parts)) return false;
    if (c->n_parts < c->part_capacity) return true;
    const int32_t capacity = c->part_capacity ? 2 * c->part_capacity : 256;
    lud_proof_atom *grown = realloc(c->parts, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    c->parts = grown;
    c->part_capacity = capacity;
    return true;
}

/* The relation behind the predicates that is exactly this. */
static int32_t part(collection *c, lud_relation_rule rule) {
    const lud_proof_atom key = {.predicate = (int32_t)rule.kind, .terms = {rule.p, rule.q}};
    c->failed = c->failed || !has_room(c);
    if (c->failed) return c->n_predicates + 1; /* of no meaning any more */
    const uint32_t slot = slot_of(c, &key);
    if (c->table[slot]) return c->n_predicates + c->table[slot];
    add_entry(c, c->n_relations, rule);
    c->parts[c->n_parts] = key;
    c->table[slot] = ++c->n_parts;
    return c->n_relations++;
}

/* The edge with `from` at its beginning. */
static edge directed(collection *c, edge e, int32_t from) {
    if (e.from == from) return e;
    return (edge){e.to, e.from, part(c, (lud_relation_rule){LUD_RELATION_INVERSE, e.relation, e.relation})};
}

/* Two edges between the same variables become their meet. */
static bool reduce_parallel(collection *c, edge *edges, int32_t *n) {
    for (int32_t i = 0; i < *n; i++)
        for (int32_t j = i + 1; j < *n; j++) {
            edge *a = &edges[i], *b = &edges[j];
            if (!(a->from == b->from && a->to == b->to) && !(a->from == b->to && a->to == b->from)) continue;
            const int32_t p = a->relation, q = directed(c, *b, a->from).relation;
            if (p != q)
                a->relation = part(c, (lud_relation_rule){LUD_RELATION_MEET, p < q ? p : q, p < q ? q : p});
            edges[j] = edges[--*n];
            return true;
        }
    return false;
}

/* An edge that ends at a variable of its own, or where it begins, only says something of the variable at its
 * beginning, and is joined to another edge there. */
static bool reduce_condition(collection *c, const lud_proof_rule *rule, edge *edges, int32_t *n) {
    for (int32_t i = 0; i < *n; i++)
        for (int end = 0; end < 2; end++) {
            const int32_t v = end ? edges[i].to : edges[i].from, u = end ? edges[i].from : edges[i].to;
            bool alone = v != -1 - rule->head.terms[0] && v != -1 - rule->head.terms[1];
            int32_t other = -1;
            for (int32_t j = 0; j < *n; j++) {
                if (j == i) continue;
                alone = alone && edges[j].from != v && edges[j].to != v;
                if (edges[j].from == u || edges[j].to == u) other = j;
            }
            if ((u != v && !alone) || other < 0) continue;
            const int32_t p = directed(c, edges[i], u).relation;
            const int32_t condition =
                part(c, (lud_relation_rule){u == v ? LUD_RELATION_LOOPS : LUD_RELATION_DOMAIN, p, p});
            edge *kept = &edges[other];
            *kept = directed(c, *kept, u);
            kept->relation = part(c, (lud_relation_rule){LUD_RELATION_COMPOSE, condition, kept->relation});
            edges[i] = edges[--*n];
            return true;
        }
    return false;
}

/* Two edges that meet alone at a variable which is not in the head become their composition. */
static bool reduce_series(collection *c, const lud_proof_rule *rule, edge *edges, int32_t *n) {
    for (int32_t v = 0; v < rule->n_variables; v++) {
        int32_t here[2] = {-1, -1}, degree = 0;
        for (int32_t i = 0; i < *n; i++) {
            if (edges[i].from != v && edges[i].to != v) continue;
            if (degree < 2) here[degree] = i;
            degree++;
        }
        if (degree != 2 || v == -1 - rule->head.terms[0] || v == -1 - rule->head.terms[1]) continue;
        edge *a = &edges[here[0]], *b = &edges[here[1]];
        /* from the head's first argument where that is known, so that few relations need an inverse */
        if (a->to != v && b->to == v) {
            edge *swap = a;
            a = b;
            b = swap;
        }
        const int32_t from = a->from == v ? a->to : a->from;
        const edge first = directed(c, *a, from), second = directed(c, *b, v);
        edges[here[0]] =
            (edge){from, second.to,
                   part(c, (lud_relation_rule){LUD_RELATION_COMPOSE, first.relation, second.relation})};
        edges[here[1]] = edges[--*n];
        return true;
    }
    return false;
}

/* Adds what the rule says of its head's predicate; false when the body is no expression of relations. */
static bool add_rule(collection *c, const lud_proof_rule *rule) {
    edge edges[LUD_PROOF_MAX_BODY];
    int32_t n = rule->n_body;
    const int32_t x = -1 - rule->head.terms[0], y = -1 - rule->head.terms[1];
    if (x < 0 || y < 0 || x == y || n == 0) return false;
    for (int32_t i = 0; i < n; i++) {
        const lud_proof_atom *atom = &rule->body[i];
        edges[i] = (edge){-1 - atom->terms[0], -1 - atom->terms[1], atom->predicate};
        if (edges[i].from < 0 || edges[i].to < 0) return false;
    }
    const int32_t n_entries = c->n, n_relations = c->n_relations;
    while (reduce_condition(c, rule, edges, &n) || reduce_parallel(c, edges, &n) ||
           reduce_series(c, rule, edges, &n))
        continue;
    if (n != 1 || !((edges[0].from == x && edges[0].to == y) || (edges[0].from == y && edges[0].to == x)))
        return false;
    const int32_t relation = directed(c, edges[0], x).relation;
    if (c->failed) return false;
    if (c->n > n_entries && relation == c->n_relations - 1 && c->n_relations > n_relations &&
        c->entries[c->n - 1].relation ==
            relation) { /* a part of this rule alone so far: the head's own rule */
        c->entries[c->n - 1].relation = rule->head.predicate;
        c->n_relations--;
        c->table[slot_of(c, &c->parts[c->n_parts - 1])] = 0; /* the newest: none was put behind it */
        c->n_parts--;
    } else if (relation > c->n_predicates) {
        /* a known part: its definition, so that recursion can be seen */
        add_entry(c, rule->head.predicate, rule_of(&c->parts[relation - c->n_predicates - 1]));
    } else
        add_entry(c, rule->head.predicate, (lud_relation_rule){LUD_RELATION_COPY, relation, relation});
    return !c->failed;
}

/* ---- order ---- */

/* Depth-first search for the components of "reads" (Tarjan, 1972): what is read is complete first. Chains of
 * rules may be as long as a file, so the path is an array and no recursion. */
typedef struct search {
    lud_relation_rules *rules;
    int32_t *index, *low, *stack;
    int32_t *path, *at; /* relations being visited, and how many operands of each were looked at */
    uint8_t *stacked;
    int32_t n_indices, n_stack, n_order;
} search;

static void enter(search *s, int32_t r, int32_t depth) {
    s->path[depth] = r;
    s->index[r] = s->low[r] = ++s->n_indices;
    s->stack[s->n_stack++] = r;
    s->stacked[r] = true;
}

/* The relations of a component that is complete. */
static void take_component(search *s, int32_t r) {
    lud_relation_rules *rules = s->rules;
    int32_t member;
    do {
        member = s->stack[--s->n_stack];
        s->stacked[member] = false;
        rules->order[s->n_order++] = member;
    } while (member != r);
    rules->component_begin[++rules->n_components] = s->n_order;
}

static void visit(search *s, int32_t root) {
    const lud_relation_rules *rules = s->rules;
    int32_t depth = 0;
    enter(s, root, depth);
    while (depth >= 0) {
        const int32_t r = s->path[depth];
        const int32_t rule = rules->rule_begin[r] + s->at[r] / 2;
        if (rule < rules->rule_begin[r + 1]) {
            const int32_t read = s->at[r]++ % 2 ? rules->rules[rule].q : rules->rules[rule].p;
            if (!s->index[read])
                enter(s, read, ++depth);
            else if (s->stacked[read] && s->index[read] < s->low[r])
                s->low[r] = s->index[read];
            continue;
        }
        if (s->low[r] == s->index[r]) take_component(s, r);
        if (depth-- == 0) continue;
        const int32_t reader = s->path[depth];
        if (s->low[r] < s->low[reader]) s->low[reader] = s->low[r];
    }
}

static bool find_order(lud_relation_rules *rules) {
    const size_t n = (size_t)rules->n_relations;
    search s = {.rules = rules};
    s.index = calloc(n, sizeof *s.index);
    s.low = calloc(n, sizeof *s.low);
    s.stack = calloc(n, sizeof *s.stack);
    s.path = calloc(n, sizeof *s.path);
    s.at = calloc(n, sizeof *s.at);
    s.stacked = calloc(n, sizeof *s.stacked);
    rules->order = calloc(n, sizeof *rules->order);
    rules->component_begin = calloc(n + 1, sizeof *rules->component_begin);
    const bool complete =
        s.index && s.low && s.stack && s.path && s.at && s.stacked && rules->order && rules->component_begin;
    for (int32_t r = 0; complete && r < rules->n_relations; r++)
        if (!s.index[r]) visit(&s, r);
    LUD_FREE(s.index, s.low, s.stack, s.path, s.at, s.stacked);
    return complete;
}

/* Rules by relation, in the order in which they were found. */
static bool sort_rules(const collection *c, lud_relation_rules *rules) {
    const size_t n = (size_t)c->n_relations + 1;
    int32_t *at = calloc(n, sizeof *at);
    rules->n_relations = c->n_relations;
    rules->rule_begin = calloc(n, sizeof *rules->rule_begin);
    rules->rules = calloc((size_t)c->n + 1, sizeof *rules->rules);
    if (at && rules->rule_begin && rules->rules) {
        for (int32_t i = 0; i < c->n; i++) rules->rule_begin[c->entries[i].relation + 1]++;
        for (int32_t r = 0; r < c->n_relations; r++) rules->rule_begin[r + 1] += rules->rule_begin[r];
        memcpy(at, rules->rule_begin, n * sizeof *at);
        for (int32_t i = 0; i < c->n; i++) rules->rules[at[c->entries[i].relation]++] = c->entries[i].rule;
    }
    const bool complete = at && rules->rule_begin && rules->rules;
    free(at);
    return complete;
}

lud_status lud_relation_rules_create(const lud_proof_base *base, lud_relation_rules *rules,
                                     lud_error *error) {
    *rules = (lud_relation_rules){0};
    for (int32_t p = 1; p <= base->n_predicates; p++)
        if (base->arity[p] != 2)
            return lud_fail(error, LUD_ERROR_LIMIT, "predicate `%s` has not two arguments",
                            base->predicates[p]);
    collection c = {.n_relations = base->n_predicates + 1, .n_predicates = base->n_predicates};
    int32_t r = 0;
    while (r < base->n_rules && add_rule(&c, &base->rules[r])) r++;
    const bool complete = !c.failed && r == base->n_rules && sort_rules(&c, rules) && find_order(rules);
    const bool failed = c.failed || r == base->n_rules;
    LUD_FREE(c.entries, c.parts, c.table);
    if (complete) return LUD_OK;
    lud_relation_rules_free(rules);
    if (failed) return lud_no_memory(error, "a fixpoint");
    return lud_fail(error, LUD_ERROR_LIMIT, "rule `%s` is no composition and meet of binary relations",
                    base->rules[r].name);
}

void lud_relation_rules_free(lud_relation_rules *rules) {
    LUD_FREE(rules->rule_begin, rules->rules, rules->component_begin, rules->order);
    *rules = (lud_relation_rules){0};
}
