#include "learn/empo/targets/hindsight.h"

#include <stdlib.h>

#include "base/random.h"
#include "learn/nn/arrays.h"

/* Counters of the draws for person h of transition i of a batch; other draws for goals have small ones. */
enum { LANE_HINDSIGHT = 0x200 };

struct lud_empo_hindsight {
    const lud_empo_features *features;
    const lud_empo_replay *replay;
    int64_t n;
    double chance;
    bool whole;
    uint64_t seed;
    lud_arrays arrays;
    int32_t *goals;         /* [n][n_humans] */
    float *weights;         /* [n][n_humans] */
    double *p, *later;      /* [n_goals] of all people: p sums to 1 for each */
    const int32_t **states; /* [state_room] that came later in an episode */
    int64_t state_room;
    int64_t replaced;
};

lud_empo_hindsight *lud_empo_hindsight_create(const lud_empo_features *features,
                                              const lud_empo_replay *replay, int64_t n, double chance,
                                              bool whole, uint64_t seed) {
    const lud_empo_layout *layout = &features->layout;
    const size_t people = (size_t)(n * layout->n_humans), goals = (size_t)layout->n_goals;
    lud_empo_hindsight *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (lud_empo_hindsight){
        .features = features, .replay = replay, .n = n, .chance = chance, .whole = whole, .seed = seed};
    LUD_TAKE(&t->arrays, t->goals, people);
    LUD_TAKE(&t->arrays, t->weights, people);
    LUD_TAKE(&t->arrays, t->p, goals);
    LUD_TAKE(&t->arrays, t->later, goals);
    if (t->arrays.failed) {
        lud_empo_hindsight_destroy(t);
        return NULL;
    }
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            t->p[g] = features->goal_weight[g] / features->weight_sum[h];
    return t;
}

void lud_empo_hindsight_destroy(lud_empo_hindsight *t) {
    if (!t) return;
    lud_arrays_free(&t->arrays);
    free(t->states);
    free(t);
}

double lud_empo_hindsight_weight(int n_goals, int g, double chance, bool whole, const double *p,
                                 const double *later, const float *likelihood) {
    double any = 0, marginal = 0;
    for (int i = 0; i < n_goals; i++) {
        any += later[i];
        marginal += p[i] * (double)likelihood[i];
    }
    const double own = (1.0 - chance * any) * p[g], others = chance * later[g];
    const double density = own * (double)likelihood[g] + others * marginal;
    if (!(density > 0)) return 0.0; /* nobody who pursues this goal does that */
    return (whole ? p[g] : own + others) * (double)likelihood[g] / density;
}

/* The states that came after transition `index` in its episode; -1 when memory is out. */
static int64_t look_ahead(lud_empo_hindsight *t, int64_t index) {
    int64_t n = 0;
    for (; index >= 0; index = lud_empo_replay_following(t->replay, index)) {
        if (n == t->state_room) {
            const int64_t room = 2 * t->state_room + 64;
            if (!lud_grow(&t->states, (size_t)room, sizeof *t->states)) return -1;
            t->state_room = room;
        }
        t->states[n++] = lud_empo_replay_get(t->replay, index).next_record;
    }
    return n;
}

/* The k-th of the goals that person h has achieved in a state; with k = -1 how many there are. */
static int achieved_goal(const lud_empo_hindsight *t, const int32_t *state, int h, int k) {
    const lud_empo_layout *layout = &t->features->layout;
    int n = 0;
    for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
        if (lud_empo_features_achieved(t->features, state, h, g) && n++ == k) return g;
    return n;
}

/* H of person h's goals. */
static void weigh_later(lud_empo_hindsight *t, int64_t n, int h) {
    const lud_empo_layout *layout = &t->features->layout;
    double *later = t->later + layout->goal_begin[h];
    const int n_goals = lud_empo_goals_of(layout, h);
    for (int g = 0; g < n_goals; g++) later[g] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int achieved = achieved_goal(t, t->states[i], h, -1);
        for (int g = 0; achieved && g < n_goals; g++)
            if (lud_empo_features_achieved(t->features, t->states[i], h, g))
                later[g] += 1.0 / ((double)n * achieved);
    }
}

bool lud_empo_hindsight_relabel(lud_empo_hindsight *t, const int64_t *indices, uint32_t draw,
                                lud_empo_transition *transitions) {
    const lud_empo_layout *layout = &t->features->layout;
    t->replaced = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t n = look_ahead(t, indices[i]);
        if (n < 0) return false;
        int32_t *goals = t->goals + i * layout->n_humans;
        for (int h = 0; h < layout->n_humans; h++) {
            const lud_words w = lud_draw((lud_random_key){t->seed, (uint32_t)i}, draw, (uint32_t)h,
                                         LUD_PURPOSE_GOAL, LANE_HINDSIGHT);
            goals[h] = transitions[i].goals[h];
            weigh_later(t, n, h);
            if (lud_unit(w.v[0]) < t->chance) {
                const int32_t *state = t->states[lud_below(w.v[1], (uint32_t)n)];
                const int achieved = achieved_goal(t, state, h, -1);
                if (achieved) {
                    goals[h] = achieved_goal(t, state, h, (int)lud_below(w.v[2], (uint32_t)achieved));
                    t->replaced++;
                }
            }
            const int begin = layout->goal_begin[h];
            t->weights[i * layout->n_humans + h] = (float)lud_empo_hindsight_weight(
                layout->goal_begin[h + 1] - begin, goals[h], t->chance, t->whole, t->p + begin,
                t->later + begin, transitions[i].likelihood + begin);
        }
        transitions[i].goals = goals;
    }
    return true;
}

const int32_t *lud_empo_hindsight_goals(const lud_empo_hindsight *t) {
    return t->goals;
}

const float *lud_empo_hindsight_weights(const lud_empo_hindsight *t) {
    return t->weights;
}

double lud_empo_hindsight_share(const lud_empo_hindsight *t) {
    return (double)t->replaced / (double)(t->n * t->features->layout.n_humans);
}

double lud_empo_hindsight_mean_weight(const lud_empo_hindsight *t) {
    const int64_t n = t->n * t->features->layout.n_humans;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)t->weights[i];
    return sum / (double)n;
}
