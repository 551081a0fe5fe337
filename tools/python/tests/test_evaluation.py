"""Evaluations of modules that compute something else in eval mode."""

from __future__ import annotations

import subprocess

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero
from zero.importer import modes

SGD = {
    "optimizer": {"type": "SGD", "params": {"lr": 0.1}},
    "gradient_clipping": 0.0,
}


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm = nn.Linear(8, 16), nn.BatchNorm1d(16)
        self.head, self.side = nn.Linear(16, 4), nn.Linear(16, 4)

    def hidden(self, x):
        return F.dropout(F.relu(self.norm(self.first(x))), 0.2, self.training)


class Noise(Layers):
    """Noise and an auxiliary loss in training, smoothed labels, and other outputs."""

    def forward(self, x, y):
        h = self.hidden(x)
        if self.training:
            h = h + 0.3 * torch.randn_like(h)
        logits = self.head(h)
        loss = F.cross_entropy(logits, y, label_smoothing=0.1 if self.training else 0.0)
        if self.training:
            loss = loss + 0.5 * F.cross_entropy(self.side(h), y)
        return {"loss": loss, "logits": logits if self.training else logits.softmax(-1)}


class Alike(Layers):
    def forward(self, x, y):
        return F.cross_entropy(self.head(self.hidden(x)), y)


class Depth(Layers):
    """Stochastic depth as it is written most often."""

    def __init__(self, form: str):
        super().__init__()
        self.form = form

    def path(self, x):
        if not self.training:
            return x
        shape, keep = (x.shape[0], 1), 0.7
        if self.form == "bernoulli":
            return x * x.new_empty(shape).bernoulli_(keep).div_(keep)
        return x.div(keep) * (keep + torch.rand(shape)).floor_()

    def forward(self, x, y):
        h = self.first(x)
        return F.cross_entropy(self.head(h + self.path(F.relu(h))), y)


class Masked(Layers):
    """What no mode decides on is drawn in both."""

    def forward(self, x, y):
        kept = torch.bernoulli(torch.ones_like(x), 0.5)
        return F.cross_entropy(self.head(self.first(x * kept)), y)


class Detector(Layers):
    """Without a loss in eval mode, as those of torchvision."""

    def forward(self, x, y):
        logits = self.head(self.hidden(x))
        return {"loss": F.cross_entropy(logits, y)} if self.training else {"boxes": logits}


class Guarded(Alike):
    """Changes its weights when it is told to evaluate, as some adapters do."""

    def train(self, mode: bool = True):
        assert mode, "eval() is not called"
        return super().train(mode)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return {
        "x": torch.randn(8, 8, generator=generator),
        "y": torch.randint(4, (8,), generator=generator),
    }


def evaluated(module: nn.Module, step, batch):
    """The same in PyTorch, by the weights and statistics of the step."""
    step.load_into(module)
    with torch.no_grad():
        result = module.eval()(**batch)
    module.train()
    return result


def test_branch_of_evaluation(batch):
    module = Noise()
    with zero.compile(module, batch, config=SGD, outputs=["logits"]) as step:
        assert step.check.endswith("; an evaluation is PyTorch's") and not step.remarks
        for _ in range(3):
            step(batch)
        wanted = evaluated(module, step, batch)
        assert step.evaluate(batch) == pytest.approx(wanted["loss"].item(), rel=1e-5)
        found = step.predict({"x": batch["x"]})["logits"]
        torch.testing.assert_close(torch.from_numpy(found), wanted["logits"])


def test_the_training_of_both_is_one(batch):
    """What an evaluation has for itself is no part of training."""
    torch.manual_seed(0)
    losses = []
    for kind in (Noise, Alike):
        with zero.compile(kind(), batch, config=SGD, check=False) as step:
            losses.append([step(batch) for _ in range(3)])
    assert losses[0] != losses[1]
    alone = zero.export(Noise().eval(), batch)
    both = zero.export(Noise(), batch)
    assert both.text.count("nn.random_normal") == 1 and "nn.random_normal" not in alone.text


@pytest.mark.parametrize("ranks, stage", ((2, 1), (2, 3)))
def test_ranks(batch, ranks, stage):
    module = Noise()
    with zero.compile(module, batch, config=SGD, ranks=ranks, stage=stage) as step:
        twice = {name: torch.cat((value, value)) for name, value in batch.items()}
        step(twice)
        wanted = evaluated(module, step, batch)["loss"].item()
        assert step.evaluate(twice) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("module", (Alike(), Depth("bernoulli"), Depth("floor")))
def test_dropout_and_depth_are_written_once(module, batch):
    text = zero.export(module, batch).text
    assert text.count("nn.cross_entropy") == 1
    with zero.compile(module, batch, config=SGD) as step:
        step(batch)
        wanted = evaluated(module, step, batch).item()
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)


def test_draws_of_all_modes(batch):
    """An evaluation has masks of zeros and ones, and not their mean."""
    module = Masked()
    with zero.compile(module, batch, config=SGD, check=True) as step:
        losses = {step.evaluate({n: v.roll(k, 0) for n, v in batch.items()}) for k in range(4)}
        assert len(losses) == 4
        step.load_into(module)
        kept = F.cross_entropy(module.head(module.first(batch["x"] * 0.5)), batch["y"]).item()
        assert all(abs(loss - kept) > 1e-4 for loss in losses)
    with zero.compile(module.eval(), batch, config=SGD, check=False) as step:
        assert step(batch) != step(batch)


def test_no_loss_in_eval_mode(batch):
    with zero.compile(Detector(), batch, config=SGD) as step:
        step.evaluate(batch)
    assert "the module in eval mode cannot be imported: forward(**batch) returns" in step.remarks
    assert "test_evaluation.py:" in step.remarks
    assert "compute what training does, without dropout" in step.remarks


def test_another_type_of_output(batch):
    class Other(Layers):
        def forward(self, x, y):
            logits = self.head(self.hidden(x))
            found = logits if self.training else logits.argmax(-1)
            return {"loss": F.cross_entropy(logits, y), "logits": found}

    model = zero.export(Other(), batch, outputs=["logits"])
    assert (
        "the output 'logits' is a tensor<8x4xf32> in training and a tensor<8xi32> in evaluation"
    ) in model.remark


def test_the_module_stays_as_it_is(batch):
    module = Guarded()
    module.norm.eval()
    zero.export(module, batch)
    assert module.training and not module.norm.training and module.first.training
    assert not hasattr(nn.Module, "training")


def test_modes_are_asked_for():
    class Missing(nn.Module):
        pass

    with modes.modes_watched() as places:
        assert nn.Linear(2, 2).training
        module = Missing()
        module.training = False
        assert not module.training
        del module.__dict__["training"]
        with pytest.raises(AttributeError, match="has no attribute 'training'"):
            module.training
    assert len(places) == 3 and all("test_evaluation.py:" in place for place in places)


def test_a_wrong_evaluation_is_found(batch, monkeypatch):
    """By the comparison with PyTorch."""
    from zero.importer import evaluation

    monkeypatch.setattr(evaluation.Evaluated, "added", lambda self, writer, results: results)
    with pytest.warns(UserWarning, match="in eval mode: the loss of an evaluation is"):
        text = zero.check(Noise(), batch)
    assert "; an evaluation is not: the loss of an evaluation is" in text


class Skip(Layers):
    """An evaluation takes a result of the batch norm once more, further behind."""

    def forward(self, x, y):
        h = self.norm(self.first(x))
        logits = self.head(F.relu(h))
        if not self.training:
            logits = logits + h[:, :4]
        return F.cross_entropy(logits, y)


def test_what_modes_share_is_written_once(batch, tmp_path):
    text = zero.export(Skip(), batch).text
    assert text.count("nn.linear") == 2 and text.count("math.rsqrt") == 1
    model = tmp_path / "model.mlir"
    model.write_text(text)
    command = [zero.compiler.find_tool("zero-compile"), model, "-o", tmp_path / "train"]
    # Of the statistics, which belong to one stage, nothing is computed again in another.
    subprocess.run([*command, "--mesh=data=1,pipe=2"], check=True)


class Plain(nn.Module):
    """Its layers alone ask for their mode."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.BatchNorm1d(8))
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, x, y):
        return F.cross_entropy(self.encoder(self.net(x).unsqueeze(1)).squeeze(1), y)


def test_layers_of_pytorch_are_traced_once(batch, monkeypatch):
    from zero.importer import evaluation

    traces = []
    capture = evaluation.capture
    monkeypatch.setattr(evaluation, "capture", lambda *words: traces.append(1) or capture(*words))
    zero.export(Plain(), batch)
    assert not traces
    module = Skip()
    module.encoder = Plain()
    with zero.compile(module, batch, config=SGD) as step:
        assert traces and step.check.endswith("; an evaluation is PyTorch's")


class Asks(nn.Module):
    """Asks for its mode, and computes the same but for dropout; `writes` in place to what
    dropout gives, which is its operand itself in eval mode."""

    def __init__(self, writes: bool):
        super().__init__()
        self.first, self.head, self.writes = nn.Linear(8, 16), nn.Linear(16, 4), writes

    def forward(self, x, y):
        h = F.relu(self.first(x))
        rate = 0.0 if not self.training else 0.3
        kept = F.dropout(h, 0.3, self.training)
        if self.writes:
            kept += 1
        q = (kept + h).view(2, -1, 1, 16)
        h = F.scaled_dot_product_attention(q, q, q, dropout_p=rate).contiguous().view(-1, 16)
        return F.cross_entropy(self.head(h), y)


@pytest.mark.parametrize("writes", (False, True))
def test_equal_traces_are_one(writes, batch, monkeypatch):
    """The second of them goes no further than its calls."""
    from zero.importer import capture

    reduced, seen = capture.reduced, []
    monkeypatch.setattr(capture, "reduced", lambda *words: seen.append(1) or reduced(*words))
    module = Asks(writes)
    with zero.compile(module, batch, config=SGD) as step:
        assert len(seen) == 1 + writes
        assert step.check.endswith("; an evaluation is PyTorch's") == writes
        step(batch)
        wanted = evaluated(module, step, batch).item()
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)


class Unguarded(Alike):
    """Asks whether there are gradients."""

    def forward(self, x, y):
        loss = super().forward(x, y)
        return loss + self.side(self.first(x)).square().mean() if torch.is_grad_enabled() else loss


def test_gradients_are_a_mode_too(batch):
    module = Unguarded()
    with zero.compile(module, batch, config=SGD) as step:
        step(batch)
        wanted = evaluated(module, step, batch).item()
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)


def test_a_train_of_its_own(batch):
    class Own(Noise):
        def train(self, mode: bool = True):
            self.flag = mode
            return self

    model = zero.export(Own(), batch)
    assert "'Own' has a train() or eval() of its own, which is not called" in model.remark


class Failing(Alike):
    """Is traced in eval mode, and does not run in it."""

    def forward(self, x, y):
        if not self.training and not torch.compiler.is_exporting():
            raise RuntimeError("too late")
        return super().forward(x, y)


class Always(Alike):
    """Its dropout has no mode."""

    def hidden(self, x):
        return F.dropout(super().hidden(x), 0.5)


def test_what_cannot_be_compared(batch, monkeypatch):
    assert zero.check(Failing(), batch).endswith(
        "; an evaluation was not compared: in eval mode a copy of it ends with RuntimeError: "
        "too late"
    )

    assert zero.check(Always(), batch).endswith("in eval mode it draws what may be dropout")

    def fail(*words):
        raise zero.Error("out of memory")

    monkeypatch.setattr("zero.selfcheck.evaluation.evaluate_compiled", fail)
    text = zero.check(Alike(), batch)
    assert text.endswith("its evaluation by zero ends with an error: out of memory")
    text = zero.check(Detector(), batch)
    assert "an evaluation was not compared: " in text
    assert "the module in eval mode cannot be imported: " in text
