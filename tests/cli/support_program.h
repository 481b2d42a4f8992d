/* Runs the built `ludus` and catches what it prints. */
#pragma once

typedef struct program_result {
    int exit_code; /* -1: ended by a signal */
    char *out, *err;
} program_result;

/* `ludus` with these words (null-terminated, at most 200). Free with program_free. */
program_result program_run(const char *const *words);
void program_free(program_result *result);
/* SIGINT waits for the program and arrives as soon as it listens: the same on every machine. */
program_result program_run_interrupted(const char *const *words);
/* SIGINT after so many milliseconds: the program may not listen yet (exit code -1) or be done (0). */
program_result program_run_interrupted_after(const char *const *words, int milliseconds);

/* In a folder; SIGINT when it has not ended after so many milliseconds. */
program_result program_run_at_most(const char *folder, const char *const *words, int milliseconds);

/* The output goes to the file at `path`, which stays open for writing only; .out is empty. */
program_result program_run_to(const char *path, const char *const *words);

/* A copy of the program that lies elsewhere. */
program_result program_run_copy(const char *program, const char *const *words);

#define LUDUS_TO(path, ...) program_run_to(path, (const char *const[]){__VA_ARGS__, NULL})
#define LUDUS(...)          program_run((const char *const[]){__VA_ARGS__, NULL})
