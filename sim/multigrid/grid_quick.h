/* Steps in which nothing is left to chance: who walks, turns or does what has no effect does so without a
 * branch that depends on it; who does more (pushes, picks up, opens) acts by grid_rules.h in its turn. What
 * may be left to chance takes the plan there. The functions compile as C and as CUDA. */
#pragma once

#include "sim/multigrid/grid_rules.h"

/* What an action means in front of a content: bits of lud_grid_quick's `bits`. */
enum {
    LUD_QUICK_MOVES = 1,        /* the agent goes there, if nobody stood there at the start of the step */
    LUD_QUICK_ACTS = 2,         /* it acts by the rules */
    LUD_QUICK_ACTS_LADEN = 4,   /* it does if it carries something */
    LUD_QUICK_CLAIMS = 8,       /* two who do so at the same cell may be in conflict */
    LUD_QUICK_NEEDS_A_PLAN = 16 /* may be left to chance or decide what others may do */
};

/* Fills m->quick. */
void lud_grid_compile_quick(lud_grid_model *m);

/* The row of an agent that tries an action: who cannot act does nothing. */
LUD_HD static inline uint32_t lud_grid_quick_row(uint32_t byte, int32_t action) {
    return byte & (LUD_AGENT_TERMINATED | LUD_AGENT_PAUSED) ? (uint32_t)LUD_GRID_IDLE : (uint32_t)action;
}

/* Whether everybody can act in index order, without a plan; false may be said where they can. A bit for each
 * cell tells whether two claim it; on grids of more than 64 cells some share theirs. */
LUD_HD static inline bool lud_grid_is_quick(const lud_grid_run *run, const int32_t *actions) {
    const lud_grid_model *m = run->m;
    const lud_grid_quick *quick = &m->quick;
    if (!quick->possible) return false;
    uint64_t claimed = 0, twice = 0;
    uint32_t bits = 0, bytes = 0;
    for (int i = 0; i < m->n_agents; i++) {
        const uint32_t cell = run->start_cell[i], byte = *lud_grid_agent_byte(run, i);
        const uint32_t row = lud_grid_quick_row(byte, actions[i]);
        const uint32_t front = m->next[cell * 4 + (byte & LUD_AGENT_DIRECTION)];
        const uint32_t here = quick->bits[row][run->content[front]];
        const uint64_t claim = (uint64_t)(here / LUD_QUICK_CLAIMS & 1) << (front & 63);
        const bool unsteady = run->layer->base[cell] == (LUD_UNSTEADY_GROUND | LUD_CONTENT_OVERLAP);
        twice |= claimed & claim;
        claimed |= claim;
        bits |= here | (unsteady ? quick->unsteady[row] : 0u);
        bytes |= byte;
    }
    return !twice && !(bits & LUD_QUICK_NEEDS_A_PLAN) && bytes >> LUD_AGENT_FORCED_SHIFT == 0;
}

/* What an agent's action comes to by itself. */
typedef struct lud_grid_deed {
    uint64_t claim; /* the bit of the cell that it claims */
    uint32_t cell;  /* where the agent is afterwards */
    uint8_t byte;   /* the agent's afterwards */
    bool alone;     /* that is all, as long as nobody else claims the cell */
} lud_grid_deed;

/* Agents whose deeds are all `alone` and claim different cells do not get into each other's way: who walks
 * onto a cell needs it free at the start of the step, and nobody else may go there. */
LUD_HD static inline lud_grid_deed lud_grid_deed_of(const lud_grid_run *run, int i, int32_t action) {
    const lud_grid_model *m = run->m;
    const uint32_t cell = run->start_cell[i], byte = *lud_grid_agent_byte(run, i);
    const uint32_t row = lud_grid_quick_row(byte, action);
    const uint32_t front = m->next[cell * 4 + (byte & LUD_AGENT_DIRECTION)];
    const uint8_t content = run->content[front], ground = run->layer->base[cell];
    uint32_t bits = m->quick.bits[row][content];
    const bool unsteady = ground == (LUD_UNSTEADY_GROUND | LUD_CONTENT_OVERLAP) && m->quick.unsteady[row];
    if (content == LUD_AGENT) /* who may leave before it is this agent's turn */
        bits |= m->quick.bits[row][lud_grid_ground(run, front)] & (LUD_QUICK_ACTS | LUD_QUICK_ACTS_LADEN);
    const bool moves = (bits & LUD_QUICK_MOVES) && !run->start[front];
    lud_grid_deed deed;
    deed.claim = (uint64_t)(bits / LUD_QUICK_CLAIMS & 1) << (front & 63);
    deed.cell = moves ? front : cell;
    deed.byte = (uint8_t)((byte & ~(uint32_t)LUD_AGENT_DIRECTION) |
                          ((byte + m->quick.turn[row]) & LUD_AGENT_DIRECTION));
    deed.alone = !unsteady && !(bits & ~(uint32_t)(LUD_QUICK_MOVES | LUD_QUICK_CLAIMS)) &&
                 byte >> LUD_AGENT_FORCED_SHIFT == 0;
    return deed;
}

/* Everybody acts in index order, where lud_grid_is_quick. */
LUD_HD static inline void lud_grid_play_quickly(lud_grid_run *run, const int32_t *actions) {
    const lud_grid_model *m = run->m;
    const lud_grid_quick *quick = &m->quick;
    lud_grid_count_step(m, run->state);
    for (int i = 0; i < m->n_agents; i++) {
        uint8_t *byte = lud_grid_agent_byte(run, i);
        const uint32_t cell = run->start_cell[i]; /* nobody but the agent itself moves it */
        const uint32_t row = lud_grid_quick_row(*byte, actions[i]);
        const uint32_t front = m->next[cell * 4 + (*byte & LUD_AGENT_DIRECTION)];
        const uint8_t content = run->content[front], ground = run->layer->base[cell];
        const uint32_t bits = quick->bits[row][content];
        const uint32_t moves = bits & LUD_QUICK_MOVES & ~(uint32_t)run->start[front];
        const bool laden = run->state[quick->carried + (uint32_t)i] != 0;
        /* who leaves a door or bush leaves what it shows */
        if ((bits & (laden ? LUD_QUICK_ACTS | LUD_QUICK_ACTS_LADEN : LUD_QUICK_ACTS)) |
            (moves & ground / LUD_CONTENT_CHANGES)) {
            lud_grid_execute(run, i, actions[i]);
            continue;
        }
        *byte =
            (uint8_t)((*byte & ~LUD_AGENT_DIRECTION) | ((*byte + quick->turn[row]) & LUD_AGENT_DIRECTION));
        const uint32_t moving = 0u - moves; /* all bits or none: a branch on it would be guessed wrong */
        run->content[cell] = (uint8_t)((ground & moving) | (run->content[cell] & ~moving));
        run->content[front] = (uint8_t)((LUD_AGENT & moving) | (content & ~moving));
        lud_grid_put_cell(m, run->state, m->at.cell, i, (front & moving) | (cell & ~moving));
    }
}
