/* A small world with a known exact model, for tests: walkers on a ring, each step stay, left or right; a move
 * slips (to the opposite side) with a given probability, independently for each walker. With a step limit
 * states carry the step count and the reachable set is layered; without, it is cyclic and ends when the
 * walkers meet at place 0. */
#pragma once

#include "sim/world.h"

typedef struct walk_model {
    lud_model model;
    int length;     /* places of the ring, 3..65535 */
    double slip[8]; /* per walker */
    bool random_start;
} walk_model;

/* Free with walk_destroy. */
walk_model *walk_create(int n_walkers, int length, int max_steps);
void walk_destroy(walk_model *walk);
/* The state with these places at a step. */
void walk_state(const walk_model *walk, int step, const int *places, uint8_t *state);
/* Sorted successors computed without sharing code with the world: probability of going from one state to
 * another under a joint action, by the product rule. */
double walk_probability(const walk_model *walk, const uint8_t *from, const int32_t *action,
                        const uint8_t *to);
