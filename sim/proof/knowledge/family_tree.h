/* A family made up from a seed: people over several generations and every relation between them, as a
 * knowledge graph whose true triples are all known. Marriages are for life, children belong to a married
 * couple, and nobody marries a brother or sister. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

typedef struct lud_family_options {
    uint64_t seed;
    int n_founders;     /* couples of the first generation */
    int n_generations;  /* the founders' included */
    double valid, test; /* shares of the triples that are held out */
} lud_family_options;

lud_family_options lud_family_default(void);

/* Relations r(x, y), to be read "x is the r of y": father, mother, son, daughter, husband, wife, brother,
 * sister, uncle, aunt (also by marriage), nephew, niece, grandfather, grandmother, grandson, granddaughter.
 * Appends one triple a line in random order, each to one of the texts; every person occurs in `train`. */
lud_status lud_family_write(const lud_family_options *options, lud_text *train, lud_text *valid,
                            lud_text *test, lud_error *error);
