"""Batches to predict from: what the caller leaves out, and how many samples there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy

from zero.arrays import joined, rows
from zero.batches import Flat
from zero.errors import ArgumentError

if TYPE_CHECKING:
    from zero.step import Step


class Completed:
    """A batch with all inputs, in whole micro-batches of all ranks."""

    def __init__(self, step: Step, batch: Mapping | Sequence[Mapping], names: Sequence[str]):
        self.step, self.names = step, names
        self.parts = step.form.parts(batch)

    def whole(self) -> tuple[list[Mapping[str, Any]] | Mapping, int | None]:
        """The batch, and how many of its samples count: None where all do."""
        if not self.parts:
            return self.parts, None  # which is refused where it is read
        parts = self._whole_parts([self._with_unused(part) for part in self.parts])
        group = self.step.update_samples // self.step.accumulation
        samples = sum(self._samples_of(part) for part in parts)
        if samples == 0:
            return [self._with_zeros(part, group) for part in parts], 0
        if samples % group == 0:
            return parts, None
        self._refuse_means(group)
        last, count = parts[-1], self._samples_of(parts[-1])
        # The last sample, as often as it takes to fill up the micro-batches.
        numbers = numpy.minimum(numpy.arange(count + group - samples % group), count - 1)
        filled = {
            name: rows(name, value, numbers) if self._is_of_samples(name) else value
            for name, value in last.items()
        }
        return [*parts[:-1], Flat(filled)], samples

    def _with_zeros(self, part: Mapping[str, Any], group: int) -> Mapping[str, Any]:
        """A part of no samples with some, so that names, shapes and types are looked at."""
        filled = {}
        for name, value in part.items():
            shape = numpy.shape(value)
            if self._is_of_samples(name):
                if shape[:1] != (0,):
                    raise ArgumentError(f"the batch has no samples, and '{name}' has some")
                shape = (group, *shape[1:])
                is_tensor = hasattr(value, "new_zeros")
                value = value.new_zeros(shape) if is_tensor else _zeros_of(value, shape)
            filled[name] = value
        return Flat(filled)

    def _whole_parts(self, parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The parts as they are, where all but the last are whole micro-batches of all ranks;
        otherwise one of all samples. Parts that differ in names are left to be refused."""
        group = self.step.update_samples // self.step.accumulation
        broken = any(self._samples_of(part) % group for part in parts[:-1])
        if not broken or any(part.keys() != parts[0].keys() for part in parts):
            return parts
        return [Flat({name: self._join(name, [part[name] for part in parts]) for name in parts[0]})]

    def _join(self, name: str, values: list[Any]) -> Any:
        if self._is_of_samples(name):
            return joined(name, values)
        if any(not numpy.array_equal(values[0], value, equal_nan=True) for value in values[1:]):
            raise ArgumentError(
                f"the parts of the batch differ in '{name}', which all samples of a micro-batch "
                "share, and their samples fill no micro-batches: call predict with each part"
            )
        return values[0]

    def _is_of_samples(self, name: str) -> bool:
        tensor = self.step.inputs.get(name)
        return tensor is not None and tensor.shape[:1] == (self.step.micro_batch,)

    def _samples_of(self, part: Mapping[str, Any]) -> int:
        for name in part:
            if self._is_of_samples(name) and numpy.shape(part[name]):
                return numpy.shape(part[name])[0]
        return 0

    def _with_unused(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """Zeros for inputs that no output which is asked for depends on."""
        absent = [name for name in self.step.inputs if name not in part]
        if not absent or any(name not in self.step.uses for name in self.names):
            return part
        used = set().union(*(self.step.uses[name] for name in self.names))
        samples = self._samples_of(part)
        zeros = {name: self._zeros(name, samples) for name in absent if name not in used}
        return Flat(part | zeros)

    def _zeros(self, name: str, samples: int) -> numpy.ndarray:
        tensor = self.step.inputs[name]
        kind = "float32" if "float" in tensor.dtype else tensor.dtype
        shape = (samples, *tensor.shape[1:]) if self._is_of_samples(name) else tensor.shape
        return numpy.zeros(shape, kind)

    def _refuse_means(self, group: int) -> None:
        """What has one value a micro-batch would count the samples that fill it up."""
        for name in self.names:
            if self.step.outputs[name].shape[:1] != (self.step.micro_batch,):
                raise ArgumentError(
                    f"the output '{name}' has one value for each micro-batch, wanted whole "
                    f"micro-batches: a multiple of {group} samples"
                )


def _zeros_of(value: Any, shape: tuple[int, ...]) -> numpy.ndarray:
    return numpy.zeros(shape, numpy.asarray(value).dtype)
