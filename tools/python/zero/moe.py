"""Layers of experts that have as many places each, for PyTorch modules.

    rows, places, counts = zero.moe.dispatch(x, ids, experts, capacity)
    y = zero.moe.combine(expert_layers(rows).flatten(0, 1), places, weights)

Both compute in PyTorch, with gradients, and are one operation each where zero imports
the module, so that `expert` ranks of a mesh send each other what is in the places.
"""

from __future__ import annotations

import torch
from torch import Tensor

import zero.importer.experts  # noqa: F401 (defines the operations)


def dispatch(
    rows: Tensor, ids: Tensor, experts: int, capacity: int, order: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows [tokens, width] in places [experts, capacity, width] of the experts `ids` [tokens,
    choices] that they have chosen; the place of each choice, -1 where it was dropped; and
    how many have chosen each expert, dropped or not.

    First choices of all rows find places before second ones, rows in their order. `order`,
    the numbers token * choices + choice, says otherwise: `weights.flatten().argsort(
    descending=True)` drops those of the least weight."""
    return torch.ops.zero_importer.capacity_dispatch(rows, ids, experts, capacity, order)


def combine(rows: Tensor, places: Tensor, weights: Tensor) -> Tensor:
    """The sum [tokens, width] of the rows [experts * capacity, width] at the places of each
    choice, times their weights [tokens, choices]. What was dropped adds nothing."""
    return torch.ops.zero_importer.combine(rows, places, weights)
