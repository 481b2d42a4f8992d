#include "render/viewer/recording.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"
#include "render/record.h"

enum { RECORD_SIDE = 640, RECORD_FPS = 30, RECORD_FRAMES_PER_STEP = 8 };

void lud_recording_name(lud_recording *r, const lud_scenario *scenario, const char *ending) {
    for (int k = 1; k < 10000; k++) {
        snprintf(r->last_file, sizeof r->last_file, "%s-%d.%s", scenario->name ? scenario->name : "ludus", k,
                 ending);
        for (char *c = r->last_file; *c; c++)
            if (*c == '/' || *c == ' ') *c = '_';
        if (!lud_file_exists(r->last_file)) return;
    }
}

static void close_canvas(lud_recording *r) {
    lud_canvas_destroy(r->canvas);
    r->canvas = NULL;
    r->video = NULL;
}

static lud_status add_frame(lud_recording *r, const lud_stage *stage, const lud_shown *shown, float progress,
                            lud_error *error) {
    float seconds = (float)RECORD_FRAMES_PER_STEP / RECORD_FPS, since = (progress - 0.5f) * seconds;
    lud_player *player = stage->player;
    const uint8_t *trail[LUD_TRAIL_STATES];
    lud_moment moment = {.state = lud_player_state(player),
                         .trail = trail,
                         .n_trail = shown->motion ? lud_player_trail(player, trail, LUD_TRAIL_STATES) : 0,
                         .before = progress > 0 && shown->motion ? lud_player_before(player) : NULL,
                         .came_from = lud_player_before(player),
                         .actions = lud_player_actions(player),
                         .rewards = lud_player_rewards(player),
                         .progress = lud_eased(progress),
                         .glow = since < 0 ? 0 : fmaxf(0, 1 - since / 0.3f),
                         .seconds = shown->motion ? (float)r->frames / RECORD_FPS : 0,
                         .hidden = lud_player_hidden(player),
                         .goals = shown->goals ? lud_player_goals(player) : NULL,
                         .selected_agent = -1,
                         .labels = shown->labels,
                         .overlay = stage->overlay};
    lud_draw_frame(stage->drawing, r->canvas, lud_theme_get(shown->theme), &moment);
    int pitch;
    const uint32_t *pixels = lud_canvas_pixels(r->canvas, &pitch);
    r->frames++;
    lud_status status = lud_canvas_check(r->canvas, error);
    if (!status) status = lud_video_add(r->video, pixels, pitch, error);
    if (status) {
        lud_video_abandon(r->video);
        close_canvas(r);
    }
    return status;
}

lud_status lud_recording_start(lud_recording *r, const lud_stage *stage, const lud_shown *shown,
                               lud_error *error) {
    int width, height;
    lud_picture_size(stage->drawing, RECORD_SIDE, &width, &height);
    lud_recording_name(r, stage->scenario, "mp4");
    r->frames = 0;
    lud_status status = lud_canvas_create_offscreen(width, height, 1, &r->canvas, error);
    if (!status)
        status =
            lud_video_open(r->last_file, (lud_video_options){width, height, RECORD_FPS}, &r->video, error);
    if (status) {
        close_canvas(r);
        return status;
    }
    return add_frame(r, stage, shown, 0, error);
}

lud_status lud_recording_add_step(lud_recording *r, const lud_stage *stage, const lud_shown *shown,
                                  lud_error *error) {
    for (int k = 1; k <= RECORD_FRAMES_PER_STEP; k++)
        LUD_TRY(add_frame(r, stage, shown, (float)k / RECORD_FRAMES_PER_STEP, error));
    return LUD_OK;
}

lud_status lud_recording_finish(lud_recording *r, lud_error *error) {
    lud_status status = lud_video_finish(r->video, error);
    close_canvas(r);
    return status;
}
