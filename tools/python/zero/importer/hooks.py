"""Hooks on gradients.

Tracing sees none of them. One that multiplies by constants is computed: a gradient
hook is called with gradients at random to find out. What else hooks do is refused.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator

import torch
from torch import nn
from torch.fx import Graph, GraphModule, Node
from torch.nn.modules import module as modules

from zero.importer.errors import CannotImport, Place
from zero.importer.places import PACKAGE, TORCH, place_of, place_of_frames
from zero.importer.state import State
from zero.importer.stops import HOOKED
from zero.importer.writes import memory_of, written_by


@dataclass
class Hook:
    """Functions that one tensor's gradient goes through, in order."""

    functions: list[Callable]
    place: Place | None
    what: str


@dataclass
class Hooks:
    """What tracing met, by the number that the graph names it by."""

    found: list[Hook] = field(default_factory=list)
    gradients_inside: bool = False

    def add(self, hook: Hook) -> int:
        self.found.append(hook)
        return len(self.found) - 1


def refuse_module_hooks(module: nn.Module) -> None:
    """Those on what a module's backward takes and gives."""
    shared = {**modules._global_backward_hooks, **modules._global_backward_pre_hooks}
    if shared:
        raise CannotImport(
            "a backward hook of all modules, which zero would never call: remove it with its "
            "handle's `remove()`"
        )
    for name, layer in module.named_modules():
        if layer._backward_hooks or layer._backward_pre_hooks:
            raise CannotImport(
                f"a backward hook of {type(layer).__name__}, which zero would never call: remove "
                "it with its handle's `remove()`",
                Place(module=name),
            )


def hooks_of_parameters(module: nn.Module) -> dict[str, Hook]:
    """By the first name of each parameter that has some."""
    found = {}
    for name, parameter in module.named_parameters():
        if parameter._post_accumulate_grad_hooks:
            raise CannotImport(
                f"'{name}' has a hook after its gradient's accumulation, which zero would never "
                "call: remove it with its handle's `remove()`; the update is the configuration's"
            )
        functions = list((parameter._backward_hooks or {}).values())
        if functions and parameter.requires_grad:
            found[name] = Hook(functions, None, f"the gradient hook of '{name}'")
    return found


# While tracing


@contextmanager
def hooks_recorded() -> Iterator[Hooks]:
    """Records the hooks of tensors that forward makes, as nodes of the graph, and ends
    gradients at those that forward takes itself and PyTorch does not follow."""
    hooks = Hooks()
    patches = [
        (torch.Tensor, "register_hook", recorded(hooks)),
        refusal(torch.Tensor, "register_post_accumulate_grad_hook"),
        refusal(torch.autograd.graph, "register_multi_grad_hook"),
        (torch.autograd.graph.saved_tensors_hooks, "__init__", packed_by_torch()),
        (torch.autograd, "_engine_run_backward", followed(hooks)),
    ]
    before = [(owner, name, owner.__dict__[name]) for owner, name, _ in patches]
    for owner, name, function in patches:
        setattr(owner, name, function)
    torch.Tensor.grad_fn = property(graph_of_gradients)
    try:
        yield hooks
    finally:
        del torch.Tensor.grad_fn
        for owner, name, function in before:
            setattr(owner, name, function)


def here() -> Place | None:
    return place_of_frames(traceback.extract_stack())


def recorded(hooks: Hooks) -> Callable:
    def register_hook(self: torch.Tensor, hook: Callable) -> Any:
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        entry = Hook([hook], here(), "a gradient hook")
        torch.ops.zero_importer.hooked(self, hooks.add(entry))
        return Handle(entry)

    return register_hook


@dataclass
class Handle:
    """Takes a recorded hook away again."""

    hook: Hook

    def remove(self) -> None:
        self.hook.functions.clear()


def refusal(owner: Any, name: str) -> tuple[Any, str, Callable]:
    """What replaces a function that nothing may call."""

    def refuse(*words: Any, **settings: Any) -> None:
        raise CannotImport(f"{name} in forward, which zero would never call: leave it out", here())

    return owner, name, refuse


def packed_by_torch() -> Callable:
    original = torch.autograd.graph.saved_tensors_hooks.__init__

    def start(self: Any, *words: Any, **settings: Any) -> None:
        own = type(self) is torch.autograd.graph.saved_tensors_hooks
        if own or not type(self).__module__.startswith("torch."):
            raise CannotImport(
                "saved_tensors_hooks, which zero would never call: leave them out", here()
            )
        original(self, *words, **settings)

    return start


def graph_of_gradients(self: torch.Tensor) -> Any:
    """PyTorch's own code may read it; a model could hook what it finds there."""
    caller = traceback.extract_stack(limit=2)[0].filename
    if not caller.startswith((TORCH, PACKAGE)):
        raise CannotImport("forward reads `grad_fn`, which a traced tensor has not", here())
    return torch._C.TensorBase.grad_fn.__get__(self)


def followed(hooks: Hooks) -> Callable:
    original = torch.autograd.graph._engine_run_backward

    def run_backward(outputs, weights, keep, create_graph, *rest, **settings):
        if settings.get("accumulate_grad"):
            raise CannotImport(
                "forward calls backward(), whose gradients zero does not keep: use "
                "torch.autograd.grad",
                here(),
            )
        hooks.gradients_inside = True
        found = original(outputs, weights, keep, create_graph, *rest, **settings)
        if create_graph:
            return found
        stop = torch.ops.zero_importer.stop_gradient
        return tuple(stop(g) if isinstance(g, torch.Tensor) else g for g in found)

    return run_backward


# In the graph


def apply_hooks(module: GraphModule, hooks: Hooks, leaves: dict[Node, Hook]) -> None:
    """Everything that uses a hooked tensor uses the node of its hooks instead; `leaves`
    are placeholders of parameters. The graph then names factors by number, and `hooks`
    keeps none but those that it names."""
    graph = module.graph
    refuse_in_regions(module)
    marks = [node for node in graph.nodes if node.target is HOOKED]
    if (marks or leaves) and hooks.gradients_inside:
        raise CannotImport("a gradient hook beside torch.autograd.grad in forward: leave it out")
    written = {memory_of(w) for node in graph.nodes for w in written_by(node)} - {None}
    last = [node for node in graph.nodes if node.op == "placeholder"][-1]
    for leaf, hook in leaves.items():
        with graph.inserting_after(last):
            marks.append(graph.call_function(HOOKED, (leaf, hooks.add(hook))))
        marks[-1].meta = dict(leaf.meta)
    for mark in marks:
        source, hook = mark.args[0], hooks.found[mark.args[1]]
        if source.op == "placeholder" and source not in leaves:
            raise CannotImport(
                "forward registers another gradient hook of a parameter in each step: register "
                "it once, before the import",
                hook.place,
            )
        if memory_of(source) in written and source not in leaves:
            raise CannotImport("a gradient hook of a tensor that is written in place", hook.place)
        put_behind(graph, source, mark)
    module.recompile()


def put_behind(graph: Graph, source: Node, mark: Node) -> None:
    if source.op != "placeholder":
        source.append(mark)
    source.replace_all_uses_with(mark, delete_user_cb=lambda user: user is not mark)


def refuse_in_regions(module: GraphModule) -> None:
    for region in module.modules():
        if region is module or not isinstance(region, GraphModule):
            continue
        for node in region.graph.nodes:
            if node.target is HOOKED:
                raise CannotImport("a gradient hook in a region of its own", place_of(node))


def give_factors(module: GraphModule, hooks: Hooks) -> None:
    """Each node of a hook gets what the hook multiplies gradients by."""
    for node in list(module.graph.nodes):
        if node.target is not HOOKED:
            continue
        hook = hooks.found[node.args[1]]
        value = node.args[0].meta["val"]
        name = f"gradient_factor_{node.args[1]}"
        module.register_buffer(name, factor_of(hook, tuple(value.shape), value.dtype))
        with module.graph.inserting_before(node):
            factor = module.graph.get_attr(name)
        node.args = (node.args[0], node.args[1], factor)


def factor_of(hook: Hook, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """What `hook` multiplies gradients by, element by element."""
    state = State(*hook.functions)
    try:
        factor = probed(hook, shape, dtype)
        changed = state.is_changed()
    finally:
        state.put_back()
    if changed:
        raise CannotImport(
            f"{hook.what} changes what it keeps, such as a count, and zero would never call it: "
            "leave it out",
            hook.place,
        )
    return factor


def probed(hook: Hook, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    factor = passed(hook, torch.ones(shape, dtype=dtype))
    random = torch.randn(shape, dtype=dtype, generator=generator)
    # A bound shows at large gradients, a threshold at small ones.
    gradients = [scale * random for scale in (1.0, 1e-20, 1e20)]
    # What replaces an overflow shows at one, in all elements and in some.
    for value in (torch.inf, -torch.inf, torch.nan):
        gradients += [torch.full_like(random, value), random.where(random > 0, value)]
    for gradient in gradients:
        found, wanted = passed(hook, gradient.clone()), gradient * factor
        # A gradient that ends is 0 of whatever.
        ended = (factor == 0) & (found == 0)
        if not torch.allclose(
            found, wanted.where(~ended, 0), rtol=1e-5, atol=0.0, equal_nan=True
        ):
            raise CannotImport(
                f"{hook.what} is no multiplication by constants, which zero computes: leave it "
                "out; `gradient_clipping` is a key of the configuration",
                hook.place,
            )
    return factor


def passed(hook: Hook, gradient: torch.Tensor) -> torch.Tensor:
    """What the functions make of a gradient."""
    shape, dtype = gradient.shape, gradient.dtype
    for function in hook.functions:
        try:
            with torch.no_grad():
                gradient = function(gradient)
        except Exception as error:
            raise CannotImport(
                f"{hook.what} cannot be called with a gradient at import "
                f"({type(error).__name__}: {error}): leave it out",
                hook.place,
            ) from error
        if gradient is None:
            raise CannotImport(
                f"{hook.what} gives no gradient, and zero would never call it: remove it",
                hook.place,
            )
        if type(gradient) is not torch.Tensor:
            raise CannotImport(
                f"{hook.what} uses a tensor that forward computes: leave it out", hook.place
            )
        if gradient.shape != shape or gradient.dtype != dtype:
            raise CannotImport(f"{hook.what} gives another shape or type", hook.place)
    return gradient.detach().clone()
