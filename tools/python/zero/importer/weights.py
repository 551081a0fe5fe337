"""Weights that a run has saved, back in the module that was imported."""

from __future__ import annotations

import os

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from zero.importer.errors import CannotImport
from zero.importer.parameters import Parameters


def load_weights(module: nn.Module, path: str | os.PathLike) -> None:
    """Copies the weights that an executable saved with `--save-weights` into the
    module that `export` imported, tied parameters once.

    The file may have other names in it, too. Raises CannotImport where it cannot be
    read, and where a parameter is missing or has another shape; the module is then
    as it was.
    """
    path = os.fspath(path)
    parameters = Parameters(module).all()
    try:
        with safe_open(path, framework="pt") as file:
            names = set(file.keys())
            values = {p.name: file.get_tensor(p.name) for p in parameters if p.name in names}
    except (OSError, SafetensorError) as error:
        raise CannotImport(f"'{path}' cannot be read as safetensors: {error}") from None
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
