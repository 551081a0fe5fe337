"""Convolutions that are matrix products of slices."""

from __future__ import annotations

import math

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.convert.shapes import padded
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def per_dim(value, count: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


@converts("aten.conv2d.default", to="nn.linear of patches, where patches tile the image")
def conv2d(b: Builder, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    kernel, steps = weight.shape[2:], per_dim(stride, 2)
    if groups != 1 or any(per_dim(padding, 2)) or tuple(steps) != tuple(kernel):
        if tuple(kernel) != (1, 1) or groups != 1 or any(per_dim(padding, 2)):
            raise CannotImport(
                f"a convolution with kernels of {list(kernel)}, stride {steps}, padding "
                f"{per_dim(padding, 2)} and {groups} groups: wanted patches that tile the "
                "image, or kernels of one element"
            )
    if math.prod(kernel) > 1 and per_dim(dilation, 2) != [1, 1]:
        raise CannotImport("a convolution of patches with dilation")
    return patches(b, input, weight, bias, steps)


def patches(b: Builder, x: Value, weight: Value, bias: Value | None, steps: list[int]) -> Value:
    """Kernels of one element may skip some; others tile what they fit in."""
    batch, channels = x.shape[:2]
    features, _, *kernel = weight.shape
    if math.prod(kernel) == 1:
        counts = [-(-size // step) for size, step in zip(x.shape[2:], steps)]
        x = b.slice(x, [0] * 4, (batch, channels, *counts), [1, 1, *steps])
    else:
        counts = [size // k for size, k in zip(x.shape[2:], kernel)]
        sizes = (batch, channels, *(n * k for n, k in zip(counts, kernel)))
        x = b.slice(x, [0] * 4, sizes)
    (h, w), (p, q) = counts, kernel
    x = b.reshape(x, (batch, channels, h, p, w, q))
    x = b.transpose(x, [0, 2, 4, 1, 3, 5])
    x = b.reshape(x, (batch, h, w, channels * p * q))
    x = b.linear(x, b.reshape(weight, (features, channels * p * q)), bias, transposed=True)
    return b.transpose(x, [0, 3, 1, 2])


@converts("aten.conv1d.default", to="nn.linear of slices, or shifted products (depthwise)")
def conv1d(b: Builder, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    (step,), (amount,), (gap,) = (per_dim(v, 1) for v in (stride, padding, dilation))
    x = input if input.rank == 3 else b.reshape(input, (1, *input.shape))
    x = padded(b, x, [0, 0, amount], [0, 0, amount], 0)
    features, _, taps = weight.shape
    channels = x.shape[1]
    length = (x.shape[2] - gap * (taps - 1) - 1) // step + 1
    slices = [b.narrow(x, 2, tap * gap, length, step) for tap in range(taps)]
    if groups == channels == features:
        y = depthwise(b, slices, weight, bias)
    else:
        parts = [
            columns_product(b, [group(b, part, groups, g) for part in slices], matrix)
            for g, matrix in enumerate(b.split(weight, 0, [features // groups] * groups))
        ]
        y = b.concat(parts, 1)
        y = y if bias is None else b.plus(y, b.reshape(bias, (features, 1)))
    return y if input.rank == 3 else b.reshape(y, y.shape[1:])


def group(b: Builder, x: Value, groups: int, index: int) -> Value:
    """The channels of a group."""
    size = x.shape[1] // groups
    return b.narrow(x, 1, index * size, size)


def columns_product(b: Builder, slices: list[Value], weight: Value) -> Value:
    """[B, C, L] for each tap and [features, C, taps] to [B, features, L]."""
    batch, channels, length = slices[0].shape
    features, _, taps = weight.shape
    shape = (batch, length, channels, 1)
    columns = b.concat([b.reshape(b.swap(part, 1, 2), shape) for part in slices], 3)
    columns = b.reshape(columns, shape[:2] + (channels * taps,))
    y = b.linear(columns, b.reshape(weight, (features, channels * taps)), None, True)
    return b.swap(y, 1, 2)


def depthwise(b: Builder, slices: list[Value], weight: Value, bias: Value | None) -> Value:
    total = None
    for tap, part in enumerate(slices):
        factor = b.reshape(b.narrow(weight, 2, tap, 1), (weight.shape[0], 1))
        term = b.times(part, factor)
        total = term if total is None else b.plus(total, term)
    return total if bias is None else b.plus(total, b.reshape(bias, (bias.size, 1)))


@converts("aten.im2col.default", to="slices and tensor.concat")
def im2col(b: Builder, self, kernel_size, dilation, padding, stride):
    """[B, C, H, W] to [B, C kh kw, L]: the windows as columns."""
    (kh, kw), gaps, (top, left), steps = kernel_size, dilation, padding, stride
    x = padded(b, self, [0, 0, top, left], [0, 0, top, left], 0)
    batch, channels = x.shape[:2]
    rows, columns = (
        (size - gap * (taps - 1) - 1) // step + 1
        for size, gap, taps, step in zip(x.shape[2:], gaps, kernel_size, steps)
    )
    shape = (batch, channels, 1, rows * columns)
    parts = []
    for i in range(kh):
        for j in range(kw):
            part = b.narrow(x, 2, i * gaps[0], rows, steps[0])
            parts.append(b.reshape(b.narrow(part, 3, j * gaps[1], columns, steps[1]), shape))
    return b.reshape(b.concat(parts, 2), (batch, channels * kh * kw, rows * columns))
