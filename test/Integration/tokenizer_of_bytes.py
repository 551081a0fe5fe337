#!/usr/bin/env python3
"""Prints a tokenizer.json whose tokens are the 256 bytes, each with its own id."""

import json


def letters():
    """GPT-2's alphabet: a character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


print(json.dumps({
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "merges": [],
              "vocab": {letter: byte for byte, letter in enumerate(letters())}},
}))
