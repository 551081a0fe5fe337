"""Images at other sizes, with other borders, and with their channels as pixels."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.convert.scatters import row_positions
from zero.importer.convert.shapes import pad as constant_pad
from zero.importer.ir import Value


def taken(b: Builder, x: Value, dim: int, places: torch.Tensor) -> Value:
    """The rows of `x` at constant places along `dim`."""
    return b.gather(x, row_positions(b, b.constant(places), x.shape, dim), dim)


def weights_of(x: Value, dim: int, **options) -> torch.Tensor:
    """[size, new size]: what an interpolation makes of the unit vectors along `dim`."""
    size, spatial = x.shape[dim], x.shape[2:]
    view = [size, 1] + [size if d == dim else 1 for d in range(2, x.rank)]
    units = torch.eye(size).reshape(view).expand(size, 1, *spatial)
    y = F.interpolate(units, **options)[:, 0].movedim(dim - 1, -1)
    return y.reshape(size, -1, y.shape[-1])[:, 0].contiguous()


def sizes_of(output_size, scale_factors) -> dict:
    if scale_factors is not None:
        return {"scale_factor": tuple(scale_factors)}
    return {"size": tuple(output_size)}


def _register_nearest(kind: str, mode: str) -> None:
    overloads = [f"aten.{kind}{d}d.vec" for d in (1, 2, 3)]

    @converts(*overloads, to="nn.broadcast where sizes divide; nn.gather")
    def nearest(b: Builder, input, output_size, scale_factors=None):
        y = input
        for dim in range(2, input.rank):
            options = {"mode": mode, **sizes_of(output_size, scale_factors)}
            places = weights_of(input, dim, **options).argmax(0)
            y = repeated(b, y, dim, places)
        return y


def repeated(b: Builder, x: Value, dim: int, places: torch.Tensor) -> Value:
    size, times = x.shape[dim], places.numel() // x.shape[dim]
    if not places.equal(torch.arange(size).repeat_interleave(times)):
        return taken(b, x, dim, places)
    lead, rest = x.shape[: dim + 1], x.shape[dim + 1 :]
    y = b.broadcast(b.reshape(x, (*lead, 1, *rest)), (*lead, times, *rest))
    return b.reshape(y, (*x.shape[:dim], size * times, *rest))


def _register_interpolation(operation: str, mode: str, **how) -> None:
    @converts(operation, to="nn.linear with constant interpolation matrices")
    def interpolated(b: Builder, input, output_size, align_corners, scale_factors=None):
        y, last = input, input.rank - 1
        for dim in range(2, input.rank):
            options = {"mode": mode, **sizes_of(output_size, scale_factors)}
            matrix = weights_of(input, dim, align_corners=align_corners, **how, **options)
            y = b.linear(b.swap(y, dim, last), b.constant(matrix), None, transposed=False)
            y = b.swap(y, dim, last)
        return y


_register_nearest("upsample_nearest", "nearest")
_register_nearest("_upsample_nearest_exact", "nearest-exact")
_register_interpolation("aten.upsample_linear1d.vec", "linear")
_register_interpolation("aten.upsample_bilinear2d.vec", "bilinear")
_register_interpolation("aten.upsample_bicubic2d.vec", "bicubic")
_register_interpolation("aten.upsample_trilinear3d.vec", "trilinear")
_register_interpolation("aten._upsample_bilinear2d_aa.vec", "bilinear", antialias=True)
_register_interpolation("aten._upsample_bicubic2d_aa.vec", "bicubic", antialias=True)


def bordered(b: Builder, x: Value, pad: list[int], mode: str) -> Value:
    """Borders of elements of `x`: reflected, replicated or circular."""
    y = x
    for index in range(len(pad) // 2):
        dim = x.rank - 1 - index
        low, high = pad[2 * index : 2 * index + 2]
        if low or high:
            line = torch.arange(x.shape[dim], dtype=torch.float32)[None, None]
            y = taken(b, y, dim, F.pad(line, (low, high), mode=mode).flatten().long())
    return y


@converts("aten.pad.default", to="tensor.concat; nn.gather for other borders than constants")
def pad_any(b: Builder, self, pad, mode="constant", value=None):
    if mode == "constant":
        return constant_pad(b, self, pad, value or 0)
    return bordered(b, self, pad, mode)


@converts("aten.pixel_shuffle.default", to="nn.transpose")
def pixel_shuffle(b: Builder, self, upscale_factor):
    r, (*lead, channels, height, width) = upscale_factor, self.shape
    n = len(lead)
    x = b.reshape(self, (*lead, channels // r**2, r, r, height, width))
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return b.reshape(b.transpose(x, order), (*lead, channels // r**2, height * r, width * r))


@converts("aten.pixel_unshuffle.default", to="nn.transpose")
def pixel_unshuffle(b: Builder, self, downscale_factor):
    r, (*lead, channels, height, width) = downscale_factor, self.shape
    n = len(lead)
    x = b.reshape(self, (*lead, channels, height // r, r, width // r, r))
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return b.reshape(b.transpose(x, order), (*lead, channels * r**2, height // r, width // r))
