/* The particle world against a slow second implementation, written from the published rules with the
 * library's functions, one body at a time: physics of both families, and the rewards and observations of
 * three tasks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/particle/support_particle.h"

enum { MAX = 32 };

typedef struct oracle {
    int n, n_agents;
    double p[MAX][2], v[MAX][2];
} oracle;

static oracle read_state(const lud_model *model, const uint8_t *state) {
    const lud_particle_model *m = particle_of(model);
    oracle o = {.n = lud_particle_entity_count(m), .n_agents = model->layout.n_agents};
    for (int e = 0; e < o.n; e++) {
        lud_particle_body body = lud_particle_get_body(m, state, e);
        memcpy(o.p[e], body.position, sizeof o.p[e]);
        memcpy(o.v[e], body.velocity, sizeof o.v[e]);
    }
    return o;
}

static double distance(const oracle *o, int a, int b) {
    return sqrt(pow(o->p[a][0] - o->p[b][0], 2) + pow(o->p[a][1] - o->p[b][1], 2));
}

static bool overlap(const lud_particle_model *m, const oracle *o, int a, int b) {
    return a != b &&
           distance(o, a, b) < lud_particle_get_entity(m, a).radius + lud_particle_get_entity(m, b).radius;
}

/* control[a][2]: force direction after the sensitivity; scale: what the navigation family multiplies it with
 * again */
static void oracle_step(const lud_particle_model *m, oracle *o, double (*control)[2], bool navigation) {
    double f[MAX][2] = {{0}};
    for (int a = 0; a < o->n_agents; a++)
        for (int k = 0; k < 2; k++)
            f[a][k] = control[a][k] * (navigation ? lud_particle_get_entity(m, a).mass : 1);
    for (int a = 0; a < o->n; a++)
        for (int b = a + 1; b < o->n; b++) {
            lud_particle_entity x = lud_particle_get_entity(m, a), y = lud_particle_get_entity(m, b);
            if (!x.collides || !y.collides) continue;
            double r = distance(o, a, b), z = -(r - x.radius - y.radius) / 1e-3;
            double pen = 1e-3 * (z > 0 ? z + log1p(exp(-z)) : log1p(exp(z)));
            for (int k = 0; k < 2; k++) {
                double force = 100 * (o->p[a][k] - o->p[b][k]) / r * pen;
                bool both = navigation && x.movable && y.movable;
                if (x.movable) f[a][k] += (both ? y.mass / x.mass : 1) * force;
                if (y.movable) f[b][k] -= (both ? x.mass / y.mass : 1) * force;
            }
        }
    for (int e = 0; e < o->n; e++) {
        lud_particle_entity entity = lud_particle_get_entity(m, e);
        if (!entity.movable) continue;
        double old[2] = {o->v[e][0], o->v[e][1]};
        for (int k = 0; k < 2; k++) o->v[e][k] = old[k] * 0.75 + f[e][k] / entity.mass * 0.1;
        double speed = hypot(o->v[e][0], o->v[e][1]);
        if (entity.max_speed > 0 && speed > entity.max_speed)
            for (int k = 0; k < 2; k++) o->v[e][k] *= entity.max_speed / speed;
        for (int k = 0; k < 2; k++) o->p[e][k] += 0.1 * (navigation ? o->v[e][k] : old[k]);
    }
}

static void decode(const lud_model *model, bool navigation, const double *sensitivity,
                   const int32_t *discrete, double (*control)[2]) {
    static const int x[] = {0, -1, 1, 0, 0}, y[] = {0, 0, 0, -1, 1};
    for (int a = 0; a < model->layout.n_agents; a++) {
        int sense = navigation ? -1 : 1;
        control[a][0] = sensitivity[a] * sense * x[discrete[a] % 5];
        control[a][1] = sensitivity[a] * sense * y[discrete[a] % 5];
    }
}

static double bound(double x) {
    x = fabs(x);
    return x < 0.9 ? 0 : x < 1 ? 10 * (x - 0.9) : fmin(exp(2 * x - 2), 10);
}

/* Rewards and, into `seen`, observations of one agent; returns the observation's length. */
typedef int judge_function(const lud_particle_model *m, const oracle *o, int a, double *reward, double *seen);

static int put(double *seen, int n, const double *from, const double *origin) {
    for (int k = 0; k < 2; k++) seen[n + k] = from[k] - (origin ? origin[k] : 0);
    return n + 2;
}

static int judge_spread(const lud_particle_model *m, const oracle *o, int a, double *reward, double *seen) {
    int n_agents = o->n_agents, n = 0;
    double global = 0, local = 0;
    for (int l = n_agents; l < o->n; l++) {
        double nearest = INFINITY;
        for (int b = 0; b < n_agents; b++) nearest = fmin(nearest, distance(o, b, l));
        global -= nearest;
    }
    for (int b = 0; b < n_agents; b++) local -= overlap(m, o, a, b);
    *reward = 0.7 * global + 0.3 * local;
    n = put(seen, n, o->v[a], NULL);
    n = put(seen, n, o->p[a], NULL);
    for (int l = n_agents; l < o->n; l++) n = put(seen, n, o->p[l], o->p[a]);
    for (int b = 0; b < n_agents; b++)
        if (b != a) n = put(seen, n, o->p[b], o->p[a]);
    for (int b = 0; b < 2 * (n_agents - 1); b++) seen[n++] = 0;
    return n;
}

static int judge_tag(const lud_particle_model *m, const oracle *o, int a, double *reward, double *seen) {
    bool good = lud_particle_get_entity(m, a).radius < 0.06;
    int n = 0, pairs = 0, own = 0, n_good = 2, n_adversaries = o->n_agents - n_good;
    for (int g = n_adversaries; g < o->n_agents; g++)
        for (int b = 0; b < n_adversaries; b++) {
            pairs += overlap(m, o, g, b);
            own += g == a && overlap(m, o, g, b);
        }
    *reward = good ? -10 * own - bound(o->p[a][0]) - bound(o->p[a][1]) : 10 * pairs;
    n = put(seen, n, o->v[a], NULL);
    n = put(seen, n, o->p[a], NULL);
    for (int l = o->n_agents; l < o->n; l++) n = put(seen, n, o->p[l], o->p[a]);
    for (int b = 0; b < o->n_agents; b++)
        if (b != a) n = put(seen, n, o->p[b], o->p[a]);
    for (int g = n_adversaries; g < o->n_agents; g++)
        if (g != a) n = put(seen, n, o->v[g], NULL);
    return n;
}

static int judge_navigation(const lud_particle_model *m, const oracle *o, int a, double *reward,
                            double *seen) {
    int n = 0, n_agents = o->n_agents;
    *reward = 0;
    for (int i = 0; i < n_agents; i++) {
        double d = distance(o, i, n_agents + i);
        bool hit = false;
        *reward += d < 0.1 ? 5 : -d;
        for (int b = 0; b < n_agents; b++) *reward -= 5 * overlap(m, o, i, b);
        for (int b = 2 * n_agents; b < o->n; b++) hit = hit || overlap(m, o, i, b);
        *reward -= 5 * hit;
    }
    n = put(seen, n, o->v[a], NULL);
    n = put(seen, n, o->p[a], NULL);
    return put(seen, n, o->p[n_agents + a], o->p[a]);
}

static void check_task(const char *section, bool navigation, const double *sensitivity,
                       judge_function *judge) {
    lud_model *model = particle_model(section);
    const lud_particle_model *m = particle_of(model);
    const lud_layout *layout = &model->layout;
    uint8_t *state = calloc(1, layout->state_bytes);
    double *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = calloc(1, 2 * layout->parts[p].bytes);
    uint32_t tick = 0;
    lud_range range = {1, 0, 1, &tick};
    int contacts = 0;
    for (uint32_t trial = 0; trial < 60; trial++) {
        lud_particle_world.reset(model, range, state);
        particle_scatter(model, state, trial, trial % 2 ? 0.3 : 1.2); /* crowded and wide */
        for (uint32_t t = 0; t < 10; t++) {
            oracle o = read_state(model, state);
            int32_t discrete[MAX];
            double control[MAX][2], rewards[MAX];
            particle_random_actions(model, trial, t, discrete, NULL);
            decode(model, navigation, sensitivity, discrete, control);
            oracle_step(m, &o, control, navigation);
            particle_step_double(model, state, discrete, NULL, rewards);
            oracle found = read_state(model, state);
            lud_particle_observe_wide(model, range, state, (void *const *)parts);
            for (int e = 0; e < o.n; e++)
                for (int k = 0; k < 2; k++) {
                    assert_near(found.p[e][k], o.p[e][k], 1e-11);
                    assert_near(found.v[e][k], o.v[e][k], 1e-11);
                }
            for (int a = 0; a < o.n_agents; a++) {
                double reward, seen[200];
                int n = judge(m, &found, a, &reward, seen);
                assert_int_equal(n, lud_particle_observation_size(m, a));
                assert_near(rewards[a], reward, 1e-11);
                for (int i = 0; i < n; i++)
                    assert_near(parts[0][a * layout->parts[0].dimensions[0] + i], seen[i], 1e-12);
                for (int b = 0; b < a; b++) contacts += overlap(m, &found, a, b);
            }
        }
    }
    assert_true(contacts > 50); /* the crowded trials did meet */
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(state);
    lud_particle_world.free(model);
}

static void test_spread(void **unused) {
    (void)unused;
    static const double sensitivity[MAX] = {5, 5, 5, 5};
    check_task("task: simple_spread, agents: 4, local_ratio: 0.3, precision: double", false, sensitivity,
               judge_spread);
}

static void test_tag(void **unused) {
    (void)unused;
    static const double sensitivity[MAX] = {3, 3, 3, 4, 4};
    check_task("task: simple_tag, agents: 2, precision: double", false, sensitivity, judge_tag);
}

static void test_navigation(void **unused) {
    (void)unused;
    static const double sensitivity[MAX] = {5, 5, 5, 5, 5};
    check_task("task: navigation_graph, agents: 5, precision: double", true, sensitivity, judge_navigation);
}

/* Graph parts of single precision: nodes relative to the observer, edges below the distance, rows in order.
 */
static void test_graph(void **unused) {
    (void)unused;
    lud_model *model = particle_model("task: navigation_graph, agents: 10, graph: {distances: true}");
    const lud_particle_model *m = particle_of(model);
    const lud_layout *layout = &model->layout;
    enum { ENVS = 37 };
    int n = lud_particle_entity_count(m);
    uint8_t *states = calloc(ENVS, layout->state_bytes);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    uint32_t tick[ENVS] = {0};
    lud_range range = {3, 0, ENVS, tick};
    for (int p = 0; p < layout->n_parts; p++) parts[p] = malloc(ENVS * layout->parts[p].bytes);
    assert_int_equal(layout->n_parts, 6);
    lud_particle_world.reset(model, range, states);
    for (uint32_t e = 0; e < ENVS; e++)
        particle_scatter(model, states + e * layout->state_bytes, e, e == 0 ? 0.1 : 1);
    lud_particle_world.observe(model, range, states, parts);
    for (int e = 0; e < ENVS; e++) {
        oracle o = read_state(model, states + (size_t)e * layout->state_bytes);
        const float *nodes = (const float *)parts[1] + e * 10 * n * 7;
        const int32_t *begin = (const int32_t *)parts[2] + e * (n + 1),
                      *source = (const int32_t *)parts[3] + e * n * (n - 1);
        const float *length = (const float *)parts[4] + e * n * (n - 1),
                    *matrix = (const float *)parts[5] + e * n * n;
        int k = 0;
        for (int i = 0; i < n; i++) {
            assert_int_equal(begin[i], k);
            for (int j = 0; j < n; j++) {
                assert_near((double)matrix[i * n + j], distance(&o, i, j), 1e-6);
                if (i == j || !(matrix[i * n + j] < 1)) continue;
                assert_int_equal(source[k], j);
                assert_true(length[k] == matrix[i * n + j]);
                k++;
            }
        }
        assert_int_equal(begin[n], k);
        if (e == 0) assert_int_equal(k, n * (n - 1)); /* full rows: the capacity is met exactly */
        for (; k < n * (n - 1); k++) assert_true(source[k] == 0 && length[k] == 0);
        for (int a = 0; a < 10; a++)
            for (int i = 0; i < n; i++) {
                const float *row = nodes + (a * n + i) * 7;
                int goal = i < 10 ? 10 + i : i;
                for (int axis = 0; axis < 2; axis++) {
                    double v = i < 10 ? o.v[i][axis] : 0;
                    assert_near((double)row[axis], v - o.v[a][axis], 1e-6);
                    assert_near((double)row[2 + axis], o.p[i][axis] - o.p[a][axis], 1e-6);
                    assert_near((double)row[4 + axis], o.p[goal][axis] - o.p[a][axis], 1e-6);
                }
                assert_true(row[6] == (i < 10 ? 0 : i < 20 ? 1 : 2));
            }
    }
    for (int p = 0; p < layout->n_parts; p++) free(parts[p]);
    free(states);
    lud_particle_world.free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spread), cmocka_unit_test(test_tag),
                                       cmocka_unit_test(test_navigation), cmocka_unit_test(test_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
