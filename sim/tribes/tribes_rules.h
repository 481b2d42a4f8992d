/* What one step does, written once: with chances drawn, and along a given course of them. */
#pragma once

#include "sim/tribes/tribes.h"

enum { LUD_TRIBES_MAX_DECISIONS = 64, LUD_TRIBES_MAX_COURSES = 1 << 20 };

/* A course of chance through a step: what was decided at each point where there was something to decide.
 * Playing along it takes the options that stand there and appends the first possible one at every further
 * point. */
typedef struct lud_tribes_course {
    int n, at;
    bool too_long; /* more than LUD_TRIBES_MAX_DECISIONS points */
    struct {
        int32_t option, n_options;
        double probability; /* of two options: of option 1; of more: all are as likely */
    } decision[LUD_TRIBES_MAX_DECISIONS];
} lud_tribes_course;

/* A state being worked on. */
typedef struct lud_tribes_run {
    const lud_tribes_model *m;
    const lud_tribes_map *map;
    uint8_t *state;
    const int32_t *actions; /* [n_agents] */
    int16_t *at;            /* [n_cells + 1] agent in each cell, -1: none; all -1 between two plays */
    int16_t *claim;         /* [n_cells + 1] the first agent that wants to enter, -1; the same */
    float *part;            /* [n_agents][LUD_TRIBES_COMPONENTS] amounts without weights, added to; or null */
    lud_random_key key;     /* for drawing */
    uint32_t tick;
    lud_tribes_course *course; /* null: chances are drawn */
} lud_tribes_run;

/* Plays the step of all agents in run->state. */
void lud_tribes_play(lud_tribes_run *run);
/* The next course after the one just played; false: that was the last. */
bool lud_tribes_next_course(lud_tribes_course *course);
/* The probability of the course just played. */
double lud_tribes_course_probability(const lud_tribes_course *course);
