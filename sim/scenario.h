/* A scenario file: one world, who acts in it, what they may want, how they learn, how it is shown.
 *
 * This module reads the parts that concern the world and keeps the others (`policies`, `learner`) as trees
 * for the folders above. Files without a `ludus:` line are read as the reference's multigrid world files. */
#pragma once

#include "base/options/options.h"
#include "kernels/device.h"
#include "sim/view.h"
#include "sim/world.h"

typedef struct lud_run_options {
    int64_t environments;
    int64_t seed;
    int64_t episodes;
    int64_t steps;
    int64_t threads; /* 0: all cores */
    int precision;   /* lud_precision of devices */
} lud_run_options;
extern const lud_option_table lud_run_option_table;
extern const char *const lud_precision_names[]; /* null-terminated */
/* Every number negative: nothing is asked for. */
extern const lud_run_options lud_run_as_written;

/* What a caller wants otherwise than the file says. */
typedef struct lud_scenario_overrides {
    const char *const *set; /* [n_set] `section.key=value`, see lud_tree_set */
    int n_set;
    const struct lud_scenario_number {
        const char *source, *path; /* who asks, for messages: `--vary`; and for what: `learner.beta_h` */
        double value;
        const char *assignment; /* `learner.type=clone`, where the value is no number; else null */
    } * numbers;                /* [n_numbers], after those of `set` */
    int n_numbers;
    const char *view; /* a file of the keys of `view`, which come before the scenario's; null: none */
    const struct lud_scenario_value {
        const char *source, *path, *value; /* who asks: `--theme`; for what: `view.theme`; its YAML */
        bool words;                        /* `value` is a text as it stands */
    } * values;                            /* [n_values], after all of these */
    int n_values;
    lud_run_options run; /* within the ranges of lud_run_option_table; negative: as the file says */
    const char *text;    /* is read in the place of what is in the file; null: the file is */
} lud_scenario_overrides;

typedef struct lud_scenario {
    lud_arena *arena;
    const char *path;
    const char *name, *about;
    const lud_world *world;
    lud_model *model;
    lud_run_options run;
    bool environments_given; /* by the file or an override; else a learner may choose their number */
    lud_view_section view;
    lud_tree *root;     /* the whole file after includes and overrides */
    lud_tree *policies; /* section trees for the folders above; null when absent */
    lud_tree *learner;
    struct lud_ranks *ranks; /* processes that do it together, set by the caller; null: this one alone */
} lud_scenario;

/* Opens a device (lud_device_open) with the run's number of threads, precision and processes. */
lud_status lud_scenario_device(const lud_scenario *scenario, const char *choice, lud_device **device,
                               lud_error *error);

/* Loads a file and applies `n_set` assignments of the form `section.key=value` (see lud_tree_set). */
lud_status lud_scenario_load(const char *path, const char *const *set, int n_set, lud_scenario **scenario,
                             lud_error *error);
/* The same with any overrides; `files` (zeroed before, or null) gets every file that was asked for, includes
 * too, also on failure. */
lud_status lud_scenario_load_with(const char *path, const lud_scenario_overrides *overrides,
                                  lud_tree_files *files, lud_scenario **scenario, lud_error *error);
/* The same from memory; `name` stands for the path in messages and for relative paths. */
lud_status lud_scenario_read(const char *name, const char *text, size_t length, const char *const *set,
                             int n_set, lud_scenario **scenario, lud_error *error);
/* The same with any overrides; `files` (zeroed before, or null) gets those that they name. */
lud_status lud_scenario_read_with(const char *name, const char *text, size_t length,
                                  const lud_scenario_overrides *overrides, lud_tree_files *files,
                                  lud_scenario **scenario, lud_error *error);
void lud_scenario_destroy(lud_scenario *scenario);
/* The effective configuration as a tree: name, about, world, the world's section and `run` with all defaults;
 * `policies`, `learner` and `view` as they stand in the file (callers replace those they have read). It reads
 * back as the same scenario. */
lud_status lud_scenario_effective(const lud_scenario *scenario, lud_arena *arena, lud_tree **root,
                                  lud_error *error);
