#include "cli/proof_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "learn/learner.h"
#include "learn/proof_ppo/beam.h"
#include "learn/proof_ppo/policy.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/store/run.h"
#include "sim/proof/fixpoint.h"
#include "sim/proof/prover.h"

/* What the exact prover may derive and try for one question; more counts as undecided. A ranking only wants
 * to know how much can be proved at all, `solve` wants the answers. */
typedef struct effort {
    int64_t atoms, work;
} effort;
static const effort for_ranking = {100000, 1000000}, for_solving = {200000, 3000000};
/* What the least fixpoint may take, which decides the questions that are too much for the prover. */
static const size_t max_fixpoint_bytes = (size_t)12 << 30;

/* ---- a trained run ---- */

bool lud_proof_run_is(const lud_scenario *scenario, const char *path) {
    const lud_learner_kind *kind = NULL;
    return scenario->learner && lud_learner_kind_of(scenario, &kind, NULL) == LUD_OK &&
           kind == &lud_learner_proof_ppo && lud_learned_is(path);
}

/* ---- derivability ---- */

static lud_status ask(const lud_proof_base *base, const lud_proof_atom *query, effort limits,
                      lud_prover_answer *answer, lud_proof_tree *tree, lud_error *error) {
    const lud_prover_options options = {.excluded =
                                            lud_proof_find_fact(base, query, lud_proof_atom_hash(query)),
                                        .max_atoms = limits.atoms,
                                        .max_work = limits.work};
    lud_prover *prover = NULL;
    lud_status status = lud_prover_create(base, &options, &prover, error);
    if (!status) status = lud_prover_ask(prover, query, answer, error);
    if (!status && tree && *answer == LUD_PROVER_PROVED) status = lud_prover_tree(prover, query, tree, error);
    lud_prover_destroy(prover);
    return status;
}

/* ---- ludus eval ---- */

typedef struct table {
    const lud_proof_model *model;
    const lud_proof_rank_options *options;
    const char *split;
    int list; /* lud_proof_split */
    int32_t n;
    lud_proof_ranking_query *queries;
    uint8_t *answers; /* [n] lud_prover_answer */
    uint8_t *keep;
    double seconds;
} table;

static json_t *summary_json(const table *t, const uint8_t *keep) {
    const lud_proof_ranking_summary s = lud_proof_ranking_summarise(t->options, t->queries, t->n, keep);
    int64_t derivable = 0, undecided = 0;
    for (int32_t i = 0; i < t->n; i++) {
        derivable += (!keep || keep[i]) && t->answers[i] == LUD_PROVER_PROVED;
        undecided += (!keep || keep[i]) && t->answers[i] == LUD_PROVER_UNDECIDED;
    }
    const double n = s.n_queries ? (double)s.n_queries : 1, m = s.n_negatives ? (double)s.n_negatives : 1;
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "queries",
                     (json_int_t)s.n_queries, "mrr", s.mrr, "hits_1", s.hits1, "hits_3", s.hits3, "hits_10",
                     s.hits10, "mrr_head", s.mode_mrr[0], "mrr_tail", s.mode_mrr[1], "proved",
                     (double)s.n_proved / n, "derivable", (double)derivable / n, "undecided",
                     (double)undecided / n, "corrupted_proved", (double)s.n_negatives_proved / m, "length",
                     s.length);
}

static void print_row(const table *t, const char *name, const uint8_t *keep) {
    json_t *row = summary_json(t, keep);
    printf("%-22.22s %7" JSON_INTEGER_FORMAT " %7.4f %7.4f %7.4f %7.4f  %6.1f%% %8.1f%%  %8.3f%% %7.2f\n",
           name, json_integer_value(json_object_get(row, "queries")),
           json_real_value(json_object_get(row, "mrr")), json_real_value(json_object_get(row, "hits_1")),
           json_real_value(json_object_get(row, "hits_3")), json_real_value(json_object_get(row, "hits_10")),
           100 * json_real_value(json_object_get(row, "proved")),
           100 * json_real_value(json_object_get(row, "derivable")),
           100 * json_real_value(json_object_get(row, "corrupted_proved")),
           json_real_value(json_object_get(row, "length")));
    json_decref(row);
}

static int32_t keep_depth(table *t, int32_t depth) {
    int32_t n = 0;
    for (int32_t i = 0; i < t->n; i++)
        n += t->keep[i] = t->model->pool_depths[t->list][t->queries[i].index] == depth;
    return n;
}

static int32_t keep_predicate(table *t, int32_t predicate) {
    int32_t n = 0;
    for (int32_t i = 0; i < t->n; i++)
        n += t->keep[i] = t->model->pools[t->list].atoms[t->queries[i].index].predicate == predicate;
    return n;
}

enum { MAX_DEPTH_ROW = 64 };

static void print_ranking(table *t) {
    char search[64] = "most probable path", beside[96] = "", among[32] = "all";
    if (t->options->candidates) snprintf(among, sizeof among, "%" PRId64 " sampled", t->options->candidates);
    if (t->options->best_first > 0)
        snprintf(search, sizeof search, "best-first search, %" PRId64 " expansions", t->options->best_first);
    else if (t->options->beam > 1)
        snprintf(search, sizeof search, "beam of %" PRId64, t->options->beam);
    else if (t->options->score == LUD_PROOF_SCORE_ODDS)
        snprintf(search, sizeof search, "odds of going on along the most probable path");
    if (t->options->fusion.run && t->options->fusion.kind != LUD_PROOF_FUSION_NONE)
        snprintf(beside, sizeof beside, ", %s with embeddings", lud_proof_fusions[t->options->fusion.kind]);
    printf("%d %s queries, %s corruptions of each argument, ties by %s, %s%s, %.1f s\n\n", t->n, t->split,
           among, t->options->ties == LUD_PROOF_TIES_MEAN ? "mean rank" : "draw", search, beside, t->seconds);
    printf("%-22s %7s %7s %7s %7s %7s  %7s %9s  %9s %7s\n", "", "queries", "MRR", "Hits@1", "Hits@3",
           "Hits@10", "proved", "derivable", "corrupted", "length");
    print_row(t, "all", NULL);
    int32_t undecided = 0;
    for (int32_t i = 0; i < t->n; i++) undecided += t->answers[i] == LUD_PROVER_UNDECIDED;
    if (undecided)
        printf(
            "(of %d more queries the exact prover did not find out within its limits whether they follow)\n",
            undecided);
    char name[32];
    for (int32_t depth = -1; depth <= MAX_DEPTH_ROW; depth++) {
        snprintf(name, sizeof name, depth < 0 ? "no proof stated" : "depth %d", depth);
        if (keep_depth(t, depth)) print_row(t, name, t->keep);
    }
    for (int32_t p = 1; p <= t->model->base->n_predicates; p++)
        if (keep_predicate(t, p)) print_row(t, t->model->base->predicates[p], t->keep);
}

static lud_status print_ranking_json(table *t, lud_error *error) {
    json_t *root = summary_json(t, NULL), *depths = json_object(), *predicates = json_object();
    char name[32];
    for (int32_t depth = -1; depth <= MAX_DEPTH_ROW; depth++) {
        snprintf(name, sizeof name, "%d", depth);
        if (keep_depth(t, depth)) json_object_set_new(depths, name, summary_json(t, t->keep));
    }
    for (int32_t p = 1; p <= t->model->base->n_predicates; p++)
        if (keep_predicate(t, p))
            json_object_set_new(predicates, t->model->base->predicates[p], summary_json(t, t->keep));
    json_object_set_new(root, "split", json_string(t->split));
    json_object_set_new(root, "seconds", json_real(t->seconds));
    json_object_set_new(root, "depths", depths);
    json_object_set_new(root, "predicates", predicates);
    return lud_print_json(root, error);
}

static lud_status fill(table *t, lud_proof_net *net, int n_threads, lud_error *error) {
    lud_proof_ranker *ranker = NULL;
    const lud_proof_pool pool = t->model->pools[t->list];
    const lud_proof_fusion *fusion = &t->options->fusion;
    const bool fused = fusion->run && fusion->kind != LUD_PROOF_FUSION_NONE;
    lud_kge kge = {0};
    lud_status status = fused ? lud_kge_load(fusion->run, t->model->base, &kge, error) : LUD_OK;
    if (!status)
        status = lud_proof_ranker_create(t->model, fused && fusion->kind == LUD_PROOF_FUSION_KGE ? NULL : net,
                                         t->options, (lud_proof_corrupt)t->model->options.negatives.corrupt,
                                         n_threads, &ranker, error);
    if (!status && fused) lud_proof_ranker_use_kge(ranker, &kge);
    const double start = lud_clock_seconds();
    if (!status) status = lud_proof_rank(ranker, pool, 0, t->n, t->queries, error);
    t->seconds = lud_clock_seconds() - start;
    lud_proof_ranker_destroy(ranker);
    lud_kge_free(&kge);
    for (int32_t i = 0; i < t->n && !status; i++) {
        lud_prover_answer answer;
        status = ask(t->model->base, &pool.atoms[i], for_ranking, &answer, NULL, error);
        t->answers[i] = (uint8_t)answer;
    }
    return status;
}

lud_status lud_proof_report_ranking(const lud_scenario *scenario, const char *folder, const char *split,
                                    int64_t n_queries, bool json, lud_error *error) {
    table t = {.split = split ? split : "test", .list = LUD_PROOF_TEST};
    if (strcmp(t.split, "valid") == 0)
        t.list = LUD_PROOF_VALID;
    else if (strcmp(t.split, "test") != 0)
        return lud_fail(error, LUD_ERROR_INPUT, "--split %s: expected valid or test", split);
    lud_learned run;
    lud_status status = lud_learned_open(folder, scenario, "cpu", &lud_learner_proof_ppo, &run, error);
    if (status) return status;
    lud_proof_net *net = lud_proof_ppo_net(run.learner, true);
    t.model = net->model;
    t.options = &lud_proof_ppo_get_options(run.learner)->evaluation.rank;
    t.n = t.model->pools[t.list].n;
    if (n_queries > 0 && n_queries < t.n) t.n = (int32_t)n_queries;
    t.queries = calloc((size_t)t.n + 1, sizeof *t.queries);
    t.answers = calloc((size_t)t.n + 1, 1);
    t.keep = calloc((size_t)t.n + 1, 1);
    if (!t.queries || !t.answers || !t.keep)
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for the ranking");
    if (!status) status = fill(&t, net, (int)scenario->run.threads, error);
    if (!status && json) status = print_ranking_json(&t, error);
    if (!status && !json) {
        print_ranking(&t);
        status = lud_flush_output(error);
    }
    free(t.queries);
    free(t.answers);
    free(t.keep);
    lud_learned_close(&run);
    return status;
}

/* ---- ludus run --query ---- */

static lud_status print_proof(lud_proof_net *net, const lud_proof_atom *query, int64_t width,
                              lud_error *error) {
    const lud_proof_model *model = net->model;
    lud_proof_beam *beam = NULL;
    lud_proof_tree tree = {0};
    lud_text text = {0};
    lud_proof_found result;
    uint8_t *state = calloc(1, model->model.layout.state_bytes);
    lud_status status = state ? lud_proof_beam_create(net, 1, (int32_t)width, &beam, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a search");
    if (!status) {
        lud_proof_beam_run(beam, query, 1, &result, state);
        if (result.proved) {
            status = lud_proof_tree_of(model, state, &tree, error);
            if (!status) {
                lud_proof_tree_print(model->base, &tree, &text);
                lud_text_append(&text, "\nproved in %d steps, log-probability %.3f\n", result.length,
                                result.log_prob);
            }
        } else {
            lud_prover_answer answer;
            lud_proof_print_atom(model->base, NULL, query, &text);
            status = ask(model->base, query, for_solving, &answer, NULL, error);
            lud_text_append(&text, ": no proof found among %" PRId64 " paths at a time; %s\n", width,
                            answer == LUD_PROVER_PROVED ? "it does follow (ludus solve shows how much does)"
                            : answer == LUD_PROVER_REFUTED ? "it does not follow from the facts and rules"
                                                           : "whether it follows is undecided");
        }
    }
    if (!status && text.bytes) fputs(text.bytes, stdout);
    lud_text_free(&text);
    lud_proof_tree_free(&tree);
    lud_proof_beam_destroy(beam);
    free(state);
    return status ? status : lud_flush_output(error);
}

lud_status lud_proof_report_query(const lud_scenario *scenario, const char *folder, const char *query,
                                  int64_t width, lud_error *error) {
    if (scenario->world != &lud_proof_world)
        return lud_fail(error, LUD_ERROR_INPUT, "--query: only the world 'proof' answers queries");
    const lud_proof_model *model = (const lud_proof_model *)(const void *)scenario->model;
    lud_proof_atom atom;
    lud_status status = lud_proof_parse_atom(model->base, query, &atom, error);
    if (status) return lud_fail_context(error, "--query");
    lud_learned run;
    status = lud_learned_open(folder, scenario, "cpu", &lud_learner_proof_ppo, &run, error);
    if (!status) status = print_proof(lud_proof_ppo_net(run.learner, true), &atom, width, error);
    lud_learned_close(&run);
    return status;
}

/* ---- ludus solve ---- */

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
    lud_status status = ask(base, query, for_solving, answer, tree, error);
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

lud_status lud_proof_report_solve(const lud_scenario *scenario, const char *folder, bool json,
                                  lud_error *error) {
    static const char *const names[] = {"train", "valid", "test"};
    const lud_proof_model *model = (const lud_proof_model *)(const void *)scenario->model;
    lud_status status = lud_folder_make(folder, error);
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
        if (!status && (proofs.failed || path.failed))
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for the proofs");
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
    if (!status && json) return lud_print_json(root, error);
    json_decref(root);
    if (status) return status;
    printf("\nproofs of every query are in %s\n", folder);
    return lud_flush_output(error);
}
