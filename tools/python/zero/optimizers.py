"""An optimizer of PyTorch as settings of the configuration, and its parameter groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, NoReturn

import torch

from zero.arrays import number_in
from zero.errors import ArgumentError
from zero.importer.parameters import plain_name

# Settings that the configuration has for each group.
_OF_GROUPS = {"lr", "weight_decay"}


@dataclass(frozen=True)
class _Kind:
    """The configuration's `type`, which settings it has as well, and the values of those that
    it does not have."""

    type: str
    settings: tuple[str, ...]
    fixed: Mapping[str, Any]


_KINDS = {
    torch.optim.AdamW: _Kind("AdamW", ("betas", "eps"), {"amsgrad": False, "maximize": False}),
    torch.optim.Adam: _Kind("Adam", ("betas", "eps"), {"amsgrad": False, "maximize": False}),
    torch.optim.SGD: _Kind("SGD", ("momentum", "nesterov"), {"dampening": 0, "maximize": False}),
    torch.optim.Adagrad: _Kind(
        "Adagrad",
        ("eps",),
        {"lr_decay": 0, "initial_accumulator_value": 0, "maximize": False},
    ),
}


@dataclass
class Described:
    """Keys of the configuration, as JSON, and the group of each parameter by its name in the
    imported model."""

    keys: dict[str, Any]
    groups: dict[str, str]

    def flags(self) -> list[str]:
        return [f"--set={path}={json.dumps(value)}" for path, value in self.keys.items()]


def describe(optimizer: Any, model) -> Described:
    """What `optimizer` does with the parameters of the imported `model`: an AdamW, Adam, SGD or
    Adagrad of torch.optim that has made no update. Learning rates are those of now. Raises
    ArgumentError for what the configuration cannot say."""
    kind = _kind_of(optimizer)
    _refuse_state(optimizer)
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
    return Described(keys, _members(dict(zip(names, groups)), model))


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


def _refuse_state(optimizer: torch.optim.Optimizer) -> None:
    # Adagrad has a state before its first update.
    steps = [number_in(state.get("step", 1)) for state in optimizer.state.values() if state]
    if any(steps):
        raise ArgumentError(
            "the optimizer has made updates, whose state a run cannot go on from: make a new one "
            "of its parameter groups"
        )


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


def _members(groups: dict[str, dict[str, Any]], model) -> dict[str, str]:
    """From the name of a parameter in the model to its group."""
    module = model.module() if model.module else None
    if module is None:
        raise ArgumentError(
            "the optimizer is of parameters of a module, and the model's is gone: give the module, "
            "or keep it until the model is compiled"
        )
    names = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), plain_name(name))
    members: dict[str, str] = {}
    for group, settings in groups.items():
        for parameter in settings["params"]:
            if id(parameter) not in names:
                _refuse_other(group, parameter)
            name = names[id(parameter)]
            name = model.aliases.get(name, name)
            if members.setdefault(name, group) != group:
                raise ArgumentError(
                    f"'{name}' is in the optimizer's groups '{members[name]}' and '{group}', under "
                    "two names: leave one of them out"
                )
    for parameter in module.parameters():
        name = names[id(parameter)]
        if parameter.requires_grad and model.aliases.get(name, name) not in members:
            raise ArgumentError(
                f"the parameter '{name}' is in no group of the optimizer: add it to one, or call "
                "requires_grad_(False) of it"
            )
    return members


def _refuse_other(group: str, parameter: torch.Tensor) -> NoReturn:
    raise ArgumentError(
        f"a parameter of the optimizer's group '{group}', {list(parameter.shape)} of "
        f"{parameter.dtype}, is none of the module: make the optimizer of the parameters that "
        "the module has now"
    )
