#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/cast.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/data_report.h"
#include "learn/episodes/data_set.h"
#include "learn/episodes/file/schema.h"
#include "learn/learner.h"
#include "learn/runs/parameters.h"
#include "sim/batch.h"
#include "sim/statespace/levels.h"
#include "sim/statespace/statespace.h"

typedef struct inspect_values {
    lud_scenario_flags scenario;
    const char *state;
    int64_t after;
    double memory;
    int64_t episode;
    bool effective, estimate, count, verify, json;
} inspect_values;

#define FLAGS inspect_values
static const lud_flag flags[] = {
    INT_FLAG("after", 'a', after, 0, 1e9, "N", "show the state after N steps of the scenario's agents"),
    TEXT_FLAG("state", 0, state, "HEX", "show this state (as --json prints it)"),
    SWITCH_FLAG("effective", 0, effective, "print the scenario with every default written out"),
    SWITCH_FLAG("estimate", 0, estimate, "estimate the number of reachable states"),
    SWITCH_FLAG("count", 0, count, "find and count every reachable state"),
    LUD_MEMORY_FLAG_ROW(memory,
                        "memory limit of --count, in GiB or as 500M, 8G; a graph beyond it is counted by "
                        "levels"),
    INT_FLAG("episode", 0, episode, 0, 1e12, "N", "data set: tell the first and the last frame of this one"),
    SWITCH_FLAG("verify", 0, verify, "data set: play every episode again and compare"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("json", 'j', json, "print JSON on standard output"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((inspect_values *)values)->scenario);
}

static const char *const role_names[] = {"other", "human", "robot"};

static lud_status read_hex(const char *text, uint8_t *state, size_t n, lud_error *error) {
    if (strlen(text) != 2 * n)
        return lud_invalid(error, "--state: a state of this scenario has %zu hexadecimal digits, found %zu",
                           2 * n, strlen(text));
    for (size_t i = 0; i < n; i++) {
        int high = lud_hex_value(text[2 * i]), low = lud_hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return lud_invalid(error, "--state: expected hexadecimal digits, found '%.2s'", text + 2 * i);
        state[i] = (uint8_t)(high * 16 + low);
    }
    return LUD_OK;
}

/* The state to show: given, or reached by the scenario's agents. */
static lud_status find_state(const lud_scenario *s, const inspect_values *values, const char *folder,
                             uint8_t *state, lud_error *error) {
    const lud_layout *layout = &s->model->layout;
    if (values->state) return read_hex(values->state, state, layout->state_bytes, error);
    lud_batch *batch = NULL;
    lud_cast *cast = NULL;
    lud_status status = lud_batch_create(s->model, 1, (uint64_t)s->run.seed, 0, &batch, error);
    if (!status) status = lud_run_cast(folder, s, &cast, error);
    size_t n_agents = (size_t)layout->n_agents;
    int32_t *discrete = calloc(n_agents + 1, sizeof *discrete);
    float *continuous = calloc(n_agents * (size_t)lud_max_continuous(layout) + 1, sizeof *continuous);
    uint8_t *hidden = calloc(1, (cast ? lud_cast_hidden_bytes(cast) : 0) + 8);
    void *observations[LUD_MAX_OBSERVATION_PARTS] = {0};
    bool complete = discrete && continuous && hidden;
    for (int p = 0; !status && lud_cast_needs_observations(cast) && p < layout->n_parts; p++)
        complete = (observations[p] = calloc(1, layout->parts[p].bytes)) && complete;
    if (!status && !complete) status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) {
        lud_range range = {.seed = batch->seed, .n = 1, .tick = batch->tick};
        lud_batch_out out = {.observations = observations};
        batch->end = LUD_END_GOES_ON;
        lud_batch_reset(batch, &out);
        lud_cast_reset(cast, range, batch->states, hidden);
        for (int64_t step = 0; step < values->after && !status; step++) {
            if ((status = lud_interrupt_check(error))) break;
            lud_cast_act(cast, range, batch->states, observations, hidden, discrete, continuous);
            lud_batch_step(batch, (lud_actions){discrete, continuous}, &out);
        }
        memcpy(state, batch->states, layout->state_bytes);
        if (!status) status = lud_cast_check(cast, error);
    }
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(observations[p]);
    free(discrete);
    free(continuous);
    free(hidden);
    lud_cast_destroy(cast);
    lud_batch_destroy(batch);
    return status;
}

/* Whether action k is called as the one before, with the next number at its end. */
static bool is_next_number(const lud_action_space *space, int k) {
    if (!space->names) return true;
    const char *before = space->names[k - 1], *name = space->names[k];
    const size_t length = strcspn(before, "0123456789");
    char *end, *end_before;
    if (strcspn(name, "0123456789") != length || strncmp(name, before, length) != 0 || !name[length])
        return false;
    return strtol(name + length, &end, 10) == strtol(before + length, &end_before, 10) + 1 && !*end &&
           !*end_before;
}

static void print_actions(const lud_action_space *space) {
    enum { MANY = 8 };
    for (int k = 0; k < space->n_discrete; k++) {
        int last = k;
        while (k > 0 && last + 1 < space->n_discrete && is_next_number(space, last) &&
               is_next_number(space, last + 1))
            last++;
        if (last - k >= MANY) {
            printf(" ...");
            k = last;
        }
        if (space->names)
            printf("%s%s", k ? " " : "", space->names[k]);
        else
            printf("%s%d", k ? " " : "", k);
    }
    if (space->n_continuous)
        printf("%s%d numbers in [%g, %g]", space->n_discrete ? " and " : "", space->n_continuous,
               (double)space->low, (double)space->high);
    printf("\n");
}

static void print_text(const lud_scenario *s, const char *state_text, int64_t after, bool given) {
    const lud_layout *layout = &s->model->layout;
    printf("%s: %s\n\n", s->name, s->about ? s->about : "(no description)");
    printf("world         %s\n", s->world->name);
    printf("state         %zu bytes\n", layout->state_bytes);
    if (layout->max_steps) printf("step limit    %d\n", layout->max_steps);
    int32_t joint = lud_joint_action_count(layout);
    if (joint) printf("joint actions %d\n", joint);
    printf("exact model   %s\n\n", s->world->successors ? "yes" : "no");
    for (int i = 0; i < layout->n_agents; i++) {
        printf("agent %d (%s): ", i, role_names[layout->roles[i]]);
        print_actions(&layout->actions[i]);
        int n_goals = s->world->n_goals ? s->world->n_goals(s->model, i) : 0;
        for (int g = 0; g < n_goals; g++) {
            lud_text text = {0};
            s->world->describe_goal(s->model, i, g, &text);
            printf("  goal %d, weight %g: %s\n", g, s->world->goal_weight(s->model, i, g),
                   text.bytes ? text.bytes : "");
            lud_text_free(&text);
        }
    }
    printf("\nobservation\n");
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        printf("  %-12s %s %s[", part->name, lud_dtype_name(part->dtype),
               part->per_agent ? "each agent " : "");
        for (int d = 0; d < part->n_dimensions; d++) printf("%s%d", d ? " x " : "", part->dimensions[d]);
        printf("]\n");
    }
    if (given)
        printf("\nthe given state\n%s", state_text);
    else
        printf("\nstate after %" PRId64 " steps, seed %" PRId64 "\n%s", after, s->run.seed, state_text);
}

static json_t *agents_json(const lud_scenario *s) {
    const lud_layout *layout = &s->model->layout;
    json_t *agents = json_array();
    for (int i = 0; i < layout->n_agents; i++) {
        const lud_action_space *space = &layout->actions[i];
        json_t *actions = json_array(), *goals = json_array();
        for (int k = 0; k < space->n_discrete; k++)
            json_array_append_new(actions, space->names ? json_string(space->names[k]) : json_integer(k));
        int n_goals = s->world->n_goals ? s->world->n_goals(s->model, i) : 0;
        for (int g = 0; g < n_goals; g++) {
            lud_text text = {0};
            s->world->describe_goal(s->model, i, g, &text);
            json_array_append_new(goals, json_pack("{s:s, s:f}", "goal", text.bytes ? text.bytes : "",
                                                   "weight", s->world->goal_weight(s->model, i, g)));
            lud_text_free(&text);
        }
        json_array_append_new(agents, json_pack("{s:i, s:s, s:o, s:i, s:o}", "agent", i, "role",
                                                role_names[layout->roles[i]], "actions", actions,
                                                "continuous", space->n_continuous, "goals", goals));
    }
    return agents;
}

static json_t *scenario_json(const lud_scenario *s, const uint8_t *state, const char *state_text) {
    const lud_layout *layout = &s->model->layout;
    char *hex = malloc(2 * layout->state_bytes + 1);
    if (!hex) return NULL;
    for (size_t i = 0; i < layout->state_bytes; i++) snprintf(hex + 2 * i, 3, "%02x", state[i]);
    json_t *root = json_pack(
        "{s:s, s:s?, s:s, s:I, s:i, s:i, s:b, s:o, s:o, s:s, s:s}", "name", s->name, "about", s->about,
        "world", s->world->name, "state_bytes", (json_int_t)layout->state_bytes, "max_steps",
        layout->max_steps, "joint_actions", (int)lud_joint_action_count(layout), "exact_model",
        s->world->successors != NULL, "agents", agents_json(s), "observation",
        lud_data_schema_parts(layout->parts, layout->n_parts), "state", hex, "description", state_text);
    free(hex);
    return root;
}

static lud_status estimate(const lud_scenario *s, json_t *root, lud_error *error) {
    lud_statespace_options options = {.seed = (uint64_t)s->run.seed};
    lud_statespace_estimate e;
    LUD_TRY(lud_statespace_guess(s->model, &options, &e, error));
    const char *kind = e.exhausted ? "exact" : "at least about";
    if (root) {
        json_object_set_new(root, "estimate",
                            json_pack("{s:f, s:f, s:i, s:f, s:s}", "states", e.states, "transitions",
                                      e.transitions, "layers", e.layers, "bytes", e.bytes, "kind", kind));
        return LUD_OK;
    }
    char states[16], transitions[16], bytes[16];
    printf("\nreachable, %s: %s states, %s transitions, %d layers, %s of memory\n", kind,
           lud_format_count(e.states, states), lud_format_count(e.transitions, transitions), e.layers,
           lud_format_memory(e.bytes, bytes));
    return LUD_OK;
}

/* What is reachable, as it is told. */
typedef struct counted {
    uint64_t n_states, n_terminal, n_transitions, n_branches, bytes; /* branches: only of a graph */
    int n_layers;
    double seconds;
    bool by_levels;
} counted;

static lud_status count_by_levels(const lud_scenario *s, const lud_statespace_options *space,
                                  const lud_statespace_estimate *estimate, counted *c, lud_error *error) {
    const lud_levels_options options = {.seed = space->seed,
                                        .memory_limit = space->memory_limit,
                                        .n_threads = space->n_threads,
                                        .progress = space->progress};
    lud_levels levels;
    LUD_TRY(lud_levels_check_memory(estimate, s->model->layout.state_bytes, &options, error));
    LUD_TRY(lud_levels_find(s->model, &options, &levels, error));
    *c = (counted){.n_states = levels.n_states,
                   .n_terminal = levels.n_terminal,
                   .n_transitions = levels.n_transitions,
                   .bytes = levels.peak_bytes,
                   .n_layers = levels.n,
                   .seconds = levels.seconds,
                   .by_levels = true};
    lud_levels_free(&levels);
    return LUD_OK;
}

/* With the graph as a whole where memory holds it, else, in a world that counts its steps, level by level. */
static lud_status count_states(const lud_scenario *s, const lud_statespace_options *options, counted *c,
                               lud_error *error) {
    lud_statespace *space;
    lud_statespace_estimate e;
    const bool levels = lud_levels_possible(s->model);
    LUD_TRY(lud_statespace_guess(s->model, options, &e, error));
    lud_status status = lud_statespace_check_memory(&e, options, error);
    if (!status) status = lud_statespace_build(s->model, options, &space, error);
    if (status == LUD_ERROR_MEMORY && levels) return count_by_levels(s, options, &e, c, error);
    if (status) return status;
    *c = (counted){.n_states = space->n_states,
                   .n_terminal = space->n_terminal,
                   .n_transitions = space->n_transitions,
                   .n_branches = space->n_branches,
                   .bytes = space->bytes,
                   .n_layers = space->n_layers,
                   .seconds = space->seconds};
    lud_statespace_destroy(space);
    return LUD_OK;
}

static lud_status count(const lud_scenario *s, const inspect_values *values, json_t *root, lud_error *error) {
    const lud_statespace_options options = {.seed = (uint64_t)s->run.seed,
                                            .n_threads = (int)s->run.threads,
                                            .memory_limit = (uint64_t)(values->memory * LUD_GIBIBYTE),
                                            .progress = isatty(fileno(stderr)) ? stderr : NULL};
    counted c = {0};
    LUD_TRY(count_states(s, &options, &c, error));
    if (root) {
        json_t *reachable = json_pack(
            "{s:I, s:I, s:I, s:i, s:I, s:f, s:s}", "states", (json_int_t)c.n_states, "terminal",
            (json_int_t)c.n_terminal, "transitions", (json_int_t)c.n_transitions, "layers", c.n_layers,
            "bytes", (json_int_t)c.bytes, "seconds", c.seconds, "method", c.by_levels ? "levels" : "graph");
        if (!c.by_levels) json_object_set_new(reachable, "branches", json_integer((json_int_t)c.n_branches));
        json_object_set_new(root, "reachable", reachable);
    } else {
        char bytes[16], rate[16], time[24];
        printf("\nreachable: %" PRIu64 " states (%" PRIu64 " terminal) in %d layers, %" PRIu64
               " transitions\n"
               "%s of memory%s, %s, %s states/s\n",
               c.n_states, c.n_terminal, c.n_layers, c.n_transitions,
               lud_format_memory((double)c.bytes, bytes), c.by_levels ? ", two levels at a time" : "",
               lud_format_seconds(c.seconds, time), lud_format_count((double)c.n_states / c.seconds, rate));
    }
    return LUD_OK;
}

static lud_status print_effective(const lud_scenario *s, lud_error *error) {
    lud_tree *root;
    char *text;
    size_t length;
    lud_status status = lud_scenario_effective(s, s->arena, &root, error);
    if (!status) status = lud_tree_write(s->arena, root, &text, &length, error);
    if (!status) fwrite(text, 1, length, stdout);
    return status;
}

/* What the run in a folder says about the state: into `root`, or printed when it is null. */
static lud_status report_run(const lud_scenario *s, const char *folder, const uint8_t *state, json_t *root,
                             lud_error *error) {
    const lud_learner_kind *kind = NULL;
    lud_report report = {0};
    lud_status status = lud_run_kind(folder, s, &kind, error);
    if (status || !kind->describe_state) return status;
    const lud_report_request request = {.folder = folder, .scenario = s, .json = root, .state = state};
    status = kind->describe_state(&request, &report, error);
    if (!status && (report.text.failed || (root && json_object_update(root, report.json))))
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) lud_print_text(&report.text);
    lud_text_free(&report.text);
    json_decref(report.json);
    return status;
}

static lud_status show(const lud_scenario *s, const inspect_values *values, const char *folder,
                       lud_error *error) {
    if (values->effective) return print_effective(s, error);
    uint8_t *state = malloc(s->model->layout.state_bytes + 1);
    lud_text text = {0};
    json_t *root = NULL;
    lud_status status = state ? find_state(s, values, folder, state, error)
                              : lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status) {
        s->world->describe(s->model, state, &text);
        if (values->json)
            root = scenario_json(s, state, text.bytes ? text.bytes : "");
        else
            print_text(s, text.bytes ? text.bytes : "", values->after, values->state != NULL);
        if (text.failed || (values->json && !root))
            status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    }
    if (!status && folder) status = report_run(s, folder, state, root, error);
    if (!status && values->estimate) status = estimate(s, root, error);
    if (!status && values->count) status = count(s, values, root, error);
    if (!status && root)
        status = lud_print_json(root, error);
    else
        json_decref(root);
    lud_text_free(&text);
    free(state);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const inspect_values *values = data;
    if (lud_data_set_is(arguments[0])) {
        const lud_data_report_options options = {
            .episode = values->episode, .verify = values->verify, .json = values->json};
        return lud_report_data_set(arguments[0], &options, error);
    }
    lud_scenario *scenario = NULL;
    lud_text folder = {0};
    const char *path = arguments[0], *slash = strrchr(path, '/');
    /* a solution's file stands for its folder */
    if (!strcmp(slash ? slash + 1 : path, "solution.empo")) {
        lud_text_append(&folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
        if (folder.bytes) path = folder.bytes;
    }
    lud_status status = lud_scenario_open(path, &values->scenario, &scenario, error);
    if (!status) status = show(scenario, values, lud_run_is(path) ? path : NULL, error);
    lud_scenario_destroy(scenario);
    lud_text_free(&folder);
    return status;
}

const lud_verb lud_verb_inspect = {
    .name = "inspect",
    .about = "show what is in a scenario: agents, actions, goals, observations, a state; in a solution; in a "
             "data set",
    .arguments = "SCENARIO|RUN|DATA.h5",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(inspect_values),
    .set_defaults = set_defaults,
    .notes = "example: ludus inspect scenarios/multigrid/rescue.yaml --after 10 --estimate\n"
             "         ludus inspect rescue.h5 --verify\n",
    .run = run};
