#include "cli/support_program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 32 };

static char *slurp(FILE *file) {
    fseek(file, 0, SEEK_END);
    long length = ftell(file);
    rewind(file);
    char *text = calloc((size_t)length + 1, 1);
    if (fread(text, 1, (size_t)length, file) != (size_t)length) abort();
    fclose(file);
    return text;
}

program_result program_run_interrupted(const char *const *words, int milliseconds) {
    char *arguments[MAX_WORDS + 2] = {(char *)LUDUS_BINARY_DIR "/ludus"};
    for (int i = 0; words[i] && i < MAX_WORDS; i++) arguments[i + 1] = (char *)words[i];
    FILE *out = tmpfile(), *err = tmpfile();
    if (!out || !err) abort();
    pid_t child = fork();
    if (child == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    if (milliseconds) {
        nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
        kill(child, SIGINT);
    }
    int status;
    if (waitpid(child, &status, 0) != child) abort();
    return (program_result){WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

program_result program_run(const char *const *words) {
    return program_run_interrupted(words, 0);
}

void program_free(program_result *result) {
    free(result->out);
    free(result->err);
}
