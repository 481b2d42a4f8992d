#include "learn/empo/explore/curiosity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct lud_empo_curiosity {
    const lud_empo_learner_options *options;
    lud_empo_novelty *novelty;
    double novelty_weight, novelty_weight_people; /* 0 without novelty */
    const lud_empo_features *features;
    int n_envs, max_actions; /* of a person */
    lud_empo_table *seen;    /* visits by record, with the count bonus */
    lud_empo_table *done;    /* visits by record, person and action, likewise */
    float *of_actions;       /* [n_envs][n_humans][max_actions] */
    float *of_states;        /* [room] novelty of successors */
    const int32_t **records; /* [room] its records */
    int room;
};

lud_empo_curiosity *lud_empo_curiosity_create(const lud_empo_learner_options *options,
                                              lud_empo_novelty *novelty, const lud_empo_features *features,
                                              int n_envs) {
    lud_empo_curiosity *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (lud_empo_curiosity){.options = options,
                              .novelty = novelty,
                              .novelty_weight = novelty ? options->rnd_bonus_coef_r : 0.0,
                              .novelty_weight_people =
                                  novelty && options->use_human_action_rnd ? options->rnd_bonus_coef_h : 0.0,
                              .features = features,
                              .n_envs = n_envs};
    const lud_empo_layout *layout = &features->layout;
    c->max_actions = layout->max_human_actions;
    c->of_actions =
        calloc((size_t)n_envs * (size_t)layout->n_humans * (size_t)c->max_actions, sizeof *c->of_actions);
    if (options->use_count_based_curiosity) {
        c->seen = lud_empo_table_create(1, 0.0);
        c->done = lud_empo_table_create(1, 0.0);
    }
    if (c->of_actions && ((c->seen && c->done) || !options->use_count_based_curiosity)) return c;
    lud_empo_curiosity_destroy(c);
    return NULL;
}

void lud_empo_curiosity_destroy(lud_empo_curiosity *c) {
    if (!c) return;
    lud_empo_table_destroy(c->seen);
    lud_empo_table_destroy(c->done);
    LUD_FREE(c->of_actions, c->of_states, c->records, c);
}

bool lud_empo_curiosity_of_robots(const lud_empo_curiosity *c) {
    return (c->seen && c->options->count_curiosity_bonus_coef_r > 0) || c->novelty_weight > 0;
}

bool lud_empo_curiosity_of_people(const lud_empo_curiosity *c) {
    return (c->done && c->options->count_curiosity_bonus_coef_h > 0) || c->novelty_weight_people > 0;
}

bool lud_empo_curiosity_needs_novelty(const lud_empo_curiosity *c) {
    return c->novelty_weight > 0;
}

static uint64_t action_key(const lud_empo_curiosity *c, uint64_t state_key, int h, int action) {
    return lud_empo_person_key(state_key, h * c->max_actions + action);
}

static bool count(lud_empo_table *table, uint64_t key) {
    static const float zero = 0.0f;
    return lud_empo_table_move(table, key, &zero, false, 0.0, 1.0, 1.0);
}

bool lud_empo_curiosity_count_state(lud_empo_curiosity *c, const int32_t *record) {
    return !c->seen || count(c->seen, lud_empo_state_key(c->features, record));
}

bool lud_empo_curiosity_count_action(lud_empo_curiosity *c, const int32_t *record, int h, int action) {
    return !c->done || count(c->done, action_key(c, lud_empo_state_key(c->features, record), h, action));
}

int64_t lud_empo_curiosity_states(const lud_empo_curiosity *c) {
    return c->seen ? lud_empo_table_rows(c->seen) : 0;
}

static double count_bonus(const lud_empo_curiosity *c, const lud_empo_table *table, uint64_t key,
                          uint64_t steps) {
    const double n = (double)lud_empo_table_visits(table, key);
    const double log_steps = c->options->count_curiosity_use_ucb ? log((double)steps + 1.0) : 1.0;
    return fmax(c->options->count_curiosity_scale * sqrt(log_steps / (n + 1.0)), 1e-6);
}

void lud_empo_curiosity_measure_people(lud_empo_curiosity *c, const int32_t *const *records, uint64_t steps) {
    const lud_empo_layout *layout = &c->features->layout;
    const int per_state = layout->n_humans * c->max_actions;
    const bool novel = c->novelty_weight_people > 0;
    if (novel) lud_empo_novelty_actions(c->novelty, c->n_envs, records, c->of_actions);
    for (int e = 0; e < c->n_envs; e++) {
        const uint64_t key = c->done ? lud_empo_state_key(c->features, records[e]) : 0;
        for (int i = 0; i < per_state; i++) {
            const int h = i / c->max_actions, action = i % c->max_actions;
            float *bonus = &c->of_actions[e * per_state + i];
            *bonus = novel ? (float)(c->novelty_weight_people * (double)*bonus) : 0.0f;
            if (!c->done || action >= layout->n_human_actions[h]) continue;
            *bonus += (float)(c->options->count_curiosity_bonus_coef_h *
                              count_bonus(c, c->done, action_key(c, key, h, action), steps));
        }
    }
}

const float *lud_empo_curiosity_of_actions(const lud_empo_curiosity *c, int e, int h) {
    return c->of_actions + (e * c->features->layout.n_humans + h) * c->max_actions;
}

const int32_t **lud_empo_curiosity_reserve(lud_empo_curiosity *c, int n) {
    if (n <= c->room) return c->records;
    const size_t room = (size_t)(n + n / 2);
    free(c->records);
    free(c->of_states);
    c->records = malloc(room * sizeof *c->records);
    c->of_states = malloc(room * sizeof *c->of_states);
    c->room = c->records && c->of_states ? (int)room : 0;
    return c->room ? c->records : NULL;
}

void lud_empo_curiosity_evaluate_states(lud_empo_curiosity *c, int n) {
    lud_empo_novelty_states(c->novelty, n, c->records, c->of_states);
}

double lud_empo_curiosity_of_state(const lud_empo_curiosity *c, const int32_t *record, int i,
                                   uint64_t steps) {
    double bonus = 0.0;
    if (c->seen)
        bonus = c->options->count_curiosity_bonus_coef_r *
                count_bonus(c, c->seen, lud_empo_state_key(c->features, record), steps);
    if (lud_empo_curiosity_needs_novelty(c)) bonus += c->novelty_weight * (double)c->of_states[i];
    return bonus;
}

void lud_empo_curiosity_visit(lud_empo_curiosity *c, const char *prefix, lud_checkpoint *checkpoint) {
    char text[128];
    snprintf(text, sizeof text, "%sseen", prefix);
    if (c->seen) lud_empo_table_visit(c->seen, text, checkpoint);
    snprintf(text, sizeof text, "%sdone", prefix);
    if (c->done) lud_empo_table_visit(c->done, text, checkpoint);
}
