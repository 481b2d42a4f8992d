/* Recordings: same bytes twice, every format can be read back, errors leave nothing behind; and playing back.
 */
#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "folder.h"
#include "full_disk.h"
#include "render/read_video.h"
#include "render/record.h"
#include "render/support_worlds.h"
#include "render/video/video.h"

TEST_FOLDER("/tmp/ludus-record-XXXXXX")

static lud_record_result record(const char *name, uint64_t seed, int frames_per_step) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    lud_error error = {0};
    lud_model *model = support_grid(support_rooms, 6);
    lud_cast *cast;
    if (lud_cast_create(model, NULL, "test", &cast, &error)) fail_msg("%s", error.text);
    lud_record_options options = lud_record_defaults();
    options.path = path;
    options.width = 128;
    options.frames_per_step = frames_per_step;
    options.seed = seed;
    options.episodes = 2;
    options.hold = 0.1f;
    lud_record_result result;
    if (lud_record(model, cast, &options, &result, &error)) fail_msg("%s", error.text);
    lud_cast_destroy(cast);
    model->world->free(model);
    return result;
}

static char *content(const char *name, size_t *length) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 22);
    *length = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static int count_frames(const char *name, int *width, int *height) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_video(path, width, height, NULL, NULL);
}

static void check_format(const char *first, const char *second, const char *other) {
    lud_record_result a = record(first, 3, 4), b = record(second, 3, 4);
    assert_int_equal(a.steps, 12);
    assert_int_equal(a.frames, 2 * (1 + 3 + 6 * 4 + 3));
    assert_int_equal(a.frames, b.frames);
    int width, height;
    assert_int_equal(count_frames(first, &width, &height), a.frames);
    assert_int_equal(width, a.width);
    assert_int_equal(height, a.height);
    record(other, 4, 4);
    size_t n_first, n_second, n_other;
    char *x = content(first, &n_first), *y = content(second, &n_second), *z = content(other, &n_other);
    assert_int_equal(n_first, n_second);
    assert_memory_equal(x, y, n_first);
    assert_true(n_other != n_first || memcmp(x, z, n_first) != 0);
    free(x);
    free(y);
    free(z);
}

static void test_mp4(void **state) {
    (void)state, check_format("a.mp4", "b.mp4", "c.mp4");
}
static void test_webm(void **state) {
    (void)state, check_format("a.webm", "b.webm", "c.webm");
}
static void test_gif(void **state) {
    (void)state, check_format("a.gif", "b.gif", "c.gif");
}

static void test_png(void **state) {
    (void)state;
    lud_record_result a = record("p.png", 3, 1);
    record("q.png", 3, 1);
    assert_int_equal(a.frames, 2 * (1 + 6)); /* exactly the states */
    glob_t found;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/p-*.png", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, a.frames);
    globfree(&found);
    size_t n, m;
    char *x = content("p-00007.png", &n), *y = content("q-00007.png", &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static void test_errors(void **state) {
    (void)state;
    lud_error error = {0};
    lud_video *video;
    assert_int_equal(lud_video_open("x.avi", (lud_video_options){64, 64, 30}, &video, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, ".mp4, .webm, .gif or .png"));
    assert_int_equal(lud_video_open("x.mp4", (lud_video_options){63, 64, 30}, &video, &error),
                     LUD_ERROR_INPUT);
    assert_string_equal(error.text,
                        "x.mp4: a picture of 63 x 64 cannot be recorded; sides go from 16 to 4096 and "
                        "are even for mp4 and webm");
    assert_int_equal(lud_video_open("x.gif", (lud_video_options){64, 4097, 30}, &video, &error),
                     LUD_ERROR_INPUT);
    assert_string_equal(error.text,
                        "x.gif: a picture of 64 x 4097 cannot be recorded; sides go from 16 to 4096");
    assert_int_equal(lud_video_open("x.gif", (lud_video_options){64, 64, 0}, &video, &error),
                     LUD_ERROR_INPUT);
    assert_string_equal(error.text, "x.gif: 0 frames a second; 1 to 240 are possible");
    assert_int_equal(lud_video_open("/no/such/folder/x.mp4", (lud_video_options){64, 64, 30}, &video, &error),
                     LUD_ERROR_IO);
    char path[128], pattern[160];
    snprintf(path, sizeof path, "%s/given-up.mp4", folder);
    assert_int_equal(lud_video_open(path, (lud_video_options){64, 64, 30}, &video, &error), LUD_OK);
    static uint32_t pixels[64 * 64];
    assert_int_equal(lud_video_add(video, pixels, 256, &error), LUD_OK);
    lud_video_abandon(video);
    snprintf(pattern, sizeof pattern, "%s/given-up*", folder);
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

/* What a machine without a library of libav would do, or with another one of its name. */
static const char *missing_library, *wrong_library;

void *dlopen(const char *file, int mode); /* in place of the C library's */

void *dlopen(const char *file, int mode) {
    static void *(*real)(const char *, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    if (file && missing_library && strstr(file, missing_library)) file = "/no/such/library.so";
    if (file && wrong_library && strstr(file, wrong_library)) file = "libm.so.6";
    return real(file, mode);
}

static void expect_open(const char *path, lud_status status, const char *message) {
    lud_error error = {0};
    lud_video *video;
    assert_int_equal(lud_video_open(path, (lud_video_options){64, 64, 30}, &video, &error), status);
    if (status == LUD_OK)
        lud_video_abandon(video);
    else if (!strstr(error.text, message))
        fail_msg("'%s' is not in '%s'", message, error.text);
}

static void test_missing_libraries(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/no.mp4", folder);
    missing_library = "libswscale";
    expect_open(path, LUD_ERROR_UNSUPPORTED, "videos need libswscale.so.");
    expect_open(path, LUD_ERROR_UNSUPPORTED, "which is not on this machine");
    snprintf(path, sizeof path, "%s/no.png", folder);
    expect_open(path, LUD_OK, NULL); /* pictures need none */
    missing_library = NULL;
    wrong_library = "libavutil";
    snprintf(path, sizeof path, "%s/no.mp4", folder);
    expect_open(path, LUD_ERROR_UNSUPPORTED, " on this machine has no function av_");
    expect_open(path, LUD_ERROR_UNSUPPORTED, "libavutil.so.");
    wrong_library = NULL;
}

/* A disk that fills up at once, in the middle and at the end. */
static void test_full_disk(void **state) {
    (void)state;
    static const char *const names[] = {"full.mp4", "full.gif", "full.webm"};
    for (int k = 0; k < 3; k++) {
        char path[128], expected[200];
        lud_error error = {0};
        lud_video *video;
        snprintf(path, sizeof path, "%s/%s", folder, names[k]);
        full_disk(1000);
        lud_status status = lud_video_open(path, (lud_video_options){256, 256, 30}, &video, &error);
        uint32_t *pixels = calloc(256 * 256, sizeof *pixels);
        for (int frame = 0; frame < 40 && !status; frame++) {
            for (uint32_t i = 0; i < 256 * 256; i++) pixels[i] = (i + (uint32_t)frame) * 2654435761u;
            status = lud_video_add(video, pixels, 1024, &error);
            if (status) lud_video_abandon(video);
        }
        if (!status) status = lud_video_finish(video, &error);
        free(pixels);
        empty_disk();
        assert_int_equal(status, LUD_ERROR_IO);
        snprintf(expected, sizeof expected, "%s: cannot ", path);
        if (strncmp(error.text, expected, strlen(expected)) || !strstr(error.text, FULL_DISK))
            fail_msg("%s", error.text);
        assert_false(lud_file_exists(path));
    }
}

static void expect_refused(lud_record_options options, const char *message) {
    lud_error error = {0};
    lud_record_result result;
    lud_cast *cast;
    lud_model *model = support_grid(support_rooms, 6);
    if (lud_cast_create(model, NULL, "test", &cast, &error)) fail_msg("%s", error.text);
    assert_int_equal(lud_record(model, cast, &options, &result, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, message);
    lud_cast_destroy(cast);
    model->world->free(model);
}

static void test_refused_options(void **state) {
    (void)state;
    lud_record_options options = lud_record_defaults();
    options.path = "never.mp4";
    options.frames_per_step = 241;
    expect_refused(options, "241 frames a step; 1 to 240 are possible");
    options = lud_record_defaults();
    options.path = "never.mp4";
    options.episodes = 0;
    expect_refused(options, "0 episodes; at least 1 is needed");
    options = lud_record_defaults();
    options.path = "never.mp4";
    options.width = 15;
    expect_refused(options, "a picture side must be 16 to 4096 pixels");
    /* a world that nobody has drawn */
    lud_world undrawn = {.name = "chess"};
    lud_model model = {.world = &undrawn};
    lud_drawing *drawing;
    lud_error error = {0};
    assert_int_equal(lud_drawing_create(&model, &drawing, &error), LUD_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "worlds of kind `chess` cannot be drawn yet");
}

/* Rewinding and playing on gives the states that a fresh run gives. */
static void test_rewind_equals_replay(void **state) {
    (void)state;
    lud_error error = {0};
    lud_model *model = support_grid(support_everything, 40);
    lud_cast *cast;
    assert_int_equal(lud_cast_create(model, NULL, "test", &cast, &error), LUD_OK);
    size_t bytes = model->layout.state_bytes;
    uint8_t *states = calloc(41, bytes);
    lud_player *player, *stream;
    assert_int_equal(lud_player_create(model, cast, 9, true, &player, &error), LUD_OK);
    assert_int_equal(lud_player_create(model, cast, 9, false, &stream, &error), LUD_OK);
    bool moved = true;
    size_t length = 0;
    for (; moved; length++) {
        memcpy(states + length * bytes, lud_player_state(player), bytes);
        assert_memory_equal(lud_player_state(stream), lud_player_state(player), bytes);
        bool streamed;
        assert_int_equal(lud_player_step(stream, NULL, &streamed, &error), LUD_OK);
        assert_int_equal(lud_player_step(player, NULL, &moved, &error), LUD_OK);
        assert_int_equal(streamed, moved);
    }
    assert_true(lud_player_over(player));
    assert_int_equal(length, lud_player_known(player));
    for (size_t k = 0; k < length; k++)
        assert_memory_equal(lud_player_state_at(player, k), states + k * bytes, bytes);
    /* another action forgets the future; the old one brings it back */
    size_t middle = length / 2;
    lud_player_seek(player, middle);
    int32_t planned[3], chosen[3] = {-1, -1, -1};
    lud_player_plan(player, NULL, planned);
    chosen[0] = (planned[0] + 1) % 7;
    assert_int_equal(lud_player_step(player, chosen, &moved, &error), LUD_OK);
    assert_int_equal(lud_player_known(player), middle + 2);
    assert_int_equal(lud_player_actions(player)[0], chosen[0]);
    lud_player_seek(player, middle);
    chosen[0] = planned[0];
    for (size_t k = middle + 1; k < length; k++) {
        assert_int_equal(lud_player_step(player, k == middle + 1 ? chosen : NULL, &moved, &error), LUD_OK);
        assert_memory_equal(lud_player_state(player), states + k * bytes, bytes);
    }
    lud_player_destroy(player);
    lud_player_destroy(stream);
    free(states);
    lud_cast_destroy(cast);
    model->world->free(model);
}

/* A caption makes the picture taller by its own height and changes what is below the world only; the same
 * bytes twice. In a picture of a given size the world gives way, and where it would vanish that is an error.
 */
static void test_caption(void **state) {
    (void)state;
    lud_error error = {0};
    lud_model *model = support_grid(support_rooms, 6);
    lud_cast *cast;
    if (lud_cast_create(model, NULL, "test", &cast, &error)) fail_msg("%s", error.text);
    lud_record_result plain, captioned[2];
    char paths[3][128];
    static const char *const names[] = {"plain.gif", "first.gif", "second.gif"};
    lud_record_options options = lud_record_defaults();
    options.width = 160;
    options.frames_per_step = 1;
    options.max_steps = 3;
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        options.path = paths[i];
        options.caption = (lud_caption){.title = i ? "Two rooms" : NULL, .who = "random"};
        if (lud_record(model, cast, &options, i ? &captioned[i - 1] : &plain, &error))
            fail_msg("%s", error.text);
    }
    assert_int_equal(captioned[0].width, plain.width);
    assert_in_range(captioned[0].height - plain.height, 30, 80);
    size_t length[2];
    char *bytes[2] = {content(names[1], &length[0]), content(names[2], &length[1])};
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(bytes[0], bytes[1], length[0]);
    free(bytes[0]);
    free(bytes[1]);
    options.height = 200;
    if (lud_record(model, cast, &options, &plain, &error)) fail_msg("%s", error.text);
    assert_int_equal(plain.height, 200);
    options.height = 64;
    assert_int_equal(lud_record(model, cast, &options, &plain, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "no room for a caption"));
    lud_cast_destroy(cast);
    model->world->free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mp4),       cmocka_unit_test(test_webm),
        cmocka_unit_test(test_gif),       cmocka_unit_test(test_png),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_missing_libraries),
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_refused_options),
        cmocka_unit_test(test_caption),   cmocka_unit_test(test_rewind_equals_replay)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
