/* Data sets, learners and minibatches for the tests of cloning. */
#pragma once
#include "learn/clone/batch.h"
#include "learn/clone/clone.h"
#include "learn/train.h"

#define WORLD(actions)                                                                                       \
    "ludus: 1\nname: t\nworld: particle\n"                                                                   \
    "particle: {task: navigation, agents: 1, obstacles: 0, episode_length: 12, actions: " actions "}\n"      \
    "policies: {other: {type: controller, brake: 0.5}}\n"                                                    \
    "run: {environments: 8, seed: 3}\n"
#define SMALL                                                                                                \
    "batch: 64, report_every: 50, evaluation_episodes: 16, network: {hidden_size: 32, encoder: mlp}, "       \
    "idle_weight: 1, val_fraction: 0.2"

/* Where the group's files lie, and what it recorded there of WORLD("discrete") and WORLD("continuous"). */
extern char clone_folder[], choices_file[64], numbers_file[64];

int clone_set_up(void **state);
int clone_tear_down(void **state);

lud_scenario *read_scenario(const char *text);
/* Episodes of the scenario's own policies. */
void record(const char *text, const char *path, int64_t episodes);

/* A learner of type clone on so many threads. */
typedef struct bed {
    lud_device *device;
    lud_scenario *scenario;
    lud_learner *learner;
} bed;

bed open_text(const char *text, int threads);
/* A learner of WORLD(actions) from `file`, SMALL and with `options`. */
bed open_bed(const char *actions, const char *file, const char *options, int threads);
void close_bed(bed *b);
/* The number of the column `name` in a row. */
double column(const lud_metric *columns, int n, const double *row, const char *name);
/* The number `name` of an evaluation. */
double judged(bed *b, const char *name);
void read_shape(bed *b, lud_arena *arena, lud_clone_options *options, lud_mappo_shape *shape);

/* A minibatch of `rows` samples, with what it is made of. The data set reads its shape: not to be moved. */
typedef struct minibatch {
    lud_arena *arena;
    lud_clone_options options;
    lud_mappo_shape shape;
    lud_clone_data data;
    lud_clone_networks networks;
    lud_clone_batch batch;
} minibatch;

void minibatch_open(minibatch *m, bed *b, int64_t rows);
void minibatch_close(minibatch *m);
