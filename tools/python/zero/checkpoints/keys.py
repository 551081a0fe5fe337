"""What the keys of a checkpoint of torch.distributed.checkpoint stand for: parameters of
the model, states of its optimizer, or something else of the run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable, Container, Iterable, Mapping

from zero.checkpoints.errors import CheckpointError, checked_name

Path = tuple[str, ...]

# A state of an optimizer under a flat key: "optimizer.state.h.0.weight.exp_avg".
_STATE = re.compile(r"(?:(.+?)\.)?state\.(.+)\.(\w+)")
_SETTING = re.compile(r"(?:(.+?)\.)?param_groups\.")
# The dictionary of a model, where others are beside it.
_MODELS = ("model", "module", "state_dict")


@dataclass
class Keys:
    """`weights` by key, `states` by parameter and state; `remarks` say what is neither."""

    weights: dict[str, str] = field(default_factory=dict)
    states: dict[str, dict[str, str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def sort_keys(
    tensors: Iterable[str],
    paths: Mapping[str, Path],
    may_be_parameter: Callable[[str], bool],
    folder: str,
) -> Keys:
    """`paths` has the nested dictionaries of every key, tensors or not: empty where they
    were not saved. A dictionary may be flat, with "state.h.0.weight.exp_avg" as one key, as
    torchtitan and `flatten_optimizer_state_dict` write it."""
    result = Keys()
    optimizers = {_optimizer_of(path or (key,)) for key, path in paths.items()}
    flat: dict[str, tuple[Path, str, str]] = {}
    groups: dict[Path, dict[str, str]] = {}
    for key in tensors:
        path = paths.get(key) or (key,)
        words, at = _STATE.fullmatch(path[-1]), _nested_state(path, optimizers)
        if at is not None:
            _add(result.states, path[at + 1], ".".join(path[at + 2 :]), key, folder)
        elif words and (path[:-1], words[1]) in optimizers:
            _add(result.states, words[2], words[3], key, folder)
        elif _optimizer_of(path) is None:
            if words:
                flat[key] = (path, words[2], words[3])
            groups.setdefault(path[:-1], {})[path[-1]] = key
    # Where no settings of an optimizer are beside them, it is the parameters that tell
    # states from a module that is called "state".
    names = {name for group in groups.values() for name, key in group.items() if key not in flat}
    for key, (path, name, state) in flat.items():
        if name in names:
            del groups[path[:-1]][path[-1]]
            _add(result.states, name, state, key, folder)
    groups = {path: group for path, group in groups.items() if group}
    model = _model_of(result.states, groups, may_be_parameter, folder)
    result.remarks = [
        f"'{'.'.join(path) or next(iter(group))}' is not of the model: "
        f"{len(group)} tensors are not read"
        for path, group in groups.items()
        if path != model
    ]
    result.weights = {key: checked_name(name, folder) for name, key in groups[model].items()}
    return result


def _optimizer_of(path: Path) -> tuple[Path, str | None] | None:
    """The dictionary and the prefix whose setting of an optimizer this is; None where it
    is none."""
    if "param_groups" in path:
        return path[: path.index("param_groups")], None
    found = _SETTING.match(path[-1])
    return (path[:-1], found[1]) if found else None


def _nested_state(path: Path, optimizers: Container) -> int | None:
    """Where in the path the states of an optimizer are, by parameter and state."""
    for at, part in enumerate(path[:-2]):
        if part == "state" and (path[:at], None) in optimizers:
            return at
    is_last = path[-3:-2] == ("state",) and path[-2] not in _MODELS
    return len(path) - 3 if is_last else None


def _add(states, name: str, state: str, key: str, folder: str) -> None:
    other = states.setdefault(name, {}).setdefault(state, key)
    if other != key:
        raise CheckpointError(
            f"{folder}: has several optimizers: '{other}' and '{key}' are both the state "
            f"'{state}' of '{name}'"
        )


def _model_of(states, groups: dict[Path, dict[str, str]], may_be_parameter, folder: str) -> Path:
    """The dictionary that has every parameter with a state; without states, the one that
    has tensors which may be parameters. Of several, the one that is called as a model is."""
    if states:
        candidates = [path for path, group in groups.items() if states.keys() <= group.keys()]
        if not candidates:
            raise CheckpointError(f"{folder}: {_describe_unknown(states, groups)}")
    else:
        candidates = [
            path
            for path, group in groups.items()
            if any(may_be_parameter(key) for key in group.values())
        ]
    named = [path for path in candidates if path and path[-1] in _MODELS]
    chosen = candidates if len(candidates) < 2 else named
    if len(chosen) == 1:
        return chosen[0]
    if not candidates:
        raise CheckpointError(f"{folder}: has no tensors of a model")
    listed = ", ".join(f"'{'.'.join(path)}'" for path in candidates)
    raise CheckpointError(
        f"{folder}: has several models, in the dictionaries {listed}: save the one that is "
        "wanted under 'model'"
    )


def _describe_unknown(states, groups: dict[Path, dict[str, str]]) -> str:
    """Why no dictionary has all parameters with a state."""
    names = {name for group in groups.values() for name in group}
    unknown = [name for name in states if name not in names]
    if not groups:
        return "has the states of an optimizer and no model: save both in one checkpoint"
    if not unknown:
        return "has its parameters in several dictionaries: save them as one model"
    return (
        f"has states of '{unknown[0]}', and no such parameter: its states are named by "
        "numbers, or it is of an unknown layout; save it with "
        "torch.distributed.checkpoint.state_dict.get_state_dict"
    )
