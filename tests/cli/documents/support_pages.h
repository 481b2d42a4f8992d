/* What tests of the documents share: pages and the commands on them. */
#pragma once

enum { PAGE_WORDS = 40 };

/* The whole text of a file, which the caller frees; fails the test where it cannot be read. */
char *page_read(const char *path);
/* The words of a command as a shell reads them, up to a comment, a pipe or a redirection: at most PAGE_WORDS,
 * each to be freed, and a null behind them. Returns their number. */
int page_words(const char *text, char *words[PAGE_WORDS + 1]);
/* The word behind a flag of one letter or its long form, null where it is not given. */
const char *page_value(char *const *words, int n, const char *letter, const char *name);
/* Calls visit for README.md and every page below docs, in order: its path from the repository, and its whole
 * text, which visit may write to and which is freed after it. */
void page_each(void (*visit)(const char *page, char *text));
