"""Learning rates that a caller gives."""

from __future__ import annotations

import ctypes
from numbers import Real
from typing import Any, Collection, Mapping

import numpy

from zero.arrays import number_in
from zero.errors import ArgumentError
from zero.library import GroupRate

LARGEST = float(numpy.finfo(numpy.float32).max)


def rate_of(rate: Any) -> float:
    """A learning rate as the runtime takes it: below 0 for None, the schedule's."""
    rate = number_in(rate)
    if rate is None:
        return -1.0
    if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 <= rate <= LARGEST:
        raise ArgumentError(
            f"the learning rate is {rate!r}, wanted a number from 0 to {LARGEST:.3g}, the "
            "largest of f32"
        )
    return float(rate)


def rates_of(rates: Mapping[str, Any], idle: Collection[str]) -> ctypes.Array:
    """Those of parameter groups, by name, but for the `idle` ones, of which nothing is trained."""
    for group in rates:
        if not isinstance(group, str):
            raise ArgumentError(
                f"{group!r} is a {type(group).__name__}, wanted the name of a parameter group"
            )
    values = {group: rate_of(rate) for group, rate in rates.items()}
    given = [
        GroupRate(_encoded(group), rate) for group, rate in values.items() if group not in idle
    ]
    return (GroupRate * len(given))(*given)


def _encoded(group: str) -> bytes:
    """The name as C has it, where a zero byte would end it."""
    try:
        encoded = group.encode()
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise ArgumentError(f"{group!r} is no name of a parameter group")
    return encoded
