#include "learn/ticks/ticks.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "learn/ticks/evaluation.h"
#include "learn/ticks/policy.h"

typedef lud_tick_learner ticks;

/* The world's measures stand behind the return. */
static const lud_metric columns[LUD_TICK_COLUMNS] = {
    [LUD_TICK_STEPS] = {"steps", NULL, "environment steps so far"},
    [LUD_TICK_VERSION] = {"version", NULL, "of the weights: updates so far"},
    [LUD_TICK_EXPERIENCES] = {"experiences", NULL, "of all agents so far"},
    [LUD_TICK_REWARD] = {"reward", "%.4g", "mean of an agent and a step"},
    [LUD_TICK_RETURN] = {"return", "%.4g", "mean over agents of the return of episodes that ended"},
    [LUD_TICK_ENDED] = {"ended", NULL, "share of those that the world's rules ended"},
    [LUD_TICK_LOSS] = {"loss", NULL, "of the policy, mean over updates"},
    [LUD_TICK_NORM] = {"norm", NULL, "of the policy's gradient before clipping, mean over updates"},
    [LUD_TICK_VALUE_LOSS] = {"value_loss", NULL, "of the critic, mean over updates"},
    [LUD_TICK_CRITIC_NORM] = {"critic_norm", NULL, "of the critic's gradient before clipping"},
    [LUD_TICK_ENTROPY] = {"entropy", "%.3f", "of the policy, mean over rows"},
    [LUD_TICK_SCORED] = {"scored", NULL, "experiences that the gate was asked about, a tick"},
    [LUD_TICK_SELECTED] = {"selected", NULL, "rows of the policy's backward pass, a tick"},
    [LUD_TICK_VALUED] = {"valued", NULL, "rows of the critic's backward pass, a tick"},
    [LUD_TICK_BACKWARD_RATE] = {"backward_rate", NULL, "selected of scored"},
    [LUD_TICK_DELIGHT] = {"delight", NULL, "mean size over scored experiences"},
    [LUD_TICK_RATE] = {"gate_rate", NULL, "in force, mean over ticks"},
    [LUD_TICK_PRICE] = {"price", NULL, "mean over ticks"},
    [LUD_TICK_FAILURES] = {"failures", NULL, "share of replies that meant no action"},
    [LUD_TICK_LEFT_OUT] = {"left_out", NULL, "lines that prompts had no room for, of a prompt"},
    [LUD_TICK_SKIPPED_UNTRAINED] = {"skipped/no_trainable", NULL, "ticks in which no training team acted"},
    [LUD_TICK_SKIPPED_SILENT] = {"skipped/no_tokens", NULL, "ticks in which none of it said anything"},
    [LUD_TICK_SKIPPED_GATED] = {"skipped/gated_all", NULL, "ticks in which nothing was worth its price"},
    [LUD_TICK_SKIPPED_FLAT] = {"skipped/no_signal", NULL, "ticks whose gradient would have been zero"},
    [LUD_TICK_ACT_TIME] = {"milliseconds/act", NULL, "of a tick"},
    [LUD_TICK_WORLD_TIME] = {"milliseconds/world", NULL, "of a tick"},
    [LUD_TICK_VALUE_TIME] = {"milliseconds/value", NULL, "of a tick"},
    [LUD_TICK_SCORE_TIME] = {"milliseconds/score", NULL, "of a tick"},
    [LUD_TICK_LEARN_TIME] = {"milliseconds/learn", NULL, "of a tick"},
    [LUD_TICK_STEP_TIME] = {"milliseconds/step", NULL, "of a tick"},
    [LUD_TICK_SPEED] = {"speed", NULL, "environment steps a second, updates included"}};

static const char *const stages[LUD_TICK_STAGES] = {"act", "world", "values", "score", "learn", "step"};

int lud_tick_team_of(const ticks *l, int agent) {
    const int *teams = l->scenario->model->layout.teams;
    return teams && l->n_teams > 1 ? teams[agent] : 0;
}

static lud_status out_of_memory(lud_error *error) {
    return lud_no_memory(error, "a learner");
}

static void destroy(lud_learner *learner) {
    ticks *l = (ticks *)learner;
    lud_tick_stepping_destroy(&l->training);
    lud_tick_stepping_destroy(&l->evaluation);
    lud_tick_scoring_destroy(&l->scoring);
    lud_tick_imitation_destroy(&l->imitation);
    lud_optimiser_destroy(l->optimiser);
    lud_shares_close(&l->shares);
    if (l->policy) l->policy->kind->destroy(l->policy);
    lud_arrays_free(&l->arrays);
    lud_arena_destroy(l->arena);
    free(l);
}

/* ---- creation ---- */

/* Who belongs together and who trains. */
static lud_status find_teams(ticks *l, lud_error *error) {
    static const char *const everybody[] = {"all"};
    const lud_layout *layout = &l->scenario->model->layout;
    const lud_text_list *training = &l->options.training_teams;
    l->n_teams = layout->n_teams > 0 && layout->teams ? layout->n_teams : 1;
    l->team_names = l->n_teams == layout->n_teams ? layout->team_names : everybody;
    lud_arrays *a = &l->arrays;
    LUD_TAKE(a, l->team_sizes, (size_t)l->n_teams);
    LUD_TAKE(a, l->trains, (size_t)l->n_teams);
    LUD_TAKE(a, l->teams, (size_t)l->n_teams);
    LUD_TAKE(a, l->team_rewards, (size_t)l->n_teams);
    LUD_TAKE(a, l->team_rows, (size_t)l->n_teams);
    LUD_TAKE(a, l->component_rewards, (size_t)layout->n_components + 1);
    if (a->failed) return out_of_memory(error);
    for (int i = 0; i < layout->n_agents; i++) l->team_sizes[lud_tick_team_of(l, i)]++;
    for (int k = 0; k < l->n_teams; k++) l->trains[k] = training->n == 0;
    for (size_t i = 0; i < training->n; i++) {
        int k = 0;
        while (k < l->n_teams && strcmp(training->items[i], l->team_names[k]) != 0) k++;
        if (k == l->n_teams)
            return lud_invalid_at(error, l->scenario->learner->place,
                                  "learner.training_teams: no team '%s' in this world%s%s%s",
                                  training->items[i], l->n_teams > 1 ? "; the first is '" : "",
                                  l->n_teams > 1 ? l->team_names[0] : "",
                                  l->n_teams > 1 ? "'" : "; its agents are all of the team 'all'");
        l->trains[k] = true;
    }
    return LUD_OK;
}

static lud_status open_policy(ticks *l, int64_t envs, int64_t evaluated, lud_error *error) {
    lud_tick_options *o = &l->options;
    const int64_t n_agents = l->scenario->model->layout.n_agents;
    const lud_tick_policy_request request = {.model = l->scenario->model,
                                             .device = l->device,
                                             .seed = l->seed,
                                             .n_acting = (envs > evaluated ? envs : evaluated) * n_agents,
                                             .n_learning = envs * n_agents,
                                             .max_rows = o->max_rows,
                                             .critic = o->baseline.type == LUD_BASELINE_CRITIC};
    LUD_TRY(lud_tick_policy_open(&request, o, l->scenario->path, &l->policy, error));
    if (o->start && !l->policy->kind->begin_with)
        return lud_invalid_at(error, l->scenario->learner->place,
                              "learner.start: expected a policy of networks (vector) that can begin with "
                              "another's, found one of type %s",
                              l->policy->kind->name);
    if (o->start && !(o->start = lud_path_find(l->arena, l->scenario->path, o->start)))
        return out_of_memory(error);
    if (request.critic && !l->policy->has_critic)
        return lud_invalid_at(error, l->scenario->learner->place,
                              "learner.baseline: a policy of type %s has no critic", l->policy->kind->name);
    if (o->baseline.type == LUD_BASELINE_EXPECTED_CONFIDENCE &&
        (!l->policy->kind->gives_confidence || lud_max_discrete(&l->scenario->model->layout) == 0))
        return lud_invalid_at(
            error, l->scenario->learner->place,
            "learner.baseline: expected_confidence needs a policy that draws single choices");
    return LUD_OK;
}

static lud_status build_optimiser(ticks *l, lud_error *error) {
    const lud_tick_policy_kind *kind = l->policy->kind;
    lud_optimiser_options options = l->options.optimiser;
    options.max_norm = l->options.max_norm;
    l->optimiser = lud_optimiser_create(l->policy->parameters);
    if (!l->optimiser) return out_of_memory(error);
    /* the critic's first: what is in a group is in no other */
    l->critic_group =
        l->policy->has_critic ? lud_optimiser_group(l->optimiser, kind->critic, &options, false) : -1;
    l->actor_group = lud_optimiser_group(l->optimiser, kind->actor, &options, false);
    if (l->actor_group < 0 || (l->policy->has_critic && l->critic_group < 0)) return out_of_memory(error);
    return lud_optimiser_build(l->optimiser, l->seed, error);
}

/* Numbers of the sums of a lesson. */
enum { N_SUMS = sizeof(lud_tick_losses) / sizeof(double) };
_Static_assert(sizeof(lud_tick_losses) % sizeof(double) == 0, "sums are doubles");

static lud_status open_shares(ticks *l, lud_error *error) {
    LUD_TAKE(&l->arrays, l->lines, 2 * (size_t)lud_ranks_size(l->device->ranks));
    if (l->arrays.failed) return out_of_memory(error);
    return lud_shares_open(l->policy->parameters, (int)l->options.shares, N_SUMS, &l->shares, error);
}

static lud_status build(ticks *l, lud_error *error) {
    const lud_scenario *s = l->scenario;
    lud_status status = lud_tick_options_read(l->arena, s->learner, &l->options, error);
    if (status) return status;
    const int64_t envs = s->run.environments, most = LUD_TICK_MAX_EVALUATED,
                  evaluated = envs < most ? envs : most;
    l->seed = (uint64_t)s->run.seed;
    status = lud_shares_check(l->options.shares, envs, "environments", s->learner->place, error);
    if (!status) status = find_teams(l, error);
    if (!status) status = open_policy(l, envs, evaluated, error);
    if (!status) status = build_optimiser(l, error);
    if (!status) status = open_shares(l, error);
    if (!status) status = lud_tick_stepping_create(l, envs, 0, &l->training, error);
    if (!status)
        status = lud_tick_stepping_create(l, evaluated, LUD_TICK_FIRST_EVALUATED, &l->evaluation, error);
    if (!status) l->evaluation.batch->most_steps = lud_batch_limit(l->scenario->model);
    if (!status) status = lud_tick_scoring_create(l, &l->scoring, error);
    if (!status) status = lud_tick_imitation_create(l, &l->imitation, error);
    const uint64_t total = (uint64_t)l->options.ticks, each = (uint64_t)l->options.ticks_per_iteration;
    l->base.n_iterations = (total + each - 1) / each;
    return status;
}

/* A column in the arena, its name made of two parts; false when memory is out. */
static bool add_column(ticks *l, lud_metric *column, const char *prefix, const char *name, const char *suffix,
                       lud_metric like) {
    char text[160];
    snprintf(text, sizeof text, "%s%s%s", prefix, name, suffix);
    *column = like;
    column->name = lud_arena_text(l->arena, text, strlen(text));
    return column->name != NULL;
}

/* Fixed columns, then the world's measures, teams and components. */
static lud_status name_columns(ticks *l, lud_error *error) {
    const lud_layout *layout = &l->scenario->model->layout;
    const int n_teams = layout->n_teams, extra = layout->n_columns + layout->n_components;
    const int n = LUD_TICK_COLUMNS + extra + 2 * n_teams, m = LUD_TICK_EVALUATION_COLUMNS + extra + n_teams;
    lud_metric *row = lud_arena_take_array(l->arena, (size_t)n, sizeof *row),
               *evaluation = lud_arena_take_array(l->arena, (size_t)m, sizeof *evaluation);
    if (!row || !evaluation) return out_of_memory(error);
    memcpy(row, columns, sizeof columns);
    memcpy(evaluation, lud_tick_evaluation_columns, sizeof lud_tick_evaluation_columns);
    l->base.columns = row;
    l->base.n_columns = n;
    l->base.evaluation_columns = evaluation;
    l->base.keeps_last = n_teams > 1; /* what one of several teams wins another loses */
    l->base.n_evaluation_columns = m;
    row += LUD_TICK_COLUMNS;
    evaluation += LUD_TICK_EVALUATION_COLUMNS;
    bool whole = true;
    for (int k = 0; k < layout->n_columns; k++) {
        const lud_measure *measure = &layout->measures[k];
        const lud_metric like = {NULL, measure->format, measure->help};
        whole = add_column(l, row++, "", measure->name, "", like) && whole;
        whole = add_column(l, evaluation++, "evaluation/", measure->name, "", like) && whole;
    }
    for (int k = 0; k < n_teams; k++) {
        const char *name = layout->team_names[k];
        const lud_metric reward = {NULL, NULL, "mean of an agent of the team and a step"},
                         share = {NULL, NULL, "rows of the team learned from, of those scored, so far"},
                         returns = {NULL, NULL, "mean over agents of the team, over episodes"};
        whole = add_column(l, row++, "team/", name, "/reward", reward) && whole;
        whole = add_column(l, row++, "team/", name, "/backward_rate", share) && whole;
        whole = add_column(l, evaluation++, "evaluation/team/", name, "", returns) && whole;
    }
    for (int k = 0; k < layout->n_components; k++) {
        const lud_metric part = {NULL, NULL, "part of the reward, mean of an agent and a step"},
                         returns = {NULL, NULL, "part of the return, mean over agents, over episodes"};
        whole = add_column(l, row++, "component/", layout->components[k], "", part) && whole;
        whole =
            add_column(l, evaluation++, "evaluation/component/", layout->components[k], "", returns) && whole;
    }
    return whole ? LUD_OK : out_of_memory(error);
}

static lud_status create(const lud_scenario *scenario, lud_device *device, lud_learner **learner,
                         lud_error *error) {
    *learner = NULL;
    ticks *l = calloc(1, sizeof *l);
    if (!l) return out_of_memory(error);
    l->base = (lud_learner){.kind = &lud_learner_ticks};
    l->scenario = scenario;
    l->device = device;
    l->profile = (lud_profile){.title = "a tick", .stages = stages, .n = LUD_TICK_STAGES};
    l->arena = lud_arena_create(0);
    lud_status status = l->arena ? name_columns(l, error) : out_of_memory(error);
    if (!status) status = build(l, error);
    if (status)
        destroy(&l->base);
    else
        *learner = &l->base;
    return status;
}

/* ---- iterations ---- */

static lud_status can_begin(lud_learner *learner, lud_error *error) {
    const ticks *l = (ticks *)learner;
    return l->options.start ? l->policy->kind->begin_with(l->policy, l->options.start, error) : LUD_OK;
}

/* Not when it is created: a run that goes on needs no start. */
static lud_status begin(ticks *l, lud_error *error) {
    if (l->options.start) LUD_TRY(l->policy->kind->begin_with(l->policy, l->options.start, error));
    lud_tick_reset(&l->training);
    l->started = true;
    return LUD_OK;
}

lud_status lud_tick_run(ticks *l, lud_error *error) {
    lud_status status = LUD_OK;
    if (!l->started) LUD_TRY(lud_ranks_agree(l->device->ranks, begin(l, error), error));
    if (l->imitation.done < (uint64_t)l->options.imitation.ticks) return lud_tick_imitate(l, error);
    if (!l->scoring.valued) status = lud_tick_find_values(l, error);
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_ACT);
    if (!status) status = lud_tick_act(l, &l->training, false, error);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_ACT);
    if (status) return status;
    lud_profile_begin(&l->profile, LUD_TICK_STAGE_WORLD);
    status = lud_tick_step(l, &l->training, NULL, error);
    lud_profile_end(&l->profile, LUD_TICK_STAGE_WORLD);
    if (status) return status;
    lud_profile_call(&l->profile);
    return lud_tick_update(l, error);
}

static void clear_sums(ticks *l) {
    const int n_components = l->scenario->model->layout.n_components;
    l->sums = (lud_tick_sums){0};
    memset(l->team_rewards, 0, (size_t)l->n_teams * sizeof *l->team_rewards);
    memset(l->team_rows, 0, (size_t)l->n_teams * sizeof *l->team_rows);
    memset(l->component_rewards, 0, (size_t)n_components * sizeof *l->component_rewards);
    lud_tick_clear_episodes(&l->training);
}

/* Not a number where nothing was counted. */
static double mean(double sum, double n) {
    return n > 0.0 ? sum / n : NAN;
}

/* Prompts that this process has read since the last time, and lines that they had no room for. */
static void take_lines(ticks *l, int64_t counts[2]) {
    counts[0] = counts[1] = 0;
    if (l->policy->kind->lines) l->policy->kind->lines(l->policy, &counts[0], &counts[1]);
}

/* Those of all processes. */
static lud_status count_lines(ticks *l, lud_error *error) {
    int64_t own[2], n = 0;
    take_lines(l, own);
    if (!l->policy->kind->lines) return LUD_OK;
    LUD_TRY(lud_ranks_join_lists(l->device->ranks, own, 2, sizeof *own, l->lines,
                                 2 * lud_ranks_size(l->device->ranks), &n, error));
    for (int64_t k = 0; k < n; k += 2) {
        l->sums.read += (double)l->lines[k];
        l->sums.left_out += (double)l->lines[k + 1];
    }
    return LUD_OK;
}

static void write_sums(const ticks *l, double *row) {
    const lud_tick_sums *s = &l->sums;
    const lud_tick_episodes *episodes = &l->training.episodes;
    const double updates = s->ends[LUD_TICK_UPDATED];
    row[LUD_TICK_VERSION] = (double)l->version;
    row[LUD_TICK_EXPERIENCES] = (double)l->experiences;
    row[LUD_TICK_REWARD] = mean(s->reward, s->rows);
    row[LUD_TICK_RETURN] = mean(episodes->returns, episodes->n);
    row[LUD_TICK_ENDED] = mean(episodes->ended, episodes->n);
    row[LUD_TICK_LOSS] = mean(s->loss, updates);
    row[LUD_TICK_NORM] = mean(s->norm, updates);
    row[LUD_TICK_VALUE_LOSS] = mean(s->value_loss, l->policy->has_critic ? updates : 0.0);
    row[LUD_TICK_CRITIC_NORM] = mean(s->critic_norm, l->policy->has_critic ? updates : 0.0);
    row[LUD_TICK_ENTROPY] = mean(s->entropy, s->rows);
    row[LUD_TICK_SCORED] = s->scored / s->ticks;
    row[LUD_TICK_SELECTED] = s->selected / s->ticks;
    row[LUD_TICK_VALUED] = s->valued / s->ticks;
    row[LUD_TICK_BACKWARD_RATE] = mean(s->selected, s->scored);
    row[LUD_TICK_DELIGHT] = mean(s->delights, s->scored);
    row[LUD_TICK_RATE] = mean(s->rates, s->gated);
    row[LUD_TICK_PRICE] = mean(s->prices, s->gated);
    row[LUD_TICK_FAILURES] = mean(s->failures, s->rows);
    row[LUD_TICK_LEFT_OUT] = mean(s->left_out, s->read);
    for (int end = LUD_TICK_NO_TRAINABLE; end <= LUD_TICK_NO_SIGNAL; end++)
        row[LUD_TICK_SKIPPED_UNTRAINED + end - LUD_TICK_NO_TRAINABLE] = s->ends[end];
}

/* What the world, its teams and the parts of its rewards have come to. */
static void write_world(const ticks *l, double *row) {
    const lud_layout *layout = &l->scenario->model->layout;
    const lud_tick_episodes *episodes = &l->training.episodes;
    for (int k = 0; k < layout->n_columns; k++) *row++ = mean(episodes->measures[k], episodes->n);
    for (int k = 0; k < layout->n_teams; k++) {
        const bool known = k < l->n_teams;
        const double backward = known ? (double)l->teams[k].backward : 0.0;
        *row++ = known ? mean(l->team_rewards[k], l->team_rows[k]) : NAN;
        *row++ = known ? mean(backward, backward + (double)l->teams[k].skipped) : NAN;
    }
    for (int k = 0; k < layout->n_components; k++) *row++ = mean(l->component_rewards[k], l->sums.rows);
}

static lud_status iterate(lud_learner *learner, double *row, lud_error *error) {
    ticks *l = (ticks *)learner;
    const double began = lud_clock_seconds();
    double before[LUD_TICK_STAGES];
    for (int k = 0; k < LUD_TICK_STAGES; k++) before[k] = l->profile.seconds[k];
    int64_t before_it[2];
    clear_sums(l);
    take_lines(l, before_it); /* evaluations read prompts too */
    const uint64_t each = (uint64_t)l->options.ticks_per_iteration,
                   left = (uint64_t)l->options.ticks - l->iteration * each, n = left < each ? left : each;
    const uint64_t imitated = l->imitation.done;
    for (uint64_t t = 0; t < n; t++) {
        const lud_status asked = lud_progress_beat(l->base.progress, (double)t / (double)n, error);
        LUD_TRY(lud_ranks_agree(l->device->ranks, asked, error));
        LUD_TRY(lud_tick_run(l, error));
    }
    LUD_TRY(count_lines(l, error));
    LUD_TRY(lud_tick_complete(l, &l->training, error)); /* any of them may be the one that saves */
    if (l->imitation.done > imitated) LUD_TRY(lud_tick_imitation_complete(l, error));
    l->iteration++;
    write_sums(l, row);
    write_world(l, row + LUD_TICK_COLUMNS);
    const double done = (double)((l->iteration - 1) * each + n), envs = (double)l->training.n_envs;
    row[LUD_TICK_STEPS] = done * envs;
    for (int k = 0; k < LUD_TICK_STAGES; k++)
        row[LUD_TICK_ACT_TIME + k] = 1000.0 * (l->profile.seconds[k] - before[k]) / (double)n;
    row[LUD_TICK_SPEED] = (double)n * envs / (lud_clock_seconds() - began);
    return LUD_OK;
}

/* ---- checkpoints ---- */

static void visit_counters(ticks *l, lud_checkpoint *checkpoint) {
    uint64_t started = l->started;
    lud_checkpoint_u64(checkpoint, "ticks.iteration", &l->iteration);
    lud_checkpoint_u64(checkpoint, "ticks.version", &l->version);
    lud_checkpoint_u64(checkpoint, "ticks.experiences", &l->experiences);
    lud_checkpoint_u64(checkpoint, "ticks.started", &started);
    l->started = started != 0;
    lud_checkpoint_limit(checkpoint, "ticks.iteration", l->iteration, LUD_CHECKPOINT_MOST);
    for (int k = 0; k < l->n_teams; k++) {
        lud_tick_team *team = &l->teams[k];
        const struct {
            const char *name;
            uint64_t *count;
        } counts[] = {
            {"experiences", &team->experiences}, {"backward", &team->backward}, {"skipped", &team->skipped}};
        char name[96];
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            snprintf(name, sizeof name, "ticks.team.%d.%s", k, counts[i].name);
            lud_checkpoint_u64(checkpoint, name, counts[i].count);
        }
        snprintf(name, sizeof name, "ticks.team.%d.reward", k);
        lud_checkpoint_real(checkpoint, name, &team->reward);
    }
}

static void visit_environments(ticks *l, lud_checkpoint *checkpoint) {
    lud_tick_stepping *s = &l->training;
    const lud_layout *layout = &l->scenario->model->layout;
    const lud_tick_sight *sight = &s->sights[s->now];
    for (int p = 0; p < layout->n_parts; p++) {
        char name[64];
        snprintf(name, sizeof name, "ticks.observation.%d", p);
        if (sight->parts[p])
            lud_checkpoint_bytes(checkpoint, name, sight->parts[p],
                                 (size_t)s->n_envs * layout->parts[p].bytes);
    }
    lud_checkpoint_tensor(checkpoint, "ticks.agent_return", LUD_TENSOR_F64, 1, &s->n_rows, s->agent_return);
    const int64_t parts = s->n_envs * layout->n_components;
    if (parts > 0)
        lud_checkpoint_tensor(checkpoint, "ticks.component_return", LUD_TENSOR_F64, 1, &parts,
                              s->component_return);
    const int64_t bytes = (int64_t)lud_batch_snapshot_bytes(s->batch);
    void *place = lud_checkpoint_place(checkpoint, "ticks.worlds", LUD_TENSOR_U8, 1, &bytes);
    if (!place) return;
    if (!lud_checkpoint_loading(checkpoint)) {
        lud_batch_save(s->batch, place);
        return;
    }
    if (!l->started) return; /* nobody has begun an episode */
    lud_error error = {0};
    const lud_status status = lud_batch_load(s->batch, place, &error);
    lud_checkpoint_require(checkpoint, "ticks.worlds", status, &error);
    if (status) return;
    lud_batch_observe(s->batch, sight->parts); /* follows from the states, so it is not taken from a file */
    lud_tick_look(s);
}

/* The baseline and the mean square say what a moment is worth, which a picture of the policy shows. */
static void visit_policy(lud_learner *learner, lud_checkpoint *checkpoint) {
    ticks *l = (ticks *)learner;
    lud_parameters_visit(l->policy->parameters, "", checkpoint);
    if (l->policy->kind->visit) l->policy->kind->visit(l->policy, checkpoint);
    lud_tick_scoring_visit_policy(&l->scoring, checkpoint);
}

static void visit(lud_learner *learner, lud_checkpoint *checkpoint) {
    ticks *l = (ticks *)learner;
    visit_policy(learner, checkpoint);
    lud_optimiser_visit(l->optimiser, "optimiser.", checkpoint);
    lud_tick_scoring_visit(&l->scoring, checkpoint, l->training.n_rows);
    lud_tick_imitation_visit(l, checkpoint);
    visit_counters(l, checkpoint);
    visit_environments(l, checkpoint);
}

static lud_status evaluate(lud_learner *learner, double *row, lud_error *error) {
    return lud_tick_evaluation_run((ticks *)learner, row, error);
}

/* ---- at the end of a run ---- */

static void report(lud_learner *learner, lud_text *out) {
    const ticks *l = (const ticks *)learner;
    if (l->profile.calls == 0) return; /* an evaluation's measures say more */
    lud_profile_print(&l->profile, out);
    lud_text_append(out, "%-12s %14s %12s %12s %14s\n", "team", "experiences", "backward", "skipped",
                    "mean reward");
    for (int k = 0; k < l->n_teams; k++) {
        const lud_tick_team *team = &l->teams[k];
        lud_text_append(out, "%-12s %14llu %12llu %12llu %14.5g\n", l->team_names[k],
                        (unsigned long long)team->experiences, (unsigned long long)team->backward,
                        (unsigned long long)team->skipped, team->reward / (double)team->experiences);
    }
}

const lud_learner_kind lud_learner_ticks = {
    .name = "ticks",
    .honours = LUD_HONOURS_EVALUATION_EPISODES,
    .about = "many agents share a policy that learns in every tick from the few experiences worth it",
    .options = &lud_tick_option_table,
    .values = offsetof(ticks, options),
    .create = create,
    .destroy = destroy,
    .iterate = iterate,
    .can_begin = can_begin,
    .evaluate = evaluate,
    .visit = visit,
    .visit_policy = visit_policy,
    .score = {.column = "evaluation/return"},
    .training_score = {.column = "return"},
    .join = lud_tick_join,
    .report = report};
