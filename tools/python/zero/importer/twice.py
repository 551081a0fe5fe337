"""Whether forward computes the same when it is called again.

A trace has the numbers that Python makes: what a generator of NumPy draws, the time, a count
in a dictionary of the file. Where they are others at the next call, none of them is the
model's. Forward is therefore called a second time, outside of the graph, and what both calls
ask PyTorch for is compared.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator, NoReturn

import torch
from torch import _ops, nn
from torch._guards import active_fake_mode
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode
from torch.overrides import TorchFunctionMode, resolve_name

from zero.importer.errors import CannotImport, Place
from zero.importer.known import LARGEST, values_alone
from zero.importer.places import PACKAGE, TORCH, shortened
from zero.importer.steps import digest

LIFTED = (torch.ops.aten.lift_fresh.default, torch.ops.aten.lift_fresh_copy.default)

# How much of a call a message shows.
SHOWN = 60


@dataclass(frozen=True)
class Noted:
    """A call of PyTorch: what of it Python has made, and the line of the user's code."""

    name: str
    words: str
    file: str
    line: int

    def __str__(self) -> str:
        words = self.words if len(self.words) <= SHOWN else f"{self.words[:SHOWN]}..."
        return f"{self.name}({words})"


class Noting(TorchFunctionMode):
    """Notes the calls of PyTorch, with all of their operands but tensors that it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Noted] = []

    def __enter__(self):
        self.depth = modes_inside()
        return super().__enter__()

    def __torch_function__(self, function, kinds, words=(), settings=None):
        settings = settings or {}
        # What modes of tracing call themselves is theirs, but for the numbers that they find in
        # what no mode sees, such as torch.from_numpy.
        if function in LIFTED:
            self._note("torch.as_tensor", words, {})
        elif modes_inside() >= self.depth:
            self._note(name_of(function), words, settings)
        return function(*words, **settings)

    def _note(self, name: str, words: tuple, settings: dict[str, Any]) -> None:
        line = line_of_user()
        if line:
            parts = [said(word) for word in words]
            parts += [f"{key}={said(word)}" for key, word in settings.items()]
            self.calls.append(Noted(name, ", ".join(parts), *line))


def modes_inside() -> int:
    """Tracing takes a mode away while it runs."""
    return torch._C._len_torch_dispatch_stack() + _ops._len_torch_dispatch_stack_pre_dispatch()


@functools.cache
def name_of(function: Callable) -> str:
    return resolve_name(function) or getattr(function, "__name__", type(function).__name__)


def said(word: Any) -> str:
    """Equal for equal numbers, words and containers of them."""
    if isinstance(word, torch.Tensor):
        return "tensor" if isinstance(word, FakeTensor) else of_constant(word)
    if isinstance(word, (list, tuple)):
        return f"[{', '.join(map(said, word))}]"
    if isinstance(word, dict):
        return f"{{{', '.join(f'{said(key)}: {said(item)}' for key, item in word.items())}}}"
    if isinstance(word, slice):
        return f"{said(word.start)}:{said(word.stop)}:{said(word.step)}"
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(word, numpy.ndarray) and not word.dtype.hasobject:
        return f"array {word.shape} of {hashlib.sha256(word.tobytes()).hexdigest()[:8]}"
    # What other objects are called may be their place in memory.
    kinds = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
    plain = isinstance(word, (*kinds, numpy.generic) if numpy else kinds)
    return repr(word) if plain else type(word).__name__


def of_constant(tensor: torch.Tensor) -> str:
    if tensor.is_meta or tensor.numel() > LARGEST or tensor.layout != torch.strided:
        return "tensor"
    with values_alone():
        return f"tensor {digest(tensor.detach().cpu())[:SHOWN]}"


def line_of_user() -> tuple[str, int] | None:
    """None for what the import itself calls."""
    frame = sys._getframe(3)
    while is_of_pytorch(frame):
        frame = frame.f_back
    file = frame.f_code.co_filename
    return None if file.startswith(PACKAGE) else (file, frame.f_lineno)


def is_of_pytorch(frame: types.FrameType) -> bool:
    """Or of code that it has generated, which is no file's; nor is what is typed in."""
    file = frame.f_code.co_filename
    return file.startswith(TORCH) or (
        file.startswith("<") and frame.f_globals.get("__name__") != "__main__"
    )


@contextmanager
def outside_of_graph() -> Iterator[None]:
    """Leaves no operation in the graph of a trace, nor a call of a module or a size."""
    graph, sizes = get_proxy_mode().tracer.graph, active_fake_mode().shape_env
    before, call = len(graph.nodes), nn.Module.__call__
    nn.Module.__call__ = nn.Module._wrapped_call_impl
    try:
        with disable_proxy_modes_tracing(), sizes.ignore_fresh_unbacked_symbols():
            yield
    finally:
        nn.Module.__call__ = call
        # Regions without gradients and the like are nodes whatever traces.
        for node in list(graph.nodes)[: before - 1 : -1]:
            graph.erase_node(node)


@dataclass(frozen=True)
class Difference:
    """The first calls that differ; None where there is none any more."""

    first: Noted | None
    second: Noted | None

    @property
    def is_of_words(self) -> bool:
        """Whether both ask for the same, of other numbers."""
        return bool(self.first and self.second) and self.first.name == self.second.name

    def refuse(self, cause: Exception | None = None) -> NoReturn:
        at = self.first or self.second
        first, second = self.first or "nothing", self.second or "nothing"
        raise CannotImport(
            f"forward computes something else each time it is called: {first} here, and {second} "
            "the next time. A model has what Python makes in forward, such as numbers of NumPy's "
            "generators, the time or a count, as the constants of its import: draw with PyTorch, "
            "make it an input, or compute it in __init__",
            Place("", shortened(at.file), at.line),
        ) from cause


def difference(first: list[Noted], second: list[Noted]) -> Difference | None:
    for a, b in zip(first, second):
        if (a.name, a.words) != (b.name, b.words):
            return Difference(a, b)
    if len(first) == len(second):
        return None
    rest = max(first, second, key=len)[min(len(first), len(second))]
    return Difference(rest, None) if len(first) > len(second) else Difference(None, rest)
