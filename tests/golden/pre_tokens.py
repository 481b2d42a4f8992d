"""Writes tests/golden/language/pre_tokens.json: how the patterns of pre-tokenisers cut random texts, by the package regex
(pip install regex), which knows all of their syntax. Characters are ones that no version of Unicode moved to another kind.

usage: python3 tests/golden/pre_tokens.py
"""
import json
import os
import random

import regex

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama3": "|".join([CONTRACTIONS, WORDS, r"\p{N}{1,3}", REST]),
    "qwen2": "|".join([CONTRACTIONS, WORDS, r"\p{N}", REST]),
}
# of one to four bytes each
LETTERS = "asz\u00e9\u03a9\u6f22\U00010000\U0001d49c"
NUMBERS = "09\u00b2\u0661\u2167\U0001d7d9"
SPACES = "   \t\v\u00a0\u2028\u3000"
LINES = "\n\r"
OTHERS = "'!_~\x01\u0301\u07ff\u20ac\u200b\ue000\ufffd\U0001f600\U0010ffff"
KINDS = (LETTERS, NUMBERS, SPACES, LINES, OTHERS)


def text_of(draw):
    """Runs of one to four characters of a kind, and what may be a contraction."""
    text = ""
    for _ in range(draw.randint(1, 7)):
        if draw.random() < 0.2:
            end = "".join(draw.choice((c, c.upper())) for c in draw.choice(["s", "t", "re", "ve", "m", "ll", "d", "r", "lr", "x"]))
            text += "'" + draw.choice((end, end.lower(), end.upper()))
        else:
            kind = draw.choice(KINDS)
            text += "".join(draw.choice(kind) for _ in range(draw.randint(1, 4)))
    return text


def main():
    draw = random.Random(1)
    texts = [text_of(draw) for _ in range(400)]
    golden = {"texts": texts}
    for name, pattern in PATTERNS.items():
        cuts = [regex.findall(pattern, text) for text in texts]
        assert all("".join(cut) == text for cut, text in zip(cuts, texts))
        golden[name] = [[len(piece.encode()) for piece in cut] for cut in cuts]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "language", "pre_tokens.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(golden, file, separators=(",", ":"), ensure_ascii=True)
        file.write("\n")


if __name__ == "__main__":
    main()
