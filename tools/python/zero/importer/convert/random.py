"""Dropout and what else is drawn."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


@converts("aten.native_dropout.default", to="nn.dropout, with an id of its own")
def native_dropout(b: Builder, input, p, train=True):
    if train is False:
        return [input, None]
    return [b.dropout(input, p), None]


@converts("aten.dropout.default", to="nn.dropout, with an id of its own")
def dropout(b: Builder, input, p, train):
    return b.dropout(input, p) if train else input


@converts("aten.bernoulli.p", to="nn.dropout of ones (stochastic depth); nn.random_integers")
def bernoulli(b: Builder, self, p):
    """Ones with probability p, zeros otherwise. In training they are of dropout, which scales
    its ones by 1/p; what a module in eval mode draws, evaluations draw."""
    if not 0 <= p <= 1:
        raise CannotImport(f"bernoulli of {p}, which is no probability")
    if p in (0, 1):
        return b.like(self, p)
    if b.is_evaluation:
        return drawn_ones(b, self.shape, round(p * PARTS), self.dtype)
    if self.dtype.is_floating_point:
        return b.times(b.dropout(b.like(self, 1.0), 1 - p), p)
    ones = b.dropout(b.fill(self.shape, 1, torch.float32), 1 - p)
    return b.cast(b.compare("gt", ones, b.like(ones, 0.5)), self.dtype)


@converts("aten.bernoulli.default", to="nn.random_integers, compared")
def bernoulli_of(b: Builder, self):
    """Ones with the probability that each element is."""
    return bernoulli_like(b, self, self)


@converts("aten.bernoulli.Tensor", to="nn.random_integers, compared")
def bernoulli_like(b: Builder, self, p):
    share = b.broadcast(b.times(p, float(PARTS)), self.shape)
    return drawn_ones(b, self.shape, b.cast(share, torch.int64), self.dtype)


# So many integers tell probabilities apart, whatever the type of a run.
PARTS = 2**24


def drawn_ones(b: Builder, shape, share: Value | int, dtype) -> Value:
    """Ones for the uppermost `share` of the integers, zeros for the others."""
    drawn = b.random_integers(shape, PARTS)
    ones = b.compare("ge", b.plus(drawn, share), b.fill(shape, PARTS, torch.int64))
    return b.cast(ones, dtype)


@converts("aten.rand.default", to="nn.random_uniform")
def rand(b: Builder, size, dtype=None):
    return b.random_uniform(tuple(size), dtype or torch.float32)


@converts("aten.rand_like.default", to="nn.random_uniform")
def rand_like(b: Builder, self, dtype=None):
    return b.random_uniform(self.shape, dtype or self.dtype)


@converts("aten.normal_functional.default", to="nn.random_normal, scaled")
def normal(b: Builder, self, mean=0.0, std=1.0):
    return b.plus(b.times(b.random_normal(self.shape, self.dtype), std), mean)


@converts("aten.normal.float_float", to="nn.random_normal, scaled")
def normal_of(b: Builder, mean, std, size, dtype=None):
    drawn = b.random_normal(tuple(size), dtype or torch.float32)
    return b.plus(b.times(drawn, std), mean)


@converts("aten.randint.default", to="nn.random_integers")
def randint(b: Builder, high, size, dtype=None):
    return integers(b, 0, high, tuple(size), dtype)


@converts("aten.randint.low", to="nn.random_integers and the lower end")
def randint_from(b: Builder, low, high, size, dtype=None):
    return integers(b, low, high, tuple(size), dtype)


@converts("aten.randint_like.default", to="nn.random_integers")
def randint_like(b: Builder, self, high, dtype=None):
    return integers(b, 0, high, self.shape, dtype or self.dtype)


@converts("aten.randint_like.low_dtype", to="nn.random_integers and the lower end")
def randint_like_from(b: Builder, self, low, high, dtype=None):
    return integers(b, low, high, self.shape, dtype or self.dtype)


def integers(b: Builder, low: int, high: int, shape, dtype) -> Value:
    drawn = b.random_integers(shape, high - low)
    drawn = b.plus(drawn, b.like(drawn, low)) if low else drawn
    # By default it is the number that PyTorch has for int64.
    whole = not isinstance(dtype, torch.dtype) or dtype == torch.int64
    return drawn if whole else b.cast(drawn, dtype)


@converts("zero_importer.alpha_dropout.default", to="nn.dropout of ones, with SELU's moments")
def alpha_dropout(b: Builder, x, p, channels):
    """What is dropped becomes the least value of SELU; a scale and a shift keep mean and
    variance. An evaluation has the input."""
    if p == 1:
        return b.select_mode(b.times(x, 0.0), x)
    shape = (*x.shape[:2], *(1 for _ in x.shape[2:])) if channels else x.shape
    least = -1.7580993408473766
    scale = ((least**2 * p + 1) * (1 - p)) ** -0.5
    kept = b.times(b.dropout(b.fill(shape, 1, x.dtype), p), 1 - p)
    dropped = b.times(b.plus(b.negative(kept), 1.0), least * scale)
    drawn = b.plus(b.plus(b.times(x, b.times(kept, scale)), dropped), -least * scale * p)
    return b.select_mode(drawn, x)


@converts("aten.exponential.default", to="half the squares of two nn.random_normal, added")
def exponential(b: Builder, self, lambd=1.0):
    """Above 0, as PyTorch's are."""
    first, second = (b.random_normal(self.shape, self.dtype) for _ in range(2))
    squares = b.plus(b.times(first, first), b.times(second, second))
    return b.times(b.binary("maximum", squares, torch.finfo(torch.float32).tiny), 0.5 / lambd)


@converts("aten.randn_like.default", to="nn.random_normal, with an id of its own")
def randn_like(b: Builder, self, dtype=None):
    return b.random_normal(self.shape, dtype or self.dtype)


@converts("aten.randn.default", to="nn.random_normal, with an id of its own")
def randn(b: Builder, size, dtype=None):
    return b.random_normal(tuple(size), dtype or torch.float32)
