"""Random numbers of Python and NumPy, which tracing takes for constants.

PyTorch's own are operations of the graph.
"""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import Any, Iterator

import torch

from zero.importer.errors import CannotImport


@contextmanager
def generators_kept() -> Iterator[None]:
    """Leaves the generators that everything shares as they were, whatever draws from them."""
    python, own, numpy = random.getstate(), torch.get_rng_state(), numpy_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(own)
        if numpy is not None:
            sys.modules["numpy"].random.set_state(numpy)
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)


@contextmanager
def drawing_refused() -> Iterator[None]:
    """Refuses a forward that draws from Python's generator or NumPy's."""
    python, numpy = random.getstate(), numpy_state()
    yield
    if random.getstate() != python:
        refuse_drawing("`random`")
    if numpy is not None and repr(as_plain(numpy_state())) != repr(as_plain(numpy)):
        refuse_drawing("`numpy.random`")


def refuse_drawing(name: str) -> None:
    raise CannotImport(
        f"forward draws from {name}, which would give each step the numbers of the import: draw "
        "with PyTorch, or leave it out, as a model in eval mode does, or one whose "
        "configuration has no such masks or dropped layers"
    )


def numpy_state() -> Any:
    """None where nothing has imported NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy.random.get_state() if numpy is not None else None


def as_plain(state: tuple) -> list[Any]:
    return [part.tobytes() if hasattr(part, "tobytes") else part for part in state]
