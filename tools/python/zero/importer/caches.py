"""What functions keep with functools.cache, or in dictionaries and lists of their file.

A table that forward makes while it is traced has no values, and is nothing for the next call.
"""

from __future__ import annotations

import functools
import gc
import sys
from contextlib import contextmanager
from typing import Callable, Iterator

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


def _empty_globals(module: nn.Module) -> None:
    files = {type(layer).__module__ for layer in module.modules()}
    for name in files & sys.modules.keys():
        for value in list(vars(sys.modules[name]).values()):
            if type(value) is dict:
                for key in [key for key, item in value.items() if isinstance(item, FakeTensor)]:
                    del value[key]
            elif type(value) is list:
                value[:] = [item for item in value if not isinstance(item, FakeTensor)]


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
