"""The same updates by a model that zero has compiled."""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
from torch.utils import _pytree as pytree

from zero.importer.model import Model
from zero.selfcheck.draws import with_known_draws, with_known_numbers
from zero.selfcheck.errors import CannotCheck
from zero.selfcheck.reference import Batch, Update


@dataclass
class Run:
    """What zero computes. Gradients and `after` are of the model's parameters."""

    updates: list[Update] = field(default_factory=list)
    after: dict[str, torch.Tensor] = field(default_factory=dict)


def with_text(model: Model, text: str) -> Model:
    return Model(text, model.inputs, model.parameters, model.aliases)


def start(model: Model, rate: float):
    """A run on one rank in f32 by plain SGD, without clipping."""
    return started(with_text(model, with_known_draws(model.text)), rate)


def started(model: Model, rate: float):
    from zero.compiler import compile

    optimizer = {"type": "SGD", "params": {"lr": rate, "momentum": 0.0, "weight_decay": 0.0}}
    config = {"optimizer": optimizer, "gradient_clipping": 0.0}
    with unsaid():
        return compile(model, config=config, ranks=1, stage=0, options=["--target=host"])


@contextlib.contextmanager
def unsaid() -> Iterator[None]:
    """Keeps the compiler's remarks back, which the caller's own compilation makes."""
    logger, thread = logging.getLogger("zero"), threading.get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


def inputs_of(model: Model, batch: Batch) -> Batch:
    """The batch's tensors under the names of the model's inputs."""
    leaves = [leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, torch.Tensor)]
    if len(leaves) != len(model.inputs):
        raise CannotCheck("the batch has other tensors than the model has inputs")
    return {
        name: batch[name] if isinstance(batch.get(name), torch.Tensor) else leaf
        for name, leaf in zip(model.inputs, leaves)
    }


def run_compiled(model: Model, batches: list[Batch], rate: float, outputs: tuple = ()) -> Run:
    """An update for each batch."""
    result = Run()
    with start(model, rate) as step:
        for batch in batches:
            arrays = inputs_of(model, batch)
            named = predicted(step, arrays, outputs)
            step.backward(arrays)
            trained = [name for name, tensor in step.parameters.items() if tensor.trainable]
            gradients = {name: torch.from_numpy(step.gradient(name)) for name in trained}
            result.updates.append(Update(step.update(), named, gradients))
        result.after = {n: torch.from_numpy(step.parameter(n)) for n in step.parameters}
    return result


def evaluate_compiled(model: Model, batch: Batch, outputs: tuple[str, ...]) -> Update:
    """The loss and the outputs of an evaluation."""
    with started(with_text(model, with_known_numbers(model.text)), 0.0) as step:
        arrays = inputs_of(model, batch)
        return Update(step.evaluate(arrays), predicted(step, arrays, outputs), {})


def predicted(step: Any, arrays: Batch, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    if not names:
        return {}
    values = step.predict(arrays, list(names))
    shapes = {name: step.outputs[name].shape for name in names}
    return {name: torch.from_numpy(values[name]).reshape(shapes[name]) for name in names}
