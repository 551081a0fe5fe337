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

# What PyTorch's layers do in each mode is known to converters.
KNOWN = os.path.dirname(torch.__file__) + os.sep

DRAWN = ("bernoulli", "rand", "rand_like")


def is_trained(module: nn.Module) -> bool:
    """Whether a part of the module is in train mode."""
    return any(part.training for part in module.modules())


@contextmanager
def modes_watched() -> Iterator[list[str]]:
    """The places of code, but for PyTorch's, that reads a module's mode."""
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
    """The module in eval mode and without gradients. `eval` is not called, which some modules
    use to change their weights."""
    before = [(part, part.training) for part in module.modules()]
    fast = torch.backends.mha.get_fastpath_enabled()
    for part, _ in before:
        part.training = False
    # PyTorch's layers have one operation for all that they do then.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for part, mode in before:
            part.training = mode


def changes_by_call(module: nn.Module) -> str:
    """The path of a part that does something of its own when it is told its mode; empty
    where there is none."""
    for path, part in module.named_modules():
        for name in ("train", "eval"):
            method = getattr(type(part), name)
            # That of transformers changes nothing but kernels from its hub.
            is_known = method is getattr(nn.Module, name) or (
                method.__module__ == "transformers.modeling_utils"
                and not getattr(part, "use_kernels", False)
            )
            if name in vars(part) or not is_known:
                return path or type(part).__name__
    return ""


def draws(captured: Captured) -> bool:
    """Whether forward itself draws what an evaluation may not draw."""
    return any(
        isinstance(node, Node) and getattr(node.target, "_opname", "") in DRAWN
        for node in needed(captured.results)
    )
