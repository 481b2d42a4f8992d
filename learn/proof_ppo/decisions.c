#include "learn/proof_ppo/decisions.h"

#include <assert.h>
#include <string.h>

#include "base/interrupt.h"

lud_status lud_proof_decisions_create(const lud_proof_model *model, int64_t n, int sees,
                                      lud_proof_decisions *d, lud_error *error) {
    *d = (lud_proof_decisions){.sees = sees, .base = model->base, .model = model};
    const int64_t successors = n * model->limits.max_successors, states = n + successors;
    const int64_t atoms = states * model->limits.max_goals;
    if (states > INT32_MAX / 4 || atoms > INT32_MAX)
        return lud_fail(error, LUD_ERROR_LIMIT,
                        "%lld decisions of up to %d successors with %d goals are more than 2^31 goals; "
                        "lower n_envs, n_steps or limits.successors",
                        (long long)n, model->limits.max_successors, model->limits.max_goals);
    uint32_t size = 16;
    while (size < 2 * (uint64_t)states) size *= 2;
    d->capacity = (int32_t)n;
    d->successor_capacity = (int32_t)successors;
    d->state_capacity = (int32_t)states;
    d->atom_capacity = atoms;
    d->mask = size - 1;
    d->look_ahead = sees / LUD_PROOF_SEES_WAYS;
    assert(d->look_ahead <= LUD_PROOF_MAX_LOOK_AHEAD);
    const size_t room = (size_t)model->limits.max_successors;
    lud_arrays *a = &d->arrays;
    LUD_TAKE(a, d->state_begin, (size_t)states + 1);
    LUD_TAKE(a, d->atoms, (size_t)atoms);
    LUD_TAKE(a, d->hash, (size_t)states);
    if (sees & LUD_PROOF_SEES_MATCHES) LUD_TAKE(a, d->matches, (size_t)atoms);
    LUD_TAKE(a, d->current, (size_t)n + 1);
    LUD_TAKE(a, d->begin, (size_t)n + 1);
    LUD_TAKE(a, d->successor, (size_t)successors + 1);
    LUD_TAKE(a, d->place, (size_t)states);
    LUD_TAKE(a, d->table, size);
    if (d->look_ahead) LUD_TAKE(a, d->ways, room);
    for (int i = 0; i < d->look_ahead; i++) {
        lud_proof_successors *out = &d->ahead[i].successors;
        LUD_TAKE(a, d->ahead[i].state, model->model.layout.state_bytes);
        LUD_TAKE(a, out->begin, room + 1);
        LUD_TAKE(a, out->atoms, room * (size_t)model->limits.max_goals);
        LUD_TAKE(a, out->hash, room);
        LUD_TAKE(a, out->step, room);
    }
    if (!a->failed) return LUD_OK;
    lud_proof_decisions_free(d);
    return lud_no_memory(error, "%lld decisions", (long long)n);
}

void lud_proof_decisions_free(lud_proof_decisions *d) {
    lud_arrays_free(&d->arrays);
    *d = (lud_proof_decisions){0};
}

void lud_proof_decisions_clear(lud_proof_decisions *d) {
    for (int32_t s = 0; s < d->n_states; s++) d->table[d->place[s]] = 0;
    d->n_states = d->n = 0;
}

static uint8_t class_of(int64_t n) {
    uint8_t class = 0;
    while (class < LUD_PROOF_MATCH_CLASSES - 1 && n > (class ? INT64_C(1) << (class - 1) : 0)) class ++;
    return class;
}

/* The class of a running state that has n successors, the first of which begins with `goal`, and is `steps`
 * away from a proof, 0: more than are looked ahead. Giving up is no successor, nor is a dead end. */
static uint8_t way_class(const lud_proof_decisions *d, int32_t n, const lud_proof_atom *goal, int steps) {
    if (steps > 0) return (uint8_t)(LUD_PROOF_MATCH_CLASSES + steps - 1);
    if (n > 0 && goal->predicate == lud_proof_false(d->base)) return class_of(0);
    return class_of(n > 0 && d->model->limits.end_action ? n - 1 : n);
}

static int steps_to_proof(lud_proof_decisions *d, int level, int most);

/* Puts a state that follows the one at `bytes` into ahead[level], as it would be with that one behind it, and
 * returns its steps_to_proof. */
static int follow(lud_proof_decisions *d, int level, const uint8_t *bytes, const lud_proof_atom *goals,
                  int32_t n_goals, int most) {
    memcpy(d->ahead[level].state, bytes, d->model->model.layout.state_bytes);
    lud_proof_enter(d->model, goals, n_goals, (lud_proof_step){.kind = LUD_PROOF_STAY},
                    d->ahead[level].state);
    return steps_to_proof(d, level, most);
}

/* The least number of steps from the state in ahead[level] to a proof, 0: more than `most`, or a signal came.
 * Leaves its successors there. */
static int steps_to_proof(lud_proof_decisions *d, int level, int most) {
    lud_proof_successors *out = &d->ahead[level].successors;
    if (most > 2 && lud_interrupted()) most = 1; /* five steps ahead there are millions of states */
    out->n = out->begin[0] = 0;
    lud_proof_successors_of(d->model, d->ahead[level].state, out, NULL);
    if (out->n > 0 && out->atoms[0].predicate == lud_proof_true(d->base)) return 1;
    int least = 0;
    for (int32_t i = 0; i < out->n && most > 1 && least != 2; i++) {
        const lud_proof_atom *goals = out->atoms + out->begin[i];
        if (goals->predicate > d->base->n_predicates) continue; /* a dead end, or giving up */
        const int rest =
            follow(d, level + 1, d->ahead[level].state, goals, out->begin[i + 1] - out->begin[i], most - 1);
        if (rest > 0) {
            least = rest + 1;
            most = rest; /* only a shorter one counts from now on */
        }
    }
    return least;
}

/* The classes of a decision's successors, lists first .. first + n - 1, in `ways`; returns that of the state
 * at hand. */
static uint8_t look_ahead(lud_proof_decisions *d, const uint8_t *bytes, const lud_proof_lists *lists,
                          int32_t first, int32_t n) {
    int here = 0;
    for (int32_t i = 0; i < n; i++) {
        const lud_proof_atom *goals = lists->atoms + lists->begin[first + i];
        const int32_t n_goals = lists->begin[first + i + 1] - lists->begin[first + i];
        if (goals->predicate == lud_proof_true(d->base)) here = 1;
        const int steps = follow(d, 0, bytes, goals, n_goals, d->look_ahead);
        d->ways[i] = way_class(d, d->ahead[0].successors.n, d->ahead[0].successors.atoms, steps);
        if (steps > 0 && steps < d->look_ahead && (here == 0 || steps + 1 < here)) here = steps + 1;
    }
    return way_class(d, n, n > 0 ? lists->atoms + lists->begin[first] : NULL, here);
}

static uint64_t mix(uint64_t hash) {
    hash = (hash ^ hash >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* A hash of what is seen of a state; `hash` is its lud_proof_state_hash. */
static uint64_t seen_hash(const lud_proof_decisions *d, const lud_proof_atom *goals, const uint8_t *matches,
                          int32_t n_goals, uint64_t hash) {
    if (!d->sees) return hash;
    hash = 0;
    for (int32_t g = 0; g < n_goals; g++) {
        uint64_t goal = lud_proof_atom_hash(&goals[g]);
        if (d->matches) goal = mix(goal + matches[g]);
        hash = d->sees & LUD_PROOF_SEES_ORDER ? mix(hash + goal) : hash + goal;
    }
    return hash;
}

/* Sorts the goals of the newest state, and their classes with them. */
static void sort_goals(lud_proof_decisions *d, int32_t begin, int32_t n_goals) {
    for (int32_t i = begin + 1; i < begin + n_goals; i++) {
        const lud_proof_atom goal = d->atoms[i];
        const uint64_t hash = lud_proof_atom_hash(&goal);
        const uint8_t matches = d->matches ? d->matches[i] : 0;
        int32_t at = i;
        for (; at > begin; at--) {
            const uint64_t before = lud_proof_atom_hash(&d->atoms[at - 1]);
            if (before < hash || (before == hash && (!d->matches || d->matches[at - 1] <= matches))) break;
            d->atoms[at] = d->atoms[at - 1];
            if (d->matches) d->matches[at] = d->matches[at - 1];
        }
        d->atoms[at] = goal;
        if (d->matches) d->matches[at] = matches;
    }
}

/* The number of a state, which is added when it is new; `hash` is its lud_proof_state_hash, `ways` the
 * class of its successors where that is seen. */
static int32_t state_number(lud_proof_decisions *d, const lud_proof_atom *goals, int32_t n_goals,
                            uint64_t hash, int32_t excluded, uint8_t ways) {
    uint8_t matches[LUD_PROOF_MAX_GOALS];
    for (int32_t g = 0; d->matches && g < n_goals; g++)
        matches[g] = class_of(lud_proof_count_matches(d->base, &goals[g], excluded));
    if (d->look_ahead && n_goals > 0) matches[0] = ways;
    hash = seen_hash(d, goals, matches, n_goals, hash);
    uint32_t i = (uint32_t)hash & d->mask;
    for (; d->table[i] != 0; i = (i + 1) & d->mask)
        if (d->hash[d->table[i] - 1] == hash) return d->table[i] - 1;
    const int32_t state = d->n_states++, begin = d->state_begin[state];
    assert(state < d->state_capacity && begin + n_goals <= d->atom_capacity);
    memcpy(d->atoms + begin, goals, (size_t)n_goals * sizeof *goals);
    if (d->matches) memcpy(d->matches + begin, matches, (size_t)n_goals);
    if (d->sorted && !(d->sees & LUD_PROOF_SEES_ORDER)) sort_goals(d, begin, n_goals);
    d->state_begin[state + 1] = begin + n_goals;
    d->hash[state] = hash;
    d->table[i] = state + 1;
    d->place[state] = i;
    return state;
}

void lud_proof_decisions_add(lud_proof_decisions *d, const uint8_t *bytes, const lud_proof_lists *lists,
                             int32_t first, int32_t n) {
    assert(d->n < d->capacity);
    const lud_proof_state *head = (const lud_proof_state *)(const void *)bytes;
    const lud_proof_atom *goals = lud_proof_goals_const(bytes);
    const uint8_t here = d->look_ahead && n > 0 ? look_ahead(d, bytes, lists, first, n) : 0;
    d->current[d->n] = state_number(d, goals, head->n_goals, lud_proof_state_hash(goals, head->n_goals),
                                    head->excluded, here);
    int32_t at = d->begin[d->n];
    for (int32_t i = first; i < first + n; i++)
        d->successor[at++] =
            state_number(d, lists->atoms + lists->begin[i], lists->begin[i + 1] - lists->begin[i],
                         lists->hash[i], head->excluded, d->look_ahead ? d->ways[i - first] : 0);
    d->begin[++d->n] = at;
}

void lud_proof_decisions_add_batch(lud_proof_decisions *d, const lud_proof_batch *batch) {
    for (int slot = 0; slot < batch->n_slots; slot++) {
        const int32_t first = batch->slot_begin[slot], n = batch->slot_begin[slot + 1] - first;
        if (n == 0) {
            d->current[d->n] = -1;
            d->begin[d->n + 1] = d->begin[d->n];
            d->n++;
            continue;
        }
        lud_proof_decisions_add(d, batch->states + (size_t)slot * batch->model->model.layout.state_bytes,
                                &batch->successors, first, n);
    }
}
