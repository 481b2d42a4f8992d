#include "learn/empo/evaluation/solved.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "learn/empo/evaluation/policy_estimate.h"
#include "learn/empo/evaluation/report.h"
#include "learn/empo/evaluation/robots.h"
#include "learn/empo/exact/solution_policy.h"
#include "learn/empo/overlay.h"
#include "learn/runs/origin.h"
#include "learn/runs/run.h"

enum { ROLLOUTS = 64 }; /* of each goal in every state of an episode, where a policy has to be played */

static lud_status open_in(const char *folder, lud_empo_solution **solution, lud_error *error) {
    *solution = NULL;
    lud_text file = {0};
    lud_text_append(&file, "%s/%s", folder, lud_empo_exact.file);
    lud_status status =
        file.failed ? lud_no_memory(error, "a path") : lud_empo_solution_open(file.bytes, solution, error);
    if (!status &&
        (status = lud_origin_check_key(lud_empo_solution_key(*solution), NULL, file.bytes, folder, error))) {
        lud_empo_solution_close(*solution);
        *solution = NULL;
    }
    lud_text_free(&file);
    return status;
}

/* ---- whether a solution is one of a scenario ---- */

enum { TRIED_STEPS = 1 << 14 }; /* of episodes in which everybody acts at random; some milliseconds */

/* People want there what they want here. */
static lud_status check_goals(const lud_model *solved, const lud_model *model, const char *folder,
                              lud_error *error) {
    const lud_world *world = model->world;
    lud_status status = LUD_OK;
    for (int agent = 0; agent < model->layout.n_agents && !status && world->describe_goal; agent++) {
        const int n = world->n_goals(model, agent);
        for (int g = 0; g < n && !status; g++) {
            lud_text here = {0}, there = {0};
            world->describe_goal(model, agent, g, &here);
            if (agent < solved->layout.n_agents && g < world->n_goals(solved, agent))
                world->describe_goal(solved, agent, g, &there);
            if (here.failed || there.failed)
                status = lud_no_memory(error, "goals");
            else if (!there.bytes || strcmp(here.bytes, there.bytes) != 0)
                status = lud_invalid(
                    error, "%s: the solution of other goals: agent %d may want to %s here, to %s there",
                    folder, agent, here.bytes, there.bytes ? there.bytes : "(nothing)");
            lud_text_free(&here);
            lud_text_free(&there);
        }
    }
    return status;
}

static lud_status miss(const lud_model *model, const uint8_t *state, const char *folder, lud_error *error) {
    lud_text text = {0};
    model->world->describe(model, state, &text);
    const lud_status status = lud_invalid(
        error,
        "%s: the solution of another world, or from another start, or of shorter episodes: it does "
        "not have this state, which can be reached here: %s",
        folder, text.bytes ? text.bytes : "");
    lud_text_free(&text);
    return status;
}

/* Whether the solution, of that model, says what to do at the start and in what random play from it meets. */
static lud_status check_states(const lud_empo_solution *solution, const lud_model *solved,
                               const lud_scenario *scenario, const char *folder, lud_error *error) {
    const lud_model *model = scenario->model;
    const lud_world *world = model->world;
    const uint64_t seed = (uint64_t)scenario->run.seed;
    const uint32_t first = 0;
    uint8_t *state = calloc(1, model->layout.state_bytes + 1);
    int32_t *joint = calloc((size_t)model->layout.n_agents + 1, sizeof *joint);
    lud_status status = state && joint ? LUD_OK : lud_no_memory(error, "a state");
    bool ended = true;
    for (uint32_t i = 0; i < TRIED_STEPS && !status; i++) {
        if (ended) world->reset(model, (lud_range){.seed = seed, .n = 1, .tick = &first}, state);
        ended = world->is_terminal(model, state);
        if (ended) continue;
        if (lud_empo_solution_find(solution, state) == UINT64_MAX || world->is_terminal(solved, state))
            status = miss(model, state, folder, error);
        for (int agent = 0; agent < model->layout.n_agents; agent++) {
            const lud_words words =
                lud_draw((lud_random_key){seed, UINT32_MAX}, i, (uint32_t)agent, LUD_PURPOSE_USER, 0);
            joint[agent] = (int32_t)lud_below(words.v[0], (uint32_t)model->layout.actions[agent].n_discrete);
        }
        const lud_range range = {.seed = seed, .first_environment = UINT32_MAX, .n = 1, .tick = &i};
        world->step(model, range, state, (lud_actions){.discrete = joint}, (lud_outcome){0});
    }
    LUD_FREE(state, joint);
    return status;
}

/* Everybody acts on one solution, which goes with the last of them. */
static lud_status join(const lud_scenario *solved, const lud_scenario *scenario, const char *folder,
                       lud_cast *cast, lud_error *error) {
    lud_empo_solution *solution;
    lud_status status = open_in(folder, &solution, error);
    for (int i = 0; i < scenario->model->layout.n_agents && !status; i++) {
        lud_policy *policy; /* the cast owns one for each agent */
        status = lud_empo_solution_policy_create(solution, scenario->model, &policy, error);
        if (!status) lud_cast_set(cast, i, policy);
    }
    if (!status) status = check_goals(solved->model, scenario->model, folder, error);
    if (!status) status = check_states(solution, solved->model, scenario, folder, error);
    lud_empo_solution_close(solution);
    return status;
}

/* ---- overlay ---- */

static const double *record_of(void *context, const uint8_t *state) {
    const lud_empo_solution *solution = context;
    const uint64_t index = lud_empo_solution_find(solution, state);
    return index == UINT64_MAX ? NULL : lud_empo_solution_record(solution, index);
}

static void close_solution(void *context) {
    lud_empo_solution_close(context);
}

static lud_status overlay(const char *folder, const lud_scenario *scenario, const lud_cast *cast,
                          lud_overlay_source **source, lud_error *error) {
    (void)cast;
    lud_empo_solution *solution;
    LUD_TRY(open_in(folder, &solution, error));
    return lud_empo_overlay_create((lud_state_records){solution, record_of, close_solution}, scenario->model,
                                   source, error);
}

/* ---- evaluation of other policies ---- */

static void print_evaluation(const lud_empo_layout *layout, const char *policy,
                             const lud_empo_policy_evaluation *r, lud_text *out) {
    const bool exact = r->n_episodes == 0;
    char interval[48] = "";
    lud_text_append(out, "robots follow %s\n", policy);
    if (!exact)
        lud_text_append(out,
                        "what they do does not follow from the state alone: estimated from %" PRId64
                        " episodes, with 95 %% intervals\n",
                        r->n_episodes);
    if (!exact) snprintf(interval, sizeof interval, " ± %-10.4g", r->v_r_interval);
    lud_text_append(out, "\nV_r at the start        %12.6g%s   optimal %.6g, regret %.6g\n", r->v_r, interval,
                    r->v_r_optimal, r->v_r_optimal - r->v_r);
    lud_text_append(out, "regret, visited states  %12.6g\n", r->mean_regret);
    if (exact)
        lud_text_append(out, "policy divergence       %12.6g   total variation; Kullback-Leibler %.6g nats\n",
                        r->divergence, r->kl);
    lud_text_append(out, "\n");
    for (int h = 0; h < layout->n_humans; h++) {
        if (!exact) snprintf(interval, sizeof interval, " ± %-10.4g", r->power_interval[h]);
        lud_text_append(out, "person %-3d power X_h     %12.6g%s   under the solution %.6g\n",
                        layout->humans[h], r->power[h], interval, r->power_optimal[h]);
    }
}

/* An estimate has intervals and no divergences. */
static json_t *evaluation_json(const lud_empo_layout *layout, const char *policy,
                               const lud_empo_policy_evaluation *r) {
    const bool exact = r->n_episodes == 0;
    json_t *people = json_array();
    for (int h = 0; h < layout->n_humans; h++) {
        json_t *person = json_pack("{s:i, s:f, s:f}", "agent", layout->humans[h], "X_h", r->power[h],
                                   "X_h_solution", r->power_optimal[h]);
        if (!exact) json_object_set_new(person, "X_h_interval", json_real(r->power_interval[h]));
        json_array_append_new(people, person);
    }
    json_t *root = json_pack("{s:s, s:b, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "policy", policy, "exact",
                             (int)exact, "V_r", r->v_r, "V_r_solution", r->v_r_optimal, "regret",
                             r->v_r_optimal - r->v_r, "mean_regret", r->mean_regret, "total_variation",
                             exact ? json_real(r->divergence) : json_null(), "kl",
                             exact ? json_real(r->kl) : json_null(), "people", people);
    if (root && !exact) {
        json_object_set_new(root, "V_r_interval", json_real(r->v_r_interval));
        json_object_set_new(root, "episodes", json_integer((json_int_t)r->n_episodes));
    }
    return root;
}

static lud_status evaluate(const lud_report_request *request, const lud_empo_solution *solution,
                           lud_report *report, lud_error *error) {
    const lud_scenario *scenario = request->scenario;
    if (request->episodes == 1) return lud_invalid(error, "--episodes 1: an interval needs at least two");
    lud_empo_solve_options options = {.n_threads = (int)scenario->run.threads};
    const lud_empo_estimate_options estimate = {.episodes = request->episodes ? request->episodes : 100,
                                                .rollouts = ROLLOUTS,
                                                .seed = (uint64_t)scenario->run.seed};
    lud_empo_case c;
    LUD_TRY(lud_empo_case_open(scenario, &options, &c, error));
    const lud_empo_layout *layout = &c.problem->layout;
    lud_cast *cast;
    lud_policy *robots[LUD_EMPO_MAX_AGENTS];
    lud_empo_policy_evaluation result = {0};
    lud_status status = lud_empo_robots_cast(request->policy, scenario, layout, &cast, error);
    for (int r = 0; r < layout->n_robots && !status; r++) robots[r] = lud_cast_get(cast, layout->robots[r]);
    if (!status) /* networks are asked by one thread */
        status = lud_empo_case_evaluate(&c, solution, robots, &estimate,
                                        lud_run_is(request->policy) ? 1 : options.n_threads, &result, error);
    if (!status && request->episodes && result.n_episodes == 0)
        status = lud_invalid(
            error, "--episodes is for policies that have to be played; this one is evaluated exactly");
    if (!status && request->json) report->json = evaluation_json(layout, request->policy, &result);
    if (!status && !request->json) print_evaluation(layout, request->policy, &result, &report->text);
    lud_empo_policy_evaluation_free(&result);
    lud_cast_destroy(cast);
    lud_empo_case_close(&c);
    return status;
}

/* ---- reports ---- */

static lud_status report_start(const lud_scenario *scenario, const lud_empo_solution *solution, bool json,
                               lud_report *report, lud_error *error) {
    lud_empo_layout layout;
    LUD_TRY(lud_empo_layout_find(scenario->model, &layout, error));
    const double *start = lud_empo_solution_record(solution, 0);
    if (json) {
        report->json = lud_empo_report_json(scenario->model, &layout, start);
    } else {
        lud_text_append(&report->text, "at the start ");
        lud_empo_report_print(scenario->model, &layout, start, &report->text);
    }
    return LUD_OK;
}

static lud_status evaluate_run(const lud_report_request *request, lud_report *report, lud_error *error) {
    lud_empo_solution *solution;
    if (request->episodes && !request->policy)
        return lud_invalid(error, "--episodes is to play the policy of --policy");
    lud_status status = open_in(request->folder, &solution, error);
    if (!status && request->policy)
        status = lud_empo_solution_verify(solution, error); /* all of it is read */
    if (!status)
        status = request->policy ? evaluate(request, solution, report, error)
                                 : report_start(request->scenario, solution, request->json, report, error);
    lud_empo_solution_close(solution);
    return status;
}

static lud_status describe_state(const lud_report_request *request, lud_report *report, lud_error *error) {
    const lud_model *model = request->scenario->model;
    lud_empo_layout layout;
    lud_empo_solution *solution = NULL;
    LUD_TRY(lud_empo_layout_find(model, &layout, error));
    lud_status status = open_in(request->folder, &solution, error);
    if (!status) status = lud_empo_solution_verify(solution, error);
    if (status) {
        lud_empo_solution_close(solution);
        return status;
    }
    const uint64_t index = lud_empo_solution_find(solution, request->state);
    const double *record = index == UINT64_MAX ? NULL : lud_empo_solution_record(solution, index);
    if (request->json) {
        json_t *about = lud_empo_report_solution_json(solution);
        json_object_set_new(about, "state", record ? json_integer((json_int_t)index) : json_null());
        json_object_set_new(about, "values",
                            record ? lud_empo_report_json(model, &layout, record) : json_null());
        report->json = json_pack("{s:o}", "solution", about);
    } else {
        lud_empo_report_solution(solution, &report->text);
        if (record) {
            lud_text_append(&report->text, "state %" PRIu64 ": ", index);
            lud_empo_report_print(model, &layout, record, &report->text);
        } else {
            lud_text_append(&report->text, "the state above is not one that can be reached\n");
        }
    }
    lud_empo_solution_close(solution);
    return LUD_OK;
}

const lud_learner_kind lud_empo_exact = {
    .name = "empo-exact",
    .about = "EMPO by backward induction over all states of a small world",
    .options = &lud_empo_exact_table,
    .file = "solution.empo",
    .join = join,
    .overlay = overlay,
    .honours = LUD_HONOURS_POLICY | LUD_HONOURS_EPISODES,
    .evaluate_run = evaluate_run,
    .describe_state = describe_state,
};
