/* How agents improve: the interface of a learner.
 *
 * A learner owns its networks, buffers and environments. It is driven by learn/train.h, which writes
 * progress, metrics and checkpoints and handles interrupts, the same for every learner.
 *
 * Several processes train it together (base/ranks, the ranks of its device): each calls it in the same order,
 * and all come to the same state and the same rows, so calls may exchange something and agree on how they
 * end. A learner that cannot do something so says so when it is created. */
#pragma once

#include "agents/cast.h"
#include "base/curves.h"
#include "base/progress.h"
#include "kernels/device.h"
#include "learn/store/checkpoint.h"
#include "learn/store/metrics.h"
#include "sim/scenario.h"

typedef struct lud_learner lud_learner;
struct json_t;
struct lud_overlay_source;

/* What a report about a RUN is asked for. Of a report on the whole RUN (`ludus eval`) a kind honours the
 * fields that its `honours` has bits for; the others are as if they were not given. */
typedef struct lud_report_request {
    const char *folder;                      /* the RUN */
    const lud_scenario *scenario;            /* its own, with what the caller overrides */
    const lud_scenario_overrides *overrides; /* these, of a report on the whole RUN */
    bool json;
    bool curves;          /* also as curves */
    const char *against;  /* null: not given. Another RUN to compare with */
    const char *policy;   /* null: not given. Who acts in its place: a RUN, or a policy in YAML */
    const char *split;    /* null: not given */
    int64_t n_queries;    /* negative: not given; 0: all */
    int64_t episodes;     /* 0: not given */
    const uint8_t *state; /* of describe_state */
    const char *query;    /* of query */
    int64_t width;        /* of query: paths of its search */
    int64_t answers;      /* of query: most that are shown */
} lud_report_request;
enum { LUD_HONOURS_POLICY = 1, LUD_HONOURS_SPLIT = 2, LUD_HONOURS_QUERIES = 4, LUD_HONOURS_EPISODES = 8 };
/* PROCESSES: several do it together (base/ranks); else it is the work of one. EVALUATION_EPISODES: its own
 * evaluation plays as many as its option evaluation_episodes says. POLICY_ALONE: what it says of another
 * policy needs no RUN, the scenario of one will do. */
enum { LUD_HONOURS_CURVES = 16, LUD_HONOURS_AGAINST = 32, LUD_HONOURS_PROCESSES = 64 };
enum { LUD_HONOURS_EVALUATION_EPISODES = 128, LUD_HONOURS_POLICY_ALONE = 256 };

/* Of query, where nobody says more: paths side by side, and answers that are shown. */
enum { LUD_QUERY_WIDTH = 32, LUD_QUERY_ANSWERS = 3 };

/* The answer, as text or, where the request says so, as an object, and its curves. Zeroed before; the caller
 * frees text, json and arena, also on failure, when text holds what was found before. */
typedef struct lud_report {
    lud_text text;
    struct json_t *json;
    const lud_plot_panel *panels; /* [n_panels], in the arena */
    int n_panels;
    lud_arena *arena; /* may be null */
} lud_report;

/* By which column of its evaluation or of its metrics parameters are better than others. */
typedef struct lud_score {
    const char *column; /* null: by none */
    bool least;         /* less is better */
} lud_score;

typedef struct lud_learner_kind {
    const char *name;                /* the word after `learner: {type: ...}` */
    const char *about;               /* one line */
    const lud_option_table *options; /* of the `learner` section, for help and docs; may be null */
    size_t values;                   /* with options: where their values in effect lie in the learner */
    const char *world;               /* the world that it needs; null: any */
    const char *file;                /* what it leaves in a RUN; null: the checkpoint of a training */
    bool needs_goals;                /* the world has successors and goals */
    bool counts_steps; /* `run: {steps: N}` sets its length; a scenario of another that has it is refused */

    /* A learner for a scenario, which outlives it; reads the `learner` section. Takes all memory. Null: it is
     * solved (`ludus solve`), not trained; then only join, overlay and the reports are there. */
    lud_status (*create)(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error);
    void (*destroy)(lud_learner *learner);
    /* One iteration: collect, update. Fills row[n_columns]. Allocates nothing. At places in it, several times
     * a second, it calls lud_progress_beat with the learner's `progress`, and returns its LUD_INTERRUPTED.
     * What goes into the checkpoint is then what `visit` had saved before it, and the learner is not used any
     * more; with `goes_on_within` it stops only where `visit` saves all of it, and the next call, also of a
     * resumed run, ends the iteration with the same row and the same bits. */
    bool goes_on_within;
    lud_status (*iterate)(lud_learner *learner, double *row, lud_error *error);
    /* Whether that from which a training begins anew is there and fits (a RUN to start from): asked before
     * its folder is made, so that what is missing leaves none. The first iteration reads it, also of a run
     * that was stopped before it. Null: nothing is needed. */
    lud_status (*can_begin)(lud_learner *learner, lud_error *error);
    /* The learner's own measures at its present state (regret, success rate ...): fills
     * row[n_evaluation_columns]. Does not change what later iterations do, also when it was interrupted, for
     * which it asks as iterate does. Null: none. */
    lud_status (*evaluate)(lud_learner *learner, double *row, lud_error *error);
    /* Saves or loads everything that later iterations depend on, so that a resumed run goes on bit for bit:
     * weights, moments, counters, buffers, environments (see learn/store/checkpoint.h). */
    void (*visit)(lud_learner *learner, lud_checkpoint *checkpoint);
    /* The part of it that acting and evaluating need, and nothing else: the weights. `visit` begins with it.
     */
    void (*visit_policy)(lud_learner *learner, lud_checkpoint *checkpoint);
    lud_score score;          /* a column of the evaluation, or one of iterate's that is seldom measured */
    lud_score training_score; /* a column of iterate's, for trainings in which the first is not measured; its
                               * mean over many iterations counts */
    /* A policy that acts as has been learned; the learner must outlive it and is not trained meanwhile. Null:
     * none. */
    lud_status (*policy)(lud_learner *learner, lud_policy **policy, lud_error *error);
    /* For policies that transfer: lets what was trained on one scenario, in its run's folder, act in a cast
     * of another. Used instead of `policy` where it is there. */
    lud_status (*join)(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                       lud_cast *cast, lud_error *error);
    /* Appends what else is to be said about the policy at its present state (stability); may be null. Does
     * not change what later iterations do. */
    lud_status (*inspect)(lud_learner *learner, lud_text *out, lud_error *error);
    /* Appends tables worth reading at the end of a run (stage times); may be null. */
    void (*report)(lud_learner *learner, lud_text *out);
    /* What the RUN in `folder` knows about the states of the scenario, to be drawn with them; scenario and
     * cast outlive it. Null: what the cast's policies know. */
    lud_status (*overlay)(const char *folder, const lud_scenario *scenario, const lud_cast *cast,
                          struct lud_overlay_source **source, lud_error *error);
    /* Reports on a RUN: on the whole (`ludus eval`; null: its learner's evaluation), on one state (`ludus
     * inspect`; null: nothing is said) and the answer to a query (`ludus run --query`; null: none). */
    int honours;             /* LUD_HONOURS_... or-ed */
    bool adds_to_evaluation; /* evaluate_run says what follows its learner's evaluation; it may be nothing */
    lud_status (*evaluate_run)(const lud_report_request *request, lud_report *report, lud_error *error);
    lud_status (*describe_state)(const lud_report_request *request, lud_report *report, lud_error *error);
    lud_status (*query)(const lud_report_request *request, lud_report *report, lud_error *error);
    /* With query: appends one that can be asked of this world, for a command line in double quotes. */
    void (*example_query)(const lud_model *model, lud_text *out);
} lud_learner_kind;

/* Every learner's own struct begins with this. */
struct lud_learner {
    const lud_learner_kind *kind;
    const lud_metric *columns; /* of iterate's row */
    int n_columns;
    const lud_metric *evaluation_columns;
    int n_evaluation_columns;
    uint64_t n_iterations;  /* after which training ends */
    const char *chosen;     /* what automatic options were set to and why, a line each; null or empty: none */
    int64_t n_environments; /* 0: as the scenario's run.environments, else what stands in its place */
    bool keeps_last;        /* no parameters are better than the last ones, whatever their score */
    lud_progress *progress; /* of the training in hand, for lud_progress_beat; or null */
};

/* Appends the learners that a scenario of this world can be trained by, `graph-mappo, empo-phase1 or ...`. */
void lud_learner_list(const lud_world *world, lud_text *out);
/* Learners of this build; null when none has the name. */
const lud_learner_kind *lud_learner_find(const char *name);
/* The kind that the scenario's `learner.type` names. The scenario has a `learner:` section. */
lud_status lud_learner_kind_of(const lud_scenario *scenario, const lud_learner_kind **kind, lud_error *error);
/* All of them (learn/registry.c); *n is their number. */
const lud_learner_kind *const *lud_learners(int *n);
/* The learner that the scenario's `learner.type` names. An unknown or missing type, and a world that it does
 * not learn in, is an error with its place. */
lud_status lud_learner_create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                              lud_error *error);
/* Writes the `learner` section of the scenario in `root` with every option of the kind at its value in
 * effect, and run.environments where the learner has chosen them; the section is kept as it stands when the
 * kind has no options. */
lud_status lud_learner_write(const lud_learner *learner, lud_arena *arena, lud_tree *root, lud_error *error);
/* Null is allowed. */
void lud_learner_destroy(lud_learner *learner);
