"""Types, numbers, names and locations as MLIR text."""

from __future__ import annotations

import re

import torch

from zero.arrays import bytes_of
from zero.importer.errors import CannotImport, Place

ELEMENTS = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    torch.bool: "i1",
    torch.int64: "i32",
    torch.int32: "i32",
    torch.int16: "i32",
    torch.int8: "i32",
    torch.uint8: "i32",
}


def element(dtype: torch.dtype) -> str:
    """The element type of `dtype`. All integers become i32, which ids fit in."""
    if dtype not in ELEMENTS:
        raise CannotImport(f"a tensor of {dtype}, which has no counterpart")
    return ELEMENTS[dtype]


def tensor_type(shape: tuple[int, ...], dtype: torch.dtype) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + element(dtype) + ">"


def number(value: float | int | bool, dtype: torch.dtype) -> str:
    """A literal whose type is `dtype`; a float keeps all of its bits."""
    if dtype == torch.bool:
        return "true" if value else "false"
    if not dtype.is_floating_point:
        value = int(value)
        if not -(2**31) <= value < 2**31:
            raise CannotImport(
                f"the integer {value} does not fit 32 bits, which zero's integers have"
            )
        return str(value)
    exact = torch.tensor(value, dtype=dtype)
    if not torch.isfinite(exact):
        return hexadecimal(exact)
    return decimal(exact.item())


def decimal(value: float) -> str:
    """A float literal: MLIR wants a point in the mantissa."""
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def hexadecimal(scalar: torch.Tensor) -> str:
    """The bits of a float, which is how MLIR writes infinities and NaN."""
    data = scalar.reshape(1).view(torch.uint8).flatten().tolist()
    return "0x" + "".join(f"{byte:02X}" for byte in reversed(data))


def dense(values: torch.Tensor) -> str:
    """The elements of a `dense` attribute, nested as the shape is."""
    if values.dtype.is_floating_point and values.dim() and values.numel() > 64:
        return f'"0x{bytes_of(values).hex().upper()}"'
    if values.dim() == 0:
        return number(values.item(), values.dtype)
    return "[" + ", ".join(dense(row) for row in values) + "]"


def symbol(name: str) -> str:
    """A symbol's name, quoted where it has to be."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$.]*", name):
        return "@" + name
    return "@" + quoted(name)


def quoted(name: str) -> str:
    """A string of MLIR, which has UTF-8 as it is, and other bytes in hexadecimal."""
    kept = re.sub(r'[\x00-\x1f"\\\x7f]', lambda found: f"\\{ord(found[0]):02X}", name)
    return f'"{kept}"'


def location(place: Place) -> str:
    """The location of an operation, as diagnostics and reports will print it: the
    module's path, then the source line."""
    names = [name for name in (place.module, place.file) if name]
    if not names:
        return ""
    return f"{quoted(', '.join(names))}:{place.line}:1"
