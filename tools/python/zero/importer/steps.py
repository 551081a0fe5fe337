"""Whether the second step computes what the first one does.

Where forward changes its module, it is traced again with what the first step left, and
the graphs are compared by what they compute: names and dead code say nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from zero.arrays import bytes_of
from zero.importer.captured import Captured, needed
from zero.importer.fold import fold
from zero.importer.stops import GIVEN, KEPT


def take_kept(graph: Graph) -> None:
    """Takes the marks of what forward assigned out of the graph."""
    for node in [node for node in graph.nodes if node.target is KEPT]:
        graph.erase_node(node)
    graph.owning_module.recompile()


def kept_values(captured: Captured, given: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    """By the number of its mark, the value of what forward assigned, where it depends on
    neither the batch nor a parameter, nor on random numbers."""
    values = folded(captured, given)
    found = {}
    for node in captured.graph.nodes:
        if node.target is KEPT and isinstance(values.get(node.args[0]), torch.Tensor):
            found[node.args[1]] = values[node.args[0]]
    return found


def folded(captured: Captured, given: dict[int, torch.Tensor]) -> dict[Node, Any]:
    """The values of constant nodes; `given` are those of what the step before left."""
    constants = dict(captured.constants)
    for node in captured.graph.nodes:
        if node.target is GIVEN:
            constants[node] = given[node.args[1]]
    copy = replace(captured, constants=constants)
    fold(copy)
    return constants


def computation_of(captured: Captured, given: dict[int, torch.Tensor]) -> list[str]:
    """Equal for two graphs that compute the same."""
    values = folded(captured, given)
    names = {**captured.parameters, **captured.inputs}
    names.update({node: average.name for node, average in captured.averages.items()})
    live = needed(captured.results, values)
    called: dict[Node, int] = {}
    lines: list[str] = []

    def name(node: Node) -> str:
        # Where the graph has them, a step that makes its constants and one that is given
        # them do not agree.
        if node in values:
            return digest(values[node])
        return names[node] if node in names else f"%{called[node]}"

    for node in captured.graph.nodes:
        if node.op == "call_function" and node in live and node not in values:
            words = torch.fx.map_arg((node.args, node.kwargs), name)
            called[node] = len(called)
            lines.append(f"{node.target} {words}")
    return [*lines, *map(name, captured.results)]


def digest(value: Any) -> str:
    """Tells constants apart, the kinds of zeros and NaNs included."""
    if isinstance(value, torch.Tensor):
        text = hashlib.sha256(bytes_of(value)).hexdigest()
        return f"{value.dtype} {tuple(value.shape)} {text}"
    if isinstance(value, (list, tuple)):
        return str([digest(item) for item in value])
    if isinstance(value, GraphModule):
        return value.print_readable(print_output=False)
    return repr(value)
