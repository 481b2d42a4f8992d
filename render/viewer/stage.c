#include "render/viewer/stage.h"

#include <string.h>

#include "render/caption.h"

static lud_status load_scenario(const lud_view_options *options, const char *path, lud_tree_files *files,
                                lud_scenario **scenario, lud_error *error) {
    const lud_scenario_overrides none = {.run = lud_run_as_written};
    const lud_scenario_overrides *o = options->overrides ? options->overrides : &none;
    if (options->text)
        return lud_scenario_read_with(path, options->text, strlen(options->text), o, files, scenario, error);
    return lud_scenario_load_with(path, o, files, scenario, error);
}

lud_status lud_stage_load(const lud_view_options *options, int number, const uint64_t *seed, lud_stage *stage,
                          lud_tree_files *files, lud_error *error) {
    const lud_view_side first = {options->path, options->run, options->context};
    const bool apart = options->n_environments > 1;
    const lud_view_side *side = number && !apart ? &options->others[number - 1] : &first;
    lud_stage s = {.path = side->run ? side->run : side->path, .apart = apart};
    lud_overlay_source *source = NULL;
    lud_status status = load_scenario(options, side->path, files, &s.scenario, error);
    if (!status)
        status = lud_cast_create_open(s.scenario->model, s.scenario->policies, side->path, &s.cast, error);
    if (!status && options->loaded)
        status = options->loaded(side->context, s.scenario, s.cast, &source, error);
    if (!status) status = lud_cast_complete(s.cast, error);
    if (!status) status = lud_drawing_create(s.scenario->model, &s.drawing, error);
    if (!status && source) {
        status = lud_overlay_create(source, s.drawing, &s.overlay, error);
        source = NULL;
    }
    if (!status)
        status = lud_player_create(s.scenario->model, s.cast, seed ? *seed : (uint64_t)s.scenario->run.seed,
                                   true, &s.player, error);
    if (!status) {
        lud_caption_who(s.cast, lud_stage_layout(&s)->n_agents, side->run, &s.who);
        if (s.who.failed) status = lud_no_memory(error, "a caption");
    }
    if (status) {
        lud_overlay_source_destroy(source);
        lud_stage_free(&s);
        return status;
    }
    *stage = s;
    return LUD_OK;
}

int lud_stages_number(const lud_view_options *options) {
    return options->n_environments > 1 ? options->n_environments : options->n_others + 1;
}

/* What cannot be shown together, or not so many. */
static lud_status check_number(const lud_view_options *options, lud_error *error) {
    LUD_TRY(lud_sides_check(options->n_environments, options->n_others + 1, error));
    if (options->n_environments > 1 && options->episodes)
        return lud_invalid(error, "%d environments: expected a scenario or RUN, found recorded episodes",
                           options->n_environments);
    return LUD_OK;
}

lud_status lud_stages_load(const lud_view_options *options, const uint64_t *seed, lud_stage *stages,
                           lud_tree_files *files, lud_error *error) {
    const int n = lud_stages_number(options);
    int loaded = 0;
    lud_status status = check_number(options, error);
    while (!status && loaded < n) {
        const uint64_t leading =
            loaded ? lud_player_seed(stages[0].player) + (stages[0].apart ? (uint64_t)loaded : 0) : 0;
        status = lud_stage_load(options, loaded, loaded ? &leading : seed, &stages[loaded], files, error);
        if (status) break;
        loaded++;
        if (loaded > 1)
            status = lud_sides_fit(stages[0].scenario->model, stages[0].path,
                                   stages[loaded - 1].scenario->model, stages[loaded - 1].path, error);
    }
    if (!status) {
        const lud_sides sides = lud_stage_sides(stages, n);
        status = lud_sides_begin(&sides, error);
    }
    for (int k = 0; status && k < loaded; k++) lud_stage_free(&stages[k]);
    return status;
}

lud_sides lud_stage_sides(const lud_stage *stages, int n) {
    lud_sides sides = {.n = n, .apart = n > 1 && stages[0].apart};
    for (int k = 0; k < n; k++)
        sides.side[k] = (lud_side){stages[k].who.bytes, stages[k].path, stages[k].player, stages[k].drawing,
                                   stages[k].overlay};
    return sides;
}

void lud_stage_free(lud_stage *stage) {
    lud_player_destroy(stage->player);
    lud_overlay_destroy(stage->overlay);
    lud_drawing_destroy(stage->drawing);
    lud_cast_destroy(stage->cast);
    lud_scenario_destroy(stage->scenario);
    lud_text_free(&stage->who);
    *stage = (lud_stage){0};
}

static size_t room_for(const lud_stage *stage, size_t known) {
    int max_steps = lud_stage_layout(stage)->max_steps;
    size_t limit = (size_t)max_steps + 1;
    return max_steps > 0 && limit <= 2000 && limit > known ? limit : known;
}

size_t lud_stage_length(const lud_stage *stage) {
    return room_for(stage, lud_player_known(stage->player));
}

lud_span lud_stages_span(const lud_stage *stages, int n) {
    const lud_sides sides = lud_stage_sides(stages, n);
    lud_span span = {lud_sides_position(&sides), lud_sides_known(&sides), 0};
    for (int k = 0; k < n; k++) {
        const size_t length = room_for(&stages[k], span.known);
        if (length > span.length) span.length = length;
    }
    return span;
}
