"""Layers that repeat: traced a few times, and written as often as the module has them.

Where a list of layers has one structure, forward computes the same in each of them but
for parameters. Of such a list the first three are traced; the third is then repeated. What
could tell layers apart is compared first, and the second and the third have to come out
the same: otherwise all of them are traced.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import Any, Iterator

import torch
from torch import nn

from zero.importer.errors import Place
from zero.importer.ir import Operation, Value

# How many are traced: the first may begin with what all share, the third follows another.
TRACED = 3
_INDEX = re.compile(r"(layer|block)_?(idx|id|index|number|num)")
_MARK = re.compile("\0(\\d+)\0")
_DRAW = re.compile(r"\bid (\d+)")


class Differ(Exception):
    """The layers are not, or not seen to be, the same."""


class FirstLayers(nn.ModuleList):
    """The first layers of a list, which has the length of all of it."""

    whole = 0

    def __len__(self) -> int:
        return self.whole or super().__len__()


@dataclass
class Repeated:
    """A list of layers, by its path in the module."""

    module: nn.Module
    path: str
    count: int

    @contextlib.contextmanager
    def shortened(self) -> Iterator[None]:
        """The module has the first layers alone inside."""
        parent, _, name = self.path.rpartition(".")
        owner = self.module.get_submodule(parent)
        layers = owner._modules[name]
        first = FirstLayers(list(layers)[:TRACED])
        first.training = layers.training
        first.whole = self.count
        owner._modules[name] = first
        try:
            yield
        finally:
            owner._modules[name] = layers

    def of_all_layers(self, names: set[str]) -> set[str]:
        """What is named in the last layer that was traced is in those behind it, too."""
        last = f"{self.path}.{TRACED - 1}."
        inside = [name.removeprefix(last) for name in names if name.startswith(last)]
        others = range(TRACED, self.count)
        return {*names, *(f"{self.path}.{i}.{name}" for i in others for name in inside)}


def find_repeated(module: nn.Module) -> Repeated | None:
    """The one list of layers that is worth it; None where there is none, or several."""
    found: list[Repeated] = []
    for path, child in module.named_modules():
        inside = any(path.startswith(known.path + ".") for known in found)
        if not isinstance(child, nn.ModuleList) or len(child) <= TRACED + 1 or inside:
            continue
        found.append(Repeated(module, path, len(child)))
    if len(found) != 1:
        return None
    layers = list(module.get_submodule(found[0].path))
    try:
        for index, layer in enumerate(layers[1:], 1):
            compare(layers[0], layer, index)
    except Differ:
        return None
    return found[0] if configuration_is_even(module, len(layers)) else None


def compare(first: nn.Module, layer: nn.Module, index: int) -> None:
    """Raises Differ where forward could tell `layer`, number `index`, from the first one."""
    if type(first) is not type(layer):
        raise Differ
    ours, theirs = vars(first), vars(layer)
    if ours.keys() != theirs.keys():
        raise Differ
    for name, value in ours.items():
        if name in ("_parameters", "_buffers"):
            compare_tensors(value, theirs[name], with_values=name == "_buffers")
        elif name == "_modules":
            if value.keys() != theirs[name].keys():
                raise Differ
            for key, child in value.items():
                if (child is None) != (theirs[name][key] is None):
                    raise Differ
                if child is not None:
                    compare(child, theirs[name][key], index)
        elif not alike(name, value, theirs[name], index):
            raise Differ


def compare_tensors(first: dict, other: dict, *, with_values: bool) -> None:
    if first.keys() != other.keys():
        raise Differ
    for name, value in first.items():
        found = other[name]
        if (value is None) != (found is None):
            raise Differ
        if value is None:
            continue
        kinds = [(x.shape, x.dtype, x.device, x.requires_grad) for x in (value, found)]
        if kinds[0] != kinds[1] or (found is value and not with_values):
            raise Differ  # What is shared is one parameter, of one name.
        if with_values and not value.is_meta and not torch.equal(value, found):
            raise Differ


def alike(name: str, value: Any, other: Any, index: int) -> bool:
    """Whether two attributes are the same, or count the layers and nothing else."""
    if value is other:
        return True
    if type(value) is not type(other):
        return False
    if type(value) is int and _INDEX.search(name):
        return other - value == index
    if isinstance(value, (bool, int, float, str, torch.dtype, torch.device, torch.Size)):
        return value == other
    if isinstance(value, (list, tuple)):
        return len(value) == len(other) and all(
            alike("", mine, yours, index) for mine, yours in zip(value, other)
        )
    if isinstance(value, (dict, set)):
        try:
            return value == other
        except (RuntimeError, TypeError, ValueError):
            return False
    bound, others = getattr(value, "__func__", None), getattr(other, "__func__", None)
    return bound is not None and bound is others


def configuration_is_even(module: nn.Module, layers: int) -> bool:
    """Whether lists of the configuration that have an entry for each layer say the same
    of all: forward may read them."""
    seen, stack = set(), [getattr(child, "config", None) for child in module.modules()]
    while stack:
        config = stack.pop()
        if config is None or id(config) in seen or not hasattr(config, "to_dict"):
            continue
        seen.add(id(config))
        for value in vars(config).values():
            if isinstance(value, (list, tuple)) and len(value) == layers:
                if any(entry != value[0] for entry in value):
                    return False
            stack.append(value)
    return True


# ----------------------------------------------------------------------
# Operations


class Template:
    """The operations of a step, by layer: those before, of each layer, and those after."""

    def __init__(self, operations: list[Operation], path: str):
        self.pattern = re.compile(re.escape(path) + r"\.(\d+)(?=\.|$)")
        self.path = path
        numbers = [self.number_of(operation) for operation in operations]
        if not any(number is not None for number in numbers):
            raise Differ
        last = max(i for i, number in enumerate(numbers) if number is not None)
        self.parts: list[list[Operation]] = [[] for _ in range(TRACED + 1)]
        self.after = operations[last + 1 :]
        current = -1
        for number, operation in zip(numbers[: last + 1], operations):
            if number is not None and number not in (current, current + 1):
                raise Differ
            current = current if number is None else number
            self.parts[current + 1].append(operation)
        if any(not part for part in self.parts[1:]):
            raise Differ
        # Where each value is made: the part, and which of its values it is.
        self.places: dict[int, tuple[int, int]] = {}
        for number, part in enumerate([*self.parts, self.after]):
            values = [value for operation in part for value in operation.results]
            self.places.update({id(value): (number, i) for i, value in enumerate(values)})

    def number_of(self, operation: Operation) -> int | None:
        """The layer that the operation is in."""
        found = self.pattern.match(operation.place.module)
        return int(found[1]) if found else None

    def text_of(self, operation: Operation, number: int) -> tuple:
        """What has to be the same in all layers."""
        text = operation.write(["%"] * len(operation.operands))
        # A parameter is called after its layer, which a place names, too.
        text = _DRAW.sub("id", text).replace(f"{self.path}.{number}.", f"{self.path}.*.")
        return text, [value.type for value in operation.results], operation.kind

    def verify(self) -> None:
        """Raises Differ unless the third layer is the second one once more."""
        second, third = self.parts[-2], self.parts[-1]
        if len(second) != len(third):
            raise Differ
        for one, two in zip(second, third):
            if self.text_of(one, TRACED - 2) != self.text_of(two, TRACED - 1):
                raise Differ
            for mine, next in zip(one.operands, two.operands):
                self.verify_operand(mine, next)
        for operation in self.after:
            for value in operation.operands:
                if self.places.get(id(value), (0, 0))[0] == TRACED - 1:
                    raise Differ  # A layer before the last one gives more than its result.

    def verify_operand(self, mine: Value, next: Value) -> None:
        """An operand of the second layer and of the third one: made in that layer, or in
        the one before, or one and the same."""
        a, b = (self.places.get(id(value), (0, 0)) for value in (mine, next))
        if b[0] == TRACED and a == (TRACED - 1, b[1]):
            return
        if b[0] == TRACED - 1 and a[0] == TRACED - 2:
            return
        if mine is not next:
            raise Differ


def draws_of(operations: list[Operation]) -> int:
    """How many masks and random numbers the operations draw."""
    texts = (operation.write(["%"] * len(operation.operands)) for operation in operations)
    return sum(bool(_DRAW.search(text)) for text in texts)


def repeat_layers(
    operations: list[Operation], results: list[Value], repeated: Repeated
) -> tuple[list[Operation], list[Value]]:
    """The operations of all layers, where `operations` are those of the first ones, and
    what `results` are then. Raises Differ."""
    template = Template(operations, repeated.path)
    template.verify()
    own = draws_of(template.parts[-1])
    made = [operation for part in template.parts for operation in part]
    last = [value for operation in template.parts[-1] for value in operation.results]
    before = [value for operation in template.parts[-2] for value in operation.results]
    for number in range(TRACED, repeated.count):
        known = {id(a): b for a, b in zip(before, last)}
        # What the third layer takes of the second one, the next takes of the last.
        current = []
        for operation in template.parts[-1]:
            copy = copied(operation, known, template, number, own * (number - TRACED + 1))
            known.update({id(a): b for a, b in zip(operation.results, copy.results)})
            made.append(copy)
            current += copy.results
        last = current
    ends = [value for operation in template.parts[-1] for value in operation.results]
    known = {id(a): b for a, b in zip(ends, last)}
    for operation in template.after:
        copy = copied(operation, known, None, 0, own * (repeated.count - TRACED))
        known.update({id(a): b for a, b in zip(operation.results, copy.results)})
        made.append(copy)
    return made, [known.get(id(value), value) for value in results]


def copied(
    operation: Operation,
    known: dict[int, Value],
    template: Template | None,
    number: int,
    draws: int,
) -> Operation:
    """The operation with other operands, in layer `number` instead of the third one, and
    with numbers of draws `draws` further on."""

    def moved(text: str) -> str:
        if template is None:
            return text
        return text.replace(f"{template.path}.{TRACED - 1}.", f"{template.path}.{number}.")

    def write(names: list[str]) -> str:
        marks = [f"\0{index}\0" for index in range(len(names))]
        text = moved(operation.write(marks))
        text = _DRAW.sub(lambda found: f"id {int(found[1]) + draws}", text)
        return _MARK.sub(lambda found: names[int(found[1])], text)

    place = operation.place
    place = Place(moved(place.module + ".")[:-1], place.file, place.line)
    copy = Operation(
        [known.get(id(value), value) for value in operation.operands],
        [],
        write,
        place,
        moved(operation.hint),
        operation.kind,
        dict(operation.attributes),
    )
    copy.results = [
        Value(value.shape, value.dtype, copy, trained=value.trained) for value in operation.results
    ]
    return copy
