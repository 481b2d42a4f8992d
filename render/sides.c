#include "render/sides.h"

#include <string.h>

lud_status lud_sides_check(int n_environments, int n_named, lud_error *error) {
    const bool apart = n_environments > 1;
    const int n = apart ? n_environments : n_named, most = apart ? LUD_SIDES : LUD_SIDES_COMPARED;
    if (apart && n_named > 1)
        return lud_invalid(error, "%d environments: expected one scenario or RUN, found %d", n_environments,
                           n_named);
    if (n > most) return lud_invalid(error, "%d worlds side by side; at most %d are possible", n, most);
    return LUD_OK;
}

lud_status lud_sides_fit(const lud_model *leader, const char *leader_name, const lud_model *model,
                         const char *name, lud_error *error) {
    const lud_layout *a = &leader->layout, *b = &model->layout;
    if (leader->world != model->world)
        return lud_invalid(error, "%s: expected the world of %s, %s, to go in step with it, found %s", name,
                           leader_name, leader->world->name, model->world->name);
    if (a->n_agents != b->n_agents)
        return lud_invalid(error, "%s: expected %d agents as in %s, found %d", name, a->n_agents, leader_name,
                           b->n_agents);
    for (int i = 0; i < a->n_agents; i++)
        if (a->actions[i].n_discrete != b->actions[i].n_discrete ||
            a->actions[i].n_continuous != b->actions[i].n_continuous)
            return lud_invalid(error,
                               "%s: agent %d has other actions than in %s; only the same world goes in step",
                               name, i, leader_name);
    if (a->state_bytes != b->state_bytes)
        return lud_invalid(error,
                           "%s: its states are others than those of %s; only the same world goes in step",
                           name, leader_name);
    return LUD_OK;
}

static size_t state_bytes(const lud_sides *sides) {
    return sides->side[0].drawing->model->layout.state_bytes;
}

lud_status lud_sides_begin(const lud_sides *sides, lud_error *error) {
    const lud_player *leader = sides->side[0].player;
    for (int k = 1; !sides->apart && k < sides->n; k++) {
        lud_player_join(sides->side[k].player, leader);
        if (memcmp(lud_player_state_at(sides->side[k].player, 0), lud_player_state_at(leader, 0),
                   state_bytes(sides)) != 0)
            return lud_invalid(error,
                               "%s: with the same seed it starts in another state than %s; only the same "
                               "world goes in step",
                               sides->side[k].path, sides->side[0].path);
    }
    return LUD_OK;
}

lud_status lud_sides_restart(const lud_sides *sides, uint64_t seed, lud_error *error) {
    for (int k = 0; k < (sides->apart ? sides->n : 1); k++)
        lud_player_restart(sides->side[k].player, seed + (uint64_t)k);
    return lud_sides_begin(sides, error);
}

lud_status lud_sides_next_episode(const lud_sides *sides, lud_error *error) {
    for (int k = 0; k < (sides->apart ? sides->n : 1); k++) {
        lud_player *player = sides->side[k].player;
        lud_player_seek(player, lud_player_known(player) - 1);
        lud_player_next_episode(player);
    }
    return lud_sides_begin(sides, error);
}

lud_status lud_sides_step(const lud_sides *sides, const int32_t *chosen, bool *moved, lud_error *error) {
    *moved = false;
    for (int k = 0; k < sides->n; k++) {
        bool one;
        LUD_TRY(lud_player_step(sides->side[k].player, chosen, &one, error));
        *moved = *moved || one;
    }
    return LUD_OK;
}

void lud_sides_seek(const lud_sides *sides, size_t position) {
    for (int k = 0; k < sides->n; k++) {
        const size_t last = lud_player_known(sides->side[k].player) - 1;
        lud_player_seek(sides->side[k].player, position < last ? position : last);
    }
}

size_t lud_sides_position(const lud_sides *sides) {
    size_t position = 0;
    for (int k = 0; k < sides->n; k++) {
        const size_t at = lud_player_position(sides->side[k].player);
        if (at > position) position = at;
    }
    return position;
}

size_t lud_sides_known(const lud_sides *sides) {
    size_t ended = 0, going = SIZE_MAX;
    for (int k = 0; k < sides->n; k++) {
        const size_t known = lud_player_known(sides->side[k].player);
        if (lud_player_ends(sides->side[k].player))
            ended = known > ended ? known : ended;
        else
            going = known < going ? known : going;
    }
    return going < SIZE_MAX ? going : ended;
}

bool lud_sides_over(const lud_sides *sides) {
    for (int k = 0; k < sides->n; k++)
        if (!lud_player_over(sides->side[k].player)) return false;
    return true;
}

/* The state at a step, of an episode that was over before its last one. */
static const uint8_t *state_at(const lud_player *player, size_t position) {
    const size_t last = lud_player_known(player) - 1;
    return lud_player_state_at(player, position < last ? position : last);
}

size_t lud_sides_parted(const lud_sides *sides, int side) {
    const size_t n = lud_sides_position(sides) + 1, bytes = state_bytes(sides);
    for (size_t t = 0; t < n && side > 0; t++)
        if (memcmp(state_at(sides->side[side].player, t), state_at(sides->side[0].player, t), bytes) != 0)
            return t;
    return SIZE_MAX;
}

bool lud_sides_same_at(const lud_sides *sides, size_t position) {
    for (int k = 1; k < sides->n; k++)
        if (memcmp(state_at(sides->side[k].player, position), state_at(sides->side[0].player, position),
                   state_bytes(sides)) != 0)
            return false;
    return true;
}

bool lud_sides_same(const lud_sides *sides, int side) {
    return memcmp(lud_player_state(sides->side[side].player), lud_player_state(sides->side[0].player),
                  state_bytes(sides)) == 0;
}
