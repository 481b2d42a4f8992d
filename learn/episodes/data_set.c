#include "learn/episodes/data_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agents/policy.h"
#include "learn/episodes/data_set_parts.h"
#include "learn/episodes/file/schema.h"
#include "learn/episodes/replay.h"

static lud_status out_of_memory(const lud_data_set *set, lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to read it", set->info.path);
}

void lud_data_set_close(lud_data_set *set) {
    if (!set) return;
    lud_hdf5_lock();
    for (int k = 0; k < LUD_DATA_ARRAYS; k++)
        if (set->arrays[k] >= 0) H5Dclose(set->arrays[k]);
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++)
        if (set->observations[p] >= 0) H5Dclose(set->observations[p]);
    if (set->summary_text >= 0) H5Dclose(set->summary_text);
    if (set->hash_values >= 0) H5Dclose(set->hash_values);
    if (set->group >= 0) H5Gclose(set->group);
    if (set->file >= 0) H5Fclose(set->file);
    lud_hdf5_unlock();
    pthread_mutex_destroy(&set->mutex);
    lud_scenario_destroy(set->scenario);
    free(set->played.discrete);
    free(set->played.continuous);
    free(set->played.states);
    free(set->episodes);
    free(set->returns);
    free(set->tracks);
    free(set->summaries);
    free(set->hashes);
    lud_arena_destroy(set->arena);
    free(set);
}

const lud_data_info *lud_data_set_info(const lud_data_set *set) {
    return &set->info;
}
const lud_data_episode *lud_data_set_episode(const lud_data_set *set, int64_t episode) {
    assert(episode >= 0 && episode < set->info.n_episodes);
    return &set->episodes[episode];
}
const double *lud_data_set_returns(const lud_data_set *set, int64_t episode) {
    return set->returns + episode * set->info.n_agents;
}
const int32_t *lud_data_set_tracks(const lud_data_set *set, int64_t episode) {
    return set->tracks + episode * set->info.n_agents;
}

/* --- arrays --- */

static bool is_frame(lud_data_array array) {
    return array == LUD_DATA_OBSERVATION || array == LUD_DATA_STATES;
}

static hid_t array_of(const lud_data_set *set, lud_data_array array, int part) {
    return array == LUD_DATA_OBSERVATION ? set->observations[part] : set->arrays[array];
}

bool lud_data_set_has(const lud_data_set *set, lud_data_array array, int part) {
    const lud_data_info *info = &set->info;
    if (array == LUD_DATA_OBSERVATION && (part < 0 || part >= info->n_parts)) return false;
    if (set->group < 0) /* Minari's */
        return array == LUD_DATA_OBSERVATION || array == LUD_DATA_REWARDS ||
               array == (info->n_continuous ? LUD_DATA_CONTINUOUS : LUD_DATA_DISCRETE);
    if (array == LUD_DATA_STATES && !info->state_bytes) return false;
    if (is_frame(array) && !set->frames_stored) return info->replays_exactly;
    return array_of(set, array, part) >= 0;
}

size_t lud_data_set_row_bytes(const lud_data_set *set, lud_data_array array, int part) {
    const lud_data_info *info = &set->info;
    const size_t n = (size_t)info->n_agents;
    switch (array) {
    case LUD_DATA_DISCRETE:
        return n * sizeof(int32_t);
    case LUD_DATA_CONTINUOUS:
        return n * (size_t)info->n_continuous * sizeof(float);
    case LUD_DATA_LOG_PROBS:
    case LUD_DATA_REWARDS:
        return n * sizeof(float);
    case LUD_DATA_POLICY_VERSION:
        return sizeof(uint32_t);
    case LUD_DATA_STATES:
        return info->state_bytes;
    default:
        return info->parts[part].bytes;
    }
}

int32_t lud_data_set_rows(const lud_data_set *set, lud_data_array array, int64_t episode) {
    return set->episodes[episode].length + (is_frame(array) && set->info.last_action_valid);
}

/* The shape of a row in a file of ours, and the type as which it is read. */
static hid_t row_shape(const lud_data_info *info, lud_data_array array, int part, lud_data_shape *shape) {
    const hsize_t n = (hsize_t)info->n_agents;
    switch (array) {
    case LUD_DATA_DISCRETE:
        *shape = (lud_data_shape){.rank = 1, .dimensions = {n}};
        return H5T_NATIVE_INT32;
    case LUD_DATA_CONTINUOUS:
        *shape = (lud_data_shape){.rank = 2, .dimensions = {n, (hsize_t)info->n_continuous}};
        return H5T_NATIVE_FLOAT;
    case LUD_DATA_LOG_PROBS:
    case LUD_DATA_REWARDS:
        *shape = (lud_data_shape){.rank = 1, .dimensions = {n}};
        return H5T_NATIVE_FLOAT;
    case LUD_DATA_POLICY_VERSION:
        *shape = (lud_data_shape){.rank = 0};
        return H5T_NATIVE_UINT32;
    case LUD_DATA_STATES:
        *shape = (lud_data_shape){.rank = 1, .dimensions = {(hsize_t)info->state_bytes}};
        return H5T_NATIVE_UINT8;
    default: {
        const lud_observation_part *p = &info->parts[part];
        *shape = (lud_data_shape){.rank = p->per_agent, .dimensions = {n}};
        for (int d = 0; d < p->n_dimensions; d++)
            shape->dimensions[shape->rank++] = (hsize_t)p->dimensions[d];
        return p->dtype == LUD_U8    ? H5T_NATIVE_UINT8
               : p->dtype == LUD_I32 ? H5T_NATIVE_INT32
                                     : H5T_NATIVE_FLOAT;
    }
    }
}

static lud_status read_own(lud_data_set *set, const lud_data_request *r, lud_error *error) {
    lud_data_shape shape;
    const hid_t type = row_shape(&set->info, r->array, r->part, &shape);
    const int64_t begin =
        set->episodes[r->episode].first_step + (is_frame(r->array) ? r->episode : 0) + r->first;
    lud_hdf5_lock();
    const bool good = lud_data_read_rows(array_of(set, r->array, r->part), type, &shape, (uint64_t)begin,
                                         (uint64_t)r->n, r->rows);
    char reason[256] = "";
    if (!good) lud_hdf5_reason(reason, sizeof reason);
    lud_hdf5_unlock();
    return good
               ? LUD_OK
               : lud_data_wrong(set, error, "episode %lld cannot be read: %s", (long long)r->episode, reason);
}

/* --- playing again --- */

/* Whether the scenario's world is the one that the file describes. */
static bool same_world(const lud_data_info *info, const lud_layout *layout) {
    bool same = layout->state_bytes == info->state_bytes && layout->n_agents == info->n_agents &&
                layout->n_parts == info->n_parts && lud_max_continuous(layout) == info->n_continuous;
    for (int i = 0; same && i < info->n_agents; i++)
        same = layout->actions[i].n_discrete == info->n_choices[i];
    for (int p = 0; same && p < info->n_parts; p++)
        same = layout->parts[p].bytes == info->parts[p].bytes &&
               (int)layout->parts[p].dtype == (int)info->parts[p].dtype;
    return same;
}

/* With the mutex held. */
static lud_status load_scenario(lud_data_set *set, lud_error *error) {
    if (set->scenario) return LUD_OK;
    if (!set->info.scenario)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: no data set of ludus record: it has no scenario",
                        set->info.path);
    lud_scenario *scenario = NULL;
    lud_status status =
        lud_scenario_read(set->scenario_path ? set->scenario_path : set->info.path, set->info.scenario,
                          strlen(set->info.scenario), NULL, 0, &scenario, error);
    if (status) return lud_fail_context(error, "%s: the scenario in it", set->info.path);
    if (!same_world(&set->info, &scenario->model->layout)) {
        lud_scenario_destroy(scenario);
        return lud_data_wrong(set, error, "the scenario in it is not of the world that its arrays are of");
    }
    set->scenario = scenario;
    return LUD_OK;
}

lud_status lud_data_set_scenario(lud_data_set *set, const lud_scenario **scenario, lud_error *error) {
    pthread_mutex_lock(&set->mutex);
    const lud_status status = load_scenario(set, error);
    *scenario = set->scenario;
    pthread_mutex_unlock(&set->mutex);
    return status;
}

static bool reserve_played(lud_data_set *set, int32_t frames) {
    lud_data_played *p = &set->played;
    if (frames <= p->capacity) return true;
    const size_t n = (size_t)frames, n_agents = (size_t)set->info.n_agents;
    free(p->discrete);
    free(p->continuous);
    free(p->states);
    p->discrete = malloc(n * n_agents * sizeof *p->discrete + 1);
    p->continuous = malloc(n * n_agents * (size_t)set->info.n_continuous * sizeof *p->continuous + 1);
    p->states = malloc(n * set->info.state_bytes + 1);
    const bool whole = p->discrete && p->continuous && p->states;
    p->capacity = whole ? frames : 0;
    p->episode = -1;
    return whole;
}

static lud_status check_hashes(lud_data_set *set, int64_t episode, const uint8_t *states, lud_error *error) {
    const int32_t n_frames = set->episodes[episode].length + 1;
    const int64_t n = lud_state_hash_count(n_frames);
    uint64_t *stored = malloc((size_t)n * sizeof *stored + 8);
    if (!stored) return out_of_memory(set, error);
    const lud_data_shape single = {.rank = 0};
    lud_hdf5_lock();
    const bool good = lud_data_read_rows(set->hash_values, H5T_NATIVE_UINT64, &single, set->hashes[episode],
                                         (uint64_t)n, stored);
    lud_hdf5_unlock();
    lud_status status = good ? LUD_OK : lud_data_wrong(set, error, "the hashes of its states cannot be read");
    lud_state_hash hash;
    lud_state_hash_begin(&hash);
    for (int32_t t = 0, k = 0; t < n_frames && !status; t++) {
        uint64_t value;
        if (!lud_state_hash_add(&hash, states + (size_t)t * set->info.state_bytes, set->info.state_bytes,
                                t + 1 == n_frames, &value))
            continue;
        if (value != stored[k++])
            status = lud_fail(
                error, LUD_ERROR_NUMERIC,
                "%s: episode %lld, played again, leads to other states than were recorded, by frame %d: "
                "the file was changed, or recorded by another version of the world",
                set->info.path, (long long)episode, t);
    }
    free(stored);
    return status;
}

/* Plays the episode into set->played, with the mutex held; rewards [T][n_agents] where they are wanted. */
static lud_status play(lud_data_set *set, int64_t episode, float *rewards, lud_error *error) {
    lud_data_played *p = &set->played;
    if (p->episode == episode && !rewards) return LUD_OK;
    lud_status status = load_scenario(set, error);
    if (status) return status;
    const lud_data_episode *facts = &set->episodes[episode];
    if (!reserve_played(set, facts->length + 1)) return out_of_memory(set, error);
    p->episode = -1;
    lud_data_request request = {LUD_DATA_DISCRETE, 0, episode, 0, facts->length, p->discrete};
    if (set->arrays[LUD_DATA_DISCRETE] >= 0) status = read_own(set, &request, error);
    request.array = LUD_DATA_CONTINUOUS;
    request.rows = p->continuous;
    if (!status && set->info.n_continuous) status = read_own(set, &request, error);
    if (status) return status;
    const lud_replay replay = {.model = set->scenario->model,
                               .facts = facts,
                               .discrete = set->arrays[LUD_DATA_DISCRETE] >= 0 ? p->discrete : NULL,
                               .continuous = set->info.n_continuous ? p->continuous : NULL,
                               .states = p->states,
                               .rewards = rewards};
    status = lud_replay_states(&replay, error);
    if (status) return lud_fail_context(error, "%s: episode %lld", set->info.path, (long long)episode);
    status = check_hashes(set, episode, p->states, error);
    if (!status) p->episode = episode;
    return status;
}

static lud_status read_played(lud_data_set *set, const lud_data_request *r, lud_error *error) {
    const size_t bytes = lud_data_set_row_bytes(set, r->array, r->part);
    pthread_mutex_lock(&set->mutex);
    const lud_status status = play(set, r->episode, NULL, error);
    if (!status && r->array == LUD_DATA_STATES) {
        memcpy(r->rows, set->played.states + (size_t)r->first * bytes, (size_t)r->n * bytes);
    } else if (!status) {
        void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
        parts[r->part] = r->rows;
        const lud_replay replay = {
            .model = set->scenario->model, .facts = &set->episodes[r->episode], .states = set->played.states};
        lud_replay_observe(&replay, r->first, r->n, parts);
    }
    pthread_mutex_unlock(&set->mutex);
    return status;
}

lud_status lud_data_set_replay(lud_data_set *set, int64_t episode, uint8_t *states, lud_error *error) {
    if (!set->info.replays_exactly)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: it has no states that could be played again",
                        set->info.path);
    const lud_data_request request = {LUD_DATA_STATES, 0, episode, 0, set->episodes[episode].length + 1,
                                      states};
    return read_played(set, &request, error);
}

static lud_status compare(lud_data_set *set, const lud_data_request *stored, const void *again,
                          const char *what, lud_error *error) {
    lud_status status = read_own(set, stored, error);
    const size_t bytes = lud_data_set_row_bytes(set, stored->array, 0);
    if (!status && memcmp(stored->rows, again, (size_t)stored->n * bytes) != 0)
        status = lud_fail(error, LUD_ERROR_NUMERIC,
                          "%s: episode %lld, played again, has other %s than were recorded", set->info.path,
                          (long long)stored->episode, what);
    return status;
}

lud_status lud_data_set_verify(lud_data_set *set, int64_t episode, lud_error *error) {
    if (!set->info.replays_exactly)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: it has no states that could be played again",
                        set->info.path);
    const int32_t length = set->episodes[episode].length;
    const size_t n = (size_t)length + 1, cells = n * (size_t)set->info.n_agents;
    float *rewards = malloc(cells * sizeof *rewards), *stored = malloc(cells * sizeof *stored);
    uint8_t *states = malloc(n * set->info.state_bytes + 1);
    pthread_mutex_lock(&set->mutex);
    lud_status status =
        rewards && stored && states ? play(set, episode, rewards, error) : out_of_memory(set, error);
    lud_data_request request = {LUD_DATA_REWARDS, 0, episode, 0, length, stored};
    if (!status) status = compare(set, &request, rewards, "rewards", error);
    request = (lud_data_request){LUD_DATA_STATES, 0, episode, 0, length + 1, states};
    if (!status && set->frames_stored) status = compare(set, &request, set->played.states, "states", error);
    pthread_mutex_unlock(&set->mutex);
    free(states);
    free(stored);
    free(rewards);
    return status;
}

/* --- everything else --- */

lud_status lud_data_set_read(lud_data_set *set, lud_data_array array, int part, int64_t episode,
                             int32_t first, int32_t n, void *rows, lud_error *error) {
    assert(episode >= 0 && episode < set->info.n_episodes && lud_data_set_has(set, array, part));
    assert(first >= 0 && n >= 0 && first + n <= lud_data_set_rows(set, array, episode));
    const lud_data_request request = {array, part, episode, first, n, rows};
    if (!n) return LUD_OK;
    if (set->group < 0) return lud_data_read_minari(set, &request, error);
    return is_frame(array) && !set->frames_stored ? read_played(set, &request, error)
                                                  : read_own(set, &request, error);
}

lud_status lud_data_set_summary(lud_data_set *set, int64_t episode, int agent, lud_text *text,
                                lud_error *error) {
    if (set->group < 0) return LUD_OK;
    const uint64_t begin = set->summaries[episode], n = set->summaries[episode + 1] - begin;
    char *all = malloc(n + 1);
    if (!all) return out_of_memory(set, error);
    const lud_data_shape single = {.rank = 0};
    lud_hdf5_lock();
    const bool good = lud_data_read_rows(set->summary_text, H5T_NATIVE_UINT8, &single, begin, n, all);
    lud_hdf5_unlock();
    if (good) {
        all[n] = 0;
        const char *line = all;
        for (int i = 0; i < agent && line; i++) line = (line = strchr(line, '\n')) ? line + 1 : NULL;
        if (line) lud_text_append_bytes(text, line, strcspn(line, "\n"));
    }
    free(all);
    return good ? LUD_OK : lud_data_wrong(set, error, "the summaries cannot be read");
}

static uint64_t fnv1a(uint64_t hash, const void *bytes, size_t n) {
    for (size_t k = 0; k < n; k++) hash = (hash ^ ((const uint8_t *)bytes)[k]) * 0x100000001b3u;
    return hash;
}

uint64_t lud_data_set_episode_hash(const lud_data_set *set, int64_t episode) {
    const lud_data_episode *e = &set->episodes[episode];
    uint64_t hash = 0xcbf29ce484222325u;
    if (set->group >= 0) {
        const uint64_t identity[3] = {e->seed, e->environment, e->number};
        return fnv1a(hash, identity, sizeof identity);
    }
    const char *slash = strrchr(set->info.path, '/'), *name = slash ? slash + 1 : set->info.path;
    hash = fnv1a(hash, name, strlen(name));
    return fnv1a(hash, &episode, sizeof episode);
}

lud_status lud_data_set_check_windows(const lud_data_set *set, lud_error *error) {
    const int found = set->info.window_semantics;
    if (set->group < 0 || found == LUD_WINDOW_SEMANTICS) return LUD_OK;
    return lud_data_wrong(
        set, error,
        "its window semantics version is %d, that of this program %d: `ludus convert %s -o NEW.h5` "
        "makes one of the present version",
        found, LUD_WINDOW_SEMANTICS, set->info.path);
}
