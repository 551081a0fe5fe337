"""Names of modules and parameters in the code that PyTorch writes of a graph."""

from __future__ import annotations

import keyword
from contextlib import contextmanager
from typing import Iterator

from torch.fx import graph


@contextmanager
def any_names_written() -> Iterator[None]:
    """PyTorch itself writes `x.in`, and quotation marks and ends of lines as they are."""
    written = graph._format_target
    graph._format_target = attribute
    try:
        yield
    finally:
        graph._format_target = written


def attribute(base: str, path: str) -> str:
    for name in path.split("."):
        is_plain = name.isidentifier() and not keyword.iskeyword(name)
        base = f"{base}.{name}" if is_plain else f"getattr({base}, {name!r})"
    return base
