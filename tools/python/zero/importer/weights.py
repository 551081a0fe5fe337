"""Weights that a run has saved, back in the module that was imported."""

from __future__ import annotations

import os

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from zero.checkpoints import read_checkpoint
from zero.importer.errors import CannotImport
from zero.importer.parameters import Parameters


def load_weights(module: nn.Module, path: str | os.PathLike) -> None:
    """Copies the weights that a run has saved into the module that `export` imported,
    tied parameters once: a file of `--save-weights`, or a folder of `--checkpoint`, of
    which the newest checkpoint is read.

    The file may have other names in it, too. Raises CannotImport or CheckpointError
    where it cannot be read, and CannotImport where a parameter is missing or has another
    shape; the module is then as it was.
    """
    path = os.fspath(path)
    parameters = Parameters(module).all()
    if os.path.isdir(path):
        values = _of_checkpoint(path)
    else:
        values = _of_file(path, {parameter.name for parameter in parameters})
    for parameter in parameters:
        wanted = list(parameter.data.shape)
        if parameter.name not in values:
            raise CannotImport(f"'{path}' has no '{parameter.name}'")
        if list(values[parameter.name].shape) != wanted:
            found = list(values[parameter.name].shape)
            raise CannotImport(f"'{path}': '{parameter.name}' is {found}, wanted {wanted}")
    with torch.no_grad():
        for parameter in parameters:
            parameter.data.copy_(values[parameter.name])


def _of_file(path: str, wanted: set[str]) -> dict[str, torch.Tensor]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys() if name in wanted}
    except (OSError, SafetensorError) as error:
        raise CannotImport(f"'{path}' cannot be read as safetensors: {error}") from None


def _of_checkpoint(path: str) -> dict[str, torch.Tensor]:
    return {
        p.name: torch.from_numpy(p.value.read(0, p.value.elements).reshape(p.shape))
        for p in read_checkpoint(path).parameters
    }
