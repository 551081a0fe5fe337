"""Gathers and scatters along a dimension, and assignments to indices."""

from __future__ import annotations

import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.lookups import indexed_dims, row_numbers, wrapped
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def positions(b: Builder, index: Value, dim: int) -> Value:
    """The positions of rows where those of elements repeat along them."""
    if index.constant is not None:
        rows = index.constant[(..., *[slice(0, 1)] * (index.rank - dim - 1))]
        if bool((rows == index.constant).all()):
            return b.constant(rows.reshape(index.shape[: dim + 1]))
    op = index.op
    if op and op.kind == "nn.broadcast" and all(d <= dim for d in op.attributes["dims"]):
        return b.broadcast_dims(op.operands[0], op.attributes["dims"], index.shape[: dim + 1])
    return index


def row_positions(b: Builder, index: Value, shape: tuple[int, ...], dim: int) -> Value:
    """A vector of positions for each row before `dim`."""
    ids = b.reshape(wrapped(b, index, shape[dim]), (index.size,))
    return b.broadcast(ids, shape[:dim] + (index.size,))


@converts("aten.gather.default", to="nn.gather")
def gather(b: Builder, self, dim, index, sparse_grad=False):
    dim %= self.rank
    sizes = list(index.shape)
    sizes[dim] = self.shape[dim]
    x = b.slice(self, [0] * self.rank, sizes)
    return b.gather(x, positions(b, index, dim), dim)


@converts("aten.index_select.default", to="nn.gather")
def index_select(b: Builder, self, dim, index):
    dim %= self.rank
    return b.gather(self, row_positions(b, index, self.shape, dim), dim)


def scattered(b: Builder, x: Value, dim: int, index: Value, src: Value, join: Callable) -> Value:
    """`join(x, positions, src)` where `index` is, which may be smaller than both."""
    if x.shape[:dim] + x.shape[dim + 1 :] != index.shape[:dim] + index.shape[dim + 1 :]:
        raise CannotImport(
            "a scatter whose index has another shape than the tensor: take the slice of "
            "the tensor that it goes to, and assign the result to it"
        )
    return join(x, positions(b, index, dim), b.slice(src, [0] * src.rank, index.shape))


@converts("aten.scatter.value", "aten.scatter.src", to="nn.scatter set")
def scatter(b: Builder, self, dim, index, value=None, src=None):
    """Where an index is twice in a row the last one counts, as in PyTorch on a CPU."""
    dim %= self.rank
    if src is None:
        src = b.fill(index.shape, value, self.dtype)

    def put(x, ids, y):
        return b.scatter("set", y, ids, x, dim)

    return scattered(b, self, dim, index, src, put)


def summed(b: Builder, x: Value, ids: Value, y: Value, dim: int) -> Value:
    """`x` and what is added to it; integers are added in f32, exactly to 2^24."""
    if x.is_float:
        return b.scatter_add(y, ids, x, dim)
    wide = b.scatter_add(b.cast(y, torch.float32), ids, b.cast(x, torch.float32), dim)
    return b.cast(wide, x.dtype)


@converts("aten.scatter_add.default", to="nn.scatter_add")
def scatter_add(b: Builder, self, dim, index, src):
    dim %= self.rank

    def add(x, ids, y):
        return summed(b, x, ids, y, dim)

    return scattered(b, self, dim, index, src, add)


@converts("aten.index_add.default", to="nn.scatter_add")
def index_add(b: Builder, self, dim, index, source, alpha=1):
    dim %= self.rank
    if alpha != 1:
        source = b.times(source, alpha)
    return summed(b, self, row_positions(b, index, source.shape, dim), source, dim)


@converts("aten.scatter_reduce.two", to="nn.scatter_add, nn.scatter max and set")
def scatter_reduce(b: Builder, self, dim, index, src, reduce, include_self=True):
    dim %= self.rank
    if reduce not in ("sum", "mean", "amax", "amin") or not self.is_float:
        raise CannotImport(
            f"scatter_reduce with reduce = '{reduce}' of {self.dtype}: wanted sum, mean, "
            "amax or amin of floats"
        )

    def join(x, ids, y):
        neutral = {"amax": -math.inf, "amin": math.inf}.get(reduce, 0.0)
        start = x if include_self else b.scatter("set", b.like(y, neutral), ids, x, dim)
        if reduce == "amax":
            return b.scatter("max", y, ids, start, dim)
        if reduce == "amin":
            return b.negative(b.scatter("max", b.negative(y), ids, b.negative(start), dim))
        total = b.scatter_add(y, ids, start, dim)
        if reduce == "sum":
            return total
        count = b.scatter_add(b.like(y, 1), ids, b.like(x, float(include_self)), dim)
        return b.over(total, b.binary("maximum", count, 1.0))

    return scattered(b, self, dim, index, src, join)


@converts("aten.index_put.default", to="nn.scatter set, nn.scatter_add, arith.select")
def index_put(b: Builder, self, indices, values, accumulate=False):
    """What indices name is replaced, or added to; of equal indices the last counts."""
    indices = list(indices)
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == torch.bool:
        return masked_put(b, self, indices[0], values, accumulate)
    used = indexed_dims(indices)
    if not used or used[0] > 0:
        raise CannotImport(
            "an assignment to indices that are not those of the first dimensions: transpose "
            "the tensor before and after"
        )
    count = len(used)
    rest = self.shape[count:]
    number = row_numbers(b, self.shape, [indices[d] for d in used])
    y = b.broadcast(b.cast(values, self.dtype), number.shape + rest)
    table = b.reshape(self, (math.prod(self.shape[:count]), math.prod(rest)))
    rows = b.reshape(y, (number.size, table.shape[1]))
    ids = b.reshape(number, (number.size,))
    if accumulate:
        table = summed(b, table, ids, rows, 0)
    else:
        table = b.scatter("set", rows, ids, table, 0)
    return b.reshape(table, self.shape)


def masked_put(b: Builder, x: Value, mask: Value, values: Value, accumulate: bool) -> Value:
    """One value wherever a mask is set."""
    if values.size != 1 or accumulate:
        raise CannotImport(
            "an assignment of several values to a mask of bool: use torch.where or masked_fill"
        )
    mask = b.reshape(mask, mask.shape + (1,) * (x.rank - mask.rank))
    value = b.reshape(b.cast(values, x.dtype), ())
    return b.select(mask, b.broadcast(value, x.shape), x)
