"""The module in eval mode, where it may compute something else than in train mode."""

from __future__ import annotations

from typing import Any

from torch import nn

from zero.importer.capture import capture
from zero.importer.captured import Captured, needed
from zero.importer.errors import CannotImport
from zero.importer.ir import Value
from zero.importer.modes import changes_by_call, draws, evaluating, is_trained
from zero.importer.places import shortened
from zero.importer.recognize import simplify
from zero.importer.step import StepWriter


class Evaluated:
    """A second trace, beside that of training. Where one is wanted and cannot be made,
    `remark` says why, and what evaluations compute instead."""

    def __init__(
        self, module: nn.Module, batch: dict[str, Any], outputs: tuple[str, ...], training: Captured
    ):
        self.captured: Captured | None = None
        self.differs = False
        self.remark = ""
        self.place = shortened(training.modes[0]) if training.modes else ""
        if not is_trained(module) or not (training.modes or draws(training)):
            return
        path = changes_by_call(module)
        if path:
            self.remark = (
                f"'{path}' has a train() or eval() of its own, which is not called: evaluations "
                "are those of the module with training=False in all of its parts"
            )
        try:
            with evaluating(module):
                # What training draws may be dropout, which is no call of its own.
                other = None if draws(training) else training
                self.captured = capture(module, batch, outputs, other)
            if self.captured:
                share_averages(module, training, self.captured)
                simplify(self.captured)
        except CannotImport as error:
            self._is_none(error)

    def added(self, writer: StepWriter, results: list[Value]) -> list[Value]:
        """The results of the step with those of an evaluation."""
        if self.captured is None:
            return results
        try:
            found = writer.convert_evaluation(results, self.captured)
            self.differs = any(a is not b for a, b in zip(results, found))
            return found
        except CannotImport as error:
            self._is_none(error)
            return results

    def _is_none(self, error: CannotImport) -> None:
        self.captured = None
        where = f"{self.place} asks for `training`, and " if self.place else ""
        self.remark = (
            f"{where}the module in eval mode cannot be imported: {error}. Evaluations and "
            "predictions compute what training does, without dropout"
        )


def share_averages(module: nn.Module, training: Captured, evaluated: Captured) -> None:
    """What training tracks is no constant of an evaluation, and what an evaluation reads is
    read."""
    live = needed(evaluated.results)
    training.unread -= {name for node, name in evaluated.buffers.items() if node in live}
    tensors = dict(module.named_buffers(remove_duplicate=False))
    tracked = {id(tensors[average.name]): average for average in training.averages.values()}
    for node, name in evaluated.buffers.items():
        if id(tensors[name]) in tracked:
            del evaluated.constants[node]
            evaluated.averages[node] = tracked[id(tensors[name])]
