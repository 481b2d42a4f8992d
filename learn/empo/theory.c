#include "learn/empo/theory.h"

#include <math.h>
#include <stddef.h>

const char *const lud_empo_aggregate_names[] = {"mean", "sum", NULL};
const char *const lud_empo_reward_weight_names[] = {"duration", "one", NULL};

static lud_status resolve_rate(double *gamma, double *rho, const char *name, lud_place place,
                               lud_error *error) {
    if (*rho >= 0) {
        if (*gamma != 1)
            return lud_invalid_at(error, place, "gamma_%s and rho_%s are both given; expected one of them",
                                  name, name);
        *gamma = exp(-*rho);
        *rho = -1;
    } else if (*rho != -1) {
        return lud_invalid_at(error, place, "rho_%s is %g; expected a rate >= 0", name, *rho);
    }
    if (!(*gamma > 0 && *gamma <= 1))
        return lud_invalid_at(error, place, "gamma_%s is %g; expected 0 < gamma_%s <= 1", name, *gamma, name);
    return LUD_OK;
}

lud_status lud_empo_theory_check(lud_empo_theory *theory, lud_place place, lud_error *error) {
    if (!(theory->beta_h > 0))
        return lud_invalid_at(error, place, "beta_h is %g; expected a number above 0 or .inf",
                              theory->beta_h);
    LUD_TRY(resolve_rate(&theory->gamma_h, &theory->rho_h, "h", place, error));
    return resolve_rate(&theory->gamma_r, &theory->rho_r, "r", place, error);
}

double lud_empo_reward_weight_of(const lud_empo_theory *theory) {
    if (theory->reward_weight == LUD_EMPO_ONE || theory->gamma_r == 1) return 1;
    return (1 - theory->gamma_r) / -log(theory->gamma_r);
}

int lud_empo_draw(const double *p, int n, double uniform) {
    int drawn = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] <= 0) continue;
        drawn = i;
        if (uniform < p[i]) break;
        uniform -= p[i];
    }
    return drawn;
}
