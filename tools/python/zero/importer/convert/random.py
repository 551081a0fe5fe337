"""Dropout and what else is drawn."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport


@converts("aten.native_dropout.default", to="nn.dropout, with an id of its own")
def native_dropout(b: Builder, input, p, train=True):
    if train is False:
        return [input, None]
    return [b.dropout(input, p), None]


@converts("aten.dropout.default", to="nn.dropout, with an id of its own")
def dropout(b: Builder, input, p, train):
    return b.dropout(input, p) if train else input


@converts("aten.bernoulli.p", to="nn.dropout of ones (stochastic depth)")
def bernoulli(b: Builder, self, p):
    """Ones with probability p, zeros otherwise: dropout scales its ones by 1/p."""
    if not 0 < p <= 1:
        raise CannotImport(f"bernoulli with p = {p}: wanted 0 < p <= 1")
    ones = b.like(self, 1.0)
    return ones if p == 1 else b.times(b.dropout(ones, 1 - p), p)


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
