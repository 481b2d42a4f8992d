#include "learn/episodes/file/writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/episodes/file/column.h"
#include "learn/episodes/file/commit_file.h"
#include "learn/episodes/file/minari.h"
#include "learn/episodes/file/schema.h"
#include "learn/episodes/replay.h"

/* What an episode has once, what a step has, what a frame has. */
enum {
    EPISODE_LENGTH,
    EPISODE_SEED,
    EPISODE_ENVIRONMENT,
    EPISODE_NUMBER,
    EPISODE_TICK,
    EPISODE_TERMINATED,
    EPISODE_TRUNCATED,
    EPISODE_TRACKS,
    EPISODE_RETURNS,
    EPISODE_SUMMARY_BYTES,
    STEP_DISCRETE,
    STEP_CONTINUOUS,
    STEP_LOG_PROBS,
    STEP_REWARDS,
    STEP_POLICY_VERSION,
    FRAME_STATE,
    HASHES,
    SUMMARIES,
    FRAME_OBSERVATION,
    N_COLUMNS = FRAME_OBSERVATION + LUD_MAX_OBSERVATION_PARTS
};

struct lud_data_writer {
    lud_data_writing options;
    char *path, *partial;
    hid_t file, group;
    lud_minari_views views;
    lud_column columns[N_COLUMNS];
    lud_column_queue queue;
    lud_data_row row;
    int64_t n_episodes, n_steps;
    double committed;    /* when; see base/clock.h */
    int64_t n_committed; /* episodes */
    int32_t *tracks;     /* [n_agents] */
    double *returns;
    lud_text summary;
};

static lud_status out_of_memory(const lud_data_writer *w, lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to write it", w->path ? w->path : "data set");
}

static size_t aligned(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

lud_data_row lud_data_row_of(const lud_data_info *info, bool observations) {
    const size_t n = (size_t)info->n_agents;
    lud_data_row row = {0};
    size_t at = aligned(info->state_bytes);
    for (int p = 0; p < info->n_parts && observations; p++) {
        row.observations[p] = at;
        at += aligned(info->parts[p].bytes);
    }
    row.discrete = at;
    row.continuous = row.discrete + aligned(n * sizeof(int32_t));
    row.log_probs = row.continuous + aligned(n * (size_t)info->n_continuous * sizeof(float));
    row.rewards = row.log_probs + aligned(n * sizeof(float));
    row.policy_version = row.rewards + aligned(n * sizeof(float));
    row.bytes = row.policy_version + 8;
    return row;
}

/* --- making the file --- */

/* The smallest type that holds every choice and -1. */
static lud_number choice_type(const lud_data_info *info) {
    int32_t most = 0;
    for (int i = 0; i < info->n_agents; i++)
        if (info->n_choices[i] > most) most = info->n_choices[i];
    return most <= INT8_MAX ? LUD_NUMBER_I8 : most <= INT16_MAX ? LUD_NUMBER_I16 : LUD_NUMBER_I32;
}

static bool has_choices(const lud_data_info *info) {
    for (int i = 0; i < info->n_agents; i++)
        if (info->n_choices[i]) return true;
    return false;
}

typedef struct maker {
    lud_data_writer *writer;
    hid_t group;
    lud_status status;
    lud_error *error;
} maker;

static void make(maker *m, int column, const char *name, lud_number type, int rank, const int *dimensions) {
    if (m->status) return;
    m->status = lud_column_create(&m->writer->columns[column], m->group, name, type, rank, dimensions,
                                  m->writer->options.level, m->error);
}

/* A group below the present one; with the status set where it fails. */
static hid_t enter(maker *m, hid_t parent, const char *name) {
    m->group = m->status ? -1 : H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (!m->status && m->group < 0) m->status = lud_hdf5_write_error(m->writer->partial, m->error);
    return m->group;
}

static void make_episode_columns(maker *m) {
    const lud_data_info *info = m->writer->options.info;
    const int n = info->n_agents;
    const hid_t group = enter(m, m->writer->group, "episodes");
    make(m, EPISODE_LENGTH, "length", LUD_NUMBER_I32, 0, NULL);
    make(m, EPISODE_SEED, "seed", LUD_NUMBER_U64, 0, NULL);
    make(m, EPISODE_ENVIRONMENT, "environment", LUD_NUMBER_U32, 0, NULL);
    make(m, EPISODE_NUMBER, "number", LUD_NUMBER_U32, 0, NULL);
    make(m, EPISODE_TICK, "first_tick", LUD_NUMBER_U32, 0, NULL);
    make(m, EPISODE_TERMINATED, "terminated", LUD_NUMBER_U8, 0, NULL);
    make(m, EPISODE_TRUNCATED, "truncated", LUD_NUMBER_U8, 0, NULL);
    make(m, EPISODE_TRACKS, "tracks", LUD_NUMBER_I32, 1, &n);
    make(m, EPISODE_RETURNS, "returns", LUD_NUMBER_F64, 1, &n);
    make(m, EPISODE_SUMMARY_BYTES, "summary_bytes", LUD_NUMBER_U32, 0, NULL);
    if (group >= 0) H5Gclose(group);
    m->group = m->writer->group;
    make(m, SUMMARIES, "summaries", LUD_NUMBER_U8, 0, NULL);
    if (info->state_bytes) make(m, HASHES, "hashes", LUD_NUMBER_U64, 0, NULL);
}

static void make_step_columns(maker *m) {
    const lud_data_info *info = m->writer->options.info;
    const int shape[2] = {info->n_agents, info->n_continuous};
    const hid_t group = enter(m, m->writer->group, "steps");
    if (has_choices(info)) make(m, STEP_DISCRETE, "discrete", choice_type(info), 1, shape);
    if (info->n_continuous) make(m, STEP_CONTINUOUS, "continuous", LUD_NUMBER_F32, 2, shape);
    make(m, STEP_LOG_PROBS, "log_probs", LUD_NUMBER_F32, 1, shape);
    make(m, STEP_REWARDS, "rewards", LUD_NUMBER_F32, 1, shape);
    make(m, STEP_POLICY_VERSION, "policy_version", LUD_NUMBER_U32, 0, NULL);
    if (group >= 0) H5Gclose(group);
}

static void make_frame_columns(maker *m) {
    static const lud_number types[] = {LUD_NUMBER_U8, LUD_NUMBER_I32, LUD_NUMBER_F32};
    const lud_data_info *info = m->writer->options.info;
    const int state_bytes = (int)info->state_bytes;
    const hid_t group = enter(m, m->writer->group, "frames");
    if (state_bytes) make(m, FRAME_STATE, "states", LUD_NUMBER_U8, 1, &state_bytes);
    const hid_t observations = enter(m, group, "observations");
    for (int p = 0; p < info->n_parts; p++) {
        const lud_observation_part *part = &info->parts[p];
        int shape[1 + LUD_MAX_DIMENSIONS] = {info->n_agents}, rank = part->per_agent;
        for (int d = 0; d < part->n_dimensions; d++) shape[rank++] = part->dimensions[d];
        make(m, FRAME_OBSERVATION + p, part->name, types[part->dtype], rank, shape);
    }
    if (observations >= 0) H5Gclose(observations);
    if (group >= 0) H5Gclose(group);
}

static bool set_counts(lud_data_writer *w, bool complete) {
    return lud_hdf5_set_integer(w->file, "total_episodes", w->n_episodes) &&
           lud_hdf5_set_integer(w->file, "total_steps", w->n_steps) &&
           lud_hdf5_set_integer(w->group, "complete", complete);
}

static bool describe(lud_data_writer *w) {
    const lud_data_writing *o = &w->options;
    const lud_data_info *info = o->info;
    char *schema = lud_data_schema_write(info);
    bool good = schema && lud_hdf5_set_text(w->group, "schema", schema) &&
                lud_hdf5_set_integer(w->group, "format", LUD_DATA_FORMAT) &&
                lud_hdf5_set_integer(w->group, "window_semantics_version", info->window_semantics) &&
                lud_hdf5_set_integer(w->group, "frames_stored", o->frames) &&
                lud_hdf5_set_integer(w->group, "hash_interval", LUD_HASH_INTERVAL) &&
                lud_hdf5_set_text(w->file, "data_format", "hdf5");
    free(schema);
    if (good && info->scenario) good = lud_hdf5_set_text(w->group, "scenario", info->scenario);
    if (good && o->scenario_path) good = lud_hdf5_set_text(w->group, "scenario_path", o->scenario_path);
    if (good && info->world) good = lud_hdf5_set_text(w->group, "world", info->world);
    if (good && info->policy) good = lud_hdf5_set_text(w->group, "policy", info->policy);
    return good && set_counts(w, false);
}

static lud_status make_file(lud_data_writer *w, lud_error *error) {
    lud_hdf5_lock();
    lud_status status = LUD_OK;
    lud_file_give_way(w->partial);
    errno = 0;
    w->file = lud_hdf5_create(w->partial);
    const int reason = errno;
    if (w->file >= 0) w->group = H5Gcreate2(w->file, "ludus", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (w->group < 0 || !describe(w) || !lud_minari_views_create(w->file, w->options.info, &w->views))
        status = w->file < 0 && reason
                     ? lud_fail(error, LUD_ERROR_IO, "%s: cannot be written: %s", w->path, strerror(reason))
                     : lud_hdf5_write_error(w->path, error);
    maker m = {.writer = w, .group = w->group, .status = status, .error = error};
    make_episode_columns(&m);
    make_step_columns(&m);
    if (w->options.frames) make_frame_columns(&m);
    lud_hdf5_unlock();
    return m.status;
}

lud_status lud_data_writer_create(const char *path, const lud_data_writing *writing, lud_data_writer **writer,
                                  lud_error *error) {
    lud_data_writer *w = calloc(1, sizeof *w);
    if (!w) return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to write it", path);
    const lud_data_info *info = writing->info;
    assert(writing->frames || (!writing->views && info->state_bytes));
    w->options = *writing;
    w->file = w->group = -1;
    w->row = lud_data_row_of(info, writing->frames);
    w->tracks = calloc((size_t)info->n_agents + 1, sizeof *w->tracks);
    w->returns = calloc((size_t)info->n_agents + 1, sizeof *w->returns);
    w->path = strdup(path);
    if (asprintf(&w->partial, "%s.partial-%ld", path, (long)getpid()) < 0) w->partial = NULL;
    lud_status status = w->tracks && w->returns && w->path && w->partial ? LUD_OK : out_of_memory(w, error);
    if (!status) status = lud_column_queue_begin(&w->queue, writing->n_threads, writing->level, error);
    if (!status) status = make_file(w, error);
    if (!status) status = lud_data_writer_commit(w, error);
    if (status)
        lud_data_writer_abandon(w);
    else
        *writer = w;
    return status;
}

/* --- adding --- */

/* n rows of a column, `stride` bytes apart. */
static lud_status add_rows(lud_data_writer *w, int column, const void *from, size_t stride, uint64_t n,
                           lud_error *error) {
    lud_column *c = &w->columns[column];
    const uint8_t *bytes = from;
    lud_status status = LUD_OK;
    while (n && c->chunk && !status) {
        uint64_t some = n;
        uint8_t *to = lud_column_room(c, &some);
        if (stride == c->row_bytes)
            memcpy(to, bytes, some * c->row_bytes);
        else
            for (uint64_t k = 0; k < some; k++)
                memcpy(to + k * c->row_bytes, bytes + k * stride, c->row_bytes);
        status = lud_column_added(c, some, &w->queue, error);
        bytes += some * stride;
        n -= some;
    }
    return status;
}

/* Choices become narrower on the way. */
static lud_status add_choices(lud_data_writer *w, const uint8_t *from, uint64_t n, lud_error *error) {
    lud_column *c = &w->columns[STEP_DISCRETE];
    const int n_agents = w->options.info->n_agents;
    lud_status status = LUD_OK;
    while (n && c->chunk && !status) {
        uint64_t some = n;
        uint8_t *to = lud_column_room(c, &some);
        for (uint64_t k = 0; k < some; k++, from += w->row.bytes)
            for (int i = 0; i < n_agents; i++) {
                int32_t choice;
                memcpy(&choice, from + (size_t)i * sizeof choice, sizeof choice);
                const size_t at = k * (size_t)n_agents + (size_t)i;
                if (c->type == LUD_NUMBER_I8)
                    ((int8_t *)to)[at] = (int8_t)choice;
                else if (c->type == LUD_NUMBER_I16)
                    ((int16_t *)(void *)to)[at] = (int16_t)choice;
                else
                    ((int32_t *)(void *)to)[at] = choice;
            }
        status = lud_column_added(c, some, &w->queue, error);
        n -= some;
    }
    return status;
}

static lud_status add_steps(lud_data_writer *w, const uint8_t *rows, uint64_t n, lud_error *error) {
    const size_t stride = w->row.bytes;
    lud_status status = add_choices(w, rows + w->row.discrete, n, error);
    if (!status) status = add_rows(w, STEP_CONTINUOUS, rows + w->row.continuous, stride, n, error);
    if (!status) status = add_rows(w, STEP_LOG_PROBS, rows + w->row.log_probs, stride, n, error);
    if (!status) status = add_rows(w, STEP_REWARDS, rows + w->row.rewards, stride, n, error);
    if (!status) status = add_rows(w, STEP_POLICY_VERSION, rows + w->row.policy_version, stride, n, error);
    return status;
}

static lud_status add_frames(lud_data_writer *w, const uint8_t *rows, uint64_t n, lud_error *error) {
    const size_t stride = w->row.bytes;
    lud_status status = add_rows(w, FRAME_STATE, rows + w->row.state, stride, n, error);
    for (int p = 0; p < w->options.info->n_parts && w->options.frames && !status; p++)
        status = add_rows(w, FRAME_OBSERVATION + p, rows + w->row.observations[p], stride, n, error);
    return status;
}

/* A hash of all states so far after every LUD_HASH_INTERVAL of them and after the last. */
static lud_status add_hashes(lud_data_writer *w, const uint8_t *rows, int32_t n_frames, lud_error *error) {
    const size_t state_bytes = w->options.info->state_bytes;
    if (!state_bytes) return LUD_OK;
    lud_state_hash hash;
    lud_state_hash_begin(&hash);
    lud_status status = LUD_OK;
    for (int32_t t = 0; t < n_frames && !status; t++) {
        uint64_t value;
        if (lud_state_hash_add(&hash, rows + (size_t)t * w->row.bytes + w->row.state, state_bytes,
                               t + 1 == n_frames, &value))
            status = add_rows(w, HASHES, &value, sizeof value, 1, error);
    }
    return status;
}

static void sum_up(lud_data_writer *w, const lud_data_rows *episode) {
    const lud_data_info *info = w->options.info;
    const size_t stride = w->row.bytes;
    const int32_t length = episode->facts.length;
    lud_text_clear(&w->summary);
    for (int i = 0; i < info->n_agents; i++) {
        w->tracks[i] = episode->tracks ? episode->tracks[i] : length;
        double sum = 0;
        for (int32_t t = 0; t < length; t++) {
            float reward;
            memcpy(&reward, episode->rows + (size_t)t * stride + w->row.rewards + (size_t)i * sizeof reward,
                   sizeof reward);
            sum += (double)reward;
        }
        w->returns[i] = sum;
        if (i) lud_text_append(&w->summary, "\n");
        const uint8_t *choices = episode->rows + w->row.discrete + (size_t)i * sizeof(int32_t),
                      *moves = episode->rows + w->row.continuous +
                               (size_t)i * (size_t)info->n_continuous * sizeof(float);
        if (info->n_choices[i])
            lud_data_summarise_choices(info, i, (const int32_t *)(const void *)choices,
                                       stride / sizeof(int32_t), w->tracks[i], &w->summary);
        if (info->n_choices[i] && info->n_continuous) lud_text_append(&w->summary, "; ");
        if (info->n_continuous)
            lud_data_summarise_moves(info, (const float *)(const void *)moves, stride / sizeof(float),
                                     w->tracks[i], &w->summary);
    }
}

static lud_status add_facts(lud_data_writer *w, const lud_data_rows *episode, lud_error *error) {
    const lud_data_episode *f = &episode->facts;
    const uint8_t terminated = f->terminated, truncated = f->truncated;
    const uint32_t summary_bytes = (uint32_t)w->summary.length;
    const struct {
        int column;
        const void *value;
    } facts[] = {{EPISODE_LENGTH, &f->length},           {EPISODE_SEED, &f->seed},
                 {EPISODE_ENVIRONMENT, &f->environment}, {EPISODE_NUMBER, &f->number},
                 {EPISODE_TICK, &f->first_tick},         {EPISODE_TERMINATED, &terminated},
                 {EPISODE_TRUNCATED, &truncated},        {EPISODE_TRACKS, w->tracks},
                 {EPISODE_RETURNS, w->returns},          {EPISODE_SUMMARY_BYTES, &summary_bytes}};
    lud_status status = LUD_OK;
    for (size_t k = 0; k < sizeof facts / sizeof *facts && !status; k++)
        status = add_rows(w, facts[k].column, facts[k].value, 0, 1, error);
    return status;
}

static lud_status add_view(lud_data_writer *w, const lud_data_episode *facts, lud_error *error) {
    const lud_minari_episode episode = {.number = w->n_episodes,
                                        .first_step = (uint64_t)w->n_steps,
                                        .first_frame = (uint64_t)(w->n_steps + w->n_episodes),
                                        .facts = *facts};
    lud_hdf5_lock();
    const bool good = lud_minari_add_episode(&w->views, &episode);
    const lud_status status = good ? LUD_OK : lud_hdf5_write_error(w->path, error);
    lud_hdf5_unlock();
    return status;
}

lud_status lud_data_writer_add(lud_data_writer *w, const lud_data_rows *episode, lud_error *error) {
    const int32_t length = episode->facts.length;
    sum_up(w, episode);
    if (w->summary.failed) return out_of_memory(w, error);
    lud_status status = add_facts(w, episode, error);
    if (!status && w->summary.length)
        status = add_rows(w, SUMMARIES, w->summary.bytes, 1, w->summary.length, error);
    if (!status) status = add_steps(w, episode->rows, (uint64_t)length, error);
    if (!status) status = add_frames(w, episode->rows, (uint64_t)length + 1, error);
    if (!status) status = add_hashes(w, episode->rows, length + 1, error);
    if (!status && w->options.views) status = add_view(w, &episode->facts, error);
    w->n_episodes++;
    w->n_steps += length;
    return status;
}

/* --- ends --- */

lud_status lud_data_writer_commit(lud_data_writer *w, lud_error *error) {
    lud_status status = LUD_OK;
    for (int k = 0; k < N_COLUMNS && !status; k++)
        if (w->columns[k].chunk) status = lud_column_flush(&w->columns[k], &w->queue, error);
    if (!status) status = lud_column_queue_write(&w->queue, error);
    if (status) return status;
    lud_hdf5_lock();
    if (!set_counts(w, false) || H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0)
        status = lud_hdf5_write_error(w->path, error);
    lud_hdf5_unlock();
    w->committed = lud_clock_seconds();
    if (!status) w->n_committed = w->n_episodes;
    return status;
}

double lud_data_writer_uncommitted(const lud_data_writer *w) {
    return lud_clock_seconds() - w->committed;
}

static bool close_file(lud_data_writer *w) {
    lud_hdf5_lock();
    for (int k = 0; k < N_COLUMNS; k++) lud_column_close(&w->columns[k]);
    lud_minari_views_free(&w->views);
    if (w->group >= 0) H5Gclose(w->group);
    const bool good = w->file < 0 || H5Fclose(w->file) >= 0;
    w->file = w->group = -1;
    lud_hdf5_unlock();
    return good;
}

static void free_writer(lud_data_writer *w) {
    close_file(w);
    lud_column_queue_free(&w->queue);
    lud_text_free(&w->summary);
    free(w->tracks);
    free(w->returns);
    free(w->path);
    free(w->partial);
    free(w);
}

lud_status lud_data_writer_finish(lud_data_writer *w, lud_error *error) {
    lud_status status = lud_data_writer_commit(w, error);
    if (!status) {
        lud_hdf5_lock();
        const bool good = set_counts(w, true);
        lud_hdf5_unlock();
        if (!good || !close_file(w)) status = lud_hdf5_write_error(w->path, error);
    }
    if (!status && rename(w->partial, w->path))
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be replaced: %s", w->path, strerror(errno));
    if (status) close_file(w);
    if (status && !w->n_committed) lud_commit_file_remove(w->partial);
    free_writer(w);
    return status;
}

void lud_data_writer_abandon(lud_data_writer *w) {
    if (!w) return;
    const bool opened = w->file >= 0;
    close_file(w);
    if (opened && !w->n_committed) lud_commit_file_remove(w->partial);
    free_writer(w);
}

const char *lud_data_writer_partial(const lud_data_writer *w) {
    return w->partial;
}
int64_t lud_data_writer_episodes(const lud_data_writer *w) {
    return w->n_episodes;
}
int64_t lud_data_writer_steps(const lud_data_writer *w) {
    return w->n_steps;
}
