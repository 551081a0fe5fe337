"""Parameters, gradients, optimizer states and checkpoints from Python."""

from __future__ import annotations

import numpy
import pytest
import torch
from models import MODELS
from training import LEARNING_RATE, norm, reference

import zero

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
