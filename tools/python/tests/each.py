"""Many small functions in one model, each of a parameter of its own: the values and the
gradients of each are PyTorch's, infinities and NaN included."""

from __future__ import annotations

from typing import Callable

import torch
from torch import nn

import zero
from zero.selfcheck.compiled import run_compiled
from zero.selfcheck.differences import apart, size

# Of the largest finite element of a tensor, and of a small one.
RELATIVE, ABSOLUTE = 2e-5, 1e-6
# How much further from f64 than PyTorch's f32 zero may be.
OF_NOISE = 4


class Each(nn.Module):
    """`functions` take their parameter, `x` and `ids`, and give a tensor or several."""

    def __init__(self, functions: dict[str, Callable], weights: dict[str, torch.Tensor]):
        super().__init__()
        self.functions = functions
        self.weights = nn.ParameterDict({n: nn.Parameter(w.clone()) for n, w in weights.items()})

    def forward(self, x, ids):
        ids = ids.clamp(0, 9)  # The import has to know that they are small.
        total, results = (x * ids).sum() * 0, {}
        for name, function in self.functions.items():
            y = function(self.weights[name], x, ids)
            parts = y if isinstance(y, (tuple, list)) else [y]
            y = torch.cat([part.flatten().to(x.dtype) for part in parts])
            scale = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype)
            total = total + (y * scale).sum()
            results[name] = y * 1
        return {"loss": total, **results}


def computed(module: Each, batch: dict, double: bool = False) -> tuple[dict, dict]:
    """PyTorch's results and gradients."""
    kind = torch.float64 if double else torch.float32
    module.to(kind).zero_grad()
    floats = {n: v.to(kind) if v.is_floating_point() else v for n, v in batch.items()}
    results = module(**floats)
    results.pop("loss").backward()
    weights = module.weights.items()
    gradients = {n: torch.zeros_like(w) if w.grad is None else w.grad.clone() for n, w in weights}
    module.to(torch.float32)
    return {name: value.detach() for name, value in results.items()}, gradients


def differing(
    functions: dict[str, Callable], weights: dict, batch: dict, trained_alone: bool = False
) -> dict[str, str]:
    """Which of the functions differ from PyTorch, and in what. Gradients are not compared for
    what is itself infinite or NaN. With `trained_alone` they are where the values and PyTorch's
    gradient are finite: no update comes of others."""
    module = Each(functions, {name: torch.ones_like(w) for name, w in weights.items()})
    model = zero.export(module, batch, outputs=list(functions))
    for name, weight in weights.items():
        module.weights[name].data.copy_(weight)
    update = run_compiled(model, [batch], 1.0, tuple(functions)).updates[0]
    values, slopes = computed(module, batch)
    exact_values, exact_slopes = computed(module, batch, double=True)
    found = {}
    for name in functions:
        gradient = update.gradients.get(f"weights.{name}", torch.zeros_like(slopes[name]))
        finite = weights[name].isfinite()
        if trained_alone:
            finite = slopes[name].isfinite() & bool(values[name].isfinite().all())
        for kind, ours, wanted, exact in (
            ("value", update.outputs[name], values[name], exact_values[name]),
            ("gradient", gradient[finite], slopes[name][finite], exact_slopes[name][finite]),
        ):
            if not is_near(ours, wanted, exact):
                found[f"{name}, {kind}"] = f"{ours.tolist()}, PyTorch {wanted.tolist()}"
    return found


def is_near(ours: torch.Tensor, wanted: torch.Tensor, exact: torch.Tensor) -> bool:
    finite = exact.masked_fill(~exact.isfinite(), 0)
    room = RELATIVE * size(finite) + ABSOLUTE
    if apart(ours, wanted) <= room:
        return True
    # Rounding may also decide what overflows: f64 is as good.
    return apart(ours, exact) <= room + OF_NOISE * apart(wanted, exact.to(wanted.dtype))
