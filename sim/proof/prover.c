#include "sim/proof/prover.h"

#include <stdlib.h>

#include "sim/proof/knowledge/atom_table.h"
#include "sim/proof/knowledge/proof_index.h"

/* A growing list of numbers. */
typedef struct list {
    int32_t *items;
    int32_t n, capacity;
} list;

/* A derived atom with its justification: children[first_child ...] of its rule's body, a fact f as -1 - f, a
 * derived atom by its number, which is smaller than its own, so no proof rests on itself. */
typedef struct derived {
    lud_proof_atom atom;
    int32_t rule;
    size_t first_child;
} derived;

/* A subgoal: an atom whose free arguments are 0. */
typedef struct subgoal {
    lud_proof_atom pattern;
    list dependents; /* subgoals whose evaluation has read this one's answers */
    bool queued;
} subgoal;

/* Open addressing from 64-bit keys to numbers. */
typedef struct map {
    uint64_t *keys;
    int32_t *values; /* value + 1, 0 empty */
    uint32_t mask, n;
} map;

struct lud_prover {
    const lud_proof_base *base;
    lud_prover_options options;
    derived *atoms;
    int32_t n_atoms, atom_capacity;
    int32_t *atom_table; /* number + 1 */
    uint32_t atom_mask;
    int32_t *children;
    size_t n_children, children_capacity;
    subgoal *subgoals;
    int32_t n_subgoals, subgoal_capacity;
    int32_t *subgoal_table;
    uint32_t subgoal_mask;
    map lists_of; /* bucket key (position 0, constant 0 for all of a predicate) -> list of derived atoms */
    list *lists;
    int32_t n_lists, list_capacity;
    map edges;      /* (subgoal, dependent) pairs known */
    int32_t *queue; /* ring of subgoals to evaluate */
    int32_t queue_begin, queue_n, queue_capacity;
    int64_t work;
    bool stopped; /* a limit was met in this question */
    bool failed;  /* memory ran out: the prover is of no more use */
};

/* ---- Containers ---- */

static bool grow(void **items, int64_t *capacity, int64_t need, size_t size) {
    if (need <= *capacity) return true;
    int64_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < need) wanted = need;
    void *grown = realloc(*items, (size_t)wanted * size);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

#define GROW(p, items, capacity, need)                                                                       \
    do {                                                                                                     \
        int64_t wanted_ = (int64_t)(capacity);                                                               \
        void *grown_ = (items);                                                                              \
        if (!grow(&grown_, &wanted_, (int64_t)(need), sizeof *(items))) (p)->failed = true;                  \
        (items) = grown_;                                                                                    \
        (capacity) = (__typeof__(capacity))wanted_;                                                          \
    } while (0)

static void append(lud_prover *p, list *l, int32_t value) {
    GROW(p, l->items, l->capacity, l->n + 1);
    if (!p->failed) l->items[l->n++] = value;
}

static uint32_t map_slot(const map *m, uint64_t key) {
    uint32_t i = lud_proof_bucket_slot(key) & m->mask;
    while (m->values[i] && m->keys[i] != key) i = (i + 1) & m->mask;
    return i;
}

static bool map_grow(map *m) {
    if (m->values && m->n * 2 < m->mask) return true;
    map wider = {.mask = m->values ? m->mask * 2 + 1 : 63};
    wider.keys = calloc((size_t)wider.mask + 1, sizeof *wider.keys);
    wider.values = calloc((size_t)wider.mask + 1, sizeof *wider.values);
    if (!wider.keys || !wider.values) {
        free(wider.keys);
        free(wider.values);
        return false;
    }
    for (uint32_t i = 0; m->values && i <= m->mask; i++) {
        if (!m->values[i]) continue;
        uint32_t to = map_slot(&wider, m->keys[i]);
        wider.keys[to] = m->keys[i];
        wider.values[to] = m->values[i];
    }
    wider.n = m->n;
    free(m->keys);
    free(m->values);
    *m = wider;
    return true;
}

/* The value of a key, or `value` after adding it. */
static int32_t map_add(lud_prover *p, map *m, uint64_t key, int32_t value) {
    if (!map_grow(m)) {
        p->failed = true;
        return value;
    }
    uint32_t i = map_slot(m, key);
    if (!m->values[i]) {
        m->keys[i] = key;
        m->values[i] = value + 1;
        m->n++;
    }
    return m->values[i] - 1;
}

static int32_t map_find(const map *m, uint64_t key) {
    return m->values ? m->values[map_slot(m, key)] - 1 : -1;
}

static int32_t find_derived(const lud_prover *p, const lud_proof_atom *atom) {
    return p->atom_table[lud_proof_atom_table_slot(p->atom_table, p->atom_mask, p->atoms, sizeof *p->atoms,
                                                   atom)] -
           1;
}

static int32_t find_fact(const lud_prover *p, const lud_proof_atom *atom) {
    int32_t fact = lud_proof_find_fact(p->base, atom, lud_proof_atom_hash(atom));
    return fact == p->options.excluded ? -1 : fact;
}

/* ---- Subgoals ---- */

static void enqueue(lud_prover *p, int32_t s) {
    if (p->subgoals[s].queued) return;
    if (p->queue_n == p->queue_capacity) {
        int32_t capacity = p->queue_capacity ? p->queue_capacity * 2 : 64;
        int32_t *ring = malloc((size_t)capacity * sizeof *ring);
        if (!ring) {
            p->failed = true;
            return;
        }
        for (int32_t i = 0; i < p->queue_n; i++) ring[i] = p->queue[(p->queue_begin + i) % p->queue_capacity];
        free(p->queue);
        p->queue = ring;
        p->queue_begin = 0;
        p->queue_capacity = capacity;
    }
    p->queue[(p->queue_begin + p->queue_n++) % p->queue_capacity] = s;
    p->subgoals[s].queued = true;
}

static bool heads_a_rule(const lud_prover *p, int32_t predicate) {
    return p->base->rule_begin[predicate] < p->base->rule_begin[predicate + 1];
}

static int32_t find_subgoal(const lud_prover *p, const lud_proof_atom *pattern) {
    return p->subgoal_table[lud_proof_atom_table_slot(p->subgoal_table, p->subgoal_mask, p->subgoals,
                                                      sizeof *p->subgoals, pattern)] -
           1;
}

/* The subgoal that covers an atom with free arguments 0. Where everything is fixed the last argument is set
 * free, so that questions about one constant share a table. */
static int32_t demand(lud_prover *p, const lud_proof_atom *atom) {
    lud_proof_atom pattern = *atom;
    int arity = p->base->arity[atom->predicate];
    bool fixed = arity > 1;
    for (int i = 0; i < arity; i++) fixed = fixed && pattern.terms[i];
    if (fixed) pattern.terms[arity - 1] = 0;
    int32_t s = find_subgoal(p, &pattern);
    if (s >= 0) return s;
    GROW(p, p->subgoals, p->subgoal_capacity, p->n_subgoals + 1);
    if (p->failed) return -1;
    s = p->n_subgoals++;
    p->subgoals[s] = (subgoal){.pattern = pattern};
    uint32_t i = (uint32_t)lud_proof_atom_hash(&pattern) & p->subgoal_mask;
    while (p->subgoal_table[i]) i = (i + 1) & p->subgoal_mask;
    p->subgoal_table[i] = s + 1;
    if (!lud_proof_atom_table_grow(&p->subgoal_table, &p->subgoal_mask, p->subgoals, sizeof *p->subgoals,
                                   p->n_subgoals))
        p->failed = true;
    enqueue(p, s);
    return s;
}

/* ---- Derived atoms ---- */

static void add_to_list(lud_prover *p, uint64_t key, int32_t atom) {
    int32_t l = map_add(p, &p->lists_of, key, p->n_lists);
    if (l == p->n_lists && !p->failed) {
        GROW(p, p->lists, p->list_capacity, p->n_lists + 1);
        if (p->failed) return;
        p->lists[p->n_lists++] = (list){0};
    }
    if (!p->failed) append(p, &p->lists[l], atom);
}

/* Everyone who has read a subgoal that the atom answers is to be evaluated again. */
static void wake_dependents(lud_prover *p, const lud_proof_atom *atom) {
    int arity = p->base->arity[atom->predicate];
    for (unsigned fixed = 0; fixed < 1u << arity; fixed++) {
        lud_proof_atom pattern = {.predicate = atom->predicate};
        for (int i = 0; i < arity; i++)
            if (fixed >> i & 1) pattern.terms[i] = atom->terms[i];
        int32_t s = find_subgoal(p, &pattern);
        if (s < 0) continue;
        for (int32_t i = 0; i < p->subgoals[s].dependents.n; i++)
            enqueue(p, p->subgoals[s].dependents.items[i]);
    }
}

static void add_derived(lud_prover *p, const lud_proof_atom *atom, int32_t rule, const int32_t *used) {
    if (find_fact(p, atom) >= 0 || find_derived(p, atom) >= 0) return;
    if ((p->options.max_atoms > 0 && p->n_atoms >= p->options.max_atoms) || p->n_atoms == INT32_MAX / 2) {
        p->stopped = true;
        return;
    }
    int32_t n_body = p->base->rules[rule].n_body, number = p->n_atoms;
    GROW(p, p->atoms, p->atom_capacity, number + 1);
    GROW(p, p->children, p->children_capacity, p->n_children + (size_t)n_body);
    if (p->failed) return;
    p->atoms[p->n_atoms++] = (derived){*atom, rule, p->n_children};
    for (int32_t i = 0; i < n_body; i++) p->children[p->n_children++] = used[i];
    uint32_t slot = (uint32_t)lud_proof_atom_hash(atom) & p->atom_mask;
    while (p->atom_table[slot]) slot = (slot + 1) & p->atom_mask;
    p->atom_table[slot] = number + 1;
    if (!lud_proof_atom_table_grow(&p->atom_table, &p->atom_mask, p->atoms, sizeof *p->atoms, p->n_atoms))
        p->failed = true;
    add_to_list(p, lud_proof_bucket_key(atom->predicate, 0, 0), number);
    for (int i = 0; i < p->base->arity[atom->predicate]; i++)
        add_to_list(p, lud_proof_bucket_key(atom->predicate, i, atom->terms[i]), number);
    if (!p->failed) wake_dependents(p, atom);
}

/* ---- Evaluation ---- */

/* One rule under evaluation: values of its variables (0: free) and what its body atoms were matched with. */
typedef struct evaluation {
    int32_t reader; /* the subgoal being evaluated */
    int32_t rule;
    uint32_t open; /* body atoms not matched yet */
    int32_t value[LUD_PROOF_MAX_VARIABLES];
    int32_t used[LUD_PROOF_MAX_BODY];
} evaluation;

static int32_t value_of(const evaluation *e, int32_t term) {
    return term < 0 ? e->value[-1 - term] : term;
}

static lud_proof_atom instance(const evaluation *e, const lud_proof_atom *pattern) {
    lud_proof_atom atom = {.predicate = pattern->predicate};
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) atom.terms[i] = value_of(e, pattern->terms[i]);
    return atom;
}

/* Matches a rule's atom with a ground one, binding variables; `bound` lists those bound here. */
static bool match(evaluation *e, const lud_proof_atom *pattern, const lud_proof_atom *ground, int *bound,
                  int *n_bound) {
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
        int32_t term = pattern->terms[i];
        if (term < 0 && e->value[-1 - term] == 0) {
            e->value[-1 - term] = ground->terms[i];
            bound[(*n_bound)++] = -1 - term;
        } else if (value_of(e, term) != ground->terms[i]) {
            return false;
        }
    }
    return true;
}

static void unbind(evaluation *e, const int *bound, int n_bound) {
    for (int i = 0; i < n_bound; i++) e->value[bound[i]] = 0;
}

/* The body is matched: the head follows, for every constant where a variable of it is still free. */
static void conclude(lud_prover *p, evaluation *e) {
    const lud_proof_rule *rule = &p->base->rules[e->rule];
    for (int i = 0; i < p->base->arity[rule->head.predicate]; i++) {
        int32_t term = rule->head.terms[i];
        if (term >= 0 || e->value[-1 - term]) continue;
        for (int32_t c = 1; c <= p->base->n_constants && !p->failed && !p->stopped; c++) {
            e->value[-1 - term] = c;
            conclude(p, e);
        }
        e->value[-1 - term] = 0;
        return;
    }
    lud_proof_atom head = instance(e, &rule->head);
    add_derived(p, &head, e->rule, e->used);
}

/* The open body atom with the fewest free arguments. */
static int32_t choose_atom(const lud_prover *p, const evaluation *e) {
    const lud_proof_rule *rule = &p->base->rules[e->rule];
    int32_t best = -1;
    int fewest = LUD_PROOF_MAX_ARITY + 1;
    for (int32_t b = 0; b < rule->n_body; b++) {
        if (!(e->open >> b & 1)) continue;
        int n_free = 0;
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
            n_free += rule->body[b].terms[i] < 0 && !value_of(e, rule->body[b].terms[i]);
        if (n_free < fewest) {
            fewest = n_free;
            best = b;
        }
    }
    return best;
}

static void solve(lud_prover *p, evaluation *e);

static void try_match(lud_prover *p, evaluation *e, int32_t b, const lud_proof_atom *ground, int32_t used) {
    int bound[LUD_PROOF_MAX_ARITY], n_bound = 0;
    if (p->options.max_work > 0 && ++p->work > p->options.max_work) p->stopped = true;
    if (match(e, &p->base->rules[e->rule].body[b], ground, bound, &n_bound)) {
        e->used[b] = used;
        solve(p, e);
    }
    unbind(e, bound, n_bound);
}

/* Matches the remaining body atoms with facts and derived atoms in every way. */
static void solve(lud_prover *p, evaluation *e) {
    if (p->failed || p->stopped) return;
    if (!e->open) {
        conclude(p, e);
        return;
    }
    const lud_proof_base *base = p->base;
    int32_t b = choose_atom(p, e);
    lud_proof_atom goal = instance(e, &base->rules[e->rule].body[b]);
    int arity = base->arity[goal.predicate];
    e->open &= ~(UINT32_C(1) << b);

    bool ground = true;
    lud_proof_range facts = {NULL, base->fact_begin[goal.predicate], base->fact_begin[goal.predicate + 1]};
    int32_t answers = map_find(&p->lists_of, lud_proof_bucket_key(goal.predicate, 0, 0));
    for (int i = 0; i < arity; i++) {
        ground = ground && goal.terms[i];
        if (!goal.terms[i]) continue;
        lud_proof_range range = lud_proof_bucket_find(base, goal.predicate, i, goal.terms[i]);
        if (range.end - range.begin < facts.end - facts.begin) facts = range;
        int32_t l = map_find(&p->lists_of, lud_proof_bucket_key(goal.predicate, i, goal.terms[i]));
        if (l < 0 || (answers >= 0 && p->lists[l].n < p->lists[answers].n)) answers = l;
    }
    if (heads_a_rule(p, goal.predicate)) {
        int32_t s = demand(p, &goal);
        if (p->failed) return;
        uint64_t edge = (uint64_t)(uint32_t)s << 32 | (uint32_t)e->reader;
        uint32_t before = p->edges.n;
        map_add(p, &p->edges, edge, 0);
        if (p->edges.n != before) append(p, &p->subgoals[s].dependents, e->reader);
    }
    if (ground) {
        int32_t fact = find_fact(p, &goal), known = fact >= 0 ? -1 : find_derived(p, &goal);
        if (fact >= 0 || known >= 0) try_match(p, e, b, &goal, fact >= 0 ? -1 - fact : known);
    } else {
        for (int32_t k = facts.begin; k < facts.end && !p->stopped && !p->failed; k++) {
            int32_t fact = facts.order ? facts.order[k] : k;
            if (fact != p->options.excluded) try_match(p, e, b, &base->facts[fact], -1 - fact);
        }
        /* new answers may join the list meanwhile; they wake this subgoal again: those of now are enough */
        int32_t n = answers >= 0 ? p->lists[answers].n : 0;
        for (int32_t k = 0; k < n && !p->stopped && !p->failed; k++) {
            int32_t known = p->lists[answers].items[k];
            lud_proof_atom atom = p->atoms[known].atom; /* a copy: the array may move */
            try_match(p, e, b, &atom, known);
        }
    }
    e->open |= UINT32_C(1) << b;
}

static void evaluate(lud_prover *p, int32_t s) {
    lud_proof_atom pattern = p->subgoals[s].pattern;
    for (int32_t r = p->base->rule_begin[pattern.predicate]; r < p->base->rule_begin[pattern.predicate + 1];
         r++) {
        const lud_proof_rule *rule = &p->base->rules[r];
        evaluation e = {.reader = s, .rule = r, .open = (uint32_t)((UINT64_C(1) << rule->n_body) - 1)};
        bool agrees = true;
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
            int32_t term = rule->head.terms[i], fixed = pattern.terms[i];
            if (fixed == 0) continue;
            if (term < 0 && e.value[-1 - term] == 0) e.value[-1 - term] = fixed;
            agrees = agrees && value_of(&e, term) == fixed;
        }
        if (agrees) solve(p, &e);
    }
}

/* ---- Questions ---- */

lud_status lud_prover_create(const lud_proof_base *base, const lud_prover_options *options,
                             lud_prover **prover, lud_error *error) {
    lud_prover *p = calloc(1, sizeof *p);
    if (p) {
        p->base = base;
        p->options = options ? *options : (lud_prover_options){.excluded = -1};
        if (!lud_proof_atom_table_grow(&p->atom_table, &p->atom_mask, NULL, sizeof(derived), 0) ||
            !lud_proof_atom_table_grow(&p->subgoal_table, &p->subgoal_mask, NULL, sizeof(subgoal), 0)) {
            lud_prover_destroy(p);
            p = NULL;
        }
    }
    if (!p) return lud_no_memory(error, "the prover");
    *prover = p;
    return LUD_OK;
}

void lud_prover_destroy(lud_prover *prover) {
    if (!prover) return;
    for (int32_t i = 0; i < prover->n_subgoals; i++) free(prover->subgoals[i].dependents.items);
    for (int32_t i = 0; i < prover->n_lists; i++) free(prover->lists[i].items);
    LUD_FREE(prover->atoms, prover->atom_table, prover->children, prover->subgoals, prover->subgoal_table,
             prover->lists_of.keys, prover->lists_of.values, prover->lists, prover->edges.keys,
             prover->edges.values, prover->queue, prover);
}

/* The goal with its variables as 0, and for each argument the first one that holds the same variable. */
typedef struct question {
    lud_proof_atom pattern;
    int same_as[LUD_PROOF_MAX_ARITY];
} question;

static question make_question(const lud_prover *p, const lud_proof_atom *goal) {
    question q = {.pattern = *goal};
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
        q.same_as[i] = i;
        if (goal->terms[i] <= p->base->n_constants) continue;
        q.pattern.terms[i] = 0;
        for (int j = i; j-- > 0;)
            if (goal->terms[j] == goal->terms[i]) q.same_as[i] = j;
    }
    return q;
}

static bool answers_question(const question *q, const lud_proof_atom *atom) {
    if (atom->predicate != q->pattern.predicate) return false;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
        if ((q->pattern.terms[i] && q->pattern.terms[i] != atom->terms[i]) ||
            atom->terms[q->same_as[i]] != atom->terms[i])
            return false;
    return true;
}

/* Counts the known answers, at most `most`; the first `room` of them go to found[room] (fact f as -1 - f). */
static int64_t known_answers(const lud_prover *p, const question *q, int64_t most, int32_t *found,
                             int64_t room) {
    const lud_proof_base *base = p->base;
    lud_proof_range facts = {NULL, base->fact_begin[q->pattern.predicate],
                             base->fact_begin[q->pattern.predicate + 1]};
    int32_t l = map_find(&p->lists_of, lud_proof_bucket_key(q->pattern.predicate, 0, 0));
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
        if (!q->pattern.terms[i]) continue;
        lud_proof_range range = lud_proof_bucket_find(base, q->pattern.predicate, i, q->pattern.terms[i]);
        if (range.end - range.begin < facts.end - facts.begin) facts = range;
        int32_t other =
            map_find(&p->lists_of, lud_proof_bucket_key(q->pattern.predicate, i, q->pattern.terms[i]));
        if (other < 0 || (l >= 0 && p->lists[other].n < p->lists[l].n)) l = other;
    }
    int64_t n = 0;
    for (int32_t k = facts.begin; k < facts.end && n < most; k++) {
        int32_t fact = facts.order ? facts.order[k] : k;
        if (fact == p->options.excluded || !answers_question(q, &base->facts[fact])) continue;
        if (n++ < room) found[n - 1] = -1 - fact;
    }
    for (int32_t k = 0; l >= 0 && k < p->lists[l].n && n < most; k++) {
        const int32_t atom = p->lists[l].items[k];
        if (!answers_question(q, &p->atoms[atom].atom)) continue;
        if (n++ < room) found[n - 1] = atom;
    }
    return n;
}

/* Evaluates until the question has `most` known answers or nothing is left to do. */
static lud_status work(lud_prover *p, const question *q, int64_t most, int64_t *n, lud_error *error) {
    int32_t seen = -1;
    p->work = 0;
    p->stopped = false;
    *n = known_answers(p, q, most, NULL, 0);
    if (*n < most && heads_a_rule(p, q->pattern.predicate)) demand(p, &q->pattern);
    while (*n < most && p->queue_n > 0 && !p->failed && !p->stopped) {
        int32_t s = p->queue[p->queue_begin];
        p->queue_begin = (p->queue_begin + 1) % p->queue_capacity;
        p->queue_n--;
        p->subgoals[s].queued = false;
        seen = p->n_atoms;
        evaluate(p, s);
        /* a subgoal cut off by a limit is not finished */
        if (p->stopped) enqueue(p, s);
        if (most == 1)
            for (int32_t i = seen; i < p->n_atoms && *n < most; i++)
                *n += answers_question(q, &p->atoms[i].atom);
    }
    if (p->failed)
        return lud_fail(error, LUD_ERROR_MEMORY, "out of memory in the prover after %d derived atoms",
                        p->n_atoms);
    if (most > 1) *n = known_answers(p, q, most, NULL, 0);
    return LUD_OK;
}

void lud_prover_limit_work(lud_prover *prover, int64_t max_work) {
    prover->options.max_work = max_work;
}

int64_t lud_prover_work(const lud_prover *prover) {
    return prover->work;
}

bool lud_prover_is_full(const lud_prover *prover) {
    return prover->options.max_atoms > 0 && prover->n_atoms >= prover->options.max_atoms;
}

lud_status lud_prover_ask(lud_prover *prover, const lud_proof_atom *goal, lud_prover_answer *answer,
                          lud_error *error) {
    question q = make_question(prover, goal);
    int64_t n;
    lud_status status = work(prover, &q, 1, &n, error);
    *answer = n > 0 ? LUD_PROVER_PROVED : prover->stopped ? LUD_PROVER_UNDECIDED : LUD_PROVER_REFUTED;
    return status;
}

lud_status lud_prover_count(lud_prover *prover, const lud_proof_atom *goal, int64_t *n, lud_error *error) {
    question q = make_question(prover, goal);
    LUD_TRY(work(prover, &q, INT64_MAX, n, error));
    if (prover->stopped)
        return lud_fail(error, LUD_ERROR_LIMIT, "the prover stopped at a limit with %d derived atoms",
                        prover->n_atoms);
    return LUD_OK;
}

lud_status lud_prover_list(lud_prover *prover, const lud_proof_atom *goal, int32_t most,
                           lud_proof_atom *answers, int64_t *n, bool *complete, lud_error *error) {
    question q = make_question(prover, goal);
    LUD_TRY(work(prover, &q, INT64_MAX, n, error));
    *complete = !prover->stopped;
    int32_t *found = calloc((size_t)most + 1, sizeof *found);
    if (!found) return lud_no_memory(error, "the answers to a query");
    known_answers(prover, &q, INT64_MAX, found, most);
    for (int32_t i = 0; i < most && i < *n; i++)
        answers[i] = found[i] < 0 ? prover->base->facts[-1 - found[i]] : prover->atoms[found[i]].atom;
    free(found);
    return LUD_OK;
}

lud_status lud_prover_tree(lud_prover *prover, const lud_proof_atom *goal, lud_proof_tree *tree,
                           lud_error *error) {
    const lud_prover *p = prover;
    question q = make_question(p, goal);
    int32_t root;
    tree->n = 0;
    if (known_answers(p, &q, 1, &root, 1) == 0) return lud_invalid(error, "the goal has not been proved");
    const lud_proof_atom *atom = root < 0 ? &p->base->facts[-1 - root] : &p->atoms[root].atom;
    bool ok = lud_proof_tree_add(tree, atom, -1) == 0;
    if (ok) tree->nodes[0].index = root;
    /* until a node is opened up, `index` holds what it stands for */
    for (int32_t i = 0; ok && i < tree->n; i++) {
        int32_t what = tree->nodes[i].index;
        if (what < 0) {
            tree->nodes[i].kind = LUD_PROOF_NODE_FACT;
            tree->nodes[i].index = -1 - what;
            continue;
        }
        const derived *d = &p->atoms[what];
        int32_t n_body = p->base->rules[d->rule].n_body;
        tree->nodes[i].kind = LUD_PROOF_NODE_RULE;
        tree->nodes[i].index = d->rule;
        tree->nodes[i].n_children = n_body;
        tree->nodes[i].first_child = n_body ? tree->n : -1;
        for (int32_t k = 0; ok && k < n_body; k++) {
            int32_t child = p->children[d->first_child + (size_t)k];
            const lud_proof_atom *part = child < 0 ? &p->base->facts[-1 - child] : &p->atoms[child].atom;
            int32_t node = lud_proof_tree_add(tree, part, i);
            ok = node >= 0;
            if (ok) tree->nodes[node].index = child;
        }
    }
    return ok ? LUD_OK : lud_no_memory(error, "a proof tree");
}

const lud_prover_effort lud_prover_effort_to_solve = {200000, 3000000};

lud_status lud_prover_answer_query(const lud_proof_base *base, const lud_proof_atom *query,
                                   lud_prover_effort effort, lud_prover_answer *answer, lud_proof_tree *tree,
                                   lud_error *error) {
    const lud_prover_options options = {.excluded =
                                            lud_proof_find_fact(base, query, lud_proof_atom_hash(query)),
                                        .max_atoms = effort.atoms,
                                        .max_work = effort.work};
    lud_prover *prover = NULL;
    lud_status status = lud_prover_create(base, &options, &prover, error);
    if (!status) status = lud_prover_ask(prover, query, answer, error);
    if (!status && tree && *answer == LUD_PROVER_PROVED) status = lud_prover_tree(prover, query, tree, error);
    lud_prover_destroy(prover);
    return status;
}
