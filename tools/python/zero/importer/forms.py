"""How the arguments of forward become the inputs of a step."""

from __future__ import annotations

import torch.utils._pytree as pytree
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind

from zero.batches import BatchForm, Fixed


def _arguments(program: ExportedProgram) -> list:
    specs = program.graph_signature.input_specs
    return [spec.arg for spec in specs if spec.kind == InputKind.USER_INPUT]


def input_names(program: ExportedProgram) -> dict[str, str]:
    """The inputs' names in the batch, by those of their placeholders, which have other
    characters in place of some. What is inside of a list has its placeholder's name."""
    inputs = [argument.name for argument in _arguments(program)]
    _, batch = pytree.tree_unflatten(inputs, program.call_spec.in_spec)
    given = {inner: name for name, inner in batch.items() if isinstance(inner, str)}
    names = {}
    for inner in inputs:
        name = given.get(inner, inner)
        while inner not in given and name in batch:
            name += "_"
        names[inner] = name
    return names


def batch_form(program: ExportedProgram) -> BatchForm:
    """What the example batch has beside tensors."""
    names = input_names(program)
    leaves = [
        Fixed(argument.value) if isinstance(argument, ConstantArgument) else names[argument.name]
        for argument in _arguments(program)
    ]
    _, batch = pytree.tree_unflatten(leaves, program.call_spec.in_spec)
    return BatchForm({name: entry for name, entry in batch.items() if not isinstance(entry, str)})
