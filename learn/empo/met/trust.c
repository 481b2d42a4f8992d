#include "learn/empo/met/trust.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mean.h"
#include "base/progress.h"
#include "base/random.h"

#define NO_AGENT UINT32_MAX
enum { LANE_TRUST = 0x400, MOST_STEPS = 1000, NOBODY = -1 };

/* Limits of what is trusted: mean residual, and difference of prediction and return as a share of it. */
static const double most_residual = 0.02, most_difference = 0.05;

/* From this share of all actions on robots choose among so many that they go nowhere. */
static const double at_random = 0.8;

/* One episode and what is counted in it. */
typedef struct walk {
    lud_empo_ahead *ahead;
    const lud_empo_theory *theory;
    lud_empo_environments *env;
    lud_empo_trust *sums;
    int64_t most; /* steps of an episode */
    lud_progress *progress;
    uint8_t *state;
    int32_t *joint;
    double *row; /* [n_goals + 1] */
    lud_successors found;
    double predicted, returned;
    int pursuer; /* a person who keeps the goal, or NOBODY: the equations draw goals anew in every state */
} walk;

/* What an earlier state would take this one to be worth: V_r by table or network. */
static lud_status worth_before(walk *w, double *v_r, lud_error *error) {
    lud_empo_asker *asker = w->ahead->asker;
    const int64_t node = lud_empo_met_find(asker->met, w->state);
    const int n_goals = lud_empo_met_layout(asker->met)->n_goals;
    if (node != LUD_EMPO_UNMET && lud_empo_met_sure(asker->met, node)) {
        lud_empo_met_row(asker->met, node, lud_empo_met_level(asker->met, w->state), w->row);
        *v_r = w->row[n_goals] / w->theory->gamma_r;
        return LUD_OK;
    }
    const uint8_t *const states[1] = {w->state};
    LUD_TRY(lud_empo_ask(asker, 1, states, error));
    *v_r = (double)asker->v_r[0];
    return LUD_OK;
}

static int draw(const walk *w, uint32_t agent, lud_purpose purpose, const double *p, int n) {
    const lud_words words =
        lud_draw((lud_random_key){w->env->seed, 0}, w->env->tick[0], agent, purpose, LANE_TRUST);
    return lud_empo_draw(p, n, lud_unit53(words.v[0], words.v[1]));
}

/* The exponential of the entropy of a distribution: as many equally likely choices are as uncertain. */
static double choices_of(const double *p, int n) {
    double entropy = 0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0) entropy -= p[i] * log(p[i]);
    return exp(entropy);
}

/* Everybody's action in the state of the last look-ahead, and what follows. */
static lud_status step(walk *w, lud_error *error) {
    const lud_empo_layout *layout = lud_empo_met_layout(w->ahead->asker->met);
    const lud_model *model = w->env->model;
    const double *record = w->ahead->record;
    for (int h = 0; h < layout->n_humans; h++) {
        const int n = layout->n_human_actions[h];
        w->joint[layout->humans[h]] =
            draw(w, (uint32_t)layout->humans[h], LUD_PURPOSE_ACTION,
                 record + layout->policies + layout->policy_begin[h] + w->env->goals[h] * n, n);
    }
    lud_empo_robot_decode(
        layout, model, draw(w, NO_AGENT, LUD_PURPOSE_ACTION, record + layout->pi_r, layout->n_robot_actions),
        w->joint);
    LUD_TRY(model->world->successors(model, w->state, w->joint, &w->found, error));
    const int next = draw(w, NO_AGENT, LUD_PURPOSE_TRANSITION, w->found.probability, (int)w->found.n);
    memcpy(w->state, w->found.states + (size_t)next * model->layout.state_bytes, model->layout.state_bytes);
    lud_empo_environments_advance(w->env, 0);
    const int kept = w->pursuer == NOBODY ? 0 : w->env->goals[w->pursuer];
    lud_empo_environments_renew_goals(w->env, 0, 1.0);
    if (w->pursuer != NOBODY) w->env->goals[w->pursuer] = kept;
    return LUD_OK;
}

static void set_out(walk *w, int pursuer) {
    w->pursuer = pursuer;
    w->returned = 0;
    lud_empo_environments_begin(w->env, 0);
    lud_empo_environments_reset(w->env, 0);
    lud_empo_environments_encode(w->env, 0);
}

static lud_status walk_through(walk *w, lud_error *error) {
    const lud_empo_layout *layout = lud_empo_met_layout(w->ahead->asker->met);
    const double weight = lud_empo_reward_weight_of(w->theory);
    double discount = 1.0, residual_before;
    set_out(w, NOBODY);
    for (int64_t t = 0; !w->env->model->world->is_terminal(w->env->model, w->state); t++) {
        LUD_TRY(worth_before(w, &residual_before, error));
        LUD_TRY(lud_empo_look_ahead(w->ahead, w->state, error));
        const double v_r = w->ahead->record[layout->v_r];
        const int64_t node = lud_empo_met_find(w->ahead->asker->met, w->state);
        if (t == 0) w->predicted = v_r;
        if (t == w->most) { /* cut: the rest is as predicted */
            w->returned += discount * v_r;
            return LUD_OK;
        }
        w->sums->states++;
        w->sums->met += node != LUD_EMPO_UNMET && lud_empo_met_expanded(w->ahead->asker->met, node);
        w->sums->from_table += w->ahead->from_table;
        w->sums->choices += choices_of(w->ahead->record + layout->pi_r, layout->n_robot_actions);
        w->sums->residual += fabs(residual_before - v_r) / fabs(v_r);
        w->returned += discount * weight * w->ahead->record[layout->u_r];
        discount *= w->theory->gamma_r;
        LUD_TRY(step(w, error));
    }
    w->returned += discount * w->theory->terminal_value;
    return LUD_OK;
}

/* Equation (6) as it comes: a person pursues one goal, and d actions until it is reached are worth
 * gamma_h^(d - 1). */
static lud_status walk_to_goal(walk *w, int h, lud_error *error) {
    const lud_empo_layout *layout = lud_empo_met_layout(w->ahead->asker->met);
    double discount = 1.0;
    set_out(w, h);
    const int goal = w->env->goals[h];
    for (int64_t t = 0; !w->env->model->world->is_terminal(w->env->model, w->state); t++) {
        LUD_TRY(lud_empo_look_ahead(w->ahead, w->state, error));
        const double v_h_e = w->ahead->record[layout->v_h_e + layout->goal_begin[h] + goal];
        if (t == 0) w->predicted = v_h_e;
        if (t == w->most) { /* cut: the rest is as predicted */
            w->returned = discount * v_h_e;
            return LUD_OK;
        }
        LUD_TRY(step(w, error));
        if (lud_empo_features_achieved(w->env->features, w->env->records, h, goal)) {
            w->returned = discount;
            return LUD_OK;
        }
        discount *= w->theory->gamma_h;
    }
    return LUD_OK;
}

/* Episodes of everybody, or of a person who pursues a goal. */
static lud_status walk_all(walk *w, int pursuer, lud_empo_worth *worth, lud_error *error) {
    const int n_humans = lud_empo_met_layout(w->ahead->asker->met)->n_humans;
    lud_mean predicted = {0}, returned = {0}, difference = {0};
    const int64_t episodes = w->sums->episodes;
    for (int64_t e = 0; e < episodes; e++) {
        const double done = (double)e / (double)episodes;
        if (pursuer == NOBODY) {
            LUD_TRY(lud_progress_stage_beat(w->progress, "the episodes that judge it", done, error));
            LUD_TRY(walk_through(w, error));
        } else {
            LUD_TRY(lud_progress_stage_beat(w->progress, "the goals that people reach",
                                            (pursuer + done) / n_humans, error));
            LUD_TRY(walk_to_goal(w, pursuer, error));
        }
        lud_mean_add(&predicted, w->predicted);
        lud_mean_add(&returned, w->returned);
        lud_mean_add(&difference, w->returned - w->predicted);
    }
    *worth = (lud_empo_worth){predicted.mean, returned.mean,
                              lud_mean_deviation(&difference) / sqrt(fmax(difference.n, 1))};
    return LUD_OK;
}

static double difference_of(const lud_empo_worth *worth) {
    return fabs(worth->returned - worth->predicted);
}

/* Of each person in turn; who comes out furthest from what was predicted is kept. */
static lud_status walk_to_goals(walk *w, lud_error *error) {
    const lud_empo_layout *layout = lud_empo_met_layout(w->ahead->asker->met);
    lud_empo_trust *trust = w->sums;
    for (int h = 0; h < layout->n_humans; h++) {
        lud_empo_worth own;
        LUD_TRY(walk_all(w, h, &own, error));
        if (h > 0 && difference_of(&own) <= difference_of(&trust->v_h_e)) continue;
        trust->v_h_e = own;
        trust->person = layout->humans[h];
    }
    return LUD_OK;
}

lud_status lud_empo_trust_measure(lud_empo_ahead *ahead, const lud_empo_theory *theory, uint64_t seed,
                                  int episodes, int64_t steps_per_episode, lud_progress *progress,
                                  lud_empo_trust *trust, lud_error *error) {
    lud_empo_met *met = ahead->asker->met;
    const lud_empo_features *features = ahead->asker->values->features;
    const lud_model *model = &features->grid->model;
    *trust = (lud_empo_trust){.complete = lud_empo_met_complete(met),
                              .episodes = episodes,
                              .n_actions = features->layout.n_robot_actions};
    lud_arena *arena = lud_arena_create(0);
    lud_empo_environments env = {0};
    walk w = {.ahead = ahead,
              .theory = theory,
              .env = &env,
              .sums = trust,
              .most = steps_per_episode > 0 ? steps_per_episode : MOST_STEPS,
              .progress = progress};
    if (arena) w.joint = lud_arena_take_array(arena, (size_t)model->layout.n_agents, sizeof *w.joint);
    if (arena) w.row = lud_arena_take_array(arena, (size_t)features->layout.n_goals + 1, sizeof *w.row);
    lud_status status =
        arena && w.joint && w.row && lud_empo_environments_create(arena, features, model, ~seed, 1, &env)
            ? LUD_OK
            : lud_no_memory(error, "episodes");
    w.state = env.states;
    if (!status) status = walk_all(&w, NOBODY, &trust->v_r, error);
    if (!status) status = walk_to_goals(&w, error);
    if (trust->states > 0) {
        trust->met /= (double)trust->states;
        trust->from_table /= (double)trust->states;
        trust->residual /= (double)trust->states;
        trust->choices /= (double)trust->states;
    }
    lud_successors_free(&w.found);
    lud_arena_destroy(arena);
    return status;
}

static bool came(const lud_empo_worth *w) {
    return difference_of(w) <= most_difference * fabs(w->predicted) + 2 * w->deviation;
}

bool lud_empo_trusted(const lud_empo_trust *t) {
    return t->complete || (t->residual <= most_residual && came(&t->v_r) && came(&t->v_h_e));
}

/* Values may be right and robots go nowhere all the same: that is the exponent. */
static void print_choices(const lud_empo_trust *t, lud_text *out) {
    if (t->n_actions < 2 || t->choices < at_random * t->n_actions) return;
    lud_text_append(
        out,
        "robots choose nearly at random, among %.1f of %d actions in the mean: what one step changes "
        "is too little of V_r for beta_r, which a larger one follows\n",
        t->choices, t->n_actions);
}

void lud_empo_trust_print(const lud_empo_trust *t, const lud_empo_met_figures *met, lud_text *out) {
    lud_text_append(out, "\n=== Whether it can be relied on ===\n");
    if (t->complete) {
        lud_text_append(out,
                        "yes: all %" PRId64 " states that can be reached are in the table, and their values "
                        "satisfy the equations\n",
                        met->n);
        print_choices(t, out);
        return;
    }
    lud_text_append(out, "in %" PRId64 " episodes of the learned robots, %" PRId64 " states:\n", t->episodes,
                    t->states);
    lud_text_append(out, "  states that are in the table with their successors  %6.1f %%\n", 100 * t->met);
    lud_text_append(out, "  of what follows, answered by the table              %6.1f %%, else by networks\n",
                    100 * t->from_table);
    lud_text_append(out, "  V_r against one step of look-ahead, mean residual   %6.2f %%\n",
                    100 * t->residual);
    lud_text_append(out, "  V_r at the start %.5g, what then came %.5g +- %.2g\n", t->v_r.predicted,
                    t->v_r.returned, 2 * t->v_r.deviation);
    lud_text_append(out, "  V_h^e of person %d at the start %.4f, what then came %.4f +- %.2g\n", t->person,
                    t->v_h_e.predicted, t->v_h_e.returned, 2 * t->v_h_e.deviation);
    lud_text_append(out, "  actions that robots choose among                    %6.1f of %d\n", t->choices,
                    t->n_actions);
    if (lud_empo_trusted(t)) {
        lud_text_append(out, "yes, where these robots go: values agree with what follows from them; what "
                             "nobody met may be better\n");
        print_choices(t, out);
        return;
    }
    const lud_empo_worth *w = came(&t->v_r) ? &t->v_h_e : &t->v_r;
    lud_text_append(out, "no: %s\n",
                    t->residual > most_residual  ? "values disagree with what follows from them"
                    : w->returned > w->predicted ? "what comes is better than what values at the start say"
                                                 : "what comes is worse than what values at the start say");
    char most[16];
    if (met->forgotten > 0)
        lud_text_append(out, "  %" PRId64 " states had to be forgotten: raise met_memory above %s\n",
                        met->forgotten, lud_format_memory((double)met->most_bytes, most));
    lud_text_append(out, "  train longer (num_training_steps)%s\n",
                    t->met < 0.5 ? " and act more (a smaller training_steps_per_env_step)" : "");
}
