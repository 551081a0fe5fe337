"""Checkpoints of torch.distributed.checkpoint go on here."""

from __future__ import annotations

import json
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import numpy
import pytest
import torch
import torch.distributed.checkpoint as dcp
from models import MODELS
from safetensors.torch import save_file
from torch.distributed.checkpoint.state_dict import get_state_dict
from training import run, tool

import zero
from zero.checkpoints import CheckpointError, read_checkpoint, write_weights
from zero.checkpoints.cli import main

ADAM = {"lr": 1e-3, "eps": 1e-6, "weight_decay": 0.0}


@pytest.fixture(scope="module")
def trained():
    """(module, optimizer, batch) after three updates of PyTorch."""
    torch.manual_seed(8)
    module, batch = MODELS["gpt2"]()
    module.transformer.wpe.weight.requires_grad = False
    optimizer = torch.optim.AdamW(module.eval().parameters(), **ADAM)
    for _ in range(3):
        update(module, optimizer, batch)
    return module, optimizer, batch


def update(module, optimizer, batch) -> float:
    optimizer.zero_grad()
    loss = module(**batch).loss
    loss.backward()
    optimizer.step()
    return loss.item()


def save(module, optimizer, folder: pathlib.Path) -> None:
    model, states = get_state_dict(module, optimizer)
    dcp.save({"model": model, "optimizer": states}, checkpoint_id=folder)


def save_cut(module, optimizer, folder: pathlib.Path) -> None:
    """The same, from two ranks, cut in both dimensions."""
    model, states = get_state_dict(module, optimizer)
    flat = {f"model/{name}": value for name, value in model.items()}
    for name, kept in states["state"].items():
        flat.update({f"state/{name}/{state}": value for state, value in kept.items()})
    torch.save(flat, folder / "settings.pt")
    script = pathlib.Path(__file__).with_name("dcp_peer.py")
    ranks = [
        subprocess.Popen([sys.executable, str(script), str(rank), "2", str(folder)])
        for rank in range(2)
    ]
    assert [rank.wait(timeout=600) for rank in ranks] == [0, 0]


def test_goes_on(trained, tmp_path):
    """Whole, and from two ranks: bitwise equal, and PyTorch's next losses within 1e-4."""
    module, optimizer, batch = trained
    save(module, optimizer, tmp_path / "saved")
    (tmp_path / "cut").mkdir()
    save_cut(module, optimizer, tmp_path / "cut")
    step = zero.compile(
        module,
        {name: value[:1] for name, value in batch.items()},
        config={"optimizer": {"type": "AdamW", "params": ADAM}, "gradient_clipping": 0.0},
        ranks=2,
        stage=3,
        threads=1,
        output=tmp_path / "step.so",
    )
    weights = {name: value.numpy().copy() for name, value in module.state_dict().items()}
    states = get_state_dict(module, optimizer)[1]["state"]
    wanted = [update(module, optimizer, batch) for _ in range(5)]
    for folder in (tmp_path / "saved", tmp_path / "cut" / "saved"):
        step.close()
        step = zero.load(tmp_path / "step.so", threads=1)
        with pytest.warns(UserWarning, match="does not say which data were read"):
            step.load_checkpoint(folder)
        for name in step.parameters:
            assert numpy.array_equal(step.parameter(name), weights[name]), name
        assert step.updates == 3
        average = step.optimizer_state("transformer.ln_f.weight", "exp_avg")
        assert average.any() and set(states) < set(weights)
        assert [step(batch) for _ in range(5)] == pytest.approx(wanted, rel=1e-4)
    step.close()


def test_an_optimizer_without_a_count(tmp_path):
    """SGD of PyTorch keeps none."""
    module = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    module(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    save(module, optimizer, tmp_path / "saved")
    found = read_checkpoint(tmp_path / "saved")
    assert found.steps == 0
    assert any("it does not say how many updates were made" in text for text in found.remarks)


def test_weights_alone(trained, tmp_path):
    module, *_ = trained
    dcp.save(module.state_dict(), checkpoint_id=tmp_path / "saved")
    write_weights(read_checkpoint(tmp_path / "saved"), tmp_path / "weights.safetensors")
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    zero.load_weights(module, tmp_path / "weights.safetensors")
    assert all(value.equal(before[name]) for name, value in module.state_dict().items())


def test_damage(trained, tmp_path):
    module, optimizer, _ = trained
    save(module, optimizer, tmp_path / "saved")

    def refusal(change) -> str:
        folder = tmp_path / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "saved", folder)
        change(folder)
        with pytest.raises(CheckpointError) as caught:
            write_weights(read_checkpoint(folder), tmp_path / "out.safetensors")
        return str(caught.value)

    assert "__0_0.distcp: is missing" in refusal(lambda f: (f / "__0_0.distcp").unlink())
    assert "the file is cut off" in refusal(
        lambda f: (f / "__0_0.distcp").write_bytes((f / "__0_0.distcp").read_bytes()[:-1000])
    )

    def edit(change):
        def apply(folder):
            metadata = pickle.loads((folder / ".metadata").read_bytes())
            change(metadata)
            (folder / ".metadata").write_bytes(pickle.dumps(metadata))

        return apply

    name = "model.transformer.wte.weight"

    def lose_chunk(metadata):
        metadata.state_dict_metadata[name].chunks.clear()

    def lose_place(metadata):
        for index in [index for index in metadata.storage_data if index.fqn == name]:
            del metadata.storage_data[index]

    def swap(metadata):
        places = {index.fqn: index for index in metadata.storage_data}
        other = places["model.transformer.wpe.weight"]
        metadata.storage_data[places[name]] = metadata.storage_data[other]

    assert f"the chunks of '{name}' have 0 elements" in refusal(edit(lose_chunk))
    assert f"no file has the chunk of '{name}'" in refusal(edit(lose_place))
    assert f"wanted a chunk of '{name}'" in refusal(edit(swap))
    assert "pickle cannot be read" in refusal(lambda f: (f / ".metadata").write_bytes(b"\x80\x04"))


def test_refused_names(tmp_path):
    """A pickle that would run a command names it, and nothing runs."""

    class Command:
        def __reduce__(self):
            return (eval, (f"open({str(tmp_path / 'ran')!r}, 'w')",))

    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / ".metadata").write_bytes(pickle.dumps(Command()))
    with pytest.raises(CheckpointError, match=r"saved/.metadata: names 'builtins.eval'"):
        read_checkpoint(tmp_path / "saved")
    assert not (tmp_path / "ran").exists()


def test_an_executable_goes_on(trained, tmp_path):
    """Converted, and resumed with a remark on the data, which DCP does not name."""
    module, optimizer, batch = trained
    save(module, optimizer, tmp_path / "saved")
    assert main([str(tmp_path / "saved"), "-o", str(tmp_path / "run"), "--seed", "7"]) == 0
    zero.export(module, batch).save(tmp_path / "model.mlir")
    (tmp_path / "ds.json").write_text(
        json.dumps({"optimizer": {"type": "AdamW", "params": ADAM}, "gradient_clipping": 0.0})
    )
    words = ["zero-compile", "model.mlir", "--config", "ds.json", "-o", "train"]
    run([tool(words[0]), *words[1:]], tmp_path)
    data = {name: value.clone() for name, value in batch.items()}
    save_file(data, tmp_path / "data.safetensors")
    steps = optimizer.state_dict()["state"][0]["step"].item()
    words = ["./train", "--data", "data.safetensors", "--validation-fraction", "0"]
    words += ["--seed", "7", "--steps", str(int(steps) + 2), "--checkpoint", "run", "--resume"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"resumes after update {int(steps)} from run/update-" in done.stdout
    assert "does not say which data its run had: the run goes on after sample 0" in done.stderr
    assert "had 0 before" not in done.stderr
    first = re.search(rf"step {int(steps) + 1}/\d+ loss ([\d.]+)", done.stdout)
    assert float(first[1]) == pytest.approx(update(module, optimizer, batch), rel=1e-4)
