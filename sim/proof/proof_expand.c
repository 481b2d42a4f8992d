#include "sim/proof/proof_expand.h"

#include <assert.h>
#include <string.h>

#include "sim/proof/knowledge/proof_index.h"

enum {
    STATE_VARIABLES = LUD_PROOF_MAX_GOALS * LUD_PROOF_MAX_ARITY,
    ALL_VARIABLES = STATE_VARIABLES + LUD_PROOF_MAX_VARIABLES
};

/* One expansion. Slot v of `store` is the variable n_constants + 1 + v: first the state's variables, then,
 * from `n_variables` on, the rule's. */
typedef struct expansion {
    const lud_proof_base *base;
    const lud_proof_limits *limits;
    const lud_proof_atom *goals;
    int32_t n_goals, n_variables, excluded;
    const uint64_t *visited;
    int32_t n_visited;
    lud_proof_successors *out;
    lud_proof_cuts *cuts;
    int32_t packed; /* candidates so far, cut ones included */
    int32_t store[ALL_VARIABLES];
} expansion;

bool lud_proof_unify(const lud_proof_base *base, int32_t *store, const lud_proof_atom *goal,
                     const lud_proof_atom *head, int32_t first_rule_term) {
    assert(goal->predicate == head->predicate);
    int32_t n = base->n_constants;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && goal->terms[i]; i++) {
        int32_t theirs = head->terms[i] < 0 ? first_rule_term - 1 - head->terms[i] : head->terms[i];
        int32_t a = lud_proof_resolve(base, store, goal->terms[i]);
        int32_t b = lud_proof_resolve(base, store, theirs);
        if (a == b) continue;
        if (b > n)
            store[b - n - 1] = a;
        else if (a > n)
            store[a - n - 1] = b;
        else
            return false;
    }
    return true;
}

int32_t lud_proof_canonicalise(const lud_proof_base *base, lud_proof_atom *goals, int32_t n_goals) {
    int32_t seen[STATE_VARIABLES], n = 0;
    assert(n_goals <= LUD_PROOF_MAX_GOALS);
    for (int32_t g = 0; g < n_goals; g++)
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
            int32_t term = goals[g].terms[i];
            if (term <= base->n_constants) continue;
            int32_t v = 0;
            while (v < n && seen[v] != term) v++;
            if (v == n) seen[n++] = term;
            goals[g].terms[i] = base->n_constants + 1 + v;
        }
    return n;
}

/* The result of writing a candidate. */
typedef enum written { WRITTEN, PROOF, TOO_LONG } written;

/* Body and remaining goals under the bindings, known ground goals dropped, variables renumbered, at `to`
 * (room for limits->max_goals). */
static written write_candidate(expansion *x, const lud_proof_atom *body, int32_t n_body, lud_proof_atom *to,
                               int32_t *n_written, uint64_t *hash) {
    const lud_proof_base *base = x->base;
    const int32_t n = base->n_constants;
    const int32_t limit = x->limits->max_goals;
    int32_t first_rule_term = n + 1 + x->n_variables;
    int32_t renamed[ALL_VARIABLES],
        order[ALL_VARIABLES]; /* new number of order[k] is k; renamed is its inverse */
    int32_t n_new = 0, kept = 0;
    uint64_t sum = 0;
    for (int32_t g = 0; g < n_body + x->n_goals - 1; g++) {
        const lud_proof_atom *from = g < n_body ? &body[g] : &x->goals[g - n_body + 1];
        lud_proof_atom atom = {.predicate = from->predicate};
        bool ground = true;
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
            int32_t term = from->terms[i];
            if (term == 0) break;
            if (term < 0) term = first_rule_term - 1 - term;
            term = lud_proof_resolve(base, x->store, term);
            if (term > n) {
                /* numbers are given by first appearance, so a slot is known exactly when it points back */
                int32_t slot = term - n - 1;
                int32_t number = renamed[slot];
                if ((uint32_t)number >= (uint32_t)n_new || order[number] != slot) {
                    number = n_new;
                    renamed[slot] = number;
                    order[n_new++] = slot;
                }
                term = n + 1 + number;
                ground = false;
            }
            atom.terms[i] = term;
        }
        uint64_t mixed = lud_proof_atom_hash(&atom);
        if (ground) {
            int32_t fact = lud_proof_find_fact(base, &atom, mixed);
            if (fact >= 0 && fact != x->excluded) continue;
        }
        if (kept == limit) return TOO_LONG;
        to[kept++] = atom;
        sum += mixed;
    }
    *n_written = kept;
    *hash = sum;
    return kept ? WRITTEN : PROOF;
}

/* Whether a hash is among the visited. */
static bool is_visited(const expansion *x, uint64_t hash) {
    for (int32_t i = 0; i < x->n_visited; i++)
        if (x->visited[i] == hash) return true;
    return false;
}

/* Writes a candidate and keeps it when it may be kept. True: it is a proof. */
static bool offer(expansion *x, lud_proof_step step, const lud_proof_atom *body, int32_t n_body) {
    lud_proof_successors *out = x->out;
    lud_proof_atom scratch[LUD_PROOF_MAX_GOALS];
    bool room = x->packed < x->limits->max_successors;
    int32_t n_written;
    uint64_t hash;
    lud_proof_atom *to = room ? out->atoms + out->begin[out->n] : scratch;
    written result = write_candidate(x, body, n_body, to, &n_written, &hash);
    x->packed++;
    if (result == PROOF) return true;
    if (!room) {
        x->cuts->over_successors++;
    } else if (result == TOO_LONG) {
        x->cuts->over_goals++;
    } else if (is_visited(x, hash)) {
        x->cuts->revisited++;
    } else {
        out->hash[out->n] = hash;
        out->step[out->n] = step;
        out->begin[out->n + 1] = out->begin[out->n] + n_written;
        out->n++;
    }
    return false;
}

/* Tries the rules; the index of one that gives a proof, or -1. */
static int32_t resolve_rules(expansion *x) {
    const lud_proof_base *base = x->base;
    const lud_proof_atom *goal = &x->goals[0];
    int32_t first_rule_term = base->n_constants + 1 + x->n_variables;
    for (int32_t r = base->rule_begin[goal->predicate]; r < base->rule_begin[goal->predicate + 1]; r++) {
        const lud_proof_rule *rule = &base->rules[r];
        memset(x->store, 0, (size_t)(x->n_variables + rule->n_variables) * sizeof *x->store);
        if (!lud_proof_unify(base, x->store, goal, &rule->head, first_rule_term)) continue;
        if (offer(x, (lud_proof_step){LUD_PROOF_BY_RULE, r}, rule->body, rule->n_body)) return r;
    }
    return -1;
}

/* The smallest range of facts that agree with one bound argument of the goal, or all of its predicate's. */
static lud_proof_range candidate_facts(const lud_proof_base *base, const int32_t *store,
                                       const lud_proof_atom *goal) {
    lud_proof_range best = {NULL, base->fact_begin[goal->predicate], base->fact_begin[goal->predicate + 1]};
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && goal->terms[i]; i++) {
        int32_t term = lud_proof_resolve(base, store, goal->terms[i]);
        if (term > base->n_constants) continue;
        lud_proof_range range = lud_proof_bucket_find(base, goal->predicate, i, term);
        if (range.end - range.begin < best.end - best.begin) best = range;
    }
    return best;
}

/* Binds the goal's variables (slots below n_variables) to a fact's constants; undoes nothing. */
static bool match_fact(const expansion *x, int32_t *store, const lud_proof_atom *goal,
                       const lud_proof_atom *fact) {
    int32_t n = x->base->n_constants;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && goal->terms[i]; i++) {
        int32_t term = lud_proof_resolve(x->base, store, goal->terms[i]);
        if (term > n)
            store[term - n - 1] = fact->terms[i];
        else if (term != fact->terms[i])
            return false;
    }
    return true;
}

static bool may_use(const expansion *x, int32_t fact, bool first_goal) {
    return fact != x->excluded && (!first_goal || !x->base->fact_examined || x->base->fact_examined[fact]);
}

/* Whether all goals in the set `open` hold at once as facts (a join, smallest range first). Returns the fact
 * of the first goal; -1 when there is none, and when the first goal is not open any fact. */
static int32_t join(expansion *x, uint32_t open) {
    const lud_proof_base *base = x->base;
    int32_t best = -1;
    lud_proof_range best_range = {0};
    for (int32_t g = 0; g < x->n_goals; g++) {
        if (!(open >> g & 1)) continue;
        lud_proof_range range = candidate_facts(base, x->store, &x->goals[g]);
        if (best < 0 || range.end - range.begin < best_range.end - best_range.begin) {
            best = g;
            best_range = range;
        }
    }
    open &= ~(UINT32_C(1) << best);
    int32_t saved[LUD_PROOF_MAX_ARITY] = {0};
    const lud_proof_atom *goal = &x->goals[best];
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
        if (goal->terms[i] > base->n_constants) saved[i] = x->store[goal->terms[i] - base->n_constants - 1];
    int32_t found = -1;
    for (int32_t k = best_range.begin; k < best_range.end && found < 0; k++) {
        int32_t fact = best_range.order ? best_range.order[k] : k;
        if (may_use(x, fact, best == 0) && match_fact(x, x->store, goal, &base->facts[fact])) {
            found = open ? join(x, open) : fact;
            if (found >= 0 && best == 0) found = fact;
        }
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
            if (goal->terms[i] > base->n_constants)
                x->store[goal->terms[i] - base->n_constants - 1] = saved[i];
    }
    return found;
}

/* A variable that no other goal shares with the first keeps the rest from ever being all facts after one
 * step. */
static bool rest_is_bound_by_first(const expansion *x) {
    for (int32_t g = 1; g < x->n_goals; g++)
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
            int32_t term = x->goals[g].terms[i];
            if (term <= x->base->n_constants) continue;
            bool shared = false;
            for (int j = 0; j < LUD_PROOF_MAX_ARITY; j++) shared = shared || x->goals[0].terms[j] == term;
            if (!shared) return false;
        }
    return true;
}

/* Tries the facts; one that completes a proof, or -1. */
static int32_t resolve_facts(expansion *x) {
    const lud_proof_base *base = x->base;
    const lud_proof_atom *goal = &x->goals[0];
    memset(x->store, 0, (size_t)x->n_variables * sizeof *x->store);
    lud_proof_range range = candidate_facts(base, x->store, goal);
    for (int32_t k = range.begin; k < range.end; k++) {
        if (x->packed >= x->limits->max_successors) {
            /* Past the budget only a proof still matters; looking for it is a join over all facts. */
            x->cuts->over_successors += range.end - k;
            memset(x->store, 0, (size_t)x->n_variables * sizeof *x->store);
            return rest_is_bound_by_first(x) ? join(x, (uint32_t)((UINT64_C(1) << x->n_goals) - 1)) : -1;
        }
        int32_t fact = range.order ? range.order[k] : k;
        if (!may_use(x, fact, true)) continue;
        memset(x->store, 0, (size_t)x->n_variables * sizeof *x->store);
        if (!match_fact(x, x->store, goal, &base->facts[fact])) continue;
        if (offer(x, (lud_proof_step){LUD_PROOF_BY_FACT, fact}, NULL, 0)) return fact;
    }
    return -1;
}

static void append_terminal(lud_proof_successors *out, int32_t predicate, lud_proof_step step) {
    int32_t at = out->begin[out->n];
    out->atoms[at] = (lud_proof_atom){.predicate = predicate};
    out->hash[out->n] = lud_proof_atom_hash(&out->atoms[at]); /* proof, dead end and giving up differ */
    out->step[out->n] = step;
    out->begin[++out->n] = at + 1;
}

void lud_proof_expand(const lud_proof_base *base, const lud_proof_limits *limits, const lud_proof_atom *goals,
                      int32_t n_goals, int32_t excluded, const uint64_t *visited, int32_t n_visited,
                      lud_proof_successors *out, lud_proof_cuts *cuts) {
    lud_proof_cuts unwanted = {0};
    expansion x; /* not initialised as a whole: the store is cleared as far as it is used */
    x.base = base;
    x.limits = limits;
    x.goals = goals;
    x.n_goals = n_goals;
    x.excluded = excluded;
    x.visited = visited;
    x.n_visited = n_visited;
    x.out = out;
    x.cuts = cuts ? cuts : &unwanted;
    x.packed = 0;
    x.n_variables = 0;
    assert(n_goals <= LUD_PROOF_MAX_GOALS && limits->max_goals <= LUD_PROOF_MAX_GOALS);
    assert(limits->max_goals > 0 && limits->max_successors > 0);
    x.cuts->expansions++;
    int32_t first = out->n;
    if (n_goals == 0 || lud_proof_is_terminal(base, &goals[0])) {
        bool proved = n_goals > 0 && goals[0].predicate == lud_proof_true(base);
        append_terminal(out, proved ? lud_proof_true(base) : lud_proof_false(base),
                        (lud_proof_step){LUD_PROOF_STAY, -1});
        return;
    }
    for (int32_t g = 0; g < n_goals; g++)
        for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
            if (goals[g].terms[i] - base->n_constants > x.n_variables)
                x.n_variables = goals[g].terms[i] - base->n_constants;
    assert(x.n_variables <= STATE_VARIABLES);

    lud_proof_step proof = {LUD_PROOF_BY_RULE, resolve_rules(&x)};
    if (proof.index < 0) proof = (lud_proof_step){LUD_PROOF_BY_FACT, resolve_facts(&x)};
    if (proof.index >= 0) {
        out->n = first;
        append_terminal(out, lud_proof_true(base), proof);
        return;
    }
    if (out->n == first) {
        append_terminal(out, lud_proof_false(base), (lud_proof_step){LUD_PROOF_DEAD_END, -1});
    } else if (limits->end_action) {
        if (out->n - first == limits->max_successors) {
            x.cuts->over_successors++;
            out->n--;
        }
        append_terminal(out, lud_proof_end(base), (lud_proof_step){LUD_PROOF_GIVE_UP, -1});
    }
}
