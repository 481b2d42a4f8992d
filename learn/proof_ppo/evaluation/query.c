#include "learn/proof_ppo/evaluation/query.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "learn/proof_ppo/proof_ppo.h"
#include "learn/proof_ppo/search/beam.h"
#include "learn/runs/run.h"
#include "sim/proof/prover.h"

typedef struct asking {
    const lud_proof_model *model;
    lud_proof_beam *beam;
    int64_t width;                 /* of the beam */
    uint8_t *state;                /* where the path of a proof ends */
    lud_proof_atom query;          /* as it was asked */
    lud_proof_variables variables; /* of the query */
    bool json;
    lud_report *report;
} asking;

/* What is known of one atom without variables. */
typedef struct finding {
    bool is_fact, proved; /* by the policy */
    lud_proof_found path;
    lud_prover_answer follows; /* asked only when the policy has found no proof */
} finding;

static void print_finding(const asking *a, const lud_proof_atom *atom, const finding *f,
                          const lud_proof_tree *tree, lud_text *out) {
    const lud_proof_base *base = a->model->base;
    if (f->proved) {
        lud_proof_tree_print(base, tree, out);
        lud_text_append(out, "proved in %d steps, log-probability %.3f%s\n", f->path.length, f->path.log_prob,
                        f->is_fact ? "; it is a fact, too" : "");
        return;
    }
    lud_proof_print_atom(base, NULL, atom, out);
    lud_text_append(out, f->is_fact ? "  fact\n" : "\n");
    const char *otherwise = f->is_fact ? " otherwise" : "";
    lud_text_append(out, "no proof%s found among %" PRId64 " paths at a time; ",
                    f->is_fact ? " without it" : "", a->width);
    if (f->follows == LUD_PROVER_PROVED)
        lud_text_append(out, "it does follow%s (ludus solve shows how much does)\n", otherwise);
    else if (f->follows == LUD_PROVER_REFUTED)
        lud_text_append(out, "it does not follow%s from the facts and rules\n", otherwise);
    else
        lud_text_append(out, "whether it follows%s is undecided\n", otherwise);
}

static json_t *node_json(const lud_proof_base *base, const lud_proof_tree *tree, int32_t i) {
    const lud_proof_node *node = &tree->nodes[i];
    const bool by_rule = node->kind == LUD_PROOF_NODE_RULE;
    lud_text atom = {0}, rule = {0};
    json_t *children = json_array();
    lud_proof_print_atom(base, NULL, &node->atom, &atom);
    if (by_rule) lud_proof_print_rule(base, &base->rules[node->index], &rule);
    for (int32_t k = 0; k < node->n_children; k++)
        json_array_append_new(children, node_json(base, tree, node->first_child + k));
    json_t *json =
        json_pack("{s:s, s:s?, s:s?, s:o}", "atom", atom.bytes ? atom.bytes : "", "rule", rule.bytes,
                  "rule_name", by_rule ? base->rules[node->index].name : NULL, "children", children);
    if (json && node->kind == LUD_PROOF_NODE_FACT && base->fact_score)
        json_object_set_new(json, "score", json_real((double)base->fact_score[node->index]));
    lud_text_free(&atom);
    lud_text_free(&rule);
    return json;
}

static json_t *finding_json(const asking *a, const lud_proof_atom *atom, const finding *f,
                            const lud_proof_tree *tree) {
    static const char *const words[] = {"refuted", "proved", "undecided"};
    lud_text name = {0}, proof = {0};
    json_t *bindings = json_object();
    for (int i = 0; i < a->model->base->arity[atom->predicate]; i++) {
        const int variable = a->query.terms[i] - a->model->base->n_constants - 1;
        if (variable >= 0)
            json_object_setn_new(bindings, a->variables.word[variable], a->variables.length[variable],
                                 json_string(a->model->base->constants[atom->terms[i]]));
    }
    lud_proof_print_atom(a->model->base, NULL, atom, &name);
    if (f->proved) lud_proof_tree_print(a->model->base, tree, &proof);
    json_t *answer = json_pack("{s:s, s:o, s:b, s:b}", "atom", name.bytes ? name.bytes : "", "bindings",
                               bindings, "fact", f->is_fact, "proved", f->proved);
    if (f->proved) {
        json_object_set_new(answer, "proof", json_string(proof.bytes));
        json_object_set_new(answer, "tree", node_json(a->model->base, tree, 0));
        json_object_set_new(answer, "steps", json_integer(f->path.length));
        json_object_set_new(answer, "log_probability", json_real(f->path.log_prob));
    } else {
        json_object_set_new(answer, "follows", json_string(words[f->follows]));
    }
    lud_text_free(&name);
    lud_text_free(&proof);
    return answer;
}

/* The policy's proof of an atom without variables, or what is to be said where it finds none. */
static lud_status prove(asking *a, const lud_proof_atom *atom, json_t *answers, lud_error *error) {
    const lud_proof_base *base = a->model->base;
    lud_proof_tree tree = {0};
    finding f = {.is_fact = lud_proof_find_fact(base, atom, lud_proof_atom_hash(atom)) >= 0};
    lud_proof_beam_run(a->beam, atom, 1, &f.path, a->state);
    LUD_TRY(lud_interrupt_check(error)); /* it stopped in the middle */
    f.proved = f.path.proved;
    lud_status status =
        f.proved ? lud_proof_tree_of(a->model, a->state, &tree, error)
                 : lud_prover_answer_query(base, atom, lud_prover_effort_to_solve, &f.follows, NULL, error);
    if (!status && answers) json_array_append_new(answers, finding_json(a, atom, &f, &tree));
    if (!status && !answers) print_finding(a, atom, &f, &tree, &a->report->text);
    lud_proof_tree_free(&tree);
    return status;
}

static void print_bindings(const asking *a, const lud_proof_atom *atom, lud_text *out) {
    const lud_proof_base *base = a->model->base;
    lud_text_append(out, "\n");
    for (int k = 0, i; k < a->variables.n; k++) {
        for (i = 0; a->query.terms[i] != base->n_constants + 1 + k;) i++;
        lud_text_append(out, "%s%.*s = %s", k ? ", " : "", (int)a->variables.length[k], a->variables.word[k],
                        base->constants[atom->terms[i]]);
    }
    lud_text_append(out, "\n");
}

/* Everything that the variables may stand for, and proofs of the first `most`. */
static lud_status list_and_prove(asking *a, const char *text, int32_t most, json_t *answers, int64_t *n,
                                 lud_error *error) {
    const lud_prover_options limits = {.excluded = -1,
                                       .max_atoms = lud_prover_effort_to_solve.atoms,
                                       .max_work = lud_prover_effort_to_solve.work};
    lud_prover *prover = NULL;
    bool complete = false;
    lud_proof_atom *atoms = calloc((size_t)most, sizeof *atoms);
    lud_status status = atoms ? lud_prover_create(a->model->base, &limits, &prover, error)
                              : lud_no_memory(error, "the answers to a query");
    if (!status) status = lud_prover_list(prover, &a->query, most, atoms, n, &complete, error);
    lud_prover_destroy(prover);
    if (!status && !answers) {
        lud_text *out = &a->report->text;
        lud_text_append(out, "%s: %s%" PRId64 " answer%s", text, complete ? "" : "at least ", *n,
                        *n == 1 ? "" : "s");
        if (*n > most) lud_text_append(out, "; here %s %d (--answers)", most == 1 ? "is" : "are", most);
        lud_text_append(out, "\n");
    }
    for (int32_t i = 0; i < most && i < *n && !status; i++) {
        if (!answers) print_bindings(a, &atoms[i], &a->report->text);
        status = prove(a, &atoms[i], answers, error);
    }
    free(atoms);
    return status;
}

lud_status lud_proof_answer_query(const lud_report_request *request, lud_report *report, lud_error *error) {
    asking a = {.model = (const lud_proof_model *)(const void *)request->scenario->model,
                .width = request->width,
                .report = report};
    lud_learned run;
    LUD_TRY(lud_proof_parse_atom(a.model->base, request->query, &a.query, &a.variables, error));
    LUD_TRY(lud_learned_open(request->folder, request->scenario, "cpu", &lud_learner_proof_ppo, &run, error));
    a.state = calloc(1, a.model->model.layout.state_bytes);
    lud_status status = a.state ? lud_proof_beam_create(lud_proof_ppo_net(run.learner, true), 1,
                                                        (int32_t)a.width, &a.beam, error)
                                : lud_no_memory(error, "a search");
    json_t *answers = request->json ? json_array() : NULL;
    int64_t n = 1;
    if (!status)
        status = a.variables.n
                     ? list_and_prove(&a, request->query, (int32_t)request->answers, answers, &n, error)
                     : prove(&a, &a.query, answers, error);
    if (!status && answers)
        report->json =
            json_pack("{s:s, s:I, s:O}", "query", request->query, "n", (json_int_t)n, "answers", answers);
    json_decref(answers);
    lud_proof_beam_destroy(a.beam);
    free(a.state);
    lud_learned_close(&run);
    return status;
}

/* Stands in a command line between double quotes, and is read as one name. */
static bool is_plain(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.:/#";
    return *name && strspn(name, letters) == strlen(name);
}

void lud_proof_example_query(const lud_model *model, lud_text *out) {
    static const char *const variables[LUD_PROOF_MAX_ARITY] = {"x", "y", "z", "w"};
    const lud_proof_base *base = ((const lud_proof_model *)(const void *)model)->base;
    for (int split = LUD_PROOF_SPLITS; split-- > 0;)
        for (int32_t i = 0; i < base->n_queries[split]; i++) {
            const int32_t predicate = base->queries[split][i].atom.predicate;
            if (!is_plain(base->predicates[predicate])) continue;
            lud_text_append(out, "%s(", base->predicates[predicate]);
            for (int k = 0; k < base->arity[predicate]; k++)
                lud_text_append(out, "%s%s", k ? ", " : "", variables[k]);
            lud_text_append(out, ")");
            return;
        }
}
