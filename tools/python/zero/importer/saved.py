"""What a backward inside of forward reads of a function's own result.

PyTorch keeps the result of tanh or exp for the backward as another tensor of the same memory,
which a graph has no name for: tracing would take it for a constant. Here it is the result.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import (
    PythonKeyTracer,
    _ProxyTensor,
    get_proxy_mode,
    get_proxy_slot,
    has_proxy_slot,
    set_proxy_slot,
)
from torch.utils._python_dispatch import TorchDispatchMode

DETACH, ALIAS = torch.ops.aten.detach.default, torch.ops.aten.alias.default


class Kept(TorchDispatchMode):
    """Notes what PyTorch keeps: pairs of it and the result."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __torch_dispatch__(self, function, kinds, words=(), settings=None):
        result = function(*words, **(settings or {}))
        if function is DETACH:
            self.pairs.append((result, words[0]))
        return result

    def name_all(self, tracer: PythonKeyTracer) -> list[Node]:
        """Nodes for what has none: it is read as their detached value."""
        found = []
        for kept, result in self.pairs:
            if has_proxy_slot(result, tracer) and not has_proxy_slot(kept, tracer):
                operand = get_proxy_slot(result, tracer).proxy
                name = tracer.create_proxy("call_function", ALIAS, (operand,), {})
                set_proxy_slot(kept, tracer, _ProxyTensor(name, None))
                found.append(name.node)
        return found


@contextmanager
def results_named() -> Iterator[None]:
    """Has the graph of the trace that runs inside read results by their own nodes."""
    tracer, run, names = get_proxy_mode().tracer, torch.autograd._engine_run_backward, []

    def run_backward(*words: Any, **settings: Any) -> Any:
        if get_proxy_mode():  # The graph is not left alone.
            names.extend(kept.name_all(tracer))
        return run(*words, **settings)

    torch.autograd._engine_run_backward = run_backward
    try:
        with Kept() as kept:
            yield
    finally:
        torch.autograd._engine_run_backward = run
        for name in names:
            take_out(name)


def take_out(name: Node) -> None:
    (result,) = name.args
    for user in [user for user in name.users if user.target is DETACH]:
        user.replace_all_uses_with(result)
        name.graph.erase_node(user)
    name.replace_all_uses_with(result)
    name.graph.erase_node(name)
