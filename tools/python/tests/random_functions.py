"""Random functions over the operations that the importer takes, of arguments at their edges."""

from __future__ import annotations

import math
import random
from typing import Callable

import torch
import torch.nn.functional as F

INF, NAN = math.inf, math.nan

# What draws the elements of an argument.
DRAWS: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda r: r.gauss(0, 1),
    "positive": lambda r: r.uniform(0.1, 3),
    "unit": lambda r: r.choice((-1, 1, 0, r.uniform(-1, 1))),
    "ties": lambda r: float(r.randint(-2, 2)),
    "zeros": lambda r: r.choice((0.0, 0.0, -0.0, 1.0)),
    "large": lambda r: r.choice((-1, 1)) * r.choice((20.0, 90.0, 1e3, 1e10, 1e30)),
    "small": lambda r: r.choice((-1, 1)) * r.choice((1e-3, 1e-8, 1e-20, 1e-30)),
    "infinite": lambda r: r.choice((INF, -INF, 0.0, 1.0, r.gauss(0, 1))),
    "missing": lambda r: r.choice((NAN, 0.0, 1.0, r.gauss(0, 1), r.gauss(0, 1))),
}
SHAPES = [(4, 6), (4, 1), (1, 6), (1, 1), (6,), (1,), ()]

ELEMENTS = {
    name: lambda y, r, name=name: getattr(torch, name)(y)
    for name in (
        "exp expm1 log log1p log2 log10 exp2 sqrt rsqrt tanh erf erfc asin acos atan sinh cosh "
        "asinh acosh atanh floor ceil round trunc neg abs reciprocal square sign sigmoid relu "
        "lgamma erfinv nan_to_num frac deg2rad isnan isinf isfinite logical_not"
    ).split()
} | {
    # An angle of many turns has lost its bits.
    "angle": lambda y, r: getattr(torch, r.choice(("sin", "cos", "tan", "sinc")))(y.clamp(-1e3, 1e3)),
    "power": lambda y, r: y ** r.choice((2, 3, -1, -2, 0.5, 1.5, 0, 4)),
    "base": lambda y, r: r.choice((2.0, 0.5)) ** y,
    "clamp": lambda y, r: y.clamp(-1, 0.5),
    "clip": lambda y, r: y.clamp(min=0),
    "number": lambda y, r: r.choice((lambda: y + 2, lambda: 3 - y, lambda: y * 0.5, lambda: y / 3))(),
    "compared": lambda y, r: y * (y > 0) + y.eq(0) + (y != y),
    "where": lambda y, r: torch.where(y > 0, y, -2 * y),
    "filled": lambda y, r: y.masked_fill(y > 0.5, 2.0),
    "remainder": lambda y, r: torch.remainder(y, r.choice((0.7, -2.0))),
    "fmod": lambda y, r: torch.fmod(y, r.choice((0.7, -2.0))),
    "activation": lambda y, r: getattr(
        F,
        r.choice(
            (
                "gelu silu elu selu celu softplus hardswish hardsigmoid mish logsigmoid "
                "leaky_relu relu6 hardtanh softsign tanhshrink"
            ).split()
        ),
    )(y),
    "logit": lambda y, r: torch.logit(y, eps=0.1),
}

ROWS = {
    "sum": lambda y, r, d: y.sum(d),
    "mean": lambda y, r, d: y.mean(d, keepdim=True),
    "amax": lambda y, r, d: y.amax(d),
    "amin": lambda y, r, d: y.amin(d, keepdim=True),
    "of_all": lambda y, r, d: getattr(y, r.choice(("sum", "mean", "max", "min", "prod", "median")))(),
    "std": lambda y, r, d: y.std(d, correction=0),
    "var": lambda y, r, d: y.var(d, correction=0),
    "norm": lambda y, r, d: torch.linalg.vector_norm(y, r.choice((0, 1, 2, 3, INF, -INF)), d),
    "normalize": lambda y, r, d: F.normalize(y, dim=d),
    "logsumexp": lambda y, r, d: y.logsumexp(d),
    "softmax": lambda y, r, d: y.softmax(d),
    "log_softmax": lambda y, r, d: y.log_softmax(d),
    "cumsum": lambda y, r, d: y.cumsum(d),
    "cumprod": lambda y, r, d: y.cumprod(d),
    "cummax": lambda y, r, d: y.cummax(d)[0],
    "cummin": lambda y, r, d: y.cummin(d)[1] * 1.0,
    "prod": lambda y, r, d: y.prod(d),
    "any": lambda y, r, d: y.any(d) * 1.0,
    "all": lambda y, r, d: y.all(d) * 1.0,
    "max": lambda y, r, d: y.max(d)[r.randint(0, 1)] * 1.0,
    "argmin": lambda y, r, d: y.argmin(d) * 1.0,
    "sorted": lambda y, r, d: torch.sort(y, dim=d, stable=True).values,
    "nansum": lambda y, r, d: y.nansum(d),
    "logcumsumexp": lambda y, r, d: y.logcumsumexp(d),
    "layer_norm": lambda y, r, d: F.layer_norm(y, y.shape[-1:]),
    "rms_norm": lambda y, r, d: F.rms_norm(y, y.shape[-1:], eps=1e-5),
    "flip": lambda y, r, d: y.flip(d),
    "roll": lambda y, r, d: y.roll(1, d),
    "narrow": lambda y, r, d: y.narrow(d, 0, 1),
    "twice": lambda y, r, d: torch.cat([y, 2 * y], d),
    "transpose": lambda y, r, d: y.transpose(0, -1),
    "outer": lambda y, r, d: y.unsqueeze(d) * 2 + y.unsqueeze(-1) if y.dim() < 2 else y.mT @ y,
}

PAIRS = {
    "add": lambda y, z, r: y + z,
    "sub": lambda y, z, r: torch.sub(y, z, alpha=2),
    "mul": lambda y, z, r: y * z,
    "div": lambda y, z, r: y / z,
    "atan2": lambda y, z, r: torch.atan2(y, z),
    "hypot": lambda y, z, r: torch.hypot(y, z),
    "xlogy": lambda y, z, r: torch.xlogy(y, z),
    "logaddexp": lambda y, z, r: torch.logaddexp(y, z),
    "copysign": lambda y, z, r: torch.copysign(y, z),
    "lerp": lambda y, z, r: torch.lerp(y, z, 0.25),
    "chosen": lambda y, z, r: torch.where(y < z, y, z),
    "order": lambda y, z, r: (y <= z) * y,
}


def argument(r: random.Random, kind: str, shape: tuple[int, ...]) -> torch.Tensor:
    values = [DRAWS[kind](r) for _ in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def drawn(seed: int) -> tuple[str, Callable, torch.Tensor]:
    """A name that tells what it is, a function of its parameter, and the parameter."""
    r = random.Random(seed)
    kind, shape = r.choice(list(DRAWS)), r.choice(SHAPES)
    weight, steps, names = argument(r, kind, shape), [], []
    for _ in range(r.choice((1, 1, 1, 2, 2, 3))):
        family = r.choice((ELEMENTS, ELEMENTS, ROWS, PAIRS))
        name = r.choice(list(family))
        operand = argument(r, r.choice(list(DRAWS)), shape)
        steps.append((family, family[name], r.randint(0, 2**31), operand))
        names.append(name)

    def function(w, x, ids):
        y = w
        for family, step, number, operand in steps:
            choices = random.Random(number)
            if family is ELEMENTS:
                y = step(y, choices)
            elif family is ROWS:
                y = step(y if y.dim() else y.reshape(1), choices, choices.choice((0, -1)))
            else:
                operand = operand.to(y.dtype)
                y = step(y, operand if operand.shape == y.shape else choices.choice((2.0, -1.0)) + y, choices)
            y = y if y.is_floating_point() else y * w.sum().detach().nan_to_num().clamp(1, 1)
        return y

    return f"{'_'.join(names)}_of_{kind}_{seed}", function, weight
