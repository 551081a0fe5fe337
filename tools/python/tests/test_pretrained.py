"""Folders of transformers, from a live run and from its checkpoint."""

from __future__ import annotations

import json

import pytest
import torch
from models import MODELS

import zero
from zero.importer.pretrained import main

ADAM = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-2}}}


@pytest.mark.parametrize("name", ["gpt_neox", "vit", "mixtral"])
def test_names_of_files(name, tmp_path):
    """Models whose files have other names than their parameters: equal logits."""
    import transformers

    torch.manual_seed(12)
    module, batch = MODELS[name]()
    module.eval()
    again, _ = MODELS[name]()
    with zero.compile(module, batch, config=ADAM, threads=1) as step:
        step(batch)
        step.save_checkpoint(tmp_path / "run")
        step.save_pretrained(module, tmp_path / "live")
    zero.save_pretrained(again.eval(), tmp_path / "run", tmp_path / "saved")
    wanted = module(**batch).logits
    kind = getattr(transformers, type(module).__name__)
    for folder in ("live", "saved"):
        loaded, report = kind.from_pretrained(tmp_path / folder, output_loading_info=True)
        assert not any(report.values()), report
        if name == "mixtral":  # products of experts as the module calls them
            loaded.set_experts_implementation(module.config._experts_implementation)
        assert loaded.eval()(**batch).logits.equal(wanted)
    assert (tmp_path / "live" / "model.safetensors").read_bytes() == (
        tmp_path / "saved" / "model.safetensors"
    ).read_bytes()


def test_command(tmp_path, capsys):
    module, batch = MODELS["llama"]()
    module.config.save_pretrained(tmp_path)
    with zero.compile(module, batch, config=ADAM, ranks=2, stage=3, threads=1) as step:
        step({name: value.repeat(2, 1) for name, value in batch.items()})
        step.save_checkpoint(tmp_path / "run")
        step.load_into(module)
    words = [str(tmp_path / "run"), "--hf", str(tmp_path / "config.json")]
    assert main([*words, "--type", "bf16", "-o", str(tmp_path / "folder")]) == 0
    assert "folder: LlamaForCausalLM" in capsys.readouterr().out
    import transformers

    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "folder")
    assert loaded.dtype == torch.bfloat16
    for (name, value), other in zip(
        module.state_dict().items(), loaded.state_dict().values(), strict=True
    ):
        assert value.bfloat16().equal(other), name
    assert main([*words[:1], "-o", "x"]) == 1
    assert "wanted either" in capsys.readouterr().err
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))
    assert main([*words, "-o", str(tmp_path / "other")]) == 1
    assert "wanted [128, 32]" in capsys.readouterr().err
    (tmp_path / "config.json").write_text(json.dumps(config))
    for manifest in tmp_path.glob("run/update-*/manifest.json"):
        manifest.write_text(manifest.read_text().replace("llama", "lamma").replace('1', '2'))
    assert main([*words, "-o", str(tmp_path / "other")]) == 1
    assert "manifest.json" in capsys.readouterr().err
    with pytest.raises(zero.CannotImport, match="'f8' is no type of weights, wanted "):
        zero.save_pretrained(module, tmp_path / "run", tmp_path / "other", type="f8")
    with pytest.raises(zero.CannotImport, match="is no model of transformers"):
        zero.save_pretrained(MODELS["nanogpt"]()[0], tmp_path / "run", tmp_path / "other")


def test_a_module_is_written_in_any_type_at_any_time(tmp_path):
    module, batch = MODELS["llama"]()
    with zero.compile(module, batch, config=ADAM, threads=1) as step:
        for kind in ("f32", "bf16", "f16", "bf16", "f32"):
            step(batch)
            step.save_pretrained(module, tmp_path / kind, type=kind)
        name = "model.norm.weight"
        assert module.get_parameter(name).equal(torch.from_numpy(step.parameter(name)))
        step.set_parameter(name, step.parameter(name) + 1e5)
        before = module.get_parameter(name).clone()
        with pytest.raises(zero.CannotImport, match="has a finite value that is too large for to"):
            step.save_pretrained(module, tmp_path / "f16", type="f16")
        assert module.get_parameter(name).equal(before)


def test_a_kept_library_wants_weights(tmp_path):
    """It has none of the module's, and would train from new ones without a word."""
    torch.manual_seed(3)
    module, batch = torch.nn.Linear(4, 3), {"x": torch.randn(2, 4)}

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = module

        def forward(self, x):
            return self.linear(x).square().mean()

    library, weights = tmp_path / "step.so", tmp_path / "weights.safetensors"
    with zero.compile(Loss(), batch, config=ADAM, threads=1, output=library) as step:
        step.save_weights(weights)
        wanted = step(batch)
        step.save_checkpoint(tmp_path / "run")
    with zero.load(library, threads=1) as step:
        for call in (step, lambda batch: step.evaluate([batch])):
            with pytest.raises(zero.StateError, match="compiled from a model with weights"):
                call(batch)
        step.load_checkpoint(tmp_path / "run")
        assert step(batch) < wanted
    with zero.load(library, threads=1, weights=weights) as step:
        assert step(batch) == wanted
