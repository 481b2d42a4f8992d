/* The multigrid's rules that are easy to get wrong, one hand-made case each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sim/support_sketch.h"

enum { STILL, LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE };

/* A drawn grid with its current state and the successors of the last joint action. */
typedef struct play {
    sketch drawn;
    lud_model *model;
    lud_grid_scene *scene; /* of the state, or of the successor last looked at */
    uint8_t state[256];
    lud_successors next;
} play;

static void play_begin(play *p) {
    p->model = sketch_model(&p->drawn);
    p->scene = lud_grid_scene_create(p->model);
    assert_non_null(p->scene);
    assert_true(p->model->layout.state_bytes <= sizeof p->state);
    p->model->world->reset(p->model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, p->state);
    lud_grid_scene_read(p->scene, p->model, p->state);
}

static void play_draw(play *p, const char *const *rows, const char *facing, bool magic) {
    *p = (play){0};
    sketch_draw(&p->drawn, rows, facing, magic);
}

/* Takes the edited scene as the state. */
static void play_edit(play *p) {
    lud_error error = {0};
    if (lud_grid_scene_write(p->scene, p->model, p->state, &error)) fail_msg("%s", error.text);
}

/* Enumerates a joint action; returns the number of successors. */
static size_t play_try(play *p, const int32_t *actions) {
    lud_error error = {0};
    assert_int_equal(p->model->world->successors(p->model, p->state, actions, &p->next, &error), LUD_OK);
    return p->next.n;
}
#define TRY(p, ...) play_try(p, (const int32_t[]){__VA_ARGS__})

/* Looks at successor k. */
static const lud_grid_scene *play_look(play *p, size_t k) {
    assert_true(k < p->next.n);
    lud_grid_scene_read(p->scene, p->model, p->next.states + k * p->model->layout.state_bytes);
    return p->scene;
}

/* Goes to the only successor. */
static void play_go(play *p) {
    assert_int_equal(p->next.n, 1);
    memcpy(p->state, p->next.states, p->model->layout.state_bytes);
    lud_grid_scene_read(p->scene, p->model, p->state);
}

static void play_end(play *p) {
    lud_successors_free(&p->next);
    lud_grid_scene_destroy(p->scene);
    lud_grid_model_destroy(p->model);
}

static void assert_at(const lud_grid_scene *scene, int agent, int x, int y) {
    assert_int_equal(scene->agents[agent].x, x);
    assert_int_equal(scene->agents[agent].y, y);
}

static void two_into_one_cell_are_drawn_evenly(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#y.e#", "#####", NULL}, "ew", false);
    play_begin(&p);
    assert_int_equal(TRY(&p, FORWARD, FORWARD), 2);
    assert_true(p.next.probability[0] == 0.5 && p.next.probability[1] == 0.5);
    int first = play_look(&p, 0)->agents[0].x;
    assert_int_equal(play_look(&p, 1)->agents[0].x, first == 2 ? 1 : 2);
    play_end(&p);
}

static void a_cell_left_in_this_step_stays_closed(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#ye.#", "#####", NULL}, "ee", false);
    play_begin(&p);
    assert_int_equal(TRY(&p, FORWARD, FORWARD), 1);
    play_go(&p);
    assert_at(p.scene, 0, 1, 1);
    assert_at(p.scene, 1, 3, 1);
    play_end(&p);
}

static void a_wall_of_all_sides_needs_company(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"######", "#yM.y#", "######", NULL}, "en", true);
    p.drawn.cells[8].entry = 1.0;
    play_begin(&p);
    TRY(&p, FORWARD, STILL);
    play_go(&p);
    assert_at(p.scene, 0, 1, 1); /* alone: an ordinary wall */
    TRY(&p, FORWARD, LEFT);
    play_go(&p);
    assert_at(p.scene, 0, 1, 1); /* a turn is no company */
    TRY(&p, FORWARD, TOGGLE);
    play_go(&p);
    assert_at(p.scene, 0, 2, 1);
    TRY(&p, FORWARD, STILL);
    play_go(&p);
    assert_at(p.scene, 0, 3, 1); /* out in any direction */
    assert_true(p.scene->cells[8].ground.active);
    play_end(&p);
}

static void two_can_share_a_magic_wall(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#yMy#", "#####", NULL}, "ew", true);
    p.drawn.cells[7].entry = 0.5;
    p.drawn.cells[7].solidify = 0.5;
    play_begin(&p);
    assert_int_equal(TRY(&p, FORWARD, FORWARD), 6);
    double both = 0, solid_and_in = 0;
    for (size_t k = 0; k < p.next.n; k++) {
        const lud_grid_scene *s = play_look(&p, k);
        bool in0 = s->agents[0].x == 2, in1 = s->agents[1].x == 2;
        if (in0 && in1) both += p.next.probability[k];
        if (in1 && !s->cells[7].ground.active) solid_and_in += p.next.probability[k];
    }
    assert_true(fabs(both - 0.25) < 1e-15);
    assert_true(fabs(solid_and_in - 0.125) < 1e-15); /* entered although it had just turned solid */
    play_end(&p);
}

static void two_who_stumble_towards_one_cell_stay(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#~.~#", "#####", NULL}, "", false);
    p.drawn.spec.n_agents = 2;
    p.drawn.agents[0] = (lud_grid_agent){.x = 1, .y = 1, .direction = LUD_EAST, .colour = LUD_YELLOW};
    p.drawn.agents[1] = (lud_grid_agent){.x = 3, .y = 1, .direction = LUD_WEST, .colour = LUD_GREY};
    p.drawn.cells[6].stumble = 0.0;
    p.drawn.cells[8].stumble = 0.4;
    play_begin(&p);
    assert_int_equal(TRY(&p, FORWARD, FORWARD), 3);
    for (size_t k = 0; k < 3; k++) {
        const lud_grid_scene *s = play_look(&p, k);
        bool straight = s->agents[1].direction == LUD_WEST;
        assert_true(fabs(p.next.probability[k] - (straight ? 0.6 : 0.2)) < 1e-15);
        assert_at(s, 0, straight ? 1 : 2, 1);
        assert_at(s, 1, 3, 1);
    }
    play_end(&p);
}

static void the_loser_of_a_draw_drops_where_another_left(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"######", "#.y..#", "#yy..#", "#k.b.#", "######", NULL}, "see", false);
    play_begin(&p);
    p.scene->agents[2].direction = LUD_EAST;
    p.scene->n_pieces = 0;
    p.scene->agents[0].carries = p.scene->agents[1].carries = true;
    p.scene->agents[0].carried = lud_grid_object_default(LUD_KEY);
    p.scene->agents[1].carried = lud_grid_object_default(LUD_BALL);
    play_edit(&p);
    /* Winners of draws act first: the winner of the two finds the third still there, the loser finds the cell
     * free. */
    assert_int_equal(TRY(&p, DROP, DROP, FORWARD), 2);
    assert_true(p.next.probability[0] == 0.5);
    for (size_t k = 0; k < 2; k++) {
        const lud_grid_scene *s = play_look(&p, k);
        assert_true(s->agents[0].carries != s->agents[1].carries);
        assert_int_equal(s->n_pieces, 1);
        assert_int_equal(s->pieces[0].x, 2);
        assert_int_equal(s->pieces[0].y, 2);
    }
    play_end(&p);
}

static void who_pushes_out_of_a_doorway_hides_the_door(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#######", "#.OB..#", "#.y...#", "#######", NULL}, "n", false);
    p.drawn.spec.n_agents = 2;
    p.drawn.agents[1] = p.drawn.agents[0];
    p.drawn.agents[0].x = 2;
    p.drawn.agents[0].y = 1;
    p.drawn.agents[0].direction = LUD_EAST;
    play_begin(&p);
    TRY(&p, FORWARD, TOGGLE);
    play_go(&p);
    assert_at(p.scene, 0, 3, 1);
    assert_int_equal(p.scene->cells[9].ground.door, LUD_DOOR_OPEN);
    TRY(&p, STILL, TOGGLE);
    play_go(&p);
    assert_int_equal(p.scene->cells[9].ground.door, LUD_DOOR_CLOSED); /* in the next step it is there again */
    play_end(&p);
}

static void a_push_onto_lava_covers_it(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"######", "#eRl.#", "######", NULL}, "e", false);
    play_begin(&p);
    TRY(&p, FORWARD);
    play_go(&p);
    TRY(&p, FORWARD);
    play_go(&p);
    assert_at(p.scene, 0, 3, 1); /* pushed on, now itself on the lava and unharmed */
    assert_false(p.scene->agents[0].terminated);
    assert_int_equal(p.scene->pieces[0].x, 4);
    play_end(&p);
}

static void walking_onto_lava_terminates(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#yl.#", "#####", NULL}, "e", false);
    play_begin(&p);
    TRY(&p, FORWARD);
    play_go(&p);
    assert_at(p.scene, 0, 2, 1);
    assert_true(p.scene->agents[0].terminated);
    TRY(&p, FORWARD);
    play_go(&p);
    assert_at(p.scene, 0, 2, 1);
    assert_int_equal(p.scene->step, 2); /* time goes on */
    play_end(&p);
}

static void a_kill_in_the_same_step_is_drawn(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#Ky.#", "#.e.#", "#####", NULL}, "we", false);
    play_begin(&p);
    assert_int_equal(TRY(&p, TOGGLE, FORWARD), 2);
    assert_true(p.next.probability[0] == 0.5);
    bool moved0 = play_look(&p, 0)->agents[1].x == 3, moved1 = play_look(&p, 1)->agents[1].x == 3;
    assert_true(moved0 != moved1);
    assert_true(p.scene->agents[1].terminated);
    /* Against a turn alone the order is that of the indices. */
    assert_int_equal(TRY(&p, TOGGLE, LEFT), 1);
    assert_int_equal(play_look(&p, 0)->agents[1].direction, LUD_EAST);
    play_end(&p);
}

static void control_buttons_record_and_command(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"#####", "#eCy#", "#####", NULL}, "ew", false);
    play_begin(&p);
    TRY(&p, TOGGLE, STILL);
    play_go(&p);
    assert_true(p.scene->cells[7].awaiting);
    assert_int_equal(p.scene->cells[7].controlled_agent, 0);
    assert_int_equal(p.scene->cells[7].recorded_action, -1); /* this toggle itself is not recorded */
    TRY(&p, STILL, STILL);
    play_go(&p);
    assert_true(p.scene->cells[7].awaiting); /* still is never recorded */
    TRY(&p, RIGHT, STILL);
    play_go(&p);
    assert_false(p.scene->cells[7].awaiting);
    assert_int_equal(p.scene->cells[7].recorded_action, RIGHT);
    TRY(&p, STILL, TOGGLE);
    play_go(&p);
    assert_int_equal(p.scene->agents[0].forced_action, RIGHT);
    lud_direction before = p.scene->agents[0].direction;
    TRY(&p, LEFT, STILL);
    play_go(&p);
    assert_int_equal(p.scene->agents[0].direction, (before + 1) % 4);
    assert_int_equal(p.scene->agents[0].forced_action, -1);
    play_end(&p);
}

static void keys_open_their_doors_and_stay(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"######", "#yk.L#", "######", NULL}, "e", false);
    play_begin(&p);
    const int32_t plan[] = {PICKUP, FORWARD, FORWARD, TOGGLE, TOGGLE, TOGGLE};
    for (int k = 0; k < 6; k++) {
        TRY(&p, plan[k]);
        play_go(&p);
        if (k == 3) assert_int_equal(p.scene->cells[10].ground.door, LUD_DOOR_OPEN);
        if (k == 4) assert_int_equal(p.scene->cells[10].ground.door, LUD_DOOR_CLOSED);
    }
    assert_int_equal(p.scene->cells[10].ground.door, LUD_DOOR_OPEN);
    assert_true(p.scene->agents[0].carries);
    play_end(&p);
}

static void outside_is_a_wall(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"y..", "...", "B..", NULL}, "w", false);
    play_begin(&p);
    for (int k = 0; k < 2; k++) {
        TRY(&p, FORWARD);
        play_go(&p);
        assert_at(p.scene, 0, 0, 0);
        TRY(&p, RIGHT);
        play_go(&p);
    }
    p.scene->agents[0].y = 1;
    p.scene->agents[0].direction = LUD_SOUTH;
    play_edit(&p);
    TRY(&p, FORWARD);
    play_go(&p);
    assert_at(p.scene, 0, 0, 1); /* the block cannot leave the grid */
    play_end(&p);
}

static void the_step_limit_is_terminal_and_step_counts_on(void **unused) {
    (void)unused;
    play p;
    play_draw(&p, (const char *[]){"###", "#y#", "###", NULL}, "e", false);
    p.drawn.spec.max_steps = 2;
    play_begin(&p);
    int32_t left = LEFT;
    uint8_t terminated, truncated;
    for (int k = 0; k < 4; k++) {
        assert_int_equal(p.model->world->is_terminal(p.model, p.state), k >= 2);
        assert_int_equal(TRY(&p, LEFT), k < 2);
        lud_range one = {.n = 1, .tick = &(uint32_t){0}};
        p.model->world->step(p.model, one, p.state, (lud_actions){.discrete = &left},
                             (lud_outcome){.terminated = &terminated, .truncated = &truncated});
        assert_int_equal(terminated, 0);
        assert_int_equal(truncated, k >= 1);
    }
    lud_grid_scene_read(p.scene, p.model, p.state);
    assert_int_equal(p.scene->step, 4);
    play_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_into_one_cell_are_drawn_evenly),
        cmocka_unit_test(a_cell_left_in_this_step_stays_closed),
        cmocka_unit_test(a_wall_of_all_sides_needs_company),
        cmocka_unit_test(two_can_share_a_magic_wall),
        cmocka_unit_test(two_who_stumble_towards_one_cell_stay),
        cmocka_unit_test(the_loser_of_a_draw_drops_where_another_left),
        cmocka_unit_test(who_pushes_out_of_a_doorway_hides_the_door),
        cmocka_unit_test(a_push_onto_lava_covers_it),
        cmocka_unit_test(walking_onto_lava_terminates),
        cmocka_unit_test(a_kill_in_the_same_step_is_drawn),
        cmocka_unit_test(control_buttons_record_and_command),
        cmocka_unit_test(keys_open_their_doors_and_stay),
        cmocka_unit_test(outside_is_a_wall),
        cmocka_unit_test(the_step_limit_is_terminal_and_step_counts_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
