/* Batched targets against the naive triple loop, on random transitions with empty and impossible branches;
 * the stages' table; replayed work. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "learn/empo/stages.h"
#include "learn/empo/support_stages.h"
#include "learn/empo/targets/targets.h"
#include "learn/nn/capture.h"

enum { MAX_TRANSITIONS = 12, ACTIONS = 5, MAX_SUCCESSORS = MAX_TRANSITIONS * ACTIONS * 4, MAX_HUMANS = 3 };

static double unit(uint32_t a, uint32_t b) {
    return lud_unit(lud_draw((lud_random_key){17, a}, b, 0, LUD_PURPOSE_USER, 0).v[0]);
}

static void batched_equals_the_triple_loop(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 2, &device, NULL), LUD_OK);
    const int sizes[] = {0, 1, 3, MAX_TRANSITIONS};
    for (int round = 0; round < 4; round++) {
        const int n = sizes[round];
        static int32_t offsets[MAX_TRANSITIONS * ACTIONS + 1], entries[MAX_TRANSITIONS + 1];
        static double probability[MAX_SUCCESSORS];
        int32_t n_successors = 0;
        uint32_t draw = 0;
        entries[0] = 0;
        for (int t = 0; t < n; t++) {
            entries[t + 1] = entries[t] + (int32_t)(unit(1, (uint32_t)t) * (MAX_HUMANS + 1)); /* also none */
            for (int a = 0; a < ACTIONS; a++) {
                offsets[t * ACTIONS + a] = n_successors;
                const int count = (int)(unit(2, draw++) * 5.0); /* 0 to 4 */
                for (int s = 0; s < count; s++)                 /* some impossible */
                    probability[n_successors++] = s == 1 ? 0.0 : unit(3, draw++) / 4.0;
            }
        }
        offsets[n * ACTIONS] = n_successors;
        const lud_empo_transitions transitions = {n, ACTIONS, offsets, probability, entries};

        static int32_t successor[MAX_SUCCESSORS], slot[MAX_SUCCESSORS], row[MAX_SUCCESSORS * MAX_HUMANS],
            entry[MAX_SUCCESSORS * MAX_HUMANS], expanded_slot[MAX_SUCCESSORS * MAX_HUMANS];
        static float p[MAX_SUCCESSORS], expanded_p[MAX_SUCCESSORS * MAX_HUMANS];
        lud_empo_flat flat = {.successor = successor,
                              .slot = slot,
                              .probability = p,
                              .expanded_row = row,
                              .entry = entry,
                              .expanded_slot = expanded_slot,
                              .expanded_probability = expanded_p};
        lud_empo_flatten(&transitions, &flat);

        /* network values: functions of the given successor and the entry */
        static float q[MAX_TRANSITIONS * ACTIONS], pi[MAX_TRANSITIONS * ACTIONS], v_r[MAX_SUCCESSORS],
            v_h_e[MAX_SUCCESSORS * MAX_HUMANS], achieved[MAX_SUCCESSORS * MAX_HUMANS],
            continues[MAX_SUCCESSORS * MAX_HUMANS], scratch[2 * MAX_SUCCESSORS * MAX_HUMANS],
            q_targets[MAX_TRANSITIONS * ACTIONS], v_targets[MAX_TRANSITIONS * MAX_HUMANS];
        for (int i = 0; i < n * ACTIONS; i++) q[i] = (float)(-0.1 - 3.0 * unit(4, (uint32_t)i));
        for (int64_t i = 0; i < flat.n; i++) v_r[i] = (float)-unit(5, (uint32_t)successor[i]);
        for (int64_t i = 0; i < flat.n_expanded; i++) {
            const uint32_t id = (uint32_t)(successor[row[i]] * 100 + entry[i]);
            v_h_e[i] = (float)unit(6, id);
            achieved[i] = unit(7, id) < 0.3 ? 1.0f : 0.0f;
            continues[i] = entry[i] % 3 ? 1.0f : 0.0f;
        }
        lud_empo_policy(device, n, ACTIONS, 4.0, q, pi, scratch);
        lud_empo_q_r_targets(device, flat.n, n * ACTIONS, 0.97, slot, p, v_r, q_targets);
        lud_empo_v_h_e_targets(device, flat.n_expanded, entries[n], 0.9, entry, expanded_slot, expanded_p,
                               achieved, continues, pi, v_h_e, v_targets, scratch);

        for (int t = 0; t < n; t++) {
            double weights[ACTIONS], total = 0.0;
            for (int a = 0; a < ACTIONS; a++) total += weights[a] = pow(-(double)q[t * ACTIONS + a], -4.0);
            for (int a = 0; a < ACTIONS; a++) {
                double expected = 0.0;
                for (int32_t s = offsets[t * ACTIONS + a]; s < offsets[t * ACTIONS + a + 1]; s++)
                    expected += probability[s] * -unit(5, (uint32_t)s);
                assert_true(fabs((double)pi[t * ACTIONS + a] - weights[a] / total) < 1e-6);
                assert_true(fabs((double)q_targets[t * ACTIONS + a] - 0.97 * expected) < 1e-6);
            }
            for (int32_t e = entries[t]; e < entries[t + 1]; e++) {
                double expected = 0.0;
                for (int a = 0; a < ACTIONS; a++)
                    for (int32_t s = offsets[t * ACTIONS + a]; s < offsets[t * ACTIONS + a + 1]; s++) {
                        const uint32_t id = (uint32_t)(s * 100 + e);
                        const double later = e % 3 ? 0.9 * unit(6, id) : 0.0;
                        expected += weights[a] / total * probability[s] * (unit(7, id) < 0.3 ? 1.0 : later);
                    }
                assert_true(fabs((double)v_targets[e] - expected) < 1e-6);
            }
        }
    }
    lud_device_close(device);
}

static void closed_forms(void **state) {
    (void)state;
    lud_device *device = NULL;
    assert_int_equal(lud_device_open("cpu", 1, &device, NULL), LUD_OK);
    const float x_h[4] = {0.5f, 0.25f, 1.0f, 0.1f}, pi[4] = {0.25f, 0.75f, 1.0f, 0.0f},
                q[4] = {-2.0f, -4.0f, -1.0f, -9.0f}, weight[2] = {1.0f, 0.5f};
    float y[2], u[2], v[2], x[2], scratch[4];
    lud_empo_intrinsic_reward(device, 2, 2, 1.0, 2.0, x_h, y, u, scratch);
    assert_true(fabsf(y[0] - 3.0f) < 1e-6f && fabsf(y[1] - 5.5f) < 1e-6f);
    assert_true(fabsf(u[0] + 9.0f) < 1e-5f && fabsf(u[1] + 30.25f) < 1e-5f);
    lud_empo_state_value(device, 2, 2, u, pi, q, v, scratch);
    assert_true(fabsf(v[0] + 12.5f) < 1e-5f && fabsf(v[1] + 31.25f) < 1e-5f);
    lud_empo_x_h_targets(device, 2, 2.0, weight, x_h, x);
    assert_true(fabsf(x[0] - 0.25f) < 1e-6f && fabsf(x[1] - 0.03125f) < 1e-6f);
    lud_device_close(device);
}

static void stages_without_networks_have_no_length(void **state) {
    (void)state;
    lud_empo_stages s = support_stages();
    lud_text text = {0};
    lud_empo_stages_print(&s, &text);
    assert_non_null(strstr(text.bytes, "3  + Q_r"));
    assert_null(strstr(text.bytes, "+ V_r"));
    lud_text_clear(&text);
    s.v_r_network = true;
    lud_empo_stages_print(&s, &text);
    assert_non_null(strstr(text.bytes, "4  + V_r"));
    lud_text_free(&text);
    const lud_empo_now first = lud_empo_stages_at(&s, 0), last = lud_empo_stages_at(&s, s.total);
    assert_true(first.active[LUD_NET_V_H_E] && !first.active[LUD_NET_Q_R] && first.beta_r == 0.0);
    assert_true(last.active[LUD_NET_V_R] && !last.active[LUD_NET_U_R] && last.beta_r == s.beta_r);
    assert_int_equal(last.stage, LUD_STAGE_FULL);
    /* without a ramp beta_r jumps */
    s.beta_r_ramp = 0;
    const int64_t jump = lud_empo_stage_end(&s, LUD_STAGE_RAMP);
    assert_true(lud_empo_stages_at(&s, jump - 1).beta_r == 0.0 &&
                lud_empo_stages_at(&s, jump).beta_r == s.beta_r);
}

/* The numbers of all stages stand below each other, whatever letters a name has. */
static void stages_are_a_table(void **state) {
    (void)state;
    lud_empo_stages s = support_stages();
    lud_text text = {0};
    s.v_r_network = true;
    lud_empo_stages_print(&s, &text);
    int n = 0;
    for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n"), n++) {
        int column = 0;
        const char *at = line;
        for (; *at && column < 39; at++) column += ((unsigned char)at[1] & 0xc0) != 0x80;
        char *end;
        assert_true(at[-1] >= '0' && at[-1] <= '9' && at[0] == ' '); /* the end of the stage's last step */
        const char *number = at - 8;
        assert_int_equal(strtol(number, &end, 10), lud_empo_stage_end(&s, line[0] - '0'));
        assert_ptr_equal(end, at);
    }
    assert_in_range(n, 4, LUD_EMPO_STAGES);
    lud_text_free(&text);
}

typedef struct sum_work {
    lud_device *device;
    float values[4], total;
    int calls;
} sum_work;

static void add_up(void *context) {
    sum_work *w = context;
    w->calls++;
    w->device->ops->sum(w->device, 4, w->values, &w->total, false);
}

/* On the CPU there is nothing to record: the body runs every time and sees new values. */
static void replayed_work_sees_new_values(void **state) {
    (void)state;
    sum_work w = {0};
    assert_int_equal(lud_device_open("cpu", 1, &w.device, NULL), LUD_OK);
    lud_capture replay;
    lud_capture_start(&replay, w.device, add_up, &w);
    for (int i = 0; i < 5; i++) {
        w.values[2] = (float)i;
        lud_capture_run(&replay, i == 4 ? 9 : 8);
        assert_true(w.total == (float)i);
    }
    assert_int_equal(w.calls, 5);
    lud_capture_end(&replay);
    lud_device_close(w.device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batched_equals_the_triple_loop),         cmocka_unit_test(closed_forms),
        cmocka_unit_test(stages_without_networks_have_no_length), cmocka_unit_test(stages_are_a_table),
        cmocka_unit_test(replayed_work_sees_new_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
