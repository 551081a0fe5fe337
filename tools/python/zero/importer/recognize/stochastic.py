"""Stochastic depth: floor(keep + rand()) is 1 with probability `keep`."""

from __future__ import annotations

from torch.fx import Node

from zero.importer.capture import Captured
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import aten, calls, factors, is_call, replace, scalar


def rewrite(captured: Captured) -> None:
    for node in calls(captured, aten.floor.default):
        found = match(captured, node.args[0])
        if found:
            replace(captured, node, functions.keep_some, *found)


def match(captured: Captured, total) -> tuple[Node, float] | None:
    """(the random tensor, keep), where `total` is their sum."""
    if not is_call(total, aten.add.Tensor) or total.kwargs:
        return None
    for uniform, keep in factors(total):
        keep = scalar(captured, keep)
        if keep is not None and is_call(uniform, aten.rand.default, aten.rand_like.default):
            return uniform, keep
    return None
