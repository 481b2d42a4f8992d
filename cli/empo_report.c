#include "cli/empo_report.h"

#include <string.h>

const char *lud_empo_robot_name(const lud_model *model, const lud_empo_layout *layout, int number,
                                char text[256]) {
    int32_t actions[LUD_EMPO_MAX_AGENTS] = {0};
    size_t used = 0;
    lud_empo_robot_decode(layout, model, number, actions);
    strcpy(text, "-");
    for (int r = 0; r < layout->n_robots && used < 255; r++) {
        const lud_action_space *space = &model->layout.actions[layout->robots[r]];
        int n = space->names
                    ? snprintf(text + used, 256 - used, "%s%s", r ? "+" : "",
                               space->names[actions[layout->robots[r]]])
                    : snprintf(text + used, 256 - used, "%s%d", r ? "+" : "", actions[layout->robots[r]]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

void lud_empo_report_print(const lud_model *model, const lud_empo_layout *layout, const double *record,
                           FILE *out) {
    fprintf(out, "V_r = %.6g, U_r = %.6g\n\n", record[layout->v_r], record[layout->u_r]);
    for (int h = 0; h < layout->n_humans; h++) {
        fprintf(out, "person %d: power X_h = %.6g\n", layout->humans[h], record[layout->x_h + h]);
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            lud_text text = {0};
            if (model->world->describe_goal)
                model->world->describe_goal(model, layout->humans[h], g - layout->goal_begin[h], &text);
            fprintf(out, "  %-32s V_h^e %8.5f   V_h^m %8.5f\n", text.bytes ? text.bytes : "goal",
                    record[layout->v_h_e + g], record[layout->v_h_m + g]);
            lud_text_free(&text);
        }
    }
    fprintf(out, "\nrobots:\n");
    for (int r = 0; r < layout->n_robot_actions; r++) {
        char name[256];
        fprintf(out, "  %-32s pi_r  %8.5f   Q_r   %.6g\n", lud_empo_robot_name(model, layout, r, name),
                record[layout->pi_r + r], record[layout->q_r + r]);
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
