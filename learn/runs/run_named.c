#include "learn/runs/run_named.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "learn/runs/run.h"
#include "sim/agent_key.h"

/* ---- what fits ---- */

static bool same_actions(const lud_action_space *a, const lud_action_space *b) {
    if (a->n_discrete != b->n_discrete || a->n_continuous != b->n_continuous) return false;
    for (int k = 0; a->names && b->names && k < a->n_discrete; k++)
        if (strcmp(a->names[k], b->names[k]) != 0) return false;
    return true;
}

bool lud_run_has_actions(const lud_layout *trained, const lud_layout *layout, int agent) {
    const lud_action_space *wanted = &layout->actions[agent];
    if (trained->n_agents == layout->n_agents) return same_actions(&trained->actions[agent], wanted);
    for (int i = 0; i < trained->n_agents; i++)
        if (same_actions(&trained->actions[i], wanted)) return true;
    return false;
}

void lud_run_describe_agent(const lud_layout *layout, int agent, lud_text *out) {
    enum { MOST_SHOWN = 8 };
    const lud_action_space *actions = &layout->actions[agent];
    for (int p = 0; p < layout->n_parts; p++) {
        const lud_observation_part *part = &layout->parts[p];
        lud_text_append(out, "%s [", part->name);
        for (int d = 0; d < part->n_dimensions; d++)
            lud_text_append(out, "%s%d", d ? ", " : "", (int)part->dimensions[d]);
        lud_text_append(out, "], ");
    }
    if (actions->n_discrete)
        lud_text_append(out, "%d action%s", actions->n_discrete, actions->n_discrete == 1 ? "" : "s");
    for (int k = 0; actions->names && k < actions->n_discrete && k < MOST_SHOWN; k++)
        lud_text_append(out, "%s%s", k ? ", " : " (", actions->names[k]);
    if (actions->names && actions->n_discrete)
        lud_text_append(out, "%s)", actions->n_discrete > MOST_SHOWN ? ", ..." : "");
    if (actions->n_continuous)
        lud_text_append(out, "%s%d real number%s", actions->n_discrete ? ", " : "", actions->n_continuous,
                        actions->n_continuous == 1 ? " as an action" : "s as actions");
}

/* ---- opening ---- */

/* One RUN and those it is to act for. */
typedef struct wanted {
    const lud_cast_run *named;
    const char *path;
    int agent;  /* the first of them */
    bool *acts; /* [n_agents] */
} wanted;

/* The message in `error` with the entry's place, and what was expected. */
static lud_status misfit(const wanted *w, const lud_scenario *trained, const lud_scenario *scenario,
                         const char *reason, lud_error *error) {
    const lud_layout *own = &scenario->model->layout, *other = &trained->model->layout;
    lud_text here = {0}, there = {0};
    lud_run_describe_agent(own, w->agent, &here);
    lud_run_describe_agent(other, w->agent < other->n_agents ? w->agent : 0, &there);
    const lud_status status =
        here.failed || there.failed
            ? lud_no_memory(error, "a message")
            : lud_invalid_at(
                  error, w->named->place,
                  "the RUN %s does not fit agent %d (%s) of %d here, expected one trained with %s; "
                  "it was trained in a team of %d with %s%s%s",
                  w->named->name, w->agent, lud_agent_key_word(own, w->agent), own->n_agents, here.bytes,
                  other->n_agents, there.bytes, reason ? ": " : "", reason ? reason : "");
    lud_text_free(&here);
    lud_text_free(&there);
    return status;
}

/* The message in `error` with the entry's place in front. */
static lud_status with_place(const wanted *w, lud_status status, lud_error *error) {
    char *reason = error ? strdup(error->text) : NULL;
    if (reason) (void)lud_fail_at(error, status, w->named->place, "%s", reason);
    free(reason);
    return status;
}

/* As `trained`, who acts in a scenario as if that had no learner and nobody else acted. */
static lud_status act(const wanted *w, const lud_scenario *trained, const lud_scenario *scenario,
                      lud_cast *cast, lud_error *error) {
    lud_scenario stage = *scenario;
    stage.learner = stage.policies = NULL;
    lud_cast *own;
    LUD_TRY(lud_cast_create(scenario->model, NULL, scenario->path, &own, error));
    lud_status status = lud_run_act(w->path, &stage, own, error);
    if (status == LUD_ERROR_INPUT) {
        char *reason = error ? strdup(error->text) : NULL;
        status = misfit(w, trained, scenario, reason, error);
        free(reason);
    }
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        if (!w->acts[i]) continue;
        lud_policy *policy = lud_cast_take(own, i);
        if (policy)
            lud_cast_fill(cast, i, policy);
        else
            status =
                lud_invalid_at(error, w->named->place, "the RUN %s has no policy that acts for agent %d (%s)",
                               w->named->name, i, lud_agent_key_word(&scenario->model->layout, i));
    }
    lud_cast_destroy(own);
    return status;
}

static lud_status open_run(wanted *w, const lud_scenario *scenario, lud_cast *cast, lud_error *error) {
    lud_scenario *trained;
    lud_status status = lud_run_made_from(w->path, &trained, error);
    if (status) return with_place(w, status, error);
    if (trained->world != scenario->world)
        status =
            lud_invalid_at(error, w->named->place, "the RUN %s is of the world '%s', expected one of '%s'",
                           w->named->name, trained->world->name, scenario->world->name);
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        if (!w->acts[i] || lud_run_has_actions(&trained->model->layout, &scenario->model->layout, i))
            continue;
        w->agent = i;
        status = misfit(w, trained, scenario, NULL, error);
    }
    if (!status) status = act(w, trained, scenario, cast, error);
    lud_scenario_destroy(trained);
    return status;
}

lud_status lud_run_fill(const lud_scenario *scenario, lud_cast *cast, lud_error *error) {
    const int n = scenario->model->layout.n_agents;
    lud_arena *arena = lud_arena_create(0);
    bool *acts = calloc((size_t)n + 1, sizeof *acts);
    lud_status status = arena && acts ? LUD_OK : lud_no_memory(error, "policies");
    for (int i = 0; i < n && !status; i++) {
        wanted w = {.named = lud_cast_missing(cast, i), .agent = i, .acts = acts};
        if (!w.named) continue;
        for (int k = 0; k < n; k++) {
            const lud_cast_run *other = lud_cast_missing(cast, k);
            acts[k] = other && strcmp(other->name, w.named->name) == 0;
        }
        w.path = lud_path_find(arena, scenario->path, w.named->name);
        status = w.path ? open_run(&w, scenario, cast, error) : lud_no_memory(error, "a path");
    }
    free(acts);
    lud_arena_destroy(arena);
    return status ? status : lud_cast_complete(cast, error);
}
