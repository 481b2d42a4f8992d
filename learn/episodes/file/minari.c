#include "learn/episodes/file/minari.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options/json_memory.h"

/* --- views --- */

static const char columns[] = "/ludus"; /* where writer.c puts them */

typedef struct view {
    const char *name, *source;
    hid_t type;
    uint64_t first, n; /* rows of the source */
    int rank;          /* of a row in the source */
    hsize_t shape[1 + LUD_MAX_DIMENSIONS];
    bool drop_first; /* the view leaves out the first dimension of a row, which is 1 */
} view;

static bool add_view(const lud_minari_views *views, hid_t group, const view *v) {
    hsize_t extent[2 + LUD_MAX_DIMENSIONS] = {v->first + v->n}, start[2 + LUD_MAX_DIMENSIONS] = {v->first},
                       count[2 + LUD_MAX_DIMENSIONS] = {v->n}, shown[2 + LUD_MAX_DIMENSIONS] = {v->n};
    int rank = 1;
    for (int d = 0; d < v->rank; d++) {
        extent[d + 1] = count[d + 1] = v->shape[d];
        if (d || !v->drop_first) shown[rank++] = v->shape[d];
    }
    char source[160];
    snprintf(source, sizeof source, "%s/%s", columns, v->source);
    const hid_t from = H5Screate_simple(1 + v->rank, extent, NULL),
                space = H5Screate_simple(rank, shown, NULL);
    hid_t made = -1;
    bool good = from >= 0 && space >= 0;
    if (good && v->n) /* the view before, in the same list, is forgotten with the layout */
        good = H5Pset_layout(views->creation, H5D_CONTIGUOUS) >= 0 &&
               H5Sselect_hyperslab(from, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
               H5Pset_virtual(views->creation, space, ".", source, from) >= 0;
    if (good)
        made = H5Dcreate2(group, v->name, v->type, space, H5P_DEFAULT, v->n ? views->creation : H5P_DEFAULT,
                          H5P_DEFAULT);
    if (made >= 0) H5Dclose(made);
    H5Sclose(space);
    H5Sclose(from);
    return made >= 0;
}

bool lud_minari_views_create(hid_t file, const lud_data_info *info, lud_minari_views *views) {
    *views = (lud_minari_views){.file = file,
                                .info = info,
                                .creation = H5Pcreate(H5P_DATASET_CREATE),
                                .groups = H5Pcreate(H5P_GROUP_CREATE),
                                .scalar = H5Screate(H5S_SCALAR)};
    bool good = views->creation >= 0 && views->groups >= 0 && views->scalar >= 0 &&
                H5Pset_obj_track_times(views->creation, 0) >= 0 &&
                H5Pset_obj_track_times(views->groups, 0) >= 0 &&
                H5Pset_est_link_info(views->groups, 4, 10) >= 0;
#if H5_VERSION_GE(1, 10, 5)
    good = good && H5Pset_dset_no_attrs_hint(views->creation, 1) >= 0; /* a third of the bytes */
#endif
    return good;
}

void lud_minari_views_free(lud_minari_views *views) {
    if (views->creation > 0) H5Pclose(views->creation);
    if (views->groups > 0) H5Pclose(views->groups);
    if (views->scalar > 0) H5Sclose(views->scalar);
    *views = (lud_minari_views){0};
}

static bool add_integer(const lud_minari_views *views, hid_t group, const char *name, int64_t value) {
    const hid_t a = H5Acreate2(group, name, H5T_STD_I64LE, views->scalar, H5P_DEFAULT, H5P_DEFAULT);
    const bool good = a >= 0 && H5Awrite(a, H5T_NATIVE_INT64, &value) >= 0;
    if (a >= 0) H5Aclose(a);
    return good;
}

/* h5py's boolean */
static hid_t boolean_type(void) {
    const hid_t type = H5Tenum_create(H5T_STD_I8LE);
    const int8_t no = 0, yes = 1;
    if (type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 && H5Tenum_insert(type, "TRUE", &yes) >= 0)
        return type;
    if (type >= 0) H5Tclose(type);
    return -1;
}

static bool write_ends(hid_t file, const char *name, int32_t length, bool ended) {
    const hsize_t n = (hsize_t)length;
    int8_t *flags = calloc(n + 1, 1);
    if (!flags) return false;
    if (ended && n) flags[n - 1] = 1;
    const hid_t type = boolean_type(), space = H5Screate_simple(1, &n, NULL),
                creation = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_obj_track_times(creation, 0);
    const hid_t made = type >= 0 ? H5Dcreate2(file, name, type, space, links, creation, H5P_DEFAULT) : -1;
    const bool good = made >= 0 && (!n || H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags) >= 0);
    if (made >= 0) H5Dclose(made);
    if (type >= 0) H5Tclose(type);
    H5Pclose(links);
    H5Pclose(creation);
    H5Sclose(space);
    free(flags);
    return good;
}

/* Flags of an episode that are all false but perhaps the last: all episodes of that length share one array.
 */
static bool link_ends(hid_t file, hid_t group, const char *name, int32_t length, bool ended) {
    char shared[64];
    snprintf(shared, sizeof shared, "%s/ends/%s_%d", columns, ended ? "last" : "none", length);
    const bool there =
        H5Lexists(file, "/ludus/ends", H5P_DEFAULT) > 0 && H5Lexists(file, shared, H5P_DEFAULT) > 0;
    if (!there && !write_ends(file, shared, length, ended)) return false;
    return H5Lcreate_hard(file, shared, group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0;
}

static hid_t make_group(const lud_minari_views *views, hid_t parent, const char *name) {
    return H5Gcreate2(parent, name, H5P_DEFAULT, views->groups, H5P_DEFAULT);
}

static bool add_observations(const lud_minari_views *views, hid_t episode, const lud_minari_episode *e) {
    const lud_data_info *info = views->info;
    static const lud_number types[] = {LUD_NUMBER_U8, LUD_NUMBER_I32, LUD_NUMBER_F32};
    const hid_t group = make_group(views, episode, "observations");
    bool good = group >= 0;
    for (int p = 0; p < info->n_parts && good; p++) {
        const lud_observation_part *part = &info->parts[p];
        char source[128];
        snprintf(source, sizeof source, "frames/observations/%s", part->name);
        view v = {.name = part->name,
                  .source = source,
                  .type = lud_number_hdf5(types[part->dtype]),
                  .first = e->first_frame,
                  .n = (uint64_t)e->facts.length + 1,
                  .rank = part->per_agent,
                  .shape = {(hsize_t)info->n_agents},
                  .drop_first = part->per_agent && info->n_agents == 1};
        for (int d = 0; d < part->n_dimensions; d++) v.shape[v.rank++] = (hsize_t)part->dimensions[d];
        good = add_view(views, group, &v);
    }
    if (group >= 0) H5Gclose(group);
    return good;
}

static int most_choices(const lud_data_info *info) {
    int most = 0;
    for (int i = 0; i < info->n_agents; i++)
        if (info->n_choices[i] > most) most = info->n_choices[i];
    return most;
}

static bool add_actions(const lud_minari_views *views, hid_t episode, const lud_minari_episode *e) {
    const lud_data_info *info = views->info;
    const int choices = most_choices(info);
    const bool both = choices && info->n_continuous, single = info->n_agents == 1;
    const hid_t group = both ? make_group(views, episode, "actions") : episode;
    const lud_number type = choices <= INT8_MAX    ? LUD_NUMBER_I8
                            : choices <= INT16_MAX ? LUD_NUMBER_I16
                                                   : LUD_NUMBER_I32;
    view v = {.name = both ? "discrete" : "actions",
              .source = "steps/discrete",
              .type = lud_number_hdf5(type),
              .first = e->first_step,
              .n = (uint64_t)e->facts.length,
              .rank = 1,
              .shape = {(hsize_t)info->n_agents, (hsize_t)info->n_continuous},
              .drop_first = single};
    bool good = group >= 0 && (!choices || add_view(views, group, &v));
    if (good && info->n_continuous) {
        v.name = both ? "continuous" : "actions";
        v.source = "steps/continuous";
        v.type = lud_number_hdf5(LUD_NUMBER_F32);
        v.rank = 2;
        good = add_view(views, group, &v);
    }
    if (both && group >= 0) H5Gclose(group);
    return good;
}

bool lud_minari_add_episode(const lud_minari_views *views, const lud_minari_episode *e) {
    char name[40];
    snprintf(name, sizeof name, "episode_%lld", (long long)e->number);
    const lud_data_info *info = views->info;
    const hid_t file = views->file, episode = make_group(views, file, name);
    const int32_t length = e->facts.length;
    const view rewards = {.name = "rewards",
                          .source = "steps/rewards",
                          .type = lud_number_hdf5(LUD_NUMBER_F32),
                          .first = e->first_step,
                          .n = (uint64_t)length,
                          .rank = 1,
                          .shape = {(hsize_t)info->n_agents},
                          .drop_first = info->n_agents == 1};
    const bool good = episode >= 0 && add_integer(views, episode, "id", e->number) &&
                      add_integer(views, episode, "total_steps", length) &&
                      add_integer(views, episode, "seed", (int64_t)e->facts.seed) &&
                      add_observations(views, episode, e) && add_actions(views, episode, e) &&
                      add_view(views, episode, &rewards) &&
                      link_ends(file, episode, "terminations", length, e->facts.terminated) &&
                      link_ends(file, episode, "truncations", length, !e->facts.terminated);
    if (episode >= 0) H5Gclose(episode);
    return good;
}

/* --- metadata.json --- */

/* A number in every place of a shape. */
static json_t *filled(double value, bool whole, int rank, const hsize_t *shape) {
    if (!rank) return whole ? json_integer((json_int_t)value) : json_real(value);
    json_t *list = json_array();
    for (hsize_t k = 0; k < shape[0]; k++)
        json_array_append_new(list, filled(value, whole, rank - 1, shape + 1));
    return list;
}

static json_t *box(const char *dtype, bool whole, double low, double high, int rank, const hsize_t *shape) {
    json_t *sizes = json_array();
    for (int d = 0; d < rank; d++) json_array_append_new(sizes, json_integer((json_int_t)shape[d]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "type", "Box", "dtype", dtype, "shape", sizes, "low",
                     filled(low, whole, rank, shape), "high", filled(high, whole, rank, shape));
}

static json_t *part_space(const lud_data_info *info, const lud_observation_part *part) {
    static const double low[] = {0, -2147483648.0, -3.4028234663852886e38},
                        high[] = {255, 2147483647.0, 3.4028234663852886e38};
    hsize_t shape[1 + LUD_MAX_DIMENSIONS];
    int rank = 0;
    if (part->per_agent && info->n_agents > 1) shape[rank++] = (hsize_t)info->n_agents;
    for (int d = 0; d < part->n_dimensions; d++) shape[rank++] = (hsize_t)part->dimensions[d];
    return box(lud_dtype_name(part->dtype), part->dtype != LUD_F32, low[part->dtype], high[part->dtype], rank,
               shape);
}

static json_t *choice_space(const lud_data_info *info) {
    if (info->n_agents == 1)
        return json_pack("{s:s, s:s, s:i, s:i}", "type", "Discrete", "dtype", "int64", "start", 0, "n",
                         (int)info->n_choices[0]);
    json_t *counts = json_array(), *starts = json_array();
    for (int i = 0; i < info->n_agents; i++) { /* who has no choice has -1 */
        json_array_append_new(counts, json_integer(info->n_choices[i] ? info->n_choices[i] : 1));
        json_array_append_new(starts, json_integer(info->n_choices[i] ? 0 : -1));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "type", "MultiDiscrete", "dtype", "int64", "nvec", counts,
                     "start", starts);
}

static double finite_bound(float bound) {
    return isfinite(bound) ? (double)bound : bound < 0 ? (double)-FLT_MAX : (double)FLT_MAX;
}

static json_t *move_space(const lud_data_info *info) {
    const hsize_t shape[2] = {(hsize_t)info->n_agents, (hsize_t)info->n_continuous};
    const bool single = info->n_agents == 1;
    return box("float32", false, finite_bound(info->low), finite_bound(info->high), single ? 1 : 2,
               shape + single);
}

static json_t *action_space(const lud_data_info *info) {
    if (!info->n_continuous) return choice_space(info);
    if (!most_choices(info)) return move_space(info);
    return json_pack("{s:s, s:{s:o, s:o}}", "type", "Dict", "subspaces", "discrete", choice_space(info),
                     "continuous", move_space(info));
}

char *lud_minari_metadata(const lud_data_info *info, const char *id, int64_t n_episodes, int64_t n_steps) {
    json_t *parts = json_object();
    for (int p = 0; p < info->n_parts; p++)
        json_object_set_new(parts, info->parts[p].name, part_space(info, &info->parts[p]));
    json_t *observations = json_pack("{s:s, s:o}", "type", "Dict", "subspaces", parts),
           *actions = action_space(info);
    char *observation_text = json_dumps(observations, JSON_COMPACT),
         *action_text = json_dumps(actions, JSON_COMPACT);
    json_t *root =
        json_pack("{s:s, s:s, s:I, s:I, s:s, s:b, s:s, s:s, s:s?, s:[s]}", "dataset_id", id, "minari_version",
                  "0.5.0", "total_episodes", (json_int_t)n_episodes, "total_steps", (json_int_t)n_steps,
                  "data_format", "hdf5", "jpeg_encoding", 0, "observation_space", observation_text,
                  "action_space", action_text, "algorithm_name", info->policy, "author", "ludus record");
    char *text = root && !lud_json_failed() ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    free(observation_text);
    free(action_text);
    json_decref(observations);
    json_decref(actions);
    return text;
}

/* --- where things go --- */

static bool ends_with(const char *name, const char *ending) {
    const size_t n = strlen(name), m = strlen(ending);
    return n > m && !strcmp(name + n - m, ending);
}

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool lud_data_target_is(const char *name) {
    return ends_with(name, "/") || ends_with(name, ".h5") || ends_with(name, ".hdf5");
}

/* An id that Minari accepts, such as "rescue-v0", of any name. */
static void make_id(const char *name, size_t n, lud_text *id) {
    size_t digits = n;
    while (digits && isdigit((unsigned char)name[digits - 1])) digits--;
    const bool versioned = digits < n && digits >= 3 && name[digits - 1] == 'v' && name[digits - 2] == '-';
    for (size_t k = 0; k < n; k++) {
        const unsigned char c = (unsigned char)name[k];
        lud_text_append(id, "%c", isalnum(c) || c == '_' || c == '-' ? c : '_');
    }
    if (!versioned) lud_text_append(id, "%s-v0", n ? "" : "data");
}

lud_status lud_data_target_of(const char *name, lud_data_target *t, lud_error *error) {
    *t = (lud_data_target){0};
    const size_t length = strlen(name);
    if (ends_with(name, "/")) {
        size_t n = length;
        while (n && name[n - 1] == '/') n--;
        lud_text_append(&t->folder, "%.*s/data", (int)n, name);
        lud_text_append(&t->file, "%.*s/data/main_data.hdf5", (int)n, name);
        size_t begin = n;
        while (begin && name[begin - 1] != '/') begin--;
        make_id(name + begin, n - begin, &t->id);
    } else if (!strcmp(last_name(name), "main_data.hdf5")) {
        const size_t n = length - strlen("main_data.hdf5");
        lud_text_append(&t->folder, "%.*s", n ? (int)n - 1 : 1, n ? name : ".");
        lud_text_append(&t->file, "%s", name);
        make_id("data", 4, &t->id);
    } else {
        const size_t n = length - strlen(strrchr(name, '.'));
        lud_text_append(&t->folder, "%.*s.minari", (int)n, name);
        lud_text_append(&t->file, "%s", name);
        lud_text_append(&t->link, "../%s", last_name(name));
        make_id(last_name(name), n - (size_t)(last_name(name) - name), &t->id);
    }
    if (!t->file.failed && !t->folder.failed && !t->link.failed && !t->id.failed) return LUD_OK;
    lud_data_target_free(t);
    return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory for its name", name);
}

void lud_data_target_free(lud_data_target *t) {
    lud_text_free(&t->file);
    lud_text_free(&t->folder);
    lud_text_free(&t->link);
    lud_text_free(&t->id);
}

lud_status lud_data_target_prepare(const lud_data_target *t, lud_error *error) {
    return t->link.length || !strcmp(t->folder.bytes, ".") ? LUD_OK : lud_folder_make(t->folder.bytes, error);
}

static lud_status make_link(const lud_data_target *t, lud_error *error) {
    char *link = NULL;
    lud_status status = LUD_OK;
    if (asprintf(&link, "%s/main_data.hdf5", t->folder.bytes) < 0)
        return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to write it", t->folder.bytes);
    if (unlink(link) && errno != ENOENT)
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be replaced: %s", link, strerror(errno));
    else if (symlink(t->link.bytes, link))
        status = lud_fail(error, LUD_ERROR_IO, "%s: cannot be made: %s", link, strerror(errno));
    free(link);
    return status;
}

lud_status lud_data_target_describe(const lud_data_target *t, lud_error *error) {
    lud_data_set *set = NULL;
    lud_status status = lud_data_set_open(t->file.bytes, &set, error);
    if (status) return status;
    const lud_data_info *info = lud_data_set_info(set);
    char *text = lud_minari_metadata(info, t->id.bytes, info->n_episodes, info->n_steps), *path = NULL;
    if (!text || asprintf(&path, "%s/metadata.json", t->folder.bytes) < 0)
        status = lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to write it", t->folder.bytes);
    if (!status) status = lud_folder_make(t->folder.bytes, error);
    if (!status) status = lud_file_write(path, text, strlen(text), error);
    if (!status && t->link.length) status = make_link(t, error);
    free(path);
    free(text);
    lud_data_set_close(set);
    return status;
}
