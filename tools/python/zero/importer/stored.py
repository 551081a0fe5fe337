"""What a file of the module's weights may have besides its parameters."""

from __future__ import annotations

from typing import Iterable, Mapping

import torch
from torch import nn

from zero.arrays import bytes_of
from zero.checkpoints.digest import digest_of
from zero.importer.parameters import Parameters
from zero.importer.text import quoted, symbol


def stored_tensors(parameters: Parameters, buffers: Mapping[str, str | None]) -> list[str]:
    """Declarations of further names of parameters, and of `stored_buffers`."""
    lines = [
        f"zero.stored_tensor {quoted(name)} of {symbol(parameter.name)}"
        for name, parameter in parameters.by_name.items()
        if name != parameter.name
    ]
    for name, digest in buffers.items():
        wanted = "" if digest is None else f' digest "{digest}"'
        lines.append(f"zero.stored_tensor {quoted(name)}{wanted}")
    return lines


def stored_buffers(
    module: nn.Module, parameters: Parameters, unread: Iterable[str]
) -> dict[str, str | None]:
    """The digests of the buffers that the module saves, which are constants of the step;
    None for those that are `unread`, which may have any values."""
    unread = set(unread)
    return {
        name: None if name in unread else digest_of(bytes_of(value))
        for name, value in saved_buffers(module).items()
        if name not in parameters.by_name
    }


def saved_buffers(module: nn.Module) -> dict[str, torch.Tensor]:
    """The persistent buffers that safetensors files can have, with their values."""
    found = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for leaf, value in part._buffers.items():
            is_saved = value is not None and leaf not in part._non_persistent_buffers_set
            if is_saved and value.layout == torch.strided and not value.is_meta:
                found[f"{path}.{leaf}" if path else leaf] = value
    return found
