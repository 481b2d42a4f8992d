/* Named parameters of networks: values and gradients of a whole set, each one block of device memory laid out
 * by a table. Networks that name the same parameter share it; a clone of a set is a target copy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/device.h"
#include "learn/store/checkpoint.h"

/* How a parameter starts. fan_in and fan_out of a weight[out][in][...] are in * ... and out * ... */
typedef enum lud_init_kind {
    LUD_INIT_CONSTANT,   /* a */
    LUD_INIT_UNIFORM,    /* uniform in [-a, a) */
    LUD_INIT_NORMAL,     /* normal, deviation a */
    LUD_INIT_FAN_IN,     /* uniform in +-1 / sqrt(fan_in): the default of PyTorch's linear and convolution */
    LUD_INIT_KAIMING,    /* normal, deviation a / sqrt(fan_in) (He et al., 2015; a = sqrt 2 for ReLU) */
    LUD_INIT_XAVIER,     /* uniform in +-a sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010) */
    LUD_INIT_ORTHOGONAL, /* rows or columns orthonormal, times a (Saxe et al., 2014) */
    LUD_INIT_LRU_NU,     /* ln(-ln |lambda|), |lambda| on the ring [a, b] (Orvieto et al., 2023, lemma 3.2) */
    LUD_INIT_LRU_THETA,  /* ln(phase), phase uniform in (0, a] */
    LUD_INIT_LRU_GAMMA   /* ln sqrt(1 - |lambda|^2) of the LRU_NU with the same a, b and stream */
} lud_init_kind;

typedef struct lud_init {
    lud_init_kind kind;
    double a, b;
    int64_t fan_in;     /* 0: from the shape */
    const char *stream; /* whose draws: null is the parameter's own name */
} lud_init;

typedef struct lud_parameter {
    const char *name;
    uint64_t hash; /* of the name */
    int n_dimensions;
    int64_t dimensions[LUD_TENSOR_MAX_DIMENSIONS];
    int64_t n;      /* numbers */
    int64_t offset; /* of the first one in the set's blocks */
    lud_init init;
    bool frozen;   /* gets no gradient and is not stepped */
    bool low_rank; /* an optimiser may keep its moments in a low-rank projection */
} lud_parameter;

typedef struct lud_parameters {
    lud_device *device;
    size_t real_bytes; /* 4: floats; 8: doubles (CPU, for gradient checks) */
    int n;
    lud_parameter *items; /* [n] */
    int64_t size;         /* numbers in a block, gaps for alignment included */
    void *values;         /* [size] reals in device memory, null before lud_parameters_build */
    bool borrows_values;  /* of another set (lud_parameters_beside) */
    void *gradients;      /* [size]; null in a clone */
    /* names and growth */
    int capacity;
    bool failed; /* memory ran out while adding: lud_parameters_build reports it */
} lud_parameters;

/* `in_double`: keep doubles instead of floats; only on the CPU. Null when memory is out. */
lud_parameters *lud_parameters_create(lud_device *device, bool in_double);
/* Null is allowed. */
void lud_parameters_destroy(lud_parameters *parameters);
/* The number of the parameter of that name, which is added when it is new. A name that exists with another
 * shape is a broken promise. -1 when memory is out. */
int lud_parameters_add(lud_parameters *parameters, const char *name, int n_dimensions,
                       const int64_t *dimensions, lud_init init);
/* The number of a parameter, -1 when there is none of the name. */
int lud_parameters_find(const lud_parameters *parameters, const char *name);
/* Takes the memory and draws initial values; after this nothing can be added. A draw depends on the seed and
 * the parameter's name only. */
lud_status lud_parameters_build(lud_parameters *parameters, uint64_t seed, lud_error *error);
/* A second set of the same layout and values, without gradients. Null when memory is out. */
lud_parameters *lud_parameters_clone(const lud_parameters *parameters);
/* A second set on the same values, of a set that is built and outlives it, with gradients of its own, which
 * are 0: for what runs backward at the same time. Null when memory is out. */
lud_parameters *lud_parameters_beside(const lud_parameters *parameters);
/* target = source, or target = (1 - tau) target + tau source. Layouts must be equal. */
void lud_parameters_copy(lud_parameters *target, const lud_parameters *source);
void lud_parameters_blend(lud_parameters *target, const lud_parameters *source, double tau);
/* Freezes (or thaws) every parameter whose name begins with `prefix`, before networks are planned; returns
 * how many. */
int lud_parameters_freeze(lud_parameters *parameters, const char *prefix, bool frozen);
int lud_parameters_set_low_rank(lud_parameters *parameters, const char *prefix, bool low_rank);

void lud_parameters_zero_gradients(lud_parameters *parameters);
/* Adds the gradients of `from` to those of `to`, of the same layout in floats; then those of `from` are 0. */
void lud_parameters_take_gradients(lud_parameters *to, lud_parameters *from);
/* Where a parameter's numbers are in device memory. */
void *lud_parameters_value(const lud_parameters *parameters, int index);
void *lud_parameters_gradient(const lud_parameters *parameters, int index);
/* Host copies of one parameter, in double whatever is kept. */
void lud_parameters_read(const lud_parameters *parameters, int index, double *values);
void lud_parameters_read_gradient(const lud_parameters *parameters, int index, double *values);
void lud_parameters_write(lud_parameters *parameters, int index, const double *values);
/* Saves or loads all values, as tensors named `prefix` + name. */
void lud_parameters_visit(lud_parameters *parameters, const char *prefix, lud_checkpoint *checkpoint);
/* Saves or loads a block of device memory laid out like `parameters` (optimiser moments). */
void lud_parameters_visit_block(const lud_parameters *parameters, const char *prefix, void *block,
                                lud_checkpoint *checkpoint);

/* Doubles on the host to and from `n` reals of 4 or 8 bytes in device memory. */
void lud_write_reals(lud_device *device, size_t real_bytes, void *to, int64_t n, const double *values);
void lud_read_reals(lud_device *device, size_t real_bytes, const void *from, int64_t n, double *values);

/* Fills values[n] on the host as `init` says for a parameter of the given name and shape: the same ones with
 * any number of threads. */
void lud_init_values(const lud_init *init, const char *name, int n_dimensions, const int64_t *dimensions,
                     uint64_t seed, int n_threads, double *values);
