#include "cli/learned_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/solved.h"
#include "learn/empo/phase2/evaluation.h"
#include "learn/train.h"

typedef struct learned_records {
    lud_device *device;
    lud_learner *learner;
    bool known;
    uint8_t *state; /* [state_bytes] that `record` is about */
    double *record;
} learned_records;

static void destroy(void *context) {
    learned_records *l = context;
    lud_learner_destroy(l->learner);
    lud_device_close(l->device);
    free(l->state);
    free(l->record);
    free(l);
}

/* A frame asks for the same state many times. */
static const double *record_of(void *context, const uint8_t *state) {
    learned_records *l = context;
    lud_empo_phase2_learner *phase2 = (lud_empo_phase2_learner *)l->learner;
    const size_t bytes = phase2->scenario->model->layout.state_bytes;
    if (l->known && memcmp(l->state, state, bytes) == 0) return l->record;
    l->known = lud_empo_state_values(phase2, state, l->record, NULL) == LUD_OK;
    memcpy(l->state, state, bytes);
    return l->known ? l->record : NULL;
}

static bool is_run(const char *path, const lud_scenario *scenario) {
    const lud_learner_kind *kind = NULL;
    if (!scenario->learner || !lud_folder_exists(path) || lud_learner_kind_of(scenario, &kind, NULL) ||
        kind != &lud_empo_phase2)
        return false;
    lud_text file = {0};
    lud_text_append(&file, "%s/checkpoint.safetensors", path);
    const bool is = file.bytes && lud_file_exists(file.bytes);
    lud_text_free(&file);
    return is;
}

lud_status lud_learned_overlay(const char *path, const lud_scenario *scenario, lud_overlay_source **source,
                               lud_error *error) {
    *source = NULL;
    if (!is_run(path, scenario)) return LUD_OK;
    learned_records *l = calloc(1, sizeof *l);
    if (!l) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for what was learned");
    lud_status status = lud_scenario_device(scenario, "cpu", &l->device, error);
    if (!status) status = lud_learner_create(scenario, l->device, &l->learner, error);
    if (!status) status = lud_train_load(l->learner, path, NULL, error);
    if (!status) {
        const lud_empo_phase2_learner *phase2 = (const lud_empo_phase2_learner *)l->learner;
        l->state = calloc(1, scenario->model->layout.state_bytes);
        l->record = calloc((size_t)phase2->features.layout.record_doubles, sizeof *l->record);
        if (!l->state || !l->record) status = lud_fail(error, LUD_ERROR_MEMORY, "no memory for an overlay");
    }
    if (status) {
        destroy(l);
        return status;
    }
    return lud_records_overlay((lud_state_records){l, record_of, destroy}, scenario->model, source, error);
}
