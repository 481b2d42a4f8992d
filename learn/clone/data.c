#include "learn/clone/data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/number.h"
#include "sim/statespace/statespace_build.h"

/* ---- whether a file fits ---- */

static int find_part(const lud_data_info *info, const lud_observation_part *part) {
    for (int p = 0; p < info->n_parts; p++)
        if (!strcmp(info->parts[p].name, part->name) && info->parts[p].bytes == part->bytes &&
            info->parts[p].dtype == part->dtype)
            return p;
    return -1;
}

static lud_status check_file(const lud_data_set *set, const lud_mappo_shape *shape, lud_error *error) {
    const lud_data_info *info = lud_data_set_info(set);
    const lud_layout *layout = &shape->model->layout;
    if (info->n_agents != layout->n_agents)
        return lud_invalid(error, "%s: expected episodes of %d agents, as the scenario has, found %d",
                           info->path, layout->n_agents, info->n_agents);
    for (int a = 0; a < layout->n_agents; a++)
        if (info->n_choices[a] != layout->actions[a].n_discrete ||
            info->n_continuous < layout->actions[a].n_continuous)
            return lud_invalid(
                error, "%s: expected %d choices and %d numbers in actions of agent %d, found %d and %d",
                info->path, layout->actions[a].n_discrete, layout->actions[a].n_continuous, a,
                info->n_choices[a], info->n_continuous);
    for (int p = 0; p < layout->n_parts; p++) {
        if (!lud_clone_reads_part(shape, p)) continue;
        const int found = find_part(info, &layout->parts[p]);
        if (found < 0 || !lud_data_set_has(set, LUD_DATA_OBSERVATION, found))
            return lud_invalid(error,
                               "%s: expected observations '%s' of %zu bytes, as the scenario has, found none",
                               info->path, layout->parts[p].name, layout->parts[p].bytes);
    }
    return lud_data_set_check_windows(set, error);
}

/* ---- memory ---- */

static void *zeros(int64_t n, size_t size) {
    return calloc(n > 0 ? (size_t)n : 1, size > 0 ? size : 1);
}

static lud_status take_frames(lud_clone_data *d, lud_error *error) {
    const double wanted = d->options->frame_memory * LUD_GIBIBYTE;
    const uint64_t memory = wanted > 0.0 ? (uint64_t)wanted : lud_free_memory() / 2;
    LUD_TRY(lud_clone_frames_create(d->shape, d->frame_capacity, memory, &d->store, error));
    for (int p = 0; p < d->store.n_parts; p++) d->parts[p] = d->store.arrays[p].bytes;
    return LUD_OK;
}

static bool take(lud_clone_data *d) {
    const int64_t rows = d->row_capacity, width = d->shape->n_continuous;
    bool whole = true;
    d->tracks = zeros(d->track_capacity, sizeof *d->tracks);
    d->offsets = zeros(d->track_capacity + 1, sizeof *d->offsets);
    d->frames = zeros(d->track_capacity + 1, sizeof *d->frames);
    if (d->shape->n_discrete > 0) whole = (d->choices = zeros(rows, sizeof *d->choices)) && whole;
    d->numbers = zeros(rows * width, sizeof *d->numbers);
    d->normal = zeros(rows * width, sizeof *d->normal);
    d->columns = zeros(width, sizeof *d->columns);
    d->source_first = zeros(d->n_sources + 1, sizeof *d->source_first);
    d->sample_track = zeros(rows, sizeof *d->sample_track);
    d->sample_step = zeros(rows, sizeof *d->sample_step);
    d->held_out_track = zeros(rows, sizeof *d->held_out_track);
    d->held_out_step = zeros(rows, sizeof *d->held_out_step);
    return whole && d->tracks && d->offsets && d->frames && d->numbers && d->normal && d->columns &&
           d->source_first && d->sample_track && d->sample_step && d->held_out_track && d->held_out_step;
}

void lud_clone_data_close(lud_clone_data *d) {
    lud_clone_frames_free(&d->store);
    free(d->tracks);
    free(d->offsets);
    free(d->frames);
    free(d->choices);
    free(d->numbers);
    free(d->normal);
    free(d->columns);
    free(d->source_first);
    free(d->sample_track);
    free(d->sample_step);
    free(d->held_out_track);
    free(d->held_out_step);
    *d = (lud_clone_data){0};
}

/* ---- reading ---- */

/* Frames of an episode that are kept: T + 1, or T where the last one is forgotten or was never there. */
static int64_t n_frames_of(const lud_clone_data *d, const lud_data_set *set, int64_t episode) {
    const int64_t length = lud_data_set_episode(set, episode)->length;
    const bool forgotten = d->options->windows.layout == LUD_CLONE_LAYOUT_ALIGNED;
    return lud_data_set_info(set)->last_action_valid && !forgotten ? length + 1 : length;
}

static void count_file(lud_clone_data *d, const lud_data_set *set) {
    const lud_layout *layout = &d->shape->model->layout;
    for (int64_t e = 0; e < lud_data_set_info(set)->n_episodes; e++) {
        d->frame_capacity += n_frames_of(d, set, e);
        for (int a = 0; a < layout->n_agents; a++) {
            if (!lud_clone_imitates(d->options, layout, a)) continue;
            d->track_capacity++;
            d->row_capacity += lud_data_set_tracks(set, e)[a];
        }
    }
}

static lud_clone_track *add_track(lud_clone_data *d, int64_t frame, int32_t length, int agent) {
    assert(d->n_tracks < d->track_capacity && d->n_rows + length <= d->row_capacity);
    lud_clone_track *track = d->tracks + d->n_tracks;
    *track = (lud_clone_track){.first = d->n_rows, .frame = frame, .length = length, .agent = agent};
    d->offsets[d->n_tracks] = d->n_rows;
    d->frames[d->n_tracks] = frame;
    d->n_rows += length;
    d->offsets[++d->n_tracks] = d->n_rows;
    d->all.n = d->n_tracks;
    return track;
}

/* Frames that came from a file. */
static lud_status check_frames(const lud_clone_data *d, int64_t first, int64_t n, lud_error *error) {
    const lud_layout *layout = &d->shape->model->layout;
    const void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++)
        if (d->parts[p]) parts[p] = (const uint8_t *)d->parts[p] + (size_t)first * layout->parts[p].bytes;
    return lud_mappo_check_frames(d->shape, parts, n, error);
}

static lud_status read_frames(lud_clone_data *d, lud_data_set *set, int64_t episode, lud_error *error) {
    const lud_layout *layout = &d->shape->model->layout;
    const int64_t n = n_frames_of(d, set, episode);
    lud_status status = LUD_OK;
    for (int p = 0; p < layout->n_parts && !status; p++) {
        if (!d->parts[p]) continue;
        const int part = find_part(lud_data_set_info(set), &layout->parts[p]);
        uint8_t *to = (uint8_t *)d->parts[p] + (size_t)d->n_frames * layout->parts[p].bytes;
        status = lud_data_set_read(set, LUD_DATA_OBSERVATION, part, episode, 0, (int32_t)n, to, error);
    }
    if (!status && (status = check_frames(d, d->n_frames, n, error)))
        status =
            lud_fail_context(error, "%s: episode %lld", lud_data_set_info(set)->path, (long long)episode);
    d->n_frames += n;
    return status;
}

/* Actions that came from a file: choices that the agent has, numbers that are finite. */
static lud_status check_actions(const lud_clone_data *d, const lud_clone_track *track, lud_error *error) {
    const int n_choices = d->shape->model->layout.actions[track->agent].n_discrete;
    const int64_t width = d->shape->n_continuous;
    for (int64_t t = track->first; t < track->first + track->length; t++) {
        if (d->choices && (d->choices[t] < 0 || d->choices[t] >= n_choices))
            return lud_invalid(error, "step %lld: agent %d chose %d of %d", (long long)(t - track->first),
                               track->agent, d->choices[t], n_choices);
        for (int64_t k = 0; k < width; k++)
            if (!isfinite(d->numbers[t * width + k]))
                return lud_invalid(error, "step %lld: agent %d's action is not finite",
                                   (long long)(t - track->first), track->agent);
    }
    return LUD_OK;
}

/* The imitated agents' columns of an episode's joint actions; `joint` has room for its rows. */
static lud_status read_actions(lud_clone_data *d, lud_data_set *set, int64_t episode, int64_t first_track,
                               void *joint, lud_error *error) {
    const int64_t n_agents = d->shape->n_agents, width = d->shape->n_continuous;
    const int64_t recorded = lud_data_set_info(set)->n_continuous;
    const int32_t length = lud_data_set_episode(set, episode)->length;
    const lud_data_array array = d->choices ? LUD_DATA_DISCRETE : LUD_DATA_CONTINUOUS;
    lud_status status = lud_data_set_read(set, array, 0, episode, 0, length, joint, error);
    for (int64_t i = first_track; i < d->n_tracks && !status; i++) {
        const lud_clone_track *track = d->tracks + i;
        for (int64_t t = 0; t < track->length; t++) {
            const int64_t from = t * n_agents + track->agent;
            if (d->choices)
                d->choices[track->first + t] = ((const int32_t *)joint)[from];
            else
                memcpy(d->numbers + (track->first + t) * width, (const float *)joint + from * recorded,
                       (size_t)width * sizeof(float));
        }
    }
    for (int64_t i = first_track; i < d->n_tracks && !status; i++)
        status = check_actions(d, d->tracks + i, error);
    return status
               ? lud_fail_context(error, "%s: episode %lld", lud_data_set_info(set)->path, (long long)episode)
               : LUD_OK;
}

/* In data that has as many frames as actions nobody knows the last action: it is a zero there. */
static void forget_last_actions(lud_clone_data *d, int64_t first_track) {
    const int64_t width = d->shape->n_continuous;
    for (int64_t i = first_track; i < d->n_tracks; i++) {
        const int64_t last = d->tracks[i].first + d->tracks[i].length - 1;
        if (d->tracks[i].length == 0) continue;
        if (d->choices) d->choices[last] = 0;
        if (width > 0) memset(d->numbers + last * width, 0, (size_t)width * sizeof *d->numbers);
    }
}

static lud_status read_episode(lud_clone_data *d, lud_data_set *set, int source, int64_t episode,
                               uint64_t seed, void *joint, lud_error *error) {
    const lud_layout *layout = &d->shape->model->layout;
    const int64_t first_track = d->n_tracks, frame = d->n_frames;
    const bool held_out = lud_validation_episode(seed, set, episode, d->options->val_fraction);
    for (int a = 0; a < layout->n_agents; a++) {
        if (!lud_clone_imitates(d->options, layout, a)) continue;
        lud_clone_track *track = add_track(d, frame, lud_data_set_tracks(set, episode)[a], a);
        track->episode = (uint32_t)lud_data_set_episode_hash(set, episode);
        track->source = (int16_t)source;
        track->held_out = held_out;
    }
    lud_status status = read_frames(d, set, episode, error);
    if (!status) status = read_actions(d, set, episode, first_track, joint, error);
    if (!status && d->options->windows.layout == LUD_CLONE_LAYOUT_ALIGNED)
        forget_last_actions(d, first_track);
    return status;
}

static lud_status read_file(lud_clone_data *d, lud_data_set *set, int source, uint64_t seed,
                            lud_error *error) {
    const lud_data_info *info = lud_data_set_info(set);
    int64_t longest = 0;
    for (int64_t e = 0; e < info->n_episodes; e++)
        if (lud_data_set_episode(set, e)->length > longest) longest = lud_data_set_episode(set, e)->length;
    const size_t row = lud_data_set_row_bytes(set, d->choices ? LUD_DATA_DISCRETE : LUD_DATA_CONTINUOUS, 0);
    void *joint = zeros(longest, row);
    lud_status status = joint ? LUD_OK : lud_no_memory(error, "actions");
    for (int64_t e = 0; e < info->n_episodes && !status; e++)
        status = lud_interrupted()
                     ? lud_fail(error, LUD_INTERRUPTED, "interrupted while %s was read", info->path)
                     : read_episode(d, set, source, e, seed, joint, error);
    free(joint);
    return status;
}

/* ---- what follows from what was read ---- */

static void list_samples(lud_clone_data *d) {
    int64_t n = 0;
    for (int source = 0; source < d->n_sources; source++) {
        d->source_first[source] = n;
        for (int64_t i = 0; i < d->n_tracks; i++) {
            const lud_clone_track *track = d->tracks + i;
            if (track->source != source) continue;
            for (int32_t t = 0; t < track->length; t++) {
                int64_t *const to_track = track->held_out ? d->held_out_track : d->sample_track;
                int64_t *const to_step = track->held_out ? d->held_out_step : d->sample_step;
                const int64_t at = track->held_out ? d->n_held_out++ : n++;
                to_track[at] = i;
                to_step[at] = t;
            }
        }
    }
    d->source_first[d->n_sources] = n;
}

static void normalise_rows(lud_clone_data *d, int64_t first, int64_t n) {
    const int64_t width = d->shape->n_continuous;
    for (int64_t i = first * width; i < (first + n) * width; i++)
        d->normal[i] = (float)lud_normalise(&d->normalisation, i % width, (double)d->numbers[i]);
}

/* Of one source: two passes over the rows of its tracks. */
static lud_status measure_source(const lud_clone_data *d, int source, lud_column_statistics *columns,
                                 lud_statistics *statistics, lud_error *error) {
    const int64_t width = d->shape->n_continuous;
    lud_statistics_sums sums;
    LUD_TRY(lud_statistics_sums_create(width, &sums, error));
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) lud_statistics_begin_second(&sums, &sums);
        for (int64_t i = 0; i < d->n_tracks; i++)
            if (d->tracks[i].source == source && !d->tracks[i].held_out)
                lud_statistics_add(&sums, d->tracks[i].length,
                                   (lud_numbers){LUD_TENSOR_F32, d->numbers + d->tracks[i].first * width});
    }
    (void)lud_statistics_finish(&sums, columns);
    *statistics = (lud_statistics){.width = width, .n_rows = sums.n_rows, .columns = columns};
    lud_statistics_sums_destroy(&sums);
    return LUD_OK;
}

/* Without files (labels alone) numbers stay as they are. */
static lud_status measure(lud_clone_data *d, lud_error *error) {
    const int64_t width = d->shape->n_continuous;
    const int n = (int)d->options->data.n;
    const bool any = width > 0 && n > 0;
    d->normalisation = lud_normalisation_of(
        any ? (lud_normalisation_kind)d->options->normalisation : LUD_NORMALISE_NONE, d->columns);
    if (!any) return LUD_OK;
    lud_column_statistics *columns = zeros(n * width, sizeof *columns);
    lud_statistics *sources = zeros(n, sizeof *sources);
    lud_status status = columns && sources ? LUD_OK : lud_no_memory(error, "statistics");
    for (int i = 0; i < n && !status; i++)
        status = measure_source(d, i, columns + i * width, sources + i, error);
    if (!status) (void)lud_statistics_merge(n, sources, (lud_merge_kind)d->options->merge, width, d->columns);
    free(columns);
    free(sources);
    normalise_rows(d, 0, d->n_rows);
    return status;
}

static bool last_action_valid(const lud_clone_options *o, bool in_files) {
    if (o->windows.last_action != LUD_CLONE_LAST_AUTO) return o->windows.last_action == LUD_CLONE_LAST_VALID;
    return in_files && o->windows.layout == LUD_CLONE_LAYOUT_FILE;
}

static lud_status read_all(lud_clone_data *d, lud_data_set **sets, uint64_t seed, int64_t n_labels,
                           lud_error *error) {
    const int n = (int)d->options->data.n;
    bool valid = true;
    lud_status status = LUD_OK;
    for (int i = 0; i < n && !status; i++) {
        status = lud_data_set_open(d->options->data.items[i], &sets[i], error);
        if (!status) status = check_file(sets[i], d->shape, error);
        if (status) return status;
        count_file(d, sets[i]);
        valid = valid && lud_data_set_info(sets[i])->last_action_valid;
    }
    d->frame_capacity += n_labels;
    const int64_t rows = d->shape->n_discrete > 0 ? LUD_CLONE_DRAWS * n_labels : n_labels;
    d->track_capacity += rows;
    d->row_capacity += rows;
    if (d->frame_capacity > INT32_MAX || !take(d))
        return lud_no_memory(error, "%lld frames of recorded episodes", (long long)d->frame_capacity);
    LUD_TRY(take_frames(d, error));
    d->all = (lud_tracks){.offsets = d->offsets,
                          .observation_offsets = d->frames,
                          .last_action_valid = last_action_valid(d->options, valid)};
    for (int i = 0; i < n && !status; i++) status = read_file(d, sets[i], i, seed, error);
    return status;
}

lud_status lud_clone_data_open(const lud_clone_options *options, const lud_mappo_shape *shape, uint64_t seed,
                               int64_t n_labels, lud_clone_data *d, lud_error *error) {
    *d = (lud_clone_data){
        .options = options, .shape = shape, .seed = seed, .n_sources = (int)options->data.n + 1};
    lud_data_set **sets = calloc(options->data.n + 1, sizeof *sets);
    if (!sets) return lud_no_memory(error, "recorded episodes");
    lud_status status = read_all(d, sets, seed, n_labels, error);
    for (size_t i = 0; i < options->data.n; i++) lud_data_set_close(sets[i]);
    free(sets);
    if (status) return status;
    list_samples(d);
    d->first_labelled_frame = d->n_frames;
    d->first_labelled_row = d->n_rows;
    d->first_labelled_track = d->n_tracks;
    if (options->data.n > 0 && d->source_first[d->n_sources] == 0)
        return lud_invalid(error, "%s: no step of an agent that is imitated to learn from",
                           options->data.items[0]);
    return measure(d, error);
}

/* ---- labels ---- */

int64_t lud_clone_data_frame(lud_clone_data *d) {
    assert(d->n_frames < d->frame_capacity);
    return d->n_frames++;
}

void lud_clone_data_allowed(const lud_clone_data *d, int64_t track, int64_t step, uint8_t *allowed) {
    const lud_mappo_shape *shape = d->shape;
    const lud_clone_track *t = d->tracks + track;
    const int n = shape->model->layout.actions[t->agent].n_discrete;
    for (int k = 0; k < shape->n_discrete; k++) allowed[k] = k < n;
    if (shape->choices < 0 || step >= t->length) return;
    const int64_t frame = lud_track_observation(&d->all, track, step);
    const uint8_t *offered =
        (const uint8_t *)d->parts[shape->choices] + (frame * shape->n_agents + t->agent) * shape->n_discrete;
    for (int k = 0; k < n; k++) allowed[k] = offered[k];
    /* recorded ones also choose what has no effect */
    allowed[d->choices[t->first + step]] = 1;
}

void lud_clone_data_label(lud_clone_data *d, int64_t frame, int agent, int32_t choice, const float *numbers,
                          bool asked) {
    const int64_t width = d->shape->n_continuous, row = d->n_rows;
    lud_clone_track *track = add_track(d, frame, 1, agent);
    track->source = (int16_t)(d->n_sources - 1);
    track->episode = (uint32_t)d->n_labels; /* of one step: nothing is drawn for it */
    if (d->choices)
        d->choices[row] = choice;
    else
        memcpy(d->numbers + row * width, numbers, (size_t)width * sizeof *numbers);
    normalise_rows(d, row, 1);
    const int64_t at = d->source_first[d->n_sources]++;
    d->sample_track[at] = d->n_tracks - 1;
    d->sample_step[at] = 0;
    d->n_labels++;
    d->n_asked += asked;
}

/* What was taken from the checkpoint of n labels in n_frames frames. */
static void restore(lud_clone_data *d, int64_t n, const int32_t *agent, const int32_t *frame,
                    const int32_t *choice, const float *numbers) {
    const int64_t width = d->shape->n_continuous;
    d->source_first[d->n_sources] -= d->n_labels; /* those that were there before */
    d->n_tracks = d->all.n = d->first_labelled_track;
    d->n_rows = d->first_labelled_row;
    d->n_labels = 0;
    for (int64_t i = 0; i < n; i++)
        lud_clone_data_label(d, d->first_labelled_frame + frame[i], agent[i], choice[i], numbers + i * width,
                             false);
}

static void visit_labels(lud_clone_data *d, lud_checkpoint *checkpoint, int64_t n, int32_t *agent,
                         int32_t *frame, int32_t *choice, float *numbers) {
    const int64_t width = d->shape->n_continuous;
    const bool loading = lud_checkpoint_loading(checkpoint);
    for (int64_t i = 0; i < n && !loading; i++) {
        const lud_clone_track *track = d->tracks + d->first_labelled_track + i;
        agent[i] = track->agent;
        frame[i] = (int32_t)(track->frame - d->first_labelled_frame);
        if (d->choices) choice[i] = d->choices[track->first];
        memcpy(numbers + i * width, d->numbers + track->first * width, (size_t)width * sizeof *numbers);
    }
    lud_checkpoint_tensor(checkpoint, "clone.label.agent", LUD_TENSOR_I32, 1, &n, agent);
    lud_checkpoint_tensor(checkpoint, "clone.label.frame", LUD_TENSOR_I32, 1, &n, frame);
    if (d->choices) lud_checkpoint_tensor(checkpoint, "clone.label.choice", LUD_TENSOR_I32, 1, &n, choice);
    if (width > 0)
        lud_checkpoint_tensor(checkpoint, "clone.label.numbers", LUD_TENSOR_F32, 2,
                              (const int64_t[]){n, width}, numbers);
}

static bool labels_fit(const lud_clone_data *d, int64_t n, int64_t n_frames, const int32_t *agent,
                       const int32_t *frame, const int32_t *choice) {
    bool fit = true;
    for (int64_t i = 0; i < n && fit; i++)
        fit = agent[i] >= 0 && agent[i] < d->shape->n_agents && frame[i] >= 0 && frame[i] < n_frames &&
              (!d->choices || (choice[i] >= 0 && choice[i] < d->shape->n_discrete));
    return fit;
}

void lud_clone_data_visit(lud_clone_data *d, lud_checkpoint *checkpoint) {
    const lud_layout *layout = &d->shape->model->layout;
    const int64_t most = d->track_capacity - d->first_labelled_track;
    if (most == 0) return;
    uint64_t n_asked = (uint64_t)d->n_asked, n_labels = (uint64_t)d->n_labels,
             n_frames = (uint64_t)(d->n_frames - d->first_labelled_frame);
    lud_checkpoint_u64(checkpoint, "clone.label.n", &n_labels);
    lud_checkpoint_u64(checkpoint, "clone.label.frames", &n_frames);
    lud_checkpoint_u64(checkpoint, "clone.label.asked", &n_asked);
    if (lud_checkpoint_status(checkpoint, NULL)) return;
    if (n_labels > (uint64_t)most || n_asked > n_labels ||
        n_frames > (uint64_t)(d->frame_capacity - d->first_labelled_frame)) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "more labels than the scenario's dagger asks for");
        return;
    }
    const int64_t n = (int64_t)n_labels;
    lud_error error = {0};
    d->n_asked = (int64_t)n_asked;
    int32_t *agent = zeros(3 * n, sizeof *agent), *frame = agent + n, *choice = frame + n;
    float *numbers = zeros(n * d->shape->n_continuous, sizeof *numbers);
    if (!agent || !numbers) {
        lud_checkpoint_fail(checkpoint, LUD_ERROR_MEMORY, "out of memory for labels");
    } else {
        visit_labels(d, checkpoint, n, agent, frame, choice, numbers);
        for (int p = 0; p < layout->n_parts; p++) {
            char name[64];
            const size_t bytes = layout->parts[p].bytes;
            snprintf(name, sizeof name, "clone.label.part.%d", p);
            if (d->parts[p])
                lud_checkpoint_bytes(checkpoint, name,
                                     (uint8_t *)d->parts[p] + (size_t)d->first_labelled_frame * bytes,
                                     (size_t)n_frames * bytes);
        }
        const bool loading = lud_checkpoint_loading(checkpoint) && !lud_checkpoint_status(checkpoint, NULL);
        if (loading && !labels_fit(d, n, (int64_t)n_frames, agent, frame, choice))
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT,
                                "labels that the scenario has no agent or choice for");
        else if (loading && check_frames(d, d->first_labelled_frame, (int64_t)n_frames, &error))
            lud_checkpoint_fail(checkpoint, LUD_ERROR_INPUT, "labels: %s", error.text);
        else if (loading) {
            d->n_frames = d->first_labelled_frame + (int64_t)n_frames;
            restore(d, n, agent, frame, choice, numbers);
        }
    }
    free(agent);
    free(numbers);
}
