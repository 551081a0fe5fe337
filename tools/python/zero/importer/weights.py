"""Weights that a run has saved, back in the module that was imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import Callable, Sequence

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
    path = os.fspath(path)
    values = _of_checkpoint(path) if os.path.isdir(path) else _of_file(path)
    tensors = module_tensors(module, values)
    for name, data in tensors.items():
        wanted = list(data.shape)
        if name not in values:
            raise CannotImport(f"'{path}' has no '{name}'")
        if list(values[name].shape) != wanted:
            found = list(values[name].shape)
            raise CannotImport(f"'{path}': '{name}' is {found}, wanted {wanted}")
    with torch.no_grad():
        for name, data in tensors.items():
            data.copy_(values[name].read())


@dataclass(frozen=True)
class _Saved:
    """A tensor of a file: its shape, and a function that reads it."""

    shape: Sequence[int]
    read: Callable[[], torch.Tensor]


def _of_file(path: str) -> dict[str, _Saved]:
    try:
        open_file(path).close()
        file = safe_open(path, framework="pt")
        return {
            name: _Saved(file.get_slice(name).get_shape(), partial(file.get_tensor, name))
            for name in file.keys()
        }
    except (OSError, SafetensorError) as error:
        raise CannotImport(f"'{path}' cannot be read as safetensors: {error}") from None


def _of_checkpoint(path: str) -> dict[str, _Saved]:
    def read(saved):
        return torch.from_numpy(saved.value.read(0, saved.value.elements).reshape(saved.shape))

    return {p.name: _Saved(p.shape, partial(read, p)) for p in read_checkpoint(path).parameters}
