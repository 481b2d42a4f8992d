/* Lookup tables that stand in for networks: rows of numbers by 64-bit key, made on first use. */
#pragma once

#include "learn/empo/memory/features.h"
#include "learn/store/checkpoint.h"

typedef struct lud_empo_table lud_empo_table;

/* Rows of `width` numbers that start at `start`. Null when memory is out. */
lud_empo_table *lud_empo_table_create(int width, double start);
/* Null is allowed. */
void lud_empo_table_destroy(lud_empo_table *table);
/* A key's row, the starting values when it has none: row[width]. */
const float *lud_empo_table_read(const lud_empo_table *table, uint64_t key);
/* How often a key was moved. */
uint64_t lud_empo_table_visits(const lud_empo_table *table, uint64_t key);
/* Moves a row towards target[width] by `rate` of the way, or with `adaptive` by max(rate, n^-power) where n
 * counts the row's moves from 1: power 1 gives the mean of all targets; times an importance weight, at most
 * all the way. Grows the table by doubling; false when memory is out. */
bool lud_empo_table_move(lud_empo_table *table, uint64_t key, const float *target, bool adaptive, double rate,
                         double power, double weight);
int64_t lud_empo_table_rows(const lud_empo_table *table);
void lud_empo_table_visit(lud_empo_table *table, const char *name, lud_checkpoint *checkpoint);

/* Keys of a state, of a person in it, and of a person's goal in it. */
uint64_t lud_empo_state_key(const lud_empo_features *features, const int32_t *record);
uint64_t lud_empo_person_key(uint64_t state_key, int h);
uint64_t lud_empo_goal_key(uint64_t state_key, int h, int goal);
