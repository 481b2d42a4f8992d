/* YAML 1.2 text to trees and back; what base/options/tree.h reads and writes with. */
#pragma once

#include "base/options/tree.h"
#include "base/text.h"

/* Parses exactly one document (an empty text is a null node). `name` stands for the file in messages. With
 * `one_place`, every node gets the place {name, 0, 0}: for text that does not come from a file. */
lud_status lud_yaml_parse(lud_arena *arena, const char *name, const char *text, size_t length, bool one_place,
                          lud_tree **root, lud_error *error);

/* Whether the text can stand as a plain scalar anywhere, without quotes. */
bool lud_yaml_is_plain(const char *text, size_t length);

/* Appends the tree as YAML. */
void lud_yaml_print(const lud_tree *root, lud_text *out);
