/* The `learner` section of cloning: whom to imitate from which files, windows, losses, networks, acting, and
 * labels that are asked for. */
#pragma once

#include "learn/episodes/pairs.h"
#include "learn/mappo/options.h"
#include "sim/scenario.h"

typedef enum lud_clone_agents {
    LUD_CLONE_AUTO, /* robots where there are some, else everybody */
    LUD_CLONE_ROBOTS,
    LUD_CLONE_PEOPLE,
    LUD_CLONE_ALL
} lud_clone_agents;
typedef enum lud_clone_layout { LUD_CLONE_LAYOUT_FILE, LUD_CLONE_LAYOUT_ALIGNED } lud_clone_layout;
typedef enum lud_clone_last {
    LUD_CLONE_LAST_AUTO,
    LUD_CLONE_LAST_VALID,
    LUD_CLONE_LAST_INVALID
} lud_clone_last;
typedef enum lud_clone_padding {
    LUD_CLONE_PAD_AUTO,
    LUD_CLONE_PAD_ZERO,
    LUD_CLONE_PAD_LAST,
    LUD_CLONE_PAD_NOOP
} lud_clone_padding;

typedef struct lud_clone_window_options {
    int64_t horizon;
    int layout, last_action, padding;
    bool train_on_padding;
} lud_clone_window_options;

typedef struct lud_clone_summary_options {
    double weight; /* 0: no such output */
    int64_t steps; /* 0: the horizon of windows */
} lud_clone_summary_options;

typedef struct lud_clone_pair_options {
    double weight; /* 0: no such output */
    int64_t max_horizon, steps;
    int sampling, delta_rule;
    bool drop_zero;
    double probability;
} lud_clone_pair_options;

typedef struct lud_clone_dagger_options {
    int64_t rounds, labels, environments;
    lud_tree *expert;
} lud_clone_dagger_options;

typedef struct lud_clone_options {
    const char *type;
    lud_text_list data;
    lud_real_list weights;
    bool balance;
    double val_fraction, frame_memory;
    int agents;
    int64_t steps, report_every, batch, shares;
    double learning_rate, max_norm;
    bool decay_learning_rate;
    lud_optimiser_options optimiser;
    bool average_positions; /* the loss is the mean over positions instead of over samples */
    double idle_weight;
    int normalisation, merge;
    lud_clone_window_options windows;
    lud_clone_summary_options summary;
    lud_clone_pair_options pairs;
    bool deterministic, ensemble;
    int64_t execute;
    double ensemble_decay;
    int64_t evaluation_episodes;
    lud_clone_dagger_options dagger;
    lud_mappo_options network; /* those of graph MAPPO that networks are made of */
} lud_clone_options;

extern const lud_option_table lud_clone_option_table;

/* Reads the section of the scenario, resolves paths beside its file, and checks what belongs together. Texts
 * live in the arena. */
lud_status lud_clone_options_read(lud_arena *arena, const lud_scenario *scenario, lud_clone_options *options,
                                  lud_error *error);
/* Whether the agent is one of those who are imitated. */
bool lud_clone_imitates(const lud_clone_options *options, const lud_layout *layout, int agent);
