"""What differs between PyTorch's updates and zero's by more than rounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator

import torch

from zero.selfcheck.compiled import Run
from zero.selfcheck.errors import CannotCheck
from zero.selfcheck.reference import Reference, norm, vanishes

# Of the largest element of a tensor, and of the largest of all tensors of its kind. The
# second is for what is 0 in exact arithmetic, such as the gradient of a key's bias.
OF_TENSOR, OF_ALL = 2e-4, 2e-6
OF_LOSS, LOSS_FLOOR = 1e-5, 1e-6
# How much further from f64 than PyTorch's rounding zero may be, and how far that may be of
# all that a tensor is: beyond it a comparison would find nothing. What is 0 in exact arithmetic
# is rounding alone in f32, of which PyTorch's own is one sample.
OF_NOISE, NOISE_LIMIT, OF_NOTHING = 3, 0.1, 30


@dataclass(frozen=True)
class Pair:
    """A tensor that both compute: in which update, counted from 0, what and of what."""

    update: int
    kind: str  # "loss", "output", "gradient", "parameter" or "buffer"
    name: str
    wanted: torch.Tensor
    found: torch.Tensor

    @property
    def key(self) -> tuple:
        return self.update, self.kind, self.name

    @property
    def what(self) -> str:
        if self.kind == "gradient":
            return f"the gradient of '{self.name}'"
        return f"the {self.kind} '{self.name}'" if self.name else f"the {self.kind}"

    def __str__(self) -> str:
        when = "after update" if self.kind in ("parameter", "buffer") else "in update"
        return f"{when} {self.update + 1} {self.what}"

    def values(self) -> str:
        """The elements that differ most."""
        wanted, found = self.wanted.double().flatten(), self.found.double().flatten()
        distance = (found - wanted).abs().nan_to_num(nan=float("inf"))
        at = int(distance.argmax())
        text = f"is {found[at].item():.6g} and PyTorch's {wanted[at].item():.6g}"
        if wanted.numel() == 1:
            return text
        index = [int(i) for i in torch.unravel_index(torch.tensor(at), self.wanted.shape)]
        return f"{text} at {index}"


def pairs(reference: Reference, run: Run, buffers: set[str]) -> Iterator[Pair]:
    """All that both have, in the order in which it is computed."""
    for number, (wanted, found) in enumerate(zip(reference.updates, run.updates)):
        yield Pair(number, "loss", "", torch.tensor(wanted.loss), torch.tensor(found.loss))
        for name, value in wanted.outputs.items():
            yield Pair(number, "output", name, value, found.outputs[name])
        for name, value in wanted.gradients.items():
            other = found.gradients.get(name, torch.zeros_like(value))
            yield Pair(number, "gradient", name, value, other)
    last = len(reference.updates) - 1
    for name, value in reference.after.items():
        kind = "buffer" if name in buffers else "parameter"
        if name in run.after:
            yield Pair(last, kind, name, value, run.after[name])
        elif name in buffers and not name.endswith("num_batches_tracked"):
            # A constant of the model: it must be one in PyTorch.
            before = parts(reference.before.get(name, value))
            value = parts(value)
            if before.shape == value.shape:
                yield Pair(last, kind, name, value, before)


def parts(value: torch.Tensor) -> torch.Tensor:
    """A complex tensor as one of floats."""
    return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value


def differences(every: list[Pair], exact: Callable[[int | None], list[Pair]]) -> list[Pair]:
    """Those of the pairs that differ. `exact(None)` has them with PyTorch's values in f64,
    and `exact(seed)` with weights that are rounded otherwise: they tell what rounding does.
    Both are called where f32 alone does not decide."""
    scales = largest(every)
    found = [pair for pair in every if not is_near(pair, scales)]
    if not found:
        return []
    try:
        precise, *rounded = [by_key(exact(seed)) for seed in (None, 1, 2, 3)]
    except CannotCheck:
        return found
    others = [by_key(every), *rounded]
    return [pair for pair in found if not is_noise(pair, precise, others, scales)]


def by_key(every: list[Pair]) -> dict[tuple, torch.Tensor]:
    return {pair.key: pair.wanted for pair in every}


def largest(every: list[Pair]) -> dict[str, float]:
    scales: dict[str, float] = {}
    for pair in every:
        scales[pair.kind] = max(scales.get(pair.kind, 0.0), size(pair.wanted))
    return scales


def size(value: torch.Tensor) -> float:
    return float(value.double().abs().max()) if value.numel() else 0.0


def apart(first: torch.Tensor, second: torch.Tensor) -> float:
    """The largest difference of two elements: 0 for two that are the same infinity."""
    if first.shape != second.shape:
        return float("inf")
    first, second = first.double(), second.double()
    same = (first == second) | (first.isnan() & second.isnan())
    return size((first - second).masked_fill(same, 0).nan_to_num(nan=float("inf")))


def tolerance(pair: Pair, scales: dict[str, float]) -> float:
    finite = pair.wanted.double()
    finite = finite.masked_fill(~finite.isfinite(), 0)
    if pair.kind == "loss":
        return OF_LOSS * size(finite) + LOSS_FLOOR
    overall = scales[pair.kind] if scales[pair.kind] < float("inf") else 0.0
    return OF_TENSOR * size(finite) + OF_ALL * overall


def is_near(pair: Pair, scales: dict[str, float]) -> bool:
    return apart(pair.found, pair.wanted) <= tolerance(pair, scales)


def is_noise(pair: Pair, precise: dict, others: list[dict], scales: dict[str, float]) -> bool:
    """Whether rounding moves PyTorch's own values about as far: all elements together, since
    it decides on the gradient of some where an activation is near to its kink."""
    if any(pair.key not in known for known in (precise, *others)):
        return False
    exact = precise[pair.key]
    noise = max(distance(known[pair.key], exact) for known in others)
    elements = max(pair.wanted.numel(), 1) ** 0.5
    # At other weights what is 0 at a kink need not be rounding.
    rounding = distance(others[0][pair.key], exact)
    if vanishes(norm([exact]), rounding):
        return distance(pair.found, exact) <= OF_NOTHING * rounding + tolerance(pair, scales)
    if noise > NOISE_LIMIT * max(norm([exact]), 0.01 * scales[pair.kind] * elements):
        return False
    return distance(pair.found, exact) <= OF_NOISE * noise + tolerance(pair, scales)


def distance(first: torch.Tensor, second: torch.Tensor) -> float:
    return norm([first.double() - second.double()])
