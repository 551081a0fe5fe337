"""Tensors whose values a trace knows: those that forward makes of numbers alone.

A branch on such a value goes one way in every step: whether a sequence of this length is
longer than a rotary embedding was made for, whether a mask without inputs hides anything.
Tracing alone sees shapes only, and would give up.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
import torch.utils._pytree as tree
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

# What asks a tensor for a number.
NUMBERS = {
    torch.Tensor.__bool__,
    torch.Tensor.__int__,
    torch.Tensor.__float__,
    torch.Tensor.__index__,
    torch.Tensor.item,
    torch.Tensor.tolist,
}
# Larger ones, such as masks of long sequences, are not worth their time.
LARGEST = 1 << 20
# Memory that nobody has written.
UNWRITTEN = {torch.empty, torch.empty_like, torch.Tensor.new_empty, torch.empty_strided}


class KnownValues(TorchFunctionMode):
    """Computes what depends on numbers alone a second time, with its values."""

    def __init__(self) -> None:
        super().__init__()
        self.values = WeakIdKeyDictionary()

    def learn(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        self.values[tensor] = value

    def __torch_function__(self, function, kinds, words=(), settings=None):
        settings = settings or {}
        if function in NUMBERS and words[0] in self.values:
            with values_alone():
                return function(self.values[words[0]])
        changed = self._changed(function, words, settings)
        result = function(*words, **settings)
        if any(isinstance(part, torch.Tensor) for part in tree.tree_leaves(result)):
            self._follow(function, words, settings, result, changed)
        elif changed:
            self._follow(function, words, settings, changed, changed)
        return result

    def _changed(self, function, words, settings) -> list[torch.Tensor]:
        """What a function writes to."""
        name = getattr(function, "__name__", "")
        own = name.endswith("_") and not name.endswith("__")
        if (
            own
            or name in ("__setitem__", "__set__")
            or (name[:3] == "__i" and name != "__invert__")
        ):
            return [word for word in words[:1] if isinstance(word, torch.Tensor)]
        out = settings.get("out")
        return [part for part in tree.tree_leaves(out) if isinstance(part, torch.Tensor)]

    def _follow(self, function, words, settings, result, changed) -> None:
        found = None
        tensors = [p for p in tree.tree_leaves((words, settings)) if isinstance(p, torch.Tensor)]
        if function not in UNWRITTEN and all(tensor in self.values for tensor in tensors):
            found = self._computed(function, words, settings)
        if found is None:
            for tensor in changed:
                self._forget(tensor)
            return
        for tensor, value in zip(tree.tree_leaves(result), tree.tree_leaves(found)):
            if isinstance(tensor, torch.Tensor) and tensor not in self.values:
                if isinstance(value, torch.Tensor) and value.shape == tensor.shape:
                    self.values[tensor] = value

    def _computed(self, function, words, settings) -> Any:
        """The result with values, or None where it is random, large or beyond the CPU."""
        words, settings = tree.tree_map(self._value, (words, settings))
        before = torch.get_rng_state()
        try:
            with values_alone():
                found = function(*words, **settings)
        except Exception:
            return None  # Tracing says what is wrong with it.
        tensors = [part for part in tree.tree_leaves(found) if isinstance(part, torch.Tensor)]
        if not torch.equal(before, torch.get_rng_state()):
            torch.set_rng_state(before)
            return None
        return found if all(tensor.numel() <= LARGEST for tensor in tensors) else None

    def _value(self, part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            return self.values[part]
        return torch.device("cpu") if isinstance(part, torch.device) else part

    def _forget(self, tensor: torch.Tensor) -> None:
        """All that shares the memory of a value that is now another one."""
        if tensor not in self.values:
            return
        memory = self.values[tensor].untyped_storage()._cdata
        for other in list(self.values):
            if self.values[other].untyped_storage()._cdata == memory:
                del self.values[other]


@contextlib.contextmanager
def values_alone() -> Iterator[None]:
    """Computes here, without tracing."""
    with unset_fake_temporarily(), disable_proxy_modes_tracing():
        yield
