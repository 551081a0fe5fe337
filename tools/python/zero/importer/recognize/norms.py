"""RMS norm: x * rsqrt(mean(x^2) + eps), then often times a weight."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

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
    squared,
)


def rewrite(captured: Captured) -> None:
    for node in calls(captured, aten.mul.Tensor, aten.div.Tensor):
        found = match_core(captured, node)
        if found:
            x, eps = found
            core = replace(captured, node, functions.rms_norm, x, None, eps)
            absorb_weight(captured, core)


def match_core(captured: Captured, node: Node) -> tuple[Node, float] | None:
    """(x, eps), where `node` is x times its reciprocal root of the mean square."""
    if is_call(node, aten.div.Tensor):
        x, root = node.args[:2]
        return match_root(captured, x, root, aten.sqrt.default, exponent=0.5)
    for x, root in factors(node):
        found = match_root(captured, x, root, aten.rsqrt.default, exponent=-0.5)
        if found:
            return found
    return None


def match_root(captured: Captured, x: Any, root: Any, target, exponent: float):
    is_root = is_call(root, target) or (
        is_call(root, aten.pow.Tensor_Scalar) and root.args[1] == exponent
    )
    if not is_root or not is_call(root.args[0], aten.add.Tensor, aten.add.Scalar):
        return None
    for mean, eps in factors(root.args[0]):
        eps = scalar(captured, eps)
        if eps is None or eps < 0 or not is_call(mean, aten.mean.dim):
            continue
        if squared(mean.args[0]) is not x or not isinstance(x, Node):
            continue
        last = len(shape_of(x)) - 1
        keeps = len(mean.args) > 2 and mean.args[2]
        if keeps and [dim % (last + 1) for dim in mean.args[1]] == [last]:
            return x, eps
    return None


def absorb_weight(captured: Captured, core: Node) -> None:
    """A product with a vector along the last dimension is the norm's weight."""
    if len(core.users) != 1:
        return
    user = next(iter(core.users))
    if not is_call(user, aten.mul.Tensor):
        return
    for norm, weight in factors(user):
        if norm is core and isinstance(weight, Node) and shape_of(weight) == shape_of(core)[-1:]:
            x, _, eps = core.args
            replace(captured, user, functions.rms_norm, x, weight, eps)
            return
