#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/progress.h"
#include "cli/cli.h"
#include "cli/cross/cross_report.h"
#include "cli/rollout_report.h"
#include "learn/learner.h"
#include "learn/runs/run.h"
#include "render/plots/plot.h"

typedef struct eval_values {
    lud_scenario_flags scenario;
    const char *policy, *split, *against, *plot, *sides, *output;
    int64_t queries, episodes;
    bool json, cross;
} eval_values;

#define FLAGS eval_values
static const lud_flag flags[] = {
    TEXT_FLAG(
        "policy", 'p', policy, "POLICY",
        "robot policy to evaluate: a kind (random), its options ({type: weighted, ...}) or another RUN"),
    TEXT_FLAG("split", 0, split, "LIST", "proof: queries to rank, valid or test (test)"),
    INT_FLAG("queries", 0, queries, 0, 1e9, "N", "proof: the first N queries; 0: all (500)"),
    INT_FLAG(
        "episodes", 0, episodes, 1, 1e9, "N",
        "to play: of the learner's own evaluation (learner.evaluation_episodes), or (100) for a policy that "
        "remembers, in a team of another size than it was trained in, of each pairing of --cross"),
    SWITCH_FLAG("cross", 'x', cross,
                "cross-play: who plays which role against whom, of all these RUNs and policies, in the "
                "scenario of the first"),
    TEXT_FLAG("sides", 0, sides, "A,B+C",
              "--cross: who plays together, by kind, team, role or number of agents (each kind a side)"),
    TEXT_FLAG("output", 'o', output, "FILE", "--cross: also a table, .csv or .md"),
    TEXT_FLAG("plot", 0, plot, "FILE",
              "of policies that approach goals: draw the closed loop's error norms into a PNG file"),
    TEXT_FLAG("against", 0, against, "RUN",
              "of policies that approach goals: another run to compare the closed loop with"),
    LUD_SCENARIO_FLAG_ROWS(scenario),
    LUD_PRECISION_FLAG_ROW(scenario),
    SWITCH_FLAG("json", 'j', json, "results as JSON on standard output"),
};

static void set_defaults(void *values) {
    lud_scenario_flags_default(&((eval_values *)values)->scenario);
    ((eval_values *)values)->queries = -1;
}

/* Which parameters of the run it is about, and why these. */
static void show_kept(const char *learner, const lud_kept *kept, json_t *json) {
    if (!json) {
        lud_text text = {0};
        lud_kept_print(kept, &text);
        printf("learner %s, parameters of %s\n\n", learner, text.bytes ? text.bytes : "");
        lud_text_free(&text);
        return;
    }
    json_object_set_new(json, "learner", json_string(learner));
    json_object_set_new(json, "iterations", json_integer((json_int_t)kept->iteration));
    if (!kept->scored) return;
    json_object_set_new(json, "best_by", json_string(kept->column));
    json_object_set_new(json, "best_score", json_real(kept->score));
    json_object_set_new(json, "best_score_is_mean_of", json_integer((json_int_t)kept->over));
}

/* The same of a RUN whose kind reports on it without its learner. */
static lud_status show_kept_of(const lud_learner_kind *kind, const char *run, json_t *json,
                               lud_error *error) {
    lud_checkpoint *parameters;
    lud_kept kept = {0};
    LUD_TRY(lud_run_parameters(run, kind->name, NULL, &parameters, &kept, error));
    lud_checkpoint_destroy(parameters);
    show_kept(kind->name, &kept, json);
    return LUD_OK;
}

/* Says how far it is where that takes long. */
static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    lud_progress progress;
    if (!learner->kind->evaluate) return LUD_OK;
    lud_progress_start(&progress, stderr, learner->kind->name, "evaluations", 1);
    learner->progress = &progress;
    const lud_status status = learner->kind->evaluate(learner, row, error);
    learner->progress = NULL;
    const bool shown = progress.last_shown > progress.started;
    lud_progress_note(&progress, "%s", "");
    if (status == LUD_OK) progress.done = 1;
    if (shown) lud_progress_finish(&progress); /* also before an error, which begins a line of its own */
    return status;
}

/* Into `json`, an object, or printed when it is null. */
static lud_status show_measures(lud_learner *learner, const lud_kept *kept, json_t *json, lud_error *error) {
    const int n = learner->n_evaluation_columns;
    double *row = malloc(((size_t)n + 1) * sizeof *row);
    if (!row) return lud_no_memory(error, "measures");
    for (int i = 0; i < n; i++) row[i] = NAN;
    lud_status status = evaluate(learner, row, error);
    if (status == LUD_OK) show_kept(learner->kind->name, kept, json);
    if (status == LUD_OK && json) {
        for (int i = 0; i < n; i++)
            json_object_set_new(json, learner->evaluation_columns[i].name,
                                isnan(row[i]) ? json_null() : json_real(row[i]));
    } else if (status == LUD_OK) {
        lud_text report = {0};
        if (learner->kind->report) learner->kind->report(learner, &report);
        if (report.bytes) fputs(report.bytes, stdout);
        for (int i = 0; !report.bytes && i < n; i++) /* what this world does not measure is left out */
            if (!isnan(row[i]))
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
    if (!status) status = show_measures(learned.learner, &learned.kept, json, error);
    lud_learned_close(&learned);
    return status;
}

/* A policy that was trained in a team of another size: episodes of the scenario as it is now. */
static lud_status measure_transferred(const char *folder, const lud_scenario *trained,
                                      const lud_scenario *scenario, int64_t episodes, json_t *json,
                                      lud_error *error) {
    lud_cast *cast;
    lud_rollout result = {0};
    LUD_TRY(lud_run_cast(folder, scenario, &cast, error));
    lud_status status = lud_rollout_run(scenario, cast, episodes, 0, NULL, &result, error);
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

/* The learner's own measures, over so many episodes. */
static lud_status measure_episodes(const lud_learner_kind *kind, const char *folder,
                                   const eval_values *values, json_t *json, lud_error *error) {
    if (!(kind->honours & LUD_HONOURS_EVALUATION_EPISODES))
        return lud_invalid(error, "--episodes means nothing for a run of %s, as %s is", kind->name, folder);
    const struct lud_scenario_number number = {
        .source = "--episodes", .path = "learner.evaluation_episodes", .value = (double)values->episodes};
    lud_scenario_flags wanted = values->scenario;
    wanted.numbers = &number;
    wanted.n_numbers = 1;
    lud_scenario *scenario;
    LUD_TRY(lud_scenario_open(folder, &wanted, &scenario, error));
    scenario->ranks = lud_processes();
    const lud_status status = measure(folder, scenario, json, error);
    lud_scenario_destroy(scenario);
    return status;
}

/* The learner's own evaluation of the RUN; into `json`, an object, or printed when it is null. */
static lud_status eval_learner(const lud_learner_kind *kind, const lud_scenario *scenario, const char *folder,
                               const eval_values *values, json_t *json, lud_error *error) {
    lud_scenario_flags plain = values->scenario;
    plain.set.n = 0;
    lud_scenario *trained;
    lud_status status = lud_scenario_open(folder, &plain, &trained, error);
    if (status) return status;
    if (trained->model->layout.n_agents != scenario->model->layout.n_agents)
        status = measure_transferred(folder, trained, scenario, values->episodes ? values->episodes : 100,
                                     json, error);
    else if (values->episodes)
        status = measure_episodes(kind, folder, values, json, error);
    else
        status = measure(folder, scenario, json, error);
    lud_scenario_destroy(trained);
    return status;
}

/* Whether the kind's own report stands for its learner's evaluation. */
static bool reports_all(const lud_learner_kind *kind) {
    return kind->evaluate_run && !kind->adds_to_evaluation;
}

/* The learner's evaluation, the kind's own report, or both; of another policy the kind alone reports. */
static lud_status eval_kind(const lud_learner_kind *kind, const lud_scenario *scenario, const char *folder,
                            const eval_values *values, lud_error *error) {
    lud_scenario_overrides overrides;
    lud_status status = lud_scenario_flags_overrides(&values->scenario, &overrides, error);
    const lud_report_request request = {.folder = folder,
                                        .scenario = scenario,
                                        .overrides = &overrides,
                                        .json = values->json,
                                        .curves = values->plot,
                                        .against = values->against,
                                        .policy = values->policy,
                                        .split = values->split,
                                        .n_queries = values->queries,
                                        .episodes = values->episodes};
    lud_report report = {0};
    json_t *json = values->json ? json_object() : NULL;
    if (!status && values->json && !json) status = lud_out_of_memory(error);
    if (!status && !reports_all(kind) && !values->policy)
        status = eval_learner(kind, scenario, folder, values, json, error);
    if (!status && reports_all(kind) && kind->create) status = show_kept_of(kind, folder, json, error);
    if (!status && kind->evaluate_run) status = kind->evaluate_run(&request, &report, error);
    const bool silent = !report.text.bytes && !json_object_size(report.json);
    if (!status && (report.text.failed ||
                    (json && (report.json ? json_object_update(json, report.json) : reports_all(kind)))))
        status = lud_out_of_memory(error);
    lud_print_text(&report.text); /* also what was found before it failed */
    if (!status && silent && (values->plot || values->against))
        status = lud_invalid(error,
                             "--plot and --against draw the closed loop of graph-mappo in worlds with goals");
    if (!status && values->plot)
        status =
            lud_plot_write(values->plot, report.panels, report.n_panels, 900, 720, 2, LUD_THEME_LIGHT, error);
    if (!status && values->plot && !json) printf("\n%s written\n", values->plot);
    if (!status) status = json ? lud_print_json(json_incref(json), error) : lud_flush_output(error);
    json_decref(json);
    json_decref(report.json);
    lud_arena_destroy(report.arena);
    return status;
}

/* A flag that the kind cannot honour is an error. */
static lud_status check_flags(const lud_learner_kind *kind, const char *folder, const eval_values *values,
                              lud_error *error) {
    const struct {
        const char *name;
        bool given;
        int bit;
    } asked[] = {{"--policy", values->policy, LUD_HONOURS_POLICY},
                 {"--split", values->split, LUD_HONOURS_SPLIT},
                 {"--queries", values->queries >= 0, LUD_HONOURS_QUERIES},
                 {"--episodes", values->episodes && reports_all(kind), LUD_HONOURS_EPISODES},
                 {"--plot", values->plot && reports_all(kind), LUD_HONOURS_CURVES},
                 {"--against", values->against && reports_all(kind), LUD_HONOURS_AGAINST}};
    if (lud_processes() && !(kind->honours & LUD_HONOURS_PROCESSES))
        return lud_invalid(error, "a run of %s is evaluated by one process; %d were started", kind->name,
                           lud_ranks_size(lud_processes()));
    if (values->plot) {
        LUD_TRY(lud_plot_check_path(values->plot, error));
    }
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (!asked[i].given || kind->honours & asked[i].bit) continue;
        if (asked[i].bit != LUD_HONOURS_POLICY)
            return lud_invalid(error, "%s means nothing for a run of %s, as %s is", asked[i].name, kind->name,
                               folder);
        return reports_all(kind)
                   ? lud_invalid(error, "--policy evaluates policies of solved worlds only")
                   : lud_invalid(error,
                                 "--policy evaluates within a solved RUN; %s was trained, `ludus solve` its "
                                 "scenario first",
                                 folder);
    }
    return LUD_OK;
}

/* Whose report it is: the RUN's; of a scenario that of its learner, where another policy is evaluated and
 * nothing of a RUN is needed for it. */
static lud_status kind_of(const char *path, const lud_scenario *scenario, const eval_values *values,
                          const lud_learner_kind **kind, lud_error *error) {
    if (values->policy && scenario->learner && !lud_run_is(path)) {
        LUD_TRY(lud_learner_kind_of(scenario, kind, error));
        if ((*kind)->honours & LUD_HONOURS_POLICY_ALONE) return LUD_OK;
    }
    return lud_run_kind(path, scenario, kind, error);
}

static lud_status run_cross(const eval_values *values, const char *const *arguments, int n_arguments,
                            lud_error *error) {
    const char *const other = values->policy         ? "--policy"
                              : values->split        ? "--split"
                              : values->queries >= 0 ? "--queries"
                              : values->plot         ? "--plot"
                              : values->against      ? "--against"
                                                     : NULL;
    if (other) return lud_invalid(error, "%s says nothing to --cross", other);
    const lud_cross_request request = {.players = arguments,
                                       .n_players = n_arguments,
                                       .scenario = &values->scenario,
                                       .sides = values->sides,
                                       .output = values->output,
                                       .episodes = values->episodes,
                                       .json = values->json};
    return lud_cross_report(&request, error);
}

static lud_status run(void *data, const char *const *arguments, int n_arguments, lud_error *error) {
    const eval_values *values = data;
    lud_scenario *scenario;
    if (values->cross) return run_cross(values, arguments, n_arguments, error);
    if (n_arguments > 1 || values->sides || values->output)
        return lud_invalid(error, "%s: expected --cross with it",
                           n_arguments > 1 ? "several RUNs"
                           : values->sides ? "--sides"
                                           : "--output");
    LUD_TRY(lud_scenario_open(arguments[0], &values->scenario, &scenario, error));
    scenario->ranks = lud_processes();
    const lud_learner_kind *kind = NULL;
    lud_status status = kind_of(arguments[0], scenario, values, &kind, error);
    if (!status) status = check_flags(kind, arguments[0], values, error);
    if (!status) status = eval_kind(kind, scenario, arguments[0], values, error);
    lud_scenario_destroy(scenario);
    return status;
}

const lud_verb lud_verb_eval = {
    .name = "eval",
    .about = "the learner's own figures of a RUN; evaluates other policies exactly",
    .arguments = "RUN...",
    .min_arguments = 1,
    .max_arguments = 64,
    VERB_FLAGS,
    .set_defaults = set_defaults,
    .over_processes = true,
    .notes =
        "With --policy the robots of the solved world follow another policy and its exact value, its "
        "regret and\n"
        "each person's power under it are printed; people act as in the solution's theory. A policy that "
        "remembers\n"
        "(a recurrent network) is played instead: its value is an estimate with an interval.\n\n"
        "Of a RUN of empo-phase2, whose world may be too large to be solved, --policy plays episodes with\n"
        "robots that follow it (a kind, or a RUN, also this one) and prints how many goals each person "
        "reaches\n"
        "and the power that people have on their own afterwards, with intervals; of the scenario of one "
        "too.\n\n"
        "For a run of proof-ppo the test queries are ranked among corruptions; its settings stand "
        "under\n"
        "learner.evaluation (--set learner.evaluation.beam=10).\n\n"
        "With --cross every RUN plays every side of the first one's scenario against every other; behind a\n"
        "RUN may also stand policies, as `random` or '{type: villager, craft: raider}', and in its place a\n"
        "scenario. Intervals are bootstrapped over episodes, which have the same seeds in every pairing. A "
        "folder\n"
        "that holds several RUNs (one training with other seeds) is one player: all of them play, and "
        "intervals\n"
        "are over trainings.\n\n"
        "example: ludus eval runs/key --policy random\n"
        "         ludus eval runs/rooms --policy runs/rooms --episodes 200\n"
        "         ludus eval runs/a runs/b random --cross\n",
    .run = run};
