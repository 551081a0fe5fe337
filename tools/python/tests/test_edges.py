"""Ties, constants, singular matrices, infinities and NaN: values and gradients are PyTorch's
there, too."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from each import differing

INF, NAN = math.inf, math.nan
TIES = [[1, 2, 2, 3, 0, 0], [2, 2, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0], [-1, 5, 5, -5, 5, 1]]
MISSING = [[1, NAN, 2, 5, NAN, 6], [4, 3, -1, 2, 0, 7], [INF, 1, INF, -INF, 2, 2], [0, 0, 1, 1, 1, 0]]
INFINITE = [[INF, 1, INF, 3, -INF, 0], [-INF, -INF, -INF, -INF, -INF, -INF]]
SINGULAR = [[1, 2], [2, 4]]


def on(values, function):
    return function, torch.tensor(values, dtype=torch.float32)


ORDERS = {
    "median": on(TIES, lambda w, x, i: w.median()),
    "median_dim": on(TIES, lambda w, x, i: w.median(1)),
    "median_nan": on(MISSING, lambda w, x, i: w.median()),
    "median_dim_nan": on(MISSING, lambda w, x, i: (*w.median(1), *w.median(0, keepdim=True))),
    "median_scalar": on(2.0, lambda w, x, i: w.median(0).values + w.median()),
    "median_integer": on(TIES, lambda w, x, i: w * i.median() + i.median(1).values.sum()),
    "kthvalue": on(MISSING, lambda w, x, i: w.kthvalue(5, 1).values),
    "cummax": on(MISSING, lambda w, x, i: (*w.cummax(1), *w.cummax(0))),
    "cummin": on(MISSING, lambda w, x, i: (*w.cummin(1), *w.cummin(0))),
    "sort": on(MISSING, lambda w, x, i: (w.sort(1)[0], w.sort(1, True)[0])),
    "argmax": on(MISSING, lambda w, x, i: (w.argmax(1), w.argmin(0))),
    "max_dim": on(MISSING, lambda w, x, i: (*w.detach().max(1), *w.detach().min(0), w)),
    "max_dim_ties": on(TIES, lambda w, x, i: (*w.max(1), *w.min(0))),
    "argmin": on(INFINITE, lambda w, x, i: (w.argmin(1), w.argmax(0), (-i).argmin(1))),
}

EXTREMA = {
    f"{name}_{of}": on(values, function)
    for of, values in (("ties", TIES), ("infinite", INFINITE))
    for name, function in {
        "amax": lambda w, x, i: w.amax(1),
        "amin": lambda w, x, i: w.amin((0, 1)),
        "max": lambda w, x, i: w.max(),
        "min": lambda w, x, i: w.min(),
        "aminmax": lambda w, x, i: torch.aminmax(w, dim=1),
        "inf": lambda w, x, i: torch.linalg.vector_norm(w, INF, 1),
        "inf_of_all": lambda w, x, i: w.norm(INF),
        "negative_inf": lambda w, x, i: torch.linalg.vector_norm(w, -INF, 0),
    }.items()
}

# Of what is NaN PyTorch gives NaN to some elements and not to others.
VALUES = {
    f"{name}_missing": on(MISSING, lambda w, x, i, function=function: (function(w.detach(), x, i), w))
    for name, function in (
        ("amax", lambda w, x, i: w.amax(1)),
        ("min", lambda w, x, i: w.min()),
        ("inf", lambda w, x, i: torch.linalg.vector_norm(w, INF, 1)),
    )
}

REDUCTIONS = {
    "any": on(TIES, lambda w, x, i: (torch.any(w > 1, dim=()) * w, torch.any(w > 1, dim=[]))),
    "all": on(TIES, lambda w, x, i: (torch.all(w > 1, dim=()) * w, torch.all(w > 1, dim=[]))),
    "any_of_all": on(TIES, lambda w, x, i: w * torch.any(w > 4) + w * torch.all(w < 4)),
    "none": on(TIES, lambda w, x, i: (w.sum(()), w.mean(()), w.amax(()), w.norm(dim=()))),
    "std": on(TIES, lambda w, x, i: (w.std(1), w.std(0, correction=0), w.std())),
    "std_mean": on(TIES, lambda w, x, i: torch.std_mean(w, 1)),
    "var": on(TIES, lambda w, x, i: torch.var_mean(w, 1)),
    "one": on([[2.0], [3.0]], lambda w, x, i: w.std(1, correction=0)),
    "logsumexp": on(INFINITE, lambda w, x, i: w.logsumexp(1)),
    "logsumexp_nan": on(MISSING, lambda w, x, i: w.logsumexp(0)),
}

FUNCTIONS = {
    "sigmoid": on([-1e3, -90, -20, 0, -0.0, 20, 1e10, -1e30], lambda w, x, i: w.sigmoid()),
    "gates": on([[3, -100], [3, 100], [3, 0]], lambda w, x, i: (F.glu(w), F.silu(w), F.logsigmoid(w))),
    "softplus": on([-INF, INF, 3e38, 0], lambda w, x, i: (F.softplus(w), F.logsigmoid(w))),
    "at_0": on(
        [0, -0.0, 1, -1],
        lambda w, x, i: (F.elu(w), F.selu(w), F.celu(w, 2.0), F.leaky_relu(w), F.softplus(w)),
    ),
    "clamp": on(
        [-1, 0.5, 0, 3],
        lambda w, x, i: (w.clamp(-1, 0.5), w.clamp(min=0), w.clamp(max=0.5), F.hardtanh(w, -1, 0.5)),
    ),
    "xlogy": on(
        [0, 0, 1, 0],
        lambda w, x, i: (
            torch.xlogy(w, torch.tensor([2.0, 0.0, 3.0, -1.0])),
            torch.xlogy(w.detach(), INF),
        ),
    ),
    "atan2": on(
        [0, 0, 1, 1, -0.0],
        lambda w, x, i: torch.atan2(w, torch.tensor([0.0, -1.0, 0.0, 1e30, 2.0])),
    ),
    "erfinv": on([1, -1, 0, 0.5, 2, NAN], lambda w, x, i: w.erfinv()),
    "erfinv_alone": on([1, -1, 0, 0.5, 2, NAN], lambda w, x, i: w.detach().erfinv() + 0 * w),
    "hypot": on(
        [[a] for a in (1, 0, INF, NAN, -INF, -3)],
        lambda w, x, i: torch.hypot(w[1:], torch.tensor([1, INF, NAN, -INF])),
    ),
    "hypot_of_one": on([1, 2], lambda w, x, i: torch.hypot(w, torch.tensor([INF, 1]))),
    "copysign": on(
        [[1, 2]] * 3,
        lambda w, x, i: (
            torch.copysign(w, torch.tensor([[0.0, -0.0], [-0.0, -0.0], [-0.0, -0.0]])),
            torch.copysign(w, torch.tensor([-0.0, 0.0])),
        ),
    ),
    "lgamma": on([0, -0.0, 1, 2, -1, -2.5, INF, -INF, NAN], lambda w, x, i: w.lgamma()),
    "digamma": on([0, -0.0, 1, 2, -2.5, INF, -INF, NAN], lambda w, x, i: w.digamma()),
}

INTEGERS = {
    name: on([1, 2, 3, 4], lambda w, x, i, function=function: (function(i), w))
    for name, function in {
        "logsumexp": lambda i: i.logsumexp(1),
        "sigmoid": lambda i: i.sigmoid(),
        "reciprocal": lambda i: (i + 1).reciprocal(),
        "special": lambda i: ((i + 1).lgamma(), (i + 1).digamma(), (i % 2).erfinv())[1],
        "rounded": lambda i: torch.arange(6)[i.floor() % 6] + i.ceil() + i.round() + i.trunc(),
        "clamp": lambda i: i.clamp(0.5, 2.5) + i.clamp(min=1) + i.clamp(max=2),
        "logic": lambda i: i.any(0) & i.all(0),
        "relu": lambda i: torch.stack([F.relu(i), (i - 2).abs(), (i - 2).sign(), F.relu6(i)]),
        "atan2": lambda i: torch.atan2(i, i + 1) + torch.xlogy(i, i + 1),
        "logit": lambda i: torch.logit(i % 2, eps=0.1) + torch.deg2rad(i) + torch.sinc(i),
        "powers": lambda i: i**2 + (i + 1) ** 0.5 + 2.0**i + torch.square(i) + (i + 1.0) ** i + i**5,
        "division": lambda i: i / 4 + i // 4 + (i - 3) % 4 + torch.div(i - 3, 2, rounding_mode="trunc"),
    }.items()
}

MATRICES = {
    "det": on(SINGULAR, lambda w, x, i: w.det()),
    "det_of_zeros": on([[0, 0, 0]] * 3, lambda w, x, i: w.det()),
    "det_of_several": on([SINGULAR, [[0, 0], [1, 2]], [[1, 2], [3, 4]]], lambda w, x, i: w.det()),
    # The logarithm of each head, since their product is 0 in f32.
    "slogdet_of_small": on(
        [[1e-20, 0, 0], [0, 0, 2e-20], [0, 3e-20, 0]], lambda w, x, i: torch.linalg.slogdet(w)
    ),
    "cholesky": on(
        [[4, NAN, INF], [1, 5, NAN], [2, 1, 6]], lambda w, x, i: torch.linalg.cholesky(w)
    ),
}

# Of the last row nothing may remain.
IGNORED = {
    name: on(
        [[1, 2, 3, 4], [-1, 0, 2, 5], [-INF, 0, 1, -INF]],
        lambda w, x, i, settings=settings: F.cross_entropy(
            w,
            torch.tensor([1, 3, -100]),
            **{n: torch.tensor(v).to(w) if n == "weight" else v for n, v in settings.items()},
        ),
    )
    for name, settings in {
        "smoothed": {"label_smoothing": 0.1},
        "smoothed_sum": {"label_smoothing": 0.1, "reduction": "sum"},
        "weighted": {"weight": [INF, 1, 2, 3]},
        "smoothed_rows": {"label_smoothing": 0.1, "reduction": "none"},
        "of_rows": {"reduction": "none"},
    }.items()
} | {
    "ignored_class": on(
        [[-INF, 2, 3, 4], [-1, 0, 2, 5]],
        lambda w, x, i: F.cross_entropy(
            w, torch.tensor([0, 3]), torch.arange(1, 5).to(w), ignore_index=0
        ),
    ),
    "nll": on(
        [[-INF, 2, 3, 4], [-1, 0, 2, 5]],
        lambda w, x, i: F.nll_loss(w, torch.tensor([0, 3]), ignore_index=0),
    ),
}

LENGTHS = [[1e9, 1, 2, -3, 0.5, 7], [1, 1, 1, 1, 1, 1]]
LERPS = {
    "lerp": on(LENGTHS, lambda w, x, i: [torch.lerp(x[:2], w, a) for a in (1.0, 0.0, 0.3, 0.7)]),
    "lerp_back": on(LENGTHS, lambda w, x, i: [torch.lerp(w, x[:2], a) for a in (1.0, 0.5, 2.0)]),
    "lerp_by_tensors": on(
        [0.0, 1.0, 0.3, 0.5, -2.0, 0.7], lambda w, x, i: torch.lerp(x * 1e3, x.round(), w)
    ),
}

NOTHING = {
    name: on([[1, 2, 3], [4, 5, 6]], lambda w, x, i, function=function: function(w[:, :0], w))
    for name, function in {
        "sums": lambda n, w: n.sum() + (n * w[:, :0]).sum(1) + n.norm(dim=1) + n.prod(1) + w[:, 0],
        "means": lambda n, w: (n.mean(), w[0]),
        "truths": lambda n, w: n.any(1) * w[:, 0] + n.all(1, keepdim=True)[:, 0] * w[:, 1],
        "joined": lambda n, w: (torch.cat([n, w, n], 1), torch.cat([n, n], 1).sum() + w.sum()),
        "moved": lambda n, w: (n.flip(1).roll(1, 1).sum() + n.sort(1)[0].sum(), w),
        "padded": lambda n, w: (F.pad(w, (-1, -2)).sum(), F.pad(n, (1, 1)), w),
        "normed": lambda n, w: (F.group_norm(w[:0], 3).sum() + n.softmax(1).sum(), w),
        "rows": lambda n, w: ((w[:0] @ w.T).sum(0), w),
        "rolled": lambda n, w: w.roll(2),
    }.items()
}

POWERS = {
    "of_one": on([1, INF, NAN, -INF], lambda w, x, i: (torch.pow(1.0, w), w**0.0, w)),
    "of_two": on([10, -30, 0.5, 100], lambda w, x, i: 2.0**w),
    "to_infinity": on([1, 1, 2, 0.5], lambda w, x, i: (w.detach() ** INF, w**1, w.detach() ** NAN)),
    "ldexp": on([1e-30, 1, 1e30], lambda w, x, i: torch.ldexp(w, torch.tensor([200, 3, -200]))),
    "missing_bound": on([1, 2, 3], lambda w, x, i: (w.clamp(min=NAN), w)),
    "log_ndtr": on(
        [-30, -10.1, -9.9, -1.5, -1, 0, 3, 9], lambda w, x, i: torch.special.log_ndtr(w)
    ),
    "small_probability": on(
        [1e-9, 2e-7, 0.0, 0.5],
        lambda w, x, i: 1e7 * F.binary_cross_entropy(w, w.detach() * 0, reduction="none"),
    ),
    "dropped": on([1, 2, 3], lambda w, x, i: F.dropout(w, 1.0) + w),
}

PRODUCTS = {
    "prod": on([[100, 0.01] * 20, [1e-3, 1e3] * 20], lambda w, x, i: w.prod(1)),
    "prod_of_all": on([[100, 0.01] * 5, [0, 1e3] * 5], lambda w, x, i: w.prod()),
    "cumprod": on([[1e-3] * 12 + [1e3] * 12], lambda w, x, i: w.cumprod(1)),
    "long": on([[1.25, 0.75] * 50], lambda w, x, i: (w.prod(1), w.cumprod(1)[:, 9])),
}

# Beside 16 bits a number keeps its own, and an operation rounds once.
ROUNDED = {
    f"{name}_{str(dtype)[6:]}": (
        lambda w, x, i, function=function, dtype=dtype: function(w.to(dtype)).float(),
        torch.linspace(-3, 3, 33),
    )
    for name, function in {
        "times": lambda w: w * 1.1,
        "scaled": lambda w: w * 1e-4 / 1e-4,
        "times_scalar": lambda w: w * torch.tensor(1.1),
        "times_f64": lambda w: w * torch.tensor(0.3, dtype=torch.float64),
        "over": lambda w: w / 0.7,
        "whole": lambda w: torch.div(w, 0.1, rounding_mode="floor") * w,
        "plus": lambda w: w + 0.3,
        "minus": lambda w: 0.1 - w,
        "above": lambda w: (w > 0.09375) * w,
        "alpha": lambda w: torch.add(w, w.roll(1, 0), alpha=0.3),
        "lerp": lambda w: torch.lerp(w, w.roll(1, 0), 0.3),
        "leaky": lambda w: F.leaky_relu(w, 0.3),
        "softplus": F.softplus,
        "sigmoid": torch.sigmoid,
        "hardswish": F.hardswish,
        "mish": F.mish,
        "elu": F.elu,
    }.items()
    for dtype in (torch.bfloat16, torch.float16)
    # The derivative of which PyTorch rounds three times.
    if (name, dtype) != ("sigmoid", torch.float16)
}

FAMILIES = {
    "ignored": IGNORED,
    "lerps": LERPS,
    "nothing": NOTHING,
    "powers": POWERS,
    "products": PRODUCTS,
    "rounded": ROUNDED,
    "orders": ORDERS,
    "extrema": {**EXTREMA, **VALUES},
    "reductions": REDUCTIONS,
    "functions": FUNCTIONS,
    "integers": INTEGERS,
    "matrices": MATRICES,
}


def batch():
    torch.manual_seed(0)
    return {"x": torch.randn(4, 6), "ids": torch.randint(0, 6, (4, 6))}


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family):
    functions = {name: function for name, (function, _) in FAMILIES[family].items()}
    weights = {name: weight for name, (_, weight) in FAMILIES[family].items()}
    assert not differing(functions, weights, batch())


SLOGDET = {
    "singular": on(SINGULAR, lambda w, x, i: (*torch.linalg.slogdet(w.detach()), w)),
    "one_of_several": on([[[0, 0], [1, 2]], [[1, 2], [3, 4]]], lambda w, x, i: (torch.logdet(-w.detach()), w)),
}


def test_logarithms_of_singular_matrices():
    """Their values; gradients are infinite or NaN."""
    functions = {name: function for name, (function, _) in SLOGDET.items()}
    weights = {name: weight for name, (_, weight) in SLOGDET.items()}
    assert not differing(functions, weights, batch())
