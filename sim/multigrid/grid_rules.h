/* What a joint action does to a multigrid state, written once and read two ways: a step samples the choices
 * of a plan, successors enumerate them. The functions work on the state bytes themselves beside the
 * board of grid_board.h. They compile as C and as CUDA.
 *
 * The rules and their order of evaluation are described in docs/multigrid.md. */
#pragma once

#include "sim/multigrid/grid_board.h"

/* --- Moving --- */

/* Agent i goes to a cell. Who pushes leaves a cell that looks empty until the end of the step. */
LUD_HD static inline void lud_grid_move(lud_grid_run *run, int i, uint32_t to, bool pushing) {
    const lud_grid_model *m = run->m;
    uint32_t from = lud_grid_agent_cell(run, i);
    run->content[from] = pushing ? (uint8_t)LUD_CONTENT_FREE : lud_grid_ground(run, from);
    run->content[to] = LUD_AGENT;
    lud_grid_put_cell(m, run->state, m->at.cell, i, to);
    if (run->reward && (run->layer->base[to] & LUD_CONTENT_TYPE) == LUD_GOAL &&
        (!m->spec.rewards.own_goal_only || run->layer->base_colour[to] == m->colour[i]))
        lud_grid_earn(run, i, (float)m->spec.rewards.goal);
}

LUD_HD static inline void lud_grid_die_in_lava(lud_grid_run *run, int i) {
    *lud_grid_agent_byte(run, i) |= LUD_AGENT_TERMINATED;
    lud_grid_earn(run, i, (float)run->m->spec.rewards.lava);
}

LUD_HD static inline bool lud_grid_is_pushable(uint8_t content) {
    return content == LUD_BLOCK || content == LUD_ROCK;
}

/* The cell where the last object of the run that begins at `cell` would land, or n_cells when agent i cannot
 * push. */
LUD_HD static inline uint32_t lud_grid_push_end(const lud_grid_run *run, int i, uint32_t cell) {
    const lud_grid_model *m = run->m;
    uint32_t direction = *lud_grid_agent_byte(run, i) & LUD_AGENT_DIRECTION;
    for (; lud_grid_is_pushable(run->content[cell]); cell = m->next[cell * 4 + direction])
        if (run->content[cell] == LUD_ROCK && !(m->can[i] & LUD_CAN_PUSH_ROCKS)) return (uint32_t)m->n_cells;
    bool lands = (run->content[cell] & LUD_CONTENT_OVERLAP) && !run->start[cell];
    return lands ? cell : (uint32_t)m->n_cells;
}

LUD_HD static inline void lud_grid_relocate(lud_grid_run *run, int piece_class, uint32_t from, uint32_t to) {
    const lud_grid_model *m = run->m;
    int s = m->classes[piece_class].begin;
    while (lud_grid_get_cell(m, run->state, m->at.piece, s) != from) s++;
    lud_grid_put_cell(m, run->state, m->at.piece, s, to);
    run->unsorted = true;
}

/* Agent i pushes the run in front of it and follows, if that is possible. */
LUD_HD static inline void lud_grid_push(lud_grid_run *run, int i, uint32_t front) {
    const lud_grid_model *m = run->m;
    uint32_t end = lud_grid_push_end(run, i, front);
    if (end == (uint32_t)m->n_cells) return;
    /* Like objects are interchangeable: moving each by one cell is moving the first of every like group
     * behind the group's last. */
    uint32_t direction = *lud_grid_agent_byte(run, i) & LUD_AGENT_DIRECTION;
    uint32_t first = front, cell = front;
    uint8_t type = run->content[front];
    while (cell != end) {
        cell = m->next[cell * 4 + direction];
        uint8_t here = cell == end ? (uint8_t)LUD_UNSEEN : run->content[cell];
        if (here == type) continue;
        lud_grid_relocate(run, type == LUD_BLOCK ? LUD_CLASS_BLOCK : LUD_CLASS_ROCK, first, cell);
        run->content[cell] = type;
        first = cell;
        type = here;
    }
    lud_grid_move(run, i, front, true);
}

/* --- One action --- */

LUD_HD static inline void lud_grid_forward(lud_grid_run *run, int i) {
    uint32_t front = lud_grid_front(run, i);
    uint8_t content = run->content[front];
    if (!run->start[front]) {
        if (content & LUD_CONTENT_OVERLAP) {
            lud_grid_move(run, i, front, false);
        } else if (lud_grid_is_pushable(content)) {
            lud_grid_push(run, i, front);
        } else if (content == LUD_BUSH) {
            if (run->m->can[i] & LUD_CAN_TRAMPLE)
                lud_grid_put_condition(run->m, run->state, lud_grid_fixed_at(run, front)->slot, 1);
            lud_grid_move(run, i, front, false);
        }
    }
    if (content == (LUD_LAVA | LUD_CONTENT_OVERLAP)) lud_grid_die_in_lava(run, i);
}

/* The slot of the key, ball or box in a cell, or -1; its class goes to *piece_class. */
LUD_HD static inline int lud_grid_pickable_at(const lud_grid_model *m, const uint8_t *state, uint32_t cell,
                                              int *piece_class) {
    for (int k = 2; k < m->n_classes; k++)
        for (int s = m->classes[k].begin; s < m->classes[k].begin + m->classes[k].n; s++)
            if (lud_grid_get_cell(m, state, m->at.piece, s) == cell) {
                *piece_class = k;
                return s;
            }
    return -1;
}

LUD_HD static inline bool lud_grid_is_pickable(uint8_t content) {
    return content == LUD_KEY || content == LUD_BALL || content == LUD_BOX;
}

LUD_HD static inline void lud_grid_pickup(lud_grid_run *run, int i) {
    const lud_grid_model *m = run->m;
    uint32_t front = lud_grid_front(run, i);
    uint8_t content = run->content[front];
    if (!lud_grid_is_pickable(content) || run->state[m->at.carried + (uint32_t)i]) return;
    int piece_class = 0;
    int slot = lud_grid_pickable_at(m, run->state, front, &piece_class);
    lud_grid_put_cell(m, run->state, m->at.piece, slot, (uint32_t)m->n_cells);
    run->state[m->at.carried + (uint32_t)i] = (uint8_t)piece_class;
    run->content[front] = lud_grid_ground(run, front);
    run->unsorted = true;
    lud_grid_earn(run, i, m->reward_collect[content]);
}

LUD_HD static inline void lud_grid_drop(lud_grid_run *run, int i) {
    const lud_grid_model *m = run->m;
    uint32_t front = lud_grid_front(run, i);
    if (m->n_classes <= 2 || !(run->content[front] & LUD_CONTENT_OVERLAP)) return;
    int piece_class = run->state[m->at.carried + (uint32_t)i];
    if (!piece_class) return;
    lud_grid_place_piece(m, run->state, piece_class, front);
    run->state[m->at.carried + (uint32_t)i] = 0;
    run->content[front] = m->classes[piece_class].type;
    run->unsorted = true;
}

LUD_HD static inline void lud_grid_toggle_door(lud_grid_run *run, int i, const lud_grid_fixed *f) {
    const lud_grid_model *m = run->m;
    int door = lud_grid_condition(m, run->state, f->slot);
    if (door == LUD_DOOR_LOCKED) {
        int carried = m->n_classes > 2 ? run->state[m->at.carried + (uint32_t)i] : 0;
        if (!carried || m->classes[carried].type != LUD_KEY || m->classes[carried].colour != f->colour)
            return;
        lud_grid_earn(run, i, (float)m->spec.rewards.open_door);
        door = LUD_DOOR_OPEN;
    } else {
        door = door == LUD_DOOR_OPEN ? LUD_DOOR_CLOSED : LUD_DOOR_OPEN;
    }
    lud_grid_put_condition(m, run->state, f->slot, door);
    run->content[f->cell] = lud_grid_shown(m, run->state, f);
}

LUD_HD static inline void lud_grid_open_box(lud_grid_run *run, uint32_t cell) {
    const lud_grid_model *m = run->m;
    int box = 0;
    int slot = lud_grid_pickable_at(m, run->state, cell, &box);
    lud_grid_put_cell(m, run->state, m->at.piece, slot, (uint32_t)m->n_cells);
    int content = m->classes[box].content;
    if (content) {
        lud_grid_place_piece(m, run->state, content, cell);
        run->content[cell] = m->classes[content].type;
    } else {
        run->content[cell] = lud_grid_ground(run, cell);
    }
    run->unsorted = true;
}

/* Sets or clears a flag of every agent of a colour. */
LUD_HD static inline void lud_grid_flag_colour(lud_grid_run *run, uint8_t colour, uint8_t flag, bool set) {
    for (int j = 0; j < run->m->n_agents; j++) {
        if (run->m->colour[j] != colour) continue;
        uint8_t *byte = lud_grid_agent_byte(run, j);
        *byte = (uint8_t)(set ? *byte | flag : *byte & ~flag);
    }
}

LUD_HD static inline void lud_grid_toggle_disabling(lud_grid_run *run, uint8_t target_type) {
    const lud_grid_model *m = run->m;
    for (int k = 0; k < run->layer->n_fixed; k++) {
        const lud_grid_fixed *f = &run->layer->fixed[k];
        if (f->type != target_type) continue;
        if (target_type == LUD_CONTROL_BUTTON) {
            run->state[m->at.control + 2u * f->slot + 1] ^= LUD_CONTROL_ENABLED;
            continue;
        }
        int condition = lud_grid_condition(m, run->state, f->slot);
        condition ^= target_type == LUD_KILL_BUTTON ? 1 : LUD_PAUSE_ENABLED;
        lud_grid_put_condition(m, run->state, f->slot, condition);
        if (target_type == LUD_PAUSE_SWITCH && condition == LUD_PAUSE_ON)
            lud_grid_flag_colour(run, f->target, LUD_AGENT_PAUSED, false);
    }
}

/* True when this toggle made the button wait for an action of agent i. */
LUD_HD static inline bool lud_grid_toggle_control(lud_grid_run *run, int i, const lud_grid_fixed *f) {
    const lud_grid_model *m = run->m;
    uint8_t *control = &run->state[m->at.control + 2u * f->slot];
    if (!(control[1] & LUD_CONTROL_ENABLED)) return false;
    if (m->colour[i] == f->target) {
        if ((control[1] & LUD_CONTROL_AWAITING) && control[0] == i + 1) return false;
        control[0] = (uint8_t)(i + 1);
        control[1] |= LUD_CONTROL_AWAITING;
        return true;
    }
    int recorded = control[1] >> LUD_CONTROL_RECORDED_SHIFT;
    if (m->colour[i] == f->trigger && control[0] && recorded) {
        uint8_t *byte = lud_grid_agent_byte(run, control[0] - 1);
        *byte = (uint8_t)((*byte & ((1 << LUD_AGENT_FORCED_SHIFT) - 1)) | recorded << LUD_AGENT_FORCED_SHIFT);
    }
    return false;
}

/* Toggles what is in front of agent i. Returns the slot of a control button that this made wait, or -1. */
LUD_HD static inline int lud_grid_toggle(lud_grid_run *run, int i) {
    const lud_grid_model *m = run->m;
    uint32_t front = lud_grid_front(run, i);
    uint32_t type = run->content[front] & LUD_CONTENT_TYPE;
    if (type == LUD_BOX) {
        lud_grid_open_box(run, front);
        return -1;
    }
    if (type != LUD_DOOR && (type < LUD_KILL_BUTTON || type > LUD_CONTROL_BUTTON)) return -1;
    const lud_grid_fixed *f = lud_grid_fixed_at(run, front);
    if (type == LUD_DOOR) {
        lud_grid_toggle_door(run, i, f);
    } else if (type == LUD_CONTROL_BUTTON) {
        if (lud_grid_toggle_control(run, i, f)) return f->slot;
    } else if (f->trigger == m->colour[i]) {
        if (type == LUD_DISABLING_SWITCH) {
            lud_grid_toggle_disabling(run, f->target_type);
        } else if (type == LUD_KILL_BUTTON) {
            if (lud_grid_condition(m, run->state, f->slot))
                lud_grid_flag_colour(run, f->target, LUD_AGENT_TERMINATED, true);
        } else {
            int condition = lud_grid_condition(m, run->state, f->slot);
            if (condition & LUD_PAUSE_ENABLED) {
                condition ^= LUD_PAUSE_ON;
                lud_grid_put_condition(m, run->state, f->slot, condition);
                lud_grid_flag_colour(run, f->target, LUD_AGENT_PAUSED, condition & LUD_PAUSE_ON);
            }
        }
    }
    return -1;
}

/* Agent i executes an action that is not still. */
LUD_HD static inline void lud_grid_execute(lud_grid_run *run, int i, int action) {
    const lud_grid_model *m = run->m;
    uint8_t *byte = lud_grid_agent_byte(run, i);
    int armed = -1;
    switch (m->verb[action]) {
    case LUD_VERB_LEFT:
        *byte = (uint8_t)((*byte & ~LUD_AGENT_DIRECTION) | ((*byte + 3) & LUD_AGENT_DIRECTION));
        break;
    case LUD_VERB_RIGHT:
        *byte = (uint8_t)((*byte & ~LUD_AGENT_DIRECTION) | ((*byte + 1) & LUD_AGENT_DIRECTION));
        break;
    case LUD_VERB_FORWARD:
        lud_grid_forward(run, i);
        break;
    case LUD_VERB_PICKUP:
        lud_grid_pickup(run, i);
        break;
    case LUD_VERB_DROP:
        lud_grid_drop(run, i);
        break;
    case LUD_VERB_TOGGLE:
        armed = lud_grid_toggle(run, i);
        break;
    default:
        break;
    }
    for (int k = 0; k < m->n_controls; k++) {
        uint8_t *control = &run->state[m->at.control + 2u * (uint32_t)k];
        if (k == armed || control[0] != i + 1 || !(control[1] & LUD_CONTROL_AWAITING)) continue;
        control[1] =
            (uint8_t)((control[1] & LUD_CONTROL_ENABLED) | (action + 1) << LUD_CONTROL_RECORDED_SHIFT);
    }
}

/* --- The plan of a joint action --- */

typedef enum lud_grid_factor_kind {
    LUD_FACTOR_BLOCK,
    LUD_FACTOR_UNSTEADY,
    LUD_FACTOR_MAGIC,
    LUD_FACTOR_BUSH
} lud_grid_factor_kind;

/* One independent random choice. Options: which member of a conflict block goes first; forward, left-forward,
 * right-forward; succeed, fail, solidify; succeed, fail. */
typedef struct lud_grid_factor {
    uint8_t kind, n_options;
    uint8_t index;         /* the block, or the agent */
    double probability[3]; /* of each option; blocks are uniform */
} lud_grid_factor;

/* What happens in a step, up to its random choices. */
typedef struct lud_grid_plan {
    bool certain; /* nothing is left to chance: everybody acts in index order */
    int n_normal, n_blocks, n_factors, n_late;
    uint8_t action[LUD_GRID_MAX_AGENTS]; /* ids, forced ones put in */
    uint8_t normal[LUD_GRID_MAX_AGENTS]; /* agents of the ordinary phase, ascending */
    uint8_t block_begin[LUD_GRID_MAX_AGENTS + 1];
    uint8_t member[LUD_GRID_MAX_AGENTS]; /* agents by block, ascending within one */
    lud_grid_factor
        factor[LUD_GRID_MAX_AGENTS]; /* blocks of two or more, then unsteady, magic, bush agents */
} lud_grid_plan;

typedef struct lud_grid_choice {
    uint8_t option[LUD_GRID_MAX_AGENTS]; /* [n_factors] */
} lud_grid_choice;

enum { LUD_KEY_PRIVATE = 0, LUD_KEY_CELL = 1, LUD_KEY_PICKUP = 2, LUD_KEY_DROP = 3 };

/* What an agent of the ordinary phase lays claim to: a kind and a cell; private claims never clash. */
LUD_HD static inline uint32_t lud_grid_claim(const lud_grid_run *run, int i, int verb) {
    uint32_t front = lud_grid_front(run, i);
    uint8_t content = run->content[front];
    if (verb == LUD_VERB_FORWARD) {
        if (lud_grid_is_pushable(content)) {
            front = lud_grid_push_end(run, i, front);
        }
        return front == (uint32_t)run->m->n_cells ? (uint32_t)LUD_KEY_PRIVATE : front << 2 | LUD_KEY_CELL;
    }
    if (verb == LUD_VERB_PICKUP && lud_grid_is_pickable(content)) return front << 2 | LUD_KEY_PICKUP;
    if (verb == LUD_VERB_DROP && content == LUD_AGENT) return front << 2 | LUD_KEY_DROP;
    return LUD_KEY_PRIVATE;
}

/* The colour whose agents a toggle by agent i would kill or pause now, or -1. */
LUD_HD static inline int lud_grid_toggle_target(const lud_grid_run *run, int i) {
    uint32_t front = lud_grid_front(run, i);
    uint8_t type = run->content[front];
    if (type != LUD_KILL_BUTTON && type != LUD_PAUSE_SWITCH) return -1;
    const lud_grid_fixed *f = lud_grid_fixed_at(run, front);
    int enabled =
        lud_grid_condition(run->m, run->state, f->slot) & (type == LUD_KILL_BUTTON ? 1 : LUD_PAUSE_ENABLED);
    return enabled && f->trigger == run->m->colour[i] ? f->target : -1;
}

/* Sorts the agents of the ordinary phase into conflict blocks; only blocks of two or more become factors. */
LUD_HD static inline void lud_grid_plan_blocks(const lud_grid_run *run, lud_grid_plan *plan, bool toggles) {
    const lud_grid_model *m = run->m;
    uint32_t claim[LUD_GRID_MAX_AGENTS];
    uint8_t block[LUD_GRID_MAX_AGENTS]; /* position in `normal` of the earliest member */
    bool merged = false, clash = false;
    int n = plan->n_normal;
    for (int k = 0; k < n; k++) {
        int i = plan->normal[k];
        claim[k] = lud_grid_claim(run, i, m->verb[plan->action[i]]);
        block[k] = (uint8_t)k;
        if (claim[k] == LUD_KEY_PRIVATE) continue;
        for (int j = 0; j < k; j++)
            if (claim[j] == claim[k]) {
                block[k] = block[j];
                clash = true;
                break;
            }
    }
    for (int k = 0; k < n && toggles; k++) {
        int i = plan->normal[k];
        int target = m->verb[plan->action[i]] == LUD_VERB_TOGGLE ? lud_grid_toggle_target(run, i) : -1;
        for (int j = 0; j < n && target >= 0; j++) {
            if (m->colour[plan->normal[j]] != target || block[j] == block[k]) continue;
            uint8_t a = block[j] < block[k] ? block[j] : block[k],
                    b = block[j] < block[k] ? block[k] : block[j];
            for (int l = 0; l < n; l++)
                if (block[l] == b) block[l] = a;
            merged = clash = true;
        }
    }
    plan->n_blocks = 0;
    if (!clash) return;
    /* Agents that run into the same wall or agent cannot get anywhere whoever goes first, and without control
     * buttons nobody can tell: leave them out of the choices. */
    if (!merged && m->n_controls == 0)
        for (int k = 0; k < n; k++) {
            uint8_t content = run->content[claim[k] >> 2];
            if ((claim[k] & 3) == LUD_KEY_CELL && (content == LUD_WALL || content == LUD_AGENT))
                block[k] = (uint8_t)k;
        }
    int n_members = 0;
    for (int k = 0; k < n; k++) {
        if (block[k] != k) continue;
        int begin = n_members;
        for (int j = k; j < n; j++)
            if (block[j] == k) plan->member[n_members++] = plan->normal[j];
        plan->block_begin[plan->n_blocks] = (uint8_t)begin;
        if (n_members - begin > 1) {
            lud_grid_factor *factor = &plan->factor[plan->n_factors++];
            factor->kind = LUD_FACTOR_BLOCK;
            factor->index = (uint8_t)plan->n_blocks;
            factor->n_options = (uint8_t)(n_members - begin);
        }
        plan->n_blocks++;
    }
    plan->block_begin[plan->n_blocks] = (uint8_t)n_members;
}

/* Kinds of special forward moves. */
enum {
    LUD_MOVE_UNSTEADY = 1,
    LUD_MOVE_BUSH = 2,
    LUD_MOVE_MAGIC = 4,
    LUD_MOVE_MAGIC_ACTIVE = 8,
    LUD_MOVE_MAGIC_FULL = 16
};

LUD_HD static inline int lud_grid_special_move(const lud_grid_run *run, int i) {
    const lud_grid_model *m = run->m;
    uint32_t cell = lud_grid_agent_cell(run, i), front = lud_grid_front(run, i);
    uint8_t content = run->content[front];
    int special = 0;
    if (run->layer->base[cell] == (LUD_UNSTEADY_GROUND | LUD_CONTENT_OVERLAP)) special |= LUD_MOVE_UNSTEADY;
    if (content == LUD_BUSH && !(m->can[i] & LUD_CAN_TRAMPLE) && lud_grid_fixed_at(run, front)->enter < 1.0)
        special |= LUD_MOVE_BUSH;
    if (content == LUD_MAGIC_WALL && (m->can[i] & LUD_CAN_ENTER_MAGIC_WALLS)) {
        const lud_grid_fixed *f = lud_grid_fixed_at(run, front);
        bool active = lud_grid_condition(m, run->state, f->slot) != 0;
        bool on_side = ((*lud_grid_agent_byte(run, i) + 2) & LUD_AGENT_DIRECTION) == f->side;
        if (on_side) special |= LUD_MOVE_MAGIC | (active ? LUD_MOVE_MAGIC_ACTIVE : 0);
        if (active && (on_side || f->side == LUD_ALL_SIDES)) special |= LUD_MOVE_MAGIC_FULL;
    }
    return special;
}

LUD_HD static inline void lud_grid_plan_late(const lud_grid_run *run, lud_grid_plan *plan, int i, int kind) {
    lud_grid_factor *factor = &plan->factor[plan->n_factors++];
    plan->n_late++;
    factor->kind = (uint8_t)kind;
    factor->index = (uint8_t)i;
    uint32_t cell = kind == LUD_FACTOR_UNSTEADY ? lud_grid_agent_cell(run, i) : lud_grid_front(run, i);
    const lud_grid_fixed *f = lud_grid_fixed_at(run, cell);
    if (kind == LUD_FACTOR_UNSTEADY) {
        factor->n_options = 3;
        factor->probability[0] = 1.0 - f->stumble;
        factor->probability[1] = factor->probability[2] = f->stumble / 2.0;
    } else if (kind == LUD_FACTOR_MAGIC) {
        factor->n_options = 3;
        factor->probability[0] = f->entry;
        factor->probability[1] = (1.0 - f->entry) * (1.0 - f->solidify);
        factor->probability[2] = (1.0 - f->entry) * f->solidify;
    } else {
        factor->n_options = 2;
        factor->probability[0] = f->enter;
        factor->probability[1] = 1.0 - f->enter;
    }
}

/* Plans a joint action on the loaded state: takes out forced actions (clearing them in the state), finds who
 * acts when and which choices are left to chance. */
LUD_HD static inline void lud_grid_make_plan(const lud_grid_run *run, const int32_t *actions,
                                             lud_grid_plan *plan) {
    const lud_grid_model *m = run->m;
    uint8_t special[LUD_GRID_MAX_AGENTS], active[LUD_GRID_MAX_AGENTS];
    int n_active = 0, n_beyond_turns = 0, any = 0;
    bool toggles = false;
    for (int i = 0; i < m->n_agents; i++) {
        uint8_t *byte = lud_grid_agent_byte(run, i);
        int forced = *byte >> LUD_AGENT_FORCED_SHIFT;
        plan->action[i] = (uint8_t)(forced ? forced - 1 : actions[i]);
        *byte &= (1 << LUD_AGENT_FORCED_SHIFT) - 1;
        int verb = m->verb[plan->action[i]];
        if ((*byte & (LUD_AGENT_TERMINATED | LUD_AGENT_PAUSED)) || verb == LUD_VERB_STILL) continue;
        special[n_active] = verb == LUD_VERB_FORWARD ? (uint8_t)lud_grid_special_move(run, i) : 0;
        any |= special[n_active];
        n_beyond_turns += verb != LUD_VERB_LEFT && verb != LUD_VERB_RIGHT;
        toggles |= verb == LUD_VERB_TOGGLE;
        active[n_active++] = (uint8_t)i;
    }
    plan->certain = true;
    plan->n_factors = plan->n_late = plan->n_normal = plan->n_blocks = 0;
    if (n_active <= 1 && !(any & (LUD_MOVE_UNSTEADY | LUD_MOVE_BUSH | LUD_MOVE_MAGIC_ACTIVE))) return;
    if (n_beyond_turns < 2 && !(any & (LUD_MOVE_UNSTEADY | LUD_MOVE_BUSH | LUD_MOVE_MAGIC))) return;
    for (int k = 0; k < n_active; k++)
        if (!(special[k] & (LUD_MOVE_UNSTEADY | LUD_MOVE_BUSH | LUD_MOVE_MAGIC_FULL)))
            plan->normal[plan->n_normal++] = active[k];
    lud_grid_plan_blocks(run, plan, toggles);
    if (any & (LUD_MOVE_UNSTEADY | LUD_MOVE_BUSH | LUD_MOVE_MAGIC_FULL)) {
        for (int k = 0; k < n_active; k++)
            if ((special[k] & LUD_MOVE_UNSTEADY) && !(special[k] & (LUD_MOVE_BUSH | LUD_MOVE_MAGIC_FULL)))
                lud_grid_plan_late(run, plan, active[k], LUD_FACTOR_UNSTEADY);
        for (int k = 0; k < n_active; k++)
            if (special[k] & LUD_MOVE_MAGIC_FULL) lud_grid_plan_late(run, plan, active[k], LUD_FACTOR_MAGIC);
        for (int k = 0; k < n_active; k++)
            if ((special[k] & LUD_MOVE_BUSH) && !(special[k] & LUD_MOVE_MAGIC_FULL))
                lud_grid_plan_late(run, plan, active[k], LUD_FACTOR_BUSH);
    }
    plan->certain = plan->n_factors == 0;
}

/* --- Carrying out a plan --- */

LUD_HD static inline void lud_grid_count_step(const lud_grid_model *m, uint8_t *state) {
    uint8_t *step = state + m->at.step;
    uint32_t count = lud_grid_get16(step);
    if (count < 65535) lud_grid_put16(step, count + 1);
}

/* Everybody acts in index order. */
LUD_HD static inline void lud_grid_play_in_order(lud_grid_run *run, const lud_grid_plan *plan) {
    lud_grid_count_step(run->m, run->state);
    for (int i = 0; i < run->m->n_agents; i++)
        if (run->m->verb[plan->action[i]] != LUD_VERB_STILL && lud_grid_can_act(run, i))
            lud_grid_execute(run, i, plan->action[i]);
}

/* Forward moves from unsteady ground: all turn, then all who have a cell for themselves move. */
LUD_HD static inline void lud_grid_play_unsteady(lud_grid_run *run, const lud_grid_plan *plan,
                                                 const lud_grid_choice *choice) {
    const lud_grid_model *m = run->m;
    uint8_t agent[LUD_GRID_MAX_AGENTS];
    uint32_t contested[LUD_GRID_MAX_AGENTS];
    bool occupied[LUD_GRID_MAX_AGENTS];
    int n = 0;
    for (int f = 0; f < plan->n_factors; f++) {
        int i = plan->factor[f].index;
        if (plan->factor[f].kind != LUD_FACTOR_UNSTEADY || !lud_grid_can_act(run, i)) continue;
        int turn = choice->option[f] == 0 ? 0 : choice->option[f] == 1 ? 3 : 1;
        uint8_t *byte = lud_grid_agent_byte(run, i);
        *byte = (uint8_t)((*byte & ~LUD_AGENT_DIRECTION) | ((*byte + turn) & LUD_AGENT_DIRECTION));
        agent[n++] = (uint8_t)i;
    }
    for (int k = 0; k < n; k++) {
        uint32_t target = lud_grid_front(run, agent[k]);
        if (lud_grid_is_pushable(run->content[target])) {
            uint32_t end = lud_grid_push_end(run, agent[k], target);
            if (end != (uint32_t)m->n_cells) target = end;
        }
        contested[k] = target;
        occupied[k] = run->content[target] == LUD_AGENT ||
                      (run->start[target] && target != lud_grid_agent_cell(run, agent[k]));
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++) occupied[k] |= j != k && contested[j] == contested[k];
    for (int k = 0; k < n; k++) {
        if (occupied[k]) continue;
        int i = agent[k];
        uint32_t target = lud_grid_front(run, i);
        uint8_t content = run->content[target];
        if (lud_grid_is_pushable(content)) {
            lud_grid_push(run, i, target);
        } else if (content == LUD_BUSH) {
            if (m->can[i] & LUD_CAN_TRAMPLE)
                lud_grid_put_condition(m, run->state, lud_grid_fixed_at(run, target)->slot, 1);
            lud_grid_move(run, i, target, false);
        } else if (content & LUD_CONTENT_OVERLAP) {
            lud_grid_move(run, i, target, false);
            if (content == (LUD_LAVA | LUD_CONTENT_OVERLAP)) lud_grid_die_in_lava(run, i);
        }
    }
}

LUD_HD static inline void lud_grid_play_magic(lud_grid_run *run, int i, int option) {
    uint32_t front = lud_grid_front(run, i);
    if (option == 0)
        lud_grid_move(run, i, front, false);
    else if (option == 2 && run->content[front] == LUD_MAGIC_WALL)
        lud_grid_put_condition(run->m, run->state, lud_grid_fixed_at(run, front)->slot, 0);
}

LUD_HD static inline void lud_grid_play_bush(lud_grid_run *run, int i, int option) {
    uint32_t front = lud_grid_front(run, i);
    if (option == 0 && run->content[front] == LUD_BUSH) lud_grid_move(run, i, front, false);
}

/* Block winners in block order, then the others in index order, then the late phases. */
LUD_HD static inline void lud_grid_play_choices(lud_grid_run *run, const lud_grid_plan *plan,
                                                const lud_grid_choice *choice) {
    lud_grid_count_step(run->m, run->state);
    uint64_t went = 0;
    int f = 0;
    for (int b = 0; b < plan->n_blocks; b++) {
        int winner = plan->block_begin[b];
        if (plan->block_begin[b + 1] - winner > 1) winner += choice->option[f++];
        int i = plan->member[winner];
        went |= (uint64_t)1 << i;
        if (lud_grid_can_act(run, i)) lud_grid_execute(run, i, plan->action[i]);
    }
    for (int k = 0; k < plan->n_normal; k++) {
        int i = plan->normal[k];
        if (!(went >> i & 1) && lud_grid_can_act(run, i)) lud_grid_execute(run, i, plan->action[i]);
    }
    if (!plan->n_late) return;
    lud_grid_play_unsteady(run, plan, choice);
    for (f = 0; f < plan->n_factors; f++) {
        const lud_grid_factor *factor = &plan->factor[f];
        if (factor->kind == LUD_FACTOR_MAGIC) lud_grid_play_magic(run, factor->index, choice->option[f]);
        if (factor->kind == LUD_FACTOR_BUSH) lud_grid_play_bush(run, factor->index, choice->option[f]);
    }
}

/* Draws every choice of a plan, one 32-bit word each. */
LUD_HD static inline void lud_grid_sample(const lud_grid_plan *plan, lud_random_key key, uint32_t tick,
                                          lud_grid_choice *choice) {
    lud_words words = {{0, 0, 0, 0}};
    for (int f = 0; f < plan->n_factors; f++) {
        if (f % 4 == 0) words = lud_draw(key, tick, 0, LUD_PURPOSE_TRANSITION, (uint32_t)f / 4);
        uint32_t word = words.v[f % 4];
        const lud_grid_factor *factor = &plan->factor[f];
        if (factor->kind == LUD_FACTOR_BLOCK) {
            choice->option[f] = (uint8_t)lud_below(word, factor->n_options);
            continue;
        }
        double u = lud_unit(word);
        int option = 0, last = 0;
        for (; option < factor->n_options; option++) {
            if (factor->probability[option] <= 0.0) continue;
            last = option;
            if (u < factor->probability[option]) break;
            u -= factor->probability[option];
        }
        choice->option[f] = (uint8_t)last;
    }
}
