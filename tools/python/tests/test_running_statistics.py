"""Batch norm's running statistics, which training tracks, beside PyTorch's."""

from __future__ import annotations

import copy

import numpy
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose
from torch import nn

import zero

SGD = {"optimizer": {"type": "SGD", "params": {"lr": 0.05}}, "gradient_clipping": 0.0}


class Small(nn.Module):
    """Two batch norms with momenta of their own; `twice` calls the layers twice."""

    def __init__(self, twice: bool = False):
        super().__init__()
        self.twice = twice
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.inner = nn.BatchNorm1d(4, momentum=0.3, affine=False)
        self.head = nn.Linear(4, 5)

    def features(self, x):
        x = F.relu(self.norm(self.conv(x))).mean((2, 3))
        return self.inner(x)

    def forward(self, x, y):
        h = self.features(x)
        if self.twice:
            h = h + self.features(1 - 0.5 * x)
        return F.cross_entropy(self.head(h), y)


def small(twice: bool = False) -> Small:
    torch.manual_seed(3)
    return Small(twice)


def batch(samples: int, seed: int) -> dict:
    generator = torch.Generator().manual_seed(seed)
    x = 2 + torch.randn(samples, 3, 6, 6, generator=generator)
    return {"x": x, "y": torch.randint(0, 5, (samples,), generator=generator)}


def averages(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: b for name, b in module.named_buffers() if "running" in name}


def assert_averages(step: zero.Step, module: nn.Module, tolerance: float = 1e-5) -> None:
    found = averages(module)
    assert len(found) == 4
    for name, wanted in found.items():
        numpy.testing.assert_allclose(
            step.parameter(name), wanted.numpy(), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("twice", [False, True])
def test_training_and_evaluation_are_pytorchs(twice):
    """Twenty updates: losses, running statistics, and the loss in eval mode."""
    module = small(twice)
    step = zero.compile(copy.deepcopy(module), batch(6, 0), config=SGD, ranks=1, threads=1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for update in range(20):
        data = batch(6, update)
        optimizer.zero_grad()
        loss = module(**data)
        loss.backward()
        optimizer.step()
        assert step(data) == pytest.approx(loss.item(), rel=1e-5)
    assert_averages(step, module)
    data = batch(12, 99)
    before = {name: step.parameter(name) for name in averages(module)}
    with torch.no_grad():
        halves = [{k: v[i : i + 6] for k, v in data.items()} for i in (0, 6)]
        wanted = sum(module.eval()(**half).item() for half in halves) / 2
    assert step.evaluate(data) == pytest.approx(wanted, rel=1e-5)
    for name, value in before.items():
        numpy.testing.assert_array_equal(step.parameter(name), value)
    step.close()


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_ranks_and_micro_batches_are_averaged(stage):
    """The mean over two ranks and two micro-batches, with the decay of two."""
    module = small()
    config = {**SGD, "gradient_accumulation_steps": 2, "gradient_clipping": 1e-3}
    data = batch(16, 5)
    example = {name: value[:4] for name, value in data.items()}
    seen = []
    for i in range(0, 16, 4):
        other = copy.deepcopy(module)
        other(**{name: value[i : i + 4] for name, value in data.items()})
        seen.append(averages(other))
    with zero.compile(module, example, config=config, ranks=2, stage=stage, threads=1) as step:
        step(data)
        for name, start in averages(module).items():
            momentum = 0.3 if name.startswith("inner") else 0.1
            targets = [start + (found[name] - start) / momentum for found in seen]
            target = sum(targets) / len(targets)
            wanted = start + (1 - (1 - momentum) ** 2) * (target - start)
            numpy.testing.assert_allclose(
                step.parameter(name), wanted.numpy(), rtol=1e-5, atol=1e-5
            )


@pytest.mark.parametrize(
    "precision", [{"bf16": {"enabled": True}}, {"fp16": {"enabled": True, "loss_scale": 64}}]
)
def test_in_sixteen_bits(precision):
    """Statistics stay f32: the loss scale and rounding of weights do not reach them."""
    config = {**precision, "gradient_clipping": 1e-3}
    config["optimizer"] = {"type": "SGD", "params": {"lr": 0.0}}
    module = small()
    with zero.compile(
        copy.deepcopy(module), batch(6, 0), config=config, ranks=2, stage=3, threads=1
    ) as step:
        for update in range(10):
            data = batch(6, update)
            module(**data)
            step({name: torch.cat([value, value]) for name, value in data.items()})
        assert not step.last.skipped
        assert_averages(step, module, 0.05)


def test_state_goes_everywhere(tmp_path):
    """Checkpoint at four ranks and stage 3, resumed at three and stage 1, and into the
    module, whose eval mode then agrees."""
    module, example = small(), batch(4, 0)
    with zero.compile(module, example, config=SGD, ranks=4, stage=3, threads=1) as step:
        for update in range(5):
            step(batch(16, update))
        step.save_checkpoint(tmp_path / "run")
        wanted = {name: step.parameter(name) for name in averages(module)}
    with zero.compile(module, example, config=SGD, ranks=3, stage=1, threads=1) as step:
        step.load_checkpoint(tmp_path / "run")
        for name, value in wanted.items():
            numpy.testing.assert_array_equal(step.parameter(name), value)
        step.load_into(module)
        assert_averages(step, module, 0)
        data = batch(12, 50)
        parts = [{k: v[i : i + 4] for k, v in data.items()} for i in (0, 4, 8)]
        with torch.no_grad():
            loss = sum(module.eval()(**part).item() for part in parts) / 3
        assert step.evaluate(data) == pytest.approx(loss, rel=1e-5)


def test_a_layer_with_two_names_has_one_statistic():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
            self.layers = nn.ModuleList([layer, layer])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return (x * x).mean() + x.sum()

    module, data = Twice(), {"x": torch.randn(6, 4)}
    model = zero.export(module, data)
    assert model.aliases["layers.1.1.running_mean"] == "layers.0.1.running_mean"
    assert "4 buffers" in zero.selfcheck.check(module, data)


def test_layers_in_eval_mode_keep_their_statistics():
    module = small()
    module.norm.eval()
    module.norm.running_mean += 0.5
    model = zero.export(module, batch(6, 0))
    assert "norm.running_mean" not in model.parameters
    assert model.parameters.keys() >= {"inner.running_mean", "inner.running_var"}


def test_one_value_of_a_channel_is_refused():
    with pytest.raises(zero.CannotImport, match="more than 1 value"):
        zero.export(small(), batch(1, 0))


def test_saved_weights_have_them(tmp_path):
    """A file and a checkpoint bring them back into a module."""
    module, trained = small(), small()
    with zero.compile(module, batch(6, 0), config=SGD, ranks=2, stage=2, threads=1) as step:
        step(batch(12, 1))
        step.save_weights(tmp_path / "weights.safetensors")
        step.save_checkpoint(tmp_path / "run")
        step.load_into(trained)
    for source in ("weights.safetensors", "run"):
        other = small()
        zero.load_weights(other, tmp_path / source)
        for name, value in averages(trained).items():
            assert value.equal(averages(other)[name]), (source, name)


def test_statistics_of_an_earlier_run():
    """They are where training begins. Without a file variances are not drawn below 0,
    and statistics that have no momentum stay."""
    module = small()
    for update in range(5):
        module(**batch(6, update))
    module.norm.momentum = 0.0
    before = module.norm.running_mean.clone()
    text = zero.export(module, batch(6, 0)).text
    assert "@norm.running_mean" not in text
    (line,) = [x for x in text.splitlines() if "zero.parameter @inner.running_var" in x]
    assert "#zero.constant<" in line, line
    with zero.compile(module, batch(6, 0), config=SGD, ranks=1, threads=1) as step:
        assert_allclose(step.parameter("inner.running_var"), module.inner.running_var.numpy())
        data = batch(6, 7)
        with torch.no_grad():
            wanted = copy.deepcopy(module).eval()(**data).item()
        assert step.evaluate(data) == pytest.approx(wanted, rel=1e-5)
    assert module.norm.running_mean.equal(before)


class Reads(nn.Module):
    def __init__(self, read):
        super().__init__()
        self.norm, self.read = nn.BatchNorm1d(4), read

    def forward(self, x):
        return self.read(self.norm, self.norm(x), x).square().mean()


def in_eval_mode(norm, y, x):
    return F.batch_norm(y, norm.running_mean, norm.running_var, training=False)


@pytest.mark.parametrize("read", (in_eval_mode, lambda norm, y, x: y - norm.running_mean))
def test_statistics_that_this_step_has_moved(read):
    """PyTorch reads the new ones, and the step has the old ones."""
    with pytest.raises(zero.CannotImport, match=r"'norm.running_\w+' is read after the batch norm has updated it"):
        zero.export(Reads(read), {"x": torch.randn(6, 4)})
    still = Reads(read)
    still.norm.momentum = 0.0
    zero.export(still, {"x": torch.randn(6, 4)})


def test_synchronized_statistics():
    module = Reads(lambda norm, y, x: y)
    module.norm = nn.SyncBatchNorm(4)
    batch = {"x": torch.randn(6, 4)}
    with pytest.raises(zero.CannotImport, match="'norm' is a SyncBatchNorm"):
        zero.export(module, batch)
    module.norm.eval()
    zero.export(module, batch)
