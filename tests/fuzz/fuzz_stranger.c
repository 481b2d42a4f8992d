/* Numbers, states and indices inside a well-formed checkpoint of every learner, changed and sealed again: a
 * message, or a training that goes on, is evaluated and acts.
 *
 * The first byte chooses the training; then four bytes a change: which tensor, where in it (two bytes), what
 * is put there. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <omp.h>

#include "answers.h"
#include "learn/support_strangers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MOST_TRAININGS = 64, MOST_CHANGES = 12 };

static void change(support_stranger *s, const uint8_t *how) {
    static const uint64_t values[] = {0,          1,          2,          255,        UINT64_MAX, INT32_MAX,
                                      0x80000000, INT64_MAX,  0x7fc00000, 0x7f800000, 0xff800000, 0x49742400,
                                      65535,      0xffffffff, 1ull << 40, 1000};
    const int n = lud_checkpoint_n_tensors(s->checkpoint);
    const lud_tensor *tensor = lud_checkpoint_get(s->checkpoint, how[0] % n);
    if (tensor->bytes == 0) return;
    uint8_t *data = (uint8_t *)(uintptr_t)tensor->data;
    const size_t width = lud_tensor_type_bytes(tensor->type), at = (size_t)(how[1] << 8 | how[2]);
    if (how[3] >= 128 || width == 1) { /* a byte */
        data[at % tensor->bytes] ^= how[3];
        return;
    }
    const size_t place = at % (tensor->bytes / width) * width;
    uint64_t value = values[how[3] % 16];
    if (how[3] >= 64) { /* a little more or less */
        memcpy(&value, data + place, width);
        value += (uint64_t)how[3] - 96;
    }
    memcpy(data + place, &value, width);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    static support_stranger strangers[MOST_TRAININGS];
    if (length < 5) return 0;
    const int k = bytes[0] % n_support_trainings;
    support_stranger *s = &strangers[k];
    omp_set_num_threads(1); /* inputs of a millisecond are longer with more */
    if (!s->checkpoint) *s = support_stranger_open(&support_trainings[k]);
    for (size_t at = 1, n = 0; at + 4 <= length && n < MOST_CHANGES; at += 4, n++) change(s, bytes + at);
    support_stranger_play(s);
    fuzz_answer_text(s->error.text);
    support_stranger_restore(s);
    return 0;
}
