/* Manual pages and shell completions, written from the tables of verbs and flags, so that they know what the
 * program knows. Each prints to stdout. */
#pragma once

#include "base/status.h"

struct lud_verb;

/* The page ludus-VERB(1) as roff; of no verb (null): ludus(1). */
void lud_manual_print(const struct lud_verb *verb);
/* A completion script; `shell` is bash, zsh or fish. topics[n_topics] are what `ludus help` can be asked
 * about.
 */
lud_status lud_completion_print(const char *shell, const char *const *topics, int n_topics, lud_error *error);
