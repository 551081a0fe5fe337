"""Evaluates what depends on neither a parameter nor an input."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from zero.importer.captured import Captured
from zero.importer.stops import STOP

# Their results depend on their first argument's shape and type only.
OF_METADATA = {
    "new_ones",
    "new_zeros",
    "new_full",
    "new_empty",
    "zeros_like",
    "ones_like",
    "full_like",
    "empty_like",
    "fill",
    "zero",
}

# Memory that nobody has written: as zeros, so that the text is a function of the model.
UNWRITTEN = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}


def fold(captured: Captured) -> None:
    """Adds the values of constant nodes to `captured.constants`."""
    constants = captured.constants
    for node in captured.graph.nodes:
        if node.op == "get_attr":
            constants[node] = getattr(captured.graph.owning_module, node.target)
        elif node.op == "call_function" and node not in constants and not is_random(node):
            value = evaluate(node, constants)
            if value is not None:
                constants[node] = value


def is_random(node: Node) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def evaluate(node: Node, constants: dict[Node, Any]) -> Any:
    """The node's value, or None where it is not constant."""
    args, kwargs = node.args, dict(node.kwargs)
    if node.target == STOP:
        return None
    if getattr(node.target, "_opname", "") in OF_METADATA:
        shape = node.args[0].meta["val"]
        args = (torch.empty((), dtype=shape.dtype).expand(shape.shape), *args[1:])
    sources: list[Node] = []
    torch.fx.map_arg((args, kwargs), sources.append)
    if any(source not in constants for source in sources):
        return None
    if "device" in kwargs and kwargs["device"] is not None:
        kwargs["device"] = torch.device("cpu")
    args, kwargs = torch.fx.map_arg((args, kwargs), lambda source: constants[source])
    if getattr(node.target, "_opname", "") in UNWRITTEN:
        return torch.zeros_like(node.target(*args, **kwargs))
    try:
        return node.target(*args, **kwargs)
    except RuntimeError:
        # A view of what is laid out otherwise than it was when traced.
        args = torch.fx.node.map_aggregate(
            args, lambda x: x.contiguous() if isinstance(x, torch.Tensor) else x
        )
        return node.target(*args, **kwargs)
