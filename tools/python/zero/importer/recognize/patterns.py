"""Small questions about nodes, which recognisers share."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.fx import Node

from zero.importer.captured import Captured

aten = torch.ops.aten
RESHAPES = (aten.view.default, aten.reshape.default, aten._unsafe_view.default)


def is_call(node: Any, *targets) -> bool:
    return isinstance(node, Node) and node.op == "call_function" and node.target in targets


def shape_of(node: Node) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def dtype_of(node: Node) -> torch.dtype:
    return node.meta["val"].dtype


def scalar(captured: Captured, value: Any) -> float | None:
    """A Python number or a constant of one value."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    constant = captured.constants.get(value) if isinstance(value, Node) else None
    if isinstance(constant, torch.Tensor) and constant.numel() == 1:
        return float(constant.item())
    return None


def factors(node: Node) -> list[tuple[Any, Any]]:
    """The operands of a product or a sum, in both orders."""
    first, second = node.args[:2]
    return [(first, second), (second, first)]


def squared(node: Any) -> Node | None:
    """x, where `node` is x * x."""
    if is_call(node, aten.pow.Tensor_Scalar) and node.args[1] == 2:
        return node.args[0]
    if is_call(node, aten.square.default):
        return node.args[0]
    if is_call(node, aten.mul.Tensor) and node.args[0] is node.args[1]:
        return node.args[0]
    return None


def replace(captured: Captured, node: Node, function: Callable, *args) -> Node:
    """Puts a call of `function` in the place of `node`."""
    with captured.graph.inserting_before(node):
        made = captured.graph.call_function(function, args)
    made.meta = dict(node.meta)
    node.replace_all_uses_with(made)
    captured.results = [made if result is node else result for result in captured.results]
    return made


def calls(captured: Captured, *targets) -> list[Node]:
    """The calls of `targets`, in order, that are not constants."""
    return [
        node
        for node in captured.graph.nodes
        if is_call(node, *targets) and node not in captured.constants
    ]
