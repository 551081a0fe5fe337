"""Layer norm, RMS norm and their relatives."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value
from zero.importer.text import decimal


def layer_norm_of(b: Builder, x: Value, w: Value | None, bias: Value | None, eps: float) -> Value:
    """Over the last dimension."""
    size = x.shape[-1:]
    w = b.fill(size, 1, x.dtype) if w is None else w
    bias = b.fill(size, 0, x.dtype) if bias is None else bias
    rows = (x.shape[:-1], torch.float32)
    form = f"{{}}, {{}}, {{}} eps {decimal(eps)}"
    return b.add("nn.layer_norm", [x, w, bias], [(x.shape, x.dtype), rows, rows], form)[0]


def rms_norm_of(b: Builder, x: Value, w: Value | None, eps: float) -> Value:
    """Over the last dimension."""
    w = b.fill(x.shape[-1:], 1, x.dtype) if w is None else w
    rows = (x.shape[:-1], torch.float32)
    form = f"{{}}, {{}} eps {decimal(eps)}"
    return b.add("nn.rms_norm", [x, w], [(x.shape, x.dtype), rows], form)[0]


def flattened(b: Builder, x: Value, shape, parameters: list[Value | None]):
    """`x` and its parameters with the normalised dimensions as one."""
    count = math.prod(shape)
    x = b.reshape(x, x.shape[: x.rank - len(shape)] + (count,))
    return x, [None if p is None else b.reshape(p, (count,)) for p in parameters]


@converts("aten.layer_norm.default", to="nn.layer_norm")
def layer_norm(
    b: Builder, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True
):
    x, (w, shift) = flattened(b, input, normalized_shape, [weight, bias])
    return b.reshape(layer_norm_of(b, x, w, shift, eps), input.shape)


@converts("aten.rms_norm.default", to="nn.rms_norm")
def rms_norm(b: Builder, input, normalized_shape, weight=None, eps=None):
    x, (w,) = flattened(b, input, normalized_shape, [weight])
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    return b.reshape(rms_norm_of(b, x, w, eps), input.shape)


@converts("aten.group_norm.default", to="nn.layer_norm of each group, scale and shift")
def group_norm(b: Builder, input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    batch, channels = input.shape[:2]
    x = b.reshape(input, (batch, num_groups, input.size // batch // num_groups))
    x = b.reshape(layer_norm_of(b, x, None, None, eps), input.shape)
    view = (channels,) + (1,) * (input.rank - 2)
    if weight is not None:
        x = b.times(x, b.reshape(weight, view))
    return x if bias is None else b.plus(x, b.reshape(bias, view))


@converts("aten.instance_norm.default", to="nn.layer_norm of each channel, scale and shift")
def instance_norm(
    b: Builder,
    input,
    weight,
    bias,
    running_mean,
    running_var,
    use_input_stats,
    momentum,
    eps,
    cudnn_enabled=True,
):
    if not use_input_stats or running_mean is not None:
        raise CannotImport("instance norm with running statistics: use one without them")
    return group_norm(b, input, input.shape[1], weight, bias, eps)


def batch_norm_of(
    b: Builder, x: Value, w: Value | None, shift: Value | None, eps: float
) -> list[Value]:
    """By the statistics of the micro-batch; the result, mean and biased variance."""
    channels = x.shape[1:2]
    w = b.fill(channels, 1, x.dtype) if w is None else w
    shift = b.fill(channels, 0, x.dtype) if shift is None else shift
    results = [(x.shape, x.dtype), (channels, torch.float32), (channels, torch.float32)]
    form = f"{{}}, {{}}, {{}} eps {decimal(eps)}"
    return b.add("nn.batch_norm", [x, w, shift], results, form)


def normalized(
    b: Builder,
    x: Value,
    w: Value | None,
    shift: Value | None,
    mean: Value,
    variance: Value,
    eps: float,
) -> Value:
    """By given statistics: all that is of a channel is computed first."""
    if variance.constant is not None:
        scale = b.constant(torch.rsqrt(variance.constant + eps))
    else:
        scale = b.unary("math.rsqrt", b.plus(variance, eps))
    scale = scale if w is None else b.times(w, scale)
    offset = b.negative(b.times(mean, scale))
    offset = offset if shift is None else b.plus(shift, offset)
    view = (x.shape[1],) + (1,) * (x.rank - 2)
    return b.plus(b.times(x, b.reshape(scale, view)), b.reshape(offset, view))


@converts("aten._native_batch_norm_legit.no_stats", to="nn.batch_norm")
def batch_norm(b: Builder, input, weight, bias, training, momentum, eps):
    return [batch_norm_of(b, input, weight, bias, eps)[0]]


@converts(
    "aten._native_batch_norm_legit_functional.default",
    to="nn.batch_norm, zero.track; evaluation: arithmetic with the running statistics",
)
def batch_norm_functional(
    b: Builder, input, weight, bias, running_mean, running_var, training, momentum, eps
):
    """Training tracks both statistics, the variance without bias, where they have a
    momentum. PyTorch refuses a single value of a channel. Another call of the layer takes
    the statistics from this one."""
    y, mean, variance = batch_norm_of(b, input, weight, bias, eps)
    count = input.size // input.shape[1]
    if running_mean.constant is None:
        b.track(running_mean, mean)
        b.track(running_var, b.times(variance, count / (count - 1)))
    known = normalized(b, input, weight, bias, running_mean, running_var, eps)
    return [b.select_mode(y, known), None, None, running_mean, running_var]


@converts(
    "aten._native_batch_norm_legit_no_training.default",
    to="arithmetic with the running statistics",
)
def batch_norm_no_training(
    b: Builder, input, weight, bias, running_mean, running_var, momentum, eps
):
    """In eval mode: the statistics of an earlier run."""
    return [normalized(b, input, weight, bias, running_mean, running_var, eps)]


@converts("aten._weight_norm.default", to="v * g / norm(v)")
def weight_norm(b: Builder, v, g, dim=0):
    dims = [d for d in range(v.rank) if dim == -1 or d != dim % v.rank]
    squares = b.reduce("sum", b.times(v, v), dims, keep=True)
    return b.times(v, b.over(b.reshape(g, squares.shape), b.unary("math.sqrt", squares)))
