/* What an episode of tribes is judged by. */
#include <stdio.h>
#include <string.h>

#include "sim/tribes/tribes_parts.h"

enum { TRADES = LUD_TRIBES_SHARED, RAIDS, ALIVE, FIRST_TEAM };

static const char *const help[LUD_TRIBES_SHARED] = {
    "value gathered from fields, of an agent", "value brought home, of an agent",
    "value won by swaps, of an agent",         "value stolen, of an agent",
    "value lost to thieves, of an agent",      "value kept from thieves, of an agent",
    "thefts that guards foiled, of an agent",
};

bool lud_tribes_compile_measures(lud_tribes_model *m) {
    const int n = FIRST_TEAM + m->spec.n_teams;
    lud_measure *measures = lud_arena_take_array(m->arena, (size_t)n, sizeof *measures);
    if (!measures) return false;
    for (int k = 0; k < LUD_TRIBES_SHARED; k++)
        measures[k] = (lud_measure){.name = lud_tribes_component_names[k], .help = help[k]};
    measures[LUD_TRIBES_DELIVERED].format = "%.2f";
    measures[LUD_TRIBES_DELIVERED].curve = "value brought home";
    measures[TRADES] = (lud_measure){.name = "trades", .help = "swaps in an episode"};
    measures[RAIDS] = (lud_measure){.name = "raids", .help = "thefts that succeeded in an episode"};
    measures[ALIVE] = (lud_measure){
        .name = "alive", .help = "of the agents live at the end", .absent = m->spec.health == 0};
    for (int t = 0; t < m->spec.n_teams; t++) {
        char name[128];
        const int length = snprintf(name, sizeof name, "delivered_%.100s", m->spec.teams[t].name);
        measures[FIRST_TEAM + t] = (lud_measure){.name = lud_arena_text(m->arena, name, (size_t)length),
                                                 .help = "value brought home, of an agent of the team"};
        if (!measures[FIRST_TEAM + t].name) return false;
    }
    m->base.layout.measures = measures;
    m->base.layout.n_measures = n;
    m->base.layout.n_columns = FIRST_TEAM;
    return true;
}

void lud_tribes_measure(const lud_model *model, int n, const uint8_t *states, double *values) {
    const lud_tribes_model *m = lud_tribes_of(model);
    const double n_agents = m->n_agents;
    for (int e = 0; e < n; e++, states += model->layout.state_bytes, values += model->layout.n_measures) {
        memset(values, 0, (size_t)model->layout.n_measures * sizeof *values);
        for (int t = 0; t < m->spec.n_teams; t++) {
            const double n_team = m->team_begin[t + 1] - m->team_begin[t];
            for (int k = 0; k < LUD_TRIBES_SHARED; k++)
                values[k] += lud_tribes_tally(m, states, t, k) / n_agents;
            values[TRADES] += lud_tribes_tally(m, states, t, LUD_TRIBES_TRADES) / 2.0;
            values[RAIDS] += lud_tribes_tally(m, states, t, LUD_TRIBES_RAIDS);
            values[FIRST_TEAM + t] = lud_tribes_tally(m, states, t, LUD_TRIBES_DELIVERED) / n_team;
        }
        for (int i = 0; i < m->n_agents; i++)
            values[ALIVE] += lud_tribes_cell(m, states, i) != LUD_TRIBES_NOBODY;
        values[ALIVE] /= n_agents;
    }
}
