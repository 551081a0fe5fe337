"""What recognisers put in the place of chains."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
from zero.importer.convert.activations import gelu_of, silu_of
from zero.importer.convert.attention import HEADS_LAST
from zero.importer.convert.normalization import rms_norm_of
from zero.importer.convert.random import bernoulli
from zero.importer.convert.registry import converts
from zero.importer.ir import same
from zero.importer.text import decimal


@converts("zero.rms_norm", to="nn.rms_norm")
def rms_norm(b: Builder, x, weight, eps):
    return rms_norm_of(b, x, weight, eps)


@converts("zero.gelu", to="nn.gelu")
def gelu(b: Builder, x, form):
    return gelu_of(b, x, form)


@converts("zero.silu", to="nn.silu")
def silu(b: Builder, x):
    return silu_of(b, x)


@converts("zero.silu_mul", to="nn.silu_mul")
def silu_mul(b: Builder, gate, up):
    if gate.dtype == torch.float64:
        return b.times(silu_of(b, gate), up)
    return b.add("nn.silu_mul", [gate, up], [(gate.shape, gate.dtype)], "", same)[0]


@converts("zero.rotary", to="nn.rotary")
def rotary(b: Builder, x, theta, interleaved, heads_first):
    """nn.rotary takes [B, T, H, D]; `x` is that, or [B, H, T, D]."""
    form = f"{{}} theta {decimal(theta)}" + (" interleaved" if interleaved else "")
    y = b.transpose(x, HEADS_LAST) if heads_first else x
    y = b.add("nn.rotary", [y], [(y.shape, y.dtype)], form, same)[0]
    return b.transpose(y, HEADS_LAST) if heads_first else y


@converts("zero.keep_some", to="nn.dropout of ones (stochastic depth)")
def keep_some(b: Builder, shape, keep):
    return bernoulli(b, b.fill(shape, 1, torch.float32), keep)


@converts("zero.strided", to="nn.gather")
def strided(b: Builder, x, places, shape):
    y = b.gather(b.reshape(x, (x.size,)), b.constant(torch.tensor(places)), 0)
    return b.reshape(y, shape)
