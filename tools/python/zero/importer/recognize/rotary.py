"""Rotary positions: x * cos + rotate_half(x) * sin with constant tables."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from zero.importer.captured import Captured
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import (
    RESHAPES,
    aten,
    calls,
    factors,
    is_call,
    replace,
    shape_of,
)


def rewrite(captured: Captured) -> None:
    for node in calls(captured, aten.add.Tensor):
        found = match(captured, node)
        if found:
            x, theta = found
            replace(captured, node, functions.rotary, x, theta, False, True)
    for node in calls(captured, aten.view_as_real.default):
        found = match_complex(captured, node)
        if found:
            end, x, theta = found
            replace(captured, end, functions.rotary, x, theta, True, False)


def match(captured: Captured, node: Node) -> tuple[Node, float] | None:
    """(x, theta), where `node` is the rotation of x = [B, H, T, D]."""
    if node.kwargs or len(node.args) != 2:
        return None
    for straight, turned in factors(node):
        direct = table_product(captured, straight)
        crossed = table_product(captured, turned)
        if not direct or not crossed:
            continue
        x, cos = direct
        if rotated(captured, crossed[0]) is not x or len(shape_of(x)) != 4:
            continue
        theta = angle_base(shape_of(x), cos, crossed[1])
        if theta:
            return x, theta
    return None


def match_complex(captured: Captured, node: Node) -> tuple[Node, Node, float] | None:
    """(end, x, theta), where `end` rotates pairs of x = [B, T, H, D] by a product of
    complex numbers, and `node` is the view of the product as pairs."""
    found = table_product(captured, node.args[0])
    if not found or len(node.users) != 1 or not is_call(found[0], aten.view_as_complex.default):
        return None
    pairs, end = found[0].args[0], next(iter(node.users))
    if not is_call(pairs, *RESHAPES) or not is_call(end, *RESHAPES, aten.flatten.using_ints):
        return None
    x, shape = pairs.args[0], shape_of(pairs)
    if (
        len(shape) != 5
        or shape_of(end) != (*shape[:3], 2 * shape[3])
        or shape_of(x) != shape_of(end)
    ):
        return None
    turns = found[1]
    turns = turns.expand((1,) * (4 - turns.dim()) + tuple(turns.shape)).transpose(1, 2)
    # As tables of nn.rotary, where pair i has the columns i and i + D / 2.
    cos, sin = (torch.cat([table, table], -1) for table in (turns.real, turns.imag))
    theta = angle_base((shape[0], shape[2], shape[1], 2 * shape[3]), cos, sin)
    return (end, x, theta) if theta else None


def table_product(captured: Captured, node: Any) -> tuple[Node, torch.Tensor] | None:
    """(x, table), where `node` is a product with a constant."""
    if not is_call(node, aten.mul.Tensor):
        return None
    for x, table in factors(node):
        constant = captured.constants.get(table) if isinstance(table, Node) else None
        if isinstance(constant, torch.Tensor) and isinstance(x, Node):
            if x not in captured.constants:
                return x, constant
    return None


def rotated(captured: Captured, node: Any) -> Node | None:
    """x, where `node` is cat(-x[.., D/2:], x[.., :D/2])."""
    if not is_call(node, aten.cat.default):
        return None
    parts, last = node.args[0], len(shape_of(node)) - 1
    dim = node.args[1] if len(node.args) > 1 else 0
    if len(parts) != 2 or dim % (last + 1) != last or not is_call(parts[0], aten.neg.default):
        return None
    half = shape_of(node)[-1] // 2
    upper, lower = parts[0].args[0], parts[1]
    if covers(upper, last, half, 2 * half) and covers(lower, last, 0, half):
        if upper.args[0] is lower.args[0]:
            return upper.args[0]
    return None


def covers(node: Any, dim: int, start: int, end: int) -> bool:
    """Whether `node` is the slice [start, end) of the last dimension."""
    if not is_call(node, aten.slice.Tensor) or len(node.args) < 4 or len(node.args) > 4:
        return False
    source, axis, first, last = node.args
    size = shape_of(source)[dim]
    return axis % (dim + 1) == dim and (first or 0) == start and min(last, size) == end


def angle_base(shape: tuple[int, ...], cos: torch.Tensor, sin: torch.Tensor) -> float | None:
    """theta, where the tables are those of nn.rotary for `shape` = [B, H, T, D]."""
    length, width = shape[2:]
    tables = []
    for table in (cos, sin):
        table = table.expand((1,) * (4 - table.dim()) + tuple(table.shape))
        for dim in (0, 1):
            if not bool((table == table.narrow(dim, 0, 1)).all()):
                return None
        table = table[0, 0].expand(length, width).double()
        if not table[:, : width // 2].equal(table[:, width // 2 :]):
            return None
        tables.append(table[:, : width // 2])
    if length < 2 or width < 4:
        return None
    # The angle of the last pair at position 1 is theta^(-(D - 2) / D).
    angle = torch.atan2(tables[1][1, -1], tables[0][1, -1]).item()
    if not 0 < angle < 1:
        return None
    theta = angle ** (-width / (width - 2))
    for candidate in (float(f"{theta:.3g}"), float(f"{theta:.5g}"), theta):
        if agrees(candidate, tables, length, width):
            return candidate
    return None


def agrees(theta: float, tables: list[torch.Tensor], length: int, width: int) -> bool:
    pairs = torch.arange(0, width, 2, dtype=torch.float64) / width
    positions = torch.arange(length, dtype=torch.float64)
    angles = positions[:, None] * theta**-pairs
    # The model's angles are rounded to f32, so their error grows with the position.
    slack = 4e-7 * (1 + positions[:, None])
    return all(
        bool(((table - exact).abs() <= slack).all())
        for table, exact in zip(tables, (angles.cos(), angles.sin()))
    )
