#include "learn/policy_gradient/options.h"

#include "base/options/option_rows.h"

const char *const lud_time_limit_names[] = {"terminal", "discard", "bootstrap", NULL};

static const char *const mode_names[] = {"off",     "threshold", "bernoulli",  "soft",
                                         "delight", "top_k",     "importance", NULL};
static const char *const normalise_names[] = {"kept", "all", "none", NULL};
static const char *const critic_names[] = {"all", "kept", NULL};
static const char *const rounding_names[] = {"round", "floor", "ceil", NULL};

#define OPTIONS lud_gate
#define ROWS(preset)                                                                                         \
    {                                                                                                        \
        CHOICE(                                                                                              \
            mode, "off", mode_names,                                                                         \
            "which samples of a minibatch give gradients: all (off), those whose delight reaches the price " \
            "(threshold), a draw with a sigmoid's chance (bernoulli), all weighted by it (soft; delight: "   \
            "without a price), so many of largest delight (top_k), or drawn in proportion to the size of "   \
            "delight and weighted by the inverse chance (importance)"),                                      \
            CHOICE(priority, preset, lud_gate_priority_names,                                                \
                   "what the gate compares: delight is advantage times surprisal, surprisal -ln of the "     \
                   "probability; "                                                                           \
                   "abs_delight is its size, so that bad surprises count as well and luck evens out"),       \
            REAL(alpha, "0.5", 0, 1, "additive: (1 - alpha) advantage + alpha surprisal"),                   \
            REAL(rate, "0.03", 0, 1, "share of a minibatch that passes: the price is that quantile"),        \
            BOOL(fixed_price, "false", "the price is given instead"),                                        \
            REAL(price, "0", -1e9, 1e9, "with fixed_price"),                                                 \
            REAL(temperature, "0.1", 0, 1e9, "of the sigmoid"),                                              \
            INT(min_keep, "1", 0, 1e9,                                                                       \
                "samples of a minibatch that are kept at least, those of largest delight without its sign; " \
                "0: a "                                                                                      \
                "minibatch may be left out"),                                                                \
            CHOICE(rounding, "round", rounding_names, "top_k: of rate times the samples"),                   \
            CHOICE(normalise, "kept", normalise_names,                                                       \
                   "what the sum of the losses is divided by: the samples that are kept, all, or nothing"),  \
            CHOICE(critic, "all", critic_names,                                                              \
                   "samples that the value loss learns from: all, in a pass of their own, or those kept"),   \
            INT(warmup_experiences, "500", 0, 1e15, "until so many were had the rate is warmup_rate"),       \
            REAL(warmup_rate, "0.3", 0, 1, "at first"),                                                      \
            INT(history, "0", 0, 1e9,                                                                        \
                "the price is the quantile of so many delights that came last, for batches of a few "        \
                "samples; 0: of "                                                                            \
                "the batch"),                                                                                \
            INT(history_min, "32", 1, 1e9,                                                                   \
                "delights before that price counts; until then it is the batch's"),                          \
    }
static const lud_option gate_options[] = ROWS("delight"), size_options[] = ROWS("abs_delight");
const lud_option_table lud_gate_table =
    OPTION_TABLE("gate", "which experiences are worth a backward pass (the Kondo gate)", gate_options);
const lud_option_table lud_size_gate_table =
    OPTION_TABLE("gate", "which experiences are worth a backward pass (the Kondo gate)", size_options);

lud_status lud_gate_options_check(const lud_gate *gate, lud_place place, lud_error *error) {
    lud_error wrong = {0};
    if (gate->mode == LUD_GATE_OFF || lud_gate_check(gate, &wrong) == LUD_OK) return LUD_OK;
    return lud_invalid_at(error, place, "learner.gate: %s", wrong.text);
}

lud_status lud_policy_gradient_check(const lud_policy_gradient_options *options, lud_place place,
                                     lud_error *error) {
    if (options->baseline.type == LUD_BASELINE_EXPECTED_CONFIDENCE)
        return lud_invalid_at(
            error, place,
            "learner.baseline: expected_confidence needs the probabilities of all actions, and "
            "a rollout keeps that of the one taken; expected critic, zero, group_mean, "
            "ema_only or warmup_then_ema");
    return lud_gate_options_check(&options->gate, place, error);
}
