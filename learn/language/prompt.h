/* What an agent of a world is told: the text of its team, its own, and a mark behind which it answers.
 *
 * What all agents of a team share stands first and is the same in every state, so that a generator computes
 * it once a step. Worlds without texts for teams or agents (describe_team, describe_agent) tell the names of
 * the choices, and their whole state. */
#pragma once

#include "learn/language/tokenizer/tokenizer.h"
#include "learn/language/tokenizer/vocabulary.h"
#include "sim/world.h"

typedef struct lud_prompter lud_prompter;

/* How an action is written, and what all answers begin with: `{"action": "NAME"}`. */
extern const char lud_action_open[], lud_action_close[];

/* Texts end with `mark`. A prompt has at most `most` tokens: lines of the agent's own text that do not fit
 * are left out, the last (in worlds that tell the nearest first: the least relevant) first; the team's text
 * and the mark never are. LUD_ERROR_INPUT when these alone are too long, or the agents' choices have no
 * names. The model and the tokeniser must outlive the prompter. */
lud_status lud_prompter_create(const lud_model *model, const lud_tokenizer *tokenizer, const char *mark,
                               int64_t most, lud_prompter **prompter, lud_error *error);
/* Null is allowed. */
void lud_prompter_destroy(lud_prompter *prompter);
/* The team of an agent: that of the layout, 0 where it has none. */
int lud_prompt_team(const lud_layout *layout, int agent);
/* Writes an agent's prompt to tokens[most] and returns how many there are, -1 when memory is out. `scratch`
 * is the caller's (one a thread), and keeps the agent's own text. *n_left_out (may be null): lines. */
int64_t lud_prompt_write(const lud_prompter *prompter, const uint8_t *state, int agent, lud_text *scratch,
                         int32_t *tokens, int64_t *n_left_out);
/* Tokens that all prompts of the agent's team begin with. */
int64_t lud_prompt_shared(const lud_prompter *prompter, int agent);
/* The texts of all rows, of threads' own: prompts[n][most] of agents in their environments' states, lengths
 * [n]. Same results for any number of threads. LUD_ERROR_MEMORY when memory is out. */
lud_status lud_prompt_write_all(lud_prompter *prompter, int n_threads, int64_t n, const uint8_t *states,
                                const int32_t *environment, const int32_t *agent, int32_t *tokens,
                                int64_t *lengths, int64_t *n_left_out, lud_error *error);

/* The text of a team as it stands in prompts, and of an agent in a state, without limits. */
void lud_prompt_team_text(const lud_model *model, int team, lud_text *out);
void lud_prompt_agent_text(const lud_model *model, const uint8_t *state, int agent, lud_text *out);
/* Words of the model: of its teams, of what agents are told in `n_states` states in a row of a game played at
 * random (the same game for any seed of a run), of the actions and of how they are written. At most `most` of
 * them. */
lud_status lud_prompt_vocabulary(const lud_model *model, int n_states, const char *mark, int64_t most,
                                 lud_vocabulary *vocabulary, lud_error *error);
