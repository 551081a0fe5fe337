"""The models by name, and what all of them use."""

from __future__ import annotations

from typing import Callable

import torch
from torch import nn

MODELS: dict[str, Callable] = {}
TRAINED: set[str] = set()


def model(function: Callable) -> Callable:
    """Registers a function that returns (module, batch)."""
    MODELS[function.__name__] = function
    return function


def trained(function: Callable) -> Callable:
    """The same for a module that is compared in train mode."""
    TRAINED.add(function.__name__)
    return model(function)


VOCABULARY, BATCH, LENGTH = 128, 2, 16


def tokens(high: int = VOCABULARY, shape: tuple[int, ...] = (BATCH, LENGTH)) -> torch.Tensor:
    return torch.randint(1, high, shape)


def randomized(module: nn.Module) -> nn.Module:
    """Weights that no gradient vanishes at: biases are not 0, norms not 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return module
