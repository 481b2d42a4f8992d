/* A YAML (or JSON) document as a plain tree that remembers where every value stood.
 *
 * Read through libfyaml and copied into an arena; after that it is ordinary data. Anchors are expanded under
 * a limit, duplicate keys are errors, depth and size are limited, so hostile files give an error and nothing
 * else. `include:` at the top level of a mapping is resolved by lud_tree_read_file: the including file's
 * values win, mappings are merged key by key, and every node keeps the place in the file it came from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* What a document may hold at most; more is an error. */
enum {
    LUD_TREE_MAX_BYTES = 16 << 20, /* of one file */
    LUD_TREE_MAX_NODES = 250000,   /* of one file, aliases expanded */
    LUD_TREE_MAX_DEPTH = 64,
    LUD_TREE_MAX_KEY_BYTES = 256,
    LUD_TREE_MAX_ANCHORS = 1024,
    LUD_TREE_MAX_INCLUDES = 16, /* depth of files that include files */
    LUD_TREE_MAX_FILES = 64 /* read for one tree: two includes a file would otherwise double at each level */
};

typedef enum lud_tree_kind {
    LUD_TREE_NULL,
    LUD_TREE_SCALAR,
    LUD_TREE_SEQUENCE,
    LUD_TREE_MAPPING
} lud_tree_kind;

typedef struct lud_tree lud_tree;
struct lud_tree {
    lud_tree_kind kind;
    bool quoted;  /* in quotes, a block scalar, or not a plain word: text, never a number, boolean or null */
    bool literal; /* a literal block (`|`): line i of the text stands at line place.line + i */
    bool used;    /* set by the readers; what is left unset at the end is an unknown key */
    const char *text; /* scalar: its text (zero-terminated); otherwise null */
    size_t text_length;
    const char *key;     /* the key under which this node stands in a mapping, or null */
    lud_place key_place; /* where that key stands */
    lud_place place;     /* where the value stands */
    size_t key_begin;  /* bytes of the file in which the key and the value stand: the key begins here, and */
    size_t begin, end; /* the value, quotes and brackets included, has begin .. end - 1; both 0: not known */
    lud_tree *child;   /* first child of a sequence or mapping */
    lud_tree *next;    /* next sibling */
    size_t n_children;
};

/* The files that a tree was read from, in the order in which they were opened, with their lud_file_stamp just
 * before. */
typedef struct lud_tree_files {
    int n;
    char *paths[LUD_TREE_MAX_FILES];
    uint64_t stamps[LUD_TREE_MAX_FILES];
} lud_tree_files;
void lud_tree_files_free(lud_tree_files *files);

/* Reads a file with its includes (relative to the including file; cycles and depth over 16 are errors).
 * The tree lives in `arena`. `files` (zeroed before, or null) gets the path of every file that was asked for,
 * also when one of them cannot be read; free with lud_tree_files_free. */
lud_status lud_tree_read_file(lud_arena *arena, const char *path, lud_tree_files *files, lud_tree **root,
                              lud_error *error);
/* The same with `length` bytes in the place of what is in the file. */
lud_status lud_tree_read_instead(lud_arena *arena, const char *path, const char *text, size_t length,
                                 lud_tree_files *files, lud_tree **root, lud_error *error);
/* Reads `length` bytes; `name` stands for the file in messages. `include:` is an error here. */
lud_status lud_tree_read_text(lud_arena *arena, const char *name, const char *text, size_t length,
                              lud_tree **root, lud_error *error);
/* Applies `a.b.c=value` (the value is itself YAML, so `[1, 2]` works; `a.0.b` indexes a sequence). Missing
 * mappings on the way are made. The new node's place is `--set a.b.c=value`. */
lud_status lud_tree_set(lud_arena *arena, lud_tree *root, const char *assignment, lud_error *error);
/* The same for `source`, what asked for it: the place is `source a.b.c=value`. */
lud_status lud_tree_set_from(lud_arena *arena, lud_tree *root, const char *source, const char *assignment,
                             lud_error *error);
/* The same with a path and a number. */
lud_status lud_tree_set_real(lud_arena *arena, lud_tree *root, const char *source, const char *path,
                             double value, lud_error *error);

/* The same with YAML, or with a text as it stands (`words`). Messages call it by `source` alone. */
lud_status lud_tree_set_value(lud_arena *arena, lud_tree *root, const char *source, const char *path,
                              const char *value, bool words, lud_error *error);
/* Puts a tree under a key of a mapping, in place of what stands there; `source` is where it came from. */
lud_status lud_tree_put(lud_arena *arena, lud_tree *root, const char *key, const char *source,
                        lud_tree *value, lud_error *error);
/* Takes over what stands in the mapping `over`, key by key, mappings within too: its values win. */
void lud_tree_merge(lud_tree *base, const lud_tree *over);

/* The child of a mapping under `key`, or null. */
lud_tree *lud_tree_find(const lud_tree *mapping, const char *key);
/* The same, and marks it used. */
lud_tree *lud_tree_get(lud_tree *mapping, const char *key);
/* Scalars. Each marks the node used; on a wrong type the error names the place and what was expected. */
lud_status lud_tree_int(lud_tree *node, int64_t minimum, int64_t maximum, int64_t *value, lud_error *error);
lud_status lud_tree_real(lud_tree *node, double minimum, double maximum, double *value, lud_error *error);
/* Memory in GiB, or with a unit (base/number.h). */
lud_status lud_tree_memory(lud_tree *node, double minimum, double maximum, double *gibibytes,
                           lud_error *error);
lud_status lud_tree_bool(lud_tree *node, bool *value, lud_error *error);
lud_status lud_tree_text(lud_tree *node, const char **value, lud_error *error);
/* Whether the file at `path`, which the node names (null: nobody knows where), can be opened for reading;
 * else an error at the node that says why not. */
lud_status lud_tree_check_file(const lud_tree *node, const char *path, lud_error *error);
/* Index of the scalar among `n` names; an unknown word gives an error with the nearest name. */
lud_status lud_tree_choice(lud_tree *node, const char *const *names, int n, int *index, lud_error *error);
/* Writes `file:line:col: key: expected WHAT, found ...` for a node of the wrong shape; returns
 * LUD_ERROR_INPUT. `what` is a printf format. */
lud_status lud_tree_expected(const lud_tree *node, lud_error *error, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* An error for the first key of the mapping not in `names` (with the nearest name as a hint). */
lud_status lud_tree_check_keys(const lud_tree *mapping, const char *const *names, int n, lud_error *error);

/* YAML text of the tree that reads back as the same tree. Lives in `arena`. */
lud_status lud_tree_write(lud_arena *arena, const lud_tree *root, char **text, size_t *length,
                          lud_error *error);
/* Building trees in code (for effective configurations). `key` may be null (sequence element). The functions
 * append to `parent` (null: the node is a root) and return the new node, null when memory is out. */
lud_tree *lud_tree_add_mapping(lud_arena *arena, lud_tree *parent, const char *key);
lud_tree *lud_tree_add_sequence(lud_arena *arena, lud_tree *parent, const char *key);
lud_tree *lud_tree_add_text(lud_arena *arena, lud_tree *parent, const char *key, const char *text);
lud_tree *lud_tree_add_int(lud_arena *arena, lud_tree *parent, const char *key, int64_t value);
lud_tree *lud_tree_add_real(lud_arena *arena, lud_tree *parent, const char *key, double value);
lud_tree *lud_tree_add_bool(lud_arena *arena, lud_tree *parent, const char *key, bool value);
/* A deep copy of `node` appended to `parent` under `key`. */
lud_tree *lud_tree_add_copy(lud_arena *arena, lud_tree *parent, const char *key, const lud_tree *node);
