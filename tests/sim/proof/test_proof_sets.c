/* The exact prover against the least fixpoint on whole data sets: it proves no triple outside and, without
 * limits, all inside; random play proves none outside. The family tree ships; the standard sets are read
 * from ../shared/data/kg or the folder that LUDUS_PROOF_SETS names, and left out where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "sim/proof/prover.h"
#include "sim/proof/support_proof.h"

/* ---- checks ---- */

typedef struct counts {
    int inside, outside;
} counts;

static void check_atom(lud_prover *prover, const proof_matrices *m, const lud_proof_atom *atom, counts *c) {
    lud_prover_answer answer;
    assert_int_equal(lud_prover_ask(prover, atom, &answer, NULL), LUD_OK);
    const bool inside = proof_matrices_hold(m, atom);
    assert_int_equal(answer, inside ? LUD_PROVER_PROVED : LUD_PROVER_REFUTED);
    c->inside += inside;
    c->outside += !inside;
    if (!inside) return;
    lud_proof_tree tree = {0};
    assert_int_equal(lud_prover_tree(prover, atom, &tree, NULL), LUD_OK);
    assert_true(lud_proof_tree_check(m->base, atom, -1, &tree));
    lud_proof_tree_free(&tree);
}

/* Random actions on test queries and corruptions of them: whatever is proved is inside. */
static int play(const lud_proof_model *model, const proof_matrices *m) {
    enum { SLOTS = 64, STEPS = 150 };
    lud_proof_batch_options options = lud_proof_training_options(model, SLOTS, 11);
    options.pool = model->pools[LUD_PROOF_TEST];
    options.n_threads = 1;
    lud_proof_batch *batch = NULL;
    assert_int_equal(lud_proof_batch_create(model, &options, &batch, NULL), LUD_OK);
    int32_t actions[SLOTS];
    lud_proof_atom playing[SLOTS];
    int proved = 0;
    const size_t bytes = model->model.layout.state_bytes;
    for (uint32_t step = 0; step < STEPS; step++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            const int32_t n = batch->slot_begin[slot + 1] - batch->slot_begin[slot];
            const lud_words w = lud_draw((lud_random_key){5, (uint32_t)slot}, step, 0, LUD_PURPOSE_ACTION, 0);
            /* giving up comes last */
            actions[slot] = (int32_t)lud_below(w.v[0], (uint32_t)(n > 1 ? n - 1 : n));
            playing[slot] =
                ((const lud_proof_state *)(const void *)(batch->states + (size_t)slot * bytes))->query;
        }
        lud_proof_batch_step_reset(batch, actions);
        for (int slot = 0; slot < SLOTS; slot++) {
            if (!batch->terminated[slot] || !batch->success[slot]) continue;
            assert_true(proof_matrices_hold(m, &playing[slot]));
            proved++;
        }
    }
    lud_proof_batch_destroy(batch);
    return proved;
}

static void check_model(const char *name, const lud_proof_model *model) {
    const lud_proof_base *base = model->base;
    proof_matrices m = proof_matrices_of(base);
    lud_prover *prover = NULL;
    assert_int_equal(lud_prover_create(base, NULL, &prover, NULL), LUD_OK);
    counts true_ones = {0}, corrupted = {0};
    for (int split = LUD_PROOF_VALID; split <= LUD_PROOF_TEST; split++) {
        const lud_proof_pool pool = model->pools[split];
        for (int32_t i = 0; i < pool.n; i++) {
            check_atom(prover, &m, &pool.atoms[i], &true_ones);
            lud_proof_atom other;
            if (lud_proof_corrupt_once(model, &pool.atoms[i], i % 2 ? LUD_PROOF_TAIL : LUD_PROOF_HEAD,
                                       (lud_random_key){3, (uint32_t)i}, (uint32_t)split, &other))
                check_atom(prover, &m, &other, &corrupted);
        }
    }
    lud_prover_destroy(prover);
    proof_matrices_check(&m);
    const int proved = play(model, &m);
    print_message("%s: %d of %d queries and %d of %d corruptions inside; %d proved by random play\n", name,
                  true_ones.inside, true_ones.inside + true_ones.outside, corrupted.inside,
                  corrupted.inside + corrupted.outside, proved);
    assert_true(true_ones.inside > 0 && corrupted.outside > 0 && proved > 0);
    proof_matrices_free(&m);
}

static lud_proof_model *load(const char *folder, const char *domains) {
    lud_proof_options options = proof_options();
    options.folder = folder;
    options.facts = options.queries.train = "train.txt";
    options.rules = "rules.txt";
    options.queries.valid = "valid.txt";
    options.queries.test = "test.txt";
    options.domains = domains;
    options.limits.successors = 64;
    lud_proof_model *model = NULL;
    lud_error error = {0};
    const lud_status status = lud_proof_model_load(&options, "here", 1, &model, &error);
    if (status) print_error("%s\n", error.text);
    assert_int_equal(status, LUD_OK);
    return model;
}

static void shipped_set(void **state) {
    (void)state;
    lud_proof_model *model = load(LUDUS_SOURCE_DIR "/scenarios/proof/family_tree", NULL);
    check_model("family_tree", model);
    lud_proof_model_destroy(model);
}

/* The folder of a standard set; null where there is none. */
static const char *standard(const char *name, char *path, size_t size) {
    const char *given = getenv("LUDUS_PROOF_SETS");
    const char *const places[] = {given ? given : "", LUDUS_SOURCE_DIR "/../shared/data/kg",
                                  LUDUS_SOURCE_DIR "/../../shared/data/kg"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, size, "%s/%s", places[i], name);
        if (places[i][0] && lud_folder_exists(path)) return path;
    }
    return NULL;
}

static void small_standard_sets(void **state) {
    (void)state;
    static const char *const names[] = {"countries_s3", "nations", "umls", "family"};
    char path[4096];
    int found = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!standard(names[i], path, sizeof path)) continue;
        lud_proof_model *model = load(path, i == 0 ? "domain2constants.txt" : NULL);
        check_model(names[i], model);
        lud_proof_model_destroy(model);
        found++;
    }
    if (!found) skip();
}

/* The fixpoint of wn18rr is too large for the slow one. There every proof is checked node by node, what the
 * search by steps proves is never refuted, and what is refuted the search does not prove. */
static void large_standard_set(void **state) {
    (void)state;
    enum { QUERIES = 120, STEPS = 3 };
    char path[4096];
    if (!standard("wn18rr", path, sizeof path)) skip();
    lud_proof_model *model = load(path, NULL);
    const lud_proof_base *base = model->base;
    const lud_proof_pool pool = model->pools[LUD_PROOF_TEST];
    int answers[3] = {0};
    for (int32_t i = 0; i < QUERIES; i++) {
        const lud_prover_options options = {.excluded = -1, .max_atoms = 3000, .max_work = 300000};
        const lud_proof_search_options search = {.max_depth = STEPS, .max_goals = 6, .max_states = 2000};
        lud_proof_atom atom = pool.atoms[i], other;
        if (i % 2 && lud_proof_corrupt_once(model, &pool.atoms[i], LUD_PROOF_TAIL,
                                            (lud_random_key){4, (uint32_t)i}, 0, &other))
            atom = other;
        lud_prover *prover = NULL;
        lud_prover_answer answer;
        lud_proof_search_result result;
        assert_int_equal(lud_prover_create(base, &options, &prover, NULL), LUD_OK);
        assert_int_equal(lud_prover_ask(prover, &atom, &answer, NULL), LUD_OK);
        assert_int_equal(lud_proof_search(base, &atom, &search, &result, NULL), LUD_OK);
        if (answer == LUD_PROVER_PROVED) {
            lud_proof_tree tree = {0};
            assert_int_equal(lud_prover_tree(prover, &atom, &tree, NULL), LUD_OK);
            assert_true(lud_proof_tree_check(base, &atom, -1, &tree));
            lud_proof_tree_free(&tree);
        }
        if (result.steps > 0) assert_int_not_equal(answer, LUD_PROVER_REFUTED);
        answers[answer]++;
        lud_proof_search_result_free(&result);
        lud_prover_destroy(prover);
    }
    print_message("wn18rr: %d proved, %d refuted, %d undecided within the limits\n",
                  answers[LUD_PROVER_PROVED], answers[LUD_PROVER_REFUTED], answers[LUD_PROVER_UNDECIDED]);
    assert_true(answers[LUD_PROVER_PROVED] > 0 && answers[LUD_PROVER_REFUTED] > 0);
    lud_proof_model_destroy(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_set),
        cmocka_unit_test(small_standard_sets),
        cmocka_unit_test(large_standard_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
