"""Random numbers of Python and NumPy, which tracing takes for constants.

PyTorch's own are operations of the graph.
"""

from __future__ import annotations

import random
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator

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
    """Refuses a forward that draws from Python's generator or NumPy's. One that seeds it
    first has the same numbers in each step."""
    numpy = getattr(sys.modules.get("numpy"), "random", None)
    with seeding_watched(random, "`random`", random.getstate):
        if numpy is None:
            yield
        else:
            with seeding_watched(numpy, "`numpy.random`", numpy_state):
                yield


@contextmanager
def seeding_watched(owner: Any, name: str, state: Callable[[], Any]) -> Iterator[None]:
    before, seed, seeded = state(), owner.seed, []

    def watched(*words: Any, **settings: Any) -> Any:
        # Without a number it takes one from the system.
        given = [word for word in (*words, *settings.values()) if word is not None]
        if given and (seeded or state() == before):
            seeded.append(True)
        return seed(*words, **settings)

    owner.seed = watched
    try:
        yield
    finally:
        owner.seed = seed
    if not seeded and state() != before:
        refuse_drawing(name)


def refuse_drawing(name: str) -> None:
    raise CannotImport(
        f"forward draws from {name}, which would give each step the numbers of the import: draw "
        "with PyTorch, seed it in forward, or leave it out, as a model in eval mode does, or one "
        "whose configuration has no such masks or dropped layers"
    )


def numpy_state() -> Any:
    """None where nothing has imported NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    kind, numbers, *rest = numpy.random.get_state()
    return (kind, numbers.tolist(), *rest)
