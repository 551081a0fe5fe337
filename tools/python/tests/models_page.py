"""Writes docs/Models.md, the list of the models that test_models.py tries.

python models_page.py [--write]
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys

import torch
from models import MODELS, TRAINED

PAGE = pathlib.Path(__file__).parents[3] / "docs/Models.md"
LIBRARIES = {"transformers": "transformers", "torchvision": "torchvision", "": "PyTorch alone"}

HEAD = f"""\
# Models

<!-- Written by tools/python/tests/models_page.py. -->

The models below, {len(MODELS)} of them, are tried: each is made from a configuration, small and
with random weights, imported, compiled and trained by one update on one rank, in f32. Its loss
is PyTorch's within 1e-6, and its gradients together are within 2e-6, or as near to those of f64
as PyTorch's own, and within 1e-5. The mode is that of the module, which decides on dropout and
on the statistics of batch norms.

A model that is not listed may work as well: [PyTorch.md](PyTorch.md) says what is refused, and
its [self-check](PyTorch.md#the-self-check) compares any model with PyTorch.
"""


def library(module: torch.nn.Module) -> str:
    package = type(module).__module__.partition(".")[0]
    return package if package in LIBRARIES else ""


def origin(module: torch.nn.Module) -> tuple[str, str]:
    """The library and the class that are tried, of a module or of what it wraps."""
    for found in (module, *module.children()):
        if library(found):
            return library(found), type(found).__name__
    return "", type(module).__name__


def row(name: str) -> tuple[str, str]:
    """(the library, a line of its table)."""
    torch.manual_seed(1)
    module, batch = MODELS[name]()
    package, of = origin(module)
    inputs = ", ".join(f"`{key}`" for key in batch)
    mode = "train" if name in TRAINED else "eval"
    return package, f"| `{of}` | {inputs} | {mode} | `{name}` |"


def page() -> str:
    # Libraries say what they think of a configuration.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        rows = [row(name) for name in sorted(MODELS)]
    text = HEAD
    for package, title in LIBRARIES.items():
        lines = sorted((line for of, line in rows if of == package), key=str.lower)
        text += f"\n## {title}\n\n| class | inputs | mode | test |\n| --- | --- | --- | --- |\n"
        text += "\n".join(lines) + "\n"
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")
