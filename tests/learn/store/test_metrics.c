/* Metrics: the CSV file, continuing it, and TensorBoard event files read back by a decoder of its own. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "learn/store/events.h"
#include "learn/store/metrics.h"
#include "learn/store/profile.h"

static const lud_metric columns[] = {
    {"loss/q_r", "%.3f", "mean squared error of Q_r"},
    {"grad_norm/q_r", NULL, "gradient norm before clipping"},
    {"seconds/update", "%.1f", "of one update"},
};

static char folder[] = "/tmp/ludus-metrics-XXXXXX";

static char *read_csv(lud_arena *arena) {
    char path[96], *bytes = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, NULL), LUD_OK);
    return bytes;
}

static void clean_folder(void) {
    char command[96];
    snprintf(command, sizeof command, "rm -f %s/*", folder);
    assert_int_equal(system(command), 0);
}

static void write_rows(uint64_t resume, uint64_t first, uint64_t last) {
    lud_metrics *metrics = NULL;
    lud_error error = {0};
    assert_int_equal(lud_metrics_open(folder, columns, 3, resume, &metrics, &error), LUD_OK);
    for (uint64_t i = first; i <= last; i++) {
        const double row[] = {1.0 / (double)(i + 1), i % 2 ? NAN : 2.0 * (double)i, 0.25};
        assert_int_equal(lud_metrics_write(metrics, i, 0.5 * (double)i, row, &error), LUD_OK);
    }
    assert_int_equal(lud_metrics_close(metrics, &error), LUD_OK);
}

static void csv_has_a_header_and_rows(void **state) {
    (void)state;
    clean_folder();
    write_rows(0, 0, 2);
    lud_arena *arena = lud_arena_create(0);
    assert_string_equal(read_csv(arena), "iteration,seconds,loss/q_r,grad_norm/q_r,seconds/update\n"
                                         "0,0.000,1,0,0.25\n"
                                         "1,0.500,0.5,,0.25\n"
                                         "2,1.000,0.333333333,4,0.25\n");
    lud_arena_destroy(arena);
}

static void resuming_drops_later_and_cut_rows(void **state) {
    (void)state;
    clean_folder();
    write_rows(0, 0, 6);
    lud_arena *arena = lud_arena_create(0);
    const char *whole = read_csv(arena);
    write_rows(4, 4, 6);
    assert_string_equal(read_csv(arena), whole);
    char path[96];
    snprintf(path, sizeof path, "%s/metrics.csv", folder);
    assert_int_equal(truncate(path, (off_t)strlen(whole) - 3), 0);
    write_rows(6, 6, 6);
    assert_string_equal(read_csv(arena), whole);
    lud_metrics *metrics = NULL;
    lud_error error = {0};
    assert_int_equal(lud_metrics_open(folder, columns, 2, 3, &metrics, &error), LUD_ERROR_INPUT);
    char expected[200];
    snprintf(expected, sizeof expected,
             "%s:1:1: the columns are not those of this run; move the file away to start a new one", path);
    assert_string_equal(error.text, expected);
    lud_arena_destroy(arena);
}

/* --- files that cannot be written --- */

/* Files whose path has this part open as a full disk (with a buffer or without one), or not at all. */
static const char *failing_part;
enum { REFUSED, FULL_BUFFERED, FULL_UNBUFFERED };
static int failing_how;

FILE *fdopen(int descriptor, const char *mode); /* in place of the C library's */

FILE *fdopen(int descriptor, const char *mode) {
    static FILE *(*real)(int, const char *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "fdopen");
    char name[64], path[256] = "";
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    if (!failing_part || mode[0] != 'a' || readlink(name, path, sizeof path - 1) < 0 ||
        !strstr(path, failing_part))
        return real(descriptor, mode);
    if (failing_how == REFUSED) {
        errno = EACCES;
        return NULL;
    }
    const int full = open("/dev/full", O_WRONLY);
    if (full < 0 || dup2(full, descriptor) < 0 || close(full)) return NULL;
    FILE *file = real(descriptor, mode);
    if (file && failing_how == FULL_UNBUFFERED) setvbuf(file, NULL, _IONBF, 0);
    return file;
}

static void files_that_cannot_be_written_are_named(void **state) {
    (void)state;
    if (!lud_file_exists("/dev/full")) skip();
    static const struct {
        const char *part;
        int how;
        int fails; /* at which step: opening, a row, flushing, closing */
    } cases[] = {{"metrics.csv", REFUSED, 0},       {"metrics.csv", FULL_UNBUFFERED, 1},
                 {"metrics.csv", FULL_BUFFERED, 2}, {"metrics.csv", FULL_BUFFERED, 3},
                 {"events.out.", REFUSED, 0},       {"events.out.", FULL_UNBUFFERED, 0},
                 {"events.out.", FULL_BUFFERED, 2}, {"events.out.", FULL_BUFFERED, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clean_folder();
        lud_metrics *metrics = NULL;
        lud_error error = {0};
        static const double row[] = {1, 2, 3};
        failing_part = cases[i].part;
        failing_how = cases[i].how;
        lud_status status = lud_metrics_open(folder, columns, 3, 0, &metrics, &error);
        assert_int_equal(status, cases[i].fails == 0 ? LUD_ERROR_IO : LUD_OK);
        if (!status) status = lud_metrics_write(metrics, 1, 0.5, row, &error);
        assert_int_equal(status, cases[i].fails <= 1 ? LUD_ERROR_IO : LUD_OK);
        if (!status && cases[i].fails == 2) {
            status = lud_metrics_flush(metrics, &error);
            assert_int_equal(status, LUD_ERROR_IO);
        }
        const lud_status closed = lud_metrics_close(metrics, status ? NULL : &error);
        if (cases[i].fails == 3) assert_int_equal(closed, LUD_ERROR_IO);
        failing_part = NULL;
        char expected[100];
        snprintf(expected, sizeof expected, "%s/%s", folder, cases[i].part);
        const char *reason = cases[i].how == REFUSED ? ": cannot write: Permission denied"
                                                     : ": cannot write: No space left on device";
        if (strncmp(error.text, expected, strlen(expected)) != 0 || !strstr(error.text, reason))
            fail_msg("case %zu: %s", i, error.text);
    }
}

/* --- a decoder of event files that shares nothing with the writer --- */

/* CRC-32C by the usual table of 256 entries. */
static uint32_t reference_crc32c(const unsigned char *bytes, size_t n) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ 0x82F63B78u : c >> 1;
            table[i] = c;
        }
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ bytes[i]) & 255] ^ (crc >> 8);
    return ~crc;
}

static uint32_t unmask(uint32_t masked) {
    const uint32_t rotated = masked - 0xa282ead8u;
    return rotated >> 17 | rotated << 15;
}

static uint64_t varint(const unsigned char **p) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const unsigned char byte = *(*p)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
}

typedef struct decoded {
    double wall_time;
    uint64_t step;
    char version[32];
    int n;
    char tags[4][32];
    float values[4];
} decoded;

static void decode_value(const unsigned char *p, const unsigned char *end, decoded *event) {
    while (p < end) {
        const uint64_t key = varint(&p);
        if (key == (1 << 3 | 2)) {
            const uint64_t length = varint(&p);
            memcpy(event->tags[event->n], p, length);
            event->tags[event->n][length] = 0;
            p += length;
        } else {
            assert_int_equal(key, 2 << 3 | 5);
            memcpy(&event->values[event->n], p, 4);
            p += 4;
        }
    }
    assert_true(p == end);
    event->n++;
}

static void decode_event(const unsigned char *p, const unsigned char *end, decoded *event) {
    memset(event, 0, sizeof *event);
    while (p < end) {
        const uint64_t key = varint(&p);
        if (key == (1 << 3 | 1)) {
            memcpy(&event->wall_time, p, 8);
            p += 8;
        } else if (key == (2 << 3 | 0)) {
            event->step = varint(&p);
        } else if (key == (3 << 3 | 2)) {
            const uint64_t length = varint(&p);
            memcpy(event->version, p, length);
            p += length;
        } else {
            assert_int_equal(key, 5 << 3 | 2);
            const uint64_t length = varint(&p);
            const unsigned char *stop = p + length;
            while (p < stop) {
                assert_int_equal(varint(&p), 1 << 3 | 2);
                const uint64_t inner = varint(&p);
                decode_value(p, p + inner, event);
                p += inner;
            }
        }
    }
    assert_true(p == end);
}

static void event_files_decode(void **state) {
    (void)state;
    clean_folder();
    write_rows(0, 299, 301);
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    char path[400] = "";
    while ((entry = readdir(directory)))
        if (strncmp(entry->d_name, "events.out.tfevents.", 20) == 0)
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    closedir(directory);
    lud_arena *arena = lud_arena_create(0);
    char *bytes = NULL;
    size_t length = 0;
    assert_int_equal(lud_file_read(arena, path, 0, &bytes, &length, NULL), LUD_OK);

    const unsigned char *p = (unsigned char *)bytes, *end = p + length;
    int n_events = 0;
    while (p < end) {
        uint64_t n;
        uint32_t check;
        memcpy(&n, p, 8);
        memcpy(&check, p + 8, 4);
        assert_int_equal(unmask(check), reference_crc32c(p, 8));
        memcpy(&check, p + 12 + n, 4);
        assert_int_equal(unmask(check), reference_crc32c(p + 12, n));
        decoded event;
        decode_event(p + 12, p + 12 + n, &event);
        assert_true(event.wall_time > 1.6e9);
        if (n_events == 0) {
            assert_string_equal(event.version, "brain.Event:2");
        } else {
            const uint64_t step = (uint64_t)(298 + n_events);
            assert_int_equal(event.step, step);
            assert_int_equal(event.n, step % 2 ? 2 : 3); /* NaN is left out */
            assert_string_equal(event.tags[0], "loss/q_r");
            assert_true(event.values[0] == (float)(1.0 / (double)(step + 1)));
            assert_string_equal(event.tags[event.n - 1], "seconds/update");
            assert_true(event.values[event.n - 1] == 0.25f);
        }
        p += 16 + n;
        n_events++;
    }
    assert_int_equal(n_events, 4);
    lud_arena_destroy(arena);
}

/* Test vectors of RFC 3720, appendix B.4. */
static void crc32c_of_the_standard(void **state) {
    (void)state;
    unsigned char bytes[32] = {0};
    assert_int_equal(lud_crc32c(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    assert_int_equal(lud_crc32c(bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++) bytes[i] = (unsigned char)i;
    assert_int_equal(lud_crc32c(bytes, 32), 0x46dd794eu);
    assert_int_equal(lud_crc32c("123456789", 9), 0xe3069283u);
}

static void progress_shows_formatted_columns(void **state) {
    (void)state;
    const double row[] = {0.12345, 7.0, NAN};
    lud_text text = {0};
    lud_metrics_print(columns, 3, row, &text);
    assert_string_equal(text.bytes, "loss/q_r 0.123");
    lud_text_free(&text);
}

static void profile_prints_the_stage_table(void **state) {
    (void)state;
    lud_profile profile = {
        .title = "Batching Profile", .stages = lud_batching_stages, .n = LUD_BATCHING_STAGES};
    const double milliseconds[] = {3.567, 25.456, 45.123, 1.234, 10.234, 0.789};
    for (int i = 0; i < LUD_BATCHING_STAGES; i++) profile.seconds[i] = milliseconds[i] * 0.1;
    profile.calls = 100;
    lud_text text = {0};
    lud_profile_print(&profile, &text);
    assert_string_equal(text.bytes, "=== Batching Profile (100 calls) ===\n"
                                    "  stage3_forward      :   45.123 ms (52.2%)\n"
                                    "  stage2_encode       :   25.456 ms (29.5%)\n"
                                    "  stage5_v_h_e        :   10.234 ms (11.8%)\n"
                                    "  stage1_collect      :    3.567 ms ( 4.1%)\n"
                                    "  stage4_scatter      :    1.234 ms ( 1.4%)\n"
                                    "  tensor_conversion   :    0.789 ms ( 0.9%)\n"
                                    "  TOTAL               :   86.403 ms\n");
    lud_text_free(&text);
    lud_profile_reset(&profile);
    const double outside = lud_clock_seconds();
    lud_profile_begin(&profile, LUD_STAGE_ENCODE);
    const double inside = lud_clock_seconds();
    while (lud_clock_seconds() - inside < 1e-4) {
    }
    const double waited = lud_clock_seconds() - inside;
    lud_profile_end(&profile, LUD_STAGE_ENCODE);
    const double all = lud_clock_seconds() - outside;
    lud_profile_call(&profile);
    assert_in_range((int64_t)(1e6 * lud_profile_milliseconds(&profile, LUD_STAGE_ENCODE)),
                    (int64_t)(1e9 * waited) - 1, (int64_t)(1e9 * all) + 1);
    assert_true(lud_profile_milliseconds(&profile, LUD_STAGE_FORWARD) == 0.0);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    clean_folder();
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_has_a_header_and_rows),
        cmocka_unit_test(resuming_drops_later_and_cut_rows),
        cmocka_unit_test(files_that_cannot_be_written_are_named),
        cmocka_unit_test(event_files_decode),
        cmocka_unit_test(crc32c_of_the_standard),
        cmocka_unit_test(progress_shows_formatted_columns),
        cmocka_unit_test(profile_prints_the_stage_table),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
