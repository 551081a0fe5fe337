"""Weights that a run has saved, back in the module that was imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Callable, Mapping, Sequence

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from zero.checkpoints import read_checkpoint
from zero.files import open_file
from zero.importer.errors import CannotImport
from zero.importer.parameters import check_memory, module_tensors, plain_name
from zero.memory import meets_itself


def load_weights(module: nn.Module, path: str | os.PathLike) -> None:
    """Copies the weights that a run has saved, and the running statistics that it has
    tracked, into the module that `export` imported, tied parameters once. `path` is a
    file of `--save-weights`, or a folder of `--checkpoint`, of which the newest
    checkpoint is read.

    The file may have other names in it, too. Raises CannotImport or CheckpointError
    where it cannot be read, and CannotImport where a parameter is missing or has another
    shape; the module is then as it was.
    """
    fill(module, f"'{os.fspath(path)}'", saved_at(path))


def saved_at(path: str | os.PathLike) -> dict[str, Saved]:
    path = os.fspath(path)
    return _of_checkpoint(path) if os.path.isdir(path) else _of_file(path)


def fill(
    module: nn.Module,
    source: str,
    values: Mapping[str, Saved],
    dtype: torch.dtype | None = None,
) -> None:
    """Copies the values into the parameters of the module, and into the buffers that are
    among them, all in `dtype` where one is given. Raises CannotImport as `load_weights`, and
    where what is finite would be infinite in 16 bits."""
    values = _by_names_of(module, values)
    tensors = module_tensors(module, values)
    for name, data in tensors.items():
        wanted = list(data.shape)
        if name not in values:
            raise CannotImport(f"{source} has no '{name}'")
        if list(values[name].shape) != wanted:
            found = list(values[name].shape)
            raise CannotImport(f"{source}: '{name}' is {found}, wanted {wanted}")
        _check_writable(name, data)
    for name, data in tensors.items():
        if data.is_floating_point() and (dtype or data.dtype) == torch.float16:
            _check_range(name, values[name].read(), torch.float16)
    if dtype:
        tensors = module_tensors(module.to(dtype), values)
    with torch.no_grad():
        for name, data in tensors.items():
            # What inference mode has made is written in it alone.
            with torch.inference_mode(data.is_inference()):
                data.copy_(values[name].read())


def _by_names_of(module: nn.Module, values: Mapping[str, Saved]) -> Mapping[str, Saved]:
    """The values by the names that the module has them under: torch.compile and wrappers such
    as DataParallel put a part before those of what they wrap. One rule is for all."""
    parameters = {name for name, _ in module.named_parameters()}  # a tied one by its first name
    if parameters <= values.keys():
        return values
    names = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    names |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    given = {plain_name(name): name for name in values}
    for ours, theirs in ((0, 0), (0, 1), (1, 0)) if len(given) == len(values) else ():
        wanted = {name: given.get(_behind(plain_name(name), ours, theirs)) for name in names}
        found = {name: values[other] for name, other in wanted.items() if other is not None}
        if parameters <= found.keys():
            used = set(wanted.values())
            return {**{name: v for name, v in values.items() if name not in used}, **found}
    return values


def _behind(name: str, ours: int, theirs: int) -> str | None:
    """The name with `theirs` parts before it instead of `ours`."""
    prefix = "module." * ours
    return "module." * theirs + name[len(prefix) :] if name.startswith(prefix) else None


def _check_writable(name: str, data: torch.Tensor) -> None:
    """Raises CannotImport where no values can be written to it."""
    check_memory(name, data)
    if data.is_meta or isinstance(data, FakeTensor):
        kind = "on the meta device" if data.is_meta else "a FakeTensor"
        raise CannotImport(
            f"'{name}' of the module is {kind} and takes no values: call "
            "module.to_empty(device='cpu')"
        )
    if meets_itself(data):
        raise CannotImport(
            f"elements of '{name}' of the module, of strides {list(data.stride())}, share memory, "
            "where no values can be written: make it of value.clone()"
        )


def _check_range(name: str, value: torch.Tensor, dtype: torch.dtype) -> None:
    if (value.to(dtype).isinf() & ~value.isinf()).any():
        raise CannotImport(
            f"'{name}' has a finite value that is too large for {dtype}: write bf16 or f32"
        )


@dataclass(frozen=True)
class Saved:
    """A tensor of a run: its shape, and a function that reads it."""

    shape: Sequence[int]
    read: Callable[[], torch.Tensor]


def of_step(step) -> dict[str, Saved]:
    def read(name):
        return torch.from_numpy(step.parameter(name))

    return {name: Saved(p.shape, partial(read, name)) for name, p in step.parameters.items()}


def _of_file(path: str) -> dict[str, Saved]:
    try:
        open_file(path).close()
        file = safe_open(path, framework="pt")
        return {
            name: Saved(file.get_slice(name).get_shape(), partial(file.get_tensor, name))
            for name in file.keys()
        }
    except (OSError, SafetensorError) as error:
        raise CannotImport(f"'{path}' cannot be read as safetensors: {error}") from None


def _of_checkpoint(path: str) -> dict[str, Saved]:
    def read(saved):
        return torch.from_numpy(saved.value.read(0, saved.value.elements).reshape(saved.shape))

    return {p.name: Saved(p.shape, partial(read, p)) for p in read_checkpoint(path).parameters}
