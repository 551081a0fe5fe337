"""Views by strides, as elements by their places in memory."""

from __future__ import annotations

import torch

from zero.importer.captured import Captured
from zero.importer.errors import CannotImport
from zero.importer.places import place_of
from zero.importer.recognize import functions
from zero.importer.recognize.patterns import aten, calls, replace


def rewrite(captured: Captured) -> None:
    for node in calls(captured, aten.as_strided.default):
        source, size, stride, *offset = node.args
        memory = source.meta["val"]
        if not is_whole(memory):
            raise CannotImport(
                "aten.as_strided of a tensor that is a view of another one, whose memory is laid "
                "out otherwise: call it on x.contiguous()",
                place_of(node),
            )
        numbers = torch.arange(memory.numel())
        start = offset[0] if offset and offset[0] is not None else 0
        places = torch.as_strided(numbers, tuple(size), tuple(stride), start)
        replace(captured, node, functions.strided, source, places.flatten().tolist(), tuple(size))


def is_whole(memory: torch.Tensor) -> bool:
    """Whether a tensor is all of its memory, in order."""
    held = memory.untyped_storage().nbytes() // memory.element_size()
    return memory.is_contiguous() and memory.storage_offset() == 0 and held == memory.numel()
