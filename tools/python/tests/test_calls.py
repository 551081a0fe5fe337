"""What calls of a step and of the package refuse, and a run that checks itself."""

from __future__ import annotations

import json
import re
import threading
import warnings

import numpy
import pytest
import torch
from test_step import compile_mlp, mlp_batch

import zero


def test_refused_calls():
    with compile_mlp() as step:
        for batch in ({}, [], [{}]):
            with pytest.raises(zero.ArgumentError, match="the batch is empty"):
                step(batch)
        with pytest.raises(zero.ArgumentError, match="give a batch, or arrays by name"):
            step()
        with pytest.raises(zero.ArgumentError, match="give a batch"):
            step.backward()
        with pytest.raises(zero.ArgumentError, match="the data has no batch, or ended at update 0"):
            step.train([], steps=1, progress=False)
        arrays = {"x": numpy.zeros((8, 3), "f4"), "y": numpy.zeros((4, 1), "f4")}
        words = "must have equal numbers of samples, at least one; found 'x' 8, 'y' 4"
        with pytest.raises(zero.ArgumentError, match=words):
            step.train(arrays, steps=1, progress=False)
        for keep in (None, -1, 1.5, "2"):
            with pytest.raises(zero.ArgumentError, match="keep is .*, wanted an integer from 0 to"):
                step.save_checkpoint("nowhere", keep=keep)
    several = ({"threads": 2**32}, {"threads": 100000}, {"seed": -1}, {"seed": "3"}, {"seed": None})
    for settings in several:
        with pytest.raises(zero.ArgumentError, match="wanted"):
            compile_mlp(**settings)
    compile_mlp(seed=torch.tensor(3)).close()


def test_a_module_wants_a_batch_and_names_its_outputs():
    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.layer(x).square().mean()

    with pytest.raises(zero.Error, match="a module is imported with an example micro-batch: give"):
        zero.compile(Loss())
    batch = {"x": torch.zeros(2, 3)}
    with zero.compile(Loss(), batch, threads=1) as step:
        with pytest.raises(zero.ArgumentError, match="names no output but its loss: compile it"):
            step.predict(batch)


def test_a_library_of_an_older_version(tmp_path, monkeypatch):
    compile_mlp(output=tmp_path / "step.so").close()
    monkeypatch.setattr("zero.library.API_VERSION", 1000)
    words = "step.so' has version [0-9]+ of the interface, wanted 1000: compile the model again"
    with pytest.raises(zero.Error, match=words):
        zero.load(tmp_path / "step.so")


def test_a_compiler_that_says_nothing(tmp_path, monkeypatch):
    fake = tmp_path / "zero-compile"
    fake.write_text("#!/bin/sh\nexit 9\n")
    fake.chmod(0o755)
    monkeypatch.setenv("ZERO_BIN", str(tmp_path))
    with pytest.raises(zero.CompileError, match="zero-compile ended with 9"):
        compile_mlp()


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'zero' has no attribute 'training'"):
        zero.training  # noqa: B018


def test_a_run_that_checks_itself():
    with compile_mlp() as plain, compile_mlp(self_check=2) as step:
        for _ in range(3):
            assert step(mlp_batch()) == plain(mlp_batch())
        value = plain.parameter("fc1.w") + 1
        for one in (plain, step):
            one.set_parameter("fc1.w", value)
        assert step(mlp_batch()) == plain(mlp_batch())
        with pytest.raises(zero.StateError, match="this run checks itself, and an update in two"):
            step.backward(mlp_batch())
        # One micro-batch that is far off the others is no fault.
        usual, odd = mlp_batch(), {**mlp_batch(), "y": numpy.full((4, 1), 1e4, "f4")}
        for _ in range(20):
            step(usual)
        with pytest.warns(RuntimeWarning, match="update 25 has a loss of .*: no fault was found"):
            step(odd)
    with pytest.raises(zero.ArgumentError, match="self_check is -1, wanted an integer from 0 to"):
        compile_mlp(self_check=-1)


def test_copies_that_follow_what_was_set_are_no_fault(tmp_path):
    bf16 = {"bf16": {"enabled": True}}
    with compile_mlp(stage=3, ranks=2, self_check=2, config=bf16) as step:
        step(mlp_batch())
        step.set_parameter("fc1.w", step.parameter("fc1.w") + 1)
        step.save_checkpoint(tmp_path)
        step(mlp_batch())


def test_odd_arguments_are_named():
    with compile_mlp() as step:
        with pytest.raises(zero.ArgumentError, match="steps is '2', wanted a number of updates"):
            step.train(mlp_batch(), "2")
        with pytest.raises(zero.ArgumentError, match="steps is -1, wanted"):
            step.train(mlp_batch(), -1)
        with pytest.raises(zero.ArgumentError, match="the learning rate is '1e-3', wanted"):
            step.set_learning_rate("1e-3")


def test_an_update_that_is_skipped_is_told_once():
    """Without a loss scale, where the next update is skipped as well."""
    batch = mlp_batch()
    batch["x"][0, 0] = numpy.inf
    with compile_mlp() as step, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        step(mlp_batch())
        assert not told
        step(batch)
        step.backward(batch)
        step.update()
    assert [str(each.message)[:27] for each in told] == ["update 2 was skipped, as a "]


@pytest.mark.parametrize("parts", (1, 2))
def test_threads_get_their_own_loss(parts, monkeypatch):
    sgd = {"optimizer": {"type": "SGD", "params": {"lr": 0.0}}}
    one, other = mlp_batch(), {name: 2 * value for name, value in mlp_batch().items()}
    with compile_mlp(config=sgd) as step:
        wanted, different = step(one), step(other)
        assert wanted != different
        found = []
        beside = threading.Thread(target=lambda: found.append(step(other)))

        def tell(*_, **__):
            """Between an update and its result. The other thread has to wait for both."""
            monkeypatch.undo()
            beside.start()
            beside.join(0.2)

        monkeypatch.setattr(step._skips, "tell", tell)
        if parts == 2:
            step.backward(one)
        assert (step(one) if parts == 1 else step.update()) == wanted
        beside.join()
        assert found == [different]


def test_a_state_is_set_as_a_whole_or_not_at_all():
    with compile_mlp(config={"fp16": {"enabled": True}}) as step:
        before = step.state_dict()
        state = {name: value + 1 for name, value in before.items()}
        state[list(state)[-1]] += 1e5
        with pytest.raises(zero.ArgumentError, match="which is too large for f16"):
            step.load_state_dict(state)
        for name, value in before.items():
            numpy.testing.assert_array_equal(step.parameter(name), value)


def test_a_backward_pass_leaves_described_data(tmp_path):
    data = {"x": numpy.ones((8, 3), "f4"), "y": numpy.ones((8, 1), "f4")}
    found = []
    for number in range(3):
        with compile_mlp() as step:
            step.train(data, steps=2, progress=False)
            if number == 1:
                step(mlp_batch())
            elif number == 2:
                step.backward(mlp_batch())
                step.update()
            step.save_checkpoint(tmp_path / str(number))
        (manifest,) = (tmp_path / str(number)).glob("update-*/manifest.json")
        found.append(json.loads(manifest.read_text()).get("data"))
    assert found[0] != found[1] == found[2]


def test_a_module_of_other_shapes_is_not_filled():
    class Layers(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.last = torch.nn.Linear(3, 4), torch.nn.Linear(4, width)

        def forward(self, x):
            return self.last(self.first(x)).square().mean()

    with zero.compile(Layers(2), {"x": torch.zeros(2, 3)}) as step:
        other = Layers(5)
        before = {name: value.clone() for name, value in other.state_dict().items()}
        with pytest.raises(zero.Error, match=r"'last.weight' is \[2, 4\], wanted \[5, 4\]"):
            step.load_into(other)
        assert all(value.equal(before[name]) for name, value in other.state_dict().items())


def test_a_module_that_has_changed_since_its_import():
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)

        def forward(self, x):
            return self.norm(self.layer(x)).square().mean()

    module, batch = Normed().eval(), {"x": torch.randn(2, 3)}
    model = zero.export(module, batch)
    with torch.no_grad():
        module.layer.weight.mul_(2)
    with zero.compile(model) as step:
        assert step.evaluate(batch) == pytest.approx(module(**batch).item(), rel=1e-5)
    module.norm.running_mean.add_(1)
    with pytest.raises(zero.CannotImport, match="buffer 'norm.running_mean' has changed since"):
        zero.compile(model)


def test_what_f32_cannot_hold_is_refused():
    with compile_mlp() as step:
        for large in (numpy.full((3, 1), 1e300), torch.full((3, 1), 1e300, dtype=torch.float64)):
            with pytest.raises(zero.ArgumentError, match="'fc1.w' of type float64 has a finite va"):
                step.set_parameter("fc1.w", large)
            with pytest.raises(zero.ArgumentError, match="has a finite value that is too large"):
                step.set_optimizer_state("fc1.w", "exp_avg", large)
        before = step.state_dict()
        state = {name: numpy.zeros(value.shape) for name, value in before.items()}
        state[list(state)[-1]] += 1e300
        with pytest.raises(zero.ArgumentError, match="has a finite value that is too large"):
            step.load_state_dict(state)
        assert all((step.parameter(name) == before[name]).all() for name in before)
        for odd in (numpy.zeros((3, 1), numpy.complex64), numpy.full((3, 1), "1.5")):
            with pytest.raises(zero.ArgumentError, match="wanted numbers that f32 holds"):
                step.set_parameter("fc1.w", odd)
        for kind in (torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.bool):
            step.set_parameter("fc1.w", torch.ones(3, 1).to(kind))
            assert (step.parameter("fc1.w") == 1).all()
        step.set_parameter("fc1.w", [[1], [2], [numpy.inf]])


def test_names_of_a_tied_parameter_agree():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    module[1].weight = module[0].weight

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = module

        def forward(self, x):
            return {"loss": self.layers(x).square().mean(), "rows": self.layers(x)}

    own = Tied()
    with zero.compile(own, {"x": torch.ones(2, 4)}, outputs="rows") as step:
        step.load_state_dict(own.state_dict())
        state = {**own.state_dict(), "layers.1.weight": torch.zeros(4, 4)}
        with pytest.raises(zero.ArgumentError, match="which is given with other values"):
            step.load_state_dict(state)


def test_the_loss_of_a_tuple_is_its_scalar():
    """As `return logits, loss`, which much code has from nanoGPT."""
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)

        def forward(self, x, y):
            logits = self.layer(x)
            return logits, torch.nn.functional.cross_entropy(logits, y)

    torch.manual_seed(1)
    own, batch = Pair(), {"x": torch.rand(2, 4), "y": torch.tensor([0, 3])}
    with zero.compile(own, batch, check=True) as step:
        assert "2 updates are PyTorch's: the losses" in step.check
        assert step.evaluate(batch) == pytest.approx(own(**batch)[1].item(), rel=1e-6)
    with pytest.raises(Exception, match="a tuple, whose tensors have no names, and the output 'l"):
        zero.compile(own, batch, outputs="logits")


def test_other_data_on_resume_is_told(tmp_path):
    """By count and by samples, of arrays and of files; the same data says nothing."""
    numpy.save(tmp_path / "x.npy", mlp_batch(12)["x"])
    numpy.save(tmp_path / "y.npy", mlp_batch(12)["y"])
    other = {name: value[::-1].copy() for name, value in mlp_batch(12).items()}
    with compile_mlp() as step:
        step.train(mlp_batch(12), 2, progress=False)
        step.save_checkpoint(tmp_path / "run")
    for data, found in (
        (mlp_batch(12), None),
        (tmp_path, None),
        (mlp_batch(10), "the data has 10 samples, and the run of .* had 12: its order goes on a"),
        (other, "the data has 12 samples, and the run of .* had other ones: its order goes on at"),
        ([mlp_batch(4)], None),
    ):
        with compile_mlp() as step, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            step.load_checkpoint(tmp_path / "run")
            step.train(data, 2, progress=False)
            step.train(data, 1, progress=False)
        assert len(told) == (found is not None), [str(each.message) for each in told]
        assert found is None or re.search(found, str(told[0].message))


def test_buffers_of_a_state_are_those_of_the_step():
    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 4)
            self.norm = torch.nn.BatchNorm1d(4)
            self.register_buffer("mask", torch.tensor([True, False, True, True]))
            self.register_buffer("unread", torch.zeros(3))

        def forward(self, x):
            return (self.norm(self.layer(x)) * self.mask).square().mean()

    own = Masked()
    with zero.compile(own, {"x": torch.rand(2, 4)}) as step:
        state = {name: torch.rand(4, 4) for name in ("layer.weight",)}
        step.load_state_dict({**own.state_dict(), **state, "unread": torch.ones(3)})
        assert step.parameter("layer.weight") == pytest.approx(state["layer.weight"].numpy())
        arrays = {name: value.numpy() for name, value in own.state_dict().items()}
        step.load_state_dict(arrays)
        arrays["mask"] = ~arrays["mask"]
        with pytest.raises(zero.ArgumentError, match="'mask' has other values than when the mod"):
            step.load_state_dict(arrays)
        with pytest.raises(zero.ArgumentError, match="missing: layer.bias; unknown: bias"):
            step.load_state_dict({**state, "bias": arrays.pop("layer.bias"), **own_without(own)})


def own_without(module) -> dict:
    """What its state has besides the layer."""
    return {name: v for name, v in module.state_dict().items() if not name.startswith("layer")}
