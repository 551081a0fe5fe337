"""Recurrent cells, called step by step, import as whole layers do."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from training import compare


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = kind(5, 6)

    def forward(self, x):
        state = None
        for step in x.unbind(1):
            state = self.cell(step, state)
        return sum(
            part.square().mean() for part in (state if isinstance(state, tuple) else [state])
        )


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_cell(kind, tmp_path):
    torch.manual_seed(0)
    compare(Recurrent(kind), {"x": torch.randn(4, 3, 5)}, tmp_path)
