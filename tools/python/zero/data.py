"""Arrays of many samples, drawn as the executable draws them."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import numpy

from zero.arrays import rows
from zero.batches import Flat
from zero.errors import ArgumentError


class Shuffled:
    """The batches of `step`'s next updates, without end."""

    def __init__(self, step, data: Mapping[str, Any]):
        self.step = step
        (self.data,) = map(dict, step.form.parts(data))
        # Of its own first dimension; all samples share the others.
        shared = {
            name for name, tensor in step.inputs.items() if tensor.shape[:1] != (step.micro_batch,)
        }
        self.sampled = [name for name in self.data if name not in shared]
        sizes = {name: len(self.data[name]) for name in self.sampled}
        if len(set(sizes.values())) != 1 or 0 in sizes.values():
            listed = ", ".join(f"'{name}' {size}" for name, size in sizes.items())
            raise ArgumentError(
                "the arrays must have equal numbers of samples, at least one; "
                f"found {listed or 'none'}"
            )
        self.samples = next(iter(sizes.values()))

    def describe(self) -> None:
        """Tells the run which data it is, for its checkpoints."""
        telling = [0, (self.samples - 1) // 2, self.samples - 1]
        numbers = numpy.repeat(telling, self.step.micro_batch)
        self.step.describe_data(self._batch(numbers), self.samples)

    def _batch(self, numbers: numpy.ndarray) -> dict[str, Any]:
        batch = Flat(self.data)
        for name in self.sampled:
            batch[name] = rows(name, self.data[name], numbers)
        return batch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        step = self.step
        while True:
            _, first = step.position()
            yield self._batch(step.order(self.samples, first, step.update_samples))


def refuse_short_batch(loader: Any, updates: int) -> None:
    """Raises ArgumentError, before the first of as many updates, where the last batch of a
    PyTorch `DataLoader` would have fewer samples than the others. Of other iterables nobody
    knows."""
    size, drops = getattr(loader, "batch_size", None), getattr(loader, "drop_last", None)
    try:
        samples, batches = len(loader.sampler), len(loader)
    except (AttributeError, TypeError):
        return
    is_reached = 1 < batches <= updates
    if drops is False and isinstance(size, int) and is_reached and samples % size:
        raise ArgumentError(
            f"the DataLoader's last batch has {samples % size} of its {size} samples, and all "
            "updates take as many: make it with drop_last=True"
        )
