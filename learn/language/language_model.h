/* A language model as an option section describes it: a tokeniser, a transformer's shape and its parameters,
 * new or pretrained. */
#pragma once

#include "base/options/options.h"
#include "learn/language/generate.h"
#include "learn/language/parse_action.h"
#include "learn/language/prompt.h"

typedef enum lud_tokenizer_kind {
    LUD_TOKENIZER_WORDS,
    LUD_TOKENIZER_BYTES,
    LUD_TOKENIZER_FILE,
    LUD_TOKENIZER_KINDS
} lud_tokenizer_kind;

typedef struct lud_language_options {
    const char *pretrained; /* folder, null: a new model */
    int tokenizer;          /* lud_tokenizer_kind */
    const char *tokenizer_file;
    int64_t vocabulary, vocabulary_states; /* words: at most so many, found in so many states */
    int64_t width, layers, heads, kv_heads, head_dim, hidden; /* 0: from the others */
    int64_t context;
    double rope_theta, norm_epsilon;
    bool tied;
    const char *mark;
    int64_t max_prompt, max_new_tokens;
    double temperature, top_p;
    int64_t top_k;
    int parse; /* lud_parse_mode */
    bool share_prefixes;
    int weights; /* 0: float32, 1: bfloat16 in the products of acting and learning */
    bool cache_bytes;
    bool checkpointing;
    int64_t learning_tokens; /* most of a pass */
} lud_language_options;
extern const lud_option_table lud_language_option_table;

typedef struct lud_language_model {
    lud_language_options options;
    lud_tokenizer *tokenizer;
    lud_transformer_shape shape;
    lud_parameters *parameters; /* those of the transformer, and what others add before they are built */
} lud_language_model;

/* For agents of a world (from which a vocabulary of words is made): all but the numbers. Paths are relative
 * to `file`, the scenario's (may be null). After a failure too it is to be destroyed. Errors name the option.
 */
lud_status lud_language_model_create(const lud_language_options *options, const lud_model *model,
                                     const char *file, lud_device *device, lud_language_model *language,
                                     lud_error *error);
/* Draws the parameters, or reads those of the pretrained model. */
lud_status lud_language_model_build(lud_language_model *language, const char *file, uint64_t seed,
                                    lud_error *error);
/* Safe on a zeroed struct. */
void lud_language_model_destroy(lud_language_model *language);
/* What generation is asked for. */
lud_generator_options lud_language_generator_options(const lud_language_options *options);
