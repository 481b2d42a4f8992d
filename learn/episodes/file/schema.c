#include "learn/episodes/file/schema.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options/json_memory.h"

static const size_t dtype_bytes[] = {1, 4, 4};
static const char *const role_names[] = {"agent", "human", "robot"};
/* Of one file; more is no data set of anything that Ludus runs. */
enum { MOST_AGENTS = 1 << 16, MOST_CHOICES = 1 << 20, MOST_NUMBERS = 1 << 26 };

static lud_status out_of_memory(lud_error *error) {
    return lud_no_memory(error, "the description of a data set");
}

/* --- from a scenario --- */

static lud_status effective_text(const lud_scenario *scenario, lud_arena *arena, const char **text,
                                 lud_error *error) {
    lud_tree *root;
    char *written;
    size_t length;
    lud_status status = lud_scenario_effective(scenario, arena, &root, error);
    if (!status) status = lud_tree_write(arena, root, &written, &length, error);
    if (!status) *text = written;
    return status;
}

static bool describe_agents(const lud_scenario *scenario, lud_arena *arena, lud_data_info *info) {
    const lud_layout *layout = &scenario->model->layout;
    const size_t n = (size_t)layout->n_agents;
    int32_t *n_choices = lud_arena_take_array(arena, n + 1, sizeof *n_choices),
            *idle = lud_arena_take_array(arena, n + 1, sizeof *idle);
    const char *const **names = lud_arena_take_array(arena, n + 1, sizeof *names);
    const char **agents = lud_arena_take_array(arena, n + 1, sizeof *agents);
    if (!n_choices || !idle || !names || !agents) return false;
    for (size_t i = 0; i < n; i++) {
        const lud_action_space *space = &layout->actions[i];
        n_choices[i] = space->n_discrete;
        idle[i] = layout->idle ? layout->idle[i] : -1;
        names[i] = space->names;
        if (space->n_continuous > info->n_continuous) info->n_continuous = space->n_continuous;
        if (space->n_continuous) info->low = space->low, info->high = space->high;
        char name[48];
        snprintf(name, sizeof name, "%s %zu", role_names[layout->roles[i]], i);
        if (!(agents[i] = lud_arena_text(arena, name, strlen(name)))) return false;
    }
    info->n_choices = n_choices;
    info->idle = idle;
    info->choice_names = names;
    info->agent_names = agents;
    return true;
}

lud_status lud_data_schema_of(const lud_scenario *scenario, lud_arena *arena, lud_data_info *info,
                              lud_error *error) {
    const lud_layout *layout = &scenario->model->layout;
    *info = (lud_data_info){.world = scenario->world->name,
                            .format = LUD_DATA_FORMAT,
                            .window_semantics = LUD_WINDOW_SEMANTICS,
                            .last_action_valid = true,
                            .n_agents = layout->n_agents,
                            .choices_vary = scenario->world->describe_action != NULL,
                            .state_bytes = layout->state_bytes,
                            .n_parts = layout->n_parts};
    lud_observation_part *parts = lud_arena_take_array(arena, (size_t)layout->n_parts + 1, sizeof *parts);
    if (!parts || !describe_agents(scenario, arena, info)) return out_of_memory(error);
    memcpy(parts, layout->parts, (size_t)layout->n_parts * sizeof *parts);
    info->parts = parts;
    return effective_text(scenario, arena, &info->scenario, error);
}

/* --- as JSON --- */

/* JSON knows no infinity. */
static double finite_bound(float bound) {
    return isfinite(bound) ? (double)bound : bound < 0 ? (double)-FLT_MAX : (double)FLT_MAX;
}

json_t *lud_data_schema_parts(const lud_observation_part *parts, int n) {
    json_t *list = json_array();
    for (int p = 0; p < n; p++) {
        json_t *shape = json_array();
        for (int d = 0; d < parts[p].n_dimensions; d++)
            json_array_append_new(shape, json_integer(parts[p].dimensions[d]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o}", "name", parts[p].name, "dtype",
                                              lud_dtype_name(parts[p].dtype), "per_agent", parts[p].per_agent,
                                              "shape", shape));
    }
    return list;
}

char *lud_data_schema_write(const lud_data_info *info) {
    json_t *agents = json_array();
    for (int i = 0; i < info->n_agents; i++) {
        json_t *choices = json_array();
        const char *const *names = info->choice_names ? info->choice_names[i] : NULL;
        for (int k = 0; names && k < info->n_choices[i]; k++)
            json_array_append_new(choices, json_string(names[k]));
        json_array_append_new(agents, json_pack("{s:s, s:i, s:i, s:o}", "name", info->agent_names[i],
                                                "n_choices", (int)info->n_choices[i], "idle",
                                                (int)info->idle[i], "choices", choices));
    }
    json_t *root =
        json_pack("{s:o, s:i, s:f, s:f, s:b, s:I, s:o}", "agents", agents, "n_continuous", info->n_continuous,
                  "low", finite_bound(info->low), "high", finite_bound(info->high), "choices_vary",
                  info->choices_vary, "state_bytes", (json_int_t)info->state_bytes, "observations",
                  lud_data_schema_parts(info->parts, info->n_parts));
    char *text = root && !lud_json_failed() ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

/* An integer of an object within a range; false when it is none. */
static bool integer(const json_t *object, const char *key, json_int_t least, json_int_t most,
                    json_int_t *value) {
    const json_t *found = json_object_get(object, key);
    if (!json_is_integer(found)) return false;
    *value = json_integer_value(found);
    return *value >= least && *value <= most;
}

static const char *text_of(const json_t *object, const char *key, lud_arena *arena) {
    const json_t *found = json_object_get(object, key);
    return json_is_string(found) ? lud_arena_text(arena, json_string_value(found), json_string_length(found))
                                 : NULL;
}

static bool read_agent(const json_t *agent, lud_arena *arena, int32_t *n_choices, int32_t *idle,
                       const char *const **names, const char **name) {
    json_int_t n, still;
    const json_t *choices = json_object_get(agent, "choices");
    if (!integer(agent, "n_choices", 0, MOST_CHOICES, &n) || !integer(agent, "idle", -1, n - 1, &still))
        return false;
    if (!(*name = text_of(agent, "name", arena)) || !json_is_array(choices)) return false;
    *n_choices = (int32_t)n;
    *idle = (int32_t)still;
    *names = NULL;
    if (!json_array_size(choices)) return true;
    if (json_array_size(choices) != (size_t)n) return false;
    const char **list = lud_arena_take_array(arena, (size_t)n, sizeof *list);
    for (size_t k = 0; list && k < (size_t)n; k++) {
        const json_t *choice = json_array_get(choices, k);
        if (!json_is_string(choice)) return false;
        list[k] = lud_arena_text(arena, json_string_value(choice), json_string_length(choice));
        if (!list[k]) return false;
    }
    *names = list;
    return list != NULL;
}

static bool read_agents(const json_t *root, lud_arena *arena, lud_data_info *info) {
    const json_t *agents = json_object_get(root, "agents");
    const size_t n = json_array_size(agents);
    if (!json_is_array(agents) || n < 1 || n > MOST_AGENTS) return false;
    int32_t *n_choices = lud_arena_take_array(arena, n, sizeof *n_choices),
            *idle = lud_arena_take_array(arena, n, sizeof *idle);
    const char *const **names = lud_arena_take_array(arena, n, sizeof *names);
    const char **agent_names = lud_arena_take_array(arena, n, sizeof *agent_names);
    if (!n_choices || !idle || !names || !agent_names) return false;
    for (size_t i = 0; i < n; i++)
        if (!read_agent(json_array_get(agents, i), arena, &n_choices[i], &idle[i], &names[i],
                        &agent_names[i]))
            return false;
    info->n_agents = (int)n;
    info->n_choices = n_choices;
    info->idle = idle;
    info->choice_names = names;
    info->agent_names = agent_names;
    return true;
}

static bool read_part(const json_t *from, lud_arena *arena, int n_agents, lud_observation_part *part) {
    const json_t *dtype = json_object_get(from, "dtype"), *per_agent = json_object_get(from, "per_agent"),
                 *shape = json_object_get(from, "shape");
    const size_t rank = json_array_size(shape);
    if (!(part->name = text_of(from, "name", arena)) || !json_is_string(dtype) ||
        !json_is_boolean(per_agent) || !json_is_array(shape) || rank > LUD_MAX_DIMENSIONS)
        return false;
    int k = 0;
    while (k < LUD_N_DTYPES && strcmp(lud_dtype_name((lud_dtype)k), json_string_value(dtype)) != 0) k++;
    if (k == LUD_N_DTYPES || !part->name[0] || strchr(part->name, '/')) return false;
    part->dtype = (lud_dtype)k;
    part->per_agent = json_is_true(per_agent);
    part->n_dimensions = (int)rank;
    size_t numbers = part->per_agent ? (size_t)n_agents : 1;
    for (size_t d = 0; d < rank; d++) {
        const json_t *size = json_array_get(shape, d);
        const json_int_t value = json_is_integer(size) ? json_integer_value(size) : -1;
        if (value < 0 || value > MOST_NUMBERS || (value && numbers > MOST_NUMBERS / (size_t)value))
            return false;
        part->dimensions[d] = (int)value;
        numbers *= (size_t)value;
    }
    part->bytes = numbers * dtype_bytes[k];
    return true;
}

static bool read_parts(const json_t *root, lud_arena *arena, lud_data_info *info) {
    const json_t *parts = json_object_get(root, "observations");
    const size_t n = json_array_size(parts);
    if (!json_is_array(parts) || n > LUD_MAX_OBSERVATION_PARTS) return false;
    lud_observation_part *list = lud_arena_take_array(arena, n + 1, sizeof *list);
    if (!list) return false;
    for (size_t p = 0; p < n; p++)
        if (!read_part(json_array_get(parts, p), arena, info->n_agents, &list[p])) return false;
    info->n_parts = (int)n;
    info->parts = list;
    return true;
}

lud_status lud_data_schema_read(const char *text, const char *path, lud_arena *arena, lud_data_info *info,
                                lud_error *error) {
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_int_t n_continuous = 0, state_bytes = 0;
    const bool good =
        json_is_object(root) && read_agents(root, arena, info) && read_parts(root, arena, info) &&
        integer(root, "n_continuous", 0, 4096, &n_continuous) &&
        integer(root, "state_bytes", 0, MOST_NUMBERS, &state_bytes) &&
        json_is_number(json_object_get(root, "low")) && json_is_number(json_object_get(root, "high"));
    if (good) {
        info->n_continuous = (int)n_continuous;
        info->state_bytes = (size_t)state_bytes;
        info->low = (float)json_number_value(json_object_get(root, "low"));
        info->high = (float)json_number_value(json_object_get(root, "high"));
        info->choices_vary = json_is_true(json_object_get(root, "choices_vary"));
    }
    json_decref(root);
    return good ? LUD_OK
                : lud_invalid(
                      error,
                      "%s: expected agents, actions and observations in the attribute ludus/schema, found "
                      "something else",
                      path);
}

/* --- in words --- */

void lud_data_summarise_choices(const lud_data_info *info, int agent, const int32_t *actions, size_t stride,
                                int32_t n, lud_text *text) {
    enum { MOST = 64, SMALL = 256 }; /* different actions that are told one by one; found by their number */
    struct {
        int32_t action, count;
    } used[MOST];
    uint8_t place[SMALL] = {0}; /* in `used`, from 1 on */
    int n_used = 0, others = 0;
    for (int32_t t = 0; t < n; t++) {
        const int32_t action = actions[(size_t)t * stride];
        if (action < 0) continue;
        int k = action < SMALL && place[action] ? place[action] - 1 : 0;
        while (k < n_used && used[k].action != action) k++;
        if (k == MOST) {
            others++;
            continue;
        }
        if (k == n_used) {
            used[k].action = action;
            used[k].count = 0;
            n_used++;
            if (action < SMALL) place[action] = (uint8_t)n_used;
        }
        used[k].count++;
    }
    const char *const *names = info->choice_names ? info->choice_names[agent] : NULL;
    for (int k = 0; k < n_used; k++) {
        if (k) lud_text_append(text, ", ");
        if (names && used[k].action < info->n_choices[agent])
            lud_text_append(text, "%s %d", names[used[k].action], used[k].count);
        else
            lud_text_append(text, "action %d: %d", used[k].action, used[k].count);
    }
    if (others) lud_text_append(text, ", others %d", others);
}

void lud_data_summarise_moves(const lud_data_info *info, const float *actions, size_t stride, int32_t n,
                              lud_text *text) {
    lud_text_append(text, "sums");
    for (int d = 0; d < info->n_continuous; d++) {
        double sum = 0;
        for (int32_t t = 0; t < n; t++) sum += (double)actions[(size_t)t * stride + (size_t)d];
        lud_text_append(text, " %+.2f", sum);
    }
}
