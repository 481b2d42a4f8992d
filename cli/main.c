#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/log.h"
#include "base/options/json_memory.h"
#include "cli/cli.h"
#include "ludus/ludus.h"

static const lud_verb *const known[] = {
    &lud_verb_run,     &lud_verb_view,  &lud_verb_record,     &lud_verb_train,   &lud_verb_eval,
    &lud_verb_solve,   &lud_verb_sweep, &lud_verb_experiment, &lud_verb_inspect, &lud_verb_plot,
    &lud_verb_convert, &lud_verb_bench, &lud_verb_help};
enum { MAX_VERBS = sizeof known / sizeof *known };
_Static_assert((int)MAX_VERBS <= (int)LUD_MAX_VERBS, "more verbs than the header says");

int lud_verbs(const lud_verb **verbs) {
    int n = 0;
    for (int i = 0; i < MAX_VERBS; i++)
        if (known[i]) verbs[n++] = known[i]; /* parts that this build lacks are null */
    return n;
}

const lud_verb *lud_verb_find(const char *name, lud_error *error) {
    const lud_verb *verbs[LUD_MAX_VERBS];
    int n = lud_verbs(verbs);
    const char *names[MAX_VERBS];
    for (int i = 0; i < n; i++) {
        names[i] = verbs[i]->name;
        if (strcmp(name, names[i]) == 0) return verbs[i];
    }
    const char *near = lud_nearest_name(name, names, n);
    if (near)
        lud_invalid(error, "unknown verb '%s', did you mean 'ludus %s'?", name, near);
    else
        lud_invalid(error, "unknown verb '%s'; 'ludus help' lists the verbs", name);
    return NULL;
}

static const char *program = "ludus"; /* in a folder of PATH */

const char *lud_program(void) {
    return program;
}

static lud_ranks *processes;

lud_ranks *lud_processes(void) {
    return processes;
}

/* Meets the other processes of the job, where there are some. */
static lud_status meet(const lud_verb *verb, lud_error *error) {
    LUD_TRY(lud_ranks_open(&processes, error));
    if (!processes) return LUD_OK;
    /* the cores that the launcher gave to this one, unless the user says otherwise */
    if (!getenv("OMP_NUM_THREADS") && lud_ranks_threads(processes) > 0)
        omp_set_num_threads(lud_ranks_threads(processes));
    if (verb->over_processes) {
        /* what all of them would print is printed by the first */
        if (!lud_ranks_leads(processes) && !freopen("/dev/null", "w", stdout))
            return lud_fail(error, LUD_ERROR_IO, "/dev/null: cannot be opened");
        return LUD_OK;
    }
    return lud_ranks_agree(processes,
                           lud_invalid(error, "ludus %s is the work of one process; %d were started",
                                       verb->name, lud_ranks_size(processes)),
                           error);
}

/* The last word. What all processes know of is told by the first. */
static void tell(const lud_error *error) {
    const int rank = lud_ranks_rank(processes);
    if (rank == 0)
        lud_log(NULL, LUD_LOG_ERROR, "%s", error->text);
    else if (!lud_ranks_agreed_to_fail(processes))
        lud_log(NULL, LUD_LOG_ERROR, "process %d of %d: %s", rank, lud_ranks_size(processes), error->text);
}

static int exit_code(lud_status status) {
    switch (status) {
    case LUD_OK:
        return 0;
    case LUD_ERROR_INPUT:
    case LUD_ERROR_UNSUPPORTED:
        return 2;
    case LUD_INTERRUPTED: /* as a shell says of what a signal ended: 130 for Ctrl-C, 143 for SIGTERM */
        return lud_interrupt_signal() ? 128 + lud_interrupt_signal() : 1;
    default:
        return 1;
    }
}

static lud_status call(const lud_verb *verb, char *const *words, int n_words, lud_error *error) {
    void *values = malloc(verb->value_bytes ? verb->value_bytes : 1);
    const char **arguments = malloc(((size_t)n_words + 1) * sizeof *arguments);
    lud_status status;
    int n_arguments;
    bool help;
    if (!values || !arguments) {
        status = lud_out_of_memory(error);
    } else {
        status = lud_flags_parse(verb, words, n_words, values, arguments, &n_arguments, &help, error);
        if (!status && (help || verb == &lud_verb_help))
            signal(SIGPIPE, SIG_DFL); /* `| head` ends it quietly */
        if (!status && help)
            lud_verb_print_help(verb, stdout);
        else if (!status)
            status = verb->run(values, arguments, n_arguments, error);
        if (!status) status = lud_flush_output(error);
    }
    free(values);
    free(arguments);
    return status;
}

/* OpenMP's threads spin for milliseconds at every barrier unless they are told otherwise before the program
   is loaded. Beside other programs each barrier then waits for a thread that has no core: trainings became
   seven times as slow. So where the user has not chosen, the program begins anew with threads that soon
   sleep. */
static void begin_with_patient_threads(char **words) {
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
        execv("/proc/self/exe", words); /* where it fails they spin */
}

int main(int n_words, char **words) {
    begin_with_patient_threads(words);
    lud_error error = {0};
    lud_log_set_sink(NULL); /* libludus says nothing on its own; the program does, on stderr */
    lud_interrupt_install();
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error of writing, not a sudden end */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not become larger */
    lud_json_watch();
    if (n_words > 0 && strchr(words[0], '/')) program = words[0];
    if (n_words == 2 && (strcmp(words[1], "--version") == 0 || strcmp(words[1], "-V") == 0)) {
        printf("ludus %s\n", ludus_version());
        return exit_code(lud_flush_output(NULL));
    }
    const char *name =
        n_words < 2 || strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0 ? "help" : words[1];
    const lud_verb *verb = lud_verb_find(name, &error);
    lud_status status = verb ? meet(verb, &error) : LUD_ERROR_INPUT;
    if (!status) status = call(verb, words + 2, n_words > 2 ? n_words - 2 : 0, &error);
    if (status) status = lud_ranks_give_up(processes, status, &error);
    if (status) tell(&error);
    lud_ranks_close(processes, status);
    return exit_code(status);
}
