"""Random numbers with known values: the same ones in PyTorch and in zero.

Dropout and stochastic depth keep everything, and scale it as ever; normal numbers are all
`NORMAL`.
"""

from __future__ import annotations

import contextlib
import random
import re
from typing import Iterator

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zero.selfcheck.errors import CannotCheck

NORMAL = 0.5
# Of what PyTorch draws by these. The importer takes `rand` for stochastic depth only, whose
# mask is floor(keep + rand).
VALUES = {
    **dict.fromkeys(("bernoulli", "bernoulli_"), 1.0),
    **dict.fromkeys(("rand", "rand_like"), 0.999),
    **dict.fromkeys(("randn", "randn_like"), NORMAL),
}


class KnownDraws(TorchDispatchMode):
    """Gives these values to what PyTorch draws inside. Raises CannotCheck where it draws
    something else."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name.removeprefix("aten::")
        if name == "native_dropout":
            return self._native_dropout(*args, **kwargs)
        if name in ("exponential", "exponential_"):
            # The importer has half the squares of two normal numbers.
            rate = args[1] if len(args) > 1 else kwargs.get("lambd", 1.0)
            with torch.no_grad():
                return func(*args, **kwargs).fill_(NORMAL**2 / rate)
        if name in VALUES:
            # What is drawn gives the type and the shape only.
            with torch.no_grad():
                return func(*args, **kwargs).fill_(VALUES[name])
        if torch.Tag.nondeterministic_seeded in func.tags and draws(func, args, kwargs):
            raise CannotCheck(f"forward draws random numbers by {name}")
        return func(*args, **kwargs)

    @staticmethod
    def _native_dropout(input, p, train):
        kept = torch.ones_like(input, dtype=torch.bool)
        scale = 1 / (1 - p) if train is not False and p < 1 else 1
        return input * scale, kept


def draws(func, args, kwargs) -> bool:
    """Whether an operation that may draw does: attention and recurrent networks do
    where they have dropout."""
    for index, argument in enumerate(func._schema.arguments):
        if argument.name in ("dropout_p", "dropout"):
            given = args[index] if index < len(args) else argument.default_value
            return kwargs.get(argument.name, given) != 0
    return True


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
RANDOM = re.compile(rf"{RESULT}nn\.random_normal id \d+ : {TYPE}{REST}", re.M)
MODE = re.compile(rf"{RESULT}zero\.select_mode (%[\w.$#-]+), %[\w.$#-]+ : .*\n", re.M)
REPLACED = ("nn.dropout", "nn.random_normal", "zero.select_mode")


def with_known_draws(text: str) -> str:
    """The model with these values for what it draws. Evaluation is as training."""
    text = ATTENTION.sub(_without_dropout, text)
    text = DROPOUT.sub(_kept, text)
    text = RANDOM.sub(rf"  \1 = arith.constant dense<{NORMAL}> : \2\3", text)
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
