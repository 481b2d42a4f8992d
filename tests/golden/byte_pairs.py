"""Makes tests/golden/language/bpe_*.json: small byte pair encodings and what the package tokenizers does with them.

Made with tokenizers 0.13:
    python3 tests/golden/byte_pairs.py tests/golden/language
"""
import json
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

folder = sys.argv[1]
llama3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
qwen2 = llama3.replace("{1,3}", "")
cut = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "llama3": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(llama3), "isolated", invert=False),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
    "qwen2": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(qwen2), "isolated", invert=False),
                                      pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
}
corpus = [
    "The red team gathers wood and stone; the blue team trades grain for 12345 coins.",
    "You're agent 17 of team blue. There's wood 3 steps to the north, they'll take it, we've seen.",
    '{"action": "gather"} {"action": "trade"} {"action": "move_north"} {"action": "defend"}',
    "Größe, façade, naïve; Привет, мир! 你好，世界。 Ἀθῆναι αβγ  数字 ４２ Ⅷ ½ ٣٤٥",
] * 3
texts = [
    "", " ", "   ", "a", "The red team", "the blue  team\n\n gathers   \n", "  leading and trailing  ",
    "You're we've THEY'LL it's I'M 'tis '' 's", "1 12 123 1234 12345 999999999", "３４ Ⅷ½ x²",
    "tabs\tand\r\nline ends\r\n\r\n  x\n y", "{\"action\": \"move_north\"}", "punctuation!!! ...,;: (ok) [no] -> <=",
    "Größe façade Привет 你好，世界。 Ἀθῆναι", "emoji 🙂🙃👩‍👩‍👧 done", "a\u00a0b\u2003c\u3000d \u2003 e", "under_score and-dash",
    "<|endoftext|>", "before<|endoftext|>after <|mark|><|mark|> x", "\n", " \n ", "x  ", "\t x", " \t", "é́ combining",
    "…—“quoted”’s", "    indented = 4\n        more = 8\n", "aaaaaaaaaaaaaaaaaaaaaaaa", "½¾ ١٢٣ 一二三",
]
for name, pre in cut.items():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens([AddedToken("<|mark|>", normalized=False)])
    file = json.loads(tokenizer.to_str())
    file["model"]["ignore_merges"] = name != "gpt2"  # as those of Llama 3; means nothing to a file that knows it not
    cases = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]
    for case in cases:
        case["decoded"] = tokenizer.decode(case["ids"], skip_special_tokens=True)
    with open(f"{folder}/bpe_{name}.json", "w") as out:
        json.dump(file, out, ensure_ascii=True, separators=(",", ":"))
    with open(f"{folder}/bpe_{name}_cases.json", "w") as out:
        json.dump({"cases": cases}, out, ensure_ascii=True, separators=(",", ":"))
