"""GELU and SiLU in any spelling, and the gated activation SwiGLU.

A spelling is not compared with a list of known ones: the chain from a value to a
product is evaluated on numbers, and is what it computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from zero.importer.captured import Captured
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import aten, calls, dtype_of, replace, scalar, shape_of

# Chains are made of these; each has a step that only such a function has.
ELEMENTWISE = {
    aten.mul.Tensor,
    aten.mul.Scalar,
    aten.add.Tensor,
    aten.add.Scalar,
    aten.sub.Tensor,
    aten.rsub.Scalar,
    aten.div.Tensor,
    aten.neg.default,
    aten.pow.Tensor_Scalar,
    aten.square.default,
    aten.tanh.default,
    aten.erf.default,
    aten.sigmoid.default,
    aten.exp.default,
    aten.reciprocal.default,
}
CORES = (aten.tanh.default, aten.erf.default, aten.sigmoid.default)
# Steps from the core to the end of a chain, and from the core to its argument.
MAX_STEPS = 12

GRID = torch.linspace(-9, 9, 181, dtype=torch.float64)
KNOWN = {
    "tanh": torch.nn.functional.gelu(GRID, approximate="tanh"),
    "exact": torch.nn.functional.gelu(GRID),
    "silu": torch.nn.functional.silu(GRID),
}


def rewrite(captured: Captured) -> None:
    for core in calls(captured, *CORES):
        found = match(captured, core)
        if found:
            end, x, name = found
            if name == "silu":
                replace(captured, end, functions.silu, x)
            else:
                replace(captured, end, functions.gelu, x, name)
    rewrite_gates(captured)


def match(captured: Captured, core: Node) -> tuple[Node, Node, str] | None:
    """(end, x, name), where `end` is the named function of x and goes by `core`."""
    sources = arguments(captured, core)
    end = core
    for _ in range(MAX_STEPS):
        for x in sources:
            values = evaluate(captured, end, x, {})
            if values is None:
                continue
            for name, wanted in KNOWN.items():
                if torch.allclose(values, wanted, rtol=1e-6, atol=1e-8):
                    return end, x, name
        if len(end.users) != 1:
            return None
        end = next(iter(end.users))
        if end.target not in ELEMENTWISE:
            return None
    return None


def arguments(captured: Captured, core: Node) -> list[Node]:
    """Nodes that the core's argument is computed from by elementwise steps."""
    found: list[Node] = []
    stack = [core.args[0]]
    while stack and len(found) < MAX_STEPS:
        node = stack.pop(0)
        if not isinstance(node, Node) or node in captured.constants or node in found:
            continue
        found.append(node)
        if node.op == "call_function" and node.target in ELEMENTWISE:
            stack += node.args[:2]
    return [x for x in found if shape_of(x) == shape_of(core) and dtype_of(x) == dtype_of(core)]


def evaluate(captured: Captured, node: Any, x: Node, known: dict) -> torch.Tensor | None:
    """`node` as a function of `x` on the grid, or None if it is no such function."""
    if node is x:
        return GRID
    if node in known:
        return known[node]
    number = scalar(captured, node)
    if number is not None:
        return torch.tensor(number, dtype=torch.float64)
    if (
        not isinstance(node, Node)
        or node.op != "call_function"
        or node.target not in ELEMENTWISE
        or node.kwargs
        or len(known) > 4 * MAX_STEPS
    ):
        return None
    operands = []
    for argument in node.args:
        value = evaluate(captured, argument, x, known)
        if value is None:
            return None
        operands.append(value)
    if node.target in (aten.pow.Tensor_Scalar, aten.mul.Scalar, aten.add.Scalar, aten.rsub.Scalar):
        operands[1] = operands[1].item()
    known[node] = node.target(*operands)
    return known[node]


def rewrite_gates(captured: Captured) -> None:
    """silu(gate) * up of one shape."""
    for node in calls(captured, aten.silu.default, functions.silu):
        if len(node.users) != 1:
            continue
        user = next(iter(node.users))
        if user.target is not aten.mul.Tensor or len(user.args) != 2:
            continue
        up = user.args[1] if user.args[0] is node else user.args[0]
        if isinstance(up, Node) and up is not node and shape_of(up) == shape_of(node):
            if up not in captured.constants and dtype_of(up) == dtype_of(node):
                replace(captured, user, functions.silu_mul, node.args[0], up)
