#include "sim/proof/knowledge/proof_base.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/proof/knowledge/proof_index.h"

lud_proof_range lud_proof_facts_with(const lud_proof_base *base, int32_t predicate, int position,
                                     int32_t constant) {
    return lud_proof_bucket_find(base, predicate, position, constant);
}

int32_t lud_proof_count_matches(const lud_proof_base *base, const lud_proof_atom *atom, int32_t excluded) {
    if (atom->predicate <= 0 || atom->predicate > base->n_predicates) return 0;
    int32_t least = base->fact_begin[atom->predicate + 1] - base->fact_begin[atom->predicate];
    int selective = -1;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && atom->terms[i]; i++) {
        if (atom->terms[i] > base->n_constants) continue;
        const lud_proof_range range = lud_proof_bucket_find(base, atom->predicate, i, atom->terms[i]);
        if (range.end - range.begin >= least && selective >= 0) continue;
        least = range.end - range.begin;
        selective = i;
    }
    const lud_proof_atom *left_out = excluded >= 0 ? &base->facts[excluded] : NULL;
    return least - (left_out && left_out->predicate == atom->predicate &&
                    (selective < 0 || left_out->terms[selective] == atom->terms[selective]));
}

float lud_proof_score(const lud_proof_base *base, const lud_proof_atom *atom, float missing) {
    if (!base->scored) return missing;
    for (uint32_t i = (uint32_t)lud_proof_atom_hash(atom) & base->score_mask; base->scored[i].predicate;
         i = (i + 1) & base->score_mask)
        if (lud_proof_atom_equal(&base->scored[i], atom)) return base->scores[i];
    return missing;
}

void lud_proof_print_atom(const lud_proof_base *base, const lud_proof_rule *rule, const lud_proof_atom *atom,
                          lud_text *out) {
    lud_text_append(out, "%s", base->predicates[atom->predicate]);
    int arity = base->arity[atom->predicate];
    for (int i = 0; i < arity; i++) {
        int32_t term = atom->terms[i];
        lud_text_append(out, i ? "," : "(");
        if (term < 0)
            lud_text_append(out, "%s", rule ? rule->variables[-1 - term] : "_");
        else if (term > base->n_constants)
            lud_text_append(out, "?%d", term - base->n_constants - 1);
        else
            lud_text_append(out, "%s", base->constants[term]);
    }
    if (arity) lud_text_append(out, ")");
}

void lud_proof_print_rule(const lud_proof_base *base, const lud_proof_rule *rule, lud_text *out) {
    for (int32_t i = 0; i < rule->n_body; i++) {
        if (i) lud_text_append(out, ", ");
        lud_proof_print_atom(base, rule, &rule->body[i], out);
    }
    if (rule->n_body) lud_text_append(out, " -> ");
    lud_proof_print_atom(base, rule, &rule->head, out);
}

static int compare(const char *name, const char *text, size_t length) {
    int order = strncmp(name, text, length);
    return order ? order : name[length] != 0;
}

/* Position of the name among names[1..n], or 0. */
static int32_t find_name(const char *const *names, int32_t n, const char *text, size_t length) {
    if (length == 0 || memchr(text, 0, length)) return 0;
    int32_t low = 1, high = n;
    while (low <= high) {
        int32_t middle = low + (high - low) / 2;
        int order = compare(names[middle], text, length);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return 0;
}

int32_t lud_proof_find_constant(const lud_proof_base *base, const char *name, size_t length) {
    return find_name(base->constants, base->n_constants, name, length);
}

int32_t lud_proof_find_predicate(const lud_proof_base *base, const char *name, size_t length) {
    return find_name(base->predicates, base->n_predicates, name, length);
}

static lud_status unknown(const char *kind, const char *start, size_t length, int column,
                          const char *const *names, int32_t n, lud_error *error) {
    char word[128];
    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, start);
    /* the edit distance over a million names would keep the user waiting */
    const char *near = n <= 100000 ? lud_nearest_name(word, names + 1, n) : NULL;
    lud_place place = {"query", 1, column};
    return lud_invalid_at(error, place, "no %s `%s` in the knowledge base%s%s%s", kind, word,
                          near ? ", did you mean `" : "", near ? near : "", near ? "`?" : "");
}

static bool is_variable_word(const char *text, size_t length) {
    unsigned char first = (unsigned char)text[0];
    return first == '?' || first == '_' || isupper(first) || (length == 1 && isalpha(first));
}

lud_status lud_proof_parse_atom(const lud_proof_base *base, const char *text, lud_proof_atom *atom,
                                lud_proof_variables *variables, lud_error *error) {
    const char *open = strchr(text, '(');
    lud_place place = {"query", 1, 1};
    if (!open) return lud_invalid_at(error, place, "no `(`, expected predicate(argument, argument)");
    const char *start = text, *stop = open;
    while (start < stop && isspace((unsigned char)*start)) start++;
    while (stop > start && isspace((unsigned char)stop[-1])) stop--;
    int32_t predicate = lud_proof_find_predicate(base, start, (size_t)(stop - start));
    if (predicate == 0)
        return unknown("predicate", start, (size_t)(stop - start), (int)(start - text) + 1, base->predicates,
                       base->n_predicates, error);
    *atom = (lud_proof_atom){.predicate = predicate};
    lud_proof_variables met = {0};
    int n_terms = 0;
    const char *at = open;
    do {
        at++;
        while (isspace((unsigned char)*at)) at++;
        start = at;
        const bool quoted = *at == '\'' || *at == '"';
        if (quoted) {
            at = strchr(start + 1, *start);
            if (!at) {
                place.column = (int)(start - text) + 1;
                return lud_invalid_at(error, place, "a quote that is not closed");
            }
            start++;
            stop = at++;
            while (isspace((unsigned char)*at)) at++;
        } else {
            at += strcspn(at, ",()");
            stop = at;
            while (stop > start && isspace((unsigned char)stop[-1])) stop--;
        }
        place.column = (int)(at - text) + 1;
        if ((*at != ',' && *at != ')') || stop == start)
            return lud_invalid_at(error, place, "expected an argument and then `,` or `)`");
        if (n_terms == base->arity[predicate]) {
            n_terms++; /* one too many */
            break;
        }
        size_t length = (size_t)(stop - start);
        int32_t term = lud_proof_find_constant(base, start, length);
        if (term == 0) {
            /* in quotes it is a name, whatever it looks like */
            if (quoted || !is_variable_word(start, length))
                return unknown("constant", start, length, (int)(start - text) + 1, base->constants,
                               base->n_constants, error);
            int j = 0;
            while (j < met.n && (met.length[j] != length || memcmp(met.word[j], start, length) != 0)) j++;
            if (j == met.n) {
                met.word[j] = start;
                met.length[met.n++] = length;
            }
            term = base->n_constants + 1 + j;
        }
        atom->terms[n_terms++] = term;
    } while (*at == ',');
    if (n_terms != base->arity[predicate] || *at != ')')
        return lud_invalid_at(error, place, "%s takes %d arguments", base->predicates[predicate],
                              base->arity[predicate]);
    for (at++; isspace((unsigned char)*at) || *at == '.'; at++) {
    }
    place.column = (int)(at - text) + 1;
    if (*at) return lud_invalid_at(error, place, "more text after the query");
    if (variables) *variables = met;
    return LUD_OK;
}
