"""Arrays of any library as the runtime reads them, without copies where possible."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, Mapping, Sequence

import numpy

from zero.errors import ArgumentError, Error
from zero.library import Array, Gradient

# By the names of NumPy's types, which PyTorch's share.
TYPES = {
    "float32": 0,
    "float16": 1,
    "bfloat16": 2,
    "float64": 3,
    "bool": 4,
    "int8": 5,
    "int32": 6,
    "int64": 7,
    "uint16": 8,
}
NAMES = {number: name for name, number in TYPES.items()}
# Of these an input of integers takes what fits it, as files of data do.
_INTEGERS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
_NO_NUMBERS = {"object": "objects of Python", "str": "text", "bytes": "text"}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


class View:
    """The address, type and shape of an array, and what keeps it alive. Floats of another
    width than the `wanted` type's become f32, or f64 where that is wanted."""

    def __init__(self, name: str, value: Any, wanted: str | None = None):
        check_array(name, value)
        try:
            if _is_torch(value):
                self._from_torch(name, value, wanted)
            else:
                self._from_numpy(name, value, wanted)
        except (Error, MemoryError):
            raise
        except Exception as error:  # An array of the caller's own class raises anything.
            kind = type(error).__name__
            raise ArgumentError(f"the array '{name}' cannot be read: {kind}: {error}") from None
        self.shape = tuple(self.shape)

    def _from_torch(self, name, value, wanted):
        if value.device.type != "cpu":
            raise ArgumentError(
                f"the array '{name}' is on the device {value.device}, wanted the CPU: call .cpu()"
            )
        kind = str(value.dtype).removeprefix("torch.")
        # What is negated or conjugated may be so in name only.
        value = value.detach().resolve_neg().resolve_conj().contiguous()
        if _integer_for(kind, wanted):
            self._from_numpy(name, value.numpy(), wanted)
            return
        if converted := _float_for(kind, wanted):
            result = value.double() if converted == "float64" else value.float()
            _check_finite(name, bool((result.isinf() & ~value.isinf()).any()), kind, converted)
            value, kind = result, converted
        self.owner, self.address, self.shape = value, value.data_ptr(), value.shape
        self.type = _number(name, kind)

    def _from_numpy(self, name, value, wanted):
        if hasattr(value, "__dlpack__") and not isinstance(value, numpy.ndarray):
            value = numpy.from_dlpack(value)
        # Fortran order and strides are what is copied.
        value = numpy.asarray(value)
        value = value if value.flags.c_contiguous else numpy.ascontiguousarray(value)
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        if integer := _integer_for(value.dtype.name, wanted):
            value = _as_integers(name, value, integer)
        kind = value.dtype.name
        if converted := _float_for(kind, wanted):
            with numpy.errstate(over="ignore"):
                result = value.astype(converted)
            overflows = bool((numpy.isinf(result) & numpy.isfinite(value)).any())
            _check_finite(name, overflows, kind, converted)
            value, kind = result, converted
        self.owner, self.address, self.shape = value, value.ctypes.data, value.shape
        self.type = _number(name, kind)

    def as_argument(self, name: str) -> Array:
        """The structure of the C interface; this view must outlive it."""
        return Array(name.encode(), *self._fields())

    def as_gradient(self, name: str, micro_batch: int) -> Gradient:
        """The same of the gradient of a parameter for a micro-batch."""
        return Gradient(name.encode(), micro_batch, *self._fields())

    def _fields(self):
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        return self.address, self.type, len(self.shape), shape


def mappings_of(value: Any, what: str) -> list[Mapping[str, Any]]:
    """The mappings that a sequence has, or the one that the value is. `what` it is, and the
    verb, is for the error where it is neither."""
    try:
        found = iter([value] if isinstance(value, Mapping) else value)
    except TypeError:
        found = iter([value])
    parts = list(found)
    for part in parts:
        if not isinstance(part, Mapping):
            raise ArgumentError(
                f"{what} a mapping from names to arrays; found {type(part).__name__}"
            )
    return parts


def check_name(name: Any, whose: str, wanted: str) -> None:
    """Throws where what a mapping has as a key can be no name of the library's."""
    if not isinstance(name, str) or "\0" in name or not _is_unicode(name):
        raise ArgumentError(f"{whose} the key {name!r}, wanted the name of {wanted}")


def check_array(name: Any, value: Any) -> None:
    """Throws where the name is no text, or the array has elements that are not there."""
    check_name(name, "the batch has", "an input")
    if value is None or isinstance(value, (str, bytes)):
        found = "None" if value is None else f"the text {value[:20]!r}"
        raise ArgumentError(f"the array '{name}' is {found}, wanted numbers: give an array")
    parts = value if isinstance(value, (list, tuple)) else [value]
    if any(isinstance(part, numpy.ma.MaskedArray) for part in parts):
        raise ArgumentError(
            f"the array '{name}' is a masked array, and what is masked has no values: call "
            ".filled(value), or give the mask as an input of its own"
        )
    for part in parts:
        if _is_torch(part):
            _check_tensor(name, part)


def _check_tensor(name: str, value: Any) -> None:
    """Throws for whatever stands for elements that are not stored, such as a sparse tensor."""
    from zero.memory import is_there

    kind, layout = type(value).__name__, str(getattr(value, "layout", "torch.strided"))
    if getattr(value, "is_nested", False):
        raise ArgumentError(
            f"the array '{name}' is a nested tensor, whose rows differ in length: call "
            ".to_padded_tensor(value)"
        )
    if kind == "MaskedTensor" or layout != "torch.strided":
        raise ArgumentError(
            f"the array '{name}' is a {kind} of the layout {layout}, wanted a dense one: call "
            ".to_dense(), or give values and mask as two inputs"
        )
    if kind == "FakeTensor" or value.device.type == "meta" or not is_there(value):
        found = f"a {kind} on the device {value.device}"
        raise ArgumentError(f"the array '{name}' is {found} that has no values: give it some")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _float_for(kind: str, wanted: str | None) -> str | None:
    """The type that floats of type `kind` are converted to for an input; the runtime
    rounds f32 itself. None where they stay."""
    if kind not in _FLOATS or wanted not in _FLOATS or kind == wanted:
        return None
    result = "float64" if wanted == "float64" else "float32"
    return None if kind == result else result


def _integer_for(kind: str, wanted: str | None) -> str | None:
    """The type that integers of type `kind` are converted to for an input; the runtime
    itself takes i64 for i32. None where they stay."""
    if kind not in _INTEGERS or wanted not in _INTEGERS or kind == wanted:
        return None
    result = "bool" if wanted == "bool" else "int64"
    return None if kind == result else result


def _as_integers(name: str, value: numpy.ndarray, kind: str) -> numpy.ndarray:
    result = value.astype(kind)
    if (result != value).any():
        outside = value[result != value].flat[0]
        wanted = "0 or 1" if kind == "bool" else "an integer that i64 holds"
        raise ArgumentError(f"the array '{name}' has the value {outside}, wanted {wanted}")
    return result


def _check_finite(name: str, overflows: bool, kind: str, converted: str) -> None:
    if overflows:
        raise ArgumentError(
            f"the array '{name}' of type {kind} has a finite value that is too large for "
            f"{converted}"
        )


def _is_torch(value) -> bool:
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "data_ptr")


def _number(name: str, kind: str) -> int:
    if kind not in TYPES:
        found = _NO_NUMBERS.get(kind.rstrip("0123456789"), f"elements of type {kind}")
        raise ArgumentError(
            f"the array '{name}' has {found}, wanted elements of type {', '.join(TYPES)}"
        )
    return TYPES[kind]


def as_floats(name: str, value: Any) -> numpy.ndarray:
    """The values as dense f32, copied only where they are not that already."""
    check_array(name, value)
    if _is_torch(value):
        value = value.detach().resolve_neg().cpu()
        narrow = value.is_floating_point() and str(value.dtype) != "torch.float64"
        value = (value.float() if narrow else value).numpy()
    value = numpy.asarray(value)
    if value.dtype.kind in "cSUOMm":
        raise ArgumentError(f"'{name}' is given as {value.dtype}, wanted numbers that f32 holds")
    with numpy.errstate(over="ignore"):
        result = numpy.ascontiguousarray(value, dtype=numpy.float32).reshape(value.shape)
    overflows = bool((numpy.isinf(result) & numpy.isfinite(value)).any())
    _check_finite(name, overflows, value.dtype.name, "float32")
    return result


def bytes_of(value: Any) -> bytes:
    """The elements in row-major order, as they are stored."""
    if _is_torch(value):
        import torch

        value = value.detach().resolve_neg().resolve_conj().cpu()
        return value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return numpy.ascontiguousarray(value).tobytes()


def whole_number(name: str, value: Any, limit: int) -> int:
    """The value of a setting, from 0 to below the limit."""
    if not hasattr(value, "__index__") or not 0 <= operator.index(value) < limit:
        raise ArgumentError(f"{name} is {value!r}, wanted an integer from 0 to {limit - 1}")
    return operator.index(value)


def number_in(value: Any) -> Any:
    """The number in a scalar of NumPy or a tensor of no dimensions; else the value itself."""
    is_scalar = getattr(value, "ndim", None) == 0 and hasattr(value, "item")
    return value.item() if is_scalar else value


def room_for(tensor, count: int) -> numpy.ndarray:
    """Room for `count` of a tensor, as the runtime writes its elements."""
    kind = "uint16" if tensor.dtype == "bfloat16" else tensor.dtype
    return numpy.zeros((count, *tensor.shape), dtype=kind)


def values_of(tensor, room: numpy.ndarray, micro_batch: int) -> numpy.ndarray:
    """What was written there: 16-bit floats as f32, and the samples of all
    micro-batches along dimension 0 where a tensor has rows of them."""
    if tensor.dtype == "bfloat16":
        room = (room.astype(numpy.uint32) << 16).view(numpy.float32)
    elif tensor.dtype == "float16":
        room = room.astype(numpy.float32)
    if tensor.shape[:1] == (micro_batch,):
        return room.reshape(-1, *tensor.shape[1:])
    return room


def rows(name: str, value: Any, numbers: numpy.ndarray) -> Any:
    """Those rows of an array."""
    check_array(name, value)
    if _is_torch(value):
        import torch

        return value[torch.from_numpy(numbers)]
    return numpy.asarray(value)[numbers]


def joined(name: str, values: Sequence[Any]) -> Any:
    """The rows of all, one after another."""
    for value in values:
        check_array(name, value)
    if all(_is_torch(value) for value in values):
        import torch

        return torch.cat(list(values))
    return numpy.concatenate([numpy.asarray(value) for value in values])
