/* A slow reading of the rules of docs/tribes.md, for comparison: agents by coordinates, maps as drawn, and
 * every way that chance can take followed one after the other. */
#pragma once

#include "sim/tribes/tribes.h"

enum { ORACLE_AGENTS = 6, ORACLE_SIDE = 8, ORACLE_TEAMS = 3, ORACLE_PARTS = 7, ORACLE_COUNTS = 9 };

/* A state, every number that is not used zero. */
typedef struct oracle_state {
    int step;
    int x[ORACLE_AGENTS], y[ORACLE_AGENTS]; /* -1: dead */
    int load[ORACLE_AGENTS][3], health[ORACLE_AGENTS];
    int stock[ORACLE_SIDE][ORACLE_SIDE]; /* [y][x] */
    int store[ORACLE_TEAMS][3];
    int count[ORACLE_TEAMS][ORACLE_COUNTS]; /* seven parts, trades, raids */
} oracle_state;

/* One course of a step: where it leads, how likely it is, and what everybody gets, without weights. */
typedef struct oracle_outcome {
    oracle_state state;
    double probability;
    double part[ORACLE_AGENTS][ORACLE_PARTS];
} oracle_outcome;

typedef struct oracle_outcomes {
    size_t n, capacity;
    oracle_outcome *items;
} oracle_outcomes;

/* The state that the bytes stand for. */
oracle_state oracle_read(const lud_tribes_model *m, const uint8_t *state);
/* Every course of the joint action, appended to `out`, whose items the caller frees. */
void oracle_step(const lud_tribes_model *m, const oracle_state *state, const int32_t *actions,
                 oracle_outcomes *out);

/* A model from the keys of a section `tribes`, indented by two; fails the test where it cannot be read. */
lud_model *tribes_make(const char *section);
/* Puts an agent somewhere, with a load. */
void tribes_put(const lud_model *model, uint8_t *state, int agent, int x, int y, int grain, int wood,
                int ore);
void tribes_put_stock(const lud_model *model, uint8_t *state, int field, int units);
void tribes_put_store(const lud_model *model, uint8_t *state, int team, int kind, int units);
