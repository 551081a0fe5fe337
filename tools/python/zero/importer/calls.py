"""What a traced forward calls, to tell whether two traces are of one computation.

An evaluation is without dropout, whatever a trace says: it is left out here. Regions
without gradients have the values of any other.
"""

from __future__ import annotations

import operator
from typing import Any, Iterable

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.fx import GraphModule, Node

from zero.importer.steps import digest
from zero.importer.writes import GRAD_MODE

aten = torch.ops.aten
# Values of their first operands, in an evaluation.
SAME = (
    aten.dropout.default,
    aten.feature_dropout.default,
    aten.detach.default,
    aten.contiguous.default,
)
ATTENTION = aten.scaled_dot_product_attention.default


def calls_of(program: ExportedProgram) -> list[str]:
    """Equal for two traces of one module that compute the same; such that differ may still
    compute the same. To be read before the graph is changed."""
    calls = Calls(SAME)
    results = calls.of(program.graph_module, inputs_of(program))
    if calls.writes:
        # Which tells copies from views: those of dropout depend on the mode.
        calls = Calls(())
        results = calls.of(program.graph_module, inputs_of(program))
    return [*calls.lines, str(results)]


def inputs_of(program: ExportedProgram) -> list[str]:
    found = []
    for spec in program.graph_signature.input_specs:
        if isinstance(spec.arg, ConstantArgument):
            found.append(repr(spec.arg.value))
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            found.append(known(program.constants[spec.target]))
        else:
            found.append(f"{spec.kind.name} {spec.target or spec.arg.name}")
    return found


def known(value: Any) -> str:
    if isinstance(value, torch.Tensor) and value.is_meta:
        return f"{value.dtype} {tuple(value.shape)} on meta"
    return digest(value)


class Calls:
    """`same` are the operations that are left out."""

    def __init__(self, same: tuple):
        self.same = same
        self.lines: list[str] = []
        self.writes = False

    def of(self, module: GraphModule, operands: Iterable[Any]) -> Any:
        """Adds the calls of a graph; its results, by the numbers of their calls."""
        values: dict[Node, Any] = {}
        given = iter(operands)
        for node in module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "get_attr":
                values[node] = self._attribute(module, node)
            elif node.op == "output":
                return mapped(node.args[0], values)
            else:
                values[node] = self._call(module, node, values)
        return None

    def _attribute(self, module: GraphModule, node: Node) -> Any:
        value = operator.attrgetter(node.target)(module)
        if not isinstance(value, GraphModule):
            return known(value)
        inner = Calls(self.same)
        places = [n for n in value.graph.nodes if n.op == "placeholder"]
        results = inner.of(value, [f"operand {i}" for i in range(len(places))])
        self.writes |= inner.writes
        return f"{inner.lines} {results}"

    def _call(self, module: GraphModule, node: Node, values: dict[Node, Any]) -> Any:
        if GRAD_MODE in str(node.target):
            region = operator.attrgetter(node.args[1].target)(module)
            return self.of(region, [mapped(value, values) for value in node.args[2:]])
        first = mapped(node.args[0], values) if node.args else None
        if node.target in self.same:
            return first
        if node.target is operator.getitem and isinstance(first, (tuple, list)):
            return first[node.args[1]]
        self.writes |= isinstance(node.target, OpOverload) and node.target._schema.is_mutable
        args, kwargs = node.args, dict(node.kwargs)
        if node.target is ATTENTION and self.same:
            kwargs.pop("dropout_p", None)
            args = [*args[:4], *args[5:]]
            while args[-1] in (None, False):  # As where they are left out.
                args.pop()
        self.lines.append(f"{node.target} {mapped(args, values)} {mapped(kwargs, values)}")
        return f"%{len(self.lines)}"


def mapped(value: Any, values: dict[Node, Any]) -> Any:
    if isinstance(value, Node):
        return values[value]
    if isinstance(value, (tuple, list)):
        return tuple(mapped(item, values) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, values) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
