"""Operations that a graph is rid of before its conversion: what PyTorch itself says as a
composition of others."""

from __future__ import annotations

import functools
from typing import Callable

import torch

from zero.importer.compositions import OWN
from zero.importer.convert import CONVERTERS

# Recurrent networks, whose cells are what converters know.
RECURRENT = ("aten.lstm", "aten.gru", "aten.rnn")

# What PyTorch differentiates by a formula of its own, and of whose composition by PyTorch
# test_decompositions.py shows that it has the same gradient. Not every
# composition has: that of `nan_to_num` has another one at an infinity.
SAME_GRADIENT = (
    "addr affine_grid_generator aminmax "
    "block_diag channel_shuffle count_nonzero deg2rad diag_embed frac grid_sampler_2d heaviside "
    "index_fill isfinite isin isneginf isposinf linalg_cross logaddexp logaddexp2 "
    "logit multi_margin_loss mvlgamma nansum rad2deg renorm rot90 soft_margin_loss special_entr "
    "special_ndtr special_xlog1py take trace unsafe_split "
    "unsafe_split_with_sizes"
).split()


def table() -> dict[torch._ops.OpOverload, Callable]:
    """The decompositions by operation; all else stays whole."""
    return {
        operation: function
        for operation, function in known().items()
        if str(operation) not in CONVERTERS and is_decomposed(operation)
    }


@functools.cache
def known() -> dict[torch._ops.OpOverload, Callable]:
    """All that PyTorch has, those that export does not take by itself included."""
    further = torch._decomp.decomposition_table
    named = {operation: further[operation] for operation in further if is_named(operation)}
    return named | dict(torch.export.default_decompositions().items()) | OWN


def is_decomposed(operation: torch._ops.OpOverload) -> bool:
    return (
        operation in OWN
        or str(operation).startswith(RECURRENT)
        or is_named(operation)
        or is_unknown_composition(operation)
    )


def is_named(operation) -> bool:
    """Whether `SAME_GRADIENT` has it, or it is what a `torch.autograd.grad` in forward calls:
    the composition is the formula that PyTorch differentiates once more."""
    name = name_of(operation)
    return name in SAME_GRADIENT or name.endswith(("_backward", "_backward_data"))


def name_of(operation) -> str:
    return str(operation).removeprefix("aten.").partition(".")[0]


def is_unknown_composition(operation: torch._ops.OpOverload) -> bool:
    """What PyTorch differentiates as a composition itself."""
    key = "CompositeImplicitAutograd"
    return (
        torch._C._dispatch_has_kernel_for_dispatch_key(operation.name(), key)
        and operation is not torch.ops.aten.item.default  # a number, which has no graph
    )
