#include "learn/empo/evaluation/robots.h"

#include <string.h>

#include "base/file.h"
#include "learn/runs/run.h"

static lud_status set_robots(const char *text, const lud_scenario *scenario, const lud_empo_layout *layout,
                             lud_cast *cast, lud_error *error) {
    lud_tree *tree;
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_no_memory(error, "a policy");
    lud_status status = lud_tree_read_text(arena, "--policy", text, strlen(text), &tree, error);
    for (int r = 0; r < layout->n_robots && !status; r++) {
        lud_policy *policy;
        status = lud_policy_create(scenario->model, tree, "--policy", &policy, error);
        if (!status) lud_cast_set(cast, layout->robots[r], policy);
    }
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_empo_robots_cast(const char *text, const lud_scenario *scenario, const lud_empo_layout *layout,
                                lud_cast **cast, lud_error *error) {
    *cast = NULL;
    if (lud_run_is(text)) return lud_run_cast(text, scenario, cast, error);
    if (lud_file_exists(text) || (strchr(text, '/') && !strchr(text, '{'))) {
        lud_run_none(text, error);
        return lud_fail_context(error, "--policy");
    }
    LUD_TRY(lud_run_cast(NULL, scenario, cast, error));
    const lud_status status = set_robots(text, scenario, layout, *cast, error);
    if (status) {
        lud_cast_destroy(*cast);
        *cast = NULL;
    }
    return status;
}
