/* Readers of the proof world on arbitrary bytes: the first byte chooses file kind and syntax. Whatever reads
 * is built into a base, and a few of its facts are expanded. Bits of the first byte, from the lowest: syntax,
 * kind of file (2), format of triples (3). */
#include <stddef.h>
#include <stdint.h>

#include "play.h"
#include "sim/proof/proof_model.h"
#include "sim/proof/prover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_GOALS = 6, MAX_SUCCESSORS = 64 };

static void use(const lud_proof_base *base) {
    static int32_t begin[MAX_SUCCESSORS + 1];
    static lud_proof_atom atoms[MAX_SUCCESSORS * MAX_GOALS];
    static uint64_t hash[MAX_SUCCESSORS];
    static lud_proof_step step[MAX_SUCCESSORS];
    const lud_proof_limits limits = {MAX_GOALS, MAX_SUCCESSORS, true};
    lud_prover_options options = {.excluded = -1, .max_atoms = 200, .max_work = 5000};
    lud_prover *prover;
    if (lud_prover_create(base, &options, &prover, NULL)) return;
    for (int32_t p = 1; p <= base->n_predicates && p < 8; p++) {
        lud_proof_atom goal = {.predicate = p};
        for (int i = 0; i < base->arity[p]; i++) goal.terms[i] = base->n_constants + 1 + i;
        lud_proof_successors out = {.begin = begin, .atoms = atoms, .hash = hash, .step = step};
        begin[0] = 0;
        lud_proof_expand(base, &limits, &goal, 1, -1, NULL, 0, &out, NULL);
        fuzz_answer(hash, (size_t)out.n * sizeof *hash);
        fuzz_answer(begin, ((size_t)out.n + 1) * sizeof *begin);
        lud_prover_answer answer;
        if (!lud_prover_ask(prover, &goal, &answer, NULL)) fuzz_answer(&answer, sizeof answer);
    }
    lud_prover_destroy(prover);
}

/* Episodes over the base's queries, in one of some ways; takes the base over. */
static void play(lud_proof_base *base, size_t way) {
    lud_proof_options options;
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_proof_model *model;
    if (!arena || lud_options_default(&lud_proof_option_table, arena, &options, &error)) abort();
    options.reward = (int64_t)(way % LUD_PROOF_REWARDS);
    options.limits.end_action = way % 4 < 2;
    options.limits.skip_unary = way % 4 == 3;
    options.limits.memory = way % 3 > 0;
    options.limits.depth = 3 + (int64_t)(way % 5);
    options.limits.goals = 2 + (int64_t)(way % 4);
    options.limits.successors = 2 + (int64_t)(way % 20);
    options.limits.fact_cap = (int64_t)(way % 3);
    options.negatives.per_positive = (double)(way % 5) / 2;
    options.negatives.corrupt = (int)(way % 3);
    options.queries.with_rules = way % 2;
    if (lud_proof_model_create(base, &options, &model, &error)) {
        if (!error.text[0]) abort();
        fuzz_answer_text(error.text);
    } else {
        /* a file without any is refused when it is read */
        if (model->pools[options.queries.play].n > 0) fuzz_play(&model->model);
        lud_proof_model_destroy(model);
    }
    lud_arena_destroy(arena);
}

static void forget(void *unused, const char *text) {
    (void)unused;
    fuzz_answer_text(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    lud_proof_builder *builder =
        lud_proof_builder_create(data[0] & 1 ? LUD_PROOF_RELATIONS : LUD_PROOF_TRIPLES);
    if (!builder) return 0;
    lud_proof_builder_set_format(builder, (lud_proof_format)((data[0] >> 3 & 7) % (LUD_PROOF_NTRIPLES + 1)));
    /* `#` divides facts from rules and these from queries to train on, so that all can grow together */
    const char *text = (const char *)data + 1, *end = (const char *)data + size;
    const char *cut = text;
    while (cut < end && *cut != '#') cut++;
    const char *rest = cut < end ? cut + 1 : end, *third = rest;
    while (third < end && *third != '#') third++;
    lud_error error = {0};
    lud_status status = LUD_OK;
    switch (data[0] >> 1 & 3) {
    case 0:
        status = lud_proof_read_facts(builder, "f", text, (size_t)(cut - text), &error);
        break;
    case 1:
        status = lud_proof_read_queries(builder, LUD_PROOF_TEST, "f", text, (size_t)(cut - text), &error);
        break;
    case 2:
        status = lud_proof_read_domains(builder, "f", text, (size_t)(cut - text), &error);
        break;
    default:
        status = lud_proof_read_scores(builder, "f", text, (size_t)(cut - text), true, 10, 0, &error);
        break;
    }
    if (!status) status = lud_proof_read_rules(builder, "r", rest, (size_t)(third - rest), &error);
    if (!status && third < end)
        status = lud_proof_read_queries(builder, LUD_PROOF_TRAIN, "q", third + 1, (size_t)(end - third - 1),
                                        &error);
    if (!status) lud_proof_builder_check(builder, 2, forget, NULL, &error);
    lud_proof_base *base = NULL;
    if (!status && !lud_proof_build(builder, NULL, &base, &error)) {
        use(base);
        lud_proof_atom atom;
        char query[64];
        size_t n = (size_t)(end - rest) < sizeof query - 1 ? (size_t)(end - rest) : sizeof query - 1;
        for (size_t i = 0; i < n; i++) query[i] = rest[i];
        query[n] = 0;
        if (!lud_proof_parse_atom(base, query, &atom, NULL, &error)) fuzz_answer(&atom, sizeof atom);
    }
    fuzz_answer_text(error.text);
    if (base && third < end)
        play(base, size);
    else
        lud_proof_base_destroy(base);
    lud_proof_builder_destroy(builder);
    return 0;
}
