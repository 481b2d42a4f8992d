/* Calls of the public interface in any order, with handles that are there and null, sizes in range and out of
 * it: each is done, or refused with a status that its error repeats and with words; no memory is touched that
 * was not given, and none is left (under the sanitizers). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ludus/ludus.h>

#include "base/arena.h"
#include "base/random.h"
#include "folder.h"

#define SCENARIO(name) LUDUS_SOURCE_DIR "/scenarios/" name

enum { CALLS = 100000, N = 3, MOST_STATES = 8, AGENTS = 8 };

TEST_FOLDER("/tmp/ludus-calls-XXXXXX")

/* The handles of one scenario, each of which may be null, and memory that is large enough for all its calls.
 */
typedef struct hand {
    uint32_t call, drawn;
    char run[64];
    ludus_scenario *scenario;
    ludus_scenario_info info;
    ludus_batch *batch;
    ludus_policy *policy; /* of the batch */
    ludus_statespace *space;
    ludus_solution *solution;
    ludus_renderer *renderer;
    ludus_error error, *asked; /* asked: the error or null */
    uint8_t *states, *masks, *rgba, *snapshot;
    size_t rgba_bytes;
    int32_t *choices, *n_ended;
    float *numbers, *rewards, *components, *log_probs, *team;
    uint8_t *terminated, *truncated, *ended, *final_states;
    double *measures;
    void *observations[16], *final_observations[16];
    uint64_t n_done, n_refused;
} hand;

/* One of 0..below-1. */
static uint32_t any(hand *h, uint32_t below) {
    return lud_below(lud_draw((lud_random_key){.seed = 5}, h->call, h->drawn++, LUD_PURPOSE_USER, 0).v[0],
                     below);
}

static bool mostly(hand *h) {
    return any(h, 8) != 0;
}

/* What every function promises of its status; `nulls`: something was missing that has to be there. */
static void holds(hand *h, ludus_status status, bool nulls) {
    assert_true(status >= LUDUS_OK && status <= LUDUS_INTERRUPTED);
    if (nulls) assert_int_equal(status, LUDUS_ERROR_INPUT);
    if (status)
        h->n_refused++;
    else
        h->n_done++;
    if (!h->asked) return;
    assert_int_equal(h->error.status, status);
    assert_true(strlen(h->error.text) < sizeof h->error.text);
    assert_non_null(strstr(h->error.text, h->error.message));
    assert_true((status == LUDUS_OK) == !*h->error.message);
}

static void *room(size_t bytes) {
    void *memory = calloc(1, bytes + 1);
    assert_non_null(memory);
    return memory;
}

static void open_hand(hand *h, const char *path) {
    if (ludus_scenario_load(path, NULL, 0, &h->scenario, &h->error)) fail_msg("%s", h->error.message);
    assert_int_equal(ludus_scenario_get_info(h->scenario, &h->info), LUDUS_OK);
    const ludus_scenario_info *info = &h->info;
    assert_true(info->n_agents <= AGENTS && info->n_parts <= 16);
    const size_t cells = (size_t)N * (size_t)info->n_agents;
    h->states = room(MOST_STATES * info->state_bytes);
    for (uint32_t e = 0; e < MOST_STATES; e++)
        ludus_state_initial(h->scenario, 1, e, h->states + e * info->state_bytes, NULL);
    h->masks = room(cells * (size_t)info->max_actions);
    h->rgba_bytes = (size_t)64 * 64 * 4 * 16;
    h->rgba = room(h->rgba_bytes);
    h->choices = room(cells * sizeof(int32_t));
    h->n_ended = room(sizeof(int32_t));
    h->numbers = room(cells * (size_t)(info->max_continuous + 1) * sizeof(float));
    h->rewards = room(cells * sizeof(float));
    h->components = room(cells * (size_t)info->n_components * sizeof(float));
    h->log_probs = room(cells * sizeof(float));
    h->team = room(N * sizeof(float));
    h->terminated = room(N), h->truncated = room(N), h->ended = room(N);
    h->final_states = room(N * info->state_bytes);
    h->measures = room(MOST_STATES * (size_t)info->n_measures * sizeof(double));
    for (int p = 0; p < info->n_parts; p++) {
        ludus_part_info part;
        assert_int_equal(ludus_scenario_get_part(h->scenario, p, &part), LUDUS_OK);
        h->observations[p] = room(N * part.bytes), h->final_observations[p] = room(N * part.bytes);
    }
}

static void free_batch(hand *h) {
    ludus_policy_free(h->policy);
    ludus_batch_free(h->batch);
    h->policy = NULL, h->batch = NULL;
    free(h->snapshot);
    h->snapshot = NULL;
}

static void close_hand(hand *h) {
    free_batch(h);
    ludus_statespace_free(h->space);
    ludus_solution_free(h->solution);
    ludus_renderer_free(h->renderer);
    ludus_scenario_free(h->scenario);
    for (int p = 0; p < h->info.n_parts; p++) free(h->observations[p]), free(h->final_observations[p]);
    LUD_FREE(h->states, h->masks, h->rgba, h->choices, h->n_ended, h->numbers, h->rewards, h->components,
             h->log_probs, h->team, h->terminated, h->truncated, h->ended, h->final_states, h->measures);
}

/* A state of this scenario, bytes that need not be one, or null. */
static const uint8_t *some_state(hand *h) {
    if (any(h, 16) == 0) return NULL;
    if (h->batch && any(h, 2)) return ludus_batch_states(h->batch) + any(h, N) * h->info.state_bytes;
    return h->states + any(h, MOST_STATES) * h->info.state_bytes;
}

static void choose(hand *h) {
    const bool wild = any(h, 4) == 0;
    for (int i = 0; i < N * h->info.n_agents; i++)
        h->choices[i] = wild ? (int32_t)any(h, 99) - 40 : (int32_t)any(h, (uint32_t)h->info.max_actions + 1);
    for (int i = 0; i < N * h->info.n_agents * h->info.max_continuous; i++)
        h->numbers[i] = (float)any(h, wild ? 4000 : 2000) / 1000.0f - 1.0f;
}

static ludus_out some_out(hand *h) {
    return (ludus_out){.observations = any(h, 2) ? h->observations : NULL,
                       .final_observations = any(h, 2) ? h->final_observations : NULL,
                       .final_states = any(h, 2) ? h->final_states : NULL,
                       .rewards = any(h, 2) ? h->rewards : NULL,
                       .team_rewards = any(h, 2) ? h->team : NULL,
                       .components = any(h, 2) ? h->components : NULL,
                       .terminated = any(h, 2) ? h->terminated : NULL,
                       .truncated = any(h, 2) ? h->truncated : NULL,
                       .ended = any(h, 2) ? h->ended : NULL,
                       .n_ended = any(h, 2) ? h->n_ended : NULL};
}

/* ---- calls of one kind ---- */

static void call_scenarios(hand *h, ludus_scenario *s, ludus_error *e) {
    static const char text[] =
        "ludus: 1\nworld: multigrid\nmultigrid: {map: [We We We, We Ay We, We We We], max_steps: 3}\n";
    static const char *const overrides[] = {"multigrid.max_steps=4", "multigrid.max_stepz=4", "nothing",
                                            NULL};
    ludus_scenario_info info;
    ludus_agent_info agent;
    ludus_part_info part;
    ludus_scenario *made = NULL;
    char *written;
    const char *about;
    switch (any(h, 8)) {
    case 0: {
        char changed[sizeof text];
        memcpy(changed, text, sizeof text);
        if (any(h, 2)) changed[any(h, sizeof text - 1)] = (char)any(h, 256);
        const int n = (int)any(h, 4) - 1;
        const size_t length = any(h, 4) ? sizeof text - 1 : any(h, sizeof text);
        const bool named = mostly(h), there = mostly(h);
        holds(h,
              ludus_scenario_read(named ? "any.yaml" : NULL, there ? changed : NULL, length,
                                  overrides + any(h, 3), n, &made, e),
              !named || !there || n < 0);
        ludus_scenario_free(made);
        break;
    }
    case 1: {
        const char *path = any(h, 2) ? "nowhere.yaml" : any(h, 2) ? "/" : NULL;
        holds(h, ludus_scenario_load(path, NULL, 0, &made, e), true);
        assert_null(made);
        break;
    }
    case 2:
        assert_int_equal(ludus_scenario_get_info(s, &info), s ? LUDUS_OK : LUDUS_ERROR_INPUT);
        break;
    case 3: {
        const int i = (int)any(h, AGENTS + 4) - 2;
        const bool there = s && i >= 0 && i < h->info.n_agents;
        assert_int_equal(ludus_scenario_get_agent(s, i, &agent), there ? LUDUS_OK : LUDUS_ERROR_INPUT);
        break;
    }
    case 4: {
        const int i = (int)any(h, 20) - 2;
        const bool there = s && i >= 0 && i < h->info.n_parts;
        assert_int_equal(ludus_scenario_get_part(s, i, &part), there ? LUDUS_OK : LUDUS_ERROR_INPUT);
        break;
    }
    case 5: {
        const int i = (int)any(h, 20) - 2;
        assert_true((ludus_measure_name(s, i, any(h, 2) ? &about : NULL) != NULL) ==
                    (s && i >= 0 && i < h->info.n_measures));
        assert_true((ludus_component_name(s, i) != NULL) == (s && i >= 0 && i < h->info.n_components));
        break;
    }
    default:
        if (any(h, 50)) break;
        holds(h, ludus_scenario_text(s, &written, e), !s);
        if (s) ludus_free(written);
    }
}

static void call_states(hand *h, const ludus_scenario *s, ludus_error *e) {
    const uint8_t *state = some_state(h);
    double p[2];
    uint8_t *next = h->final_states;
    size_t n;
    char *words;
    bool achieved;
    switch (any(h, 8)) {
    case 0: {
        uint8_t *to = mostly(h) ? h->states + any(h, MOST_STATES) * h->info.state_bytes : NULL;
        holds(h, ludus_state_initial(s, h->call, any(h, 9), to, e), !s || !to);
        break;
    }
    case 1:
        h->states[any(h, MOST_STATES * (uint32_t)h->info.state_bytes)] ^= (uint8_t)(1u << any(h, 8));
        break;
    case 2:
        holds(h, ludus_state_check(s, state, e), !s || !state);
        break;
    case 3:
        assert_true((s && state) || ludus_state_hash(s, state) == 0);
        break;
    case 4:
        if (ludus_state_describe(s, state, (int)any(h, 4) - 1, &words, e) == LUDUS_OK) ludus_free(words);
        break;
    case 5: {
        choose(h);
        const int32_t *joint = mostly(h) ? h->choices : NULL;
        const size_t space = any(h, 3);
        holds(h, ludus_state_successors(s, state, joint, space, any(h, 8) ? next : NULL, p, &n, e),
              !s || !state || !joint);
        break;
    }
    case 6:
        holds(h,
              ludus_state_achieves(s, state, (int)any(h, 5) - 1, (int)any(h, 6) - 1,
                                   mostly(h) ? &achieved : NULL, e),
              !s || !state);
        break;
    default: {
        const int many = (int)any(h, MOST_STATES + 2) - 1;
        const uint8_t *all = mostly(h) ? h->states : NULL;
        holds(h, ludus_state_measure(s, many > MOST_STATES ? MOST_STATES : many, all, h->measures, e),
              !s || !all || many < 0);
    }
    }
}

static void make_batch(hand *h, const ludus_scenario *s, ludus_error *e) {
    static const int sizes[] = {N, N, N, N, 0, -1, 1 << 30};
    const uint64_t seeds[N] = {h->call, 1, UINT64_MAX};
    const ludus_batch_options o = {.n_environments = sizes[any(h, 7)],
                                   .seed = h->call,
                                   .first_environment = any(h, 2) ? 0 : UINT32_MAX - 1,
                                   .n_threads = (int)any(h, 4) - 1,
                                   .seeds = any(h, 3) ? NULL : seeds,
                                   .end = (ludus_end)any(h, 4)};
    const bool options = mostly(h);
    free_batch(h);
    holds(h, ludus_batch_create(s, options ? &o : NULL, &h->batch, e),
          !s || !options || o.n_environments != N || o.n_threads < 0 || o.end > LUDUS_END_STAYS);
    if (!h->batch) return;
    h->snapshot = room(ludus_batch_snapshot_bytes(h->batch));
    assert_int_equal(ludus_batch_save(h->batch, h->snapshot, NULL), LUDUS_OK);
}

static void call_batches(hand *h, const ludus_scenario *s, ludus_error *e) {
    ludus_batch *b = mostly(h) ? h->batch : NULL;
    const ludus_out out = some_out(h);
    uint8_t chosen[N] = {(uint8_t)any(h, 2), (uint8_t)any(h, 2), (uint8_t)any(h, 2)};
    const uint64_t seeds[N] = {any(h, 9), any(h, 9), any(h, 9)};
    switch (any(h, 12)) {
    case 0:
        if (!h->batch || any(h, 20) == 0) make_batch(h, s, e);
        return;
    case 1:
        holds(h, ludus_batch_reset(b, any(h, 2) ? chosen : NULL, any(h, 4) ? &out : NULL, e), !b);
        break;
    case 2:
        holds(h, ludus_batch_seed(b, any(h, 2) ? chosen : NULL, h->call, any(h, 2) ? seeds : NULL, e), !b);
        break;
    case 3:
        holds(h, ludus_batch_observe(b, mostly(h) ? h->observations : NULL, e), !b);
        break;
    case 4:
        holds(h, ludus_batch_masks(b, h->masks, e), !b);
        break;
    case 5: {
        const int first = (int)any(h, N + 3) - 1, n = (int)any(h, N + 3) - 1;
        const uint8_t *states = mostly(h) ? h->states : NULL;
        holds(h, ludus_batch_set_states(b, first, n, states, e),
              !b || !states || first < 0 || n < 0 || n > N - first);
        break;
    }
    case 6:
        holds(h, ludus_batch_save(b, mostly(h) ? h->snapshot : NULL, e), !b);
        break;
    case 7:
        if (h->snapshot && any(h, 2))
            h->snapshot[any(h, (uint32_t)ludus_batch_snapshot_bytes(h->batch))] ^= (uint8_t)any(h, 256);
        holds(h, ludus_batch_load(b, mostly(h) ? h->snapshot : NULL, e), !b);
        if (b) ludus_batch_save(b, h->snapshot, NULL);
        break;
    default: {
        choose(h);
        const ludus_actions actions = {mostly(h) ? h->choices : NULL, mostly(h) ? h->numbers : NULL};
        const bool given = mostly(h), to = any(h, 4) != 0;
        holds(h, ludus_batch_step(b, given ? &actions : NULL, to ? &out : NULL, e), !b || !given);
    }
    }
    assert_true((ludus_batch_states(b) != NULL) == (b != NULL) &&
                (ludus_batch_steps(b) != NULL) == (b != NULL));
}

static void call_policies(hand *h, ludus_error *e) {
    ludus_policy *p = mostly(h) ? h->policy : NULL;
    const uint8_t chosen[N] = {1, 0, (uint8_t)any(h, 2)};
    switch (any(h, 4)) {
    case 0: {
        if (h->policy && any(h, 20)) break;
        ludus_policy_free(h->policy);
        const char *run = any(h, 2) ? NULL : "/nowhere";
        holds(h, ludus_policy_open(h->batch, run, &h->policy, e), !h->batch || run);
        break;
    }
    case 1:
        holds(h, ludus_policy_reset(p, any(h, 2) ? chosen : NULL, e), !p);
        break;
    default:
        holds(h,
              ludus_policy_act(p, any(h, 2) ? h->observations : NULL, mostly(h) ? h->choices : NULL,
                               any(h, 2) ? h->numbers : NULL, any(h, 2) ? h->log_probs : NULL, e),
              !p);
    }
}

static void call_exact(hand *h, const ludus_scenario *s, ludus_error *e) {
    ludus_statespace_info info;
    ludus_solution_info solved;
    if (any(h, 300) == 0) {
        ludus_statespace_free(h->space);
        const int threads = (int)any(h, 4) - 1;
        holds(h, ludus_statespace_build(s, any(h, 2) ? (uint64_t)1 << 24 : 1000, threads, &h->space, e),
              !s || threads < 0);
    }
    if (any(h, 1500) == 0) {
        ludus_solution_free(h->solution);
        const bool there = mostly(h);
        holds(h, ludus_solve(s, there ? h->run : NULL, (uint64_t)1 << 26, 1, &h->solution, e), !s || !there);
    }
    ludus_statespace *space = mostly(h) ? h->space : NULL;
    assert_int_equal(ludus_statespace_get_info(space, &info), space ? LUDUS_OK : LUDUS_ERROR_INPUT);
    const uint64_t found = ludus_statespace_find(space, some_state(h));
    if (space) assert_true(found == UINT64_MAX || found < info.n_states);
    if (space && any(h, 40) == 0) {
        int64_t *offsets = room((info.n_states + 1) * sizeof *offsets);
        const int32_t action = (int32_t)any(h, (uint32_t)info.n_joint_actions + 2) - 1;
        holds(h, ludus_statespace_matrix(space, action, any(h, 4) ? offsets : NULL, NULL, NULL, e),
              action < 0 || action >= info.n_joint_actions);
        free(offsets);
    }
    ludus_solution *solution = mostly(h) ? h->solution : NULL;
    assert_int_equal(ludus_solution_get_info(solution, &solved), solution ? LUDUS_OK : LUDUS_ERROR_INPUT);
}

/* Long work is refused before it begins where something is missing. */
static void call_long_work(hand *h, const ludus_scenario *s, ludus_error *e) {
    static const ludus_train_options nameless = {.device = "cpu"},
                                     elsewhere = {.run = "/nowhere/run", .device = "none"};
    char *json = NULL;
    switch (any(h, 6)) {
    case 0: {
        const uint32_t which = any(h, 3);
        holds(h, ludus_train(s, which == 0 ? NULL : which == 1 ? &nameless : &elsewhere, e), which < 2 || !s);
        break;
    }
    case 1:
        holds(h, ludus_evaluate(any(h, 2) ? "/nowhere" : NULL, &json, e), true);
        break;
    case 2:
        holds(h,
              ludus_prove(any(h, 2) ? "/nowhere" : NULL, any(h, 2) ? "p(x)" : NULL, (int)any(h, 3) - 1, &json,
                          e),
              true);
        break;
    case 3:
        holds(h, ludus_record_data(s, any(h, 2) ? "/nowhere" : NULL, NULL, 1, e), true);
        break;
    case 4:
        holds(h, ludus_record_video(s, NULL, any(h, 2) ? "x.gif" : NULL, 0, 0, NULL, e), true);
        break;
    default: {
        ludus_solution *none = NULL;
        holds(h, ludus_solution_open(s, any(h, 2) ? "/nowhere" : NULL, &none, e), false);
        assert_null(none);
    }
    }
    assert_null(json);
}

static void call_renderers(hand *h, const ludus_scenario *s, ludus_error *e) {
    static const int widths[] = {64, 48, 16, 15, -1, 5000};
    static const char *const themes[] = {"light", "dark", "none", NULL};
    if (any(h, 200) == 0) {
        ludus_renderer_free(h->renderer);
        holds(h,
              ludus_renderer_create(s, widths[any(h, 6)], (int)any(h, 2) * 64, themes[any(h, 4)],
                                    &h->renderer, e),
              !s);
    }
    int width, height;
    ludus_renderer_size(mostly(h) ? h->renderer : NULL, any(h, 4) ? &width : NULL,
                        any(h, 4) ? &height : NULL);
    ludus_renderer_size(h->renderer, &width, &height);
    if ((size_t)width * (size_t)height * 4 > h->rgba_bytes || any(h, 20)) return;
    const uint8_t *state = some_state(h);
    holds(h,
          ludus_render(h->renderer, state, any(h, 2) ? some_state(h) : NULL, mostly(h) ? h->rgba : NULL, e),
          !h->renderer || !state);
}

static void call(hand *h) {
    ludus_scenario *s = mostly(h) ? h->scenario : NULL;
    ludus_error *e = h->asked = any(h, 4) ? &h->error : NULL;
    h->error = (ludus_error){0};
    const uint32_t kind = any(h, 32);
    if (kind < 4)
        call_scenarios(h, s, e);
    else if (kind < 12)
        call_states(h, s, e);
    else if (kind < 22)
        call_batches(h, s, e);
    else if (kind < 26)
        call_policies(h, e);
    else if (kind < 28)
        call_exact(h, s, e);
    else if (kind < 30)
        call_long_work(h, s, e);
    else
        call_renderers(h, s, e);
}

static void any_calls(const char *path, uint32_t first, uint32_t n) {
    hand h = {0};
    snprintf(h.run, sizeof h.run, "%s/run-%u", folder, (unsigned)first);
    open_hand(&h, path);
    for (uint32_t k = 0; k < n; k++) {
        h.call = first + k, h.drawn = 0;
        call(&h);
    }
    assert_true(h.n_done > n / 10 && h.n_refused > n / 10); /* neither is rare */
    close_hand(&h);
}

static void test_random_calls(void **state) {
    (void)state;
    static const char *const paths[] = {
        SCENARIO("multigrid/tiny.yaml"), SCENARIO("empo/step_out_of_the_way.yaml"),
        SCENARIO("particle/simple_push.yaml"), SCENARIO("proof/family_tree.yaml")};
    enum { PATHS = sizeof paths / sizeof *paths };
    for (uint32_t i = 0; i < PATHS; i++) any_calls(paths[i], i * CALLS / PATHS, CALLS / PATHS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_calls)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
