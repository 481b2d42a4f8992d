#include "render/record.h"
#include "learn/episodes/record_run.h"
#include "learn/runs/run.h"
#include "library/handles.h"

ludus_status ludus_record_video(const ludus_scenario *scenario, const char *run, const char *path,
                                int episodes, uint64_t seed, const char *caption, ludus_error *error) {
    LUDUS_REQUIRE(scenario && path, error);
    LUDUS_REQUIRE(episodes >= 1, error);
    const lud_scenario *s = scenario->inner;
    lud_error inner = {0};
    lud_cast *cast = NULL;
    ludus_status opened = ludus_open_cast(scenario, run, &cast, error);
    if (opened) return opened;
    lud_record_options options = lud_record_defaults();
    options.path = path;
    options.episodes = episodes;
    options.seed = seed;
    lud_record_as_shown(s, &options);
    if (caption) options.caption.title = *caption ? caption : NULL;
    lud_text who = {0};
    lud_caption_who(cast, s->model->layout.n_agents, run, &who);
    options.caption.who = who.bytes;
    lud_status status = who.failed ? lud_no_memory(&inner, "a caption") : LUD_OK;
    if (!status && run) status = lud_run_overlay(run, s, cast, &options.source, &inner);
    options.name = options.caption.who;
    if (!status) status = lud_record(s->model, cast, &options, NULL, &inner);
    lud_text_free(&who);
    lud_cast_destroy(cast);
    return ludus_lift_from(path, status, &inner, error);
}

ludus_status ludus_record_data(const ludus_scenario *scenario, const char *run, const char *path,
                               int64_t episodes, ludus_error *error) {
    LUDUS_REQUIRE(scenario && path, error);
    LUDUS_REQUIRE(episodes >= 1, error);
    lud_cast *cast = NULL;
    ludus_status opened = ludus_open_cast(scenario, run, &cast, error);
    if (opened) return opened;
    lud_error inner = {0};
    lud_data_target target = {0};
    lud_recording_result result;
    const lud_recording_options options = {
        .episodes = episodes, .frames = true, .views = true, .level = LUD_RECORDING_LEVEL};
    lud_status status = lud_data_target_of(path, &target, &inner);
    if (!status) status = lud_record_data_of(scenario->inner, cast, run, &target, &options, &result, &inner);
    lud_data_target_free(&target);
    lud_cast_destroy(cast);
    return ludus_lift_from(path, status, &inner, error);
}
