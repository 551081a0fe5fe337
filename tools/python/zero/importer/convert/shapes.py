"""Operations that move elements and compute nothing."""

from __future__ import annotations

import functools
import math

import torch

from zero.importer.builder import Builder
from zero.importer.convert.registry import converts
from zero.importer.errors import CannotImport
from zero.importer.ir import Value


def resolve(shape, size: int) -> list[int]:
    """`shape` with its -1 replaced."""
    shape = list(shape)
    if -1 in shape:
        rest = math.prod(dim for dim in shape if dim != -1)
        shape[shape.index(-1)] = size // rest if rest else 0
    return shape


@converts(
    "aten.view.default",
    "aten.reshape.default",
    "aten._unsafe_view.default",
    to="tensor.collapse_shape, tensor.expand_shape",
)
def view(b: Builder, self, size=None, shape=None):
    return b.reshape(self, resolve(size if size is not None else shape, self.size))


@converts("aten.unsqueeze.default", to="tensor.expand_shape")
def unsqueeze(b: Builder, self, dim):
    shape = list(self.shape)
    shape.insert(dim % (self.rank + 1), 1)
    return b.reshape(self, shape)


@converts(
    "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default", to="tensor.collapse_shape"
)
def squeeze(b: Builder, self, dim=None):
    dims = range(self.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = {d % self.rank for d in dims if self.rank}
    return b.reshape(self, [s for i, s in enumerate(self.shape) if not (i in dims and s == 1)])


@converts("aten.flatten.using_ints", to="tensor.collapse_shape")
def flatten(b: Builder, self, start_dim=0, end_dim=-1):
    if not self.rank:
        return b.reshape(self, [1])
    start, end = start_dim % self.rank, end_dim % self.rank
    middle = math.prod(self.shape[start : end + 1])
    return b.reshape(self, [*self.shape[:start], middle, *self.shape[end + 1 :]])


@converts("aten.unflatten.int", to="tensor.expand_shape")
def unflatten(b: Builder, self, dim, sizes):
    dim %= self.rank
    inner = resolve(sizes, self.shape[dim])
    return b.reshape(self, [*self.shape[:dim], *inner, *self.shape[dim + 1 :]])


@converts("aten.expand.default", to="nn.broadcast")
def expand(b: Builder, self, size):
    offset = len(size) - self.rank
    shape = [self.shape[i - offset] if want == -1 else want for i, want in enumerate(size)]
    return b.broadcast(self, shape)


@converts("aten.expand_as.default", to="nn.broadcast")
def expand_as(b: Builder, self, other):
    return b.broadcast(self, other.shape)


@converts("aten.broadcast_tensors.default", to="nn.broadcast")
def broadcast_tensors(b: Builder, tensors):
    shape = torch.broadcast_shapes(*(tensor.shape for tensor in tensors))
    return [b.broadcast(tensor, shape) for tensor in tensors]


@converts("aten.repeat.default", to="nn.broadcast, tensor.collapse_shape")
def repeat(b: Builder, self, repeats):
    shape = (1,) * (len(repeats) - self.rank) + self.shape
    x = b.reshape(self, [n for size in shape for n in (1, size)])
    x = b.broadcast(x, [n for pair in zip(repeats, shape) for n in pair])
    return b.reshape(x, [times * size for times, size in zip(repeats, shape)])


@converts("aten.repeat_interleave.self_int", to="nn.broadcast, tensor.collapse_shape")
def repeat_interleave(b: Builder, self, repeats, dim=None, output_size=None):
    x = self if dim is not None else b.reshape(self, [self.size])
    dim = (dim or 0) % x.rank
    lead, rest = x.shape[: dim + 1], x.shape[dim + 1 :]
    y = b.broadcast(b.reshape(x, lead + (1,) + rest), lead + (repeats,) + rest)
    return b.reshape(y, x.shape[:dim] + (x.shape[dim] * repeats,) + rest)


@converts("aten.transpose.int", to="nn.transpose")
def transpose(b: Builder, self, dim0, dim1):
    return b.swap(self, dim0 % self.rank, dim1 % self.rank) if self.rank else self


@converts("aten.permute.default", to="nn.transpose")
def permute(b: Builder, self, dims):
    return b.transpose(self, [dim % self.rank for dim in dims])


@converts("aten.t.default", "aten.numpy_T.default", "aten.mT.default", to="nn.transpose")
def transpose_all(b: Builder, self):
    if self.rank < 2:
        return self
    if self.rank > 2:
        raise CannotImport(".T of a tensor of more than two dimensions")
    return b.swap(self, 0, 1)


@converts("aten.movedim.int", to="nn.transpose")
def movedim(b: Builder, self, source, destination):
    order = [dim for dim in range(self.rank) if dim != source % self.rank]
    order.insert(destination % self.rank, source % self.rank)
    return b.transpose(self, order)


def bounds(start, end, size: int) -> tuple[int, int]:
    start = 0 if start is None else start
    end = size if end is None else end
    start = min(max(start + size if start < 0 else start, 0), size)
    end = min(max(end + size if end < 0 else end, start), size)
    return start, end


@converts("aten.slice.Tensor", to="tensor.extract_slice")
def slice_tensor(b: Builder, self, dim=0, start=None, end=None, step=1):
    dim %= self.rank
    start, end = bounds(start, end, self.shape[dim])
    size = max(0, -(-(end - start) // step))
    return b.narrow(self, dim, start, size, step)


@converts("aten.narrow.default", to="tensor.extract_slice")
def narrow(b: Builder, self, dim, start, length):
    dim %= self.rank
    return b.narrow(self, dim, start % self.shape[dim], length)


@converts("aten.select.int", to="tensor.extract_slice, tensor.collapse_shape")
def select(b: Builder, self, dim, index):
    dim %= self.rank
    row = b.narrow(self, dim, index % self.shape[dim], 1)
    return b.reshape(row, self.shape[:dim] + self.shape[dim + 1 :])


@converts("aten.split.Tensor", to="nn.split")
def split(b: Builder, self, split_size, dim=0):
    size = self.shape[dim % self.rank]
    sizes = [min(split_size, size - start) for start in range(0, size, split_size)]
    return b.split(self, dim % self.rank, sizes)


@converts("aten.split_with_sizes.default", "aten.split.sizes", to="nn.split")
def split_with_sizes(b: Builder, self, split_sizes=None, split_size=None, dim=0):
    sizes = list(split_sizes if split_sizes is not None else split_size)
    return b.split(self, dim % self.rank, sizes)


@converts("aten.chunk.default", to="nn.split")
def chunk(b: Builder, self, chunks, dim=0):
    return split(b, self, -(-self.shape[dim % self.rank] // chunks), dim)


@converts("aten.unbind.int", to="nn.split, tensor.collapse_shape")
def unbind(b: Builder, self, dim=0):
    dim %= self.rank
    shape = self.shape[:dim] + self.shape[dim + 1 :]
    rows = b.split(self, dim, [1] * self.shape[dim])
    return [b.reshape(row, shape) for row in rows]


@converts("aten.cat.default", "aten.concat.default", to="tensor.concat")
def cat(b: Builder, tensors, dim=0):
    # An empty tensor of one dimension concatenates with anything.
    tensors = [tensor for tensor in alike(b, tensors) if tensor.shape != (0,)]
    return b.concat(tensors, dim % tensors[0].rank)


def alike(b: Builder, tensors: list[Value]) -> list[Value]:
    """All in the type that holds each."""
    dtype = functools.reduce(torch.promote_types, (tensor.dtype for tensor in tensors))
    return [b.cast(tensor, dtype) if tensor.size else tensor for tensor in tensors]


@converts("aten.stack.default", to="tensor.expand_shape, tensor.concat")
def stack(b: Builder, tensors, dim=0):
    dim %= tensors[0].rank + 1
    shape = list(tensors[0].shape)
    shape.insert(dim, 1)
    return b.concat([b.reshape(tensor, shape) for tensor in alike(b, tensors)], dim)


@converts("aten.roll.default", to="tensor.extract_slice, tensor.concat")
def roll(b: Builder, self, shifts, dims=()):
    if not dims:
        return b.reshape(roll(b, b.reshape(self, [self.size]), shifts, [0]), self.shape)
    x = self
    for shift, dim in zip(shifts, dims):
        size = x.shape[dim % x.rank]
        shift %= size
        if shift:
            dim %= x.rank
            end = b.narrow(x, dim, size - shift, shift)
            x = b.concat([end, b.narrow(x, dim, 0, size - shift)], dim)
    return x


@converts("aten.flip.default", to="slices and tensor.concat")
def flip(b: Builder, self, dims):
    x = self
    for dim in dims:
        dim %= x.rank
        rows = [b.narrow(x, dim, i, 1) for i in reversed(range(x.shape[dim]))]
        x = b.concat(rows, dim)
    return x


@converts("aten.constant_pad_nd.default", to="tensor.concat")
def pad(b: Builder, self, pad, value=0):
    low, high = [0] * self.rank, [0] * self.rank
    for index in range(len(pad) // 2):
        low[-1 - index], high[-1 - index] = pad[2 * index], pad[2 * index + 1]
    x = self
    for dim in range(self.rank):
        # A negative amount cuts.
        cut_low, cut_high = max(0, -low[dim]), max(0, -high[dim])
        x = b.narrow(x, dim, cut_low, x.shape[dim] - cut_low - cut_high)
    low, high = [max(0, n) for n in low], [max(0, n) for n in high]
    return padded(b, x, low, high, value or 0)


def padded(b: Builder, x: Value, low: list[int], high: list[int], value) -> Value:
    """`x` between constants: a concatenation a dimension."""
    for dim in range(x.rank):
        parts = [x]
        for amount, front in ((low[dim], True), (high[dim], False)):
            if amount:
                shape = x.shape[:dim] + (amount,) + x.shape[dim + 1 :]
                parts.insert(0 if front else len(parts), b.fill(shape, value, x.dtype))
        x = b.concat(parts, dim)
    return x


@converts("aten.tril.default", to="arith.select with a constant triangle")
def tril(b: Builder, self, diagonal=0):
    return triangle(b, self, diagonal, lower=True)


@converts("aten.triu.default", to="arith.select with a constant triangle")
def triu(b: Builder, self, diagonal=0):
    return triangle(b, self, diagonal, lower=False)


def triangle(b: Builder, x: Value, diagonal: int, lower: bool) -> Value:
    ones = torch.ones(x.shape[-2:], dtype=torch.bool)
    kept = b.constant(ones.tril(diagonal) if lower else ones.triu(diagonal))
    return b.select(kept, x, b.like(x, 0))


@converts("aten.slice_scatter.default", to="tensor.concat of slices")
def slice_scatter(b: Builder, self, src, dim=0, start=None, end=None, step=1):
    dim %= self.rank
    start, end = bounds(start, end, self.shape[dim])
    if step != 1:
        rows = [b.narrow(self, dim, i, 1) for i in range(self.shape[dim])]
        for place, row in enumerate(range(start, end, step)):
            rows[row] = b.narrow(src, dim, place, 1)
        return b.concat(rows, dim)
    before = b.narrow(self, dim, 0, start) if start else None
    size = self.shape[dim]
    after = b.narrow(self, dim, end, size - end) if end < size else None
    return b.concat([part for part in (before, src, after) if part], dim)


@converts("aten.select_scatter.default", to="tensor.concat of slices")
def select_scatter(b: Builder, self, src, dim, index):
    dim %= self.rank
    index %= self.shape[dim]
    row = b.reshape(src, self.shape[:dim] + (1,) + self.shape[dim + 1 :])
    return slice_scatter(b, self, row, dim, index, index + 1)
