#include "learn/empo/phase1/options.h"

#include "base/options/option_rows.h"
#include "learn/empo/options.h"
#include "learn/nn/shares.h"

#define STEPS 1e15

#define OPTIONS lud_optimiser_options
TABLE(optimiser_table, "optimiser", LUD_OPTIMISER_HELP, LUD_OPTIMISER_ROWS("1e-8", "0"));

#undef OPTIONS
#define OPTIONS lud_empo_phase1_options
static const lud_option options[] = {
    TEXT(type, "empo-phase1", "empo-phase1"),
    LUD_EMPO_THEORY_OPTIONS(theory),

    INT(environments, "8", 1, 65536, "environments side by side"),
    INT(steps_per_episode, "50", 0, STEPS, "0: until the world ends the episode"),
    INT(buffer_size, "100000", 1, 1e9, "states kept with their successors, one for each person"),
    MEMORY(buffer_memory, "0.25", 0.0001, 1000, "memory for them; the oldest go first"),
    REAL(training_steps_per_env_step, "0.25", 1e-6, 1e6, "updates for one step of one environment"),
    REAL(goal_resample_prob, "0.01", 0, 1, "chance per step to redraw all goals"),
    REAL_AT("epsilon_h_start", epsilon_start, "1", 0, 1, "chance of a random action at first"),
    REAL_AT("epsilon_h_end", epsilon_end, "0.3", 0, 1, "chance of a random action after its decay"),
    INT_AT("epsilon_h_decay_steps", epsilon_steps, "5000", 0, STEPS, "length of the decay"),

    INT(num_training_steps, "20000", 1, STEPS, "updates in all"),
    INT(updates_per_iteration, "100", 1, STEPS, "updates for a line of metrics"),
    INT(batch_size, "32", 1, 65536, "states for an update"),
    LUD_SHARES_ROW_AT(shares),
    INT(goals_per_state, "8", 0, 1e6,
        "goals drawn for a state of the batch; 0, or as many as there are: every goal"),
    REAL(lr_q_h, "1e-3", 0, 10, "base learning rate of Q_h^m"),
    REAL(lr_marginal, "1e-3", 0, 10, "of the marginal network"),
    REAL(lr_constant_fraction, "0.5", 0, 1, "share of all updates before the rates fall as 1 / t"),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    REAL(grad_clip, "10", 0, 1e12, "largest gradient norm; 0: no limit"),
    INT_AT("target_update_interval", target_interval, "100", 1, STEPS,
           "training steps between copies to the target network"),
    BOOL(marginal_network, "true", "learn what people do whose goal is not known by a network of its own"),
    BOOL(include_step_count, "true", "remaining steps are part of a state"),

    INT(hidden_dim, "64", 4, 65536, "width F of heads and state features"),
    INT(goal_feature_dim, "32", 1, 65536, "width of the goal encoder"),
    INT(agent_embedding_dim, "16", 1, 65536, "width of a person's embedding"),
    INT(agent_position_feature_dim, "32", 1, 65536, "of its place"),
    INT(agent_feature_dim, "32", 1, 65536, "of its features"),
    REAL(dropout, "0", 0, 0.99, "of the hidden layers of the heads"),

    INT(exact_max_states, "20000", 0, 1e9,
        "worlds of at most so many states are solved and compared with; 0: never"),
};

const lud_option_table lud_empo_phase1_table = OPTION_TABLE(
    "learner", "what people would do for each goal, learned by networks: phase 1 of EMPO", options);

lud_status lud_empo_phase1_options_read(lud_arena *arena, lud_tree *learner, lud_empo_phase1_options *o,
                                        lud_error *error) {
    LUD_TRY(lud_options_read(&lud_empo_phase1_table, arena, learner, o, error));
    LUD_TRY(lud_shares_check(o->shares, o->batch_size, "states for an update (batch_size)",
                             learner ? learner->place : (lud_place){0}, error));
    return lud_empo_learning_check(&o->theory, &o->optimiser, o->batch_size, o->buffer_size,
                                   "empo-phase1 learns equation (2) without habit", learner, error);
}

lud_empo_phase1_now lud_empo_phase1_at(const lud_empo_phase1_options *o, int64_t step) {
    const lud_schedule epsilon = {.kind = LUD_SCHEDULE_LINEAR,
                                  .start = o->epsilon_start,
                                  .end = o->epsilon_end,
                                  .length = (double)o->epsilon_steps};
    lud_schedule lr = {.kind = LUD_SCHEDULE_INVERSE,
                       .start = 1.0,
                       .hold = o->lr_constant_fraction * (double)o->num_training_steps};
    if (lr.hold < 1.0) lr.hold = 1.0;
    const double factor = lud_schedule_at(&lr, (double)step);
    return (lud_empo_phase1_now){.epsilon = lud_schedule_at(&epsilon, (double)step),
                                 .lr_q_h = o->lr_q_h * factor,
                                 .lr_marginal = o->lr_marginal * factor};
}
