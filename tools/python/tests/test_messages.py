"""Messages say what is wrong in a line, and nothing else is said."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy
import pytest
import torch
from test_refusals import Module, refusal
from torch import nn

import zero


def test_a_branch_is_one_message(tmp_path):
    """In a process of its own: PyTorch's loggers write past what a test captures."""
    path = tmp_path / "model.py"
    path.write_text(
        "import torch\n"
        "class M(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(4))\n"
        "    def forward(self, x):\n"
        "        h = (x * self.w).sum()\n"
        "        return h * 2 if h > 0 else h\n"
        "def make(): return M(), {'x': torch.ones(2, 4)}\n"
    )
    words = [sys.executable, "-m", "zero.importer.cli", f"{path}:make", "-o", "/dev/null"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "model.py:8: torch.export cannot trace the model" in done.stderr


def test_what_forward_prints_stays(capfd):
    def spoken(w, x):
        print("forward speaks", file=sys.stderr)
        return w.sum() if x.sum() > 0 else w.mean()

    refusal(Module(spoken))
    assert capfd.readouterr().err == "forward speaks\n"


def test_positions_beyond_the_model():
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Embedding(8, 4)

        def forward(self, x):
            return (self.rows(torch.arange(x.shape[1])) * x).mean()

    text = refusal(Positions(), x=torch.randn(2, 9, 4))
    assert "rows 0 to 8 are read of a table that has 8" in text
    assert "the sequence is too long" in text and "in module 'rows'" in text
    zero.export(Positions(), {"x": torch.randn(2, 8, 4)})


@pytest.mark.parametrize("kind, near", [("lama", "'llama'"), (None, "'llama'"), (3, "'llama'")])
def test_an_unknown_kind_of_model(kind, near, tmp_path):
    from zero.importer.huggingface import read_config

    path = pathlib.Path(tmp_path, "config.json")
    path.write_text(json.dumps({"model_type": kind} if kind is not None else {}))
    with pytest.raises(zero.CannotImport) as caught:
        read_config(str(path))
    assert f"model_type is {kind!r}" in str(caught.value) and near in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_model_has_a_short_name():
    model = zero.export(Module(lambda w, x: (w @ x).mean()), {"x": torch.randn(4, 4)})
    assert repr(model) == "<zero.Model of x: 1 parameters, 16 elements>"


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return (x * self.w).mean()


def test_numbers_of_a_configuration():
    """Those of NumPy and PyTorch are numbers; what JSON has no form of is named."""
    batch = {"x": torch.ones(2, 4)}
    config = {"gradient_clipping": torch.tensor(0.5), "gradient_accumulation_steps": numpy.int64(2)}
    with zero.compile(Scaled(), batch, config=config, check=False) as step:
        assert step.accumulation == 2
    with pytest.raises(zero.Error, match="has a Scaled, which JSON has no form of"):
        zero.compile(Scaled(), batch, config={"gradient_clipping": Scaled()}, check=False)


def test_an_iterator_that_ends():
    batch = {"x": torch.ones(2, 4)}
    with zero.compile(Scaled(), batch, check=False) as step:
        with pytest.raises(zero.ArgumentError, match="no batch, or ended at update 2"):
            step.train(iter([batch, batch]), 5, progress=False)
