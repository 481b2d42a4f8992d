#include "cli/window/view_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lud_status out_of_memory(lud_error *error) {
    return lud_no_memory(error, "an episode");
}

static void free_episode(lud_data_view *v) {
    free(v->states);
    free(v->actions);
    free(v->log_probs);
    free(v->rewards);
    v->states = NULL;
    v->actions = NULL;
    v->log_probs = v->rewards = NULL;
    v->episode = -1;
}

static lud_status load(lud_episode_source *source, int64_t number, lud_recorded_episode *episode,
                       lud_error *error) {
    lud_data_view *v = (lud_data_view *)source;
    const lud_data_episode *facts = lud_data_set_episode(v->set, number);
    const size_t n = (size_t)facts->length, cells = n * (size_t)v->info->n_agents + 1;
    free_episode(v);
    v->states = malloc((n + 1) * v->info->state_bytes + 1);
    v->actions = malloc(cells * sizeof *v->actions);
    v->log_probs = malloc(cells * sizeof *v->log_probs);
    v->rewards = malloc(cells * sizeof *v->rewards);
    if (!v->states || !v->actions || !v->log_probs || !v->rewards) return out_of_memory(error);
    const bool chooses = lud_data_set_has(v->set, LUD_DATA_DISCRETE, 0);
    lud_status status = lud_data_set_replay(v->set, number, v->states, error);
    if (!status && chooses)
        status = lud_data_set_read(v->set, LUD_DATA_DISCRETE, 0, number, 0, facts->length, v->actions, error);
    if (!status)
        status =
            lud_data_set_read(v->set, LUD_DATA_LOG_PROBS, 0, number, 0, facts->length, v->log_probs, error);
    if (!status)
        status = lud_data_set_read(v->set, LUD_DATA_REWARDS, 0, number, 0, facts->length, v->rewards, error);
    if (status) return status;
    v->episode = number;
    v->last = 0;
    *episode = (lud_recorded_episode){.number = number,
                                      .seed = facts->seed,
                                      .environment = facts->environment,
                                      .first_tick = facts->first_tick,
                                      .n_states = n + 1,
                                      .states = v->states,
                                      .actions = chooses ? v->actions : NULL,
                                      .rewards = v->rewards,
                                      .over = facts->terminated || facts->truncated};
    return LUD_OK;
}

lud_status lud_data_view_open(const char *path, lud_data_view *v, lud_error *error) {
    *v = (lud_data_view){.source = {.load = load}, .episode = -1};
    lud_status status = lud_data_set_open(path, &v->set, error);
    if (status) return status;
    v->info = lud_data_set_info(v->set);
    v->source.n = v->info->n_episodes;
    const struct lud_scenario *scenario;
    status = lud_data_set_scenario(v->set, &scenario, error); /* says why it cannot be drawn */
    if (!status && !v->info->replays_exactly)
        status = lud_fail(error, LUD_ERROR_UNSUPPORTED, "%s: it has no states to be drawn", path);
    if (!status && !v->source.n) status = lud_invalid(error, "%s: it has no episodes", path);
    if (status) lud_data_view_close(v);
    return status;
}

void lud_data_view_close(lud_data_view *v) {
    if (!v->set) return;
    free_episode(v);
    lud_data_set_close(v->set);
    *v = (lud_data_view){0};
}

/* --- bars --- */

typedef struct bars {
    lud_overlay_source base;
    lud_data_view *view;
    lud_overlay_quantity quantities[]; /* [n_agents] */
} bars;

/* The row of the loaded episode whose state this is; the search begins where it was last. */
static bool find_row(lud_data_view *v, const uint8_t *state, size_t *row) {
    if (v->episode < 0) return false;
    const size_t n = (size_t)lud_data_set_episode(v->set, v->episode)->length, bytes = v->info->state_bytes;
    for (size_t k = 0; k < n; k++) {
        *row = (v->last + k) % n;
        if (memcmp(v->states + *row * bytes, state, bytes) == 0) {
            v->last = *row;
            return true;
        }
    }
    return false;
}

static bool quantity_values(lud_overlay_source *source, const uint8_t *state, double *values) {
    lud_data_view *v = ((bars *)source)->view;
    size_t row;
    if (!find_row(v, state, &row)) return false;
    bool known = false;
    for (int i = 0; i < v->info->n_agents; i++) {
        const double log_prob = (double)v->log_probs[row * (size_t)v->info->n_agents + (size_t)i];
        values[i] = isfinite(log_prob) ? exp(log_prob) : 0;
        known = known || isfinite(log_prob);
    }
    return known;
}

static void destroy(lud_overlay_source *source) {
    free(source);
}

lud_status lud_data_view_overlay(lud_data_view *v, lud_overlay_source **overlay, lud_error *error) {
    const lud_data_info *info = v->info;
    *overlay = NULL;
    bars *b = calloc(1, sizeof *b + (size_t)info->n_agents * sizeof *b->quantities);
    if (!b) return out_of_memory(error);
    for (int i = 0; i < info->n_agents; i++) {
        lud_overlay_quantity *q = &b->quantities[i];
        snprintf(q->name, sizeof q->name, "%.20s", info->agent_names[i]);
        snprintf(q->group, sizeof q->group,
                 info->n_continuous ? "Density of the action" : "Chance of the action");
        q->unit = !info->n_continuous;
        q->most = 1;
    }
    b->view = v;
    b->base = (lud_overlay_source){.n_quantities = info->n_agents,
                                   .quantities = b->quantities,
                                   .quantity_values = quantity_values,
                                   .destroy = destroy};
    *overlay = &b->base;
    return LUD_OK;
}
