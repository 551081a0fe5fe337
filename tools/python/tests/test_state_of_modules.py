"""What forward assigns has no effect on the next step, or is refused."""

from __future__ import annotations

import copy
import random

import numpy
import pytest
import torch
from test_refusals import refusal
from torch import nn
from training import compare


class Module(nn.Module):
    """A parameter, some state, and a function of both."""

    def __init__(self, function):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))
        self.register_buffer("scale", torch.ones(4))
        self.function = function
        self.count, self.seen, self.table = 0, [], {}

    def forward(self, x):
        return self.function(self, (x @ self.w) * self.scale, x)


class Outer(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.inner = Module(function)

    def forward(self, x):
        return self.inner(x)


def kept_to_look_at(m, y, x):
    m.last, m.table["last"], m.seen = y, y, []
    m.seen.append(y)
    return ((m.last + m.seen[0]) ** 2).mean()


def the_same_number(m, y, x):
    m.count = len(x)
    return (y**2).mean() * m.count


def in_eval_mode(m, y, x):
    m.eval()
    return (y**2).mean()


def moved(m, y, x):
    m.scale = m.scale.to(x.device)
    return (y**2).mean()


def made_once(m, y, x):
    if getattr(m, "ramp", None) is None:
        m.ramp = torch.linspace(0.5, 1.5, 4) * m.scale
    if "mask" not in m.table:
        m.table["mask"] = (torch.ones(4, 4).tril(), 2)
    return (y * m.ramp * m.table["mask"][0] * m.table["mask"][1]).mean()


def made_without_gradients(m, y, x):
    if getattr(m, "ramp", None) is None:
        with torch.no_grad():
            m.ramp = torch.linspace(0.5, 1.5, 4) * m.scale
    return (y * m.ramp).mean()


def made_in_each_step(m, y, x):
    m.ramp = torch.arange(4.0)
    m.ramp[1] = 3
    return (y * m.ramp).mean()


@pytest.mark.parametrize(
    "function",
    [
        kept_to_look_at,
        the_same_number,
        in_eval_mode,
        moved,
        made_once,
        made_without_gradients,
        made_in_each_step,
    ],
)
def test_computed(function, tmp_path):
    module = Outer(function)
    before = {name: copy.copy(part.__dict__) for name, part in module.named_modules()}
    scale, seen = module.inner.scale, module.inner.seen
    compare_alone(module, tmp_path)
    assert before == {name: part.__dict__ for name, part in module.named_modules()}
    assert module.inner.scale is scale and module.inner.seen is seen and not seen


def compare_alone(module, folder):
    """The reference of PyTorch changes another module."""
    import zero

    zero.export(module, {"x": torch.randn(4, 4)})
    compare(copy.deepcopy(module), {"x": torch.randn(4, 4)}, folder)


def buffer(m, y, x):
    m.scale = m.scale * 0.9
    return y.mean()


def counter(m, y, x):
    m.count += 1
    return y.mean() * m.count


def first_step(m, y, x):
    factor = 2 if m.count == 0 else 1
    m.count = 1
    return y.mean() * factor


def step_before(m, y, x):
    before = getattr(m, "before", None)
    m.before = y.detach()
    return (y if before is None else y + before).mean()


def made_of_the_first_batch(m, y, x):
    if getattr(m, "mean", None) is None:
        m.mean = x.mean()
    return (y * m.mean).mean()


def made_of_a_parameter(m, y, x):
    if getattr(m, "size", None) is None:
        m.size = m.w.detach().norm()
    return (y / m.size).mean()


def drawn_once(m, y, x):
    if getattr(m, "noise", None) is None:
        m.noise = torch.randn(4)
    return (y * m.noise).mean()


def drawn_without_gradients(m, y, x):
    if getattr(m, "noise", None) is None:
        with torch.no_grad():
            m.noise = torch.randn(4)
    return (y * m.noise).mean()


def counted_in_a_tensor(m, y, x):
    if getattr(m, "steps", None) is None:
        m.steps = torch.zeros(4)
    m.steps = m.steps + 1
    return (y * m.steps).mean()


def counted_in_place(m, y, x):
    if getattr(m, "steps", None) is None:
        m.steps = torch.zeros(4)
    m.steps += 1
    return (y * m.steps).mean()


def first_step_by_a_tensor(m, y, x):
    factor = 2 if getattr(m, "ones", None) is None else 1
    m.ones = torch.ones(4)
    return y.mean() * factor


def warmed_up(m, y, x):
    if getattr(m, "ones", None) is None:
        m.ones = torch.ones(4)
    else:
        y = y * 2
    return y.mean()


def used_before_assigned(m, y, x):
    table = getattr(m, "ramp", torch.ones(4))
    m.ramp = torch.arange(4.0)
    return (y * table).mean()


def growing(m, y, x):
    m.seen.append(y)
    return y.mean()


def growing_numbers(m, y, x):
    m.seen.append(1)
    return y.mean()


def counted_in_a_table(m, y, x):
    m.table["steps"] = m.table.get("steps", 0) + 1
    return y.mean()


def frozen(m, y, x):
    m.w.requires_grad_(False)
    return y.mean()


def queue(m, y, x):
    m.scale[:] = x[0]
    return y.mean()


@pytest.mark.parametrize(
    "function, words",
    [
        (buffer, "forward changes the buffer 'inner.scale'"),
        (counter, "forward changes 'inner.count' in each step"),
        (first_step, "forward computes something else once it has changed 'inner.count'"),
        (step_before, "forward reads 'inner.before'"),
        (made_of_the_first_batch, "forward reads 'inner.mean'"),
        (made_of_a_parameter, "forward reads 'inner.size'"),
        (drawn_once, "forward reads 'inner.noise'"),
        (drawn_without_gradients, "forward reads 'inner.noise'"),
        (counted_in_a_tensor, "forward changes 'inner.steps' in each step"),
        (counted_in_place, "forward writes to a tensor that it assigned in the step before"),
        (first_step_by_a_tensor, "something else once it has changed 'inner.ones'"),
        (warmed_up, "something else once it has changed 'inner.ones'"),
        (used_before_assigned, "something else once it has changed 'inner.ramp'"),
        (growing, "forward changes 'inner.seen' in each step"),
        (growing_numbers, "forward changes 'inner.seen' in each step"),
        (counted_in_a_table, "forward changes 'inner.table.steps' in each step"),
        (frozen, "forward sets requires_grad of 'inner.w'"),
        (queue, "the buffer 'inner.scale' changes in each step"),
    ],
)
def test_refused(function, words):
    module = Outer(function)
    before = {name: copy.copy(part.__dict__) for name, part in module.named_modules()}
    assert words in refusal(module)
    assert before == {name: part.__dict__ for name, part in module.named_modules()}
    assert module.inner.w.requires_grad and not module.inner.seen and not module.inner.table


def layer_dropped(m, y, x):
    return y.mean() if random.uniform(0, 1) < 0.1 else (y**2).mean()


def masked(m, y, x):
    return (y * torch.from_numpy(numpy.random.rand(4))).mean()


@pytest.mark.parametrize("function, name", [(layer_dropped, "random"), (masked, "numpy.random")])
def test_numbers_of_python_are_refused(function, name):
    module, batch = Outer(function), {"x": torch.ones(4, 4)}
    before = generators()
    assert f"forward draws from `{name}`" in refusal(module, **batch)
    assert before == generators()


def test_numbers_of_a_seed_are_constants(tmp_path):
    def function(m, y, x):
        numpy.random.seed(3)
        return (y * torch.from_numpy(numpy.random.rand(4).astype("float32"))).mean()

    compare_alone(Outer(function), tmp_path)
    assert numpy.random.seed.__name__ == "seed"


def test_export_draws_nothing():
    import zero

    module = Outer(lambda m, y, x: nn.functional.dropout(y, 0.5).mean())
    module.inner.w.register_hook(lambda g: g * (2 if torch.rand(()) < 2 else 1))
    before = generators()
    zero.export(module, {"x": torch.ones(4, 4)})
    assert before == generators()


def generators():
    numbers = numpy.random.get_state()
    return random.getstate(), numbers[1].tolist(), numbers[2], torch.get_rng_state().tolist()
