"""DeepSpeed's checkpoints of stage 0: PyTorch's optimizer."""

from __future__ import annotations

from typing import Any

from zero.checkpoints.archive import Stored
from zero.checkpoints.errors import reading
from zero.checkpoints.matching import match
from zero.checkpoints.model_states import ModelStates, field_of
from zero.checkpoints.run import (
    SavedParameter,
    SavedRun,
    checked_scaler,
    common_step,
    complete_states,
    number,
    states_before_updates,
)


def read_stage_0(model: ModelStates) -> SavedRun:
    """Stage 0: PyTorch's optimizer, whose states have numbers in place of names, and
    masters beside it where weights are in 16 bits."""
    with reading(model.path):
        return _read(model, model.path)


def _read(model: ModelStates, path: str) -> SavedRun:
    optimizer = model.first["optimizer"]
    masters = optimizer.get("fp32_groups")
    inner = optimizer.get("optimizer_state_dict", optimizer)
    groups = field_of(inner, "param_groups", path)
    state = field_of(inner, "state", path)
    tensors, aliases = _without_ties(model.tensors())
    numbers = [list(field_of(group, "params", path)) for group in groups]
    shapes = [
        [
            masters[g][i].shape if masters else _shape_of(state.get(index, {}))
            for i, index in enumerate(indices)
        ]
        for g, indices in enumerate(numbers)
    ]
    names = match([(name, tensor.shape) for name, tensor in tensors.items()], shapes, path)
    parameters, steps = [], []
    for g, indices in enumerate(numbers):
        for i, index in enumerate(indices):
            name, kept = names[g][i], state.get(index, {})
            value = masters[g][i] if masters else tensors[name]
            states = {
                key: kept_value
                for key, kept_value in kept.items()
                if key != "step" and isinstance(kept_value, Stored)
            }
            parameters.append(SavedParameter(name, tensors[name].shape, value, states=states))
            if "step" in kept:
                steps.append((name, number(kept["step"], "step", path)))
    default = () if any(state.values()) else states_before_updates(groups, path)
    remarks = complete_states(parameters, default)
    trained = {parameter.name for parameter in parameters}
    parameters += [
        SavedParameter(name, tensor.shape, tensor, trainable=False)
        for name, tensor in tensors.items()
        if name not in trained
    ]
    order = list(tensors)
    parameters.sort(key=lambda parameter: order.index(parameter.name))
    ranks = model.count("dp_world_size")
    run = SavedRun(f"DeepSpeed, stage 0, {ranks} ranks", parameters, remarks=remarks)
    if optimizer.get("dynamic_loss_scale"):
        run.scaler = checked_scaler(
            optimizer["cur_scale"],
            optimizer["cur_iter"],
            optimizer["last_overflow_iter"],
            optimizer.get("cur_hysteresis", 1),
            path,
        )
    model.finish(run, common_step(steps, path))
    run.aliases.update(aliases)
    return run


def weights_of_stage_0(model: ModelStates) -> SavedRun:
    """The weights of `module`, whoever trains them."""
    tensors, aliases = _without_ties(model.tensors())
    parameters = [
        SavedParameter(name, tensor.shape, tensor, trainable=False)
        for name, tensor in tensors.items()
    ]
    run = model.finish(SavedRun("DeepSpeed, stage 0", parameters), None)
    run.aliases.update(aliases)
    return run


def _shape_of(kept: dict) -> tuple[int, ...] | None:
    """The shape of a parameter by that of its states; None where it has none."""
    shapes = [
        value.shape
        for name, value in kept.items()
        if name != "step" and isinstance(value, Stored)
    ]
    return shapes[0] if shapes else None


def _without_ties(tensors: dict[str, Stored]) -> tuple[dict[str, Stored], dict[str, str]]:
    """Each tensor under its first name, and the further names."""
    first: dict[Any, str] = {}
    aliases = {}
    for name, tensor in tensors.items():
        known = first.setdefault(tensor.key, name)
        if known != name:
            aliases[name] = known
    return {name: tensors[name] for name in first.values()}, aliases
