/* Writing texts for many agents at once with one transformer.
 *
 * Rows are ragged: nothing is padded. What the prompts of a group (a team) have in common at their beginning
 * is computed once; every row keeps at least one token of its own. A row that has finished is in no later
 * step. A token's draw is a function of (seed, environment, step, agent, place of the token), and on the CPU
 * a row's numbers do not depend on the other rows: batched texts are those of one agent at a time. Weights
 * are copied when they are published (lud_generator_publish), as floats or as bfloat16; keys and values are
 * forgotten at the end of a call. */
#pragma once

#include "learn/language/sampling.h"
#include "learn/language/tokenizer/tokenizer.h"
#include "learn/language/transformer.h"

typedef struct lud_generator_options {
    lud_sampling sampling;
    int64_t max_new_tokens;
    bool share_prefixes;
    bool stop_at_object; /* when the first {...} of a text has all its braces closed */
    bool half_weights;   /* bfloat16 */
    bool cache_bytes;    /* keys and values as bytes */
} lud_generator_options;

typedef struct lud_generator lud_generator;

/* What is to be written. Prompts have at least one token and, with max_new_tokens, fit into the context
 * (else texts end there). */
typedef struct lud_prompts {
    int64_t n;
    const int64_t *offsets; /* [n + 1] in tokens */
    const int32_t *tokens;
    const int32_t *group; /* [n] at least 0; rows of a group stand side by side. Null: no groups */
    uint64_t seed;
    uint32_t step;
    const uint32_t *environment, *agent; /* [n] */
} lud_prompts;

/* What was written; the generator's, until its next call. */
typedef struct lud_texts {
    int64_t most;     /* of a row: max_new_tokens */
    int32_t *tokens;  /* [n][most] */
    float *log_probs; /* [n][most] of the distribution without temperature and filters */
    int64_t *lengths; /* [n] the token that ended a text included */
    float *states;    /* [n][width] what stands at the end of the prompts, behind the last norm */
} lud_texts;

/* Counts of the last call. */
typedef struct lud_generator_counts {
    int64_t prompt_tokens, computed_tokens; /* of the prompts; computed: shared ones once */
    int64_t new_tokens, steps;
    int64_t cache_tokens; /* slots that were in use */
} lud_generator_counts;

/* For calls of at most max_rows prompts, at_a_time (0: all) of which are taken together. Where memory is
 * short these are fewer, with the same texts. `end`: the token that ends a text, -1: none; the tokeniser (may
 * be null without stop_at_object) and the parameters must outlive the generator. Publishes the parameters as
 * they are. */
lud_status lud_generator_create(const lud_transformer_shape *shape, const lud_parameters *parameters,
                                const lud_generator_options *options, const lud_tokenizer *tokenizer,
                                int32_t end, int64_t max_rows, int64_t at_a_time, lud_generator **generator,
                                lud_error *error);
/* Null is allowed. */
void lud_generator_destroy(lud_generator *generator);
/* From now on texts are written with the parameters' present values. */
void lud_generator_publish(lud_generator *generator);
/* Other sampling and stopping from the next call on (an evaluation that takes the most probable token). */
void lud_generator_set_sampling(lud_generator *generator, const lud_sampling *sampling);
void lud_generate(lud_generator *generator, const lud_prompts *prompts, lud_texts *texts);
/* The states at the end of the prompts alone, [n][width]; the texts of the last call stay. */
void lud_generator_states(lud_generator *generator, const lud_prompts *prompts, float *states);
lud_generator_counts lud_generator_last(const lud_generator *generator);
/* Rows that are taken at a time. */
int64_t lud_generator_rows(const lud_generator *generator);
/* Bytes of weights, of keys and values, of activations. */
void lud_generator_bytes(const lud_generator *generator, size_t *weights, size_t *cache, size_t *activations);
/* Logits of the last position of a prompt, [vocabulary] on the host (a check against other programs). */
void lud_generator_logits(lud_generator *generator, int64_t n, const int32_t *tokens, float *logits);
