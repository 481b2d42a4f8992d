#include "cli/rollout_report.h"

#include <string.h>

json_t *lud_mean_json(const lud_mean *mean) {
    return json_pack("{s:f, s:f}", "mean", mean->mean, "deviation", lud_mean_deviation(mean));
}

json_t *lud_rollout_measures_json(const lud_rollout *r) {
    json_t *measures = json_object();
    for (int k = 0; measures && k < r->layout->n_measures; k++)
        if (!r->layout->measures[k].absent)
            json_object_set_new(measures, r->layout->measures[k].name, lud_mean_json(&r->measures[k]));
    return measures;
}

void lud_rollout_print_measures(const lud_rollout *r) {
    int width = 12;
    for (int k = 0; k < r->layout->n_measures; k++) {
        const int length = (int)strlen(r->layout->measures[k].name);
        if (!r->layout->measures[k].absent && length > width) width = length;
    }
    for (int k = 0; k < r->layout->n_measures; k++)
        if (!r->layout->measures[k].absent)
            printf("%-*s %10.3f ± %-10.3f %s\n", width, r->layout->measures[k].name, r->measures[k].mean,
                   lud_mean_deviation(&r->measures[k]), r->layout->measures[k].help);
}
