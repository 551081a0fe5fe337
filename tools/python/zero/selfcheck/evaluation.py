"""An evaluation of a module in PyTorch beside one of the imported model."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from zero.errors import Error
from zero.importer.model import Model
from zero.selfcheck.compiled import evaluate_compiled
from zero.selfcheck.differences import Pair, differences
from zero.selfcheck.errors import CannotCheck
from zero.selfcheck.reference import (
    ROUNDING,
    Batch,
    Reference,
    Update,
    evaluate_reference,
    move,
)


def evaluates_alike(model: Model) -> bool:
    """Whether evaluations are training without dropout, which needs no comparison."""
    return " zero.select_mode " not in model.text


def evaluation_differences(
    module: nn.Module, model: Model, batch: Batch, after: Reference, outputs: tuple[str, ...]
) -> list[Pair]:
    """What differs, by the weights and statistics that the updates left. Raises
    CannotCheck."""
    if model.remark:
        raise CannotCheck(model.remark)
    state = {name: value for name, value in after.after.items() if name in model.parameters}
    given = Model(model.text, model.inputs, model.parameters | state, model.aliases)
    try:
        found = evaluate_compiled(given, batch, outputs)
    except Error as error:
        raise CannotCheck(f"its evaluation by zero ends with an error: {error}") from error
    evaluate = partial(evaluate_reference, module, batch, after.after, outputs)

    def exact(seed: int | None) -> list[Pair]:
        prepare = None if seed is None else partial(move, part=ROUNDING, seed=seed)
        return pairs(evaluate(double=True, prepare=prepare), found)

    return differences(pairs(evaluate(), found), exact)


def pairs(wanted: Update, found: Update) -> list[Pair]:
    loss = Pair(0, "loss", "", torch.tensor(wanted.loss), torch.tensor(found.loss))
    outputs = wanted.outputs.items()
    return [loss, *(Pair(0, "output", name, v, found.outputs[name]) for name, v in outputs)]
