"""Checkpoints of torch.distributed.checkpoint (DCP)."""

from __future__ import annotations

import io
import math
import os
from typing import Any, Sequence

from zero.checkpoints.archive import Stored, load
from zero.checkpoints.errors import CheckpointError, reading
from zero.checkpoints.keys import sort_keys
from zero.checkpoints.run import (
    SavedParameter,
    SavedRun,
    common_step,
    complete_states,
    number,
)
from zero.checkpoints.unpickler import Unpickler
from zero.checkpoints.values import Boxes, Values, equal
from zero.files import open_file

METADATA = ".metadata"


def read_distributed(folder: str, parts: Sequence[str] = ("",)) -> SavedRun:
    """A checkpoint of a model, and of its optimizer where it was saved, too, with the
    names of `torch.distributed.checkpoint.state_dict`. `parts` are the folders in `folder`
    that have one each, of different dictionaries."""
    reader = _Readers(folder, [_Reader(os.path.join(folder, part)) for part in parts])
    with reading(os.path.join(folder, parts[0], METADATA)):
        keys = sort_keys(reader.tensors, reader.paths, reader.may_be_parameter, folder)
        run = _put_together(reader, keys.states, keys.weights)
    run.remarks += [*keys.remarks, "it does not say which data were read: they begin again"]
    return run


def _put_together(reader: _Readers, states, weights) -> SavedRun:
    steps, parameters, aliases, remarks = [], [], {}, []
    # Trained ones first, so that further names of theirs are known as such.
    for key, name in sorted(weights.items(), key=lambda item: item[1] not in states):
        if not reader.is_float(key):
            remarks.append(f"'{name}' has no floating-point elements: it is no parameter")
            continue
        shape, value = reader.shape_of(key), reader.values(key)
        kept = {}
        for state, place in states.get(name, {}).items():
            if state == "step":
                steps.append((name, number(reader.single(place), "step", reader.folder)))
            elif reader.is_float(place):
                kept[state] = reader.values(place)
            else:
                raise CheckpointError(
                    f"{reader.folder}: '{place}' has no floating-point elements: states of such "
                    "an optimizer are not read; take its weights from a checkpoint without them"
                )
        if name not in states:
            same = [p for p in parameters if p.shape == shape and equal(p.value, value)]
            if same and states and same[0].trainable:
                aliases[name] = same[0].name
                continue
        trainable = name in states or not states
        parameters.append(SavedParameter(name, shape, value, trainable, kept))
    order = list(weights.values())
    parameters.sort(key=lambda parameter: order.index(parameter.name))
    remarks += complete_states(parameters, ())
    if not states:
        remarks.append("it has no states of an optimizer")
    done = common_step(steps, reader.folder)
    if states and done is None:
        remarks.append(
            "it does not say how many updates were made: their number, and the schedule of the "
            "learning rate, begin again"
        )
    return SavedRun("PyTorch DCP", parameters, steps=done or 0, aliases=aliases, remarks=remarks)


class _Reader:
    """The tensors of a checkpoint, by name."""

    def __init__(self, folder: str):
        self.folder = folder
        path = os.path.join(folder, METADATA)
        with reading(path), open_file(path) as file:
            text = file.read()

        def none(*_):
            raise CheckpointError(f"{path}: has tensors in it, wanted names and places only")

        metadata = Unpickler(io.BytesIO(text), path, none, none).load_checked()
        with reading(path):
            found = metadata.state_dict_metadata
            self.tensors = {key: value for key, value in found.items() if hasattr(value, "chunks")}
            # The keys of the nested dictionaries that each key was in.
            nested = metadata.planner_data or {}
            self.paths = {key: tuple(str(part) for part in nested.get(key, ())) for key in found}
            self.chunks: dict[tuple[str, int], tuple[str, tuple[int, ...]]] = {}
            self.places = {
                (index.fqn, getattr(index, "offset", None)): place
                for index, place in metadata.storage_data.items()
            }

    def shape_of(self, key: str) -> tuple[int, ...]:
        return tuple(self.tensors[key].size)

    def single(self, key: str) -> Stored:
        chunk = self.tensors[key].chunks[0]
        return self._chunk(key, chunk)

    def values(self, key: str) -> Values:
        """A tensor, put together from its chunks."""
        shape, boxes, covered = self.shape_of(key), [], 0
        for chunk in self.tensors[key].chunks:
            found = self._chunk(key, chunk)
            inside = all(
                0 <= o and o + s <= size
                for o, s, size in zip(chunk.offsets, chunk.sizes, shape, strict=True)
            )
            if not inside:
                raise CheckpointError(
                    f"{self.folder}: the chunk of '{key}' at {list(chunk.offsets)} of size "
                    f"{list(chunk.sizes)} is not inside {list(shape)}"
                )
            boxes.append((chunk.offsets, chunk.sizes, found))
            covered += math.prod(chunk.sizes)
        if covered != math.prod(shape) or _overlap(boxes):
            raise CheckpointError(
                f"{self.folder}: the chunks of '{key}' have {covered} elements, and its shape "
                f"{list(shape)} has {math.prod(shape)}: it is incomplete, or damaged"
            )
        return Boxes(shape, boxes)

    def _chunk(self, key: str, chunk) -> Stored:
        place = self.places.get((key, tuple(chunk.offsets)))
        if place is None:
            raise CheckpointError(
                f"{self.folder}: no file has the chunk of '{key}' at {list(chunk.offsets)}"
            )
        if getattr(place, "transform_descriptors", None):
            raise CheckpointError(
                f"{self.folder}: '{key}' is compressed ({place.transform_descriptors}): save it "
                "without extensions"
            )
        name = os.path.basename(place.relative_path)
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            raise CheckpointError(f"{path}: is missing: it has a part of '{key}'")
        wanted = (key, tuple(chunk.offsets))
        other = self.chunks.setdefault((name, int(place.offset)), wanted)
        if other != wanted:
            raise CheckpointError(
                f"{path}: byte {place.offset} is a chunk of '{other[0]}' and one of '{key}': the "
                "metadata is damaged"
            )
        found = load(path, int(place.offset), int(place.length))
        if not isinstance(found, Stored) or found.checked().shape != tuple(chunk.sizes):
            raise CheckpointError(
                f"{path}: has no tensor of size {list(chunk.sizes)} at byte {place.offset}, "
                f"wanted a chunk of '{key}': the file is damaged"
            )
        return found


class _Readers:
    """The tensors of several checkpoints, each of which has others."""

    def __init__(self, folder: str, readers: list[_Reader]):
        self.folder = folder
        self.tensors: dict[str, Any] = {}
        self.paths: dict[str, tuple[str, ...]] = {}
        self.owners: dict[str, _Reader] = {}
        for reader in readers:
            for key in reader.paths.keys() & self.paths.keys():
                raise CheckpointError(f"{reader.folder}: has '{key}', as another part of {folder}")
            self.tensors |= reader.tensors
            self.paths |= reader.paths
            self.owners |= dict.fromkeys(reader.tensors, reader)

    def shape_of(self, key: str) -> tuple[int, ...]:
        return self.owners[key].shape_of(key)

    def single(self, key: str) -> Stored:
        return self.owners[key].single(key)

    def values(self, key: str) -> Values:
        return self.owners[key].values(key)

    def is_float(self, key: str) -> bool:
        return str(self.tensors[key].properties.state[0]) in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
        )

    def may_be_parameter(self, key: str) -> bool:
        """Not a count or a mean of the run."""
        return self.is_float(key) and bool(self.shape_of(key))


def _overlap(boxes) -> bool:
    """Whether two boxes share an element."""
    if len(boxes) > 1 and not boxes[0][0]:
        return True
    return any(
        all(
            max(a, b) < min(a + s, b + t)
            for a, s, b, t in zip(one[0], one[1], other[0], other[1], strict=True)
        )
        for i, one in enumerate(boxes)
        for other in boxes[:i]
    )
