/* `ludus record`, `inspect` and `convert` of data sets: as a user calls them, killed, and read by other
 * programs. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>
#include <libdeflate.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/support_program.h"
#include "learn/episodes/data_set.h"

static char folder[] = "/tmp/ludus-data-sets-XXXXXX";
static const char *const python = LUDUS_SOURCE_DIR "/build/python/bin/python", *const readers =
                                                                                   LUDUS_SOURCE_DIR
                                                                               "/tests/cli/readers.py";
#define SCENARIO(name) LUDUS_SOURCE_DIR "/scenarios/" name

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

static void succeed(program_result result) {
    if (result.exit_code) fail_msg("exit code %d: %s", result.exit_code, result.err);
    program_free(&result);
}

/* Exit code 2 and a message with these words. */
static void refuse(program_result result, const char *words) {
    if (result.exit_code != 2 || !strstr(result.err, words))
        fail_msg("expected exit code 2 and '%s', found %d and: %s", words, result.exit_code, result.err);
    program_free(&result);
}

static json_t *parsed(program_result result) {
    if (result.exit_code) fail_msg("exit code %d: %s", result.exit_code, result.err);
    json_t *root = json_loads(result.out, 0, NULL);
    assert_non_null(root);
    program_free(&result);
    return root;
}

static json_int_t number(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void test_record_and_inspect(void **state) {
    (void)state;
    json_t *recorded = parsed(LUDUS("record", SCENARIO("multigrid/rescue.yaml"), "-o", "a.h5", "--episodes",
                                    "12", "--envs", "4", "--json"));
    assert_int_equal(number(recorded, "episodes"), 12);
    assert_int_equal(number(recorded, "steps"), 720);
    assert_string_equal(json_string_value(json_object_get(recorded, "minari")), "a.minari");
    json_decref(recorded);
    json_t *report = parsed(LUDUS("inspect", "a.h5", "--verify", "--episode", "3", "--json"));
    assert_int_equal(number(report, "episodes"), 12);
    assert_int_equal(number(report, "verified"), 12);
    assert_int_equal(number(report, "truncated"), 12);
    assert_int_equal(number(report, "window_semantics_version"), 1);
    json_int_t chosen = 0;
    const char *name;
    json_t *count;
    const json_t *agent = json_array_get(json_object_get(report, "agents"), 0);
    json_object_foreach(json_object_get(agent, "actions"), name, count) chosen += json_integer_value(count);
    assert_int_equal(chosen, 720);
    const json_t *shown = json_object_get(report, "shown");
    assert_non_null(strstr(json_string_value(json_object_get(shown, "first_frame")), "step 0 of 60"));
    assert_non_null(strstr(json_string_value(json_object_get(shown, "last_frame")), "step 60 of 60"));
    json_decref(report);
    program_result text = LUDUS("inspect", "a.h5");
    assert_int_equal(text.exit_code, 0);
    assert_non_null(strstr(text.out, "first frame"));
    assert_non_null(strstr(text.out, "forward"));
    program_free(&text);
}

static void test_what_does_not_go_together(void **state) {
    (void)state;
    const char *scenario = SCENARIO("multigrid/tiny.yaml");
    refuse(LUDUS("record", scenario, "-o", "a.h5", "--size", "100"), "--size: is about pictures");
    refuse(LUDUS("record", scenario, "-o", "a.hdf5", "--fps", "10"), "--fps: is about pictures");
    refuse(LUDUS("record", scenario, "-o", "a.h5", "--overlay", "all"), "--overlay: is about pictures");
    refuse(LUDUS("record", scenario, "-o", "a.gif", "--envs", "17"), "--envs: expected at most 16, as a.gif");
    refuse(LUDUS("record", scenario, scenario, "-o", "a.gif", "--envs", "3"),
           "--envs: is about one scenario or RUN, found 2");
    refuse(LUDUS("record", scenario, "-o", "a.gif", "--observations", "stored"),
           "--observations: is about data sets");
    refuse(LUDUS("record", scenario, "-o", "a.h5", "--observations", "some"), "expected stored or replayed");
    refuse(LUDUS("convert", "a.h5"), "needs -o");
    refuse(LUDUS("convert", "none.h5", "-o", "b.h5"), "no such data set");
    refuse(LUDUS("convert", scenario, "-o", "b.h5"), "expected a data set");
    program_result nowhere = LUDUS("record", scenario, "-o", "no/such/folder/a.h5");
    assert_int_equal(nowhere.exit_code, 1);
    assert_non_null(strstr(nowhere.err, "no/such/folder/a.h5: cannot be written: No such file or directory"));
    program_free(&nowhere);
}

static void test_convert(void **state) {
    (void)state;
    succeed(LUDUS("record", SCENARIO("particle/navigation_3.yaml"), "-o", "r.h5", "--episodes", "6",
                  "--observations", "replayed"));
    assert_false(lud_folder_exists("r.minari"));
    succeed(LUDUS("convert", "r.h5", "-o", "sets/navigation-v3/"));
    json_t *metadata = json_load_file("sets/navigation-v3/data/metadata.json", 0, NULL);
    assert_non_null(metadata);
    assert_string_equal(json_string_value(json_object_get(metadata, "dataset_id")), "navigation-v3");
    assert_int_equal(number(metadata, "total_episodes"), 6);
    json_decref(metadata);
    json_t *report = parsed(LUDUS("inspect", "sets/navigation-v3", "--verify", "--json"));
    assert_int_equal(number(report, "verified"), 6);
    json_decref(report);
}

/* --- interrupted and killed --- */

static void test_interrupted(void **state) {
    (void)state;
    const char *words[] = {"record",     SCENARIO("multigrid/rescue.yaml"),
                           "-o",         "i.h5",
                           "--episodes", "100000000",
                           "-q",         "--no-views",
                           NULL};
    program_result result = program_run_interrupted(words);
    assert_int_equal(result.exit_code, 130);
    program_free(&result);
    json_t *report = parsed(LUDUS("inspect", "i.h5", "--verify", "--json"));
    assert_true(json_is_true(json_object_get(report, "complete")));
    json_decref(report);
}

static pid_t start_recording(const char *file) {
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        execl(LUDUS_BINARY_DIR "/ludus", "ludus", "record", SCENARIO("multigrid/doorway.yaml"), "-o", file,
              "--episodes", "100000000", "-q", NULL);
        _exit(127);
    }
    return pid;
}

/* The partial file in the folder; appended to `path`. */
static bool find_partial(const char *file, char path[512]) {
    DIR *here = opendir(".");
    bool found = false;
    for (struct dirent *e; here && (e = readdir(here));)
        if (!strncmp(e->d_name, file, strlen(file)) && strstr(e->d_name, ".partial-") &&
            !strstr(e->d_name, ".journal")) {
            snprintf(path, 512, "%s", e->d_name);
            found = true;
        }
    closedir(here);
    return found;
}

/* Killed at any moment, it leaves episodes that are whole. */
static void test_killed(void **state) {
    (void)state;
    int64_t most = 0;
    for (int k = 0; k < 4; k++) {
        char file[16], path[512];
        snprintf(file, sizeof file, "k%d.h5", k);
        const pid_t pid = start_recording(file);
        /* moments are counted from the first commit, which makes the file, so that slow machines do as fast
         * ones */
        while (!find_partial(file, path) || !lud_data_set_is(path)) usleep(1000);
        usleep((useconds_t)(700000 + 310000 * k));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(find_partial(file, path));
        lud_data_set *set = NULL;
        lud_error error = {0};
        if (lud_data_set_open(path, &set, &error)) fail_msg("%s", error.text);
        const lud_data_info *info = lud_data_set_info(set);
        assert_false(info->complete);
        for (int64_t e = 0; e < info->n_episodes; e += 1 + info->n_episodes / 50)
            if (lud_data_set_verify(set, e, &error)) fail_msg("%s", error.text);
        if (info->n_episodes > most) most = info->n_episodes;
        lud_data_set_close(set);
    }
    assert_true(most > 0);
}

/* --- other readers --- */

static void show(FILE *out, int64_t episode, const char *name, lud_data_set *set, lud_data_array array,
                 int part) {
    lud_error error = {0};
    const int32_t n = lud_data_set_rows(set, array, episode);
    const size_t bytes = (size_t)n * lud_data_set_row_bytes(set, array, part);
    void *rows = malloc(bytes + 1);
    assert_non_null(rows);
    if (lud_data_set_read(set, array, part, episode, 0, n, rows, &error)) fail_msg("%s", error.text);
    fprintf(out, "%d %s %d %lu\n", (int)episode, name, n, (unsigned long)libdeflate_crc32(0, rows, bytes));
    free(rows);
}

static int compare_parts(const void *a, const void *b) {
    return strcmp((*(const lud_observation_part *const *)a)->name,
                  (*(const lud_observation_part *const *)b)->name);
}

/* What readers.py prints, from our reader. */
static char *shown_by_us(const char *path) {
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    lud_data_set *set = NULL;
    lud_error error = {0};
    if (lud_data_set_open(path, &set, &error)) fail_msg("%s", error.text);
    const lud_data_info *info = lud_data_set_info(set);
    const lud_observation_part *parts[LUD_MAX_OBSERVATION_PARTS];
    for (int p = 0; p < info->n_parts; p++) parts[p] = &info->parts[p];
    qsort(parts, (size_t)info->n_parts, sizeof *parts, compare_parts);
    for (int64_t e = 0; e < info->n_episodes; e++) {
        for (int p = 0; p < info->n_parts; p++) {
            char name[128];
            snprintf(name, sizeof name, "observations/%s", parts[p]->name);
            show(out, e, name, set, LUD_DATA_OBSERVATION, (int)(parts[p] - info->parts));
        }
        if (lud_data_set_has(set, LUD_DATA_CONTINUOUS, 0))
            show(out, e, "continuous", set, LUD_DATA_CONTINUOUS, 0);
        if (lud_data_set_has(set, LUD_DATA_DISCRETE, 0)) show(out, e, "discrete", set, LUD_DATA_DISCRETE, 0);
        show(out, e, "rewards", set, LUD_DATA_REWARDS, 0);
        const lud_data_episode *episode = lud_data_set_episode(set, e);
        fprintf(out, "%d end %d %d\n", (int)e, episode->terminated, !episode->terminated);
    }
    lud_data_set_close(set);
    fclose(out);
    return text;
}

static char *output_of(const char *command) {
    char *text = NULL, line[512];
    size_t n;
    FILE *out = open_memstream(&text, &n), *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) fputs(line, out);
    fclose(out);
    if (pclose(pipe)) fail_msg("'%s' failed", command);
    return text;
}

static bool have_readers(void) {
    if (!access(python, X_OK)) return true;
    print_message("[ SKIPPED ] there is no %s with h5py and Minari; `make python-readers` installs them\n",
                  python);
    return false;
}

static void test_minari_reads_ours(void **state) {
    (void)state;
    static const char *const scenarios[] = {
        SCENARIO("multigrid/rescue.yaml"), SCENARIO("multigrid/tiny.yaml"),
        SCENARIO("particle/navigation_3.yaml"), SCENARIO("proof/family_tree.yaml")};
    if (!have_readers()) return;
    for (size_t k = 0; k < sizeof scenarios / sizeof *scenarios; k++) {
        char command[1024];
        succeed(LUDUS("record", scenarios[k], "-o", "m.h5", "--episodes", "9"));
        snprintf(command, sizeof command, "%s -W ignore %s read m.h5 m.minari", python, readers);
        char *theirs = output_of(command), *ours = shown_by_us("m.h5");
        assert_true(strlen(ours) > 500);
        assert_string_equal(theirs, ours);
        free(theirs);
        free(ours);
    }
}

static void test_we_read_minaris(void **state) {
    (void)state;
    static const char *const kinds[] = {"discrete", "box"};
    if (!have_readers()) return;
    for (int k = 0; k < 2; k++) {
        char command[1024], path[64], converted[64];
        snprintf(command, sizeof command, "%s -W ignore %s make minaris_%s %s", python, readers, kinds[k],
                 kinds[k]);
        snprintf(path, sizeof path, "minaris_%s", kinds[k]);
        snprintf(converted, sizeof converted, "ours_%s.h5", kinds[k]);
        char *theirs = output_of(command), *ours = shown_by_us(path);
        assert_string_equal(theirs, ours);
        json_t *report = parsed(LUDUS("inspect", path, "--json"));
        assert_int_equal(number(report, "episodes"), 3);
        assert_int_equal(number(report, "terminated"), 2);
        json_decref(report);
        succeed(LUDUS("convert", path, "-o", converted));
        free(ours);
        ours = shown_by_us(converted);
        assert_string_equal(theirs, ours);
        lud_data_set *set = NULL;
        lud_error error = {0};
        assert_int_equal(lud_data_set_open(path, &set, &error), LUD_OK);
        if (!k)
            assert_int_equal(lud_data_set_info(set)->n_choices[0], 6); /* from metadata.json: 5 are used */
        lud_data_set_close(set);
        free(theirs);
        free(ours);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_record_and_inspect),
                                       cmocka_unit_test(test_what_does_not_go_together),
                                       cmocka_unit_test(test_convert),
                                       cmocka_unit_test(test_interrupted),
                                       cmocka_unit_test(test_killed),
                                       cmocka_unit_test(test_minari_reads_ours),
                                       cmocka_unit_test(test_we_read_minaris)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
