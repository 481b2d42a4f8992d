#include "learn/empo/overlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "learn/empo/layout.h"

typedef struct records_source {
    lud_overlay_source base;
    lud_state_records records;
    const lud_model *model;
    lud_empo_layout layout;
    lud_arena *arena;
    double *goal_weight; /* [n_goals] */
} records_source;

/* Null where nothing is known of the state, as at the end. */
static const double *record_of(const records_source *s, const uint8_t *state) {
    return s->model->world->is_terminal(s->model, state) ? NULL : s->records.of(s->records.context, state);
}

static bool quantity_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    const records_source *s = (const records_source *)source;
    const double *record = record_of(s, state);
    if (!record) return false;
    memcpy(values, record + s->layout.x_h, (size_t)s->layout.n_humans * sizeof *values);
    values[s->layout.n_humans] = record[s->layout.u_r];
    values[s->layout.n_humans + 1] = record[s->layout.v_r];
    return true;
}

static bool choice_probabilities(lud_overlay_source *source, const uint8_t *state, double *values) {
    const records_source *s = (const records_source *)source;
    const double *record = record_of(s, state);
    if (record) memcpy(values, record + s->layout.pi_r, (size_t)s->layout.n_robot_actions * sizeof *values);
    return record;
}

static bool goal_values(lud_overlay_source *source, const uint8_t *state, int agent, double *values) {
    const records_source *s = (const records_source *)source;
    const int h = lud_empo_person_of(&s->layout, agent);
    const double *record = h < 0 ? NULL : record_of(s, state);
    if (!record) return false;
    memcpy(values, record + s->layout.v_h_e + s->layout.goal_begin[h],
           (size_t)lud_empo_goals_of(&s->layout, h) * sizeof *values);
    return true;
}

static bool action_probabilities(lud_overlay_source *source, const uint8_t *state, const uint8_t *hidden,
                                 int agent, int goal, double *p) {
    (void)hidden; /* everybody's policy follows from the state */
    const records_source *s = (const records_source *)source;
    const lud_empo_layout *layout = &s->layout;
    const double *record = record_of(s, state);
    if (!record) return false;
    const int h = lud_empo_person_of(layout, agent), n = h < 0 ? 0 : layout->n_human_actions[h];
    if (h < 0)
        lud_empo_robot_part(layout, s->model, record + layout->pi_r, agent, p);
    else if (goal >= 0 && goal < lud_empo_goals_of(layout, h))
        memcpy(p, record + layout->policies + layout->policy_begin[h] + goal * n, (size_t)n * sizeof *p);
    else
        lud_empo_marginal_of(layout, s->goal_weight, record, h, p);
    return true;
}

static void destroy(lud_overlay_source *source) {
    records_source *s = (records_source *)source;
    if (s->records.destroy) s->records.destroy(s->records.context);
    lud_arena_destroy(s->arena);
    free(s);
}

/* What the names of the theory stand for (docs/empo-exact.md). */
static const char about_x[] =
    "X_h, the power of a person: over all goals that the person may have, the sum of their "
    "weight times V_h^e to the power zeta",
                  about_u[] =
                      "U_r, what this state is worth to the robots: it grows with the power X_h of people, "
                      "most with that of those who have the least",
                  about_v[] =
                      "V_r, the robots' value: what U_r of this state and the later ones is expected to "
                      "add up to, discounted",
                  about_goals[] =
                      "V_h^e: how likely a person reaches a goal when everybody acts as in this solution, "
                      "later counting less",
                  about_choices[] = "\xcf\x80_r: how likely the robots do this together; the larger Q_r, the "
                                    "likelier";

static bool fill(records_source *s) {
    const lud_empo_layout *layout = &s->layout;
    int n_quantities = layout->n_humans + 2;
    lud_overlay_quantity *q = lud_arena_take_array(s->arena, (size_t)n_quantities, sizeof *q);
    const char **choices = lud_arena_take_array(s->arena, (size_t)layout->n_robot_actions, sizeof *choices);
    s->goal_weight = lud_arena_take_array(s->arena, (size_t)layout->n_goals, sizeof *s->goal_weight);
    if (!q || !choices || !s->goal_weight) return false;
    lud_empo_goal_weights(layout, s->model, s->goal_weight);
    double most = 0; /* X_h is a sum over goals of weight times something up to 1 */
    for (int h = 0; h < layout->n_humans; h++) {
        double sum = 0;
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) sum += s->goal_weight[g];
        most = sum > most ? sum : most;
        q[h] = (lud_overlay_quantity){.unit = true, .about = about_x};
        snprintf(q[h].name, sizeof q[h].name, "X_h person %d", layout->humans[h]);
        snprintf(q[h].group, sizeof q[h].group, "X_h");
    }
    for (int h = 0; h < layout->n_humans; h++) q[h].most = most;
    q[layout->n_humans] = (lud_overlay_quantity){.name = "U_r", .group = "U_r", .about = about_u};
    q[layout->n_humans + 1] = (lud_overlay_quantity){.name = "V_r", .group = "V_r", .about = about_v};
    for (int k = 0; k < layout->n_robot_actions; k++) {
        char text[256];
        lud_empo_robot_name(s->model, layout, k, text);
        if (!(choices[k] = lud_arena_text(s->arena, text, strlen(text)))) return false;
    }
    s->base = (lud_overlay_source){.goal_value_name = "V_h^e",
                                   .goal_value_about = about_goals,
                                   .goal_value_most = 1,
                                   .n_quantities = n_quantities,
                                   .quantities = q,
                                   .choice_name = "\xcf\x80_r, the robots' policy",
                                   .choice_group = "\xcf\x80_r",
                                   .choice_about = about_choices,
                                   .n_choices = layout->n_robots ? layout->n_robot_actions : 0,
                                   .choice_names = choices,
                                   .quantity_values = quantity_values,
                                   .choice_probabilities = choice_probabilities,
                                   .goal_values = goal_values,
                                   .action_probabilities = action_probabilities,
                                   .destroy = destroy};
    return true;
}

lud_status lud_empo_overlay_create(lud_state_records records, const lud_model *model,
                                   lud_overlay_source **source, lud_error *error) {
    records_source *s = calloc(1, sizeof *s);
    if (!s || !(s->arena = lud_arena_create(0))) {
        if (records.destroy) records.destroy(records.context);
        free(s);
        return lud_no_memory(error, "the overlay");
    }
    s->records = records;
    s->model = model;
    lud_status status = lud_empo_layout_find(model, &s->layout, error);
    if (!status && !fill(s)) status = lud_no_memory(error, "the overlay");
    if (status)
        destroy(&s->base);
    else
        *source = &s->base;
    return status;
}
