#include "cli/manual.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "ludus/ludus.h"

/* roff reads a dot or a quote at a line's start as a request, a backslash as an escape, and a plain dash as a
 * hyphen. */
static void print_roff(const char *text) {
    bool begins = true;
    for (const char *c = text; *c; c++) {
        if (begins && (*c == '.' || *c == '\'')) printf("\\&");
        begins = *c == '\n';
        if (*c == '\\')
            printf("\\e");
        else if (*c == '-')
            printf("\\-");
        else
            putchar(*c);
    }
}

static void print_head(const char *name, const char *about) {
    char title[40];
    snprintf(title, sizeof title, "%s", name);
    for (char *c = title; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    printf(".TH %s 1 \"\" \"Ludus %s\" \"Ludus\"\n.SH NAME\n", title, ludus_version());
    print_roff(name);
    printf(" \\- ");
    print_roff(about);
    printf("\n.SH SYNOPSIS\n");
}

static void print_exit_codes(void) {
    printf(".SH EXIT STATUS\n0 done, 1 the run failed, 2 the call or a file was wrong, 130 and 143 stopped "
           "by Ctrl\\-C or "
           "SIGTERM.\n");
}

static void print_flag(const char *name, char letter, const char *argument, const char *help) {
    printf(".TP\n.B ");
    if (letter) printf("\\-%c, ", letter);
    printf("\\-\\-");
    print_roff(name);
    if (argument) printf(" \\fI%s\\fR", argument);
    printf("\n");
    print_roff(help);
    printf("\n");
}

static void print_verb(const lud_verb *verb) {
    char name[48];
    snprintf(name, sizeof name, "ludus-%s", verb->name);
    print_head(name, verb->about);
    printf(".B ludus %s\n", verb->name);
    if (*verb->arguments) {
        print_roff(verb->arguments);
        printf("\n");
    }
    printf("[options]\n.SH OPTIONS\n");
    for (int i = 0; i < verb->n_flags; i++) {
        const lud_flag *f = &verb->flags[i];
        print_flag(f->name, f->letter, f->argument, f->help);
    }
    print_flag("help", 'h', NULL, "what the verb understands");
    if (verb->notes) {
        printf(".SH NOTES\n.nf\n");
        print_roff(verb->notes);
        printf(".fi\n");
    }
    print_exit_codes();
    printf(".SH SEE ALSO\n.BR ludus (1)\n");
}

void lud_manual_print(const lud_verb *verb) {
    if (verb) {
        print_verb(verb);
        return;
    }
    const lud_verb *verbs[LUD_MAX_VERBS];
    const int n = lud_verbs(verbs);
    print_head("ludus", "a laboratory for multi-agent worlds");
    printf(".B ludus\n.I VERB\n[arguments] [options]\n.SH DESCRIPTION\nA scenario file describes a world and "
           "who acts in it. "
           "Ludus runs it, shows it, records it, solves it exactly where it is small enough, and trains "
           "agents in it "
           "where it is not.\n.SH VERBS\n");
    for (int i = 0; i < n; i++) {
        printf(".TP\n.BR ludus\\-%s (1)\n", verbs[i]->name);
        print_roff(verbs[i]->about);
        printf("\n");
    }
    print_exit_codes();
    printf(".SH SEE ALSO\n");
    for (int i = 0; i < n; i++) printf(".BR ludus\\-%s (1)%s\n", verbs[i]->name, i + 1 < n ? "," : "");
}

/* ---- completion ---- */

static void print_words(const lud_verb *verb) {
    for (int i = 0; i < verb->n_flags; i++) {
        if (verb->flags[i].letter) printf("-%c ", verb->flags[i].letter);
        printf("--%s ", verb->flags[i].name);
    }
    printf("-h --help");
}

static void print_bash(const lud_verb *const *verbs, int n, const char *const *topics, int n_topics) {
    printf("# Completion of ludus for bash, written by `ludus help --completion bash`.\n"
           "_ludus() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n"
           "        words='");
    for (int i = 0; i < n; i++) printf("%s ", verbs[i]->name);
    printf("--version --help'\n    else\n        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < n; i++) {
        printf("        %s) [[ $word == -* ]] && words='", verbs[i]->name);
        print_words(verbs[i]);
        printf("'");
        if (strcmp(verbs[i]->name, "help") == 0) {
            printf(" || words='");
            for (int k = 0; k < n_topics; k++) printf("%s%s", k ? " " : "", topics[k]);
            printf("'");
        }
        printf(" ;;\n");
    }
    printf("        esac\n    fi\n"
           "    [[ $words ]] && mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _ludus ludus\n");
}

/* Inside single quotes, where what a description of zsh means by it must not be: `'`, `[`, `]`, `:`. */
static void print_quoted(const char *text, const char *escaped) {
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            printf("'\\''");
        else {
            if (strchr(escaped, *c)) putchar('\\');
            putchar(*c);
        }
    }
}

static void print_zsh(const lud_verb *const *verbs, int n, const char *const *topics, int n_topics) {
    static const char special[] = "[]:\\";
    printf("#compdef ludus\n# Completion of ludus for zsh, written by `ludus help --completion zsh`.\n"
           "_ludus() {\n  if (( CURRENT == 2 )); then\n    local -a verbs\n    verbs=(");
    for (int i = 0; i < n; i++) {
        printf("\n      '%s:", verbs[i]->name);
        print_quoted(verbs[i]->about, ":\\");
        printf("'");
    }
    printf(")\n    _describe verb verbs\n    return\n  fi\n  local verb=$words[2]\n  shift words\n  (( "
           "CURRENT-- ))\n"
           "  case $verb in\n");
    for (int i = 0; i < n; i++) {
        printf("    %s) _arguments -s", verbs[i]->name);
        for (int k = 0; k < verbs[i]->n_flags; k++) {
            const lud_flag *f = &verbs[i]->flags[k];
            const char *many = f->type == LUD_FLAG_LIST ? "*" : "";
            printf(" \\\n        ");
            if (f->letter && !*many)
                printf("'(-%c --%s)'{-%c,--%s}'[", f->letter, f->name, f->letter, f->name);
            else if (f->letter)
                printf("'*'{-%c,--%s}'[", f->letter, f->name);
            else
                printf("'%s--%s[", many, f->name);
            print_quoted(f->help, special);
            printf("]");
            if (f->argument) {
                printf(":");
                print_quoted(f->argument, special);
                printf(":%s", f->type == LUD_FLAG_TEXT ? "_files" : "");
            }
            printf("'");
        }
        printf(" \\\n        '(-h --help)'{-h,--help}'[what the verb understands]' \\\n        ");
        if (strcmp(verbs[i]->name, "help") == 0) {
            printf("'*:topic:(");
            for (int k = 0; k < n_topics; k++) printf("%s%s", k ? " " : "", topics[k]);
            printf(")' ;;\n");
        } else {
            printf("'*:file:_files' ;;\n");
        }
    }
    printf("  esac\n}\n_ludus \"$@\"\n");
}

static void print_fish(const lud_verb *const *verbs, int n, const char *const *topics, int n_topics) {
    printf("# Completion of ludus for fish, written by `ludus help --completion fish`.\n");
    for (int i = 0; i < n; i++) {
        printf("complete -c ludus -f -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
        print_quoted(verbs[i]->about, "\\");
        printf("'\n");
        for (int k = 0; k < verbs[i]->n_flags; k++) {
            const lud_flag *f = &verbs[i]->flags[k];
            printf("complete -c ludus -n '__fish_seen_subcommand_from %s' -l %s", verbs[i]->name, f->name);
            if (f->letter) printf(" -s %c", f->letter);
            if (f->argument) printf(" -r");
            printf(" -d '");
            print_quoted(f->help, "\\");
            printf("'\n");
        }
    }
    printf("complete -c ludus -f -n '__fish_seen_subcommand_from help' -a '");
    for (int k = 0; k < n_topics; k++) printf("%s%s", k ? " " : "", topics[k]);
    printf("'\n");
}

lud_status lud_completion_print(const char *shell, const char *const *topics, int n_topics,
                                lud_error *error) {
    const lud_verb *verbs[LUD_MAX_VERBS];
    const int n = lud_verbs(verbs);
    if (strcmp(shell, "bash") == 0)
        print_bash(verbs, n, topics, n_topics);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(verbs, n, topics, n_topics);
    else if (strcmp(shell, "fish") == 0)
        print_fish(verbs, n, topics, n_topics);
    else
        return lud_invalid(error, "--completion: expected bash, zsh or fish, found '%s'", shell);
    return LUD_OK;
}
