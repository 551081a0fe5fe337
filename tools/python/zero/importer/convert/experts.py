"""Rows that go to experts, their products there, and their way back."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport


@converts("zero_importer.dispatch.default", to="nn.dispatch")
def dispatch(b: Builder, rows, ids, experts):
    return b.dispatch(rows, b.cast(ids, torch.int32), experts)


@converts("zero_importer.capacity_dispatch.default", to="nn.capacity_dispatch")
def capacity_dispatch(b: Builder, rows, ids, experts, capacity, order=None):
    given = None if order is None else b.cast(order, torch.int32)
    return b.capacity_dispatch(rows, b.cast(ids, torch.int32), experts, capacity, given)


@converts("zero_importer.combine.default", to="nn.combine")
def combine(b: Builder, rows, places, weights):
    return b.combine(rows, b.cast(places, torch.int32), weights)


@converts(
    "transformers.grouped_mm_fallback.default",
    "aten._grouped_mm.default",
    to="nn.grouped_matmul",
)
def grouped_mm(
    b: Builder,
    input=None,
    weight=None,
    offs=None,
    self=None,
    mat2=None,
    bias=None,
    out_dtype=None,
):
    rows, matrices = (input, weight) if input is not None else (self, mat2)
    if rows.rank != 2 or matrices.rank != 3 or offs is None or bias is not None:
        raise CannotImport("a grouped product that is not of rows with a matrix a group")
    if out_dtype not in (None, rows.dtype):
        raise CannotImport(f"a grouped product of {rows.dtype} that gives {out_dtype}")
    return b.grouped_matmul(rows, matrices, b.cast(offs, torch.int32))
