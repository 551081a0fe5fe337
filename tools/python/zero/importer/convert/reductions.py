"""Sums, means, extrema."""

from __future__ import annotations

import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def listed(dim, rank: int) -> list[int]:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(rank))
    dims = [dim] if isinstance(dim, int) else dim
    return sorted(d % rank for d in dims) if rank else []


@converts("aten.sum.default", "aten.sum.dim_IntList", to="nn.reduce sum")
def sum_of(b: Builder, self, dim=None, keepdim=False, dtype=None):
    x = self if dtype is None else b.cast(self, dtype)
    if x.dtype == torch.bool:
        x = b.cast(x, torch.int64)
    found = total(b, x, listed(dim, x.rank), keepdim)
    return b.cast(found, torch.bool) if dtype == torch.bool else found


def total(b: Builder, x: Value, dims: list[int], keep: bool = False) -> Value:
    """A sum; nn.reduce is for floats, so integers are summed in f32, which is
    exact to 2^24, and which stays f32 in runs of 16 bits: it comes from integers."""
    if x.is_float:
        return b.reduce("sum", x, dims, keep)
    return b.cast(b.reduce("sum", b.cast(x, torch.float32), dims, keep), x.dtype)


@converts("aten.mean.default", "aten.mean.dim", to="nn.reduce mean")
def mean(b: Builder, self, dim=None, keepdim=False, dtype=None):
    x = self if dtype is None else b.cast(self, dtype)
    return b.reduce("mean", x, listed(dim, x.rank), keepdim)


@converts("aten.amax.default", "aten.max.default", to="nn.reduce max")
def amax(b: Builder, self, dim=None, keepdim=False):
    dims = listed(dim, self.rank)
    return shared(b, self, extremum(b, self, dims, keep=True), dims, keepdim)


def shared(b: Builder, x: Value, value: Value, dims: list[int], keep: bool) -> Value:
    """`value`, elements of x over `dims`, which stay in it: its gradient goes in even parts to
    all elements that are equal to it."""
    shape = value.shape if keep else [s for d, s in enumerate(x.shape) if d not in dims]
    if not (x.trained and x.is_float):
        return b.reshape(value, shape)
    value = b.stop(value)
    missing = b.binary("and", *(b.compare("ne", v, v) for v in (b.stop(x), value)))
    here = b.binary("or", b.compare("eq", b.stop(x), value), missing)
    # Infinities and NaN cannot be subtracted from themselves.
    base = b.select(b.compare("lt", b.unary("math.absf", value), math.inf), value, b.like(value, 0))
    rest = b.reduce("sum", b.select(here, b.minus(x, base), b.like(x, 0)), dims, keep=True)
    count = b.reduce("sum", b.select(here, b.like(x, 1), b.like(x, 0)), dims, keep=True)
    return b.reshape(b.plus(base, b.over(rest, count)), shape)


def extremum(b: Builder, x: Value, dims: list[int], keep: bool, sign: int = 1) -> Value:
    if not x.is_float:
        return integer_extremum(b, x, dims, keep, sign > 0)
    y = b.reduce("max", x if sign > 0 else b.negative(x), dims, keep)
    return y if sign > 0 else b.negative(y)


def integer_extremum(b: Builder, x: Value, dims: list[int], keep: bool, largest: bool) -> Value:
    """The first in order, since nn.reduce is for floats and f32 would round."""
    rest = [dim for dim in range(x.rank) if dim not in dims]
    shape = [x.shape[dim] for dim in rest]
    y = b.reshape(b.transpose(x, rest + dims), [*shape, math.prod(x.shape[dim] for dim in dims)])
    y = b.gather(y, b.argsort(y, largest, 1), y.rank - 1)
    return b.reshape(y, [1 if d in dims else s for d, s in enumerate(x.shape)] if keep else shape)


@converts("aten.amin.default", "aten.min.default", to="nn.reduce max of -x")
def amin(b: Builder, self, dim=None, keepdim=False):
    dims = listed(dim, self.rank)
    return shared(b, self, extremum(b, self, dims, keep=True, sign=-1), dims, keepdim)


def listed_alone(dim, rank: int) -> list[int]:
    """As `any` and `all` have it: no dimensions are none, where others take them for all."""
    return [] if isinstance(dim, (list, tuple)) and not dim else listed(dim, rank)


def truth_of_nothing(b: Builder, found: bool, x: Value, dim, keep: bool) -> Value:
    dims = listed_alone(dim, x.rank)
    shape = [1 if d in dims else s for d, s in enumerate(x.shape) if keep or d not in dims]
    return b.fill(shape, found, torch.bool)


@converts("aten.any.default", "aten.any.dim", "aten.any.dims", to="nn.reduce max of 0 and 1")
def any_of(b: Builder, self, dim=None, keepdim=False):
    if not self.size:
        return truth_of_nothing(b, False, self, dim, keepdim)
    x = b.cast(b.cast(self, torch.bool), torch.float32)
    return b.compare("gt", b.reduce("max", x, listed_alone(dim, x.rank), keepdim), 0)


@converts("aten.all.default", "aten.all.dim", "aten.all.dims", to="nn.reduce max of 0 and 1")
def all_of(b: Builder, self, dim=None, keepdim=False):
    if not self.size:
        return truth_of_nothing(b, True, self, dim, keepdim)
    x = b.cast(b.cast(self, torch.bool), torch.float32)
    x = b.reduce("max", b.minus(b.like(x, 1), x), listed_alone(dim, x.rank), keepdim)
    return b.compare("eq", x, 0)


@converts("aten.var.correction", to="nn.reduce mean of squares")
def variance(b: Builder, self, dim=None, correction=None, keepdim=False):
    dims = listed(dim, self.rank)
    count = 1
    for d in dims:
        count *= self.shape[d]
    centred = b.minus(self, b.reduce("mean", self, dims, keep=True))
    squares = b.reduce("sum", b.times(centred, centred), dims, keepdim)
    return b.over(squares, max(0.0, count - (1 if correction is None else correction)))


@converts("aten.var.dim", to="nn.reduce mean of squares")
def variance_unbiased(b: Builder, self, dim=None, unbiased=True, keepdim=False):
    return variance(b, self, dim, int(unbiased), keepdim)


@converts("aten.std.dim", to="math.sqrt of the variance")
def deviation_unbiased(b: Builder, self, dim=None, unbiased=True, keepdim=False):
    return deviation(b, self, dim, int(unbiased), keepdim)


@converts("aten.std.correction", to="math.sqrt of the variance")
def deviation(b: Builder, self, dim=None, correction=None, keepdim=False):
    return root_of(b, variance(b, self, dim, correction, keepdim))


@converts("aten.var_mean.correction", to="nn.reduce mean of squares, nn.reduce mean")
def variance_and_mean(b: Builder, self, dim=None, correction=None, keepdim=False):
    return [
        variance(b, self, dim, correction, keepdim),
        b.reduce("mean", self, listed(dim, self.rank), keepdim),
    ]


@converts("aten.std_mean.correction", to="math.sqrt of the variance, nn.reduce mean")
def deviation_and_mean(b: Builder, self, dim=None, correction=None, keepdim=False):
    found, mean = variance_and_mean(b, self, dim, correction, keepdim)
    return [root_of(b, found), mean]


@converts("aten.nanmean.default", to="nn.reduce sum of what is a number, over its count")
def nanmean(b: Builder, self, dim=None, keepdim=False, dtype=None):
    x = self if dtype is None else b.cast(self, dtype)
    dims, isnan = listed(dim, x.rank), b.compare("ne", x, x)
    count = b.reduce("sum", b.select(isnan, b.like(x, 0), b.like(x, 1)), dims, keepdim)
    return b.over(b.reduce("sum", b.select(isnan, b.like(x, 0), x), dims, keepdim), count)


@converts("aten.linalg_vector_norm.default", to="math.sqrt of a sum of squares")
def vector_norm(b: Builder, self, ord=2, dim=None, keepdim=False):
    dims = listed(dim, self.rank)
    if ord == 1:
        return b.reduce("sum", b.unary("math.absf", self), dims, keepdim)
    if abs(ord) == math.inf:
        sizes = b.unary("math.absf", self)
        value = extremum(b, sizes, dims, keep=True, sign=1 if ord > 0 else -1)
        return shared(b, sizes, value, dims, keepdim)
    if ord == 0:
        return b.reduce("sum", b.cast(b.compare("ne", self, 0), self.dtype), dims, keepdim)
    if ord != 2:
        return norm_of_order(b, self, ord, dims, keepdim)
    squares = b.reduce("sum", b.times(self, self), dims, keepdim)
    return root_of(b, squares)


def root_of(b: Builder, x: Value) -> Value:
    return beside_0(b, x, lambda x: b.unary("math.sqrt", x))


def beside_0(b: Builder, x: Value, root: Callable) -> Value:
    """`root` of x, and 0 without a slope where x is 0, as PyTorch's norms and deviations
    have it."""
    nothing = b.compare("eq", x, 0)
    return b.select(nothing, b.like(x, 0), root(b.select(nothing, b.like(x, 1), x)))


def norm_of_order(b: Builder, x: Value, order: float, dims: list[int], keep: bool) -> Value:
    if not order > 1:
        raise CannotImport(f"a vector norm of order {order}: wanted 0, 1 or more, or an infinity")

    def power(x: Value, exponent: float) -> Value:
        return b.unary("math.exp", b.times(b.unary("math.log", x), exponent))

    powers = beside_0(b, b.unary("math.absf", x), lambda x: power(x, order))
    return beside_0(b, b.reduce("sum", powers, dims, keep), lambda x: power(x, 1 / order))


@converts("aten.norm.Scalar", "aten.norm.ScalarOpt_dim", to="math.sqrt of a sum of squares")
def norm(b: Builder, self, p=2, dim=None, keepdim=False):
    return vector_norm(b, self, 2 if p is None else p, dim, keepdim)
