#include "learn/empo/exact/chain.h"

#include <stdlib.h>
#include <string.h>

#include "learn/empo/exact/levels.h"
#include "learn/nn/arrays.h"

/* One row under construction: successors of all joint actions with their probabilities. */
typedef struct row {
    uint32_t *successor;
    double *probability;
    size_t n, capacity;
    double *marginal, *profile; /* of people: [max_human_actions], [n_human_profiles] */
} row;

static bool row_begin(row *r, const lud_empo_layout *layout) {
    *r = (row){.marginal = malloc((size_t)layout->max_human_actions * sizeof *r->marginal),
               .profile = malloc((size_t)layout->n_human_profiles * sizeof *r->profile)};
    return r->marginal && r->profile;
}

static void row_end(row *r) {
    LUD_FREE(r->successor, r->probability, r->marginal, r->profile);
}

static bool row_add(row *r, uint32_t successor, double probability) {
    for (size_t i = 0; i < r->n; i++)
        if (r->successor[i] == successor) {
            r->probability[i] += probability;
            return true;
        }
    if (r->n == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 64;
        if (!lud_grow(&r->successor, capacity, sizeof *r->successor) ||
            !lud_grow(&r->probability, capacity, sizeof *r->probability))
            return false;
        r->capacity = capacity;
    }
    r->successor[r->n] = successor;
    r->probability[r->n++] = probability;
    return true;
}

/* Rows are short: insertion sort. */
static void row_sort(row *r) {
    for (size_t i = 1; i < r->n; i++) {
        uint32_t successor = r->successor[i];
        double probability = r->probability[i];
        size_t j = i;
        for (; j > 0 && r->successor[j - 1] > successor; j--) {
            r->successor[j] = r->successor[j - 1];
            r->probability[j] = r->probability[j - 1];
        }
        r->successor[j] = successor;
        r->probability[j] = probability;
    }
}

/* profile[n_human_profiles]: product of the people's marginals */
static void human_profiles(const lud_empo_problem *problem, const double *record, double *marginal,
                           double *profile) {
    const lud_empo_layout *layout = &problem->layout;
    int n = 1;
    profile[0] = 1;
    for (int h = 0; h < layout->n_humans;
         h++) { /* person 0 is the fastest digit: each further one is an outer copy */
        lud_empo_marginal_of(layout, problem->goal_weight, record, h, marginal);
        int n_actions = layout->n_human_actions[h];
        for (int a = n_actions - 1; a >= 0; a--)
            for (int i = 0; i < n; i++) profile[a * n + i] = profile[i] * marginal[a];
        n *= n_actions;
    }
}

/* The row of a state, from records of all states. */
static bool build_row(const lud_empo_problem *problem, const double *records, uint64_t state, row *r) {
    const lud_empo_layout *layout = &problem->layout;
    const double *record = records + state * (uint64_t)layout->record_doubles;
    r->n = 0;
    if (lud_statespace_terminal(problem->space, state)) return true;
    human_profiles(problem, record, r->marginal, r->profile);
    for (int32_t k = 0; k < problem->space->n_joint_actions; k++) {
        double p = r->profile[problem->human_of[k]] * record[layout->pi_r + problem->robot_of[k]];
        if (p == 0) continue;
        lud_statespace_row out = lud_statespace_get_row(problem->space, state, k);
        for (uint32_t i = 0; i < out.n; i++)
            if (!row_add(r, out.successor[i], p * out.probability[i])) return false;
    }
    row_sort(r);
    return true;
}

static bool append(lud_empo_chain *chain, const row *r, uint64_t *capacity) {
    if (chain->n_entries + r->n > *capacity) {
        *capacity = 2 * (chain->n_entries + r->n);
        if (!lud_grow(&chain->successor, *capacity, sizeof *chain->successor) ||
            !lud_grow(&chain->probability, *capacity, sizeof *chain->probability))
            return false;
    }
    if (r->n) {
        memcpy(chain->successor + chain->n_entries, r->successor, r->n * sizeof *r->successor);
        memcpy(chain->probability + chain->n_entries, r->probability, r->n * sizeof *r->probability);
    }
    chain->n_entries += r->n;
    return true;
}

lud_status lud_empo_chain_create(const lud_empo_problem *problem, const double *records,
                                 lud_empo_chain **chain, lud_error *error) {
    uint64_t n_states = problem->space->n_states, capacity = 0;
    lud_empo_chain *c = calloc(1, sizeof *c);
    row r;
    bool ok = row_begin(&r, &problem->layout) && c;
    if (ok) {
        c->problem = problem;
        c->n_states = n_states;
        c->begin = malloc((n_states + 1) * sizeof *c->begin);
        ok = c->begin;
    }
    for (uint64_t s = 0; s < n_states && ok; s++) {
        c->begin[s] = c->n_entries;
        ok = build_row(problem, records, s, &r) && append(c, &r, &capacity);
    }
    row_end(&r);
    if (!ok) {
        lud_empo_chain_destroy(c);
        return lud_no_memory(error, "the Markov chain of %llu states", (unsigned long long)n_states);
    }
    c->begin[n_states] = c->n_entries;
    *chain = c;
    return LUD_OK;
}

void lud_empo_chain_destroy(lud_empo_chain *chain) {
    if (!chain) return;
    LUD_FREE(chain->begin, chain->successor, chain->probability, chain);
}

lud_status lud_empo_chain_values(const lud_empo_chain *chain, double gamma, const double *rewards, int n,
                                 double *values, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_empo_levels levels;
    lud_status status = arena ? lud_empo_levels_find(chain->problem->space, arena, &levels, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "no memory");
    for (uint64_t position = chain->n_states; status == LUD_OK && position-- > 0;) {
        uint64_t s = lud_empo_level_state(&levels, position);
        for (int j = 0; j < n; j++) {
            double later = 0;
            for (uint64_t i = chain->begin[s]; i < chain->begin[s + 1]; i++)
                later +=
                    chain->probability[i] * values[(uint64_t)chain->successor[i] * (uint64_t)n + (uint64_t)j];
            values[s * (uint64_t)n + (uint64_t)j] = rewards[s * (uint64_t)n + (uint64_t)j] + gamma * later;
        }
    }
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_empo_visits(const lud_empo_problem *problem, const double *records, const uint32_t *starts,
                           int n_starts, double *visits, lud_error *error) {
    const uint64_t n_states = problem->space->n_states;
    lud_arena *arena = lud_arena_create(0);
    lud_empo_levels levels;
    row r;
    const bool begun = row_begin(&r, &problem->layout) && arena;
    lud_status status = begun ? lud_empo_levels_find(problem->space, arena, &levels, error)
                              : lud_no_memory(error, "visits of %llu states", (unsigned long long)n_states);
    memset(visits, 0, n_states * sizeof *visits);
    for (int i = 0; i < n_starts; i++) visits[starts[i]] += 1.0 / n_starts;
    for (uint64_t position = 0; position < n_states && !status; position++) {
        const uint64_t s = lud_empo_level_state(&levels, position);
        if (visits[s] == 0) continue;
        if (!build_row(problem, records, s, &r))
            status = lud_no_memory(error, "the successors of state %llu", (unsigned long long)s);
        for (size_t i = 0; i < r.n; i++) visits[r.successor[i]] += visits[s] * r.probability[i];
    }
    row_end(&r);
    lud_arena_destroy(arena);
    return status;
}
