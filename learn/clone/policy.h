/* A clone acting: chunks of actions carried out in part, or averaged over the steps at which they were
 * predicted (temporal ensembling: Zhao et al., "Learning fine-grained bimanual manipulation with low-cost
 * hardware", 2023). */
#pragma once

#include "agents/cast.h"
#include "learn/clone/networks.h"

/* Lets the clone in folder/checkpoint.safetensors act for those whom it imitates. LUD_ERROR_INPUT when the
 * checkpoint does not fit. */
lud_status lud_clone_join(const lud_scenario *trained, const lud_scenario *scenario, const char *folder,
                          lud_cast *cast, lud_error *error);

/* The same with parameters that are being learned, on their device, and the normalisation of their data.
 * Everything must outlive the cast. */
lud_status lud_clone_join_learner(const lud_clone_options *options, const lud_model *model,
                                  lud_device *device, lud_parameters *parameters,
                                  const lud_normalisation *normalisation, lud_cast *cast, lud_error *error);

/* Saves or loads which windows a clone was trained on; warns where this program's mean something else. */
void lud_clone_visit_semantics(lud_checkpoint *checkpoint);
