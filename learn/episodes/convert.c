#include "learn/episodes/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/progress.h"
#include "learn/episodes/data_set_parts.h"
#include "learn/episodes/file/writer.h"

typedef struct converter {
    lud_data_set *set;
    lud_data_info info; /* of the new set */
    lud_data_row row;
    bool frames;
    uint8_t *rows, *array; /* [capacity] rows; one array of an episode */
    int32_t capacity;
} converter;

static lud_status out_of_memory(lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "no memory to convert a data set");
}

/* Names of nested dictionaries become plain ones. */
static lud_status name_parts(converter *c, lud_arena *arena, lud_error *error) {
    lud_observation_part *parts = lud_arena_take_array(arena, (size_t)c->info.n_parts + 1, sizeof *parts);
    if (!parts) return out_of_memory(error);
    for (int p = 0; p < c->info.n_parts; p++) {
        parts[p] = c->info.parts[p];
        char *name = lud_arena_text(arena, parts[p].name, strlen(parts[p].name));
        if (!name) return out_of_memory(error);
        for (char *at = name; (at = strchr(at, '/'));) *at = '.';
        parts[p].name = name;
    }
    c->info.parts = parts;
    return LUD_OK;
}

static bool reserve(converter *c, int32_t frames) {
    if (frames <= c->capacity) return true;
    size_t widest = c->row.bytes;
    for (int p = 0; p < c->info.n_parts; p++)
        if (c->info.parts[p].bytes > widest) widest = c->info.parts[p].bytes;
    free(c->rows);
    free(c->array);
    c->capacity = 2 * frames;
    c->rows = malloc((size_t)c->capacity * c->row.bytes);
    c->array = malloc((size_t)c->capacity * widest);
    if (c->rows && c->array) return true;
    c->capacity = 0;
    return false;
}

/* Reads n rows of an array into its place in the rows. */
static lud_status take(converter *c, lud_data_array array, int part, int64_t episode, int32_t n,
                       size_t offset, lud_error *error) {
    if (!lud_data_set_has(c->set, array, part)) return LUD_OK;
    const size_t bytes = lud_data_set_row_bytes(c->set, array, part);
    const lud_status status = lud_data_set_read(c->set, array, part, episode, 0, n, c->array, error);
    for (int32_t t = 0; t < n && !status; t++)
        memcpy(c->rows + (size_t)t * c->row.bytes + offset, c->array + (size_t)t * bytes, bytes);
    return status;
}

/* What is there where a file says nothing. */
static void clear_rows(const converter *c, int32_t n) {
    memset(c->rows, 0, (size_t)n * c->row.bytes);
    for (int32_t t = 0; t < n; t++)
        for (int i = 0; i < c->info.n_agents; i++) {
            const float unknown = NAN;
            const int32_t none = -1;
            uint8_t *row = c->rows + (size_t)t * c->row.bytes;
            memcpy(row + c->row.log_probs + (size_t)i * sizeof unknown, &unknown, sizeof unknown);
            memcpy(row + c->row.discrete + (size_t)i * sizeof none, &none, sizeof none);
        }
}

static lud_status read_rows(converter *c, int64_t episode, int32_t length, lud_error *error) {
    const int32_t n = length + 1;
    if (!reserve(c, n)) return out_of_memory(error);
    clear_rows(c, n);
    lud_status status = take(c, LUD_DATA_DISCRETE, 0, episode, length, c->row.discrete, error);
    if (!status) status = take(c, LUD_DATA_CONTINUOUS, 0, episode, length, c->row.continuous, error);
    if (!status) status = take(c, LUD_DATA_LOG_PROBS, 0, episode, length, c->row.log_probs, error);
    if (!status) status = take(c, LUD_DATA_REWARDS, 0, episode, length, c->row.rewards, error);
    if (!status) status = take(c, LUD_DATA_POLICY_VERSION, 0, episode, length, c->row.policy_version, error);
    if (!status) status = take(c, LUD_DATA_STATES, 0, episode, n, c->row.state, error);
    for (int p = 0; p < c->info.n_parts && c->frames && !status; p++)
        status = take(c, LUD_DATA_OBSERVATION, p, episode, n, c->row.observations[p], error);
    return status;
}

static lud_status convert_all(converter *c, lud_data_writer *writer, lud_progress *progress,
                              lud_convert_result *result, lud_error *error) {
    lud_status status = LUD_OK;
    int32_t *tracks = malloc((size_t)c->info.n_agents * sizeof *tracks + 1);
    if (!tracks) return out_of_memory(error);
    for (int64_t e = 0; e < c->info.n_episodes && !status; e++) {
        lud_data_rows episode = {.facts = *lud_data_set_episode(c->set, e), .tracks = tracks};
        const bool drop = !c->set->info.last_action_valid && episode.facts.length;
        const int32_t length = episode.facts.length - drop;
        if (lud_interrupted()) status = lud_fail(error, LUD_INTERRUPTED, "interrupted");
        if (!status && c->info.replays_exactly) status = lud_data_set_verify(c->set, e, error);
        if (!status) status = read_rows(c, e, length, error);
        episode.facts.length = length;
        episode.rows = c->rows;
        for (int i = 0; i < c->info.n_agents; i++) {
            const int32_t track = lud_data_set_tracks(c->set, e)[i];
            tracks[i] = track < length ? track : length;
        }
        if (!status) status = lud_data_writer_add(writer, &episode, error);
        result->dropped += drop;
        lud_progress_update(progress, (uint64_t)e);
    }
    free(tracks);
    return status;
}

lud_status lud_data_convert(lud_data_set *set, const lud_convert_options *o, lud_convert_result *result,
                            lud_error *error) {
    *result = (lud_convert_result){0};
    if (!o->frames && !set->info.replays_exactly)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "%s: it has no states that could be played again, so its observations must be stored",
                        set->info.path);
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return out_of_memory(error);
    converter c = {.set = set, .info = set->info, .frames = o->frames};
    c.info.window_semantics = LUD_WINDOW_SEMANTICS;
    lud_status status = name_parts(&c, arena, error);
    c.row = lud_data_row_of(&c.info, o->frames);
    const lud_data_writing writing = {.info = &c.info,
                                      .scenario_path = set->scenario_path,
                                      .frames = o->frames,
                                      .views = o->views,
                                      .n_threads = o->n_threads,
                                      .level = o->level};
    lud_data_writer *writer = NULL;
    if (!status) status = lud_data_writer_create(o->path, &writing, &writer, error);
    if (!status) {
        lud_progress progress;
        lud_progress_start(&progress, o->progress, "convert", "episodes", (uint64_t)c.info.n_episodes);
        status = convert_all(&c, writer, &progress, result, error);
        lud_progress_finish(&progress);
        result->episodes = lud_data_writer_episodes(writer);
        result->steps = lud_data_writer_steps(writer);
        if (!status)
            status = lud_data_writer_finish(writer, error);
        else
            lud_data_writer_abandon(writer);
    }
    free(c.rows);
    free(c.array);
    lud_arena_destroy(arena);
    return status;
}
