"""Compositions that PyTorch does not have, with the gradients of its own formulas."""

from __future__ import annotations

import itertools
import math

import torch

from zero.importer.convert.convolutions import per_dim
from zero.importer.convert.pooling import window_count, windows_of
from zero.importer.stops import STOP


def cdist_forward(x1, x2, p, compute_mode=None):
    return torch.linalg.vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def pdist_forward(self, p=2.0):
    first, second = torch.triu_indices(self.shape[0], self.shape[0], 1)
    return torch.linalg.vector_norm(self[first] - self[second], p, -1)


def ldexp(self, other):
    """In two steps, as the power alone may be infinite or 0."""
    half = other // 2
    return self * torch.pow(2.0, half) * torch.pow(2.0, other - half)


def special_log_ndtr(self):
    """The logarithm of a tail, and far below an asymptotic series of it."""
    is_far, is_low = self < -10.0, self < -1.0
    upper = torch.log1p(torch.erfc(torch.where(is_low, -1.0, self) / math.sqrt(2)) / -2)
    near = torch.where(is_low & ~is_far, self, -1.0)
    lower = torch.log(torch.erfc(near / -math.sqrt(2)) / 2)
    far = torch.where(is_far, self, -10.0)
    square = 1 / (far * far)
    series = torch.log1p(-square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square))))
    tail = series - far * far / 2 - torch.log(-far) - math.log(2 * math.pi) / 2
    return torch.where(is_far, tail, torch.where(is_low, lower, upper))


def fmax(self, other):
    return halved(self, other, torch.where((self >= other) | other.isnan(), self, other))


def fmin(self, other):
    return halved(self, other, torch.where((self <= other) | other.isnan(), self, other))


def halved(x, y, result):
    """At a tie each has half of the gradient."""
    if not result.is_floating_point():
        return result
    return torch.where((x == y) & x.isfinite(), x + (y - x) * 0.5, result)


def round_to(self, decimals=0):
    if not self.is_floating_point():
        return NotImplemented
    tens = 10.0 ** abs(decimals)
    return (self * tens).round() / tens if decimals >= 0 else (self / tens).round() * tens


def polar(abs, angle):
    """Of a length below 0 PyTorch has the gradient of that above."""
    abs = abs.abs() + STOP(abs - abs.abs())
    return torch.view_as_complex(torch.stack([abs * angle.cos(), abs * angle.sin()], -1))


def rrelu_with_noise(self, noise, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    if not training:
        return torch.nn.functional.leaky_relu(self, (lower + upper) / 2), noise
    slopes = torch.rand_like(self) * (upper - lower) + lower
    noise = torch.where(self <= 0, slopes, 1.0)
    return self * noise, noise


def uniform(self, *ends, **named):
    """Its lower end has the name `from`, a word of Python."""
    given = {"from": 0.0, "to": 1.0} | dict(zip(("from", "to"), ends)) | named
    return torch.rand_like(self) * (given["to"] - given["from"]) + given["from"]


def normal(mean, std=1.0, generator=None):
    mean, std = (STOP(x) if isinstance(x, torch.Tensor) else x for x in (mean, std))
    like = mean if isinstance(mean, torch.Tensor) else std
    if isinstance(std, torch.Tensor):
        like = like.expand(torch.broadcast_shapes(like.shape, std.shape))
    return mean + std * torch.randn_like(like)


def randperm(n, dtype=torch.int64, layout=None, device=None, pin_memory=None):
    return torch.rand(n, device=device).argsort(stable=True).to(dtype)


def multinomial(self, num_samples, replacement=False, generator=None):
    """Without replacement, those that come first of arrivals at these rates, as PyTorch."""
    if not replacement or num_samples == 1:
        return (self / -torch.rand_like(self).log()).topk(num_samples)[1]
    upto = self.cumsum(-1)
    drawn = torch.rand(*self.shape[:-1], num_samples, device=self.device) * upto[..., -1:]
    before = upto.unsqueeze(-2) <= drawn.unsqueeze(-1)
    return before.sum(-1).clamp(max=self.shape[-1] - 1)


# Writes to a diagonal


def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    """Where the diagonal is `src` is taken, spread over a matrix."""
    matrices = self.movedim((dim1, dim2), (-2, -1))
    rows, columns = matrices.shape[-2:]
    places = torch.arange(columns) - torch.arange(rows)[:, None] == offset
    spread = torch.diag_embed(src, offset)
    size = spread.shape[-1]
    # Beyond the diagonal, whose matrix is a square.
    spread = torch.nn.functional.pad(spread, (0, max(0, columns - size), 0, max(0, rows - size)))
    written = torch.where(places, spread[..., :rows, :columns], matrices)
    return written.movedim((-2, -1), (dim1, dim2))


def as_strided_scatter(self, src, size, stride, storage_offset=None):
    """`fill_diagonal_` of a square writes so."""
    is_square = self.dim() == 2 and self.shape[0] == self.shape[1]
    if not is_square or storage_offset or list(size) != [len(self)]:
        return NotImplemented
    return diagonal_scatter(self, src) if list(stride) == [len(self) + 1] else NotImplemented


# Recurrent networks


def layers_of(operation, states: int):
    """A stack of layers as PyTorch composes each of them, with dropout in between: its own
    composition of several leaves that out."""
    compose = torch._decomp.decomposition_table[operation]

    def stack(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        directions, each = 1 + bidirectional, len(params) // num_layers
        hidden = [hx] if states == 1 else hx
        last: list[list[torch.Tensor]] = [[] for _ in range(states)]
        for layer in range(num_layers):
            if layer > 0 and train and dropout > 0:
                input = torch.dropout(input, dropout, train=True)
            own = [state[layer * directions : (layer + 1) * directions] for state in hidden]
            weights = params[layer * each : (layer + 1) * each]
            input, *ends = compose(
                input,
                own[0] if states == 1 else own,
                weights,
                has_biases,
                1,
                0.0,
                train,
                bidirectional,
                batch_first,
            )
            for found, end in zip(last, ends):
                found.append(end)
        return input, *(torch.cat(found) for found in last)

    return stack


# Pooling


def window_places(sizes, counts, lists) -> tuple[torch.Tensor, torch.Tensor]:
    """[windows, elements of each]: where the elements are in what is flat, and whether they
    are there at all. Those that are not are where others are."""
    place, there = torch.zeros(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool)
    for size, count, window, step, margin, gap in zip(sizes, counts, *lists.values()):
        at = torch.arange(count)[:, None] * step - margin + torch.arange(window) * gap
        inside = (at >= 0) & (at < size)
        at = at.clamp(0, size - 1)
        place = place[:, None, :, None] * size + at[None, :, None, :]
        there = there[:, None, :, None] & inside[None, :, None, :]
        place, there = (x.flatten(2).flatten(0, 1) for x in (place, there))
    return place, there


def max_pool_with_indices(spatial: int):
    """Maxima, of which a gradient goes to the first, and where they are in an image."""

    def pool(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        lists = windows_of(kernel_size, stride, padding, spatial)
        lists["dilations"] = per_dim(dilation, spatial)
        sizes, lead = self.shape[-spatial:], self.shape[:-spatial]
        entries = zip(sizes, *lists.values())
        counts = [window_count(*entry, ceil_mode) for entry in entries]
        place, there = window_places(sizes, counts, lists)
        windows = self.flatten(-spatial)[..., place.flatten()].unflatten(-1, place.shape)
        windows = torch.where(there, windows, -math.inf)
        at = windows.argmax(-1, keepdim=True)
        indices = place.expand(windows.shape).gather(-1, at)
        return windows.gather(-1, at).view(*lead, *counts), indices.view(*lead, *counts)

    return pool


def max_unpool(spatial: int):
    """Each element where it was; zeros elsewhere."""

    def unpool(self, indices, output_size, stride=None, padding=None):
        flat = self.flatten(-spatial)
        whole = flat.new_zeros(*flat.shape[:-1], math.prod(output_size))
        whole = whole.scatter(-1, indices.flatten(-spatial), flat)
        return whole.view(*self.shape[:-spatial], *output_size)

    return unpool


# Samples of a grid


def grid_sampler_3d(self, grid, interpolation_mode, padding_mode, align_corners):
    """`grid` has x, y and z of each sample, each from -1 to 1."""
    sizes = self.shape[2:]
    places = [
        grid_place(grid[..., 2 - dim], size, padding_mode, align_corners)
        for dim, size in enumerate(sizes)
    ]
    if interpolation_mode == 1:
        return corner_of(self, [place.round() for place in places])
    floors = [place.floor() for place in places]
    result = 0.0
    for corner in itertools.product((0, 1), repeat=3):
        weight = 1.0
        for place, floor, up in zip(places, floors, corner):
            weight = weight * (place - floor if up else floor + 1 - place)
        ids = [floor + up for floor, up in zip(floors, corner)]
        result = result + corner_of(self, ids) * weight.unsqueeze(1)
    return result


def grid_place(x, size: int, padding_mode: int, align_corners: bool):
    """Where a sample is among the elements of a dimension."""
    place = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    if padding_mode == 0:  # zeros
        return place
    if padding_mode == 2:  # reflection
        low, span = (0.0, size - 1) if align_corners else (-0.5, size)
        if span == 0:
            return torch.zeros_like(place)
        far = (place - low).abs()
        turns = (far / span).floor()
        rest = far - turns * span
        place = low + torch.where(turns % 2 == 0, rest, span - rest)
    return place.clamp(0, size - 1)


def corner_of(self, ids):
    """The elements at whole places, by dimension; zeros outside."""
    inside, flat = True, 0
    for place, size in zip(ids, self.shape[2:]):
        inside = (place >= 0) & (place < size) & inside
        flat = flat * size + place.clamp(0, size - 1).long()
    index = flat.flatten(1).unsqueeze(1).expand(-1, self.shape[1], -1)
    found = self.flatten(2).gather(2, index).view(*self.shape[:2], *flat.shape[1:])
    return torch.where(inside.unsqueeze(1), found, 0.0)


aten = torch.ops.aten
# Of other draws.
DRAWN = {
    aten.normal.Tensor_float: normal,
    aten.normal.Tensor_Tensor: normal,
    aten.normal.float_Tensor: normal,
    aten.randperm.default: randperm,
    aten.multinomial.default: multinomial,
}
OWN = {
    **DRAWN,
    aten.fmax.default: fmax,
    aten.fmin.default: fmin,
    aten.round.decimals: round_to,
    aten.polar.default: polar,
    aten._cdist_forward.default: cdist_forward,
    aten._pdist_forward.default: pdist_forward,
    aten.grid_sampler_3d.default: grid_sampler_3d,
    aten.gru.input: layers_of(aten.gru.input, states=1),
    aten.ldexp.Tensor: ldexp,
    aten.special_log_ndtr.default: special_log_ndtr,
    aten.lstm.input: layers_of(aten.lstm.input, states=2),
    aten.max_pool2d_with_indices.default: max_pool_with_indices(2),
    aten.max_pool3d_with_indices.default: max_pool_with_indices(3),
    aten.max_unpool2d.default: max_unpool(2),
    aten.max_unpool3d.default: max_unpool(3),
    aten.rnn_relu.input: layers_of(aten.rnn_relu.input, states=1),
    aten.rnn_tanh.input: layers_of(aten.rnn_tanh.input, states=1),
    aten.uniform.default: uniform,
    aten.rrelu_with_noise_functional.default: rrelu_with_noise,
    aten.diagonal_scatter.default: diagonal_scatter,
    aten.as_strided_scatter.default: as_strided_scatter,
}
