#include "render/editor/study.h"

#include <stdlib.h>
#include <string.h>

static lud_status find_out(lud_editor_study *s) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    lud_scenario_overrides overrides = s->options->overrides ? *s->options->overrides : none;
    overrides.text = s->text;
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_load_with(s->options->path, &overrides, NULL, &scenario, &s->error));
    lud_status status = lud_grid_study_model(scenario->model, &s->size, &s->error);
    s->size_known = !status;
    if (!status && s->solves) {
        if (s->size.states > LUD_GRID_STUDIED_STATES || s->size.lower_bound)
            status = lud_fail(&s->error, LUD_ERROR_LIMIT,
                              "too large to be solved here: `ludus solve` takes worlds of any size");
        else
            status = s->options->solve(s->options->context, scenario, &s->report, &s->error);
    }
    lud_scenario_destroy(scenario);
    return status;
}

static int work(void *data) {
    lud_editor_study *s = data;
    s->error.status = find_out(s);
    SDL_AtomicSet(&s->done, 1);
    return 0;
}

bool lud_editor_study_begin(lud_editor_study *s, const char *text, uint64_t version, bool solves) {
    if (s->thread) return false;
    free(s->text);
    lud_text_free(&s->report);
    s->report = (lud_text){0};
    s->text = strdup(text);
    s->version = version;
    s->solves = solves && s->options->solve;
    s->size_known = false;
    s->error = (lud_error){0};
    SDL_AtomicSet(&s->done, 0);
    if (s->text) s->thread = SDL_CreateThread(work, "study", s);
    return s->thread != NULL;
}

bool lud_editor_study_runs(const lud_editor_study *s) {
    return s->thread != NULL;
}

bool lud_editor_study_ended(lud_editor_study *s) {
    if (!s->thread || !SDL_AtomicGet(&s->done)) return false;
    SDL_WaitThread(s->thread, NULL);
    s->thread = NULL;
    return true;
}

void lud_editor_study_free(lud_editor_study *s) {
    if (s->thread) SDL_WaitThread(s->thread, NULL);
    s->thread = NULL;
    free(s->text);
    lud_text_free(&s->report);
}
