/* Any text as a particle section: either an error, or a model that runs, observes and writes itself back. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sim/particle/particle.h"
#include "tests/fuzz/section.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return fuzz_section(&lud_particle_world, data, size);
}
