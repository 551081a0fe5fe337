"""DeepSpeed's checkpoints of stages 0 to 3."""

from __future__ import annotations

import math
import re

from zero.checkpoints.archive import load
from zero.checkpoints.errors import CheckpointError, count_of, naming_file, reading
from zero.checkpoints.model_states import (
    ModelStates,
    all_ranks,
    by_rank,
    field_of,
    joined_slices,
    mapping_of,
    read_model_states,
)
from zero.checkpoints.run import (
    SavedParameter,
    SavedRun,
    SavedScaler,
    checked_scaler,
    common_step,
    complete_states,
    number,
    states_before_updates,
    tensor_of,
)
from zero.checkpoints.stage_0 import read_stage_0, weights_of_stage_0
from zero.checkpoints.values import Joined, Part, Values

OPTIMIZER = re.compile(r"(?:bf16_)?zero_pp_rank_(\d+)_mp_rank_(\d+)_optim_states\.pt")


def read_deepspeed(folder: str, weights_only: bool = False) -> SavedRun:
    """The checkpoint of one tag, such as global_step100."""
    model = read_model_states(folder)
    found = by_rank(folder, OPTIMIZER)
    if not found:
        if model.first.get("optimizer") is None:
            ranks = model.count("dp_world_size")
            raise CheckpointError(
                f"{folder}: the optim_states file of rank 0 of {ranks} is missing"
            )
        return weights_of_stage_0(model) if weights_only else read_stage_0(model)
    ranks = model.count("dp_world_size")
    paths = all_ranks(folder, found, ranks, "optim_states")
    shards = [_Shard(path) for path in paths]
    for shard in shards:
        shard.check_like(shards[0], ranks)
    parameters = _trained(model, shards)
    remarks = complete_states(parameters, shards[0].default_states())
    parameters += model.frozen({parameter.name for parameter in parameters})
    origin = f"DeepSpeed, stage {shards[0].stage}, {ranks} ranks"
    run = SavedRun(origin, parameters, scaler=shards[0].scaler(), remarks=remarks)
    return model.finish(run, shards[0].step())


class _Shard:
    """The optim_states file of one rank."""

    def __init__(self, path: str):
        self.path = path
        with reading(path):
            self._read()

    def _read(self) -> None:
        path = self.path
        self.saved = field_of(load(path), "optimizer_state_dict", path)
        stage = mapping_of(self.saved, "'optimizer_state_dict'", path).get("zero_stage", 1)
        # Its plain BF16_Optimizer is stage 1 and does not say so.
        self.stage = int(stage if isinstance(stage, int) else stage.arguments[0])
        if self.stage not in (1, 2, 3):
            raise CheckpointError(f"{path}: is of stage {self.stage}, wanted 0 to 3")
        self.flat = field_of(
            self.saved,
            "fp32_flat_groups" if self.stage == 3 else "single_partition_of_fp32_groups",
            path,
        )
        if not isinstance(self.flat, list):
            raise CheckpointError(f"{path}: its weights are {type(self.flat).__name__}, not groups")
        for group in self.flat:
            tensor_of(group, "the weights of a group", path)
        base = "optimizer_state_dict" if self.stage == 3 else "base_optimizer_state"
        self.optimizer = field_of(self.saved, base, path)
        if not isinstance(self.optimizer, dict):
            raise CheckpointError(
                f"{path}: its optimizer's states are of DeepSpeed's elastic form; save it with "
                "'elastic_checkpoint': false"
            )

    @naming_file
    def check_like(self, other: _Shard, ranks: int) -> None:
        partitions = self.saved.get("partition_count", ranks)
        for found in partitions if isinstance(partitions, list) else [partitions]:
            if count_of(found, "partition_count", self.path) != ranks:
                raise CheckpointError(
                    f"{self.path}: is cut over {found} ranks, and the checkpoint over {ranks}"
                )
        if self.stage != other.stage or len(self.flat) != len(other.flat):
            raise CheckpointError(
                f"{self.path}: has {len(self.flat)} groups of stage {self.stage}, and "
                f"{other.path} has {len(other.flat)} of stage {other.stage}: the files are of "
                "different checkpoints"
            )

    @naming_file
    def state(self, group: int) -> dict:
        """What the optimizer keeps of the flat parameter of a group."""
        found = field_of(self.optimizer, "state", self.path).get(group, {})
        return {name: value for name, value in found.items() if name != "step"}

    @naming_file
    def step(self) -> int | None:
        state = field_of(self.optimizer, "state", self.path)
        steps = [
            (f"group {group}", number(kept["step"], "step", self.path))
            for group, kept in state.items()
            if "step" in kept
        ]
        for group in self.optimizer.get("param_groups", []):
            if not steps and "step" in group:
                steps.append(("group", number(group["step"], "step", self.path)))
        return common_step(steps, self.path)

    @naming_file
    def default_states(self) -> tuple[str, ...]:
        if any(self.state(group) for group in range(len(self.flat))):
            return ()
        return states_before_updates(self.optimizer.get("param_groups", []), self.path)

    @naming_file
    def paddings(self, group: int, parameters: int) -> list[int]:
        """The elements after each parameter of a group that are nobody's."""
        found = self.saved.get("param_alignment_paddings")
        if not found:
            return [0] * parameters
        if len(found[group]) != parameters:
            raise CheckpointError(
                f"{self.path}: group {group} has paddings of {len(found[group])} parameters, "
                f"wanted {parameters}"
            )
        return [count_of(value, "a padding", self.path) for value in found[group]]

    def scaler(self) -> SavedScaler | None:
        return dynamic_scaler(self.saved, self.path)


def dynamic_scaler(optimizer: dict, path: str) -> SavedScaler | None:
    """The loss scaler of stages 1 to 3; None where the scale does not change."""
    scaler = optimizer.get("loss_scaler")
    if not hasattr(scaler, "cur_iter"):
        return None
    with reading(path):
        return checked_scaler(
            scaler.cur_scale,
            scaler.cur_iter,
            scaler.last_overflow_iter,
            scaler.cur_hysteresis,
            path,
        )


def _trained(model: ModelStates, shards: list[_Shard]) -> list[SavedParameter]:
    groups = model.groups()
    if len(groups) != len(shards[0].flat):
        raise CheckpointError(
            f"{model.paths[0]}: has {len(groups)} groups of parameters, and {shards[0].path} "
            f"has {len(shards[0].flat)}"
        )
    names: dict[str, None] = {}
    for group in range(len(groups)):
        names.update(dict.fromkeys(shards[0].state(group)))
    parts = _slices_of_3 if shards[0].stage == 3 else _slices_of_2
    value = parts(groups, shards, lambda shard, group: shard.flat[group])
    kept = {
        name: parts(groups, shards, lambda shard, group, name=name: _kept(shard, group, name))
        for name in names
    }
    return [
        SavedParameter(
            name,
            shape,
            value[name],
            states={
                state: values[name] for state, values in kept.items() if values[name] is not None
            },
        )
        for shapes in groups
        for name, shape in shapes.items()
    ]


def _kept(shard: _Shard, group: int, name: str) -> Values | None:
    """A state of a group; the end of its padding may be saved, too."""
    found = shard.state(group).get(name)
    flat = shard.flat[group]
    if found is None:
        return None
    tensor_of(found, f"{name} of group {group}", shard.path)
    if found.elements < flat.elements:
        raise CheckpointError(
            f"{shard.path}: {name} of group {group} has {found.elements} elements, and its "
            f"weights have {flat.elements}: the file is damaged"
        )
    return Part(found, 0, flat.elements)


def _slices_of_2(groups, shards: list[_Shard], values) -> dict[str, Values | None]:
    """Stages 1 and 2: a group is one run of elements, cut evenly over the ranks; the
    last ones are saved without padding."""
    found: dict[str, Values | None] = {}
    for group, shapes in enumerate(groups):
        parts = [values(shard, group) for shard in shards]
        # Where an optimizer has not run, no rank has a state.
        whole = None if any(part is None for part in parts) else Joined(parts)
        between = shards[0].paddings(group, len(shapes))
        first = 0
        for (name, shape), padding in zip(shapes.items(), between, strict=True):
            count = math.prod(shape)
            if whole is not None and first + count > whole.elements:
                raise CheckpointError(
                    f"{shards[0].path}: the ranks together have {whole.elements} elements of "
                    f"group {group}, and '{name}' ends at {first + count}: files do not fit "
                    "together, or are damaged"
                )
            found[name] = None if whole is None else Part(whole, first, count)
            first += count + padding
        align = 2 * len(shards)
        if whole is not None and -(-first // align) != -(-whole.elements // align):
            raise CheckpointError(
                f"{shards[0].path}: the ranks together have {whole.elements} elements of group "
                f"{group}, and its parameters {first}: files do not fit together, or are damaged"
            )
    return found


def _slices_of_3(groups, shards: list[_Shard], values) -> dict[str, Values | None]:
    """Stage 3: each parameter is padded by itself to equal shares; a rank has its shares
    one after the other, over all groups."""
    parts = [[values(shard, group) for group in range(len(groups))] for shard in shards]
    ranks = len(shards)
    if any(part is None for row in parts for part in row):
        return {name: None for shapes in groups for name in shapes}
    flat = [Joined(row) for row in parts]
    found: dict[str, Values | None] = {}
    first = 0
    for shapes in groups:
        for name, shape in shapes.items():
            count = math.prod(shape)
            share = math.ceil(count / ranks)
            for shard, row in zip(shards, flat, strict=True):
                if first + share > row.elements:
                    raise CheckpointError(
                        f"{shard.path}: has {row.elements} elements, and its share of '{name}' "
                        f"ends at {first + share}: the file is damaged"
                    )
            slices = [Part(row, first, share) for row in flat]
            found[name] = joined_slices(slices, count, f"'{name}'")
            first += share
    for shard, row in zip(shards, flat, strict=True):
        if row.elements != first:
            raise CheckpointError(
                f"{shard.path}: has {row.elements} elements, and its parameters {first}: the "
                "file is damaged"
            )
    return found
