"""What functions keep with functools.cache, or in dictionaries and lists of their file.

A table that forward makes while it is traced has no values, and is nothing for the next call.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import MutableMapping
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

# Their caches hold no tensors of a model, and are slow to fill.
_OWN = {"torch", "sympy", "mpmath", "numpy", "zero"}


def _kept() -> dict[functools._lru_cache_wrapper, int]:
    """How often each cached function was computed."""
    return {
        item: item.cache_info().misses
        for item in gc.get_objects()
        if type(item) is functools._lru_cache_wrapper
    }


def _is_of_trace(item: Any) -> bool:
    if isinstance(item, (tuple, list)):
        return any(map(_is_of_trace, item))
    return isinstance(item, FakeTensor)


def _empty(value: Any) -> None:
    """Takes what a trace has made out of a container."""
    if isinstance(value, MutableMapping):
        for key, item in list(value.items()):
            if _is_of_trace(item):
                del value[key]
            elif isinstance(item, MutableMapping):
                _empty(item)
    elif type(value) is list:
        value[:] = [item for item in value if not _is_of_trace(item)]


def _empty_globals(module: nn.Module) -> None:
    files = {type(layer).__module__ for layer in module.modules()}
    for file in files & sys.modules.keys():
        for name, value in list(vars(sys.modules[file]).items()):
            if not name.startswith("__"):
                _empty(value)


@contextmanager
def caches_emptied(module: nn.Module) -> Iterator[Callable[[], None]]:
    """Empties what functions of a model have kept of a trace, at the end and when it is called."""
    before = _kept()

    def empty() -> None:
        _empty_globals(module)
        for function, misses in _kept().items():
            package = str(getattr(function, "__module__", "")).split(".")[0]
            is_own = package in _OWN or package in sys.stdlib_module_names
            if not is_own and misses != before.get(function, 0):
                function.cache_clear()

    try:
        yield empty
    finally:
        empty()
