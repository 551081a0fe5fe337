"""Imports that are kept for planning."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from zero import cached

CONFIG = {
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 50,
}


@pytest.fixture
def hf(tmp_path, monkeypatch):
    monkeypatch.setenv("ZERO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path / "config.json"


def words(hf, *others: str) -> list[str]:
    return ["--hf", str(hf), "--sequence", "8", "--micro-batch", "2", *others]


def found(capsys, hf, *others: str) -> str:
    assert cached.main(words(hf, *others)) == 0
    return capsys.readouterr().out.strip()


def test_an_import_is_made_once(hf, capsys, monkeypatch):
    path = found(capsys, hf)
    with open(path) as file:
        assert "zero.step @train(%input_ids: tensor<2x8xi32>" in file.read()
    monkeypatch.setattr(cached, "import_to", lambda *_: pytest.fail("imported again"))
    assert found(capsys, hf) == path
    assert found(capsys, hf.parent) == path
    assert os.listdir(hf.parent / "cache") == [os.path.basename(path)]


def test_what_decides_about_an_import_finds_it(hf, capsys, monkeypatch):
    paths = [found(capsys, hf), found(capsys, hf, "--sequence", "4")]
    hf.write_text(json.dumps(CONFIG | {"vocab_size": 60}))
    paths.append(found(capsys, hf))
    monkeypatch.setattr(cached, "version", lambda name: "0")
    paths.append(found(capsys, hf))
    assert len(set(paths)) == 4


def test_later_it_needs_no_pytorch(hf, capsys, monkeypatch):
    path = found(capsys, hf)
    code = "import sys; from zero.cached import main; main(); assert 'torch' not in sys.modules"
    process = subprocess.run(
        [sys.executable, "-c", code, *words(hf)], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == path
    monkeypatch.setattr(cached, "missing", lambda: ["torch"])
    monkeypatch.setattr(cached, "version", lambda name: "")
    assert found(capsys, hf) == path


def test_micro_batches_of_standard_input(hf, capsys, monkeypatch):
    own = words(hf)[:-2]
    monkeypatch.setattr(sys, "stdin", io.StringIO("2\n1\n"))
    assert cached.main(own) == 0
    two, one = capsys.readouterr().out.split()
    assert found(capsys, hf) == two != one
    monkeypatch.setattr(sys, "stdin", io.StringIO("2\ntwo\n"))
    assert cached.main(own) == 1
    said = capsys.readouterr()
    assert said.out.split() == [two]
    assert "found the micro-batch 'two', wanted a number" in said.err


def test_what_is_missing_is_named(hf, capsys, monkeypatch):
    monkeypatch.setattr(cached, "missing", lambda: ["torch", "transformers"])
    assert cached.main(words(hf)) == 1
    error = capsys.readouterr().err
    assert "needs torch, transformers: pip install 'zero-compiler[huggingface]'" in error


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "lama"}'])
def test_no_configuration(hf, capsys, text):
    hf.write_text(text)
    assert cached.main(words(hf)) == 1
    assert "is no configuration of transformers" in capsys.readouterr().err
    folder = hf.parent / "cache"
    assert not folder.exists() or not os.listdir(folder)


def test_no_task(hf, capsys):
    assert cached.main(words(hf, "--task", "chat")) == 1
    assert "--task chat: wanted one of causal-lm" in capsys.readouterr().err
