/* Searches for proofs against plain ones that keep every path and expand one state at a time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "effort.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/proof_ppo/search/beam.h"
#include "learn/proof_ppo/search/best_first.h"
#include "learn/proof_ppo/support_proof.h"

/* Constants far apart: hardly any two paths are equally probable. */
static const char *const settings[] = {
    ("learner.network={embedding_size: 24, hidden: 48, layers: 1, dropout: 0, constant_scale: 1, "
     "states: concat, temperature: 0.2}"),
    "learner.n_envs=32", "learner.n_steps=16", "learner.batch_size=200", "learner.total_steps=3072"};

enum { PAIRS = SANITIZED ? 3 : 12, N = 2 * PAIRS + 3, MOST_PATHS = 20000 };

typedef struct fixture {
    lud_scenario *scenario;
    lud_device *device;
    lud_learner *learner;
    lud_proof_net *net;
    size_t bytes; /* of a state */
    lud_proof_atom queries[N];
} fixture;

static fixture open_fixture(void) {
    fixture f = {.scenario = support_proof_scenario(settings, sizeof settings / sizeof *settings)};
    assert_int_equal(lud_device_open("cpu", 1, &f.device, NULL), LUD_OK);
    assert_int_equal(lud_learner_create(f.scenario, f.device, &f.learner, NULL), LUD_OK);
    f.net = lud_proof_ppo_net(f.learner, false);
    f.bytes = f.net->model->model.layout.state_bytes;
    const lud_proof_pool pool = f.net->model->pools[LUD_PROOF_TEST];
    for (int i = 0; i < PAIRS; i++) { /* the second of a pair is mostly false; blank ones stand between */
        lud_proof_atom *pair = &f.queries[1 + 2 * i + (i >= PAIRS / 2)];
        pair[0] = pair[1] = pool.atoms[i];
        pair[1].terms[0] = pool.atoms[i].terms[1];
        pair[1].terms[1] = pool.atoms[i].terms[0];
    }
    return f;
}

static void close_fixture(fixture *f) {
    lud_learner_destroy(f->learner);
    lud_device_close(f->device);
    lud_scenario_destroy(f->scenario);
}

typedef struct plain_path {
    double log_prob;
    uint8_t *state;
} plain_path;

/* What a plain search holds: open paths in the order in which they began, and the best end so far. */
typedef struct plain {
    const fixture *f;
    plain_path open[MOST_PATHS];
    int n_open;
    lud_proof_found found;
    uint8_t *end;
    bool ended;
    double gap; /* the least by which one probability that decided something was away from another */
} plain;

static const lud_proof_state *head_of(const uint8_t *state) {
    return (const lud_proof_state *)(const void *)state;
}

static plain *plain_begin(const fixture *f, int query) {
    plain *p = calloc(1, sizeof *p);
    p->f = f;
    p->gap = INFINITY;
    p->end = calloc(1, f->bytes);
    lud_proof_start(f->net->model, &f->queries[query], 1, query, p->end);
    if (head_of(p->end)->outcome != LUD_PROOF_RUNNING) return p;
    p->open[0].state = malloc(f->bytes);
    memcpy(p->open[p->n_open++].state, p->end, f->bytes);
    return p;
}

static void plain_free(plain *p) {
    for (int i = 0; i < p->n_open; i++) free(p->open[i].state);
    free(p->end);
    free(p);
}

static void note_gap(plain *p, double a, double b) {
    if (fabs(a - b) < p->gap) p->gap = fabs(a - b);
}

/* The most probable open path, the older of two. */
static int most_probable(plain *p) {
    int best = 0;
    for (int i = 1; i < p->n_open; i++)
        if (p->open[i].log_prob > p->open[best].log_prob) best = i;
    for (int i = 0; i < p->n_open; i++)
        if (i != best) note_gap(p, p->open[i].log_prob, p->open[best].log_prob);
    return best;
}

static plain_path take(plain *p, int i) {
    const plain_path taken = p->open[i];
    memmove(p->open + i, p->open + i + 1, (size_t)(--p->n_open - i) * sizeof *p->open);
    return taken;
}

/* The successors of a path, in order: their number. Their states are the caller's. */
static int successors_of(const fixture *f, const plain_path *path, plain_path *out) {
    lud_proof_expander x;
    assert_int_equal(lud_proof_expander_create(f->net, 1, &x, NULL), LUD_OK);
    lud_proof_expander_clear(&x);
    lud_proof_expander_add(&x, path->state);
    lud_proof_expander_run(&x);
    const int n = x.begin[1];
    for (int k = 0; k < n; k++) {
        out[k] = (plain_path){path->log_prob + x.log_probs[k], malloc(f->bytes)};
        lud_proof_expander_enter(&x, k, path->state, out[k].state);
    }
    lud_proof_expander_free(&x);
    return n;
}

static void plain_end(plain *p, const plain_path *path) {
    p->found = (lud_proof_found){.log_prob = path->log_prob,
                                 .length = head_of(path->state)->depth,
                                 .proved = head_of(path->state)->outcome == LUD_PROOF_PROVED};
    p->ended = true;
    memcpy(p->end, path->state, p->f->bytes);
}

/* Expands the most probable path until one of its successors is a proof, none is open, or `budget` are. */
static plain *plain_best_first(const fixture *f, int query, int budget) {
    plain *p = plain_begin(f, query);
    for (int i = 0; i < budget && p->n_open > 0 && !p->found.proved; i++) {
        plain_path chosen = take(p, most_probable(p)), next[256];
        const int n = successors_of(f, &chosen, next);
        for (int k = 0; k < n; k++) {
            const uint8_t outcome = (uint8_t)head_of(next[k].state)->outcome;
            if (outcome == LUD_PROOF_RUNNING) {
                assert_true(p->n_open < MOST_PATHS);
                p->open[p->n_open++] = next[k];
                continue;
            }
            if (outcome != LUD_PROOF_PROVED && p->ended) note_gap(p, next[k].log_prob, p->found.log_prob);
            if (outcome == LUD_PROOF_PROVED || !p->ended || next[k].log_prob > p->found.log_prob)
                plain_end(p, &next[k]);
            free(next[k].state);
        }
        free(chosen.state);
    }
    return p;
}

/* All successors of all open paths; the `width` most probable ones that are more so than the best proof. */
static plain *plain_beam(const fixture *f, int query, int width) {
    plain *p = plain_begin(f, query);
    while (p->n_open > 0) {
        plain all = {.f = f, .gap = p->gap};
        for (int i = 0; i < p->n_open; i++) {
            plain_path next[256];
            const int n = successors_of(f, &p->open[i], next);
            for (int k = 0; k < n; k++) all.open[all.n_open++] = next[k];
            free(p->open[i].state);
        }
        p->n_open = 0;
        for (int k = 0; k < width && all.n_open > 0; k++) {
            const plain_path best = take(&all, most_probable(&all));
            const bool proved = head_of(best.state)->outcome == LUD_PROOF_PROVED;
            if (p->found.proved && best.log_prob <= p->found.log_prob) {
                free(best.state);
                break;
            }
            if (head_of(best.state)->outcome == LUD_PROOF_RUNNING) {
                p->open[p->n_open++] = best;
                continue;
            }
            if (!p->ended || proved > p->found.proved ||
                (proved == p->found.proved && best.log_prob > p->found.log_prob))
                plain_end(p, &best);
            free(best.state);
        }
        p->gap = all.gap;
        for (int i = 0; i < all.n_open; i++) free(all.open[i].state);
    }
    return p;
}

/* Whether the plain search had to decide between paths that are not nearly the same: it was then compared. */
static bool compare(const plain *p, const lud_proof_found *found, const uint8_t *state) {
    if (p->gap < 1e-5) return false;
    assert_int_equal(found->proved, p->found.proved);
    assert_int_equal(found->length, p->found.length);
    assert_true(fabs(found->log_prob - p->found.log_prob) < 1e-4);
    assert_true(found->odds == 0.0);
    assert_memory_equal(state, p->end, p->f->bytes);
    return true;
}

enum { BEST_FIRST, BEAM };

/* Searches all queries, `at_once` of them side by side, and compares; counts what was proved, what has ended
 * otherwise and what has not. */
static void search_all(const fixture *f, int kind, int amount, int at_once, int counts[3]) {
    lud_proof_found found[N];
    uint8_t *states = calloc(N, f->bytes);
    int n_compared = 0;
    memset(found, 0x55, sizeof found);
    if (kind == BEST_FIRST) {
        lud_proof_best_first *search = NULL;
        assert_int_equal(lud_proof_best_first_create(f->net, at_once, amount, &search, NULL), LUD_OK);
        lud_proof_best_first_run(search, f->queries, N, found, states);
        memset(states, 0, N * f->bytes);
        lud_proof_best_first_run(search, f->queries, N, found, states); /* a search is used again */
        lud_proof_best_first_destroy(search);
    } else {
        lud_proof_beam *beam = NULL;
        assert_int_equal(lud_proof_beam_create(f->net, N, amount, &beam, NULL), LUD_OK);
        lud_proof_beam_run(beam, f->queries, N, found, states);
        lud_proof_beam_destroy(beam);
    }
    for (int q = 0; q < N; q++) {
        plain *p = (kind == BEST_FIRST ? plain_best_first : plain_beam)(f, q, amount);
        counts[p->found.proved ? 0 : p->ended ? 1 : 2]++;
        n_compared += compare(p, &found[q], states + (size_t)q * f->bytes);
        plain_free(p);
    }
    assert_true(n_compared >= N * 2 / 3);
    free(states);
}

static void best_first_keeps_what_matters(void **state) {
    (void)state;
    fixture f = open_fixture();
    int counts[3] = {0};
    const int budgets[] = {1, 2, 3, 5, 8, 13, 40};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
        search_all(&f, BEST_FIRST, budgets[i], i % 2 ? 1 : 5, counts);
    assert_true(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
    close_fixture(&f);
}

static void beams_keep_the_most_probable(void **state) {
    (void)state;
    fixture f = open_fixture();
    int counts[3] = {0};
    const int widths[] = {1, 2, 3, 7};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) search_all(&f, BEAM, widths[i], N, counts);
    assert_true(counts[0] > 0 && counts[1] > 0);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best_first_keeps_what_matters),
        cmocka_unit_test(beams_keep_the_most_probable),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
