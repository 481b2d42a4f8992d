/* A RUN: whose it is, its learner, its agents, and what it shows of a state. It is named as
 * learn/runs/parameters.h says. */
#pragma once

#include "agents/cast.h"
#include "agents/overlay_source.h"
#include "learn/runs/parameters.h"
#include "sim/scenario.h"

/* learn/learner.h and kernels/device.h, which the viewer's headers do not go with */
typedef struct lud_device lud_device;
typedef struct lud_learner lud_learner;
typedef struct lud_learner_kind lud_learner_kind;
typedef struct lud_report_request lud_report_request;
typedef struct lud_report lud_report;

/* Loads the scenario of a file or of a RUN, which stands for the one it was made from (overrides may be
 * null), and sets OpenMP's number of threads to it. A missing file is reported with the nearest name in its
 * folder. */
lud_status lud_run_scenario(const char *path, const lud_scenario_overrides *overrides,
                            lud_scenario **scenario, lud_error *error);

/* The scenario that a run was made from. */
lud_status lud_run_made_from(const char *run, lud_scenario **scenario, lud_error *error);
/* Says of a path that names no RUN (lud_run_is) why: there is nothing, or a file. LUD_ERROR_INPUT. */
lud_status lud_run_none(const char *path, lud_error *error);

/* Who left the run, by the file that lies in its folder: that of a kind with a file of its own
 * (solution.empo), else parameters of the learner that `scenario`, the folder's own, names. LUD_ERROR_INPUT
 * when there is neither. */
lud_status lud_run_kind(const char *run, const lud_scenario *scenario, const lud_learner_kind **kind,
                        lud_error *error);

/* Loads the parameters of a run into a learner made from its scenario: it acts and evaluates, and is not
 * trained on. The model is the scenario's, null: names are not compared. `kept` may be null. */
lud_status lud_run_load(const char *run, lud_learner *learner, const lud_model *model, lud_kept *kept,
                        lud_error *error);

/* A run's learner as its checkpoint left it, on a device of its own. */
typedef struct lud_learned {
    lud_device *device;
    lud_learner *learner;
    lud_kept kept;                 /* its parameters */
    lud_scenario *trained, *joint; /* the run's own scenario, and its learner in the other; or null */
} lud_learned;

/* Makes the learner of `scenario` on the device of that name ("cpu", "auto") and loads the run's parameters:
 * it acts and evaluates, and is not trained on. `kind`: what it has to be trained by, null: anything. The
 * `learner:` section is the run's, whatever that of another scenario says; of the run's own scenario it is as
 * the caller has overridden it. Without a kind it is the scenario's. The scenario must outlive it. */
lud_status lud_learned_open(const char *run, const lud_scenario *scenario, const char *device,
                            const lud_learner_kind *kind, lud_learned *learned, lud_error *error);
/* A zeroed one is allowed. */
void lud_learned_close(lud_learned *learned);

/* Lets the run act for the cast's agents, whose scenario has the run's world: a policy of a
 * learner for all but people for whom the scenario's `policies:` names somebody. Does nothing when the
 * learner has no policy. The scenario must outlive the cast; what was loaded is given back with it. */
lud_status lud_run_act(const char *run, const lud_scenario *scenario, lud_cast *cast, lud_error *error);
/* Whether it names somebody for people, so that no run acts for them. */
bool lud_run_people_told(const lud_scenario *scenario);
/* The scenario's agents, for whom the run acts; null: nobody does. RUNs that its `policies` name act for the
 * agents that are left to them (learn/runs/run_named.h). */
lud_status lud_run_cast(const char *run, const lud_scenario *scenario, lud_cast **cast, lud_error *error);
/* What the run knows about states, else what the cast's policies do; null: what the world does.
 * *overlay is null where nothing is known. The scenario and the cast must outlive it. */
lud_status lud_run_overlay(const char *run, const lud_scenario *scenario, const lud_cast *cast,
                           lud_overlay_source **overlay, lud_error *error);

/* The answer to request->query of the run in request->folder (lud_learner_kind.query); a run of a kind that
 * answers none is LUD_ERROR_INPUT. */
lud_status lud_run_query(const lud_report_request *request, lud_report *report, lud_error *error);

/* Iterations after which the parameters of a run were so; 0 for those that are not trained. */
lud_status lud_run_iterations(const char *run, uint64_t *iterations, lud_error *error);

/* A scenario with its agents. */
typedef struct lud_run {
    const char *folder; /* or file, of the run that acts; null: none */
    lud_scenario *scenario;
    lud_cast *cast;
} lud_run;
/* Takes over the scenario, also when it fails. The folder's name must outlive the run. */
lud_status lud_run_open(const char *folder, lud_scenario *scenario, lud_run *run, lud_error *error);
/* A zeroed one is allowed. */
void lud_run_close(lud_run *run);
