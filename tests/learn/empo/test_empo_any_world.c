/* Worlds made at random, with doors, keys, rocks, blocks, lava, bushes, unsteady ground, one or two people
 * and robots, and any theory: the learner of EMPO's phase 2, with its defaults and hardly any training, ends
 * at the exact solution in each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "learn/empo/support_empo.h"

enum { WORLDS = 14, WIDEST = 7, HIGHEST = 5 };

/* What is drawn for one world, one after the other. */
typedef struct draws {
    uint32_t world, n;
} draws;

static int below(draws *d, int n) {
    const lud_words w = lud_draw((lud_random_key){71, d->world}, d->n++, 0, LUD_PURPOSE_USER, 0);
    return (int)lud_below(w.v[0], (uint32_t)n);
}

/* Two rooms with a gate in the wall between them. */
typedef struct rooms {
    int width, height, wall, gate; /* x of the wall, y of the gate */
    const char *cell[HIGHEST][WIDEST];
} rooms;

/* Columns of the left (0) or right (1) room. */
static int first_of(const rooms *r, int side) {
    return side ? r->wall + 1 : 1;
}

static int last_of(const rooms *r, int side) {
    return side ? r->width - 2 : r->wall - 1;
}

/* Somewhere free in that room; nowhere if there is no place. */
static void put(rooms *r, draws *d, int side, const char *thing) {
    const int first = first_of(r, side), last = last_of(r, side);
    for (int tries = 0; tries < 30; tries++) {
        const int x = first + below(d, last - first + 1), y = 1 + below(d, r->height - 2);
        if (strcmp(r->cell[y][x], "..") != 0) continue;
        r->cell[y][x] = thing;
        return;
    }
}

static rooms build(draws *d) {
    static const char *const gates[] = {"Ly", "Ly", "Cy", "Ro", "Un", "La", "Bl", "Bu"};
    static const char *const extras[] = {"Ro", "Un", "La", "Bl", "Bu", NULL};
    rooms r = {.width = 5 + below(d, WIDEST - 4), .height = 4 + below(d, HIGHEST - 3)};
    r.wall = 2 + below(d, r.width - 4);
    r.gate = 1 + below(d, r.height - 2);
    for (int y = 0; y < r.height; y++)
        for (int x = 0; x < r.width; x++)
            r.cell[y][x] =
                x == 0 || y == 0 || x == r.width - 1 || y == r.height - 1 || x == r.wall ? "We" : "..";
    const char *gate = r.cell[r.gate][r.wall] = gates[below(d, 8)];
    const int crowd = below(d, 3); /* a second person, a second robot, nobody else */
    put(&r, d, 0, "Ae");
    put(&r, d, 1, "Ay");
    if (crowd == 0) put(&r, d, below(d, 2), "Ay");
    if (crowd == 1) put(&r, d, 0, "Ae");
    if (strcmp(gate, "Ly") == 0) put(&r, d, 0, "Ky");
    if (strcmp(gate, "La") == 0) put(&r, d, 0, "Bl");
    const char *extra = extras[below(d, 6)];
    if (extra) put(&r, d, below(d, 2), extra);
    return r;
}

/* Goals cover every cell: both rooms in halves, and the gate. */
static void write(const rooms *r, draws *d, lud_text *world) {
    static const char *const actions[] = {"small", "full"};
    lud_text_append(world, "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n");
    for (int y = 0; y < r->height; y++) {
        lud_text_append(world, "   ");
        for (int x = 0; x < r->width; x++) lud_text_append(world, " %s", r->cell[y][x]);
        lud_text_append(world, "\n");
    }
    lud_text_append(world, "  max_steps: %d\n  actions: %s\ngoals:\n", 4 + below(d, 2), actions[below(d, 2)]);
    const int middle = r->height / 2 - 1;
    for (int side = 0; side < 2; side++) {
        const int first = first_of(r, side), last = last_of(r, side);
        lud_text_append(world, "  - {rectangle: [%d, 1, %d, %d], weight: %d}\n", first, last, middle,
                        1 + below(d, 2));
        lud_text_append(world, "  - {rectangle: [%d, %d, %d, %d]}\n", first, middle + 1, last, r->height - 2);
    }
    lud_text_append(world, "  - {cell: [%d, %d]}\n", r->wall, r->gate);
}

static void defaults_are_exact_in_any_small_world(void **state) {
    (void)state;
    static const double beta_r[] = {5, 20, 60}, gamma[] = {0.9, 0.97, 1}, zeta[] = {1, 1.5, 2};
    int compared = 0, larger = 0;
    for (uint32_t i = 0; i < WORLDS; i++) {
        draws d = {.world = i};
        const rooms r = build(&d);
        lud_text world = {0}, learner = {0};
        write(&r, &d, &world);
        lud_text_append(
            &learner,
            "learner: {type: empo-phase2, gamma_h: %g, gamma_r: %g, beta_r: %g, zeta: %g, eta: %g, "
            "num_training_steps: 100}\n",
            gamma[below(&d, 3)], gamma[below(&d, 3)], beta_r[below(&d, 3)], zeta[below(&d, 3)],
            1 + 0.1 * below(&d, 3));
        support_empo b;
        support_empo_open(&b, world.bytes, learner.bytes, 0, NULL);
        support_empo_iterate(&b, (int)b.learner->base.n_iterations);
        support_empo_evaluate(&b);
        if (!b.learner->trust.complete) fail_msg("not all was met:\n%s", world.bytes);
        larger += !b.learner->evaluated; /* than what is compared */
        const lud_empo_distance *e = &b.learner->distance;
        if (b.learner->evaluated &&
            !(e->everywhere.v_r < 1e-6 && e->everywhere.x_h < 1e-6 && fabs(e->regret) < 1e-4))
            fail_msg("V_r %g, X_h %g, regret %g:\n%s%s", e->everywhere.v_r, e->everywhere.x_h, e->regret,
                     world.bytes, learner.bytes);
        compared += b.learner->evaluated;
        /* exact values come true; what seldom happens may not have been seen in so few episodes */
        const lud_empo_worth *played = &b.learner->trust.v_h_e;
        if (fabs(played->returned - played->predicted) > 4 * played->deviation + 0.05)
            fail_msg("V_h^e %g, then came %g +- %g:\n%s%s", played->predicted, played->returned,
                     played->deviation, world.bytes, learner.bytes);
        support_empo_close(&b);
        lud_text_free(&world);
        lud_text_free(&learner);
    }
    print_message("%d worlds compared, %d too large for that\n", compared, larger);
    assert_true(compared > WORLDS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_exact_in_any_small_world)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
