#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sim/proof/knowledge/proof_builder.h"
#include "sim/proof/knowledge/proof_index.h"

/* State of one construction. Memory that runs out sets `failed`; the pieces taken after that are null. */
typedef struct construction {
    const lud_proof_builder *raw;
    lud_proof_base *base;
    lud_arena *arena, *scratch;
    int32_t *constant; /* provisional number -> index */
    int32_t *predicate;
    bool failed;
} construction;

static void *take(construction *c, lud_arena *arena, size_t n, size_t size) {
    void *piece = c->failed ? NULL : lud_arena_take_array(arena, n, size);
    if (!piece) c->failed = true;
    return piece;
}

static int compare_names(const void *a, const void *b, void *context) {
    const lud_proof_names *names = context;
    return strcmp(lud_proof_names_get(names, *(const int32_t *)a, NULL),
                  lud_proof_names_get(names, *(const int32_t *)b, NULL));
}

/* Sorted copies of the names from entry 1 on (`extra` free entries behind), and the map from provisional
 * numbers. */
static char **sort_names(construction *c, const lud_proof_names *names, size_t extra, int32_t **map) {
    size_t n = (size_t)names->n;
    char **sorted = take(c, c->arena, n + 1 + extra, sizeof *sorted);
    int32_t *order = take(c, c->scratch, n, sizeof *order);
    *map = take(c, c->scratch, n, sizeof **map);
    if (c->failed) return NULL;
    for (size_t i = 0; i < n; i++) order[i] = (int32_t)i;
    qsort_r(order, n, sizeof *order, compare_names, (void *)(uintptr_t)names);
    sorted[0] = lud_arena_text(c->arena, "", 0);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *name = lud_proof_names_get(names, order[i], &length);
        sorted[i + 1] = lud_arena_text(c->arena, name, length);
        if (!sorted[i + 1]) c->failed = true;
        (*map)[order[i]] = (int32_t)i + 1;
    }
    return sorted;
}

static lud_proof_atom translate(const construction *c, const raw_atom *raw) {
    lud_proof_atom atom = {.predicate = c->predicate[raw->predicate]};
    int arity = c->raw->arity.items[raw->predicate];
    for (int i = 0; i < arity; i++)
        atom.terms[i] = raw->terms[i] < 0 ? raw->terms[i] : c->constant[raw->terms[i]];
    return atom;
}

static void name_everything(construction *c) {
    lud_proof_base *base = c->base;
    char **constants = sort_names(c, &c->raw->constants, 0, &c->constant);
    char **predicates = sort_names(c, &c->raw->predicates, 3, &c->predicate);
    uint8_t *arity = take(c, c->arena, (size_t)c->raw->predicates.n + 4, 1);
    if (c->failed) return;
    base->n_constants = c->raw->constants.n;
    base->n_predicates = c->raw->predicates.n;
    static const char *const terminal[] = {"True", "False", "Endf"};
    for (int i = 0; i < 3; i++) predicates[base->n_predicates + 1 + i] = (char *)(uintptr_t)terminal[i];
    for (int32_t p = 0; p < base->n_predicates; p++) {
        arity[c->predicate[p]] = c->raw->arity.items[p];
        if (arity[c->predicate[p]] > base->max_arity) base->max_arity = arity[c->predicate[p]];
    }
    base->constants = (const char *const *)constants;
    base->predicates = (const char *const *)predicates;
    base->arity = arity;
}

/* Stable counting sort of `order` (n fact numbers) by key(fact) in 0..n_keys; count[n_keys + 2]. */
static void counting_sort(const lud_proof_atom *facts, int32_t *order, int32_t *spare, int32_t n, int field,
                          int32_t *count, int32_t n_keys) {
    memset(count, 0, ((size_t)n_keys + 2) * sizeof *count);
#define KEY(fact) (field < 0 ? facts[fact].predicate : facts[fact].terms[field])
    for (int32_t i = 0; i < n; i++) count[KEY(order[i]) + 1]++;
    for (int32_t k = 0; k <= n_keys; k++) count[k + 1] += count[k];
    for (int32_t i = 0; i < n; i++) spare[count[KEY(order[i])]++] = order[i];
#undef KEY
    memcpy(order, spare, (size_t)n * sizeof *order);
}

/* Sorted distinct facts, their scores, and the range of each predicate. */
static void sort_facts(construction *c) {
    lud_proof_base *base = c->base;
    size_t n = c->raw->facts.n;
    int32_t n_keys = base->n_constants > base->n_predicates ? base->n_constants : base->n_predicates;
    lud_proof_atom *atoms = take(c, c->scratch, n, sizeof *atoms);
    int32_t *order = take(c, c->scratch, n, sizeof *order), *spare = take(c, c->scratch, n, sizeof *spare);
    int32_t *count = take(c, c->scratch, (size_t)n_keys + 2, sizeof *count);
    lud_proof_atom *facts = take(c, c->arena, n, sizeof *facts);
    int32_t *begin = take(c, c->arena, (size_t)base->n_predicates + 2, sizeof *begin);
    if (c->failed) return;
    bool soft = false;
    for (size_t i = 0; i < n; i++) {
        atoms[i] = translate(c, &c->raw->facts.items[i].atom);
        order[i] = (int32_t)i;
        soft = soft || c->raw->facts.items[i].score != 1.0f;
    }
    for (int field = base->max_arity - 1; field >= -1; field--)
        counting_sort(atoms, order, spare, (int32_t)n, field, count, n_keys);
    float *score = soft ? take(c, c->arena, n, sizeof *score) : NULL;
    if (c->failed) return;
    int32_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const lud_proof_atom *atom = &atoms[order[i]];
        float value = c->raw->facts.items[order[i]].score;
        if (kept > 0 && lud_proof_atom_equal(atom, &facts[kept - 1])) {
            if (score && value > score[kept - 1]) score[kept - 1] = value;
            continue;
        }
        if (score) score[kept] = value;
        facts[kept++] = *atom;
        begin[atom->predicate + 1]++;
    }
    for (int32_t p = 0; p <= base->n_predicates; p++) begin[p + 1] += begin[p];
    base->facts = facts;
    base->n_facts = kept;
    base->fact_begin = begin;
    base->fact_score = score;
}

static uint32_t table_size(size_t n) {
    uint32_t size = 16;
    while (size < 2 * n + 2) size *= 2;
    return size;
}

static void index_facts(construction *c) {
    lud_proof_base *base = c->base;
    size_t n = (size_t)base->n_facts;
    uint32_t size = table_size(n);
    int32_t *table = take(c, c->arena, size, sizeof *table);
    int32_t *order[LUD_PROOF_MAX_ARITY] = {NULL};
    for (int i = 1; i < base->max_arity; i++) order[i] = take(c, c->arena, n, sizeof **order);
    int32_t *spare = take(c, c->scratch, n, sizeof *spare);
    int32_t n_keys = base->n_constants > base->n_predicates ? base->n_constants : base->n_predicates;
    int32_t *count = take(c, c->scratch, (size_t)n_keys + 2, sizeof *count);
    if (c->failed) return;
    for (int32_t f = 0; f < base->n_facts; f++) {
        uint32_t slot = (uint32_t)lud_proof_atom_hash(&base->facts[f]) & (size - 1);
        while (table[slot]) slot = (slot + 1) & (size - 1);
        table[slot] = f + 1;
    }
    base->fact_table = table;
    base->fact_mask = size - 1;
    size_t n_buckets = 0;
    for (int i = 0; i < base->max_arity; i++) {
        if (i > 0) {
            for (int32_t f = 0; f < base->n_facts; f++) order[i][f] = f;
            counting_sort(base->facts, order[i], spare, base->n_facts, i, count, n_keys);
            counting_sort(base->facts, order[i], spare, base->n_facts, -1, count, n_keys);
            base->by_argument[i] = order[i];
        }
        for (int32_t k = 0; k < base->n_facts; k++) {
            const lud_proof_atom *fact = &base->facts[i ? order[i][k] : k];
            const lud_proof_atom *last = k ? &base->facts[i ? order[i][k - 1] : k - 1] : NULL;
            if (fact->terms[i] &&
                (!last || last->predicate != fact->predicate || last->terms[i] != fact->terms[i]))
                n_buckets++;
        }
    }
    size = table_size(n_buckets);
    lud_proof_bucket *buckets = take(c, c->arena, size, sizeof *buckets);
    if (c->failed) return;
    base->buckets = buckets;
    base->bucket_mask = size - 1;
    for (int i = 0; i < base->max_arity; i++) {
        lud_proof_bucket *open = NULL;
        for (int32_t k = 0; k < base->n_facts; k++) {
            const lud_proof_atom *fact = &base->facts[i ? order[i][k] : k];
            if (fact->terms[i] == 0) continue;
            uint64_t key = lud_proof_bucket_key(fact->predicate, i, fact->terms[i]);
            if (!open || open->key != key) {
                uint32_t slot = lud_proof_bucket_slot(key) & (size - 1);
                while (buckets[slot].key) slot = (slot + 1) & (size - 1);
                open = &buckets[slot];
                *open = (lud_proof_bucket){key, k, k};
            }
            open->end = k + 1;
        }
    }
}

/* Which facts resolution sees: the first `cap` of each predicate, or a random choice of that many. */
static void cap_facts(construction *c, const lud_proof_build_options *options) {
    lud_proof_base *base = c->base;
    if (!options || options->fact_cap <= 0) return;
    uint8_t *seen = take(c, c->arena, (size_t)base->n_facts, 1);
    int32_t *order = take(c, c->scratch, (size_t)base->n_facts, sizeof *order);
    if (c->failed) return;
    for (int32_t p = 1; p <= base->n_predicates; p++) {
        int32_t first = base->fact_begin[p], n = base->fact_begin[p + 1] - first;
        int32_t cap = options->fact_cap < n ? (int32_t)options->fact_cap : n;
        for (int32_t i = 0; i < n; i++) order[i] = first + i;
        for (int32_t i = 0; options->cap_random && i < cap;
             i++) { /* the first steps of a Fisher-Yates shuffle */
            lud_random_key key = {options->cap_seed, (uint32_t)p};
            uint32_t word = lud_draw(key, (uint32_t)i, 0, LUD_PURPOSE_SHUFFLE, 0).v[0];
            int32_t j = i + (int32_t)lud_below(word, (uint32_t)(n - i));
            int32_t other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        for (int32_t i = 0; i < cap; i++) seen[order[i]] = 1;
    }
    base->fact_examined = seen;
}

static void build_rules(construction *c) {
    lud_proof_base *base = c->base;
    const lud_proof_builder *raw = c->raw;
    size_t n = raw->rules.n;
    lud_proof_rule *rules = take(c, c->arena, n, sizeof *rules);
    int32_t *begin = take(c, c->arena, (size_t)base->n_predicates + 2, sizeof *begin);
    int32_t *fill = take(c, c->scratch, (size_t)base->n_predicates + 2, sizeof *fill);
    lud_proof_atom *bodies = take(c, c->arena, raw->bodies.n, sizeof *bodies);
    const char **variables = take(c, c->arena, raw->variable_names.n, sizeof *variables);
    if (c->failed) return;
    for (size_t i = 0; i < raw->bodies.n; i++) bodies[i] = translate(c, &raw->bodies.items[i]);
    for (size_t i = 0; i < raw->variable_names.n; i++) {
        size_t length;
        const char *name = lud_proof_names_get(&raw->labels, raw->variable_names.items[i], &length);
        variables[i] = lud_arena_text(c->arena, name, length);
        if (!variables[i]) c->failed = true;
    }
    for (size_t i = 0; i < n; i++) begin[c->predicate[raw->rules.items[i].head.predicate] + 1]++;
    for (int32_t p = 0; p <= base->n_predicates; p++) begin[p + 1] += begin[p];
    memcpy(fill, begin, ((size_t)base->n_predicates + 2) * sizeof *fill);
    for (size_t i = 0; i < n; i++) {
        const raw_rule *r = &raw->rules.items[i];
        lud_proof_atom head = translate(c, &r->head);
        char number[32];
        size_t length = (size_t)snprintf(number, sizeof number, "rule %zu", i + 1);
        const char *name = r->name < 0 ? number : lud_proof_names_get(&raw->labels, r->name, &length);
        rules[fill[head.predicate]++] = (lud_proof_rule){.head = head,
                                                         .body = bodies + r->body,
                                                         .n_body = r->n_body,
                                                         .n_variables = r->n_variables,
                                                         .variables = variables + r->variables,
                                                         .name = lud_arena_text(c->arena, name, length),
                                                         .weight = r->weight,
                                                         .file_order = (int32_t)i};
        if (r->n_body > base->longest_body) base->longest_body = r->n_body;
    }
    base->rules = rules;
    base->n_rules = (int32_t)n;
    base->rule_begin = begin;
}

static void build_queries(construction *c) {
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) {
        size_t n = c->raw->queries[s].n;
        lud_proof_query *queries = take(c, c->arena, n, sizeof *queries);
        if (c->failed) return;
        for (size_t i = 0; i < n; i++)
            queries[i] = (lud_proof_query){translate(c, &c->raw->queries[s].items[i].atom),
                                           c->raw->queries[s].items[i].depth};
        c->base->queries[s] = queries;
        c->base->n_queries[s] = (int32_t)n;
    }
}

static int compare_members(const void *a, const void *b) {
    const raw_membership *x = a, *y = b;
    if (x->domain != y->domain) return x->domain < y->domain ? -1 : 1;
    return (x->member > y->member) - (x->member < y->member);
}

static void build_domains(construction *c) {
    const lud_proof_builder *raw = c->raw;
    lud_proof_base *base = c->base;
    size_t n_domains = (size_t)raw->domains.n, n = raw->memberships.n;
    if (n_domains == 0) return;
    raw_membership *list = take(c, c->scratch, n, sizeof *list);
    const char **names = take(c, c->arena, n_domains, sizeof *names);
    int32_t *begin = take(c, c->arena, n_domains + 1, sizeof *begin);
    int32_t *members = take(c, c->arena, n, sizeof *members);
    int32_t *domain_of = take(c, c->arena, (size_t)base->n_constants + 1, sizeof *domain_of);
    int32_t(*stated)[2] = take(c, c->arena, (size_t)base->n_predicates + 1, sizeof *stated);
    if (c->failed) return;
    for (size_t d = 0; d < n_domains; d++) {
        size_t length;
        const char *name = lud_proof_names_get(&raw->domains, (int32_t)d, &length);
        names[d] = lud_arena_text(c->arena, name, length);
    }
    for (int32_t i = 0; i <= base->n_constants; i++) domain_of[i] = -1;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *name = lud_proof_names_get(&raw->members, raw->memberships.items[i].member, &length);
        int32_t found = lud_proof_names_find(&raw->constants, name, length);
        if (found < 0) continue;
        list[kept] = (raw_membership){raw->memberships.items[i].domain, c->constant[found]};
        domain_of[list[kept].member] = list[kept].domain;
        kept++;
    }
    qsort(list, kept, sizeof *list, compare_members);
    int32_t n_members = 0;
    for (size_t i = 0; i < kept; i++) {
        if (i > 0 && compare_members(&list[i - 1], &list[i]) == 0) continue;
        members[n_members++] = list[i].member;
        begin[list[i].domain + 1]++;
    }
    for (size_t d = 0; d < n_domains; d++) begin[d + 1] += begin[d];
    for (int32_t p = 0; p <= base->n_predicates; p++) stated[p][0] = stated[p][1] = -1;
    for (size_t i = 0; i < raw->argument_domains.n; i++) {
        const raw_signature *s = &raw->argument_domains.items[i];
        size_t length;
        const char *name = lud_proof_names_get(&raw->signatures, s->predicate, &length);
        int32_t found = lud_proof_names_find(&raw->predicates, name, length);
        if (found < 0) continue;
        stated[c->predicate[found]][0] = s->first;
        stated[c->predicate[found]][1] = s->last;
    }
    base->n_domains = (int32_t)n_domains;
    base->domains = names;
    base->domain_begin = begin;
    base->domain_members = members;
    base->domain_of = domain_of;
    base->argument_domain = (const int32_t *)stated;
}

static void build_scores(construction *c) {
    size_t n = c->raw->scores.n;
    if (n == 0) return;
    uint32_t size = table_size(n);
    lud_proof_atom *scored = take(c, c->arena, size, sizeof *scored);
    float *scores = take(c, c->arena, size, sizeof *scores);
    if (c->failed) return;
    for (size_t i = 0; i < n; i++) {
        lud_proof_atom atom = translate(c, &c->raw->scores.items[i].atom);
        uint32_t slot = (uint32_t)lud_proof_atom_hash(&atom) & (size - 1);
        while (scored[slot].predicate && !lud_proof_atom_equal(&scored[slot], &atom))
            slot = (slot + 1) & (size - 1);
        scored[slot] = atom;
        scores[slot] = c->raw->scores.items[i].score;
    }
    c->base->scored = scored;
    c->base->scores = scores;
    c->base->score_mask = size - 1;
}

lud_status lud_proof_build(const lud_proof_builder *builder, const lud_proof_build_options *options,
                           lud_proof_base **base, lud_error *error) {
    construction c = {.raw = builder, .arena = lud_arena_create(0), .scratch = lud_arena_create(0)};
    c.failed = !c.arena || !c.scratch;
    c.base = take(&c, c.arena, 1, sizeof *c.base);
    if (!c.failed) {
        c.base->arena = c.arena;
        name_everything(&c);
    }
    if (!c.failed) sort_facts(&c);
    if (!c.failed) index_facts(&c);
    if (!c.failed) cap_facts(&c, options);
    if (!c.failed) build_rules(&c);
    if (!c.failed) build_queries(&c);
    if (!c.failed) build_domains(&c);
    if (!c.failed) build_scores(&c);
    lud_arena_destroy(c.scratch);
    if (c.failed) {
        lud_arena_destroy(c.arena);
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory while building the knowledge base");
    }
    *base = c.base;
    return LUD_OK;
}

void lud_proof_base_destroy(lud_proof_base *base) {
    if (base) lud_arena_destroy(base->arena);
}
