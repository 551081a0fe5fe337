"""The self-check: what agrees passes, and what differs is found and placed."""

from __future__ import annotations

import copy
import logging
import logging.handlers
import queue
import random
import re

import numpy
import pytest
import torch
import torch.nn.functional as F
from models import MODELS
from torch import nn

import zero
from zero.importer.step import StepWriter
from zero.selfcheck.differences import Pair, differences
from zero.selfcheck.draws import KnownDraws, with_known_draws
from zero.selfcheck.errors import CannotCheck
from zero.selfcheck.reference import copy_of


class Net(nn.Module):
    """Layers of many kinds; what a corruption changes is in one of them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 12)
        self.act = nn.GELU()
        self.norm = nn.BatchNorm1d(12)
        self.drop = nn.Dropout(0.3)
        self.middle = nn.Linear(12, 12)
        self.head = nn.Linear(12, 4)

    def forward(self, x, y):
        h = self.norm(self.act(self.first(x)))
        logits = self.head(h + self.middle(self.drop(h)).tanh())
        return {"loss": F.cross_entropy(logits, y), "logits": logits}


def net():
    torch.manual_seed(2)
    return Net(), {"x": torch.randn(6, 8), "y": torch.randint(0, 4, (6,))}


# What agrees


class Frozen(nn.Module):
    """A frozen layer, and two layers of one weight."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(6, 6).requires_grad_(False)
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(self.frozen(x)).relu()).square().mean()


class Drawn(nn.Module):
    """Normal numbers, dropout of attention, stochastic depth."""

    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        h = self.f(x + torch.randn_like(x))
        q = h.view(2, 3, 2, 4).transpose(1, 2)
        h = F.scaled_dot_product_attention(q, q, q, dropout_p=0.2).transpose(1, 2).flatten(2)
        mask = torch.empty(2, 1, 1).bernoulli_(0.75).div_(0.75)
        mask = mask * (0.6 + torch.rand(2, 1, 1)).floor() / 0.6
        return (x + self.g(h) * mask).square().mean()


class Table(nn.Module):
    """A sum of embeddings, whose example is a batch of zeros."""

    def __init__(self):
        super().__init__()
        self.e, self.f = nn.Embedding(5, 4), nn.Linear(3, 4)

    def forward(self, ids, x):
        return (self.e(ids) + self.f(x)).amax(-1).square().mean()


OWN = {
    "net": net,
    "frozen": lambda: (Frozen(), {"x": torch.randn(4, 6)}),
    "drawn": lambda: (Drawn(), {"x": torch.randn(2, 3, 8)}),
    "zeros": lambda: (
        Table(),
        {"ids": torch.zeros(4, dtype=torch.int64), "x": torch.zeros(4, 3)},
    ),
}
KINDS = ["gpt2", "llama", "bert_mlm", "resnet", "mobilenet_v2", "lstm", "mixtral", "swin", "vit"]


@pytest.mark.parametrize("name", [*OWN, *KINDS])
def test_what_agrees(name):
    torch.manual_seed(1)
    module, batch = (OWN.get(name) or MODELS[name])()
    assert zero.check(module.train(), batch).startswith("2 updates are PyTorch's: the losses, ")


def test_within_modes_without_gradients():
    module, batch = net()
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            assert zero.check(module, batch).startswith("2 updates are PyTorch's")


def test_says_what_was_compared():
    module, batch = net()
    assert zero.check(module, batch, outputs=["logits"]) == (
        "2 updates are PyTorch's: the losses, 1 output, 8 gradients, 8 parameters, 2 buffers; "
        "an evaluation is PyTorch's"
    )


# What differs


def corrupt(monkeypatch, pattern: str, replacement: str) -> None:
    """Has every import write another model."""
    text = StepWriter.text

    def other(self, *rest):
        results, *_ = rest
        found, count = re.subn(pattern, replacement, text(self, *rest), flags=re.M)
        assert count or len(results) > 2, f"nothing matches {pattern}"
        return found

    monkeypatch.setattr(StepWriter, "text", other)


CORRUPTIONS = {
    "activation": ("nn.gelu exact", "nn.gelu tanh", "act", "in update 1 the loss"),
    "epsilon": (r"(batch_norm .*) eps 1.0e-5", r"\1 eps 1.0e-1", "norm", "in update 1 the loss"),
    "scale of dropout": (r"(nn.dropout .*) p 0.3", r"\1 p 0.4", "drop", "in update 1 the loss"),
    "sum": (
        r"arith.addf (%norm\S*|\S*batch_norm\S*), (%tanh)",
        r"arith.subf \1, \2",
        "",
        "in update 1 the loss",
    ),
    "gradient": (
        r"^(  %gelu = nn.gelu exact) (%linear) : (\S+)(.*)$",
        r"  %end = nn.stop_gradient \2 : \3\n\1 %end : \3\4",
        "first",
        "in update 1 the gradient of 'first.weight'",
    ),
    "momentum": ("average 0.1$", "average 0.2", "norm", "after update 2 the buffer 'norm"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_differs_is_placed(name, monkeypatch):
    pattern, replacement, place, message = CORRUPTIONS[name]
    corrupt(monkeypatch, pattern, replacement)
    module, batch = net()
    with pytest.raises(zero.CannotImport, match=message) as error:
        zero.compile(module, batch, threads=1)
    assert error.value.place == (zero.importer.errors.Place(place) if place else None)
    with zero.compile(module, batch, threads=1, check=False) as step:
        assert step.check == "not compared with PyTorch: check=False"


def test_an_output_that_differs(monkeypatch):
    corrupt(
        monkeypatch,
        r"^  zero.yield (\S+), (%\S+) outputs (.*), (tensor\S+)$",
        r"  %other = arith.negf \2 : \4\n  zero.yield \1, %other outputs \3, \4",
    )
    module, batch = net()
    with pytest.raises(zero.CannotImport, match="in update 1 the output 'logits' is"):
        zero.compile(module, batch, outputs=["logits"], threads=1)


def test_inside_of_attention(monkeypatch):
    """The module that calls attention, not the projection that gets what differs."""
    corrupt(monkeypatch, r"(nn.attention .*) scale \S+", r"\1 scale 0.9")
    torch.manual_seed(1)
    module, batch = MODELS["llama"]()
    with pytest.raises(zero.CannotImport, match="module 'model.layers.0.self_attn': "):
        zero.check(module, batch)


def gradient(values: torch.Tensor, found: torch.Tensor | None = None) -> Pair:
    return Pair(0, "gradient", "w", values, values if found is None else found)


@pytest.mark.parametrize(("rounding", "count"), [(0.03, 0), (1e-6, 1), (0.4, 1)])
def test_what_rounding_decides(rounding, count):
    """zero may be as far from f64 as PyTorch with other rounding is, where that is little."""
    torch.manual_seed(5)
    values = torch.randn(1000)
    found = gradient(values, values + 0.03 * torch.randn(1000))

    def exact(seed):
        noise = 0 if seed is None else rounding * torch.randn(1000)
        return [gradient(values.double() + noise)]

    assert len(differences([found], exact)) == count
    assert differences([gradient(values, values * (1 + 1e-5))], exact) == []


# What an import may miss: modules that change as they run


class Changing(nn.Module):
    """Layers with a module that does not compute the same twice, or has other gradients."""

    def __init__(self, inner):
        super().__init__()
        self.first, self.inner, self.last = nn.Linear(6, 6), inner, nn.Linear(6, 6)

    def forward(self, x, y):
        return F.mse_loss(self.last(self.inner(self.first(x))), y)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(6))

    def forward(self, x):
        return x * self.scale


def changing(inner=None):
    torch.manual_seed(3)
    return Changing(inner or Scaled()), {"x": torch.randn(4, 6), "y": torch.randn(4, 6)}


def import_instead(monkeypatch, change) -> None:
    """Has modules imported with a `change`: what the import would have made of them, had it
    missed what the change takes out."""
    export = zero.importer.export

    def missing(module, batch, **settings):
        # A module whose values are looked at is a copy already.
        module = module if "forward" in vars(module) else copy.deepcopy(module)
        change(module)
        return export(module, batch, **settings)

    monkeypatch.setattr("zero.importer.export", missing)
    monkeypatch.setattr("zero.selfcheck.export", missing)


class Assigned(Scaled):
    def forward(self, x):
        self.scale = self.scale * 0.9
        return x * self.scale


class Counted(Scaled):
    """State that is no buffer."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1
        return x * self.count


@pytest.mark.parametrize(("inner", "first"), [(Assigned, 0.9), (Counted, 1)])
def test_state_that_changes(inner, first, monkeypatch):
    """Only the second update shows that it does."""

    def as_at_first(module):
        module.inner.forward = lambda x: x * first

    import_instead(monkeypatch, as_at_first)
    module, batch = changing(inner())
    with pytest.raises(zero.CannotImport, match="in update 2 the loss"):
        zero.compile(module, batch, threads=1)


@pytest.mark.parametrize("of", ["parameter", "tensor"])
def test_hooks_of_gradients(of, monkeypatch):
    module, batch = changing()
    if of == "parameter":
        module.first.weight.register_hook(lambda gradient: gradient * 0)
    else:

        def with_hook(x):
            x = x * 1
            x.register_hook(lambda gradient: 2 * gradient)
            return x

        module.inner.forward = with_hook

    def without(module):
        module.first.weight = nn.Parameter(module.first.weight.detach())
        module.inner.forward = lambda x: x

    import_instead(monkeypatch, without)
    with pytest.raises(zero.CannotImport, match="module 'first': .* the gradient of 'first.w"):
        zero.compile(module, batch, threads=1)


class Renormed(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.f = nn.Embedding(20, 6, max_norm=1.0), nn.Linear(6, 6)

    def forward(self, ids, y):
        return F.mse_loss(self.f(self.e(ids)), y)


def test_weights_that_forward_writes(monkeypatch):
    torch.manual_seed(6)
    module, batch = Renormed(), {"ids": torch.arange(8), "y": torch.randn(8, 6)}

    def without(module):
        module.e.max_norm = None

    import_instead(monkeypatch, without)
    with pytest.raises(zero.CannotImport, match="module 'e': .* in update 1 the loss"):
        zero.compile(module, batch, threads=1)


class Cubed(nn.Module):
    """The gradient of a sum within the loss, `constant` as autograd.grad has it without
    create_graph."""

    def __init__(self, constant=True):
        super().__init__()
        self.f, self.constant = nn.Linear(6, 6), constant

    def forward(self, x, y):
        h = self.f(x)
        slope = 3 * h.square()
        return F.mse_loss(h + (slope.detach() if self.constant else slope), y)


def test_gradients_within_the_loss(monkeypatch):
    torch.manual_seed(7)
    module, batch = Cubed(), {"x": torch.randn(4, 6), "y": torch.randn(4, 6)}

    def differentiated(module):
        module.constant = False

    import_instead(monkeypatch, differentiated)
    with pytest.raises(zero.CannotImport, match="module 'f': .* in update 1 the gradient of 'f"):
        zero.compile(module, batch, threads=1)


class Hashed(nn.Module):
    """Rows of a table by a product that 32 bits do not hold."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(101, 6)

    def forward(self, ids, y):
        return F.mse_loss(self.e(ids * 1000003 % 101), y)


def test_other_integers(monkeypatch):
    torch.manual_seed(8)
    module, batch = Hashed(), {"ids": torch.randint(9, 50000, (8,)), "y": torch.randn(8, 6)}
    monkeypatch.setattr("zero.importer.recognize.check_integers", lambda captured: None)
    with pytest.raises(zero.CannotImport, match="module 'e': .* in update 1 the loss"):
        zero.compile(module, batch, threads=1)


# When it runs


def test_by_default_where_the_model_is_small(monkeypatch):
    module, batch = net()
    with zero.compile(module, batch, threads=1) as step:
        assert step.check.startswith("2 updates are PyTorch's")
    monkeypatch.setattr("zero.selfcheck.PARAMETERS", 100)
    with zero.compile(module, batch, threads=1) as step:
        assert step.check == "not compared with PyTorch: it has 364 parameters, more than 100"
    with zero.compile(module, batch, threads=1, check=True) as step:
        assert step.check.startswith("2 updates are PyTorch's")
    model = zero.export(module, batch)
    with pytest.raises(zero.Error, match="check=True compares a module"):
        zero.compile(model, check=True)


class Uncopied(Scaled):
    def __deepcopy__(self, memo):
        raise RuntimeError("there is one of me")


def test_what_cannot_be_compared():
    """It is said where nobody asked, and an error where somebody did."""
    module, batch = changing(Uncopied())
    reason = "the module cannot be copied: RuntimeError: there is one of me"
    with pytest.warns(UserWarning, match=f"was not compared with PyTorch: {reason}"):
        step = zero.compile(module, batch, threads=1)
    assert step.check == f"not compared with PyTorch: {reason}"
    with pytest.raises(zero.CannotImport, match=reason):
        zero.compile(module, batch, threads=1, check=True)


class Traced(Scaled):
    """Fails where PyTorch itself computes it."""

    def forward(self, x):
        if not torch.compiler.is_exporting():
            raise RuntimeError("only for tracing")
        return super().forward(x)


def test_what_only_traces():
    module, batch = changing(Traced())
    reason = "PyTorch cannot train a copy of it: RuntimeError: only for tracing"
    with pytest.raises(zero.CannotImport, match=reason):
        zero.compile(module, batch, threads=1, check=True)


def test_draws_that_are_not_known():
    with pytest.raises(CannotCheck, match="forward draws random numbers by poisson"):
        with KnownDraws():
            torch.poisson(torch.ones(3))
    with pytest.raises(CannotCheck, match="the model has a nn.dropout of a form that is not known"):
        with_known_draws("  %y = other.call { nn.dropout }\n")


class Enclosing(nn.Module):
    """Calls its layers by functions that were made beside them, as minGPT does."""

    def __init__(self):
        super().__init__()
        layers = nn.ModuleDict({"up": nn.Linear(4, 8), "down": nn.Linear(8, 4)})
        later = None
        self.layers, scale = layers, 2.0
        inner = lambda x: torch.relu(layers["up"](x))  # noqa: E731
        self.both = lambda x: layers.down(inner(x)) * scale + (later or 0)
        self.by_default = lambda x, *, own=layers.up: own(x).mean()

        def of_the_module(x, own=self):
            return own.layers.down.bias * x

        self.of_the_module = of_the_module

    def forward(self, x):
        y = self.both(x) + self.of_the_module(x)
        return (y.square() + self.by_default(x)).mean()


def test_functions_that_enclose_layers():
    torch.manual_seed(0)
    module = Enclosing()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with zero.compile(module, {"x": torch.randn(2, 4)}, check=True) as step:
        assert "2 updates are PyTorch's" in step.check
    assert all(value.equal(before[name]) for name, value in module.state_dict().items())


class Kept(Scaled):
    """What was computed last stays to be looked at."""

    def __init__(self):
        super().__init__()
        self.last, self.seen = None, {}

    def forward(self, x):
        self.last = x * self.scale
        self.seen["last"] = [self.last + 1]
        return self.last


def test_tensors_that_a_module_keeps():
    module, batch = changing(Kept())
    module(**batch)
    copied = copy_of(module)
    copied(**batch)
    assert copied.inner.last is not module.inner.last
    assert copied.inner.last.equal(module.inner.last)


def test_everything_stays_as_it_was():
    """The module, its gradients and its mode, and all random numbers."""
    module, batch = net()
    module.drop.eval()
    module(**batch)["loss"].backward()
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    gradients = [parameter.grad.clone() for parameter in module.parameters()]
    modes = [layer.training for layer in module.modules()]
    states = torch.random.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    values = {name: value.clone() for name, value in batch.items()}
    zero.check(module, batch)
    assert all(value.equal(kept[name]) for name, value in module.state_dict().items())
    assert all(p.grad.equal(g) for p, g in zip(module.parameters(), gradients))
    assert modes == [layer.training for layer in module.modules()]
    assert states[0].equal(torch.random.get_rng_state())
    assert states[1:] == (random.getstate(), numpy.random.get_state()[1].tolist())
    assert all(value.equal(values[name]) for name, value in batch.items())


# What is 0 in exact arithmetic


class Nothing(nn.Module):
    """A loss whose gradient is 0, but for rounding."""

    def __init__(self, function):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.GELU(), nn.Linear(16, 5))
        self.function = function

    def forward(self, x):
        return self.function(self.layers, x)


def r_drop(layers, x):
    """Dropout keeps everything here."""
    return F.kl_div(layers(x).log_softmax(-1), layers(x).softmax(-1), reduction="batchmean")


def standardized(layers, x):
    z = layers(x)
    z = (z - z.mean(0)) / z.std(0)
    return z.mean() + z.pow(2).mean()


@pytest.mark.parametrize(
    "function",
    [
        r_drop,
        lambda layers, x: -F.cosine_similarity(layers(x), layers(x).detach()).mean(),
        standardized,
        lambda layers, x: layers(x).softmax(-1).sum(),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_gradient_of_rounding_alone(function, seed):
    torch.manual_seed(seed)
    assert "2 updates" in zero.check(Nothing(function), {"x": torch.randn(6, 8)})


def test_a_small_gradient_is_compared(monkeypatch):
    """It is no rounding."""

    def without_a_layer(module):
        module.function = lambda layers, x: layers[:3](x).square().mean() * 1e-7

    import_instead(monkeypatch, without_a_layer)
    module = Nothing(lambda layers, x: layers(x).square().mean() * 1e-7)
    with pytest.raises(zero.CannotImport, match="differs from PyTorch"):
        zero.check(module, {"x": torch.randn(6, 8)})


def test_gradients_of_zero_at_a_kink_are_compared(monkeypatch):
    """Other weights leave the kink: what comes there is no rounding."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.gate = nn.Linear(4, 4), nn.Parameter(torch.zeros(4))
            self.bound = torch.abs

        def forward(self, x):
            h = self.layer(x)
            return (h + h.exp() * self.bound(self.gate)).square().mean()

    def without_bound(module):
        module.bound = lambda gate: gate

    import_instead(monkeypatch, without_bound)
    with pytest.raises(zero.CannotImport, match="gradient of 'gate'"):
        zero.check(Gated(), {"x": torch.randn(3, 4)})


def test_remarks_are_made_once():
    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.spare = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x, shared):
            return (self.layer(x) * shared).mean()

    batch = {"x": torch.randn(4, 6), "shared": torch.randn(6)}
    records, logger = queue.SimpleQueue(), logging.getLogger("zero")
    handler = logging.handlers.QueueHandler(records)
    logger.addHandler(handler)
    try:
        step = zero.compile(Spare(), batch, threads=1)
    finally:
        logger.removeHandler(handler)
    assert step.check.startswith("2 updates")
    assert records.get().getMessage() == step.remarks and records.empty()
