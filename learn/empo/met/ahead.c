#include "learn/empo/met/ahead.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* A successor of a joint action. */
typedef struct link {
    int32_t joint_action;
    uint32_t state; /* among the distinct ones */
    double probability;
} link;

struct lud_empo_ahead_memory {
    lud_successors found;
    int32_t *joint, *human_of, *robot_of; /* [n_agents], [n_joint], [n_joint] */
    const double **row;                   /* [n_joint] into expected */
    double *expected;                     /* [n_joint][stride] */
    double *values, *marginal;            /* [n_goals]; [max actions] of each person, one after the other */
    int64_t n, room;                      /* distinct successors */
    uint8_t *states, *known;
    double *rows; /* [room][stride] */
    int64_t n_links, room_links;
    link *links;
    int64_t n_slots;
    uint32_t *slots; /* number + 1 */
};
typedef struct lud_empo_ahead_memory memory;

static size_t stride_of(const lud_empo_ahead *a) {
    return (size_t)lud_empo_met_layout(a->asker->met)->n_goals + 1;
}

static const lud_model *model_of(const lud_empo_ahead *a) {
    return &a->asker->values->features->grid->model;
}

bool lud_empo_ahead_create(lud_empo_asker *asker, lud_empo_ahead *a) {
    const lud_empo_layout *layout = lud_empo_met_layout(asker->met);
    *a = (lud_empo_ahead){.asker = asker};
    const lud_model *model = model_of(a);
    const size_t joint = (size_t)lud_joint_action_count(&model->layout);
    memory *m = a->memory = calloc(1, sizeof *m);
    if (!m) return false;
    a->record = calloc((size_t)layout->record_doubles, sizeof *a->record);
    m->joint = calloc((size_t)model->layout.n_agents, sizeof *m->joint);
    m->human_of = calloc(joint, sizeof *m->human_of);
    m->robot_of = calloc(joint, sizeof *m->robot_of);
    m->row = calloc(joint, sizeof *m->row);
    m->expected = calloc(joint * stride_of(a), sizeof *m->expected);
    m->values = calloc((size_t)layout->n_goals, sizeof *m->values);
    m->marginal = calloc((size_t)(layout->n_humans * layout->max_human_actions), sizeof *m->marginal);
    if (!a->record || !m->joint || !m->human_of || !m->robot_of || !m->row || !m->expected || !m->values ||
        !m->marginal)
        return false;
    for (size_t k = 0; k < joint; k++) {
        lud_joint_action_decode(&model->layout, (int32_t)k, m->joint);
        m->human_of[k] = lud_empo_human_profile(layout, m->joint);
        m->robot_of[k] = lud_empo_robot_action(layout, model, m->joint);
        m->row[k] = m->expected + k * stride_of(a);
    }
    return true;
}

void lud_empo_ahead_free(lud_empo_ahead *a) {
    memory *m = a->memory;
    if (m) {
        lud_successors_free(&m->found);
        LUD_FREE(m->joint, m->human_of, m->robot_of, m->row, m->expected, m->values, m->marginal);
        LUD_FREE(m->states, m->known, m->rows, m->links, m->slots);
    }
    LUD_FREE(a->record, m);
    *a = (lud_empo_ahead){0};
}

/* ---- distinct successors ---- */

static uint64_t slot_of(const memory *m, const uint8_t *state, size_t bytes) {
    const uint64_t mask = (uint64_t)m->n_slots - 1;
    uint64_t i = XXH3_64bits(state, bytes) & mask;
    while (m->slots[i] && memcmp(m->states + (m->slots[i] - 1) * bytes, state, bytes) != 0)
        i = (i + 1) & mask;
    return i;
}

static bool make_room(memory *m, size_t bytes, size_t stride) {
    if (m->n < m->room) return true;
    const int64_t room = m->room ? 2 * m->room : 64;
    uint32_t *slots = calloc((size_t)room * 2, sizeof *slots);
    if (!slots || !lud_grow(&m->states, (size_t)room, bytes) || !lud_grow(&m->known, (size_t)room, 1) ||
        !lud_grow(&m->rows, (size_t)room, stride * sizeof *m->rows)) {
        free(slots);
        return false;
    }
    free(m->slots);
    m->slots = slots;
    m->n_slots = 2 * room;
    m->room = room;
    for (int64_t i = 0; i < m->n; i++)
        m->slots[slot_of(m, m->states + (size_t)i * bytes, bytes)] = (uint32_t)(i + 1);
    return true;
}

/* The number of a successor, which joins when it is new, with its row if table or world know it. */
static bool number_of(lud_empo_ahead *a, const uint8_t *state, uint32_t *number) {
    memory *m = a->memory;
    const lud_model *model = model_of(a);
    const size_t bytes = model->layout.state_bytes, stride = stride_of(a);
    if (!make_room(m, bytes, stride)) return false;
    const uint64_t slot = slot_of(m, state, bytes);
    if (!m->slots[slot]) {
        const size_t i = (size_t)m->n++;
        double *row = m->rows + i * stride;
        memcpy(m->states + i * bytes, state, bytes);
        m->slots[slot] = (uint32_t)(i + 1);
        m->known[i] = lud_empo_met_known(a->asker->met, state, !a->network_alone, row);
    }
    *number = m->slots[slot] - 1;
    return true;
}

static lud_status list(lud_empo_ahead *a, const uint8_t *state, lud_error *error) {
    memory *m = a->memory;
    const lud_model *model = model_of(a);
    const int32_t n_joint = lud_joint_action_count(&model->layout);
    m->n = m->n_links = 0;
    if (m->slots) memset(m->slots, 0, (size_t)m->n_slots * sizeof *m->slots);
    for (int32_t k = 0; k < n_joint; k++) {
        lud_joint_action_decode(&model->layout, k, m->joint);
        LUD_TRY(model->world->successors(model, state, m->joint, &m->found, error));
        if (m->n_links + (int64_t)m->found.n > m->room_links) {
            const int64_t room = 2 * (m->n_links + (int64_t)m->found.n);
            if (!lud_grow(&m->links, (size_t)room, sizeof *m->links))
                return lud_no_memory(error, "successors");
            m->room_links = room;
        }
        for (size_t i = 0; i < m->found.n; i++) {
            link *l = &m->links[m->n_links++];
            *l = (link){.joint_action = k, .probability = m->found.probability[i]};
            if (!number_of(a, m->found.states + i * model->layout.state_bytes, &l->state))
                return lud_no_memory(error, "successors");
        }
    }
    return LUD_OK;
}

/* Rows of those that nobody knows, from the networks. */
static lud_status ask(lud_empo_ahead *a, lud_error *error) {
    memory *m = a->memory;
    lud_empo_asker *asker = a->asker;
    const size_t bytes = model_of(a)->layout.state_bytes, stride = stride_of(a), goals = stride - 1;
    int64_t number[LUD_EMPO_ASKED];
    int64_t n = 0;
    for (int64_t i = 0; i <= m->n; i++) {
        if (i < m->n && !m->known[i]) {
            number[n] = i;
            asker->states[n++] = m->states + (size_t)i * bytes;
        }
        if (n < LUD_EMPO_ASKED && i < m->n) continue;
        LUD_TRY(lud_empo_ask(asker, n, asker->states, error));
        for (int64_t k = 0; k < n; k++) {
            for (size_t g = 0; g < goals; g++) m->values[g] = (double)asker->v_h_e[(size_t)k * goals + g];
            const uint8_t *state = m->states + (size_t)number[k] * bytes;
            lud_empo_met_credit(asker->met, state, m->values, (double)asker->v_r[k],
                                m->rows + (size_t)number[k] * stride);
        }
        n = 0;
    }
    return LUD_OK;
}

/* How likely the known successors are under everybody's policies in the record. */
static double known_share(const lud_empo_ahead *a) {
    const memory *m = a->memory;
    const lud_empo_layout *layout = lud_empo_met_layout(a->asker->met);
    const double *weight = a->asker->values->features->goal_weight;
    double share = 0;
    for (int h = 0; h < layout->n_humans; h++)
        lud_empo_marginal_of(layout, weight, a->record, h, m->marginal + h * layout->max_human_actions);
    for (int64_t i = 0; i < m->n_links; i++) {
        const link *l = &m->links[i];
        if (!m->known[l->state]) continue;
        double p = l->probability * a->record[layout->pi_r + m->robot_of[l->joint_action]];
        for (int h = 0; h < layout->n_humans; h++)
            p *= m->marginal[h * layout->max_human_actions +
                             lud_empo_own_action(layout, h, m->human_of[l->joint_action])];
        share += p;
    }
    return share;
}

lud_status lud_empo_look_ahead(lud_empo_ahead *a, const uint8_t *state, lud_error *error) {
    memory *m = a->memory;
    const size_t stride = stride_of(a);
    LUD_TRY(list(a, state, error));
    LUD_TRY(ask(a, error));
    const int32_t n_joint = lud_joint_action_count(&model_of(a)->layout);
    memset(m->expected, 0, (size_t)n_joint * stride * sizeof *m->expected);
    for (int64_t i = 0; i < m->n_links; i++) {
        const link *l = &m->links[i];
        double *to = m->expected + (size_t)l->joint_action * stride;
        const double *from = m->rows + (size_t)l->state * stride;
        for (size_t j = 0; j < stride; j++) to[j] += l->probability * from[j];
    }
    lud_empo_met_look_from(a->asker->met, state, NULL, m->row, a->record);
    a->from_table = known_share(a);
    return LUD_OK;
}
