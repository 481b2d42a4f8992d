/* Checkpoints of strangers: the one of every learner with numbers, states and indices inside changed, as
 * anybody can who computes the checksum again. Loading says what is wrong, or there is a run that trains, is
 * evaluated and acts; nothing else ever happens, in release builds and under sanitizers.
 *
 * LUDUS_STRANGERS=N asks for N changed checkpoints of each training instead of a few, LUDUS_STRANGERS_SEED
 * for others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/policy.h"
#include "base/random.h"
#include "learn/support_strangers.h"

enum { FEW = 25 };

static int64_t number_of(const char *variable, int64_t otherwise) {
    const char *text = getenv(variable);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void every_learner_bears_any_numbers(void **state) {
    (void)state;
    const int64_t n = number_of("LUDUS_STRANGERS", FEW), seed = number_of("LUDUS_STRANGERS_SEED", 1);
    int64_t refused = 0, ran = 0;
    for (int k = 0; k < n_support_trainings; k++) {
        support_stranger s = support_stranger_open(&support_trainings[k]);
        if (n > FEW) print_message("%s\n", support_trainings[k].name);
        for (int64_t i = 0; i < n; i++) {
            const lud_random_key key = {(uint64_t)seed, (uint32_t)(k * 100003 + i)};
            support_stranger_change(&s, key);
            alarm(120);
            if (support_stranger_play(&s))
                ran++;
            else
                refused++;
            alarm(0);
            support_stranger_restore(&s);
        }
        support_stranger_close(&s);
    }
    print_message("%lld changed checkpoints: %lld refused, %lld ran\n", (long long)(refused + ran),
                  (long long)refused, (long long)ran);
    assert_true(refused > 0 && ran > 0);
}

/* Each of these is refused, in words that name the tensor. */
static void what_is_out_of_range_is_named(void **state) {
    (void)state;
    static const struct {
        const char *training, *tensor;
        int64_t at; /* of 32-bit words; a state's first number stands where its world puts it */
        int32_t value;
    } cases[] = {
        {"empo networks", "actor.goals", 0, 9},
        {"empo networks", "actor.goals", 0, -1},
        {"empo networks", "actor.states", 0, -1},
        {"empo networks", "step", 1, 1 << 30},
        {"empo, people alone", "actor.goals", 0, 1 << 20},
        {"empo, people alone", "replay.count", 0, 1 << 20},
        {"proof", "proof_ppo.environments", 0, 1000},       /* goals of the first state */
        {"proof", "proof_ppo.environments", 4, 9},          /* its outcome */
        {"proof", "proof_ppo.environments", 5, 1 << 30},    /* its fact */
        {"proof", "proof_ppo.environments", 7, -3},         /* the predicate of its query */
        {"mappo, discrete", "mappo.worlds", 0, 0x7fc00000}, /* a position that is no number */
        {"mappo on a grid", "mappo.worlds", 0, -1},
        {"ticks, a graph", "ticks.worlds", 3, 0x7f800000},
        {"clone, choices that are asked for", "clone.label.frame", 0, 1 << 20},
        {"clone, choices that are asked for", "clone.rounds", 0, 77},
        {"embeddings of a knowledge graph", "kge.epoch", 1, 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int k = 0;
        while (strcmp(support_trainings[k].name, cases[c].training) != 0) k++;
        support_stranger s = support_stranger_open(&support_trainings[k]);
        support_stranger_put(&s, cases[c].tensor, cases[c].at, &cases[c].value, sizeof cases[c].value);
        if (support_stranger_play(&s)) fail_msg("%s, %s: not refused", cases[c].training, cases[c].tensor);
        char section[32];
        snprintf(section, sizeof section, "%.*s", (int)strcspn(cases[c].tensor, "."), cases[c].tensor);
        const char *named = strcmp(section, "replay") == 0 ? "replay" : cases[c].tensor;
        if (!strstr(s.error.text, named) && !strstr(s.error.text, "labels"))
            fail_msg("%s, %s: '%s'", cases[c].training, cases[c].tensor, s.error.text);
        support_stranger_close(&s);
    }
}

/* Each sentence that a table of states met has to fulfil, broken by itself; and what is just allowed. */
static void tables_of_states_met_are_sound(void **state) {
    (void)state;
    enum { EXPANDED = 1, LEVELS = 6, KNOWN = 5 };
    int t = 0;
    while (strcmp(support_trainings[t].name, "empo, states met") != 0) t++;
    support_stranger s = support_stranger_open(&support_trainings[t]);
    const lud_tensor *tensor = lud_checkpoint_find(s.checkpoint, "met.flags");
    assert_non_null(tensor);
    const uint8_t *flags = tensor->data;
    const size_t n = tensor->bytes;
    int32_t last = 0; /* a state that was met and not expanded */
    while (last < (int32_t)n && flags[last] & EXPANDED) last++;
    assert_true(last < (int32_t)n);
    const float one = 1, more = 1.0001F, below = -0.5F, above = 1e-6F, unknown = -1;
    const double whole = 1, too_much = 1.0001, negative = -1e-9;
    const struct {
        const char *tensor;
        int64_t at; /* of 32-bit words */
        const void *value;
        size_t bytes;
        bool refused;
    } cases[] = {
        {"met.highest", 0, &(int32_t){LEVELS}, 4, true},
        {"met.highest", 0, &(int32_t){LEVELS - 1}, 4, false},
        {"met.highest", 0, &(int32_t){-1}, 4, true},
        {"met.highest", 0, &(int32_t){0}, 4, false},
        {"met.flags", 0, "\0", 1, true}, /* expanded, but for its flag */
        {"met.flags", 0, "\2", 1, true}, /* an end where none is */
        {"met.flags", 0, "\x11", 1, true},
        {"met.block", 0, &(int32_t){1}, 4, true}, /* another state's */
        {"met.block", 0, &(int32_t){-1}, 4, true},
        {"met.block", last, &(int32_t){0}, 4, true},
        {"met.expanded", 0, &(int32_t){1}, 4, true}, /* twice */
        {"met.expanded", 0, &(int32_t){(int32_t)n}, 4, true},
        {"met.expanded", 0, &last, 4, true},
        {"met.marks", 0, &(int32_t){2}, 4, true}, /* of a state that is not active */
        {"met.known", 0, &one, 4, false},
        {"met.known", 0, &more, 4, true},
        {"met.known", 0, &unknown, 4, false},
        {"met.known", 0, &below, 4, true},
        {"met.known", KNOWN - 1, &above, 4, true}, /* the worth of a state is none above zero */
        {"met.rows.1", KNOWN - 1, &above, 4, true},
        {"met.rows.1", KNOWN - 1, &below, 4, false},
        {"met.grounded", 0, &whole, 8, false},
        {"met.grounded", 0, &too_much, 8, true},
        {"met.grounded", 0, &negative, 8, true},
    };
    assert_true(support_stranger_play(&s));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        support_stranger_restore(&s);
        support_stranger_put(&s, cases[c].tensor, cases[c].at, cases[c].value, cases[c].bytes);
        if (support_stranger_play(&s) == cases[c].refused)
            fail_msg("case %zu, %s: '%s'", c, cases[c].tensor, s.error.text);
        if (cases[c].refused && !strstr(s.error.text, "met."))
            fail_msg("case %zu, %s: '%s'", c, cases[c].tensor, s.error.text);
    }
    support_stranger_close(&s);
}

/* Not a number is an error that names the tensor, wherever real numbers are kept. */
static void what_is_not_finite_is_named(void **state) {
    (void)state;
    for (int k = 0; k < n_support_trainings; k++) {
        support_stranger s = support_stranger_open(&support_trainings[k]);
        int n = 0;
        for (int i = 0; i < lud_checkpoint_n_tensors(s.checkpoint); i++) {
            const lud_tensor *tensor = lud_checkpoint_get(s.checkpoint, i);
            const bool real = tensor->type == LUD_TENSOR_F32 || tensor->type == LUD_TENSOR_F64;
            if (!real || tensor->bytes == 0 || strstr(tensor->name, "delights")) continue;
            if (n++ % 4) continue; /* every one takes a learner */
            const uint64_t place = n / 4 % 2 ? 0 : tensor->bytes / lud_tensor_type_bytes(tensor->type) - 1;
            const double infinite = 1.0 / 0.0;
            const float nan = __builtin_nanf("");
            if (tensor->type == LUD_TENSOR_F64)
                support_stranger_put(&s, tensor->name, (int64_t)place * 2, &infinite, sizeof infinite);
            else
                support_stranger_put(&s, tensor->name, (int64_t)place, &nan, sizeof nan);
            if (support_stranger_play(&s)) fail_msg("%s: %s", support_trainings[k].name, tensor->name);
            if (!strstr(s.error.text, tensor->name) || !strstr(s.error.text, "not finite"))
                fail_msg("%s: %s: '%s'", support_trainings[k].name, tensor->name, s.error.text);
            support_stranger_restore(&s);
        }
        assert_true(n > 0);
        support_stranger_close(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_out_of_range_is_named),
        cmocka_unit_test(tables_of_states_met_are_sound),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(every_learner_bears_any_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
