"""`export`: from a module and an example batch to a model of zero."""

from __future__ import annotations

import contextlib
import os
import re
import weakref
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Sequence

import torch
from safetensors.torch import save_file
from torch import nn

from zero.arrays import bytes_of
from zero.batches import BatchForm
from zero.checkpoints.digest import digest_of
from zero.importer.capture import capture, refuse_lazy
from zero.importer.errors import CannotImport
from zero.importer.evaluation import Evaluated
from zero.importer.generators import generators_kept
from zero.importer.layers import Differ, Repeated, find_repeated
from zero.importer.modes import is_trained
from zero.importer.parameters import Parameters, check_memory, key_of, plain_name
from zero.importer.recognize import simplify
from zero.importer.step import StepWriter
from zero.importer.stored import saved_buffers, stored_buffers, stored_tensors
from zero.importer.surroundings import (
    default_type_told,
    refuse_kinds,
    refuse_modes,
    refuse_shared_memory,
)
from zero.importer.text import quoted, symbol
from zero.locks import OneAtATime
from zero.memory import is_there


@dataclass(repr=False)
class Model:
    """An imported model: the text that zero compiles, and the weights beside it.

    `inputs` are the names of the step's inputs, which the data must have too, and
    `aliases` gives tied parameters' further names: alias -> name.
    """

    text: str
    inputs: list[str]
    parameters: dict[str, torch.Tensor]
    aliases: dict[str, str]
    # The inputs that each of the further outputs depends on.
    uses: dict[str, set[str]] = field(default_factory=dict)
    # Where evaluations compute something else than PyTorch's: why, and what they compute.
    remark: str = ""
    # The buffers that the module saves, as `zero.importer.stored.stored_buffers`.
    buffers: dict[str, str | None] = field(default_factory=dict)
    # Of the example batch.
    form: BatchForm = field(default_factory=BatchForm)
    # Whose parameters have the values of now, and whose buffers are to stay as they were.
    module: Callable[[], nn.Module | None] | None = None

    def __repr__(self) -> str:
        elements = sum(value.numel() for value in self.parameters.values())
        return (
            f"<zero.Model of {', '.join(self.inputs)}: {len(self.parameters)} parameters, "
            f"{elements} elements>"
        )

    def save(self, path: str | os.PathLike, weights: str | os.PathLike | None = None) -> None:
        """Writes the model, and its weights as safetensors where a path is given: the
        executable then does not start without them."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text if weights is None else _pretrained(self.text))
        if weights is not None:
            self.save_weights(weights)

    def in_groups(self, groups: Mapping[str, str]) -> Model:
        """The same model with the parameters that `groups` has in these optimizer groups, in the
        place of their own."""
        by_symbol = {symbol(name): group for name, group in groups.items()}
        lines = self.text.split("\n")
        for number, line in enumerate(lines):
            found = _DECLARED.fullmatch(line)
            if found and found["symbol"] in by_symbol:
                group = quoted(by_symbol[found["symbol"]])
                lines[number] = f"{found['start']} group {group}{found['frozen'] or ''}"
                del by_symbol[found["symbol"]]
        if by_symbol:
            raise CannotImport(f"the model declares no parameter {next(iter(by_symbol))}")
        return replace(self, text="\n".join(lines))

    def save_weights(self, path: str | os.PathLike) -> None:
        """Writes the parameters, each storage once under its first name, with the values that
        the module has now."""
        self.take_values()
        missing = [name for name, value in self.parameters.items() if value.is_meta]
        if missing:
            raise CannotImport(
                f"the parameter '{missing[0]}' is on the meta device and has no values to save"
            )
        tensors = {name: value.contiguous().cpu() for name, value in self.parameters.items()}
        save_file(tensors, os.fspath(path), metadata={"format": "pt"})

    def take_values(self) -> None:
        """Parameters have the values of now, and constants those of the import. Raises
        CannotImport where the module has another form by now."""
        module = self.module() if self.module else None
        if module is None:
            return  # whose values nobody can have changed
        tensors = dict(module.named_parameters(remove_duplicate=False))
        tensors |= module.named_buffers(remove_duplicate=False)
        # A part may have been given to torch.compile since.
        tensors |= {plain_name(name): value for name, value in tensors.items()}
        found = {name: tensors.get(name) for name in self.parameters}
        for name, value in found.items():
            _check_form(name, value, self.parameters[name])
        for alias, name in self.aliases.items():
            if alias not in tensors or key_of(tensors[alias]) != key_of(tensors[name]):
                raise CannotImport(
                    f"'{alias}' was '{name}' when the module was imported, and is another tensor "
                    "now: import it again"
                )
        saved = saved_buffers(module)
        saved |= {plain_name(name): value for name, value in saved.items()}
        for name, digest in self.buffers.items():
            if digest is not None and not _has_digest(saved.get(name), digest):
                raise CannotImport(
                    f"the buffer '{name}' has changed since the module was imported, and the "
                    "model has its values as constants: import it again"
                )
        self.parameters = {name: value.detach() for name, value in found.items()}

    def __getstate__(self) -> dict[str, Any]:
        # A copy keeps the values of now, or those of the import where the module has another
        # form by now.
        with contextlib.suppress(CannotImport):
            self.take_values()
        return {**vars(self), "module": None}


# The line of a parameter, of which no average is in a group.
_DECLARED = re.compile(
    r'(?P<start>zero\.parameter (?P<symbol>@[\w$.]+|@"[^"]*") : .*?)( group "[^"]*")?'
    r"(?P<frozen> frozen)?"
)


def _check_form(name: str, now: torch.Tensor | None, before: torch.Tensor) -> None:
    """Raises CannotImport where a parameter is not what it was, but for its values."""
    if now is None:
        raise CannotImport(
            f"the module has no '{name}' any more, which it had when it was imported: import it "
            "again"
        )
    if now.shape != before.shape or now.dtype != before.dtype:
        raise CannotImport(
            f"'{name}' is {list(now.shape)} of {now.dtype}, and was {list(before.shape)} of "
            f"{before.dtype} when the module was imported: save or compile it before, or import it "
            "again"
        )
    check_memory(name, now)


def _has_digest(value: torch.Tensor | None, digest: str) -> bool:
    return value is not None and is_there(value) and digest_of(bytes_of(value)) == digest


def _pretrained(text: str) -> str:
    """The text of a model with weights beside it."""
    step = r"^(zero\.step @train\(.*\)) \{$"
    return re.sub(step, r"\1 attributes {zero.pretrained} {", text, count=1, flags=re.MULTILINE)


def export(
    module: nn.Module,
    batch: dict[str, Any],
    *,
    outputs: Sequence[str] = (),
    traces_all_layers: bool = True,
) -> Model:
    """Imports `module`, whose `forward(**batch)` returns the loss, an output with `.loss`, a
    dictionary with the item "loss", or a tuple of which the loss is the one scalar.

    `batch` is an example micro-batch: its tensors fix the shapes, and their names
    become the step's inputs. The module's mode (train or eval) decides on dropout.
    `outputs` names further tensors of the module's output, such as "logits". Raises
    CannotImport, with module path and source line, for what zero cannot say.

    Unless it `traces_all_layers`, layers of one structure are traced a few times
    (`zero.importer.layers`): for modules whose forward treats them alike.
    """
    refuse_kinds(module)
    refuse_lazy(module)
    refuse_modes(module)
    repeated = None if traces_all_layers else find_repeated(module)
    with _ONE_AT_A_TIME, default_type_told():
        if repeated:
            with contextlib.suppress(CannotImport, Differ):
                return _export(module, batch, tuple(outputs), repeated)
        return _export(module, batch, tuple(outputs), None)


# Tracing changes what PyTorch has for all threads.
_ONE_AT_A_TIME = OneAtATime("imported a model")


def _export(
    module: nn.Module, batch: dict[str, Any], outputs: tuple[str, ...], repeated: Repeated | None
) -> Model:
    parameters = Parameters(module)
    with repeated.shortened() if repeated else contextlib.nullcontext(), generators_kept():
        captured = capture(module, batch, outputs)
        evaluated = Evaluated(module, batch, outputs, captured)
    for traced in (captured, evaluated.captured):
        if traced:
            refuse_shared_memory(module, parameters, traced)
    if repeated and captured.averages:
        raise Differ  # Each layer has its own, which is found as it is traced.
    simplify(captured)
    writer = StepWriter(captured, parameters, outputs)
    writer.builder.is_evaluation = not is_trained(module)
    results = writer.convert()
    results = evaluated.added(writer, results)
    if repeated and evaluated.differs:
        raise Differ  # Layers of training and of evaluations are not told apart.
    unread = repeated.of_all_layers(captured.unread) if repeated else captured.unread
    buffers = stored_buffers(module, parameters, unread)
    return Model(
        writer.text(results, stored_tensors(parameters, buffers), repeated),
        list(captured.inputs.values()),
        {parameter.name: parameter.data for parameter in parameters.all()},
        {name: p.name for name, p in parameters.by_name.items() if name != p.name},
        {name: writer.inputs_of(value) for name, value in zip(outputs, results[1:])},
        evaluated.remark,
        buffers,
        captured.form.of(module.forward),
        weakref.ref(module),
    )
