#include "cli/support_program.h"

#include <fcntl.h>
#include <signal.h>
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

static program_result run(const char *program, const char *const *words, int interruption, const char *to) {
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
        int given = to ? open(to, O_WRONLY) : -1;
        dup2(to ? given : fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (interruption > AT_ONCE) {
        nanosleep(&(struct timespec){interruption / 1000, interruption % 1000 * 1000000L}, NULL);
        kill(child, SIGINT);
    }
    int status;
    if (waitpid(child, &status, 0) != child) abort();
    return (program_result){WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

program_result program_run(const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, NEVER, NULL);
}

program_result program_run_interrupted(const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, AT_ONCE, NULL);
}

program_result program_run_interrupted_after(const char *const *words, int milliseconds) {
    return run(LUDUS_BINARY_DIR "/ludus", words, milliseconds > 0 ? milliseconds : 1, NULL);
}

void program_free(program_result *result) {
    free(result->out);
    free(result->err);
}

program_result program_run_to(const char *path, const char *const *words) {
    return run(LUDUS_BINARY_DIR "/ludus", words, NEVER, path);
}

program_result program_run_copy(const char *program, const char *const *words) {
    return run(program, words, NEVER, NULL);
}
