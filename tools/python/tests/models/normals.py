"""What zero draws, from the definitions."""

from __future__ import annotations

import math

import torch

MASK = 0xFFFFFFFF


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011)."""
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & MASK,
            (first >> 32) ^ counter[3] ^ key[1],
            first & MASK,
        ]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def words_of(sample: int, elements: int, draw: int = 0, seed: int = 0) -> list[int]:
    """A word for each element of a sample of the first batch of a run on one rank."""
    key = [seed & MASK, seed >> 32]
    counters = range((elements + 3) // 4)
    words = [philox([c, draw, sample & MASK, sample >> 32], key) for c in counters]
    return [word for four in words for word in four][:elements]


def normals(shape: tuple[int, ...], draw: int = 0, seed: int = 0) -> torch.Tensor:
    """The numbers of the first batch of a run on one rank, by sample and element."""
    elements = math.prod(shape[1:])
    values = []
    for sample in range(shape[0]):
        words = words_of(sample, (elements + 3) // 4 * 4, draw, seed)
        for element in range(elements):
            pair = element // 2 * 2
            radius = math.sqrt(-2 * math.log((words[pair] + 1) / 2**32))
            angle = 2 * math.pi * words[pair + 1] / 2**32
            values.append(radius * (math.sin if element % 2 else math.cos)(angle))
    return torch.tensor(values).reshape(shape)
