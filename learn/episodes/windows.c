#include "learn/episodes/windows.h"

#include <assert.h>
#include <math.h>

#include "base/random.h"

/* ---- sets of windows ---- */

lud_status lud_window_set_create(lud_device *device, int64_t capacity, lud_window_set *set,
                                 lud_error *error) {
    const size_t n = capacity > 0 ? (size_t)capacity : 1;
    *set = (lud_window_set){.device = device, .capacity = capacity, .arrays = {.device = device}};
    LUD_TAKE(&set->arrays, set->first, n);
    LUD_TAKE(&set->arrays, set->end, n);
    LUD_TAKE(&set->arrays, set->length, n);
    LUD_TAKE(&set->arrays, set->valid, n);
    LUD_TAKE(&set->arrays, set->happened, n);
    if (device->backend->host_memory) {
        set->device_first = set->first;
        set->device_end = set->end;
        set->device_length = set->length;
    } else {
        LUD_TAKE_ON_DEVICE(&set->arrays, set->device_first, n);
        LUD_TAKE_ON_DEVICE(&set->arrays, set->device_end, n);
        LUD_TAKE_ON_DEVICE(&set->arrays, set->device_length, n);
    }
    if (set->arrays.failed) return lud_no_memory(error, "%lld windows", (long long)capacity);
    return LUD_OK;
}

void lud_window_set_destroy(lud_window_set *set) {
    lud_arrays_free(&set->arrays);
    *set = (lud_window_set){0};
}

static void begin(lud_window_set *set, int64_t n, int64_t horizon, bool has_lengths) {
    assert(n <= set->capacity && horizon >= 0);
    set->n = n;
    set->horizon = horizon;
    set->has_lengths = has_lengths;
}

static void put(lud_window_set *set, int64_t i, const lud_tracks *tracks, int64_t track, int64_t t,
                const int32_t *length) {
    const int64_t steps = lud_track_length(tracks, track), horizon = set->horizon;
    const int64_t wanted = length ? *length : horizon;
    assert(t >= 0 && t < steps);
    set->first[i] = tracks->offsets[track] + t;
    set->end[i] = tracks->offsets[track + 1];
    if (length) set->length[i] = *length;
    set->valid[i] = (int32_t)lud_window_count(steps, t, horizon, wanted);
    set->happened[i] =
        (int32_t)lud_window_count(tracks->last_action_valid ? steps : steps - 1, t, horizon, wanted);
}

static void send(lud_window_set *set) {
    lud_device *device = set->device;
    if (device->backend->host_memory || set->n == 0) return;
    const size_t n = (size_t)set->n;
    lud_device_upload(device, set->device_first, set->first, n * sizeof *set->first);
    lud_device_upload(device, set->device_end, set->end, n * sizeof *set->end);
    if (set->has_lengths) lud_device_upload(device, set->device_length, set->length, n * sizeof *set->length);
}

void lud_window_set_all(lud_window_set *set, const lud_tracks *tracks, int64_t horizon,
                        const int32_t *lengths) {
    const int64_t before = tracks->n > 0 ? tracks->offsets[0] : 0;
    begin(set, tracks->n > 0 ? tracks->offsets[tracks->n] - before : 0, horizon, lengths);
    for (int64_t track = 0, i = 0; track < tracks->n; track++)
        for (int64_t t = 0; t < lud_track_length(tracks, track); t++, i++)
            put(set, i, tracks, track, t, lengths ? lengths + i : NULL);
    send(set);
}

void lud_window_set_some(lud_window_set *set, const lud_tracks *tracks, int64_t horizon, int64_t n,
                         const int64_t *track, const int64_t *step, const int32_t *lengths) {
    begin(set, n, horizon, lengths);
    for (int64_t i = 0; i < n; i++) put(set, i, tracks, track[i], step[i], lengths ? lengths + i : NULL);
    send(set);
}

void lud_window_set_gather(lud_window_set *set, int64_t row_bytes, const void *data, lud_padding padding,
                           const void *value, void *out) {
    const lud_windows windows = {.n = set->n,
                                 .horizon = set->horizon,
                                 .row_bytes = row_bytes,
                                 .first = set->device_first,
                                 .end = set->device_end,
                                 .length = set->has_lengths ? set->device_length : NULL};
    set->device->ops->gather_windows(set->device, &windows, data, padding, value, out, NULL);
}

/* ---- chunks of actions ---- */

lud_padding lud_padding_of(lud_action_meaning meaning) {
    return meaning == LUD_ACTION_ABSOLUTE ? LUD_PAD_LAST
           : meaning == LUD_ACTION_CHOICE ? LUD_PAD_VALUE
                                          : LUD_PAD_ZERO;
}

int32_t lud_idle_choice(const lud_layout *layout, uint64_t agents) {
    int32_t idle = -1;
    bool found = false;
    for (int a = 0; a < layout->n_agents && layout->idle; a++) {
        if (agents && (a >= 64 || !(agents >> a & 1))) continue;
        if (found && layout->idle[a] != idle) return -1;
        idle = layout->idle[a];
        found = true;
    }
    return idle;
}

lud_status lud_chunks_check(const lud_model *model, lud_error *error) {
    if (!model->world->describe_action) return LUD_OK;
    return lud_invalid(
        error,
        "the actions of the world %s are numbers of what the present state offers and mean "
        "something else in the next one, so no chunk of them can be predicted; expected a horizon "
        "of 1 (windows of states work)",
        model->world->name);
}

lud_status lud_chunk_rows(int64_t n_rows, int64_t width, lud_numbers actions,
                          const lud_normalisation *normalisation, int64_t action_dim, size_t real_bytes,
                          void *rows, lud_error *error) {
    assert(real_bytes == sizeof(float) || real_bytes == sizeof(double));
    if (width > action_dim)
        return lud_invalid(error,
                           "actions of %lld numbers do not fit into %lld: expected action_dim %lld or more",
                           (long long)width, (long long)action_dim, (long long)width);
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < action_dim; j++) {
            double x = j < width ? lud_number(actions, i * width + j) : 0.0;
            if (normalisation && j < width) x = lud_normalise(normalisation, j, x);
            if (real_bytes == sizeof(double))
                ((double *)rows)[i * action_dim + j] = x;
            else
                ((float *)rows)[i * action_dim + j] = (float)x;
        }
    return LUD_OK;
}

double lud_wrap_angle(double angle) {
    const double wrapped = remainder(angle, 2.0 * M_PI);
    return wrapped <= -M_PI ? M_PI : wrapped;
}

void lud_chunks_relative(int64_t n, int64_t horizon, int64_t width, int64_t n_positions, const bool *is_angle,
                         const double *gathered, double *chunks) {
    for (int64_t i = 0; i < n; i++) {
        const double *window = gathered + i * (horizon + 1) * width;
        double *chunk = chunks + i * horizon * width;
        for (int64_t k = 0; k < horizon; k++)
            for (int64_t j = 0; j < width; j++) {
                const double moved = window[(k + 1) * width + j] - window[j];
                chunk[k * width + j] = j >= n_positions          ? window[k * width + j]
                                       : is_angle && is_angle[j] ? lud_wrap_angle(moved)
                                                                 : moved;
            }
    }
}

/* ---- sums over the near future ---- */

int64_t lud_group_steps(double control_frequency, int64_t summation_steps) {
    if (!(control_frequency < (double)summation_steps)) return summation_steps;
    return control_frequency > 0.0 ? (int64_t)control_frequency : 0;
}

int64_t lud_horizon_steps(double seconds, double control_frequency) {
    const double steps = nearbyint(seconds * control_frequency);
    return !(steps > 1.0) ? 1 : steps > (double)INT32_MAX ? INT32_MAX : (int64_t)steps;
}

void lud_horizons_draw(const lud_tracks *tracks, uint64_t seed, const uint32_t *episode,
                       const uint32_t *agent, int n, const double *seconds, double control_frequency,
                       int32_t *lengths, int32_t *chosen) {
    for (int64_t track = 0, i = 0; track < tracks->n; track++) {
        const lud_random_key key = {seed, episode ? episode[track] : (uint32_t)track};
        for (int64_t t = 0; t < lud_track_length(tracks, track); t++, i++) {
            const lud_words words = lud_draw(key, (uint32_t)t, agent ? agent[track] : 0, LUD_PURPOSE_SHUFFLE,
                                             LUD_WINDOW_LANE_HORIZON);
            const uint32_t drawn = lud_below(words.v[0], (uint32_t)n);
            lengths[i] = (int32_t)lud_horizon_steps(seconds[drawn], control_frequency);
            if (chosen) chosen[i] = (int32_t)drawn;
        }
    }
}

static double sum_of(lud_sum_kind kind, lud_numbers actions, int64_t first, int64_t n, int64_t stride) {
    double sum = 0.0;
    if (kind == LUD_SUM_LAST) return lud_number(actions, first + (n - 1) * stride);
    for (int64_t k = 0; k < n; k++) sum += lud_number(actions, first + k * stride);
    if (kind == LUD_SUM_ANGLE) return lud_wrap_angle(sum);
    if (kind == LUD_SUM_TURN) return sum - 4.0 * floor(sum / 4.0);
    return sum;
}

void lud_window_sums(const lud_window_set *set, int64_t width, const lud_sum_kind *kinds, lud_numbers actions,
                     double *sum) {
    for (int64_t i = 0; i < set->n; i++)
        for (int64_t j = 0; j < width; j++)
            sum[i * width + j] =
                set->valid[i] > 0 ? sum_of(kinds[j], actions, set->first[i] * width + j, set->valid[i], width)
                                  : NAN;
}
