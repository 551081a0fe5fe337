"""Regions without gradients that a trace does not see by itself: those inside of PyTorch's own
functions in Python, which are one call each to it."""

from __future__ import annotations

import inspect
import math
import threading
from contextlib import contextmanager
from types import FunctionType
from typing import Callable, Iterator

import torch
import torch.nn.functional as F
from torch.fx import Tracer
from torch.overrides import TorchFunctionMode

from zero.importer.stops import STOP


class Calls(TorchFunctionMode):
    """Follows calls of functions in Python, and makes those that zero knows."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[Callable] = []
        self.enabled = True  # whether gradients were, at the call of the first

    def __torch_function__(self, function, kinds, words=(), settings=None):
        settings = settings or {}
        if not isinstance(function, FunctionType):
            return function(*words, **settings)
        if not self.stack:
            self.enabled = torch.is_grad_enabled()
        self.stack.append(function)
        try:
            return KNOWN.get(function, function)(*words, **settings)
        finally:
            self.stack.pop()

    def are_apart(self) -> bool:
        """Whether a function that zero does not know has begun a region without gradients."""
        began = self.stack and self.enabled and not torch.is_grad_enabled()
        return bool(began) and KNOWN.keys().isdisjoint(self.stack)


def gaussian_nll_loss(*words, **settings):
    """A variance below `eps` is raised, without which its gradient is computed."""
    given = inspect.signature(F.gaussian_nll_loss).bind(*words, **settings)
    given.apply_defaults()
    var, eps = given.arguments["var"], given.arguments["eps"]
    if isinstance(var, torch.Tensor) and var.requires_grad:
        slope = torch.where(var.isfinite(), var - STOP(var), 0.0)
        given.arguments["var"] = STOP(var.clamp(min=eps)) + slope
        given.arguments["eps"] = -math.inf
    return F.gaussian_nll_loss(*given.args, **given.kwargs)


KNOWN = {F.gaussian_nll_loss: gaussian_nll_loss}


@contextmanager
def regions_seen() -> Iterator[None]:
    """A trace has all regions without gradients, but for those of functions that zero knows."""
    create, calls, thread = Tracer.create_node, Calls(), threading.get_ident()
    told = seen = torch.is_grad_enabled()

    def created(self, kind, target, *rest, **settings):
        nonlocal told, seen
        if threading.get_ident() != thread:
            return create(self, kind, target, *rest, **settings)
        now = told and not calls.are_apart()
        if target is torch._C._set_grad_enabled:
            told = seen = rest[0][0]
        elif now != seen and isinstance(target, torch._ops.OpOverload):
            before = told
            switch = self.create_node("call_function", torch._C._set_grad_enabled, (now,), {})
            switch.meta["val"] = None
            told = before
        return create(self, kind, target, *rest, **settings)

    Tracer.create_node = created
    try:
        with calls:
            yield
    finally:
        Tracer.create_node = create
