/* What Minari wants of a data set (https://minari.farama.org/content/dataset_standards): a group an episode
 * in the file, and the description `metadata.json` beside it. */
#ifndef LUDUS_LEARN_EPISODES_MINARI_H
#define LUDUS_LEARN_EPISODES_MINARI_H

#include "learn/episodes/data_set.h"
#include "learn/episodes/hdf5_file.h"

/* Where an episode lies in the columns, and what Minari is told about it. */
typedef struct lud_minari_episode {
    int64_t number;
    uint64_t first_step, first_frame;
    lud_data_episode facts;
} lud_minari_episode;

/* Makes the group `episode_NUMBER` with views of the columns below `columns`, a group of the same file. With
 * the HDF5 lock held; false when HDF5 refuses. */
bool lud_minari_add_episode(hid_t file, const lud_data_info *info, const lud_minari_episode *episode);

/* The text of metadata.json for a data set called `id`; null when memory is out. To be freed. */
char *lud_minari_metadata(const lud_data_info *info, const char *id, int64_t n_episodes, int64_t n_steps);

/* Makes the folder, with metadata.json and main_data.hdf5, a link to the file at `target` where that is not
 * null (relative to the folder). */
lud_status lud_minari_folder(const char *folder, const char *target, const lud_data_info *info,
                             const char *id, int64_t n_episodes, int64_t n_steps, lud_error *error);
/* An id that Minari accepts, such as "rescue-v0", of any name; appended. */
void lud_minari_id(const char *name, lud_text *id);

#endif
