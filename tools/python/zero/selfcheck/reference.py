"""Updates of a module by PyTorch alone, on a copy."""

from __future__ import annotations

import copy
import types
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable, Iterable

import torch
from torch import nn
from torch.utils import _pytree as pytree

from zero.importer.parameters import key_of
from zero.importer.results import loss_of, output_of
from zero.selfcheck.draws import KnownDraws, random_state_kept
from zero.selfcheck.errors import CannotCheck

Batch = dict[str, Any]

# The part of a weight that rounding may change what comes of it by.
ROUNDING = 2e-6
# Of what f32 makes of 0, what f64 does at most: the parts of rounding are 2e-9 to 1.
VANISHING = 1e-5
# Of the weights: a gradient below it may be one of rounding alone.
SMALL_GRADIENT = 1e-5


def copy_of(module: nn.Module) -> nn.Module:
    """The module with memory of its own, and all that `deepcopy` leaves out: hooks of
    parameters, parameters that share their memory, and what functions of layers enclose."""
    # A tensor that a layer computes from its parameters is not copied by `deepcopy`.
    memo: dict[int, Any] = {}
    for layer in module.modules():
        for value in pytree.tree_leaves(dict(vars(layer))):
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()
    try:
        result = copy.deepcopy(module, memo)
    except Exception as error:
        raise CannotCheck(f"the module cannot be copied: {first_line(error)}") from error
    for layer in result.modules():
        for name, value in vars(layer).items():
            if isinstance(value, types.FunctionType):
                vars(layer)[name] = enclosing_copies(value, memo)
    shared: dict = {}
    for old, new in zip(module.parameters(), result.parameters()):
        new.data = shared.setdefault(key_of(old), new).data
        for hooks in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            if getattr(old, hooks):
                setattr(new, hooks, OrderedDict(getattr(old, hooks)))
    return result.cpu()


def enclosing_copies(function: types.FunctionType, copies: dict[int, Any]) -> Callable:
    """The function, such as a lambda, with the copies of what it reads from where it was made.
    `deepcopy` takes functions as they are, and this one would call the other module's layers."""
    if not (function.__closure__ or function.__defaults__ or function.__kwdefaults__):
        return function

    def own(value: Any) -> Any:
        if isinstance(value, types.FunctionType) and id(value) not in copies:
            return enclosing_copies(value, copies)
        return copies.get(id(value), value)

    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    result = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, None, cells
    )
    copies[id(function)] = result
    result.__defaults__ = tuple(map(own, function.__defaults__ or ()))
    named = (function.__kwdefaults__ or {}).items()
    result.__kwdefaults__ = {name: own(value) for name, value in named}
    vars(result).update(vars(function))
    for cell, other in zip(cells, function.__closure__ or ()):
        for value in contents(other):
            cell.cell_contents = own(value)
    return result


def contents(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # nothing yet
        return []


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


@dataclass
class Update:
    """What an update computes, by the names of the module: gradients are of the
    parameters that are trained."""

    loss: float
    outputs: dict[str, torch.Tensor]
    gradients: dict[str, torch.Tensor]


@dataclass
class Reference:
    """Updates by plain SGD. `before` and `after` are all parameters and buffers."""

    before: dict[str, torch.Tensor] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)
    after: dict[str, torch.Tensor] = field(default_factory=dict)
    rate: float = 0.0


def clones(batch: Batch, double: bool = False) -> Batch:
    def clone(value):
        if not isinstance(value, torch.Tensor):
            return value
        value = value.detach().cpu().clone()
        return value.double() if double and value.is_floating_point() else value

    return pytree.tree_map(clone, batch)


def run_reference(
    module: nn.Module,
    batches: list[Batch],
    outputs: tuple[str, ...] = (),
    *,
    rate: float | None = None,
    double: bool = False,
    prepare: Callable[[nn.Module], None] | None = None,
    before_update: Callable[[int], None] | None = None,
) -> Reference:
    """An update for each batch. `rate` is chosen after the first gradient where it is
    None; `prepare` gets the copy, and `before_update` the number of each update, from 0."""
    original, module = module, copy_of(module)
    if double:
        module = module.double()
    if prepare:
        prepare(module)
    result = Reference(before=state_of(module))
    with random_state_kept(), torch.enable_grad(), KnownDraws():
        torch.default_generator.manual_seed(0)
        for number, batch in enumerate(batches):
            if before_update:
                before_update(number)
            result.updates.append(one_update(module, clones(batch, double), outputs))
            if number == 0 and rate is None:
                precise = partial(
                    run_reference, original, [batch], rate=0.0, double=True, prepare=prepare
                )
                rate = learning_rate(module, result.updates[0], precise)
            result.rate = rate
            descend(module, result.rate)
    result.after = state_of(module)
    return result


def evaluate_reference(
    module: nn.Module,
    batch: Batch,
    state: dict[str, torch.Tensor],
    outputs: tuple[str, ...],
    *,
    double: bool = False,
    prepare: Callable[[nn.Module], None] | None = None,
) -> Update:
    """The loss and the outputs of the module in eval mode with this `state`. Raises CannotCheck
    where it draws what may be dropout, which evaluations of zero are without."""
    module = copy_of(module)
    tensors = dict(module.named_parameters(remove_duplicate=False))
    tensors |= module.named_buffers(remove_duplicate=False)
    for name, value in state.items():
        tensors[name].data.copy_(value)
    module = module.double() if double else module
    if prepare:
        prepare(module)
    try:
        with (
            random_state_kept(),
            torch.no_grad(),
            KnownDraws(evaluation=True) as draws,
        ):
            result = module.eval()(**clones(batch, double))
            loss = loss_of(result).item()
            named = {name: output_of(result, name).detach().clone() for name in outputs}
    except CannotCheck:
        raise
    except Exception as error:
        raise CannotCheck(f"in eval mode a copy of it ends with {first_line(error)}") from error
    if "bernoulli" in draws.drawn:
        raise CannotCheck("in eval mode it draws what may be dropout")
    return Update(loss, named, {})


def one_update(module: nn.Module, batch: Batch, outputs: tuple[str, ...]) -> Update:
    for parameter in module.parameters():
        parameter.grad = None
    try:
        result = module(**batch)
        loss = loss_of(result)
        loss.backward()
    except CannotCheck:
        raise
    except Exception as error:
        raise CannotCheck(f"PyTorch cannot train a copy of it: {first_line(error)}") from error
    named = {name: output_of(result, name).detach().clone() for name in outputs}
    update = Update(loss.item(), named, gradients_of(module))
    values = [torch.tensor(update.loss), *update.gradients.values()]
    if not all(bool(value.isfinite().all()) for value in values):
        raise CannotCheck("with the example batch its loss or a gradient is inf or NaN in PyTorch")
    return update


def gradients_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """Of each storage under its first name, as zero has it."""
    first: dict = {}
    found: dict[str, torch.Tensor] = {}
    for name, parameter in module.named_parameters():
        name = first.setdefault(key_of(parameter), name)
        if parameter.requires_grad:
            grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            found[name] = found.get(name, 0) + grad.detach().to_dense().clone()
    return found


def learning_rate(module: nn.Module, update: Update, precise: Callable[[], Reference]) -> float:
    """One that moves the weights by 1 %, or by less where the loss would fall by more
    than a tenth: the second update then differs from the first, and nothing explodes.
    `precise` has the update in f64: a gradient of rounding alone moves nothing."""
    weights = [p.detach() for p in module.parameters() if p.requires_grad]
    elements = sum(weight.numel() for weight in weights)
    size = max(norm(weights), 0.01 * elements**0.5)
    slope = norm(update.gradients.values())
    if slope == 0:
        return 1e-3
    if slope < SMALL_GRADIENT * size and vanishes(norm(gradients_in(precise())), slope):
        return 1e-3
    rate = 0.01 * size / slope
    return min(rate, 0.1 * abs(update.loss) / slope**2) if update.loss else rate


def gradients_in(reference: Reference) -> Iterable[torch.Tensor]:
    return reference.updates[0].gradients.values()


def vanishes(exact: float, rounded: float) -> bool:
    """Whether a norm is one of rounding alone: it shrinks with the precision, from f32, where it
    is `rounded`, to f64."""
    return 0 < rounded and exact <= VANISHING * rounded


def move(module: nn.Module, part: float, seed: int) -> None:
    """Moves the weights that are trained, by random numbers of this part of their size."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.numel():
                size = max(norm([parameter]) / parameter.numel() ** 0.5, 0.01)
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.data.add_(noise, alpha=part * size)


def norm(tensors) -> float:
    return float(sum(tensor.double().square().sum() for tensor in tensors)) ** 0.5


def descend(module: nn.Module, rate: float) -> None:
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.grad is not None:
                parameter.data.sub_(parameter.grad, alpha=rate)


def state_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers, each under all of its names."""
    parameters = module.named_parameters(remove_duplicate=False)
    buffers = module.named_buffers(remove_duplicate=False)
    return {name: value.detach().clone() for name, value in [*parameters, *buffers]}
