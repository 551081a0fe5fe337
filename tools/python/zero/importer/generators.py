"""Random numbers of Python and NumPy, which tracing takes for constants.

PyTorch's own are operations of the graph, which draw other numbers in each step, whatever
forward makes of the state of PyTorch's generator.
"""

from __future__ import annotations

import itertools
import random
import sys
import traceback
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import torch
from torch._ops import OpOverload
from torch.fx import Node, Tracer

from zero.importer.errors import CannotImport, Place
from zero.importer.places import place_of_frames

# What no forward takes for a seed.
SEEDS = 0x7A65_726F_0000_0000


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
        "with PyTorch, or leave it out, as a model in eval mode does, or one whose configuration "
        f"has no such masks or dropped layers; for the same numbers in each step call "
        f"{name.strip('`')}.seed with a number in forward"
    )


# PyTorch's generator


@contextmanager
def seeding_refused() -> Iterator[None]:
    """Refuses a forward that draws from PyTorch's generator and sets its state. A trace draws
    nothing: here each draw leaves a seed of its own behind, and another one is forward's."""
    create, own = Tracer.create_node, torch.default_generator
    seeds, places = itertools.count(SEEDS), []

    def check() -> None:
        if places and own.initial_seed() != expected:
            refuse_seeding(places[-1])

    def created(self: Tracer, kind: str, target: Any, *rest: Any, **settings: Any) -> Node:
        nonlocal expected
        node = create(self, kind, target, *rest, **settings)
        if kind == "call_function" and is_draw(target, node.args, node.kwargs):
            places.append(place_of_frames(traceback.extract_stack()))
            check()
            own.manual_seed(expected := next(seeds))
        return node

    own.manual_seed(expected := next(seeds))
    Tracer.create_node = created
    try:
        yield
        check()
    finally:
        Tracer.create_node = create


def refuse_seeding(place: Place | None) -> None:
    raise CannotImport(
        "forward draws here, and sets the seed or the state of PyTorch's generator (manual_seed, "
        "set_rng_state, fork_rng), which would have each step draw the same numbers, and zero "
        "draws others in each step: draw them once in __init__ and keep them in a buffer, or make "
        "them an input; for others in each step seed outside of forward",
        place,
    )


def is_draw(target: Any, words: tuple, settings: dict[str, Any]) -> bool:
    """Whether an operation of a graph draws random numbers, with these arguments."""
    if not isinstance(target, OpOverload) or torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    return draws(arguments_of(target, words, settings))


def arguments_of(function: OpOverload, words: tuple, settings: dict[str, Any]) -> dict[str, Any]:
    """By name, with defaults."""
    found = {a.name: a.default_value for a in function._schema.arguments}
    return found | dict(zip(found, words)) | settings


def draws(given: dict[str, Any]) -> bool:
    """Whether an operation that may draw does, by its arguments: dropout, attention and recurrent
    networks do in training and where they have dropout."""
    never = ("dropout_p", "dropout", "train", "training")
    return not any(isinstance(given.get(n), (bool, int, float)) and not given[n] for n in never)


# Python's and NumPy's state


def numpy_state() -> Any:
    """None where nothing has imported NumPy."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    kind, numbers, *rest = numpy.random.get_state()
    return (kind, numbers.tolist(), *rest)
