#include "learn/mappo/stability/stability.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/mappo/groups.h"
#include "learn/runs/run.h"
#include "learn/store/history.h"

enum { N_STEPS = 200, N_SHOWN = 6, MOST_LOOPS = 16, MOST_CURVES = 8 };
static const int shown[N_SHOWN] = {0, 10, 25, 50, 99, 199};
static const int teams[] = {3, 5, 7, 10};
enum { N_TEAMS = sizeof teams / sizeof *teams };

/* One curve of error norms. */
typedef struct curve {
    char name[64];
    lud_scenario *scenario; /* until it has run */
    lud_mappo_play play;
    int n_agents;
    double error_norm[N_STEPS + 1];
    lud_mappo_loop loop;
    bool judged;
} curve;

typedef struct loops {
    const char *folder;
    const lud_scenario *trained;      /* the folder's own scenario, while they run */
    lud_scenario_overrides overrides; /* of the scenario that the loops run in */
    const char **set;                 /* [overrides.n_set + 1] the last is the size of a team */
    char size[48];
    curve curves[MOST_LOOPS];
    int n;
} loops;

/* The scenario with a team of n agents (0: as many as it has). */
static lud_status open_team(loops *r, int n_agents, lud_scenario **scenario, lud_error *error) {
    lud_scenario_overrides team = r->overrides;
    snprintf(r->size, sizeof r->size, "particle.agents=%d", n_agents);
    r->set[team.n_set] = r->size;
    team.set = r->set;
    team.n_set += n_agents > 0;
    return lud_run_scenario(r->folder, &team, scenario, error);
}

/* Adds a loop with a team of n agents (0: as many as the scenario has). */
static lud_status add(loops *r, const char *name, int n_agents, const lud_mappo_play *play, bool judged,
                      lud_error *error) {
    curve *c = &r->curves[r->n];
    *c = (curve){.play = *play, .judged = judged};
    LUD_TRY(open_team(r, n_agents, &c->scenario, error));
    c->n_agents = c->scenario->model->layout.n_agents;
    snprintf(c->name, sizeof c->name, "%s", name);
    c->loop.error_norm = c->error_norm;
    r->n++;
    return LUD_OK;
}

/* Runs those from `first` on, unless adding them has failed; their scenarios go. */
static lud_status run_from(loops *r, int first, lud_status added, lud_error *error) {
    lud_mappo_loop_case cases[MOST_LOOPS];
    for (int i = first; i < r->n; i++)
        cases[i - first] =
            (lud_mappo_loop_case){r->curves[i].scenario, r->curves[i].play, &r->curves[i].loop};
    const lud_status status =
        added ? added : lud_mappo_run_loops(r->trained, r->n - first, cases, N_STEPS, error);
    for (int i = first; i < r->n; i++) lud_scenario_destroy(r->curves[i].scenario);
    return status;
}

static void print_curve(const curve *c, lud_text *out) {
    lud_text_append(out, "%6d  %-20s", c->n_agents, c->name);
    for (int k = 0; k < N_SHOWN; k++) lud_text_append(out, " %8.4f", c->error_norm[shown[k]]);
    lud_text_append(out, " %6d\n", c->loop.n_held);
}

/* --- the picture --- */

typedef struct picture {
    double time[N_STEPS + 1];
    lud_plot_curve loops[MOST_CURVES], sizes[MOST_CURVES], training[2];
    char names[MOST_LOOPS][128], team_names[N_TEAMS][24];
    lud_plot_panel panels[3];
} picture;

static lud_status draw(const loops *mine, const loops *other, lud_report *report, lud_error *error) {
    picture *p = lud_arena_take(report->arena, sizeof *p);
    if (!p) return lud_no_memory(error, "a plot");
    for (int t = 0; t <= N_STEPS; t++) p->time[t] = t;
    enum { RED, GREEN, BLUE, PURPLE, YELLOW, GREY, BROWN };
    static const int team_colours[] = {BLUE, GREEN, PURPLE, RED};
    int n_loops = 0, n_sizes = 0, n_training = 0;
    const struct {
        const loops *r;
        const char *name;
        int colour;
    } runs[] = {{mine, lud_run_name(report->arena, mine->folder), BLUE},
                {other, other ? lud_run_name(report->arena, other->folder) : NULL, RED}};
    if (!runs[0].name || (other && !runs[1].name)) return lud_no_memory(error, "a plot");
    for (int k = 0, named = 0; k < 2; k++)
        for (int i = 0; runs[k].r && i < runs[k].r->n && n_loops < MOST_CURVES; i++) {
            const curve *c = &runs[k].r->curves[i];
            if (c->judged) continue;
            snprintf(p->names[named], sizeof p->names[named], "%s, %s", runs[k].name, c->name);
            p->loops[n_loops++] =
                (lud_plot_curve){.name = p->names[named++],
                                 .x = p->time,
                                 .y = c->error_norm,
                                 .n = 101,
                                 .colour = strstr(c->name, "away") ? PURPLE : runs[k].colour,
                                 .faint = strstr(c->name, "untrained") != NULL};
        }
    for (int i = 0; i < mine->n && n_sizes < MOST_CURVES; i++) {
        const curve *c = &mine->curves[i];
        const bool away = strstr(c->name, "away") != NULL;
        if (!c->judged) continue;
        int k = 0;
        while (k < N_TEAMS - 1 && teams[k] != c->n_agents) k++;
        snprintf(p->team_names[k], sizeof p->team_names[k], "%d agents", c->n_agents);
        p->sizes[n_sizes++] = (lud_plot_curve){.name = away ? NULL : p->team_names[k],
                                               .x = p->time,
                                               .y = c->error_norm,
                                               .n = 101,
                                               .colour = team_colours[k],
                                               .faint = away};
    }
    lud_history h[2] = {{0}};
    lud_status status = lud_history_read(report->arena, mine->folder, "error", &h[0], error);
    if (!status && other) status = lud_history_read(report->arena, other->folder, "error", &h[1], error);
    for (int k = 0; k < 2; k++)
        if (h[k].n > 0)
            p->training[n_training++] = (lud_plot_curve){.name = runs[k].name,
                                                         .x = h[k].steps,
                                                         .y = h[k].value,
                                                         .n = h[k].n,
                                                         .colour = runs[k].colour};
    report->panels = p->panels;
    p->panels[report->n_panels++] =
        (lud_plot_panel){"Error norm of the closed loop", "step", p->loops, n_loops};
    if (n_sizes > 0)
        p->panels[report->n_panels++] =
            (lud_plot_panel){"Teams of other sizes (pale: worst)", "step", p->sizes, n_sizes};
    if (n_training > 0)
        p->panels[report->n_panels++] = (lud_plot_panel){"Error at the ends of episodes, in training",
                                                         "environment steps", p->training, n_training};
    return status;
}

/* --- the report --- */

/* Whether everybody of a team would be in one of the run's groups, which may name agents by number. */
static bool groups_hold(loops *r, int n_agents) {
    lud_scenario *scenario = NULL;
    lud_error ignored = {0};
    lud_mappo_options options;
    lud_mappo_grouping grouping;
    lud_arena *arena = lud_arena_create(0);
    const bool hold =
        arena && open_team(r, n_agents, &scenario, &ignored) == LUD_OK &&
        lud_mappo_options_read(arena, r->trained->learner, &options, &ignored) == LUD_OK &&
        lud_mappo_groups_find(&scenario->model->layout, &options, arena, &grouping, &ignored) == LUD_OK;
    lud_scenario_destroy(scenario);
    lud_arena_destroy(arena);
    return hold;
}

/* Teams of other sizes, for tasks that have the parameter `agents`. */
static lud_status add_teams(loops *r, bool magnitude, lud_error *error) {
    for (int k = 0; k < N_TEAMS; k++)
        for (int away = 0; away <= magnitude && groups_hold(r, teams[k]); away++) {
            const lud_mappo_play play = {.folder = r->folder,
                                         .deterministic = true,
                                         .directions = away ? LUD_DIRECTIONS_AWAY : LUD_DIRECTIONS_POLICY};
            LUD_TRY(add(r, away ? "away from goals" : "trained", teams[k], &play, true, error));
        }
    return LUD_OK;
}

static bool sizes_vary(loops *r) {
    lud_scenario *scenario = NULL;
    lud_error ignored = {0};
    const bool varies = open_team(r, teams[0], &scenario, &ignored) == LUD_OK;
    lud_scenario_destroy(scenario);
    return varies;
}

/* The same policy in teams of other sizes follows; whether it has a magnitude the first loops say. */
static lud_status run_all(loops *r, bool teams_too, lud_error *error) {
    lud_status status = add(r, "untrained", 0, &(lud_mappo_play){.deterministic = true}, false, error);
    if (!status)
        status =
            add(r, "trained", 0, &(lud_mappo_play){.folder = r->folder, .deterministic = true}, false, error);
    LUD_TRY(run_from(r, 0, status, error));
    const bool magnitude = !isnan(r->curves[0].loop.largest_eigenvalue);
    const int first = r->n;
    if (magnitude)
        status = add(r, "away from goals", 0,
                     &(lud_mappo_play){.folder = r->folder, .directions = LUD_DIRECTIONS_AWAY}, false, error);
    if (!status && teams_too && sizes_vary(r)) status = add_teams(r, magnitude, error);
    return run_from(r, first, status, error);
}

static bool is_stable(const loops *r) {
    if (!(r->curves[1].loop.largest_eigenvalue < 1.0)) return false;
    for (int i = 1; i < r->n; i++) /* the first is untrained */
        if (!lud_mappo_loop_falls(&r->curves[i].loop)) return false;
    return true;
}

static void print_loops(const loops *r, bool verdict, lud_text *out) {
    const lud_mappo_loop *trained = &r->curves[1].loop;
    lud_text_append(out, "\n%s\n", r->folder);
    if (!isnan(trained->largest_eigenvalue))
        lud_text_append(out, "largest |lambda|   %.6f\ngain bound         %.4g\n",
                        trained->largest_eigenvalue, trained->gain_bound);
    lud_text_append(out, "agents  %-20s", "directions      t =");
    for (int k = 0; k < N_SHOWN; k++) lud_text_append(out, " %8d", shown[k]);
    lud_text_append(out, "   held\n");
    for (int i = 0; i < r->n; i++) /* a team as large as the scenario's stands there already */
        if (!r->curves[i].judged || r->curves[i].n_agents != r->curves[1].n_agents)
            print_curve(&r->curves[i], out);
    if (verdict && !isnan(trained->largest_eigenvalue))
        lud_text_append(out, "\nstability          %s\n", is_stable(r) ? "pass" : "fail");
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

static json_t *loops_json(const loops *r, bool verdict) {
    const lud_mappo_loop *trained = &r->curves[1].loop;
    json_t *curves = json_array();
    for (int i = 0; i < r->n; i++) json_array_append_new(curves, curve_json(&r->curves[i]));
    json_t *stable =
        verdict && !isnan(trained->largest_eigenvalue) ? json_boolean(is_stable(r)) : json_null();
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "run", r->folder, "environments",
                     LUD_MAPPO_LOOP_ENVIRONMENTS, "largest_eigenvalue", number(trained->largest_eigenvalue),
                     "gain_bound", number(trained->gain_bound), "stable", stable, "loops", curves);
}

static bool has_loop(const lud_scenario *scenario) {
    const lud_learner_kind *kind = NULL;
    lud_error ignored = {0};
    return scenario->learner && !lud_learner_kind_of(scenario, &kind, &ignored) &&
           kind == &lud_mappo_learner && lud_mappo_has_goals(scenario->model);
}

/* Runs the loops of the run in a folder, in the arena, and says what they show. Of another run than the
 * request's: in its own scenario, without other teams and the verdict. *result: null where it has none. */
static lud_status report_loops(const lud_report_request *request, const char *folder, bool other,
                               lud_report *report, loops **result, lud_error *error) {
    loops *r = lud_arena_take(report->arena, sizeof *r);
    const size_t n_set = (size_t)request->overrides->n_set;
    const char **set = lud_arena_take_array(report->arena, n_set + 1, sizeof *set);
    if (!r || !set) return lud_no_memory(error, "a report");
    lud_scenario_overrides own = *request->overrides;
    own.n_set = 0; /* what was overridden belongs to the request's run */
    lud_scenario *trained;
    lud_status status = lud_run_scenario(folder, &own, &trained, error);
    if (status || !has_loop(trained)) {
        lud_scenario_destroy(trained);
        return status;
    }
    *result = r;
    for (size_t i = 0; i < n_set; i++) set[i] = request->overrides->set[i];
    r->folder = folder;
    r->trained = trained;
    r->overrides = other ? own : *request->overrides;
    r->set = set;
    if (!request->json && !other)
        lud_text_append(
            &report->text,
            "\nclosed loop: error norm sqrt(sum_i |goal_i - p_i|^2 + |v_i|^2), mean of %d environments\n"
            "held: environments in which somebody touches another or an obstacle in the last quarter\n",
            LUD_MAPPO_LOOP_ENVIRONMENTS);
    status = run_all(r, !other, error);
    lud_scenario_destroy(trained);
    if (!status && request->json)
        json_object_set_new(report->json, other ? "against" : "closed_loop", loops_json(r, !other));
    if (!status && !request->json) print_loops(r, !other, &report->text);
    return status;
}

lud_status lud_mappo_evaluate_run(const lud_report_request *request, lud_report *report, lud_error *error) {
    loops *mine = NULL, *other = NULL;
    report->arena = lud_arena_create(0);
    if (request->json) report->json = json_object();
    if (!report->arena || (request->json && !report->json)) return lud_no_memory(error, "a report");
    lud_status status = report_loops(request, request->folder, false, report, &mine, error);
    if (status || !mine) return status;
    if (request->against) status = report_loops(request, request->against, true, report, &other, error);
    if (!status && request->against && !other)
        status = lud_invalid(error, "--against: %s is not a run of graph-mappo in which everybody has a goal",
                             request->against);
    return !status && request->curves ? draw(mine, other, report, error) : status;
}
