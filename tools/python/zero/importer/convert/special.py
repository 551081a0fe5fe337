"""Functions that no dialect has, by series. Their gradients are formulas of their own: the
slope of an approximation is less exact than the approximation."""

from __future__ import annotations

import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def with_slope(b: Builder, x: Value, value: Value, slope: Value, pole: Callable) -> Value:
    """`value`, whose gradient for `x` is `slope`. Where that is infinite or NaN it is `pole`
    of x, whose own gradient is: a product with it would lose the value."""
    if not x.trained:
        return value
    slope = b.stop(slope)
    finite = b.compare("lt", b.unary("math.absf", slope), math.inf)
    regular = b.plus(
        b.stop(value), b.times(b.slope(x), b.select(finite, slope, b.like(slope, 0)))
    )
    return b.select(finite, regular, pole(b, b.select(finite, b.like(x, 0.5), x)))


def as_float(b: Builder, x: Value) -> Value:
    return x if x.is_float else b.cast(x, torch.float32)


def inverse_of(b: Builder, x: Value) -> Value:
    return b.over(b.like(x, 1.0), x)


def polynomial(b: Builder, x: Value, coefficients: list[float]) -> Value:
    """The highest power first."""
    y = b.like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        y = b.plus(b.times(y, x), coefficient)
    return y


# The series of the logarithm of gamma at 2, and how far from it Stirling's begins.
TERMS = 14
STIRLING = 3.5


def log_gamma_at_2(b: Builder, t: Value) -> Value:
    """log(gamma(2 + t)) for |t| <= 1/2, relatively exact beside its zero."""
    zeta = torch.special.zeta(torch.arange(2, TERMS, dtype=torch.float64), 2.0).tolist()
    powers = [(-1) ** k * value / k for k, value in enumerate(zeta, 2)]
    first = 1 + float(torch.digamma(torch.ones((), dtype=torch.float64)))
    return b.times(t, polynomial(b, t, [*reversed(powers), first]))


def log_gamma_by_stirling(b: Builder, x: Value) -> Value:
    z = b.binary("maximum", x, STIRLING)
    inverse = inverse_of(b, z)
    square = b.times(inverse, inverse)
    tail = polynomial(b, square, [1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12])
    line = b.times(b.minus(z, 0.5), b.minus(b.unary("math.log", z), 1.0))
    return b.plus(b.plus(line, b.times(inverse, tail)), 0.5 * math.log(2 * math.pi) - 0.5)


def log_gamma_above_0(b: Builder, x: Value) -> Value:
    """The series at 2 of an argument moved by whole numbers, and the logarithms of the
    factors that this leaves."""
    nearest = b.unary("math.roundeven", b.binary("minimum", b.binary("maximum", x, 0.0), 3.0))
    y = log_gamma_at_2(b, b.minus(x, nearest))
    log, up = b.unary("math.log", x), b.unary("math.log1p", x)
    down = b.unary("math.log", b.minus(b.binary("maximum", x, 2.0), 1.0))
    for place, factor in ((0, b.negative(b.plus(log, up))), (1, b.negative(log)), (3, down)):
        y = b.plus(y, b.select(b.compare("eq", nearest, place), factor, b.like(x, 0)))
    return b.select(b.compare("lt", x, STIRLING), y, log_gamma_by_stirling(b, x))


def reflected(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Whether x is below 0, the argument above 0 that it is reflected to, and pi times
    its distance from a whole number."""
    below = b.compare("lt", x, 0)
    angle = b.times(b.minus(x, b.unary("math.roundeven", x)), math.pi)
    return below, b.select(below, b.minus(b.like(x, 1.0), x), x), angle


def log_gamma(b: Builder, x: Value) -> Value:
    below, argument, angle = reflected(b, x)
    y = log_gamma_above_0(b, argument)
    sine = b.unary("math.log", b.unary("math.absf", b.unary("math.sin", angle)))
    mirrored = b.minus(b.minus(b.like(x, math.log(math.pi)), sine), y)
    below_all = b.compare("eq", x, -math.inf)
    return b.select(below_all, b.like(x, math.inf), b.select(below, mirrored, y))


def log_gamma_at_pole(b: Builder, x: Value) -> Value:
    """With the slope of 1 / x at 0, and NaN at whole numbers below."""
    distance, at_0 = b.minus(x, b.unary("math.roundeven", x)), b.compare("eq", x, 0)
    infinite = b.compare("eq", b.unary("math.absf", x), math.inf)
    square = b.select(infinite, b.like(x, 0), b.times(distance, distance))
    log = b.unary("math.log", b.select(at_0, x, square))
    return b.times(log, b.select(at_0, b.like(x, -1), b.like(x, -0.5)))


def moved_up(b: Builder, x: Value) -> tuple[Value, list[Value]]:
    """An argument for which few terms suffice, and the inverses of those passed."""
    return b.plus(x, 6.0), [inverse_of(b, b.plus(x, float(i))) for i in range(6)]


def series_of(b: Builder, x: Value) -> tuple[Value, list[Value], Value, Value]:
    """Where a series in powers of the inverse needs few terms: the argument, the inverses
    of those passed, its own inverse, and the square of that."""
    z, passed = moved_up(b, x)
    inverse = inverse_of(b, z)
    return z, passed, inverse, b.times(inverse, inverse)


def digamma_of(b: Builder, x: Value) -> Value:
    """The derivative of log_gamma; NaN at whole numbers below 0."""
    below, argument, angle = reflected(b, x)
    z, passed, inverse, square = series_of(b, argument)
    tail = polynomial(b, square, [1 / 252, -1 / 120, 1 / 12, 0.0])
    y = b.minus(b.minus(b.unary("math.log", z), b.times(inverse, 0.5)), tail)
    for part in passed:
        y = b.minus(y, part)
    mirrored = b.minus(y, b.over(b.like(x, math.pi), b.unary("math.tan", angle)))
    mirrored = b.select(b.compare("eq", angle, 0), b.like(x, math.nan), mirrored)
    return b.select(below, mirrored, y)


def digamma_at_pole(b: Builder, x: Value) -> Value:
    at_0 = b.negative(inverse_of(b, b.select(b.compare("eq", x, 0), x, b.like(x, 1))))
    return b.select(b.compare("eq", x, 0), at_0, b.like(x, math.nan))


def trigamma_of(b: Builder, x: Value) -> Value:
    """The derivative of digamma."""
    below, argument, angle = reflected(b, x)
    _, passed, inverse, square = series_of(b, argument)
    odd = polynomial(b, square, [1 / 42, -1 / 30, 1 / 6, 1.0])
    y = b.plus(b.times(inverse, odd), b.times(square, 0.5))
    for part in passed:
        y = b.plus(y, b.times(part, part))
    sine = b.unary("math.sin", angle)
    mirrored = b.minus(b.over(b.like(x, math.pi**2), b.times(sine, sine)), y)
    return b.select(below, mirrored, y)


@converts("aten.lgamma.default", to="series, with the gradient's own")
def lgamma(b: Builder, self):
    x = as_float(b, self)
    return with_slope(b, x, log_gamma(b, x), digamma_of(b, x), log_gamma_at_pole)


@converts("aten.digamma.default", to="series, with the gradient's own")
def digamma(b: Builder, self):
    x = as_float(b, self)
    return with_slope(b, x, digamma_of(b, x), trigamma_of(b, x), digamma_at_pole)


@converts("aten.polygamma.default", to="series, with the gradient's own")
def polygamma(b: Builder, n, self):
    x = as_float(b, self)
    if n == 0:
        return digamma(b, x)
    if n == 1 and not x.trained:
        return trigamma_of(b, x)
    raise CannotImport(f"polygamma of order {n}: wanted 0, or 1 where no gradient is needed")


# Giles, "Approximating the erfinv function": polynomials for the middle and the tails.
MIDDLE = [
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
]  # fmt: skip
TAILS = [
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
]  # fmt: skip


@converts("aten.erfinv.default", to="polynomials, with the gradient's own formula")
def erfinv(b: Builder, self):
    x = as_float(b, self)
    size = b.unary("math.absf", x)
    w = b.negative(b.unary("math.log", b.times(b.minus(b.like(x, 1.0), size), b.plus(size, 1.0))))
    middle = polynomial(b, b.minus(w, 2.5), MIDDLE)
    root = b.unary("math.sqrt", b.binary("maximum", w, 5.0))
    y = b.select(b.compare("lt", w, 5), middle, polynomial(b, b.minus(root, 3.0), TAILS))
    y = b.times(x, b.select(b.compare("eq", size, 1), b.like(x, math.inf), y))
    slope = b.times(b.unary("math.exp", b.times(y, y)), math.pi**0.5 / 2)
    return with_slope(b, x, y, slope, erfinv_at_pole)


def erfinv_at_pole(b: Builder, x: Value) -> Value:
    log = b.unary("math.log", b.minus(b.like(x, 1.0), b.unary("math.absf", x)))
    return b.negative(b.times(x, log))


@converts("aten.sinc.default", to="math.sin, arith.divf, and 1 at 0")
def sinc(b: Builder, self):
    x = b.times(as_float(b, self), math.pi)
    nothing = b.compare("eq", x, 0)
    safe = b.select(nothing, b.like(x, 1.0), x)
    return b.select(nothing, b.like(x, 1.0), b.over(b.unary("math.sin", safe), safe))
