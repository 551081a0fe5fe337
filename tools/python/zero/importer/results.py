"""The loss and the named tensors in what forward returns."""

from __future__ import annotations

from typing import Any

import torch

from zero.importer.errors import CannotImport


def loss_of(result: Any) -> torch.Tensor:
    """The tensor itself, `.loss`, the item "loss", or the one scalar of a tuple or list."""
    loss = named(result, "loss")
    if isinstance(result, torch.Tensor):
        loss = result
    elif loss is None and isinstance(result, (tuple, list)):
        loss = _scalar_of(result)
    if not isinstance(loss, torch.Tensor):
        raise CannotImport(
            f"forward(**batch) returns a {type(result).__name__} without a loss: "
            "return the loss as a tensor, or an output with `.loss`; a Hugging Face "
            "model wants `labels` in the batch"
        )
    return loss


def output_of(result: Any, name: str) -> torch.Tensor:
    value = named(result, name)
    if isinstance(value, torch.Tensor):
        return value
    if type(result) in (tuple, list):
        raise CannotImport(
            f"forward returns a {type(result).__name__}, whose tensors have no names, and the "
            f"output '{name}' is asked for: return a dictionary, as in "
            f"{{'loss': loss, '{name}': {name}}}"
        )
    raise CannotImport(f"the model's output has no tensor '{name}'")


def named(result: Any, name: str) -> Any:
    """What an output has under the name, or None."""
    return result.get(name) if isinstance(result, dict) else getattr(result, name, None)


def _scalar_of(result: tuple | list) -> torch.Tensor | None:
    """As in `return logits, loss`."""
    scalars = [
        value
        for value in result
        if isinstance(value, torch.Tensor) and value.dim() == 0 and value.is_floating_point()
    ]
    if len(scalars) > 1:
        raise CannotImport(
            f"forward(**batch) returns a {type(result).__name__} with {len(scalars)} scalars, and "
            "one of them is the loss: return a dictionary with the item 'loss'"
        )
    return scalars[0] if scalars else None
