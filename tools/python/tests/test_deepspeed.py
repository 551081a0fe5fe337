"""The same model and the same configuration file, trained here and by DeepSpeed."""

from __future__ import annotations

import json

import pytest
from deepspeed_runs import needs_deepspeed, prepare, run_deepspeed
from test_training import ADAM, UPDATES, four_samples
from training import train

import zero

RANKS = 2
HOST = {"offload_optimizer": {"device": "cpu"}}
ALL_HOST = {**HOST, "offload_param": {"device": "cpu"}}

pytestmark = needs_deepspeed


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
        {"stage": 3, **ALL_HOST, "stage3_param_persistence_threshold": 1000},
    ],
    ids=lambda block: "-".join(["stage" + str(block["stage"]), *sorted(ALL_HOST.keys() & block.keys())]),
)
def test_one_file_for_both(zero_optimization, tmp_path):
    """20 updates in f32: the losses are DeepSpeed's within 1e-4."""
    compare(zero_optimization, RANKS, tmp_path)


def test_nodes_that_gather_again(tmp_path):
    """hpZ: two nodes of two ranks, which keep a secondary partition."""
    nodes = {"stage": 3, "zero_hpz_partition_size": 2, "stage3_param_persistence_threshold": 0}
    compare(nodes, 4, tmp_path)


def compare(zero_optimization, ranks, tmp_path):
    module, batch = four_samples("gpt2")
    samples = 4 // ranks
    model = zero.export(module.eval(), {key: value[:samples] for key, value in batch.items()})
    config = {
        "train_micro_batch_size_per_gpu": samples,
        "optimizer": {"type": "AdamW", "params": {**ADAM, "torch_adam": True}},
        "gradient_clipping": 1.0,
        # Its own optimizer would have to be compiled first.
        "zero_force_ds_cpu_optimizer": False,
        "zero_allow_untested_optimizer": True,
        "zero_optimization": zero_optimization,
    }
    found = train(model, batch, tmp_path, config, "--ranks", str(ranks), steps=UPDATES)
    assert json.loads((tmp_path / "config.json").read_text()) == config
    settings = {"model": "gpt2", "batch": batch, "weights": module.state_dict()}
    prepare(tmp_path, config, updates=UPDATES, **settings)
    (wanted,) = run_deepspeed(ranks, tmp_path)
    assert wanted[-1] < wanted[0] - 1
    assert found == pytest.approx(wanted, rel=1e-4)
