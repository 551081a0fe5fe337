"""Weights that a run has saved, back in the module that was imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Callable, Mapping, Sequence

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from zero.checkpoints import read_checkpoint
from zero.files import open_file
from zero.importer.errors import CannotImport
from zero.importer.parameters import module_tensors


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
    tensors = module_tensors(module, values)
    for name, data in tensors.items():
        wanted = list(data.shape)
        if name not in values:
            raise CannotImport(f"{source} has no '{name}'")
        if list(values[name].shape) != wanted:
            found = list(values[name].shape)
            raise CannotImport(f"{source}: '{name}' is {found}, wanted {wanted}")
    for name, data in tensors.items():
        if data.is_floating_point() and (dtype or data.dtype) == torch.float16:
            _check_range(name, values[name].read(), torch.float16)
    if dtype:
        tensors = module_tensors(module.to(dtype), values)
    with torch.no_grad():
        for name, data in tensors.items():
            data.copy_(values[name].read())


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
