#include "learn/support_strangers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_COLUMNS = 512 };

#define EMPO_NETWORKS                                                                                        \
    "learner.hidden_dim=4", "learner.goal_feature_dim=2", "learner.agent_embedding_dim=2",                   \
        "learner.agent_position_feature_dim=4", "learner.agent_feature_dim=4", "learner.batch_size=3"

static uint8_t *bytes_of(const lud_tensor *tensor) {
    return (uint8_t *)(uintptr_t)tensor->data;
}

/* Trainings whose names begin so, and what makes them smaller. The first that fits counts. */
static const struct {
    const char *names, *file, *set[SUPPORT_MOST_SET]; /* file: null: their own */
} smaller[] = {
    {"mappo on a grid",
     NULL,
     {"learner.hidden_size=6", "learner.channels=4", "learner.convolutions=1", "learner.layers=0",
      "multigrid.max_steps=8"}},
    {"mappo", NULL, {"learner.hidden_size=8", "run.environments=2", "learner.evaluation_episodes=2"}},
    {"a policy for each role", NULL, {"learner.hidden_size=6"}},
    {"recurrent, choices", NULL, {"learner.hidden_size=6", "learner.evaluation_episodes=6"}},
    {"ticks, a graph",
     NULL,
     {"learner.max_rows=16", "learner.policy.layers=0", "learner.policy.graph.layers=0",
      "learner.policy.graph.embed_layers=0"}},
    {"ticks", NULL, {"learner.max_rows=16"}},
    {"proof",
     LUDUS_SOURCE_DIR "/scenarios/proof/europe.yaml",
     {"learner.automatic=false", "learner.chunk_rows=64", "learner.evaluation.slots=4"}},
    {"embeddings",
     LUDUS_SOURCE_DIR "/scenarios/proof/europe.yaml",
     {"learner.dimension=4", "learner.evaluation.queries=3", "learner.evaluation.candidates=3"}},
    {"empo, states met and forgotten",
     NULL,
     {EMPO_NETWORKS, "learner.met_memory=0.004M", "multigrid.max_steps=2"}},
    {"empo, people alone",
     NULL,
     {EMPO_NETWORKS, "learner.updates_per_iteration=2", "learner.buffer_size=12", "multigrid.max_steps=3"}},
    {"empo", NULL, {EMPO_NETWORKS}},
};

support_training support_stranger_training(const support_training *t) {
    support_training s = *t;
    size_t n = 0, k = 0;
    while (n < sizeof smaller / sizeof *smaller &&
           strncmp(t->name, smaller[n].names, strlen(smaller[n].names)))
        n++;
    if (n == sizeof smaller / sizeof *smaller) return s;
    if (smaller[n].file) s.file = smaller[n].file;
    while (s.set[k]) k++;
    for (size_t i = 0; i < SUPPORT_MOST_SET && smaller[n].set[i]; i++) {
        assert_true(k < SUPPORT_MOST_SET);
        s.set[k++] = smaller[n].set[i];
    }
    return s;
}

support_stranger support_stranger_open(const support_training *t) {
    const support_training small = support_stranger_training(t);
    support_stranger s = {.training = t};
    char path[] = "/tmp/ludus-stranger-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    double row[MOST_COLUMNS];
    s.bed = support_bed_open(&small, "cpu", 1);
    support_bed_iterate(t, &s.bed, row);
    lud_checkpoint *saved = support_bed_save(&s.bed);
    lud_learner_destroy(s.bed.learner);
    s.bed.learner = NULL;
    unlink(path); /* or it would be kept as the one before */
    if (lud_checkpoint_write(saved, path, &s.error)) fail_msg("%s", s.error.text);
    lud_checkpoint_destroy(saved);
    if (lud_checkpoint_open(path, &s.checkpoint, &s.error)) fail_msg("%s", s.error.text);
    unlink(path);
    size_t total = 0;
    for (int i = 0; i < lud_checkpoint_n_tensors(s.checkpoint); i++)
        total += lud_checkpoint_get(s.checkpoint, i)->bytes;
    uint8_t *to = s.bytes = malloc(total + 1);
    assert_non_null(to);
    for (int i = 0; i < lud_checkpoint_n_tensors(s.checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(s.checkpoint, i);
        if (tensor->bytes) memcpy(to, tensor->data, tensor->bytes);
        to += tensor->bytes;
    }
    return s;
}

void support_stranger_close(support_stranger *s) {
    support_bed_close(&s->bed);
    lud_checkpoint_destroy(s->checkpoint);
    free(s->bytes);
}

void support_stranger_restore(support_stranger *s) {
    const uint8_t *from = s->bytes;
    for (int i = 0; i < lud_checkpoint_n_tensors(s->checkpoint); i++) {
        const lud_tensor *tensor = lud_checkpoint_get(s->checkpoint, i);
        if (tensor->bytes) memcpy(bytes_of(tensor), from, tensor->bytes);
        from += tensor->bytes;
    }
    lud_checkpoint_forgive(s->checkpoint);
}

void support_stranger_put(support_stranger *s, const char *name, int64_t at, const void *bytes, size_t n) {
    const lud_tensor *tensor = lud_checkpoint_find(s->checkpoint, name);
    if (!tensor || (size_t)at * 4 + n > tensor->bytes) fail_msg("no %s[%lld]", name, (long long)at);
    memcpy(bytes_of(tensor) + at * 4, bytes, n);
}

static bool is_real(const lud_tensor *tensor) {
    return tensor->type == LUD_TENSOR_F32 || tensor->type == LUD_TENSOR_F64;
}

/* One number: of a tensor of whole numbers and bytes three times of four, since real ones mostly stay what
 * they are to the program. */
static void change_one(support_stranger *s, lud_random_key key, uint32_t change) {
    const int n = lud_checkpoint_n_tensors(s->checkpoint);
    const lud_tensor *tensor = NULL;
    lud_words w = {0};
    for (uint32_t lane = 0; lane < 1000 && (!tensor || tensor->bytes == 0); lane++) {
        w = lud_draw(key, change, lane, LUD_PURPOSE_USER, 0);
        tensor = lud_checkpoint_get(s->checkpoint, (int)lud_below(w.v[0], (uint32_t)n));
        if (is_real(tensor) && w.v[1] % 8) tensor = NULL;
    }
    if (!tensor) return;
    const lud_words draw = lud_draw(key, change, 0, LUD_PURPOSE_USER, 1);
    static const uint64_t values[] = {0,          1,          2,          255,        UINT64_MAX, INT32_MAX,
                                      0x80000000, INT64_MAX,  0x7fc00000, 0x7f800000, 0xff800000, 0x49742400,
                                      65535,      0xffffffff, 1ull << 40, 1000};
    const size_t widths[] = {1, 2, 4, 8};
    size_t width =
        tensor->type == LUD_TENSOR_U8 ? widths[draw.v[0] % 4] : lud_tensor_type_bytes(tensor->type);
    if (width > tensor->bytes) width = 1;
    const size_t places = tensor->bytes / width, at = lud_below(draw.v[1], (uint32_t)places) * width;
    uint64_t value = 0;
    memcpy(&value, bytes_of(tensor) + at, width);
    switch (draw.v[2] % 4) {
    case 0:
        value++;
        break;
    case 1:
        value ^= UINT64_C(1) << draw.v[3] % (8 * width);
        break;
    case 2:
        value = values[draw.v[3] % (sizeof values / sizeof *values)];
        break;
    default:
        value = draw.v[3] % 300;
    }
    memcpy(bytes_of(tensor) + at, &value, width);
}

void support_stranger_change(support_stranger *s, lud_random_key key) {
    const uint32_t n = 1 + lud_draw(key, 0, 0, LUD_PURPOSE_USER, 2).v[0] % 4;
    for (uint32_t i = 0; i < n; i++) change_one(s, key, i + 1);
}

/* Acts in a state of the world's own with what was loaded. */
static lud_status act(const support_bed *b, lud_error *error) {
    lud_policy *policy = NULL;
    const lud_learner_kind *kind = b->learner->kind;
    if (!kind->policy) return LUD_OK;
    const lud_status status = kind->policy(b->learner, &policy, error);
    if (!status) lud_policy_destroy(policy);
    return status;
}

bool support_stranger_play(support_stranger *s) {
    double row[MOST_COLUMNS];
    s->error = (lud_error){0};
    support_bed *b = &s->bed;
    if (lud_learner_create(b->scenario, b->device, &b->learner, &s->error))
        fail_msg("%s: %s", s->training->name, s->error.text);
    const lud_learner_kind *kind = b->learner->kind;
    kind->visit(b->learner, s->checkpoint);
    lud_status status = lud_checkpoint_status(s->checkpoint, &s->error);
    if (!status) status = kind->iterate(b->learner, row, &s->error);
    if (!status && kind->evaluate) status = kind->evaluate(b->learner, row, &s->error);
    if (!status) status = act(b, &s->error);
    if (status && !s->error.text[0]) fail_msg("%s: no message", s->training->name);
    lud_learner_destroy(b->learner);
    b->learner = NULL;
    lud_device_synchronise(b->device);
    if (status) b->device->failure = (lud_error){0}; /* it was told */
    if (lud_device_failure(b->device)) fail_msg("%s", lud_device_failure(b->device));
    return status == LUD_OK;
}
