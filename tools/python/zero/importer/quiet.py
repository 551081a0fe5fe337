"""PyTorch's own words about a trace that fails: all of the graph, in hundreds of lines,
before the one that an import says itself."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import Any, Iterator

from torch.export import _trace


@contextmanager
def tracing_silenced() -> Iterator[None]:
    """Keeps PyTorch's loggers, and the graph that export prints, from standard error. What
    forward prints itself stays."""
    loggers = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and (name + ".").startswith("torch.")
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    _trace.print = nothing
    try:
        yield
    finally:
        del _trace.print
        for logger, disabled in zip(loggers, before):
            logger.disabled = disabled


def nothing(*words: Any, **settings: Any) -> None: ...
