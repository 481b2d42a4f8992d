/* The vector policy of ticks: networks of graph MAPPO (encoder, layers, head) over observations, one for
 * acting and one for learning on the same parameters, and a critic where one is wanted. */
#pragma once

#include "learn/ticks/options.h"
#include "learn/ticks/tick_policy.h"

/* `options` are copied; the encoder `auto` becomes what it stands for in options->policy.network.encoder.
 * LUD_ERROR_INPUT or LUD_ERROR_UNSUPPORTED when the world has not what they ask for; LUD_ERROR_MEMORY when
 * there is none for a pass of one row. */
lud_status lud_tick_vector_create(const lud_tick_policy_request *request, lud_tick_options *options,
                                  lud_tick_policy **policy, lud_error *error);

/* The policy that the options name; `file` is the scenario's, for paths relative to it (may be null). */
lud_status lud_tick_policy_open(const lud_tick_policy_request *request, lud_tick_options *options,
                                const char *file, lud_tick_policy **policy, lud_error *error);
