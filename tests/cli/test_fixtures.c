/* The program `fixtures`: sizes come from the files, whatever they are; what is no fixture is an error. The
 * fixtures are made here: a recurrent unit by its equation, an episode by our own world in double,
 * windows by their definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/text.h"
#include "cli/support_program.h"
#include "sim/particle/particle.h"
#include "sim/particle/particle_model.h"

static char folder[] = "/tmp/ludus-fixtures-XXXXXX";
static const char *const file_name = "record.json";

static int set_up(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_file(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static int tear_down(void **state) {
    (void)state;
    remove_file(file_name);
    return rmdir(folder);
}

static void write_text(const char *name, const char *text, size_t length) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void write_record(const json_t *root) {
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    assert_non_null(text);
    write_text(file_name, text, strlen(text));
    free(text);
}

/* `fixtures KIND FOLDER` ends with this code, and says this (null: no matter what). */
static void check_kind(const char *kind, int exit_code, const char *part) {
    program_result r =
        program_run_copy(LUDUS_BINARY_DIR "/fixtures", (const char *const[]){kind, folder, NULL});
    if (r.exit_code != exit_code || (part && !strstr(r.out, part) && !strstr(r.err, part)))
        fail_msg("exit code %d, expected %d with '%s':\n%s%s", r.exit_code, exit_code, part ? part : "",
                 r.out, r.err);
    program_free(&r);
}

static void check(int exit_code, const char *part) {
    check_kind("particle", exit_code, part);
}

/* ---- records ---- */

static double number(long i) {
    return sin(1.7 * (double)i + 0.3);
}

/* Nested lists of these lengths (ending with 0) with numbers from `values`, which moves on. */
static json_t *nested(const long *lengths, const double **values) {
    if (*lengths == 0) return json_real(*(*values)++);
    json_t *list = json_array();
    for (long i = 0; i < *lengths; i++) json_array_append_new(list, nested(lengths + 1, values));
    return list;
}

static json_t *lists(const double *values, long a, long b, long c) {
    const long lengths[] = {a, b, c, 0};
    return nested(lengths, &values);
}

static json_t *zeros(long a, long b, long c) {
    double *none = calloc((size_t)(a * (b ? b : 1) * (c ? c : 1)), sizeof *none);
    json_t *list = lists(none, a, b, c);
    free(none);
    return list;
}

static json_t *complex_of(json_t *re, json_t *im) {
    return json_pack("{s:o,s:o}", "re", re, "im", im);
}

enum { BATCH = 2, STEPS = 3 };

/* h' = lambda h + gamma B u, y = Re(C h') + D u; without weights in the loss all gradients are zero. */
static json_t *unit_record(long size, long n_in, long n_out) {
    const long rows = BATCH * STEPS;
    double logs[3][64], b[2][4096], c[2][4096], d[4096], u[4096], h[2][64], *state[2], y[2][4096],
        modulus[64], phase[64];
    for (int k = 0; k < 2; k++) state[k] = calloc((size_t)(rows * size), sizeof(double));
    for (long s = 0; s < size; s++) {
        for (int k = 0; k < 3; k++) logs[k][s] = number(100 * k + s);
        modulus[s] = exp(-exp(logs[0][s]));
        phase[s] = exp(logs[1][s]);
    }
    for (int k = 0; k < 2; k++) {
        for (long i = 0; i < size * n_in; i++) b[k][i] = number(400 + 7 * i + k);
        for (long i = 0; i < n_out * size; i++) c[k][i] = number(900 + 5 * i + k);
    }
    for (long i = 0; i < n_out * n_in; i++) d[i] = number(1300 + i);
    for (long i = 0; i < rows * n_in; i++) u[i] = number(1700 + i);
    for (long row = 0; row < rows; row++) {
        const double *in = u + row * n_in;
        for (long s = 0; s < size; s++) {
            double kick[2] = {0}, old[2] = {0};
            for (int k = 0; k < 2; k++) {
                for (long i = 0; i < n_in; i++) kick[k] += exp(logs[2][s]) * b[k][s * n_in + i] * in[i];
                if (row % STEPS > 0) old[k] = h[k][s];
            }
            const double re = modulus[s] * cos(phase[s]), im = modulus[s] * sin(phase[s]);
            h[0][s] = re * old[0] - im * old[1] + kick[0];
            h[1][s] = re * old[1] + im * old[0] + kick[1];
            for (int k = 0; k < 2; k++) state[k][row * size + s] = h[k][s];
        }
        for (long o = 0; o < n_out; o++) {
            double of_state = 0, direct = 0;
            for (long s = 0; s < size; s++)
                of_state += c[0][o * size + s] * h[0][s] - c[1][o * size + s] * h[1][s];
            for (long i = 0; i < n_in; i++) direct += d[o * n_in + i] * in[i];
            y[0][row * n_out + o] = of_state + direct;
            y[1][row * n_out + o] = 2 * of_state + direct;
        }
    }
    json_t *params = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "nu_log", lists(logs[0], size, 0, 0), "theta_log",
                               lists(logs[1], size, 0, 0), "gamma_log", lists(logs[2], size, 0, 0), "D",
                               lists(d, n_out, n_in, 0), "B",
                               complex_of(lists(b[0], size, n_in, 0), lists(b[1], size, n_in, 0)), "C",
                               complex_of(lists(c[0], n_out, size, 0), lists(c[1], n_out, size, 0)));
    json_t *grads = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "nu_log", zeros(size, 0, 0), "theta_log",
                              zeros(size, 0, 0), "gamma_log", zeros(size, 0, 0), "D", zeros(n_out, n_in, 0),
                              "B", complex_of(zeros(size, n_in, 0), zeros(size, n_in, 0)), "C",
                              complex_of(zeros(n_out, size, 0), zeros(n_out, size, 0)));
    json_t *unit = json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f}", "params", params, "grads", grads,
        "lambda_modulus", lists(modulus, size, 0, 0), "lambda_phase", lists(phase, size, 0, 0), "inputs",
        lists(u, BATCH, STEPS, n_in), "h0", complex_of(zeros(BATCH, size, 0), zeros(BATCH, size, 0)),
        "step_outputs", lists(y[0], BATCH, STEPS, n_out), "step_states",
        complex_of(lists(state[0], BATCH, STEPS, size), lists(state[1], BATCH, STEPS, size)), "loss_weights",
        zeros(BATCH, STEPS, n_out), "zero_start_sequence_output_scan_false", lists(y[0], BATCH, STEPS, n_out),
        "zero_start_sequence_output_scan_true", lists(y[1], BATCH, STEPS, n_out), "loss", 0.0);
    for (int k = 0; k < 2; k++) free(state[k]);
    return json_pack("{s:o}", "unit", unit);
}

/* One model in double with what it observes. */
typedef struct world {
    lud_model *model;
    const lud_particle_model *m;
    uint8_t *state;
    double *parts[LUD_MAX_OBSERVATION_PARTS];
} world;

static const uint32_t tick = 0;
static const lud_range one = {1, 0, 1, &tick};

static void open_world(world *w, const char *section) {
    lud_error error = {0};
    lud_arena *arena = lud_arena_create(0);
    lud_tree *root;
    char text[512];
    snprintf(text, sizeof text, "particle: {precision: double, %s}", section);
    assert_int_equal(lud_tree_read_text(arena, "test", text, strlen(text), &root, &error), LUD_OK);
    if (lud_particle_world.parse(&lud_particle_world, root, "test", 0, &w->model, &error))
        fail_msg("%s", error.text);
    lud_arena_destroy(arena);
    w->m = (const lud_particle_model *)w->model;
    w->state = calloc(1, w->model->layout.state_bytes);
    for (int p = 0; p < w->model->layout.n_parts; p++)
        w->parts[p] = calloc(2, w->model->layout.parts[p].bytes);
    lud_particle_world.reset(w->model, one, w->state);
}

static void close_world(world *w) {
    for (int p = 0; p < w->model->layout.n_parts; p++) free(w->parts[p]);
    free(w->state);
    w->model->world->free(w->model);
}

static json_t *record_of(world *w) {
    json_t *pos = json_array(), *vel = json_array(), *comm = json_array(), *obs = json_array();
    const int n_agents = w->model->layout.n_agents, stride = w->model->layout.parts[0].dimensions[0];
    for (int e = 0; e < lud_particle_entity_count(w->m); e++) {
        const lud_particle_body body = lud_particle_get_body(w->m, w->state, e);
        json_array_append_new(pos, json_pack("[f,f]", body.position[0], body.position[1]));
        json_array_append_new(vel, json_pack("[f,f]", body.velocity[0], body.velocity[1]));
    }
    lud_particle_observe_wide(w->model, one, w->state, (void *const *)w->parts);
    for (int a = 0; a < n_agents; a++) {
        double speech[LUD_PARTICLE_MAX_SPEECH] = {0};
        lud_particle_get_speech(w->m, w->state, a, speech);
        json_array_append_new(comm, lists(speech, lud_particle_speech_size(w->m), 0, 0));
        json_array_append_new(
            obs, lists(w->parts[0] + (long)a * stride, lud_particle_observation_size(w->m, a), 0, 0));
    }
    return json_pack("{s:o,s:o,s:o,s:o}", "pos", pos, "vel", vel, "comm", comm, "obs", obs);
}

static json_t *body_of(const world *w, int e) {
    const lud_particle_entity entity = lud_particle_get_entity(w->m, e);
    const bool agent = e < w->model->layout.n_agents;
    const double acceleration = w->m->kinds[w->m->kind_of[e]].acceleration;
    float rgb[3];
    char name[64];
    lud_particle_colour(w->m, w->state, e, rgb);
    snprintf(name, sizeof name, agent ? "%s_%d" : "%s %d", entity.kind, entity.member);
    json_t *body =
        json_pack("{s:s,s:f,s:b,s:b,s:f,s:f,s:f,s:[f,f,f]}", "name", name, "size", entity.radius, "movable",
                  entity.movable, "collide", entity.collides, "mass", entity.mass, "accel", acceleration,
                  "max_speed", entity.max_speed, "color", (double)rgb[0], (double)rgb[1], (double)rgb[2]);
    if (agent) {
        json_object_set_new(body, "silent", json_boolean(!entity.speaks));
        json_object_set_new(body, "adversary", json_boolean(strstr(entity.kind, "adversary") != NULL));
        json_object_set_new(body, "leader", json_boolean(!strcmp(entity.kind, "leadadversary")));
    }
    return body;
}

/* An episode of `section`, under the options of the original. */
static json_t *episode_record(const char *scenario, const char *section, json_t *options) {
    enum { LENGTH = 6 };
    world w;
    open_world(&w, section);
    const int n_agents = w.model->layout.n_agents, n = lud_particle_entity_count(w.m);
    json_t *agents = json_array(), *landmarks = json_array(), *dims = json_array(), *steps = json_array();
    json_t *initial = record_of(&w);
    for (int e = 0; e < n; e++) json_array_append_new(e < n_agents ? agents : landmarks, body_of(&w, e));
    for (int a = 0; a < n_agents; a++)
        json_array_append_new(dims, json_integer(w.model->layout.actions[a].n_discrete));
    for (int t = 0; t < LENGTH; t++) {
        int32_t actions[64];
        double rewards[64];
        uint8_t terminated, truncated;
        json_t *ids = json_array();
        for (int a = 0; a < n_agents; a++) {
            actions[a] = (int32_t)(7 * t + 3 * a) % w.model->layout.actions[a].n_discrete;
            json_array_append_new(ids, json_integer(actions[a]));
        }
        const lud_particle_wide wide = {
            .discrete = actions, .rewards = rewards, .terminated = &terminated, .truncated = &truncated};
        lud_particle_step_wide(w.model, one, w.state, &wide);
        json_t *record = record_of(&w);
        json_object_set_new(record, "actions", ids);
        json_object_set_new(record, "rewards", lists(rewards, n_agents, 0, 0));
        json_object_set_new(record, "terminal", json_boolean(terminated));
        json_array_append_new(steps, record);
    }
    json_t *root = json_pack("{s:s,s:s,s:o,s:i,s:i,s:n,s:{},s:o,s:o,s:o,s:o,s:o}", "scenario", scenario,
                             "mode", "discrete", "options", options, "max_cycles", 25, "dim_c",
                             lud_particle_speech_size(w.m), "local_ratio", "goals", "agents", agents,
                             "landmarks", landmarks, "action_dims", dims, "initial", initial, "steps", steps);
    close_world(&w);
    return root;
}

/* ---- tests ---- */

static void test_units_of_all_sizes(void **state) {
    (void)state;
    static const long sizes[][3] = {{7, 4, 12}, {1, 1, 1}, {33, 9, 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        json_t *root = unit_record(sizes[i][0], sizes[i][1], sizes[i][2]);
        json_t *unit = json_object_get(root, "unit");
        write_record(root);
        check(0, "1 passed, 0 failed, 0 skipped");
        json_t *last =
            json_array_get(json_array_get(json_array_get(json_object_get(unit, "step_outputs"), 1), 2), 0);
        json_real_set(last, json_real_value(last) + 1e-3);
        write_record(root);
        check(1, "outputs[");
        json_real_set(last, json_real_value(last) - 1e-3);
        json_array_remove(json_object_get(unit, "lambda_phase"), 0);
        write_record(root);
        check(2, "lambda_phase: expected");
        json_decref(root);
    }
}

static void test_numbers_of_bodies(void **state) {
    (void)state;
    json_t *tag = episode_record(
        "simple_tag", "task: simple_tag, actions: discrete, agents: 2, adversaries: 5, obstacles: 4",
        json_pack("{s:i,s:i,s:i}", "num_good", 2, "num_adversaries", 5, "num_obstacles", 4));
    write_record(tag);
    check(0, "3 passed, 0 failed, 0 skipped");
    json_object_set_new(json_object_get(tag, "options"), "num_adversaries", json_integer(3));
    write_record(tag);
    check(2, "options.num_adversaries: expected 5");
    json_decref(tag);

    json_t *comm = episode_record("simple_world_comm",
                                  "task: simple_world_comm, actions: discrete, agents: 3, adversaries: 4, "
                                  "obstacles: 2, food: 4, forests: 3",
                                  json_pack("{s:i,s:i,s:i,s:i,s:i}", "num_good", 3, "num_adversaries", 5,
                                            "num_obstacles", 2, "num_food", 4, "num_forests",
                                            3)); /* the leader counts there */
    write_record(comm);
    check(0, "3 passed, 0 failed, 0 skipped");
    json_t *obs = json_object_get(json_array_get(json_object_get(comm, "steps"), 4), "obs");
    json_t *first = json_array_get(json_array_get(obs, 7), 0);
    json_real_set(first, json_real_value(first) + 1e-4);
    write_record(comm);
    check(1, "observation of agent 7");
    json_decref(comm);
}

/* Windows of `horizon` over T rows of two numbers, row t at most lengths[t] long; by the definition. */
static json_t *windows_case(long T, long horizon, const int *lengths) {
    json_t *data = json_array(), *per = lengths ? json_array() : json_null(), *zero = json_array(),
           *valid = json_array(), *counts = json_array();
    for (long t = 0; t < T; t++) {
        json_array_append_new(data, json_pack("[f,f]", number(t), number(t + 50)));
        if (lengths) json_array_append_new(per, json_integer(lengths[t]));
        json_t *window = json_array(), *mask = json_array();
        int count = 0;
        for (long k = 0; k < horizon; k++) {
            const bool there = t + k < T && (!lengths || k < lengths[t]);
            json_array_append_new(
                window, json_pack("[f,f]", there ? number(t + k) : 0.0, there ? number(t + k + 50) : 0.0));
            json_array_append_new(mask, json_integer(there));
            count += there;
        }
        json_array_append_new(zero, window);
        json_array_append_new(valid, mask);
        json_array_append_new(counts, json_integer(count));
    }
    return json_pack("{s:s,s:i,s:i,s:o,s:o,s:{s:o,s:o,s:o}}", "name", "made", "T", (int)T, "window",
                     (int)horizon, "per_timestep", per, "data", data, "expected", "zero", zero, "valid",
                     valid, "valid_count", counts);
}

static void test_windows_of_all_sizes(void **state) {
    (void)state;
    static const int lengths[] = {0, 9, -2, 3, 1, 2, 7};
    json_t *cases = json_array(),
           *root = json_pack("{s:s,s:o}", "schema", "windows-gather/1", "cases", cases);
    json_array_append_new(cases, windows_case(0, 3, NULL));
    json_array_append_new(cases, windows_case(5, 0, NULL));
    json_array_append_new(cases, windows_case(1, 40, NULL));
    json_array_append_new(cases, windows_case(300, 7, NULL));
    json_array_append_new(cases, windows_case(7, 4, lengths));
    write_record(root);
    check_kind("windows", 0, "5 passed, 0 failed, 0 skipped");
    json_t *last = json_array_get(cases, 4),
           *zero = json_object_get(json_object_get(last, "expected"), "zero");
    json_t *padded = json_array_get(json_array_get(json_array_get(zero, 6), 1), 0); /* behind the end */
    json_real_set(padded, 0.5);
    write_record(root);
    check_kind("windows", 1, "zero[");
    json_real_set(padded, 0.0);
    json_array_remove(json_object_get(last, "data"), 0);
    write_record(root);
    check_kind("windows", 2, "data: expected [T = 7] any");
    json_object_set_new(last, "T", json_string("seven"));
    write_record(root);
    check_kind("windows", 2, "T: expected a whole number");
    json_decref(root);
    write_text(file_name, "{\"schema\": \"windows-other/1\"}", 29);
    check_kind("windows", 1, "none of the windows folder's");
}

static void test_what_is_no_fixture(void **state) {
    (void)state;
    json_t *root = unit_record(2, 2, 2);
    char *text = json_dumps(root, 0);
    for (size_t part = 1; part < 6; part++) {
        write_text(file_name, text, strlen(text) * part / 6);
        check(2, "record.json: expected JSON");
    }
    free(text);
    json_object_del(json_object_get(root, "unit"), "h0");
    write_record(root);
    check(2, "record.json, unit: h0: expected [batch = 2][size = 2] complex, found nothing");
    json_decref(root);
    write_text(file_name, "{\"format\": \"another\"}", 21);
    check(1, "of no format of the particle folder");
    write_text("notes.txt", "x", 1);
    check(1, "notes.txt: not a .json file");
    remove_file("notes.txt");
    remove_file(file_name);
    check(2, "the folder is empty");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_of_all_sizes),
        cmocka_unit_test(test_numbers_of_bodies),
        cmocka_unit_test(test_windows_of_all_sizes),
        cmocka_unit_test(test_what_is_no_fixture),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
