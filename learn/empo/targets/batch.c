#include "learn/empo/targets/batch.h"

#include <string.h>

#include "learn/empo/people/human_profiles.h"
#include "learn/nn/capture.h"

/* ---- making and freeing ---- */

static lud_status make_trajectories(lud_empo_sample *b, lud_error *error) {
    const lud_empo_learner_options *o = b->options;
    if (o->hindsight_prob > 0) {
        b->hindsight = lud_empo_hindsight_create(b->values->features, b->replay, b->size, o->hindsight_prob,
                                                 o->hindsight_whole, b->seed);
        if (!b->hindsight) return lud_no_memory(error, "goals in hindsight");
    }
    return lud_empo_learner_uses_trajectories(o)
               ? lud_empo_trajectory_create(b->values, b->replay, o, b->size, &b->trajectory, error)
               : LUD_OK;
}

lud_status lud_empo_sample_create(lud_empo_values *values, lud_empo_replay *replay,
                                  const lud_empo_learner_options *options, uint64_t seed, lud_empo_sample *b,
                                  lud_error *error) {
    const lud_empo_layout *layout = &values->features->layout;
    *b = (lud_empo_sample){.values = values,
                           .replay = replay,
                           .options = options,
                           .device = values->device,
                           .seed = seed,
                           .size = options->batch_size,
                           .n_actions = layout->n_robot_actions,
                           .n_entries = values->n_entries};
    const size_t n = (size_t)b->size, profiles = (size_t)layout->n_human_profiles;
    b->arrays.device = b->row_arrays.device = b->link_arrays.device = values->device;
    LUD_TAKE(&b->arrays, b->drawn, n * (size_t)options->replay_contest);
    LUD_TAKE(&b->arrays, b->error, n);
    LUD_TAKE(&b->arrays, b->all, n);
    LUD_TAKE(&b->arrays, b->entry_offsets, n + 1);
    LUD_TAKE(&b->arrays, b->offsets, n * (size_t)b->n_actions + 1);
    LUD_TAKE(&b->arrays, b->marginal, profiles);
    LUD_TAKE(&b->arrays, b->pursuing, (size_t)layout->n_goals * profiles);
    LUD_TAKE(&b->arrays, b->parts, (size_t)layout->n_humans * profiles);
    lud_status status = b->arrays.failed ? lud_no_memory(error, "a batch") : LUD_OK;
    if (status == LUD_OK) status = make_trajectories(b, error);
    if (status) {
        lud_empo_sample_free(b);
        return status;
    }
    for (int64_t i = 0; i <= b->size; i++) b->entry_offsets[i] = (int32_t)(i * b->n_entries);
    return LUD_OK;
}

void lud_empo_sample_free(lud_empo_sample *b) {
    lud_empo_trajectory_destroy(b->trajectory);
    lud_empo_hindsight_destroy(b->hindsight);
    lud_arrays_free(&b->arrays);
    lud_arrays_free(&b->row_arrays);
    lud_arrays_free(&b->link_arrays);
    *b = (lud_empo_sample){0};
}

/* ---- room that grows with what a batch holds ---- */

static bool room_for_rows(lud_empo_sample *b, int64_t n) {
    n = lud_capture_rows(b->device, n);
    if (n <= b->row_room) return true;
    const size_t rows = (size_t)(n + n / 2);
    lud_arrays_free(&b->row_arrays);
    LUD_TAKE(&b->row_arrays, b->records, rows);
    LUD_TAKE(&b->row_arrays, b->goals, rows);
    LUD_TAKE(&b->row_arrays, b->continues, rows);
    LUD_TAKE(&b->row_arrays, b->terminal, rows);
    LUD_TAKE(&b->row_arrays, b->achieved, rows * (size_t)b->n_entries);
    b->row_room = b->row_arrays.failed ? 0 : (int64_t)rows;
    return !b->row_arrays.failed;
}

static bool room_for_links(lud_empo_sample *b, int64_t n) {
    n = lud_capture_rows(b->device, n);
    if (n <= b->link_room) return true;
    b->n_grown++;
    const size_t links = (size_t)(n + n / 2), expanded = links * (size_t)b->n_entries;
    lud_arrays *a = &b->link_arrays;
    lud_arrays_free(a);
    LUD_TAKE(a, b->probability, links);
    LUD_TAKE(a, b->link_row, links);
    LUD_TAKE(a, b->flat_row, links);
    LUD_TAKE(a, b->profile, links);
    LUD_TAKE(a, b->flat.successor, links);
    LUD_TAKE(a, b->flat.slot, links);
    LUD_TAKE(a, b->flat.probability, links);
    LUD_TAKE(a, b->flat.expanded_row, expanded);
    LUD_TAKE(a, b->flat.entry, expanded);
    LUD_TAKE(a, b->flat.expanded_slot, expanded);
    LUD_TAKE(a, b->flat.expanded_probability, expanded);
    LUD_TAKE(a, b->value_index, expanded);
    LUD_TAKE(a, b->expanded_achieved, expanded);
    LUD_TAKE(a, b->expanded_discount, expanded);
    LUD_TAKE_ON_DEVICE(a, b->on_device.v_r, links);
    LUD_TAKE_ON_DEVICE(a, b->on_device.v_h_e_next, expanded);
    LUD_TAKE_ON_DEVICE(a, b->on_device.scratch, 2 * expanded);
    b->link_room = a->failed ? 0 : (int64_t)links;
    return !a->failed;
}

/* ---- stage 1: the batch ---- */

static void add_row(lud_empo_sample *b, const int32_t *record, const int32_t *goals, bool terminal) {
    const int64_t row = b->n_rows++;
    b->records[row] = record;
    b->goals[row] = goals;
    b->continues[row] = terminal ? 0.0f : 1.0f;
    b->terminal[row] = terminal ? (float)b->options->theory.terminal_value : 0.0f;
    for (int k = 0; k < b->n_entries; k++) {
        int h, goal;
        lud_empo_values_entry(b->values, k, goals, &h, &goal);
        b->achieved[row * b->n_entries + k] =
            lud_empo_features_achieved(b->values->features, record, h, goal);
    }
}

/* Turns the probabilities of successors given people's joint action into those under their policies: the
 * marginal ones for Q_r, and with the person of an entry pursuing its goal for that entry. */
static void weigh_people(lud_empo_sample *b) {
    const int64_t n_profiles = b->values->features->layout.n_human_profiles;
    int64_t known = -1; /* transition whose profiles are at hand */
    for (int64_t i = 0, k = 0; i < b->flat.n; i++) {
        const int64_t transition = b->flat.slot[i] / b->n_actions;
        const int32_t profile = b->profile[b->flat.successor[i]];
        if (transition != known)
            lud_empo_people_profiles(b->values->features, b->transitions[transition].policies, b->marginal,
                                     b->pursuing, b->parts);
        known = transition;
        b->flat.probability[i] *= (float)b->marginal[profile];
        for (int64_t e = 0; e < b->n_entries; e++, k++)
            b->flat.expanded_probability[k] *= (float)b->pursuing[e * n_profiles + profile];
    }
}

/* Behind the last row and link stand some that lead nowhere. */
static void pad(lud_empo_sample *b) {
    b->run_rows = lud_capture_rows(b->device, b->n_rows);
    b->run_flat = lud_capture_rows(b->device, b->flat.n);
    for (int64_t i = b->n_rows; i < b->run_rows; i++) b->continues[i] = b->terminal[i] = 0.0f;
    for (int64_t i = b->flat.n; i < b->run_flat; i++) {
        b->flat.slot[i] = b->flat_row[i] = -1;
        b->flat.probability[i] = 0.0f;
    }
    for (int64_t i = b->flat.n_expanded; i < b->run_flat * b->n_entries; i++) {
        b->flat.expanded_slot[i] = b->flat.entry[i] = b->value_index[i] = -1;
        b->flat.expanded_probability[i] = b->expanded_achieved[i] = b->expanded_discount[i] = 0.0f;
    }
}

lud_status lud_empo_sample_draw(lud_empo_sample *b, int64_t step, const lud_empo_now *now, lud_error *error) {
    int64_t oldest = now->max_age < 0 ? INT64_MIN : step - now->max_age;
    if (b->trajectory && b->options->trajectory_max_age && oldest < step - b->options->trajectory_max_age)
        oldest = step - b->options->trajectory_max_age;
    lud_empo_replay_contest(b->replay, b->size, b->options->replay_contest, oldest, b->seed, (uint32_t)step,
                            b->drawn);
    memset(b->error, 0, (size_t)b->size * sizeof *b->error);
    for (int64_t i = 0; i < b->size; i++) b->all[i] = lud_empo_replay_get(b->replay, b->drawn[i]);
    return b->hindsight && !lud_empo_hindsight_relabel(b->hindsight, b->drawn, (uint32_t)step, b->all)
               ? lud_no_memory(error, "goals in hindsight")
               : LUD_OK;
}

/* Rows, links and their flat list for the sampled transitions. */
lud_status lud_empo_sample_collect(lud_empo_sample *b, int64_t first, int64_t n, const lud_empo_now *now,
                                   bool with_states, lud_error *error) {
    const int words = b->values->features->words;
    int64_t rows = with_states ? n : 0, links = 0, n_later = 0;
    b->first = first;
    b->n = n;
    b->transitions = b->all + first;
    const lud_empo_trajectory_state *later = NULL;
    if (b->trajectory) {
        LUD_TRY(lud_empo_trajectory_follow(b->trajectory, n, b->drawn + first, b->transitions, now,
                                           with_states && now->active[LUD_NET_Q_R], error));
        later = lud_empo_trajectory_states(b->trajectory, &n_later);
        rows += n_later;
    }
    for (int64_t i = 0; i < b->n; i++) {
        rows += b->transitions[i].n_successors;
        links += b->transitions[i].n_links;
    }
    if (!room_for_rows(b, rows) || !room_for_links(b, links))
        return lud_no_memory(error, "a batch of %lld successors", (long long)links);
    b->n_rows = b->n_links = 0;
    for (int64_t i = 0; with_states && i < b->n; i++)
        add_row(b, b->transitions[i].state, b->transitions[i].goals, false);
    b->first_successor = b->n_rows;
    for (int64_t i = 0; i < b->n; i++) {
        const lud_empo_transition *own = &b->transitions[i];
        const int64_t first_row = b->n_rows;
        for (int32_t s = 0; s < own->n_successors; s++)
            add_row(b, own->successor + (size_t)s * (size_t)words, own->goals, own->terminal[s]);
        for (int64_t a = 0; a < b->n_actions; a++)
            b->offsets[i * b->n_actions + a] = (int32_t)(b->n_links + own->offsets[a]);
        for (int32_t k = 0; k < own->n_links; k++, b->n_links++) {
            b->probability[b->n_links] = (double)own->probability[k];
            b->link_row[b->n_links] = (int32_t)(first_row + own->link[k]);
            b->profile[b->n_links] = own->profile ? own->profile[k] : 0;
        }
    }
    b->offsets[b->n * b->n_actions] = (int32_t)b->n_links;
    b->first_later = b->n_rows;
    for (int64_t i = 0; i < n_later; i++) add_row(b, later[i].record, later[i].goals, later[i].terminal);
    const lud_empo_transitions batch = {.n = b->n,
                                        .n_actions = b->n_actions,
                                        .offsets = b->offsets,
                                        .probability = b->probability,
                                        .entry_offsets = b->entry_offsets};
    lud_empo_flatten(&batch, &b->flat);
    if (b->options->expected_people) weigh_people(b);
    for (int64_t i = 0; i < b->flat.n; i++) b->flat_row[i] = b->link_row[b->flat.successor[i]];
    for (int64_t i = 0; i < b->flat.n_expanded; i++) {
        const int64_t row = b->flat_row[b->flat.expanded_row[i]], entry = b->flat.entry[i] % b->n_entries;
        b->value_index[i] = (int32_t)(row * b->n_entries + entry);
        b->expanded_achieved[i] = (float)b->achieved[row * b->n_entries + entry];
        b->expanded_discount[i] = (float)now->gamma_h * b->continues[row];
    }
    pad(b);
    return LUD_OK;
}

const float *lud_empo_sample_weights(const lud_empo_sample *b) {
    return b->hindsight ? lud_empo_hindsight_weights(b->hindsight) + b->first * b->n_entries : NULL;
}

void lud_empo_sample_pack(lud_empo_sample *b, lud_upload_batch *upload) {
    const size_t flat = (size_t)b->run_flat, expanded = flat * (size_t)b->n_entries,
                 rows = (size_t)b->run_rows;
    const struct {
        void *pointer; /* the address of a pointer */
        const void *from;
        size_t n;
    } arrays[] = {{&b->on_device.slot, b->flat.slot, flat},
                  {&b->on_device.row, b->flat_row, flat},
                  {&b->on_device.probability, b->flat.probability, flat},
                  {&b->on_device.expanded_slot, b->flat.expanded_slot, expanded},
                  {&b->on_device.entry, b->flat.entry, expanded},
                  {&b->on_device.value_index, b->value_index, expanded},
                  {&b->on_device.expanded_probability, b->flat.expanded_probability, expanded},
                  {&b->on_device.achieved, b->expanded_achieved, expanded},
                  {&b->on_device.expanded_discount, b->expanded_discount, expanded},
                  {&b->on_device.continues, b->continues, rows},
                  {&b->on_device.terminal, b->terminal, rows}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        lud_upload_batch_add(upload, arrays[i].pointer, arrays[i].from, arrays[i].n * sizeof(float));
    if (b->trajectory) lud_empo_trajectory_pack(b->trajectory, b->first_later, upload);
    if (b->hindsight)
        lud_upload_batch_add(upload, &b->on_device.entry_weight, lud_empo_sample_weights(b),
                             (size_t)(b->n * b->n_entries) * sizeof(float));
}
