"""Batches as the arrays of a step's inputs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping

from zero.arrays import mappings_of, number_in
from zero.errors import ArgumentError


@dataclass(frozen=True)
class Fixed:
    """What an example batch had in the place of a tensor. It is part of the model."""

    value: Any

    def has(self, given: Any) -> bool:
        return type(given) is type(self.value) and (
            given == self.value or (given != given and self.value != self.value)
        )

    def check(self, name: str, given: Any) -> None:
        given = number_in(given)
        if not self.has(given):
            raise ArgumentError(
                f"the batch has {_short(given)} for '{name}', and the model was imported with "
                f"{_short(self.value)}, which is part of it: compile it again with the other value"
            )


class BatchForm:
    """How the example is made that a model was imported with. `entries` are what it has beside
    tensors: by the argument of forward, lists and mappings with names of inputs in the places
    of tensors, and `Fixed` values. `defaults` are what forward takes without an argument."""

    def __init__(
        self,
        entries: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ):
        self._entries, self._defaults = entries or {}, defaults or {}

    def of(self, forward: Callable) -> BatchForm:
        """The same, with the defaults of that function."""
        known = inspect.signature(forward).parameters.values()
        defaults = {each.name: each.default for each in known if each.default is not each.empty}
        return BatchForm(self._entries, defaults)

    def parts(self, batch: Any) -> list[Mapping[str, Any]]:
        """The arrays of each part of a batch, by input."""
        return [self._flat(part) for part in mappings_of(batch, "a batch is")]

    def _flat(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(part, Flat):
            return part
        arrays = Flat({name: part[name] for name in part if name not in self._entries})
        for name in self._entries:
            for inner, value in self._leaves_of(name, part):
                if isinstance(inner, Fixed):
                    inner.check(name, value)
                elif inner in arrays:
                    raise ArgumentError(f"the batch has '{inner}' twice, beside '{name}'")
                else:
                    arrays[inner] = value
        return arrays

    def _leaves_of(self, name: str, part: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        entry = self._entries[name]
        if name not in part:
            self._check_left_out(name, entry)
            return []
        value = part[name]
        try:
            return list(_leaves(entry, value))
        except _Differs:
            raise ArgumentError(
                f"'{name}' of the batch is not made as in the example: found {_form(value)}, "
                f"wanted {_form(entry)}"
            ) from None

    def _check_left_out(self, name: str, entry: Any) -> None:
        """Arrays that are left out are the step's to miss."""
        fixed = [inner for inner, _ in _leaves(entry, entry)]
        if not all(isinstance(inner, Fixed) for inner in fixed):
            return
        default = self._defaults.get(name, _NOTHING)
        try:
            is_default = default is not _NOTHING and all(
                inner.has(value) for inner, value in _leaves(entry, default)
            )
        except _Differs:
            is_default = False
        if not is_default:
            raise ArgumentError(
                f"the batch leaves out '{name}', and the model was imported with "
                f"{_form(entry)}, which is part of it: give that"
            )


class Flat(dict):
    """The arrays of a part by input: what `BatchForm.parts` gives, and takes as it is."""


_NOTHING = object()


class _Differs(Exception):
    pass


def _leaves(entry: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The inputs and fixed values of an entry, each with what a batch has in its place. A
    list may stand for a tuple, as loaders of data give it."""
    if isinstance(entry, (str, Fixed)):
        yield entry, value
    elif isinstance(entry, Mapping):
        if not isinstance(value, Mapping) or value.keys() != entry.keys():
            raise _Differs
        for key, inner in entry.items():
            yield from _leaves(inner, value[key])
    elif isinstance(entry, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(entry):
            raise _Differs
        for inner, part in zip(entry, value):
            yield from _leaves(inner, part)
    else:
        yield from _leaves_of_pytorch(entry, value)


def _leaves_of_pytorch(entry: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Of a class that PyTorch knows the parts of."""
    # Whoever has imported a model has PyTorch.
    from torch.utils import _pytree as pytree

    inner, wanted = pytree.tree_flatten(entry)
    values, found = pytree.tree_flatten(value)
    if found != wanted:
        raise _Differs
    yield from zip(inner, values)


def _form(value: Any) -> str:
    """The lists and mappings of a value, with a star for each array in them."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_form(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_form, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_form, value)) + "]"
    if isinstance(value, Fixed):
        return _short(value.value)
    return "*" if hasattr(value, "shape") or isinstance(value, str) else _short(value)


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (bool, int, float, str, type(None))) else ""
    return text if 0 < len(text) <= 40 else f"a {type(value).__name__}"
