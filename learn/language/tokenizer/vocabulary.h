/* The words of a world: a vocabulary for small language models, found in what the world says about itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words with how often they were seen. Zeroed before. */
typedef struct lud_vocabulary {
    int64_t n, capacity;
    char **words; /* [n] */
    int64_t *counts;
    uint32_t table_size;
    int32_t *table; /* open addressing: word + 1 */
    bool failed;    /* memory is out */
} lud_vocabulary;

/* Counts the words of a text: runs of letters and `_`, and of digits, each with a space before it if there is
 * one, and runs of other characters that are not spaces or line ends. */
void lud_vocabulary_read(lud_vocabulary *vocabulary, const char *text, size_t length);
/* Counts one word, as it is, `times`. */
void lud_vocabulary_add(lud_vocabulary *vocabulary, const char *word, size_t length, int64_t times);
/* Orders the words, the most frequent first, of equal ones by their bytes, and keeps at most `most`. */
void lud_vocabulary_order(lud_vocabulary *vocabulary, int64_t most);
void lud_vocabulary_free(lud_vocabulary *vocabulary);
