/* What provers and embeddings reach on the standard knowledge graphs: trains the shipped scenarios with
 * several seeds and ranks the test queries, so that the figures of the documentation can be made again. Most
 * of an hour; run from the folder that holds `scenarios`. The data sets are looked for in the folder that the
 * environment variable LUDUS_PROOF_SETS names (folders family, umls, wn18rr and countries_s3), else beside
 * the scenarios; a set that is not there is left out with a message.
 *
 * To add a result: one line in `sets`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "learn/kge/kge.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "tests/bench/bench.h"

enum { SEEDS = 3 };

typedef struct proof_set {
    const char *name, *scenario;
    const char *embeddings;        /* scenario of embeddings, or null */
    int32_t n_queries, candidates; /* test queries ranked and corruptions of each argument; 0: all */
    int32_t n_beside;              /* queries ranked with embeddings */
    double proofs, alone, beside;  /* published mean reciprocal ranks, 0: none */
} proof_set;

#define FOLDER "scenarios/proof/"
static const proof_set sets[] = {
    {"family", FOLDER "family.yaml", FOLDER "family_kge.yaml", 500, 100, 500, 0.645, 0.953, 0.986},
    {"umls", FOLDER "umls.yaml", FOLDER "umls_kge.yaml", 500, 100, 500, 0.440, 0.742, 0.724},
    {"wn18rr", FOLDER "wn18rr.yaml", FOLDER "wn18rr_kge.yaml", 100, 100, 100, 0.374, 0.832, 0.845},
    {"countries_s3", FOLDER "countries.yaml", NULL, 0, 0, 0, 0, 0, 0},
};

/* Mean reciprocal ranks, and processor seconds of one training of either learner. */
enum { PATH, BEAM, ALONE, BESIDE, PROVER_SECONDS, EMBEDDINGS_SECONDS, N_RESULTS };

static lud_status train(const char *file, const char *folder, int seed, lud_bench_learner *t, double *seconds,
                        lud_error *error) {
    char set_seed[32], set_folder[1024], label[128];
    const char *const set[] = {set_seed, set_folder};
    snprintf(set_seed, sizeof set_seed, "run.seed=%d", seed);
    snprintf(set_folder, sizeof set_folder, "proof.folder=%s", folder);
    snprintf(label, sizeof label, "%s, seed %d", file, seed);
    const lud_status status = lud_bench_learner_open(file, set, 2, t, error);
    return status ? status : lud_bench_learn(t->learner, label, seconds, error);
}

/* Ranks the first n test queries (0: all) with the prover's best weights, and the embeddings where given. */
static lud_status rank(const lud_bench_learner *prover, lud_proof_rank_options options, const lud_kge *kge,
                       int32_t n, double *mrr, lud_error *error) {
    const lud_proof_model *model = lud_proof_ppo_model(prover->learner);
    const lud_proof_pool pool = model->pools[LUD_PROOF_TEST];
    if (n == 0 || n > pool.n) n = pool.n;
    lud_proof_ranker *ranker = NULL;
    lud_proof_ranking_query *ranked = calloc((size_t)n + 1, sizeof *ranked);
    lud_status status = ranked ? LUD_OK : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status)
        status = lud_proof_ranker_create(model, lud_proof_ppo_net(prover->learner, true), &options,
                                         (lud_proof_corrupt)model->options.negatives.corrupt,
                                         (int)prover->scenario->run.threads, &ranker, error);
    if (!status) {
        lud_proof_ranker_use_kge(ranker, kge);
        status = lud_proof_rank(ranker, pool, 0, n, ranked, error);
    }
    if (!status) *mrr = lud_proof_ranking_summarise(&options, ranked, n, NULL).mrr;
    lud_proof_ranker_destroy(ranker);
    free(ranked);
    return status;
}

/* All results of one seed: result[N_RESULTS]. */
static lud_status run_seed(const proof_set *set, const char *folder, int seed, double *result,
                           lud_error *error) {
    lud_bench_learner prover = {0}, embeddings = {0};
    lud_status status = train(set->scenario, folder, seed, &prover, &result[PROVER_SECONDS], error);
    lud_proof_rank_options options = {0};
    if (!status) {
        options = lud_proof_ppo_get_options(prover.learner)->evaluation.rank;
        options.candidates = set->candidates;
        status = rank(&prover, options, NULL, set->n_queries, &result[PATH], error);
    }
    if (!status && !set->embeddings) {
        options.beam = 4;
        status = rank(&prover, options, NULL, set->n_queries, &result[BEAM], error);
    }
    if (!status && set->embeddings) {
        status = train(set->embeddings, folder, seed, &embeddings, &result[EMBEDDINGS_SECONDS], error);
        lud_kge kge = {0};
        if (!status) kge = lud_kge_learned(embeddings.learner);
        options.fusion.kind = LUD_PROOF_FUSION_KGE;
        if (!status) status = rank(&prover, options, &kge, set->n_beside, &result[ALONE], error);
        options.fusion.kind = LUD_PROOF_FUSION_HYBRID;
        options.fusion.fail_penalty = 0.5;
        options.give_up = true; /* what the policy gives up counts as not proved */
        if (!status) status = rank(&prover, options, &kge, set->n_beside, &result[BESIDE], error);
    }
    lud_bench_learner_close(&embeddings);
    lud_bench_learner_close(&prover);
    return status;
}

/* The median of the seeds and, for ranks, the lowest. */
static lud_status add(lud_bench_report *report, const char *set, const char *what, double value[SEEDS],
                      const char *unit, double published, bool lowest, lud_error *error) {
    char name[128];
    snprintf(name, sizeof name, "%s, %s", set, what);
    const lud_bench_row row = {.name = name, .unit = unit, .floor = published};
    lud_status status = lud_bench_add_runs(report, row, SEEDS, value, error);
    if (status || !lowest) return status;
    snprintf(name, sizeof name, "%s, %s, lowest of %d seeds", set, what, SEEDS);
    return lud_bench_add(report, (lud_bench_row){.name = name, .value = value[0], .unit = unit}, error);
}

static lud_status run_set(const proof_set *set, const char *folder, lud_bench_report *report,
                          lud_error *error) {
    double value[N_RESULTS][SEEDS] = {{0.0}};
    lud_status status = LUD_OK;
    for (int seed = 1; seed <= SEEDS && !status; seed++) {
        double result[N_RESULTS] = {0.0};
        status = run_seed(set, folder, seed, result, error);
        for (int k = 0; k < N_RESULTS; k++) value[k][seed - 1] = result[k];
    }
    static const char path[] = "most probable path, MRR", time[] = "prover, processor time";
    if (!status) status = add(report, set->name, path, value[PATH], "", set->proofs, true, error);
    if (!status && !set->embeddings)
        status = add(report, set->name, "beam of 4, MRR", value[BEAM], "", 0, true, error);
    if (!status && set->embeddings)
        status = add(report, set->name, "embeddings, MRR", value[ALONE], "", set->alone, true, error);
    if (!status && set->embeddings)
        status = add(report, set->name, "both, MRR", value[BESIDE], "", set->beside, true, error);
    if (!status) status = add(report, set->name, time, value[PROVER_SECONDS], "s", 0, false, error);
    if (!status && set->embeddings)
        status = add(report, set->name, "embeddings, processor time", value[EMBEDDINGS_SECONDS], "s", 0,
                     false, error);
    return status;
}

static lud_status run_proving(lud_bench_report *report, lud_error *error) {
    const char *base = getenv("LUDUS_PROOF_SETS");
    lud_status status = LUD_OK;
    lud_interrupt_install();
    for (size_t k = 0; k < sizeof sets / sizeof *sets && !status; k++) {
        /* the scenario takes a relative folder from where it lies itself */
        char folder[768], facts[1024];
        snprintf(folder, sizeof folder, "%s/%s", base ? base : "data", sets[k].name);
        snprintf(facts, sizeof facts, "%s%s/train.txt", folder[0] == '/' ? "" : FOLDER, folder);
        if (!lud_bench_wants(report, sets[k].name)) continue;
        if (lud_file_exists(facts))
            status = run_set(&sets[k], folder, report, error);
        else
            fprintf(stderr, "learn/proof: no %s, so %s is left out\n", facts, sets[k].name);
    }
    return status;
}

const lud_bench lud_bench_proving = {.name = "learn/proof",
                                     .about = "what provers and embeddings reach on the standard knowledge "
                                              "graphs, three seeds each",
                                     .run = run_proving,
                                     .slow = true};
