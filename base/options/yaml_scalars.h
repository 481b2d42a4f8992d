/* Texts of YAML's scalars. libfyaml 0.7 finds where they stand and writes plain ones and those in double
 * quotes on one line well; the others are read from the source (YAML 1.2, chapters 7 and 8), since it loses
 * or invents characters in some. */
#pragma once

#include <libfyaml.h>

#include "base/options/tree.h"

typedef struct lud_yaml_source {
    lud_arena *arena;
    const char *text; /* [length] that libfyaml reads */
    size_t length;
    lud_error *error;
} lud_yaml_source;

/* The text of a scalar, in the arena and ended by a zero byte; null as token: the empty one. `place` is named
 * where it holds what a text cannot. */
lud_status lud_yaml_scalar(const lud_yaml_source *source, struct fy_token *token, lud_place place,
                           const char **text, size_t *length);
