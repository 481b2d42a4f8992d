#include "render/viewer/panels/successor_list.h"

#include <stdlib.h>

lud_status lud_successor_list_create(const lud_layout *layout, lud_successor_list *list, lud_error *error) {
    *list = (lud_successor_list){.plan = calloc((size_t)layout->n_agents + 1, sizeof *list->plan)};
    return list->plan ? LUD_OK : lud_no_memory(error, "the viewer");
}

void lud_successor_list_free(lud_successor_list *list) {
    lud_successors_free(&list->found);
    free(list->plan);
    *list = (lud_successor_list){0};
}

bool lud_successor_list_possible(const lud_stage *stage) {
    return stage->scenario->world->successors && lud_joint_action_count(lud_stage_layout(stage));
}

lud_status lud_successor_list_update(lud_successor_list *list, const lud_stage *stage, const int32_t *chosen,
                                     lud_error *error) {
    const lud_model *model = stage->scenario->model;
    if (list->valid || !lud_successor_list_possible(stage)) return LUD_OK;
    lud_player_plan(stage->player, chosen, list->plan);
    list->found.n = 0;
    list->valid = true;
    if (lud_player_over(stage->player)) return LUD_OK;
    return model->world->successors(model, lud_player_state(stage->player), list->plan, &list->found, error);
}
