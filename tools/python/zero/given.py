"""Gradients of micro-batches, as a caller has them."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence, Union

import numpy

from zero.arrays import View, check_name, mappings_of
from zero.errors import ArgumentError
from zero.library import Gradient

# By `zero_given`.
GIVEN = (None, "add", "instead")
Gradients = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]


def micro_batches_of(gradients: Gradients, wanted: int) -> Iterator[tuple[int, str, Any]]:
    """(number of the micro-batch, name, gradient) of each that is there."""
    parts = mappings_of(gradients, "the gradients of a micro-batch are")
    for name in (name for part in parts for name in part):
        check_name(name, "the gradients have", "a parameter")
    if isinstance(gradients, Mapping):
        for name, value in gradients.items():
            if numpy.shape(value)[:1] != (wanted,):
                raise ArgumentError(
                    f"the gradients of '{name}' have shape {list(numpy.shape(value))}, wanted one "
                    f"for each micro-batch along dimension 0, of which an update has {wanted}"
                )
            yield from ((micro, name, value[micro]) for micro in range(wanted))
        return
    if len(parts) != wanted:
        raise ArgumentError(
            f"there are gradients of {len(parts)} micro-batches, and an update has {wanted}: give "
            "a mapping for each, an empty one where all are 0"
        )
    for micro, part in enumerate(parts):
        yield from ((micro, name, value) for name, value in part.items() if value is not None)


class Views:
    """The arguments of the library's functions, and what keeps them alive. `resolve` gives
    the name that the library has for a parameter's."""

    def __init__(self, gradients: Gradients, wanted: int, resolve):
        self._views = []
        for micro, name, value in micro_batches_of(gradients, wanted):
            own = resolve(name)
            self._views.append((own, micro, View(own, value, "float32")))
        self.count = len(self._views)
        self.arguments = (Gradient * self.count)(
            *(view.as_gradient(name, micro) for name, micro, view in self._views)
        )
