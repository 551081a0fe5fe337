"""Elements that a mask takes, and that the same mask puts back.

How many there are depends on values, but nothing else does where `x[m] = a[m] * b[m]`: that is
computed for all elements, of which the mask chooses. Only sums and products are: whatever else
could have no finite gradient at what the mask leaves out.
"""

from __future__ import annotations

import operator
from typing import Any, Callable

import torch


class Chosen:
    """Stands for `x[mask]`, and becomes it where something else is done with it."""

    def __init__(self, elements: torch.Tensor, mask: torch.Tensor):
        self.elements, self.mask, self.version = elements, mask, mask._version

    @classmethod
    def of(cls, x: torch.Tensor, mask: torch.Tensor) -> Chosen:
        return cls(torch.where(over(mask, x), x, torch.zeros_like(x)), mask)

    def tensor(self) -> torch.Tensor:
        # As indexing calls it, which would choose once more.
        return torch.ops.aten.index.Tensor(self.elements, [self.mask])

    def combined(self, function: Callable, *words: Any) -> Any:
        """The function of elements; `words` are this one and, before or behind it, another."""
        others = [word for word in words if word is not self]
        if not all(self.is_alongside(word) for word in others):
            return function(*map(plain, words))
        parts = [word.elements if isinstance(word, Chosen) else word for word in words]
        return Chosen(function(*parts), self.mask)

    def is_alongside(self, word: Any) -> bool:
        """Whether it goes with each element."""
        if isinstance(word, Chosen):
            same = word.mask is self.mask and word.version == self.version
            return same and word.elements.shape == self.elements.shape
        return isinstance(word, (bool, int, float)) or (
            isinstance(word, torch.Tensor) and word.dim() == 0
        )

    def put_into(self, x: torch.Tensor, mask: torch.Tensor) -> bool:
        """Whether that was the same mask, and the same elements."""
        same = mask is self.mask and mask._version == self.version
        like = (x.shape, x.dtype) == (self.elements.shape, self.elements.dtype)
        if same and like:
            x.copy_(torch.where(over(mask, x), self.elements, x))
        return same and like

    @classmethod
    def __torch_function__(cls, function, kinds, words=(), settings=None):
        settings = {name: plain(word) for name, word in (settings or {}).items()}
        return function(*map(plain, words), **settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tensor(), name)

    def __neg__(self) -> Any:
        return self.combined(operator.neg, self)


def over(mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The mask of the first dimensions, for all of them."""
    return mask.reshape(mask.shape + (1,) * (x.dim() - mask.dim()))


def plain(word: Any) -> Any:
    if isinstance(word, (list, tuple)) and any(isinstance(part, Chosen) for part in word):
        return type(word)(map(plain, word))
    return word.tensor() if isinstance(word, Chosen) else word


def combining(name: str) -> Callable:
    function = getattr(operator, name)
    return lambda self, other: self.combined(function, self, other)


def combining_behind(name: str) -> Callable:
    function = getattr(operator, name)
    return lambda self, other: self.combined(function, other, self)


def combining_in_place(name: str) -> Callable:
    """Of itself, for all that have it: `y = x[m]; z = y; z += 1` changes `y`."""
    function = getattr(operator, name)

    def combine(self, other):
        result = self.combined(function, self, other)
        if not isinstance(result, Chosen):
            return result
        self.elements = result.elements
        return self

    return combine


def passed_on(name: str) -> Callable:
    return lambda self, *words: getattr(self.tensor(), name)(*map(plain, words))


for _name in ("add", "sub", "mul"):
    setattr(Chosen, f"__{_name}__", combining(_name))
    setattr(Chosen, f"__i{_name}__", combining_in_place(_name))
    setattr(Chosen, f"__r{_name}__", combining_behind(_name))
for _name in vars(torch._C.TensorBase) | vars(torch.Tensor):
    # Python looks for what is written as an operator in the class alone.
    if _name.startswith("__") and _name not in dir(Chosen):
        setattr(Chosen, _name, passed_on(_name))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Chosen, f"__{_name}__", passed_on(f"__{_name}__"))
