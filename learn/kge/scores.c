#include "learn/kge/scores.h"

#include <math.h>

#include "base/target_clones.h"

const char *const lud_kge_scorers[LUD_KGE_SCORERS + 1] = {"rotate", "complex", "distmult", "transe", NULL};

static bool is_complex(const lud_kge_shape *shape) {
    return shape->scorer == LUD_KGE_ROTATE || shape->scorer == LUD_KGE_COMPLEX;
}

int64_t lud_kge_entity_width(const lud_kge_shape *shape) {
    return is_complex(shape) ? 2 * shape->dimension : shape->dimension;
}

int64_t lud_kge_relation_width(const lud_kge_shape *shape) {
    return shape->scorer == LUD_KGE_COMPLEX ? 2 * shape->dimension : shape->dimension;
}

bool lud_kge_is_product(const lud_kge_shape *shape) {
    return shape->scorer == LUD_KGE_DISTMULT || shape->scorer == LUD_KGE_COMPLEX;
}

#define real          float
#define NAME(name)    name
#define OPERATIONS(d) (d)->ops
#define SQRT          sqrtf
#define SIN           sinf
#define COS           cosf
#define FABS          fabsf
#define LEAST         1e-18f
#include "learn/kge/scores_template.h"
#undef real
#undef NAME
#undef OPERATIONS
#undef SQRT
#undef SIN
#undef COS
#undef FABS
#undef LEAST

#define real          double
#define NAME(name)    name##_f64
#define OPERATIONS(d) lud_cpu_ops_f64()
#define SQRT          sqrt
#define SIN           sin
#define COS           cos
#define FABS          fabs
#define LEAST         1e-36
#include "learn/kge/scores_template.h"
