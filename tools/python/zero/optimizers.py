"""An optimizer of PyTorch as settings of the configuration, and its parameter groups."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from numbers import Real
from typing import Any, Mapping, NoReturn

import numpy
import torch

from zero.arrays import number_in
from zero.checkpoints.run import SavedParameter, SavedRun, common_step, complete_states
from zero.errors import ArgumentError
from zero.importer.parameters import plain_name

# Settings that the configuration has for each group.
_OF_GROUPS = ("lr", "weight_decay")
# What options and messages can have without quotes of their own.
_NAME = re.compile(r"[^'\"\\\x00-\x1f\x7f\ud800-\udfff]{1,100}")


@dataclass(frozen=True)
class _Kind:
    """The configuration's `type`, which settings it has as well, the values of those that it does
    not have, and what both keep of a parameter."""

    type: str
    settings: tuple[str, ...]
    fixed: Mapping[str, Any]
    states: tuple[str, ...]


_MOMENTS = ("exp_avg", "exp_avg_sq")
_OFF = {"amsgrad": False, "maximize": False}
_KINDS = {
    torch.optim.AdamW: _Kind("AdamW", ("betas", "eps"), _OFF, _MOMENTS),
    torch.optim.Adam: _Kind("Adam", ("betas", "eps"), _OFF, _MOMENTS),
    torch.optim.SGD: _Kind(
        "SGD", ("momentum", "nesterov"), {"dampening": 0, "maximize": False}, ("momentum_buffer",)
    ),
    torch.optim.Adagrad: _Kind(
        "Adagrad",
        ("eps",),
        {"lr_decay": 0, "initial_accumulator_value": 0, "maximize": False},
        ("sum",),
    ),
}


@dataclass(frozen=True)
class _Member:
    """A trained parameter's group, and the tensor that the optimizer has."""

    group: str
    tensor: torch.Tensor


@dataclass
class Described:
    """Keys of the configuration, as JSON, the group of each parameter by its name in the
    imported model, and the run of updates that the optimizer has made, if any."""

    keys: dict[str, Any]
    groups: dict[str, str]
    run: SavedRun | None

    def names(self) -> list[str]:
        """Of all groups, those of frozen parameters included."""
        return list(self.keys["zero.parameter_groups"])

    def flags(self) -> list[str]:
        return [f"--set={path}={json.dumps(value)}" for path, value in self.keys.items()]

    def run_for(self, parameters: Mapping[str, Any]) -> SavedRun:
        """The run for a program with these parameters: of those that no gradient reaches, it
        keeps no state. Raises ArgumentError where the optimizer has one."""
        for saved in self.run.parameters:
            if not saved.trainable or parameters[saved.name].states:
                continue
            if any(values.read(0, values.elements).any() for values in saved.states.values()):
                raise ArgumentError(
                    f"the optimizer has a state of '{saved.name}', and no gradient reaches it in "
                    "the model: call requires_grad_(False) of it, and make a new optimizer"
                )
            saved.states, saved.trainable = {}, False
        return self.run


def describe(optimizer: Any, model) -> Described:
    """What `optimizer`, an AdamW, Adam, SGD or Adagrad of torch.optim, does with the parameters
    of the imported `model`. Learning rates are those of now. Raises ArgumentError for what the
    configuration cannot say."""
    kind = _kind_of(optimizer)
    groups = _groups_of(optimizer)
    if not groups:
        raise ArgumentError("the optimizer has no parameters: give it those of the module")
    first = {name: _plain(value) for name, value in next(iter(groups.values())).items()}
    settings = {}
    for name, group in groups.items():
        _check_settings(kind, name, group, first)
        settings[name] = {each: _plain(group[each]) for each in _OF_GROUPS}
    params = {name: first[name] for name in (*kind.settings, *_OF_GROUPS)}
    if kind.type == "Adam":
        params["adam_w_mode"] = bool(first.get("decoupled_weight_decay", False))
    keys = {
        "optimizer": {"type": kind.type, "params": params},
        "zero.parameter_groups": settings,
    }
    members = _members(groups, model)
    states = () if first.get("momentum", 1) == 0 else kind.states
    return Described(
        keys,
        {name: member.group for name, member in members.items()},
        _run_of(optimizer, states, members, model),
    )


def _plain(value: Any) -> Any:
    """A setting without tensors of one element and numbers of NumPy."""
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return number_in(value)


def _kind_of(optimizer: Any) -> _Kind:
    kind = _KINDS.get(type(optimizer))
    if kind is None:
        known = ", ".join(each.__name__ for each in _KINDS)
        raise ArgumentError(
            f"the optimizer is a {type(optimizer).__name__}, wanted one of torch.optim's {known}; "
            "the configuration's key 'optimizer' gives another"
        )
    for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
        if getattr(optimizer, hooks, None):
            raise ArgumentError(
                "the optimizer has hooks of its step, which no compiled step calls: remove them"
            )
    return kind


def _groups_of(optimizer: torch.optim.Optimizer) -> dict[str, dict[str, Any]]:
    """The groups that have parameters, each under its own "name", or "group" and its number."""
    groups: dict[str, dict[str, Any]] = {}
    for number, group in enumerate(optimizer.param_groups):
        name = group.get("name")
        name = f"group{number}" if name is None else name
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in groups:
            raise ArgumentError(
                f"a parameter group of the optimizer has the name {name!r}, wanted a name of its "
                "own, of at most 100 characters without quotes, or none"
            )
        if group["params"]:
            groups[name] = group
    return groups


def _check_settings(kind: _Kind, name: str, group: dict[str, Any], first: dict[str, Any]) -> None:
    for each, wanted in kind.fixed.items():
        is_idle = each == "dampening" and not _plain(group.get("momentum"))
        if _plain(group.get(each, wanted)) != wanted and not is_idle:
            raise ArgumentError(
                f"the optimizer's {each} is {group[each]!r} in the group '{name}', wanted "
                f"{wanted}: a compiled step has no other"
            )
    for each in (*kind.settings, "decoupled_weight_decay"):
        if _plain(group.get(each)) != first.get(each):
            raise ArgumentError(
                f"the optimizer's {each} is {group[each]!r} in the group '{name}', and "
                f"{first[each]!r} in the first one: groups differ in lr and weight_decay alone"
            )
    for each in _OF_GROUPS:
        value = _plain(group.get(each))
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ArgumentError(
                f"the optimizer's {each} is {value!r} in the group '{name}', wanted a number"
            )


def _members(groups: dict[str, dict[str, Any]], model) -> dict[str, _Member]:
    """The parameters that the optimizer has, by their names in the model."""
    module = model.module() if model.module else None
    if module is None:
        raise ArgumentError(
            "the optimizer is of parameters of a module, and the model's is gone: give the module, "
            "or keep it until the model is compiled"
        )
    names: dict[int, str] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        # Names of a part that torch.compile wraps are the model's as they are.
        given = name if name in model.parameters or name in model.aliases else plain_name(name)
        names.setdefault(id(parameter), model.aliases.get(given, given))
    members: dict[str, _Member] = {}
    for group, settings in groups.items():
        for parameter in settings["params"]:
            name = names.get(id(parameter))
            if name not in model.parameters:
                _refuse_other(group, parameter)
            if name in members:
                raise ArgumentError(
                    f"'{name}' is in the optimizer twice, under two names, in the groups "
                    f"'{members[name].group}' and '{group}': leave one of them out"
                )
            members[name] = _Member(group, parameter)
    for parameter in module.parameters():
        if parameter.requires_grad and names[id(parameter)] not in members:
            raise ArgumentError(
                f"the parameter '{names[id(parameter)]}' is in no group of the optimizer: add it "
                "to one, or call requires_grad_(False) of it"
            )
    return members


def _run_of(
    optimizer: torch.optim.Optimizer,
    states: tuple[str, ...],
    members: dict[str, _Member],
    model,
) -> SavedRun | None:
    """The state of an optimizer that has made updates; None before the first."""
    kept = {name: optimizer.state.get(member.tensor, {}) for name, member in members.items()}
    # Adagrad has a state before its first update. SGD counts no updates.
    counts = {name: int(number_in(s["step"])) for name, s in kept.items() if "step" in s}
    begun = {
        name: {each: state.get(each) for each in states}
        for name, state in kept.items()
        if counts.get(name, 1) and any(state.get(each) is not None for each in states)
    }
    if not begun:
        return None
    for name, state in begun.items():
        for each, values in state.items():
            _check_state(name, each, values, members[name].tensor)
    model.take_values()
    parameters = []
    for name, value in model.parameters.items():
        flat = {each: _Flat(values) for each, values in begun.get(name, {}).items()}
        trainable = name in members and members[name].tensor.requires_grad
        parameters.append(SavedParameter(name, tuple(value.shape), _Flat(value), trainable, flat))
    steps = common_step(((name, counts[name]) for name in begun if name in counts), "the optimizer")
    run = SavedRun("a module of PyTorch", parameters, steps or 0)
    run.remarks = complete_states(parameters, states)
    return run


def _check_state(name: str, state: str, values: Any, parameter: torch.Tensor) -> None:
    found = list(values.shape) if isinstance(values, torch.Tensor) else type(values).__name__
    if found != list(parameter.shape):
        raise ArgumentError(
            f"the optimizer's {state} of '{name}' is {found}, wanted {list(parameter.shape)}: make "
            "the optimizer of the parameters that the module has now"
        )


class _Flat:
    """The elements of a tensor, one after the other."""

    def __init__(self, tensor: torch.Tensor):
        self.values = tensor.detach().reshape(-1)
        self.elements = self.values.numel()

    def read(self, first: int, count: int) -> numpy.ndarray:
        return self.values[first : first + count].cpu().float().numpy()


def _refuse_other(group: str, parameter: torch.Tensor) -> NoReturn:
    raise ArgumentError(
        f"a parameter of the optimizer's group '{group}', {list(parameter.shape)} of "
        f"{parameter.dtype}, is none of the module: make the optimizer of the parameters that "
        "the module has now"
    )
