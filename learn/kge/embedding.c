#include "learn/kge/embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/runs/parameters.h"

/* FNV-1a over all names in order, their ends included. */
static uint64_t names_hash(const lud_proof_base *base) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int list = 0; list < 2; list++) {
        const int32_t n = list ? base->n_predicates : base->n_constants;
        const char *const *names = list ? base->predicates : base->constants;
        for (int32_t i = 1; i <= n; i++)
            for (const char *c = names[i];; c++) {
                hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
                if (!*c) break;
            }
    }
    return hash;
}

void lud_kge_visit_shape(const lud_kge_shape *shape, const lud_proof_base *base, lud_checkpoint *checkpoint) {
    const uint64_t now[] = {(uint64_t)shape->scorer, (uint64_t)shape->norm, (uint64_t)shape->dimension,
                            names_hash(base)};
    static const char *const keys[] = {"kge.scorer", "kge.norm", "kge.dimension", "kge.names"};
    for (int i = 0; i < 4; i++) {
        uint64_t value = now[i];
        lud_checkpoint_u64(checkpoint, keys[i], &value);
        if (value != now[i])
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "%s: the run was trained with another %s",
                                keys[i], i < 3 ? "setting" : "set of names (facts and queries)");
    }
    double margin = shape->margin;
    lud_checkpoint_real(checkpoint, "kge.margin", &margin);
}

static uint64_t read_number(const lud_checkpoint *checkpoint, const char *name) {
    const lud_tensor *t = lud_checkpoint_find(checkpoint, name);
    uint64_t value = UINT64_MAX;
    if (t && t->bytes == sizeof value) memcpy(&value, t->data, sizeof value);
    return value;
}

static const float *read_table(const lud_checkpoint *checkpoint, const char *name, int64_t n, int64_t width) {
    const lud_tensor *t = lud_checkpoint_find(checkpoint, name);
    if (!t || t->type != LUD_TENSOR_F32 || t->bytes != (size_t)(n * width) * sizeof(float)) return NULL;
    return t->data;
}

lud_status lud_kge_load(const char *folder, const lud_proof_base *base, lud_kge *kge, lud_error *error) {
    *kge = (lud_kge){.n_entities = base->n_constants, .n_relations = base->n_predicates};
    lud_status status = lud_run_parameters(folder, NULL, NULL, &kge->checkpoint, NULL, error);
    if (status) return status;
    const lud_checkpoint *c = kge->checkpoint;
    const uint64_t scorer = read_number(c, "kge.scorer"), dimension = read_number(c, "kge.dimension"),
                   norm = read_number(c, "kge.norm"), margin = read_number(c, "kge.margin");
    if (scorer >= LUD_KGE_SCORERS || dimension == 0 || dimension > 1 << 20)
        status = lud_invalid(error, "%s: no embeddings in this run; expected one of learner kge", folder);
    else if (read_number(c, "kge.names") != names_hash(base))
        status = lud_invalid(error,
                             "%s: trained on other constants or predicates; expected those of this scenario "
                             "(the same facts and query files)",
                             folder);
    if (!status) {
        kge->shape =
            (lud_kge_shape){.scorer = (int)scorer, .norm = (int64_t)norm, .dimension = (int64_t)dimension};
        memcpy(&kge->shape.margin, &margin, sizeof kge->shape.margin);
        const int64_t width = lud_kge_entity_width(&kge->shape);
        const bool best =
            lud_checkpoint_find(c, "best.entity") != NULL; /* a checkpoint has the last ones too */
        kge->entities = read_table(c, best ? "best.entity" : "entity", kge->n_entities, width);
        kge->relations = read_table(c, best ? "best.relation" : "relation", kge->n_relations,
                                    lud_kge_relation_width(&kge->shape));
        kge->query = malloc((size_t)width * sizeof *kge->query);
        if (!kge->entities || !kge->relations)
            status = lud_invalid(error, "%s: the embeddings have another shape", folder);
        else if (!kge->query)
            status = lud_no_memory(error, "embeddings");
    }
    if (status) lud_kge_free(kge);
    return status;
}

void lud_kge_free(lud_kge *kge) {
    lud_checkpoint_destroy(kge->checkpoint);
    free(kge->query);
    *kge = (lud_kge){0};
}

void lud_kge_score_atoms(const lud_kge *kge, const lud_proof_atom *atoms, int32_t n, double *scores) {
    const int64_t width = lud_kge_entity_width(&kge->shape),
                  relation_width = lud_kge_relation_width(&kge->shape);
    int32_t head = 0, relation = 0;
    for (int32_t i = 0; i < n; i++) {
        const lud_proof_atom *a = &atoms[i];
        if (a->predicate == 0) {
            scores[i] = -INFINITY;
            continue;
        }
        if (a->predicate != relation || a->terms[0] != head)
            lud_kge_query(&kge->shape, LUD_KGE_TAIL, kge->entities + (a->terms[0] - 1) * width,
                          kge->relations + (a->predicate - 1) * relation_width, kge->query);
        relation = a->predicate;
        head = a->terms[0];
        scores[i] = lud_kge_score(&kge->shape, kge->query, kge->entities + (a->terms[1] - 1) * width);
    }
}

double lud_kge_log_probability(double score) {
    return log(fmax(1.0 / (1.0 + exp(-score)), 1e-9));
}
