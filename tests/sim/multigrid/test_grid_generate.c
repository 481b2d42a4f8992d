/* Random maps: the same everywhere, as asked, and solvable when they say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "sim/multigrid/file/grid_codes.h"
#include "sim/multigrid/file/grid_generate.h"
#include "sim/multigrid/file/grid_parse.h"
#include "sim/multigrid/grid_model.h"
#include "sim/statespace/statespace.h"

static lud_arena *arena;

static int setup(void **state) {
    (void)state;
    arena = lud_arena_create(0);
    return arena == NULL;
}

static int teardown(void **state) {
    (void)state;
    lud_arena_destroy(arena);
    return 0;
}

static lud_status generate(const char *section, uint64_t seed, lud_grid_spec *spec, lud_error *error) {
    char text[1000];
    int n = snprintf(text, sizeof text, "ludus: 1\nmultigrid: {generate: {%s}}\n", section);
    lud_tree *root;
    lud_status status = lud_tree_read_text(arena, "g", text, (size_t)n, &root, error);
    return status ? status : lud_grid_spec_read(arena, root, seed, spec, error);
}

static lud_grid_spec generate_ok(const char *section, uint64_t seed) {
    lud_grid_spec spec;
    lud_error error = {0};
    if (generate(section, seed, &spec, &error)) fail_msg("%s", error.text);
    return spec;
}

static void fails(const char *section, const char *message) {
    lud_grid_spec spec;
    lud_error error = {0};
    assert_int_equal(generate(section, 1, &spec, &error), LUD_ERROR_INPUT);
    assert_string_equal(error.text, message);
}

/* Everything of a map that matters, as a hash. */
static uint64_t hash_map(const lud_grid_spec *s, const lud_grid_map *m) {
    lud_text text = {0};
    for (int c = 0; c < s->width * s->height; c++)
        lud_text_append(&text, "%d %d %d,", (int)m->cells[c].type, (int)m->cells[c].colour,
                        (int)m->cells[c].door);
    for (int i = 0; i < m->n_pieces; i++)
        lud_text_append(&text, "%d %d %d %d,", (int)m->pieces[i].object.type, (int)m->pieces[i].object.colour,
                        m->pieces[i].x, m->pieces[i].y);
    for (int i = 0; i < s->n_agents; i++)
        lud_text_append(&text, "%d %d %d %d,", m->agents[i].x, m->agents[i].y, (int)m->agents[i].direction,
                        (int)m->agents[i].colour);
    uint64_t hash = XXH3_64bits(text.bytes, text.length);
    lud_text_free(&text);
    return hash;
}

static int count(const lud_grid_spec *s, const lud_grid_map *m, lud_grid_type type) {
    int n = 0;
    for (int c = 0; c < s->width * s->height; c++) n += m->cells[c].type == type;
    for (int i = 0; i < m->n_pieces; i++) n += m->pieces[i].object.type == type;
    return n;
}

#define GOLDEN 0x1011ba190d93a78aull
#define MIXED                                                                                                \
    "size: [17, 13], rooms: [3, 2], locked_doors: 2, objects: {key: 1, ball: 2, box: 1, goal: 2, lava: 2, "  \
    "block: 1, "                                                                                             \
    "rock: 2, unsteady_ground: 3, magic_wall: 2, kill_button: 1, pause_switch: 1, disabling_switch: 2, "     \
    "control_button: "                                                                                       \
    "1, bush: 1, floor: 4, switch: 1}, humans: 2, robots: 2, maps: 8"

static void test_same_everywhere(void **state) {
    (void)state;
    lud_grid_spec a = generate_ok(MIXED, 3), b = generate_ok(MIXED, 3), c = generate_ok(MIXED, 4);
    lud_grid_spec d = generate_ok(MIXED ", seed: 3", 99);
    for (int k = 0; k < 8; k++) {
        assert_int_equal(hash_map(&a, &a.maps[k]), hash_map(&b, &b.maps[k]));
        assert_int_equal(hash_map(&a, &a.maps[k]), hash_map(&d, &d.maps[k]));
        assert_int_not_equal(hash_map(&a, &a.maps[k]), hash_map(&c, &c.maps[k]));
        for (int l = 0; l < k; l++) assert_int_not_equal(hash_map(&a, &a.maps[k]), hash_map(&a, &a.maps[l]));
    }
    /* golden: the maps of this seed on every machine and compiler */
    uint64_t all = 0;
    const char *const styles[] = {
        MIXED, "style: maze, size: [21, 15], braid: 0.5, locked_doors: 2, objects: {goal: 2}, maps: 8",
        "style: open, size: [12, 12], walls: 0.3, objects: {goal: 3, bush: 2}, maps: 8"};
    for (int i = 0; i < 3; i++) {
        lud_grid_spec s = generate_ok(styles[i], 1);
        for (int k = 0; k < 8; k++) all = all * 31 + hash_map(&s, &s.maps[k]);
    }
    if (all != GOLDEN) fail_msg("the maps of seed 1 have the hash 0x%016llx", (unsigned long long)all);
}

static void test_as_asked(void **state) {
    (void)state;
    lud_grid_spec s = generate_ok(MIXED, 11);
    static const int expected[LUD_GRID_TYPES] = {[LUD_BALL] = 2,
                                                 [LUD_BOX] = 1,
                                                 [LUD_GOAL] = 2,
                                                 [LUD_LAVA] = 2,
                                                 [LUD_BLOCK] = 1,
                                                 [LUD_ROCK] = 2,
                                                 [LUD_UNSTEADY_GROUND] = 3,
                                                 [LUD_MAGIC_WALL] = 2,
                                                 [LUD_KILL_BUTTON] = 1,
                                                 [LUD_PAUSE_SWITCH] = 1,
                                                 [LUD_DISABLING_SWITCH] = 2,
                                                 [LUD_CONTROL_BUTTON] = 1,
                                                 [LUD_BUSH] = 1,
                                                 [LUD_FLOOR] = 4,
                                                 [LUD_SWITCH] = 1};
    for (int k = 0; k < s.n_maps; k++) {
        const lud_grid_map *m = &s.maps[k];
        for (int type = 0; type < LUD_GRID_TYPES; type++)
            if (expected[type]) assert_int_equal(count(&s, m, (lud_grid_type)type), expected[type]);
        unsigned locked = 0, keys = 0;
        int n_locked = 0;
        for (int c = 0; c < s.width * s.height; c++)
            if (m->cells[c].type == LUD_DOOR && m->cells[c].door == LUD_DOOR_LOCKED) {
                locked |= 1u << m->cells[c].colour;
                n_locked++;
            }
        for (int i = 0; i < m->n_pieces; i++)
            if (m->pieces[i].object.type == LUD_KEY) keys |= 1u << m->pieces[i].object.colour;
        assert_int_equal(n_locked, 2);
        assert_int_equal(locked & ~keys, 0); /* every lock has its key */
        assert_int_equal(s.n_agents, 4);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(m->agents[i].role, i < 2 ? LUD_ROLE_HUMAN : LUD_ROLE_ROBOT);
            assert_int_equal(m->cells[m->agents[i].y * s.width + m->agents[i].x].type, LUD_EMPTY);
        }
        for (int x = 0; x < s.width; x++) assert_int_equal(m->cells[x].type, LUD_WALL);
        for (int y = 0; y < s.height; y++)
            assert_int_equal(m->cells[y * s.width + s.width - 1].type, LUD_WALL);
    }
    /* the compiler of models takes every one of them */
    lud_model *model;
    lud_error error = {0};
    if (lud_grid_model_create(&s, &model, &error)) fail_msg("%s", error.text);
    model->world->free(model);
}

static void test_styles(void **state) {
    (void)state;
    /* a perfect maze is a tree: corridors = cells - 1; fully braided it has no dead end */
    lud_grid_spec s = generate_ok("style: maze, size: [15, 11], humans: 1, robots: 0", 2);
    assert_int_equal(count(&s, s.maps, LUD_EMPTY), 2 * (7 * 5) - 1);
    s = generate_ok("style: maze, size: [15, 11], braid: 1, humans: 1, robots: 0, maps: 5", 2);
    for (int k = 0; k < 5; k++)
        for (int y = 1; y < 11; y += 2)
            for (int x = 1; x < 15; x += 2) {
                const lud_grid_object *c = &s.maps[k].cells[y * 15 + x];
                int open = (c[1].type == LUD_EMPTY) + (c[-1].type == LUD_EMPTY) + (c[15].type == LUD_EMPTY) +
                           (c[-15].type == LUD_EMPTY);
                assert_true(open >= 2);
            }
    /* gaps instead of doors; at least enough to join all rooms */
    s = generate_ok("size: [13, 13], rooms: [3, 3], doors: gap, extra_doors: 0", 2);
    assert_int_equal(count(&s, s.maps, LUD_DOOR), 0);
    assert_int_equal(count(&s, s.maps, LUD_EMPTY), 9 * 9 + 8);
    s = generate_ok("size: [13, 13], rooms: [3, 3], doors: open, extra_doors: 1, colours: [blue]", 2);
    assert_int_equal(count(&s, s.maps, LUD_DOOR), 12);
    for (int c = 0; c < 169; c++)
        if (s.maps[0].cells[c].type == LUD_DOOR)
            assert_true(s.maps[0].cells[c].colour == LUD_BLUE && s.maps[0].cells[c].door == LUD_DOOR_OPEN);
    s = generate_ok("style: open, size: [30, 30], walls: 0", 2);
    assert_int_equal(count(&s, s.maps, LUD_EMPTY), 28 * 28);
}

static bool solvable_map(const lud_grid_spec *spec, const lud_grid_map *map, const int *room) {
    bool answer = false;
    lud_error error = {0};
    if (lud_grid_is_solvable(spec, map, room, &answer, &error)) fail_msg("%s", error.text);
    return answer;
}

static bool solvable(const char *map, bool with_rooms) {
    char text[1000];
    int n = snprintf(text, sizeof text, "ludus: 1\nmultigrid: {map: [%s]}\n", map);
    lud_tree *root;
    lud_grid_spec s;
    lud_error error = {0};
    if (lud_tree_read_text(arena, "g", text, (size_t)n, &root, &error) ||
        lud_grid_spec_read(arena, root, 1, &s, &error))
        fail_msg("%s", error.text);
    int room[64] = {0};
    room[s.width + 1] = 1; /* one room at each end of the second row */
    room[2 * s.width - 2] = 2;
    return solvable_map(&s, s.maps, with_rooms ? room : NULL);
}

static void test_solvable(void **state) {
    (void)state;
    assert_true(solvable("We We We We We, We Ay .. Gg We, We We We We We", false));
    assert_false(solvable("We We We We We, We Ay Bl Gg We, We We We We We", false));
    assert_false(solvable("We We We We We, We Ay La Gg We, We We We We We", false));
    assert_true(solvable("We We We We We, We Ay Cr Gg We, We We We We We", false));
    assert_false(solvable("We We We We We, We Ay Lr Gg We, We We We We We", false));
    assert_true(solvable("We We We We We, We Ay Lr Gg We, We Kr We We We, We We We We We", false));
    assert_false(solvable("We We We We We, We Ay Lr Gg We, We Kb We We We, We We We We We", false));
    assert_true(solvable("We We We We We, We Ay Bl .. We, We We We We We", false)); /* nothing to reach */
    assert_false(solvable("We We We We We, We Ay Bl .. We, We We We We We", true)); /* but the room is */
    assert_true(solvable("We We We We We, We Ae Bl Gg We, We We We We We", false)); /* no human */
    /* two keys in one dead end, each needed in turn: the first must be put down out of the way */
    assert_true(solvable(
        "We We We We We We, We Ay .. Lr Gg We, We .. .. We We We, We Kr Ky Ly Gg We, We We We We We We",
        false));
    /* where it could be put down last of all it would lie before the second door */
    assert_true(
        solvable("We We We We We We We We We, We .. Ay .. Lr .. Ly Gg We, We Kr Ky We We We We We We, "
                 "We We We We We We We We We",
                 false));
    /* in a corridor without room to put a key down, the second cannot be had */
    assert_false(
        solvable("We We We We We We We We, We Gg Lr Ay Ky Kr Ly Gg, We We We We We We We We", false));
}

/* An independent and more optimistic search (keys work from afar and are never in the way): it must succeed
 * on every map that is promised to be solvable. */
static bool optimistic(const lud_grid_spec *s, const lud_grid_map *m, int human) {
    int n = s->width * s->height;
    uint8_t *reached = calloc((size_t)n, 1);
    unsigned keys = 0;
    reached[m->agents[human].y * s->width + m->agents[human].x] = 1;
    for (bool more = true; more;) {
        more = false;
        for (int c = 0; c < n; c++) {
            if (reached[c]) continue;
            bool beside = (c % s->width && reached[c - 1]) || (c + 1 < n && reached[c + 1]) ||
                          (c >= s->width && reached[c - s->width]) ||
                          (c + s->width < n && reached[c + s->width]);
            if (!beside) continue;
            const lud_grid_object *o = &m->cells[c];
            bool free = o->type == LUD_EMPTY || o->type == LUD_FLOOR || o->type == LUD_GOAL ||
                        o->type == LUD_SWITCH || o->type == LUD_UNSTEADY_GROUND || o->type == LUD_BUSH ||
                        (o->type == LUD_DOOR && (o->door != LUD_DOOR_LOCKED || keys >> o->colour & 1));
            for (int i = 0; i < m->n_pieces; i++)
                if (m->pieces[i].y * s->width + m->pieces[i].x == c) {
                    free = m->pieces[i].object.type == LUD_KEY;
                    if (free) keys |= 1u << m->pieces[i].object.colour;
                }
            if (!free) continue;
            reached[c] = 1;
            more = true;
        }
    }
    bool all = true;
    for (int c = 0; c < n; c++) all &= m->cells[c].type != LUD_GOAL || reached[c];
    free(reached);
    return all;
}

static void test_promise(void **state) {
    (void)state;
    lud_grid_spec s = generate_ok(
        "size: [19, 13], rooms: [4, 3], extra_doors: 0, locked_doors: 3, objects: {goal: 4, rock: 4, "
        "lava: 4}, humans: 2, maps: 100",
        7);
    lud_grid_spec free_for_all =
        generate_ok("size: [19, 13], rooms: [4, 3], extra_doors: 0, locked_doors: 3, objects: {goal: 4, "
                    "rock: 4, lava: 4}, humans: 2, maps: 100, solvable: false",
                    7);
    int unsolvable = 0;
    for (int k = 0; k < 100; k++)
        for (int human = 0; human < 2; human++) {
            assert_true(optimistic(&s, &s.maps[k], human));
            unsolvable += !optimistic(&free_for_all, &free_for_all.maps[k], human);
        }
    assert_true(unsolvable > 20); /* the promise is worth something */
}

/* The promise against the rules of the world itself: on small maps of one room beside another, with one
 * person and one locked door, every state that can be reached is listed. */
static bool reaches_goal(const lud_grid_spec *spec, int k) {
    lud_grid_spec one = *spec;
    one.maps = &spec->maps[k];
    one.n_maps = 1;
    one.max_steps = 30;
    lud_grid_goal goal = {.cell = true, .weight = 1, .agent = -1};
    for (int c = 0; c < one.width * one.height; c++)
        if (one.maps->cells[c].type == LUD_GOAL) {
            goal.x1 = goal.x2 = c % one.width;
            goal.y1 = goal.y2 = c / one.width;
        }
    one.goals = &goal;
    one.n_goals = 1;
    lud_model *model;
    lud_statespace *space = NULL;
    lud_statespace_options options = {0};
    lud_error error = {0};
    if (lud_grid_model_create(&one, &model, &error) || lud_statespace_build(model, &options, &space, &error))
        fail_msg("%s", error.text);
    bool reached = false;
    for (uint64_t i = 0; i < space->n_states && !reached; i++) {
        reached = model->world->achieved(model, space->states + i * space->state_bytes, 0, 0);
    }
    lud_statespace_destroy(space);
    model->world->free(model);
    return reached;
}

static void test_rules_agree(void **state) {
    (void)state;
    const char *const section =
        "size: [7, 4], rooms: [2, 1], locked_doors: 1, objects: {goal: 1, lava: 1}, humans: "
        "1, robots: 0, maps: 6";
    char any[300];
    snprintf(any, sizeof any, "%s, solvable: false", section);
    lud_grid_spec s = generate_ok(section, 21), other = generate_ok(any, 22);
    for (int k = 0; k < 6; k++) assert_true(reaches_goal(&s, k));
    int unsolvable = 0;
    for (int k = 0; k < 6; k++) {
        bool reached = reaches_goal(&other, k);
        unsolvable += !reached;
        if (solvable_map(&other, &other.maps[k], NULL)) assert_true(reached);
    }
    assert_true(unsolvable > 0);
}

static void test_errors(void **state) {
    (void)state;
    fails("size: [9]", "g:2:30: size: expected [across, down], found a list of 1");
    fails("rooms: [1, 2, 3]", "g:2:31: rooms: expected [across, down], found a list of 3");
    fails("size: [6, 9], rooms: [3, 2]",
          "g:2:45: rooms: expected a size of at least 7 x 5 for 3 x 2 rooms, found a list of 2");
    fails("style: maze, size: [10, 9]",
          "g:2:43: size: expected an odd width and height for a maze, found a list of 2");
    fails("humans: 60, robots: 5",
          "g:2:23: generate: expected at most 64 humans and robots, found a section of 2 keys");
    fails("colours: [pink]",
          "g:2:34: expected red, green, blue, purple, yellow, grey or brown, found 'pink'");
    fails("colours: []", "g:2:33: colours: expected at least one colour, found a list of 0");
    fails("size: [255, 255], maps: 4096",
          "g:2:48: maps: expected maps of at most 4194304 cells together, found '4096'");
    fails("objects: {kye: 1}",
          "g:2:34: expected floor, key, ball, box, goal, lava, switch, block, rock, unsteady_ground, "
          "magic_wall, kill_button, pause_switch, disabling_switch, control_button or bush as key in "
          "'objects', found 'kye'; did you mean 'key'?");
    fails("size: [5, 5], rooms: [1, 1], objects: {rock: 9}, attempts: 3",
          "g:2:23: expected options under which a random map can be made, found none in 3 attempts for map 0 "
          "(the last one "
          "failed because there are more things and agents than free cells)");
    fails("size: [9, 9], locked_doors: 40, attempts: 2",
          "g:2:23: expected options under which a random map can be made, found none in 2 attempts for map 0 "
          "(the last one "
          "failed because there are fewer places for doors than locked_doors)");
    fails("style: maze, size: [15, 15], objects: {rock: 30, goal: 9}, attempts: 5",
          "g:2:23: expected options under which a random map can be made, found none in 5 attempts for map 0 "
          "(the last one "
          "failed because a human could not get everywhere)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_everywhere), cmocka_unit_test(test_as_asked),
        cmocka_unit_test(test_styles),          cmocka_unit_test(test_solvable),
        cmocka_unit_test(test_promise),         cmocka_unit_test(test_rules_agree),
        cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
