"""What orders elements: sorts, the largest, running sums."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.reductions import extremum, shared
from zero.importer.convert.registry import converts
from zero.importer.ir import Value


def positions_in_order(
    b: Builder, x: Value, dim: int, descending: bool, first: int | None = None
) -> Value:
    """Where the elements along `dim` are that come first in order."""
    dim %= x.rank
    moved = b.swap(x, dim, x.rank - 1)
    return b.swap(b.argsort(moved, descending, first), dim, x.rank - 1)


def in_order(b: Builder, x: Value, dim: int, descending: bool, first: int | None = None):
    places = positions_in_order(b, x, dim, descending, first)
    return [b.gather(x, places, dim % x.rank), places]


@converts("aten.sort.default", "aten.sort.stable", to="nn.argsort, nn.gather")
def sort(b: Builder, self, dim=-1, descending=False, stable=None):
    return in_order(b, self, dim, descending)


@converts("aten.argsort.default", "aten.argsort.stable", to="nn.argsort")
def argsort(b: Builder, self, dim=-1, descending=False, stable=None):
    return positions_in_order(b, self, dim, descending)


@converts("aten.topk.default", to="nn.argsort of the first k, nn.gather")
def topk(b: Builder, self, k, dim=-1, largest=True, sorted=True):
    return in_order(b, self, dim, largest, k)


def in_place(b: Builder, x: Value, dim: int, k: int, keep: bool) -> list[Value]:
    """The k-th smallest along `dim`, and where it is."""
    dim %= max(1, x.rank)
    y = x if x.rank else b.reshape(x, [1])
    places = b.narrow(positions_in_order(b, y, dim, False, k), dim, k - 1, 1)
    shape = y.shape[:dim] + ((1,) if keep else ()) + y.shape[dim + 1 :]
    return [b.reshape(v, shape if x.rank else ()) for v in (b.gather(y, places, dim), places)]


@converts("aten.kthvalue.default", to="nn.argsort of the first k, nn.gather")
def kthvalue(b: Builder, self, k, dim=-1, keepdim=False):
    return in_place(b, self, dim, k, keepdim)


@converts("aten.median.dim", to="nn.argsort of the first half, nn.gather")
def median_dim(b: Builder, self, dim, keepdim=False):
    if not self.rank:
        return in_place(b, self, dim, 1, keepdim)
    dim %= self.rank
    value, place = in_place(b, self, dim, (self.shape[dim] + 1) // 2, True)
    if self.is_float:
        # The first NaN is in the place of any number.
        missing = b.cast(b.compare("ne", self, self), torch.float32)
        first = positions_in_order(b, missing, dim, True, 1)
        place = b.select(b.compare("gt", b.gather(missing, first, dim), 0), first, place)
        value = b.gather(self, place, dim)
    shape = value.shape if keepdim else value.shape[:dim] + value.shape[dim + 1 :]
    return [b.reshape(v, shape) for v in (value, place)]


@converts("aten.median.default", to="nn.argsort of the first half, nn.gather")
def median(b: Builder, self):
    x = b.reshape(self, [self.size])
    return shared(b, x, median_dim(b, x, 0, keepdim=True)[0], [0], keep=False)


def first_position(b: Builder, x: Value, dim: int | None, keep: bool, largest: bool) -> Value:
    """Where the largest or smallest element is, the first of several."""
    if dim is None:
        y = first_position(b, b.reshape(x, [x.size]), 0, False, largest)
        return b.reshape(y, (1,) * x.rank) if keep else y
    dim %= x.rank
    # NaN is the largest in order, and the first of the smallest, too.
    y = x if largest or not x.is_float else b.negative(x)
    y = positions_in_order(b, y, dim, largest or x.is_float, 1)
    return y if keep else b.reshape(y, y.shape[:dim] + y.shape[dim + 1 :])


@converts("aten.argmax.default", to="nn.argsort descending of the first")
def argmax(b: Builder, self, dim=None, keepdim=False):
    return first_position(b, self, dim, keepdim, largest=True)


@converts("aten.argmin.default", to="nn.argsort of -x descending of the first")
def argmin(b: Builder, self, dim=None, keepdim=False):
    return first_position(b, self, dim, keepdim, largest=False)


@converts("aten.max.dim", to="nn.reduce max, nn.argsort descending of the first")
def max_dim(b: Builder, self, dim, keepdim=False):
    values = extremum(b, self, [dim % self.rank], keepdim)
    return [values, first_position(b, self, dim, keepdim, largest=True)]


@converts("aten.min.dim", to="nn.reduce max of -x, nn.argsort of -x descending of the first")
def min_dim(b: Builder, self, dim, keepdim=False):
    values = extremum(b, self, [dim % self.rank], keepdim, sign=-1)
    return [values, first_position(b, self, dim, keepdim, largest=False)]


@converts("aten.cumsum.default", to="nn.cumsum")
def cumsum(b: Builder, self, dim, dtype=None):
    x = self if dtype is None else b.cast(self, dtype)
    if x.dtype == torch.bool:
        x = b.cast(x, torch.int64)
    return b.cumsum(x, dim % x.rank)
