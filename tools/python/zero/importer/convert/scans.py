"""What runs along a dimension: products, extrema and logarithms of sums of all elements so
far, in as many steps as the length has bits; and the product of all. Products of a few are
made in order, as PyTorch's, which then overflow where those do."""

from __future__ import annotations

import itertools
import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.activations import log_sum_exp
from zero.importer.convert.reductions import listed
from zero.importer.convert.registry import converts, rounded_once
from zero.importer.ir import Value


def scan(b: Builder, values: list[Value], dim: int, join: Callable) -> list[Value]:
    """Element i of the result is `join` of the elements up to i; `join` takes the values
    of earlier elements and those of later ones, and is associative."""
    distance = 1
    while distance < values[0].shape[dim]:
        rest = values[0].shape[dim] - distance
        earlier = [b.narrow(value, dim, 0, rest) for value in values]
        later = [b.narrow(value, dim, distance, rest) for value in values]
        starts = [b.narrow(value, dim, 0, distance) for value in values]
        values = [b.concat(pair, dim) for pair in zip(starts, join(earlier, later))]
        distance *= 2
    return values


# Longer dimensions are too many operations, one for each element.
LONGEST_IN_ORDER = 64


def products_so_far(b: Builder, x: Value, dim: int) -> list[Value]:
    """Element by element, each with a dimension of 1."""
    first, *rest = b.split(x, dim, [1] * x.shape[dim])
    return list(itertools.accumulate(rest, b.times, initial=first))


@converts("aten.cumprod.default", to="arith.mulf of slices")
@rounded_once
def cumprod(b: Builder, self, dim, dtype=None):
    x = as_number(b, self, dtype)
    if not x.size or not x.rank:
        return x
    dim %= x.rank
    if x.is_float and x.shape[dim] <= LONGEST_IN_ORDER:
        return b.concat(products_so_far(b, x, dim), dim)
    return scan(b, [x], dim, lambda x, y: [b.times(x[0], y[0])])[0]


@converts("aten.prod.default", "aten.prod.dim_int", to="arith.mulf of slices")
@rounded_once
def prod(b: Builder, self, dim=None, keepdim=False, dtype=None):
    """No division, so that gradients are right beside a 0, too."""
    x = as_number(b, self, dtype)
    dims = listed(dim, x.rank)
    rest = [d for d in range(x.rank) if d not in dims]
    shape = [x.shape[d] for d in rest]
    kept = [1 if d in dims else s for d, s in enumerate(x.shape)] if keepdim else shape
    if not x.size:
        return b.fill(kept, 1, x.dtype)
    y = b.reshape(b.transpose(x, rest + dims), [*shape, math.prod(x.shape[d] for d in dims)])
    last = y.rank - 1
    while y.shape[last] > (LONGEST_IN_ORDER if x.is_float else 1):
        half, odd = divmod(y.shape[last], 2)
        product = b.times(b.narrow(y, last, 0, half), b.narrow(y, last, half, half))
        y = b.concat([product, b.narrow(y, last, 2 * half, 1)], last) if odd else product
    return b.reshape(products_so_far(b, y, last)[-1], kept)


def as_number(b: Builder, x: Value, dtype) -> Value:
    """As products take it: a bool counts as an integer."""
    return b.cast(x, dtype or (x.dtype if x.is_float else torch.int64))


@converts("aten.cummax.default", to="arith.select of slices, nn.gather")
def cummax(b: Builder, self, dim):
    return running_extremum(b, self, dim, "ge")


@converts("aten.cummin.default", to="arith.select of slices, nn.gather")
def cummin(b: Builder, self, dim):
    return running_extremum(b, self, dim, "le")


def running_extremum(b: Builder, x: Value, dim: int, order: str) -> list[Value]:
    """The extremum so far and where it is, the last of several."""
    if not x.rank:
        return [x, b.fill((), 0, torch.int64)]
    dim %= x.rank

    def join(earlier: list[Value], later: list[Value]) -> list[Value]:
        takes = b.compare(order, later[0], earlier[0])
        if x.is_float:  # NaN goes on.
            takes = b.binary("or", takes, b.compare("ne", later[0], later[0]))
        return [b.select(takes, y, x) for x, y in zip(earlier, later)]

    _, places = scan(b, [b.stop(x), b.positions(x.shape, dim)], dim, join)
    return [b.gather(x, places, dim), places]


@converts("aten.logcumsumexp.default", to="logaddexp of slices")
def logcumsumexp(b: Builder, self, dim):
    if not self.rank:
        return self
    return scan(b, [self], dim % self.rank, lambda x, y: [log_add_exp(b, x[0], y[0])])[0]


def log_add_exp(b: Builder, x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)): the larger, and what the other adds to it."""
    pair = b.concat([b.reshape(v, (*v.shape, 1)) for v in (x, y)], x.rank)
    return b.reshape(log_sum_exp(b, pair, [x.rank]), x.shape)
