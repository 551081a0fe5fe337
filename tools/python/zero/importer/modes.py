"""What forward does in training alone.

A module is traced in its own mode. Where its code asks for the mode, or draws numbers, it
is traced in eval mode as well, for what an evaluation computes.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Iterator

import torch
from torch import nn
from torch.fx import Node

from zero.importer.captured import Captured, needed

# These ask for their mode, and converters know what they do in each.
KNOWN = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep

DRAWN = ("bernoulli", "rand", "rand_like")


def is_trained(module: nn.Module) -> bool:
    """Whether a part of the module is in train mode."""
    return any(part.training for part in module.modules())


@contextmanager
def modes_watched() -> Iterator[list[str]]:
    """The places of code, but for PyTorch's layers, that reads a module's mode."""
    places: list[str] = []

    def read(module: nn.Module) -> bool:
        frame = sys._getframe(1)
        if not frame.f_code.co_filename.startswith(KNOWN):
            places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        try:
            return module.__dict__["training"]
        except KeyError:
            raise AttributeError(
                f"'{type(module).__name__}' object has no attribute 'training'"
            ) from None

    def write(module: nn.Module, value: bool) -> None:
        module.__dict__["training"] = value

    # A property of the class comes before what its objects have.
    nn.Module.training = property(read, write)
    try:
        yield places
    finally:
        del nn.Module.training


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """The module in eval mode, without a call of `eval`, which some modules use to change
    their weights."""
    before = [(part, part.training) for part in module.modules()]
    for part, _ in before:
        part.training = False
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


def draws(captured: Captured) -> bool:
    """Whether forward itself draws what an evaluation may not draw."""
    return any(
        isinstance(node, Node) and getattr(node.target, "_opname", "") in DRAWN
        for node in needed(captured.results)
    )
