#include "render/record.h"

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
