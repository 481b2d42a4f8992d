#include "learn/mappo/rollout/novelty.h"

#include <math.h>

enum { ROWS = 2, PLACES_LOG2 = 15, PLACES = 1 << PLACES_LOG2 };

void lud_mappo_novelty_open(lud_mappo_novelty *n, lud_arrays *arrays, int64_t n_samples, int n_agents,
                            bool relative) {
    n->n_agents = n_agents;
    if (relative) LUD_TAKE(arrays, n->earned, (size_t)n_agents);
    LUD_TAKE(arrays, n->counts, (size_t)ROWS * PLACES);
    LUD_TAKE(arrays, n->met, (size_t)n_samples);
    LUD_TAKE(arrays, n->found, (size_t)n_samples);
}

/* The finaliser of MurmurHash3 (Appleby): all bits of a hash depend on all bits of x. */
static uint64_t scatter(uint64_t x) {
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

/* One more visit; how many there were with this one. */
static int32_t count(int32_t *counts, uint64_t key) {
    int32_t *place[ROWS], least = INT32_MAX;
    for (int r = 0; r < ROWS; r++) {
        place[r] = &counts[r * PLACES + (int)(key >> r * PLACES_LOG2 & (PLACES - 1))];
        if (*place[r] < least) least = *place[r];
    }
    if (least == INT32_MAX) return least;
    for (int r = 0; r < ROWS; r++) /* others that share a place are not counted as this one */
        if (*place[r] == least) (*place[r])++;
    return least + 1;
}

void lud_mappo_novelty_meet(lud_mappo_novelty *n, const lud_batch *batch, int64_t t,
                            const uint8_t *terminated, const uint8_t *truncated,
                            const uint8_t *final_states) {
    const lud_model *model = batch->model;
    const lud_world *world = model->world;
    const int n_agents = model->layout.n_agents;
    for (int e = batch->first_stepped; e < batch->first_stepped + batch->n_stepped; e++) {
        uint64_t *met = n->met + (t * batch->n_envs + e) * n_agents;
        const uint8_t *from = terminated[e] || truncated[e] ? final_states : batch->states;
        const uint8_t *state = from + (size_t)e * model->layout.state_bytes;
        for (int a = 0; a < n_agents; a++) {
            const bool out = world->is_alive && !world->is_alive(model, state, a);
            met[a] = out ? 0 : scatter(world->situation(model, state, a) + scatter((uint64_t)a + 1));
        }
    }
}

void lud_mappo_novelty_count(lud_mappo_novelty *n, int64_t n_samples) {
    for (int64_t i = 0; i < n_samples; i++)
        n->found[i] = n->met[i] ? (float)(1.0 / sqrt((double)count(n->counts, n->met[i]))) : 0.0f;
}

void lud_mappo_novelty_earn(lud_mappo_novelty *n, int64_t n_steps, int64_t n_rows, double gamma,
                            const float *rewards, const float *masks) {
    for (int64_t row = 0; row < n_rows && n->earned; row++) {
        float *most = &n->earned[row % n->n_agents];
        double sum = 0.0;
        for (int64_t t = n_steps - 1; t >= 0; t--) {
            sum = (double)rewards[t * n_rows + row] + gamma * (double)masks[(t + 1) * n_rows + row] * sum;
            *most = fmaxf(*most, (float)fabs(sum));
        }
    }
}

double lud_mappo_novelty_unit(const lud_mappo_novelty *n, const int *agents, int64_t n_agents) {
    double most = 1.0;
    for (int64_t i = 0; i < n_agents && n->earned; i++) most = fmax(most, (double)n->earned[agents[i]]);
    return most;
}

double lud_mappo_novelty_weight(double weight, uint64_t iteration, uint64_t n_iterations) {
    return weight * fmax(1.0 - 2.0 * (double)iteration / (double)n_iterations, 0.0);
}

void lud_mappo_novelty_visit(lud_mappo_novelty *n, lud_checkpoint *checkpoint) {
    lud_checkpoint_tensor(checkpoint, "mappo.novelty", LUD_TENSOR_I32, 2, (const int64_t[]){ROWS, PLACES},
                          n->counts);
    if (n->earned)
        lud_checkpoint_tensor(checkpoint, "mappo.novelty.earned", LUD_TENSOR_F32, 1,
                              (const int64_t[]){n->n_agents}, n->earned);
}
