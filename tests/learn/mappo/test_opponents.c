/* Past versions in self-play against a list of what the parameters were: which are kept, that all of them and
 * no others play, that the newest come back, and what is saved of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/options/yaml.h"
#include "cpu_device.h"
#include "learn/mappo/networks.h"
#include "learn/mappo/opponents.h"

TEST_DEVICE(1)

enum { GROUPS = 2, ITERATIONS = 400, MOST = ITERATIONS };

typedef struct team {
    lud_arena *arena;
    lud_mappo_networks networks[GROUPS];
    lud_mappo_group groups[GROUPS];
    lud_mappo_opponents opponents;
} team;

static void open_team(team *t, const char *options) {
    static const char *const prefixes[GROUPS] = {"a.", "b."};
    lud_error error = {0};
    lud_tree *section = NULL;
    *t = (team){.arena = lud_arena_create(0)};
    for (int k = 0; k < GROUPS; k++) {
        t->networks[k].parameters = lud_parameters_create(device, false);
        lud_parameters_add(t->networks[k].parameters, "w", 1, (const int64_t[]){1},
                           (lud_init){.kind = LUD_INIT_CONSTANT});
        assert_int_equal(lud_parameters_build(t->networks[k].parameters, 1, &error), LUD_OK);
        t->groups[k] = (lud_mappo_group){.prefix = prefixes[k], .update = &t->networks[k]};
    }
    if (lud_yaml_parse(t->arena, "test", options, strlen(options), true, &section, &error) ||
        lud_mappo_opponents_open(&t->opponents, section, t->groups, GROUPS, t->arena, &error))
        fail_msg("%s", error.text);
}

static void close_team(team *t) {
    lud_mappo_opponents_destroy(&t->opponents);
    for (int k = 0; k < GROUPS; k++) lud_parameters_destroy(t->networks[k].parameters);
    lud_arena_destroy(t->arena);
}

static double value(const lud_parameters *parameters) {
    double v;
    lud_parameters_read(parameters, 0, &v);
    return v;
}

/* What group k has before an iteration. */
static double newest(int k, int iteration) {
    return iteration + 1000.0 * k;
}

static void set(team *t, int iteration) {
    for (int k = 0; k < GROUPS; k++) {
        const double v = newest(k, iteration);
        lud_parameters_write(t->networks[k].parameters, 0, &v);
    }
}

/* The iterations of which versions are kept when `begun` have begun, the oldest first; how many. */
static int kept(const lud_mappo_opponents_options *o, int begun, int *iterations) {
    int n = 0;
    for (int i = 0; i < begun; i++)
        if (i % o->every == 0) iterations[n++] = i;
    const int gone = n > (int)o->past ? n - (int)o->past : 0;
    memmove(iterations, iterations + gone, (size_t)(n - gone) * sizeof *iterations);
    return n - gone;
}

static void the_newest_versions_play(void **state) {
    (void)state;
    static const char *const options[] = {"{past: 3, every: 2, share: 0.5}", "{past: 1, every: 1, share: 1}",
                                          "{past: 4, every: 3, share: 0.9}", "{past: 2, share: 0.25}"};
    for (size_t c = 0; c < sizeof options / sizeof *options; c++) {
        team t;
        open_team(&t, options[c]);
        const lud_mappo_opponents_options *o = &t.opponents.options;
        int played = 0, of_group[GROUPS] = {0}, of_age[LUD_MAPPO_PAST] = {0};
        for (int i = 0; i < ITERATIONS; i++) {
            int versions[MOST];
            const int n = kept(o, i + 1, versions);
            set(&t, i);
            lud_mappo_opponents_begin(&t.opponents, t.groups, 5, (uint64_t)i);
            const int past = t.opponents.group;
            for (int k = 0; k < GROUPS; k++) {
                const double v = value(t.networks[k].parameters);
                int which = 0;
                if (k != past) {
                    assert_true(v == newest(k, i));
                    continue;
                }
                while (which < n && v != newest(k, versions[which])) which++;
                assert_in_range(which, 0, n - 1);
                if (n == o->past) of_age[which]++;
                of_group[k]++;
                played++;
            }
            lud_mappo_opponents_end(&t.opponents, t.groups);
            for (int k = 0; k < GROUPS; k++) assert_true(value(t.networks[k].parameters) == newest(k, i));
        }
        const int expected = (int)(o->share * ITERATIONS); /* deviation at most 10 */
        assert_in_range(played, expected - 40, expected + 40);
        for (int k = 0; k < GROUPS; k++) assert_in_range(of_group[k], played / 3, 2 * played / 3);
        for (int k = 0; k < o->past; k++)
            assert_in_range(of_age[k], played / (2 * o->past) - 5, 2 * played / o->past);
        close_team(&t);
    }
}

/* Also of the first few: the one that was just kept may play, and none that is not there yet. */
static void every_version_may_play(void **state) {
    (void)state;
    enum { SEEDS = 300, BEGUN = 6 };
    bool met[BEGUN] = {0};
    team t;
    open_team(&t, "{past: 10, every: 1, share: 1}");
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int i = 0; i < BEGUN; i++) {
            set(&t, i);
            lud_mappo_opponents_begin(&t.opponents, t.groups, seed, (uint64_t)i);
            const int past = t.opponents.group;
            const int version = (int)(value(t.networks[past].parameters) - newest(past, 0));
            assert_in_range(version, 0, i);
            if (i == BEGUN - 1) met[version] = true;
            lud_mappo_opponents_end(&t.opponents, t.groups);
        }
    for (int i = 0; i < BEGUN; i++) assert_true(met[i]);
    close_team(&t);
}

static void versions_are_saved(void **state) {
    (void)state;
    for (int iterations = 0; iterations < 20; iterations++) {
        team t;
        int versions[MOST];
        lud_error error = {0};
        open_team(&t, "{past: 3, every: 4, share: 1}");
        const int n = kept(&t.opponents.options, iterations, versions);
        for (int i = 0; i < iterations; i++) {
            set(&t, i);
            lud_mappo_opponents_begin(&t.opponents, t.groups, 5, (uint64_t)i);
            lud_mappo_opponents_end(&t.opponents, t.groups);
        }
        lud_checkpoint *saved = lud_checkpoint_create();
        lud_mappo_opponents_visit(&t.opponents, t.groups, (uint64_t)iterations, saved);
        assert_int_equal(lud_checkpoint_status(saved, &error), LUD_OK);
        assert_int_equal(lud_checkpoint_n_tensors(saved), GROUPS * n);
        double sum = 0.0, expected = 0.0;
        for (int k = 0; k < GROUPS; k++)
            for (int i = 0; i < n; i++) {
                char name[32];
                snprintf(name, sizeof name, "past.%d.%sw", i, t.groups[k].prefix);
                const lud_tensor *tensor = lud_checkpoint_find(saved, name);
                assert_non_null(tensor);
                sum += *(const float *)tensor->data;
                expected += newest(k, versions[i]);
            }
        assert_true(sum == expected);
        lud_checkpoint_destroy(saved);
        close_team(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_versions_play),
        cmocka_unit_test(every_version_may_play),
        cmocka_unit_test(versions_are_saved),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
