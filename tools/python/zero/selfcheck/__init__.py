"""The self-check: two updates of a module in PyTorch beside the imported model.

`check` compares losses, outputs, gradients, and the parameters and buffers after them, on
one rank, in f32, by plain SGD. Dropout keeps everything in both.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Sequence

import torch
from torch import nn

from zero.errors import Error
from zero.importer.errors import CannotImport, Place
from zero.importer.model import Model, export
from zero.importer.parameters import module_tensors
from zero.selfcheck.compiled import run_compiled
from zero.selfcheck.differences import Pair, differences, pairs
from zero.selfcheck.errors import CannotCheck
from zero.selfcheck.evaluation import evaluates_alike, evaluation_differences
from zero.selfcheck.places import first_module
from zero.selfcheck.reference import (
    ROUNDING,
    Batch,
    Reference,
    clones,
    copy_of,
    move,
    run_reference,
)

# What is small: about a second of the check. The product stands for the work of an update.
PARAMETERS, OPERATIONS, PRODUCT = 1_000_000, 1_500, 1_000_000_000

DIFFERS = "the imported model differs from PyTorch"


def check(module: nn.Module, batch: Batch, *, outputs: Sequence[str] = ()) -> str:
    """Imports the module and compares it with PyTorch, whatever its size. Returns what was
    compared; raises CannotImport where something differs or cannot be compared. The module
    and the random numbers of the caller stay as they are."""
    return check_model(module, batch, export(module, batch, outputs=outputs), outputs)


def check_if_small(module: nn.Module, batch: Batch, model: Model, outputs: Sequence[str]) -> str:
    """Compares a model of small size, and returns what was compared, or why nothing was. A
    small one that cannot be compared is a warning."""
    reason = too_large(model, batch)
    if reason:
        return f"not compared with PyTorch: {reason}"
    try:
        return compare(module, batch, model, tuple(outputs))
    except CannotCheck as error:
        text = f"not compared with PyTorch: {error}"
        warnings.warn(f"the imported model was {text}", stacklevel=4)
        return text


def check_model(module: nn.Module, batch: Batch, model: Model, outputs: Sequence[str]) -> str:
    """The same of a model of any size, where to compare nothing is an error."""
    try:
        return compare(module, batch, model, tuple(outputs))
    except CannotCheck as error:
        text = f"the imported model cannot be compared with PyTorch: {error}"
        raise CannotImport(text) from None


def too_large(model: Model, batch: Batch) -> str:
    parameters = sum(value.numel() for value in model.parameters.values())
    if parameters > PARAMETERS:
        return f"it has {parameters} parameters, more than {PARAMETERS}"
    elements = sum(value.numel() for value in batch.values() if isinstance(value, torch.Tensor))
    if parameters * elements > PRODUCT:
        return (
            f"its {parameters} parameters and the batch's {elements} elements have a product "
            f"above {PRODUCT}"
        )
    operations = sum(" = " in line for line in model.text.splitlines())
    if operations > OPERATIONS:
        return f"it has {operations} operations, more than {OPERATIONS}"
    return ""


# Copies have gradients, whatever the caller's mode is.
@torch.inference_mode(False)
def compare(module: nn.Module, batch: Batch, model: Model, outputs: tuple[str, ...]) -> str:
    if any(value.is_meta for value in model.parameters.values()):
        raise CannotCheck("its parameters are on the meta device and have no values")
    batches = batches_of(batch)
    every, found, reference = two_updates(module, model, batches, outputs)
    if found and differs_nearby(module, model, batches, outputs):
        place = first_module(module, batches, reference.rate, found, export)
        raise CannotImport(description(found[0], place), Place(place) if place else None)
    return summary(every) + compare_evaluation(module, model, batches[0], reference, outputs)


def compare_evaluation(
    module: nn.Module, model: Model, batch: Batch, after: Reference, outputs: tuple[str, ...]
) -> str:
    """What the summary says about it."""
    if evaluates_alike(model):
        return ""
    try:
        found = evaluation_differences(module, model, batch, after, outputs)
    except CannotCheck as error:
        return f"; an evaluation was not compared: {error}"
    if not found:
        return "; an evaluation is PyTorch's"
    text = f"{found[0].what} of an evaluation {found[0].values()}"
    warnings.warn(
        f"{DIFFERS}'s module in eval mode: {text}. Training is PyTorch's: evaluate with "
        "PyTorch, by the weights of load_into, and report it",
        stacklevel=6,
    )
    return f"; an evaluation is not: {text}"


def two_updates(
    module: nn.Module, model: Model, batches: list[Batch], outputs: tuple[str, ...]
) -> tuple[list[Pair], list[Pair], Reference]:
    """(all that is compared, what differs, PyTorch's updates)"""
    reference = run_reference(module, batches, outputs)
    try:
        run = run_compiled(model, batches, reference.rate, outputs)
    except Error as error:
        raise CannotCheck(f"zero cannot run it in f32 on one rank: {error}") from error
    buffers = {name for name, _ in module.named_buffers(remove_duplicate=False)}
    run.after |= {name: run.after[model.aliases[name]] for name in buffers & {*model.aliases}}
    every = list(pairs(reference, run, buffers))

    def exact(seed: int | None) -> list[Pair]:
        prepare = None if seed is None else partial(move, part=ROUNDING, seed=seed)
        precise = run_reference(
            module, batches, outputs, rate=reference.rate, double=True, prepare=prepare
        )
        return list(pairs(precise, run, buffers))

    return every, differences(every, exact), reference


def differs_nearby(
    module: nn.Module, model: Model, batches: list[Batch], outputs: tuple[str, ...]
) -> bool:
    """Whether something differs at other weights, too. Where an activation is so near to 0,
    or two values to each other, that rounding decides on a gradient, nothing does."""
    moved = copy_of(module)
    move(moved, part=0.01, seed=0)
    parameters = dict(model.parameters) | module_tensors(moved, model.parameters)
    other = Model(model.text, model.inputs, parameters, model.aliases)
    try:
        return bool(two_updates(moved, other, batches, outputs)[1])
    except CannotCheck:
        return True


def batches_of(batch: Batch) -> list[Batch]:
    """Those of the two updates: the second has the samples in another order."""
    first = varied(clones(batch))
    tensors = [value for value in first.values() if isinstance(value, torch.Tensor)]
    samples = tensors[0].shape[:1] if tensors else ()
    second = {
        name: value.roll(1, 0)
        if isinstance(value, torch.Tensor) and samples and value.shape[:1] == samples
        else value
        for name, value in first.items()
    }
    return [first, second]


def varied(batch: Batch) -> Batch:
    """The batch with small floats where a tensor is all zeros, as in an example that only
    fixes shapes: weights that zeros are multiplied by have no gradient."""
    generator = torch.Generator().manual_seed(0)
    result = dict(batch)
    for name, value in batch.items():
        if isinstance(value, torch.Tensor) and value.is_floating_point() and not value.any():
            noise = torch.randn(value.shape, generator=generator)
            result[name] = (0.01 * noise).to(value.dtype)
    return result


def description(pair: Pair, place: str) -> str:
    text = f"{DIFFERS}: {pair} {pair.values()}"
    if place:
        text += f"; '{place}' is the first module whose output or gradient differs"
    return (
        f"{text}. Training would go another way: write in another form what this module "
        "computes, or report it; check=False compiles the model as it was imported"
    )


def summary(every: list[Pair]) -> str:
    counts: dict[str, int] = {}
    for pair in every:
        if pair.update == every[-1].update and pair.kind != "loss":
            counts[pair.kind] = counts.get(pair.kind, 0) + 1
    parts = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    return f"2 updates are PyTorch's: the losses, {', '.join(parts)}"
