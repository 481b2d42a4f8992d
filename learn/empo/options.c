#include "learn/empo/options.h"

#include "base/options/automatic.h"
#include "base/options/option_rows.h"
#include "learn/nn/shares.h"

static const char *const restart_names[] = {"visited", "successors", "configurations", NULL};

#define STEPS 1e15
/* One line for each of the five networks. */
#define PER_NET(LINE)                                                                                        \
    LINE(v_h_e, LUD_NET_V_H_E), LINE(x_h, LUD_NET_X_H), LINE(u_r, LUD_NET_U_R), LINE(q_r, LUD_NET_Q_R),      \
        LINE(v_r, LUD_NET_V_R)
#define DECAY(net, n)                                                                                        \
    REAL_AT(#net "_weight_decay", weight_decay[n], "-1", -1, 1, "of this network; -1: as `optimiser`", AUTO)
#define CLIP(net, n)                                                                                         \
    REAL_AT(#net "_grad_clip", stages.clip[n], "10", 0, 1e12, "largest gradient norm; 0: no limit")
#define INTERVAL(net, n)                                                                                     \
    INT_AT(#net "_target_update_interval", target_interval[n], "100", 1, STEPS,                              \
           "training steps between copies to the target network", AUTO)
#define DROPOUT(net, n)                                                                                      \
    REAL_AT(#net "_dropout", head_dropout[n], "-1", -1, 0.99, "of this head; -1: as `dropout`")

static const char *const presets[] = {"best", "reference", NULL};
static const char *const pi_r_modes[] = {"direct", "mcts", NULL};

static const char *const target_modes[] = {"one_step", "n_step", "episode", NULL};

#define OPTIONS lud_optimiser_options
TABLE(optimiser_table, "optimiser", LUD_OPTIMISER_HELP, LUD_OPTIMISER_ROWS("1e-8", "1e-4"));

#undef OPTIONS
#define OPTIONS lud_empo_learner_options
static const lud_option options[] = {
    TEXT(type, "empo-phase2", "empo-phase2"),
    LUD_AUTOMATIC_ROW,
    CHOICE(
        preset, "best", presets,
        "best: open options get the values that are known to be best; reference: those of the reference, in "
        "brackets, as with automatic: false"),
    LUD_EMPO_THEORY_OPTIONS(theory),
    TREE(human_prior,
         "how people act: `exact` (solved first), `{type: learned, run: RUN}`, or a policy; "
         "left out: exact where the world has at most exact_max_states states, else {type: heuristic}",
         .names = LUD_NAMES_POLICY),

    INT(environments, "8", 1, 65536, "environments side by side"),
    INT(steps_per_episode, "50", 0, STEPS, "0: until the world ends the episode", AUTO),
    INT(buffer_size, "100000", 1, 1e9, "transitions kept", AUTO),
    MEMORY(buffer_memory, "0.25", 0.0001, 1000, "memory for them; the oldest go first"),
    REAL(training_steps_per_env_step, "1", 1e-6, 1e6, "updates for one step of one environment", AUTO),
    REAL(goal_resample_prob, "0.01", 0, 1, "chance per step to redraw all goals"),
    BOOL(fresh_goals, "true",
         "targets use goals and actions of people drawn anew in each state; false: those acted on"),
    BOOL(expected_people, "false",
         "targets are expectations over all goals and actions of people instead of one draw", AUTO),
    REAL(restart_prob, "0", 0, 1,
         "chance that an episode begins in a state met before, not where the world resets to", AUTO),
    CHOICE(restart_from, "visited", restart_names,
           "states that are kept to restart from: those visited, all successors of those visited, or (with "
           "met_memory) a few of every configuration of objects",
           AUTO),
    INT(restart_choices, "2", 1, 16, "kept states drawn, of which the one restarted from least is taken",
        AUTO),
    INT(restart_steps, "0", 0, STEPS, "length of such episodes; 0: until the world ends them", AUTO),
    INT(restart_states, "1000000", 1, 1e8, "most states kept"),
    REAL_AT("epsilon_r_start", stages.epsilon_r_start, "1", 0, 1, "robot exploration at first"),
    REAL_AT("epsilon_r_end", stages.epsilon_r_end, "0.01", 0, 1, "robot exploration after its decay", AUTO),
    INT_AT("epsilon_r_decay_steps", stages.epsilon_r_steps, "10000", 0, STEPS, "length of the decay", AUTO),
    REAL_AT("epsilon_h_start", stages.epsilon_h_start, "1", 0, 1, "human exploration at first"),
    REAL_AT("epsilon_h_end", stages.epsilon_h_end, "0.01", 0, 1, "human exploration after its decay", AUTO),
    INT_AT("epsilon_h_decay_steps", stages.epsilon_h_steps, "10000", 0, STEPS, "length of the decay", AUTO),
    BOOL(use_count_based_curiosity, "false", "robots prefer successors seen rarely"),
    REAL(count_curiosity_scale, "1", 0, 1e6, "factor of that bonus"),
    BOOL(count_curiosity_use_ucb, "false", "bonus sqrt(ln N / (n + 1)) instead of 1 / sqrt(n + 1)"),
    REAL(count_curiosity_bonus_coef_r, "0.1", 0, 1e6, "weight c of the bonus in exp(c bonus)"),
    REAL(count_curiosity_bonus_coef_h, "0.1", 0, 1e6,
         "the same for people: their bonus counts how often they did an action in a state"),
    BOOL(use_rnd, "false", "robots prefer successors that random network distillation calls novel"),
    INT(rnd_feature_dim, "64", 1, 65536, "outputs of its two networks"),
    INT(rnd_hidden_dim, "256", 1, 65536, "width of their hidden layers"),
    REAL(rnd_bonus_coef_r, "0.1", 0, 1e6, "weight c of novelty in exp(c novelty)"),
    REAL(rnd_bonus_coef_h, "0.1", 0, 1e6, "the same for people, with use_human_action_rnd"),
    REAL(lr_rnd, "1e-4", 0, 10, "learning rate of the predictors"),
    REAL(rnd_weight_decay, "-1", -1, 1, "their weight decay; -1: as `optimiser`"),
    REAL(rnd_grad_clip, "10", 0, 1e12, "their largest gradient norm; 0: no limit"),
    BOOL(normalize_rnd, "true", "novelty in units of its running deviation"),
    REAL(rnd_normalization_decay, "0.99", 0, 1,
         "share of the old running mean and variance kept at an update"),
    BOOL(use_human_action_rnd, "false",
         "people prefer actions that are novel for them in a state; needs use_rnd"),
    BOOL(rnd_use_adaptive_lr, "false",
         "learning rates of networks are multiplied by a batch's novelty over its running mean; needs "
         "use_rnd"),
    REAL(rnd_adaptive_lr_scale, "1", 0, 1e6, "times this"),
    REAL(rnd_adaptive_lr_min, "0.1", 0, 1e6, "but at least this"),
    REAL(rnd_adaptive_lr_max, "10", 0, 1e6, "and at most this"),

    CHOICE(pi_r_mode, "direct", pi_r_modes,
           "robots act by pi_r of the learned Q_r, or by a tree search (mcts) guided by it"),
    INT(mcts_num_simulations, "32", 1, 1e6, "paths of a search"),
    REAL(mcts_c_puct, "1.5", 1e-9, 1e9, "weight of the prior in choosing where to look"),
    REAL(mcts_temperature, "1", 1e-3, 1e3,
         "the search's policy is in proportion to visits^(1 / temperature)"),
    INT(mcts_max_depth, "5", 1, 500, "steps of a path"),
    REAL(mcts_dirichlet_alpha, "0.3", 1e-3, 1e3, "of the noise in the root's prior"),
    REAL(mcts_root_noise_frac, "0", 0, 1, "its share; 0: none"),
    INT(mcts_enable_after_training_step, "0", 0, STEPS, "no search before; and none while beta_r is 0"),
    BOOL(async_training, "false",
         "environments run in threads beside the training; faster, but no two runs are the same"),
    INT(num_actors, "1", 1, 1024, "threads, each with `environments` environments"),
    INT(actor_sync_freq, "100", 1, STEPS, "training steps between copies to them"),
    INT(rnd_sync_freq, "10", 0, STEPS, "the same with use_rnd; 0: actor_sync_freq"),
    INT(async_min_buffer_size, "1000", 1, 1e9, "transitions before training begins"),
    REAL(max_env_steps_per_training_step, "10", 0, 1e9,
         "actors wait when they are further ahead and training does not wait for them; 0: never"),
    INT(async_queue_size, "10000", 1, 1e9,
        "transitions on their way to the memory; when they are so many, actors wait"),

    MEMORY(
        met_memory, "0", 0, 1000,
        "memory for the states met, with their successors and values by exact look-ahead, from which robots "
        "act "
        "and networks learn; 0: Q_r by a network or table, targets from a replay memory",
        AUTO),
    INT(met_refresh, "64", 0, 1e6,
        "with met_memory: values of states without successors that are asked of the networks again in "
        "an update"),

    BOOL(path_features, "false",
         "with met_memory: networks read how far people have to walk, and learn what is to be added to what "
         "that makes likely",
         AUTO),
    INT_AT("num_training_steps", stages.total, "100000", 1, STEPS, "updates in all", AUTO),
    INT(updates_per_iteration, "100", 1, STEPS, "updates for a line of metrics"),
    INT(batch_size, "64", 1, 65536, "transitions for an update", AUTO),
    LUD_SHARES_ROW_AT(shares),
    INT(replay_contest, "1", 1, 64,
        "transitions drawn for each one used: that whose targets were missed by most; 1: uniform"),
    CHOICE(v_h_e_target_mode, "one_step", target_modes,
           "V_h^e of pursued goals looks ahead one step, n, or to the end of the stored episode"),
    CHOICE(q_r_target_mode, "one_step", target_modes,
           "Q_r of the action taken likewise; other actions one step"),
    INT(v_h_e_n_step, "5", 1, STEPS, "steps of n_step for V_h^e"),
    INT(q_r_n_step, "5", 1, STEPS, "for Q_r"),
    BOOL(trajectory_cut_at_exploration, "true",
         "such targets end before a step in which somebody explored; false: they go on, biased"),
    INT_AT("trajectory_replay_max_age_training_steps", trajectory_max_age, "0", 0, STEPS,
           "with such targets transitions that were stored more training steps ago are not sampled; 0: no "
           "limit"),
    REAL(hindsight_prob, "0", 0, 0.99,
         "chance that a goal of V_h^e is replaced by one that the person achieved later in the episode"),
    BOOL_AT("hindsight_keeps_frequencies", hindsight_whole, "false",
            "weigh such goals so that each counts in all as often as it is drawn"),
    INT_AT("warmup_v_h_e_steps", stages.warmup[LUD_NET_V_H_E], "10000", 0, STEPS, "length of stage 0", AUTO),
    INT_AT("warmup_x_h_steps", stages.warmup[LUD_NET_X_H], "10000", 0, STEPS, "length of stage 1", AUTO),
    INT_AT("warmup_u_r_steps", stages.warmup[LUD_NET_U_R], "5000", 0, STEPS, "length of stage 2", AUTO),
    INT_AT("warmup_q_r_steps", stages.warmup[LUD_NET_Q_R], "10000", 0, STEPS, "length of stage 3", AUTO),
    INT_AT("warmup_v_r_steps", stages.warmup[LUD_NET_V_R], "5000", 0, STEPS, "length of stage 4", AUTO),
    INT_AT("beta_r_rampup_steps", stages.beta_r_ramp, "20000", 0, STEPS, "length of stage 5; 0: a jump",
           AUTO),
    BOOL_AT("gamma_h_curriculum", stages.gamma_h_curriculum, "false", "gamma_h rises from gamma_h_start"),
    INT_AT("gamma_h_rampup_steps", stages.gamma_h_ramp, "5000", 0, STEPS, "from step 0, within stage 0",
           AUTO),
    REAL_AT("gamma_h_start", stages.gamma_h_start, "0", 0, 1, "where it starts"),
    BOOL_AT("gamma_r_curriculum", stages.gamma_r_curriculum, "false", "gamma_r rises from gamma_r_start"),
    INT_AT("gamma_r_rampup_steps", stages.gamma_r_ramp, "5000", 0, STEPS, "from stage 3 on, within it", AUTO),
    REAL_AT("gamma_r_start", stages.gamma_r_start, "0", 0, 1, "where it starts"),
    REAL_AT("lr_v_h_e", stages.lr[LUD_NET_V_H_E], "1e-3", 0, 10, "base learning rate of V_h^e", AUTO),
    REAL_AT("lr_x_h", stages.lr[LUD_NET_X_H], "1e-4", 0, 10, "of X_h"),
    REAL_AT("lr_u_r", stages.lr[LUD_NET_U_R], "1e-4", 0, 10, "of U_r"),
    REAL_AT("lr_q_r", stages.lr[LUD_NET_Q_R], "1e-4", 0, 10, "of Q_r", AUTO),
    REAL_AT("lr_v_r", stages.lr[LUD_NET_V_R], "1e-4", 0, 10, "of V_r", AUTO),
    BOOL_AT("use_sqrt_lr_decay", stages.decay_lr, "true", "rates decay at the end; false: constant"),
    REAL_AT("lr_constant_fraction", stages.constant_fraction, "0.7", 0, 1, "share of all updates before",
            AUTO),
    BOOL_AT("constant_lr_then_1_over_t", stages.inverse_decay, "true", "decay 1 / t; false: 1 / sqrt t"),
    BOOL_AT("cosine_lr_decay", stages.cosine_decay, "false",
            "decay along half a cosine to 0 at the last update instead", AUTO),
    SECTION(optimiser, optimiser_table, LUD_OPTIMISER_HELP),
    PER_NET(DECAY),
    PER_NET(CLIP),
    BOOL_AT("auto_grad_clip", stages.clip_follows_lr, "true",
            "limits are multiplied by rate / reference rate"),
    REAL_AT("auto_grad_clip_reference_lr", stages.clip_reference_lr, "1e-4", 1e-12, 10, "the reference rate"),
    PER_NET(INTERVAL),
    BOOL_AT("gradual_buffer_clearing", stages.gradual_clearing, "true",
            "phase old transitions out; false: empty the memory on entering stages 5 and 6"),
    BOOL_AT("buffer_clearing_lasts", stages.clearing_lasts, "true",
            "what was phased out stays out; false: it comes back when that phase has ended"),
    BOOL_AT("use_z_space_transform", z_space, "false", "Q_r and V_r networks emit z = (-Q)^(-1/(eta xi))"),
    BOOL_AT("use_z_based_loss", stages.z_loss, "false", "errors in z while the rate is constant"),
    BOOL_AT("use_log_space_transform", log_space, "false",
            "Q_r and V_r networks emit ln(-value), errors in ln(1 - value): relative errors count alike",
            AUTO),
    BOOL_AT("q_r_dueling", dueling, "false",
            "the Q_r network has one stream for the state and one for the joint robot actions", AUTO),
    BOOL_AT("q_r_advantage_weighted_loss", advantage_loss, "false",
            "weight the errors of actions by pi (1 - pi)"),
    REAL_AT("q_r_advantage_weight_floor", advantage_floor, "0", 0, 1e6, "added to those weights"),
    INT(x_h_goals, "0", 0, 1e6,
        "goals drawn for a target of X_h, or for X_h itself without its network; 0: all goals"),
    BOOL_AT("x_h_use_network", stages.x_h_network, "true", "learn X_h instead of computing it from V_h^e",
            AUTO),
    BOOL_AT("u_r_use_network", stages.u_r_network, "false", "learn U_r instead of computing it from X_h"),
    BOOL_AT("v_r_use_network", stages.v_r_network, "false",
            "learn V_r instead of computing it from U_r and Q_r", AUTO),
    BOOL(include_step_count, "true", "remaining steps are part of a state"),

    INT(hidden_dim, "256", 4, 65536, "width F of heads and state features", AUTO),
    INT(goal_feature_dim, "64", 1, 65536, "width of the goal encoder"),
    INT(agent_embedding_dim, "16", 1, 65536, "width of an agent's embedding"),
    INT(agent_position_feature_dim, "32", 1, 65536, "of its place"),
    INT(agent_feature_dim, "32", 1, 65536, "of its features"),
    REAL(dropout, "0.5", 0, 0.99, "of the hidden layers of all heads", AUTO),
    PER_NET(DROPOUT),
    REAL(x_h_floor, "0", 0, 1, "least value of X_h; 0: the smallest weight of a goal"),

    BOOL(use_lookup_tables, "false", "tables instead of networks", AUTO),
    BOOL_AT("use_lookup_v_h_e", use_lookup[LUD_NET_V_H_E], "true", "V_h^e by a table"),
    BOOL_AT("use_lookup_x_h", use_lookup[LUD_NET_X_H], "true", "X_h by a table, when x_h_use_network is on"),
    BOOL_AT("use_lookup_u_r", use_lookup[LUD_NET_U_R], "true", "U_r by a table, when u_r_use_network is on"),
    BOOL_AT("use_lookup_q_r", use_lookup[LUD_NET_Q_R], "true", "Q_r by a table"),
    BOOL_AT("use_lookup_v_r", use_lookup[LUD_NET_V_R], "true", "V_r by a table, when v_r_use_network is on"),
    REAL_AT("lookup_default_v_h_e", lookup_default[LUD_NET_V_H_E], "0", 0, 1, "starting value", AUTO),
    REAL_AT("lookup_default_x_h", lookup_default[LUD_NET_X_H], "1e-10", 1e-30, 1, "starting value"),
    REAL_AT("lookup_default_y", lookup_default[LUD_NET_U_R], "2", 1e-30, 1e30, "starting value of y"),
    REAL_AT("lookup_default_q_r", lookup_default[LUD_NET_Q_R], "-1", -1e30, -1e-30, "starting value"),
    REAL_AT("lookup_default_v_r", lookup_default[LUD_NET_V_R], "-1", -1e30, -1e-30, "starting value"),
    BOOL(lookup_use_adaptive_lr, "false", "rate n^-power at an entry's n-th update; false: lookup_lr"),
    REAL(lookup_lr, "0.1", 0, 1, "constant rate of table entries", AUTO),
    REAL(lookup_adaptive_lr_min, "1e-6", 0, 1, "least adaptive rate"),
    REAL(lookup_adaptive_lr_power, "1", 0.5, 1, "its power"),

    INT_AT("plasticity_diagnostics_interval", plasticity_interval, "0", 0, STEPS,
           "training steps between looks at how many units are silent; 0: none"),
    INT_AT("plasticity_diagnostics_batch_size", plasticity_batch_size, "256", 1, 512,
           "states for it, from the replay memory"),
    REAL_AT("plasticity_dormant_tau", plasticity_tau, "0.025", 0, 1,
            "a unit below this share of its layer's mean activation is dormant"),
    INT(exact_max_states, "20000", 0, 1e9,
        "worlds of at most so many states are solved and compared with; 0: never"),
};

const lud_option_table lud_empo_learner_table =
    OPTION_TABLE("learner", "EMPO learned by networks or tables: phase 2 in five stages", options);

unsigned lud_empo_learner_networks(const lud_empo_learner_options *o) {
    unsigned networks = 0;
    if (o->met_memory > 0) return 1u << LUD_NET_V_H_E | 1u << LUD_NET_V_R;
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        if (lud_empo_stages_learn(&o->stages, net) && !o->use_lookup[net]) networks |= 1u << net;
    return networks;
}

bool lud_empo_learner_uses_trajectories(const lud_empo_learner_options *o) {
    return o->v_h_e_target_mode != LUD_EMPO_ONE_STEP || o->q_r_target_mode != LUD_EMPO_ONE_STEP;
}

bool lud_empo_learner_keeps_trajectories(const lud_empo_learner_options *o) {
    return lud_empo_learner_uses_trajectories(o) || o->hindsight_prob > 0;
}

lud_status lud_empo_learning_check(lud_empo_theory *theory, lud_optimiser_options *optimiser,
                                   int64_t batch_size, int64_t buffer_size, const char *instead,
                                   lud_tree *learner, lud_error *error) {
    const lud_place place = learner ? learner->place : (lud_place){0};
    LUD_TRY(lud_empo_theory_check(theory, place, error));
    LUD_TRY(lud_optimiser_options_check(optimiser, learner, error));
    if (theory->nu_h > 0)
        return lud_invalid_at(error, place, "nu_h is %g; %s, expected 0", theory->nu_h, instead);
    if (batch_size > buffer_size)
        return lud_invalid_at(error, place, "batch_size is %lld; expected at most buffer_size, %lld",
                              (long long)batch_size, (long long)buffer_size);
    return LUD_OK;
}

lud_status lud_empo_learner_options_begin(lud_arena *arena, lud_tree *learner, lud_empo_learner_options *o,
                                          lud_error *error) {
    LUD_TRY(lud_options_read(&lud_empo_learner_table, arena, learner, o, error));
    if (o->preset == LUD_EMPO_AS_REFERENCE) o->automatic = false;
    return LUD_OK;
}

/* What only training from a replay memory can do: the first of these that is asked for, or null. */
const char *lud_empo_learner_needs_replay(const lud_empo_learner_options *o) {
    const struct {
        bool asked;
        const char *name;
    } all[] = {{o->use_lookup_tables, "use_lookup_tables"},
               {o->async_training, "async_training"},
               {o->use_rnd, "use_rnd"},
               {o->use_count_based_curiosity, "use_count_based_curiosity"},
               {o->pi_r_mode != LUD_EMPO_DIRECT, "pi_r_mode: mcts"},
               {o->plasticity_interval > 0, "plasticity_diagnostics_interval"},
               {o->v_h_e_target_mode != LUD_EMPO_ONE_STEP, "v_h_e_target_mode"},
               {o->q_r_target_mode != LUD_EMPO_ONE_STEP, "q_r_target_mode"},
               {o->hindsight_prob > 0, "hindsight_prob"},
               {!o->fresh_goals, "fresh_goals: false"},
               {o->replay_contest > 1, "replay_contest"},
               {o->advantage_loss, "q_r_advantage_weighted_loss"},
               {o->stages.u_r_network, "u_r_use_network"},
               {o->stages.gamma_h_curriculum, "gamma_h_curriculum"},
               {o->stages.gamma_r_curriculum, "gamma_r_curriculum"},
               {o->z_space, "use_z_space_transform"},
               {o->x_h_goals > 0, "x_h_goals"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].asked) return all[i].name;
    return NULL;
}

/* Values of states that were met come from look-ahead; V_h^e of all goals and V_r have networks. */
static lud_status check_met(const lud_empo_learner_options *o, lud_place place, lud_error *error) {
    const char *other = lud_empo_learner_needs_replay(o);
    if (other)
        return lud_invalid_at(error, place,
                              "%s belongs to training from a replay memory; expected met_memory: 0", other);
    if (!o->expected_people || o->stages.x_h_network || !o->stages.v_r_network)
        return lud_invalid_at(error, place,
                              "met_memory looks ahead over all that people may do; expected expected_people: "
                              "true, x_h_use_network: false and v_r_use_network: true");
    return LUD_OK;
}

lud_status lud_empo_learner_options_end(lud_tree *learner, lud_empo_learner_options *o, lud_error *error) {
    const lud_place place = learner ? learner->place : (lud_place){0};
    LUD_TRY(lud_empo_learning_check(&o->theory, &o->optimiser, o->batch_size, o->buffer_size,
                                    "empo-phase2 takes what people do from human_prior", learner, error));
    LUD_TRY(
        lud_shares_check(o->shares, o->batch_size, "transitions for an update (batch_size)", place, error));
    lud_empo_stages *s = &o->stages;
    s->beta_r = o->theory.beta_r;
    s->gamma_h = o->theory.gamma_h;
    s->gamma_r = o->theory.gamma_r;
    if (s->gamma_h_curriculum && s->gamma_h_ramp > s->warmup[LUD_NET_V_H_E])
        return lud_invalid_at(error, place,
                              "gamma_h_rampup_steps is %lld; expected at most warmup_v_h_e_steps, %lld",
                              (long long)s->gamma_h_ramp, (long long)s->warmup[LUD_NET_V_H_E]);
    if (s->gamma_r_curriculum && s->gamma_r_ramp > s->warmup[LUD_NET_Q_R])
        return lud_invalid_at(error, place,
                              "gamma_r_rampup_steps is %lld; expected at most warmup_q_r_steps, %lld",
                              (long long)s->gamma_r_ramp, (long long)s->warmup[LUD_NET_Q_R]);
    if (s->z_loss && !o->z_space)
        return lud_invalid_at(error, place,
                              "use_z_based_loss: expected use_z_space_transform: true beside it");
    if ((o->use_human_action_rnd || o->rnd_use_adaptive_lr) && !o->use_rnd)
        return lud_invalid_at(error, place, "%s: expected use_rnd: true beside it",
                              o->use_human_action_rnd ? "use_human_action_rnd" : "rnd_use_adaptive_lr");
    if (o->async_training && o->use_human_action_rnd)
        return lud_invalid_at(error, place,
                              "use_human_action_rnd learns from every step as it is done; expected no "
                              "async_training");
    if (o->async_training && o->use_lookup_tables && o->use_lookup[LUD_NET_Q_R])
        return lud_invalid_at(error, place,
                              "async_training copies networks to its actors; expected use_lookup_q_r: false");
    if (o->async_training && o->async_min_buffer_size > o->buffer_size)
        return lud_invalid_at(error, place,
                              "async_min_buffer_size is %lld; expected at most buffer_size, %lld",
                              (long long)o->async_min_buffer_size, (long long)o->buffer_size);
    if (o->v_h_e_target_mode != LUD_EMPO_ONE_STEP && o->fresh_goals && !o->expected_people)
        return lud_invalid_at(
            error, place,
            "v_h_e_target_mode: %s needs the goals that people pursued; expected fresh_goals: "
            "false or expected_people: true",
            target_modes[o->v_h_e_target_mode]);
    if (o->hindsight_prob > 0 && (o->expected_people || !o->fresh_goals))
        return lud_invalid_at(
            error, place, "hindsight_prob needs actions drawn apart from what people did; expected %s",
            o->expected_people ? "expected_people: false, since all goals are learned with it"
                               : "fresh_goals: true");
    if (o->log_space && o->z_space)
        return lud_invalid_at(
            error, place,
            "use_log_space_transform and use_z_space_transform exclude each other; expected one of them");
    if (o->met_memory > 0) LUD_TRY(check_met(o, place, error));
    if (o->met_memory == 0 && o->path_features)
        return lud_invalid_at(error, place, "path_features is true; expected false, or met_memory above 0");
    if (o->met_memory == 0 && o->restart_from == LUD_EMPO_CONFIGURATIONS)
        return lud_invalid_at(error, place,
                              "restart_from: configurations; expected met_memory above 0 beside it");
    for (int net = 0; net < LUD_EMPO_NETS; net++)
        o->use_lookup[net] &= o->use_lookup_tables && lud_empo_stages_learn(s, net);
    return LUD_OK;
}
