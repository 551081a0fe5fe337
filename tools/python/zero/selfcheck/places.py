"""Which module is the first whose output or gradient differs."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import nn
from torch.utils import _pytree as pytree

from zero.importer.model import Model
from zero.importer.results import loss_of
from zero.selfcheck.compiled import run_compiled
from zero.selfcheck.differences import Pair, apart, size
from zero.selfcheck.reference import Batch, copy_of, run_reference

# How far a value may be, of its largest element, before it counts as the first that differs.
OF_VALUE = 2e-5


@dataclass
class Values:
    """What modules get and return, in the order of computation: (path of the module that
    computed it, first tensor). What a module gets is its caller's."""

    found: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    callers: list[str] = field(default_factory=lambda: [""])

    def record(self, path: str, forward: Callable, *args, **kwargs) -> Any:
        self._add(self.callers[-1], (args, kwargs))
        self.callers.append(path)
        try:
            result = forward(*args, **kwargs)
        finally:
            self.callers.pop()
        self._add(path, result)
        return result

    def _add(self, path: str, values: Any) -> None:
        for value in pytree.tree_leaves(values):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                self.found.append((path, value.detach().clone()))
                return

    def of_modules(self, module: nn.Module) -> None:
        """Has all modules inside `module` recorded."""
        for path, layer in module.named_modules():
            if path and not isinstance(layer, torch.jit.ScriptModule):
                layer.forward = functools.partial(self.record, path, layer.forward)


def first_module(
    module: nn.Module, batches: list[Batch], rate: float, differing: list[Pair], export: Callable
) -> str:
    """The path of the module that the first of the `differing` pairs comes from: the first
    whose output differs, or, where all outputs agree, the first of the backward pass whose
    gradient does. `export` imports a module with named outputs. "" is the model itself."""
    first = differing[0]
    if first.kind == "buffer":
        return owner(first.name)
    order: list[str] = []
    if any(pair.kind in ("loss", "output", "gradient") for pair in differing):
        try:
            order, wrong = compare_values(module, batches[: first.update + 1], rate, export)
        except Exception:  # Whatever hinders it, that something differs is what counts.
            wrong = None
        if wrong is not None:
            return wrong
    if first.kind in ("loss", "output"):
        return ""
    update = [p.name for p in differing if p.update == first.update and p.kind == first.kind]
    places = {path: number for number, path in enumerate(order)}
    return owner(max(update, key=lambda name: places.get(owner(name), -1)))


def owner(name: str) -> str:
    return name.rpartition(".")[0]


def compare_values(
    module: nn.Module, batches: list[Batch], rate: float, export: Callable
) -> tuple[list[str], str | None]:
    """(the modules in the order in which they return, the first whose output differs in the
    last update)"""
    wanted = values_of_reference(module, batches, rate)
    paths = [path for path, _ in wanted]
    names = tuple(f"value {number}" for number in range(len(wanted)))
    model = exported_with_values(module, batches[0], names, export)
    found = run_compiled(model, batches, rate, names).updates[-1].outputs
    for (path, value), name in zip(wanted, names):
        if apart(found[name].reshape(value.shape), value) > OF_VALUE * size(value):
            return paths, path
    return paths, None


def values_of_reference(module, batches, rate) -> list[tuple[str, torch.Tensor]]:
    values = Values()
    run_reference(
        module,
        batches,
        rate=rate,
        prepare=values.of_modules,
        before_update=lambda _: values.found.clear(),
    )
    return values.found


def exported_with_values(module, batch: Batch, names: tuple[str, ...], export: Callable) -> Model:
    values, copied = Values(), copy_of(module)
    values.of_modules(copied)
    forward = copied.forward

    def with_values(*args, **kwargs):
        values.found.clear()
        loss = loss_of(forward(*args, **kwargs))
        return {"loss": loss, **dict(zip(names, (value for _, value in values.found)))}

    copied.forward = with_values
    return export(copied, batch, outputs=names)
