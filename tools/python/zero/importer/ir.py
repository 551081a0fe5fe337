"""A step in the making: values, operations, and their text.

The importer builds operations here and prints them at the end, so that what
turned out to be unused is never printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Sequence

import torch

from zero.importer import text
from zero.importer.errors import Place


@dataclass(eq=False)
class Value:
    """A tensor of the step: the result of an operation, an input or a constant.
    `trained`: it depends on a parameter that training changes. A complex tensor is
    its `pair`, with the real and the imaginary part in a last dimension of 2."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    op: Operation | None = None
    name: str = ""
    constant: torch.Tensor | None = None
    trained: bool = False
    pair: Value | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> str:
        return text.tensor_type(self.shape, self.dtype)

    @property
    def size(self) -> int:
        return torch.Size(self.shape).numel()

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point


def paired(pair: Value) -> Value:
    """The complex tensor of such a pair."""
    return Value(pair.shape[:-1], pair.dtype.to_complex(), pair=pair)


@dataclass(eq=False)
class Operation:
    """One operation. `write` makes its text from the names of its operands."""

    operands: list[Value]
    results: list[Value]
    write: Callable[[list[str]], str]
    place: Place
    hint: str
    kind: str
    attributes: dict = field(default_factory=dict)


def functional(operation: Operation) -> str:
    """`(operand types) -> result types`."""
    operands = ", ".join(value.type for value in operation.operands)
    results = ", ".join(value.type for value in operation.results)
    if len(operation.results) != 1:
        results = f"({results})"
    return f"({operands}) -> {results}"


def same(operation: Operation) -> str:
    """The one type of operands and result."""
    return operation.results[0].type


def of_operand(operation: Operation) -> str:
    return operation.operands[0].type


def conversion(word: str) -> Callable[[Operation], str]:
    def write(operation: Operation) -> str:
        return f"{operation.operands[0].type} {word} {operation.results[0].type}"

    return write


def of_select(operation: Operation) -> str:
    return f"{operation.operands[0].type}, {operation.results[0].type}"


class Block:
    """The operations of a step, in order."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.place = Place()
        self.hint = "v"

    def add(
        self,
        kind: str,
        operands: Sequence[Value],
        results: Sequence[tuple[tuple[int, ...], torch.dtype]],
        form: str = "",
        types: Callable[[Operation], str] = functional,
        **attributes,
    ) -> list[Value]:
        """Appends an operation; `form` is what follows its name, with a `{}` for
        each operand, and `types` writes what follows the colon."""
        if not form:
            form = ", ".join(["{}"] * len(operands))

        def write(names: list[str]) -> str:
            return f"{kind} {form.format(*names)} : {types(operation)}"

        operation = Operation(list(operands), [], write, self.place, self.hint, kind, attributes)
        trained = any(value.trained for value in operands)
        operation.results = [
            Value(tuple(shape), dtype, operation, trained=trained and dtype.is_floating_point)
            for shape, dtype in results
        ]
        self.operations.append(operation)
        return operation.results

    def move_up(self, first: int) -> None:
        """Moves the operations from number `first` on up to what they need: a model is cut
        into stages in its order."""
        ranks = {id(operation): index for index, operation in enumerate(self.operations[:first])}
        moved = self.operations[first:]
        for operation in moved:
            given = [ranks.get(id(value.op)) for value in operation.operands if value.op]
            known = [rank for rank in given if rank is not None]
            if known or operation.operands:
                ranks[id(operation)] = max(known, default=-1)
            for value in operation.operands:
                # A constant stays with its first user.
                if value.op and id(value.op) not in ranks:
                    ranks[id(value.op)] = ranks[id(operation)]
        self.operations.sort(key=lambda operation: ranks.get(id(operation), first))

    def live(self, results: Sequence[Value]) -> list[Operation]:
        """The operations that `results` need, and those without results, in order."""
        needed = {id(value.op) for value in results}
        kept = []
        for operation in reversed(self.operations):
            if id(operation) in needed or not operation.results:
                kept.append(operation)
                needed |= {id(value.op) for value in operation.operands}
        return kept[::-1]


class Names:
    """Gives each value a name of its own, near to a wish."""

    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def take(self, wish: str) -> str:
        count = self.used.get(wish)
        self.used[wish] = (count or 0) + 1
        if count is None:
            return "%" + wish
        name = f"{wish}_{count}"
        return self.take(name) if name in self.used else self._claim(name)

    def _claim(self, name: str) -> str:
        self.used[name] = 1
        return "%" + name


def print_operations(
    operations: Sequence[Operation], names: Names, locations: Callable[[Place], str]
) -> list[str]:
    """The lines of `operations`; names the values that they define."""
    lines = []
    for operation in operations:
        for value in operation.results:
            value.name = names.take(operation.hint)
        results = ", ".join(value.name for value in operation.results)
        body = operation.write([value.name for value in operation.operands])
        where = locations(operation.place)
        left = f"{results} = " if results else ""
        lines.append(f"  {left}{body}" + (f" {where}" if where else ""))
    return lines
