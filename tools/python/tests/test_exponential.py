"""Numbers with an exponential distribution, and the samples of F.gumbel_softmax."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import zero

RATE = 2.0


class Moments(nn.Module):
    """Its gradient is what is asked of the numbers."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        drawn = torch.empty_like(x).exponential_(RATE)
        few = (drawn < 0.1).float().mean()
        return (self.weight * torch.stack([drawn.mean(), drawn.square().mean(), few])).sum()


def test_moments():
    """As many numbers as there are elements, within four deviations of their means; others in
    each update."""
    batch = {"x": torch.zeros(64, 512)}
    found = []
    with zero.compile(Moments(), batch, check=False) as step:
        for _ in range(2):
            step.backward(batch)
            found.append(step.gradient("weight"))
            step.update()
    wanted = [1 / RATE, 2 / RATE**2, 1 - math.exp(-0.1 * RATE)]
    deviations = [1 / RATE, math.sqrt(20) / RATE**2, math.sqrt(wanted[2] * (1 - wanted[2]))]
    for moments in found:
        for value, mean, deviation in zip(moments, wanted, deviations, strict=True):
            assert abs(value - mean) < 4 * deviation / math.sqrt(64 * 512)
    assert not (found[0] == found[1]).any()


class Sampled(nn.Module):
    def __init__(self, hard: bool):
        super().__init__()
        self.logits = nn.Parameter(torch.randn(4, 6))
        self.head = nn.Linear(6, 3)
        self.hard = hard

    def forward(self, x):
        weights = F.gumbel_softmax(self.logits + x, tau=0.5, hard=self.hard)
        return self.head(weights * x).square().mean()


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    """With the same numbers in both it is PyTorch's, also straight through."""
    torch.manual_seed(3)
    found = zero.check(Sampled(hard), {"x": torch.randn(4, 6)})
    assert found.startswith("2 updates are PyTorch's: the losses, ")
