/* Demonstrations: frames as worlds observe them, actions of tracks, and which of them are samples.
 *
 * A frame is what all agents saw at one step; a track the actions of one imitated agent in one episode.
 * Frames lie in the layout of observation parts, so that networks gather rows from them without a copy in
 * between. Labels that an expert gives later (dagger.h) are added as tracks of one step. */
#pragma once

#include "learn/clone/frames.h"
#include "learn/clone/options.h"
#include "learn/episodes/sampler.h"

typedef struct lud_clone_track {
    int64_t first;  /* row of its first action */
    int64_t frame;  /* of its first observation; the others follow */
    int32_t length; /* steps, T */
    int32_t agent;
    uint32_t episode; /* keys draws: number of the episode among those of its file, mixed with the file's */
    int16_t source;   /* file, or n_sources of files: labels */
    bool held_out;
} lud_clone_track;

typedef struct lud_clone_data {
    const lud_clone_options *options;
    const lud_mappo_shape *shape;
    uint64_t seed;
    int64_t n_frames, frame_capacity;
    lud_clone_frames store;
    void *parts[LUD_MAX_OBSERVATION_PARTS]; /* [frame_capacity](part), of the store; null: not read by the
                                               networks */
    int64_t n_tracks, track_capacity;
    lud_clone_track *tracks;
    int64_t *offsets;               /* [n_tracks + 1] first actions, as lud_tracks has them */
    int64_t *frames;                /* [n_tracks + 1] first observations */
    int64_t n_rows, row_capacity;   /* actions of all tracks */
    int32_t *choices;               /* [row_capacity], null: actions are numbers */
    float *numbers;                 /* [row_capacity][n_continuous] as recorded */
    float *normal;                  /* the same normalised */
    lud_column_statistics *columns; /* [n_continuous] */
    lud_normalisation normalisation;
    lud_tracks all; /* views for windows */
    /* samples to learn from, by source: track and step of each */
    int n_sources;                       /* files, and behind them the labels */
    int64_t *source_first;               /* [n_sources + 1] places in the arrays below */
    int64_t *sample_track, *sample_step; /* [row_capacity] */
    int64_t n_held_out;
    int64_t *held_out_track, *held_out_step; /* [row_capacity] */
    int64_t n_labels;                        /* rows of the last source */
    int64_t n_asked;                         /* actions that the expert was asked for */
    int64_t first_labelled_frame, first_labelled_row, first_labelled_track;
} lud_clone_data;

/* Reads the files of the options, for the model that the shape was made from, with room for `n_labels`
 * answers in states of their own. The statistics are those of what is not held out. LUD_ERROR_INPUT when a
 * file is of another world, window semantics or shape of observations. After an error too it is to be
 * destroyed. */
lud_status lud_clone_data_open(const lud_clone_options *options, const lud_mappo_shape *shape, uint64_t seed,
                               int64_t n_labels, lud_clone_data *data, lud_error *error);
/* Safe on a zeroed struct. */
void lud_clone_data_close(lud_clone_data *data);
/* Rows that an answer becomes where the expert says how likely each choice is: so many draws from it, at even
 * distances. */
enum { LUD_CLONE_DRAWS = 16 };
/* Adds what the expert does as `agent` in a frame: a row; `asked` where it is the first of an answer. */
void lud_clone_data_label(lud_clone_data *data, int64_t frame, int agent, int32_t choice,
                          const float *numbers, bool asked);
/* allowed[n_discrete]: whether a track's agent could choose so at a step: what it has, of which the world
 * says what there is, and what it did. Behind the track's end all that it has. */
void lud_clone_data_allowed(const lud_clone_data *data, int64_t track, int64_t step, uint8_t *allowed);
/* Room for one more frame: its number; the caller writes the parts there. */
int64_t lud_clone_data_frame(lud_clone_data *data);
/* Saves or loads the labels and their frames. */
void lud_clone_data_visit(lud_clone_data *data, lud_checkpoint *checkpoint);
