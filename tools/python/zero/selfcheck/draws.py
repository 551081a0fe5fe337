"""Random numbers with known values: the same ones in PyTorch and in zero.

Dropout and stochastic depth keep everything, and scale it as ever; normal numbers are all
`NORMAL`, and what is drawn evenly is `UNIFORM` of its range. In eval mode there is no
dropout.
"""

from __future__ import annotations

import contextlib
import math
import random
import re
from typing import Any, Iterator

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zero.importer.compositions import DRAWN
from zero.importer.generators import arguments_of, draws
from zero.selfcheck.errors import CannotCheck

NORMAL = 0.5
# So much that stochastic depth, whose mask is floor(keep + rand), keeps everything.
UNIFORM = 0.99897654


def number_below(high: int) -> int:
    return math.floor(UNIFORM * high)


def known_values(name: str, a: dict[str, Any]) -> Any:
    """What PyTorch draws by `name` with the arguments `a`; None where it has no known one."""
    if name in ("rand", "rand_like"):
        return UNIFORM
    if name == "uniform":
        return a["from"] + UNIFORM * (a["to"] - a["from"])
    if name in ("randn", "randn_like"):
        return NORMAL
    if name in ("normal", "normal_functional") and isinstance(a.get("mean"), float):
        return a["mean"] + NORMAL * a["std"] if isinstance(a["std"], float) else None
    if name in ("randint", "randint_like"):
        low = a.get("low", 0)
        return low + number_below(a["high"] - low)
    if name == "bernoulli":
        p = a["p"] if a.get("p") is not None else a["self"]
        return (1 - p <= UNIFORM) if isinstance(p, float) else (1 - p.detach() <= UNIFORM)
    if name == "exponential":
        # The importer has half the squares of two normal numbers.
        return NORMAL**2 / a["lambd"]
    return None


class KnownDraws(TorchDispatchMode):
    """Gives these values to what PyTorch draws inside. Raises CannotCheck where it draws
    something else."""

    def __init__(self, evaluation: bool = False):
        super().__init__()
        self.evaluation = evaluation
        self.drawn: set[str] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        if name == "native_dropout":
            return self._native_dropout(*args, **kwargs)
        if name.startswith("rrelu_with_noise") and "backward" not in name:
            given = arguments_of(func, args, kwargs)
            if not given["training"]:
                return func(*args, **kwargs)
            return self._rrelu(name, given)
        if func in DRAWN:
            self.drawn.add(name)
            with self, torch.no_grad():
                return DRAWN[func](*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags:
            given = arguments_of(func, args, kwargs)
            found = known_values(name.removesuffix("_"), given)
            if found is not None:
                self.drawn.add(name.removesuffix("_"))
                # What is drawn gives the type and the shape only.
                with torch.no_grad():
                    drawn = func(*args, **kwargs)
                    return drawn.copy_(torch.as_tensor(found).to(drawn.dtype).expand(drawn.shape))
            if draws(given):
                raise CannotCheck(f"forward draws random numbers by {name}")
        return func(*args, **kwargs)

    def _rrelu(self, name, given):
        self.drawn.add("rrelu")
        x = given["self"]
        slope = known_values("uniform", {"from": given["lower"], "to": given["upper"]})
        given["noise"].copy_(torch.where(x <= 0, slope, 1.0))
        result = x * given["noise"]
        return x.copy_(result) if name.endswith("_") else result

    def _native_dropout(self, input, p, train):
        kept = torch.ones_like(input, dtype=torch.bool)
        scales = train is not False and p < 1 and not self.evaluation
        scale = 1 / (1 - p) if scales else 1
        return input * scale, kept


@contextlib.contextmanager
def random_state_kept() -> Iterator[None]:
    """Whatever is drawn inside, the caller's random numbers go on as they would have."""
    python, arrays = random.getstate(), numpy.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        numpy.random.set_state(arrays)


# In the model's text

RESULT, TYPE, REST = r"^  (%[\w.$-]+) = ", r"(tensor<[^>]*>)", r"(.*)$"
DROPOUT = re.compile(rf"{RESULT}nn\.dropout (%[\w.$#-]+) p (\S+) id \d+ : {TYPE}{REST}", re.M)
ATTENTION = re.compile(
    rf"^  (%[\w.$-]+), (%[\w.$-]+) = (nn\.attention .*) dropout (\S+) id \d+ "
    rf"(: .* -> \({TYPE}, .*)$",
    re.M,
)
RANDOM = re.compile(
    rf"{RESULT}nn\.random_(normal|uniform|integers) id \d+(?: below (\d+))? : {TYPE}{REST}", re.M
)
MODE = re.compile(rf"{RESULT}zero\.select_mode (%[\w.$#-]+), %[\w.$#-]+ : .*\n", re.M)
REPLACED = (
    "nn.dropout",
    "nn.random_normal",
    "nn.random_uniform",
    "nn.random_integers",
    "zero.select_mode",
)


def with_known_numbers(text: str) -> str:
    """The model with these values for the numbers that it draws, and dropout as it is."""

    def known(found: re.Match) -> str:
        result, kind, below, type_, rest = found.groups()
        value = {"normal": NORMAL, "uniform": UNIFORM}.get(kind)
        value = number_below(int(below)) if value is None else value
        return f"  {result} = arith.constant dense<{value}> : {type_}{rest}"

    return RANDOM.sub(known, text)


def with_known_draws(text: str) -> str:
    """The model with these values for what it draws. Evaluation is as training."""
    text = ATTENTION.sub(_without_dropout, text)
    text = DROPOUT.sub(_kept, text)
    text = with_known_numbers(text)
    while found := MODE.search(text):
        text = text[: found.start()] + text[found.end() :]
        text = re.sub(re.escape(found[1]) + r"(?![\w.$-])", lambda _: found[2], text)
    if re.search(r" nn\.attention .* dropout ", text):
        raise CannotCheck("the model has an nn.attention with dropout of a form that is not known")
    for name in REPLACED:
        if f" {name} " in text:
            raise CannotCheck(f"the model has a {name} of a form that is not known")
    return text


def _without_dropout(found: re.Match) -> str:
    """All weights are scaled, and so is their product with the values."""
    result, rows, operation, p, types, kind = found.groups()
    return (
        f"  {result}.plain, {rows} = {operation} {types}\n"
        f"  {result} = nn.dropout {result}.plain p {p} id 0 : {kind}"
    )


def _kept(found: re.Match) -> str:
    result, operand, p, kind, rest = found.groups()
    scale = f"{result}.kept"
    return (
        f"  {scale} = arith.constant dense<{1 / (1 - float(p)):.17e}> : {kind}{rest}\n"
        f"  {result} = arith.mulf {operand}, {scale} : {kind}{rest}"
    )
