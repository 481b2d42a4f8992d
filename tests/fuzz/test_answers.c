/* What every fuzz target makes of known inputs, seeds and seeds with changes, is known: messages, what is
 * written back, states. (But for RUN folders, which hold how long a training took.) Who means to change a
 * message, an option or what a reader takes puts what LUDUS_ANSWERS_PRINT=1 prints into answers.txt; what has
 * changed is seen when the target is run with -answers=FILE before and after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 20261129, MOST = 64 };

typedef struct known_answers {
    char target[32];
    int inputs; /* changed ones; the seeds come before them */
    char answers[32];
} known_answers;

static void answers_are_known(void **state) {
    const known_answers *k = *state;
    char command[1024], answers[64] = "";
    const bool prints = getenv("LUDUS_ANSWERS_PRINT") != NULL;
    /* in memory with other bytes than when the numbers were made, so that what is read unwritten shows; but
     * for trainings, which take so much of it that filling it takes a minute */
    const bool same_memory = prints || strcmp(k->target, "fuzz_stranger") == 0;
    snprintf(command, sizeof command,
             "%s" LUDUS_BINARY_DIR "/%s -runs=%d -seed=%d -answers " LUDUS_SOURCE_DIR
             "/tests/fuzz/corpus/%s </dev/null 2>/dev/null",
             same_memory ? "" : "MALLOC_PERTURB_=85 ", k->target, k->inputs, SEED, k->target);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(answers, sizeof answers, pipe)) answers[0] = '\0';
    const int status = pclose(pipe);
    answers[strcspn(answers, "\n")] = '\0';
    if (prints) printf("%s %d %s\n", k->target, k->inputs, answers);
    if (status) fail_msg("%s ended with %d: %s", k->target, status, command);
    if (strcmp(answers, k->answers) != 0)
        fail_msg("%s: answers %s, not %s as before: %s", k->target, answers, k->answers, command);
}

int main(void) {
    static known_answers known[MOST];
    static struct CMUnitTest tests[MOST];
    size_t n = 0;
    FILE *file = fopen(LUDUS_SOURCE_DIR "/tests/fuzz/answers.txt", "r");
    for (char line[128]; file && n < MOST && fgets(line, sizeof line, file);) {
        known_answers *k = &known[n];
        if (sscanf(line, "%31[a-z_] %d %31s", k->target, &k->inputs, k->answers) != 3) continue;
        tests[n++] =
            (struct CMUnitTest){.name = k->target, .test_func = answers_are_known, .initial_state = k};
    }
    if (!file || n == 0) return 1;
    fclose(file);
    return _cmocka_run_group_tests("answers", tests, n, NULL, NULL);
}
