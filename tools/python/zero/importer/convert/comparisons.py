"""Comparisons, logic and choices between elements."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.arithmetic import promoted
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
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


@converts(
    "aten.__and__.Tensor",
    "aten.bitwise_and.Tensor",
    "aten.logical_and.default",
    to="arith.andi",
)
def logical_and(b: Builder, self, other):
    return _logical(b, "and", self, other)


@converts(
    "aten.__or__.Tensor",
    "aten.bitwise_or.Tensor",
    "aten.logical_or.default",
    to="arith.ori",
)
def logical_or(b: Builder, self, other):
    return _logical(b, "or", self, other)


@converts(
    "aten.__xor__.Tensor",
    "aten.bitwise_xor.Tensor",
    "aten.logical_xor.default",
    to="arith.xori",
)
def logical_xor(b: Builder, self, other):
    return _logical(b, "xor", self, other)


def _logical(b: Builder, name: str, x: Value, y: Value) -> Value:
    if x.dtype != torch.bool or y.dtype != torch.bool:
        raise CannotImport(f"a bitwise '{name}' of {x.dtype} and {y.dtype}: wanted bool")
    return b.binary(name, x, y)


@converts("aten.bitwise_not.default", "aten.logical_not.default", to="arith.xori")
def logical_not(b: Builder, self):
    if self.dtype != torch.bool:
        raise CannotImport(f"a logical 'not' of {self.dtype}: wanted bool")
    return b.binary("xor", self, b.like(self, True))


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
