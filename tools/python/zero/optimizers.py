"""An optimizer of PyTorch as settings of the configuration, and its parameter groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, NoReturn

import numpy
import torch

from zero.arrays import number_in
from zero.checkpoints.run import SavedParameter, SavedRun, common_step, complete_states
from zero.errors import ArgumentError
from zero.importer.parameters import plain_name

# Settings that the configuration has for each group.
_OF_GROUPS = {"lr", "weight_decay"}


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


@dataclass
class Described:
    """Keys of the configuration, as JSON, the group of each parameter by its name in the
    imported model, and the run of updates that the optimizer has made, if any."""

    keys: dict[str, Any]
    groups: dict[str, str]
    run: SavedRun | None

    def flags(self) -> list[str]:
        return [f"--set={path}={json.dumps(value)}" for path, value in self.keys.items()]


def describe(optimizer: Any, model) -> Described:
    """What `optimizer`, an AdamW, Adam, SGD or Adagrad of torch.optim, does with the parameters
    of the imported `model`. Learning rates are those of now. Raises ArgumentError for what the
    configuration cannot say."""
    kind = _kind_of(optimizer)
    groups = [group for group in optimizer.param_groups if group["params"]]
    first = {name: _plain(value) for name, value in groups[0].items() if name != "params"}
    names = _names_of(groups)
    settings = {}
    for name, group in zip(names, groups):
        _check_settings(kind, name, group, first)
        settings[name] = {each: _plain(group[each]) for each in sorted(_OF_GROUPS)}
    params = {name: first[name] for name in (*kind.settings, *sorted(_OF_GROUPS))}
    if kind.type == "Adam":
        params["adam_w_mode"] = bool(first.get("decoupled_weight_decay", False))
    keys = {
        "optimizer": {"type": kind.type, "params": params},
        "zero.parameter_groups": settings,
    }
    members = _members(dict(zip(names, groups)), model)
    run = _run_of(optimizer, kind, members, model)
    return Described(keys, {name: group for name, (group, _) in members.items()}, run)


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [number_in(each) for each in value]
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


def _names_of(groups: list[dict[str, Any]]) -> list[str]:
    """A group has its own "name", or "group" and its number."""
    names = [group.get("name", f"group{number}") for number, group in enumerate(groups)]
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            raise ArgumentError(
                f"a parameter group of the optimizer has the name {name!r}, wanted a text of its "
                "own, or none"
            )
    return names


def _check_settings(kind: _Kind, name: str, group: dict[str, Any], first: dict[str, Any]) -> None:
    for each, wanted in kind.fixed.items():
        if _plain(group.get(each, wanted)) != wanted:
            raise ArgumentError(
                f"the optimizer's {each} is {group[each]!r} in the group '{name}', wanted {wanted}: "
                "a compiled step has no other"
            )
    for each in (*kind.settings, "decoupled_weight_decay"):
        if _plain(group.get(each)) != first.get(each):
            raise ArgumentError(
                f"the optimizer's {each} is {group[each]!r} in the group '{name}', and "
                f"{first[each]!r} in the first one: groups differ in lr and weight_decay alone"
            )


def _members(groups: dict[str, dict[str, Any]], model) -> dict[str, tuple[str, torch.Tensor]]:
    """From the name of a parameter in the model to its group and the optimizer's tensor."""
    module = model.module() if model.module else None
    if module is None:
        raise ArgumentError(
            "the optimizer is of parameters of a module, and the model's is gone: give the module, "
            "or keep it until the model is compiled"
        )
    names = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), plain_name(name))
    members: dict[str, tuple[str, torch.Tensor]] = {}
    for group, settings in groups.items():
        for parameter in settings["params"]:
            if id(parameter) not in names:
                _refuse_other(group, parameter)
            name = names[id(parameter)]
            name = model.aliases.get(name, name)
            if name in members:
                raise ArgumentError(
                    f"'{name}' is in the optimizer twice, under two names, in the groups "
                    f"'{members[name][0]}' and '{group}': leave one of them out"
                )
            members[name] = (group, parameter)
    for parameter in module.parameters():
        name = names[id(parameter)]
        if parameter.requires_grad and model.aliases.get(name, name) not in members:
            raise ArgumentError(
                f"the parameter '{name}' is in no group of the optimizer: add it to one, or call "
                "requires_grad_(False) of it"
            )
    return members


def _run_of(
    optimizer: torch.optim.Optimizer,
    kind: _Kind,
    members: dict[str, tuple[str, torch.Tensor]],
    model,
) -> SavedRun | None:
    """The state of an optimizer that has made updates; None before the first."""
    kept = {name: optimizer.state.get(parameter, {}) for name, (_, parameter) in members.items()}
    # Adagrad has a state before its first update. SGD counts no updates.
    counts = {name: int(number_in(s["step"])) for name, s in kept.items() if "step" in s}
    begun = {
        name
        for name, state in kept.items()
        if counts.get(name, 1) and any(state.get(each) is not None for each in kind.states)
    }
    if not begun:
        return None
    model.take_values()
    parameters = []
    for name, value in model.parameters.items():
        states = {s: _Flat(kept[name][s]) for s in kind.states} if name in begun else {}
        trainable = name in members and members[name][1].requires_grad
        parameters.append(
            SavedParameter(name, tuple(value.shape), _Flat(value), trainable, states)
        )
    steps = common_step(((name, counts[name]) for name in begun if name in counts), "the optimizer")
    run = SavedRun("a module of PyTorch", parameters, steps or 0)
    run.remarks = complete_states(parameters, kind.states)
    return run


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
