/* What the tests of the particle world share. */
#pragma once

#include "sim/batch.h"
#include "sim/particle/particle.h"

/* The model of `particle: {section}` (flow style); fails the test when it cannot be read. */
lud_model *particle_model(const char *section);
/* The message with which reading `text` (a whole particle section, block style) fails; fails the test when it
 * does not. */
const char *particle_error(const char *text);
static inline const lud_particle_model *particle_of(const lud_model *model) {
    return (const lud_particle_model *)model;
}
/* A random joint action in either form; discrete[n_agents], continuous[n_agents][max n_continuous]. */
void particle_random_actions(const lud_model *model, uint32_t environment, uint32_t tick, int32_t *discrete,
                             float *continuous);
/* One environment's single step in double. */
void particle_step_double(const lud_model *model, uint8_t *state, const int32_t *discrete,
                          const double *continuous, double *rewards);
/* Random positions and velocities for everything, `crowd` is the half width of the square. */
void particle_scatter(const lud_model *model, uint8_t *state, uint32_t seed, double crowd);

/* cmocka compares floats only. */
#define assert_near(found, expected, tolerance)                                                              \
    particle_assert_near(found, expected, tolerance, __FILE__, __LINE__)
void particle_assert_near(double found, double expected, double tolerance, const char *file, int line);
