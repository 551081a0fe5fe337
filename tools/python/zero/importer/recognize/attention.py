"""Attention that a model writes out: softmax(q k^T * scale + mask) v."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from zero.importer.captured import Captured
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import (
    aten,
    calls,
    dtype_of,
    is_call,
    replace,
    scalar,
    shape_of,
)

# What models add to hide a key: no score is large enough to undo it in f32.
HIDES = -1e9
PRODUCTS = (aten.matmul.default, aten.bmm.default)


@dataclass
class Mask:
    """What is added to scores [B, H, T, S]: constants, hidden keys, and data."""

    hidden: torch.Tensor
    added: torch.Tensor
    # The sum of all constants, as the model has them.
    total: torch.Tensor
    data: Node | None = None
    # Whether a number that is finite stands in the place of scores.
    replaces: bool = False

    def hide(self, where: torch.Tensor, value: float) -> None:
        self.hidden = self.hidden | where
        self.total = self.total.masked_fill(where, value)
        self.replaces |= value > -math.inf

    def add(self, values: torch.Tensor) -> None:
        self.hidden = self.hidden | (values <= HIDES)
        self.added = self.added + values.masked_fill(values <= HIDES, 0)
        self.total = self.total + values


def rewrite(captured: Captured) -> None:
    for product in calls(captured, *PRODUCTS):
        found = match(captured, product)
        if found:
            q, k, v, mask, dropout, scale = found
            with captured.graph.inserting_before(product):
                node = mask_node(captured, mask)
            operation = aten.scaled_dot_product_attention.default
            made = replace(captured, product, operation, q, k, v, node, dropout, False)
            made.kwargs = {"scale": scale}


def match(captured: Captured, product: Node):
    """(q, k, v, mask, dropout, scale), where `product` is their attention."""
    weights, dropout = without_dropout(product.args[0])
    v = product.args[1]
    if not is_call(weights, aten.softmax.int) or len(weights.users) != 1:
        return None
    rank = len(shape_of(weights))
    if rank != 4 or weights.args[1] % rank != rank - 1 or not isinstance(v, Node):
        return None
    if len(weights.args) > 2 and weights.args[2] not in (None, dtype_of(v)):
        return None
    empty = torch.zeros((1, 1, *shape_of(weights)[2:]))
    mask = Mask(empty.bool(), empty, empty)
    scores, scale = unscaled(captured, unmasked(captured, weights.args[0], mask))
    # A row that sees nothing is a mean of all values where what hides is finite.
    if scores is None or bool(mask.hidden.all(-1).any()):
        return None
    # Data may hide what constants leave, and scores that are replaced have no gradient.
    if mask.data is not None and mask.replaces:
        return None
    q, k = scores.args[0], transposed(scores.args[1])
    if k is None or any(shape_of(x)[:2] != shape_of(q)[:2] for x in (k, v)):
        return None
    return q, k, v, mask, dropout, scale


def without_dropout(node: Any) -> tuple[Any, float]:
    if is_call(node, operator.getitem) and node.args[1] == 0:
        if is_call(node.args[0], aten.native_dropout.default) and len(node.users) == 1:
            x, p, train = node.args[0].args
            return x, p if train else 0.0
    if is_call(node, aten.dropout.default):
        x, p, train = node.args
        return x, p if train else 0.0
    return node, 0.0


def unmasked(captured: Captured, node: Any, mask: Mask) -> Any:
    """What `node` adds a mask to; `mask` learns what."""
    while isinstance(node, Node) and not node.kwargs:
        if is_call(node, aten.add.Tensor):
            inner = added_to(captured, node, mask)
        elif is_call(node, aten.masked_fill.Scalar) and node.args[2] <= HIDES:
            inner = hidden_in(captured, *node.args[:2], mask, node.args[2], invert=False)
        elif is_call(node, aten.where.self) and hides(captured, node.args[2]):
            value = scalar(captured, node.args[2])
            inner = hidden_in(captured, node.args[1], node.args[0], mask, value, invert=True)
        else:
            return node
        if inner is None:
            return node
        node = inner
    return node


def hides(captured: Captured, value: Any) -> bool:
    number = scalar(captured, value)
    return number is not None and number <= HIDES


def added_to(captured: Captured, node: Node, mask: Mask) -> Node | None:
    for inner, other in ((node.args[0], node.args[1]), (node.args[1], node.args[0])):
        if not isinstance(inner, Node) or not isinstance(other, Node):
            continue
        if inner in captured.constants or shape_of(inner) != shape_of(node):
            continue
        constant = captured.constants.get(other)
        if isinstance(constant, torch.Tensor):
            mask.add(constant)
            return inner
        if other not in captured.constants and mask.data is None and leads_to_product(inner):
            mask.data = other
            return inner
    return None


def leads_to_product(node: Any) -> bool:
    """Whether only masks and scales lie between `node` and a product."""
    steps = (aten.add.Tensor, aten.masked_fill.Scalar, aten.mul.Tensor, aten.div.Tensor)
    while is_call(node, *steps):
        node = node.args[0]
    return is_call(node, *PRODUCTS)


def hidden_in(
    captured: Captured, inner: Any, where: Any, mask: Mask, value: float, invert: bool
) -> Any:
    constant = captured.constants.get(where) if isinstance(where, Node) else None
    if not isinstance(constant, torch.Tensor) or not isinstance(inner, Node):
        return None
    constant = constant.to(torch.bool)
    mask.hide(~constant if invert else constant, value)
    return inner


def unscaled(captured: Captured, node: Any) -> tuple[Node | None, float]:
    """The product of q and k^T, and what it is multiplied by."""
    scale = 1.0
    if is_call(node, aten.mul.Tensor, aten.div.Tensor):
        number = scalar(captured, node.args[1])
        if number:
            scale = number if is_call(node, aten.mul.Tensor) else 1 / number
            node = node.args[0]
    return (node if is_call(node, *PRODUCTS) else None), scale


def transposed(node: Any) -> Node | None:
    """k, where `node` has its last two of four dimensions swapped."""
    if is_call(node, aten.transpose.int) and {d % 4 for d in node.args[1:]} == {2, 3}:
        return node.args[0]
    if is_call(node, aten.permute.default) and [d % 4 for d in node.args[1]] == [0, 1, 3, 2]:
        return node.args[0]
    return None


def mask_node(captured: Captured, mask: Mask) -> Node | None:
    """A node for the mask: none where nothing is hidden or added."""
    plain = not bool(mask.hidden.any()) and not bool(mask.added.any())
    if plain:
        return mask.data
    if mask.data is not None:
        # As finite as it is: both together may hide a row, which is then a mean.
        constant = constant_node(captured, mask.total)
        return captured.graph.call_function(aten.add.Tensor, (mask.data, constant))
    if not bool(mask.added.any()):
        return constant_node(captured, ~mask.hidden)
    return constant_node(captured, mask.added.masked_fill(mask.hidden, -math.inf))


def constant_node(captured: Captured, value: torch.Tensor) -> Node:
    node = captured.graph.call_function(functions.constant, ())
    node.meta["val"] = value
    captured.constants[node] = value
    return node
