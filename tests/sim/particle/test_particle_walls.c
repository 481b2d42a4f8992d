/* Walls hold at any speed: bodies in a closed room stay in it, whatever pushes them, and who comes slowly is
 * stopped by contact forces alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agents/policy.h"
#include "sim/particle/particle_model.h"
#include "sim/particle/support_particle.h"

enum { ENVS = 24, STEPS = 150 };

#define ROOM                                                                                                 \
    "walls: [{at: 1}, {at: -1}, {at: 1, orientation: vertical%s}, {at: -1, orientation: vertical}, "         \
    "{at: 0, orientation: vertical, from: -1, to: 0.3, width: 0}]"

/* The largest distance from the middle that a body of the room reaches, of all steps. */
static double farthest(const lud_model *model, uint64_t seed, bool *crossed_inner) {
    const lud_particle_model *m = particle_of(model);
    lud_batch *batch = NULL;
    lud_error error = {0};
    assert_int_equal(lud_batch_create(model, ENVS, seed, 0, &batch, &error), LUD_OK);
    batch->end = LUD_END_GOES_ON;
    lud_batch_out out = {0};
    lud_batch_reset(batch, &out);
    const int n_agents = model->layout.n_agents, width = lud_max_continuous(&model->layout);
    double most = 0, before[ENVS][8][2];
    *crossed_inner = false;
    for (uint32_t t = 0; t <= STEPS; t++) {
        int32_t discrete[ENVS * 8];
        float continuous[ENVS * 8 * 8];
        for (int e = 0; e < ENVS; e++) {
            const uint8_t *state = batch->states + (size_t)e * model->layout.state_bytes;
            for (int a = 0; a < n_agents; a++) {
                const lud_particle_body body = lud_particle_get_body(m, state, a);
                const double *at = body.position;
                most = fmax(most, fmax(fabs(at[0]), fabs(at[1])));
                const bool other_side = t > 0 && (before[e][a][0] < 0) != (at[0] < 0);
                const double share = other_side ? before[e][a][0] / (before[e][a][0] - at[0]) : 0;
                if (other_side && before[e][a][1] + share * (at[1] - before[e][a][1]) < 0.29)
                    *crossed_inner = true;
                memcpy(before[e][a], at, sizeof before[e][a]);
            }
            particle_random_actions(model, (uint32_t)e, t, discrete + e * n_agents,
                                    continuous + e * n_agents * width);
        }
        lud_batch_step(batch, (lud_actions){discrete, continuous}, &out);
    }
    lud_batch_destroy(batch);
    return most;
}

static const char *const families[] = {"mpe", "navigation"};
static const char *const actions[] = {"discrete", "continuous"};
static const char *const precisions[] = {"single", "double"};

/* Forces, speeds, noise and kicks that carry a body a thousand rooms far in one step. */
static void test_closed_room(void **state) {
    (void)state;
    static const char *const drives[] = {"",
                                         "acceleration: 1e3",
                                         "acceleration: 1e6",
                                         "acceleration: 1e9",
                                         "control_noise: 1e5",
                                         "acceleration: 1e4, max_speed: 3e3"};
    static const char *const kicks[] = {"", ", disturbance: {std: 50, decay: 0}"};
    for (size_t k = 0; k < sizeof drives / sizeof *drives * 16; k++) {
        char section[800], room[300];
        snprintf(room, sizeof room, ROOM, "");
        snprintf(
            section, sizeof section,
            "physics: {family: %s}, actions: %s, precision: %s, episode_length: 0, bodies: [{name: a, type: "
            "agent, count: 3, radius: 0.1, region: [-0.7, -0.7, -0.3, 0.7]%s%s}], %s%s",
            families[k & 1], actions[k >> 1 & 1], precisions[k >> 2 & 1], *drives[k / 16] ? ", " : "",
            drives[k / 16], room, kicks[k >> 3 & 1]);
        lud_model *model = particle_model(section);
        bool crossed;
        const double most = farthest(model, k, &crossed);
        if (k >> 3 & 1) crossed = false; /* two moves of a step may go round the inner wall */
        if (!(most <= 1.0) || crossed) fail_msg("%s: %g%s", section, most, crossed ? ", crossed" : "");
        lud_particle_world.free(model);
    }
}

/* Ghosts pass walls that are not hard, and only them. */
static void test_ghosts(void **state) {
    (void)state;
    for (int hard = 0; hard < 2; hard++)
        for (int ghost = 0; ghost < 2; ghost++) {
            char section[800], room[300];
            snprintf(room, sizeof room, ROOM, hard ? "" : ", hard: false");
            snprintf(section, sizeof section,
                     "episode_length: 0, bodies: [{name: a, type: agent, count: 2, radius: 0.1, ghost: %s, "
                     "region: "
                     "[-0.7, -0.7, -0.3, 0.7], acceleration: 1e4}], %s",
                     ghost ? "true" : "false", room);
            lud_model *model = particle_model(section);
            bool crossed;
            const double most = farthest(model, 3, &crossed);
            if ((most > 1.0) != (ghost && !hard)) fail_msg("%s: %g", section, most);
            lud_particle_world.free(model);
        }
}

/* Where a stopped body is and goes: it touches the wall, has lost the speed across it and keeps that along
 * it, whichever way the wall runs. */
static void test_stop(void **state) {
    (void)state;
    for (int across = 0; across < 2; across++) { /* the coordinate that changes across the wall */
        const int along = 1 - across;
        char section[400];
        /* a full action is worth 1 in a step */
        snprintf(section, sizeof section,
                 "physics: {family: navigation, damping: 0}, actions: continuous, precision: double, bodies: "
                 "[{name: a, type: agent, radius: 0.1, at: [[0, 0]], acceleration: 10}], walls: [{at: 0.7, "
                 "orientation: %s, width: 0.2, from: -9, to: 0.8}]",
                 across ? "horizontal" : "vertical");
        lud_model *model = particle_model(section);
        const lud_particle_model *m = particle_of(model);
        uint8_t bytes[512];
        assert_true(model->layout.state_bytes <= sizeof bytes);
        uint32_t tick = 0;
        const lud_range range = {1, 0, 1, &tick};
        lud_particle_world.reset(model, range, bytes);
        double rewards[1], action[2];
        action[across] = 1;
        action[along] = 0.5;
        particle_step_double(model, bytes, NULL, action, rewards);
        lud_particle_body body = lud_particle_get_body(m, bytes, 0);
        assert_near(body.position[across], 0.7 - 0.1 - 0.1, 1e-12);
        assert_near(body.position[along], 0.5, 1e-12);
        assert_near(body.velocity[across], 0, 0);
        assert_near(body.velocity[along], 5, 1e-9);
        /* from there no farther, but along the wall */
        action[along] = 0;
        particle_step_double(model, bytes, NULL, action, rewards);
        body = lud_particle_get_body(m, bytes, 0);
        assert_near(body.position[across], 0.5, 1e-12);
        assert_near(body.position[along], 1.0, 1e-9);
        /* and past its end as if there were none */
        particle_step_double(model, bytes, NULL, action, rewards);
        body = lud_particle_get_body(m, bytes, 0);
        assert_near(body.position[across], 1.5, 1e-9);
        assert_near(body.position[along], 1.5, 1e-9);
        lud_particle_world.free(model);
    }
}

/* The end of a wall is round: who comes to it beside the wall, by the sine of the angle, is pushed away from
 * both, along by the tangent of the angle as much as across. */
static void test_end(void **state) {
    (void)state;
    static const struct {
        double along, across;
    } cases[] = {{0.6, 0.05}, {0.65, -0.04}, {-0.58, 0.03}, {-0.64, -0.02}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char section[512];
        snprintf(
            section, sizeof section,
            "physics: {family: mpe, damping: 0}, actions: continuous, precision: double, bodies: [{name: a, "
            "type: agent, radius: 0.2, at: [[%g, %g]]}], walls: [{at: 0, width: 0.1, from: -0.5, to: 0.5}]",
            cases[i].along, cases[i].across);
        lud_model *model = particle_model(section);
        const lud_particle_model *m = particle_of(model);
        uint8_t bytes[512];
        uint32_t tick = 0;
        double rewards[1];
        assert_true(model->layout.state_bytes <= sizeof bytes);
        lud_particle_world.reset(model, (lud_range){1, 0, 1, &tick}, bytes);
        particle_step_double(model, bytes, NULL, (const double[5]){0}, rewards);
        const lud_particle_body body = lud_particle_get_body(m, bytes, 0);
        const double sine = (fabs(cases[i].along) - 0.5) / 0.2, tangent = sine / sqrt(1 - sine * sine);
        assert_true(body.velocity[0] * cases[i].along > 0 && body.velocity[1] * cases[i].across > 0);
        assert_near(fabs(body.velocity[0]) / fabs(body.velocity[1]), tangent, 1e-9);
        lud_particle_world.free(model);
    }
}

/* The force between two bodies alone, of every code, against its formula: a soft contact whose depth is the
 * softplus of the overlap, along the line between them. */
static void test_contact_alone(void **state) {
    (void)state;
    const particle_code *codes[] = {&lud_particle_double_code, &lud_particle_float_code};
    const particle_physics physics = {.contact_force = 100, .contact_margin = 1e-2};
    for (int c = 0; c < 2; c++)
        for (int k = 0; k < 200; k++) {
            const double angle = 0.7 * k, distance = 0.02 + 0.002 * k, reach = 0.05 + 0.001 * (k % 90);
            const double dx = distance * cos(angle), dy = distance * sin(angle),
                         depth = log1p(exp(-(distance - reach) / 1e-2)) * 1e-2;
            double force[2], back[2];
            codes[c]->contact(&physics, dx, dy, reach, force);
            codes[c]->contact(&physics, -dx, -dy, reach, back);
            const double off = c ? 2e-4 : 1e-9;
            assert_true(fabs(force[0] - 100 * depth * cos(angle)) < off &&
                        fabs(force[1] - 100 * depth * sin(angle)) < off);
            assert_true(force[0] == -back[0] && force[1] == -back[1]); /* what one feels the other does */
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_contact_alone),
                                       cmocka_unit_test(test_closed_room), cmocka_unit_test(test_ghosts),
                                       cmocka_unit_test(test_stop), cmocka_unit_test(test_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
