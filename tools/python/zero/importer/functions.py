"""Gradients that a module writes itself.

Tracing sees the forward of a `torch.autograd.Function` only, and that is what zero
differentiates. Most are functions whose backward is the derivative, to save memory;
others, such as a rounding that gradients pass, mean something else.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch
from torch.autograd import Function

from zero.importer.errors import CannotImport, Place
from zero.importer.places import PACKAGE, place_of_error, place_of_frames
from zero.importer.untraceable import FAKE_CONSTANT


UNTRACED_DERIVATIVE = (
    "forward takes a derivative that cannot be traced: zero follows torch.autograd.grad, but for "
    "functions that keep for their backward what is no result of theirs, such as the mean of a "
    "layer_norm or the softmax of a cross_entropy, and no transforms of torch.func (grad, vjp, "
    "jacrev, jacfwd, hessian); write out what the derivative or such a function is"
)


class UnnamedResult(CannotImport):
    """A derivative that reads what a graph has no name for, unless it is given one."""


@dataclass
class Argument:
    """A tensor that a function was called with, without its values."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    trained: bool


@dataclass
class Call:
    """A call of a function, with an Argument for each tensor."""

    function: type[Function]
    arguments: list[Any]
    place: Place | None


@contextmanager
def own_gradients_checked() -> Iterator[None]:
    """Refuses functions that are called in here and whose backward is not the
    derivative of their forward."""
    calls: list[Call] = []
    forwards = {function: function.__dict__["forward"] for function in own_functions(Function)}
    for function, forward in forwards.items():
        function.forward = staticmethod(recorded(function, forward.__func__, calls))
    try:
        yield
    finally:
        for function, forward in forwards.items():
            function.forward = forward
    for call in calls:
        check(call)


@contextmanager
def derivatives_explained() -> Iterator[None]:
    """Refuses the transforms of torch.func that go backward, which tracing cannot follow and
    would not leave in order. Where a trace keeps no name of what another derivative reads, that is
    why."""
    grad, places = torch.autograd.grad, []

    def noticed(*arguments, **settings):
        *stack, caller, _ = traceback.extract_stack()
        places.append(place_of_frames([*stack, caller]))
        if "_functorch" in caller.filename:
            raise CannotImport(UNTRACED_DERIVATIVE, places[0])
        return grad(*arguments, **settings)

    torch.autograd.grad = noticed
    try:
        yield
    except CannotImport:
        raise
    except Exception as error:
        if places and FAKE_CONSTANT in str(error):
            raise UnnamedResult(UNTRACED_DERIVATIVE, places[0]) from error
        if is_of_transform(error):
            raise CannotImport(UNTRACED_DERIVATIVE, place_of_error(error)) from error
        raise
    finally:
        torch.autograd.grad = grad


def is_of_transform(error: Exception) -> bool:
    """Whether it comes of a transform of torch.func that forward calls. Tracing itself has some,
    which call forward."""
    frames = traceback.extract_tb(error.__traceback__)
    calls = [n for n, f in enumerate(frames) if f.filename.startswith(PACKAGE)]
    calls = [n for n in calls if frames[n].name == "forward"]
    return any("_functorch" in frame.filename for frame in frames[calls[0] :]) if calls else False


def own_functions(base: type) -> Iterator[type[Function]]:
    """The subclasses with a forward that are not PyTorch's own."""
    for function in base.__subclasses__():
        own = isinstance(function.__dict__.get("forward"), staticmethod)
        if own and not function.__module__.startswith("torch."):
            yield function
        yield from own_functions(function)


def recorded(function: type[Function], forward: Callable, calls: list[Call]) -> Callable:
    def record(*words, **settings):
        # A function with a setup_context has no context here.
        arguments = words if has_setup(function) else words[1:]
        if any(isinstance(word, torch.Tensor) and word.requires_grad for word in arguments):
            place = place_of_frames(traceback.extract_stack()[:-1])
            calls.append(Call(function, [described(word) for word in arguments], place))
        return forward(*words, **settings)

    return record


def has_setup(function: type[Function]) -> bool:
    return function.setup_context is not Function.setup_context


def described(word: Any) -> Any:
    if not isinstance(word, torch.Tensor):
        return word
    return Argument(tuple(word.shape), word.dtype, word.requires_grad)


def check(call: Call) -> None:
    name = call.function.__qualname__
    try:
        same = is_derivative(call)
    except Exception as error:
        raise CannotImport(
            f"{name} is a torch.autograd.Function, whose backward cannot be compared with the "
            f"derivative of its forward ({type(error).__name__}: {error}): write it without one",
            call.place,
        ) from error
    if not same:
        raise CannotImport(
            f"{name} is a torch.autograd.Function, whose backward is not the derivative of its "
            "forward, which zero takes: write it as tensors, such as x + (f(x) - x).detach() "
            "for a rounding that gradients pass",
            call.place,
        )


class Context:
    """What a forward is called with that autograd differentiates."""

    def save_for_backward(self, *tensors: torch.Tensor) -> None: ...

    def mark_dirty(self, *tensors: torch.Tensor) -> None: ...

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None: ...

    def set_materialize_grads(self, value: bool) -> None: ...


def is_derivative(call: Call) -> bool:
    """Compares both gradients in float64, at random arguments of any sign, at small ones
    above 0 and at large ones, with small and large gradients of the results, wherever the
    derivative is finite."""
    generator = torch.Generator().manual_seed(0)
    start = [] if has_setup(call.function) else [Context()]
    compared = 0
    for draw, scale in DRAWS:
        words = [argument_of(word, draw, generator) for word in call.arguments]
        found = gradients(lambda *w: call.function.apply(*w), words, scale)
        wanted = gradients(lambda *w: call.function.forward(*start, *w), words, scale)
        for a, b in zip(found, wanted):
            finite = b.isfinite()
            compared += int(finite.sum())
            if not torch.allclose(a[finite], b[finite], rtol=1e-4, atol=1e-6):
                return False
    return compared > 0


def small(shape, **how) -> torch.Tensor:
    return 0.1 * torch.rand(shape, **how)


def large(shape, **how) -> torch.Tensor:
    return 30 * torch.randn(shape, **how)


def far(shape, **how) -> torch.Tensor:
    return 15 + 85 * torch.rand(shape, **how)


# How arguments are drawn, and how large the gradients of the results are.
DRAWS = ((torch.randn, 1.0), (small, 1.0), (large, 1.0), (far, 1.0), (torch.randn, -1e4))


def argument_of(word: Any, draw: Callable, generator: torch.Generator) -> Any:
    if not isinstance(word, Argument):
        return word
    if word.dtype == torch.bool and draw is not small:
        return torch.rand(word.shape, generator=generator) < 0.5
    if not word.dtype.is_floating_point:
        return torch.ones(word.shape, dtype=word.dtype)
    value = draw(word.shape, dtype=torch.float64, generator=generator)
    return value.requires_grad_(word.trained)


def gradients(function: Callable, words: list[Any], scale: float) -> list[torch.Tensor]:
    """Of the sum of what `function` gives, with weights, for its tensors of floats."""
    leaves = [word for word in words if isinstance(word, torch.Tensor) and word.requires_grad]
    # Functions may change their arguments, which no leaf allows.
    results = function(*(w * 1 if isinstance(w, torch.Tensor) else w for w in words))
    results = results if isinstance(results, (tuple, list)) else [results]
    total = sum((leaf.sum() * 0 for leaf in leaves), torch.zeros(()))
    for result in results:
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            weights = scale * torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape)
            total = total + (result * weights).sum()
    return list(torch.autograd.grad(total, leaves))
