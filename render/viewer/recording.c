#include "render/viewer/recording.h"

#include <stdio.h>

#include "base/file.h"

void lud_recording_name(lud_recording *r, const lud_scenario *scenario, const char *ending) {
    for (int k = 1; k < 10000; k++) {
        snprintf(r->last_file, sizeof r->last_file, "%s-%d.%s", scenario->name ? scenario->name : "ludus", k,
                 ending);
        for (char *c = r->last_file; *c; c++)
            if (*c == '/' || *c == ' ') *c = '_';
        if (!lud_file_exists(r->last_file)) return;
    }
}

lud_status lud_recording_start(lud_recording *r, const lud_stage *stages, int n,
                               const lud_recorded_view *view, lud_error *error) {
    const lud_shown *shown = view->shown;
    lud_recording_name(r, stages[0].scenario, "mp4");
    r->options = lud_record_defaults();
    lud_record_as_shown(stages[0].scenario, &r->options);
    r->options.path = r->last_file;
    r->options.theme = shown->theme;
    r->options.still = r->options.jumps = !shown->motion;
    r->options.goals = shown->goals;
    r->options.labels = shown->labels;
    r->options.caption = view->caption;
    r->painter = view->painter;
    r->film = (lud_film){.options = &r->options, .sides = lud_stage_sides(stages, n)};
    if (r->options.scenario) r->film.painter = &r->painter;
    lud_status status = lud_film_compose(&r->film, false, error);
    if (!status) status = lud_film_open(&r->film, error);
    if (!status) status = lud_film_add(&r->film, 1, false, error);
    if (status) lud_film_abandon(&r->film);
    r->on = !status;
    return status;
}

lud_status lud_recording_add_step(lud_recording *r, lud_error *error) {
    const lud_status status = lud_film_add_step(&r->film, error);
    if (status) {
        lud_film_abandon(&r->film);
        r->on = false;
    }
    return status;
}

lud_status lud_recording_finish(lud_recording *r, lud_error *error) {
    r->on = false;
    return lud_film_finish(&r->film, error);
}
