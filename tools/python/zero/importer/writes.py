"""Writes in place that gradients do not follow.

Two tensors may be one memory. Tracing turns a write to one of them into a new value
of both, but not where a detach or a region without gradients is between them: there
the graph has a stop, which is a tensor of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator

import torch
from torch.fx import GraphModule, Node

from zero.importer.errors import CannotImport
from zero.importer.places import place_of

DETACHES = ("aten.detach.default", "aten.detach_.default")
GRAD_MODE = "wrap_with_set_grad_enabled"


def memory_of(node: Any) -> int | None:
    """What is equal for two nodes whose tensors are one memory; parts of a tensor, as
    a split gives them, are in the memory of the first."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return memory_of_tensor(value) if isinstance(value, torch.Tensor) else None


def memory_of_tensor(tensor: torch.Tensor) -> int | None:
    try:
        return tensor.untyped_storage()._cdata
    except NotImplementedError:
        return None  # A tensor inside of torch.func.grad, which has no memory of its own.


def written_by(node: Node) -> list[Node]:
    """The tensors whose elements an operation changes."""
    if not isinstance(node.target, torch._ops.OpOverload) or str(node.target) in DETACHES:
        return []
    written: list[Node] = []
    for index, argument in enumerate(node.target._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
        torch.fx.map_arg(given, written.append)
    return written


@dataclass(frozen=True)
class Step:
    """An operation of a graph or of a region of it, with its tensors: nodes of the
    region, each with its cut. `apart`: gradients are off here."""

    node: Node
    read: dict[Node, Any]
    apart: bool


class Cuts:
    """Walks a graph in order, regions included, and says of each tensor behind which
    detach it is: None where it is behind none."""

    def __init__(self, module: GraphModule):
        self.behind: dict[Node, Any] = {}
        self.steps = list(self._steps(module, False))

    def _steps(self, module: GraphModule, apart: bool) -> Iterator[Step]:
        for node in module.graph.nodes:
            read = {source: self.behind.get(source) for source in node.all_input_nodes}
            region = self._region(module, node)
            if region:
                off = str(node.target) == GRAD_MODE and not node.args[0]
                self._enter(region, node)
                yield from self._steps(region, off)
                continue
            if str(node.target) in DETACHES:
                self.behind[node] = node
            elif node.op == "call_function":
                # A view is behind what its memory is behind.
                memory = memory_of(node)
                same = [s for s in node.all_input_nodes if memory and memory_of(s) == memory]
                self.behind[node] = self.behind.get(same[0]) if same else None
            if node.op in ("call_function", "output"):
                yield Step(node, read, apart)

    @staticmethod
    def _region(module: GraphModule, node: Node) -> GraphModule | None:
        for source in node.all_input_nodes:
            if source.op == "get_attr" and node.op == "call_function":
                found = getattr(module, source.target, None)
                if isinstance(found, GraphModule):
                    return found
        return None

    def _enter(self, region: GraphModule, node: Node) -> None:
        given = [s for s in node.all_input_nodes if s.op != "get_attr"]
        inner = [n for n in region.graph.nodes if n.op == "placeholder"]
        for source, placeholder in zip(given, inner):
            self.behind[placeholder] = self.behind.get(source)


def refuse_writes(module: GraphModule, owners: dict[Node, str], trained: set[int]) -> None:
    """Refuses writes to `owners`, placeholders that forward may not change, and those
    to memory of `trained` tensors that are read elsewhere as well."""
    names = {memory_of(node): name for node, name in owners.items()}
    steps = Cuts(module).steps
    made: dict[int, bool] = {}  # memory: whether it is of a region without gradients
    for index, step in enumerate(steps):
        made.setdefault(memory_of(step.node), step.apart)
        for written in written_by(step.node):
            memory = memory_of(written)
            if memory is None:
                raise CannotImport(
                    "a write in place inside of a torch.func transform", place_of(step.node)
                )
            if memory in names:
                raise CannotImport(
                    f"forward changes '{names[memory]}' in place: return a new tensor",
                    place_of(step.node),
                )
            cut = step.read[written]
            # What a region without gradients leaves in a tensor from outside is lost.
            inward = step.apart and not made.get(memory, False)
            if inward and (memory in trained or cut is None):
                cut = step.node
            if (inward or memory in trained) and is_read_beside(steps[index + 1 :], memory, cut):
                raise CannotImport(
                    "a write in place, in `no_grad` or to a tensor whose detach shares its "
                    "memory, that another tensor sees: write to a clone, such as "
                    "x.detach().clone()",
                    place_of(step.node),
                )


def is_read_beside(steps: list[Step], memory: int, cut: Any) -> bool:
    """Whether a later step reads what does not see the write: a tensor behind another
    detach, which was made before."""
    later = {step.node for step in steps}
    return any(
        memory_of(source) == memory and behind is not cut and behind not in later
        for step in steps
        for source, behind in step.read.items()
    )
