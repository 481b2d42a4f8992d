#include "learn/language/prompt.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/batch.h"

const char lud_action_open[] = "{\"action\": \"";
const char lud_action_close[] = "\"}";

typedef struct team_tokens {
    int32_t *tokens;
    int64_t n;
} team_tokens;

enum { MOST_THREADS = 256 };

struct lud_prompter {
    const lud_model *model;
    const lud_tokenizer *tokenizer;
    int64_t most;
    int n_teams;
    team_tokens *teams; /* [n_teams] what their prompts begin with */
    team_tokens mark;   /* what they end with */
    lud_text scratches[MOST_THREADS];
};

/* --- texts --- */

int lud_prompt_team(const lud_layout *layout, int agent) {
    return layout->teams && layout->n_teams > 0 ? layout->teams[agent] : 0;
}

/* A member of the team. */
static int agent_of(const lud_layout *layout, int team) {
    int agent = 0;
    while (agent + 1 < layout->n_agents && lud_prompt_team(layout, agent) != team) agent++;
    return agent;
}

void lud_prompt_team_text(const lud_model *model, int team, lud_text *out) {
    if (model->world->describe_team) {
        model->world->describe_team(model, team, out);
    } else {
        const lud_action_space *actions = &model->layout.actions[agent_of(&model->layout, team)];
        lud_text_append(out, "Choose one of these actions:");
        for (int k = 0; k < actions->n_discrete; k++) lud_text_append(out, " %s", actions->names[k]);
    }
    if (out->length && out->bytes[out->length - 1] != '\n') lud_text_append(out, "\n");
}

void lud_prompt_agent_text(const lud_model *model, const uint8_t *state, int agent, lud_text *out) {
    if (model->world->describe_agent) {
        model->world->describe_agent(model, state, agent, out);
    } else {
        lud_text_append(out, "You are agent %d.\n", agent);
        model->world->describe(model, state, out);
    }
    if (out->length && out->bytes[out->length - 1] != '\n') lud_text_append(out, "\n");
}

/* --- creation --- */

static bool encode(const lud_tokenizer *tokenizer, bool begin, const char *text, size_t length,
                   team_tokens *out) {
    const bool marked = begin && lud_tokenizer_begin(tokenizer) >= 0;
    const int64_t n = lud_tokenizer_encode(tokenizer, text, length, NULL, 0);
    out->tokens = n < 0 ? NULL : malloc(((size_t)n + 1) * sizeof *out->tokens);
    if (!out->tokens) return false;
    if (marked) out->tokens[0] = lud_tokenizer_begin(tokenizer);
    lud_tokenizer_encode(tokenizer, text, length, out->tokens + marked, n);
    out->n = n + marked;
    return true;
}

static lud_status check_names(const lud_model *model, lud_error *error) {
    for (int agent = 0; agent < model->layout.n_agents; agent++) {
        const lud_action_space *actions = &model->layout.actions[agent];
        if (actions->n_discrete == 0 || actions->n_continuous > 0 || !actions->names || actions->n_moves > 0)
            return lud_fail(
                error, LUD_ERROR_UNSUPPORTED,
                "learner.policy: agents that write choose by names; agent %d of the world %s has no "
                "single choice with names",
                agent, model->world->name);
    }
    return LUD_OK;
}

static lud_status encode_teams(lud_prompter *p, const char *mark, lud_error *error) {
    lud_text text = {0};
    bool ok = encode(p->tokenizer, false, mark, strlen(mark), &p->mark);
    lud_status status = LUD_OK;
    for (int team = 0; team < p->n_teams && ok && !status; team++) {
        lud_text_clear(&text);
        lud_prompt_team_text(p->model, team, &text);
        ok = !text.failed &&
             encode(p->tokenizer, true, text.bytes ? text.bytes : "", text.length, &p->teams[team]);
        if (ok && p->teams[team].n + p->mark.n > p->most)
            status = lud_invalid(
                error,
                "the text of a team takes %lld tokens and the mark behind prompts %lld, more than "
                "the %lld of a prompt",
                (long long)p->teams[team].n, (long long)p->mark.n, (long long)p->most);
    }
    lud_text_free(&text);
    return ok ? status : lud_no_memory(error, "prompts");
}

lud_status lud_prompter_create(const lud_model *model, const lud_tokenizer *tokenizer, const char *mark,
                               int64_t most, lud_prompter **prompter, lud_error *error) {
    lud_status status = check_names(model, error);
    if (status) return status;
    lud_prompter *p = calloc(1, sizeof *p);
    const int n_teams = model->layout.n_teams > 0 && model->layout.teams ? model->layout.n_teams : 1;
    if (p) {
        *p = (lud_prompter){.model = model, .tokenizer = tokenizer, .most = most, .n_teams = n_teams};
        p->teams = calloc((size_t)n_teams, sizeof *p->teams);
    }
    if (!p || !p->teams)
        status = lud_no_memory(error, "prompts");
    else
        status = encode_teams(p, mark, error);
    if (status)
        lud_prompter_destroy(p);
    else
        *prompter = p;
    return status;
}

void lud_prompter_destroy(lud_prompter *prompter) {
    if (!prompter) return;
    for (int i = 0; i < MOST_THREADS; i++) lud_text_free(&prompter->scratches[i]);
    for (int team = 0; team < prompter->n_teams && prompter->teams; team++)
        free(prompter->teams[team].tokens);
    free(prompter->teams);
    free(prompter->mark.tokens);
    free(prompter);
}

/* --- prompts --- */

int64_t lud_prompt_shared(const lud_prompter *prompter, int agent) {
    return prompter->teams[lud_prompt_team(&prompter->model->layout, agent)].n;
}

/* Lines as long as they fit; one that does not leaves out all behind it. */
static int64_t write_lines(const lud_prompter *p, const lud_text *text, int32_t *tokens, int64_t room,
                           int64_t *n_left_out) {
    int64_t n = 0;
    bool fits = true;
    for (size_t at = 0; at < text->length;) {
        const char *end = memchr(text->bytes + at, '\n', text->length - at);
        const size_t length = end ? (size_t)(end - text->bytes) + 1 - at : text->length - at;
        const int64_t more =
            fits ? lud_tokenizer_encode(p->tokenizer, text->bytes + at, length, tokens + n, room - n) : 0;
        if (more < 0) return -1;
        fits = fits && more <= room - n;
        if (fits)
            n += more;
        else if (n_left_out)
            ++*n_left_out;
        at += length;
    }
    return n;
}

int64_t lud_prompt_write(const lud_prompter *p, const uint8_t *state, int agent, lud_text *scratch,
                         int32_t *tokens, int64_t *n_left_out) {
    const team_tokens *team = &p->teams[lud_prompt_team(&p->model->layout, agent)];
    lud_text_clear(scratch);
    lud_prompt_agent_text(p->model, state, agent, scratch);
    if (scratch->failed) return -1;
    memcpy(tokens, team->tokens, (size_t)team->n * sizeof *tokens);
    const int64_t own = write_lines(p, scratch, tokens + team->n, p->most - team->n - p->mark.n, n_left_out);
    if (own < 0) return -1;
    memcpy(tokens + team->n + own, p->mark.tokens, (size_t)p->mark.n * sizeof *tokens);
    return team->n + own + p->mark.n;
}

lud_status lud_prompt_write_all(lud_prompter *p, int n_threads, int64_t n, const uint8_t *states,
                                const int32_t *environment, const int32_t *agent, int32_t *tokens,
                                int64_t *lengths, int64_t *n_left_out, lud_error *error) {
    int64_t left_out = 0;
    bool failed = false;
    const int most = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
#pragma omp parallel for schedule(static) num_threads(most) reduction(+ : left_out) reduction(|| : failed)
    for (int64_t i = 0; i < n; i++) {
        lud_text *scratch = &p->scratches[omp_get_thread_num()];
        lengths[i] = lud_prompt_write(p, states + (size_t)environment[i] * p->model->layout.state_bytes,
                                      agent[i], scratch, tokens + i * p->most, &left_out);
        failed = failed || lengths[i] < 0;
    }
    if (n_left_out) *n_left_out += left_out;
    return failed ? lud_no_memory(error, "prompts") : LUD_OK;
}

/* --- vocabulary --- */

static void read_state(const lud_model *model, const uint8_t *state, lud_text *text, lud_vocabulary *words) {
    for (int agent = 0; agent < model->layout.n_agents; agent++) {
        lud_text_clear(text);
        lud_prompt_agent_text(model, state, agent, text);
        lud_vocabulary_read(words, text->bytes ? text->bytes : "", text->length);
    }
}

/* What everybody does at random in a step. */
static void draw_actions(const lud_model *model, uint32_t step, int32_t *actions) {
    for (int agent = 0; agent < model->layout.n_agents; agent++) {
        const lud_words words =
            lud_draw((lud_random_key){0, 0}, step, (uint32_t)agent, LUD_PURPOSE_PARAMETERS, 0);
        actions[agent] = (int32_t)lud_below(words.v[0], (uint32_t)model->layout.actions[agent].n_discrete);
    }
}

/* The words that no answer can do without come first, whatever their number. */
static void add_answers(const lud_model *model, const char *mark, lud_vocabulary *words) {
    const int64_t first = INT64_C(1) << 40;
    lud_vocabulary_add(words, lud_action_open, strlen(lud_action_open), first);
    lud_vocabulary_add(words, lud_action_close, strlen(lud_action_close), first);
    lud_vocabulary_add(words, mark, strlen(mark), first);
    for (int agent = 0; agent < model->layout.n_agents; agent++)
        for (int k = 0; k < model->layout.actions[agent].n_discrete; k++) {
            const char *name = model->layout.actions[agent].names[k];
            if (name) lud_vocabulary_add(words, name, strlen(name), first);
        }
}

lud_status lud_prompt_vocabulary(const lud_model *model, int n_states, const char *mark, int64_t most,
                                 lud_vocabulary *vocabulary, lud_error *error) {
    lud_status status = check_names(model, error);
    if (status) return status;
    lud_batch *batch = NULL;
    LUD_TRY(lud_batch_create(model, 1, 0, 0, &batch, error));
    batch->end = LUD_END_RESETS;
    lud_text text = {0};
    int32_t *actions = calloc((size_t)model->layout.n_agents, sizeof *actions);
    add_answers(model, mark, vocabulary);
    const int n_teams = model->layout.n_teams > 0 ? model->layout.n_teams : 1;
    for (int team = 0; team < n_teams; team++) {
        lud_text_clear(&text);
        lud_prompt_team_text(model, team, &text);
        lud_vocabulary_read(vocabulary, text.bytes ? text.bytes : "", text.length);
    }
    lud_batch_reset(batch, NULL);
    for (int k = 0; k < n_states && actions; k++) {
        read_state(model, batch->states, &text, vocabulary);
        draw_actions(model, (uint32_t)k, actions);
        lud_batch_step(batch, (lud_actions){.discrete = actions}, NULL);
    }
    lud_vocabulary_order(vocabulary, most);
    if (!actions || text.failed || vocabulary->failed) status = lud_no_memory(error, "a vocabulary");
    lud_text_free(&text);
    free(actions);
    lud_batch_destroy(batch);
    return status;
}
