/* Tribes: what happened between two states. */
#include "render/worlds/draw_tribes.h"

enum { N_DIRECTIONS = 4 };

/* Units of a kind that an agent has more. */
static int gain_of(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after, int agent,
                   int kind) {
    return lud_tribes_load(m, after, agent)[kind] - lud_tribes_load(m, before, agent)[kind];
}

static int kind_gained(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after, int agent) {
    for (int k = 0; k < LUD_RESOURCES; k++)
        if (gain_of(m, before, after, agent, k) > 0) return k;
    return -1;
}

static void find_trade(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after,
                       const int32_t *actions, const int16_t *at, int agent, lud_tribes_event *event) {
    const int got = kind_gained(m, before, after, agent);
    for (int d = 0; d < N_DIRECTIONS && got >= 0; d++) {
        const int cell = lud_tribes_neighbour(m, lud_tribes_cell(m, before, agent), d), other = at[cell];
        if (other < 0 || actions[other] != LUD_TRIBES_TRADE || !lud_tribes_pays(m, before, agent, other) ||
            gain_of(m, before, after, other, got) >= 0)
            continue;
        *event = (lud_tribes_event){LUD_DEED_TRADED, other, cell, got};
        return;
    }
}

static void find_theft(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after,
                       const int16_t *at, int agent, lud_tribes_event *event) {
    const lud_tribes_map *map = lud_tribes_map_of(m, before);
    const int got = kind_gained(m, before, after, agent);
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int cell = lud_tribes_neighbour(m, lud_tribes_cell(m, before, agent), d), other = at[cell];
        const int owner = map->ground[cell] - LUD_TRIBES_HOUSE;
        const bool house = owner >= 0 && owner != m->team[agent];
        const bool stranger = other >= 0 && m->team[other] != m->team[agent];
        if (!house && !stranger) continue;
        const bool robbed = house || (got >= 0 && gain_of(m, before, after, other, got) < 0);
        if (got >= 0 && robbed) {
            *event = (lud_tribes_event){LUD_DEED_STOLE, house ? -1 : other, cell, got};
            return;
        }
        if (got < 0) *event = (lud_tribes_event){LUD_DEED_FOILED, house ? -1 : other, cell, -1};
    }
}

static void find_delivery(const lud_tribes_model *m, const uint8_t *before, int agent,
                          lud_tribes_event *event) {
    const lud_tribes_map *map = lud_tribes_map_of(m, before);
    for (int d = 0; d < N_DIRECTIONS; d++) {
        const int cell = lud_tribes_neighbour(m, lud_tribes_cell(m, before, agent), d);
        if (map->ground[cell] != LUD_TRIBES_HOUSE + m->team[agent]) continue;
        *event = (lud_tribes_event){LUD_DEED_DELIVERED, -1, cell, -1};
        return;
    }
}

void lud_tribes_find_events(const lud_tribes_model *m, const uint8_t *before, const uint8_t *after,
                            const int32_t *actions, int16_t *at, lud_tribes_event *events) {
    lud_tribes_board(m, before, at);
    for (int i = 0; i < m->n_agents; i++) {
        lud_tribes_event *event = &events[i];
        *event = (lud_tribes_event){LUD_DEED_NONE, -1, -1, -1};
        const int cell = lud_tribes_cell(m, before, i);
        if (!actions || cell == LUD_TRIBES_NOBODY || lud_tribes_cell(m, after, i) == LUD_TRIBES_NOBODY)
            continue;
        const int now = lud_tribes_loaded(lud_tribes_load(m, after, i));
        const int then = lud_tribes_loaded(lud_tribes_load(m, before, i));
        if (actions[i] == LUD_TRIBES_GATHER && now > then)
            *event = (lud_tribes_event){LUD_DEED_GATHERED, -1, cell, kind_gained(m, before, after, i)};
        else if (actions[i] == LUD_TRIBES_DEPOSIT && now < then)
            find_delivery(m, before, i, event);
        else if (actions[i] == LUD_TRIBES_TRADE)
            find_trade(m, before, after, actions, at, i, event);
        else if (actions[i] == LUD_TRIBES_STEAL && then < m->spec.carry)
            find_theft(m, before, after, at, i, event);
    }
}
