"""A share of the random functions; `drawn` makes as many as one likes."""

from __future__ import annotations

import pytest
import torch
from each import differing
from random_functions import drawn

SHARE, TOGETHER = 240, 80


@pytest.mark.parametrize("first", range(0, SHARE, TOGETHER))
def test_random_functions(first):
    torch.manual_seed(0)
    batch = {"x": torch.randn(4, 6), "ids": torch.randint(0, 6, (4, 6))}
    functions, weights = {}, {}
    for seed in range(first, first + TOGETHER):
        name, function, weight = drawn(seed)
        functions[name], weights[name] = function, weight
    assert not differing(functions, weights, batch, trained_alone=True)
