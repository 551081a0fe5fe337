"""The command, and models of any size without memory."""

from __future__ import annotations

import json
import subprocess

import torch
from safetensors.torch import load_file, save_file
from training import run, tool

from zero.importer import table
from zero.importer.cli import main

MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 1)

    def forward(self, x):
        return self.f(x).mean()


def make():
    return Net(), {"x": torch.zeros(2, 3)}


def wrong():
    return Net()
"""


def test_file_and_weights(tmp_path):
    (tmp_path / "net.py").write_text(MODEL)
    words = [f"{tmp_path}/net.py:make", "-o", f"{tmp_path}/m.mlir", "--weights", f"{tmp_path}/m.st"]
    assert main(words) == 0
    assert "zero.parameter @f.weight : tensor<1x3xf32>" in (tmp_path / "m.mlir").read_text()
    assert set(load_file(tmp_path / "m.st")) == {"f.weight", "f.bias"}


def test_an_executable_wants_its_weights(tmp_path):
    """An import that wrote weights is not trained from new ones without a word."""
    (tmp_path / "net.py").write_text(MODEL)
    weights, text = tmp_path / "m.safetensors", tmp_path / "m.mlir"
    words = [f"{tmp_path}/net.py:make", "-o", str(text)]
    assert main(words) == 0
    assert "zero.pretrained" not in text.read_text()
    assert main([*words, "--weights", str(weights)]) == 0
    run([tool("zero-compile"), str(text), "-o", str(tmp_path / "train")], tmp_path)
    save_file({"x": torch.zeros(8, 3)}, tmp_path / "data.safetensors")
    command = ["./train", "--data", "data.safetensors", "--validation-fraction", "0"]
    command += ["--steps", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "was imported with weights, and none are given" in done.stderr
    run([*command, "--weights", str(weights)], tmp_path)
    run([*command, "--from-scratch"], tmp_path)


def test_errors(tmp_path, capsys):
    (tmp_path / "net.py").write_text(MODEL)
    out = ["-o", f"{tmp_path}/m.mlir"]
    for word, wanted in (
        (f"{tmp_path}/net.py:other", "has no function 'other'"),
        (f"{tmp_path}/net.py:wrong", "must return (module, batch)"),
        (f"{tmp_path}/none.py:make", "does not exist"),
        (f"{tmp_path}/net.txt:make", "net.txt' is no Python file"),
        ("net", "wanted FILE.py:FUNCTION"),
    ):
        assert main([word, *out]) == 1
        assert wanted in capsys.readouterr().err
    assert main(out) == 1
    assert "wanted either" in capsys.readouterr().err


def test_configuration_of_any_size(tmp_path):
    """Seven billion parameters, none of which gets memory."""
    config = {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = [
        "--hf",
        f"{tmp_path}/config.json",
        "--task",
        "causal-lm",
        "--sequence",
        "512",
        "--micro-batch",
        "1",
        "-o",
        f"{tmp_path}/m.mlir",
    ]
    assert main(words) == 0
    text = (tmp_path / "m.mlir").read_text()
    assert text.count("nn.attention") == 32 and text.count("nn.rotary") == 64
    assert len(text) < 400_000


def test_configurations_that_are_none(tmp_path, capsys):
    path = tmp_path / "config.json"
    words = ["--hf", str(path), "--sequence", "8", "-o", f"{tmp_path}/m.mlir"]
    assert main(words) == 1
    assert "--hf wants --micro-batch" in capsys.readouterr().err
    for text, wanted in (
        ("{}", "is no configuration of transformers"),
        ("[", "is no configuration of transformers"),
        ('{"model_type": "unheard-of"}', "unheard-of"),
        ('{"model_type": "vit"}', "no model of this configuration and task"),
    ):
        path.write_text(text)
        assert main([*words, "--micro-batch", "2"]) == 1
        assert wanted in capsys.readouterr().err


def test_tasks(tmp_path):
    config = {
        "model_type": "bert",
        "num_hidden_layers": 1,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_attention_heads": 2,
        "vocab_size": 50,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = ["--hf", f"{tmp_path}/config.json", "--sequence", "8", "--micro-batch", "2"]
    for task, labels in (
        ("masked-lm", "tensor<2x8xi32>"),
        ("sequence-classification", "tensor<2xi32>"),
        ("token-classification", "tensor<2x8xi32>"),
    ):
        assert main([*words, "--task", task, "-o", f"{tmp_path}/m.mlir"]) == 0
        assert f"%labels: {labels}" in (tmp_path / "m.mlir").read_text()


def test_documented_operations():
    page = table.PAGE.read_text()
    assert table.page_with_table(page) == page, "run python -m zero.importer.table --write"
