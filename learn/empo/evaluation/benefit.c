#include "learn/empo/evaluation/benefit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "agents/rollout.h"

enum { LANE_BENEFIT = 0x500, MOST_STEPS = 1000 };

/* Rollouts from one state, side by side ("lanes"): every goal of every person so many times. */
typedef struct player {
    const lud_model *model;
    const lud_cast *cast;
    const lud_empo_theory *theory;
    lud_empo_layout layout;
    int rollouts, n_lanes;
    int64_t most_steps;
    uint64_t seed;
    uint32_t environment; /* of lane 0 of the state under way: no lane draws the same as another */
    uint8_t *states;      /* [lanes][state_bytes] */
    int32_t *goals;       /* [lanes][n_agents] */
    int32_t *column;      /* [lanes] the goal that its person follows */
    int32_t *replica;     /* [lanes] */
    double *discount;     /* [lanes] */
    int32_t *actions;     /* [lanes][n_agents] */
    uint32_t *tick;       /* [lanes] */
    int32_t *person;      /* [n_goals] whose goal it is */
    double *weights;      /* [n_goals] */
    double *reached[3];   /* [n_goals] V_h^e by all rollouts, by the first half and by the second */
    lud_arrays arrays;
} player;

static lud_status check(const player *p, lud_error *error) {
    const lud_layout *layout = &p->model->layout;
    for (int h = 0; h < p->layout.n_humans; h++) {
        const lud_policy *policy = lud_cast_get(p->cast, p->layout.humans[h]);
        if (policy->hidden_bytes || policy->needs_observations)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "person %d follows the policy '%s', which does not act on the state alone; "
                            "expected one that does, as policies.human: {type: heuristic}",
                            p->layout.humans[h], policy->kind->name);
    }
    for (int r = 0; r < p->layout.n_robots; r++)
        if (!layout->idle || layout->idle[p->layout.robots[r]] < 0)
            return lud_fail(error, LUD_ERROR_UNSUPPORTED,
                            "agent %d, a robot, has no action that does nothing", p->layout.robots[r]);
    return LUD_OK;
}

static lud_status open_player(player *p, lud_error *error) {
    LUD_TRY(lud_empo_layout_find(p->model, &p->layout, error));
    LUD_TRY(check(p, error));
    const size_t n_goals = (size_t)p->layout.n_goals, n_agents = (size_t)p->model->layout.n_agents;
    p->n_lanes = p->layout.n_goals * p->rollouts;
    const size_t lanes = (size_t)p->n_lanes;
    lud_arrays *a = &p->arrays;
    LUD_TAKE(a, p->states, lanes * p->model->layout.state_bytes);
    LUD_TAKE(a, p->goals, lanes * n_agents);
    LUD_TAKE(a, p->column, lanes);
    LUD_TAKE(a, p->replica, lanes);
    LUD_TAKE(a, p->discount, lanes);
    LUD_TAKE(a, p->actions, lanes * n_agents);
    LUD_TAKE(a, p->tick, lanes);
    LUD_TAKE(a, p->person, n_goals);
    LUD_TAKE(a, p->weights, n_goals);
    for (int half = 0; half < 3; half++) LUD_TAKE(a, p->reached[half], n_goals);
    if (a->failed) return lud_no_memory(error, "%zu rollouts", lanes);
    for (int h = 0; h < p->layout.n_humans; h++)
        for (int g = p->layout.goal_begin[h]; g < p->layout.goal_begin[h + 1]; g++) p->person[g] = h;
    lud_empo_goal_weights(&p->layout, p->model, p->weights);
    return LUD_OK;
}

static uint8_t *state_of(const player *p, int lane) {
    return p->states + (size_t)lane * p->model->layout.state_bytes;
}

static int32_t *goal_of(const player *p, int lane, int h) {
    return p->goals + (size_t)lane * (size_t)p->model->layout.n_agents + p->layout.humans[h];
}

/* A goal of person h by weight. */
static int32_t draw_goal(const player *p, int lane, uint32_t tick, int h) {
    const lud_words w = lud_draw((lud_random_key){p->seed, p->environment + (uint32_t)lane}, tick,
                                 (uint32_t)p->layout.humans[h], LUD_PURPOSE_GOAL, LANE_BENEFIT);
    const int n = lud_empo_goals_of(&p->layout, h);
    const double *weight = p->weights + p->layout.goal_begin[h];
    double sum = 0;
    for (int g = 0; g < n; g++) sum += weight[g];
    return lud_empo_draw(weight, n, lud_unit53(w.v[0], w.v[1]) * sum);
}

/* All people of a lane have goals: the one whose lane it is that of the lane, the others any. */
static void begin_lane(player *p, int lane, int column, int replica, const uint8_t *state) {
    p->column[lane] = column;
    p->replica[lane] = replica;
    p->discount[lane] = 1;
    p->tick[lane] = 0;
    memcpy(state_of(p, lane), state, p->model->layout.state_bytes);
    for (int i = 0; i < p->model->layout.n_agents; i++)
        p->goals[(size_t)lane * (size_t)p->model->layout.n_agents + (size_t)i] = -1;
    for (int h = 0; h < p->layout.n_humans; h++)
        *goal_of(p, lane, h) =
            p->person[column] == h ? column - p->layout.goal_begin[h] : draw_goal(p, lane, 0, h);
}

static bool achieves(const player *p, int lane, int h) {
    return p->model->world->achieved(p->model, state_of(p, lane), p->layout.humans[h], *goal_of(p, lane, h));
}

/* People act, robots do nothing, and the first n lanes go on. */
static void step(player *p, int n) {
    const lud_layout *layout = &p->model->layout;
    const lud_range range = {p->seed, p->environment, n, p->tick};
    for (int h = 0; h < p->layout.n_humans; h++) {
        const int agent = p->layout.humans[h];
        lud_policy *policy = lud_cast_get(p->cast, agent);
        const lud_act act = {.model = p->model,
                             .range = range,
                             .states = p->states,
                             .goals = p->goals,
                             .goal_stride = (size_t)layout->n_agents,
                             .agents = &agent,
                             .n_agents_acting = 1,
                             .discrete = p->actions};
        policy->kind->act(policy, &act);
    }
    for (int e = 0; e < n; e++)
        for (int r = 0; r < p->layout.n_robots; r++) {
            const int agent = p->layout.robots[r];
            p->actions[(size_t)e * (size_t)layout->n_agents + (size_t)agent] = layout->idle[agent];
        }
    p->model->world->step(p->model, range, p->states, (lud_actions){p->actions, NULL}, (lud_outcome){0});
    for (int e = 0; e < n; e++) p->tick[e]++;
}

/* The last of n lanes takes the place of one that has ended. */
static void move_lane(player *p, int to, int from) {
    const size_t n_agents = (size_t)p->model->layout.n_agents;
    if (to == from) return;
    memcpy(state_of(p, to), state_of(p, from), p->model->layout.state_bytes);
    memcpy(p->goals + (size_t)to * n_agents, p->goals + (size_t)from * n_agents, n_agents * sizeof *p->goals);
    p->column[to] = p->column[from];
    p->replica[to] = p->replica[from];
    p->discount[to] = p->discount[from];
    p->tick[to] = p->tick[from];
}

/* V_h^e of every goal on their own from a state in which the world goes on, into p->reached. */
static void reach(player *p, const uint8_t *state) {
    for (int e = 0; e < p->n_lanes; e++) begin_lane(p, e, e / p->rollouts, e % p->rollouts, state);
    int n = p->n_lanes;
    for (int64_t t = 0; n > 0 && t < p->most_steps; t++) {
        step(p, n);
        for (int e = 0; e < n;) {
            const int g = p->column[e];
            const bool achieved = achieves(p, e, p->person[g]);
            if (achieved) {
                p->reached[0][g] += p->discount[e] / p->rollouts;
                p->reached[1 + (p->replica[e] >= p->rollouts / 2)][g] += 2 * p->discount[e] / p->rollouts;
            }
            p->discount[e] *= p->theory->gamma_h;
            if (achieved || p->model->world->is_terminal(p->model, state_of(p, e))) {
                move_lane(p, e, --n);
                continue;
            }
            for (int h = 0; h < p->layout.n_humans; h++)
                if (h != p->person[g] && achieves(p, e, h))
                    *goal_of(p, e, h) = draw_goal(p, e, p->tick[e], h);
            e++;
        }
    }
    p->environment += (uint32_t)p->n_lanes;
}

/* X_h on their own in a state whose clock goes back to the beginning: added to power[n_humans]. */
static void measure_power(player *p, uint8_t *state, lud_mean *power) {
    const lud_clock *clock = &p->model->layout.clock;
    memset(state + clock->offset, 0, clock->bytes);
    for (int half = 0; half < 3; half++)
        memset(p->reached[half], 0, (size_t)p->layout.n_goals * sizeof *p->reached[half]);
    if (!p->model->world->is_terminal(p->model, state)) reach(p, state);
    for (int h = 0; h < p->layout.n_humans; h++) {
        const int begin = p->layout.goal_begin[h], n = lud_empo_goals_of(&p->layout, h);
        double x[3];
        for (int half = 0; half < 3; half++)
            x[half] = lud_empo_power_sum(p->theory->zeta, p->reached[half] + begin, p->weights + begin, n);
        lud_mean_add(&power[h], 2 * x[0] - (x[1] + x[2]) / 2);
    }
}

static lud_status play(player *p, const lud_scenario *scenario, const lud_empo_benefit_options *options,
                       FILE *out, lud_empo_benefit *b, lud_error *error) {
    const size_t bytes = p->model->layout.state_bytes;
    uint8_t *last = NULL, *first = NULL;
    lud_rollout played = {0};
    LUD_TAKE(&p->arrays, last, (size_t)options->episodes * bytes);
    LUD_TAKE(&p->arrays, first, bytes);
    if (p->arrays.failed) return lud_no_memory(error, "%lld episodes", (long long)options->episodes);
    lud_status status = lud_rollout_run_kept(scenario, p->cast, options->episodes, out,
                                             (lud_rollout_kept){.last_states = last}, &played, error);
    if (status) {
        lud_rollout_free(&played);
        return status;
    }
    b->episodes = played.episodes;
    b->ended = played.terminated;
    for (int h = 0; h < p->layout.n_humans; h++) b->goals[h] = played.agents[p->layout.humans[h]].goals;
    lud_rollout_free(&played);

    lud_progress progress;
    lud_progress_start(&progress, out, "power", "states", (uint64_t)options->episodes);
    for (int64_t i = 0; i < options->episodes && !status; i++) {
        const uint32_t tick = (uint32_t)i;
        p->model->world->reset(p->model, (lud_range){p->seed, 0, 1, &tick}, first);
        measure_power(p, first, b->begin);
        measure_power(p, last + (size_t)i * bytes, b->end);
        status = lud_progress_beat(&progress, 0, error);
        lud_progress_update(&progress, (uint64_t)i + 1);
    }
    lud_progress_finish(&progress);
    return status;
}

lud_status lud_empo_benefit_measure(const lud_scenario *scenario, const lud_cast *cast,
                                    const lud_empo_theory *theory, const lud_empo_benefit_options *options,
                                    FILE *progress, lud_empo_benefit *b, lud_error *error) {
    const int most = scenario->model->layout.max_steps;
    assert(options->episodes > 1 && options->rollouts > 0 && options->rollouts % 2 == 0);
    *b = (lud_empo_benefit){0};
    player p = {.model = scenario->model,
                .cast = cast,
                .theory = theory,
                .rollouts = options->rollouts,
                .most_steps = most > 0 ? most : MOST_STEPS,
                .seed = (uint64_t)scenario->run.seed};
    lud_status status = open_player(&p, error);
    if (!status) {
        const size_t n = (size_t)p.layout.n_humans;
        LUD_TAKE(&b->arrays, b->goals, n);
        LUD_TAKE(&b->arrays, b->begin, n);
        LUD_TAKE(&b->arrays, b->end, n);
        status = b->arrays.failed ? lud_no_memory(error, "%zu people", n)
                                  : play(&p, scenario, options, progress, b, error);
    }
    lud_arrays_free(&p.arrays);
    return status;
}

void lud_empo_benefit_free(lud_empo_benefit *b) {
    lud_arrays_free(&b->arrays);
    *b = (lud_empo_benefit){0};
}

double lud_empo_benefit_interval(const lud_mean *mean) {
    const double half = lud_mean_interval(mean);
    return half > 1e-9 * fabs(mean->mean) ? half : 0; /* what rounding leaves of numbers that are equal */
}
