"""`zero-import --check`."""

from __future__ import annotations

from test_check import corrupt

from zero.importer.cli import main

SOURCE = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 1)
        self.act = nn.GELU()

    def forward(self, x):
        return self.act(self.f(x)).mean()


def make():
    return Net(), {"x": torch.zeros(2, 3)}
"""


def test_command(tmp_path, monkeypatch, capsys):
    """What differs is not written."""
    (tmp_path / "net.py").write_text(SOURCE)
    words = [f"{tmp_path}/net.py:make", "--check", "-o", f"{tmp_path}/model.mlir"]
    assert main(words) == 0
    assert capsys.readouterr().out == (
        "2 updates are PyTorch's: the losses, 2 gradients, 2 parameters\n"
    )
    (tmp_path / "model.mlir").unlink()
    corrupt(monkeypatch, "nn.gelu exact", "nn.silu")
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.startswith("zero-import: error: module 'act': the imported model differs")
    assert error.count("\n") == 1 and not (tmp_path / "model.mlir").exists()


def test_command_of_a_configuration(tmp_path, capsys):
    sizes = '"num_hidden_layers": 1, "hidden_size": 16, "intermediate_size": 24'
    config = f'{{"model_type": "bert", {sizes}, "num_attention_heads": 2, "vocab_size": 50}}'
    (tmp_path / "config.json").write_text(config)
    words = ["--hf", f"{tmp_path}/config.json", "--sequence", "8", "--micro-batch", "2"]
    for task in ("masked-lm", "sequence-classification", "token-classification"):
        assert main([*words, "--task", task, "--check", "-o", f"{tmp_path}/m.mlir"]) == 0
        assert "2 updates are PyTorch's" in capsys.readouterr().out
