"""The same model and the same configuration file, trained here and by DeepSpeed."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from test_training import ADAM, UPDATES, four_samples, halves
from training import train

import zero

RANKS = 2
HOST = {"offload_optimizer": {"device": "cpu"}}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None, reason="DeepSpeed is not installed"
)


def losses_of_deepspeed(name: str, batch: dict, folder: pathlib.Path, weights: dict):
    """Trains by the configuration in `folder`."""
    settings = {"batch": batch, "weights": weights, "updates": UPDATES}
    torch.save(settings, folder / "batch.pt")
    script = pathlib.Path(__file__).with_name("deepspeed_peer.py")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(RANKS), str(folder), name],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(RANKS)
    ]
    outputs = [rank.communicate(timeout=600)[0] for rank in ranks]
    for rank, output in zip(ranks, outputs, strict=True):
        assert rank.returncode == 0, output[-4000:]
    return json.loads((folder / "losses.json").read_text())


@pytest.mark.parametrize(
    "zero_optimization",
    [
        {"stage": 0},
        {"stage": 1},
        {"stage": 2},
        {"stage": 3},
        {"stage": 1, **HOST},
        {"stage": 2, **HOST},
        {"stage": 3, **HOST, "sub_group_size": 10000},
    ],
    ids=lambda block: f"stage{block['stage']}" + ("-offload" if len(block) > 1 else ""),
)
def test_one_file_for_both(zero_optimization, tmp_path):
    """20 updates in f32: the losses are DeepSpeed's within 1e-4."""
    module, batch = four_samples("gpt2")
    model = zero.export(module.eval(), halves(batch))
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "optimizer": {"type": "AdamW", "params": {**ADAM, "torch_adam": True}},
        "gradient_clipping": 1.0,
        # Its own optimizer would have to be compiled first.
        "zero_force_ds_cpu_optimizer": False,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": zero_optimization,
    }
    found = train(model, batch, tmp_path, config, "--ranks", str(RANKS), steps=UPDATES)
    assert json.loads((tmp_path / "config.json").read_text()) == config
    wanted = losses_of_deepspeed("gpt2", batch, tmp_path, module.state_dict())
    assert wanted[-1] < wanted[0] - 1
    assert found == pytest.approx(wanted, rel=1e-4)
