#include "learn/runs/run.h"

#include <dirent.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "agents/cast_overlay.h"
#include "base/file.h"
#include "learn/runs/run_named.h"
#include "learn/train.h"

/* A scenario's file where a RUN was expected. */
static lud_status no_folder(const char *path, const lud_scenario *scenario, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    const bool trains =
        scenario->learner && lud_learner_kind_of(scenario, &kind, NULL) == LUD_OK && kind->create;
    return lud_invalid(error, "%s is a scenario, expected a RUN; `ludus %s %s -o RUN` makes one", path,
                       trains ? "train" : "solve", path);
}

static lud_status kind_in_folder(const char *run, const char *folder, const lud_scenario *scenario,
                                 const lud_learner_kind **kind, lud_error *error) {
    int n;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    bool there = false;
    for (int i = 0; i < n && !there && !lud_run_file(run); i++)
        if (kinds[i]->file) {
            LUD_TRY(lud_run_holds(folder, kinds[i]->file, &there, error));
            if (there) *kind = kinds[i];
        }
    if (there) return LUD_OK;
    LUD_TRY(lud_run_has_parameters(run, &there, error));
    if (there && scenario->learner) LUD_TRY(lud_learner_kind_of(scenario, kind, error));
    if (there && scenario->learner && (*kind)->create) return LUD_OK;
    if (!lud_folder_exists(folder)) return no_folder(run, scenario, error);
    lud_text files = {0};
    for (int i = 0; i < n; i++)
        if (kinds[i]->file) lud_text_append(&files, " or %s", kinds[i]->file);
    const lud_status status =
        lud_invalid(error,
                    "%s: expected a RUN, a folder with policy.safetensors or checkpoint.safetensors of its "
                    "learner%s; a training that was ended before "
                    "its first checkpoint has none and begins anew",
                    run, files.bytes ? files.bytes : "");
    lud_text_free(&files);
    return status;
}

lud_status lud_run_kind(const char *run, const lud_scenario *scenario, const lud_learner_kind **kind,
                        lud_error *error) {
    char *folder = lud_run_folder(run);
    const lud_status status = folder
                                  ? kind_in_folder(run, lud_run_is(run) ? folder : run, scenario, kind, error)
                                  : lud_no_memory(error, "a run");
    free(folder);
    return status;
}

/* ---- scenarios ---- */

/* A message for a file that is not there, with the nearest name of its folder. */
static lud_status missing_file(const char *path, lud_error *error) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[1024];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    lud_arena *arena = lud_arena_create(0);
    DIR *stream = arena ? opendir(folder) : NULL;
    enum { MAX_NAMES = 4096 };
    const char **names = arena ? lud_arena_take_array(arena, MAX_NAMES, sizeof *names) : NULL;
    int n = 0;
    for (struct dirent *entry; stream && names && n < MAX_NAMES && (entry = readdir(stream));) {
        if (entry->d_name[0] == '.') continue;
        char *copy = lud_arena_text(arena, entry->d_name, strlen(entry->d_name));
        if (copy) names[n++] = copy;
    }
    if (stream) closedir(stream);
    const char *near = n ? lud_nearest_name(name, names, n) : NULL;
    if (near)
        lud_invalid(error, "%s: no such file, did you mean '%.*s%s'?", path,
                    slash ? (int)(slash - path + 1) : 0, path, near);
    else
        lud_invalid(error, "%s: no such file", path);
    lud_arena_destroy(arena);
    return LUD_ERROR_INPUT;
}

/* A folder without scenario.yaml: what it holds instead. */
static lud_status no_run(const char *folder, lud_error *error) {
    enum { MOST_SHOWN = 3 };
    lud_text found = {0};
    int n = 0;
    bool unfinished = false;
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        const char *name = entry->d_name, *dot = strrchr(name, '.');
        if (dot && strcmp(dot, ".partial") == 0) unfinished = true;
        if (!dot || strcmp(dot, ".yaml") != 0 || n++ >= MOST_SHOWN) continue;
        lud_text_append(&found, "%s%s/%s", n > 1 ? ", " : "", folder, name);
    }
    if (stream) closedir(stream);
    lud_text_tame(found.bytes ? found.bytes : (char[]){""});
    lud_status status =
        unfinished
            ? lud_invalid(
                  error, "%s: a solution that is not finished; `ludus solve SCENARIO -o %s --resume` goes on",
                  folder, folder)
        : n > 0
            ? lud_invalid(error, "%s: a folder of scenarios, expected one of them or a RUN: %s%s", folder,
                          found.bytes ? found.bytes : "", n > MOST_SHOWN ? ", ..." : "")
            : lud_invalid(error,
                          "%s: a folder without scenario.yaml, so no RUN; `ludus train SCENARIO -o RUN` or "
                          "`ludus solve SCENARIO -o RUN` makes one",
                          folder);
    lud_text_free(&found);
    return status;
}

lud_status lud_run_none(const char *path, lud_error *error) {
    if (!lud_file_exists(path)) return missing_file(path, error);
    return lud_invalid(
        error,
        "%s is a file, expected a RUN, a folder; `ludus train SCENARIO -o RUN` or `ludus solve "
        "SCENARIO -o RUN` makes one",
        path);
}

/* Where the scenario of a RUN lies, into *path, which is the caller's; empty on failure. */
static lud_status scenario_path(const char *run, lud_text *path, lud_error *error) {
    char *folder = lud_run_folder(run);
    if (folder) lud_text_append(path, "%s/scenario.yaml", folder);
    const bool failed = !folder || path->failed;
    free(folder);
    if (!failed) return LUD_OK;
    lud_text_free(path);
    return lud_no_memory(error, "a run");
}

/* Of a RUN; overrides may be null. */
static lud_status load_scenario(const char *run, const lud_scenario_overrides *overrides,
                                lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    if (!lud_run_is(run)) return lud_run_none(run, error);
    lud_text path = {0};
    LUD_TRY(scenario_path(run, &path, error));
    char *folder = lud_run_folder(run);
    const lud_status status =
        !folder ? lud_no_memory(error, "a run")
        : !lud_file_exists(path.bytes) && lud_folder_exists(folder)
            ? no_run(folder, error)
            : lud_scenario_load_with(path.bytes, overrides ? overrides : &none, NULL, scenario, error);
    lud_text_free(&path);
    free(folder);
    return status;
}

lud_status lud_run_made_from(const char *run, lud_scenario **scenario, lud_error *error) {
    *scenario = NULL;
    return lud_run_is(run) ? load_scenario(run, NULL, scenario, error) : lud_run_none(run, error);
}

/* `--set beta_r=3` means a key of the learner's section, which the layer that reads scenarios does not know.
 */
static void tell_learner(const lud_scenario_overrides *overrides, lud_error *error) {
    int n;
    const lud_learner_kind *const *kinds = lud_learners(&n);
    const int n_keys = overrides->n_set + overrides->n_numbers;
    for (int i = 0; error && i < n_keys; i++) {
        const bool text = i < overrides->n_set;
        const char *key = text ? overrides->set[i] : overrides->numbers[i - overrides->n_set].path;
        const int length = (int)strcspn(key, "=");
        char found[80], place[200];
        snprintf(found, sizeof found, "found '%.*s'", length, key);
        const char *at = strstr(error->text, found);
        if (!at || at[strlen(found)]) continue;
        for (int k = 0; k < n; k++) {
            char own[64];
            snprintf(own, sizeof own, "%.*s", length, key);
            if (!kinds[k]->options ||
                !lud_option_place(kinds[k]->options, "learner", own, place, sizeof place))
                continue;
            const size_t used = strlen(error->text);
            snprintf(error->text + used, sizeof error->text - used, "; its place is %s, as in %s %s=...",
                     place, text ? "--set" : overrides->numbers[i - overrides->n_set].source, place);
            return;
        }
    }
}

lud_status lud_run_scenario(const char *path, const lud_scenario_overrides *overrides,
                            lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    *scenario = NULL;
    if (!overrides) overrides = &none;
    const lud_status status = lud_run_is(path) ? load_scenario(path, overrides, scenario, error)
                              : lud_file_exists(path)
                                  ? lud_scenario_load_with(path, overrides, NULL, scenario, error)
                                  : missing_file(path, error);
    if (status == LUD_ERROR_INPUT) tell_learner(overrides, error);
    if (status) return status;
    if ((*scenario)->run.threads > 0) omp_set_num_threads((int)(*scenario)->run.threads);
    return LUD_OK;
}

static const lud_learner_kind *kind_in(const lud_scenario *scenario) {
    const lud_learner_kind *kind = NULL;
    return scenario->learner && lud_learner_kind_of(scenario, &kind, NULL) == LUD_OK ? kind : NULL;
}

/* The scenario with the learner of the run, which is of that kind: who was trained acts as it was trained,
 * whatever another scenario says that a learner of its own is to do. The run's own is as it is, overrides
 * included. */
static lud_status join_scenarios(const char *folder, const lud_learner_kind *kind, lud_learned *learned,
                                 const lud_scenario **scenario, lud_error *error) {
    lud_text own = {0};
    LUD_TRY(scenario_path(folder, &own, error));
    const bool is_own = kind_in(*scenario) == kind && strcmp(own.bytes, (*scenario)->path) == 0;
    lud_text_free(&own);
    if (is_own) return LUD_OK;
    const lud_status status = load_scenario(folder, NULL, &learned->trained, error);
    if (status || kind_in(learned->trained) != kind) return status;
    learned->joint = malloc(sizeof *learned->joint);
    if (!learned->joint) return lud_no_memory(error, "a run");
    *learned->joint = **scenario;
    learned->joint->learner = learned->trained->learner;
    learned->joint->path = learned->trained->path; /* beside which lies what that section names */
    *scenario = learned->joint;
    return LUD_OK;
}

/* Of a run of before, which has nothing but its checkpoint, all that this holds is loaded: what its learner
 * kept as the best lies there too. */
lud_status lud_run_load(const char *run, lud_learner *learner, const lud_model *model, lud_kept *kept,
                        lud_error *error) {
    lud_checkpoint *saved = NULL;
    LUD_TRY(lud_run_parameters(run, learner->kind->name, model, &saved, kept, error));
    const char *format = lud_checkpoint_text(saved, "format");
    if (lud_run_file(run) || (format && strcmp(format, "ludus-policy-1") == 0))
        learner->kind->visit_policy(learner, saved);
    else
        learner->kind->visit(learner, saved);
    const lud_status status = lud_checkpoint_status(saved, error);
    lud_checkpoint_destroy(saved);
    return status ? lud_fail_context(error, "%s", run) : LUD_OK;
}

lud_status lud_learned_open(const char *folder, const lud_scenario *scenario, const char *device,
                            const lud_learner_kind *kind, lud_learned *learned, lud_error *error) {
    *learned = (lud_learned){0};
    lud_status status = LUD_OK;
    if (kind) status = join_scenarios(folder, kind, learned, &scenario, error);
    if (!status) status = lud_scenario_device(scenario, device, &learned->device, error);
    if (!status) status = lud_learner_create(scenario, learned->device, &learned->learner, error);
    if (!status && kind && learned->learner->kind != kind)
        status = lud_invalid(error, "%s: trained by %s; expected a run of %s", folder,
                             learned->learner->kind->name, kind->name);
    if (!status) status = lud_run_load(folder, learned->learner, scenario->model, &learned->kept, error);
    if (status) lud_learned_close(learned);
    return status;
}

void lud_learned_close(lud_learned *learned) {
    lud_learner_destroy(learned->learner);
    lud_device_close(learned->device);
    lud_scenario_destroy(learned->trained);
    free(learned->joint);
    *learned = (lud_learned){0};
}

/* A loaded learner; the last of its policies gives it back. */
typedef struct source {
    lud_learned learned;
    lud_policy *policy;
    int users;
} source;

/* One agent's share. */
typedef struct share {
    lud_policy base;
    lud_policy_kind kind; /* of the learner's policy, with our own end */
    source *from;
} share;

static void give_back(source *s) {
    if (!s || --s->users > 0) return;
    lud_policy_destroy(s->policy);
    lud_learned_close(&s->learned);
    free(s);
}

static void destroy(lud_policy *policy) {
    share *own = (share *)policy;
    give_back(own->from);
    free(own);
}

static void reset(lud_policy *policy, uint8_t *hidden, size_t hidden_stride, int n) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->reset(shared, hidden, hidden_stride, n);
}

static void act(lud_policy *policy, const lud_act *wanted) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->act(shared, wanted);
}

static bool distribution(lud_policy *policy, const uint8_t *state, int agent, int goal, double *p) {
    return lud_policy_distribution(((share *)policy)->from->policy, state, agent, goal, p);
}

static void joint(lud_policy *policy, const uint8_t *state, double *p) {
    lud_policy *shared = ((share *)policy)->from->policy;
    shared->kind->joint(shared, state, p);
}

static bool value(lud_policy *policy, const uint8_t *state, int agent, double *v) {
    return lud_policy_value(((share *)policy)->from->policy, state, agent, v);
}

static int attention(lud_policy *policy, const uint8_t *state, float *weights) {
    return lud_policy_attention(((share *)policy)->from->policy, state, weights);
}

static lud_status take_part(source *s, lud_cast *cast, int agent, lud_error *error) {
    share *own = calloc(1, sizeof *own);
    if (!own) return lud_no_memory(error, "a policy");
    *own = (share){.base = *s->policy, .kind = *s->policy->kind, .from = s};
    own->kind.destroy = destroy;
    own->kind.reset = s->policy->kind->reset ? reset : NULL;
    own->kind.act = act;
    own->kind.distribution = distribution;
    own->kind.recalled_distribution = NULL; /* learners with such a policy join the cast themselves */
    own->kind.joint = s->policy->kind->joint ? joint : NULL;
    own->kind.value = s->policy->kind->value ? value : NULL;
    own->kind.attention = s->policy->kind->attention ? attention : NULL;
    own->base.kind = &own->kind;
    s->users++;
    lud_cast_set(cast, agent, &own->base);
    return LUD_OK;
}

bool lud_run_people_told(const lud_scenario *scenario) {
    return scenario->policies && scenario->policies->kind == LUD_TREE_MAPPING &&
           lud_tree_get(scenario->policies, "human");
}

/* One learner for all agents, each with its share. */
static lud_status share_policy(const char *folder, const lud_scenario *scenario, const lud_learner_kind *kind,
                               lud_cast *cast, lud_error *error) {
    source *s = calloc(1, sizeof *s);
    if (!s) return lud_no_memory(error, "a learner");
    s->users = 1; /* this function */
    lud_status status = lud_learned_open(folder, scenario, "cpu", kind, &s->learned, error);
    if (!status) status = kind->policy(s->learned.learner, &s->policy, error);
    const lud_layout *layout = &scenario->model->layout;
    const bool told = lud_run_people_told(scenario);
    for (int i = 0; s->policy && status == LUD_OK && i < layout->n_agents; i++)
        if (layout->roles[i] != LUD_ROLE_HUMAN || !told) status = take_part(s, cast, i, error);
    give_back(s);
    return status;
}

lud_status lud_run_act(const char *folder, const lud_scenario *scenario, lud_cast *cast, lud_error *error) {
    lud_scenario *trained = NULL;
    const lud_learner_kind *kind = NULL;
    lud_status status = load_scenario(folder, NULL, &trained, error);
    if (!status) status = lud_run_kind(folder, trained, &kind, error);
    if (!status && trained->world != scenario->world)
        status = lud_invalid(error, "%s: a run of the world '%s', the scenario has '%s'", folder,
                             trained->world->name, scenario->world->name);
    if (!status && kind->join)
        status = kind->join(trained, scenario, folder, cast, error);
    else if (!status && kind->policy) {
        status = share_policy(folder, scenario, kind, cast, error);
        if (status == LUD_ERROR_INPUT && strcmp(trained->path, scenario->path) != 0)
            lud_fail_context(error, "the run's policy does not fit this scenario");
    }
    lud_scenario_destroy(trained);
    return status;
}

lud_status lud_run_cast(const char *folder, const lud_scenario *scenario, lud_cast **cast, lud_error *error) {
    LUD_TRY(lud_cast_create_open(scenario->model, scenario->policies, scenario->path, cast, error));
    lud_status status = folder ? lud_run_act(folder, scenario, *cast, error) : LUD_OK;
    if (!status) status = lud_run_fill(scenario, *cast, error);
    if (status) {
        lud_cast_destroy(*cast);
        *cast = NULL;
    }
    return status;
}

lud_status lud_run_overlay(const char *folder, const lud_scenario *scenario, const lud_cast *cast,
                           lud_overlay_source **overlay, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    lud_scenario *trained = NULL;
    *overlay = NULL;
    lud_status status = folder ? load_scenario(folder, NULL, &trained, error) : LUD_OK;
    if (!status && folder) status = lud_run_kind(folder, trained, &kind, error);
    lud_scenario_destroy(trained);
    if (status) return status;
    if (!kind || !kind->overlay) return lud_cast_overlay(scenario->model, cast, overlay, error);
    return kind->overlay(folder, scenario, cast, overlay, error);
}

lud_status lud_run_query(const lud_report_request *request, lud_report *report, lud_error *error) {
    const lud_learner_kind *kind = NULL;
    LUD_TRY(lud_run_kind(request->folder, request->scenario, &kind, error));
    if (!kind->query)
        return lud_invalid(error, "%s is a run of %s, which answers no queries", request->folder, kind->name);
    return kind->query(request, report, error);
}

lud_status lud_run_iterations(const char *run, uint64_t *iterations, lud_error *error) {
    lud_checkpoint *saved = NULL;
    lud_kept kept = {0};
    bool there = false;
    *iterations = 0;
    lud_status status = lud_run_has_parameters(run, &there, error);
    if (!status && there) status = lud_run_parameters(run, NULL, NULL, &saved, &kept, error);
    if (!status) *iterations = kept.iteration;
    lud_checkpoint_destroy(saved);
    return status;
}

lud_status lud_run_open(const char *folder, lud_scenario *scenario, lud_run *run, lud_error *error) {
    *run = (lud_run){.folder = folder, .scenario = scenario};
    const lud_status status = lud_run_cast(folder, scenario, &run->cast, error);
    if (status) lud_run_close(run);
    return status;
}

void lud_run_close(lud_run *run) {
    lud_cast_destroy(run->cast);
    lud_scenario_destroy(run->scenario);
    *run = (lud_run){0};
}
