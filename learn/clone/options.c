#include "learn/clone/options.h"

#include <string.h>

#include "base/file.h"
#include "base/options/option_rows.h"
#include "learn/nn/shares.h"
#include "learn/runs/parameters.h"

static const char *const agent_names[] = {"auto", "robots", "people", "all", NULL};
static const char *const layout_names[] = {"file", "aligned", NULL};
static const char *const last_names[] = {"auto", "valid", "invalid", NULL};
static const char *const padding_names[] = {"auto", "zero", "last", "noop", NULL};
static const char *const sampling_names[] = {"uniform", "max", NULL};

#define OPTIONS lud_clone_window_options
static const lud_option window_options[] = {
    INT(horizon, "8", 1, 255, "actions that are predicted at once; 1: the next one alone"),
    CHOICE(layout, "file", layout_names,
           "aligned: of T + 1 frames the last is forgotten, as in data that has as many frames as actions"),
    CHOICE_AT("last_action", last_action, "auto", last_names,
              "whether the last action of an episode led anywhere; auto: as the layout says. valid with "
              "layout aligned is a mistake to compare with"),
    CHOICE_AT(
        "pad", padding, "auto", padding_names,
        "what stands behind the end of an episode; auto: the choice that does nothing, zeros for numbers"),
    BOOL(train_on_padding, "false", "learn what stands there too"),
};
static const lud_option_table window_table =
    OPTION_TABLE("windows", "windows of actions that are predicted", window_options);

#undef OPTIONS
#define OPTIONS lud_clone_summary_options
static const lud_option summary_options[] = {
    REAL(
        weight, "0", 0, 1000,
        "of the loss on what the coming window sums up to: choices counted, numbers added; 0: not predicted"),
    INT(steps, "0", 0, 255, "of that window; 0: the horizon of windows"),
};
static const lud_option_table summary_table =
    OPTION_TABLE("summary", "what the near future sums up to", summary_options);

#undef OPTIONS
#define OPTIONS lud_clone_pair_options
static const lud_option pair_options[] = {
    REAL(weight, "0", 0, 1000, "of the loss on what was done between two frames; 0: not predicted"),
    INT(max_horizon, "30", 1, 1000000, "frames that may lie between the two"),
    INT(steps, "30", 1, 1000000, "actions that are summed at most"),
    CHOICE(sampling, "uniform", sampling_names, "how far apart: drawn, or always as far as it goes"),
    CHOICE(delta_rule, "realised", lud_delta_rule_names,
           "actions that count: as many as lie between the frames, or as many as were drawn (a mistake to "
           "compare with)"),
    BOOL(drop_zero, "true", "leave out steps without a later frame"),
    REAL_AT("prob", probability, "0.2", 0, 1, "share of samples that become pairs too"),
};
static const lud_option_table pair_table =
    OPTION_TABLE("pairs", "what was done between two frames", pair_options);

#undef OPTIONS
#define OPTIONS lud_clone_dagger_options
static const lud_option dagger_options[] = {
    INT(rounds, "0", 0, 100000, "times that the expert is asked, at equal distances; 0: never"),
    INT(labels, "200", 1, 100000000,
        "actions of the expert asked for in a round, in states visited meanwhile"),
    INT(environments, "4", 1, 1000000,
        "in which these states are visited; labels over them and their agents should last an episode"),
    TREE(expert, "who is asked: a RUN (of ludus solve, too), or a policy such as {type: heuristic}",
         .names = LUD_NAMES_POLICY),
};
static const lud_option_table dagger_table = OPTION_TABLE(
    "dagger", "labels for states that the clone itself visits (Ross et al., 2011)", dagger_options);

#undef OPTIONS
#define OPTIONS lud_optimiser_options
static const lud_option optimiser_options[] = {LUD_OPTIMISER_ROWS("1e-8", "0")};
static const lud_option_table optimiser_table =
    OPTION_TABLE("optimiser", LUD_OPTIMISER_HELP, optimiser_options);

#undef OPTIONS
#define OPTIONS lud_mappo_options
static const lud_option network_options[] = {
    LUD_MAPPO_ENCODER_ROW(),
    LUD_MAPPO_IDENTIFY_ROW(, false),
    LUD_MAPPO_LAYER_ROWS(, false),
    SECTION(graph, lud_mappo_graph_table, "graph networks"),
};
static const lud_option_table network_table =
    OPTION_TABLE("network", "the actor, as graph MAPPO's", network_options);

#undef OPTIONS
#define OPTIONS lud_clone_options
static const lud_option clone_options[] = {
    TEXT(type, NULL, "clone"),
    TEXTS(data, "[]", "recorded episodes: files of ludus record, or Minari's; may be empty with dagger",
          .names = LUD_NAMES_FILE),
    REALS(weights, "[]", 1e-9, 1e9, "of the files; empty: all alike"),
    BOOL(balance, "true", "weights are multiplied by the numbers of samples"),
    REAL(val_fraction, "0.02", 0, 0.9, "share of episodes that are held out"),
    MEMORY(frame_memory, "0", 0, 1e6,
           "of frames that are held in memory; more than that lie in files without a name in $TMPDIR or "
           "/var/tmp and are "
           "read ahead by threads; 0: half of the free memory"),
    CHOICE(agents, "auto", agent_names, "who is imitated; auto: robots where there are some, else everybody"),
    INT(steps, "4000", 1, 1000000000000.0, "minibatches of the whole training"),
    INT(report_every, "100", 1, 1000000, "minibatches of an iteration"),
    LUD_SHARES_ROW_AT(shares),
    INT(batch, "256", 1, 1000000, "samples of a minibatch"),
    REAL(learning_rate, "0.001", 0, 10, "of all weights"),
    BOOL(decay_learning_rate, "true", "falls linearly to 0 over the training"),
    REAL(max_norm, "10", 0, 1000000000.0, "largest norm of the gradient; 0: no clipping"),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    BOOL(average_positions, "false",
         "the loss is the mean over all positions of a minibatch instead of over samples"),
    REAL(idle_weight, "0.1", 0, 1, "of samples in whose window nothing is done; 0: they are dropped"),
    CHOICE(normalisation, "normal", lud_normalisation_names, "of actions that are numbers"),
    CHOICE(merge, "per_dim", lud_merge_names, "statistics of several files"),
    SECTION(windows, window_table, "windows of actions that are predicted"),
    SECTION(summary, summary_table, "what the near future sums up to"),
    SECTION(pairs, pair_table, "what was done between two frames"),
    BOOL(deterministic, "false", "act with the likeliest choice, or the mean, instead of drawing"),
    INT(execute, "1", 1, 255, "actions of a prediction that are carried out before the next one is made"),
    BOOL(ensemble, "false",
         "act by the mean of all predictions for the present step (Zhao et al., 2023), for which execute is "
         "1"),
    REAL(ensemble_decay, "0.1", 0, 100, "m: a prediction made k steps ago has the weight exp(-m k)"),
    INT(evaluation_episodes, "200", 1, 1000000000, "episodes of an evaluation"),
    SECTION(dagger, dagger_table, "labels for states that the clone itself visits"),
    SECTION(network, network_table, "the actor, as graph MAPPO's"),
};
const lud_option_table lud_clone_option_table =
    OPTION_TABLE("learner", "imitation of recorded episodes", clone_options);

/* Graph MAPPO's defaults with what may be chosen here. */
static lud_status complete_network(lud_arena *arena, lud_mappo_options *network, lud_error *error) {
    lud_mappo_options whole;
    LUD_TRY(lud_options_default(&lud_mappo_option_table, arena, &whole, error));
    whole.heads = NULL;
    whole.encoder = network->encoder;
    whole.identify = network->identify;
    whole.hidden_size = network->hidden_size;
    whole.layers = network->layers;
    whole.channels = network->channels;
    whole.convolutions = network->convolutions;
    whole.tanh = network->tanh;
    whole.orthogonal = network->orthogonal;
    whole.feature_normalisation = network->feature_normalisation;
    whole.output_gain = network->output_gain;
    whole.graph = network->graph;
    whole.recurrent = false; /* samples stand alone */
    whole.centralised = false;
    whole.control = LUD_MAPPO_DIRECT;
    whole.chunk_length = 1;
    *network = whole;
    return LUD_OK;
}

static lud_status check(const lud_clone_options *o, const lud_scenario *scenario, lud_error *error) {
    const lud_place place = scenario->learner->place;
    LUD_TRY(lud_shares_check(o->shares, o->batch, "samples of a minibatch (batch)", place, error));
    if (o->weights.n > 0 && o->weights.n != o->data.n)
        return lud_invalid_at(error, place,
                              "learner.weights: expected one for each of the %zu files of data, found %zu",
                              o->data.n, o->weights.n);
    if (o->data.n == 0 && o->dagger.rounds == 0)
        return lud_invalid_at(
            error, place,
            "learner.data: expected a file of recorded episodes, or dagger.rounds and an expert");
    if (o->dagger.rounds > 0 && !o->dagger.expert)
        return lud_invalid_at(error, place, "learner.dagger.expert: expected who is asked");
    if (o->ensemble && o->execute != 1)
        return lud_invalid_at(error, place,
                              "learner.execute: expected 1 with ensemble, which predicts at every step");
    if (o->execute > o->windows.horizon)
        return lud_invalid_at(error, place, "learner.execute: expected at most the horizon of windows, %lld",
                              (long long)o->windows.horizon);
    if (o->windows.horizon > 1) {
        const lud_status status = lud_chunks_check(scenario->model, error);
        if (status) return lud_fail_context(error, "learner.windows.horizon");
    }
    return LUD_OK;
}

static lud_status find_paths(lud_arena *arena, const lud_scenario *scenario, lud_clone_options *o,
                             lud_error *error) {
    bool whole = true;
    for (size_t i = 0; i < o->data.n; i++) {
        o->data.items[i] = lud_path_find(arena, scenario->path, o->data.items[i]);
        whole = whole && o->data.items[i];
    }
    lud_tree *expert = o->dagger.expert;
    if (expert && expert->kind == LUD_TREE_SCALAR) {
        const char *path = lud_path_find(arena, scenario->path, expert->text);
        whole = whole && path;
        if (path && lud_run_is(path)) {
            expert->text = path;
            expert->text_length = strlen(path);
        }
    }
    return whole ? LUD_OK : lud_no_memory(error, "options");
}

lud_status lud_clone_options_read(lud_arena *arena, const lud_scenario *scenario, lud_clone_options *o,
                                  lud_error *error) {
    lud_status status = lud_options_read(&lud_clone_option_table, arena, scenario->learner, o, error);
    if (!status) status = lud_optimiser_options_check(&o->optimiser, scenario->learner, error);
    if (!status) status = complete_network(arena, &o->network, error);
    if (!status) status = check(o, scenario, error);
    if (!status) status = find_paths(arena, scenario, o, error);
    return status;
}

bool lud_clone_imitates(const lud_clone_options *o, const lud_layout *layout, int agent) {
    const lud_role role = layout->roles[agent];
    if (o->agents == LUD_CLONE_ROBOTS) return role == LUD_ROLE_ROBOT;
    if (o->agents == LUD_CLONE_PEOPLE) return role == LUD_ROLE_HUMAN;
    if (o->agents == LUD_CLONE_ALL) return true;
    bool robots = false;
    for (int i = 0; i < layout->n_agents; i++) robots = robots || layout->roles[i] == LUD_ROLE_ROBOT;
    return !robots || role == LUD_ROLE_ROBOT;
}
