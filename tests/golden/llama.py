"""Makes tests/golden/language/llama_*: small Llama models with random weights and what transformers computes with them.

Made with transformers 4.35 and PyTorch 1.13 on a CPU:
    python3 tests/golden/llama.py tests/golden/language
"""
import json
import os
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

folder = sys.argv[1]
models = {
    # heads that share keys, a head of its own, weights as float32 in one file
    "llama_grouped": (dict(num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=False), torch.float32, "10GB"),
    # the head is the embedding, weights as bfloat16 in several files with an index
    "llama_tied": (dict(num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True, rope_theta=500.0),
                   torch.bfloat16, "4KB"),
}
for name, (own, dtype, shard) in models.items():
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                         max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=1, eos_token_id=2, **own)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.25 * torch.randn_like(parameter))
            parameter.copy_(parameter.to(dtype).to(torch.float32))  # computed in float32 with the rounded weights
    tokens = torch.randint(0, 40, (1, 24))
    with torch.no_grad():
        logits = model(tokens).logits[0]
    where = os.path.join(folder, name)
    os.makedirs(where, exist_ok=True)
    model.to(dtype).save_pretrained(where, safe_serialization=True, max_shard_size=shard)
    with open(os.path.join(where, "logits.json"), "w") as file:
        json.dump({"tokens": tokens[0].tolist(), "logits": [[float(f"{x:.7g}") for x in row] for row in logits.tolist()]}, file)
    extra = os.path.join(where, "generation_config.json")
    if os.path.exists(extra):
        os.remove(extra)
