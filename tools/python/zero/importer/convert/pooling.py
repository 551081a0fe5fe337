"""Average pooling where windows tile the image, and upsampling."""

from __future__ import annotations

import torch

from zero.importer.builder import Builder
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
    to="nn.reduce mean over a reshape, where sizes divide",
)
def adaptive_avg_pool(b: Builder, self, output_size):
    sizes = self.shape[-len(output_size) :]
    if any(size % count for size, count in zip(sizes, output_size)):
        raise CannotImport(
            f"adaptive average pooling of {list(sizes)} to {list(output_size)}: wanted "
            "sizes that divide"
        )
    return tiled_mean(b, self, list(output_size))


@converts("aten.avg_pool2d.default", to="nn.reduce mean over a reshape, where windows tile")
def avg_pool2d(b: Builder, self, kernel_size, stride=(), padding=0):
    kernel = list(kernel_size) * (2 if len(kernel_size) == 1 else 1)
    steps = list(stride) or kernel
    steps = steps * (2 if len(steps) == 1 else 1)
    padding = [padding] if isinstance(padding, int) else padding
    sizes = self.shape[-2:]
    if steps != kernel or any(padding) or any(s % k for s, k in zip(sizes, kernel)):
        raise CannotImport(
            f"average pooling with windows of {kernel}, stride {steps}: wanted windows that "
            "tile the image"
        )
    return tiled_mean(b, self, [size // k for size, k in zip(sizes, kernel)])


@converts("aten.upsample_bilinear2d.vec", to="nn.linear with constant interpolation matrices")
def upsample_bilinear2d(b: Builder, input, output_size, align_corners, scale_factors=None):
    height, width = input.shape[-2:]
    example = torch.nn.functional.interpolate
    # The interpolation of a dimension is linear: its matrix is that of the unit vectors.
    options = {"mode": "bilinear", "align_corners": align_corners}
    if scale_factors is not None:
        options["scale_factor"] = tuple(scale_factors)
    else:
        options["size"] = tuple(output_size)
    rows = example(
        torch.eye(height).reshape(height, 1, height, 1).expand(-1, -1, -1, width), **options
    )[:, 0, :, 0]
    columns = example(
        torch.eye(width).reshape(width, 1, 1, width).expand(-1, -1, height, -1), **options
    )[:, 0, 0, :]
    x = b.linear(input, b.constant(columns.contiguous()), None, transposed=False)
    x = b.swap(x, x.rank - 2, x.rank - 1)
    x = b.linear(x, b.constant(rows.contiguous()), None, transposed=False)
    return b.swap(x, x.rank - 2, x.rank - 1)
