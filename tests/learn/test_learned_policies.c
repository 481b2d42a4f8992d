/* Every learner's policy, whoever it acts for and in however many environments: it reads and writes what it
 * is given and no more, actions are the agents' own, probabilities those that it tells of. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/cast.h"
#include "agents/policy.h"
#include "folder.h"
#include "learn/runs/run.h"
#include "learn/support_trainings.h"

TEST_FOLDER("/tmp/ludus-learned-policies-XXXXXX")

enum { UNTOUCHED = -77, MOST_ACTIONS = 256 };
/* More than networks of policies take at once, and fewer. */
enum { MANY_ROWS = 1100, FEW_ROWS = 150 };

/* Memory of its own for every array, as long as it must be: what reaches beyond is seen by sanitizers. */
typedef struct stage {
    const lud_model *model;
    lud_policy *policy;
    int n, n_agents;
    uint8_t *states, *hidden;
    void *parts[LUD_MAX_OBSERVATION_PARTS];
    int32_t *goals;
    uint32_t *tick;
} stage;

static stage stage_open(const lud_model *model, lud_policy *policy, int n) {
    const lud_layout *layout = &model->layout;
    const size_t agents = (size_t)layout->n_agents;
    stage s = {.model = model, .policy = policy, .n = n, .n_agents = layout->n_agents};
    s.states = malloc((size_t)n * layout->state_bytes);
    s.hidden = calloc((size_t)n, policy->hidden_bytes ? policy->hidden_bytes : 1);
    s.goals = malloc((size_t)n * agents * sizeof *s.goals);
    s.tick = calloc((size_t)n, sizeof *s.tick);
    const lud_range range = {.seed = 3, .n = n, .tick = s.tick};
    model->world->reset(model, range, s.states);
    for (int p = 0; p < layout->n_parts; p++)
        s.parts[p] = calloc((size_t)n, layout->parts[p].bytes ? layout->parts[p].bytes : 1);
    if (model->world->observe) model->world->observe(model, range, s.states, s.parts);
    for (int e = 0; e < n; e++)
        for (int i = 0; i < layout->n_agents; i++) {
            const int n_goals = model->world->n_goals ? model->world->n_goals(model, i) : 0;
            s.goals[e * layout->n_agents + i] = n_goals > 0 ? (e + i) % n_goals : -1;
        }
    if (policy->kind->reset) policy->kind->reset(policy, s.hidden, policy->hidden_bytes, n);
    return s;
}

static void stage_close(stage *s) {
    for (int p = 0; p < LUD_MAX_OBSERVATION_PARTS; p++) free(s->parts[p]);
    free(s->states);
    free(s->hidden);
    free(s->goals);
    free(s->tick);
}

typedef struct deed {
    int32_t *discrete;
    float *continuous, *log_prob;
} deed;

static deed deed_new(const stage *s) {
    const size_t all = (size_t)s->n * (size_t)s->n_agents,
                 width = (size_t)lud_max_continuous(&s->model->layout);
    deed d = {malloc(all * sizeof *d.discrete), malloc((all * width + 1) * sizeof *d.continuous),
              malloc(all * sizeof *d.log_prob)};
    for (size_t i = 0; i < all; i++) {
        d.discrete[i] = UNTOUCHED;
        d.log_prob[i] = UNTOUCHED;
        for (size_t k = 0; k < width; k++) d.continuous[i * width + k] = UNTOUCHED;
    }
    return d;
}

static void deed_free(deed *d) {
    free(d->discrete);
    free(d->continuous);
    free(d->log_prob);
}

/* What agents[n] do in environments first .. first + n - 1 of the stage. */
static void act_in(const stage *s, const int *agents, int n_acting, int first, int n, const deed *d) {
    const lud_layout *layout = &s->model->layout;
    const size_t at = (size_t)first * (size_t)layout->n_agents;
    int *own = malloc((size_t)n_acting * sizeof *own);
    memcpy(own, agents, (size_t)n_acting * sizeof *own);
    void *parts[LUD_MAX_OBSERVATION_PARTS] = {0};
    for (int p = 0; p < layout->n_parts; p++)
        parts[p] = (uint8_t *)s->parts[p] + (size_t)first * layout->parts[p].bytes;
    const int width = lud_max_continuous(layout);
    const lud_act act = {
        .model = s->model,
        .range = {.seed = 3, .first_environment = (uint32_t)first, .n = n, .tick = s->tick + first},
        .states = s->states + (size_t)first * layout->state_bytes,
        .observations = parts,
        .goals = s->goals + at,
        .goal_stride = (size_t)layout->n_agents,
        .hidden = s->hidden + (size_t)first * s->policy->hidden_bytes,
        .hidden_stride = s->policy->hidden_bytes,
        .agents = own,
        .n_agents_acting = n_acting,
        .discrete = d->discrete + at,
        .continuous = width ? d->continuous + at * (size_t)width : NULL,
        .log_prob = d->log_prob + at};
    s->policy->kind->act(s->policy, &act);
    lud_error error = {0};
    if (lud_policy_check(s->policy, &error)) fail_msg("%s", error.text);
    free(own);
}

static void check_chances(const double *p, int n, int32_t chosen, float log_prob) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += p[k];
    assert_true(fabs(sum - 1.0) < 1e-5);
    if (fabs(log(p[chosen]) - (double)log_prob) >= 1e-3)
        fail_msg("told of %g, acted by %g", log(p[chosen]), (double)log_prob);
}

/* What agents[n] do: the others' entries stay as they were. */
static void act_for(const stage *s, const int *agents, int n_acting) {
    const lud_layout *layout = &s->model->layout;
    const lud_policy_kind *kind = s->policy->kind;
    const int width = lud_max_continuous(layout);
    const size_t hidden_bytes = (size_t)s->n * s->policy->hidden_bytes;
    uint8_t *before = malloc(hidden_bytes + 1);
    memcpy(before, s->hidden, hidden_bytes);
    deed d = deed_new(s);
    act_in(s, agents, n_acting, 0, s->n, &d);
    double *p = malloc(MOST_ACTIONS * sizeof *p);
    for (int e = 0; e < s->n; e++)
        for (int i = 0; i < layout->n_agents; i++) {
            const lud_action_space *space = &layout->actions[i];
            const int at = e * layout->n_agents + i;
            int slot = 0;
            while (slot < n_acting && agents[slot] != i) slot++;
            if (slot == n_acting) {
                assert_int_equal(d.discrete[at], UNTOUCHED);
                assert_true(d.log_prob[at] == UNTOUCHED);
                for (int k = 0; k < width; k++) assert_true(d.continuous[at * width + k] == UNTOUCHED);
                continue;
            }
            if (space->n_discrete > 0) assert_in_range(d.discrete[at], 0, space->n_discrete - 1);
            for (int k = 0; k < space->n_continuous; k++) assert_true(isfinite(d.continuous[at * width + k]));
            if (space->n_continuous > 0 || space->n_discrete > MOST_ACTIONS) continue;
            assert_true(d.log_prob[at] <= 1e-5f && d.log_prob[at] > -50.0f);
            const uint8_t *state = s->states + (size_t)e * layout->state_bytes;
            if (!kind->joint && lud_policy_distribution(s->policy, state, i, s->goals[at], p))
                check_chances(p, space->n_discrete, d.discrete[at], d.log_prob[at]);
            if (s->policy->hidden_bytes > 0 && kind->recalled_distribution &&
                kind->recalled_distribution(s->policy, state, before + (size_t)e * s->policy->hidden_bytes, i,
                                            p))
                check_chances(p, space->n_discrete, d.discrete[at], d.log_prob[at]);
        }
    free(p);
    free(before);
    deed_free(&d);
}

static void expect_same(const stage *s, const deed *a, const deed *b) {
    const size_t all = (size_t)s->n * (size_t)s->n_agents,
                 width = (size_t)lud_max_continuous(&s->model->layout);
    assert_memory_equal(a->discrete, b->discrete, all * sizeof *a->discrete);
    for (size_t i = 0; i < all * width; i++)
        assert_true(fabsf(a->continuous[i] - b->continuous[i]) <= 1e-5f + 1e-5f * fabsf(a->continuous[i]));
    for (size_t i = 0; i < all; i++)
        assert_true(isnan(a->log_prob[i]) == isnan(b->log_prob[i]) &&
                    !(fabsf(a->log_prob[i] - b->log_prob[i]) > 1e-4f));
}

/* The same in all environments at once and in `each` after the other, also with what is remembered of that.
 */
static void act_in_parts(const stage *s, const int *agents, int n_acting, int each) {
    const size_t hidden_bytes = (size_t)s->n * s->policy->hidden_bytes;
    uint8_t *of_whole = malloc(hidden_bytes + 1), *of_parts = malloc(hidden_bytes + 1);
    memcpy(of_whole, s->hidden, hidden_bytes);
    memcpy(of_parts, s->hidden, hidden_bytes);
    for (int k = 0; k < 2; k++) {
        deed whole = deed_new(s), parts = deed_new(s);
        memcpy(s->hidden, of_whole, hidden_bytes);
        act_in(s, agents, n_acting, 0, s->n, &whole);
        memcpy(of_whole, s->hidden, hidden_bytes);
        memcpy(s->hidden, of_parts, hidden_bytes);
        for (int e = 0; e < s->n; e += each)
            act_in(s, agents, n_acting, e, s->n - e < each ? s->n - e : each, &parts);
        memcpy(of_parts, s->hidden, hidden_bytes);
        expect_same(s, &whole, &parts);
        deed_free(&whole);
        deed_free(&parts);
    }
    free(of_whole);
    free(of_parts);
}

/* What is drawn of it. */
static void check_what_is_shown(const stage *s) {
    const uint8_t *state = s->states;
    for (int i = 0; i < s->n_agents; i++) {
        double value = 0;
        if (lud_policy_value(s->policy, state, i, &value)) assert_true(isfinite(value));
    }
    const int n = lud_policy_attention(s->policy, state, NULL);
    float *weights = malloc((size_t)(s->n_agents * n + 1) * sizeof *weights);
    if (n > 0) assert_int_equal(lud_policy_attention(s->policy, state, weights), n);
    for (int i = 0; i < s->n_agents && n > 0; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) {
            assert_true(weights[i * n + k] >= 0);
            sum += (double)weights[i * n + k];
        }
        assert_true(sum <= 1 + 1e-4);
    }
    free(weights);
    if (!s->policy->kind->joint) return;
    int64_t all = 1;
    for (int i = 0; i < s->n_agents; i++)
        if (s->model->layout.roles[i] == LUD_ROLE_ROBOT) all *= s->model->layout.actions[i].n_discrete;
    double *p = malloc((size_t)all * sizeof *p), sum = 0;
    s->policy->kind->joint(s->policy, state, p);
    for (int64_t k = 0; k < all; k++) {
        assert_true(p[k] >= 0);
        sum += p[k];
    }
    assert_true(fabs(sum - 1) < 1e-6);
    free(p);
}

/* The world goes on as everybody likes, and is seen anew. */
static void step(stage *s, uint32_t t) {
    const lud_layout *layout = &s->model->layout;
    const size_t all = (size_t)s->n * (size_t)layout->n_agents, width = (size_t)lud_max_continuous(layout);
    int32_t *discrete = calloc(all, sizeof *discrete);
    float *continuous = calloc(all * width + 1, sizeof *continuous);
    for (size_t i = 0; i < all; i++) {
        const int n = layout->actions[i % (size_t)layout->n_agents].n_discrete;
        discrete[i] = n > 0 ? (int32_t)((t * 7 + i) % (uint32_t)n) : 0;
    }
    const lud_range range = {.seed = 3, .n = s->n, .tick = s->tick};
    if (!s->model->world->is_terminal || !s->model->world->is_terminal(s->model, s->states))
        s->model->world->step(s->model, range, s->states,
                              (lud_actions){.discrete = discrete, .continuous = continuous},
                              (lud_outcome){0});
    for (int e = 0; e < s->n; e++) s->tick[e]++;
    if (s->model->world->observe) s->model->world->observe(s->model, range, s->states, s->parts);
    free(discrete);
    free(continuous);
}

/* Everybody of the RUN in the scenario, for a few steps. */
static void play(const char *run, const lud_scenario *scenario) {
    lud_error error = {0};
    lud_cast *cast = NULL;
    if (lud_run_cast(run, scenario, &cast, &error)) fail_msg("%s", error.text);
    const lud_model *model = scenario->model;
    const int n_agents = model->layout.n_agents;
    int *agents = malloc((size_t)n_agents * sizeof *agents);
    for (int first = 0; first < n_agents; first++) {
        lud_policy *policy = lud_cast_get(cast, first);
        int n_own = 0;
        for (int i = 0; i < n_agents; i++)
            if (lud_cast_get(cast, i) == policy) agents[n_own++] = i;
        if (agents[0] != first) continue; /* was there before */
        for (int n = 1; n <= 3; n += 2) {
            stage s = stage_open(model, policy, n);
            check_what_is_shown(&s);
            for (int k = 0; k < n_own && !policy->kind->joint; k++) act_for(&s, agents + k, 1);
            if (policy->kind->reset)
                policy->kind->reset(policy, s.hidden, policy->hidden_bytes, n);
            else
                memset(s.hidden, 0, (size_t)n * policy->hidden_bytes);
            for (uint32_t t = 0; t < 3; t++) {
                act_for(&s, agents, n_own);
                step(&s, t);
            }
            act_in_parts(&s, agents, n_own, 1);
            stage_close(&s);
        }
        stage many = stage_open(model, policy, MANY_ROWS / n_own + 1);
        act_in_parts(&many, agents, n_own, FEW_ROWS / n_own + 1);
        stage_close(&many);
    }
    free(agents);
    lud_cast_destroy(cast);
}

static void policies_keep_to_what_they_are_given(void **state) {
    const support_training *t = *state;
    lud_error error = {0};
    char run[256];
    snprintf(run, sizeof run, "%s/%zu", folder, (size_t)(t - support_trainings));
    support_bed b = support_bed_open(t, "cpu", 1);
    lud_train_result result;
    const lud_train_options options = {.folder = run, .stop_after = 1};
    const lud_status trained = support_train(b.scenario, b.learner, &options, &result, &error);
    if (trained && trained != LUD_INTERRUPTED) fail_msg("%s", error.text);
    play(run, b.scenario);
    /* where there is the choice also with what is drawn */
    lud_scenario *drawn = NULL;
    static const char *const draws[] = {"learner.deterministic=false"};
    const lud_scenario_overrides overrides = {.set = draws, .n_set = 1};
    const lud_option_table *table = b.learner->kind->options;
    for (int k = 0; table && k < table->n; k++)
        if (!strcmp(table->options[k].key, "deterministic")) {
            if (lud_run_scenario(run, &overrides, &drawn, &error)) fail_msg("%s", error.text);
            play(run, drawn);
        }
    lud_scenario_destroy(drawn);
    support_bed_close(&b);
}

int main(void) {
    struct CMUnitTest *tests = calloc((size_t)n_support_trainings, sizeof *tests);
    for (int k = 0; k < n_support_trainings; k++)
        tests[k] = (struct CMUnitTest){support_trainings[k].name, policies_keep_to_what_they_are_given, NULL,
                                       NULL, (void *)(uintptr_t)&support_trainings[k]};
    const int failed =
        _cmocka_run_group_tests("learned policies", tests, (size_t)n_support_trainings, set_up, tear_down);
    free(tests);
    return failed;
}
