#include "learn/ticks/options.h"

#include "base/options/option_rows.h"
#include "learn/policy_gradient/value_normaliser.h"

static const char *const policy_names[] = {"vector", "tokens", NULL};

#define OPTIONS lud_tick_policy_options
static const lud_option policy_options[] = {
    CHOICE(type, "vector", policy_names,
           "what acts: a network over the world's observations (vector), or a language model that reads a "
           "prompt and writes its action (tokens)"),
    LUD_MAPPO_ENCODER_ROW(network.),
    BOOL_AT("centralised", network.centralised, "false",
            "the critic sees the observations of all agents, else its own only"),
    LUD_MAPPO_IDENTIFY_ROW(network., false),
    BOOL_AT(
        "factored", network.factored, "false",
        "of agents that move and speak: a move and a word are drawn independently, else one of all pairs"),
    LUD_MAPPO_LAYER_ROWS(network., false),
    REAL_AT("log_std", network.log_std, "0", -10, 5,
            "log standard deviation of continuous actions at the start"),
    SECTION_AT("graph", network.graph, lud_mappo_graph_table, "graph networks"),
    SECTION(language, lud_language_option_table, "tokens: the language model"),
};
static const lud_option_table policy_table =
    OPTION_TABLE("policy", "who acts: one policy shared by all agents", policy_options);

#undef OPTIONS
#define OPTIONS lud_tick_imitation_options
static const lud_option imitation_options[] = {
    INT(ticks, "0", 0, 1e15, "of the training's, at its beginning, in which others act"),
    TREE(policies,
         "who acts then, by role or agent, as in the scenario's section of that name, but for RUNs and what "
         "else reads observations",
         .names = LUD_NAMES_POLICY),
    REAL(share, "1", 1e-6, 1, "of what is done in a tick that is learned from, drawn"),
    REAL(learning_rate, "0.001", 0, 10, "of the policy in these ticks"),
};
static const lud_option_table imitation_table =
    OPTION_TABLE("imitation", "a start in which the policy learns to do as others do", imitation_options);

#undef OPTIONS
#define OPTIONS lud_optimiser_options
static const lud_option optimiser_options[] = {LUD_OPTIMISER_ROWS("1e-5", "0")};
static const lud_option_table optimiser_table =
    OPTION_TABLE("optimiser", LUD_OPTIMISER_HELP, optimiser_options);

#undef OPTIONS
#define OPTIONS lud_tick_options
static const lud_option options[] = {
    TEXT(type, NULL, "ticks"),
    LUD_MAPPO_START_ROW,
    SECTION(policy, policy_table, "who acts"),
    SECTION(imitation, imitation_table, "learning from what others do, before ticks"),
    INT(ticks, "20000", 1, 1e15, "of the whole training: steps of every environment"),
    INT(critic_ticks, "0", 0, 1e15,
        "before the policy learns from rewards, behind an imitation if there is one, in which only its "
        "critic "
        "does"),
    INT(ticks_per_iteration, "100", 1, 1e9, "ticks that share a row of metrics"),
    LUD_SHARES_ROW_AT(shares),
    TEXTS(training_teams, "[]",
          "teams whose experiences give gradients; the others act with the same weights. All unless said"),
    REAL(failure_cost, "0", 0, 1e9,
         "what a reply that means no action is worth less to who learns from it; returns do not tell of it"),
    REAL(discount, "0.95", 0, 1,
         "baseline critic: what the value of the next observation counts; 0: a reward stands for itself"),
    CHOICE(time_limits, "bootstrap", lud_time_limit_names,
           "an episode cut off by its length: terminal as any end; discard, its last step is not scored; "
           "bootstrap, the critic's value of what was seen last stands for the rest"),
    REAL(learning_rate, "0.0003", 0, 10, "of the policy"),
    REAL(critic_learning_rate, "0.001", 0, 10, "of the critic"),
    BOOL(decay_learning_rate, "false", "both fall linearly to 0 over the training"),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    REAL(max_norm, "1", 0, 1e9, "largest norm of each gradient; 0: no clipping"),
    REAL(entropy_coefficient, "0.01", -10, 10, "weight of the entropy of the rows that are learned from"),
    REAL(value_coefficient, "1", 0, 1000, "weight of the value loss"),
    REAL(value_rate, "0", 0, 1,
         "share of scored rows, drawn, that the critic learns from in a tick; 0: twice the rate of a gate "
         "that "
         "keeps or drops by one, else all"),
    REAL(huber_delta, "10", 0, 1e9, "where the value loss turns linear; 0: squared loss"),
    BOOL(standardise, "true",
         "baseline critic: advantages are divided by the root of their running mean square"),
    CHOICE(normaliser, "valuenorm", lud_value_normaliser_names,
           "of the critic's targets: none, running statistics (valuenorm), or with the output layer rescaled "
           "(popart)"),
    REAL(normaliser_beta, "0.999", 0, 1, "forgetting of its statistics in a tick"),
    SECTION(gate, lud_size_gate_table, "which experiences are worth a backward pass"),
    SECTION(baseline, lud_critic_baseline_table, "what rewards are compared with"),
    INT(max_rows, "0", 0, 1e9,
        "most rows in one pass through the networks; 0: as many as memory and the device are good for"),
    INT(evaluation_episodes, "64", 1, 1e9, "episodes of an evaluation"),
    BOOL(deterministic, "false", "evaluate and play with the likeliest action instead of drawing"),
};
const lud_option_table lud_tick_option_table =
    OPTION_TABLE("learner", "many agents share a policy that learns in every tick", options);

lud_status lud_tick_options_read(lud_arena *arena, lud_tree *learner, lud_tick_options *o, lud_error *error) {
    lud_status status = lud_options_read(&lud_tick_option_table, arena, learner, o, error);
    if (!status) status = lud_optimiser_options_check(&o->optimiser, learner, error);
    if (status) return status;
    return lud_gate_options_check(&o->gate, learner ? learner->place : (lud_place){0}, error);
}
