"""Writes in place mean what they mean in PyTorch, or are refused."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from test_refusals import Module, refusal
from torch import nn
from training import compare


def of_views(w, x):
    y = x @ w
    copied = y.t().contiguous()
    copied.mul_(2)
    y.view(2, 8).mul_(3)
    return ((y + copied) ** 2).mean()


def to_a_detach(w, x):
    y = (x @ w).detach()
    y.mul_(2)
    return (y * w).mean()


def to_a_clone_of_a_detach(w, x):
    y = x @ w
    copied = y.detach().clone()
    copied.clamp_(-0.5, 0.5)
    return (copied * w).mean() + (y**2).mean()


def inside_a_region(w, x):
    with torch.no_grad():
        y = 2 * (x @ w)
        y.clamp_(0, 1)
        y[0] = 3
    return (y * w).mean()


def detached_after_parts_are_written(w, x):
    y = torch.zeros(4, 4)
    y[0] = x[0] @ w
    return (y.detach() * w).mean() + (y**2).mean()


def detached_in_place(w, x):
    y = x @ w
    z = y * 2
    y.detach_()
    return (y * z * w).mean()


def broadcast_with_a_number(w, x):
    """PyTorch detaches the number in place, whose memory a result shares."""
    y, z = torch.broadcast_tensors(x @ w, torch.tensor(2.0))
    return (y * z).mean()


def raised_without_gradients(w, x):
    """The gradient of a variance that is raised passes."""
    var = (x @ w)[:, :1].abs() + 0.01
    whole = F.gaussian_nll_loss(x, w, (w * w)[0].expand(4, 4), eps=0.5)
    return whole + F.gaussian_nll_loss(x, w, var, True, 1.0, "sum")


@pytest.mark.parametrize(
    "function",
    [
        of_views,
        to_a_detach,
        to_a_clone_of_a_detach,
        inside_a_region,
        detached_after_parts_are_written,
        detached_in_place,
        broadcast_with_a_number,
        raised_without_gradients,
    ],
)
def test_computed(function, tmp_path):
    compare(Module(function), {"x": torch.randn(4, 4)}, tmp_path)


def detach_of_the_weight(w, x):
    w.detach().clamp_(-0.5, 0.5)
    return (x @ w).mean()


def part_of_the_weight(w, x):
    w.detach().view(-1)[0] = 2.0
    return (x @ w).mean()


def weight_without_gradients(w, x):
    with torch.no_grad():
        w.clamp_(-0.5, 0.5)
    return (x @ w).mean()


def the_input(w, x):
    x.mul_(2)
    return (x @ w).mean()


@pytest.mark.parametrize(
    "function, name",
    [
        (detach_of_the_weight, "w"),
        (part_of_the_weight, "w"),
        (weight_without_gradients, "w"),
        (the_input, "x"),
    ],
)
def test_of_parameters_and_inputs(function, name):
    text = refusal(Module(function))
    # The line is that of `forward`, which calls the function.
    assert "test_refusals.py:" in text
    assert f"forward changes '{name}' in place: return a new tensor" in text


def test_an_embedding_of_bounded_rows():
    class Bounded(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Embedding(8, 4, max_norm=1.0)

        def forward(self, x):
            return self.rows(x).mean()

    assert "'rows.weight' in place" in refusal(Bounded(), x=torch.randint(0, 8, (2, 3)))


def read_beside_a_detach(w, x):
    y = x @ w
    y.detach().mul_(2)
    return (y**2).mean()


def read_through_a_detach(w, x):
    y = x @ w
    before = y.detach()
    y = F.relu(y, inplace=True)
    return (y * (y - before)).mean()


def parts_of_a_detach(w, x):
    y = x @ w
    left, _ = y.detach().split(2, 1)
    left.mul_(2)
    return (y**2).mean()


def without_gradients(w, x):
    y = x @ w
    with torch.no_grad():
        y.mul_(2)
    return (y**2).mean()


def mask_without_gradients(w, x):
    mask = x > 0
    with torch.no_grad():
        mask[0] = True
    return ((x @ w) * mask).mean()


@pytest.mark.parametrize(
    "function",
    [
        read_beside_a_detach,
        read_through_a_detach,
        parts_of_a_detach,
        without_gradients,
        mask_without_gradients,
    ],
)
def test_that_gradients_do_not_follow(function):
    text = refusal(Module(function))
    assert "a write in place" in text and "x.detach().clone()" in text


def test_data_is_not_traced():
    def scaled(w, x):
        w.data.mul_(2)
        return (x @ w).mean()

    assert "`.data`" in refusal(Module(scaled)) and "x.detach()" in refusal(Module(scaled))


def filled(w, x):
    y = x @ w
    nn.init.constant_(y, 2.0)
    return (y * w).mean()


def test_inside_of_a_function_of_pytorch():
    """Whose region without gradients tracing does not see by itself."""
    assert "a write in place, in `no_grad`" in refusal(Module(filled))
