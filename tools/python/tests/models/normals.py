"""What nn.random_normal draws, from its definition."""

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


def normals(shape: tuple[int, ...], draw: int = 0, seed: int = 0) -> torch.Tensor:
    """The numbers of the first batch of a run on one rank, by sample and element."""
    elements = math.prod(shape[1:])
    values = []
    for sample in range(shape[0]):
        for element in range(elements):
            key = [seed & MASK, seed >> 32]
            words = philox([element // 4, draw, sample & MASK, sample >> 32], key)
            pair = element % 4 // 2 * 2
            radius = math.sqrt(-2 * math.log((words[pair] + 1) / 2**32))
            angle = 2 * math.pi * words[pair + 1] / 2**32
            values.append(radius * (math.sin if element % 2 else math.cos)(angle))
    return torch.tensor(values).reshape(shape)
