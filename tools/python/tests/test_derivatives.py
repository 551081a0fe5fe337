"""Derivatives that forward takes itself, and their gradients."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import zero


class Module(nn.Module):
    def __init__(self, function, of="weight", create_graph=True):
        super().__init__()
        self.layer, self.weight = nn.Linear(4, 4), nn.Parameter(torch.randn(4, 4))
        self.function, self.of, self.create_graph = function, of, create_graph

    def forward(self, x):
        h = self.layer(x)
        leaf = self.weight if self.of == "weight" else h
        result = self.function(h @ self.weight).sum()
        (g,) = torch.autograd.grad(result, leaf, create_graph=self.create_graph)
        return (h.square().mean() + 1) * g.square().mean()


FUNCTIONS = {
    "tanh": torch.tanh,
    "sigmoid": lambda z: z.sigmoid().exp(),
    "softmax": lambda z: z.softmax(-1)[:, 0].log(),
    "log_softmax": lambda z: F.log_softmax(z, -1)[:, 1],
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "elu": F.elu,
    "relu": lambda z: torch.relu(z) * F.leaky_relu(z),
    "norm": lambda z: z.norm(dim=-1) * z.std(0).mean(),
    "largest": lambda z: z.max(0).values * torch.logsumexp(z, -1)[0],
    "root": lambda z: (1 / z.sigmoid()).sqrt().rsqrt(),
    "slices": lambda z: z[1:] * z[:-1].sigmoid(),
}


def checked(module: nn.Module) -> str:
    return zero.check(module, {"x": torch.randn(3, 4)})


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients_of_a_derivative(function):
    torch.manual_seed(0)
    assert "2 updates are PyTorch's" in checked(Module(function))


@pytest.mark.parametrize("settings", [{"of": "input"}, {"create_graph": False}])
def test_other_leaves_and_no_gradients(settings):
    torch.manual_seed(0)
    assert "2 updates are PyTorch's" in checked(Module(torch.tanh, **settings))


class Twice(nn.Module):
    """The derivative of one by another tensor."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))

    def forward(self, x):
        h = x @ self.weight
        (g,) = torch.autograd.grad(torch.tanh(h).exp().sum(), h, create_graph=True)
        (g,) = torch.autograd.grad(g.square().sum(), self.weight, create_graph=True)
        # Its own gradient ends here, as everywhere.
        return g.square().mean() + (torch.tanh(h).detach() * h).mean()


def test_a_derivative_of_a_derivative():
    torch.manual_seed(0)
    assert "2 updates are PyTorch's" in checked(Twice())


def test_what_is_wrong_behind_a_derivative_is_said():
    class Branching(Twice):
        def forward(self, x):
            loss = super().forward(x)
            return loss if loss > 0 else 2 * loss

    with pytest.raises(zero.CannotImport, match="depends on the values of a tensor: a branch"):
        checked(Branching())
