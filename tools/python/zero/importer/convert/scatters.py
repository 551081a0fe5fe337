"""Gathers and scatters along a dimension, and assignments to indices."""

from __future__ import annotations

import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.limits import refuse_outside
from zero.importer.convert.lookups import (
    indexed_dims,
    inverse,
    positions_first,
    row_numbers,
    rows_first,
)
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
    """A vector of positions for each row before `dim`. What reads them checks them: here
    negative ones do not count from the end."""
    if index.constant is not None:
        refuse_outside(index.constant, shape[dim])
    return b.broadcast(b.reshape(index, (index.size,)), shape[:dim] + (index.size,))


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


@converts("aten.unfold.default", to="nn.gather; tensor.expand_shape, where windows tile")
def unfold(b: Builder, self, dimension, size, step):
    """Windows along a dimension, which end up in a last one."""
    dim = dimension % self.rank
    count = (self.shape[dim] - size) // step + 1
    if step == size:
        rows = b.narrow(self, dim, 0, count * size)
    else:
        ids = torch.arange(count)[:, None] * step + torch.arange(size)
        rows = b.gather(self, row_positions(b, b.constant(ids), self.shape, dim), dim)
    y = b.reshape(rows, (*self.shape[:dim], count, size, *self.shape[dim + 1 :]))
    return b.transpose(y, [d for d in range(y.rank) if d != dim + 1] + [dim + 1])


@converts("aten.diagonal.default", "aten.diagonal_copy.default", to="nn.gather")
def diagonal(b: Builder, self, offset=0, dim1=0, dim2=1):
    dims = [dim1 % self.rank, dim2 % self.rank]
    lead = [dim for dim in range(self.rank) if dim not in dims]
    x = b.transpose(self, lead + dims)
    *outer, rows, columns = x.shape
    places = torch.arange(rows * columns).reshape(rows, columns).diagonal(offset)
    x = b.reshape(x, (*outer, rows * columns))
    return b.gather(x, row_positions(b, b.constant(places), x.shape, len(outer)), len(outer))


def scattered(b: Builder, x: Value, dim: int, index: Value, src: Value, join: Callable) -> Value:
    """`join(x, positions, src)` where `index` is, which may be smaller than both."""
    sizes = list(index.shape)
    sizes[dim] = x.shape[dim]
    part = b.slice(x, [0] * x.rank, sizes)
    y = join(part, positions(b, index, dim), b.slice(src, [0] * src.rank, index.shape))
    return completed(b, x, y)


def completed(b: Builder, x: Value, corner: Value) -> Value:
    """`x` with its first elements, along all dimensions, replaced."""
    y = corner
    for dim in range(x.rank):
        starts, sizes = [0] * x.rank, list(y.shape)
        starts[dim], sizes[dim] = y.shape[dim], x.shape[dim] - y.shape[dim]
        if sizes[dim]:
            y = b.concat([y, b.slice(x, starts, sizes)], dim)
    return y


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
    return summed(b, self, row_positions(b, index, self.shape, dim), source, dim)


@converts("aten.index_copy.default", to="nn.scatter set")
def index_copy(b: Builder, self, dim, index, source):
    if not self.rank:
        return b.reshape(source, ())
    dim %= self.rank
    return b.scatter("set", source, row_positions(b, index, self.shape, dim), self, dim)


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
    if any(index is not None and not index.size for index in indices):
        return self
    used = indexed_dims(indices)
    order, count = rows_first(used, self.rank), len(used)
    x = b.transpose(self, order)
    rest = x.shape[count:]
    number = row_numbers(b, x.shape, [indices[d] for d in used])
    y = values_in_order(b, b.cast(values, self.dtype), used, number.shape, rest)
    table = b.reshape(x, (math.prod(x.shape[:count]), math.prod(rest)))
    rows = b.reshape(y, (number.size, table.shape[1]))
    ids = b.reshape(number, (number.size,))
    if accumulate:
        table = summed(b, table, ids, rows, 0)
    else:
        table = b.scatter("set", rows, ids, table, 0)
    return b.transpose(b.reshape(table, x.shape), inverse(order))


def values_in_order(b: Builder, values: Value, used: list[int], ids: tuple, rest: tuple) -> Value:
    """Values in the shape of what indexing would give, with the indices' dimensions
    brought to the front."""
    order = positions_first(used, len(ids), len(ids) + len(rest))
    shape = tuple((ids + rest)[dim] for dim in inverse(order))
    return b.transpose(b.broadcast(values, shape), order)


def masked_put(b: Builder, x: Value, mask: Value, values: Value, accumulate: bool) -> Value:
    """The same values wherever a mask of the first dimensions is set."""
    inner = x.rank - mask.rank
    lead = values.shape[: max(0, values.rank - inner)]
    if math.prod(lead) != 1:
        raise CannotImport(
            "an assignment of several values to a mask of bool: use torch.where or masked_fill"
        )
    mask = b.reshape(mask, mask.shape + (1,) * inner)
    y = b.reshape(b.cast(values, x.dtype), values.shape[len(lead) :])
    y = b.broadcast(y, x.shape)
    return b.select(mask, b.plus(x, y) if accumulate else y, x)


@converts("aten.masked_scatter.default", to="nn.cumsum, nn.gather, arith.select")
def masked_scatter(b: Builder, self, mask, source):
    """Where the mask is set, the elements of `source` in their order."""
    shape = tuple(torch.broadcast_shapes(self.shape, mask.shape))
    x, mask = b.broadcast(self, shape), b.broadcast(mask, shape)
    flat = b.reshape(b.cast(mask, torch.int64), (x.size,))
    # Before the first that is set nothing is taken, whatever the position.
    ids = b.binary("maximum", b.minus(b.cumsum(flat, 0), 1), 0)
    taken = b.gather(b.reshape(b.cast(source, x.dtype), (source.size,)), ids, 0)
    return b.select(mask, b.reshape(taken, shape), x)
