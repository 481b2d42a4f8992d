#include "render/editor/study.h"

#include <stdlib.h>
#include <string.h>

static lud_status find_out(lud_editor_look *s) {
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_load_with(s->path, &s->overrides, NULL, &scenario, &s->error));
    lud_status status = lud_grid_study_model(scenario->model, &s->size, &s->error);
    s->size_known = !status;
    if (!status && s->solves) {
        if (s->size.states > LUD_GRID_STUDIED_STATES || s->size.lower_bound)
            status = lud_fail(&s->error, LUD_ERROR_LIMIT,
                              "too large to be solved here: `ludus solve` takes worlds of any size");
        else
            status = s->options.solve(s->options.context, scenario, &s->report, &s->error);
    }
    lud_scenario_destroy(scenario);
    return status;
}

/* The window and the thread each hold it. */
static void let_go(lud_editor_look *look) {
    if (!look || !SDL_AtomicDecRef(&look->holders)) return;
    lud_text_free(&look->report);
    LUD_FREE(look->set, look->path, look->text, look);
}

static int work(void *data) {
    lud_editor_look *look = data;
    look->error.status = find_out(look);
    SDL_AtomicSet(&look->done, 1);
    let_go(look);
    return 0;
}

static lud_editor_look *make(const lud_editor_options *options, const char *text) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    lud_editor_look *look = calloc(1, sizeof *look);
    if (!look) return NULL;
    SDL_AtomicSet(&look->holders, 1);
    look->options = *options;
    look->overrides = options->overrides ? *options->overrides : none;
    const size_t n = (size_t)look->overrides.n_set;
    look->path = strdup(options->path);
    look->text = strdup(text);
    look->set = malloc((n + 1) * sizeof *look->set);
    if (!look->path || !look->text || !look->set) {
        let_go(look);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) look->set[i] = look->overrides.set[i];
    look->overrides.set = look->set;
    look->overrides.text = look->text;
    return look;
}

bool lud_editor_study_begin(lud_editor_study *s, const char *text, uint64_t version, bool solves) {
    if (s->runs) return false;
    let_go(s->look);
    s->look = make(s->options, text);
    if (!s->look) return false;
    s->look->version = version;
    s->look->solves = solves && s->options->solve;
    SDL_AtomicIncRef(&s->look->holders);
    SDL_Thread *thread = SDL_CreateThread(work, "study", s->look);
    if (!thread) let_go(s->look);
    SDL_DetachThread(thread);
    s->runs = thread != NULL;
    return s->runs;
}

bool lud_editor_study_runs(const lud_editor_study *s) {
    return s->runs;
}

bool lud_editor_study_ended(lud_editor_study *s) {
    if (!s->runs || !SDL_AtomicGet(&s->look->done)) return false;
    s->runs = false;
    return true;
}

void lud_editor_study_free(lud_editor_study *s) {
    let_go(s->look);
    *s = (lud_editor_study){0};
}
