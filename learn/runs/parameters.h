/* The parameters of a RUN, and how it is named.
 *
 * A RUN is named by its folder, when what acts are the parameters of RUN/policy.safetensors (the best,
 * learn/best.h), or by one of its files of parameters: RUN/checkpoint.safetensors names the run as its last
 * parameters act. */
#pragma once

#include "learn/runs/kept.h"
#include "learn/store/checkpoint.h"
#include "sim/world.h"

/* Whether a path names a RUN, not a scenario's file. */
bool lud_run_is(const char *path);
/* Where the name of the file of parameters begins in the name of a run that has one; null: it is a folder. */
const char *lud_run_file(const char *run);
/* The folder of a run; the caller frees it. Null when memory is out. */
char *lud_run_folder(const char *run);
/* Whether a file of that name lies in a folder. */
lud_status lud_run_holds(const char *folder, const char *name, bool *there, lud_error *error);
/* Whether a run has parameters of any kind. */
lud_status lud_run_has_parameters(const char *run, bool *there, lud_error *error);

/* Opens the parameters of the run: those of the file that names it; of a folder policy.safetensors, or, of a
 * run that has none, its checkpoint, else the one before. Refuses what was made by another learner (null: any
 * will do), with other settings than the RUN's scenario.yaml says, or on other names than those of the model
 * (null: not asked). `kept` may be null. */
lud_status lud_run_parameters(const char *run, const char *learner, const lud_model *model,
                              lud_checkpoint **checkpoint, lud_kept *kept, lud_error *error);
