"""Checks of values in forward, which are left out, and what only looks like one."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F
from test_refusals import Module, refusal

import zero


def asserted(w, x):
    assert x.max() <= 8 and (x > 0).all(), f"bad {x}"
    return (w * x).square().mean()


def asserted_numbers(w, x):
    assert (
        x.max().item() <= 8 or x.min().item() > 0 or x.sum().item() > 100 or x.mean().item() > 0.5
    ), "the numbers of an input are out of range"
    return (w * x).square().mean()


def asserted_not(w, x):
    assert not torch.isnan(x).any()
    return (w * x).square().mean()


def checked_by_pytorch(w, x):
    return F.gaussian_nll_loss(w * x, x, (w * w).exp())


def raised(w, x):
    loss = (w * x).square().mean()
    if torch.isnan(loss) or loss > 1e6:
        print("the loss", loss)
        raise ValueError("the loss is none")
    return loss


def raised_unless(w, x):
    if not torch.isfinite(x).all():
        raise ValueError("an input is none")
    return (w * x).square().mean()


def distributed(w, x):
    wanted = torch.distributions.Normal(torch.zeros_like(x), torch.ones_like(x))
    found = torch.distributions.Normal(w * x, (w * x).exp())
    return torch.distributions.kl_divergence(found, wanted).mean()


def distributed_by_numbers(w, x):
    """Numbers are tensors there, which are broadcast beside the others."""
    kinds = torch.distributions
    found = [kinds.Normal(w * x, 1.0), kinds.LogNormal(0.5, (w * x).exp()), kinds.Gamma(2.0, x)]
    return torch.stack([kind.log_prob(x) for kind in found]).mean() + w.mean()


def asserted_without_gradients(w, x):
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        assert x.max() <= 8
    return (w * x).square().mean()


@pytest.mark.parametrize(
    "function",
    [
        asserted,
        asserted_without_gradients,
        asserted_numbers,
        asserted_not,
        checked_by_pytorch,
        raised,
        raised_unless,
        distributed,
        distributed_by_numbers,
    ],
)
def test_checks_are_left_out(function):
    with zero.compile(Module(function), {"x": torch.rand(4, 4) + 0.1}, check=True) as step:
        assert "2 updates are PyTorch's" in step.check


def test_a_check_that_fails_in_pytorch_is_told():
    with pytest.raises(zero.CannotImport, match="PyTorch cannot train a copy of it: .*bad"):
        zero.compile(Module(asserted), {"x": torch.full((4, 4), 9.0)}, check=True)


def branched(w, x):
    if x.max() > 4:
        w = w * 2
    return (w * x).mean()


def caught(w, x):
    try:
        if x.max() > 4:
            raise ValueError
    except ValueError:
        w = w * 2
    return (w * x).mean()


def chosen(w, x):
    if x.max() > 4:
        raise ValueError
    else:
        w = w * 2
    return (w * x).mean()


def mixed(w, x):
    assert x.max() > 4 or not (x > 0).all()
    return (w * x).mean()


def compared(w, x):
    assert bool(x.max() > 4) != bool(x.min() > 0)
    return (w * x).mean()


def kept(w, x):
    assert (large := bool(x.max() > 4)) or x.shape[0] == 4
    return (w * x).mean() if large else w.mean()


def check(x):
    if x.max() > 4:
        raise ValueError


def caught_outside(w, x):
    try:
        check(x)
    except ValueError:
        w = w * 2
    return (w * x).mean()


def suppressed(w, x):
    y = w * 2
    with contextlib.suppress(ValueError):
        check(x)
        y = w
    return (y * x).mean()


def caught_by_another_name(w, x):
    try:
        if x.sum() > 0:
            w = w * 2
    except RuntimeError:
        pass
    return (w * x).mean()


def caught_number(w, x):
    factor = 1.0
    with contextlib.suppress(Exception):
        factor = max(factor, x.sum().item())
    return (w * x).mean() * factor


def caught_of_all(w, x):
    try:
        return (w[x > 0]).mean() if x.sum() > 0 else w.mean()
    except:  # noqa: E722
        return (w * x).mean()


quiet = contextlib.suppress(RuntimeError)


def caught_by_a_name(w, x):
    with quiet:
        if x.sum() > 0:
            w = w * 2
    return (w * x).mean()


def caught_at_the_end(w, x):
    try:
        if x.sum() > 0:
            w = w * 2
    finally:
        return (w * x).mean()  # noqa: B012


class Ignoring:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True


def caught_by_a_class(w, x):
    with Ignoring():
        if x.sum() > 0:
            w = w * 2
    return (w * x).mean()


def checked_by_a_name(w, x):
    with quiet:
        check(x)
        w = w * 2
    return (w * x).mean()


def checked_by_a_class(w, x):
    with Ignoring():
        assert x.max() <= 8
        w = w * 2
    return (w * x).mean()


def checked_before_the_end(w, x):
    try:
        assert x.max() <= 8
        w = w * 2
    finally:
        return (w * x).mean()  # noqa: B012


def between(w, x):
    w = w * 2 if x.max() > 4 else w
    assert w.dim() == 2
    return (w * x).mean()


@pytest.mark.parametrize(
    "function",
    [
        branched,
        caught,
        chosen,
        mixed,
        compared,
        kept,
        caught_outside,
        suppressed,
        caught_by_another_name,
        caught_number,
        caught_of_all,
        caught_by_a_name,
        caught_at_the_end,
        caught_by_a_class,
        checked_by_a_name,
        checked_by_a_class,
        checked_before_the_end,
        between,
    ],
)
def test_branches_are_refused(function):
    assert "depends on the values of a tensor" in refusal(Module(function))


def test_a_generator_is_named():
    generator = torch.Generator()
    words = refusal(Module(lambda w, x: (w * torch.rand(4, generator=generator)).mean()))
    assert "draws from a torch.Generator, and a step draws from the run's seed" in words
