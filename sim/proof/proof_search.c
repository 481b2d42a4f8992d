#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/proof/prover.h"

typedef struct node {
    size_t goals; /* first goal in the pool */
    int32_t n_goals;
    int32_t entry; /* what led here, coded as in a path */
    int64_t parent;
} node;

typedef struct search {
    const lud_proof_base *base;
    node *nodes;
    int64_t n, capacity;
    lud_proof_atom *pool;
    size_t pool_n, pool_capacity;
    int64_t *table; /* node + 1 */
    uint64_t mask;
} search;

/* Adds a state unless it was seen; false when memory is out. */
static bool add(search *s, const lud_proof_atom *goals, int32_t n_goals, uint64_t hash, int32_t entry,
                int64_t parent) {
    uint64_t i = hash & s->mask;
    for (; s->table[i]; i = (i + 1) & s->mask) {
        const node *other = &s->nodes[s->table[i] - 1];
        if (other->n_goals == n_goals &&
            !memcmp(&s->pool[other->goals], goals, (size_t)n_goals * sizeof *goals))
            return true;
    }
    if (s->n == s->capacity) {
        int64_t capacity = s->capacity * 2;
        node *nodes = realloc(s->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes) return false;
        s->nodes = nodes;
        s->capacity = capacity;
    }
    if (s->pool_n + (size_t)n_goals > s->pool_capacity) {
        size_t capacity = s->pool_capacity * 2;
        lud_proof_atom *pool = realloc(s->pool, capacity * sizeof *pool);
        if (!pool) return false;
        s->pool = pool;
        s->pool_capacity = capacity;
    }
    memcpy(&s->pool[s->pool_n], goals, (size_t)n_goals * sizeof *goals);
    s->nodes[s->n++] = (node){s->pool_n, n_goals, entry, parent};
    s->pool_n += (size_t)n_goals;
    s->table[i] = s->n;
    if ((uint64_t)s->n * 2 < s->mask) return true;
    uint64_t mask = s->mask * 2 + 1;
    int64_t *table = calloc(mask + 1, sizeof *table);
    if (!table) return false;
    for (int64_t k = 0; k < s->n; k++) {
        const node *one = &s->nodes[k];
        i = lud_proof_state_hash(&s->pool[one->goals], one->n_goals) & mask;
        while (table[i]) i = (i + 1) & mask;
        table[i] = k + 1;
    }
    free(s->table);
    s->table = table;
    s->mask = mask;
    return true;
}

static int32_t path_entry(lud_proof_step step) {
    return step.kind == LUD_PROOF_BY_RULE   ? 1 + step.index
           : step.kind == LUD_PROOF_BY_FACT ? -1 - step.index
                                            : 0;
}

/* The steps from the query to `last` and one more; false when memory is out. */
static bool write_path(const search *s, int64_t last, lud_proof_step step, lud_proof_search_result *result) {
    int32_t n = 1;
    for (int64_t k = last; k > 0; k = s->nodes[k].parent) n++;
    result->path = malloc((size_t)n * sizeof *result->path);
    if (!result->path) return false;
    result->n_path = n;
    result->path[--n] = path_entry(step);
    for (int64_t k = last; k > 0; k = s->nodes[k].parent) result->path[--n] = s->nodes[k].entry;
    return true;
}

lud_status lud_proof_search(const lud_proof_base *base, const lud_proof_atom *query,
                            const lud_proof_search_options *options, lud_proof_search_result *result,
                            lud_error *error) {
    assert(options->max_goals > 0 && options->max_goals <= LUD_PROOF_MAX_GOALS);
    *result = (lud_proof_search_result){.steps = -1};
    size_t room = (size_t)base->n_facts + (size_t)base->n_rules + 1;
    lud_proof_limits limits = {options->max_goals, (int32_t)room, false};
    lud_proof_successors out = {.begin = malloc((room + 1) * sizeof *out.begin),
                                .atoms = malloc(room * (size_t)options->max_goals * sizeof *out.atoms),
                                .hash = malloc(room * sizeof *out.hash),
                                .step = malloc(room * sizeof *out.step)};
    search s = {.base = base, .capacity = 64, .pool_capacity = 64 * LUD_PROOF_MAX_GOALS, .mask = 255};
    s.nodes = malloc((size_t)s.capacity * sizeof *s.nodes);
    s.pool = malloc(s.pool_capacity * sizeof *s.pool);
    s.table = calloc(s.mask + 1, sizeof *s.table);
    bool ok = out.begin && out.atoms && out.hash && out.step && s.nodes && s.pool && s.table;
    lud_proof_atom start = *query, goals[LUD_PROOF_MAX_GOALS];
    lud_proof_canonicalise(base, &start, 1);
    int32_t excluded = lud_proof_find_fact(base, &start, lud_proof_atom_hash(&start));
    lud_proof_cuts cuts = {0};
    ok = ok && add(&s, &start, 1, lud_proof_state_hash(&start, 1), 0, 0);
    int64_t at = 0;
    bool open = true;
    for (int32_t depth = 1; ok && open && depth <= options->max_depth && result->steps < 0; depth++) {
        int64_t end = s.n;
        for (; ok && at < end && result->steps < 0 && !result->limited; at++) {
            memcpy(goals, &s.pool[s.nodes[at].goals], (size_t)s.nodes[at].n_goals * sizeof *goals);
            out.n = 0;
            out.begin[0] = 0;
            lud_proof_expand(base, &limits, goals, s.nodes[at].n_goals, excluded, NULL, 0, &out, &cuts);
            if (out.atoms[0].predicate == lud_proof_true(base)) {
                result->steps = depth;
                ok = write_path(&s, at, out.step[0], result);
                break;
            }
            /* states of the last level are never expanded, so they need not be kept */
            bool keep = depth < options->max_depth && out.atoms[0].predicate <= base->n_predicates;
            for (int32_t i = 0; ok && keep && i < out.n; i++)
                ok = add(&s, &out.atoms[out.begin[i]], out.begin[i + 1] - out.begin[i], out.hash[i],
                         path_entry(out.step[i]), at);
            result->limited = options->max_states > 0 && s.n > options->max_states;
        }
        open = !result->limited && (depth < options->max_depth ? s.n > end : false);
        result->exhausted = depth < options->max_depth && s.n == end && result->steps < 0 && !result->limited;
    }
    result->n_states = s.n;
    LUD_FREE(out.begin, out.atoms, out.hash, out.step, s.nodes, s.pool, s.table);
    return ok ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory after %lld states", (long long)s.n);
}

void lud_proof_search_result_free(lud_proof_search_result *result) {
    free(result->path);
    *result = (lud_proof_search_result){0};
}
