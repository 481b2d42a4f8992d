#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/cli.h"

enum { MAX_FLAGS = 64 };

static const lud_flag *find_flag(const lud_verb *verb, const char *name, size_t length) {
    for (int i = 0; i < verb->n_flags; i++)
        if (strlen(verb->flags[i].name) == length && memcmp(verb->flags[i].name, name, length) == 0)
            return &verb->flags[i];
    return NULL;
}

static const lud_flag *find_letter(const lud_verb *verb, char letter) {
    for (int i = 0; i < verb->n_flags; i++)
        if (verb->flags[i].letter == letter) return &verb->flags[i];
    return NULL;
}

static lud_status unknown_flag(const lud_verb *verb, const char *word, lud_error *error) {
    const char *names[MAX_FLAGS];
    char bare[64];
    size_t length = strcspn(word, "=");
    const char *begin = word;
    while (*begin == '-') begin++, length--;
    if (length >= sizeof bare) length = sizeof bare - 1;
    memcpy(bare, begin, length);
    bare[length] = 0;
    int n = 0;
    for (; n < verb->n_flags && n < MAX_FLAGS - 1; n++) names[n] = verb->flags[n].name;
    names[n++] = "help";
    const char *near = lud_nearest_name(bare, names, n);
    if (near)
        return lud_invalid(error, "unknown option '%.*s' of 'ludus %s', did you mean '--%s'?",
                           (int)strcspn(word, "="), word, verb->name, near);
    return lud_invalid(error, "unknown option '%.*s' of 'ludus %s'; 'ludus %s --help' lists them",
                       (int)strcspn(word, "="), word, verb->name, verb->name);
}

static lud_status read_number(const lud_flag *flag, const char *text, bool integer, double *value,
                              int64_t *whole, lud_error *error) {
    const char *end;
    *whole = 0;
    bool good = integer ? lud_number_integer(text, &end, whole) > 0 : lud_number_real(text, &end, value);
    if (integer) *value = (double)*whole;
    if (good && !*end && *value >= flag->minimum && *value <= flag->maximum) return LUD_OK;
    return lud_invalid(error, "--%s: expected %s from %g to %g, found '%s'", flag->name,
                       integer ? "an integer" : "a number", flag->minimum, flag->maximum, text);
}

static lud_status read_memory(const lud_flag *flag, const char *text, double *gibibytes, lud_error *error) {
    const char *end;
    if (lud_number_memory(text, &end, gibibytes) && !*end && *gibibytes >= flag->minimum &&
        *gibibytes <= flag->maximum)
        return LUD_OK;
    return lud_invalid(error,
                       "--%s: expected memory in GiB, or with its unit (8, 8G, 500M), from %g to %g GiB, "
                       "found '%s'",
                       flag->name, flag->minimum, flag->maximum, text);
}

static lud_status set_flag(const lud_flag *flag, const char *text, void *values, lud_error *error) {
    char *field = (char *)values + flag->offset;
    double value;
    int64_t whole;
    switch (flag->type) {
    case LUD_FLAG_SWITCH:
        memcpy(field, &(bool){true}, sizeof(bool));
        break;
    case LUD_FLAG_INT:
        LUD_TRY(read_number(flag, text, true, &value, &whole, error));
        memcpy(field, &whole, sizeof whole);
        break;
    case LUD_FLAG_REAL:
        LUD_TRY(read_number(flag, text, false, &value, &whole, error));
        memcpy(field, &value, sizeof value);
        break;
    case LUD_FLAG_MEMORY:
        LUD_TRY(read_memory(flag, text, &value, error));
        memcpy(field, &value, sizeof value);
        break;
    case LUD_FLAG_TEXT:
        memcpy(field, &text, sizeof text);
        break;
    case LUD_FLAG_LIST: {
        lud_flag_list *list = (lud_flag_list *)(void *)field;
        if (list->n == LUD_FLAG_LIST_ITEMS)
            return lud_invalid(error, "--%s: more than %d times", flag->name, LUD_FLAG_LIST_ITEMS);
        list->items[list->n++] = text;
        break;
    }
    }
    return LUD_OK;
}

/* One word that begins with a dash; takes the next word too where the flag needs a value. */
static lud_status read_flag(const lud_verb *verb, char *const *words, int n_words, int *at, void *values,
                            lud_error *error) {
    const char *word = words[*at], *text = NULL;
    const lud_flag *flag;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        flag = find_flag(verb, word + 2, length);
        if (word[2 + length]) text = word + 3 + length;
    } else {
        flag = find_letter(verb, word[1]);
        if (word[2]) text = word + 2 + (word[2] == '=');
    }
    if (!flag) return unknown_flag(verb, word, error);
    if (flag->type == LUD_FLAG_SWITCH) {
        if (text) return lud_invalid(error, "--%s takes no value", flag->name);
    } else if (!text) {
        if (*at + 1 == n_words)
            return lud_invalid(error, "--%s needs a value: --%s %s", flag->name, flag->name, flag->argument);
        text = words[++*at];
    }
    return set_flag(flag, text, values, error);
}

lud_status lud_flags_parse(const lud_verb *verb, char *const *words, int n_words, void *values,
                           const char **arguments, int *n_arguments, bool *help, lud_error *error) {
    *n_arguments = 0;
    *help = false;
    memset(values, 0, verb->value_bytes);
    if (verb->set_defaults) verb->set_defaults(values);
    bool only_arguments = false;
    for (int i = 0; i < n_words; i++) {
        const char *word = words[i];
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            *help = true;
            return LUD_OK;
        } else if (!only_arguments && word[0] == '-' && word[1]) {
            LUD_TRY(read_flag(verb, words, n_words, &i, values, error));
        } else {
            arguments[(*n_arguments)++] = word;
        }
    }
    if (*n_arguments < verb->min_arguments)
        return lud_invalid(error, "'ludus %s' needs %s; see 'ludus %s --help'", verb->name, verb->arguments,
                           verb->name);
    if (*n_arguments > verb->max_arguments)
        return lud_invalid(error, "'ludus %s' does not know what to do with '%s'", verb->name,
                           arguments[verb->max_arguments]);
    return LUD_OK;
}

void lud_verb_print_help(const lud_verb *verb, FILE *out) {
    fprintf(out, "ludus %s: %s\n\nusage: ludus %s %s%s[options]\n\n", verb->name, verb->about, verb->name,
            verb->arguments, *verb->arguments ? " " : "");
    for (int i = 0; i < verb->n_flags; i++) {
        const lud_flag *flag = &verb->flags[i];
        char left[48];
        snprintf(left, sizeof left, "--%s%s%s", flag->name, flag->argument ? " " : "",
                 flag->argument ? flag->argument : "");
        fprintf(out, "  %c%c%c %-20s %s\n", flag->letter ? '-' : ' ', flag->letter ? flag->letter : ' ',
                flag->letter ? ',' : ' ', left, flag->help);
    }
    fprintf(out, "  -h, %-20s %s\n", "--help", "this text");
    if (verb->notes) fprintf(out, "\n%s", verb->notes);
    if (verb->keys) fputc('\n', out);
    if (verb->keys) lud_options_help(verb->keys, out);
}
