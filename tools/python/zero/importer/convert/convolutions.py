"""Convolutions, and windows as columns."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.convert.shapes import padded
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def per_dim(value, count: int) -> list[int]:
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def batched(b: Builder, x: Value, spatial: int) -> Value:
    """`x` with a batch, of one where it has none."""
    return x if x.rank == spatial + 2 else b.reshape(x, (1, *x.shape))


def finished(b: Builder, y: Value, bias: Value | None, spatial: int, rank: int) -> Value:
    """`y` plus a bias of its channels, of the operand's rank."""
    if bias is not None:
        y = b.plus(y, b.reshape(bias, (bias.size,) + (1,) * spatial))
    return y if rank == spatial + 2 else b.reshape(y, y.shape[1:])


def windows_form(lists: dict[str, list[int]], groups: int) -> str:
    words = [f"{name} {values}" for name, values in lists.items()]
    return "{}, {} " + " ".join(words) + f" groups {groups}"


@converts(
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    to="nn.conv; nn.linear of patches, where windows tile the image",
)
def conv(b: Builder, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    spatial = weight.rank - 2
    steps, margin, gaps = (per_dim(v, spatial) for v in (stride, padding, dilation))
    x = batched(b, input, spatial)
    kernel = weight.shape[2:]
    tiles = spatial == 2 and tuple(steps) == tuple(kernel) and math.prod(kernel) > 1
    if tiles and groups == 1 and not any(margin) and gaps == [1, 1]:
        y = patches(b, x, weight, bias)
        return y if input.rank == 4 else b.reshape(y, y.shape[1:])
    sizes = [
        (size + 2 * m - gap * (k - 1) - 1) // step + 1
        for size, m, gap, k, step in zip(x.shape[2:], margin, gaps, kernel, steps)
    ]
    form = windows_form({"strides": steps, "padding": margin, "dilations": gaps}, groups)
    shape = (x.shape[0], weight.shape[0], *sizes)
    y = b.add("nn.conv", [x, weight], [(shape, x.dtype)], form)[0]
    return finished(b, y, bias, spatial, input.rank)


@converts(
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv3d.padding",
    to="nn.conv; nn.linear of patches, where windows tile the image",
)
def conv_padding(
    b: Builder, input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1
):
    spatial = weight.rank - 2
    margin = [0] * spatial
    if padding == "same":
        # What does not divide evenly is padded at the end.
        total = [gap * (k - 1) for gap, k in zip(per_dim(dilation, spatial), weight.shape[2:])]
        margin = [amount // 2 for amount in total]
        lead = [0] * (input.rank - spatial)
        odd = lead + [amount % 2 for amount in total]
        input = padded(b, input, [0] * input.rank, odd, 0)
    return conv(b, input, weight, bias, stride, margin, dilation, groups)


@converts(
    "aten.conv_transpose1d.default",
    "aten.conv_transpose2d.input",
    "aten.conv_transpose3d.input",
    to="nn.conv_transpose",
)
def conv_transpose(
    b: Builder,
    input,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    spatial = weight.rank - 2
    steps, margin, gaps, more = (
        per_dim(v, spatial) for v in (stride, padding, dilation, output_padding)
    )
    if any(extra >= step for extra, step in zip(more, steps)):
        raise CannotImport(
            f"a transposed convolution with output padding {more} and stride {steps}: wanted "
            "output padding below the stride"
        )
    x = batched(b, input, spatial)
    sizes = [
        (size - 1) * step - 2 * m + gap * (k - 1) + extra + 1
        for size, step, m, gap, k, extra in zip(
            x.shape[2:], steps, margin, gaps, weight.shape[2:], more
        )
    ]
    form = windows_form({"strides": steps, "padding": margin, "dilations": gaps}, groups)
    shape = (x.shape[0], weight.shape[1] * groups, *sizes)
    y = b.add("nn.conv_transpose", [x, weight], [(shape, x.dtype)], form)[0]
    return finished(b, y, bias, spatial, input.rank)


def patches(b: Builder, x: Value, weight: Value, bias: Value | None) -> Value:
    """Windows that tile what they fit in are rows of a matrix."""
    batch, channels = x.shape[:2]
    features, _, *kernel = weight.shape
    counts = [size // k for size, k in zip(x.shape[2:], kernel)]
    sizes = (batch, channels, *(n * k for n, k in zip(counts, kernel)))
    x = b.slice(x, [0] * 4, sizes)
    (h, w), (p, q) = counts, kernel
    x = b.reshape(x, (batch, channels, h, p, w, q))
    x = b.transpose(x, [0, 2, 4, 1, 3, 5])
    x = b.reshape(x, (batch, h, w, channels * p * q))
    x = b.linear(x, b.reshape(weight, (features, channels * p * q)), bias, transposed=True)
    return b.transpose(x, [0, 3, 1, 2])


@converts("aten.im2col.default", to="slices and tensor.concat")
def im2col(b: Builder, self, kernel_size, dilation, padding, stride):
    """[B, C, H, W] to [B, C kh kw, L]: the windows as columns."""
    if self.rank == 3:
        one = b.reshape(self, (1, *self.shape))
        columns = im2col(b, one, kernel_size, dilation, padding, stride)
        return b.reshape(columns, columns.shape[1:])
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


@converts("aten.col2im.default", to="nn.scatter_add")
def col2im(b: Builder, self, output_size, kernel_size, dilation, padding, stride):
    """[B, C kh kw, L] to [B, C, H, W]: each pixel is the sum of what is on it."""
    if self.rank == 2:
        one = b.reshape(self, (1, *self.shape))
        image = col2im(b, one, output_size, kernel_size, dilation, padding, stride)
        return b.reshape(image, image.shape[1:])
    batch, taps, windows = self.shape
    height, width = (size + 2 * m for size, m in zip(output_size, padding))
    pixels = torch.arange(height * width, dtype=torch.float32).reshape(1, 1, height, width)
    places = torch.nn.functional.unfold(pixels, kernel_size, dilation, 0, stride).long()
    channels = taps // math.prod(kernel_size)
    x = b.reshape(self, (batch * channels, places.numel()))
    ids = b.constant(places.reshape(1, -1).expand(batch * channels, -1))
    zeros = b.fill((batch * channels, height * width), 0, self.dtype)
    y = b.reshape(b.scatter_add(x, ids, zeros, 1), (batch, channels, height, width))
    return b.slice(y, [0, 0, *padding], [batch, channels, *output_size])
