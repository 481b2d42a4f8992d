#include "cli/experiment/plan.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include <xxhash.h>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/options/tree.h"
#include "base/text.h"
#include "learn/learner.h"
#include "learn/runs/run.h"

/* ---- reading ---- */

bool lud_experiment_is_name(const char *text) {
    bool plain = *text && *text != '.' && strlen(text) < 64;
    for (const char *c = text; *c; c++) plain = plain && (isalnum((unsigned char)*c) || strchr("-_.+", *c));
    return plain;
}

static lud_status read_name(lud_tree *node, const char *text, lud_error *error) {
    return lud_experiment_is_name(text)
               ? LUD_OK
               : lud_tree_expected(node, error, "a name of at most 63 letters, digits, -, _, . and +");
}

/* A scalar as YAML reads it back. */
static void append_scalar(const lud_tree *node, lud_text *out) {
    if (!node->quoted) {
        lud_text_append(out, "%s", node->kind == LUD_TREE_NULL ? "null" : node->text);
        return;
    }
    lud_text_append(out, "\"");
    for (const char *c = node->text; *c; c++) {
        if (*c == '"' || *c == '\\') lud_text_append(out, "\\");
        if ((unsigned char)*c < ' ')
            lud_text_append(out, "\\x%02x", (unsigned char)*c);
        else
            lud_text_append(out, "%c", *c);
    }
    lud_text_append(out, "\"");
}

static lud_status append_value(lud_tree *node, lud_text *out, lud_error *error) {
    node->used = true;
    if (node->kind == LUD_TREE_SCALAR || node->kind == LUD_TREE_NULL) {
        append_scalar(node, out);
        return LUD_OK;
    }
    if (node->kind != LUD_TREE_SEQUENCE)
        return lud_tree_expected(node, error,
                                 "a value or a list of values; keys of mappings stand with points, "
                                 "as in learner.optimiser.type");
    lud_text_append(out, "[");
    for (lud_tree *item = node->child; item; item = item->next) {
        if (item->kind != LUD_TREE_SCALAR) return lud_tree_expected(item, error, "a value");
        if (item != node->child) lud_text_append(out, ", ");
        append_scalar(item, out);
    }
    lud_text_append(out, "]");
    return LUD_OK;
}

/* A mapping of settings; `node` may be null. */
static lud_status read_settings(lud_arena *arena, lud_tree *node, lud_experiment_settings *set,
                                lud_error *error) {
    *set = (lud_experiment_settings){0};
    if (!node || node->kind == LUD_TREE_NULL) return LUD_OK;
    node->used = true;
    if (node->kind != LUD_TREE_MAPPING) return lud_tree_expected(node, error, "a mapping {key: value}");
    if (node->n_children > LUD_EXPERIMENT_SETTINGS)
        return lud_tree_expected(node, error, "at most %d settings", LUD_EXPERIMENT_SETTINGS);
    const char **items = lud_arena_take_array(arena, node->n_children + 1, sizeof *items);
    if (!items) return lud_no_memory(error, "an experiment");
    set->items = items;
    for (lud_tree *item = node->child; item; item = item->next) {
        lud_text text = {0};
        if (strcmp(item->key, "run.seed") == 0 || strchr(item->key, '='))
            return lud_tree_expected(item, error,
                                     "a key of the scenario other than run.seed, which `seeds` sets");
        lud_text_append(&text, "%s=", item->key);
        lud_status status = append_value(item, &text, error);
        if (!status && !text.failed) items[set->n] = lud_arena_text(arena, text.bytes, text.length);
        if (!status && (text.failed || !items[set->n++])) status = lud_no_memory(error, "an experiment");
        lud_text_free(&text);
        if (status) return status;
    }
    return LUD_OK;
}

const char *lud_experiment_stem(lud_arena *arena, const char *path) {
    const char *end = path + strlen(path), *begin;
    while (end > path + 1 && end[-1] == '/') end--;
    for (begin = end; begin > path && begin[-1] != '/';) begin--;
    const char *dot = memrchr(begin, '.', (size_t)(end - begin));
    return lud_arena_text(arena, begin, (size_t)((dot ? dot : end) - begin));
}

static lud_status read_task(lud_arena *arena, lud_tree *node, const char *file, lud_experiment_task *task,
                            lud_error *error) {
    static const char *const keys[] = {"file", "name", "low", "high"};
    lud_tree *path = node, *name = NULL, *low = NULL, *high = NULL;
    const char *text;
    *task = (lud_experiment_task){.low = NAN, .high = NAN};
    if (node->kind == LUD_TREE_MAPPING) {
        LUD_TRY(lud_tree_check_keys(node, keys, sizeof keys / sizeof *keys, error));
        path = lud_tree_get(node, "file");
        name = lud_tree_get(node, "name");
        low = lud_tree_get(node, "low");
        high = lud_tree_get(node, "high");
        if (!path) return lud_tree_expected(node, error, "the scenario's file, as in {file: a.yaml}");
        if (!low != !high) return lud_tree_expected(node, error, "both low and high, or neither");
    }
    node->used = true;
    LUD_TRY(lud_tree_text(path, &text, error));
    if (low) LUD_TRY(lud_tree_real(low, -1e300, 1e300, &task->low, error));
    if (high) LUD_TRY(lud_tree_real(high, -1e300, 1e300, &task->high, error));
    if (high && task->low == task->high) return lud_tree_expected(high, error, "another number than low");
    task->path = lud_path_find(arena, file, text);
    task->name = lud_experiment_stem(arena, text);
    if (!task->path || !task->name) return lud_no_memory(error, "an experiment");
    if (name) LUD_TRY(lud_tree_text(name, &task->name, error));
    return read_name(name ? name : path, task->name, error);
}

static lud_status read_tasks(lud_arena *arena, lud_tree *node, const char *file, lud_experiment *e,
                             lud_error *error) {
    if (node->kind != LUD_TREE_SEQUENCE || node->n_children == 0 || node->n_children > LUD_EXPERIMENT_TASKS)
        return lud_tree_expected(node, error, "a list of 1 to %d scenarios", LUD_EXPERIMENT_TASKS);
    for (lud_tree *item = node->child; item; item = item->next) {
        LUD_TRY(read_task(arena, item, file, &e->tasks[e->n_tasks], error));
        for (int k = 0; k < e->n_tasks; k++)
            if (strcmp(e->tasks[k].name, e->tasks[e->n_tasks].name) == 0)
                return lud_tree_expected(item, error, "another name than '%s', which a scenario has already",
                                         e->tasks[k].name);
        e->n_tasks++;
    }
    return LUD_OK;
}

static lud_status read_variants(lud_arena *arena, lud_tree *node, lud_experiment *e, lud_error *error) {
    const size_t room = node && node->n_children > 0 ? node->n_children : 1;
    e->variants = lud_arena_take_array(arena, room, sizeof *e->variants);
    if (!e->variants) return lud_no_memory(error, "an experiment");
    if (!node) {
        e->variants[e->n_variants++] = (lud_experiment_variant){.name = "plain"};
        return LUD_OK;
    }
    if (node->kind != LUD_TREE_MAPPING || node->n_children == 0 || node->n_children > LUD_EXPERIMENT_VARIANTS)
        return lud_tree_expected(node, error, "a mapping of 1 to %d variants, {name: {key: value}}",
                                 LUD_EXPERIMENT_VARIANTS);
    for (lud_tree *item = node->child; item; item = item->next) {
        lud_experiment_variant *v = &e->variants[e->n_variants++];
        *v = (lud_experiment_variant){.name = item->key};
        LUD_TRY(read_name(item, v->name, error));
        LUD_TRY(read_settings(arena, item, &v->set, error));
        item->used = true;
    }
    return LUD_OK;
}

static lud_status read_seeds(lud_tree *node, lud_experiment *e, lud_error *error) {
    int64_t n = 3;
    if (!node || node->kind == LUD_TREE_SCALAR) {
        if (node) LUD_TRY(lud_tree_int(node, 1, LUD_EXPERIMENT_SEEDS, &n, error));
        for (e->n_seeds = 0; e->n_seeds < n; e->n_seeds++) e->seeds[e->n_seeds] = e->n_seeds + 1;
        return LUD_OK;
    }
    if (node->kind != LUD_TREE_SEQUENCE || node->n_children == 0 || node->n_children > LUD_EXPERIMENT_SEEDS)
        return lud_tree_expected(node, error, "the number of seeds, or a list of 1 to %d",
                                 LUD_EXPERIMENT_SEEDS);
    for (lud_tree *item = node->child; item; item = item->next) {
        LUD_TRY(lud_tree_int(item, 0, INT64_MAX, &e->seeds[e->n_seeds], error));
        for (int k = 0; k < e->n_seeds; k++)
            if (e->seeds[k] == e->seeds[e->n_seeds]) return lud_tree_expected(item, error, "a seed once");
        e->n_seeds++;
    }
    return LUD_OK;
}

static lud_status read_baseline(lud_tree *node, lud_experiment *e, lud_error *error) {
    const char *names[LUD_EXPERIMENT_VARIANTS];
    for (int k = 0; k < e->n_variants; k++) names[k] = e->variants[k].name;
    return node ? lud_tree_choice(node, names, e->n_variants, &e->baseline, error) : LUD_OK;
}

static lud_status read_root(lud_arena *arena, lud_tree *root, const char *file, lud_experiment *e,
                            lud_error *error) {
    static const char *const keys[] = {"experiment", "about",    "score",    "curve", "smaller_is_better",
                                       "scenarios",  "variants", "baseline", "seeds", "set"};
    *e = (lud_experiment){0};
    if (root->kind != LUD_TREE_MAPPING) return lud_tree_expected(root, error, "a mapping of an experiment");
    LUD_TRY(lud_tree_check_keys(root, keys, sizeof keys / sizeof *keys, error));
    static const char *const needed[] = {"experiment", "score", "scenarios"};
    for (int k = 0; k < 3; k++)
        if (!lud_tree_find(root, needed[k]))
            return lud_tree_expected(root, error, "the key %s, as in `%s`", needed[k],
                                     k == 0   ? "experiment: wide-or-narrow"
                                     : k == 1 ? "score: evaluation/return"
                                              : "scenarios: [a.yaml]");
    lud_tree *name = lud_tree_get(root, "experiment"), *about = lud_tree_get(root, "about");
    lud_tree *curve = lud_tree_get(root, "curve"), *least = lud_tree_get(root, "smaller_is_better");
    LUD_TRY(lud_tree_text(name, &e->name, error));
    LUD_TRY(read_name(name, e->name, error));
    if (about) LUD_TRY(lud_tree_text(about, &e->about, error));
    LUD_TRY(lud_tree_text(lud_tree_get(root, "score"), &e->score, error));
    e->curve = strncmp(e->score, "evaluation/", 11) == 0 ? e->score + 11 : e->score;
    if (curve) LUD_TRY(lud_tree_text(curve, &e->curve, error));
    if (least) LUD_TRY(lud_tree_bool(least, &e->least, error));
    LUD_TRY(read_tasks(arena, lud_tree_get(root, "scenarios"), file, e, error));
    LUD_TRY(read_variants(arena, lud_tree_get(root, "variants"), e, error));
    LUD_TRY(read_baseline(lud_tree_get(root, "baseline"), e, error));
    LUD_TRY(read_seeds(lud_tree_get(root, "seeds"), e, error));
    return read_settings(arena, lud_tree_get(root, "set"), &e->set, error);
}

lud_status lud_experiment_read(lud_arena *arena, const char *path, lud_experiment *e, lud_error *error) {
    lud_tree *root;
    LUD_TRY(lud_tree_read_file(arena, path, NULL, &root, error));
    return read_root(arena, root, path, e, error);
}

lud_status lud_experiment_parse(lud_arena *arena, const char *name, const char *text, size_t length,
                                lud_experiment *e, lud_error *error) {
    lud_tree *root;
    LUD_TRY(lud_tree_read_text(arena, name, text, length, &root, error));
    return read_root(arena, root, name, e, error);
}

/* ---- checking ---- */

static bool measures(const lud_learner *l, const char *column) {
    for (int k = 0; k < l->n_columns; k++)
        if (strcmp(l->columns[k].name, column) == 0) return true;
    for (int k = 0; k < l->n_evaluation_columns; k++)
        if (strcmp(l->evaluation_columns[k].name, column) == 0) return true;
    return false;
}

static lud_status check_score(const lud_experiment *e, const lud_experiment_task *task,
                              const lud_learner *learner, lud_error *error) {
    enum { MOST = 512 };
    const char *names[MOST];
    int n = 0;
    if (measures(learner, e->score)) return LUD_OK;
    for (int k = 0; k < learner->n_columns && n < MOST; k++) names[n++] = learner->columns[k].name;
    for (int k = 0; k < learner->n_evaluation_columns && n < MOST; k++)
        names[n++] = learner->evaluation_columns[k].name;
    const char *near = lud_nearest_name(e->score, names, n);
    return lud_invalid(error, "score: %s does not measure '%s'%s%s%s", task->name, e->score,
                       near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* The column by which the learner itself tells what is better. */
static lud_status choose_score(lud_experiment *e, const lud_learner *learner, lud_error *error) {
    const lud_score *const scores[] = {&learner->kind->score, &learner->kind->training_score};
    for (int k = 0; k < 2; k++)
        if (scores[k]->column && measures(learner, scores[k]->column)) {
            e->score = scores[k]->column;
            e->least = scores[k]->least;
            return LUD_OK;
        }
    return lud_invalid(error,
                       "the learner %s has no score of its own here; name a column of metrics.csv "
                       "with --score",
                       learner->kind->name);
}

/* Finds what is known of a training before it runs. */
static lud_status find_training(const lud_scenario *scenario, const lud_learner *learner,
                                lud_experiment_training *training, lud_error *error) {
    lud_tree *root = NULL;
    char *text = NULL;
    size_t length = 0;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "an experiment");
    *training = (lud_experiment_training){.iterations = learner->n_iterations};
    lud_status status = lud_scenario_effective(scenario, arena, &root, error);
    if (!status) status = lud_learner_write(learner, arena, root, error);
    if (!status) status = lud_tree_write(arena, root, &text, &length, error);
    if (!status) training->key = XXH3_64bits(text, length);
    if (!status && learner->kind->counts_steps) { /* one of the two, as in cli/train.c */
        lud_tree *section = lud_tree_find(root, "learner");
        lud_tree *steps = lud_tree_find(section, "steps"), *total = lud_tree_find(section, "total_steps");
        if (steps || total)
            status = lud_tree_int(steps ? steps : total, 0, INT64_MAX, &training->steps, error);
    }
    lud_arena_destroy(arena);
    return status;
}

static lud_status check_runs(lud_experiment *e, int task, int variant, lud_error *error) {
    const lud_experiment_variant *v = &e->variants[variant];
    const char *set[2 * LUD_EXPERIMENT_SETTINGS];
    struct lud_scenario_number numbers[LUD_EXPERIMENT_SETTINGS];
    lud_scenario_overrides overrides = {.run = lud_run_as_written, .set = set, .numbers = numbers};
    for (int i = 0; i < e->set.n; i++) set[overrides.n_set++] = e->set.items[i];
    for (int i = 0; i < v->set.n && !v->source; i++) set[overrides.n_set++] = v->set.items[i];
    for (int i = 0; i < v->set.n && v->source; i++)
        numbers[overrides.n_numbers++] = (struct lud_scenario_number){
            .source = v->source, .path = v->set.items[i], .assignment = v->set.items[i]};
    overrides.run.threads = 1;
    lud_scenario *scenario = NULL;
    lud_device *device = NULL;
    lud_learner *learner = NULL;
    lud_status status = lud_interrupt_check(error);
    if (!status) status = lud_run_scenario(e->tasks[task].path, &overrides, &scenario, error);
    if (!status) status = lud_device_open("cpu", 1, &device, error);
    if (!status) status = lud_learner_create(scenario, device, &learner, error);
    if (!status && !e->score) status = choose_score(e, learner, error);
    if (!status) status = check_score(e, &e->tasks[task], learner, error);
    if (!status)
        status = find_training(scenario, learner, lud_experiment_training_of(e, task, variant), error);
    lud_learner_destroy(learner);
    lud_device_close(device);
    lud_scenario_destroy(scenario);
    if (status && status != LUD_INTERRUPTED)
        lud_fail_context(error, "%s, %s", e->tasks[task].name, e->variants[variant].name);
    return status;
}

lud_status lud_experiment_check(lud_arena *arena, lud_experiment *e, lud_error *error) {
    e->trainings = lud_arena_take_array(arena, (size_t)(e->n_tasks * e->n_variants), sizeof *e->trainings);
    if (!e->trainings) return lud_no_memory(error, "an experiment");
    for (int task = 0; task < e->n_tasks; task++)
        for (int variant = 0; variant < e->n_variants; variant++)
            LUD_TRY(check_runs(e, task, variant, error));
    return LUD_OK;
}

int lud_experiment_n_runs(const lud_experiment *e) {
    return e->n_tasks * e->n_variants * e->n_seeds;
}

lud_experiment_run lud_experiment_run_at(const lud_experiment *e, int number) {
    const int place = number / e->n_seeds;
    return (lud_experiment_run){place / e->n_variants, place % e->n_variants, number % e->n_seeds};
}

lud_experiment_training *lud_experiment_training_of(const lud_experiment *e, int task, int variant) {
    return &e->trainings[task * e->n_variants + variant];
}
