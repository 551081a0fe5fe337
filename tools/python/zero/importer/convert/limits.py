"""Ids outside of what they number, where no kernel that reads them would notice."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.errors import CannotImport
from zero.importer.ir import Value

# What gives elements of its first operand.
MOVES = (
    "nn.broadcast nn.gather nn.split nn.transpose tensor.collapse_shape tensor.expand_shape "
    "tensor.extract_slice"
).split()


def within(b: Builder, ids: Value, size: int, counts: Value | None = None) -> Value:
    """`ids`, where a run ends at one that is not in 0 .. size - 1 and that `counts`, if given:
    each looks a 0 up in a table of as many rows, which is added to it."""
    if is_within(ids, size):
        return ids
    if ids.constant is not None and counts is None:
        refuse_outside(ids.constant, size)
        return ids
    used = ids if counts is None else b.select(counts, ids, b.like(ids, 0))
    used = b.reshape(used, ids.shape or (1,))
    zeros = b.fill((size, 1), 0.0, torch.float32)
    found = b.add("nn.embedding", [used, zeros], [(used.shape + (1,), torch.float32)])[0]
    return b.plus(ids, b.cast(b.reshape(found, ids.shape), ids.dtype))


def is_within(ids: Value, size: int) -> bool:
    """Whether they are known to be: positions of an order, or 0 and 1."""
    while ids.op and ids.op.kind in MOVES:
        ids = ids.op.operands[0]
    if ids.op and ids.op.kind == "nn.argsort":
        return ids.op.operands[0].shape[-1] <= size
    return bool(ids.op) and ids.op.kind == "arith.extui" and size >= 2


def refuse_outside(ids: torch.Tensor, size: int) -> None:
    """Refuses constants that are not in 0 .. size - 1."""
    outside = ids[(ids < 0) | (ids >= size)]
    if outside.numel():
        raise CannotImport(
            f"the index {int(outside[0])}, a constant of the model, into what has {size}: wanted "
            f"0 to {size - 1}"
        )
