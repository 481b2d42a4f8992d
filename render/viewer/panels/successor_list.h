/* Every state that the next joint action may lead to. */
#pragma once

#include "render/viewer/stage.h"

typedef struct lud_successor_list {
    lud_successors found;
    int32_t *plan; /* [n_agents] the joint action */
    bool valid;    /* both are about the present state and plans */
} lud_successor_list;

lud_status lud_successor_list_create(const lud_layout *layout, lud_successor_list *list, lud_error *error);
void lud_successor_list_free(lud_successor_list *list);
/* Whether the world can tell. */
bool lud_successor_list_possible(const lud_stage *stage);
/* Finds them when they are not valid: chosen[n_agents] as for lud_player_plan. A list that could not be made
 * is empty and valid, so that an error comes once. */
lud_status lud_successor_list_update(lud_successor_list *list, const lud_stage *stage, const int32_t *chosen,
                                     lud_error *error);
