"""Embeddings and indexing by rows."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.limits import is_within, within
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value, paired


def rows_of(b: Builder, ids: Value, table: Value) -> Value:
    """Rows by their numbers. Those of a run are checked when they are read."""
    if ids.constant is not None and ids.size:
        first, last = int(ids.constant.min()), int(ids.constant.max())
        if first < 0 or last >= table.shape[0]:
            raise CannotImport(
                f"rows {first} to {last} are read of a table that has {table.shape[0]}: where "
                "they are positions, the sequence is too long for the model"
            )
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
    ids = b.reshape(indices, (starts.numel(), size))
    rows = rows_of(b, ids, weight)
    if per_sample_weights is not None:
        rows = b.times(rows, b.reshape(per_sample_weights, ids.shape + (1,)))
    kind = {0: "sum", 1: "mean", 2: "max"}[mode]
    if padding_idx is None:
        return [b.reduce(kind, rows, [1]), None, None, None]
    kept = b.compare("ne", ids, padding_idx % weight.shape[0])
    return [bags_without(b, rows, kept, kind), None, None, None]


def bags_without(b: Builder, rows: Value, kept: Value, kind: str) -> Value:
    """Bags of those rows that are kept, which are 0 where none is."""
    wide = b.reshape(kept, kept.shape + (1,))
    counts = b.reduce("sum", b.cast(wide, rows.dtype), [1])
    if kind == "max":
        found = b.reduce("max", b.select(wide, rows, b.like(rows, float("-inf"))), [1])
        return b.select(b.compare("gt", counts, 0), found, b.like(found, 0))
    found = b.reduce("sum", b.select(wide, rows, b.like(rows, 0)), [1])
    return found if kind == "sum" else b.over(found, b.binary("maximum", counts, 1))


@converts("aten.histc.default", to="a one-hot mask and nn.reduce sum")
def histc(b: Builder, self, bins=100, min=0, max=0):
    """How many elements are in each of equal bins, of which the last has its end, too."""
    if min >= max:
        raise CannotImport(f"histc from {min} to {max}: name the ends of the bins")
    places = b.minus(self, float(min))
    if max - min != bins:  # else bins are 1 wide, and no quotient is rounded
        places = b.times(b.over(places, float(max - min)), float(bins))
    places = b.unary("math.floor", places)
    places = b.select(b.compare("eq", self, float(max)), b.like(places, bins - 1), places)
    inside = b.binary("and", b.compare("ge", self, float(min)), b.compare("le", self, float(max)))
    places = b.cast(b.select(inside, places, b.like(places, -1)), torch.int64)
    hot = b.cast(b.one_hot(b.reshape(places, (self.size,)), bins), torch.float32)
    return b.cast(b.reduce("sum", hot, [0]), self.dtype)


@converts("aten.index.Tensor", to="nn.embedding on rows")
def index(b: Builder, self, indices):
    if self.dtype.is_complex:
        return paired(index(b, pair_of(b, self), indices))
    used = indexed_dims(indices)
    if not used:
        return self
    # The indexed dimensions first, and back to their place in the result.
    y = index_rows(b, b.transpose(self, rows_first(used, self.rank)), [indices[d] for d in used])
    positions = y.rank - (self.rank - len(used))
    return b.transpose(y, inverse(positions_first(used, positions, y.rank)))


def pair_of(b: Builder, x: Value) -> Value:
    """The parts of a complex tensor, in a last dimension of 2."""
    if x.constant is not None:
        return b.constant(torch.view_as_real(x.constant.resolve_conj()).clone())
    return x.pair


def indexed_dims(indices: list[Value | None]) -> list[int]:
    """The dimensions that have indices."""
    if any(i is not None and i.dtype == torch.bool for i in indices):
        raise CannotImport(
            "indexing by a mask of bool: its result has no static shape; use "
            "torch.where or multiply by the mask"
        )
    return [i for i, ids in enumerate(indices) if ids is not None]


def rows_first(used: list[int], rank: int) -> list[int]:
    """The permutation that brings indexed dimensions to the front."""
    return used + [dim for dim in range(rank) if dim not in used]


def positions_first(used: list[int], positions: int, rank: int) -> list[int]:
    """The same for what indexing gives: the dimensions of the indices are where the
    indexed ones were, or in front where those are not neighbours."""
    neighbours = used[-1] - used[0] == len(used) - 1
    first = used[0] if neighbours else 0
    ids = list(range(first, first + positions))
    return ids + [dim for dim in range(rank) if dim not in ids]


def inverse(permutation: list[int]) -> list[int]:
    return sorted(range(len(permutation)), key=permutation.__getitem__)


def index_rows(b: Builder, x: Value, ids: list[Value]) -> Value:
    """x[ids[0], ids[1], ..]: one lookup of rows numbered row-major."""
    count = len(ids)
    number = row_numbers(b, x.shape, ids)
    rest = x.shape[count:]
    table = b.reshape(x, (math.prod(x.shape[:count]), math.prod(rest)))
    if table.is_float:
        y = rows_of(b, number, table)
    else:
        y = b.gather(table, b.reshape(number, (number.size,)), 0)
    return b.reshape(y, number.shape + rest)


def row_numbers(b: Builder, shape: tuple[int, ...], ids: list[Value]) -> Value:
    """Indices of the first dimensions of `shape` as numbers of rows, row-major. Of several
    each is checked, since one outside of its dimension makes the number of another row."""
    common = tuple(torch.broadcast_shapes(*(i.shape for i in ids)))
    number = None
    for size, i in zip(shape, ids):
        i = i if is_within(i, size) else wrapped(b, i, size)
        i = b.broadcast(within(b, i, size) if len(ids) > 1 else i, common)
        number = i if number is None else b.plus(b.times(number, size), i)
    return number


def wrapped(b: Builder, ids: Value, size: int) -> Value:
    """Negative indices count from the end."""
    if ids.constant is not None:
        return b.constant(torch.where(ids.constant < 0, ids.constant + size, ids.constant))
    return b.select(b.compare("lt", ids, 0), b.plus(ids, size), ids)


@converts("aten.one_hot.default", to="arith.cmpi with positions")
def one_hot(b: Builder, self, num_classes):
    return b.cast(b.one_hot(within(b, self, num_classes), num_classes), torch.int64)
