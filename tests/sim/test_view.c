/* The section `view`, the file that comes before it, and flags that come before both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "sim/scenario.h"

static char folder[] = "/tmp/ludus-view-XXXXXX";

static int set_up(void **state) {
    (void)state;
    return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "cd / && rm -r %s", folder);
    return system(command);
}

static void write_file(const char *path, const char *text) {
    lud_error error = {0};
    if (lud_file_write(path, text, strlen(text), &error)) fail_msg("%s", error.text);
}

static lud_status load(const char *section, const char *file, const struct lud_scenario_value *values, int n,
                       lud_scenario **scenario, lud_error *error) {
    char text[1024];
    snprintf(text, sizeof text,
             "ludus: 1\nworld: multigrid\nmultigrid: {map: \"We We We\\nWe Ae We\\nWe We We\"}\n%s", section);
    write_file("world.yaml", text);
    if (file) write_file("paper.yaml", file);
    const lud_scenario_overrides overrides = {
        .view = file ? "paper.yaml" : NULL, .values = values, .n_values = n, .run = lud_run_as_written};
    return lud_scenario_load_with("world.yaml", &overrides, NULL, scenario, error);
}

static void check_error(const char *section, const char *file, const char *message) {
    lud_scenario *scenario;
    lud_error error = {0};
    assert_int_equal(load(section, file, NULL, 0, &scenario, &error), LUD_ERROR_INPUT);
    if (!strstr(error.text, message)) fail_msg("expected '%s', found '%s'", message, error.text);
}

static void test_mistakes_have_a_place(void **state) {
    (void)state;
    check_error("view: {theem: dark}\n", NULL, "world.yaml:4:8: ");
    check_error("view: {theem: dark}\n", NULL, "theem");
    check_error(
        "", "theme: dark\npanels:\n  show: allways\n",
        "paper.yaml:3:9: show: expected window, always or never, found 'allways'; did you mean 'always'?");
    check_error("", "panels: {hide: true}\n", "paper.yaml:1:10: ");
    check_error("", "camera: {zom: 2}\n", "did you mean 'zoom'?");
    check_error("", "size: [640]\n", "paper.yaml:1:7: size: expected [width, height]");
    check_error("", "size: [641, 480]\n", "size: expected even numbers");
    check_error("", "size: [640, 48000]\n", "paper.yaml:1:13: ");
    check_error("", "scale: 0.2\n", "paper.yaml:1:8: scale: expected 0, or a number from 0.5 to 4");
    check_error("", "cell: [1, 2, 3]\n", "cell: expected [x, y]");
    check_error("", "agent: 1\n",
                "paper.yaml:1:8: agent: expected an agent's number below 1, or -1, found '1'");
    check_error("", "camera:\n  follow: true\n",
                "paper.yaml:2:11: follow: expected an agent that is selected");
    check_error("", "camera: {centre: [1]}\n", "paper.yaml:1:18: centre: expected [x, y]");
    check_error("", "- dark\n", "paper.yaml:1:1: expected the keys of a view");
    check_error("view: dark\n", "theme: dark\n", "world.yaml:4:7: view: ");
    lud_scenario *scenario;
    lud_error error = {0};
    const lud_scenario_overrides nowhere = {.view = "nowhere.yaml", .run = lud_run_as_written};
    assert_int_equal(lud_scenario_load_with("world.yaml", &nowhere, NULL, &scenario, &error),
                     LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "nowhere.yaml"));
}

/* Each comes before those that stand left of it: the section, the file, the flags. */
static void test_who_comes_first(void **state) {
    (void)state;
    lud_scenario *s;
    lud_error error = {0};
    const struct lud_scenario_value values[] = {{"--theme", "view.theme", "light", true},
                                                {"--caption", "view.caption.text", "no: [yaml", true},
                                                {"--scale", "view.scale", "2", false}};
    if (load("view: {theme: dark, speed: 8, panels: {width: 0.5, timeline: false}}\n",
             "speed: 16\npanels: {width: 0.25, show: always}\n", values, 3, &s, &error))
        fail_msg("%s", error.text);
    assert_int_equal(s->view.theme, 0);
    assert_true(s->view.speed == 16 && s->view.scale == 2);
    assert_true(s->view.panels.width == 0.25 && !s->view.panels.timeline);
    assert_int_equal(s->view.panels.show, LUD_VIEW_ALWAYS);
    assert_true(lud_view_section_is_whole(&s->view));
    assert_string_equal(s->view.caption.text, "no: [yaml");
    lud_scenario_destroy(s);
    if (load("", NULL, NULL, 0, &s, &error)) fail_msg("%s", error.text);
    assert_false(lud_view_section_is_whole(&s->view));
    assert_true(s->view.overlay.values && s->view.overlay.edges && s->view.panels.inspector);
    assert_true(s->view.size.n == 0 && s->view.agent == -1 && !s->view.caption.text);
    lud_scenario_destroy(s);
    const struct lud_scenario_value wrong = {"--theme", "view.theme", "drak", true};
    assert_int_equal(load("", NULL, &wrong, 1, &s, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, "--theme: expected light or dark, found 'drak'; did you mean 'dark'?");
    const struct lud_scenario_value broken = {"--size", "view.size", "[1", false};
    assert_int_equal(load("", NULL, &broken, 1, &s, &error), LUD_ERROR_INPUT);
    assert_non_null(strstr(error.text, "--size"));
}

/* Written and read again it is the same, texts with signs of YAML included. */
static void test_written(void **state) {
    (void)state;
    static const char full[] =
        "theme: dark\nspeed: 0.5\nmotion: false\nsize: [800, 600]\nscale: 1.25\nagent: 0\nsuccessors: true\n"
        "panels: {show: never, width: 0.3, overlay_height: 0.4}\ncamera: {zoom: 2.5, centre: [1, -0.25]}\n"
        "overlay: {bars: false}\ncaption: {show: always, text: 'a: \"b\" #c'}\n";
    lud_arena *arena = lud_arena_create(0);
    lud_error error = {0};
    lud_tree *root;
    lud_view_section view;
    char *text[2];
    size_t length[2];
    if (lud_tree_read_text(arena, "full", full, strlen(full), &root, &error) ||
        lud_view_section_read(arena, root, &view, &error) ||
        lud_view_section_write(arena, &view, &text[0], &length[0], &error) ||
        lud_tree_read_text(arena, "again", text[0], length[0], &root, &error) ||
        lud_view_section_read(arena, root, &view, &error) ||
        lud_view_section_write(arena, &view, &text[1], &length[1], &error))
        fail_msg("%s", error.text);
    assert_string_equal(text[0], text[1]);
    assert_true(view.camera.zoom == 2.5 && view.camera.centre.items[1] == -0.25 && !view.overlay.bars);
    assert_string_equal(view.caption.text, "a: \"b\" #c");
    lud_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mistakes_have_a_place),
                                       cmocka_unit_test(test_who_comes_first),
                                       cmocka_unit_test(test_written)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
