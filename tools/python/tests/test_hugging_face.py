"""A model of --hf: the weights that its folder has, and new ones only with a word."""

from __future__ import annotations

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from zero.importer.cli import main

SIZES = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 50,
}


@pytest.fixture
def base(tmp_path):
    """A folder of save_pretrained."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(num_key_value_heads=1, **SIZES)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def imported(hf, tmp_path, *words: str) -> int:
    """The exit code."""
    outputs = ["-o", f"{tmp_path}/m.mlir", "--weights", f"{tmp_path}/w.safetensors"]
    return main(["--hf", str(hf), "--sequence", "8", "--micro-batch", "2", *outputs, *words])


def taken(base, tmp_path) -> bool:
    wanted = load_file(base / "model.safetensors")
    found = load_file(tmp_path / "w.safetensors")
    return set(wanted) == set(found) and all(found[k].equal(wanted[k]) for k in wanted)


def test_weights_of_the_folder(base, tmp_path, capsys, monkeypatch):
    assert imported(base, tmp_path) == 0 and taken(base, tmp_path)
    assert imported(base / "config.json", tmp_path) == 0 and taken(base, tmp_path)
    monkeypatch.chdir(base)
    assert imported("config.json", tmp_path) == 0 and taken(base, tmp_path)
    assert "remark" not in capsys.readouterr().err


def test_sharded_and_16_bits(base, tmp_path):
    module = transformers.LlamaForCausalLM.from_pretrained(base).bfloat16()
    module.save_pretrained(tmp_path / "shards", max_shard_size="4KB")
    assert not (tmp_path / "shards" / "model.safetensors").exists()
    assert imported(tmp_path / "shards", tmp_path) == 0
    found = load_file(tmp_path / "w.safetensors")
    assert all(found[k].equal(v.float()) for k, v in module.state_dict().items())


def test_new_weights(base, tmp_path, capsys):
    """Where they are asked for, or there are no others."""
    assert imported(base, tmp_path, "--from-scratch") == 0 and not taken(base, tmp_path)
    assert "remark" not in capsys.readouterr().err
    (tmp_path / "alone").mkdir()
    (base / "config.json").rename(tmp_path / "alone" / "config.json")
    assert imported(tmp_path / "alone", tmp_path) == 0
    assert f"alone' has no weights: those of '{tmp_path}/w.safetensors' are new" in (
        capsys.readouterr().err
    )
    assert imported(base, tmp_path) == 1
    assert "config.json' is no configuration of transformers" in capsys.readouterr().err


def test_without_weights(base, tmp_path, capsys):
    words = ["--hf", str(base), "--sequence", "8", "--micro-batch", "2", "-o", f"{tmp_path}/m.mlir"]
    assert main(words) == 0
    assert "base' are not taken: --weights FILE writes them" in capsys.readouterr().err


def test_incomplete(base, tmp_path, capsys):
    path = base / "model.safetensors"
    weights = load_file(path)
    lost = "model.layers.0.mlp.up_proj.weight"
    save_file({k: v for k, v in weights.items() if k != lost}, path, metadata={"format": "pt"})
    assert imported(base, tmp_path) == 1
    wanted = f"do not have '{lost}', which LlamaForCausalLM has: the folder is incomplete, or of"
    assert wanted in capsys.readouterr().err
    head = "lm_head.weight"
    save_file({k: v for k, v in weights.items() if k != head}, path, metadata={"format": "pt"})
    assert imported(base, tmp_path) == 1
    assert f"do not have '{head}'" in capsys.readouterr().err
    path.write_bytes(b"nothing")
    assert imported(base, tmp_path) == 1
    assert "base' cannot be loaded" in capsys.readouterr().err
    path.rename(base / "tf_model.h5")
    assert imported(base, tmp_path) == 1
    assert "base' cannot be loaded" in capsys.readouterr().err


def test_another_task(tmp_path, capsys):
    """A new head is named, and so is what is not taken."""
    torch.manual_seed(1)
    folder = tmp_path / "bert"
    transformers.BertForMaskedLM(transformers.BertConfig(**SIZES)).save_pretrained(folder)
    assert imported(folder, tmp_path, "--task", "token-classification") == 0
    text = capsys.readouterr().err
    assert "'classifier.bias', 'classifier.weight' are new: " in text
    assert "are not taken: BertForTokenClassification has none" in text
    path = folder / "model.safetensors"
    weights = load_file(path)
    found = load_file(tmp_path / "w.safetensors")
    name = "bert.embeddings.word_embeddings.weight"
    assert found[name].equal(weights[name])
    # A masked LM has no pooler either.
    assert imported(folder, tmp_path, "--task", "sequence-classification") == 0
    assert "'bert.pooler.dense.bias', 'bert.pooler.dense.weight'" in capsys.readouterr().err
    save_file({k: v for k, v in weights.items() if k != name}, path, metadata={"format": "pt"})
    assert imported(folder, tmp_path, "--task", "sequence-classification") == 1
    assert f"do not have '{name}'" in capsys.readouterr().err


def test_from_scratch_of_a_function(tmp_path, capsys):
    words = [f"{tmp_path}/net.py:make", "--from-scratch", "-o", f"{tmp_path}/m.mlir"]
    assert main(words) == 1
    assert "--from-scratch is for --hf" in capsys.readouterr().err
