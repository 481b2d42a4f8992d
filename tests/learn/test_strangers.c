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
            if (n++ % 7) continue; /* every one takes a learner */
            const uint64_t last = tensor->bytes / lud_tensor_type_bytes(tensor->type) - 1;
            const double infinite = 1.0 / 0.0;
            const float nan = __builtin_nanf("");
            if (tensor->type == LUD_TENSOR_F64)
                support_stranger_put(&s, tensor->name, (int64_t)last * 2, &infinite, sizeof infinite);
            else
                support_stranger_put(&s, tensor->name, (int64_t)last, &nan, sizeof nan);
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
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(every_learner_bears_any_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
