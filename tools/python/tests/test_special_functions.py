"""Functions that the importer computes by series: values and gradients are PyTorch's."""

from __future__ import annotations

import torch
from test_operations import ROWS, WIDTH, Sum
from training import compare

SPECIAL = {
    "lgamma": lambda w, x, i: w.lgamma(),
    "lgamma_of_large": lambda w, x, i: (w * 10 ** i.float()).lgamma() / 10 ** i.float(),
    "lgamma_below": lambda w, x, i: (x - 0.25).lgamma() * w + (-w - i).lgamma(),
    "digamma": lambda w, x, i: w.digamma() + (w * 10 * i + 1).digamma() + (-w).digamma(),
    "polygamma": lambda w, x, i: torch.polygamma(1, x.abs() + 0.5) * w + torch.polygamma(0, w),
    "mvlgamma": lambda w, x, i: torch.mvlgamma(w + 2, 2),
    "erfinv": lambda w, x, i: (w * 0.6).erfinv() + (1 - w * 1e-3).erfinv(),
}


def test_special_functions(tmp_path):
    torch.manual_seed(5)
    batch = {"x": torch.randn(ROWS, WIDTH), "ids": torch.randint(0, WIDTH, (ROWS, WIDTH))}
    compare(Sum(SPECIAL, 0.5, 1.5), batch, tmp_path)
