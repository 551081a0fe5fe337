"""Embeddings, gathers and indexing."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.reductions import total
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
    return without_padding(b, rows_of(b, indices, weight), indices, padding_idx)


def without_padding(b: Builder, rows: Value, ids: Value, padding_idx: int) -> Value:
    """`rows`, where those of the padding get no gradient."""
    if padding_idx < 0 or not rows.trained:
        return rows
    padding = b.reshape(b.compare("eq", ids, padding_idx), ids.shape + (1,))
    return b.select(padding, b.stop(rows), rows)


@converts("aten.embedding_bag.padding_idx", to="nn.embedding, nn.reduce, for bags of one size")
def embedding_bag(
    b: Builder,
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    starts = offsets.constant
    if starts is None or indices.rank != 1 or include_last_offset:
        raise CannotImport("bags of indices by offsets: give a matrix, with a bag a row")
    size = indices.shape[0] // starts.numel()
    if not starts.equal(torch.arange(starts.numel()) * size) or scale_grad_by_freq:
        raise CannotImport("bags of different sizes, or scale_grad_by_freq")
    if padding_idx not in (None, -1):
        raise CannotImport("an embedding bag with padding_idx")
    ids = b.reshape(indices, (starts.numel(), size))
    rows = rows_of(b, ids, weight)
    if per_sample_weights is not None:
        rows = b.times(rows, b.reshape(per_sample_weights, ids.shape + (1,)))
    kinds = {0: "sum", 1: "mean", 2: "max"}
    return [b.reduce(kinds[mode], rows, [1]), None, None, None]


@converts("aten.scatter.value", "aten.scatter.src", to="one-hot masks, arith.select")
def scatter(b: Builder, self, dim, index, value=None, src=None):
    """Along one dimension, whose size the work is linear in; where an index is
    twice in a row the last one counts, as in PyTorch on a CPU."""
    dim %= self.rank
    last = self.rank - 1
    x, ids = b.swap(self, dim, last), b.swap(index, dim, last)
    if x.shape[:-1] != ids.shape[:-1]:
        raise CannotImport("scatter with an index of another shape than the tensor")
    if src is not None:
        src = b.swap(src, dim, last)
    for k in range(ids.shape[-1]):
        hot = b.one_hot(b.reshape(b.narrow(ids, last, k, 1), ids.shape[:-1]), x.shape[-1])
        new = b.like(x, value) if src is None else b.narrow(src, last, k, 1)
        x = b.select(hot, b.broadcast(new, x.shape), x)
    return b.swap(x, dim, last)


@converts("aten.histc.default", to="a one-hot mask and nn.reduce sum, for counts of integers")
def histc(b: Builder, self, bins=100, min=0, max=0):
    if max - min != bins - 1 or int(min) != min:
        raise CannotImport(f"histc of {bins} bins from {min} to {max}: wanted counts of integers")
    ids = b.reshape(b.minus(b.cast(self, torch.int64), int(min)), (self.size,))
    hot = b.cast(b.one_hot(ids, bins), torch.float32)
    return b.cast(b.reduce("sum", hot, [0]), self.dtype)


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
    picked = total(b, b.select(hot, x, b.like(x, 0)), [len(wide) - 1])
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
