"""What a builder emits of positions that are data: gathers, scatters, sorts."""

from __future__ import annotations

import torch

from zero.importer.ir import Block, Value, conversion, same


class Positions(Block):
    """A block with methods for elements by positions and groups by offsets."""

    def gather(self, x: Value, ids: Value, dim: int) -> Value:
        """Elements of `x` along `dim`, by positions of elements or of rows."""
        shape = x.shape[:dim] + (ids.shape[dim],) + x.shape[dim + 1 :]
        return self.add("nn.gather", [x, ids], [(shape, x.dtype)], f"{{}}, {{}} dim {dim}")[0]

    def scatter_add(self, x: Value, ids: Value, init: Value, dim: int) -> Value:
        """`init` and what of `x` goes to each of its elements along `dim`."""
        operands, form = [x, ids], "{}, {}"
        if not is_zero(init):
            operands, form = operands + [init], form + " init {}"
        result = (init.shape, init.dtype)
        return self.add("nn.scatter_add", operands, [result], f"{form} dim {dim}")[0]

    def scatter(self, kind: str, x: Value, ids: Value, into: Value, dim: int) -> Value:
        """`kind` is set or max."""
        form = f"{kind} {{}}, {{}} into {{}} dim {dim}"
        return self.add("nn.scatter", [x, ids, into], [(into.shape, into.dtype)], form)[0]

    def argsort(self, x: Value, descending: bool, first: int | None = None) -> Value:
        """The positions of the first elements in order, along the last dimension."""
        if x.dtype == torch.bool:  # nn.argsort has no order of truths
            x = self.cast(x, torch.int64)
        width = x.shape[-1]
        first = width if first is None else first
        form = "{}" + (" descending" if descending else "")
        form += f" first {first}" if first < width else ""
        result = (x.shape[:-1] + (first,), torch.int64)
        return self.add("nn.argsort", [x], [result], form, conversion("->"))[0]

    def cumsum(self, x: Value, dim: int) -> Value:
        return self.add("nn.cumsum", [x], [(x.shape, x.dtype)], f"{{}} dim {dim}", same)[0]

    def dispatch(self, rows: Value, ids: Value, experts: int) -> list[Value]:
        """Rows in the order of their experts, the place of each choice, and where the
        rows of each expert end."""
        results = [
            ((ids.size, rows.shape[1]), rows.dtype),
            (ids.shape, torch.int32),
            ((experts,), torch.int32),
        ]
        return self.add("nn.dispatch", [rows, ids], results, f"{{}}, {{}} experts {experts}")

    def capacity_dispatch(
        self, rows: Value, ids: Value, experts: int, capacity: int, order: Value | None
    ) -> list[Value]:
        """Rows in the places of their experts, the place of each choice, and how many have
        chosen each expert."""
        results = [
            ((experts, capacity, rows.shape[1]), rows.dtype),
            (ids.shape, torch.int32),
            ((experts,), torch.int32),
        ]
        operands, form = [rows, ids], "{}, {}"
        if order is not None:
            operands, form = operands + [order], form + " order {}"
        return self.add("nn.capacity_dispatch", operands, results, form)

    def combine(self, rows: Value, places: Value, weights: Value) -> Value:
        """The sum of the rows at the places of each choice, times their weights."""
        result = ((places.shape[0], rows.shape[1]), rows.dtype)
        return self.add("nn.combine", [rows, places, weights], [result], "{}, {} weights {}")[0]

    def grouped_matmul(self, a: Value, b: Value, offsets: Value) -> Value:
        """Groups of rows of `a`, which end at `offsets`, each times a matrix of `b`."""
        result, form = (a.shape[0], b.shape[2]), "{}, {} offsets {}"
        if b.op and b.op.kind == "nn.transpose" and b.op.attributes["permutation"] == [0, 2, 1]:
            b, form = b.op.operands[0], form + " transpose_b"
        return self.add("nn.grouped_matmul", [a, b, offsets], [(result, a.dtype)], form)[0]


def is_zero(value: Value) -> bool:
    """Whether a value is a constant of zeros."""
    return value.constant is not None and not bool(value.constant.any())
