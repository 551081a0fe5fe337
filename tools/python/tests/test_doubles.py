"""Arithmetic on elements in float64 is PyTorch's; all else in float64 is refused at import."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from test_operations import ROWS, WIDTH, Sum
from test_refusals import Module, refusal
from training import compare

NUMBERS = torch.tensor([1, 0])

COMPUTED = {
    "elements": lambda w, x, i: (w.double().exp() * x - w.double().clamp(0, 1) / 3).float(),
    # Of what is not trained no gradient is a sum.
    "broadcast": lambda w, x, i: (w.double() * x.double()[:1]).float(),
    "broadcast_detached": lambda w, x, i: (w.double() * w.double().detach()[:1]).float(),
    "broadcast_compared": lambda w, x, i: torch.where(w.double() > w.double()[:1], w, 2 * w),
    "looked_up": lambda w, x, i: (F.embedding(NUMBERS, x.double()) * w.double()[:2]).float(),
    "gathered": lambda w, x, i: (x.double().gather(1, i) * w.double()).float(),
    "scattered": lambda w, x, i: w.double().index_copy(0, NUMBERS, w.double()[:2] * 2).float(),
    "split": lambda w, x, i: (w.double().split(3, 1)[0] * w.double().split(3, 1)[1]).float(),
    "moved": lambda w, x, i: (w.double()[:, :ROWS].mT * w.double().flip(0)[:, :ROWS]).float(),
    "silu": lambda w, x, i: (F.silu(w.double()) + F.gelu(w.double())).float(),
    "gate": lambda w, x, i: (F.silu(w.double()) * x.double()).float(),
}


def test_computed(tmp_path):
    torch.manual_seed(5)
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(Sum(COMPUTED, 0.5, 1.5), batch, tmp_path)


REFUSED = {
    "a sum, a mean or a maximum in float64": [
        lambda w, x: w.double().sum(0),
        lambda w, x: x.double().amax(0) * w.double(),
        lambda w, x: torch.linalg.qr(w.double())[1],
    ],
    "the gradient of what is broadcast in float64, which is a sum": [
        lambda w, x: torch.linalg.solve_triangular(w.double(), x.double(), upper=True),
        lambda w, x: torch.linalg.cholesky(w.double()),
        lambda w, x: w.double()[:1] * x,
    ],
    "the gradient of what is looked up in float64": [lambda w, x: w.double()[NUMBERS]],
    "the gradient of what is gathered in float64": [
        lambda w, x: w.double().gather(0, NUMBERS[:, None])
    ],
    "random numbers in float64": [
        lambda w, x: torch.empty(4, 4, dtype=torch.float64).exponential_() * w,
        lambda w, x: torch.randn_like(x.double()) * w,
    ],
    "attention in float64": [
        lambda w, x: F.scaled_dot_product_attention(*[w.double()[None, None]] * 3)
    ],
    "dropout in float64": [lambda w, x: F.dropout(w.double())],
    "softmax in float64": [lambda w, x: w.double().softmax(0)],
    "cross entropy in float64": [lambda w, x: F.cross_entropy(w.double(), NUMBERS.repeat(2))],
    "a normalization in float64": [
        lambda w, x: F.layer_norm(w.double(), (4,)),
        lambda w, x: F.rms_norm(w.double(), (4,)),
    ],
    "a batch norm in float64": [lambda w, x: F.batch_norm(w.double(), None, None, training=True)],
    "pooling in float64": [
        lambda w, x: F.max_pool1d(w.double(), 2),
        lambda w, x: F.avg_pool1d(w.double(), 3, stride=1),
    ],
    "sorting in float64": [
        lambda w, x: x.double().argsort(0) * w,
        lambda w, x: torch.linalg.det(w.double()),
    ],
    "a cumulative sum in float64": [lambda w, x: w.double().cumsum(0)],
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words):
    for function in REFUSED[words]:
        text = refusal(Module(lambda w, x, f=function: f(w, x).float().sum()))
        line = Module.forward.__code__.co_firstlineno + 1
        assert f"test_refusals.py:{line}: {words}" in text
        assert ".float()" in text or "draw them in float32" in text
