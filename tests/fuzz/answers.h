/* What a fuzz target makes of an input: messages, what is written back, states. tests/fuzz/answers.c adds it
 * up, and the sum for known inputs is known (tests/fuzz/test_answers.c), so that a reader that takes
 * something else than before, or says something else of it, is noticed.
 *
 * Nothing is an answer that another compiler or machine may have otherwise: no computed real numbers,
 * addresses or names of temporary folders. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void fuzz_answer(const void *bytes, size_t n);
/* Null: as the empty text. */
void fuzz_answer_text(const char *text);
/* A text in which a temporary folder is named, by its path or its name alone: that is passed over. */
void fuzz_answer_without(const char *text, const char *folder);
/* A text that begins with the name of a file in memory, /proc/self/fd/NUMBER, whose number is passed over. */
void fuzz_answer_of_descriptor(const char *text);
/* All so far. */
uint64_t fuzz_answers(void);
