/* make_family_tree FOLDER [SEED]: writes train.txt, valid.txt, test.txt into a folder that has a rules.txt,
 * and
 * *_depths.txt with the least number of proof steps of each triple (-1: none within the limit). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "sim/proof/knowledge/family_tree.h"
#include "sim/proof/prover.h"

enum { MAX_DEPTH = 5, MAX_GOALS = 6, MAX_STATES = 100000 };
static const char *const splits[LUD_PROOF_SPLITS] = {"train", "valid", "test"};

static lud_status write_depths(const lud_proof_base *base, lud_proof_split split, const char *path,
                               lud_error *error) {
    lud_text out = {0};
    lud_status status = LUD_OK;
    int n = base->n_queries[split], histogram[MAX_DEPTH + 1] = {0};
    int32_t *steps = malloc((size_t)(n > 0 ? n : 1) * sizeof *steps);
    if (!steps) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    for (int i = 0; !status && i < n; i++) {
        lud_proof_search_options options = {MAX_DEPTH, MAX_GOALS, MAX_STATES};
        lud_proof_search_result result;
        status = lud_proof_search(base, &base->queries[split][i].atom, &options, &result, error);
        steps[i] = result.steps;
        lud_proof_search_result_free(&result);
        if (status) break;
        histogram[steps[i] < 0 ? 0 : steps[i]]++;
        lud_proof_print_atom(base, NULL, &base->queries[split][i].atom, &out);
        lud_text_append(&out, " %d\n", steps[i]);
    }
    if (!status && out.failed) status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) status = lud_file_write(path, out.bytes, out.length, error);
    printf("%s: %d triples, not proved %d", path, n, histogram[0]);
    for (int d = 1; d <= MAX_DEPTH; d++) printf(", in %d steps %d", d, histogram[d]);
    printf("\n");
    free(steps);
    lud_text_free(&out);
    return status;
}

static lud_status make(const char *folder, uint64_t seed, lud_error *error) {
    lud_text texts[LUD_PROOF_SPLITS] = {{0}}, path = {0};
    lud_family_options options = lud_family_default();
    options.seed = seed;
    lud_arena *arena = lud_arena_create(0);
    lud_proof_builder *builder = lud_proof_builder_create(LUD_PROOF_TRIPLES);
    lud_proof_base *base = NULL;
    lud_status status = arena && builder ? lud_family_write(&options, &texts[0], &texts[1], &texts[2], error)
                                         : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    for (int s = 0; !status && s < LUD_PROOF_SPLITS; s++) {
        lud_text_clear(&path);
        lud_text_append(&path, "%s/%s.txt", folder, splits[s]);
        status = lud_file_write(path.bytes, texts[s].bytes, texts[s].length, error);
        if (!status)
            status = lud_proof_read_queries(builder, (lud_proof_split)s, path.bytes, texts[s].bytes,
                                            texts[s].length, error);
    }
    char *rules;
    size_t length;
    if (!status) status = lud_proof_read_facts(builder, "train.txt", texts[0].bytes, texts[0].length, error);
    lud_text_clear(&path);
    lud_text_append(&path, "%s/rules.txt", folder);
    if (!status) status = lud_file_read(arena, path.bytes, 0, &rules, &length, error);
    if (!status) status = lud_proof_read_rules(builder, path.bytes, rules, length, error);
    if (!status) status = lud_proof_build(builder, NULL, &base, error);
    for (int s = 0; !status && s < LUD_PROOF_SPLITS; s++) {
        lud_text_clear(&path);
        lud_text_append(&path, "%s/%s_depths.txt", folder, splits[s]);
        status = write_depths(base, (lud_proof_split)s, path.bytes, error);
    }
    lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
    lud_arena_destroy(arena);
    for (int s = 0; s < LUD_PROOF_SPLITS; s++) lud_text_free(&texts[s]);
    lud_text_free(&path);
    return status;
}

int main(int n_arguments, char **arguments) {
    if (n_arguments < 2 || n_arguments > 3) {
        fprintf(stderr, "usage: make_family_tree FOLDER [SEED]\n");
        return 2;
    }
    lud_error error = {0};
    if (make(arguments[1], n_arguments > 2 ? strtoull(arguments[2], NULL, 10) : lud_family_default().seed,
             &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    return 0;
}
