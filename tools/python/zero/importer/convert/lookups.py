"""Embeddings, gathers and indexing."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def rows_of(b: Builder, ids: Value, table: Value) -> Value:
    shape = ids.shape + table.shape[1:]
    return b.add("nn.embedding", [ids, table], [(shape, table.dtype)])[0]


@converts("aten.embedding.default", to="nn.embedding; padding_idx ends its row's gradient")
def embedding(b: Builder, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if scale_grad_by_freq:
        raise CannotImport("an embedding with scale_grad_by_freq, which zero has not")
    return rows_of(b, indices, weight)


@converts("aten.gather.default", to="a one-hot mask, arith.select, nn.reduce sum")
def gather(b: Builder, self, dim, index, sparse_grad=False):
    """Element [.., index[.., k], ..] along `dim`, whose size the work is linear in."""
    dim %= self.rank
    last = self.rank - 1
    x = b.swap(self, dim, last)
    ids = b.swap(index, dim, last)
    lead = ids.shape[:-1]
    x = b.slice(x, [0] * x.rank, lead + x.shape[-1:])
    wide = lead + (ids.shape[-1], x.shape[-1])
    hot = b.one_hot(ids, x.shape[-1])
    x = b.broadcast(b.reshape(x, lead + (1, x.shape[-1])), wide)
    picked = b.reduce("sum", b.select(hot, x, b.like(x, 0)), [len(wide) - 1])
    return b.swap(picked, dim, last)


@converts("aten.index_select.default", to="nn.embedding on rows")
def index_select(b: Builder, self, dim, index):
    dim %= self.rank
    moved = b.transpose(self, [dim] + [d for d in range(self.rank) if d != dim])
    rows = index_rows(b, moved, [index])
    order = list(range(1, dim + 1)) + [0] + list(range(dim + 1, self.rank))
    return b.transpose(rows, order)


@converts("aten.index.Tensor", to="nn.embedding on rows")
def index(b: Builder, self, indices):
    indices = list(indices)
    if any(i is not None and i.dtype == torch.bool for i in indices):
        raise CannotImport(
            "indexing by a mask of bool: its result has no static shape; use "
            "torch.where or multiply by the mask"
        )
    while indices and indices[-1] is None:
        indices.pop()
    used = [i for i, ids in enumerate(indices) if ids is not None]
    if not used:
        return self
    if used != list(range(used[0], used[-1] + 1)):
        raise CannotImport("indices on dimensions that are not neighbours")
    # The indexed dimensions first, and back to their place in the result.
    first, count = used[0], len(used)
    order = used + [d for d in range(self.rank) if d not in used]
    y = index_rows(b, b.transpose(self, order), [indices[d] for d in used])
    rank = y.rank - (self.rank - count)
    back = list(range(rank, rank + first)) + list(range(rank)) + list(range(rank + first, y.rank))
    return b.transpose(y, back)


def index_rows(b: Builder, x: Value, ids: list[Value]) -> Value:
    """x[ids[0], ids[1], ..]: one lookup of rows numbered row-major."""
    count = len(ids)
    shape = tuple(torch.broadcast_shapes(*(i.shape for i in ids)))
    number = None
    for size, i in zip(x.shape, ids):
        i = wrapped(b, b.broadcast(i, shape), size)
        number = i if number is None else b.plus(b.times(number, size), i)
    rest = x.shape[count:]
    rows, columns = math.prod(x.shape[:count]), math.prod(rest)
    table = b.reshape(x, (rows, columns))
    is_float = table.is_float
    if not is_float:
        # Tables are floats, which hold integers exactly to 2^24.
        table = b.cast(table, torch.float32)
    y = b.reshape(rows_of(b, number, table), shape + rest)
    return y if is_float else b.cast(y, x.dtype)


def wrapped(b: Builder, ids: Value, size: int) -> Value:
    """Negative indices count from the end."""
    if ids.constant is not None:
        return b.constant(torch.where(ids.constant < 0, ids.constant + size, ids.constant))
    return b.select(b.compare("lt", ids, 0), b.plus(ids, size), ids)


@converts("aten.one_hot.default", to="arith.cmpi with positions")
def one_hot(b: Builder, self, num_classes=-1):
    if num_classes < 0:
        raise CannotImport("one_hot without num_classes: its result has no static shape")
    return b.cast(b.one_hot(self, num_classes), torch.int64)
