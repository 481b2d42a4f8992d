#include "learn/runs/run_cross.h"

#include <stdlib.h>
#include <string.h>

#include "agents/rollout.h"
#include "base/file.h"
#include "learn/runs/run.h"
#include "learn/store/history.h"
#include "sim/agent_key.h"

enum { RESAMPLES = 2000 };

/* ---- sides ---- */

static lud_status add_side(lud_cross *c, const char *name, lud_cross_side **side, lud_error *error) {
    if (c->n_sides == LUD_CROSS_SIDES)
        return lud_fail(error, LUD_ERROR_LIMIT, "cross-play: more than %d sides; --sides joins some with +",
                        LUD_CROSS_SIDES);
    *side = &c->sides[c->n_sides];
    (*side)->name = lud_arena_text(c->arena, name, strlen(name));
    (*side)->acts = lud_arena_take_array(c->arena, (size_t)c->scenario->model->layout.n_agents + 1,
                                         sizeof *(*side)->acts);
    if (!(*side)->name || !(*side)->acts) return lud_no_memory(error, "cross-play");
    c->n_sides++;
    return LUD_OK;
}

/* All agents that the word names join the side; each is on one. */
static lud_status join_side(lud_cross *c, lud_cross_side *side, const char *word, lud_error *error) {
    const lud_layout *layout = &c->scenario->model->layout;
    lud_agent_key key;
    if (!lud_agent_key_find(layout, word, &key))
        return lud_agent_key_unknown(layout, word, (lud_place){"--sides", 0, 0}, error);
    for (int i = 0; i < layout->n_agents; i++) {
        if (!lud_agent_key_names(layout, key, i)) continue;
        for (int s = 0; s < c->n_sides; s++)
            if (c->sides[s].acts[i])
                return lud_invalid(error, "--sides: agent %d (%s) is named twice, expected on one side", i,
                                   lud_agent_key_word(layout, i));
        side->acts[i] = true;
        side->n_agents++;
    }
    return side->n_agents > 0 ? LUD_OK : lud_invalid(error, "--sides: nobody is '%s' here", word);
}

/* `word+word` */
static lud_status read_side(lud_cross *c, char *text, lud_error *error) {
    lud_cross_side *side;
    LUD_TRY(add_side(c, text, &side, error));
    for (char *word = text, *end; word; word = end) {
        end = strchr(word, '+');
        if (end) *end++ = 0;
        LUD_TRY(join_side(c, side, word, error));
    }
    return LUD_OK;
}

static lud_status read_sides(lud_cross *c, const char *sides, lud_error *error) {
    char *text = lud_arena_text(c->arena, sides, strlen(sides));
    if (!text) return lud_no_memory(error, "cross-play");
    for (char *end; text; text = end) {
        end = strchr(text, ',');
        if (end) *end++ = 0;
        LUD_TRY(read_side(c, text, error));
    }
    return LUD_OK;
}

/* A side for each word, in the order of the agents. */
static lud_status find_sides(lud_cross *c, lud_error *error) {
    const lud_layout *layout = &c->scenario->model->layout;
    bool alike = true;
    for (int i = 0; i < layout->n_agents; i++)
        alike = alike && strcmp(lud_agent_key_word(layout, i), lud_agent_key_word(layout, 0)) == 0;
    for (int i = 0; i < layout->n_agents; i++) {
        const char *word = alike ? i > 0 ? "others" : "first" : lud_agent_key_word(layout, i);
        int s = 0;
        while (s < c->n_sides && strcmp(c->sides[s].name, word) != 0) s++;
        lud_cross_side *side = &c->sides[s];
        if (s == c->n_sides) LUD_TRY(add_side(c, word, &side, error));
        side->acts[i] = true;
        side->n_agents++;
    }
    return LUD_OK;
}

static lud_status check(lud_cross *c, lud_error *error) {
    const lud_layout *layout = &c->scenario->model->layout;
    for (int i = 0; i < layout->n_agents; i++) {
        bool acts = false;
        for (int s = 0; s < c->n_sides; s++) acts = acts || c->sides[s].acts[i];
        if (!acts)
            return lud_invalid(error, "--sides: agent %d (%s) is on no side, expected every agent on one", i,
                               lud_agent_key_word(layout, i));
    }
    if (c->n_sides < 2)
        return lud_invalid(error, "cross-play: %s has one side, expected two or more", c->scenario->name);
    for (int p = 0; p < c->n_players; p++)
        if (!lud_run_is(c->players[p]) && *c->players[p] != '{' && strchr(c->players[p], '/'))
            return lud_invalid(error, "cross-play: %s: no such RUN, expected a RUN or a policy",
                               c->players[p]);
    c->n_pairings = 1;
    for (int s = 0; s < c->n_sides; s++) {
        if (c->n_pairings > LUD_CROSS_PAIRINGS / c->n_players)
            return lud_fail(
                error, LUD_ERROR_LIMIT,
                "cross-play: %d players on %d sides are more than %d pairings; --sides joins sides "
                "with +",
                c->n_players, c->n_sides, LUD_CROSS_PAIRINGS);
        c->n_pairings *= c->n_players;
    }
    return LUD_OK;
}

lud_status lud_cross_runs(lud_arena *arena, const char *player, lud_cross_player_runs *runs,
                          lud_error *error) {
    bool itself = !lud_folder_exists(player);
    if (!itself) LUD_TRY(lud_run_holds(player, "scenario.yaml", &itself, error));
    if (!itself) LUD_TRY(lud_history_group(arena, player, &runs->runs, &runs->n, error));
    if (!itself && runs->n > 0) return LUD_OK; /* else whoever opens it says what it is not */
    const char **only = lud_arena_take_array(arena, 1, sizeof *only);
    if (!only) return lud_no_memory(error, "cross-play");
    only[0] = player;
    *runs = (lud_cross_player_runs){.runs = only, .n = 1};
    return LUD_OK;
}

static lud_status find_runs(lud_cross *c, lud_error *error) {
    lud_cross_player_runs *runs = lud_arena_take_array(c->arena, (size_t)c->n_players, sizeof *runs);
    if (!runs) return lud_no_memory(error, "cross-play");
    c->runs = runs;
    double most = 1;
    int largest = 1;
    for (int p = 0; p < c->n_players; p++) {
        LUD_TRY(lud_cross_runs(c->arena, c->players[p], &runs[p], error));
        if (runs[p].n > largest) largest = runs[p].n;
    }
    for (int s = 0; s < c->n_sides; s++) most *= largest;
    if (most > LUD_CROSS_PAIRINGS)
        return lud_fail(
            error, LUD_ERROR_LIMIT,
            "cross-play: %d trainings on %d sides are more than %d pairings; --sides joins sides with +",
            largest, c->n_sides, LUD_CROSS_PAIRINGS);
    c->several = largest > 1;
    return LUD_OK;
}

lud_status lud_cross_open(const lud_scenario *scenario, const char *sides, const char *const *players,
                          int n_players, int64_t episodes, lud_cross *c, lud_error *error) {
    *c = (lud_cross){.scenario = scenario,
                     .players = players,
                     .n_players = n_players,
                     .episodes = episodes,
                     .arena = lud_arena_create(0)};
    if (!c->arena) return lud_no_memory(error, "cross-play");
    LUD_TRY(sides ? read_sides(c, sides, error) : find_sides(c, error));
    LUD_TRY(check(c, error));
    LUD_TRY(find_runs(c, error));
    c->results = lud_arena_take_array(c->arena, (size_t)c->n_pairings, sizeof *c->results);
    bool whole = c->results;
    for (int p = 0; p < c->n_pairings && whole; p++) {
        c->results[p].measures = lud_arena_take_array(
            c->arena, (size_t)scenario->model->layout.n_measures + 1, sizeof *c->results[p].measures);
        whole = c->results[p].measures;
    }
    return whole ? LUD_OK : lud_no_memory(error, "cross-play");
}

void lud_cross_free(lud_cross *c) {
    lud_arena_destroy(c->arena);
    *c = (lud_cross){0};
}

int lud_cross_player(const lud_cross *c, int pairing, int side) {
    for (int s = c->n_sides - 1; s > side; s--) pairing /= c->n_players;
    return pairing % c->n_players;
}

/* ---- playing ---- */

/* A player as `policies:` has it. */
static void write_player(lud_text *out, const char *player) {
    if (!lud_run_is(player)) {
        lud_text_append(out, "%s", player);
        return;
    }
    char *path = realpath(player, NULL); /* names are found beside the scenario, players from here */
    lud_text_append(out, "{type: run, run: '");
    for (const char *at = path ? path : player; *at; at++)
        lud_text_append(out, *at == '\'' ? "''" : "%c", *at);
    lud_text_append(out, "'}");
    free(path);
}

/* `runs`: who plays each side. */
static lud_status cast_sides(const lud_cross *c, const char *const *runs, lud_arena *arena, lud_cast **cast,
                             lud_error *error) {
    lud_scenario stage = *c->scenario;
    lud_text text = {0};
    *cast = NULL;
    lud_text_append(&text, "{");
    for (int i = 0; i < stage.model->layout.n_agents; i++)
        for (int s = 0; s < c->n_sides; s++) {
            if (!c->sides[s].acts[i]) continue;
            lud_text_append(&text, "%s%d: ", i ? ", " : "", i);
            write_player(&text, runs[s]);
        }
    lud_text_append(&text, "}");
    lud_status status =
        text.failed ? lud_no_memory(error, "cross-play")
                    : lud_tree_read_text(arena, "--cross", text.bytes, text.length, &stage.policies, error);
    lud_text_free(&text);
    if (status) return status;
    return lud_run_cast(NULL, &stage, cast, error);
}

/* Means of a side's agents, and their interval over episodes where that is asked for. */
static bool judge(const lud_cross *c, const double *returns, int resamples, double *of_side,
                  lud_cross_result *result) {
    const int n_agents = c->scenario->model->layout.n_agents, n = (int)c->episodes;
    for (int s = 0; s < c->n_sides; s++) {
        for (int e = 0; e < n; e++) {
            of_side[e] = 0.0;
            for (int i = 0; i < n_agents; i++)
                if (c->sides[s].acts[i])
                    of_side[e] += returns[(size_t)e * (size_t)n_agents + (size_t)i] / c->sides[s].n_agents;
        }
        const lud_scores scores = {.n_tasks = 1, .most = n, .n = &n, .score = of_side};
        if (!lud_scores_aggregate(&scores, LUD_MEAN, resamples, 1, &result->returns[s])) return false;
    }
    return true;
}

/* What all pairings work in. */
typedef struct playing {
    double *returns; /* [episodes][n_agents] */
    double *of_side; /* [episodes] */
    double *means; /* [n_sides][LUD_CROSS_PAIRINGS] of the trainings of a pairing, where there are several */
} playing;

/* Plays one training of each side; adds measures and length to the result, and sets its returns. */
static lud_status play_sides(const lud_cross *c, const char *const *runs, int resamples, const playing *play,
                             lud_cross_result *result, lud_error *error) {
    lud_arena *arena = lud_arena_create(0);
    lud_cast *cast = NULL;
    lud_rollout played = {0};
    lud_status status = arena ? cast_sides(c, runs, arena, &cast, error) : lud_no_memory(error, "cross-play");
    const lud_rollout_kept kept = {.returns = play->returns};
    if (!status) status = lud_rollout_run_kept(c->scenario, cast, c->episodes, NULL, kept, &played, error);
    if (!status && !judge(c, play->returns, resamples, play->of_side, result))
        status = lud_no_memory(error, "cross-play");
    for (int k = 0; k < c->scenario->model->layout.n_measures && !status; k++)
        result->measures[k] += played.measures[k].mean;
    result->length += played.length.mean;
    lud_rollout_free(&played);
    lud_cast_destroy(cast);
    lud_arena_destroy(arena);
    return status;
}

static lud_status play_pairing(lud_cross *c, int pairing, const playing *play, lud_error *error) {
    lud_cross_result *result = &c->results[pairing];
    int n[LUD_CROSS_SIDES], n_trainings = 1;
    for (int s = 0; s < c->n_sides; s++) n_trainings *= (n[s] = c->runs[lud_cross_player(c, pairing, s)].n);
    for (int t = 0; t < n_trainings; t++) {
        const char *runs[LUD_CROSS_SIDES];
        for (int s = c->n_sides - 1, rest = t; s >= 0; rest /= n[s--])
            runs[s] = c->runs[lud_cross_player(c, pairing, s)].runs[rest % n[s]];
        LUD_TRY(play_sides(c, runs, n_trainings > 1 ? 0 : RESAMPLES, play, result, error));
        for (int s = 0; s < c->n_sides && c->several; s++)
            play->means[s * LUD_CROSS_PAIRINGS + t] = result->returns[s].value;
    }
    for (int s = 0; s < c->n_sides && n_trainings > 1; s++)
        if (!lud_scores_crossed(play->means + s * LUD_CROSS_PAIRINGS, n, c->n_sides, RESAMPLES, 1,
                                &result->returns[s]))
            return lud_no_memory(error, "cross-play");
    for (int k = 0; k < c->scenario->model->layout.n_measures; k++) result->measures[k] /= n_trainings;
    result->length /= n_trainings;
    return LUD_OK;
}

lud_status lud_cross_play(lud_cross *c, FILE *out, lud_error *error) {
    const size_t n = (size_t)c->episodes, n_agents = (size_t)c->scenario->model->layout.n_agents;
    const playing play = {
        .returns = calloc(n * n_agents + 1, sizeof *play.returns),
        .of_side = calloc(n + 1, sizeof *play.of_side),
        .means = calloc(c->several ? (size_t)c->n_sides * LUD_CROSS_PAIRINGS : 1, sizeof *play.means)};
    lud_status status =
        play.returns && play.of_side && play.means ? LUD_OK : lud_no_memory(error, "cross-play");
    lud_progress progress;
    lud_progress_start(&progress, out, "cross-play", "pairings", (uint64_t)c->n_pairings);
    for (int p = 0; p < c->n_pairings && !status; p++) {
        status = play_pairing(c, p, &play, error);
        lud_progress_update(&progress, (uint64_t)p + 1);
    }
    lud_progress_finish(&progress);
    LUD_FREE(play.returns, play.of_side, play.means);
    return status;
}
