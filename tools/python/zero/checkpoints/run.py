"""What a checkpoint of any kind says of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping

from zero.checkpoints.archive import Stored
from zero.checkpoints.errors import CheckpointError, Damage, count_of
from zero.checkpoints.values import Values, Zeros


@dataclass
class SavedParameter:
    """A parameter: its most precise value, and what the optimizer keeps of it. Raises
    Damage where they do not fit together."""

    name: str
    shape: tuple[int, ...]
    value: Values
    trainable: bool = True
    states: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self):
        wanted = math.prod(self.shape)
        for state in self.states:
            if not isinstance(state, str) or state in ("", "parameter") or "/" in state:
                raise Damage(f"'{self.name}' has a state of the name {state!r}: it is not read")
        for what, values in (("value", self.value), *self.states.items()):
            if values.elements != wanted:
                raise Damage(
                    f"{what} of '{self.name}' has {values.elements} elements, wanted {wanted} "
                    f"for the shape {list(self.shape)}: the checkpoint is damaged"
                )


@dataclass
class SavedScaler:
    """A dynamic loss scaler between two updates."""

    scale: float
    iteration: int
    last_overflow: int
    hysteresis: int


@dataclass
class SavedRun:
    """A run between two updates. `steps` are updates done, without skipped ones;
    `samples` were consumed. `aliases` are further names of tied parameters, `statistics`
    running ones, which only some programs have."""

    origin: str
    parameters: list[SavedParameter]
    steps: int = 0
    skipped: int = 0
    samples: int = 0
    scaler: SavedScaler | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    statistics: list[SavedParameter] = field(default_factory=list)

    def fit(self, parameters: Iterable[str], aliases: Mapping[str, str]) -> None:
        """Gives the parameters the names of a program, which may have another one of a
        tied parameter's, and leaves out what is not trained and no parameter of it, such
        as buffers."""
        wanted = set(parameters)
        firsts = {**aliases, **self._renamed(wanted)}
        kept: dict[str, SavedParameter] = {}
        for parameter in self.parameters:
            name = firsts.get(parameter.name, parameter.name)
            if name not in wanted and not parameter.trainable:
                self.remarks.append(f"'{parameter.name}' is no parameter of this program")
            elif name in kept and not parameter.trainable:
                continue
            else:
                parameter.name = name
                kept[name] = parameter
        kept.update((s.name, s) for s in self.statistics if s.name in wanted)
        self.parameters = list(kept.values())

    def _renamed(self, wanted: set[str]) -> dict[str, str]:
        """Names of tied parameters here -> the program's."""
        return {
            first: alias
            for alias, first in self.aliases.items()
            if first not in wanted and alias in wanted
        }


def number(value: Any, what: str, path: str) -> float:
    """A count or a scale, which is a number or a tensor of one."""
    if isinstance(value, Stored):
        return value.item()
    if isinstance(value, (int, float)):
        return value
    raise CheckpointError(f"{path}: {what} is {type(value).__name__}, wanted a number")


def tensor_of(value: Any, what: str, path: str) -> Stored:
    """A tensor that must be there."""
    if isinstance(value, Stored):
        return value.checked()
    raise CheckpointError(f"{path}: {what} is {type(value).__name__}, wanted a tensor")


def checked_scaler(scale, iteration, last_overflow, hysteresis, path: str) -> SavedScaler:
    """A dynamic loss scaler with the numbers that a file has."""
    scale = float(number(scale, "the loss scale", path))
    if not math.isfinite(scale) or scale <= 0:
        raise CheckpointError(f"{path}: the loss scale is {scale}, wanted a positive number")
    # Before any overflow, it was at iteration -1.
    return SavedScaler(
        scale,
        count_of(iteration, "the loss scaler's iteration", path),
        count_of(last_overflow + 1, "the loss scaler's last overflow + 1", path) - 1,
        count_of(hysteresis, "the loss scaler's hysteresis", path),
    )


def common_step(steps: Iterable[tuple[str, float]], path: str) -> int | None:
    """The one count of updates of all parameters; None where there is none."""
    found: dict[int, str] = {}
    for name, step in steps:
        found.setdefault(count_of(step, f"the number of updates of '{name}'", path), name)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise CheckpointError(
            f"{path}: '{one}' was updated {first} times and '{other}' {second} times; a run "
            "has one count for all parameters"
        )
    return next(iter(found), None)


def states_before_updates(groups: Iterable[Mapping], path: str) -> tuple[str, ...]:
    """What an optimizer that has not run yet will keep, from its hyperparameters."""
    for group in groups:
        if group.get("amsgrad"):
            break
        if "betas" in group:
            return ("exp_avg", "exp_avg_sq")
        if "momentum" in group:
            return ("momentum_buffer",) if group["momentum"] else ()
    raise CheckpointError(
        f"{path}: its optimizer has not run yet and is none that is known; take its weights "
        "only: give -o FILE.safetensors"
    )


def complete_states(parameters: list[SavedParameter], default: tuple[str, ...]) -> list[str]:
    """Gives each trained parameter the states that others have, as zeros: those of one
    that never had a gradient. Returns remarks."""
    names: dict[str, None] = {}
    for parameter in parameters:
        names.update(dict.fromkeys(parameter.states))
    wanted = tuple(names) or default
    remarks = []
    for parameter in parameters:
        missing = [name for name in wanted if name not in parameter.states]
        if not parameter.trainable or not missing:
            continue
        if names:
            remarks.append(
                f"'{parameter.name}' had no gradient yet: its {', '.join(missing)} are zero"
            )
        for name in missing:
            parameter.states[name] = Zeros(math.prod(parameter.shape))
    return remarks
