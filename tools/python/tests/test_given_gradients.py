"""Gradients of micro-batches that are made elsewhere, before anything is reduced."""

from __future__ import annotations

import copy
import math

import numpy
import pytest
import torch
from models import MODELS
from test_state import nanogpt
from torch import nn
from training import norm

import zero

ADAM = {
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "betas": [0.75, 0.5]}},
    "gradient_clipping": 0.05,
}
TWO = {"gradient_accumulation_steps": 2}
HALF = {"bf16": {"enabled": True}}


def micro_batches(data: dict, size: int) -> list[dict]:
    count = next(iter(data.values())).shape[0] // size
    return [
        {name: value[i * size : (i + 1) * size] for name, value in data.items()}
        for i in range(count)
    ]


def computed(one, data: dict) -> list[dict]:
    """The gradients of each micro-batch, by a run of one rank that stays where it is."""
    one.set_learning_rate(0.0)
    found = []
    for part in micro_batches(data, one.micro_batch):
        one.backward(part)
        found.append({name: one.gradient(name) for name in one.parameters})
        one.update()
    return found


CASES = {
    "stage0": (0, {}, 1.0),
    "stage1": (1, {}, 1.0),
    "stage2": (2, {}, 1.0),
    "stage3": (3, {}, 1.0),
    "stage0-bf16": (0, HALF, 1.0),
    "stage3-bf16": (3, HALF, 1.0),
    "stage2-scaled": (2, HALF, 1024.0),
    "stage2-small-buckets": (2, {"zero_optimization": {"reduce_bucket_size": 3000}}, 1.0),
    "stage2-offload": (
        2,
        {"zero_optimization": {"offload_optimizer": {"device": "cpu"}, "sub_group_size": 5000}},
        1.0,
    ),
    "stage3-offload": (
        3,
        {
            "zero_optimization": {
                "offload_optimizer": {"device": "cpu"},
                "offload_param": {"device": "cpu"},
            }
        },
        1.0,
    ),
    "stage3-quantized": (3, {"zero_optimization": {"zero_quantized_gradients": True}}, 1.0),
}


@pytest.mark.parametrize("case", CASES)
def test_updates_have_the_same_bits(case):
    """Two updates of two micro-batches of two ranks: those of a run that computes, and of
    one that is given what another run computes at its weights."""
    stage, further, scale = CASES[case]
    module, example, data = nanogpt()
    settings = {"stage": stage, "deterministic": "quantized" not in case, "threads": 1}
    config = {**ADAM, **TWO, **further}
    alone = {"bf16": further["bf16"]} if "bf16" in further else {}
    with (
        zero.compile(module, example, config=config, ranks=2, loss_scale=scale, **settings) as own,
        zero.compile(
            module,
            example,
            config=config,
            ranks=2,
            loss_scale=scale,
            given_gradients="instead",
            **settings,
        ) as given,
        zero.compile(module, example, config=alone, deterministic=True, threads=1) as one,
    ):
        assert given.update_micro_batches == 4 and given.given_gradients == "instead"
        for _ in range(2):
            one.load_state_dict(own.state_dict())
            assert math.isnan(given(gradients=computed(one, data)))
            assert not math.isnan(own(data))
            assert given.last.gradient_norm == own.last.gradient_norm
            assert given.last.loss_scale == scale
            for name in own.parameters:
                assert numpy.array_equal(given.parameter(name), own.parameter(name)), name
        assert given.evaluate(data) == own.evaluate(data)
        assert given.position() == own.position()


def test_of_pytorch():
    """Those that PyTorch computes, against its own optimizer, with clipping."""
    module, example, data = nanogpt()
    params = {**ADAM["optimizer"]["params"], "weight_decay": 0.0}
    config = {**TWO, "optimizer": {"type": "AdamW", "params": params}, "gradient_clipping": 1.0}
    twin = copy.deepcopy(module)
    optimizer = torch.optim.AdamW(twin.parameters(), **params)
    with zero.compile(
        module, example, config=config, ranks=2, stage=2, given_gradients="instead"
    ) as step:
        for _ in range(3):
            gradients = []
            for part in micro_batches(data, 2):
                module.zero_grad()
                loss_of(module, part).backward()
                gradients.append({name: p.grad.clone() for name, p in module.named_parameters()})
            step(gradients=gradients)
            step.load_into(module)
            optimizer.zero_grad()
            for part in micro_batches(data, 2):
                (loss_of(twin, part) / 4).backward()
            total = torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
            optimizer.step()
            assert step.last.gradient_norm == pytest.approx(total.item(), rel=1e-5)
        change = [a - b for a, b in zip(module.parameters(), twin.parameters(), strict=True)]
        assert norm(change) <= 1e-4 * norm(twin.parameters())


def loss_of(module, batch):
    result = module(**batch)
    return result if isinstance(result, torch.Tensor) else result.loss


@pytest.fixture(scope="module")
def adding():
    """(a step to which gradients are added, one that takes none, the data)"""
    module, example, data = nanogpt()
    settings = {"config": {**ADAM, **TWO}, "ranks": 2, "stage": 1, "deterministic": True}
    with (
        zero.compile(module, example, given_gradients="add", threads=1, **settings) as step,
        zero.compile(module, example, threads=1, **settings) as plain,
    ):
        yield step, plain, data


def test_added(adding):
    """To all, to one parameter, and to one of the micro-batches; not given is the loss's
    alone, bitwise equal to a step that takes none."""
    step, plain, data = adding
    one = numpy.full(step.parameters["wte.weight"].shape, 0.5, numpy.float32)
    for gradients in (None, [{}, {}, {}, {}], [{"wte.weight": None}, {}, {}, {}]):
        before = plain.state_dict()
        step.load_state_dict(before)
        wanted = plain(data)
        found = step(data) if gradients is None else step(data, gradients=gradients)
        assert found == wanted and step.last.gradient_norm == plain.last.gradient_norm
    plain.backward(data)
    wanted = {name: plain.gradient(name) for name in plain.parameters}
    plain.update()
    for gradients, mean in (
        ([{"wte.weight": one}] * 4, 0.5),
        ({"wte.weight": numpy.stack([one] * 4)}, 0.5),
        ([{}, {}, {"wte.weight": one}, {}], 0.125),
    ):
        step.load_state_dict(before)
        plain.load_state_dict(before)
        step.backward(data, gradients=gradients)
        plain.backward(data)
        for name in step.parameters:
            more = mean if name == "wte.weight" else 0
            wanted = plain.gradient(name) + numpy.float32(more)
            numpy.testing.assert_allclose(step.gradient(name), wanted, rtol=1e-6, atol=1e-7)
        step.update()
        plain.update()


def test_what_is_not_given_is_zero():
    """With `instead` a micro-batch without gradients counts as one whose are 0."""
    module, example, _ = nanogpt()
    config = {
        "optimizer": {"type": "SGD", "params": {"lr": 1.0}},
        "gradient_clipping": 0.0,
        **TWO,
    }
    with zero.compile(
        module, example, config=config, ranks=2, stage=3, given_gradients="instead"
    ) as step:
        before = step.state_dict()
        shape = step.parameters["wte.weight"].shape
        one = torch.ones(shape, dtype=torch.bfloat16)
        step(gradients=[{"wte.weight": one}, {}, {"wte.weight": 3 * one}, {}])
        for name, value in before.items():
            wanted = value - numpy.float32(1.0 if name == "wte.weight" else 0.0)
            assert numpy.array_equal(step.parameter(name), wanted), name
        assert step.last.gradient_norm == pytest.approx(math.sqrt(math.prod(shape)))
        step.backward(gradients={"wte.weight": numpy.full((4, *shape), numpy.inf, "f4")})
        step.update()
        assert step.last.skipped


def test_refused(adding):
    step, plain, data = adding
    name, tensor = "wte.weight", step.parameters["wte.weight"]
    zeros = numpy.zeros(tensor.shape, numpy.float32)
    before = step.state_dict()

    def refusal(gradients, run=step, batch=data, error=zero.ArgumentError) -> str:
        with pytest.raises(error) as caught:
            run(batch, gradients=gradients)
        return str(caught.value)

    rest = [{}] * 3
    assert "no parameter 'wte.wieght'; the nearest is 'wte.weight'" in refusal(
        [{"wte.wieght": zeros}, *rest]
    )
    assert f"has shape [2], wanted {list(tensor.shape)}" in refusal([{name: zeros[0, :2]}, *rest])
    assert "has elements of type i64, wanted f32" in refusal([{name: zeros.astype(int)}, *rest])
    assert "gradients of 3 micro-batches, and an update has 4" in refusal(rest)
    assert "wanted one for each micro-batch along dimension 0" in refusal({name: zeros})
    assert "are a mapping from names to arrays; found list" in refusal([[], *rest])
    for gradients in (5, zeros[0, 0], torch.tensor(0.0), object()):
        kind = type(gradients).__name__
        assert f"are a mapping from names to arrays; found {kind}" in refusal(gradients)
    for key in (3, b"wte.weight", "wte.weight\0", "\ud800"):
        message = f"the gradients have the key {key!r}, wanted the name of a parameter"
        assert message in refusal([{key: zeros}, *rest])
        assert message in refusal({key: numpy.stack([zeros] * 4)})
    assert "takes none: compile it with zero.given_gradients" in refusal(
        [{name: zeros}, *rest], plain
    )
    tied = next(iter(step.aliases))
    assert "for micro-batch 0 is given twice" in refusal([{name: zeros, tied: zeros}, *rest])
    assert "there is no batch, and no data is open" in refusal([{name: zeros}, *rest], batch=None)
    step.backward(data)
    assert "an update has begun" in refusal([{}, *rest], error=zero.StateError)
    for key, value in before.items():
        assert numpy.array_equal(step.parameter(key), value)
    step.update()


class Tracks(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.frozen = nn.Parameter(torch.ones(6), requires_grad=False)

    def forward(self, x):
        return (self.norm(self.inner(x)) * self.frozen).square().mean()


def test_running_statistics():
    """They are the forward pass's: `instead` has none, and `add` tracks them."""
    module, batch = Tracks(), {"x": torch.randn(4, 4)}
    with pytest.raises(zero.CompileError, match="@norm.running_mean is an average over forward"):
        zero.compile(module, batch, given_gradients="instead")
    with zero.compile(module, batch, given_gradients="add") as step:
        zeros = {"inner.weight": torch.zeros(6, 4)}
        step(batch, gradients=[zeros])
        assert step.parameter("norm.running_mean").any()
        for name in ("frozen", "norm.running_mean"):
            with pytest.raises(zero.ArgumentError, match=f"'{name}' has no gradient"):
                step(batch, gradients=[{name: torch.zeros(6)}])


def test_instead_has_no_batch():
    module, batch = MODELS["nanogpt"]()
    with zero.compile(module.eval(), batch, given_gradients="instead", check=False) as step:
        gradients = [{"wte.weight": numpy.zeros(step.parameters["wte.weight"].shape, "f4")}]
        with pytest.raises(zero.ArgumentError, match="its updates read no batch"):
            step(batch, gradients=gradients)
        with pytest.raises(zero.ArgumentError, match="there is no gradient of any micro-batch"):
            step(batch)
        with pytest.raises(zero.ArgumentError, match="there is no gradient of any micro-batch"):
            step(gradients=[{}])
        step(gradients=gradients)
