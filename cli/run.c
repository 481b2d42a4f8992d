#include <inttypes.h>
#include <jansson.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/rollout_report.h"
#include "learn/learner.h"

typedef struct run_values {
    lud_scenario_flags scenario;
    int64_t steps, beam, answers;
    const char *policy, *query;
    bool json, quiet;
} run_values;

#define FLAGS run_values
static const lud_flag flags[] = {
    LUD_BATCH_FLAG_ROWS(scenario),
    INT_FLAG("steps", 0, steps, 0, 1e18, "N", "stop after N environment steps in all; 0: no limit"),
    TEXT_FLAG("query", 0, query, "ATOM", "proof, with a RUN: what its variables may stand for, and proofs"),
    INT_FLAG("answers", 0, answers, 1, 100000, "N",
             "of a --query with variables that are shown, each with a proof (3)"),
    INT_FLAG("beam", 0, beam, 1, 4096, "N", "paths that the search for --query follows side by side (32)"),
    TEXT_FLAG("policy", 0, policy, "RUN", "agents follow the policy trained in this run"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    SWITCH_FLAG("json", 'j', json, "results as JSON on standard output"),
    SWITCH_FLAG("quiet", 'q', quiet, "no progress line"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((run_values *)values)->scenario);
}

static const char *const role_names[] = {"other", "human", "robot"};

static void print_table(const lud_scenario *s, const lud_cast *cast, const lud_rollout *r) {
    char count[16], rate[16], time[24];
    printf("%s (%s), seed %" PRId64 ", %d environments\n\n", s->name, s->world->name, s->run.seed, r->n_envs);
    double episodes = r->episodes ? (double)r->episodes : 1;
    printf("episodes     %12" PRId64 "\n", r->episodes);
    printf("length       %12.1f ± %.1f steps\n", r->length.mean, lud_mean_deviation(&r->length));
    printf("terminated   %11.1f%%\n", 100 * (double)r->terminated / episodes);
    printf("truncated    %11.1f%%\n", 100 * (double)r->truncated / episodes);
    printf("speed        %12s steps/s (%s steps in %s)\n\n",
           lud_format_count(r->seconds > 0 ? (double)r->steps / r->seconds : 0, rate),
           lud_format_count((double)r->steps, count), lud_format_seconds(r->seconds, time));
    printf("agent  role   policy      return per episode     goals reached per episode\n");
    for (int i = 0; i < r->n_agents; i++) {
        const lud_agent_result *a = &r->agents[i];
        printf("%5d  %-5s  %-10s %10.3f ± %-10.3f", i, role_names[s->model->layout.roles[i]],
               lud_cast_get(cast, i)->kind->name, a->episode_return.mean,
               lud_mean_deviation(&a->episode_return));
        if (a->has_goals)
            printf(" %10.3f ± %.3f\n", a->goals.mean, lud_mean_deviation(&a->goals));
        else
            printf(" %10s\n", "-");
    }
    bool measured = false;
    for (int k = 0; k < r->layout->n_measures; k++) measured |= !r->layout->measures[k].absent;
    if (measured) printf("\n");
    lud_rollout_print_measures(r);
}

static lud_status print_json(const lud_scenario *s, const lud_cast *cast, const lud_rollout *r,
                             lud_error *error) {
    json_t *agents = json_array();
    for (int i = 0; i < r->n_agents; i++) {
        const lud_agent_result *a = &r->agents[i];
        json_array_append_new(agents, json_pack("{s:i, s:s, s:s, s:o, s:o}", "agent", i, "role",
                                                role_names[s->model->layout.roles[i]], "policy",
                                                lud_cast_get(cast, i)->kind->name, "return",
                                                lud_mean_json(&a->episode_return), "goals_reached",
                                                a->has_goals ? lud_mean_json(&a->goals) : json_null()));
    }
    double episodes = r->episodes ? (double)r->episodes : 1;
    json_t *root = json_pack(
        "{s:s, s:s, s:I, s:i, s:I, s:I, s:f, s:f, s:f, s:o, s:o, s:o}", "scenario", s->name, "world",
        s->world->name, "seed", (json_int_t)s->run.seed, "environments", r->n_envs, "episodes",
        (json_int_t)r->episodes, "steps", (json_int_t)r->steps, "seconds", r->seconds, "terminated",
        (double)r->terminated / episodes, "truncated", (double)r->truncated / episodes, "length",
        lud_mean_json(&r->length), "agents", agents, "measures", lud_rollout_measures_json(r));
    return lud_print_json(root, error);
}

static lud_status answer_query(const char *folder, const run_values *values, lud_error *error) {
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_open(folder, &values->scenario, &scenario, error));
    lud_report report = {0};
    const lud_report_request request = {.folder = folder,
                                        .scenario = scenario,
                                        .query = values->query,
                                        .width = values->beam ? values->beam : LUD_QUERY_WIDTH,
                                        .answers = values->answers ? values->answers : LUD_QUERY_ANSWERS,
                                        .json = values->json};
    const lud_status status = lud_run_query(&request, &report, error);
    if (status == LUD_ERROR_INPUT) (void)lud_fail_context(error, "--query");
    lud_scenario_destroy(scenario);
    return lud_print_report(status, &report, error);
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    (void)n_arguments;
    const run_values *values = data;
    if (values->query && (values->policy || values->steps))
        return lud_invalid(error, "%s: says nothing to --query", values->policy ? "--policy" : "--steps");
    if (!values->query && (values->beam || values->answers))
        return lud_invalid(error, "%s: is about --query", values->beam ? "--beam" : "--answers");
    if (values->query) return answer_query(arguments[0], values, error);
    lud_run opened;
    lud_rollout result = {0};
    LUD_TRY(lud_run_open_with(arguments[0], &values->scenario, values->policy, &opened, error));
    bool show = !values->quiet && isatty(fileno(stderr));
    lud_status status = lud_rollout_run(opened.scenario, opened.cast, opened.scenario->run.episodes,
                                        (uint64_t)values->steps, show ? stderr : NULL, &result, error);
    /* what was finished before an interruption is worth showing */
    if (status == LUD_OK || status == LUD_INTERRUPTED) {
        lud_error ignored = {0};
        lud_status printed = LUD_OK;
        if (values->json)
            printed = print_json(opened.scenario, opened.cast, &result, status ? &ignored : error);
        else
            print_table(opened.scenario, opened.cast, &result);
        if (!status) status = printed;
    }
    lud_rollout_free(&result);
    lud_run_close(&opened);
    return status;
}

const lud_verb lud_verb_run = {
    .name = "run",
    .about = "run a scenario headless and print a results table",
    .arguments = "SCENARIO|RUN",
    .min_arguments = 1,
    .max_arguments = 1,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .notes =
        "Who acts is said under `policies:` in the scenario, a RUN as `{type: run, run: FOLDER}`; the\n"
        "defaults of --episodes, --envs, --seed and --threads stand under `run:` there. The same seed gives\n"
        "the same results for any number of threads.\n"
        "Ctrl-C prints what was finished. In a RUN of `ludus solve` everybody acts on the solution.\n\n"
        "example: ludus run scenarios/multigrid/rescue.yaml --episodes 1000 --set policies.robot=random\n",
    .run = run};
