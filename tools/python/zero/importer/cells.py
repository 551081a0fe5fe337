"""What of an object forward can change, read and written alike.

An object has its attributes, slots and items; a function its closure and the numbers of
its module that it names; a class what its instances share; a generator of random numbers
or an iterator a position.
"""

from __future__ import annotations

import functools
import itertools
import pickle
import random
import sys
import types
from collections import OrderedDict, deque
from typing import Any, Callable, Iterator

import torch
from torch import nn

PLAIN = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device)

# Of the standard library, what holds a user's values.
HOLDERS = (types.SimpleNamespace, dict, list, set, deque, tuple)
# The self-check records what the modules of a copy return.
FOREIGN = {*sys.stdlib_module_names, "torch", "numpy", "zero"}


class Items:
    """Of a dict. Not by its own methods: a subclass may forbid them."""

    def __init__(self, owner: dict, kind: str = "items"):
        self.owner, self.kind = owner, kind
        self.base = OrderedDict if isinstance(owner, OrderedDict) else dict

    def read(self) -> dict:
        return dict(self.base.items(self.owner))

    def write(self, contents: dict) -> None:
        self.base.clear(self.owner)
        for key, value in contents.items():
            self.set(key, value)

    def set(self, key: Any, value: Any) -> None:
        self.base.__setitem__(self.owner, key, value)

    def delete(self, key: Any) -> None:
        self.base.__delitem__(self.owner, key)


class Elements:
    """Of another container."""

    kind = "elements"

    def __init__(self, owner: list | set | deque | tuple):
        self.owner = owner
        self.base = next(kind for kind in (list, set, deque, tuple) if isinstance(owner, kind))

    def read(self) -> list:
        return list(self.base.__iter__(self.owner))

    def write(self, contents: list) -> None:
        self.base.clear(self.owner)
        add = self.base.update if self.base is set else self.base.extend
        add(self.owner, contents)


class Fields:
    """What functions reach by name: slots, what a class shares, a closure."""

    def __init__(self, kind: str, names: Callable, get: Callable, put: Callable, drop: Callable):
        self.kind, self.names, self.get = kind, names, get
        self.set, self.delete = put, drop

    def read(self) -> dict:
        found = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except (AttributeError, KeyError, ValueError):
                continue  # without a value
        return found

    def write(self, contents: dict) -> None:
        now = self.read()
        for name in now.keys() - contents.keys():
            self.delete(name)
        for name, value in contents.items():
            if now.get(name, self) is not value:
                self.set(name, value)


class Position:
    """Of what moves when it is read. Without `put` it stays where forward leaves it."""

    kind = "position"

    def __init__(self, get: Callable[[], Any], put: Callable[[Any], None] = lambda _: None):
        self.read, self.write = get, put


def containers_of(value: Any) -> Iterator[Any]:
    """The containers of `value`."""
    if isinstance(value, (type, types.ModuleType)):
        return
    position = position_of(value)
    if position is not None:
        yield position
    elif isinstance(value, types.FunctionType):
        yield from parts_of_function(value)
    elif isinstance(value, types.MethodType):
        yield Elements((value.__self__, value.__func__))
    elif isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        yield Elements((value.__self__,))
    elif isinstance(value, functools.partial):
        yield Elements((value.func, value.args, value.keywords))
    elif isinstance(value, HOLDERS) or not is_foreign(type(value)):
        yield from parts_of_object(value)
    elif isinstance(value, nn.Module):
        yield Items(value.__dict__, "attributes")


def is_foreign(kind: type) -> bool:
    """Whether it is of a library that forward changes nothing in, as a logger is, which
    reaches those of all modules."""
    return kind.__module__.split(".")[0] in FOREIGN


def parts_of_object(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield Items(value)
    elif isinstance(value, (list, set, deque, tuple)):
        yield Elements(value)
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is dict:
        yield Items(attributes, "attributes")
    for kind in type(value).__mro__:
        if is_foreign(kind):
            continue
        slots = kind.__dict__.get("__slots__", ())
        slots = [slots] if isinstance(slots, str) else list(slots)
        slots = [name for name in slots if name not in ("__dict__", "__weakref__")]
        if slots:
            slots = [mangled(kind, name) for name in slots]
            yield fields_of(value, "slots", lambda slots=slots: slots)
        yield fields_of(kind, f"class {kind.__qualname__}", lambda kind=kind: shared_by(kind))
        called = kind.__dict__.get("forward" if isinstance(value, nn.Module) else "__call__")
        if isinstance(called, types.FunctionType):
            yield numbers_of_module(called)


def fields_of(owner: Any, kind: str, names: Callable[[], list[str]]) -> Fields:
    return Fields(
        kind,
        names,
        lambda name: owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name),
        lambda name, value: setattr(owner, name, value),
        lambda name: delattr(owner, name),
    )


def mangled(kind: type, name: str) -> str:
    private = name.startswith("__") and not name.endswith("__")
    return f"_{kind.__name__.lstrip('_')}{name}" if private else name


def shared_by(kind: type) -> list[str]:
    """The class's attributes that are values."""
    return [
        name
        for name, value in kind.__dict__.items()
        if not name.startswith(("__", "_abc_"))
        and not hasattr(type(value), "__get__")
        and not isinstance(value, type)
    ]


def parts_of_function(value: types.FunctionType) -> Iterator[Any]:
    if value.__module__ and value.__module__.split(".")[0] in FOREIGN:
        return
    yield Items(value.__dict__, "attributes")
    yield numbers_of_module(value)
    cells = dict(zip(value.__code__.co_freevars, value.__closure__ or ()))
    yield Fields(
        "closure",
        lambda: cells,
        lambda name: cells[name].cell_contents,
        lambda name, content: setattr(cells[name], "cell_contents", content),
        lambda name: delattr(cells[name], "cell_contents"),
    )
    yield Elements((value.__defaults__ or (), value.__kwdefaults__ or {}))


def numbers_of_module(function: types.FunctionType) -> Fields:
    """The numbers and words of its module that a function names, which it may count with."""
    space = function.__globals__
    return Fields(
        "globals",
        lambda: [n for n in function.__code__.co_names if isinstance(space.get(n, space), PLAIN)],
        space.__getitem__,
        space.__setitem__,
        space.__delitem__,
    )


def position_of(value: Any) -> Position | None:
    if isinstance(value, random.Random):
        return Position(value.getstate, value.setstate)
    if isinstance(value, (types.GeneratorType, *ITERATORS)):
        return Position(lambda: repr(place_in(value)))
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray) and not value.dtype.hasobject:
        return Position(
            value.tobytes,
            lambda data: numpy.copyto(
                value, numpy.frombuffer(data, value.dtype).reshape(value.shape)
            ),
        )
    if isinstance(value, numpy.random.Generator):
        bits = value.bit_generator
        return Position(
            lambda: pickle.dumps(bits.state),
            lambda state: setattr(bits, "state", pickle.loads(state)),
        )
    if isinstance(value, numpy.random.RandomState):
        return Position(
            lambda: pickle.dumps(value.get_state()),
            lambda state: value.set_state(pickle.loads(state)),
        )
    return None


def place_in(value: Any) -> Any:
    """Where an iterator is: another value once it has moved, as far as it tells."""
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return frame and (frame.f_lasti, {n: place_in(v) for n, v in frame.f_locals.items()})
    if isinstance(value, (itertools.count, itertools.repeat)):
        return repr(value)
    if isinstance(value, ITERATORS):
        try:
            return [place_in(part) for part in value.__reduce__()[1:]]
        except TypeError:
            return None
    if isinstance(value, tuple):
        return [place_in(part) for part in value]
    return value if isinstance(value, PLAIN) else len(value) if isinstance(value, list) else None


ITERATORS = (
    *(itertools.count, itertools.repeat, itertools.cycle, itertools.chain, itertools.islice),
    *(enumerate, zip, map, filter, reversed),
    *(type(iter(value)) for value in ([], (), range(0), "", {}, set())),
)
