"""Imported models train as PyTorch trains them, and docs/Models.md lists them."""

import models_page
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


def test_page():
    wanted = models_page.page()
    found = models_page.PAGE.read_text(encoding="utf-8")
    assert found == wanted, "run tools/python/tests/models_page.py --write"
