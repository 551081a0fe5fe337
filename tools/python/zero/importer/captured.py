"""A traced graph, and what its placeholders stand for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Container, Iterable

import torch
from torch.fx import Graph, Node

from zero.batches import BatchForm


@dataclass(frozen=True)
class Average:
    """A buffer that training tracks: its name in the module, its value, and the part
    of the difference that it moves by in a micro-batch."""

    name: str
    data: torch.Tensor
    weight: float


@dataclass
class Captured:
    """The graph, and what its placeholders stand for."""

    graph: Graph
    parameters: dict[Node, str]  # by the name in the module
    averages: dict[Node, Average]
    constants: dict[Node, Any]
    inputs: dict[Node, str]
    results: list[Node]
    batch: dict[str, Any] = field(default_factory=dict)  # the example
    form: BatchForm = field(default_factory=BatchForm)  # of the example
    # The names of buffers that no result depends on.
    unread: set[str] = field(default_factory=set)
    # The placeholders of buffers, by the name in the module.
    buffers: dict[Node, str] = field(default_factory=dict)
    # Where forward asks for its mode.
    modes: list[str] = field(default_factory=list)
    # As `calls_of`, where forward asks for its mode and changes nothing of its module.
    calls: list[str] = field(default_factory=list)


def needed(results: Iterable[Node], known: Container[Node] = ()) -> set[Node]:
    """The nodes that `results` depend on; nothing asks what the `known` ones do."""
    found, stack = set(), list(results)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack += [] if node in known else node.all_input_nodes
    return found
