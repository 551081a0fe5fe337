"""Hooks on gradients are computed or refused, and gradients that forward takes itself
end where PyTorch's do."""

from __future__ import annotations

import pytest
import torch
from test_refusals import Module, refusal
from torch import nn
from torch.autograd import grad
from training import compare

KEPT = torch.tensor([1.0, 0.0, 1.0, 0.0])


def hooked(hook):
    def function(w, x):
        y = x @ w
        later = 3 * y
        y.register_hook(hook)
        return (y**2).mean() + later.mean() + (w**2).mean()

    return function


def removed(w, x):
    y = x @ w
    y.register_hook(lambda g: 2 * g).remove()
    return (y**2).mean()


def retained(w, x):
    y = x @ w
    y.retain_grad()
    return (y**2).mean()


def taken(**settings):
    def function(w, x):
        y = x @ w
        (g,) = grad((y**3).mean(), y, **settings)
        return ((16 * g + y) ** 2).mean()

    return function


def of_the_weight(w, x):
    (g,) = torch.autograd.grad(((x @ w) ** 3).mean(), w, retain_graph=True)
    return (g * w).mean()


@pytest.mark.parametrize(
    "function",
    [
        hooked(lambda g: 2 * g),
        hooked(lambda g: -g),
        hooked(lambda g: g * 0),
        hooked(lambda g: g * KEPT),
        removed,
        retained,
        taken(retain_graph=True),
        taken(create_graph=True),
        of_the_weight,
    ],
    ids=["twice", "reversed", "ended", "some", "removed", "retained", "stopped", "followed", "w"],
)
def test_computed(function, tmp_path):
    compare(Module(function), {"x": torch.randn(4, 4)}, tmp_path)


@pytest.mark.parametrize(
    "hook",
    [lambda g: 3 * g, torch.zeros_like, lambda g: g * KEPT],
    ids=["times", "zero", "some"],
)
def test_of_a_parameter(hook, tmp_path):
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
            self.second.weight = self.first.weight
            self.first.weight.register_hook(hook)

        def forward(self, x):
            return (self.second(self.first(x)) ** 2).mean()

    compare(Hooked(), {"x": torch.randn(4, 4)}, tmp_path)


@pytest.mark.parametrize("kind", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
@pytest.mark.filterwarnings("ignore")
def test_of_forward(kind, tmp_path):
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = kind(nn.Linear(4, 4))
            self.layer.register_forward_hook(lambda layer, given, made: 2 * made)
            self.layer.register_forward_pre_hook(lambda layer, given: (3 * given[0],))

        def forward(self, x):
            return (self.layer(x) ** 2).mean()

    compare(Hooked(), {"x": torch.randn(4, 4)}, tmp_path)


def uses_forward(w, x):
    y, positive = x @ w, x > 0
    y.register_hook(lambda g: g * positive)
    return (y**2).mean()


def each_step(w, x):
    w.register_hook(lambda g: 2 * g)
    return (x @ w).mean()


def accumulated(w, x):
    w.register_post_accumulate_grad_hook(lambda w: None)
    return (x @ w).mean()


def of_the_input(w, x):
    y = 2 * x
    y.register_hook(lambda g: 2 * g)
    return (y @ w).mean()


def node_of_a_graph(w, x):
    y = x @ w
    y.grad_fn.register_hook(lambda taken, given: None)
    return y.mean()


def several(w, x):
    y = x @ w
    torch.autograd.graph.register_multi_grad_hook((y,), lambda g: None)
    return y.mean()


def packed(w, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        return ((x @ w) ** 2).mean()


def backward(w, x):
    y = x @ w
    y.mean().backward(retain_graph=True)
    return (y**2).mean()


def written(w, x):
    y = x @ w
    y.register_hook(lambda g: 2 * g)
    return y.mul_(2).mean()


def inside(w, x):
    y = x @ w
    y.register_hook(lambda g: 2 * g)
    (g,) = grad((y**3).mean(), y, create_graph=True)
    return g.mean()


@pytest.mark.parametrize(
    "function, words",
    [
        (hooked(lambda g: g.clamp(-1, 1)), "no multiplication by constants"),
        (hooked(lambda g: g.clamp(min=0)), "no multiplication by constants"),
        (hooked(lambda g: g / g.norm()), "no multiplication by constants"),
        (hooked(lambda g: torch.nan_to_num(g, 0, 0, 0)), "no multiplication by constants"),
        (hooked(lambda g: torch.where(g.isnan(), 0, g)), "no multiplication by constants"),
        (hooked(lambda g: 2 * g if g.isfinite().all() else 0 * g), "no multiplication by"),
        (hooked(lambda g: None), "gives no gradient"),
        (hooked(lambda g: g[0]), "a gradient hook gives another shape or type"),
        (of_the_input, "cannot register a hook on a tensor that doesn't require gradient"),
        (uses_forward, "cannot be called with a gradient|a tensor that forward computes"),
        (each_step, "register it once, before the import"),
        (accumulated, "register_post_accumulate_grad_hook in forward"),
        (node_of_a_graph, "forward reads `grad_fn`, which a traced tensor has not"),
        (several, "register_multi_grad_hook in forward, which zero would never call: leave"),
        (packed, "saved_tensors_hooks, which zero would never call: leave them out"),
        (backward, "use torch.autograd.grad"),
        (written, "a gradient hook of a tensor that is written in place"),
        (inside, "beside torch.autograd.grad"),
    ],
)
def test_refused(function, words):
    text = refusal(Module(function))
    assert any(part in text for part in words.split("|")), text
    # What tracing replaces is as it was.
    assert torch.Tensor.register_hook.__module__ == "torch._tensor"
    assert "grad_fn" not in torch.Tensor.__dict__


@pytest.mark.parametrize(
    "kind, words",
    [
        ("register_full_backward_hook", "module 'layer': a backward hook of Linear"),
        ("register_full_backward_pre_hook", "module 'layer': a backward hook of Linear"),
    ],
)
def test_of_a_module(kind, words):
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            getattr(self.layer, kind)(lambda *gradients: None)

        def forward(self, x):
            return self.layer(x).mean()

    text = refusal(Hooked())
    assert words in text and "which zero would never call: remove it with its handle's" in text


class Counter:
    """A hook whose factor falls after many steps."""

    def __init__(self):
        self.steps = 0

    def __call__(self, g):
        self.steps += 1
        return g * (0.5 if self.steps < 1000 else 1)

    def method(self, g):
        return self(g)

    def closure(self):
        steps = 0

        def hook(g):
            nonlocal steps
            steps += 1
            return g * (0.5 if steps < 1000 else 1)

        return hook


@pytest.mark.parametrize("kind", ["object", "method", "lambda", "closure"])
def test_that_counts(kind):
    counter = Counter()
    hook = {
        "object": counter,
        "method": counter.method,
        "lambda": lambda g: counter(g),
        "closure": counter.closure(),
    }[kind]
    assert "changes what it keeps" in refusal(Module(hooked(hook)))
    assert counter.steps == 0
    if kind == "closure":
        assert hook.__closure__[0].cell_contents == 0


def test_of_all_modules():
    handle = nn.modules.module.register_module_full_backward_hook(lambda *gradients: None)
    try:
        assert "a backward hook of all modules" in refusal(Module(lambda w, x: (x @ w).mean()))
    finally:
        handle.remove()


def test_of_an_accumulated_gradient():
    module = Module(lambda w, x: (x @ w).mean())
    module.w.register_post_accumulate_grad_hook(lambda w: None)
    assert "'w' has a hook after its gradient's accumulation" in refusal(module)
