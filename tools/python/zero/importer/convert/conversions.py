"""Conversions between types, and what passes a tensor on as it is."""

from __future__ import annotations

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport


@converts(
    "aten._to_copy.default",
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.device",
    "aten.to.other",
    "aten.type_as.default",
    to="arith.extf, truncf, sitofp, uitofp, fptosi; nothing where the type is the same",
)
def to_copy(b: Builder, self, dtype=None, other=None):
    if other is not None:
        dtype = other.dtype
    return self if dtype is None else b.cast(self, dtype)


@converts(
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.lift_fresh_copy.default",
    "aten.alias.default",
    to="nothing: every tensor is dense",
)
def identity(b: Builder, self):
    return self


@converts("zero_importer.stop_gradient.default", to="nn.stop_gradient")
def stop_gradient(b: Builder, x):
    return b.stop(x)


@converts("zero_importer.hooked.default", to="x + (c - 1) (x - stop(x)), whose value is x")
def hooked(b: Builder, x, index, factor):
    if not x.trained or bool((factor.constant == 1).all()):
        return x
    stopped, ends = b.stop(x), factor.constant == 0
    if bool(ends.all()):
        return stopped
    if bool((ends | (factor.constant == 1)).all()):
        return b.select(b.constant(~ends), x, stopped)
    return b.plus(x, b.times(b.minus(x, stopped), b.constant(factor.constant - 1)))


@converts("aten.copy.default", to="nn.broadcast, after a conversion")
def copy(b: Builder, self, src):
    return b.broadcast(b.cast(src, self.dtype), self.shape)


@converts("aten.detach.default", to="nothing, where no gradient would flow")
def detach(b: Builder, self):
    if self.trained:
        raise CannotImport("a detach that the importer has not seen before decomposing")
    return self
