/* A CUDA module of another build: all that is right about it is the name of its symbol. */
#include "kernels/device.h"
#include "module_abi.h"

extern const lud_backend lud_cuda_backend;
const lud_backend lud_cuda_backend = {.abi = LUD_MODULE_ABI + 1, .name = "cuda"};
