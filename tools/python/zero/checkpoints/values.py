"""Elements of tensors, flat, wherever they lie: read as f32, a part at a time."""

from __future__ import annotations

from typing import Protocol, Sequence

import numpy


class Values(Protocol):
    """`elements` of them; `read` gives a range as f32."""

    elements: int

    def read(self, first: int, count: int) -> numpy.ndarray: ...


class Part:
    """A range of other values."""

    def __init__(self, values: Values, first: int, elements: int):
        assert 0 <= first and first + elements <= values.elements
        self.values, self.first, self.elements = values, first, elements

    def read(self, first: int, count: int) -> numpy.ndarray:
        return self.values.read(self.first + first, count)


class Joined:
    """Values one after the other."""

    def __init__(self, parts: Sequence[Values]):
        self.parts = [part for part in parts if part.elements]
        self.ends = numpy.cumsum([part.elements for part in self.parts], dtype=numpy.int64)
        self.elements = int(self.ends[-1]) if self.parts else 0

    def read(self, first: int, count: int) -> numpy.ndarray:
        found = [numpy.empty(0, numpy.float32)]
        number = int(numpy.searchsorted(self.ends, first, side="right"))
        while count:
            part = self.parts[number]
            inside = first - (int(self.ends[number]) - part.elements)
            taken = min(count, part.elements - inside)
            found.append(part.read(inside, taken))
            first, count, number = first + taken, count - taken, number + 1
        return found[1] if len(found) == 2 else numpy.concatenate(found)


class Zeros:
    """What an optimizer that has not run yet keeps."""

    def __init__(self, elements: int):
        self.elements = elements

    def read(self, first: int, count: int) -> numpy.ndarray:
        return numpy.zeros(count, numpy.float32)


class Boxes:
    """A tensor that is cut into boxes: (offsets, sizes, values) each. All elements must
    be in exactly one."""

    def __init__(self, shape: Sequence[int], boxes):
        self.shape, self.boxes = tuple(shape), list(boxes)
        self.elements = int(numpy.prod(self.shape, dtype=numpy.int64))
        self.rows = None
        self.whole = None
        # Cut along dimension 0 only, each box is a run of elements.
        if all(
            tuple(offsets[1:]) == (0,) * len(offsets[1:]) and tuple(sizes[1:]) == self.shape[1:]
            for offsets, sizes, _ in self.boxes
        ):
            self.rows = Joined([box[2] for box in sorted(self.boxes, key=lambda box: box[0][:1])])

    def read(self, first: int, count: int) -> numpy.ndarray:
        if self.rows is not None:
            return self.rows.read(first, count)
        if self.whole is None:
            whole = numpy.empty(self.shape, numpy.float32)
            for offsets, sizes, values in self.boxes:
                place = tuple(slice(o, o + s) for o, s in zip(offsets, sizes, strict=True))
                whole[place] = values.read(0, values.elements).reshape(sizes)
            self.whole = whole.reshape(-1)
        return self.whole[first : first + count]


def equal(one: Values, other: Values, block: int = 1 << 20) -> bool:
    """Whether all elements are bitwise equal."""
    return one.elements == other.elements and all(
        numpy.array_equal(
            one.read(first, min(block, one.elements - first)).view(numpy.uint32),
            other.read(first, min(block, one.elements - first)).view(numpy.uint32),
        )
        for first in range(0, one.elements, block)
    )
