#include "cli/support_program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 200 };

static char *slurp(FILE *file) {
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = calloc((size_t)length + 1, 1);
    if (fread(text, 1, (size_t)length, file) != (size_t)length) abort();
    fclose(file);
    return text;
}

/* When SIGINT is sent: not at all, before the program listens (so that it arrives as soon as it does, however
 * slow the machine), or after so many milliseconds. */
enum { NEVER = -1, AT_ONCE = 0 };

/* Where it runs (null: here), what it prints to (null: kept), and whether it may end before the signal. */
typedef struct place {
    const char *folder, *to;
    bool may_end;
} place;

/* Waits, and sends the signal to what has not ended by then; whether it has. */
static bool interrupt_after(pid_t child, int milliseconds, bool may_end, int *status) {
    enum { STEP = 5 };
    for (int waited = 0; may_end && waited < milliseconds; waited += STEP) {
        if (waitpid(child, status, WNOHANG) == child) return true;
        nanosleep(&(struct timespec){0, STEP * 1000000L}, NULL);
    }
    if (!may_end) nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
    kill(child, SIGINT);
    return false;
}

static program_result run(const char *program, const char *const *words, int interruption, place at) {
    char *arguments[MAX_WORDS + 2] = {(char *)program};
    for (int i = 0; words[i] && i < MAX_WORDS; i++) arguments[i + 1] = (char *)words[i];
    FILE *out = tmpfile(), *err = tmpfile();
    if (!out || !err) abort();
    pid_t child = fork();
    if (child == 0) {
        if (interruption == AT_ONCE) {
            sigset_t blocked;
            sigemptyset(&blocked);
            sigaddset(&blocked, SIGINT);
            sigprocmask(SIG_BLOCK, &blocked, NULL);
            raise(SIGINT); /* pending signals and the mask outlive exec; the program lifts the mask */
        }
        int given = at.to ? open(at.to, O_WRONLY) : -1;
        if (at.folder && chdir(at.folder) != 0) _exit(127);
        dup2(at.to ? given : fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status;
    const bool ended = interruption > AT_ONCE && interrupt_after(child, interruption, at.may_end, &status);
    if (!ended && waitpid(child, &status, 0) != child) abort();
    return (program_result){WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

program_result program_run(const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, NEVER, (place){0});
}

program_result program_run_interrupted(const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, AT_ONCE, (place){0});
}

program_result program_run_interrupted_after(const char *const *words, int milliseconds) {
    return run(LUDUS_BINARY_DIR "/ludus", words, milliseconds > 0 ? milliseconds : 1, (place){0});
}

program_result program_run_at_most(const char *folder, const char *const *words, int milliseconds) {
    return run(LUDUS_BINARY_DIR "/ludus", words, milliseconds, (place){.folder = folder, .may_end = true});
}

void program_free(program_result *result) {
    free(result->out);
    free(result->err);
}

program_result program_run_to(const char *path, const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, NEVER, (place){.to = path});
}

program_result program_run_copy(const char *program, const char *const *words) {
    return run(program, words, NEVER, (place){0});
}
