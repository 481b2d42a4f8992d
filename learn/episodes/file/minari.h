/* What Minari wants of a data set (https://minari.farama.org/content/dataset_standards): a group an episode
 * in the file, and the description `metadata.json` beside it. */
#pragma once

#include "learn/episodes/data_set.h"
#include "learn/episodes/file/hdf5_file.h"

/* Where an episode lies in the columns, and what Minari is told about it. */
typedef struct lud_minari_episode {
    int64_t number;
    uint64_t first_step, first_frame;
    lud_data_episode facts;
} lud_minari_episode;

/* What making views needs again and again. With the HDF5 lock held, as the two below; false when HDF5
 * refuses. */
typedef struct lud_minari_views {
    hid_t file, creation, groups, scalar;
    const lud_data_info *info;
} lud_minari_views;
bool lud_minari_views_create(hid_t file, const lud_data_info *info, lud_minari_views *views);
/* A zeroed one is allowed. */
void lud_minari_views_free(lud_minari_views *views);
/* Makes the group `episode_NUMBER` with views of the columns below `ludus` in the same file. */
bool lud_minari_add_episode(const lud_minari_views *views, const lud_minari_episode *episode);

/* The text of metadata.json for a data set called `id`; null when memory is out. To be freed. */
char *lud_minari_metadata(const lud_data_info *info, const char *id, int64_t n_episodes, int64_t n_steps);

/* Where a data set goes that is asked for under some name, and where Minari finds it:
 *   NAME/               NAME/data/main_data.hdf5 with its description beside it, as in Minari's own folder
 *   DIR/main_data.hdf5  that file, with its description beside it
 *   NAME.h5, .hdf5      that file, and NAME.minari/ with the description and a link to the file */
typedef struct lud_data_target {
    lud_text file, folder, link, id; /* link: empty where the file is in the folder */
} lud_data_target;
/* Whether the name is one of these. */
bool lud_data_target_is(const char *name);
lud_status lud_data_target_of(const char *name, lud_data_target *target, lud_error *error);
void lud_data_target_free(lud_data_target *target);
/* Makes the folder of the file, where it is one of Minari's. */
lud_status lud_data_target_prepare(const lud_data_target *target, lud_error *error);
/* Writes the description of the finished file. */
lud_status lud_data_target_describe(const lud_data_target *target, lud_error *error);
