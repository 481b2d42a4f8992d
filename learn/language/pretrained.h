/* Transformers that others have trained: a folder with config.json and safetensors, as Hugging Face's
 * transformers write them for Llama models. */
#pragma once

#include "learn/language/transformer.h"

/* The shape that a config.json describes. Model type llama, activation silu, no biases, rotary positions
 * without scaling; anything else that would change what the model computes is refused by name. `context` of
 * the shape is max_position_embeddings. */
lud_status lud_pretrained_shape(const char *path, lud_transformer_shape *shape, lud_error *error);
/* The same from memory; `name` stands for the file in messages. */
lud_status lud_pretrained_shape_parse(const char *name, const char *bytes, size_t length,
                                      lud_transformer_shape *shape, lud_error *error);

/* Fills the parameters of lud_transformer_declare, which must be built, from a folder's model.safetensors or,
 * where it has one, from the files that model.safetensors.index.json names. Tensors are F32, BF16 or F16;
 * every parameter must be there with its shape, and nothing else but rotary tables and, with a tied head, the
 * head. */
lud_status lud_pretrained_load(const char *folder, const lud_transformer_shape *shape,
                               lud_parameters *parameters, lud_error *error);
/* One safetensors file from memory, which must hold all parameters. */
lud_status lud_pretrained_load_bytes(const char *name, const void *bytes, size_t length,
                                     const lud_transformer_shape *shape, lud_parameters *parameters,
                                     lud_error *error);
