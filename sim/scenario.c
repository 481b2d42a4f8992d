#include "sim/scenario.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/options/option_rows.h"
#include "base/text.h"
#include "kernels/device_ranks.h"

const char *const lud_precision_names[] = {
    [LUD_PRECISION_F32] = "f32", [LUD_PRECISION_TF32] = "tf32", [LUD_PRECISION_BF16] = "bf16", NULL};

#define OPTIONS lud_run_options
static const lud_option run_options[] = {
    INT(environments, "16", 1, 1 << 20,
        "environments that run side by side; auto: as many as suits a learner that chooses them, else 16",
        AUTO),
    INT(seed, "1", 0, 1e19, "decides every random draw, random maps included"),
    INT(episodes, "100", 1, 1e12, "episodes to run or record"),
    INT(steps, "0", 0, 1e15,
        "environment steps to train for; 0: what the learner says; refused by learners that count otherwise"),
    INT(threads, "0", 0, 4096, "threads to use; 0: one a core"),
    CHOICE(precision, "f32", lud_precision_names,
           "of the matrix products of networks: f32; bf16, factors rounded to bfloat16, sums and weights in "
           "f32; tf32, the same with ten bits on cuda, f32 elsewhere"),
};

const lud_option_table lud_run_option_table = OPTION_TABLE("run", "how much to run", run_options);

const lud_run_options lud_run_as_written = {-1, -1, -1, -1, -1, -1};

/* Whether the file, or what is set in it, says how many environments run. */
static bool says_environments(const lud_scenario *s) {
    lud_tree *run = lud_tree_get(s->root, "run");
    const lud_tree *node = run && run->kind == LUD_TREE_MAPPING ? lud_tree_get(run, "environments") : NULL;
    return node && !lud_option_is_auto(&run_options[0], node);
}

/* Numbers that somebody asks for take the place of those of the file. */
static void override_run(lud_run_options *run, const lud_run_options *wanted) {
    if (wanted->environments >= 0) run->environments = wanted->environments;
    if (wanted->seed >= 0) run->seed = wanted->seed;
    if (wanted->episodes >= 0) run->episodes = wanted->episodes;
    if (wanted->steps >= 0) run->steps = wanted->steps;
    if (wanted->threads >= 0) run->threads = wanted->threads;
    if (wanted->precision >= 0) run->precision = wanted->precision;
}

lud_status lud_scenario_device(const lud_scenario *scenario, const char *choice, lud_device **device,
                               lud_error *error) {
    LUD_TRY(lud_device_open_among(scenario->ranks, choice, (int)scenario->run.threads, device, error));
    lud_device_set_precision(*device, (lud_precision)scenario->run.precision);
    return LUD_OK;
}

/* The file's name without folder and ending. */
static const char *default_name(lud_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *begin = slash ? slash + 1 : path, *dot = strrchr(begin, '.');
    size_t length = dot && dot != begin ? (size_t)(dot - begin) : strlen(begin);
    return lud_arena_text(arena, begin, length);
}

/* A file of the reference has a bare map at the top level and no `ludus:` line; it always means multigrid. */
static bool is_reference_file(lud_tree *root) {
    return !lud_tree_get(root, "ludus") && !lud_tree_get(root, "world") && lud_tree_get(root, "map");
}

static lud_status find_world(lud_scenario *s, lud_error *error) {
    int n;
    const lud_world *const *all = lud_worlds(&n);
    if (is_reference_file(s->root)) {
        s->world = lud_world_find("multigrid");
        assert(s->world);
        return LUD_OK;
    }
    lud_tree *version = lud_tree_get(s->root, "ludus"), *name = lud_tree_get(s->root, "world");
    if (!version)
        return lud_invalid_at(error, s->root->place,
                              "expected the line `ludus: 1` (the version of the format), found none");
    int64_t number;
    LUD_TRY(lud_tree_int(version, 1, 1, &number, error));
    if (!name)
        return lud_invalid_at(error, s->root->place,
                              "expected the key 'world' (the kind of world), found none");
    const char **names = lud_arena_take_array(s->arena, (size_t)n, sizeof *names);
    if (!names) return lud_out_of_memory(error);
    for (int i = 0; i < n; i++) names[i] = all[i]->name;
    int index;
    LUD_TRY(lud_tree_choice(name, names, n, &index, error));
    s->world = all[index];
    return LUD_OK;
}

/* Says in which section the first unknown key of the file, or of --set, has its place. */
static void tell_place(const lud_scenario *s, const char *const *keys, int n_keys, lud_error *error) {
    const lud_tree *wrong = s->root->child;
    for (bool known = true; wrong && known; wrong = known ? wrong->next : wrong) {
        known = false;
        for (int k = 0; k < n_keys && !known; k++) known = strcmp(wrong->key, keys[k]) == 0;
    }
    char place[200];
    const lud_option_table *section = s->world->options ? s->world->options[0] : NULL;
    const bool found =
        wrong && ((section && lud_option_place(section, s->world->name, wrong->key, place, sizeof place)) ||
                  lud_option_place(&lud_run_option_table, "run", wrong->key, place, sizeof place) ||
                  lud_option_place(&lud_view_section_table, "view", wrong->key, place, sizeof place));
    const size_t used = error ? strlen(error->text) : 0;
    if (error && found)
        snprintf(error->text + used, sizeof error->text - used, "; its place is %s, as in --set %s=...",
                 place, place);
}

static lud_status check_keys(const lud_scenario *s, lud_error *error) {
    const char *keys[16] = {"ludus",    "name",    "about", "world", s->world->name,
                            "policies", "learner", "view",  "run"};
    int n = 9;
    if (s->world->n_goals) keys[n++] = "goals";
    const lud_status status = lud_tree_check_keys(s->root, keys, n, error);
    if (status) tell_place(s, keys, n, error);
    return status;
}

static lud_status read_text_key(lud_scenario *s, const char *key, const char **text, lud_error *error) {
    lud_tree *node = lud_tree_get(s->root, key);
    return node && node->kind != LUD_TREE_NULL ? lud_tree_text(node, text, error) : LUD_OK;
}

/* Copies of texts that are printed: line ends and tabs become blanks, those at the end are dropped, and other
 * control characters '?'. */
static lud_status tame(lud_scenario *s, const char **text, lud_error *error) {
    if (!*text) return LUD_OK;
    char *copy = lud_arena_text(s->arena, *text, strlen(*text));
    if (!copy) return lud_out_of_memory(error);
    size_t n = strlen(copy);
    for (size_t i = 0; i < n; i++)
        if (copy[i] == '\n' || copy[i] == '\t' || copy[i] == '\r') copy[i] = ' ';
    while (n > 0 && copy[n - 1] == ' ') copy[--n] = 0;
    lud_text_tame(copy);
    *text = copy;
    return LUD_OK;
}

/* A section for the folders above: null when absent or empty. */
static lud_tree *section(const lud_scenario *s, const char *key) {
    lud_tree *node = lud_tree_get(s->root, key);
    return node && node->kind != LUD_TREE_NULL ? node : NULL;
}

/* The keys of a view file come before those of the section `view`. */
static lud_status read_view_file(lud_scenario *s, const char *path, lud_tree_files *files, lud_error *error) {
    lud_tree *keys, *view = lud_tree_find(s->root, "view");
    LUD_TRY(lud_tree_read_file(s->arena, path, files, &keys, error));
    if (keys->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(keys, error, "the keys of a view: lines of `key: value`");
    if (!view || view->kind == LUD_TREE_NULL)
        return lud_tree_put(s->arena, s->root, "view", path, keys, error);
    if (view->kind == LUD_TREE_MAPPING) lud_tree_merge(view, keys); /* else who reads the section tells */
    return LUD_OK;
}

/* What the caller wants otherwise, the later before the earlier. */
static lud_status override(lud_scenario *s, const lud_scenario_overrides *o, lud_tree_files *files,
                           lud_error *error) {
    if (o->view) LUD_TRY(read_view_file(s, o->view, files, error));
    for (int i = 0; i < o->n_set; i++) LUD_TRY(lud_tree_set(s->arena, s->root, o->set[i], error));
    for (int i = 0; i < o->n_numbers; i++) {
        const struct lud_scenario_number *number = &o->numbers[i];
        LUD_TRY(
            number->assignment
                ? lud_tree_set_from(s->arena, s->root, number->source, number->assignment, error)
                : lud_tree_set_real(s->arena, s->root, number->source, number->path, number->value, error));
    }
    for (int i = 0; i < o->n_values; i++)
        LUD_TRY(lud_tree_set_value(s->arena, s->root, o->values[i].source, o->values[i].path,
                                   o->values[i].value, o->values[i].words, error));
    return LUD_OK;
}

static lud_status read_view(lud_scenario *s, lud_error *error) {
    LUD_TRY(lud_view_section_read(s->arena, section(s, "view"), &s->view, error));
    return tame(s, &s->view.caption.text, error);
}

static lud_status read_root(lud_scenario *s, const lud_scenario_overrides *o, lud_tree_files *files,
                            lud_error *error) {
    lud_status status = override(s, o, files, error);
    if (status) return status;
    if (s->root->kind != LUD_TREE_MAPPING)
        return lud_tree_expected(s->root, error,
                                 "a scenario: lines of `key: value`, the first of them `ludus: 1`");
    bool reference = is_reference_file(s->root);
    status = find_world(s, error);
    if (!status && !reference) status = check_keys(s, error);
    s->name = default_name(s->arena, s->path);
    if (!s->name) return lud_out_of_memory(error);
    if (!status && !reference) status = read_text_key(s, "name", &s->name, error);
    if (!status && !reference) status = read_text_key(s, "about", &s->about, error);
    if (!status) status = tame(s, &s->name, error);
    if (!status) status = tame(s, &s->about, error);
    if (!status)
        status =
            lud_options_read(&lud_run_option_table, s->arena, lud_tree_get(s->root, "run"), &s->run, error);
    if (!status) status = read_view(s, error);
    if (status) return status;
    override_run(&s->run, &o->run);
    s->environments_given = o->run.environments >= 0 || says_environments(s);
    s->policies = section(s, "policies");
    s->learner = section(s, "learner");
    LUD_TRY(s->world->parse(s->world, s->root, s->path, (uint64_t)s->run.seed, &s->model, error));
    return lud_view_section_check_agent(&s->view, section(s, "view"), s->model->layout.n_agents, error);
}

static lud_status begin(const char *path, lud_scenario **scenario, lud_error *error) {
    *scenario = NULL;
    lud_arena *arena = lud_arena_create(0);
    lud_scenario *s = arena ? lud_arena_take(arena, sizeof *s) : NULL;
    if (!s || !(s->path = lud_arena_text(arena, path, strlen(path)))) {
        lud_arena_destroy(arena);
        return lud_out_of_memory(error);
    }
    s->arena = arena;
    *scenario = s;
    return LUD_OK;
}

static lud_status end(lud_status status, lud_scenario **scenario) {
    if (status) {
        lud_scenario_destroy(*scenario);
        *scenario = NULL;
    }
    return status;
}

lud_status lud_scenario_load(const char *path, const char *const *set, int n_set, lud_scenario **scenario,
                             lud_error *error) {
    const lud_scenario_overrides overrides = {.set = set, .n_set = n_set, .run = lud_run_as_written};
    return lud_scenario_load_with(path, &overrides, NULL, scenario, error);
}

lud_status lud_scenario_load_with(const char *path, const lud_scenario_overrides *overrides,
                                  lud_tree_files *files, lud_scenario **scenario, lud_error *error) {
    LUD_TRY(begin(path, scenario, error));
    const char *text = overrides->text;
    lud_status status = text ? lud_tree_read_instead((*scenario)->arena, path, text, strlen(text), files,
                                                     &(*scenario)->root, error)
                             : lud_tree_read_file((*scenario)->arena, path, files, &(*scenario)->root, error);
    if (!status) status = read_root(*scenario, overrides, files, error);
    return end(status, scenario);
}

lud_status lud_scenario_read(const char *name, const char *text, size_t length, const char *const *set,
                             int n_set, lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides overrides = {.set = set, .n_set = n_set, .run = lud_run_as_written};
    return lud_scenario_read_with(name, text, length, &overrides, NULL, scenario, error);
}

lud_status lud_scenario_read_with(const char *name, const char *text, size_t length,
                                  const lud_scenario_overrides *overrides, lud_tree_files *files,
                                  lud_scenario **scenario, lud_error *error) {
    LUD_TRY(begin(name, scenario, error));
    lud_status status = lud_tree_read_text((*scenario)->arena, name, text, length, &(*scenario)->root, error);
    if (!status) status = read_root(*scenario, overrides, files, error);
    return end(status, scenario);
}

void lud_scenario_destroy(lud_scenario *scenario) {
    if (!scenario) return;
    if (scenario->model) scenario->world->free(scenario->model);
    lud_arena_destroy(scenario->arena);
}

lud_status lud_scenario_effective(const lud_scenario *s, lud_arena *arena, lud_tree **root,
                                  lud_error *error) {
    lud_tree *out = lud_arena_take(arena, sizeof *out);
    if (!out) return lud_out_of_memory(error);
    out->kind = LUD_TREE_MAPPING;
    *root = out;
    bool ok = lud_tree_add_int(arena, out, "ludus", 1) && lud_tree_add_text(arena, out, "name", s->name);
    if (ok && s->about) ok = lud_tree_add_text(arena, out, "about", s->about) != NULL;
    if (!ok || !lud_tree_add_text(arena, out, "world", s->world->name)) return lud_out_of_memory(error);
    LUD_TRY(s->world->write(s->model, arena, out, error));
    const lud_tree *const sections[] = {s->policies, s->learner, section(s, "view")};
    for (int i = 0; i < 3; i++)
        if (sections[i] && !lud_tree_add_copy(arena, out, sections[i]->key, sections[i]))
            return lud_out_of_memory(error);
    lud_tree *run = lud_tree_add_mapping(arena, out, "run");
    if (!run) return lud_out_of_memory(error);
    return lud_options_write(&lud_run_option_table, arena, &s->run, run, error);
}
