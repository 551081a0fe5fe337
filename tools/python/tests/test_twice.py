"""What another call of forward would compute: numbers that Python makes, and seeds."""

from __future__ import annotations

import collections
import functools
import itertools
import random

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import zero

SETTINGS = {"step": 0}
COUNTER = itertools.count()
TABLES: dict[int, torch.Tensor] = {}


class Tracker:
    steps = 0


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(4, 4), function

    def forward(self, x):
        return self.function(self.layer(x)).mean()


def exported(function) -> zero.Model:
    return zero.export(Module(function), {"x": torch.randn(3, 4)})


def counted_in_a_dict(y):
    SETTINGS["step"] += 1
    return y * SETTINGS["step"]


def counted_in_a_class(y):
    Tracker.steps += 1
    return y * Tracker.steps


def drawn_array(y):
    return y * torch.from_numpy(numpy.random.default_rng().random(4)).float()


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda y: y * numpy.random.default_rng().random(), "torch.Tensor.mul(tensor, 0."),
        (
            lambda y: y * numpy.random.Generator(numpy.random.PCG64()).random(),
            "torch.Tensor.mul(tensor, 0.",
        ),
        (drawn_array, "torch.as_tensor(tensor torch.float64 (4,)"),
        (lambda y: y + torch.tensor(random.SystemRandom().random()), "torch.tensor(0."),
        (counted_in_a_dict, "torch.Tensor.mul(tensor, "),
        (counted_in_a_class, "torch.Tensor.mul(tensor, "),
        (lambda y: y * next(COUNTER), "torch.Tensor.mul(tensor, "),
    ],
)
def test_other_numbers_at_each_call_are_refused(function, words):
    with pytest.raises(zero.CannotImport) as caught:
        exported(function)
    text = str(caught.value)
    assert "test_twice.py:" in text and "computes something else each time" in text
    assert words in text and "make it an input" in text, text


def test_what_goes_to_and_fro_is_refused():
    calls = [0]

    class ByTurns(Module):
        def forward(self, x):
            calls[0] += 1
            return (self.layer(x) * 2 if calls[0] % 2 else self.layer(x)).mean()

    words = r"torch.Tensor.mul\(tensor, 2\) here, and torch.Tensor.mean\(tensor\) the next"
    with pytest.raises(zero.CannotImport, match=words):
        zero.export(ByTurns(None), {"x": torch.randn(3, 4)})


class Keeper:
    table = None

    def __call__(self, y):
        if self.table is None:
            self.table = torch.arange(4.0)
        return y * self.table


PAIRS: collections.OrderedDict[int, tuple] = collections.OrderedDict()


def kept_pairs(y):
    if 4 not in PAIRS:
        PAIRS[4] = torch.arange(4.0).cos(), torch.arange(4.0).sin()
    return y * PAIRS[4][0] + PAIRS[4][1]


LOGGED = [0]


def logged_by_turns(y):
    LOGGED[0] += 1
    if LOGGED[0] % 2 == 0:
        y.detach().mean()
    return y


@functools.lru_cache(None)
def positions(count):
    return torch.arange(float(count))


def kept_positions(count):
    if count not in TABLES:
        TABLES[count] = torch.arange(float(count))
    return TABLES[count]


def with_regions(y):
    with torch.no_grad():
        scale = y.abs().amax(-1, keepdim=True)
    return (y / (1 + scale.detach()) + torch.randn(4)).clone().mul_(3)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: y * positions(4),
        lambda y: y * kept_positions(4),
        Keeper(),
        kept_pairs,
        logged_by_turns,
        with_regions,
        # Nothing depends on it.
        lambda y: (torch.tensor(numpy.random.default_rng().random()), y)[1],
    ],
)
def test_the_same_at_each_call_is_imported(function):
    positions.cache_clear()
    TABLES.clear()
    exported(function)
    assert not TABLES and not PAIRS  # A trace leaves nothing behind.


# PyTorch's generator


def seeded(y):
    torch.manual_seed(0)
    return y + torch.randn(4)


def seeded_afterwards(y):
    y = F.dropout(y, 0.5)
    torch.random.manual_seed(3)
    return y


def seeded_apart(y):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        noise = torch.randn(4)
    return y + noise


def drawn_apart(y):
    with torch.random.fork_rng():
        return y + torch.randn(4)


def drawn_again(y):
    state = torch.get_rng_state()
    y = F.dropout(y, 0.5)
    torch.set_rng_state(state)
    return F.dropout(y, 0.5)


@pytest.mark.parametrize(
    "function", [seeded, seeded_afterwards, seeded_apart, drawn_apart, drawn_again]
)
def test_seeds_in_forward_are_refused(function):
    module, batch = Module(function), {"x": torch.randn(3, 4)}
    torch.manual_seed(0)
    before = torch.get_rng_state()
    with pytest.raises(zero.CannotImport, match="test_twice.py:.*keep them in a buffer"):
        zero.export(module, batch)
    assert torch.equal(before, torch.get_rng_state())


def seeded_for_nothing(y):
    torch.manual_seed(0)
    return F.dropout(y, 0.5, training=False)


def drawn(y):
    torch.initial_seed()
    torch.set_rng_state(torch.get_rng_state())
    return F.dropout(y, 0.5) + torch.randn(4).exponential_()


@pytest.mark.parametrize("function", [seeded_for_nothing, drawn])
def test_draws_without_seeds_are_imported(function):
    exported(function)
