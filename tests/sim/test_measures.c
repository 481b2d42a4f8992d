/* What worlds publish of themselves: measures of episodes, and what their observations are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agents/rollout.h"
#include "sim/multigrid/grid_view.h"
#include "sim/particle/particle.h"

static lud_scenario *read_text(const char *text) {
    lud_scenario *s;
    lud_error error = {0};
    if (lud_scenario_read("t.yaml", text, strlen(text), NULL, 0, &s, &error)) fail_msg("%s", error.text);
    return s;
}

static const char *const shipped[] = {"multigrid/tiny.yaml", "multigrid/rescue.yaml",
                                      "particle/navigation_graph.yaml", "particle/simple_reference.yaml",
                                      "proof/family_tree.yaml"};

/* Every world: columns are the same for all models, a name stands once, an absent measure is not found, and
 * finished episodes have numbers for all that are there. */
static void every_measure_of_an_episode_is_a_number(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        char path[512];
        snprintf(path, sizeof path, LUDUS_SOURCE_DIR "/scenarios/%s", shipped[i]);
        lud_scenario *s;
        lud_cast *cast;
        lud_error error = {0};
        lud_rollout r;
        if (lud_scenario_load(path, NULL, 0, &s, &error)) fail_msg("%s", error.text);
        const lud_layout *layout = &s->model->layout;
        assert_true(layout->n_measures > 0 && layout->n_columns <= layout->n_measures);
        assert_int_equal(lud_cast_create(s->model, s->policies, s->path, &cast, &error), LUD_OK);
        if (lud_rollout_run(s, cast, 5, 0, NULL, &r, &error)) fail_msg("%s: %s", path, error.text);
        assert_int_equal(r.episodes, 5);
        for (int k = 0; k < layout->n_measures; k++) {
            const lud_measure *measure = &layout->measures[k];
            assert_int_equal(lud_measure_find(layout, measure->name), measure->absent ? -1 : k);
            assert_int_equal(r.measures[k].n, 5);
            assert_true(measure->absent || isfinite(r.measures[k].mean));
        }
        assert_int_equal(lud_measure_find(layout, "nobody"), -1);
        lud_rollout_free(&r);
        lud_cast_destroy(cast);
        lud_scenario_destroy(s);
    }
}

/* Two people with goals and a robot without: who is where, in the states that say so. */
static void a_multigrid_counts_who_is_in_a_goal(void **state) {
    (void)state;
    lud_scenario *s =
        read_text("ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We We We\n    We Ay .. Ay We\n"
                  "    We Ae .. Gy We\n    We We We We We\n  rewards: {goal: 1}\n"
                  "goals:\n  - {cell: [2, 1], agents: [0]}\n  - {rectangle: [3, 1, 3, 2], agents: [1]}\n"
                  "  - {cell: [1, 2], agents: [1]}\n");
    const lud_model *model = s->model;
    const int share = lud_measure_find(&model->layout, "at_goals"),
              all = lud_measure_find(&model->layout, "all_at_goals"),
              paid = lud_measure_find(&model->layout, "on_goal");
    assert_true(share >= 0 && all >= 0 && paid >= 0);
    static const struct {
        int x[3], y[3];
        double expected[3];
    } cases[] = {{{1, 3, 1}, {1, 1, 2}, {0.5, 0, 0}},
                 {{2, 3, 1}, {1, 2, 2}, {1, 1, 1.0 / 3}},
                 {{3, 2, 1}, {2, 1, 2}, {0, 0, 1.0 / 3}},
                 {{2, 1, 3}, {1, 2, 2}, {1, 1, 1.0 / 3}}};
    lud_grid_scene *scene = lud_grid_scene_create(model);
    uint8_t *bytes = calloc(1, model->layout.state_bytes);
    double values[8];
    const uint32_t tick = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lud_error error = {0};
        model->world->reset(model, (lud_range){.n = 1, .tick = &tick}, bytes);
        lud_grid_scene_read(scene, model, bytes);
        for (int a = 0; a < 3; a++) {
            scene->agents[a].x = cases[i].x[a];
            scene->agents[a].y = cases[i].y[a];
        }
        if (lud_grid_scene_write(scene, model, bytes, &error)) fail_msg("%s", error.text);
        model->world->measure(model, 1, bytes, values);
        assert_float_equal(values[share], cases[i].expected[0], 1e-15);
        assert_float_equal(values[all], cases[i].expected[1], 1e-15);
        assert_float_equal(values[paid], cases[i].expected[2], 1e-15);
    }
    free(bytes);
    lud_grid_scene_destroy(scene);
    lud_scenario_destroy(s);
    /* nobody wants anything here, and nobody is paid */
    s = read_text(
        "ludus: 1\nworld: multigrid\nmultigrid:\n  map: |\n    We We We\n    We Ay We\n    We We We\n");
    assert_int_equal(lud_measure_find(&s->model->layout, "at_goals"), -1);
    assert_int_equal(lud_measure_find(&s->model->layout, "on_goal"), -1);
    lud_scenario_destroy(s);
}

/* Measures of a particle task are what the model's own functions say, in many states at once. */
static void a_particle_task_has_its_metrics(void **state) {
    (void)state;
    lud_scenario *s = read_text("ludus: 1\nworld: particle\nparticle: {task: navigation}\n");
    const lud_particle_model *m = (const lud_particle_model *)s->model;
    const lud_layout *layout = &s->model->layout;
    enum { N = 7 };
    lud_batch *batch;
    lud_error error = {0};
    assert_int_equal(lud_batch_create(s->model, N, 3, 0, &batch, &error), LUD_OK);
    lud_batch_reset(batch, NULL);
    int32_t *actions = calloc((size_t)(N * layout->n_agents), sizeof *actions);
    double *values = calloc((size_t)(N * layout->n_measures), sizeof *values);
    for (int t = 0; t < 20; t++) {
        for (int k = 0; k < N * layout->n_agents; k++) actions[k] = (t + k) % layout->actions[0].n_discrete;
        lud_batch_step(batch, (lud_actions){actions, NULL}, NULL);
    }
    s->world->measure(s->model, N, batch->states, values);
    for (int e = 0; e < N; e++) {
        const uint8_t *at = batch->states + (size_t)e * layout->state_bytes;
        const double *row = values + e * layout->n_measures;
        const lud_particle_metrics metrics = lud_particle_get_metrics(m, at);
        assert_float_equal(row[lud_measure_find(layout, "success")], metrics.success, 0);
        assert_float_equal(row[lud_measure_find(layout, "fraction")], metrics.fraction, 0);
        assert_float_equal(row[lud_measure_find(layout, "collisions")], metrics.collisions, 0);
        assert_float_equal(row[lud_measure_find(layout, "error")], lud_particle_error_norm(m, at), 0);
        for (int k = 0; k < lud_particle_reward_count(m); k++)
            assert_float_equal(row[lud_measure_find(layout, lud_particle_reward_name(m, k))],
                               lud_particle_reward_return(m, at, k), 0);
    }
    assert_true(values[lud_measure_find(layout, "error")] > 0);
    free(values);
    free(actions);
    lud_batch_destroy(batch);
    lud_scenario_destroy(s);
}

/* Kinds, scales and goals of parts, and choices that are a word and a move. */
static void parts_say_what_they_are(void **state) {
    (void)state;
    lud_scenario *s = read_text("ludus: 1\nworld: multigrid\nmultigrid:\n  max_steps: 50\n  map: |\n"
                                "    We We We We\n    We Ay .. We\n    We We We We\n");
    const lud_observation_part *parts = s->model->layout.parts;
    assert_int_equal(parts[0].kind, LUD_OBSERVATION_GRID);
    assert_int_equal(parts[1].kind, LUD_OBSERVATION_VECTOR);
    assert_float_equal(parts[1].scale[0], 1.0f / 50, 1e-7); /* steps left */
    assert_float_equal(parts[2].scale[0], 1.0f / 4, 1e-7);  /* x of an agent */
    assert_float_equal(parts[2].scale[2], 1.0f, 0);         /* looks right */
    lud_scenario_destroy(s);
    s = read_text("ludus: 1\nworld: particle\n"
                  "particle: {task: navigation, graph: {nodes: relative, edges: true}}\n");
    const lud_layout *layout = &s->model->layout;
    assert_int_equal(layout->parts[0].kind, LUD_OBSERVATION_VECTOR);
    for (int p = 1; p < layout->n_parts; p++) assert_int_equal(layout->parts[p].kind, LUD_OBSERVATION_GRAPH);
    for (int i = 0; i < layout->n_agents; i++)
        assert_int_equal(layout->parts[0].goal[i],
                         lud_particle_goal_offset((const lud_particle_model *)s->model, i));
    assert_true(layout->parts[0].goal[0] >= 0);
    assert_int_equal(layout->actions[0].n_moves, 0);
    lud_scenario_destroy(s);
    s = read_text("ludus: 1\nworld: particle\nparticle: {task: simple_reference, speech_size: 3}\n");
    const lud_action_space *space = &s->model->layout.actions[0];
    assert_int_equal(space->n_moves, 5);
    assert_int_equal(space->n_discrete, 15);
    assert_string_equal(space->names[2 * 5 + 1], "left, say 2");
    lud_scenario_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_measure_of_an_episode_is_a_number),
        cmocka_unit_test(a_multigrid_counts_who_is_in_a_goal),
        cmocka_unit_test(a_particle_task_has_its_metrics),
        cmocka_unit_test(parts_say_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
