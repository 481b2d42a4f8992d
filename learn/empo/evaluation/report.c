#include "learn/empo/evaluation/report.h"

#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "base/progress.h"

void lud_empo_report_print(const lud_model *model, const lud_empo_layout *layout, const double *record,
                           lud_text *out) {
    lud_text_append(out, "V_r = %.6g, U_r = %.6g\n\n", record[layout->v_r], record[layout->u_r]);
    for (int h = 0; h < layout->n_humans; h++) {
        lud_text_append(out, "person %d: power X_h = %.6g\n", layout->humans[h], record[layout->x_h + h]);
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            lud_text text = {0};
            if (model->world->describe_goal)
                model->world->describe_goal(model, layout->humans[h], g - layout->goal_begin[h], &text);
            lud_text_append(out, "  %-32s V_h^e %8.5f   V_h^m %8.5f\n", text.bytes ? text.bytes : "goal",
                            record[layout->v_h_e + g], record[layout->v_h_m + g]);
            lud_text_free(&text);
        }
    }
    lud_text_append(out, "\nrobots:\n");
    for (int r = 0; r < layout->n_robot_actions; r++) {
        char name[256];
        lud_text_append(out, "  %-32s pi_r  %8.5f   Q_r   %.6g\n",
                        lud_empo_robot_name(model, layout, r, name), record[layout->pi_r + r],
                        record[layout->q_r + r]);
    }
}

json_t *lud_empo_report_json(const lud_model *model, const lud_empo_layout *layout, const double *record) {
    json_t *people = json_array(), *robots = json_array();
    for (int h = 0; h < layout->n_humans; h++) {
        json_t *goals = json_array();
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            lud_text text = {0};
            if (model->world->describe_goal)
                model->world->describe_goal(model, layout->humans[h], g - layout->goal_begin[h], &text);
            json_array_append_new(goals,
                                  json_pack("{s:s, s:f, s:f}", "goal", text.bytes ? text.bytes : "", "V_h_e",
                                            record[layout->v_h_e + g], "V_h_m", record[layout->v_h_m + g]));
            lud_text_free(&text);
        }
        json_array_append_new(people, json_pack("{s:i, s:f, s:o}", "agent", layout->humans[h], "X_h",
                                                record[layout->x_h + h], "goals", goals));
    }
    for (int r = 0; r < layout->n_robot_actions; r++) {
        char name[256];
        json_array_append_new(robots, json_pack("{s:s, s:f, s:f}", "action",
                                                lud_empo_robot_name(model, layout, r, name), "pi_r",
                                                record[layout->pi_r + r], "Q_r", record[layout->q_r + r]));
    }
    return json_pack("{s:f, s:f, s:o, s:o}", "V_r", record[layout->v_r], "U_r", record[layout->u_r], "people",
                     people, "robots", robots);
}
static const char *name_of(const char *const *names, uint32_t number) {
    for (uint32_t k = 0; names[k]; k++)
        if (k == number) return names[k];
    return "?";
}

void lud_empo_report_solution(const lud_empo_solution *solution, lud_text *out) {
    const lud_empo_header *h = solution->header;
    char states[16], bytes[16];
    lud_text_append(out, "\nsolution %s\n", solution->path);
    lud_text_append(out,
                    "  %s states of %" PRIu64 " bytes in %" PRIu64 " layers; %" PRIu64
                    " numbers a state, %s in all\n",
                    lud_format_count((double)h->n_states, states), h->state_bytes, h->n_layers,
                    h->record_doubles, lud_format_memory((double)h->file_bytes, bytes));
    lud_text_append(out, "  people %u with %u goals in all, robots %u with %u joint actions\n", h->n_humans,
                    h->n_goals, h->n_robots, h->n_robot_actions);
    lud_text_append(out, "  people: beta_h %g, gamma_h %g, nu_h %g, %s\n", h->beta_h, h->gamma_h, h->nu_h,
                    h->optimistic ? "optimistic" : "cautious");
    lud_text_append(out, "  robots: beta_r %g, gamma_r %g, zeta %g, xi %g, eta %g, terminal value %g\n",
                    h->beta_r, h->gamma_r, h->zeta, h->xi, h->eta, h->terminal_value);
    lud_text_append(out, "  aggregate over people: %s; reward weight: %s\n\n",
                    name_of(lud_empo_aggregate_names, h->aggregate),
                    name_of(lud_empo_reward_weight_names, h->reward_weight));
}

json_t *lud_empo_report_solution_json(const lud_empo_solution *solution) {
    const lud_empo_header *h = solution->header;
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:b, s:f, s:f, s:f, s:f, s:f, s:f,"
        " s:s, s:s}",
        "file", solution->path, "states", (json_int_t)h->n_states, "layers", (json_int_t)h->n_layers,
        "state_bytes", (json_int_t)h->state_bytes, "record_doubles", (json_int_t)h->record_doubles, "bytes",
        (json_int_t)h->file_bytes, "people", (int)h->n_humans, "robots", (int)h->n_robots, "goals",
        (int)h->n_goals, "robot_actions", (int)h->n_robot_actions, "beta_h",
        isinf(h->beta_h) ? DBL_MAX : h->beta_h, "gamma_h", h->gamma_h, "nu_h", h->nu_h, "optimistic",
        (int)h->optimistic, "beta_r", h->beta_r, "gamma_r", h->gamma_r, "zeta", h->zeta, "xi", h->xi, "eta",
        h->eta, "terminal_value", h->terminal_value, "aggregate",
        name_of(lud_empo_aggregate_names, h->aggregate), "reward_weight",
        name_of(lud_empo_reward_weight_names, h->reward_weight));
}
