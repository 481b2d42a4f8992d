/* The CPU backend, and the operations it chooses from. */
#pragma once

#include "kernels/device.h"

extern const lud_backend lud_cpu_backend;

/* The float table compiled for three instruction sets, in kernels/cpu/ops_*.c. */
extern const lud_ops lud_cpu_ops_plain, lud_cpu_ops_avx2, lud_cpu_ops_avx512;
