/* A decoder-only transformer of the Llama kind: root mean square norms before attention and feed-forward
 * layer, rotary positions, key heads shared by groups of query heads (Ainslie et al., 2023), SwiGLU (Shazeer,
 * 2020), no biases, a head of its own or the embedding turned round.
 *
 * Parameters are named as in Hugging Face's Llama: model.embed_tokens.weight, model.layers.N.input_layernorm,
 * .self_attn.{q,k,v,o}_proj, .post_attention_layernorm, .mlp.{gate,up,down}_proj, model.norm, lm_head. Rotary
 * positions turn neighbouring pairs of a head; what is read from files that pair number i with i + half has
 * its rows put into this order (pretrained.h). */
#pragma once

#include "base/text.h"
#include "learn/language/sequences.h"
#include "learn/nn/nn.h"

enum { LUD_TRANSFORMER_MAX_LAYERS = 256, LUD_TRANSFORMER_NAME_BYTES = 96 };

typedef struct lud_transformer_shape {
    int64_t vocabulary;
    int64_t width; /* of the residual stream */
    int64_t layers, heads, kv_heads, head_dim;
    int64_t hidden;  /* of the feed-forward layers */
    int64_t context; /* most tokens of a sequence */
    double rope_theta, norm_epsilon;
    bool tied; /* the head is the embedding */
} lud_transformer_shape;

/* LUD_ERROR_INPUT with what is wrong: numbers below 1, heads that do not share evenly, an odd head_dim. */
lud_status lud_transformer_check(const lud_transformer_shape *shape, lud_error *error);
/* Numbers of all parameters. */
int64_t lud_transformer_numbers(const lud_transformer_shape *shape);
/* Multiply-adds of the layers' products for one token (attention not counted), and of the head's. */
double lud_transformer_multiply_adds(const lud_transformer_shape *shape, bool head);

/* The matrices of a layer. */
typedef enum lud_transformer_part {
    LUD_PART_QUERY,
    LUD_PART_KEY,
    LUD_PART_VALUE,
    LUD_PART_ATTENTION_OUT,
    LUD_PART_GATE,
    LUD_PART_UP,
    LUD_PART_DOWN,
    LUD_PART_MATRICES,
    LUD_PART_ATTENTION_NORM = LUD_PART_MATRICES,
    LUD_PART_MLP_NORM,
    LUD_LAYER_PARTS
} lud_transformer_part;
/* Rows (outputs) and columns (inputs) of a part; norms have one row. */
void lud_transformer_part_size(const lud_transformer_shape *shape, lud_transformer_part part, int64_t *rows,
                               int64_t *columns);
/* The parameter's name: of a layer's part, of the embedding, of the last norm, of the head (that of the
 * embedding when it is tied). */
void lud_transformer_part_name(int64_t layer, lud_transformer_part part,
                               char name[LUD_TRANSFORMER_NAME_BYTES]);
extern const char lud_transformer_embedding_name[], lud_transformer_norm_name[];
const char *lud_transformer_head_name(const lud_transformer_shape *shape);

/* Whether a parameter of that name is the transformer's. */
bool lud_transformer_names(const lud_transformer_shape *shape, const char *name);

/* Adds all parameters (not built): matrices start normal with deviation 1 / sqrt(inputs), those that write
 * into the residual stream with that / sqrt(2 layers) (Radford et al., 2019). Matrices of layers are marked
 * low-rank.
 */
void lud_transformer_declare(const lud_transformer_shape *shape, lud_parameters *parameters);

/* Learning: forward and backward over packed sequences. One network a layer, planned once; with
 * `checkpointing` all layers share the memory of one, and the activations of a layer are computed again
 * before its gradient (Chen et al., 2016). */
typedef struct lud_transformer_trainer lud_transformer_trainer;

/* For batches of at most max_tokens inputs (at least the context) at a time; larger ones are taken in pieces.
 * The parameters must be built, and outlive it. Takes all memory. */
lud_status lud_transformer_trainer_create(const lud_transformer_shape *shape, lud_parameters *parameters,
                                          int64_t max_tokens, bool checkpointing,
                                          lud_transformer_trainer **trainer, lud_error *error);
/* Null is allowed. */
void lud_transformer_trainer_destroy(lud_transformer_trainer *trainer);
/* Bytes of activations and their gradients (parameters and their gradients not counted). */
size_t lud_transformer_trainer_bytes(const lud_transformer_trainer *trainer);
/* What a call of the two below was about, for figures: inputs that went through it. */
int64_t lud_transformer_trainer_inputs(const lud_transformer_trainer *trainer);

/* log_probs[targets] of all tokens of all responses, sequences behind each other. Logits are made of a few
 * hundred predicting positions at a time, never of all. Sequences must fit into the context. */
void lud_transformer_log_probs(lud_transformer_trainer *trainer, int64_t n, const lud_sequence *sequences,
                               float *log_probs);
/* The same (log_probs may be null), and adds to the parameters' gradients those of
 * sum over i, t of (log_prob[i] log p(token it) + entropy[i] H(it)), H the entropy in nats at that place.
 * log_prob[n] and entropy[n] are host memory; entropy may be null (0). */
void lud_transformer_gradient(lud_transformer_trainer *trainer, int64_t n, const lud_sequence *sequences,
                              const float *log_prob, const float *entropy, float *log_probs);
