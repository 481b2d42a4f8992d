#include "render/viewer/stage.h"

#include <string.h>

static lud_status load_scenario(const lud_view_options *options, lud_tree_files *files,
                                lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    const lud_scenario_overrides *o = options->overrides ? options->overrides : &none;
    if (options->text)
        return lud_scenario_read(options->path, options->text, strlen(options->text), o->set, o->n_set,
                                 scenario, error);
    return lud_scenario_load_with(options->path, o, files, scenario, error);
}

lud_status lud_stage_load(const lud_view_options *options, const uint64_t *seed, lud_stage *stage,
                          lud_tree_files *files, lud_error *error) {
    lud_stage s = {0};
    lud_overlay_source *source = NULL;
    lud_status status = load_scenario(options, files, &s.scenario, error);
    if (!status)
        status = lud_cast_create_open(s.scenario->model, s.scenario->policies, options->path, &s.cast, error);
    if (!status && options->loaded)
        status = options->loaded(options->context, s.scenario, s.cast, &source, error);
    if (!status) status = lud_cast_complete(s.cast, error);
    if (!status) status = lud_drawing_create(s.scenario->model, &s.drawing, error);
    if (!status && source) {
        status = lud_overlay_create(source, s.drawing, &s.overlay, error);
        source = NULL;
    }
    if (!status)
        status = lud_player_create(s.scenario->model, s.cast, seed ? *seed : (uint64_t)s.scenario->run.seed,
                                   true, &s.player, error);
    if (status) {
        lud_overlay_source_destroy(source);
        lud_stage_free(&s);
        return status;
    }
    *stage = s;
    return LUD_OK;
}

void lud_stage_free(lud_stage *stage) {
    lud_player_destroy(stage->player);
    lud_overlay_destroy(stage->overlay);
    lud_drawing_destroy(stage->drawing);
    lud_cast_destroy(stage->cast);
    lud_scenario_destroy(stage->scenario);
    *stage = (lud_stage){0};
}

size_t lud_stage_length(const lud_stage *stage) {
    int max_steps = lud_stage_layout(stage)->max_steps;
    size_t known = lud_player_known(stage->player), limit = (size_t)max_steps + 1;
    return max_steps > 0 && limit <= 2000 && limit > known ? limit : known;
}
