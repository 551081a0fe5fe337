"""What orders elements: sorts, the largest, running sums."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.reductions import extremum
from zero.importer.convert.registry import converts
from zero.importer.ir import Value


def positions_in_order(
    b: Builder, x: Value, dim: int, descending: bool, first: int | None = None
) -> Value:
    """Where the elements along `dim` are that come first in order."""
    dim %= x.rank
    if x.dtype == torch.bool:
        x = b.cast(x, torch.int64)
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
    size = self.shape[dim] if self.rank else 1
    return in_place(b, self, dim, (size + 1) // 2, keepdim)


@converts("aten.median.default", to="nn.argsort of the first half, nn.gather")
def median(b: Builder, self):
    return median_dim(b, b.reshape(self, [self.size]), 0)[0]


def first_position(b: Builder, x: Value, dim: int | None, keep: bool, largest: bool) -> Value:
    """Where the largest or smallest element is, the first of several."""
    if dim is None:
        y = first_position(b, b.reshape(x, [x.size]), 0, False, largest)
        return b.reshape(y, (1,) * x.rank) if keep else y
    dim %= x.rank
    y = positions_in_order(b, x, dim, largest, 1)
    return y if keep else b.reshape(y, y.shape[:dim] + y.shape[dim + 1 :])


@converts("aten.argmax.default", to="nn.argsort descending of the first")
def argmax(b: Builder, self, dim=None, keepdim=False):
    return first_position(b, self, dim, keepdim, largest=True)


@converts("aten.argmin.default", to="nn.argsort of the first")
def argmin(b: Builder, self, dim=None, keepdim=False):
    return first_position(b, self, dim, keepdim, largest=False)


@converts("aten.max.dim", to="nn.reduce max, nn.argsort descending of the first")
def max_dim(b: Builder, self, dim, keepdim=False):
    values = extremum(b, self, [dim % self.rank], keepdim)
    return [values, first_position(b, self, dim, keepdim, largest=True)]


@converts("aten.min.dim", to="nn.reduce max of -x, nn.argsort of the first")
def min_dim(b: Builder, self, dim, keepdim=False):
    values = extremum(b, self, [dim % self.rank], keepdim, sign=-1)
    return [values, first_position(b, self, dim, keepdim, largest=False)]


@converts("aten.cumsum.default", to="nn.cumsum")
def cumsum(b: Builder, self, dim, dtype=None):
    x = self if dtype is None else b.cast(self, dtype)
    if x.dtype == torch.bool:
        x = b.cast(x, torch.int64)
    return b.cumsum(x, dim % x.rank)
