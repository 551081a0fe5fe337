"""Where in the user's model an operation of the graph comes from."""

from __future__ import annotations

import os
import re
import site
import sysconfig
import traceback

import torch
from torch.fx import Node

from zero.importer.errors import Place

FRAME = re.compile(r'File "([^"]+)", line (\d+)')
TORCH = os.path.dirname(torch.__file__) + os.sep
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARIES = sorted(
    {sysconfig.get_paths()["purelib"], *site.getsitepackages()}, key=len, reverse=True
)


def place_of(node: Node) -> Place:
    """The innermost module and the innermost line that is not PyTorch's own."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values()]
    module = module_path(paths[-1]) if paths else ""
    file, line = "", 0
    for name, number in FRAME.findall(node.meta.get("stack_trace") or ""):
        if not name.startswith((TORCH, PACKAGE, "<")):
            file, line = name, int(number)
    return Place(module, shortened(file), line)


def place_of_error(error: BaseException) -> Place | None:
    """The innermost line of an exception's traceback that is the user's."""
    return place_of_frames(traceback.extract_tb(error.__traceback__))


def place_of_frames(frames: traceback.StackSummary) -> Place | None:
    """The innermost of them that is the user's."""
    place = None
    for frame in frames:
        if os.path.exists(frame.filename) and not frame.filename.startswith((TORCH, PACKAGE)):
            place = Place("", shortened(frame.filename), frame.lineno or 0)
    return place


def module_path(path: str) -> str:
    """The path in the user's module: the importer traces it as `module`, and a
    module that is called twice is `path@1` the second time."""
    path = re.sub(r"@\d+", "", path)
    return "" if path == "module" else path.removeprefix("module.")


def shortened(file: str) -> str:
    """Relative to the installed packages, or to the working directory, which they may be in."""
    try:
        here = os.getcwd() + os.sep
    except FileNotFoundError:  # it was deleted
        here = os.sep * 2
    for folder in (*(library + os.sep for library in LIBRARIES), here):
        if file.startswith(folder):
            return file[len(folder) :]
    return file
