#include "render/record.h"

#include <string.h>

enum { WINDOW_WIDTH = 1180, WINDOW_HEIGHT = 780 };

lud_record_options lud_record_defaults(void) {
    return (lud_record_options){.width = 640,
                                .scale = 1,
                                .fps = 30,
                                .frames_per_step = 8,
                                .episodes = 1,
                                .goals = true,
                                .hold = 0.6f,
                                .overlay = LUD_OVERLAY_ALL};
}

int lud_overlay_parts(const lud_view_overlay *shown) {
    return (shown->values ? LUD_OVERLAY_VALUES : 0) | (shown->arrows ? LUD_OVERLAY_ARROWS : 0) |
           (shown->bars ? LUD_OVERLAY_BARS : 0) | (shown->trace ? LUD_OVERLAY_TRACE : 0) |
           (shown->edges ? LUD_OVERLAY_EDGES : 0);
}

const char *lud_caption_title(const lud_scenario *scenario) {
    const lud_view_caption *caption = &scenario->view.caption;
    if (caption->show == LUD_VIEW_NEVER) return NULL;
    if (caption->text) return caption->text;
    return scenario->about && *scenario->about ? scenario->about : scenario->name;
}

void lud_record_as_shown(const lud_scenario *scenario, lud_record_options *options) {
    const lud_view_section *view = &scenario->view;
    const bool whole = lud_view_section_is_whole(view);
    options->theme = (lud_theme_name)view->theme;
    options->still = options->still || !view->motion;
    options->goals = options->goals && view->goals;
    options->labels = options->labels || view->labels;
    options->overlay = lud_overlay_parts(&view->overlay);
    options->caption.title = lud_caption_title(scenario);
    if (view->scale > 0) options->scale = (float)view->scale;
    if (whole || view->size.n == 2) {
        options->width = view->size.n == 2 ? (int)view->size.items[0] : WINDOW_WIDTH;
        options->height = view->size.n == 2 ? (int)view->size.items[1] : WINDOW_HEIGHT;
    }
    options->scenario = whole ? scenario : NULL;
}

void lud_caption_who(const lud_cast *cast, int n_agents, const char *run, lud_text *who) {
    if (run) {
        const char *slash = strrchr(run, '/');
        lud_text_append(who, "%s", slash && slash[1] ? slash + 1 : run);
    }
    for (int i = 0; i < n_agents; i++) {
        const lud_policy_kind *kind = lud_cast_get(cast, i)->kind;
        bool named = !kind->create; /* a RUN's own */
        for (int j = 0; j < i && !named; j++) named = lud_cast_get(cast, j)->kind == kind;
        if (!named) lud_text_append(who, "%s%s", who->length ? ", " : "", kind->name);
    }
}
