"""Integers are what they are in PyTorch, or are refused."""

from __future__ import annotations

import pytest
import torch
from test_refusals import refusal
from torch import nn
from training import compare

ROWS = 101


class Rows(nn.Module):
    """Looks up what a function makes of the integers x."""

    def __init__(self, function):
        super().__init__()
        self.table = nn.Embedding(ROWS, 4)
        self.function = function

    def forward(self, x):
        rows = self.table(self.function(x) % ROWS)
        return (rows * torch.linspace(0.5, 1.5, rows.numel()).reshape(rows.shape)).mean()


def batch(high: int = 50000, low: int = 0) -> dict:
    return {"x": torch.randint(low, high, (4, 8))}


COMPUTED = {
    "offset": lambda x: x + 1000,
    "difference": lambda x: x[:, 1:] - x[:, :-1],
    "padding": lambda x: x * (x != 1) + (x == 1) * 7,
    "positions": lambda x: (x != 1).long().cumsum(1) * (x != 1) + 1,
    "count": lambda x: (x > 100).sum(1, keepdim=True) + x,
    "bounded": lambda x: x.clamp(0, 2000) * 1000003,
    "hashed": lambda x: (x % 1009) * 1000003 + 17,
    "hashed_twice": lambda x: ((x % 1009) * 1009 + (x.roll(1, 1) % 1009)) * 3,
    "cube": lambda x: (x % 1000) ** 3,
    "bits": lambda x: ((x & 1023) * 1000003) ^ (x | 5),
    "narrow": lambda x: (x % 100).to(torch.int8).long() + (x % 200).to(torch.uint8).long(),
    "wraps_alike": lambda x: x.int() * 1000003,
    "floats": lambda x: (x.float() / 7).long(),
    "wrapped": lambda x: sum(
        (x.float() - 25000).to(kind).long() for kind in (torch.int8, torch.uint8, torch.int16)
    ),
    "buckets": lambda x: torch.where(x < 9, x, (x.float().log() * 16).long().clamp(max=31)),
    "largest": lambda x: (x + 2**25).max(1, keepdim=True).values + (x + 2**25).max(),
    "smallest": lambda x: (x + 2**25).amin((0, 1), keepdim=True) + (x + 2**25).amin(0) + x.argmax(),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed(name, tmp_path):
    compare(Rows(COMPUTED[name]), batch(low=1), tmp_path)


REFUSED = {
    "product": lambda x: x * 1000003,
    "product_of_both": lambda x: x * x.roll(1, 1),
    "square": lambda x: x.square(),
    "cube": lambda x: x**3,
    "reversed": lambda x: 2**30 - x * 3,
    "sum": lambda x: x.sum(1, keepdim=True),
    "running_sum": lambda x: x.cumsum(1),
    "alpha": lambda x: torch.add(x, x, alpha=1000),
    "int8": lambda x: x.to(torch.int8).long(),
    "uint8": lambda x: ((x % 200).to(torch.uint8) + 100).long(),
    "int16": lambda x: ((x % 20000).to(torch.int16) * 2).long(),
    "widened": lambda x: (x.int() * 1000003).long() + 1,
    "through_floats": lambda x: (x.float() * 1000003).long(),
    "powers": lambda x: torch.pow(x, x % 3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    text = refusal(Rows(REFUSED[name]), **batch())
    bounded = "gives integers that may be" in text and "where PyTorch's differ from zero's" in text
    assert bounded or "of integers, whose exponent is a tensor: compute it in floats" in text, text
    assert "integers" in text and "test_integers.py:" in text and "floats" in text, text


def test_large_constants():
    text = refusal(Rows(lambda x: (x % 1009) + 2**40), **batch())
    assert "32 bits" in text


def test_a_mask_of_the_batch(tmp_path):
    class Masked(Rows):
        def forward(self, x, mask):
            return super().forward(x + mask.cumsum(1) * mask + mask.sum(1, keepdim=True))

    given = {**batch(), "mask": torch.randint(0, 2, (4, 8))}
    compare(Masked(lambda x: x), given, tmp_path)
    # Zeros may stand for anything.
    given["mask"] = torch.zeros_like(given["mask"])
    assert "aten.cumsum" in refusal(Masked(lambda x: x), **given)


def test_rows_of_a_table(tmp_path):
    """What is looked up is less than the table's rows, which executables check."""

    class Looked(Rows):
        def forward(self, x):
            return super().forward(x * 1000003) + self.table(x).mean()

    compare(Looked(lambda x: x), {"x": torch.randint(0, ROWS, (4, 8))}, tmp_path)
