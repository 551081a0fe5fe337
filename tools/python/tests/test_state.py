"""Parameters, gradients, optimizer states and checkpoints from Python."""

from __future__ import annotations

import pathlib

import numpy
import pytest
import torch
from models import MODELS
from training import LEARNING_RATE, norm, reference

import zero
from zero.checkpoints import read_checkpoint
from zero.checkpoints.digest import BLOCK, Digest, digest_of

MODELS_FOLDER = pathlib.Path(__file__).parents[3] / "test/Models"
SGD = {"optimizer": {"type": "SGD", "params": {"lr": LEARNING_RATE}}}
ADAM = {"optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "betas": [0.75, 0.5]}}}


def nanogpt():
    """A model with a tied table; four micro-batches of two samples."""
    torch.manual_seed(2)
    module, batch = MODELS["nanogpt"]()
    data = {
        name: torch.cat([value, value.flip(1), (value + 3) % 128, (value + 5) % 128])
        for name, value in batch.items()
    }
    return module.eval(), batch, data


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_gradients(stage):
    """PyTorch's of the mean loss, whatever clipping and loss scale do later."""
    module, example, data = nanogpt()
    config = {**SGD, "gradient_accumulation_steps": 2, "gradient_clipping": 1e-3}
    _, wanted = reference(module, data)
    with zero.compile(
        module, example, config=config, ranks=2, stage=stage, loss_scale=64
    ) as step:
        before = step.state_dict()
        step.backward(data)
        found = {name: torch.from_numpy(step.gradient(name)).double() for name in step.parameters}
        error = norm(found[name] - wanted[name] for name in found)
        assert error <= 2e-6 * norm(wanted[name] for name in found)
        assert all(numpy.array_equal(step.parameter(name), before[name]) for name in before)
        with pytest.raises(zero.StateError, match="an update has begun"):
            step(data)
        step.update()
        assert step.last.gradient_norm == pytest.approx(norm(found.values()), rel=1e-5)
        change = [before[name] - step.parameter(name) for name in before]
        assert norm(map(torch.from_numpy, change)) == pytest.approx(1e-3 * LEARNING_RATE, rel=1e-3)
        with pytest.raises(zero.StateError, match="between a backward pass and its update"):
            step.gradient("wte.weight")


def test_two_parts_are_one_update():
    module, example, data = nanogpt()
    found = []
    for parts in (False, True):
        with zero.compile(
            module, example, config=ADAM, ranks=4, stage=3, deterministic=True, threads=1
        ) as step:
            for _ in range(3):
                if parts:
                    step.backward(data)
                found.append(step.update() if parts else step(data))
            found.append(step.parameter("wte.weight").tobytes())
    assert found[:4] == found[4:]


@pytest.mark.parametrize("accumulation", [1, 2])
@pytest.mark.parametrize("device", ["", "cpu", "nvme"])
@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_setting_gradients(stage, device, accumulation, tmp_path):
    """The update uses what was set, whole or as each of two ranks answers for it, also where
    gradients have crossed to the host before all of them were there."""
    if device and stage == 0:
        pytest.skip("stage 0 keeps states on the device")
    module, example, data = nanogpt()
    data = {name: value[: 4 * accumulation] for name, value in data.items()}
    config = {**SGD, "gradient_accumulation_steps": accumulation, "gradient_clipping": 0.0}
    if device:
        place = {"device": device} | ({"nvme_path": str(tmp_path)} if device == "nvme" else {})
        config["zero_optimization"] = {"offload_optimizer": place, "overlap_comm": True}
        config["optimizer"] = {"type": "SGD", "params": {"lr": LEARNING_RATE, "momentum": 0.9}}
    with zero.compile(module, example, config=config, ranks=2, stage=stage) as step:
        before = step.state_dict()
        step.backward(data)
        wanted = {}
        for number, name in enumerate(before):
            gradient = step.gradient(name)
            step.set_gradient(name, gradient * 0 + 1)
            wanted[name] = numpy.full_like(gradient, 1)
            if number % 2:
                continue
            pieces = step.local_pieces(1, name, "gradient")
            for first, count in pieces:
                wanted[name].reshape(-1)[first : first + count] = 4
            elements = sum(count for _, count in pieces)
            step.set_local(1, name, numpy.full(elements, 4), "gradient")
            assert (step.local(1, name, "gradient") == 4).all()
            assert numpy.array_equal(step.gradient(name), wanted[name])
        step.update()
        found = norm(torch.from_numpy(value) for value in wanted.values())
        assert step.last.gradient_norm == pytest.approx(found, rel=1e-5)
        for name in before:
            after = before[name] - LEARNING_RATE * wanted[name]
            numpy.testing.assert_allclose(step.parameter(name), after, rtol=1e-5, atol=1e-6)
        with pytest.raises(zero.StateError, match="between a backward pass and its update"):
            step.set_gradient("wte.weight", before["wte.weight"])


def test_local_state():
    """Every element is one rank's; setting one rank's part leaves the others."""
    module, example, data = nanogpt()
    config = {**ADAM, "gradient_accumulation_steps": 2}
    with zero.compile(module, example, config=config, ranks=2, stage=1) as step:
        step(data)
        name = "wte.weight"
        for what, whole in (
            ("parameter", lambda: step.parameter(name)),
            ("exp_avg", lambda: step.optimizer_state(name, "exp_avg")),
        ):
            pieces = [step.local_pieces(rank, name, what) for rank in range(2)]
            covered = sorted(piece for rank in pieces for piece in rank)
            assert sum(count for _, count in covered) == whole().size
            assert all(a + n <= b for (a, n), (b, _) in zip(covered, covered[1:]))
            wanted = whole().reshape(-1)
            step.set_local(1, name, step.local(1, name, what) + 1, what)
            for first, count in pieces[1]:
                wanted[first : first + count] += 1
            assert numpy.array_equal(whole().reshape(-1), wanted)
        with pytest.raises(zero.ArgumentError, match="there is no rank 2"):
            step.local(2, name)
        message = "rank 0 has .* elements of 'wte.weight'; found room for 1"
        with pytest.raises(zero.ArgumentError, match=message):
            step.set_local(0, name, [1.0])


def test_optimizer_states():
    module, example, data = nanogpt()
    with zero.compile(module, example, config=ADAM, ranks=4, stage=2) as step:
        assert step.parameters["wte.weight"].states == ("exp_avg", "exp_avg_sq")
        step.backward(data)
        gradient = step.gradient("wte.weight")
        step.update()
        average = step.optimizer_state("wte.weight", "exp_avg")
        numpy.testing.assert_allclose(average, 0.25 * gradient, rtol=1e-5, atol=1e-12)
        square = step.optimizer_state("wte.weight", "exp_avg_sq")
        numpy.testing.assert_allclose(square, 0.5 * gradient**2, rtol=1e-5, atol=1e-20)
        step.set_optimizer_state("wte.weight", "exp_avg", numpy.ones_like(average))
        assert (step.optimizer_state("wte.weight", "exp_avg") == 1).all()
        with pytest.raises(zero.ArgumentError, match="keeps no 'momentum_buffer'"):
            step.optimizer_state("wte.weight", "momentum_buffer")


def test_masters_of_bf16():
    """What is read is the master, bit by bit, and what is set becomes it."""
    module, example, data = nanogpt()
    with zero.compile(
        module, example, config={**ADAM, "bf16": {"enabled": True}}, ranks=4, stage=3
    ) as step:
        name = "wte.weight"
        assert numpy.array_equal(step.parameter(name), module.get_parameter(name).detach())
        step(data)
        trained = step.parameter(name)
        assert (trained.view("u4") & 0xFFFF).any()
        step.set_parameter(name, trained * 2)
        assert numpy.array_equal(step.parameter(name), trained * 2)
        with pytest.raises(zero.ArgumentError, match="too large for bf16"):
            step.set_parameter(name, numpy.full_like(trained, 3.4e38))


def test_checkpoints(tmp_path):
    """A run goes on bit by bit at the same number of ranks, and closely at another."""
    module, example, data = nanogpt()
    settings = {"config": ADAM, "deterministic": True, "threads": 1, "seed": 4}
    with zero.compile(module, example, ranks=2, stage=3, **settings) as step:
        step.train(data, steps=2, progress=False)
        step.save_checkpoint(tmp_path / "saved", keep=1)
        wanted = step.train(data, steps=2, progress=False)
        weights = step.state_dict()
    with zero.compile(module, example, ranks=2, stage=1, **settings) as step:
        step.load_checkpoint(tmp_path / "saved")
        assert step.position() == (2, 8)
        assert step.train(data, steps=2, progress=False) == wanted
        assert all(numpy.array_equal(step.parameter(name), weights[name]) for name in weights)
    accumulated = {**ADAM, "gradient_accumulation_steps": 2}
    with zero.compile(
        module, example, ranks=1, stage=0, **{**settings, "config": accumulated}
    ) as step:
        step.load_checkpoint(tmp_path / "saved")
        assert step.train(data, steps=2, progress=False) == pytest.approx(wanted, rel=1e-5)
        with pytest.raises(zero.ArgumentError, match="no complete checkpoint"):
            step.load_checkpoint(tmp_path)


def test_digest():
    """test/Runtime/io/SharedFileTest.cpp has the same number."""
    data = bytes(i * i % 251 for i in range(BLOCK + 7))
    assert digest_of(data) == "813f9910eb2e4b45" and digest_of(b"") == "0" * 16
    parts = Digest()
    for first in range(0, len(data), 1000003):
        parts.update(data[first : first + 1000003])
    assert parts.bytes == len(data) and parts.hexadecimal() == digest_of(data)


def test_another_version(tmp_path):
    """Digests of version 1 are of another form."""
    with zero.compile(MODELS_FOLDER / "tiny-mlp.mlir", threads=1) as step:
        step.save_checkpoint(tmp_path)
        (manifest,) = tmp_path.glob("update-*/manifest.json")
        assert read_checkpoint(tmp_path).steps == 0
        text = manifest.read_text()
        manifest.write_text(text.replace('"version": 2', '"version": 1'))
        with pytest.raises(zero.CheckpointError, match="version is 1, and this program reads"):
            step.load_checkpoint(tmp_path)
        words = "wanted 2: go on with the executable that wrote it, or take weights"
        with pytest.raises(zero.CheckpointError, match=words):
            read_checkpoint(tmp_path)
