"""The table of converters, and how one is called."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.fx import Node

from zero.importer.builder import Builder
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


@dataclass(frozen=True)
class Converter:
    """How an operation of PyTorch is said in zero; `zero` says it in words."""

    function: Callable
    zero: str
    parameters: frozenset[str]


CONVERTERS: dict[str, Converter] = {}


def converts(*operations: str, to: str) -> Callable:
    """Registers a converter for `operations`, such as "aten.add.Tensor".

    The function takes the builder and the operation's arguments by name. An
    argument that it does not take must have its default in the model.
    """

    def register(function: Callable) -> Callable:
        names = list(inspect.signature(function).parameters)[1:]
        for operation in operations:
            if operation in CONVERTERS:
                raise ValueError(f"two converters of {operation}")
            CONVERTERS[operation] = Converter(function, to, frozenset(names))
        return function

    return register


# Floats of 16 bits.
NARROW = (torch.bfloat16, torch.float16)


def rounded_once(function: Callable) -> Callable:
    """A converter that computes in f32 where its tensors are of 16 bits, as PyTorch does in
    one operation, and rounds the result, which has their type where no `dtype` is given."""

    @functools.wraps(function)
    def convert(b: Builder, *words, **settings) -> Value:
        types = {v.dtype for v in (*words, *settings.values()) if isinstance(v, Value)}
        if len(types) != 1 or not types <= set(NARROW) or settings.get("dtype"):
            return function(b, *words, **settings)
        words = [widened(b, word) for word in words]
        settings = {name: widened(b, word) for name, word in settings.items()}
        return b.cast(function(b, *words, **settings), types.pop())

    return convert


def widened(b: Builder, word: Any) -> Any:
    return b.cast(word, torch.float32) if isinstance(word, Value) else word


def bind(node: Node) -> dict[str, Any]:
    """The arguments of a node by name, with defaults."""
    if not isinstance(node.target, torch._ops.OpOverload):
        signature = inspect.signature(node.target)
        bound = signature.bind(*node.args, **node.kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)
    arguments = {}
    for index, argument in enumerate(node.target._schema.arguments):
        if index < len(node.args) and not argument.kwarg_only:
            arguments[argument.name] = node.args[index]
        elif argument.name in node.kwargs:
            arguments[argument.name] = node.kwargs[argument.name]
        else:
            arguments[argument.name] = argument.default_value
    return arguments


# Where memory is and how it is laid out: zero decides both itself.
IGNORED = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "implicit"}


def defaults(node: Node) -> dict[str, Any]:
    if not isinstance(node.target, torch._ops.OpOverload):
        return {}
    return {a.name: a.default_value for a in node.target._schema.arguments}


# What to do instead, by how an operation's name begins.
WAYS_OUT = {
    "aten._fft": (
        "a Fourier transform of a fixed length is a product with a constant matrix: its cosines "
        "and sines, torch.fft.fft(torch.eye(n)).real and .imag, made in __init__"
    ),
}


def way_out(name: str) -> str:
    known = [way for start, way in WAYS_OUT.items() if name.startswith(start)]
    return (
        known[0]
        if known
        else (
            "write the module without it, or ask for it (docs/PyTorch.md lists what can be imported)"
        )
    )


def empty_of(found: Any) -> Value | list[Value] | None:
    """A result without elements, of which there is nothing to compute; None for another."""
    if isinstance(found, (list, tuple)):
        parts = [empty_of(part) for part in found]
        return parts if parts and all(part is not None for part in parts) else None
    if not isinstance(found, torch.Tensor) or 0 not in found.shape:
        return None
    return Value(tuple(found.shape), found.dtype)


def convert_node(
    builder: Builder, name: str, node: Node, value_of: Callable[[Node], Any]
) -> Value | list[Value]:
    """Emits `node`. Raises CannotImport for what no converter knows."""
    nothing = empty_of(node.meta.get("val"))
    if nothing is not None:
        return nothing
    converter = CONVERTERS.get(name)
    if converter is None:
        raise CannotImport(f"{name} has no counterpart in zero; {way_out(name)}")
    arguments = bind(node)
    known = defaults(node)
    for key in list(arguments):
        if key in converter.parameters:
            continue
        value = arguments.pop(key)
        if key not in IGNORED and value != known.get(key):
            raise CannotImport(f"{name} with {key} = {value}, which is not known here")
    arguments = {key: torch.fx.map_arg(value, value_of) for key, value in arguments.items()}
    return converter.function(builder, **arguments)
