/* Errands of robots in a multigrid, against everything that the world's own steps can bring about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/paths/grid_errands.h"
#include "sim/multigrid/support_small_worlds.h"
#include "sim/support_grids.h"

enum { HEIGHT = SMALL_HEIGHT, WIDTH = SMALL_WIDTH, CELLS = SMALL_CELLS, N_MAPS = 150 };
static const char robot[] = "agents: [{role: robot, facing: east, can_push_rocks: true}]";

static void draw_map(random_source *source, const char *const *things, int n_things,
                     const char *cells[CELLS]) {
    for (int c = 0; c < CELLS; c++) {
        const int x = c % WIDTH, y = c / WIDTH;
        const bool wall = x == 0 || y == 0 || x == WIDTH - 1 || y == HEIGHT - 1;
        cells[c] = wall || random_chance(source, 0.2) ? "We" : "..";
    }
    for (int k = 0; k < n_things; k++)
        cells[WIDTH * (1 + (int)random_below(source, HEIGHT - 2)) + 1 +
              (int)random_below(source, WIDTH - 2)] = things[k];
    cells[WIDTH + 1] = "Ae";
}

static void find_in(const int32_t *words, int height, int width, int32_t place, lud_grid_errands *errands) {
    void *memory = malloc(lud_grid_errands_bytes(height, width));
    assert_non_null(memory);
    lud_grid_errands_find(words, height, width,
                          &(lud_grid_seeker){.walker = {.key = -1, .rocks = true}, .place = place}, errands,
                          memory);
    free(memory);
}

static void find(const lud_model *model, lud_grid_errands *errands, small_look *look, uint8_t state[64]) {
    assert_true(model->layout.state_bytes <= 64);
    model->world->reset(model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    *look = small_world_look(model, state);
    find_in(look->words, HEIGHT, WIDTH, small_look_place(look), errands);
}

/* What lies in a cell, whoever stands there. */
static int32_t lies(int32_t word) {
    lud_grid_cell cell = lud_grid_code_fields(word);
    cell.agent = LUD_CODE_NO_AGENT;
    return lud_grid_code_make(cell);
}

/* Two cells of the grid as they are to become. */
typedef struct change {
    int32_t cell[2], word[2];
} change;

static bool is_done(const small_look *look, const void *what) {
    const change *c = what;
    for (int k = 0; k < 2; k++)
        if (lies(look->words[c->cell[k]]) != c->word[k]) return false;
    return true;
}

static change change_of(const lud_grid_errand *errand, const small_look *look) {
    change c;
    const int n = lud_grid_errand_done(errand, HEIGHT, WIDTH, look->words, c.cell, c.word);
    assert_int_equal(n, errand->direction < 0 ? 1 : 2);
    if (n == 1) c.cell[1] = c.cell[0], c.word[1] = c.word[0];
    for (int k = 0; k < 2; k++) c.word[k] = lies(c.word[k]);
    return c;
}

static int search(const lud_model *model, const uint8_t *state, const change *c) {
    static const char *const names[] = {"left", "right", "forward", "toggle", "pickup"};
    return small_world_search(model, state, names, 5, is_done, c);
}

/* What an errand says can be done can be done in so many actions, and mostly in no fewer. */
static void compare(const char *const *things, int n_things, int least) {
    random_source source = {7};
    int n_found = 0, n_equal = 0;
    for (int i = 0; i < N_MAPS; i++) {
        const char *cells[CELLS];
        lud_grid_errands errands;
        small_look look;
        uint8_t state[64];
        draw_map(&source, things, n_things, cells);
        lud_scenario *scenario = small_world_make(cells, robot);
        find(scenario->model, &errands, &look, state);
        for (int e = 0; e < errands.n; e++) {
            const change c = change_of(&errands.list[e], &look);
            const int actions = search(scenario->model, state, &c);
            assert_true(actions <= errands.list[e].actions);
            n_equal += actions == errands.list[e].actions;
        }
        n_found += errands.n;
        lud_scenario_destroy(scenario);
    }
    assert_true(n_found >= least);
    assert_true(n_equal >= n_found * 9 / 10);
}

static void test_doors(void **unused) {
    (void)unused;
    static const char *const things[] = {"Lr", "Kr", "Lb", "Kb", "Cy", "Bg"};
    compare(things, 6, N_MAPS / 3);
}

static void test_rocks(void **unused) {
    (void)unused;
    static const char *const things[] = {"Ro", "Cy"}, *const open[] = {"Ro", "Or"};
    compare(things, 2, N_MAPS);
    compare(open, 2, N_MAPS); /* also onto a door that is open */
}

/* A locked door whose key can be fetched is never overlooked. */
static void test_no_door_is_overlooked(void **unused) {
    (void)unused;
    static const char *const things[] = {"Lr", "Kr", "Cy"};
    random_source source = {8};
    int n_opened = 0;
    for (int i = 0; i < N_MAPS; i++) {
        const char *cells[CELLS];
        lud_grid_errands errands;
        lud_grid_errand wanted = {.direction = -1};
        small_look look;
        uint8_t state[64];
        draw_map(&source, things, 3, cells);
        while (wanted.cell < CELLS && cells[wanted.cell][0] != 'L') wanted.cell++;
        if (wanted.cell == CELLS) continue; /* something else was put there */
        lud_scenario *scenario = small_world_make(cells, robot);
        find(scenario->model, &errands, &look, state);
        const change c = change_of(&wanted, &look);
        const bool opens = search(scenario->model, state, &c) != LUD_GRID_NO_PATH;
        assert_int_equal(errands.n, opens);
        n_opened += opens;
        lud_scenario_destroy(scenario);
    }
    assert_true(n_opened > N_MAPS / 4);
}

static bool is_same(const lud_grid_errand *a, const lud_grid_errand *b) {
    return a->cell == b->cell && a->direction == b->direction && a->pushes == b->pushes;
}

/* Where a robot is to stand, and a rock still to lie. */
typedef struct stand {
    int32_t place, rock;
} stand;

static bool is_behind(const small_look *look, const void *what) {
    const stand *s = what;
    return small_look_place(look) == s->place &&
           lud_grid_code_fields(look->words[s->rock]).type == LUD_CHANNEL_ROCK;
}

/* A lone rock is pushed a cell on in every direction in which that can be done without first moving it
 * elsewhere, which some maps ask for. */
static void test_no_push_is_overlooked(void **unused) {
    (void)unused;
    static const char *const things[] = {"Ro"};
    static const char *const names[] = {"left", "right", "forward"};
    static const int step[] = {1, WIDTH, -1, -WIDTH};
    random_source source = {9};
    int n_found[4] = {0}, n_missed = 0;
    for (int i = 0; i < N_MAPS; i++) {
        const char *cells[CELLS];
        lud_grid_errands errands;
        small_look look;
        uint8_t state[64];
        int rock = 0;
        draw_map(&source, things, 1, cells);
        while (rock < CELLS && cells[rock][0] != 'R') rock++;
        if (rock == CELLS) continue; /* the robot stands there */
        lud_scenario *scenario = small_world_make(cells, robot);
        find(scenario->model, &errands, &look, state);
        for (int d = 0; d < 4; d++) {
            const lud_grid_errand wanted = {.cell = rock, .direction = d, .pushes = 1};
            const stand behind = {.place = 4 * (rock - step[d]) + d, .rock = rock};
            int k = 0, until = LUD_GRID_NO_PATH;
            while (k < errands.n && !is_same(&errands.list[k], &wanted)) k++;
            if (lies(look.words[rock + step[d]]) == LUD_CODE_EMPTY)
                until = small_world_search(scenario->model, state, names, 3, is_behind, &behind);
            n_found[d] += k < errands.n;
            n_missed += k == errands.n && until != LUD_GRID_NO_PATH;
            if (k < errands.n) assert_in_range(until + 1, 1, errands.list[k].actions);
        }
        lud_scenario_destroy(scenario);
    }
    for (int d = 0; d < 4; d++) assert_true(n_found[d] > N_MAPS / 10);
    assert_true(n_missed < (n_found[0] + n_found[1] + n_found[2] + n_found[3]) / 10);
}

static int by_actions(const void *a, const void *b) {
    return ((const lud_grid_errand *)a)->actions - ((const lud_grid_errand *)b)->actions;
}

/* Of more errands than there is room for the soonest stay, whichever robot's. */
static void test_the_soonest_stay(void **unused) {
    (void)unused;
    enum { SIDE = 12 };
    lud_grid_errands one, two, both;
    int32_t words[SIDE * SIDE];
    for (int c = 0; c < SIDE * SIDE; c++) {
        const int x = c % SIDE, y = c / SIDE;
        const bool inside = x % (SIDE - 1) && y % (SIDE - 1), rock = inside && x % 3 == 0 && y % 3 == 0;
        words[c] = rock     ? LUD_CHANNEL_ROCK | LUD_CODE_NO_AGENT << LUD_CODE_AGENT_SHIFT
                   : inside ? LUD_CODE_EMPTY
                            : LUD_CODE_WALL;
    }
    find_in(words, SIDE, SIDE, 4 * (SIDE + 1), &one);
    find_in(words, SIDE, SIDE, 4 * (SIDE * (SIDE - 2) + SIDE - 2), &two);
    both = one;
    lud_grid_errands_add(&both, &two);
    const int n = LUD_GRID_ERRANDS;
    assert_true(one.n == n && two.n == n && both.n == n);
    int last = 0;
    for (int i = 0; i < n; i++) last = one.list[i].actions > last ? one.list[i].actions : last;
    int anew = 0;
    for (int i = 0; i < n; i++) {
        int same = 0, k = 0;
        assert_true(both.list[i].actions <= last);
        for (int j = 0; j < n; j++) same += is_same(&both.list[i], &both.list[j]);
        assert_int_equal(same, 1);
        while (k < n && !is_same(&both.list[i], &one.list[k])) k++;
        assert_true(k == n || both.list[i].actions <= one.list[k].actions);
        anew += k == n;
    }
    assert_true(anew > 0);
    /* those of both together, each once and as soon as it can be: as many of them as there is room for, the
     * soonest */
    lud_grid_errand all[2 * LUD_GRID_ERRANDS];
    int n_all = 0, wanted = 0, kept = 0;
    for (int i = 0; i < 2 * n; i++) {
        const lud_grid_errand e = i < n ? one.list[i] : two.list[i - n];
        int k = 0;
        while (k < n_all && !is_same(&all[k], &e)) k++;
        if (k == n_all || e.actions < all[k].actions) all[k] = e;
        n_all += k == n_all;
    }
    qsort(all, (size_t)n_all, sizeof *all, by_actions);
    for (int i = 0; i < n; i++) wanted += all[i].actions, kept += both.list[i].actions;
    assert_int_equal(kept, wanted);
}

/* A grid without walls around it: what is beside the first cell is done from there. */
static void test_the_first_cell(void **unused) {
    (void)unused;
    const char *cells[CELLS];
    for (int c = 0; c < CELLS; c++) cells[c] = "..";
    cells[0] = "Ae";
    cells[1] = "Lr";
    cells[WIDTH] = "Kr";
    cells[2] = cells[WIDTH + 1] = cells[2 * WIDTH] = "We"; /* the first cell is all there is */
    lud_scenario *scenario = small_world_make(cells, robot);
    lud_grid_errands errands;
    small_look look;
    uint8_t state[64];
    find(scenario->model, &errands, &look, state);
    assert_int_equal(errands.n, 1);
    assert_int_equal(errands.list[0].cell, 1);
    const change c = change_of(&errands.list[0], &look);
    assert_int_equal(search(scenario->model, state, &c), errands.list[0].actions);
    lud_scenario_destroy(scenario);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_doors),
                                       cmocka_unit_test(test_rocks),
                                       cmocka_unit_test(test_no_door_is_overlooked),
                                       cmocka_unit_test(test_no_push_is_overlooked),
                                       cmocka_unit_test(test_the_soonest_stay),
                                       cmocka_unit_test(test_the_first_cell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
