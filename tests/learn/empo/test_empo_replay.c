/* Replay memories: how much they hold; and from files: whatever number cannot be is refused, and nothing else
 * is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/empo/memory/replay.h"
#include "learn/empo/support_empo.h"

enum { ENVIRONMENTS = 2, LINKS = 6, SUCCESSORS = 2, WORDS = 128, LIKELIHOODS = 3, STEP = 9 };

/* A transition with memory of its own, whose every number can be changed. */
typedef struct example {
    int32_t state[WORDS], next_record[WORDS], successor[SUCCESSORS * WORDS];
    int32_t goals[4], behaviour_goals[4], offsets[16], link[LINKS], profile[LINKS];
    float probability[LINKS], policies[64], likelihood[LIKELIHOODS];
    uint8_t terminal[SUCCESSORS];
    lud_empo_transition t;
} example;

typedef struct bed {
    support_empo empo;
    lud_empo_features features;
    lud_empo_replay_bounds bounds;
    int n_policies;
    bool trajectories;
} bed;

static void open_bed(bed *b, bool trajectories) {
    *b = (bed){.trajectories = trajectories};
    lud_error error = {0};
    support_empo_open(&b->empo, support_empo_corridor,
                      "learner:\n  type: empo-phase2\n  automatic: false\n  hidden_dim: 8\n"
                      "  num_training_steps: 4\n  human_prior: {type: random}\n",
                      0, NULL);
    if (lud_empo_features_create(b->empo.scenario->model, true, &b->features, &error))
        fail_msg("%s", error.text);
    const lud_empo_layout *layout = &b->features.layout;
    assert_true(b->features.words <= WORDS && layout->n_humans <= 4 && layout->n_robot_actions < 16);
    b->n_policies = layout->policy_begin[layout->n_humans];
    assert_in_range(b->n_policies, 1, 64);
    b->bounds = (lud_empo_replay_bounds){
        .features = &b->features, .n_profiles = layout->n_human_profiles, .step = STEP};
    for (int h = 0; h < layout->n_humans; h++) b->bounds.n_goals[h] = lud_empo_goals_of(layout, h);
}

static void close_bed(bed *b) {
    lud_empo_features_free(&b->features);
    support_empo_close(&b->empo);
}

static void make_example(const bed *b, example *e) {
    const lud_empo_layout *layout = &b->features.layout;
    uint8_t state[64] = {0};
    const lud_model *model = b->empo.scenario->model;
    assert_true(model->layout.state_bytes <= sizeof state);
    model->world->reset(model, (lud_range){.n = 1, .tick = &(uint32_t){0}}, state);
    memset(e, 0, sizeof *e);
    lud_empo_features_encode(&b->features, state, e->state);
    memcpy(e->next_record, e->state, sizeof e->state);
    for (int s = 0; s < SUCCESSORS; s++)
        memcpy(e->successor + s * b->features.words, e->state, (size_t)b->features.words * sizeof *e->state);
    for (int a = 0; a <= layout->n_robot_actions; a++)
        e->offsets[a] = a < layout->n_robot_actions ? a * LINKS / layout->n_robot_actions : LINKS;
    for (int k = 0; k < LINKS; k++) {
        e->link[k] = k % SUCCESSORS;
        e->profile[k] = k % layout->n_human_profiles;
        e->probability[k] = k % 2 ? 1.0f : 0.0f;
    }
    for (int k = 0; k < b->n_policies; k++) e->policies[k] = k % 2 ? 1.0f : 0.0f;
    for (int k = 0; k < LIKELIHOODS; k++) e->likelihood[k] = 1.0f;
    e->terminal[1] = 1;
    e->t = (lud_empo_transition){.inserted = 5,
                                 .next = 1,
                                 .robot_action = layout->n_robot_actions - 1,
                                 .n_links = LINKS,
                                 .n_successors = SUCCESSORS,
                                 .state = e->state,
                                 .goals = e->goals,
                                 .offsets = e->offsets,
                                 .link = e->link,
                                 .probability = e->probability,
                                 .terminal = e->terminal,
                                 .successor = e->successor,
                                 .profile = e->profile,
                                 .policies = e->policies,
                                 .behaviour_goals = e->behaviour_goals,
                                 .next_record = e->next_record,
                                 .likelihood = e->likelihood,
                                 .explored = LUD_EMPO_ROBOTS_EXPLORED | LUD_EMPO_PEOPLE_EXPLORED,
                                 .next_terminal = 1};
    for (int h = 0; h < layout->n_humans; h++) e->goals[h] = e->behaviour_goals[h] = b->bounds.n_goals[h] - 1;
}

static lud_empo_replay *make_replay(const bed *b) {
    const lud_empo_layout *layout = &b->features.layout;
    lud_empo_replay *r = lud_empo_replay_create(8, 1 << 16, b->features.words, layout->n_robot_actions,
                                                layout->n_humans, b->n_policies);
    assert_non_null(r);
    if (b->trajectories) assert_true(lud_empo_replay_keep_trajectories(r, ENVIRONMENTS, LIKELIHOODS));
    return r;
}

/* Whether a memory with this transition between two good ones can be read again, of which the first is
 * followed by number `second` (1 as it was pushed). */
static bool can_be_read_with(const bed *b, const example *e, float priority, uint64_t second) {
    static example good;
    lud_empo_replay *written = make_replay(b), *read = make_replay(b);
    lud_error error = {0};
    make_example(b, &good);
    good.t.inserted = 0;
    assert_true(lud_empo_replay_push(written, &good.t));
    assert_true(lud_empo_replay_push(written, &e->t));
    good.t.inserted = e->t.inserted;
    assert_true(lud_empo_replay_push(written, &good.t));
    lud_empo_replay_set_priority(written, 1, priority);
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_replay_visit(written, NULL, "r.", saved);
    const lud_tensor *following = lud_checkpoint_find(saved, "r.following");
    assert_int_equal(following != NULL, b->trajectories);
    if (following) memcpy((void *)(uintptr_t)following->data, &second, sizeof second);
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_replay_visit(read, &b->bounds, "r.", saved);
    const lud_status status = lud_checkpoint_status(saved, &error);
    if (status && !strstr(error.text, "the replay memory of the checkpoint is damaged"))
        fail_msg("%s", error.text);
    assert_int_equal(lud_empo_replay_count(read), status ? 0 : 3);
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    lud_empo_replay_destroy(written);
    lud_empo_replay_destroy(read);
    return !status;
}

static bool can_be_read(const bed *b, const example *e, float priority) {
    return can_be_read_with(b, e, priority, 1);
}

/* A word of a record that is a number. */
static void put(int32_t *word, float value) {
    memcpy(word, &value, sizeof value);
}

static void check(bool trajectories) {
    static example e;
    bed b;
    open_bed(&b, trajectories);
    const lud_empo_layout *layout = &b.features.layout;
#define TAKES(change)                                                                                        \
    do {                                                                                                     \
        make_example(&b, &e);                                                                                \
        change;                                                                                              \
        if (!can_be_read(&b, &e, 0.0f)) fail_msg("refused with %s", #change);                                \
    } while (0)
#define REFUSES(change)                                                                                      \
    do {                                                                                                     \
        make_example(&b, &e);                                                                                \
        change;                                                                                              \
        if (can_be_read(&b, &e, 0.0f)) fail_msg("taken with %s", #change);                                   \
    } while (0)
    TAKES((void)0);
    TAKES(e.t.inserted = STEP);
    REFUSES(e.t.inserted = STEP + 1);
    TAKES(e.t.robot_action = 0);
    REFUSES(e.t.robot_action = -1);
    REFUSES(e.t.robot_action = layout->n_robot_actions);
    TAKES(e.t.next = -1);
    REFUSES(e.t.next = -2);
    REFUSES(e.t.next = SUCCESSORS);
    REFUSES(e.offsets[0] = 1);
    REFUSES(e.offsets[layout->n_robot_actions] = LINKS - 1);
    REFUSES(e.offsets[1] = e.offsets[2] + 1);
    TAKES(e.offsets[1] = e.offsets[2]);
    for (int h = 0; h < layout->n_humans; h++) {
        TAKES(e.goals[h] = 0);
        REFUSES(e.goals[h] = -1);
        REFUSES(e.goals[h] = b.bounds.n_goals[h]);
    }
    for (int k = 0; k < LINKS; k += LINKS - 1) {
        REFUSES(e.link[k] = -1);
        REFUSES(e.link[k] = SUCCESSORS);
        REFUSES(e.profile[k] = -1);
        REFUSES(e.profile[k] = layout->n_human_profiles);
        REFUSES(e.probability[k] = -0.01f);
        REFUSES(e.probability[k] = 1.01f);
        REFUSES(e.probability[k] = NAN);
    }
    for (int k = 0; k < b.n_policies; k += b.n_policies - 1) {
        REFUSES(e.policies[k] = 1.01f);
        REFUSES(e.policies[k] = NAN);
    }
    for (int s = 0; s < SUCCESSORS; s++) {
        int32_t *const record = e.successor + s * b.features.words;
        REFUSES(e.terminal[s] = 2);
        REFUSES(record[b.features.words - 1] = -1);
        REFUSES(put(&record[b.features.agents_at], NAN));
    }
    const int last = b.features.words - 1;
    REFUSES(e.state[last] = -1);
    REFUSES(e.state[last] = 1 << 30);
    REFUSES(e.state[b.features.grid_at] = -1);
    TAKES(put(&e.state[0], 16777216.0f));
    REFUSES(put(&e.state[0], 16777218.0f));
    TAKES(put(&e.state[0], -16777216.0f));
    REFUSES(put(&e.state[0], -16777218.0f));
    REFUSES(put(&e.state[b.features.grid_at - 1], INFINITY));
    make_example(&b, &e);
    assert_false(can_be_read(&b, &e, -1.0f)); /* a priority below nothing */
    assert_false(can_be_read(&b, &e, NAN));
    assert_true(can_be_read(&b, &e, INFINITY));
    /* what only trajectories keep is not looked at without them */
    const struct {
        int32_t *number, wrong;
    } kept[] = {{&e.t.explored, -1},         {&e.t.explored, 4},
                {&e.t.next_terminal, -1},    {&e.t.next_terminal, 2},
                {&e.behaviour_goals[0], -1}, {&e.behaviour_goals[0], b.bounds.n_goals[0]},
                {&e.next_record[last], -1}};
    for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        make_example(&b, &e);
        *kept[k].number = kept[k].wrong;
        assert_int_equal(can_be_read(&b, &e, 0.0f), !trajectories);
    }
    for (int k = 0; k < LIKELIHOODS; k += LIKELIHOODS - 1) {
        make_example(&b, &e);
        e.likelihood[k] = -0.5f;
        assert_int_equal(can_be_read(&b, &e, 0.0f), !trajectories);
    }
    close_bed(&b);
}

static void transitions_are_checked(void **state) {
    (void)state;
    check(false);
}

static void trajectories_are_checked(void **state) {
    (void)state;
    check(true);
}

/* What follows a transition is there and younger: nobody walks in a circle, or out of the memory. */
static void ways_end(void **state) {
    (void)state;
    static example e;
    bed b;
    open_bed(&b, true);
    make_example(&b, &e);
    for (uint64_t second = 0; second <= 4; second++)
        assert_int_equal(can_be_read_with(&b, &e, 0.0f, second), second == 1 || second == 2);
    assert_true(can_be_read_with(&b, &e, 0.0f, UINT64_MAX)); /* none */
    close_bed(&b);
}

/* A transition with so many successors; without it takes the same room each time. */
static bool push_with(lud_empo_replay *r, int64_t number, int n_successors) {
    static const int32_t words[64];
    static const uint8_t terminal[64];
    const lud_empo_transition t = {.inserted = number,
                                   .next = -1,
                                   .n_successors = n_successors,
                                   .state = words,
                                   .goals = words,
                                   .offsets = words,
                                   .successor = words,
                                   .terminal = terminal,
                                   .behaviour_goals = words,
                                   .next_record = words};
    const int64_t before = lud_empo_replay_count(r);
    const bool fits = lud_empo_replay_fits(r, &t);
    const bool pushed = lud_empo_replay_push(r, &t);
    /* it fits where nothing has to go for it */
    assert_int_equal(fits, pushed && lud_empo_replay_count(r) == before + 1);
    return pushed;
}

static bool push(lud_empo_replay *r, int64_t number) {
    return push_with(r, number, 0);
}

/* A memory of so many bytes as three transitions take holds three, one byte less and it holds two, one
 * transition and it holds one; whatever comes, only as many go as there has to be room for, and those that
 * came first. Room for fewer than are waited for is told once that has become plain, when bytes were short
 * four times for each that it holds. */
static void memory_is_used_to_the_last_byte(void **state) {
    (void)state;
    for (int words = 1; words <= 8; words++) {
        lud_empo_replay *r = lud_empo_replay_create(100, 1 << 16, words, 1, 1, 0);
        assert_true(push(r, 0));
        const size_t each = (size_t)lud_empo_replay_mean_bytes(r);
        assert_true(each % 8 == 0 && each > 0);
        lud_empo_replay_destroy(r);
        const struct {
            size_t bytes;
            int64_t holds;
        } cases[] = {{3 * each, 3}, {3 * each - 1, 2}, {each, 1}, {each + 7, 1}, {each - 1, 0}};
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            const int64_t holds = cases[c].holds;
            r = lud_empo_replay_create(100, cases[c].bytes, words, 1, 1, 0);
            for (int64_t i = 0; i < 20; i++) {
                assert_int_equal(push(r, i), holds > 0);
                const int64_t n = i + 1 < holds ? i + 1 : holds;
                assert_int_equal(lud_empo_replay_count(r), n);
                for (int64_t k = 0; k < n; k++)
                    assert_int_equal(lud_empo_replay_get(r, k).inserted, i + 1 - n + k);
                const bool short_of = holds > 0 && i + 1 - holds > 4 * holds;
                lud_error error = {0};
                assert_int_equal(lud_empo_replay_check_room(r, holds, &error), LUD_OK);
                assert_int_equal(lud_empo_replay_check_room(r, holds + 1, &error),
                                 short_of ? LUD_ERROR_LIMIT : LUD_OK);
            }
            lud_empo_replay_destroy(r);
        }
    }
    /* places run out as bytes do, but that is nobody's fault */
    lud_empo_replay *r = lud_empo_replay_create(2, 1 << 16, 4, 1, 1, 0);
    for (int64_t i = 0; i < 40; i++) assert_true(push(r, i));
    assert_int_equal(lud_empo_replay_count(r), 2);
    assert_int_equal(lud_empo_replay_check_room(r, 3, NULL), LUD_OK);
    lud_empo_replay_clear(r);
    assert_true(lud_empo_replay_count(r) == 0 && lud_empo_replay_mean_bytes(r) == 0);
    assert_true(push(r, 40));
    const double each = lud_empo_replay_mean_bytes(r);
    lud_empo_replay_clear(r);
    assert_true(push(r, 41) && lud_empo_replay_mean_bytes(r) == each); /* of before nothing counts */
    /* of all sizes, in a room of any */
    for (int bytes = 0; bytes < 40; bytes++) {
        lud_empo_replay *many =
            lud_empo_replay_create(100, (size_t)(4 * each) + (size_t)bytes * 8, 4, 1, 1, 0);
        for (int64_t i = 0; i < 300; i++) {
            const lud_words w =
                lud_draw((lud_random_key){9, (uint32_t)i}, (uint32_t)bytes, 0, LUD_PURPOSE_USER, 0);
            assert_true(push_with(many, i, (int)lud_below(w.v[0], 5)));
            assert_int_equal(lud_empo_replay_get(many, lud_empo_replay_count(many) - 1).inserted, i);
        }
        lud_empo_replay_destroy(many);
    }
    lud_empo_replay_destroy(r);
}

/* A number of a saved memory that is another; of places and where to write next in transitions, not in bytes.
 */
typedef struct edit {
    const char *field;
    size_t at;
    uint64_t value;
} edit;

/* A memory of three transitions, in which the fifth was the last to come, can be read again; not when some
 * numbers of it are others. */
static bool can_be_read_after(const edit *edits, size_t n) {
    lud_error error = {0};
    lud_empo_replay *one = lud_empo_replay_create(4, 1 << 16, 4, 1, 1, 0);
    assert_true(lud_empo_replay_keep_trajectories(one, 1, 0) && push(one, 0));
    const size_t each = (size_t)lud_empo_replay_mean_bytes(one);
    lud_empo_replay_destroy(one);
    lud_empo_replay *both[2];
    for (int k = 0; k < 2; k++) {
        both[k] = lud_empo_replay_create(9, 3 * each, 4, 1, 1, 0);
        assert_true(lud_empo_replay_keep_trajectories(both[k], 1, 0));
    }
    for (int64_t i = 0; i < 5; i++) assert_true(push(both[0], i));
    lud_checkpoint *saved = lud_checkpoint_create();
    lud_empo_replay_visit(both[0], NULL, "", saved);
    for (size_t i = 0; i < n; i++) {
        const lud_tensor *tensor = lud_checkpoint_find(saved, edits[i].field);
        assert_true(tensor && (edits[i].at + 1) * sizeof(uint64_t) <= tensor->bytes);
        const uint64_t value =
            edits[i].value * (strcmp(edits[i].field, "places") && strcmp(edits[i].field, "write") ? 1 : each);
        memcpy((char *)(uintptr_t)tensor->data + edits[i].at * sizeof(uint64_t), &value, sizeof value);
    }
    if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
    lud_empo_replay_visit(both[1], NULL, "", saved);
    const lud_status status = lud_checkpoint_status(saved, &error);
    lud_checkpoint_destroy(saved);
    assert_int_equal(remove(support_empo_path), 0);
    for (int k = 0; k < 2; k++) lud_empo_replay_destroy(both[k]);
    return status == LUD_OK;
}

static void places_are_checked(void **state) {
    (void)state;
    /* the third, at two thirds of the memory, the fourth at its beginning and the fifth behind that: [place]
     * and bytes */
    const edit as_it_is[] = {
        {"first", 0, 2}, {"places", 2 * 2, 2}, {"places", 2 * 3, 0}, {"places", 2 * 4, 1}, {"write", 0, 2}};
    assert_true(can_be_read_after(as_it_is, sizeof as_it_is / sizeof *as_it_is));
    const edit turned[] = {{"places", 2 * 3, 1}, {"places", 2 * 4, 0}, {"write", 0, 1}};
    assert_false(can_be_read_after(turned, 3));
    const edit over_one_another[] = {{"places", 2 * 4, 0}, {"write", 0, 1}};
    assert_false(can_be_read_after(over_one_another, 2));
    const edit alone[] = {{"first", 0, 9}, {"first", 0, UINT64_MAX}, {"count", 0, 10},
                          {"write", 0, 1}, {"stored_bytes", 0, 8},   {"newest", 0, 5}};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) assert_false(can_be_read_after(&alone[i], 1));
    const edit last = {"newest", 0, 4}, none = {"newest", 0, UINT64_MAX};
    assert_true(can_be_read_after(&last, 1) && can_be_read_after(&none, 1));
}

/* What comes once a memory was emptied, or after it has run full, is read again from a checkpoint as it was;
 * one that is just full too. */
static void full_memories_are_read_again(void **state) {
    (void)state;
    for (int many = 0; many <= 9; many++) {
        lud_error error = {0};
        lud_empo_replay *one = lud_empo_replay_create(4, 1 << 16, 4, 1, 1, 0);
        assert_true(push(one, 0));
        const size_t each = (size_t)lud_empo_replay_mean_bytes(one);
        lud_empo_replay_destroy(one);
        for (int k = 0; k < 2; k++) { /* places are short, or bytes */
            lud_empo_replay *written = lud_empo_replay_create(k ? 3 : 9, k ? 1 << 16 : 3 * each, 4, 1, 1, 0),
                            *read = lud_empo_replay_create(k ? 3 : 9, k ? 1 << 16 : 3 * each, 4, 1, 1, 0);
            for (int64_t i = 0; i < many; i++) assert_true(push(written, i));
            lud_checkpoint *saved = lud_checkpoint_create();
            lud_empo_replay_visit(written, NULL, "r.", saved);
            if (lud_checkpoint_write(saved, support_empo_path, &error)) fail_msg("%s", error.text);
            lud_checkpoint_destroy(saved);
            if (lud_checkpoint_open(support_empo_path, &saved, &error)) fail_msg("%s", error.text);
            lud_empo_replay_visit(read, NULL, "r.", saved);
            if (lud_checkpoint_status(saved, &error)) fail_msg("%d: %s", many, error.text);
            lud_checkpoint_destroy(saved);
            assert_int_equal(remove(support_empo_path), 0);
            for (int64_t i = many; i < many + 5; i++) assert_true(push(written, i) && push(read, i));
            assert_int_equal(lud_empo_replay_count(read), lud_empo_replay_count(written));
            for (int64_t i = 0; i < lud_empo_replay_count(read); i++)
                assert_int_equal(lud_empo_replay_get(read, i).inserted,
                                 lud_empo_replay_get(written, i).inserted);
            lud_empo_replay_destroy(written);
            lud_empo_replay_destroy(read);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ways_end),
                                       cmocka_unit_test(transitions_are_checked),
                                       cmocka_unit_test(trajectories_are_checked),
                                       cmocka_unit_test(memory_is_used_to_the_last_byte),
                                       cmocka_unit_test(places_are_checked),
                                       cmocka_unit_test(full_memories_are_read_again)};
    return cmocka_run_group_tests(tests, support_empo_make_folder, support_empo_remove_folder);
}
