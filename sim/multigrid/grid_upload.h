/* The multigrid on a device. */
#pragma once

#include "sim/multigrid/grid_model.h"

/* The device's table for this world, exported by grid_cuda.cu. */
#define LUD_GRID_DEVICE_CODE "lud_grid_cuda_code"

/* lud_world.upload of this world. LUD_ERROR_UNSUPPORTED for observations of coding `cells`. */
lud_status lud_grid_upload(const lud_model *model, struct lud_device *device, void **uploaded,
                           lud_error *error);
