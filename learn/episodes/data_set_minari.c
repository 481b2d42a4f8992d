/* Files of Minari's own: a group an episode, spaces Box and Discrete and dictionaries of them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/episodes/data_set_parts.h"

enum { MOST_EPISODES = 1 << 24, MOST_DEPTH = 8 };

static lud_status out_of_memory(const lud_data_set *set, lud_error *error) {
    return lud_fail(error, LUD_ERROR_MEMORY, "%s: no memory to read it", set->info.path);
}

static hid_t open_episode(const lud_data_set *set, int64_t episode) {
    char name[40];
    snprintf(name, sizeof name, "episode_%lld", (long long)episode);
    return lud_data_open_group(set->file, name);
}

/* --- observations --- */

static lud_status add_part(lud_data_set *set, const char *name, const lud_data_shape *shape,
                           lud_error *error) {
    lud_data_info *info = &set->info;
    lud_observation_part *part = (lud_observation_part *)(uintptr_t)&info->parts[info->n_parts];
    if (info->n_parts == LUD_MAX_OBSERVATION_PARTS)
        return lud_data_wrong(set, error, "expected at most %d arrays of observations",
                              LUD_MAX_OBSERVATION_PARTS);
    if (shape->rank > LUD_MAX_DIMENSIONS)
        return lud_data_wrong(set, error, "observations/%s: expected at most %d dimensions, found %d", name,
                              LUD_MAX_DIMENSIONS, shape->rank);
    *part = (lud_observation_part){.name = lud_arena_text(set->arena, name, strlen(name)),
                                   .n_dimensions = shape->rank,
                                   .dtype = shape->class == H5T_FLOAT                       ? LUD_F32
                                            : shape->number_bytes == 1 && !shape->is_signed ? LUD_U8
                                                                                            : LUD_I32};
    if (!part->name) return out_of_memory(set, error);
    part->bytes = part->dtype == LUD_U8 ? 1 : 4;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dimensions[d] > INT32_MAX ||
            (shape->dimensions[d] && part->bytes > ((size_t)1 << 28) / shape->dimensions[d]))
            return lud_data_wrong(set, error, "observations/%s: a frame of it is too large", name);
        part->dimensions[d] = (int)shape->dimensions[d];
        part->bytes *= shape->dimensions[d];
    }
    info->n_parts++;
    return LUD_OK;
}

typedef struct names {
    lud_text list[64];
    int n;
    bool over;
} names;

static herr_t take_name(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)group;
    names *found = data;
    if (info->type != H5L_TYPE_HARD) return 0;
    if (found->n == 64) {
        found->over = true;
        return 1;
    }
    lud_text_append(&found->list[found->n++], "%s", name);
    return 0;
}

/* The parts below a dictionary, in the order of their names. */
static lud_status find_parts(lud_data_set *set, hid_t group, const char *prefix, int depth,
                             lud_error *error) {
    names found = {0};
    hsize_t at = 0;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, take_name, &found) < 0 || found.over)
        found.over = true;
    lud_status status =
        found.over || depth > MOST_DEPTH
            ? lud_data_wrong(set, error, "observations: expected a few arrays, found too many")
            : LUD_OK;
    for (int k = 0; k < found.n && !status; k++) {
        const char *name = found.list[k].bytes;
        lud_text path = {0};
        lud_text_append(&path, "%s%s%s", prefix, *prefix ? "/" : "", name ? name : "");
        lud_data_shape shape = {.rank = -1};
        const hid_t array = path.failed ? -1 : lud_data_open_array(set, group, name, &shape);
        const hid_t below = array < 0 && !path.failed ? lud_data_open_group(group, name) : -1;
        if (path.failed)
            status = out_of_memory(set, error);
        else if (array >= 0)
            status = add_part(set, path.bytes, &shape, error);
        else if (below >= 0)
            status = find_parts(set, below, path.bytes, depth + 1, error);
        else
            status = lud_data_wrong(
                set, error, "observations/%s: expected numbers of a box or discrete space", path.bytes);
        if (array >= 0) H5Dclose(array);
        if (below >= 0) H5Gclose(below);
        lud_text_free(&path);
    }
    for (int k = 0; k < found.n; k++) lud_text_free(&found.list[k]);
    return status;
}

/* Opens a part of an episode: "a/b" below observations, or observations itself. */
static hid_t open_part(const lud_data_set *set, hid_t episode, int p, lud_data_shape *shape) {
    const lud_observation_part *part = &set->info.parts[p];
    *shape = (lud_data_shape){.rank = part->n_dimensions};
    for (int d = 0; d < part->n_dimensions; d++) shape->dimensions[d] = (hsize_t)part->dimensions[d];
    hid_t group = lud_data_open_group(episode, "observations");
    if (group < 0) return lud_data_open_array(set, episode, "observations", shape);
    char name[256];
    const char *rest = part->name;
    for (const char *slash; group >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - rest), rest);
        const hid_t below = lud_data_open_group(group, name);
        H5Gclose(group);
        group = below;
    }
    const hid_t array = lud_data_open_array(set, group, rest, shape);
    if (group >= 0) H5Gclose(group);
    return array;
}

/* --- the first episode says what all are --- */

static lud_status describe_actions(lud_data_set *set, hid_t episode, lud_error *error) {
    lud_data_info *info = &set->info;
    int32_t *n_choices = lud_arena_take_array(set->arena, 1, sizeof *n_choices),
            *idle = lud_arena_take_array(set->arena, 1, sizeof *idle);
    const char **names_of_agents = lud_arena_take_array(set->arena, 1, sizeof *names_of_agents);
    if (!n_choices || !idle || !names_of_agents) return out_of_memory(set, error);
    *idle = -1;
    *names_of_agents = "agent 0";
    info->n_agents = 1;
    info->n_choices = n_choices;
    info->idle = idle;
    info->agent_names = names_of_agents;
    lud_data_shape shape = {.rank = -1};
    const hid_t array = lud_data_open_array(set, episode, "actions", &shape);
    if (array < 0)
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "%s: actions: expected numbers of a box or discrete space, found something else",
                        info->path);
    H5Dclose(array);
    uint64_t width = 1;
    for (int d = 0; d < shape.rank; d++) width *= shape.dimensions[d] < 4096 ? shape.dimensions[d] : 4096;
    const bool discrete = shape.class == H5T_INTEGER;
    if (width < 1 || width >= 4096 || (discrete && width != 1))
        return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                        "%s: actions: expected one choice or up to 4095 numbers a step, found %llu %s",
                        info->path, (unsigned long long)width, discrete ? "choices" : "numbers");
    info->n_continuous = discrete ? 0 : (int)width;
    info->low = -INFINITY;
    info->high = INFINITY;
    return LUD_OK;
}

static lud_status describe_set(lud_data_set *set, lud_error *error) {
    lud_data_info *info = &set->info;
    const hid_t episode = open_episode(set, 0);
    info->parts = lud_arena_take_array(set->arena, LUD_MAX_OBSERVATION_PARTS, sizeof *info->parts);
    if (!info->parts) return out_of_memory(set, error);
    if (episode < 0)
        return lud_data_wrong(set, error,
                              "expected a data set of ludus record (group ludus) or of Minari (group "
                              "episode_0), found neither");
    lud_data_shape shape = {.rank = -1};
    const hid_t group = lud_data_open_group(episode, "observations"),
                array = group < 0 ? lud_data_open_array(set, episode, "observations", &shape) : -1;
    lud_status status =
        group >= 0 ? find_parts(set, group, "", 0, error)
        : array >= 0
            ? add_part(set, "observation", &shape, error)
            : lud_fail(error, LUD_ERROR_UNSUPPORTED,
                       "%s: observations: expected numbers of box or discrete spaces, found something "
                       "else",
                       info->path);
    if (!status) status = describe_actions(set, episode, error);
    if (array >= 0) H5Dclose(array);
    if (group >= 0) H5Gclose(group);
    H5Gclose(episode);
    return status;
}

/* --- every episode --- */

static bool read_flag(const lud_data_set *set, hid_t episode, const char *name, int32_t length, bool *flag) {
    lud_data_shape shape = {.rank = 0};
    const hid_t array = lud_data_open_array(set, episode, name, &shape);
    int8_t value = 0;
    /* the last one says how the episode ended; booleans are an enumeration of 0 and 1 */
    hid_t type = array >= 0 ? H5Dget_type(array) : -1;
    const bool is_enum = type >= 0 && H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1;
    const bool good = array >= 0 && shape.rows == (uint64_t)length &&
                      (!length || lud_data_read_rows(array, is_enum ? type : H5T_NATIVE_INT8, &shape,
                                                     (uint64_t)length - 1, 1, &value));
    if (type >= 0) H5Tclose(type);
    if (array >= 0) H5Dclose(array);
    *flag = value != 0;
    return good;
}

static bool read_rewards(const lud_data_set *set, hid_t episode, int32_t *length, double *sum) {
    lud_data_shape shape = {.rank = 0};
    const hid_t array = lud_data_open_array(set, episode, "rewards", &shape);
    bool good = array >= 0 && shape.rows < INT32_MAX;
    double *rewards = good ? malloc(shape.rows * sizeof *rewards + 1) : NULL;
    good = rewards && lud_data_read_rows(array, H5T_NATIVE_DOUBLE, &shape, 0, shape.rows, rewards);
    *sum = 0;
    for (uint64_t k = 0; k < shape.rows && good; k++) *sum += rewards[k];
    *length = (int32_t)(good ? shape.rows : 0);
    free(rewards);
    if (array >= 0) H5Dclose(array);
    return good;
}

/* The actions of an episode, negative where there are none, and the numbers of one step. */
static hid_t open_actions(const lud_data_set *set, hid_t episode, lud_data_shape *shape, uint64_t *width) {
    *shape = (lud_data_shape){.rank = -1};
    const hid_t array = lud_data_open_array(set, episode, "actions", shape);
    *width = 1;
    for (int d = 0; d < shape->rank; d++) *width *= shape->dimensions[d];
    return array;
}

/* Greatest choice in an episode; -1 where the array is not of its length or has a negative one. */
static int64_t most_choice(const lud_data_set *set, hid_t episode, int32_t length) {
    lud_data_shape shape;
    uint64_t width;
    const hid_t array = open_actions(set, episode, &shape, &width);
    int64_t *choices = malloc((size_t)length * sizeof *choices + 8), most = 0;
    if (array < 0 || shape.rows != (uint64_t)length || width != 1 || shape.class != H5T_INTEGER || !choices ||
        !lud_data_read_rows(array, H5T_NATIVE_INT64, &shape, 0, shape.rows, choices))
        most = -1;
    for (int32_t t = 0; t < length && most >= 0; t++) {
        if (choices[t] < 0 || choices[t] >= 1 << 20)
            most = -1;
        else if (choices[t] > most)
            most = choices[t];
    }
    free(choices);
    if (array >= 0) H5Dclose(array);
    return most;
}

static bool moves_fit(const lud_data_set *set, hid_t episode, int32_t length) {
    lud_data_shape shape;
    uint64_t width;
    const hid_t array = open_actions(set, episode, &shape, &width);
    if (array >= 0) H5Dclose(array);
    return array >= 0 && shape.rows == (uint64_t)length && width == (uint64_t)set->info.n_continuous &&
           shape.class == H5T_FLOAT;
}

/* Rows of observations; -1: the parts disagree. */
static int64_t count_frames(const lud_data_set *set, hid_t episode) {
    int64_t frames = -1;
    for (int p = 0; p < set->info.n_parts; p++) {
        lud_data_shape shape;
        const hid_t array = open_part(set, episode, p, &shape);
        if (array < 0) return -1;
        H5Dclose(array);
        if (p && frames != (int64_t)shape.rows) return -1;
        frames = (int64_t)shape.rows;
    }
    return frames;
}

static lud_status read_episode(lud_data_set *set, int64_t k, int64_t *step, int32_t *n_choices,
                               lud_error *error) {
    const hid_t group = open_episode(set, k);
    lud_data_episode *e = &set->episodes[k];
    lud_data_info *info = &set->info;
    int64_t seed = 0;
    *e = (lud_data_episode){.first_step = *step, .number = (uint32_t)k};
    bool good = group >= 0 && read_rewards(set, group, &e->length, &set->returns[k]) &&
                read_flag(set, group, "terminations", e->length, &e->terminated) &&
                read_flag(set, group, "truncations", e->length, &e->truncated);
    const int64_t frames = good && info->n_parts ? count_frames(set, group) : good ? e->length + 1 : -1;
    if (good && k == 0) info->last_action_valid = frames != e->length;
    good = good && frames == e->length + info->last_action_valid;
    const int64_t most = good && !info->n_continuous ? most_choice(set, group, e->length) : 0;
    good = good && most >= 0 && (!info->n_continuous || moves_fit(set, group, e->length));
    if (good && !info->n_continuous && most >= *n_choices) *n_choices = (int32_t)most + 1;
    if (good && lud_hdf5_get_integer(group, "seed", &seed)) e->seed = (uint64_t)seed;
    set->tracks[k] = e->length;
    *step += e->length;
    if (group >= 0) H5Gclose(group);
    return good ? LUD_OK
                : lud_data_wrong(
                      set, error,
                      "episode_%lld: expected rewards, terminations, truncations, actions and observations "
                      "of one length and the same spaces as episode_0",
                      (long long)k);
}

/* The number of choices and the range of numbers stand in metadata.json, where it is beside the file. */
static void read_metadata(lud_data_set *set, int32_t *n_choices) {
    const char *slash = strrchr(set->info.path, '/');
    lud_text path = {0};
    lud_text_append(&path, "%.*smetadata.json", slash ? (int)(slash - set->info.path + 1) : 0,
                    set->info.path);
    json_t *root = path.failed ? NULL : json_load_file(path.bytes, 0, NULL);
    const json_t *text = json_object_get(root, "action_space");
    json_t *space = json_is_string(text) ? json_loads(json_string_value(text), 0, NULL) : NULL;
    const json_t *n = json_object_get(space, "n"), *start = json_object_get(space, "start"),
                 *name = json_object_get(root, "algorithm_name");
    if (json_is_integer(n) && json_integer_value(n) > *n_choices && json_integer_value(n) < 1 << 20 &&
        (!start || json_integer_value(start) == 0))
        *n_choices = (int32_t)json_integer_value(n);
    const json_t *low = json_object_get(space, "low"), *high = json_object_get(space, "high");
    while (json_is_array(low)) low = json_array_get(low, 0);
    while (json_is_array(high)) high = json_array_get(high, 0);
    if (json_is_number(low)) set->info.low = (float)json_number_value(low);
    if (json_is_number(high)) set->info.high = (float)json_number_value(high);
    if (json_is_string(name))
        set->info.policy = lud_arena_text(set->arena, json_string_value(name), json_string_length(name));
    json_decref(space);
    json_decref(root);
    lud_text_free(&path);
}

lud_status lud_data_open_minari(lud_data_set *set, lud_error *error) {
    lud_data_info *info = &set->info;
    lud_status status = describe_set(set, error);
    if (status) return status;
    H5G_info_t root;
    if (H5Gget_info(set->file, &root) < 0 || root.nlinks > MOST_EPISODES)
        return lud_data_wrong(set, error, "expected at most %d episodes", MOST_EPISODES);
    const size_t n = (size_t)root.nlinks;
    set->episodes = calloc(n + 1, sizeof *set->episodes);
    set->returns = calloc(n + 1, sizeof *set->returns);
    set->tracks = calloc(n + 1, sizeof *set->tracks);
    if (!set->episodes || !set->returns || !set->tracks) return out_of_memory(set, error);
    int32_t n_choices = 0;
    for (int64_t k = 0; k < (int64_t)n && !status; k++) {
        const hid_t group = open_episode(set, k);
        if (group < 0) break;
        H5Gclose(group);
        status = read_episode(set, k, &info->n_steps, &n_choices, error);
        info->n_episodes = k + 1;
    }
    if (!status) read_metadata(set, &n_choices);
    if (!info->n_continuous) *(int32_t *)(uintptr_t)info->n_choices = n_choices;
    info->complete = true;
    return status;
}

lud_status lud_data_read_minari(lud_data_set *set, const lud_data_request *r, lud_error *error) {
    lud_hdf5_lock();
    const hid_t episode = open_episode(set, r->episode);
    lud_data_shape shape = {.rank = r->array == LUD_DATA_REWARDS ? 0 : -1};
    hid_t array = -1, type = H5T_NATIVE_FLOAT;
    if (r->array == LUD_DATA_OBSERVATION) {
        const lud_dtype dtype = set->info.parts[r->part].dtype;
        type = dtype == LUD_U8 ? H5T_NATIVE_UINT8 : dtype == LUD_I32 ? H5T_NATIVE_INT32 : H5T_NATIVE_FLOAT;
        array = open_part(set, episode, r->part, &shape);
    } else {
        if (r->array == LUD_DATA_DISCRETE) type = H5T_NATIVE_INT32;
        array =
            lud_data_open_array(set, episode, r->array == LUD_DATA_REWARDS ? "rewards" : "actions", &shape);
    }
    uint64_t bytes = r->array == LUD_DATA_OBSERVATION && set->info.parts[r->part].dtype == LUD_U8 ? 1 : 4;
    for (int d = 0; d < shape.rank; d++) bytes *= shape.dimensions[d];
    const bool good = array >= 0 && bytes == lud_data_set_row_bytes(set, r->array, r->part) &&
                      lud_data_read_rows(array, type, &shape, (uint64_t)r->first, (uint64_t)r->n, r->rows);
    if (array >= 0) H5Dclose(array);
    if (episode >= 0) H5Gclose(episode);
    lud_hdf5_unlock();
    return good ? LUD_OK : lud_data_wrong(set, error, "episode_%lld cannot be read", (long long)r->episode);
}
