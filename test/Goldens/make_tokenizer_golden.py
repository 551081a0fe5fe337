#!/usr/bin/env python3
"""Records what Hugging Face's tokenizers make of texts: tokenizer.json, a byte-level
BPE tokenizer trained on this folder's corpus, and tokenizer-cases.json, texts with
their ids.

Needs the package tokenizers. Usage: make_tokenizer_golden.py
"""

import json
import pathlib
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
SPECIAL = ["<|endoftext|>", "<|end|>", "<|endoftext|>>"]
PARTS = ["the", "The", " quick", "fox", "'s", "'ll", "'re", "don't", "I'm", "'", '"', " ", "  ",
         "   ", "\n", "\n\n", "\t", "\r\n", "0", "12", "345", "3.14", "a1b2", "_x", "def ", "(", "):",
         "!?", "...", "--", "<", "|", "\x00", "\x1c", "\x7f", "\x0b", *SPECIAL]


def main():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train([str(HERE / "tiny.txt")], trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(str(HERE / "tokenizer.json"))
    numbers = random.Random(3)
    corpus = (HERE / "tiny.txt").read_text(encoding="ascii", errors="ignore")
    texts = ["", " ", "hello world", corpus[:600]]
    for _ in range(150):
        texts.append("".join(numbers.choice(PARTS) for _ in range(numbers.randint(1, 12))))
    for _ in range(50):
        texts.append("".join(chr(numbers.randrange(128)) for _ in range(numbers.randint(1, 20))))
    cases = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
    with open(HERE / "tokenizer-cases.json", "w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")


if __name__ == "__main__":
    main()
