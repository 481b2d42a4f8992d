/* Long arrays in an HDF5 file that grow row by row: gathered into chunks, which several threads compress and
 * one writes, in the order in which they were filled. The file's filters are HDF5's own shuffle and deflate,
 * so that every reader of HDF5 can read them; each chunk says which of them it went through. At level 1 rows
 * are compared with the row before (row_deflate.h) where that halves a chunk at least. */
#pragma once

#include "learn/episodes/file/hdf5_file.h"

enum { LUD_COLUMN_DIMENSIONS = 5 };

typedef struct lud_column {
    hid_t dataset;
    lud_number type;
    int n_dimensions; /* of a row */
    hsize_t dimensions[LUD_COLUMN_DIMENSIONS];
    size_t row_bytes;
    hsize_t chunk_rows;
    uint64_t rows;   /* added so far */
    size_t capacity; /* of `chunk` in bytes */
    uint8_t *chunk;  /* [chunk_rows][row_bytes] those of the chunk that is not yet full */
} lud_column;

typedef struct lud_column_job {
    lud_column *column;
    uint64_t first_row, rows;
    uint8_t *raw, *packed;
    size_t raw_capacity, packed_capacity, bytes; /* bytes: of `packed` */
    enum lud_column_form {
        LUD_COLUMN_PLAIN,    /* did not become smaller: stored as it is */
        LUD_COLUMN_DEFLATED, /* as it is */
        LUD_COLUMN_SHUFFLED, /* and deflated */
        LUD_COLUMN_FAILED    /* no memory */
    } form;
} lud_column_job;

/* What a thread compresses with. */
typedef struct lud_column_worker {
    struct libdeflate_compressor *compressor;
    uint8_t *shuffled;
    uint16_t *tokens;
    size_t capacity; /* bytes of a chunk that it has room for */
} lud_column_worker;

/* Chunks that wait for being compressed and written. */
typedef struct lud_column_queue {
    int n, n_threads, level;
    lud_column_worker *workers; /* [n_threads] */
    enum { LUD_COLUMN_JOBS = 64 } most;
    lud_column_job jobs[LUD_COLUMN_JOBS];
} lud_column_queue;

/* Makes the dataset `name` below `group`, with the HDF5 lock held. */
lud_status lud_column_create(lud_column *column, hid_t group, const char *name, lud_number type,
                             int n_dimensions, const int *dimensions, int level, lud_error *error);
/* With the lock held; zeroed ones are allowed. */
void lud_column_close(lud_column *column);
/* Room for `n` more rows without a gap, at most up to the end of the chunk: *n gets how many, the caller
 * fills the rows that are returned and calls lud_column_added. */
uint8_t *lud_column_room(lud_column *column, uint64_t *n);
/* Counts rows that were filled; a full chunk goes to the queue, which may have to be emptied for it. */
lud_status lud_column_added(lud_column *column, uint64_t n, lud_column_queue *queue, lud_error *error);
/* Puts the rows of the unfinished chunk into the queue, to be written now and again later. */
lud_status lud_column_flush(lud_column *column, lud_column_queue *queue, lud_error *error);

/* level: of deflate, 1 (fast) to 9. After an error too the queue is to be freed. */
lud_status lud_column_queue_begin(lud_column_queue *queue, int n_threads, int level, lud_error *error);
/* Compresses and writes what is in it; takes the HDF5 lock for the second. */
lud_status lud_column_queue_write(lud_column_queue *queue, lud_error *error);
void lud_column_queue_free(lud_column_queue *queue);
