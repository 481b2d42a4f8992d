#include "sim/proof/proof_tree.h"

#include <stdlib.h>
#include <string.h>

/* A derivation being replayed: bindings (see lud_proof_unify) and the open nodes, leftmost first. */
typedef struct replay {
    const lud_proof_base *base;
    lud_proof_tree *tree;
    int32_t excluded;
    int32_t *store;
    size_t n_store, store_capacity;
    int32_t *agenda;
    size_t n_agenda, agenda_capacity;
} replay;

int32_t lud_proof_tree_add(lud_proof_tree *tree, const lud_proof_atom *atom, int32_t parent) {
    if (tree->n == tree->capacity) {
        int32_t capacity = tree->capacity ? tree->capacity * 2 : 16;
        lud_proof_node *nodes = realloc(tree->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes) return -1;
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    tree->nodes[tree->n] = (lud_proof_node){.atom = *atom, .index = -1, .parent = parent, .first_child = -1};
    return tree->n++;
}

static bool reserve(int32_t **items, size_t *capacity, size_t need) {
    if (need <= *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 32;
    if (wanted < need) wanted = need;
    int32_t *grown = realloc(*items, wanted * sizeof *grown);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/* Fresh, unbound variables; the term of the first. */
static int32_t fresh(replay *r, int32_t n) {
    if (!reserve(&r->store, &r->store_capacity, r->n_store + (size_t)n)) return -1;
    if (n > 0) memset(r->store + r->n_store, 0, (size_t)n * sizeof *r->store);
    r->n_store += (size_t)n;
    return r->base->n_constants + 1 + (int32_t)r->n_store - n;
}

static void apply_bindings(const replay *r, lud_proof_atom *atom) {
    for (int i = 0; i < LUD_PROOF_MAX_ARITY && atom->terms[i]; i++)
        atom->terms[i] = lud_proof_resolve(r->base, r->store, atom->terms[i]);
}

static bool is_ground(const lud_proof_base *base, const lud_proof_atom *atom) {
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
        if (atom->terms[i] > base->n_constants) return false;
    return true;
}

/* Closes the open goals that have become known facts, as the search does. */
static void close_known(replay *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->n_agenda; i++) {
        lud_proof_node *node = &r->tree->nodes[r->agenda[i]];
        apply_bindings(r, &node->atom);
        int32_t fact = -1;
        if (is_ground(r->base, &node->atom))
            fact = lud_proof_find_fact(r->base, &node->atom, lud_proof_atom_hash(&node->atom));
        if (fact >= 0 && fact != r->excluded) {
            node->kind = LUD_PROOF_NODE_FACT;
            node->index = fact;
        } else {
            r->agenda[kept++] = r->agenda[i];
        }
    }
    r->n_agenda = kept;
}

/* Resolves the leftmost goal with a rule: its body takes the goal's place. */
static bool use_rule(replay *r, int32_t index) {
    const lud_proof_rule *rule = &r->base->rules[index];
    int32_t goal = r->agenda[0];
    int32_t first = fresh(r, rule->n_variables);
    size_t n_body = (size_t)rule->n_body;
    if (first < 0 || !reserve(&r->agenda, &r->agenda_capacity, r->n_agenda + n_body)) return false;
    if (!lud_proof_unify(r->base, r->store, &r->tree->nodes[goal].atom, &rule->head, first)) return false;
    memmove(r->agenda + n_body, r->agenda + 1, (r->n_agenda - 1) * sizeof *r->agenda);
    r->n_agenda += n_body - 1;
    for (size_t i = 0; i < n_body; i++) {
        lud_proof_atom atom = rule->body[i];
        for (int k = 0; k < LUD_PROOF_MAX_ARITY; k++)
            if (atom.terms[k] < 0) atom.terms[k] = first - 1 - atom.terms[k];
        int32_t child = lud_proof_tree_add(r->tree, &atom, goal);
        if (child < 0) return false;
        r->agenda[i] = child;
    }
    lud_proof_node *node = &r->tree->nodes[goal];
    node->kind = LUD_PROOF_NODE_RULE;
    node->index = index;
    node->first_child = n_body ? r->agenda[0] : -1;
    node->n_children = rule->n_body;
    return true;
}

static bool use_fact(replay *r, int32_t index) {
    lud_proof_node *node = &r->tree->nodes[r->agenda[0]];
    if (!lud_proof_unify(r->base, r->store, &node->atom, &r->base->facts[index], 0)) return false;
    node->kind = LUD_PROOF_NODE_FACT;
    node->index = index;
    r->n_agenda--;
    memmove(r->agenda, r->agenda + 1, r->n_agenda * sizeof *r->agenda);
    return true;
}

/* Applies the last bindings everywhere and names what is still free: open goals first, in their order. */
static void finish(replay *r) {
    lud_proof_tree *tree = r->tree;
    int32_t n = r->base->n_constants, named = 0;
    int32_t *name = calloc(r->n_store + 1, sizeof *name);
    for (int32_t i = 0; i < tree->n; i++) apply_bindings(r, &tree->nodes[i].atom);
    if (!name) return; /* the names stay as they are, which is only less pretty */
    for (size_t k = 0; k < r->n_agenda + (size_t)tree->n; k++) {
        int32_t i = k < r->n_agenda ? r->agenda[k] : (int32_t)(k - r->n_agenda);
        for (int a = 0; a < LUD_PROOF_MAX_ARITY; a++) {
            int32_t term = tree->nodes[i].atom.terms[a];
            if (term > n && !name[term - n - 1]) name[term - n - 1] = ++named;
        }
    }
    for (int32_t i = 0; i < tree->n; i++)
        for (int a = 0; a < LUD_PROOF_MAX_ARITY; a++) {
            int32_t *term = &tree->nodes[i].atom.terms[a];
            if (*term > n) *term = n + name[*term - n - 1];
        }
    free(name);
}

lud_status lud_proof_tree_from_path(const lud_proof_base *base, const lud_proof_atom *query,
                                    const int32_t *path, int32_t n_path, lud_proof_tree *tree,
                                    lud_error *error) {
    replay r = {.base = base, .tree = tree};
    lud_proof_atom root = *query;
    int32_t n_variables = lud_proof_canonicalise(base, &root, 1);
    r.excluded = lud_proof_find_fact(base, &root, lud_proof_atom_hash(&root));
    tree->n = 0;
    bool ok = fresh(&r, n_variables) >= 0 && reserve(&r.agenda, &r.agenda_capacity, 1) &&
              lud_proof_tree_add(tree, &root, -1) == 0;
    if (ok) {
        r.agenda[0] = 0;
        r.n_agenda = 1;
    }
    for (int32_t i = 0; ok && i < n_path && r.n_agenda > 0; i++) {
        if (path[i] == 0) continue;
        ok = path[i] > 0 ? use_rule(&r, path[i] - 1) : use_fact(&r, -1 - path[i]);
        if (ok) close_known(&r);
    }
    if (ok) finish(&r);
    free(r.store);
    free(r.agenda);
    return ok ? LUD_OK : lud_no_memory(error, "a proof tree");
}

lud_status lud_proof_tree_of(const lud_proof_model *model, const uint8_t *state, lud_proof_tree *tree,
                             lud_error *error) {
    const lud_proof_state *s = (const lud_proof_state *)(const void *)state;
    return lud_proof_tree_from_path(model->base, &s->query, lud_proof_path(model, state), s->n_path, tree,
                                    error);
}

bool lud_proof_tree_is_closed(const lud_proof_tree *tree) {
    for (int32_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].kind == LUD_PROOF_NODE_OPEN) return false;
    return tree->n > 0;
}

/* Whether `atom` is the pattern (a rule's atom) under value[], which it extends. */
static bool is_instance(const lud_proof_atom *pattern, const lud_proof_atom *atom, int32_t *value) {
    if (pattern->predicate != atom->predicate) return false;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++) {
        int32_t term = pattern->terms[i];
        if (term < 0) {
            int32_t *bound = &value[-1 - term];
            if (*bound == 0) *bound = atom->terms[i];
            term = *bound;
        }
        if (term != atom->terms[i]) return false;
    }
    return true;
}

bool lud_proof_tree_check(const lud_proof_base *base, const lud_proof_atom *query, int32_t excluded,
                          const lud_proof_tree *tree) {
    if (tree->n == 0) return false;
    lud_proof_atom root = *query;
    for (int i = 0; i < LUD_PROOF_MAX_ARITY; i++)
        if (root.terms[i] > base->n_constants) root.terms[i] = base->n_constants - root.terms[i];
    int32_t value[LUD_PROOF_MAX_VARIABLES] = {0};
    if (!is_instance(&root, &tree->nodes[0].atom, value)) return false;
    for (int32_t i = 0; i < tree->n; i++) {
        const lud_proof_node *node = &tree->nodes[i];
        if (node->kind == LUD_PROOF_NODE_FACT) {
            if (node->index == excluded || !lud_proof_atom_equal(&base->facts[node->index], &node->atom))
                return false;
            continue;
        }
        if (node->kind != LUD_PROOF_NODE_RULE) return false;
        const lud_proof_rule *rule = &base->rules[node->index];
        memset(value, 0, sizeof value);
        if (rule->n_body != node->n_children || !is_instance(&rule->head, &node->atom, value)) return false;
        for (int32_t k = 0; k < node->n_children; k++) {
            int32_t child = node->first_child + k;
            /* children come later, so the tree has no cycle */
            if (child <= i || child >= tree->n || tree->nodes[child].parent != i) return false;
            if (!is_instance(&rule->body[k], &tree->nodes[child].atom, value)) return false;
        }
    }
    return true;
}

static void print_node(const lud_proof_base *base, const lud_proof_tree *tree, int32_t i, lud_text *margin,
                       lud_text *out) {
    const lud_proof_node *node = &tree->nodes[i];
    lud_proof_print_atom(base, NULL, &node->atom, out);
    if (node->kind == LUD_PROOF_NODE_OPEN) lud_text_append(out, "  open");
    if (node->kind == LUD_PROOF_NODE_FACT) {
        lud_text_append(out, "  fact");
        if (base->fact_score && base->fact_score[node->index] != 1.0f)
            lud_text_append(out, " (score %g)", (double)base->fact_score[node->index]);
    }
    if (node->kind == LUD_PROOF_NODE_RULE) {
        lud_text_append(out, "  by %s: ", base->rules[node->index].name);
        lud_proof_print_rule(base, &base->rules[node->index], out);
    }
    lud_text_append(out, "\n");
    for (int32_t k = 0; k < node->n_children; k++) {
        bool last = k + 1 == node->n_children;
        size_t length = margin->length;
        lud_text_append(out, "%s%s", margin->bytes ? margin->bytes : "", last ? "└─ " : "├─ ");
        lud_text_append(margin, "%s", last ? "   " : "│  ");
        print_node(base, tree, node->first_child + k, margin, out);
        if (margin->failed) return;
        margin->length = length;
        margin->bytes[length] = 0;
    }
}

void lud_proof_tree_print(const lud_proof_base *base, const lud_proof_tree *tree, lud_text *out) {
    lud_text margin = {0};
    if (tree->n > 0) print_node(base, tree, 0, &margin, out);
    lud_text_free(&margin);
}

void lud_proof_tree_free(lud_proof_tree *tree) {
    free(tree->nodes);
    *tree = (lud_proof_tree){0};
}
