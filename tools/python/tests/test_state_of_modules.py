"""What forward assigns has no effect on the next step, or is refused."""

from __future__ import annotations

import copy
import functools
import itertools
import logging
import random
from collections import OrderedDict

import numpy
import pytest
import torch
from test_refusals import refusal
from torch import nn
from training import compare

import zero
from zero.importer.state import State


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


class Schedule:
    """What forward calls, and keeps a count."""

    shared = 0

    def __init__(self):
        self.steps = 0

    def __call__(self):
        self.steps += 1
        return 1 / self.steps

    def of_all(self):
        Schedule.shared += 1
        return 1 / Schedule.shared


class Slots:
    __slots__ = ("steps",)

    def __init__(self):
        self.steps = 0

    def __call__(self):
        self.steps += 1
        return 1 / self.steps


def counting():
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return steps

    return count


NUMBER = 0


def of_the_file():
    global NUMBER
    NUMBER += 1
    return NUMBER


def array():
    values = numpy.ones(2)

    def count():
        values[:] += 1
        return float(values[0])

    return count


def drawing():
    generator = numpy.random.default_rng(0)
    return lambda: generator.random()


@pytest.mark.parametrize(
    "made, words",
    [
        (Schedule, "given.steps"),
        (lambda: Schedule().of_all, "shared"),
        (Slots, "given.steps"),
        (counting, "given.steps"),
        (lambda: of_the_file, "given.NUMBER"),
        (array, "values"),
        (drawing, "generator"),
        (lambda: random.Random(0).random, "given"),
        (lambda: itertools.count(1).__next__, "given"),
        (lambda: (n for n in range(1, 9)).__next__, "given"),
        (lambda: itertools.cycle([1.0, 2.0]).__next__, "given"),
        (lambda: iter([1.0, 2.0, 3.0]).__next__, "given"),
        (lambda: functools.partial(next, zip([1, 2, 3])), "given"),
    ],
)
def test_what_counts_elsewhere_is_refused(made, words):
    def function(m, y, x):
        number = m.given()
        return (y * (number[0] if isinstance(number, tuple) else number)).mean()

    module = Outer(function)
    module.inner.given = made()
    text = refusal(module)
    assert "forward changes 'inner.given" in text and "in each step" in text and words in text
    assert Schedule.shared == NUMBER == 0
    assert getattr(module.inner.given, "steps", 0) == 0


def test_of_the_class_and_of_an_array_is_refused():
    class Counted(Module):
        number = 0

    def function(m, y, x):
        type(m).number += 1
        return (y * type(m).number).mean()

    assert "forward changes 'number' in each step" in refusal(Counted(function))
    assert Counted.number == 0

    def counted(m, y, x):
        m.numbers += 1
        return (y * float(m.numbers[0])).mean()

    module = Module(counted)
    module.numbers = numpy.zeros(2)
    assert "forward changes 'numbers' in each step" in refusal(module)
    assert not module.numbers.any()


class Frozen(dict):
    """As the outputs of transformers, which some methods of a dict refuse."""

    def update(self, *words, **settings):
        raise RuntimeError("no update")

    clear = pop = __delitem__ = update


def test_only_what_changed_is_put_back():
    class Watched(dict):
        def __setitem__(self, key, value):
            raise AssertionError("written")

    logger = logging.getLogger("of.a.model")
    loggers = logging.Logger.manager.loggerDict
    module = Outer(the_same_number)
    module.inner.output, module.inner.watched = Frozen(logits=1), Watched(a=1)
    module.inner.log, module.inner.ordered = logger, OrderedDict(a=1, b=2)
    known = State(module)
    assert not any(cell.container.read() == loggers for cell in known.cells)
    before = dict(module.inner.__dict__)
    dict.__setitem__(module.inner.output, "loss", 2)
    module.inner.ordered.move_to_end("a")
    known.put_back()
    assert module.inner.__dict__ == before and module.inner.output == {"logits": 1}
    assert list(module.inner.ordered) == ["a", "b"]
    zero.export(module, {"x": torch.ones(4, 4)})


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
    module = Outer(lambda m, y, x: nn.functional.dropout(y, 0.5).mean())
    module.inner.w.register_hook(lambda g: g * (2 if torch.rand(()) < 2 else 1))
    before = generators()
    zero.export(module, {"x": torch.ones(4, 4)})
    assert before == generators()


def generators():
    numbers = numpy.random.get_state()
    return random.getstate(), numbers[1].tolist(), numbers[2], torch.get_rng_state().tolist()


@functools.lru_cache(None)
def positions(count):
    return torch.arange(float(count))


TABLES: dict[int, torch.Tensor] = {}


def kept_positions(count):
    if count not in TABLES:
        TABLES[count] = torch.arange(float(count))
    return TABLES[count]


@pytest.mark.parametrize("function", (positions, kept_positions))
def test_cached_tables_are_made_anew(function):
    """Those of a trace are no tensors, and PyTorch goes on with its own."""
    positions.cache_clear()
    TABLES.clear()

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return (self.w * x * function(4)).mean()

    module, batch = Cached(), {"x": torch.randn(3, 4)}
    with zero.compile(module, batch, check=True) as step:
        assert step(batch) == pytest.approx(module(**batch).item(), rel=1e-5)
    assert type(function(4)) is torch.Tensor
