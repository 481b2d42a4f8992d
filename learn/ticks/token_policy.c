#include "learn/ticks/token_policy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nn/arrays.h"
#include "learn/policy_gradient/gated_loss.h"
#include "learn/ticks/rollout.h"
#include "learn/ticks/state_critic.h"

enum { SCRATCH_THREADS = 256 };

typedef struct tokens {
    lud_tick_policy base;
    lud_language_model language;
    lud_prompter *prompter;
    lud_generator *generator;
    lud_transformer_trainer *trainer; /* null: it never learns */
    lud_state_critic critic;          /* where there is one */
    float *states, *other_states;     /* [n_acting][width] of the last act, and of rows that are valued */
    int32_t *other_prompts;           /* [n_acting][most_prompt] of rows that are valued */
    int64_t *other_lengths;
    const lud_model *model;
    bool stale; /* the parameters have changed since they were published */
    int64_t most_prompt, most_reply;
    int64_t kept;              /* rows of the last act */
    int64_t written, left_out; /* since the last time somebody asked: prompts, lines not in them */
    /* of the last act, [n_acting]: prompts and replies, each with room for the most */
    int32_t *prompts, *replies;
    int64_t *prompt_lengths, *reply_lengths;
    float *log_probs; /* [most_reply] of a row's tokens */
    /* for the generator: prompts behind each other */
    int32_t *packed, *group;
    int64_t *offsets;
    uint32_t *environment, *agent;
    /* of a lesson, [n_learning] */
    int32_t *sequence_tokens;
    lud_sequence *sequences;
    float *coefficient, *entropy, *learned; /* learned: [n_learning][most_reply] log-probabilities */
    lud_text scratch[SCRATCH_THREADS];
    lud_token_counts counts;
    lud_arrays arrays;
} tokens;

static void destroy(lud_tick_policy *policy) {
    tokens *t = (tokens *)policy;
    lud_generator_destroy(t->generator);
    lud_transformer_trainer_destroy(t->trainer);
    lud_prompter_destroy(t->prompter);
    lud_state_critic_destroy(&t->critic);
    lud_language_model_destroy(&t->language);
    for (int i = 0; i < SCRATCH_THREADS; i++) lud_text_free(&t->scratch[i]);
    lud_arrays_free(&t->arrays);
    free(t);
}

/* --- acting --- */

/* Rows from `first` on whose environments' clocks agree. */
static int64_t same_clock(const lud_tick_rows *rows, int64_t first) {
    const uint32_t tick = rows->range.tick[rows->environment[first]];
    int64_t n = 1;
    while (first + n < rows->n && rows->range.tick[rows->environment[first + n]] == tick) n++;
    return n;
}

static lud_prompts pack_prompts(tokens *t, const lud_tick_rows *rows, int64_t first, int64_t n,
                                const int32_t *prompts, const int64_t *lengths) {
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = first + i, length = lengths[row];
        t->offsets[i] = at;
        memcpy(t->packed + at, prompts + row * t->most_prompt, (size_t)length * sizeof *t->packed);
        at += length;
        t->group[i] = lud_prompt_team(&rows->model->layout, rows->agent[row]);
        t->environment[i] = rows->range.first_environment + (uint32_t)rows->environment[row];
        t->agent[i] = (uint32_t)rows->agent[row];
    }
    t->offsets[n] = at;
    return (lud_prompts){.n = n,
                         .offsets = t->offsets,
                         .tokens = t->packed,
                         .group = t->group,
                         .seed = rows->range.seed,
                         .step = rows->range.tick[rows->environment[first]],
                         .environment = t->environment,
                         .agent = t->agent};
}

static void generate(tokens *t, const lud_tick_rows *rows, int64_t first, int64_t n) {
    const lud_prompts prompts = pack_prompts(t, rows, first, n, t->prompts, t->prompt_lengths);
    lud_texts texts;
    lud_generate(t->generator, &prompts, &texts);
    for (int64_t i = 0; i < n; i++) {
        const int64_t to = (first + i) * t->most_reply, length = texts.lengths[i];
        t->reply_lengths[first + i] = length;
        memcpy(t->replies + to, texts.tokens + i * texts.most, (size_t)length * sizeof *t->replies);
        memcpy(t->log_probs + to, texts.log_probs + i * texts.most, (size_t)length * sizeof *t->log_probs);
    }
    memcpy(t->states + first * t->language.shape.width, texts.states,
           (size_t)(n * t->language.shape.width) * sizeof *t->states);
    const lud_generator_counts counts = lud_generator_last(t->generator);
    t->counts.prompt_tokens += counts.prompt_tokens;
    t->counts.computed_tokens += counts.computed_tokens;
    t->counts.new_tokens += counts.new_tokens;
}

/* What a row's reply means. */
static lud_parse_result read_reply(tokens *t, const lud_tick_rows *rows, int64_t row, lud_text *text,
                                   int32_t *choice) {
    const lud_layout *layout = &rows->model->layout;
    const lud_action_space *actions = &layout->actions[rows->agent[row]];
    lud_text_clear(text);
    lud_tokenizer_decode(t->language.tokenizer, t->reply_lengths[row], t->replies + row * t->most_reply,
                         text);
    *choice = lud_tick_idle(layout, rows->agent[row]);
    if (text->failed || !text->bytes) return LUD_PARSED_NOTHING;
    return lud_parse_choice((lud_parse_mode)t->language.options.parse, text->bytes, text->length,
                            actions->names, actions->n_discrete, choice);
}

static float mean_log_prob(const tokens *t, int64_t row) {
    const int64_t begin[2] = {0, t->reply_lengths[row]};
    float mean;
    lud_token_means(&(lud_token_rows){1, begin, NULL}, t->log_probs + row * t->most_reply, &mean);
    return mean;
}

static void write_choices(tokens *t, const lud_tick_rows *rows, const lud_tick_choices *c) {
    int64_t without = 0, unknown = 0;
    const int64_t begin = rows->first, n = rows->n - begin;
    const int n_threads =
        t->base.device->n_threads < SCRATCH_THREADS ? t->base.device->n_threads : SCRATCH_THREADS;
#pragma omp parallel for schedule(static, 1) num_threads(n_threads) reduction(+ : without, unknown)
    for (int thread = 0; thread < n_threads; thread++)
        for (int64_t i = begin + n * thread / n_threads; i < begin + n * (thread + 1) / n_threads; i++) {
            int32_t choice;
            const lud_parse_result result = read_reply(t, rows, i, &t->scratch[thread], &choice);
            without += result == LUD_PARSED_NOTHING;
            unknown += result == LUD_PARSED_UNKNOWN;
            if (c->discrete) c->discrete[i] = choice;
            if (c->log_prob) c->log_prob[i] = mean_log_prob(t, i);
            if (c->n_tokens) c->n_tokens[i] = (int32_t)t->reply_lengths[i];
            if (c->failed) c->failed[i] = result != LUD_PARSED;
            if (c->entropy) c->entropy[i] = 0.0f;
        }
    t->counts.replies += n;
    t->counts.without_action += without;
    t->counts.unknown_action += unknown;
}

static lud_status write_prompts(tokens *t, const lud_tick_rows *rows, lud_error *error) {
    assert(rows->n <= t->base.n_acting);
    t->kept = rows->n;
    const int64_t before = t->counts.lines_left_out, first = rows->first, n = rows->n - first;
    LUD_TRY(lud_prompt_write_all(t->prompter, t->base.device->n_threads, n, rows->states,
                                 rows->environment + first, rows->agent + first,
                                 t->prompts + first * t->most_prompt, t->prompt_lengths + first,
                                 &t->counts.lines_left_out, error));
    t->written += n;
    t->left_out += t->counts.lines_left_out - before;
    return LUD_OK;
}

static void publish(tokens *t) {
    if (t->stale) lud_generator_publish(t->generator);
    t->stale = false;
}

static lud_status act(lud_tick_policy *policy, const lud_tick_rows *rows, const lud_tick_choices *choices,
                      lud_error *error) {
    tokens *t = (tokens *)policy;
    LUD_TRY(write_prompts(t, rows, error));
    publish(t);
    lud_sampling sampling = lud_language_generator_options(&t->language.options).sampling;
    if (rows->greedy) sampling.temperature = 0.0;
    lud_generator_set_sampling(t->generator, &sampling);
    for (int64_t first = rows->first, n; first < rows->n; first += n) {
        n = same_clock(rows, first);
        generate(t, rows, first, n);
    }
    write_choices(t, rows, choices);
    return lud_device_check(policy->device, error);
}

static lud_status value(lud_tick_policy *policy, const lud_tick_rows *rows, float *values, lud_error *error) {
    tokens *t = (tokens *)policy;
    const int64_t begin = rows->first;
    LUD_TRY(lud_prompt_write_all(t->prompter, policy->device->n_threads, rows->n - begin, rows->states,
                                 rows->environment + begin, rows->agent + begin,
                                 t->other_prompts + begin * t->most_prompt, t->other_lengths + begin,
                                 &t->counts.lines_left_out, error));
    publish(t);
    for (int64_t first = begin, n; first < rows->n; first += n) {
        n = same_clock(rows, first);
        const lud_prompts prompts = pack_prompts(t, rows, first, n, t->other_prompts, t->other_lengths);
        lud_generator_states(t->generator, &prompts, t->other_states + first * t->language.shape.width);
    }
    lud_state_critic_values(&t->critic, rows->n - begin, t->other_states + begin * t->language.shape.width,
                            values + begin);
    return lud_device_check(policy->device, error);
}

/* --- learning --- */

/* Of the n sequences of a lesson. */
static double mean_learned(const tokens *t, int64_t n) {
    const float *log_probs = t->learned;
    double sum = 0.0;
    for (int64_t k = 0; k < n; log_probs += t->sequences[k++].response) {
        const int64_t begin[2] = {0, t->sequences[k].response};
        float mean;
        lud_token_means(&(lud_token_rows){1, begin, NULL}, log_probs, &mean);
        sum += (double)mean / (double)n;
    }
    return sum;
}

static lud_status learn(lud_tick_policy *policy, const lud_tick_lesson *lesson, lud_tick_losses *losses,
                        lud_error *error) {
    tokens *t = (tokens *)policy;
    assert(t->trainer && (lesson->n_valued == 0 || policy->has_critic));
    if (lesson->n_valued > 0 || lesson->n_seen > 0)
        losses->value = lud_state_critic_learn(&t->critic, lesson, t->states);
    const int64_t room = t->most_prompt + t->most_reply;
    for (int64_t k = 0; k < lesson->n; k++) {
        const int64_t row = lesson->row[k], prompt = t->prompt_lengths[row], reply = t->reply_lengths[row];
        int32_t *to = t->sequence_tokens + k * room;
        memcpy(to, t->prompts + row * t->most_prompt, (size_t)prompt * sizeof *to);
        memcpy(to + prompt, t->replies + row * t->most_reply, (size_t)reply * sizeof *to);
        const int64_t shared = lud_prompt_shared(t->prompter, lesson->rows->agent[row]);
        t->sequences[k] = (lud_sequence){to, prompt, reply, t->language.options.share_prefixes ? shared : 0};
        const double tokens_of = reply > 0 ? (double)reply : 1.0;
        t->coefficient[k] = (float)((double)lesson->coefficient[k] / tokens_of);
        const double weight = lesson->entropy_weight ? (double)lesson->entropy_weight[k] : 1.0;
        t->entropy[k] = (float)(-weight * lesson->entropy_coefficient / (double)lesson->n / tokens_of);
    }
    if (lesson->n > 0)
        lud_transformer_gradient(t->trainer, lesson->n, t->sequences, t->coefficient,
                                 lesson->entropy_coefficient != 0.0 ? t->entropy : NULL, t->learned);
    losses->log_prob = mean_learned(t, lesson->n);
    t->stale = true;
    return lud_device_check(policy->device, error);
}

/* The reply that writes a choice. */
static int64_t write_reply(const tokens *t, const char *name, lud_text *text, int32_t *reply) {
    lud_text_clear(text);
    lud_text_append(text, "%s%s%s", lud_action_open, name ? name : "", lud_action_close);
    return text->failed
               ? -1
               : lud_tokenizer_encode(t->language.tokenizer, text->bytes, text->length, reply, t->most_reply);
}

static lud_status assume(lud_tick_policy *policy, const lud_tick_rows *rows, const int32_t *discrete,
                         lud_error *error) {
    tokens *t = (tokens *)policy;
    LUD_TRY(write_prompts(t, rows, error));
    for (int64_t i = rows->first; i < rows->n; i++) {
        const char *name = rows->model->layout.actions[rows->agent[i]].names[discrete[i]];
        const int64_t n = write_reply(t, name, &t->scratch[0], t->replies + i * t->most_reply);
        if (n < 0) return lud_no_memory(error, "a reply");
        if (n > t->most_reply)
            return lud_invalid(error,
                               "learner.policy.language: the action '%s' takes %lld tokens, more than "
                               "max_new_tokens",
                               name, (long long)n);
        t->reply_lengths[i] = n;
    }
    return LUD_OK;
}

/* --- the rest --- */

static void visit(lud_tick_policy *policy, lud_checkpoint *checkpoint) {
    tokens *t = (tokens *)policy;
    if (policy->has_critic)
        lud_checkpoint_tensor(checkpoint, "ticks.normaliser", LUD_TENSOR_F32, 1,
                              (const int64_t[]){LUD_NORMALISER_FIELDS}, t->critic.normaliser.state);
    const uint64_t vocabulary = lud_tokenizer_hash(t->language.tokenizer);
    uint64_t stored = vocabulary;
    lud_checkpoint_u64(checkpoint, "language.vocabulary", &stored);
    if (stored != vocabulary)
        lud_checkpoint_fail(
            checkpoint, LUD_ERROR_INPUT,
            "the run was trained with another vocabulary than this world and the options give");
    t->stale = true; /* the parameters may be others now */
}

static void describe(const lud_tick_policy *policy, int64_t row, lud_text *read, lud_text *written) {
    const tokens *t = (const tokens *)policy;
    if (row >= t->kept) return;
    const lud_tokenizer *tokenizer = t->language.tokenizer;
    lud_tokenizer_decode(tokenizer, t->prompt_lengths[row], t->prompts + row * t->most_prompt, read);
    lud_tokenizer_decode(tokenizer, t->reply_lengths[row], t->replies + row * t->most_reply, written);
}

lud_token_counts lud_tick_tokens_counts(lud_tick_policy *policy) {
    tokens *t = (tokens *)policy;
    const lud_token_counts counts = t->counts;
    t->counts = (lud_token_counts){0};
    return counts;
}

static void lines(lud_tick_policy *policy, int64_t *n_prompts, int64_t *n_left_out) {
    tokens *t = (tokens *)policy;
    *n_prompts = t->written;
    *n_left_out = t->left_out;
    t->written = t->left_out = 0;
}

static const lud_tick_policy_kind kind = {.name = "tokens",
                                          .actor = "", /* all that is not the critic's */
                                          .critic = "critic.",
                                          .destroy = destroy,
                                          .act = act,
                                          .value = value,
                                          .learn = learn,
                                          .assume = assume,
                                          .lines = lines,
                                          .visit = visit,
                                          .describe = describe};

/* --- creation --- */

static bool take(tokens *t, const lud_tick_policy_request *request) {
    const size_t n = (size_t)request->n_acting, prompt = (size_t)t->most_prompt,
                 reply = (size_t)t->most_reply, lessons = (size_t)request->n_learning;
    lud_arrays *a = &t->arrays;
    a->device = request->device;
    LUD_TAKE(a, t->prompts, n * prompt);
    LUD_TAKE(a, t->replies, n * reply);
    LUD_TAKE(a, t->prompt_lengths, n);
    LUD_TAKE(a, t->reply_lengths, n);
    LUD_TAKE(a, t->log_probs, n * reply);
    LUD_TAKE(a, t->packed, n * prompt);
    LUD_TAKE(a, t->states, n * (size_t)t->language.shape.width);
    if (request->critic) {
        LUD_TAKE(a, t->other_states, n * (size_t)t->language.shape.width);
        LUD_TAKE(a, t->other_prompts, n * prompt);
        LUD_TAKE(a, t->other_lengths, n);
    }
    LUD_TAKE(a, t->group, n);
    LUD_TAKE(a, t->offsets, n + 1);
    LUD_TAKE(a, t->environment, n);
    LUD_TAKE(a, t->agent, n);
    LUD_TAKE(a, t->sequence_tokens, lessons * (prompt + reply) + 1);
    LUD_TAKE(a, t->sequences, lessons + 1);
    LUD_TAKE(a, t->coefficient, lessons + 1);
    LUD_TAKE(a, t->entropy, lessons + 1);
    LUD_TAKE(a, t->learned, lessons * reply + 1);
    return !a->failed;
}

static lud_status build(tokens *t, const lud_tick_policy_request *r, const lud_tick_options *options,
                        const char *file, lud_error *error) {
    lud_language_model *l = &t->language;
    lud_status status =
        lud_language_model_create(&options->policy.language, r->model, file, r->device, l, error);
    if (!status && r->critic && !lud_state_critic_declare(&t->critic, l->parameters, l->shape.width))
        status = lud_no_memory(error, "a critic");
    if (!status) status = lud_language_model_build(l, file, r->seed, error);
    if (!status && r->critic) status = lud_state_critic_build(&t->critic, options, r->n_learning, error);
    if (status) return status;
    t->base.parameters = l->parameters;
    t->most_prompt = l->options.max_prompt;
    t->most_reply = l->options.max_new_tokens;
    status =
        lud_prompter_create(r->model, l->tokenizer, l->options.mark, t->most_prompt, &t->prompter, error);
    if (status) return status;
    if (!take(t, r)) return lud_no_memory(error, "agents that write");
    const lud_generator_options generation = lud_language_generator_options(&l->options);
    status =
        lud_generator_create(&l->shape, l->parameters, &generation, l->tokenizer,
                             lud_tokenizer_end(l->tokenizer), r->n_acting, r->max_rows, &t->generator, error);
    if (status) return status;
    t->base.act_rows = lud_generator_rows(t->generator);
    if (r->n_learning == 0) return LUD_OK;
    t->base.learn_rows = r->n_learning;
    return lud_transformer_trainer_create(&l->shape, l->parameters, l->options.learning_tokens,
                                          l->options.checkpointing, &t->trainer, error);
}

lud_status lud_tick_tokens_create(const lud_tick_policy_request *request, const lud_tick_options *options,
                                  const char *file, lud_tick_policy **policy, lud_error *error) {
    *policy = NULL;
    tokens *t = calloc(1, sizeof *t);
    if (!t) return lud_no_memory(error, "agents that write");
    t->base = (lud_tick_policy){.kind = &kind,
                                .device = request->device,
                                .has_critic = request->critic,
                                .n_acting = request->n_acting};
    t->model = request->model;
    const lud_status status = build(t, request, options, file, error);
    if (status)
        destroy(&t->base);
    else
        *policy = &t->base;
    return status;
}
