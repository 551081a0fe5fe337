"""Comparisons, logic and choices between elements."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.arithmetic import promoted
from zero.importer.convert.registry import converts
from zero.importer.ir import Value


def _register_comparison(name: str) -> None:
    @converts(f"aten.{name}.Tensor", f"aten.{name}.Scalar", to="arith.cmpf, arith.cmpi")
    def function(b: Builder, self, other):
        x, y = promoted(b, self, other)
        if x.dtype == torch.bool:
            x, y = b.cast(x, torch.int32), b.cast(y, torch.int32)
        return b.compare(name, x, y)


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
