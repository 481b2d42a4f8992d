/* What an episode of a particle task is judged by. */
#include <math.h>

#include "sim/particle/particle_model.h"

enum { SUCCESS, FRACTION, COLLISIONS, ERROR, FIRST_REWARD };

lud_status lud_particle_compile_measures(lud_particle_model *m, lud_error *error) {
    const int n = FIRST_REWARD + m->n_reward_rows;
    lud_measure *measures = lud_arena_take_array(m->arena, (size_t)n, sizeof *measures);
    if (!measures) return lud_no_memory(error, "a particle task");
    const bool succeeds = lud_particle_has_success(m);
    measures[SUCCESS] = (lud_measure){.name = "success",
                                      .format = "%.3f",
                                      .help = "episodes that succeeded",
                                      .absent = !succeeds,
                                      .caption = "everybody has arrived"};
    measures[FRACTION] = (lud_measure){
        .name = "fraction", .help = "mean share of the episode until goals are met", .absent = !succeeds};
    measures[COLLISIONS] = (lud_measure){.name = "collisions", .help = "in an episode"};
    measures[ERROR] = (lud_measure){.name = "error",
                                    .help = "error norm at the end",
                                    .absent = !lud_particle_has_goals(m),
                                    .curve = "error norm"};
    for (int k = 0; k < m->n_reward_rows; k++)
        measures[FIRST_REWARD + k] =
            (lud_measure){.name = m->reward_names[k], .help = "return of this reward, mean over agents"};
    m->base.layout.measures = measures;
    m->base.layout.n_measures = n;
    m->base.layout.n_columns = FIRST_REWARD;
    return LUD_OK;
}

void lud_particle_measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    const lud_particle_model *m = (const lud_particle_model *)model;
    for (int i = 0; i < n; i++) {
        const uint8_t *state = states + (size_t)i * model->layout.state_bytes;
        double *to = values + (size_t)i * (size_t)model->layout.n_measures;
        const lud_particle_metrics metrics = lud_particle_get_metrics(m, state);
        to[SUCCESS] = metrics.success;
        to[FRACTION] = metrics.fraction;
        to[COLLISIONS] = metrics.collisions;
        to[ERROR] = model->layout.measures[ERROR].absent ? NAN : lud_particle_error_norm(m, state);
        for (int k = 0; k < m->n_reward_rows; k++)
            to[FIRST_REWARD + k] = lud_particle_reward_return(m, state, k);
    }
}
