"""What is drawn in training, and what an evaluation has instead."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import zero

STILL = {"optimizer": {"type": "SGD", "params": {"lr": 0.0}}}
AUTO = {"optimizer": {"type": "SGD", "params": {"lr": "auto"}}}


class Recurrent(nn.Module):
    def __init__(self, kind: type, layers: int, **settings):
        super().__init__()
        self.net = kind(6, 8, num_layers=layers, batch_first=True, **settings)

    def forward(self, x):
        y, state = self.net(x)
        state = state[0] if isinstance(state, tuple) else state
        return y.square().mean() + state.square().mean()


@pytest.mark.parametrize("kind", (nn.LSTM, nn.GRU, nn.RNN))
@pytest.mark.parametrize("bidirectional", (False, True))
def test_dropout_between_recurrent_layers(kind, bidirectional):
    """PyTorch's own composition leaves it out."""
    torch.manual_seed(0)
    module = Recurrent(kind, 3, dropout=0.5, bidirectional=bidirectional)
    batch = {"x": torch.randn(4, 5, 6)}
    assert zero.export(module, batch).text.count("nn.dropout") == 2
    assert "nn.dropout" not in zero.export(module.eval(), batch).text
    with torch.no_grad():
        wanted = module(**batch).item()
    with zero.compile(module.train(), batch, config=STILL, check=False) as step:
        assert step.evaluate(batch) == pytest.approx(wanted, rel=1e-5)
        losses = {step(batch) for _ in range(3)}
        assert len(losses) == 3 and wanted not in losses


@pytest.mark.parametrize(
    "layer, shape", ((nn.AlphaDropout, (64,)), (nn.FeatureAlphaDropout, (8, 8)))
)
@pytest.mark.parametrize("p", (0.3, 1.0))
def test_alpha_dropout(layer, shape, p):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(shape))
            self.drop = layer(p)

        def forward(self, x):
            y = self.drop(x * self.scale)
            return {"loss": y.square().mean(), "y": y}

    torch.manual_seed(0)
    module, batch = Model(), {"x": torch.randn(64, *shape)}
    squares = batch["x"].square().mean().item()
    with zero.compile(module, batch, config=STILL, outputs=["y"]) as step:
        # The variance stays, but for what is drawn.
        assert step(batch) == pytest.approx(squares if p < 1 else 0, abs=0.1)
        assert step.evaluate(batch) == pytest.approx(squares, rel=1e-5)
        assert torch.as_tensor(step.predict(batch)["y"]).equal(batch["x"])


def test_an_error_has_what_the_compiler_said():
    with pytest.raises(zero.CompileError, match="Unknown command line argument '--nonsense'"):
        zero.compile(Noisy(), {"x": torch.zeros(2, 3)}, options=["--nonsense"])


class Mean(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.linear, self.function = nn.Linear(3, 3), function

    def forward(self, x):
        return self.function(self.linear, x).square().mean()


def without_gradients(linear, x):
    with torch.no_grad():
        drawn = F.alpha_dropout(x, 0.5, True)
    return linear(drawn)


@pytest.mark.parametrize(
    "function",
    (
        lambda linear, x: F.feature_alpha_dropout(linear(x), p=0.5, training=True),
        lambda linear, x: torch.alpha_dropout(linear(x), p=0.5, train=True),
        without_gradients,
    ),
)
def test_forms_of_alpha_dropout(function):
    batch = {"x": torch.randn(4, 3)}
    text = zero.export(Mean(function), batch).text
    assert text.count("nn.dropout") == text.count("zero.select_mode") == 1


def test_alpha_dropout_in_place():
    def function(linear, x):
        return F.alpha_dropout(linear(x), 0.5, training=True, inplace=True)

    with pytest.raises(zero.CannotImport, match="alpha dropout in place: leave out inplace=True"):
        zero.export(Mean(function), {"x": torch.randn(4, 3)})


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        drawn = torch.randn_like(x)
        return {"loss": (x + drawn * self.scale).square().mean(), "drawn": drawn}


def test_an_evaluation_draws_by_the_sample():
    """Whatever ranks and micro-batches there are."""
    batch, found = {"x": torch.zeros(8, 3)}, []
    for settings in ({"ranks": 1}, {"ranks": 4}, {"ranks": 2, "stage": 3}):
        part = {"x": torch.zeros(2, 3)}
        with zero.compile(Noisy(), part, config=STILL, outputs=["drawn"], **settings) as step:
            drawn = torch.as_tensor(step.predict(batch)["drawn"])
            found.append((step.evaluate(batch), drawn))
    first, drawn = found[0]
    assert len(drawn.unique()) == drawn.numel()
    for loss, other in found[1:]:
        assert loss == pytest.approx(first, rel=1e-6)
        assert other.equal(drawn)


def test_remarks_are_logged():
    logger, told = logging.getLogger("zero"), []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logger.addHandler(handler)
    batch = {"x": torch.zeros(2, 3)}
    try:
        with zero.compile(Noisy(), batch, config=AUTO) as step:
            assert 'remark: optimizer.params.lr: "auto"' in step.remarks
            assert told == [step.remarks]
    finally:
        logger.removeHandler(handler)
