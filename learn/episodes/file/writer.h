/* Writing data sets: one HDF5 file with all steps and all frames behind each other in a few long columns, and
 * for Minari a group an episode whose arrays are views of them (virtual datasets).
 *
 * The file grows beside its place under the name `PATH.partial-PID` and is renamed at the end. What was
 * committed is there to be read even where the writer is killed (commit_file.h). docs/episodes.md lists what
 * is in it. */
#pragma once

#include "learn/episodes/data_set.h"

typedef struct lud_data_writer lud_data_writer;

typedef struct lud_data_writing {
    /* What is written: scenario, world, policy, window_semantics, agents, actions, parts and state_bytes are
     * read, now and until the end. */
    const lud_data_info *info;
    const char *scenario_path; /* relative paths in the scenario are beside it; null: there is none */
    bool frames;   /* states and observations are written; else they come again from reset and actions */
    bool views;    /* Minari can open it; needs frames */
    int n_threads; /* that compress; at least 1 */
    int level;     /* of compression, 1 to 9 */
} lud_data_writing;

/* Where things lie in a row: frame t and the step from it. Aligned to 8, so that they can be written in
 * place. */
typedef struct lud_data_row {
    size_t state, observations[LUD_MAX_OBSERVATION_PARTS], discrete, continuous, log_probs, rewards,
        policy_version, bytes;
} lud_data_row;
/* states: whether a row has room for the state and the observations; else only for the state. */
lud_data_row lud_data_row_of(const lud_data_info *info, bool observations);

/* An episode in memory: rows [length + 1][row.bytes], of whose last one only the frame counts. */
typedef struct lud_data_rows {
    lud_data_episode facts;
    const int32_t *tracks; /* [n_agents]; null: everybody took part to the end */
    const uint8_t *rows;
} lud_data_rows;

lud_status lud_data_writer_create(const char *path, const lud_data_writing *writing, lud_data_writer **writer,
                                  lud_error *error);
/* Adds an episode; its first_step is not read. */
lud_status lud_data_writer_add(lud_data_writer *writer, const lud_data_rows *episode, lud_error *error);
/* What was added so far is safe from a kill of the program. */
lud_status lud_data_writer_commit(lud_data_writer *writer, lud_error *error);
/* Seconds since the last commit. */
double lud_data_writer_uncommitted(const lud_data_writer *writer);
/* Completes the file and gives it its name, and frees the writer in any case; where that fails, what was
 * committed stays under the name of lud_data_writer_partial. */
lud_status lud_data_writer_finish(lud_data_writer *writer, lud_error *error);
/* Gives up; removes the partial file unless episodes were committed to it. Null is fine. */
void lud_data_writer_abandon(lud_data_writer *writer);
const char *lud_data_writer_partial(const lud_data_writer *writer);
int64_t lud_data_writer_episodes(const lud_data_writer *writer);
int64_t lud_data_writer_steps(const lud_data_writer *writer);
