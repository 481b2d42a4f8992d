#include "learn/empo/evaluation/policy_estimate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mean.h"

/* A policy and the robots it acts for. */
typedef struct member {
    lud_policy *policy;
    int agents[LUD_EMPO_MAX_AGENTS], n_agents;
    size_t hidden_offset;
} member;

/* Plays side by side ("lanes") in numbered states. */
typedef struct player {
    const lud_empo_problem *problem;
    const double *records;
    const lud_empo_estimate_options *options;
    int n_members;
    member members[LUD_EMPO_MAX_AGENTS];
    size_t hidden_bytes; /* of a lane, at least 1 */
    bool observes;
    lud_random_key key; /* of lane 0 in the play under way */
    uint32_t *state;    /* [lanes] */
    uint8_t *bytes;     /* [lanes][state_bytes] */
    uint8_t *hidden;    /* [lanes][hidden_bytes] what robots remember */
    int32_t *column;    /* [lanes] the goal that its person follows, -1: everybody is as always */
    int32_t *replica;   /* [lanes] */
    double *discount;   /* [lanes] */
    int32_t *action;    /* [lanes][n_agents] */
    uint32_t *tick;     /* [lanes] */
    int32_t *no_goals;  /* [n_agents] -1 */
    double *choices;    /* [most choices of an agent] */
    int32_t *person;    /* [n_goals] whose goal it is */
    double *reached[3]; /* [n_goals] V_h^e by all rollouts, by the first half and by the second */
    double *power[3];   /* [n_humans] */
    uint8_t *here;      /* [hidden_bytes] of the episode */
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    lud_arena *arena;
} player;

static void seat(player *p, lud_policy *const *robots) {
    const lud_empo_layout *layout = &p->problem->layout;
    for (int r = 0; r < layout->n_robots; r++) {
        int m = 0;
        while (m < p->n_members && p->members[m].policy != robots[r]) m++;
        if (m == p->n_members) {
            p->members[p->n_members++] = (member){.policy = robots[r], .hidden_offset = p->hidden_bytes};
            p->hidden_bytes += (robots[r]->hidden_bytes + 7) & ~(size_t)7;
            p->observes = p->observes || robots[r]->needs_observations;
        }
        p->members[m].agents[p->members[m].n_agents++] = layout->robots[r];
    }
    p->hidden_bytes += 8;
}

static lud_status open_player(player *p, lud_policy *const *robots, lud_error *error) {
    const lud_model *model = p->problem->space->model;
    const lud_empo_layout *layout = &p->problem->layout;
    const size_t n_agents = (size_t)model->layout.n_agents, n_goals = (size_t)layout->n_goals;
    const size_t lanes = n_goals * (size_t)p->options->rollouts;
    seat(p, robots);
    p->arena = lud_arena_create(0);
    bool failed = !p->arena;
    struct {
        void *pointer;
        size_t n, bytes;
    } arrays[] = {{&p->state, lanes, sizeof *p->state},
                  {&p->bytes, lanes, model->layout.state_bytes},
                  {&p->hidden, lanes, p->hidden_bytes},
                  {&p->column, lanes, sizeof *p->column},
                  {&p->replica, lanes, sizeof *p->replica},
                  {&p->discount, lanes, sizeof *p->discount},
                  {&p->action, lanes * n_agents, sizeof *p->action},
                  {&p->tick, lanes, sizeof *p->tick},
                  {&p->no_goals, n_agents, sizeof *p->no_goals},
                  {&p->choices, (size_t)lud_max_discrete(&model->layout), sizeof *p->choices},
                  {&p->person, n_goals, sizeof *p->person},
                  {&p->reached[0], n_goals, sizeof *p->reached[0]},
                  {&p->reached[1], n_goals, sizeof *p->reached[0]},
                  {&p->reached[2], n_goals, sizeof *p->reached[0]},
                  {&p->power[0], (size_t)layout->n_humans, sizeof *p->power[0]},
                  {&p->power[1], (size_t)layout->n_humans, sizeof *p->power[0]},
                  {&p->power[2], (size_t)layout->n_humans, sizeof *p->power[0]},
                  {&p->here, p->hidden_bytes, 1}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && !failed; i++) {
        void *memory = lud_arena_take_array(p->arena, arrays[i].n, arrays[i].bytes);
        memcpy(arrays[i].pointer, &memory, sizeof memory);
        failed = !memory;
    }
    for (int k = 0; k < model->layout.n_parts && p->observes && !failed; k++)
        failed = !(p->parts[k] = lud_arena_take_array(p->arena, lanes, model->layout.parts[k].bytes));
    if (failed) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to play %zu rollouts", lanes);
    for (size_t i = 0; i < n_agents; i++) p->no_goals[i] = -1;
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) p->person[g] = h;
    return LUD_OK;
}

static int draw(const double *p, int n, lud_words words) {
    return lud_empo_draw(p, n, lud_unit53(words.v[0], words.v[1]));
}

/* Everybody of the first n lanes acts, and their states follow. All are in step `tick` of their play. */
static void step(player *p, int n, uint32_t tick) {
    const lud_model *model = p->problem->space->model;
    const lud_empo_layout *layout = &p->problem->layout;
    const size_t state_bytes = model->layout.state_bytes, n_agents = (size_t)model->layout.n_agents;
    for (int e = 0; e < n; e++) {
        memcpy(p->bytes + (size_t)e * state_bytes,
               p->problem->space->states + (uint64_t)p->state[e] * state_bytes, state_bytes);
        p->tick[e] = tick;
    }
    const lud_range range = {p->key.seed, p->key.environment, n, p->tick};
    if (p->observes) model->world->observe(model, range, p->bytes, p->parts);
    for (int m = 0; m < p->n_members; m++) {
        const lud_act act = {.model = model,
                             .range = range,
                             .states = p->bytes,
                             .observations = p->observes ? p->parts : NULL,
                             .goals = p->no_goals,
                             .hidden = p->hidden + p->members[m].hidden_offset,
                             .hidden_stride = p->hidden_bytes,
                             .agents = p->members[m].agents,
                             .n_agents_acting = p->members[m].n_agents,
                             .discrete = p->action};
        p->members[m].policy->kind->act(p->members[m].policy, &act);
    }
    for (int e = 0; e < n; e++) {
        const lud_random_key key = {p->key.seed, p->key.environment + (uint32_t)e};
        const double *record = p->records + (uint64_t)p->state[e] * (uint64_t)layout->record_doubles;
        int32_t *action = p->action + (size_t)e * n_agents;
        for (int h = 0; h < layout->n_humans; h++) {
            const int n_actions = layout->n_human_actions[h], agent = layout->humans[h];
            const double *choices = p->choices;
            if (p->column[e] >= 0 && p->person[p->column[e]] == h)
                choices = record + layout->policies + layout->policy_begin[h] +
                          (p->column[e] - layout->goal_begin[h]) * n_actions;
            else
                lud_empo_marginal_of(layout, p->problem->goal_weight, record, h, p->choices);
            action[agent] =
                draw(choices, n_actions, lud_draw(key, tick, (uint32_t)agent, LUD_PURPOSE_ACTION, 0));
        }
        const lud_statespace_row row = lud_statespace_get_row(
            p->problem->space, p->state[e], lud_joint_action_encode(&model->layout, action));
        p->state[e] = row.successor[draw(row.probability, (int)row.n,
                                         lud_draw(key, tick, 0, LUD_PURPOSE_TRANSITION, 0))];
    }
    p->key.environment += (uint32_t)n; /* no lane of this play draws the same again */
}

/* Rollouts of every goal from a state in which the robots remember p->here, into p->reached. */
static void reach(player *p, uint32_t from) {
    const lud_model *model = p->problem->space->model;
    const lud_empo_layout *layout = &p->problem->layout;
    const int rollouts = p->options->rollouts;
    int n = layout->n_goals * rollouts;
    for (int half = 0; half < 3; half++)
        memset(p->reached[half], 0, (size_t)layout->n_goals * sizeof *p->reached[half]);
    for (int e = 0; e < n; e++) {
        p->state[e] = from;
        p->column[e] = e / rollouts;
        p->replica[e] = e % rollouts;
        p->discount[e] = 1;
        memcpy(p->hidden + (size_t)e * p->hidden_bytes, p->here, p->hidden_bytes);
    }
    for (uint32_t tick = 0; n > 0; tick++) {
        step(p, n, tick);
        for (int e = 0; e < n;) {
            const int g = p->column[e], h = p->person[g];
            const uint8_t *state =
                p->problem->space->states + (uint64_t)p->state[e] * model->layout.state_bytes;
            const bool achieved =
                model->world->achieved(model, state, layout->humans[h], g - layout->goal_begin[h]);
            if (achieved) {
                p->reached[0][g] += p->discount[e] / rollouts;
                p->reached[1 + (p->replica[e] >= rollouts / 2)][g] += 2 * p->discount[e] / rollouts;
            }
            p->discount[e] *= p->problem->theory.gamma_h;
            if (!achieved && !lud_statespace_terminal(p->problem->space, p->state[e])) {
                e++;
                continue;
            }
            n--; /* the last lane takes the place of the one that has ended */
            p->state[e] = p->state[n];
            p->column[e] = p->column[n];
            p->replica[e] = p->replica[n];
            p->discount[e] = p->discount[n];
            memcpy(p->hidden + (size_t)e * p->hidden_bytes, p->hidden + (size_t)n * p->hidden_bytes,
                   p->hidden_bytes);
        }
    }
}

/* What the halves say more than the whole is what the whole is off by. */
static double correct(double whole, double first, double second) {
    const double better = 2 * whole - (first + second) / 2;
    return isfinite(better) ? better : whole; /* nothing is reached in one of the halves */
}

/* U_r and (into p->power[0]) X_h by p->reached. */
static lud_status weigh(player *p, uint32_t at, double *u_r, lud_error *error) {
    const lud_empo_layout *layout = &p->problem->layout;
    const lud_empo_theory *theory = &p->problem->theory;
    double u[3];
    for (int half = 0; half < 3; half++) {
        for (int h = 0; h < layout->n_humans; h++) {
            const int begin = layout->goal_begin[h], n = layout->goal_begin[h + 1] - begin;
            p->power[half][h] = lud_empo_power_sum(theory->zeta, p->reached[half] + begin,
                                                   p->problem->goal_weight + begin, n);
            if (half == 0 && !(p->power[0][h] > 0))
                return lud_fail(error, LUD_ERROR_NUMERIC,
                                "no goal of agent %d was reached in %d rollouts from state %u, where the "
                                "policy comes by: its power is too small to be estimated",
                                layout->humans[h], n * p->options->rollouts, at);
        }
        u[half] = lud_empo_reward_of(theory->aggregate == LUD_EMPO_MEAN, theory->xi, theory->eta,
                                     p->power[half], layout->n_humans);
    }
    for (int h = 0; h < layout->n_humans; h++)
        p->power[0][h] = correct(p->power[0][h], p->power[1][h], p->power[2][h]);
    *u_r = correct(u[0], u[1], u[2]);
    return LUD_OK;
}

/* Sums over all episodes. */
typedef struct sums {
    lud_mean v_r;
    lud_mean *power; /* [n_humans] */
    double regret, states;
} sums;

static lud_status play_episode(player *p, uint32_t start, sums *s, lud_empo_policy_evaluation *j,
                               lud_error *error) {
    const lud_empo_layout *layout = &p->problem->layout;
    const lud_empo_theory *theory = &p->problem->theory;
    const double weight = lud_empo_reward_weight_of(theory), n_episodes = (double)p->options->episodes;
    double value = p->records[(uint64_t)start * (uint64_t)layout->record_doubles + (uint64_t)layout->v_r];
    double discount = 1;
    double before = 0; /* discounted number of states up to here: how often what follows counts for them */
    memset(p->here, 0, p->hidden_bytes);
    for (int m = 0; m < p->n_members; m++)
        if (p->members[m].policy->kind->reset)
            p->members[m].policy->kind->reset(p->members[m].policy, p->here + p->members[m].hidden_offset,
                                              p->hidden_bytes, 1);
    uint32_t state = start;
    for (uint32_t tick = 0; !lud_statespace_terminal(p->problem->space, state); tick++) {
        double u_r = 0;
        if (lud_interrupted()) return lud_fail(error, LUD_INTERRUPTED, "interrupted");
        reach(p, state);
        LUD_TRY(weigh(p, state, &u_r, error));
        for (int h = 0; h < layout->n_humans && tick == 0; h++) lud_mean_add(&s->power[h], p->power[0][h]);
        for (int g = 0; g < layout->n_goals && tick == 0; g++) j->v_h_e[g] += p->reached[0][g] / n_episodes;
        p->state[0] = state;
        p->column[0] = -1;
        memcpy(p->hidden, p->here, p->hidden_bytes);
        step(p, 1, tick);
        memcpy(p->here, p->hidden, p->hidden_bytes);
        const double *record = p->records + (uint64_t)state * (uint64_t)layout->record_doubles;
        const int32_t robots = lud_empo_robot_action(layout, p->problem->space->model, p->action);
        const double difference = weight * u_r + record[layout->q_r + robots] - record[layout->v_r];
        before = 1 + theory->gamma_r * before;
        value += discount * difference;
        s->regret -= before * difference;
        s->states++;
        j->visits[state] += 1 / n_episodes;
        discount *= theory->gamma_r;
        state = p->state[0];
    }
    j->visits[state] += 1 / n_episodes;
    lud_mean_add(&s->v_r, value);
    return LUD_OK;
}

lud_status lud_empo_estimate_policy(const lud_empo_problem *problem, const double *records, uint32_t start,
                                    lud_policy *const *robots, const lud_empo_estimate_options *options,
                                    lud_empo_policy_evaluation *j, lud_error *error) {
    assert(options->episodes >= 2 && options->rollouts >= 2 && options->rollouts % 2 == 0);
    const lud_empo_layout *layout = &problem->layout;
    const double *best = records + (uint64_t)start * (uint64_t)layout->record_doubles;
    player p = {.problem = problem, .records = records, .options = options};
    sums s = {.power = calloc((size_t)layout->n_humans, sizeof *s.power)};
    lud_status status = lud_empo_policy_evaluation_create(problem, j, error);
    if (!status && !s.power) status = lud_fail(error, LUD_ERROR_MEMORY, "no memory to evaluate a policy");
    if (!status) status = open_player(&p, robots, error);
    for (int64_t e = 0; e < options->episodes && !status; e++) {
        p.key = (lud_random_key){options->seed + 0x9e3779b97f4a7c15u * (uint64_t)(e + 1), 0};
        status = play_episode(&p, start, &s, j, error);
    }
    if (!status) {
        j->n_episodes = options->episodes;
        j->v_r = s.v_r.mean;
        j->v_r_interval = lud_mean_interval(&s.v_r);
        j->v_r_optimal = best[layout->v_r];
        j->mean_regret = s.states > 0 ? s.regret / s.states : 0;
        j->divergence = j->kl = NAN;
        for (int h = 0; h < layout->n_humans; h++) {
            j->power[h] = s.power[h].mean;
            j->power_interval[h] = lud_mean_interval(&s.power[h]);
            j->power_optimal[h] = best[layout->x_h + h];
        }
    }
    lud_arena_destroy(p.arena);
    free(s.power);
    if (status) lud_empo_policy_evaluation_free(j);
    return status;
}

lud_status lud_empo_case_evaluate(lud_empo_case *c, const lud_empo_solution *solution,
                                  lud_policy *const *robots, const lud_empo_estimate_options *estimate,
                                  int n_threads, lud_empo_policy_evaluation *j, lud_error *error) {
    static const uint32_t start = 0;
    const lud_empo_layout *layout = &c->problem->layout;
    *j = (lud_empo_policy_evaluation){0};
    if (solution->header->n_states != c->space->n_states ||
        solution->header->record_doubles != (uint64_t)layout->record_doubles)
        return lud_invalid(error, "%s: not a solution of this scenario", solution->path);
    lud_error unsaid = {0};
    lud_status said = LUD_OK;
    for (int r = 0; r < layout->n_robots && !said; r++)
        said = lud_empo_check_policy(robots[r], layout->robots[r], &unsaid);
    if (said && said != LUD_ERROR_UNSUPPORTED) return lud_fail(error, said, "%s", unsaid.text);
    lud_empo_policies policies = c->policies; /* people keep their habits and beliefs */
    policies.robots = layout->n_robots > 0 ? robots : NULL;
    lud_empo_hooks hooks;
    lud_empo_policies_hook(&policies, &hooks);
    LUD_TRY(said ? lud_empo_estimate_policy(c->problem, solution->records, start, robots, estimate, j, error)
                 : lud_empo_evaluate_policy(c->problem, solution->records, &start, 1, &hooks, n_threads, j,
                                            error));
    for (int r = 0; r < layout->n_robots; r++) LUD_TRY(lud_policy_check(robots[r], error));
    return LUD_OK;
}
