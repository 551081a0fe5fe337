"""Tensors whose values a trace knows: those that forward makes of numbers alone.

A branch on such a value goes one way in every step: whether a sequence of this length is
longer than a rotary embedding was made for, whether a mask without inputs hides anything.
A mask of them as an index takes the same elements in every step, and so does one that is a
buffer, of which Python has no number: it may count steps.
Tracing alone sees shapes only, and would give up.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import traceback
from typing import Any, Callable, Iterator

import torch
import torch.utils._pytree as tree
from torch import nn
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

from zero.importer.errors import CannotImport
from zero.importer.places import place_of_frames
from zero.importer.writes import memory_of_tensor

# What asks a tensor for a number.
NUMBERS = {
    torch.Tensor.__bool__,
    torch.Tensor.__int__,
    torch.Tensor.__float__,
    torch.Tensor.__index__,
    torch.Tensor.item,
    torch.Tensor.tolist,
}
# Larger ones, such as masks of long sequences, are not worth their time.
LARGEST = 1 << 20
# What has a shape that follows from values.
SHAPED = {"argwhere", "bincount", "masked_select", "nonzero", "repeat_interleave", "where"}
INDEXED = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}
# What gives memory that nobody has written.
UNWRITTEN = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}


class KnownValues(TorchFunctionMode):
    """Computes what depends on numbers alone a second time, with its values."""

    def __init__(self) -> None:
        super().__init__()
        self.values = WeakIdKeyDictionary()
        # Those among them that follow from buffers: from which.
        self.stored = WeakIdKeyDictionary()
        self.folded: set[str] = set()  # the buffers of which a trace has the values

    def learn(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        # Writes to a tensor of inference mode are not counted.
        if not tensor.is_inference():
            self.values[tensor] = value

    def learn_buffers(self, module: nn.Module, values: dict[str, torch.Tensor]) -> None:
        """Integers and masks that have memory of their own."""
        buffers = dict(module.named_buffers(remove_duplicate=False))
        memories = collections.Counter(map(memory_of_tensor, values.values()))
        for name, tensor in buffers.items():
            value = values.get(name)
            if value is None or value.is_floating_point() or value.is_complex() or value.is_meta:
                continue
            if value.numel() <= LARGEST and memories[memory_of_tensor(value)] == 1:
                with values_alone():
                    self.learn(tensor, value.detach().cpu().clone())
                self.stored[tensor] = frozenset((name,))

    def __torch_function__(self, function, kinds, words=(), settings=None):
        settings = settings or {}
        if function in NUMBERS and words[0] in self.values and words[0] not in self.stored:
            with values_alone():
                return function(self.values[words[0]])
        if function in INDEXED and not is_filled(words):
            words = (words[0], self._places(words[0], words[1]), *words[2:])
        elif name_of(function) in SHAPED and not is_selection(function, words):
            found = self._shaped(function, words, settings)
            if found is not None:
                return found
        elif name_of(function) == "_pack_padded_sequence":
            refuse_packing()
        given = tensors_in((words, settings))
        before = [self._state(tensor) for tensor in given]
        result = function(*words, **settings)
        found = None
        if tensors_in(result) or self._written(function, settings, given, before):
            found = self._computed(function, words, settings, given)
        of_buffers = self._buffers_of(given)
        if found is None or of_buffers:
            self._forget(self._written(function, settings, given, before))
        for tensor, value in zip(tree.tree_leaves(result), tree.tree_leaves(found)):
            if isinstance(tensor, torch.Tensor) and tensor not in self.values:
                if isinstance(value, torch.Tensor) and value.shape == tensor.shape:
                    self.learn(tensor, value)
                    if of_buffers:
                        self.stored[tensor] = of_buffers
        return result

    def _buffers_of(self, given: list[torch.Tensor]) -> frozenset[str]:
        return frozenset().union(*(self.stored.get(tensor, ()) for tensor in given))

    # Shapes that follow from what is known

    def _places(self, x: torch.Tensor, index: Any) -> Any:
        """The index with the places of what known masks take."""
        parts = index if isinstance(index, tuple) else (index,)
        if not any(self._is_mask(part) for part in parts) or not fits(x.shape, parts):
            return index
        found: list[Any] = []
        for part in parts:
            found.extend(self._taken(part, part.shape) if self._is_mask(part) else [part])
        return tuple(found)

    def _is_mask(self, part: Any) -> bool:
        return is_mask(part) and part in self.values

    def _taken(self, mask: torch.Tensor, shape: torch.Size) -> list[torch.Tensor]:
        with values_alone():
            places = self.values[mask].expand(shape).nonzero().unbind(1)
        buffers = self._buffers_of([mask])
        return [self._constant(place, buffers) for place in places]

    def _shaped(self, function, words, settings) -> Any:
        """The result, with what is known as constants of the trace; None where too little is."""
        name, given = name_of(function), tensors_in((words, settings))
        if name == "masked_select" and len(words) == 2 and self._is_mask(words[1]):
            shape = torch.broadcast_shapes(words[0].shape, words[1].shape)
            return words[0].broadcast_to(shape)[tuple(self._taken(words[1], shape))]
        if not given or settings.get("out") is not None:
            return None
        found = self._computed(function, words, settings, given)
        if found is None:
            return None
        buffers = self._buffers_of(given)
        return tree.tree_map_only(
            torch.Tensor, lambda part: self._constant(part, buffers), found
        )

    def _constant(self, value: torch.Tensor, buffers: frozenset[str]) -> torch.Tensor:
        made = torch.tensor(value.tolist(), dtype=value.dtype).reshape(value.shape)
        self.learn(made, value)
        if buffers:
            self.stored[made] = buffers
            self.folded |= buffers
        return made

    def _state(self, tensor: torch.Tensor) -> tuple:
        """Another one after a write to the tensor or its value, which may be left half done."""
        versions = [p._version for p in (tensor, self.values.get(tensor)) if is_counted(p)]
        return (memory_of_tensor(tensor), *versions)

    def _written(self, function, settings: dict, given: list, before: list) -> list[torch.Tensor]:
        if writes_uncounted(name_of(function)) or settings.get("out") is not None:
            return given
        return [tensor for tensor, old in zip(given, before) if self._state(tensor) != old]

    def _computed(self, function, words, settings, given) -> Any:
        """The result with values, or None where they are not known: where it depends on
        something else, or is random, large or beyond the CPU."""
        if name_of(function) in UNWRITTEN or not all(tensor in self.values for tensor in given):
            return None
        words, settings = tree.tree_map(self._value, (words, settings))
        with values_alone():
            before = torch.get_rng_state()
            try:
                found = function(*words, **settings)
            except Exception:
                return None  # Tracing says what is wrong with it.
            if not torch.equal(before, torch.get_rng_state()):
                torch.set_rng_state(before)
                return None
        return found if all(tensor.numel() <= LARGEST for tensor in tensors_in(found)) else None

    def _value(self, part: Any) -> Any:
        if isinstance(part, torch.Tensor):
            return self.values[part]
        return torch.device("cpu") if isinstance(part, torch.device) else part

    def _forget(self, tensors: list[torch.Tensor]) -> None:
        """All that shares the memory of values that are now others."""
        memories = {memory_of_tensor(tensor) for tensor in tensors}
        if memories:
            for other in list(self.values):
                if memory_of_tensor(other) in memories:
                    del self.values[other]


def is_mask(part: Any) -> bool:
    """Of elements; a bool of its own is no choice among them."""
    return isinstance(part, torch.Tensor) and part.dtype == torch.bool and part.dim() > 0


def refuse_packing() -> None:
    raise CannotImport(
        "pack_padded_sequence has a size that depends on the values of its lengths: give the layer "
        "the padded tensor itself, and take the last outputs with output.gather at lengths - 1, "
        "or mask the outputs",
        place_of_frames(traceback.extract_stack()),
    )


def is_selection(function: Callable, words: tuple) -> bool:
    """Of a tensor's shape; `where` of one operand gives places."""
    return name_of(function) == "where" and len(words) != 1


def is_filled(words: tuple) -> bool:
    """Whether it writes one number to all that an index takes."""
    if len(words) < 3:
        return False
    return not isinstance(words[2], torch.Tensor) or words[2].numel() == 1


def fits(shape: torch.Size, index: tuple) -> bool:
    """Whether masks have the shapes of the dimensions that they stand for."""
    taken = [dims_of(part) for part in index]
    dim = 0
    for part, dims in zip(index, taken):
        if part is Ellipsis:
            dim += len(shape) - sum(taken)
        elif isinstance(part, torch.Tensor) and part.dtype == torch.bool:
            if shape[dim : dim + dims] != part.shape:
                return False
        dim += dims
    return True


def dims_of(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    is_mask = isinstance(part, torch.Tensor) and part.dtype == torch.bool
    return part.dim() if is_mask else 1


def tensors_in(words: Any) -> list[torch.Tensor]:
    return [part for part in tree.tree_leaves(words) if isinstance(part, torch.Tensor)]


def is_counted(tensor: torch.Tensor | None) -> bool:
    return tensor is not None and not tensor.is_inference()


def name_of(function: Callable) -> str:
    """Without the overload."""
    return getattr(function, "__name__", "").partition(".")[0]


@functools.cache
def writes_uncounted(name: str) -> bool:
    """Whether an operator writes what PyTorch does not count as written: running statistics,
    and lists of tensors while it traces."""
    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return False
    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    return any(is_uncounted(argument) for schema in schemas for argument in schema.arguments)


def is_uncounted(argument: torch._C.Argument) -> bool:
    written = argument.alias_info is not None and argument.alias_info.is_write
    of_several = isinstance(argument.type, torch._C.ListType) and argument.name != "out"
    return argument.name.startswith("running_") or (written and of_several)


@contextlib.contextmanager
def values_alone() -> Iterator[None]:
    """Computes here, without tracing."""
    with unset_fake_temporarily(), disable_proxy_modes_tracing():
        yield
