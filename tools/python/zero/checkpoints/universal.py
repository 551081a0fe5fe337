"""DeepSpeed's universal checkpoints: a folder for each parameter."""

from __future__ import annotations

import math
import os

from zero.checkpoints.archive import Stored, load
from zero.checkpoints.deepspeed import dynamic_scaler
from zero.checkpoints.errors import CheckpointError, reading
from zero.checkpoints.model_states import read_model_states
from zero.checkpoints.run import (
    SavedParameter,
    SavedRun,
    common_step,
    complete_states,
    number,
    states_before_updates,
)
from zero.checkpoints.values import Part, Values

_VALUE, _STEP = "fp32", "step"


def read_universal(folder: str) -> SavedRun:
    """What ds_to_universal.py wrote to `folder`."""
    model = read_model_states(folder)
    groups = model.groups()
    parameters, steps = [], []
    for shapes in groups:
        for name, shape in shapes.items():
            place = os.path.join(folder, "zero", name)
            kept = _states(place, shape)
            if _VALUE not in kept:
                raise CheckpointError(f"{place}: has no {_VALUE}.pt of the parameter")
            parameters.append(
                SavedParameter(name, shape, kept.pop(_VALUE), states=kept)
            )
            path = os.path.join(place, f"{_STEP}.pt")
            if os.path.exists(path):
                steps.append((name, number(load(path), _STEP, path)))
    path = os.path.join(folder, "zero", "optimizer_state.pt")
    optimizer = load(path)
    if not isinstance(optimizer, dict):
        raise CheckpointError(f"{path}: is {type(optimizer).__name__}, wanted a dictionary")
    with reading(path):
        steps += _steps(optimizer, path)
        default = ()
        if not any(parameter.states for parameter in parameters):
            default = states_before_updates(_inner(optimizer).get("param_groups", []), path)
    remarks = complete_states(parameters, default)
    parameters += model.frozen({parameter.name for parameter in parameters})
    scaler = dynamic_scaler(optimizer, path)
    run = SavedRun("DeepSpeed, universal", parameters, scaler=scaler, remarks=remarks)
    return model.finish(run, common_step(steps, path))


def _inner(optimizer: dict) -> dict:
    """The state of the optimizer itself, which may be in that of a wrapper."""
    return optimizer.get("optimizer_state_dict", optimizer)


def _steps(optimizer: dict, path: str) -> list[tuple[str, float]]:
    states = _inner(optimizer).get("state") or {}
    return [
        (f"group {group}", number(state[_STEP], _STEP, path))
        for group, state in states.items()
        if _STEP in state
    ]


def _states(place: str, shape: tuple[int, ...]) -> dict[str, Values]:
    """The value and the states of a parameter, in its shape or flat."""
    try:
        names = sorted(os.listdir(place))
    except OSError as error:
        raise CheckpointError(f"{place}: cannot be read: {error.strerror}") from None
    found: dict[str, Values] = {}
    wanted = math.prod(shape)
    for name in names:
        state, dot, ending = name.rpartition(".")
        if ending != "pt" or state == _STEP:
            continue
        path = os.path.join(place, name)
        tensor = load(path)
        if isinstance(tensor, dict):
            tensor = tensor.get("param")
        if not isinstance(tensor, Stored):
            raise CheckpointError(f"{path}: has no tensor: it is of an unknown layout")
        whole = tensor.shape == shape
        if not whole and not (len(tensor.shape) == 1 and tensor.elements >= wanted):
            raise CheckpointError(
                f"{path}: has the shape {list(tensor.shape)}, wanted {list(shape)}: parts of a "
                "vocabulary or of model parallelism are not read"
            )
        found[state] = Part(tensor.checked(), 0, wanted)
    return found
