/* Proof trees: what a path of steps has derived, goal by goal, and how it is printed.
 *
 *     aunt(5,76)  by r7: father(h,b), sister(a,h) -> aunt(a,b)
 *     ├─ father(3,76)  fact
 *     └─ sister(5,3)  fact */
#pragma once

#include "sim/proof/proof_model.h"

typedef enum lud_proof_node_kind {
    LUD_PROOF_NODE_OPEN, /* still to be shown */
    LUD_PROOF_NODE_FACT, /* index: the fact */
    LUD_PROOF_NODE_RULE  /* index: the rule; the children are its body */
} lud_proof_node_kind;

typedef struct lud_proof_node {
    lud_proof_atom atom; /* with all bindings applied; open variables are named as in the state's goals */
    int32_t kind, index; /* -1: it is open */
    int32_t parent;      /* -1: the query */
    int32_t first_child, n_children; /* children are consecutive; -1 where there are none */
} lud_proof_node;

/* Zero-initialise before use. nodes[0] is the query. */
typedef struct lud_proof_tree {
    lud_proof_node *nodes;
    int32_t n, capacity;
} lud_proof_tree;

/* The tree of the steps path[n_path] (coded as in a state's path; 0 entries do nothing) from the query. Fails
 * only when memory is out. */
lud_status lud_proof_tree_from_path(const lud_proof_base *base, const lud_proof_atom *query,
                                    const int32_t *path, int32_t n_path, lud_proof_tree *tree,
                                    lud_error *error);
/* The tree of a state's path. */
lud_status lud_proof_tree_of(const lud_proof_model *model, const uint8_t *state, lud_proof_tree *tree,
                             lud_error *error);
/* Appends a node; its number, or -1 when memory is out. */
int32_t lud_proof_tree_add(lud_proof_tree *tree, const lud_proof_atom *atom, int32_t parent);
/* Whether nothing is open: then every leaf is a fact and every inner node an instance of its rule. */
bool lud_proof_tree_is_closed(const lud_proof_tree *tree);
/* Checks a closed tree without trusting who built it: the root equals the query (or an instance of it), every
 * leaf is a fact other than `excluded` (-1: none), every inner node with its children is an instance of its
 * rule. */
bool lud_proof_tree_check(const lud_proof_base *base, const lud_proof_atom *query, int32_t excluded,
                          const lud_proof_tree *tree);
void lud_proof_tree_print(const lud_proof_base *base, const lud_proof_tree *tree, lud_text *out);
void lud_proof_tree_free(lud_proof_tree *tree);
