"""Inputs that are no samples: graphs, and what all samples share."""

from __future__ import annotations

import pytest
import torch
import training
from torch import nn

import zero


class Graph(nn.Module):
    """One layer of message passing: the edges are as many as they are."""

    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 2)

    def forward(self, x, edges, scale, labels):
        messages = self.f(x)[edges[0]] * scale
        nodes = self.f(x) + messages.mean(0)
        return nn.functional.cross_entropy(nodes, labels)


def batch():
    return {
        "x": torch.randn(4, 3),
        "edges": torch.tensor([[0, 1, 2, 3, 0, 2], [1, 2, 3, 0, 2, 1]]),
        "scale": torch.tensor(0.5),
        "labels": torch.tensor([0, 1, 1, 0]),
    }


def test_whole_micro_batches(tmp_path, monkeypatch):
    # One micro-batch, of all tensors.
    whole = {name: value.unsqueeze(0) for name, value in batch().items()}
    whole["x"][:] = torch.randn(1, 4, 3)
    example = {name: value[0] for name, value in whole.items()}
    monkeypatch.setattr(training, "shuffled", lambda _: whole)
    torch.manual_seed(0)
    training.compare(Graph(), example, tmp_path)


def test_a_scalar_first_is_refused():
    tensors = batch()
    first = {"scale": tensors.pop("scale"), **tensors}
    with pytest.raises(zero.CannotImport, match="the first tensor of the batch, 'scale'"):
        zero.export(Graph(), first)
