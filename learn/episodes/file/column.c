#include "learn/episodes/file/column.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "learn/episodes/file/row_deflate.h"

/* A chunk is what is read for one row of it, and what is written anew at every commit. */
enum { CHUNK_BYTES = 1 << 17, MOST_CHUNK_ROWS = 1 << 14 };
static bool shuffles(const lud_column *c) {
    return lud_number_bytes(c->type) > 1;
}

lud_status lud_column_create(lud_column *c, hid_t group, const char *name, lud_number type, int n_dimensions,
                             const int *dimensions, int level, lud_error *error) {
    assert(n_dimensions < LUD_COLUMN_DIMENSIONS);
    *c = (lud_column){
        .dataset = -1, .type = type, .n_dimensions = n_dimensions, .row_bytes = lud_number_bytes(type)};
    for (int d = 0; d < n_dimensions; d++) {
        c->dimensions[d] = (hsize_t)dimensions[d];
        c->row_bytes *= (size_t)dimensions[d];
    }
    c->chunk_rows = c->row_bytes ? CHUNK_BYTES / c->row_bytes : 1;
    if (c->chunk_rows < 16) c->chunk_rows = 16;
    if (c->chunk_rows > MOST_CHUNK_ROWS) c->chunk_rows = MOST_CHUNK_ROWS;
    hsize_t now[1 + LUD_COLUMN_DIMENSIONS] = {0}, most[1 + LUD_COLUMN_DIMENSIONS] = {H5S_UNLIMITED},
                    chunk[1 + LUD_COLUMN_DIMENSIONS] = {c->chunk_rows};
    for (int d = 0; d < n_dimensions; d++) now[d + 1] = most[d + 1] = chunk[d + 1] = c->dimensions[d];
    const hid_t space = H5Screate_simple(1 + n_dimensions, now, most),
                creation = H5Pcreate(H5P_DATASET_CREATE);
    bool good = space >= 0 && creation >= 0 && H5Pset_chunk(creation, 1 + n_dimensions, chunk) >= 0 &&
                H5Pset_obj_track_times(creation, 0) >= 0;
    if (good && shuffles(c)) good = H5Pset_shuffle(creation) >= 0;
    good = good && H5Pset_deflate(creation, (unsigned)level) >= 0;
    if (good)
        c->dataset =
            H5Dcreate2(group, name, lud_number_hdf5(type), space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    H5Sclose(space);
    if (c->dataset < 0) return lud_hdf5_write_error(name, error);
    c->capacity = c->chunk_rows * c->row_bytes;
    c->chunk = malloc(c->capacity);
    return c->chunk ? LUD_OK : lud_no_memory(error, "the column %s", name);
}

void lud_column_close(lud_column *c) {
    if (c->chunk && c->dataset >= 0) H5Dclose(c->dataset);
    free(c->chunk);
    *c = (lud_column){0};
}

uint8_t *lud_column_room(lud_column *c, uint64_t *n) {
    const uint64_t used = c->rows % c->chunk_rows, left = c->chunk_rows - used;
    if (*n > left) *n = left;
    return c->chunk + used * c->row_bytes;
}

/* Room for at least `bytes`, without what was in it. */
static bool renew(uint8_t **room, size_t *capacity, size_t bytes) {
    if (*capacity >= bytes) return true;
    free(*room);
    *room = malloc(bytes);
    *capacity = *room ? bytes : 0;
    return *room;
}

/* A full chunk changes places with the job's last one; of another one the column keeps its rows. */
static lud_status push(lud_column *c, uint64_t rows, lud_column_queue *q, lud_error *error) {
    LUD_TRY(q->n == LUD_COLUMN_JOBS ? lud_column_queue_write(q, error) : LUD_OK);
    lud_column_job *job = &q->jobs[q->n];
    const size_t whole = c->chunk_rows * c->row_bytes, filled = rows * c->row_bytes;
    if (!renew(&job->raw, &job->raw_capacity, whole) || !renew(&job->packed, &job->packed_capacity, whole))
        return lud_no_memory(error, "a chunk of %zu bytes", whole);
    job->column = c;
    job->rows = rows;
    job->first_row = (c->rows - 1) / c->chunk_rows * c->chunk_rows;
    if (rows == c->chunk_rows) {
        uint8_t *spare = job->raw;
        const size_t capacity = job->raw_capacity;
        job->raw = c->chunk;
        job->raw_capacity = c->capacity;
        c->chunk = spare;
        c->capacity = capacity;
    } else {
        memcpy(job->raw, c->chunk, filled);
        memset(job->raw + filled, 0, whole - filled);
    }
    q->n++;
    return LUD_OK;
}

lud_status lud_column_added(lud_column *c, uint64_t n, lud_column_queue *queue, lud_error *error) {
    c->rows += n;
    return n && c->rows % c->chunk_rows == 0 ? push(c, c->chunk_rows, queue, error) : LUD_OK;
}

lud_status lud_column_flush(lud_column *c, lud_column_queue *queue, lud_error *error) {
    const uint64_t rows = c->rows % c->chunk_rows;
    return rows ? push(c, rows, queue, error) : LUD_OK;
}

lud_status lud_column_queue_begin(lud_column_queue *queue, int n_threads, int level, lud_error *error) {
    *queue = (lud_column_queue){.n_threads = n_threads, .level = level};
    queue->workers = calloc((size_t)n_threads, sizeof *queue->workers);
    bool whole = queue->workers;
    for (int k = 0; k < n_threads && whole; k++) {
        queue->workers[k].compressor = libdeflate_alloc_compressor(level);
        whole = queue->workers[k].compressor;
    }
    return whole ? LUD_OK : lud_no_memory(error, "%d threads that compress", n_threads);
}

void lud_column_queue_free(lud_column_queue *queue) {
    for (int k = 0; k < LUD_COLUMN_JOBS; k++) {
        free(queue->jobs[k].raw);
        free(queue->jobs[k].packed);
    }
    for (int k = 0; k < queue->n_threads && queue->workers; k++) {
        lud_column_worker *w = &queue->workers[k];
        if (w->compressor) libdeflate_free_compressor(w->compressor);
        free(w->shuffled);
        free(w->tokens);
    }
    free(queue->workers);
    *queue = (lud_column_queue){0};
}

/* HDF5's shuffle: the first bytes of all numbers, then the second bytes, and so on. */
static void shuffle(const uint8_t *restrict from, size_t bytes, size_t width, uint8_t *restrict to) {
    const size_t n = bytes / width;
    if (width == 4) { /* nearly all: the compiler makes vectors of it */
        for (size_t k = 0; k < n; k++) {
            to[k] = from[4 * k];
            to[n + k] = from[4 * k + 1];
            to[2 * n + k] = from[4 * k + 2];
            to[3 * n + k] = from[4 * k + 3];
        }
        return;
    }
    for (size_t b = 0; b < width; b++)
        for (size_t k = 0; k < n; k++) to[b * n + k] = from[k * width + b];
}

static bool has_room(lud_column_worker *w, size_t bytes) {
    if (w->capacity >= bytes) return true;
    free(w->shuffled);
    free(w->tokens);
    w->shuffled = malloc(bytes);
    w->tokens = malloc(lud_row_deflate_room(bytes) * sizeof *w->tokens);
    w->capacity = w->shuffled && w->tokens ? bytes : 0;
    return w->capacity;
}

static void compress_job(lud_column_job *job, lud_column_worker *w, int level) {
    const lud_column *c = job->column;
    const size_t whole = c->chunk_rows * c->row_bytes, width = lud_number_bytes(c->type);
    const uint8_t *from = job->raw;
    job->form = LUD_COLUMN_FAILED;
    if (!has_room(w, whole)) return;
    job->form = LUD_COLUMN_DEFLATED;
    job->bytes = level > 1 ? 0 : lud_row_deflate(from, whole, c->row_bytes, w->tokens, job->packed, whole);
    if (job->bytes) return;
    if (shuffles(c)) {
        shuffle(job->raw, whole, width, w->shuffled);
        from = w->shuffled;
        job->form = LUD_COLUMN_SHUFFLED;
        if (level == 1)
            job->bytes =
                lud_plane_deflate(from, whole, c->row_bytes, (int)width, w->tokens, job->packed, whole);
        if (job->bytes) return;
    }
    job->bytes = libdeflate_zlib_compress(w->compressor, from, whole, job->packed, whole - 1);
    if (job->bytes) return;
    job->form = LUD_COLUMN_PLAIN;
    job->bytes = whole;
}

static bool write_job(const lud_column_job *job) {
    const lud_column *c = job->column;
    hsize_t extent[1 + LUD_COLUMN_DIMENSIONS] = {job->first_row + job->rows},
                       at[1 + LUD_COLUMN_DIMENSIONS] = {job->first_row};
    memcpy(extent + 1, c->dimensions, sizeof c->dimensions);
    /* a set bit leaves out the filter of that number: deflate, which stands behind shuffle where there is one
     */
    const uint32_t both = shuffles(c) ? 3 : 1, first = shuffles(c) ? 1 : 0,
                   left_out = job->form == LUD_COLUMN_PLAIN      ? both
                              : job->form == LUD_COLUMN_DEFLATED ? first
                                                                 : 0;
    return H5Dset_extent(c->dataset, extent) >= 0 &&
           H5Dwrite_chunk(c->dataset, H5P_DEFAULT, left_out, at, job->bytes,
                          job->form == LUD_COLUMN_PLAIN ? job->raw : job->packed) >= 0;
}

lud_status lud_column_queue_write(lud_column_queue *queue, lud_error *error) {
#pragma omp parallel for schedule(dynamic) num_threads(queue->n_threads) if (queue->n_threads > 1)
    for (int k = 0; k < queue->n; k++)
        compress_job(&queue->jobs[k], &queue->workers[omp_get_thread_num()], queue->level);
    for (int k = 0; k < queue->n; k++)
        if (queue->jobs[k].form == LUD_COLUMN_FAILED) return lud_no_memory(error, "chunks of a data set");
    bool good = true;
    lud_hdf5_lock();
    int done = 0;
    for (; done < queue->n && good; done++) good = write_job(&queue->jobs[done]);
    lud_status status = LUD_OK;
    if (!good) {
        char reason[256], path[4096] = "a data set";
        lud_hdf5_reason(reason, sizeof reason); /* before another call forgets it */
        (void)H5Fget_name(queue->jobs[done - 1].column->dataset, path, sizeof path);
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be written: %s", path, reason);
    }
    lud_hdf5_unlock();
    queue->n = 0;
    return status;
}
