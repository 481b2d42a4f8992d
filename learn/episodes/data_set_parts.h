/* What the files of the reader share: data_set.c for everybody, data_set_own.c for files of Ludus,
 * data_set_minari.c for those of Minari, data_set_open.c for what a file may hold at all. */
#pragma once

#include <pthread.h>

#include "learn/episodes/data_set.h"
#include "learn/episodes/file/hdf5_file.h"
#include "sim/scenario.h"

/* A place for rows in memory: the array that holds rows first..first+n-1 of `array`. */
typedef struct lud_data_request {
    lud_data_array array;
    int part;
    int64_t episode;
    int32_t first, n;
    void *rows;
} lud_data_request;

/* The last episode that was played again. */
typedef struct lud_data_played {
    int64_t episode;  /* -1: none */
    int32_t capacity; /* frames */
    int32_t *discrete;
    float *continuous;
    uint8_t *states;
} lud_data_played;

struct lud_data_set {
    lud_data_info info;
    lud_arena *arena;
    hid_t file, group; /* the group "ludus"; -1 in files of Minari */
    uint64_t file_bytes;
    bool frames_stored;
    lud_data_episode *episodes; /* [n_episodes] */
    double *returns;            /* [n_episodes][n_agents] */
    int32_t *tracks;            /* [n_episodes][n_agents] */
    uint64_t *summaries;        /* [n_episodes + 1] where the text of each begins; null: there are none */
    uint64_t *hashes;           /* [n_episodes + 1] where the hashes of each begin; null: there are none */
    hid_t arrays[LUD_DATA_ARRAYS], observations[LUD_MAX_OBSERVATION_PARTS]; /* -1: not in the file */
    hid_t summary_text, hash_values;
    const char *scenario_path;
    pthread_mutex_t mutex; /* of the two below */
    lud_scenario *scenario;
    lud_data_played played;
};

/* Opens a dataset of the file itself (no link to another, no storage outside, chunks of a sane size) whose
 * rows have the given shape; rank -1: any, which *rank and dimensions[LUD_MAX_DIMENSIONS + 1] get. *rows gets
 * its rows. Negative where it is none. With the HDF5 lock held, as everything here. */
typedef struct lud_data_shape {
    int rank; /* of a row */
    hsize_t dimensions[LUD_MAX_DIMENSIONS + 1];
    uint64_t rows;
    H5T_class_t class; /* integer (booleans too) or float */
    size_t number_bytes;
    bool is_signed;
} lud_data_shape;
hid_t lud_data_open_array(const lud_data_set *set, hid_t parent, const char *name, lud_data_shape *shape);
/* A group of the file itself. */
hid_t lud_data_open_group(hid_t parent, const char *name);
/* Reads rows of an open array as numbers of a type. */
bool lud_data_read_rows(hid_t array, hid_t type, const lud_data_shape *shape, uint64_t first, uint64_t n,
                        void *rows);

/* Fill the set from an open file. */
lud_status lud_data_open_own(lud_data_set *set, lud_error *error);
lud_status lud_data_open_minari(lud_data_set *set, lud_error *error);
/* Read from a file of Minari. */
lud_status lud_data_read_minari(lud_data_set *set, const lud_data_request *request, lud_error *error);

/* "FILE: expected ..., found ..." */
lud_status lud_data_wrong(const lud_data_set *set, lud_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
