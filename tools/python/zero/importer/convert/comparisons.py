"""Comparisons, logic and choices between elements."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.arithmetic import promoted
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def _register_comparison(name: str) -> None:
    @converts(f"aten.{name}.Tensor", f"aten.{name}.Scalar", to="arith.cmpf, arith.cmpi")
    def function(b: Builder, self, other):
        return b.compare(name, *promoted(b, self, other))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _register_comparison(_name)


def _register_logic(name: str) -> None:
    bitwise = [
        f"aten.{spelling}.{kind}"
        for spelling in (f"__{name}__", f"bitwise_{name}")
        for kind in ("Tensor", "Scalar")
    ]

    @converts(*bitwise, to=f"arith.{name}i")
    def bits(b: Builder, self, other):
        return b.binary(name, *promoted(b, self, other))

    @converts(f"aten.logical_{name}.default", to=f"arith.{name}i")
    def truths(b: Builder, self, other):
        return b.binary(name, b.cast(self, torch.bool), b.cast(other, torch.bool))


for _name in ("and", "or", "xor"):
    _register_logic(_name)


@converts("aten.bitwise_not.default", to="arith.xori")
def bitwise_not(b: Builder, self):
    return b.binary("xor", self, b.like(self, True if self.dtype == torch.bool else -1))


@converts("aten.logical_not.default", to="arith.xori")
def logical_not(b: Builder, self):
    return bitwise_not(b, b.cast(self, torch.bool))


def is_infinite(b: Builder, x: Value) -> Value:
    return b.compare("eq", b.unary("math.absf", x), math.inf)


@converts("aten.isnan.default", to="arith.cmpf une")
def isnan(b: Builder, self):
    return b.compare("ne", self, self) if self.is_float else b.fill(self.shape, False, torch.bool)


@converts("aten.isinf.default", to="arith.cmpf of math.absf")
def isinf(b: Builder, self):
    return is_infinite(b, self) if self.is_float else b.fill(self.shape, False, torch.bool)


@converts("aten.nan_to_num.default", to="arith.cmpf, arith.select")
def nan_to_num(b: Builder, self, nan=None, posinf=None, neginf=None):
    if not self.is_float:
        return self
    limits = torch.finfo(self.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = b.select(b.compare("ne", self, self), b.like(self, nan or 0.0), self)
    x = b.select(b.compare("eq", self, math.inf), b.like(self, high), x)
    return b.select(b.compare("eq", self, -math.inf), b.like(self, low), x)


# Beyond this, a comparison with each boundary costs too much.
MOST_BOUNDARIES = 4096


@converts("aten.bucketize.Tensor", to="comparisons with all boundaries, nn.reduce sum")
def bucketize(b: Builder, self, boundaries, out_int32=False, right=False):
    """How many boundaries are below, or not above. Rows of boundaries are those of `self`."""
    many = boundaries.shape[-1]
    if many > MOST_BOUNDARIES:
        raise CannotImport(f"bucketize with {many} boundaries: wanted at most {MOST_BOUNDARIES}")
    if boundaries.rank > 1:
        boundaries = b.reshape(boundaries, (*boundaries.shape[:-1], 1, many))
    x, places = promoted(b, b.reshape(self, (*self.shape, 1)), boundaries)
    # NaN is beyond all of them.
    beyond = b.compare("gt" if right else "ge", places, x)
    count = b.reduce("sum", b.cast(beyond, torch.float32), [self.rank])
    return b.cast(b.minus(b.like(count, many), count), torch.int64)


@converts("aten.searchsorted.Tensor", to="comparisons with all boundaries, nn.reduce sum")
def searchsorted(b: Builder, sorted_sequence, self, out_int32=False, right=False, side=None):
    return bucketize(b, self, sorted_sequence, right=right or side == "right")


@converts("aten.where.self", to="arith.select")
def where(b: Builder, condition, self, other):
    x, y = promoted(b, self, other)
    return b.select(condition, x, y)


@converts("aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar", to="arith.select")
def where_scalar(b: Builder, condition, self, other):
    return where(b, condition, self, other)


@converts("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", to="arith.select")
def masked_fill(b: Builder, self, mask, value):
    if isinstance(value, Value):
        return b.select(mask, b.broadcast(b.cast(value, self.dtype), self.shape), self)
    return b.select(mask, b.like(self, value), self)
