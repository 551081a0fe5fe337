"""Pooling."""

from __future__ import annotations

import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.convolutions import batched, per_dim
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def tiled_mean(b: Builder, x: Value, counts: list[int]) -> Value:
    """Means over a grid of `counts` equal tiles of the last dimensions."""
    lead, sizes = x.shape[: -len(counts)], x.shape[-len(counts) :]
    shape, dims = list(lead), []
    for size, tiles in zip(sizes, counts):
        shape += [tiles, size // tiles]
        dims.append(len(shape) - 1)
    return b.reduce("mean", b.reshape(x, shape), dims)


@converts(
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    to="nn.reduce mean over a reshape; where sizes do not divide, nn.linear with constant means",
)
def adaptive_avg_pool(b: Builder, self, output_size):
    counts, sizes = list(output_size), self.shape[-len(output_size) :]
    if not any(size % count for size, count in zip(sizes, counts)):
        return tiled_mean(b, self, counts)
    x = self
    for dim, count in zip(range(self.rank - len(counts), self.rank), counts):
        if x.shape[dim] != count:
            x = b.swap(x, dim, x.rank - 1)
            x = b.linear(x, b.constant(bins(x.shape[-1], count)), None, transposed=False)
            x = b.swap(x, dim, x.rank - 1)
    return x


def bins(size: int, count: int) -> torch.Tensor:
    """[size, count]: the means of PyTorch's bins, whose sizes may differ by one."""
    matrix = torch.zeros(size, count)
    for i, (begin, end) in enumerate(bin_ranges(size, count)):
        matrix[begin:end, i] = 1 / (end - begin)
    return matrix


def _register_adaptive_maximum(spatial: int) -> None:
    @converts(f"aten.adaptive_max_pool{spatial}d.default", to="nn.gather, nn.reduce max")
    def adaptive_max_pool(b: Builder, self, output_size):
        x = self
        # The last dimension first: of several maxima, gradients go to the first.
        for dim, count in zip(range(self.rank - 1, 0, -1), reversed(output_size)):
            x = maxima_of_bins(b, x, dim, count)
        return [x, None]


_register_adaptive_maximum(2)
_register_adaptive_maximum(3)


def maxima_of_bins(b: Builder, x: Value, dim: int, count: int) -> Value:
    """Maxima along `dim`; shorter bins repeat their last element."""
    ranges = bin_ranges(x.shape[dim], count)
    longest = max(end - begin for begin, end in ranges)
    places = [min(begin + i, end - 1) for begin, end in ranges for i in range(longest)]
    y = x
    if places != list(range(x.shape[dim])):
        ids = b.constant(torch.tensor(places).expand((*x.shape[:dim], len(places))))
        y = b.gather(x, ids, dim)
    y = b.reshape(y, (*x.shape[:dim], count, longest, *x.shape[dim + 1 :]))
    return b.reduce("max", y, [dim + 1])


def bin_ranges(size: int, count: int) -> list[tuple[int, int]]:
    """The first element of each of PyTorch's bins, and the one after the last."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def window_count(size: int, window: int, step: int, margin: int, gap: int, up: bool) -> int:
    """As PyTorch counts them: rounded up, the last window begins before the padding."""
    room = size + 2 * margin - gap * (window - 1) - 1
    count = (room + step - 1 if up else room) // step + 1
    return count - 1 if up and (count - 1) * step >= size + margin else count


def pooled(b: Builder, kind: str, x: Value, lists: dict[str, list[int]], up: bool, end: str = ""):
    """`lists` has window, strides, padding and, for a maximum, dilations."""
    spatial = len(lists["window"])
    images = batched(b, x, spatial)
    gaps = lists.get("dilations", [1] * spatial)
    if up:
        # A window that is larger than all there is ends with it.
        room = [size + 2 * m for size, m in zip(images.shape[2:], lists["padding"])]
        lists["window"] = [
            min(w, n) if g == 1 else w for w, n, g in zip(lists["window"], room, gaps)
        ]
    sizes = [
        window_count(size, *entries, up)
        for size, *entries in zip(
            images.shape[2:], lists["window"], lists["strides"], lists["padding"], gaps
        )
    ]
    form = "{} " + " ".join(f"{name} {values}" for name, values in lists.items()) + end
    shape = (*images.shape[:2], *sizes)
    y = b.add(kind, [images], [(shape, x.dtype)], form)[0]
    return y if x.rank == images.rank else b.reshape(y, shape[1:])


def windows_of(kernel_size, stride, padding, spatial: int) -> dict[str, list[int]]:
    window = per_dim(kernel_size, spatial)
    return {
        "window": window,
        "strides": per_dim(stride, spatial) or window,
        "padding": per_dim(padding, spatial),
    }


def max_pool(b: Builder, x: Value, spatial: int, kernel_size, stride, padding, dilation, up: bool):
    lists = windows_of(kernel_size, stride, padding, spatial)
    lists["dilations"] = per_dim(dilation, spatial)
    return pooled(b, "nn.max_pool", x, lists, up)


@converts("aten.max_pool1d.default", to="nn.max_pool")
def max_pool1d(b: Builder, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return max_pool(b, self, 1, kernel_size, stride, padding, dilation, ceil_mode)


@converts("aten.max_pool2d.default", to="nn.max_pool")
def max_pool2d(b: Builder, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return max_pool(b, self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@converts("aten.max_pool3d.default", to="nn.max_pool")
def max_pool3d(b: Builder, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return max_pool(b, self, 3, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool(
    b: Builder,
    x: Value,
    spatial: int,
    kernel,
    stride,
    padding,
    up: bool,
    count: bool,
    divisor: int | None = None,
):
    if divisor is not None:
        if up:
            raise CannotImport("an average of a divisor of its own with ceil_mode")
        y = avg_pool(b, x, spatial, kernel, stride, padding, up, True)
        return b.times(y, math.prod(per_dim(kernel, spatial)) / divisor)
    lists = windows_of(kernel, stride, padding, spatial)
    window, sizes = lists["window"], x.shape[-spatial:]
    tiles = lists["strides"] == window and not any(lists["padding"])
    if tiles and not any(size % w for size, w in zip(sizes, window)):
        return tiled_mean(b, x, [size // w for size, w in zip(sizes, window)])
    return pooled(b, "nn.avg_pool", x, lists, up, " count_padding" if count else "")


def _register_average(spatial: int) -> None:
    @converts(
        f"aten.avg_pool{spatial}d.default", to="nn.avg_pool, or nn.reduce mean where windows tile"
    )
    def function(
        b: Builder,
        self,
        kernel_size,
        stride=(),
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        settings = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return avg_pool(b, self, spatial, *settings)


for _spatial in (1, 2, 3):
    _register_average(_spatial)
