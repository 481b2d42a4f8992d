#include "sim/multigrid/grid_quick.h"

static uint8_t forward_bits(const lud_grid_model *m, uint8_t content) {
    switch (content & LUD_CONTENT_TYPE) {
    case LUD_WALL:
    case LUD_AGENT: /* nobody gets there, whoever goes first */
        return 0;
    case LUD_BLOCK:
    case LUD_ROCK:
    case LUD_BUSH:
    case LUD_MAGIC_WALL:
        return LUD_QUICK_ACTS | LUD_QUICK_CLAIMS | LUD_QUICK_NEEDS_A_PLAN;
    case LUD_LAVA:
        return LUD_QUICK_ACTS | LUD_QUICK_CLAIMS;
    case LUD_GOAL:
        if (m->has_rewards) return LUD_QUICK_ACTS | LUD_QUICK_CLAIMS;
        break;
    default:
        break;
    }
    return content & LUD_CONTENT_OVERLAP ? LUD_QUICK_MOVES | LUD_QUICK_CLAIMS : LUD_QUICK_CLAIMS;
}

static uint8_t toggle_bits(uint8_t content) {
    switch (content & LUD_CONTENT_TYPE) {
    case LUD_KILL_BUTTON:
    case LUD_PAUSE_SWITCH:
        return LUD_QUICK_ACTS | LUD_QUICK_NEEDS_A_PLAN;
    case LUD_DOOR:
    case LUD_BOX:
    case LUD_DISABLING_SWITCH:
    case LUD_CONTROL_BUTTON:
        return LUD_QUICK_ACTS;
    default:
        return 0;
    }
}

static uint8_t bits_of(const lud_grid_model *m, uint8_t verb, uint8_t content) {
    switch (verb) {
    case LUD_VERB_FORWARD:
        return forward_bits(m, content);
    case LUD_VERB_PICKUP:
        return lud_grid_is_pickable(content) ? LUD_QUICK_ACTS | LUD_QUICK_CLAIMS : 0;
    case LUD_VERB_DROP:
        if (content == LUD_AGENT) return LUD_QUICK_CLAIMS;
        return m->n_classes > 2 && (content & LUD_CONTENT_OVERLAP) ? LUD_QUICK_ACTS_LADEN : 0;
    case LUD_VERB_TOGGLE:
        return toggle_bits(content);
    default:
        return 0;
    }
}

void lud_grid_compile_quick(lud_grid_model *m) {
    lud_grid_quick *quick = &m->quick;
    /* what an agent does beside a control button may be recorded, even where it has no effect */
    quick->possible = m->n_controls == 0;
    quick->carried = m->n_classes > 2 ? m->at.carried : m->at.agent;
    for (int a = 0; a < m->n_actions; a++) {
        const uint8_t verb = m->verb[a];
        quick->turn[a] = verb == LUD_VERB_LEFT ? 3 : verb == LUD_VERB_RIGHT ? 1 : 0;
        quick->unsteady[a] = verb == LUD_VERB_FORWARD ? LUD_QUICK_NEEDS_A_PLAN : 0;
        for (int content = 0; content < LUD_GRID_CONTENTS; content++)
            quick->bits[a][content] = bits_of(m, verb, (uint8_t)content);
    }
}
