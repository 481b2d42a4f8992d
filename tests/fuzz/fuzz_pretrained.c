/* Any bytes are a config.json, a safetensors file, or an error, and reading one never goes beyond its end.
 * The input is a config of `first byte` * 8 bytes, then weights. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "learn/language/pretrained.h"
#include "learn/language/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const lud_transformer_shape small = {4, 4, 1, 2, 1, 2, 3, 8, 10000, 1e-5, true};

static void look(const uint8_t *bytes, size_t length) {
    lud_safetensors *file = NULL;
    lud_error error = {0};
    if (lud_safetensors_parse("fuzz", bytes, length, &file, &error)) {
        if (file || !error.text[0]) abort();
        fuzz_answer_text(error.text);
        return;
    }
    double sum = 0;
    for (int i = 0; i < lud_safetensors_count(file); i++) {
        const lud_tensor *tensor = lud_safetensors_get(file, i);
        const size_t each = lud_tensor_type_bytes(tensor->type);
        for (size_t k = 0; k + each <= tensor->bytes; k += each) {
            float value;
            if (!lud_safetensors_floats(tensor, (int64_t)(k / each), 1, &value)) continue;
            sum += (double)value;
            if (value == value) fuzz_answer(&value, sizeof value); /* of what is no number there are many */
        }
        if (!lud_safetensors_find(file, tensor->name)) abort();
    }
    static volatile double seen;
    seen = sum;
    (void)seen;
    lud_safetensors_close(file);
}

static void load(const uint8_t *bytes, size_t length) {
    static lud_device *device;
    static lud_parameters *parameters;
    lud_error error = {0};
    if (!device) {
        if (lud_device_open("cpu", 1, &device, &error)) abort();
        parameters = lud_parameters_create(device, false);
        lud_transformer_declare(&small, parameters);
        if (lud_parameters_build(parameters, 1, &error)) abort();
    }
    if (lud_pretrained_load_bytes("fuzz", bytes, length, &small, parameters, &error) && !error.text[0])
        abort();
    fuzz_answer_text(error.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    if (length < 1) return 0;
    const size_t n = bytes[0] * 8u < length - 1 ? bytes[0] * 8u : length - 1;
    lud_transformer_shape shape;
    lud_error error = {0};
    if (lud_pretrained_shape_parse("fuzz", (const char *)bytes + 1, n, &shape, &error)) {
        if (!error.text[0]) abort();
    } else if (lud_transformer_check(&shape, &error)) {
        abort();
    }
    fuzz_answer_text(error.text);
    look(bytes + 1 + n, length - 1 - n);
    load(bytes + 1 + n, length - 1 - n);
    return 0;
}
