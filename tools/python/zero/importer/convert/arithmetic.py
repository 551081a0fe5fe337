"""Arithmetic on elements: sums, products, powers, comparisons, conversions."""

from __future__ import annotations

import functools
import math
from typing import Callable

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import NARROW, converts, rounded_once
from zero.importer.convert.special import as_float
from zero.importer.errors import CannotImport
from zero.importer.ir import Value, paired

Number = (bool, int, float)


def promoted(b: Builder, x: Value | float, y: Value | float) -> tuple[Value, Value]:
    """Both operands as tensors of the type that PyTorch computes in."""
    dtype = common(x, y)
    return _as(b, x, dtype), _as(b, y, dtype)


def common(x: Value | float, y: Value | float) -> torch.dtype:
    return torch.result_type(_example(x), _example(y))


def _example(x: Value | float):
    if not isinstance(x, Value):
        return x
    return torch.empty((0,) * min(x.rank, 1) if x.rank else (), dtype=x.dtype)


def _as(b: Builder, x: Value | float, dtype: torch.dtype) -> Value:
    if isinstance(x, Value):
        return b.cast(x, dtype)
    return b.fill((), x, dtype)


def arithmetic(b: Builder, name: str, x, y) -> Value:
    return b.binary(name, *promoted(b, x, y))


def scaled(b: Builder, x, alpha: float):
    if alpha == 1:
        return x
    return b.times(x, alpha) if isinstance(x, Value) else x * alpha


def added(b: Builder, name: str, x, y, alpha: float) -> Value:
    """x and `alpha` times y, which PyTorch rounds once; the number it rounds first."""
    dtype = common(x, y)
    if alpha == 1 or dtype not in NARROW:
        return arithmetic(b, name, x, scaled(b, y, alpha))
    x, y = (b.cast(_as(b, v, dtype), torch.float32) for v in (x, y))
    alpha = torch.tensor(alpha, dtype=dtype).item()
    return b.cast(b.binary(name, x, b.times(y, alpha)), dtype)


def by_number(b: Builder, x, y, compute: Callable) -> Value:
    """A product or a quotient. A number beside 16 bits, or a tensor without dimensions, is
    not rounded to them: the result is."""
    dtype = common(x, y)
    if dtype not in NARROW or not any(is_finer(v, dtype) for v in (x, y)):
        return compute(*promoted(b, x, y))
    return b.cast(compute(*(_as(b, v, torch.float32) for v in (x, y))), dtype)


def is_finer(x: Value | float, dtype: torch.dtype) -> bool:
    """Whether it would be rounded."""
    if isinstance(x, Value):
        if x.constant is None or x.rank:
            return not x.rank and x.dtype not in (dtype, torch.bool)
        x = x.constant.item()
    return torch.tensor(x, dtype=dtype).item() != x


@converts("aten.add.Tensor", "aten.add.Scalar", to="arith.addf, arith.addi")
def add(b: Builder, self, other, alpha=1):
    return added(b, "add", self, other, alpha)


@converts("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", to="arith.subf, arith.subi")
def sub(b: Builder, self, other, alpha=1):
    return added(b, "sub", self, other, alpha)


@converts("aten.rsub.Tensor", "aten.rsub.Scalar", to="arith.subf, arith.subi")
def rsub(b: Builder, self, other, alpha=1):
    return added(b, "sub", other, self, alpha)


@converts("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", to="arith.mulf, arith.muli")
def mul(b: Builder, self, other):
    if any(isinstance(x, Value) and x.dtype.is_complex for x in (self, other)):
        return complex_product(b, self, other)
    return by_number(b, self, other, b.times)


# A complex tensor is a view of a float one, whose last dimension has the real and
# the imaginary part. Products are all that is known of them.


def complex_product(b: Builder, x: Value, y: Value) -> Value:
    (a, c), (d, e) = parts(b, x), parts(b, y)
    real = b.minus(b.times(a, d), b.times(c, e))
    imaginary = b.plus(b.times(a, e), b.times(c, d))
    shape = real.shape + (1,)
    return paired(b.concat([b.reshape(real, shape), b.reshape(imaginary, shape)], real.rank))


def parts(b: Builder, x: Value) -> list[Value]:
    """The real and the imaginary part."""
    if not isinstance(x, Value) or not x.dtype.is_complex:
        raise CannotImport("a product of a complex tensor and a real one")
    if x.constant is not None:
        return [b.constant(x.constant.real.clone()), b.constant(x.constant.imag.clone())]
    halves = b.split(x.pair, x.rank, [1, 1])
    return [b.reshape(half, x.shape) for half in halves]


@converts("aten.view_as_complex.default", to="pairs in a last dimension of 2")
def view_as_complex(b: Builder, self):
    if self.dtype != torch.float32:
        raise CannotImport(f"a complex view of {self.dtype}: wanted float32")
    return paired(self)


@converts("aten.view_as_real.default", to="pairs in a last dimension of 2")
def view_as_real(b: Builder, self):
    return self.pair


@converts(
    "aten.div.Tensor",
    "aten.div.Scalar",
    "aten.divide.Tensor",
    "aten.true_divide.Tensor",
    to="arith.divf",
)
def div(b: Builder, self, other):
    return by_number(b, self, other, lambda x, y: b.over(as_float(b, x), as_float(b, y)))


@converts(
    "aten.div.Tensor_mode",
    "aten.div.Scalar_mode",
    to="arith.remf and math.floor, or math.trunc; arith.floordivsi",
)
def div_mode(b: Builder, self, other, rounding_mode):
    if rounding_mode is None:
        return div(b, self, other)
    divide = floored if rounding_mode == "floor" else truncated
    return by_number(b, self, other, functools.partial(divide, b))


def truncated(b: Builder, x: Value, y: Value) -> Value:
    return b.unary("math.trunc", b.over(x, y)) if x.is_float else b.over(x, y)


def floored_floats(b: Builder, x: Value, y: Value) -> Value:
    """The quotient of what the remainder leaves, which is not that of a division that was
    rounded: 9 for 1 // 0.1, as in Python. Without a gradient."""
    x, y = b.stop(x), b.stop(y)
    rest = b.binary("rem", x, y)
    quotient = b.over(b.minus(x, rest), y)
    above = b.binary("and", b.compare("gt", rest, 0), b.compare("lt", y, 0))
    below = b.binary("and", b.compare("lt", rest, 0), b.compare("gt", y, 0))
    differs = b.binary("or", above, below)
    quotient = b.minus(quotient, b.cast(differs, x.dtype))
    down = b.unary("math.floor", quotient)
    above = b.compare("gt", b.minus(quotient, down), 0.5)
    whole = b.plus(down, b.cast(above, x.dtype))
    return b.select(b.compare("eq", y, 0), b.over(x, y), whole)


@converts("aten.floor_divide.default", to="arith.remf and math.floor; arith.divsi, corrected")
def floor_divide(b: Builder, self, other):
    return div_mode(b, self, other, "floor")


def floored(b: Builder, x: Value, y: Value) -> Value:
    return floored_floats(b, x, y) if x.is_float else floored_integers(b, x, y)


def floored_integers(b: Builder, x: Value, y: Value) -> Value:
    """Integer division rounded down: the quotient, less 1 where signs differ and
    there is a remainder."""
    quotient = b.over(x, y)
    rest = b.minus(x, b.times(quotient, y))
    differs = b.compare("lt", b.times(rest, y), 0)
    inexact = b.compare("ne", rest, 0)
    down = b.binary("and", differs, inexact)
    return b.select(down, b.minus(quotient, 1), quotient)


@converts(
    "aten.remainder.Scalar",
    "aten.remainder.Tensor",
    "aten.remainder.Scalar_Tensor",
    to="arith.remf, of the sign of y",
)
def remainder(b: Builder, self, other):
    x, y = promoted(b, self, other)
    if x.is_float:
        rest = b.binary("rem", x, y)
        differs = b.compare("lt", b.times(signs(b, rest), signs(b, y)), 0)
        return b.select(differs, b.plus(rest, y), rest)
    return b.minus(x, b.times(y, floored_integers(b, x, y)))


@converts("aten.fmod.Scalar", "aten.fmod.Tensor", to="arith.remf; x - y * (x / y)")
def fmod(b: Builder, self, other):
    x, y = promoted(b, self, other)
    if x.is_float:
        return b.binary("rem", x, y)  # exact, where a quotient would be rounded
    return b.minus(x, b.times(y, b.over(x, y)))


UNARY = {
    "exp": "math.exp",
    "expm1": "math.expm1",
    "log": "math.log",
    "log1p": "math.log1p",
    "log2": "math.log2",
    "log10": "math.log10",
    "exp2": "math.exp2",
    "sqrt": "math.sqrt",
    "rsqrt": "math.rsqrt",
    "tanh": "math.tanh",
    "erf": "math.erf",
    "erfc": "math.erfc",
    "sin": "math.sin",
    "cos": "math.cos",
    "tan": "math.tan",
    "asin": "math.asin",
    "acos": "math.acos",
    "atan": "math.atan",
    "sinh": "math.sinh",
    "cosh": "math.cosh",
    "asinh": "math.asinh",
    "acosh": "math.acosh",
    "atanh": "math.atanh",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "round": "math.roundeven",
    "trunc": "math.trunc",
}
# What leaves integers as they are; the others make floats of them.
ROUNDED = {"floor", "ceil", "round", "trunc"}


def _register_unary(name: str, kind: str) -> None:
    @converts(f"aten.{name}.default", to=kind)
    def function(b: Builder, self):
        if name in ROUNDED and not self.is_float:
            return self
        return b.unary(kind, as_float(b, self))


for _name, _kind in UNARY.items():
    _register_unary(_name, _kind)


@converts("aten.neg.default", "aten.negative.default", to="arith.negf")
def neg(b: Builder, self):
    return b.negative(self)


@converts("aten.abs.default", "aten.absolute.default", to="math.absf")
def absolute(b: Builder, self):
    if self.is_float:
        return b.unary("math.absf", self)
    return b.binary("maximum", self, b.negative(self))


@converts("aten.reciprocal.default", to="arith.divf")
def reciprocal(b: Builder, self):
    x = as_float(b, self)
    return b.over(b.like(x, 1.0), x)


@converts("aten.square.default", to="arith.mulf")
def square(b: Builder, self):
    return b.times(self, self)


@converts("aten.sign.default", "aten.sgn.default", to="two arith.select")
def sign(b: Builder, self):
    return signs(b, self)


def signs(b: Builder, x: Value) -> Value:
    """-1, 0 or 1."""
    negative = b.select(b.compare("lt", x, 0), b.like(x, -1), b.like(x, 0))
    return b.select(b.compare("gt", x, 0), b.like(x, 1), negative)


@converts("aten.copysign.Tensor", "aten.copysign.Scalar", to="math.absf and arith.select")
def copysign(b: Builder, self, other):
    x, y = promoted(b, self, other)
    x, y = (v if v.is_float else b.cast(v, torch.float32) for v in (x, y))
    size = b.unary("math.absf", x)
    # The inverse of a 0 shows its sign.
    below = b.compare("lt", b.select(b.compare("eq", y, 0), b.over(b.like(y, 1), y), y), 0)
    return b.select(below, b.negative(size), size)


@converts("aten.hypot.default", to="math.sqrt of a sum of squares")
def hypot(b: Builder, self, other):
    """The larger before the root, so that no square overflows. An infinity beside NaN is one,
    too."""
    x, y = promoted(b, self, other)
    infinite = b.binary(
        "or", *(b.compare("eq", b.unary("math.absf", b.stop(v)), math.inf) for v in (x, y))
    )
    x, y = (b.select(infinite, b.like(v, 1), v) for v in (x, y))
    largest = b.stop(b.binary("maximum", *(b.unary("math.absf", v) for v in (x, y))))
    scale = b.select(b.compare("eq", largest, 0), b.like(largest, 1), largest)
    squares = b.plus(*(square(b, b.over(v, scale)) for v in (x, y)))
    y = b.times(b.unary("math.sqrt", squares), scale)
    return b.select(infinite, b.like(y, math.inf), y)


@converts("aten.pow.Tensor_Scalar", to="products, math.sqrt, math.rsqrt; math.powf")
def power(b: Builder, self, exponent):
    x = self
    if not x.is_float:
        if not isinstance(exponent, int) or exponent < 0:
            x = b.cast(x, torch.float32)
    if exponent == 0:
        return b.like(x, 1)
    if float(exponent).is_integer() and (0 < exponent <= 4 or not x.is_float):
        result = x
        for _ in range(int(exponent) - 1):
            result = b.times(result, x)
        return result
    if exponent == 0.5:
        return b.unary("math.sqrt", x)
    if exponent == -0.5:
        return b.unary("math.rsqrt", x)
    if exponent == -1:
        return reciprocal(b, x)
    if exponent == -2:
        return reciprocal(b, b.times(x, x))
    return b.add("math.powf", [x, b.like(x, float(exponent))], [(x.shape, x.dtype)], "", _same)[0]


def _same(operation) -> str:
    return operation.results[0].type


@converts("aten.pow.Tensor_Tensor", to="math.powf")
def power_tensors(b: Builder, self, exponent):
    x, y = promoted(b, self, exponent)
    if not x.is_float:
        raise CannotImport(INTEGER_POWER)
    shape = tuple(torch.broadcast_shapes(x.shape, y.shape))
    operands = [b.broadcast(x, shape), b.broadcast(y, shape)]
    return b.add("math.powf", operands, [(shape, x.dtype)], "", _same)[0]


@converts(
    "aten.xlogy.Tensor",
    "aten.xlogy.Scalar_Other",
    "aten.xlogy.Scalar_Self",
    to="math.log, arith.mulf, and 0 where x is",
)
def xlogy(b: Builder, self, other):
    x, y = (as_float(b, v) for v in promoted(b, self, other))
    # 0 where x is 0, even where the logarithm is infinite or NaN.
    beyond = b.binary("or", b.compare("le", y, 0), b.compare("eq", y, math.inf))
    nothing = b.binary("and", b.compare("eq", x, 0), beyond)
    return b.times(x, b.unary("math.log", b.select(nothing, b.like(y, 1), y)))


@converts("aten.atan2.default", to="math.atan2")
def atan2(b: Builder, self, other):
    """Without a gradient where both are 0, or so large or so small that PyTorch's is 0."""
    x, y = (as_float(b, v) for v in promoted(b, self, other))
    shape = tuple(torch.broadcast_shapes(x.shape, y.shape))
    x, y = b.broadcast(x, shape), b.broadcast(y, shape)
    squares = b.plus(b.times(b.stop(x), b.stop(x)), b.times(b.stop(y), b.stop(y)))
    flat = b.binary("or", b.compare("eq", squares, 0), b.compare("eq", squares, math.inf))
    operands = [b.select(flat, b.stop(v), v) for v in (x, y)] if x.trained or y.trained else [x, y]
    return b.add("math.atan2", operands, [(shape, x.dtype)], "", _same)[0]


@converts("aten.pow.Scalar", to="math.exp, math.exp2")
def power_of(b: Builder, self, exponent):
    if self <= 0:
        raise CannotImport(f"a power of the number {self}: wanted a positive base")
    base, x = promoted(b, self, exponent)
    if not base.is_float:
        raise CannotImport(INTEGER_POWER)
    if self in (1, 2):  # 1 whatever the exponent is, and powers of 2 without rounding
        return b.like(x, 1) if self == 1 else b.unary("math.exp2", x)
    return b.unary("math.exp", b.times(x, math.log(self)))


INTEGER_POWER = "a power of integers by integers: compute it in floats, such as x.float() ** y"


# Extrema. PyTorch halves the gradient of `maximum` at a tie; arith gives it to
# the first operand. Both are subgradients, and ties of two computed tensors
# have measure 0. Where one operand is a number ties are common (relu at 0), and
# the order of the operands is chosen to give PyTorch's gradient.


@converts("aten.maximum.default", "aten.max.other", to="arith.maximumf")
def maximum(b: Builder, self, other):
    return arithmetic(b, "maximum", self, other)


@converts("aten.minimum.default", "aten.min.other", to="arith.minimumf")
def minimum(b: Builder, self, other):
    return arithmetic(b, "minimum", self, other)


@converts(
    "aten.clamp.default",
    "aten.clamp_min.default",
    "aten.clamp_max.default",
    to="arith.maximumf, arith.minimumf",
)
def clamp(b: Builder, self, min=None, max=None):
    x = self
    for name, bound in (("maximum", min), ("minimum", max)):
        if bound is not None and bound != bound:
            x = b.like(x, bound)  # and no gradient
        elif bound is not None:
            operands = promoted(b, x, bound)
            # At a tie the gradient is the first operand's.
            x = b.binary(name, *(operands if passes_bounds() else reversed(operands)))
    return x


@functools.cache
def passes_bounds() -> bool:
    """Whether gradients pass a clamp at its bounds, which depends on the version of PyTorch."""
    with torch.enable_grad():
        x = torch.zeros((), requires_grad=True)
        x.clamp(min=0).backward()
    return bool(x.grad)


@converts(
    "aten.clamp.Tensor",
    "aten.clamp_min.Tensor",
    "aten.clamp_max.Tensor",
    to="arith.maximumf, arith.minimumf",
)
def clamp_tensor(b: Builder, self, min=None, max=None):
    x = self
    if min is not None:
        x = arithmetic(b, "maximum", x, min)
    if max is not None:
        x = arithmetic(b, "minimum", x, max)
    return x


@converts("aten.addcmul.default", to="arith.mulf, arith.addf")
@rounded_once
def addcmul(b: Builder, self, tensor1, tensor2, value=1):
    return arithmetic(b, "add", self, scaled(b, mul(b, tensor1, tensor2), value))


@converts("aten.addcdiv.default", to="arith.divf, arith.addf")
@rounded_once
def addcdiv(b: Builder, self, tensor1, tensor2, value=1):
    return arithmetic(b, "add", self, scaled(b, div(b, tensor1, tensor2), value))


@converts("aten.lerp.Scalar", "aten.lerp.Tensor", to="x + w (y - x), or y + (w - 1) (y - x)")
@rounded_once
def lerp(b: Builder, self, end, weight):
    """From the nearer end, which the result then is where the weight is 0 or 1."""
    way = b.minus(end, self)
    if not isinstance(weight, Value):
        near = abs(weight) < 0.5
        return b.plus(self if near else end, b.times(way, weight if near else weight - 1))
    near = b.compare("lt", b.unary("math.absf", weight), 0.5)
    share = b.select(near, weight, b.minus(weight, 1))
    return b.plus(b.select(near, self, end), b.times(way, share))
