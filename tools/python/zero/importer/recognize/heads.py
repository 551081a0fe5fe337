"""Grouped heads: keys and values that are repeated before attention."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

from zero.importer.captured import Captured
from zero.importer.recognize.patterns import RESHAPES, aten, calls, is_call, shape_of

COPIES = (aten.clone.default, aten.contiguous.default, aten.alias.default)


def rewrite(captured: Captured) -> None:
    """Lets attention read the groups: zero's takes fewer key heads than query heads."""
    for node in calls(captured, aten.scaled_dot_product_attention.default):
        query, key, value = node.args[:3]
        groups = [unrepeated(key), unrepeated(value)]
        if None in groups or shape_of(groups[0])[1] != shape_of(groups[1])[1]:
            continue
        node.args = (query, *groups, *node.args[3:])


def unrepeated(node: Any) -> Node | None:
    """x [B, G, S, D], where `node` is [B, G n, S, D] with each head n times."""
    if not isinstance(node, Node) or len(shape_of(node)) != 4:
        return None
    wide = shape_of(node)
    if is_call(node, *RESHAPES):
        inner = through_copies(node.args[0])
        if is_call(inner, aten.expand.default) and len(shape_of(inner)) == 5:
            five = through_copies(inner.args[0])
            return match_groups(five, shape_of(inner), wide)
    if is_call(node, aten.expand.default):
        source = node.args[0]
        if shape_of(source) == (wide[0], 1, *wide[2:]):
            return source
    return None


def through_copies(node: Any) -> Any:
    while is_call(node, *COPIES):
        node = node.args[0]
    return node


def match_groups(five: Any, repeated: tuple[int, ...], wide: tuple[int, ...]) -> Node | None:
    if not is_call(five, aten.unsqueeze.default) or five.args[1] % 5 != 2:
        return None
    source = five.args[0]
    batch, groups, _, length, width = repeated
    if shape_of(source) != (batch, groups, length, width):
        return None
    return source if wide == (batch, groups * repeated[2], length, width) else None
