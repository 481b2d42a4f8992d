#include "learn/mappo/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/options/automatic.h"
#include "base/options/option_rows.h"
#include "learn/policy_gradient/value_normaliser.h"

const char *const lud_mappo_encoder_names[] = {"auto", "mlp", "graph", "grid", NULL};
static const char *const control_names[] = {"direct", "mad", "base", NULL};
static const char *const pooling_names[] = {"sum", "mean", "max", NULL};
static const char *const magnitude_names[] = {"abs", "softplus", "relu", NULL};
static const char *const entropy_names[] = {"pathwise", "replayed", NULL};
static const char *const drive_names[] = {"goal", "disturbance", "central", NULL};

#define OPTIONS lud_mappo_graph_options
#define GRAPH_ROWS(chosen)                                                                                   \
    {                                                                                                        \
        INT(embedding_size, "2", 1, 64, "numbers that stand for the type of an entity"),                     \
            INT(embed_hidden_size, "16", 1, 4096, "width of messages along edges"),                          \
            INT(embed_layers, "1", 0, 16, "layers of a message after the first"),                            \
            BOOL(embed_relu, "true", "ReLU in messages, else tanh"),                                         \
            INT(hidden_size, "16", 1, 1024, "channels of an attention head"),                                \
            INT(heads, "3", 1, 64, "attention heads"),                                                       \
            BOOL(concatenate_heads, "false", "concatenate heads instead of their mean"),                     \
            INT(layers, "2", 0, 16, "attention layers after the first", .automatic = chosen),                \
            BOOL(relu, "true", "ReLU after attention, else tanh"),                                           \
            CHOICE(pooling, "mean", pooling_names, "how the critic combines the nodes of a graph"),          \
            BOOL(actor_pools, "false", "the actor sees the pooled graph instead of its own node"),           \
            BOOL(ego_critic, "false",                                                                        \
                 "the critic sees its agent's observation and node, as the actor does, instead of the "      \
                 "pooled graph",                                                                             \
                 .automatic = chosen),                                                                       \
    }
static const lud_option graph_options[] = GRAPH_ROWS(false), chosen_graph_options[] = GRAPH_ROWS(true);
const lud_option_table lud_mappo_graph_table =
    OPTION_TABLE("graph", "networks over the graph of entities", graph_options);
static const lud_option_table chosen_graph_table =
    OPTION_TABLE("graph", "networks over the graph of entities", chosen_graph_options);

#undef OPTIONS
#define OPTIONS lud_mappo_mad_options
static const lud_option mad_options[] = {
    REAL(base_gain, "1", -1000.0, 1000.0, "gain of the base controller towards the goal"),
    CHOICE(magnitude, "abs", magnitude_names, "how the output of the state-space block becomes a magnitude"),
    REAL(floor, "0.01", 1e-08, 10, "smallest magnitude in log-probabilities"),
    BOOL(floor_in_action, "false", "the floor holds in actions too; then the error cannot vanish"),
    REAL(limit, "10", 1e-06, 1000000.0, "largest magnitude"),
    CHOICE_AT(
        "input", drive, "goal", drive_names,
        "what drives the state: a kick of the relative goal at the start, the graph of disturbances, or "
        "everybody's disturbances and start in a fixed order (central, fixes the number of entities)"),
    INT(features, "16", 1, 1024, "channels of the disturbance graph network"),
    REAL(r_min, "0.85", 0, 1, "smallest modulus of the eigenvalues at the start"),
    REAL(r_max, "0.9", 0, 1, "largest modulus of the eigenvalues at the start"),
    INT(state_size, "64", 1, 4096, "complex numbers of state"),
    INT(hidden_size, "64", 1, 4096, "width of the layers behind the recurrence"),
    BOOL(detach, "false", "no gradient to the magnitude through the recovered direction"),
    REAL(learning_rate, "0", 0, 10,
         "of the magnitude, whose gradient is then clipped by itself; 0: that of the actor, clipped with it"),
    CHOICE(entropy, "pathwise", entropy_names,
           "gradient of the entropy: of its expectation (pathwise), or of its formula at recorded actions "
           "(replayed)"),
};
static const lud_option_table mad_table =
    OPTION_TABLE("mad", "magnitude and direction (control: mad)", mad_options);

#undef OPTIONS
#define OPTIONS lud_optimiser_options
static const lud_option optimiser_options[] = {LUD_OPTIMISER_ROWS("1e-5", "0")};
static const lud_option_table optimiser_table =
    OPTION_TABLE("optimiser", LUD_OPTIMISER_HELP, optimiser_options);

#undef OPTIONS
#define OPTIONS lud_mappo_options
static const lud_option mappo_options[] = {
    TEXT(type, NULL, "graph-mappo"),
    LUD_AUTOMATIC_ROW,
    LUD_MAPPO_START_ROW,
    LUD_MAPPO_ENCODER_ROW(),
    CHOICE(control, "direct", control_names,
           "the action: direct, base controller + magnitude * direction (mad), base controller + direction "
           "(base)"),
    BOOL(centralised, "true",
         "the critic sees the observations of all agents (MAPPO), else its own only (IPPO)", AUTO),
    LUD_MAPPO_IDENTIFY_ROW(, true),
    TREE(groups, "networks for each role instead of shared ones: kinds (one for each kind of agents, team or "
                 "role), or groups by name: {predators: adversary, prey: [agent, 5]}"),
    TREE(opponents, "self-play of groups against past versions of each other, for instance {past: 10, every: "
                    "10, share: 0.5}: half of the iterations one group plays as one of the ten versions that "
                    "were kept, every tenth iteration, and the others learn"),
    BOOL(factored, "false",
         "of agents that move and speak: a move and a word are drawn independently, else one of all pairs",
         AUTO),
    BOOL(recurrent, "true", "gated recurrent units in actor and critic", AUTO),
    INT(steps, "2000000", 1, 1000000000000000.0, "environment steps of the whole training", AUTO),
    INT(rollout_length, "25", 1, 100000, "steps of every environment between two updates", AUTO),
    LUD_MAPPO_LAYER_ROWS(, true),
    REAL(log_std, "0", -10, 5, "log standard deviation of continuous actions at the start"),
    INT(chunk_length, "10", 1, 100000, "steps over which recurrent units are unrolled in an update"),
    REAL(learning_rate, "0.0005", 0, 10, "of the actor", AUTO),
    REAL(critic_learning_rate, "0.0005", 0, 10, "of the critic", AUTO),
    BOOL(decay_learning_rate, "false", "both fall linearly to 0 over the training", AUTO),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    INT_AT("epochs", update.epochs, "15", 1, 1000, "passes over the rollout in an update", AUTO),
    INT(minibatches, "1", 0, 1000000, "parts of an epoch; 0: as minibatch_size says", AUTO),
    LUD_SHARES_ROW,
    INT(minibatch_size, "32", 1, 1000000000, "samples of a minibatch when minibatches is 0"),
    REAL_AT("clip", update.clip, "0.2", 0, 100, "clipping of ratios, and of values"),
    BOOL(clip_value, "true", "clip the change of values"),
    REAL_AT("entropy_coefficient", update.entropy_coefficient, "0.01", -10, 10, "weight of the entropy",
            AUTO),
    BOOL(decay_entropy, "false", "that weight falls linearly to a tenth over the training", AUTO),
    REAL(novelty, "0", 0, 1000,
         "what an agent is paid in training for being where it has seldom been, over the root of how often "
         "anybody of its number was there; falls to 0 over the first half. In multigrid",
         AUTO),
    REAL_AT("target_kl", update.target_kl, "0", 0, 1e9,
            "an update ends when a minibatch's divergence from the policy that acted passes 1.5 of it; 0: "
            "never",
            AUTO),
    REAL_AT(
        "advantage_floor", update.advantage_floor, "0", 0, 1e6,
        "advantages are divided by their deviation over the rollout, or by this share of the returns' root "
        "mean square where that is more: noise around what the critic explains is not blown up to full size",
        AUTO),
    REAL_AT("value_coefficient", update.value_coefficient, "1", 0, 1000, "weight of the value loss"),
    REAL(max_norm, "10", 0, 1000000000.0, "largest norm of each gradient; 0: no clipping"),
    REAL_AT("discount", update.gamma, "0.99", 0, 1, "gamma", AUTO),
    REAL_AT("lambda", update.lambda, "0.95", 0, 1, "of generalised advantage estimation"),
    BOOL_AT("gae", update.gae, "true", "generalised advantage estimation, else discounted sums"),
    CHOICE_AT("time_limits", update.time_limits, "terminal", lud_time_limit_names,
              "an episode cut off by its length: terminal as any end; discard, its last step gives no "
              "advantage; bootstrap, the critic's value of what was seen last stands for the rest",
              AUTO),
    REAL_AT("huber_delta", update.huber_delta, "10", 0, 1000000000.0,
            "where the value loss turns linear; 0: squared loss"),
    CHOICE(normaliser, "valuenorm", lud_value_normaliser_names,
           "of returns: none, running statistics (valuenorm), or with the output layer rescaled (popart)"),
    REAL(normaliser_beta, "0.99999", 0, 1, "forgetting of its statistics in a minibatch"),
    INT(evaluation_episodes, "100", 1, 1000000000, "episodes of an evaluation"),
    BOOL(deterministic, "true", "evaluate with the likeliest action instead of drawing"),
    SECTION_AT("gate", update.gate, lud_gate_table, "which samples give gradients"),
    SECTION_AT("baseline", update.baseline, lud_critic_baseline_table, "what returns are compared with"),
    SECTION(graph, chosen_graph_table, "graph networks"),
    SECTION(mad, mad_table, "magnitude and direction"),
};
const lud_option_table lud_mappo_option_table =
    OPTION_TABLE("learner", "proximal policy optimisation with shared parameters", mappo_options);

lud_status lud_mappo_options_read(lud_arena *arena, lud_tree *learner, lud_mappo_options *o,
                                  lud_error *error) {
    LUD_TRY(lud_mappo_options_begin(arena, learner, o, error));
    return lud_mappo_options_end(learner, o, error);
}

lud_status lud_mappo_options_begin(lud_arena *arena, lud_tree *learner, lud_mappo_options *o,
                                   lud_error *error) {
    LUD_TRY(lud_options_read(&lud_mappo_option_table, arena, learner, o, error));
    return lud_optimiser_options_check(&o->optimiser, learner, error);
}

lud_status lud_mappo_options_end(const lud_tree *learner, lud_mappo_options *o, lud_error *error) {
    const lud_place place = learner ? learner->place : (lud_place){0};
    o->update.value_clip = o->clip_value ? o->update.clip : 0.0;
    o->update.value_clipped = false;
    o->update.of_returns = true;
    o->update.scale = LUD_ADVANTAGE_OF_ROLLOUT;
    if (!o->recurrent) o->chunk_length = 1;
    if (o->chunk_length > o->rollout_length) o->chunk_length = o->rollout_length;
    if (o->mad.r_min >= o->mad.r_max || o->mad.r_max >= 1.0)
        return lud_invalid_at(error, place, "learner.mad: expected r_min < r_max < 1, not %g and %g",
                              o->mad.r_min, o->mad.r_max);
    return lud_policy_gradient_check(&o->update, place, error);
}

int64_t lud_mappo_state_width(const lud_mappo_options *options) {
    if (options->control != LUD_MAPPO_MAD) return 0;
    return (options->mad.drive == LUD_DRIVE_CENTRAL ? 4 : 2) * options->mad.state_size;
}
