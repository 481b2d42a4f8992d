#include "base/file.h"
#include "cli/cli.h"
#include "learn/store/run.h"

lud_status lud_cast_open(const char *path, const lud_scenario *scenario, lud_cast **cast, lud_error *error) {
    lud_status status = lud_cast_create(scenario->model, scenario->policies, scenario->path, cast, error);
    if (status || !lud_folder_exists(path)) return status;
    status = lud_learned_cast(path, scenario, *cast, error);
    if (status == LUD_OK) return status;
    lud_cast_destroy(*cast);
    *cast = NULL;
    return status;
}
