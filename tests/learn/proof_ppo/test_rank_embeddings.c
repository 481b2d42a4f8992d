/* Ranks by embeddings alone: of every corruption there is and of some, with scores that are equal and that
 * are not, against scores that are taken one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/proof_ppo/evaluation/ranking.h"
#include "learn/proof_ppo/support_proof.h"
#include "sim/proof/proof_model.h"

enum { WIDTH = 3, QUERIES = 12 };

typedef struct scene {
    lud_scenario *scenario;
    const lud_proof_model *model;
    float *entities, *relations, query[WIDTH];
    lud_kge kge;
} scene;

/* Embeddings of a few whole numbers, so that many scores are equal, or of any. */
static scene begin(bool whole) {
    scene s = {.scenario = support_proof_scenario(NULL, 0)};
    s.model = (const lud_proof_model *)(const void *)s.scenario->model;
    const lud_proof_base *base = s.model->base;
    s.entities = malloc((size_t)base->n_constants * WIDTH * sizeof *s.entities);
    s.relations = malloc((size_t)base->n_predicates * WIDTH * sizeof *s.relations);
    for (int32_t i = 0; i < base->n_constants * WIDTH; i++)
        s.entities[i] = whole ? (float)(i * 7 % 5 / 2 - (i * 11 % 13 == 0)) : (float)sin(1.3 * i + 0.1);
    for (int32_t i = 0; i < base->n_predicates * WIDTH; i++)
        s.relations[i] = whole ? (float)(i % 3 - 1) : (float)cos(0.7 * i);
    return s;
}

static const lud_kge *kge_of(scene *s) {
    s->kge = (lud_kge){.shape = {.scorer = LUD_KGE_DISTMULT, .norm = 1, .dimension = WIDTH},
                       .n_entities = s->model->base->n_constants,
                       .n_relations = s->model->base->n_predicates,
                       .entities = s->entities,
                       .relations = s->relations,
                       .query = s->query};
    return &s->kge;
}

static void end(scene *s) {
    free(s->entities);
    free(s->relations);
    lud_scenario_destroy(s->scenario);
}

static double score_of(const scene *s, const lud_proof_atom *a) {
    double sum = 0.0;
    for (int k = 0; k < WIDTH; k++)
        sum += (double)(s->entities[(a->terms[0] - 1) * WIDTH + k] *
                        s->relations[(a->predicate - 1) * WIDTH + k]) *
               (double)s->entities[(a->terms[1] - 1) * WIDTH + k];
    return sum;
}

/* Whatever the order of atoms, each has its own score; a blank one has one that no other has. */
static void test_atoms_are_scored_one_by_one(void **unused) {
    (void)unused;
    enum { ATOMS = 200 };
    scene s = begin(false);
    const lud_kge *kge = kge_of(&s);
    lud_proof_atom atoms[ATOMS] = {{0}};
    double scores[ATOMS];
    for (int i = 0; i < ATOMS; i++) {
        if (i % 17 == 5) continue;
        atoms[i].predicate = 1 + i / 9 % s.model->base->n_predicates;
        atoms[i].terms[0] = 1 + i / 4 % 5;
        atoms[i].terms[1] = 1 + i * 3 % s.model->base->n_constants;
    }
    lud_kge_score_atoms(kge, atoms, ATOMS, scores);
    for (int i = 0; i < ATOMS; i++)
        if (atoms[i].predicate)
            assert_true(fabs(scores[i] - score_of(&s, &atoms[i])) < 1e-5);
        else
            assert_true(isinf(scores[i]) && scores[i] < 0);
    end(&s);
}

/* Corruptions of each argument: all, none of which is known, or as many as are asked for. */
static void test_ranks_among_corruptions(void **unused) {
    (void)unused;
    for (int whole = 0; whole < 2; whole++) {
        scene s = begin(whole);
        const lud_kge *kge = kge_of(&s);
        const int32_t n_constants = s.model->base->n_constants;
        const lud_proof_pool pool = s.model->pools[LUD_PROOF_TEST];
        lud_proof_atom *list = calloc((size_t)n_constants, sizeof *list);
        const int64_t candidates[] = {0, 1, 7, n_constants - 1, n_constants, n_constants + 9};
        int between = 0, tied = 0;
        for (size_t c = 0; c < sizeof candidates / sizeof *candidates; c++)
            for (int corrupt = LUD_PROOF_HEAD; corrupt <= LUD_PROOF_BOTH; corrupt++) {
                const lud_proof_rank_options options = {.n_slots = 1,
                                                        .candidates = candidates[c],
                                                        .beam = 1,
                                                        .tie_seed = 4,
                                                        .fusion = {.kind = LUD_PROOF_FUSION_KGE}};
                lud_proof_ranker *ranker = NULL;
                lud_proof_ranking_query ranked[QUERIES];
                assert_int_equal(lud_proof_ranker_create(s.model, NULL, &options, (lud_proof_corrupt)corrupt,
                                                         1, &ranker, NULL),
                                 LUD_OK);
                lud_proof_ranker_use_kge(ranker, kge);
                assert_int_equal(lud_proof_rank(ranker, pool, 3, QUERIES, ranked, NULL), LUD_OK);
                for (int q = 0; q < QUERIES; q++) {
                    const lud_proof_atom *query = &pool.atoms[3 + q];
                    assert_int_equal(ranked[q].index, 3 + q);
                    for (int mode = 0; mode < 2; mode++) {
                        const lud_proof_ranked *r = &ranked[q].modes[mode];
                        assert_int_equal(r->played, corrupt == LUD_PROOF_BOTH || mode == corrupt);
                        if (!r->played) continue;
                        const bool all = candidates[c] == 0 || candidates[c] >= n_constants;
                        const int32_t n = lud_proof_corruptions(
                            s.model, query, (lud_proof_corrupt)mode, all ? 0 : (int32_t)candidates[c],
                            (lud_random_key){4, (uint32_t)(3 + q)}, (uint32_t)mode, list, n_constants);
                        int above = 0, equal = 0;
                        for (int32_t i = 0; i < n; i++) {
                            const double difference = score_of(&s, &list[i]) - score_of(&s, query);
                            above += difference > 1e-5;
                            equal += fabs(difference) <= 1e-5;
                            assert_true(whole || fabs(difference) > 1e-7);
                        }
                        if (!whole && equal) continue; /* too near to be told apart by floats */
                        assert_int_equal(r->n_negatives, n);
                        assert_int_equal(r->n_negatives_proved, 0);
                        assert_true(r->mean_rank == 1.0 + above + 0.5 * equal);
                        assert_true(r->rank >= 1.0 + above && r->rank <= 1.0 + above + equal);
                        between += above > 0 && above < n;
                        tied += equal > 0 && r->rank > 1.0 + above && r->rank < 1.0 + above + equal;
                    }
                }
                lud_proof_ranker_destroy(ranker);
            }
        assert_true(between > 50);
        assert_true(!whole || tied > 50);
        free(list);
        end(&s);
    }
}

/* Where scores are equal a draw decides, another one for each seed, so that the mean over seeds is the mean
 * rank. */
static void test_draws_decide_between_equals(void **unused) {
    (void)unused;
    enum { SEEDS = 60 };
    scene s = begin(true);
    const lud_kge *kge = kge_of(&s);
    double off = 0.0, spread = 0.0;
    int n = 0, changed = 0;
    lud_proof_ranking_query first[QUERIES];
    for (int seed = 0; seed < SEEDS; seed++) {
        const lud_proof_rank_options options = {
            .n_slots = 1, .beam = 1, .tie_seed = seed, .fusion = {.kind = LUD_PROOF_FUSION_KGE}};
        lud_proof_ranker *ranker = NULL;
        lud_proof_ranking_query ranked[QUERIES];
        assert_int_equal(lud_proof_ranker_create(s.model, NULL, &options, LUD_PROOF_BOTH, 1, &ranker, NULL),
                         LUD_OK);
        lud_proof_ranker_use_kge(ranker, kge);
        assert_int_equal(lud_proof_rank(ranker, s.model->pools[LUD_PROOF_TEST], 0, QUERIES, ranked, NULL),
                         LUD_OK);
        for (int q = 0; q < QUERIES; q++)
            for (int mode = 0; mode < 2; mode++) {
                const lud_proof_ranked *r = &ranked[q].modes[mode];
                if (seed == 0) first[q] = ranked[q];
                /* all are looked at, so that only draws differ */
                assert_true(r->mean_rank == first[q].modes[mode].mean_rank);
                changed += r->rank != first[q].modes[mode].rank;
                const double step = (r->rank - r->mean_rank) / (1.0 + r->n_negatives);
                off += step;
                spread += step * step;
                n++;
            }
        lud_proof_ranker_destroy(ranker);
    }
    assert_true(changed > n / 2 && spread > 0.0);
    assert_true(fabs(off) < 5.0 * sqrt(spread));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_atoms_are_scored_one_by_one),
        cmocka_unit_test(test_ranks_among_corruptions),
        cmocka_unit_test(test_draws_decide_between_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
