#include "learn/empo/overlay.h"

#include <stdlib.h>
#include <string.h>

#include "learn/empo/phase2/evaluation.h"
#include "learn/runs/run.h"

typedef struct learned_records {
    lud_learned run;
    bool known;
    uint8_t *state; /* [state_bytes] that `record` is about */
    double *record;
} learned_records;

static void destroy(void *context) {
    learned_records *l = context;
    lud_learned_close(&l->run);
    LUD_FREE(l->state, l->record, l);
}

/* A frame asks for the same state many times. */
static const double *record_of(void *context, const uint8_t *state) {
    learned_records *l = context;
    lud_empo_phase2_learner *phase2 = (lud_empo_phase2_learner *)l->run.learner;
    const size_t bytes = phase2->scenario->model->layout.state_bytes;
    if (l->known && memcmp(l->state, state, bytes) == 0) return l->record;
    l->known = lud_empo_state_values(phase2, state, l->record, NULL) == LUD_OK;
    memcpy(l->state, state, bytes);
    return l->known ? l->record : NULL;
}

lud_status lud_empo_phase2_overlay(const char *folder, const lud_scenario *scenario, const lud_cast *cast,
                                   lud_overlay_source **source, lud_error *error) {
    (void)cast;
    learned_records *l = calloc(1, sizeof *l);
    if (!l) return lud_no_memory(error, "what was learned");
    lud_status status = lud_learned_open(folder, scenario, "cpu", &lud_empo_phase2, &l->run, error);
    if (!status) {
        const lud_empo_phase2_learner *phase2 = (const lud_empo_phase2_learner *)l->run.learner;
        l->state = calloc(1, scenario->model->layout.state_bytes);
        l->record = calloc((size_t)phase2->features.layout.record_doubles, sizeof *l->record);
        if (!l->state || !l->record) status = lud_no_memory(error, "an overlay");
    }
    if (status) {
        destroy(l);
        return status;
    }
    return lud_empo_overlay_create((lud_state_records){l, record_of, destroy}, scenario->model, source,
                                   error);
}
