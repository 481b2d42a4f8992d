#include "tests/bench/bench.h"

static const lud_bench *const registry[] = {
    &lud_bench_multigrid, //
    &lud_bench_tribes,    //
#ifndef LUDUS_WITHOUT_SDL
    &lud_bench_render, //
#endif
    &lud_bench_kernels,    //
    &lud_bench_statespace, //
    &lud_bench_solve,      //
    &lud_bench_update,     //
    &lud_bench_empo,       //
    &lud_bench_accuracy,   //
    &lud_bench_particle,   //
    &lud_bench_mappo,      //
    &lud_bench_proof,      //
    &lud_bench_training,   //
    &lud_bench_proving,    //
    &lud_bench_tokens,     //
    &lud_bench_record,     //
    &lud_bench_bandit,     //
    &lud_bench_ticks,      //
    &lud_bench_windows,    //
    &lud_bench_growth,     //
};

const lud_bench *const *lud_benches(int *n) {
    *n = sizeof registry / sizeof *registry;
    return registry;
}
