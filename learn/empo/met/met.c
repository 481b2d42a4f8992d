#include "learn/empo/met/met.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>
#include <xxhash.h>

#include "base/progress.h"
#include "learn/empo/met/met_inside.h"
#include "learn/nn/arrays.h"

enum { FIRST_ROOM = 32, FIRST_WORDS = 512 };

/* ---- memory ---- */

static size_t bytes_of_a_state(const lud_empo_met *m) {
    return m->state_bytes + sizeof *m->flags + sizeof *m->block +
           (size_t)m->n_knots * m->stride * sizeof *m->known + sizeof *m->list + sizeof *m->first_before +
           sizeof *m->touched + sizeof *m->place + sizeof *m->seen + sizeof *m->visits + sizeof *m->highest +
           sizeof *m->fresh + sizeof *m->expanded + m->mark_words * sizeof *m->marks + sizeof *m->active +
           sizeof *m->work + sizeof *m->changed;
}

static int64_t slots_for(int64_t room) {
    int64_t n = 2 * FIRST_ROOM;
    while (n < 2 * room) n *= 2;
    return n;
}

static size_t bytes_of_a_block(const lud_empo_met *m) {
    return sizeof *m->owner + (size_t)(m->n_levels - lud_met_first_level(m)) * m->stride * sizeof **m->rows;
}

static size_t bytes_with(const lud_empo_met *m, lud_met_rooms r) {
    return (size_t)r.states * bytes_of_a_state(m) + (size_t)slots_for(r.states) * sizeof *m->slots +
           (size_t)r.words * sizeof *m->words + (size_t)r.before * sizeof *m->before +
           (size_t)r.blocks * bytes_of_a_block(m);
}

static lud_met_rooms rooms_of(const lud_empo_met *m) {
    return (lud_met_rooms){m->room, m->room_words, m->room_before, m->room_blocks};
}

lud_met_rooms lud_met_taken(const lud_empo_met *m) {
    return (lud_met_rooms){m->n, m->n_words, m->n_before, m->n_blocks};
}

size_t lud_met_bytes(const lud_empo_met *m) {
    return bytes_with(m, rooms_of(m));
}

void lud_met_hash_again(lud_empo_met *m) {
    const uint64_t mask = (uint64_t)m->n_slots - 1;
    memset(m->slots, 0, (size_t)m->n_slots * sizeof *m->slots);
    for (int64_t node = 0; node < m->n; node++) {
        uint64_t i = XXH3_64bits(lud_empo_met_bytes_of(m, node), m->state_bytes) & mask;
        while (m->slots[i]) i = (i + 1) & mask;
        m->slots[i] = (uint32_t)(node + 1);
    }
}

static bool grow_states(lud_empo_met *m, int64_t room) {
    const size_t n = (size_t)room;
    if (!lud_grow(&m->block, n, sizeof *m->block) ||
        !lud_grow(&m->known, n * (size_t)m->n_knots * m->stride, sizeof *m->known) ||
        !lud_grow(&m->states, n, m->state_bytes) || !lud_grow(&m->flags, n, sizeof *m->flags) ||
        !lud_grow(&m->list, n, sizeof *m->list) || !lud_grow(&m->first_before, n, sizeof *m->first_before) ||
        !lud_grow(&m->touched, n, sizeof *m->touched) || !lud_grow(&m->place, n, sizeof *m->place) ||
        !lud_grow(&m->seen, n, sizeof *m->seen) || !lud_grow(&m->visits, n, sizeof *m->visits) ||
        !lud_grow(&m->highest, n, sizeof *m->highest) || !lud_grow(&m->fresh, n, sizeof *m->fresh) ||
        !lud_grow(&m->expanded, n, sizeof *m->expanded) ||
        !lud_grow(&m->marks, n * m->mark_words, sizeof *m->marks) ||
        !lud_grow(&m->active, n, sizeof *m->active) || !lud_grow(&m->work, n, sizeof *m->work) ||
        !lud_grow(&m->changed, n, sizeof *m->changed))
        return false;
    const int64_t slots = slots_for(room);
    if (slots != m->n_slots) {
        uint32_t *fresh = calloc((size_t)slots, sizeof *fresh);
        if (!fresh) return false;
        free(m->slots);
        m->slots = fresh;
        m->n_slots = slots;
        lud_met_hash_again(m);
    }
    m->room = room;
    return true;
}

static bool grow_blocks(lud_empo_met *m, int64_t room) {
    for (int level = lud_met_first_level(m); level < m->n_levels; level++)
        if (!lud_grow(&m->rows[level], ((size_t)room + 1) * m->stride, sizeof **m->rows)) return false;
    if (!lud_grow(&m->owner, (size_t)room + 1, sizeof *m->owner)) return false;
    m->room_blocks = room;
    return true;
}

/* A quarter more than there is, if that is enough. */
static int64_t larger(int64_t room, int64_t wanted, int64_t least) {
    if (wanted <= room) return room;
    const int64_t more = room + room / 4 + least;
    return more > wanted ? more : wanted;
}

static int64_t with_share(int64_t taken, int64_t wanted, double share) {
    const int64_t n = taken > wanted ? taken : wanted;
    return n + (int64_t)(share * (double)n);
}

/* What is wanted, and as much more of each as there is memory for all; false: hardly any is left. */
static bool fill_memory(const lud_empo_met *m, lud_met_rooms wanted, lud_met_rooms *to) {
    const lud_met_rooms n = lud_met_taken(m);
    for (double share = 0.25; share > 0.01; share *= 0.8) {
        *to = (lud_met_rooms){
            with_share(n.states, wanted.states, share), with_share(n.words, wanted.words, share),
            with_share(n.before, wanted.before, share), with_share(n.blocks, wanted.blocks, share)};
        if (bytes_with(m, *to) <= m->most_bytes) return true;
    }
    *to = wanted; /* an empty table has to begin somehow */
    return n.states == 0 && bytes_with(m, *to) <= m->most_bytes;
}

/* Memory for just so much. */
static bool take_rooms(lud_empo_met *m, lud_met_rooms to, bool *failed) {
    const lud_met_rooms own = rooms_of(m);
    if (to.states >= INT32_MAX || to.before >= UINT32_MAX) return false;
    *failed = true;
    if (to.words != own.words && !lud_grow(&m->words, (size_t)to.words + 1, sizeof *m->words)) return false;
    m->room_words = to.words;
    if (to.before != own.before && !lud_grow(&m->before, (size_t)to.before + 1, sizeof *m->before))
        return false;
    m->room_before = to.before;
    if (to.blocks != own.blocks && !grow_blocks(m, to.blocks)) return false;
    if (to.states != own.states && !grow_states(m, to.states)) return false;
    *failed = false;
    return true;
}

bool lud_met_reserve(lud_empo_met *m, lud_met_rooms wanted, bool *failed) {
    const lud_met_rooms own = rooms_of(m);
    *failed = false;
    if (wanted.states <= own.states && wanted.words <= own.words && wanted.before <= own.before &&
        wanted.blocks <= own.blocks)
        return true;
    lud_met_rooms to = {
        larger(own.states, wanted.states, FIRST_ROOM), larger(own.words, wanted.words, FIRST_WORDS),
        larger(own.before, wanted.before, FIRST_WORDS), larger(own.blocks, wanted.blocks, FIRST_ROOM)};
    if (bytes_with(m, to) > m->most_bytes && !fill_memory(m, wanted, &to)) return false;
    return take_rooms(m, to, failed);
}

bool lud_met_reserve_exactly(lud_empo_met *m, lud_met_rooms rooms, bool *failed) {
    const size_t begun = lud_met_bytes(m), most = m->most_bytes > begun ? m->most_bytes : begun;
    *failed = false;
    return bytes_with(m, rooms) <= most && take_rooms(m, rooms, failed);
}

/* Room for one state more. */
static bool reserve_state(lud_empo_met *m, bool *failed) {
    lud_met_rooms wanted = lud_met_taken(m);
    wanted.states++;
    return lud_met_reserve(m, wanted, failed);
}

static lud_status no_room(const lud_empo_met *m, bool failed, lud_error *error) {
    char most[16];
    if (failed) return lud_no_memory(error, "%lld states that were met", (long long)m->n);
    return lud_fail(error, LUD_ERROR_LIMIT, "%lld states that were met fill %s", (long long)m->n,
                    lud_format_memory((double)m->most_bytes, most));
}

/* Knots stand closer where there is less time left: what is worth how much changes most there. */
static void lay_out_knots(lud_empo_met *m) {
    const int first = lud_met_first_level(m), last = m->n_levels - 1;
    for (int i = 0; i < LUD_MET_KNOTS; i++) {
        const double way = (double)i / (LUD_MET_KNOTS - 1);
        const int level = first + (int)lround((last - first) * (0.3 * way + 0.7 * way * way));
        if (m->n_knots == 0 || level > m->knots[m->n_knots - 1]) m->knots[m->n_knots++] = level;
    }
    int knot = 0;
    for (int level = 0; level < m->n_levels; level++) {
        while (knot + 1 < m->n_knots && m->knots[knot + 1] <= level) knot++;
        m->knot[level] = knot;
        m->part[level] = knot + 1 < m->n_knots && level > m->knots[knot]
                             ? (double)(level - m->knots[knot]) / (m->knots[knot + 1] - m->knots[knot])
                             : 0.0;
    }
}

/* Levels, and whether people do the same at each. */
static bool lay_out_levels(lud_empo_met *m) {
    const lud_layout *layout = &m->model->layout;
    const lud_policy *people = m->prior->policy;
    m->clocked = layout->clock.bytes > 0 && layout->max_steps > 0 && m->model->world->elapsed &&
                 layout->max_steps <= LUD_EMPO_MET_MOST_STEPS;
    m->n_levels = m->clocked ? layout->max_steps + 1 : 1;
    m->mark_words = ((size_t)m->n_levels + 63) / 64;
    m->lowest = m->n_levels;
    m->policy_levels = m->clocked && !(people && people->kind->ignores_clock) ? m->n_levels - 1 : 1;
    m->n_policy_words = m->policy_levels * m->n_policies;
    m->rows = lud_arena_take_array(m->arena, (size_t)m->n_levels, sizeof *m->rows);
    m->knot = lud_arena_take_array(m->arena, (size_t)m->n_levels, sizeof *m->knot);
    m->part = lud_arena_take_array(m->arena, (size_t)m->n_levels, sizeof *m->part);
    m->annuity = lud_arena_take_array(m->arena, (size_t)m->n_levels, sizeof *m->annuity);
    if (!m->rows || !m->knot || !m->part || !m->annuity) return false;
    for (int level = 0; level < m->n_levels; level++)
        m->annuity[level] = level < 2 ? 1.0 : 1.0 + m->game.gamma_r * m->annuity[level - 1];
    memset(m->rows, 0, (size_t)m->n_levels * sizeof *m->rows);
    lay_out_knots(m);
    return true;
}

static bool take_scratch(lud_empo_met *m, lud_met_scratch *scratch) {
    double *memory = lud_arena_take_array(m->arena, lud_empo_scratch_doubles(&m->game), sizeof *memory);
    scratch->record = lud_arena_take_array(m->arena, (size_t)m->game.record_doubles, sizeof(double));
    scratch->row = lud_arena_take_array(m->arena, m->stride, sizeof(double));
    if (memory) scratch->equations = lud_empo_scratch_in(&m->game, memory);
    return memory && scratch->record && scratch->row;
}

static bool take_working_memory(lud_empo_met *m) {
    m->n_threads = omp_get_max_threads();
    m->scratch = lud_arena_take_array(m->arena, (size_t)m->n_threads, sizeof *m->scratch);
    m->policy = lud_arena_take_array(m->arena, (size_t)m->n_policies, sizeof *m->policy);
    m->values = lud_arena_take_array(m->arena, m->stride, sizeof *m->values);
    m->own = lud_arena_take_array(m->arena, m->state_bytes, 1);
    m->key = lud_arena_take_array(m->arena, m->state_bytes, 1);
    m->joint = lud_arena_take_array(m->arena, (size_t)m->model->layout.n_agents, sizeof *m->joint);
    bool complete = m->scratch && m->policy && m->values && m->own && m->key && m->joint;
    for (int i = 0; complete && i < m->n_threads; i++) complete = take_scratch(m, &m->scratch[i]);
    return complete && lay_out_levels(m) && grow_states(m, FIRST_ROOM) && grow_blocks(m, FIRST_ROOM);
}

lud_status lud_empo_met_create(const lud_empo_features *features, const lud_empo_theory *theory,
                               const lud_empo_prior *prior, double power_floor, size_t most_bytes,
                               lud_empo_met **met, lud_error *error) {
    *met = NULL;
    lud_empo_met *m = calloc(1, sizeof *m);
    if (!m) return lud_no_memory(error, "states that were met");
    *m = (lud_empo_met){.model = &features->grid->model,
                        .features = features,
                        .prior = prior,
                        .most_bytes = most_bytes,
                        .state_bytes = features->grid->model.layout.state_bytes,
                        .arena = lud_arena_create(0)};
    lud_status status = m->arena ? lud_empo_problem_of_model(m->model, theory, &m->problem, error)
                                 : lud_no_memory(error, "states that were met");
    if (status == LUD_OK) {
        m->game = lud_empo_game_of(m->problem, m->noop);
        m->game.power_floor = power_floor;
        m->stride = (size_t)m->game.n_goals + 1;
        m->n_joint = m->problem->n_joint_actions;
        m->n_policies = m->game.n_policies;
        m->end = m->game.gamma_r * m->game.terminal_value;
        if (!take_working_memory(m)) status = lud_no_memory(error, "states that were met");
    }
    if (status)
        lud_empo_met_destroy(m);
    else
        lud_empo_met_clear(*met = m);
    return status;
}

void lud_empo_met_divide(lud_empo_met *m, lud_ranks *ranks) {
    m->ranks = ranks;
}

void lud_empo_met_destroy(lud_empo_met *m) {
    if (!m) return;
    for (int level = 0; m->rows && level < m->n_levels; level++) free(m->rows[level]);
    LUD_FREE(m->states, m->flags, m->list, m->first_before, m->touched, m->place, m->seen, m->visits,
             m->highest);
    LUD_FREE(m->fresh, m->expanded, m->marks, m->active, m->work, m->changed, m->slots, m->renewed);
    LUD_FREE(m->words, m->before, m->built, m->distinct, m->likely, m->block, m->known, m->owner);
    for (int i = 0; m->scratch && i < m->n_threads; i++) free(m->scratch[i].distinct);
    lud_successors_free(&m->found);
    lud_empo_problem_destroy(m->problem);
    lud_arena_destroy(m->arena);
    free(m);
}

void lud_empo_met_clear(lud_empo_met *m) {
    m->n = m->n_fresh = m->n_expanded = m->n_terminal = m->n_active = m->n_words = m->n_before = 0;
    m->lowest = m->n_levels;
    m->all_marked = false;
    m->closed = false;
    m->grounded = 0;
    m->n_blocks = 0;
    lud_met_hash_again(m);
}

const lud_empo_layout *lud_empo_met_layout(const lud_empo_met *m) {
    return &m->problem->layout;
}

/* ---- states ---- */

int lud_empo_met_levels(const lud_empo_met *m) {
    return m->n_levels;
}
int lud_empo_met_level(const lud_empo_met *m, const uint8_t *state) {
    if (!m->clocked) return 0;
    const int left = m->n_levels - 1 - m->model->world->elapsed(m->model, state);
    return left > 0 ? left : 0;
}
const int32_t *lud_empo_met_knots(const lud_empo_met *m, int *n) {
    *n = m->n_knots;
    return m->knots;
}
const uint8_t *lud_empo_met_bytes_of(const lud_empo_met *m, int64_t node) {
    return m->states + (size_t)node * m->state_bytes;
}
int lud_empo_met_highest(const lud_empo_met *m, int64_t node) {
    return m->highest[node];
}

int lud_empo_met_likely_level(const lud_empo_met *m, int64_t node) {
    return m->highest[node] > 0 || !m->clocked ? m->highest[node] : 1;
}

int lud_empo_met_some_level(const lud_empo_met *m, int64_t node, double uniform) {
    return m->highest[node] > 0 ? 1 + (int)(uniform * m->highest[node]) : 0;
}

/* Puts a level into the clock of a state. */
static void set_level(const lud_empo_met *m, int level, uint8_t *state) {
    const lud_clock *clock = &m->model->layout.clock;
    uint64_t elapsed = (uint64_t)(m->n_levels - 1 - level);
    for (size_t i = 0; m->clocked && i < clock->bytes; i++, elapsed >>= 8)
        state[clock->offset + i] = (uint8_t)elapsed;
}

void lud_empo_met_state(const lud_empo_met *m, int64_t node, int level, uint8_t *state) {
    memcpy(state, lud_empo_met_bytes_of(m, node), m->state_bytes);
    set_level(m, level, state);
}

bool lud_empo_met_expanded(const lud_empo_met *m, int64_t node) {
    return m->flags[node] & LUD_MET_EXPANDED;
}
bool lud_empo_met_terminal(const lud_empo_met *m, int64_t node) {
    return m->flags[node] & LUD_MET_TERMINAL;
}
bool lud_empo_met_sure(const lud_empo_met *m, int64_t node) {
    return m->flags[node] & (LUD_MET_EXPANDED | LUD_MET_TERMINAL | LUD_MET_FORGOTTEN);
}
void lud_empo_met_visit_node(lud_empo_met *m, int64_t node) {
    m->seen[node] = ++m->clock;
    m->visits[node]++;
}
uint32_t lud_empo_met_visits(const lud_empo_met *m, int64_t node) {
    return m->visits[node];
}
int64_t lud_empo_met_expanded_at(const lud_empo_met *m, int64_t i) {
    return m->expanded[i];
}
void lud_empo_met_row(const lud_empo_met *m, int64_t node, int level, double *row) {
    lud_met_read(m, node, level, row);
}

/* The slot of a state, which then stands in m->key without its clock, or the free one where it belongs. */
static uint64_t slot_of(const lud_empo_met *m, const uint8_t *state) {
    const uint64_t mask = (uint64_t)m->n_slots - 1;
    memcpy(m->key, state, m->state_bytes);
    if (m->clocked) memset(m->key + m->model->layout.clock.offset, 0, m->model->layout.clock.bytes);
    uint64_t i = XXH3_64bits(m->key, m->state_bytes) & mask;
    while (m->slots[i] && memcmp(lud_empo_met_bytes_of(m, m->slots[i] - 1), m->key, m->state_bytes) != 0)
        i = (i + 1) & mask;
    return i;
}

int64_t lud_empo_met_find(const lud_empo_met *m, const uint8_t *state) {
    return (int64_t)m->slots[slot_of(m, state)] - 1;
}

/* What is known of a state at a knot: row[stride], but for what the world itself says, which is left
 * alone. */
static void set_known(lud_empo_met *m, int64_t node, int knot, const double *row) {
    float *known = lud_met_known(m, node, knot);
    for (size_t k = 0; k < m->stride; k++)
        if (k + 1 == m->stride || known[k] != LUD_MET_ACHIEVED) known[k] = (float)row[k];
}

lud_status lud_empo_met_add(lud_empo_met *m, const uint8_t *state, int64_t *node, lud_error *error) {
    bool failed;
    uint64_t slot = slot_of(m, state);
    const int level = lud_empo_met_level(m, state);
    if (m->slots[slot]) {
        *node = m->slots[slot] - 1;
        if (level > m->highest[*node] && !m->restoring) m->highest[*node] = level;
        return LUD_OK;
    }
    if (m->n == m->room) {
        if (!reserve_state(m, &failed)) return no_room(m, failed, error);
        slot = slot_of(m, state);
    }
    const int64_t i = *node = m->n++;
    memcpy(m->states + (size_t)i * m->state_bytes, m->key, m->state_bytes);
    memset(m->marks + (size_t)i * m->mark_words, 0, m->mark_words * sizeof *m->marks);
    m->slots[slot] = (uint32_t)(i + 1);
    m->flags[i] = 0;
    m->list[i] = -1;
    m->first_before[i] = LUD_MET_NONE;
    m->touched[i] = m->seen[i] = m->visits[i] = 0;
    m->highest[i] = level;
    m->closed = false;
    m->block[i] = LUD_MET_NONE;
    lud_empo_met_credit(m, lud_empo_met_bytes_of(m, i), NULL, 0, m->values);
    for (int knot = 0; knot < m->n_knots; knot++)
        for (size_t k = 0; k < m->stride; k++)
            lud_met_known(m, i, knot)[k] =
                k + 1 < m->stride && m->values[k] > 0 ? LUD_MET_ACHIEVED : (float)m->values[k];
    if (m->model->world->is_terminal(m->model, lud_empo_met_bytes_of(m, i))) {
        m->flags[i] = LUD_MET_TERMINAL;
        m->n_terminal++;
        return LUD_OK;
    }
    /* until somebody says better: as if people could do anything */
    for (int knot = 0; knot < m->n_knots; knot++) {
        for (size_t k = 0; k < m->stride; k++)
            m->values[k] = k + 1 < m->stride ? 0.5 : -m->annuity[m->knots[knot]];
        set_known(m, i, knot, m->values);
    }
    m->fresh[m->n_fresh++] = (uint32_t)i;
    return LUD_OK;
}

/* ---- worth ---- */

double lud_empo_met_annuity(const lud_empo_met *m, int level) {
    return m->annuity[level];
}

void lud_empo_met_credit(const lud_empo_met *m, const uint8_t *state, const double *v_h_e, double v_r,
                         double *row) {
    const lud_empo_layout *layout = &m->problem->layout;
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            row[g] = m->model->world->achieved(m->model, state, layout->humans[h], g - layout->goal_begin[h])
                         ? 1.0
                     : v_h_e ? m->game.gamma_h * v_h_e[g]
                             : 0.0;
    row[layout->n_goals] = m->game.gamma_r * (v_h_e ? v_r : m->game.terminal_value);
}

bool lud_empo_met_known(const lud_empo_met *m, const uint8_t *state, bool table, double *row) {
    if (m->model->world->is_terminal(m->model, state)) {
        lud_empo_met_credit(m, state, NULL, 0, row);
        return true;
    }
    const int64_t node = table ? lud_empo_met_find(m, state) : LUD_EMPO_UNMET;
    if (node == LUD_EMPO_UNMET || !lud_empo_met_sure(m, node)) return false;
    lud_empo_met_row(m, node, lud_empo_met_level(m, state), row);
    return true;
}

/* Rows of a block as they follow from what is known at the knots. */
static void fill_block(lud_empo_met *m, int64_t node) {
    for (int l = lud_met_first_level(m); l < m->n_levels; l++) {
        lud_met_between_knots(m, node, l, m->values);
        for (size_t k = 0; k < m->stride; k++) lud_met_row(m, node, l)[k] = (float)m->values[k];
    }
}

double lud_empo_met_belief(const lud_empo_met *m) {
    const double g = m->grounded;
    return g < 0.5 ? g / (1 - g) : 1;
}

void lud_empo_met_ground(lud_empo_met *m, int64_t n, double shares) {
    static const double rate = 1e-4; /* of a state */
    if (n > 0) m->grounded += -expm1(-rate * (double)n) * (shares / (double)n - m->grounded);
}

/* The row of a state at the rim, for what a network says of it. */
static void row_of_worth(lud_empo_met *m, int64_t node, const float *v_h_e, float v_r, double *row) {
    for (size_t g = 0; g + 1 < m->stride; g++) m->values[g] = fmin(fmax((double)v_h_e[g], 0.0), 1.0);
    lud_empo_met_credit(m, lud_empo_met_bytes_of(m, node), m->values, (double)v_r, row);
}

static void said(lud_empo_met *m, int64_t node) {
    if (m->block[node] != LUD_MET_NONE) fill_block(m, node);
    lud_met_mark_before(m, node);
}

void lud_empo_met_set(lud_empo_met *m, int64_t node, const float *v_h_e, const float *v_r) {
    assert(!(m->flags[node] & (LUD_MET_EXPANDED | LUD_MET_TERMINAL)));
    for (int knot = 0; knot < m->n_knots; knot++) {
        row_of_worth(m, node, v_h_e + (size_t)knot * (m->stride - 1), v_r[knot], m->scratch->row);
        set_known(m, node, knot, m->scratch->row);
    }
    said(m, node);
}

void lud_empo_met_scale(lud_empo_met *m, int64_t node, int level, const float *v_h_e, float v_r) {
    assert(!(m->flags[node] & (LUD_MET_EXPANDED | LUD_MET_TERMINAL)));
    double *wanted = m->scratch->row, *own = m->values;
    row_of_worth(m, node, v_h_e, v_r, wanted);
    lud_met_between_knots(m, node, level, own);
    for (size_t k = 0; k < m->stride; k++) {
        const double most = k + 1 < m->stride ? 1.0 : fabs(wanted[k]);
        for (int knot = 0; knot < m->n_knots; knot++) {
            float *known = &lud_met_known(m, node, knot)[k];
            if (k + 1 < m->stride && *known == LUD_MET_ACHIEVED) break;
            /* what was as good as nothing is in no proportion to anything */
            const double scaled = fabs(own[k]) > 1e-6 ? (double)*known * wanted[k] / own[k] : wanted[k];
            /* at no other time can there be more to lose for every step */
            const double times = fmax(1.0, (double)m->knots[knot] / fmax(level, 1));
            *known = (float)(k + 1 < m->stride ? fmin(scaled, 1.0) : fmax(scaled, -most * times));
        }
    }
    said(m, node);
}

const uint32_t *lud_empo_met_new(const lud_empo_met *m, int64_t *n) {
    *n = m->n_fresh;
    return m->fresh;
}

void lud_empo_met_none_new(lud_empo_met *m) {
    m->n_fresh = 0;
}

/* ---- successors ---- */

void lud_met_ask_people(lud_empo_met *m, const uint8_t *state, double *policies) {
    const lud_empo_layout *layout = &m->problem->layout;
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
            lud_empo_prior_policy(m->prior, m->features, state, h, g,
                                  policies + layout->policy_begin[h] + g * layout->n_human_actions[h]);
}

static bool room_to_build(lud_empo_met *m, int64_t more) {
    if (m->n_built + more <= m->room_built) return true;
    const int64_t room = 2 * (m->n_built + more);
    if (!lud_grow(&m->built, (size_t)room, sizeof *m->built)) return false;
    m->room_built = room;
    return true;
}

/* Room for one distinct successor more, and for its row in every thread. */
static bool room_for_distinct(lud_empo_met *m) {
    if (m->n_distinct < m->room_distinct) return true;
    const int64_t room = m->room_distinct ? 2 * m->room_distinct : FIRST_ROOM;
    if (!lud_grow(&m->distinct, (size_t)room, sizeof *m->distinct) ||
        !lud_grow(&m->likely, (size_t)room, sizeof *m->likely))
        return false;
    for (int i = 0; i < m->n_threads; i++)
        if (!lud_grow(&m->scratch[i].distinct, ((size_t)room + 1) * m->stride, sizeof(double))) return false;
    m->room_distinct = room;
    return true;
}

/* The place of a successor among the distinct ones; a new state joins the table. */
static lud_status place_of(lud_empo_met *m, int64_t node, const uint8_t *state, uint32_t *place,
                           lud_error *error) {
    int64_t to;
    const int64_t n_before = m->n;
    LUD_TRY(lud_empo_met_add(m, state, &to, error));
    if (m->n > n_before && !lud_empo_met_terminal(m, to)) {
        /* until somebody says better it is worth what the one before it is */
        for (int knot = 0; knot < m->n_knots; knot++) {
            lud_met_read(m, node, m->knots[knot], m->values);
            set_known(m, to, knot, m->values);
        }
    }
    if (m->touched[to] != m->expansion) {
        if (!room_for_distinct(m)) return lud_no_memory(error, "successors");
        m->touched[to] = m->expansion;
        m->place[to] = (uint32_t)m->n_distinct;
        m->distinct[m->n_distinct++] = (uint32_t)to;
    }
    *place = m->place[to];
    return LUD_OK;
}

/* The row of one joint action in the list under construction. */
static lud_status build_row(lud_empo_met *m, int64_t node, int32_t k, lud_error *error) {
    lud_joint_action_decode(&m->model->layout, k, m->joint);
    LUD_TRY(m->model->world->successors(m->model, m->own, m->joint, &m->found, error));
    const int64_t n = (int64_t)m->found.n;
    if (!room_to_build(m, 1 + 3 * n)) return lud_no_memory(error, "successors");
    uint32_t *branch = m->built + m->n_built;
    for (int64_t i = 0; i < n; i++)
        LUD_TRY(place_of(m, node, m->found.states + (size_t)i * m->state_bytes, &branch[1 + i], error));
    if (n == 1) {
        m->built[m->n_policy_words + k] = branch[1];
        return LUD_OK;
    }
    branch[0] = (uint32_t)n;
    memcpy(branch + 1 + n, m->found.probability, (size_t)n * sizeof(double));
    m->built[m->n_policy_words + k] = LUD_MET_BRANCH | (uint32_t)m->n_built;
    m->n_built += 1 + 3 * n;
    return LUD_OK;
}

static lud_status build_list(lud_empo_met *m, int64_t node, lud_error *error) {
    const int64_t head = m->n_policy_words + m->n_joint + 2;
    m->n_built = m->n_distinct = 0;
    m->expansion++;
    if (!room_to_build(m, head)) return lud_no_memory(error, "successors");
    m->n_built = head;
    const int level = lud_empo_met_likely_level(m, node);
    lud_empo_met_state(m, node, level, m->own);
    for (int l = 0; l < m->policy_levels; l++) {
        if (m->policy_levels > 1) set_level(m, l + 1, m->own);
        lud_met_ask_people(m, m->own, m->policy);
        for (int32_t i = 0; i < m->n_policies; i++) {
            const float p = (float)m->policy[i];
            memcpy(m->built + l * m->n_policies + i, &p, sizeof p);
        }
    }
    set_level(m, level, m->own);
    for (int32_t k = 0; k < m->n_joint; k++) LUD_TRY(build_row(m, node, k, error));
    if (!room_to_build(m, m->n_distinct)) return lud_no_memory(error, "successors");
    m->built[head - 2] = (uint32_t)m->n_built;
    m->built[head - 1] = (uint32_t)m->n_distinct;
    memcpy(m->built + m->n_built, m->distinct, (size_t)m->n_distinct * sizeof *m->built);
    m->n_built += m->n_distinct;
    return LUD_OK;
}

/* Notes with every successor that `node` leads to it. */
void lud_met_note_before(lud_empo_met *m, int64_t node) {
    const lud_met_distinct successors = lud_met_distinct_of(m, node);
    for (uint32_t i = 0; i < successors.n; i++) {
        const uint32_t to = successors.node[i];
        m->before[m->n_before] = (lud_met_before){(uint32_t)node, m->first_before[to]};
        m->first_before[to] = (uint32_t)m->n_before++;
    }
}

/* Gives a state a block, in which it is worth what it was. */
static lud_status take_block(lud_empo_met *m, int64_t node, lud_error *error) {
    bool failed;
    if (m->block[node] != LUD_MET_NONE) return LUD_OK;
    lud_met_rooms wanted = lud_met_taken(m);
    wanted.blocks++;
    if (!lud_met_reserve(m, wanted, &failed)) return no_room(m, failed, error);
    m->owner[m->n_blocks] = (uint32_t)node;
    m->block[node] = (uint32_t)m->n_blocks++;
    fill_block(m, node);
    return LUD_OK;
}

/* Gives a state the list of its successors. */
static lud_status list_successors(lud_empo_met *m, int64_t node, lud_error *error) {
    bool failed;
    LUD_TRY(take_block(m, node, error));
    LUD_TRY(build_list(m, node, error));
    lud_met_rooms wanted = lud_met_taken(m);
    wanted.words += m->n_built;
    wanted.before += m->n_distinct;
    if (!lud_met_reserve(m, wanted, &failed)) return no_room(m, failed, error);
    m->list[node] = m->n_words;
    memcpy(m->words + m->n_words, m->built, (size_t)m->n_built * sizeof *m->words);
    m->n_words += m->n_built;
    lud_met_note_before(m, node);
    return LUD_OK;
}

lud_status lud_empo_met_expand(lud_empo_met *m, int64_t node, lud_error *error) {
    assert(!(m->flags[node] & (LUD_MET_EXPANDED | LUD_MET_TERMINAL)));
    LUD_TRY(list_successors(m, node, error));
    m->flags[node] = (uint8_t)((m->flags[node] & ~LUD_MET_FORGOTTEN) | LUD_MET_EXPANDED);
    m->expanded[m->n_expanded++] = (uint32_t)node;
    lud_met_mark_from(m, node, lud_met_first_level(m));
    return LUD_OK;
}

static lud_status restore_lists(lud_empo_met *m, lud_progress *progress, lud_error *error) {
    enum { BEAT = 256 };
    for (int64_t i = 0; i < m->n_expanded; i++) {
        const int64_t node = m->expanded[i];
        if (m->list[node] >= 0) continue;
        if (i % BEAT == 0) LUD_TRY(lud_met_beat(m, progress, 0, error));
        LUD_TRY(list_successors(m, node, error));
    }
    return LUD_OK;
}

lud_status lud_empo_met_restore(lud_empo_met *m, lud_progress *progress, lud_error *error) {
    m->restoring = true;
    const lud_status status = restore_lists(m, progress, error);
    m->restoring = false;
    return status;
}

int64_t lud_empo_met_next(const lud_empo_met *m, int64_t node, int32_t joint_action, double uniform) {
    const lud_met_successors row = lud_met_row_of(m, node, joint_action);
    const lud_met_distinct distinct = lud_met_distinct_of(m, node);
    uint32_t i = 0;
    while (i + 1 < row.n && uniform >= lud_met_probability(row, i)) uniform -= lud_met_probability(row, i++);
    return distinct.node[row.place[i]];
}

const float *lud_empo_met_policies(const lud_empo_met *m, int64_t node, int level) {
    const int64_t at = m->list[node] + (m->policy_levels > 1 ? (int64_t)(level - 1) * m->n_policies : 0);
    return (const float *)(const void *)(m->words + at); /* words of either type */
}

/* ---- figures ---- */

lud_empo_met_figures lud_empo_met_get(const lud_empo_met *m) {
    return (lud_empo_met_figures){.n = m->n,
                                  .expanded = m->n_expanded,
                                  .terminal = m->n_terminal,
                                  .computed = m->computed,
                                  .forgotten = m->forgotten,
                                  .bytes = lud_met_bytes(m),
                                  .most_bytes = m->most_bytes};
}

bool lud_empo_met_complete(const lud_empo_met *m) {
    return m->n > 0 && (m->closed || m->n == m->n_expanded + m->n_terminal);
}
