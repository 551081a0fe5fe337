"""Where gradients end: at detached tensors and regions without gradients."""

from __future__ import annotations

import torch
from torch.fx import Graph, GraphModule, Node

from zero.importer.errors import CannotImport
from zero.importer.places import place_of
from zero.importer.stops import STOP
from zero.importer.writes import DETACHES, GRAD_MODE, memory_of, written_by


def dependents(graph: Graph, trained: set[Node]) -> set[Node]:
    """What gradients reach a parameter from: the trained ones, and what is computed of
    them, but for detached tensors and regions without gradients."""
    found, written = set(trained), set()
    for node in graph.nodes:
        if node.op != "call_function" or str(node.target) in (*DETACHES, STOP.name()):
            continue
        enabled = str(node.target) != GRAD_MODE or node.args[0]
        if enabled and any(is_dependent(s, found, written) for s in node.all_input_nodes):
            found.add(node)
            written |= {memory_of(changed) for changed in written_by(node)} - {None}
    return found


def is_dependent(node: Node, found: set[Node], written: set[int | None]) -> bool:
    """A tensor that trained values were written to is one, too."""
    return node in found or memory_of(node) in written


def mark_stops(program, dependent: set[Node]) -> None:
    """Puts a stop on what a detach or a region without gradients makes of a
    trained value. Decompositions would inline both and forget them."""
    graph = program.graph_module.graph
    written = {memory_of(w) for node in dependent for w in written_by(node)} - {None}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        name = str(node.target)
        if name == "wrap_with_autocast":
            raise CannotImport(
                "autocast: a model has no precision of its own; leave it out and set "
                "`bf16` in the configuration",
                place_of(node),
            )
        if not any(is_dependent(source, dependent, written) for source in node.all_input_nodes):
            continue
        if name == GRAD_MODE and not node.args[0]:
            stop_inside(getattr(program.graph_module, node.args[1].target))
            for item in list(node.users):
                stop_after(graph, item)
        elif name in DETACHES:
            node.target = STOP
    graph.lint()
    program.graph_module.recompile()


def stop_inside(region: GraphModule) -> None:
    """A detach in a region without gradients stops nothing more. It shares its memory."""
    for part in region.modules():
        if isinstance(part, GraphModule):
            for node in list(part.graph.nodes):
                if str(node.target) in DETACHES:
                    node.replace_all_uses_with(node.args[0])
                    part.graph.erase_node(node)
            part.recompile()


def stop_after(graph: Graph, node: Node) -> None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return
    with graph.inserting_after(node):
        stop = graph.call_function(STOP, (node,))
    stop.meta = dict(node.meta)
    node.replace_all_uses_with(stop, delete_user_cb=lambda user: user is not stop)
