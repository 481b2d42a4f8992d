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

/* What agents[n] do: the others' entries stay as they were. */
static void act_for(const stage *s, const int *agents, int n_acting) {
    const lud_layout *layout = &s->model->layout;
    const int width = lud_max_continuous(layout);
    const size_t all = (size_t)s->n * (size_t)layout->n_agents;
    int *own = malloc((size_t)n_acting * sizeof *own);
    memcpy(own, agents, (size_t)n_acting * sizeof *own);
    int32_t *discrete = malloc(all * sizeof *discrete);
    float *continuous = malloc((all * (size_t)width + 1) * sizeof *continuous),
          *log_prob = malloc(all * sizeof *log_prob);
    for (size_t i = 0; i < all; i++) discrete[i] = UNTOUCHED;
    for (size_t i = 0; i < all; i++) log_prob[i] = UNTOUCHED;
    for (size_t i = 0; i < all * (size_t)width; i++) continuous[i] = UNTOUCHED;
    const lud_act act = {.model = s->model,
                         .range = {.seed = 3, .n = s->n, .tick = s->tick},
                         .states = s->states,
                         .observations = s->parts,
                         .goals = s->goals,
                         .goal_stride = (size_t)layout->n_agents,
                         .hidden = s->hidden,
                         .hidden_stride = s->policy->hidden_bytes,
                         .agents = own,
                         .n_agents_acting = n_acting,
                         .discrete = discrete,
                         .continuous = width ? continuous : NULL,
                         .log_prob = log_prob};
    s->policy->kind->act(s->policy, &act);
    lud_error error = {0};
    if (lud_policy_check(s->policy, &error)) fail_msg("%s", error.text);
    double *p = malloc(MOST_ACTIONS * sizeof *p);
    for (int e = 0; e < s->n; e++)
        for (int i = 0; i < layout->n_agents; i++) {
            const lud_action_space *space = &layout->actions[i];
            const int at = e * layout->n_agents + i;
            int slot = 0;
            while (slot < n_acting && agents[slot] != i) slot++;
            if (slot == n_acting) {
                assert_int_equal(discrete[at], UNTOUCHED);
                assert_true(log_prob[at] == UNTOUCHED);
                for (int k = 0; k < width; k++) assert_true(continuous[at * width + k] == UNTOUCHED);
                continue;
            }
            if (space->n_discrete > 0) assert_in_range(discrete[at], 0, space->n_discrete - 1);
            for (int k = 0; k < space->n_continuous; k++) assert_true(isfinite(continuous[at * width + k]));
            if (space->n_continuous == 0) assert_true(log_prob[at] <= 1e-5f && log_prob[at] > -50.0f);
            const uint8_t *state = s->states + (size_t)e * layout->state_bytes;
            if (!s->policy->kind->joint && space->n_continuous == 0 && space->n_discrete <= MOST_ACTIONS &&
                lud_policy_distribution(s->policy, state, i, s->goals[at], p)) {
                double sum = 0;
                for (int k = 0; k < space->n_discrete; k++) sum += p[k];
                assert_true(fabs(sum - 1.0) < 1e-5);
                if (fabs(log(p[discrete[at]]) - (double)log_prob[at]) >= 1e-3)
                    fail_msg("agent %d of %d, n %d: %g %g", i, n_acting, s->n, log(p[discrete[at]]),
                             (double)log_prob[at]);
            }
        }
    free(p);
    free(own);
    free(discrete);
    free(continuous);
    free(log_prob);
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
    lud_cast *cast = NULL;
    if (lud_run_cast(run, b.scenario, &cast, &error)) fail_msg("%s", error.text);
    const lud_model *model = b.scenario->model;
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
            act_for(&s, agents, n_own);
            for (int k = 0; k < n_own && !policy->kind->joint; k++) act_for(&s, agents + k, 1);
            stage_close(&s);
        }
    }
    free(agents);
    lud_cast_destroy(cast);
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
