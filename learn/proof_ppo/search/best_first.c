#include "learn/proof_ppo/search/best_first.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"

/* An open path: its state is in place `place` of its slot. */
typedef struct path {
    double log_prob;
    int32_t age; /* order in which paths were begun: decides between equal ones */
    int32_t place;
} path;

/* One query being searched. Its open paths are sorted, the most probable last; as every expansion takes one,
 * only as many are kept as expansions are left. */
typedef struct slot {
    int32_t query; /* -1: none */
    int32_t expansions, n_open, next_age;
    path *open;      /* [budget + 1] */
    int32_t *places; /* [budget + 2] free places of states, a stack */
    int32_t n_places;
    uint8_t *states; /* [budget + 2][state_bytes] */
    path chosen;     /* being expanded */
    bool ended;      /* a path of it has ended */
} slot;

struct lud_proof_best_first {
    const lud_proof_model *model;
    int32_t n_slots, budget;
    size_t state_bytes;
    lud_proof_expander expander;
    slot *slots;
    uint8_t *scratch; /* a state */
};

lud_status lud_proof_best_first_create(lud_proof_net *net, int32_t n_queries, int32_t budget,
                                       lud_proof_best_first **out, lud_error *error) {
    *out = NULL;
    lud_proof_best_first *b = calloc(1, sizeof *b);
    if (!b) return lud_no_memory(error, "a search");
    b->model = net->model;
    b->n_slots = n_queries;
    b->budget = budget;
    b->state_bytes = net->model->model.layout.state_bytes;
    lud_status status = lud_proof_expander_create(net, n_queries, &b->expander, error);
    const size_t n = (size_t)budget;
    b->slots = calloc((size_t)n_queries, sizeof *b->slots);
    b->scratch = calloc(1, b->state_bytes);
    bool complete = b->slots && b->scratch;
    for (int32_t i = 0; complete && i < n_queries; i++) {
        slot *s = &b->slots[i];
        s->open = calloc(n + 1, sizeof *s->open);
        s->places = calloc(n + 2, sizeof *s->places);
        s->states = calloc(n + 2, b->state_bytes);
        complete = s->open && s->places && s->states;
    }
    if (!status && !complete) status = lud_no_memory(error, "a search");
    if (status)
        lud_proof_best_first_destroy(b);
    else
        *out = b;
    return status;
}

void lud_proof_best_first_destroy(lud_proof_best_first *b) {
    if (!b) return;
    for (int32_t i = 0; b->slots && i < b->n_slots; i++)
        LUD_FREE(b->slots[i].open, b->slots[i].places, b->slots[i].states);
    lud_proof_expander_free(&b->expander);
    LUD_FREE(b->slots, b->scratch, b);
}

static uint8_t *state_at(const lud_proof_best_first *b, const slot *s, int32_t place) {
    return s->states + (size_t)place * b->state_bytes;
}

/* More probable, or older. */
static bool before(const path *a, const path *b) {
    return a->log_prob > b->log_prob || (a->log_prob == b->log_prob && a->age < b->age);
}

/* Keeps a path open if it is among the best; true when it was kept: its state then goes to its place. */
static bool keep(const lud_proof_best_first *b, slot *s, path *new) {
    const int32_t room = b->budget - s->expansions;
    assert(s->n_open <= room); /* an expansion takes one of them, and one off the budget */
    if (room == 0) return false;
    if (s->n_open == room) {
        if (!before(new, &s->open[0])) return false;
        s->places[s->n_places++] = s->open[0].place;
        memmove(s->open, s->open + 1, (size_t)--s->n_open * sizeof *s->open);
    }
    new->place = s->places[--s->n_places];
    int32_t at = s->n_open++;
    for (; at > 0 && before(&s->open[at - 1], new); at--) s->open[at] = s->open[at - 1];
    s->open[at] = *new;
    return true;
}

static void begin(lud_proof_best_first *b, slot *s, const lud_proof_atom *query, int32_t number,
                  lud_proof_found *result, uint8_t *end) {
    s->query = -1;
    s->ended = false;
    s->expansions = s->n_open = s->next_age = s->n_places = 0;
    for (int32_t i = b->budget + 1; i >= 0; i--) s->places[s->n_places++] = i;
    *result = (lud_proof_found){0.0, 0, false, 0.0};
    lud_proof_start(b->model, query, 1, number, b->scratch);
    if (end) memcpy(end, b->scratch, b->state_bytes);
    const lud_proof_state *head = (const lud_proof_state *)(const void *)b->scratch;
    if (head->outcome != LUD_PROOF_RUNNING) return; /* blank */
    s->query = number;
    path first = {0.0, s->next_age++, 0};
    if (keep(b, s, &first)) memcpy(state_at(b, s, first.place), b->scratch, b->state_bytes);
}

/* Opens the successors of the chosen state, number `i` of the expander; true when the search is over. */
static bool advance(lud_proof_best_first *b, slot *s, int32_t i, lud_proof_found *result, uint8_t *end) {
    const lud_proof_expander *x = &b->expander;
    const uint8_t *from = state_at(b, s, s->chosen.place);
    for (int32_t k = x->begin[i]; k < x->begin[i + 1]; k++) {
        path next = {s->chosen.log_prob + x->log_probs[k], s->next_age++, 0};
        lud_proof_expander_enter(x, k, from, b->scratch);
        const lud_proof_state *head = (const lud_proof_state *)(const void *)b->scratch;
        const bool proved = head->outcome == LUD_PROOF_PROVED;
        if (head->outcome == LUD_PROOF_RUNNING) {
            if (keep(b, s, &next)) memcpy(state_at(b, s, next.place), b->scratch, b->state_bytes);
            continue;
        }
        /* a proof is the only successor of its state, which was the most probable open one */
        if (!proved && s->ended && result->log_prob >= next.log_prob) continue;
        *result = (lud_proof_found){next.log_prob, head->depth, proved, 0.0};
        s->ended = true;
        if (end) memcpy(end, b->scratch, b->state_bytes);
        if (proved) return true;
    }
    s->places[s->n_places++] = s->chosen.place;
    return s->n_open == 0 || s->expansions == b->budget;
}

void lud_proof_best_first_run(lud_proof_best_first *b, const lud_proof_atom *queries, int32_t n,
                              lud_proof_found *results, uint8_t *states) {
    int32_t next = 0, busy = 0;
    for (int32_t i = 0; i < b->n_slots; i++) b->slots[i].query = -1;
    do {
        lud_proof_expander_clear(&b->expander);
        busy = 0;
        for (int32_t i = 0; i < b->n_slots; i++) {
            slot *s = &b->slots[i];
            for (; s->query < 0 && next < n; next++)
                begin(b, s, &queries[next], next, &results[next],
                      states ? states + (size_t)next * b->state_bytes : NULL);
            if (s->query < 0) continue;
            s->chosen = s->open[--s->n_open];
            s->expansions++;
            busy++;
            lud_proof_expander_add(&b->expander, state_at(b, s, s->chosen.place));
        }
        lud_proof_expander_run(&b->expander);
        for (int32_t i = 0, at = 0; i < b->n_slots; i++) {
            slot *s = &b->slots[i];
            if (s->query < 0) continue;
            if (advance(b, s, at++, &results[s->query],
                        states ? states + (size_t)s->query * b->state_bytes : NULL))
                s->query = -1;
        }
    } while (busy > 0 && !lud_interrupted());
}
