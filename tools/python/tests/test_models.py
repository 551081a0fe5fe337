"""Imported models train as PyTorch trains them."""

import pytest
import torch
from models import MODELS, TRAINED
from training import compare


@pytest.mark.parametrize("name", sorted(MODELS))
def test_one_update(name, tmp_path):
    torch.manual_seed(1)
    module, batch = MODELS[name]()
    module.train(name in TRAINED)
    compare(module, batch, tmp_path)
