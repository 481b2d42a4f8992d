/* The token policy of ticks: a transformer (learn/language) that reads what an agent is told and writes its
 * action as `{"action": "NAME"}`. All agents that act in a tick write at once; what a reply means is read in
 * parallel; a reply that means none idles. Log-probabilities are kept when tokens are drawn, so that scoring
 * needs no run of its own, and a backward pass is made of the prompts and replies of the kept rows alone. */
#pragma once

#include "learn/ticks/options.h"
#include "learn/ticks/tick_policy.h"

/* Paths in the options are relative to `file`, the scenario's. A critic reads what the transformer made of
 * the prompts (state_critic.h). LUD_ERROR_UNSUPPORTED for worlds whose agents' choices have no names. */
lud_status lud_tick_tokens_create(const lud_tick_policy_request *request, const lud_tick_options *options,
                                  const char *file, lud_tick_policy **policy, lud_error *error);

/* Since the last call: replies in which no action was found, replies that named no action, lines of agents'
 * texts that were left out of prompts, prompts' tokens, of which computed, tokens written. */
typedef struct lud_token_counts {
    int64_t replies, without_action, unknown_action, lines_left_out, prompt_tokens, computed_tokens,
        new_tokens;
} lud_token_counts;
lud_token_counts lud_tick_tokens_counts(lud_tick_policy *policy);
