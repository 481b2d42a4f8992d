#include "render/record.h"

#include <string.h>

lud_record_options lud_record_defaults(void) {
    return (lud_record_options){
        .width = 640, .fps = 30, .frames_per_step = 8, .episodes = 1, .goals = true, .hold = 0.6f};
}

void lud_record_as_shown(const lud_scenario *scenario, lud_record_options *options) {
    options->theme = (lud_theme_name)scenario->view.theme;
    options->still = options->still || !scenario->view.motion;
    options->goals = options->goals && scenario->view.goals;
    options->labels = options->labels || scenario->view.labels;
    options->caption.title = scenario->about && *scenario->about ? scenario->about : scenario->name;
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
