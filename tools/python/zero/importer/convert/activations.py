"""Activation functions."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.reductions import listed
from zero.importer.convert.registry import NARROW, converts, rounded_once
from zero.importer.convert.special import as_float
from zero.importer.ir import Value, same


def gelu_of(b: Builder, x: Value, form: str) -> Value:
    return b.add("nn.gelu", [x], [(x.shape, x.dtype)], f"{form} {{}}", same)[0]


def silu_of(b: Builder, x: Value) -> Value:
    return b.add("nn.silu", [x], [(x.shape, x.dtype)], "{}", same)[0]


def sigmoid_of(b: Builder, x: Value) -> Value:
    """1 / (1 + exp(-x)), and exp(x) / (1 + exp(x)) below 0. The gradient is that of the rounded
    value, as PyTorch has it: 0 where that is 1, and what divides by it finds no rest."""
    dtype, x = x.dtype, b.cast(x, torch.float32) if x.dtype in NARROW else x
    above = b.compare("ge", x, 0)
    power = b.unary("math.exp", b.select(above, b.negative(x), x))
    y = b.over(b.select(above, b.like(x, 1.0), power), b.plus(power, 1.0))
    if x.trained:
        y = b.stop(b.cast(b.cast(y, dtype), x.dtype))
        y = b.plus(y, b.times(b.slope(x), b.times(y, b.minus(b.like(y, 1.0), y))))
    return b.cast(y, dtype)


def softplus_of(b: Builder, x: Value) -> Value:
    """max(x, 0) + log(1 + exp(-|x|)). At 0 the gradients of the terms are 1 and -1/2."""
    above = b.compare("ge", x, 0)
    tail = b.unary("math.log1p", b.unary("math.exp", b.select(above, b.negative(x), x)))
    return b.plus(b.select(above, x, b.like(x, 0)), tail)


@converts("aten.gelu.default", to="nn.gelu")
def gelu(b: Builder, self, approximate="none"):
    return gelu_of(b, self, {"none": "exact", "tanh": "tanh"}[approximate])


@converts("aten.silu.default", to="nn.silu")
def silu(b: Builder, self):
    return silu_of(b, self)


@converts("aten.relu.default", to="arith.maximumf")
def relu(b: Builder, self):
    # The constant first: at 0 PyTorch's gradient is 0.
    return b.binary("maximum", b.like(self, 0), self)


@converts("aten.hardtanh.default", "aten.relu6.default", to="arith.maximumf, minimumf")
def hardtanh(b: Builder, self, min_val=0.0, max_val=6.0):
    # Constants first: at the bounds PyTorch's gradient is 0.
    x = b.binary("maximum", b.like(self, min_val), self)
    return b.binary("minimum", b.like(x, max_val), x)


@converts("aten.sigmoid.default", to="1 / (1 + exp(-x)) and exp(x) / (1 + exp(x))")
def sigmoid(b: Builder, self):
    return sigmoid_of(b, as_float(b, self))


@converts("aten.log_sigmoid.default", to="-softplus(-x)")
@rounded_once
def log_sigmoid(b: Builder, self):
    return b.negative(softplus_of(b, b.negative(self)))


@converts("aten.softplus.default", to="max(x, 0) + log1p(exp(-|x|))")
@rounded_once
def softplus(b: Builder, self, beta=1, threshold=20):
    x = self if beta == 1 else b.times(self, beta)
    y = softplus_of(b, x)
    y = y if beta == 1 else b.over(y, beta)
    # Above the threshold PyTorch takes the line.
    return b.select(b.compare("gt", x, threshold), self, y)


@converts("aten.threshold.default", to="arith.select")
def threshold(b: Builder, self, threshold, value):
    return b.select(b.compare("le", self, threshold), b.like(self, value), self)


@converts("aten.leaky_relu.default", to="arith.select")
@rounded_once
def leaky_relu(b: Builder, self, negative_slope=0.01):
    return b.select(b.compare("gt", self, 0), self, b.times(self, negative_slope))


@converts("aten.elu.default", to="arith.select and math.expm1")
@rounded_once
def elu(b: Builder, self, alpha=1, scale=1, input_scale=1):
    # The exponent is clipped, so that the branch not taken has no infinity. At 0 the
    # gradient is that of the exponential.
    below = b.times(self, input_scale)
    below = b.binary("minimum", below, b.like(below, 0))
    low = b.times(b.unary("math.expm1", below), alpha * scale)
    return b.select(b.compare("gt", self, 0), b.times(self, scale), low)


@converts("aten.selu.default", to="arith.select and math.expm1")
@rounded_once
def selu(b: Builder, self):
    return elu(b, self, 1.6732632423543772, 1.0507009873554805)


@converts("aten.celu.default", to="arith.select and math.expm1")
@rounded_once
def celu(b: Builder, self, alpha=1.0):
    return elu(b, self, alpha, 1, 1 / alpha)


@converts("aten.softmax.int", "aten._softmax.default", to="nn.softmax")
def softmax(b: Builder, self, dim, dtype=None, half_to_float=False):
    x = self if dtype is None else b.cast(self, dtype)
    return b.softmax(x, dim)


@converts("aten.log_softmax.int", "aten._log_softmax.default", to="x - max - log(sum(exp))")
def log_softmax(b: Builder, self, dim, dtype=None, half_to_float=False):
    x = self if dtype is None else b.cast(self, dtype)
    dim %= x.rank
    return log_softmax_of(b, x, dim)


@rounded_once
def log_softmax_of(b: Builder, x: Value, dim: int) -> Value:
    """The largest is subtracted first: beside a large one, the logarithm of the sum
    would be lost."""
    y, _, log = shifted(b, x, [dim])
    return b.minus(y, log)


def log_sum_exp(b: Builder, x: Value, dims: list[int]) -> Value:
    """log(sum(exp(x))) over `dims`, which stay with one element each."""
    largest = finite(b, b.stop(b.reduce("max", x, dims, keep=True)))
    total = b.reduce("sum", b.unary("math.exp", b.minus(x, largest)), dims, keep=True)
    return b.plus(b.unary("math.log", total), largest)


def finite(b: Builder, largest: Value) -> Value:
    """0 in the place of an infinity, which cannot be subtracted from itself."""
    infinite = b.compare("eq", b.unary("math.absf", largest), math.inf)
    return b.select(infinite, b.like(largest, 0), largest)


def shifted(b: Builder, x: Value, dims: list[int]) -> tuple[Value, Value, Value]:
    """x - max(x) over `dims`, max(x), and log(sum(exp(x - max(x)))). The maximum is
    subtracted and added again, and gets no gradient."""
    largest = b.stop(b.reduce("max", x, dims, keep=True))
    y = b.minus(x, largest)
    return y, largest, b.unary("math.log", b.reduce("sum", b.unary("math.exp", y), dims, keep=True))


@converts("aten.logsumexp.default", to="max + log(sum(exp(x - max)))")
def logsumexp(b: Builder, self, dim, keepdim=False):
    dims = listed(dim, self.rank)
    y = log_sum_exp(b, as_float(b, self), dims)
    return y if keepdim else b.reshape(y, [s for i, s in enumerate(y.shape) if i not in dims])


@converts("aten.hardswish.default", to="x * hardsigmoid(x)")
@rounded_once
def hardswish(b: Builder, self):
    return b.times(self, hardsigmoid(b, self))


@converts("aten.hardsigmoid.default", to="min(max(x / 6 + 1/2, 0), 1)")
@rounded_once
def hardsigmoid(b: Builder, self):
    return hardtanh(b, b.plus(b.times(self, 1 / 6), 0.5), 0.0, 1.0)


@converts("aten.mish.default", to="x * tanh(softplus(x))")
@rounded_once
def mish(b: Builder, self):
    return b.times(self, b.unary("math.tanh", softplus_of(b, self)))


@converts("aten.glu.default", to="nn.split, arith.mulf")
@rounded_once
def glu(b: Builder, self, dim=-1):
    dim %= self.rank
    value, gate = b.split(self, dim, [self.shape[dim] // 2] * 2)
    return b.times(value, sigmoid_of(b, gate))


@converts("aten.prelu.default", "aten._prelu_kernel.default", to="arith.select")
def prelu(b: Builder, self, weight):
    view = (1, weight.size) + (1,) * (self.rank - 2) if self.rank > 1 else (weight.size,)
    slope = b.broadcast(b.reshape(weight, view), self.shape)
    return b.select(b.compare("gt", self, 0), self, b.times(self, slope))
