"""Checkpoints of torch.distributed.checkpoint (DCP)."""

from __future__ import annotations

import io
import math
import os
import re
from typing import Any

from zero.checkpoints.archive import Stored, load
from zero.checkpoints.errors import CheckpointError
from zero.checkpoints.run import (
    SavedParameter,
    SavedRun,
    common_step,
    complete_states,
    number,
)
from zero.checkpoints.unpickler import Unpickler
from zero.checkpoints.values import Boxes, Values, equal

METADATA = ".metadata"
# A state of an optimizer: "optimizer.state.h.0.weight.exp_avg".
_STATE = re.compile(r"(?:(.+?)\.)?state\.(.+)\.(\w+)")


def read_distributed(folder: str) -> SavedRun:
    """A checkpoint of a model, and of its optimizer where it was saved, too, with the
    names of `torch.distributed.checkpoint.state_dict`."""
    reader = _Reader(folder)
    states: dict[str, dict[str, Any]] = {}
    weights: dict[str, str] = {}
    for key in reader.tensors:
        path = reader.path_of(key)
        words = _STATE.fullmatch(key)
        if len(path) >= 3 and path[-3] == "state":
            states.setdefault(path[-2], {})[path[-1]] = key
        elif words and len(path) <= 1:
            states.setdefault(words[2], {})[words[3]] = key
        else:
            weights[key] = path[-1] if len(path) == 2 else key
    _check_prefixes(weights, folder)
    run = _put_together(reader, states, weights)
    run.remarks.append("it does not say which data were read: they begin again")
    return run


def _check_prefixes(weights: dict[str, str], folder: str) -> None:
    seen: dict[str, str] = {}
    for key, name in weights.items():
        other = seen.setdefault(name, key)
        if other != key:
            raise CheckpointError(
                f"{folder}: has several models: '{other}' and '{key}' would both be '{name}'"
            )


def _put_together(reader: _Reader, states, weights) -> SavedRun:
    steps, parameters, aliases, remarks = [], [], {}, []
    unknown = [name for name in states if name not in weights.values()]
    if unknown:
        raise CheckpointError(
            f"{reader.folder}: has states of '{unknown[0]}', and no such parameter: its states "
            "are named by numbers, or it is of an unknown layout; save it with "
            "torch.distributed.checkpoint.state_dict.get_state_dict"
        )
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
            else:
                kept[state] = reader.values(place)
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
    return SavedRun(
        "PyTorch DCP", parameters, steps=done or 0, aliases=aliases, remarks=remarks
    )


class _Reader:
    """The tensors of a checkpoint, by name."""

    def __init__(self, folder: str):
        self.folder = folder
        path = os.path.join(folder, METADATA)
        with open(path, "rb") as file:
            text = file.read()

        def none(*_):
            raise CheckpointError(f"{path}: has tensors in it, wanted names and places only")

        metadata = Unpickler(io.BytesIO(text), path, none, none).load_checked()
        try:
            found = metadata.state_dict_metadata
            self.tensors = {key: value for key, value in found.items() if hasattr(value, "chunks")}
            self.paths = metadata.planner_data or {}
            self.places = {
                (index.fqn, getattr(index, "offset", None)): place
                for index, place in metadata.storage_data.items()
            }
        except AttributeError as error:
            raise CheckpointError(f"{path}: is of an unknown layout: {error}") from None

    def path_of(self, key: str) -> tuple:
        """The keys of the nested dictionaries that the tensor was in."""
        return tuple(str(part) for part in self.paths.get(key, ()))

    def shape_of(self, key: str) -> tuple[int, ...]:
        return tuple(self.tensors[key].size)

    def is_float(self, key: str) -> bool:
        return str(self.tensors[key].properties.state[0]) in (
            "float16",
            "bfloat16",
            "float32",
            "float64",
        )

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
        found = load(path, int(place.offset), int(place.length))
        if not isinstance(found, Stored) or found.shape != tuple(chunk.sizes):
            raise CheckpointError(
                f"{path}: has no tensor of size {list(chunk.sizes)} at byte {place.offset}, "
                f"wanted a chunk of '{key}': the file is damaged"
            )
        return found


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
