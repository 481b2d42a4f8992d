#include "learn/language/language_model.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/options/option_rows.h"
#include "learn/language/pretrained.h"

static const char *const tokenizer_names[LUD_TOKENIZER_KINDS + 1] = {"words", "bytes", "file", NULL};
static const char *const weight_names[] = {"float32", "bfloat16", NULL};

#define OPTIONS lud_language_options
static const lud_option options[] = {
    TEXT(pretrained, NULL,
         "folder with config.json and safetensors of a Llama model; a new model unless given",
         .names = LUD_NAMES_FOLDER),
    CHOICE(tokenizer, "words", tokenizer_names,
           "words of the world and of its actions; bytes; or file, a tokenizer.json"),
    TEXT(tokenizer_file, NULL, "that file; tokenizer.json of the pretrained folder unless given",
         .names = LUD_NAMES_FILE),
    INT(vocabulary, "1024", 0, 1e6, "words: at most so many, the most frequent ones"),
    INT(vocabulary_states, "64", 1, 1e6, "words: found in so many states of a game played at random"),
    INT(width, "128", 1, 65536, "of the residual stream"),
    INT(layers, "4", 1, 256, "each attention and a feed-forward layer"),
    INT(heads, "4", 1, 1024, "of attention"),
    INT(kv_heads, "0", 0, 1024, "heads of keys and values, shared by groups of heads; 0: as many as heads"),
    INT(head_dim, "0", 0, 4096, "numbers of a head; 0: width / heads"),
    INT(hidden, "0", 0, 1e6, "of the feed-forward layers; 0: 8/3 of the width, a multiple of 16"),
    INT(context, "512", 2, 1e6, "most tokens of a prompt and its answer"),
    REAL(rope_theta, "10000", 1, 1e9, "base of the rotary positions"),
    REAL(norm_epsilon, "1e-5", 1e-12, 1, "in norms"),
    BOOL(tied, "false", "the head is the embedding"),
    TEXT(mark, "\"\\n> \"", "text behind which an agent answers"),
    INT(max_prompt, "0", 0, 1e6, "most tokens of a prompt; 0: what an answer leaves of the context"),
    INT(max_new_tokens, "32", 1, 65535, "of an answer"),
    REAL(temperature, "0.7", 0, 100, "of drawing tokens; 0: the most probable one"),
    REAL(top_p, "0.9", 0, 1, "tokens are drawn from the most probable ones with this share; 1: from all"),
    INT(top_k, "0", 0, 1e6, "tokens are drawn from so many of the most probable ones; 0: from all"),
    CHOICE(parse, "flat", lud_parse_mode_names,
           "flat: the first {...} without braces inside is the action; balanced: the first that has one"),
    BOOL(share_prefixes, "true", "what the prompts of a team begin with is computed once a tick"),
    CHOICE(weights, "float32", weight_names,
           "bfloat16: products of acting and learning round to it, what is learned stays float32"),
    BOOL(cache_bytes, "false", "keys and values as bytes, a quarter of the memory"),
    BOOL(checkpointing, "false", "activations of a layer are computed again instead of kept"),
    INT(learning_tokens, "4096", 16, 1e9, "most tokens of a pass of learning; more are taken in several"),
};
const lud_option_table lud_language_option_table =
    OPTION_TABLE("language", "a transformer that reads a prompt and writes its action", options);

static int64_t or_else(int64_t value, int64_t other) {
    return value > 0 ? value : other;
}

static lud_status find_shape(lud_language_model *l, lud_arena *arena, const char *file, lud_error *error) {
    const lud_language_options *o = &l->options;
    lud_transformer_shape *s = &l->shape;
    if (o->pretrained) {
        lud_text path = {0};
        const char *folder = lud_path_find(arena, file, o->pretrained);
        lud_text_append(&path, "%s/config.json", folder ? folder : o->pretrained);
        lud_status status = path.failed ? LUD_ERROR_MEMORY : lud_pretrained_shape(path.bytes, s, error);
        lud_text_free(&path);
        if (!status && s->context > o->context) s->context = o->context;
        if (!status && lud_tokenizer_size(l->tokenizer) > s->vocabulary)
            status = lud_invalid(error,
                                 "the tokeniser has %" PRId64 " tokens, the pretrained model knows %" PRId64,
                                 lud_tokenizer_size(l->tokenizer), s->vocabulary);
        return status;
    }
    *s = (lud_transformer_shape){.vocabulary = lud_tokenizer_size(l->tokenizer),
                                 .width = o->width,
                                 .layers = o->layers,
                                 .heads = o->heads,
                                 .kv_heads = or_else(o->kv_heads, o->heads),
                                 .head_dim = or_else(o->head_dim, o->width / o->heads),
                                 .hidden = or_else(o->hidden, (o->width * 8 / 3 + 15) / 16 * 16),
                                 .context = o->context,
                                 .rope_theta = o->rope_theta,
                                 .norm_epsilon = o->norm_epsilon,
                                 .tied = o->tied};
    return lud_transformer_check(s, error);
}

static lud_status make_words(lud_language_model *l, const lud_model *model, lud_error *error) {
    lud_vocabulary words = {0};
    const lud_language_options *o = &l->options;
    lud_status status =
        lud_prompt_vocabulary(model, (int)o->vocabulary_states, o->mark, o->vocabulary, &words, error);
    if (!status)
        status = lud_tokenizer_words((const char *const *)words.words, words.n, &l->tokenizer, error);
    lud_vocabulary_free(&words);
    return status;
}

static lud_status read_tokenizer(lud_language_model *l, lud_arena *arena, const char *file,
                                 lud_error *error) {
    const lud_language_options *o = &l->options;
    lud_text path = {0};
    if (o->tokenizer_file)
        lud_text_append(&path, "%s", o->tokenizer_file);
    else if (o->pretrained)
        lud_text_append(&path, "%s/tokenizer.json", o->pretrained);
    else
        return lud_invalid(error, "tokenizer file: which one? expected tokenizer_file");
    const char *beside = path.failed ? NULL : lud_path_find(arena, file, path.bytes);
    const lud_status status =
        beside ? lud_tokenizer_read(beside, &l->tokenizer, error) : lud_no_memory(error, "a tokeniser");
    lud_text_free(&path);
    return status;
}

static lud_status make_tokenizer(lud_language_model *l, const lud_model *model, lud_arena *arena,
                                 const char *file, lud_error *error) {
    if (l->options.tokenizer == LUD_TOKENIZER_WORDS) return make_words(l, model, error);
    if (l->options.tokenizer == LUD_TOKENIZER_BYTES) return lud_tokenizer_bytes(&l->tokenizer, error);
    return read_tokenizer(l, arena, file, error);
}

lud_status lud_language_model_build(lud_language_model *l, const char *file, uint64_t seed,
                                    lud_error *error) {
    lud_status status = lud_parameters_build(l->parameters, seed, error);
    const char *folder = l->options.pretrained;
    if (status || !folder) return status;
    lud_arena *arena = lud_arena_create(0);
    if (arena) folder = lud_path_find(arena, file, folder);
    status = arena && folder ? lud_pretrained_load(folder, &l->shape, l->parameters, error)
                             : lud_no_memory(error, "a transformer");
    lud_arena_destroy(arena);
    return status;
}

lud_status lud_language_model_create(const lud_language_options *o, const lud_model *model, const char *file,
                                     lud_device *device, lud_language_model *language, lud_error *error) {
    *language = (lud_language_model){.options = *o};
    lud_language_model *l = language;
    lud_arena *arena = lud_arena_create(0);
    lud_status status =
        arena ? make_tokenizer(l, model, arena, file, error) : lud_no_memory(error, "a language model");
    if (!status) status = find_shape(l, arena, file, error);
    if (!status && l->options.max_new_tokens >= l->shape.context)
        status =
            lud_invalid(error, "max_new_tokens %" PRId64 " leaves nothing of a context of %" PRId64 " tokens",
                        l->options.max_new_tokens, l->shape.context);
    const int64_t room = l->shape.context - l->options.max_new_tokens;
    if (l->options.max_prompt == 0 || l->options.max_prompt > room) l->options.max_prompt = room;
    if (l->options.learning_tokens < l->shape.context) l->options.learning_tokens = l->shape.context;
    lud_arena_destroy(arena);
    if (!status && !(l->parameters = lud_parameters_create(device, false)))
        status = lud_no_memory(error, "a transformer");
    if (!status) lud_transformer_declare(&l->shape, l->parameters);
    if (!status && l->options.weights) lud_device_set_precision(device, LUD_PRECISION_BF16);
    return status;
}

void lud_language_model_destroy(lud_language_model *language) {
    lud_parameters_destroy(language->parameters);
    lud_tokenizer_destroy(language->tokenizer);
    *language = (lud_language_model){0};
}

lud_generator_options lud_language_generator_options(const lud_language_options *o) {
    return (lud_generator_options){
        .sampling = {.temperature = o->temperature, .top_k = o->top_k, .top_p = o->top_p},
        .max_new_tokens = o->max_new_tokens,
        .share_prefixes = o->share_prefixes,
        .stop_at_object = true,
        .half_weights = o->weights != 0,
        .cache_bytes = o->cache_bytes};
}
