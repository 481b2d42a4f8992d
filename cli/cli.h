/* The `ludus` command: verbs, their flags, and what they share.
 *
 * Every verb is one file that exports a lud_verb; its flags are one table, from which parsing and help
 * follow. Exit codes: 0 done, 1 the run failed, 2 the call or a file was wrong. Results go to stdout,
 * everything else to stderr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/ranks/ranks.h"
#include "base/status.h"
#include "base/text.h"
#include "learn/runs/run.h"
#include "sim/scenario.h"

typedef enum lud_flag_type {
    LUD_FLAG_SWITCH, /* bool; takes no value */
    LUD_FLAG_INT,    /* int64_t */
    LUD_FLAG_REAL,   /* double */
    LUD_FLAG_MEMORY, /* double: GiB, given as such or with a unit (base/number.h) */
    LUD_FLAG_TEXT,   /* const char * */
    LUD_FLAG_LIST    /* lud_flag_list; may be given several times */
} lud_flag_type;

enum { LUD_FLAG_LIST_ITEMS = 64 };
typedef struct lud_flag_list {
    const char *items[LUD_FLAG_LIST_ITEMS];
    int n;
} lud_flag_list;

typedef struct lud_flag {
    const char *name; /* without the dashes */
    char letter;      /* short form, or 0 */
    lud_flag_type type;
    size_t offset;           /* of the field in the verb's values */
    double minimum, maximum; /* INT, REAL, MEMORY: allowed range, both ends included */
    const char *argument;    /* what stands for the value in the help, e.g. "N" */
    const char *help;
} lud_flag;

/* One row one flag: its name, letter (or 0) and field in FLAGS, the struct that the verb's flags fill; for
 * numbers the allowed range; what stands for the value in the help; the help. A field of the wrong type does
 * not compile. */
#define FLAG_ROW(name, letter, type, c_type, field, ...)                                                     \
    { name, letter, type, offsetof(FLAGS, field) + _Generic(((FLAGS *)0)->field, c_type : 0), __VA_ARGS__ }
#define SWITCH_FLAG(name, letter, field, help)                                                               \
    FLAG_ROW(name, letter, LUD_FLAG_SWITCH, bool, field, 0, 0, NULL, help)
#define INT_FLAG(name, letter, field, ...)  FLAG_ROW(name, letter, LUD_FLAG_INT, int64_t, field, __VA_ARGS__)
#define REAL_FLAG(name, letter, field, ...) FLAG_ROW(name, letter, LUD_FLAG_REAL, double, field, __VA_ARGS__)
#define MEMORY_FLAG(name, letter, field, ...)                                                                \
    FLAG_ROW(name, letter, LUD_FLAG_MEMORY, double, field, __VA_ARGS__)
#define TEXT_FLAG(name, letter, field, ...)                                                                  \
    FLAG_ROW(name, letter, LUD_FLAG_TEXT, const char *, field, 0, 0, __VA_ARGS__)
#define LIST_FLAG(name, letter, field, ...)                                                                  \
    FLAG_ROW(name, letter, LUD_FLAG_LIST, lud_flag_list, field, 0, 0, __VA_ARGS__)

/* In the table of a verb: its rows `flags`, and the struct FLAGS that they fill. */
#define VERB_FLAGS .flags = flags, .n_flags = sizeof flags / sizeof *flags, .value_bytes = sizeof(FLAGS)

typedef struct lud_verb {
    const char *name;
    const char *about;     /* one line */
    const char *arguments; /* what stands behind the name, e.g. "SCENARIO" */
    int min_arguments, max_arguments;
    const lud_flag *flags;
    int n_flags;
    size_t value_bytes;                 /* of the struct the flags fill */
    void (*set_defaults)(void *values); /* null: all zero */
    bool over_processes;                /* several processes of a launcher do it together (base/ranks) */
    const lud_option_table *keys;       /* that the verb's help explains as well, or null */
    const char *notes;                  /* further lines of the verb's help, or null */
    /* Does it; returns LUD_OK or the reason why not, with a message. */
    lud_status (*run)(void *values, const char *const *arguments, int n_arguments, lud_error *error);
} lud_verb;

extern const lud_verb lud_verb_run, lud_verb_record, lud_verb_inspect, lud_verb_bench, lud_verb_help;
/* Of parts that a build may lack; null then. */
extern const lud_verb lud_verb_view __attribute__((weak));
extern const lud_verb lud_verb_train __attribute__((weak));
extern const lud_verb lud_verb_eval __attribute__((weak));
extern const lud_verb lud_verb_solve __attribute__((weak));
extern const lud_verb lud_verb_sweep __attribute__((weak));
extern const lud_verb lud_verb_plot __attribute__((weak));
extern const lud_verb lud_verb_experiment __attribute__((weak));
extern const lud_verb lud_verb_convert __attribute__((weak));

/* Fills verbs[LUD_MAX_VERBS] with all verbs of this build; returns their number. */
enum { LUD_MAX_VERBS = 24 };
int lud_verbs(const lud_verb **verbs);
/* The processes that a launcher has started to do this together; null: one alone. */
lud_ranks *lud_processes(void);
/* What calls this program as it was called now: for commands that are printed to be typed. */
const char *lud_program(void);
/* Null, with a message and the nearest name, when there is none. */
const lud_verb *lud_verb_find(const char *name, lud_error *error);

/* Reads the words behind the verb into `values` and `arguments` (room for n_words). --help sets *help and
 * stops. */
lud_status lud_flags_parse(const lud_verb *verb, char *const *words, int n_words, void *values,
                           const char **arguments, int *n_arguments, bool *help, lud_error *error);
/* What `ludus VERB --help` prints. */
void lud_verb_print_help(const lud_verb *verb, FILE *out);

/* The flags of every verb that runs a scenario. */
typedef struct lud_scenario_flags {
    lud_flag_list set;
    lud_run_options run;                       /* negative: as the scenario says */
    const char *precision;                     /* null: as the scenario says */
    const struct lud_scenario_number *numbers; /* [n_numbers] of other flags */
    int n_numbers;
    const char *view;                        /* file of a view; null: none */
    const struct lud_scenario_value *values; /* [n_values] of other flags */
    int n_values;
} lud_scenario_flags;
void lud_scenario_flags_default(lud_scenario_flags *flags);
/* The flags as overrides, which point into them. */
lud_status lud_scenario_flags_overrides(const lud_scenario_flags *flags, lud_scenario_overrides *overrides,
                                        lud_error *error);

/* Their rows, for the lud_scenario_flags at a field of FLAGS. */
#define LUD_SCENARIO_FLAG_ROWS(field)                                                                        \
    LIST_FLAG("set", 0, field.set, "KEY=VALUE", "override a key of the scenario"),                           \
        INT_FLAG("seed", 's', field.run.seed, 0, 9.2e18, "S", "seed of every random draw"),                  \
        INT_FLAG("threads", 't', field.run.threads, 1, 4096, "N", "threads to use")
#define LUD_PRECISION_FLAG_ROW(field)                                                                        \
    TEXT_FLAG("precision", 0, field.precision, "WORD",                                                       \
              "of matrix products: f32, bf16 or tf32 (run.precision)")
#define LUD_BATCH_FLAG_ROWS(field)                                                                           \
    INT_FLAG("episodes", 'n', field.run.episodes, 1, 1e12, "N", "episodes to run"),                          \
        INT_FLAG("envs", 'e', field.run.environments, 1, 1 << 20, "N", "environments side by side")

/* Memory is given alike to all verbs. */
#define LUD_MEMORY_FLAG_ROW(field, help) MEMORY_FLAG("memory", 'm', field, 0.001, 1e6, "SIZE", help)

/* Loads the scenario with the flags' overrides; a missing file is reported with the nearest name in its
 * folder. Sets OpenMP's number of threads. Free with lud_scenario_destroy. */
lud_status lud_scenario_open(const char *path, const lud_scenario_flags *flags, lud_scenario **scenario,
                             lud_error *error);

/* The same with its agents. Who acts: the RUN that --policy names, else `path`, where it is a RUN; else the
 * scenario's own policies. A `policy` that is no RUN whose learner has one for this world is an error. */
lud_status lud_run_open_with(const char *path, const lud_scenario_flags *flags, const char *policy,
                             lud_run *run, lud_error *error);

/* Ends a verb's output; an error when it cannot be written. */
lud_status lud_flush_output(lud_error *error);
/* Prints the text and frees it. */
void lud_print_text(lud_text *text);
/* Ends a verb with its learner's report (learn/learner.h), which `status` is about: prints and frees it. */
struct lud_report;
lud_status lud_print_report(lud_status status, struct lud_report *report, lud_error *error);
/* Prints `root` (taken over; null: there was no memory for it) as the verb's output and ends it. */
struct json_t;
lud_status lud_print_json(struct json_t *root, lud_error *error);
