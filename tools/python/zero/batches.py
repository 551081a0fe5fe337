"""Batches as the arrays of a step's inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from zero.arrays import mappings_of, number_in
from zero.errors import ArgumentError


@dataclass(frozen=True)
class Fixed:
    """What an example batch had in the place of a tensor. It is part of the model."""

    value: Any

    def check(self, name: str, given: Any) -> None:
        given = number_in(given)
        if type(given) is not type(self.value) or given != self.value:
            raise ArgumentError(
                f"the batch has {_short(given)} for '{name}', and the model was imported with "
                f"{_short(self.value)}, which is part of it: compile it again with the other value"
            )


class BatchForm:
    """How the example is made that a model was imported with. `entries` are what it has beside
    tensors: by the argument of forward, lists and mappings with names of inputs in the places
    of tensors, and `Fixed` values."""

    def __init__(self, entries: Mapping[str, Any] | None = None):
        self._entries = entries or {}

    def parts(self, batch: Any) -> list[Mapping[str, Any]]:
        """The arrays of each part of a batch, by input."""
        return [self._flat(part) for part in mappings_of(batch, "a batch is")]

    def _flat(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._entries:
            return part
        arrays = {name: value for name, value in part.items() if name not in self._entries}
        for name, entry in self._entries.items():
            for inner, value in self._leaves(name, entry, part[name]) if name in part else ():
                if isinstance(inner, Fixed):
                    inner.check(name, value)
                elif inner in arrays:
                    raise ArgumentError(f"the batch has '{inner}' twice, beside '{name}'")
                else:
                    arrays[inner] = value
        return arrays

    def _leaves(self, name: str, entry: Any, value: Any) -> Iterator[tuple[Any, Any]]:
        # Whoever has imported a model has PyTorch.
        from torch.utils import _pytree as pytree

        inner, wanted = pytree.tree_flatten(entry)
        values, found = pytree.tree_flatten(value)
        if found != wanted:
            raise ArgumentError(
                f"'{name}' of the batch is not made as in the example: found {_kind(found)}, "
                f"wanted {_kind(wanted)}"
            )
        return zip(inner, values)


def _kind(form) -> str:
    """The lists and mappings of a form, with a star for each array in them."""
    return str(form.unflatten([_Star()] * form.num_leaves)) if form.num_leaves else "nothing"


class _Star:
    def __repr__(self) -> str:
        return "*"


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (bool, int, float, str, type(None))) else ""
    return text if 0 < len(text) <= 40 else f"a {type(value).__name__}"
