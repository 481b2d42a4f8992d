#include "learn/store/profile.h"

#include <assert.h>
#include <inttypes.h>

#include "base/clock.h"

const char *const lud_batching_stages[LUD_BATCHING_STAGES] = {
    [LUD_STAGE_COLLECT] = "stage1_collect", [LUD_STAGE_ENCODE] = "stage2_encode",
    [LUD_STAGE_FORWARD] = "stage3_forward", [LUD_STAGE_SCATTER] = "stage4_scatter",
    [LUD_STAGE_V_H_E] = "stage5_v_h_e",     [LUD_STAGE_CONVERSION] = "tensor_conversion",
};

void lud_profile_begin(lud_profile *profile, int stage) {
    if (!profile) return;
    assert(stage >= 0 && stage < profile->n && profile->n <= LUD_PROFILE_MAX_STAGES);
    profile->started[stage] = lud_clock_seconds();
}

void lud_profile_end(lud_profile *profile, int stage) {
    if (profile) profile->seconds[stage] += lud_clock_seconds() - profile->started[stage];
}

void lud_profile_call(lud_profile *profile) {
    if (profile) profile->calls++;
}

void lud_profile_reset(lud_profile *profile) {
    profile->calls = 0;
    for (int i = 0; i < profile->n; i++) profile->seconds[i] = 0.0;
}

double lud_profile_milliseconds(const lud_profile *profile, int stage) {
    return profile->calls ? 1e3 * profile->seconds[stage] / (double)profile->calls : 0.0;
}

void lud_profile_print(const lud_profile *profile, lud_text *out) {
    int order[LUD_PROFILE_MAX_STAGES];
    double total = 0.0;
    for (int i = 0; i < profile->n; i++) {
        total += lud_profile_milliseconds(profile, i);
        int at = i;
        for (; at > 0 && profile->seconds[order[at - 1]] < profile->seconds[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    lud_text_append(out, "=== %s (%" PRIu64 " calls) ===\n", profile->title, profile->calls);
    for (int i = 0; i < profile->n; i++) {
        const double milliseconds = lud_profile_milliseconds(profile, order[i]);
        lud_text_append(out, "  %-20s: %8.3f ms (%4.1f%%)\n", profile->stages[order[i]], milliseconds,
                        total > 0.0 ? 100.0 * milliseconds / total : 0.0);
    }
    lud_text_append(out, "  %-20s: %8.3f ms\n", "TOTAL", total);
}
