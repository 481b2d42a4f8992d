#include "sim/proof/fixpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "sim/proof/knowledge/relation_rules.h"

/* Square matrices of bits: row x holds the second arguments that stand in the relation to x. */
typedef uint64_t word;

struct lud_fixpoint {
    lud_relation_rules rules;
    int32_t n, n_words; /* constants; words of a row */
    word **rows;        /* [rules.n_relations] matrices [n][n_words] */
    int64_t *changed;   /* [rules.n_relations] when the relation last grew */
    int64_t *updated;   /* [rules.n_relations] when it was last brought up to date */
    int64_t now;
    word *next, *graph, *closure; /* matrices */
    word *row, *row_next, *mask;  /* rows; `mask` is over components */
    int32_t *component, *representative;
    int32_t *index, *low, *stack, *path, *at; /* of the search for components */
    word *unseen, *stacked;                   /* rows */
    int32_t *same, *table;                    /* rows that are equal to an earlier one */
    uint32_t table_mask;
};

static word *row_of(const lud_fixpoint *f, word *matrix, int32_t x) {
    return matrix + (size_t)x * (size_t)f->n_words;
}
static bool has(const word *row, int32_t x) {
    return row[x >> 6] >> (x & 63) & 1;
}
static void set(word *row, int32_t x) {
    row[x >> 6] |= UINT64_C(1) << (x & 63);
}
static void unset(word *row, int32_t x) {
    row[x >> 6] &= ~(UINT64_C(1) << (x & 63));
}
static void join(word *restrict to, const word *restrict from, size_t n_words) {
    for (size_t i = 0; i < n_words; i++) to[i] |= from[i];
}

#define FOR_EACH(x, row)                                                                                     \
    for (int32_t w_ = 0; w_ < f->n_words; w_++)                                                              \
        for (word bits_ = (row)[w_]; bits_; bits_ &= bits_ - 1)                                              \
            for (int32_t x = w_ * 64 + __builtin_ctzll(bits_), once_ = 1; once_; once_ = 0)

static size_t matrix_words(const lud_fixpoint *f) {
    return (size_t)f->n * (size_t)f->n_words;
}

/* ---- closures ---- */

/* Sets the bit of every component that has a member in the row. */
static void mark_components(lud_fixpoint *f, const word *row) {
    FOR_EACH(x, row) set(f->mask, f->component[x]);
}

/* Joins what the marked components reach, those in front first: what they reach need not be joined again.
 * With `values`, rows of these go with it to `value`. Marks are gone afterwards. */
static void join_marked(lud_fixpoint *f, word *reached, word *values, word *value) {
    for (int32_t w = f->n_words; w-- > 0;) {
        while (f->mask[w]) {
            const int32_t c = w * 64 + 63 - __builtin_clzll(f->mask[w]), first = f->representative[c];
            unset(f->mask, c);
            if (has(reached, first)) continue;
            join(reached, row_of(f, f->closure, first), (size_t)f->n_words);
            if (values) join(value, row_of(f, values, first), (size_t)f->n_words);
        }
    }
}

/* A component is complete: the members on the stack from `bottom` on. Those that it reaches have lower
 * numbers. */
static void close_component(lud_fixpoint *f, int32_t c, int32_t bottom, int32_t top, word *values) {
    const size_t bytes = (size_t)f->n_words * sizeof(word);
    memset(f->row, 0, bytes);
    for (int32_t i = bottom; i < top; i++) {
        unset(f->stacked, f->stack[i]);
        f->component[f->stack[i]] = c;
        join(f->row, row_of(f, f->graph, f->stack[i]), (size_t)f->n_words);
    }
    const int32_t first = f->representative[c] = f->stack[bottom];
    word *reached = row_of(f, f->closure, first);
    mark_components(f, f->row);
    unset(f->mask, c);
    memset(reached, 0, bytes);
    memset(f->row_next, 0, bytes);
    for (int32_t i = bottom; i < top; i++) {
        set(reached, f->stack[i]);
        if (values) join(f->row_next, row_of(f, values, f->stack[i]), (size_t)f->n_words);
    }
    join_marked(f, reached, values, f->row_next);
    for (int32_t i = bottom; values && i < top; i++)
        memcpy(row_of(f, values, f->stack[i]), f->row_next, bytes);
}

/* The reflexive and transitive closure of `graph`: components, and in `closure` the row of each one's
 * representative. With `values`, each row of these is joined with those of all that its number reaches. */
static void close_graph(lud_fixpoint *f, word *values) {
    int32_t n_indices = 0, n_components = 0, n_stack = 0;
    memset(f->unseen, 0, (size_t)f->n_words * sizeof(word));
    memset(f->stacked, 0, (size_t)f->n_words * sizeof(word));
    for (int32_t x = 0; x < f->n; x++) set(f->unseen, x);
    for (int32_t root = 0; root < f->n; root++) {
        if (!has(f->unseen, root)) continue;
        int32_t depth = 0;
        f->path[0] = root;
        f->at[0] = -1;
        while (depth >= 0) {
            const int32_t x = f->path[depth];
            const word *row = row_of(f, f->graph, x);
            if (f->at[depth] < 0) { /* met for the first time */
                f->index[x] = f->low[x] = n_indices++;
                f->stack[n_stack++] = x;
                unset(f->unseen, x);
                FOR_EACH(y, row) if (has(f->stacked, y) && f->index[y] < f->low[x]) f->low[x] = f->index[y];
                set(f->stacked, x);
                f->at[depth] = 0;
            }
            int32_t next = -1;
            for (int32_t w = f->at[depth]; w < f->n_words && next < 0; w++) {
                f->at[depth] = w;
                const word open = row[w] & f->unseen[w];
                if (open) next = w * 64 + __builtin_ctzll(open);
            }
            if (next >= 0) {
                f->path[++depth] = next;
                f->at[depth] = -1;
                continue;
            }
            if (f->low[x] == f->index[x]) {
                int32_t bottom = n_stack;
                while (f->stack[--bottom] != x) continue;
                close_component(f, n_components++, bottom, n_stack, values);
                n_stack = bottom;
            }
            if (depth-- > 0 && has(f->stacked, x) && f->low[x] < f->low[f->path[depth]])
                f->low[f->path[depth]] = f->low[x];
        }
    }
}

/* ---- operations ---- */

static uint64_t hash_row(const lud_fixpoint *f, const word *row) {
    uint64_t h = 0;
    for (int32_t w = 0; w < f->n_words; w++) {
        h = (h ^ row[w]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

/* For every row the number of the first one that is equal. */
static void find_equal_rows(lud_fixpoint *f, word *matrix) {
    memset(f->table, 0, ((size_t)f->table_mask + 1) * sizeof *f->table);
    for (int32_t x = 0; x < f->n; x++) {
        const word *row = row_of(f, matrix, x);
        uint32_t i = (uint32_t)hash_row(f, row) & f->table_mask;
        while (f->table[i] &&
               memcmp(row_of(f, matrix, f->table[i] - 1), row, (size_t)f->n_words * sizeof(word)) != 0)
            i = (i + 1) & f->table_mask;
        if (!f->table[i]) f->table[i] = x + 1;
        f->same[x] = f->table[i] - 1;
    }
}

/* next |= p q. Different rows of p are taken once, and for each of them different rows of q. */
static void add_composition(lud_fixpoint *f, word *p, word *q) {
    find_equal_rows(f, q);
    memcpy(f->index, f->same, (size_t)f->n * sizeof *f->index); /* the other use of `same` is below */
    find_equal_rows(f, p);
    memset(f->low, 0xff, (size_t)f->n * sizeof *f->low);
    word *products = f->closure;
    for (int32_t x = 0; x < f->n; x++) {
        word *product = row_of(f, products, f->same[x]);
        if (f->same[x] == x) {
            memset(product, 0, (size_t)f->n_words * sizeof(word));
            const word *row = row_of(f, p, x);
            FOR_EACH(y, row) {
                const int32_t z = f->index[y];
                if (f->low[z] == x) continue;
                f->low[z] = x;
                join(product, row_of(f, q, z), (size_t)f->n_words);
            }
        }
        join(row_of(f, f->next, x), product, (size_t)f->n_words);
    }
}

static void transpose_block(word block[64]) {
    word mask = UINT64_C(0x00000000ffffffff);
    for (int width = 32; width; width >>= 1, mask ^= mask << width)
        for (int i = 0; i < 64; i = ((i | width) + 1) & ~width) {
            const word swap = (block[i] >> width ^ block[i | width]) & mask;
            block[i] ^= swap << width;
            block[i | width] ^= swap;
        }
}

/* next |= p transposed, by blocks of 64 x 64 bits. */
static void add_inverse(lud_fixpoint *f, word *p) {
    for (int32_t from = 0; from < f->n; from += 64)
        for (int32_t w = 0; w < f->n_words; w++) {
            word block[64], any = 0;
            for (int32_t i = 0; i < 64; i++)
                any |= block[i] = from + i < f->n ? row_of(f, p, from + i)[w] : 0;
            if (!any) continue;
            transpose_block(block);
            for (int32_t i = 0; i < 64 && w * 64 + i < f->n; i++)
                row_of(f, f->next, w * 64 + i)[from / 64] |= block[i];
        }
}

/* next |= (x,x) for those x that have any, or themselves, in their row. */
static void add_condition(lud_fixpoint *f, word *p, bool loops) {
    for (int32_t x = 0; x < f->n; x++) {
        const word *row = row_of(f, p, x);
        bool any = loops && has(row, x);
        for (int32_t w = 0; !loops && w < f->n_words && !any; w++) any = row[w] != 0;
        if (any) set(row_of(f, f->next, x), x);
    }
}

static void add_rule(lud_fixpoint *f, const lud_relation_rule *rule) {
    word *p = f->rows[rule->p], *q = f->rows[rule->q];
    switch (rule->kind) {
    case LUD_RELATION_COPY:
        join(f->next, p, matrix_words(f));
        break;
    case LUD_RELATION_MEET:
        for (size_t i = 0; i < matrix_words(f); i++) f->next[i] |= p[i] & q[i];
        break;
    case LUD_RELATION_INVERSE:
        add_inverse(f, p);
        break;
    case LUD_RELATION_DOMAIN:
    case LUD_RELATION_LOOPS:
        add_condition(f, p, rule->kind == LUD_RELATION_LOOPS);
        break;
    default:
        add_composition(f, p, q);
    }
}

/* next = next Q*, Q the graph. */
static void close_right(lud_fixpoint *f) {
    close_graph(f, NULL);
    find_equal_rows(f, f->next);
    for (int32_t x = 0; x < f->n; x++) {
        if (f->same[x] != x) continue;
        word *row = row_of(f, f->next, x);
        mark_components(f, row);
        /* members of a component are only reached together with its representative */
        memset(f->row, 0, (size_t)f->n_words * sizeof(word));
        join_marked(f, f->row, NULL, NULL);
        memcpy(row, f->row, (size_t)f->n_words * sizeof(word));
    }
    for (int32_t x = 0; x < f->n; x++)
        if (f->same[x] != x)
            memcpy(row_of(f, f->next, x), row_of(f, f->next, f->same[x]), (size_t)f->n_words * sizeof(word));
}

/* Whether something that the rule reads has grown since the relation was last brought up to date. */
static bool is_due(const lud_fixpoint *f, int32_t r, const lud_relation_rule *rule) {
    return f->changed[rule->p] > f->updated[r] || f->changed[rule->q] > f->updated[r];
}

/* Brings a relation up to date with what it reads; true when it grew. */
static bool update(lud_fixpoint *f, int32_t r) {
    const lud_relation_rule *rules = f->rules.rules + f->rules.rule_begin[r];
    const int32_t n_rules = f->rules.rule_begin[r + 1] - f->rules.rule_begin[r];
    const size_t words = matrix_words(f);
    bool due = false, after = false, before = false;
    for (int32_t i = 0; i < n_rules; i++) due = due || is_due(f, r, &rules[i]);
    if (!due) return false;
    const int64_t start = ++f->now;
    memcpy(f->next, f->rows[r], words * sizeof(word));
    for (int32_t i = 0; i < n_rules; i++) {
        const bool composes = rules[i].kind == LUD_RELATION_COMPOSE;
        after = after || (composes && rules[i].p == r);
        before = before || (composes && rules[i].p != r && rules[i].q == r);
        if ((!composes || (rules[i].p != r && rules[i].q != r)) && is_due(f, r, &rules[i]))
            add_rule(f, &rules[i]);
    }
    if (after) {
        memset(f->graph, 0, words * sizeof(word));
        for (int32_t i = 0; i < n_rules; i++)
            if (rules[i].kind == LUD_RELATION_COMPOSE && rules[i].p == r)
                join(f->graph, rules[i].q == r ? f->next : f->rows[rules[i].q], words);
        close_right(f);
    }
    if (before) {
        memset(f->graph, 0, words * sizeof(word));
        for (int32_t i = 0; i < n_rules; i++)
            if (rules[i].kind == LUD_RELATION_COMPOSE && rules[i].p != r && rules[i].q == r)
                join(f->graph, f->rows[rules[i].p], words);
        close_graph(f, f->next);
    }
    f->updated[r] = start;
    if (memcmp(f->next, f->rows[r], words * sizeof(word)) == 0) return false;
    memcpy(f->rows[r], f->next, words * sizeof(word));
    f->changed[r] = ++f->now;
    return true;
}

/* ---- the whole ---- */

static lud_status take_memory(lud_fixpoint *f, const lud_proof_base *base, size_t max_bytes,
                              lud_error *error) {
    const int32_t n_relations = f->rules.n_relations;
    f->n = base->n_constants;
    f->n_words = (f->n + 63) / 64;
    uint32_t size = 16;
    while (size < 2 * (uint64_t)f->n) size *= 2;
    f->table_mask = size - 1;
    const size_t n = (size_t)f->n + 1, row_bytes = (size_t)f->n_words * sizeof(word) + sizeof(word);
    const double bytes = ((double)n_relations + 3) * (double)f->n * (double)row_bytes;
    char needed[16], most[16];
    if (bytes > (double)max_bytes)
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "the fixpoint of %d relations among %d constants needs %s of memory, %s are allowed",
                        n_relations, f->n, lud_format_memory(bytes, needed),
                        lud_format_memory((double)max_bytes, most));
    const size_t matrix_bytes = (size_t)f->n * row_bytes;
    f->rows = calloc((size_t)n_relations + 1, sizeof *f->rows);
    f->changed = calloc((size_t)n_relations + 1, sizeof *f->changed);
    f->updated = calloc((size_t)n_relations + 1, sizeof *f->updated);
    f->next = calloc(1, matrix_bytes);
    f->graph = calloc(1, matrix_bytes);
    f->closure = calloc(1, matrix_bytes);
    word **rows[] = {&f->row, &f->row_next, &f->mask, &f->unseen, &f->stacked};
    int32_t **numbers[] = {&f->component, &f->representative, &f->index, &f->low,
                           &f->stack,     &f->path,           &f->at,    &f->same};
    bool complete = f->rows && f->changed && f->updated && f->next && f->graph && f->closure;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        complete = (*rows[i] = calloc(1, row_bytes)) != NULL && complete;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        complete = (*numbers[i] = calloc(n, sizeof **numbers[i])) != NULL && complete;
    f->table = calloc(size, sizeof *f->table);
    for (int32_t r = 0; complete && f->table && r < n_relations; r++)
        complete = (f->rows[r] = calloc(1, matrix_bytes)) != NULL;
    return complete && f->table ? LUD_OK : lud_no_memory(error, "a fixpoint");
}

lud_status lud_fixpoint_compute(const lud_proof_base *base, size_t max_bytes, lud_fixpoint **fixpoint,
                                lud_error *error) {
    *fixpoint = NULL;
    lud_fixpoint *f = calloc(1, sizeof *f);
    if (!f) return lud_no_memory(error, "a fixpoint");
    lud_status status = lud_relation_rules_create(base, &f->rules, error);
    if (!status) status = take_memory(f, base, max_bytes, error);
    if (status) {
        lud_fixpoint_destroy(f);
        return status;
    }
    f->now = 1;
    for (int32_t i = 0; i < base->n_facts; i++) {
        const lud_proof_atom *fact = &base->facts[i];
        set(row_of(f, f->rows[fact->predicate], fact->terms[0] - 1), fact->terms[1] - 1);
        f->changed[fact->predicate] = f->now;
    }
    for (int32_t c = 0; c < f->rules.n_components; c++) {
        bool grew = true;
        while (grew) {
            grew = false;
            for (int32_t i = f->rules.component_begin[c]; i < f->rules.component_begin[c + 1]; i++)
                grew = update(f, f->rules.order[i]) || grew;
        }
    }
    *fixpoint = f;
    return LUD_OK;
}

void lud_fixpoint_destroy(lud_fixpoint *f) {
    if (!f) return;
    for (int32_t r = 0; f->rows && r < f->rules.n_relations; r++) free(f->rows[r]);
    LUD_FREE(f->rows, f->changed, f->updated, f->next, f->graph, f->closure, f->row, f->row_next, f->mask,
             f->unseen, f->stacked, f->component, f->representative, f->index, f->low, f->stack, f->path,
             f->at, f->same, f->table);
    lud_relation_rules_free(&f->rules);
    free(f);
}

bool lud_fixpoint_holds(const lud_fixpoint *f, const lud_proof_atom *atom) {
    return has(row_of(f, f->rows[atom->predicate], atom->terms[0] - 1), atom->terms[1] - 1);
}

int64_t lud_fixpoint_count(const lud_fixpoint *f, int32_t predicate) {
    int64_t n = 0;
    for (size_t i = 0; i < matrix_words(f); i++) n += __builtin_popcountll(f->rows[predicate][i]);
    return n;
}
