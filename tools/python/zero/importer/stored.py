"""What a file of the module's weights may have besides its parameters."""

from __future__ import annotations

from typing import Iterable

import torch
from torch import nn

from zero.checkpoints.digest import digest_of
from zero.importer.parameters import Parameters
from zero.importer.text import quoted, symbol


def stored_tensors(module: nn.Module, parameters: Parameters, unread: Iterable[str]) -> list[str]:
    """Declarations of further names of parameters, and of the buffers that the module
    saves: their values are constants of the step, but for those that are `unread`."""
    lines = [
        f"zero.stored_tensor {quoted(name)} of {symbol(parameter.name)}"
        for name, parameter in parameters.by_name.items()
        if name != parameter.name
    ]
    unread = set(unread)
    for name, value in saved_buffers(module).items():
        if name in parameters.by_name:
            continue
        digest = "" if name in unread else f' digest "{digest_of(bytes_of(value))}"'
        lines.append(f"zero.stored_tensor {quoted(name)}{digest}")
    return lines


def saved_buffers(module: nn.Module) -> dict[str, torch.Tensor]:
    """The persistent buffers that safetensors files can have, with their values."""
    found = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for leaf, value in part._buffers.items():
            is_saved = value is not None and leaf not in part._non_persistent_buffers_set
            if is_saved and value.layout == torch.strided and not value.is_meta:
                found[f"{path}.{leaf}" if path else leaf] = value
    return found


def bytes_of(value: torch.Tensor) -> bytes:
    return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
