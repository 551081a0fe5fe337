"""Loaders of PyTorch as data of a training."""

from __future__ import annotations

import numpy
import pytest
from test_step import compile_mlp, mlp_batch
from torch.utils.data import DataLoader

import zero


def test_a_loader_whose_last_batch_is_short():
    """It is refused before the first update that it would cost, and trains where that is not
    reached, or is left out."""
    samples = list(zip(*mlp_batch(10).values()))

    def batches(**options):
        def joined(rows):
            return {name: numpy.stack(column) for name, column in zip("xy", zip(*rows))}

        return DataLoader(samples, batch_size=4, collate_fn=joined, **options)

    with compile_mlp() as step:
        with pytest.raises(zero.ArgumentError, match="2 of its 4 samples, and all updates take as"):
            step.train(batches(), steps=3, progress=False)
        assert step.updates == 0
        step.train(batches(), steps=2, progress=False)
        step.train(batches(drop_last=True), steps=3, progress=False)
        alone = DataLoader(samples[:4], batch_size=64, collate_fn=batches().collate_fn)
        step.train(alone, steps=2, progress=False)
        assert step.updates == 7
