"""Tokens from a trained language model."""

from __future__ import annotations

import math
from typing import Iterable

import numpy

from zero.arrays import whole_number
from zero.errors import ArgumentError
from zero.step import Step

# The inputs that hold tokens, as the executable's --sample finds them.
TOKEN_INPUTS = ("tokens", "input_ids")
MOST = 2**31


def sample(
    step: Step, prompt: Iterable[int], count: int, *, temperature: float = 1.0, seed: int = 0
) -> list[int]:
    """The `count` tokens that follow `prompt`, each drawn from the model's output `logits`
    at the last position; the likeliest ones at temperature 0. The other inputs are zeros."""
    names = [name for name in step.inputs if name in TOKEN_INPUTS]
    if not names or "logits" not in step.outputs:
        raise ArgumentError(
            "sample needs an input 'tokens' or 'input_ids' and an output 'logits': compile "
            "with outputs=['logits']"
        )
    tokens = [whole_number("a token of the prompt", token, MOST) for token in prompt]
    count = whole_number("count", count, MOST)
    if not tokens or not 0 <= temperature < math.inf:
        raise ArgumentError(
            "sample needs a token to begin with, and a finite temperature of 0 or more; found "
            f"{len(tokens)} tokens and temperature {temperature}"
        )
    start = len(tokens)
    length = step.inputs[names[0]].shape[1]
    random = numpy.random.default_rng(seed)
    while len(tokens) < start + count:
        window = tokens[-length:]
        logits = step.predict(_batch_of(step, names, window), ["logits"])["logits"]
        row = logits.reshape(-1, length, logits.shape[-1])[0, len(window) - 1].astype("f8")
        if temperature > 0:
            # The largest of logits with Gumbel noise is a sample of their softmax. Divided, they
            # stay finite at any temperature above 1.
            noise = random.gumbel(size=row.shape)
            row = row / temperature + noise if temperature > 1 else row + temperature * noise
        tokens.append(int(row.argmax()))
    return tokens[start:]


def _batch_of(step: Step, names: list[str], window: list[int]) -> dict[str, numpy.ndarray]:
    """A micro-batch for each rank, with the window in its first row."""
    batch = {}
    for name, tensor in step.inputs.items():
        rows = tensor.shape[0] * (step.ranks if tensor.shape[0] == step.micro_batch else 1)
        dtype = "float32" if tensor.dtype == "bfloat16" else tensor.dtype
        batch[name] = numpy.zeros((rows, *tensor.shape[1:]), dtype)
        if name in names:
            batch[name][0, : len(window)] = window
    return batch
