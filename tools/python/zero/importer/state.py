"""What forward leaves in its module.

A step of zero is a function of its batch and its parameters. What forward assigns is
harmless where the next step overwrites it before it reads it, or assigns the same
numbers again: the module is traced a second time to find out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Iterator

import torch
import torch.utils._pytree as tree
from torch import nn

from zero.importer.cells import PLAIN, containers_of
from zero.importer.errors import CannotImport
from zero.importer.generators import drawing_refused, seeding_refused
from zero.importer.known import KnownValues
from zero.importer.steps import digest
from zero.importer.twice import Difference, Noted, Noting, difference, outside_of_graph

REGISTERED = {"_buffers": "the buffer", "_parameters": "the parameter", "_modules": "the module"}

# What PyTorch's recurrent layers keep of their own parameters.
COPIES = {"_flat_weights", "_flat_weight_refs"}


@dataclass
class Cell:
    """What forward can change, what it had, and how a message calls it."""

    path: str
    container: Any  # of `zero.importer.cells`
    before: Any
    registered: str = ""
    # Of buffers, those that nobody saves: as good as attributes.
    unsaved: set[str] = field(default_factory=set)

    def is_changed(self) -> bool:
        now = self.container.read()
        if isinstance(now, dict):
            same = list(now) == list(self.before)
            return not same or any(now[key] is not self.before[key] for key in now)
        if isinstance(now, list):
            same = len(now) == len(self.before)
            return not same or any(a is not b for a, b in zip(now, self.before))
        return now != self.before

    def put_back(self) -> None:
        if self.is_changed():
            self.container.write(self.before)


@dataclass
class Change:
    """A key of a dict that has another value, or all of another container. Nothing,
    as a value, is `ABSENT`."""

    cell: Cell
    key: Any
    value: Any
    # Whether it depends on neither the batch nor a parameter, as a table that the first
    # step makes: the second one, which has it, computes with the same.
    constant: bool = False
    # Those of its tensors in the graph, in the order of the tree's leaves.
    marks: list[int] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.cell.path if self.key is ABSENT else joined(self.cell.path, self.key)


ABSENT = object()


class Unread:
    """Stands for what the step before assigned, and may not be used."""

    def __init__(self, path: str):
        object.__setattr__(self, "path", path)

    @classmethod
    def __torch_function__(cls, function, kinds, words=(), settings=None):
        found = [word for word in words if isinstance(word, Unread)]
        refuse_read(found[0] if found else None)


def refuse_read(value: Unread | None, *words: Any, **settings: Any) -> None:
    name = object.__getattribute__(value, "path") if value is not None else "what it assigned"
    raise CannotImport(
        f"forward reads '{name}', which it assigned in the step before, and zero keeps "
        "nothing from step to step but parameters and running statistics: make it an input, or "
        "compute it in __init__"
    )


for _name in (
    "getattr setattr getitem setitem len iter contains call bool int float index eq ne lt le gt ge "
    "add radd iadd sub rsub mul rmul truediv rtruediv floordiv mod pow matmul rmatmul neg str "
    "format"
).split():
    setattr(Unread, f"__{_name}__", refuse_read)


class State:
    """What a module has between two steps."""

    def __init__(self, *values: Any):
        self.cells: list[Cell] = []
        modules = [value for value in values if isinstance(value, nn.Module)]
        self.flags = [
            (name, parameter, parameter.requires_grad)
            for module in modules
            for name, parameter in module.named_parameters()
        ]
        self._walk(values)

    def _walk(self, values: Iterable[Any]) -> None:
        known: set[int] = set()
        unsaved: dict[int, set[str]] = {}
        stack: list[tuple[str, Any, str]] = [("", value, "") for value in values]
        # An object may go away, and another one have its number.
        self.walked: list[Any] = []
        while stack:
            path, value, registered = stack.pop()
            if id(value) in known:
                continue
            known.add(id(value))
            self.walked.append(value)
            if isinstance(value, nn.Module):
                unsaved[id(value._buffers)] = value._non_persistent_buffers_set
            for container in containers_of(value):
                contents = container.read()
                if not isinstance(value, tuple):
                    names = set(unsaved.get(id(value), ()))
                    self.cells.append(Cell(path, container, contents, registered, names))
                for key, item in items_of(contents):
                    if not isinstance(item, (*PLAIN, torch.Tensor)):
                        inner = REGISTERED.get(key, "") if isinstance(value, nn.Module) else ""
                        stack.append((path if inner else joined(path, key), item, inner))

    def is_changed(self) -> bool:
        return any(cell.is_changed() for cell in self.cells)

    def changes(self) -> list[Change]:
        """What is different now. Refuses what only training may change."""
        for name, parameter, flag in self.flags:
            if parameter.requires_grad != flag:
                raise CannotImport(
                    f"forward sets requires_grad of '{name}': set it once, before the import"
                )
        return [change for cell in self.cells for change in changes_of(cell)]

    def put_back(self) -> None:
        for cell in self.cells:
            try:
                cell.put_back()
            except Exception:
                # What cannot be set keeps what forward made of it, and the rest is put back.
                continue
        for _, parameter, flag in self.flags:
            if parameter.requires_grad != flag:
                parameter.requires_grad_(flag)


def items_of(contents: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(contents, dict):
        yield from contents.items()
    elif isinstance(contents, (list, tuple)):
        yield from enumerate(contents)


def joined(path: str, key: Any) -> str:
    name = str(key) if isinstance(key, (str, int)) else type(key).__name__
    return f"{path}.{name}" if path else name


def changes_of(cell: Cell) -> Iterator[Change]:
    now = cell.container.read()
    if not isinstance(now, dict):
        if not is_same(now, cell.before):
            yield Change(cell, ABSENT, now)
        return
    for key in {**cell.before, **now}:
        value = now.get(key, ABSENT)
        if key in COPIES or is_same(value, cell.before.get(key, ABSENT)):
            continue
        if cell.registered and key not in cell.unsaved:
            raise CannotImport(
                f"forward changes {cell.registered} '{joined(cell.path, key)}', and zero keeps "
                "nothing from step to step but parameters and running statistics: make it a "
                "parameter or an input, or compute it in __init__"
            )
        yield Change(cell, key, value)


def is_same(a: Any, b: Any) -> bool:
    if a is b or (is_plain(a) and is_plain(b) and type(a) is type(b) and a == b):
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return is_view(a, b)
    both = isinstance(a, list) and isinstance(b, list) and len(a) == len(b)
    return both and all(map(is_same, a, b))


def is_view(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether both are the same elements of one memory, as `x.to(x.device)` gives."""
    try:
        same = a.untyped_storage()._cdata == b.untyped_storage()._cdata
        return same and a.dtype == b.dtype and (a.shape, a.stride()) == (b.shape, b.stride())
    except (NotImplementedError, RuntimeError):
        return False


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_plain(key) and is_plain(item) for key, item in value.items())
    if isinstance(value, (list, tuple, set)):
        return all(map(is_plain, value))
    return isinstance(value, PLAIN)


# A second step


def start_next(steps: Steps, state: State) -> None:
    """Sets what the first step left: numbers, constants by the numbers of their marks, and
    what may not be read. Tracing may have put copies where containers were."""
    containers = {
        (cell.path, cell.container.kind, cell.registered): cell.container for cell in state.cells
    }
    for change in steps.changes:
        cell = change.cell
        container = containers[cell.path, cell.container.kind, cell.registered]
        if change.key is ABSENT:
            container.write(change.value)
        elif change.value is ABSENT:
            container.delete(change.key)
        elif change.constant:
            container.set(change.key, with_given(change, steps))
        else:
            # A hook of forward that the first step made is there in the second.
            kept = is_plain(change.value) or change.cell.path.endswith("_hooks")
            container.set(change.key, change.value if kept else Unread(change.path))


def with_given(change: Change, steps: Steps) -> Any:
    """The value of a constant change, of tensors that the graph names by their marks: the
    numbers themselves may have no place in it, as on the meta device."""
    leaves, form = tree.tree_flatten(change.value)
    marks = iter(change.marks)
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            mark = next(marks)
            like = torch.empty_strided(
                leaf.shape, leaf.stride(), dtype=leaf.dtype, device=leaf.device
            )
            leaves[index] = torch.ops.zero_importer.given(like, mark)
            steps.known.learn(leaves[index], steps.given[mark])
    return tree.tree_unflatten(leaves, form)


def refuse_growing(changes: list[Change]) -> None:
    """A container of tensors that forward adds to has no end."""
    for change in changes:
        if change.key is ABSENT and not is_plain(change.value):
            refuse_change(change)


def refuse_change(change: Change) -> None:
    raise CannotImport(
        f"forward changes '{change.path}' in each step, and zero keeps nothing from step to step "
        "but parameters and running statistics: make it an input, or leave it out"
    )


def mark_kept(changes: list[Change]) -> None:
    """Names the tensors that forward assigned in the graph."""
    count = 0
    for change in changes:
        change.marks = []
        for value in tree.tree_leaves(change.value):
            if isinstance(value, torch.Tensor):
                torch.ops.zero_importer.kept(value, count)
                change.marks.append(count)
                count += 1


def find_constants(steps: Steps, values: dict[int, torch.Tensor]) -> None:
    """`values` are those of the marks that depend on neither the batch nor a parameter."""
    for change in steps.changes:
        parts = tree.tree_leaves(change.value)
        plain = all(isinstance(part, (*PLAIN, torch.Tensor)) for part in parts)
        change.constant = bool(change.marks) and plain and values.keys() >= set(change.marks)
    steps.given = values


def refuse_changing(changes: list[Change], constants: set[str]) -> None:
    """The second step changes nothing but what it may not read, and constants, which are
    looked at once they have their values."""
    for change in changes:
        if change.path in constants:
            continue
        before = change.cell.before
        known = before.get(change.key, ABSENT) if isinstance(before, dict) else ABSENT
        if not isinstance(known, Unread) or is_plain(change.value):
            refuse_change(change)


def refuse_other_constants(steps: Steps, values: dict[int, torch.Tensor]) -> None:
    """The second step may assign a constant again, but no other one. `values` are those of
    its marks."""
    first = {change.path: change for change in steps.changes if change.constant}
    for change in steps.second:
        known = first.get(change.path)
        if known and parts_of(known, steps.given) != parts_of(change, values):
            refuse_change(change)


def parts_of(change: Change, values: dict[int, torch.Tensor]) -> list[str] | None:
    """Equal for the same constants."""
    leaves, form = tree.tree_flatten(change.value)
    if change.value is ABSENT or not values.keys() >= set(change.marks):
        return None
    marks = iter(change.marks)
    tensors = [isinstance(leaf, torch.Tensor) for leaf in leaves]
    parts = [values[next(marks)] if t else leaf for leaf, t in zip(leaves, tensors)]
    return [str(form), *map(digest, parts)]


@dataclass
class Steps:
    """Runs a module, and leaves it as it was."""

    changes: list[Change] = field(default_factory=list)  # what the first step left
    second: list[Change] = field(default_factory=list)  # what the second one did
    given: dict[int, torch.Tensor] = field(default_factory=dict)  # the constants, by mark
    again: bool = False
    known: KnownValues | None = None  # while forward runs
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)  # of the module, as it is
    folded: set[str] = field(default_factory=set)  # the buffers that are indices of a trace

    # Of a call: what it asks PyTorch for, and what the next one asks it for instead.
    calls: list[Noted] = field(default_factory=list)
    other: Difference | None = None
    empty_caches: Callable[[], None] = lambda: None

    def run(self, module: nn.Module, batch: dict[str, Any]) -> Any:
        state = State(module)
        try:
            run = self._second if self.again else self._first
            with drawing_refused(), seeding_refused(), KnownValues() as self.known:
                self.known.learn_buffers(module, self.buffers)
                self.known.folded = self.folded
                result = run(module, batch, state)
        finally:
            state.put_back()
        # A second step tells as well.
        if not self.again and not self.changes and not self.other:
            if self._called_again(module, batch):
                # A table that a function keeps is not computed again, and what goes to and fro
                # is the first again.
                found = [self._called_again(module, batch, self.empty_caches) for _ in range(2)]
                self.other = found[0] or found[1]
        return result

    def _called_again(
        self, module: nn.Module, batch: dict[str, Any], before: Callable[[], None] = lambda: None
    ) -> Difference | None:
        """What another call computes instead. One that fails says nothing: it is no trace."""
        before()
        state = State(module)
        try:
            with outside_of_graph(), KnownValues() as known:
                known.learn_buffers(module, self.buffers)
                with Noting() as noting:
                    module(**batch)
        except Exception:
            return None
        finally:
            state.put_back()
        return difference(self.calls, noting.calls)

    def _call(self, module: nn.Module, batch: dict[str, Any]) -> Any:
        with Noting() as noting:
            result = module(**batch)
        self.calls = noting.calls
        return result

    def _first(self, module: nn.Module, batch: dict[str, Any], state: State) -> Any:
        result = self._call(module, batch)
        self.changes = state.changes()
        refuse_growing(self.changes)
        mark_kept(self.changes)
        return result

    def _second(self, module: nn.Module, batch: dict[str, Any], state: State) -> Any:
        start_next(self, state)
        state = State(module)
        result = self._call(module, batch)
        self.second = state.changes()
        refuse_changing(self.second, {change.path for change in self.changes if change.constant})
        mark_kept(self.second)
        return result
