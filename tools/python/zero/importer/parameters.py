"""Parameters of the step: names, ties, initial values, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, NoReturn

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from zero.importer.errors import CannotImport
from zero.importer.text import decimal, symbol, tensor_type
from zero.memory import is_there, layout_of, meets_itself, storage_of


@dataclass(frozen=True, eq=False)
class Parameter:
    """One storage, under the first of its names. With `average` a buffer that training
    tracks, and the part of the difference that it moves by in a micro-batch."""

    name: str
    data: torch.Tensor
    frozen: bool
    average: float | None = None

    def declaration(self) -> str:
        kind = tensor_type(tuple(self.data.shape), self.data.dtype)
        text = f"zero.parameter {symbol(self.name)} : {kind} = {self.initial()}"
        if self.average is not None:
            return f"{text} average {decimal(self.average)}"
        # Weight decay is for matrices, by convention.
        group = ' group "no_decay"' if self.data.dim() < 2 else ""
        frozen = " frozen" if self.frozen else ""
        return f"{text}{group}{frozen}"

    def initial(self) -> str:
        """How to draw values where no weights are given: like the present ones.
        Averages, of which some must not be negative, begin with the mean of them."""
        if self.average is not None and not self.data.is_meta:
            mean = self.data.double().mean().item()
            known = {0.0: "#zero.zeros", 1.0: "#zero.ones"}
            return known.get(mean, f"#zero.constant<{decimal(float(f'{mean:.4g}'))}>")
        if self.data.is_meta:
            if self.name.endswith("running_mean"):
                return "#zero.zeros"
            if self.data.dim() >= 2:
                return "#zero.normal<std = 0.02>"
            return "#zero.zeros" if self.name.endswith("bias") else "#zero.ones"
        # A mask of -inf, or memory that nobody has written, has no distribution.
        finite = self.data[self.data.isfinite()]
        first = finite[0].item() if finite.numel() else 0.0
        if first >= 0 and bool((finite == first).all()):
            known = {0.0: "#zero.zeros", 1.0: "#zero.ones"}
            return known.get(first, f"#zero.constant<{decimal(first)}>")
        deviation = finite.double().square().mean().sqrt().item()
        return f"#zero.normal<std = {decimal(float(f'{deviation:.4g}'))}>"


def key_of(parameter: torch.Tensor):
    """Equal for two parameters that are one."""
    storage = storage_of(parameter)
    return (storage, *layout_of(parameter)) if storage else id(parameter)


def plain_name(name: str) -> str:
    """Without the part that torch.compile puts before the names of what it wraps."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def check_memory(name: str, value: torch.Tensor) -> None:
    """Raises CannotImport where the elements of a tensor of a module are not there."""
    if not is_there(value):
        raise CannotImport(
            f"'{name}' has no memory for its {value.numel()} elements, as its storage was resized "
            "or freed: give it values first"
        )


def module_tensors(module: nn.Module, known: Iterable[str]) -> dict[str, torch.Tensor]:
    """The parameters of the module, and those of its buffers that are `known`."""
    parameters = Parameters(module, is_imported=False)
    tensors = {parameter.name: parameter.data for parameter in parameters.all()}
    known = set(known)
    for name, value in module.named_buffers(remove_duplicate=False):
        if name in known:
            tensors[name] = value
    return tensors


class Parameters:
    """The module's parameters by any of their names. Those of one that is imported are f32."""

    def __init__(self, module: nn.Module, is_imported: bool = True):
        self.by_name: dict[str, Parameter] = {}
        first: dict = {}
        for name, value in module.named_parameters(remove_duplicate=False):
            if is_imported:
                self._check(name, value)
            key, frozen = key_of(value), not value.requires_grad
            known = first.setdefault(key, Parameter(name, value.detach(), frozen))
            if is_imported and known.frozen != frozen:
                self._refuse_half_frozen(known, name)
            self.by_name[name] = known
        same: dict[int, list[str]] = {}
        for name, value in module.named_buffers(remove_duplicate=False):
            same.setdefault(id(value), []).append(name)
        # All names of a buffer, by each of them.
        self.buffers = {name: names for names in same.values() for name in names}
        self._refuse_overlaps(first.values())

    def _check(self, name: str, value: torch.Tensor) -> None:
        if isinstance(value, FakeTensor):
            raise CannotImport(
                f"the parameter '{name}' is a FakeTensor, which has no values: make the module "
                "outside of FakeTensorMode"
            )
        check_memory(name, value)
        if value.dtype != torch.float32:
            refuse_type(name, value.dtype)
        if value.requires_grad and meets_itself(value):
            raise CannotImport(
                f"elements of the parameter '{name}', of strides {list(value.stride())}, share "
                "memory, which no update can write: make it of value.clone()"
            )

    def _refuse_half_frozen(self, known: Parameter, name: str) -> None:
        trained, frozen = (name, known.name) if known.frozen else (known.name, name)
        raise CannotImport(
            f"the parameter '{frozen}', which is frozen, shares the memory of '{trained}', which "
            f"is trained: use {trained}.detach() in forward, or give each its own memory"
        )

    def _refuse_overlaps(self, parameters) -> None:
        storages: dict[int, list[Parameter]] = {}
        for parameter in parameters:
            storage = storage_of(parameter.data)
            others = storages.setdefault(storage, []) if storage else []
            for other in others:
                if not (other.frozen and parameter.frozen):
                    raise CannotImport(
                        f"the parameters '{other.name}' and '{parameter.name}' are parts of one "
                        "tensor, or have it in two layouts, as a transpose: register one, of "
                        "which forward takes the other, or give each its own memory"
                    )
            others.append(parameter)

    def average(self, name: str, data: torch.Tensor, weight: float) -> Parameter:
        """Adds a buffer that training tracks, once, under the first of its names."""
        if name not in self.by_name:
            self._check(name, data)
            names = self.buffers.get(name, [name])
            parameter = Parameter(names[0], data, frozen=False, average=weight)
            self.by_name |= dict.fromkeys(names, parameter)
        return self.by_name[name]

    def all(self) -> list[Parameter]:
        """Each storage once, in the module's order."""
        return list(dict.fromkeys(self.by_name.values()))


def refuse_type(name: str, dtype: torch.dtype) -> NoReturn:
    advice = "and the configuration's `bf16` or `fp16` says in what it trains; call module.float()"
    if dtype.is_complex:
        advice = (
            "so make it a parameter of floats whose last dimension has both parts, as "
            "torch.view_as_real gives, and call torch.view_as_complex of it in forward"
        )
    raise CannotImport(f"the parameter '{name}' is {dtype}: a model is f32, {advice}")
