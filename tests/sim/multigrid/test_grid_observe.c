/* What agents observe against a slow reading of an unpacked state: every word, feature and number of random
 * grids, whole and from where an agent stands. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/multigrid/grid_observe.h"
#include "sim/support_grids.h"

enum { GRIDS = 600, STATES = 4, STATE_BYTES = 512, MOST_PARTS = 4, SIDE = 8, VIEW = 9, ENVIRONMENTS = 2 };

static const lud_colour by_name[] = {LUD_BLUE,   LUD_BROWN, LUD_GREEN, LUD_GREY,
                                     LUD_PURPLE, LUD_RED,   LUD_YELLOW};

/* ---- words ---- */

/* The channel of a type in the base table, as the field of words; 15 for what the table has not. */
static int channel_of(lud_grid_type type) {
    switch (type) {
    case LUD_WALL:
        return 0;
    case LUD_BALL:
        return 1;
    case LUD_BOX:
        return 2;
    case LUD_GOAL:
        return 3;
    case LUD_LAVA:
        return 4;
    case LUD_BLOCK:
        return 5;
    case LUD_ROCK:
        return 6;
    case LUD_UNSTEADY_GROUND:
        return 7;
    case LUD_SWITCH:
        return 8;
    case LUD_FLOOR:
        return 9;
    case LUD_KILL_BUTTON:
        return 10;
    case LUD_PAUSE_SWITCH:
        return 11;
    case LUD_DISABLING_SWITCH:
        return 12;
    case LUD_CONTROL_BUTTON:
        return 13;
    case LUD_BUSH:
        return 14;
    case LUD_DOOR:
        return 30;
    case LUD_KEY:
        return 31;
    default:
        return 15;
    }
}

static int32_t word_of(const lud_grid_scene *scene, int x, int y) {
    if (x < 0 || y < 0 || x >= scene->width || y >= scene->height)
        return lud_grid_code_make((lud_grid_cell){.agent = 7}); /* outside is wall */
    const lud_grid_scene_cell *c = &scene->cells[y * scene->width + x];
    const lud_grid_object *ground = &c->ground;
    lud_grid_cell word = {.type = 15, .agent = c->agent < 0 ? 7 : (int)scene->agents[c->agent].colour};
    if (ground->type == LUD_DOOR) word.door = 1 + (int)ground->door;
    if (c->piece >= 0) {
        const lud_grid_object *piece = &scene->pieces[c->piece].object;
        word.type = channel_of(piece->type);
        word.colour = piece->type == LUD_KEY ? (int)piece->colour : 0;
        return lud_grid_code_make(word);
    }
    if (!(ground->type == LUD_BUSH && c->trampled)) word.type = channel_of(ground->type);
    if (ground->type == LUD_DOOR) word.colour = (int)ground->colour;
    if (ground->type == LUD_MAGIC_WALL) word.magic = ground->active ? 1 + (int)ground->side : 6;
    if (ground->type == LUD_OBJECT_GOAL) word.other = 2;
    return lud_grid_code_make(word);
}

static bool word_lets_light_through(int32_t word) {
    const lud_grid_cell cell = lud_grid_code_fields(word);
    return cell.agent != 7 || !(cell.type == 0 || cell.magic || (cell.type == 30 && cell.door != 1));
}

/* ---- six numbers a cell ---- */

static void numbers_of(const lud_grid_scene *scene, int x, int y, int observer, uint8_t to[6]) {
    memset(to, 0, 6);
    if (x < 0 || y < 0 || x >= scene->width || y >= scene->height) {
        to[0] = LUD_WALL;
        to[1] = LUD_GREY;
        return;
    }
    const lud_grid_scene_cell *c = &scene->cells[y * scene->width + x];
    const lud_grid_object *o = &c->ground;
    if (c->agent >= 0) {
        const lud_grid_scene_agent *a = &scene->agents[c->agent];
        to[0] = LUD_AGENT;
        to[1] = (uint8_t)a->colour;
        to[2] = a->carries ? (uint8_t)a->carried.type : 0;
        to[3] = a->carries ? (uint8_t)a->carried.colour : 0;
        to[4] = (uint8_t)a->direction;
        to[5] = c->agent == observer;
        return;
    }
    if (c->piece >= 0) {
        to[0] = (uint8_t)scene->pieces[c->piece].object.type;
        to[1] = (uint8_t)scene->pieces[c->piece].object.colour;
        return;
    }
    to[0] = LUD_EMPTY;
    if (o->type == LUD_EMPTY || (o->type == LUD_BUSH && c->trampled)) return;
    to[0] = (uint8_t)o->type;
    to[1] = (uint8_t)o->colour;
    switch (o->type) {
    case LUD_DOOR:
        to[2] = (uint8_t)o->door;
        break;
    case LUD_UNSTEADY_GROUND:
        to[2] = (uint8_t)(255 * o->stumble);
        break;
    case LUD_MAGIC_WALL:
        to[2] = (uint8_t)o->side;
        to[3] = (uint8_t)(255 * o->entry);
        to[4] = (uint8_t)(255 * o->solidify);
        to[5] = o->active;
        break;
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
        to[2] = (uint8_t)o->trigger;
        to[3] = (uint8_t)o->target;
        to[4] = o->type == LUD_KILL_BUTTON ? o->enabled : o->on;
        to[5] = o->type == LUD_KILL_BUTTON ? 0 : o->enabled;
        break;
    case LUD_DISABLING_SWITCH:
        to[2] = (uint8_t)o->trigger;
        to[3] = o->target_type == LUD_KILL_BUTTON ? 0 : o->target_type == LUD_PAUSE_SWITCH ? 1 : 2;
        break;
    case LUD_CONTROL_BUTTON:
        to[2] = (uint8_t)o->trigger;
        to[3] = (uint8_t)o->target;
        to[4] = o->enabled;
        to[5] = (uint8_t)(c->recorded_action + 1);
        break;
    default:
        break;
    }
}

/* Who is on what they stand on does not matter to light: an agent lets it through. */
static bool numbers_let_light_through(const uint8_t *cell) {
    return !(cell[0] == LUD_WALL || cell[0] == LUD_MAGIC_WALL ||
             (cell[0] == LUD_DOOR && cell[2] != LUD_DOOR_OPEN));
}

/* ---- features ---- */

static void agent_features(const lud_grid_scene_agent *a, float to[13]) {
    to[0] = (float)a->x;
    to[1] = (float)a->y;
    for (int d = 0; d < 4; d++) to[2 + d] = (int)a->direction == d;
    to[6] = a->can_enter_magic_walls;
    to[7] = a->can_push_rocks;
    to[8] = a->carries ? (float)channel_of(a->carried.type) : -1.0f;
    to[9] = a->carries ? (float)a->carried.colour : -1.0f;
    to[10] = a->paused;
    to[11] = a->terminated;
    to[12] = (float)a->forced_action;
}

static void global_features(const lud_grid_scene *scene, const lud_grid_spec *spec, float to[4]) {
    to[0] = (float)(spec->max_steps - scene->step);
    to[1] = to[2] = to[3] = 0.0f;
    for (int c = scene->width * scene->height - 1; c >= 0; c--) { /* the first one comes last */
        const lud_grid_object *o = &scene->cells[c].ground;
        if (o->type == LUD_UNSTEADY_GROUND) to[1] = (float)o->stumble;
        if (o->type != LUD_MAGIC_WALL) continue;
        to[2] = (float)o->entry;
        to[3] = (float)o->solidify;
    }
}

static void button_features(const lud_grid_scene *scene, float to[96]) {
    static const lud_grid_type kinds[] = {LUD_KILL_BUTTON, LUD_PAUSE_SWITCH, LUD_DISABLING_SWITCH,
                                          LUD_CONTROL_BUTTON};
    static const int numbers[] = {5, 6, 6, 7};
    memset(to, 0, 96 * sizeof *to);
    for (int k = 0; k < 4; to += 4 * numbers[k], k++) {
        int n = 0;
        for (int c = 0; c < scene->width * scene->height && n < 4; c++) {
            const lud_grid_scene_cell *cell = &scene->cells[c];
            const lud_grid_object *o = &cell->ground;
            if (o->type != kinds[k]) continue;
            float *f = to + numbers[k] * n++;
            f[0] = (float)(c % scene->width);
            f[1] = (float)(c / scene->width);
            f[2] = k == 2 ? 1.0f : (float)o->enabled;
            f[3] = k == 1 ? (float)o->on : k == 2 ? 0.0f : (float)o->trigger;
            f[4] = k == 1 || k == 2 ? (float)o->trigger : (float)o->target;
            if (k == 1) f[5] = (float)o->target;
            if (k == 2) f[5] = (float)channel_of(o->target_type);
            if (k == 3) f[5] = (float)cell->recorded_action;
            if (k == 3) f[6] = (float)cell->awaiting;
        }
    }
}

/* ---- what is seen from where an agent stands ---- */

/* The cell of a window's row and column: the agent in the middle of the last row, what it faces above. */
static void place_seen(const lud_grid_scene_agent *a, int size, int row, int column, int *x, int *y) {
    const int ahead = size - 1 - row, right = column - size / 2;
    switch (a->direction) {
    case 0:
        *x = a->x + ahead, *y = a->y + right;
        break; /* east: south is on the right */
    case 1:
        *x = a->x - right, *y = a->y + ahead;
        break;
    case 2:
        *x = a->x - ahead, *y = a->y - right;
        break;
    default:
        *x = a->x + right, *y = a->y - ahead;
        break;
    }
}

/* A cell is lit where light comes in from below, or along its row through cells that let it pass; it comes in
 * from below out of a lit cell that lets it pass, straight or slantwise. */
static void find_light(int size, bool passes[VIEW][VIEW], bool lit[VIEW][VIEW]) {
    bool from_below[VIEW] = {false};
    from_below[size / 2] = true; /* the agent */
    for (int row = size - 1; row >= 0; row--) {
        for (int column = 0; column < size; column++) {
            lit[row][column] = false;
            for (int source = 0; source < size; source++) {
                bool reaches = from_below[source];
                const int by = column > source ? 1 : -1;
                for (int c = source; c != column && reaches; c += by) reaches = passes[row][c];
                lit[row][column] |= reaches;
            }
        }
        for (int column = 0; column < size; column++) {
            from_below[column] = false;
            for (int c = column - 1; c <= column + 1; c++)
                if (c >= 0 && c < size && lit[row][c] && passes[row][c]) from_below[column] = true;
        }
    }
}

/* ---- comparison ---- */

typedef struct bed {
    random_grid grid;
    lud_model *model;
    lud_grid_scene *scene;
    uint8_t states[ENVIRONMENTS][STATE_BYTES]; /* one behind the other in the first bytes of it */
} bed;

static union {
    int32_t words[ENVIRONMENTS * RANDOM_GRID_AGENTS * VIEW * VIEW];
    float features[ENVIRONMENTS * 96];
    uint8_t numbers[ENVIRONMENTS * RANDOM_GRID_AGENTS * VIEW * VIEW * 6];
} found[MOST_PARTS];

static void compare_whole(const bed *b, int e) {
    const lud_grid_scene *scene = b->scene;
    const int cells = scene->width * scene->height, n = scene->n_agents;
    if (b->grid.spec.observation.coding == LUD_CODING_CELLS) {
        for (int i = 0; i < n; i++)
            for (int x = 0; x < scene->width; x++)
                for (int y = 0; y < scene->height; y++) {
                    uint8_t wanted[6];
                    numbers_of(scene, x, y, i, wanted);
                    assert_memory_equal(found[0].numbers +
                                            (((e * n + i) * scene->width + x) * scene->height + y) * 6,
                                        wanted, 6);
                }
        return;
    }
    for (int c = 0; c < cells; c++)
        assert_int_equal(found[0].words[e * cells + c], word_of(scene, c % scene->width, c / scene->width));
    float globals[4], agent[13], buttons[96];
    global_features(scene, &b->grid.spec, globals);
    assert_memory_equal(found[1].features + e * 4, globals, sizeof globals);
    int place = e * n;
    for (int k = 0; k < LUD_COLOURS; k++)
        for (int i = 0; i < n; i++) {
            if (scene->agents[i].colour != by_name[k]) continue;
            agent_features(&scene->agents[i], agent);
            assert_int_equal(lud_grid_agent_place((const lud_grid_model *)b->model, i), place - e * n);
            assert_memory_equal(found[2].features + 13 * place++, agent, sizeof agent);
        }
    button_features(scene, buttons);
    assert_memory_equal(found[3].features + e * 96, buttons, sizeof buttons);
}

static void compare_views(const bed *b, int e) {
    const lud_grid_scene *scene = b->scene;
    const bool numbers = b->grid.spec.observation.coding == LUD_CODING_CELLS;
    const int size = (int)b->grid.spec.observation.size, n = scene->n_agents;
    static const uint8_t dark[6] = {0};
    for (int i = 0; i < n; i++) {
        bool passes[VIEW][VIEW], lit[VIEW][VIEW];
        uint8_t six[VIEW][VIEW][6];
        int32_t words[VIEW][VIEW];
        for (int row = 0; row < size; row++)
            for (int column = 0; column < size; column++) {
                int x, y;
                place_seen(&scene->agents[i], size, row, column, &x, &y);
                words[row][column] = word_of(scene, x, y);
                numbers_of(scene, x, y, -1, six[row][column]);
                passes[row][column] = numbers ? numbers_let_light_through(six[row][column])
                                              : word_lets_light_through(words[row][column]);
            }
        const int last = size - 1, middle = size / 2;
        assert_in_range(last, 2, VIEW - 1);
        six[last][middle][5] = 1; /* the agent itself */
        find_light(size, passes, lit);
        for (int row = 0; row < size; row++)
            for (int column = 0; column < size; column++) {
                const bool seen = lit[row][column] || b->grid.spec.observation.see_through_walls;
                const int at = (e * n + i) * size * size;
                if (numbers)
                    assert_memory_equal(found[0].numbers + (at + column * size + row) * 6,
                                        seen ? six[row][column] : dark, 6);
                else
                    assert_int_equal(found[0].words[at + row * size + column],
                                     seen ? words[row][column] : LUD_GRID_WORD_UNSEEN);
            }
        if (numbers) continue;
        float agent[13];
        agent_features(&scene->agents[i], agent);
        assert_memory_equal(found[2].features + 13 * (e * n + i), agent, sizeof agent);
    }
}

static void check(bed *b, random_source *source) {
    const lud_layout *layout = &b->model->layout;
    uint32_t ticks[ENVIRONMENTS] = {0};
    lud_error error = {0};
    uint8_t *states = b->states[0];
    for (int e = 0; e < ENVIRONMENTS; e++) {
        random_scene(source, &b->grid.spec, b->scene, layout->actions[0].n_discrete);
        if (lud_grid_scene_write(b->scene, b->model, states + (size_t)e * layout->state_bytes, &error))
            fail_msg("%s", error.text);
    }
    void *parts[MOST_PARTS];
    for (int p = 0; p < layout->n_parts; p++) {
        assert_true(ENVIRONMENTS * layout->parts[p].bytes <= sizeof found[p]);
        memset(&found[p], 0x55, sizeof found[p]);
        parts[p] = &found[p];
    }
    b->model->world->observe(b->model, (lud_range){.n = ENVIRONMENTS, .tick = ticks}, states, parts);
    for (int e = 0; e < ENVIRONMENTS; e++) {
        lud_grid_scene_read(b->scene, b->model, states + (size_t)e * layout->state_bytes);
        if (b->grid.spec.observation.view == LUD_VIEW_PARTIAL)
            compare_views(b, e);
        else
            compare_whole(b, e);
    }
    /* factors bring places, counts and kinds to -1 .. 1, and are none smaller than the size of what they
     * scale */
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        int64_t width = 1;
        for (int d = 0; d < part->n_dimensions; d++) width *= part->dimensions[d];
        for (int64_t i = 0; part->scale && i < (int64_t)(ENVIRONMENTS * part->bytes / sizeof(float)); i++) {
            const float factor = part->scale[i % width];
            assert_true(fabsf(found[p].features[i] * factor) <= 2.0f); /* types are up to twice the colours */
            assert_true(factor > 0.0f && factor <= 1.0f);
        }
    }
    /* a part that is not wanted changes nothing about the others */
    for (int p = 0; p < layout->n_parts; p++) {
        uint8_t before[sizeof found[0]];
        void *only[MOST_PARTS] = {NULL};
        memcpy(before, &found[p], sizeof before);
        memset(&found[p], 0x55, sizeof found[p]);
        only[p] = &found[p];
        b->model->world->observe(b->model, (lud_range){.n = ENVIRONMENTS, .tick = ticks}, states, only);
        assert_memory_equal(before, &found[p], sizeof before);
    }
}

static void test_observations_say_what_is_there(void **state) {
    (void)state;
    random_source source = {4711};
    for (int k = 0; k < GRIDS; k++) {
        static bed b;
        lud_error error = {0};
        random_grid_make(&source, &b.grid);
        b.grid.spec.observation.coding = k % 3 == 0 ? LUD_CODING_CELLS : LUD_CODING_COMPACT;
        b.grid.spec.observation.view = k % 2 ? LUD_VIEW_PARTIAL : LUD_VIEW_FULL;
        b.grid.spec.observation.size = 3 + 2 * (int)random_below(&source, 4);
        b.grid.spec.observation.see_through_walls = random_chance(&source, 0.2);
        if (lud_grid_model_create(&b.grid.spec, &b.model, &error)) fail_msg("%s", error.text);
        assert_true(ENVIRONMENTS * b.model->layout.state_bytes <= sizeof b.states);
        b.scene = lud_grid_scene_create(b.model);
        assert_non_null(b.scene);
        for (int s = 0; s < STATES; s++) check(&b, &source);
        lud_grid_scene_destroy(b.scene);
        b.model->world->free(b.model);
    }
}

/* The tensor of the reference: channels of words, walls beyond the map, and an agent hides what it stands on
 * but a bush. */
static void test_tensor(void **state) {
    (void)state;
    enum { HEIGHT = 6, WIDTH = 9 };
    random_source source = {815};
    for (int k = 0; k < 100; k++) {
        static bed b;
        static float tensor[LUD_GRID_CHANNELS][HEIGHT][WIDTH];
        lud_error error = {0};
        random_grid_make(&source, &b.grid);
        if (lud_grid_model_create(&b.grid.spec, &b.model, &error)) fail_msg("%s", error.text);
        b.scene = lud_grid_scene_create(b.model);
        random_scene(&source, &b.grid.spec, b.scene, b.model->layout.actions[0].n_discrete);
        if (lud_grid_scene_write(b.scene, b.model, b.states[0], &error)) fail_msg("%s", error.text);
        lud_grid_scene_read(b.scene, b.model, b.states[0]);
        memset(tensor, 0x55, sizeof tensor);
        lud_grid_encode_tensor((const lud_grid_model *)b.model, b.states[0], HEIGHT, WIDTH, tensor[0][0]);
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                const lud_grid_cell word = lud_grid_code_fields(word_of(b.scene, x, y));
                float wanted[LUD_GRID_CHANNELS] = {0};
                const bool hidden = word.agent != 7;
                if (hidden) wanted[33 + word.agent] = 1.0f;
                if (hidden) wanted[31] = 1.0f;
                if (word.type < 15 && (!hidden || word.type == 14)) wanted[word.type] = 1.0f;
                if (!hidden && word.type == 30) wanted[15 + word.colour] = (float)word.door;
                if (!hidden && word.type == 31) wanted[22 + word.colour] = 1.0f;
                if (!hidden) wanted[29] = (float)word.magic;
                if (!hidden && word.other == 2) wanted[31] = 1.0f;
                for (int c = 0; c < LUD_GRID_CHANNELS; c++)
                    if (tensor[c][y][x] != wanted[c])
                        fail_msg("grid %d, cell %d %d, channel %d: %g instead of %g, word %x", k, x, y, c,
                                 (double)tensor[c][y][x], (double)wanted[c], word_of(b.scene, x, y));
            }
        lud_grid_scene_destroy(b.scene);
        b.model->world->free(b.model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_observations_say_what_is_there),
                                       cmocka_unit_test(test_tensor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
