/* Random draws as a function of where they are used (design, idea 2).
 *
 * Every draw is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
 * 2011) with key (seed, environment) and counter (step, agent, purpose, seed's upper half). Nothing is
 * carried from draw to draw, so results do not depend on thread count, batch split or device. The same header
 * compiles as C and as CUDA. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Philox needs no vector instructions; their headers are 70,000 lines, ten times what most files read. */
#ifndef R123_USE_SSE
#define R123_USE_SSE 0
#endif
#include <Random123/philox.h>

#if defined(__CUDACC__)
#define LUD_HD __host__ __device__
#else
#define LUD_HD
#endif

/* What a draw is for; two draws of one (environment, step, agent) never share a purpose. A purpose owns the
 * 2^16 counters (purpose << 16) + 0..65535 for mechanisms that need many blocks. */
typedef enum lud_purpose {
    LUD_PURPOSE_RESET = 1,      /* initial states */
    LUD_PURPOSE_TRANSITION = 2, /* chances of the world's step */
    LUD_PURPOSE_ACTION = 3,     /* sampling an action from a policy */
    LUD_PURPOSE_EXPLORE = 4,    /* epsilon and other exploration decisions */
    LUD_PURPOSE_GOAL = 5,       /* drawing goals */
    LUD_PURPOSE_OBSERVE = 6,    /* observation noise */
    LUD_PURPOSE_PARAMETERS = 7, /* initial weights, random projections */
    LUD_PURPOSE_SHUFFLE = 8,    /* minibatch order, replay sampling */
    LUD_PURPOSE_DISTURB = 9,    /* disturbances of bodies */
    LUD_PURPOSE_NEGATIVE = 10,  /* negative samples */
    LUD_PURPOSE_DROPOUT = 11,   /* dropout masks */
    LUD_PURPOSE_GATE = 12,      /* stochastic gates */
    LUD_PURPOSE_GENERATE = 13,  /* random maps */
    LUD_PURPOSE_USER = 32       /* tests and everything else */
} lud_purpose;

typedef struct lud_random_key {
    uint64_t seed;
    uint32_t environment;
} lud_random_key;

/* One block of four independent, uniform 32-bit words. `lane` counts blocks within the purpose (0..65535). */
typedef struct lud_words {
    uint32_t v[4];
} lud_words;

LUD_HD static inline lud_words lud_draw(lud_random_key key, uint32_t step, uint32_t agent,
                                        lud_purpose purpose, uint32_t lane) {
    philox4x32_ctr_t counter = {{step, agent, ((uint32_t)purpose << 16) + lane, (uint32_t)(key.seed >> 32)}};
    philox4x32_key_t k = {{(uint32_t)key.seed, key.environment}};
    philox4x32_ctr_t r = philox4x32_R(10, counter, k);
    lud_words words = {{r.v[0], r.v[1], r.v[2], r.v[3]}};
    return words;
}

/* Uniform in [0, 1) with 32 random bits; exact in double. */
LUD_HD static inline double lud_unit(uint32_t word) {
    return (double)word * (1.0 / 4294967296.0);
}

/* Uniform in [0, 1) with 53 random bits, from two words. */
LUD_HD static inline double lud_unit53(uint32_t high, uint32_t low) {
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return (double)bits * (1.0 / 9007199254740992.0);
}

/* Uniform in [0, 1) as float with 24 random bits (never rounds up to 1). */
LUD_HD static inline float lud_unit_float(uint32_t word) {
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in 0..n-1 (n > 0) by multiply-shift: no division, bias below n / 2^32. */
LUD_HD static inline uint32_t lud_below(uint32_t word, uint32_t n) {
    return (uint32_t)(((uint64_t)word * n) >> 32);
}

/* Two independent standard normal numbers from two words (Box and Muller, 1958). */
LUD_HD static inline void lud_normal_pair(uint32_t word_a, uint32_t word_b, double normal[2]) {
    double u = ((double)word_a + 1.0) * (1.0 / 4294967296.0); /* (0, 1]: the logarithm stays finite */
    double angle = 6.283185307179586476925286766559 * lud_unit(word_b);
    double radius = sqrt(-2.0 * log(u));
    normal[0] = radius * cos(angle);
    normal[1] = radius * sin(angle);
}
