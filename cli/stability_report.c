#include "cli/stability_report.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/history.h"
#include "learn/learner.h"
#include "learn/mappo/stability.h"
#include "render/plot.h"

enum { N_STEPS = 200, N_SHOWN = 6, MOST_LOOPS = 16, MOST_CURVES = 8 };
static const int shown[N_SHOWN] = {0, 10, 25, 50, 99, 199};
static const int teams[] = {3, 5, 7, 10};
enum { N_TEAMS = sizeof teams / sizeof *teams };

/* One curve of error norms. */
typedef struct curve {
    char name[64];
    int n_agents;
    double error_norm[N_STEPS + 1];
    lud_mappo_loop loop;
    bool judged;
} curve;

typedef struct report {
    const lud_scenario *trained;
    const char *folder;
    const lud_scenario_flags *flags;
    curve curves[MOST_LOOPS];
    int n;
} report;

bool lud_stability_applies(const lud_scenario *scenario) {
    const lud_learner_kind *kind = NULL;
    lud_error ignored = {0};
    return scenario->learner && !lud_learner_kind_of(scenario, &kind, &ignored) &&
           kind == &lud_mappo_learner && lud_mappo_has_goals(scenario->model);
}

/* Runs one loop with a team of n agents (0: as many as the scenario has) and keeps its curve. */
static lud_status run(report *r, const char *name, int n_agents, const lud_mappo_play *play, bool judged,
                      lud_error *error) {
    curve *c = &r->curves[r->n];
    lud_scenario_flags flags = *r->flags;
    char set[48];
    snprintf(set, sizeof set, "particle.agents=%d", n_agents);
    if (n_agents > 0) {
        assert(flags.set.n < LUD_FLAG_LIST_ITEMS); /* else the sizes do not vary (sizes_vary) */
        flags.set.items[flags.set.n++] = set;
    }
    lud_scenario *scenario;
    lud_status status = lud_scenario_open(r->folder, &flags, &scenario, error);
    if (status) return status;
    *c = (curve){.n_agents = scenario->model->layout.n_agents, .judged = judged};
    snprintf(c->name, sizeof c->name, "%s", name);
    c->loop.error_norm = c->error_norm;
    status = lud_mappo_run_loop(r->trained, scenario, play, N_STEPS, &c->loop, error);
    lud_scenario_destroy(scenario);
    if (!status) r->n++;
    return status;
}

static void print_curve(const curve *c) {
    printf("%6d  %-20s", c->n_agents, c->name);
    for (int k = 0; k < N_SHOWN; k++) printf(" %8.4f", c->error_norm[shown[k]]);
    printf(" %6d\n", c->loop.n_held);
}

/* --- the picture --- */

static lud_status draw(const report *mine, const report *other, const char *plot, lud_error *error) {
    double time[N_STEPS + 1];
    for (int t = 0; t <= N_STEPS; t++) time[t] = t;
    enum { RED, GREEN, BLUE, PURPLE, YELLOW, GREY, BROWN };
    static const int team_colours[] = {BLUE, GREEN, PURPLE, RED};
    lud_plot_curve loops[MOST_CURVES], sizes[MOST_CURVES], training[2];
    char names[MOST_LOOPS][128];
    int n_loops = 0, n_sizes = 0, n_training = 0;
    const struct {
        const report *r;
        const char *name;
        int colour;
    } runs[] = {{mine, lud_run_name(mine->folder), BLUE},
                {other, other ? lud_run_name(other->folder) : NULL, RED}};
    for (int k = 0, named = 0; k < 2; k++)
        for (int i = 0; runs[k].r && i < runs[k].r->n && n_loops < MOST_CURVES; i++) {
            const curve *c = &runs[k].r->curves[i];
            if (c->judged) continue;
            snprintf(names[named], sizeof names[named], "%s, %s", runs[k].name, c->name);
            loops[n_loops++] = (lud_plot_curve){.name = names[named++],
                                                .x = time,
                                                .y = c->error_norm,
                                                .n = 101,
                                                .colour = strstr(c->name, "away") ? PURPLE : runs[k].colour,
                                                .faint = strstr(c->name, "untrained") != NULL};
        }
    char team_names[N_TEAMS][24];
    for (int i = 0; i < mine->n && n_sizes < MOST_CURVES; i++) {
        const curve *c = &mine->curves[i];
        const bool away = strstr(c->name, "away") != NULL;
        if (!c->judged) continue;
        int k = 0;
        while (k < N_TEAMS - 1 && teams[k] != c->n_agents) k++;
        snprintf(team_names[k], sizeof team_names[k], "%d agents", c->n_agents);
        sizes[n_sizes++] = (lud_plot_curve){.name = away ? NULL : team_names[k],
                                            .x = time,
                                            .y = c->error_norm,
                                            .n = 101,
                                            .colour = team_colours[k],
                                            .faint = away};
    }
    lud_arena *arena = lud_arena_create(0);
    if (!arena) return lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a plot");
    lud_history h[2] = {{0}};
    lud_status status = lud_history_read(arena, mine->folder, "error", &h[0], error);
    if (!status && other) status = lud_history_read(arena, other->folder, "error", &h[1], error);
    for (int k = 0; k < 2; k++)
        if (h[k].n > 0)
            training[n_training++] = (lud_plot_curve){.name = runs[k].name,
                                                      .x = h[k].steps,
                                                      .y = h[k].value,
                                                      .n = h[k].n,
                                                      .colour = runs[k].colour};
    lud_plot_panel panels[3] = {{"Error norm of the closed loop", "step", loops, n_loops}};
    int n = 1;
    if (n_sizes > 0)
        panels[n++] = (lud_plot_panel){"Teams of other sizes (pale: worst)", "step", sizes, n_sizes};
    if (n_training > 0)
        panels[n++] = (lud_plot_panel){"Error at the ends of episodes, in training", "environment steps",
                                       training, n_training};
    if (!status) status = lud_plot_write(plot, panels, n, 900, 720, 2, LUD_THEME_LIGHT, error);
    lud_arena_destroy(arena);
    return status;
}

/* --- the report --- */

/* Teams of other sizes, for tasks that have the parameter `agents`. */
static lud_status run_teams(report *r, bool magnitude, lud_error *error) {
    for (int k = 0; k < N_TEAMS; k++)
        for (int away = 0; away <= magnitude; away++) {
            const lud_mappo_play play = {.folder = r->folder,
                                         .deterministic = true,
                                         .directions = away ? LUD_DIRECTIONS_AWAY : LUD_DIRECTIONS_POLICY};
            lud_status status = run(r, away ? "away from goals" : "trained", teams[k], &play, true, error);
            if (status) return status;
        }
    return LUD_OK;
}

static bool sizes_vary(const lud_scenario_flags *flags, const char *folder) {
    lud_scenario_flags other = *flags;
    lud_scenario *scenario = NULL;
    lud_error ignored = {0};
    if (other.set.n == LUD_FLAG_LIST_ITEMS) return false;
    other.set.items[other.set.n++] = "particle.agents=3";
    const bool varies = lud_scenario_open(folder, &other, &scenario, &ignored) == LUD_OK;
    if (varies) lud_scenario_destroy(scenario);
    return varies;
}

/* The same policy in teams of other sizes follows; `magnitude` needs a loop to have been run. */
static lud_status run_all(report *r, bool teams_too, lud_error *error) {
    lud_status status = run(r, "untrained", 0, &(lud_mappo_play){.deterministic = true}, false, error);
    if (!status)
        status =
            run(r, "trained", 0, &(lud_mappo_play){.folder = r->folder, .deterministic = true}, false, error);
    if (status) return status;
    const bool magnitude = !isnan(r->curves[0].loop.largest_eigenvalue);
    if (magnitude)
        status = run(r, "away from goals", 0,
                     &(lud_mappo_play){.folder = r->folder, .directions = LUD_DIRECTIONS_AWAY}, false, error);
    if (!status && teams_too && sizes_vary(r->flags, r->folder)) status = run_teams(r, magnitude, error);
    return status;
}

static void print_loops(const report *r) {
    const lud_mappo_loop *trained = &r->curves[1].loop;
    printf("\n%s\n", r->folder);
    if (!isnan(trained->largest_eigenvalue))
        printf("largest |lambda|   %.6f\ngain bound         %.4g\n", trained->largest_eigenvalue,
               trained->gain_bound);
    printf("agents  %-20s", "directions      t =");
    for (int k = 0; k < N_SHOWN; k++) printf(" %8d", shown[k]);
    printf("   held\n");
    for (int i = 0; i < r->n; i++) print_curve(&r->curves[i]);
}

static bool is_stable(const report *r) {
    if (!(r->curves[1].loop.largest_eigenvalue < 1.0)) return false;
    for (int i = 1; i < r->n; i++) /* the first is untrained */
        if (!lud_mappo_loop_falls(&r->curves[i].loop)) return false;
    return true;
}

/* null when it is not finite */
static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *curve_json(const curve *c) {
    json_t *norms = json_array();
    for (int t = 0; t <= N_STEPS; t++) json_array_append_new(norms, number(c->error_norm[t]));
    return json_pack("{s:i, s:s, s:i, s:o, s:o, s:o, s:o, s:b}", "agents", c->n_agents, "directions", c->name,
                     "held", c->loop.n_held, "free_start", number(c->loop.free_start), "free_end",
                     number(c->loop.free_end), "largest", number(c->loop.largest), "error_norm", norms,
                     "falls", lud_mappo_loop_falls(&c->loop));
}

static json_t *report_json(const report *r, bool verdict) {
    const lud_mappo_loop *trained = &r->curves[1].loop;
    json_t *loops = json_array();
    for (int i = 0; i < r->n; i++) json_array_append_new(loops, curve_json(&r->curves[i]));
    json_t *stable =
        verdict && !isnan(trained->largest_eigenvalue) ? json_boolean(is_stable(r)) : json_null();
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "run", r->folder, "environments",
                     LUD_MAPPO_LOOP_ENVIRONMENTS, "largest_eigenvalue", number(trained->largest_eigenvalue),
                     "gain_bound", number(trained->gain_bound), "stable", stable, "loops", loops);
}

static lud_status run_other(report *r, lud_error *error) {
    lud_scenario *scenario;
    lud_status status = lud_scenario_open(r->folder, r->flags, &scenario, error);
    if (status) return status;
    r->trained = scenario;
    status =
        lud_stability_applies(scenario)
            ? run_all(r, false, error)
            : lud_fail(error, LUD_ERROR_INPUT,
                       "--against: %s is not a run of graph-mappo in which everybody has a goal", r->folder);
    lud_scenario_destroy(scenario);
    r->trained = NULL;
    return status;
}

lud_status lud_stability_report(const lud_scenario *trained, const char *folder,
                                const lud_scenario_flags *flags, const char *against, const char *plot,
                                json_t *json, lud_error *error) {
    lud_scenario_flags plain = *flags;
    plain.set.n = 0; /* what was overridden belongs to the first run */
    report *mine = calloc(1, sizeof *mine), *other = against ? calloc(1, sizeof *other) : NULL;
    lud_status status = LUD_OK;
    if (!mine || (against && !other)) {
        status = lud_fail(error, LUD_ERROR_MEMORY, "out of memory for a report");
    } else {
        *mine = (report){.trained = trained, .folder = folder, .flags = flags};
        if (!json)
            printf(
                "\nclosed loop: error norm sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2), mean of %d environments\n"
                "held: environments in which somebody touches another or an obstacle in the last quarter\n",
                LUD_MAPPO_LOOP_ENVIRONMENTS);
        status = run_all(mine, true, error);
        if (!status && json) json_object_set_new(json, "closed_loop", report_json(mine, true));
        if (!status && !json) print_loops(mine);
        if (!status && !json && !isnan(mine->curves[1].loop.largest_eigenvalue))
            printf("\nstability          %s\n", is_stable(mine) ? "pass" : "fail");
        if (!status && other) {
            *other = (report){.folder = against, .flags = &plain};
            status = run_other(other, error);
            if (!status && json) json_object_set_new(json, "against", report_json(other, false));
            if (!status && !json) print_loops(other);
        }
        if (!status && plot) status = draw(mine, other, plot, error);
        if (!status && plot && !json) printf("\n%s written\n", plot);
    }
    free(mine);
    free(other);
    return status;
}
