"""Which tensors share memory: training changes one, and so the others."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


def layout_of(tensor: torch.Tensor) -> tuple:
    """Equal for two tensors of one memory that are the same."""
    return tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype


def beyond(tensor: torch.Tensor) -> int:
    """How many elements of its storage a tensor reaches over, from its first one on."""
    if not tensor.numel():
        return 0
    return 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))


def storage_of(tensor: torch.Tensor) -> int:
    """A number that tensors in one memory share; 0 where there is none."""
    if tensor.is_meta or isinstance(tensor, FakeTensor):
        return 0
    return tensor.untyped_storage().data_ptr()


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The first address of its memory and the one behind the last: (0, 0) without any."""
    try:
        first = storage_of(tensor)
        offset, end = tensor.storage_offset(), tensor.storage_offset() + beyond(tensor)
    except (NotImplementedError, RuntimeError):  # such as a sparse one, which has parts
        return 0, 0
    if not first or end == offset:
        return 0, 0
    width = tensor.element_size()
    return first + offset * width, first + end * width


def is_there(tensor: torch.Tensor) -> bool:
    """Whether its storage has all of its elements: it may have been resized or freed."""
    if tensor.is_meta or tensor.layout != torch.strided or is_traceable_wrapper_subclass(tensor):
        return True
    end = tensor.storage_offset() + beyond(tensor)
    return not tensor.numel() or end * tensor.element_size() <= tensor.untyped_storage().nbytes()


def meets_itself(tensor: torch.Tensor) -> bool:
    """Whether elements of the tensor may share memory, as those of an expanded one do."""
    reached = 0
    steps = sorted((step, size) for step, size in zip(tensor.stride(), tensor.shape) if size > 1)
    for step, size in steps:
        if step <= reached:
            return bool(tensor.numel())
        reached += step * (size - 1)
    return False


class Occupied:
    """The memory of named tensors."""

    def __init__(self) -> None:
        self._found: dict[int, list[tuple[str, int, int]]] = {}

    def add(self, name: str, tensor: torch.Tensor) -> None:
        start, stop = extent(tensor)
        if stop:
            self._in_storage(tensor).append((name, start, stop))

    def name_at(self, tensor: torch.Tensor) -> str | None:
        """The name of one that shares memory with `tensor`."""
        first, end = extent(tensor)
        found = self._in_storage(tensor) if end else []
        return next((name for name, start, stop in found if first < stop and start < end), None)

    def _in_storage(self, tensor: torch.Tensor) -> list[tuple[str, int, int]]:
        return self._found.setdefault(storage_of(tensor), [])
