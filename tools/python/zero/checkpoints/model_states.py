"""The files of DeepSpeed's checkpoints that say what the model is."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Any

from zero.checkpoints.archive import Stored, load
from zero.checkpoints.errors import CheckpointError, checked_name, count_of, naming_file
from zero.checkpoints.run import SavedParameter, SavedRun, number
from zero.checkpoints.values import Joined, Part, Values

MODEL = re.compile(r"(?:zero_pp_rank_(\d+)_)?mp_rank_(\d+)_model_states\.pt")


def field_of(found: Any, name: str, path: str) -> Any:
    """An entry that must be there."""
    if not isinstance(found, dict) or name not in found:
        raise CheckpointError(f"{path}: has no '{name}': it is of an unknown layout, or damaged")
    return found[name]


def mapping_of(found: Any, what: str, path: str) -> dict:
    """A dictionary, empty where there is none."""
    if found is None or isinstance(found, dict):
        return found or {}
    raise CheckpointError(f"{path}: {what} is {type(found).__name__}, wanted a dictionary")


def shapes_of(found: Any, path: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a group of parameters."""
    shapes = mapping_of(found, "a group of 'param_shapes'", path)
    for name, shape in shapes.items():
        checked_name(name, path)
        sizes = shape if isinstance(shape, (tuple, list)) else [None]
        if not all(type(size) is int and size >= 0 for size in sizes):
            raise CheckpointError(f"{path}: the shape of '{name}' is {shape!r:.80}, wanted sizes")
    return {name: tuple(shape) for name, shape in shapes.items()}


@dataclass
class ModelStates:
    """The model_states files of a checkpoint: of one rank, or at stage 3 of each."""

    paths: list[str]
    files: list[dict]

    @property
    def path(self) -> str:
        return self.paths[0]

    @property
    def first(self) -> dict:
        return self.files[0]

    @naming_file
    def count(self, name: str) -> int:
        path = self.path
        return count_of(number(self.first.get(name, 0), name, path), name, path)

    @naming_file
    def groups(self) -> list[dict[str, tuple[int, ...]]]:
        """Names and shapes of trained parameters, in the order of the optimizer."""
        found, path = self.first.get("param_shapes"), self.path
        if not isinstance(found, list):
            raise CheckpointError(f"{path}: has no 'param_shapes' of the trained parameters")
        groups = [shapes_of(group, path) for group in found]
        seen: set[str] = set()
        for group in groups:
            for name in seen & group.keys():
                raise CheckpointError(f"{path}: '{name}' is twice in 'param_shapes'")
            seen.update(group)
        return groups

    @naming_file
    def aliases(self) -> dict[str, str]:
        return dict(mapping_of(self.first.get("shared_params"), "'shared_params'", self.path))

    @naming_file
    def module(self) -> dict:
        found = field_of(self.first, "module", self.path)
        return mapping_of(found, "'module'", self.path)

    @naming_file
    def tensors(self) -> dict[str, Stored]:
        """What `module` has besides buffers and further names of tied parameters."""
        buffers = set(self.first.get("buffer_names") or ())
        aliases = self.aliases()
        return {
            checked_name(name, self.path): value.checked()
            for name, value in self.module().items()
            if isinstance(value, Stored) and name not in buffers and name not in aliases
        }

    @naming_file
    def frozen(self, trained: set[str]) -> list[SavedParameter]:
        """Parameters that are not trained: whole in `module`, or cut over the ranks."""
        shapes = shapes_of(self.first.get("frozen_param_shapes"), self.path)
        found = []
        for name, tensor in self.tensors().items():
            if name in trained:
                continue
            shape = tuple(shapes.get(name, tensor.shape))
            values: Values = tensor
            if tensor.elements != math.prod(shape):
                values = joined_slices(
                    [
                        field_of(file.get("frozen_param_fragments"), name, path)
                        for path, file in zip(self.paths, self.files, strict=True)
                    ],
                    math.prod(shape),
                    f"{self.path}: '{name}'",
                )
            found.append(SavedParameter(name, shape, values, trainable=False))
        return found

    @naming_file
    def running_statistics(self) -> list[SavedParameter]:
        """The buffers that training tracks, by the names that PyTorch's norms give
        them; what else buffers are, a model makes again."""
        module = self.module()
        return [
            SavedParameter(name, module[name].shape, module[name], trainable=False)
            for name in self.first.get("buffer_names") or ()
            if checked_name(name, self.path).rpartition(".")[2] in ("running_mean", "running_var")
            and isinstance(module.get(name), Stored)
        ]

    @naming_file
    def finish(self, run: SavedRun, steps: int | None) -> SavedRun:
        """Adds running statistics and the counts, and compares these with the
        optimizer's."""
        run.statistics = self.running_statistics()
        updates, skipped = self.count("global_steps"), self.count("skipped_steps")
        run.steps = updates - skipped if steps is None else steps
        run.skipped, run.samples = skipped, self.count("global_samples")
        run.aliases = self.aliases()
        if run.steps != updates - skipped:
            run.remarks.append(
                f"its optimizer made {run.steps} updates, and the run {updates - skipped}: "
                f"{run.steps} are taken"
            )
        path = self.path
        scheduler = mapping_of(self.first.get("lr_scheduler"), "'lr_scheduler'", path)
        last = scheduler.get("last_batch_iteration")
        # A schedule that has not made a step stands at -1.
        following = None if last is None else count_of(last + 1, "last_batch_iteration + 1", path)
        if following not in (None, run.steps):
            run.remarks.append(
                f"its learning rate was at update {following} of its schedule, and goes on "
                f"with update {run.steps}"
            )
        return run


def joined_slices(slices: list[Values], elements: int, what: str) -> Values:
    """A tensor that is cut evenly over ranks, the last ones padded."""
    share = math.ceil(elements / len(slices))
    for rank, part in enumerate(slices):
        if part.elements != share:
            raise CheckpointError(
                f"{what}: rank {rank} has {part.elements} elements, wanted {share} of {elements}: "
                "the checkpoint is damaged"
            )
    return Part(Joined(slices), 0, elements)


def by_rank(folder: str, pattern: re.Pattern) -> dict[int, str]:
    """Paths of the files of that pattern by rank."""
    found = {}
    for name in os.listdir(folder):
        words = pattern.fullmatch(name)
        if words is None:
            continue
        if int(words[2]):
            raise CheckpointError(
                f"{os.path.join(folder, name)}: is of a run with model parallelism, whose "
                "parts are not put together; convert it with ds_to_universal.py"
            )
        found[int(words[1] or 0)] = os.path.join(folder, name)
    return found


def all_ranks(folder: str, found: dict[int, str], ranks: int, what: str) -> list[str]:
    """The files of all ranks, in order."""
    missing = [rank for rank in range(ranks) if rank not in found]
    extra = [found[rank] for rank in sorted(found) if rank >= ranks]
    if missing:
        raise CheckpointError(
            f"{folder}: the {what} file of rank {missing[0]} of {ranks} is missing"
        )
    if extra:
        raise CheckpointError(
            f"{extra[0]}: the checkpoint is of {ranks} ranks; this file is of another one"
        )
    return [found[rank] for rank in range(ranks)]


def read_model_states(folder: str) -> ModelStates:
    """The model_states files of a checkpoint of any stage."""
    found = by_rank(folder, MODEL)
    if not found:
        raise CheckpointError(f"{folder}: has no model_states file of DeepSpeed")
    sharded = all("zero_pp_rank" in path for path in found.values())
    first = load(found[min(found)])
    path = found[min(found)]
    ranks = count_of(field_of(first, "dp_world_size", path), "dp_world_size", path)
    paths = all_ranks(folder, found, ranks if sharded else 1, "model_states")
    for key in ("autoep_layers", "ds_autoep_layers"):
        if first.get(key):
            raise CheckpointError(
                f"{paths[0]}: its experts are cut over groups of ranks; convert it with "
                "ds_to_universal.py"
            )
    files = [mapping_of(load(path), "what it holds", path) for path in paths]
    return ModelStates(paths, files)
