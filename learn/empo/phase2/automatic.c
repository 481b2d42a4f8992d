#include "learn/empo/phase2/automatic.h"

#include <math.h>

#include "base/options/automatic.h"
#include "learn/empo/layout.h"

typedef lud_empo_learner_options options;

/* Joint actions of all states that counting may try, and of people that expectations are taken over. */
#define MOST_TRIED     4e6
#define MOST_PROFILES  256
#define STATES_A_BATCH 64.0

/* What the rules look at. */
typedef struct world_size {
    double n_states; /* 0: not counted, or too many */
    double horizon;
    int n_people, n_profiles; /* joint actions of people */
} world_size;

static lud_status measure(const lud_scenario *s, const options *o, world_size *w, lud_error *error) {
    const lud_layout *layout = &s->model->layout;
    lud_empo_layout empo;
    lud_error unfit = {0};
    *w = (world_size){.horizon = layout->max_steps > 0 ? layout->max_steps : 50};
    const int32_t joint = lud_joint_action_count(layout);
    /* what does not fit a learner of EMPO is told by who builds it */
    if (!s->world->successors || joint < 1 || lud_empo_layout_find(s->model, &empo, &unfit)) return LUD_OK;
    w->n_people = empo.n_humans;
    w->n_profiles = empo.n_human_profiles;
    const double most = fmin((double)o->exact_max_states, MOST_TRIED / joint);
    uint64_t n = 0;
    if (most >= 1.0)
        LUD_TRY(lud_empo_count_states(s->model, (uint64_t)s->run.seed, (uint64_t)most, (int)s->run.threads,
                                      &n, error));
    w->n_states = (double)n;
    return LUD_OK;
}

/* What only networks can do. */
static bool wants_networks(const options *o) {
    return o->async_training || o->use_rnd || o->plasticity_interval > 0;
}

/* People as the theory has them, where that can be computed: the exact solution is kept for them. */
static lud_status choose_prior(lud_automatic *a, const lud_scenario *s, options *o, const world_size *w,
                               lud_arena *arena, lud_empo_reference *reference, lud_error *error) {
    lud_empo_theory theory = o->theory;
    lud_error unsolved = {0};
    lud_status status = lud_empo_theory_check(&theory, (lud_place){0}, &unsolved);
    if (o->human_prior || w->n_states <= 0 || status) return LUD_OK; /* a wrong theory is told later */
    status = lud_empo_reference_create(s->model, &theory, NULL, (uint64_t)s->run.seed, (uint64_t)w->n_states,
                                       (int)s->run.threads, reference, &unsolved);
    if (status == LUD_ERROR_MEMORY || status == LUD_INTERRUPTED)
        return lud_fail(error, status, "%s", unsolved.text);
    if (status) {
        lud_automatic_say(a, "human_prior", "heuristic", "exact people are not possible: %s", unsolved.text);
        return LUD_OK;
    }
    lud_automatic_say(a, "human_prior", "exact", "all of %.0f states are solved in a moment", w->n_states);
    o->human_prior = lud_tree_add_text(arena, NULL, "human_prior", "exact");
    return o->human_prior ? LUD_OK : lud_no_memory(error, "a learner");
}

static void choose_targets(lud_automatic *a, options *o, const world_size *w) {
    const bool sampled = o->hindsight_prob > 0 || !o->fresh_goals || w->n_profiles > MOST_PROFILES;
    lud_automatic_set(a, &o->expected_people, !sampled,
                      sampled ? "targets are drawn"
                              : "%d joint actions of people are few enough to take all into account",
                      w->n_profiles);
}

/* Every state is met, one step from the known at a time, however hard it is to reach by chance. */
static void choose_starts(lud_automatic *a, options *o, double share) {
    lud_automatic_set(a, &o->restart_prob, share,
                      "episodes begin anywhere, or a key would hardly be fetched");
    lud_automatic_set(a, &o->restart_from, LUD_EMPO_SUCCESSORS, "all that can follow counts as met");
    lud_automatic_set(a, &o->restart_steps, 1, "one step from each");
    lud_automatic_set(a, &o->restart_choices, 8, "those that were begun in least");
    lud_automatic_set(a, &o->steps_per_episode, 0, "until the world ends them");
    if (o->met_memory == 0) lud_automatic_set(a, &o->buffer_size, 400000, "as memory allows");
}

/* The same where there is more than can be met: half of all episodes are whole, the others go on for a while
 * from some configuration of objects that was met. */
static void choose_far_starts(lud_automatic *a, options *o) {
    lud_automatic_set(a, &o->restart_prob, 0.5,
                      "half of all episodes are whole, there is more than can be met");
    lud_automatic_set(a, &o->restart_from, LUD_EMPO_CONFIGURATIONS,
                      "the others begin where keys are carried and doors open, as it promises most");
    lud_automatic_set(a, &o->restart_steps, 16, "and go on for a while");
    lud_automatic_set(a, &o->steps_per_episode, 0, "of the world");
}

static void choose_stages(lud_automatic *a, lud_empo_stages *s, const char *why) {
    const double total = (double)s->total;
    lud_automatic_set(a, &s->warmup[LUD_NET_V_H_E], round(total / 16), "%s", why);
    lud_automatic_set(a, &s->warmup[LUD_NET_X_H], round(total / 16), NULL);
    lud_automatic_set(a, &s->warmup[LUD_NET_U_R], round(total / 32), NULL);
    lud_automatic_set(a, &s->warmup[LUD_NET_Q_R], round(total / 40), NULL);
    lud_automatic_set(a, &s->warmup[LUD_NET_V_R], round(total / 40), NULL);
    lud_automatic_set(a, &s->beta_r_ramp, round(total / 24), "%s", why);
    lud_automatic_set(a, &s->gamma_h_ramp, floor((double)s->warmup[LUD_NET_V_H_E] / 2), NULL);
    lud_automatic_set(a, &s->gamma_r_ramp, floor((double)s->warmup[LUD_NET_Q_R] / 2), NULL);
    lud_automatic_set(a, &s->epsilon_r_steps, round(total / 10), NULL);
    lud_automatic_set(a, &s->epsilon_h_steps, round(total / 10), NULL);
}

/* A number for every state and goal: exact, where every entry is set to its target often enough for values to
 * travel from the end of an episode to its beginning. */
static void choose_tables(lud_automatic *a, options *o, const world_size *w) {
    const double visits = 50.0 + 2.0 * w->horizon;
    lud_automatic_set(a, &o->use_lookup_tables, 1, "%.0f states: one number each is exact", w->n_states);
    lud_automatic_set(a, &o->batch_size, STATES_A_BATCH, NULL);
    lud_automatic_set(a, &o->stages.total,
                      fmax(round(w->n_states * visits / STATES_A_BATCH / 100) * 100, 2000),
                      "each state some %.0f times", visits);
    lud_automatic_set(a, &o->training_steps_per_env_step, 0.25, "new states and old ones");
    lud_automatic_set(a, &o->lookup_lr, o->expected_people ? 1 : 0.1,
                      o->expected_people ? "targets have no noise" : "targets are noisy");
    lud_automatic_set(a, &o->lookup_default[LUD_NET_V_H_E], 0.5, "neither hopeless nor sure");
    choose_starts(a, o, 0.95);
}

static void choose_networks(lud_automatic *a, options *o, const world_size *w) {
    lud_empo_stages *s = &o->stages;
    const double states = w->n_states > 0 ? w->n_states : 20000;
    const bool far = o->met_memory > 0 && w->n_states <= 0;
    const double total = far ? 30000 : fmin(fmax(round(4.0 * states / 1000) * 1000, 8000), 30000);
    lud_automatic_set(a, &o->use_lookup_tables, 0,
                      w->n_states > 0 ? "networks are asked for" : "too many states for one number each");
    lud_automatic_set(a, &o->batch_size, 32, "targets in expectation have little noise");
    lud_automatic_set(a, &s->total, total, "updates");
    lud_automatic_set(a, &o->training_steps_per_env_step, far ? 0.05 : 0.2, "new states and old ones");
    lud_automatic_set(a, &o->hidden_dim, 64, "wider ones learn no more");
    lud_automatic_set(a, &o->dropout, 0, "values are exact or wrong");
    lud_automatic_set(a, &o->log_space, !o->z_space,
                      o->z_space ? NULL : "errors of small and large values count alike");
    if (o->met_memory == 0)
        lud_automatic_set(a, &o->dueling, 1, "actions differ by little where states differ by much");
    lud_automatic_set(a, &s->lr[LUD_NET_V_H_E], 2e-3, "at first");
    lud_automatic_set(a, &s->lr[LUD_NET_Q_R], 3e-3, o->met_memory > 0 ? NULL : "at first");
    if (o->met_memory > 0) lud_automatic_set(a, &s->lr[LUD_NET_V_R], 3e-3, "at first");
    lud_automatic_set(a, &s->constant_fraction, 0.3, "then rates fall");
    lud_automatic_set(a, &s->cosine_decay, 1, "to nothing at the end");
    for (int net = 0; net < LUD_EMPO_NETS; net++) {
        lud_automatic_set(a, &o->target_interval[net], 10,
                          net ? NULL : "values travel a step with each copy; so of the others");
        lud_automatic_set(a, &o->weight_decay[net], 0, net ? NULL : "it would pull values; so of the others");
    }
    lud_automatic_set(a, &s->epsilon_r_end, far ? 0.1 : 0.3, "go on looking aside");
    lud_automatic_set(a, &s->epsilon_h_end, far ? 0.1 : 0.3, "likewise");
    if (far)
        choose_far_starts(a, o);
    else
        choose_starts(a, o, 0.9);
}

/* The states met, and networks for the others. */
static void choose_met(lud_automatic *a, options *o, const world_size *w) {
    lud_empo_stages *s = &o->stages;
    for (int net = 0; net < LUD_EMPO_NETS; net++) lud_automatic_set(a, &s->warmup[net], 0, NULL);
    lud_automatic_set(a, &s->beta_r_ramp, 0, "values are those of the final policy at any time");
    lud_automatic_set(a, &s->v_r_network, 1, "for what was not met");
    lud_automatic_set(a, &o->path_features, 1, "how far people have to walk is known, not learned");
    choose_networks(a, o, w);
}

lud_status lud_empo_phase2_choose(const lud_scenario *scenario, lud_arena *arena, options *o,
                                  lud_empo_reference *reference, const char **chosen, lud_error *error) {
    lud_automatic a = {.table = &lud_empo_learner_table, .mapping = scenario->learner, .values = o};
    world_size w;
    *chosen = "";
    if (!o->automatic) return LUD_OK;
    LUD_TRY(measure(scenario, o, &w, error));
    const lud_status status = choose_prior(&a, scenario, o, &w, arena, reference, error);
    if (status) {
        lud_text_free(&a.said);
        return status;
    }
    choose_targets(&a, o, &w);
    lud_automatic_set(&a, &o->stages.x_h_network, 0, "it follows from V_h^e");
    const char *replay = lud_empo_learner_needs_replay(o);
    if (lud_automatic_is_open(&a, &o->met_memory)) {
        if (replay || !o->expected_people)
            lud_automatic_set(&a, &o->met_memory, 0, "%s belongs to a replay memory",
                              replay ? replay : "expected_people: false");
        else
            lud_automatic_set(&a, &o->met_memory, 1, "the states met, solved as far as they go");
    }
    const bool open = lud_automatic_is_open(&a, &o->use_lookup_tables);
    const bool tables = open ? w.n_states > 0 && !wants_networks(o) : o->use_lookup_tables;
    if (o->met_memory > 0)
        choose_met(&a, o, &w);
    else if (tables)
        choose_tables(&a, o, &w);
    else
        choose_networks(&a, o, &w);
    if (o->met_memory == 0) choose_stages(&a, &o->stages, "a share of the training");
    *chosen = lud_automatic_end(&a, arena);
    return *chosen ? LUD_OK : lud_no_memory(error, "a learner");
}
