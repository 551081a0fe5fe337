"""Imported models in training: many updates, stages, ranks, precisions, sizes."""

from __future__ import annotations

import json
import pathlib
import re

import pytest
import torch
from models import MODELS
from training import run, tool, train

import zero
from zero.importer.cli import main

ADAM = {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-6, "weight_decay": 0.0}
UPDATES = 20
ROOT = pathlib.Path(__file__).parents[3]


def four_samples(name: str):
    """The model and a batch of four different samples; it imports two a rank."""
    torch.manual_seed(8)
    module, batch = MODELS[name]()
    ids = torch.randint(1, 128, (4, batch["input_ids"].shape[1]))
    return module, {"input_ids": ids, "labels": ids}


def halves(batch: dict) -> dict:
    return {name: value[:2] for name, value in batch.items()}


def losses_of_pytorch(module, batch) -> list[float]:
    optimizer = torch.optim.AdamW(module.parameters(), **{**ADAM, "betas": (0.9, 0.999)})
    losses = []
    for _ in range(UPDATES):
        optimizer.zero_grad()
        loss = module(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_updates_at_every_stage(name, tmp_path):
    """20 updates at stages 1 to 3 on two ranks are PyTorch's on one batch."""
    module, batch = four_samples(name)
    module.eval()
    model = zero.export(module, halves(batch))
    config = {"optimizer": {"type": "AdamW", "params": ADAM}, "gradient_clipping": 1.0}
    found = {}
    for stage in ("1", "2", "3"):
        options = ("--ranks", "2", "--stage", stage)
        found[stage] = train(model, batch, tmp_path, config, *options, steps=UPDATES, micro_batch=2)
    wanted = losses_of_pytorch(module, batch)
    assert wanted[-1] < wanted[0] - 1
    for stage, losses in found.items():
        assert losses == pytest.approx(wanted, rel=1e-5), f"stage {stage}"


# A model or two of each kind.
FAMILIES = [
    *("gpt2", "llama", "gemma3_text"),  # decoders
    *("bert_mlm", "deberta_mlm"),  # encoders
    *("t5", "bart"),  # both
    *("mobilenet_v2", "unet"),  # convolutions, batch norm
    *("vit", "tv_swin"),  # attention in images
    *("mixtral", "gpt_oss"),  # experts
    *("mamba", "mamba2", "lstm"),  # recurrences
    *("whisper", "speech_to_text"),  # audio
    *("unet_diffusion", "vae"),  # denoising
    *("gcn", "clip", "dlrm"),  # graphs, text and images, tables
]


def for_two_ranks(name: str):
    """The model, the batch of a rank, and other samples for each rank."""
    torch.manual_seed(9)
    module, batch = MODELS[name]()
    _, other = MODELS[name]()
    samples = next(iter(batch.values())).shape[0]
    # What has another first dimension is the same for all samples.
    both = {
        key: torch.cat([value, other[key]]) if value.shape[:1] == (samples,) else value
        for key, value in batch.items()
    }
    return module, batch, both


@pytest.mark.parametrize("name", FAMILIES)
def test_bf16_at_stage_3(name, tmp_path):
    """40 updates in train mode on two ranks, each of which keeps a part of each
    parameter: the loss falls."""
    module, batch, both = for_two_ranks(name)
    model = zero.export(module.train(), batch)
    config = {
        "optimizer": {"type": "AdamW", "params": {**ADAM, "lr": 3e-3}},
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
    }
    samples = next(iter(batch.values())).shape[0]
    losses = train(model, both, tmp_path, config, "--ranks", "2", steps=40, micro_batch=samples)
    assert sum(losses[-5:]) / 5 < 0.85 * losses[0], losses


def planned(path: str, folder) -> tuple[int, float]:
    """(bytes of a rank, predicted milliseconds of an update)."""
    output = run([tool("zero-plan"), path, "--ranks", "1", "--stage", "0"], folder)
    size = re.search(r"^  all +([\d,]+)", output, re.M).group(1)
    return int(size.replace(",", "")), float(re.search(r"an update +([\d.]+) ms", output).group(1))


def test_gpt2_takes_what_the_one_by_hand_takes(tmp_path):
    config = {
        "model_type": "gpt2",
        "vocab_size": 50304,
        "n_positions": 256,
        "resid_pdrop": 0,
        "embd_pdrop": 0,
        "attn_pdrop": 0,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = [
        "--hf",
        f"{tmp_path}/config.json",
        "--sequence",
        "256",
        "--micro-batch",
        "1",
        "-o",
        f"{tmp_path}/gpt2.mlir",
    ]
    assert main(words) == 0
    by_hand = ROOT / "test/Models/gpt2-124m.mlir"
    found, wanted = planned("gpt2.mlir", tmp_path), planned(str(by_hand), tmp_path)
    assert found == pytest.approx(wanted, rel=0.02)
