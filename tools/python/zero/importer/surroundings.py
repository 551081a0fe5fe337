"""What a module is imported in, which may be no part of a model."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from zero.importer.captured import Captured, needed
from zero.importer.errors import CannotImport
from zero.importer.parameters import Parameters
from zero.importer.state import State, items_of, joined
from zero.memory import Occupied

# What autocast may be on for.
DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu")


def refuse_modes(module: nn.Module) -> None:
    """Refuses what changes what all of PyTorch computes."""
    for device in DEVICES:
        if torch.is_autocast_enabled(device):
            raise CannotImport(
                f"autocast is on for {device}, and a model has no precision of its own: import it "
                "outside of autocast, and set `bf16` or `fp16` in the configuration"
            )
    if any(isinstance(mode, FakeTensorMode) for mode in _get_current_dispatch_mode_stack()):
        raise CannotImport(
            "a FakeTensorMode is active, in which nothing has values: import outside of it"
        )
    on_meta = any(parameter.is_meta for parameter in module.parameters())
    if torch.get_default_device().type == "meta" and not on_meta:
        raise CannotImport(
            "the default device is meta, on which what forward makes has no values: import outside "
            "of torch.device('meta'), or set another one with torch.set_default_device"
        )


@contextlib.contextmanager
def idle_autocast_passed() -> Iterator[None]:
    """`autocast(enabled=False)` in forward does nothing: outside of it is none either."""
    kind = torch.autocast
    enter, leave = kind.__enter__, kind.__exit__

    def entered(self: torch.autocast) -> Any:
        return enter(self) if self._enabled else self

    def left(self: torch.autocast, *error: Any) -> Any:
        return leave(self, *error) if self._enabled else False

    kind.__enter__, kind.__exit__ = entered, left
    try:
        yield
    finally:
        kind.__enter__, kind.__exit__ = enter, leave


@contextlib.contextmanager
def default_type_told() -> Iterator[None]:
    """Has a refusal say what type forward makes its tensors of, where that is no f32."""
    try:
        yield
    except CannotImport as error:
        kind = torch.get_default_dtype()
        if kind == torch.float32:
            raise
        raise CannotImport(
            f"{error}. What forward makes is {kind}, the default dtype, and parameters are f32: "
            "import with torch.set_default_dtype(torch.float32)"
        ) from error


def refuse_kinds(module: Any) -> None:
    """Refuses what has no forward that can be traced."""
    if isinstance(module, torch.jit.ScriptModule):
        raise CannotImport(
            "the module is one of TorchScript, whose code is not Python's: import the module that "
            "torch.jit.script or torch.jit.trace was given"
        )
    if not isinstance(module, nn.Module):
        raise CannotImport(f"found a {type(module).__name__}, wanted a torch.nn.Module")


def refuse_shared_memory(module: nn.Module, parameters: Parameters, captured: Captured) -> None:
    """Refuses constants that an update would change, as they are the memory of what is
    trained: forward reaches it by another name than the module's."""
    trained = Occupied()
    for parameter in parameters.all():
        if not parameter.frozen:
            trained.add(parameter.name, parameter.data)
    live = needed(captured.results)
    for node, value in captured.constants.items():
        name = None
        if node in live and isinstance(value, torch.Tensor):
            name = trained.name_at(value)
        if name:
            buffer = captured.buffers.get(node)
            path = next(paths_of(module, value), "") if buffer is None else buffer
            kind = "the tensor" if buffer is None else "the buffer"
            what = f"{kind} '{path}'" if path else "a tensor that forward keeps"
            raise CannotImport(
                f"{what} shares the memory of '{name}', which training changes, and would be a "
                f"constant of the model: have forward use '{name}' of the module itself, or give "
                "it memory of its own with clone()"
            )


def paths_of(module: nn.Module, tensor: torch.Tensor) -> Iterator[str]:
    """How forward may reach the memory of a tensor, beside what the module registers."""
    memory = Occupied()
    memory.add("", tensor)
    for cell in State(module).cells:
        if cell.registered:
            continue
        for key, item in items_of(cell.container.read()):
            if isinstance(item, torch.Tensor) and memory.name_at(item) is not None:
                yield joined(cell.path, key)
