"""Whether an evaluation computes what training does, but for dropout and statistics.

Each value has a key: equal for two that are the same in an evaluation. Two that are the
same may have different keys, where PyTorch composes them otherwise: what is not seen to be
the same is written once for each mode.
"""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Hashable, Iterable

import torch

from zero.importer.builder import are_equal
from zero.importer.ir import Operation, Value

RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_OF_DRAWS = re.compile(r"\bid \d+")
_OF_ATTENTION = re.compile(r" dropout \S+ id \d+")


class Keys:
    """The keys of values, by numbers that are equal for equal keys."""

    def __init__(self, arguments: Iterable[Value], constants: dict[int, torch.Tensor]):
        """`constants` has the tensors of values that are constants, by their `id`."""
        self.constants = constants
        self.numbers: dict[Hashable, int] = {}
        self.keys: list[Hashable] = []
        self.of_value: dict[int, int] = {}
        for value in arguments:
            self.of_value[id(value)] = self._number(("argument", value.name))

    def __getitem__(self, value: Value) -> int:
        return self.of_value[id(value)]

    def shared(self, value: Value, known: dict[int, Value]) -> Value:
        """The one of the `known` values that is the same; `value` itself where none is."""
        return known.get(self.of_value.get(id(value), -1), value)

    def add(self, operations: Iterable[Operation]) -> dict[int, Value]:
        """Takes the operations of one mode, in their order. Returns the values by key: of
        several the last, which a mode may have selected."""
        draws, found = 0, {}
        for operation in operations:
            draws += operation.kind.startswith("nn.random_")
            keys = self._keys_of(operation, draws)
            for value, key in zip(operation.results, keys):
                self.of_value[id(value)], found[key] = key, value
        return found

    def _number(self, key: Hashable) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return self.numbers[key]

    def _keys_of(self, operation: Operation, draws: int) -> list[int]:
        operands = [self[value] for value in operation.operands]
        if operation.kind == "zero.select_mode":
            return [operands[1]]
        if operation.kind == "nn.dropout":
            return [operands[0]]
        known = self._simplified(operation, operands)
        if known is not None:
            return [self._number(known) if isinstance(known, tuple) else known]
        text = operation.write([f"%{key}" for key in operands])
        text = _OF_ATTENTION.sub("", text) if operation.kind == "nn.attention" else text
        if operation.kind.startswith("nn.random_"):
            text = _OF_DRAWS.sub(f"draw {draws}", text)
        return [self._number((text, index)) for index in range(len(operation.results))]

    def _simplified(self, operation: Operation, operands: list[int]) -> Any:
        """The key, or its number, of what is a number in each element, of a reshape, and of
        a product with a number."""
        result = operation.results[0] if operation.results else None
        found = self.constants.get(id(result))
        if found is not None and found.numel() and are_equal(found, found.flatten()[0]):
            return ("even", found.flatten()[0].item(), result.dtype, result.shape)
        keys = [self.keys[operand] for operand in operands]
        even = [key[1] if key[0] == "even" else None for key in keys]
        if operation.kind in (*RESHAPES, "nn.broadcast") and even[0] is not None:
            return ("even", even[0], result.dtype, result.shape)
        if operation.kind in RESHAPES:
            source = keys[0][1] if keys[0][0] == "reshape" else operands[0]
            shape = keys[0][3] if keys[0][0] == "reshape" else operation.operands[0].shape
            return source if shape == result.shape else ("reshape", source, result.shape, shape)
        if operation.kind in PRODUCTS:
            return self._product(operation, operands, even)
        return None

    def _product(self, operation: Operation, operands: list[int], even: list[float | None]) -> Any:
        """A product with numbers is one scale times the rest; a scale of 1, as of a division
        that a product takes back, is left out, although it may round."""
        x, y = even
        apply = PRODUCTS[operation.kind]
        if x is not None and y is not None:
            result = operation.results[0]
            value = apply(torch.tensor(x, dtype=result.dtype), y)
            return ("even", value.item(), result.dtype, result.shape)
        if y is None and (x is None or operation.kind == "arith.divf"):
            return None
        scaled, number = (operands[0], y) if y is not None else (operands[1], x)
        key = self.keys[scaled]
        base, scale = key[1:] if key[0] == "scaled" else (scaled, 1.0)
        scale = scale * number if operation.kind == "arith.mulf" else scale / (number or math.nan)
        return base if abs(scale - 1) < SAME_SCALE else ("scaled", base, scale)


SAME_SCALE = 1e-6
PRODUCTS: dict[str, Callable] = {"arith.mulf": torch.mul, "arith.divf": torch.div}
