#include "cli/proof_solve.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "learn/runs/lock.h"
#include "sim/proof/fixpoint.h"
#include "sim/proof/proof_model.h"
#include "sim/proof/prover.h"

/* What the least fixpoint may take, which decides the questions that are too much for the prover. */
static const size_t max_fixpoint_bytes = (size_t)12 << 30;

typedef struct solved {
    int64_t n, answers[3], without_tree;
    double seconds;
} solved;

/* The least fixpoint decides, and the prover gives the tree, where it finds one within its limits. A query
 * that is a fact may not use itself, and where there is no fixpoint (null) the prover decides alone. */
static lud_status decide(const lud_proof_base *base, const lud_fixpoint *fixpoint,
                         const lud_proof_atom *query, lud_prover_answer *answer, lud_proof_tree *tree,
                         lud_error *error) {
    const bool decided = fixpoint && lud_proof_find_fact(base, query, lud_proof_atom_hash(query)) < 0;
    *answer = LUD_PROVER_REFUTED;
    if (decided && !lud_fixpoint_holds(fixpoint, query)) return LUD_OK;
    lud_status status = lud_prover_answer_query(base, query, lud_prover_effort_to_solve, answer, tree, error);
    if (!status && decided && *answer == LUD_PROVER_REFUTED)
        return lud_fail(error, LUD_ERROR_NUMERIC, "the prover and the fixpoint disagree");
    if (decided) *answer = LUD_PROVER_PROVED;
    return status;
}

/* One line a query: the answer, then the atom or the height-first proof. */
static lud_status solve_split(const lud_proof_model *model, const lud_fixpoint *fixpoint, int list, solved *s,
                              lud_text *out, lud_error *error) {
    static const char *const words[] = {"refuted", "proved", "undecided"};
    const lud_proof_pool pool = model->pools[list];
    const double start = lud_clock_seconds();
    lud_status status = LUD_OK;
    for (int32_t i = 0; i < pool.n && !status; i++) {
        lud_prover_answer answer;
        lud_proof_tree tree = {0};
        status = decide(model->base, fixpoint, &pool.atoms[i], &answer, &tree, error);
        if (!status) {
            const bool without_tree = answer == LUD_PROVER_PROVED && tree.n == 0;
            s->n++;
            s->answers[answer]++;
            s->without_tree += without_tree;
            lud_text_append(out, "# %s%s\n", words[answer],
                            without_tree ? ": in the least fixpoint; no tree within the prover's limits"
                                         : "");
            if (tree.n > 0)
                lud_proof_tree_print(model->base, &tree, out);
            else
                lud_proof_print_atom(model->base, NULL, &pool.atoms[i], out);
            lud_text_append(out, "\n");
        }
        lud_proof_tree_free(&tree);
    }
    s->seconds = lud_clock_seconds() - start;
    return status;
}

/* The least fixpoint; null, said in the log, where it cannot be had. */
static lud_status open_fixpoint(const lud_proof_base *base, lud_fixpoint **fixpoint, lud_error *error) {
    lud_error reason = {0};
    const lud_status status = lud_fixpoint_compute(base, max_fixpoint_bytes, fixpoint, &reason);
    if (!status) return LUD_OK;
    if (status != LUD_ERROR_LIMIT && status != LUD_ERROR_MEMORY) {
        *error = reason;
        return status;
    }
    lud_log(NULL, LUD_LOG_INFO, "the prover decides alone: %s", reason.text);
    return LUD_OK;
}

lud_status lud_proof_solve(const lud_scenario *scenario, const char *folder, bool json, lud_error *error) {
    static const char *const names[] = {"train", "valid", "test"};
    const lud_proof_model *model = (const lud_proof_model *)(const void *)scenario->model;
    lud_run_lock lock = {0};
    lud_status status = lud_run_lock_take(folder, &lock, error);
    json_t *root = json_object();
    lud_fixpoint *fixpoint = NULL;
    const double start = lud_clock_seconds();
    if (!status) status = open_fixpoint(model->base, &fixpoint, error);
    if (!status && fixpoint) {
        int64_t n = 0;
        for (int32_t p = 1; p <= model->base->n_predicates; p++) n += lud_fixpoint_count(fixpoint, p);
        const double seconds = lud_clock_seconds() - start;
        if (!json) printf("%" PRId64 " atoms in the least fixpoint, %.2f s\n", n, seconds);
        json_object_set_new(root, "fixpoint",
                            json_pack("{s:I, s:f}", "atoms", (json_int_t)n, "seconds", seconds));
    }
    if (!json && !status)
        printf("%s (proof): %d facts, %d rules\n\n%-8s %8s %8s %8s %10s %9s %10s\n", scenario->name,
               model->base->n_facts, model->base->n_rules, "", "queries", "proved", "refuted", "undecided",
               "no tree", "seconds");
    for (int list = LUD_PROOF_VALID; list < LUD_PROOF_SPLITS && !status; list++) {
        solved s = {0};
        lud_text proofs = {0}, path = {0};
        status = solve_split(model, fixpoint, list, &s, &proofs, error);
        lud_text_append(&path, "%s/%s_proofs.txt", folder, names[list]);
        if (!status && (proofs.failed || path.failed)) status = lud_no_memory(error, "the proofs");
        if (!status)
            status = lud_file_write(path.bytes, proofs.bytes ? proofs.bytes : "", proofs.length, error);
        if (!status && !json)
            printf("%-8s %8" PRId64 " %8" PRId64 " %8" PRId64 " %10" PRId64 " %9" PRId64 " %10.2f\n",
                   names[list], s.n, s.answers[LUD_PROVER_PROVED], s.answers[LUD_PROVER_REFUTED],
                   s.answers[LUD_PROVER_UNDECIDED], s.without_tree, s.seconds);
        json_object_set_new(root, names[list],
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "queries", (json_int_t)s.n, "proved",
                                      (json_int_t)s.answers[LUD_PROVER_PROVED], "refuted",
                                      (json_int_t)s.answers[LUD_PROVER_REFUTED], "undecided",
                                      (json_int_t)s.answers[LUD_PROVER_UNDECIDED], "without_tree",
                                      (json_int_t)s.without_tree, "seconds", s.seconds));
        lud_text_free(&proofs);
        lud_text_free(&path);
    }
    lud_fixpoint_destroy(fixpoint);
    lud_run_lock_release(&lock);
    if (!status && json) return lud_print_json(root, error);
    json_decref(root);
    if (status) return status;
    printf("\nproofs of every query are in %s/%s_proofs.txt and %s/%s_proofs.txt\n", folder,
           names[LUD_PROOF_VALID], folder, names[LUD_PROOF_TEST]);
    return lud_flush_output(error);
}
