"""Layers of experts: `transformers` has one function for those of all models, which is
traced as rows that go to experts and come back, not as arithmetic on positions."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zero.importer.errors import CannotImport
from zero.importer.stops import library

library.define("dispatch(Tensor rows, Tensor ids, int experts) -> (Tensor, Tensor, Tensor)")
library.define(
    "capacity_dispatch(Tensor rows, Tensor ids, int experts, int capacity, Tensor? order)"
    " -> (Tensor, Tensor, Tensor)"
)
library.define("combine(Tensor rows, Tensor places, Tensor weights) -> Tensor")


def dispatch(rows: Tensor, ids: Tensor, experts: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in the order of their experts, the place of each choice, and where the rows
    of each expert end."""
    order = torch.sort(ids.reshape(-1), stable=True).indices
    places = torch.empty_like(order)
    places[order] = torch.arange(order.numel(), device=order.device)
    ends = torch.bincount(ids.reshape(-1), minlength=experts).cumsum(0)
    return rows[order // ids.shape[1]], places.reshape(ids.shape), ends.to(torch.int32)


def dispatch_shapes(rows: Tensor, ids: Tensor, experts: int) -> tuple[Tensor, Tensor, Tensor]:
    sorted_rows = rows.new_empty((ids.numel(), rows.shape[1]))
    return sorted_rows, torch.empty_like(ids), ids.new_empty((experts,), dtype=torch.int32)


def capacity_dispatch(
    rows: Tensor, ids: Tensor, experts: int, capacity: int, order: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in the places that each expert has, the place of each choice, -1 where there was
    none left, and how many have chosen each expert."""
    numbers = torch.arange(ids.numel(), device=ids.device)
    if order is None:
        order = numbers.reshape(ids.shape).t().reshape(-1)
    taking = ids.reshape(-1)[order]
    chosen = F.one_hot(taking, experts)
    before = (chosen.cumsum(0) - chosen).gather(1, taking.unsqueeze(1)).squeeze(1)
    places = torch.full_like(taking, -1)
    places[order] = torch.where(before < capacity, taking * capacity + before, -1)
    kept = places >= 0
    placed = rows.new_zeros((experts * capacity, rows.shape[1]))
    placed[places[kept]] = rows[numbers[kept] // ids.shape[1]]
    counts = chosen.sum(0).to(torch.int32)
    return placed.reshape(experts, capacity, -1), places.reshape(ids.shape), counts


def capacity_dispatch_shapes(
    rows: Tensor, ids: Tensor, experts: int, capacity: int, order: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    placed = rows.new_empty((experts, capacity, rows.shape[1]))
    return placed, torch.empty_like(ids), ids.new_empty((experts,), dtype=torch.int32)


def combine(rows: Tensor, places: Tensor, weights: Tensor) -> Tensor:
    """The sum of the rows at the places of each choice, times their weights; a place of -1
    is none."""
    kept = torch.where(places >= 0, weights, 0)
    return (rows[places.clamp(min=0)] * kept.unsqueeze(-1)).sum(1)


def combine_shapes(rows: Tensor, places: Tensor, weights: Tensor) -> Tensor:
    return rows.new_empty((places.shape[0], rows.shape[1]))


library.impl("dispatch", dispatch, "CompositeExplicitAutograd")
library.impl("dispatch", dispatch_shapes, "Meta")
library.impl("capacity_dispatch", capacity_dispatch, "CompositeExplicitAutograd")
library.impl("capacity_dispatch", capacity_dispatch_shapes, "Meta")
library.impl("combine", combine, "CompositeExplicitAutograd")
library.impl("combine", combine_shapes, "Meta")


def keep_places(ctx, inputs: tuple, output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])


def dispatch_gradients(ctx, gradient: Tensor, *_) -> tuple[Tensor | None, ...]:
    (places,) = ctx.saved_tensors
    ones = torch.ones(places.shape, dtype=gradient.dtype, device=gradient.device)
    return combine(gradient.flatten(0, 1), places, ones), None, None, None, None


def keep_rows(ctx, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def combine_gradients(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
    rows, places, weights = ctx.saved_tensors
    kept, at = places >= 0, places.clamp(min=0)
    copies = gradient.unsqueeze(1) * torch.where(kept, weights, 0).unsqueeze(-1)
    of_rows = torch.zeros_like(rows).index_add(0, at.reshape(-1), copies.flatten(0, 1))
    of_weights = torch.where(kept, (gradient.unsqueeze(1) * rows[at]).sum(-1), 0)
    return of_rows, None, of_weights


# Where a model calls them itself, PyTorch may train it as well.
torch.library.register_autograd(
    "zero_importer::capacity_dispatch",
    dispatch_gradients,
    setup_context=keep_places,
    lib=library,
)
torch.library.register_autograd(
    "zero_importer::combine", combine_gradients, setup_context=keep_rows, lib=library
)


def experts_forward(
    module: nn.Module, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor
) -> Tensor:
    """What `transformers` computes of a layer whose matrices are stacked by expert."""
    if module._is_expert_parallel:
        raise CannotImport(
            f"{type(module).__name__} is spread over ranks by transformers: import the model "
            "without `distributed_config`; zero cuts it over the ranks of a mesh"
        )
    ops = torch.ops.zero_importer
    rows, places, offsets = ops.dispatch(hidden_states, top_k_index, module.num_experts)

    def linear(x: Tensor, name: str) -> Tensor:
        weight = getattr(module, name)
        matrices = weight if module.is_transposed else weight.transpose(-2, -1)
        grouped = torch.ops.transformers.grouped_mm_fallback
        y = grouped(x.to(weight.dtype), matrices, offsets)
        if module.has_bias:
            bias = getattr(module, f"{name}_bias")
            y = y + grouped(bias.new_ones((x.shape[0], 1)), bias.unsqueeze(1), offsets)
        return y

    if module.has_gate:
        hidden = module._apply_gate(linear(rows, "gate_up_proj"))
    else:
        hidden = module.act_fn(linear(rows, "up_proj"))
    hidden = linear(hidden, "down_proj")
    if module.has_post_expert_norm:
        hidden = module.post_expert_norm(hidden)
    dtype = torch.promote_types(hidden.dtype, top_k_weights.dtype)
    combined = ops.combine(hidden.to(dtype), places, top_k_weights.to(dtype))
    return combined.to(hidden_states.dtype)


@contextmanager
def experts_sorted() -> Iterator[None]:
    """Within, layers of experts of `transformers` compute by `experts_forward`, whatever
    implementation their configuration names."""
    moe = sys.modules.get("transformers.integrations.moe")
    if moe is None:
        yield
        return
    before = moe.ExpertsInterface.get_interface
    moe.ExpertsInterface.get_interface = lambda self, name, default: experts_forward
    try:
        yield
    finally:
        moe.ExpertsInterface.get_interface = before
