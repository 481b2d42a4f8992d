#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/empo_report.h"
#include "cli/proof_report.h"
#include "cli/rollout_report.h"
#include "cli/solved.h"
#include "cli/stability_report.h"
#include "learn/empo/exact/solution_policy.h"
#include "learn/empo/exact/solve.h"
#include "learn/learner.h"
#include "learn/store/run.h"

enum { ROLLOUTS = 64 }; /* of each goal in every state of an episode, where a policy has to be played */

typedef struct eval_values {
    lud_scenario_flags scenario;
    const char *policy, *split, *against, *plot;
    int64_t queries, episodes;
    bool json;
} eval_values;

#define FLAGS eval_values
static const lud_flag flags[] = {
    TEXT_FLAG(
        "policy", 'p', policy, "POLICY",
        "robot policy to evaluate: a kind (random), its options ({type: weighted, ...}) or another RUN"),
    TEXT_FLAG("split", 0, split, "LIST", "proof: queries to rank, valid or test (test)"),
    INT_FLAG("queries", 0, queries, 0, 1e9, "N", "proof: the first N queries; 0: all (500)"),
    INT_FLAG("episodes", 0, episodes, 1, 1e9, "N",
             "to play (100), for a policy that remembers, or graph-mappo in a team of another size than it "
             "was trained in"),
    TEXT_FLAG("plot", 0, plot, "FILE",
              "graph-mappo with goals: draw the closed loop's error norms into a PNG file"),
    TEXT_FLAG("against", 0, against, "RUN",
              "graph-mappo with goals: another run to compare the closed loop with"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    LUD_PRECISION_FLAG_ROW(scenario),
    SWITCH_FLAG("json", 'j', json, "results as JSON on standard output"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((eval_values *)values)->scenario);
    ((eval_values *)values)->queries = 500;
}

/* Whether a RUN was trained rather than solved. */
static bool is_trained(const char *run) {
    lud_text solved = {0}, trained = {0};
    lud_text_append(&solved, "%s/solution.empo", run);
    lud_text_append(&trained, "%s/checkpoint.safetensors", run);
    const bool is =
        trained.bytes && solved.bytes && lud_file_exists(trained.bytes) && !lud_file_exists(solved.bytes);
    lud_text_free(&solved);
    lud_text_free(&trained);
    return is;
}

/* The policy to evaluate. */
typedef struct evaluated {
    lud_cast *cast; /* of another RUN that was trained */
    lud_arena *arena;
    lud_empo_solution *other; /* of another RUN */
    lud_policy *policy;
    lud_policy *robots[LUD_EMPO_MAX_AGENTS]; /* who acts for each robot */
} evaluated;

/* `text` names a RUN folder, or is a policy in YAML. */
static lud_status open_policy(const char *text, const lud_empo_case *c, evaluated *e, lud_error *error) {
    const lud_model *model = c->scenario->model;
    const lud_empo_layout *layout = &c->problem->layout;
    lud_status status;
    *e = (evaluated){0};
    if (is_trained(text)) {
        status = lud_cast_open(text, c->scenario, &e->cast, error);
    } else if (lud_folder_exists(text)) {
        status = lud_solved_require(text, &e->other, error);
        if (!status) status = lud_empo_solution_policy_create(e->other, model, &e->policy, error);
    } else {
        lud_tree *tree;
        e->arena = lud_arena_create(0);
        if (!e->arena) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for a policy");
        status = lud_tree_read_text(e->arena, "--policy", text, strlen(text), &tree, error);
        if (!status) status = lud_policy_create(model, tree, "--policy", &e->policy, error);
    }
    for (int r = 0; r < layout->n_robots && !status; r++)
        e->robots[r] = e->cast ? lud_cast_get(e->cast, layout->robots[r]) : e->policy;
    return status;
}

static void close_policy(evaluated *e) {
    lud_cast_destroy(e->cast);
    lud_policy_destroy(e->policy);
    lud_empo_solution_close(e->other);
    lud_arena_destroy(e->arena);
}

static void print_evaluation(const lud_empo_layout *layout, const char *policy,
                             const lud_empo_policy_evaluation *r) {
    const bool exact = r->n_episodes == 0;
    char interval[48] = "";
    printf("robots follow %s\n", policy);
    if (!exact)
        printf("what they do does not follow from the state alone: estimated from %" PRId64
               " episodes, with 95 %% intervals\n",
               r->n_episodes);
    if (!exact) snprintf(interval, sizeof interval, " ± %-10.4g", r->v_r_interval);
    printf("\nV_r at the start        %12.6g%s   optimal %.6g, regret %.6g\n", r->v_r, interval,
           r->v_r_optimal, r->v_r_optimal - r->v_r);
    printf("regret, visited states  %12.6g\n", r->mean_regret);
    if (exact)
        printf("policy divergence       %12.6g   total variation; Kullback-Leibler %.6g nats\n",
               r->divergence, r->kl);
    printf("\n");
    for (int h = 0; h < layout->n_humans; h++) {
        if (!exact) snprintf(interval, sizeof interval, " ± %-10.4g", r->power_interval[h]);
        printf("person %-3d power X_h     %12.6g%s   under the solution %.6g\n", layout->humans[h],
               r->power[h], interval, r->power_optimal[h]);
    }
}

/* An estimate has intervals and no divergences. */
static lud_status print_json(const lud_empo_layout *layout, const char *policy,
                             const lud_empo_policy_evaluation *r, lud_error *error) {
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
    return lud_print_json(root, error);
}

static lud_status evaluate(const lud_scenario *scenario, const lud_empo_solution *solution,
                           const eval_values *values, lud_error *error) {
    if (values->episodes == 1)
        return lud_fail(error, LUD_ERROR_INPUT, "--episodes 1: an interval needs at least two");
    lud_empo_solve_options options = {.n_threads = (int)scenario->run.threads};
    const lud_empo_estimate_options estimate = {.episodes = values->episodes ? values->episodes : 100,
                                                .rollouts = ROLLOUTS,
                                                .seed = (uint64_t)scenario->run.seed};
    lud_empo_case c;
    lud_status status = lud_empo_case_open(scenario, &options, &c, error);
    if (status) return status;
    evaluated policy;
    lud_empo_policy_evaluation result = {0};
    status = open_policy(values->policy, &c, &policy, error);
    if (!status)
        status = lud_empo_case_evaluate(&c, solution, policy.robots, &estimate,
                                        policy.cast ? 1 : options.n_threads, &result, error);
    if (!status && values->episodes && result.n_episodes == 0)
        status = lud_fail(error, LUD_ERROR_INPUT,
                          "--episodes is for policies that have to be played; this one is evaluated exactly");
    if (!status && values->json) status = print_json(&c.problem->layout, values->policy, &result, error);
    if (!status && !values->json) print_evaluation(&c.problem->layout, values->policy, &result);
    lud_empo_policy_evaluation_free(&result);
    close_policy(&policy);
    lud_empo_case_close(&c);
    return status;
}

static lud_status report(const lud_scenario *scenario, const lud_empo_solution *solution, bool json,
                         lud_error *error) {
    lud_empo_layout layout;
    lud_status status = lud_empo_layout_find(scenario->model, &layout, error);
    if (status) return status;
    const double *start = lud_empo_solution_record(solution, 0);
    if (!json) {
        printf("at the start ");
        lud_empo_report_print(scenario->model, &layout, start, stdout);
        return lud_flush_output(error);
    }
    json_t *root = lud_empo_report_json(scenario->model, &layout, start);
    return lud_print_json(root, error);
}

/* Into `json`, an object, or printed when it is null. */
static lud_status show_measures(lud_learner *learner, uint64_t iterations, json_t *json, lud_error *error) {
    const int n = learner->n_evaluation_columns;
    double *row = malloc(((size_t)n + 1) * sizeof *row);
    if (!row) return lud_fail(error, LUD_ERROR_MEMORY, "no memory for measures");
    for (int i = 0; i < n; i++) row[i] = NAN;
    lud_status status = learner->kind->evaluate ? learner->kind->evaluate(learner, row, error) : LUD_OK;
    if (status == LUD_OK && json) {
        json_object_set_new(json, "learner", json_string(learner->kind->name));
        json_object_set_new(json, "iterations", json_integer((json_int_t)iterations));
        for (int i = 0; i < n; i++)
            json_object_set_new(json, learner->evaluation_columns[i].name,
                                isnan(row[i]) ? json_null() : json_real(row[i]));
    } else if (status == LUD_OK) {
        lud_text report = {0};
        if (learner->kind->report) learner->kind->report(learner, &report);
        printf("learner %s after %llu iterations\n\n%s", learner->kind->name, (unsigned long long)iterations,
               report.bytes ? report.bytes : "");
        for (int i = 0; !report.bytes && i < n; i++)
            printf("%-32s %12.6g   %s\n", learner->evaluation_columns[i].name, row[i],
                   learner->evaluation_columns[i].help);
        lud_text findings = {0};
        if (learner->kind->inspect) status = learner->kind->inspect(learner, &findings, error);
        if (findings.bytes) fputs(findings.bytes, stdout);
        lud_text_free(&findings);
        lud_text_free(&report);
        if (status == LUD_OK) status = lud_flush_output(error);
    }
    free(row);
    return status;
}

/* The learner's own measures of a trained RUN. */
static lud_status measure(const char *run, const lud_scenario *scenario, json_t *json, lud_error *error) {
    lud_learned learned;
    lud_status status = lud_learned_open(run, scenario, "auto", NULL, &learned, error);
    if (!status) status = show_measures(learned.learner, learned.iterations, json, error);
    lud_learned_close(&learned);
    return status;
}

/* A policy that was trained in a team of another size: episodes of the scenario as it is now. */
static lud_status measure_transferred(const char *folder, const lud_scenario *trained,
                                      const lud_scenario *scenario, int64_t episodes, json_t *json,
                                      lud_error *error) {
    lud_cast *cast;
    lud_rollout result = {0};
    lud_status status = lud_cast_open(folder, scenario, &cast, error);
    if (status) return status;
    status = lud_rollout_run(scenario, cast, episodes, 0, NULL, &result, error);
    if (!status) {
        double sum = 0.0;
        for (int i = 0; i < result.n_agents; i++)
            sum += result.agents[i].episode_return.mean / result.n_agents;
        const int trained_for = trained->model->layout.n_agents;
        if (json) {
            json_object_set_new(json, "trained_agents", json_integer(trained_for));
            json_object_set_new(json, "agents", json_integer(result.n_agents));
            json_object_set_new(json, "episodes", json_integer((json_int_t)result.episodes));
            json_object_set_new(json, "return", json_real(sum));
            json_object_set_new(json, "measures", lud_rollout_measures_json(&result));
        } else {
            printf(
                "the policy of %d agents in a team of %d, %lld episodes\n\n%-12s %10.3f   mean over agents\n",
                trained_for, result.n_agents, (long long)result.episodes, "return", sum);
            lud_rollout_print_measures(&result);
        }
    }
    lud_rollout_free(&result);
    lud_cast_destroy(cast);
    return status;
}

static lud_status eval_solution(const lud_scenario *scenario, const char *folder, const eval_values *values,
                                lud_error *error) {
    lud_empo_solution *solution = NULL;
    lud_status status = lud_solved_require(folder, &solution, error);
    if (!status)
        status = values->policy ? evaluate(scenario, solution, values, error)
                                : report(scenario, solution, values->json, error);
    lud_empo_solution_close(solution);
    return status;
}

static lud_status eval_ranking(const lud_scenario *scenario, const char *folder, const eval_values *values,
                               lud_error *error) {
    if (values->policy)
        return lud_fail(error, LUD_ERROR_INPUT, "--policy evaluates policies of solved worlds only");
    return lud_proof_report_ranking(scenario, folder, values->split, values->queries, values->json, error);
}

static lud_status eval_learner(const lud_scenario *scenario, const char *folder, const eval_values *values,
                               lud_error *error) {
    if (values->policy)
        return lud_fail(
            error, LUD_ERROR_INPUT,
            "--policy evaluates within a solved RUN; %s was trained, `ludus solve` its scenario first",
            folder);
    lud_scenario_flags plain = values->scenario;
    plain.set.n = 0;
    lud_scenario *trained;
    lud_status status = lud_scenario_open(folder, &plain, &trained, error);
    if (status) return status;
    const bool transferred = trained->model->layout.n_agents != scenario->model->layout.n_agents;
    json_t *json = values->json ? json_object() : NULL;
    if (values->json && !json) status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory");
    if (!status)
        status = transferred ? measure_transferred(folder, trained, scenario,
                                                   values->episodes ? values->episodes : 100, json, error)
                 : values->episodes
                     ? lud_fail(error, LUD_ERROR_INPUT,
                                "--episodes is for a team of another size; what the learner itself plays is "
                                "set with --set learner.evaluation_episodes=N")
                     : measure(folder, scenario, json, error);
    if (!status && lud_stability_applies(trained)) {
        status = lud_stability_report(trained, folder, &values->scenario, values->against, values->plot, json,
                                      error);
    } else if (!status && (values->against || values->plot)) {
        status = lud_fail(error, LUD_ERROR_INPUT,
                          "--plot and --against draw the closed loop of graph-mappo in worlds with goals");
    }
    if (!status && json)
        status = lud_print_json(json_incref(json), error);
    else if (!status)
        status = lud_flush_output(error);
    json_decref(json);
    lud_scenario_destroy(trained);
    return status;
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const eval_values *values = data;
    lud_scenario *scenario;
    lud_status status = lud_scenario_open(arguments[0], &values->scenario, &scenario, error);
    if (status) return status;
    /* which evaluation a run gets: by the file that its learner leaves, the exact solution last */
    if (lud_proof_run_is(scenario, arguments[0]))
        status = eval_ranking(scenario, arguments[0], values, error);
    else if (is_trained(arguments[0]))
        status = eval_learner(scenario, arguments[0], values, error);
    else
        status = eval_solution(scenario, arguments[0], values, error);
    lud_scenario_destroy(scenario);
    return status;
}

const lud_verb lud_verb_eval = {
    .name = "eval",
    .about = "the learner's own figures of a RUN; evaluates other policies exactly",
    .arguments = "RUN",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .n_flags = sizeof flags / sizeof *flags,
    .value_bytes = sizeof(eval_values),
    .set_defaults = set_defaults,
    .notes =
        "With --policy the robots of the solved world follow another policy and its exact value, its "
        "regret and\n"
        "each person's power under it are printed; people act as in the solution's theory. A policy that "
        "remembers\n"
        "(a recurrent network) is played instead: its value is an estimate with an interval.\n\n"
        "For a run of proof-ppo the test queries are ranked among corruptions; its settings stand "
        "under\n"
        "learner.evaluation (--set learner.evaluation.beam=10).\n\n"
        "example: ludus eval runs/door --policy random\n",
    .run = run};
