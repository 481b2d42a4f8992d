#include "learn/episodes/pairs.h"

#include <assert.h>

#include "base/random.h"

const char *const lud_delta_rule_names[] = {"realised", "sampled", NULL};

static lud_words draw(const lud_pair_options *options, const lud_pair_source *source, int64_t track,
                      int64_t t, uint32_t lane) {
    const lud_random_key key = {options->seed, source->episode ? source->episode[track] : (uint32_t)track};
    return lud_draw(key, (uint32_t)t, source->agent ? source->agent[track] : 0, LUD_PURPOSE_SHUFFLE, lane);
}

int64_t lud_pair_horizon(const lud_pair_options *options, int64_t length) {
    const int64_t most = options->max_horizon < length - 1 ? options->max_horizon : length - 1;
    return most > 1 ? most : 1;
}

int32_t lud_pair_draw(const lud_pair_options *options, const lud_pair_source *source, int64_t track,
                      int64_t t) {
    const int64_t horizon = lud_pair_horizon(options, lud_track_length(source->tracks, track));
    if (options->farthest) return (int32_t)horizon;
    return 1 +
           (int32_t)lud_below(draw(options, source, track, t, LUD_WINDOW_LANE_DELTA).v[0], (uint32_t)horizon);
}

bool lud_pair_is_drawn(const lud_pair_options *options, const lud_pair_source *source, int64_t track,
                       int64_t t, bool *primary) {
    const lud_words words = draw(options, source, track, t, LUD_WINDOW_LANE_DECISION);
    if (primary) *primary = lud_unit(words.v[1]) < options->primary_probability;
    return lud_unit(words.v[0]) < options->probability;
}

lud_pair lud_pair_at(const lud_pair_options *options, const lud_tracks *tracks, int64_t track, int64_t t,
                     int32_t sampled) {
    const int64_t last = lud_track_length(tracks, track) - 1, most = options->summation_steps;
    lud_pair pair = {.track = track, .step = t, .sampled = sampled};
    assert(t >= 0 && t <= last && sampled >= 1);
    pair.future = t + sampled < last ? t + sampled : last;
    pair.realised = (int32_t)(pair.future - t);
    pair.delta = options->delta_rule == LUD_DELTA_SAMPLED ? sampled : pair.realised;
    pair.window = pair.delta < most ? pair.delta : (int32_t)most;
    pair.truncated = pair.delta > most;
    return pair;
}

int64_t lud_pairs_add(const lud_pair_options *options, const lud_pair_source *source, lud_pair *pairs) {
    int64_t n = 0;
    for (int64_t track = 0; track < source->tracks->n; track++)
        for (int64_t t = 0; t < lud_track_length(source->tracks, track); t++) {
            pairs[n] =
                lud_pair_at(options, source->tracks, track, t, lud_pair_draw(options, source, track, t));
            if (pairs[n].realised > 0 || !options->drop_zero) n++;
        }
    return n;
}

void lud_pairs_windows(const lud_pair_options *options, const lud_tracks *tracks, int64_t n,
                       const lud_pair *pairs, lud_window_set *set, int64_t *scratch) {
    assert(n <= set->capacity);
    int32_t *length = set->length; /* as the set keeps them */
    for (int64_t i = 0; i < n; i++) {
        scratch[i] = pairs[i].track;
        scratch[n + i] = pairs[i].step;
        length[i] = pairs[i].window;
    }
    lud_window_set_some(set, tracks, options->summation_steps, n, scratch, scratch + n, length);
}

void lud_pairs_frames(const lud_tracks *tracks, int64_t n, const lud_pair *pairs, int64_t *rows) {
    for (int64_t i = 0; i < n; i++) {
        rows[2 * i] = lud_track_observation(tracks, pairs[i].track, pairs[i].step);
        rows[2 * i + 1] = lud_track_observation(tracks, pairs[i].track, pairs[i].future);
    }
}
