"""Imports beside PyTorch with other batches than the one that was traced: what its values
have not shown must hold as well."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch import tensor as t
from torch.nn import functional as F

import zero

STILL = {"optimizer": {"type": "SGD", "params": {"lr": 0.0}}, "gradient_clipping": 0.0}
LOWEST = torch.finfo(torch.float32).min


class Module(nn.Module):
    """A function of a parameter of ones and of the batch."""

    def __init__(self, function):
        super().__init__()
        self.w, self.function = nn.Parameter(torch.ones(4)), function

    def forward(self, **batch):
        return self.function(self.w, **batch)


def compare(function, example: dict, *others: dict) -> None:
    module = Module(function)
    with zero.compile(module, example, config=STILL, check=True) as step:
        for batch in others:
            module.w.grad = None
            wanted = module(**batch)
            wanted.backward()
            step.backward(batch)
            found = torch.from_numpy(step.gradient("w"))
            torch.testing.assert_close(found, module.w.grad, rtol=1e-4, atol=1e-6)
            assert step.update() == pytest.approx(wanted.item(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("weighted", (False, True))
def test_saturated_probabilities(weighted):
    def loss(w, x, y):
        weight = y + 0.5 if weighted else None
        return F.binary_cross_entropy(torch.sigmoid(x * w), y, weight)

    compare(
        loss,
        {"x": torch.randn(4), "y": t([0.0, 1, 1, 0])},
        {"x": t([17.0, 1, -1, 2]), "y": t([1.0, 1, 0, 0])},
        {"x": t([-40.0, 1, -1, 2]), "y": t([1.0, 1, 0, 0])},
        {"x": t([110.0, -110, 1, 2]), "y": t([0.0, 1, 0.3, 0])},
    )


def cross_entropy(p, y):
    return F.binary_cross_entropy(p, y)


def log_of_rest(p, y):
    return -torch.log(1 - p + 1e-8).mean()


@pytest.mark.parametrize("function", (cross_entropy, log_of_rest))
def test_a_sigmoid_of_one_has_no_gradient(function):
    """What divides by 1 - p makes of a rest that PyTorch does not have a large gradient."""
    others = [{"x": torch.full((4,), v), "y": torch.zeros(4)} for v in (5.0, 16.6, 16.8, 20.0, 40.0)]
    compare(
        lambda w, x, y: function(torch.sigmoid(x * w), y),
        {"x": torch.randn(4), "y": t([0.0, 1, 1, 0])},
        *others,
        {"x": t([-20.0, -90, -110, 3]), "y": t([0.0, 0, 1, 1])},
    )


@pytest.mark.parametrize(
    "function",
    (
        torch.add,
        lambda a, b: a.clone().add_(b),
        torch.maximum,
        torch.minimum,
        lambda a, b: torch.stack([a, b]).cummax(0).values[1],
        lambda a, b: torch.stack([a, b]).cummin(0).values[1],
        lambda a, b: torch.stack([a, b]).sum(0, dtype=torch.bool),
        lambda a, b: torch.stack([a, b]).prod(0, dtype=torch.bool),
        lambda a, b: torch.stack([a, b]).amax(0),
        lambda a, b: torch.stack([a, b]).max(0).values,
        lambda a, b: torch.stack([a, b]).min(0).indices,
        lambda a, b: a < b,
        lambda a, b: a >= b,
    ),
)
def test_arithmetic_of_truths(function):
    none = torch.zeros(4, dtype=torch.bool)
    compare(
        lambda w, a, b: (w * function(a, b)).mean(),
        {"a": none, "b": none},
        {"a": t([False, False, True, True]), "b": t([False, True, False, True])},
    )


@pytest.mark.parametrize("smoothing", (0.0, 0.1))
def test_labels_of_which_none_counts(smoothing):
    def loss(w, x, y):
        return F.cross_entropy(x * w, y, label_smoothing=smoothing)

    x, module = torch.randn(3, 4), Module(loss)
    with zero.compile(module, {"x": x, "y": t([0, 1, 3])}, config=STILL, check=True) as step:
        step.backward({"x": x, "y": t([-100] * 3)})
        assert (step.gradient("w") == 0).all()
        assert step.update() == 0


@pytest.mark.parametrize("exponents", (torch.arange(4), torch.arange(4.0)))
def test_powers_of_zero(exponents):
    def loss(w, x):
        return ((x * w)[:, None] ** exponents).sum()

    compare(loss, {"x": torch.rand(4) + 0.1}, {"x": t([0.0, 1, 2, 3])}, {"x": t([-2.0, 0, 0, 1])})


@pytest.mark.parametrize("divisor", (0.1, -0.3, -1e-23))
def test_quotients_rounded_down(divisor):
    compare(
        lambda w, x: (torch.div(x, divisor, rounding_mode="floor") * w).sum(),
        {"x": torch.randn(4)},
        {"x": t([1.0, 0.6, 0.25, 0.9])},
        {"x": t([-1.0, -0.6, 0.3, 0.0])},
        {"x": torch.randn(4) * 10},
        {"x": t([3e-24, -3e-24, 1e-23, 2e-23])},
    )


def filled_below(a, m, hidden):
    return a.masked_fill(hidden, -1e9) + (1 - m[:, None, None]) * -1e9


def added_both(a, m, hidden):
    return a + hidden * -1e9 + (1 - m[:, None, None]) * -1e9


def filled_above(a, m, hidden):
    return (a + (1 - m[:, None, None]) * -1e9).masked_fill(hidden, -1e9)


def lowest(a, m, hidden):
    return torch.where(hidden, LOWEST, a) + (1 - m[:, None, None]) * LOWEST


@pytest.mark.parametrize("masked", (filled_below, added_both, filled_above, lowest))
def test_rows_that_finite_masks_hide(masked):
    """Queries all of whose keys are padding look at them and at later ones alike."""
    hidden = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)

    def loss(w, x, m):
        q = x * w
        scores = masked(q @ q.transpose(-1, -2) / 2, m, hidden)
        return (scores.softmax(-1) @ x)[:, 0, :, 0].square().mean()

    x = torch.randn(3, 2, 1, 5, 4, generator=torch.Generator().manual_seed(1))
    compare(
        loss,
        {"x": x[0], "m": torch.ones(2, 5)},
        {"x": x[1], "m": t([[0.0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])},
        {"x": x[2], "m": t([[1.0, 1, 1, 0, 0], [0, 0, 0, 0, 1]])},
    )


class Exp(torch.autograd.Function):
    """Its gradient is bounded far away only, as in NeRF."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].clamp(max=15).exp()


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-10, 10)


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.save_for_backward(mask)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


@pytest.mark.parametrize(
    "function",
    (
        lambda w, x: Exp.apply(w * x).mean(),
        lambda w, x: Clipped.apply(w * x).square().sum(),
        lambda w, x: Masked.apply(w * x, x < 9).sum(),
    ),
)
def test_gradients_of_ones_own_that_differ_elsewhere(function):
    with pytest.raises(zero.CannotImport, match="whose backward is not the derivative"):
        zero.export(Module(function), {"x": torch.rand(4)})


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        return g * scale, (g * x).sum()


def test_a_gradient_of_ones_own_for_a_scalar():
    loss = lambda w, x: Scaled.apply(x, w.sum()).sum()  # noqa: E731
    compare(loss, {"x": torch.randn(4)}, {"x": torch.randn(4)})


@pytest.mark.parametrize(
    "added",
    (
        lambda i, v: torch.zeros(4, dtype=torch.long).index_add(0, i, v),
        lambda i, v: torch.zeros(4, dtype=torch.long).scatter_add(0, i, v),
        lambda i, v: torch.zeros(4, dtype=torch.long).index_put((i,), v, accumulate=True),
        lambda i, v: torch.zeros(4, dtype=torch.long).index_put((i,), v[0], accumulate=True),
    ),
)
def test_sums_of_integers_at_positions(added):
    example = {"i": t([0, 1, 1]), "v": t([5, 6, 7])}
    with pytest.raises(zero.CannotImport, match="beyond the 24 bits of a sum"):
        zero.export(Module(lambda w, i, v: (added(i, v) * w).sum()), example)
    compare(
        lambda w, i, v: (added(i, v.clamp(0, 9)) * w).sum(),
        example,
        {"i": t([3, 3, 3]), "v": t([9, 12, 7])},
    )
    compare(lambda w, i, v: (added(i, torch.ones_like(v)) * w).sum(), example, example)


@pytest.mark.parametrize(
    "function",
    (
        lambda w, x: (x * w).square().fill_diagonal_(-9e15).logsumexp(1).mean(),
        lambda w, x: ((x * w).T @ x).clone().fill_diagonal_(0).sum(),
        lambda w, x: torch.diagonal((x * w).T @ x).add_(-1).pow_(2).sum(),
        lambda w, x: torch.diagonal_scatter(x * w, x[0] * w, 0).square().sum(),
        lambda w, x: torch.diagonal_scatter((x * w)[:3], (w * 2)[:2], 2).square().sum(),
        lambda w, x: torch.diagonal_scatter((x * w)[:, :3], (w * 2)[:3], -1).square().sum(),
    ),
)
def test_writes_to_a_diagonal(function):
    compare(function, {"x": torch.randn(4, 4)}, {"x": torch.randn(4, 4)})
