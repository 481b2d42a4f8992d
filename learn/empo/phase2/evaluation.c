#include "learn/empo/phase2/evaluation.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "learn/empo/evaluation/benefit.h"
#include "learn/empo/evaluation/robots.h"
#include "learn/empo/phase2/met_evaluation.h"
#include "learn/nn/arrays.h"
#include "learn/runs/run.h"

typedef lud_empo_phase2_learner phase2;

enum { BLOCK = 2048 }; /* states evaluated at once */

#define EVALUATION(X)                                                                                        \
    X(exact.v_r, "exact/v_r_error", "%.3f",                                                                  \
      "mean relative error of V_r over the states the exact policy visits")                                  \
    X(exact.x_h, "exact/x_h_error", "%.3f", "of X_h")                                                        \
    X(q_r, "exact/q_r_error", NULL, "of Q_r")                                                                \
    X(v_h_e, "exact/v_h_e_error", NULL, "mean absolute error of V_h^e over goals")                           \
    X(learned.v_r, "exact/v_r_error_learned", NULL,                                                          \
      "error of V_r over the states the learned policy visits")                                              \
    X(learned.x_h, "exact/x_h_error_learned", NULL, "of X_h")                                                \
    X(random.v_r, "exact/v_r_error_random", NULL, "error of V_r over the states the random policy visits")   \
    X(random.x_h, "exact/x_h_error_random", NULL, "of X_h")                                                  \
    X(everywhere.v_r, "exact/v_r_error_everywhere", NULL,                                                    \
      "error of V_r over all states, each counting once")                                                    \
    X(everywhere.x_h, "exact/x_h_error_everywhere", NULL, "of X_h")                                          \
    X(divergence, "exact/policy_divergence", NULL, "total variation between learned and exact pi_r")         \
    X(kl, "exact/policy_kl", NULL, "KL(learned || exact) of pi_r in nats")                                   \
    X(start_learned, "exact/v_r_learned", NULL, "learned V_r at the start")                                  \
    X(start_v_r, "exact/v_r_exact", NULL, "exact V_r at the start")                                          \
    X(policy_v_r, "exact/v_r_of_policy", NULL, "exact V_r of the learned policy at the start")               \
    X(random_v_r, "exact/v_r_of_random", NULL, "exact V_r of the random policy at the start")                \
    X(regret, "exact/regret", "%.3f", "regret of the learned policy, as a share of the random one's")

/* Of learners that keep the states met: the same without the table, and what shows without an exact solution.
 */
#define ALONE(X)                                                                                             \
    X(exact.v_r, "network/v_r_error", NULL, "error of V_r of the networks alone, without the states met")    \
    X(exact.x_h, "network/x_h_error", NULL, "of X_h")                                                        \
    X(everywhere.v_r, "network/v_r_error_everywhere", NULL, "of V_r over all states")                        \
    X(regret, "network/regret", NULL, "regret of look-ahead over the networks alone")
#define TRUST(X)                                                                                             \
    X(residual, "trust/residual", "%.4f", "V_r against one step of look-ahead, where the learned robots go") \
    X(met, "trust/met", NULL, "share of those states that are in the table with their successors")           \
    X(from_table, "trust/from_table", NULL, "share of what follows them that the table answered for")        \
    X(choices, "trust/choices", NULL,                                                                        \
      "actions that these robots choose among: the exponential of the entropy of pi_r")                      \
    X(v_r.predicted, "trust/v_r_predicted", NULL, "mean V_r at the start of these episodes")                 \
    X(v_r.returned, "trust/v_r_returned", NULL, "mean of what then came")                                    \
    X(v_h_e.predicted, "trust/v_h_e_predicted", NULL,                                                        \
      "mean V_h^e at the start, of the person furthest from it")                                             \
    X(v_h_e.returned, "trust/v_h_e_returned", NULL, "mean of what came of its goals")

const lud_metric lud_empo_phase2_evaluation_columns[] = {
    EVALUATION(LUD_COLUMN_METRIC) ALONE(LUD_COLUMN_METRIC) TRUST(LUD_COLUMN_METRIC)};
enum { N_EVALUATION = sizeof lud_empo_phase2_evaluation_columns / sizeof(lud_metric) };
#define ONE(...) +1
enum { N_EXACT = 0 EVALUATION(ONE) };
const int lud_empo_met_n_evaluation_columns = N_EVALUATION;
const int lud_empo_phase2_n_evaluation_columns = N_EXACT;

/* ---- learned values ---- */

/* For n states, v_r to pi_r as in lud_empo_learned; the rest for one block of them. */
typedef struct learned_arrays {
    lud_arrays arrays;
    float *v_r, *u_r, *x_h, *v_h_e, *q_r, *pi_r, *x_from_v_h_e;
    int32_t *record;                  /* [block][words] */
    const int32_t **records, **goals; /* [block] */
    int32_t *first_goals;             /* [n_humans] zeros */
} learned_arrays;

/* What was learned for states[n]. lud_arrays_free gives the arrays back, in any case. */
static lud_status learned_values(phase2 *p, uint64_t n, const uint8_t *states, learned_arrays *l,
                                 lud_error *error) {
    const lud_empo_layout *layout = &p->features.layout;
    const size_t all = n, block = n < BLOCK ? n : BLOCK, humans = (size_t)layout->n_humans,
                 goals = (size_t)layout->n_goals, actions = (size_t)layout->n_robot_actions,
                 words = (size_t)p->features.words;
    lud_arrays *a = &l->arrays;
    *l = (learned_arrays){0};
    LUD_TAKE(a, l->v_r, all);
    LUD_TAKE(a, l->u_r, all);
    LUD_TAKE(a, l->x_h, all * humans);
    LUD_TAKE(a, l->v_h_e, all * goals);
    LUD_TAKE(a, l->q_r, all * actions);
    LUD_TAKE(a, l->pi_r, all * actions);
    LUD_TAKE(a, l->x_from_v_h_e, block * humans);
    LUD_TAKE(a, l->record, block * words);
    LUD_TAKE(a, l->records, block);
    LUD_TAKE(a, l->goals, block);
    LUD_TAKE(a, l->first_goals, humans);
    if (a->failed) return lud_no_memory(error, "learned values");
    for (size_t i = 0; i < block; i++) {
        l->records[i] = l->record + i * words;
        l->goals[i] = l->first_goals;
    }
    lud_profile *profile = p->values.profile;
    p->values.profile = NULL;
    lud_status status = LUD_OK;
    for (size_t first = 0; first < n && status == LUD_OK; first += block) {
        const size_t rows = n - first < block ? n - first : block;
        for (size_t i = 0; i < rows; i++)
            lud_empo_features_encode(&p->features,
                                     states + (first + i) * p->scenario->model->layout.state_bytes,
                                     l->record + i * words);
        status =
            lud_progress_stage_beat(p->base.progress, "the comparison", (double)first / (double)n, error);
        if (status) break;
        status = lud_empo_values_run(&p->values, (int64_t)rows, l->records, l->goals, LUD_WANT_ALL,
                                     p->options.theory.beta_r, 0, error);
        const struct {
            float *to;
            const float *from;
            size_t width;
        } moves[] = {{l->v_r, p->values.v_r, 1},
                     {l->u_r, p->values.u_r, 1},
                     {l->x_h, p->values.x_h, humans},
                     {l->q_r, p->values.q_r, actions},
                     {l->pi_r, p->values.pi_r, actions}};
        for (size_t k = 0; k < sizeof moves / sizeof *moves && status == LUD_OK; k++)
            lud_device_download(p->device, moves[k].to + first * moves[k].width, moves[k].from,
                                rows * moves[k].width * sizeof(float));
        if (status == LUD_OK)
            status = lud_empo_values_power(&p->values, (int64_t)rows, l->records, 0, l->x_from_v_h_e,
                                           l->v_h_e + first * goals, error);
    }
    p->values.profile = profile;
    return status;
}

lud_status lud_empo_state_values(phase2 *p, const uint8_t *state, double *record, lud_error *error) {
    const lud_empo_layout *layout = &p->features.layout;
    if (p->met) {
        LUD_TRY(lud_empo_look_ahead(&p->met->ahead, state, error));
        memcpy(record, p->met->ahead.record, (size_t)layout->record_doubles * sizeof *record);
        for (int g = 0; g < layout->n_goals; g++) record[layout->v_h_m + g] = NAN;
        return LUD_OK;
    }
    learned_arrays l;
    const lud_status status = learned_values(p, 1, state, &l, error);
    if (status == LUD_OK) {
        /* of U_r itself, without its weight in V_r */
        const double scale = p->values.reward_scale / lud_empo_reward_weight_of(&p->options.theory);
        const struct {
            int at, n;
            const float *from;
        } parts[] = {{layout->v_r, 1, l.v_r},
                     {layout->x_h, layout->n_humans, l.x_h},
                     {layout->v_h_e, layout->n_goals, l.v_h_e},
                     {layout->q_r, layout->n_robot_actions, l.q_r},
                     {layout->pi_r, layout->n_robot_actions, l.pi_r}};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            for (int i = 0; i < parts[k].n; i++) record[parts[k].at + i] = (double)parts[k].from[i];
        record[layout->u_r] = scale * (double)l.u_r[0];
        for (int g = 0; g < layout->n_goals; g++) record[layout->v_h_m + g] = NAN;
    }
    for (int h = 0; status == LUD_OK && h < layout->n_humans; h++)
        for (int g = 0; g < lud_empo_goals_of(layout, h); g++)
            lud_empo_prior_policy(&p->prior, &p->features, state, h, g,
                                  record + layout->policies + layout->policy_begin[h] +
                                      g * layout->n_human_actions[h]);
    lud_arrays_free(&l.arrays);
    return status;
}

/* ---- comparing with the exact solution ---- */

/* The distance of what was learned on the states met, or of its networks alone. */
static lud_status compare_met(phase2 *p, bool alone, lud_empo_distance *distance, lud_error *error) {
    lud_empo_met_values v;
    lud_status status = lud_empo_met_evaluate(p->met, &p->reference, alone, p->base.progress, &v, error);
    const lud_empo_learned learned = {v.v_r, v.u_r, v.x_h, v.v_h_e, v.q_r, v.pi_r};
    if (status == LUD_OK)
        status = lud_empo_reference_compare(&p->reference, &learned, (int)p->scenario->run.threads, distance,
                                            error);
    lud_arrays_free(&v.arrays);
    return status;
}

static lud_status compare_learned(phase2 *p, lud_error *error) {
    learned_arrays l;
    lud_status status =
        learned_values(p, p->reference.space->n_states, p->reference.space->states, &l, error);
    const lud_empo_learned learned = {l.v_r, l.u_r, l.x_h, l.v_h_e, l.q_r, l.pi_r};
    if (status == LUD_OK)
        status = lud_empo_reference_compare(&p->reference, &learned, (int)p->scenario->run.threads,
                                            &p->distance, error);
    lud_arrays_free(&l.arrays);
    return status;
}

/* Networks alone are asked about every state of so many, a minute for a million. */
static const int most_alone = 2000000;

lud_status lud_empo_phase2_evaluate(lud_learner *learner, double *row, lud_error *error) {
    enum { EPISODES = 64 };
    phase2 *p = (phase2 *)learner;
    const lud_empo_learner_options *o = &p->options;
    const int n_columns = p->base.n_evaluation_columns;
    for (int i = 0; i < n_columns; i++) row[i] = NAN;
    p->has_trust = false;
    if (p->met) {
        LUD_TRY(lud_empo_trust_measure(&p->met->ahead, &o->theory, (uint64_t)p->scenario->run.seed, EPISODES,
                                       o->steps_per_episode, p->base.progress, &p->trust, error));
        p->has_trust = true;
    }
    LUD_TRY(lud_empo_reference_ensure(p->scenario, &o->theory, p->prior.policy, o->exact_max_states,
                                      p->base.progress, &p->reference, error));
    const bool known = p->reference.solved && o->exact_max_states > 0;
    if (known) {
        LUD_TRY(p->met ? compare_met(p, false, &p->distance, error) : compare_learned(p, error));
        p->has_alone = p->met && p->reference.space->n_states <= (uint64_t)most_alone;
        if (p->has_alone) LUD_TRY(compare_met(p, true, &p->alone, error));
        p->evaluated = true;
    }
#define OF_DISTANCE(field, ...) known ? p->distance.field : NAN,
#define OF_ALONE(field, ...)    known && p->has_alone ? p->alone.field : NAN,
#define OF_TRUST(field, ...)    p->met ? p->trust.field : NAN,
    const double values[N_EVALUATION] = {EVALUATION(OF_DISTANCE) ALONE(OF_ALONE) TRUST(OF_TRUST)};
    memcpy(row, values, (size_t)n_columns * sizeof *values);
    return LUD_OK;
}

static void report_trust(const lud_empo_phase2_learner *p, lud_text *out) {
    if (!p->has_trust) return;
    const lud_empo_met_figures met = lud_empo_met_get(p->met->met);
    lud_empo_trust_print(&p->trust, &met, out);
}

void lud_empo_phase2_report_evaluation(const lud_empo_phase2_learner *p, lud_text *out) {
    report_trust(p, out);
    lud_empo_reference_report_missing(&p->reference, out);
    if (!p->evaluated) return;
    const lud_empo_distance *d = &p->distance;
    lud_text_append(out, "\n=== Learned against exact, %llu states ===\n",
                    (unsigned long long)p->reference.space->n_states);
    lud_text_append(out,
                    "  mean over the states that      the exact   learned    random policy visits, all\n");
    lud_text_append(out, "  V_r, relative error            %9.4f %9.4f %9.4f %9.4f\n", d->exact.v_r,
                    d->learned.v_r, d->random.v_r, d->everywhere.v_r);
    lud_text_append(out, "  X_h, relative error            %9.4f %9.4f %9.4f %9.4f\n", d->exact.x_h,
                    d->learned.x_h, d->random.x_h, d->everywhere.x_h);
    lud_text_append(out, "  Q_r, relative error            %9.4f\n", d->q_r);
    lud_text_append(out, "  V_h^e, absolute error          %9.4f\n", d->v_h_e);
    lud_text_append(out, "  pi_r, total variation          %9.4f   Kullback-Leibler %.4f nats\n",
                    d->divergence, d->kl);
    lud_text_append(out, "  V_r at the start, learned      %9.5g   exact %.5g\n", d->start_learned,
                    d->start_v_r);
    lud_text_append(out, "  exact V_r of the learned policy%9.5g   of the random policy %.5g\n",
                    d->policy_v_r, d->random_v_r);
    lud_text_append(out, "  regret                         %8.2f %%  of the gap between random and exact\n",
                    100 * d->regret);
    if (!p->met) return;
    if (!p->has_alone) {
        lud_text_append(out, "  the networks alone: not compared in more than %d states\n", most_alone);
        return;
    }
    const lud_empo_distance *n = &p->alone;
    lud_text_append(out, "  the networks alone, without the states met:\n");
    lud_text_append(out, "  V_r, relative error            %9.4f %9.4f %9.4f %9.4f\n", n->exact.v_r,
                    n->learned.v_r, n->random.v_r, n->everywhere.v_r);
    lud_text_append(out, "  X_h, relative error            %9.4f %9.4f %9.4f %9.4f\n", n->exact.x_h,
                    n->learned.x_h, n->random.x_h, n->everywhere.x_h);
    lud_text_append(out, "  regret of look-ahead over them %8.2f %%\n", 100 * n->regret);
}

/* ---- what people have of robots ---- */

static void print_benefit(const lud_empo_layout *layout, const char *policy, const lud_empo_benefit *b,
                          lud_text *out) {
    lud_text_append(
        out,
        "robots follow %s\n%" PRId64
        " episodes, means with 95 %% intervals. Power: X_h on their own, robots doing nothing, with "
        "the time of a\nwhole episode, in the states in which episodes begin and in which they "
        "end.\n\n           goals reached      power at the beginning   at the end\n",
        policy, b->episodes);
    for (int h = 0; h < layout->n_humans; h++)
        lud_text_append(out, "person %-3d %6.3f ± %-7.2g   %6.4f ± %-10.2g    %6.4f ± %.2g\n",
                        layout->humans[h], b->goals[h].mean, lud_empo_benefit_interval(&b->goals[h]),
                        b->begin[h].mean, lud_empo_benefit_interval(&b->begin[h]), b->end[h].mean,
                        lud_empo_benefit_interval(&b->end[h]));
    if (b->ended) lud_text_append(out, "\nthe world ended %" PRId64 " of them early\n", b->ended);
}

static json_t *mean_json(const lud_mean *mean) {
    return json_pack("{s:f, s:f}", "mean", mean->mean, "interval", lud_empo_benefit_interval(mean));
}

static json_t *benefit_json(const lud_empo_layout *layout, const char *policy, const lud_empo_benefit *b) {
    json_t *people = json_array();
    for (int h = 0; h < layout->n_humans; h++)
        json_array_append_new(people, json_pack("{s:i, s:o, s:o, s:o}", "agent", layout->humans[h],
                                                "goals_reached", mean_json(&b->goals[h]), "power_beginning",
                                                mean_json(&b->begin[h]), "power_end", mean_json(&b->end[h])));
    return json_pack("{s:s, s:I, s:I, s:o}", "policy", policy, "episodes", (json_int_t)b->episodes,
                     "ended_early", (json_int_t)b->ended, "people", people);
}

/* Robots that follow the policy that was asked for; people act as in the training of the RUN, whoever the
 * robots are, or as the scenario says. */
static lud_status cast_of(const lud_report_request *request, const lud_empo_layout *layout, lud_cast **cast,
                          lud_error *error) {
    const lud_scenario *scenario = request->scenario;
    const bool told = lud_run_people_told(scenario);
    lud_cast *trained = NULL;
    if (!told && !lud_run_is(request->folder))
        return lud_invalid(error,
                           "%s: nobody says how people act; expected policies.human, or in its place a RUN, "
                           "whose people act as in its training",
                           request->folder);
    LUD_TRY(lud_empo_robots_cast(request->policy, scenario, layout, cast, error));
    if (told) return LUD_OK;
    const lud_status status = lud_run_cast(request->folder, scenario, &trained, error);
    for (int h = 0; h < layout->n_humans && !status; h++)
        lud_cast_set(*cast, layout->humans[h], lud_cast_take(trained, layout->humans[h]));
    lud_cast_destroy(trained);
    if (status) {
        lud_cast_destroy(*cast);
        *cast = NULL;
    }
    return status;
}

static lud_status benefit_of(const lud_report_request *request, const lud_empo_theory *theory,
                             lud_report *report, lud_error *error) {
    const lud_empo_benefit_options options = {.episodes = request->episodes ? request->episodes : 100,
                                              .rollouts = 16};
    lud_empo_layout layout;
    lud_cast *cast;
    lud_empo_benefit benefit = {0};
    if (options.episodes < 2) return lud_invalid(error, "--episodes 1: an interval needs at least two");
    LUD_TRY(lud_empo_layout_find(request->scenario->model, &layout, error));
    LUD_TRY(cast_of(request, &layout, &cast, error));
    const lud_status status =
        lud_empo_benefit_measure(request->scenario, cast, theory, &options, stderr, &benefit, error);
    if (!status && request->json) report->json = benefit_json(&layout, request->policy, &benefit);
    if (!status && !request->json) print_benefit(&layout, request->policy, &benefit, &report->text);
    lud_empo_benefit_free(&benefit);
    lud_cast_destroy(cast);
    return status;
}

lud_status lud_empo_phase2_evaluate_run(const lud_report_request *request, lud_report *report,
                                        lud_error *error) {
    if (!request->policy) return LUD_OK;
    lud_arena *arena = lud_arena_create(0);
    lud_empo_learner_options options;
    lud_status status =
        arena ? lud_empo_learner_options_begin(arena, request->scenario->learner, &options, error)
              : lud_no_memory(error, "options");
    if (!status) status = benefit_of(request, &options.theory, report, error);
    lud_arena_destroy(arena);
    return status;
}
