"""Stochastic depth: floor(keep + rand()) is 1 with probability `keep`."""

from __future__ import annotations

from typing import Any

from zero.importer.captured import Captured
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import (
    aten,
    calls,
    factors,
    is_call,
    replace,
    scalar,
    shape_of,
)


def rewrite(captured: Captured) -> None:
    for node in calls(captured, aten.floor.default):
        found = match(captured, node.args[0])
        if found:
            replace(captured, node, functions.keep_some, *found)


def match(captured: Captured, total: Any) -> tuple[list[int], float] | None:
    """(shape, keep), where `total` is a random tensor of the shape plus `keep`."""
    if not is_call(total, aten.add.Tensor) or total.kwargs:
        return None
    for uniform, keep in factors(total):
        keep = scalar(captured, keep)
        if keep is not None and is_call(uniform, aten.rand.default, aten.rand_like.default):
            return list(shape_of(uniform)), keep
    return None
