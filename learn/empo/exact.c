#include "learn/empo/exact.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "learn/empo/levels.h"

enum { CHUNK = 32, ALIGN_DOUBLES = 8 };

/* ---- the problem ---- */

/* Joint action -> (joint human action, joint robot action) and back. */
static lud_status index_joint_actions(lud_empo_problem *problem, lud_error *error) {
    const lud_model *model = problem->space->model;
    int32_t n_joint = problem->space->n_joint_actions;
    size_t bytes = (size_t)n_joint;
    problem->human_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    problem->robot_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    problem->joint_of = lud_arena_take_array(problem->arena, bytes, sizeof(int32_t));
    int32_t *actions = lud_arena_take_array(problem->arena, (size_t)model->layout.n_agents, sizeof(int32_t));
    if (!problem->human_of || !problem->robot_of || !problem->joint_of || !actions)
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for %d joint actions", n_joint);
    for (int32_t k = 0; k < n_joint; k++) {
        lud_joint_action_decode(&model->layout, k, actions);
        problem->human_of[k] = lud_empo_human_profile(&problem->layout, actions);
        problem->robot_of[k] = lud_empo_robot_action(&problem->layout, model, actions);
        problem->joint_of[problem->human_of[k] * problem->layout.n_robot_actions + problem->robot_of[k]] = k;
    }
    return LUD_OK;
}

static lud_status fill_problem(lud_empo_problem *problem, lud_error *error) {
    const lud_model *model = problem->space->model;
    lud_status status = lud_empo_layout_find(model, &problem->layout, error);
    if (status != LUD_OK) return status;
    const lud_empo_layout *layout = &problem->layout;
    problem->goal_weight = lud_arena_take_array(problem->arena, (size_t)layout->n_goals, sizeof(double));
    if (!problem->goal_weight) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for goals");
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++)
            problem->goal_weight[g] =
                model->world->goal_weight(model, layout->humans[h], g - layout->goal_begin[h]);
    return index_joint_actions(problem, error);
}

lud_status lud_empo_problem_create(const lud_statespace *space, const lud_empo_theory *theory,
                                   lud_empo_problem **problem, lud_error *error) {
    *problem = NULL;
    lud_arena *arena = lud_arena_create(1 << 16);
    lud_empo_problem *p = arena ? lud_arena_take(arena, sizeof *p) : NULL;
    if (!p) {
        lud_arena_destroy(arena);
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for the problem");
    }
    p->space = space;
    p->theory = *theory;
    p->arena = arena;
    lud_status status = lud_empo_theory_check(&p->theory, (lud_place){0}, error);
    if (status == LUD_OK) status = fill_problem(p, error);
    if (status == LUD_OK)
        *problem = p;
    else
        lud_empo_problem_destroy(p);
    return status;
}

void lud_empo_problem_destroy(lud_empo_problem *problem) {
    if (problem) lud_arena_destroy(problem->arena);
}

/* ---- one state ---- */

/* What a later state is worth to those before it, one row a state: for each goal "1 if achieved, else gamma_h
 * V" under V_h^m, the same under V_h^e, and gamma_r V_r; padded to whole vectors so that expectation() needs
 * no remainder. */
typedef struct credits {
    double *rows;
    int width;
    uint64_t window; /* rows; state s lives in row s % window */
} credits;

static double *credit_row(const credits *c, uint64_t state) {
    return c->rows + (state % c->window) * (uint64_t)c->width;
}

/* One thread's working memory, all of it taken before the first level. */
typedef struct scratch {
    double *expected;      /* [n_joint][width] rows of stochastic joint actions */
    const double **row;    /* [n_joint] expected credit of each joint action */
    double *worst;         /* [n_human_profiles][n_goals] */
    double *q_h;           /* [max actions][n_goals] */
    double *mean_robot;    /* [n_human_profiles][n_goals] */
    double *marginal;      /* [n_humans][max actions] */
    double *profile;       /* [n_human_profiles] probability of each */
    double *belief;        /* [n_human_profiles] */
    double *habit;         /* [policies] */
    double *robot;         /* [n_robot_actions] */
    double *action_values; /* [max actions] */
} scratch;

typedef struct sweep {
    const lud_empo_problem *problem;
    const lud_empo_run *run;
    lud_empo_levels levels;
    credits credit;
    int max_actions, still_of[64];
    double reward_weight;
    scratch *threads;
    int n_threads;
    lud_arena *arena;
    uint64_t failed_state; /* lowest state of the level at which a person has no power; UINT64_MAX: none */
    int failed_human;
} sweep;

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                \
    !defined(__clang__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

/* sum of p[i] * credits of successor i; width is a multiple of ALIGN_DOUBLES */
VECTORISED static void expectation(const credits *c, lud_statespace_row row, double *restrict sum) {
    int width = c->width;
    for (int j = 0; j < width; j++) sum[j] = 0;
    for (uint32_t i = 0; i < row.n; i++) {
        const double *restrict credit = credit_row(c, row.successor[i]);
        double p = row.probability[i];
        for (int j = 0; j < width; j++) sum[j] += p * credit[j];
    }
}

static void expect_all(const sweep *s, scratch *t, uint64_t state) {
    const lud_statespace *space = s->problem->space;
    for (int32_t k = 0; k < space->n_joint_actions; k++) {
        lud_statespace_row row = lud_statespace_get_row(space, state, k);
        if (row.n == 1) {
            t->row[k] = credit_row(&s->credit, row.successor[0]);
        } else {
            double *sum = t->expected + (size_t)k * (size_t)s->credit.width;
            expectation(&s->credit, row, sum);
            t->row[k] = sum;
        }
    }
}

/* min (max if optimistic) over robot actions, for every joint human action and goal: the inner part of (1) */
static void worst_case(const sweep *s, scratch *t) {
    const lud_empo_problem *problem = s->problem;
    const lud_empo_layout *layout = &problem->layout;
    int n_goals = layout->n_goals, n_robot = layout->n_robot_actions;
    bool optimistic = problem->theory.optimistic;
    for (int profile = 0; profile < layout->n_human_profiles; profile++) {
        double *worst = t->worst + profile * n_goals;
        const int32_t *joint = problem->joint_of + profile * n_robot;
        memcpy(worst, t->row[joint[0]], (size_t)n_goals * sizeof *worst);
        for (int r = 1; r < n_robot; r++) {
            const double *value = t->row[joint[r]];
            for (int g = 0; g < n_goals; g++) {
                bool replace = optimistic ? value[g] > worst[g] : value[g] < worst[g];
                worst[g] = replace ? value[g] : worst[g];
            }
        }
    }
}

/* Equations (1) to (3) for one person: Q_h^m, the policy for every goal, V_h^m. */
static void phase_1(const sweep *s, scratch *t, const uint8_t *state, int h, const double *habit,
                    double *record) {
    const lud_empo_problem *problem = s->problem;
    const lud_empo_layout *layout = &problem->layout;
    const lud_model *model = problem->space->model;
    const lud_empo_theory *theory = &problem->theory;
    int n_actions = layout->n_human_actions[h], n_goals = layout->n_goals;
    int begin = layout->goal_begin[h], end = layout->goal_begin[h + 1];
    double uniform = (double)n_actions / layout->n_human_profiles;

    /* (1): the average over what the others might do */
    memset(t->q_h, 0, (size_t)(n_actions * n_goals) * sizeof(double));
    const lud_empo_hooks *hooks = s->run->hooks;
    bool believes = hooks && hooks->belief;
    for (int a = 0; a < n_actions; a++) {
        if (believes) hooks->belief(hooks->context, state, h, a, t->belief);
        double *q = t->q_h + a * n_goals;
        for (int profile = 0; profile < layout->n_human_profiles; profile++) {
            if (lud_empo_own_action(layout, h, profile) != a) continue;
            double weight = believes ? t->belief[profile] : uniform;
            const double *worst = t->worst + profile * n_goals;
            for (int g = begin; g < end; g++) q[g] += weight * worst[g];
        }
    }

    double *policy = record + layout->policies + layout->policy_begin[h];
    for (int g = begin; g < end; g++, policy += n_actions) {
        bool achieved = model->world->achieved(model, state, layout->humans[h], g - begin);
        for (int a = 0; a < n_actions; a++) t->action_values[a] = t->q_h[a * n_goals + g];
        if (achieved) { /* nothing is left to do: achievement was credited on entering */
            for (int a = 0; a < n_actions; a++) policy[a] = a == s->still_of[h];
        } else {
            lud_empo_boltzmann(theory->beta_h, t->action_values, n_actions, policy);
        }
        if (habit) { /* (2) */
            const double *h0 = habit + layout->policy_begin[h] + (g - begin) * n_actions;
            for (int a = 0; a < n_actions; a++)
                policy[a] = theory->nu_h * h0[a] + (1 - theory->nu_h) * policy[a];
        }
        double value = 0; /* (3) */
        for (int a = 0; a < n_actions; a++) value += policy[a] * t->action_values[a];
        record[layout->v_h_m + g] = achieved ? 0 : value;
    }
}

/* Product of the marginals of all people but `except` (-1: of all) for a joint human action. */
static double profile_probability(const sweep *s, const scratch *t, int profile, int except) {
    const lud_empo_layout *layout = &s->problem->layout;
    double p = 1;
    for (int h = 0; h < layout->n_humans; h++) {
        int action = profile % layout->n_human_actions[h];
        profile /= layout->n_human_actions[h];
        if (h != except) p *= t->marginal[h * s->max_actions + action];
    }
    return p;
}

/* Equations (4) to (9). */
static void phase_2(sweep *s, scratch *t, uint64_t index, const double *robot, double *record) {
    const lud_empo_problem *problem = s->problem;
    const lud_empo_layout *layout = &problem->layout;
    int n_goals = layout->n_goals, n_robot = layout->n_robot_actions, n_profiles = layout->n_human_profiles;
    for (int h = 0; h < layout->n_humans; h++)
        lud_empo_marginal_of(layout, problem->goal_weight, record, h, t->marginal + h * s->max_actions);
    for (int profile = 0; profile < n_profiles; profile++)
        t->profile[profile] = profile_probability(s, t, profile, -1);

    double *q_r = record + layout->q_r, *pi_r = record + layout->pi_r;
    for (int r = 0; r < n_robot; r++) { /* (4) */
        q_r[r] = 0;
        for (int profile = 0; profile < n_profiles; profile++)
            if (t->profile[profile] > 0)
                q_r[r] += t->profile[profile] * t->row[problem->joint_of[profile * n_robot + r]][2 * n_goals];
    }
    if (robot)
        memcpy(pi_r, robot, (size_t)n_robot * sizeof *pi_r);
    else
        lud_empo_power_law(problem->theory.beta_r, q_r, n_robot, pi_r); /* (5) */

    for (int profile = 0; profile < n_profiles; profile++) {
        double *mean = t->mean_robot + profile * n_goals;
        memset(mean, 0, (size_t)n_goals * sizeof *mean);
        for (int r = 0; r < n_robot; r++) {
            const double *value = t->row[problem->joint_of[profile * n_robot + r]] + n_goals;
            for (int g = 0; g < n_goals; g++) mean[g] += pi_r[r] * value[g];
        }
    }
    double *power = record + layout->x_h;
    for (int h = 0; h < layout->n_humans; h++) {
        int begin = layout->goal_begin[h], end = layout->goal_begin[h + 1],
            n_actions = layout->n_human_actions[h];
        memset(t->q_h, 0, (size_t)(n_actions * n_goals) * sizeof(double));
        for (int profile = 0; profile < n_profiles; profile++) {
            double others = profile_probability(s, t, profile, h);
            if (others == 0) continue;
            double *value = t->q_h + lud_empo_own_action(layout, h, profile) * n_goals;
            const double *mean = t->mean_robot + profile * n_goals;
            for (int g = begin; g < end; g++) value[g] += others * mean[g];
        }
        const double *policy = record + layout->policies + layout->policy_begin[h];
        double *v_h_e = record + layout->v_h_e;
        for (int g = begin; g < end; g++, policy += n_actions) { /* (6) */
            v_h_e[g] = 0;
            for (int a = 0; a < n_actions; a++) v_h_e[g] += policy[a] * t->q_h[a * n_goals + g];
        }
        power[h] = lud_empo_power(problem->theory.zeta, v_h_e + begin, problem->goal_weight + begin,
                                  end - begin); /* (7) */
        if (!(power[h] > 0)) {
#pragma omp critical(lud_empo_failed)
            if (index < s->failed_state) {
                s->failed_state = index;
                s->failed_human = h;
            }
            return;
        }
    }
    record[layout->u_r] = lud_empo_reward(&problem->theory, power, layout->n_humans); /* (8) */
    double value = s->reward_weight * record[layout->u_r];                            /* (9) */
    for (int r = 0; r < n_robot; r++) value += pi_r[r] * q_r[r];
    record[layout->v_r] = value;
}

static void terminal_state(const sweep *s, double *record) {
    memset(record, 0, (size_t)s->problem->layout.record_doubles * sizeof *record);
    record[s->problem->layout.v_r] = s->problem->theory.terminal_value;
}

/* Writes what `state` is worth to earlier states. */
static void give_credit(const sweep *s, uint64_t index, const uint8_t *state, const double *record) {
    const lud_empo_problem *problem = s->problem;
    const lud_empo_layout *layout = &problem->layout;
    const lud_model *model = problem->space->model;
    double *row = credit_row(&s->credit, index);
    for (int h = 0; h < layout->n_humans; h++)
        for (int g = layout->goal_begin[h]; g < layout->goal_begin[h + 1]; g++) {
            bool achieved =
                model->world->achieved(model, state, layout->humans[h], g - layout->goal_begin[h]);
            row[g] = achieved ? 1 : problem->theory.gamma_h * record[layout->v_h_m + g];
            row[layout->n_goals + g] = achieved ? 1 : problem->theory.gamma_h * record[layout->v_h_e + g];
        }
    row[2 * layout->n_goals] = problem->theory.gamma_r * record[layout->v_r];
}

/* ---- levels ---- */

static void solve_state(sweep *s, scratch *t, uint64_t index) {
    const lud_statespace *space = s->problem->space;
    const lud_empo_layout *layout = &s->problem->layout;
    const lud_empo_hooks *hooks = s->run->hooks;
    const uint8_t *state = space->states + index * space->model->layout.state_bytes;
    double *record = s->run->records + index * (uint64_t)layout->record_doubles;
    if (lud_statespace_terminal(space, index)) {
        terminal_state(s, record);
    } else {
        const double *habit = NULL, *robot = NULL;
        if (hooks && hooks->habit && s->problem->theory.nu_h > 0) {
            hooks->habit(hooks->context, index, state, t->habit);
            habit = t->habit;
        }
        if (hooks && hooks->robot) {
            hooks->robot(hooks->robot_context ? hooks->robot_context : hooks->context, index, state,
                         t->robot);
            robot = t->robot;
        }
        expect_all(s, t, index);
        worst_case(s, t);
        for (int h = 0; h < layout->n_humans; h++) phase_1(s, t, state, h, habit, record);
        phase_2(s, t, index, robot, record);
    }
    give_credit(s, index, state, record);
}

static lud_status no_power(const sweep *s, lud_error *error) {
    const lud_model *model = s->problem->space->model;
    const lud_empo_layout *layout = &s->problem->layout;
    int h = s->failed_human, agent = layout->humans[h],
        n_goals = layout->goal_begin[h + 1] - layout->goal_begin[h];
    lud_text text = {0}, goals = {0};
    model->world->describe(model, s->problem->space->states + s->failed_state * model->layout.state_bytes,
                           &text);
    enum { MOST_GOALS = 8 };
    for (int g = 0; g < n_goals && g < MOST_GOALS && model->world->describe_goal; g++) {
        if (g) lud_text_append(&goals, ", ");
        model->world->describe_goal(model, agent, g, &goals);
    }
    if (n_goals > MOST_GOALS) lud_text_append(&goals, ", ... (%d in all)", n_goals);
    lud_status status = lud_fail(
        error, LUD_ERROR_NUMERIC,
        "no goal is open to agent %d in state %llu, so its power is 0 and V_r infinite; "
        "give it a goal for every cell it can stand on. None of its goals can be reached from there: "
        "%s. The state: %s",
        agent, (unsigned long long)s->failed_state, goals.bytes ? goals.bytes : "",
        text.bytes ? text.bytes : "");
    lud_text_free(&text);
    lud_text_free(&goals);
    return status;
}

static lud_status solve_level(sweep *s, int level, lud_progress *progress, lud_error *error) {
    uint64_t begin = s->levels.begin[level], end = s->levels.begin[level + 1];
    int64_t n_chunks = (int64_t)((end - begin + CHUNK - 1) / CHUNK);
    int stopped = 0;
    s->failed_state = UINT64_MAX;
#pragma omp parallel for schedule(dynamic, 4) num_threads(s->n_threads)
    for (int64_t chunk = 0; chunk < n_chunks; chunk++) {
        int skip;
#pragma omp atomic read
        skip = stopped;
        if (skip) continue;
        int thread = omp_get_thread_num();
        uint64_t first = begin + (uint64_t)chunk * CHUNK, last = first + CHUNK < end ? first + CHUNK : end;
        for (uint64_t position = first; position < last; position++)
            solve_state(s, &s->threads[thread], lud_empo_level_state(&s->levels, position));
        if (thread == 0) {
            lud_progress_update(progress, s->problem->space->n_states - end + (last - begin));
            if (lud_interrupted()) {
#pragma omp atomic write
                stopped = 1;
            }
        }
    }
    if (stopped) return lud_fail(error, LUD_INTERRUPTED, "interrupted in level %d", level);
    if (s->failed_state != UINT64_MAX) return no_power(s, error);
    return LUD_OK;
}

/* Levels from `first_level` on stand in the records already; brings their credits back. */
static void recall(sweep *s, int first_level) {
    const lud_statespace *space = s->problem->space;
    int last = s->levels.consecutive && first_level < s->levels.n ? first_level + 1 : s->levels.n;
    for (uint64_t position = s->levels.begin[first_level]; position < s->levels.begin[last]; position++) {
        uint64_t index = lud_empo_level_state(&s->levels, position);
        give_credit(s, index, space->states + index * space->model->layout.state_bytes,
                    s->run->records + index * (uint64_t)s->problem->layout.record_doubles);
    }
}

/* Two neighbouring levels when successors are always in the next one, else every state. */
static uint64_t credit_window(const sweep *s) {
    if (!s->levels.consecutive) return s->problem->space->n_states;
    uint64_t window = 1;
    for (int level = 0; level < s->levels.n; level++) {
        uint64_t end = s->levels.begin[level + 2 <= s->levels.n ? level + 2 : s->levels.n];
        if (end - s->levels.begin[level] > window) window = end - s->levels.begin[level];
    }
    return window;
}

static void *take(lud_arena *arena, size_t n, bool *failed) {
    void *memory = lud_arena_take_array(arena, n, sizeof(double));
    if (!memory) *failed = true;
    return memory;
}

static lud_status take_scratch(sweep *s, lud_error *error) {
    const lud_empo_layout *layout = &s->problem->layout;
    size_t n_joint = (size_t)s->problem->space->n_joint_actions, n_goals = (size_t)layout->n_goals;
    size_t n_profiles = (size_t)layout->n_human_profiles, n_actions = (size_t)s->max_actions;
    bool failed = false;
    s->threads = lud_arena_take_array(s->arena, (size_t)s->n_threads, sizeof *s->threads);
    for (int i = 0; s->threads && i < s->n_threads; i++)
        s->threads[i] = (scratch){
            .expected = take(s->arena, n_joint * (size_t)s->credit.width, &failed),
            .row = lud_arena_take_array(s->arena, n_joint, sizeof(double *)),
            .worst = take(s->arena, n_profiles * n_goals, &failed),
            .q_h = take(s->arena, n_actions * n_goals, &failed),
            .mean_robot = take(s->arena, n_profiles * n_goals, &failed),
            .marginal = take(s->arena, (size_t)layout->n_humans * n_actions, &failed),
            .profile = take(s->arena, n_profiles, &failed),
            .belief = take(s->arena, n_profiles, &failed),
            .habit = take(s->arena, (size_t)layout->policy_begin[layout->n_humans], &failed),
            .robot = take(s->arena, (size_t)layout->n_robot_actions, &failed),
            .action_values = take(s->arena, n_actions, &failed),
        };
    s->credit.rows = take(s->arena, s->credit.window * (size_t)s->credit.width, &failed);
    if (failed || !s->threads || !s->threads[s->n_threads - 1].row)
        return lud_fail(error, LUD_ERROR_MEMORY, "no memory for %llu rows of %d values of two levels",
                        (unsigned long long)s->credit.window, s->credit.width);
    return LUD_OK;
}

static lud_status prepare(sweep *s, lud_error *error) {
    const lud_empo_problem *problem = s->problem;
    const lud_empo_layout *layout = &problem->layout;
    lud_status status = lud_empo_levels_find(problem->space, s->arena, &s->levels, error);
    if (status != LUD_OK) return status;
    for (int h = 0; h < layout->n_humans; h++) {
        const lud_action_space *actions = &problem->space->model->layout.actions[layout->humans[h]];
        if (layout->n_human_actions[h] > s->max_actions) s->max_actions = layout->n_human_actions[h];
        for (int a = actions->n_discrete - 1; a >= 0 && actions->names; a--)
            if (!strcmp(actions->names[a], "still")) s->still_of[h] = a;
    }
    s->reward_weight = lud_empo_reward_weight_of(&problem->theory);
    s->credit.width = (2 * layout->n_goals + 1 + ALIGN_DOUBLES - 1) / ALIGN_DOUBLES * ALIGN_DOUBLES;
    s->credit.window = credit_window(s);
    return take_scratch(s, error);
}

lud_status lud_empo_solve(const lud_empo_problem *problem, const lud_empo_run *run, lud_error *error) {
    lud_arena *arena = lud_arena_create(1 << 16);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "no memory to solve");
    sweep s = {.problem = problem,
               .run = run,
               .arena = arena,
               .n_threads = run->n_threads > 0 ? run->n_threads : omp_get_max_threads()};
    lud_status status = prepare(&s, error);
    lud_progress progress;
    lud_progress_start(&progress, run->progress, "solving", "states", problem->space->n_states);
    if (status == LUD_OK && run->first_level < s.levels.n) recall(&s, run->first_level);
    int level = run->first_level < s.levels.n ? run->first_level : s.levels.n;
    while (status == LUD_OK && level-- > 0) {
        status = solve_level(&s, level, &progress, error);
        if (status == LUD_OK && run->level_done) status = run->level_done(run->context, level, error);
    }
    lud_progress_finish(&progress);
    lud_arena_destroy(arena);
    return status;
}
