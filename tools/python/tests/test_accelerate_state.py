"""Checkpoints that accelerate has written of FSDP go on here."""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest
import torch
from models import MODELS

import zero
from zero.checkpoints import CheckpointError, read_checkpoint
from zero.checkpoints.cli import main

ADAM = {"lr": 1e-3, "eps": 1e-6, "weight_decay": 0.0}
UPDATES = 2


def save(folder: pathlib.Path, by_accelerate: bool) -> pathlib.Path:
    """The checkpoint of two ranks; (model, optimizer) as PyTorch has them is beside it."""
    settings = {
        "model": "gpt2",
        "adam": ADAM,
        "updates": UPDATES,
        "by_accelerate": by_accelerate,
    }
    torch.save(settings, folder / "settings.pt")
    script = pathlib.Path(__file__).with_name("accelerate_peer.py")
    ranks = [
        subprocess.Popen([sys.executable, str(script), str(rank), "2", str(folder)])
        for rank in range(2)
    ]
    assert [rank.wait(timeout=600) for rank in ranks] == [0, 0]
    return folder / "saved"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(tmp_path_factory.mktemp("accelerate"), by_accelerate=False)


def check(saved: pathlib.Path, **run) -> None:
    """Equal bits of weights and states, and PyTorch's next losses within 1e-4."""
    torch.manual_seed(8)
    module, batch = MODELS["gpt2"]()
    model, states = torch.load(saved.parent / "whole.pt", weights_only=False)
    module.eval().load_state_dict(model)
    step = zero.compile(
        module,
        {name: value[:1] for name, value in batch.items()},
        config={"optimizer": {"type": "AdamW", "params": ADAM}, "gradient_clipping": 0.0},
        ranks=2,
        stage=2,
        threads=1,
        check=False,
        **run,
    )
    with step:
        with pytest.warns(UserWarning, match="does not say which data were read"):
            step.load_checkpoint(saved)
        assert step.updates == UPDATES
        for name in step.parameters:
            assert numpy.array_equal(step.parameter(name), model[name].numpy()), name
            for state in ("exp_avg", "exp_avg_sq"):
                wanted = states["state"][name][state].numpy()
                assert wanted.any()
                assert numpy.array_equal(step.optimizer_state(name, state), wanted), name
        optimizer = torch.optim.AdamW(module.parameters(), **ADAM)
        for name, parameter in module.named_parameters():
            optimizer.state[parameter] = states["state"][name]
        for _ in range(3):
            optimizer.zero_grad()
            loss = module(**batch).loss
            loss.backward()
            optimizer.step()
            assert step(batch) == pytest.approx(loss.item(), rel=1e-4)


def test_goes_on(saved):
    check(saved)


@pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed"
)
def test_of_accelerate_itself(tmp_path):
    check(save(tmp_path, by_accelerate=True))


def test_weights_alone(saved, tmp_path, capsys):
    """Whatever becomes of the optimizer's folder; without it, a checkpoint has zeros."""
    folder = tmp_path / "checkpoint"
    shutil.copytree(saved, folder)
    (folder / "optimizer_0" / ".metadata").unlink()
    words = "optimizer_0: has no .metadata: the checkpoint is incomplete"
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(folder)
    assert main([str(folder), "-o", str(tmp_path / "weights.safetensors")]) == 0
    shutil.rmtree(folder / "optimizer_0")
    run = read_checkpoint(folder)
    assert run.steps == 0 and not any(p.states for p in run.parameters)
    assert "it has no states of an optimizer" in run.remarks
    module, _ = MODELS["gpt2"]()
    zero.load_weights(module, tmp_path / "weights.safetensors")
    model, _ = torch.load(saved.parent / "whole.pt", weights_only=False)
    assert all(value.equal(model[name]) for name, value in module.state_dict().items())


def test_refused(saved, tmp_path):
    two = tmp_path / "two"
    shutil.copytree(saved, two)
    shutil.copytree(two / "pytorch_model_fsdp_0", two / "pytorch_model_fsdp_1")
    match = "several models, in pytorch_model_fsdp_0, pytorch_model_fsdp_1: name the folder of one"
    with pytest.raises(CheckpointError, match=match):
        read_checkpoint(two)
    assert len(read_checkpoint(two / "pytorch_model_fsdp_1").parameters) > 1
    shutil.rmtree(two / "optimizer_0")
    shutil.move(two / "pytorch_model_fsdp_1", two / "optimizer_0")
    with pytest.raises(CheckpointError, match="optimizer_0: has 'model.*', as another part"):
        read_checkpoint(two)
    for name in ("pytorch_model_fsdp.bin", "pytorch_model_fsdp_0_rank1.bin"):
        whole = tmp_path / name.removesuffix(".bin")
        whole.mkdir()
        (whole / name).touch()
        with pytest.raises(CheckpointError, match=f"{name}, which is not read: save it with SHAR"):
            read_checkpoint(whole)
