/* Progress and log lines, on a terminal (a pseudo terminal) and elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"

static void test_formats(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } counts[] = {
        {0, "0"},          {512, "512"},       {999, "999"},     {1000, "1.00 k"},  {1240000, "1.24 M"},
        {31.4, "31.4"},    {0.5, "0.50"},      {99950, "100 k"}, {999499, "999 k"}, {999500, "1.00 M"},
        {3.1e9, "3.10 G"}, {-2500, "-2.50 k"}, {1e30, "1e+30"}};
    static const struct {
        double value;
        const char *text;
    } times[] = {{0.04, "0.0 s"}, {3.14, "3.1 s"},     {12, "12 s"},      {59.4, "59 s"}, {59.6, "1:00"},
                 {187, "3:07"},   {3599.7, "1:00:00"}, {8100, "2:15:00"}, {-1, "?"},      {1e12, "?"}};
    static const struct {
        double value;
        const char *text;
    } memory[] = {{0, "0 B"},           {37, "37 B"},         {999, "999 B"},       {1000, "0.98 KiB"},
                  {1024, "1.00 KiB"},   {1536, "1.50 KiB"},   {0x1p20, "1.00 MiB"}, {612 * 0x1p20, "612 MiB"},
                  {4.55e9, "4.24 GiB"}, {0x1p33, "8.00 GiB"}, {0x1p45, "32.0 TiB"}, {-1, "? B"},
                  {NAN, "? B"}};
    char text[24];
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        assert_string_equal(lud_format_memory(memory[i].value, text), memory[i].text);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_string_equal(lud_format_count(counts[i].value, text), counts[i].text);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        assert_string_equal(lud_format_seconds(times[i].value, text), times[i].text);
}

static void test_plain(void **state) {
    (void)state;
    FILE *file = tmpfile();
    lud_progress progress;
    lud_progress_start(&progress, file, "states", "states", 1000);
    assert_false(progress.terminal);
    progress.interval = 1e9;
    for (uint64_t i = 0; i < 1000; i++)
        lud_progress_update(&progress, i); /* too early for a line, however slow the machine */
    fflush(file);
    assert_int_equal(ftell(file), 0);
    progress.interval = 0;
    lud_progress_note(&progress, "loss %.1f", 0.5);
    progress.started -= 1e6; /* as if days had gone by: what has really gone by does not count */
    lud_progress_update(&progress, 500);
    lud_progress_finish(&progress);
    rewind(file);
    char line[300];
    assert_non_null(fgets(line, sizeof line, file));
    int matched = 0;
    assert_int_equal(
        sscanf(line, "states: 500 of 1.00 k states, %*[0-9.]/s, 277:46:%*[0-9] left, loss 0.5%n", &matched),
        0);
    assert_int_equal(line[matched], '\n');
    assert_non_null(fgets(line, sizeof line, file));
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    lud_progress_start(&progress, NULL, "silent", "x", 0);
    lud_progress_update(&progress, 1);
    lud_progress_finish(&progress);
}

static void test_terminal(void **state) {
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0) skip();
    struct winsize window = {.ws_row = 24, .ws_col = 60};
    ioctl(slave, TIOCSWINSZ, &window);
    FILE *out = fdopen(slave, "w");
    lud_progress progress;
    lud_progress_start(&progress, out, "train", "steps", 100);
    assert_true(progress.terminal);
    progress.interval = 0;
    lud_progress_note(&progress, "a 1  a very long note that does not fit on a line of sixty columns");
    lud_progress_update(&progress, 50);
    lud_progress_note(&progress, "x");
    lud_progress_update(&progress, 60);
    lud_progress_finish(&progress);
    char text[2000];
    /* A pseudo-terminal hands over what the line discipline has passed on so far: a single read may stop
     * anywhere. */
    ssize_t n = 0;
    while (n < (ssize_t)sizeof text - 1 && (n == 0 || text[n - 1] != '\n')) {
        ssize_t got = read(master, text + n, sizeof text - 1 - (size_t)n);
        assert_true(got > 0);
        n += got;
    }
    text[n] = 0;
    assert_int_equal(text[0], '\r');
    char *second = strchr(text + 1, '\r');
    assert_non_null(second);
    /* the bar gives way to the figures, and what does not fit is left out as a whole */
    *second = 0;
    assert_true(second - text - 1 <= 59);
    assert_null(strchr(text + 1, '['));
    assert_int_equal(strncmp(text + 1, "train 50 of 100 steps, ", 23), 0);
    assert_null(strstr(text + 1, "very"));
    assert_string_equal(second - 5, ", a 1");
    *second = '\r';
    assert_null(memchr(text, '\n', (size_t)(second - text)));
    assert_non_null(strstr(second, " 60% 60 of 100 steps, "));
    assert_int_equal(text[n - 1], '\n');
    fclose(out);
    close(master);
}

/* Runs lud_log with stderr redirected and returns what it wrote. */
static void log_lines(char *text, size_t size, FILE *copy) {
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();
    dup2(fileno(file), STDERR_FILENO);
    lud_log(copy, LUD_LOG_ERROR, "no %s", "file");
    lud_log(copy, LUD_LOG_WARNING, "careful");
    lud_log(copy, LUD_LOG_INFO, "hello");
    lud_log(copy, LUD_LOG_DEBUG, "details");
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static void test_log(void **state) {
    (void)state;
    char text[1000], line[200];
    FILE *copy = tmpfile();
    assert_int_equal(lud_log_get_level(), LUD_LOG_INFO);
    log_lines(text, sizeof text, copy);
    assert_string_equal(text, "ludus: error: no file\nludus: warning: careful\nludus: hello\n");
    rewind(copy);
    assert_non_null(fgets(line, sizeof line, copy));
    int year = 0, end = 0;
    assert_int_equal(sscanf(line, "%d-%*d-%*d %*d:%*d:%*d error: no file%n", &year, &end), 1);
    assert_int_equal(line[end], '\n');
    assert_true(year >= 2024);
    fclose(copy);
    lud_log_set_level(LUD_LOG_ERROR);
    log_lines(text, sizeof text, NULL);
    assert_string_equal(text, "ludus: error: no file\n");
    lud_log_set_level(LUD_LOG_DEBUG);
    log_lines(text, sizeof text, NULL);
    assert_non_null(strstr(text, "ludus: debug: details\n"));
    lud_log_set_level(LUD_LOG_INFO);
}

static void doze(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}

/* Two signals at once are one; a later one ends the program. */
static void test_interrupt_twice(void **state) {
    (void)state;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lud_interrupt_install();
        kill(getpid(), SIGTERM);
        while (!lud_interrupted()) doze(1);
        kill(getpid(), SIGINT);
        kill(getpid(), SIGTERM);
        doze(400);
        kill(getpid(), SIGTERM);
        for (;;) doze(1000);
    }
    const double began = lud_clock_seconds();
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_true(lud_clock_seconds() - began > 0.3); /* the first three did not */
}

/* Ten iterations that began so many seconds ago; every line of it is written. */
static lud_progress begun_before(FILE *file, double seconds) {
    lud_progress progress;
    lud_progress_start(&progress, file, "train", "iterations", 10);
    progress.interval = 0;
    progress.started -= seconds;
    return progress;
}

/* Parts of a unit count for the rate and are shown; the question that was agreed on is answered with yes. */
static void test_beat(void **state) {
    (void)state;
    FILE *file = tmpfile();
    lud_error error = {0};
    lud_progress progress = begun_before(file, 10.0);
    progress.before = 2;
    lud_progress_update(&progress, 2);
    lud_interrupt_at(3);
    assert_int_equal(lud_progress_beat(&progress, 0.5, &error), LUD_OK);
    assert_int_equal(lud_progress_beat(NULL, 0.9, &error), LUD_OK);
    assert_int_equal(lud_progress_beat(&progress, 7.0, &error), LUD_INTERRUPTED);
    assert_string_equal(error.text, "interrupted");
    assert_true(lud_interrupted());
    assert_int_equal(lud_interrupt_questions(), 4);
    lud_interrupt_at(0);
    assert_false(lud_interrupted());
    rewind(file);
    char lines[3][200];
    for (int i = 0; i < 3; i++) assert_non_null(fgets(lines[i], sizeof lines[i], file));
    assert_ptr_equal(strstr(lines[0], "train: 2 of 10 iterations, 0/s, 10 s"), lines[0]);
    assert_ptr_equal(strstr(lines[1], "train: 2.50 of 10 iterations, 0.05/s, 2:30 left"), lines[1]);
    assert_ptr_equal(strstr(lines[2], "train: 3.00 of 10 iterations, 0.10/s, 1:10 left"), lines[2]);
    fclose(file);
}

/* Work that says nothing of the rest counts for the time that has passed and not for the rate; and the first
 * moments of a long unit are no measure of it. */
static void test_anew(void **state) {
    (void)state;
    FILE *file = tmpfile();
    lud_error error = {0};
    lud_progress progress = begun_before(file, 100.0);
    assert_int_equal(lud_progress_beat(&progress, 0.01, &error), LUD_OK);
    lud_progress_anew(&progress, 0.5);
    lud_progress_anew(NULL, 0.5);
    progress.started -= 10.0;
    assert_int_equal(lud_progress_beat(&progress, 0.6, &error), LUD_OK);
    lud_progress_update(&progress, 1);
    lud_progress_update(&progress, 10);
    rewind(file);
    static const char *const expected[4] = {
        "train: 0.01 of 10 iterations, 0.00/s, 1:40\n", "train: 0.60 of 10 iterations, 0.01/s, 15:40 left\n",
        "train: 1 of 10 iterations, 0.05/s, 3:00 left\n", "train: 10 of 10 iterations, 0.95/s, 1:50\n"};
    for (int i = 0; i < 4; i++) {
        char line[200];
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected[i]);
    }
    fclose(file);
}

/* The last iteration of ten has a long end of two stages: the time that is left is theirs. */
static void test_stages(void **state) {
    (void)state;
    FILE *file = tmpfile();
    lud_error error = {0};
    lud_progress progress = begun_before(file, 100.0);
    lud_progress_update(&progress, 9);
    lud_progress_stage(NULL, "questions", 0.5);
    lud_progress_stage(&progress, "questions", 0.01);
    assert_int_equal(lud_progress_beat(&progress, 1.0, &error), LUD_OK);
    progress.stage_started -= 30.0;
    lud_progress_stage(&progress, "questions", 0.25);
    assert_int_equal(lud_progress_beat(&progress, 1.0, &error), LUD_OK);
    lud_progress_stage(&progress, "answers", 0.5);
    progress.stage_started -= 7.0;
    lud_progress_stage(&progress, "answers", 0.5);
    assert_int_equal(lud_progress_beat(&progress, 1.0, &error), LUD_OK);
    rewind(file);
    static const char *const expected[4] = {
        "train: 9 of 10 iterations, 0.09/s, 11 s left\n",
        "train: 10.00 of 10 iterations, 0.10/s, 1:40, 1 % of questions\n",
        "train: 10.00 of 10 iterations, 0.10/s, 1:40, 25 % of questions, 1:30 left\n",
        "train: 10.00 of 10 iterations, 0.10/s, 1:40, 50 % of answers, 7.0 s left\n"};
    for (int i = 0; i < 4; i++) {
        char line[200];
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected[i]);
    }
    fclose(file);
}

static void test_interrupt(void **state) {
    (void)state;
    assert_false(lud_interrupted());
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGINT); /* before anybody listens: it waits */
    assert_false(lud_interrupted());
    lud_interrupt_install();
    assert_true(lud_interrupted());
    /* what comes from then on is not taken on the stack of those who compute */
    for (int again = 0; again < 2; again++) {
        assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
        assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM));
        lud_interrupt_install();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),  cmocka_unit_test(test_plain),
        cmocka_unit_test(test_terminal), cmocka_unit_test(test_log),
        cmocka_unit_test(test_beat),     cmocka_unit_test(test_anew),
        cmocka_unit_test(test_stages),   cmocka_unit_test(test_interrupt_twice),
        cmocka_unit_test(test_interrupt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
