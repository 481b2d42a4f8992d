#include <stdlib.h>
#include <string.h>

#include "learn/episodes/data_set_parts.h"
#include "learn/episodes/file/schema.h"
#include "learn/episodes/replay.h"

enum { MOST_EPISODES = 1 << 30 };

static lud_status out_of_memory(const lud_data_set *set, lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to read it", set->info.path);
}

/* --- what it says about itself --- */

/* A text attribute in the arena; null where it is absent. */
static lud_status text_attribute(const lud_data_set *set, const char *name, const char **copy,
                                 lud_error *error) {
    lud_text text = {0};
    *copy = NULL;
    if (lud_hdf5_get_text(set->group, name, &text))
        *copy = lud_arena_text(set->arena, text.bytes ? text.bytes : "", text.length);
    lud_text_free(&text);
    if (*copy || lud_hdf5_absent(set->group, name)) return LUD_OK;
    return lud_fail(error, LUD_ERROR_INPUT,
                    "%s: the attribute ludus/%s cannot be read: it is no text, or there is no memory for it",
                    set->info.path, name);
}

static lud_status read_head(lud_data_set *set, lud_error *error) {
    lud_data_info *info = &set->info;
    int64_t format, semantics = 0, complete = 0, stored = 0, interval = 0;
    if (!lud_hdf5_get_integer(set->group, "format", &format))
        return lud_data_wrong(set, error, "expected the attribute ludus/format, found none");
    if (format != LUD_DATA_FORMAT)
        return lud_data_wrong(set, error, "expected a data set of format %d, found one of format %lld",
                              LUD_DATA_FORMAT, (long long)format);
    if (!lud_hdf5_get_integer(set->group, "window_semantics_version", &semantics) &&
        !lud_hdf5_absent(set->group, "window_semantics_version"))
        return lud_data_wrong(set, error, "the attribute ludus/window_semantics_version cannot be read");
    if (semantics < 0 || semantics > 1 << 20)
        return lud_data_wrong(set, error, "expected a number of a window semantics, found %lld",
                              (long long)semantics);
    if (!lud_hdf5_get_integer(set->group, "complete", &complete) ||
        !lud_hdf5_get_integer(set->group, "frames_stored", &stored) ||
        !lud_hdf5_get_integer(set->group, "hash_interval", &interval) || interval != LUD_HASH_INTERVAL)
        return lud_data_wrong(set, error,
                              "expected the attributes complete, frames_stored and hash_interval");
    info->format = (int)format;
    info->window_semantics = (int)semantics;
    info->complete = complete == 1;
    info->last_action_valid = true;
    set->frames_stored = stored == 1;
    const char *schema;
    LUD_TRY(text_attribute(set, "scenario", &info->scenario, error));
    LUD_TRY(text_attribute(set, "world", &info->world, error));
    LUD_TRY(text_attribute(set, "policy", &info->policy, error));
    LUD_TRY(text_attribute(set, "scenario_path", &set->scenario_path, error));
    LUD_TRY(text_attribute(set, "schema", &schema, error));
    if (!schema) return lud_data_wrong(set, error, "expected the attribute ludus/schema, found none");
    return lud_data_schema_read(schema, info->path, set->arena, info, error);
}

/* --- what an episode has once --- */

/* Reads a whole column of one number a row, or of a row of n_agents. */
static lud_status read_column(const lud_data_set *set, hid_t group, const char *name, int width, hid_t type,
                              uint64_t rows, void *values, lud_error *error) {
    lud_data_shape shape = {.rank = width > 0, .dimensions = {(hsize_t)width}};
    const hid_t array = lud_data_open_array(set, group, name, &shape);
    const bool good =
        array >= 0 && shape.rows >= rows && lud_data_read_rows(array, type, &shape, 0, rows, values);
    if (array >= 0) H5Dclose(array);
    return good ? LUD_OK
                : lud_data_wrong(set, error, "expected %llu rows in ludus/episodes/%s that can be read",
                                 (unsigned long long)rows, name);
}

static lud_status count_episodes(lud_data_set *set, hid_t group, lud_error *error) {
    lud_data_shape shape = {.rank = 0};
    const hid_t array = lud_data_open_array(set, group, "length", &shape);
    if (array < 0) return lud_data_wrong(set, error, "expected the array ludus/episodes/length, found none");
    H5Dclose(array);
    if (shape.rows > MOST_EPISODES)
        return lud_data_wrong(set, error, "expected at most %d episodes, found %llu", MOST_EPISODES,
                              (unsigned long long)shape.rows);
    set->info.n_episodes = (int64_t)shape.rows;
    return LUD_OK;
}

/* One field of every episode, through an array of its own. */
typedef struct fields {
    int32_t *length;
    uint64_t *seed;
    uint32_t *environment, *number, *first_tick, *summary_bytes;
    uint8_t *terminated, *truncated;
} fields;

static lud_status read_fields(lud_data_set *set, hid_t group, const fields *f, lud_error *error) {
    const int n_agents = set->info.n_agents;
    const struct {
        const char *name;
        int width;
        hid_t type;
        void *values;
    } columns[] = {{"length", 0, H5T_NATIVE_INT32, f->length},
                   {"seed", 0, H5T_NATIVE_UINT64, f->seed},
                   {"environment", 0, H5T_NATIVE_UINT32, f->environment},
                   {"number", 0, H5T_NATIVE_UINT32, f->number},
                   {"first_tick", 0, H5T_NATIVE_UINT32, f->first_tick},
                   {"summary_bytes", 0, H5T_NATIVE_UINT32, f->summary_bytes},
                   {"terminated", 0, H5T_NATIVE_UINT8, f->terminated},
                   {"truncated", 0, H5T_NATIVE_UINT8, f->truncated},
                   {"tracks", n_agents, H5T_NATIVE_INT32, set->tracks},
                   {"returns", n_agents, H5T_NATIVE_DOUBLE, set->returns}};
    lud_status status = LUD_OK;
    for (size_t k = 0; k < sizeof columns / sizeof *columns && !status; k++)
        status = read_column(set, group, columns[k].name, columns[k].width, columns[k].type,
                             (uint64_t)set->info.n_episodes, columns[k].values, error);
    return status;
}

static lud_status fill_episodes(lud_data_set *set, const fields *f, lud_error *error) {
    int64_t step = 0;
    for (int64_t e = 0; e < set->info.n_episodes; e++) {
        if (f->length[e] < 0 || f->length[e] == INT32_MAX)
            return lud_data_wrong(set, error, "episode %lld: expected a length of 0 or more, found %d",
                                  (long long)e, f->length[e]);
        set->episodes[e] = (lud_data_episode){.first_step = step,
                                              .length = f->length[e],
                                              .seed = f->seed[e],
                                              .environment = f->environment[e],
                                              .number = f->number[e],
                                              .first_tick = f->first_tick[e],
                                              .terminated = f->terminated[e] == 1,
                                              .truncated = f->truncated[e] == 1};
        for (int i = 0; i < set->info.n_agents; i++) {
            const int32_t track = set->tracks[e * set->info.n_agents + i];
            if (track < 0 || track > f->length[e])
                return lud_data_wrong(set, error, "episode %lld: expected a track of 0 to %d steps, found %d",
                                      (long long)e, f->length[e], track);
        }
        set->summaries[e + 1] = set->summaries[e] + f->summary_bytes[e];
        set->hashes[e + 1] = set->hashes[e] + (uint64_t)lud_state_hash_count(f->length[e] + 1);
        step += f->length[e];
    }
    set->info.n_steps = step;
    return LUD_OK;
}

static lud_status read_episodes(lud_data_set *set, lud_error *error) {
    const hid_t group = lud_data_open_group(set->group, "episodes");
    if (group < 0) return lud_data_wrong(set, error, "expected the group ludus/episodes, found none");
    lud_status status = count_episodes(set, group, error);
    const size_t n = (size_t)set->info.n_episodes + 1, cells = n * (size_t)set->info.n_agents;
    fields f = {0};
    if (!status) {
        set->episodes = calloc(n, sizeof *set->episodes);
        set->returns = calloc(cells, sizeof *set->returns);
        set->tracks = calloc(cells, sizeof *set->tracks);
        set->summaries = calloc(n, sizeof *set->summaries);
        set->hashes = calloc(n, sizeof *set->hashes);
        f = (fields){.length = calloc(n, sizeof *f.length),
                     .seed = calloc(n, sizeof *f.seed),
                     .environment = calloc(n, sizeof *f.environment),
                     .number = calloc(n, sizeof *f.number),
                     .first_tick = calloc(n, sizeof *f.first_tick),
                     .summary_bytes = calloc(n, sizeof *f.summary_bytes),
                     .terminated = calloc(n, 1),
                     .truncated = calloc(n, 1)};
        const bool memory = set->episodes && set->returns && set->tracks && set->summaries && set->hashes &&
                            f.length && f.seed && f.environment && f.number && f.first_tick &&
                            f.summary_bytes && f.terminated && f.truncated;
        status = memory ? read_fields(set, group, &f, error) : out_of_memory(set, error);
    }
    if (!status) status = fill_episodes(set, &f, error);
    H5Gclose(group);
    free(f.length);
    free(f.seed);
    free(f.environment);
    free(f.number);
    free(f.first_tick);
    free(f.summary_bytes);
    free(f.terminated);
    free(f.truncated);
    return status;
}

/* --- the long arrays --- */

/* Opens one that must be there with so many rows. */
static lud_status open_long(const lud_data_set *set, hid_t group, const char *name, lud_data_shape shape,
                            H5T_class_t class, uint64_t rows, hid_t *array, lud_error *error) {
    *array = lud_data_open_array(set, group, name, &shape);
    if (*array >= 0 && shape.rows >= rows && shape.class == class) return LUD_OK;
    return lud_data_wrong(set, error,
                          "expected the array %s with %llu rows of the shape that ludus/schema says", name,
                          (unsigned long long)rows);
}

static bool has_choices(const lud_data_info *info) {
    for (int i = 0; i < info->n_agents; i++)
        if (info->n_choices[i]) return true;
    return false;
}

static lud_status open_steps(lud_data_set *set, lud_error *error) {
    const lud_data_info *info = &set->info;
    const hid_t group = lud_data_open_group(set->group, "steps");
    const hsize_t n = (hsize_t)info->n_agents;
    const uint64_t rows = (uint64_t)info->n_steps;
    const lud_data_shape single = {.rank = 0}, agents = {.rank = 1, .dimensions = {n}},
                         moves = {.rank = 2, .dimensions = {n, (hsize_t)info->n_continuous}};
    hid_t *to = set->arrays;
    lud_status status =
        group >= 0 ? LUD_OK : lud_data_wrong(set, error, "expected the group ludus/steps, found none");
    if (!status && has_choices(info))
        status = open_long(set, group, "discrete", agents, H5T_INTEGER, rows, &to[LUD_DATA_DISCRETE], error);
    if (!status && info->n_continuous)
        status = open_long(set, group, "continuous", moves, H5T_FLOAT, rows, &to[LUD_DATA_CONTINUOUS], error);
    if (!status)
        status = open_long(set, group, "log_probs", agents, H5T_FLOAT, rows, &to[LUD_DATA_LOG_PROBS], error);
    if (!status)
        status = open_long(set, group, "rewards", agents, H5T_FLOAT, rows, &to[LUD_DATA_REWARDS], error);
    if (!status)
        status = open_long(set, group, "policy_version", single, H5T_INTEGER, rows,
                           &to[LUD_DATA_POLICY_VERSION], error);
    if (group >= 0) H5Gclose(group);
    return status;
}

static lud_status open_frames(lud_data_set *set, lud_error *error) {
    const lud_data_info *info = &set->info;
    const uint64_t rows = (uint64_t)(info->n_steps + info->n_episodes);
    const hid_t group = lud_data_open_group(set->group, "frames"),
                parts = group >= 0 ? lud_data_open_group(group, "observations") : -1;
    lud_status status = LUD_OK;
    if (info->state_bytes)
        status = open_long(set, group, "states",
                           (lud_data_shape){.rank = 1, .dimensions = {(hsize_t)info->state_bytes}},
                           H5T_INTEGER, rows, &set->arrays[LUD_DATA_STATES], error);
    for (int p = 0; p < info->n_parts && !status; p++) {
        const lud_observation_part *part = &info->parts[p];
        lud_data_shape shape = {.rank = part->per_agent, .dimensions = {(hsize_t)info->n_agents}};
        for (int d = 0; d < part->n_dimensions; d++)
            shape.dimensions[shape.rank++] = (hsize_t)part->dimensions[d];
        status = open_long(set, parts, part->name, shape, part->dtype == LUD_F32 ? H5T_FLOAT : H5T_INTEGER,
                           rows, &set->observations[p], error);
        if (!status && H5Dget_storage_size(set->observations[p]) == 0 && rows && part->bytes)
            status = lud_data_wrong(set, error, "the array %s is empty", part->name);
    }
    if (parts >= 0) H5Gclose(parts);
    if (group >= 0) H5Gclose(group);
    return status;
}

static lud_status open_extras(lud_data_set *set, lud_error *error) {
    const lud_data_shape single = {.rank = 0};
    const uint64_t *const ends = set->summaries + set->info.n_episodes;
    lud_status status =
        open_long(set, set->group, "summaries", single, H5T_INTEGER, *ends, &set->summary_text, error);
    if (!status && set->info.state_bytes)
        status = open_long(set, set->group, "hashes", single, H5T_INTEGER, set->hashes[set->info.n_episodes],
                           &set->hash_values, error);
    return status;
}

lud_status lud_data_open_own(lud_data_set *set, lud_error *error) {
    lud_status status = read_head(set, error);
    if (!status) status = read_episodes(set, error);
    if (!status) status = open_steps(set, error);
    if (!status && set->frames_stored) status = open_frames(set, error);
    if (!status) status = open_extras(set, error);
    set->info.replays_exactly = set->info.state_bytes && set->info.scenario;
    if (!status && !set->frames_stored && !set->info.replays_exactly)
        status =
            lud_data_wrong(set, error, "expected frames, or a scenario to make them again, found neither");
    return status;
}
