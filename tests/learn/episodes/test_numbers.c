/* Numbers of data sets: every type is read as what it is, and choices come back whatever their file needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "learn/episodes/file/writer.h"
#include "learn/episodes/numbers.h"
#include "learn/episodes/replay.h"
#include "learn/episodes/support_recording.h"

static int tear_down(void **state) {
    (void)state;
    recording_remove();
    return 0;
}

static void test_types(void **state) {
    (void)state;
    static const double f64[] = {-1e300, 0.1};
    static const float f32[] = {-1.5f, 0.25f};
    static const int64_t i64[] = {INT64_C(-9007199254740992), 3};
    static const int32_t i32[] = {INT32_MIN, 3};
    static const int16_t i16[] = {INT16_MIN, 300};
    static const int8_t i8[] = {INT8_MIN, 3};
    static const uint64_t u64[] = {UINT64_C(1) << 63, 3};
    static const uint32_t u32[] = {UINT32_MAX, 3};
    static const uint16_t u16[] = {UINT16_MAX, 300};
    static const uint8_t u8[] = {UINT8_MAX, 3};
    static const struct {
        lud_numbers numbers;
        double first, second;
    } cases[] = {{{LUD_TENSOR_F64, f64}, -1e300, 0.1},
                 {{LUD_TENSOR_F32, f32}, -1.5, 0.25},
                 {{LUD_TENSOR_I64, i64}, -9007199254740992.0, 3},
                 {{LUD_TENSOR_I32, i32}, -2147483648.0, 3},
                 {{LUD_TENSOR_I16, i16}, -32768, 300},
                 {{LUD_TENSOR_I8, i8}, -128, 3},
                 {{LUD_TENSOR_U64, u64}, 9223372036854775808.0, 3},
                 {{LUD_TENSOR_U32, u32}, 4294967295.0, 3},
                 {{LUD_TENSOR_U16, u16}, 65535, 300},
                 {{LUD_TENSOR_U8, u8}, 255, 3},
                 {{LUD_TENSOR_BOOL, u8}, 255, 3},
                 {{LUD_TENSOR_BF16, u16}, 0, 0}}; /* is not read */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_true(lud_number(cases[k].numbers, 0) == cases[k].first);
        assert_true(lud_number(cases[k].numbers, 1) == cases[k].second);
    }
}

/* Bytes of the file in which episodes with so many choices lie, read again to the last choice. */
static size_t write_and_read(const lud_data_info *like, int32_t n_choices, int32_t length) {
    lud_error error = {0};
    int32_t choices[8], idle[8];
    assert_in_range(like->n_agents, 2, 8);
    for (int i = 0; i < like->n_agents; i++) choices[i] = i ? n_choices : 2, idle[i] = -1;
    lud_data_info info = *like;
    info.n_choices = choices;
    info.choice_names = NULL;
    info.idle = idle;
    const lud_data_writing writing = {.info = &info, .frames = true, .n_threads = 1, .level = 1};
    const lud_data_row row = lud_data_row_of(&info, true);
    uint8_t *rows = calloc((size_t)length + 1, row.bytes);
    assert_non_null(rows);
    for (int32_t t = 0; t < length; t++)
        for (int i = 0; i < info.n_agents; i++) {
            /* the last ones, some in between, and nobody's: who is gone has none */
            const int32_t choice = i == 0       ? t % 2
                                   : t % 5 == 4 ? -1
                                                : n_choices - 1 - (int32_t)((int64_t)t * 7919 % n_choices);
            memcpy(rows + (size_t)t * row.bytes + row.discrete + (size_t)i * sizeof choice, &choice,
                   sizeof choice);
        }
    const char *path = recording_path("choices.h5");
    lud_data_writer *writer;
    const lud_data_rows episode = {.facts = {.length = length, .truncated = true}, .rows = rows};
    if (lud_data_writer_create(path, &writing, &writer, &error) ||
        lud_data_writer_add(writer, &episode, &error) || lud_data_writer_finish(writer, &error))
        fail_msg("%s", error.text);
    lud_data_set *set = recording_open("choices.h5");
    int32_t *found = malloc((size_t)length * (size_t)info.n_agents * sizeof *found);
    assert_non_null(found);
    assert_int_equal(lud_data_set_info(set)->n_choices[1], n_choices);
    assert_int_equal(lud_data_set_row_bytes(set, LUD_DATA_DISCRETE, 0),
                     (size_t)info.n_agents * sizeof *found);
    if (lud_data_set_read(set, LUD_DATA_DISCRETE, 0, 0, 0, length, found, &error)) fail_msg("%s", error.text);
    for (int32_t t = 0; t < length; t++)
        assert_memory_equal(found + (size_t)t * (size_t)info.n_agents,
                            rows + (size_t)t * row.bytes + row.discrete,
                            (size_t)info.n_agents * sizeof *found);
    free(found);
    free(rows);
    lud_data_set_close(set);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(remove(path), 0);
    return (size_t)about.st_size;
}

static void test_choices_of_any_number(void **state) {
    (void)state;
    recording_make(&(recording_call){"multigrid/rescue.yaml", "like.h5", 1, 1, 1, 3, true, false});
    lud_data_set *like = recording_open("like.h5");
    static const int32_t numbers[] = {2, 127, 128, 129, 300, 32767, 32768, 32769, 70000};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        for (int32_t length = 1; length < 400; length += 199)
            write_and_read(lud_data_set_info(like), numbers[k], length);
    /* few choices take less than many */
    assert_true(write_and_read(lud_data_set_info(like), 100, 4000) <
                write_and_read(lud_data_set_info(like), 30000, 4000));
    lud_data_set_close(like);
}

/* So many hashes are written of an episode as fall due while its states come. */
static void test_hashes_of_an_episode(void **state) {
    (void)state;
    for (int32_t n = 1; n < 4 * LUD_HASH_INTERVAL; n++) {
        lud_state_hash hash;
        uint64_t value;
        int64_t due = 0;
        lud_state_hash_begin(&hash);
        for (int32_t i = 0; i < n; i++)
            due += lud_state_hash_add(&hash, (const uint8_t *)&i, sizeof i, i == n - 1, &value);
        assert_int_equal(lud_state_hash_count(n), due);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types),
                                       cmocka_unit_test(test_choices_of_any_number),
                                       cmocka_unit_test(test_hashes_of_an_episode)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
