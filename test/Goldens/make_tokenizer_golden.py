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
CHARACTERS = [0xe9, 0xdf, 0x3b1, 0x416, 0x5d0, 0x627, 0x905, 0xe01, 0x3042, 0x4e2d, 0xac00, 0x1f600,
              0x1d49c, 0x2160, 0x660, 0xbd, 0xb2, 0x301, 0x200d, 0xfe0f, 0x20ac, 0x2019, 0x2014,
              0x85, 0xa0, 0x1680, 0x2003, 0x2009, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f,
              0x3000, 0xfeff, 0x10ffff, 0x1c, 0x180e]


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
    # Every class of characters, and what is near its ends.
    for _ in range(150):
        texts.append("".join(
            chr(numbers.choice(CHARACTERS)) if numbers.random() < 0.8 else numbers.choice(PARTS)
            for _ in range(numbers.randint(1, 12))))
    cases = [{"text": text, "ids": tokenizer.encode(text).ids} for text in texts]
    with open(HERE / "tokenizer-cases.json", "w") as file:
        file.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")


if __name__ == "__main__":
    main()
