#include "learn/proof_ppo/evaluation/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/runs/run.h"
#include "sim/proof/prover.h"

/* A ranking only wants to know how much can be proved at all. */
static const lud_prover_effort for_ranking = {100000, 1000000};
enum { QUERIES = 500 }; /* that are ranked where nobody says how many */

typedef struct table {
    const lud_proof_model *model;
    const lud_proof_rank_options *options;
    const char *split;
    int list; /* lud_proof_split */
    int32_t n;
    int n_shares; /* that the candidates are played in */
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

static void print_row(const table *t, const char *name, const uint8_t *keep, lud_text *out) {
    json_t *row = summary_json(t, keep);
    lud_text_append(
        out, "%-22.22s %7" JSON_INTEGER_FORMAT " %7.4f %7.4f %7.4f %7.4f  %6.1f%% %8.1f%%  %8.3f%% %7.2f\n",
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

static void print_ranking(table *t, lud_text *out) {
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
    lud_text_append(out, "%d %s queries, %s corruptions of each argument, ties by %s, %s%s, %.1f s\n\n", t->n,
                    t->split, among, t->options->ties == LUD_PROOF_TIES_MEAN ? "mean rank" : "draw", search,
                    beside, t->seconds);
    lud_text_append(out, "%-22s %7s %7s %7s %7s %7s  %7s %9s  %9s %7s\n", "", "queries", "MRR", "Hits@1",
                    "Hits@3", "Hits@10", "proved", "derivable", "corrupted", "length");
    print_row(t, "all", NULL, out);
    int32_t undecided = 0;
    for (int32_t i = 0; i < t->n; i++) undecided += t->answers[i] == LUD_PROVER_UNDECIDED;
    if (undecided)
        lud_text_append(
            out,
            "(of %d more queries the exact prover did not find out within its limits whether they follow)\n",
            undecided);
    char name[32];
    for (int32_t depth = -1; depth <= MAX_DEPTH_ROW; depth++) {
        snprintf(name, sizeof name, depth < 0 ? "no proof stated" : "depth %d", depth);
        if (keep_depth(t, depth)) print_row(t, name, t->keep, out);
    }
    for (int32_t p = 1; p <= t->model->base->n_predicates; p++)
        if (keep_predicate(t, p)) print_row(t, t->model->base->predicates[p], t->keep, out);
}

static json_t *ranking_json(table *t) {
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
    return root;
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
    if (!status) lud_proof_ranker_share(ranker, t->n_shares);
    if (!status && fused) lud_proof_ranker_use_kge(ranker, &kge);
    const double start = lud_clock_seconds();
    if (!status) status = lud_proof_rank(ranker, pool, 0, t->n, t->queries, error);
    t->seconds = lud_clock_seconds() - start;
    lud_proof_ranker_destroy(ranker);
    lud_kge_free(&kge);
    for (int32_t i = 0; i < t->n && !status; i++) {
        lud_prover_answer answer;
        status = lud_prover_answer_query(t->model->base, &pool.atoms[i], for_ranking, &answer, NULL, error);
        t->answers[i] = (uint8_t)answer;
    }
    return status;
}

lud_status lud_proof_evaluate_run(const lud_report_request *request, lud_report *report, lud_error *error) {
    table t = {.split = request->split ? request->split : "test", .list = LUD_PROOF_TEST};
    const int64_t n = request->n_queries < 0 ? QUERIES : request->n_queries;
    if (strcmp(t.split, "valid") == 0)
        t.list = LUD_PROOF_VALID;
    else if (strcmp(t.split, "test") != 0)
        return lud_invalid(error, "--split %s: expected valid or test", t.split);
    lud_learned run;
    lud_status status =
        lud_learned_open(request->folder, request->scenario, "cpu", &lud_learner_proof_ppo, &run, error);
    if (status) return status;
    lud_proof_net *net = lud_proof_ppo_net(run.learner, true);
    t.model = net->model;
    t.options = &lud_proof_ppo_get_options(run.learner)->evaluation.rank;
    t.n_shares = (int)lud_proof_ppo_get_options(run.learner)->update.shares;
    t.n = t.model->pools[t.list].n;
    if (n > 0 && n < t.n) t.n = (int32_t)n;
    t.queries = calloc((size_t)t.n + 1, sizeof *t.queries);
    t.answers = calloc((size_t)t.n + 1, 1);
    t.keep = calloc((size_t)t.n + 1, 1);
    if (!t.queries || !t.answers || !t.keep) status = lud_no_memory(error, "the ranking");
    if (!status) status = fill(&t, net, (int)request->scenario->run.threads, error);
    if (!status && request->json) report->json = ranking_json(&t);
    if (!status && !request->json) print_ranking(&t, &report->text);
    LUD_FREE(t.queries, t.answers, t.keep);
    lud_learned_close(&run);
    return status;
}
